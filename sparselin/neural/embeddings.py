"""Categorical columns as embeddings: one unit for each column, whatever the width of its embedding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from sparselin.validation import check_count


class EmbeddedColumns(nn.Module):
    """(b, p) columns to (b, d) features: categorical ones to learned vectors, the others as they are.

    To pass as `inputs` to `SequentialAttention`: its mask then acts on the features, with one weight for all
    features of a column, so that columns are selected.

    Parameters
    ----------
    n_columns : p.
    categories : column ↦ number of categories; its entries are integers in 0..number − 1, as integers or as
        floats. X of integers is taken as it is, so that numbers above 2²⁴ stay apart.
    dimension : numbers in an embedding.

    Attributes
    ----------
    in_features, n_features : p, d.
    groups : (d,) the column of each feature.

    Raises
    ------
    TypeError, ValueError : a column outside 0..p − 1, fewer than one category or dimension; in a batch,
        entries that are no category, with the column.

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
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.register_buffer("_starts", torch.as_tensor(starts[: len(sizes)]), persistent=False)

    def forward(self, X: Tensor) -> Tensor:
        """The numeric columns, then the embeddings of the others: (b, d)."""
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
