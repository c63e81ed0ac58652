"""The nodes of a best-first search for the best subset, and their record, which becomes its certificate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray
from sparselin.subsets._relaxation import Stage
from sparselin.subsets.certificate import SubsetCertificate
from sparselin.subsets.certificate_form import Operation, SubsetStage, SubsetVector

# The operations of a certificate with the number of a vector.
_BY_VECTOR = ("bound", "out", "in")
# The number of sets that are kept because they may be as good as the best one.
_RIVALS = 64
# A decrease of the gap by less than this is not stated.
_SLACK = 1e-12
_NO_TREE = "the tree of the search was too large to keep: ask for a gap"
_UNPROVED = "rounding leaves a lower bound of the search unproved, or it is 0: add a ridge, or ask for a gap"


class Node(NamedTuple):
    """An open node of the search tree.

    bound, number : the lower bound of the node, and its number.
    state : for each group of its stage, whether it is selected (in), excluded (out), or free.
    stage : the relaxation on the groups that may be selected.
    places, w : the nonzero entries of a vector from which the relaxation of the node starts.
    vector : the number of the stored vector that proves the bound, or −1.
    """

    bound: float
    number: int
    state: Any
    stage: Stage
    places: IndexArray
    w: FloatArray
    vector: int


class TreeRecord:
    """The tree of a search, its stages and its vectors.

    box : the number of the vector from which a box is derived, or −1.
    """

    def __init__(self) -> None:
        self.box = -1
        self.stages: list[Stage] = []
        self.vectors: list[tuple[int, IndexArray, FloatArray]] = []
        self.operations: dict[int, list[Operation]] = {}

    def vector(self, stage: Stage, w: FloatArray) -> int:
        """Store w and return its number."""
        if stage.number < 0:
            self.stages.append(stage)
            stage.number = len(self.stages) - 1
        places = np.flatnonzero(w)
        self.vectors.append((stage.number, stage.features[places], w[places]))
        return len(self.vectors) - 1

    def parts(self, nodes: dict[int, int], group: IndexArray, lift: int) -> dict[str, Any]:
        """Return the fields of a certificate that describe the tree and the vectors that it uses.

        nodes : the number of each open node, and of the vector that bounds it, or −1.
        group, lift : see `Restrictions` and `Scaled`.
        """
        tree = self._preorder(nodes)
        used = sorted({self.box, *(o[1] for o in tree if o[0] in _BY_VECTOR)} - {-1})
        numbers = {-1: -1} | {v: i for i, v in enumerate(used)}
        return {
            "box": numbers[self.box] if self.box >= 0 else None,
            "stages": tuple(_exact_stage(stage, group) for stage in self.stages),
            "vectors": tuple(_exact_vector(self.vectors[v], lift) for v in used),
            "tree": tuple((o[0], numbers[o[1]], *o[2:]) if o[0] in _BY_VECTOR else o for o in tree),
        }

    def _preorder(self, nodes: dict[int, int]) -> list[Operation]:
        """Return the operations of the tree in preorder; a split is followed by its two branches."""
        leaves = {number: [("bound", vector)] for number, vector in nodes.items()}
        out: list[Operation] = []
        waiting = [0]
        while waiting:
            number = waiting.pop()
            for operation in leaves.get(number) or self.operations[number]:
                if operation[0] == "split":
                    waiting += [operation[3], operation[2]]
                out.append(operation[:2] if operation[0] == "split" else operation)
        return out


class NearSets:
    """The sets of groups that may be as good as the best one, with lower bounds on their values.

    is_whole : whether none was forgotten, because there were too many.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self._low: dict[tuple[int, ...], float] = {}

    def keep(self, groups: IndexArray, low: float, limit: float) -> None:
        """Keep a set with this lower bound on its value, if that is below the limit."""
        if low >= limit:
            return
        self._low[tuple(sorted(groups.tolist()))] = low
        if len(self._low) > _RIVALS:
            self._low = {S: value for S, value in self._low.items() if value < limit}
        if len(self._low) > _RIVALS:
            self._low.popitem()
            self.is_whole = False

    def below(self, limit: float) -> list[IndexArray]:
        """Return the sets whose lower bounds are at most this limit."""
        return [np.array(S, np.intp) for S, low in self._low.items() if low <= limit]


def _exact_stage(stage: Stage, group: IndexArray) -> SubsetStage:
    """Return the stage of a certificate, which also has the columns of zeros, with D = 0."""
    J = np.flatnonzero(np.isin(group, stage.groups))
    D = np.zeros(len(group))
    D[stage.features] = stage.data.D
    return SubsetStage(J, D[J])


def _exact_vector(vector: tuple[int, IndexArray, FloatArray], lift: int) -> SubsetVector:
    """Return the vector of a certificate with exactly these entries, multiples of a power of two."""
    stage, J, w = vector
    order = np.argsort(J)
    J, w = J[order], w[order]
    unit = int(np.frexp(np.abs(w).max(initial=0.0))[1]) - 33
    return SubsetVector(stage, J, np.ldexp(w, -unit).astype(np.intp), unit + lift)


def certificate_of(search: Any) -> SubsetCertificate | str:
    """Return a certificate of a `BestFirst` search so far, or the reason why there is none."""
    origin = search.problem.origin or search.problem
    if origin.design.scale is not None or origin.exact_columns([]) is None:
        return "the columns of the search are not those of X: pass X and y, without standardize=True"
    if not search.scaled.strict:
        return "the columns are too close to dependent for its arithmetic: add a ridge, or drop some"
    if len(search.left_out):
        return f"column {search.left_out[0]} is a multiple of another one: drop such columns"
    if search.record is None:
        return _NO_TREE if search.problem.y_norm else "y is 0, so no set is better"
    scaled, given = search.scaled, search.given
    vectors = {node.number: node.vector for node in search.open}
    parts = search.record.parts(vectors, given.group, scaled.units.lift)
    if ("bound", -1) in parts["tree"]:
        return _UNPROVED
    value = search.best.value + search.room
    least = min(search.covered, search.second, search.open[0].bound if search.open else math.inf)
    *sides, stable, _ = scaled.at_bounds(search.best)
    if least <= 0 or not stable:
        return _UNPROVED
    gap = 0.0 if least >= value else min(1.0, 1 - least / value + _SLACK)
    single = np.array_equal(given.group, np.arange(len(given.group)))
    return SubsetCertificate(
        shape=(search.problem.n, search.problem.d),
        k=search.k,
        ridge=float(given.ridge),
        gap=gap,
        intercept=origin.design.ones is not None,
        forced=tuple(search.forced.tolist()),
        groups=None if single else given.group,
        lower=given.low,
        upper=given.high,
        support=tuple(search.groups.tolist()),
        at_lower=tuple(sides[0].tolist()),
        at_upper=tuple(sides[1].tolist()),
        scale=scaled.units.shift,
        hierarchy=given.hierarchy.pairs,
        **parts,
    )
