"""The scikit-learn estimators of LassoNet.

λ is chosen by the number of features, by the validation loss, or by cross-validation.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import reprlib
import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv, train_test_split
from sklearn.utils.validation import check_is_fitted
from torch import nn

from sparselin.estimators._common import number_to_select
from sparselin.estimators._folds import MaskArray, refers_to_all_rows, translate_folds
from sparselin.neural.estimators._base import (
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    NetworkTask,
)
from sparselin.neural.lassonet import constant_network, lassonet_path, network_at, refit
from sparselin.neural.networks import SkipNetwork
from sparselin.neural.results import LassoNetPath
from sparselin.neural.settings import LassoNetSettings
from sparselin.neural.training import seeded
from sparselin.problem.argument_names import suggest_parameters
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.validation import check_count, check_flag, check_real


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _LassoNet(NetworkEstimator):
    """An estimator that trains a path of networks and chooses one row of it, that is, one λ."""

    hidden_layer_sizes: Any = (100,)
    M: float = 10.0
    lams: Any = None
    lam_start: float | str = "auto"
    growth: float = 1.02
    l2: float = 0.0
    batch_size: int | None = None
    learning_rate: Any = 1e-3
    momentum: float = 0.9
    epochs: Any = (1000, 200)
    patience: Any = (100, 10)
    tol: float = 0.997
    backtrack: bool = False
    refit: bool = True

    def at(self, k: int) -> Self:
        """Return the fitted estimator for the first row of the path with at most k features.

        Nothing is fitted again: the result is a copy that shares the path. Raises ValueError if no row has so
        few features, or if `refit` is True, because then the path keeps no networks.
        """
        check_is_fitted(self)
        if self.refit:
            raise ValueError("at needs the networks of the path, which are kept only with refit=False")
        least = int(self.path_.n_selected.min())
        row = int(np.argmax(self.path_.n_selected <= check_count(k, "k", least, self.n_features_in_)))
        other = copy.copy(self)
        other._choose(row)
        other.network_ = network_at(self.network_, self.path_, row)
        return other

    def _fit(self, task: NetworkTask) -> nn.Module:
        self._narrow = check_flag(self.refit, "refit")
        with seeded(task.seed):
            inner = self._new_network(task, task.n_features)
            network = SkipNetwork(inner, task.n_features, task.n_outputs)
        split = self._split(task)
        self._path_and_row(split, network)
        if not self.refit:
            return network_at(network, self.path_, self.row_)
        if self.n_features_:
            return self._retrain(split, network)
        return constant_network(task.rows, task.n_outputs, task.loss)

    def _choose(self, row: int, selected: IndexArray | None = None) -> None:
        """Choose a row of the path, and set the attributes of the estimator that belong to it.

        selected : the selected features; by default all features of the row, the most important first.
        """
        self.row_ = row
        self.lam_ = float(self.path_.lam[row])
        if selected is None:
            ranking = self.path_.ranking()
            selected = ranking[self.path_.mask[row][ranking]]
        self.selected_ = np.asarray(selected)
        self.n_features_ = len(self.selected_)
        self.feature_importances_ = self.path_.importances

    def _path(
        self, task: NetworkTask, network: nn.Module, stop_on: str = "validation", **options: Any
    ) -> LassoNetPath:
        """Train the path on the rows of the task."""
        rows = task.rows
        options = {"lams": self.lams, **options}
        return lassonet_path(
            network,
            rows.X,
            rows.y,
            loss=task.loss,
            M=self.M,
            groups=self.groups,
            validation=task.validation,
            sample_weight=rows.weight,
            settings=self._settings(stop_on),
            rng=task.seed,
            names=task.names,
            keep="support" if self.refit else "states",
            **options,
        )

    def _settings(self, stop_on: str = "validation") -> LassoNetSettings:
        """Return the settings of the training, taken from the parameters with the same names."""
        names = {field.name for field in dataclasses.fields(LassoNetSettings)} & self.get_params().keys()
        return LassoNetSettings(stop_on=stop_on, **{name: getattr(self, name) for name in names})

    def _retrain(self, task: NetworkTask, network: nn.Module) -> nn.Module:
        """Train a network on the selected features. If there are validation rows, keep the best epoch."""
        rows = task.rows
        backtrack = self.backtrack or task.validation is not None
        return refit(
            network,
            rows.X,
            rows.y,
            self.selected_.tolist(),
            loss=task.loss,
            validation=task.validation,
            sample_weight=rows.weight,
            rng=task.seed,
            settings=dataclasses.replace(self._settings(), backtrack=backtrack),
        )

    def _split(self, task: NetworkTask) -> NetworkTask:
        """Return the task with its rows split into training and validation rows."""
        return task

    @abc.abstractmethod
    def _path_and_row(self, task: NetworkTask, network: nn.Module) -> None:
        """Train the path, and choose a row of it."""


def _hold_out(task: NetworkTask, train: IndexArray, test: IndexArray) -> NetworkTask:
    """Return the task with the rows `train` for training and the rows `test` for validation."""
    out = task.rows.at(test)
    return task._replace(rows=task.rows.at(train), validation=(out.X, out.y, out.weight))


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _LassoNetByNumber(_LassoNet):
    """An estimator that chooses the row of the path by the number of features or by the validation loss."""

    n_features_to_select: int | float | str = dataclasses.field(default="auto", kw_only=False)
    validation_fraction: float = 0.1

    def _path_and_row(self, task: NetworkTask, network: nn.Module) -> None:
        given = self.n_features_to_select
        if isinstance(given, str):
            if given != "auto":
                raise ValueError(f'n_features_to_select must be an integer, a share or "auto"; got {given!r}')
            if task.validation is None:
                raise ValueError('n_features_to_select="auto" needs validation_fraction > 0')
        k = 0 if isinstance(given, str) else number_to_select(given, task.n_features)
        self._keep_path(self._path(task, network, k=k))
        if isinstance(given, str):
            losses = self.path_.validation_loss
            self._choose(int(np.flatnonzero(losses == losses.min())[-1]))
        elif self.refit:
            self._choose(self.path_.row_at(k), self.path_.leading(k))
        else:
            self._choose(len(self.path_) - 1)
            self._warn_of_number(k)

    def _warn_of_number(self, k: int) -> None:
        """Warn if the last row of the path has more than k features, or if the selection is empty.

        The last row has too many features if `lams` ended too early.
        """
        before, left = [0, *self.path_.n_selected.tolist()][-2:]
        if 0 < left <= k:
            return
        message = f"the path ends with {left} features, more than {k}; pass larger lams, or lams=None"
        if not left:
            message = (
                f"the path goes from {before} features to none at once, so the network predicts a constant "
                f"although {k} features were requested. Try a growth nearer to 1, another learning_rate, or "
                "refit=True, which selects the features that leave last"
            )
        warnings.warn(message, stacklevel=6)

    def _split(self, task: NetworkTask) -> NetworkTask:
        """Hold rows out for validation. If possible, both parts have all classes."""
        share = check_real(self.validation_fraction, "validation_fraction", lambda x: 0 <= x < 1, "in [0, 1)")
        if share == 0:
            return task
        labels = task.rows.y.cpu().numpy() if hasattr(self, "class_weight") else None
        split = partial(train_test_split, np.arange(len(task.rows)), test_size=share, random_state=task.seed)
        try:
            train, test = split(stratify=labels)
        except ValueError:
            train, test = split()
        return _hold_out(task, train, test)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _LassoNetCV(_LassoNet):
    """An estimator that chooses the row of the path by cross-validation.

    All folds use the same values of λ.
    """

    cv: Any = 5
    one_standard_error: bool = False

    def _path_and_row(self, task: NetworkTask, network: nn.Module) -> None:
        folds = self._folds(task.rows.y.cpu().numpy(), task.used)
        if check_flag(self.one_standard_error, "one_standard_error") and len(folds) < 2:
            raise ValueError(f"one_standard_error needs at least 2 folds; cv has {len(folds)}")
        self._keep_path(self._path(task, network, k=0))
        fold_losses = [self._losses(_hold_out(task, *fold), network) for fold in folds]
        losses = self.validation_losses_ = np.column_stack(fold_losses)
        mean = losses.mean(axis=1)
        bound = mean.min()
        if self.one_standard_error:
            bound += losses[mean.argmin()].std(ddof=1) / np.sqrt(len(folds))
        self._choose(int(np.flatnonzero(mean <= bound)[-1]))

    def _folds(self, y: Any, used: MaskArray | None) -> list[Any]:
        """Return the training and test rows of each fold; raise ValueError for an invalid `cv`.

        A splitter splits the rows of positive weight. Given pairs of indices refer to all rows, and are
        translated (`translate_folds`).
        """
        try:
            cv = check_cv(self.cv, y, classifier=hasattr(self, "class_weight"))
            passed = used if refers_to_all_rows(cv) else None
            n = len(y) if passed is None else len(passed)
            folds = list(cv.split(np.empty((n, 0)), y if passed is None else None))
            sides = [np.arange(n)[rows] for fold in folds for rows in fold]
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                f"cv must be a number of folds, a splitter of scikit-learn or pairs of row indices; got "
                f"{reprlib.repr(self.cv)}: {error}"
            ) from error
        if not sides or not all(map(len, sides)):
            raise ValueError(f"cv must have training and test rows in each fold; got {reprlib.repr(self.cv)}")
        return folds if passed is None else translate_folds(folds, passed)

    def _losses(self, fold: NetworkTask, network: nn.Module) -> FloatArray:
        """Return the mean loss (L,) on the test rows of a fold at each λ.

        If the path of the fold is shorter, its last network, which has no features, is used for the remaining
        λ.
        """
        path = self._path(fold, network, lams=self.path_.lam[1:], stop_on="training")
        if path.status is Status.STOPPED:
            raise KeyboardInterrupt
        return np.pad(path.validation_loss, (0, len(self.path_) - len(path)), mode="edge")


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LassoNetClassifier(NetworkClassifier, _LassoNetByNumber):
    """LassoNet: a network with a skip connection θ that classifies with few features.

    LassoNet trains a path of networks, from all features to none, with a row for each λ. At each λ, training
    minimises

        L(θ, W, rest) + λΣ‖θ_j‖₂    subject to    ‖W_j‖∞ ≤ M‖θ_j‖₂.

    Here L is the training loss, and θ_j and W_j are the weights of feature j in the skip connection and in
    the first layer. So a feature with θ_j = 0 has no effect on the network (*LassoNet: A Neural Network with
    Feature Sparsity*, JMLR 22(127), 2021). Scale the columns of X first.

    Parameters
    ----------
    n_features_to_select : the number k of features, a fraction of all features, or "auto". With "auto" the
        row (the λ) of the path with the least validation loss is chosen; if several rows have this loss, the
        sparsest of them.
    hidden_layer_sizes : the widths of the hidden layers, which have ReLU.
    network : a function of the numbers of features and outputs that makes a network, in place of a perceptron
        with hidden layers. Its first layer with parameters must be linear. The skip connection is added.
    dropout : the dropout probability after each hidden layer.
    loss : "cross_entropy" by default; or a PyTorch loss, or a function that maps outputs and classes to (n,).
    M, lams, lam_start, growth, groups, l2, batch_size, learning_rate, momentum, epochs, patience, tol,
        backtrack : as in `sparselin.neural.lassonet_path`.
    validation_fraction : the share of the samples, the rows of X, that is held out. The loss on these samples
        decides when training stops and, with "auto", which λ of the path is chosen. With 0 the training loss
        decides when training stops.
    refit : whether a new network is trained on the selected features, without penalty, and predicts. If not,
        the network of the chosen row predicts, and `at` returns estimators for other k. This network can have
        fewer than k features, because there may be no λ of the path with exactly k. A group is never split,
        so with `groups` there may be fewer than k features in both cases.
    class_weight : None, "balanced", or a dict with the weight of each class.
    device : "cpu", "cuda", …; by default the GPU if there is one.
    dtype : "float32" or "float64", the precision of all computations.
    random_state : a seed, which makes the result reproducible on the CPU; None: a new seed for each fit.

    Attributes
    ----------
    path_ : the `LassoNetPath`, from all features to few.
    row_, lam_ : the chosen row of the path, and its λ.
    selected_ : (k,) the selected features, the most important first; `n_features_` is k.
    feature_importances_ : (d,) the λ at which each feature leaves the path for the last time; ∞ for the
        features that remain at the end.
    network_ : the network that predicts.
    classes_ : the class labels in order.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LassoNetClassifier(2, hidden_layer_sizes=(9,), growth=1.2, learning_rate=0.01, random_state=0)
    >>> model.fit(scale(X), y).selected_.tolist(), model.score(scale(X), y) > 0.9
    ([3, 2], True)
    """


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LassoNetRegressor(NetworkRegressor, _LassoNetByNumber):
    """LassoNet for regression: a network that predicts numbers from few features; see `LassoNetClassifier`.

    Internally y is scaled to mean 0 and total variance q, where q is its number of columns. λ and the losses
    of `path_` refer to the scaled y. Predictions are scaled back.

    Parameters
    ----------
    n_features_to_select : the number k of features, a fraction of all features, or "auto". With "auto" the
        row (the λ) of the path with the least validation loss is chosen; if several rows have this loss, the
        sparsest of them.
    hidden_layer_sizes : the widths of the hidden layers, which have ReLU.
    network : a function of the numbers of features and outputs that makes a network, in place of a perceptron
        with hidden layers. Its first layer with parameters must be linear. The skip connection is added.
    dropout : the dropout probability after each hidden layer.
    loss : "squared" by default, ½‖f(x) − y‖²; or a PyTorch loss, or a function that maps outputs and targets
        to (n,).
    M, lams, lam_start, growth, groups, l2, batch_size, learning_rate, momentum, epochs, patience, tol,
        backtrack : as in `sparselin.neural.lassonet_path`.
    validation_fraction : the share of the samples, the rows of X, that is held out. The loss on these samples
        decides when training stops and, with "auto", which λ of the path is chosen. With 0 the training loss
        decides when training stops.
    refit : whether a new network is trained on the selected features, without penalty, and predicts. If not,
        the network of the chosen row predicts, and `at` returns estimators for other k. This network can have
        fewer than k features, because there may be no λ of the path with exactly k. A group is never split,
        so with `groups` there may be fewer than k features in both cases.
    device : "cpu", "cuda", …; by default the GPU if there is one.
    dtype : "float32" or "float64", the precision of all computations.
    random_state : a seed, which makes the result reproducible on the CPU; None: a new seed for each fit.

    Attributes
    ----------
    path_ : the `LassoNetPath`, from all features to few.
    row_, lam_ : the chosen row of the path, and its λ.
    selected_ : (k,) the selected features, the most important first; `n_features_` is k.
    feature_importances_ : (d,) the λ at which each feature leaves the path for the last time; ∞ for the
        features that remain at the end.
    network_ : the network that predicts.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoNetRegressor(3, hidden_layer_sizes=(10,), growth=1.2, learning_rate=1e-2, random_state=0)
    >>> sorted(model.fit(scale(X), y).selected_.tolist()), model.score(scale(X), y) > 0.4
    ([2, 3, 8], True)
    """


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LassoNetClassifierCV(NetworkClassifier, _LassoNetCV):
    """A `LassoNetClassifier` whose λ is chosen by cross-validation.

    The path on all rows determines the values of λ. In each fold a path with the same λ is trained without
    the test rows. The mean losses on the test rows are averaged over the folds at each λ. The test rows do
    not influence when training stops.

    Parameters
    ----------
    cv : the number of folds, a splitter of scikit-learn, or pairs of row indices.
    one_standard_error : whether to choose the λ of the sparsest network of the path whose mean loss is within
        one standard error of the least mean loss. If not, the λ with the least mean loss is chosen.
    hidden_layer_sizes, network, dropout, loss, M, lams, lam_start, growth, groups, l2, batch_size,
        learning_rate, momentum, epochs, patience, tol, backtrack, refit, class_weight, device, dtype,
        random_state : as in `LassoNetClassifier`.

    Attributes
    ----------
    validation_losses_ : (L, folds) the mean loss on the test rows of each fold, for each row of the path.
    The other attributes are those of `LassoNetClassifier`.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> options = {"hidden_layer_sizes": (9,), "growth": 1.5, "learning_rate": 0.01, "random_state": 0}
    >>> model = LassoNetClassifierCV(cv=2, one_standard_error=True, **options).fit(scale(X), y)
    >>> model.validation_losses_.shape == (len(model.path_), 2), model.score(scale(X), y) > 0.9
    (True, True)
    """


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class LassoNetRegressorCV(NetworkRegressor, _LassoNetCV):
    """A `LassoNetRegressor` whose λ is chosen by cross-validation, as in `LassoNetClassifierCV`.

    Parameters
    ----------
    cv : the number of folds, a splitter of scikit-learn, or pairs of row indices.
    one_standard_error : whether to choose the λ of the sparsest network of the path whose mean loss is within
        one standard error of the least mean loss. If not, the λ with the least mean loss is chosen.
    hidden_layer_sizes, network, dropout, loss, M, lams, lam_start, growth, groups, l2, batch_size,
        learning_rate, momentum, epochs, patience, tol, backtrack, refit, device, dtype, random_state : as in
        `LassoNetRegressor`.

    Attributes
    ----------
    validation_losses_ : (L, folds) the mean loss, with the scaled y, on the test rows of each fold, for each
        row of the path.
    The other attributes are those of `LassoNetRegressor`.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> options = {"hidden_layer_sizes": (10,), "growth": 1.5, "learning_rate": 1e-2, "random_state": 0}
    >>> model = LassoNetRegressorCV(cv=3, one_standard_error=True, **options).fit(scale(X), y)
    >>> {2, 8} <= set(model.selected_), model.score(scale(X), y) > 0.4
    (True, True)
    """
