"""λ₂/λ* along a path: how far below λ* the LASSO's support stays A(S)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.entry import first_entry
from sparselin.lasso.sequential import sequential_lasso
from sparselin.problem import as_problem, takes_problem
from sparselin.results import FloatArray
from sparselin.validation import Columns


@takes_problem
def window_ratios(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    forced: Columns = (),
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """λ₂(S)/λ*(S) at each step of Sequential LASSO: where the selection window ends, as a share of λ*.

    With S the features before a step, the support of argmin ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ off S is A(S) for all λ in
    (λ₂, λ*), and λ₂ is the least such number (`first_entry`, docs/windows.md): nearer to 0 is a wider window.

    Parameters
    ----------
    X, y, k, forced, intercept, standardize, sample_weight : as for `sequential_lasso`.

    Returns
    -------
    (m,) the ratios, 0 ≤ λ₂/λ* < 1, in the order of `sequential_lasso(...).support` and of its dtype; NaN for
    forced features. m < k where the path ends before k features.

    Raises
    ------
    TypeError, ValueError : as for `sequential_lasso`.

    >>> window_ratios([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], [1.0, 4.0], 2).round(3)
    array([0.75, 0.  ])
    """
    problem = as_problem(X, y, sample_weight, intercept, standardize, operator=True)
    path = sequential_lasso(problem, None, k, forced=forced)
    ratios = np.full(len(path.support), np.nan, problem.dtype)
    for t in np.flatnonzero(~np.isnan(path.lam_star)):
        entry = first_entry(problem, None, forced=path.support[:t])
        ratios[t] = entry.window_lower / entry.lam_star if entry.lam_star > 0 else np.nan
    return ratios
