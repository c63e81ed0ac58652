"""Orthogonal Matching Pursuit."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sparselin.greedy._complex import select
from sparselin.greedy._nonnegative import Nonnegative
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Callback, Selection
from sparselin.greedy._walk import Pick
from sparselin.linalg.ties import argmax
from sparselin.problem import as_problem, takes_problem
from sparselin.problem.support import is_complex
from sparselin.results import SelectionPath, Status
from sparselin.validation import Columns


@takes_problem
def omp(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    tol: float | None = None,
    residual: float | None = None,
    forced: Columns = (),
    positive: bool = False,
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> SelectionPath:
    """Select k features by Orthogonal Matching Pursuit.

    With r = P_S^⊥y the residual of least squares on the features S so far, each step takes

        i* = argmax_{i ∉ S} |⟨X_i, r⟩|,    S ← S ∪ {i*}

    (Algorithm 2 of *Sequential Attention for Feature Selection*). The columns whose |correlation| agrees with
    the largest to rounding form the tied set T (bounds in `linalg.ties`; float32 data are compared in
    float64). The lowest index of T whose correlation is not zero to rounding is picked. X is used as given:
    for unit columns the pick is the column at the smallest angle to r. Either blocks of picks are guessed and
    checked on all columns at once, or a copy of X in 16-bit integers screens out all but a few columns, so
    that a step costs a fraction of a pass over X (docs/speed.md), with the threads that BLAS and Numba may
    use.

    With `positive` (Bruckstein, Elad and Zibulevsky, *On the uniqueness of nonnegative sparse solutions to
    underdetermined systems of equations*, 2008) the coefficients of picks are nonnegative, forced ones being
    free of sign: with r the residual of least squares over β_{S∖forced} ≥ 0,

        i* = argmax_{i ∉ S} ⟨X_i, r⟩,    while that is positive.

    λ* = max(0, max ⟨X_i, r⟩), T and the margin are those of this maximum. Picks stay in S, those whose
    coefficient is zero too: it may become positive again. A path that ends with EXACT_FIT, NO_CORRELATION or
    RANK_EXHAUSTED ends in a nonnegative least squares solution on all columns (docs/proofs/nonnegative.md).
    Each step is then one pass over X.

    Complex X or y (X an array, sparse, or a LinearOperator): ⟨X_i, r⟩ = X_iᴴr, compared
    by modulus; λ*, margins and residual norms are real. Each step is one pass over X.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k : features to select, 1 ≤ k ≤ d, `forced` ones included.
    tol : stop once ‖r‖ ≤ tol·‖y‖ (a norm, not its square), 0 ≤ tol ≤ 1.
    residual : stop once ‖r‖ ≤ residual. With `tol` too, at the first of the two. Both to rounding, 8·eps‖y‖:
        below that, as with 0, a path ends with EXACT_FIT, not TOLERANCE.
    forced : columns that enter first, in this order, by index or name, whatever their correlation.
    positive : require β ≥ 0, except on `forced` and for an intercept.
    intercept, standardize : an unpenalised intercept; columns divided by their standard deviations. See
        `Problem`. Coefficients are in the units of X; tol is relative to ‖y − ȳ‖ with an intercept.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each pick with the path so far; returning True stops.

    Returns
    -------
    SelectionPath. Fewer than k features come with the status TOLERANCE, EXACT_FIT, NO_CORRELATION,
    RANK_EXHAUSTED, BEYOND_PRECISION or STOPPED.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), k outside 1..d, repeated or unknown `forced`,
        more of them than k, tol outside 0..1, negative residual.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = omp(X, np.array([1.0, 4.0]), 2)
    >>> path.support.tolist(), path.lam_star.round(12).tolist(), path.status.name
    ([1, 0], [4.0, 1.0], 'COMPLETED')
    >>> path = omp(X, np.array([-1.0, 4.0]), 2, positive=True)
    >>> path.support.tolist(), path.coef.tolist(), path.status.name
    ([1], [4.0], 'NO_CORRELATION')
    """
    if y is not None and (is_complex(X) or is_complex(y)):
        return select(
            X, y, k, quotients=False, tol=tol, residual=residual, forced=forced,
            real_only=intercept or standardize or positive, sample_weight=sample_weight, callback=callback,
        )  # fmt: skip
    problem = as_problem(X, y, sample_weight, intercept, standardize, operator=True)
    rule, state = (largest_positive, Nonnegative) if positive else (largest_correlation, Selection)
    return pursue(
        problem, k, rule, tol=tol, residual=residual, forced=forced, callback=callback,
        by_rule=positive, state=state,
    )  # fmt: skip


def largest_correlation(selection: Selection) -> Pick | Status:
    """The lowest index of T, or why λ* is zero; what the bounds by κ leave undecided is measured."""
    error = selection.problem.correlation_error(selection.qr.kappa)
    best, c = argmax(selection.correlations(), error, selection.excluded, selection.scores)
    if best is None:
        return selection.ending()
    return Pick.largest(best, c)


def largest_positive(selection: Selection) -> Pick | Status:
    """The same for `Nonnegative`, whose scores are max(c, 0); or BEYOND_PRECISION where β is undecided."""
    return Status.BEYOND_PRECISION if selection.undecided else largest_correlation(selection)
