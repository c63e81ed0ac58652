"""Solvers for the LASSO and the projection that share no code with the methods under verification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

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


class InteriorPoint:
    """The LASSO and the dual projection for one (Z, r), formulated in cvxpy and solved by Clarabel.

    The problem is scaled to λ* = 1 and ‖Z_j‖ ≤ 1. The constant ½‖r‖² is omitted from the LASSO, because
    otherwise the solver's tolerances would be relative to this constant. With more rows than columns, Z is
    replaced by its triangular factor: the part of r orthogonal to the columns of Z has no influence.
    """

    def __init__(self, Z: FloatArray, r: FloatArray) -> None:
        import cvxpy as cp

        self._r, self._Q = r, np.eye(len(r))
        if Z.shape[0] > Z.shape[1]:
            self._Q, Z = np.linalg.qr(Z)
            r = self._Q.T @ r
        c = Z.T @ r
        self._norm = float(np.sqrt(np.sum(Z**2, axis=0).max()))
        self._lam_star = float(np.abs(c).max())
        Z = Z / self._norm
        self._unit = self._lam_star / self._norm  # the unit of r; that of b is this divided by the norm
        self._penalty = cp.Parameter(nonneg=True)
        self._b = cp.Variable(Z.shape[1])
        self._u = cp.Variable(len(r))
        fit = 0.5 * cp.sum_squares(Z @ self._b) - (c / self._lam_star) @ self._b
        self._lasso = cp.Problem(cp.Minimize(fit + self._penalty * cp.norm1(self._b)))
        distance = 0.5 * cp.sum_squares(self._u - r / self._unit)
        self._dual = cp.Problem(cp.Minimize(distance), [cp.norm_inf(Z.T @ self._u) <= self._penalty])

    def lasso(self, lam: float) -> FloatArray | None:
        """Return the minimiser b (m,) of ½‖r − Zb‖² + λ‖b‖₁, or None if Clarabel fails."""
        return _value(self._solve(self._lasso, lam), self._b, self._unit / self._norm)

    def project(self, lam: float) -> FloatArray | None:
        """Return the projection of r onto the polytope {u : ‖Zᵀu‖∞ ≤ λ}, or None if Clarabel fails."""
        u = _value(self._solve(self._dual, lam), self._u, self._unit)
        return None if u is None else self._r + self._Q @ (u - self._Q.T @ self._r)

    def _solve(self, problem: Any, lam: float) -> bool:
        """Solve a problem at λ; return whether Clarabel found a solution."""
        import cvxpy as cp

        self._penalty.value = lam / self._lam_star
        tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_ktratio"), 1e-12)
        try:
            problem.solve(solver=cp.CLARABEL, **tight)
        except cp.error.SolverError:
            return False
        return problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def _value(solved: bool, variable: Any, unit: float) -> FloatArray | None:
    return np.asarray(variable.value) * unit if solved and variable.value is not None else None


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
