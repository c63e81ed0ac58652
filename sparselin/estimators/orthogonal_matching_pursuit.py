"""scikit-learn's `OrthogonalMatchingPursuit` and its cross-validation, computed with `sparselin.omp`."""

from __future__ import annotations

import math
import warnings
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn import linear_model

from sparselin.estimators import _common
from sparselin.estimators._common import FitTask, Observations, RoutesToSplitter, Split, TakesSparse
from sparselin.greedy.batch_omp import batch_omp
from sparselin.greedy.omp import omp
from sparselin.parallel.threads import workers
from sparselin.problem.argument_names import suggest_parameters
from sparselin.results import FloatArray, Status


class _TargetFits(NamedTuple):
    """The fits of N targets: coefficients (N, d), intercepts (N,), numbers of features, and statuses."""

    coef: FloatArray
    intercept: FloatArray
    n_iter: list[int]
    status: list[Status]


@suggest_parameters
class OrthogonalMatchingPursuit(TakesSparse, linear_model.OrthogonalMatchingPursuit):
    """scikit-learn's `OrthogonalMatchingPursuit`, computed with `sparselin.omp`.

    Let S be the selected features, and r the residual of least squares on S. Each step selects the feature i
    with the largest |⟨X_i, r⟩|. This estimator differs from scikit-learn's in these points:

    - The path does not end early at a feature with ⟨X_i, y⟩ = 0, and it does not depend on the scale of y.
    - For a target with ‖y − ȳ‖² ≤ tol no feature is selected.
    - Features are compared up to bounds on the rounding errors. If several are tied, the first is selected.
    - X may be sparse, even with an intercept, and is not made dense. `fit` takes `sample_weight`.
    - Callbacks (scikit-learn 1.9): each selected feature is a task. If the hook `on_fit_task_end` returns
      True, the path ends there. If there are several targets, each target is a task, and its features are
      the subtasks.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        The number of features to select, at most n_features. If this and `tol` are None, it is a tenth of
        the features, but at least one.
    tol : float, default=None
        Stop once ‖r‖² ≤ tol (the square of the norm). Then `n_nonzero_coefs` is ignored.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    precompute : 'auto' or bool, default='auto'
        Accepted but not used: XᵀX is computed whenever this is faster.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) the coefficients, in the dtype of X.
    intercept_ : a number or (n_targets,); 0.0 if `fit_intercept` is False.
    n_iter_ : the number of selected features; a list if there are several targets.
    n_nonzero_coefs_ : the requested number of features, or None if `tol` is given.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sparselin.estimators import OrthogonalMatchingPursuit
    >>> X, y = [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [1.0, -1.0, 0.0]
    >>> model = OrthogonalMatchingPursuit(n_nonzero_coefs=2, fit_intercept=False).fit(X, y)
    >>> model.coef_.round(12), model.score(X, y)
    (array([ 2., -1.]), 1.0)
    """

    n_iter_: int | list[int]
    n_nonzero_coefs_: int | None

    @_common.check_parameters
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,) or (n, n_targets).

        sample_weight : (n,) weights ≥ 0 of the squared residuals (also in the rule ‖r‖² ≤ tol), or None. Rows
            of weight 0 are as if removed.

        Returns the estimator. Raises ValueError if the data are invalid or `n_nonzero_coefs` exceeds the
        number of features. Warns (RuntimeWarning) if fewer features were selected than requested, or if
        ‖r‖² > tol at the end.
        """
        data = Observations.of_fit(self, X, y, sample_weight, multi_output=True)
        n, d = data.X.shape
        if self.tol is None:
            k = self.n_nonzero_coefs_ = (
                max(int(0.1 * d), 1) if self.n_nonzero_coefs is None else self.n_nonzero_coefs
            )
        else:
            k = min(n, d)
            self.n_nonzero_coefs_ = None
        _check_count(k, d, "n_nonzero_coefs")
        task = FitTask.of_fit(self, data.X, data.y, data.weight, k if data.y.ndim == 1 else data.outputs)
        _set(self, data, _fit_targets(self, data, k, self.tol, task))
        task.end({})
        return self


@suggest_parameters
class OrthogonalMatchingPursuitCV(RoutesToSplitter, TakesSparse, linear_model.OrthogonalMatchingPursuitCV):
    """scikit-learn's `OrthogonalMatchingPursuitCV`, computed with one path of `sparselin.omp` for each fold.

    The path of each fold is scored on the test rows with k = 1, 2, … features, up to the length of the
    shortest path. A path ends early if y is fitted exactly, or if all other features depend linearly on the
    selected ones. If y is constant on the training rows of a fold, the path of this fold selects nothing, and
    the constant is scored at each k. In all other respects the estimator is like `OrthogonalMatchingPursuit`.

    Parameters
    ----------
    copy : bool, default=True
        Accepted but not used, because X is never written to.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept.
    max_iter : int, default=None
        The largest number of features to try, at most n_features. If None or zero, it is a tenth of the
        features, but at least 5 (or all features if there are fewer).
    cv : int, splitter or iterable, default=None
        The folds, as in scikit-learn; 5 folds by default.
    n_jobs : int, default=None
        The number of folds that are fitted at the same time, in threads. Each path may use several threads
        by itself.
    verbose : bool or int, default=False
        The verbosity of joblib.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_ : see `OrthogonalMatchingPursuit`.
    n_nonzero_coefs_ : the k with the least mean squared error; if there are several, the smallest.
    mse_path_ : (max_iter, n_folds) the mean squared error of each k = 1, 2, … on the test rows of each fold.

    Callbacks: each fold is a task, and so is the final fit to all data. Their selected features are subtasks.
    If a hook returns True after a feature, the path of that fold ends there, and no larger k is compared.

    >>> import numpy as np
    >>> from sparselin.estimators import OrthogonalMatchingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> y = X[:, 3] - 2 * X[:, 7] + 0.1 * rng.standard_normal(60)
    >>> model = OrthogonalMatchingPursuitCV().fit(X, y)
    >>> int(model.n_nonzero_coefs_), np.flatnonzero(model.coef_)
    (2, array([3, 7]))
    """

    n_iter_: int
    n_nonzero_coefs_: int
    mse_path_: FloatArray

    @_common.check_parameters
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,).

        sample_weight : (n,) weights ≥ 0 of the squared residuals of training and test rows, of which only
            the ratios matter, or None. Rows of weight 0 are as if removed. A fold of an iterable `cv` whose
            test rows all have weight 0 is left out.
        **params : arguments of the `split` method of `cv`, such as groups.

        Returns the estimator. Raises ValueError if the data are invalid or `max_iter` exceeds the number of
        features. Warns (RuntimeWarning) if `max_iter` was given and the path of a fold is shorter.
        """
        data = Observations.of_fit(self, X, y, sample_weight, by_rows=True, ensure_min_features=2)
        n, d = data.X.shape
        most = self.max_iter or min(max(int(0.1 * d), 5), d)
        _check_count(most, d, "max_iter")
        folds = self._splits(data, params)
        task = FitTask.of_fit(self, data.X, data.y, data.weight, len(folds) + 1, in_order=False)
        with workers(2.0 * n * d * most):
            scores = Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer="threads")(
                delayed(_score_fold)(self, data, fold, most, task, i) for i, fold in enumerate(folds)
            )
        stop, i = min((len(score), i) for i, (score, _) in enumerate(scores))
        if self.max_iter and stop < most and scores[i][1] is not Status.STOPPED:
            message = (
                f"max_iter={most}, but the path of fold {i} has only {stop} features, so no larger number is "
                f"compared: {scores[i][1].message}"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        self.mse_path_ = np.column_stack([score[:stop] for score, _ in scores])
        self.n_nonzero_coefs_ = int(np.argmin(self.mse_path_.mean(axis=1))) + 1
        k = int(self.n_nonzero_coefs_)
        refit = task.subtask("refit", k, len(folds))
        _set(self, data, _fit_targets(self, data, k, None, refit))
        refit.end({})
        task.end({})
        return self


def _check_count(k: int, d: int, name: str) -> None:
    """Raise ValueError if k exceeds the number d of features."""
    if k > d:
        raise ValueError(f"{name} must be at most {d}, the number of features of X; got {k}")


def _set(estimator: Any, data: Observations, fits: _TargetFits) -> None:
    """Set the fitted attributes of the estimator."""
    _common.set_model(estimator, data, fits.coef, fits.intercept)
    estimator.n_iter_ = fits.n_iter[0] if len(fits.n_iter) == 1 else fits.n_iter


def _fit_targets(estimator: Any, data: Observations, k: int, tol: float | None, task: FitTask) -> _TargetFits:
    """Select features for each target: k features, or features until the residual has ‖r‖² ≤ tol."""
    X = data.X
    d = X.shape[1]
    N = data.outputs
    level = None if tol is None else math.sqrt(tol)
    watched = hasattr(estimator, "_skl_callbacks")
    if isinstance(X, np.ndarray) and not watched and min(N, d) > 1 and N * k >= d:  # then XᵀX is faster
        fits = _by_gram(data, k, level)
    else:
        paths = _common.paths_of_targets(estimator, data, k, task, partial(omp, residual=level))
        coef = np.stack([path.dense_coef() for path in paths])
        intercept = np.array([path.intercept_path[-1] for path in paths])
        fits = _TargetFits(coef, intercept, [len(path) for path in paths], [path.status for path in paths])
    _common.warn_if_short(data, fits.n_iter, fits.status, k, tol)
    return fits


def _by_gram(data: Observations, k: int, level: float | None) -> _TargetFits:
    """Run `batch_omp` on all targets. An intercept is a column of ones that is selected first."""
    X, weight = data.X, data.weight
    d = data.X.shape[1]
    ones = int(data.intercept)
    root = np.ones((len(X), 1), X.dtype) if weight is None else np.sqrt(weight).astype(X.dtype)[:, None]
    D = np.hstack([X if weight is None else X * root, root[:, :ones]])
    batch = batch_omp(D, data.y * root, k + ones, residual=level, forced=range(d, d + ones))
    coef = batch.to_sparse().toarray()
    intercept = coef[:, d] if ones else np.zeros(len(coef), coef.dtype)
    return _TargetFits(coef[:, :d], intercept, (batch.n_selected - ones).tolist(), batch.status.tolist())


def _score_fold(
    estimator: Any, data: Observations, fold: Split, k: int, task: FitTask, i: int
) -> tuple[FloatArray, Status]:
    """Return the mean squared errors on the test rows with 1, 2, … features, and the status of the path."""
    subtask = task.subtask("fold", k, i)
    attributes = partial(_common.model_attributes, estimator)
    with subtask.steps("pick", k, attributes) as callback:
        path = omp(data.rows(fold[0]).problem(), k, callback=callback)
    subtask.end(partial(attributes, path))
    X = data.X
    S = path.support
    test = fold[1]
    residuals = data.y[test, None] - path.intercept_path
    residuals[:, 1:] -= (
        X[np.ix_(test, S)] if isinstance(X, np.ndarray) else X[test][:, S]
    ) @ path.coef_path.T
    scores = _common.mean_squares(residuals, None if data.weight is None else data.weight[test])
    return (scores[1:] if len(S) else np.repeat(scores, k)), path.status
