"""Group LASSO on the first layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from sparselin.neural.baselines._data import PreparedData, Task, prepared
from sparselin.neural.baselines._fit import Proximal, row_gradients
from sparselin.neural.networks import mlp
from sparselin.neural.training import Plan, adam, planned, seeded
from sparselin.results import FeatureRanking, FloatArray
from sparselin.validation import check_level, check_real


def group_lasso(
    X: Any,
    y: Any,
    k: int,
    *,
    lam: float | None = None,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 2,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    dense_epochs: int = 20,
    grid: tuple[float, float] = (1e-3, 1.1),
    weight_decay: float = 0.01,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """Minimise L + λ·Σ_j ‖W_j‖₂ + ½·weight_decay·‖V‖² while λ grows, until at most k rows W_j are nonzero.

    W_j ∈ ℝᴷ is the row of feature j in the first layer, V all other parameters. The group LASSO of Yuan and
    Lin (*Model selection and estimation in regression with grouped variables*, 2006) on the inputs of a
    network, as of Scardapane, Comminiello, Hussain and Uncini (*Group sparse regularization for deep neural
    networks*, 2017) and Section 4.1 of *Sequential Attention for Feature Selection* (ICLR 2023), which take
    subgradients; here the steps are proximal (`Proximal`), so that rows are zero exactly. Without hidden
    layers and for one output it is the LASSO.

    The network is trained without penalty first; then λ = start·λ_max, start·factor·λ_max, …, each from the
    weights before, where λ_max = max_j ‖∂L/∂W_j‖₂ at W = 0. Features are ranked by the last λ at which their
    rows were nonzero, then by ‖W_j‖ there. With `lam` there is one λ, for `dense_epochs` passes from the
    start, and the features are ranked by ‖W_j‖, as in the authors' code.

    Without weight decay the penalty says little: ReLU networks are homogeneous, tW and b of the first layer
    with 1/t of the next are the same function, so that the infimum of the objective is that of L, and while λ
    grows V grows with it. With weight decay both cannot be small at once. The problem is not convex: which
    rows vanish depends on the path too.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    lam : one λ in place of the path.
    hidden : widths of hidden layers.
    epochs, dense_epochs : passes over the data at each λ, and before without penalty.
    batch_size : None: all rows.
    learning_rate : of Adam, and of `Proximal`.
    grid : start, the first λ relative to λ_max, and factor > 1, the ratio of two that follow each other.
    weight_decay : of V, along the path, or with `lam`.
    standardize : whether the network sees columns of variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `lam` is the last λ of each feature, `scores` too, with ties broken: the feature of rank
    r = 0, 1, … of m has λ·factor^(1 − r/m). With `lam` they are ‖W_j‖.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sign(X[:, 2] + 2 * X[:, 1]).astype(int)
    >>> group_lasso(X, y, 2, hidden=(8,), batch_size=None, learning_rate=0.01).support.tolist()
    [1, 2]
    """
    plan = planned(epochs, batch_size, learning_rate)
    dense = planned(dense_epochs, batch_size, learning_rate)
    start, factor = _checked(grid)
    fixed = None if lam is None else check_level(lam, "lam")
    check_level(weight_decay, "weight_decay")
    data = prepared(X, y, k, task, sample_weight, standardize)
    name = "group LASSO on the first layer"
    if not data.k:
        return data.ranking(name, [], np.zeros(0))
    with seeded(rng) as generator:
        network = mlp(len(data.kept), hidden, data.q, dtype=data.rows.X.dtype)
        if fixed is not None:
            steps = Proximal(network, network[0], dense.learning_rate, weight_decay)
            lengths = _lengths(steps, data, fixed, dense, generator)
            order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
            return data.ranking(f"{name}, λ fixed", order[: data.k], lengths, fixed)
        levels, lengths = _path(network, data, plan, dense, (start, factor, weight_decay), generator)
    order = np.lexsort((-lengths, -levels))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    scores = levels * factor ** (1 - rank / max(1, len(rank)))
    return data.ranking(name, order[: data.k], scores, levels)


def _checked(grid: Any) -> tuple[float, float]:
    try:
        start, factor = (check_real(value, "grid") for value in grid)
    except (TypeError, ValueError):
        start, factor = 0.0, 0.0
    if not (start > 0 and factor > 1):
        raise ValueError(f"grid must be two numbers, start > 0 and factor > 1; got {grid!r}")
    return start, factor


def _path(
    network: Any,
    data: PreparedData,
    plan: Plan,
    dense: Plan,
    options: tuple[float, float, float],
    generator: torch.Generator,
) -> tuple[FloatArray, FloatArray]:
    """For each feature the last λ at which its row was nonzero, 0 if it never was, and ‖W_j‖ there."""
    start, factor, weight_decay = options
    level = start * _largest(network, data)
    adam(network, data.rows, data.loss, dense, generator, "λ = 0")
    steps = Proximal(network, network[0], plan.learning_rate, weight_decay)
    levels, lengths = np.zeros((2, len(data.kept)))
    while level > 0:
        now = _lengths(steps, data, level, plan, generator)
        alive = now > 0
        levels[alive], lengths[alive] = level, now[alive]
        if alive.sum() <= data.k:
            break
        level *= factor
    return levels, lengths


def _lengths(
    steps: Proximal, data: PreparedData, level: float, plan: Plan, generator: torch.Generator
) -> FloatArray:
    """(m,) ‖W_j‖₂ after training with λ = level."""
    lam = torch.full((len(data.kept),), level, dtype=steps.W.dtype)
    steps.run(data.rows, data.loss, lam, plan, generator, f"λ = {level:.4g}")
    return np.asarray(steps.W.detach().norm(dim=0).double().numpy())


def _largest(network: Any, data: PreparedData) -> float:
    """λ_max = max_j ‖∂L/∂W_j‖₂ at W = 0, with the other layers as they were drawn."""
    drawn = network[0].weight.detach().clone()
    with torch.no_grad():
        network[0].weight.zero_()
    norms = row_gradients(network, network[0], data.rows, data.loss).norm(dim=0)
    with torch.no_grad():
        network[0].weight.copy_(drawn)
    return float(norms.max())
