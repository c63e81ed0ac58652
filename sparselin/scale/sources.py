"""Sources of chunks, each by its own package: which one it is, is read off the module of its class.

Parquet is read by PyArrow, page by page: a row group need not fit into memory.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.memory import available
from sparselin.scale.factor import BLOCK

_USUAL = 2**28  # bytes that a pass may take by default
_BUFFER = 2**16  # bytes that are read of a column of a Parquet at a time
_PAGE = 2**20  # the usual size of a page, one of which is unpacked for each column


class Failure(NamedTuple):
    """A chunk that could not be read, after which others may follow."""

    why: str


class Piece(NamedTuple):
    """A chunk as it came, or a Failure, and where it is in the source, in words."""

    where: str
    raw: Any


class Source(NamedTuple):
    """chunks : from chunk `start` on. rows : how many there are, if known.
    ahead : whether a thread of ours may read the next chunk meanwhile. identity : it, for a checkpoint.
    """

    chunks: Callable[[int], Iterator[Piece]]
    rows: int | None
    ahead: bool
    identity: str


class Wanted(NamedTuple):
    """columns : names of those to read, or None for all. beside : y and weights given as arrays.
    memory : bytes that a pass may take; None for the usual, and as many more as the least chunks need.
    factored : how many columns the factor has at most, without that of ones; None for all.
    held_out : whether there is a second factor, of rows held out.
    """

    columns: list[str] | None
    beside: tuple[Any, ...]
    memory: int | None = None
    factored: int | None = None
    held_out: bool = False


def open_source(source: Any, wanted: Wanted) -> Source:
    """The source in an argument of `compress`. Raises TypeError, ValueError, OSError."""
    package = type(source).__module__.partition(".")[0].lstrip("_")
    if isinstance(source, (str, Path)) or (package == "pyarrow" and hasattr(source, "iter_batches")):
        return _parquet(source, wanted)
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

    return _of_batches(
        lambda: frame.collect_batches(chunk_size=p, maintain_order=True, engine="streaming"),
        f"LazyFrame by {p}",
    )


def _duckdb(relation: Any, wanted: Wanted) -> Source:
    """A relation, in batches of Arrow."""
    if wanted.columns is not None:
        relation = relation.select(*('"' + name.replace('"', '""') + '"' for name in wanted.columns))
    width = len(relation.columns)
    p = rows_of_chunk(wanted, width)

    return _of_batches(lambda: relation.to_arrow_reader(p), f"relation by {p}")


def _of_batches(read: Callable[[], Iterable[Any]], identity: str) -> Source:
    """A source whose package reads ahead itself; `read` begins to give its batches."""

    def chunks(start: int) -> Iterator[Piece]:
        for batch in itertools.islice(read(), start, None):
            yield Piece("", batch)
            del batch

    return Source(chunks, None, False, identity)


def _parquet(source: Any, wanted: Wanted) -> Source:
    """A file, in chunks that do not cross row groups: those of each begin anew.

    Without `pre_buffer`, and with a small buffer, PyArrow reads a column of a row group as a stream; by
    default it reads all of it first (https://github.com/pola-rs/polars/issues/25307 is about a row group of
    several GiB).
    """
    file = source if hasattr(source, "iter_batches") else file_of(source)
    names = wanted.columns or list(file.schema_arrow.names)
    missing = [name for name in names if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"columns must be columns of the file; it has no {missing[0]!r}")
    every = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
    groups = [group.num_rows for group in every]
    pages = min(len(names) * (_PAGE + _BUFFER), max((group.total_byte_size for group in every), default=0))
    p = rows_of_chunk(wanted, len(names), pages)

    def chunks(start: int) -> Iterator[Piece]:
        first = 0
        for g, rows in enumerate(groups):
            count = -(-rows // p)
            if first + count > start:
                yield from _group(file, g, names, p, range(max(0, start - first), count))
            first += count

    identity = f"Parquet {groups} by {p} {names}"
    return Source(chunks, sum(groups), True, identity)


def _group(file: Any, g: int, names: list[str], p: int, numbers: range) -> Iterator[Piece]:
    """These chunks of a row group. Where one cannot be read, neither can those after it."""
    batches = file.iter_batches(p, row_groups=[g], columns=names, use_threads=False)
    where, why = f"row group {g}", ""
    for i in range(numbers.stop):
        try:
            raw = Failure(why) if why else next(batches)
        except (OSError, ValueError, RuntimeError, StopIteration) as error:  # ArrowInvalid is a ValueError
            raw = Failure(why := f"cannot be read: {str(error) or 'it ends too early'}".strip())
        if i in numbers:
            yield Piece(where, raw)
        del raw


def file_of(path: Any) -> Any:
    """The file, opened to be read as a stream. FileNotFoundError, or ValueError if it is no Parquet."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ModuleNotFoundError(
            "Parquet needs pyarrow: pip install 'sparselin[scale]'", name="pyarrow"
        ) from None
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None


def rows_of_chunk(wanted: Wanted, columns: int, pages: int = 0) -> int:
    """Return p for 4 chunks of p rows, 3 factors (6 with held_out) and `pages` bytes in the memory wanted.

    p is a multiple of `BLOCK`, and pages count for at most half of the memory. Raises ValueError if not one
    block fits, and MemoryError if one fits into no memory of this machine.
    """
    m = 2 + (columns if wanted.factored is None else min(columns, wanted.factored))
    factors, row = (48 if wanted.held_out else 24) * m**2, 32 * max(columns, 1)
    least = factors + row * BLOCK
    if least > available():
        raise MemoryError(
            f"source needs {least / 2**30:.3g} GiB: 4 chunks of {BLOCK} rows and {columns} columns, and "
            f"{factors // (8 * m**2)} factors of {m} columns. This machine has {available() / 2**30:.3g}. "
            "Read fewer columns."
        )
    needed = least + min(pages, least)  # the least M with M − min(pages, M//2) ≥ least
    memory = max(_USUAL, needed) if wanted.memory is None else wanted.memory
    if memory < needed:
        raise ValueError(
            f"memory must be at least {needed} bytes for {columns} columns; got {memory}. "
            f"Pass memory={needed}, or leave it out."
        )
    return int((memory - min(pages, memory // 2) - factors) // row // BLOCK * BLOCK)
