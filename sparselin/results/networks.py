"""Results on networks: the paths of LassoNet and of Sequential Attention, a completed matrix, a ranking."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Status, ended, result
from sparselin.results.display import Column, Table, list_names, number

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


@result
class FeatureRanking(Named):
    """k of d features, in order, and the score of each feature by the method.

    Attributes
    ----------
    support : (k,) distinct indices, the best or first first.
    scores : (d,) the method's own measure, larger is better; NaN for features that are constant, which no
        method is shown and which come last.
    picks : what the method itself picked, in its order, with repetitions: `support` begins with the distinct
        ones of them, and where these are fewer than k the features of largest score fill it (FILLED).
    lam : (k,) the λ, of the loss and the data as the method sees them, at which each feature of `support`
        entered, or up to which it stayed; NaN for methods without a penalty.
    method : its name.
    status : COMPLETED, or FILLED.
    n_features : d.
    names : d names of the features, or None.

    Its length is k. `to_frame()` has a row for each feature: step, index, name, score, lam, and picked, how
    many times the method picked it.
    """

    support: IndexArray
    scores: FloatArray
    picks: IndexArray
    lam: FloatArray
    method: str
    status: Status
    n_features: int
    names: Names

    def __len__(self) -> int:
        return len(self.support)

    @property
    def support_names(self) -> tuple[str, ...]:
        """The names of `support`."""
        return self._names_of(self.support)

    @property
    def duplicates(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a feature that was picked more than once, and how many times it was."""
        return tuple((j, times) for j, times in Counter(self.picks.tolist()).items() if times > 1)

    def _headline(self) -> str:
        return f"{self.method}, {len(self)} of {self.n_features} features, {self.status.name}"

    def _table(self) -> Table:
        times = Counter(self.picks.tolist())
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("index", None, self.support),
            Column("name", "feature", self.support_names),
            Column("score", "score", self.scores[self.support]),
            Column("lam", "λ", self.lam),
            Column("picked", "picked", np.array([times[j] for j in self.support.tolist()], np.intp)),
        )
        return Table(columns, (ended(self.status),))
