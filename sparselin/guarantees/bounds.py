"""The guarantees for greedy selection on one design, and the ratios that greedy selection attains."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from sparselin.attention.sequential import sequential_attention
from sparselin.greedy.ols import ols
from sparselin.greedy.omp import omp
from sparselin.guarantees import promises, recovery
from sparselin.guarantees._along_path import LowerBounds, PrefixBounds, r2_of_set, step
from sparselin.guarantees.regularized import Given, of_regularized
from sparselin.guarantees.sparse_eigenvalues import sparse_eigenvalues
from sparselin.guarantees.submodularity import AGREE, submodularity_ratio
from sparselin.lasso.sequential import sequential_lasso
from sparselin.linalg.elimination import centre, eliminate
from sparselin.problem import DataOptions, as_problem, takes_problem
from sparselin.results import BestSubset, Bound, FloatArray, GuaranteeBounds, IndexArray, Interval, Status
from sparselin.subsets.best_subset import best_subset
from sparselin.subsets.unit_data import UnitData
from sparselin.validation import Columns, check_count, check_level

Algorithm = Literal["forward_regression", "omp", "sequential_lasso", "sequential_attention"]
_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "forward_regression": ("FR", ols),
    "omp": ("OMP", omp),
    "sequential_lasso": ("Sequential LASSO", sequential_lasso),
    "sequential_attention": ("Sequential Attention", sequential_attention),
}
# The limits of the searches at each set of a path, for the constants that the bounds along the path need.
_PAIRS, _NODES = 200_000, 500
# R² below this is rounding: the square of a cosine that is zero up to rounding is (8·eps·√n)² = 3·10⁻³⁰·n.
_ZERO_R2 = 1e-20
# A node of an eigenvalue search costs about k·d², or a fraction of d³ if that is more.
_WORK, _WIDE = 4e7, 200


@takes_problem
def guarantee_bounds(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    algorithms: Sequence[Algorithm] = ("forward_regression", "omp"),
    regularizer: Any = None,
    nu: float = 0.0,
    eps: float = 0.1,
    node_limit: int = 20_000,
    pair_limit: int = 2_000_000,
    forced: Columns = (),
    **data: Unpack[DataOptions],
) -> GuaranteeBounds:
    """Compute guarantees for greedy selection of k features, with hypotheses checked and the ratios attained.

    A guarantee is a factor φ with R²(S) ≥ φ·max_{|L| ≤ k} R²(L), where S is the set that an algorithm selects
    and R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖², uncentred (P_S^⊥y is the residual of least squares on S). FR is forward
    regression, which is `ols`. C = XᵀX, γ_{S,k} is the `submodularity_ratio` of R², and λ_min(C, s) the least
    eigenvalue over sets of s columns (`sparse_eigenvalues`). The factors are:

    - FR: 1 − e^{−γ}, γ = γ_{S,k}, and 1 − e^{−λ_min(C,2k)} (Das and Kempe, *Submodular meets Spectral*,
      2011);
    - OMP, Sequential LASSO and Sequential Attention: 1 − e^{−γ·λ_min(C,2k)} (same source), and the sharper 1
      − e^{−γ·λ_min(C,k)} and 1 − e^{−λ_min(C,2k−1)}. If λ_min is divided by max_j ‖X_j‖², the sharper factors
      also hold for columns that do not have unit length;
    - for each algorithm, a factor that is a product over the steps of its run, with the constants of each
      step, and a factor that follows from the selected set alone;
    - 1 if the best subset is certain to be recovered: by Tropp's exact recovery condition, the babel
      function, the coherence, or a condition that allows for noise.

    With a regularizer f of `sparselin.spectral` and ν > 0 there are also guarantees for g = R² + ν·f
    (*Selecting Diverse Features via Spectral Regularization*, 2012):

    - 1 − e^{−γ_{S,k}(R²)} for FR, and for greedy local search, because FR's set is one of its candidates.
      This holds if f is increasing (Theorem 15). It also holds for the smoothed differential entropy with
      δ < 1, and on unit columns for the spectral variance, if the additive constant of the regularizer is
      chosen for at least k features (Theorems 14 and 16, sharpened);
    - Theorem 9, corrected, for greedy local search.

    docs/guarantees.md has the proofs, and says which guarantee is sharper in which case.

    With `forced` features F the guarantees are for the features selected in addition to F. They are the
    guarantees for selecting k − |F| of the columns P_F^⊥X_j, for the response P_F^⊥y. In this case R²(S) is 1
    − ‖P_{F∪S}^⊥y‖²/‖P_F^⊥y‖². This is the share that S explains of the part of y that F leaves unexplained.
    So φ and `achieved` compare the share of S with the share of the best subset that contains F. γ, λ_min and
    the lengths refer to the projected columns. With a regularizer, g(F ∪ S) is compared with the largest g
    over the sets that contain F. In this g, R² refers to all of y, but γ is still the γ of the projected
    columns.

    Parameters
    ----------
    X, y, intercept, standardize, sample_weight : as for `omp`; or one `Problem` in place of X and y.
    k : the number of features that are selected, 1 ≤ k ≤ d, forced features included.
    algorithms : the algorithms whose guarantees are computed.
    regularizer, nu, eps : f, ν ≥ 0 and ε ≥ 0 of `greedy_local_search`.
    node_limit : the largest number of nodes in the search for the best subset, and in each eigenvalue search.
        In an eigenvalue search the number is also at most 4e7/(k·d²), times 200/d for d > 200; this takes
        some ten seconds for d = 500 and k = 5. If a limit is reached, `best` and `achieved`, or the
        constants, are intervals.
    pair_limit : the largest number of pairs (L, A) enumerated for γ_{S,k} (see `submodularity_ratio`).
    forced : F, by index or name; fewer than k features.

    Returns
    -------
    GuaranteeBounds. Its supports begin with F; `best` and `r2` are shares of the part of y that F leaves
    unexplained. Every ratio is 1 if y = 0, or if all columns are orthogonal to y or to the part of y that F
    leaves unexplained.

    Raises
    ------
    TypeError, ValueError : as for `omp`; an unknown algorithm; nu > 0 without a regularizer; eps < 0; a limit
        below 1; k forced features, because then no feature is left to select.

    >>> import numpy as np
    >>> X, y = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.6]]), np.array([3.0, 1.0])
    >>> found = guarantee_bounds(X, y, 1)
    >>> round(found.best.lower, 3), found.violated
    (0.9, ())
    >>> for bound in found.bounds[:2]:
    ...     print(bound.algorithm, bound.formula, round(bound.lower, 3))
    FR 1 − exp(−γ) 0.632
    FR 1 − exp(−λ_min(C, 2k)) 0.181
    """
    whole = as_problem(X, y, **data)
    size, first = whole.budget(k, forced)
    whole = whole.by_position()
    if len(first) == size:
        raise ValueError(f"k = {size} features are forced, so none is left to select: pass a larger k")
    k = size - len(first)
    node_limit = check_count(node_limit, "node_limit", 1)
    pair_limit = check_count(pair_limit, "pair_limit", 1)
    nu, eps = check_level(nu, "nu"), check_level(eps, "eps")
    if regularizer is None and nu > 0:
        raise ValueError(f"nu is the weight of a regularizer: pass one, or leave nu out; got nu={nu}")
    _check_algorithms(algorithms)
    problem = eliminate(whole, first)
    scaled = UnitData.by_longest(problem)
    optimum = best_subset(problem, k, node_limit=node_limit)
    if optimum.status is Status.STOPPED:  # it had no callback, so this was Ctrl-C: stop here too
        raise KeyboardInterrupt
    selected = {name: _METHODS[name][1](whole, size, forced=first).support for name in algorithms}
    supports = {name: support[~np.isin(support, first)] for name, support in selected.items()}
    nodes = min(node_limit, max(1, int(_WORK / (k * scaled.d**2 * max(1, scaled.d / _WIDE)))))
    spectrum = _Spectrum(scaled, k, nodes)
    cache = _Cache(scaled, k, spectrum, pair_limit, nodes)
    paths = {name: cache.follow(support) for name, support in supports.items()}
    best = _best(scaled, optimum, [step for path in paths.values() for step in path])
    found = recovery.condition(scaled, optimum)
    bounds: list[Bound] = []
    runs = []
    for name, support in supports.items():
        achieved = ratio(r2_of_set(scaled, support), best, bool(scaled.y.any()))
        run = promises.GreedyRun(_METHODS[name][0], support, paths[name], cache.gamma(support), achieved)
        runs.append(run)
        bounds += _of_run(run, spectrum, scaled)
        bounds += recovery.of_recovery(run, found, spectrum.given, scaled)
    if regularizer is not None and nu > 0:
        given_first = Given(centre(whole), problem, first.tolist())
        bounds += of_regularized(given_first, size, regularizer, nu, eps, pair_limit, best)
    r2 = tuple((run.algorithm, run.steps[-1].r2) for run in runs)
    sets = tuple((run.algorithm, np.append(first, run.support)) for run in runs)
    constants = (*spectrum.constants(), *cache.constants(runs), *recovery.constants(found, spectrum.given))
    optimal = np.append(first, optimum.support)
    return GuaranteeBounds(size, tuple(bounds), best, optimal, r2, sets, constants, problem.names)


def ratio(value: tuple[float, float], best: Interval, explains: bool = True) -> Interval:
    """Return bounds on the ratio R²(S)/R²(best) of a selected set S and the best subset.

    The ratio is 1 if R²(best) is zero up to rounding.

    value : R²(S) and its error.
    best : bounds on R²(best).
    explains : whether y is not zero.
    """
    r2, error = value
    if not explains or best.upper <= _ZERO_R2 + 2 * error:
        return Interval(1.0, 1.0, "R² of the best subset is 0")
    lower = max(0.0, r2 - error) / best.upper
    upper = min(1.0, (r2 + error) / best.lower) if best.lower > 0 else 1.0
    rounding = 3 * (error + best.rounding) / best.upper
    return Interval(min(lower, upper), upper, f"the best subset by {best.method}", rounding=rounding)


def _of_run(run: promises.GreedyRun, spectrum: _Spectrum, data: UnitData) -> list[Bound]:
    """Return the guarantees on R² for the run of one algorithm."""
    if run.algorithm == "FR":
        return promises.of_forward_regression(run, spectrum.correlation, data)
    return promises.of_omp(run, spectrum.of_given(), data)


def _check_algorithms(algorithms: Sequence[str]) -> None:
    known = get_args(Algorithm)
    if not isinstance(algorithms, Iterable):
        raise TypeError(f"algorithms must be a sequence of names from {', '.join(known)}; got {algorithms!r}")
    if isinstance(algorithms, str) or not all(name in known for name in algorithms):
        raise ValueError(
            f"algorithms must be a sequence of names from {', '.join(known)}; got {algorithms!r}"
        )


def _best(data: UnitData, optimum: BestSubset, steps: list[PrefixBounds]) -> Interval:
    """Return bounds on R² of the best subset.

    The lower bound is the largest R² of the sets that were examined. The upper bound is the smaller of two
    bounds: one from the search for the best subset, one from the greedy runs.
    """
    if not data.y.any():
        return Interval(0.0, 0.0, "y = 0, so that every R² is 0")
    # a column with the coefficient zero is in the span of the others, up to rounding
    r2, error = r2_of_set(data, optimum.support[optimum.coef != 0])
    lower = max([0.0, r2 - error, *(step.r2 - step.error for step in steps)])
    proved = 1 - optimum.lower_bound / data.problem.y_norm**2
    shown = min(step.r2_upper for step in steps) if steps else 1.0
    upper = max(lower, min(proved, shown))
    if optimum.optimal:
        # the search is exhausted, so a small difference of the two is rounding
        return Interval(lower, upper, "branch and bound", rounding=min(upper - lower, AGREE * upper))
    method = "the search, stopped" if proved <= shown else "the search, stopped, and bounds from greedy runs"
    return Interval(lower, upper, method)


class _Cache:
    """A cache of the constants at each set S of a greedy path, because several paths may contain S."""

    def __init__(self, data: UnitData, k: int, spectrum: _Spectrum, pair_limit: int, nodes: int) -> None:
        self.data = data
        self.k = k
        self.spectrum = spectrum
        self.pair_limit, self.node_limit = pair_limit, nodes
        self.gammas: dict[frozenset[int], FloatArray] = {}
        self.steps: dict[tuple[frozenset[int], int, LowerBounds], PrefixBounds] = {}

    def gamma(self, S: IndexArray) -> FloatArray:
        """Return certified bounds (2,) on the submodularity ratio γ_{S,k} at a set S.

        They are taken from the cache if possible.
        """
        key = frozenset(S.tolist())
        if key not in self.gammas:
            problem = self.data.problem
            pairs, nodes = self.pair_limit, self.node_limit
            found = submodularity_ratio(problem, None, S, self.k, pair_limit=pairs, node_limit=nodes)
            self.gammas[key] = np.array([found.lower, found.upper])
        return self.gammas[key]

    def follow(self, support: IndexArray) -> list[PrefixBounds]:
        """Return the constants at the sets ∅, S_1, …, S_k, where S_i are the first i features of a support.

        If the path ended before k features, the constants at its last set are repeated.
        """
        gamma = float(self.gamma(support)[0])
        steps = [self.step(support[:i], support[i : i + 1], gamma) for i in range(len(support) + 1)]
        return steps + steps[-1:] * (self.k - len(support))

    def step(self, S: IndexArray, pick: IndexArray, gamma: float) -> PrefixBounds:
        """Return the constants of the guarantees at a set S, from the cache if possible.

        pick : the next pick; empty if there is none.
        gamma : a lower bound on the submodularity ratio γ_{S,k} for the final set of the path.
        """
        size = "2k − 1" if len(S) < self.k else "2k"
        given = self.spectrum.of_given()
        correlation = self.spectrum.correlation
        known = LowerBounds(gamma, float(given[size][0]), float(correlation[size][0]))
        key = frozenset(S.tolist()), int(pick[0]) if len(pick) else -1, known
        if key not in self.steps:
            limits = min(_PAIRS, self.pair_limit), min(_NODES, self.node_limit)
            self.steps[key] = step(self.data, S, pick, self.k, known, limits)
        return self.steps[key]

    def constants(self, runs: Sequence[promises.GreedyRun]) -> list[tuple[str, Interval]]:
        """Return the pairs (name, bounds on the submodularity ratio) of the runs.

        They become a part of `GuaranteeBounds.constants`.
        """
        pairs = ((run.algorithm, run.gamma.tolist()) for run in runs)
        return [(f"γ of {name}", Interval(low, high, "submodularity_ratio")) for name, (low, high) in pairs]


class _Spectrum:
    """Bounds on the least eigenvalues λ(s) = λ_min(C, s)/max_j C_jj for the sizes s = k, 2k − 1 and 2k.

    C is XᵀX for the columns as given, or for the columns scaled to length 1. λ_min(C, s) is the least
    eigenvalue over the Gram matrices of s columns.
    """

    def __init__(self, data: UnitData, k: int, node_limit: int) -> None:
        self.data = data
        self.node_limit = node_limit
        self.sizes = {"2k − 1": 2 * k - 1, "2k": 2 * k}
        found = sparse_eigenvalues(data.X, k, node_limit=node_limit)
        self.given = dataclasses.replace(found, lambda_min=self._widen(found.lambda_min, found.k))
        doubled = {name: self._least(data.X, size) for name, size in self.sizes.items()}
        self.least = {"k": self.given.lambda_min, **doubled}

    def _least(self, X: FloatArray, size: int) -> Interval:
        found = sparse_eigenvalues(X, size, node_limit=self.node_limit)
        return self._widen(found.lambda_min, found.k)

    def _widen(self, least: Interval, size: int) -> Interval:
        """Widen an interval for λ_min over sets of `size` columns, to allow for errors of the columns.

        Columns have errors if they were projected. Each column has a length of at most 1 and an error of at
        most u. So the error of the least singular value σ_min is at most u·√size. In a Gram problem the error
        of a square is at most u, and the error of a sum of size² products at most u·size.
        """
        if not self.data.problem.is_rounded:
            return least
        u, _, of_squares = self.data.exact.unit
        if of_squares:
            lower = max(0.0, least.lower - u * size)
            upper = least.upper + u * size
        else:
            off = u * math.sqrt(size)
            lower = max(0.0, math.sqrt(least.lower) - off) ** 2
            upper = (math.sqrt(least.upper) + off) ** 2
        return Interval(
            lower, upper, least.method, rounding=least.rounding + upper - lower - (least.upper - least.lower)
        )

    def of_given(self) -> dict[str, FloatArray]:
        """Return bounds (2,) on λ(s) for the columns as given; the keys are the sizes "k", "2k − 1" and "2k".

        λ(s) is the least eigenvalue over sets of s columns, divided by the largest squared length.
        """
        return {size: _pair(value) for size, value in self.least.items()}

    @functools.cached_property
    def correlation(self) -> dict[str, FloatArray]:
        """Return bounds (2,) on λ(s) for the columns scaled to length 1; the keys are "k", "2k − 1" and "2k".

        λ(s) is the least eigenvalue over sets of s columns. Let D be the diagonal matrix of the lengths of
        the columns, of which the longest is 1. Let C be the Gram matrix of the columns as given, and H =
        D⁻¹CD⁻¹. For w = D⁻¹v, vᵀHv = wᵀCw and ‖v‖ ≤ ‖w‖ ≤ ‖v‖/min D. So the least eigenvalues of H lie
        between the least eigenvalues of C and (min D)⁻² times these.
        """
        shortest = float(self.data.norms.min())
        if shortest >= 1 - self.data.problem.rounding():
            return {size: np.array([1.0, shortest**-2]) * pair for size, pair in self.of_given().items()}
        unit = self.data.X / np.where(self.data.norms > 0, self.data.norms, 1)
        return {name: _pair(self._least(unit, size)) for name, size in self.sizes.items()}

    def constants(self) -> list[tuple[str, Interval]]:
        """Return the pairs (name, bounds on λ(s)) for the sizes s, for `GuaranteeBounds.constants`."""
        return [(f"λ({size})", value) for size, value in self.least.items()]


def _pair(value: Interval) -> FloatArray:
    return np.array([value.lower, value.upper])
