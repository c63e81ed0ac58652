"""The decision whether the best subset is unique, by the bounds of its search and in rational arithmetic.

Let S be the best set that a search has found, of t features (or groups). It is unique if every other set of t
features has a larger value. A search closes a part of its tree only if the bound of this part exceeds the
value of S by more than rounding errors. It keeps the other sets that it meets below this limit: the rivals of
S. So S is unique if all rivals are worse, and rivals are compared with S in rational arithmetic. A rival with
the same value proves that S is not unique. The search may have had too many rivals to keep, or too many cases
to examine that could only contain rivals. Then, without a rival of the same value, the question stays open.

If S has fewer features than were allowed, because no further one decreases the value, then all sets that
contain S tie. So the sets of exactly t features are searched again.

The searches leave out columns that cannot decrease a value: zeros and multiples of others. Sets with these
matter if a feature of S does not decrease the value either. So if S without a feature has nearly the same
value, that set is a rival too.

A rival of fewer than t features with the value of S proves that S is not unique too: with further features
its value cannot be larger, and if it became smaller, S would not be the best set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem import Problem
from sparselin.problem.errors import TINY
from sparselin.results import IndexArray, Status
from sparselin.subsets._relaxation import Restrictions
from sparselin.subsets._search import AnySearch, SearchResult, Watch, run
from sparselin.subsets.dependence import original_columns
from sparselin.subsets.objective import ExactObjective
from sparselin.subsets.unit_data import triangle

# The number of rivals of t features that are compared exactly is at most _WORK/t⁴, but at least two.
_WORK = 2e6
# The nodes of a second search, for sets of fewer features, besides those of the first one.
_NODES = 1000
# A feature whose deletion increases the value by at most this share of ‖y‖² is examined exactly.
_FREE = 1e-9
_UNPROVED = "the set is not proved to be the best"
_STOPPED = "the search for other sets of the same value was stopped"
_OPEN = "rounding, or too many sets that are nearly as good, leaves it open"
_ROUNDED = "values of sets agree to rounding, and are not known exactly without the data: pass X and y"
_FEWER = "fewer than k groups of a hierarchy are selected"


class Uniqueness(NamedTuple):
    """The answer whether the best set is unique, with a second set of the same value, or a reason."""

    unique: bool | None
    second: IndexArray | None = None
    reason: str = ""


class ExactData(NamedTuple):
    """The data from which values of sets are computed exactly.

    given : the problem, with its weights.
    plain, weight : the problem without weights, and these, or None if `given` has no weights.
    restrictions : the ridge, the box, the groups and the hierarchy.
    """

    given: Problem
    plain: Problem | None
    weight: Any
    restrictions: Restrictions

    @property
    def source(self) -> Problem:
        """The problem whose columns have no rounding errors, if these are known."""
        return (self.plain or self.given).without_scales()

    def columns(self, J: IndexArray) -> Any:
        """Return the columns X_J and y (n, |J| + 1) without rounding errors, or None if unknown."""
        return original_columns(self.source, J)

    def values(self, sets: list[IndexArray]) -> list[Fraction] | None:
        """Return the least objective on each set of features, or None if it is not known exactly."""
        design = self.given.design
        changed = design.scale is not None and any(w != "groups" for w in self.restrictions.words)
        J = np.unique(np.concatenate(sets))
        data = None if changed else self.columns(J)
        if data is None:
            return None
        objective = ExactObjective(
            data[:, :-1],
            data[:, -1],
            np.ones(len(data)) if self.weight is None else np.asarray(self.weight, np.float64),
            intercept=design.ones is not None,
            ridge=self.restrictions.ridge,
            scale=np.zeros(len(J), np.intp),
        )
        return [self._value(objective, J, S) for S in sets]

    def _value(self, objective: ExactObjective, J: IndexArray, S: IndexArray) -> Fraction:
        places = np.searchsorted(J, S).tolist()
        sides = np.stack([self.restrictions.low[S], self.restrictions.high[S]], axis=1)
        if not np.isfinite(sides).any():
            return objective.minimum(places, {})[1]
        ends = [[Fraction(end) if math.isfinite(end) else None for end in pair] for pair in sides.tolist()]
        return objective.minimum_in_box(places, dict(zip(places, ends, strict=True)), {})


def check_uniqueness(
    data: ExactData,
    copies: IndexArray,
    search: AnySearch,
    found: SearchResult,
    again: Callable[[int], AnySearch],
    watch: Watch,
) -> Uniqueness:
    """Decide whether the set that a completed search has found is the only best one.

    copies : for each feature the first one of its class of multiples, see `find_copies`.
    again : begins a search for sets of at most a given number of groups.
    """
    group = data.restrictions.group
    S = np.unique(group[found.support])
    count = int(group.max()) + 1
    if not found.optimal:
        return Uniqueness(None, reason=_UNPROVED)
    if len(S) in (len(search.forced), count):
        return Uniqueness(True)
    second = _exchange_copy(found.support, search.forced, copies)
    if second is not None:
        return Uniqueness(False, second)
    if len(S) < search.k:
        if data.restrictions.hierarchy.pairs:
            return Uniqueness(None, reason=_FEWER)
        nodes = search.nodes + _NODES
        search = again(len(S))
        if run(search, watch.within(nodes)) is not Status.COMPLETED:
            return Uniqueness(None, reason=_STOPPED)
    sets, is_complete = search.rivals()
    if not data.restrictions.words:
        sets += _deletions(search.problem, found.support, len(search.forced))
    sets = [np.append(search.forced, T) for T in [*sets, group[search.support]]]
    rivals = _unlike(set(S.tolist()), sets, count, data.restrictions)
    if not rivals:
        return Uniqueness(True) if is_complete else Uniqueness(None, reason=_OPEN)
    most = max(2, int(_WORK / len(S) ** 4))
    members = [np.flatnonzero(np.isin(group, T)) for T in [S, *rivals[:most]]]
    values = data.values(members)
    if values is None:
        return Uniqueness(None, reason=_ROUNDED)
    least = values.index(min(values))
    if values[least] < values[0]:
        listed = ", ".join(map(str, members[least].tolist()))
        return Uniqueness(None, reason=f"the set ({listed}) is better by less than rounding errors")
    if values[0] in values[1:]:
        return Uniqueness(False, members[values.index(values[0], 1)])
    return Uniqueness(True) if is_complete and len(rivals) <= most else Uniqueness(None, reason=_OPEN)


def _exchange_copy(support: IndexArray, forced: IndexArray, copies: IndexArray) -> IndexArray | None:
    """Return the set in which one feature is replaced by a multiple of it, or None if there is none."""
    for i in np.sort(support[len(forced) :]).tolist():
        others = np.setdiff1d(np.flatnonzero(copies == copies[i]), support)
        if len(others):
            return np.sort(np.append(support[support != i], others[0]))
    return None


def _deletions(problem: Problem, support: IndexArray, first: int) -> list[IndexArray]:
    """Return the sets that lack one feature after the first ones, and whose value is nearly the same.

    Without feature i the value grows by β_i²/(G⁻¹)_ii, where G is the Gram matrix of the support.
    """
    X = problem.columns(support)
    lengths = np.linalg.norm(X, axis=0)
    R = triangle(np.column_stack([X / np.where(lengths > 0, lengths, 1), problem.y]))
    t = len(support)
    inverse = np.linalg.pinv(R[:t, :t])
    costs = (inverse @ R[:t, -1]) ** 2 / np.maximum((inverse**2).sum(axis=1), TINY)
    return [np.delete(support, i) for i in range(first, t) if costs[i] <= _FREE * problem.y_norm**2]


def _unlike(
    own: set[int], sets: list[IndexArray], count: int, restrictions: Restrictions
) -> list[IndexArray]:
    """Return the sets of groups other than `own`, once each, with as many groups as `own`.

    Sets of fewer groups are filled with further groups, with groups outside `own` first. Without a hierarchy
    every set may be filled; with one, sets that are smaller are returned as they are.
    """
    found: dict[tuple[int, ...], None] = {}
    for T in sets:
        inside = set(T.tolist())
        if inside == own:
            continue
        if not restrictions.hierarchy.pairs:
            further = sorted(set(range(count)) - inside, key=lambda g: (g in own, g))
            inside |= set(further[: max(0, len(own) - len(inside))])
        if inside != own:
            found[tuple(sorted(inside))] = None
    return [np.array(T, np.intp) for T in found]
