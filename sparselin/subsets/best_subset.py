"""The best subset of at most k features, proved by branch and bound: depth-first, or best-first.

The depth-first search (`_depth_first`) projects the data at each node, and takes microseconds for a node. It
is used for least squares without a ridge, a box, groups or a hierarchy if there are few features, few
subsets, or n ≤ d, so that the objective has no curvature in some direction. With n ≤ d, and few
features to find or hundreds to choose from, `_enumeration` compares all sets. The best-first search
(`_best_first`) has better bounds (`_relaxation`), and takes milliseconds for a node. It is used for all other
problems.
"""

from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.linalg.elimination import centre, restore
from sparselin.parallel.threads import workers
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.problem.labels import check_groups
from sparselin.results import BestSubset, IndexArray, Status
from sparselin.subsets._best_first import BestFirst
from sparselin.subsets._copies import find_copies
from sparselin.subsets._depth_first import DepthFirst
from sparselin.subsets._enumeration import Enumeration
from sparselin.subsets._hierarchy import check_hierarchy
from sparselin.subsets._relaxation import Restrictions
from sparselin.subsets._search import AnySearch, SearchState, Watch, run
from sparselin.subsets._uniqueness import ExactData, check_uniqueness
from sparselin.validation import (
    Columns,
    check_count,
    check_flag,
    check_level,
    to_array,
    to_numeric,
)

# The depth-first search is used up to this number of features, or of subsets. With n ≤ d, all sets are
# compared if at most three features are to be found, or if there are more than _MANY.
_FEW, _SUBSETS = 80, 3e9
_MANY = 500


@dataclasses.dataclass(frozen=True)
class SavedSearch:
    """A search that was stopped, for `resume_subset`: the problem as it was given, and the open nodes.

    copies : for each feature the first one of its class of multiples.
    """

    data: ExactData
    gap: float
    copies: IndexArray
    search: AnySearch

    def again(self, k: int) -> AnySearch:
        """Begin the search for sets of at most k groups."""
        return _search(self.data, k, self.search.forced, self.gap, self.copies)


