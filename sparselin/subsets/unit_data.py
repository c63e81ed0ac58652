"""The columns of a problem and y in units in which they have lengths of about 1, in few rows.

The best subsets and their R² depend neither on the units of columns and y nor on a rotation of the rows. So
the searches and the guarantees scale the data, and replace tall data by a triangular factor: if [X y] = QR,
the columns of R have the same inner products as those of [X y]. There are three kinds of units, because they
serve different claims:

- Each column has length 1 (`UnitData.by_length`). R² depends on spans only, so the submodularity ratio and
  the searches that compare sets by projection take these units.
- The longest column has length 1 (`UnitData.by_longest`). The picks of OMP depend on the ratios of lengths,
  and so do the constants of its guarantees.
- The units are powers of two (`BinaryUnits`), and lengths are between ½ and 1. Nothing is rounded, so what is
  proved in these units is proved for the data. The bounds of `_relaxation` and its certificates need that.

Lengths and the factor R have errors of a few eps, relative to the length of each column. Users of `UnitData`
count them among the errors of the data (`UnitData.exact`), u = 8·eps.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels.dependence import DependenceTest
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets.dependence import exactness

# The factor of more columns than this takes longer than the fits of the sets that need it.
_FEW = 200


@dataclass(frozen=True)
class UnitData:
    """Some columns of a problem and y in float64; y and all columns, or the longest one, have length 1.

    J : (m,) the columns.
    X, y : (n', m) and (n',) with n' ≤ m + 1, the scaled columns and the scaled y.
    """

    problem: Problem
    J: IndexArray
    X: NDArray[np.float64]
    y: NDArray[np.float64]

    @classmethod
    def by_length(cls, problem: Problem, J: IndexArray, *, twice: bool = False) -> UnitData:
        """Scale each of the columns J, and y, to length 1; zeros stay zero.

        twice : whether the scaled data are divided by their lengths once more, because the lengths in
            `problem` are rounded to its dtype. No column may be zero then.
        """
        A = _stack(problem, J)
        lengths = np.append(problem.column_norms[J], problem.y_norm)
        A /= np.where(lengths > 0, lengths, 1)
        if twice:
            A /= _lengths(A)
        return cls._of(problem, J, A)

    @classmethod
    def by_longest(cls, problem: Problem) -> UnitData:
        """Scale y and the longest column to length 1, and leave out columns of zeros; y = 0 stays zero.

        If all columns are zero, the first one is kept.
        """
        J = np.flatnonzero(problem.column_norms)
        J = J if len(J) else np.zeros(1, np.intp)
        A = _stack(problem, J)
        # twice: the first lengths are rounded to the dtype of the problem
        A[:, :-1] /= problem.column_norms[J].astype(np.float64).max() or 1.0
        A[:, :-1] /= _lengths(A[:, :-1]).max() or 1.0
        A[:, -1] /= problem.y_norm or 1.0
        return cls._of(problem, J, A)

    @classmethod
    def _of(cls, problem: Problem, J: IndexArray, A: Any) -> UnitData:
        """Replace scaled data A = [X_J y] by a triangular factor if they are tall."""
        if len(A) > A.shape[1]:
            A = triangle(A)
        return cls(problem, J, np.ascontiguousarray(A[:, :-1]), np.ascontiguousarray(A[:, -1]))

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.J)

    @functools.cached_property
    def place(self) -> IndexArray:
        """(d,) the position in X of each column of the problem, −1 for a column that is not in X."""
        place = np.full(self.problem.d, -1)
        place[self.J] = np.arange(len(self.J))
        return place

    @functools.cached_property
    def norms(self) -> FloatArray:
        """(m,) the lengths of the columns of X."""
        return _lengths(self.X)

    @functools.cached_property
    def exact(self) -> DependenceTest:
        """The data for exact decisions whether columns are dependent, with the unit u of errors."""
        return exactness(self.problem, self.J)


class BinaryUnits:
    """A problem in units of powers of two: nonzero columns and y have lengths between ½ and 1, unrounded.

    With a ridge, the length of a column is that of (X_j, √ridge).

    Attributes
    ----------
    shift, lift : column X_j is divided by 2^shift_j, and y by 2^lift.
    y, half : the response in these units, and ½‖y‖².
    factor : the ratio of ‖y − Xβ‖² in the units of the data to ½‖y − Xβ‖² in these units.
    """

    def __init__(self, problem: Problem, ridge: float) -> None:
        self.problem = problem
        norms = np.hypot(problem.column_norms, math.sqrt(ridge))
        self.shift = np.where(norms > 0, np.frexp(norms)[1], 0).astype(np.intp)
        self.lift = int(np.frexp(problem.y_norm)[1]) if problem.y_norm > 0 else 0
        self.y = np.ldexp(problem.y, -self.lift)
        self.half = float(self.y @ self.y) / 2
        self.factor = 2 * math.ldexp(1.0, 2 * self.lift)

    def columns(self, J: IndexArray) -> FloatArray:
        """Return the columns X_J (n, |J|)."""
        X: Any = self.problem.columns(J)
        for part in (self.shift // 2, self.shift - self.shift // 2):  # faster than ldexp, and as exact
            X *= np.ldexp(1.0, -part[J])
        return np.asarray(X)

    def in_few_rows(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns X_J and y; of tall data with few columns, those of a triangular factor."""
        n, d = self.problem.n, self.problem.d
        if n <= d + 1 or d > _FEW:
            return self.columns(J), self.y
        return self._factor[:, J], self._factor[:, -1]

    @functools.cached_property
    def _factor(self) -> FloatArray:
        X = self.columns(np.arange(self.problem.d))
        return triangle(np.column_stack([X, self.y]))


def triangle(A: FloatArray) -> FloatArray:
    """Return the triangular factor of a matrix."""
    return np.asarray(np.linalg.qr(A, mode="r"))


def _stack(problem: Problem, J: IndexArray) -> FloatArray:
    """Return [X_J y] in float64, contiguous by column."""
    columns = problem.columns(J)  # refused if it does not fit into the memory
    A = np.empty((problem.n, len(J) + 1), order="F")
    A[:, :-1] = columns
    A[:, -1] = problem.y
    return A


def _lengths(A: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))
