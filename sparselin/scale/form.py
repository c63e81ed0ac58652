"""Chunks of rows from any library, converted to columns of numbers or of codes, and their form.

The first chunk determines the form, and all others must have it.
"""

import decimal
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparselin.validation import Columns, FloatArray, Names, check_indices, has_masked_entries

_MISSING = "has missing entries in a column of categories: fill them in, or drop their rows"
_NESTED = ("list", "large_list", "fixed_size_list", "struct", "map", "union", "dense_union", "sparse_union")
SEPARATE = -1  # the index of y, or of weights, if they are not columns of X but come as vectors with it


class BadChunkData(ValueError):
    """The error that a chunk of rows cannot be used; its message gives the reason."""


class TooManyLevels(ValueError):
    """The error that a category has more than `max_levels` levels; on_bad="skip" does not hide this error."""


class Codes(NamedTuple):
    """A column of categories, stored as integer codes: row i has the level levels[codes[i]].

    Levels are in the order of their first appearance.
    """

    codes: np.ndarray
    levels: tuple[Any, ...]

    def take(self, rows: np.ndarray) -> "Codes":
        """Return the codes of these rows."""
        return _drop_unused_levels(self.codes[rows], list(self.levels))


class Chunk(NamedTuple):
    """A chunk of p rows.

    names : the names of the columns, or None.
    kinds : the dtype of the array, or of each column, in the notation of its library.
    columns : an array (p, q), or a tuple of arrays (p,) and `Codes`.
    y, weight : arrays (p,) if they came separately from the columns, otherwise None.
    """

    names: Names
    kinds: tuple[str, ...]
    columns: Any
    y: FloatArray | None = None
    weight: FloatArray | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        if isinstance(self.columns, np.ndarray):
            return len(self.columns)
        first = self.columns[0]
        return len(first.codes if isinstance(first, Codes) else first)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.columns.shape[1]) if isinstance(self.columns, np.ndarray) else len(self.columns)

    def column(self, j: int) -> Any:
        """Return column j: an array (p,), or `Codes` for a categorical column."""
        return self.columns[:, j] if isinstance(self.columns, np.ndarray) else self.columns[j]


def chunk_of(raw: Any) -> Chunk:
    """Convert an array (p, q), (X, y), (X, y, weights), frame, Arrow batch or dict of columns to a `Chunk`.

    Raises BadChunkData if `raw` has none of these types, or is invalid.
    """
    if isinstance(raw, tuple):
        if not 2 <= len(raw) <= 3:
            raise BadChunkData(f"must be X, (X, y) or (X, y, weights); got a tuple of {len(raw)} entries")
        chunk = chunk_of(raw[0])
        vectors = [_vector(v, name, chunk.rows) for v, name in zip(raw[1:], ("y", "weights"), strict=False)]
        return Chunk(*chunk[:3], *vectors)
    if isinstance(raw, Mapping):
        return _table(tuple(map(str, raw)), list(raw.values()))
    if hasattr(raw, "column_names"):  # Arrow
        return _table(tuple(raw.column_names), list(raw.columns))
    if hasattr(raw, "columns") and hasattr(raw, "to_numpy"):  # pandas, polars
        labels = list(raw.columns)
        if not all(isinstance(label, str) for label in labels):
            raise BadChunkData(f"must have strings as column names; got {labels[:3]}…")
        series = [raw[label] for label in labels] if len(set(labels)) == len(labels) else []
        return _table(tuple(labels), series)
    if has_masked_entries(raw):
        raise BadChunkData("has masked entries: fill them, or drop their rows")
    array = np.asarray(raw)
    if array.ndim != 2:
        raise BadChunkData(f"must be a matrix (rows, columns); got an array of shape {array.shape}")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise BadChunkData(f"must hold real numbers of at most 64 bits; got dtype {array.dtype}")
    return Chunk(None, (array.dtype.name,), array)


def _vector(values: Any, name: str, rows: int) -> FloatArray:
    if has_masked_entries(values):
        raise BadChunkData(f"has masked entries in {name}: fill them, or drop their rows")
    vector = np.asarray(values)
    if vector.shape != (rows,) or vector.dtype.kind not in "biuf":
        raise BadChunkData(
            f"must have {rows} real numbers as {name}; got shape {vector.shape}, {vector.dtype}"
        )
    return vector


