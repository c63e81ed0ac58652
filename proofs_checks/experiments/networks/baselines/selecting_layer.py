"""Methods that train a selecting layer in front of a network: a feature mask, a concrete autoencoder."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from proofs_checks.experiments.networks.baselines._data import PreparedData, Training, network_baseline
from proofs_checks.experiments.networks.baselines.ranking import FeatureRanking
from sparselin.neural.networks import mlp
from sparselin.neural.training import Rows, adam, squared_error
from sparselin.validation import check_choice, check_count, check_real


class AttenuationMask(nn.Module):
    """The FM-module x ↦ m ∘ x, whose mask m (d,) is computed by two layers from the whole batch.

        z_i = W₂·tanh(W₁x_i + b₁) + b₂ (d,),   z̄ = (1/b)Σ_i z_i  (batch-wise attenuation),
        m = softmax(z̄)  (mask normalization).

    x_i are the b rows of the batch, and W₁, b₁, W₂, b₂ the weights of the two layers.

    weight : the weight of each row of the batch in z̄; None: equal weights.
    """

    def __init__(self, n_features: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight: Tensor | None = None
        self.encoder = nn.Linear(n_features, width, dtype=dtype)
        self.decoder = nn.Linear(width, n_features, dtype=dtype)

    def mask(self, X: Tensor) -> Tensor:
        """Return the mask m (d,) for the rows of X (b, d)."""
        z = self.decoder(torch.tanh(self.encoder(X)))
        mean = z.mean(dim=0) if self.weight is None else self.weight @ z / self.weight.sum()
        return torch.softmax(mean, dim=0)

    def forward(self, X: Tensor) -> Tensor:
        """Return the rows of X times m."""
        return X * self.mask(X)


@network_baseline("feature mask", epochs=100)
def feature_mask(data: PreparedData, training: Training, *, mask_width: int = 128) -> FeatureRanking:
    """Select the k features with the largest mask m, from a network trained on m ∘ x by Adam.

    `AttenuationMask` defines m. The features are ranked by the mask of all rows after training. Source: Liao,
    Latty and Yang, *Feature selection using batch-wise attenuation and feature mask normalization*
    (IJCNN 2021); *Sequential Attention for Feature Selection* (ICLR 2023) calls this method "LLY".

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    hidden : the widths of the hidden layers of the network that reads m ∘ x.
    epochs, batch_size, learning_rate : the number of passes over the data, the number of rows of a batch
        (None: all), and the step length of Adam.
    mask_width : the width of the layer inside the mask.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are the mask m, which sums to 1.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 4))
    >>> y = X[:, 2] * X[:, 1] > 0
    >>> sorted(feature_mask(X, y, 2, hidden=(16,), epochs=30, learning_rate=0.01).support.tolist())
    [1, 2]
    """
    check_count(mask_width, "mask_width", 1)
    rows, plan, generator = data.rows, training.plan, training.generator
    layer = AttenuationMask(len(data.kept), mask_width, rows.X.dtype)
    network = nn.Sequential(layer, data.mlp(training.hidden))

    def weigh(step: int, batch: Rows) -> None:
        layer.weight = batch.weight

    adam(network, rows, data.loss, plan, generator, "training with the mask", before=weigh)
    layer.weight = rows.weight
    with torch.no_grad():
        scores = layer.mask(rows.X).numpy()
    return data.best("feature mask", scores)


class ConcreteSelectors(nn.Module):
    """The layer of k selectors x (m,) ↦ (⟨m_1, x⟩, …, ⟨m_k, x⟩).

    Each m_i ~ Concrete(α_i, T) is drawn anew for each batch:

        m_i = softmax((log α_i + g_i)/T),    g_i (m,) of independent Gumbel variables −log(−log U),

    where the weights α_i are trained, T is the temperature, and U is uniform on (0, 1). As T → 0, m_i becomes
    the indicator of feature j with probability α_ij/Σ_l α_il. After training, selector i takes the feature
    argmax_j α_ij.
    """

    def __init__(self, m: int, k: int, T: float, generator: torch.Generator, dtype: torch.dtype) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.empty(k, m, dtype=dtype))
        nn.init.xavier_normal_(self.logits)
        self.temperature, self.generator = T, generator

    def forward(self, X: Tensor) -> Tensor:
        """Return the values (b, k) of the selectors for the rows of X (b, m)."""
        exponential = torch.empty_like(self.logits).exponential_(generator=self.generator)
        gumbel = -torch.log(exponential.clamp(min=torch.finfo(X.dtype).tiny))
        return X @ torch.softmax((self.logits + gumbel) / self.temperature, dim=1).T


@network_baseline("concrete autoencoder", epochs=100, learning_rate=1e-2)
def concrete_autoencoder(
    data: PreparedData,
    training: Training,
    *,
    target: Literal["X", "y"] = "X",
    temperatures: tuple[float, float] = (10.0, 0.01),
) -> FeatureRanking:
    """Select features with k `ConcreteSelectors`, trained together with a decoder that reads their values.

    Source: Balın, Abid and Zou, *Concrete autoencoders: differentiable feature selection and reconstruction*
    (ICML 2019). The decoder f reads the values u of the selectors. It reconstructs all of X, with the loss
    ½‖x − f(u)‖², or predicts y, a variant that the authors mention. In step b of B the temperature is

        T = T₀·(T_B/T₀)^{b/B}.

    **Several selectors may take the same feature.** `picks` holds the feature of each selector, and
    `duplicates` the features that occur several times. If there are duplicates, the status is FILLED, and
    `support` is filled with the next best features. Features are ordered by max_i softmax(log α_i)_j, where
    α_i are the weights of selector i (`ConcreteSelectors`); the features in `picks` come first.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `baselines`.
    target : "X" if the decoder reconstructs X, without y; or "y" if it predicts y.
    hidden : the widths of the hidden layers of the decoder.
    epochs, batch_size, learning_rate : the number of passes over the data, the number of rows of a batch
        (None: all), and the step length of Adam.
    temperatures : T₀ and T_B, both positive.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are max_i softmax(log α_i)_j.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 5))
    >>> found = concrete_autoencoder(X, np.sign(X[:, 1]).astype(int), 2, target="y", epochs=200)
    >>> found.support[0], len(found.picks)
    (np.int64(1), 2)
    """
    check_choice(target, "target", ("X", "y"))
    high, low = (check_real(T, "temperatures", lambda T: T > 0, "positive") for T in temperatures)
    rows, loss, q = data.rows, data.loss, data.q
    if target == "X":
        rows, loss, q = Rows(rows.X, rows.X, rows.weight), squared_error, len(data.kept)
    plan, generator = training.plan, training.generator
    batches = 1 if plan.batch_size is None else -(-len(rows) // plan.batch_size)
    layer = ConcreteSelectors(len(data.kept), data.k, high, generator, rows.X.dtype)
    network = nn.Sequential(layer, mlp(data.k, training.hidden, q, dtype=rows.X.dtype))

    def cool(step: int, batch: Rows) -> None:
        layer.temperature = high * (low / high) ** (step / (plan.epochs * batches))

    adam(network, rows, loss, plan, generator, "training with concrete selectors", before=cool)
    share = torch.softmax(layer.logits.detach(), dim=1).numpy()
    picks = share.argmax(axis=1)
    picks = picks[np.argsort(-share.max(axis=1), kind="stable")]
    return data.ranking(f"concrete autoencoder of {target}", picks, share.max(axis=0))
