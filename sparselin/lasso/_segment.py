"""A segment of the LASSO path between two knots, on which β and c are linear in λ, with error bounds.

Let S be the features without penalty, P the active features outside S, and s the signs of β on P. On a
segment

    β(λ) = β₀ − λ·slope,   y − Xβ(λ) = r₀ + λu,   c(λ) = a + λb,   a = Xᵀr₀,   b = Xᵀu,

where

    r₀ + X_{S∪P}β₀ = y,  X_{S∪P}ᵀr₀ = 0    and    u = X_{S∪P}·slope,  X_{S∪P}ᵀu = s  (s = 0 on S).

So every knot is computed from X and y, and errors do not accumulate. `refine` solves both systems, so the
errors of a_i = ⟨X_i, r₀⟩ and b_i = ⟨X_i, u⟩ are at most

    8·eps·(√n + 1)·‖X_i‖‖r₀‖  and  8·eps·(√n + 1)·‖X_i‖‖u‖,

whatever the condition number of X_{S∪P}. These errors are relative to the residual r₀, not to the terms
X_jβ_j of Xβ, which may be much longer. If they leave undecided whether c_i = a_i + λb_i is ±λ, a_i and b_i
are computed in twice the precision.

Rounding of the data must not cause an event. Therefore a_i is set to 0 for a column in the span of S ∪ P to
rounding. If y is fitted to rounding, that is, if ‖r₀‖ ≤ 8·eps·√(‖y‖² + Σ‖X_j‖²(β₀)_j²), then a is set to 0
for all columns, and a coefficient (β₀)_j that rounding of the data may change to zero counts as zero. Such a
coefficient occurs, for example, at the end of a path if fewer columns already fit y.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparselin._kernels import refinement
from sparselin.linalg.thin_qr import Balance, ThinQR, length_of, refine
from sparselin.linalg.ties import CHUNK, ending, in_span, off_span
from sparselin.problem import Problem
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, IndexArray, Status

# The largest error of c at a knot, as a share of λ. If this were larger, rounding would decide the order in
# which columns enter; if it were smaller, paths of nearly dependent columns would end early. For a Gram
# problem the error bounds grow with the squared condition number κ² of the columns, and would end the path
# long before the errors matter. So they are capped, and do not end the path.
_UNDECIDED = 1e-3


class Lines(NamedTuple):
    """The correlations c(λ) = a + λb on a segment of the LASSO path, with bounds on the errors of a and b.

    The residual on the segment is r₀ + λu, so a = Xᵀr₀ and b = Xᵀu. For columns in the span of the active
    columns, `b_data_error` bounds how much rounding of the data changes b.
    """

    a: FloatArray
    b: FloatArray
    a_error: FloatArray
    b_error: FloatArray
    b_data_error: FloatArray

    def at(self, lam: float) -> FloatArray:
        """Return the correlations c(λ) = a + λb at λ = lam."""
        return self.a + lam * self.b

    def error(self, lam: float) -> FloatArray:
        """Return bounds on the errors of the correlations c(λ) at λ = lam."""
        return self.a_error + lam * self.b_error


class Segment:
    """A segment of the LASSO path, on which β = β₀ − λ·slope and the residual is r₀ + λu.

    S are the features without penalty, and P the active features outside S, with the signs s of β. β₀, slope,
    r₀ and u are computed from a QR factorisation of X_{S∪P} in float64.

    Attributes
    ----------
    qr : the factorisation.
    unpenalized, free : S, and the independent columns of S, which come first in the factorisation.
    sign : (d,) s_j on P, zero elsewhere.
    base : β₀ and r₀, as the x and r of a `Balance`.
    direction : slope and u, as the x and r of a `Balance`.
    lam : λ of the last knot.
    sound : whether the error bounds have decided everything so far.
    cap : an error bound of the correlations that exceeds cap·λ is replaced by cap·λ.
    limit : the path ends if an error bound of the correlations exceeds limit·λ.
    size : the function of the correlations c that is compared with λ. It returns |c|, or c itself if β ≥ 0 is
        required outside S (`positive`).
    """

    def __init__(self, problem: Problem, S: IndexArray, positive: bool, qr: ThinQR | None) -> None:
        self.size: Callable[[FloatArray], FloatArray] = np.positive if positive else np.abs
        self.problem = problem.in_double()
        gram = self.problem.errors.of_squares
        self.cap, self.limit = (_UNDECIDED, math.inf) if gram else (math.inf, _UNDECIDED)
        if qr is None:
            self.qr = ThinQR(self.problem, S, unit=problem.length_unit, keep_columns=True)
        else:
            self.qr = qr.copy(self.problem, problem.length_unit)
        self.unpenalized = S
        self.free = list(self.qr.index)
        self.sign = np.zeros(problem.d)
        self.lam = math.inf
        self.sound = True
        self._set_base()
        self._set_direction()

    @property
    def residual(self) -> FloatArray:
        """The residual y − Xβ(λ) on this segment."""
        return np.asarray(self.base.r + self.lam * self.direction.r)

    def error(self, lam: float) -> FloatArray:
        """Return bounds (d,) on the errors of the correlations at λ = lam that `_correlate` computes."""
        norms = self.problem.column_norms
        return np.asarray(self._errors(self.base, norms) + lam * self._errors(self.direction, norms))

    def _errors(self, balance: Balance, norms: FloatArray, rounding_scale: float = 1.0) -> FloatArray:
        """Return bounds on the errors of ⟨X_i, r⟩ for columns of these norms, with the r of a `Balance`.

        `rounding_scale` multiplies the rounding error of the sum. The bounds are capped (`_cap`), but never
        below the rounding error of Xᵀ(f − Xx), which is 8·eps·(√n + 1)·‖X_i‖·size, where f and x belong to
        the `Balance`.
        """
        size = float(self.qr.norms @ np.abs(balance.x))
        size += self.problem.y_norm if balance is self.base else 0
        r_norm = rounding_scale * length_of(balance.r)
        unit = self.problem.errors.refined_error(r_norm, size, self.qr.kappa) + balance.r_error
        least = self.problem.rounding() * size
        return np.asarray(np.minimum(unit * norms, np.maximum(self._cap(balance), least * norms)))

    def _cap(self, balance: Balance) -> float:
        """Return the cap for the error bounds of a = Xᵀr₀ (if the balance is `base`) or of b = Xᵀu.

        On the segment the residual is r₀ + λu, and the correlations are a + λb. For a, the cap is multiplied
        by min(λ, max|a|), the scale of the next event.
        """
        if math.isinf(self.cap) or balance is not self.base:
            return self.cap
        a = np.abs(self._correlate(balance.r))
        a[self.qr.index] = 0
        return self.cap * min(self.lam, float(a.max()))

    def _accurate_c(self, balance: Balance, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return ⟨X_i, r⟩, i ∈ J, in twice the precision, and error bounds; r belongs to a `Balance`."""
        (c,) = self._accurate_products(J, (balance.r, balance.r_low))
        return c, self._accurate_error(balance, J, c)

    def _accurate_error(self, balance: Balance, J: IndexArray, c: FloatArray) -> FloatArray:
        """Return bounds on the errors of the c_i = ⟨X_i, r⟩, i ∈ J, that `_accurate_c` returns."""
        return self._errors(balance, self.problem.column_norms[J], EPS) + 2 * EPS * np.abs(c)

    def _accurate_products(self, J: IndexArray, *vectors: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return ⟨X_i, v + v_low⟩, i ∈ J, in twice the precision and rounded, a row for each (v, v_low)."""
        products = np.empty((len(vectors), len(J)))
        for start in range(0, len(J), CHUNK):
            X = np.ascontiguousarray(self.problem.columns(J[start : start + CHUNK]).T)
            for row, (v, v_low) in zip(products, vectors, strict=True):
                row[start : start + CHUNK] = refinement.correlations(X, v, v_low)
        return products

    @property
    def _residual_error(self) -> float:
        """The largest ‖r₀‖ that rounding of the data can cause, if the factorised columns fit y exactly.

        r₀ = y − X_Jβ₀ is the residual of least squares on the columns J of the factorisation. The result is
        infinite if there are n such columns, because n columns fit every y.
        """
        return math.inf if self.qr.size == self.problem.n else self.qr.unit * self._sizes(self.base)[1]

    def is_fitted(self) -> bool:
        """Return whether y is in the span of the columns of the factorisation to rounding."""
        return length_of(self.base.r) <= self._residual_error

    def ending(self) -> Status:
        """Return the status that says why no penalised column enters the LASSO, that is, why λ*(S) is zero.

        S are the features without penalty.
        """
        rest = np.setdiff1d(np.arange(self.problem.d), self.qr.index)
        return ending(length_of(self.base.r), self._residual_error, lambda: ~in_span(self.qr, rest)[0])

    def is_optimal(self, lam: float) -> bool:
        """Return whether β(λ) on this segment satisfies the KKT conditions at λ = lam, to rounding."""
        c = self._correlate(self.base.r + lam * self.direction.r)
        c[self.qr.index] = 0
        return bool(np.all(self.size(c) <= lam + self.error(lam))) and self._signs_hold(lam)

    def _signs_hold(self, lam: float | None = None) -> bool:
        """Return whether every active β_j(λ) has its sign s_j or is zero, to rounding.

        The tolerance is `ErrorModel.sign_error`. λ is `lam`, or by default the λ of the last knot.
        """
        P, beta, _ = self._active_coef(self.lam if lam is None else lam)
        size = self.problem.column_norms[P] * beta
        tau = self.problem.errors.sign_error(self.qr.kappa)
        least = -tau * (self.problem.y_norm + float(np.abs(size).sum()))
        return bool(np.all(self.sign[P] * size >= least))

    def _beta(self, lam: float) -> FloatArray:
        """Return the solution at λ = lam on the columns of the factorisation.

        It is computed in twice the precision and rounded.
        """
        base, direction = self.base, self.direction
        return np.asarray(refinement.along(base.x, base.x_low, lam, direction.x, direction.x_low))

    def _active_coef(self, lam: float) -> tuple[IndexArray, FloatArray, FloatArray]:
        """Return the active penalised columns, their β(λ) at λ = lam, and error bounds.

        The order is that of the factorisation.
        """
        base, direction = self.base, self.direction
        inside = slice(len(self.free), None)
        error = 4 * EPS * (np.abs(base.x) + lam * np.abs(direction.x)) + base.x_error
        error += lam * direction.x_error
        return np.array(self.qr.index[inside], np.intp), self._beta(lam)[inside], error[inside]

    def _span_error(self) -> FloatArray:
        """Return bounds (d,) on how much rounding of the data changes a = Xᵀr₀, in the span of X_J.

        J are the columns of the factorisation, and r₀ = y − X_Jβ₀. For a column i in the span the change is
        at most qr.unit·s(X_i)‖r₀‖, where the size s is defined in `ThinQR.sizes`. The size is bounded by
        s(X_i) ≤ √(1 + κ²)‖X_i‖, where κ is the condition number.
        """
        size = self.qr.unit * math.hypot(1.0, self.qr.kappa) * length_of(self.base.r)
        return np.asarray(size * self.problem.column_norms)

    def _beta0_error(self) -> FloatArray:
        """Return bounds on how much rounding of the data changes β₀ on the active columns.

        The result is zero unless y is fitted to rounding. Let X_J = QR be the factorisation. Changes of y by
        δ and of X_j by δ_j change β₀ by X_J⁺(δ − Σ_j δ_j(β₀)_j), and the rows of X_J⁺ = R⁻¹Qᵀ have the
        lengths of the rows of R⁻¹. So if (β₀)_j is zero for the exact data, the bound exceeds the computed
        |(β₀)_j|.
        """
        if not self.is_fitted():
            return np.zeros(self.qr.size - len(self.free))
        inverse = np.linalg.inv(self.qr.R)[len(self.free) :]
        size = self._sizes(self.base)[1]
        return np.asarray(self.qr.unit * size * np.sqrt(np.einsum("ij,ij->i", inverse, inverse)))

    def _correlate(self, r: FloatArray) -> FloatArray:
        """Return the correlations Xᵀr (d,) with a vector r, set to zero on the features without penalty."""
        c = self.problem.correlate(r)
        c[self.unpenalized] = 0
        return c

    def _products_error(self, balance: Balance, J: IndexArray) -> FloatArray:
        """Return bounds on how much the rounding of weighted or scaled data changes ⟨X_i, r⟩, for i ∈ J.

        The vectors r and f belong to a `Balance` r + X_Ax = f with the columns A of the factorisation.
        Weights and scales are multiplied into the data, and the products are rounded to eps. The bound is
        u·(s(X_i)‖r‖ + ‖z_i‖s(f)), where u = 8·eps, z_i = P_A^⊥X_i, and the sizes s are defined in
        `ThinQR.sizes`. These are the first two terms of `measured_error`.
        """
        error = np.empty(len(J))
        r, f = self._sizes(balance)
        for start in range(0, len(J), CHUNK):
            sizes, lengths = off_span(self.qr, J[start : start + CHUNK])
            error[start : start + CHUNK] = self.problem.unit * (sizes * r + lengths * f)
        return error

    def _sizes(self, balance: Balance) -> tuple[float, float]:
        """Return ‖r‖ and the size s(f) = √(‖f‖² + Σ‖X_j‖²x_j²) for a `Balance` r + X_Jx = f.

        f is y for the balance `base`, and zero for `direction`.
        """
        f = self.problem.y_norm if balance is self.base else 0.0
        return length_of(balance.r), math.hypot(f, length_of(self.qr.norms * balance.x))

    def _is_small(self, error: FloatArray, scale: float) -> bool:
        return bool(np.all(error <= self.limit * scale))

    def _set_base(self) -> None:
        """Compute the least squares coefficients β₀ on the columns of the factorisation, and the residual."""
        self.base = refine(self.qr, self.problem.y, None)
        self.sound &= self.base.sound

    def _set_direction(self) -> None:
        """Compute the vector u in the span of X_J with X_Jᵀu = s, and the slope with u = X_J·slope.

        J are the columns of the factorisation, and s their signs.
        """
        direction = refine(self.qr, None, self.sign[self.qr.index])
        self.direction = direction._replace(x=-direction.x, x_low=-direction.x_low)
        self.sound &= direction.sound

    def slope(self) -> dict[int, float]:
        """Return −dβ_j/dλ for each column j of the factorisation, as a dictionary.

        β are the coefficients on the segment.
        """
        return dict(zip(self.qr.index, self.direction.x.tolist(), strict=True))

    def _refine(self, lines: Lines, J: IndexArray, inside: IndexArray) -> None:
        """Compute a_j and b_j in c_j = a_j + λb_j for the columns J in twice the precision; update `lines`.

        `inside` are the columns of J that may be in the span of the factorised columns. For a column in this
        span, a_j is set to 0. But the column is in the span only to rounding of the data, e = qr.unit·s(X_j),
        so b_j may change by e‖u‖. Here s(X_j) is the size of `ThinQR.sizes`, and r₀ + λu the residual on the
        segment.
        """
        dependent, sizes = in_span(self.qr, inside)
        inside = inside[dependent]
        lines.a[inside] = lines.a_error[inside] = 0
        nonzero = J[lines.a_error[J] > 0]
        lines.a[nonzero], lines.a_error[nonzero] = self._accurate_c(self.base, nonzero)
        lines.b[J], lines.b_error[J] = self._accurate_c(self.direction, J)
        lines.b_data_error[inside] = self.qr.unit * sizes[dependent] * length_of(self.direction.r)

    def _lines(self) -> Lines:
        """Compute a and b in the correlations c(λ) = a + λb of all columns, with error bounds."""
        lines = self._correlate(np.stack([self.base.r, self.direction.r], axis=1))
        a: FloatArray = lines[:, 0]
        b: FloatArray = lines[:, 1]
        a_error = self._errors(self.base, self.problem.column_norms)
        b_error = self._errors(self.direction, self.problem.column_norms)
        if self.is_fitted() and math.isinf(self.cap):  # in a Gram problem a_error exceeds such an a
            a, a_error = 0 * a, 0 * a_error
        return Lines(a, b, a_error, b_error, np.zeros(len(a)))
