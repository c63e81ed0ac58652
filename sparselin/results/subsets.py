"""The results that are sets of features: from greedy and local search, `best_subset` and `choose_nu`."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from sparselin.results import base
from sparselin.results.base import Fit, FloatArray, IndexArray, Named, Names, Result, Status, result
from sparselin.results.display import Column, Table, number, plural, short

_VOID = (
    "the search was too short for a bound, or there is none because ‖y − Xβ‖² has no curvature (n ≤ d, or "
    "dependent columns): then a ridge, a box, a smaller k or fewer columns would help"
)


class BoundProof(Protocol):
    """The type of a `SubsetCertificate`: it proves in exact arithmetic that no subset is much better."""

    @property
    def gap(self) -> float:
        """The relative gap that it proves."""

    def verify(self, X: Any, y: Any) -> Any:
        """Check it on (X, y) in exact arithmetic."""

    def to_json(self) -> str:
        """Return it as text."""


@result
class SubsetResult(base.Supported):
    """A set S of t features and its value g(S) = R²(S) + ν·f(S), where R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖².

    With an intercept R² refers to y − ȳ: it is 1 − ‖r‖²/‖y − ȳ‖².

    Attributes
    ----------
    support : (t,) indices, in the order of selection.
    coef : (t,) least squares coefficients of y on the support.
    value : g(S); R²(S) without a regularizer.
    r2 : R²(S).
    diversity : f(S); 0.0 without a regularizer.
    gains : (t,) g(S_j) − g(S_{j−1}), where S_j are the first j features of `support`. So `value` is
        ν·f(∅) plus the sum of the gains.
    candidates : pairs (name, g) of the sets among which the method chose the best. The names are those in the
        description of the algorithm: S1, S1', S2 for greedy local search.
    moves : the number of additions, deletions and exchanges that were accepted.
    status : the way in which the search ended.
    n_features : d.
    intercept : the intercept; 0.0 if the model has no intercept.
    names : the d names of the features, or None.

    The length of the result is t. `to_frame()` has a row for each feature: step, index, name, coefficient,
    gain and g(S_j). The column of g(S_j) is called r2 if g is R² (without a regularizer), and else value.
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
        """The least t at which the g of the first t features is largest; below k only if g decreases."""
        return int(np.argmax(np.concatenate([[0.0], np.cumsum(self.gains)])))

    def dense_coef(self) -> FloatArray:
        """Return the coefficients as a vector (d,), zero off the support."""
        return base.dense(self.coef, self.support, self.n_features)

    def predict(self, X: Any) -> FloatArray:
        """Predict the response (m,) for X (m, d): intercept + X_S·coef, where S is the selected set.

        X may have any form that a fit takes. Of a frame with names, the columns of S are read by their names.
        Raises ValueError if X has another shape or lacks such a column, or if a column of S holds NaN or
        infinity.
        """
        return base.combine(X, self.support, self.coef, self.intercept, self.n_features, self.names)

    @property
    def _plain(self) -> bool:
        """True if g is R², because there is no regularizer."""
        return self.value == self.r2

    def _headline(self) -> str:
        g = "" if self._plain else f", g {number(self.value)}"
        return f"{len(self)} of {self.n_features} features, R² {self.r2:z.3f}{g}, {self.status.name}"

    def _table(self) -> Table:
        after = np.cumsum(self.gains) + (self.value - self.gains.sum())
        columns = (
            Column("step", "step", np.arange(1, len(self) + 1)),
            *self._features(self.support, self.coef),
            Column("gain", "gain", self.gains),
            Column("r2", "R²", after, 4) if self._plain else Column("value", "g", after),
        )
        notes = Fit(n_features=self.n_features, with_intercept=bool(self.intercept)).notes(self.intercept)
        if not self._plain:
            notes.append(f"g = R² + ν·f, f(S) = {number(self.diversity)}")
        if self.candidates:
            notes.append("best of " + ", ".join(f"{name}: {number(g)}" for name, g in self.candidates))
        return Table(columns, (*notes, self.status.line))


