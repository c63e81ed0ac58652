"""Schemes that make one pick at a time: by the rule of the method alone, or by screening in 16 bits.

For each pick, screening reads a copy of X in 16-bit integers, a quarter of the size of X. For column X_j the
copy holds integers q_j with X_j = unit_j·q_j + e_j and |e_ij| ≤ unit_j/2. In most columns no entry is larger
than 6 root mean squares, so unit_j is min(6/√n, 1)·‖X_j‖/32767, and X is read once. In other columns it is
max_i|X_ij|/32767. Let c = Xᵀr be the correlations with the residual r. The vector r/‖r‖ is rounded to x, a
multiple of integers of 15 bits, so that a product of x with q_j is a sum of products of integers. One
instruction multiplies two pairs of them and adds the products, and four products are summed exactly. Suppose
that each of these sums then undergoes at most m roundings. With u = 2⁻²⁴, γ = mu/(1 − mu) and δ = r/‖r‖ − x,

    |c_j/‖r‖ − unit_j⟨q_j, x⟩| ≤ error_j + 5/4·‖δ‖‖X_j‖,    error_j = off_j + γ·(‖X_j‖ + off_j),

where off_j = unit_j·√n/2. If few entries of r are large, ‖δ‖ is large, and δ is rounded to integers too.
This bound shows that all but a few columns are neither the argmax nor the runner-up. The remaining columns
are compared in float64. If this comparison does not decide the pick, for example in a tie, the rule of the
method decides.
"""

from __future__ import annotations

import functools
import math
import time

import numpy as np

from sparselin._kernels import pairs
from sparselin._kernels import screen as kernels
from sparselin.greedy._method import GreedyMethod
from sparselin.greedy._outcomes import AddedPicks, Dependent, Outcome, Undecided
from sparselin.greedy._runs import MOST_PICKS, Run, levels_of, no_ties, plain_columns, tied_with
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick
from sparselin.linalg.gathered import correlate_rows
from sparselin.parallel.threads import spread
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

# Tuned by omp/*, ols/* and */small of `make bench`; picks do not depend on these numbers.
# The fewest picks for which the copy saves more time than it costs, where blocks are tried first.
FEWEST = 5
# The largest n. For this n the error bound of a sum by rows is (n/8)·2⁻²⁴ = 1/8 of ‖X_j‖, and few picks are
# certain. The bound of `Screen` also needs n ≤ 2²⁴.
LONGEST = 2**24
_MIN_PARALLEL = 5e-4  # the least seconds of a pass for which threads make it faster


