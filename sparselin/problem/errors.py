"""Bounds on rounding errors: of products, projections, refined solves and Gram matrices.

All bounds are multiples of u = 8·eps, where eps = 2·(unit roundoff). An operation has a relative error of at
most eps/2. A sum of n products has an error of at most n·eps/2·Σ|terms| (Higham, *Accuracy and Stability of
Numerical Algorithms*, 2nd ed., section 3.1). If the errors of the operations are independent with mean zero,
the error of the sum is at most a multiple of √n·eps/2, with a probability that depends on the multiple
(Higham and Mary, *A new approach to probabilistic rounding error analysis*, 2019). For the multiple sixteen
this is the bound 8·√n·eps that is used here. `tests/engine/test_ties.py` compares the bounds with errors
found by exact arithmetic, and `make attack` makes the same comparison on hard designs.

Errors are relative to the lengths of vectors, unless a function says otherwise. S are the selected columns,
P_S^⊥ projects off X_S, and κ is a bound on the condition number of X_S with its columns scaled to length 1.
The size of x relative to S is s(x) = √(‖x‖² + Σ_j ‖X_j‖²b_j²), where b are the least squares coefficients of
x on X_S (`ThinQR.sizes`); the error of P_S^⊥x is at most u·s(x).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np

from sparselin.results import FloatArray

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)  # the least normal number, a divisor in place of zero
SAFETY = 8.0  # a smaller factor would claim more than rounding allows; a larger one would tie more columns
UNIT = SAFETY * EPS
# The Cholesky factor R of G (d, d) with unit diagonal is accepted if |RᵀR − G| ≤ RANK·d·eps. For a positive
# definite G the error is (d + 1)·eps/2 (Higham, Theorem 10.3). Dropped pivots add an error of up to 8d·eps,
# because a pivot counts as zero up to 8d·eps. A smaller RANK would refuse Gram matrices of nearly dependent
# columns.
RANK = 64


@functools.cache
def eps_of(dtype: Any) -> float:
    """Return the machine epsilon of a dtype, the distance from 1 to the next number.

    For a complex dtype it is the machine epsilon of the real part.
    """
    return float(np.finfo(dtype).eps)


@functools.cache
def largest_of(dtype: Any) -> float:
    """Return the largest finite number of a dtype."""
    return float(np.finfo(dtype).max)


@functools.cache
def least_norm(dtype: Any) -> float:
    """Return √tiny/eps, the least norm of a vector x whose square keeps its digits.

    For a smaller ‖x‖, (eps·‖x‖)² is less than `tiny`, the least normal number of the dtype. Numbers below
    `tiny` have fewer digits.
    """
    info = np.finfo(dtype)
    return float(np.sqrt(info.tiny) / info.eps)


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the real part of a dtype."""
    return np.dtype(np.finfo(dtype).dtype)


def coarseness(computed: FloatArray, eps: float) -> float:
    """Return max(1, ε/eps), where ε is the machine epsilon of the dtype of `computed`.

    eps : the relative error of the data.
    """
    return max(1.0, eps_of(computed.dtype) / eps)


def product_error(n: int, eps: float = EPS, kappa: float = 1.0) -> float:
    """Return 8·eps·(√n + κ), a bound on the error of ⟨x, P_S^⊥r⟩ relative to ‖x‖‖r‖.

    x and r have n entries, and P_S^⊥ projects off the columns X_S. The term √n is for the sum of n products
    (see the docstring of this module). The term κ, a bound on the condition number of X_S, is for the
    projection. The computed span of X_S is the exact span of a matrix whose columns differ from X_S by eps.
    So the angle between the two spans is at most κ·eps (Higham, Theorem 19.13; Björck, *Numerical Methods for
    Least Squares Problems*, 1996). If S is empty, κ = 1, for the rounding of x and r themselves.
    """
    return SAFETY * eps * (math.sqrt(n) + kappa)


def rank_level(shape: tuple[int, ...], dtype: Any = np.float64) -> float:
    """Return max(n, d)·eps, the level below which relative singular values of a matrix (n, d) count as zero.

    Let σ_1 ≥ σ_2 ≥ … be the singular values. σ_i counts as zero if σ_i/σ_1 is at most this level, which is
    the usual bound on the errors that LAPACK makes in singular values, relative to σ_1.
    """
    return max(shape) * eps_of(dtype)


