"""Methods that select by the rows of W, the first layer of a network: OMP, Sequential LASSO, group LASSO."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from sparselin.neural.baselines._data import PreparedData, baseline
from sparselin.neural.baselines._fit import GrowingNetwork, Proximal, row_gradients
from sparselin.neural.training import Loss, Plan, Rows, adam, make_plan, seeded
from sparselin.results import FeatureRanking, FloatArray
from sparselin.validation import check_count, check_level, check_real


@baseline("OMP on the first layer")
def omp(
    data: PreparedData,
    *,
    hidden: Sequence[int] = (67,),
    epochs: int = 5,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    features_per_step: int = 1,
    rng: Any = 0,
) -> FeatureRanking:
    """Run OMP with a network: train on S, and add the feature with the largest gradient.

        j* = argmax_{j ∉ S} ‖∂L(f_S)/∂W_j‖₂,    S ← S ∪ j*,    W_j ∈ ℝᴷ the row of j in the first layer,

    where f_S is the network trained on S, with W_j = 0 for all j ∉ S. *Sequential Attention for Feature
    Selection* (ICLR 2023, Section 4.1 and Appendix B.2.2) extends OMP to networks in this way, following
    Elenberg, Khanna, Dimakis and Negahban (*Restricted strong convexity implies weak submodularity*, 2018).
    Here the gradients are over all rows of X; the authors' code uses one batch, and random weights of the
    unselected features. Without hidden layers, for regression, and trained to the minimum, this is
    `sparselin.omp` with an intercept (for several outputs M-OMP).

    A gradient at W_j = 0 cannot detect a feature that acts only together with other unselected features
    (XOR).

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : the widths of the hidden layers.
    epochs : the number of passes over the data before each selection. Each training starts from the weights
        of the previous training.
    batch_size : the number of rows of a batch; None: all rows, with at most `epochs` iterations of L-BFGS.
    learning_rate : the step length of Adam.
    features_per_step : the number of features to add at once.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` and `lam` are the gradient norms when a feature is selected; for unselected
        features the last norms.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> omp(X, X[:, 2] - 2 * X[:, 1], 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    plan = make_plan(epochs, batch_size, learning_rate)
    check_count(features_per_step, "features_per_step", 1)
    with seeded(rng) as generator:
        net = GrowingNetwork(data, hidden, generator)
        for norms in net.gradients(plan):
            count = min(features_per_step, data.k - len(net.S))
            for j in np.argsort(-norms, kind="stable")[:count].tolist():
                net.add(j)
    return data.ranking("OMP on the first layer", net.S, net.scores, net.scores)


@baseline("Sequential LASSO on the first layer")
def sequential_lasso(
    data: PreparedData,
    *,
    lam: float | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 5,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    decrease: float = 1e-3,
    rng: Any = 0,
) -> FeatureRanking:
    """Minimise L + λ·Σ_{j ∉ S} ‖W_j‖₂, and add to S the feature outside S whose row becomes nonzero first.

    W_j ∈ ℝᴷ is the row of feature j in the first layer. *Sequential Attention for Feature Selection* (ICLR
    2023, Section 4.1) extends Sequential LASSO of Luo and Chen (*Sequential lasso cum EBIC for feature
    selection with ultra-high dimensional feature space*, 2014) to networks in this way. There are two
    variants:

    λ = None : with the network trained on S, all zero rows are stationary for λ ≥ λ* = max_{j ∉ S}
        ‖∂L/∂W_j‖₂. λ decreases from λ* in steps of a share `decrease`, with `epochs` passes of proximal
        gradient steps at each λ, until a row stays nonzero. If there are several, the feature with the
        longest row joins S. From a stationary point the first proximal step makes exactly the rows with
        ‖∂L/∂W_j‖ > λ nonzero, so the feature with the largest gradient enters first. To first order
        Sequential LASSO is therefore OMP for networks too, as for least squares (Theorem 3.3 there), and it
        cannot detect XOR either. Without hidden layers and for one output it is
        `sparselin.sequential_lasso` with an intercept.
    λ a number : as in the authors' code all rows W_j are trained at once, with λ fixed. After every `epochs`
        passes the feature with the longest row outside S joins S, and its row is no longer penalised. This
        variant starts from a network that reads all features. (The authors use subgradients; here the steps
        are proximal.)

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    hidden : the widths of the hidden layers.
    lam : λ, or None; see above.
    epochs : the number of passes over the data for each selection; with λ = None on S, and again at each λ.
    batch_size : the number of rows of a batch; None: all rows, and training on S uses L-BFGS.
    learning_rate : the step length of Adam and of `Proximal`.
    decrease : the share by which λ decreases from step to step.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `scores` are λ* when a feature is selected, and for unselected features the last
        gradient norms; if λ is a number, they are ‖W_j‖. `lam` is the λ at which each feature entered.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = X[:, 2] - 2 * X[:, 1]
    >>> sequential_lasso(X, y, 2, hidden=(), batch_size=None, epochs=50).support.tolist()
    [1, 2]
    """
    plan = make_plan(epochs, batch_size, learning_rate)
    if not 0 < check_real(decrease, "decrease") < 1:
        raise ValueError(f"decrease must be between 0 and 1; got {decrease}")
    lam = None if lam is None else check_level(lam, "lam")
    name = "Sequential LASSO on the first layer" + ("" if lam is None else ", λ fixed")
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
    """Return the feature whose row is the first to stay nonzero as λ decreases from λ* = top, and this λ."""
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
    """Return the features that are selected at a fixed λ in order, and the scores (m,).

    The score of a selected feature is ‖W_j‖ when it is selected. The score of any other feature is ‖W_j‖ at
    the end.
    """
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


@baseline("group LASSO on the first layer")
def group_lasso(
    data: PreparedData,
    *,
    lam: float | None = None,
    hidden: Sequence[int] = (67,),
    epochs: int = 2,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    dense_epochs: int = 20,
    grid: tuple[float, float] = (1e-3, 1.1),
    weight_decay: float = 0.01,
    rng: Any = 0,
) -> FeatureRanking:
    """Minimise L + λ·Σ_j ‖W_j‖₂ + ½·weight_decay·‖V‖² while λ grows, until at most k rows W_j are nonzero.

    W_j ∈ ℝᴷ is the row of feature j in the first layer, and V are all other parameters. This is the group
    LASSO of Yuan and Lin (*Model selection and estimation in regression with grouped variables*, 2006) on the
    inputs of a network, as in Scardapane, Comminiello, Hussain and Uncini (*Group sparse regularization for
    deep neural networks*, 2017) and in Section 4.1 of *Sequential Attention for Feature Selection* (ICLR
    2023). They use subgradients; here the steps are proximal (`Proximal`), so rows become exactly zero.
    Without hidden layers and for one output it is the LASSO.

    First the network is trained without penalty. Then λ = start·λ_max, start·factor·λ_max, …, where λ_max =
    max_j ‖∂L/∂W_j‖₂ at W = 0, and each training starts from the weights of the previous training. Features
    are ranked by the last λ at which their rows were nonzero, then by ‖W_j‖ at this λ. If `lam` is given,
    there is a single λ, with `dense_epochs` passes from random weights, and the features are ranked by ‖W_j‖,
    as in the authors' code.

    Without weight decay the penalty would have little effect, because ReLU networks are homogeneous: if the
    first layer is multiplied by t and the next one by 1/t, the function stays the same. So the infimum of the
    objective would be that of L, and V would grow with λ. With weight decay W and V cannot both be small. The
    problem is not convex, so which rows vanish depends on the path too.

    Parameters
    ----------
    X, y, k, task, sample_weight, rng : see `sparselin.neural.baselines`.
    lam : one λ in place of the path.
    hidden : the widths of the hidden layers.
    epochs, dense_epochs : the number of passes over the data at each λ, and before that without penalty.
    batch_size : the number of rows of a batch; None: all rows.
    learning_rate : the step length of Adam and of `Proximal`.
    grid : start, the first λ divided by λ_max; and factor > 1, the ratio of successive λ.
    weight_decay : the weight decay of V along the path, or with `lam`.
    standardize : whether to scale the columns to variance 1; if not, long columns have an advantage.

    Returns
    -------
    `FeatureRanking`: `lam` is the last λ of each feature. `scores` break the ties: the feature of rank
        r = 0, 1, … among m has the score λ·factor^(1 − r/m). If `lam` is given, the scores are ‖W_j‖.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sign(X[:, 2] + 2 * X[:, 1]).astype(int)
    >>> group_lasso(X, y, 2, hidden=(8,), batch_size=None, learning_rate=0.01).support.tolist()
    [1, 2]
    """
    plan = make_plan(epochs, batch_size, learning_rate)
    dense = make_plan(dense_epochs, batch_size, learning_rate)
    start, factor = _check_grid(grid)
    fixed = None if lam is None else check_level(lam, "lam")
    check_level(weight_decay, "weight_decay")
    name = "group LASSO on the first layer"
    with seeded(rng) as generator:
        network, rows, loss = data.mlp(hidden), data.rows, data.loss
        if fixed is not None:
            steps = Proximal(network, rows, loss, dense, generator, weight_decay)
            lengths = steps.run(fixed).double().numpy()
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


def _check_grid(grid: Any) -> tuple[float, float]:
    """Return start and factor, after checking them."""
    try:
        start, factor = (check_real(value, "grid") for value in grid)
    except (TypeError, ValueError):
        start, factor = 0.0, 0.0
    if not (start > 0 and factor > 1):
        raise ValueError(f"grid must be two numbers, start > 0 and factor > 1; got {grid!r}")
    return start, factor


def _levels(steps: Proximal, level: float, factor: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Return, for each feature, the last λ at which its row was nonzero (0 if never), and ‖W_j‖ at this λ."""
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
    """Return λ_max = max_j ‖∂L/∂W_j‖₂, L the loss, at W = 0, with random weights of the other layers."""
    blank = copy.deepcopy(network)
    nn.init.zeros_(next(blank.parameters()))
    return float(row_gradients(blank, rows, loss).norm(dim=0).max())
