"""A hierarchy of groups of features: a group is in a set only if the groups that it needs are in the set.

A set that contains with each group all groups that it needs is *closed*. Unions of closed sets are closed, so
each set has a least closed set around it. The relation is transitive: if a needs b, and b needs c, then a
needs c. Groups that need one another are in the same closed sets.

In a node of a search for closed sets of at most k groups, with the groups I in and E out, the hierarchy
decides further groups, without loss of a closed set (`Hierarchy.decide`):

- the groups that I needs are in, and the groups that need one of E are out;
- a free group is out if I, this group and the groups that it needs are more than k groups.

If then more than k groups are in, or some group is both in and out, the node has no closed set. Otherwise I
is closed, so is the set of all groups that are not out, and each free group is in a closed set of the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from sparselin._kernels.perspective import FREE, IN, OUT
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

# A hierarchy as the user passes it: a feature, by index or name, and the feature or features that it needs.
Needs: TypeAlias = Mapping[Any, int | str | Iterable[int | str]]


class Hierarchy(NamedTuple):
    """The relation between groups, or no relation, in which case every set is closed.

    needs : (groups, groups) a sparse matrix, or None. An entry is 1 if the group of its row needs the group
        of its column. Every group needs itself.
    """

    needs: Any = None

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs (a, b) of different groups where a needs b."""
        rows, columns = ((), ()) if self.needs is None else (J.tolist() for J in self.needs.nonzero())
        return tuple((a, b) for a, b in zip(rows, columns, strict=True) if a != b)

    def closure(self, groups: IndexArray) -> IndexArray:
        """Return these groups, and then the other groups of the least closed set that contains them."""
        if self.needs is None:
            return groups
        return np.append(groups, np.setdiff1d(self.needs[groups].indices, groups))

    def without(self, S: IndexArray, g: int) -> IndexArray:
        """Return the groups S less the group g and the groups that need g."""
        return S[S != g] if self.needs is None else S[self.needs[S][:, [g]].toarray()[:, 0] == 0]

    def complete(self, first: IndexArray, order: IndexArray, k: int) -> IndexArray:
        """Return the closed set `first` and, in this order, groups with the groups that they need, up to k.

        A group is left out if it does not fit with the groups that it needs.
        """
        if self.needs is None:
            return np.append(first, order)[:k]
        inside = np.zeros(self.needs.shape[0], bool)
        inside[first] = True
        while True:
            missing = self.needs[order] @ ~inside
            fits = order[(missing > 0) & (missing <= k - inside.sum())]
            if not len(fits):
                return np.flatnonzero(inside)
            inside[self.needs[fits[:1]].indices] = True

    def spread(self, scores: FloatArray, S: IndexArray, k: int) -> FloatArray:
        """Return for each group the mean score of the groups to add with it to S, or −1 if they do not fit.

        scores : (groups,) the scores of the groups, −1 for S.
        """
        if self.needs is None:
            return scores
        outside = scores >= 0
        missing = self.needs @ outside
        mean = self.needs @ np.where(outside, scores, 0) / np.maximum(missing, 1)
        return np.where(outside & (missing <= k - len(S)), mean, -1)

    def decide(self, groups: IndexArray, state: Any, k: int) -> bool:
        """Change the states of free groups that the hierarchy and k decide; return False if no set is left.

        groups, state : some groups and their states. All other groups are out.
        """
        if self.needs is None:
            return True
        whole = np.full(self.needs.shape[0], OUT, np.int8)
        whole[groups] = state
        inside, out = self.needs.T @ (whole == IN) > 0, self.needs @ (whole == OUT) > 0
        room = k - inside.sum()
        whole[out | ((whole == FREE) & (self.needs @ ~inside > room))] = OUT
        whole[inside] = IN
        state[:] = whole[groups]
        return bool(room >= 0 and not (inside & out).any())


def check_hierarchy(given: Problem, hierarchy: Needs | None, group: IndexArray) -> Hierarchy:
    """Return the hierarchy of the groups; ValueError or TypeError if it is no mapping between features.

    group : (d,) the number of the group of each feature.
    """
    pairs = []
    try:
        for feature, needed in () if hierarchy is None else hierarchy.items():
            several = (needed,) if isinstance(needed, (int, str, np.integer)) else needed
            pairs += [(feature, other) for other in (feature, *several)]
        columns = dict.fromkeys(column for pair in pairs for column in pair)
    except (AttributeError, TypeError):
        raise TypeError(
            "hierarchy must map a feature to the feature or features that it needs, such as "
            f'{{"a:b": ["a", "b"]}}; got {hierarchy!r}'
        ) from None
    places = {column: int(given.indices([column], "hierarchy")[0]) for column in columns}
    J = group[np.array([(places[a], places[b]) for a, b in pairs], np.intp).reshape(-1, 2)]
    count = int(group.max()) + 1
    J = np.vstack([J, np.repeat(np.arange(count), 2).reshape(-1, 2)])
    needs, known = sparse.csr_array((np.ones(len(J), np.intp), J.T), (count, count)), -1
    while needs.nnz > known:
        known, needs = needs.nnz, (needs @ needs > 0).astype(np.intp)
    return Hierarchy(needs if known > count else None)
