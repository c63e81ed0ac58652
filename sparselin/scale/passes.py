"""The pass over the chunks of a source, one after the other, with one factor in memory.

A tree of merges, as it is used on Dask, has disadvantages here: for N chunks it would hold log₂ N factors,
add its depth to the error, and take up to 1.7 times as long if chunks are short.
"""

import abc
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparselin.problem import Problem
from sparselin.scale.checkpoint import Digests, Saved, digest_of, load, other_data, save
from sparselin.scale.form import BadChunkData, Chunk, Codes, Form, TooManyLevels, chunk_of
from sparselin.scale.partial import Partial, absorb, empty_partial, skip
from sparselin.scale.record import BadChunk, Progress, finish
from sparselin.scale.sources import RawChunk, Source, UnreadableChunk

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of `compress` that do not depend on the source. `skips` is True for on_bad="skip"."""

    standardize: bool
    skips: bool
    checkpoint: Path | None
    every: int
    progress: Callable[[Progress], object] | None


def run(source: Source, form_of_first: Callable[[Chunk], Form], options: Options) -> Problem:
    """Read all chunks of a source, from the checkpoint on if there is one, and return the problem."""
    chunks = source.chunks(0)
    first, number, skipped = _first(chunks, options.skips)
    form = form_of_first(first.content)
    chain = _Chain(form, options, source.identity, source.rows, Saved(number, [], stamp=source.stamp))
    for i, why in enumerate(skipped):
        chain.partial = skip(chain.partial, i, why)
    saved = None
    if options.checkpoint is not None and options.checkpoint.exists():
        saved = load(options.checkpoint, form, source.identity)
    if saved is not None and source.stamp == saved.stamp is not None and _begins(saved, first, number, form):
        chunks = source.chunks(saved.chunks)
        again = saved.chunks
    else:
        # an exhausted iterator keeps no chunk
        chunks = itertools.chain(iter([first]), chunks)
        again = number
    del first
    chunks = read_ahead(chunks) if source.read_ahead else chunks
    if saved is not None:
        chain.resume(saved, again, chunks)
    return chain.run(chunks)


def _begins(saved: Saved, first: RawChunk, number: int, form: Form) -> bool:
    """Return whether chunk `number`, the first one that can be used, is the first one of the checkpoint."""
    if number in saved.skipped:
        return True
    try:
        form.check(first.content)
    except BadChunkData:
        return False
    return digest_of(first.content, form) == saved.trace.first


class Pass(abc.ABC):
    """A pass over chunks: it counts the chunks and bytes read, writes the checkpoint and reports progress."""

    def __init__(self, form: Form, options: Options, identity: str, total: int | None, saved: Saved) -> None:
        self.form = form
        self.options = options
        self.identity = identity
        self.total = total
        self.number = self.saved = saved.chunks
        self.trace, self.stamp = saved.trace, saved.stamp
        self.bytes = 0
        self.started = time.perf_counter()

    @abc.abstractmethod
    def read(self, chunks: Any) -> None:
        """Read all chunks."""

    @abc.abstractmethod
    def snapshot(self) -> list[tuple[int, Partial]]:
        """Return the parts of the factorisation for a checkpoint.

        A part is a pair: its height in the tree of merges, and the `Partial` of consecutive chunks.
        """

    @abc.abstractmethod
    def state(self) -> Partial:
        """Return the state of all chunks read so far."""

    def run(self, chunks: Any) -> Problem:
        """Read all chunks and return their problem. The checkpoint is written even after an error."""
        try:
            self.read(chunks)
        finally:
            self.save()
        return finish(self.state(), self.form, self.options.standardize)

    def report(self, rows: int) -> None:
        """Report that this number of rows has been read, and write the checkpoint if it is due."""
        if self.options.progress is not None:
            seconds = time.perf_counter() - self.started
            self.options.progress(Progress(rows, self.bytes, self.number, self.total, seconds))
        if self.number - self.saved >= self.options.every:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, if there is one and it is not up to date."""
        if self.options.checkpoint is not None and self.number > self.saved:
            saved = Saved(self.number, self.snapshot(), self.trace, self.stamp)
            save(self.options.checkpoint, saved, self.form, self.identity)
            self.saved = self.number

    def bad(self, where: str, why: str) -> BadChunk:
        """Return the error for the present chunk; the error can make the problem of the earlier chunks."""
        state = self.state()
        form = self.form
        standardize = self.options.standardize
        return BadChunk(self.number, where, why, lambda: finish(state, form, standardize))


