"""Sources of chunks of rows, each read by its own package, which the class of the source determines.

PyArrow reads Parquet page by page, so that a row group need not fit into memory.
"""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.memory import available
from sparselin.scale.checkpoint import stamp_of_file, stamp_of_map, whole_map
from sparselin.scale.factor import BLOCK
from sparselin.validation.extras import installed_by, needs

_DEFAULT_MEMORY = 2**28  # bytes that a pass may take by default
_BUFFER = 2**16  # bytes of a column of a Parquet file that are read at a time
_PAGE = 2**20  # the usual size of a page; one page of each column is unpacked at a time


class UnreadableChunk(NamedTuple):
    """The content of a chunk that could not be read; later chunks may still be readable."""

    why: str


class RawChunk(NamedTuple):
    """A chunk in the form that its source delivers: its position in words, and its content.

    The content is an `UnreadableChunk` if it could not be read.
    """

    where: str
    content: Any


class Source(NamedTuple):
    """A source of chunks.

    chunks : returns the chunks from number `start` on.
    rows : the number of rows, or None if unknown.
    read_ahead : whether a thread may read the next chunk while the current one is used.
    identity : a description of the source; a checkpoint is used only for a source with the same description.
    stamp : the stamp of the file when it was opened, or None (`sparselin.scale.checkpoint`).
    """

    chunks: Callable[[int], Iterator[RawChunk]]
    rows: int | None
    read_ahead: bool
    identity: str
    stamp: list[Any] | None = None


class ReadOptions(NamedTuple):
    """The options of `compress` that decide how a source is read.

    columns : the names of the columns to read; None: all.
    vectors : y and weights, if given as arrays.
    memory : bytes that a pass may use. None means the default, or more if the smallest chunks need more.
    factored : an upper bound on the number of columns of the factor, without the column of ones; None: all
        columns.
    held_out : whether a second factor is computed, for the rows that are held out.
    """

    columns: list[str] | None
    vectors: tuple[Any, ...]
    memory: int | None = None
    factored: int | None = None
    held_out: bool = False


def open_source(source: Any, reading: ReadOptions) -> Source:
    """Return the source that an argument of `compress` describes. Raises TypeError, ValueError or OSError."""
    package = type(source).__module__.partition(".")[0].lstrip("_")
    if isinstance(source, (str, Path)) or (package == "pyarrow" and hasattr(source, "iter_batches")):
        return _parquet(source, reading)
    if isinstance(source, np.ndarray) or package == "zarr":
        return _array(source, reading)
    if reading.vectors:
        raise TypeError(
            "y and weights may be arrays only if source is an array, a memmap or a zarr array. Pass names or "
            "indices of columns, or chunks that are tuples (X, y) or (X, y, weights)"
        )
    if type(source).__name__ == "LazyFrame":
        return _polars(source, reading)
    if package == "duckdb":
        return _duckdb(source, reading)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return Source(lambda start: iter([RawChunk("", source)][start:]), len(source), False, "a frame")
    if not isinstance(source, Iterable) or isinstance(source, (bytes, dict)):
        raise TypeError(
            "source must be an iterable of chunks, an array, the path of a .parquet file, a LazyFrame, a "
            f"DuckDB relation or a Dask collection; got {type(source).__name__}"
        )
    numbered = enumerate(source)  # read once, in the thread of the caller: it may be a generator

    def chunks(start: int) -> Iterator[RawChunk]:
        return (RawChunk("", raw) for number, raw in numbered if number >= start)

    return Source(chunks, None, False, "an iterable")


def _array(array: Any, reading: ReadOptions) -> Source:
    """Return the source of an array (n, q), which may be in memory, mapped from a file, or a zarr array."""
    if len(array.shape) != 2:
        raise ValueError(f"source must be a matrix of shape (n, d); got shape {array.shape}")
    n, width = array.shape
    for vector in reading.vectors:
        if vector is not None and np.shape(vector) != (n,):
            raise ValueError(
                f"y and weights must have shape ({n},), one entry per row; got {np.shape(vector)}"
            )
    p = rows_of_chunk(reading, width)
    slab = getattr(array, "chunks", (1,))[0]  # whole chunks of zarr, so that none is decoded twice
    p = p // slab * slab or p
    ends = _end_of_file(array)

    def chunks(start: int) -> Iterator[RawChunk]:
        for a in range(start * p, n, p):
            where = f"rows {a}..{min(a + p, n) - 1}"
            try:
                if ends is not None and os.path.getsize(array.filename) < ends:
                    raise OSError(f"{array.filename} was truncated")
                raw = _copy(array[a : a + p])
            except (OSError, ValueError, RuntimeError) as error:
                yield RawChunk(where, UnreadableChunk(f"cannot be read: {error}"))
                continue
            vectors = [_copy(v[a : a + p]) for v in reading.vectors if v is not None]
            yield RawChunk(where, (raw, *vectors) if vectors else raw)
            del raw, vectors

    stamp = stamp_of_map(array, reading.vectors)
    return Source(chunks, n, True, f"array {array.shape} {array.dtype} by {p}", stamp)


def _copy(rows: Any) -> Any:
    """Return a copy of rows of an array, with their mask if they have one."""
    return rows.copy() if isinstance(rows, np.ma.MaskedArray) else np.array(rows)


def _end_of_file(array: Any) -> int | None:
    """Return the number of bytes that the file of a memmap must have; None for other arrays.

    The size of the file is checked before reading, because reading beyond the end of the file would kill the
    process.
    """
    if not isinstance(array, np.memmap) or not isinstance(array.filename, (str, os.PathLike)):
        return None
    whole = whole_map(array)
    return int(whole.offset + whole.nbytes)


