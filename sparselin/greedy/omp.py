"""Orthogonal Matching Pursuit.

It is Algorithm 2 of *Sequential Attention for Feature Selection*, which takes ten lines:

>>> import numpy as np
>>> def algorithm_2(X, y, k):
...     S = []
...     for _ in range(k):
...         beta = np.linalg.lstsq(X[:, S], y, rcond=None)[0]  # β_S = argmin ‖X_Sβ − y‖²
...         r = y - X[:, S] @ beta  # P_S^⊥y
...         score = np.abs(X.T @ r)  # |⟨X_i, r⟩|
...         score[S] = -1  # i ∉ S
...         S.append(int(np.argmax(score)))  # S ← S ∪ {i*}; in a tie, the lowest index
...     return S
>>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
>>> algorithm_2(X, np.array([1.0, 4.0]), 2)
[1, 0]

`omp` makes these picks. It also says which scores are tied to rounding, and when a path must end
(`linalg.ties`). The schemes only find the same picks sooner: a *run* of one compiled call makes many picks of
a small problem (`_runs`); a *screen* in 16 bits rules out most columns of a pick (`_single`); a *block* of
guessed picks is checked by one product with X (`_blocks`); a *batch* of signals shares XᵀX (`batch_omp`).
Where a scheme cannot prove a pick, the rule `largest_correlation` compares all columns.
"""

from __future__ import annotations

import itertools
from typing import Any, Unpack

from numpy.typing import ArrayLike

