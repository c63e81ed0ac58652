"""The LASSO homotopy at speed: guess on a few columns, prove on all of them, leave ties to `Homotopy`.

The candidates C are the columns with the largest |c|. `_kernels/homotopy.py` follows their path on X_CᵀX_C,
and then the points that it passed are checked on all columns: for one outside C, |c_j(λ)| − λ is convex
between two points, so that c at the points decides. With the Gram rows X_jᵀX of the columns that entered,
c = Xᵀy − XᵀX_P B for a block of points is one matrix product, and so are the rows of a block of entries: a
path of k entries costs the products of X with k vectors, made as a few matrix products. Columns for which
|c_j| ≤ λ is not clear become candidates, and the guess goes on from the last point that stands.

Where an event is not clear beyond rounding, `Homotopy` settles it on X itself and hands back. It takes the
path up inside the last segment that stands, checks that it is one, and finds the knot below it anew, so that
no knot is given out whose segments on both sides were not proved.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin.lasso._candidates import Candidates, Run
from sparselin.lasso._homotopy import Homotopy, Knot, Point
from sparselin.linalg.gathered import GramRows
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

_CHUNK = 512  # columns a thread takes at a time
_FEW, _MANY = 96, 4000  # so few columns are all candidates, and so many never
_ALL = slice(None)
_FIRST = 64  # columns with the largest |c| that a projection is tried with
_NEXT = 96  # the columns likeliest to enter next that are candidates
_CLEAR = 0.05  # the share of λ up to which errors of c on columns that are no candidates make them candidates


class Stretch(NamedTuple):
    """Knots of the path: λ (m,), β on `columns` (m, M) and zero elsewhere, and what is nonzero below each."""

    lams: FloatArray
    columns: IndexArray | slice
    coef: FloatArray
    active: list[tuple[int, ...]]

    def knots(self) -> Iterator[Stretch]:
        """One by one."""
        for i in range(len(self.lams)):
            yield self.part(i, i + 1)

    def part(self, start: int, stop: int) -> Stretch:
        """Those from start to stop."""
        these = slice(start, stop)
        return Stretch(self.lams[these], self.columns, self.coef[these], self.active[these])

    def last(self) -> Stretch:
        """The lowest."""
        return self.part(len(self.lams) - 1, len(self.lams))

    def dense(self, d: int) -> FloatArray:
        """β of the last (d,)."""
        coef = np.zeros(d)
        coef[self.columns] = self.coef[-1]
        return coef


class Guess:
    """A path followed on candidates and proved on all columns."""

    def __init__(self, problem: Problem, S: IndexArray, steps: int) -> None:
        self.problem = problem
        whole = problem.d <= max(_FEW, min(_MANY, 5 * min(problem.n, steps)))
        self.candidates = Candidates(problem, S, whole)
        self.rows = GramRows(problem)
        self.quota, self.points = 32, 128
        self.sound = self.candidates.start()
        if self.sound and not whole:
            self.candidates.add_largest(np.abs(self.candidates.first_correlations()), 2 * _NEXT)

    def stretches(self, lam_min: float, limit: int) -> Iterator[Stretch]:
        """The path on from where the candidates are, up to where an event is not clear.

        It ends: in each round λ falls, or what does not stand brings new candidates, of which there are d.
        """
        candidates = self.candidates
        while limit > 0:
            start, columns = candidates.here(), candidates.index
            fresh = self.rows.place[columns] < 0 if not candidates.whole else candidates.place < -1
            run = candidates.follow(lam_min, min(limit, self.points), fresh, self.quota)
            m = len(run.lams)
            if run.ending == kernels.DONE:
                run.coef[-1, candidates.reached.order[: candidates.p]] = candidates.refined(lam_min)[0]
            stands = self._prove(run, limit)
            keep = m if stands == m else max(0, stands - 1)
            active = _replay(start.P, columns, run.events[:keep])
            if keep:
                where = _ALL if candidates.whole else columns
                yield Stretch(run.lams[:keep], where, run.coef[:keep], active)
                limit -= keep
            if stands < m:
                if len(candidates.index) == len(columns):
                    return
                self.points = max(16, self.points // 2)
                if keep:
                    start = candidates.at(
                        run.lams[keep - 1], run.coef[keep - 1], np.array(active[-1], np.intp)
                    )
                if not candidates.resume(start):
                    return
            elif run.ending != kernels.LIMIT:
                return
            else:
                if len(candidates.index) > len(columns):
                    candidates.resume(candidates.here())
                self.quota, self.points = 128, min(512, 2 * self.points)

    def take_up(self, point: Point) -> bool:
        """Go on from a point that others found; False if its columns are nearly dependent."""
        P = np.array(point.P, np.intp)
        missing = P[self.candidates.place[P] < 0]
        if len(missing):
            self.candidates.add(missing)
        return self.candidates.resume(point)

    def _prove(self, run: Run, limit: int) -> int:
        """The first point at which some |c_j| ≤ λ is not clear, or their number; new candidates come of it.

        Where it is likely that columns are wanted, those come that the last segment which stands, or the one
        that does not, shows to enter first.
        """
        problem, rows, m = self.problem, self.rows, len(run.lams)
        if m == 0 or self.candidates.whole:
            return m
        candidates, used = self.candidates, np.flatnonzero(run.coef.any(axis=0))
        J = candidates.index[used]
        new = used[rows.place[J] < 0]
        if len(new):
            rows.add(candidates.index[new], candidates.columns[new])
        coef, G = rows.combination(run.coef[:, used], J)
        first = np.full(problem.d, m)
        blur = problem.rounding() * run.sizes  # times ‖X_j‖, the error of c_j
        clear = int(
            np.argmax(np.append((blur * candidates.longest > _CLEAR * run.lams) & (run.lams > 0), True))
        )
        slack = np.where(
            run.lams > 0, -blur, blur
        )  # at zero, which only a P that spans everything reaches, c = 0

        def check(a: int, b: int) -> None:
            kernels.first_violations(
                problem.Xty, coef[:clear] @ G[:, a:b], run.lams, slack, problem.column_norms, a, first
            )

        with workers(2.0 * coef.size * problem.d) as count:
            spread_chunks(check, problem.d, _CHUNK, count)
            first[candidates.index] = m
            stands = int(first.min())
            if stands == m and clear < m:
                return clear
            if stands < m or (run.ending == kernels.LIMIT and m < limit):
                i = min(stands, m - 1)
                ends = coef[max(0, i - 1) : i + 1]
                level = _entry_levels(problem.Xty - ends @ G, run.lams[max(0, i - 1) : i + 1])
                if stands < m:
                    level[first == stands] = np.inf
                candidates.add_largest(level, _NEXT)
        return stands


class Solution(NamedTuple):
    """β of one λ on the columns S ∪ P, with r = y − Xβ and Xᵀr, in the dtype of the problem."""

    columns: IndexArray
    coef: FloatArray
    residual: FloatArray
    correlation: FloatArray


def solution_at(problem: Problem, S: IndexArray, lam: float) -> Solution | None:
    """The solution at λ of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁; None where an event is not clear.

    Only the end of the path matters here, so only the end is proved: what violates |c_j| ≤ λ there becomes a
    candidate, and the path is followed again. Each round brings a candidate that was none, of which there are
    d, or it is the last.
    """
    candidates = Candidates(problem, S, problem.d <= _FEW)
    if not candidates.start():
        return None
    if not candidates.whole:
        c = np.abs(candidates.first_correlations())
        c[S] = 0
        candidates.add_largest(c, _FIRST)
    t, none = len(S), np.zeros(problem.d, bool)
    lams: FloatArray = np.zeros(0)  # of the points passed: λ and β
    trail: FloatArray = np.zeros((0, 0))
    while True:
        run = candidates.follow(lam, 1000 + 4 * min(problem.n, len(candidates.index)), none, 1)
        if run.ending != kernels.DONE:
            return None
        coef, r = candidates.refined(lam)
        residual = r.astype(problem.dtype, copy=False)
        c = problem.correlate(residual)
        order = candidates.reached.order[: len(coef)]
        size = problem.y_norm + float(candidates.norms[order] @ np.abs(coef))
        excess = np.abs(c) - lam
        excess[S] = excess[candidates.index[order[t:]]] = 0
        if not (excess > problem.rounding() * size * problem.column_norms).any():
            return Solution(candidates.index[order], coef.astype(problem.dtype, copy=False), residual, c)
        excess[candidates.index] = -1
        M = len(candidates.index)
        if not candidates.add_largest(excess, min(_NEXT, int(np.count_nonzero(excess > 0)))):
            return None
        lams, trail = np.concatenate([lams, run.lams]), _stacked(trail, run.coef)
        c = candidates.c0[M:, None] - candidates.gram[M:, :M] @ trail.T
        stands = int(np.argmax((np.abs(c) > lams).any(axis=0)))
        keep = max(0, stands - 2)
        if not (candidates.resume(_last(candidates, lams, trail, keep)) if keep else candidates.start()):
            return None
        lams, trail = lams[:keep], trail[:keep]


def _last(candidates: Candidates, lams: FloatArray, trail: FloatArray, keep: int) -> Point:
    """The last of the points kept. No coefficient changes its sign before the next: P shows in their sum."""
    places = np.flatnonzero(trail[keep - 1] + trail[keep])
    P = candidates.index[places[places >= len(candidates.S)]]  # S comes first
    return candidates.at(float(lams[keep - 1]), trail[keep - 1], P)


def _stacked(above: FloatArray, below: FloatArray) -> FloatArray:
    """Coefficients on candidates, below those on the first of them."""
    coef = np.zeros((len(above) + len(below), below.shape[1]))
    coef[: len(above), : above.shape[1]] = above
    coef[len(above) :] = below
    return coef


def _entry_levels(c: FloatArray, lams: FloatArray) -> FloatArray:
    """λ at which each column would enter, from its c at the ends of a segment (or |c| from one end)."""
    if len(c) < 2:
        return np.asarray(np.abs(c[0]))
    b = (c[0] - c[1]) / (lams[0] - lams[1])
    a = c[1] - lams[1] * b
    room = 1 - np.sign(a) * b
    return np.asarray(np.where(room > 0, np.abs(a) / np.where(room > 0, room, 1), 0))


def _replay(P: list[int], columns: IndexArray, events: IndexArray) -> list[tuple[int, ...]]:
    """What is nonzero below each point, from what is nonzero before the first and the events."""
    active, below = sorted(P), []
    for event in events.tolist():
        if event > 0:
            bisect.insort(active, int(columns[event - 1]))
        elif event < 0:
            active.remove(int(columns[-event - 1]))
        below.append(tuple(active))
    return below


def stretches(problem: Problem, S: IndexArray, lam_min: float, limit: int) -> Iterator[Stretch]:
    """The knots from λ*(S) down to lam_min, `limit` at most; they end early where rounding hides the next.

    A knot takes the place of those before it whose λ is not larger: what was guessed may have to be taken
    back, all of it, once. Else λ falls in each round, for the careful homotopy gives at least one knot or
    the end.
    """
    guess, whole, patience = Guess(problem, S, limit), limit, 1
    fast = guess.sound
    careful: Homotopy | None = None
    knots: Iterator[Knot] | None = None
    last: Stretch | None = None  # the last knot given
    while limit > 0:
        held: Stretch | None = None  # the last knot guessed, given when what comes below it is proved
        for stretch in guess.stretches(lam_min, limit) if fast else ():
            if last is None and stretch.lams[0] <= lam_min:
                break  # λ* itself is no higher
            for piece in (held, stretch.part(0, len(stretch.lams) - 1)):
                if piece is not None and len(piece.lams):
                    last = piece.last()
                    yield piece
            limit -= len(stretch.lams)
            held = stretch.last()
            if limit == 0 or held.lams[0] <= lam_min:
                yield held
                return
        if careful is None:
            careful = Homotopy(problem, S)
            if len(careful.free) < len(S):
                guess = Guess(problem, np.array(careful.free, np.intp), limit)
        if held is not None:
            limit, patience = limit + 1, 1
            knots = _resumed(careful, last, held, lam_min)
            if knots is None:
                careful, limit, fast = Homotopy(problem, S), whole, False
                knots = careful.knots(lam_min)
        elif knots is None:
            knots = careful.knots(lam_min)
        for _ in range(min(patience, limit) if guess.sound else limit):
            knot = next(knots, None)
            if knot is None:
                return
            last = Stretch(np.array([knot.lam]), _ALL, knot.coef[None], [knot.active])
            limit -= 1
            yield last
            if knot.lam <= lam_min:
                return
        patience *= 2
        fast = fast and guess.take_up(careful.here())


def _resumed(
    careful: Homotopy, above: Stretch | None, below: Stretch, lam_min: float
) -> Iterator[Knot] | None:
    """The knots from half-way between two knots down, or all where `below` is the first; None: see `resume`.

    No coefficient changes its sign between the two: the signs show in the sum.
    """
    if above is None:
        return careful.knots(lam_min)
    d, P = careful.problem.d, list(above.active[-1])
    signs = np.sign(above.dense(d) + below.dense(d))[P]
    middle = float(above.lams[-1] + below.lams[-1]) / 2
    return careful.resume(Point(middle, P, signs, np.zeros(0)), lam_min)
