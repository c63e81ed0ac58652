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
from sparselin.problem.design import DesignColumns, unit_variance
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, SelectionPath
from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial
from sparselin.validation import Names


@dataclasses.dataclass(frozen=True)
class Compressed:
    """The record of a pass by `compress`, which `Problem.compressed` holds.

    Attributes
    ----------
    rows, weight : the number of rows in the factor, those of weight 0 left out, and the sum of their weights.
    chunks, skipped : the number of chunks, and (number, reason) of each chunk left out by on_bad="skip".
    eps : the columnwise backward error. The factor is exact for data whose columns differ from the given ones
        by at most about eps of their lengths. Let N be the largest number of blocks, of at most p = 1024
        rows, that were added one after the other to one factor, and L the depth of the tree that merged
        factors (`sparselin.scale.factor`). For d features eps = 2⁻⁵²·(√(N + (d + 2)·p + L·(d + 2)²) + N/256).
        This formula assumes rounding errors that are independent and of mean zero, except for a small drift.
        The problem multiplies eps by 8 in its error bounds.
    worst_eps : the bound in the worst case, 8(d + 2)(N(p + 1) + L(d + 3))·2⁻⁵³.
    levels : the levels of each category in the order of their first appearance; the features are named
        "category=level".
    held_out : the `Problem` of the rows held out, or None.
    """

    rows: int
    weight: float
    chunks: int
    skipped: tuple[tuple[int, str], ...]
    eps: float
    worst_eps: float
    levels: dict[str, tuple[Any, ...]]
    held_out: Problem | None

    def held_out_r2(self, path: SelectionPath) -> FloatArray:
        """Return R² (t + 1,) of the first 0, …, t features of a path on the rows held out.

        Let Z and z be X and y on these rows, z̄ the mean of z, and β the coefficients on the first features.
        Then R² = 1 − ‖z − Zβ‖²/‖z − z̄‖², or without an intercept R² = 1 − ‖z − Zβ‖²/‖z‖². Raises ValueError
        if no rows were held out, or if z is constant (zero, without an intercept).
        """
        held = self.held_out
        if held is None:
            raise ValueError("no rows were held out: compress(..., held_out=10) holds out every tenth row")
        t, z = held.design.ones, held.y
        centred = z if t is None else z - t * (t @ z) / (t @ t)
        total = float(centred @ centred)
        if total <= (held.unit * held.y_norm) ** 2:
            raise ValueError("y is constant on the rows held out, so R² is not defined: hold out more rows")
        X, errors = held.X[:, path.support], []
        for k in range(len(path) + 1):
            r = z - X[:, :k] @ path.coef_at(k)
            r = r if t is None else r - t * path.intercept_at(k)
            errors.append(float(r @ r))
        return np.asarray(1 - np.array(errors) / total)


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
        self.chunk, self.where, self.why = chunk, where, why
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
        raise ValueError(f"source has no rows: {partial.chunks} chunks, {len(partial.skipped)} are skipped")
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
        return Problem.from_factor(DesignColumns(X, ones, scale), R[:, -1].copy(), growth, names, record)

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
