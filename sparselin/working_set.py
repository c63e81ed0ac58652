"""The LASSO homotopy at speed: guess on a few columns, prove on all of them, leave ties to `Homotopy`.

The candidates C are the columns with the largest |c|. `_kernels/homotopy.py` follows their path on X_CᵀX_C,
and then the points that it passed are checked on all columns: for one outside C, |c_j(λ)| − λ is convex
between two points, so that c at the points decides. With the Gram rows X_jᵀX of the columns that entered,
c = Xᵀy − XᵀX_P B for a block of points is one matrix product, and so are the rows of a block of entries: a
path of k entries costs the products of X with k vectors, made as a few matrix products. Columns that violate
|c_j| ≤ λ become candidates, and the guess goes on from the last point that stands.

Where an event is not clear beyond rounding, `Homotopy` settles it on X itself and hands back.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin.candidates import Candidates, GramRows, Run
from sparselin.homotopy import Homotopy, Point
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.threads import spread_chunks, workers

_CHUNK = 512  # columns a thread takes at a time
_FEW, _MANY = 96, 4000  # so few columns are all candidates, and so many never
_ALL = slice(None)
_FIRST = 64  # columns with the largest |c| that a projection is tried with
_NEXT = 96  # the columns likeliest to enter next that are candidates


class Stretch(NamedTuple):
    """Knots of the path: λ (m,), β on `columns` (m, M) and zero elsewhere, and what is nonzero below each."""

    lams: FloatArray
    columns: IndexArray | slice
    coef: FloatArray
    active: list[tuple[int, ...]]

    def knots(self) -> Iterator[Stretch]:
        """One by one."""
        for i, active in enumerate(self.active):
            yield Stretch(self.lams[i : i + 1], self.columns, self.coef[i : i + 1], [active])


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
        """The path on from where the candidates are, up to where an event is not clear."""
        candidates = self.candidates
        while limit > 0:
            start, columns = candidates.here(), candidates.index
            fresh = self.rows.place[columns] < 0 if not candidates.whole else candidates.place < -1
            run = candidates.follow(lam_min, min(limit, self.points), fresh, self.quota, True)
            m = len(run.lams)
            stands = self._prove(run, limit)
            keep = m if stands == m else max(0, stands - 1)
            active = _replay(start.P, columns, run.events[:keep])
            if keep:
                where = _ALL if candidates.whole else columns
                yield Stretch(run.lams[:keep], where, run.coef[:keep], active)
                limit -= keep
            if stands < m:
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
        """The first point at which some |c_j| > λ, or their number; new candidates come of it.

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
            rows.add(candidates.index[new], candidates.columns[new] if problem.kind != "sparse" else None)
        coef, G = rows.combination(run.coef[:, used], J)
        first = np.full(problem.d, m)

        def check(a: int, b: int) -> None:
            kernels.first_violations(
                problem.Xty, coef @ G[:, a:b], run.lams, run.sizes, problem.column_norms,
                problem.rounding(), a, first,
            )  # fmt: skip

        with workers(2.0 * coef.size * problem.d) as count:
            spread_chunks(check, problem.d, _CHUNK, count)
            stands = int(first.min())
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
    """The solution at λ of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ for a dense X; None where an event is not clear.

    Only the end of the path matters here, so only the end is proved: what violates |c_j| ≤ λ there becomes a
    candidate, and the path is followed again.
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
        run = candidates.follow(lam, 1000 + 4 * problem.n, none, 1, True)
        if run.ending != kernels.DONE:
            return None
        coef, r = candidates.refined(lam)
        residual = r.astype(problem.dtype, copy=False)
        c = problem.correlate(residual)
        order = candidates.order[: len(coef)]
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

    Of knots with the same λ only the last counts, and only one towards the limit.
    """
    guess = Guess(problem, S, limit)
    sound, begun, patience, lam = guess.sound, False, 1, math.inf
    careful: Homotopy | None = None
    while limit > 0:
        if sound:
            for stretch in guess.stretches(lam_min, limit):
                if not begun and stretch.lams[0] <= lam_min:
                    break  # λ* itself is no higher
                begun, patience, limit = True, 1, limit - len(stretch.lams)
                lam = stretch.lams[-1]
                yield stretch
                if lam <= lam_min:
                    return
        if limit == 0:
            return
        if careful is None:
            careful = Homotopy(problem, S)
            free = np.array(careful.qr.index, np.intp)
            if len(free) < len(S):
                guess = Guess(problem, free, limit)
        knots = careful.resume(guess.candidates.here(), lam_min) if begun else careful.knots(lam_min)
        fallen = 0
        while fallen < min(patience, limit):  # a λ that does not fall is for `Homotopy` to give up on
            knot = next(knots, None)
            if knot is None:
                return
            begun, fallen, lam = True, fallen + (knot.lam < lam), knot.lam
            yield Stretch(np.array([knot.lam]), _ALL, knot.coef[None], [knot.active])
            if knot.lam <= lam_min:
                return
        limit -= fallen
        patience *= 2
        sound = guess.take_up(careful.here())
