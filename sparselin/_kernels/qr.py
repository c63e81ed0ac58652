"""A thin QR factorisation X_J = QR that grows and shrinks by a column.

`Qt` (capacity, n) holds the orthonormal columns of Q as rows, `R` (capacity, capacity) the triangle,
`t` the columns in use. With D = diag of the column norms, `inverse[l]` is the squared norm of column
l of D R⁻¹, so that the sum bounds 1/σ_min² of the unit-scaled X_J.
"""

from __future__ import annotations

import math

from sparselin._kernels import VECTORIZED, kernel


@kernel(**VECTORIZED)
def _length(q):
    square = q[0] * 0
    for i in range(q.size):
        square += q[i] * q[i]
    return math.sqrt(square)


@kernel(**VECTORIZED)
def _project(Qt, R, first, s):
    """Take out of row s of Qt its shares of rows first..s, adding them to column s of R."""
    q = Qt[s]
    for l in range(first, s):
        row = Qt[l]
        dot = q[0] * 0
        for i in range(q.size):
            dot += row[i] * q[i]
        for i in range(q.size):
            q[i] -= dot * row[i]
        R[l, s] += dot


@kernel(**VECTORIZED)
def orthogonalize_block(Qt, R, t, p, least):
    """Orthonormalise rows t..t+p of Qt, orthogonal to rows 0..t already, against one another.

    R[:t, t:t+p] holds what was taken out so far. What loses half its length here may have lost its
    orthogonality with it, and is projected off all rows once more. Stops before the first column with
    ρ ≤ least; returns how many come before it.
    """
    for s in range(t, t + p):
        q = Qt[s]
        for l in range(t, s):
            R[l, s] = 0
        before = _length(q)
        _project(Qt, R, t, s)
        rho = _length(q)
        if rho < 0.5 * before:
            _project(Qt, R, 0, s)
            rho = _length(q)
        if rho <= least[s - t]:
            return s - t
        R[s, s] = rho
        for i in range(q.size):
            q[i] /= rho
    return p


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
