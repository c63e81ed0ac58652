"""The best subset in scikit-learn: a regressor, and a selector that chooses the size of the subset."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearModel

import sparselin as sl
from sparselin.estimators._common import (
    FitTask,
    Observations,
    TakesSparse,
    set_model,
    weights_of_all,
    with_callbacks,
)
from sparselin.estimators._paths import ModelPath, Sets, Task, Watch
from sparselin.estimators._selector import PathSelector
from sparselin.problem.argument_names import suggest_parameters
from sparselin.problem.labels import check_groups
from sparselin.results import BestSubset, Status
from sparselin.validation import Columns, frame_labels

_UNPROVED = (Status.MAX_ITER, Status.STOPPED, Status.BEYOND_PRECISION)


def _warn(found: BestSubset, size: str) -> None:
    """Warn if the search ended without a proof.

    size : the size of the subset, in words.
    """
    if found.status in _UNPROVED:
        message = (
            f"the subset of {size} is not proved to be the best ({found.status.message}; gap "
            f"{found.gap:.2%}); a larger ridge, fewer features or more time would help"
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=3)


@suggest_parameters
@dataclasses.dataclass(eq=False, repr=False)
class BestSubsetRegressor(TakesSparse, MultiOutputMixin, RegressorMixin, LinearModel):  # type: ignore[misc]
    """A linear model on the best subset of at most k features (`sparselin.best_subset`).

        min {‖y − b₀ − Xβ‖² + ridge·‖β‖² : at most k nonzeros in β, low ≤ β ≤ high}

    The coefficients include the effect of the ridge and of the box. For a selector that returns the columns,
    see `BestSubsetSelector`.

    Parameters
    ----------
    n_nonzero_coefs : the largest number k of features, forced ones included; with `groups`, the largest
        number of groups. By default it is a tenth of the features (or groups), but at least 1 and at most 10,
        because the time is exponential in k in the worst case. Messages call it k. For the rule "loo" see
        `OLSRegressor`, and for cross-validation `BestSubsetSelector`.
    ridge : the penalty ridge·‖β‖², ridge ≥ 0. It is not multiplied by n; the intercept is not penalised.
    box : None; a number M for |β_j| ≤ M; an array (d,) of such numbers; an array (d, 2) of bounds low_j ≤ 0
        and high_j ≥ 0; or "proved" for derived bounds that do not change the problem.
    groups : (d,) labels. Columns with the same label are selected together. None: each column is a group. As
        for `box`, a pandas Series or a mapping is aligned with the columns of X by its labels.
    positive : whether all coefficients must be ≥ 0.
    forced : columns that every subset contains, by index or by name. With `groups`, every subset contains the
        groups of these columns.
    hierarchy : a mapping from a column to the column or columns that it needs, by index or by name, such as
        {"a:b": ["a", "b"]}. A subset contains all columns that its columns need; see `sparselin.best_subset`.
    gap : stop when the value is proved to exceed the best possible value by at most this relative gap.
    time_limit : the number of seconds. After that the best subset found so far is taken, with a
        `ConvergenceWarning`.
    fit_intercept : whether the model has an intercept.
    standardize : whether `ridge` and `box` refer to the coefficients of standardized columns.

    Attributes
    ----------
    coef_, intercept_ : (d,) or (n_targets, d) the coefficients in the units and the dtype of X, and the
        intercepts.
    result_ : the `BestSubset`, with the proved lower bound and perhaps a certificate; a list if there are
        several targets. If the search was stopped, `sparselin.resume_subset(model.result_)` continues it.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    X is made dense. If y has several columns, each target has its own subset and its own `time_limit`; for
    callbacks each target is a task.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> model = BestSubsetRegressor(4, ridge=0.1).fit(X, y)
    >>> sorted(model.result_.support_names), model.result_.optimal, round(model.score(X, y), 3)
    (['bmi', 'bp', 's3', 's5'], True, 0.49)
    """

    n_nonzero_coefs: int | None = None
    _: dataclasses.KW_ONLY
    ridge: float = 0.0
    box: Any = None
    groups: Any = None
    positive: bool = False
    forced: Columns = ()
    hierarchy: Any = None
    gap: float = 0.0
    time_limit: float | None = None
    fit_intercept: bool = True
    standardize: bool = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best subset for X (n, d), an array, a sparse matrix or a frame, and y (n,) or (n, q).

        sample_weight : (n,) weights of the squared residuals, or None. Rows of weight 0 are as if removed.
            With a ridge, weights c·w have the solutions of w with the ridge divided by c.

        Returns the estimator. Raises ValueError or TypeError if the data or parameters are invalid. Warns
        (`ConvergenceWarning`) if the subset is not proved to be the best.
        """
        data = Observations.of_fit(self, X, y, sample_weight, multi_output=True)
        data = dataclasses.replace(data, standardize=bool(self.standardize))
        parts = 0 if data.outputs == 1 else data.outputs
        k = self.n_nonzero_coefs
        task = FitTask.of_fit(self, X, y, weights_of_all(sample_weight), parts)
        labels = frame_labels(X)
        if k is None:
            d = data.X.shape[1]
            units = d if self.groups is None else len(np.unique(check_groups(self.groups, labels, d)))
            k = min(max(1, units // 10), 10)
        results = [
            sl.best_subset(
                target.problem().with_labels(labels), k, ridge=self.ridge, box=self.box, groups=self.groups,
                positive=self.positive, forced=self.forced, hierarchy=self.hierarchy, gap=self.gap,
                time_limit=self.time_limit,
            )
            for target, _ in data.targets(task, 0)
        ]  # fmt: skip
        for result in results:
            _warn(result, f"at most {k} features" if self.groups is None else f"at most {k} groups")
        self.result_ = results[0] if data.outputs == 1 else results
        coef = np.stack([result.dense_coef() for result in results])
        set_model(self, data, coef, np.array([result.intercept for result in results], coef.dtype))
        task.end({})
        return self


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class BestSubsetSelector(PathSelector):
    """A selector of the best subset of each size, found by branch and bound (`sparselin.best_subset`).

    The sets of different sizes need not be nested. In the worst case the time is exponential in k, so by
    default criteria and cross-validation compare at most 8 features besides the forced ones.

    ridge : the sets minimise ‖y − Xβ‖² + ridge·‖β‖². A ridge also makes the search short if n ≤ d. Criteria,
        errors, `coef_` and `intercept_` are those of least squares on the set, without the ridge;
        `BestSubsetRegressor` keeps the ridge.
    standardize : whether `ridge` refers to the coefficients of standardized columns. Without a ridge, scaling
        a column does not change the selection.
    time_limit : the number of seconds for each size. After that the best subset found so far is taken, with
        a `ConvergenceWarning`.
    path_ : a tuple of `BestSubset` with s + 1, s + 2, … features (or groups), where s of them are forced.
        Indices refer to the columns of X, but those in a `certificate` to the columns that are not excluded.

    X is made dense.

    The other parameters, the attributes, errors and warnings are those of `OMPSelector`, with two
    differences: y must be a vector, and there are no `positive` or `loss`.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> BestSubsetSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    >>> groups = ["person", "person", "body", "body", *["serum"] * 6]
    >>> BestSubsetSelector(1, groups=groups).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp']
    """

    _most = 8

    ridge: float = 0.0
    groups: Any = None
    standardize: bool = False
    time_limit: float | None = None

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
        steps = Sets(task, tol, watch)
        units = "features" if task.groups is None else "groups"

        def best(t: int) -> BestSubset:
            found = sl.best_subset(
                steps.problem,
                t,
                forced=task.columns(task.forced),
                ridge=self.ridge,
                groups=task.groups,
                time_limit=self.time_limit,
            )
            _warn(found, f"{t} {units}")
            found, stopped = dataclasses.replace(found, saved=None), found.status is Status.STOPPED
            if stopped and task.count(found.support) == t:
                steps.add(found)  # the best one so far
            if stopped or task.count(found.support) < t:
                steps.end(found.status)
            return found

        steps.each(best, k)
        return steps.path()
