"""The Cholesky factor that replaces X, and the vector that replaces y, for given XᵀX, Xᵀy and ‖y‖²."""

import math

import numpy as np

from sparselin.parallel.threads import scipy_linalg
from sparselin.problem.errors import RANK, SAFETY, eps_of
from sparselin.results import FloatArray, IndexArray


def root_of_gram(G: FloatArray, b: FloatArray, square: float) -> tuple[FloatArray, FloatArray, float]:
    """Return R and z with RᵀR = G, Rᵀz = b and ‖z‖² = square, and the relative error ε of RᵀR.

    G, b, square : XᵀX (d, d), Xᵀy (d,) and ‖y‖².

    R and z are X and y in coordinates of an orthonormal basis of the span of X and y. The pivots are columns
    of X that are linearly independent, up to 8d·eps of their squared lengths, and the other columns depend on
    them. The last coordinate belongs to the component of y orthogonal to the pivots. `_complete` corrects R
    on the other columns.

    If G is nearly singular, rounding can make ‖z‖ larger than ‖y‖. Then each diagonal entry of G is
    multiplied by 1 + 8d·eps or 1 + 64d·eps, which makes ‖z‖ smaller. This change is no larger than the
    rounding of G.

    ε : the maximum of |RᵀR − G|_ij/√(G_ii·G_jj), or, if it is larger, the Frobenius norm of these errors on
        the columns that are not pivots. The norm is needed because the errors of these columns add up.

    Raises ValueError if G is not symmetric and positive semidefinite to rounding, if b is not in the range of
    G, or if `square` is smaller than G and b imply.
    """
    eps = eps_of(G.dtype)
    d = len(G)
    diagonal = np.diag(G)
    if diagonal.min() < 0 or np.abs(G - G.T).max() > SAFETY * eps * np.abs(G).max():
        raise ValueError("G must be symmetric with a nonnegative diagonal, because XᵀX is")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    unit = G / scale / scale[:, None]
    b = b / scale
    slack = 64 * d * math.sqrt(eps)
    for ridge in (0, 8, 64):
        R, pivots = _factor(unit, ridge * d * eps)
        if np.abs(R.T @ R - unit).max() > (RANK + ridge) * d * eps:
            raise ValueError(
                "G must be positive semidefinite, because XᵀX is; its Cholesky factor does not give it back"
            )
        z = _solution(R, pivots, b)
        left = square - float(z @ z)
        if left >= -slack * square:
            break
    else:
        raise ValueError(f"yty = {square:g} is smaller than G and Xty imply ({float(z @ z):g})")
    z[-1] = math.sqrt(max(left, 0.0))
    rest = np.setdiff1d(np.arange(d), pivots)
    if square > 0:
        _complete(R, z, pivots, rest[diagonal[rest] > 0], b, math.sqrt(max(left, d * eps * square)))
    if np.abs(R.T @ z - b).max(initial=0) > slack * math.sqrt(square):
        raise ValueError("Xty must lie in the range of G, because Xᵀy does, and yty must be large enough")
    error = np.abs(R.T @ R - unit)
    return R * scale, z, max(float(error.max()), float(np.linalg.norm(error[np.ix_(rest, rest)])))


def _factor(G: FloatArray, ridge: float) -> tuple[FloatArray, IndexArray]:
    """Factor G + ridge·I = RᵀR with pivoting, for G (d, d) with unit diagonal; return R and the pivots.

    R has one row for each pivot, and a last row of zeros.
    """
    lapack = scipy_linalg().lapack
    factorize = lapack.dpstrf if G.dtype == np.float64 else lapack.spstrf
    shifted = G + np.diag(ridge * np.diag(G))
    U, pivots, rank, _ = factorize(shifted, tol=SAFETY * len(G) * eps_of(G.dtype))
    R = np.zeros((rank + 1, len(G)), G.dtype)
    R[:rank, pivots - 1] = np.triu(U)[:rank]
    return R, pivots[:rank] - 1


def _solution(R: FloatArray, pivots: IndexArray, b: FloatArray) -> FloatArray:
    """Solve Rᵀz = b in the equations of the pivots; the last entry of z is set to zero."""
    z = np.zeros(len(R), R.dtype)
    z[:-1] = scipy_linalg().solve_triangular(R[:-1, pivots], b[pivots], trans="T")
    return z


def _complete(
    R: FloatArray, z: FloatArray, pivots: IndexArray, rest: IndexArray, b: FloatArray, zeta: float
) -> None:
    """Change R, in place, in the columns D (`rest`) that are not pivots, so that Rᵀz = b.

    pivots : P, the columns that are pivots.
    zeta : ζ, the last entry of z in the results.

    First change: δ_D/ζ becomes the last row of R on D, where δ = b − Rᵀz. To see why, let C be the Schur
    complement of the pivots in G, a matrix on D. The factorisation ignores C, which is at most 8d·eps. So it
    also ignores δ, which can be √(8d·eps) of b. The matrix [C δ; δᵀ ζ²] is the Gram matrix of the columns D
    and y, all projected off the span of P, so C − δδᵀ/ζ² is positive semidefinite. Therefore the new row
    makes RᵀR closer to G, and Rᵀz = b.

    Second change: after the first change, a part of δ remains, which comes from the rounding of R_PD. This
    part is about eps divided by the square root of a pivot. R_PD is changed by a matrix Δ with zᵀΔ = δ. Among
    these Δ, the one that changes RᵀR on P × D least in the Frobenius norm has R_PᵀΔ = tδᵀ/‖t‖² with
    t = R_P⁻¹z.

    Neither change is made to a column that it would move by more than the error of G.
    """
    solve_triangular = scipy_linalg().solve_triangular
    limit = RANK * len(b) * eps_of(R.dtype)
    row = (b - R.T @ z)[rest] / zeta
    R[-1, rest] = np.where(row**2 <= limit, row, 0)
    delta = (b - R.T @ z)[rest]
    t = solve_triangular(R[:-1, pivots], z[:-1])
    square = float(t @ t)
    delta[np.abs(delta) > limit * math.sqrt(square)] = 0
    if delta.any():
        R[:-1, rest] += np.outer(solve_triangular(R[:-1, pivots], t, trans="T"), delta / square)