class ByRule:
    """The scheme in which the rule of the method makes each pick, and the base of the other schemes.

    It is used for sparse designs, and for rules that have no other scheme. The other schemes find picks that
    are certain: rounding errors allow no other column the largest score.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    @property
    def efficient(self) -> bool:
        """Return whether this scheme has been fast enough so far to be used again."""
        return True

    def extend(self, pick: Pick | None, floor: float, limit: int) -> Outcome:
        """Add `pick` to the factorisation, then further picks while each is certain, at most `limit` in all.

        If `pick` is None, the first pick must be certain too; if it is not, the outcome is `Undecided`.
        Features stop being added once ‖r‖ ≤ floor, where r is the residual. If the first pick is in the span
        of the selected columns, it is excluded, nothing is added, and the outcome is `Dependent`.
        """
        if pick is None:
            return Undecided()
        outcome = self.selection.append(pick)
        if isinstance(outcome, Dependent):
            self.selection.exclude(pick.feature)
        return outcome

    def products(self, t: int) -> FloatArray:
        """Return QᵀX (p, d) for the last p columns of Q, from column t on.

        X_S = QR is the factorisation of the selected columns.
        """
        return self.selection.problem.correlate(self.selection.qr.Qt[t:].T).T


class Screened(ByRule):
    """The scheme that screens columns in 16 bits, for a dense problem in float64.

    Most of its picks are certain, so the rule of the method seldom decides. If `at_once` is set, one call of
    a kernel makes picks while they are certain; otherwise each product with the copy is divided among
    threads. OLS, that is, a method with `lengths`, needs `at_once`. Picks of a `first` run are not searched
    again.
    """

    def __init__(
        self,
        selection: Selection,
        method: GreedyMethod,
        k: int,
        count: int,
        *,
        at_once: bool,
        first: Run | None = None,
    ) -> None:
        super().__init__(selection)
        problem, qr = selection.problem, selection.qr
        self._method = method
        self._k = k
        self._count = count
        self._at_once = at_once
        self._first = first
        self._seen = -1  # see the kernel `extend`
        qr.reserve(min(k, problem.n))
        self._screen = Screen(problem, count)
        out = np.zeros(problem.n_features, bool)
        out[[j for j in selection.excluded if j < len(out)]] = True
        Qt, R, norms, inverse = qr.arrays
        self._chosen = kernels.SelectedColumns(
            Qt=Qt, R=R, norms=norms, inverse=inverse, r=selection.fit.residual.copy(), out=out
        )
        self._squares = None
        if method.lengths is not None:
            squares = problem.column_norms[: len(out)] ** 2
            self._squares = kernels.SquareBounds(squares, squares.copy())
            out[squares == 0] = True
        if not at_once:
            self._screen.fill()
            self._seen = 0

    def extend(self, pick: Pick | None, floor: float, limit: int) -> Outcome:
        selection, chosen, at_once = self.selection, self._chosen, self._at_once
        levels = levels_of(selection.problem, selection.qr.unit, floor)
        m = min(limit, self._k - len(selection.trail.picks), MOST_PICKS)
        s = 0
        picks = np.full(m, -1)
        steps = np.empty((m, 4))
        picks[0] = -1 if pick is None else pick.feature
        ties = no_ties(selection.problem, self._method, m if at_once else 0)
        if self._first is not None:
            t = len(self._first.picks)
            picks[:t] = self._first.picks
            steps[:t, :2] = self._first.numbers[:2, :t].T
            ties.found[:t] = self._first.tied[:t]
            self._first = None
        if at_once:
            s = self._grow(levels, ties, picks, steps)
        while not at_once and s < m and (s == 0 or steps[s - 1, 3] > floor):
            if picks[s] < 0:
                picks[s], steps[s, 0], steps[s, 1] = self._search(levels)
            if picks[s] < 0 or not self._grow(levels, ties, picks[s : s + 1], steps[s : s + 1]):
                break
            s += 1
        if s == 0:
            if picks[0] < 0:
                return Undecided()
            chosen.out[picks[0]] = True
            selection.exclude(int(picks[0]))
            return Dependent(int(picks[0]))
        J = picks[:s].tolist()
        lam, margin, projections, norms = steps[:s].T.tolist()
        with_active = self._method.with_active
        tied = tied_with(J, ties.found)
        found = [
            Pick(feature=j, lam_star=top, margin=gap, tied=T, active=T if with_active else ())
            for j, top, gap, T in zip(J, lam, margin, tied, strict=True)
        ]
        return AddedPicks([pick, *found[1:]] if pick else found, projections, norms, chosen.r.copy())

    def products(self, t: int) -> FloatArray:
        rows = self.selection.qr.Qt[t:]
        W = np.empty((len(rows), self.selection.problem.d))
        correlate_rows(self.selection.problem, rows, W, self._count)
        return W

    def _grow(self, levels: kernels.Levels, ties: kernels.Ties, picks: IndexArray, steps: FloatArray) -> int:
        """Run the kernel `add_picks`, and return the number of columns that it adds."""
        index = self.selection.qr.index
        data = (self._screen.data, self._chosen, self._squares)
        count, self._seen = kernels.add_picks(*data, len(index), self._seen, levels, ties, picks, steps)
        index += picks[:count].tolist()
        return int(count)

    def _search(self, levels: kernels.Levels) -> tuple[int, float, float]:
        """Return the index of the pick, or −1 if it is not certain; |⟨X_j, r⟩|; and the margin."""
        r, data = self._chosen.r, self._screen.data
        t = self.selection.qr.size
        length = math.sqrt(r @ r)
        if length == 0:
            return -1, 0.0, 0.0
        scores = self._screen.scores(r / length)
        error = float(self._screen.rounded.error[0])
        found: tuple[int, float, float] = kernels.certain_pick(data, scores, error, self._chosen, t, levels)
        return found


class Screen:
    """A copy of X in 16-bit integers, in the order of X and without the column of ones."""

    def __init__(self, problem: Problem, count: int) -> None:
        X, by_rows, scale, norms = plain_columns(problem)
        n, d = problem.n, problem.n_features
        m: int = pairs.pairs_of(n, by_rows)  # type: ignore[no-untyped-call]
        copy = np.empty((m, d) if by_rows else (d, m), np.int32)
        unit = np.empty(d)
        error = np.empty(d)
        self.data = kernels.ScreenedDesign(
            X=X, copy=copy, by_rows=by_rows, scale=scale, unit=unit, norms=norms, error=error
        )
        self._pairs = copy, by_rows
        self._count = count
        self._threads = 1
        self._alone = 0.0
        self._late = 0

    @functools.cached_property
    def rounded(self) -> pairs.RoundedVector:
        """The vector of the last product, rounded."""
        vector: pairs.RoundedVector = pairs.empty_vector(self.data.copy.shape[not self.data.by_rows])  # type: ignore[no-untyped-call]
        return vector

    def fill(self) -> None:
        """Fill the copy, in all threads."""
        spread(lambda a, b: kernels.fill(self.data, a, b), len(self.data.unit), self._count)

    def scores(self, x: FloatArray) -> FloatArray:
        """Return ⟨q_j, x⟩ (d,) in single precision, where q_j is column j of the 16-bit copy of X.

        The first pass over the copy is timed on one thread. If it takes long enough, later passes use all
        threads. If two of the later passes take longer than the first one, the cores are busy with other
        work, and one thread is used again. (A single slow pass may be due to starting the threads.) The
        number of threads does not change any bit of the result.
        """
        z = np.empty(len(self.data.unit), np.float32)
        pairs.round_vector(x, 1.0, self.rounded)
        started = time.perf_counter()
        spread(lambda a, b: pairs.products(*self._pairs, self.rounded, z, a, b), len(z), self._threads)
        elapsed = time.perf_counter() - started
        if self._alone == 0:
            self._alone = elapsed
            self._threads = self._count if elapsed > _MIN_PARALLEL else 1
        elif elapsed > self._alone:
            self._late += 1
            self._threads = 1 if self._late > 1 else self._threads
        return z
