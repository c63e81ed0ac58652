"""The schedule of Sequential Attention, and the record of a run.

The schedule says after which steps how many units are selected.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.neural.masks import FeatureMask, check_groups
from sparselin.neural.results import AttentionPath
from sparselin.results import FloatArray, IndexArray, Names, Status
from sparselin.validation import check_count, check_real

PerStep = int | str
# The attention of a form that is not normalised counts as zero below this share of its start, 8·eps of
# float32. If the share is larger, a run ends although units still count; if it is smaller, rounding errors of
# float32 keep a run going.
_VANISHED = 1e-6


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule: a warm-up, then phases, at the end of which units are selected.

    Attributes
    ----------
    warm_up : the number of steps of the warm-up.
    ends : the number of steps after which each phase ends, counted from the start of the warm-up.
    sizes : the number of units selected at the end of each phase. If a phase has no step, its units are drawn
        at random.

    >>> equal_phases(7, "double", 100, 0.1)
    Schedule(warm_up=10, ends=(40, 70, 100), sizes=(1, 2, 4))
    """

    warm_up: int
    ends: tuple[int, ...]
    sizes: tuple[int, ...]

    def length(self, phase: int) -> int:
        """Return the number of steps of a phase; the first phase is 0."""
        return self.ends[phase] - (self.ends[phase - 1] if phase else self.warm_up)


def sizes_of(k: int, features_per_step: PerStep) -> tuple[int, ...]:
    """Return the number of units that each phase selects: m, m, …, or 1, 2, 4, …, with the sum k.

    The last phase selects the remaining units, if these are fewer.
    """
    if isinstance(features_per_step, str):
        if features_per_step != "double":
            raise ValueError(f'features_per_step must be an integer or "double"; got {features_per_step!r}')
        sizes = [2**i for i in range(math.ceil(math.log2(k + 1)))]
    else:
        m = check_count(features_per_step, "features_per_step", 1)
        sizes = [m] * math.ceil(k / m)
    return (*sizes[:-1], k - sum(sizes[:-1])) if sizes else ()


