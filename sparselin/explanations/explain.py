"""`explain`: when and why a feature entered a path, or what made it redundant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.explanations.lasso import on_lasso
from sparselin.explanations.selection import on_selection
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import Explanation, LassoPath, SelectionPath
from sparselin.validation import check_indices


@takes_problem
def explain(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath,
    feature: int | str,
    *,
    sample_weight: ArrayLike | None = None,
) -> Explanation:
    """Explain when and why a feature entered a path, or why it did not, in a sentence and in numbers.

    A feature j is selected when its |c_j|, c_j = ⟨X_j, r⟩, is the largest, r = P_S^⊥y. With z_j = P_S^⊥X_j
    and an orthonormal basis q_1, …, q_m of the span of X_S, in the order of selection,

        c_j = ⟨z_j, r⟩ = ⟨X_j, y⟩ − Σ_s ⟨q_s, X_j⟩⟨q_s, y⟩:

    each selected feature takes a term from c_j, or adds one. By |c_j| ≤ ‖z_j‖‖r‖ it tends to zero as S
    determines X_j (z_j small) or fits y (r small). Adding j would raise R² by c_j²/(‖z_j‖²‖y‖²), as
    ‖P_{S∪j}^⊥y‖² = ‖r‖² − c_j²/‖z_j‖². The rounding errors of c_j and ‖z_j‖ are bounded as in the decision on
    ties (`sparselin.ties`).

    Along a LASSO path |c_j(λ)| ≤ λ, with equality where β_j ≠ 0; between knots c_j is linear in λ, and
    |c_j|/λ = |a/λ + b| is largest at an end. Over β ≥ 0 all this is so with c_j for |c_j|.

    Parameters
    ----------
    X, y : the data of the path, real, not a LinearOperator: design (n, d) and response (n,), or one `Problem`
        in place of both. The intercept and the standardization are those of the path.
    path : a `SelectionPath` or `LassoPath`.
    feature : j, an index or a name of the path's.
    sample_weight : the weights of the path.

    Returns
    -------
    Explanation. `str` of it is the sentence.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); path of another class, of other data (their residual
        norms or R² differ by more than rounding, or the number of features), or of a `Problem` with another
        intercept or standardization, or from `omp(..., positive=True)` where it has set coefficients to zero;
        no such feature.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.8], [0.0, 1.0, 0.6], [0.0, 0.0, 0.0]], [3.0, 2.0, 1.0]
    >>> path = sl.omp(X, y, 1)
    >>> print(explain(X, y, path, 2))
    x2 entered at step 1 of 1 with the largest |c| = 3.6, x0 having 16.7 % less; R² rose from 0 to 0.9257.
    >>> found = explain(X, y, path, 0)
    >>> found.correlation.round(2), round(found.left, 2), round(found.gain, 4)
    (array([3.  , 0.12]), 0.36, 0.0029)
    """
    if not isinstance(path, SelectionPath | LassoPath):
        raise TypeError(
            f"path must be a SelectionPath or a LassoPath, of features that enter one by one; got "
            f"{type(path).__name__}"
        )
    one: Any = feature
    if not isinstance(one, str | int | np.integer) or isinstance(one, bool):
        raise TypeError(f"feature must be the name or the index of one feature; got {feature!r}")
    if isinstance(X, Problem):
        problem = as_problem(X, y, sample_weight)
    else:
        problem = as_problem(X, y, sample_weight, path.with_intercept, path.standardized)
    kinds = (problem.n_features, problem.design.ones is not None, problem.design.scale is not None)
    expected = (path.n_features, path.with_intercept, path.standardized)
    for words, ours, theirs in zip(
        ("number of features", "intercept", "standardization"), kinds, expected, strict=True
    ):
        if ours != theirs:
            raise ValueError(f"path must be one of X and y: its {words} is {theirs}, that of the data {ours}")
    j = int(check_indices([feature], problem.n_features, "feature", path.names, problem._numbers)[0])
    return on_selection(problem, path, j) if isinstance(path, SelectionPath) else on_lasso(problem, path, j)
