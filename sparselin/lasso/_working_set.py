"""A fast LASSO homotopy: it follows the path on a few columns and then proves it on all columns.

The candidates C are the columns with the largest |c|, where c = Xᵀ(y − Xβ). The kernel of
`_kernels/homotopy.py` follows their path, using X_CᵀX_C. Then the points passed are checked on all columns.
For j outside C, |c_j(λ)| − λ is convex between two points, so it suffices to check c at the points. One
product of X with the residuals of a block of points gives all c. For a dense X it is computed in single
precision. Its errors, relative to ‖X_j‖‖r‖, leave open for a few columns whether |c_j| ≤ λ; these columns
become candidates, and their c is computed in float64 from the Gram matrix of the candidates. Columns that
violate |c_j| ≤ λ by more than rounding become candidates too, and the path is followed again from the last
point that was proved. So a path of k points costs about the product of X with k vectors, computed as a few
matrix products.

Further candidates are the columns that would enter first if the last proved segment were continued. If few of
the points of a run were proved, as on random walks, the next run is shorter and has fewer new candidates.

If rounding leaves an event undecided, for example in a tie, the class `Homotopy` decides it on X itself.
`Homotopy` starts inside the last proved segment, checks the KKT conditions there, and recomputes the knot at
the lower end. So every knot that is yielded has proved segments on both sides.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin.lasso import _small
from sparselin.lasso._candidates import Candidates
from sparselin.lasso._homotopy import Homotopy, Knot, Point
from sparselin.linalg.gathered import AllProducts
from sparselin.problem import Problem
from sparselin.problem.errors import product_error
from sparselin.results import FloatArray, IndexArray

# Tuned by path/* and project/* of `make bench`. Results do not depend on these numbers, because everything is
# proved on all columns.
_MANY = 4000  # if there are more columns, never all are candidates
_NEXT = 96  # candidates added at a time, or fewer for short paths: the columns that would enter first
_START = 128  # initial candidates of a path, or fewer for short paths: the columns with the largest |c|
_ENTRIES = 6 * 10**6  # the most entries of the columns that are added at a time
_SHORTEST, _LONGEST = 8, 128  # the limits of the number of points of a run
_MIN_COPIED = 20  # the fewest knots for which products from a copy of X in single precision save its cost
_WIDE = 8192  # if there are more columns, longer runs at first are faster
# The check of c on all columns counts while its error is at most this share of λ. The check demands
# |c_j| ≤ λ − error. If the share were larger, columns far below λ would become candidates; if it were
# smaller, paths would go to the slower `Homotopy` early.
_MAX_ERROR = 0.05


class KnotBlock(NamedTuple):
    """A block of m successive knots of the LASSO path.

    lams : λ (m,) at the knots.
    coef : β (m, M) at the knots on the M `columns`; β is zero on the other columns.
    active : the active set just below each knot.
    from_start : whether the path starts again with these knots, so that all earlier knots are invalid.
    """

    lams: FloatArray
    columns: IndexArray
    coef: FloatArray
    active: list[tuple[int, ...]]
    from_start: bool = False

    def split(self) -> Iterator[KnotBlock]:
        """Yield each knot of this block as a block of one knot."""
        for i in range(len(self.lams)):
            yield self.between(i, i + 1)

    def between(self, start: int, stop: int) -> KnotBlock:
        """Return the knots start..stop of this block as a block."""
        these = slice(start, stop)
        return KnotBlock(self.lams[these], self.columns, self.coef[these], self.active[these])

    def last(self) -> KnotBlock:
        """Return the last knot, which has the least λ, as a block."""
        return self.between(len(self.lams) - 1, len(self.lams))

    def dense(self, d: int) -> FloatArray:
        """Return the solution β (d,) at the last knot of this block."""
        coef = np.zeros(d)
        coef[self.columns] = self.coef[-1]
        return coef


class Guess:
    """A LASSO path that is followed on some columns, the candidates, and proved on all columns."""

    def __init__(self, problem: Problem, S: IndexArray, steps: int, positive: bool) -> None:
        self.problem = problem
        most = _MANY if problem.has_columns else _small.FEW
        whole = problem.d <= max(_small.FEW, min(most, 5 * min(problem.n, steps)))
        self.candidates = Candidates(problem, S, whole, positive)
        # the number of points of the next run, and the most candidates that are added at a time
        self.points = 64 if problem.d > _WIDE else 32
        self.more = min(_NEXT, steps + 8, max(16, _ENTRIES // problem.n))
        self.sound = self.candidates.start()
        if whole:
            self.points = 4 * _LONGEST
            return
        self.products = AllProducts(problem, rough=steps >= _MIN_COPIED)
        self.unit = product_error(problem.n, problem.errors.double_eps)
        if self.sound:
            first = self.candidates.size(self.candidates.first_correlations())
            self.candidates.add_largest(first, min(_START, 2 * self.more))

    def blocks(self, lam_min: float, limit: int) -> Iterator[KnotBlock]:
        """Yield proved knots from the point reached down to lam_min, at most `limit` of them.

        The sequence ends earlier at an event that rounding leaves undecided. The method terminates, because
        in each round λ decreases or candidates are added, and there are at most d candidates.
        """
        candidates = self.candidates
        while limit > 0:
            start = candidates.here()
            columns = candidates.index
            run, ending = candidates.follow(lam_min, min(limit, self.points))
            m = len(run.lams)
            skipped = 0
            if ending == kernels.DONE:
                coef, r = candidates.refine(lam_min)
                run.coef[-1, candidates.reached.order[: candidates.p]] = coef
                skipped = int(candidates.misses_knot(lam_min, coef, r))
            proved = min(self._prove(run, ending == kernels.LIMIT and m < limit), m - skipped)
            keep = m if proved == m else max(0, proved - 1)
            active = _replay(start.P, columns, run.events[:keep])
            if keep:
                yield KnotBlock(run.lams[:keep], columns, run.coef[:keep], active)
                limit -= keep
            if proved < m:
                if len(candidates.index) == len(columns):
                    return
                if keep:
                    P = np.array(active[-1], np.intp)
                    start = candidates.at(run.lams[keep - 1], run.coef[keep - 1], P)
                if not candidates.resume(start):
                    return
            elif ending != kernels.LIMIT:
                return
            elif len(candidates.index) > len(columns):
                candidates.resume(candidates.here())

    def resume(self, point: Point) -> bool:
        """Go to a point that `Homotopy` found; return False if its active columns are nearly dependent."""
        P = np.array(point.P, np.intp)
        missing = P[self.candidates.place[P] < 0]
        if len(missing):
            self.candidates.add(missing)
        return self.candidates.resume(point)

    def _prove(self, run: kernels.Trail, continues: bool) -> int:
        """Check |c_j| ≤ λ for all columns at the points of a run; return the number of leading valid points.

        Here c = Xᵀ(y − Xβ). Columns that violate the condition become candidates. If there are violations, or
        another run continues this one (`continues`), the last segment is extrapolated, and the columns that
        would enter first become candidates too.
        """
        candidates = self.candidates
        lams = run.lams
        m = len(lams)
        if m == 0 or candidates.whole:
            return m
        c, lengths, error = self._correlations(run)
        large = (error * candidates.longest > _MAX_ERROR * lams) & (lams > 0)
        accurate = int(np.argmax(np.append(large, True)))  # number of points before the first large error
        first = self._violations(run, c[:accurate], lengths, error)
        proved = int(first.min())
        if proved == accurate < m:
            return accurate
        self.points = min(_LONGEST, 3 * self.points) if proved == m else min(self.points, 2 * proved)
        self.points = max(_SHORTEST, self.points)
        if proved < m or continues:
            i = min(proved, m - 1)
            ends = slice(max(0, i - 1), i + 1)
            entries = _entries(c[ends] * lengths[ends, None], lams[ends], candidates.size)
            entries[first == i] = np.maximum(entries[first == i], lams[i])
            candidates.add_largest(entries, min(self.more, 4 * self.points))
        return proved

    def _correlations(self, run: kernels.Trail) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return c divided by the lengths ‖r‖ (m, d), these lengths (m,), and bounds (m,) on the errors of c.

        c are the correlations at the m points of a run, with errors of at most ‖X_j‖ times the bounds. The
        residuals r = y − Xβ are computed in float64, with errors relative to ‖y‖ + Σ‖X_j‖|β_j|. Products in
        single precision have errors relative to ‖r‖. If they are too large, products are computed in float64
        from now on.
        """
        R = self.candidates.residuals(run.coef)
        lengths = np.sqrt(np.einsum("ij,ij->i", R, R))
        R /= np.where(lengths > 0, lengths, 1)[:, None]
        while True:
            error = self.unit * run.sizes + self.products.error * lengths
            if not self.products.rough or (error * self.candidates.longest <= _MAX_ERROR * run.lams).all():
                return self.products.of(R), lengths, error
            self.products = AllProducts(self.problem, rough=False)

    def _violations(
        self, run: kernels.Trail, c: FloatArray, lengths: FloatArray, error: FloatArray
    ) -> IndexArray:
        """Return for each column the first point at which it violates |c_j| ≤ λ, or the number of points.

        c, lengths, error : the results of `_correlations` for the first m points of a run. Columns whose
            violation is not decided become candidates, and are decided by the Gram matrix of candidates.

        |c_j| ≤ λ − error is required. λ = 0 is reached only if P spans all columns; there c = 0 is required
        to rounding. (With β ≥ 0 it is reached if P spans all columns except some with c_j < −error; c ≤ 0.)
        """
        candidates = self.candidates
        m, d = c.shape
        M = len(candidates.index)
        norms = self.problem.column_norms.astype(np.float64, copy=False)
        certain = np.empty(d, np.intp)
        first = np.empty(d, np.intp)
        given = run.lams, lengths, error, norms, candidates.below
        kernels.first_violations(c, *given, certain, first)
        first[candidates.index] = certain[candidates.index] = m
        open_ = np.flatnonzero(first < certain.min())
        if len(open_):
            open_ = open_[np.argsort(first[open_], kind="stable")[:_NEXT]]
            candidates.add(open_)
            c = candidates.c0[M:] - run.coef[:m] @ candidates.gram[:M, M:]
            strict = np.empty(len(open_), np.intp)
            given = run.lams, np.ones(m), self.unit * run.sizes, candidates.norms[M:], candidates.below
            kernels.first_violations(c, *given, np.empty(len(open_), np.intp), strict)
            first[open_] = strict
        return first


