"""Bounds on rounding errors: of products, projections, refined solves and Gram matrices.

u = 8·eps is the unit of all of them. With eps = 2·(unit roundoff), an operation errs by eps/2 of its result,
and a sum of n products by at most n·eps/2·Σ|terms| (Higham, *Accuracy and Stability of Numerical Algorithms*,
2nd ed., section 3.1). If errors are independent with mean zero, the sum errs by a multiple of √n·eps/2; the
multiple determines the probability of this bound (Higham and Mary, *A new approach to probabilistic rounding
error analysis*, 2019). So 8·√n·eps allows sixteen times √n·eps/2. `tests/test_ties.py` compares the bounds
with the errors that exact arithmetic shows, and `make attack` does so on hard designs.

Errors are relative to the lengths of vectors, and so have no unit, unless a function says otherwise. κ is a
bound on the condition number of X_S with unit columns, and s(x) is the size of x relative to S
(`ThinQR.sizes`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from sparselin.results import FloatArray

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)  # the least normal number, a divisor in place of zero
SAFETY = 8.0  # a smaller factor would claim more than rounding allows; a larger one would tie more columns
UNIT = SAFETY * EPS
# The Cholesky factor R of G (d, d) with unit diagonal is accepted if |RᵀR − G| ≤ RANK·d·eps. For a positive
# definite G the error is (d + 1)·eps/2 (Higham, Theorem 10.3). Dropped pivots add up to 8d·eps, because they
# count as zero up to that. A smaller RANK would refuse Gram matrices of nearly dependent columns.
RANK = 64


def eps_of(dtype: Any) -> float:
    """Return the distance from 1 to the next number of a dtype; for a complex dtype, of its real part."""
    return float(np.finfo(dtype).eps)


def largest_of(dtype: Any) -> float:
    """Return the largest finite number of a dtype."""
    return float(np.finfo(dtype).max)


def least_norm(dtype: Any) -> float:
    """Return √tiny/eps. Squares of smaller norms lose digits, because (eps·‖x‖)² is below tiny."""
    info = np.finfo(dtype)
    return float(np.sqrt(info.tiny) / info.eps)


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the real part of a dtype."""
    return np.dtype(np.finfo(dtype).dtype)


def coarseness(computed: FloatArray, eps: float) -> float:
    """Return the eps of the computed numbers over the eps of the data, at least 1."""
    return max(1.0, eps_of(computed.dtype) / eps)


def product_error(n: int, eps: float = EPS, kappa: float = 1.0) -> float:
    """Return 8·eps·(√n + κ), a bound on the error of ⟨x, P_S^⊥r⟩ relative to ‖x‖‖r‖, for n entries.

    A sum of n products errs by about √n·eps (see above). The computed span of S is that of a matrix whose
    columns are off by eps (Higham, Theorem 19.13; Björck, *Numerical Methods for Least Squares Problems*,
    1996), at an angle of κ·eps. Without S, κ = 1 stands for the rounding of x and r themselves.
    """
    return SAFETY * eps * (math.sqrt(n) + kappa)


def rank_level(shape: tuple[int, ...], dtype: Any = np.float64) -> float:
    """Return max(n, d)·eps, the bound on LAPACK's errors: σ_i counts as zero if σ_i/σ_1 is at most this."""
    return max(shape) * eps_of(dtype)