def equal_phases(k: int, features_per_step: PerStep, steps: int, warm_up: float) -> Schedule:
    """Return a schedule of `steps` steps: a warm-up, then phases of equal length up to rounding.

    warm_up : the number of steps of the warm-up if an integer, otherwise its share of `steps`, below 1.

    Raises ValueError if a phase has no step.

    >>> equal_phases(6, 2, 40, 0.1)
    Schedule(warm_up=4, ends=(16, 28, 40), sizes=(2, 2, 2))
    """
    sizes = sizes_of(k, features_per_step)
    first, share = _warm_up(warm_up)
    first += math.floor(share * steps)
    rest = steps - first
    p = len(sizes)
    if rest < p:
        raise ValueError(
            f"{p} phases need a step each; got {steps} steps, {first} of them for the warm-up. Take "
            "more epochs, smaller batches, or more features_per_step"
        )
    return Schedule(first, tuple(first + (phase + 1) * rest // p for phase in range(p)), sizes)


def fixed_phases(k: int, features_per_step: PerStep, steps_per_phase: int, warm_up: float) -> Schedule:
    """Return a schedule whose phases have `steps_per_phase` steps.

    warm_up : as for `equal_phases`; a share refers to all steps, including the warm-up.

    >>> fixed_phases(3, 1, 10, 0.25)
    Schedule(warm_up=10, ends=(20, 30, 40), sizes=(1, 1, 1))
    """
    sizes = sizes_of(k, features_per_step)
    length = check_count(steps_per_phase, "steps_per_phase", 1)
    first, share = _warm_up(warm_up)
    first += round(length * len(sizes) * share / (1 - share))
    return Schedule(first, tuple(first + length * (t + 1) for t in range(len(sizes))), sizes)


@dataclasses.dataclass(frozen=True)
class PlannedSchedule:
    """A function that makes the schedule for k units from the number of steps.

    The schedule is `fixed_phases` if `steps_per_phase` is given, else `schedule(steps)` if `schedule` is
    given, else `equal_phases`.
    """

    k: int
    features_per_step: PerStep
    warm_up: float
    steps_per_phase: int | None
    schedule: Callable[[int], Schedule] | None

    def __call__(self, steps: int | None, name: str) -> Schedule:
        """Return the `Schedule` of a training: the steps at which its warm-up and each of its phases end.

        steps : the number of all training steps; None if it is unknown.
        name : the name of the caller's argument, for the error message.

        Raises ValueError if the number of steps is needed and is None or below 1.
        """
        if self.steps_per_phase is not None:
            return fixed_phases(self.k, self.features_per_step, self.steps_per_phase, self.warm_up)
        if steps is None:
            raise ValueError("the number of batches is unknown; pass steps_per_phase, or steps to fit_stream")
        check_count(steps, name, 1)
        if self.schedule is None:
            return equal_phases(self.k, self.features_per_step, steps, self.warm_up)
        found = self.schedule(steps)
        if not isinstance(found, Schedule):
            raise TypeError(f"schedule must be a function that makes a Schedule; it made {found!r}")
        if sum(found.sizes) != self.k:
            raise ValueError(
                f"schedule must select {self.k} units, k less the forced; got {sum(found.sizes)}: {found}"
            )
        return found


def _warm_up(value: Any) -> tuple[int, float]:
    """Return the warm-up as (number of steps, share of all steps), after checking it.

    An integer gives the number, any other value gives the share; the other entry is zero.
    """
    if isinstance(value, (int, np.integer)):
        return check_count(value, "warm_up", 0), 0.0  # type: ignore[arg-type]
    words = "a share of the steps in [0, 1) or an integer"
    return 0, check_real(value, "warm_up", lambda share: 0 <= share < 1, words)


class Record:
    """The record of a run: steps, losses and selected units.

    Attributes
    ----------
    order : the selected units, in the order of selection.
    total : the number of steps so far.
    """

    def __init__(self, k: int, forced: IndexArray, mask: FeatureMask, names: Names, plan: Schedule) -> None:
        self._k = k
        self._mask = mask
        self._names = names
        self._schedule = plan
        self.order: list[int] = forced.tolist()
        self.total = 0
        self._margin = [np.nan] * len(forced)
        self._attention: list[FloatArray] = []
        self._loss: list[float] = []
        self._penalty: list[float] = []
        self._warm_up_loss = np.nan
        self._losses = [0.0, 0]

    @property
    def where(self) -> str:
        """The present phase and step, for messages."""
        if self.total < self._schedule.warm_up:
            return f"step {self.total + 1} of the warm-up"
        phase = len(self._loss)
        before = self._schedule.ends[phase - 1] if phase else self._schedule.warm_up
        return f"phase {phase + 1}, step {self.total - before + 1} of it (batch {self.total + 1})"

    @property
    def phase_ends(self) -> bool:
        """True if the last step completed its phase."""
        return self.total == self._schedule.ends[len(self._loss)]

    @property
    def phase_is_empty(self) -> bool:
        """True if the present phase has no step, so that all unselected units have the same weight."""
        return self._schedule.length(len(self._loss)) == 0

    def add(self, loss: float) -> None:
        """Record a step and its loss."""
        self.total += 1
        self._losses = [self._losses[0] + loss, self._losses[1] + 1]
        if self.total == self._schedule.warm_up:
            self._warm_up_loss = self._mean_loss()

    def has_vanished(self, attention: FloatArray) -> bool:
        """Return whether the attention weights of all unselected units have become zero."""
        left = np.delete(attention, self.order)
        return not self._mask.form.normalized and bool(left.max() <= _VANISHED / len(left))

    def pick(self, attention: FloatArray, lam: float, order: IndexArray | None = None) -> list[int]:
        """Select the units of the present phase: the units with the largest attention weights.

        Ties go to the unit with the lowest number, or to the first unit in the permutation `order`.
        """
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
        self._attention.append(attention)
        return picks

    def path(self, status: Status | None) -> AttentionPath:
        """Return the path so far.

        Its status is COMPLETED if all units are selected, else `status`, or STREAM_ENDED for None.
        """
        if len(self.order) == self._k:
            status = Status.COMPLETED
        mask = self._mask
        phases = len(self._loss)
        sizes = self._schedule.sizes[:phases]
        order = np.array(self.order, np.intp)
        phase = np.repeat(np.arange(phases + 1), [len(self.order) - sum(sizes), *sizes])
        attention = np.array(self._attention).reshape(phases, len(mask.logits))
        margin = np.array(self._margin)
        loss = np.array(self._loss)
        penalty = np.array(self._penalty)
        steps = np.array([self._schedule.length(phase) for phase in range(phases)], np.intp)
        warm_up = (min(self.total, self._schedule.warm_up), self.total, float(self._warm_up_loss))
        groups = check_groups(None if mask.groups is None else mask.groups.cpu().numpy(), mask.n_features)
        end = (*warm_up, mask.parametrization, groups, status or Status.STREAM_ENDED, self._names)
        return AttentionPath(order, phase, attention, margin, loss, steps, penalty, *end)

    def _mean_loss(self) -> float:
        """Return the mean loss of the steps since the last call."""
        total, steps = self._losses
        self._losses = [0.0, 0]
        return total / max(steps, 1)
