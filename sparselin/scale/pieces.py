"""What a source of chunks is, and how many rows a chunk may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sparselin.scale.factor import BLOCK


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
    memory : bytes that a pass may take.
    """

    columns: list[str] | None
    beside: tuple[Any, ...]
    memory: int


def rows_of_chunk(memory: int, row: int, columns: int) -> int:
    """p with 4 chunks of p rows, of `row` bytes each, and 3 factors in `memory` bytes, by blocks.

    Raises ValueError if not one block fits.
    """
    rows = (memory - 24 * (columns + 2) ** 2) // (4 * max(row, 8)) // BLOCK * BLOCK
    if rows < BLOCK:
        needed = 24 * (columns + 2) ** 2 + 4 * row * BLOCK
        raise ValueError(f"memory must be at least {needed:,} bytes for {columns} columns; got {memory:,}")
    return int(rows)
