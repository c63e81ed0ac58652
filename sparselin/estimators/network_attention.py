"""Sequential Attention on networks, as estimators."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np

from sparselin.estimators._network import (
    Fitted,
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    NetworkTask,
)
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.batches import Shuffled
from sparselin.neural.masks import check_groups
from sparselin.neural.training import adam, planned, seeded
from sparselin.results import Status
from sparselin.validation import Columns, check_indices


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _Attention(NetworkEstimator):
    """Select by one network, then train another one on the selected features."""

    n_features_to_select: float = dataclasses.field(default=0.5, kw_only=False)
    hidden_layer_sizes: Any = (67,)
    parametrization: str = "softmax"
    temperature: float = 1.0
    features_per_step: int | str = 1
    warm_up: float = 0.1
    penalty: Any = 0.0
    forced: Columns = ()
    epochs: int = 100
    batch_size: int | None = 64
    learning_rate: float = 1e-3

    def _fit(self, task: NetworkTask) -> Fitted:
        units = check_groups(self.groups, task.n_features)
        names = task.names if self.groups is None else None
        k = self._number_to_select(int(units.max()) + 1)
        forced = check_indices(self.forced, int(units.max()) + 1, "forced", names)
        if len(forced) > k:
            raise ValueError(
                f"n_features_to_select counts forced features too; got {k}, and {len(forced)} forced"
            )
        plan = planned(self.epochs, self.batch_size, self.learning_rate)
        with seeded(task.seed) as generator:
            network = self._new_network(task, task.n_features)
            selector = SequentialAttention(
                network, k, n_features=task.n_features, loss=task.loss, optimizer=plan.adam,
                parametrization=self.parametrization, temperature=self.temperature, groups=self.groups,
                features_per_step=self.features_per_step, warm_up=self.warm_up, penalty=self.penalty,
                forced=self.forced, names=names, rng=task.seed,
            )  # fmt: skip
            path = selector.fit(Shuffled(task.rows, plan.batch_size), epochs=plan.epochs)
            self._keep_path(path)
            selected = np.concatenate([np.flatnonzero(units == unit) for unit in path.order])
            final = self._new_network(task, len(selected))
            rows = task.rows.columns(selected)
            adam(final, rows, task.loss, plan, generator, "the training on what was selected")
        if path.status is not Status.COMPLETED:
            warnings.warn(f"{len(path.order)} of {k} were selected: {path.status.message}", stacklevel=4)
        return Fitted(selected, final, True, path)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionClassifier(NetworkClassifier, _Attention):
    """A network that classifies by k features, which Sequential Attention selects.

    One network with a mask s(w) on its inputs is trained, and in each of k phases selects the feature of
    largest attention s_i (Algorithm 1 of *Sequential Attention for Feature Selection*); another one is then
    trained on what was selected.

    Parameters
    ----------
    n_features_to_select : k, or a share of the features (with `groups`, of the groups).
    hidden_layer_sizes : widths of the hidden layers, with ReLU; () is a linear model.
    network : a function of the numbers of features and outputs that makes a network, in place of these. It is
        asked twice: for all features, and for the selected ones.
    dropout : its probability, after each hidden layer.
    loss : "cross_entropy" by default; a PyTorch loss, or a function of outputs and classes to (n,).
    parametrization, temperature, features_per_step, warm_up, penalty, forced : as in
        `sparselin.neural.SequentialAttention`.
    groups : (d,) numbers 0, 1, … of groups that are selected together, or None.
    epochs : passes over the rows, of the selection and again of the training on what was selected.
    batch_size : rows of a step; None: all. The last batch of a pass has the rows that are left; a single one
        joins the batch before it, so that networks with batch normalisation can be trained.
    learning_rate : the step length of Adam.
    class_weight : None, "balanced", or a dict of the weights of classes.
    device : "cpu", "cuda", …; by default a GPU where there is one.
    dtype : "float32" or "float64", of all computations.
    random_state : a seed for the same result each time, on the CPU; None for a new one.

    Attributes
    ----------
    path_ : AttentionPath: the order, and the attention of all units at each pick.
    selected_ : (k,) the features in the order in which they were selected; `n_features_` is k.
    network_ : the network that predicts, of the selected features only.
    classes_ : the classes.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_digits(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SequentialAttentionClassifier(8, epochs=30, random_state=0).fit(X, y)
    >>> model.path_.status.name, model.n_features_, model.score(X, y) > 0.8
    ('COMPLETED', 8, True)
    """


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionRegressor(NetworkRegressor, _Attention):
    """A network that predicts numbers from k features, which Sequential Attention selects.

    As `SequentialAttentionClassifier`; y is scaled to mean 0 and total variance q within, q its number of
    columns, and predictions are scaled back.

    Parameters
    ----------
    n_features_to_select : k, or a share of the features (with `groups`, of the groups).
    hidden_layer_sizes : widths of the hidden layers, with ReLU; () is a linear model.
    network : a function of the numbers of features and outputs that makes a network, in place of these. It is
        asked twice: for all features, and for the selected ones.
    dropout : its probability, after each hidden layer.
    loss : "squared" by default, ½‖f(x) − y‖²; a PyTorch loss, or a function of outputs and targets to (n,).
    parametrization, temperature, features_per_step, warm_up, penalty, forced : as in
        `sparselin.neural.SequentialAttention`.
    groups : (d,) numbers 0, 1, … of groups that are selected together, or None.
    epochs : passes over the rows, of the selection and again of the training on what was selected.
    batch_size : rows of a step; None: all. The last batch of a pass has the rows that are left; a single one
        joins the batch before it, so that networks with batch normalisation can be trained.
    learning_rate : the step length of Adam.
    device : "cpu", "cuda", …; by default a GPU where there is one.
    dtype : "float32" or "float64", of all computations.
    random_state : a seed for the same result each time, on the CPU; None for a new one.

    Attributes
    ----------
    path_ : AttentionPath: the order, and the attention of all units at each pick.
    selected_ : (k,) the features in the order in which they were selected; `n_features_` is k.
    network_ : the network that predicts, of the selected features only.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SequentialAttentionRegressor(3, batch_size=32, random_state=0).fit(scale(X), y)
    >>> model.path_.status.name, model.n_features_, model.score(scale(X), y) > 0.4
    ('COMPLETED', 3, True)
    """
