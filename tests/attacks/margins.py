"""Designs on which the bounds on rounding errors are needed: without them answers are wrong (`test_margins`).

They have near ties, and columns whose near-dependence makes rounding errors larger than the differences that
count.
"""

import math

import numpy as np

from .oracles import Design, number

EPS = float(np.finfo(np.float64).eps)


def twin_blocks(rng, n, d):
    """Two orthogonal blocks of three columns; λ_min of one is below that of the other by some 8·eps·tr C_S.

    Greedy sets of three columns are the one block or the other, and no exchange leads from it.
    """
    X = np.zeros((6, 6))
    X[:3, :3], X[3:, 3:] = rng.standard_normal((2, 3, 3))
    one, other = (float(np.linalg.svd(block, compute_uv=False)[-1]) for block in (X[:3, :3], X[3:, 3:]))
    X[3:, 3:] *= one / other
    trace = float(np.sort((X**2).sum(axis=0))[3:].sum())
    unit = 8 * EPS * (math.sqrt(6) + 6)
    X[3:, 3:] *= math.sqrt(max(0.0, 1 - rng.uniform(1.1, 1.9) * unit * trace / one**2))
    return X, rng.standard_normal(6), []


def mirrored(rng, n, d):
    """Integers: long columns a and b, nearly equal, and i and j, which a reflection exchanges but for a.

    It leaves a, b and y as they are, so that {a, b, i} and {a, b, j} have the same residual; y needs a − b.
    """
    n = max(n, 5)
    a = np.rint(2.0 ** rng.integers(16, 24) * rng.standard_normal(n))
    b, p, q = a + rng.integers(-3, 4, n), small(rng, n, 5), np.zeros(n)
    y = 3 * (b - a) + p + small(rng, n, 2)
    a[-1] = b[-1] = p[-1] = y[-1] = 0
    q[-1] = rng.integers(1, 5)
    return np.column_stack([p + q, a, b, p - q + rng.integers(-3, 4) * a]), y, []


def small(rng, n, size):
    return rng.integers(-size, size + 1, n).astype(float)


def near_forced(rng, n, d):
    """Unit columns, the first forced, the third at 10⁻⁸ from it, and orthogonal otherwise.

    With the third and the last three ‖r‖² is smaller, by some 10⁻¹⁰·‖y‖², than with the second and those.
    """
    Q = np.linalg.qr(rng.standard_normal((n := max(n, 7), n)))[0].T
    first = Q[0] * rng.uniform(0.5, 1)
    X = np.column_stack([first, Q[5], first + 10.0 ** -rng.uniform(8, 8.6) * Q[1], *Q[2:5]])
    rest = Q[1] + rng.uniform(1.005, 1.02) * Q[2:5].sum(axis=0) + Q[6]
    size, wanted = 1.0, 10.0 ** -rng.uniform(9.2, 9.8)
    for _ in range(3):  # Newton's method
        y = rest + size * Q[5]
        exact = Design(X, y)
        one, other = (exact.at(S).square[-1] for S in ((0, 1, 3, 4, 5), (0, 2, 3, 4, 5)))
        size += (number((one - other) / exact.square[-1]) - wanted) * (y @ y) / (2 * size)
    return X, rest + size * Q[5], [0]


def trap(rng, n, d):
    """FR picks the first two columns, at 10⁻⁷ … 10⁻⁹ from one another; the others explain more."""
    Q = np.linalg.qr(rng.standard_normal((7, 7)))[0].T
    first, signal = Q[0] * rng.uniform(0.5, 1), Q[0] + rng.uniform(0.5, 0.9) * Q[1] + 0.5 * Q[2]
    second = first + 10.0 ** -rng.uniform(7, 8.6) * Q[1]
    pair = signal / 3 + Q[4], signal / 3 - Q[4]
    return np.column_stack([first, second, *pair]), signal + 0.3 * Q[3], []


FAMILIES = {"mirrored": mirrored, "near forced": near_forced, "trap": trap, "twin blocks": twin_blocks}


def tied_for_omp(m):
    """X (2m, 2m) and y, the sum of the last m columns, unit vectors.

    The first m have unit length and products with y that are smaller, by less than two bounds e on rounding
    errors tell apart: they tie, so that OMP picks them, and R² is about ½. 1 − ERC is some √m·e.
    """
    error = 8 * EPS * (math.sqrt(2 * m) + 1)
    X = np.zeros((2 * m, 2 * m))
    X[:m, :m] = (1 - 1.9 * math.sqrt(m) * error) / m
    X[m:, :m] = math.sqrt(1 - 1 / m) * np.eye(m)
    X[:m, m:] = np.eye(m)
    return X, X[:, m:].sum(axis=1)
