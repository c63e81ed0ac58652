"""A pick at a time: by the rule alone, or by a screen in 16 bits that leaves few columns to compare.

The textbook's pass over X for every pick is made over a copy of X in 16-bit integers, a quarter of its size:
X_j = unit_j·q_j + e_j, q_j integers, |e_ij| ≤ unit_j/2, unit_j = max_i|X_ij|/32767. With x = r/‖r‖ rounded to
float32, and γ = mu/(1 − mu), u = 2⁻²⁴, for the m roundings that a product goes through at most, in x and on
its way into the sum,

    |c_j/‖r‖ − unit_j⟨q_j, x⟩| ≤ blur_j = off_j + γ·(‖X_j‖ + off_j),    off_j = unit_j·√n/2:

so that all but a few columns can be neither the argmax nor second to it, and these few are compared in
float64. What is left open there, ties and whatever else, is the rule's to decide.
"""

from __future__ import annotations

import math
import time

import numpy as np

from sparselin._kernels import screen as kernels
from sparselin.greedy._selection import Followed, Pick, Selection
from sparselin.linalg.products import correlate_rows
from sparselin.parallel.threads import spread
from sparselin.problem import Problem
from sparselin.results import FloatArray

FEWEST = 5  # picks that repay the copy
SMALL = 10**6  # numbers in X up to which single picks are as fast as blocks, and need no guesses
_LONGEST = 2**24  # columns of which sums in single precision are of use
_NEAR = 64  # columns that are compared, at the most
_WORTH_SHARING = 5e-4  # seconds of a pass that repay the waking of a thread
_RUN = 64  # picks between two looks at what else is to be done
_U = float(np.finfo(np.float32).eps) / 2


class ByRule:
    """No pick is clear: the rule makes each. For sparse designs, and for rules that no scheme foresees."""

    pays = True

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def clear_pick(self) -> Pick | None:
        return None

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        return self.selection.append(pick)

    def products(self, t: int) -> FloatArray:
        return self.selection.problem.correlate(self.selection.qr.Qt[t:].T).T


class Screened(ByRule):
    """The screen on a dense problem in float64: most picks are clear."""

    def __init__(self, selection: Selection, k: int, count: int, clear_sets: bool) -> None:
        super().__init__(selection)
        self._k, self._count, self._clear_sets = k, count, clear_sets
        self._screen = Screen(selection.problem, count)
        self._next = self._search(selection.residual, selection.out)

    def clear_pick(self) -> Pick | None:
        return self._next

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        selection, qr, r = self.selection, self.selection.qr, self.selection.residual
        followed, norm, out = Followed([], [], []), selection.residual_norm, list(selection.out)
        for _ in range(min(limit, _RUN)):
            added = qr.append(pick.feature)
            if followed.picks and not added:  # it is refused again, and barred, when its turn comes
                break
            out.append(pick.feature)
            if added:
                share = float(qr.Qt[-1] @ r)
                r = r - share * qr.Qt[-1]
                norm = math.sqrt(float(r @ r))
                followed.picks.append(pick)
                followed.shares.append(share)
                followed.norms.append(norm)
            done = len(selection.picks) + len(followed.picks) == self._k or norm <= floor
            self._next = None if done else self._search(r, out)
            if self._next is None or not added:
                break
            pick = self._next
        return followed

    def products(self, t: int) -> FloatArray:
        rows = self.selection.qr.Qt[t:]
        W = np.empty((len(rows), self.selection.problem.d))
        correlate_rows(self.selection.problem, rows, W, self._count)
        return W

    def _search(self, r: FloatArray, out: list[int]) -> Pick | None:
        """The next pick, or None where it is not clear."""
        problem, length = self.selection.problem, math.sqrt(r @ r)
        if length == 0:
            return None
        slack = problem.rounding(self.selection.qr.kappa) * problem.y_norm / length
        z = self._screen.scores(r / length)
        best, top, margin = kernels.clear_pick(self._screen.data, z, r, slack, np.array(out, np.intp))
        return Pick.clear(best, top, margin, self._clear_sets) if best >= 0 else None


def can_screen(problem: Problem) -> bool:
    return bool(problem.dtype == np.float64) and problem.n <= _LONGEST


class Screen:
    """X in 16 bits; `copy` is (n, d) or (d, n), as X is in C or Fortran order."""

    def __init__(self, problem: Problem, count: int) -> None:
        X, n, norms, unit = problem.X, problem.n, problem.column_norms, np.empty(problem.d)
        by_rows = X.flags.c_contiguous
        data, copy = (X, kernels.copy_by_rows) if by_rows else (X.T, kernels.copy_by_columns)
        self.copy = np.empty(data.shape, np.int16)
        spread(lambda a, b: copy(data, self.copy, unit, a, b), problem.d, count)
        self._count, self._threads, self._alone, self._late = count, 1, 0.0, 0
        self._products = kernels.products_by_rows if by_rows else kernels.products_by_columns
        # Roundings of a term: in x (1), in its product (1); by rows in pairs (3), in the chain of sums of
        # eight (n/8), with the rows that remain (7); by columns in a chunk, in any order, and at the end (1)
        error = ((n // 8 if by_rows else min(n, kernels.CHUNK)) + 12) * _U
        off = unit * math.sqrt(n) / 2
        # 0.001·off ≥ 1.5e-8·‖X_j‖ is more than what float64 rounds in unit, q, ‖X_j‖ and ‖r‖, for n ≤ 2²⁴
        blur = 1.001 * (off + error / (1 - error) * (norms + off))
        self.data = kernels.Known(X, unit, norms, blur, np.empty(_NEAR, np.intp))

    def scores(self, x: FloatArray) -> FloatArray:
        """⟨q_j, x⟩ (d,) in single precision.

        The first pass is made alone, and timed; then threads share, until for the second time (the first may
        be their waking) a pass takes them longer: somebody else has their cores. No bit depends on that.
        """
        z, x = np.empty(len(self.data.unit), np.float32), x.astype(np.float32)
        started = time.perf_counter()
        spread(lambda a, b: self._products(self.copy, x, z, a, b), len(z), self._threads)
        elapsed = time.perf_counter() - started
        if self._alone == 0:
            self._alone = elapsed
            self._threads = self._count if elapsed > _WORTH_SHARING else 1
        elif elapsed > self._alone:
            self._late += 1
            self._threads = 1 if self._late > 1 else self._threads
        return z
