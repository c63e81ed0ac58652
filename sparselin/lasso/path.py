"""The exact LASSO path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._working_set import Stretch, stretches
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FloatArray, IndexArray, LassoPath, Status
from sparselin.validation import Columns, check_count, check_level


@takes_problem
def lasso_path(
    X: Any,
    y: ArrayLike | None,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
    max_steps: int | None = None,
    lam_min: float = 0.0,
    positive: bool = False,
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callable[[LassoPath], object] | None = None,
) -> LassoPath:
    """All solutions of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ from λ*(S) = ‖XᵀP_S^⊥y‖∞ down to lam_min.

    β(λ) is piecewise linear; its knots are the λ at which a coefficient enters or leaves (Efron et al.,
    *Least angle regression*, 2004; Osborne, Presnell and Turlach, 2000). Where solutions are not
    unique (dependent columns), one of them is followed. The KKT conditions of each knot are checked on all
    columns. Where a bound on the errors of c is not below 1e-4·λ, r and β are refined iteratively until they
    are those of exact arithmetic, rounded (`_homotopy`); so nearly dependent columns, columns of large mean
    with an unpenalised intercept, and columns of very different lengths cost no accuracy, but where a knot
    itself is ill-conditioned: if columns δ apart compete to enter, its λ is known to eps/δ only, and β and c
    up to the next knot with it. Rounding β itself changes c_i by eps·‖X_i‖Σ‖X_j‖|β_j|, which for nearly
    dependent columns can exceed a small λ. Once y is fitted to rounding there are no further knots, and the
    last segment ends at lam_min.

    With `positive` the minimum is over β_{S̄} ≥ 0, S being free of sign. Then λ*(S) = max(0, max_j c_j), c =
    XᵀP_S^⊥y; a solution has c_S = 0, c_j ≤ λ off S, with equality where β_j > 0; and the path to 0 ends in a
    nonnegative least squares solution of least Σβ_{S̄} (docs/proofs/nonnegative.md).

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    forced : S, columns without penalty, by index or name. One of them that depends on those before it gets
        the coefficient zero. `unpenalized` is another name for it.
    max_steps : at most this many segments; if the path is cut off there, the status is MAX_STEPS.
    lam_min : where the path ends, ≥ 0. At 0 it ends in a least squares solution of least ‖β_{S̄}‖₁.
    positive : require β_{S̄} ≥ 0.
    intercept, standardize : an unpenalised intercept; columns divided by their standard deviations, so that
        λ is a penalty on the coefficients of these (`Problem`). The result is in the units of X.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each segment with the path so far; returning True stops.

    Returns
    -------
    LassoPath, whose `at(lam)` interpolates linearly between the knots, as the path does. The status is
    COMPLETED, MAX_STEPS, STOPPED, or BEYOND_PRECISION when rounding leaves the next knot undecided.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), bad `forced`, lam_min < 0, max_steps < 1.

    >>> path = lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> path.knots.tolist(), path.at(2.0).tolist(), path.at(0.5).tolist()
    ([3.0, 1.0, 0.0], [1.0, 0.0], [2.5, 0.5])
    >>> path = lasso_path([[1.0, 0.5], [0.0, 1.0]], [3.0, -2.0], positive=True)
    >>> path.knots.tolist(), path.coef[-1].tolist()
    ([3.0, 0.0], [3.0, 0.0])
    """
    problem = as_problem(X, y, sample_weight, intercept, standardize, operator=True)
    S = problem.unpenalized(forced, unpenalized)
    lam_min = check_level(lam_min, "lam_min")
    limit = None if max_steps is None else check_count(max_steps, "max_steps", 1)
    pieces: list[Stretch] = []
    most = sys.maxsize if limit is None else limit + 1
    for stretch in stretches(problem, S, lam_min, most, positive):
        if stretch.from_start:
            pieces.clear()
        for piece in (stretch,) if callback is None else stretch.knots():
            pieces.append(piece)
            if callback is not None and len(pieces) > 1:
                path = _path(problem, S, positive, pieces, Status.STOPPED)
                if callback(path):
                    return path
    if pieces[-1].lams[-1] <= lam_min:
        return _path(problem, S, positive, pieces, Status.COMPLETED)
    whole = sum(len(piece.lams) for piece in pieces) == most
    return _path(problem, S, positive, pieces, Status.MAX_STEPS if whole else Status.BEYOND_PRECISION)


def _path(
    problem: Problem, S: IndexArray, positive: bool, pieces: list[Stretch], status: Status
) -> LassoPath:
    knots = np.concatenate([piece.lams for piece in pieces]).astype(problem.dtype)
    features, coef = _on_features(pieces, problem.d, len(knots))
    r2 = _explained(problem, S, features, coef, knots)
    active = [P for piece in pieces for P in piece.active]
    for i in range(len(knots) - 2, -1, -1):  # knots that are equal in float32 are made different
        knots[i] = max(knots[i], np.nextafter(knots[i + 1], np.inf, dtype=knots.dtype))
    active[-1] = active[-2] if len(active) > 1 else ()
    m, design, coef = problem.n_features, problem.design, coef.astype(problem.dtype)
    inside = features < m
    inner = coef[:, inside]
    return LassoPath(
        knots=knots,
        features=features[inside],
        coef_path=inner if design.scale is None else inner * design.scale[features[inside]],
        intercept=coef[:, ~inside].sum(axis=1),  # one column, or none where it is zero
        r2=r2.astype(problem.dtype),
        active=tuple(active),
        forced=S[problem.d - m :],  # after the column of ones
        status=status,
        fit=design.fit(problem.names, positive),
    )


def _on_features(pieces: list[Stretch], d: int, m: int) -> tuple[IndexArray, FloatArray]:
    """The columns with a nonzero coefficient somewhere, increasing, and β (m, p) on them."""
    columns = [np.arange(d)[piece.columns] for piece in pieces]
    used = np.zeros(d, bool)
    for J, piece in zip(columns, pieces, strict=True):
        used[J[piece.coef.any(axis=0)]] = True
    place, coef, stop = np.cumsum(used) - 1, np.zeros((m, np.count_nonzero(used))), 0
    for J, piece in zip(columns, pieces, strict=True):
        start, stop, inside = stop, stop + len(piece.lams), used[J]
        coef[start:stop, place[J[inside]]] = piece.coef[:, inside]
    return np.flatnonzero(used), coef


def _explained(
    problem: Problem, S: IndexArray, features: IndexArray, coef: FloatArray, knots: FloatArray
) -> FloatArray:
    """R² (m,) at the knots.

    With z = y, or y − ȳ for an intercept, r = y − Xβ and Xβ = f (without the intercept), ⟨f, r⟩ = λ‖β_{S̄}‖₁
    by the KKT conditions, so that ‖z‖² − ‖r‖² = ‖f‖² + 2⟨f, r⟩ = ⟨f, z⟩ + λ‖β_{S̄}‖₁, f projected as y is.
    """
    ones, z, c = problem.design.ones, problem.y, problem.Xty
    if ones is not None:
        for _ in range(2):  # what rounding leaves of the mean of y would be multiplied by those of X
            z = z - (ones @ z) / (ones @ ones) * ones
        c = problem.correlate(z)
        c[-1] = 0
    total = float(z @ z)
    if total == 0:
        return np.zeros(len(knots))
    penalty = np.abs(coef[:, ~np.isin(features, S)]).sum(axis=1) * knots
    return np.asarray(np.clip((coef @ c[features].astype(np.float64) + penalty) / total, 0, 1))