@dataclasses.dataclass(frozen=True)
class ErrorModel:
    """The error bounds for a problem whose columns and y are known to eps of their lengths.

    n, d : the shape of X.
    eps : the eps of the dtype of X; it is larger if the data were projected or compressed.
    double_eps : the eps of the data in float64, which are exact if they were given in float32. For an
        operator, whose products keep their precision, and for a Gram matrix it is `eps`.
    power : the exponent p of the κ^p that multiplies errors.
    """

    n: int
    d: int
    eps: float
    double_eps: float
    power: ClassVar[int] = 1

    @property
    def unit(self) -> float:
        """The unit u = 8·eps: P_S^⊥x errs by u·s(x)."""
        return SAFETY * self.eps

    @property
    def length_unit(self) -> float:
        """The unit of lengths: X_i counts as in the span of S if ‖P_S^⊥X_i‖ ≤ length_unit·s(X_i)."""
        return self.unit

    @property
    def gram_eps(self) -> float:
        """The error of the entries of XᵀX as computed in float64, relative to its largest entry."""
        return self.double_eps

    def rounding(self, kappa: float = 1.0) -> float:
        """Return `product_error` for κ^p. Where it does not decide, `linalg.ties` uses `measured_error`."""
        return product_error(self.n, self.eps, kappa**self.power)

    def length_error(self, kappa: float = 1.0) -> float:
        """Return a bound on the error of ‖P_S^⊥X_i‖/‖X_i‖ for all i."""
        return self.rounding(kappa)

    def length_errors(self, size: FloatArray, length: FloatArray) -> FloatArray:
        """Return bounds (m,) on the errors of the lengths ‖z_i‖, z_i = P_S^⊥X_i.

        They are min(length_unit·s(X_i), u·s(X_i)²/‖z_i‖). The second bound is smaller only for a Gram
        problem. There ‖z‖² errs by u·s², and so ‖z‖ errs by u·s² over the sum of the true and the computed
        length.
        """
        sharp = np.full_like(size, np.inf)
        np.divide(self.unit * size**2, length, out=sharp, where=length > 0)
        return np.asarray(np.minimum(self.length_unit * size, sharp))

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Return bounds on the errors of ⟨x, r⟩, where r = P_S^⊥y, and x is X_i or z_i = P_S^⊥X_i.

            u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n‖x‖‖r‖)

        z_i and r err by u·s(X_i) and u·s(y) (`ThinQR.sizes`); the last term is the rounding error of the sum.
        """
        return np.asarray(self.unit * (size * r_norm + length * y_size + math.sqrt(self.n) * x_norm * r_norm))

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """Return a bound on the error of ⟨X_i, r⟩/‖X_i‖ for a refined r = f − X_Jx, in the units of f.

        It is 8·eps·(√n + 1)·(‖r‖ + eps·size), where size is ‖f‖ + Σ‖X_j‖|x_j|. Refinement with residuals in
        twice the precision leaves in r an error of eps·‖r‖ + eps²·size, for any κ (Björck, 1967).
        """
        return self.rounding() * (r_norm + self.eps * size)

    def grow(self, growth: float) -> ErrorModel:
        """Return the model of data whose eps is larger by the factor growth."""
        return dataclasses.replace(self, eps=growth * self.eps, double_eps=growth * self.double_eps)

    def of_shape(self, n: int, d: int) -> ErrorModel:
        """Return the model of n rows and d columns of the same data."""
        return dataclasses.replace(self, n=n, d=d)

    def in_double(self) -> ErrorModel:
        """Return the model of the data in float64."""
        return dataclasses.replace(self, eps=self.double_eps)


class GramErrors(ErrorModel):
    """The error bounds for a problem that knows only a factor of XᵀX, and so knows squared lengths to eps.

    If ‖z‖² is known to u·s², ‖z‖ is known to √u·s only, and the angle of a span to κ²·eps. Refinement does
    not help, because it has no X other than the factor.
    """

    power = 2

    @property
    def length_unit(self) -> float:
        """The unit of lengths, 8·√eps, in place of u."""
        return SAFETY * math.sqrt(self.eps)

    @property
    def gram_eps(self) -> float:
        """The relative error of the factor, 64·d·eps."""
        return RANK * self.d * self.eps

    def length_error(self, kappa: float = 1.0) -> float:
        """Return the bound 8·√eps·κ, which follows from s(X_i) ≤ κ‖X_i‖."""
        return self.length_unit * kappa

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Return the bounds u·s(X_i)s(y)."""
        return np.asarray(self.unit * size * y_size)

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """Return the bound 8·eps·(√n + 1)·κ²·size."""
        return self.rounding() * kappa**2 * size
