"""Selectors for scikit-learn, by methods that search sets of features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import sparselin as sl
from sparselin.estimators._paths import Sets
from sparselin.estimators._selector import PathSelector
from sparselin.estimators._task import Found, Task, Watch
from sparselin.results import SubsetResult
from sparselin.validation import Columns


class DiverseSelector(PathSelector):
    """Features with a large R² + ν·f, f a spectral regularizer that rewards diversity.

    *Selecting Diverse Features via Spectral Regularization* (2012): `sparselin.forward_regression`, whose
    sets are nested, or `sparselin.greedy_local_search`, a search for each k, whose sets need not be, and can
    have fewer than k features. The criteria and errors that choose k are about the fit alone, without f.

    regularizer : f, of `sparselin.spectral`; by default SmoothedDifferentialEntropy(1.0), log₂ det(I + C_S).
    nu : ν ≥ 0.
    search : "forward" or "greedy_local".
    standardize : by default f is applied to the correlations of the columns, as the paper assumes unit
        columns (without an intercept to their cosines). False: to XᵀX/n, centred with an intercept.
    path_ : a tuple of `SubsetResult`, with f + 1, f + 2, … features, f of them forced.

    X is made dense.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups`, and
    y is one vector.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> DiverseSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['sex', 'bmi', 'bp', 's5']
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        regularizer: Any = None,
        nu: float = 0.1,
        search: str = "forward",
        tol: float | None = None,
        forced: Columns = (),
        exclude: Columns = (),
        fit_intercept: bool = True,
        standardize: bool = True,
        max_features: int | None = None,
        cv: Any = 5,
        gamma: float | None = None,
        noise_variance: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_features_to_select, tol=tol, forced=forced, exclude=exclude, fit_intercept=fit_intercept,
            max_features=max_features, cv=cv, gamma=gamma, noise_variance=noise_variance, n_jobs=n_jobs,
        )  # fmt: skip
        self.regularizer = regularizer
        self.nu = nu
        self.search = search
        self.standardize = standardize

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        searches = {"forward": sl.forward_regression, "greedy_local": sl.greedy_local_search}
        if self.search not in searches:
            raise ValueError(f"search must be one of {sorted(searches)}; got {self.search!r}")
        f = sl.spectral.SmoothedDifferentialEntropy(1.0) if self.regularizer is None else self.regularizer
        weight = np.ones(len(task.y), task.X.dtype) if task.weight is None else task.weight
        unit = task.problem(weight / weight.sum())
        given: dict[str, Any] = {"regularizer": f, "nu": self.nu, "forced": task.forced}
        steps = Sets(task, tol, watch)
        if self.search == "forward" and k > len(task.forced) and not steps.within_tol():
            steps.end(sl.forward_regression(unit, k, callback=steps.add, **given).status)
        elif self.search == "greedy_local":
            steps.each(lambda t: sl.greedy_local_search(unit, t, **given), k)
        return steps.found()


class BestSubsetSelector(PathSelector):
    """The best subset of each size, by branch and bound (`sparselin.best_subset`).

    The sets of different sizes need not be nested. The time is exponential in k at worst: by default criteria
    and cross-validation compare up to 8 features beside the forced ones.

    time_limit : seconds for each size, after which the best found so far is taken, with a
        `ConvergenceWarning`.
    path_ : a tuple of `BestSubset`, with f + 1, f + 2, … features, f of them forced.

    X is made dense.

    Other parameters, attributes, errors and warnings are those of `OMPSelector`; there is no `groups` or
    `standardize`, and y is one vector.

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(as_frame=True, return_X_y=True)
    >>> BestSubsetSelector(4).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's1', 's5']
    """

    _most = 8

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        tol: float | None = None,
        forced: Columns = (),
        exclude: Columns = (),
        fit_intercept: bool = True,
        max_features: int | None = None,
        cv: Any = 5,
        gamma: float | None = None,
        noise_variance: float | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_features_to_select, tol=tol, forced=forced, exclude=exclude, fit_intercept=fit_intercept,
            max_features=max_features, cv=cv, gamma=gamma, noise_variance=noise_variance, n_jobs=n_jobs,
        )  # fmt: skip
        self.time_limit = time_limit

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        steps = Sets(task, tol, watch)

        def best(t: int) -> SubsetResult:
            found = sl.best_subset(steps.problem, t, forced=task.forced, time_limit=self.time_limit)
            if not found.optimal:
                warnings.warn(
                    f"{t} features are not proved to be the best ({found.status.message}; gap "
                    f"{found.gap:.2%}): increase time_limit",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            if len(found) < t:
                steps.end(found.status)
            return found

        steps.each(best, k)
        return steps.found()
