"""The norm of the residual at which a path stops."""

from __future__ import annotations

from sparselin.problem import Problem
from sparselin.problem.errors import stopping_level
from sparselin.validation import check_level, check_tolerance


def floor_of(data: Problem, total_norm: float, tol: float | None, residual: float | None = None) -> float:
    """Return the threshold at which a path stops, to be compared with the computed norm of the residual.

    The path stops once this norm is at most the larger one of tol·total_norm and `residual`. The threshold
    allows for the rounding error of the computed norm. It is −1 if neither argument was given.
    """
    level = -1.0 if tol is None else check_tolerance(tol) * total_norm
    level = level if residual is None else max(level, check_level(residual, "residual"))
    return float(stopping_level(level, data.y_norm, data.unit, data.length_unit)) if level >= 0 else -1.0
