"""The path of Sequential Attention on a network."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Status, ended, result
from sparselin.results.display import Column, Table, list_names


@result
class AttentionPath(Named):
    """Units, features or groups of them, in the order in which attention selected them.

    With t units selected of u, in p phases:

    Attributes
    ----------
    order : (t,) units, `forced` ones first; of one phase those of larger attention first, and of equal
        attention that of the lowest number.
    phase : (t,) the phase, 1, …, p, at the end of which each was picked; 0 for forced ones.
    attention : (p, u) |s| at the end of each phase, one for the units selected before it.
    margin : (t,) (a − b)/a for the attention a of a pick and the largest b among the units that are left,
        0 in a tie, 1 when b is zero or none is left; NaN for forced ones.
    loss : (p,) the mean loss of the batches of each phase, without penalty.
    steps : (p,) batches in each phase.
    penalty : (p,) λ in each phase.
    warm_up_steps, total_steps : batches before the first phase, and in all, those of a phase that did not end
        included.
    warm_up_loss : the mean loss of the batches before the first phase; NaN without any.
    parametrization : the form of s.
    groups : (d,) the unit of each feature.
    status : how it ended.
    names : u names of the units, or None.

    `to_frame()` has a row for each unit: step, index and name, forced, phase, attention, margin, columns (the
    numbers of its features, with commas), loss (of its phase).

    >>> path = AttentionPath(
    ...     order=np.array([1, 0]), phase=np.array([1, 2]), attention=np.array([[0.25, 0.75], [1.0, 1.0]]),
    ...     margin=np.array([2 / 3, 1.0]), loss=np.array([0.5, 0.25]), steps=np.array([10, 10]),
    ...     penalty=np.zeros(2), warm_up_steps=0, total_steps=20, warm_up_loss=np.nan,
    ...     parametrization="softmax", groups=np.array([0, 1]), status=Status.COMPLETED, names=None,
    ... )
    >>> print(path)
    AttentionPath: softmax, 2 of 2 units, loss 0.2500, COMPLETED
    step  name  phase  attention  margin    loss
       1  x1        1     0.7500  0.6667  0.5000
       2  x0        2      1.000   1.000  0.2500
    COMPLETED: completed as requested
    """

    order: IndexArray
    phase: IndexArray
    attention: FloatArray
    margin: FloatArray
    loss: FloatArray
    steps: IndexArray
    penalty: FloatArray
    warm_up_steps: int
    total_steps: int
    warm_up_loss: float
    parametrization: str
    groups: IndexArray
    status: Status
    names: Names

    def __len__(self) -> int:
        return len(self.order)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.groups)

    @property
    def n_units(self) -> int:
        """u."""
        return int(self.groups.max()) + 1

    @property
    def support(self) -> IndexArray:
        """The features of `order`, those of a unit in increasing order."""
        return self.features_at(len(self))

    def features_at(self, t: int) -> IndexArray:
        """The features of the first t units, 0 ≤ t ≤ len(order), else ValueError."""
        if not 0 <= t <= len(self):
            raise ValueError(f"t must lie in 0..{len(self)}, the units selected; got {t}")
        return np.concatenate([np.zeros(0, np.intp), *map(self._members, self.order[:t])])

    def _members(self, unit: int) -> IndexArray:
        return np.flatnonzero(self.groups == unit)

    def _headline(self) -> str:
        loss = f", loss {self.loss[-1]:.4f}" if len(self.loss) else ""
        return f"{self.parametrization}, {len(self)} of {self.n_units} units{loss}, {self.status.name}"

    def _table(self) -> Table:
        last, forced = self.phase - 1, self.phase == 0
        picked = np.full((2, len(self)), np.nan)
        picked[0, ~forced] = self.attention[last[~forced], self.order[~forced]]
        picked[1, ~forced] = self.loss[last[~forced]]
        members = [tuple(map(str, self._members(unit))) for unit in self.order]
        grouped = self.n_units < self.n_features
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("index", None, self.order),
            Column("name", "name", self._names_of(self.order)),
            Column("forced", "forced" if forced.any() else None, forced),
            Column("phase", "phase", self.phase),
            Column("attention", "attention", picked[0]),
            Column("margin", "margin", self.margin),
            Column(None, "columns" if grouped else None, [list_names(columns, 6) for columns in members]),
            Column("columns", None, [",".join(columns) for columns in members]),
            Column("loss", "loss", picked[1]),
        )
        return Table(columns, (ended(self.status),))
