"""γ_{U,k} and R² by their definitions, and designs on which they are compared with what is found."""

import functools
import itertools

import numpy as np

KINDS = ("gaussian", "integers", "equicorrelated", "duplicates", "scales", "wide", "suppressors")


def draw(rng, kind, max_d=7):
    n, d = rng.integers(1, 12), rng.integers(1, max_d + 1)
    if kind == "wide":
        n, d = min(n, 4), max_d
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.choice([0.0, 1.0, 3.0]) * rng.normal(size=n)
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n, d)).astype(float)
        y = rng.integers(-2, 3, size=n).astype(float)
    elif kind == "equicorrelated":
        X = np.sqrt(0.4) + np.sqrt(0.6) * np.eye(n, d)
    elif kind == "duplicates":
        X[:, rng.integers(d)] = -2 * X[:, rng.integers(d)]
    elif kind == "scales":
        X *= 10.0 ** rng.integers(-3, 4, size=d)
    elif kind == "suppressors" and d > 1 and n > 1:
        X[:, 0] = X[:, 1] + 0.05 * rng.normal(size=n)
        y = X[:, 0] - X[:, 1] + 0.001 * rng.normal(size=n)
    U = rng.permutation(d)[: rng.integers(0, d + 1)].tolist()
    return X, y, U, int(rng.integers(1, 5))


def r2_by_svd(X, y):
    """R² of a set, with a memory."""
    unit = X / np.where(X.any(axis=0), np.linalg.norm(X, axis=0), 1)
    known = {}

    def r2(S):
        S = tuple(sorted(S))
        if S not in known:
            Q, sigma, _ = np.linalg.svd(unit[:, list(S)], full_matrices=False)
            Q = Q[:, sigma > 1e-10]
            known[S] = float(np.sum((Q.T @ y) ** 2) / (y @ y)) if y.any() else 0.0
        return known[S]

    return r2


def pairs(d, U, k):
    for l in range(len(U) + 1):
        for L in itertools.combinations(U, l):
            out = [x for x in range(d) if x not in L]
            for a in range(1, min(k, len(out)) + 1):
                for A in itertools.combinations(out, a):
                    yield L, A


def gamma_by_definition(f, d, U, k, zero=0):
    """(γ, the least ratio's L and A) by all pairs."""
    best = (1, (), ())
    for L, A in pairs(d, U, k):
        joint = f(L + A) - f(L)
        if joint > zero:
            best = min(best, (sum(f((*L, x)) - f(L) for x in A) / joint, L, A), key=lambda b: b[0])
    return best


def r2(X, y, S):
    S = list(S)
    residual = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0] if S else y
    return 1 - (residual @ residual) / (y @ y)


def subsets(elements, low, high):
    for size in range(low, high + 1):
        yield from itertools.combinations(elements, size)


def ratio_by_definition(X, y, U, k):
    """γ_{U,k} from Definition 2.3 of Das and Kempe."""
    return gamma_by_definition(functools.cache(lambda S: r2(X, y, S)), X.shape[1], U, k, 1e-10)[0]


def independent_design(seed):
    """n > d, generic."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    X = rng.standard_normal((d + 3, d)) + rng.uniform(0, 1.5) * rng.standard_normal((d + 3, 1))
    return X, rng.standard_normal(d + 3), min(k, d - 1)


FAMILY = ["gaussian", "ar1", "equicorrelated", "integers", "duplicated", "near-dependent", "opposite"]


def batch(family, count, n, d, rng):
    """Return designs X (count, n, d) of a family of `FAMILY`, with unit columns, and y (count, n)."""
    X = rng.standard_normal((count, n, d))
    y = rng.standard_normal((count, n))
    if family == "ar1":
        rho = rng.uniform(-0.95, 0.95, (count, 1))
        for j in range(1, d):
            X[:, :, j] = rho * X[:, :, j - 1] + np.sqrt(1 - rho**2) * X[:, :, j]
    elif family == "equicorrelated":
        X += rng.uniform(0, 4, (count, 1, 1)) * rng.standard_normal((count, n, 1))
    elif family == "integers":
        X = rng.integers(-1, 2, X.shape).astype(float)
        X[:, 0] += (np.abs(X).sum(axis=1) == 0) * 1.0
        y = rng.integers(-1, 2, y.shape) + 0.0
        y[:, 0] += np.abs(y).sum(axis=1) == 0
    elif family == "duplicated":
        X[:, :, d // 2 :] = X[:, :, : d - d // 2] * rng.choice([-1, 1], (count, 1, d - d // 2))
    elif family == "near-dependent":
        X[:, :, -1] = X[:, :, 0] + X[:, :, 1] + 1e-3 * X[:, :, -1]
    elif family == "opposite":
        # y = X_0 + X_1, nearly opposite, among decoys: greedy selection at its worst
        X[:, :, 1] = -X[:, :, 0] + rng.uniform(0.2, 1.2, (count, 1)) * X[:, :, 1]
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = X[:, :, 0] + X[:, :, 1] + 0.01 * y
    return X / np.linalg.norm(X, axis=1, keepdims=True), y
