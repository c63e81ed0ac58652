"""Greedy selection a block of picks at a time, at a fraction of one pass over X for each.

The textbook reads all of X for every pick. Here the next p picks are guessed, by exact selection among
the columns whose correlations are largest now; their orthonormal directions q_1..q_p are formed; and one
matrix product W = XᵀQ_p tells all correlations after each of them,

    c_{s+1} = Xᵀr_{s+1} = c_s − ⟨q_s, r_s⟩ W_s,

so that every guess is checked against all d columns. The picks up to the first wrong guess stand, and
the first is no guess, so that each product serves at least as well as the textbook's. It reads X once
for p picks, and is bound by arithmetic, not by memory.

What was guessed wrongly was mostly guessed too early. The directions Z of such columns are kept beside
Q, with XᵀZ. When some of the columns are wanted after all, after others that have come in between, Z is
turned by an orthogonal U so that they come first, and XᵀZ by the same U: no second product with X.

No correlation comes from a recurrence on Gram matrices: W errs by eps·√n·‖X_j‖, also after turns, which are
orthogonal, and the corrections together by that times ‖y‖, as c itself does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.greedy._guesses import FEW, STRIDE, Guesses
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Pick, Selection
from sparselin.parallel.threads import spread
from sparselin.problem import THIN
from sparselin.results import FloatArray, IndexArray
from sparselin.ties import relative_margin, tied_at_maximum

# Picks that a block must hold, on the average, to be faster than single steps, which read a copy of X of two
# bytes a number, either from the cache or from memory.
_WORTH_A_BLOCK, _WORTH_A_LARGE_BLOCK, _IN_CACHE = 16, 8, 24 * 10**6
_WORTH_A_THREAD = 5 * 10**6  # products in turning W that repay the waking of a thread
_TURNS = 64  # of Z before it is made anew: each adds about eps to the error of its lengths
_STRIP = 512  # columns of W that are turned at a time


class Blocks:
    """The block scheme on a dense problem, carrying a selection forward.

    Attributes
    ----------
    next : the next pick, or None where it is not clear.
    """

    def __init__(
        self,
        selection: Selection,
        k: int,
        count: int,
        lengths: Lengths | None,
        clear_sets: bool,
        complete: bool,
    ) -> None:
        problem = selection.problem
        self.problem, self.selection, self.k, self.count = problem, selection, k, count
        self.lengths, self.clear_sets, self.complete = lengths, clear_sets, complete
        t, d = selection.qr.size, problem.d
        self.guesses = Guesses(problem, count)
        self._most = self.guesses.most
        # spare columns to keep: to turn them repays on large X, and they take room like the selected ones
        self._kept = 0 if self.guesses.small else min(self._most, problem.n // 100)
        self._turns = 0
        # [Q Z] has at most k + kept columns, and n; a product is filled up by less than a stride
        room = min(k, problem.n) + self._kept + STRIDE
        selection.qr.make_room(room)
        self.W = np.empty((room, d), problem.dtype)  # Xᵀ[Q Z], by rows
        if t:
            problem.correlate_rows(selection.qr.Qt, self.W[:t], count)
        self.c = selection.correlations()
        self.score = self.c if lengths is None else np.empty_like(self.c)
        integer = np.int32 if problem.dtype == np.float32 else np.int64
        self._bits, self._mask = self.score.view(integer), integer(np.iinfo(integer).max)
        self._norms = problem.column_norms
        self._weights = self._norms if lengths is None else np.empty_like(self.c)
        self._heavy = _block_maxima(self._norms)
        # what is selected or barred, barred being what the QR refuses: dependent columns
        self._out = np.full(d + 1, -1)
        self._out[: len(selection.picks)] = selection.support
        self._n_out = len(selection.picks)
        # how many near the maximum a block may pass by, to be told apart in float64
        self._patience = 16 if lengths is None and problem.dtype == np.float32 else 1
        self.next = self._search()
        self._start, self._blocks = len(selection.picks), 0

    @property
    def pays(self) -> bool:
        """Whether its blocks have held picks enough, on the average, to be faster than single steps."""
        worth = _WORTH_A_BLOCK if self.problem.n * self.problem.d <= _IN_CACHE else _WORTH_A_LARGE_BLOCK
        return len(self.selection.picks) - self._start >= worth * self._blocks

    def _error(self, kappa: Any) -> Any:
        """e_c/‖X_j‖."""
        return self.problem.rounding(kappa) * self.problem.y_norm

    def _search(self) -> Pick | None:
        qr, lengths = self.selection.qr, self.lengths
        if lengths is not None:
            lengths.follow(qr)
            self.score[:] = self.c * lengths.scale
            self._weights[:] = lengths.weights(self.score)
            self._heavy = _block_maxima(self._weights)
        best, margin, count = kernels.find(
            self.score, self._bits, self._mask, self._weights, self._heavy, self._error(qr.kappa)
        )
        return self._clear(best, float(abs(self.c[best])), margin) if count == 1 else None

    def clear_pick(self) -> Pick | None:
        return self.next

    def _clear(self, feature: int, lam_star: float, margin: float) -> Pick:
        return Pick.clear(feature, lam_star, margin, self.clear_sets)

    def take(self, pick: Pick, floor: float, limit: int) -> bool:
        selection, qr = self.selection, self.selection.qr
        t, m = qr.size, self._n_out
        if pick.feature in self._out[:m]:
            return False
        scale = None if self.lengths is None else self.lengths.scale
        room = min(limit, self.k - len(selection.picks))
        J, known = self._factor(self.guesses.after(pick.feature, room, self._most, qr, self.W, self.c, scale))
        p = len(J)
        if p == 0:
            self._out[m], self._n_out = pick.feature, m + 1
            self.c[pick.feature] = 0
            if self.lengths is not None:
                self.lengths.bar(pick.feature)
            self.next = self._search()
            return True
        shares, norms = qr.reductions(t, selection.residual)
        low = np.flatnonzero(norms <= floor)
        p = int(low[0]) + 1 if low.size else p
        stand, nexts, stale = self._check(np.array(J[:p]), min(p, known), t, m, shares)
        qr.truncate(t + stand)
        del qr.spare[
            min(self._kept, known - stand if known < len(J) else self._kept) :
        ]  # W is known of these
        self._n_out = m + stand
        self._blocks += 1
        picks = [pick, *(step for step in nexts[: stand - 1] if step)]
        residual = selection.residual - shares[:stand] @ qr.Qt[t : t + stand]
        selection.record(picks, shares[:stand].tolist(), residual, norms[:stand].tolist())
        selection.c = self.c
        grown = stand + (stand + 1) // 2
        self._most = min(self.guesses.most, max(self._most, grown) if stand == p else max(FEW, grown))
        if self.lengths is not None:
            self.lengths.size = qr.size
        self.next = self._search() if stale else nexts[stand - 1]
        return True

    def products(self, t: int) -> FloatArray:
        return self.W[t : self.selection.qr.size]

    def _factor(self, J: list[int]) -> tuple[list[int], int]:
        """Take the columns J, as far as independent, into the QR; for how many of them W is known then.

        What the QR holds in spare costs no product with X: W turns with Z. After the k-th pick no correlation
        is needed, unless W is wanted complete.
        """
        qr = self.selection.qr
        end = self.k if not self.complete else -1
        if self._turns == _TURNS or len(self.selection.picks) + 1 == end:
            qr.spare.clear()
            self._turns = 0
        t, start, spare = qr.size, qr.size + len(qr.spare), set(qr.spare)
        new = np.array([j for j in J if j not in spare], np.intp)
        added = qr.reserve(new, self.problem.rows_of_columns(new, self.count), self.W[:start, new])
        order = J if added == len(new) else J[: J.index(new[added])]
        unneeded = int(len(self.selection.picks) + len(order) == end and start == t)
        self._multiply(start, added - unneeded)
        U = qr.arrange(order)
        if U is not None:
            self._turns += 1
            self._turn(U, self.W[t : t + len(U)])
        p = qr.take(len(order))
        if p == 0 and spare:
            qr.spare.clear()
            return self._factor(J)
        return order[:p], min(p, len(order) - unneeded)

    def _turn(self, U: FloatArray, W: FloatArray) -> None:
        """W ← UᵀW."""

        def turn(start: int, stop: int) -> None:
            for a in range(start, stop, _STRIP):
                strip = W[:, a : min(a + _STRIP, stop)]
                strip[:] = U.T @ strip

        spread(turn, self.problem.d, self.count if W.size * len(U) > _WORTH_A_THREAD else 1)

    def _check(
        self, J: IndexArray, known: int, t: int, m: int, shares: FloatArray
    ) -> tuple[int, list[Pick | None], bool]:
        """How many of the picks J stand (the first does), what is clear to come after each, and STALE.

        Of their W the first `known` are: all, or all but the last.
        """
        p, qr, lengths = len(J), self.selection.qr, self.lengths
        W = self.W[t : t + known]
        self._out[m : m + p] = J
        self._out[m + p] = -1
        errors = self._error(qr.kappas(t + 1)[:p])
        lam, margin, counts = np.empty(p), np.empty(p), np.zeros(p, np.intp)
        near = np.empty((p, self._patience), np.intp)
        before = self.c.copy() if self._patience > 1 else self.c
        arguments = (
            self._bits, self._mask, W, shares, self._out, m,
            self._weights, self._heavy, errors, lam, margin, near, counts,
        )  # fmt: skip
        if lengths is None:
            stand = kernels.descend(self.c, *arguments)
        else:
            stand = kernels.descend_scaled(
                self.c, *arguments, lengths.squares, lengths.measured, lengths.norms, lengths.ratio,
                lengths.scale, self.score,
            )  # fmt: skip
        nexts = [
            self._clear(*step) if count == 1 else None
            for *step, count in zip(*(a.tolist() for a in (near[:, 0], lam, margin, counts)), strict=True)
        ]
        unclear = {
            s: near[s, : counts[s]]
            for s in range(min(stand, p - 1))
            if near[s, 0] == J[s + 1] and 1 < counts[s] <= self._patience
        }
        if unclear:
            last = max(unclear)
            near_by = np.unique(np.concatenate([J[: last + 1], *unclear.values()]))
            self.selection.double.prepare(near_by, qr.index[: t + last + 1])
        for s, columns in unclear.items():
            nexts[s] = self._confirm(columns, t + s + 1)
            if nexts[s] is None:
                self.c[:] = before - shares[: s + 1] @ W[: s + 1]
                self.c[self._out[: m + s + 1]] = 0
                stand = s + 1
                break
        if known < p and stand in (0, known):
            end = nexts[known - 1] if known else None
            stand = p if known == 0 or (end is not None and end.feature == J[known]) else stand
        return stand, nexts, bool(counts[stand - 1] == kernels.STALE)

    def _multiply(self, t: int, p: int) -> None:
        """W for p columns of the QR from t on; as many more, of no use, as make the product faster."""
        stop = t + (p if p <= THIN else -(-p // STRIDE) * STRIDE)
        if p:
            self.problem.correlate_rows(self.selection.qr.rows(t, stop), self.W[t:stop], self.count)

    def _confirm(self, near: IndexArray, size: int) -> Pick | None:
        """The first of those near the maximum if float64 finds it clearly largest, S being `size` columns."""
        c, error, coarse = self.selection.double.measure(near, self.selection.qr.index[:size]).correlations()
        lam, tied = tied_at_maximum(c, error)
        if tied.tolist() != [0] or lam <= coarse * error[0]:
            return None
        return self._clear(int(near[0]), lam, relative_margin(c, 0, lam))


def _block_maxima(weights: FloatArray) -> FloatArray:
    """Maxima over the blocks that the kernels search."""
    return np.maximum.reduceat(weights, np.arange(0, len(weights), kernels.BLOCK))
