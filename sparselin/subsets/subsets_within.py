"""All subsets of k features whose objective is nearly the best: the Rashomon set of sparse regression."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.parallel.threads import workers
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import Status, SubsetsWithin
from sparselin.subsets._best_first import BestFirst
from sparselin.subsets._search import SearchState, Watch, run
from sparselin.subsets._set_values import SetValue
from sparselin.subsets.best_subset import check_budgets, check_restrictions, prepare
from sparselin.subsets.objective import ExactObjective
from sparselin.validation import Columns, check_count, check_level

# Values of sets that are known to less than this times ½‖y‖² are computed in exact arithmetic.
_NEAR = 1e-9


@takes_problem
def subsets_within(
    X: Any,
    y: ArrayLike | None,
    k: int | Sequence[int],
    *,
    eps: float,
    max_sets: int = 100_000,
    forced: Columns = (),
    ridge: float = 0.0,
    box: ArrayLike | str | None = None,
    groups: ArrayLike | None = None,
    positive: bool = False,
    hierarchy: Mapping[Any, Any] | None = None,
    time_limit: float | None = None,
    callback: Callable[[SearchState], object] | None = None,
    **data: Unpack[DataOptions],
) -> SubsetsWithin:
    """Find all sets of exactly k features with an objective of at most (1 + eps) times the best.

    The objective of a set S is q(S) = min {½‖y − Xβ‖² + (ridge/2)‖β‖² : β zero outside S, within the box}.
    The search is the branch and bound of `best_subset`. A node of its tree is closed only if the lower bound
    of the node is above (1 + eps) times the best value found so far. So when the search ends, the list is
    complete. For n ≤ d without a ridge or a box it compares the sets one by one. The sets within a factor of
    the best are called the Rashomon set (Breiman, *Statistical modeling: the two cultures*, 2001; Xin et al.,
    *Exploring the whole Rashomon set of sparse decision trees*, 2022).

    The value of each set is known up to a bound on its rounding errors, which grow with the condition number
    of its columns. A set for which this bound leaves open whether it is within the limit is compared with it
    in rational arithmetic, and so is the best set, with which it is compared. A value that is not known to
    1e-9·‖y‖² is computed in rational arithmetic too. So a complete list has the best set, and a set is listed
    if and only if it is within the limit.

    Rational arithmetic is not possible for a `Problem` in place of X and y, for a Gram or compressed problem,
    or for standardized columns with a ridge or a box. Then sets that rounding leaves open are listed. If a
    value of a listed set is not known to 1e-9·‖y‖², the status is BEYOND_PRECISION, and the list does not
    count as complete: all sets within the limit are listed, but perhaps others too.

    Parameters
    ----------
    X, y, forced, ridge, box, groups, positive, hierarchy, intercept, standardize, sample_weight : as in
        `best_subset`. A derived box contains all sets within the limit. With a hierarchy, only sets that obey
        it are listed.
    k : the number of features of each set, 1 ≤ k ≤ d, forced ones and columns of zeros included; with
        `groups`, the number of groups. For a sequence of sizes, such as range(1, 6), the result is that for
        the largest size, and its `by_size` has one result for each size, each with a limit of its own.
    eps : the relative distance from the best objective, ≥ 0.
    max_sets : stop when more than this number of sets is found, with the status STOPPED; for each size.
    time_limit : stop after this number of seconds, with the status MAX_ITER. Each size has an equal share.
    callback : called about twenty times a second with the `SearchState`; returning True stops.

    Returns
    -------
    SubsetsWithin. No set that is not listed has a value below `lower_bound`, also if the search was stopped.
    If y is zero, or constant with an intercept, every set has the value 0, so all sets are listed.

    Raises
    ------
    TypeError, ValueError : as `best_subset`; a negative `eps`, `max_sets` below 1; features of a hierarchy
        that need one another, because then there may be no set of exactly k features.

    Here the second and third columns are nearly equal, so they can replace each other:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4))
    >>> X[:, 2] = X[:, 1] + 0.01 * rng.standard_normal(50)
    >>> found = subsets_within(X, X[:, 0] + X[:, 1] + rng.standard_normal(50), 2, eps=0.05)
    >>> [S.tolist() for S in found.supports], found.in_all.tolist(), found.complete
    ([[0, 2], [0, 1]], [0], True)
    """
    given = as_problem(X, y, **data)
    eps = check_level(eps, "eps")
    max_sets = check_count(max_sets, "max_sets", 1)
    restrictions = check_restrictions(given, ridge, box, groups, positive, hierarchy)
    pairs = restrictions.hierarchy.pairs
    if len(set(map(frozenset, pairs))) < len(pairs):
        raise ValueError("hierarchy must have no cycle. Put features that need one another in one group")
    plain = None if isinstance(X, Problem) else as_problem(X, y)
    results: list[SubsetsWithin] = []
    budgets = check_budgets(given, restrictions, k, forced)
    for size, units in budgets:
        watch = Watch(time_limit, None, callback, len(budgets))
        with workers(1e7):
            search = BestFirst(prepare(given, restrictions), size, units, restrictions, within=eps)
            status = run(search, watch, functools.partial(_is_full, search, max_sets))
            exact = _ExactValues(search, plain, data.get("sample_weight"))
            results.append(_result(given, search, status, exact, watch))
        watch.end()
        if results[-1].status is Status.STOPPED and len(results[-1]) <= max_sets:
            break
    return dataclasses.replace(results[0], by_size=tuple(results[::-1]) if len(budgets) > 1 else ())


def _is_full(search: BestFirst, most: int) -> bool:
    """Return whether a search that has not ended has found more than `most` sets within the limit."""
    return bool(search.open) and len(search.listed) > most and len(search.within_limit()) > most


class _ExactValues:
    """The values of sets in exact arithmetic.

    objective : None if the search uses other columns than those of X, so that nothing is known exactly.
    """

    def __init__(self, search: BestFirst, plain: Problem | None, weight: ArrayLike | None) -> None:
        self.search = search
        self.plain = plain
        self.weight = weight

    @functools.cached_property
    def objective(self) -> ExactObjective | None:
        search, plain = self.search, self.plain
        origin = search.problem.origin or search.problem
        data = None if plain is None else plain.exact_columns()
        if plain is None or data is None or origin.design.scale is not None:
            return None
        weights = np.ones(plain.n) if self.weight is None else np.asarray(self.weight, np.float64)
        return ExactObjective(
            data,
            plain.double_y,
            weights,
            intercept=origin.design.ones is not None,
            ridge=search.given.ridge,
            scale=search.scaled.units.shift,
        )

    def value(self, groups: tuple[int, ...]) -> Fraction:
        """Return the value of a set in the units of the search, exactly."""
        search = self.search
        scaled = search.scaled
        assert self.objective is not None
        fit = scaled.values.solve(scaled.features(np.array(groups, np.intp)))
        box: dict[int, Any] = {}
        start: dict[int, Fraction] = {}
        for j in fit.J.tolist():
            unit = Fraction(2) ** int(scaled.units.shift[j])
            ends = (float(side[j]) for side in (search.given.low, search.given.high))
            box[j] = [Fraction(end) * unit if math.isfinite(end) else None for end in ends]
        for side, J in enumerate((fit.at_low, fit.at_high)):
            start |= {j: box[j][side] for j in J.tolist()}
        return self.objective.minimum_in_box(fit.J.tolist(), box, start) / Fraction(4) ** scaled.units.lift


def _result(
    given: Problem, search: BestFirst, status: Status, exact: _ExactValues, watch: Watch
) -> SubsetsWithin:
    """Decide which of the sets that were found are within the limit, and sort them by their values.

    Every set has an interval that contains its value (`_set_values`). Let b be the least upper end of all
    intervals, and a the least lower end; the least value v satisfies a ≤ v ≤ b. A set is beyond the limit
    if its interval is above (1 + eps)·b, and within it if its interval ends at (1 + eps)·a at most, or if no
    other interval begins below b, so that the set is the best. All other sets are decided in exact
    arithmetic, or are listed. Intervals that are too wide are replaced by exact values first.
    """
    scaled = search.scaled
    factor = 1 + Fraction(search.within or 0)
    sets: dict[tuple[int, ...], Any] = dict(search.within_limit())
    wide = [S for S, value in sets.items() if value.high - value.low > _NEAR * scaled.half]
    late = _settle(sets, wide, exact, watch)
    first = Fraction(min((value.low for value in sets.values()), default=0.0))
    best = Fraction(min((value.high for value in sets.values()), default=search.ceiling))
    rivals = [S for S, value in sets.items() if value.low <= best]
    certain, most = factor * first, factor * best
    near = [S for S, value in sets.items() if certain < value.high and value.low <= most and rivals != [S]]
    late = late or _settle(sets, [*near, *rivals] if near else [], exact, watch)
    most = factor * Fraction(min((value.high for value in sets.values()), default=search.ceiling))
    found = [(S, value) for S, value in sets.items() if value.low <= most]
    found.sort(key=lambda item: (item[1].value, item[0]))
    unknown = any(value.high - value.low > _NEAR * scaled.half for _, value in found)
    if status is Status.COMPLETED and (late or unknown):
        status = Status.MAX_ITER if late else Status.BEYOND_PRECISION
    members = [np.flatnonzero(search.given.group == g) for g in range(len(scaled.members))]
    supports = tuple(np.sort(np.concatenate([members[g] for g in S])) for S, _ in found)
    least = min((value.value for _, value in found), default=search.best.value)
    limit = float(factor * Fraction(least))
    counts = np.bincount(np.concatenate([*supports, np.empty(0, np.intp)]), minlength=given.n_features)
    lower = min(limit, min((node.bound for node in search.open), default=limit))
    return SubsetsWithin(
        supports=supports,
        values=scaled.units.factor * np.array([value.value for _, value in found], np.float64),
        limit=scaled.units.factor * limit,
        lower_bound=scaled.units.factor * max(0.0, lower),
        complete=status is Status.COMPLETED,
        share=counts / max(1, len(supports)),
        y_square=search.problem.y_norm**2,
        status=status,
        n_features=given.n_features,
        nodes=search.nodes,
        names=given.names,
        by_size=(),
    )


def _settle(
    sets: dict[tuple[int, ...], Any], which: list[tuple[int, ...]], exact: _ExactValues, watch: Watch
) -> bool:
    """Replace intervals by exact values, where these can be computed; return whether the time ran out."""
    if not which or exact.objective is None:
        return False
    for S in which:
        if watch.is_late():
            return True
        value: Any = exact.value(S)  # a fraction, which is compared with floats without rounding
        sets[S] = SetValue(value, value, value)
    return False
