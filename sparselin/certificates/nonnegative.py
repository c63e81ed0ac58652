"""The statements of a certificate about one pick of nonnegative OMP, and their check."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from sparselin.certificates.arithmetic import Arithmetic
from sparselin.certificates.step import Fractions, Indices, abbreviate, is_zero


@dataclasses.dataclass(frozen=True)
class NonnegativeStep:
    """The proof of one pick of nonnegative OMP.

    Notation: S are the features selected before the pick, F ⊆ S the forced features, r = y − X_S coef the
    residual, and c = Xᵀr. The weight w_j is 1, or ‖X_j‖ if the columns are normalized.

    Attributes
    ----------
    selected : S, in the order of selection.
    pick : the feature picked, one of T.
    tied : T = {i ∉ S : c_i = λ*w_i}, increasing; all other j ∉ S have c_j < λ*w_j.
    lam_star_squared : λ*², where λ* = max_{j ∉ S} c_j/w_j > 0.
    coef : (|S|,) coefficients β on S, with β ≥ 0 on S∖F, c_F = 0, c_j ≤ 0 on S∖F, and c_j = 0 where β_j > 0.
        These are the conditions for a minimum of ‖y − X_Sβ‖ over the β with β_{S∖F} ≥ 0. They determine r.
    """

    selected: Indices
    pick: int
    tied: Indices
    lam_star_squared: Fraction
    coef: Fractions

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which may have thousands of digits."""
        return (
            f"NonnegativeStep(selected={self.selected}, pick={self.pick}, tied={self.tied}, "
            f"λ*²≈{abbreviate(self.lam_star_squared)}, …)"
        )


def refutations(step: NonnegativeStep, num: Arithmetic, n_forced: int) -> Iterator[str]:
    """Check the statements of a `NonnegativeStep`; yield a sentence for each one that fails."""
    S, signed, lam_squared = list(step.selected), step.coef[n_forced:], step.lam_star_squared * num.lam_unit
    coef = num.vector([value * num.coef_unit for value in step.coef])
    c = num.product(num.X.T, num.y - num.product(num.X[:, S], coef))
    J = np.flatnonzero(num.stated)
    scale = num.vector([lam_squared]) * num.squares
    if not num.is_known(c[J], scale[J]):
        yield "`coef` is too large to know the correlations in float64; use exact=True"
    if not is_zero(num, c[[j for i, j in enumerate(S) if i < n_forced or step.coef[i]]]):
        yield "the residual is not orthogonal to the features with a coefficient and to the forced ones"
    if min(signed, default=0) < 0:
        yield "`coef` has a negative coefficient"
    if not num.is_nonpositive(c[S[n_forced:]]).all():
        yield "`coef` is not optimal: the residual is positively correlated with a selected feature"
    excess, T = c * c - scale, list(step.tied)
    if not (num.is_negative(num.vector([0]) - c[T]).all() and is_zero(num, excess[T])):
        yield "`lam_star_squared` is not attained by the tied features, or rounding leaves it undecided"
    others = [j for j in J.tolist() if j not in (*T, *S)]
    if not (num.is_negative(c[others]) | num.is_negative(excess[others])).all():
        yield "a feature is not tied, but its correlation is not below λ*, or rounding leaves it undecided"
