"""The Gram matrix C = XᵀX, whose columns are computed only for selected features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.linear_algebra import asymmetry
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.errors import SAFETY, eps_of
from sparselin.results import FloatArray
from sparselin.validation import check_finite, to_array, to_numeric

# Up to this number of columns, computing all of C costs less than one matrix-vector product for each selected
# column (spectral/* of `make bench`).
_SMALL = 1024


class Gram:
    """The Gram matrix C = XᵀX (d, d) in float64; each column is computed once, when it is needed.

    Attributes
    ----------
    d, diagonal : the size, and C_ii (d,).
    error : a number e; the error of each entry C_ij is at most e·√(C_ii·C_jj).
    eps : the machine epsilon of the dtype in which the data were given.
    """

    def __init__(self, diagonal: FloatArray, error: float, eps: float) -> None:
        self.d = len(diagonal)
        self.diagonal = diagonal
        self.error = error
        self.eps = eps
        self.problem: Problem | None = None
        self._columns: dict[int, FloatArray] = {}
        self._matrix: FloatArray | None = None

    @classmethod
    def of_problem(cls, problem: Problem) -> Gram:
        """Make the Gram matrix of a problem in float64."""
        gram = cls(problem.column_norms.astype(np.float64) ** 2, problem.rounding(), problem.eps)
        gram.problem = problem
        if problem.d <= _SMALL and is_dense(problem):
            with workers(float(problem.n) * problem.d**2):
                gram._matrix = np.asarray(problem.X.T @ problem.X)
        return gram

    @classmethod
    def of_matrix(cls, C: ArrayLike) -> Gram:
        """Make a `Gram` of a matrix C whose entries are treated as rounded to its dtype.

        Raises TypeError or ValueError unless C is a finite symmetric matrix with a nonnegative diagonal.
        """
        matrix = to_numeric(to_array(C, "C"), "C")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"C must be a square matrix (d, d), such as XᵀX; got shape {matrix.shape}")
        eps = eps_of(matrix.dtype)
        apart, size = asymmetry(matrix)
        if not apart + size < np.inf:  # NaN, infinity, or squares that overflow
            check_finite(matrix, "C")
            raise ValueError("C has entries whose squares overflow; scale the columns of X")
        matrix = matrix.astype(np.float64, copy=False)
        diagonal = np.diag(matrix).copy()
        if diagonal.min(initial=0) < 0 or apart > (SAFETY * eps) ** 2 * size:
            raise ValueError("C must be symmetric with a nonnegative diagonal, as XᵀX is")
        gram = cls(diagonal, SAFETY * eps, eps)
        gram._matrix = matrix
        return gram

    def cutoff(self, t: int) -> float:
        """Return the number below which eigenvalues of a t × t principal submatrix of C count as zero.

        It is 8·eps·t·max_i C_ii, and so at least t times the largest rounding error of an entry of C.
        """
        return SAFETY * self.eps * t * float(self.diagonal.max(initial=0))

    def column(self, j: int) -> FloatArray:
        """Return column j of C (d,), which must not be modified."""
        if self._matrix is not None:
            column: FloatArray = self._matrix[j]
            return column
        if j not in self._columns:
            assert self.problem is not None
            self._columns[j] = self.problem.gram_columns([j])[:, 0]
        return self._columns[j]

    def block(self, S: Sequence[int]) -> FloatArray:
        """Return the submatrix C_S (t, t) of the rows and columns S, where t = |S|."""
        index = np.array(S, np.intp)
        if self._matrix is not None:
            return self._matrix[np.ix_(index, index)]
        rows = [self.column(int(j))[index] for j in index]
        return np.array(rows).reshape(len(index), len(index))
