"""What a pass leaves beside the factor: counts, the error, levels, rows held out; and how it may fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.problem import Problem
from sparselin.results import FloatArray, SelectionPath


@dataclasses.dataclass(frozen=True)
class Compressed:
    """The record of a pass over data by `compress`; it is the `compressed` of the `Problem`.

    Attributes
    ----------
    rows, weight : how many rows are in the factor, and the sum of their weights.
    chunks, skipped : how many chunks there were, and (number, why) of those left out by on_bad="skip".
    eps : the columnwise backward error: the factor is exact for data whose columns differ from the given ones
        by at most about eps of their lengths, for rounding errors that are independent and of mean zero but
        for a drift: 2⁻⁵²·(√(N + (d + 2)·p + L·(d + 2)²) + N/256) for chains of N blocks of at most p = 1024
        rows, merged by a tree of depth L (`sparselin.scale.factor`). The bounds of the problem on errors take
        8 times as much.
    worst_eps : the bound of the worst case, 8(d + 2)(N(p + 1) + L(d + 3))·2⁻⁵³.
    levels : of each category, in the order in which they first appeared; its features are named
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
        """R² (t + 1,) of the first 0, …, t features of a path on the rows held out.

        1 − ‖z − Zβ‖²/‖z − z̄‖², z̄ their mean; without an intercept 1 − ‖z − Zβ‖²/‖z‖². Raises ValueError
        if no rows were held out, or if these leave nothing to explain.
        """
        held = self.held_out
        if held is None:
            raise ValueError("no rows were held out: compress(..., held_out=10) holds out every tenth row")
        t, z = held.design.ones, held.y
        centred = z if t is None else z - t * (t @ z) / (t @ t)
        total = float(centred @ centred)
        if total <= (held.unit * held.y_norm) ** 2:
            raise ValueError("the y of the rows held out is constant: it leaves nothing to explain")
        X, errors = held.X[:, path.support], []
        for k in range(len(path) + 1):
            r = z - X[:, :k] @ path.coef_at(k)
            r = r if t is None else r - t * path.intercept_at(k)
            errors.append(float(r @ r))
        return np.asarray(1 - np.array(errors) / total)


class BadChunk(ValueError):
    """A chunk that cannot be used; the message says which one and why.

    Attributes
    ----------
    chunk : its number, from 0. where : where that is in the source, as "row group 3".
    """

    def __init__(self, chunk: int, where: str, why: str, done: Callable[[], Problem] | None = None) -> None:
        place = f"chunk {chunk}" + (f" ({where})" if where else "")
        super().__init__(f"{place} {why}")
        self.chunk, self.where, self.why = chunk, where, why
        self._done = done

    def __reduce__(self) -> Any:
        return BadChunk, (self.chunk, self.where, self.why)

    def problem(self) -> Problem:
        """The problem of the chunks before it. ValueError if these have no rows."""
        if self._done is None:
            raise ValueError("nothing was done before this chunk")
        return self._done()


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a pass is: rows, bytes and chunks read, of `total` rows if that is known, after `seconds`."""

    rows: int
    bytes: int
    chunks: int
    total: int | None
    seconds: float
