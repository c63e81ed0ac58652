"""Networks: a perceptron with hidden layers, the skip connection of LassoNet, and the layer that reads X."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.validation import check_count, check_real


def mlp(
    n_features: int,
    hidden: Sequence[int],
    n_outputs: int,
    *,
    dropout: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> nn.Sequential:
    """Linear layers of these widths with ReLU, and dropout, between them; without hidden ones a linear model.

    The weights are drawn from PyTorch's global generator: see `torch.manual_seed`.

    >>> mlp(4, [3], 2)
    Sequential(
      (0): Linear(in_features=4, out_features=3, bias=True)
      (1): ReLU()
      (2): Linear(in_features=3, out_features=2, bias=True)
    )
    """
    n_features, n_outputs = check_count(n_features, "n_features", 0), check_count(n_outputs, "n_outputs", 1)
    hidden = widths_of(hidden, "hidden")
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype, such as torch.float32; got {dtype!r}")
    if not 0 <= check_real(dropout, "dropout") <= 1:
        raise ValueError(f"dropout must be a probability, in 0..1; got {dropout}")
    layers: list[nn.Module] = []
    for width, following in pairwise((n_features, *hidden)):
        layers += [nn.Linear(width, following, dtype=dtype), nn.ReLU()]
        layers += [nn.Dropout(dropout)] if dropout else []
    last = hidden[-1] if len(hidden) else n_features
    return nn.Sequential(*layers, nn.Linear(last, n_outputs, dtype=dtype))


def widths_of(given: Any, name: str) -> list[int]:
    """Return the widths of hidden layers, of a sequence of integers or a single one."""
    return [check_count(width, name, 1) for width in np.atleast_1d(np.asarray(given, dtype=object)).tolist()]


def first_linear(network: nn.Module, n_features: int) -> tuple[str, nn.Linear]:
    """The name and the layer, of a network whose first layer that has parameters is linear and reads X.

    ValueError where there is none.
    """
    for name, module in network.named_modules():
        if next(module.parameters(recurse=False), None) is None:
            continue
        if isinstance(module, nn.Linear) and module.in_features == n_features:
            return name, module
        break
    raise ValueError(
        f"network must begin with nn.Linear({n_features}, …), which reads the features; got {network}"
    )


class SkipNetwork(nn.Module):
    """x ↦ θᵀx + g(x), LassoNet's residual network (Section 2 there).

    Attributes
    ----------
    skip : Linear (d, q) without bias; its columns are the θ_j (q,).
    network : g, any network that begins with a Linear layer; the columns of that layer are the W_j.
    first : that layer.

    >>> net = SkipNetwork(mlp(4, [3], 2), 4, 2)
    >>> net(torch.zeros(5, 4)).shape, tuple(net.first.weight.shape)
    (torch.Size([5, 2]), (3, 4))
    """

    def __init__(self, network: nn.Module, n_features: int, n_outputs: int) -> None:
        super().__init__()
        _, first = first_linear(network, n_features)
        self.network = network
        self.skip = nn.Linear(n_features, n_outputs, bias=False).to(first.weight)

    @property
    def first(self) -> nn.Linear:
        """The layer of `network` that reads X."""
        return first_linear(self.network, self.skip.in_features)[1]

    def forward(self, X: Tensor) -> Tensor:
        """θᵀx + g(x) for the rows of X (n, d): (n, q)."""
        return self.skip(X) + self.network(X)
