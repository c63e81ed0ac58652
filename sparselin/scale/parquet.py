"""Parquet by PyArrow, page by page: a row group need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sparselin.scale.pieces import Failure, Piece, Source, Wanted, rows_of_chunk

_BUFFER = 2**16  # bytes that are read of a column at a time
_PAGE = 2**20  # the usual size of a page, one of which is unpacked for each column


def parquet(source: Any, wanted: Wanted) -> Source:
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
    pq = _pyarrow()
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, memory_map=False)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ModuleNotFoundError(
            "Parquet needs pyarrow: pip install 'sparselin[scale]'", name="pyarrow"
        ) from None
    return pq
