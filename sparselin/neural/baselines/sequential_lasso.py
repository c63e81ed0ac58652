"""Sequential LASSO on the first layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from sparselin.neural.baselines._data import PreparedData, Task, prepared
from sparselin.neural.baselines._fit import GrowingNetwork, Proximal
from sparselin.neural.networks import mlp
from sparselin.neural.training import Plan, planned, seeded
from sparselin.results import FeatureRanking, FloatArray
from sparselin.validation import check_level, check_real


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
        scores, levels = np.zeros((2, len(data.kept)), data.X.dtype)
        while len(net.S) < data.k:
            net.train(plan)
            norms = net.gradients()
            if not len(norms):
                break
            scores = np.where(norms < 0, scores, norms)
            j, level = _first_entry(net, plan, float(norms.max()), decrease)
            levels[j] = level
            net.keep()
            net.add(j)
    return data.ranking(name, net.S, scores, levels)


def _first_entry(net: GrowingNetwork, plan: Plan, top: float, decrease: float) -> tuple[int, float]:
    """The feature whose row is the first to stay nonzero as λ falls from λ* = top, and that λ."""
    steps = Proximal(net.network, net.first, plan.learning_rate)
    level = top
    while True:
        level *= 1 - decrease
        lam = torch.full((net.first.in_features,), level, dtype=net.first.weight.dtype)
        lam[net.S] = 0
        steps.run(net.rows, net.loss, lam, plan, net.generator, f"λ = {level:.4g}")
        lengths = net.first.weight.detach().norm(dim=0)
        lengths[net.S] = 0
        if lengths.max() > 0:
            return int(np.argmax(lengths.numpy())), level


def _at_one_level(
    data: PreparedData, hidden: Sequence[int], plan: Plan, level: float, generator: torch.Generator
) -> tuple[list[int], FloatArray]:
    """The picks at a fixed λ, and ‖W_j‖: at the pick for them, at the last for others."""
    rows = data.rows
    network = mlp(len(data.kept), hidden, data.q, dtype=rows.X.dtype)
    lam = torch.full((len(data.kept),), level, dtype=rows.X.dtype)
    steps = Proximal(network, network[0], plan.learning_rate)
    S: list[int] = []
    scores = np.zeros(len(data.kept), data.X.dtype)
    while len(S) < data.k:
        steps.run(rows, data.loss, lam, plan, generator, f"λ = {level:.4g}, {len(S)} features")
        lengths = network[0].weight.detach().norm(dim=0).numpy()
        lengths[S] = scores[S]
        scores = lengths.copy()
        lengths[S] = 0
        j = int(np.argmax(lengths))
        if lengths[j] == 0:
            break
        S.append(j)
        lam[j] = 0
    return S, scores
