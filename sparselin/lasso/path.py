"""The exact LASSO path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._working_set import Stretch, stretches
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import LassoPath, Status
from sparselin.validation import check_count, check_indices, check_level


@takes_problem
def lasso_path(
    X: Any,
    y: ArrayLike | None,
    *,
    unpenalized: Iterable[int] = (),
    max_steps: int | None = None,
    lam_min: float = 0.0,
    positive: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[LassoPath], object] | None = None,
) -> LassoPath:
    """All solutions of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ from λ*(S) = ‖XᵀP_S^⊥y‖∞ down to lam_min.

    β(λ) is piecewise linear; its knots are the λ at which a coefficient enters or leaves (Efron et al.,
    *Least angle regression*, 2004; Osborne, Presnell and Turlach, 2000). Where solutions are not
    unique (dependent columns), one of them is followed. The KKT conditions of each knot are checked on all
    columns. Where a bound on the errors of c is not below 1e-4·λ, r and β are refined iteratively until they
    are those of exact arithmetic, rounded (`_homotopy`); so nearly dependent columns, columns of large mean
    with an unpenalised intercept, and columns of very different lengths cost no accuracy. Rounding β itself
    changes c_i by eps·‖X_i‖Σ‖X_j‖|β_j|, which for nearly dependent columns can exceed a small λ. Once y is
    fitted to rounding there are no further knots, and the last segment ends at lam_min.

    With `positive` the minimum is over β_{S̄} ≥ 0, S being free of sign. Then λ*(S) = max(0, max_j c_j), c =
    XᵀP_S^⊥y; a solution has c_S = 0, c_j ≤ λ off S, with equality where β_j > 0; and the path to 0 ends in a
    nonnegative least squares solution of least Σβ_{S̄} (docs/proofs/nonnegative.md).

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    unpenalized : S, columns without penalty; an intercept is a column of ones among them. One of them that
        depends on those before it gets the coefficient zero.
    max_steps : at most this many segments; if the path is cut off there, the status is MAX_STEPS.
    lam_min : where the path ends, ≥ 0. At 0 it ends in a least squares solution of least ‖β_{S̄}‖₁.
    positive : require β_{S̄} ≥ 0.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each segment with the path so far; returning True stops.

    Returns
    -------
    LassoPath, whose `at(lam)` interpolates linearly, which is exact. The status is COMPLETED, MAX_STEPS,
    STOPPED, or BEYOND_PRECISION when rounding leaves the next knot undecided.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), bad `unpenalized`, lam_min < 0, max_steps < 1.

    >>> path = lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> path.knots.tolist(), path.at(2.0).tolist(), path.at(0.5).tolist()
    ([3.0, 1.0, 0.0], [1.0, 0.0], [2.5, 0.5])
    >>> path = lasso_path([[1.0, 0.5], [0.0, 1.0]], [3.0, -2.0], positive=True)
    >>> path.knots.tolist(), path.coef[-1].tolist()
    ([3.0, 0.0], [3.0, 0.0])
    """
    problem = as_problem(X, y, sample_weight)
    S = check_indices(unpenalized, problem.d, "unpenalized")
    lam_min = check_level(lam_min, "lam_min")
    limit = None if max_steps is None else check_count(max_steps, "max_steps", 1)
    pieces: list[Stretch] = []
    most = sys.maxsize if limit is None else limit + 1
    for stretch in stretches(problem, S, lam_min, most, positive):
        while pieces and pieces[-1].lams[0] <= stretch.lams[0]:
            del pieces[-1]
        for piece in (stretch,) if callback is None else stretch.knots():
            pieces.append(piece)
            if callback is not None and len(pieces) > 1 and callback(_path(problem, pieces, Status.STOPPED)):
                return _path(problem, pieces, Status.STOPPED)
    if pieces[-1].lams[-1] <= lam_min:
        return _path(problem, pieces, Status.COMPLETED)
    whole = sum(len(piece.lams) for piece in pieces) == most
    return _path(problem, pieces, Status.MAX_STEPS if whole else Status.BEYOND_PRECISION)


def _path(problem: Problem, pieces: list[Stretch], status: Status) -> LassoPath:
    knots = np.concatenate([piece.lams for piece in pieces]).astype(problem.dtype)
    coef = np.zeros((len(knots), problem.d), problem.dtype)
    stop = 0
    for piece in pieces:
        start, stop = stop, stop + len(piece.lams)
        coef[start:stop, piece.columns] = piece.coef
    active = [P for piece in pieces for P in piece.active]
    for i in range(len(knots) - 2, -1, -1):  # knots that are equal in float32 are made different
        knots[i] = max(knots[i], np.nextafter(knots[i + 1], np.inf, dtype=knots.dtype))
    active[-1] = active[-2] if len(active) > 1 else ()
    return LassoPath(knots, coef, tuple(active), status)
