"""Hard designs, each family a function of a random generator: X (n, d), y (n,), forced."""

import zlib

import numpy as np

from . import margins

# (rows, columns) up to which the oracle of a method can go.
SIZES = {"step": ((3, 40), (3, 14)), "set": ((3, 9), (3, 7)), "path": ((4, 30), (4, 70))}


def draw(family, seed, size):
    """The design of a family for this seed, small enough for the oracles of that size: X, y, forced."""
    rng = np.random.default_rng([seed, zlib.crc32(family.encode()), zlib.crc32(size.encode())])
    (n0, n1), (d0, d1) = SIZES[size]
    n, d = int(rng.integers(n0, n1 + 1)), int(rng.integers(d0, d1 + 1))
    if size == "path" and rng.random() < 0.4:
        n, d = (14, 60) if rng.random() < 0.5 else (20, 120)
    if size == "step" and rng.random() < 0.05:
        n, d = int(rng.integers(20, 60)), int(rng.integers(70, 250))
    X, y, forced = FAMILIES[family](rng, n, d)
    if not forced and rng.random() < 0.5:
        forced = rng.choice(X.shape[1], int(rng.integers(1, 3)), replace=False).tolist()
    return X, y, forced


def response(rng, X):
    """Noise; a sparse signal in noise; or a sparse signal as floats have it."""
    kind, n = rng.integers(3), len(X)
    if kind == 0:
        return rng.standard_normal(n)
    k = min(3, X.shape[1])
    signal = X[:, rng.choice(X.shape[1], k, replace=False)] @ rng.standard_normal(k)
    return signal + (0.1 * rng.standard_normal(n) * np.abs(signal).max() if kind == 1 else 0)


def small(rng, n):
    """Small integers."""
    return rng.integers(-3, 4, n).astype(float)


def unit(X):
    """X with columns of length 1, or 0."""
    norms = np.linalg.norm(X, axis=0)
    return X / np.where(norms > 0, norms, 1)


def gaussian(rng, n, d):
    X = rng.standard_normal((n, d))
    return X, response(rng, X), []