def stopping_level(limit: Any, y_norm: Any, unit: float, length_unit: float) -> Any:
    """Return the value of the computed ‖r‖ at which a method with the goal ‖r‖ ≤ limit stops.

    The result is −1 if the method never stops for this reason. Rounding changes the norm of the residual r by
    unit·‖y‖, so a ‖r‖ that equals the limit may be computed as larger by this amount. ‖r‖ is known only to
    length_unit·‖y‖. If the limit is below this precision, for example 0, the path ends with EXACT_FIT when r
    is zero to rounding, even if the computed r is not zero. `unit` and `length_unit` are those of a
    `Problem`; limits and norms are numbers or arrays.
    """
    return np.where(limit < length_unit * y_norm, -1.0, limit + unit * y_norm)


@dataclasses.dataclass(frozen=True)
class ErrorModel:
    """The error bounds for a problem whose columns and y have relative errors of eps.

    n, d : the shape of X.
    eps : the eps of the dtype of X; it is larger if the data were projected or compressed.
    double_eps : the eps after a conversion of the data to float64. This is the eps of float64, because
        float32 data convert exactly. For a Gram matrix, and for an operator, whose products do not become
        more accurate, it is `eps`.
    of_squares : whether eps bounds the errors of squared lengths, not of lengths. Then iterative refinement
        does not make errors smaller.
    """

    n: int
    d: int
    eps: float
    double_eps: float
    of_squares: ClassVar[bool] = False

    @property
    def unit(self) -> float:
        """The unit u = 8·eps of error bounds.

        The error of x projected off some columns is at most u·s(x), where s(x) is the size of x
        (`ThinQR.sizes`).
        """
        return SAFETY * self.eps

    @property
    def length_unit(self) -> float:
        """The unit of error bounds on lengths.

        Column X_i counts as in the span of the columns S if ‖P_S^⊥X_i‖ ≤ length_unit·s(X_i), where s(X_i) is
        the size of X_i (`ThinQR.sizes`).
        """
        return self.unit

    @property
    def gram_eps(self) -> float:
        """The error of the entries of XᵀX when computed in float64, relative to the largest entry."""
        return self.double_eps

    def growth(self, kappa: float) -> float:
        """Return κ, the factor by which dependence among columns multiplies errors.

        κ = kappa bounds the condition number of the columns, scaled to length 1.
        """
        return kappa

    def sign_error(self, kappa: float) -> float:
        """Return the tolerance τ for the signs of the coefficients β_j of a refined solution, 64·eps.

        If ‖X_j‖|β_j| ≤ τ·(‖y‖ + Σ‖X_l‖|β_l|), rounding may have given β_j the wrong sign.

        kappa : a bound on the condition number of the columns, which matters only for a Gram problem.
        """
        return SAFETY * self.unit

    def rounding(self, kappa: float = 1.0) -> float:
        """Return a cheap bound on the error of ⟨X_i, P_S^⊥y⟩ relative to ‖X_i‖‖y‖.

        The bound is `product_error` for growth(κ), where κ = kappa bounds the condition number of the
        selected columns X_S. If this bound does not decide between columns, `linalg.ties` uses the smaller
        `measured_error`.
        """
        return product_error(self.n, self.eps, self.growth(kappa))

    def length_error(self, kappa: float = 1.0) -> float:
        """Return a bound on the error of ‖P_S^⊥X_i‖/‖X_i‖, which holds for every column X_i.

        kappa : a bound on the condition number of the selected columns X_S.
        """
        return self.rounding(kappa)

    def length_errors(self, size: FloatArray, length: FloatArray) -> FloatArray:
        """Return bounds (m,) on the errors of the lengths ‖z_i‖ of projected columns z_i = P_S^⊥X_i.

        size : (m,) the sizes s(X_i) of `ThinQR.sizes`.
        length : (m,) ‖z_i‖.

        The bound is min(length_unit·s(X_i), u·s(X_i)²/‖z_i‖), where u = 8·eps. The second term is smaller
        only for a Gram problem. There the error of ‖z_i‖² is u·s(X_i)². The error of ‖z_i‖ is this number
        divided by the sum of the true and the computed length.
        """
        sharp = np.full_like(size, np.inf)
        np.divide(self.unit * size**2, length, out=sharp, where=length > 0)
        return np.asarray(np.minimum(self.length_unit * size, sharp))

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Return bounds (m,) on the errors of ⟨x, r⟩, where r = P_S^⊥y, and x is X_i or z_i = P_S^⊥X_i.

        With u = 8·eps and the sizes s of `ThinQR.sizes`, the bound is

            u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n‖x‖‖r‖).

        size, length : (m,) s(X_i) and ‖z_i‖.
        y_size, r_norm : s(y) and ‖r‖.
        x_norm : (m,) ‖x‖.

        The first two terms come from the errors u·s(X_i) of z_i and u·s(y) of r. The last term is the
        rounding error of the sum of n products.
        """
        return np.asarray(self.unit * (size * r_norm + length * y_size + math.sqrt(self.n) * x_norm * r_norm))

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """Return a bound on the error of ⟨X_i, r⟩/‖X_i‖, where r = f − X_Jx comes from iterative refinement.

        The bound is 8·eps·(√n + 1)·(‖r‖ + eps·size), where size is ‖f‖ + Σ‖X_j‖|x_j|. So it is relative to
        ‖r‖, not to ‖f‖. Iterative refinement with residuals in twice the precision leaves an error of eps·‖r‖
        + eps²·size in r, for any condition number of X_J (Björck, 1967).
        """
        return self.rounding() * (r_norm + self.eps * size)

    def grow(self, growth: float) -> ErrorModel:
        """Return the model of the same data with eps and `double_eps` multiplied by `growth`."""
        return dataclasses.replace(self, eps=growth * self.eps, double_eps=growth * self.double_eps)

    def in_double(self) -> ErrorModel:
        """Return the model of the data after their conversion to float64: its eps is `double_eps`."""
        return dataclasses.replace(self, eps=self.double_eps)


class GramErrors(ErrorModel):
    """The error bounds for a Gram problem, which has a factor of XᵀX in place of X.

    Squared lengths have relative errors of eps. Let s be the size of a column (`ThinQR.sizes`) and u = 8·eps.
    The squared length of the projected column has the error u·s², and so its length can have the error √u·s.
    The angle of a span has an error of κ²·eps, where κ bounds the condition number of the columns. Iterative
    refinement does not make these errors smaller, because it would compute residuals with the factor, not
    with X.
    """

    of_squares = True

    @property
    def length_unit(self) -> float:
        """The unit of error bounds on lengths, 8·√eps, because only squared lengths are known to eps."""
        return SAFETY * math.sqrt(self.eps)

    @property
    def gram_eps(self) -> float:
        """The relative error of the factor of XᵀX, 64·d·eps."""
        return RANK * self.d * self.eps

    def growth(self, kappa: float) -> float:
        """Return κ², the factor by which dependence among columns multiplies errors."""
        return kappa**2

    def sign_error(self, kappa: float) -> float:
        """Return the tolerance of `ErrorModel.sign_error` without refinement: 64·eps·κ², at most 1/1000."""
        return min(1e-3, SAFETY * self.unit * kappa**2)

    def length_error(self, kappa: float = 1.0) -> float:
        """Return 8·√eps·κ, a bound on the error of ‖P_S^⊥X_i‖/‖X_i‖ for every column X_i.

        κ = kappa bounds the condition number of the selected columns X_S. The sizes of `ThinQR.sizes` satisfy
        s(X_i) ≤ κ‖X_i‖.
        """
        return self.length_unit * kappa

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Return the bounds u·s(X_i)·s(y), (m,), on the errors of ⟨x, r⟩, for a Gram problem.

        Here u = 8·eps, r = P_S^⊥y, and x is X_i or P_S^⊥X_i. `size` is the size s(X_i) of `ThinQR.sizes`, and
        `y_size` is s(y). The arguments `length`, `r_norm` and `x_norm` are not used.
        """
        return np.asarray(self.unit * size * y_size)

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """Return the bound of `ErrorModel.refined_error` for a Gram problem.

        It is 8·eps·(√n + 1)·κ²·size, where κ = kappa bounds the condition number of the columns.
        """
        return self.rounding() * kappa**2 * size
