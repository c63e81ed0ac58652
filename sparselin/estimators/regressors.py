"""Regressors for scikit-learn that follow a selection path: orthogonal least squares and Sequential LASSO."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.linear_model._base import LinearModel

import sparselin as sl
from sparselin.estimators import _common
from sparselin.estimators._common import FitTask, Observations, TakesSparse
from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_parameters
from sparselin.results import SelectionPath
from sparselin.results.base import dense
from sparselin.validation import check_count


@dataclasses.dataclass(eq=False, repr=False)
class _PathRegressor(TakesSparse, MultiOutputMixin, RegressorMixin, LinearModel):  # type: ignore[misc]
    """A linear model on the first k features of a path, one path for each target."""

    n_nonzero_coefs: int | str | None = None
    _: dataclasses.KW_ONLY
    max_nonzero_coefs: int | None = None
    fit_intercept: bool = True

    @abc.abstractmethod
    def _path(self, problem: Problem, k: int, **options: Any) -> SelectionPath:
        """Return the path of at most k features. The options hold the keyword `callback`."""

    @_common.with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d), an array, a sparse matrix or a frame, and y (n,) or (n, n_targets).

        sample_weight : (n,) weights ≥ 0 of the squared residuals, of which only the ratios matter, or None.
            Rows of weight 0 are as if removed.

        Returns the estimator. Raises ValueError or TypeError if the data or parameters are invalid. Warns
        (RuntimeWarning) if fewer features were selected than requested.
        """
        data = Observations.of_fit(self, X, y, sample_weight, multi_output=True)
        k = self._longest(data)
        parts = k if data.outputs == 1 else data.outputs
        task = FitTask.of_fit(self, data.X, data.y, data.weight, parts)
        paths = _common.paths_of_targets(self, data, k, task, self._path)
        counts = [len(path) for path in paths]
        self.leave_one_out_: Any = None
        if self.n_nonzero_coefs == "loo":
            pairs = zip(np.atleast_2d(data.y.T), paths, strict=True)
            errors = [sl.leave_one_out(data.X, y, path, sample_weight=data.weight) for y, path in pairs]
            counts = [error.best_corrected for error in errors]
            self.leave_one_out_ = errors[0] if data.outputs == 1 else errors
        self._set(data, paths, counts, k)
        task.end({})
        return self

    def _longest(self, data: Observations) -> int:
        """Return the number of features of the path."""
        given = self.n_nonzero_coefs
        d = int(data.X.shape[1])
        if given is None:
            return max(d // 10, 1)
        if given != "loo":
            if isinstance(given, str):
                raise ValueError(f"n_nonzero_coefs must be an integer, None or 'loo'; got {given!r}")
            return check_count(given, "n_nonzero_coefs", 1, d)
        if self.max_nonzero_coefs is not None:
            return check_count(self.max_nonzero_coefs, "max_nonzero_coefs", 1, d)
        return min(d, max(1, (len(data.y) - int(data.intercept)) // 2))

    def _set(self, data: Observations, paths: list[SelectionPath], counts: list[int], k: int) -> None:
        """Set the fitted attributes to those of the models with the given numbers of features."""
        models = list(zip(paths, counts, strict=True))
        coef = [dense(path.coef_at(t), path.support[:t], data.X.shape[1]) for path, t in models]
        intercept = np.array([path.intercept_path[t] for path, t in models])
        _common.set_model(self, data, np.stack(coef), intercept)
        single = data.outputs == 1
        self.path_: Any = paths[0] if single else paths
        self.n_iter_: Any = counts[0] if single else counts
        if self.leave_one_out_ is None:
            _common.warn_if_short(data, counts, [path.status for path in paths], k)


@suggest_parameters
class OLSRegressor(_PathRegressor):
    """A linear model on features selected by orthogonal least squares (`sparselin.ols`).

    Each step adds the feature that reduces the residual most. Scaling a column does not change the selection.
    The model is least squares on the selected features. Each target has its own features. For a selector that
    returns the columns, and for more rules that choose their number, see `OLSSelector`.

    Parameters
    ----------
    n_nonzero_coefs : the number of features, at most n_features; by default a tenth of the features, but at
        least one. "loo" takes the number with the least corrected leave-one-out error
        (`sparselin.leave_one_out`), for each target by itself. This error takes the features as given, so it
        chooses too many of them if there are many more columns than rows (docs/guide/chaos.md); "cv" of
        `OLSSelector` repeats the selection. A row is left out with its whole weight.
    max_nonzero_coefs : the largest number of features that "loo" compares; by default half the number of rows
        with positive weight, less one row if there is an intercept. It is used with "loo" only.
    fit_intercept : whether the model has an unpenalised intercept.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features) the coefficients, in the dtype of X.
    intercept_ : a number or (n_targets,); 0.0 if `fit_intercept` is False.
    n_iter_ : the number of selected features; a list if there are several targets.
    path_ : the `SelectionPath`, which "loo" computes beyond the selected features; a list if there are
        several targets.
    leave_one_out_ : the `LeaveOneOut` of the path with "loo", otherwise None; a list if there are several
        targets.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    Sparse X stays sparse. Callbacks (scikit-learn 1.9): each selected feature is a task. If the hook
    `on_fit_task_end` returns True, the path ends there. If there are several targets, each target is a task,
    and its features are the subtasks.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> model = OLSRegressor(4).fit(X, y)
    >>> model.path_.support_names, round(model.score(X, y), 3)
    (('bmi', 's5', 'bp', 's1'), 0.492)
    >>> OLSRegressor("loo").fit(X, y).n_iter_
    5
    """

    def _path(self, problem: Problem, k: int, **options: Any) -> SelectionPath:
        return sl.ols(problem, k, **options)


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialLassoRegressor(_PathRegressor):
    """A linear model on features selected by Sequential LASSO (`sparselin.sequential_lasso`).

    Each step solves a LASSO in which the selected features are not penalised, and adds the first feature that
    enters the LASSO path. The model is least squares on the selected features. Each target has its own
    features.

    method : "lasso" follows the definition; "omp" relies on Theorem 3.3 of *Sequential Attention for Feature
        Selection* and is faster.

    The other parameters, the attributes, errors and warnings are those of `OLSRegressor`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> model = SequentialLassoRegressor(4).fit(X, y)
    >>> model.path_.support_names, round(model.score(X, y), 3)
    (('bmi', 's5', 'bp', 's3'), 0.491)
    """

    method: str = "lasso"

    def _path(self, problem: Problem, k: int, **options: Any) -> SelectionPath:
        return sl.sequential_lasso(problem, k, method=self.method, **options)
