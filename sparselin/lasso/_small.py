"""The LASSO by few calls of kernels: paths on few columns, and the solution at one λ.

The path is followed by `kernels.follow`, as in `Guess`, but without classes for its state. If rounding leaves
anything undecided, the result is None, and the caller uses `knot_blocks` or `Homotopy`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import LARGE, refinement, small_lasso
from sparselin._kernels import homotopy as kernels
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.design import read_only
from sparselin.problem.errors import EPS, product_error
from sparselin.results import FloatArray, IndexArray

FEW = 96  # up to this many columns the path is followed on all columns
SMALL = 10**6  # the most entries of a small X
_LARGEST_ERROR = 1e-9  # the largest error of c, as a share of λ, with which a solution counts as proved
_FIRST = 32  # the least number of columns that are added to the candidates of a projection at a time
_LEAST = 2.0**-200  # the least ratio of two lengths whose products do not underflow in `first_segment`
_NO_TRAIL = kernels.Trail(np.empty((0, 0)), np.empty(0), np.empty(0), np.empty(0, np.intp))


class PathRun(NamedTuple):
    """A run of the kernels on some columns, from the start of their path.

    ending, points : the reason why the run ended, a code of the kernel `homotopy`, and the number of points.
    beta, r : the solution (M,) on the M columns, and its residual (n,); valid if the run reached its end.
    size : the rounding scale ‖y‖ + Σ‖X_l‖|β_l| of the solution, or zero if it is not valid.
    """

    ending: int
    points: int
    beta: FloatArray
    r: FloatArray
    size: float


def _run(
    problem: Problem,
    rows: FloatArray,
    index: IndexArray | slice,
    free: IndexArray,
    until: kernels.Until,
    trail: kernels.Trail,
    below: float = -1.0,
) -> PathRun:
    """Follow the path of the columns `index` from its start.

    rows : the columns as rows. free : the positions in `index` of S, the columns without penalty.
    """
    norms = problem.column_norms
    M, n = rows.shape
    c0: Any = problem.Xty[index]
    with workers(2.0 * M * M * n):
        H = rows @ rows.T
    columns = kernels.Columns(
        H=H,
        c0=c0,
        norms=norms[index],
        y_norm=problem.y_norm,
        unit=product_error(n),
        longest=norms.item(norms.argmax()),
        rank=n,
        below=below,
    )
    beta = np.empty(M)
    r = np.empty(n)
    ending, m, size = small_lasso.run(columns, read_only(rows), problem.y, free, until, trail, beta, r)
    return PathRun(ending, m, beta, r, size)


def small_path(
    problem: Problem, S: IndexArray, lam_min: float, limit: int, positive: bool = False
) -> kernels.Trail | None:
    """Return at most `limit` knots of the LASSO path from λ*(S) down to lam_min, for at most FEW columns.

    Returns None if λ*(S) ≤ lam_min, if rounding leaves a knot undecided, or if the problem is not small.
    """
    d = problem.d
    if d > FEW or problem.n * d > SMALL or problem.dtype != np.float64 or not problem.has_columns:
        return None
    size = min(limit, 32 + 4 * d)
    trail = kernels.Trail(np.empty((size, d)), np.empty(size), np.empty(size), np.empty(size, np.intp))
    until = kernels.Until(lam_min, size)
    run = _run(problem, _rows(problem), slice(None), S, until, trail, 0.0 if positive else -1.0)
    m = run.points
    if run.ending == kernels.DONE:
        if run.size == 0:
            return None
    elif run.ending != kernels.LIMIT or m < limit:
        return None
    if trail.lams[0] <= lam_min:
        return None
    return kernels.Trail._make(array[:m].copy() for array in trail)


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


class ProvedSolution(NamedTuple):
    """A solution of the LASSO, proved on all columns.

    columns, beta : (M,) some columns, and their coefficients; all other coefficients are zero.
    r, c : the residual r = y − Xβ (n,), and Xᵀr (d,).
    """

    columns: IndexArray
    beta: FloatArray
    r: FloatArray
    c: FloatArray


def solution_at(problem: Problem, S: IndexArray, lam: float) -> ProvedSolution | None:
    """Return the solution of the LASSO at λ = lam, for a problem in float64.

    The path is followed down to λ on some columns, the candidates: S, the columns without penalty, and those
    with the largest |X_jᵀy|. Columns that violate |c_j| ≤ λ at the end, where c = Xᵀr, become candidates, and
    the path is followed again from its start. Returns None if rounding leaves the solution undecided.
    """
    d = problem.d
    t = len(S)
    if problem.dtype != np.float64:  # the products of all columns would not decide a small λ
        return None
    until = kernels.Until(lam, 1000 + 4 * min(problem.n, d))
    free = np.arange(t)
    index = S
    norms = problem.column_norms
    excess = np.abs(problem.Xty)
    excess[S] = -1
    many = d - t
    while True:
        many = min(many, max(_FIRST, len(index)))  # the sizes of the rounds grow geometrically
        if many:
            index = np.concatenate([index, excess.argpartition(d - many)[d - many :]])
        run = _run(problem, _rows_of(problem, index), index, free, until, _NO_TRAIL)
        if run.ending != kernels.DONE or run.size == 0:
            return None
        c = _correlate(problem, run.r)
        unit = problem.rounding() * run.size
        many, known = small_lasso.violations(c, lam, unit, norms, index, t, run.beta, excess)
        if known or unit * norms.item(norms.argmax()) > _LARGEST_ERROR * lam:
            return None
        if many == 0:
            return ProvedSolution(index, run.beta, run.r, c)


def _rows_of(problem: Problem, index: IndexArray) -> FloatArray:
    """Return the columns `index` as rows, dense and in C order."""
    if problem.is_plain and is_dense(problem):
        return np.ascontiguousarray(problem.X.T[index])
    return problem.columns(index).T


def _correlate(problem: Problem, r: FloatArray) -> FloatArray:
    """Return Xᵀr (d,); for a small X without BLAS, whose threads would have to be limited."""
    X = problem.X
    if not (problem.is_plain and is_dense(problem) and X.size < LARGE):
        with workers(math.inf):
            return problem.correlate(r)
    by_rows = bool(X.flags.c_contiguous)
    c = np.empty(problem.d)
    small_lasso.correlate(X if by_rows else X.T, by_rows, r, c)
    return c


class FirstSegment(NamedTuple):
    """The LASSO path between its first two knots, accurate to rounding.

    j : the column that enters at the first knot.
    product, square : ⟨X_j, y⟩ and ‖X_j‖².
    lower : the λ of the second knot, or zero if there is none.
    """

    j: int
    product: float
    square: float
    lower: float


def first_segment(problem: Problem) -> FirstSegment | None:
    """Return the first segment of the LASSO path without features in S.

    As in `solution_at`, the path is followed on some columns, and is right if all other columns are below λ
    at both knots by more than rounding. Returns None if rounding leaves a knot undecided, or if the data are
    not plain: dense and in float64, without an intercept, scales or weights.
    """
    d, norms = problem.d, problem.column_norms
    if not (_is_plain(problem) and problem.y_norm > 0):
        return None
    c = np.abs(problem.Xty)
    index = np.arange(d) if d <= FEW else c.argpartition(d - _FIRST)[d - _FIRST :]
    until = kernels.Until(0.0, 2)
    while True:
        M = len(index)
        rows = _rows(problem) if d == M else _rows_of(problem, index)
        trail = kernels.Trail(np.empty((2, M)), np.empty(2), np.empty(2), np.empty(2, np.intp))
        run = _run(problem, rows, index, index[:0], until, trail)
        if run.points < 2:
            return None
        j, k = trail.events.tolist()
        error = 4 * problem.rounding() * trail.sizes.item(1) * norms
        near = c >= trail.lams[0] - error
        if np.count_nonzero(near) > 1:  # a tie, also with a column whose correlation decreases faster than λ
            return None
        if d > M:
            r = problem.y - trail.coef[1, j - 1] * rows[j - 1]
            near = np.abs(_correlate(problem, r)) >= trail.lams[1] - error
            near[index] = False
            if near.any():
                index = np.concatenate([index, np.flatnonzero(near)])
                continue
        ends = run.ending == kernels.DONE
        if (run.size == 0) if ends else k <= 0:
            return None
        x, z = rows[j - 1], rows[max(k, 1) - 1]
        lengths = norms[index[[j - 1, k - 1]]]
        if lengths.min() < _LEAST * lengths.max():
            return None
        # Powers of two round nothing, and the squares of the scaled data neither over- nor underflow.
        unit = 2.0 ** -math.frexp(lengths.max())[1]
        y_unit = 2.0 ** -math.frexp(problem.y_norm)[1]
        product, square, lower = refinement.first_segment(x * unit, z * unit, problem.y * y_unit)
        return FirstSegment(
            j=int(index[j - 1]),
            product=product / unit / y_unit,
            square=square / unit / unit,
            lower=0.0 if ends else lower / unit / y_unit,
        )


def _is_plain(problem: Problem) -> bool:
    """Return whether the data are a dense X and y in float64, exact to rounding, without scales and ones."""
    exact = problem.eps == EPS and not (problem.errors.of_squares or problem.is_multiplied)
    return exact and problem.is_plain and is_dense(problem) and problem.dtype == np.float64
