"""A chunk of rows as it came, as columns of numbers and of codes; and what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sparselin.validation import FloatArray, Names

_MISSING = "has missing entries in a column of categories: fill them in, or drop these rows"


class Bad(ValueError):
    """A chunk that cannot be used, and why."""


class TooManyLevels(ValueError):
    """A category with more than `max_levels` levels, which leaving out a chunk would hide."""


class Codes(NamedTuple):
    """A column of categories: row i has levels[codes[i]]; levels are in the order in which they appear."""

    codes: np.ndarray
    levels: tuple[Any, ...]


class Chunk(NamedTuple):
    """Rows: all columns in one array (p, q), or each an array (p,) or `Codes`; y and weights, if apart.

    kinds : the dtype of the array, or of each column, as its library writes it.
    """

    names: Names
    kinds: tuple[str, ...]
    columns: Any
    y: FloatArray | None = None
    weight: FloatArray | None = None

    @property
    def rows(self) -> int:
        if isinstance(self.columns, np.ndarray):
            return len(self.columns)
        first = self.columns[0]
        return len(first.codes if isinstance(first, Codes) else first)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.columns.shape[1]) if isinstance(self.columns, np.ndarray) else len(self.columns)

    def column(self, j: int) -> Any:
        """Column j, an array (p,) or `Codes`."""
        return self.columns[:, j] if isinstance(self.columns, np.ndarray) else self.columns[j]


def chunk_of(raw: Any) -> Chunk:
    """The chunk in an array (p, q), (X, y), (X, y, weights), a frame, an Arrow batch or a dict of columns.

    Raises Bad.
    """
    if isinstance(raw, tuple):
        if not 2 <= len(raw) <= 3:
            raise Bad(f"must be X, (X, y) or (X, y, weights); got a tuple of {len(raw)}")
        chunk = chunk_of(raw[0])
        beside = [_vector(v, name, chunk.rows) for v, name in zip(raw[1:], ("y", "weights"), strict=False)]
        return Chunk(*chunk[:3], *beside)
    if isinstance(raw, Mapping):
        return _table(tuple(map(str, raw)), list(raw.values()))
    if hasattr(raw, "column_names"):  # of Arrow
        return _table(tuple(raw.column_names), list(raw.columns))
    if hasattr(raw, "columns") and hasattr(raw, "to_numpy"):  # of pandas, polars
        labels = list(raw.columns)
        if not all(isinstance(label, str) for label in labels):
            raise Bad(f"must have strings for the names of its columns; got {labels[:3]}…")
        series = [raw[label] for label in labels] if len(set(labels)) == len(labels) else []
        return _table(tuple(labels), series)
    array = np.asarray(raw)
    if array.ndim != 2:
        raise Bad(f"must be a matrix (rows, columns); got {array.ndim} dimension(s), shape {array.shape}")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise Bad(f"must hold real numbers of at most 64 bits; got dtype {array.dtype}")
    return Chunk(None, (array.dtype.name,), array)


def _vector(values: Any, name: str, rows: int) -> FloatArray:
    vector = np.asarray(values)
    if vector.shape != (rows,) or vector.dtype.kind not in "biuf":
        raise Bad(f"has {rows} rows, and {name} of shape {vector.shape} and dtype {vector.dtype} beside them")
    return vector


def _table(names: tuple[str, ...], series: list[Any]) -> Chunk:
    if len(set(names)) < len(names) or not names:
        raise Bad(f"must have different names for its columns; got {names}")
    kinds = tuple(map(_kind, series))
    return Chunk(names, kinds, tuple(map(_column, series)))


def _kind(values: Any) -> str:
    """The dtype as its library writes it; texts of NumPy have as many as there are lengths."""
    kind = str(getattr(values, "type", None) or getattr(values, "dtype", ""))
    return "text" if isinstance(values, np.ndarray) and values.dtype.kind in "US" else kind


def _column(values: Any) -> Any:
    """A column of numbers as an array (p,), missing ones NaN; of anything else as `Codes`."""
    if hasattr(values, "dictionary_encode"):  # of Arrow
        return _arrow(values)
    if isinstance(values, np.ma.MaskedArray):  # of DuckDB
        dtype, missing = (float, np.nan) if values.dtype.kind in "biuf" else (object, None)
        values = np.ma.filled(values.astype(dtype), missing)
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.dtype == object and kind in "biuf":  # nullable numbers of pandas
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.ndim != 1:
        raise Bad(f"must have columns of one dimension; got shape {array.shape}")
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
        raise Bad(_MISSING)
    return _appearing(np.asarray(coded.indices), coded.dictionary.to_pylist())


def codes_of(column: Any) -> Codes:
    """A column as codes."""
    return column if isinstance(column, Codes) else _codes(column)


def _codes(array: np.ndarray) -> Codes:
    """The codes of texts, numbers or other objects."""
    if array.dtype.kind in "Of" and any(v is None or v != v for v in array.tolist()):
        raise Bad(_MISSING)
    try:
        levels, codes = np.unique(array, return_inverse=True)
    except TypeError:
        raise Bad("has a column with entries of several types, which are no categories") from None
    return _appearing(codes, levels.tolist())


def _appearing(codes: np.ndarray, levels: list[Any]) -> Codes:
    """The same without levels that do not appear, in the order in which they do."""
    used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Codes(place[inverse], tuple(levels[used[i]] for i in order))
