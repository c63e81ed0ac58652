"""The LASSO of small problems: few calls of compiled code, without a class for the candidates.

The checks are those of the kernels, which serve larger problems too. If the problem is not small, or if
rounding leaves anything undecided, the result is None, and the methods for larger problems take over.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin._kernels import small_lasso
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.errors import product_error
from sparselin.results import FloatArray, IndexArray

FEW = 96  # up to this many columns the path is followed on all columns
_SMALL = 10**6  # the most entries of a small X
_FIRST = 32  # the least number of columns that are added to the candidates of a projection at a time


def _start(
    problem: Problem, rows: Any, index: IndexArray | slice, free: IndexArray, below: float
) -> tuple[kernels.Columns, kernels.Place] | None:
    """Return the columns `index` and the start of their path; None if X_S is not well conditioned.

    rows : the columns as rows. `free` are the positions in `index` of S, the columns without penalty.
    """
    norms, size, (M, n), t = problem.column_norms, problem.y_norm, rows.shape, len(free)
    longest, unit = float(norms.max()), product_error(n)
    with workers(2.0 * M * M * n):
        c0: Any = problem.Xty[index]
        columns = kernels.Columns(rows @ rows.T, c0, norms[index], size, unit, longest, n, below)
    lam = np.array([2 * longest * size])  # |c_j| ≤ ‖X_j‖‖y‖
    place = kernels.Place(
        np.array([t, -1]), lam, np.arange(M), np.zeros(M), np.zeros(M), np.empty((M, M)), t
    )  # fmt: skip
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
    ending, m = kernels.follow(*begun, kernels.Until(lam_min, size, 1, np.zeros(d, bool)), trail)
    if ending == kernels.DONE:
        end = _end(problem, rows, False, np.arange(d), *begun, rows)
        if end is None:
            return None
        trail.coef[m - 1] = end[0]
    elif ending != kernels.LIMIT or m < limit:
        return None
    if trail.lams[0] <= lam_min:
        return None
    return trail if m == size else kernels.Trail._make(array[:m] for array in trail)


def _rows(problem: Problem) -> FloatArray:
    """Return Xᵀ (d, n), dense and in C order; it may be X itself."""
    X, ones, scale = problem.design
    if not isinstance(X, np.ndarray):
        return np.ascontiguousarray(problem.columns(np.arange(problem.d)).T)
    if problem.is_plain:
        return np.ascontiguousarray(X.T)
    rows = np.empty((problem.d, problem.n))
    np.multiply(X.T, 1.0 if scale is None else scale[:, None], out=rows[: problem.n_features])
    if ones is not None:
        rows[-1] = ones
    return rows


# β (d,), r = y − Xβ (n,) and c = Xᵀr (d,) at a λ, and the amounts (d,) by which |c_j| exceeds λ
Solution: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _end(
    problem: Problem, data: Any, by_rows: bool, index: IndexArray, columns: Any, place: Any, rows: Any
) -> Solution | None:
    """Return the solution at the end of a run on the columns `index`, or None if it is undecided."""
    d, norms, rounding = problem.d, problem.column_norms, problem.rounding()
    end = np.zeros(d), np.empty(problem.n), np.empty(d), np.empty(d)
    return end if small_lasso.conclude(
        data, by_rows, problem.y, norms, rounding, columns, place, rows, index, *end
    ) else None  # fmt: skip


def small_solution(problem: Problem, S: IndexArray, lam: float) -> Solution | None:
    """Return the solution at λ = lam for a dense X in float64 without an intercept and scales.

    The path is followed down to λ on some columns, the candidates: S, the columns without penalty, and those
    with the largest |X_jᵀy|. Columns that violate |c_j| ≤ λ at the end become candidates, and the path is
    followed again from its start. Returns None if rounding leaves the solution undecided.
    """
    X, d, t = problem.X, problem.d, len(S)
    by_rows, index, size = bool(X.flags.c_contiguous), S, np.abs(problem.Xty)
    until = kernels.Until(lam, 1000 + 4 * min(problem.n, d), 1, np.zeros(d, bool))
    trail = kernels.Trail(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0, np.intp))
    size[S], many = -1, d - t
    while True:
        many = min(many, max(_FIRST, len(index)))  # the sizes of the rounds grow geometrically
        if many:
            index = np.concatenate([index, np.argpartition(size, d - many)[d - many :]])
        rows = np.ascontiguousarray(X.T[index])
        begun = _start(problem, rows, index, np.arange(t), -1.0)
        if begun is None or kernels.follow(*begun, until, trail)[0] != kernels.DONE:
            return None
        end = _end(problem, X if by_rows else X.T, by_rows, index, *begun, rows)
        size = size if end is None else end[-1]
        many = int(np.count_nonzero(size))
        if end is None or many == 0:
            return end
