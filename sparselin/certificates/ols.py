"""The statements of a certificate about one pick of OLS, and their check."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from sparselin.certificates.arithmetic import Arithmetic
from sparselin.certificates.step import Fractions, Indices, abbreviate, is_zero


@dataclasses.dataclass(frozen=True)
class OlsStep:
    """The proof of one pick of OLS.

    Notation: S are the features selected before the pick, r = P_S^⊥y is the residual of least squares on S, c
    = Xᵀr, and ℓ_j = ‖P_S^⊥X_j‖.

    Attributes
    ----------
    selected : S, in the order of selection.
    pick : the feature picked, one of T.
    tied : T = {i ∉ S : c_i² = qℓ_i², ℓ_i > 0}, increasing; all other j ∉ S with ℓ_j > 0 have c_j² < qℓ_j².
    spanned : the features outside S whose columns are in the span of X_S, so that ℓ_j = 0; increasing.
    decrease : q = max_j c_j²/ℓ_j² > 0, the amount by which the pick decreases ‖r‖².
    coef : (|S|,) least squares coefficients on S, so that r = y − X_S coef.
    basis : for the t-th column of S, its least squares coefficients a on the t − 1 columns of S before it.
        The vector u_t = X_{S_t} − Σ_{i<t} a_i X_{S_i} is orthogonal to these columns.
    squares : (|S|,) ‖u_t‖² > 0, so that ℓ_j² = ‖X_j‖² − Σ_t ⟨u_t, X_j⟩²/‖u_t‖².
    """

    selected: Indices
    pick: int
    tied: Indices
    spanned: Indices
    decrease: Fraction
    coef: Fractions
    basis: tuple[Fractions, ...]
    squares: Fractions

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which may have thousands of digits."""
        return (
            f"OlsStep(selected={self.selected}, pick={self.pick}, tied={self.tied}, "
            f"q≈{abbreviate(self.decrease)}, …)"
        )


def refutations(step: OlsStep, num: Arithmetic) -> Iterator[str]:
    """Check the statements of an `OlsStep`; yield a sentence for each one that fails."""
    S, T, spanned = list(step.selected), list(step.tied), list(step.spanned)
    q = num.vector([step.decrease * (num.coef_unit * num.x_unit) ** 2])
    coef = num.vector([value * num.coef_unit for value in step.coef])
    c = num.product(num.X.T, num.y - num.product(num.X[:, S], coef))
    lengths = num.square_lengths()
    left: Any = lengths
    nonzero = np.flatnonzero(num.X.any(axis=0))
    for t, (a, square) in enumerate(zip(step.basis, step.squares, strict=True)):
        u = num.product(num.X[:, S[: t + 1]], num.vector([*(-v for v in a), 1]))
        b, size = num.product(num.X.T, u), square * num.x_unit**2
        if not num.is_known(b[nonzero], num.vector([size]) * lengths[nonzero]):
            yield "`basis` is too large to know inner products with it in float64; use exact=True"
        if not (is_zero(num, b[S[:t]]) and is_zero(num, b[[S[t]]] - num.vector([size]))):
            yield "`basis` is not orthogonal, or `squares` are not its squared lengths"
        left = left - num.vector([1 / size]) * b * b
    inside = [j for j in spanned if j in nonzero]
    if not num.is_known(left[inside], lengths[inside] * lengths[inside]):
        yield "rounding leaves the distances of the `spanned` features undecided; use exact=True"
    if not num.is_known(c[T], q * left[T]) or not num.is_known(left[T], left[T] * left[T]):
        yield "rounding leaves the correlations or distances of the tied features undecided; use exact=True"
    if not is_zero(num, c[S]):
        yield "the residual at `coef` is not orthogonal to the selected features"
    if not is_zero(num, left[spanned]):
        yield "a feature in `spanned` is not in the span of the selected ones"
    excess = c * c - q * left
    if not (num.is_negative(num.vector([0]) - left[T]).all() and is_zero(num, excess[T])):
        yield "`decrease` is not attained by the tied features, or rounding leaves it undecided"
    others = sorted({*range(num.X.shape[1])} - {*S, *T, *spanned})
    wrong = [j for j, less in zip(others, num.is_negative(excess[others]), strict=True) if not less]
    if wrong:
        yield f"{wrong} are not tied, but do not decrease ‖r‖² by less, or rounding leaves it undecided"