def _table(names: tuple[str, ...], series: list[Any]) -> Chunk:
    if len(set(names)) < len(names) or not names:
        raise BadChunkData(f"must have column names, all different; got {names}")
    return Chunk(names, tuple(map(_kind, series)), tuple(map(_column, series)))


def _kind(values: Any) -> str:
    """Return the dtype in its library's notation; "text" for NumPy's strings, whose dtype has a length."""
    kind = str(getattr(values, "type", None) or getattr(values, "dtype", ""))
    return "text" if isinstance(values, np.ndarray) and values.dtype.kind in "US" else kind


def _column(values: Any) -> Any:
    """Return a numeric column as an array (p,), with NaN where entries are missing; others as `Codes`."""
    if hasattr(values, "dictionary_encode"):  # Arrow
        return _arrow(values)
    if not isinstance(values, np.ma.MaskedArray) and has_masked_entries(values):
        raise BadChunkData("has masked entries: fill them, or drop their rows")
    if isinstance(values, np.ma.MaskedArray):  # DuckDB
        dtype, missing = (float, np.nan) if values.dtype.kind in "biuf" else (object, None)
        values = np.ma.filled(values.astype(dtype), missing)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype == object and kind in "biuf":  # pandas' nullable numbers
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.dtype == object and array.ndim == 1 and len(array) and _are_decimals(array):
        array = array.astype(np.float64)
    if array.ndim != 1:
        raise BadChunkData(f"must have one-dimensional columns; got one of shape {array.shape}")
    return array if array.dtype.kind in "biuf" else _codes(array)


def _arrow(values: Any) -> Any:
    values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    words = str(values.type)
    if words.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        values = values.cast("uint8") if words == "bool" else values
        return values.to_numpy(zero_copy_only=False)
    if words.startswith("decimal"):  # through texts, because Arrow's own conversion need not round correctly
        return values.cast("string").cast("float64").to_numpy(zero_copy_only=False)
    if words.startswith(_NESTED):
        raise BadChunkData(f"must have one value in each cell; got a column of type {words}: leave it out")
    coded = values if words.startswith("dictionary") else values.dictionary_encode()
    if coded.null_count:
        raise BadChunkData(_MISSING)
    return _drop_unused_levels(np.asarray(coded.indices), coded.dictionary.to_pylist())


def _are_decimals(array: np.ndarray) -> bool:
    """Return whether an array of objects holds decimals, which are numbers; None becomes NaN."""
    filled = [cell for cell in array if cell is not None]
    return bool(filled) and all(isinstance(cell, decimal.Decimal) for cell in filled)


def codes_of(column: Any) -> Codes:
    """Convert a column to integer codes and levels."""
    return column if isinstance(column, Codes) else _codes(column)


def _codes(array: np.ndarray) -> Codes:
    """Return the codes of an array of strings, numbers or other objects."""
    if array.dtype.kind in "Of" and any(v is None or v != v for v in array.tolist()):
        raise BadChunkData(_MISSING)
    try:
        levels, codes = np.unique(array, return_inverse=True)
    except TypeError:
        raise BadChunkData("mixes types in a column of categories: convert it to strings") from None
    return _drop_unused_levels(codes, levels.tolist())


def _drop_unused_levels(codes: np.ndarray, levels: list[Any]) -> Codes:
    """Return codes without unused levels, with the levels in the order of their first appearance."""
    used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Codes(place[inverse], tuple(levels[used[i]] for i in order))


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
        pairs = enumerate(self.numbers, int(self.intercept))  # places in the factor and in the chunk
        found = [list(group) for _, group in itertools.groupby(pairs, lambda pair: pair[0] - pair[1])]
        return [(slice(g[0][1], g[-1][1] + 1), slice(g[0][0], g[-1][0] + 1)) for g in found]


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
        name = f"column {chunk.names[texts[0]]!r}" if chunk.names else texts[0]
        kind = chunk.kinds[texts[0]]
        raise TypeError(
            f"{name} is not numeric (dtype {kind or 'object'}): name it in categories, or leave it out"
        )
    if not features:
        raise ValueError("source must have a column besides y and the weights")
    order = [*first, *(j for j in numbers if j not in first)]
    return Form(
        names=chunk.names,
        kinds=chunk.kinds,
        width=chunk.width,
        y=y_at,
        weight=w_at,
        numbers=tuple(order),
        categories=tuple(coded),
        **settings,
    )


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
