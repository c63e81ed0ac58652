"""Times of calls in interleaved rounds."""

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

    Each round begins with the next call, so that a machine that slows down slows all alike, and no call
    always follows the same one. Thread pools busy-wait for a while after their work: after `pause` seconds,
    before each call, those of the others sleep.

    Each call is made in `runs` rounds, or in as many as fit in `budget` seconds, at least in `least_runs`.
    """
    names = list(calls)
    seconds: dict[_Name, list[float]] = {name: [] for name in names}
    due = dict.fromkeys(names, runs)
    for round_ in range(runs):
        first = round_ % max(1, len(names))
        for name in names[first:] + names[:first]:
            if round_ < due[name]:
                time.sleep(pause)
                seconds[name].append(timed(calls[name]))
                if round_ == 0:
                    due[name] = max(least_runs, min(runs, int(budget / max(seconds[name][0], 1e-9))))
    return seconds


def timed(call: Callable[[], Any]) -> float:
    """Seconds of one call, without freeing its result."""
    started = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - started
    del result
    return elapsed
