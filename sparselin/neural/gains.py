"""The marginal gains of features in the loss of a network, compared with attention weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from sparselin.neural.attention import SequentialAttention
from sparselin.neural.batches import Shuffled
from sparselin.neural.training import Loss, Rows, as_generator, as_loss, check_finite_loss, forward, seeded
from sparselin.results import FloatArray, IndexArray

MakeNetwork = Callable[[], nn.Module]


class Gains(NamedTuple):
    """The marginal gains and the attention weights of the candidates, and the correlation of their ranks.

    Attributes
    ----------
    selected : S, the selected features.
    candidates : (m,) the features outside S.
    gain : (repeats, m) ℓ(S) − ℓ(S ∪ {i}), where ℓ(T) is the training loss of a network trained on T.
    attention : (repeats, m) the attention weights s_i at the end of a phase of Sequential Attention of the
        same length.
    correlation : Spearman's correlation between the mean gain and the mean attention weight over the repeats.
    correlations : (repeats,) Spearman's correlation in each repeat.
    repeatability : the mean of Spearman's correlation between the gains of two repeats; NaN for a single
        repeat. It limits `correlation`, because gains can hardly agree better with attention weights than
        with the gains of another repeat.
    """

    selected: IndexArray
    candidates: IndexArray
    gain: FloatArray
    attention: FloatArray
    correlation: float
    correlations: FloatArray
    repeatability: float


def marginal_gains(
    network: nn.Module,
    X: Tensor,
    y: Tensor,
    selected: Sequence[int],
    *,
    loss: str | nn.Module | Loss = "cross_entropy",
    epochs: int = 50,
    batch_size: int | None = 256,
    learning_rate: float = 1e-3,
    rng: Any = 0,
) -> tuple[IndexArray, FloatArray]:
    """Compute the marginal gain ℓ(S) − ℓ(S ∪ {i}) of every feature i ∉ S.

    ℓ(T) is the loss on X, y after training with Adam, where the columns of X outside T are set to zero. One
    network is trained for S, and one for each candidate. All of them start from the weights of `network`,
    which is not changed, and get the same batches. They are trained together with `torch.vmap`.

    Returns the candidates (m,) and their gains (m,). Raises NonFiniteLoss, whose message names the epoch.

    Source: Definition B.1 of *Sequential Attention for Feature Selection*.

    >>> from sparselin.neural import mlp
    >>> X = torch.eye(4).repeat(8, 1)
    >>> y = 2 * X[:, [0]] + X[:, [2]]
    >>> with seeded(0):
    ...     network = mlp(4, [], 1)
    >>> candidates, gain = marginal_gains(network, X, y, [0], loss="squared", learning_rate=0.1)
    >>> candidates.tolist(), gain.round(2).tolist()
    ([1, 2, 3], [0.02, 0.08, 0.02])
    """
    d, by_rows = X.shape[1], as_loss(loss)
    candidates = np.setdiff1d(np.arange(d), selected)
    masks = torch.zeros(len(candidates) + 1, d).to(X)
    masks[:, list(selected)] = 1
    masks[torch.arange(len(candidates)), torch.as_tensor(candidates)] = 1
    state, buffers = stack_module_state([copy.deepcopy(network) for _ in masks])

    def losses(rows: Rows) -> Tensor:
        def mean_loss(state: Any, buffers: Any, mask: Tensor) -> Tensor:
            output = forward(lambda X: functional_call(network, (state, buffers), (X,)), rows.X * mask)
            return rows.mean(by_rows, output)

        values: Tensor = vmap(mean_loss, randomness="same")(state, buffers, masks)
        return values

    with seeded(rng) as generator:
        optimizer, data = torch.optim.Adam(state.values(), learning_rate), Rows(X, y)
        network.train()
        for epoch in range(epochs):
            for rows in data.batches(batch_size, generator):
                optimizer.zero_grad()
                total = losses(rows).sum()
                check_finite_loss(float(total.detach()), f"epoch {epoch + 1}")
                total.backward()
                optimizer.step()
        with torch.no_grad():
            final = losses(data).to("cpu", torch.float64).numpy()
    return candidates, final[-1] - final[:-1]


def gains_and_attention(
    make: MakeNetwork,
    X: Tensor,
    y: Tensor,
    selected: Sequence[int],
    *,
    repeats: int = 1,
    epochs: int = 50,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    rng: Any = 0,
    **attention: Any,
) -> Gains:
    """Compute the marginal gain of every feature outside S, and the attention weights after one phase.

    S are the features `selected`, which are selected in this phase of Sequential Attention too.

    make : a function that returns a network with random weights. It is called once for each repeat, and the
        network is used for the gains and for the attention.
    epochs, batch_size, learning_rate : the settings of all trainings, with Adam.
    attention : options of `SequentialAttention`; by default there is no warm-up.

    Source: Appendix B.6 of *Sequential Attention for Feature Selection*, Figure 11.
    """
    found = as_generator(rng)
    gain, weight = [], []
    for _ in range(repeats):
        seed = int(found.integers(2**32))
        with seeded(seed):
            network = make()
        candidates, values = marginal_gains(
            network, X, y, selected,
            epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, rng=seed,
        )  # fmt: skip
        gain.append(values)
        method = SequentialAttention(
            network, len(selected) + 1, n_features=X.shape[1], forced=list(selected), rng=seed,
            optimizer=lambda p: torch.optim.Adam(p, learning_rate), **{"warm_up": 0, **attention},
        )  # fmt: skip
        weight.append(method.fit(Shuffled(Rows(X, y), batch_size), epochs).attention[0][candidates])
    gains, weights = np.array(gain), np.array(weight)
    pairs = [_spearman(a, b) for i, a in enumerate(gains) for b in gains[:i]]
    return Gains(
        np.array(selected, np.intp), candidates, gains, weights,
        _spearman(gains.mean(0), weights.mean(0)),
        np.array([_spearman(a, b) for a, b in zip(gains, weights, strict=True)]),
        float(np.mean(pairs)) if pairs else np.nan,
    )  # fmt: skip


def _spearman(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's correlation of two vectors: the correlation of their ranks."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)
