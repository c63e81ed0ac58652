"""Guesses of the next picks of greedy selection.

A guess applies the selection rule in float32 to a few columns, those of largest score. It need not be
right, because `sparselin.greedy._blocks` checks each guess against all columns.
"""

from __future__ import annotations

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.linalg.gathered import THIN, gather
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

# Tuned by omp/* and fortran/* of `make bench`. Wrong guesses cost time, but do not change a pick.
FEW = 4  # a product with this many rows costs little more than one with a single row
STRIDE = 8  # a matrix product is faster if its number of rows is a multiple of this
_MOST = 32  # the most columns in a block; in longer blocks too many guesses are wrong
# Guessing stops when the score falls below _TRUST times the largest score outside the candidates. In designs
# of at most _SMALL entries, where a wrong guess costs little, it stops below _TRUST_SMALL times that score.
_TRUST, _TRUST_SMALL, _SMALL = 1.1, 0.5, 10**6
_NARROW = 2048  # gathering some of this many columns in C order reads all of them


class Guesses:
    """The columns of a dense problem, in single precision, among which `_blocks` guesses the next picks.

    Attributes
    ----------
    most : the largest number of picks in a block.
    """

    def __init__(self, problem: Problem, count: int) -> None:
        self.problem, self.count = problem, count
        n, d = problem.n, problem.d
        self.most = min(_MOST, max(2 * STRIDE, n // 40))
        small = n * d <= _SMALL
        self._trust = _TRUST_SMALL if small else _TRUST
        self._candidates = d if d <= 128 else max(64, min(256, d // 8))
        if not small and 128 < d <= _NARROW:
            self._candidates = max(64, min(320, d // 6))
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
        size, M = np.abs(c if scale is None else c * scale), self._candidates
        # a pick decided in float64 may have score zero in float32; then the next ones cannot be guessed
        if limit == 1 or size[first] == 0:
            return [first]
        if len(size) > M:
            order = np.argpartition(size, len(size) - M - 1)
            C, cut = np.sort(order[-M:]), self._trust * float(size[order[-M - 1]])
            C = C[size[C] > 0]
            if not np.any(first == C):
                C[0] = first
        else:
            C, cut = np.flatnonzero(size), 0.0
        top, norms = float(size[C].max()), self.problem.column_norms[C]
        cosines = c[C] / norms  # times ‖r‖
        # dividing by `unit` brings cosines and weights into the range of float32
        unit = float(np.abs(cosines).max())
        candidates = kernels.SingleColumns(
            unit=self._unit,
            rows=self._fetch(C),
            columns=C,
            shares=(W[:, C] / norms).astype(np.float32),
            correlations=(cosines / unit).astype(np.float32),
            weights=((norms if scale is None else norms * scale[C]) * (unit / top)).astype(np.float32),
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
