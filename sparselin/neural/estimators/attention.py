"""The scikit-learn estimators of Sequential Attention on networks."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from torch import nn

from sparselin.estimators._common import number_to_select
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.batches import Shuffled
from sparselin.neural.estimators._base import (
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    NetworkTask,
)
from sparselin.neural.masks import check_groups
from sparselin.neural.training import adam, make_plan, seeded
from sparselin.problem.argument_names import suggest_parameters
from sparselin.problem.labels import align_columns
from sparselin.results import Status
from sparselin.validation import Columns, check_indices


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class _Attention(NetworkEstimator):
    """An estimator that selects features with one network and trains another on the selected features."""

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

    def _fit(self, task: NetworkTask) -> nn.Module:
        groups = align_columns(self.groups, task.names or (), task.n_features, "groups")
        u = int(check_groups(groups, task.n_features).max()) + 1
        names = task.names if self.groups is None else None
        k = number_to_select(self.n_features_to_select, u)
        forced = check_indices(self.forced, u, "forced", names)
        if len(forced) > k:
            raise ValueError(f"forced units count in n_features_to_select: got {len(forced)} of them and {k}")
        plan = make_plan(self.epochs, self.batch_size, self.learning_rate)
        with seeded(task.seed) as generator:
            network = self._new_network(task, task.n_features)
            selector = SequentialAttention(
                network,
                k,
                n_features=task.n_features,
                loss=task.loss,
                optimizer=plan.adam,
                parametrization=self.parametrization,
                temperature=self.temperature,
                groups=groups,
                features_per_step=self.features_per_step,
                warm_up=self.warm_up,
                penalty=self.penalty,
                forced=self.forced,
                names=names,
                rng=task.seed,
            )
            path = selector.fit(Shuffled(task.rows, plan.batch_size), epochs=plan.epochs)
            self._keep_path(path)
            self.selected_ = path.support
            final = self._new_network(task, len(self.selected_))
            rows = task.rows.columns(self.selected_)
            adam(final, rows, task.loss, plan, generator, "the training on the selected features")
        if path.status is not Status.COMPLETED:
            warnings.warn(f"{len(path.order)} of {k} units selected: {path.status.message}", stacklevel=4)
        return final


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionClassifier(NetworkClassifier, _Attention):
    """A network that classifies with k features, which Sequential Attention selects.

    One network with a mask s(w) on its inputs is trained. Each of k phases selects the feature with the
    largest attention s_i (Algorithm 1 of *Sequential Attention for Feature Selection*). Then another network
    is trained on the selected features.

    Parameters
    ----------
    n_features_to_select : the number k of features, or a fraction of all features; with `groups`, the number
        of groups, or a fraction of all groups.
    hidden_layer_sizes : the widths of the hidden layers, which have ReLU; () gives a linear model.
    network : a function of the numbers of features and outputs that makes a network, in place of a perceptron
        with hidden layers. It is called twice: for all features, and for the selected features.
    dropout : the dropout probability after each hidden layer.
    loss : "cross_entropy" by default; or a PyTorch loss, or a function that maps outputs and classes to (n,).
    parametrization, temperature, features_per_step, warm_up, penalty, forced : as in
        `sparselin.neural.SequentialAttention`.
    groups : (d,) the group number 0, 1, … of each feature, or None. A group is selected as a whole.
    epochs : the number of passes over the rows in the selection, and again in the training on the selected
        features.
    batch_size : the number of rows of a step; None: all rows. The last batch of a pass has the remaining
        rows. A single remaining row joins the batch before it, so that networks with batch normalisation can
        be trained.
    learning_rate : the step length of Adam.
    class_weight : None, "balanced", or a dict with the weight of each class.
    device : "cpu", "cuda", …; by default the GPU if there is one.
    dtype : "float32" or "float64", the precision of all computations.
    random_state : a seed, which makes the result reproducible on the CPU; None: a new seed for each fit.

    Attributes
    ----------
    path_ : the `AttentionPath`: the order of the features or groups, and their attention weights at each
        pick.
    selected_ : (k,) the features in the order of selection; `n_features_` is k.
    network_ : the network that predicts; it reads the selected features only.
    classes_ : the class labels in order.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_digits(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SequentialAttentionClassifier(8, epochs=30, random_state=0).fit(X, y)
    >>> model.path_.status.name, model.n_features_, model.score(X, y) > 0.8
    ('COMPLETED', 8, True)
    """


@suggest_parameters
@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class SequentialAttentionRegressor(NetworkRegressor, _Attention):
    """A network that predicts numbers from k features, which Sequential Attention selects.

    The method is that of `SequentialAttentionClassifier`. Internally y is scaled to mean 0 and total variance
    q, where q is its number of columns; predictions are scaled back.

    Parameters
    ----------
    n_features_to_select : the number k of features, or a fraction of all features; with `groups`, the number
        of groups, or a fraction of all groups.
    hidden_layer_sizes : the widths of the hidden layers, which have ReLU; () gives a linear model.
    network : a function of the numbers of features and outputs that makes a network, in place of a perceptron
        with hidden layers. It is called twice: for all features, and for the selected features.
    dropout : the dropout probability after each hidden layer.
    loss : "squared" by default, ½‖f(x) − y‖²; or a PyTorch loss, or a function that maps outputs and targets
        to (n,).
    parametrization, temperature, features_per_step, warm_up, penalty, forced : as in
        `sparselin.neural.SequentialAttention`.
    groups : (d,) the group number 0, 1, … of each feature, or None. A group is selected as a whole.
    epochs : the number of passes over the rows in the selection, and again in the training on the selected
        features.
    batch_size : the number of rows of a step; None: all rows. The last batch of a pass has the remaining
        rows. A single remaining row joins the batch before it, so that networks with batch normalisation can
        be trained.
    learning_rate : the step length of Adam.
    device : "cpu", "cuda", …; by default the GPU if there is one.
    dtype : "float32" or "float64", the precision of all computations.
    random_state : a seed, which makes the result reproducible on the CPU; None: a new seed for each fit.

    Attributes
    ----------
    path_ : the `AttentionPath`: the order of the features or groups, and their attention weights at each
        pick.
    selected_ : (k,) the features in the order of selection; `n_features_` is k.
    network_ : the network that predicts; it reads the selected features only.
    n_features_in_, feature_names_in_ : the number of features, and their names if X had any.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SequentialAttentionRegressor(3, batch_size=32, random_state=0).fit(scale(X), y)
    >>> model.path_.status.name, model.n_features_, model.score(scale(X), y) > 0.4
    ('COMPLETED', 3, True)
    """