@result
class GreedyMaximum(Result):
    """The features that a greedy method selected to maximise a set function f of C = XᵀX, without a response.

    Attributes
    ----------
    support : (t,) indices, in the order of selection.
    gains : (t,) f(S_j) − f(S_{j−1}).
    value : f(S).
    evaluations : the number of gains that were evaluated; lazy evaluation makes it smaller.
    status : COMPLETED, or RANK_EXHAUSTED if fewer than k columns are nonzero.
    n_features : d.

    The length of the result is t. `to_frame()` has a row for each feature: step, index, gain, value.
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
        return Table(columns, (self.status.line,))


@result
class BestSubset(SubsetResult):
    """A subset of at most k features with a small residual, and a proven lower bound on the least residual.

    `support` is in the order in which orthogonal least squares selects the features of S.

    Attributes (in addition to those of `SubsetResult`)
    ----------
    residual : ‖y − X_S coef‖².
    restrictions : the ridge, the box, the groups, the signs and the hierarchy in words, such as ("ridge 1",
        "groups", "hierarchy"); () for least squares on any k features.
    objective : ½‖y − X_S coef‖² + (ridge/2)‖coef‖²; without a ridge half of `residual`.
    lower_bound : a lower bound on ‖y − Xβ‖² + ridge·‖β‖², twice the objective, for all subsets of k features
        (or groups); at most 2·objective.
    optimal : whether the search was completed, and 2·objective and `lower_bound` agree to rounding. The room
        for rounding is 1e-9·‖y‖² in the best-first search, else 1e-6·‖y‖² (see `best_subset`). It may be
        optimal although a gap was asked for.
    nodes : the number of nodes of the search tree that were visited.
    unique : True if the best set is proved to be unique: every other set of t features (or of as many groups)
        has a larger value in exact arithmetic. False if another one has exactly the same value. None if
        neither is known.
    second : a second set of the same value, as indices in increasing order, if `unique` is False; else None.
    uniqueness : the reason why `unique` is None; else "".
    certificate : a `SubsetCertificate`, which proves the bound in exact arithmetic, or None. It says nothing
        about uniqueness.
    why_no_certificate : the reason why there is no certificate, and what to do; "" if there is one.
    by_size : the results for several k, in increasing order, if more than one k was asked for.
    saved : the state of a search that was stopped, for `resume_subset`; else None.
    """

    residual: float
    restrictions: tuple[str, ...]
    objective: float
    lower_bound: float
    optimal: bool
    nodes: int
    unique: bool | None
    second: IndexArray | None
    uniqueness: str
    certificate: BoundProof | None = dataclasses.field(compare=False)
    why_no_certificate: str = dataclasses.field(compare=False)
    by_size: tuple[BestSubset, ...]
    saved: Any = dataclasses.field(compare=False)

    @property
    def gap(self) -> float:
        """The relative gap (2·objective − lower_bound)/(2·objective); 0.0 for a zero objective."""
        value = 2 * self.objective
        return (value - self.lower_bound) / value if value > 0 else 0.0

    def _headline(self) -> str:
        proof = "optimal" if self.optimal else f"gap {self.gap:.2%}"
        return f"{len(self)} of {self.n_features} features, R² {self.r2:z.3f}, {proof}, {self.status.name}"

    def _table(self) -> Table:
        columns, notes = super()._table()[:2]
        square, least = number(2 * self.objective), number(self.lower_bound)
        value = "‖r‖²" if 2 * self.objective == self.residual else "2·objective"
        proof = f"{value} = {square}, no subset of this size is below {least}; nodes visited: {self.nodes}"
        if self.optimal and self.lower_bound == 0 < self.residual:
            proof += "; that is 0 to rounding, so no subset is better"
        elif self.lower_bound == 0 < self.residual:
            proof += f"; {_VOID}"
        problem = [f"with {', '.join(self.restrictions)}"] * bool(self.restrictions)
        alone = [self._uniqueness_line()] * self.optimal
        lacking = [f"no certificate: {self.why_no_certificate}"] * bool(self.why_no_certificate)
        return Table(columns, (*notes[:-1], *problem, proof, *alone, *lacking, notes[-1]))

    def _uniqueness_line(self) -> str:
        """Say whether the best set is unique."""
        if self.second is not None:
            names = ", ".join(map(short, self._names_of(self.second)))
            return f"not unique: the set {names} has the same value"
        unknown = f"not known whether it is unique: {self.uniqueness}"
        return "unique: all other sets of this size are worse" if self.unique else unknown


@result
class SwappedSubset(SubsetResult):
    """A subset of k features that was improved by swapping one feature for another.

    Attributes (in addition to those of `SubsetResult`)
    ----------
    rule : "exact" or "ompr".
    removed, inserted : (moves,) the feature that each swap removed, and the feature that it inserted.
    residuals : (moves + 1,) ‖y − X_Sβ‖² at the start and after each swap, in float64.
    """

    rule: str
    removed: IndexArray
    inserted: IndexArray
    residuals: FloatArray

    def gap(self, best: BestSubset) -> float:
        """Return a bound on the relative excess of ‖r‖² over the least ‖r‖² of any subset of k features.

        The bound is (‖r‖² − best.lower_bound)/‖r‖², or 0.0 if r = 0.

        best : the result of `best_subset` for the same data and k, perhaps stopped by a limit.

        Raises ValueError if `best` has another number of features. Also if it has a ridge, a box, groups,
        signs or a hierarchy, because its lower bound does not hold for all subsets then.
        """
        if best.restrictions:
            raise ValueError(f"best must have no restrictions; got {', '.join(best.restrictions)}")
        fewer = len(best) < len(self) and best.status is Status.COMPLETED
        if best.n_features != self.n_features or len(best) > len(self) or fewer:
            raise ValueError(
                f"best must be the best {len(self)} of {self.n_features} features; "
                f"got {len(best)} of {best.n_features}"
            )
        square = float(self.residuals[-1])
        return max(0.0, square - best.lower_bound) / square if square > 0 else 0.0

    def _headline(self) -> str:
        return f"{super()._headline()} after {plural(self.moves, 'swap')} ({self.rule})"

    def _table(self) -> Table:
        columns, notes = super()._table()[:2]
        pairs = zip(self._names_of(self.removed), self._names_of(self.inserted), strict=True)
        swaps = [f"{short(i)} → {short(j)}" for i, j in pairs]
        swapped = ["swaps: " + ", ".join(swaps[:6]) + ", …" * (len(swaps) > 6)] if swaps else []
        return Table(columns, (*notes[:-1], *swapped, notes[-1]))


@result
class NuChoice(Result):
    """The largest ν at which a regularized selection has at least the R² of the LASSO at equal sparsity.

    A value of ν qualifies if the selection with it has at least that R².

    Attributes
    ----------
    nu : the chosen ν, which is `lower`; 0.0 if not even ν = 0 qualifies.
    lower, upper : the largest tried ν that qualifies, and the next larger tried ν, which does not qualify. R²
        is not monotone in ν, so a larger ν that was not tried may qualify. `upper` is inf if the largest
        tried ν qualifies. Both are 0.0 if no tried ν qualifies.
    method : a description, in words, of the search for `lower` and `upper`.
    selection : the `SubsetResult` at `nu`.
    r2_lasso : R² of the LASSO's own coefficients, at the last solution before the path first has more than k
        features. This is the knot where the feature k + 1 enters, or the end of the path.
    r2_refitted : R² of least squares on the features of that solution.
    refitted : whether the selection was compared with `r2_refitted`, not with `r2_lasso`.
    tried : (m,) the values of ν that were tried, increasing.
    r2_tried : (m,) R² of the selection at each of them.
    qualifies : "none", "some" or "every", for the values of ν that were tried.

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
        size = f"{len(S)} of {S.n_features} features, R² {S.r2:z.3f}"
        return f"ν {number(self.nu)}, {size}; {self.qualifies} of the tried ν qualify"

    def _table(self) -> Table:
        columns = (
            Column("nu", "ν", self.tried),
            Column("r2", "R²", self.r2_tried, 4),
            Column("chosen", "chosen", self.tried == self.nu),
        )
        target, other = ("refitted", "as it is") if self.refitted else ("as it is", "refitted")
        r2 = {"refitted": self.r2_refitted, "as it is": self.r2_lasso}
        against = f"R² of the LASSO, {target}: {r2[target]:z.4f} (compared), {other}: {r2[other]:z.4f}"
        names = ", ".join(map(short, self.selection.support_names[:12])) + ", …" * (len(self.selection) > 12)
        return Table(columns, (f"selection: {names}", against, self.method), len(self.tried))


