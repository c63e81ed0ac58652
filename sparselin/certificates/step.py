"""The statements of a certificate about one pick, checked by products and comparisons only.

There is one kind of statement for Sequential LASSO and OMP, one for nonnegative OMP and one for OLS.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sparselin.certificates.arithmetic import Arithmetic, root_bounds

Fractions: TypeAlias = tuple[Fraction, ...]
Indices: TypeAlias = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class PickProof:
    """The features selected before a pick, the pick, and the features that tie with it."""

    selected: Indices
    pick: int
    tied: Indices


@dataclasses.dataclass(frozen=True)
class StepCertificate(PickProof):
    """The proof of one pick of OMP or Sequential LASSO.

    Attributes
    ----------
    selected : S, the features before the pick, in the order of selection.
    pick : the feature picked.
    tied : T = argmax_j |c_j|/w_j over the columns that are not zero, increasing.
    active : A(S) ⊆ T, the features that are nonzero in some solution of the LASSO just below λ*, increasing.
    signs : (|T|,) the signs of c_i, i ∈ T.
    lam_star_squared : λ*² = max_j c_j²/w_j², which is rational even if λ* is not.
    coef : (|S|,) least squares coefficients on S, so that r = y − X_S coef.
    direction : (|T|,) u ≥ 0, positive exactly on A(S), with (Hu)_i = |c_i| on A(S) and (Hu)_i ≥ |c_i| on T,
        where H = ZᵀZ and Z holds the columns z_i = sign(c_i)·P_S^⊥X_i.
    rate : (|S|,) the coefficients on S for which Zu = X_T(signs∘u) + X_S rate is orthogonal to X_S.
    farkas : a pair (i, w) for each i ∈ T∖A(S) with (Hu)_i = |c_i|. The vector w (n,) proves that i is zero in
        every solution: w is orthogonal to the columns S and A(S), ⟨z_j, w⟩ ≥ 0 wherever (Hu)_j = |c_j|, and
        ⟨z_i, w⟩ > 0.
    tau : τ ∈ (0, 1], the relative length of the interval [(1 − τ)λ*, λ*). For every λ in this interval the
        LASSO min ½‖y − Xβ‖² + λ Σ_{j∉S} w_j|β_j| has the following solution, with t = 1 − λ/λ*: β_T =
        signs∘(tu), β_S = coef + t·rate, and all other coefficients are zero.
    """

    active: Indices
    signs: Indices
    lam_star_squared: Fraction
    coef: Fractions
    direction: Fractions
    rate: Fractions
    farkas: tuple[tuple[int, Fractions], ...]
    tau: Fraction

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which may have thousands of digits."""
        numbers = f"λ*²≈{abbreviate(self.lam_star_squared)}", f"τ≈{abbreviate(self.tau)}"
        return _text(self, f"active={self.active}", *numbers)

    @property
    def epsilon(self) -> Fraction:
        """The length ε₀ = τλ* > 0 of the interval [λ* − ε₀, λ*) on which `tau` gives the solutions.

        For columns as given, λ* is rational. With `normalized`, λ* may be irrational; then ε₀ is τ times a
        rational lower bound of λ*, within a factor of 1 − 2⁻⁶⁴.
        """
        return self.tau * root_bounds(self.lam_star_squared)[0]


def _text(step: PickProof, *numbers: str) -> str:
    words = [f"{name}={getattr(step, name)}" for name in ("selected", "pick", "tied")]
    return f"{type(step).__name__}({', '.join([*words, *numbers])}, …)"


def abbreviate(q: Fraction) -> str:
    """Write a fraction q with six digits, or as a power of two if q is beyond the range of floats."""
    power = q.numerator.bit_length() - q.denominator.bit_length()
    return f"{float(q):.6g}" if abs(power) < 1000 else f"2^{power}"


def step_name(S: Sequence[int]) -> str:
    return f"step {len(S) + 1}"


def rescale(step: StepCertificate, coef_unit: Fraction, lam_unit: Fraction) -> StepCertificate:
    """Convert a proof to other units of X and y: multiply coefficients by coef_unit, and λ*² by lam_unit.

    λ* is the largest correlation, on which the proof compares features.
    """
    changes: dict[str, Any] = {"lam_star_squared": step.lam_star_squared * lam_unit}
    for name in ("coef", "direction", "rate"):
        changes[name] = tuple(v * coef_unit for v in getattr(step, name))
    return dataclasses.replace(step, **changes)


