"""The LASSO of small problems: few calls of compiled code, without a class for the candidates.

The checks are those of the kernels, which also serve larger problems. If anything is undecided because of
rounding, or if the problem is not small, the result is None, and the methods for larger problems are used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import homotopy as kernels
from sparselin._kernels import small_lasso
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.errors import product_error
from sparselin.results import FloatArray, IndexArray

FEW = 96  # up to this many columns the path is followed on all columns
_SMALL = 10**6  # the most entries of a small X
_FIRST = 32  # the columns on which a projection is computed first, and the columns added at a time
_ROUNDS = 4  # the most sets of columns on which a projection is computed


class Solution(NamedTuple):
    """A solution of the LASSO at one λ, in the dtype of the problem.

    coef, residual, correlation : β (d,), r = y − Xβ (n,) and Xᵀr (d,).
    """

    coef: FloatArray
    residual: FloatArray
    correlation: FloatArray


def small_path(
    problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool = False
) -> kernels.Trail | None:
    """Return at most `limit` knots of the LASSO path from λ*(S) down to lam_min, for at most FEW columns.

    Returns None if λ*(S) ≤ lam_min, if rounding leaves a knot undecided, or if the problem is not small.
    """
    n, d, t = problem.n, problem.d, len(S)
    if d > FEW or n * d > _SMALL or problem.dtype != np.float64 or not problem.has_columns:
        return None
    rows = _rows(problem)
    with workers(2.0 * n * d * d):
        gram = rows @ rows.T
    columns = kernels.Columns(gram, *_fields(problem, 0.0 if positive else -1.0))
    place = _place(columns, np.arange(d), np.zeros(d), np.empty((d, d)), t)
    place.order[:t] = S
    if t and kernels.start(columns, place) > t * kernels.SPREAD**2:
        return None
    size = min(limit, 32 + 4 * d)
    trail = kernels.Trail(np.empty((size, d)), np.empty(size), np.empty(size), np.empty(size, np.intp))
    until = kernels.Until(lam_min, size, 1, np.zeros(d, bool))
    ending, m = kernels.follow(columns, place, until, trail)
    if ending == kernels.DONE:
        coef, r, c = np.zeros(d), np.empty(n), np.empty(d)
        if not small_lasso.conclude(
            rows, False, problem.y, columns.norms, problem.rounding(), columns, place, rows, np.arange(d),
            coef, r, c, np.empty(d),
        ):  # fmt: skip
            return None
        trail.coef[m - 1] = coef
    elif ending != kernels.LIMIT or m < limit:
        return None
    if trail.lams[0] <= lam_min:
        return None
    return trail if m == size else kernels.Trail._make(array[:m] for array in trail)


def _rows(problem: Problem) -> FloatArray:
    """Return Xᵀ (d, n), dense and in C order; it may be X itself."""
    X, ones, scale = problem.design
    if problem.is_plain or not isinstance(X, np.ndarray):
        return np.ascontiguousarray(
            X.T if isinstance(X, np.ndarray) else problem.columns(np.arange(problem.d)).T
        )
    rows = np.empty((problem.d, problem.n))
    np.multiply(X.T, 1.0 if scale is None else scale[:, None], out=rows[: problem.n_features])
    if ones is not None:
        rows[-1] = ones
    return rows


def _fields(problem: Problem, below: float) -> tuple[Any, ...]:
    """Return the fields of `kernels.Columns` after H, for all columns."""
    norms, unit = problem.column_norms, product_error(problem.n)
    return problem.Xty, norms, problem.y_norm, unit, float(norms.max()), problem.n, below


def _place(columns: kernels.Columns, order: IndexArray, beta: Any, L: Any, t: int) -> kernels.Place:
    """Return the start of the path; the first t columns of `order` have no penalty."""
    # |c_j| ≤ ‖X_j‖‖y‖
    lam = np.array([2 * columns.longest * columns.y_norm])
    return kernels.Place(np.array([t, -1]), lam, order, np.zeros(len(order)), beta, L, t)


def small_solution(problem: Problem, S: IndexArray, lam: float) -> Solution | None:
    """Return the result of `solution_at` for a small dense X in float64 without an intercept and scales.

    The path is followed again from its start if columns violate |c_j| ≤ λ at its end. Returns None if the
    problem is not of this kind, or if rounding leaves the solution undecided.
    """
    X, n, d, t = problem.X, problem.n, problem.d, len(S)
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or not problem.is_plain or X.size > _SMALL:
        return None
    by_rows = bool(X.flags.c_contiguous)
    data, (Xty, norms, *sizes) = X if by_rows else X.T, _fields(problem, -1.0)
    index, excess, M = np.empty(d, np.intp), Xty.copy(), 0
    until = kernels.Until(lam, 1000 + 4 * min(n, d), 1, np.zeros(d, bool))
    trail = kernels.Trail(np.empty((0, 0)), excess, excess, index)
    for _ in range(_ROUNDS):
        before = M
        M, kappa, rows, H, c0, lengths, beta, L = small_lasso.prepare(
            data, by_rows, problem.y, Xty, norms, S, tuple(sizes), excess, _FIRST, index, M
        )
        columns = kernels.Columns._make([H, c0, lengths, *sizes])
        place = _place(columns, np.arange(M), beta, L, t)
        if before == M or kappa > t * kernels.SPREAD**2:
            return None
        if kernels.follow(columns, place, until, trail)[0] != kernels.DONE:
            return None
        coef, r, c = np.zeros(d), np.empty(n), np.empty(d)
        if not small_lasso.conclude(
            data, by_rows, problem.y, norms, problem.rounding(), columns, place, rows, index[:M], coef, r, c,
            excess,
        ):  # fmt: skip
            return None
        if not excess.any():
            return Solution(coef, r, c)
    return None
