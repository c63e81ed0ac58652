"""Make the problem of a triangular factor: order its columns, and set intercept, scales and error bounds."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparselin.problem import Problem
from sparselin.problem.design import DesignColumns, unit_variance
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray
from sparselin.scale import factor
from sparselin.scale.form import Form
from sparselin.scale.partial import Partial
from sparselin.scale.record import Compressed
from sparselin.validation import Names


def finish(partial: Partial, form: Form, standardize: bool) -> Problem:
    """Return the problem of the rows read so far.

    Raises ValueError if there are no rows, or no positive weights.
    """
    if not partial.rows:
        raise ValueError(
            f"source has no rows: {partial.chunks} chunks, {len(partial.skipped)} of them skipped"
        )
    if not partial.weight > 0:
        raise ValueError("weights must be positive in at least one row; all are zero")
    size = len(partial.R)
    growth = factor.growth(partial.steps, partial.merges, size)
    eps = growth * EPS
    columns, names = _features(partial, form)
    levels = {_label(form, j): tuple(v for i, v in partial.slots if i == j) for j in form.categories}
    record = Compressed(
        rows=partial.rows, weight=partial.weight, chunks=partial.chunks, skipped=partial.skipped, eps=eps,
        worst_eps=factor.worst_error(partial.steps, partial.merges, size), levels=levels, held_out=None,
    )  # fmt: skip
    if partial.held is not None and partial.held_rows:
        part = dataclasses.replace(record, rows=partial.held_rows)
        held = _problem(partial.held, columns, names, form, growth, part, 0.0)
        record = dataclasses.replace(record, held_out=held)
    weight = partial.weight if standardize else 0.0
    return _problem(partial.R, columns, names, form, growth, record, weight)


def _problem(
    R: FloatArray,
    columns: list[int],
    names: Names,
    form: Form,
    growth: float,
    record: Compressed,
    weight: float,
) -> Problem:
    """Return the problem of the triangular factor R.

    columns : the features, as columns of R.
    weight : the sum of the weights of the rows if the features are standardized, else 0.
    """
    X = np.asfortranarray(R[:, columns])
    ones = R[:, 0].copy() if form.intercept else None
    scale = None
    if weight:
        t = np.zeros(len(X)) if ones is None else ones
        t[0] = math.sqrt(weight) if ones is None else t[0]
        scale = unit_variance(X, t, form.intercept, growth=growth).astype(X.dtype)
    return Problem.from_factor(DesignColumns(X, ones, scale), R[:, -1].copy(), growth, names, record)


def _features(partial: Partial, form: Form) -> tuple[list[int], Names]:
    """Return the feature columns of the factor in the order of the source, and their names or None.

    The columns that belong to the levels of a category are next to each other.
    """
    at: dict[int, list[int]] = {j: [int(form.intercept) + i] for i, j in enumerate(form.numbers)}
    first = form.intercept + len(form.numbers)
    for j in form.categories:
        at[j] = [first + i for i, (place, _) in enumerate(partial.slots) if place == j]
    order = sorted(at)
    if form.names is None and not form.categories:
        return [i for j in order for i in at[j]], None
    names = []
    for j in order:
        levels = [v for place, v in partial.slots if place == j]
        label = _label(form, j)
        names += [f"{label}={v}" for v in levels] if j in form.categories else [label]
    return [i for j in order for i in at[j]], tuple(names)


def _label(form: Form, j: int) -> str:
    return f"x{j}" if form.names is None else form.names[j]
