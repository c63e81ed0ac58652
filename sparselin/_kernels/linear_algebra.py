"""Linear algebra for all kernels: inner products, Gram-Schmidt, triangular systems.

There are two forms of Gram-Schmidt. `orthogonalize` is for few long columns: it reads four rows at a time and
makes a second pass if the first lost too much accuracy. `project` is for many short columns: it always makes
two passes, one row at a time.
"""

import math

import numpy as np

from sparselin._kernels import BORROWED, ONCE, inner, kernel
from sparselin._kernels.primitives import copy, dot, subtract

_TILE = 64  # rows and columns of a tile that fits into the cache


@inner()
def copy_rows(A, B):
    """Copy the rows of A to the first rows of B."""
    for i in range(len(A)):
        copy(A[i], B[i])


@kernel(**BORROWED)
def project(Q, t, v, shares):
    """Project v in place off the first t rows of Q, which are orthonormal, in two passes.

    Returns ‖v‖ after the projection. shares[:t] is filled with Qv for the v before the projection.
    """
    shares[:t] = 0
    for _ in range(2):
        for s in range(t):
            share = dot(Q[s], v)
            shares[s] += share
            subtract(share, Q[s], v)
    return math.sqrt(dot(v, v))


@inner(**BORROWED, **ONCE)
def _project_by_fours(Qt, R, t, count):
    """Project row t of Qt off the `count` rows before it, and add the coefficients to column t of R.

    Four rows are read at a time and subtracted together, which halves the memory traffic of `project`. The
    rounding errors differ from those of `project`.
    """
    q = Qt[t]
    last = t - count % 4
    for s in range(t - count, last, 4):
        a, b, c, e = Qt[s], Qt[s + 1], Qt[s + 2], Qt[s + 3]
        sa = dot(a, q)
        sb = dot(b, q)
        sc = dot(c, q)
        se = dot(e, q)
        for i in range(q.size):
            q[i] -= (sa * a[i] + sb * b[i]) + (sc * c[i] + se * e[i])
        R[s, t] += sa
        R[s + 1, t] += sb
        R[s + 2, t] += sc
        R[s + 3, t] += se
    for s in range(last, t):
        row = Qt[s]
        share = dot(row, q)
        subtract(share, row, q)
        R[s, t] += share


@inner(**BORROWED)
def find_inverse_column(R, norms, l, z):
    """Write the column l of D R⁻¹, D = diag(norms), to z (l + 1,); return its squared norm.

    The column of R⁻¹ is the solution of R z = e_l, by back substitution. If R_ll = 0, return ∞.
    """
    if R[l, l] == 0:
        return math.inf
    for i in range(l, -1, -1):
        known = dot(R[i, i + 1 : l + 1], z[i + 1 :])
        z[i] = ((1.0 if i == l else 0.0) - known) / R[i, i]
    for i in range(l + 1):
        z[i] *= norms[i]
    return dot(z, z)


@kernel()
def inverse_column_norm(R, norms, l):
    """Return the squared norm of column l of D R⁻¹, D = diag(norms), or ∞ if R_ll = 0."""
    return find_inverse_column(R, norms, l, np.empty(l + 1))


@inner(**BORROWED)
def orthonormalize(Qt, R, norms, t, count, z):
    """Orthonormalise row t of Qt against the rows before it, and complete column t of R.

    count : the row is already orthogonal to the rows before it, except to the last `count` of them.
    z : workspace for t + 1 numbers.

    Let R be the triangle of the factorisation, and D the diagonal matrix of `norms`. After one pass of
    Gram-Schmidt the deviation from orthogonality is eps times ‖D R⁻¹e_t‖ (Björck, 1967). If this deviation
    may exceed 4·eps, or if half the length is lost, the row is projected a second time. "Twice is enough"
    (Kahan, Parlett).
    """
    q = Qt[t]
    R[t - count : t, t] = 0
    before = rho = math.sqrt(dot(q, q))
    for again in range(2):
        _project_by_fours(Qt, R, t, t if again else count)
        rho = math.sqrt(dot(q, q))
        R[t, t] = rho
        if not (rho > 0 and (rho < 0.5 * before or find_inverse_column(R, norms, t, z[: t + 1]) > 16)):
            break
    if rho > 0:
        for i in range(q.size):
            q[i] /= rho


@kernel()
def orthogonalize(Qt, R, norms, t):
    """Orthonormalise row t of Qt against the rows before it, and fill column t of R.

    The row x is replaced by the unit vector q with x = Σ_{s<t} R[s, t] q_s + ρq. ρ = R[t, t]
    is the length of x after its projection off the rows before it.
    """
    orthonormalize(Qt, R, norms, t, t, np.empty(t + 1))


