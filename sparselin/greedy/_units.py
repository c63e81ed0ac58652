"""Methods that select units, groups of columns: how units are compared, and the state of such a method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from sparselin.greedy._outcomes import Dependent, NoFit
from sparselin.greedy._walk import Pick, PickRecord, argmax
from sparselin.linalg.ties import Scores
from sparselin.results import FloatArray, IndexArray, Status


class Units(NamedTuple):
    """The units that a method selects: groups of columns, which are compared by weighted norms.

    Let c_g be the correlations of the columns of unit g. The score of g is ‖c_g‖/w_g.

    groups : (d,) the unit of each column, 0, …, G − 1.
    weights : (G,) the weights w.
    norm : a function of `groups` and a vector (d,) that returns the norm (G,) of the entries of each unit.
    rounding : (G,) bounds on the relative rounding errors of these norms.
    """

    groups: IndexArray
    weights: FloatArray
    norm: Callable[[IndexArray, FloatArray], FloatArray]
    rounding: FloatArray

    def columns(self, J: IndexArray) -> IndexArray:
        """Return the columns of the units J, in increasing order."""
        return np.flatnonzero(np.isin(self.groups, J))

    def norms(self, c: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ‖c_g‖ (G,) of each unit, and a bound on its error, for c (d,) with error bounds (d,)."""
        norm = self.norm(self.groups, c)
        bound = self.norm(self.groups, error) + self.rounding * norm
        return norm, bound

    def scores(self, c: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the score ‖c_g‖/w_g (G,) of each unit, and a bound on its error."""
        norm, bound = self.norms(c, error)
        return norm / self.weights, bound / self.weights

    def measured_scores(self, J: IndexArray, measure: Callable[[IndexArray], Scores]) -> Scores:
        """Return the scores of the units J, given a function that measures the correlations of columns."""
        columns = self.columns(J)
        measured = measure(columns)
        c, error = np.zeros((2, len(self.groups)))
        c[columns], error[columns] = measured.score, measured.error
        score, bound = self.scores(c, error)
        return Scores(score[J], bound[J], measured.coarse)


def root_of_squares(groups: IndexArray, v: FloatArray) -> FloatArray:
    """Return the norm of the entries of v (d,) in each group, as the root of a sum of squares."""
    return np.asarray(np.sqrt(np.bincount(groups, v**2)))


def exact_for_one(groups: IndexArray, v: FloatArray) -> FloatArray:
    """Return the norm of the entries of v (d,) in each group, which is |v_i| for a group of one column.

    `hypot` is exact if one argument is zero. A group of p columns takes p − 1 other calls.
    """
    norms = np.zeros(int(groups.max()) + 1)
    np.hypot.at(norms, groups, v)
    return norms


def weights_of_groups(kind: str | None, counts: IndexArray, outputs: int = 1) -> FloatArray:
    """Return the weights (G,) by which the norms of G groups are divided before they are compared.

    counts : the number p_g of columns of each group; with q outputs let m_g = p_g·q.

    None: 1. "sqrt": √m_g, the weights of the group LASSO (Yuan and Lin, *Model selection and estimation in
    regression with grouped variables*, 2006). "noise": w_g, where w_g² is the quantile of χ² with m_g degrees
    of freedom at 1 − 1/(G + 1). If X_g has orthonormal columns and the outputs are independent N(0, σ²) noise
    E, then ‖X_gᵀE‖_F²/σ² has this χ² distribution, so each group exceeds σ·w_g with the same probability
    1/(G + 1), whatever its size. With None noise picks large groups more often, with "sqrt" small ones.
    """
    size = np.asarray(counts, np.float64) * outputs
    if kind == "noise":
        from scipy.special import gammainccinv  # imported here, because it takes 150 ms

        return np.asarray(np.sqrt(2 * gammainccinv(size / 2, 1 / (len(size) + 1))))
    return np.sqrt(size) if kind == "sqrt" else np.ones(len(size))


class UnitFit(Protocol):
    """A fit on the columns of the selected units: `GroupLeastSquares` or `GeneralizedFit`."""

    @property
    def norm(self) -> float:
        """The norm of the residual, or the deviance of a generalized linear model."""

    def correlations(self) -> tuple[FloatArray, FloatArray]:
        """Return the correlation c (d,) of each column, and bounds (d,) on the errors."""

    def measure(self, columns: IndexArray) -> Scores:
        """Return the correlations of some columns with sharp error bounds."""

    def describe(self, pick: Pick, score: FloatArray, units: Units) -> Pick:
        """Return the pick with λ* and the margin of the result, given the scores (G,) of all units."""

    def add(self, pick: Pick, columns: list[int]) -> float | Dependent | NoFit:
        """Add the columns of a pick, and return the new `norm`.

        If nothing is added, the result says why: all columns are in the span of the selected ones, or the
        fit on them fails. If the pick is forced (`pick.tied` is empty), its columns are added even if they
        are in the span; then their coefficients are zero.
        """

    def ending(self, units: Units, rest: IndexArray) -> Status:
        """Return the status that says why the correlations of the columns `rest`, all others, are zero."""


F = TypeVar("F", bound=UnitFit)
P = TypeVar("P", covariant=True)


class UnitState(Generic[F, P]):
    """The state of a method that selects units: the picks so far, the units, and the fit on their columns.

    Attributes
    ----------
    trail : the record of the picks, and of `fit.norm` before the first pick and after each pick.
    excluded : the units that may not be picked: the selected ones, and those in the span of their columns.
    unfitted : the tuple (g,) of the unit g on which the fit failed, or ().
    recession : a direction along which the loss of `unfitted` decreases without end, or an empty array.
    """

    def __init__(self, units: Units, fit: F, result: Callable[[UnitState[F, P], Status], P]) -> None:
        self.units = units
        self.fit = fit
        self._result = result
        self.trail = PickRecord(fit.norm)
        self.excluded: list[int] = []
        self.unfitted: tuple[int, ...] = ()
        self.recession: FloatArray = np.zeros(0)

    def force(self, forced: list[int]) -> Status | None:
        """Add the units in their order. If the fit on one of them fails, return the status that says why."""
        for g in forced:
            status = self.add(Pick(feature=g))
            if status is not None:
                return status
        return None

    def add(self, pick: Pick) -> Status | None:
        """Add a unit to the fit. If the fit fails, return the status that ends the path.

        A pick whose columns are all in the span of the selected ones is only excluded, unless it is forced.
        """
        self.excluded.append(pick.feature)
        columns = np.flatnonzero(self.units.groups == pick.feature)
        outcome = self.fit.add(pick, columns.tolist())
        if isinstance(outcome, NoFit):
            self.unfitted = (pick.feature,)
            self.recession = outcome.direction
            return outcome.status
        if not isinstance(outcome, Dependent):
            self.trail.add([pick], [outcome])
        return None

    def step(self, limit: int) -> Status | None:
        """Add the unit g with the largest ‖c_g‖/w_g; if all c_g are zero, return a status that says why."""
        scores = self.units.scores(*self.fit.correlations())
        pick, score = argmax(
            *scores, self.excluded, lambda J: self.units.measured_scores(J, self.fit.measure)
        )
        if pick is None:
            others = np.setdiff1d(np.arange(len(self.units.weights)), self.excluded)
            return self.fit.ending(self.units, self.units.columns(others))
        return self.add(self.fit.describe(pick, score, self.units))

    def path(self, status: Status) -> P:
        """Return the picks so far as a result."""
        return self._result(self, status)
