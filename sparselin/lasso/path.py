"""The exact LASSO path."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import small_lasso as kernels
from sparselin._kernels.notice import caller
from sparselin.lasso._working_set import KnotBlock, knot_blocks
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import FloatArray, IndexArray, LassoPath, Status
from sparselin.validation import Columns, check_count, check_level
from sparselin.validation.progress import ProgressLog


@takes_problem
def lasso_path(
    X: Any,
    y: ArrayLike | None,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
    max_steps: int | None = None,
    lam_min: float = 0.0,
    positive: bool = False,
    callback: Callable[[LassoPath], object] | None = None,
    **data: Unpack[DataOptions],
) -> LassoPath:
    """Compute the exact LASSO path: the solutions for all λ from λ*(S) down to lam_min.

    Let S be the features without penalty and S̄ the others. The problem at λ is

        minimise  ½‖y − Xβ‖² + λ‖β_{S̄}‖₁.

    Let P_S^⊥y be the residual of least squares of y on the columns of S. For λ ≥ λ*(S) = ‖XᵀP_S^⊥y‖∞ the
    coefficients outside S are zero. Below λ*(S) the solution β(λ) is piecewise linear. Its knots are the λ at
    which a coefficient enters or leaves the model (Efron et al., *Least angle regression*, 2004; Osborne,
    Presnell and Turlach, 2000). At each knot the direction is the solution of a nonnegative least squares
    problem, so several features may enter or leave at once (Bringmann, Cremers, Krahmer and Möller, *The
    homotopy method revisited*, 2016). If columns are dependent, solutions may not be unique; then the path
    follows one of them. At each knot the KKT (optimality) conditions are checked on all columns.

    Accuracy. Let r = y − Xβ be the residual and c = Xᵀr its correlations. If the bound on the error of c is
    not below 1e-4·λ, then r and β are refined iteratively, until they equal the results of exact arithmetic
    up to the last rounding (`_homotopy`). So accuracy does not suffer from nearly dependent columns, from
    columns of large mean with an unpenalised intercept, or from columns of very different lengths. There are
    two limits. First, a knot may be ill-conditioned: if two columns at distance δ compete to enter, the λ of
    the knot, and β and c up to the next knot, are known only to eps/δ (eps is the machine epsilon). Second,
    rounding β itself changes c_i by eps·‖X_i‖Σ‖X_j‖|β_j|, which can exceed a small λ if columns are nearly
    dependent. Once y is fitted to rounding, there are no further knots, and the last segment ends at lam_min.

    Nonnegative LASSO. With `positive`, the minimum is over β_{S̄} ≥ 0; the coefficients on S may have any
    sign. Then λ*(S) = max(0, max_j c_j) with c = XᵀP_S^⊥y. A solution β has the correlations c = Xᵀ(y − Xβ)
    with c_S = 0 and c_j ≤ λ outside S, and c_j = λ where β_j > 0. A path down to λ = 0 ends in a solution of
    nonnegative least squares that has the least sum of β_{S̄} (docs/proofs/nonnegative.md).

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    forced : S, the features without penalty, by index or name. A feature that depends linearly on the
        features before it gets the coefficient zero. `unpenalized` is another name for this argument.
    max_steps : compute at most this many segments. A path that is cut off in this way has the status
        MAX_STEPS.
    lam_min : the λ at which the path ends, ≥ 0. With 0, the path ends in a least squares solution of least
        ‖β_{S̄}‖₁.
    positive : require β_{S̄} ≥ 0.
    intercept, standardize : fit an unpenalised intercept; divide columns by their standard deviations, so
        that λ penalises the coefficients of the scaled columns (see `Problem`). The result is in the units
        of X.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each segment with the path so far; the path stops if it returns True.

    Returns
    -------
    LassoPath. Its `at(lam)` interpolates linearly between the knots, which is exact. The status is COMPLETED,
    MAX_STEPS or STOPPED, or BEYOND_PRECISION if rounding leaves the next knot undecided. A COMPLETED path may
    contain ties; `LassoPath` says where they are listed.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), invalid `forced`, lam_min < 0, or max_steps < 1.

    >>> path = lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> path.knots.tolist(), path.at(2.0).tolist(), path.at(0.5).tolist()
    ([3.0, 1.0, 0.0], [1.0, 0.0], [2.5, 0.5])
    >>> path = lasso_path([[1.0, 0.5], [0.0, 1.0]], [3.0, -2.0], positive=True)
    >>> path.knots.tolist(), path.coef[-1].tolist()
    ([3.0, 0.0], [3.0, 0.0])
    """
    problem = as_problem(X, y, **data, operator=True)
    S = problem.unpenalized_columns(forced, unpenalized)
    lam_min = check_level(lam_min, "lam_min")
    limit = None if max_steps is None else check_count(max_steps, "max_steps", 1)
    blocks: list[KnotBlock] = []
    most = sys.maxsize if limit is None else limit + 1
    progress = ProgressLog(caller, "knots")
    for new in knot_blocks(problem, S, lam_min, most, positive):
        if new.from_start:
            blocks.clear()
        for block in (new,) if callback is None else new.split():
            blocks.append(block)
            if callback is not None and len(blocks) > 1:
                path = _path(problem, S, positive, blocks, Status.STOPPED)
                if callback(path):
                    return path
        progress.report(sum(len(block.lams) for block in blocks))
    if blocks[-1].lams[-1] <= lam_min:
        return _path(problem, S, positive, blocks, Status.COMPLETED)
    cut_off = sum(len(block.lams) for block in blocks) == most
    return _path(problem, S, positive, blocks, Status.MAX_STEPS if cut_off else Status.BEYOND_PRECISION)


def _path(problem: Problem, S: IndexArray, positive: bool, blocks: list[KnotBlock], end: Status) -> LassoPath:
    """Join blocks of knots to a `LassoPath`, with coefficients in the units of X."""
    block = blocks[0] if len(blocks) == 1 else _join(blocks)
    m, design = problem.n_features, problem.design
    features, coef, r2 = _fits(problem, S, block)
    knots = block.lams.astype(problem.dtype)
    active = block.active
    if not (knots[:-1] > knots[1:]).all():  # knots must differ, also those that are equal in float32
        for i in range(len(knots) - 2, -1, -1):
            knots[i] = max(knots[i], np.nextafter(knots[i + 1], np.inf, dtype=knots.dtype))
    last = active[-2] if len(active) > 1 else ()
    coef = coef.astype(problem.dtype, copy=False)
    intercept = np.zeros(len(knots), problem.dtype)
    if problem.d > m and len(features) and features[-1] == m:  # the column of ones
        features, coef, intercept = features[:-1], coef[:, :-1], coef[:, -1].copy()
    path = coef if design.scale is None else coef * design.scale[features]
    fits = (path, intercept, r2.astype(problem.dtype, copy=False), (*active[:-1], last))
    # without the column of ones
    free = S[problem.d - m :]
    fit = design.fit(positive)
    return LassoPath(knots, features, *fits, free, end, fit)


def _join(blocks: list[KnotBlock]) -> KnotBlock:
    """Return the knots of all blocks as one block."""
    lams = np.concatenate([block.lams for block in blocks])
    columns = np.unique(np.concatenate([block.columns for block in blocks]))
    coef = np.zeros((len(lams), len(columns)))
    stop = 0
    for block in blocks:
        start = stop
        stop = stop + len(block.lams)
        coef[start:stop, np.searchsorted(columns, block.columns)] = block.coef
    return KnotBlock(lams, columns, coef, [P for block in blocks for P in block.active])


def _fits(problem: Problem, S: IndexArray, block: KnotBlock) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the p columns with a nonzero coefficient at one of the m knots, β on them (m, p), and R² (m,).

    Without an intercept, let z = y and f = Xβ. With an intercept, let z = y − ȳ, where ȳ is the mean of y,
    and let f be Xβ without the intercept, centred too. Let r = y − Xβ, and S̄ the penalised features. By the
    KKT conditions ⟨f, r⟩ = λ‖β_{S̄}‖₁. Hence ‖z‖² − ‖r‖² = ‖f‖² + 2⟨f, r⟩ = ⟨f, z⟩ + λ‖β_{S̄}‖₁.
    """
    ones = problem.design.ones
    z, c = problem.y, problem.Xty
    if ones is not None:
        for _ in range(2):  # twice: a mean of y left by rounding would be multiplied by the means of X
            z = z - (ones @ z) / (ones @ ones) * ones
        c = problem.correlate(z)
        c[-1] = 0
    features, coef, r2 = kernels.summary(block.coef, block.columns, block.lams, c, S, float(z @ z))
    return features, coef, r2


def path_beyond(problem: Problem, most: int, forced: Columns) -> LassoPath:
    """Compute the LASSO's path until it has more than `most` features that are not forced, or to its end."""
    path = lasso_path(problem, forced=forced, callback=lambda path: len(path.active[-1]) > most)
    return dataclasses.replace(path, status=Status.COMPLETED) if path.status is Status.STOPPED else path


def last_within(path: LassoPath, most: int) -> tuple[list[int], list[float], int]:
    """Find the last solution before the path first has more than `most` features that are not forced.

    Returns the features of this solution in the order in which they entered, the λ at which each entered, and
    the index of the knot of the solution. For a feature that entered several times, the last time counts.
    """
    last = len(path.knots) - 1
    i = next((i for i, A in enumerate(path.active[:-1]) if len(A) > most), last)
    entered = {}
    for j in path.active[i - 1] if i else ():
        at = i - 1
        while at and j in path.active[at - 1]:
            at -= 1
        entered[j] = float(path.knots[at])
    order = sorted(entered, key=lambda j: (-entered[j], j))
    return order, [entered[j] for j in order], i
