"""Orthogonal Matching Pursuit on the first layer of a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.neural.baselines._data import Task, prepared
from sparselin.neural.baselines._fit import GrowingNetwork
from sparselin.neural.training import planned, seeded
from sparselin.results import FeatureRanking
from sparselin.validation import check_count


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
    scores = np.zeros(len(data.kept), data.X.dtype)
    if not data.k:
        return data.ranking("OMP on the first layer", [], scores)
    with seeded(rng) as generator:
        net = GrowingNetwork(data, hidden, generator)
        while len(net.S) < data.k:
            net.train(plan)
            norms = net.gradients()
            if not len(norms):
                break
            scores = np.where(norms < 0, scores, norms)
            room = min(features_per_step, data.k - len(net.S))
            for j in np.argsort(-norms, kind="stable")[:room].tolist():
                net.add(j)
    return data.ranking("OMP on the first layer", net.S, scores, scores)
