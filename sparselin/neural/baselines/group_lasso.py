"""Group LASSO on the first layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from sparselin.neural.baselines._data import Data, Task, prepared
from sparselin.neural.baselines._fit import Plan, Proximal, adam, planned, row_gradients
from sparselin.neural.networks import mlp
from sparselin.neural.training import seeded
from sparselin.results import FeatureRanking, FloatArray
from sparselin.validation import check_real


def group_lasso(
    X: Any,
    y: Any,
    k: int,
    *,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 5,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    dense_epochs: int = 20,
    start: float = 1e-3,
    factor: float = 1.1,
    standardize: bool = True,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """Minimise L + λ·Σ_j ‖W_j‖₂ while λ grows, until at most k rows of the first layer are nonzero.

    W_j ∈ ℝᴷ is the row of feature j. The group LASSO of Yuan and Lin (*Model selection and estimation in
    regression with grouped variables*, 2006) on the inputs of a network, as of Scardapane, Comminiello,
    Hussain and Uncini (*Group sparse regularization for deep neural networks*, 2017) and Section 4.1 of
    *Sequential Attention for Feature Selection* (ICLR 2023), which take subgradients; here the steps are
    proximal (`Proximal`), so that rows are zero exactly. Without hidden layers, for one output, it is the
    LASSO.

    The network is trained without penalty first; then λ = start·λ_max, start·factor·λ_max, …, each from the
    weights before, where λ_max = max_j ‖∂L/∂W_j‖₂ at W = 0. Features are ranked by the last λ at which their
    rows were nonzero, then by ‖W_j‖ there. The network is not convex, and ReLU networks are homogeneous:
    tW_j for all j with 1/t times the next layer is the same function, so that the infimum of the objective is
    that of L. Which rows vanish is decided by the path, not by a global minimum.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : widths of hidden layers.
    epochs, dense_epochs : passes over the data at each λ, and before without penalty.
    batch_size : None: all rows.
    learning_rate : of Adam, and of `Proximal`.
    start, factor : the first λ relative to λ_max, and the ratio of two that follow each other, > 1.
    standardize : whether networks see columns of variance 1.

    Returns
    -------
    `FeatureRanking`: `lam` is the last λ of each feature, `scores` too but that ties are broken: a feature of
    rank r among those with the same λ has λ·factor^(1 − r/m), m the number of features.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sign(X[:, 2] + 2 * X[:, 1]).astype(int)
    >>> group_lasso(X, y, 2, hidden=(8,), batch_size=None, learning_rate=0.01).support.tolist()
    [1, 2]
    """
    plan = planned(epochs, batch_size, learning_rate)
    dense = planned(dense_epochs, batch_size, learning_rate)
    if not check_real(factor, "factor") > 1:
        raise ValueError(f"factor must exceed 1; got {factor}")
    if not check_real(start, "start") > 0:
        raise ValueError(f"start must be positive; got {start}")
    data = prepared(X, y, k, task, sample_weight, standardize)
    with seeded(rng) as generator:
        levels, lengths = _path(data, hidden, plan, dense, start, factor, generator)
    order = np.lexsort((-lengths, -levels))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    scores = levels * factor ** (1 - rank / max(1, len(rank)))
    return data.ranking("group LASSO on the first layer", order[: data.k], scores, levels)


def _path(
    data: Data,
    hidden: Sequence[int],
    plan: Plan,
    dense: Plan,
    start: float,
    factor: float,
    generator: torch.Generator,
) -> tuple[FloatArray, FloatArray]:
    """For each feature the last λ at which its row was nonzero, 0 if it never was, and ‖W_j‖ there."""
    m, rows = len(data.kept), data.rows
    levels, lengths = np.zeros((2, m))
    if not m:
        return levels, lengths
    network = mlp(m, hidden, data.q, dtype=rows.X.dtype)
    level = start * _largest(network, data)
    adam(network, rows, data.loss, dense, generator, "λ = 0")
    steps = Proximal(network, network[0], plan.learning_rate)
    lengths = network[0].weight.detach().norm(dim=0).double().numpy()
    while level > 0:
        lam = torch.full((m,), level, dtype=rows.X.dtype)
        steps.run(rows, data.loss, lam, plan, generator, f"λ = {level:.4g}")
        now = network[0].weight.detach().norm(dim=0).double().numpy()
        alive = now > 0
        levels[alive], lengths[alive] = level, now[alive]
        if alive.sum() <= data.k:
            break
        level *= factor
    return levels, lengths


def _largest(network: Any, data: Data) -> float:
    """λ_max = max_j ‖∂L/∂W_j‖₂ at W = 0, with the other layers as they were drawn."""
    drawn = network[0].weight.detach().clone()
    with torch.no_grad():
        network[0].weight.zero_()
    norms = row_gradients(network, network[0], data.rows, data.loss).norm(dim=0)
    with torch.no_grad():
        network[0].weight.copy_(drawn)
    return float(norms.max())
