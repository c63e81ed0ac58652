"""The loop of all greedy methods, and the record that each method keeps of its picks and residual norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sparselin._kernels.notice import caller
from sparselin.linalg.ties import Scores, candidates, relative_margin, tied_at_maximum
from sparselin.results import FloatArray, IndexArray, Status
from sparselin.validation.progress import ProgressLog


class Pick(NamedTuple):
    """A feature or group chosen by a rule, with its score, its ties and the margin of the choice.

    lam_star, margin : λ*, the largest score at this step; and the difference between λ* and the second
        largest score, divided by λ*. NaN if not known.
    tied : the features whose score equals the largest one to rounding.
    active : the features that enter the LASSO first if the features selected before have no penalty.
    weights : (d,) attention weights, or None.
    """

    feature: int
    lam_star: float = math.nan
    margin: float = math.nan
    tied: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    weights: FloatArray | None = None

    @classmethod
    def certain(cls, feature: int, lam_star: float, margin: float, with_active: bool) -> Pick:
        """Return a pick that is tied with no other feature: its tied set is {feature}.

        The features that enter the LASSO first are then {feature} too. They are recorded if `with_active`.
        """
        tied = (feature,)
        return cls(feature, lam_star, margin, tied, tied if with_active else ())


def argmax(
    score: FloatArray,
    error: FloatArray,
    excluded: IndexArray | list[int],
    measured: Callable[[IndexArray], Scores],
) -> tuple[Pick | None, FloatArray]:
    """Find the columns with the largest |score|, except `excluded` ones; return a `Pick` and the scores.

    Its `lam_star` is the largest |score|. The pick is the lowest index of the tied columns whose score is not
    zero to rounding. If all scores may be zero, None is returned in place of the pick. If the errors leave
    several candidates, measured(candidates) is called, and the scores that it returns replace theirs. For a
    column in the span of the selected columns, `measured` returns score and error zero.
    """
    tied = candidates(np.abs(score), error, excluded)
    if len(tied) == 1 and abs(score[tied[0]]) > error[tied[0]]:
        pick = int(tied[0])
        top = float(abs(score[tied[0]]))
    else:
        some, errors, coarse = measured(tied)
        score = score.astype(np.float64)
        score[tied] = some
        certain = np.abs(some) > coarse * errors
        if not certain.any():
            return None, score
        top, places = tied_at_maximum(some, errors)
        pick = int(tied[places[np.argmax(certain[places])]])
        tied = tied[places]
    others = np.abs(score)
    others[excluded] = 0
    return Pick(
        feature=pick, lam_star=top, margin=relative_margin(others, pick, top), tied=tuple(tied.tolist())
    ), score


class PickRecord:
    """The picks so far, with the norm of the residual before the first pick and after each pick.

    For generalized linear models the deviance takes the place of this norm.
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

    def fields(self, dtype: Any, t: int = 0) -> tuple[FloatArray, FloatArray, tuple[tuple[int, ...], ...]]:
        """Return `lam_star`, `margin` and `ties` of the picks after the first t, the fields of a result."""
        picks = self.picks[t:]
        lam_star = np.array([pick.lam_star for pick in picks], dtype)
        margin = np.array([pick.margin for pick in picks], dtype)
        return lam_star, margin, tuple(pick.tied for pick in picks)


P = TypeVar("P", covariant=True)


class GreedyState(Protocol[P]):
    """The state of a greedy method: the features selected so far, the fit on them, and the picks."""

    @property
    def trail(self) -> PickRecord: ...

    def step(self, limit: int) -> Status | None:
        """Add one pick, or several up to `limit`. If no pick is possible, return the status that says why.

        If the pick depends linearly on the features selected so far, the step excludes the pick and adds
        nothing.
        """

    def path(self, status: Status) -> P:
        """Return the picks so far as a result."""


def walk(state: GreedyState[P], k: int, floor: float, callback: Callable[[Any], object] | None) -> P:
    """Take steps until the state has k picks, its residual norm is at most `floor`, or a status ends it.

    If a `callback` is given, it is called with the path after each pick; if it returns True, the loop stops.
    """
    trail = state.trail
    progress = ProgressLog(caller, "picks", k)
    while trail.norms[-1] > floor:
        m = len(trail.picks)
        progress.report(m)
        if m == k:
            return state.path(Status.COMPLETED)
        ended = state.step(k - m if callback is None else 1)
        if ended is not None:
            return state.path(ended)
        if callback is not None and len(trail.picks) > m and callback(state.path(Status.STOPPED)):
            return state.path(Status.STOPPED)
    return state.path(Status.TOLERANCE)