@takes_problem
def best_subset(
    X: Any,
    y: ArrayLike | None,
    k: int | Sequence[int],
    *,
    forced: Columns = (),
    ridge: float = 0.0,
    box: ArrayLike | str | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    hierarchy: Mapping[Any, Any] | None = None,
    gap: float = 0.0,
    time_limit: float | None = None,
    node_limit: int | None = None,
    callback: Callable[[SearchState], object] | None = None,
    **data: Unpack[DataOptions],
) -> BestSubset:
    """Find the best subset of at most k features, and prove it optimal by branch and bound.

        min {‖y − Xβ‖² + ridge·‖β‖² : at most k nonzeros in β, low ≤ β ≤ high}

    Without a ridge and a box this is min_{|S| ≤ k} ‖P_S^⊥y‖². The bounds are those of the perspective
    relaxation (derived in `subsets._relaxation`; Frangioni and Gentile, 2006). They use the curvature of
    ‖y − Xβ‖² in all features. So the search is short if n is well above d or the ridge is large, even for
    some thousand features. For n ≤ d without a ridge or a box, the search compares subsets one by one. This
    takes little time for k ≤ 5 and d = 200, and some minutes for k = 3 and d = 20,000. In the worst case the
    time is exponential in k. The memory is that of X, plus d² numbers if d ≤ 2n; for few features k·d²
    numbers; for n ≤ d and hundreds of features some copies of X, and 160 MB. The result is deterministic
    unless there is a time limit.

    Sets whose values differ by less than 1e-12·‖y‖² count as equal, and the first one found is returned.
    `unique` says whether another set of as many features has exactly the same value, in rational arithmetic.
    Without restrictions only spans count, so the search leaves out exact multiples of other columns.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both. float32 data are searched in
        float64.
    k : the largest number of features, 1 ≤ k ≤ d, forced ones included; with `groups`, the largest number of
        groups. For a sequence of sizes, such as range(1, 11), the result is that for the largest size, and
        its `by_size` has one result for each size. The lower bound for a size also holds for smaller sizes.
    forced : columns that every subset contains, by index or name; with `groups`, their whole groups.
    ridge : the penalty ridge·‖β‖², ridge ≥ 0. The objective is ½‖y − Xβ‖² + (ridge/2)‖β‖².
    box : bounds of the coefficients, which contain 0: a number M for |β_j| ≤ M, an array (d,) of such
        numbers, or an array (d, 2) of low_j and high_j. A Series, a frame or a mapping is aligned by its
        labels. A box changes the problem, unless all solutions lie in it. "proved" derives a box in which all
        solutions lie; that needs curvature (n ≥ d or a ridge).
    groups : (d,) the label of the group of each feature, numbers or texts. A subset consists of whole groups.
        A pandas Series or a mapping is aligned with the columns of X by its labels.
    positive : whether all coefficients must be ≥ 0.
    hierarchy : a mapping from a feature to the feature, or the features, that it needs, by index or name,
        such as {"a:b": ["a", "b"]}. Every subset that contains a feature also contains all features that it
        needs (strong hierarchy), the features that these need, and so on; their coefficients may be zero.
        They count in k. Features that need one another are selected together. With `groups`, the group of a
        feature needs the groups of the other features.
    gap : stop when the value is proved to exceed the best possible value by at most this share of the value,
        or by at most 1e-9·‖y‖², if that is more. COMPLETED means that this is proved.
    time_limit, node_limit : stop after this number of seconds or nodes, with the status MAX_ITER. A node
        limit keeps the result deterministic. If the set is proved optimal by then, the limit only stops the
        search for a second set of the same value.
    intercept : whether every subset has an intercept in addition to its features, without a penalty. With an
        intercept, R² is the R² of y − ȳ. A column that is constant to rounding (3e-15 of its length) counts
        as constant.
    standardize : whether `ridge` and `box` refer to the coefficients of standardized columns. Without them it
        only changes the choice among equal subsets.
    sample_weight : (n,) weights of the squared residuals.
    callback : called about twenty times a second with the `SearchState`; returning True stops.

    Returns
    -------
    BestSubset. `optimal` says whether the search proved the subset optimal. In any case no subset has a value
    below `lower_bound`. `certificate` proves this bound in exact arithmetic, or `why_no_certificate` says why
    there is none, and what to do. `unique` is True if every other set of as many features is proved to be
    worse, and False if `second` is a set of the same value. If neither is known it is None, and `uniqueness`
    gives the reason. The certificate does not prove uniqueness. `candidates` are the sets with which the
    search starts, and `moves` counts the improvements during the search. For y = 0, the set has the forced
    features only, and R² is 0. A search that a limit, the callback or Ctrl-C stopped goes on by
    `resume_subset`.

    If the callback returns True, or Ctrl-C interrupts the search, the best subset so far is returned with the
    status STOPPED. After an exhausted search, a subset with fewer than k features has the status EXACT_FIT,
    NO_CORRELATION or RANK_EXHAUSTED; or with a hierarchy COMPLETED, if no further feature fits into k with
    the features that it needs, or none decreases the value. BEYOND_PRECISION means that the search has ended
    but rounding leaves open whether the subset is optimal, or whether it meets the gap that was asked for:

    - the residual found in the search is not confirmed when it is recomputed;
    - the rounding error of the bounds may be 1e-6·‖y‖² or more, or in the best-first search 1e-9·‖y‖²;
    - rounding leaves open whether some column is in the span of others, and `lower_bound` is 0. This can
      happen if the distance of a unit column from the span of other columns is below 16·eps·√(1 + ‖b‖²),
      where b are its least squares coefficients on these columns. It does not happen if the columns are ± a
      power of two times each other, or if they consist of small integers.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); k outside 1..d; repeated or unknown `forced`, or more
        than k; a negative ridge, gap or limit; a box without 0; groups of another length, or with missing
        labels; a `box` or `groups` with labels that are not those of X; a `hierarchy` that is no mapping, has
        an unknown feature, or makes `forced` need more than k features.

    Here greedy selection first picks the third column, which is not in the best pair:

    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    >>> best = best_subset(X, [3.0, 3.0, 0.5], 2)
    >>> best.support.tolist(), round(best.residual, 9), best.optimal
    ([0, 1], 0.25, True)

    A copy of a column can take its place, so the best pair is no longer unique:

    >>> twice = best_subset([[*row, row[0]] for row in X], [3.0, 3.0, 0.5], 2)
    >>> best.unique, twice.unique, twice.second.tolist(), twice.optimal
    (True, False, [1, 3], True)

    If the first column needs the third one, this pair is not allowed:

    >>> sorted(best_subset(X, [3.5, 3.0, 0.5], 2, hierarchy={0: 2}).support.tolist())
    [0, 2]
    """
    given = as_problem(X, y, **data)
    gap = check_level(gap, "gap")
    restrictions = check_restrictions(given, ridge, box, groups, positive, hierarchy)
    budgets = check_budgets(given, restrictions, k, forced)
    weight = data.get("sample_weight")
    plain = None if weight is None else as_problem(X, y)
    exact = ExactData(given.by_position(), plain, weight, restrictions)
    copies = _find_copies(exact)
    results: list[BestSubset] = []
    for size, units in budgets:
        watch = Watch(time_limit, node_limit, callback, len(budgets))
        floor = results[-1].lower_bound if results else 0.0
        try:
            with workers(1e7):  # limits BLAS to one thread: the matrices are small
                search = _search(exact, size, units, gap, copies)
                results.append(_finish(SavedSearch(exact, gap, copies, search), watch, floor))
        except KeyboardInterrupt:  # before a search began
            if results:
                break
            raise
        if results[-1].status is Status.STOPPED:
            break
    return dataclasses.replace(results[0], by_size=tuple(results[::-1]) if len(budgets) > 1 else ())


