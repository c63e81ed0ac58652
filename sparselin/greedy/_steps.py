"""OMP a pick at a time, at a quarter of a pass over X for each.

The textbook's pass over X for every pick is made over a copy of X in 16-bit integers. With
X_j = unit_j·q_j + e_j, q_j integers, |e_ij| ≤ unit_j/2, and x = r/‖r‖ rounded to float32,

    |c_j/‖r‖ − unit_j⟨q_j, x⟩| ≤ blur_j = unit_j·√n/2 + γ‖X_j‖,

γ from the rounding of the sum: so that all but a few columns can be neither the argmax nor second to it, and
these few are compared in float64. What is left open there, ties and whatever else, is the rule's to decide.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import steps as kernels
from sparselin.greedy._selection import Pick, Selection
from sparselin.parallel.threads import send, spread
from sparselin.problem import Problem
from sparselin.results import FloatArray
from sparselin.ties import relative_margin, tied_at_maximum

FEWEST = 5  # picks that repay the copy
_AT_ONCE = 12 * 10**6  # numbers in X up to which blocks of guesses are not tried first
_STRIDED = 2000  # numbers a row at which the columns that are fetched one by one cost little beside the pass
_NEAR = 64  # columns that are compared, at the most
_USUAL = 6.0  # largest entry of a column, at a guess, over its root mean square
_LONGEST = 2 * 10**7  # columns of which the sums in single precision are of use
_RUN = 64  # steps that are compiled as a whole, before Python can be interrupted
_WORTH_A_TEAM = 2 * 10**8  # products in all that repay threads, who may find the cores busy at first
_MOST = 4  # threads that read the copy: they are bound by the memory that they share
_PIECES = 4  # of a pass, for each of T threads, at least
_ROWS = 100  # and T²·_ROWS rows at least, so that the sums, 16T²d bytes, are 2 % of X at most
_PIECE = 4096  # rows of a piece, about, at the most: a longer sum would err by more than the copy does


def can_step(problem: Problem) -> bool:
    return problem.kind == "dense" and problem.dtype == np.float64 and problem.n <= _LONGEST


def step_at_once(problem: Problem, k: int) -> bool:
    """Whether single steps are as fast as blocks of guesses, if all of them should be right, for k picks."""
    return k >= FEWEST and problem.n * max(problem.d, _STRIDED) <= _AT_ONCE


class Steps:
    """The scheme of single steps on a dense problem in float64, carrying a selection forward."""

    pays = True

    def __init__(self, selection: Selection, k: int, count: int, clear_sets: bool) -> None:
        problem = selection.problem
        self.problem, self.selection, self.k, self.count = problem, selection, k, count
        self.clear_sets = clear_sets
        worth = problem.n * problem.d * k >= _WORTH_A_TEAM
        self._threads = min(count, _MOST, max(1, math.isqrt(problem.n // _ROWS))) if worth else 1
        self._pieces = max(problem.n // _PIECE, _PIECES * self._threads if self._threads > 1 else 1)
        self._screen = _screen(problem, count, self._pieces)
        if self._threads > 1:  # compiled here, and not in a thread that nobody waits for
            kernels.help_out(self._screen.copy, self._screen.x, _team(self._screen, 2, 1, over=True), 1)
        self._root, self._unit = problem.rounding_terms
        selection.qr.make_room(min(k, problem.n))
        # what is selected or barred, barred being what the QR refuses: dependent columns
        self._out = np.empty(problem.d + 1, np.intp)
        self._out[: len(selection.picks)] = selection.support
        self._n_out = len(selection.picks)
        self._unclear = False

    def clear_pick(self) -> Pick | None:
        if self._unclear:
            return None
        r, problem = self.selection.residual, self.problem
        if not self.selection.picks:  # what is known already: then no kernel for this is compiled
            lam_star, tied = tied_at_maximum(problem.Xty, problem.correlation_error())
            if len(tied) != 1:
                return None
            first = int(tied[0])
            return Pick.clear(first, lam_star, relative_margin(problem.Xty, first, lam_star), self.clear_sets)
        m = self._n_out
        self._out[m] = -1
        _, record = self._advance(r, floor=0.0, first=-1, size=0)
        if self._out[m] < 0:
            return None
        return Pick.clear(int(self._out[m]), float(record.lam[0]), float(record.margin[0]), self.clear_sets)

    def take(self, pick: Pick, floor: float, limit: int) -> bool:
        selection, m = self.selection, self._n_out
        if pick.feature in self._out[:m]:
            return False
        size = min(limit, self.k - len(selection.picks), _RUN)
        r = selection.residual.copy()
        p, record = self._advance(r, floor, pick.feature, size)
        self._n_out = m + max(p, 1)
        self._unclear = 0 < p < size
        if p:
            taken = self._out[m : m + p].tolist()
            selection.qr.extend(taken)
            steps = zip(taken[1:], record.lam[1:].tolist(), record.margin[1:].tolist(), strict=False)
            picks = [pick, *(Pick.clear(*step, self.clear_sets) for step in steps)]
            selection.record(picks, record.shares[:p].tolist(), r, record.left[:p].tolist())
        return True

    def _advance(self, r: FloatArray, floor: float, first: int, size: int) -> tuple[int, kernels.Record]:
        """`kernels.advance`, with others at its side if many steps are wanted."""
        qr, screen = self.selection.qr, self._screen
        team = _team(screen, self._threads if size > 1 else 1, self._pieces)
        record = kernels.Record(*np.empty((4, max(size, 1))))
        send(lambda own: kernels.help_out(screen.copy, screen.x, team, own), len(team.sums))
        p = kernels.advance(
            screen, team, qr.arrays(), qr.size, r, self.problem.y_norm, self._root, self._unit, floor,
            self._out, self._n_out, first, size, record,
        )  # fmt: skip
        if team.now[2] >= kernels.LATE:
            self._threads = 1
        return p, record

    def products(self, t: int) -> FloatArray:
        rows = self.selection.qr.Qt[t:]
        W = np.empty((len(rows), self.problem.d))
        self.problem.correlate_rows(rows, W, self.count)
        return W


def _screen(problem: Problem, count: int, pieces: int = 1) -> kernels.Screen:
    X, n, d = problem.X, problem.n, problem.d
    copy = np.empty((n, d), np.int16)
    unit = min(1.0, _USUAL / math.sqrt(n)) / kernels.LARGEST * problem.column_norms
    by_rows = X.flags.c_contiguous
    fill, data = (kernels.copy_by_rows, X) if by_rows else (kernels.copy_by_columns, X.T)
    spread(lambda a, b: fill(data, copy, unit, a, b), d, count)
    # the most roundings that a product goes through on its way into the sum, and 2 in x: m of them amount to
    # γ_m = mu/(1 − mu), u = 2⁻²⁴, at most 1.2·mu for n ≤ 2·10⁷
    gamma = 1.2 * (n / (8 * pieces) + pieces + 14) * float(np.finfo(np.float32).eps) / 2
    off = unit * math.sqrt(n)
    blur = 1.001 * (off / 2 + gamma * (problem.column_norms + off))
    x, z, near = np.empty(n, np.float32), np.empty(d, np.float32), np.empty(_NEAR, np.intp)
    return kernels.Screen(X, copy, unit, blur, problem.column_norms, x, z, near)


def _team(screen: kernels.Screen, threads: int, pieces: int, over: bool = False) -> kernels.Team:
    sums = screen.z[None, None]
    if pieces > 1:
        sums = np.empty((threads, pieces, screen.z.size), np.float32)
    return kernels.Team(
        np.array([0, over, 0], np.int64), np.zeros(pieces, np.int64), np.zeros(pieces, np.int64), sums
    )
