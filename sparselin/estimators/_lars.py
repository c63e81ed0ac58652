"""`LassoLars`, its cross-validation, and its choice by an information criterion."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import linear_model
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import _raise_for_params

from sparselin.estimators._common import (
    FitTask,
    RoutesToSplitter,
    Split,
    TakesSparse,
    mean_of_folds,
    mean_squares,
    problem_of,
    rows,
    set_model,
    splits,
    validated,
)
from sparselin.estimators._lars_path import (
    AlphaPath,
    alpha_path,
    between,
    fit_targets,
    residuals_of,
    size_of,
    squares_of,
)
from sparselin.lasso.path import lasso_path
from sparselin.parallel.threads import workers
from sparselin.results import FloatArray, LassoPath, Status


class LassoLars(TakesSparse, linear_model.LassoLars):
    """scikit-learn's `LassoLars`, by the exact path of `sparselin.lasso_path`.

    It minimises ‖y − β₀ − Xβ‖²/(2n) + α‖β‖₁, n the number of rows or, with weights, their sum; α = λ/n with λ
    of `lasso_path`. It differs from scikit-learn's in this:

    - the path is right where several features enter or leave at once: ties, duplicate and negated columns;
    - it does not depend on the scale of the data, as there is no absolute tolerance;
    - X may be sparse, with an intercept too, and is not made dense; `fit` takes `sample_weight`;
    - a path that ends above α, by `max_iter`, says so (ConvergenceWarning);
    - X is never written to;
    - callbacks (scikit-learn 1.9): each segment of the path is a task, and a hook `on_fit_task_end` that
      returns True ends the path there. With several targets each is a task, its segments the parts of it.

    Parameters
    ----------
    alpha : float, default=1.0
        α ≥ 0. At 0 the path ends in a least squares solution of least ‖β‖₁.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    max_iter : int, default=500
        The largest number of segments of the path.
    fit_path : bool, default=True
        Whether to store the path: `coef_path_` and `active_`.
    positive : bool, default=False
        Require β ≥ 0. The path then is that of the nonnegative LASSO down to α = 0.
    precompute : bool, 'auto' or array (n_features, n_features), default='auto'
        Accepted, and without effect: a Gram matrix has lost half of the digits of X.
    eps, copy_X, verbose, jitter, random_state :
        Accepted, and without effect: they mend what an exact path does not have. (`jitter` adds noise to y so
        that no two features enter at once.)

    Attributes
    ----------
    alphas_ : (m,) the α of each knot, decreasing; the last one is `alpha`. With `fit_path=False` only that.
    active_ : the features that are active at the end of the path, in the order in which they entered.
    coef_path_ : (n_features, m) the coefficients at each knot.
    coef_ : (n_features,) or (n_targets, n_features), of the dtype of X.
    intercept_ : a number or (n_targets,); 0.0 without `fit_intercept`.
    n_iter_ : the number of segments, m − 1.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    For several targets alphas_, active_, coef_path_ and n_iter_ are lists of these.

    >>> from sparselin.estimators import LassoLars
    >>> X, y = [[0.0, 0.0, 0.0, -1.0, 0.0], [0.0, -1.0, 0.0, 0.0, 0.0]], [-2.5, -2.5]  # a tie
    >>> model = LassoLars(alpha=0.001, fit_intercept=False).fit(X, y)
    >>> model.coef_.round(12), model.alphas_.tolist()
    (array([0.   , 2.498, 0.   , 2.498, 0.   ]), [1.25, 0.001])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, Xy: Any = None, sample_weight: Any = None) -> Any:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,) or (n, n_targets).

        Xy : accepted, and without effect, as `precompute`.
        sample_weight : (n,) weights ≥ 0 of the squared residuals, or None.

        Returns the estimator. Raises ValueError for bad data. Warns (ConvergenceWarning) if a path ended
        above α.
        """
        X, y, weight = validated(self, X, y, sample_weight, multi_output=True)
        task = FitTask.of_fit(self, X, y, weight, self.max_iter if y.ndim == 1 else y.shape[1])
        paths = fit_targets(self, X, y, weight, self.alpha, task, self.fit_path)
        above = [
            i for i, path in enumerate(paths) if path.status in (Status.MAX_STEPS, Status.BEYOND_PRECISION)
        ]
        if above:
            i = above[0]
            where = "" if y.ndim == 1 else f" for {len(above)} of {len(paths)} targets, the first {i}"
            warnings.warn(
                f"the path ended at alpha={paths[i].alphas[-1]:.3g}, above {self.alpha:g}{where}: "
                + ("max_iter was reached; increase it" if paths[i].status is Status.MAX_STEPS
                   else Status.BEYOND_PRECISION.message),
                ConvergenceWarning,
                stacklevel=3,
            )  # fmt: skip
        task.end({})
        return self


class LassoLarsCV(RoutesToSplitter, TakesSparse, linear_model.LassoLarsCV):
    """scikit-learn's `LassoLarsCV`, by one path of `sparselin.lasso_path` for each fold.

    A path is linear between its knots, so that the error of a fold is known for every α. It is computed at
    the knots of all folds, and the α of least mean is taken, the smallest of several. Else as `LassoLars`.

    Parameters
    ----------
    fit_intercept, positive : see `LassoLars`.
    max_iter : int, default=500
        The largest number of segments of a path. A fold whose path ends above an α has its last score there.
    cv : int, splitter or iterable, default=None
        The folds, by default 5; as scikit-learn's.
    max_n_alphas : int, default=1000
        About the number of α that are compared: of more, every so many-th.
    n_jobs : int, default=None
        The number of folds at a time, by threads.
    verbose : bool or int, default=False
        That of joblib.
    precompute, eps, copy_X : accepted, and without effect; see `LassoLars`.

    Attributes
    ----------
    alpha_ : the α of least mean squared error.
    cv_alphas_ : (q,) the α that were compared, increasing.
    mse_path_ : (q, n_folds) the mean squared error of each on what each fold left out.
    alphas_, active_, coef_path_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_ : those of
        the path of all data down to alpha_; see `LassoLars`.

    Callbacks: each fold is a task, and the fit to all data another; their segments are the parts of it.

    >>> import numpy as np
    >>> from sparselin.estimators import LassoLarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> y = X[:, 3] - 2 * X[:, 7] + 0.1 * rng.standard_normal(60)
    >>> model = LassoLarsCV().fit(X, y)
    >>> model.alpha_.round(4), model.active_[:2]
    (np.float64(0.018), [7, 3])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,).

        sample_weight : (n,) weights ≥ 0 of the squared residuals, those left out too; or None.
        **params : what the splitter asks for, with metadata routing.

        Returns the estimator. Raises ValueError for bad data.
        """
        _raise_for_params(params, self, "fit")
        X, y, weight = validated(self, X, y, sample_weight, by_rows=True)
        if hasattr(self.precompute, "__array__"):
            warnings.warn(
                f"precompute is an array, but {type(self).__name__} fits parts of X, of which it is not the "
                "Gram matrix; it is not used",
                UserWarning,
                stacklevel=3,
            )
        folds = splits(self, X, y, weight, params)
        task = FitTask.of_fit(self, X, y, weight, len(folds) + 1, in_order=False)
        with workers(2.0 * X.shape[0] * X.shape[1] * len(folds)):
            found = Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer="threads")(
                delayed(_left_out)(self, X, y, weight, fold, task, i) for i, fold in enumerate(folds)
            )
        alphas = np.unique(np.concatenate([knots for knots, *_ in found]))
        alphas = alphas[:: max(1, int(len(alphas) / self.max_n_alphas))]
        self.cv_alphas_ = alphas
        self.mse_path_ = np.column_stack([
            mean_squares(between(knots, residuals, alphas), w) for knots, residuals, w in found
        ])  # fmt: skip
        self.alpha_ = alphas[np.argmin(mean_of_folds(self.mse_path_))]
        refit = task.part("refit", self.max_iter, len(folds))
        fit_targets(self, X, y, weight, float(self.alpha_), refit, True)
        refit.end({})
        task.end({})
        return self


class LassoLarsIC(TakesSparse, linear_model.LassoLarsIC):
    """scikit-learn's `LassoLarsIC`, on the exact path of `sparselin.lasso_path`.

    Of the knots of the path it takes the one of least

        n·log(2πσ²) + ‖y − β₀ − Xβ‖²/σ² + c·|{j : β_j ≠ 0}|,    c = 2 (AIC) or log n (BIC)

    (Zou, Hastie and Tibshirani, *On the degrees of freedom of the lasso*, 2007). With weights n is their sum,
    as if a row of weight 2 were there twice. Else as `LassoLars`.

    Parameters
    ----------
    criterion : {'aic', 'bic'}, default='aic'
    fit_intercept, max_iter, positive, precompute, eps, copy_X, verbose : see `LassoLars`.
    noise_variance : float, default=None
        σ². By default ‖r‖²/(n − n_features − 1), without the 1 if there is no intercept, r the residual of
        least squares on all features: where the path ends at α = 0. It needs as many more rows.

    Attributes
    ----------
    criterion_ : (m,) its value at each knot.
    alpha_ : the α of the least one.
    alphas_, coef_, intercept_, n_iter_, n_features_in_, feature_names_in_ : see `LassoLars`; the path is
        that down to α = 0, the coefficients are those at alpha_.
    noise_variance_ : σ².

    >>> from sparselin.estimators import LassoLarsIC
    >>> X = [[-2.0, 2.0], [-1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    >>> y = [-2.2222, -1.1111, 0.0, -1.1111, -2.2222]
    >>> LassoLarsIC(criterion="bic").fit(X, y).coef_.round(4)
    array([ 0.    , -1.1111])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, copy_X: Any = None, sample_weight: Any = None) -> Any:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,).

        copy_X : accepted, and without effect: X is never written to.
        sample_weight : (n,) weights ≥ 0, or None.

        Returns the estimator. Raises ValueError for bad data, and with too few rows to estimate σ².
        """
        X, y, weight = validated(self, X, y, sample_weight)
        d, size = X.shape[1], size_of(X, weight)
        task = FitTask.of_fit(self, X, y, weight, self.max_iter)
        problem = problem_of(self, X, y, weight)
        if self.noise_variance is None:
            whole = lasso_path(problem, positive=self.positive)
            self.noise_variance_ = _noise_variance(self, X, y, weight, whole)
        else:
            self.noise_variance_ = self.noise_variance
        path = alpha_path(self, problem, 0.0, size, task)
        with np.errstate(divide="ignore", invalid="ignore"):  # σ = 0: y is constant
            self.criterion_ = (
                size * np.log(2 * np.pi * self.noise_variance_)
                + squares_of(X, y, weight, path) / self.noise_variance_
                + (2 if self.criterion == "aic" else math.log(size)) * np.count_nonzero(path.coef, axis=1)
            )
        best = int(np.argmin(self.criterion_))
        self.alphas_, self.alpha_, self.n_iter_ = path.alphas, path.alphas[best], len(path.alphas) - 1
        set_model(self, path.dense(d, best)[None], path.intercept[[best]], y)
        task.end({})
        return self


def _left_out(
    estimator: Any, X: Any, y: FloatArray, weight: FloatArray | None, fold: Split, task: FitTask, i: int
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """The α of the knots of a fold, the residuals on the rows that it left out, and the weights of these."""
    part = task.part("fold", estimator.max_iter, i)
    given = rows(X, y, weight, fold[0])
    path = alpha_path(estimator, problem_of(estimator, *given), 0.0, size_of(given[0], given[2]), part)
    part.end()
    X, y, weight = rows(X, y, weight, fold[1])
    return path.alphas, residuals_of(X, y, path), weight


def _noise_variance(
    estimator: Any, X: Any, y: FloatArray, weight: FloatArray | None, whole: LassoPath
) -> float:
    """‖r‖²/(n − d − 1) at the end of the whole path; at least what rounding leaves of ‖y − ȳ‖²."""
    free = size_of(X, weight) - X.shape[1] - estimator.fit_intercept
    if free <= 0:
        raise ValueError(
            f"You are using {type(estimator).__name__} in the case where the number of samples is smaller "
            f"than the number of features (n_samples = {X.shape[0]}, n_features = {X.shape[1]}): least "
            "squares on all features leaves no residual from which to estimate the variance of the noise. "
            "Pass noise_variance, or fewer features."
        )
    ends = AlphaPath(
        whole.knots, whole.features, whole.coef_path[[0, -1]], whole.intercept[[0, -1]], [], whole.status
    )
    squares = squares_of(X, y, weight, ends)
    return float(max(squares[-1], np.finfo(X.dtype).eps ** 2 * squares[0]) / free)
