"""Paths of the methods as results with models, which end early where they are told to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.estimators._task import Found, Model, Task, Watch, models_of, telling
from sparselin.linalg.ties import stopping_level
from sparselin.problem import Problem
from sparselin.results import SelectionPath, Status, SubsetResult
from sparselin.selection.methods import refit


def _level(problem: Problem, path: SelectionPath, tol: float | None) -> float:
    """Return the residual norm at which `tol` stops a path, or −1."""
    limit = -1.0 if tol is None else tol * float(path.residual_norm[0])
    return float(stopping_level(limit, problem.y_norm, problem.unit, problem.length_unit))


class Sets:
    """Subsets of f + 1, f + 2, … features, f forced, and least squares on each, as they are found."""

    def __init__(self, task: Task, tol: float | None, watch: Watch | None) -> None:
        self.problem, self.watch, self.status = task.problem(), watch, Status.COMPLETED
        start = refit(self.problem, task.forced)
        self.first, self.floor = len(start), _level(self.problem, start, tol)
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


def along(
    method: Callable[..., SelectionPath],
    problem: Problem,
    task: Task,
    k: int,
    watch: Watch | None,
    /,
    **given: Any,
) -> Found:
    """The path of a method of nested picks."""

    def models(path: SelectionPath) -> list[Model]:
        return models_of(path, problem, len(task.forced))

    path = method(problem, k, forced=task.forced, callback=telling(watch, models), **given)
    return Found(path, models(path), path.status)


def until(
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
        return along(method, problem, task, k, watch, **given)

    def reached(path: SelectionPath) -> bool:
        return bool(path.residual_norm[-1] <= _level(problem, path, tol))

    def either(path: SelectionPath, models: list[Model]) -> bool:
        stop = watch is not None and watch(path, models)
        return stop or reached(path)

    start = refit(problem, task.forced)
    found = Found(start, models_of(start, problem, len(start)), start.status)
    if not reached(start):
        found = along(method, problem, task, k, either, **given)
    if not reached(found.result):
        return found
    status = Status.TOLERANCE
    return found._replace(result=dataclasses.replace(found.result, status=status), status=status)