from sparselin.greedy._bases import GroupBases as GroupBases
from sparselin.greedy._bases import in_bases as in_bases
from sparselin.greedy._complex import select
from sparselin.greedy._groups import group_omp as group_omp
from sparselin.greedy._groups import groups_of_problem as groups_of_problem
from sparselin.greedy._least_squares import LeastSquares
from sparselin.greedy._method import Callback, GreedyMethod
from sparselin.greedy._nonnegative import NonnegativeLeastSquares
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick, argmax
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.problem.support import is_complex
from sparselin.results import IndexArray, SelectionPath, Status
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
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SelectionPath:
    """Select k features by Orthogonal Matching Pursuit.

    Let S be the features selected so far and r = P_S^⊥y the residual of least squares on S. Each step selects
    the feature whose inner product with the residual is largest in modulus:

        i* = argmax_{i ∉ S} |⟨X_i, r⟩|,    S ← S ∪ {i*}.

    This is Algorithm 2 of *Sequential Attention for Feature Selection*. The largest modulus is λ*(S),
    `lam_star` in the result. The difference between λ* and the second largest modulus, divided by λ*, is
    `margin`. X is used as given: if its columns have unit length, the pick is the column at the smallest
    angle to r.

    Ties. The tied set T holds the columns whose |⟨X_i, r⟩| agrees with the largest one to rounding. The pick
    is the lowest index in T whose correlation is not zero to rounding. The bounds on rounding errors are
    derived in `linalg.ties`; float32 data are compared in float64.

    Cost. A step costs a fraction of a pass over X (docs/speed.md): either blocks of picks are guessed and
    then checked on all columns at once, or a copy of X in 16-bit integers rules out all but a few columns.
    BLAS and Numba may use several threads.

    Nonnegative OMP. With `positive`, the coefficients of the picks must be nonnegative; the coefficients of
    `forced` features may have any sign. Let β, zero outside S, minimise ‖y − Xβ‖ under this constraint. The
    residual is r = y − Xβ, and each step selects

        i* = argmax_{i ∉ S} ⟨X_i, r⟩,    as long as this maximum is positive

    (Bruckstein, Elad and Zibulevsky, *On the uniqueness of nonnegative sparse solutions to underdetermined
    systems of equations*, 2008). Here λ* is this maximum, or 0 if the maximum is negative. T and the margin
    are defined with ⟨X_i, r⟩ in place of |⟨X_i, r⟩|. A pick stays in S even if its coefficient becomes zero,
    because the coefficient may become positive again. A path that ends with EXACT_FIT, NO_CORRELATION or
    RANK_EXHAUSTED ends in a nonnegative least squares solution on all columns (docs/proofs/nonnegative.md). A
    step costs one pass over X.

    Complex data. X or y may be complex if X is an array, a sparse matrix or a LinearOperator. The inner
    products ⟨X_i, r⟩ = X_iᴴr are compared by their modulus, so λ*, margins and residual norms are real. A
    step costs one pass over X.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    tol : stop once ‖r‖ ≤ tol·‖y‖ (a norm, not its square), 0 ≤ tol ≤ 1.
    residual : stop once ‖r‖ ≤ residual. If `tol` is given too, the path stops at the first threshold that is
        met. A threshold counts as met if ‖r‖ exceeds it by at most 8·eps‖y‖, where eps is the machine
        epsilon. If the threshold itself is below 8·eps‖y‖ (for example 0), the path ends with EXACT_FIT, not
        with TOLERANCE.
    forced : features that enter first, in this order, by index or name, whatever their correlation.
    positive : require β ≥ 0, except for `forced` features and the intercept.
    intercept, standardize : fit an unpenalised intercept; divide columns by their standard deviations (see
        `Problem`). Coefficients are in the units of X. With an intercept, tol is relative to ‖y − ȳ‖.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each pick with the path so far; the selection stops if it returns True.

    Returns
    -------
    SelectionPath. If it has fewer than k features, its status is TOLERANCE, EXACT_FIT, NO_CORRELATION,
    RANK_EXHAUSTED, BEYOND_PRECISION or STOPPED.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), k outside 1..d, repeated or unknown `forced`
        features or more than k of them, tol outside 0..1, or a negative residual.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = omp(X, np.array([1.0, 4.0]), 2)
    >>> path.support.tolist(), path.lam_star.round(12).tolist(), path.status.name
    ([1, 0], [4.0, 1.0], 'COMPLETED')
    >>> path = omp(X, np.array([-1.0, 4.0]), 2, positive=True)
    >>> path.support.tolist(), path.coef.tolist(), path.status.name
    ([1], [4.0], 'NO_CORRELATION')
    """
    options: dict[str, Any] = {"tol": tol, "residual": residual, "forced": forced, "callback": callback}
    if y is not None and (is_complex(X) or is_complex(y)):
        return select(X, y, k, positive=positive, **options, **data)
    problem = as_problem(X, y, **data, operator=True)
    method = GreedyMethod(rule=largest_correlation, by_rule=positive, by_index=not positive)
    return pursue(problem, k, method, fit=NonnegativeLeastSquares if positive else LeastSquares, **options)


def largest_correlation(selection: Selection) -> Pick | Status:
    """Return the pick of OMP: the feature j with the largest |⟨X_j, r⟩|, where r is the residual.

    If coefficients must be nonnegative, it is the feature with the largest max(⟨X_j, r⟩, 0). In a tie to
    rounding, the lowest index is returned. If all correlations are zero, the Status that says why
    is returned. Where cheap error bounds leave the comparison of columns undecided, the columns are compared
    again with sharper bounds (`linalg.ties`).
    """
    error = selection.problem.correlation_error(selection.qr.kappa)
    pick, _ = argmax(selection.correlations(), error, selection.excluded, selection.scores)
    return selection.ending() if pick is None else pick


def refit(problem: Problem, order: Any) -> SelectionPath:
    """Fit least squares on the first 1, 2, … features of a given order, and return the models as a path."""
    if len(order) == 0:
        return omp(problem, 1, tol=1.0)  # ends before its first pick
    return omp(problem, len(order), forced=order)


def ranks_of(problem: Problem, order: IndexArray) -> list[int]:
    """Return the ranks of the first 0, 1, … columns of `order`, centred if there is an intercept.

    A column counts if `ThinQR` finds it outside the span of the columns before it.
    """
    qr = ThinQR(problem, problem.with_ones(order[:0]))
    return list(itertools.accumulate(map(qr.append, order.tolist()), initial=0))
