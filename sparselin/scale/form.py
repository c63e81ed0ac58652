"""What the chunks of a pass have in common: read off the first one, asked of all others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.scale.chunks import Bad, Chunk, Codes
from sparselin.validation import Columns, Names, check_indices

APART = -1  # the place of y, or of weights, that come beside X


class Form(NamedTuple):
    """Columns by their places in a chunk.

    names, kinds, width : of the columns of every chunk.
    y, weight : where they are, or APART; None for no weights.
    numbers : the features that are numbers, in the order of the factor: forced ones first.
    categories : the features that are categories.
    intercept, max_levels : see `compress`.
    held_out : every so manieth row is held out, none for 0.
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
        """Raise Bad if the chunk has another form, or weights that are none."""
        if chunk.width != self.width:
            raise Bad(f"has {chunk.width} columns; the first chunk has {self.width}")
        if chunk.names != self.names:
            raise Bad(f"has the columns {_some(chunk.names)}; the first chunk has {_some(self.names)}")
        for j, (now, then) in enumerate(zip(chunk.kinds, self.kinds, strict=True)):
            if now != then:
                which = "entries" if len(self.kinds) != self.width else f"{self.name(j)}"
                raise Bad(f"has {which} of dtype {now}; the first chunk has {then}")
        for place, beside, name in ((self.y, chunk.y, "y"), (self.weight, chunk.weight, "weights")):
            if (place == APART) != (beside is not None):
                raise Bad(f"{'lacks' if place == APART else 'has'} {name} beside X, unlike the first chunk")
        weight = self.weights(chunk)
        if weight is not None and chunk.rows and not (np.isfinite(weight).all() and weight.min() >= 0):
            i = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
            raise Bad(f"has the weight {weight[i]} in its row {i}: weights must be finite and nonnegative")

    def name(self, j: int) -> str:
        """Column j, as messages call it."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def response(self, chunk: Chunk) -> FloatArray:
        values = chunk.y if self.y == APART else chunk.column(self.y)
        assert values is not None
        return values

    def weights(self, chunk: Chunk) -> FloatArray | None:
        if self.weight is None:
            return None
        values = chunk.weight if self.weight == APART else chunk.column(self.weight)
        return np.asarray(values, np.float64)

    def runs(self) -> list[tuple[slice, slice]]:
        """Where numbers go: columns of the chunk and of the factor, in runs of neighbours."""
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
    """The form that the arguments of `compress` give to the first chunk. Raises ValueError, TypeError."""
    y_at = _place(y, "y", chunk, chunk.y)
    weighted = weights is not None or chunk.weight is not None
    w_at = _place(weights, "weights", chunk, chunk.weight) if weighted else None
    if w_at is not None and w_at == y_at != APART:
        raise ValueError(f"weights and y are the same column, {weights!r}")
    taken = {y_at, w_at}
    every = range(chunk.width) if columns is None else _places(columns, "columns", chunk)
    features = [j for j in every if j not in taken]
    coded = _among(categories, "categories", features, chunk)
    first = _among(forced, "forced", features, chunk)
    if set(first) & set(coded):
        raise ValueError("forced must be columns of numbers: pass the levels of a category to the method")
    numbers = [j for j in features if j not in coded]
    needed = [*numbers, y_at, *(() if w_at is None else (w_at,))]
    texts = [j for j in needed if j != APART and isinstance(chunk.column(j), Codes)]
    if texts:
        name, kind = f"column {chunk.names[texts[0]]!r}" if chunk.names else texts[0], chunk.kinds[texts[0]]
        raise TypeError(
            f"{name} is of {kind}, no numbers: name it in categories, or leave it out by `columns`"
        )
    if not features:
        raise ValueError("there is no column besides y and the weights")
    order = [*first, *(j for j in numbers if j not in first)]
    return Form(chunk.names, chunk.kinds, chunk.width, y_at, w_at, tuple(order), tuple(coded), **settings)


def _among(columns: Columns, argument: str, features: list[int], chunk: Chunk) -> list[int]:
    found = _places(columns, argument, chunk)
    if missing := set(found) - set(features):
        raise ValueError(f"{argument} must be features; column {min(missing)} is y, the weights or left out")
    return found


def _places(columns: Columns, argument: str, chunk: Chunk) -> list[int]:
    return [int(j) for j in check_indices(columns, chunk.width, argument, chunk.names)]


def _place(column: Any, argument: str, chunk: Chunk, beside: Any) -> int:
    if beside is not None:
        if column is not None:
            raise ValueError(f"{argument} comes beside X in the chunks: leave out {argument}={column!r}")
        return APART
    if column is None:
        raise ValueError(f"{argument} must name a column, or the chunks must be tuples (X, {argument})")
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and -chunk.width <= column < 0:
        column = int(column) + chunk.width
    return _places([column], argument, chunk)[0]


def _some(names: Sequence[str] | None) -> str:
    if names is None:
        return "without names"
    return ", ".join(map(repr, names[:4])) + (", …" if len(names) > 4 else "")
