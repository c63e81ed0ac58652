"""Linear algebra in fractions, sharing no code with the package: matrices are lists of rows."""

from fractions import Fraction

import numpy as np


def fractions(A):
    """The rows of a matrix, or a vector, of floats as they are."""
    A = np.asarray(A, float)
    return [Fraction(v) for v in A.tolist()] if A.ndim == 1 else [fractions(row) for row in A]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def gram(columns):
    return [[dot(a, b) for b in columns] for a in columns]


def centred_gram(columns, weights, centred=True):
    """XᵀWX of columns, less their weighted means if they are centred."""
    if centred:
        columns = [[v - dot(weights, x) / sum(weights) for v in x] for x in columns]
    return [[dot([a * v for a, v in zip(weights, x, strict=True)], z) for z in columns] for x in columns]


def solve(A, b):
    """A⁻¹b by Gauss and Jordan; None where A is singular."""
    rows, m = [[*row, value] for row, value in zip(A, b, strict=True)], len(A)
    for k in range(m):
        pivot = next((i for i in range(k, m) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], [v / rows[pivot][k] for v in rows[pivot]]
        for i in range(m):
            if i != k and rows[i][k]:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def residual(columns, v):
    """v less its projection on the columns, by Gram-Schmidt; dependent columns count for nothing."""
    basis = []
    for w in [*columns, v]:
        for u in basis:
            share = dot(u, w) / dot(u, u)
            w = [b - share * a for a, b in zip(u, w, strict=True)]
        last = w
        if any(w):
            basis.append(w)
    return last
