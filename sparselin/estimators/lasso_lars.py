"""scikit-learn's `LassoLars`, `LassoLarsCV` and `LassoLarsIC`, computed with exact LASSO paths.

With n rows, the penalty α of these classes is λ/n; with weights w it is λ/Σw, so that multiplying all weights
by a factor does not change the solution at α.
"""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from sparselin.estimators import _common
from sparselin.estimators._common import FitTask, Observations, RoutesToSplitter, Split, TakesSparse
from sparselin.lasso.path import lasso_path
from sparselin.parallel.threads import workers
from sparselin.problem.argument_names import suggest_parameters
from sparselin.problem.errors import eps_of
from sparselin.results import FloatArray, IndexArray, LassoPath, Status
from sparselin.results.base import dense

# Knots λ within _SAME·eps of each other are equal: λ = α·n and α = λ/n are rounded, and so is the knot.
# If _SAME is too small, a path has its last knot twice; if it is too large, a segment is left out.
_SAME = 8


class AlphaPath(NamedTuple):
    """A LASSO path with m knots in the notation of scikit-learn, where the penalty is α.

    alphas : (m,) the α of each knot.
    features : (p,) the features that are nonzero somewhere on the path.
    coef, intercept : (m, p) the coefficients of these features, and (m,) the intercepts.
    order : the features that are nonzero on the last segment, in the order in which they entered.
    """

    alphas: FloatArray
    features: IndexArray
    coef: FloatArray
    intercept: FloatArray
    order: list[int]
    status: Status


