"""The results of network methods: the paths of LassoNet and Sequential Attention, and a completed matrix."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Status, check_step, result
from sparselin.results.display import Column, Table, list_names, number

BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
# Pairs of names and values of parameters and buffers; `dict` makes a PyTorch state dict from them.
State = tuple[tuple[str, np.ndarray], ...]


@result
class LassoNetPath(Named):
    """The path of LassoNet over λ_0 = 0 < λ_1 < …, one row for each λ.

    Row 0 is the dense network. The training of each other row starts from the network of the row before. The
    problem at λ is min L(θ, W, rest) + λΣ_g ‖θ_g‖₂  subject to  ‖W_g‖∞ ≤ M‖θ_g‖₂  for each group g of
    features (without groups, each feature is a group). Here θ are the linear weights, W the weights of the
    first layer, and `rest` all other weights. L is the mean loss plus `l2` times the sum of the squares of
    `rest`.

    Attributes
    ----------
    lam : (L,) λ of each row, for L rows.
    objective : (L,) L + λΣ‖θ_g‖ on the training rows, for the final weights of the row.
    loss : (L,) the mean loss in the objective, without any penalty.
    validation_loss : (L,) the mean loss on the validation rows; NaN if there are none.
    n_selected : (L,) the number of selected features, which have θ_j ≠ 0.
    mask : (L, d) True for the selected features.
    theta_norm : (L, d) ‖θ_j‖₂.
    epochs : (L,) the number of training epochs.
    returns : (L,) the number of features that came back after they had left the path, because the gradient
        over all training rows required their return.
    excess : (L,) the largest (‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁)/λ over the groups that are zero at the end of the
        training for this λ. If it is at most 1, no zero group would become nonzero. It is zero if no group is
        zero, or λ = 0.
    states : L states of the network, as NumPy arrays under PyTorch's names; empty unless they were kept.
    M : the hierarchy coefficient.
    k : the number of features at which the path was to stop.
    groups : the groups of features, as tuples of indices; None without groups.
    status : the way in which the path ended.
    names : the d names of the features, or None.

    `to_frame()` has a row for each λ: lam, n_selected, objective, loss, validation_loss, epochs, returns and
    excess.
    """

    _picture: ClassVar[str] = "sparselin.neural.plots:lassonet"

    lam: FloatArray
    objective: FloatArray
    loss: FloatArray
    validation_loss: FloatArray
    n_selected: IndexArray
    mask: BoolArray
    theta_norm: FloatArray
    epochs: IndexArray
    returns: IndexArray
    excess: FloatArray
    states: tuple[State, ...]
    M: float
    k: int
    groups: tuple[tuple[int, ...], ...] | None
    status: Status
    names: Names

    def __len__(self) -> int:
        return len(self.lam)

    @property
    def n_features(self) -> int:
        """d, the number of features."""
        return self.mask.shape[1]

    @property
    def importances(self) -> FloatArray:
        """(d,) the importance of each feature: the λ at which it leaves the path.

        This is the λ of the first row such that the feature is zero in this row and in all later rows. So if
        the feature leaves twice, its last departure counts. The importance is ∞ for a feature of the last
        row, and 0 for a feature that no row selects.
        """
        last = len(self) - np.argmax(self.mask[::-1], axis=0)
        last[~self.mask.any(axis=0)] = 0
        return np.asarray(np.append(self.lam, np.inf)[last])

    def ranking(self) -> IndexArray:
        """Return the features (d,), the most important first.

        Features of equal importance are ordered by ‖θ_j‖ in the last row that selects them, the largest
        first, and then by index. The features of a group stay together. Groups are ranked by the largest
        importance of their features, and then by ‖θ_g‖.
        """
        last = len(self) - 1 - np.argmax(self.mask[::-1], axis=0)
        strength = self.theta_norm[last, np.arange(self.n_features)]
        group = self._group_numbers()
        norm, importance = np.zeros((2, self.n_features))
        np.hypot.at(norm, group, strength)
        np.maximum.at(importance, group, self.importances)
        return np.lexsort((-strength, group, -norm[group], -importance[group])).astype(np.intp)

    def _group_numbers(self) -> IndexArray:
        """Return the number of the group (d,) of each feature; without groups each feature is a group."""
        number = np.arange(self.n_features)
        for group, members in enumerate(self.groups or ()):
            number[list(members)] = group
        return number

    def leading(self, k: int) -> IndexArray:
        """Return the first k features of `ranking`, in this order; fewer if k would split a group.

        A λ at which exactly k features are selected need not exist. Raises ValueError if k is not in 0..d.
        """
        if not 0 <= k <= self.n_features:
            raise ValueError(f"k must be in 0..{self.n_features}, the number of features; got {k}")
        ranking = self.ranking()
        ends = np.flatnonzero(np.diff(self._group_numbers()[ranking], append=-1)) + 1
        return ranking[: ends[ends <= k].max(initial=0)]

    def support(self, k: int | None = None) -> IndexArray:
        """Return the features of `leading(k)`, increasing; without k, the features of the last row."""
        return np.flatnonzero(self.mask[-1]) if k is None else np.sort(self.leading(k))

    def row_at(self, k: int) -> int:
        """Return the number of the last row with at least k features; its λ is the largest such λ.

        Raises ValueError if no row has that many features.
        """
        rows = np.flatnonzero(self.n_selected >= k)
        if not rows.size:
            raise ValueError(
                f"k must be at most {self.n_selected.max()}, the most features of a row; got {k}"
            )
        return int(rows[-1])

    def state_dict(self, row: int) -> dict[str, np.ndarray]:
        """Return the PyTorch state of the network at a row. Raises ValueError if no states were kept."""
        if not self.states:
            raise ValueError('the states were not kept: pass keep="states"')
        return dict(self.states[row])

    def _headline(self) -> str:
        if not len(self):
            return f"empty, {self.status.name}"
        size = f"{self.n_selected[0]} to {self.n_selected[-1]} of {self.n_features} features"
        return f"{len(self)} rows, λ up to {number(float(self.lam[-1]))}, {size}, {self.status.name}"

    def _table(self) -> Table:
        heads = {"lam": "λ", "n_selected": "features", "validation_loss": "validation"}
        names = ("lam", "n_selected", "objective", "loss", "validation_loss", "epochs", "returns", "excess")
        columns = tuple(Column(name, heads.get(name, name), getattr(self, name)) for name in names)
        return Table(columns, (f"M = {number(self.M)}", self.status.line))


@result
class MatrixCompletion(Named):
    """A matrix Z whose missing entries a network has imputed, and the LassoNet path of its reconstruction.

    Attributes
    ----------
    completed : (m, d) the given matrix Z, in which the dense network's reconstruction replaces the missing
        entries.
    observed : (m, d) True for the observed entries of the given matrix Z.
    change : (T,) ‖Z_t − Z_{t−1}‖_F/‖Z_{t−1}‖_F over the missing entries, where Z_t is the matrix after round
        t = 1, …, T of imputation.
    path : the `LassoNetPath` of the reconstruction from the completed matrix.
    status : COMPLETED if the imputation converged, else MAX_ITER or STOPPED.
    names : the d names of the columns, or None.

    `to_frame()` has a row for each round: round and change.
    """

    completed: FloatArray
    observed: BoolArray
    change: FloatArray
    path: LassoNetPath
    status: Status
    names: Names

    def _headline(self) -> str:
        m, d = self.completed.shape
        missing = int((~self.observed).sum())
        return f"{m} × {d}, {missing} entries imputed in {len(self.change)} rounds, {self.status.name}"

    def _table(self) -> Table:
        rounds = np.arange(1, len(self.change) + 1)
        columns = (Column("round", "round", rounds), Column("change", "change", self.change))
        return Table(columns, (self.status.line,))


@result
class AttentionPath(Named):
    """The units in the order in which attention selected them. A unit is a feature or a group of features.

    Of u units t were selected, in p phases.

    Attributes
    ----------
    order : (t,) the units, the `forced` units first. Within a phase the unit of larger attention weight comes
        first, and of equal weights the unit with the lower number.
    phase : (t,) the phase, 1, …, p, that ended with the pick of the unit; 0 for forced units.
    attention : (p, u) the absolute attention weights |s| at the end of each phase; one for the units selected
        before this phase.
    margin : (t,) (a − b)/a, where a is the attention weight of the pick and b the largest among the units not
        selected: 0 in a tie, 1 if b is zero or no unit remains, NaN for forced units.
    loss : (p,) the mean loss of the batches of each phase, without penalty.
    steps : (p,) the number of batches in each phase.
    penalty : (p,) λ in each phase.
    warm_up_steps, total_steps : the number of batches before the first phase, and in total; the total
        includes a phase that did not end.
    warm_up_loss : the mean loss of the batches before the first phase; NaN if there are none.
    parametrization : the form of the attention weights s, for example "softmax".
    groups : (d,) the unit of each feature.
    status : the way in which training ended.
    names : the u names of the units, or None.

    `to_frame()` has a row for each unit: step, index, name, forced, phase, attention, margin, columns (the
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

    _picture: ClassVar[str] = "sparselin.neural.plots:attention"

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
        """d, the number of features."""
        return len(self.groups)

    @property
    def n_units(self) -> int:
        """u, the number of units."""
        return int(self.groups.max()) + 1

    @property
    def support(self) -> IndexArray:
        """The features of the units in `order`, increasing within a unit."""
        return self.features_at(len(self))

    def features_at(self, t: int) -> IndexArray:
        """Return the features of the first t units. Raises ValueError unless 0 ≤ t ≤ len(order)."""
        check_step(t, len(self), "selected units")
        return np.concatenate([np.zeros(0, np.intp), *map(self._members, self.order[:t])])

    def _members(self, unit: int) -> IndexArray:
        return np.flatnonzero(self.groups == unit)

    def _headline(self) -> str:
        loss = f", loss {self.loss[-1]:.4f}" if len(self.loss) else ""
        return f"{self.parametrization}, {len(self)} of {self.n_units} units{loss}, {self.status.name}"

    def _table(self) -> Table:
        last = self.phase - 1
        forced = self.phase == 0
        picked = np.full((2, len(self)), np.nan)
        picked[0, ~forced] = self.attention[last[~forced], self.order[~forced]]
        picked[1, ~forced] = self.loss[last[~forced]]
        members = [tuple(map(str, self._members(unit))) for unit in self.order]
        grouped = self.n_units < self.n_features
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            *self._features(self.order),
            Column("forced", "forced" if forced.any() else None, forced),
            Column("phase", "phase", self.phase),
            Column("attention", "attention", picked[0]),
            Column("margin", "margin", self.margin),
            Column(None, "columns" if grouped else None, [list_names(columns, 6) for columns in members]),
            Column("columns", None, [",".join(columns) for columns in members]),
            Column("loss", "loss", picked[1]),
        )
        return Table(columns, (self.status.line,))
