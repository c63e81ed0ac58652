"""When Sequential Attention picks, and how many units: the only place that knows."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from sparselin.validation import check_count, check_real

PerStep = int | str


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A warm-up, then phases; at the end of each some units are picked.

    Attributes
    ----------
    warm_up : its steps of the optimiser.
    ends : the number of steps after which each phase ends, from the start of the warm-up.
    sizes : units picked at the end of each phase.

    >>> divided(7, "double", 100, 0.1)
    Schedule(warm_up=10, ends=(40, 70, 100), sizes=(1, 2, 4))
    """

    warm_up: int
    ends: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Those of the warm-up and of all phases."""
        return self.ends[-1] if self.ends else self.warm_up

    def length(self, phase: int) -> int:
        """The steps of phase 0, 1, …"""
        return self.ends[phase] - (self.ends[phase - 1] if phase else self.warm_up)


def sizes_of(k: int, features_per_step: PerStep) -> tuple[int, ...]:
    """How many units each phase picks, k in all: m, m, …, or 1, 2, 4, …; the last phase what is left."""
    if features_per_step == "double":
        sizes = [2**i for i in range(math.ceil(math.log2(k + 1)))]
    elif isinstance(features_per_step, str):
        raise ValueError(f'features_per_step must be an integer or "double"; got {features_per_step!r}')
    else:
        m = check_count(features_per_step, "features_per_step", 1)
        sizes = [m] * math.ceil(k / m)
    return (*sizes[:-1], k - sum(sizes[:-1])) if sizes else ()


def divided(k: int, features_per_step: PerStep, steps: int, warm_up: float) -> Schedule:
    """`steps` in all: after the warm-up, phases of the same length, but for rounding.

    warm_up : its steps if an integer, else its share of `steps`, below 1.

    Raises ValueError where a phase would have no step.
    """
    sizes = sizes_of(k, features_per_step)
    first, share = _warm_up(warm_up)
    first += math.floor(share * steps)
    rest, p = steps - first, len(sizes)
    if rest < p:
        raise ValueError(
            f"{p} phases need a step each; got {steps} steps, {first} of them for the warm-up. Take more "
            "epochs, smaller batches, or more features_per_step"
        )
    return Schedule(first, tuple(first + (t + 1) * rest // p for t in range(p)), sizes)


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


def _warm_up(value: Any) -> tuple[int, float]:
    """Steps, and a share of all: one of them is zero."""
    if isinstance(value, (int, np.integer)):
        return check_count(int(value), "warm_up", 0), 0.0
    share = check_real(value, "warm_up")
    if not 0 <= share < 1:
        raise ValueError(f"warm_up must be a share of the steps in [0, 1), or their number; got {value!r}")
    return 0, share
