"""LassoNet as estimators."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted
from torch import nn

from sparselin.estimators._network import (
    Fitted,
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    NetworkTask,
    network_for,
    unless_stopped,
)
from sparselin.neural.lassonet import lassonet_path, network_at
from sparselin.neural.networks import SkipNetwork
from sparselin.neural.refit import constant, refit
from sparselin.neural.training import Rows, seeded
from sparselin.results import IndexArray, LassoNetPath
from sparselin.validation import check_count, check_flag, check_real


class _LassoNet(NetworkEstimator):
    """A path, the choice of a row, and the network that predicts."""

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        hidden_layer_sizes: Any = (100,),
        network: Any = None,
        dropout: float = 0.0,
        loss: Any = None,
        M: float = 10.0,
        lams: Any = None,
        lam_start: float | str = "auto",
        growth: float = 1.02,
        groups: Any = None,
        l2: float = 0.0,
        batch_size: int | None = None,
        learning_rate: Any = 1e-3,
        momentum: float = 0.9,
        epochs: Any = (1000, 200),
        patience: Any = (100, 10),
        tol: float = 0.997,
        backtrack: bool = False,
        validation_fraction: float = 0.1,
        refit: bool = True,
        device: Any = None,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.hidden_layer_sizes = hidden_layer_sizes
        self.network = network
        self.dropout = dropout
        self.loss = loss
        self.M = M
        self.lams = lams
        self.lam_start = lam_start
        self.growth = growth
        self.groups = groups
        self.l2 = l2
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.epochs = epochs
        self.patience = patience
        self.tol = tol
        self.backtrack = backtrack
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def at(self, k: int) -> Self:
        """The fitted estimator with the first row that has at most k features, without fitting again.

        A copy that shares the path. ValueError with `refit`, which keeps no networks, or for a k below what
        the path has.
        """
        check_is_fitted(self)
        if self.refit:
            raise ValueError("at needs the networks of the path, which refit=False keeps")
        least = int(self.path_.n_selected.min())
        row = int(np.argmax(self.path_.n_selected <= check_count(k, "k", least, self.n_features_in_)))
        other = copy.copy(self)
        other._choose(row, self._features_of(row))
        other.network_ = network_at(self.network_, self.path_, row)
        return other

    def _fit(self, task: NetworkTask) -> Fitted:
        check_flag(self.refit, "refit")
        with seeded(task.seed):
            network = self._network(task)
        rows, validation = self._split(task)
        self._path_and_row(task, network, rows, validation)
        chosen = self.selected_
        if not self.refit:
            return Fitted(chosen, network_at(network, self.path_, self.row_), False, self.path_)
        return Fitted(chosen, self._retrained(task, network, rows, validation), True, self.path_)

    def _path_and_row(
        self, task: NetworkTask, network: nn.Module, rows: Rows, validation: Rows | None
    ) -> None:
        given = self.n_features_to_select
        if isinstance(given, str):
            if given != "auto":
                raise ValueError(f'n_features_to_select must be a number, a share or "auto"; got {given!r}')
            if validation is None:
                raise ValueError('n_features_to_select="auto" needs validation_fraction > 0')
        k = 0 if isinstance(given, str) else self._number_to_select(task.n_features)
        self.path_ = self._path(task, network, rows, validation, k=k)
        unless_stopped(self.path_)
        if isinstance(given, str):
            losses = self.path_.validation_loss
            row = int(np.flatnonzero(losses == losses.min())[-1])
            self._choose(row, self._features_of(row))
        elif self.refit:
            self._choose(self.path_.row_at(k), self.path_.leading(k))
        else:
            row = len(self.path_) - 1
            self._choose(row, self._features_of(row))
            self._warn_of_number(k)

    def _warn_of_number(self, k: int) -> None:
        """Of more than k features, where `lams` ended above, and of none."""
        before, left = [0, *self.path_.n_selected.tolist()][-2:]
        if left > k:
            warnings.warn(
                f"the path ends with {left} features, more than {k}: give larger lams, or none", stacklevel=6
            )
        elif not left:
            warnings.warn(
                f"the path goes from {before} features to none at once, and the network predicts a constant, "
                f"where {k} were asked for: a growth nearer to 1, another learning_rate, or refit=True, "
                "which takes the last to leave",
                stacklevel=6,
            )

    def _choose(self, row: int, selected: IndexArray) -> None:
        self.row_, self.lam_ = row, float(self.path_.lam[row])
        self.selected_, self.n_features_ = selected, len(selected)
        self.feature_importances_ = self.path_.importances

    def _features_of(self, row: int) -> IndexArray:
        """The features of a row, the most important first."""
        ranking = self.path_.ranking()
        return np.asarray(ranking[self.path_.mask[row][ranking]])

    def _network(self, task: NetworkTask) -> SkipNetwork:
        inner = network_for(task, task.n_features, self)
        return SkipNetwork(inner, task.n_features, task.n_outputs)

    def _path(
        self, task: NetworkTask, network: nn.Module, rows: Rows, validation: Rows | None, **given: Any
    ) -> LassoNetPath:
        options = {"lams": self.lams, **given}
        return lassonet_path(
            network, rows.X, rows.y, loss=task.loss, lam_start=self.lam_start, growth=self.growth, M=self.M,
            groups=self.groups, l2=self.l2, batch_size=self.batch_size, learning_rate=self.learning_rate,
            momentum=self.momentum, epochs=self.epochs, patience=self.patience, tol=self.tol,
            backtrack=self.backtrack, sample_weight=rows.weight, names=task.names, rng=task.seed,
            validation=_triple(validation),
            keep="support" if self.refit else "states", **options,
        )  # fmt: skip

    def _retrained(
        self, task: NetworkTask, network: nn.Module, rows: Rows, validation: Rows | None
    ) -> nn.Module:
        """A network of the selected features; of the best epoch, where there are rows for validation."""
        if not self.n_features_:
            return constant(task.rows, task.n_outputs, task.loss)
        rate, epochs, patience = (
            value[0] if isinstance(value, (tuple, list)) else value
            for value in (self.learning_rate, self.epochs, self.patience)
        )
        return refit(
            network, rows.X, rows.y, self.selected_.tolist(), loss=task.loss, learning_rate=rate,
            epochs=epochs, patience=patience, tol=self.tol, batch_size=self.batch_size,
            sample_weight=rows.weight, l2=self.l2, rng=task.seed, validation=_triple(validation),
            backtrack=self.backtrack or validation is not None,
        )  # fmt: skip

    def _split(self, task: NetworkTask) -> tuple[Rows, Rows | None]:
        """The rows for training, and those for validation; both have all classes where that can be."""
        share = check_real(self.validation_fraction, "validation_fraction")
        if not 0 <= share < 1:
            raise ValueError(f"validation_fraction must be in [0, 1); got {share}")
        if share == 0:
            return task.rows, None
        labels = task.rows.y.cpu().numpy() if hasattr(self, "class_weight") else None
        apart: list[Any] = []
        for stratify in (labels, None):
            try:
                apart = train_test_split(
                    np.arange(len(task.rows)), test_size=share, random_state=task.seed, stratify=stratify
                )
                break
            except ValueError:
                if stratify is None:
                    raise
        return task.rows.at(apart[0]), task.rows.at(apart[1])


def _triple(rows: Rows | None) -> tuple[Any, ...] | None:
    return None if rows is None else (rows.X, rows.y, rows.weight)


class LassoNetClassifier(NetworkClassifier, _LassoNet):
    """LassoNet: a network with a skip connection θ that classifies by few features.

    A path of networks from all features to none: at each λ training minimises

        L(θ, W, rest) + λΣ‖θ_j‖₂    subject to    ‖W_j‖∞ ≤ M‖θ_j‖₂,

    W_j the weights of feature j in the first layer, so that a feature with θ_j = 0 has no part in the network
    (*LassoNet: A Neural Network with Feature Sparsity*, JMLR 22(127), 2021). Scale the columns of X first.

    Parameters
    ----------
    n_features_to_select : k, a share of the features, or "auto": the row of the path of least validation
        loss, of equal ones the sparsest.
    hidden_layer_sizes : widths of the hidden layers, with ReLU.
    network : a function of the numbers of features and outputs that makes a network, in place of these; its
        first layer with parameters is linear. The skip connection is added to it.
    dropout : its probability, after each hidden layer.
    loss : "cross_entropy" by default; a PyTorch loss, or a function of outputs and classes to (n,).
    M, lams, lam_start, growth, groups, l2, batch_size, learning_rate, momentum, epochs, patience, tol,
        backtrack : as in `sparselin.neural.lassonet_path`.
    validation_fraction : the share of the rows that decides about stopping and, by "auto", the row; 0: the
        training rows decide about stopping.
    refit : whether the network that predicts is trained again on the selected features, without penalty.
        Without, it is the network of the row, which has at most k features (λ need not meet k), and `at`
        gives others. A group is never parted: with `groups` there may be fewer than k.
    class_weight : None, "balanced", or a dict of the weights of classes.
    device : "cpu", "cuda", …; by default a GPU where there is one.
    dtype : "float32" or "float64", of all computations.
    random_state : a seed for the same result each time, on the CPU; None for a new one.

    Attributes
    ----------
    path_ : LassoNetPath, from all features to few.
    row_, lam_ : the row of the path that was chosen, and its λ.
    selected_ : (k,) the features, the most important first; `n_features_` is k.
    feature_importances_ : (d,) the λ at which each feature leaves the path for the last time; ∞ for those
        that it ends with.
    network_ : the network that predicts.
    classes_ : the classes.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LassoNetClassifier(2, hidden_layer_sizes=(9,), growth=1.2, learning_rate=0.01, random_state=0)
    >>> model.fit(scale(X), y).selected_.tolist(), model.score(scale(X), y) > 0.9
    ([3, 2], True)
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = "auto",
        *,
        hidden_layer_sizes: Any = (100,),
        network: Any = None,
        dropout: float = 0.0,
        loss: Any = None,
        M: float = 10.0,
        lams: Any = None,
        lam_start: float | str = "auto",
        growth: float = 1.02,
        groups: Any = None,
        l2: float = 0.0,
        batch_size: int | None = None,
        learning_rate: Any = 1e-3,
        momentum: float = 0.9,
        epochs: Any = (1000, 200),
        patience: Any = (100, 10),
        tol: float = 0.997,
        backtrack: bool = False,
        validation_fraction: float = 0.1,
        refit: bool = True,
        class_weight: Any = None,
        device: Any = None,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select, hidden_layer_sizes=hidden_layer_sizes, network=network,
            dropout=dropout, loss=loss, M=M, lams=lams, lam_start=lam_start, growth=growth,
            groups=groups, l2=l2, batch_size=batch_size, learning_rate=learning_rate, momentum=momentum,
            epochs=epochs, patience=patience, tol=tol, backtrack=backtrack,
            validation_fraction=validation_fraction, refit=refit, device=device, dtype=dtype,
            random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight


class LassoNetRegressor(NetworkRegressor, _LassoNet):
    """LassoNet for numbers; see `LassoNetClassifier`.

    y is scaled to mean 0 and total variance q within, q its number of columns: λ and the losses of `path_`
    are those of the scaled y. Predictions are scaled back.

    Parameters
    ----------
    n_features_to_select : k, a share of the features, or "auto": the row of the path of least validation
        loss, of equal ones the sparsest.
    hidden_layer_sizes : widths of the hidden layers, with ReLU.
    network : a function of the numbers of features and outputs that makes a network, in place of these; its
        first layer with parameters is linear. The skip connection is added to it.
    dropout : its probability, after each hidden layer.
    loss : "squared" by default, ½‖f(x) − y‖²; a PyTorch loss, or a function of outputs and targets to (n,).
    M, lams, lam_start, growth, groups, l2, batch_size, learning_rate, momentum, epochs, patience, tol,
        backtrack : as in `sparselin.neural.lassonet_path`.
    validation_fraction : the share of the rows that decides about stopping and, by "auto", the row; 0: the
        training rows decide about stopping.
    refit : whether the network that predicts is trained again on the selected features, without penalty.
        Without, it is the network of the row, which has at most k features (λ need not meet k), and `at`
        gives others. A group is never parted: with `groups` there may be fewer than k.
    device : "cpu", "cuda", …; by default a GPU where there is one.
    dtype : "float32" or "float64", of all computations.
    random_state : a seed for the same result each time, on the CPU; None for a new one.

    Attributes
    ----------
    path_ : LassoNetPath, from all features to few.
    row_, lam_ : the row of the path that was chosen, and its λ.
    selected_ : (k,) the features, the most important first; `n_features_` is k.
    feature_importances_ : (d,) the λ at which each feature leaves the path for the last time; ∞ for those
        that it ends with.
    network_ : the network that predicts.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(3, hidden_layer_sizes=(10,), growth=1.2, learning_rate=1e-2, random_state=0)
    >>> sorted(model.fit(scale(X), y).selected_.tolist()), model.score(scale(X), y) > 0.4
    ([2, 3, 8], True)
    """