@result
class SubsetsWithin(Named):
    """All sets of k features whose value is at most 1 + eps times the best, from the best to the worst.

    The value of a set is the least ‖y − Xβ‖² + ridge·‖β‖² for β on the set, twice the objective.

    Attributes
    ----------
    supports : the sets, each an array of feature indices in increasing order, columns of zeros included.
    values : (s,) their values, increasing. Their errors are at most 1e-9·‖y‖², or the status says so.
    limit : (1 + eps) times the least value.
    lower_bound : no set that is not listed has a smaller value; the limit if the search was not stopped.
    complete : whether the list has all sets within the limit, the best one among them, and no set that is
        certainly beyond it.
    share : (d,) the share of the sets that contain each feature.
    y_square : ‖y‖², or ‖y − ȳ‖² with an intercept.
    status : COMPLETED; MAX_ITER or STOPPED if the search was stopped; BEYOND_PRECISION if rounding leaves the
        value of a listed set open, see `subsets_within`.
    n_features : d.
    nodes : the number of nodes of the search tree that were visited.
    names : the d names of the features, or None.
    by_size : the results for several k, in increasing order, if more than one k was asked for.

    The length of the result is s. `to_frame()` has a row for each set: rank, value, r2 = 1 − value/‖y‖² and
    features. Without a ridge r2 is R².
    """

    supports: tuple[IndexArray, ...]
    values: FloatArray
    limit: float
    lower_bound: float
    complete: bool
    share: FloatArray
    y_square: float
    status: Status
    n_features: int
    nodes: int
    names: Names
    by_size: tuple[SubsetsWithin, ...]

    def __len__(self) -> int:
        return len(self.supports)

    @property
    def in_all(self) -> IndexArray:
        """The features that are in all listed sets."""
        return np.flatnonzero(self.share == 1)

    @property
    def in_some(self) -> IndexArray:
        """The features that are in some listed sets, but not in all."""
        return np.flatnonzero((self.share > 0) & (self.share < 1))

    @property
    def in_none(self) -> IndexArray:
        """The features that are in no listed set."""
        return np.flatnonzero(self.share == 0)

    def _headline(self) -> str:
        common = plural(len(self.in_all), "feature")
        sizes = f"{plural(len(self), 'set')}, {common} in all, {len(self.in_some)} in some"
        return f"{sizes}, {'complete' if self.complete else 'not complete'}, {self.status.name}"

    def _table(self) -> Table:
        columns = (
            Column("rank", "rank", np.arange(1, len(self) + 1)),
            Column("value", "value", self.values),
            Column("r2", "1 − value/‖y‖²", 1 - self.values / (self.y_square or 1.0), 4),
            Column("features", "features", [", ".join(map(short, self._names_of(S))) for S in self.supports]),
        )
        unlisted = f"limit {number(self.limit)}; no other set has a value below {number(self.lower_bound)}"
        return Table(columns, (unlisted, self.status.line))
