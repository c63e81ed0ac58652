"""The function `explain`: when and why a feature entered a path, or why it did not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.explanations.generalized import explain_on_generalized_path
from sparselin.explanations.lasso import explain_on_path
from sparselin.explanations.selection import explain_on_selection_path
from sparselin.explanations.subset import explain_in_subset
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.problem.paths import check_path, responses
from sparselin.results import Explanation, FlowPath, GeneralizedPath, LassoPath, SelectionPath, SubsetResult


@takes_problem
def explain(
    X: Any,
    y: ArrayLike | None,
    path: SelectionPath | LassoPath | FlowPath | GeneralizedPath | SubsetResult,
    feature: int | str,
    *,
    sample_weight: ArrayLike | None = None,
) -> Explanation:
    """Explain when and why a feature entered a path or a set, or why it did not, in words and in numbers.

    **Greedy paths.** Let S be the features selected before, and r = P_S^⊥y the residual of least squares on
    S. A feature j is selected if |c_j| with c_j = ⟨X_j, r⟩ is the largest. Let z_j = P_S^⊥X_j, and let q_1,
    …, q_m be an orthonormal basis of the span of X_S, in the order of selection. Then

        c_j = ⟨z_j, r⟩ = ⟨X_j, y⟩ − Σ_s ⟨q_s, X_j⟩⟨q_s, y⟩.

    So each selected feature contributes one term to c_j. Since |c_j| ≤ ‖z_j‖‖r‖, there are two reasons why
    c_j becomes small: S explains X_j (z_j is small), or S fits y (r is small). Adding j would raise R² by
    c_j²/(‖z_j‖²‖y‖²), because ‖P_{S∪j}^⊥y‖² = ‖r‖² − c_j²/‖z_j‖². The rounding errors of c_j and ‖z_j‖ are
    bounded as in the decision on ties (`sparselin.linalg.ties`).

    **Logistic and Poisson regression.** Here c = Xᵀ(w∘(y − μ)), where w are the weights and μ the fitted
    means. R² is replaced by D², the share of the deviance that S explains. The share of X_j that S explains
    is computed by least squares with the weights w. To find how much j would increase D², the model is fitted
    again on S ∪ j. The increase is NaN if this model does not exist, for example because j separates the
    data.

    **LASSO paths.** Let c_j(λ) = ⟨X_j, y − Xβ(λ)⟩. Then |c_j(λ)| ≤ λ, with equality where β_j ≠ 0. Between
    knots c_j is linear in λ, so |c_j|/λ = |a/λ + b| is largest at a knot. If β ≥ 0 is required, the same
    holds with c_j in place of |c_j|.

    **Gradient flow.** A feature enters when its accumulated correlation s_j(τ) = ∫₀^τ c_j reaches ±1. Between
    events s_j is linear in τ, so |s_j| is largest at an event. If the flow was restarted, s_j is accumulated
    from the last restart.

    **Sets** (of `best_subset`, `swaps`, and the searches of `sl.spectral`). The explanation of a feature j in
    the set gives the decrease of R² without j, and the best replacement of j. The explanation of a feature
    outside the set gives the increase of R² if the feature is added. For `best_subset` both kinds of
    explanation also say what was proved about other sets.

    Parameters
    ----------
    X, y : the data from which the path was computed: design (n, d) and response (n,), or one `Problem` in
        place of both (not for a `GeneralizedPath`). They must be real, and X not a LinearOperator. The
        intercept and the standardization are taken from the path. A set does not record whether there was an
        intercept; this is assumed if its `intercept` is not zero.
    path : a `SelectionPath`, `LassoPath`, `FlowPath`, `GeneralizedPath` or `SubsetResult`.
    feature : j, by index or by its name in the path.
    sample_weight : the weights with which the path was computed.

    Returns
    -------
    Explanation. `str(explanation)` is the sentence.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), a path of another class, or an unknown feature. The
        error is also raised if the path was not computed from these data (residual norms or R² differ by more
        than rounding, or the numbers of features differ), if it was computed from a `Problem` with another
        intercept or standardization, or if `omp(..., positive=True)` set some coefficients of the path to
        zero.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.8], [0.0, 1.0, 0.6], [0.0, 0.0, 0.0]], [3.0, 2.0, 1.0]
    >>> path = sl.omp(X, y, 1)
    >>> print(explain(X, y, path, 2))  # doctest: +NORMALIZE_WHITESPACE
    x2 entered at step 1 of 1 because its |c| = 3.6 was the largest (next: x0, 16.7 % less);
    R² rose from 0 to 0.9257.
    >>> found = explain(X, y, path, 0)
    >>> found.correlation.round(2), round(found.left, 2), round(found.gain, 4)
    (array([3.  , 0.12]), 0.36, 0.0029)
    """
    if not isinstance(path, SelectionPath | LassoPath | FlowPath | GeneralizedPath | SubsetResult):
        raise TypeError(
            "path must be a SelectionPath, LassoPath, FlowPath, GeneralizedPath or SubsetResult (for a "
            f"NuChoice, pass its `selection`); got {type(path).__name__}"
        )
    if isinstance(path, GeneralizedPath):
        if isinstance(X, Problem):
            raise TypeError("a GeneralizedPath needs the original rows: pass X and y in place of the Problem")
        y = responses(path, y)
    name_or_index: Any = feature
    if not isinstance(name_or_index, str | int | np.integer) or isinstance(name_or_index, bool):
        raise TypeError(f"feature must be the name or the index of one feature; got {feature!r}")
    if isinstance(path, SubsetResult):
        options = bool(path.intercept), False
    else:
        options = path.with_intercept, path.standardized
    intercept, standardize = (False, False) if isinstance(X, Problem) else options
    problem = as_problem(X, y, sample_weight=sample_weight, intercept=intercept, standardize=standardize)
    check_path(problem, path)
    j = int(problem.indices([feature], "feature", path.names)[0])
    if isinstance(path, SubsetResult):
        return explain_in_subset(problem, path, j)
    if isinstance(path, GeneralizedPath):
        return explain_on_generalized_path(problem, path, j, X, y, sample_weight)
    if isinstance(path, SelectionPath):
        return explain_on_selection_path(problem, path, j)
    return explain_on_path(problem, path, j)
