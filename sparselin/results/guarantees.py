"""Results about guarantees: certified intervals, and promises beside what was achieved."""

from __future__ import annotations

from sparselin.results.base import FloatArray, IndexArray, result


@result
class Interval:
    """A number that is known to lie between two others.

    Attributes
    ----------
    lower, upper : the certified bounds; equal to rounding when the number is known.
    method : how each of them was obtained, in words.
    """

    lower: float
    upper: float
    method: str

    @property
    def exact(self) -> bool:
        """Whether the two bounds agree to rounding: a relative 1e-9."""
        return self.upper - self.lower <= 1e-9 * max(abs(self.lower), abs(self.upper))


@result
class SubmodularityRatio(Interval):
    """γ_{U,k}: the largest γ ∈ [0, 1] with Σ_{x∈A}[f(L + x) − f(L)] ≥ γ·[f(L ∪ A) − f(L)] for all L, A.

    Attributes (beside `lower`, `upper`, `method`)
    ----------
    base, added : the L ⊆ U and the A, |A| ≤ k, A ∩ L = ∅, at which the ratio is `upper`.
    """

    base: IndexArray
    added: IndexArray


@result
class SparseEigenvalues:
    """Extreme eigenvalues of all k × k principal submatrices of C = XᵀX.

    Attributes
    ----------
    k : the size.
    smallest : λ_min(C, k) = min_{|S| ≤ k} λ_min(C_S).
    largest : λ_max(C, k) = max_{|S| ≤ k} λ_max(C_S).
    smallest_support, largest_support : sets S at which `smallest.upper` and `largest.lower` are attained.
    condition_number : λ_max(C, k)/λ_min(C, k), an interval.
    coherence : max_{i≠j} |C_ij|/√(C_ii·C_jj), NaN for fewer than two nonzero columns.
    babel : (k,) μ₁(1), …, μ₁(k): the largest sum of m moduli of correlations in a row (Tropp, 2004).
    """

    k: int
    smallest: Interval
    largest: Interval
    smallest_support: IndexArray
    largest_support: IndexArray
    condition_number: Interval
    coherence: float
    babel: FloatArray

    @property
    def lower(self) -> float:
        """lower·‖v‖² ≤ ‖Xv‖² ≤ upper·‖v‖² for every v with at most k nonzeros."""
        return self.smallest.lower

    @property
    def upper(self) -> float:
        return self.largest.upper

    @property
    def method(self) -> str:
        return f"λ_min: {self.smallest.method}; λ_max: {self.largest.method}"


@result
class Bound:
    """One promise: R²(greedy) ≥ factor·R²(best), or exact recovery, with what it needs.

    Attributes
    ----------
    name : what is promised, in the field's terms.
    algorithm : of which algorithm.
    formula : the factor, as text.
    source : paper and number.
    hypotheses : pairs (what is supposed, whether it was seen to hold; None if it was not decided).
    lower, upper : the factor from certified lower and from upper bounds of its constants; only `lower` is a
        promise. 0.0 when a hypothesis fails.
    achieved : R²(greedy)/R²(best), an `Interval`: a point where the best subset is known.
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
        """Whether all hypotheses were seen to hold."""
        return all(held is True for _, held in self.hypotheses)

    @property
    def violated(self) -> bool:
        """Whether the achieved ratio is below the promise: a finding."""
        return self.applies and self.achieved.upper < self.lower


@result
class GuaranteeBounds:
    """What is promised of greedy selection on one design, side by side, and what was achieved.

    Attributes
    ----------
    k : the size.
    bounds : the promises, a `Bound` each.
    best : R² of the best subset of k features, an interval.
    r2 : pairs (algorithm, R² of its selection).
    constants : pairs (name, `Interval`) of the constants that entered: λ_min(C, k), γ, coherence, …
    """

    k: int
    bounds: tuple[Bound, ...]
    best: Interval
    r2: tuple[tuple[str, float], ...]
    constants: tuple[tuple[str, Interval], ...]

    @property
    def lower(self) -> float:
        """The largest promise that applies to any algorithm."""
        return max((bound.lower for bound in self.bounds if bound.applies), default=0.0)
