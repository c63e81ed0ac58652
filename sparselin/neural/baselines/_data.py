"""The data of a method, checked once, without constant columns, standardized; its result on all columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from sparselin.neural.networks import mlp
from sparselin.neural.training import Loss, Rows, cross_entropy, squared
from sparselin.results import FeatureRanking, FloatArray, IndexArray, Names, Status
from sparselin.validation import (
    check_count,
    check_design,
    check_finite,
    check_same_rows,
    check_weights,
    frame_names,
    to_numeric,
)

Task = Literal["classification", "regression"]


class PreparedData(NamedTuple):
    """What a method sees: X (n, m) of the m columns that vary, and what is needed to speak of all d.

    X : columns of mean 0 and, if standardized, variance 1, with the weights.
    y : (n,) numbers of the classes, or (n, q) of mean 0 and total variance q.
    weight : (n,) of mean 1, or None.
    q : outputs of a network: the classes, or the columns of y.
    classification : whether y are classes.
    k : features to pick, at most m, and `wanted` the k asked for.
    kept : (m,) the columns that vary.
    """

    X: FloatArray
    y: Any
    weight: FloatArray | None
    q: int
    classification: bool
    k: int
    wanted: int
    kept: IndexArray
    d: int
    names: Names

    @property
    def loss(self) -> Loss:
        return cross_entropy if self.classification else squared

    @property
    def rows(self) -> Rows:
        weight = None if self.weight is None else torch.from_numpy(self.weight)
        return Rows(torch.from_numpy(self.X), torch.from_numpy(self.y), weight)

    @property
    def outputs(self) -> FloatArray:
        """(n, q) float64: y, or its one-hot columns."""
        return np.asarray(np.eye(self.q)[self.y] if self.classification else self.y, np.float64)

    def centred(self) -> tuple[FloatArray, FloatArray]:
        """X (n, m) and the outputs (n, q), of mean 0, in float64 and with rows times √ω_i."""
        root = np.ones(len(self.X)) if self.weight is None else np.sqrt(self.weight.astype(np.float64))
        Y = self.outputs
        Y = root[:, None] * (Y - np.average(Y, axis=0, weights=root**2))
        return root[:, None] * self.X.astype(np.float64), Y

    def mlp(self, hidden: Sequence[int]) -> nn.Sequential:
        """A perceptron on the m columns, with random weights."""
        return mlp(len(self.kept), hidden, self.q, dtype=self.rows.X.dtype)

    def ranking(self, method: str, picks: Any, scores: Any, lam: Any = np.nan) -> FeatureRanking:
        """The result, of picks (at least one) and scores (m,) by number in `kept`; lam (m,), or one for all.

        Features of equal scores come in the order of X.
        """
        picks, scores = np.asarray(picks, np.intp), np.asarray(scores)
        order = list(dict.fromkeys([*picks.tolist(), *_descending(scores).tolist()]))[: self.wanted]
        constant = np.setdiff1d(np.arange(self.d), self.kept)
        support = np.append(self.kept[order], constant)[: self.wanted].astype(np.intp)
        wide, levels = np.full((2, self.d), np.nan, scores.dtype if scores.dtype.kind == "f" else np.float64)
        wide[self.kept], levels[self.kept] = scores, lam
        distinct = len(set(picks.tolist()))
        return FeatureRanking(
            support=support,
            scores=wide,
            picks=self.kept[picks],
            lam=levels[support],
            method=method,
            status=Status.COMPLETED if distinct >= self.wanted else Status.FILLED,
            n_features=self.d,
            names=self.names,
        )

    def best(self, method: str, scores: Any) -> FeatureRanking:
        """The result whose picks are the features of largest score (m,), of equal ones the first."""
        return self.ranking(method, _descending(scores)[: self.k], scores)


def _descending(scores: FloatArray) -> IndexArray:
    return np.argsort(-scores, kind="stable")


def prepared(
    X: Any, y: Any, k: int, task: Task | None, sample_weight: Any = None, standardize: bool = False
) -> PreparedData:
    """The data, checked: TypeError or ValueError."""
    names = frame_names(X)
    Z = check_design(X)
    if not isinstance(Z, np.ndarray):
        raise TypeError("X must be an array or a frame; got a sparse matrix: pass X.toarray()")
    check_finite(Z, "X", names)
    n, d = Z.shape
    wanted = check_count(k, "k", 1, d, f": X has {d} columns")
    check_same_rows(X, y, "y")
    if np.ma.is_masked(y):
        raise ValueError("y must have no masked entries; fill them or drop their rows first")
    y = np.asarray(y)
    if y.shape[:1] != (n,) or y.ndim > 2 or y.size == 0:
        raise ValueError(
            f"y must have an entry, or a row, for each of the {n} rows of X; got shape {y.shape}"
        )
    weight = None
    if sample_weight is not None:
        weight = check_weights(sample_weight, n, np.dtype(np.float64))
        Z, y, weight = Z[weight > 0], y[weight > 0], weight[weight > 0]
        weight = weight / weight.mean()
    target, q, classification = _targets(y, task, weight)
    Z, kept = _standardized(Z, weight, standardize)
    weight = None if weight is None else weight.astype(Z.dtype)
    target = target if classification else target.astype(Z.dtype)
    return PreparedData(Z, target, weight, q, classification, min(wanted, len(kept)), wanted, kept, d, names)


def _standardized(X: Any, weight: FloatArray | None, standardize: bool) -> tuple[FloatArray, IndexArray]:
    """The columns that vary, centred (and scaled) in float64; and which they are."""
    kept = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    Z = X[:, kept].astype(np.float64)
    largest = np.abs(Z).max(axis=0, initial=0)
    # powers of two, by which squares neither vanish nor overflow
    scale = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1])
    Z /= scale
    Z -= _mean(Z, weight)
    if standardize:
        Z /= np.sqrt(_mean(Z**2, weight))
    else:
        Z *= scale
    return np.ascontiguousarray(Z, X.dtype), kept


def _mean(Z: FloatArray, weight: FloatArray | None) -> FloatArray:
    """(1/n)Σ ω_i z_i."""
    return np.asarray(Z.mean(axis=0) if weight is None else weight @ Z / len(Z))


def _targets(y: Any, task: Task | None, weight: FloatArray | None) -> tuple[Any, int, bool]:
    """Numbers of classes (n,) or standardized numbers (n, q); q; and whether they are classes."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task must be 'classification', 'regression' or None; got {task!r}")
    if task is None:
        task = "regression" if y.dtype.kind == "f" else "classification"
    if task == "regression":
        y = _standard_outputs(to_numeric(y, "y"), weight)
        return y, y.shape[1], False
    if y.ndim == 2 and y.shape[1] != 1:
        raise ValueError(f"y must be labels (n,) for classification; got shape {y.shape}")
    y = y.reshape(len(y))
    if y.dtype.kind == "f":
        check_finite(y, "y")
    elif y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError("y must have a label in each row; some are None or NaN: drop their rows")
    classes, number = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got only {classes[0]!r}")
    return number.astype(np.int64), len(classes), True


def _standard_outputs(y: Any, weight: FloatArray | None) -> Any:
    """(n, q) numbers of mean 0 and, unless all are equal, total variance q."""
    check_finite(y, "y")
    y = y.reshape(len(y), -1).astype(np.float64)
    y = y - _mean(y, weight)
    largest = np.abs(y).max()
    if largest == 0:
        return y
    y = y / largest
    return y * np.sqrt(y.shape[1] / _mean(y**2, weight).sum())