def resume_subset(
    result: BestSubset,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    callback: Callable[[SearchState], object] | None = None,
) -> BestSubset:
    """Continue a search for the best subset that was stopped by a limit, the callback or Ctrl-C.

    The result of `best_subset` holds the open nodes, the data and the options, so it can be pickled and
    continued in another process. The continued search examines the nodes that one search without a stop would
    have examined.

    Parameters
    ----------
    result : a result of `best_subset` or of this function.
    time_limit, node_limit, callback : as in `best_subset`; the limits count from now.

    Returns
    -------
    BestSubset. A search that had ended is returned as it is.

    Raises
    ------
    TypeError, ValueError : `result` is not a `BestSubset`; a negative limit.

    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    >>> stopped = best_subset(X, [3.0, 3.0, 0.5], 2, node_limit=0)
    >>> stopped.optimal, resume_subset(stopped).optimal
    (False, True)
    """
    if not isinstance(result, BestSubset):
        raise TypeError(f"result must be a result of best_subset; got {type(result).__name__}")
    watch = Watch(time_limit, node_limit, callback)
    if result.saved is None:
        return result
    saved: SavedSearch = pickle.loads(pickle.dumps(result.saved))  # the result itself must not change
    with workers(1e7):
        return _finish(saved, watch, result.lower_bound)


def check_restrictions(
    given: Problem, ridge: float, box: Any, groups: ArrayLike | None, positive: bool, hierarchy: Any
) -> Restrictions:
    """Check the ridge, the box, the groups and the hierarchy."""
    d = given.n_features
    ridge = check_level(ridge, "ridge")
    derived = isinstance(box, str)
    if derived and box != "proved":
        raise ValueError(f'box must be "proved", a number, or an array (d,) or (d, 2); got {box!r}')
    given_box = np.inf if box is None or derived else given.align(box, "box")
    limits = to_numeric(to_array(given_box, "box"), "box")
    if np.isnan(limits).any():
        raise ValueError("box must not have NaN. A feature without a bound has inf")
    if limits.ndim == 0 or limits.shape == (d,):
        limits = np.stack(np.broadcast_arrays(-limits, limits, np.empty(d))[:2], axis=1)
    if limits.shape != (d, 2):
        raise ValueError(f"box must have the shape (), ({d},) or ({d}, 2); got {limits.shape}")
    if not ((limits[:, 0] <= 0) & (limits[:, 1] >= 0)).all():
        raise ValueError("box must contain 0 for every feature, which may be left out: low ≤ 0 ≤ high")
    low, high = (side.astype(np.float64) for side in limits.T)
    if check_flag(positive, "positive"):
        low = np.zeros(d)
    numbers = np.arange(d) if groups is None else _number_groups(groups, given)
    related = check_hierarchy(given, hierarchy, numbers)
    plain = ridge == 0 and box is None and groups is None and not positive and not related.pairs
    return Restrictions(
        ridge=ridge, low=low, high=high, group=numbers, is_derived=derived, is_plain=plain, hierarchy=related
    )


def _number_groups(groups: ArrayLike, given: Problem) -> IndexArray:
    """Return the number of the group of each feature.

    A feature that is alone in its group has its own number.
    """
    d = given.n_features
    labels = check_groups(groups, given.labels or given.names or (), d)
    try:
        found, places = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"groups must be a list of numbers, or of texts: {error}") from None
    return places.astype(np.intp) if len(found) < d else np.arange(d)


