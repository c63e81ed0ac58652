"""A segment of the LASSO path, between two knots, on which β and c are linear in λ; with error bounds.

With

    r₀ + X_{S∪P}β₀ = y,  X_{S∪P}ᵀr₀ = 0    and    u = X_{S∪P}·slope,  X_{S∪P}ᵀu = s  (s = 0 on S),

    β(λ) = β₀ − λ·slope,   y − Xβ(λ) = r₀ + λu,   c(λ) = a + λb,   a = Xᵀr₀,   b = Xᵀu,

so that every knot is computed from X and y, and errors do not accumulate. `refine` solves both systems, so
that a_i = ⟨X_i, r₀⟩ and b_i = ⟨X_i, u⟩ are known to

    8·eps·(√n + 1)·‖X_i‖‖r₀‖  and  8·eps·(√n + 1)·‖X_i‖‖u‖,

whatever the condition number of X_{S∪P}: relative to the residual r₀, not to the terms of Xβ. Where that
does not decide whether c_i = a_i + λb_i is ±λ, both are computed in twice the precision.

Rounding of the data causes no event: a column in the span of S ∪ P to rounding has a_i = 0, and
so have all when y is fitted to rounding, ‖r₀‖ ≤ 8·eps·√(‖y‖² + Σ‖X_j‖²(β₀)_j²). Then a (β₀)_j that rounding
of the data may change to zero is zero, as at the end of a path that fits y by fewer columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparselin._kernels import refinement
from sparselin.linalg.refinement import Balance, length_of, refine
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import CHUNK, ending, in_span, off_span
from sparselin.problem import Problem
from sparselin.problem.errors import EPS, ErrorModel
from sparselin.results import FloatArray, IndexArray, Status

# The share of λ that errors of c may have at a knot. Larger, rounding decides the order in which columns
# enter; smaller, paths of nearly dependent columns end early.
_UNDECIDED = 1e-3


class Leeway(NamedTuple):
    """How the path uses the bounds on the errors of c.

    They are reduced to cap·λ where larger, and the path ends where one exceeds limit·λ.
    """

    cap: float
    limit: float


def leeway(errors: ErrorModel) -> Leeway:
    """For a Gram problem the bounds by κ² would end the path long before its errors matter: they are cut."""
    if errors.power == 2:
        return Leeway(cap=_UNDECIDED, limit=math.inf)
    return Leeway(cap=math.inf, limit=_UNDECIDED)


def sign_error(errors: ErrorModel, kappa: float) -> float:
    """τ such that a refined β_j may have the wrong sign if ‖X_j‖|β_j| ≤ τ·(‖y‖ + Σ‖X_l‖|β_l|): 8u = 64·eps.

    For a Gram problem, which refinement does not help, 64·eps·κ², at most 1/1000.
    """
    unit = 8 * errors.unit
    return min(1e-3, unit * kappa**2) if errors.power == 2 else unit


class Lines(NamedTuple):
    """c(λ) = a + λb on a segment, a = Xᵀr₀ and b = Xᵀu (d,), with bounds on their errors.

    `b_data_error` bounds the change of b, for columns in the span of S ∪ P, by rounding of the data.
    """

    a: FloatArray
    b: FloatArray
    a_error: FloatArray
    b_error: FloatArray
    b_data_error: FloatArray

    def at(self, lam: float) -> FloatArray:
        """c(λ)."""
        return self.a + lam * self.b

    def error(self, lam: float) -> FloatArray:
        """Bounds on its errors."""
        return self.a_error + lam * self.b_error


class Segment:
    """The solutions on S ∪ P for signs s: β₀, r₀ and slope, u, by a QR of X_{S∪P}, in float64.

    Attributes
    ----------
    qr, free, unpenalized : the factorisation, its columns of S, which come first, and S.
    sign : (d,) s_j on P, else zero.
    base, direction : β₀ and r₀; slope and u.
    lam : λ of the last knot.
    sound : whether the error bounds decided everything so far.
    size : what is compared with λ: |c|, or c for `positive`, β ≥ 0 off S.
    """

    def __init__(self, problem: Problem, S: IndexArray, positive: bool, qr: ThinQR | None) -> None:
        self.size: Callable[[FloatArray], FloatArray] = np.positive if positive else np.abs
        self.problem = problem.in_double()
        self.leeway = leeway(self.problem.errors)
        if qr is None:
            self.qr = ThinQR(self.problem, S, unit=problem.length_unit, keep_columns=True)
        else:
            self.qr = qr.copy(self.problem, problem.length_unit)
        self.unpenalized, self.free = S, list(self.qr.index)
        self.sign = np.zeros(problem.d)
        self.lam, self.sound = math.inf, True
        self._set_base()
        self._set_direction()

    @property
    def residual(self) -> FloatArray:
        """y − Xβ(λ)."""
        return np.asarray(self.base.r + self.lam * self.direction.r)

    def error(self, lam: float) -> FloatArray:
        """Bounds (d,) on the errors of c(λ) as `_correlate` gives it."""
        norms = self.problem.column_norms
        return np.asarray(self._errors(self.base, norms) + lam * self._errors(self.direction, norms))

    def _errors(self, balance: Balance, norms: FloatArray, rounding_scale: float = 1.0) -> FloatArray:
        """Bounds on the errors of ⟨X_i, r⟩, r from a balance.

        `rounding_scale` multiplies the rounding error of the sum.

        A `leeway` never reduces them below 8·eps·(√n + 1)·‖X_i‖·size, the rounding error of Xᵀ(f − Xx).
        """
        size = float(self.qr.norms @ np.abs(balance.x))
        size += self.problem.y_norm if balance is self.base else 0
        r_norm = rounding_scale * length_of(balance.r)
        unit = self.problem.errors.refined_error(r_norm, size, self.qr.kappa) + balance.r_error
        least = self.problem.rounding() * size
        return np.asarray(np.minimum(unit * norms, np.maximum(self._cut(balance), least * norms)))

    def _cut(self, balance: Balance) -> float:
        """cap·min(λ, max|a|) for a, min(λ, max|a|) being the scale of the next event; cap for b."""
        if math.isinf(self.leeway.cap) or balance is not self.base:
            return self.leeway.cap
        a = np.abs(self._correlate(balance.r))
        a[self.qr.index] = 0
        return self.leeway.cap * min(self.lam, float(a.max()))

    def _accurate(self, balance: Balance, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """⟨X_i, r⟩ of the columns J in twice the precision, r from a balance, and bounds on the errors."""
        norms, c = self.problem.column_norms[J], np.empty(len(J))
        for start in range(0, len(J), CHUNK):
            X = np.ascontiguousarray(self.problem.columns(J[start : start + CHUNK]).T)
            c[start : start + CHUNK] = refinement.correlations(X, balance.r, balance.r_low)
        return c, self._errors(balance, norms, EPS) + 2 * EPS * np.abs(c)

    @property
    def _residual_error(self) -> float:
        """The ‖r₀‖ to which rounding of the data moves zero; infinite for n columns, which fit every y."""
        return math.inf if self.qr.size == self.problem.n else self.qr.unit * self._sizes(self.base)[1]

    def fitted(self) -> bool:
        """Whether y is in the span of S ∪ P to rounding."""
        return length_of(self.base.r) <= self._residual_error

    def ending(self) -> Status:
        """Say why λ*(S) is zero."""
        rest = np.setdiff1d(np.arange(self.problem.d), self.qr.index)
        return ending(length_of(self.base.r), self._residual_error, lambda: ~in_span(self.qr, rest)[0])

    def optimal(self, lam: float) -> bool:
        """Whether β(λ) on this face satisfies the KKT conditions to rounding."""
        c = self._correlate(self.base.r + lam * self.direction.r)
        c[self.qr.index] = 0
        return bool(np.all(self.size(c) <= lam + self.error(lam))) and self._signs_hold(lam)

    def _signs_hold(self, lam: float | None = None) -> bool:
        """Whether s_jβ_j ≥ 0 on P to rounding (`sign_error`)."""
        P, beta, _ = self._penalized(self.lam if lam is None else lam)
        size = self.problem.column_norms[P] * beta
        tau = sign_error(self.problem.errors, self.qr.kappa)
        least = -tau * (self.problem.y_norm + float(np.abs(size).sum()))
        return bool(np.all(self.sign[P] * size >= least))

    def _beta(self, lam: float) -> FloatArray:
        """β(λ) on S ∪ P, computed in twice the precision and rounded."""
        base, direction = self.base, self.direction
        return np.asarray(refinement.along(base.x, base.x_low, lam, direction.x, direction.x_low))

    def _penalized(self, lam: float) -> tuple[IndexArray, FloatArray, FloatArray]:
        """P in the order of the factorisation, β(λ) on it and bounds on its errors."""
        base, direction, inside = self.base, self.direction, slice(len(self.free), None)
        error = 4 * EPS * (np.abs(base.x) + lam * np.abs(direction.x)) + base.x_error
        error += lam * direction.x_error
        return np.array(self.qr.index[inside], np.intp), self._beta(lam)[inside], error[inside]

    def _span_error(self) -> FloatArray:
        """Bounds (d,) on the change of a by rounding of the data, for columns in the span of S ∪ P.

        It is at most span_unit·s(X_i)‖r₀‖, and s(X_i) ≤ √(1 + κ²)‖X_i‖.
        """
        size = self.qr.unit * math.hypot(1.0, self.qr.kappa) * length_of(self.base.r)
        return np.asarray(size * self.problem.column_norms)

    def _beta0_error(self) -> FloatArray:
        """Bounds on the change of β₀ on P by rounding of the data where y is fitted; else zero.

        Changing y by δ and X_j by δ_j changes β₀ by X_J⁺(δ − Σ_j δ_j(β₀)_j), J = S ∪ P; the rows of
        X_J⁺ = R⁻¹Qᵀ are as long as those of R⁻¹. If (β₀)_j is zero for the exact data, this bounds it.
        """
        if not self.fitted():
            return np.zeros(self.qr.size - len(self.free))
        inverse = np.linalg.inv(self.qr.R)[len(self.free) :]
        size = self._sizes(self.base)[1]
        return np.asarray(self.qr.unit * size * np.sqrt(np.einsum("ij,ij->i", inverse, inverse)))

    def _correlate(self, r: FloatArray) -> FloatArray:
        c = self.problem.correlate(r)
        c[self.unpenalized] = 0
        return c

    def _products_error(self, balance: Balance, J: IndexArray) -> FloatArray:
        """Bounds on the change of ⟨X_i, r⟩, i ∈ J, by products of the data that are rounded to eps.

        u·(s(X_i)‖r‖ + ‖z_i‖s(f)), z_i = P^⊥X_i, the first terms of `measured_error`, r from a balance.
        """
        error, (r, f) = np.empty(len(J)), self._sizes(balance)
        for start in range(0, len(J), CHUNK):
            sizes, lengths = off_span(self.qr, J[start : start + CHUNK])
            error[start : start + CHUNK] = self.problem.unit * (sizes * r + lengths * f)
        return error

    def _sizes(self, balance: Balance) -> tuple[float, float]:
        """‖r‖ and s(f) of a balance, f being y or zero."""
        f = self.problem.y_norm if balance is self.base else 0.0
        return length_of(balance.r), math.hypot(f, length_of(self.qr.norms * balance.x))

    def _small(self, error: FloatArray, scale: float) -> bool:
        return bool(np.all(error <= self.leeway.limit * scale))

    def _set_base(self) -> None:
        """r₀ and β₀ for the current factorisation."""
        self.base = refine(self.qr, self.problem.y, None)
        self.sound &= self.base.sound

    def _set_direction(self) -> None:
        """u and `slope` for the current factorisation and signs."""
        direction = refine(self.qr, None, self.sign[self.qr.index])
        self.direction = direction._replace(x=-direction.x, x_low=-direction.x_low)
        self.sound &= direction.sound

    def slope(self) -> dict[int, float]:
        """slope_j for the columns of the factorisation."""
        return dict(zip(self.qr.index, self.direction.x.tolist(), strict=True))

    def _refine(self, lines: Lines, J: IndexArray, inside: IndexArray) -> None:
        """a and b of the columns J in twice the precision; a = 0 for those of `inside` in the span of S ∪ P.

        By rounding of the data these are only within span_unit·s of the span: b may change by ‖u‖ times that.
        """
        dependent, sizes = in_span(self.qr, inside)
        inside = inside[dependent]
        lines.a[inside] = lines.a_error[inside] = 0
        nonzero = J[lines.a_error[J] > 0]
        lines.a[nonzero], lines.a_error[nonzero] = self._accurate(self.base, nonzero)
        lines.b[J], lines.b_error[J] = self._accurate(self.direction, J)
        lines.b_data_error[inside] = self.qr.unit * sizes[dependent] * length_of(self.direction.r)

    def _lines(self) -> Lines:
        lines = self._correlate(np.stack([self.base.r, self.direction.r], axis=1))
        a: FloatArray = lines[:, 0]
        b: FloatArray = lines[:, 1]
        a_error = self._errors(self.base, self.problem.column_norms)
        b_error = self._errors(self.direction, self.problem.column_norms)
        if self.fitted() and math.isinf(self.leeway.cap):  # for a Gram problem a_error is above such a
            a, a_error = 0 * a, 0 * a_error
        return Lines(a, b, a_error, b_error, np.zeros(len(a)))
