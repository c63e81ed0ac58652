"""The loop of all greedy methods, and the record of picks and norms that each method keeps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sparselin.linalg.ties import Argmax, relative_margin
from sparselin.results import FloatArray, Status


class Pick(NamedTuple):
    """A feature or group chosen by a rule, with λ*, margin, T, A(S) and attention weights if known."""

    feature: int
    lam_star: float = math.nan
    margin: float = math.nan
    tied: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    weights: FloatArray | None = None

    @classmethod
    def certain(cls, feature: int, lam_star: float, margin: float, with_active: bool) -> Pick:
        """Return a pick with T = {feature}, so that A(S) = T, recorded if `with_active`."""
        tied = (feature,)
        return cls(feature, lam_star, margin, tied, tied if with_active else ())

    @classmethod
    def largest(cls, best: Argmax, score: FloatArray, lam_star: float | None = None) -> Pick:
        """Return the pick of the largest score (d,); by default λ* is that score."""
        margin = relative_margin(score, best.pick, best.top)
        return cls(best.pick, best.top if lam_star is None else lam_star, margin, best.tied)


class PickRecord:
    """The picks so far, and a norm before the first and after each pick.

    The norm is that of the residual; for generalized linear models it is the deviance.
    """

    def __init__(self, norm: float) -> None:
        self.picks: list[Pick] = []
        self.norms = [norm]

    @property
    def support(self) -> list[int]:
        return [pick.feature for pick in self.picks]

    def add(self, picks: list[Pick], norms: list[float]) -> None:
        self.picks.extend(picks)
        self.norms.extend(norms)

    def truncate(self, m: int) -> None:
        """Keep the first m picks."""
        del self.picks[m:], self.norms[m + 1 :]

    def fields(self, dtype: Any, start: int = 0) -> dict[str, Any]:
        """Return λ*, margins and ties of the picks from `start` on, as fields of a result."""
        picks = self.picks[start:]
        return {
            "lam_star": np.array([pick.lam_star for pick in picks], dtype),
            "margin": np.array([pick.margin for pick in picks], dtype),
            "ties": tuple(pick.tied for pick in picks),
        }


P = TypeVar("P", covariant=True)


class GreedyState(Protocol[P]):
    """The state of a greedy method: the set selected so far, the fit on it, and the record of its picks."""

    @property
    def trail(self) -> PickRecord: ...

    def step(self, limit: int) -> Status | None:
        """Add at least one pick and at most `limit` picks, or return the status that says why there is none.

        If the pick turns out to depend on the set, the step excludes it and adds nothing.
        """

    def path(self, status: Status) -> P:
        """Return the picks so far as a result."""


def walk(state: GreedyState[P], k: int, floor: float, callback: Callable[[Any], object] | None) -> P:
    """Take steps until the state has k picks, its norm is at most `floor`, or a status ends the path.

    `callback` is called with the path after each pick; the walk stops if it returns True.
    """
    trail = state.trail
    while trail.norms[-1] > floor:
        m = len(trail.picks)
        if m == k:
            return state.path(Status.COMPLETED)
        ended = state.step(k - m if callback is None else 1)
        if ended is not None:
            return state.path(ended)
        if callback is not None and len(trail.picks) > m and callback(state.path(Status.STOPPED)):
            return state.path(Status.STOPPED)
    return state.path(Status.TOLERANCE)
