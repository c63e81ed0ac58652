"""The LASSO by few calls of kernels: paths on few columns, and the solution at one λ.

The path is followed by `kernels.follow`, as in `Guess`, but without classes for its state. If rounding leaves
anything undecided, the result is None, and the caller uses `knot_blocks` or `Homotopy`.
"""

from typing import Any

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin._kernels import small_lasso
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.design import read_only
from sparselin.problem.errors import product_error
from sparselin.results import FloatArray, IndexArray

FEW = 96  # up to this many columns the path is followed on all columns
_SMALL = 10**6  # the most entries of a small X
_LARGEST_ERROR = 1e-9  # the largest error of c, as a share of λ, with which a solution counts as proved
_FIRST = 32  # the least number of columns that are added to the candidates of a projection at a time


def _start(
    problem: Problem, rows: Any, index: IndexArray | slice, free: IndexArray, below: float
) -> tuple[kernels.Columns, kernels.Place] | None:
    """Return the columns `index` and the start of their path; None if X_S is not well conditioned.

    rows : the columns as rows. `free` are the positions in `index` of S, the columns without penalty.
    """
    norms, size = problem.column_norms, problem.y_norm
    M, n = rows.shape
    t = len(free)
    longest = float(norms.max())
    unit = product_error(n)
    with workers(2.0 * M * M * n):
        c0: Any = problem.Xty[index]
        columns = kernels.Columns(
            H=rows @ rows.T,
            c0=c0,
            norms=norms[index],
            y_norm=size,
            unit=unit,
            longest=longest,
            rank=n,
            below=below,
        )
    lam = np.array([2 * longest * size])  # |c_j| ≤ ‖X_j‖‖y‖
    place = kernels.Place(
        state=np.array([t, -1]),
        lam=lam,
        order=np.arange(M),
        sign=np.zeros(M),
        beta=np.zeros(M),
        L=np.empty((M, M)),
        n_free=t,
    )
    place.order[:t] = free
    if t and kernels.start(columns, place) > t * kernels.SPREAD**2:
        return None
    return columns, place


def small_path(
    problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool = False
) -> kernels.Trail | None:
    """Return at most `limit` knots of the LASSO path from λ*(S) down to lam_min, for at most FEW columns.

    Returns None if λ*(S) ≤ lam_min, if rounding leaves a knot undecided, or if the problem is not small.
    """
    n, d = problem.n, problem.d
    if d > FEW or n * d > _SMALL or problem.dtype != np.float64 or not problem.has_columns:
        return None
    rows = _rows(problem)
    begun = _start(problem, rows, slice(None), S, 0.0 if positive else -1.0)
    if begun is None:
        return None
    size = min(limit, 32 + 4 * d)
    trail = kernels.Trail(np.empty((size, d)), np.empty(size), np.empty(size), np.empty(size, np.intp))
    ending, m = kernels.follow(*begun, kernels.Until(lam_min, size), trail)
    if ending == kernels.DONE:
        coef = trail.coef[m - 1]
        coef[:] = 0
        if not small_lasso.finish(*begun, read_only(rows), problem.y, coef, np.empty(n)):
            return None
    elif ending != kernels.LIMIT or m < limit:
        return None
    if trail.lams[0] <= lam_min:
        return None
    return trail if m == size else kernels.Trail._make(array[:m] for array in trail)


def _rows(problem: Problem) -> FloatArray:
    """Return Xᵀ (d, n), dense and in C order; it may be X itself."""
    X = problem.X
    ones, scale = problem.design.ones, problem.design.scale
    if not is_dense(problem):
        return np.ascontiguousarray(problem.columns(np.arange(problem.d)).T)
    if problem.is_plain:
        return np.ascontiguousarray(X.T)
    rows = np.empty((problem.d, problem.n))
    np.multiply(X.T, 1.0 if scale is None else scale[:, None], out=rows[: problem.n_features])
    if ones is not None:
        rows[-1] = ones
    return rows


def solution_at(
    problem: Problem, S: IndexArray, lam: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return β (d,), r = y − Xβ (n,) and Xᵀr (d,) of the LASSO at λ = lam, for a problem in float64.

    The path is followed down to λ on some columns, the candidates: S, the columns without penalty, and those
    with the largest |X_jᵀy|. Columns that violate |c_j| ≤ λ at the end, where c = Xᵀr, become candidates, and
    the path is followed again from its start. Returns None if rounding leaves the solution undecided.
    """
    d = problem.d
    t = len(S)
    index = S
    excess = np.abs(problem.Xty)
    if problem.dtype != np.float64:  # the products of all columns would not decide a small λ
        return None
    until = kernels.Until(lam, 1000 + 4 * min(problem.n, d))
    trail = kernels.Trail(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0, np.intp))
    y = problem.double_y
    r = np.empty(problem.n)
    many = d - t
    excess[S] = -1
    while True:
        many = min(many, max(_FIRST, len(index)))  # the sizes of the rounds grow geometrically
        if many:
            index = np.concatenate([index, np.argpartition(excess, d - many)[d - many :]])
        rows = problem.columns(index).T
        begun = _start(problem, rows, index, np.arange(t), -1.0)
        if begun is None or kernels.follow(*begun, until, trail)[0] != kernels.DONE:
            return None
        beta = np.zeros(len(index))
        size = small_lasso.finish(*begun, read_only(rows), read_only(y), beta, r)
        c = problem.correlate(r)
        excess = np.abs(c) - lam
        error = problem.rounding() * size * problem.column_norms
        excess[excess <= error] = 0
        excess[index[beta != 0]] = excess[S] = 0
        many = int(np.count_nonzero(excess))
        if size == 0 or excess[index].any() or error.max() > _LARGEST_ERROR * lam:
            return None
        if many == 0:
            coef = np.zeros(d)
            coef[index] = beta
            return coef, r, c
