"""The feature mask of Liao, Latty and Yang."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from sparselin.neural.baselines._data import Task, prepared
from sparselin.neural.networks import mlp
from sparselin.neural.training import Rows, adam, planned, seeded
from sparselin.results import FeatureRanking
from sparselin.validation import check_count


class AttenuationMask(nn.Module):
    """The FM-module: x ↦ m ∘ x, m (d,) a softmax of what two layers give on average over the batch.

        z_i = W₂·tanh(W₁x_i + b₁) + b₂ (d,),   z̄ = (1/b)Σ_i z_i  (batch-wise attenuation),
        m = softmax(z̄)  (mask normalization).

    `weight` : how often each row of the batch counts in z̄; None: once.
    """

    def __init__(self, n_features: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight: Tensor | None = None
        self.encoder = nn.Linear(n_features, width, dtype=dtype)
        self.decoder = nn.Linear(width, n_features, dtype=dtype)

    def mask(self, X: Tensor) -> Tensor:
        """m (d,) for the rows of X (b, d)."""
        z = self.decoder(torch.tanh(self.encoder(X)))
        mean = z.mean(dim=0) if self.weight is None else self.weight @ z / self.weight.sum()
        return torch.softmax(mean, dim=0)

    def forward(self, X: Tensor) -> Tensor:
        return X * self.mask(X)


def feature_mask(
    X: Any,
    y: Any,
    k: int,
    *,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 100,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    mask_width: int = 128,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """The k features of the largest mask, of a network trained on m ∘ x by Adam: see `AttenuationMask`.

    Liao, Latty and Yang, *Feature selection using batch-wise attenuation and feature mask normalization*
    (IJCNN 2021); "LLY" in *Sequential Attention for Feature Selection* (ICLR 2023). The mask that ranks is
    that of all rows at the end.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : widths of the hidden layers of the network that reads m ∘ x.
    epochs, batch_size, learning_rate : passes over the data, rows of a batch (None: all), step of Adam.
    mask_width : the width of the layer inside the mask.
    standardize : whether the network sees columns of variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are the mask m, which sums to 1.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 4))
    >>> y = X[:, 2] * X[:, 1] > 0
    >>> sorted(feature_mask(X, y, 2, hidden=(16,), epochs=30, learning_rate=0.01).support.tolist())
    [1, 2]
    """
    plan = planned(epochs, batch_size, learning_rate)
    check_count(mask_width, "mask_width", 1)
    data = prepared(X, y, k, task, sample_weight, standardize)
    if not len(data.kept):
        return data.ranking("feature mask", [], np.zeros(0))
    rows = data.rows
    with seeded(rng) as generator:
        layer = AttenuationMask(len(data.kept), mask_width, rows.X.dtype)
        network = nn.Sequential(layer, mlp(len(data.kept), hidden, data.q, dtype=rows.X.dtype))

        def weigh(step: int, batch: Rows) -> None:
            layer.weight = batch.weight

        adam(network, rows, data.loss, plan, generator, "training with the mask", before=weigh)
        layer.weight = rows.weight
        with torch.no_grad():
            scores = layer.mask(rows.X).numpy()
    return data.ranking("feature mask", np.argsort(-scores, kind="stable")[: data.k], scores)
