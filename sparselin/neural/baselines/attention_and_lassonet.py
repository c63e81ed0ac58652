"""Sequential Attention and LassoNet as functions of X, y and k, like their baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.neural.attention import SequentialAttention
from sparselin.neural.baselines._data import Task, prepared
from sparselin.neural.batches import Shuffled
from sparselin.neural.lassonet import lassonet_path
from sparselin.neural.networks import mlp
from sparselin.neural.schedule import PerStep
from sparselin.neural.settings import LassoNetSettings
from sparselin.neural.training import planned, seeded
from sparselin.results import FeatureRanking
from sparselin.validation import check_count


def sequential_attention(
    X: Any,
    y: Any,
    k: int,
    *,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 50,
    batch_size: int | None = 64,
    learning_rate: float = 1e-3,
    parametrization: str = "softmax",
    features_per_step: PerStep = 1,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """The k features that `sparselin.neural.SequentialAttention` selects, in order.

    epochs, batch_size, learning_rate : of Adam, in all phases together.
    The others as in `sparselin.neural.baselines`; `scores` are the attention at the last pick, one for the
    features picked before.
    """
    plan = planned(epochs, batch_size, learning_rate)
    data = prepared(X, y, k, task, sample_weight, standardize)
    if not len(data.kept):
        return data.ranking("Sequential Attention", [], np.zeros(0))
    with seeded(rng):
        network = mlp(len(data.kept), hidden, data.q, dtype=data.rows.X.dtype)
        selector = SequentialAttention(
            network,
            data.k,
            n_features=len(data.kept),
            loss=data.loss,
            optimizer=plan.adam,
            parametrization=parametrization,
            features_per_step=features_per_step,
            rng=rng,
        )
        path = selector.fit(Shuffled(data.rows, batch_size), epochs=epochs)
    return data.ranking("Sequential Attention", path.order, path.attention[-1])


def lassonet(
    X: Any,
    y: Any,
    k: int,
    *,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    M: float = 10.0,
    growth: float = 1.1,
    epochs: tuple[int, int] = (200, 20),
    batch_size: int | None = None,
    learning_rate: float | tuple[float, float] = (1e-3, 1e-2),
    down_to: int | None = None,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """The k features that stay longest on the path of `sparselin.neural.lassonet_path`, the last ones first.

    M, growth, epochs, batch_size, learning_rate : as there.
    down_to : the path ends when at most so many features are left; None: k. Those that are left at the end
        are in the order of ‖θ_j‖, so that one path is for several k only if it goes on to the least of them.
    The others as in `sparselin.neural.baselines`; `scores` and `lam` are the λ up to which a feature stayed.
    """
    data = prepared(X, y, k, task, sample_weight, standardize)
    last = data.k if down_to is None else min(data.k, check_count(down_to, "down_to", 1))
    if not len(data.kept):
        return data.ranking("LassoNet", [], np.zeros(0))
    rows = data.rows
    path = lassonet_path(
        hidden,
        rows.X,
        rows.y,
        loss=data.loss,
        M=M,
        k=last,
        sample_weight=data.weight,
        settings=LassoNetSettings(
            growth=growth, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, tol=0.99
        ),
        rng=rng,
    )
    return data.ranking("LassoNet", path.ranking()[: data.k], path.importances, path.importances)
