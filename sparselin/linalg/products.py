"""Products with a dense X, and gathering of its columns, on the threads that `workers` gave."""

from __future__ import annotations

import numpy as np

from sparselin._kernels import products as kernels
from sparselin.parallel.threads import spread
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

# For V of at most so many rows VX costs less by our kernel than by BLAS, which packs all of X for it: X in
# Fortran order, and in C order.
THIN, _THIN_BY_ROWS = 10, 6
# Entries up to which NumPy gathers columns, one after the other, faster than our kernel, row by row.
_BY_COLUMNS = 400_000
# Entries to gather from which threads are faster.
_MIN_PARALLEL = 30_000


def compiled(problem: Problem) -> bool:
    """Whether X is a dense array, as these products need it."""
    return isinstance(problem.X, np.ndarray)


def correlate_rows(problem: Problem, V: FloatArray, out: FloatArray, count: int) -> None:
    """Write VX into out (p, d), V (p, n)."""
    X, p, m = problem.X, len(V), problem.n_features
    by_rows = X.flags.c_contiguous
    if p == 1 or p > (_THIN_BY_ROWS if by_rows else THIN):
        spread(lambda a, b: np.matmul(V, X[:, a:b], out=out[:, a:b]), m, count)
    elif by_rows:
        spread(lambda a, b: kernels.by_rows(X, V, out, a, b), m, count)
    else:
        spread(lambda a, b: kernels.by_columns(X.T, V, out, a, b), m, count)
    complete(problem, V, out)


def complete(problem: Problem, V: FloatArray, out: FloatArray) -> None:
    """Make out (p, d) VX of the columns of the design, its first part being V times the array X."""
    design, m = problem.design, problem.n_features
    if design.scale is not None:
        out[:, :m] *= design.scale
    if design.ones is not None:
        out[:, m] = V @ design.ones


def rows_of_columns(problem: Problem, J: IndexArray, count: int, out: FloatArray | None = None) -> FloatArray:
    """X_Jᵀ (|J|, n), contiguous by rows."""
    if out is None:
        out = np.empty((len(J), problem.n), problem.dtype)
    if problem.X.flags.c_contiguous and out.size > _BY_COLUMNS and np.all(problem.n_features > J):
        gather(problem, J, np.ones(len(J), out.dtype), out, np.arange(len(J)), count)
    else:
        out[:] = problem.block(J).T
    return out


def gather(
    problem: Problem, J: IndexArray, scale: FloatArray, out: FloatArray, rows: IndexArray, count: int
) -> None:
    """Write X_J, each column times its scale, into the given rows of out (·, n); no column of ones."""
    X, count = problem.X, count if len(J) * problem.n > _MIN_PARALLEL else 1
    if problem.design.scale is not None:
        scale = (scale * problem.design.scale[J]).astype(scale.dtype)
    if X.flags.c_contiguous:
        spread(lambda a, b: kernels.gather_by_rows(X, J, scale, out, rows, a, b), problem.n, count)
    else:
        spread(lambda a, b: kernels.gather_by_columns(X.T, J, scale, out, rows, a, b), len(J), count)
