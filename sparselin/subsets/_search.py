"""Limits, the callback and the progress line of a search for the best subset, its result and its order."""

import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparselin.greedy.ols import by_quotients
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.validation import check_count, check_level

# Seconds between two calls of the callback, and between two lines on the terminal; the first comes later.
_INTERVAL, _LINE, _FIRST = 0.05, 0.5, 2.0


class SearchState(NamedTuple):
    """The state of a search, which `best_subset` passes to its callback.

    nodes : the number of nodes visited.
    support, residual : the best subset so far, and its value ‖y − Xβ‖² + ridge·‖β‖².
    lower_bound : a lower bound on this value for every subset of at most k features.
    seconds : the time since the search began.
    """

    nodes: int
    support: IndexArray
    residual: float
    lower_bound: float
    seconds: float


class Found(NamedTuple):
    """The best subset of a search, in the units of the centred problem.

    squares : (t + 1,) ‖y − Xβ‖² after 0, 1, …, t features.
    value, lower : ‖y − Xβ‖² + ridge·‖β‖², and a lower bound on it for all subsets.
    """

    support: IndexArray
    coef: FloatArray
    squares: FloatArray
    value: float
    lower: float
    status: Status
    optimal: bool
    nodes: int
    moves: int
    candidates: tuple[tuple[str, float], ...]


class Watch:
    """The limits of a search, its callback, and a progress line on the terminal during a long search.

    Attributes
    ----------
    nodes, seconds : the limits, or inf.
    """

    def __init__(
        self, time_limit: float | None, node_limit: int | None, callback: Any = None, searches: int = 1
    ) -> None:
        """Check the limits. Each of the `searches` has an equal share of the time."""
        self.seconds = math.inf if time_limit is None else check_level(time_limit, "time_limit") / searches
        self.nodes = math.inf if node_limit is None else check_count(node_limit, "node_limit", 0)
        self.callback: Callable[[SearchState], object] | None = callback
        self.began, self.looked = time.monotonic(), -math.inf
        self.line, self.shown = self.began + _FIRST, sys.stderr is not None and sys.stderr.isatty()

    @property
    def spent(self) -> float:
        """The seconds since the search began."""
        return time.monotonic() - self.began

    def is_late(self) -> bool:
        """Return whether the time is over."""
        return self.spent > self.seconds

    def stops(self, nodes: int, support: IndexArray, value: float, lower: float) -> bool:
        """Call the callback, unless the last call was too recent; return whether it stops the search."""
        now = time.monotonic()
        if self.shown and now > self.line:
            self.line = now + _LINE
            gap = 1 - lower / value if value > 0 else 0.0
            sys.stderr.write(f"\rgap {gap:.2%}, {nodes:,} nodes, {self.spent:.0f} s \033[K")
            sys.stderr.flush()
        if self.callback is None or now - self.looked < _INTERVAL:
            return False
        self.looked = now
        return bool(self.callback(SearchState(nodes, support, value, lower, self.spent)))

    def end(self) -> None:
        """Clear the progress line on the terminal."""
        if self.shown and self.line > self.began + _FIRST:
            sys.stderr.write("\r\033[K")


def order_by_quotients(problem: Problem, support: IndexArray, first: int) -> IndexArray:
    """Order the features of a set after its first ones by orthogonal least squares on this set."""
    if len(support) < first + 2:
        return support
    within = Problem(problem.columns(support), problem.y)
    order = by_quotients(within, len(support), forced=range(first), by_rule=True).support
    return support[np.append(order, np.setdiff1d(np.arange(len(support)), order))]
