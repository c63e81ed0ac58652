"""The data of a baseline: validated, centred, without constant columns; and its result on all columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin import validation
from sparselin.neural.networks import mlp
from sparselin.neural.training import Loss, Plan, Rows, cross_entropy, make_plan, seeded, squared_error
from sparselin.problem.argument_names import take_options
from sparselin.problem.labels import check_same_rows
from sparselin.results import FloatArray, IndexArray, Names, Status

Task = Literal["classification", "regression"]


class PreparedData(NamedTuple):
    """The prepared data of a method: the m columns of X that are not constant, and how to map back.

    X : (n, m) columns of weighted mean 0 and, if standardized, variance 1.
    y : class numbers (n,), or numbers (n, q) of mean 0 and total variance q.
    weight : (n,) weights of mean 1, or None.
    q : the number of outputs of a network, that is, of the classes or of the columns of y.
    classification : whether y holds classes.
    k : the number of features to select, at most m; `requested` is the k of the caller.
    kept : (m,) the indices of the columns that are not constant.
    d, names : the number of columns of the original X, and their names.
    """

    X: FloatArray
    y: Any
    weight: FloatArray | None
    q: int
    classification: bool
    k: int
    requested: int
    kept: IndexArray
    d: int
    names: Names

    @property
    def loss(self) -> Loss:
        """The loss of the task."""
        return cross_entropy if self.classification else squared_error

    @property
    def rows(self) -> Rows:
        """The data as tensors."""
        weight = None if self.weight is None else torch.from_numpy(self.weight)
        return Rows(torch.from_numpy(self.X), torch.from_numpy(self.y), weight)

    @property
    def outputs(self) -> FloatArray:
        """The targets (n, q) in float64: y, or the one-hot columns of its classes."""
        return np.asarray(np.eye(self.q)[self.y] if self.classification else self.y, np.float64)

    def center(self) -> tuple[FloatArray, FloatArray]:
        """Return X (n, m) and the targets (n, q) centred, in float64, with rows times √ω_i (the weights)."""
        root = np.ones(len(self.X)) if self.weight is None else np.sqrt(self.weight.astype(np.float64))
        Y = self.outputs
        Y = root[:, None] * (Y - np.average(Y, axis=0, weights=root**2))
        return root[:, None] * self.X.astype(np.float64), Y

    def mlp(self, hidden: Sequence[int]) -> nn.Sequential:
        """Return a perceptron on the m columns, with random weights."""
        return mlp(len(self.kept), hidden, self.q, dtype=self.rows.X.dtype)

    def ranking(self, method: str, picks: Any, scores: Any, lam: Any = np.nan) -> FeatureRanking:
        """Return the result of a method on all columns.

        picks : the selected features in order, as positions in `kept`. If there are fewer than k, the
            features with the largest scores follow; ties are broken by the order of the columns.
        scores : (m,) the scores.
        lam : (m,) the λ of each feature, or one λ for all.
        """
        picks, scores = np.asarray(picks, np.intp), np.asarray(scores)
        order = list(dict.fromkeys([*picks.tolist(), *_descending(scores).tolist()]))[: self.requested]
        constant = np.setdiff1d(np.arange(self.d), self.kept)
        support = np.append(self.kept[order], constant)[: self.requested].astype(np.intp)
        wide, levels = np.full((2, self.d), np.nan, scores.dtype if scores.dtype.kind == "f" else np.float64)
        wide[self.kept], levels[self.kept] = scores, lam
        distinct = len(set(picks.tolist()))
        status, picked = Status.COMPLETED if distinct >= self.requested else Status.FILLED, self.kept[picks]
        return FeatureRanking(support, wide, picked, levels[support], method, status, self.d, self.names)

    def best(self, method: str, scores: Any) -> FeatureRanking:
        """Return the result of a method that selects the features with the largest scores (m,)."""
        return self.ranking(method, _descending(scores)[: self.k], scores)


def _descending(scores: FloatArray) -> IndexArray:
    """Return the order of decreasing scores; ties keep their order."""
    return np.argsort(-scores, kind="stable")


def prepare(
    X: Any, y: Any, k: int, task: Task | None, sample_weight: Any = None, standardize: bool = False
) -> PreparedData:
    """Validate the data and return them prepared; raise TypeError or ValueError if they are invalid."""
    names = validation.frame_names(X)
    Z = validation.check_design(X)
    if not isinstance(Z, np.ndarray):
        raise TypeError("X must be an array or a frame; got a sparse matrix. Pass X.toarray()")
    validation.check_finite(Z, "X", names)
    n, d = Z.shape
    wanted = validation.check_count(k, "k", 1, d, f": X has {d} columns")
    check_same_rows(X, y, "y")
    validation.check_mask(y=y)
    y = np.asarray(y)
    if y.shape[:1] != (n,) or y.ndim > 2 or y.size == 0:
        raise ValueError(
            f"y must have an entry, or a row, for each of the {n} rows of X; got shape {y.shape}"
        )
    weight = None
    if sample_weight is not None:
        weight = validation.check_weights(sample_weight, n, np.dtype(np.float64))
        Z, y, weight = Z[weight > 0], y[weight > 0], weight[weight > 0]
        weight = weight / weight.mean()
    target, q, classification = _targets(y, task, weight)
    Z, kept = _standardize(Z, weight, standardize)
    weight = None if weight is None else weight.astype(Z.dtype)
    target = target if classification else target.astype(Z.dtype)
    return PreparedData(
        X=Z,
        y=target,
        weight=weight,
        q=q,
        classification=classification,
        k=min(wanted, len(kept)),
        requested=wanted,
        kept=kept,
        d=d,
        names=names,
    )


class Baseline(Protocol):
    def __call__(self, X: Any, y: Any, k: int, *, rng: Any = 0, **options: Any) -> FeatureRanking: ...


def baseline(name: str) -> Callable[[Callable[..., FeatureRanking]], Baseline]:
    """Make a method of a function of prepared data that has options of its own, and `rng` if it is random.

    name : the name of the method in a ranking without scores, which it gives if all columns are constant.
    """

    def decorate(rank: Callable[..., FeatureRanking]) -> Baseline:
        is_random = "rng" in inspect.signature(rank).parameters

        def method(
            X: Any,
            y: Any,
            k: int,
            *,
            task: Task | None = None,
            standardize: bool = False,
            rng: Any = 0,
            sample_weight: ArrayLike | None = None,
            **options: Any,
        ) -> FeatureRanking:
            data = prepare(X, y, k, task, sample_weight, standardize)
            if not data.k:
                return data.ranking(name, [], np.zeros(0))
            return rank(data, **options, **({"rng": rng} if is_random else {}))

        return take_options(method, rank)

    return decorate


class Training(NamedTuple):
    """The training of a method: the hidden widths, the plan, a generator seeded by `rng`, and `rng`."""

    hidden: Sequence[int]
    plan: Plan
    generator: torch.Generator
    rng: Any


def network_baseline(
    name: str, *, epochs: int, batch_size: int | None = 256, learning_rate: float = 1e-3
) -> Callable[[Callable[..., FeatureRanking]], Baseline]:
    """Make a method of a function of prepared data and a `Training`, which runs with PyTorch seeded by `rng`.

    epochs, batch_size, learning_rate : the defaults of these arguments of the method.
    """

    def decorate(rank: Callable[..., FeatureRanking]) -> Baseline:
        def train(
            data: PreparedData,
            *,
            hidden: Sequence[int] = (67,),
            epochs: int = epochs,
            batch_size: int | None = batch_size,
            learning_rate: float = learning_rate,
            rng: Any = 0,
            **options: Any,
        ) -> FeatureRanking:
            plan = make_plan(epochs, batch_size, learning_rate)
            with seeded(rng) as generator:
                return rank(data, Training(hidden, plan, generator, rng), **options)

        return baseline(name)(take_options(train, rank))

    return decorate


def _standardize(X: Any, weight: FloatArray | None, standardize: bool) -> tuple[FloatArray, IndexArray]:
    """Return the columns that are not constant, centred (and scaled) in float64, and their indices."""
    kept = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    Z = X[:, kept].astype(np.float64)
    largest = np.abs(Z).max(axis=0, initial=0)
    # scale by powers of two so that squares neither vanish nor overflow
    scale = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1])
    Z /= scale
    Z -= _mean(Z, weight)
    if standardize:
        Z /= np.sqrt(_mean(Z**2, weight))
    else:
        Z *= scale
    return np.ascontiguousarray(Z, X.dtype), kept


def _mean(Z: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the mean (1/n)Σ ω_i z_i of the rows z_i of Z, with the weights ω."""
    return np.asarray(Z.mean(axis=0) if weight is None else weight @ Z / len(Z))


