"""Local search on a set function f alone: additions, deletions and exchanges that raise it enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparselin.results import IndexArray
from sparselin.spectral.gram import Gram
from sparselin.spectral.growth import Growth, SetFunction, grow
from sparselin.spectral.objective import lowest_of_largest

Watch = Callable[[list[int]], bool]


class Climb:
    """Where a local search on f within U stands; it starts at the best single feature.

    A move to S' counts when f(S') > (1 + ε/n²)·f(S), n = |U|, beyond the error of f: no set comes twice. An
    addition, unless `strict`, counts when f(S') ≥ (1 + ε/n²)·f(S) to that error.

    Attributes
    ----------
    growth : f at S.
    moves : accepted so far.
    """

    def __init__(self, gram: Gram, f: SetFunction, U: IndexArray, eps: float, strict: bool) -> None:
        self.gram, self.f, self.U, self.strict = gram, f, U, strict
        self.rate = eps / max(1, len(U)) ** 2
        self.growth = grow(gram, f)
        self.moves = 0
        if len(U):
            gains, error = self.growth.gains(U)
            self.growth.add(lowest_of_largest(U, gains, error))
            if self.growth.value < -float(error.max()):
                raise ValueError(
                    f"local search needs f ≥ 0, for which (1 + ε/n²)·f(S) is a rise; got f(S) = "
                    f"{self.growth.value:g} at its best single feature. Give the regularizer its "
                    "normalising constant (k=...)"
                )

    def run(self, deletions: bool, exchange: bool, watch: Watch | None = None) -> bool:
        """Move until nothing raises f; says whether that was reached, and not `watch` that stopped it."""
        while self.add() or (deletions and self.delete()) or (exchange and self.exchange()):
            self.moves += 1
            if watch is not None and watch(self.growth.index):
                return False
        return True

    def _clear(self, gain: float, error: float) -> bool:
        """Whether f rises by a factor of more than 1 + ε/n²."""
        return gain - error > self.rate * self.growth.value

    def _clear_or_equal(self, gain: float, error: float) -> bool:
        return gain + error >= self.rate * self.growth.value

    def add(self) -> bool:
        """The addition that raises f most, if enough."""
        J = np.setdiff1d(self.U, self.growth.index)
        if not len(J):
            return False
        gains, error = self.growth.gains(J)
        j = lowest_of_largest(J, gains, error)
        at = int(np.searchsorted(J, j))
        gain, doubt = float(gains[at]), float(error[at])
        if not (self._clear(gain, doubt) if self.strict else self._clear_or_equal(gain, doubt)):
            return False
        self.growth.add(j)
        return True

    def delete(self) -> bool:
        """The deletion that raises f most, if enough; none raises a monotone f."""
        if not self.growth.index or getattr(self.f, "monotone", False):
            return False
        losses, error = self.growth.losses()
        index = np.array(self.growth.index, np.intp)
        j = lowest_of_largest(index, -losses, np.full(len(index), error))
        if not self._clear(-float(losses[self.growth.index.index(j)]), error):
            return False
        self.growth = self._without(j)
        return True

    def exchange(self) -> bool:
        """The exchange of one feature for another that raises f most, if enough."""
        J = np.setdiff1d(self.U, self.growth.index)
        if not len(J):
            return False
        value, best, chosen = self.growth.value, -np.inf, None
        for i in sorted(self.growth.index):
            less = self._without(i)
            gains, error = less.gains(J)
            j = lowest_of_largest(J, gains, error)
            at = int(np.searchsorted(J, j))
            rise, doubt = less.value + float(gains[at]) - value, 2 * float(error[at])
            if rise - doubt > best and self._clear(rise, doubt):
                best, chosen = rise, (less, j)
        if chosen is None:
            return False
        self.growth, j = chosen
        self.growth.add(j)
        return True

    def _without(self, j: int) -> Growth:
        return grow(self.gram, self.f, [i for i in self.growth.index if i != j])
