"""Classical tests and intervals for features that other rows selected.

The features S do not depend on the responses of these rows, so the laws of regression without selection
hold. With the squared loss, and y ~ N(μ, σ²I/w) with μ in the span of the model, they are exact: t for a
coefficient, F for a group of them, with n − rank degrees of freedom. For logistic and Poisson regression
they are approximate for large n: the likelihood estimate is near N(β, (XᵀVX)⁻¹), where V holds the variances
of y, which gives Wald's tests, z for a coefficient and χ² for a group (McCullagh and Nelder, *Generalized
Linear Models*, 1989). Counts often vary more than Poisson counts. Let φ be Pearson's χ² = Σ w(y − μ)²/μ
divided by its degrees of freedom; if φ > 1, the covariance is multiplied by φ (quasi-Poisson). statsmodels
computes all of these.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from sparselin.greedy.generalized import generalized_group_omp, generalized_omp
from sparselin.greedy.omp import group_omp, in_bases, refit
from sparselin.problem import Problem
from sparselin.problem.arguments import rows_with_weight
from sparselin.problem.errors import rank_level
from sparselin.problem.paths import check_path, responses
from sparselin.results import Fit, FloatArray, GeneralizedPath, GroupPath, IndexArray, SplitInference, Status
from sparselin.results.display import plural
from sparselin.validation import Rng, check_generator
from sparselin.validation.extras import installed_by, needs

# A family of statsmodels for each loss.
_FAMILIES = {"logistic": "Binomial", "poisson": "Poisson"}


def split_units(
    X: Any, y: Any, path: GroupPath | GeneralizedPath, level: float, rng: Rng, sample_weight: Any = None
) -> SplitInference:
    """Select again on a random half of the rows, and test the model on the other half.

    The method of the path selects as many groups, or features, as the path has, with the same forced ones.
    """
    if isinstance(X, Problem):
        raise TypeError("a split of groups, or of another loss, needs the rows: pass X and y, not a Problem")
    numbers = np.asarray(responses(path, y), np.float64)
    if isinstance(path, GroupPath) and path.intercept_path.shape[1] > 1:
        raise ValueError(f"path must have one output for tests; it has {path.intercept_path.shape[1]}")
    problem = Problem(
        X,
        numbers,
        sample_weight=sample_weight,
        intercept=path.with_intercept,
        standardize=path.standardized,
    )
    check_path(problem, path)
    rows = rows_with_weight(problem, X, sample_weight)
    half = len(rows) // 2
    if half == 0:
        raise ValueError(f"X must have two rows with a positive weight, or more; got {len(rows)}")
    order = check_generator(rng).spawn(1)[0].permutation(rows)
    first, second = np.sort(order[:half]), np.sort(order[half:])
    plain = Problem(X, numbers)
    A = plain.columns(np.arange(plain.d)).astype(np.float64)
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    again = _select_again(A[first], numbers[first], path, None if weight is None else weight[first])
    S = again.support
    if isinstance(path, GroupPath):
        S = np.flatnonzero(path.groups >= 0)[again.support]
        units = [path.group_name_of(int(g)) for g in path.groups[S]]
    else:
        units = [path.name_of(int(j)) for j in S]
    return classical(
        A[np.ix_(second, S)],
        numbers[second],
        S,
        units,
        path.fit,
        level,
        selected_on=half,
        weight=None if weight is None else weight[second],
        status=again.status,
    )


def _select_again(X: FloatArray, y: FloatArray, path: Any, weight: FloatArray | None) -> Any:
    """Return the path of the same method on these rows, over the columns that could be selected."""
    fit = path.fit
    options: dict[str, Any] = {"intercept": fit.with_intercept, "standardize": fit.standardized}
    options["sample_weight"] = weight
    loss = {} if fit.loss == "squared" else {"loss": fit.loss}
    k = len(path)
    if isinstance(path, GeneralizedPath):
        forced = path.support[np.isnan(path.lam_star)]
        return generalized_omp(X, y, k, forced=forced, **loss, **options)
    forced = path.order[np.isnan(path.lam_star)]
    kept = path.groups >= 0
    options |= {"groups": path.groups[kept], "weights": path.group_weights, "forced": forced}
    method: Any = partial(group_omp, Y=y[:, None], k=k)
    if loss:
        method = partial(generalized_group_omp, y=y, k=k, **loss)
    return in_bases(method, X[:, kept], **options)


def classical(
    X: FloatArray,
    y: FloatArray,
    support: IndexArray,
    units: Sequence[str],
    fit: Fit,
    level: float,
    selected_on: int,
    weight: FloatArray | None = None,
    status: Status = Status.COMPLETED,
) -> SplitInference:
    """Test the coefficients of a model, and the units of columns, on rows that did not select them.

    A column that depends on the columns before it, such as an indicator of a level that these rows do not
    have, is left out of the model; its numbers are NaN.

    Parameters
    ----------
    X, y : the rows that test, (n, s) the columns of the model, and (n,) numbers; for the logistic loss 0 and
        1.
    support : (s,) the features of these columns.
    units : (s,) the name of the unit of each column: equal for the columns of one group.
    fit : the properties of the selection; its loss and its intercept are used.
    level : the confidence level of the intervals.
    selected_on : the number of rows that selected.
    weight : (n,) positive. For the squared loss, row i has the variance σ²/weight_i; for the other losses it
        counts as weight_i rows.
    status : the way in which the selection ended.
    """
    n, s = X.shape
    w = np.ones(n) if weight is None else weight
    names = tuple(dict.fromkeys(units))
    kept = _independent(X * np.sqrt(w)[:, None], np.sqrt(w) if fit.with_intercept else None)
    first = int(fit.with_intercept)
    numbers = {name: np.full(s, np.nan) for name in ("estimate", "standard_error", "p_value")}
    interval = np.full((s, 2), np.nan)
    of_unit = np.full((len(names), 3), np.nan)
    reason = _reason(X[:, kept], y, fit, weight, n - first - len(kept))
    degrees = float(n - first - len(kept)) if fit.loss == "squared" else math.inf
    dispersion = 1.0
    if not reason and len(kept):
        found = _fit(X[:, kept], y, fit, w)
        dispersion = float(found.scale) if fit.loss == "poisson" else 1.0
        numbers["estimate"][kept] = found.params[first:]
        numbers["standard_error"][kept] = found.bse[first:]
        numbers["p_value"][kept] = found.pvalues[first:]
        interval[kept] = found.conf_int(1 - level)[first:]
        for u, name in enumerate(names):
            at = [first + i for i, j in enumerate(kept) if units[j] == name]
            if at:
                matrix = np.eye(first + len(kept))[at]
                test = found.f_test(matrix) if fit.loss == "squared" else found.wald_test(matrix, scalar=True)
                of_unit[u] = float(np.squeeze(test.statistic)), len(at), float(np.squeeze(test.pvalue))
    return SplitInference(
        support=support,
        units=tuple(units),
        **numbers,
        interval=interval,
        unit_statistic=of_unit[:, 0],
        unit_degrees=of_unit[:, 1],
        unit_p_value=of_unit[:, 2],
        degrees=degrees,
        dispersion=dispersion,
        level=level,
        rows=(selected_on, n),
        reason=reason,
        status=status,
        fit=fit,
    )


def _independent(X: FloatArray, ones: FloatArray | None) -> IndexArray:
    """Return the columns that are outside the span of the ones and of the columns before them."""
    basis: list[FloatArray] = []
    kept = []
    columns = [] if ones is None else [(-1, ones)]
    for j, x in [*columns, *enumerate(X.T)]:
        size = float(np.linalg.norm(x))
        z = x / size if size else x
        for _ in range(2):
            for q in basis:
                z = z - q * (q @ z)
        left = float(np.linalg.norm(z))
        if left > rank_level(X.shape):
            basis.append(z / left)
            kept.append(j)
    return np.array([j for j in kept if j >= 0], np.intp)


def _reason(X: FloatArray, y: FloatArray, fit: Fit, weight: FloatArray | None, free: int) -> str:
    """Return why these rows determine no tests, or ""."""
    if not X.shape[1]:
        return "no feature is in the model"
    if free < 1:
        rows, unknown = plural(len(y), "row"), plural(X.shape[1], "coefficient")
        return f"{rows} do not determine {unknown} and the variance; select fewer features"
    if fit.loss == "squared":
        data = Problem(X, y, sample_weight=weight, intercept=fit.with_intercept)
        left = refit(data, range(X.shape[1])).residual_norm[-1]
        exact = left <= data.rounding() * data.y_norm
        return "the model fits these rows exactly, so there is no noise to test against" if exact else ""
    if fit.loss == "logistic" and np.ptp(y) == 0:
        return "these rows have one class only"
    if not y.any():
        return "y is zero on these rows"
    k = X.shape[1]
    path = generalized_omp(
        X, y, k, loss=fit.loss, forced=range(k), intercept=fit.with_intercept, sample_weight=weight
    )
    if len(path) < k:
        return "the selected features separate the classes on these rows, so no estimate is finite"
    return ""


def _fit(X: FloatArray, y: FloatArray, fit: Fit, w: FloatArray) -> Any:
    """Return the result of statsmodels, with the intercept first."""
    with needs("statsmodels", f"tests on held-out rows need statsmodels: {installed_by('verify')}"):
        import statsmodels.api as sm
    A = np.column_stack([np.ones(len(X)), X]) if fit.with_intercept else X
    if fit.loss == "squared":
        return sm.WLS(y, A, weights=w).fit()
    family = getattr(sm.families, _FAMILIES[fit.loss])()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separation was excluded before
        model = sm.GLM(y, A, family=family, var_weights=w)
        found = model.fit(tol=1e-12, maxiter=200)
        if fit.loss == "poisson" and (scale := float(found.pearson_chi2) / max(found.df_resid, 1)) > 1:
            found = model.fit(tol=1e-12, maxiter=200, scale=scale)
        return found
