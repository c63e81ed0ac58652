"""Results about sets of features: greedy and local search, the best subset, the choice of ν."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Names, Status, result


@result
class SubsetResult:
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


@result
class GreedyMaximum:
    """Features that a greedy method selected to maximise a set function f of C = XᵀX alone.

    Attributes
    ----------
    support : (t,) indices, in the order of selection.
    gains : (t,) f(S_j) − f(S_{j−1}).
    value : f(S).
    evaluations : gains that were evaluated; fewer by lazy evaluation.
    status : COMPLETED, or RANK_EXHAUSTED when fewer than k columns are nonzero.
    n_features : d.
    """

    support: IndexArray
    gains: FloatArray
    value: float
    evaluations: int
    status: Status
    n_features: int


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


@result
class NuChoice:
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
