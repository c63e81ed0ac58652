"""Bounds on rounding errors, each stated once: of products, projections, refined solves and Gram matrices.

u = 8·eps is the unit of all of them. With eps = 2·(unit roundoff), an operation errs by eps/2 of its result,
and a sum of n products by at most n·eps/2·Σ|terms| (Higham, *Accuracy and Stability of Numerical Algorithms*,
2nd ed., section 3.1). For errors that are independent and of mean zero it is a multiple of √n·eps/2, with a
probability that the multiple decides (Higham and Mary, *A new approach to probabilistic rounding error
analysis*, 2019). So 8·√n·eps allows sixteen times √n·eps/2. `tests/test_ties.py` compares the bounds with
errors in exact arithmetic, and `make attack` does on hard designs.

Errors are relative to lengths of vectors, and so have no unit, except where a function says otherwise. κ is a
bound on the condition number of X_S with unit columns, s(x) the size of x relative to S (`ThinQR.sizes`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np

from sparselin.results import FloatArray

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)  # the least normal number: a divisor in place of zero
SAFETY = 8.0  # a smaller factor claims more than rounding allows, a larger one ties more
UNIT = SAFETY * EPS
# The Cholesky factor R of a G (d, d) of unit diagonal is accepted if |RᵀR − G| ≤ RANK·d·eps. That of
# a positive definite G is off by (d + 1)·eps/2 (Higham, Theorem 10.3), and dropped pivots by the 8d·eps up to
# which they count as zero; a smaller number refuses Gram matrices of nearly dependent columns.
RANK = 64


def eps_of(dtype: Any) -> float:
    """Return the distance from 1 to the next number of a real dtype, or of the parts of a complex one."""
    return float(np.finfo(dtype).eps)


def largest_of(dtype: Any) -> float:
    """Return the largest finite number of a dtype."""
    return float(np.finfo(dtype).max)


def least_norm(dtype: Any) -> float:
    """√tiny/eps: squares of smaller norms lose digits, since entries of eps·‖x‖ have a square below tiny."""
    info = np.finfo(dtype)
    return float(np.sqrt(info.tiny) / info.eps)


def real_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of the real part."""
    return np.dtype(np.finfo(dtype).dtype)


def coarseness(computed: FloatArray, eps: float) -> float:
    """By how much numbers of a coarser dtype than the data err more than those: max(1, eps of it/eps)."""
    return max(1.0, eps_of(computed.dtype) / eps)


def product_error(n: int, eps: float = EPS, kappa: float = 1.0) -> float:
    """Return a bound on the error of ⟨x, P_S^⊥r⟩ relative to ‖x‖‖r‖, vectors of n entries: 8·eps·(√n + κ).

    A sum of n products errs by about √n·eps (see above). The computed span of S is that of a matrix whose
    columns are off by eps (Higham, Theorem 19.13; Björck, *Numerical Methods for Least Squares Problems*,
    1996), at an angle of κ·eps. Without S, κ = 1: the rounding of x and r themselves.
    """
    return SAFETY * eps * (math.sqrt(n) + kappa)


def rank_level(shape: tuple[int, ...], dtype: Any = np.float64) -> float:
    """σ_i/σ_1 up to which a singular value counts as zero: max(n, d)·eps, as LAPACK's errors are bounded."""
    return max(shape) * eps_of(dtype)


