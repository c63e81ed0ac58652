"""The exact LASSO path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.homotopy import Homotopy, Knot
from sparselin.problem import as_problem, check_count, check_indices, check_level, takes_problem
from sparselin.results import LassoPath, Status


@takes_problem
def lasso_path(
    X: Any,
    y: ArrayLike | None,
    *,
    unpenalized: Iterable[int] = (),
    max_steps: int | None = None,
    lam_min: float = 0.0,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[LassoPath], object] | None = None,
) -> LassoPath:
    """All solutions of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ from λ*(S) = ‖XᵀP_S^⊥y‖∞ down to lam_min.

    β(λ) is piecewise linear; its knots are the λ at which a coefficient enters or leaves (Efron et al.,
    *Least angle regression*, 2004; Osborne, Presnell and Turlach, 2000). Where solutions are not
    unique (dependent columns) one of them is followed. At λ below the rounding error of c (`e_c`) no
    further events can be told apart, and the last segment is followed to lam_min.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    unpenalized : S, columns without penalty; an intercept is a column of ones among them. Of
        dependent ones among them, the later get the coefficient zero.
    max_steps : at most this many segments; then the status is MAX_ITER.
    lam_min : where the path ends, ≥ 0. At 0 it ends in the least squares solution of least ‖β_{S̄}‖₁.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each segment with the path so far; returning True stops.

    Returns
    -------
    LassoPath, whose `at(lam)` is exact between the knots. The status is COMPLETED, MAX_ITER, STOPPED, or
    BEYOND_PRECISION when the path could be followed only so far.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), bad `unpenalized`, lam_min < 0, max_steps < 1.

    >>> path = lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> path.knots.tolist(), path.at(2.0).tolist(), path.at(0.5).tolist()
    ([3.0, 1.0, 0.0], [1.0, 0.0], [2.5, 0.5])
    """
    problem = as_problem(X, y, sample_weight)
    S = check_indices(unpenalized, problem.d, "unpenalized")
    lam_min = check_level(lam_min, "lam_min")
    limit = None if max_steps is None else check_count(max_steps, "max_steps", 1)
    homotopy = Homotopy(problem, S)
    knots: list[Knot] = []

    def path(status: Status) -> LassoPath:
        lam, coef, active = zip(*knots, strict=True)
        return LassoPath(np.array(lam, problem.dtype), np.array(coef), active, status)

    for knot in homotopy.knots(lam_min):
        knots.append(knot)
        if len(knots) > 1 and callback is not None and callback(path(Status.STOPPED)):
            return path(Status.STOPPED)
        if len(knots) - 1 == limit:
            break
    if limit is not None and len(knots) > limit and homotopy.lam > lam_min:
        return path(Status.MAX_ITER)
    return path(Status.COMPLETED if homotopy.lam <= lam_min else Status.BEYOND_PRECISION)
