"""One pick at a time: by the rule alone, or by screening in 16 bits.

For each pick a copy of X in 16-bit integers is read, a quarter of the size of X:
X_j = unit_j·q_j + e_j, q_j integers, |e_ij| ≤ unit_j/2, unit_j = max_i|X_ij|/32767. Let x be r/‖r‖ rounded to
float32, and let each term of ⟨q_j, x⟩ pass through at most m roundings, that of x included. With u = 2⁻²⁴,
γ = mu/(1 − mu),

    |c_j/‖r‖ − unit_j⟨q_j, x⟩| ≤ error_j = off_j + γ·(‖X_j‖ + off_j),    off_j = unit_j·√n/2.

By this bound all but a few columns are neither the argmax nor the runner-up; the few are compared in
float64. Where that does not decide either, as in a tie, the rule does.
"""

from __future__ import annotations

import math
import time

import numpy as np

from sparselin._kernels import screen as kernels
from sparselin.greedy._selection import Followed, Selection
from sparselin.greedy._walk import Pick
from sparselin.linalg.gathered import correlate_rows
from sparselin.parallel.threads import spread
from sparselin.problem import Problem
from sparselin.problem.errors import eps_of
from sparselin.results import FloatArray

# The rows omp/*, ols/* and */small of `make bench` measure these; picks do not depend on them.
FEWEST = 5  # picks from which the copy costs less than it saves
SMALL = 10**6  # entries of X up to which single picks are as fast as blocks
# The largest n: there the bound on a sum by rows is (n/8)·2⁻²⁴ = 1/8 of ‖X_j‖, and few picks are certain.
# `Screen` uses n ≤ 2²⁴ in its bound.
_LONGEST = 2**24
_MAX_CANDIDATES = 64  # columns compared in float64, at most
_MIN_PARALLEL = 5e-4  # seconds of a pass from which threads make it faster
_RUN = 64  # picks made in one call, at most
_U = eps_of(np.float32) / 2


class ByRule:
    """No pick is certain: the rule makes each. For sparse designs, and for rules without a scheme."""

    efficient = True

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def certain_pick(self) -> Pick | None:
        return None

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        return self.selection.append(pick)

    def products(self, t: int) -> FloatArray:
        return self.selection.problem.correlate(self.selection.qr.Qt[t:].T).T


class Screened(ByRule):
    """Screening on a dense problem in float64: most picks are certain."""

    def __init__(self, selection: Selection, k: int, count: int, with_active: bool) -> None:
        super().__init__(selection)
        self._k, self._count, self._with_active = k, count, with_active
        self._screen = Screen(selection.problem, count)
        self._next = self._search(selection.residual, selection.excluded)

    def certain_pick(self) -> Pick | None:
        return self._next

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        selection, qr, r = self.selection, self.selection.qr, self.selection.residual
        followed, norm, out = Followed([], [], []), selection.residual_norm, list(selection.excluded)
        for _ in range(min(limit, _RUN)):
            added = qr.append(pick.feature)
            if followed.picks and not added:  # the next call tries it first, and `pursue` excludes it then
                break
            out.append(pick.feature)
            if added:
                q = qr.Qt[-1]
                projection = float(q @ r)
                r = r - projection * q
                norm = math.sqrt(float(r @ r))
                followed.picks.append(pick)
                followed.projections.append(projection)
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
        """The next pick, or None where it is not certain."""
        problem, length = self.selection.problem, math.sqrt(r @ r)
        if length == 0:
            return None
        slack = problem.rounding(self.selection.qr.kappa) * problem.y_norm / length
        z = self._screen.scores(r / length)
        out = [j for j in out if j < problem.n_features]
        best, top, margin = kernels.certain_pick(self._screen.data, z, r, slack, np.array(out, np.intp))
        return Pick.certain(best, top, margin, self._with_active) if best >= 0 else None


def can_screen(problem: Problem) -> bool:
    return bool(problem.dtype == np.float64) and problem.n <= _LONGEST


class Screen:
    """X in 16 bits; `copy` is (n, d) or (d, n), as X is in C or Fortran order. No column of ones is in it."""

    def __init__(self, problem: Problem, count: int) -> None:
        X, n, d, scale = problem.X, problem.n, problem.n_features, problem.design.scale
        norms, unit = problem.column_norms[:d], np.empty(d)
        by_rows = X.flags.c_contiguous
        data, copy = (X, kernels.copy_by_rows) if by_rows else (X.T, kernels.copy_by_columns)
        self.copy = np.empty(data.shape, np.int16)
        spread(lambda a, b: copy(data, self.copy, unit, a, b), d, count)
        scale = np.ones(d) if scale is None else scale
        unit *= scale
        self._count, self._threads, self._alone, self._late = count, 1, 0.0, 0
        self._products = kernels.products_by_rows if by_rows else kernels.products_by_columns
        # Roundings of a term: of x (1) and of its product (1); by rows, in the pairwise sum of eight (3), in
        # the sum of these sums (n/8), and with the rows that remain (7); by columns, in the sum of a chunk,
        # in any order, and in the sum of the chunks (1)
        mu = ((n // 8 if by_rows else min(n, kernels.CHUNK)) + 12) * _U
        off = unit * math.sqrt(n) / 2
        # 0.001·off ≥ 1.5e-8·‖X_j‖ exceeds float64's rounding errors in unit, q, ‖X_j‖ and ‖r‖, n ≤ 2²⁴
        error = 1.001 * (off + mu / (1 - mu) * (norms + off))
        self.data = kernels.ScreenedDesign(X, scale, unit, norms, error, np.empty(_MAX_CANDIDATES, np.intp))

    def scores(self, x: FloatArray) -> FloatArray:
        """⟨q_j, x⟩ (d,) in single precision.

        The first pass is timed on one thread. The next ones use all threads, until two of them took longer
        than that (the first may be due to starting the threads): then the cores are busy with other work.
        The number of threads changes no bit of z.
        """
        z, x = np.empty(len(self.data.unit), np.float32), x.astype(np.float32)
        started = time.perf_counter()
        spread(lambda a, b: self._products(self.copy, x, z, a, b), len(z), self._threads)
        elapsed = time.perf_counter() - started
        if self._alone == 0:
            self._alone = elapsed
            self._threads = self._count if elapsed > _MIN_PARALLEL else 1
        elif elapsed > self._alone:
            self._late += 1
            self._threads = 1 if self._late > 1 else self._threads
        return z
