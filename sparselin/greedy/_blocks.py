"""Greedy selection a block of picks at a time, at a fraction of one pass over X for each.

The textbook reads all of X for every pick. Here the next p picks are guessed, by exact selection among
the columns whose correlations are largest now; their orthonormal directions q_1..q_p are formed; and one
matrix product W = XᵀQ_p tells all correlations after each of them,

    c_{s+1} = Xᵀr_{s+1} = c_s − ⟨q_s, r_s⟩ W_s,

so that every guess is checked against all d columns. The picks up to the first wrong guess stand, and
the first is no guess, so that each product serves at least as well as the textbook's. It reads X once
for p picks, and is bound by arithmetic, not by memory.

No correlation comes from a recurrence on Gram matrices: W errs by eps·√n·‖X_j‖,
and the corrections together by that times ‖y‖, as c itself does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.greedy._guesses import FEW, STRIDE, Guesses
from sparselin.greedy._lengths import Lengths
from sparselin.greedy._selection import Followed, Pick, Selection
from sparselin.linalg.products import THIN, correlate_rows, rows_of_columns
from sparselin.results import FloatArray, IndexArray
from sparselin.ties import relative_margin, tied_at_maximum

_WORTH_A_BLOCK = 8  # picks that a block must hold, on the average, to be faster than single picks


class Blocks:
    """The block scheme on a dense problem: W = XᵀQ and c = Xᵀr beside a selection."""

    def __init__(
        self,
        selection: Selection,
        k: int,
        count: int,
        lengths: Lengths | None,
        clear_sets: bool,
        complete: bool,
    ) -> None:
        problem, qr = selection.problem, selection.qr
        self.problem, self.selection, self.k, self.count = problem, selection, k, count
        self.lengths, self.clear_sets, self.complete = lengths, clear_sets, complete
        self.guesses = Guesses(problem, count)
        self._most = self.guesses.most
        room = min(k, problem.n) + STRIDE  # a product is filled up by less than a stride
        qr.make_room(room)
        self.W = np.empty((room, problem.d), problem.dtype)
        if qr.size:
            correlate_rows(problem, qr.Qt, self.W[: qr.size], count)
        self.c = selection.correlations()
        score = self.c if lengths is None else np.empty_like(self.c)
        weights = problem.column_norms if lengths is None else np.empty_like(self.c)
        integer = np.int32 if problem.dtype == np.float32 else np.int64
        bits, mask = score.view(integer), integer(np.iinfo(integer).max)
        self._scores = kernels.Scores(score, weights, bits, mask, _block_maxima(problem.column_norms))
        # how many near the maximum a block may pass by, to be told apart in float64
        self._patience = 16 if lengths is None and problem.dtype == np.float32 else 1
        self._next = self._search()
        self._start, self._blocks = len(selection.picks), 0

    @property
    def pays(self) -> bool:
        """Whether its blocks have held picks enough, on the average, to be faster than single picks."""
        return len(self.selection.picks) - self._start >= _WORTH_A_BLOCK * self._blocks

    def _error(self, kappa: Any) -> Any:
        """e_c/‖X_j‖."""
        return self.problem.rounding(kappa) * self.problem.y_norm

    def _search(self) -> Pick | None:
        qr, scores = self.selection.qr, self._scores
        if self.lengths is not None:
            self.lengths.follow(qr)
            kernels.rescale(self.c, self.lengths.arrays(), scores)
        best, top, second, count = kernels.find(scores, self._error(qr.kappa), np.empty(1, np.intp))
        return self._clear(best, float(abs(self.c[best])), (top - second) / top) if count == 1 else None

    def clear_pick(self) -> Pick | None:
        return self._next

    def _clear(self, feature: int, lam_star: float, margin: float) -> Pick:
        return Pick.clear(feature, lam_star, margin, self.clear_sets)

    def follow(self, pick: Pick, floor: float, limit: int) -> Followed:
        qr, lengths, t = self.selection.qr, self.lengths, self.selection.qr.size
        scale = None if lengths is None else lengths.scale
        J = np.array(self.guesses.after(pick.feature, limit, self._most, self.W[:t], self.c, scale))
        p = qr.extend(J.tolist(), rows_of_columns(self.problem, J, self.count))
        if p == 0:
            self.c[pick.feature] = 0
            if lengths is not None:
                lengths.bar(pick.feature)
            self._next = self._search()
            return Followed([], [], [])
        shares, norms = qr.reductions(t, self.selection.residual)
        low = np.flatnonzero(norms <= floor)
        p = int(low[0]) + 1 if low.size else p
        stand, nexts, stale = self._check(J[:p], shares[:p], t)
        qr.truncate(t + stand)
        self._blocks += 1
        grown = stand + (stand + 1) // 2
        self._most = min(self.guesses.most, max(self._most, grown) if stand == p else max(FEW, grown))
        if lengths is not None:
            lengths.size = qr.size
        self._next = self._search() if stale else nexts[stand - 1]
        picks = [pick, *(step for step in nexts[: stand - 1] if step)]
        return Followed(picks, shares[:stand].tolist(), norms[:stand].tolist(), self.c)

    def products(self, t: int) -> FloatArray:
        return self.W[t : self.selection.qr.size]

    def _multiply(self, t: int, p: int) -> int:
        """W for p columns of Q from the t-th on; for how many it is known then.

        After the k-th pick no correlation is needed, unless W is wanted complete. As many more rows, of no
        use, are multiplied as make the product faster.
        """
        known = p - (not self.complete and len(self.selection.picks) + p == self.k)
        stop = t + (known if known <= THIN else -(-known // STRIDE) * STRIDE)
        if known:
            correlate_rows(self.problem, self.selection.qr.rows(t, stop), self.W[t:stop], self.count)
        return known

    def _check(self, J: IndexArray, shares: FloatArray, t: int) -> tuple[int, list[Pick | None], bool]:
        """How many of the picks J stand (the first does), what is clear to come after each, and STALE."""
        p, known = len(J), self._multiply(t, len(J))
        near, counts = np.empty((p, self._patience), np.intp), np.zeros(p, np.intp)
        errors = self._error(self.selection.qr.kappas(t + 1)[:p])
        steps = kernels.Steps(J, shares, errors, np.empty(p), np.empty(p), near, counts)
        out, W = np.array(self.selection.out, np.intp), self.W[t : t + known]
        before = self.c.copy() if self._patience > 1 else self.c
        if self.lengths is None:
            stand = kernels.descend(self.c, W, steps, out, self._scores)
        else:
            stand = kernels.descend_scaled(self.c, W, steps, out, self._scores, self.lengths.arrays())
        nexts = [
            self._clear(*step) if count == 1 else None
            for *step, count in zip(
                *(a.tolist() for a in (near[:, 0], steps.lam, steps.margin, counts)), strict=True
            )
        ]
        unclear = [
            s for s in range(min(stand, p - 1)) if near[s, 0] == J[s + 1] and 1 < counts[s] <= self._patience
        ]
        wrong = self._confirm(steps, nexts, unclear, t) if unclear else None
        if wrong is not None:
            stand = wrong + 1
            self.c[:] = before - shares[:stand] @ W[:stand]
            self.c[out] = self.c[J[:stand]] = 0
        if known < p and stand in (0, known):
            end = nexts[known - 1] if known else None
            stand = p if known == 0 or (end is not None and end.feature == J[known]) else stand
        return stand, nexts, bool(counts[stand - 1] == kernels.STALE)

    def _confirm(
        self, steps: kernels.Steps, nexts: list[Pick | None], unclear: list[int], t: int
    ) -> int | None:
        """Have float64 say what comes after these picks; the first after which it is not what was guessed."""
        double, index = self.selection.double, self.selection.qr.index
        columns = {s: steps.near[s, : steps.counts[s]] for s in unclear}
        last = max(unclear)
        double.prepare(
            np.unique(np.concatenate([steps.picks[: last + 1], *columns.values()])), index[: t + last + 1]
        )
        for s, near in columns.items():
            c, error, coarse = double.measure(near, index[: t + s + 1]).correlations()
            lam, tied = tied_at_maximum(c, error)
            if tied.tolist() != [0] or lam <= coarse * error[0]:
                nexts[s] = None
                return s
            nexts[s] = self._clear(int(near[0]), lam, relative_margin(c, 0, lam))
        return None


def _block_maxima(weights: FloatArray) -> FloatArray:
    """Maxima over the blocks that the kernels search."""
    return np.maximum.reduceat(weights, np.arange(0, len(weights), kernels.BLOCK))
