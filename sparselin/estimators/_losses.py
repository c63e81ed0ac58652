"""Logistic and Poisson regression in selectors: their responses, paths and errors on rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np

import sparselin as sl
from sparselin.estimators._task import Found, Model, Task, Watch, telling
from sparselin.greedy._losses import LOSSES
from sparselin.results import FloatArray, GeneralizedPath


def check_loss(selector: Any) -> None:
    """ValueError for an unknown `loss`, and for parameters that another than the squared loss lacks."""
    loss, known = selector.loss, ["squared", *LOSSES]
    if not isinstance(loss, str) or loss not in known:
        raise ValueError(f"loss must be one of {known}; got {loss!r}")
    for name in ("groups", "noise_variance"):
        if loss != "squared" and getattr(selector, name) is not None:
            raise ValueError(f"{name} must be None for loss={loss!r}: it is of loss='squared' alone")


def encoded(y: Any, loss: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """For logistic regression y == the second of two classes, and the classes in order; else y and None."""
    if loss != "logistic":
        return y, None
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(
            f"y must have two classes for loss='logistic'; got {len(classes)}. For more of them pass one-hot "
            "columns to OMPSelector with loss='squared', or y == label, one against the others"
        )
    return (y == classes[1]).astype(dtype), classes


def along_loss(task: Task, k: int, tol: float | None, watch: Watch | None) -> Found:
    """The path of `generalized_omp`, all models of which are finite."""
    f, rank = len(task.forced), _rank_of_forced(task)

    def models(path: GeneralizedPath) -> list[Model]:
        norms = np.sqrt(path.deviance.astype(np.float64))
        return [  # what is picked is outside the span of what is there
            Model(path.support[:t], path.coef_at(t), path.intercept_path[t], float(norms[t]), rank + t - f)
            for t in range(f, len(path) + 1)
        ]

    path = sl.generalized_omp(
        task.X, task.y, k, loss=task.loss, tol=tol, forced=task.forced, intercept=task.intercept,
        standardize=task.standardize, sample_weight=task.weight, callback=telling(watch, models),
    )  # fmt: skip
    if len(path) < f:
        raise ValueError(
            f"the {f} forced features have no model on {len(task.y)} rows: {path.status.message}. Decrease "
            "forced; in cross-validation also pass a cv that leaves fewer rows out"
        )
    return Found(path, models(path), path.status)


def _rank_of_forced(task: Task) -> int:
    """The rank of the forced columns, beside the intercept if there is one."""
    used = np.arange(len(task.y)) if task.weight is None else np.flatnonzero(task.weight)
    A = task.X[:, task.forced][used]
    A = A if isinstance(A, np.ndarray) else A.toarray()
    if task.intercept:
        A = np.column_stack([np.ones(len(A), A.dtype), A])
    norm = np.linalg.norm(A, axis=0)
    return int(np.linalg.matrix_rank(A / np.where(norm > 0, norm, 1))) - task.intercept


def errors(task: Task, prediction: Any) -> FloatArray:
    """(n,) mean squared errors of the outputs, or the deviances, 2(ℓ(y_i, η_i) − inf ℓ(y_i, ·)), at η."""
    if task.loss == "squared":
        squares = np.square(task.y - prediction, dtype=np.float64)
        return np.asarray(squares.reshape(len(task.y), -1).mean(axis=1))
    eta, y = np.asarray(prediction, np.float64), np.asarray(task.y, np.float64)
    with np.errstate(over="ignore"):  # e^η, where η is that of a Poisson model far from its own rows
        return LOSSES[task.loss].deviance(eta, y)


def of_mean(task: Task) -> Any:
    """The prediction of the model without features: the mean of y, or its link; zero without an intercept."""
    if not task.intercept:
        return 0.0
    mean = np.average(task.y, axis=0, weights=task.weight)
    return mean if task.loss == "squared" else LOSSES[task.loss].link(float(mean))
