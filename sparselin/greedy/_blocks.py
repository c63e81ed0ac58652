"""Greedy selection by blocks of picks: each pick costs a fraction of one pass over X.

Textbook OMP reads all of X for every pick. Here the next p picks are guessed: greedy selection in float32 is
run on a few columns, those of largest score. The guessed columns are orthonormalised to q_1, …, q_p. Let r_s
be the residual before the s-th guess, c_s = Xᵀr_s and W_s = Xᵀq_s. One matrix product computes W_1, …, W_p.
With them the correlations of all columns are known after each guess:

    c_{s+1} = Xᵀr_{s+1} = c_s − ⟨q_s, r_s⟩ W_s.

So every guess is checked against all d columns. The picks before the first wrong guess are accepted. The
first pick is known, not guessed, so each matrix product yields at least one pick. A product reads X once for
p picks, so its speed is limited by arithmetic, not by memory.

The Gram matrix XᵀX is not used, so errors are not multiplied by the condition number of X. The error of W_s
at column j is eps·√n·‖X_j‖, where eps is the machine epsilon. The corrections ⟨q_s, r_s⟩W_s have independent
errors, and Σ⟨q_s, r_s⟩² ≤ ‖y‖². So the error of their sum at column j is eps·√n·‖X_j‖‖y‖, the same as the
error of ⟨X_j, r_s⟩ computed directly.

A guess need not be right, because it is checked. So it applies the selection rule in float32 to a few
columns, those of largest score (`Guesses`).
"""

from typing import Any

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.greedy._method import GreedyMethod
from sparselin.greedy._outcomes import AddedPicks, Dependent, Outcome, Undecided
from sparselin.greedy._selection import Selection
from sparselin.greedy._single import ByRule
from sparselin.greedy._walk import Pick
from sparselin.linalg.gathered import THIN, correlate_rows, gather, rows_of_columns
from sparselin.linalg.ties import relative_margin, tied_at_maximum
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

# Tuned by omp/* and fortran/* of `make bench`. Wrong guesses cost time, but do not change a pick.
FEW = 4  # a product with this many rows costs little more than one with a single row
STRIDE = 8  # a matrix product is faster if its number of rows is a multiple of this
_MOST = 32  # the most columns in a block; in longer blocks too many guesses are wrong
# Guessing stops when the score falls below _TRUST times the largest score outside the candidates.
_TRUST = 1.1
_NARROW = 2048  # gathering some of this many columns in C order reads all of them
# Blocks are faster than single picks if a block yields on average at least this many picks (omp/* of `make
# bench`).
_PICKS_PER_BLOCK = 8


