"""Results along a path: features in the order of selection, solutions for all λ."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Names, Status, result


@result
class SelectionPath:
    """Features in the order in which a greedy method selected them.

    With t features selected of d, S_j the first j of them and r_j = P_{S_j}^⊥ y:

    Attributes
    ----------
    support : (t,) indices in the order of selection, `forced` ones first.
    coef : (t,) least squares coefficients of y on the final support.
    coef_path : (t, t) row j holds the coefficients on the first j + 1 features, zeros beyond.
    intercept_path : (t + 1,) the intercept beside the first 0, …, t features; zero without one.
    lam_star : (t,) λ*(S_j) = ‖Xᵀr_j‖∞ over the unselected, at each pick; NaN for forced features.
    margin : (t,) (λ* − |c| of the runner-up)/λ*, 0 in a tie, 1 when no other column is correlated with r;
        NaN for forced features.
    ties : t tuples of indices, T at each pick, the pick among them; empty for forced features.
    active_sets : t tuples of indices: A(S) at each pick for Sequential LASSO. OMP does not compute
        A(S); there it is empty.
    weights : t arrays (d,): the attention weights s(w) at each pick for Sequential Attention (one
        on S); empty for the other methods and for forced features.
    residual_norm : (t + 1,) ‖r_0‖, …, ‖r_t‖. With an intercept, which is in every S_j, r_0 = y − ȳ.
    status : how the path ended.
    n_features : d.
    names : d names of the features, or None.
    with_intercept, standardized : whether the path has an intercept, and is of standardized columns:
        then `lam_star` and `weights` are of these. Coefficients are in the units of X.
    """

    support: IndexArray
    coef_path: FloatArray
    intercept_path: FloatArray
    lam_star: FloatArray
    margin: FloatArray
    ties: tuple[tuple[int, ...], ...]
    active_sets: tuple[tuple[int, ...], ...]
    weights: tuple[FloatArray, ...]
    residual_norm: FloatArray
    status: Status
    n_features: int
    names: Names
    with_intercept: bool
    standardized: bool

    @property
    def intercept(self) -> float:
        """The intercept beside all of `support`; 0.0 without one."""
        return float(self.intercept_path[-1])

    @property
    def coef(self) -> FloatArray:
        return self.coef_at(len(self.support))

    def coef_at(self, t: int) -> FloatArray:
        """Coefficients (t,) of y on the first t selected features, 0 ≤ t ≤ len(support)."""
        if not 0 <= t <= len(self.support):
            raise ValueError(f"t must lie in 0..{len(self.support)}, the steps taken; got {t}")
        return self.coef_path[t - 1, :t] if t else np.zeros(0, self.coef_path.dtype)

    def dense_coef(self) -> FloatArray:
        """The final coefficients as a vector (d,), zero off the support."""
        dense = np.zeros(self.n_features, self.coef_path.dtype)
        dense[self.support] = self.coef
        return dense


@result
class LassoPath:
    """The solutions β(λ) of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁, exactly, for all λ ≥ knots[-1].

    Attributes
    ----------
    knots : (m,) decreasing; knots[0] = λ*(S) and knots[-1] is the end of the path.
    features : (p,) increasing: those with a nonzero coefficient at some knot.
    coef_path : (m, p) the coefficients of `features` at each knot.
    intercept : (m,) the intercept at each knot; zero without one.
    r2 : (m,) 1 − ‖y − Xβ‖²/‖y‖² at each knot, of y − ȳ in place of y with an intercept; 0 for y = 0.
    active : m tuples of indices outside S: those that are nonzero just below each knot (at
        knots[-1], just above it).
    status : how the path ended. COMPLETED means that `lam_min` was reached, MAX_STEPS that it has `max_steps`
        segments.
    n_features : d.
    names : d names of the features, or None.
    with_intercept, standardized : whether the path has an intercept, and is of standardized columns:
        then λ is a penalty on their coefficients. `coef` is in the units of X.
    """

    knots: FloatArray
    features: IndexArray
    coef_path: FloatArray
    intercept: FloatArray
    r2: FloatArray
    active: tuple[tuple[int, ...], ...]
    status: Status
    n_features: int
    names: Names
    with_intercept: bool
    standardized: bool

    @property
    def coef(self) -> FloatArray:
        """(m, d) the solution at each knot, made dense at each call: m·d numbers."""
        dense = np.zeros((len(self.knots), self.n_features), self.coef_path.dtype)
        dense[:, self.features] = self.coef_path
        return dense

    def at(self, lam: float) -> FloatArray:
        """A solution β(λ) (d,) at any λ ≥ knots[-1]: the path is linear between its knots.

        Raises ValueError for a λ below the end of the path, negative or not finite.
        """
        lam = float(lam)
        if not (np.isfinite(lam) and lam >= self.knots[-1]):
            hint = " Compute the path with a smaller lam_min." if 0 <= lam < self.knots[-1] else ""
            raise ValueError(
                f"lam must be finite and at least {self.knots[-1]:g}, where this path ends; got {lam}.{hint}"
            )
        coef = np.zeros(self.n_features, self.coef_path.dtype)
        coef[self.features] = self._between(self.coef_path, lam)
        return coef

    def _between(self, values: FloatArray, lam: float) -> FloatArray:
        """What is `values` (m, ...) at the knots, at λ ≥ knots[-1]."""
        if lam >= self.knots[0]:
            return np.asarray(values[0])
        # knots[i] > lam ≥ knots[i + 1]
        i = int(np.searchsorted(-self.knots, -lam)) - 1
        weight = (self.knots[i] - lam) / (self.knots[i] - self.knots[i + 1])
        weight = values.dtype.type(weight)
        return np.asarray((1 - weight) * values[i] + weight * values[i + 1])


@result
class FirstEntry:
    """One step of Sequential LASSO at a given S; r = P_S^⊥ y, c = Xᵀr.

    Attributes
    ----------
    lam_star : λ*(S) = ‖c‖∞, 0.0 when no column outside the span of S is correlated with r.
    tied : T = {i : |c_i| = λ*}, increasing.
    active : A(S) ⊆ T, the indices that are nonzero in some solution just below λ*.
    signs : (|T|,) sign c_i for i ∈ T.
    direction : (|T|,) v: for λ = λ* − ε inside the window a solution is β_T = signs·(εv). It is
        positive exactly on A(S).
    window_lower : λ₂; on (λ₂, λ*) the support off S is A(S). 0 when there is no event.
    proof_lower : λ₀ ≥ λ₂, the end of the window that the paper's proof of Lemma 3.4/3.5 gives.
    residual_norm : ‖r‖.
    status : COMPLETED when λ* > 0 and the solution in the middle of the window satisfies the KKT
        conditions to rounding; BEYOND_PRECISION when it does not, and then the other fields are unreliable;
        EXACT_FIT, NO_CORRELATION or RANK_EXHAUSTED when λ* is zero.
    names : d names of the features, or None.
    """

    lam_star: float
    tied: tuple[int, ...]
    active: tuple[int, ...]
    signs: FloatArray
    direction: FloatArray
    window_lower: float
    proof_lower: float
    residual_norm: float
    status: Status
    names: Names