@suggest_parameters
class LassoLars(TakesSparse, linear_model.LassoLars):
    """scikit-learn's `LassoLars`, computed with the exact path of `sparselin.lasso_path`.

    It minimises ‖y − β₀ − Xβ‖²/(2n) + α‖β‖₁ for n rows; the λ of `lasso_path` is n·α. With weights w it
    minimises Σ w_i(y_i − β₀ − x_iᵀβ)²/(2Σw) + α‖β‖₁, so that only the ratios of the weights matter; then λ is
    Σw·α. This estimator differs from scikit-learn's in these points:

    - The path is correct if several features enter or leave at once: at ties, and for duplicate and negated
      columns.
    - The path does not depend on the scale of the data, because there is no absolute tolerance.
    - X may be sparse, even with an intercept, and is not made dense. `fit` takes `sample_weight`.
    - If `max_iter` ends the path above α, there is a ConvergenceWarning.
    - X is never written to.
    - Callbacks (scikit-learn 1.9): each segment of the path is a task. If the hook `on_fit_task_end` returns
      True, the path ends there. If there are several targets, each target is a task, and its segments are
      the subtasks.

    Parameters
    ----------
    alpha : float, default=1.0
        α ≥ 0. With α = 0 the path ends at a least squares solution with the least ‖β‖₁.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    max_iter : int, default=500
        The largest number of segments of the path.
    fit_path : bool, default=True
        Whether to store the path: `coef_path_` and `active_`.
    positive : bool, default=False
        Whether to require β ≥ 0. Then the path is that of the nonnegative LASSO, down to α = 0.
    precompute : bool, 'auto' or array (n_features, n_features), default='auto'
        Accepted but not used, because a Gram matrix has lost half of the digits of X.
    eps, copy_X, verbose, jitter, random_state :
        Accepted but not used, because an exact path does not need them. (For example, `jitter` adds noise to
        y so that no two features enter at once.)

    Attributes
    ----------
    alphas_ : (m,) the α of each knot, decreasing; the last one is `alpha`. With `fit_path=False` it is only
        this last number.
    active_ : the features that are active at the end of the path, in the order in which they entered.
    coef_path_ : (n_features, m) the coefficients at each knot.
    coef_ : (n_features,) or (n_targets, n_features) the coefficients, in the dtype of X.
    intercept_ : a number or (n_targets,); 0.0 if `fit_intercept` is False.
    n_iter_ : the number of segments, m − 1.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    If there are several targets, alphas_, active_, coef_path_ and n_iter_ are lists, one entry per target.

    >>> from sparselin.estimators import LassoLars
    >>> X, y = [[0.0, 0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0, 0.0]], [-2.5, -2.5]  # a tie
    >>> model = LassoLars(alpha=0.001, fit_intercept=False).fit(X, y)
    >>> model.coef_.round(12), model.alphas_.tolist()
    (array([0.   , 2.498, 0.   , 2.498, 0.   ]), [1.25, 0.001])
    """

    # of several targets, lists
    alphas_: Any
    active_: Any
    coef_path_: Any
    n_iter_: Any

    @_common.check_parameters
    def fit(self, X: Any, y: Any, Xy: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,) or (n, n_targets).

        Xy : accepted but not used, like `precompute`.
        sample_weight : (n,) weights ≥ 0 of the squared residuals, of which only the ratios matter, or None.
            Rows of weight 0 are as if removed.

        Returns the estimator. Raises ValueError if the data are invalid. Warns (ConvergenceWarning) if a path
        ended above α.
        """
        data = Observations.of_fit(self, X, y, sample_weight, multi_output=True)
        parts = self.max_iter if data.y.ndim == 1 else data.outputs
        task = FitTask.of_fit(self, data.X, data.y, data.weight, parts)
        paths = _fit_targets(self, data, self.alpha, task, self.fit_path)
        bad = [i for i, one in enumerate(paths) if one.status in (Status.MAX_STEPS, Status.BEYOND_PRECISION)]
        if bad:
            path = paths[bad[0]]
            of = "" if data.y.ndim == 1 else f" for {len(bad)} of {len(paths)} targets, the first {bad[0]}"
            reached = path.status is Status.MAX_STEPS
            why = "max_iter was reached; increase it" if reached else path.status.message
            message = f"the path ended at alpha={path.alphas[-1]:.3g}, above {self.alpha:g}{of}: {why}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        task.end({})
        return self


@suggest_parameters
class LassoLarsCV(RoutesToSplitter, TakesSparse, linear_model.LassoLarsCV):
    """scikit-learn's `LassoLarsCV`, computed with one path of `sparselin.lasso_path` for each fold.

    A path is linear between its knots, so the error of a fold is known for every α. The errors are computed
    at the knots of all folds, and the α with the least mean error is chosen. If several α have this error,
    the smallest is chosen. In all other respects the estimator is like `LassoLars`.

    Parameters
    ----------
    fit_intercept, positive : see `LassoLars`.
    max_iter : int, default=500
        The largest number of segments of a path. If the path of a fold ends above an α, its last model is
        scored at that α.
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn; 5 folds by default.
    max_n_alphas : int, default=1000
        The approximate number of α to compare. If the folds have more knots, only every m-th is compared.
    n_jobs : int, default=None
        The number of folds that are fitted at the same time, in threads.
    verbose : bool or int, default=False
        The verbosity of joblib.
    precompute, eps, copy_X : accepted but not used; see `LassoLars`.

    Attributes
    ----------
    alpha_ : the α with the least mean squared error.
    cv_alphas_ : (q,) the α that were compared, increasing.
    mse_path_ : (q, n_folds) the mean squared error of each α on the test rows of each fold.
    alphas_, active_, coef_path_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_ : as in
        `LassoLars`, for the path of all data down to alpha_.

    Callbacks: each fold is a task, and so is the final fit to all data. Their segments are subtasks.

    >>> import numpy as np
    >>> from sparselin.estimators import LassoLarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> y = X[:, 3] - 2 * X[:, 7] + 0.1 * rng.standard_normal(60)
    >>> model = LassoLarsCV().fit(X, y)
    >>> model.alpha_.round(4), model.active_[:2]
    (np.float64(0.018), [7, 3])
    """

    alpha_: float
    cv_alphas_: FloatArray
    mse_path_: FloatArray
    alphas_: FloatArray
    active_: list[int]
    coef_path_: FloatArray
    n_iter_: int

    @_common.check_parameters
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,).

        sample_weight : (n,) weights ≥ 0 of the squared residuals of training and test rows, of which only
            the ratios matter, or None. Rows of weight 0 are as if removed. A fold of an iterable `cv` whose
            test rows all have weight 0 is left out.
        **params : arguments of the `split` method of `cv`, such as groups.

        Returns the estimator. Raises ValueError if the data are invalid.
        """
        data = Observations.of_fit(self, X, y, sample_weight, by_rows=True)
        if hasattr(self.precompute, "__array__"):
            message = (
                f"precompute is an array, but {type(self).__name__} fits parts of X, which have other Gram "
                "matrices; it is not used"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
        folds = self._splits(data, params)
        task = FitTask.of_fit(self, data.X, data.y, data.weight, len(folds) + 1, in_order=False)
        with workers(2.0 * data.X.shape[0] * data.X.shape[1] * len(folds)):
            found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer="threads")(
                delayed(_test_residuals)(self, data, fold, task, i) for i, fold in enumerate(folds)
            )
        alphas = np.unique(np.concatenate([knots for knots, *_ in found]))
        alphas = alphas[:: max(1, int(len(alphas) / self.max_n_alphas))]
        self.cv_alphas_ = alphas
        self.mse_path_ = np.column_stack(
            [_common.mean_squares(_interpolate(knots, residuals, alphas), w) for knots, residuals, w in found]
        )
        self.alpha_ = alphas[np.argmin(self.mse_path_.mean(axis=1))]
        refit = task.subtask("refit", self.max_iter, len(folds))
        _fit_targets(self, data, float(self.alpha_), refit, True)
        refit.end({})
        task.end({})
        return self


