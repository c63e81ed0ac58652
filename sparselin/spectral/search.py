"""Forward regression, local search and greedy local search for g(S) = R²(S) + ν·f(S).

`greedy_maximize` maximises a set function of C alone, without a response.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy.ols import ols, subset_fields
from sparselin.linalg.elimination import centre
from sparselin.parallel.threads import workers
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import GreedyMaximum, IndexArray, SelectionPath, SubsetResult
from sparselin.spectral._searches import Callback, FoundSet, SearchTask, extend, forward, greedy_local, local
from sparselin.spectral.objective import Objective
from sparselin.spectral.regularizers.base import Gram, SetFunction, grow
from sparselin.validation import Columns, check_choice, check_count, check_level

Variant = Literal["complete", "printed"]


@takes_problem
def forward_regression(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    regularizer: SetFunction | None = None,
    nu: float = 0.0,
    forced: Columns = (),
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SubsetResult:
    """Select k features by forward regression with a regularizer f, which makes the selection diverse.

    Let S be the features selected so far, and g(S) = R²(S) + ν·f(S). Each pick is the feature x ∉ S for which
    g(S ∪ {x}) is largest. Here R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖², where P_S^⊥y is the residual of least squares on
    S. R² is uncentred, and 0 for y = 0. This method is FR of *Selecting Diverse Features via Spectral
    Regularization* (2012). As printed there, the method selects k features even if g decreases; `best_prefix`
    of the result is the number of features with the largest g. A feature in the span of the others
    contributes to f only, and its coefficient is 0. An all-zero column is never selected, because the
    regularizers are not defined for such columns.

    If f is increasing and submodular and f(∅) ≥ 0, then the selected S has g(S) ≥ (1 − e^{−γ})·max g, where
    the maximum is over sets of k features, and γ = γ_{S,k} is the `submodularity_ratio` of R² (Theorem 15).
    Among the regularizers this covers `SmoothedDifferentialEntropy` with δ ≥ 1 (section 5.1). The bound also
    holds for `SmoothedDifferentialEntropy` with δ < 1, and on unit columns for `SpectralVariance`, if the
    constant of the regularizer is chosen for at least k features (`guarantee_bounds`). For other f see
    `greedy_local_search`. The regularizers are applied to C = XᵀX without rescaling; the paper assumes unit
    columns.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. float32 data are compared in
        float64.
    k : the number of features to select, 1 ≤ k ≤ d, including the forced ones.
    regularizer : f, one of `sparselin.spectral`, or an object with `value(C, S)`, `gains(C, S)` and
        `submodular`.
    nu : ν ≥ 0. For ν = 0, or without a regularizer, this is `ols`, which stops when no feature reduces the
        residual.
    forced : features that enter first, by index or name.
    intercept, standardize, sample_weight : as for `omp`. With an intercept R² refers to y − ȳ, and f is
        applied to the Gram matrix of the centred columns. With `standardize` f is applied to the Gram matrix
        of the standardized columns.
    callback : called after each step with the `SubsetResult` so far; returning True stops.

    Returns
    -------
    `SubsetResult`. Features whose g is the largest up to rounding are tied, and the lowest index is selected.
    The search ends with BEYOND_PRECISION if two conditions hold: rounding errors of f leave open which
    feature gives the largest f, and these errors exceed 2⁻¹⁰ of the unit of f. The unit is a bit for
    entropies, and the largest ‖X_i‖^{2α} for ranks. This can happen for a Gram problem with dependent columns
    and δ below eps‖X_i‖².

    Raises
    ------
    TypeError, ValueError : bad data, k, nu or `forced`; nu > 0 without a regularizer.

    >>> import numpy as np
    >>> from sparselin.spectral import SmoothedDifferentialEntropy
    >>> X, y = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.2, 0.15])
    >>> forward_regression(X, y, 2).support.tolist()
    [0, 1]
    >>> f = SmoothedDifferentialEntropy(1.0)
    >>> forward_regression(X, y, 2, regularizer=f, nu=0.5).support.tolist()
    [0, 2]
    """
    problem = as_problem(X, y, **data)
    k, nu, first = _check_arguments(problem, k, regularizer, nu, forced)
    if nu == 0:
        return _by_ols(problem, k, regularizer, first, callback)
    U = np.arange(problem.n_features)
    found = forward(task_for(problem, regularizer, nu, callback), k, U, first)
    return FoundSet.single(*found).result(problem.dtype)


@takes_problem
def local_search(
    X: Any,
    y: ArrayLike | None,
    *,
    regularizer: SetFunction,
    nu: float = 1.0,
    eps: float = 0.1,
    within: Columns | None = None,
    variant: Variant = "complete",
    forced: Columns = (),
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SubsetResult:
    """Find a local maximum S of a regularizer f, then return the best of S, U∖S and U for g = R² + ν·f.

    This is LS of *Selecting Diverse Features via Spectral Regularization* (2012), for a non-negative
    submodular f. Let U be the features to choose from, by default all, and n = |U|. The search starts at the
    best single feature. S + x and S − x denote S with x added and with x removed.

    - `variant="complete"` adds a feature x as long as f(S + x) > (1 + ε/n²)·f(S) for some x. Otherwise it
      deletes a feature x with f(S − x) > (1 + ε/n²)·f(S). This is the search of Feige, Mirrokni and Vondrák,
      *Maximizing non-monotone submodular functions* (2011). At its end (2 + ε/n)·f(S) + f(U∖S) ≥ f(T) for all
      T ⊆ U (their Theorem 3.4 has 2ε/n). Therefore max(g(S), g(U∖S), g(U)) ≥ max g/(4 + ε/n) for every ν.
    - `variant="printed"` is the search printed in the paper: additions only, as long as
      f(S + x) ≥ (1 + ε/n²)·f(S). Without deletions S need not be a local maximum, and the bound need not
      hold.

    In "complete" the inequality is strict. Otherwise additions and deletions would form a cycle where
    f(S) = 0. Among the admissible moves of one kind the search makes the move that increases f most. If moves
    are tied up to rounding, it makes the move with the lowest index. The size of the result is not limited.

    With `forced` features F the method searches U∖F for the functions f_F(S) = f(F ∪ S) and g_F(S) = g(F ∪
    S). If f is submodular and non-negative, so is f_F, and R²(F ∪ S) increases with S. So F is part of every
    set above, n = |U∖F|, and the bounds hold for all T that contain F, where max g is the maximum over the
    sets that contain F.

    Parameters
    ----------
    X (n, d), y (n,), intercept, standardize, sample_weight (n,) : as for `forward_regression`.
    regularizer : f ≥ 0. If f(S) < 0 at the start, a ValueError is raised, because then
        (1 + ε/n²)·f(S) < f(S), so that a decrease would count as an increase. Regularizers with a normalising
        constant need their argument k, for example `SpectralVariance(k=...)`.
    nu : ν ≥ 0.
    eps : ε ≥ 0.
    within : U, the features to choose from, by default all; zero columns in U are ignored.
    forced : F, the features of every set, by index or name; they need not be in `within`.
    variant : the moves.
    callback : called after each move with the `SubsetResult` of S; returning True stops the search.

    Returns
    -------
    `SubsetResult`, with `candidates` S, U∖S and U. Its `support` begins with the forced features. The others
    are in the order of the search if the best set is S, otherwise increasing. The status may be
    BEYOND_PRECISION, as for `forward_regression`.

    Raises
    ------
    TypeError, ValueError : bad data or arguments; repeated or unknown features.

    >>> import numpy as np
    >>> from sparselin.spectral import SmoothedDifferentialEntropy
    >>> X, y = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.2, 0.15])
    >>> found = local_search(X, y, regularizer=SmoothedDifferentialEntropy(0.1, k=1))
    >>> found.support.tolist(), found.moves
    ([0, 2], 1)
    """
    problem = as_problem(X, y, **data)
    check_regularizer(regularizer)
    first = problem.indices(forced, "forced")
    U = np.arange(problem.n_features) if within is None else problem.indices(within, "within")
    task = task_for(problem, regularizer, nu, callback, eps, variant)
    U = np.setdiff1d(U[task.gram.diagonal[U] > 0], first)
    return local(task, U, first).result(problem.dtype)


@takes_problem
def greedy_local_search(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    regularizer: SetFunction,
    nu: float = 1.0,
    eps: float = 0.1,
    variant: Variant = "complete",
    forced: Columns = (),
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SubsetResult:
    """Select features by greedy local search for g = R² + ν·f: the best of S₁, S₁' and S₂.

    Let U be all features. S₁ is the result of forward regression (FR, `forward_regression`) on U, S₁' the
    result of local search (LS, `local_search`) within S₁, and S₂ the result of FR on U∖S₁. This method is GLS
    of *Selecting Diverse Features via Spectral Regularization* (2012), for a submodular f that is
    non-negative on the sets of at most 3k features but need not increase. Theorem 9 guarantees a constant
    fraction of the best g over at most k features. FR selects k features (or all, if fewer remain), and LS
    selects a subset of S₁.

    With `forced` features F the method is GLS for the function g(F ∪ S) and k − |F| features, and F is part
    of every set. The guarantee is then a fraction of the best g over the sets of at most k features that
    contain F. In the guarantee |S₁∖F| replaces |S₁|, and the submodularity ratio γ refers to the sets that
    contain F. f need only be non-negative on the sets of at most |F| + 3(k − |F|) features that contain F.

    Parameters
    ----------
    X (n, d), y (n,), k, regularizer, nu, forced, intercept, standardize, sample_weight (n,) : as for
        `forward_regression`.
    eps, variant : as for `local_search`.
    callback : called after each step of FR and each move of LS with the `SubsetResult` so far. Returning True
        stops; the result is then the best of the complete sets, or S₁ so far if none is complete.

    Returns
    -------
    `SubsetResult`, with `candidates` S1, S1', S2. If the status is BEYOND_PRECISION, as for
    `forward_regression`, `candidates` holds the sets that were complete before.

    Raises
    ------
    TypeError, ValueError : bad data or arguments; f is negative at the start of `local_search`.

    >>> import numpy as np
    >>> from sparselin.spectral import SpectralVariance
    >>> X, y = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.2, 0.15])
    >>> found = greedy_local_search(X, y, 2, regularizer=SpectralVariance(k=2), nu=0.01)
    >>> found.support.tolist(), [name for name, _ in found.candidates]
    ([0, 1], ['S1', "S1'", 'S2'])
    """
    problem = as_problem(X, y, **data)
    check_regularizer(regularizer)
    k, nu, first = _check_arguments(problem, k, regularizer, nu, forced)
    task = task_for(problem, regularizer, nu, callback, eps, variant)
    return greedy_local(task, k, first).result(problem.dtype)


def _check_arguments(
    problem: Problem, k: int, f: SetFunction | None, nu: float, forced: Columns
) -> tuple[int, float, IndexArray]:
    """Check the arguments k, ν, f and `forced`; return k, ν and the forced indices."""
    k, first = problem.budget(k, forced)
    nu = check_level(nu, "nu")
    if f is not None:
        check_regularizer(f)
    elif nu > 0:
        raise ValueError(f"nu is the weight of a regularizer: pass one, or leave nu out; got nu={nu}")
    return k, nu, first


def check_regularizer(f: Any) -> None:
    """Raise TypeError unless f has the attributes of a `SetFunction`."""
    if isinstance(f, type) or not all(hasattr(f, name) for name in ("value", "gains", "submodular")):
        raise TypeError(
            "regularizer must be one of sparselin.spectral, such as SpectralVariance(), or an object with "
            f"value(C, S), gains(C, S) and submodular; got {f!r}"
        )


def task_for(
    problem: Problem,
    f: SetFunction | None,
    nu: float,
    callback: Callback | None,
    eps: float = 0.1,
    variant: Variant = "complete",
) -> SearchTask:
    """Check the options of a search, and make its `SearchTask`, from the problem without its intercept."""
    check_choice(variant, "variant", get_args(Variant))
    double = centre(problem).in_double()
    nu = check_level(nu, "nu")
    eps = check_level(eps, "eps")
    gram = Gram.of_problem(double)
    complete = variant == "complete"
    return SearchTask(
        problem=double,
        gram=gram,
        f=f,
        nu=nu,
        dtype=problem.dtype,
        callback=callback,
        eps=eps,
        complete=complete,
    )


def _by_ols(
    problem: Problem, k: int, f: SetFunction | None, forced: IndexArray, callback: Callback | None
) -> SubsetResult:
    """Run forward regression for ν = 0, which is `ols`, and return a `SubsetResult`."""
    gram = None if f is None else Gram.of_problem(centre(problem).in_double())

    def subset(path: SelectionPath) -> SubsetResult:
        diversity = 0.0 if f is None or gram is None else grow(gram, f, path.support.tolist()).value
        fields = subset_fields(path)
        moves = len(path.support)
        return SubsetResult(**fields, diversity=diversity, candidates=(), moves=moves, status=path.status)

    watch = None if callback is None else lambda path: callback(subset(path))
    return subset(ols(problem.by_position(), None, k, forced=forced, callback=watch))


def greedy_maximize(
    C: ArrayLike, k: int, regularizer: SetFunction, *, lazy: bool | None = None
) -> GreedyMaximum:
    """Select k diverse features of a design without a response, by greedy maximisation of a regularizer f.

    Let S be the features selected so far, and S + x the set with x added. Each pick x maximises f(S + x). If
    f is increasing and submodular and f(∅) = 0, then f(S) ≥ (1 − 1/e)·max f over k features (Nemhauser,
    Wolsey and Fisher, 1978). For log-determinants all gains are updated in O(d|S|) operations per step, and
    for the variance in O(d). Gains of the generalized rank cost more, so they are evaluated lazily (Minoux,
    1978): the gain of a feature at an earlier step bounds its gain now, and only features whose bound is at
    least the best gain are evaluated again.

    Parameters
    ----------
    C : (d, d) symmetric positive semidefinite, for example XᵀX.
    k : number of features to select, 1 ≤ k ≤ d. All k are selected even if f decreases; an all-zero column is
        never selected.
    regularizer : f, one of `sparselin.spectral`, or an object with `value(C, S)`, `gains(C, S)` and
        `submodular`.
    lazy : False to evaluate all gains of the generalized rank at each step. The picks are the same, unless
        rounding decides whether an eigenvalue is above its cut-off.

    Returns
    -------
    `GreedyMaximum`: `support`, `gains`, `value`, `evaluations`, `status`. Gains that are equal up to rounding
    are tied, and the lowest index is selected. The status is RANK_EXHAUSTED if there are fewer than k nonzero
    columns. It is BEYOND_PRECISION if the rounding errors of C, about eps·C_ii, leave open which gain is the
    largest. This happens with nearly dependent columns and a `SmoothedDifferentialEntropy` whose δ is below
    these errors. `forward_regression` computes from X and can then decide between more gains.

    Raises
    ------
    TypeError, ValueError : C is not symmetric and positive semidefinite; k is out of range; lazy=True and f
        is not submodular.

    >>> import numpy as np
    >>> from sparselin.spectral import SmoothedDifferentialEntropy
    >>> C = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.1], [0.0, 0.1, 1.0]])
    >>> greedy_maximize(C, 2, SmoothedDifferentialEntropy(1.0)).support.tolist()
    [0, 2]
    """
    check_regularizer(regularizer)
    gram = Gram.of_matrix(C)
    k = check_count(k, "k", 1, gram.d)
    if lazy and not regularizer.submodular:
        raise ValueError("lazy evaluation is exact for a submodular regularizer only; leave lazy out")
    with workers(2.0 * gram.d * k * (k + 100)):  # limits BLAS to one thread, because the matrices are small
        objective = Objective(gram, None, regularizer, 1.0, lazy=lazy)
        status = extend(objective, k, np.arange(gram.d))
    support, gains = np.array(objective.index, np.intp), np.array(objective.gains)
    return GreedyMaximum(support, gains, objective.value, objective.evaluations, status, gram.d)
