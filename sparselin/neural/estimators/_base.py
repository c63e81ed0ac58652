"""The base of the network estimators: conversion to tensors and back, classes, weights, prediction.

A network is trained on a device, in float32 unless `dtype` says otherwise. A fitted estimator returns NumPy
arrays only.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import math
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from sparselin.estimators._common import (
    FeatureSelector,
    MaskArray,
    names_of,
    validate,
    validate_columns,
    without_weightless,
)
from sparselin.neural.networks import mlp, widths_of
from sparselin.neural.settings import check_choice
from sparselin.neural.training import Loss, Rows, as_device, as_loss
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray, Names, Status

_ROWS_AT_ONCE = 65_536

# the targets in the form that the loss takes, the weights of the rows, and the number of outputs
Targets = tuple[FloatArray | IndexArray, FloatArray | None, int]


class NetworkTask(NamedTuple):
    """The input of a selection method, as tensors.

    validation : (X, y, weight) of the validation rows, or None.
    used : (N,) whether each of the N rows that the caller passed has a weight above zero; None if all have.
    """

    rows: Rows
    n_outputs: int
    loss: Loss
    seed: int
    names: Names
    validation: tuple[Any, ...] | None = None
    used: MaskArray | None = None

    @property
    def n_features(self) -> int:
        return int(self.rows.X.shape[1])


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(FeatureSelector, BaseEstimator, metaclass=abc.ABCMeta):  # type: ignore[misc]
    """An estimator that selects features with a network and predicts from them."""

    network: Any = None
    dropout: float = 0.0
    loss: Any = None
    groups: Any = None
    device: Any = None
    dtype: str = "float32"
    random_state: Any = None

    _default_loss = "squared"
    _several = False
    # whether the network reads the selected features only
    _narrow = True

    @abc.abstractmethod
    def _fit(self, task: NetworkTask) -> nn.Module:
        """Set `path_` and `selected_`, and return the network that predicts from the selected features."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select features and train the network.

        Parameters
        ----------
        X : (n, d) array or frame. Scale its columns first (`sklearn.preprocessing.StandardScaler`).
        y : class labels (n,), or for regression numbers (n,) or (n, q).
        sample_weight : (n,) weights ≥ 0 of the losses of the rows. Only their ratios matter, and rows of
            weight 0 are as if removed.

        Raises
        ------
        ValueError : the data or parameters are invalid.
        NonFiniteLoss : the training diverged (`sparselin.neural.NonFiniteLoss`, an ArithmeticError).
        """
        self.network_ = self._fit(self._task(X, y, sample_weight)).eval()
        self.n_features_ = len(self.selected_)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags

    def _keep_path(self, path: Any) -> None:
        """Store the path. If Ctrl-C ended it, raise KeyboardInterrupt again: there is no model to return."""
        self.path_ = path
        if path.status is Status.STOPPED:
            raise KeyboardInterrupt

    def _new_network(self, task: NetworkTask, n_features: int) -> nn.Module:
        """Return a new network: made by the user's function, or a perceptron with the given widths."""
        if self.network is not None:
            return self._network_of_user(task, n_features)
        hidden = widths_of(self.hidden_layer_sizes, "hidden_layer_sizes")
        network = mlp(n_features, hidden, task.n_outputs, dropout=self.dropout, dtype=task.rows.X.dtype)
        return network.to(task.rows.X.device)

    def _network_of_user(self, task: NetworkTask, n_features: int) -> nn.Module:
        """Return the network that the function `network(n_features, n_outputs)` makes, after checking it.

        The network must read n_features features and give n_outputs outputs. With the user's own loss the
        number of outputs may differ.
        """
        if isinstance(self.network, nn.Module) or not callable(self.network):
            raise TypeError(
                "network must be a function that makes a torch.nn.Module from the numbers of features and of "
                "outputs, such as lambda d, q: mlp(d, [32], q) with mlp of sparselin.neural; "
                f"got {type(self.network).__name__}"
            )
        made = self.network(n_features, task.n_outputs)
        call = f"network({n_features}, {task.n_outputs})"
        if not isinstance(made, nn.Module):
            raise TypeError(f"network must be a function that makes a torch.nn.Module; it made {made!r}")
        made = made.to(task.rows.X)
        training = made.training
        try:
            with torch.no_grad():
                shape = tuple(made.eval()(task.rows.X.new_zeros(2, n_features)).shape)
        except RuntimeError as error:
            raise ValueError(f"{call} must read {n_features} features: {error}") from error
        if self.loss is None and shape != (2, task.n_outputs):
            expected = f"{call} must give {task.n_outputs} outputs for each row"
            raise ValueError(f"{expected}; for 2 rows its output has shape {shape}")
        return made.train(training)

    @abc.abstractmethod
    def _targets(self, y: Any, weight: FloatArray | None) -> Targets:
        """Return the targets in the form that the loss needs, the row weights, and the number of outputs."""

    def _task(self, X: Any, y: Any, sample_weight: Any) -> NetworkTask:
        check_choice(self.dtype, "dtype", ("float32", "float64"))
        X, y, sample_weight = validate(
            self,
            X,
            y,
            sample_weight,
            dtype=np.dtype(self.dtype),
            multi_output=self._several,
            ensure_min_samples=2,
            y_numeric=self._several,
        )
        if sample_weight is not None and not sample_weight.sum() > 0:
            raise ValueError("sample_weight must be positive for some row; all weights are zero")
        X, y, sample_weight, used = without_weightless(X, y, sample_weight)
        if len(X) < 2:
            raise ValueError("sample_weight must be positive for at least two rows; it is for one")
        y, weight, q = self._targets(y, sample_weight)
        tensor = functools.partial(torch.tensor, device=self._device())
        rows = Rows(tensor(X), tensor(y), None if weight is None else tensor(weight / weight.mean()))
        seed = self._seed_from_state()
        loss = as_loss(self._default_loss if self.loss is None else self.loss)
        return NetworkTask(rows=rows, n_outputs=q, loss=loss, seed=seed, names=names_of(self), used=used)

    def _seed_from_state(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(
                "random_state must be None, a seed in 0..2**32 − 1 or a numpy.random.RandomState; got "
                f"{self.random_state!r}"
            ) from error

    def _device(self) -> torch.device:
        """Return the device: by default the GPU if there is one, else the CPU."""
        if self.device is not None:
            return as_device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def _outputs(self, X: Any) -> Tensor:
        """Return the outputs (n, q) of the network."""
        check_is_fitted(self)
        X = validate_columns(self, X, dtype=np.dtype(self.dtype), reset=False)
        X = X[:, self.selected_] if self._narrow else X
        like = next(self.network_.parameters())
        with torch.no_grad():
            parts = (torch.tensor(X[i : i + _ROWS_AT_ONCE]) for i in range(0, len(X), _ROWS_AT_ONCE))
            return torch.cat([self.network_(part.to(like)).cpu() for part in parts])


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """A network estimator for classes, whose probabilities are the softmax of the outputs."""

    class_weight: Any = None

    _default_loss = "cross_entropy"

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities (n, classes): the softmax of the outputs."""
        return np.asarray(self._outputs(X).softmax(dim=1).numpy())

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms (n, classes) of the probabilities."""
        return np.asarray(self._outputs(X).log_softmax(dim=1).numpy())

    def predict(self, X: Any) -> Any:
        """Return the class (n,) of largest probability for each row."""
        best = self._outputs(X).argmax(dim=1).numpy()  # `_outputs` checks that the model is fitted
        return self.classes_[best]

    def _targets(self, y: Any, weight: FloatArray | None) -> Targets:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes; got only {self.classes_[0]!r}")
        if self.class_weight is not None:
            of_class = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=weight
            ).astype(self.dtype)
            if not np.isfinite(of_class).all() or of_class.min() < 0 or not of_class.any():
                raise ValueError(
                    f"class_weight must hold numbers ≥ 0, not all of them 0; got {self.class_weight!r}"
                )
            weight = of_class[codes] if weight is None else weight * of_class[codes]
        return codes, weight, len(self.classes_)


class NetworkRegressor(MultiOutputMixin, RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """A network estimator for numbers: one or q targets for each row.

    The network is trained on targets scaled to mean 0 and total variance q. The means, the scale and the
    predictions are in float64 for every `dtype`, so y may be far from 0, huge or tiny.
    """

    _several = True

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions, (n,) or (n, q) like the y of `fit`."""
        outputs: FloatArray = self._outputs(X).numpy() * np.float64(self._scale) + self._mean
        return outputs[:, 0] if self._single else outputs

    def _targets(self, y: Any, weight: FloatArray | None) -> Targets:
        self._single = y.ndim == 1
        y = np.asarray(y, float).reshape(len(y), -1)
        largest = float(np.abs(y).max()) or 1.0
        y = y / largest
        mean = np.average(y, axis=0, weights=weight)
        y = y - mean
        spread = math.sqrt(np.average(np.square(y), axis=0, weights=weight).mean())
        spread = spread if spread > 16 * EPS else 0.0  # a constant target is predicted exactly
        self._mean, self._scale = largest * mean, largest * spread
        return (y / (spread or 1.0)).astype(self.dtype), weight, y.shape[1]
