"""The form of the chunks of a data source: the first chunk determines it, and all others must have it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.scale.chunks import BadChunkData, Chunk, Codes
from sparselin.validation import Columns, Names, check_indices

SEPARATE = -1  # the index of y, or of weights, if they are not columns of X but come as vectors with it


class Form(NamedTuple):
    """The form of a chunk. Columns are given by their indices in the chunk.

    names, kinds, width : the names, dtypes and number of the columns.
    y, weight : the column of y and of the weights, or SEPARATE; weight is None without weights.
    numbers : the numeric features in the order of the factor, the forced ones first.
    categories : the categorical features.
    intercept, max_levels, held_out : see `compress`.
    """

    names: Names
    kinds: tuple[str, ...]
    width: int
    y: int
    weight: int | None
    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    intercept: bool
    max_levels: int
    held_out: int

    def check(self, chunk: Chunk) -> None:
        """Raise BadChunkData if the chunk's layout differs from the first one, or its weights are invalid."""
        if chunk.width != self.width:
            raise BadChunkData(f"has {chunk.width} columns; the first chunk has {self.width}")
        if chunk.names != self.names:
            raise BadChunkData(f"has columns {_quote(chunk.names)}; the first chunk has {_quote(self.names)}")
        for j, (kind, first) in enumerate(zip(chunk.kinds, self.kinds, strict=True)):
            if kind != first:
                which = "entries" if len(self.kinds) != self.width else f"{self.name(j)}"
                raise BadChunkData(f"has {which} of dtype {kind}; the first chunk has {first}")
        for place, vector, name in ((self.y, chunk.y, "y"), (self.weight, chunk.weight, "weights")):
            if (place == SEPARATE) != (vector is not None):
                verb = "lacks" if place == SEPARATE else "has"
                raise BadChunkData(f"{verb} {name} in a tuple with X, unlike the first chunk")
        weight = self.weights(chunk)
        if weight is not None and chunk.rows and not (np.isfinite(weight).all() and weight.min() >= 0):
            i = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
            raise BadChunkData(f"has weight {weight[i]} in row {i}: weights must be finite and nonnegative")

    def name(self, j: int) -> str:
        """Return the name of column j for messages: its own name, or its index."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def response(self, chunk: Chunk) -> FloatArray:
        """Return y of the chunk."""
        values = chunk.y if self.y == SEPARATE else chunk.column(self.y)
        assert values is not None
        return values

    def weights(self, chunk: Chunk) -> FloatArray | None:
        """Return the weights of the chunk, or None."""
        if self.weight is None:
            return None
        values = chunk.weight if self.weight == SEPARATE else chunk.column(self.weight)
        return np.asarray(values, np.float64)

    def runs(self) -> list[tuple[slice, slice]]:
        """Return pairs of slices: columns of the chunk, and the columns of the factor that hold them.

        There is one pair for each maximal sequence of numeric features that are neighbours, in the same
        order, in the chunk and in the factor.
        """
        at = int(self.intercept)
        pairs = [(j, at + i) for i, j in enumerate(self.numbers)]
        grouped = itertools.groupby(pairs, lambda pair: pair[1] - pair[0])
        found = [list(group) for _, group in grouped]
        return [(slice(g[0][0], g[-1][0] + 1), slice(g[0][1], g[-1][1] + 1)) for g in found]


def form_of(
    chunk: Chunk,
    y: int | str | None,
    weights: int | str | None,
    columns: Columns | None,
    forced: Columns,
    categories: Columns,
    **settings: Any,
) -> Form:
    """Return the form of the first chunk for the arguments of `compress`.

    Raises ValueError or TypeError if the arguments do not fit the chunk.
    """
    y_at = _index(y, "y", chunk, chunk.y)
    weighted = weights is not None or chunk.weight is not None
    w_at = _index(weights, "weights", chunk, chunk.weight) if weighted else None
    if w_at is not None and w_at == y_at != SEPARATE:
        raise ValueError(f"weights and y are the same column, {weights!r}")
    taken = {y_at, w_at}
    every = range(chunk.width) if columns is None else _indices(columns, "columns", chunk)
    features = [j for j in every if j not in taken]
    coded = _feature_indices(categories, "categories", features, chunk)
    first = _feature_indices(forced, "forced", features, chunk)
    if set(first) & set(coded):
        raise ValueError(
            "forced must be numeric columns: pass the levels of a category to the method instead"
        )
    numbers = [j for j in features if j not in coded]
    needed = [*numbers, y_at, *(() if w_at is None else (w_at,))]
    texts = [j for j in needed if j != SEPARATE and isinstance(chunk.column(j), Codes)]
    if texts:
        name, kind = f"column {chunk.names[texts[0]]!r}" if chunk.names else texts[0], chunk.kinds[texts[0]]
        raise TypeError(
            f"{name} is not numeric (dtype {kind or 'object'}): name it in categories, or leave it out"
        )
    if not features:
        raise ValueError("source must have a column besides y and the weights")
    order = [*first, *(j for j in numbers if j not in first)]
    return Form(chunk.names, chunk.kinds, chunk.width, y_at, w_at, tuple(order), tuple(coded), **settings)


def _feature_indices(columns: Columns, argument: str, features: list[int], chunk: Chunk) -> list[int]:
    found = _indices(columns, argument, chunk)
    if missing := set(found) - set(features):
        raise ValueError(f"{argument} must be features; column {min(missing)} is y, the weights or left out")
    return found


def _indices(columns: Columns, argument: str, chunk: Chunk) -> list[int]:
    return [int(j) for j in check_indices(columns, chunk.width, argument, chunk.names)]


def _index(column: Any, argument: str, chunk: Chunk, vector: Any) -> int:
    if vector is not None:
        if column is not None:
            raise ValueError(f"{argument} is in the chunks' tuples already: leave out {argument}={column!r}")
        return SEPARATE
    if column is None:
        raise ValueError(f"{argument} must name a column, or the chunks must be tuples with {argument}")
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and -chunk.width <= column < 0:
        column = int(column) + chunk.width
    return _indices([column], argument, chunk)[0]


def _quote(names: Sequence[str] | None) -> str:
    if names is None:
        return "without names"
    return ", ".join(map(repr, names[:4])) + (", …" if len(names) > 4 else "")
