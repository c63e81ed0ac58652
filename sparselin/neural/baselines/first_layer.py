"""Methods on W, the first layer of a network: OMP, Sequential LASSO, group LASSO."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from sparselin.neural.baselines._data import PreparedData, Task, prepared
from sparselin.neural.baselines._fit import GrowingNetwork, Proximal, row_gradients
from sparselin.neural.training import Loss, Plan, Rows, adam, planned, seeded
from sparselin.results import FeatureRanking, FloatArray
from sparselin.validation import check_count, check_level, check_real


def omp(
    X: Any,
    y: Any,
    k: int,
    *,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 5,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    features_per_step: int = 1,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """Train on S, W_j = 0 for all others, and add the feature of the largest gradient: with f_S the network,

        j* = argmax_{j ∉ S} ‖∂L(f_S)/∂W_j‖₂,    S ← S ∪ j*,    W_j ∈ ℝᴷ the row of j in the first layer.

    OMP as *Sequential Attention for Feature Selection* (ICLR 2023, Section 4.1 and Appendix B.2.2) carries it
    over to networks, after Elenberg, Khanna, Dimakis and Negahban (*Restricted strong convexity implies weak
    submodularity*, 2018). The gradients are over all rows of X; the authors' code takes one batch, and takes
    them with random weights of the unselected features. Without hidden layers, for numbers y, and trained to
    the minimum, this is `sparselin.omp` with an intercept (for several outputs M-OMP).

    A gradient at W_j = 0 sees no feature that acts only together with other unselected ones (XOR).

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : widths of hidden layers.
    epochs : passes over the data before each pick; each training starts from the one before.
    batch_size : None: all rows, by L-BFGS, `epochs` iterations of it at most.
    learning_rate : of Adam.
    features_per_step : how many to add at once.
    standardize : whether the network sees columns of variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` and `lam` are the norms at each pick; for others at the last.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> omp(X, X[:, 2] - 2 * X[:, 1], 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    plan = planned(epochs, batch_size, learning_rate)
    check_count(features_per_step, "features_per_step", 1)
    data = prepared(X, y, k, task, sample_weight, standardize)
    if not data.k:
        return data.ranking("OMP on the first layer", [], np.zeros(0, data.X.dtype))
    with seeded(rng) as generator:
        net = GrowingNetwork(data, hidden, generator)
        for norms in net.gradients(plan):
            room = min(features_per_step, data.k - len(net.S))
            for j in np.argsort(-norms, kind="stable")[:room].tolist():
                net.add(j)
    return data.ranking("OMP on the first layer", net.S, net.scores, net.scores)


def sequential_lasso(
    X: Any,
    y: Any,
    k: int,
    *,
    lam: float | None = None,
    task: Task | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 5,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    decrease: float = 1e-3,
    standardize: bool = False,
    rng: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> FeatureRanking:
    """Minimise L + λ·Σ_{j ∉ S} ‖W_j‖₂, and add to S the feature outside whose row becomes nonzero first.

    W_j ∈ ℝᴷ is the row of feature j in the first layer. Sequential LASSO of Luo and Chen (*Sequential lasso
    cum EBIC for feature selection with ultra-high dimensional feature space*, 2014), as *Sequential Attention
    for Feature Selection* (ICLR 2023, Section 4.1) carries it over to networks. In two ways:

    λ = None : with the network trained on S, λ falls from λ* = max_{j ∉ S} ‖∂L/∂W_j‖₂, from which on the
        zero rows are stationary, in steps of a share `decrease`, each with `epochs` passes of proximal
        gradient steps, until a row stays nonzero; of several the longest enters. At a stationary point the
        first proximal step makes exactly the rows with ‖∂L/∂W_j‖ > λ nonzero: the first to enter is that of
        the largest gradient, so that to first order Sequential LASSO is OMP for networks too, as it is for
        least squares (Theorem 3.3 there), and is as blind for XOR. Without hidden layers, for one output,
        it is `sparselin.sequential_lasso` with an intercept.
    λ a number : as in the authors' code one training of all rows, with λ fixed: after each `epochs` passes
        the longest row outside S enters, and is not penalised any more. This starts from a network that sees
        all features. (The authors take subgradients; here the steps are proximal.)

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : widths of hidden layers.
    epochs : passes over the data for each pick (with λ = None twice: on S, and at each λ).
    batch_size : None: all rows; training on S is then by L-BFGS.
    learning_rate : of Adam, and of `Proximal`.
    standardize : whether the network sees columns of variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are λ* at the pick (for others the gradients' norms at the last), or the norms
    ‖W_j‖ for λ a number; `lam` the λ at which the features entered.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = X[:, 2] - 2 * X[:, 1]
    >>> sequential_lasso(X, y, 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    plan = planned(epochs, batch_size, learning_rate)
    if not 0 < check_real(decrease, "decrease") < 1:
        raise ValueError(f"decrease must be between 0 and 1; got {decrease}")
    lam = None if lam is None else check_level(lam, "lam")
    data = prepared(X, y, k, task, sample_weight, standardize)
    name = "Sequential LASSO on the first layer" + ("" if lam is None else ", λ fixed")
    if not data.k:
        return data.ranking(name, [], np.zeros(0))
    with seeded(rng) as generator:
        if lam is not None:
            S, scores = _at_one_level(data, hidden, plan, lam, generator)
            return data.ranking(name, S, scores, lam)
        net = GrowingNetwork(data, hidden, generator)
        levels = np.zeros(len(data.kept), data.X.dtype)
        for norms in net.gradients(plan):
            j, levels[j] = _first_entry(net, plan, float(norms.max()), decrease)
            net.keep()
            net.add(j)
    return data.ranking(name, net.S, net.scores, levels)


def _first_entry(net: GrowingNetwork, plan: Plan, top: float, decrease: float) -> tuple[int, float]:
    """The feature whose row is the first to stay nonzero as λ falls from λ* = top, and that λ."""
    steps = Proximal(net.network, net.rows, net.loss, plan, net.generator)
    level = top
    while True:
        level *= 1 - decrease
        lengths = steps.run(level, net.S)
        lengths[net.S] = 0
        if lengths.max() > 0:
            return int(np.argmax(lengths.numpy())), level


def _at_one_level(
    data: PreparedData, hidden: Sequence[int], plan: Plan, level: float, generator: torch.Generator
) -> tuple[list[int], FloatArray]:
    """The picks at a fixed λ, and ‖W_j‖: at the pick for them, at the last for others."""
    steps = Proximal(data.mlp(hidden), data.rows, data.loss, plan, generator)
    S: list[int] = []
    scores = np.zeros(len(data.kept), data.X.dtype)
    while len(S) < data.k:
        lengths = steps.run(level, S, f", {len(S)} features").numpy()
        lengths[S] = scores[S]
        scores = lengths.copy()
        lengths[S] = 0
        j = int(np.argmax(lengths))
        if lengths[j] == 0:
            break
        S.append(j)
    return S, scores


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
    start, factor = _checked_grid(grid)
    fixed = None if lam is None else check_level(lam, "lam")
    check_level(weight_decay, "weight_decay")
    data = prepared(X, y, k, task, sample_weight, standardize)
    name = "group LASSO on the first layer"
    if not data.k:
        return data.ranking(name, [], np.zeros(0))
    with seeded(rng) as generator:
        network, rows, loss = data.mlp(hidden), data.rows, data.loss
        if fixed is not None:
            lengths = (
                Proximal(network, rows, loss, dense, generator, weight_decay).run(fixed).double().numpy()
            )
            order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
            return data.ranking(f"{name}, λ fixed", order[: data.k], lengths, fixed)
        level = start * _largest_gradient(network, rows, loss)
        adam(network, rows, loss, dense, generator, "λ = 0")
        steps = Proximal(network, rows, loss, plan, generator, weight_decay)
        levels, lengths = _levels(steps, level, factor, data.k)
    order = np.lexsort((-lengths, -levels))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    scores = levels * factor ** (1 - rank / max(1, len(rank)))
    return data.ranking(name, order[: data.k], scores, levels)


def _checked_grid(grid: Any) -> tuple[float, float]:
    try:
        start, factor = (check_real(value, "grid") for value in grid)
    except (TypeError, ValueError):
        start, factor = 0.0, 0.0
    if not (start > 0 and factor > 1):
        raise ValueError(f"grid must be two numbers, start > 0 and factor > 1; got {grid!r}")
    return start, factor


def _levels(steps: Proximal, level: float, factor: float, k: int) -> tuple[FloatArray, FloatArray]:
    """For each feature the last λ at which its row was nonzero, 0 if it never was, and ‖W_j‖ there."""
    levels, lengths = np.zeros((2, steps.W.shape[1]))
    while level > 0:
        now = steps.run(level).double().numpy()
        alive = now > 0
        levels[alive], lengths[alive] = level, now[alive]
        if alive.sum() <= k:
            break
        level *= factor
    return levels, lengths


def _largest_gradient(network: nn.Sequential, rows: Rows, loss: Loss) -> float:
    """λ_max = max_j ‖∂L/∂W_j‖₂ at W = 0, with the other layers as they were drawn."""
    blank = copy.deepcopy(network)
    nn.init.zeros_(next(blank.parameters()))
    return float(row_gradients(blank, rows, loss).norm(dim=0).max())
