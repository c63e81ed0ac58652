"""Taking turns: how seconds are measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

_Name = TypeVar("_Name", bound=Hashable)


def interleaved(
    calls: Mapping[_Name, Callable[[], Any]],
    *,
    runs: int,
    least_runs: int,
    pause: float,
    budget: float,
) -> dict[_Name, list[float]]:
    """Seconds of each call in each round, all of them having been called before.

    They take turns, each round beginning with the next of them, so that a machine that slows down slows
    all alike, and nobody always follows the same neighbour. Thread pools spin for a while after their work:
    `pause` seconds before each call let those of the others fall asleep.

    Everybody takes part in `runs` rounds, or in as many as fit in `budget` seconds, but in `least_runs`.
    """
    names = list(calls)
    seconds: dict[_Name, list[float]] = {name: [] for name in names}
    due = dict.fromkeys(names, runs)
    for turn in range(runs):
        first = turn % max(1, len(names))
        for name in names[first:] + names[:first]:
            if turn < due[name]:
                time.sleep(pause)
                seconds[name].append(timed(calls[name]))
                if turn == 0:
                    due[name] = max(least_runs, min(runs, int(budget / max(seconds[name][0], 1e-9))))
    return seconds


def timed(call: Callable[[], Any]) -> float:
    """Seconds of one call; its result is freed off the clock."""
    started = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - started
    del result
    return elapsed