def _lasso_refutations(step: StepCertificate, num: Arithmetic) -> Iterator[str]:
    """Check the statements of a `StepCertificate`; yield a sentence for each one that fails.

    `Certificate.verify` explains why these statements prove the claim.
    """
    step = rescale(step, num.coef_unit, num.lam_unit)
    S, T = list(step.selected), list(step.tied)
    u = num.vector(step.signs) * num.vector(step.direction)
    r = num.y - num.product(num.X[:, S], num.vector(step.coef))
    Zu = num.product(num.X[:, T], u) + num.product(num.X[:, S], num.vector(step.rate))
    c, b = num.product(num.X.T, r), num.product(num.X.T, Zu)
    J = np.flatnonzero(num.stated)
    scale = num.vector([step.lam_star_squared]) * num.squares[J]
    if not (num.is_known(c[J], scale) and num.is_known(b[J], scale)):
        yield "`coef`, `direction` or `rate` are too large to know correlations in float64; use exact=True"
    if not (is_zero(num, c[S]) and is_zero(num, b[S])):
        yield "the residual at `coef`, or its rate at `rate`, is not orthogonal to the selected features"
    yield from _tie_failures(step, num, c)
    yield from _direction_failures(step, num, c, b)
    yield from _window_failures(step, num, c, b)
    for i, w in step.farkas:
        if not _excludes(step, num, i, num.product(num.X.T, num.vector(_scale_down(w)))):
            yield f"the Farkas vector of {i} does not prove that {i} is zero in every solution"


def _tie_failures(step: StepCertificate, num: Arithmetic, c: Any) -> Iterator[str]:
    """Check that the features T are tied and all others are not, and yield the failures.

    The conditions are |c_i| = w_i·λ* on T, where c_i has the given sign, and |c_j| < w_j·λ* elsewhere.
    `StepCertificate` defines the weights w, and λ* = max_j |c_j|/w_j.

    c : Xᵀr, where r is the residual on the selected features.
    """
    if not num.is_negative(num.vector([0]) - _apply_signs(step, num, c)).all():
        yield "`signs` are not those of the correlations, or rounding leaves them undecided"
    excess = c * c - num.vector([step.lam_star_squared]) * num.squares
    if not is_zero(num, excess[list(step.tied)]):
        yield "`lam_star_squared` is not attained by the tied features"
    others = _others(step, num)
    wrong = [j for j, less in zip(others, num.is_negative(excess[others]), strict=True) if not less]
    if wrong:
        yield f"{wrong} are not tied, but not below λ* either, or rounding leaves it undecided"


def _direction_failures(step: StepCertificate, num: Arithmetic, c: Any, b: Any) -> Iterator[str]:
    """Check the conditions on the direction u of a step, and yield the failures.

    The conditions are Hu = |c| on the active features, Hu ≥ |c| where there is a Farkas vector, and Hu > |c|
    at the other tied features. `StepCertificate` defines u, the matrix H, and the active features.

    c, b : Xᵀr, where r is the residual, and XᵀZu. At a tied feature i, (Hu)_i = sign(c_i)·b_i.
    """
    excluded = [i for i, _ in step.farkas]
    free = [t for t, i in enumerate(step.tied) if i not in (*step.active, *excluded)]
    violation = _apply_signs(step, num, c) - _apply_signs(step, num, b)
    if not is_zero(num, violation[[step.tied.index(i) for i in step.active]]):
        yield "`direction` does not keep the active features at ±λ: (Hu)_i = |c_i| fails"
    if not num.is_nonpositive(violation[[step.tied.index(i) for i in excluded]]).all():
        yield "`direction` lets a tied feature exceed λ: (Hu)_i ≥ |c_i| fails"
    if not num.is_negative(violation[free]).all():
        yield "nothing proves that a tied feature is not active: (Hu)_i > |c_i| fails or is undecided"


def _window_failures(step: StepCertificate, num: Arithmetic, c: Any, b: Any) -> Iterator[str]:
    """Check the statement `tau` of a step, and yield the failures.

    The conditions are |c_j − τb_j| ≤ (1 − τ)λ*w_j outside S ∪ T, and τ((Hu)_i + |c_i|) ≤ 2|c_i| on T.
    `StepCertificate` defines these symbols.

    c, b : Xᵀr, where r is the residual, and XᵀZu. On T, (Hu)_i = sign(c_i)·b_i.
    """
    others = _others(step, num)
    tau, bound = num.vector([step.tau]), num.vector([(1 - step.tau) ** 2 * step.lam_star_squared])
    moved = c[others] - tau * b[others]
    if not num.is_nonpositive(moved * moved - bound * num.squares[others]).all():
        yield "`tau` is too large: a feature that is not tied exceeds λ"
    size, Hu = _apply_signs(step, num, c), _apply_signs(step, num, b)
    if not num.is_nonpositive(tau * (Hu + size) - (size + size)).all():
        yield "`tau` is too large: a tied feature falls below −λ"


