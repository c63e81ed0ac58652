"""All methods by name, including Sequential Attention and LassoNet, and a comparison of their accuracy.

The accuracy of a method is the accuracy of a network that is trained on the features that the method selects.
"""

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from proofs_checks.experiments.networks import baselines
from proofs_checks.experiments.networks.baselines._data import (
    PreparedData,
    Training,
    baseline,
    network_baseline,
)
from proofs_checks.experiments.networks.baselines.linear import diverse, linear_ols, linear_omp
from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin.ensembles.datasets import Source, images
from sparselin.neural.attention import SequentialAttention
from sparselin.neural.batches import Shuffled
from sparselin.neural.lassonet import lassonet_path
from sparselin.neural.networks import mlp
from sparselin.neural.schedule import PerStep
from sparselin.neural.settings import LassoNetSettings
from sparselin.neural.training import Rows, adam, cross_entropy, make_plan, seeded
from sparselin.results import FloatArray
from sparselin.validation import check_count, check_new

Method = Callable[..., FeatureRanking]


@network_baseline("Sequential Attention", epochs=50, batch_size=64)
def sequential_attention(
    data: PreparedData,
    training: Training,
    *,
    parametrization: str = "softmax",
    features_per_step: PerStep = 1,
) -> FeatureRanking:
    """Select k features with `sparselin.neural.SequentialAttention`, in the order of its selection.

    epochs, batch_size, learning_rate : the settings of Adam; all phases together make `epochs` passes.

    The other arguments are those of `baselines`. `scores` are the attention weights in the
    last phase, which are 1 for the features selected before.
    """
    selector = SequentialAttention(
        data.mlp(training.hidden),
        data.k,
        n_features=len(data.kept),
        loss=data.loss,
        optimizer=training.plan.adam,
        parametrization=parametrization,
        features_per_step=features_per_step,
        rng=training.rng,
    )
    path = selector.fit(Shuffled(data.rows, training.plan.batch_size), epochs=training.plan.epochs)
    return data.ranking("Sequential Attention", path.order, path.attention[-1])


@baseline("LassoNet")
def lassonet(
    data: PreparedData,
    *,
    hidden: Sequence[int] = (67,),
    M: float = 10.0,
    growth: float = 1.1,
    epochs: tuple[int, int] = (200, 20),
    batch_size: int | None = None,
    learning_rate: float | tuple[float, float] = (1e-3, 1e-2),
    down_to: int | None = None,
    rng: Any = 0,
) -> FeatureRanking:
    """Select the k features that stay longest on the path of `sparselin.neural.lassonet_path`.

    The features that leave last come first.

    M, growth, epochs, batch_size, learning_rate : as in `lassonet_path`.
    down_to : the number of features at which the path ends; None: k. Features that are left at the end are
        ordered by the norm ‖θ_j‖ of their linear weights. So to use one path for several k, pass the smallest
        k.

    The other arguments are those of `baselines`. `scores` and `lam` are the λ up to which
    each feature stayed.
    """
    last = data.k if down_to is None else min(data.k, check_count(down_to, "down_to", 1))
    rows = data.rows
    plan = LassoNetSettings(
        growth=growth, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, tol=0.99
    )
    path = lassonet_path(
        hidden, rows.X, rows.y, loss=data.loss, M=M, k=last, sample_weight=data.weight, settings=plan, rng=rng
    )
    return data.ranking("LassoNet", path.ranking()[: data.k], path.importances, path.importances)


METHODS: dict[str, Method] = {
    "Sequential Attention": sequential_attention,
    "LassoNet": lassonet,
    "random": baselines.random_features,
    "largest correlation": baselines.largest_correlation,
    "random forest": baselines.random_forest,
    "mRMR": baselines.mrmr,
    "linear OMP": linear_omp,
    "linear OLS": linear_ols,
    "diverse selection": diverse,
    "feature mask (LLY)": baselines.feature_mask,
    "group LASSO": baselines.group_lasso,
    "group LASSO, λ fixed": functools.partial(baselines.group_lasso, lam=0.03, dense_epochs=100),
    "Sequential LASSO": baselines.sequential_lasso,
    "Sequential LASSO, λ fixed": functools.partial(baselines.sequential_lasso, lam=0.01),
    "OMP": baselines.omp,
    "concrete autoencoder": baselines.concrete_autoencoder,
    "concrete autoencoder of y": functools.partial(baselines.concrete_autoencoder, target="y"),
}
"""The methods by name: functions of (X, y, k, *, rng) and options; see `baselines`."""


def register(name: str, method: Method) -> None:
    """Add a method under a name; raise ValueError if the name is taken."""
    METHODS[check_new(name, METHODS, "a method")] = method


class Split(NamedTuple):
    """Training rows, for selection and training, and test rows: X in [0, 1], and labels."""

    X: FloatArray
    y: NDArray[Any]
    X_test: FloatArray
    y_test: NDArray[Any]


class MethodResult(NamedTuple):
    """The features that a method selected, the seconds it took, and the accuracy on the test rows."""

    method: str
    ranking: FeatureRanking
    seconds: float
    accuracy: float


def image_split(source: Source, n_train: int, n_test: int, seed: int = 0) -> Split:
    """Draw n_train training and n_test test rows of `datasets.images`; X is float32, scaled to [0, 1]."""
    found = images(source)
    rows = np.random.default_rng(seed).permutation(len(found.labels))[: n_train + n_test]
    X = (found.pixels.reshape(len(found.pixels), -1)[rows] / found.pixels.max()).astype(np.float32)
    y = found.labels[rows]
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def accuracy(
    split: Split,
    support: Any,
    *,
    hidden: Sequence[int] = (67,),
    epochs: int = 50,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    rng: Any = 0,
) -> float:
    """Train a perceptron by Adam on the features `support`, and return its accuracy on the test rows."""
    X = torch.from_numpy(np.ascontiguousarray(split.X[:, support]))
    classes, number = np.unique(split.y, return_inverse=True)
    rows, plan = Rows(X, torch.from_numpy(number)), make_plan(epochs, batch_size, learning_rate)
    with seeded(rng) as generator:
        network = mlp(X.shape[1], hidden, len(classes), dtype=X.dtype)
        adam(network, rows, cross_entropy, plan, generator, "training on the selected features")
        with torch.no_grad():
            output = network(torch.from_numpy(np.ascontiguousarray(split.X_test[:, support])))
    return float(np.mean(classes[output.argmax(dim=1).numpy()] == split.y_test))


def compare(
    split: Split, k: int, names: Iterable[str] | None = None, rng: int = 0, **options: Any
) -> Iterator[MethodResult]:
    """Run each method of METHODS, or of `names`; yield its features, its time, and its accuracy.

    options : keyword arguments of `accuracy`.
    """
    for name in METHODS if names is None else names:
        begin = time.perf_counter()
        ranking = METHODS[name](split.X, split.y, k, rng=rng)
        seconds = time.perf_counter() - begin
        yield MethodResult(name, ranking, seconds, accuracy(split, ranking.support, rng=rng, **options))