@suggest_parameters
class LassoLarsIC(TakesSparse, linear_model.LassoLarsIC):
    """scikit-learn's `LassoLarsIC`, computed with the exact path of `sparselin.lasso_path`.

    It chooses the knot of the path that minimises

        n·log(2πσ²) + ‖y − β₀ − Xβ‖²/σ² + c·|{j : β_j ≠ 0}|,    c = 2 (AIC) or log n (BIC)

    (Zou, Hastie and Tibshirani, *On the degrees of freedom of the lasso*, 2007). Weights w are inverse
    variances up to a factor: row i has the noise variance σ²/w_i. Then the first two terms are
    Σ log(2πσ²/w_i) + Σ w_i(y_i − β₀ − x_iᵀβ)²/σ², and n is the number of rows of positive weight. So with an
    estimated σ² the criterion does not depend on the unit of the weights. To count rows several times, repeat
    them by `np.repeat(X, counts, axis=0)`; weights do not do that. In other respects the estimator is like
    `LassoLars`.

    Parameters
    ----------
    criterion : {'aic', 'bic'}, default='aic'
        The criterion to minimise.
    fit_intercept, max_iter, positive, precompute, eps, copy_X, verbose : see `LassoLars`.
    noise_variance : float, default=None
        The noise variance σ² of a row (with weights, of a row of weight 1). By default it is estimated by
        ‖r‖²/(n − n_features − 1), where r is the residual of least squares on all features (at α = 0).
        Without an intercept the denominator is n − n_features. It must be positive.

    Attributes
    ----------
    criterion_ : (m,) the criterion at each knot.
    alpha_ : the α of the knot with the least criterion.
    alphas_, n_iter_ : as in `LassoLars`, for the path down to α = 0.
    coef_, intercept_ : the coefficients and the intercept at alpha_.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.
    noise_variance_ : σ².

    >>> from sparselin.estimators import LassoLarsIC
    >>> X = [[-2.0, 2.0], [-1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    >>> y = [-2.2222, -1.1111, 0.0, -1.1111, -2.2222]
    >>> LassoLarsIC(criterion="bic").fit(X, y).coef_.round(4)
    array([ 0.    , -1.1111])
    """

    criterion_: FloatArray
    alpha_: float
    alphas_: FloatArray
    n_iter_: int
    noise_variance_: float

    @_common.check_parameters
    def fit(self, X: Any, y: Any, copy_X: Any = None, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,).

        copy_X : accepted but not used, because X is never written to.
        sample_weight : (n,) weights ≥ 0, inverse variances up to a factor, or None. Rows of weight 0 are as
            if removed.

        Returns the estimator. Raises ValueError if the data are invalid or have too few rows to estimate σ².
        """
        data = Observations.of_fit(self, X, y, sample_weight)
        task = FitTask.of_fit(self, data.X, data.y, data.weight, self.max_iter)
        variance = self.noise_variance
        self.noise_variance_ = _noise_variance(self, data) if variance is None else variance
        n = len(data.y)
        path = _alpha_path(self, data, 0.0, task)
        with np.errstate(divide="ignore", invalid="ignore"):  # σ = 0: y is constant
            self.criterion_ = (
                n * (np.log(2 * np.pi * self.noise_variance_) - data.mean_log_weight)
                + _squares(data, path) / self.noise_variance_
                + (2 if self.criterion == "aic" else math.log(n)) * np.count_nonzero(path.coef, axis=1)
            )
        best = int(np.argmin(self.criterion_))
        self.alphas_ = path.alphas
        self.alpha_ = path.alphas[best]
        self.n_iter_ = len(path.alphas) - 1
        coef = dense(path.coef[[best]], path.features, data.X.shape[1])
        _common.set_model(self, data, coef, path.intercept[[best]])
        task.end({})
        return self


def _test_residuals(
    estimator: Any, data: Observations, fold: Split, task: FitTask, i: int
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Fit a path to the training rows of fold number i, and compute its residuals on the test rows.

    Returns the α of its m knots, the residuals (n, m) on the n test rows at these knots, and the weights of
    the test rows.
    """
    subtask = task.subtask("fold", estimator.max_iter, i)
    path = _alpha_path(estimator, data.rows(fold[0]), 0.0, subtask)
    subtask.end()
    test = data.rows(fold[1])
    return path.alphas, _residuals(test, path), test.weight