class Guesses:
    """The columns of a dense problem, in single precision, among which the next picks are guessed.

    Attributes
    ----------
    most : the largest number of picks in a block.
    """

    def __init__(self, problem: Problem, count: int) -> None:
        self.problem, self.count = problem, count
        n, d = problem.n, problem.d
        self.most = min(_MOST, max(2 * STRIDE, n // 40))
        few = min(320, d // 6) if d <= _NARROW else min(256, d // 8)
        self._candidates = d if d <= 128 else max(64, few)
        # a cache of X_j/‖X_j‖ for columns that are or were candidates
        self._unit = np.empty((max(self._candidates, min(1024, d // 8)), n), np.float32)
        self._slot = np.full(d, -1)  # the row of _unit that holds column j, or −1
        self._owner = np.full(len(self._unit), -1)  # the column that a row holds, or −1

    def after(
        self, first: int, limit: int, most: int, W: FloatArray, c: FloatArray, scale: FloatArray | None
    ) -> list[int]:
        """Return the known pick `first`, followed by guesses of the picks after it.

        limit, most : two limits; at most min(limit, most) picks are returned, `first` included.
        W : QᵀX, where X_S = QR is the factorisation of the columns selected so far.
        c : (d,) Xᵀr, where r is the residual. The scores are |c_j|, or |c_j|·scale_j if `scale` is given.
        """
        size = np.abs(c if scale is None else c * scale)
        M = self._candidates
        # a pick decided in float64 may have score zero in float32; then the next ones cannot be guessed
        if limit == 1 or size[first] == 0:
            return [first]
        if len(size) > M:
            order = np.argpartition(size, len(size) - M - 1)
            C = np.sort(order[-M:])
            cut = _TRUST * float(size[order[-M - 1]])
            C = C[size[C] > 0]
            if not np.any(first == C):
                C[0] = first
        else:
            C = np.flatnonzero(size)
            cut = 0.0
        top = float(size[C].max())
        norms = self.problem.column_norms[C]
        cosines = c[C] / norms  # times ‖r‖
        # dividing by `unit` brings cosines and weights into the range of float32
        unit = float(np.abs(cosines).max())
        shares = (W[:, C] / norms).astype(np.float32)
        correlations = (cosines / unit).astype(np.float32)
        weights = ((norms if scale is None else norms * scale[C]) * (unit / top)).astype(np.float32)
        candidates = kernels.SingleColumns(
            unit=self._unit,
            rows=self._fetch(C),
            columns=C,
            shares=shares,
            correlations=correlations,
            weights=weights,
        )
        picks = np.empty(min(limit, most), np.intp)
        rule = kernels.Acceptance(cut / top, FEW, THIN, STRIDE)
        p = kernels.guess(candidates, first, scale is not None, rule, picks)
        return list(dict.fromkeys(picks[:p].tolist()))

    def _fetch(self, C: IndexArray) -> IndexArray:
        """Add the columns C to the cache `_unit`, unless they are there; return their rows in the cache."""
        slots = self._slot[C]
        missing = slots < 0
        new = C[missing]
        # fill rows that no candidate needs, empty ones first
        needed = np.zeros(len(self._unit), bool)
        needed[slots[~missing]] = True
        rows = np.argsort(needed * 2 + (self._owner >= 0), kind="stable")[: len(new)]
        old = self._owner[rows]
        self._slot[old[old >= 0]] = -1
        self._owner[rows], self._slot[new] = new, rows
        gather(self.problem.design, new, 1 / self.problem.column_norms[new], self._unit, rows, self.count)
        return self._slot[C]


class Blocks(ByRule):
    """The scheme that guesses several picks at once and then checks them, for a dense problem.

    Let S be the selected columns, X_S = QR their factorisation, and r the residual. The scheme updates
    W = QᵀX and c = Xᵀr after each block of picks.
    """

    def __init__(self, selection: Selection, method: GreedyMethod, k: int, count: int) -> None:
        super().__init__(selection)
        problem, qr = selection.problem, selection.qr
        lengths = method.lengths
        self.problem = problem
        self.k = k
        self.count = count
        self.lengths = lengths
        self.with_active = method.with_active
        self.complete = method.audit is not None
        self.guesses = Guesses(problem, count)
        self._most = self.guesses.most
        capacity = min(k, problem.n) + STRIDE  # a product is padded by less than a stride
        qr.reserve(capacity)
        self.W = np.empty((capacity, problem.d), problem.dtype)
        if qr.size:
            correlate_rows(problem, qr.Qt, self.W[: qr.size], count)
        self.c = selection.correlations()
        score = self.c if lengths is None else np.empty_like(self.c)
        weights = problem.column_norms if lengths is None else np.empty_like(self.c)
        integer = np.int32 if problem.dtype == np.float32 else np.int64
        bits = score.view(integer)
        mask = integer(np.iinfo(integer).max)
        self._scores = kernels.WeightedScores(score, weights, bits, mask, _block_maxima(problem.column_norms))
        # the most columns, tied at the maximum in float32, that are compared in float64
        self._max_candidates = 16 if lengths is None and problem.dtype == np.float32 else 1
        self._next = self._search()
        self._start = len(selection.trail.picks)
        self._blocks = 0

    @property
    def efficient(self) -> bool:
        """Return whether blocks have yielded enough picks, on average, to be faster than single picks."""
        return len(self.selection.trail.picks) - self._start >= _PICKS_PER_BLOCK * self._blocks

    def _error(self, kappa: Any) -> Any:
        """Return a bound on the error of c_j/‖X_j‖, where c = Xᵀr are the correlations with the residual r.

        kappa : the condition number of X_S, the selected columns.
        """
        return self.problem.rounding(kappa) * self.problem.y_norm

    def _search(self) -> Pick | None:
        qr = self.selection.qr
        scores = self._scores
        if self.lengths is not None:
            self.lengths.update(qr)
            kernels.rescale(self.c, self.lengths.arrays(), scores)
        best, top, second, count = kernels.find(scores, self._error(qr.kappa), np.empty(1, np.intp))
        return self._certain(best, float(abs(self.c[best])), (top - second) / top) if count == 1 else None

    def _certain(self, feature: int, lam_star: float, margin: float) -> Pick:
        return Pick.certain(feature, lam_star, margin, self.with_active)

    def extend(self, pick: Pick | None, floor: float, limit: int) -> Outcome:
        pick = pick or self._next
        if pick is None:
            return Undecided()
        qr = self.selection.qr
        lengths = self.lengths
        t = self.selection.qr.size
        scale = None if lengths is None else lengths.scale
        J = np.array(self.guesses.after(pick.feature, limit, self._most, self.W[:t], self.c, scale))
        p = qr.extend(J.tolist(), rows_of_columns(self.problem.design, J, self.count))
        if p == 0:
            self.selection.exclude(pick.feature)
            if lengths is not None:
                lengths.exclude(pick.feature)
            self._next = self._search()
            return Dependent(pick.feature)
        projections, norms = qr.reductions(t, self.selection.fit.residual)
        low = np.flatnonzero(norms <= floor)
        p = int(low[0]) + 1 if low.size else p
        right, nexts, stale = self._check(J[:p], projections[:p], t)
        qr.truncate(t + right)
        self._blocks += 1
        grown = right + (right + 1) // 2
        self._most = min(self.guesses.most, max(self._most, grown) if right == p else max(FEW, grown))
        if lengths is not None:
            lengths.size = qr.size
        self._next = self._search() if stale else nexts[right - 1]
        picks = [pick, *(step for step in nexts[: right - 1] if step)]
        projections = projections[:right]
        r = self.selection.fit.residual
        r = r - projections @ qr.Qt[t:]
        return AddedPicks(picks, projections.tolist(), norms[:right].tolist(), r, self.c)

    def products(self, t: int) -> FloatArray:
        return self.W[t : self.selection.qr.size]

    def _multiply(self, t: int, p: int) -> int:
        """Compute the rows t, …, t + p − 1 of W = QᵀX; return how many of these rows are known afterwards.

        X_S = QR is the factorisation of the selected columns. All p rows become known, with one exception:
        the row of the k-th pick is not computed unless `complete` is set, because no correlation is needed
        after this pick. The product is padded with unused rows to a multiple of STRIDE, because such a
        product is faster.
        """
        known = p - (not self.complete and len(self.selection.trail.picks) + p == self.k)
        stop = t + (known if known <= THIN else -(-known // STRIDE) * STRIDE)
        if known:
            correlate_rows(self.problem, self.selection.qr.rows(t, stop), self.W[t:stop], self.count)
        return known

    def _check(self, J: IndexArray, projections: FloatArray, t: int) -> tuple[int, list[Pick | None], bool]:
        """Check the guessed picks J against all columns.

        X_S = QR is the factorisation of the selected columns.

        projections : ⟨q, r⟩ for each pick, where q is the column that the pick adds to Q, and r the residual.
        t : the number of columns of Q before these picks.

        Returns
        -------
        Three results: the number of leading picks that are verified, at least 1; for each pick, the pick that
        certainly follows it, or None if that is undecided; and whether the lengths ρ_j = ‖P_S^⊥X_j‖ must be
        recomputed before the next search.
        """
        p = len(J)
        known = self._multiply(t, len(J))
        candidates = np.empty((p, self._max_candidates), np.intp)
        counts = np.zeros(p, np.intp)
        errors = self._error(self.selection.qr.kappas(t + 1)[:p])
        steps = kernels.GuessedSteps(
            picks=J,
            shares=projections,
            errors=errors,
            lam=np.empty(p),
            margin=np.empty(p),
            candidates=candidates,
            counts=counts,
        )
        out = np.array(self.selection.excluded, np.intp)
        W = self.W[t : t + known]
        before = self.c.copy() if self._max_candidates > 1 else self.c
        if self.lengths is None:
            right = kernels.descend(self.c, W, steps, out, self._scores)
        else:
            right = kernels.descend_ratios(self.c, W, steps, out, self._scores, self.lengths.arrays())
        nexts = [
            self._certain(*step) if count == 1 else None
            for *step, count in zip(
                *(a.tolist() for a in (candidates[:, 0], steps.lam, steps.margin, counts)), strict=True
            )
        ]
        undecided = [
            s
            for s in range(min(right, p - 1))
            if candidates[s, 0] == J[s + 1] and 1 < counts[s] <= self._max_candidates
        ]
        wrong = self._confirm(steps, nexts, undecided, t) if undecided else None
        if wrong is not None:
            right = wrong + 1
            self.c[:] = before - projections[:right] @ W[:right]
            self.c[out] = self.c[J[:right]] = 0
        if known < p and right in (0, known):
            end = nexts[known - 1] if known else None
            right = p if known == 0 or (end is not None and end.feature == J[known]) else right
        return right, nexts, bool(counts[right - 1] == kernels.STALE)

    def _confirm(
        self, steps: kernels.GuessedSteps, nexts: list[Pick | None], undecided: list[int], t: int
    ) -> int | None:
        """Decide in float64 which pick follows each of the `undecided` steps, and write it to `nexts`.

        Returns the first step after which the pick differs from the guess, or None if there is no such step.
        If a candidate is in the span of the selected columns, its correlation is exactly zero, and the second
        largest correlation may belong to a column that is not a candidate. Then the guess counts as wrong,
        and the search on all columns decides.
        """
        double, index = self.selection.fit.double, self.selection.qr.index
        columns = {s: steps.candidates[s, : steps.counts[s]] for s in undecided}
        last = max(undecided)
        double.prepare(
            np.unique(np.concatenate([steps.picks[: last + 1], *columns.values()])), index[: t + last + 1]
        )
        for s, candidates in columns.items():
            c, error, coarse = double.measure(candidates, index[: t + s + 1]).correlations()
            lam, tied = tied_at_maximum(c, error)
            if tied.tolist() != [0] or lam <= coarse * error[0] or not error.all():
                nexts[s] = None
                return s
            nexts[s] = self._certain(int(candidates[0]), lam, relative_margin(c, 0, lam))
        return None


def _block_maxima(weights: FloatArray) -> FloatArray:
    """Return the maximum of the weights in each block of entries; the kernels search block by block."""
    return np.maximum.reduceat(weights, np.arange(0, len(weights), kernels.BLOCK))