def _targets(y: Any, task: Task | None, weight: FloatArray | None) -> tuple[Any, int, bool]:
    """Return class numbers (n,) or standardized numbers (n, q); q; and whether they are classes."""
    if task is None:
        task = "regression" if y.dtype.kind == "f" else "classification"
    validation.check_choice(task, "task", get_args(Task))
    if task == "regression":
        y = _standard_outputs(validation.to_numeric(y, "y"), weight)
        return y, y.shape[1], False
    if y.ndim == 2 and y.shape[1] != 1:
        raise ValueError(f"y must be labels (n,) for classification; got shape {y.shape}")
    y = y.reshape(len(y))
    if y.dtype.kind == "f":
        validation.check_finite(y, "y")
    elif y.dtype.kind == "O" and any(label is None or label != label for label in y):
        raise ValueError("y must have a label in each row; some labels are None or NaN. Drop their rows")
    classes, number = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes; got only {classes[0]!r}")
    return number.astype(np.int64), len(classes), True


def _standard_outputs(y: Any, weight: FloatArray | None) -> Any:
    """Return y as (n, q) numbers of mean 0 and, unless all rows are equal, total variance q."""
    validation.check_finite(y, "y")
    y = y.reshape(len(y), -1).astype(np.float64)
    y = y - _mean(y, weight)
    largest = np.abs(y).max()
    if largest == 0:
        return y
    y = y / largest
    return y * np.sqrt(y.shape[1] / _mean(y**2, weight).sum())
