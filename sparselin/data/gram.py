"""A Cholesky factor in place of X and y where only XᵀX, Xᵀy and ‖y‖² are known."""

from __future__ import annotations

import math

import numpy as np

from sparselin.results import FloatArray, IndexArray

# The Cholesky factor R of a Gram matrix G (d, d) is accepted if |RᵀR − G| is at most RANK·d·eps·max G.
RANK = 64


def root_of_gram(G: FloatArray, b: FloatArray, square: float) -> tuple[FloatArray, FloatArray, float]:
    """Return R, z and ε with RᵀR = G, Rᵀz = b and ‖z‖² = square; ε is the relative error of RᵀR.

    R and z are X and y in coordinates of an orthonormal basis of the span of X and y; the last one belongs to
    the part of y outside the span of the pivots. The pivots are the columns that are independent to 8d·eps of
    their squared lengths. Of the other columns, D, the factorisation drops the Schur complement C of G, whose
    entries are at most 8d·eps. It would drop δ = b − Rᵀz, too, which can be √(8d·eps) of b. With ζ² = ‖y‖² −
    ‖z‖² the matrix [C δ; δᵀ ζ²] is the Gram matrix of projected columns and y, so C − δδᵀ/ζ² is positive
    semidefinite. With ζ in the last place of z and δ_D/ζ in the last row of R, Rᵀz = b, and RᵀR is closer
    to G.

    Rounding of a G that is nearly singular can make ‖z‖ larger than ‖y‖. A diagonal larger by 8d·eps or
    64d·eps, which rounding cannot tell from G, makes it smaller.

    ε : the largest |RᵀR − G|_ij/√(G_ii·G_jj), or the Frobenius norm of these on D × D, over which errors add.
    """
    eps, d = float(np.finfo(G.dtype).eps), len(G)
    diagonal = np.diag(G)
    if diagonal.min() < 0 or np.abs(G - G.T).max() > 8 * eps * np.abs(G).max():
        raise ValueError("G must be symmetric with a nonnegative diagonal, as XᵀX is")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    slack = 64 * d * math.sqrt(eps)
    for ridge in (0, 8, 64):
        R, pivots = _factor(G / scale / scale[:, None], ridge * d * eps)
        R *= scale
        if np.abs(R.T @ R - G).max() > (RANK + ridge) * d * eps * diagonal.max():
            raise ValueError(
                "G must be positive semidefinite, as XᵀX is; the Cholesky factor of this one is not"
            )
        z = _solution(R, pivots, b)
        left = square - float(z @ z)
        if left >= -slack * square:
            break
    else:
        raise ValueError(f"yty = {square:g} is smaller than G and Xty imply ({float(z @ z):g})")
    dropped = np.setdiff1d(np.arange(d), pivots)
    z[-1] = math.sqrt(max(left, 0.0))
    if square > 0:
        rest = (b - R.T @ z)[dropped] / math.sqrt(max(left, d * eps * square))
        R[-1, dropped] = np.where(rest**2 <= RANK * d * eps * diagonal[dropped], rest, 0)
    if np.abs(R.T @ z - b).max(initial=0) > slack * scale.max() * math.sqrt(square):
        raise ValueError("Xty must lie in the range of G, as Xᵀy does, with ‖y‖² = yty large enough")
    error = np.abs(R.T @ R - G) / scale / scale[:, None]
    return R, z, max(float(error.max()), float(np.linalg.norm(error[np.ix_(dropped, dropped)])))


def _factor(G: FloatArray, ridge: float) -> tuple[FloatArray, IndexArray]:
    """Return R with RᵀR = G + ridge·I, G of unit diagonal, with a last row of zeros, and its pivots."""
    from scipy.linalg import lapack

    factorize = lapack.dpstrf if G.dtype == np.float64 else lapack.spstrf
    shifted = G + np.diag(ridge * np.diag(G))
    U, pivots, rank, _ = factorize(shifted, tol=8 * len(G) * float(np.finfo(G.dtype).eps))
    R = np.zeros((rank + 1, len(G)), G.dtype)
    R[:rank, pivots - 1] = np.triu(U)[:rank]
    return R, pivots[:rank] - 1


def _solution(R: FloatArray, pivots: IndexArray, b: FloatArray) -> FloatArray:
    """Return z with Rᵀz = b on the pivots, and zero in the last place."""
    from scipy.linalg import solve_triangular

    z = np.zeros(len(R), R.dtype)
    z[:-1] = solve_triangular(R[:-1, pivots], b[pivots], trans="T")
    return z
