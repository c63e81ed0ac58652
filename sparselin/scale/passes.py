"""The pass over the chunks of a source, one after the other: one chain, with one factor in memory.

A tree, as on Dask, holds log₂ N factors, adds its depth to the error, and takes up to 1.7 times as long where
chunks are short.
"""

from __future__ import annotations

import abc
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from sparselin.problem import Problem
from sparselin.scale.checkpoint import Saved, load, save
from sparselin.scale.chunks import Bad, Chunk, Codes, TooManyLevels, chunk_of
from sparselin.scale.finish import finish
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial, absorb, nothing, skip
from sparselin.scale.record import BadChunk, Progress
from sparselin.scale.sources import Failure, Piece, Source

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Options:
    """Those of `compress` that say how a pass goes, not what it finds."""

    standardize: bool
    skips: bool
    checkpoint: Path | None
    every: int
    progress: Callable[[Progress], object] | None


def run(source: Source, form_of_first: Callable[[Chunk], Form], options: Options) -> Problem:
    """The chain of all chunks, from a checkpoint on if there is one; it is written again however it ends."""
    pieces = source.chunks(0)
    first, number, skipped = _first(pieces, options.skips)
    form = form_of_first(first.raw)
    partial = nothing(form)
    for i, why in enumerate(skipped):
        partial = skip(partial, i, why)
    if options.checkpoint is not None and options.checkpoint.exists():
        saved = load(options.checkpoint, form, source.identity)
        partial, number = saved.parts[0][1], saved.chunks
        pieces = source.chunks(number)
    else:
        pieces = _after(first, pieces)
    del first
    walk = _Walk(form, options, source.identity, source.rows, number)
    walk.partial = partial
    return walk.finished(ahead(pieces) if source.ahead else pieces)


class Pass(abc.ABC):
    """How far a pass is: chunks and bytes read. It writes the checkpoint and reports progress."""

    def __init__(self, form: Form, options: Options, identity: str, total: int | None, number: int) -> None:
        self.form, self.options, self.identity, self.total = form, options, identity, total
        self.number = self.saved = number
        self.bytes, self.started = 0, time.perf_counter()

    @abc.abstractmethod
    def over(self, chunks: Any) -> None:
        """Read all chunks."""

    @abc.abstractmethod
    def parts_read(self) -> list[tuple[int, Partial]]:
        """Return what a checkpoint holds: (height in the tree, Partial) of consecutive chunks."""

    @abc.abstractmethod
    def whole(self) -> Partial:
        """Return the rows of all chunks read."""

    def finished(self, chunks: Any) -> Problem:
        """Return the problem of all chunks; the checkpoint is written however the pass ends."""
        try:
            self.over(chunks)
        finally:
            self.save()
        return finish(self.whole(), self.form, self.options.standardize)

    def report(self, rows: int) -> None:
        """Report that so many rows are read, and write the checkpoint if it is due."""
        if self.options.progress is not None:
            seconds = time.perf_counter() - self.started
            self.options.progress(Progress(rows, self.bytes, self.number, self.total, seconds))
        if self.number - self.saved >= self.options.every:
            self.save()

    def save(self) -> None:
        if self.options.checkpoint is not None and self.number > self.saved:
            saved = Saved(self.number, self.parts_read())
            save(self.options.checkpoint, saved, self.form, self.identity)
            self.saved = self.number

    def bad(self, where: str, why: str) -> BadChunk:
        """Return the error of the next chunk, with the problem of those before it."""
        done, form, standardize = self.whole(), self.form, self.options.standardize
        return BadChunk(self.number, where, why, lambda: finish(done, form, standardize))


class _Walk(Pass):
    """A chain: each chunk is absorbed into the same factor."""

    partial: Partial

    def over(self, pieces: Iterator[Any]) -> None:
        while True:
            try:
                piece = next(pieces, None)
            except Exception as error:  # of the source, whatever it raises
                raise self.bad("", f"cannot be read: {type(error).__name__}: {error}") from error
            if piece is None:
                return
            self._take(piece)
            del piece
            self.report(self.partial.rows + self.partial.held_rows)

    def parts_read(self) -> list[tuple[int, Partial]]:
        return [(0, self.partial)]

    def whole(self) -> Partial:
        return self.partial

    def _take(self, piece: Piece | _Read) -> None:
        try:
            if isinstance(piece.raw, Failure):
                raise Bad(piece.raw.why)
            chunk = piece.raw if isinstance(piece.raw, Chunk) else chunk_of(piece.raw)
            partial = absorb(self.partial, chunk, self.number, self.form)
            self.bytes += size(chunk)
        except Bad as error:
            if not self.options.skips:
                raise self.bad(piece.where, str(error)) from None
            partial = skip(self.partial, self.number, _words(piece.where, str(error)))
        except TooManyLevels as error:
            raise self.bad(piece.where, f"is too much: {error}") from None
        self.partial, self.number = partial, self.number + 1  # both or, on Ctrl-C before this line, none


@dataclasses.dataclass(frozen=True)
class _Read:
    """A `Piece` that is a chunk already."""

    where: str
    raw: Chunk


def _first(pieces: Iterator[Any], skips: bool) -> tuple[_Read, int, list[str]]:
    """The first chunk that can be used, its number, and why those before it cannot."""
    why: list[str] = []
    while True:
        try:
            piece = next(pieces, None)
        except Exception as error:
            raise BadChunk(len(why), "", f"cannot be read: {type(error).__name__}: {error}") from error
        if piece is None:
            raise ValueError(f"source has no chunk that can be used: {len(why)} were skipped")
        try:
            if isinstance(piece.raw, Failure):
                raise Bad(piece.raw.why)
            return _Read(piece.where, chunk_of(piece.raw)), len(why), why
        except Bad as error:
            if not skips:
                raise BadChunk(len(why), piece.where, str(error)) from None
            why.append(_words(piece.where, str(error)))


def _after(first: _Read, pieces: Iterator[Any]) -> Iterator[Any]:
    yield first
    del first
    yield from pieces


def _words(where: str, why: str) -> str:
    return f"{where}: {why}" if where else why


def size(chunk: Chunk) -> int:
    """Bytes of the columns."""
    if isinstance(chunk.columns, np.ndarray):
        return int(chunk.columns.nbytes)
    return sum(int((c.codes if isinstance(c, Codes) else c).nbytes) for c in chunk.columns)


def ahead(items: Iterator[_T]) -> Iterator[_T]:
    """The same items, each read while the one before it is used; what reading raises is raised here.

    A thread reads the next chunk while one is factored: at most three are in memory.
    The reader begins with an item once the one before it was taken: one is in use, one in the reader's hands,
    and what it is made from.
    """
    box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    taken, over = threading.Semaphore(0), threading.Event()

    def read() -> None:
        try:
            for item in items:
                box.put((item, None))
                del item
                taken.acquire()
                if over.is_set():
                    return
            box.put((None, StopIteration()))
        except BaseException as error:
            box.put((None, error))

    thread = threading.Thread(target=read, name="sparselin-reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = box.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            taken.release()
            yield item
            del item
    finally:
        over.set()
        taken.release()
