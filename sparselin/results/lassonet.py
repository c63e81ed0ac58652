"""The path of LassoNet, from dense to sparse, and what matrix completion returns."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Status, ended, result
from sparselin.results.display import Column, Table, number

BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
# Names of parameters and buffers, and their values: what `dict` makes a PyTorch state dict of.
State = tuple[tuple[str, np.ndarray], ...]


@result
class LassoNetPath(Named):
    """LassoNet at λ_0 = 0 < λ_1 < … : row 0 is the dense network, each other one starts from that before it.

    The problem at λ is  min L(θ, W, rest) + λΣ_g ‖θ_g‖₂  subject to  ‖W_g‖∞ ≤ M‖θ_g‖₂  for each group g of
    features (a feature by itself, without groups), L the mean loss plus `l2` times the squares of the rest.

    Attributes
    ----------
    lam : (L,) λ of each row.
    objective : (L,) L + λΣ‖θ_g‖ on the training rows, of the weights that the row ends with.
    loss : (L,) the mean loss in it, without any penalty.
    validation_loss : (L,) the mean loss on the rows for validation; NaN without any.
    n_selected : (L,) features with θ_j ≠ 0.
    mask : (L, d) which these are.
    theta_norm : (L, d) ‖θ_j‖₂.
    epochs : (L,) how many were trained.
    returns : (L,) features that were absent and were brought back, because the gradient over all rows asked
        for it.
    excess : (L,) (‖∇_{θ_g}L‖₂ + M‖∇_{W_g}L‖₁)/λ at the end of the row, its largest over the groups that are
        zero: with at most 1 no group wants back in. Zero where there is none, or λ = 0.
    states : L states of the network, as NumPy arrays by the names of PyTorch; empty unless they were kept.
    M : the hierarchy coefficient.
    k : the number of features at which the path was asked to stop.
    groups : the groups of features, as tuples of indices; None without any.
    status : how the path ended.
    names : d names of the features, or None.

    `to_frame()` has a row for each λ: lam, n_selected, objective, loss, validation_loss, epochs, returns and
    excess.
    """

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
        """d."""
        return self.mask.shape[1]

    @property
    def importances(self) -> FloatArray:
        """(d,) λ of the row from which on feature j is zero in all rows; ∞ for those that the path ends with.

        A feature that comes back and leaves again has the λ of its last leaving; one that no row selects 0.
        """
        last = len(self) - np.argmax(self.mask[::-1], axis=0)
        last[~self.mask.any(axis=0)] = 0
        at: FloatArray = np.append(self.lam, np.inf)[last]
        return at

    def ranking(self) -> IndexArray:
        """(d,) features, the most important first; of those that leave together the one with largest ‖θ_j‖.

        ‖θ_j‖ is that of the last row that has the feature; of equal ones the first in X is first. Groups stay
        together, ranked by the largest importance in them and ‖θ_g‖.
        """
        last = len(self) - 1 - np.argmax(self.mask[::-1], axis=0)
        strength, importance = self.theta_norm[last, np.arange(self.n_features)], self.importances
        if self.groups is None:
            return np.lexsort((-strength, -importance)).astype(np.intp)
        of_group, group_strength, number = importance.copy(), strength.copy(), np.empty(len(last), np.intp)
        for g, members in enumerate(self.groups):
            at = list(members)
            number[at], of_group[at] = g, importance[at].max()
            group_strength[at] = np.linalg.norm(strength[at])
        return np.lexsort((-strength, number, -group_strength, -of_group)).astype(np.intp)

    def leading(self, k: int) -> IndexArray:
        """The k first of `ranking`, in this order; fewer where k would part a group.

        λ need not meet k: k features may never be selected at one λ. ValueError for a k out of 0..d.
        """
        if not 0 <= k <= self.n_features:
            raise ValueError(f"k must be in 0..{self.n_features}, the number of features; got {k}")
        ranking = self.ranking()
        label = np.arange(self.n_features)
        for group, members in enumerate(self.groups or ()):
            label[list(members)] = group
        ends = np.flatnonzero(np.diff(label[ranking], append=-1)) + 1
        return ranking[: ends[ends <= k].max(initial=0)]

    def support(self, k: int | None = None) -> IndexArray:
        """`leading(k)`, ascending; without k the features of the last row."""
        return np.flatnonzero(self.mask[-1]) if k is None else np.sort(self.leading(k))

    def row_at(self, k: int) -> int:
        """The last row with at least k features: its network is the sparsest that `support(k)` was chosen of.

        ValueError where the dense network has fewer.
        """
        rows = np.flatnonzero(self.n_selected >= k)
        if not rows.size:
            raise ValueError(
                f"k must be at most {self.n_selected.max()}, all that the path ever has; got {k}"
            )
        return int(rows[-1])

    def state_dict(self, row: int) -> dict[str, np.ndarray]:
        """The state of the network at a row; ValueError if states were not kept."""
        if not self.states:
            raise ValueError('the states were not kept: pass keep="states"')
        return dict(self.states[row])

    def _headline(self) -> str:
        if not len(self):
            return f"empty, {self.status.name}"
        size = f"{self.n_selected[0]} to {self.n_selected[-1]} of {self.n_features} features"
        return f"{len(self)} rows, λ up to {number(float(self.lam[-1]))}, {size}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            Column("lam", "λ", self.lam),
            Column("n_selected", "features", self.n_selected),
            Column("objective", "objective", self.objective),
            Column("loss", "loss", self.loss),
            Column("validation_loss", "validation", self.validation_loss),
            Column("epochs", "epochs", self.epochs),
            Column("returns", "returns", self.returns),
            Column("excess", "excess", self.excess),
        )
        return Table(columns, (f"M = {number(self.M)}", ended(self.status)))


@result
class MatrixCompletion(Named):
    """A matrix whose missing entries a network imputes, and the path from all of its columns to few.

    Attributes
    ----------
    completed : (m, d) Z where observed, and the dense network's reconstruction elsewhere.
    observed : (m, d) where Z is observed.
    change : (T,) ‖X_t − X_{t−1}‖_F/‖X_{t−1}‖_F over the missing entries in the rounds of imputation.
    path : the `LassoNetPath` of the reconstruction from the completed matrix.
    status : COMPLETED if the imputation converged, else MAX_ITER or STOPPED.
    names : d names of the columns, or None.

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
        return Table(columns, (ended(self.status),))