def low_rank(rng, n, d):
    """Rank about half of what fits, plus noise of 1e-1 … 1e-12."""
    rank = max(1, min(n, d) // 2)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    noise = rng.uniform(1, 12) if rng.random() < 0.6 else rng.uniform(3, 5)
    X += 10.0**-noise * rng.standard_normal((n, d))
    return X, response(rng, X), []


def offset(rng, n, d):
    """Columns at 10² … 10⁸ and a forced column of ones; y at 0 or 10³."""
    n = max(n, d // 2, 4)
    Z = rng.standard_normal((n, d))
    y = response(rng, Z) + rng.choice([0.0, 1e3])
    return np.column_stack([np.ones(n), 10.0 ** rng.uniform(2, 8) + Z])[:, :d], y, [0]


def scaled(rng, n, d):
    """Columns times 2^±20, sometimes rows too."""
    X = rng.standard_normal((n, d)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, d)).astype(float)
    y = response(rng, X) if rng.random() < 0.5 else small(rng, n)
    rows = 2.0 ** rng.integers(-10, 11, n) if rng.random() < 0.3 else np.ones(n)
    return rows[:, None] * X * 2.0 ** rng.integers(-20, 21, d), rows * y, []


def clusters(rng, n, d):
    """Nearly equal columns, at a distance of 1e-1 … 1e-12."""
    X = rng.standard_normal((n, max(1, d // 4)))[:, rng.integers(0, max(1, d // 4), d)]
    X = X + 10.0 ** -rng.uniform(1, 12) * rng.standard_normal((n, d))
    return X, response(rng, X), []


def ties(rng, n, d):
    """Small integers, so that ties are exact, and degenerate ones frequent."""
    low, high = [(0, 2), (-1, 2), (-2, 3)][rng.integers(3)]
    n = min(n, 12)
    return rng.integers(low, high, (n, d)).astype(float), small(rng, n), []


def degenerate(rng, n, d):
    """Zeros and ones, or signs, in few rows: many columns tie, and v is zero, or Hv one, beyond A(S)."""
    n, low = int(rng.integers(3, 7)), int(rng.integers(-1, 1))
    X = rng.integers(low, 2, (n, d)) if rng.random() < 0.8 else rng.choice([-1, 1], (n, d))
    X, y = X.astype(float), rng.integers(-1, 4, n).astype(float)
    if rng.random() < 0.3:
        X, y = X.astype(np.float32), y.astype(np.float32)
    return X, y, []


def copies(rng, n, d):
    """Duplicates, negated copies, sums and zero columns among others."""
    X = rng.standard_normal((n, d)) if rng.random() < 0.5 else rng.integers(-1, 2, (n, d)).astype(float)
    for j in range(d // 2, d):
        a, b = rng.integers(0, d // 2, 2) if d > 1 else (0, 0)
        X[:, j] = [X[:, a], -X[:, a], X[:, a] + X[:, b], np.zeros(n), X[:, j]][rng.integers(5)]
    X = X[:, rng.permutation(d)]
    return X, response(rng, X) if rng.random() < 0.5 else small(rng, n), []


def wide(rng, n, d):
    """More columns than rows."""
    n = max(2, min(n, d // 2))
    return gaussian(rng, n, d)


def normalized(rng, n, d):
    """Small integers in unit columns: ties to rounding."""
    X, y, _ = ties(rng, n, d)
    return unit(X), y, []


def single(rng, n, d):
    """float32 of another family, sometimes with columns of length 1 but for rounding."""
    make = [gaussian, low_rank, ties, copies, clusters, scaled][rng.integers(6)]
    X, y, forced = make(rng, n, d)
    X = unit(X) if rng.random() < 0.3 else X
    return X.astype(np.float32), y.astype(np.float32), forced


def conditioned(rng, n, d):
    """Condition numbers of 1 … 1e12, columns and y of lengths 2^-40 … 2^40, at times a multiplied copy."""
    U, V = (np.linalg.qr(rng.standard_normal((m, m)))[0] for m in (n, d))
    rank = min(n, d)
    X = U[:, :rank] * np.geomspace(1, 10.0 ** -rng.uniform(0, 12), rank) @ V[:rank]
    if d > 1 and rng.random() < 0.3:
        X[:, rng.integers(1, d)] = X[:, 0] * rng.choice([-1, 1])
    y = response(rng, X)
    if rng.random() < 0.7:
        X = X * 2.0 ** rng.integers(-40, 41, d if rng.random() < 0.5 else 1)
        y = y * 2.0 ** rng.integers(-40, 41)
    return X, y, []


def dependent(rng, n, d):
    """Make copies next to near copies at 2^-4 … 2^-45; or copies in ties of columns up to 2^40 long."""
    n = int(rng.integers(2, 6))
    if rng.random() < 0.5:
        X, y = rng.integers(-2, 3, (n, d)).astype(float), small(rng, n)
        for j in range(1, d):
            X[:, j] = [X[:, j], X[:, 0] * rng.choice([-1, 1]), X[:, 0] + 2.0 ** -rng.integers(4, 46)][
                rng.choice(3, p=[0.5, 0.3, 0.2])
            ]
    else:
        X, y = rng.integers(-1, 2, (n, d)).astype(float), np.ones(n)
        X *= 2.0 ** rng.integers(0, 41, d)
        X[-1] = 1 - X[:-1].sum(axis=0)  # ⟨X_j, y⟩ = 1
        for j in range(d // 2, d):
            X[:, j] = X[:, rng.integers(d)] * rng.choice([-1, 1])
    return X[:, rng.permutation(d)], y, []


FAMILIES = {
    "clusters": clusters,
    "conditioned": conditioned,
    "copies": copies,
    "degenerate": degenerate,
    "dependent": dependent,
    "float32": single,
    "gaussian": gaussian,
    "low-rank": low_rank,
    "normalized": normalized,
    "offset": offset,
    "scaled": scaled,
    "ties": ties,
    "wide": wide,
} | margins.FAMILIES
