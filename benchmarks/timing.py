"""Timing of calls in interleaved rounds."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

_Name = TypeVar("_Name", bound=Hashable)


def interleave(
    calls: Mapping[_Name, Callable[[], Any]], *, runs: int, least_runs: int, pause: float, budget: float
) -> dict[_Name, list[float]]:
    """Time calls in rounds, and return the seconds of each call in each round.

    All calls must have been made once before. Each round begins with the next call. So a machine that becomes
    slower affects all calls equally, and no call always follows the same one. Thread pools busy-wait for a
    while after their work. If `pause` is long enough, the pools of the other calls sleep when a call begins.

    Each call is made in `runs` rounds, or in as many as fit in `budget` seconds, but at least in
    `least_runs`.
    """
    names = list(calls)
    seconds: dict[_Name, list[float]] = {name: [] for name in names}
    due = dict.fromkeys(names, runs)
    for round_ in range(runs):
        first = round_ % max(1, len(names))
        for name in names[first:] + names[:first]:
            if round_ < due[name]:
                time.sleep(pause)
                seconds[name].append(time_call(calls[name]))
                if round_ == 0:
                    due[name] = max(least_runs, min(runs, int(budget / max(seconds[name][0], 1e-9))))
    return seconds


def time_call(call: Callable[[], Any]) -> float:
    """Return the seconds of one call, not counting the time to free its result."""
    started = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - started
    del result
    return elapsed
