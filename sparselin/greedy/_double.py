"""A float32 problem followed in float64, as far as someone asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.linalg.products import rows_of_columns
from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.results import IndexArray
from sparselin.ties import Measured, measure


class Double:
    """What float32 correlations leave open is decided by those of the few columns concerned.

    The factorisation in float64 grows with the selection.
    """

    def __init__(self, problem: Problem) -> None:
        self.data, self.problem = problem, _InDouble(problem)
        self.qr = ThinQR(self.problem)

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Read the columns J in one go, to be at hand until others are, and follow S = index at once."""
        self.problem.keep(J)
        self._follow(index)

    def measure(self, J: IndexArray, index: list[int]) -> Measured:
        """The columns J beside S = index."""
        return measure(self._follow(index), J, self.data)

    def _follow(self, index: list[int]) -> ThinQR:
        """The factorisation for S = index."""
        qr, same = self.qr, 0
        while same < min(len(index), qr.size) and index[same] == qr.index[same]:
            same += 1
        qr.truncate(same)
        qr.extend(index[same:], self.problem.columns(index[same:]).T)
        return qr


class _InDouble(Problem):
    """A float32 problem in float64; columns are converted as they are asked for."""

    def __init__(self, problem: Problem) -> None:
        norms = problem.column_norms.astype(np.float64)
        y, dtype, eps = problem.y.astype(np.float64), np.dtype(np.float64), problem.double_eps
        vars(self).update(vars(problem) | {"eps": eps, "column_norms": norms, "y": y, "dtype": dtype})
        self._single = problem
        self.keep(np.zeros(0, np.intp))

    def keep(self, J: IndexArray) -> None:
        """Have the columns J at hand, and no others."""
        self._rows, self._place = np.zeros((0, self.n)), {j: i for i, j in enumerate(J.tolist())}
        if len(J):
            self._rows = rows_of_columns(self._single, J, 1).astype(np.float64)

    def block(self, J: IndexArray) -> Any:
        if self._place and all(j in self._place for j in J.tolist()):
            return self._rows[[self._place[j] for j in J.tolist()]].T
        return self.X[:, J].astype(np.float64)
