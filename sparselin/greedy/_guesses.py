"""What greedy selection would take next, guessed among a few columns.

The guesses follow the same rule on the columns with the largest scores, in float32. They need not be right:
`sparselin.greedy._blocks` checks each on all columns.
"""

from __future__ import annotations

import numpy as np

from sparselin._kernels import blocks as kernels
from sparselin.linalg.products import THIN, gather
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

FEW = 4  # rows of a product that cost little more than one
STRIDE = 8  # matrix products of a multiple of so many rows are faster than those of fewer
_MOST = 32  # columns multiplied for a block; more would go wrong too often
# A guess counts while its score is so many times the best one left out: more of them where a block costs
# more than the columns guessed wrong, on up to so many numbers.
_TRUST, _TRUST_SMALL, _SMALL = 1.1, 0.5, 10**6
_NARROW = 2048  # up to so many columns, to fetch some from C order is to read them all


class Guesses:
    """The columns of a dense problem among which guesses are made.

    Attributes
    ----------
    most : columns that guesses may add to a block, at the most.
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
        # columns of unit length that are candidates, or were
        self._unit = np.empty((max(self._candidates, min(1024, d // 8)), n), np.float32)
        self._slot = np.full(d, -1)  # where in _unit a column is
        self._owner = np.full(len(self._unit), -1)  # and which column a row is

    def after(
        self, first: int, room: int, most: int, W: FloatArray, c: FloatArray, scale: FloatArray | None
    ) -> list[int]:
        """The column `first`, which is known, and those guessed to follow it: min(room, most) in all at most.

        W = QᵀX, and scores are |c_j|, or |c_j|·scale_j.
        """
        size, M = np.abs(c if scale is None else c * scale), self._candidates
        # a score that is zero in float32 float64 may know for the largest; of what follows nothing is known
        if room == 1 or size[first] == 0:
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
        cosines = (
            c[C] / norms
        )  # times ‖r‖; in units of the largest they fit into float32, and so do the weights
        unit = float(np.abs(cosines).max())
        candidates = kernels.Candidates(
            unit=self._unit,
            rows=self._fetch(C),
            columns=C,
            shares=(W[:, C] / norms).astype(np.float32),
            correlations=(cosines / unit).astype(np.float32),
            weights=((norms if scale is None else norms * scale[C]) * (unit / top)).astype(np.float32),
        )
        picks = np.empty(min(room, most), np.intp)
        worth = kernels.Worth(cut / top, FEW, THIN, STRIDE)
        p = kernels.guess(candidates, first, scale is not None, worth, picks)
        return list(dict.fromkeys(picks[:p].tolist()))

    def _fetch(self, C: IndexArray) -> IndexArray:
        """Where in `_unit` the columns C are, once those that were not are fetched."""
        slots = self._slot[C]
        missing = slots < 0
        new = C[missing]
        # rows that no candidate needs, those that were never filled first
        needed = np.zeros(len(self._unit), bool)
        needed[slots[~missing]] = True
        rows = np.argsort(needed * 2 + (self._owner >= 0), kind="stable")[: len(new)]
        old = self._owner[rows]
        self._slot[old[old >= 0]] = -1
        self._owner[rows], self._slot[new] = new, rows
        gather(self.problem, new, 1 / self.problem.column_norms[new], self._unit, rows, self.count)
        return self._slot[C]
