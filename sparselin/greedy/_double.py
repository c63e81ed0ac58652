"""A float32 problem in float64, for the columns that float32 leaves undecided."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from sparselin.linalg.gathered import compiled, rows_of_columns
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measured, measure
from sparselin.problem import Problem
from sparselin.problem.design import DesignColumns, weighted
from sparselin.results import IndexArray


class Double:
    """Float64 correlations of the few columns that float32 leaves undecided.

    Its factorisation in float64 is extended when it is asked for, to the selection of that time.
    """

    def __init__(self, problem: Problem) -> None:
        self.data, self.problem = problem, _InDouble(problem)
        self.qr = ThinQR(self.problem)

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Cache the columns J, read in one pass, in place of those cached before; factorise S = index."""
        self.problem.cache(J)
        self.factorise(index)

    def measure(self, J: IndexArray, index: list[int]) -> Measured:
        """The columns J measured at S = index."""
        return measure(self.factorise(index), J, self.data)

    def factorise(self, index: list[int]) -> ThinQR:
        """The factorisation of X_S, S = index, updated from the last one behind their common beginning."""
        qr, same = self.qr, 0
        while same < min(len(index), qr.size) and index[same] == qr.index[same]:
            same += 1
        qr.truncate(same)
        qr.extend(index[same:], self.problem.columns(index[same:]).T)
        return qr


class _InDouble(Problem):
    """A float32 problem in float64; columns are converted when they are asked for."""

    def __init__(self, problem: Problem) -> None:
        vars(self).update(vars(problem))
        vars(self).update(
            eps=problem.double_eps, dtype=np.dtype(np.float64), y=problem.double_y,
            column_norms=problem.column_norms.astype(np.float64), design=problem.double_design,
        )  # fmt: skip
        self._raw = copy.copy(problem)
        vars(self._raw)["X"] = self.design.X
        vars(self._raw)["design"] = DesignColumns(self.design.X)
        self.cache(np.zeros(0, np.intp))

    def cache(self, J: IndexArray) -> None:
        """Cache the columns J, and no others."""
        self._rows, self._place = np.zeros((0, self.n)), {j: i for i, j in enumerate(J.tolist())}
        if len(J):
            self._rows = np.ascontiguousarray(self._converted(J).T)

    def block(self, J: IndexArray) -> Any:
        if self._place and all(j in self._place for j in J.tolist()):
            return self._rows[[self._place[j] for j in J.tolist()]].T
        return self._converted(J)

    def _converted(self, J: IndexArray) -> Any:
        """Return X_J, converted before it is weighted and scaled."""
        inner = J[self.n_features > J]
        X = rows_of_columns(self._raw, inner, 1).T if compiled(self) else self._raw.block(inner)
        root = None if self.unrounded is None else self.unrounded.root
        return self.design.completed(J, weighted(X.astype(np.float64), root))
