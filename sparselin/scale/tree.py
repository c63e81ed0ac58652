"""The pass on Dask: a leaf for each chunk, and merges of a tree that the numbers of chunks fix.

Leaf k is chunk k alone. Parts of 2^h consecutive chunks merge when both are there, as carries do in a binary
counter; at the end what is left merges from the right. So the tree, and with it every bit, depends on the
number of chunks only: not on workers, nor on which of them were lost, whose leaves are computed again.

Leaves are submitted a few ahead of the first that is not finished, in their order, so that a part waits for
its neighbour only: at any time there are log₂ N parts and that window, where `dask.array.linalg.tsqr` has the
whole graph at once (https://github.com/dask/dask/issues/3419: 25 GB for 28 GB of data). R alone travels.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem import Problem
from sparselin.scale.checkpoint import Saved, load
from sparselin.scale.chunks import Bad, TooManyLevels, chunk_of
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial, Slot, absorb, joined, merge, nothing, skip
from sparselin.scale.passes import Options, Pass, size
from sparselin.scale.sources import Wanted

_AHEAD = 3  # leaves that are submitted for each thread
_LOOK = 16  # after so many leaves it is asked which workers there are


class Leaf(NamedTuple):
    """The part of one chunk, its bytes, and why there is nothing in it, if so."""

    partial: Partial
    bytes: int
    why: str | None = None


class About(NamedTuple):
    """What of a leaf the tree needs to know."""

    bytes: int
    rows: int
    why: str | None
    slots: tuple[Slot, ...]


def about(of: Leaf) -> About:
    return About(of.bytes, of.partial.rows + of.partial.held_rows, of.why, of.partial.slots)


def leaf(raw: Any, beside: tuple[Any, ...], number: int, form: Form) -> Leaf:
    """Chunk `number` by itself; `raw` is an array, or blocks of columns of one, or a frame."""
    try:
        if isinstance(raw, list):
            raw = raw[0] if len(raw) == 1 else np.hstack(raw)
        chunk = chunk_of((raw, *beside) if beside else raw)
        return Leaf(absorb(nothing(form), chunk, number, form), size(chunk))
    except Bad as error:
        return Leaf(skip(nothing(form), number, str(error)), 0, str(error))


def part(of: Leaf | Partial) -> Partial:
    return of.partial if isinstance(of, Leaf) else of


def merged(a: Leaf | Partial, b: Leaf | Partial, form: Form) -> Partial:
    return merge(part(a), part(b), form)


def run(source: Any, form_of_first: Callable[[Any], Form], options: Options, wanted: Wanted) -> Problem:
    """The pass over a Dask array or DataFrame, by the client there is, or else in this process."""
    opened = _array if hasattr(source, "numblocks") else _frame
    head, leaves, rows = opened(source, wanted)
    form = form_of_first(chunk_of(head))
    identity = f"{type(source).__name__} of {len(leaves)} chunks of {rows if rows is not None else '?'} rows"
    saved = Saved(0, [])
    if options.checkpoint is not None and options.checkpoint.exists():
        saved = load(options.checkpoint, form, identity)
    return _Tree(form, options, identity, rows, saved).finished(leaves)


class _Tree(Pass):
    """parts : (height, Partial or a future of one), of consecutive chunks, the first of them first."""

    def __init__(self, form: Form, options: Options, identity: str, total: int | None, saved: Saved) -> None:
        super().__init__(form, options, identity, total, saved.chunks)
        self.executor = _executor()
        self.parts: list[tuple[int, Any]] = list(saved.parts)
        self.rows = sum(p.rows + p.held_rows for _, p in saved.parts)
        self.slots: tuple[Slot, ...] = ()
        for _, partial in saved.parts:
            self.slots = joined(self.slots, partial.slots, form)

    def over(self, chunks: list[Any]) -> None:
        waiting: deque[Any] = deque()
        rest = iter(enumerate(chunks[self.number :], self.number))
        window = _AHEAD * self.executor.threads()
        while True:
            for number, delayed in itertools.islice(rest, window - len(waiting)):
                waiting.append(self.executor.leaf(delayed, number, self.form))
            if not waiting:
                return
            self._take(waiting[0])
            waiting.popleft()
            self.report(self.rows)

    def _take(self, future: Any) -> None:
        try:
            of, found = self.executor.about(future)
            self.slots = joined(self.slots, of.slots, self.form)
        except TooManyLevels as error:
            raise self.bad("", f"is too much: {error}") from None
        except Exception as error:  # of what makes the chunk
            why = f"cannot be read: {type(error).__name__}: {error}"
            found = Leaf(skip(nothing(self.form), self.number, why), 0, why)
            of = about(found)
        if of.why is not None and not self.options.skips:
            raise self.bad("", of.why)
        self._push(found)
        self.number, self.rows, self.bytes = self.number + 1, self.rows + of.rows, self.bytes + of.bytes

    def _push(self, new: Any) -> None:
        height = 0
        while self.parts and self.parts[-1][0] == height:
            _, before = self.parts.pop()
            new, height = self.executor.merge(before, new, self.form), height + 1
        self.parts.append((height, new))

    def whole(self) -> Partial:
        """All parts merged, the last two first."""
        if not self.parts:
            return nothing(self.form)
        found = self.parts[-1][1]
        for _, before in self.parts[-2::-1]:
            found = self.executor.merge(before, found, self.form)
        partial: Partial = self.executor.result(found)
        return partial

    def parts_read(self) -> list[tuple[int, Partial]]:
        return [(height, self.executor.result(one)) for height, one in self.parts]


class _Here:
    """In this process, one chunk at a time, by the scheduler that Dask is set to."""

    def threads(self) -> int:
        return 1

    def leaf(self, delayed: Any, number: int, form: Form) -> Any:
        return delayed, number, form

    def about(self, waiting: Any) -> tuple[About, Any]:
        delayed, number, form = waiting
        raw, beside = _computed(delayed)
        found = leaf(raw, beside, number, form)
        return about(found), found.partial

    def merge(self, a: Any, b: Any, form: Form) -> Partial:
        return merged(a, b, form)

    def result(self, one: Any) -> Partial:
        return part(one)


class _Workers:
    """On the workers of a distributed client; keys are new each time, as nothing may be remembered.

    A chunk is made where it is factored: its blocks of columns would travel otherwise.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.addresses: list[str] = []

    def threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def leaf(self, delayed: Any, number: int, form: Form) -> Any:
        import dask

        if number % _LOOK == 0 or not self.addresses:
            self.addresses = list(self.client.nthreads())
        where: dict[str, Any] = {}
        if self.addresses:
            where = {"workers": [self.addresses[number % len(self.addresses)]], "allow_other_workers": True}
        future = self.client.compute(dask.delayed(leaf, pure=False)(*delayed, number, form), **where)
        return future, self.client.submit(about, future, pure=False)

    def about(self, waiting: Any) -> tuple[About, Any]:
        return waiting[1].result(), waiting[0]

    def merge(self, a: Any, b: Any, form: Form) -> Any:
        return self.client.submit(merged, a, b, form, pure=False)

    def result(self, one: Any) -> Partial:
        return part(one.result() if hasattr(one, "result") else one)


