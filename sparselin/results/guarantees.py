"""Results about guarantees: certified intervals, and the ratios that are guaranteed and attained."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, Result, result
from sparselin.results.display import Column, Table, list_names, number


@result
class Interval(Result):
    """Certified bounds on a number.

    Attributes
    ----------
    lower, upper : the certified bounds, which are equal to rounding if the number is known.
    method : the methods by which the bounds were obtained, in words.
    rounding : bounds whose difference is at most this count as equal.

    `to_frame()` has one row: lower, upper, exact, method.
    """

    lower: float
    upper: float
    method: str
    _: dataclasses.KW_ONLY
    rounding: float = 0.0

    @property
    def exact(self) -> bool:
        """True if the two bounds agree, to `rounding` or to a relative 1e-9."""
        return self.upper - self.lower <= max(self.rounding, 1e-9 * max(abs(self.lower), abs(self.upper)))

    def _headline(self) -> str:
        return number(self.upper) if self.exact else f"{number(self.lower)} to {number(self.upper)}"

    def _table(self) -> Table:
        return Table((*_bounds([self]), Column("method", None, [self.method])), (self.method,))


def _bounds(found: Sequence[Interval]) -> tuple[Column, ...]:
    """Return the columns of a table with a row for each interval: its bounds, and whether they agree."""
    lower, upper = np.array([(interval.lower, interval.upper) for interval in found]).T
    exact = [interval.exact for interval in found]
    return Column("lower", "lower", lower), Column("upper", "upper", upper), Column("exact", "exact", exact)


@result
class SubmodularityRatio(Interval):
    """The submodularity ratio: the largest γ ≤ 1 with Σ_{x∈A}[f(L + x) − f(L)] ≥ γ·[f(L ∪ A) − f(L)].

    Here f is a set function, for example R². L + x is L with the element x added. The inequality must hold
    for all pairs of sets L ⊆ U and |A| ≤ k with A ∩ L = ∅ and f(L ∪ A) > f(L). If f is monotone, γ ≥ 0.

    Attributes (in addition to `lower`, `upper`, `method`)
    ----------
    base, added : the sets L and A at which the ratio is `upper`; both are empty if `upper` is 1.
    exact : for γ of R², whether the bounds agree to a relative 1e-6.

    L and A are given by indices, not by names, because the elements of the ground set need not be columns
    (`submodularity_ratio_of`).
    """

    base: IndexArray
    added: IndexArray

    def _table(self) -> Table:
        columns, notes = super()._table()[:2]
        L, A = ("{" + ", ".join(map(str, J.tolist())) + "}" for J in (self.base, self.added))
        return Table(columns, (*notes, f"upper at L = {L}, A = {A}"))


@result
class SparseEigenvalues(Result):
    """The extreme eigenvalues of all k × k principal submatrices of C = XᵀX.

    Attributes
    ----------
    k : the size, at most d.
    lambda_min : λ_min(C, k) = min_{|S| ≤ k} λ_min(C_S), an `Interval`. C_S has the rows and columns S of C.
    lambda_max : λ_max(C, k) = max_{|S| ≤ k} λ_max(C_S), an `Interval`.
    lambda_min_support, lambda_max_support : sets S that attain `lambda_min.upper` and `lambda_max.lower`.
    condition_number : λ_max(C, k)/λ_min(C, k), an interval.
    coherence : max_{i≠j} |C_ij|/√(C_ii·C_jj); NaN if fewer than two columns are nonzero.
    babel : (k,) μ₁(1), …, μ₁(k): μ₁(m) is the largest sum of m absolute correlations in a row (Tropp, 2004).

    `to_frame()` has one row each for λ_min, λ_max and the condition number: quantity, lower, upper, exact,
    support (indices, with commas), method. There are no names, because the result depends on XᵀX alone.
    """

    k: int
    lambda_min: Interval
    lambda_max: Interval
    lambda_min_support: IndexArray
    lambda_max_support: IndexArray
    condition_number: Interval
    coherence: float
    babel: FloatArray

    @property
    def lower(self) -> float:
        """The certified lower bound: lower·‖v‖² ≤ ‖Xv‖² for every v with at most k nonzeros."""
        return self.lambda_min.lower

    @property
    def upper(self) -> float:
        """The certified upper bound: ‖Xv‖² ≤ upper·‖v‖² for every v with at most k nonzeros."""
        return self.lambda_max.upper

    @property
    def method(self) -> str:
        """The methods by which λ_min and λ_max were bounded, in words."""
        return f"λ_min: {self.lambda_min.method}; λ_max: {self.lambda_max.method}"

    def _headline(self) -> str:
        least, most = self.lambda_min._headline(), self.lambda_max._headline()
        return f"k = {self.k}, λ_min {least}, λ_max {most}"

    def _table(self) -> Table:
        found = (self.lambda_min, self.lambda_max, self.condition_number)
        sets = self.lambda_min_support, self.lambda_max_support
        supports = [", ".join(map(str, S.tolist())) for S in sets]
        columns = (
            Column("quantity", "quantity", ["λ_min", "λ_max", "condition number"]),
            *_bounds(found),
            Column("support", "support", [*supports, ""]),
            Column("method", "method", [interval.method for interval in found]),
        )
        babel = ", ".join(number(float(mu)) for mu in self.babel[:8]) + ", …" * (len(self.babel) > 8)
        return Table(columns, (f"coherence {number(self.coherence)}, babel function {babel}",))


@result
class Bound(Result):
    """A guarantee R²(greedy) ≥ factor·R²(best), or of exact recovery (factor 1), with its hypotheses.

    best is the best subset of k features, and greedy the selection of the algorithm.

    Attributes
    ----------
    name : the constant that the guarantee uses, or the property that it guarantees.
    algorithm : the algorithm to which the guarantee applies.
    formula : the factor, as text.
    source : the paper and the number of the statement.
    hypotheses : pairs (hypothesis, whether it holds); None stands for undecided.
    lower, upper : the factor, computed from certified lower and upper bounds on its constants. Only `lower`
        is guaranteed. Both are 0.0 if a hypothesis fails.
    achieved : R²(greedy)/R²(best), an `Interval`; its bounds are equal if the best subset is known. With a
        regularizer f it is g(greedy)/max g for g = R² + ν·f: 0 if g(greedy) < 0 < max g, and 1 if max g is
        not positive.

    `to_frame()` has a row for each hypothesis: hypothesis, holds ("yes", "no" or "undecided").
    """

    name: str
    algorithm: str
    formula: str
    source: str
    hypotheses: tuple[tuple[str, bool | None], ...]
    lower: float
    upper: float
    achieved: Interval

    @property
    def applies(self) -> bool:
        """True if all hypotheses were found to hold."""
        return all(held is True for _, held in self.hypotheses)

    @property
    def violated(self) -> bool:
        """True if the achieved ratio is below the guaranteed factor, which contradicts the theorem."""
        return self.applies and self.achieved.upper < self.lower

    def _headline(self) -> str:
        factor = f"{number(self.lower)} guaranteed" if self.applies else "does not apply"
        return f"{self.algorithm}, {self.name}: {factor}, {self.achieved._headline()} achieved"

    def _table(self) -> Table:
        words = {True: "yes", False: "no", None: "undecided"}
        columns = (
            Column("hypothesis", "hypothesis", [text for text, _ in self.hypotheses]),
            Column("holds", "holds", [words[held] for _, held in self.hypotheses]),
        )
        always = () if self.hypotheses else ("no hypotheses: it applies to all data",)
        return Table(columns, (*always, f"{self.formula} ({self.source})"))


@result
class GuaranteeBounds(Named):
    """The guarantees for greedy selection on one design, and the ratios that greedy selection attained.

    Attributes
    ----------
    k : the number of features to select.
    bounds : the guarantees, a tuple of `Bound`s.
    best : R² of the best subset of k features, an `Interval`.
    best_support : a best subset, or, if the search was stopped, the best subset found so far.
    r2 : pairs (algorithm, R² of its selection).
    supports : pairs (algorithm, its selection).
    constants : pairs (name, `Interval`) of the constants that the guarantees use: the eigenvalues
        λ(s) = λ_min(C, s)/max_j C_jj, where C = XᵀX and λ_min(C, s) is the least eigenvalue over sets of s
        columns; the submodularity ratio γ for the set of each algorithm; the exact recovery coefficient ERC;
        the coherence; and the babel function.
    names : the d names of the features, or None.

    `to_frame()` has a row for each guarantee: algorithm, promised (the factor; NaN if the guarantee does not
    apply), achieved_lower, achieved_upper, name, applies, formula, source.
    """

    k: int
    bounds: tuple[Bound, ...]
    best: Interval
    best_support: IndexArray
    r2: tuple[tuple[str, float], ...]
    supports: tuple[tuple[str, IndexArray], ...]
    constants: tuple[tuple[str, Interval], ...]
    names: Names

    @property
    def strongest(self) -> Bound | None:
        """The guarantee with the largest factor among the guarantees that apply, or None if none applies."""
        applying = [bound for bound in self.bounds if bound.applies]
        return max(applying, key=lambda bound: bound.lower, default=None)

    @property
    def lower(self) -> float:
        """The factor of `strongest`; 0.0 if no guarantee applies."""
        return self.strongest.lower if self.strongest else 0.0

    @property
    def upper(self) -> float:
        """An upper bound on the ratio that the algorithm of `strongest` attained; 1.0 without a guarantee."""
        return self.strongest.achieved.upper if self.strongest else 1.0

    @property
    def method(self) -> str:
        """The algorithm and the name of `strongest`, in words."""
        bound = self.strongest
        return f"{bound.algorithm}: {bound.name} ({bound.source})" if bound else "no guarantee applies"

    @property
    def violated(self) -> tuple[Bound, ...]:
        """The violated guarantees; a violation would contradict the theorem of the guarantee."""
        return tuple(bound for bound in self.bounds if bound.violated)

    def of(self, algorithm: str) -> tuple[Bound, ...]:
        """Return the guarantees of one algorithm."""
        return tuple(bound for bound in self.bounds if bound.algorithm == algorithm)

    def bound(self, algorithm: str, name: str) -> Bound:
        """Return the guarantee with this algorithm and name. If none has them, a ValueError lists all."""
        found = [bound for bound in self.of(algorithm) if bound.name == name]
        if not found:
            known = ", ".join(repr((bound.algorithm, bound.name)) for bound in self.bounds)
            raise ValueError(f"there is no guarantee {(algorithm, name)!r}; the guarantees are {known}")
        return found[0]

    def _headline(self) -> str:
        broken = f", {len(self.violated)} VIOLATED" if self.violated else ""
        applying = sum(bound.applies for bound in self.bounds)
        best = self.strongest
        most = f", the largest {number(best.lower)} ({best.algorithm}, {best.name})" if best else ""
        return f"k = {self.k}, {applying} of {len(self.bounds)} guarantees apply{most}{broken}"

    def _table(self) -> Table:
        bounds = self.bounds
        achieved = np.array([bound.achieved.upper for bound in bounds])
        columns = (
            Column("algorithm", "algorithm", [bound.algorithm for bound in bounds]),
            Column("promised", "guaranteed", np.array([b.lower if b.applies else np.nan for b in bounds]), 3),
            Column("achieved_lower", None, np.array([bound.achieved.lower for bound in bounds])),
            Column("achieved_upper", "achieved", achieved, 3),
            Column("name", "by", [bound.name for bound in bounds]),
            *(
                Column(key, None, [getattr(b, key) for b in bounds])
                for key in ("applies", "formula", "source")
            ),
        )
        names = list_names(self._names_of(self.best_support), 12)
        best = f"R² of the best subset {self.best._headline()} ({self.best.method}): {names}"
        return Table(columns, (best,), len(bounds))
