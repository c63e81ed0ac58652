"""What Sequential Attention has done so far: its steps, losses and picks."""

from __future__ import annotations

import numpy as np

from sparselin.neural.masks import FeatureMask, check_groups
from sparselin.neural.schedule import Schedule
from sparselin.results import AttentionPath, FloatArray, IndexArray, Names, Status

# Below this share of its start, the attention of a form that is not normalised has tended to zero.
_VANISHED = 1e-6


class Record:
    """The steps, losses and picks of a run.

    Attributes
    ----------
    order : the units of S, in order.
    total : steps so far.
    """

    def __init__(
        self, k: int, forced: IndexArray, mask: FeatureMask, names: Names, schedule: Schedule
    ) -> None:
        self._k, self._mask, self._names, self._schedule = k, mask, names, schedule
        self.order: list[int] = forced.tolist()
        self.total = 0
        self._phase = [0] * len(forced)
        self._margin = [np.nan] * len(forced)
        self._attention: list[FloatArray] = []
        self._loss: list[float] = []
        self._penalty: list[float] = []
        self._warm_up_loss, self._losses = np.nan, [0.0, 0]

    @property
    def where(self) -> str:
        """The present step, for messages."""
        if self.total < self._schedule.warm_up:
            return f"step {self.total + 1} of the warm-up"
        phase = len(self._loss)
        before = self._schedule.ends[phase - 1] if phase else self._schedule.warm_up
        return f"phase {phase + 1}, step {self.total - before + 1} of it (batch {self.total + 1})"

    @property
    def phase_ends(self) -> bool:
        """Whether the last step was the last one of its phase."""
        return self.total == self._schedule.ends[len(self._loss)]

    @property
    def phase_is_empty(self) -> bool:
        """Whether the present phase has no step: all units that are left have the same attention."""
        return self._schedule.length(len(self._loss)) == 0

    def add(self, loss: float) -> None:
        """A step, and its loss."""
        self.total += 1
        self._losses = [self._losses[0] + loss, self._losses[1] + 1]
        if self.total == self._schedule.warm_up:
            self._warm_up_loss = self._mean_loss()

    def vanished(self, attention: FloatArray) -> bool:
        """Whether no unit that is left has attention; each of m began with 1/m."""
        left = np.delete(attention, self.order)
        return not self._mask.form.normalized and bool(left.max() <= _VANISHED / len(left))

    def pick(self, attention: FloatArray, lam: float, order: IndexArray | None = None) -> list[int]:
        """The units of largest attention, as many as the phase picks; of equal ones the lowest number, or
        the first in `order`, a permutation."""
        size = self._schedule.sizes[len(self._loss)]
        left = attention.copy()
        left[self.order] = -1
        if order is None:
            order = np.arange(len(left))
        ranked = order[np.argsort(-left[order], kind="stable")]
        picks: list[int] = ranked[:size].tolist()
        runners = np.append(left[ranked[1 : size + 1]], 0.0)[:size].clip(min=0)
        best = left[picks]
        self._margin += ((best - runners) / np.where(best > 0, best, 1)).tolist()
        self.order += picks
        self._loss.append(self._mean_loss())
        self._penalty.append(lam)
        self._phase += [len(self._loss)] * size
        self._attention.append(attention)
        return picks

    def path(self, status: Status | None) -> AttentionPath:
        """The path so far; without a status COMPLETED, or STREAM_ENDED while units are missing."""
        if len(self.order) == self._k:
            status = Status.COMPLETED
        mask, phases = self._mask, len(self._loss)
        groups = None if mask.groups is None else mask.groups.cpu().numpy()
        return AttentionPath(
            order=np.array(self.order, np.intp),
            phase=np.array(self._phase, np.intp),
            attention=np.array(self._attention).reshape(phases, len(mask.logits)),
            margin=np.array(self._margin),
            loss=np.array(self._loss),
            steps=np.array([self._schedule.length(phase) for phase in range(phases)], np.intp),
            penalty=np.array(self._penalty),
            warm_up_steps=min(self.total, self._schedule.warm_up),
            total_steps=self.total,
            warm_up_loss=float(self._warm_up_loss),
            parametrization=mask.parametrization,
            groups=check_groups(groups, mask.n_features),
            status=status or Status.STREAM_ENDED,
            names=self._names,
        )

    def _mean_loss(self) -> float:
        """Since the last call."""
        total, steps = self._losses
        self._losses = [0.0, 0]
        return total / max(steps, 1)
