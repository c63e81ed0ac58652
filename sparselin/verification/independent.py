"""Solvers for the LASSO and the projection that share no code with the methods under verification."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sparselin._kernels.coordinate_descent import coordinate_descent
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

# (Z, r, λ, start, target gap) -> b ≈ argmin ½‖r − Zb‖² + λ‖b‖₁; the caller computes the gap that it attains.
Solver: TypeAlias = Callable[[FloatArray, FloatArray, float, FloatArray, float], FloatArray]

# The most passes over the columns. With fewer, the target gap is not attained on ill-conditioned designs, and
# their checks are undecided; more passes only cost time.
MAX_EPOCHS = 20_000


def solve_lasso(Z: FloatArray, r: FloatArray, lam: float, start: FloatArray, target: float) -> FloatArray:
    """Minimise ½‖r − Zb‖² + λ‖b‖₁ by cyclic coordinate descent from `start`, to a duality gap of `target`."""
    b = np.array(start, np.float64)
    coordinate_descent(np.ascontiguousarray(Z.T), r.copy(), b, lam, target, MAX_EPOCHS)
    return b


def interior_point(Z: FloatArray, r: FloatArray, lam: float) -> FloatArray | None:
    """Minimise ½‖r − Zb‖² + λ‖b‖₁ by the interior point method of Clarabel; return None if it fails.

    Clarabel solves the dual program: minimise ½‖u − r‖² over (u, w), subject to Zᵀu = w and −λ ≤ w_j ≤ λ. The
    Lagrange multipliers of the equations are b, because the gradient in u of the Lagrangian is u − r + Zb.
    The units are such that λ* = ‖Zᵀr‖∞ = 1 and the longest column of Z has length 1.
    """
    import clarabel
    from scipy.sparse import csc_array

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"):
        setattr(settings, name, 1e-12)
    p, m = Z.shape
    lam_star = float(np.abs(Z.T @ r).max())
    norm = float(np.sqrt(np.sum(Z**2, axis=0).max()))
    one = np.eye(m)
    zero = np.zeros((m, p))
    square = csc_array(np.diag(np.repeat([1.0, 0.0], [p, m])))
    linear = np.append(-r * (norm / lam_star), np.zeros(m))
    rows = csc_array(np.block([[Z.T / norm, -one], [zero, one], [zero, -one]]))
    bounds = np.repeat([0.0, lam / lam_star], [m, 2 * m])
    cones = [clarabel.ZeroConeT(m), clarabel.NonnegativeConeT(2 * m)]
    found = clarabel.DefaultSolver(square, linear, rows, bounds, cones, settings).solve()
    solved = str(found.status) in ("Solved", "AlmostSolved")
    return np.array(found.z[:m]) * (lam_star / norm**2) if solved else None


def columns_independent(columns: FloatArray) -> tuple[bool, float]:
    """Return whether the columns are independent to rounding, and their least singular value."""
    if columns.shape[1] == 0:
        return True, np.inf
    norms = np.sqrt(np.sum(columns**2, axis=0))
    if columns.shape[1] > len(columns) or norms.min() == 0:
        return False, 0.0
    unit = float(np.linalg.svd(columns / norms, compute_uv=False)[-1])
    least = float(np.linalg.svd(columns, compute_uv=False)[-1])
    return bool(unit > 1e3 * EPS * len(columns)), least
