"""Results about guarantees: certified intervals, guaranteed and achieved ratios."""

from __future__ import annotations

import dataclasses

from sparselin.results.base import FloatArray, IndexArray, Names, result


@result
class Interval:
    """Certified bounds on a number.

    Attributes
    ----------
    lower, upper : the certified bounds; equal to rounding when the number is known.
    method : how each of them was obtained, in words.
    rounding : bounds whose difference is at most this count as equal.
    """

    lower: float
    upper: float
    method: str
    _: dataclasses.KW_ONLY
    rounding: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the two bounds agree: to `rounding`, or to a relative 1e-9."""
        return self.upper - self.lower <= max(self.rounding, 1e-9 * max(abs(self.lower), abs(self.upper)))


@result
class SubmodularityRatio(Interval):
    """γ_{U,k}: the largest γ ≤ 1 with Σ_{x∈A}[f(L + x) − f(L)] ≥ γ·[f(L ∪ A) − f(L)] for all L, A.

    Over the pairs L ⊆ U, |A| ≤ k, A ∩ L = ∅ with a positive right bracket. γ ≥ 0 if f is monotone.

    Attributes (in addition to `lower`, `upper`, `method`)
    ----------
    base, added : the L and the A at which the ratio is `upper`; both empty if that is 1.
    exact : for γ of R², whether the bounds agree to a relative 1e-6.
    """

    base: IndexArray
    added: IndexArray


@result
class SparseEigenvalues:
    """Extreme eigenvalues of all k × k principal submatrices of C = XᵀX.

    Attributes
    ----------
    k : the size, at most d.
    lambda_min : λ_min(C, k) = min_{|S| ≤ k} λ_min(C_S).
    lambda_max : λ_max(C, k) = max_{|S| ≤ k} λ_max(C_S).
    lambda_min_support, lambda_max_support : sets S at which `lambda_min.upper`, `lambda_max.lower` are
        attained.
    condition_number : λ_max(C, k)/λ_min(C, k), an interval.
    coherence : max_{i≠j} |C_ij|/√(C_ii·C_jj), NaN for fewer than two nonzero columns.
    babel : (k,) μ₁(1), …, μ₁(k): the largest sum of m moduli of correlations in a row (Tropp, 2004).
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
        """lower·‖v‖² ≤ ‖Xv‖² ≤ upper·‖v‖² for every v with at most k nonzeros."""
        return self.lambda_min.lower

    @property
    def upper(self) -> float:
        return self.lambda_max.upper

    @property
    def method(self) -> str:
        return f"λ_min: {self.lambda_min.method}; λ_max: {self.lambda_max.method}"


@result
class Bound:
    """One guarantee: R²(greedy) ≥ factor·R²(best), or exact recovery, with its hypotheses.

    Attributes
    ----------
    name : what it uses or guarantees, in the field's terms.
    algorithm : the algorithm that it is for.
    formula : the factor, as text.
    source : paper and number.
    hypotheses : pairs (hypothesis, whether it holds; None if that was not decided).
    lower, upper : the factor from certified lower and from upper bounds on its constants; only `lower` is
        guaranteed. 0.0 when a hypothesis fails.
    achieved : R²(greedy)/R²(best), an `Interval`: a point if the best subset is known. With a regularizer
        g(greedy)/max g, 0 if g(greedy) < 0 < max g and 1 if max g is not positive.
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
        """Whether all hypotheses were found to hold."""
        return all(held is True for _, held in self.hypotheses)

    @property
    def violated(self) -> bool:
        """Whether the achieved ratio is below the guaranteed factor: a finding."""
        return self.applies and self.achieved.upper < self.lower


@result
class GuaranteeBounds:
    """The guarantees for greedy selection on one design, and the ratios achieved.

    Attributes
    ----------
    k : the size.
    bounds : the guarantees, a `Bound` each.
    best : R² of the best subset of k features, an interval.
    best_support : a best subset, or the best that was found.
    r2 : pairs (algorithm, R² of its selection).
    supports : pairs (algorithm, its selection).
    constants : pairs (name, `Interval`) of the constants used: λ(s) = λ_min(C, s)/max_j C_jj, γ of
        each algorithm's set, ERC, coherence, babel function.
    names : d names of the features, or None.
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
        """The largest promise that applies to any algorithm, the first of equals; None if none applies."""
        promises = [bound for bound in self.bounds if bound.applies]
        return max(promises, key=lambda bound: bound.lower, default=None)

    @property
    def lower(self) -> float:
        """The largest promise that applies to any algorithm; 0.0 if none does."""
        return self.strongest.lower if self.strongest else 0.0

    @property
    def upper(self) -> float:
        """An upper bound on what the algorithm of the largest promise achieved; 1.0 if none applies."""
        return self.strongest.achieved.upper if self.strongest else 1.0

    @property
    def method(self) -> str:
        """The algorithm and the name of the promise `lower`."""
        bound = self.strongest
        return f"{bound.algorithm}: {bound.name} ({bound.source})" if bound else "no promise applies"

    @property
    def violated(self) -> tuple[Bound, ...]:
        """The promises that are violated: findings."""
        return tuple(bound for bound in self.bounds if bound.violated)

    def of(self, algorithm: str) -> tuple[Bound, ...]:
        """The promises of one algorithm."""
        return tuple(bound for bound in self.bounds if bound.algorithm == algorithm)

    def __str__(self) -> str:
        """A line for each promise: the algorithm, what is promised, what was achieved, and by which bound."""
        lines = [f"k = {self.k}, R² of the best subset {self.best.upper:.4g} ({self.best.method})"]
        for bound in self.bounds:
            promised = f"{bound.lower:.3f}" if bound.applies else "    –"
            lines.append(f"{bound.algorithm:>20}  {promised} of {bound.achieved.upper:.3f}  {bound.name}")
        return "\n".join(lines)
