"""The exact LASSO path."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import small_lasso as kernels
from sparselin._kernels.notice import caller
from sparselin.lasso import _small
from sparselin.lasso._working_set import KnotBlock, block_of, proved_blocks
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import Fit, FloatArray, IndexArray, LassoPath, Status
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
    most = sys.maxsize if limit is None else limit + 1
    trail = _small.small_path(problem, S, lam_min, most, positive)
    parts: Iterable[KnotBlock]
    if trail is None:
        parts = proved_blocks(problem, S, lam_min, most, positive)
    elif callback is None:
        end = _end(trail.lams[-1], lam_min, len(trail.lams), most)
        fits = _Fits(problem, S, positive, lambda: block_of(trail))
        free = S[problem.d - problem.n_features :]  # without the column of ones
        return LassoPath._deferring(fits, knots=trail.lams.copy(), forced=free, status=end)
    else:
        parts = [block_of(trail)]
    blocks: list[KnotBlock] = []
    progress = ProgressLog(caller, "knots")
    for new in parts:
        if new.from_start:
            blocks.clear()
        for block in (new,) if callback is None else new.split():
            blocks.append(block)
            if callback is not None and len(blocks) > 1:
                path = _path_of(problem, S, positive, blocks, Status.STOPPED)
                if callback(path):
                    return path
        progress.report(sum(len(block.lams) for block in blocks))
    count = sum(len(block.lams) for block in blocks)
    return _path_of(problem, S, positive, blocks, _end(blocks[-1].lams[-1], lam_min, count, most))


def _end(lam: float, lam_min: float, count: int, most: int) -> Status:
    """Return the status of a path with `count` knots, of at most `most`, whose last knot is at λ = lam."""
    if lam <= lam_min:
        return Status.COMPLETED
    return Status.MAX_STEPS if count == most else Status.BEYOND_PRECISION


def _path_of(
    problem: Problem, S: IndexArray, positive: bool, blocks: list[KnotBlock], end: Status
) -> LassoPath:
    """Join blocks of knots to a `LassoPath`, whose knots differ, also those that are equal in float32."""
    knots = np.concatenate([block.lams for block in blocks]).astype(problem.dtype)
    if not (knots[:-1] > knots[1:]).all():
        for i in range(len(knots) - 2, -1, -1):
            knots[i] = max(knots[i], np.nextafter(knots[i + 1], np.inf, dtype=knots.dtype))
    fits = _Fits(problem, S, positive, lambda: _join(blocks))
    return LassoPath(
        knots=knots,
        features=fits.features(),
        coef_path=fits.coef_path(),
        intercept=fits.intercept(),
        r2=fits.r2(),
        active=fits.active(),
        forced=S[problem.d - problem.n_features :],
        status=end,
        fit=fits.fit(),
    )


class _Fits:
    """The fits at the knots of a path: fields of a `LassoPath`.

    A path may keep its fits, for fields that are computed later. So they hold neither X nor y, which may be
    large, or be changed.
    """

    def __init__(
        self, problem: Problem, S: IndexArray, positive: bool, block: Callable[[], KnotBlock]
    ) -> None:
        design = problem.design
        self._join_knots = block
        self._S = S
        self._dtype = problem.dtype
        self._scale = design.scale
        self._ones = problem.d - problem.n_features
        self._fit = design.fit(positive)
        self._total, self._c = _centred_products(problem)

    @functools.cached_property
    def _block(self) -> KnotBlock:
        return self._join_knots()

    @functools.cached_property
    def _arrays(self) -> tuple[IndexArray, FloatArray, FloatArray, FloatArray]:
        """The features, β, the intercepts and R².

        Without an intercept, let z = y and f = Xβ. With an intercept, let z = y − ȳ, where ȳ is the mean of
        y, and let f be Xβ without the intercept, centred too. Let r = y − Xβ, and S̄ the penalised features.
        By the KKT conditions ⟨f, r⟩ = λ‖β_{S̄}‖₁. Hence ‖z‖² − ‖r‖² = ‖f‖² + 2⟨f, r⟩ = ⟨f, z⟩ + λ‖β_{S̄}‖₁.
        """
        block, scale, dtype = self._block, self._scale, self._dtype
        m = len(self._c) - self._ones
        given = block.coef, block.columns, block.lams, self._c, self._S, self._total
        features, coef, r2 = kernels.summary(*given)
        coef = coef.astype(dtype, copy=False)
        intercept = np.zeros(len(coef), dtype)
        if self._ones and len(features) and features[-1] == m:  # the column of ones
            features, coef, intercept = features[:-1], coef[:, :-1], coef[:, -1].copy()
        coef = coef if scale is None else coef * scale[features]
        return features, coef, intercept, r2.astype(dtype, copy=False)

    def features(self) -> IndexArray:
        """Return the p features with a nonzero coefficient at one of the m knots."""
        return self._arrays[0]

    def coef_path(self) -> FloatArray:
        """Return their coefficients (m, p) in the units of X."""
        return self._arrays[1]

    def intercept(self) -> FloatArray:
        """Return the intercepts (m,)."""
        return self._arrays[2]

    def r2(self) -> FloatArray:
        """Return R² (m,)."""
        return self._arrays[3]

    def active(self) -> tuple[tuple[int, ...], ...]:
        """Return the active sets of `LassoPath`."""
        sets = self._block.active
        return *sets[:-1], sets[-2] if len(sets) > 1 else ()

    def fit(self) -> Fit:
        """Return the properties of the fits."""
        return self._fit


def _centred_products(problem: Problem) -> tuple[float, FloatArray]:
    """Return ‖z‖² and Xᵀz (d,), where z is y, or y minus its mean if there is an intercept."""
    ones = problem.design.ones
    z = problem.y
    if ones is None:
        return float(z @ z), problem.Xty
    for _ in range(2):  # twice: a mean of y left by rounding would be multiplied by the means of X
        z = z - (ones @ z) / (ones @ ones) * ones
    c = problem.correlate(z)
    c[-1] = 0
    return float(z @ z), c


def _join(blocks: list[KnotBlock]) -> KnotBlock:
    """Return the knots of all blocks as one block."""
    if len(blocks) == 1:
        return blocks[0]
    lams = np.concatenate([block.lams for block in blocks])
    columns = np.unique(np.concatenate([block.columns for block in blocks]))
    coef = np.zeros((len(lams), len(columns)))
    stop = 0
    for block in blocks:
        start = stop
        stop = stop + len(block.lams)
        coef[start:stop, np.searchsorted(columns, block.columns)] = block.coef
    return KnotBlock(lams, columns, coef, [P for block in blocks for P in block.active])


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