def _noise_variance(estimator: Any, data: Observations) -> float:
    """Estimate the noise variance by ‖r‖²/(n − d − 1), where r is the residual at the end of the whole path.

    If ‖r‖² is less than its rounding error eps²·‖y − ȳ‖², this error is used instead.
    """
    n, d = data.X.shape
    free = n - d - int(estimator.fit_intercept)
    if free <= 0:
        # scikit-learn's tests look for the words up to "features"
        raise ValueError(
            f"You are using {type(estimator).__name__} in the case where the number of samples is smaller "
            f"than the number of features plus {1 + int(estimator.fit_intercept)} (n_samples = {n}"
            f"{' of positive weight' * (data.used is not None)}, n_features = {d}): least squares on all "
            f"features{' and the intercept' * int(estimator.fit_intercept)} leaves no residual from which to "
            "estimate the variance of the noise. Pass noise_variance, or fewer features."
        )
    whole = lasso_path(data.problem(), positive=estimator.positive)
    ends = AlphaPath(
        alphas=whole.knots,
        features=whole.features,
        coef=whole.coef_path[[0, -1]],
        intercept=whole.intercept[[0, -1]],
        order=[],
        status=whole.status,
    )
    squares = _squares(data, ends)
    return float(max(squares[-1], eps_of(data.X.dtype) ** 2 * squares[0]) / free)


