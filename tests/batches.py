"""Many designs at once, and R² of all their sets: the promises of greedy selection without the package."""

import itertools

import numpy as np
from ratios import subsets


def batch(family, count, n, d, rng):
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


def r2_table(X, y, most):
    """(count, 2^d) R² of all sets of at most `most`, NaN for others; eigenvalues below 1e-10 are zero."""
    count, _, d = X.shape
    C, c = X.swapaxes(1, 2) @ X, np.einsum("pij,pi->pj", X, y)
    values = np.full((count, 1 << d), np.nan)
    values[:, 0] = 0
    least = {}
    for size in range(1, min(most, d) + 1):
        S = np.array(list(itertools.combinations(range(d), size)))
        spectrum, V = np.linalg.eigh(C[:, S[:, :, None], S[:, None, :]])
        turned = np.einsum("psij,psi->psj", V, c[:, S]) ** 2
        kept = spectrum > 1e-10
        square = np.where(kept, turned / np.where(kept, spectrum, 1), 0).sum(axis=-1)
        values[:, (1 << S).sum(axis=1)] = square / (y**2).sum(axis=1)[:, None]
        least[size] = np.maximum(0, spectrum[..., 0].min(axis=1))
    return values, least


def greedy(values, X, y, k, gains):
    """(count, k) picks by the largest gain in `values`, or by the largest |⟨X_i, r⟩|."""
    count, _, d = X.shape
    each, mask, picks = np.arange(count), np.zeros(count, int), []
    Q = np.zeros((count, X.shape[1], 0))
    for _ in range(k):
        if gains:
            score = values[each[:, None], mask[:, None] | 1 << np.arange(d)] - values[each, mask][:, None]
        else:
            r = y - np.einsum("pij,pj->pi", Q, np.einsum("pij,pi->pj", Q, y))
            score = np.abs(np.einsum("pij,pi->pj", X, r))
        score = np.where(mask[:, None] >> np.arange(d) & 1, -1.0, score)
        # ties to rounding: the first
        pick = np.argmax(score >= score.max(axis=1, keepdims=True) - 1e-12, axis=1)
        picks.append(pick)
        mask |= 1 << pick
        Q = np.linalg.svd(X[each[:, None], :, np.array(picks).T].swapaxes(1, 2), full_matrices=False)[0]
    return np.array(picks).T


def ratio_table(values, picks, k, d):
    """γ_{S,k} and γ_{∅,k} of R² from the table."""
    each = np.arange(len(values))
    A = [sum(1 << x for x in L) for L in subsets(range(d), 2, k)]
    gamma = [np.ones(len(values))]
    for size in range(picks.shape[1] + 1):
        for chosen in itertools.combinations(range(picks.shape[1]), size):
            base = (1 << picks[:, chosen]).sum(axis=1) if chosen else np.zeros(len(values), int)
            at = values[each, base]
            single = values[each[:, None], base[:, None] | 1 << np.arange(d)] - at[:, None]
            for mask in A:
                joint = values[each, base | mask] - at
                total = sum(single[:, x] for x in range(d) if mask >> x & 1)
                # what A has in common with L gains nothing; 1e-9 is far above the rounding of the table
                counts = joint > 1e-9
                gamma.append(np.where(counts, total / np.where(counts, joint, 1), 1.0))
        if size == 0:
            first = np.min(gamma, axis=0)
    return np.clip(np.min(gamma, axis=0), 0, 1), np.clip(first, 0, 1)


SIZES = [
    (6, 4, 2, 500),
    (4, 6, 2, 500),
    (9, 6, 3, 300),
    (15, 8, 2, 200),
    (5, 8, 3, 100),
    (14, 12, 2, 60),
    (15, 12, 3, 20),
]
FAMILY = ["gaussian", "ar1", "equicorrelated", "integers", "duplicated", "near-dependent", "opposite"]


def promised_and_achieved():
    """name -> (factor, ratio) of every design."""
    found = {}
    for (n, d, k, count), family in itertools.product(SIZES, FAMILY):
        rng = np.random.default_rng([n, d, k, FAMILY.index(family)])
        X, y = batch(family, count, n, d, rng)
        values, least = r2_table(X, y, min(2 * k, d))
        best = np.nanmax(np.where([m.bit_count() <= k for m in range(1 << d)], values, np.nan), axis=1)
        lam = {s: least[min(s, d)] for s in (k, 2 * k - 1, 2 * k)}
        for gains in (False, True):
            picks = greedy(values, X, y, k, gains)
            got = values[np.arange(count), (1 << picks).sum(axis=1)]
            # nothing to explain, as far as the table can tell
            ratio = np.where(best > 1e-9, got / np.maximum(best, 1e-300), 1.0)
            gamma, first = ratio_table(values, picks, k, d)
            product = 1 - (1 - gamma / k) ** (k - 1) * (1 - first / k)
            factors = (
                {
                    "FR 1 − exp(−γ)": 1 - np.exp(-gamma),
                    "FR 1 − exp(−λ_min(C, 2k))": 1 - np.exp(-lam[2 * k]),
                    "FR Π(1 − γ_i/k)": product,
                }
                if gains
                else {
                    "OMP 1 − exp(−γ·λ_min(C, 2k))": 1 - np.exp(-gamma * lam[2 * k]),
                    "OMP 1 − exp(−γ·λ_min(C, k))": 1 - np.exp(-gamma * lam[k]),
                    "OMP 1 − exp(−λ_min(C, 2k − 1))": 1 - np.exp(-lam[2 * k - 1]),
                }
            )
            for label, factor in factors.items():
                found.setdefault(label, []).append((factor, ratio))
    return {label: np.hstack(pairs) for label, pairs in found.items()}
