"""The nodes of a best-first search for the best subset, and their record, which becomes its certificate."""

from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray
from sparselin.subsets._relaxation import Stage
from sparselin.subsets.certificate_form import Operation, SubsetStage, SubsetVector

# The operations of a certificate with the number of a vector.
_BY_VECTOR = ("bound", "out", "in")


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
