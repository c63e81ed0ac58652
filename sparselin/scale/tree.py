"""The pass over data on Dask: each chunk is factored, and the factors are merged by a tree.

Leaf k of the tree is the factor of chunk k alone. Two neighbouring parts of 2^h chunks each are merged when
both exist, like carries in a binary counter. At the end the remaining parts are merged from the right. So the
tree, and with it every bit of the result, depends only on the number of chunks. It does not depend on the
workers: the leaves of a lost worker are computed again.

Leaves are submitted in order, a few ahead of the first unfinished leaf, so that a part only waits for its
neighbour. At any time log₂ N parts and these few leaves exist for N chunks. `dask.array.linalg.tsqr` instead
holds the whole graph at once (https://github.com/dask/dask/issues/3419: 25 GB for 28 GB of data). Workers
exchange only triangular factors.
"""

import contextlib
import dataclasses
import itertools
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem import Problem
from sparselin.scale.checkpoint import Digests, Saved, digest_of, load, other_data
from sparselin.scale.form import BadChunkData, Form, TooManyLevels, chunk_of
from sparselin.scale.partial import Partial, Slot, absorb, empty_partial, join_slots, merge, skip
from sparselin.scale.passes import Options, Pass, chunk_bytes
from sparselin.scale.record import BadChunk
from sparselin.scale.sources import ReadOptions
from sparselin.validation import has_masked_entries

_LEAVES_PER_THREAD = 3  # leaves that are submitted for each thread of the workers
_LEAVES_PER_LOOKUP = 16  # leaves after which the list of workers is updated


class Leaf(NamedTuple):
    """A leaf of the tree of merges: the state of one chunk and its size in bytes.

    why : the reason if the chunk is unusable, else None.
    digest : the digest of the chunk, if it was wanted (`sparselin.scale.checkpoint`).
    """

    partial: Partial
    bytes: int
    why: str | None = None
    digest: str = ""


def summarize(leaf: Leaf) -> Leaf:
    """Return a leaf without its factors."""
    return leaf._replace(partial=dataclasses.replace(leaf.partial, R=np.zeros((0, 0)), held=None))


def read_leaf(
    raw: Any, vectors: tuple[Any, ...], number: int, form: Form, traced: bool = False, again: bool = False
) -> Leaf:
    """Return the leaf of chunk `number`.

    raw : a frame, an array, or the list of its blocks of columns.
    traced : whether to compute the digest of the chunk.
    again : whether the chunk is only compared with a checkpoint. Then its rows are counted and not factored.
    """
    try:
        if isinstance(raw, list):
            join = np.ma.hstack if has_masked_entries(raw) else np.hstack
            raw = raw[0] if len(raw) == 1 else join(raw)
        chunk = chunk_of((raw, *vectors) if vectors else raw)
        form.check(chunk)
        digest = digest_of(chunk, form) if traced or again else ""
        if again:
            return Leaf(dataclasses.replace(empty_partial(form), rows=chunk.rows), 0, None, digest)
        return Leaf(absorb(empty_partial(form), chunk, number, form), chunk_bytes(chunk), None, digest)
    except BadChunkData as error:
        return Leaf(skip(empty_partial(form), number, str(error)), 0, str(error))


def partial_of(part: Leaf | Partial) -> Partial:
    """Return the state of a part of the tree of merges: a leaf, or parts that have been merged."""
    return part.partial if isinstance(part, Leaf) else part


def merge_parts(a: Leaf | Partial, b: Leaf | Partial, form: Form) -> Partial:
    """Merge two neighbouring parts of the tree into one state."""
    return merge(partial_of(a), partial_of(b), form)


def run(source: Any, form_of_first: Callable[[Any], Form], options: Options, reading: ReadOptions) -> Problem:
    """Read a Dask array or DataFrame on the current distributed client, or else in this process."""
    open_collection = _open_array if hasattr(source, "numblocks") else _open_frame
    head, leaves, rows = open_collection(source, reading)
    form = form_of_first(chunk_of(head))
    identity = f"{type(source).__name__} of {len(leaves)} chunks of {rows if rows is not None else '?'} rows"
    saved = Saved(0, [])
    if options.checkpoint is not None and options.checkpoint.exists():
        saved = load(options.checkpoint, form, identity, tree=True)
    tree = _Tree(form, options, identity, rows, saved)
    tree.compare(saved, leaves)
    return tree.run(leaves)


