"""Orthogonal least squares."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy._complex import select
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._method import Callback, GreedyMethod
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick, argmax
from sparselin.linalg.ties import Scores
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.problem.support import is_complex
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status
from sparselin.validation import Columns


@takes_problem
def ols(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    tol: float | None = None,
    residual: float | None = None,
    forced: Columns = (),
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SelectionPath:
    """Select k features by orthogonal least squares, also called forward regression.

    Let S be the features selected so far and r = P_S^⊥y the residual of least squares on S. Each step adds
    the feature that reduces the norm of the residual most:

        i* = argmax_{i ∉ S} |⟨X_i, r⟩|/‖P_S^⊥X_i‖,    ‖P_{S∪i}^⊥y‖² = ‖r‖² − ⟨X_i, r⟩²/‖P_S^⊥X_i‖²

    (Chen, Billings and Luo, *Orthogonal least squares methods*, 1989; called FR in *Selecting Diverse
    Features via Spectral Regularization*). `omp` compares only the numerators of these quotients, so both
    methods make the same first pick if all columns have the same norm. Scaling a column does not change the
    picks.

    Columns whose quotient agrees with the largest one to rounding are tied, and the lowest index is picked.
    A column in the span of S is never picked. The cost is that of `omp`, and complex data are accepted as in
    `omp`.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k, tol, residual, forced, intercept, standardize, sample_weight, callback : see `omp`.

    Returns
    -------
    SelectionPath. `lam_star` holds |⟨X_i, r⟩| for each pick i; `margin` and `ties` refer to the quotients
    above.

    Raises
    ------
    TypeError, ValueError : see `omp`.

    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.1]])
    >>> y = np.array([1.0, 2.0, 0.0])
    >>> path = ols(X, y, 2)
    >>> path.support.tolist(), path.residual_norm.round(3).tolist()
    ([1, 0], [2.236, 0.707, 0.0])
    """
    options: dict[str, Any] = {"tol": tol, "residual": residual, "forced": forced, "callback": callback}
    if y is not None and (is_complex(X) or is_complex(y)):
        return select(X, y, k, quotients=True, name="ols", **options, **data)
    return by_quotients(as_problem(X, y, **data, operator=True), k, **options)


def subset_fields(path: SelectionPath) -> dict[str, Any]:
    """Return the fields of a `SubsetResult` that depend on the selected set only, for the set of a path."""
    names = ("support", "coef", "r2", "intercept", "n_features", "names")
    fields = {name: getattr(path, name) for name in names}
    return fields | {"value": path.r2, "gains": np.diff(path.r2_path)}


def by_quotients(problem: Problem, k: int, *, by_rule: bool = False, **options: Any) -> SelectionPath:
    """Run `ols` on a problem, with options of `pursue`.

    With by_rule=True, fewer kernels need to be compiled by Numba.
    """
    lengths = Lengths(problem)

    def largest_fall(selection: Selection) -> Pick | Status:
        lengths.update(selection.qr)
        return largest_quotient(selection, lengths, selection.correlations(), selection.excluded)

    method = GreedyMethod(rule=largest_fall, lengths=lengths, by_rule=by_rule, by_index=True)
    return pursue(problem, k, method, **options)


def quotient_scores(selection: Selection, lengths: Lengths, c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return |⟨X_j, r⟩|/‖P_S^⊥X_j‖ (d,) for all columns j, and error bounds (d,), for c = Xᵀr (d,).

    r = P_S^⊥y is the residual on the selected columns S.
    """
    score = np.abs(c) * lengths.scale
    error = selection.problem.rounding(selection.qr.kappa) * selection.problem.y_norm
    return score, error * lengths.weights(score)


def largest_quotient(
    selection: Selection, lengths: Lengths, c: FloatArray, excluded: IndexArray | list[int]
) -> Pick | Status:
    """Return the pick j with the largest |⟨X_j, r⟩|/‖P_S^⊥X_j‖, except columns in `excluded`.

    r = P_S^⊥y is the residual on the selected columns S. If every ⟨X_j, r⟩ is zero, the Status that says why
    is returned.

    c : (d,) the correlations Xᵀr.
    """
    scores = quotient_scores(selection, lengths, c)
    c = c.astype(np.float64)

    def quotients(J: IndexArray) -> Scores:
        exact = selection.measure(J)
        c[J] = exact.c
        return exact.quotients()

    pick, _ = argmax(*scores, excluded, quotients)
    return selection.ending() if pick is None else pick._replace(lam_star=float(abs(c[pick.feature])))