def check_budgets(
    given: Problem, restrictions: Restrictions, k: Any, forced: Columns
) -> list[tuple[int, IndexArray]]:
    """Return each size of k, the largest first, with the forced groups, as `_check_budget` does for one."""
    sizes = k if isinstance(k, (list, tuple, range)) or np.ndim(k) else [k]
    if not len(sizes):
        raise ValueError("k must be an integer or a sequence of integers; got an empty sequence")
    return sorted(dict(_check_budget(given, restrictions, size, forced) for size in sizes).items())[::-1]


def _check_budget(
    given: Problem, restrictions: Restrictions, k: int, forced: Columns
) -> tuple[int, IndexArray]:
    """Check k and the forced features; return k and the forced groups, with the groups that they need."""
    count = int(restrictions.group.max()) + 1
    if count == given.n_features:
        k, units = given.budget(k, forced)
    else:
        k = check_count(k, "k", 1, count, f": there are {count} groups")
        units = np.unique(restrictions.group[given.indices(forced, "forced")])
    units = restrictions.hierarchy.closure(units)
    if len(units) > k:
        raise ValueError(f"forced features count in k: got {len(units)} groups, forced or needed, and k={k}")
    return k, units


def _find_copies(data: ExactData) -> IndexArray:
    """Return for each feature the first one of its class of multiples; with restrictions, itself."""
    d = data.given.n_features
    alone = np.arange(d)
    if data.restrictions.words:
        return alone
    X = data.source.exact_columns() if data.columns(alone[:0]) is not None else None
    return alone if X is None else find_copies(X[:, :d])  # the last column may be that of an intercept


def _search(data: ExactData, k: int, forced: IndexArray, gap: float, copies: IndexArray) -> AnySearch:
    """Begin the search that suits the problem. It leaves out multiples of other columns."""
    given = data.given
    restrictions = data.restrictions
    twice = (copies != np.arange(len(copies))) | np.isin(copies, copies[forced])
    twice[forced] = False
    left_out = np.flatnonzero(twice)
    left = k - len(forced)
    free = given.n_features - len(forced)
    few = given.n_features <= _FEW or math.comb(free, left) <= _SUBSETS
    if restrictions.is_plain and gap == 0 and (few or given.n <= given.d):
        many = given.kind != "gram" and given.n <= given.n_features and (left <= 3 or free > _MANY)
        return (Enumeration if many else DepthFirst)(centre(given.in_double()), k, forced, left_out)
    return BestFirst(prepare(given, restrictions), k, forced, restrictions, gap, left_out=left_out)


def prepare(given: Problem, restrictions: Restrictions) -> Problem:
    """Return the centred problem in float64, with scaled columns only if a ridge or a box refers to them."""
    sides = np.concatenate([restrictions.low, restrictions.high])
    scaled = restrictions.ridge > 0 or bool((np.isfinite(sides) & (sides != 0)).any())
    return centre(given.in_double() if scaled else given.without_scales())


def _finish(saved: SavedSearch, watch: Watch, floor: float) -> BestSubset:
    """Run a search and make its result.

    floor : a lower bound that is known from another search.
    """
    given = saved.data.given
    search = saved.search
    status = run(search, watch)
    found = search.result(status)
    known = check_uniqueness(saved.data, saved.copies, search, found, saved.again, watch)
    watch.end()
    problem = search.problem
    scale = problem.y_norm**2
    relative = found.squares / scale if scale else np.ones(len(found.squares))
    coef, intercept = restore(problem, found.support, found.coef)
    certificate = search.certificate()
    return BestSubset(
        support=found.support,
        coef=coef.astype(given.dtype),
        value=float(1 - relative[-1]),
        r2=float(1 - relative[-1]),
        diversity=0.0,
        gains=-np.diff(relative).astype(given.dtype),
        candidates=found.candidates,
        moves=found.moves,
        status=found.status,
        n_features=problem.d,
        intercept=intercept,
        names=given.names,
        residual=float(found.squares[-1]),
        restrictions=saved.data.restrictions.words,
        objective=found.value / 2,
        lower_bound=min(found.value, max(found.lower, floor)),
        optimal=found.optimal,
        nodes=found.nodes,
        unique=known.unique,
        second=known.second,
        uniqueness=known.reason,
        certificate=None if isinstance(certificate, str) else certificate,
        why_no_certificate=certificate if isinstance(certificate, str) else "",
        by_size=(),
        saved=saved if status in (Status.MAX_ITER, Status.STOPPED) else None,
    )
