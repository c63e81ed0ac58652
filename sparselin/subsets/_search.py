"""Run a search for the best subset: its limits, its callback, its progress line, and its result.

There are three searches: depth first, best first, and the comparison of all sets. Each of them keeps its
best set, a lower bound for all sets, and the nodes that are still to be examined. So it can stop after each
node and go on later. `AnySearch` says what the searches have in common; `run` is the loop that they share.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from sparselin._kernels.notice import caller
from sparselin.greedy.ols import by_quotients
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.subsets.certificate import SubsetCertificate
from sparselin.validation import check_count, check_level
from sparselin.validation.progress import ProgressLog

# Seconds of search between two looks at the clock and two calls of the callback, and between two lines on the
# terminal, the first of which comes later.
_INTERVAL = 0.05
_LINE = 0.5
_FIRST = 2.0


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


class SearchResult(NamedTuple):
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


class RivalSets(NamedTuple):
    """The sets that a completed search has found to be as good as the best one, or better, to rounding.

    sets : their features; the best set itself may be among them.
    is_complete : whether all other sets are proved to be worse than the best one.
    """

    sets: list[IndexArray]
    is_complete: bool


class AnySearch(Protocol):
    """A search for the best subset that can stop and go on.

    problem : the centred problem in float64.
    k, forced : the largest number of features or groups of a set, and those that every set contains.
    step : the number of nodes before the first look at the clock.
    """

    problem: Problem
    k: int
    forced: IndexArray
    step: int

    @property
    def nodes(self) -> int:
        """The number of examined nodes."""

    @property
    def support(self) -> IndexArray:
        """The best set so far."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The value ‖y − Xβ‖² + ridge·‖β‖² of the best set so far, and a lower bound on it for all sets."""

    def advance(self, stop: float) -> bool:
        """Examine nodes until their number is `stop`, or fewer; return True if none was left.

        If the number is `stop` already, no node is examined.
        """

    def result(self, status: Status) -> SearchResult:
        """Return the best set so far, with its coefficients, and the final status."""

    def rivals(self) -> RivalSets:
        """Return the sets that may be as good as the best one, after a completed search."""

    def certificate(self) -> SubsetCertificate | str:
        """Return a certificate of the lower bound, or the reason why there is none."""


def run(search: AnySearch, watch: Watch, is_full: Callable[[], bool] = lambda: False) -> Status:
    """Search until no node is left, or until a limit, the callback or Ctrl-C stops the search.

    Whatever stops the search, it keeps its best set and can run again.

    is_full : a further condition that stops the search.
    """
    step = search.step
    stop = search.nodes + watch.nodes
    try:
        while True:
            began = time.monotonic()
            if search.advance(min(stop, search.nodes + step)):
                return Status.COMPLETED
            if search.nodes >= stop or watch.is_late():
                return Status.COMPLETED if search.advance(search.nodes) else Status.MAX_ITER
            step = 2 * step if time.monotonic() - began < _INTERVAL / 2 else max(1, step // 2)
            if is_full() or watch.stops(search.nodes, search.support, *search.bounds):
                return Status.STOPPED
    except KeyboardInterrupt:
        search.advance(0)  # compares a set that may still be waiting
        return Status.STOPPED


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
        self.began = time.monotonic()
        self.looked = -math.inf
        self.line = self.began + _FIRST
        self.shown = sys.stderr is not None and sys.stderr.isatty()
        self.progress = ProgressLog(caller, "nodes")

    def within(self, nodes: int) -> Watch:
        """Return these limits for another search of at most this number of nodes, without a callback."""
        other = copy.copy(self)
        other.nodes = min(self.nodes, nodes)
        other.callback = None
        return other

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
        gap = 1 - lower / value if value > 0 else 0.0
        self.progress.report(nodes, f"gap {gap:.2%}")
        if self.shown and now > self.line:
            self.line = now + _LINE
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
