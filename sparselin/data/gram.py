"""What stands for X and y where only XᵀX, Xᵀy and ‖y‖² are known: a Cholesky factor."""

from __future__ import annotations

import math

import numpy as np

from sparselin.results import FloatArray

# The Cholesky factor R of a Gram matrix G is accepted if |RᵀR − G| is at most so many times d·eps·max G.
RANK = 64


def root_of_gram(G: FloatArray, b: FloatArray, square: float) -> tuple[FloatArray, FloatArray]:
    """(R, z) with RᵀR = G, Rᵀz = b and ‖z‖² = square, the last row of R being zero."""
    from scipy.linalg import lapack, solve_triangular

    eps = float(np.finfo(G.dtype).eps)
    d = len(G)
    diagonal = np.diag(G)
    if diagonal.min() < 0 or np.abs(G - G.T).max() > 8 * eps * np.abs(G).max():
        raise ValueError("G must be symmetric with a nonnegative diagonal, as XᵀX is")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    factorize = lapack.dpstrf if G.dtype == np.float64 else lapack.spstrf
    U, pivots, rank, _ = factorize(G / scale / scale[:, None], tol=8 * d * eps)
    pivots = pivots - 1
    R = np.zeros((rank + 1, d), G.dtype)
    R[:rank, pivots] = np.triu(U)[:rank]
    R *= scale
    if np.abs(R.T @ R - G).max() > RANK * d * eps * diagonal.max():
        raise ValueError("G must be positive semidefinite, as XᵀX is; the Cholesky factor of this one is not")
    z = np.zeros(rank + 1, G.dtype)
    z[:rank] = solve_triangular(R[:rank, pivots[:rank]], b[pivots[:rank]], trans="T")
    slack = 64 * d * math.sqrt(eps)
    if np.abs(R.T @ z - b).max(initial=0) > slack * scale.max() * math.sqrt(square):
        raise ValueError("Xty must lie in the range of G, as Xᵀy does, with ‖y‖² = yty large enough")
    left = square - float(z @ z)
    if left < -slack * square:
        raise ValueError(f"yty = {square:g} is smaller than G and Xty imply ({float(z @ z):g})")
    z[rank] = math.sqrt(max(left, 0.0))
    return R, z
