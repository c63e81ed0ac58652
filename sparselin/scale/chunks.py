"""Chunks of rows from any library, converted to columns of numbers or of codes for categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparselin.validation import FloatArray, Names

_MISSING = "has missing entries in a column of categories: fill them in, or drop their rows"


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
    array = np.asarray(raw)
    if array.ndim != 2:
        raise BadChunkData(f"must be a matrix (rows, columns); got an array of shape {array.shape}")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise BadChunkData(f"must hold real numbers of at most 64 bits; got dtype {array.dtype}")
    return Chunk(None, (array.dtype.name,), array)


def _vector(values: Any, name: str, rows: int) -> FloatArray:
    vector = np.asarray(values)
    if vector.shape != (rows,) or vector.dtype.kind not in "biuf":
        raise BadChunkData(
            f"must have {rows} real numbers as {name}; got shape {vector.shape}, {vector.dtype}"
        )
    return vector


def _table(names: tuple[str, ...], series: list[Any]) -> Chunk:
    if len(set(names)) < len(names) or not names:
        raise BadChunkData(f"must have column names, all different; got {names}")
    kinds = tuple(map(_kind, series))
    return Chunk(names, kinds, tuple(map(_column, series)))


def _kind(values: Any) -> str:
    """Return the dtype in its library's notation; "text" for NumPy's strings, whose dtype has a length."""
    kind = str(getattr(values, "type", None) or getattr(values, "dtype", ""))
    return "text" if isinstance(values, np.ndarray) and values.dtype.kind in "US" else kind


def _column(values: Any) -> Any:
    """Return a numeric column as an array (p,), with NaN where entries are missing; others as `Codes`."""
    if hasattr(values, "dictionary_encode"):  # Arrow
        return _arrow(values)
    if isinstance(values, np.ma.MaskedArray):  # DuckDB
        dtype, missing = (float, np.nan) if values.dtype.kind in "biuf" else (object, None)
        values = np.ma.filled(values.astype(dtype), missing)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype == object and kind in "biuf":  # pandas' nullable numbers
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.ndim != 1:
        raise BadChunkData(f"must have one-dimensional columns; got one of shape {array.shape}")
    if array.dtype.kind in "biuf":
        return array
    return _codes(array)


def _arrow(values: Any) -> Any:
    values = values.combine_chunks() if hasattr(values, "combine_chunks") else values
    words = str(values.type)
    if words.startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        values = values.cast("uint8") if words == "bool" else values
        return values.to_numpy(zero_copy_only=False)
    coded = values if words.startswith("dictionary") else values.dictionary_encode()
    if coded.null_count:
        raise BadChunkData(_MISSING)
    return _drop_unused_levels(np.asarray(coded.indices), coded.dictionary.to_pylist())


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