def _polars(frame: Any, reading: ReadOptions) -> Source:
    """Return the source of a LazyFrame; polars's streaming engine reads ahead itself."""
    if not hasattr(frame, "collect_batches"):
        raise TypeError("a LazyFrame needs polars ≥ 1.34: upgrade polars, or pass frame.collect()")
    frame = frame if reading.columns is None else frame.select(reading.columns)
    p = rows_of_chunk(reading, len(frame.collect_schema().names()))
    return _of_batches(
        lambda: frame.collect_batches(chunk_size=p, maintain_order=True, engine="streaming"),
        f"LazyFrame by {p}",
    )


def _duckdb(relation: Any, reading: ReadOptions) -> Source:
    """Return the source of a DuckDB relation, in Arrow batches."""
    if reading.columns is not None:
        relation = relation.select(*('"' + name.replace('"', '""') + '"' for name in reading.columns))
    p = rows_of_chunk(reading, len(relation.columns))
    return _of_batches(lambda: relation.to_arrow_reader(p), f"relation by {p}")


def _of_batches(read: Callable[[], Iterable[Any]], identity: str) -> Source:
    """Return the source of batches; `read` is a function that returns an iterable of batches.

    No thread reads ahead, because the package of the batches does so itself.
    """

    def chunks(start: int) -> Iterator[RawChunk]:
        for batch in itertools.islice(read(), start, None):
            yield RawChunk("", batch)
            del batch

    return Source(chunks, None, False, identity)


def _parquet(source: Any, reading: ReadOptions) -> Source:
    """Return the source of a Parquet file. No chunk crosses the border between two row groups.

    With pre_buffer=False and a small buffer PyArrow reads a column of a row group as a stream. By default it
    reads the whole column first, which may take several GiB (https://github.com/pola-rs/polars/issues/25307).
    """
    opened = hasattr(source, "iter_batches")
    stamp = None if opened or not os.path.exists(source) else stamp_of_file(source)  # before it is opened
    file = source if opened else file_of(source)
    names = reading.columns or list(file.schema_arrow.names)
    missing = [name for name in names if name not in file.schema_arrow.names]
    if missing:
        raise ValueError(f"columns, y and weights must be columns of the file; it has no {missing[0]!r}")
    every = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
    groups = [group.num_rows for group in every]
    pages = min(len(names) * (_PAGE + _BUFFER), max((group.total_byte_size for group in every), default=0))
    p = rows_of_chunk(reading, len(names), pages)

    def chunks(start: int) -> Iterator[RawChunk]:
        first = 0
        for g, rows in enumerate(groups):
            count = -(-rows // p)
            if first + count > start:
                yield from _group(file, g, names, p, range(max(0, start - first), count))
            first += count

    return Source(chunks, sum(groups), True, f"Parquet {groups} by {p} {names}", stamp)


def _group(file: Any, g: int, names: list[str], p: int, numbers: range) -> Iterator[RawChunk]:
    """Yield chunks of p rows of row group g, those with numbers in the range `numbers`.

    If a chunk cannot be read, all later chunks of the row group are failures too.
    """
    batches = file.iter_batches(p, row_groups=[g], columns=names, use_threads=False)
    where = f"row group {g}"
    why = ""
    for i in range(numbers.stop):
        try:
            raw = UnreadableChunk(why) if why else next(batches)
        except (OSError, ValueError, RuntimeError, StopIteration) as error:  # ArrowInvalid is a ValueError
            raw = UnreadableChunk(why := f"cannot be read: {str(error) or 'it ends too early'}".strip())
        if i in numbers:
            yield RawChunk(where, raw)
        del raw


def file_of(path: Any) -> Any:
    """Open a Parquet file as a stream; FileNotFoundError, or ValueError if the file has another format."""
    with needs("pyarrow", f"Parquet files need pyarrow: {installed_by('scale')}"):
        import pyarrow.parquet as pq
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file: {error}") from None


def rows_of_chunk(reading: ReadOptions, columns: int, pages: int = 0) -> int:
    """Return the largest number p of rows in a chunk for which a pass fits into memory.

    A pass holds 4 chunks of p rows, 3 factors (6 with held_out) and `pages` bytes. p is a multiple of
    `BLOCK`, and pages count for at most half of the memory. Raises ValueError if p = BLOCK does not fit into
    `memory`, and MemoryError if it does not fit into the memory of this machine.
    """
    m = 2 + (columns if reading.factored is None else min(columns, reading.factored))
    factors = (48 if reading.held_out else 24) * m**2
    row = 32 * max(columns, 1)
    least = factors + row * BLOCK
    if least > available():
        raise MemoryError(
            f"source needs {least / 2**30:.3g} GiB: 4 chunks of {BLOCK} rows and {columns} columns, and "
            f"{factors // (8 * m**2)} factors of {m} columns. The machine has {available() / 2**30:.3g} GiB: "
            "read fewer columns"
        )
    needed = least + min(pages, least)  # the smallest M with M − min(pages, M//2) ≥ least
    memory = max(_DEFAULT_MEMORY, needed) if reading.memory is None else reading.memory
    if memory < needed:
        raise ValueError(
            f"memory must be at least {needed} bytes for {columns} columns; got {memory}. "
            f"Pass memory={needed}, or leave it out."
        )
    return int((memory - min(pages, memory // 2) - factors) // row // BLOCK * BLOCK)
