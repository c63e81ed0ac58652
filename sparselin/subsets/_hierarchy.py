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

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels.perspective import FREE, IN, OUT
from sparselin.problem import Problem
from sparselin.results import IndexArray


class Hierarchy(NamedTuple):
    """The relation between groups, or no relation, in which case every set is closed.

    needs : (groups, groups) a sparse matrix, or None. An entry is 1 if the group of its row needs the group
        of its column. Every group needs itself.
    pairs : the pairs (a, b) of different groups where a needs b.
    """

    needs: Any = None
    pairs: tuple[tuple[int, int], ...] = ()

    def closure(self, groups: IndexArray) -> IndexArray:
        """Return these groups, and then the other groups of the least closed set that contains them."""
        whole = groups if self.needs is None else self.needs[groups].indices
        return np.append(groups, np.setdiff1d(whole, groups))

    def without(self, S: IndexArray, g: int) -> IndexArray:
        """Return the groups S less the group g and the groups that need g."""
        return np.delete(S, g == S if self.needs is None else self.needs[S][:, [g]].toarray()[:, 0] > 0)

    def complete(self, first: IndexArray, order: IndexArray, k: int, most: int | None = None) -> IndexArray:
        """Return the closed set `first` and, in this order, groups with the groups that they need, up to k.

        A group is left out if it does not fit with the groups that it needs. Then it does not fit later
        either, because the room falls by all added groups, and the missing groups fall by some of them.

        most : the largest number of groups to add, without the groups that they need; by default no limit.
        """
        if self.needs is None:
            return np.append(first, order[:most])[:k]
        inside = np.isin(np.arange(self.needs.shape[0]), first)
        for _ in range(k if most is None else most):
            missing = self.needs[order] @ ~inside
            order = order[(missing > 0) & (missing <= k - inside.sum())]
            inside[self.needs[order[:1]].indices] = True
        return np.flatnonzero(inside)

    def decide(self, groups: IndexArray, state: Any, k: int) -> bool:
        """Change the states of free groups that the hierarchy and k decide; return False if no set is left.

        groups, state : some groups and their states. All other groups are out.
        """
        if self.needs is None:
            return True
        whole = np.full(self.needs.shape[0], OUT, np.int8)
        whole[groups] = state
        inside = self.needs.T @ (whole == IN) > 0
        out = self.needs @ (whole == OUT) > 0
        room = k - inside.sum()
        whole[out | ((whole == FREE) & (self.needs @ ~inside > room))] = OUT
        whole[inside] = IN
        state[:] = whole[groups]
        return bool(room >= 0 and not (inside & out).any())


def check_hierarchy(given: Problem, hierarchy: Any, group: IndexArray) -> Hierarchy:
    """Return the hierarchy of the groups; ValueError or TypeError if it is no mapping between features.

    group : (d,) the number of the group of each feature.
    """
    if not isinstance(hierarchy, Mapping | None):
        raise TypeError(f'hierarchy must be a mapping such as {{"a:b": ["a", "b"]}}; got {hierarchy!r}')
    J = [np.repeat(np.arange(len(group))[:, None], 2, axis=1)]
    for feature, needed in (hierarchy or {}).items():
        several: Any = [needed] if isinstance(needed, (int, str, np.integer)) else needed
        sides = (given.indices(columns, "hierarchy") for columns in ([feature], several))
        J.append(np.stack(np.broadcast_arrays(*sides), axis=1))
    rows, columns = group[np.concatenate(J)].T
    if (rows == columns).all():
        return Hierarchy()
    from scipy.sparse import csr_array  # imported here, because it takes 100 ms

    needs = csr_array((np.ones(len(rows), np.intp), (rows, columns)))
    known = -1
    while needs.nnz > known:
        known = needs.nnz
        needs = (needs @ needs > 0).astype(np.intp)
    pairs = tuple((a, b) for a, b in np.transpose(needs.nonzero()).tolist() if a != b)
    return Hierarchy(needs, pairs)
