"""Selectors of features for scikit-learn: one class for each method."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import sparselin as sl
from sparselin.estimators._selector import Found, PathSelector, Watch
from sparselin.estimators._task import Model, Task, models_of, models_of_groups
from sparselin.experiments.selection.methods import refit
from sparselin.greedy._groups import group_omp
from sparselin.problem import Problem
from sparselin.results import GroupPath, SelectionPath, Status, SubsetResult
from sparselin.validation import Columns


class OMPSelector(PathSelector):
    """DOC"""

    _several = True

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        tol: float | None = None,
        forced: Columns = (),
        exclude: Columns = (),
        groups: Any = None,
        fit_intercept: bool = True,
        standardize: bool = False,
        max_features: int | None = None,
        cv: Any = 5,
        gamma: float | None = None,
        noise_variance: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.forced = forced
        self.exclude = exclude
        self.groups = groups
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.n_jobs = n_jobs

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        if task.groups is None and task.y.ndim == 1:
            return _along(sl.omp, task.problem(), task, k, watch, tol=tol)

        def tell(path: GroupPath) -> bool:
            return watch is not None and watch(path, models_of_groups(path, task))

        path = group_omp(
            task.X, task.y.reshape(len(task.y), -1), k, groups=task.groups, forced=task.forced, tol=tol,
            intercept=task.intercept, standardize=task.standardize, sample_weight=task.weight,
            names=task.names, callback=None if watch is None else tell,
        )  # fmt: skip
        return Found(path, models_of_groups(path, task), path.status)


class OLSSelector(PathSelector):
    """DOC"""

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
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.forced = forced
        self.exclude = exclude
        self.fit_intercept = fit_intercept
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.n_jobs = n_jobs

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        return _along(sl.ols, task.problem(), task, k, watch, tol=tol)


class SequentialLassoSelector(PathSelector):
    """DOC"""

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        tol: float | None = None,
        method: str = "lasso",
        forced: Columns = (),
        exclude: Columns = (),
        fit_intercept: bool = True,
        standardize: bool = False,
        max_features: int | None = None,
        cv: Any = 5,
        gamma: float | None = None,
        noise_variance: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.method = method
        self.forced = forced
        self.exclude = exclude
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.n_jobs = n_jobs

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        return _until(tol, sl.sequential_lasso, task.problem(), task, k, watch, method=self.method)


class SequentialAttentionSelector(PathSelector):
    """DOC"""

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        tol: float | None = None,
        parametrization: str = "linear",
        lam: float | None = None,
        forced: Columns = (),
        exclude: Columns = (),
        fit_intercept: bool = True,
        standardize: bool = False,
        max_features: int | None = None,
        cv: Any = 5,
        gamma: float | None = None,
        noise_variance: float | None = None,
        max_iter_per_feature: int = 100_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.parametrization = parametrization
        self.lam = lam
        self.forced = forced
        self.exclude = exclude
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.max_iter_per_feature = max_iter_per_feature
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return _until(
            tol, sl.sequential_attention, task.problem(), task, k, watch,
            parametrization=self.parametrization, lam=self.lam, max_iter=self.max_iter_per_feature, rng=seed,
        )  # fmt: skip


class DiverseSelector(PathSelector):
    """DOC"""

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
        self.n_features_to_select = n_features_to_select
        self.regularizer = regularizer
        self.nu = nu
        self.search = search
        self.tol = tol
        self.forced = forced
        self.exclude = exclude
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.n_jobs = n_jobs

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        searches = {"forward": sl.forward_regression, "greedy_local": sl.greedy_local_search}
        if self.search not in searches:
            raise ValueError(f"search must be one of {sorted(searches)}; got {self.search!r}")
        f = sl.spectral.SmoothedDifferentialEntropy(1.0) if self.regularizer is None else self.regularizer
        weight = np.ones(len(task.y), task.X.dtype) if task.weight is None else task.weight
        unit = task.problem(weight / weight.sum())
        given = {"regularizer": f, "nu": self.nu, "forced": task.forced}
        steps = _Sets(task, tol, watch)
        if self.search == "forward" and k > len(task.forced) and not steps.within_tol():
            steps.end(sl.forward_regression(unit, k, callback=steps.add, **given).status)
        elif self.search == "greedy_local":
            steps.each(lambda t: sl.greedy_local_search(unit, t, **given), k)
        return steps.found()


class BestSubsetSelector(PathSelector):
    """DOC"""

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
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.forced = forced
        self.exclude = exclude
        self.fit_intercept = fit_intercept
        self.max_features = max_features
        self.cv = cv
        self.gamma = gamma
        self.noise_variance = noise_variance
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _path(self, task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
        steps = _Sets(task, tol, watch)

        def best(t: int) -> SubsetResult | None:
            found = sl.best_subset(steps.problem, t, forced=task.forced, time_limit=self.time_limit)
            if not found.optimal:
                warnings.warn(
                    f"the best {t} features are not proved to be the best ({found.status.message}; the gap is "
                    f"{found.gap:.2%}): increase time_limit",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            if len(found) < t:
                steps.end(found.status)
            return found

        steps.each(best, k)
        return steps.found()


class _Sets:
    """Subsets of f + 1, f + 2, … features, f forced, and least squares on each, as they are found."""

    def __init__(self, task: Task, tol: float | None, watch: Watch | None) -> None:
        self.problem, self.watch, self.status = task.problem(), watch, Status.COMPLETED
        start = refit(self.problem, task.forced)
        self.first, self.floor = len(start), -1.0 if tol is None else tol * float(start.residual_norm[0])
        self.results: list[SubsetResult] = []
        self.models = [self._model(start)]

    def _model(self, path: SelectionPath) -> Model:
        model = models_of(path, self.problem, len(path))[-1]
        # a column in the span of those before it has the coefficient zero
        return model._replace(rank=int(np.count_nonzero(path.coef)))

    def within_tol(self) -> bool:
        if self.models[-1].residual <= self.floor:
            self.status = Status.TOLERANCE
        return self.status is Status.TOLERANCE

    def add(self, result: SubsetResult) -> bool:
        """Add the next set; whether to stop."""
        self.results.append(result)
        self.models.append(self._model(refit(self.problem, result.support)))
        if self.watch is not None and self.watch(tuple(self.results), self.models):
            self.status = Status.STOPPED
        return self.within_tol() or self.status is Status.STOPPED

    def each(self, of_size: Callable[[int], SubsetResult], k: int) -> None:
        """Sets of at most k features, until one is told to be the end."""
        for t in range(self.first + 1, k + 1):
            if self.within_tol():
                return
            result = of_size(t)
            if self.status is not Status.COMPLETED or self.add(result):
                return

    def end(self, status: Status) -> None:
        """How the search ended by itself."""
        if self.status is Status.COMPLETED:
            self.status = status

    def found(self) -> Found:
        return Found(tuple(self.results), self.models, self.status)


def _along(
    method: Callable[..., SelectionPath],
    problem: Problem,
    task: Task,
    k: int,
    watch: Watch | None,
    /,
    **given: Any,
) -> Found:
    """The path of a method of nested picks."""
    f = len(task.forced)

    def tell(path: SelectionPath) -> bool:
        return watch is not None and watch(path, models_of(path, problem, f))

    path = method(problem, k, forced=task.forced, callback=None if watch is None else tell, **given)
    return Found(path, models_of(path, problem, f), path.status)


def _until(
    tol: float | None,
    method: Callable[..., SelectionPath],
    problem: Problem,
    task: Task,
    k: int,
    watch: Watch | None,
    /,
    **given: Any,
) -> Found:
    """The same for a method without `tol`."""
    if tol is None:
        return _along(method, problem, task, k, watch, **given)

    def reached(path: SelectionPath) -> bool:
        return bool(path.residual_norm[-1] <= tol * path.residual_norm[0])

    def either(path: SelectionPath, models: list[Model]) -> bool:
        stop = watch is not None and watch(path, models)
        return stop or reached(path)

    start = refit(problem, task.forced)
    found = Found(start, models_of(start, problem, len(start)), start.status)
    if not reached(start):
        found = _along(method, problem, task, k, either, **given)
    if not reached(found.result):
        return found
    return found._replace(
        result=dataclasses.replace(found.result, status=Status.TOLERANCE), status=Status.TOLERANCE
    )