def _alpha_path(estimator: Any, data: Observations, alpha: float, task: FitTask) -> AlphaPath:
    """Return the path down to α, with at most max_iter segments. If it reaches α, its last knot is α."""
    most = estimator.max_iter
    size = data.total
    positive = estimator.positive
    with task.steps("segment", most, partial(_attributes, estimator, size)) as callback:
        path = lasso_path(
            data.problem(), max_steps=max(most, 1), lam_min=alpha * size, positive=positive, callback=callback
        )
    m = len(path)
    status = path.status
    knots = path.knots.astype(np.float64)
    if most == 0 and m > 1:
        m = 1
        status = Status.MAX_STEPS
    same = alpha * size * (1 + _SAME * eps_of(path.knots.dtype))
    if status is not Status.STOPPED and m > 1 and knots[m - 2] <= same:
        m = m - 1
        status = Status.COMPLETED
    alphas = (knots[:m] / size).astype(path.knots.dtype)
    if status is Status.COMPLETED:
        alphas[-1] = alpha
    return AlphaPath(
        alphas=alphas,
        features=path.features,
        coef=path.coef_path[:m],
        intercept=path.intercept[:m],
        order=_order(path.active[: m - 1]),
        status=status,
    )


def _order(active: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return the features of the last active set, in the order in which they entered."""
    order: list[int] = []
    for now in active:
        order = [j for j in order if j in now] + [j for j in now if j not in order]
    return order


def _attributes(estimator: Any, size: float, path: LassoPath) -> dict[str, Any]:
    """Return the attributes that the estimator would have if the path of one target ended at this point."""
    coef = dense(path.coef_path[-1], path.features, path.n_features)
    intercept = path.intercept[-1] if estimator.fit_intercept else 0.0
    return {"coef_": coef, "intercept_": intercept, "n_iter_": len(path) - 1, "alphas_": path.knots / size}


def _fit_targets(model: Any, data: Observations, alpha: float, task: FitTask, whole: bool) -> list[AlphaPath]:
    """Return the path of each target, and set the attributes of the estimator."""
    targets = data.targets(task, model.max_iter)
    paths = [_alpha_path(model, target, alpha, subtask) for target, subtask in targets]
    d = data.X.shape[1]
    coef = np.stack([dense(path.coef[-1], path.features, d) for path in paths])
    _common.set_model(model, data, coef, np.array([path.intercept[-1] for path in paths]))
    found: dict[str, list[Any]] = {
        "alphas_": [path.alphas if whole else path.alphas[-1] for path in paths],
        "n_iter_": [len(path.alphas) - 1 for path in paths],
    }
    if whole:
        found["active_"] = [path.order for path in paths]
        found["coef_path_"] = [dense(path.coef, path.features, d).T for path in paths]
    for name in ("active_", "coef_path_"):  # they may be left from an earlier fit
        vars(model).pop(name, None)
    for name, values in found.items():
        setattr(model, name, values[0] if len(paths) == 1 else values)
    return paths


def _residuals(data: Observations, path: AlphaPath) -> FloatArray:
    """Return the residuals y − β₀ − Xβ (n, m) at each of the m knots, where β₀ is the intercept."""
    return np.asarray(data.y[:, None] - path.intercept - data.X[:, path.features] @ path.coef.T)


def _squares(data: Observations, path: AlphaPath) -> FloatArray:
    """Return the weighted Σ w_i(y_i − β₀ − x_iᵀβ)² (m,) at each knot."""
    return _common.mean_squares(_residuals(data, path), data.weight) * data.total


def _interpolate(alphas: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Interpolate `values` (n, m), given at m decreasing α, linearly at q other α; return (n, q).

    Outside the range of the given α the interpolation is constant.
    """
    place = np.interp(at, alphas[::-1], np.arange(len(alphas))[::-1])
    i = np.minimum(place.astype(np.intp), max(0, len(alphas) - 2))
    weight = place - i
    return np.asarray(values[:, i] * (1 - weight) + values[:, np.minimum(i + 1, len(alphas) - 1)] * weight)
