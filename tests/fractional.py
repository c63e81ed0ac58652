"""Linear algebra in fractions, sharing no code with the package: matrices are lists of rows."""

import itertools
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


def first_entry(X, y, S, normalized=False):
    """λ*² (over ‖X_j‖² of normalized columns), T and A(S), the union of the supports of all vertices.

    Every vertex of the solutions of min ½‖Zu‖² − sᵀu, u ≥ 0, where s are the |c_i| of T, is
    u_P = (Z_PᵀZ_P)⁻¹s_P for independent Z_P, so that A(S) is the union of those P with u_P > 0 and ZᵀZu ≥ s.
    """
    columns = fractions(np.transpose(X))
    chosen = [columns[j] for j in S]
    r = residual(chosen, fractions(y))
    c = [dot(x, r) for x in columns]
    ratio = [v * v / (dot(x, x) if normalized and any(x) else 1) for v, x in zip(c, columns, strict=True)]
    if not any(ratio):
        return Fraction(0), (), ()
    T = [i for i, q in enumerate(ratio) if q == max(ratio)]
    H = gram([[(1 if c[i] > 0 else -1) * v for v in residual(chosen, columns[i])] for i in T])
    size = [abs(c[i]) for i in T]
    active = set()
    for m in range(1, len(T) + 1):
        for P in itertools.combinations(range(len(T)), m):
            u = solve([[H[i][j] for j in P] for i in P], [size[i] for i in P])
            if u is not None and min(u) > 0:
                reached = [dot([H[i][j] for j in P], u) for i in range(len(T))]
                if all(h >= s for h, s in zip(reached, size, strict=True)):
                    active |= {T[j] for j in P}
    return max(ratio), tuple(T), tuple(sorted(active))