def _computed(delayed: Any) -> Any:
    import dask

    return dask.compute(delayed[0], delayed[1])


def _executor() -> Any:
    module = sys.modules.get("distributed")
    if module is not None:
        try:
            return _Workers(module.get_client())
        except ValueError:  # there is none
            pass
    return _Here()


def _array(array: Any, wanted: Wanted) -> tuple[Any, list[Any], int | None]:
    """An empty chunk of its kind; what makes each chunk of rows, by blocks of columns; how many rows."""
    if array.ndim != 2:
        raise ValueError(f"source must be a matrix of shape (n, d); got shape {array.shape}")
    beside = [_blocks(v, array) for v in wanted.beside]
    blocks = array.to_delayed()
    leaves = [(list(row), tuple(v[k] for v in beside)) for k, row in enumerate(blocks)]
    total = sum(array.chunks[0])
    empty = np.empty((0, array.shape[1]), array.dtype)
    head = (empty, *(np.empty(0, v.dtype) for v in wanted.beside)) if beside else empty
    return head, leaves, None if math.isnan(total) else int(total)


def _blocks(vector: Any, array: Any) -> list[Any]:
    """What makes each part of a vector that goes with the chunks of rows."""
    if hasattr(vector, "to_delayed"):
        if vector.ndim != 1 or vector.numblocks[0] != array.numblocks[0]:
            raise ValueError("y and weights must be vectors with the chunks of the rows of the source")
        return list(vector.to_delayed())
    sizes = array.chunks[0]
    if len(vector) != sum(sizes):
        raise ValueError(
            f"y and weights must have {sum(sizes)} entries, as the source has rows; got {len(vector)}"
        )
    ends = list(itertools.accumulate(sizes, initial=0))
    return [vector[a:b] for a, b in itertools.pairwise(ends)]


def _frame(frame: Any, wanted: Wanted) -> tuple[Any, list[Any], int | None]:
    if wanted.beside:
        raise TypeError("y and weights are columns of a DataFrame: pass their names")
    frame = frame if wanted.columns is None else frame[wanted.columns]
    return frame._meta, [(delayed, ()) for delayed in frame.to_delayed()], None
