"""The result of `explain`: the reasons why a feature was selected, or was not."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, result
from sparselin.results.display import Column, Table


@result
class Explanation(Named):
    """The reasons why a feature j entered a path, or why it did not. `str` returns them as a sentence.

    S denotes `given`. P_S^⊥v is v minus its projection onto the span of the columns of S and of the
    intercept, if there is one; P_∅^⊥ is the case S = ∅. X_j is the standardized column if the path
    standardizes columns. The residuals r depend on the kind of path:

    - `SelectionPath`: r_s = P_{S_s}^⊥y, where S_s are the first s features of S.
    - `GeneralizedPath`: r_s = w∘(y − μ) for the model on S_s, with weights w and fitted means μ. D², the
      share of the deviance that the model explains, takes the place of R² in the fields r2, gain and
      partial_r2. The gain is NaN if S ∪ j has no model.
    - `LassoPath`: r(λ) = y − Xβ(λ).
    - `FlowPath`: r(τ) = y − Xβ(τ), and s_j(τ) = ∫₀^τ ⟨X_j, r⟩ is compared with ±1.

    Attributes
    ----------
    feature, names : j, and the d names of the features, or None.
    kind : "selection" for a `SelectionPath` or `GeneralizedPath`, "LASSO" for a `LassoPath`, "flow" for a
        `FlowPath`, "set" for a `SubsetResult`. For a set `correlation`, `level` and `error` are empty, and it
        is not known which features were `forced`.
    step : the number of the step at which j was selected, or of the knot or event at which it first entered.
        Numbers begin with 1, as in the tables of the paths, so the knot is knots[step − 1]. `step` is 0 if j
        never entered.
    forced : whether j was in S, or unpenalised, from the start.
    given : (m,) S. On a `SelectionPath` S consists of the features selected before j, or of all selected
        features if j was not selected. On a `LassoPath` S consists of the features with a nonzero coefficient
        at the knot where j first entered, or at the end of the path if j did not enter. On a `FlowPath` S
        consists of the features with a nonzero coefficient before the event at which j first entered, or at
        the end. For a set, S consists of the other features of the set.
    correlation : |⟨X_j, r⟩|, or ⟨X_j, r⟩ with its sign on a path over β ≥ 0. It has the shape (m + 1,), for
        r_0, …, r_m; on a `LassoPath` it has an entry for each positive knot. On a `FlowPath` it is |s_j| at
        each event.
    level : the number with which each entry of `correlation` is compared. On a `SelectionPath` it has the
        shape (m + 1,): the correlation of the pick at each step (NaN if the pick was forced), and at the end
        λ*(S), the largest correlation, if j was not selected. On a `LassoPath` it is λ at each positive knot;
        on a `FlowPath` it is 1.
    error : bounds on the rounding errors of `correlation`, of the same shape. A correlation within its bound
        is zero to rounding.
    runner_up, margin : the feature that came second when j was selected (−1 if no other feature was left),
        and the relative distance between the correlations of both (`SelectionPath.margin`). `runner_up` is −1
        and `margin` NaN if j was not selected, or was forced. For a set, `runner_up` is the feature that
        would raise R²(S) most in place of j, and `margin` the difference of the two gains divided by `gain`.
    tied : the features that were tied with j when j was selected.
    fall : the step s at which `correlation` decreased most, from r_{s−1} to r_s; 0 if it never decreased
        beyond rounding.
    left : ‖P_S^⊥X_j‖²/‖P_∅^⊥X_j‖², the share of the squared length of X_j (with an intercept, of its
        variance) that X_S does not explain; 0.0 if X_j is in the span of X_S to rounding.
    regression : (m,) the coefficients b of X_j on X_S, in the units of X; 0 for a column in the span of the
        columns before it.
    shares : (m,) b_i⟨X_i, P_∅^⊥X_j⟩/‖P_∅^⊥X_j‖²: the contribution of each X_i, i ∈ S, to the share of X_j
        that X_S explains. The sum of the contributions is 1 − left. If columns of S are correlated, a
        contribution may be negative, or above 1.
    r2 : R²(S) = 1 − ‖P_S^⊥y‖²/‖P_∅^⊥y‖² of least squares on S.
    gain : R²(S ∪ j) − R²(S) = ⟨X_j, P_S^⊥y⟩²/(‖P_S^⊥X_j‖²‖P_∅^⊥y‖²); 0.0 if ⟨X_j, P_S^⊥y⟩, P_S^⊥X_j or
        P_S^⊥y is zero to rounding.
    partial_r2 : the gain as a share of 1 − R²(S): ⟨X_j, P_S^⊥y⟩²/(‖P_S^⊥X_j‖²‖P_S^⊥y‖²).
    intervals : pairs (λ at which j entered, λ at which it left or the path ended), or of τ in place of λ on a
        `FlowPath`, whose end may be infinite; empty on a `SelectionPath`.
    sentence : the explanation in words.

    `to_frame()` has a row for each feature of S: index, name, regression, share.
    """

    feature: int
    kind: str
    names: Names
    step: int
    forced: bool
    given: IndexArray
    correlation: FloatArray
    level: FloatArray
    error: FloatArray
    runner_up: int
    margin: float
    tied: tuple[int, ...]
    fall: int
    left: float
    regression: FloatArray
    shares: FloatArray
    r2: float
    gain: float
    partial_r2: float
    intervals: tuple[tuple[float, float], ...]
    sentence: str

    @property
    def ratio(self) -> FloatArray:
        """The ratio correlation/level of each entry: NaN if the pick was forced, and 0 if level is 0."""
        ratio = np.zeros_like(self.correlation)
        np.divide(self.correlation, self.level, out=ratio, where=self.level != 0)
        return ratio

    def __str__(self) -> str:
        """Return the explanation in words."""
        return self.sentence

    def _headline(self) -> str:
        return self.sentence

    def _table(self) -> Table:
        columns = (
            *self._features(self.given, head="S"),
            Column("regression", "regression on S", self.regression),
            Column("share", "share", self.shares, 4),
        )
        return Table(columns)
