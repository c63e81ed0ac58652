"""The float64 correlations of a float32 problem, for the columns that float32 leaves undecided."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sparselin.linalg.gathered import is_dense, rows_of_columns
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Measurement, measure
from sparselin.problem import Problem
from sparselin.problem.design import DesignColumns, scale_rows
from sparselin.results import FloatArray, IndexArray


class Double:
    """The float64 correlations of the few columns that float32 leaves undecided.

    The factorisation of the selected columns in float64 is updated only when it is needed.
    """

    def __init__(self, problem: Problem) -> None:
        self.data = problem
        self._columns = ConvertedColumns.of(problem)
        self.problem = problem.with_design(self._columns)
        self.qr = ThinQR(self.problem)

    def prepare(self, J: IndexArray, index: list[int]) -> None:
        """Read the columns J in one pass, and cache only these columns; factorise X_S for S = index."""
        self._columns.cache(J)
        self.factorise(index)

    def measure(self, J: IndexArray, index: list[int]) -> Measurement:
        """Compute the correlations and lengths of the columns J, projected off the columns S = index.

        Error bounds are returned with them.
        """
        return measure(self.factorise(index), J, self.data)

    def factorise(self, index: list[int]) -> ThinQR:
        """Return the QR factorisation of X_S for S = index.

        If S begins with the same columns as in the last call, these columns are not factorised again.
        """
        qr = self.qr
        same = 0
        while same < min(len(index), qr.size) and index[same] == qr.index[same]:
            same += 1
        qr.truncate(same)
        qr.extend(index[same:], self.problem.columns(index[same:]).T)
        return qr


@dataclasses.dataclass(frozen=True, eq=False)
class ConvertedColumns(DesignColumns):
    """The columns of a float32 problem in float64, converted on demand.

    Attributes
    ----------
    root : (n,) √weight, by which the rows of X must still be multiplied, or None.
    cached : index → column (n,), for the columns that are cached.
    """

    root: FloatArray | None = None
    cached: dict[int, FloatArray] = dataclasses.field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the columns as they are returned: float64."""
        return np.dtype(np.float64)

    @classmethod
    def of(cls, problem: Problem) -> ConvertedColumns:
        """Return the columns of a problem in float64, with no column cached."""
        design = problem.double_design
        return cls(
            X=design.X,
            ones=design.ones,
            scale=design.scale,
            names=problem.names,
            labels=problem.labels,
            root=problem.double_root,
        )

    def cache(self, J: IndexArray) -> None:
        """Cache the columns J, and no others."""
        self.cached.clear()
        if len(J):
            rows = np.ascontiguousarray(self._convert(J).T)
            self.cached.update(zip(J.tolist(), rows, strict=True))

    def block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|) in float64; it is sparse if X is sparse."""
        if self.cached and all(j in self.cached for j in J.tolist()):
            rows = [self.cached[j] for j in J.tolist()]
            return np.array(rows).reshape(len(rows), self.n).T
        return self._convert(J)

    def column(self, j: int) -> FloatArray:
        """Return column j (n,) of a dense design in float64."""
        return np.asarray(self.block(np.array([j]))[:, 0])

    def _convert(self, J: IndexArray) -> Any:
        inner = J[self.X.shape[1] > J]
        raw = DesignColumns(self.X)
        X = rows_of_columns(raw, inner, 1).T if is_dense(raw) else raw.block(inner)
        return self.complete(J, scale_rows(X.astype(np.float64), self.root))
