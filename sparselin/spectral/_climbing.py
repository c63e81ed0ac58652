"""Local search on a set function f alone: additions, deletions and exchanges that increase it enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparselin.results import FloatArray, IndexArray
from sparselin.spectral._gram import Gram
from sparselin.spectral.objective import accepted_moves, lowest_of_largest, vague_error
from sparselin.spectral.regularizers import Growth, SetFunction, grow

Watch = Callable[[list[int]], bool]


class Climb:
    """The state of a local search on f_F(S) = f(F ∪ S), S ⊆ U, F fixed; it starts at the best single feature.

    A move to S' is accepted when f(S') > (1 + ε/n²)·f(S), n = |U|, beyond the error of f: no set comes twice.
    An addition, unless `strict`, is accepted when f(S') ≥ (1 + ε/n²)·f(S) to that error.

    Attributes
    ----------
    growth : f at F and S, F first.
    moves : accepted so far.
    """

    def __init__(
        self, gram: Gram, f: SetFunction, U: IndexArray, eps: float, strict: bool, fixed: Sequence[int] = ()
    ) -> None:
        self.gram, self.f, self.U, self.strict, self.fixed = gram, f, U, strict, len(fixed)
        self.rate = eps / max(1, len(U)) ** 2
        self.growth = grow(gram, f, fixed)
        self.moves = 0
        if len(U):
            gains, error = self.growth.gains(U)
            self.growth.add(lowest_of_largest(U, gains, error, vague_error(self.growth)))
            if self.growth.value < -float(error.max()):
                raise ValueError(
                    f"local search needs f ≥ 0, so that (1 + ε/n²)·f(S) ≥ f(S); got f(S) = "
                    f"{self.growth.value:g} at its best single feature. Give the regularizer its "
                    "normalising constant (k=...)"
                )

    @property
    def free(self) -> list[int]:
        """S without F."""
        return self.growth.index[self.fixed :]

    def run(self, deletions: bool, exchange: bool, watch: Watch | None = None) -> bool:
        """Move until no move is accepted, or `watch` returns True; returns whether the former."""
        while self.add() or (deletions and self.delete()) or (exchange and self.exchange()):
            self.moves += 1
            if watch is not None and watch(self.growth.index):
                return False
        return True

    def _best(
        self, J: IndexArray, gains: FloatArray, error: FloatArray, or_equal: bool = False
    ) -> int | None:
        """Return the position in J of the largest gain, or None if no gain is accepted."""
        vague = 2 * vague_error(self.growth)
        accepted = accepted_moves(gains, error, vague, self.rate * self.growth.value, or_equal)
        if not len(accepted):
            return None
        j = lowest_of_largest(J[accepted], gains[accepted], error[accepted], vague)
        return int(np.flatnonzero(j == J)[0])

    def add(self) -> bool:
        """Make the addition that increases f most, if accepted; returns whether."""
        J = np.setdiff1d(self.U, self.growth.index)
        at = self._best(J, *self.growth.gains(J), or_equal=not self.strict) if len(J) else None
        if at is None:
            return False
        self.growth.add(int(J[at]))
        return True

    def delete(self) -> bool:
        """Make the deletion that increases f most, if accepted; none increases a monotone f."""
        if not self.free or getattr(self.f, "monotone", False):
            return False
        losses, error = (v[self.fixed :] for v in self.growth.losses())
        at = self._best(np.array(self.free, np.intp), -losses, error)
        if at is None:
            return False
        self.growth = self._without(self.free[at])
        return True

    def exchange(self) -> bool:
        """Make the exchange of one feature for another that increases f most, if accepted."""
        J = np.setdiff1d(self.U, self.growth.index)
        if not len(J):
            return False
        value, best, chosen = self.growth.value, -np.inf, None
        lost = dict(zip(self.growth.index, self.growth.losses()[1], strict=True))
        for i in sorted(self.free):
            less = self._without(i)
            gains, error = less.gains(J)
            increase = less.value + gains - value
            error = 2 * error + lost[i]
            at = self._best(J, increase, error)
            if at is not None and increase[at] - error[at] > best:
                best, chosen = float(increase[at]), (less, int(J[at]))
        if chosen is None:
            return False
        self.growth, j = chosen
        self.growth.add(j)
        return True

    def _without(self, j: int) -> Growth:
        return grow(self.gram, self.f, [i for i in self.growth.index if i != j])
