"""Greedy selection a block of picks at a time, at a fraction of one pass over X for each.

The textbook reads all of X for every pick. Here the next p picks are guessed, by exact selection among
the columns whose correlations are largest now; their orthonormal directions q_1..q_p are formed; and one
matrix product W = XᵀQ_p tells all correlations after each of them,

    c_{s+1} = Xᵀr_{s+1} = c_s − ⟨q_s, r_s⟩ W_s,

so that every guess is checked against all d columns. The picks up to the first wrong guess stand, and
the first is no guess, so that each product serves at least as well as the textbook's. It reads X once
for p picks, and is bound by arithmetic, not by memory. No correlation comes from a recurrence on Gram
matrices: W errs by eps·√n·‖X_j‖, and the corrections together by that times ‖y‖, as c itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sparselin._kernels import pursuit as kernels
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray, SelectionPath, Status
from sparselin.selection import Callback, Pick, Selection, begin, greedy
from sparselin.threads import workers

Rule = Callable[[Selection], Pick | Status]

_MOST = 32  # guesses a block; more would go wrong too often
_TRUST = 1.2  # a guess counts while its score is so many times the best one left out


class Next(NamedTuple):
    """The pick that is clear to come next."""

    index: int
    lam_star: float
    margin: float


def pursue(
    problem: Problem,
    k: int,
    rule: Rule,
    *,
    tol: float | None = None,
    forced: Iterable[int] = (),
    callback: Callback | None = None,
    clear_sets: bool = False,
) -> SelectionPath:
    """OMP on blocks of picks; the rule decides only where more than one column may be the argmax.

    With `clear_sets` a clear pick is its own A(S).
    """
    if not isinstance(problem.X, np.ndarray):
        return greedy(problem, k, rule, tol=tol, forced=forced, callback=callback)
    with workers(2.0 * problem.n * problem.d * k) as count:
        selection, k, floor = begin(problem, k, tol, forced)
        pursuit = Pursuit(selection, k, count, clear_sets)
        while selection.residual_norm > floor:
            if len(selection.picks) == k:
                return selection.path(Status.COMPLETED)
            pick = pursuit.clear_pick() or rule(selection)
            if isinstance(pick, Status):
                return selection.path(pick)
            pursuit.take(pick, floor, k if callback is None else 1)
            if callback is not None and callback(selection.path(Status.STOPPED)):
                return selection.path(Status.STOPPED)
        return selection.path(Status.TOLERANCE)


class Pursuit:
    """The block scheme on a dense problem, carrying a selection forward."""

    def __init__(self, selection: Selection, k: int, count: int, clear_sets: bool) -> None:
        problem = selection.problem
        self.problem, self.selection, self.k, self.count = problem, selection, k, count
        self.clear_sets = clear_sets
        t = selection.qr.size
        self.W = np.empty((min(k, problem.n), problem.d), problem.dtype)
        if t:
            problem.correlate_rows(selection.qr.Qt, self.W[:t], count)
        self.c = selection.correlations()
        integer = np.int32 if problem.dtype == np.float32 else np.int64
        self._bits = self.c.view(integer)
        self._mask = integer(np.iinfo(integer).max)
        self._norms = problem.column_norms
        self._heavy = kernels.block_maxima(self._norms)
        self._support = np.full(problem.d + 1, -1)
        self._support[: len(selection.picks)] = selection.support
        self._most = 8
        error = self._error(selection.qr.kappa)
        index, lam, margin, flag = kernels.find(
            self.c, self._bits, self._mask, self._norms, self._heavy, error
        )
        self.next = Next(index, lam, margin) if flag == kernels.CLEAR else None

    def _error(self, kappa: float) -> float:
        """e_c/‖X_j‖."""
        return self.problem.rounding(kappa) * self.problem.y_norm

    def clear_pick(self) -> Pick | None:
        return None if self.next is None else self._pick(*self.next)

    def _pick(self, index: int, lam_star: float, margin: float) -> Pick:
        tied = (int(index),)
        return Pick(int(index), float(lam_star), float(margin), tied, tied if self.clear_sets else ())

    def take(self, pick: Pick, floor: float, limit: int) -> None:
        """Take this pick, and of those guessed to follow it all that prove right, `limit` at most.

        None is taken once ‖r‖ ≤ floor.
        """
        problem, selection, qr = self.problem, self.selection, self.selection.qr
        t, m = qr.size, len(selection.picks)
        J, rows = self._guess(pick.index, min(limit, self.k - m, len(self.W) - t, self._most))
        p = qr.extend(J, rows)
        if p == 0:
            selection.take(pick)
            self.c[pick.index], self.next = 0, None
            return
        shares, norms = np.empty(p, problem.dtype), np.empty(p)
        residuals = np.empty((p, problem.n), problem.dtype)
        kernels.peel(qr.Qt[t:], selection.residual, shares, residuals, norms)
        low = np.flatnonzero(norms <= floor)
        p = int(low[0]) + 1 if low.size else p
        stand, followers = self._check(J[:p], t, m, shares)
        qr.truncate(t + stand)
        picks = [pick, *followers]
        selection.record(picks, shares[:stand].tolist(), residuals[stand - 1].copy(), norms[:stand].tolist())
        selection.c = self.c
        self._most = min(_MOST, max(self._most, 2 * p) if stand == p else max(4, 2 * stand))

    def _check(self, J: IndexArray, t: int, m: int, shares: FloatArray) -> tuple[int, list[Pick]]:
        """How many of the picks J stand, the first of which does, and the others of these."""
        p = len(J)
        checks = p - 1 if m + p == self.k else p  # after the k-th pick no correlation is needed
        W = self.W[t : t + checks]
        self.problem.correlate_rows(self.selection.qr.Qt[t : t + checks], W, self.count)
        self._support[m : m + p] = J
        self._support[m + p] = -1
        errors = np.array([self._error(kappa) for kappa in self.selection.qr.kappas(t + 1)])
        found = np.full(p, -1)
        lam, margin = np.empty(p), np.empty(p)
        stand, flag = kernels.descend(
            self.c, self._bits, self._mask, W, shares, self._support, m,
            self._norms, self._heavy, errors, found, lam, margin,
        )  # fmt: skip
        clear = flag == kernels.CLEAR
        nexts = [Next(*values) for values in zip(found.tolist(), lam.tolist(), margin.tolist(), strict=True)]
        if checks < p and (checks == 0 or (clear and found[checks - 1] == J[checks])):
            stand = p
        self.next = nexts[stand - 1] if clear else None
        return stand, [self._pick(*step) for step in nexts[: stand - 1]]

    def _guess(self, first: int, room: int) -> tuple[IndexArray, FloatArray]:
        """The pick that is known and those guessed to follow, `room` at most in all; with their columns."""
        problem, t = self.problem, self.selection.qr.size
        M = max(32, min(256, problem.d // 8))
        if room <= 1:
            J = np.array([first])
            return J, problem.rows_of_columns(J, 1)
        size = np.abs(self.c)
        if M < problem.d:
            order = np.argpartition(size, problem.d - M - 1)
            C, cut = np.sort(order[-M:]), _TRUST * float(size[order[-M - 1]])
        else:
            C, cut = np.arange(problem.d), 0.0
        at = int(np.searchsorted(C, first))
        if at == M or C[at] != first:
            C, at = np.append(C, first), len(C)
        A = problem.rows_of_columns(C, self.count)
        picks = np.empty(room, np.intp)
        unit = np.ones(len(C), problem.dtype)
        p = kernels.guess(A, self.W[:t, C], self.c[C], unit, unit, False, at, cut, room, picks)
        return C[picks[:p]], A[picks[:p]]
