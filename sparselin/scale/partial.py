"""The state of a pass over data: the factor of the rows read so far, and counts.

The functions add chunks to a state, and merge two states.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from sparselin.parallel.threads import workers
from sparselin.results import FloatArray
from sparselin.scale import factor
from sparselin.scale.form import BadChunkData, Chunk, Codes, Form, TooManyLevels, codes_of

# The column of zeros and ones of one level: (index of the category among the columns of a chunk, level).
Slot: TypeAlias = tuple[int, Any]


@dataclasses.dataclass(frozen=True)
class Partial:
    """The state of a pass over data: the factor of the rows read so far, and counts.

    A row of the factored matrix is [1, numeric features, columns of levels, y]·√weight, where the column of a
    level indicates the rows in which a category has this level. Without an intercept the 1 is missing.

    R, held : the factors of the training rows, and of the rows held out (or None).
    slots : the columns of levels, in the order in which the levels first appear.
    rows, held_rows : the numbers of training rows, and of rows held out.
    weightless : the number of rows of weight 0, which are read and count for nothing else.
    weight : the sum of the weights of the training rows.
    chunks, skipped : the number of chunks, skipped ones included; and (number, reason) of each skipped chunk.
    steps, merges : the largest number of blocks of rows that were added one after the other to one factor (a
        leaf), and the depth of the tree that merges the leaves.
    """

    R: FloatArray
    held: FloatArray | None
    slots: tuple[Slot, ...] = ()
    rows: int = 0
    held_rows: int = 0
    weightless: int = 0
    weight: float = 0.0
    chunks: int = 0
    skipped: tuple[tuple[int, str], ...] = ()
    steps: int = 0
    merges: int = 0

    @property
    def rows_read(self) -> int:
        """The number of rows that were read."""
        return self.rows + self.held_rows + self.weightless


def empty_partial(form: Form) -> Partial:
    """Return the state of a pass before any row has been read."""
    size = form.intercept + len(form.numbers) + 1
    return Partial(R=factor.zeros(size), held=factor.zeros(size) if form.held_out else None)


def skip(partial: Partial, number: int, why: str) -> Partial:
    """Return the state after chunk `number` has been left out for the reason `why`."""
    return dataclasses.replace(partial, chunks=partial.chunks + 1, skipped=(*partial.skipped, (number, why)))


def absorb(partial: Partial, chunk: Chunk, number: int, form: Form) -> Partial:
    """Return the state after the rows of a chunk have been factored.

    number : the number of the chunk, which determines the rows to hold out.

    Raises BadChunkData if the chunk cannot be used, and TooManyLevels.
    """
    form.check(chunk)
    read = chunk.rows
    chunk, numbers = _without_weightless(chunk, form)
    coded = {j: codes_of(chunk.column(j)) for j in form.categories}
    levels = [(j, level) for j, codes in coded.items() for level in codes.levels]
    slots = join_slots(partial.slots, levels, form)
    R = widen(partial.R, len(slots) - len(partial.slots))
    held = None if partial.held is None else widen(partial.held, len(slots) - len(partial.slots))
    folder = factor.Folder(len(R))
    blocks = _Blocks(chunk, numbers, form, coded, slots, factor.empty(folder.rows, len(R)))
    kept, steps = 0, 0
    with workers(2.0 * chunk.rows * len(R) ** 2):
        for start in range(0, chunk.rows, folder.rows):
            B = blocks.take(start, start + folder.rows)
            if held is not None:
                out = (np.arange(start, start + len(B)) + number) % form.held_out == form.held_out - 1
                folder.fold(held, factor.align(B[out]))
                B = factor.align(B[~out])
            kept = kept + len(B)
            steps = steps + 1
            folder.fold(R, B)
    folder.finish(R)
    if held is not None:
        folder.finish(held)
    weight = form.weights(chunk)
    if weight is not None and form.held_out:
        weight = weight[(np.arange(chunk.rows) + number) % form.held_out != form.held_out - 1]
    return dataclasses.replace(
        partial,
        R=R,
        held=held,
        slots=slots,
        rows=partial.rows + kept,
        held_rows=partial.held_rows + chunk.rows - kept,
        weightless=partial.weightless + read - chunk.rows,
        weight=partial.weight + (kept if weight is None else float(weight.sum())),
        chunks=partial.chunks + 1,
        steps=partial.steps + steps,
    )


def merge(a: Partial, b: Partial, form: Form) -> Partial:
    """Merge the states of two ranges of chunks into the state of all their rows; a comes before b.

    Raises TooManyLevels.
    """
    slots = join_slots(a.slots, b.slots, form)
    first = form.intercept + len(form.numbers)
    place = [*range(first), *(first + slots.index(slot) for slot in b.slots), first + len(slots)]

    folder = factor.Folder(first + len(slots) + 1)  # before the threads of its BLAS are limited

    def both(R: FloatArray, S: FloatArray) -> FloatArray:
        R = widen(R, len(slots) - len(a.slots))
        B = factor.empty(len(S), len(R))
        B[:] = 0
        B[:, place] = S
        folder.fold(R, B)
        folder.finish(R)
        return R

    with workers(4.0 * (first + len(slots) + 1) ** 3):
        one_empty = not (a.chunks - len(a.skipped) and b.chunks - len(b.skipped))
        R = both(a.R, b.R)
        held = both(a.held, b.held) if a.held is not None and b.held is not None else None
    return Partial(
        R=R,
        held=held,
        slots=slots,
        rows=a.rows + b.rows,
        held_rows=a.held_rows + b.held_rows,
        weightless=a.weightless + b.weightless,
        weight=a.weight + b.weight,
        chunks=a.chunks + b.chunks,
        skipped=a.skipped + b.skipped,
        steps=max(a.steps, b.steps),
        merges=max(a.merges, b.merges) + (not one_empty),
    )


def join_slots(slots: tuple[Slot, ...], others: Sequence[Slot], form: Form) -> tuple[Slot, ...]:
    """Append to the columns of levels `slots` the columns in `others` that are new; return all of them.

    A column of a level indicates the rows in which a category has this level. Raises TooManyLevels.
    """
    known = set(slots)
    found = (*slots, *dict.fromkeys(slot for slot in others if slot not in known))
    for j in form.categories:
        if (count := sum(place == j for place, _ in found)) > form.max_levels:
            raise TooManyLevels(
                f"{form.name(j)} has at least {count} levels; max_levels is {form.max_levels}. Leave it out "
                "of columns, merge rare levels, or raise max_levels if memory allows"
            )
    return found


def widen(R: FloatArray, count: int) -> FloatArray:
    """Insert `count` zero columns into a factored matrix A, before its last column; return the new factor.

    R : the triangular factor of A. The result is R with zero rows and columns inserted before the last ones.
    """
    size = len(R) + count
    W = factor.zeros(size)
    at = [*range(len(R) - 1), size - 1]
    W[np.ix_(at, at)] = R
    return W


def _without_weightless(chunk: Chunk, form: Form) -> tuple[Chunk, Sequence[int] | np.ndarray]:
    """Leave out the rows of weight 0; return the chunk of the other rows, and their numbers in `chunk`.

    A row of weight 0 does not count: neither in the numbers of rows, nor in the choice of the rows to hold
    out, nor do its levels. Raises BadChunkData if it is not finite, as `Problem` does.
    """
    weight = form.weights(chunk)
    if weight is None or weight.all():
        return chunk, range(chunk.rows)
    rows, out = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    for j in (*form.numbers, form.y):
        values = (form.response(chunk) if j == form.y else chunk.column(j))[out]
        if not np.isfinite(values).all():
            i = int(np.argmin(np.isfinite(values)))
            raise BadChunkData(f"has {values[i]} in {'y' if j < 0 else form.name(j)}, row {out[i]}")
    if isinstance(chunk.columns, np.ndarray):
        columns: Any = chunk.columns[rows]
    else:
        columns = tuple(c.take(rows) if isinstance(c, Codes) else c[rows] for c in chunk.columns)
    y = None if chunk.y is None else chunk.y[rows]
    return chunk._replace(columns=columns, y=y, weight=None if chunk.weight is None else weight[rows]), rows


class _Blocks:
    """The maker of the blocks of rows that are factored, which uses the same array for all blocks."""

    def __init__(
        self,
        chunk: Chunk,
        numbers: Sequence[int] | np.ndarray,
        form: Form,
        coded: dict[int, Codes],
        slots: tuple[Slot, ...],
        space: FloatArray,
    ) -> None:
        self.chunk = chunk
        self.numbers = numbers
        self.form = form
        self.space = space
        first = form.intercept + len(form.numbers)
        place = {slot: first + i for i, slot in enumerate(slots)}
        self.levels = slice(first, first + len(slots))
        self.coded = [(c.codes, np.array([place[j, v] for v in c.levels], np.intp)) for j, c in coded.items()]
        self.runs = form.runs()
        self.y = form.response(chunk)
        weight = form.weights(chunk)
        self.root = None if weight is None else np.sqrt(weight)

    def take(self, start: int, stop: int) -> FloatArray:
        """Return the rows start, …, stop − 1. Raises BadChunkData if they are not finite."""
        chunk = self.chunk
        B = self.space[: min(stop, chunk.rows) - start]
        here = slice(start, start + len(B))
        if self.form.intercept:
            B[:, 0] = 1
        if isinstance(chunk.columns, np.ndarray):
            for source, target in self.runs:
                B[:, target] = chunk.columns[here, source]
        else:
            for at, j in enumerate(self.form.numbers, int(self.form.intercept)):
                B[:, at] = chunk.columns[j][here]
        B[:, self.levels] = 0
        for codes, places in self.coded:
            B[np.arange(len(B)), places[codes[here]]] = 1
        B[:, -1] = self.y[here]
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(B.sum())
        if suspect and not np.isfinite(B).all():
            i, j = (int(v[0]) for v in np.nonzero(~np.isfinite(B)))
            raise BadChunkData(f"has {B[i, j]} in {self._name(j)}, row {self.numbers[start + i]}")
        if self.root is not None:
            B *= self.root[here, None]
        return B

    def _name(self, j: int) -> str:
        if j == self.space.shape[1] - 1:
            return "y" if self.form.y < 0 else self.form.name(self.form.y)
        return self.form.name(self.form.numbers[j - self.form.intercept])
