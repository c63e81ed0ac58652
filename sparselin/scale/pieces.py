"""What a source of chunks is, and how many rows a chunk may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sparselin.problem.memory import available
from sparselin.scale.factor import BLOCK

_USUAL = 2**28  # bytes that a pass may take by default


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