class _Chain(Pass):
    """A pass without a tree of merges: the rows of each chunk are added to the same factor."""

    def __init__(self, form: Form, options: Options, identity: str, total: int | None, saved: Saved) -> None:
        super().__init__(form, options, identity, total, saved)
        self.partial = empty_partial(form)
        # SHA-256 runs without the GIL, in the time in which a chunk is factored
        self.digests = None if options.checkpoint is None else _one_thread("sparselin-digest")

    def resume(self, saved: Saved, number: int, chunks: Iterator[Any]) -> None:
        """Begin with the state of a checkpoint; compare the chunks from `number` on to its last with it.

        Raises ValueError if they are not the chunks that were read when the checkpoint was written.
        """
        path = self.options.checkpoint
        _, partial = saved.parts[0]
        if early := set(range(min(number, self.number))) - saved.skipped:
            raise other_data(path, f"chunk {min(early)} cannot be used now, and was used before")
        trace = Digests()
        rows = 0
        for i in range(number, saved.chunks):
            try:
                raw = next(chunks, None)
            except Exception as error:  # the source may raise anything
                raise BadChunk(i, "", f"cannot be read: {type(error).__name__}: {error}") from error
            if raw is None:
                raise other_data(path, f"the source has {i} chunks, and {saved.chunks} were read")
            if i in saved.skipped:
                continue
            try:
                chunk = _convert(raw)
                self.form.check(chunk)
            except BadChunkData as error:
                raise other_data(path, f"chunk {i}, which was used before, {error}") from None
            trace = trace.after(digest_of(chunk, self.form))
            rows = rows + chunk.rows
            if trace.first != saved.trace.first:
                raise other_data(path, f"chunk {i} is not the one that was read")
            del raw, chunk
        if number < saved.chunks and (trace, rows) != (saved.trace, saved.rows):
            raise other_data(path, f"the chunks {number} to {saved.chunks - 1} are not those that were read")
        self.partial = partial
        self.trace, self.number, self.saved = saved.trace, saved.chunks, saved.chunks

    def read(self, chunks: Iterator[Any]) -> None:
        while True:
            try:
                chunk = next(chunks, None)
            except Exception as error:  # the source may raise anything
                raise self.bad("", f"cannot be read: {type(error).__name__}: {error}") from error
            if chunk is None:
                return
            self._absorb(chunk)
            del chunk
            self.report(self.partial.rows_read)

    def snapshot(self) -> list[tuple[int, Partial]]:
        return [(0, self.partial)]

    def state(self) -> Partial:
        return self.partial

    def _absorb(self, raw: RawChunk) -> None:
        """Add the rows of the next chunk to the factor, or skip it; raise BadChunk if it cannot be used."""
        trace = self.trace
        try:
            chunk = _convert(raw)
            digest = None if self.digests is None else self.digests.submit(digest_of, chunk, self.form)
            partial = absorb(self.partial, chunk, self.number, self.form)
            trace = trace if digest is None else trace.after(digest.result())
            self.bytes += chunk_bytes(chunk)
        except BadChunkData as error:
            if not self.options.skips:
                raise self.bad(raw.where, str(error)) from None
            partial = skip(self.partial, self.number, _with_place(raw.where, str(error)))
        except TooManyLevels as error:
            raise self.bad(raw.where, f"cannot be used: {error}") from None
        # in one step: all, or none if Ctrl-C comes before
        self.partial, self.trace, self.number = partial, trace, self.number + 1


def _convert(raw: RawChunk) -> Chunk:
    """Convert a chunk to columns of numbers and codes, unless `_first` has already converted it.

    Raises BadChunkData if the chunk cannot be used.
    """
    if isinstance(raw.content, UnreadableChunk):
        raise BadChunkData(raw.content.why)
    return raw.content if isinstance(raw.content, Chunk) else chunk_of(raw.content)


def _first(chunks: Iterator[Any], skips: bool) -> tuple[RawChunk, int, list[str]]:
    """Return the first chunk that can be used, its number, and the reasons why earlier chunks cannot."""
    why: list[str] = []
    while True:
        try:
            raw = next(chunks, None)
        except Exception as error:
            raise BadChunk(len(why), "", f"cannot be read: {type(error).__name__}: {error}") from error
        if raw is None:
            raise ValueError(f"source has no chunk that can be used; {len(why)} were skipped")
        try:
            return RawChunk(raw.where, _convert(raw)), len(why), why
        except BadChunkData as error:
            if not skips:
                raise BadChunk(len(why), raw.where, str(error)) from None
            why.append(_with_place(raw.where, str(error)))


def _with_place(where: str, why: str) -> str:
    return f"{where}: {why}" if where else why


def chunk_bytes(chunk: Chunk) -> int:
    """Return the number of bytes of the columns."""
    if isinstance(chunk.columns, np.ndarray):
        return int(chunk.columns.nbytes)
    return sum(int((c.codes if isinstance(c, Codes) else c).nbytes) for c in chunk.columns)


class _ThisThread(Executor):
    """An executor that runs each function at once, in the thread that submits it."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        future: Future[_T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def _one_thread(name: str) -> Executor:
    """Return an executor with one thread of this name, or with the present thread if none can be started."""
    pool = ThreadPoolExecutor(1, name)
    try:
        pool.submit(int)
    except RuntimeError:  # can't start new thread
        return _ThisThread()
    return pool


def read_ahead(items: Iterator[_T]) -> Iterator[_T]:
    """Yield the items; while the caller uses an item, a thread reads the next one.

    The thread begins to read an item when the item before it has been taken. So at most three chunks are in
    memory: the chunk in use, the chunk that is being read, and the raw data of the chunk that is being read.
    An error of the reading thread is raised in the thread of the caller. If no thread can be started, the
    caller's own thread reads.
    """
    pool = _one_thread("sparselin-reader")
    try:
        ahead = pool.submit(next, items, None)
        while (item := ahead.result()) is not None:
            ahead = pool.submit(next, items, None)
            yield item
            del item
    finally:
        pool.shutdown(wait=False)
