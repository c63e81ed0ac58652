"""The pass over the chunks of a source, one after the other: one chain."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.problem import Problem
from sparselin.scale.checkpoint import Saved, load, save
from sparselin.scale.chunks import Bad, Chunk, Codes, TooManyLevels, chunk_of
from sparselin.scale.finish import finish
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial, absorb, nothing, skip
from sparselin.scale.pieces import Failure, Piece, Source
from sparselin.scale.reading import ahead
from sparselin.scale.record import BadChunk, Progress


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
    walk = _Walk(source, form, options, partial, number)
    try:
        walk.over(ahead(pieces) if source.ahead else pieces)
    finally:
        walk.save()
    return finish(walk.partial, form, options.standardize)


class _Walk:
    """How far a pass is."""

    def __init__(self, source: Source, form: Form, options: Options, partial: Partial, number: int) -> None:
        self.source, self.form, self.options = source, form, options
        self.partial, self.number, self.saved = partial, number, number
        self.bytes, self.started = 0, time.perf_counter()

    def over(self, pieces: Iterator[Any]) -> None:
        while True:
            try:
                piece = next(pieces, None)
            except Exception as error:  # of the source, whatever it raises
                raise self._bad("", f"cannot be read: {type(error).__name__}: {error}") from error
            if piece is None:
                return
            self._take(piece)
            del piece
            self._tell()
            if self.number - self.saved >= self.options.every:
                self.save()

    def _take(self, piece: Piece | _Read) -> None:
        try:
            if isinstance(piece.raw, Failure):
                raise Bad(piece.raw.why)
            chunk = piece.raw if isinstance(piece.raw, Chunk) else chunk_of(piece.raw)
            partial = absorb(self.partial, chunk, self.number, self.form)
            self.bytes += size(chunk)
        except Bad as error:
            if not self.options.skips:
                raise self._bad(piece.where, str(error)) from None
            partial = skip(self.partial, self.number, _words(piece.where, str(error)))
        except TooManyLevels as error:
            raise self._bad(piece.where, f"is too much: {error}") from None
        self.partial, self.number = partial, self.number + 1  # both or, on Ctrl-C before this line, none

    def save(self) -> None:
        if self.options.checkpoint is not None and self.number > self.saved:
            save(
                self.options.checkpoint,
                Saved(self.number, [(0, self.partial)]),
                self.form,
                self.source.identity,
            )
            self.saved = self.number

    def _tell(self) -> None:
        if self.options.progress is not None:
            rows = self.partial.rows + self.partial.held_rows
            seconds = time.perf_counter() - self.started
            self.options.progress(Progress(rows, self.bytes, self.number, self.source.rows, seconds))

    def _bad(self, where: str, why: str) -> BadChunk:
        partial, form, standardize = self.partial, self.form, self.options.standardize
        return BadChunk(self.number, where, why, lambda: finish(partial, form, standardize))


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
