"""Sources of chunks, each by its own package: which one it is, is read off the module of its class."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.scale.parquet import parquet
from sparselin.scale.pieces import Failure, Piece, Source, Wanted, rows_of_chunk


def open_source(source: Any, wanted: Wanted) -> Source:
    """The source in an argument of `compress`. Raises TypeError, ValueError, OSError."""
    package = type(source).__module__.partition(".")[0].lstrip("_")
    if isinstance(source, (str, Path)) or (package == "pyarrow" and hasattr(source, "iter_batches")):
        return parquet(source, wanted)
    if isinstance(source, np.ndarray) or package == "zarr":
        return _array(source, wanted)
    if wanted.beside:
        raise TypeError(
            "y and weights as arrays go with an array, a memmap or zarr; else they are columns of the "
            "source, or chunks are tuples (X, y) or (X, y, weights)"
        )
    if type(source).__name__ == "LazyFrame":
        return _polars(source, wanted)
    if package == "duckdb":
        return _duckdb(source, wanted)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return Source(lambda start: iter([Piece("", source)][start:]), len(source), False, "a frame")
    if not isinstance(source, Iterable) or isinstance(source, (bytes, dict)):
        raise TypeError(
            "source must be an iterable of chunks, an array, the path of a .parquet, a LazyFrame, a relation "
            f"or a Dask collection; got {type(source).__name__}"
        )
    return _iterable(source)


def _iterable(source: Iterable[Any]) -> Source:
    """In the thread of the caller, whose generator it may be, and from which nothing is read twice."""
    numbered = enumerate(source)

    def chunks(start: int) -> Iterator[Piece]:
        for number, raw in numbered:
            if number >= start:
                yield Piece("", raw)

    return Source(chunks, None, False, "an iterable")


def _array(array: Any, wanted: Wanted) -> Source:
    """An array (n, q): in memory, mapped from a file, or of zarr, a slab of rows at a time."""
    if len(array.shape) != 2:
        raise ValueError(f"source must be a matrix of shape (n, d); got shape {array.shape}")
    n, width = array.shape
    for vector in wanted.beside:
        if vector is not None and np.shape(vector) != (n,):
            raise ValueError(
                f"y and weights must have shape ({n},), as the source has rows; got {np.shape(vector)}"
            )
    p = rows_of_chunk(wanted, width)
    slab = getattr(array, "chunks", (1,))[0]  # of zarr: not to decode a piece of the array twice
    p = p // slab * slab or p
    ends = _end_of_file(array)

    def chunks(start: int) -> Iterator[Piece]:
        for a in range(start * p, n, p):
            where = f"rows {a}..{min(a + p, n) - 1}"
            if ends is not None and os.path.getsize(array.filename) < ends:
                yield Piece(where, Failure(f"cannot be read: {array.filename} was truncated"))
                continue
            try:
                raw = np.array(array[a : a + p])
            except (OSError, ValueError, RuntimeError) as error:
                yield Piece(where, Failure(f"cannot be read: {error}"))
                continue
            beside = [np.array(v[a : a + p]) for v in wanted.beside if v is not None]
            yield Piece(where, (raw, *beside) if beside else raw)
            del raw, beside

    return Source(chunks, n, True, f"array {array.shape} {array.dtype} by {p}")


def _end_of_file(array: Any) -> int | None:
    """How long the file of a memmap must be: reading beyond its end kills the process."""
    if not isinstance(array, np.memmap) or not isinstance(array.filename, (str, os.PathLike)):
        return None
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    return int(whole.offset + whole.nbytes)


def _polars(frame: Any, wanted: Wanted) -> Source:
    """A LazyFrame, by its streaming engine, which reads ahead itself."""
    if not hasattr(frame, "collect_batches"):
        raise TypeError("a LazyFrame needs polars ≥ 1.34, which gives it in batches: pass it collected")
    frame = frame if wanted.columns is None else frame.select(wanted.columns)
    width = len(frame.collect_schema().names())
    p = rows_of_chunk(wanted, width)

    def chunks(start: int) -> Iterator[Piece]:
        batches = frame.collect_batches(chunk_size=p, maintain_order=True, engine="streaming")
        for batch in itertools.islice(batches, start, None):
            yield Piece("", batch)
            del batch

    return Source(chunks, None, False, f"LazyFrame by {p}")


def _duckdb(relation: Any, wanted: Wanted) -> Source:
    """A relation, in batches of Arrow."""
    if wanted.columns is not None:
        relation = relation.select(*('"' + name.replace('"', '""') + '"' for name in wanted.columns))
    width = len(relation.columns)
    p = rows_of_chunk(wanted, width)

    def chunks(start: int) -> Iterator[Piece]:
        batches = relation.to_arrow_reader(p)
        for batch in itertools.islice(batches, start, None):
            yield Piece("", batch)
            del batch

    return Source(chunks, None, False, f"relation by {p}")