class _Tree(Pass):
    """A pass over the chunks of a Dask source, which merges the factors of chunks by a tree.

    The attribute `parts` holds pairs: the height in the tree, and a `Leaf`, a `Partial` of consecutive
    chunks, or the future of a `Leaf` or `Partial`.
    """

    def __init__(self, form: Form, options: Options, identity: str, total: int | None, saved: Saved) -> None:
        super().__init__(form, options, identity, total, saved)
        self.executor = _executor()
        self.parts: list[tuple[int, Any]] = list(saved.parts)
        self.rows = saved.rows
        self.slots: tuple[Slot, ...] = ()
        for _, partial in saved.parts:
            self.slots = join_slots(self.slots, partial.slots, form)

    def compare(self, saved: Saved, chunks: list[Any]) -> None:
        """Read the chunks of a checkpoint again; ValueError if they are not those that were read before."""
        path = self.options.checkpoint
        trace = Digests()
        rows = 0
        used = [(i, chunk) for i, chunk in enumerate(chunks[: saved.chunks]) if i not in saved.skipped]
        for i, future in self._leaves(used, again=True):
            try:
                leaf, _ = self.executor.summary(future)
            except Exception as error:  # of the task that makes the chunk
                raise BadChunk(i, "", f"cannot be read: {type(error).__name__}: {error}") from error
            if leaf.why is not None:
                raise other_data(path, f"chunk {i}, which was used before, {leaf.why}")
            trace = trace.after(leaf.digest)
            rows = rows + leaf.partial.rows
            if trace.first != saved.trace.first:
                raise other_data(path, f"chunk {i} is not the one that was read")
        if (trace, rows) != (saved.trace, saved.rows):
            raise other_data(path, f"the first {saved.chunks} chunks are not those that were read")

    def read(self, chunks: list[Any]) -> None:
        for _, future in self._leaves(enumerate(chunks[self.number :], self.number)):
            self._absorb(future)
            self.report(self.rows)

    def _leaves(self, chunks: Iterable[tuple[int, Any]], again: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield (number, leaf to come) in order; a few leaves ahead are being read meanwhile."""
        waiting: deque[Any] = deque()
        rest = iter(chunks)
        window = _LEAVES_PER_THREAD * self.executor.threads()
        how = (self.form, self.options.checkpoint is not None, again)
        while True:
            for number, delayed in itertools.islice(rest, window - len(waiting)):
                waiting.append((number, self.executor.leaf(delayed, number, *how)))
            if not waiting:
                return
            yield waiting[0]
            waiting.popleft()

    def _absorb(self, future: Any) -> None:
        try:
            summary, leaf = self.executor.summary(future)
            self.slots = join_slots(self.slots, summary.partial.slots, self.form)
        except TooManyLevels as error:
            raise self.bad("", f"cannot be used: {error}") from None
        except Exception as error:  # of the task that makes the chunk
            why = f"cannot be read: {type(error).__name__}: {error}"
            leaf = Leaf(skip(empty_partial(self.form), self.number, why), 0, why)
            summary = summarize(leaf)
        if summary.why is not None and not self.options.skips:
            raise self.bad("", summary.why)
        self._push(leaf)
        self.trace = self.trace.after(summary.digest) if summary.digest else self.trace
        self.number = self.number + 1
        self.bytes = self.bytes + summary.bytes
        self.rows += summary.partial.rows_read

    def _push(self, part: Any) -> None:
        """Append a leaf to `parts`, and merge the last two parts as long as they have the same height."""
        height = 0
        while self.parts and self.parts[-1][0] == height:
            _, before = self.parts.pop()
            part = self.executor.merge(before, part, self.form)
            height = height + 1
        self.parts.append((height, part))

    def state(self) -> Partial:
        """Merge all parts, the last two first, and return the state."""
        if not self.parts:
            return empty_partial(self.form)
        part = self.parts[-1][1]
        for _, before in self.parts[-2::-1]:
            part = self.executor.merge(before, part, self.form)
        partial: Partial = self.executor.result(part)
        return partial

    def snapshot(self) -> list[tuple[int, Partial]]:
        return [(height, self.executor.result(part)) for height, part in self.parts]


class _LocalExecutor:
    """Reads one chunk at a time in this process, by Dask's current scheduler."""

    def threads(self) -> int:
        return 1

    def leaf(self, delayed: Any, number: int, *how: Any) -> Any:
        return delayed, number, how

    def summary(self, waiting: Any) -> tuple[Leaf, Any]:
        delayed, number, how = waiting
        import dask

        raw, vectors = dask.compute(*delayed)
        leaf = read_leaf(raw, vectors, number, *how)
        return summarize(leaf), leaf.partial

    merge = staticmethod(merge_parts)
    result = staticmethod(partial_of)


class _DistributedExecutor:
    """Reads chunks on the workers of a distributed client.

    Keys are new each time (pure=False), so that no result of an earlier pass is reused. A chunk is made on
    the worker that factors it, so that its blocks of columns need not be moved.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.addresses: list[str] = []

    def threads(self) -> int:
        return max(1, sum(map(int, self.client.nthreads().values())))

    def leaf(self, delayed: Any, number: int, *how: Any) -> Any:
        import dask

        if number % _LEAVES_PER_LOOKUP == 0 or not self.addresses:
            self.addresses = list(self.client.nthreads())
        where: dict[str, Any] = {}
        if self.addresses:
            where = {"workers": [self.addresses[number % len(self.addresses)]], "allow_other_workers": True}
        future = self.client.compute(dask.delayed(read_leaf, pure=False)(*delayed, number, *how), **where)
        return future, self.client.submit(summarize, future, pure=False)

    def summary(self, waiting: Any) -> tuple[Leaf, Any]:
        return waiting[1].result(), waiting[0]

    def merge(self, a: Any, b: Any, form: Form) -> Any:
        return self.client.submit(merge_parts, a, b, form, pure=False)

    def result(self, part: Any) -> Partial:
        return partial_of(part.result() if hasattr(part, "result") else part)


def _executor() -> Any:
    if "distributed" in sys.modules:
        with contextlib.suppress(ValueError):  # there is no client
            return _DistributedExecutor(sys.modules["distributed"].get_client())
    return _LocalExecutor()


def _open_array(array: Any, reading: ReadOptions) -> tuple[Any, list[Any], int | None]:
    """Return an empty chunk, the delayed blocks of each chunk of rows, and the number of rows if known."""
    if array.ndim != 2:
        raise ValueError(f"source must be a matrix of shape (n, d); got shape {array.shape}")
    vectors = [_vector_blocks(v, array) for v in reading.vectors]
    blocks = array.to_delayed()
    leaves = [(list(row), tuple(v[k] for v in vectors)) for k, row in enumerate(blocks)]
    total = sum(array.chunks[0])
    empty = np.empty((0, array.shape[1]), array.dtype)
    head = (empty, *(np.empty(0, v.dtype) for v in reading.vectors)) if vectors else empty
    return head, leaves, None if math.isnan(total) else int(total)


def _vector_blocks(vector: Any, array: Any) -> list[Any]:
    """Return the part of a vector for each chunk of rows, delayed if the vector is a Dask array."""
    if hasattr(vector, "to_delayed"):
        if vector.ndim != 1 or vector.numblocks[0] != array.numblocks[0]:
            raise ValueError("y and weights must be vectors with the same chunks as the rows of the source")
        return list(vector.to_delayed())
    sizes = array.chunks[0]
    if len(vector) != sum(sizes):
        raise ValueError(
            f"y and weights must have one entry per row of the source, {sum(sizes)}; got {len(vector)}"
        )
    ends = list(itertools.accumulate(sizes, initial=0))
    return [vector[a:b] for a, b in itertools.pairwise(ends)]


def _open_frame(frame: Any, reading: ReadOptions) -> tuple[Any, list[Any], int | None]:
    if reading.vectors:
        raise TypeError("y and weights must be names of columns of the Dask DataFrame; got arrays")
    frame = frame if reading.columns is None else frame[reading.columns]
    return frame._meta, [(delayed, ()) for delayed in frame.to_delayed()], None
