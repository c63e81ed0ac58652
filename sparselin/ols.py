"""Orthogonal least squares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lengths import Lengths
from sparselin.problem import as_problem, takes_problem
from sparselin.pursuit import pursue
from sparselin.results import SelectionPath, Status
from sparselin.selection import (
    Callback,
    Pick,
    Selection,
    ending,
    relative_margin,
    tied_at_maximum,
)


@takes_problem
def ols(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    tol: float | None = None,
    forced: Iterable[int] = (),
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> SelectionPath:
    """Select k features by orthogonal least squares, also called forward regression.

    Step by step the feature that lowers the residual most: with r = P_S^⊥y,

        i* = argmax_{i ∉ S} |⟨X_i, r⟩|/‖P_S^⊥X_i‖,    ‖P_{S∪i}^⊥y‖² = ‖r‖² − ⟨X_i, r⟩²/‖P_S^⊥X_i‖²

    (Chen, Billings and Luo, *Orthogonal least squares methods*, 1989; FR of *Selecting Diverse Features via
    Spectral Regularization*). OMP compares the numerators alone; the first picks agree where columns have
    equal norms. Scaling a column changes nothing. Columns within rounding of the largest fall are tied, and
    the lowest index is picked; a column in the span of S never is. Costs what `omp` does.

    Parameters
    ----------
    X, y, k, tol, forced, sample_weight, callback : as for `omp`.

    Returns
    -------
    SelectionPath. `lam_star` is |⟨X_i, r⟩| of each pick; `margin` and `ties` are about the quotients above.

    Raises
    ------
    TypeError, ValueError : as for `omp`.

    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.1]])
    >>> y = np.array([1.0, 2.0, 0.0])
    >>> path = ols(X, y, 2)
    >>> path.support.tolist(), path.residual_norm.round(3).tolist()
    ([1, 0], [2.236, 0.707, 0.0])
    """
    problem = as_problem(X, y, sample_weight)
    lengths = Lengths(problem)

    def largest_fall(selection: Selection) -> Pick | Status:
        qr = selection.qr
        lengths.follow(qr)
        c = selection.correlations()
        score = np.abs(c) * lengths.scale
        error = problem.rounding(qr.kappa) * problem.y_norm * lengths.weights(score)
        top, tied = tied_at_maximum(score, error)
        if top == 0:
            return ending(problem, qr, selection.residual_norm)
        if len(tied) > 1 and problem.dtype == np.float32:
            score = score.astype(np.float64)
            exact, error = selection.double.correlations(tied, qr, qr.size)
            rho = selection.double.lengths(tied, qr)
            score[tied] = np.abs(exact) / rho
            tied = tied[tied_at_maximum(score[tied], error / rho)[1]]
            top = float(score[tied].max())
        pick = int(tied[0])
        margin = relative_margin(score, pick, top)
        return Pick(pick, float(abs(c[pick])), margin, tuple(tied.tolist()))

    return pursue(problem, k, largest_fall, tol=tol, forced=forced, callback=callback, lengths=lengths)
