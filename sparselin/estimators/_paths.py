"""The task of a selector, and the paths of the methods on it, with a model of each size."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.validation import column_or_1d

import sparselin as sl
from sparselin.estimators._common import Observations
from sparselin.greedy._groups import group_omp
from sparselin.greedy._losses import LOSSES
from sparselin.linalg.ties import stopping_level
from sparselin.problem import Problem
from sparselin.problem.errors import eps_of, product_error
from sparselin.results import (
    FittedPath,
    FloatArray,
    GeneralizedPath,
    GroupPath,
    IndexArray,
    Names,
    SelectionPath,
    Status,
    SubsetResult,
)
from sparselin.selection.methods import refit

Result: TypeAlias = SelectionPath | GroupPath | GeneralizedPath | tuple[SubsetResult, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(Observations):
    """The columns that may be selected, X (n, p), and y (n,) or (n, q), as they came out of validation.

    forced : units (columns, or groups where there are any) that come first.
    groups : (p,) the number of the group of each column, 0, …, G − 1, or None.
    loss : "squared", "logistic" (y is 0 and 1 then) or "poisson".
    """

    forced: IndexArray
    groups: IndexArray | None
    loss: str

    @property
    def units(self) -> int:
        """The number of columns, or of groups of them."""
        return int(self.X.shape[1] if self.groups is None else self.groups.max() + 1)

    def options(self, tol: float | None) -> dict[str, Any]:
        """Return the options of a method that takes X and y as arrays."""
        given = {"intercept": self.intercept, "standardize": self.standardize, "sample_weight": self.weight}
        return {"forced": self.forced, "tol": tol, **given}

    def errors(self, prediction: Any) -> FloatArray:
        """Return mean squared errors of the outputs, or the deviances 2(ℓ(y_i, η_i) − inf ℓ(y_i, ·)) at η."""
        if self.loss == "squared":
            squares = np.square(self.y - prediction, dtype=np.float64)
            return np.asarray(squares.reshape(len(self.y), -1).mean(axis=1))
        eta, y = np.asarray(prediction, np.float64), np.asarray(self.y, np.float64)
        with np.errstate(over="ignore"):  # e^η, where η is that of a Poisson model far from its own rows
            return LOSSES[self.loss].deviance(eta, y)

    def mean_prediction(self) -> Any:
        """Return the prediction without features: the mean of y, or its link; zero without an intercept."""
        if not self.intercept:
            return 0.0
        mean = np.average(self.y, axis=0, weights=self.weight)
        return mean if self.loss == "squared" else LOSSES[self.loss].link(float(mean))


class LinearFit(NamedTuple):
    """A fit on some features: coef (p,) or (p, q); ‖r‖, zero where it is to rounding; the rank.

    For losses that are not squared √deviance is in place of ‖r‖.
    """

    features: IndexArray
    coef: FloatArray
    intercept: Any
    residual: float
    rank: int

    def predict(self, X: Any) -> FloatArray:
        """Return the linear predictor."""
        return np.asarray(X[:, self.features] @ self.coef + self.intercept)


class ModelPath(NamedTuple):
    """A method's result, its models with f, f + 1, … units, f forced, and how it ended."""

    result: Any
    models: list[LinearFit]
    status: Status


# called after each step with the result so far and its models; True ends the path
Watch = Callable[[Any, list[LinearFit]], bool]


def _follow(method: Any, models: Callable[[Any], list[LinearFit]], watch: Watch | None) -> ModelPath:
    """Run a method whose `callback` passes each path and its models to `watch`."""
    path = method(callback=None if watch is None else lambda path: watch(path, models(path)))
    return ModelPath(path, models(path), path.status)


def along(
    method: Any, problem: Problem, forced: IndexArray, k: int, watch: Watch | None, /, **options: Any
) -> ModelPath:
    """Return the path of a method of nested picks."""
    method = partial(method, problem, k, forced=forced, **options)
    return _follow(method, lambda path: _models_of(path, problem, len(forced)), watch)


def until(
    tol: float | None, method: Any, task: Task, k: int, watch: Watch | None, /, **options: Any
) -> ModelPath:
    """Return the path of a method of nested picks without `tol`, ended where it reaches `tol`."""
    problem, forced = task.problem(), task.forced
    if tol is None:
        return along(method, problem, forced, k, watch, **options)

    def reached(path: SelectionPath) -> bool:
        return bool(path.residual_norm[-1] <= _level(problem, path, tol))

    def watch_or_reached(path: SelectionPath, models: list[LinearFit]) -> bool:
        return bool(watch and watch(path, models)) or reached(path)

    start = refit(problem, forced)
    found = ModelPath(start, _models_of(start, problem, len(start)), start.status)
    if not reached(start):
        found = along(method, problem, forced, k, watch_or_reached, **options)
    if not reached(found.result):
        return found
    status = Status.TOLERANCE
    return found._replace(result=dataclasses.replace(found.result, status=status), status=status)


