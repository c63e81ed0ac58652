"""The marginal gains of features in the loss of a network."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from sparselin.neural.training import Loss, Rows, as_loss, check_finite_loss, forward, seeded
from sparselin.results import FloatArray, IndexArray


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