def _entries(c: FloatArray, lams: FloatArray, size: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the λ (d,) at which each column would enter, if a segment were continued beyond its lower end.

    c (2, d) and lams (2,) are the correlations and λ at the two ends of the segment, and c is linear in λ. If
    only one end is given, |c| at this end is returned. If β ≥ 0 is required, the function `size` returns c in
    place of |c|, and the result is negative for a column that would not enter.
    """
    if len(c) < 2:
        return np.asarray(size(c[0]))
    b = (c[0] - c[1]) / (lams[0] - lams[1])
    a = c[1] - lams[1] * b
    speed = 1 - np.sign(a) * b
    return np.asarray(np.where(speed > 0, size(a) / np.where(speed > 0, speed, 1), 0))


def _replay(P: list[int], columns: IndexArray, events: IndexArray) -> list[tuple[int, ...]]:
    """Return the active set just below each point of a run.

    P : the active set above the first point.
    columns : the candidates.
    events : `kernels.Trail.events`, which says which candidate enters or leaves at each point.
    """
    active = sorted(P)
    below = []
    for event in events.tolist():
        if event > 0:
            bisect.insort(active, int(columns[event - 1]))
        elif event < 0:
            active.remove(int(columns[-event - 1]))
        below.append(tuple(active))
    return below


def knot_blocks(
    problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool
) -> Iterator[KnotBlock]:
    """Yield the knots of the LASSO path as `proved_blocks` does, or as one block if the problem is small."""
    trail = _small.small_path(problem, S, lam_min, limit, positive)
    return proved_blocks(problem, S, lam_min, limit, positive) if trail is None else iter([block_of(trail)])


def block_of(trail: kernels.Trail) -> KnotBlock:
    """Return the knots of a path of all columns, from its first knot on, as one block."""
    columns = np.arange(trail.coef.shape[1])
    return KnotBlock(trail.lams, columns, trail.coef, _replay([], columns, trail.events))


def proved_blocks(
    problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool
) -> Iterator[KnotBlock]:
    """Yield the knots of the LASSO path from λ*(S) down to lam_min, at most `limit` knots.

    S are the features without penalty. The path ends before lam_min if rounding leaves a knot undecided. If a
    block has `from_start` set, the path starts again with it, and all earlier knots are invalid.
    """
    path = ProvedPath(problem, S, lam_min, limit, positive)
    while path.limit > 0:
        pending = yield from path.guess_knots()
        if path.limit > 0:
            yield from path.decide_knots(path.turn_to_homotopy(pending))


class ProvedPath:
    """A LASSO path whose knots are guessed on a few columns, or decided on all columns by `Homotopy`.

    The two ways take turns. If `Homotopy` disproves the guesses, which can happen once, the path starts again
    and guesses no more. The turns come to an end: λ decreases in each of them, because `Homotopy` yields at
    least one knot or ends the path.

    limit : the number of knots that may still be yielded; zero once the path has ended.
    last : the last knot that was yielded, or None.
    fast : whether the next knots are guessed.
    count : the number of knots that `Homotopy` yields before guessing resumes.
    """

    def __init__(self, problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool) -> None:
        self.problem = problem
        self.S = S
        self.positive = positive
        self.lam_min = lam_min
        self.whole = limit
        self.limit = limit
        self.guess = Guess(problem, S, limit, positive)
        self.fast = self.guess.sound
        self.count = 1
        self.homotopy: Homotopy | None = None
        self.knots: Iterator[Knot] = iter(())
        self.last: KnotBlock | None = None
        self.from_start = False

    def guess_knots(self) -> Generator[KnotBlock, None, KnotBlock | None]:
        """Yield knots that are guessed and proved, and return the last one of them without yielding it.

        It may be yielded only once the segment below it is proved. If the path ends with it, it is yielded
        too, and None is returned.
        """
        pending: KnotBlock | None = None
        for block in self.guess.blocks(self.lam_min, self.limit) if self.fast else ():
            if self.last is None and block.lams[0] <= self.lam_min:
                break  # λ* ≤ lam_min
            self.limit -= len(block.lams)
            ends = self.limit == 0 or block.lams[-1] <= self.lam_min
            for part in (pending, block if ends else block.between(0, len(block.lams) - 1)):
                if part is not None and len(part.lams):
                    self.last = part.last()
                    yield part
            if ends:
                self.limit = 0
                return None
            pending = block.last()
        return pending

    def turn_to_homotopy(self, pending: KnotBlock | None) -> Homotopy:
        """Return the `Homotopy` that decides the next knots, between the last two knots of the path.

        pending : the last knot, which was guessed and not yielded; None if the last knot was yielded.
        """
        if self.homotopy is None:
            self.homotopy = Homotopy(self.problem, self.S, self.positive)
            self.knots = self.homotopy.knots(self.lam_min)
            if len(self.homotopy.free) < len(self.S):
                free = np.array(self.homotopy.free, np.intp)
                self.guess = Guess(self.problem, free, self.limit, self.positive)
        if pending is not None:
            self.limit = self.limit + 1
            self.count = 1
            knots = _resume(self.homotopy, self.last, pending, self.lam_min)
            if knots is None:
                self.homotopy = Homotopy(self.problem, self.S, self.positive)
                knots = self.homotopy.knots(self.lam_min)
                self.limit = self.whole
                self.fast = False
                self.from_start = True
            self.knots = knots
        return self.homotopy

    def decide_knots(self, homotopy: Homotopy) -> Iterator[KnotBlock]:
        """Yield knots that `Homotopy` decides, then let guessing resume where they end, if it can.

        Without guesses all knots down to lam_min are yielded.
        """
        for _ in range(min(self.count, self.limit) if self.guess.sound else self.limit):
            knot = next(self.knots, None)
            if knot is None:
                self.limit = 0
                return
            self.last = KnotBlock(
                np.array([knot.lam]),
                np.arange(self.problem.d),
                knot.coef[None],
                [knot.active],
                self.from_start,
            )
            self.limit = self.limit - 1
            self.from_start = False
            yield self.last
            if knot.lam <= self.lam_min:
                self.limit = 0
                return
        self.count *= 2
        self.fast = self.fast and self.guess.resume(homotopy.here())


def _resume(
    homotopy: Homotopy, above: KnotBlock | None, below: KnotBlock, lam_min: float
) -> Iterator[Knot] | None:
    """Go to the λ halfway between two knots of the path, and return the knots below this λ.

    Returns None if the KKT conditions fail at this λ (`Homotopy.resume`). No coefficient changes its sign
    between the two knots, so the sum of their β has the signs of β at this λ.

    above, below : blocks of successive knots; the two knots are the last ones of these blocks. If `above` is
        None, all knots are returned.
    """
    if above is None:
        return homotopy.knots(lam_min)
    d = homotopy.problem.d
    P = list(above.active[-1])
    signs = np.sign(above.dense(d) + below.dense(d))[P]
    middle = float(above.lams[-1] + below.lams[-1]) / 2
    return homotopy.resume(Point(middle, P, signs, np.zeros(0)), lam_min)
