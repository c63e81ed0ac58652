"""The records of a pass over data, and the problem of the triangular factor in which it ends.

The records are `Compressed` (counts, errors, levels), `Progress` and `BadChunk`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.problem import Problem
from sparselin.problem.data import Compressed
from sparselin.problem.design import DesignColumns
from sparselin.problem.errors import EPS
from sparselin.problem.scales import unit_variance
from sparselin.results import FloatArray
from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial
from sparselin.validation import Names


class BadChunk(ValueError):
    """The error of a chunk that cannot be used; its message says which chunk, and why.

    Attributes
    ----------
    chunk : the number of the chunk, from 0.
    where : its position in the source, for example "row group 3".
    why : the reason.
    """

    def __init__(self, chunk: int, where: str, why: str, done: Callable[[], Problem] | None = None) -> None:
        place = f"chunk {chunk}" + (f" ({where})" if where else "")
        super().__init__(f"{place} {why}")
        self.chunk = chunk
        self.where = where
        self.why = why
        self._done = done

    def __reduce__(self) -> Any:
        return BadChunk, (self.chunk, self.where, self.why)

    def problem(self) -> Problem:
        """Return the problem of the chunks before this one; ValueError if these chunks have no rows."""
        if self._done is None:
            raise ValueError("no chunk before this one could be used, so there is no problem")
        return self._done()


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of a pass after `seconds`: the rows, bytes and chunks read so far.

    total : the number of rows in all, or None if it is unknown.
    """

    rows: int
    bytes: int
    chunks: int
    total: int | None
    seconds: float


def finish(partial: Partial, form: Form, standardize: bool) -> Problem:
    """Return the problem of the rows read so far.

    Raises ValueError if there are no rows, or no positive weights.
    """
    if not partial.rows:
        if partial.weightless and not partial.held_rows:
            raise ValueError("weights must be positive in at least one row; all are zero")
        raise ValueError(
            f"source has no rows: {partial.chunks} chunks, {len(partial.skipped)} of them skipped"
        )
    size = len(partial.R)
    growth = factor.growth(partial.steps, partial.merges, size)
    eps = growth * EPS
    columns, names = _features(partial, form)
    levels = {_label(form, j): tuple(v for i, v in partial.slots if i == j) for j in form.categories}
    record = Compressed(
        rows=partial.rows,
        weight=partial.weight,
        chunks=partial.chunks,
        skipped=partial.skipped,
        eps=eps,
        worst_eps=factor.worst_error(partial.steps, partial.merges, size),
        levels=levels,
        held_out=None,
    )

    def problem(R: FloatArray, record: Compressed, weight: float) -> Problem:
        """Return the problem of R; `weight` is that of all rows if the features are standardized, else 0."""
        X = np.asfortranarray(R[:, columns])
        ones = R[:, 0].copy() if form.intercept else None
        scale = None
        if weight:
            t = np.zeros(len(X)) if ones is None else ones
            t[0] = math.sqrt(weight) if ones is None else t[0]
            scale = unit_variance(X, t, form.intercept, growth=growth).astype(X.dtype)
        design = DesignColumns(X, ones, scale, names)
        return Problem.from_factor(design, R[:, -1].copy(), growth, record)

    if partial.held is not None and partial.held_rows:
        held = problem(partial.held, dataclasses.replace(record, rows=partial.held_rows), 0.0)
        record = dataclasses.replace(record, held_out=held)
    return problem(partial.R, record, partial.weight if standardize else 0.0)


def _features(partial: Partial, form: Form) -> tuple[list[int], Names]:
    """Return the feature columns of the factor in the order of the source, and their names or None.

    The columns that belong to the levels of a category are next to each other.
    """
    labels = [(j, _label(form, j)) for j in form.numbers]
    labels += [(j, f"{_label(form, j)}={level}") for j, level in partial.slots]
    order = sorted(range(len(labels)), key=lambda i: labels[i][0])  # stable: levels stay in their order
    named = form.names is not None or form.categories
    columns = [int(form.intercept) + i for i in order]
    return columns, tuple(labels[i][1] for i in order) if named else None


def _label(form: Form, j: int) -> str:
    return f"x{j}" if form.names is None else form.names[j]