def _level(problem: Problem, path: SelectionPath, tol: float | None) -> float:
    """Return the residual norm at which `tol` stops a path, or −1."""
    limit = -1.0 if tol is None else tol * float(path.residual_norm[0])
    return float(stopping_level(limit, problem.y_norm, problem.unit, problem.length_unit))


def _fits(path: Any, first: int, norms: list[float], ranks: Sequence[int]) -> list[LinearFit]:
    """Return the models of the first t units of a path, t = first, …, with their ‖r‖ and ranks."""
    features_at = getattr(path, "features_at", lambda t: path.support[:t])
    return [
        LinearFit(features_at(t), path.coef_at(t), path.intercept_path[t], norms[t], ranks[t])
        for t in range(first, len(path) + 1)
    ]


def _models_of(path: SelectionPath, problem: Problem, first: int) -> list[LinearFit]:
    """Return the models of the first t features, t = first, …; ‖r‖ ≤ 8·eps·(√n + 1)·‖y‖ counts as zero."""
    zero = problem.rounding() * problem.y_norm
    norms = [0.0 if norm <= zero else float(norm) for norm in path.residual_norm]
    return _fits(path, first, norms, range(len(path) + 1))


def along_groups(task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
    """Return the path of group OMP, with all columns of y."""
    Y, options = task.y.reshape(len(task.y), -1), task.options(tol)
    method = partial(group_omp, task.X, Y, k, groups=task.groups, names=task.names, **options)
    return _follow(method, partial(_models_of_groups, task), watch)


def _models_of_groups(task: Task, path: GroupPath) -> list[LinearFit]:
    """Return the models of the first t groups, t = the forced, …; for one y without a second axis."""
    zero = product_error(len(task.y), eps_of(path.intercept_path.dtype))
    weight = np.ones(len(task.y)) if task.weight is None else task.weight
    size = np.sqrt(np.sum(weight * np.square(task.y, dtype=np.float64).T))
    norms = [0.0 if norm <= zero * size else norm for norm in path.residual_norm.tolist()]
    fits = _fits(path, len(task.forced), norms, path.ranks.tolist())
    if task.y.ndim == 1:
        fits = [fit._replace(coef=fit.coef[:, 0], intercept=fit.intercept[0]) for fit in fits]
    return fits


def along_loss(task: Task, k: int, tol: float | None, watch: Watch | None) -> ModelPath:
    """Return the path of `generalized_omp`, all models of which are finite."""
    f, rank = len(task.forced), _rank_of_forced(task)

    def models(path: GeneralizedPath) -> list[LinearFit]:
        norms = np.sqrt(path.deviance.astype(np.float64)).tolist()
        # each pick is outside the span of the features before it
        return _fits(path, f, norms, range(rank - f, rank - f + len(path) + 1))

    method = partial(sl.generalized_omp, task.X, task.y, k, loss=task.loss, **task.options(tol))
    found = _follow(method, models, watch)
    if len(found.result) < f:
        raise ValueError(
            f"the {f} forced features have no model on {len(task.y)} rows: {found.status.message}. Decrease "
            "forced; in cross-validation also pass a cv that leaves fewer rows out"
        )
    return found


def _rank_of_forced(task: Task) -> int:
    """Return the rank of the forced columns, next to the intercept if there is one."""
    used = np.arange(len(task.y)) if task.weight is None else np.flatnonzero(task.weight)
    A = task.X[:, task.forced][used]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    if task.intercept:
        A = np.column_stack([np.ones(len(A), A.dtype), A])
    norm = np.linalg.norm(A, axis=0)
    return int(np.linalg.matrix_rank(A / np.where(norm > 0, norm, 1))) - task.intercept


class Sets:
    """Subsets of f + 1, f + 2, … features, f forced, and least squares on each, as they are found."""

    def __init__(self, task: Task, tol: float | None, watch: Watch | None) -> None:
        self.problem, self.watch, self.status = task.problem(), watch, Status.COMPLETED
        start = refit(self.problem, task.forced)
        self.first, self.floor = len(start), _level(self.problem, start, tol)
        self.results: list[SubsetResult] = []
        self.models = [self._model(start)]

    def _model(self, path: SelectionPath) -> LinearFit:
        model = _models_of(path, self.problem, len(path))[-1]
        # a column in the span of those before it has the coefficient zero
        return model._replace(rank=int(np.count_nonzero(path.coef)))

    def within_tol(self) -> bool:
        """Return whether the last set has reached `tol`."""
        if self.models[-1].residual <= self.floor:
            self.status = Status.TOLERANCE
        return self.status is Status.TOLERANCE

    def add(self, result: SubsetResult) -> bool:
        """Add the next set, and return whether to stop."""
        self.results.append(result)
        self.models.append(self._model(refit(self.problem, result.support)))
        if self.watch is not None and self.watch(tuple(self.results), self.models):
            self.status = Status.STOPPED
        return self.within_tol() or self.status is Status.STOPPED

    def each(self, of_size: Callable[[int], SubsetResult], k: int) -> None:
        """Add sets of f + 1, …, k features until one of them ends the path."""
        for t in range(self.first + 1, k + 1):
            if self.within_tol():
                return
            result = of_size(t)
            if self.status is not Status.COMPLETED or self.add(result):
                return

    def end(self, status: Status) -> None:
        """Record how the search ended by itself."""
        if self.status is Status.COMPLETED:
            self.status = status

    def found(self) -> ModelPath:
        """Return the sets with their models."""
        return ModelPath(tuple(self.results), self.models, self.status)


def widened(result: Any, kept: IndexArray, d: int, names: Names) -> Any:
    """Return a result on the columns `kept` as a result on all d of them."""
    if isinstance(result, tuple):
        return tuple(widened(subset, kept, d, names) for subset in result)
    new: dict[str, Any] = {"support": kept[result.support]}
    if isinstance(result, FittedPath):
        new["fit"] = dataclasses.replace(result.fit, n_features=d, names=names)
    else:
        new |= {"n_features": d, "names": names}
    if isinstance(result, GroupPath):
        new["groups"] = np.full(d, -1)
        new["groups"][kept] = result.groups
    elif isinstance(result, GeneralizedPath):
        new["ties"] = tuple(tuple(kept[list(tied)].tolist()) for tied in result.ties)
        new["unfitted"] = tuple(kept[list(result.unfitted)].tolist())
    elif isinstance(result, SelectionPath):
        for name in ("ties", "active_sets"):
            new[name] = tuple(tuple(kept[list(some)].tolist()) for some in getattr(result, name))
        new["weights"] = tuple(_scattered(weights, kept, d) for weights in result.weights)
    return dataclasses.replace(result, **new)


def _scattered(values: FloatArray, kept: IndexArray, d: int) -> FloatArray:
    wide = np.zeros(d, values.dtype)
    wide[kept] = values
    return wide


def check_loss(selector: Any, y: Any) -> None:
    """Raise ValueError for an unknown `loss`, or parameters or labels that only another loss takes."""
    loss, known = selector.loss, ["squared", *LOSSES]
    if not isinstance(loss, str) or loss not in known:
        raise ValueError(f"loss must be one of {known}; got {loss!r}")
    for name in ("groups", "noise_variance"):
        if loss != "squared" and getattr(selector, name) is not None:
            raise ValueError(f"{name} must be None for loss={loss!r}: it is of loss='squared' alone")
    if loss != "logistic":
        _check_no_words(y)


def encoded(y: Any, loss: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return for logistic regression y == the second of two classes, and both in order; else y and None."""
    if loss != "logistic":
        return y, None
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes for loss='logistic'; got {len(classes)}. For more of them pass one-hot "
            "columns to OMPSelector with loss='squared', or y == label, one against the others"
        )
    return (y == classes[1]).astype(dtype), classes


def _check_no_words(y: Any) -> None:
    """Raise ValueError for class labels that are words."""
    values = np.asarray(y) if y is not None and not hasattr(y, "tocsc") else np.zeros(0)
    words = values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(value, str) for value in values.ravel())
    )
    if words:
        raise ValueError(
            "y must hold numbers; got words. For two classes pass loss='logistic' to OMPSelector or "
            "SequentialLassoSelector; for more pass one-hot columns to OMPSelector: "
            "LabelBinarizer().fit_transform(y) of sklearn.preprocessing makes them"
        )


def as_outputs(y: Any, name: str, several: bool) -> FloatArray:
    """Return y as a vector, or as (n, q) for a selector that takes several outputs."""
    y = y.toarray() if hasattr(y, "toarray") else y
    if y.ndim == 2 and y.shape[1] > 1:
        if not several:
            raise ValueError(
                f"y must be a vector for {name}; got shape {y.shape}. OMPSelector takes several outputs, and "
                "one-hot classes, with loss='squared'"
            )
        return np.asarray(y)
    return np.asarray(column_or_1d(y, warn=not several))


def numbered(groups: Any, d: int, kept: IndexArray) -> tuple[Any, IndexArray]:
    """Return the labels of the groups that have columns in `kept`, and the group number of each of these."""
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"groups must have a label for each of the {d} features; got shape {labels.shape}")
    unique, number = np.unique(labels[kept], return_inverse=True)
    return unique, number
