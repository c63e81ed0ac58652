"""A Cholesky factor that takes the place of X and y if only XᵀX, Xᵀy and ‖y‖² are known."""

from __future__ import annotations

import math

import numpy as np

from sparselin.problem.errors import RANK, SAFETY, eps_of
from sparselin.results import FloatArray, IndexArray


def root_of_gram(G: FloatArray, b: FloatArray, square: float) -> tuple[FloatArray, FloatArray, float]:
    """Return R, z and ε with RᵀR = G, Rᵀz = b and ‖z‖² = square; ε is the relative error of RᵀR.

    R and z are X and y in coordinates of an orthonormal basis of the span of X and y. The last coordinate
    belongs to the part of y outside the span of the pivots. The pivots are the columns that are independent
    to 8d·eps of their squared lengths. `_complete` treats the remainder of G and b on the other columns.

    If G is nearly singular, rounding can make ‖z‖ larger than ‖y‖. A diagonal that is larger by 8d·eps or
    64d·eps, which rounding cannot distinguish from G, makes ‖z‖ smaller.

    ε : the larger of max |RᵀR − G|_ij/√(G_ii·G_jj) and the Frobenius norm of these errors on the columns that
        are not pivots, because the errors of those columns add up.

    Raises ValueError if G is not symmetric and positive semidefinite to rounding, if b is not in its range,
    or if `square` is smaller than G and b imply.
    """
    eps, d = eps_of(G.dtype), len(G)
    diagonal = np.diag(G)
    if diagonal.min() < 0 or np.abs(G - G.T).max() > SAFETY * eps * np.abs(G).max():
        raise ValueError("G must be symmetric with a nonnegative diagonal, because XᵀX is")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    unit, b, slack = G / scale / scale[:, None], b / scale, 64 * d * math.sqrt(eps)
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
    """Return R with RᵀR = G + ridge·I and a last row of zeros, and its pivots; G has a unit diagonal."""
    from scipy.linalg import lapack

    factorize = lapack.dpstrf if G.dtype == np.float64 else lapack.spstrf
    shifted = G + np.diag(ridge * np.diag(G))
    U, pivots, rank, _ = factorize(shifted, tol=SAFETY * len(G) * eps_of(G.dtype))
    R = np.zeros((rank + 1, len(G)), G.dtype)
    R[:rank, pivots - 1] = np.triu(U)[:rank]
    return R, pivots[:rank] - 1


def _solution(R: FloatArray, pivots: IndexArray, b: FloatArray) -> FloatArray:
    """Return z with Rᵀz = b on the pivots P and zero in the last place."""
    from scipy.linalg import solve_triangular

    z = np.zeros(len(R), R.dtype)
    z[:-1] = solve_triangular(R[:-1, pivots], b[pivots], trans="T")
    return z


def _complete(
    R: FloatArray, z: FloatArray, pivots: IndexArray, rest: IndexArray, b: FloatArray, zeta: float
) -> None:
    """Change the columns D of R that are not pivots so that Rᵀz = b; the last entry of z is ζ.

    The factorisation drops the Schur complement C of G on D, of at most 8d·eps, and with it δ = b − Rᵀz,
    which can be √(8d·eps) of b. [C δ; δᵀ ζ²] is the Gram matrix of the projected columns and y, so
    C − δδᵀ/ζ² is positive semidefinite: with δ_D/ζ in the last row of R, RᵀR is closer to G, and Rᵀz = b.

    The rest of δ comes from the rounding of R_PD, which is some eps/√p for pivots p. The least change of RᵀR
    on P × D, in the Frobenius norm, for which zᵀΔ = δ, is R_PᵀΔ = tδᵀ/‖t‖² with t = R_P⁻¹z.

    Neither change is made to a column that it would move by more than the error of G.
    """
    from scipy.linalg import solve_triangular

    limit = RANK * len(b) * eps_of(R.dtype)
    row = (b - R.T @ z)[rest] / zeta
    R[-1, rest] = np.where(row**2 <= limit, row, 0)
    delta = (b - R.T @ z)[rest]
    t = solve_triangular(R[:-1, pivots], z[:-1])
    square = float(t @ t)
    delta[np.abs(delta) > limit * math.sqrt(square)] = 0
    if delta.any():
        R[:-1, rest] += np.outer(solve_triangular(R[:-1, pivots], t, trans="T"), delta / square)
