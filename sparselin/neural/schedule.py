"""When Sequential Attention picks, and how many units; and what it has done so far: steps, losses, picks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.neural.masks import FeatureMask, check_groups
from sparselin.results import AttentionPath, FloatArray, IndexArray, Names, Status
from sparselin.validation import check_count, check_real

PerStep = int | str
# Below this share of its start, 8·eps of float32, the attention of a form that is not normalised has tended
# to zero. Larger, units that still count end a run; smaller, rounding of float32 keeps it going.
_VANISHED = 1e-6


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A warm-up, then phases; at the end of each some units are picked.

    Attributes
    ----------
    warm_up : its steps of the optimiser.
    ends : the number of steps after which each phase ends, from the start of the warm-up.
    sizes : units picked at the end of each phase; at random where the phase has no step.

    >>> divided(7, "double", 100, 0.1)
    Schedule(warm_up=10, ends=(40, 70, 100), sizes=(1, 2, 4))
    """

    warm_up: int
    ends: tuple[int, ...]
    sizes: tuple[int, ...]

    def length(self, phase: int) -> int:
        """The steps of phase 0, 1, …"""
        return self.ends[phase] - (self.ends[phase - 1] if phase else self.warm_up)


def sizes_of(k: int, features_per_step: PerStep) -> tuple[int, ...]:
    """How many units each phase picks, k in all: m, m, …, or 1, 2, 4, …; the last phase what is left."""
    if isinstance(features_per_step, str):
        if features_per_step != "double":
            raise ValueError(f'features_per_step must be an integer or "double"; got {features_per_step!r}')
        sizes = [2**i for i in range(math.ceil(math.log2(k + 1)))]
    else:
        m = check_count(features_per_step, "features_per_step", 1)
        sizes = [m] * math.ceil(k / m)
    return (*sizes[:-1], k - sum(sizes[:-1])) if sizes else ()


def divided(
    k: int,
    features_per_step: PerStep,
    steps: int,
    warm_up: float,
    *,
    first_at_random: bool = False,
    last_wasted: bool = False,
    counts_features: bool = False,
) -> Schedule:
    """`steps` in all: after the warm-up, phases of the same length, but for rounding.

    The switches are what the released code of *Sequential Attention* does. Of p phases p − 1 are trained with
    the first of them alone, p + 1 with the second, p with both.

    warm_up : its steps if an integer, else its share of `steps`, below 1.
    first_at_random : the first phase has no step: its units are drawn when the warm-up ends.
    last_wasted : a phase follows after the last pick. `steps` counts it; the schedule ends before it.
    counts_features : phase i = 0, 1, … picks only if i is at least the number of *units* picked before it,
        so that with m at a time the phases 0, m, 2m, … do, and about k/m units are picked instead of k.

    Raises ValueError where a phase would have no step but for `first_at_random`.

    >>> divided(6, 2, 40, 0.1, first_at_random=True, last_wasted=True)
    Schedule(warm_up=4, ends=(4, 16, 28), sizes=(2, 2, 2))
    >>> divided(6, 2, 40, 0.1, first_at_random=True, last_wasted=True, counts_features=True)
    Schedule(warm_up=4, ends=(4, 28), sizes=(2, 2))
    """
    sizes = sizes_of(k, features_per_step)
    first, share = _warm_up(warm_up)
    first += math.floor(share * steps)
    rest, p = steps - first, len(sizes)
    trained = p - first_at_random + last_wasted
    if rest < trained:
        raise ValueError(
            f"{trained} phases need a step each; got {steps} steps, {first} of them for the warm-up. Take "
            "more epochs, smaller batches, or more features_per_step"
        )
    picking = [sum(sizes[:t]) for t in range(p)] if counts_features else range(p)
    picking = [phase for phase in picking if phase < p]
    ends = (first + (phase + 1 - first_at_random) * rest // max(trained, 1) for phase in picking)
    return Schedule(first, tuple(ends), sizes[: len(picking)])


def repeated(k: int, features_per_step: PerStep, steps_per_phase: int, warm_up: float) -> Schedule:
    """Phases of `steps_per_phase`; `warm_up` as for `divided`, a share being one of all steps.

    >>> repeated(3, 1, 10, 0.25)
    Schedule(warm_up=10, ends=(20, 30, 40), sizes=(1, 1, 1))
    """
    sizes = sizes_of(k, features_per_step)
    length = check_count(steps_per_phase, "steps_per_phase", 1)
    first, share = _warm_up(warm_up)
    first += round(length * len(sizes) * share / (1 - share))
    return Schedule(first, tuple(first + length * (t + 1) for t in range(len(sizes))), sizes)


@dataclasses.dataclass(frozen=True)
class PlannedSchedule:
    """The schedule for a number of steps, of k units: `repeated` with `steps_per_phase`, `schedule(steps)` if
    that is given, else `divided`."""

    k: int
    features_per_step: PerStep
    warm_up: float
    steps_per_phase: int | None
    schedule: Callable[[int], Schedule] | None

    def __call__(self, steps: int | None, name: str) -> Schedule:
        """For `steps` in all, an argument `name`; ValueError where it is needed, and None or below 1."""
        if self.steps_per_phase is not None:
            return repeated(self.k, self.features_per_step, self.steps_per_phase, self.warm_up)
        if steps is None:
            raise ValueError(f"batches without a length need steps_per_phase, or {name} of a known number")
        check_count(steps, name, 1)
        if self.schedule is None:
            return divided(self.k, self.features_per_step, steps, self.warm_up)
        found = self.schedule(steps)
        if not isinstance(found, Schedule):
            raise TypeError(f"schedule must be a function that makes a Schedule; it made {found!r}")
        if sum(found.sizes) != self.k:
            raise ValueError(
                f"schedule must pick {self.k} units, k less the forced ones; got {sum(found.sizes)}: {found}"
            )
        return found


def _warm_up(value: Any) -> tuple[int, float]:
    """Steps, and a share of all: one of them is zero."""
    if isinstance(value, (int, np.integer)):
        return check_count(value, "warm_up", 0), 0.0  # type: ignore[arg-type]
    share = check_real(value, "warm_up")
    if not 0 <= share < 1:
        raise ValueError(f"warm_up must be a share of the steps in [0, 1), or their number; got {value!r}")
    return 0, share


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
