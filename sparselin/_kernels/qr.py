"""A thin QR factorisation X_J = QR that grows and shrinks by a column.

`Qt` (capacity, n) holds the orthonormal columns of Q as rows, `R` (capacity, capacity) the triangle,
`t` the columns in use. With D = diag of the column norms, `inverse[l]` is the squared norm of column
l of D R⁻¹, so that the sum bounds 1/σ_min² of the unit-scaled X_J.
"""

from __future__ import annotations

import math

from sparselin._kernels import VECTORIZED, kernel


@kernel(**VECTORIZED)
def delete(Qt, R, t, j):
    """Remove column j of t: shift the later columns left, restore the triangle by Givens rotations."""
    n = Qt.shape[1]
    for l in range(j, t - 1):
        for i in range(l + 2):
            R[i, l] = R[i, l + 1]
    for l in range(j, t - 1):
        r = math.hypot(R[l, l], R[l + 1, l])
        c = R[l, l] / r
        s = R[l + 1, l] / r
        R[l, l] = r
        R[l + 1, l] = 0
        for m in range(l + 1, t - 1):
            upper, lower = R[l, m], R[l + 1, m]
            R[l, m] = c * upper + s * lower
            R[l + 1, m] = c * lower - s * upper
        for i in range(n):
            upper, lower = Qt[l, i], Qt[l + 1, i]
            Qt[l, i] = c * upper + s * lower
            Qt[l + 1, i] = c * lower - s * upper


@kernel()
def solve(R, b):
    """R⁻¹b by back substitution, R (t, t) upper triangular."""
    z = b.copy()
    for i in range(b.size - 1, -1, -1):
        for s in range(i + 1, b.size):
            z[i] -= R[i, s] * z[s]
        z[i] /= R[i, i]
    return z


@kernel()
def solve_transposed(R, b):
    """R⁻ᵀb by forward substitution, R (t, t) upper triangular."""
    z = b.copy()
    for i in range(b.size):
        for s in range(i):
            z[i] -= R[s, i] * z[s]
        z[i] /= R[i, i]
    return z
