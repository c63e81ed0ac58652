"""Networks: a perceptron, LassoNet's network with a skip connection, and embedded columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Return a perceptron: linear layers with ReLU and dropout between them.

    Without hidden layers it is a linear model. The weights are drawn from PyTorch's global generator, so
    `torch.manual_seed` makes them reproducible.

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
    check_real(dropout, "dropout", lambda p: 0 <= p <= 1, "a probability in [0, 1]")
    layers: list[nn.Module] = []
    for width, following in pairwise((n_features, *hidden)):
        layers += [nn.Linear(width, following, dtype=dtype), nn.ReLU()]
        layers += [nn.Dropout(dropout)] if dropout else []
    return nn.Sequential(*layers, nn.Linear([n_features, *hidden][-1], n_outputs, dtype=dtype))


def widths_of(given: Any, name: str) -> list[int]:
    """Return the widths of hidden layers, given as a sequence of integers or as one integer."""
    return [check_count(width, name, 1) for width in np.atleast_1d(np.asarray(given, dtype=object)).tolist()]


def first_linear(network: nn.Module, n_features: int) -> tuple[str, nn.Linear]:
    """Return the name and the module of the linear layer that reads X.

    Raises ValueError unless the first layer with parameters is linear and has n_features inputs.
    """
    for name, module in network.named_modules():
        if next(module.parameters(recurse=False), None) is not None:
            if isinstance(module, nn.Linear) and module.in_features == n_features:
                return name, module
            break
    raise ValueError(
        f"network must begin with nn.Linear({n_features}, …), which reads the features; got {network}"
    )


def keep_columns(layer: nn.Linear, columns: Any) -> nn.Linear:
    """Make the layer read only these columns of X, with a copy of their weights; return the layer."""
    layer.weight = nn.Parameter(layer.weight.detach()[:, columns].clone())
    layer.in_features = layer.weight.shape[1]
    return layer


class SkipNetwork(nn.Module):
    """LassoNet's residual network x ↦ θᵀx + g(x), with a skip connection θ (Section 2 of the LassoNet paper).

    Attributes
    ----------
    skip : a Linear layer without bias, from d features to q outputs; column j of its weight is θ_j (q,).
    network : g, any network that begins with a Linear layer.
    first : the first Linear layer of g; column j of its weight is W_j.

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
        """The linear layer of `network` that reads X."""
        return first_linear(self.network, self.skip.in_features)[1]

    def forward(self, X: Tensor) -> Tensor:
        """Return the outputs (n, q) for the rows of X (n, d), including those of the skip connection."""
        return self.skip(X) + self.network(X)


class EmbeddedColumns(nn.Module):
    """A layer that maps p columns to d features: it replaces categorical columns by learned vectors.

    Other columns are passed on unchanged.

    Pass the layer as `inputs` to `SequentialAttention`. The mask then has one weight for all features of a
    column, so whole columns are selected.

    Parameters
    ----------
    n_columns : p, the number of columns.
    categories : a dictionary from each categorical column to its number of categories. The entries of such a
        column are the integers 0..number − 1, stored as integers or floats. If X holds integers, it is not
        converted to floats, so numbers above 2²⁴ stay distinct.
    dimension : the length of an embedding vector.

    Attributes
    ----------
    in_features, n_features : p and d.
    groups : (d,) the column of each feature.

    Raises
    ------
    TypeError, ValueError : a column is not in 0..p − 1, or there is less than one category or dimension. The
        call raises ValueError if an entry is not a category; the message names the column.

    >>> columns = EmbeddedColumns(3, {1: 10}, dimension=2)
    >>> columns.groups.tolist(), columns(torch.tensor([[0.5, 9.0, 1.5]])).shape
    ([0, 2, 1, 1], torch.Size([1, 4]))
    """

    def __init__(self, n_columns: int, categories: Mapping[int, int], dimension: int = 8) -> None:
        super().__init__()
        p = self.in_features = check_count(n_columns, "n_columns", 1)
        dimension = check_count(dimension, "dimension", 1)
        if not isinstance(categories, Mapping):
            raise TypeError(
                f"categories must be a dict of columns and their numbers of categories; got {categories!r}"
            )
        self._columns = sorted(check_count(j, "a column of categories", 0, p - 1) for j in categories)
        self._numeric = [j for j in range(p) if j not in categories]
        sizes = [check_count(categories[j], f"categories[{j}]", 1) for j in self._columns]
        self.table = nn.Embedding(sum(sizes), dimension)
        self.groups = np.array(self._numeric + [j for j in self._columns for _ in range(dimension)], np.intp)
        self.n_features = len(self.groups)
        self.register_buffer("_sizes", torch.tensor(sizes, dtype=torch.long), persistent=False)
        self.register_buffer("_starts", self._sizes.cumsum(0) - self._sizes, persistent=False)

    def forward(self, X: Tensor) -> Tensor:
        """Return the features (b, d): the numeric columns, then the embeddings of the categorical columns."""
        given = X[:, self._columns]
        numbers = given.long()
        wrong = (numbers < 0) | (numbers >= self._sizes) | (numbers != given)
        if bool(wrong.any()):
            i, at = torch.nonzero(wrong)[0].tolist()
            last = int(self._sizes[at]) - 1
            raise ValueError(
                f"column {self._columns[at]} must hold categories, integers in 0..{last}; "
                f"got {given[i, at].item()} in row {i}"
            )
        vectors = self.table(numbers + self._starts).flatten(1)
        return torch.cat([X[:, self._numeric].to(vectors.dtype), vectors], dim=1)
