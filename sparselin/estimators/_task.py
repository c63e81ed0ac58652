"""What a selector selects from, the models along a path, and the path in the columns of all of X."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.validation import column_or_1d

from sparselin.problem import Problem
from sparselin.results import (
    FloatArray,
    GeneralizedPath,
    GroupPath,
    IndexArray,
    Names,
    SelectionPath,
    Status,
    SubsetResult,
)

Result: TypeAlias = SelectionPath | GroupPath | GeneralizedPath | tuple[SubsetResult, ...]


@dataclasses.dataclass(frozen=True)
class Task:
    """The columns that may be selected, X (n, p), and y (n,) or (n, q), as they came out of validation.

    forced : units (columns, or groups where there are any) that come first.
    groups : (p,) the number of the group of each column, 0, …, G − 1, or None.
    loss : "squared", "logistic" (y is 0 and 1 then) or "poisson".
    """

    X: Any
    y: FloatArray
    weight: FloatArray | None
    names: Names
    forced: IndexArray
    groups: IndexArray | None
    intercept: bool
    standardize: bool
    loss: str

    @property
    def units(self) -> int:
        """Columns, or groups of them."""
        return int(self.X.shape[1] if self.groups is None else self.groups.max() + 1)

    @property
    def outputs(self) -> int:
        return 1 if self.y.ndim == 1 else self.y.shape[1]

    @property
    def total(self) -> float:
        """The number of rows; with weights, which repeat rows, their sum."""
        return float(len(self.y) if self.weight is None else self.weight.sum(dtype=np.float64))

    def rows(self, rows: IndexArray) -> Task:
        weight = None if self.weight is None else self.weight[rows]
        return dataclasses.replace(self, X=self.X[rows], y=self.y[rows], weight=weight)

    def problem(self, weight: FloatArray | None = None) -> Problem:
        """The problem, with these weights in place of its own."""
        return Problem(
            self.X, self.y, sample_weight=self.weight if weight is None else weight,
            intercept=self.intercept, standardize=self.standardize, names=self.names,
        )  # fmt: skip


class Model(NamedTuple):
    """A fit on some features: coef (p,) or (p, q); ‖r‖, zero where it is to rounding; the rank.

    For losses that are not squared √deviance is in place of ‖r‖.
    """

    features: IndexArray
    coef: FloatArray
    intercept: Any
    residual: float
    rank: int

    def predict(self, X: Any) -> FloatArray:
        """The linear predictor."""
        return np.asarray(X[:, self.features] @ self.coef + self.intercept)


class Found(NamedTuple):
    """What a method found: its result, the models with f, f + 1, … units, f forced, and how it ended."""

    result: Any
    models: list[Model]
    status: Status


# called after each step with the result so far and its models; True ends the path
Watch = Callable[[Any, list[Model]], bool]


def telling(watch: Watch | None, models: Callable[[Any], list[Model]]) -> Callable[[Any], bool] | None:
    """The `callback` of a method, by which watch hears of each path and its models."""
    return None if watch is None else lambda path: watch(path, models(path))


def residual(norm: float, problem: Problem) -> float:
    """‖r‖, or zero where rounding may be all of it: ‖r‖ ≤ 8·eps·(√n + 1)·‖y‖."""
    return 0.0 if norm <= problem.rounding() * problem.y_norm else float(norm)


def models_of(path: SelectionPath, problem: Problem, first: int) -> list[Model]:
    """The models of the first t features, t = first, …."""
    return [
        Model(
            path.support[:t],
            path.coef_at(t),
            path.intercept_path[t],
            residual(path.residual_norm[t], problem),
            t,
        )
        for t in range(first, len(path) + 1)
    ]


def models_of_groups(path: GroupPath, task: Task) -> list[Model]:
    """The models of the first t groups, t = the forced, …; for one y without a second axis."""
    one = task.y.ndim == 1
    zero = 8 * np.finfo(path.intercept_path.dtype).eps * (np.sqrt(len(task.y)) + 1)
    weight = np.ones(len(task.y)) if task.weight is None else task.weight
    size = np.sqrt(np.sum(weight * np.square(task.y, dtype=np.float64).T))
    found = []
    for t in range(len(task.forced), len(path) + 1):
        coef, intercept, norm = path.coef_at(t), path.intercept_path[t], float(path.residual_norm[t])
        if one:
            coef, intercept = coef[:, 0], intercept[0]
        norm = 0.0 if norm <= zero * size else norm
        found.append(Model(path.features_at(t), coef, intercept, norm, int(path.ranks[t])))
    return found


def widened(result: Any, kept: IndexArray, d: int, names: Names) -> Any:
    """A result on the columns `kept` as one on all d of them."""
    if isinstance(result, tuple):
        return tuple(widened(one, kept, d, names) for one in result)
    new: dict[str, Any] = {"support": kept[result.support], "n_features": d, "names": names}
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


def check_no_words(y: Any) -> None:
    """ValueError for class labels that are words."""
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
    """y as a vector, or as (n, q) for a selector that takes several outputs."""
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
    """The labels of the groups that have columns in `kept`, and the number of the group of each of these."""
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"groups must have a label for each of the {d} features; got shape {labels.shape}")
    unique, number = np.unique(labels[kept], return_inverse=True)
    return unique, number
