"""Copies of some columns of X with their Gram matrix, rows of XᵀX, and products with a dense X.

Products and copies run on several threads, which `workers` provides.
"""

from typing import Any

import numpy as np

from sparselin._kernels import LARGE
from sparselin._kernels import products as kernels
from sparselin.parallel.threads import spread, spread_chunks, workers
from sparselin.problem import Problem
from sparselin.problem.design import DesignColumns
from sparselin.problem.errors import eps_of, least_norm, product_error
from sparselin.results import FloatArray, IndexArray

_CHUNK = 512  # the columns that a thread takes at a time
# Up to _LONGEST terms are summed in single precision. Longer sums are divided into sums of _SUMMED terms,
# which are added in double precision.
_LONGEST, _SUMMED = 4096, 512
_MOST_COPIED = 2**26  # the most entries of an X that is copied in single precision
# Correlations are computed from rows of XᵀX while their error is below this share of the largest one, since
# a larger error leaves many columns to be measured. Tuned on Gaussian designs (1000, 5000).
ROUGH = 1e-8
# The number of operations above which half a Gram matrix and a transposition cost less than the whole matrix
# (path/* of `make bench`).
_BY_TRIANGLE = 2e8


class Gathered:
    """Copies in float64 of some columns of X, with their Gram matrix; columns can be added.

    Attributes
    ----------
    index : (M,) the indices of the M copied columns, called C below.
    place : (d,) the position of each column of X in C, or −1 if it is not in C.
    columns : X_Cᵀ (M, n), an array, or a CSR array if X is sparse.
    gram, c0, norms : X_CᵀX_C (M, M), X_Cᵀy (M,) and the lengths ‖X_j‖ (M,).
    """

    columns: Any

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.index = np.zeros(0, np.intp)
        self.place = np.full(problem.d, -1)
        self._buffer = np.empty((0, problem.n))
        self.columns = self._buffer
        self.gram = np.zeros((0, 0))
        self.c0 = np.zeros(0)
        self.norms = np.zeros(0)

    def add(self, J: IndexArray) -> None:
        """Add the columns J to the copied columns C, and compute their inner products."""
        problem = self.problem
        M = len(self.index)
        size = M + len(J)
        self.place[J] = np.arange(M, size)
        self.index = np.concatenate([self.index, J]) if M else J
        self.norms = problem.column_norms[self.index].astype(np.float64, copy=False)
        gram = np.empty((size, size))
        gram[:M, :M] = self.gram
        self.gram = gram
        if is_dense(problem):
            self.columns = self._gather(J, M)
            self._multiply(M)
        else:
            self.columns = columns = problem.double_block(self.index).T
            products = columns[M:] @ columns.T
            gram[M:] = products if isinstance(products, np.ndarray) else products.toarray()
            gram[:M, M:] = gram[M:, :M].T
        known = problem.dtype == np.float64
        c0: Any = problem.Xty[J] if known else self.columns[M:] @ problem.double_y
        self.c0 = np.concatenate([self.c0, c0]) if M else c0

    def _gather(self, J: IndexArray, M: int) -> FloatArray:
        """Append the columns J of a dense X to the M copied columns; return all copies as rows."""
        size = M + len(J)
        d = self.problem.d
        rounded = self.problem.has_unrounded
        if len(J) == d and self.problem.is_plain and not rounded and (J[1:] > J[:-1]).all():
            return np.asarray(self.problem.X.T, np.float64)
        if size > len(self._buffer):
            buffer = np.empty((min(d, max(256, 2 * size)), self.problem.n))
            buffer[:M] = self._buffer[:M]
            self._buffer = buffer
        out = self._buffer[M:size]
        with workers(8.0 * out.size) as count:
            if rounded:
                out[:] = self.problem.double_block(J).T
            else:
                rows_of_columns(self.problem.design, J, count, out)
        return self._buffer[:size]

    def _multiply(self, M: int) -> None:
        """Complete the Gram matrix, whose first M rows and columns are known."""
        columns, gram = self.columns, self.gram
        size = len(columns)
        new = size - M

        def products(start: int, stop: int) -> None:  # the lower triangle, mirrored; the long rows first
            a, b = size - stop, size - start
            rows = columns[a:b]
            np.matmul(rows, rows.T, out=gram[a:b, a:b])
            np.matmul(rows, columns[:a].T, out=gram[a:b, :a])
            gram[:a, a:b] = gram[a:b, :a].T

        flops = 2.0 * self.problem.n * new * (M + new / 2)
        with workers(flops) as count:
            if M == 0 and flops < _BY_TRIANGLE:
                spread(lambda a, b: np.matmul(columns[a:b], columns.T, out=gram[a:b]), size, count)
            else:
                # a triangle in 2m strips of equal height for m threads, from the longest to the shortest
                spread_chunks(products, new, max(128, -(-new // (2 * count))), count)


class AllProducts:
    """Products of vectors with all columns, for a dense X in single precision.

    Attributes
    ----------
    error : a bound on the error of ⟨X_j, v⟩, relative to ‖X_j‖‖v‖.
    rough : whether X is in float64, and its products are computed from a copy in single precision.
    """

    def __init__(self, problem: Problem, rough: bool) -> None:
        X, norms = problem.X, problem.column_norms
        least = least_norm(np.float32)
        self.rough = rough and is_dense(problem) and problem.dtype == np.float64 and X.size <= _MOST_COPIED
        if self.rough:  # the copy is of X without scales
            norms = norms if problem.design.scale is None else norms[: X.shape[1]] / problem.design.scale
            self.rough = bool(((norms == 0) | ((norms > least) & (norms < 1 / least))).all())
        self.problem = problem
        self._X = _in_single_precision(X) if self.rough else X
        single = is_dense(problem) and self._X.dtype == np.float32
        self._rows = _SUMMED if single and problem.n > _LONGEST else problem.n
        self.error = product_error(self._rows, max(problem.eps, eps_of(self._X.dtype)))

    def of(self, V: FloatArray) -> FloatArray:
        """Return the products VX (m, d) for V (m, n)."""
        problem, X, rows = self.problem, self._X, self._rows
        V = V.astype(X.dtype, copy=False)
        if not is_dense(problem):
            return problem.correlate(V.T).T
        out = np.zeros((len(V), problem.d), X.dtype if rows == problem.n else np.float64)

        def add_blocks(a: int, b: int) -> None:
            for i in range(0, problem.n, rows):
                out[:, a:b] += V[:, i : i + rows] @ X[i : i + rows, a:b]

        with workers(2.0 * out.size * problem.n) as count:
            if rows == problem.n:
                multiply(X, V, out, count)
            else:
                spread_chunks(add_blocks, problem.n_features, _CHUNK, count)
        complete(problem, V, out)
        return out


def _in_single_precision(X: FloatArray) -> FloatArray:
    """Return a read-only copy of X in float32, in the same order."""
    copy = np.empty_like(X, np.float32)
    source, target = (X, copy) if X.flags.c_contiguous else (X.T, copy.T)
    with workers(8.0 * X.size) as count:
        spread(lambda a, b: np.copyto(target[a:b], source[a:b], casting="same_kind"), len(source), count)
    copy.flags.writeable = False  # for Numba another type; see `read_only`
    return copy


class GramRows:
    """Rows of XᵀX: the row of column j is X_jᵀX. Rows can be added.

    Attributes
    ----------
    place : (d,) the position of the row of each column j, or −1 if it has not been computed.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._products = AllProducts(problem, rough=False)
        self.place = np.full(problem.d, -1)
        self.size = 0
        self._rows = np.empty((0, problem.d), problem.dtype)

    def add(self, J: IndexArray, columns: Any) -> None:
        """Compute the rows X_jᵀX of XᵀX for j ∈ J.

        columns : X_Jᵀ (|J|, n), dense or sparse like X.
        """
        problem = self.problem
        start = self.size
        stop = start + len(J)
        if stop > len(self._rows):
            rows = np.empty((max(stop, 2 * start), problem.d), problem.dtype)
            rows[:start] = self._rows[:start]
            self._rows = rows
        out = self._rows[start:stop]
        if isinstance(columns, np.ndarray):
            out[:] = self._products.of(columns)
        else:
            V = columns.astype(problem.dtype, copy=False)
            out[:, : problem.n_features] = (V @ problem.X).toarray()
            complete(problem, V, out)
        self.place[J] = np.arange(start, stop)
        self.size = stop

    def combination(self, coef: FloatArray, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return matrices B and G with BG = coef·X_JᵀX, for coef (m, |J|) and columns J whose rows are known.

        G holds all rows of XᵀX computed so far. B holds `coef` in the positions of the rows of J, and zeros
        elsewhere.
        """
        B = np.zeros((len(coef), self.size), self._rows.dtype)
        B[:, self.place[J]] = coef
        return B, self._rows[: self.size]


# The largest number of rows of V for which our kernel computes VX faster than BLAS, which packs all of X: for
# X in Fortran order, and in C order. Like the next two numbers, tuned by fortran/* and omp/* of `make bench`.
THIN = 10
_THIN_BY_ROWS = {4: 16, 8: 6}
# The most entries for which NumPy, column by column, copies faster than our kernel, row by row.
_BY_COLUMNS = 400_000
# The number of entries to copy above which threads are faster.
_MIN_PARALLEL = 30_000


def is_dense(data: Problem | DesignColumns) -> bool:
    """Return whether X is a dense array, as `correlate_rows`, `rows_of_columns` and `gather` require."""
    return isinstance(data.X, np.ndarray)


def correlate_rows(problem: Problem, V: FloatArray, out: FloatArray, count: int) -> None:
    """Write the product of V (p, n) and the design matrix (n, d) into `out` (p, d), using `count` threads."""
    multiply(problem.X, V, out, count)
    complete(problem, V, out)


def multiply(X: FloatArray, V: FloatArray, out: FloatArray, count: int) -> None:
    """Write VX, for V (p, n) and X (n, m), into the first m columns of `out`, using `count` threads.

    Our kernels, whose sums are in no stated order, only serve an X with LARGE entries, so always compiled.
    """
    p = len(V)
    m = X.shape[1]
    by_rows = X.flags.c_contiguous
    if X.size < LARGE or p == 1 or p > (_THIN_BY_ROWS[X.itemsize] if by_rows else THIN):
        spread(lambda a, b: np.matmul(V, X[:, a:b], out=out[:, a:b]), m, count)
    elif by_rows:
        spread(lambda a, b: kernels.by_rows(X, V, out, a, b), m, count)
    else:
        spread(lambda a, b: kernels.by_columns(X.T, V, out, a, b), m, count)


def complete(problem: Problem, V: FloatArray, out: FloatArray) -> None:
    """Complete `out` (p, d), the product of V and the design matrix.

    The first columns of `out` hold the product of V and the array X. They are scaled in place, if the design
    is standardized, and the product with the column of ones is added, if there is one.
    """
    design, m = problem.design, problem.n_features
    if design.scale is not None:
        out[:, :m] *= design.scale
    if design.ones is not None:
        out[:, m] = V @ design.ones


def rows_of_columns(
    design: DesignColumns, J: IndexArray, count: int, out: FloatArray | None = None
) -> FloatArray:
    """Return a copy of X_Jᵀ (|J|, n) in C order, for a dense X, made in `count` threads."""
    X: Any = design.X  # an array
    if out is None:
        out = np.empty((len(J), len(X)), X.dtype)
    if X.flags.c_contiguous and out.size > _BY_COLUMNS and np.all(X.shape[1] > J):
        gather(design, J, np.ones(len(J), out.dtype), out, np.arange(len(J)), count)
    else:
        out[:] = design.block(J).T
    return out


def gather(
    design: DesignColumns, J: IndexArray, scale: FloatArray, out: FloatArray, rows: IndexArray, count: int
) -> None:
    """Copy the columns J, each multiplied by its `scale`, into the given rows of `out` (·, n).

    X must be dense, and J must not contain the column of ones.
    """
    X: Any = design.X  # an array
    n = len(X)
    count = count if len(J) * n > _MIN_PARALLEL else 1
    if design.scale is not None:
        scale = (scale * design.scale[J]).astype(scale.dtype)
    if X.flags.c_contiguous:
        spread(lambda a, b: kernels.gather_by_rows(X, J, scale, out, rows, a, b), n, count)
    else:
        spread(lambda a, b: kernels.gather_by_columns(X.T, J, scale, out, rows, a, b), len(J), count)
