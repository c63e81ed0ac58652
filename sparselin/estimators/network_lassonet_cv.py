"""LassoNet whose λ is chosen by cross-validation, as estimators."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from torch import nn

from sparselin.estimators._network import NetworkClassifier, NetworkRegressor, NetworkTask, unless_stopped
from sparselin.estimators.network_lassonet import _LassoNet
from sparselin.neural.training import Rows
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_flag


class _LassoNetCV(_LassoNet):
    """The row by cross-validation over folds at the same λ's."""

    def __init__(
        self,
        *,
        cv: Any = 5,
        one_standard_error: bool = False,
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
        refit: bool = True,
        device: Any = None,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.cv = cv
        self.one_standard_error = one_standard_error
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
        self.refit = refit
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _split(self, task: NetworkTask) -> tuple[Rows, Rows | None]:
        return task.rows, None

    def _path_and_row(
        self, task: NetworkTask, network: nn.Module, rows: Rows, validation: Rows | None
    ) -> None:
        classifies = hasattr(self, "class_weight")
        y = task.rows.y.cpu().numpy()
        folds = self._folds(y, classifies)
        if check_flag(self.one_standard_error, "one_standard_error") and len(folds) < 2:
            raise ValueError(f"one_standard_error needs at least 2 folds; cv has {len(folds)}")
        self.path_ = self._path(task, network, rows, validation, k=0)
        unless_stopped(self.path_)
        losses = [self._losses(task, network, *fold) for fold in folds]
        self.validation_losses_ = np.column_stack(losses)
        self._choose_row(self.validation_losses_)

    def _folds(self, y: Any, classifies: bool) -> list[Any]:
        try:
            folds = list(check_cv(self.cv, y, classifier=classifies).split(np.empty((len(y), 0)), y))
            parts = [np.arange(len(y))[part] for fold in folds for part in fold]
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                f"cv must be a number of folds, a splitter of scikit-learn or pairs of indices of rows; got "
                f"{reprlib.repr(self.cv)}: {error}"
            ) from error
        if not parts or not all(map(len, parts)):
            raise ValueError(f"cv must leave rows in and out in each fold; got {reprlib.repr(self.cv)}")
        return folds

    def _losses(
        self, task: NetworkTask, network: nn.Module, train: IndexArray, test: IndexArray
    ) -> FloatArray:
        """The mean loss (L,) on the rows left out, at each λ; the last one where all features are gone."""
        path = self._path(
            task, network, task.rows.at(train), task.rows.at(test), lams=self.path_.lam[1:],
            stop_on="training",
        )  # fmt: skip
        unless_stopped(path)
        return np.pad(path.validation_loss, (0, len(self.path_) - len(path)), mode="edge")

    def _choose_row(self, losses: FloatArray) -> None:
        mean = losses.mean(axis=1)
        bound = mean.min()
        if self.one_standard_error:
            bound += losses[mean.argmin()].std(ddof=1) / np.sqrt(losses.shape[1])
        row = int(np.flatnonzero(mean <= bound)[-1])
        self._choose(row, self._features_of(row))


class LassoNetClassifierCV(NetworkClassifier, _LassoNetCV):
    """`LassoNetClassifier` whose λ is chosen by cross-validation.

    The path on all rows has the λ's; on each fold a path at these is trained without the rows left out, whose
    mean loss at each λ is averaged over the folds. They have no part in when training stops.

    Parameters
    ----------
    cv : folds, or a splitter of scikit-learn.
    one_standard_error : whether to take the sparsest row within a standard error of the least mean loss.
    hidden_layer_sizes, network, dropout, loss, M, lams, lam_start, growth, groups, l2, batch_size,
        learning_rate, momentum, epochs, patience, tol, backtrack, refit, class_weight, device, dtype,
        random_state : as in `LassoNetClassifier`.

    Attributes
    ----------
    validation_losses_ : (L, folds) the mean loss on the rows left out, for each row of the path.
    The others as in `LassoNetClassifier`.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> options = {"hidden_layer_sizes": (9,), "growth": 1.5, "learning_rate": 0.01, "random_state": 0}
    >>> model = LassoNetClassifierCV(cv=2, one_standard_error=True, **options).fit(scale(X), y)
    >>> model.validation_losses_.shape == (len(model.path_), 2), model.score(scale(X), y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        *,
        cv: Any = 5,
        one_standard_error: bool = False,
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
        refit: bool = True,
        class_weight: Any = None,
        device: Any = None,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            cv=cv, one_standard_error=one_standard_error, hidden_layer_sizes=hidden_layer_sizes,
            network=network, dropout=dropout, loss=loss, M=M, lams=lams, lam_start=lam_start,
            growth=growth, groups=groups, l2=l2, batch_size=batch_size, learning_rate=learning_rate,
            momentum=momentum, epochs=epochs, patience=patience, tol=tol, backtrack=backtrack,
            refit=refit, device=device, dtype=dtype, random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight


class LassoNetRegressorCV(NetworkRegressor, _LassoNetCV):
    """`LassoNetRegressor` whose λ is chosen by cross-validation, as `LassoNetClassifierCV` does.

    Parameters
    ----------
    cv : folds, or a splitter of scikit-learn.
    one_standard_error : whether to take the sparsest row within a standard error of the least mean loss.
    hidden_layer_sizes, network, dropout, loss, M, lams, lam_start, growth, groups, l2, batch_size,
        learning_rate, momentum, epochs, patience, tol, backtrack, refit, device, dtype, random_state : as in
        `LassoNetRegressor`.

    Attributes
    ----------
    validation_losses_ : (L, folds) the mean loss on the rows left out, for each row of the path, y scaled.
    The others as in `LassoNetRegressor`.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> options = {"hidden_layer_sizes": (10,), "growth": 1.5, "learning_rate": 1e-2, "random_state": 0}
    >>> model = LassoNetRegressorCV(cv=3, one_standard_error=True, **options).fit(scale(X), y)
    >>> {2, 8} <= set(model.selected_), model.score(scale(X), y) > 0.4
    (True, True)
    """
