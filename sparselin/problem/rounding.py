"""Bounds on the rounding errors of what is computed from the data of a problem."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin.problem.gram import RANK
from sparselin.results import FloatArray

# Rounding errors of n-term sums grow like √n in practice (n at worst); this is their safety factor.
_SAFETY = 8.0


class Leeway(NamedTuple):
    """How a LASSO path uses the bounds on the errors of c.

    They are reduced to cap·λ where larger, and the path ends where one exceeds limit·λ.
    """

    cap: float
    limit: float


class ErrorBounds:
    """The bounds, from the size of X, the eps of its entries, and the lengths of its columns and of y.

    A Gram problem knows X only by a Cholesky factor of XᵀX, and so squared lengths to eps.
    """

    n: int
    d: int
    dtype: np.dtype[Any]
    eps: float
    kind: str
    column_norms: NDArray[Any]
    y_norm: float

    @property
    def _is_gram(self) -> bool:
        return self.kind == "gram"

    @property
    def double_eps(self) -> float:
        """The eps of the problem in float64; for a Gram problem that of the dtype in which G was given."""
        same = self._is_gram or self.kind == "operator" or self.dtype == np.float64
        return self.eps if same else float(np.finfo(np.float64).eps)

    @property
    def gram_eps(self) -> float:
        """The error of the entries of XᵀX as computed in float64, relative to its largest entry."""
        return RANK * self.d * self.eps if self._is_gram else self.double_eps

    @property
    def power(self) -> int:
        """p of the κ^p that multiplies errors: 1, or 2 for a Gram problem, which knows squared lengths."""
        return 2 if self._is_gram else 1

    @property
    def unit(self) -> float:
        """u = 8·eps: P_S^⊥x errs by u·s(x), s(x) the size of x (see `ThinQR.sizes`)."""
        return _SAFETY * self.eps

    @property
    def length_unit(self) -> float:
        """X_i counts as in the span of S when ‖P_S^⊥X_i‖ ≤ length_unit·s(X_i).

        That is u, or 8·√eps for a Gram problem, which knows squared lengths to eps.
        """
        return _SAFETY * (math.sqrt(self.eps) if self._is_gram else self.eps)

    def rounding(self, kappa: float = 1.0) -> float:
        """A bound on the relative rounding error of an inner product with P_S^⊥: 8·eps·(√n + κ^p).

        A sum of n products errs by about √n·eps (n·eps at worst); the computed span of S is that of
        a matrix whose columns are off by eps, at an angle of κ·eps, κ a bound on the condition number of X_S
        with unit columns, p = `power`. Where this bound does not decide, `linalg.ties` uses sharper ones.
        """
        return _SAFETY * self.eps * (math.sqrt(self.n) + kappa**self.power)

    def correlation_error(self, kappa: float = 1.0) -> FloatArray:
        """e_c (d,): bounds on the rounding errors of c_i = ⟨X_i, P_S^⊥y⟩, rounding·‖X_i‖·‖y‖."""
        return self.rounding(kappa) * self.column_norms * self.y_norm

    def length_error(self, kappa: float = 1.0) -> float:
        """A bound on the error of ‖P_S^⊥X_i‖/‖X_i‖ for all i: `length_unit`·s(X_i)/‖X_i‖, s(X_i) ≤ κ‖X_i‖."""
        if self._is_gram:
            return self.length_unit * kappa
        return self.rounding(kappa)

    def length_errors(self, size: FloatArray, length: FloatArray) -> FloatArray:
        """Bounds (m,) on the errors of ‖z_i‖: length_unit·s(X_i), and u·s(X_i)²/‖z_i‖ where that is smaller.

        For a Gram problem ‖z‖² errs by u·s², and so ‖z‖ by u·s² over the sum of both lengths.
        """
        sharp = np.full_like(size, np.inf)
        np.divide(self.unit * size**2, length, out=sharp, where=length > 0)
        return np.asarray(np.minimum(self.length_unit * size, sharp))

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Bounds on the errors of c_i = ⟨x, r⟩ (see `sparselin.linalg.ties`), x being X_i or z_i:
        u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n‖x‖‖r‖), or u·s(X_i)s(y) for a Gram problem.
        """
        if self._is_gram:
            return np.asarray(self.unit * size * y_size)
        return np.asarray(self.unit * (size * r_norm + length * y_size + math.sqrt(self.n) * x_norm * r_norm))

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """A bound on the error of ⟨X_i, r⟩/‖X_i‖ for a refined r = f − X_Jx: 8·eps·(√n + 1)·(‖r‖ + eps·size).

        size is ‖f‖ + Σ‖X_j‖|x_j|. For a Gram problem, which refinement does not help, 8·eps·(√n + 1)·κ²·size.
        """
        if self._is_gram:
            return self.rounding() * kappa**2 * size
        return self.rounding() * (r_norm + self.eps * size)

    @property
    def leeway(self) -> Leeway:
        """For a Gram problem the bounds by κ² would end the path long before its errors matter."""
        if self._is_gram:
            return Leeway(cap=1e-3, limit=math.inf)
        return Leeway(cap=math.inf, limit=1e-3)

    def sign_error(self, kappa: float) -> float:
        """τ such that a refined β_j may have the wrong sign if ‖X_j‖|β_j| ≤ τ·(‖y‖ + Σ‖X_l‖|β_l|): 64·eps.

        For a Gram problem, which refinement does not help, 64·eps·κ², at most 1/1000.
        """
        return min(1e-3, 64 * self.eps * kappa**2) if self._is_gram else 64 * self.eps


# Norms below these have squares that lose digits to underflow.
_TINY = {np.dtype(t): float(np.sqrt(np.finfo(t).tiny) / np.finfo(t).eps) for t in (np.float32, np.float64)}


def check_range(X: Any, y: FloatArray, column_norms: FloatArray, y_norm: float) -> None:
    """Raise ValueError where the square of a norm, or a product of two norms, over- or underflows."""
    tiny = _TINY[X.dtype]
    if min(y_norm, column_norms.min()) > tiny and column_norms.max() * y_norm < np.inf:
        return
    norms = np.append(column_norms, y_norm)
    bad = ~np.isfinite(norms) | ((norms > 0) & (norms < tiny))
    zero = np.flatnonzero(norms[: X.shape[1]] == 0)
    if getattr(X, "kind", "") != "operator":
        bad[zero] = np.asarray((X[:, zero] != 0).sum(axis=0)) > 0  # of stored entries, if X is sparse
    bad[-1] |= y_norm == 0 and bool(np.any(y != 0))
    if bad.any() or not np.isfinite(norms.max() * y_norm):
        where = "y" if bad[-1] else f"column {int(np.argmax(bad))} of X"
        raise ValueError(
            f"{where} has a norm whose square over- or underflows {X.dtype}; "
            "scale X or y by a power of two (selections do not change)"
        )
