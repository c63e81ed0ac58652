"""Why a feature was selected, or was not."""

from __future__ import annotations

import numpy as np

from sparselin.results.base import FloatArray, IndexArray, Named, Names, result
from sparselin.results.display import Column, Table


@result
class Explanation(Named):
    """When and why a feature j entered a path, or what made it redundant. `str` of it is the sentence.

    S denotes `given`; P_S^⊥ projects off the intercept too, if there is one; X_j is the standardized column,
    if the path is of such. On a `SelectionPath` S_s are the first s of S and r_s = P_{S_s}^⊥y; on a
    `GeneralizedPath` r_s = w∘(y − μ) for the model on S_s, and r2, gain and partial_r2 are of D² (gain is NaN
    where S ∪ j has no model); on a `LassoPath` r(λ) = y − Xβ(λ).

    Attributes
    ----------
    feature, names : j, and the d names of the features, or None.
    kind : "selection" for a `SelectionPath` or `GeneralizedPath`, "LASSO" for a `LassoPath`, "set" for a
        `SubsetResult`, which has no `correlation`, `level` and `error`, and does not say what was `forced`.
    step : the number of the step at which j was selected, or of the knot at which it first entered, from 1 as
        in the tables of the paths (so it is knots[step − 1]); 0 if it did neither.
    forced : whether j was in S, or unpenalised, from the start.
    given : (m,) S. On a `SelectionPath` the features selected before j, or all if j was not selected; on a
        `LassoPath` those nonzero where j first entered, or at the end if it did not; of a set the others.
    correlation : |⟨X_j, r⟩|, on a path over β ≥ 0 ⟨X_j, r⟩ with its sign: (m + 1,) at r_0, …, r_m; or at each
        positive knot.
    level : what it is compared with: (m + 1,) the same of the pick at each step, NaN where that was forced,
        and in the end λ*(S) if j was not selected; or the positive knots λ themselves.
    error : bounds on the rounding errors of `correlation`, of the same shape; one that is smaller in size is
        zero to rounding.
    runner_up, margin : the feature that was second when j was selected, −1 if there is none, and how much it
        had less, as a share (`SelectionPath.margin`); −1 and NaN if j was not selected, or was forced. Of a
        set the one that would raise R²(S) most in place of j, and how much less than j, as a share of `gain`.
    tied : the others of T when j was selected.
    fall : the step s at which `correlation` fell most, from r_{s−1} to r_s; 0 if it never fell, to rounding.
    left : ‖P_S^⊥X_j‖²/‖P_∅^⊥X_j‖², the share of X_j (with an intercept: of its variance) that S does not
        determine; 0.0 for a column in the span of S to rounding.
    regression : (m,) the coefficients b of X_j on X_S, in the units of X; 0 for a column in the span of those
        before it.
    shares : (m,) b_i⟨X_i, P_∅^⊥X_j⟩/‖P_∅^⊥X_j‖²: the terms of the share of X_j that S determines, their sum
        being 1 − left. One of them may be negative, or above 1, where columns of S are correlated.
    r2 : R²(S) = 1 − ‖P_S^⊥y‖²/‖P_∅^⊥y‖² of least squares on S.
    gain : R²(S ∪ j) − R²(S) = ⟨X_j, P_S^⊥y⟩²/(‖P_S^⊥X_j‖²‖P_∅^⊥y‖²); 0.0 where ⟨X_j, P_S^⊥y⟩, P_S^⊥X_j or
        P_S^⊥y is zero to rounding.
    partial_r2 : the same as a share of what S leaves: ⟨X_j, P_S^⊥y⟩²/(‖P_S^⊥X_j‖²‖P_S^⊥y‖²).
    intervals : pairs (λ at which j entered, λ at which it left or the path ended); empty on a
        `SelectionPath`.
    sentence : all this in one sentence.

    `to_frame()` has a row for each of S: index and name of the feature, regression, share.
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
        """correlation/level, NaN where the pick was forced, and 0 for level 0."""
        ratio = np.zeros_like(self.correlation)
        np.divide(self.correlation, self.level, out=ratio, where=self.level != 0)
        return ratio

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence

    def _headline(self) -> str:
        return self.sentence

    def _table(self) -> Table:
        columns = (
            Column("index", None, self.given),
            Column("name", "S", self._names_of(self.given)),
            Column("regression", "regression on S", self.regression),
            Column("share", "share", self.shares, 4),
        )
        return Table(columns)
