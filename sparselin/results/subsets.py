"""Results about sets of features: greedy and local search, the best subset, the choice of ν."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.results.base import (
    Fit,
    FloatArray,
    IndexArray,
    Named,
    Names,
    Result,
    Status,
    combined,
    ended,
    result,
)
from sparselin.results.display import Column, Table, many, number, short


@result
class SubsetResult(Named):
    """A set S of t features and its value g(S) = R²(S) + ν·f(S), R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖² uncentred.

    Attributes
    ----------
    support : (t,) indices, in the order of selection.
    coef : (t,) least squares coefficients of y on the support.
    value : g(S); R²(S) without a regularizer.
    r2 : R²(S).
    diversity : f(S); 0.0 without a regularizer.
    gains : (t,) g(S_j) − g(S_{j−1}), S_j being the first j of `support`: value = ν·f(∅) + Σ gains.
    candidates : pairs (name, g) of the sets among which the method chose the best, as the algorithm
        names them: S1, S1', S2 for greedy local search.
    moves : additions, deletions and exchanges that were accepted.
    status : how the search ended.
    n_features : d.
    intercept : the intercept, 0.0 without one. With one R² is that of y − ȳ, 1 − ‖r‖²/‖y − ȳ‖².
    names : d names of the features, or None.

    Its length is t. `to_frame()` has a row for each feature: step, index, name, coefficient, gain, and
    g(S_j), which is called r2 where it is R²(S_j), as it is without a regularizer, and otherwise value.
    """

    support: IndexArray
    coef: FloatArray
    value: float
    r2: float
    diversity: float
    gains: FloatArray
    candidates: tuple[tuple[str, float], ...]
    moves: int
    status: Status
    n_features: int
    intercept: float
    names: Names

    @property
    def best_prefix(self) -> int:
        """The least t for which the first t of `support` have the largest g; below k only if g falls."""
        return int(np.argmax(np.concatenate([[0.0], np.cumsum(self.gains)])))

    def dense_coef(self) -> FloatArray:
        """The coefficients as a vector (d,), zero off the support."""
        dense = np.zeros(self.n_features, self.coef.dtype)
        dense[self.support] = self.coef
        return dense

    def __len__(self) -> int:
        return len(self.support)

    @property
    def support_names(self) -> tuple[str, ...]:
        """The names of `support`."""
        return self._names_of(self.support)

    def predict(self, X: Any) -> FloatArray:
        """intercept + X_S coef (m,) for X (m, d).

        X may be what X may be in a fit: a frame has the columns of the fit by name and in order. Raises
        ValueError for another shape or other columns, NaN or infinity in columns of S.
        """
        return combined(X, self.support, self.coef, self.intercept, self.n_features, self.names)

    @property
    def _plain(self) -> bool:
        """Whether g is R²."""
        return self.value == self.r2

    def _headline(self) -> str:
        g = "" if self._plain else f", g {number(self.value)}"
        return f"{len(self)} of {self.n_features} features, R² {self.r2:.3f}{g}, {self.status.name}"

    def _table(self) -> Table:
        after = np.cumsum(self.gains) + (self.value - self.gains.sum())
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("index", None, self.support),
            Column("name", "name", self.support_names),
            Column("coefficient", "coefficient", self.coef),
            Column("gain", "gain", self.gains),
            Column("r2", "R²", after, 4) if self._plain else Column("value", "g", after),
        )
        notes = Fit(self.n_features, with_intercept=bool(self.intercept)).notes(self.intercept)
        if not self._plain:
            notes.append(f"g = R² + ν·f, f(S) = {number(self.diversity)}")
        if self.candidates:
            notes.append("best of " + ", ".join(f"{name}: {number(g)}" for name, g in self.candidates))
        return Table(columns, (*notes, ended(self.status)))


@result
class GreedyMaximum(Result):
    """Features that a greedy method selected to maximise a set function f of C = XᵀX alone.

    Attributes
    ----------
    support : (t,) indices, in the order of selection.
    gains : (t,) f(S_j) − f(S_{j−1}).
    value : f(S).
    evaluations : gains that were evaluated; fewer by lazy evaluation.
    status : COMPLETED, or RANK_EXHAUSTED when fewer than k columns are nonzero.
    n_features : d.

    Its length is t; `to_frame()` has a row for each feature: step, index, gain, value.
    """

    support: IndexArray
    gains: FloatArray
    value: float
    evaluations: int
    status: Status
    n_features: int

    def __len__(self) -> int:
        return len(self.support)

    def _headline(self) -> str:
        size = f"{len(self)} of {self.n_features} features"
        return f"{size}, f {number(self.value)}, {self.evaluations} gains evaluated, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            Column("index", "feature", self.support),
            Column("gain", "gain", self.gains),
            Column("value", "f", np.cumsum(self.gains) + (self.value - self.gains.sum())),
        )
        return Table(columns, (ended(self.status),))


@result
class BestSubset(SubsetResult):
    """A subset of at most k features with the least residual, and a proven bound on the least.

    `support` is in the order of orthogonal least squares within S.

    Attributes (in addition to those of `SubsetResult`)
    ----------
    residual : ‖y − X_S coef‖².
    lower_bound : no subset of k features has a smaller ‖y − Xβ‖², to the stated rounding; at most `residual`.
    optimal : whether the search was exhausted, so that the two agree to rounding.
    nodes : nodes of the search tree that were visited.
    """

    residual: float
    lower_bound: float
    optimal: bool
    nodes: int

    @property
    def gap(self) -> float:
        """(residual − lower_bound)/residual, 0.0 for a zero residual."""
        return (self.residual - self.lower_bound) / self.residual if self.residual > 0 else 0.0

    def _headline(self) -> str:
        proof = "optimal" if self.optimal else f"gap {self.gap:.2%}"
        return f"{len(self)} of {self.n_features} features, R² {self.r2:.3f}, {proof}, {self.status.name}"

    def _table(self) -> Table:
        columns, notes = super()._table()[:2]
        square, least = number(self.residual), number(self.lower_bound)
        proof = f"‖r‖² = {square}, no subset of this size below {least}; nodes visited: {self.nodes}"
        return Table(columns, (*notes[:-1], proof, notes[-1]))


@result
class SwappedSubset(SubsetResult):
    """A subset of k features that was improved by swaps of one feature for another.

    Attributes (in addition to those of `SubsetResult`)
    ----------
    rule : "exact" or "ompr".
    removed, inserted : (moves,) the features of each swap.
    residuals : (moves + 1,) ‖y − X_Sβ‖² of the start and after each swap, in float64.
    """

    rule: str
    removed: IndexArray
    inserted: IndexArray
    residuals: FloatArray

    def gap(self, best: BestSubset) -> float:
        """How far ‖r‖² is from the least, relative to it: (‖r‖² − best.lower_bound)/‖r‖², 0.0 if ‖r‖² is.

        best : `best_subset` of the same data and k, perhaps stopped by a limit. ValueError if it is of
            another number of features.
        """
        fewer = len(best) < len(self) and best.status is Status.COMPLETED
        if best.n_features != self.n_features or len(best) > len(self) or fewer:
            raise ValueError(
                f"best must be the best {len(self)} of {self.n_features} features; "
                f"got {len(best)} of {best.n_features}"
            )
        square = float(self.residuals[-1])
        return max(0.0, square - best.lower_bound) / square if square > 0 else 0.0

    def _headline(self) -> str:
        return f"{super()._headline()} after {many(self.moves, 'swap')} ({self.rule})"

    def _table(self) -> Table:
        columns, notes = super()._table()[:2]
        pairs = zip(self._names_of(self.removed), self._names_of(self.inserted), strict=True)
        told = [f"{short(i)} → {short(j)}" for i, j in pairs]
        swapped = ["swaps: " + ", ".join(told[:6]) + ", …" * (len(told) > 6)] if told else []
        return Table(columns, (*notes[:-1], *swapped, notes[-1]))


@result
class NuChoice(Result):
    """The largest ν at which a regularized selection has at least the R² of the LASSO at equal sparsity.

    Attributes
    ----------
    nu : the ν chosen, `lower`; 0.0 when not even ν = 0 qualifies.
    lower, upper : the largest ν tried that qualifies and the next larger one tried, which does not; R² is not
        monotone in ν, so that larger ones may qualify. `upper` is inf when the largest ν tried qualifies;
        both are 0.0 when none does.
    method : how they were found, in words.
    selection : the `SubsetResult` at `nu`.
    r2_lasso : R² of the LASSO's own coefficients, of the last solution before its path first goes beyond k
        features: at the knot where feature k + 1 enters, or at the end of the path.
    r2_refitted : R² of least squares on the features of that solution.
    refitted : with which of the two `nu` was compared.
    tried : (m,) the ν that were tried, increasing.
    r2_tried : (m,) R² of the selection at each.
    qualifies : "none", "some" or "every" of those tried.

    `to_frame()` has a row for each ν tried: nu, r2, chosen.
    """

    nu: float
    lower: float
    upper: float
    method: str
    selection: SubsetResult
    r2_lasso: float
    r2_refitted: float
    refitted: bool
    tried: FloatArray
    r2_tried: FloatArray
    qualifies: str

    def _headline(self) -> str:
        S = self.selection
        size = f"{len(S)} of {S.n_features} features, R² {S.r2:.3f}"
        return f"ν {number(self.nu)}, {size}; {self.qualifies} of those tried qualify"

    def _table(self) -> Table:
        columns = (
            Column("nu", "ν", self.tried),
            Column("r2", "R²", self.r2_tried, 4),
            Column("chosen", "chosen", self.tried == self.nu),
        )
        target, other = ("refitted", "as it is") if self.refitted else ("as it is", "refitted")
        r2 = {"refitted": self.r2_refitted, "as it is": self.r2_lasso}
        against = f"R² of the LASSO, {target}: {r2[target]:.4f} (compared), {other}: {r2[other]:.4f}"
        names = ", ".join(map(short, self.selection.support_names[:12])) + ", …" * (len(self.selection) > 12)
        return Table(columns, (f"selection: {names}", against, self.method), len(self.tried))