def _excludes(step: StepCertificate, num: Arithmetic, i: int, correlation: Any) -> bool:
    """Return whether a Farkas vector w proves that feature i has the coefficient 0 in every LASSO solution.

    correlation : Xᵀw.
    """
    tight = [step.tied.index(j) for j in (*step.active, *(j for j, _ in step.farkas))]
    signed = num.vector([0]) - _apply_signs(step, num, correlation)
    at_i = correlation[[i]]
    return bool(
        num.is_known(correlation[[*step.selected, *step.tied]], at_i * at_i)
        and is_zero(num, correlation[[*step.selected, *step.active]])
        and num.is_nonpositive(signed[tight]).all()
        and num.is_negative(signed[[step.tied.index(i)]]).all()
    )


def _scale_down(w: Fractions) -> list[Fraction]:
    """Divide w by a power of two that brings it into the range of floats.

    The scaled w proves the same, because any positive multiple of a Farkas vector is a Farkas vector too.
    """
    power = max((v.numerator.bit_length() - v.denominator.bit_length() for v in w if v), default=0)
    return [v / Fraction(2) ** power for v in w]


def _apply_signs(step: StepCertificate, num: Arithmetic, v: Any) -> Any:
    """Multiply v_i by the sign of the correlation of feature i, for each tied feature i of the step."""
    return num.vector(step.signs) * v[list(step.tied)]


def is_zero(num: Arithmetic, v: Any) -> bool:
    """Return whether all entries of v are zero, or may be zero within their error bounds."""
    return bool(num.is_nonpositive(v).all() and num.is_nonpositive(num.vector([0]) - v).all())


def _others(step: StepCertificate, num: Arithmetic) -> list[int]:
    """Return the features that are neither selected nor tied, except zero columns of a normalized design."""
    return [j for j in np.flatnonzero(num.stated).tolist() if j not in (*step.tied, *step.selected)]


@dataclasses.dataclass(frozen=True)
class NonnegativeStep(PickProof):
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

    lam_star_squared: Fraction
    coef: Fractions

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which may have thousands of digits."""
        return _text(self, f"λ*²≈{abbreviate(self.lam_star_squared)}")


def _nonnegative_refutations(step: NonnegativeStep, num: Arithmetic, n_forced: int) -> Iterator[str]:
    """Check the statements of a `NonnegativeStep`; yield a sentence for each one that fails."""
    S = list(step.selected)
    signed = step.coef[n_forced:]
    lam_squared = step.lam_star_squared * num.lam_unit
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
    excess = c * c - scale
    T = list(step.tied)
    if not (num.is_negative(num.vector([0]) - c[T]).all() and is_zero(num, excess[T])):
        yield "`lam_star_squared` is not attained by the tied features, or rounding leaves it undecided"
    others = [j for j in J.tolist() if j not in (*T, *S)]
    if not (num.is_negative(c[others]) | num.is_negative(excess[others])).all():
        yield "a feature is not tied, but its correlation is not below λ*, or rounding leaves it undecided"


@dataclasses.dataclass(frozen=True)
class OlsStep(PickProof):
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

    spanned: Indices
    decrease: Fraction
    coef: Fractions
    basis: tuple[Fractions, ...]
    squares: Fractions

    def __repr__(self) -> str:
        """Return a text of one line, without the fractions, which may have thousands of digits."""
        return _text(self, f"q≈{abbreviate(self.decrease)}")


def _ols_refutations(step: OlsStep, num: Arithmetic) -> Iterator[str]:
    """Check the statements of an `OlsStep`; yield a sentence for each one that fails."""
    S = list(step.selected)
    T = list(step.tied)
    spanned = list(step.spanned)
    q = num.vector([step.decrease * (num.coef_unit * num.x_unit) ** 2])
    coef = num.vector([value * num.coef_unit for value in step.coef])
    c = num.product(num.X.T, num.y - num.product(num.X[:, S], coef))
    lengths = num.square_lengths()
    left: Any = lengths
    nonzero = np.flatnonzero(num.X.any(axis=0))
    for t, (a, square) in enumerate(zip(step.basis, step.squares, strict=True)):
        u = num.product(num.X[:, S[: t + 1]], num.vector([*(-v for v in a), 1]))
        b = num.product(num.X.T, u)
        size = square * num.x_unit**2
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


Steps: TypeAlias = tuple[StepCertificate, ...] | tuple[NonnegativeStep, ...] | tuple[OlsStep, ...]


def refutations(
    step: StepCertificate | NonnegativeStep | OlsStep, num: Arithmetic, n_forced: int
) -> Iterator[str]:
    """Check the statements of a step; yield a sentence for each one that fails.

    The first `n_forced` of the features selected before the step are the forced ones.
    """
    if isinstance(step, OlsStep):
        return _ols_refutations(step, num)
    if isinstance(step, NonnegativeStep):
        return _nonnegative_refutations(step, num, n_forced)
    return _lasso_refutations(step, num)