@kernel()
def orthogonalize_block(Qt, R, norms, t, p, unit):
    """Orthonormalise the rows t..t+p of Qt, which are already orthogonal to the rows 0..t.

    R[:t, t:t+p] holds the coefficients of the projection off the rows 0..t. The columns t..t+p of R are
    completed. The function stops before the first dependent column, and returns the number of rows before it.
    """
    z = np.empty(t + p)
    for s in range(t, t + p):
        orthonormalize(Qt, R, norms, s, s - t, z)
        # in the span of the columns before it: ρ ≤ unit·s, where s = ρ‖D R⁻¹e_s‖ is its size
        if not find_inverse_column(R, norms, s, z[: s + 1]) * unit * unit < 1:
            return s - t
    return p


@kernel()
def delete(Qt, R, t, j):
    """Remove column j from a QR factorisation with t columns, in place.

    The columns of R after column j move left, and Givens rotations of R and Qt restore the triangle.
    """
    n = Qt.shape[1]
    for l in range(j, t - 1):
        R[: l + 2, l] = R[: l + 2, l + 1]
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


@inner(**BORROWED)
def solve_in_place(R, z):
    """Replace z by R⁻¹z by back substitution, R (t, t) upper triangular."""
    for i in range(z.size - 1, -1, -1):
        for s in range(i + 1, z.size):
            z[i] -= R[i, s] * z[s]
        z[i] /= R[i, i]


@kernel()
def solve(R, b):
    """Return R⁻¹b, R (t, t) upper triangular."""
    z = b.copy()
    solve_in_place(R, z)
    return z


@kernel()
def solve_transpose(R, b):
    """Return R⁻ᵀb by forward substitution, R (t, t) upper triangular."""
    z = b.copy()
    for i in range(b.size):
        for s in range(i):
            z[i] -= R[s, i] * z[s]
        z[i] /= R[i, i]
    return z


@kernel()
def solve_prefixes(R, z, position, path):
    """Write the solutions of R[:i, :i]·b = z[:i], i = 1, …, t, to rows of `path`, for a triangle R (t, t).

    Entry l of a solution is written to column position[l]. Solution i is written to row position[i − 1], and
    to the rows from there to the row of the next solution.
    """
    b = np.empty_like(z)
    for i in range(z.size):
        for l in range(i, -1, -1):
            b[l] = (z[l] - dot(R[l, l + 1 : i + 1], b[l + 1 : i + 1])) / R[l, l]
        stop = position[i + 1] if i + 1 < z.size else len(path)
        for j in range(position[i], stop):
            for l in range(i + 1):
                path[j, position[l]] = b[l]


@inner(**BORROWED)
def extend_inverse(V, column, t, inverse):
    """Compute the column t of R⁻¹, and write it to the row V[t]; return ‖V[t]‖².

    column : R[:t, t].
    inverse : 1/ρ = 1/R[t, t].

    If X_S = QR has unit columns, the sum of ‖V[t]‖² over t bounds the squared condition number κ² of X_S.
    """
    row = V[t]
    row[:t] = 0
    for s in range(t):
        for i in range(s + 1):
            row[i] -= column[s] * V[s, i]
    for s in range(t):
        row[s] *= inverse
    row[t] = inverse
    square = 0.0
    for s in range(t + 1):
        square += row[s] * row[s]
    return square


@kernel()
def asymmetry(C):
    """Return ½‖C − Cᵀ‖_F² and the sum of squares of the lower triangle of C.

    The two numbers are not finite if an entry of C is not finite. C is read once, by tiles that fit into the
    cache.
    """
    d = C.shape[0]
    gaps = np.empty(_TILE)
    apart = size = 0.0
    for a in range(0, d, _TILE):
        for b in range(0, a + 1, _TILE):
            for i in range(a, min(a + _TILE, d)):
                row = C[i, b : min(b + _TILE, i + 1)]
                for j in range(row.size):
                    gaps[j] = row[j] - C[b + j, i]
                apart += dot(gaps[: row.size], gaps[: row.size])
                size += dot(row, row)
    return apart, size


@kernel()
def extend(rows, t, column, j, delta, pivots):
    """Add index j to S in a pivoted Cholesky factorisation LLᵀ = δI + C_S: compute row t of L⁻¹C_S·.

    C is a symmetric matrix, and S the set of t indices that were chosen before.

    rows : the rows of L⁻¹C_S·, with C_S· the rows S of C; rows[t] is filled.
    column : the column j of C.
    pivots : (d,) the diagonal of δI plus the Schur complement of S; the squares of the new row are
        subtracted.

    The Schur complement is semidefinite, and so no pivot is less than δ. Rounding is kept from violating
    either property.
    """
    row = rows[t]
    root = math.sqrt(pivots[j])
    copy(column, row)
    for s in range(t):
        factor = rows[s, j]
        for x in range(row.size):
            row[x] -= factor * rows[s, x]
    for x in range(row.size):
        bound = math.sqrt(pivots[x])
        row[x] = max(-bound, min(bound, row[x] / root))
        pivots[x] = max(delta, pivots[x] - row[x] * row[x])


@inner()
def insert(top, x):
    """Insert x into the descending list `top`, whose last entry, which is below x, falls out."""
    i = top.size - 1
    while i > 0 and not x <= top[i - 1]:
        top[i] = top[i - 1]
        i -= 1
    top[i] = x