@dataclasses.dataclass(frozen=True)
class ErrorModel:
    """The bounds for a problem whose columns and y are known to eps of their lengths.

    n, d : the shape of X.
    eps : of the dtype of X; larger for data that were projected or compressed.
    double_eps : the same of the data in float64, which are exact if given in float32; of an operator, whose
        products stay as they are, and of a Gram matrix that is eps.
    power : the exponent p of the κ^p that multiplies errors.
    """

    n: int
    d: int
    eps: float
    double_eps: float
    power: ClassVar[int] = 1

    @property
    def unit(self) -> float:
        """u = 8·eps: P_S^⊥x errs by u·s(x)."""
        return SAFETY * self.eps

    @property
    def length_unit(self) -> float:
        """X_i counts as in the span of S when ‖P_S^⊥X_i‖ ≤ length_unit·s(X_i)."""
        return self.unit

    @property
    def gram_eps(self) -> float:
        """The error of the entries of XᵀX as computed in float64, relative to its largest entry."""
        return self.double_eps

    def rounding(self, kappa: float = 1.0) -> float:
        """`product_error` with κ^p. Where it does not decide, `linalg.ties` uses `measured_error`."""
        return product_error(self.n, self.eps, kappa**self.power)

    def length_error(self, kappa: float = 1.0) -> float:
        """Return a bound on the error of ‖P_S^⊥X_i‖/‖X_i‖ for all i."""
        return self.rounding(kappa)

    def length_errors(self, size: FloatArray, length: FloatArray) -> FloatArray:
        """Bounds (m,) on the errors of ‖z_i‖, z_i = P_S^⊥X_i: the smaller of length_unit·s(X_i) and

        u·s(X_i)²/‖z_i‖, which is smaller for a Gram problem only: ‖z‖² errs by u·s², and so ‖z‖ by u·s² over
        the sum of both lengths.
        """
        sharp = np.full_like(size, np.inf)
        np.divide(self.unit * size**2, length, out=sharp, where=length > 0)
        return np.asarray(np.minimum(self.length_unit * size, sharp))

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Bounds on the errors of ⟨x, r⟩, r = P_S^⊥y and x = X_i or z_i = P_S^⊥X_i:

            u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n‖x‖‖r‖).

        z_i and r err by u·s(X_i) and u·s(y) (`ThinQR.sizes`); the last term is that of the sum.
        """
        return np.asarray(self.unit * (size * r_norm + length * y_size + math.sqrt(self.n) * x_norm * r_norm))

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """A bound on the error of ⟨X_i, r⟩/‖X_i‖ for a refined r = f − X_Jx: 8·eps·(√n + 1)·(‖r‖ + eps·size).

        size is ‖f‖ + Σ‖X_j‖|x_j|. Refinement with residuals in twice the precision leaves r with an error of
        eps·‖r‖, and of eps²·size, whatever κ (Björck, 1967). In the units of f.
        """
        return self.rounding() * (r_norm + self.eps * size)

    def grow(self, growth: float) -> ErrorModel:
        """Return the model of data known to growth·eps."""
        return dataclasses.replace(self, eps=growth * self.eps, double_eps=growth * self.double_eps)

    def of_shape(self, n: int, d: int) -> ErrorModel:
        """Return the model of other columns or rows of the same data."""
        return dataclasses.replace(self, n=n, d=d)

    def in_double(self) -> ErrorModel:
        """Return the model of the data in float64."""
        return dataclasses.replace(self, eps=self.double_eps)


class GramErrors(ErrorModel):
    """The bounds for a problem that knows X only by a factor of XᵀX, and so squared lengths to eps.

    ‖z‖² ≥ 0 known to u·s² gives ‖z‖ to √u·s only, and the angle of a span to κ²·eps. Refinement, which has no
    other X than the factor, does not help.
    """

    power = 2

    @property
    def length_unit(self) -> float:
        """8·√eps in place of u."""
        return SAFETY * math.sqrt(self.eps)

    @property
    def gram_eps(self) -> float:
        """The error of the factor, 64·d·eps."""
        return RANK * self.d * self.eps

    def length_error(self, kappa: float = 1.0) -> float:
        """8·√eps·κ, since s(X_i) ≤ κ‖X_i‖."""
        return self.length_unit * kappa

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """u·s(X_i)s(y)."""
        return np.asarray(self.unit * size * y_size)

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """8·eps·(√n + 1)·κ²·size."""
        return self.rounding() * kappa**2 * size
