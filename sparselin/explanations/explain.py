"""`explain`: when and why a feature entered a path, or what made it redundant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.explanations.generalized import on_generalized
from sparselin.explanations.lasso import on_lasso
from sparselin.explanations.selection import on_selection
from sparselin.explanations.subset import on_subset
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import Explanation, GeneralizedPath, LassoPath, SelectionPath, SubsetResult


@takes_problem
def explain(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath | GeneralizedPath | SubsetResult,
    feature: int | str,
    *,
    sample_weight: ArrayLike | None = None,
) -> Explanation:
    """Explain when and why a feature entered a path or a set, or why not, in a sentence and in numbers.

    A feature j is selected when its |c_j|, c_j = ⟨X_j, r⟩, is the largest, r = P_S^⊥y. With z_j = P_S^⊥X_j
    and an orthonormal basis q_1, …, q_m of the span of X_S, in the order of selection,

        c_j = ⟨z_j, r⟩ = ⟨X_j, y⟩ − Σ_s ⟨q_s, X_j⟩⟨q_s, y⟩:

    each selected feature takes a term from c_j, or adds one. By |c_j| ≤ ‖z_j‖‖r‖ it tends to zero as S
    determines X_j (z_j small) or fits y (r small). Adding j would raise R² by c_j²/(‖z_j‖²‖y‖²), as
    ‖P_{S∪j}^⊥y‖² = ‖r‖² − c_j²/‖z_j‖². The rounding errors of c_j and ‖z_j‖ are bounded as in the decision on
    ties (`sparselin.linalg.ties`).

    Along a path for logistic or Poisson regression c = Xᵀ(w∘(y − μ)), and D², the share of the deviance that
    S explains, stands for R²; how much of X_j S determines is as for least squares with the weights w. What j
    would add to D² takes a refit on S ∪ j, and is NaN where there is none, as where j separates the data.

    Along a LASSO path |c_j(λ)| ≤ λ, with equality where β_j ≠ 0; between knots c_j is linear in λ, and
    |c_j|/λ = |a/λ + b| is largest at an end. Over β ≥ 0 all this is so with c_j for |c_j|.

    Of a set S (`best_subset`, `swaps`, the searches): what R² falls by without a member j, and which feature
    would do best in its place; what another one would add; and what `best_subset` proved about other sets.

    Parameters
    ----------
    X, y : the data of the path, real, not a LinearOperator: design (n, d) and response (n,), or one `Problem`
        in place of both (not for a `GeneralizedPath`). The intercept and the standardization are those of the
        path; of a set, which does not say, it has an intercept if `intercept` is not zero.
    path : a `SelectionPath`, `LassoPath`, `GeneralizedPath`, or `SubsetResult`.
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
    if not isinstance(path, SelectionPath | LassoPath | GeneralizedPath | SubsetResult):
        raise TypeError(
            "path must be a SelectionPath, a LassoPath, a GeneralizedPath or a SubsetResult (of a NuChoice "
            f"its `selection`); got {type(path).__name__}"
        )
    if isinstance(X, Problem) and isinstance(path, GeneralizedPath):
        raise TypeError("a GeneralizedPath needs the rows as they are: pass X and y in place of the Problem")
    one: Any = feature
    if not isinstance(one, str | int | np.integer) or isinstance(one, bool):
        raise TypeError(f"feature must be the name or the index of one feature; got {feature!r}")
    if isinstance(path, SubsetResult):
        options = bool(path.intercept), False
    else:
        options = path.with_intercept, path.standardized
    problem = as_problem(X, y, sample_weight, *(() if isinstance(X, Problem) else options))
    kinds = problem.n_features, problem.design.ones is not None, problem.design.scale is not None
    expected = path.n_features, *(kinds[1:] if isinstance(path, SubsetResult) else options)
    for words, ours, theirs in zip(
        ("number of features", "intercept", "standardization"), kinds, expected, strict=True
    ):
        if ours != theirs:
            raise ValueError(f"path must be one of X and y: its {words} is {theirs}, that of the data {ours}")
    j = int(problem.indices([feature], "feature", path.names)[0])
    if isinstance(path, SubsetResult):
        return on_subset(problem, path, j)
    if isinstance(path, GeneralizedPath):
        return on_generalized(problem, path, j, X, y, sample_weight)
    return on_selection(problem, path, j) if isinstance(path, SelectionPath) else on_lasso(problem, path, j)
