"""Decisions within rounding error: λ*, the tied set T, and the reason why λ* is zero.

Let S be the selected columns and r = P_S^⊥y the residual. λ* is the largest |c_i| of the correlations
c = Xᵀr, and T are the features with |c_i| = λ*. There are two kinds of error bounds for c. Bounds by the
condition number of X_S (`Problem.correlation_error`) are cheap. But they are far too large for a column that
is not involved in a near-dependence of X_S, such as an intercept with uncentred columns. The cheap bounds
exclude most columns from T. The columns that remain candidates are *measured* with sharper bounds.

Let z_i = P_S^⊥X_i, u = 8·eps, and let s be the sizes of `ThinQR.sizes`. The computed span is exactly that of
X_S + F for a small matrix F. Let b_i be the coefficients of X_i on X_S, and a those of y. Projected off the
computed span, X_i becomes z_i + Fb_i, and y becomes r + Fa, to first order. So the error of c_i = ⟨X_i, r⟩ is

    (Fb_i)ᵀr + z_iᵀFa + …  ≤  e_i = u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n·‖z_i‖‖r‖).

The last term is the rounding error of the sum. Rounding the entries of X and y to eps also changes c_i by
about e_i, so no arithmetic can decide below this error. In a compressed problem (`compress`) columns have a
relative error ε > eps. Then ε takes the place of eps, and features that are tied exactly in the data are tied
up to e_i. For a Gram problem, where the Gram matrix has a relative error of eps, e_i = u·s(X_i)s(y).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparselin.linalg.thin_qr import ThinQR
from sparselin.problem import Problem
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray, Status

# ‖z‖² is computed by projection if cancellation leaves less than this share of it. The error of ‖z‖, which is
# the error of ‖z‖² divided by 2‖z‖, grows like 1/√share. With a larger share, more columns are projected.
_STALE = 0.25
CHUNK = 1024  # the columns that are made dense at a time


class Measurement(NamedTuple):
    """Correlations of m columns with the residual, and lengths of the projected columns, with error bounds.

    Attributes
    ----------
    c, error : (m,) c_i = ⟨X_i, r⟩, and a bound e_i on its error, where r = P_S^⊥y is the residual.
    length, length_error : (m,) ‖z_i‖, where z_i = P_S^⊥X_i, and a bound on its error, at most
        length_unit·s(X_i).
    outside : (m,) True for columns outside the span of S, that is, if ‖z_i‖ > length_unit·s(X_i) with the eps
        of the data. The size s is defined in `ThinQR.sizes`.
    residual_norm, residual_error : ‖r‖, and the bound length_unit·s(y) on its error, with the eps of the
        data.
    coarse : the eps of the data divided by the eps of the arithmetic. It is 1, except for float32 data
        measured in float64. c_i counts as zero if |c_i| ≤ coarse·e_i.
    """

    c: FloatArray
    error: FloatArray
    length: FloatArray
    length_error: FloatArray
    outside: np.ndarray
    residual_norm: float
    residual_error: float
    coarse: float

    def correlations(self) -> Scores:
        """Return the correlations and their error bounds, zero in the span of the selected columns."""
        return Scores(np.where(self.outside, self.c, 0), np.where(self.outside, self.error, 0), self.coarse)

    def quotients(self) -> Scores:
        """Return the quotients c_i/‖z_i‖ and error bounds; both are zero in the span of the selected columns.

        c_i are the correlations with error bounds e_i, and z_i the projected columns. The bounds of the
        quotients are e_i/‖z_i‖ + |c_i|·length_error_i/‖z_i‖².
        """
        inverse = np.zeros_like(self.length)
        np.divide(1, self.length, out=inverse, where=self.outside)
        quotient = self.c * inverse
        error = inverse * (self.error + np.abs(quotient) * self.length_error)
        return Scores(quotient, error, self.coarse)


class Scores(NamedTuple):
    """The scores of some columns, with bounds `error` on their errors.

    A score counts as zero if its modulus is at most coarse·error.
    """

    score: FloatArray
    error: FloatArray
    coarse: float


def measure(
    qr: ThinQR, J: IndexArray, data: Problem | None = None, Y: FloatArray | None = None
) -> Measurement:
    """Compute the correlations and lengths of the columns J (m,) after projection off the selected columns S.

    The error bounds are sharp.

    qr : the factorisation of X_S.
    data : the problem whose eps decides which correlations and lengths are zero. If `qr` belongs to the copy
        in float64 of a float32 problem, `data` is the float32 problem.
    Y : outputs (n, q) in place of y. In this case the correlation of column i is ‖X_iᵀR‖ ≥ 0, where
        R = P_S^⊥Y. By the triangle inequality, its error bound is the one for a single output y, with ‖R‖_F
        in place of the norm of the residual, and (Σ_j s(Y_j)²)^½ in place of the size s(y).
    """
    problem = qr.problem
    data = problem if data is None else data
    y, norms = (problem.y, problem.y_norm) if Y is None else (Y, np.linalg.norm(Y, axis=0))
    r = qr.residual(y)
    y_size = float(np.linalg.norm(qr.sizes(norms, qr.Qt @ y)))
    # one block even if J is empty
    parts = [_measure(qr, J[here], r, y_size) for here in blocks(max(1, len(J)), problem.X.size / problem.d)]
    c, error, length, size = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    length_error = problem.errors.length_errors(size, length)
    outside = length > data.length_unit * size
    norm = math.sqrt(float(np.vdot(r, r)))
    return Measurement(
        c=c,
        error=error,
        length=length,
        length_error=length_error,
        outside=outside,
        residual_norm=norm,
        residual_error=data.length_unit * y_size,
        coarse=data.unit / problem.unit,
    )


def _measure(qr: ThinQR, J: IndexArray, r: FloatArray, y_size: float) -> tuple[FloatArray, ...]:
    """Return c_i = ⟨X_i, r⟩, its error bound e_i, ‖P_S^⊥X_i‖ and the size s(X_i) for the columns i ∈ J.

    r : P_S^⊥y (n,), or P_S^⊥Y (n, q) for q outputs; in the second case c_i = ‖X_iᵀr‖.
    y_size : s(y), the size of y (see `ThinQR.sizes`).
    """
    problem = qr.problem
    norm = math.sqrt(float(np.vdot(r, r)))
    X = problem.block(J)
    norms: FloatArray = np.sqrt((X * X).sum(axis=0))
    # ‖z_i‖² = ‖X_i‖² − ‖QᵀX_i‖², and c_i from X_i itself, unless that cancels
    projections = np.asarray(X.T @ qr.Qt.T).T
    size = qr.sizes(norms, projections)
    squares = norms**2 - (projections**2).sum(axis=0)
    length = np.sqrt(np.maximum(squares, 0))
    x_norm = norms.copy()
    c = np.asarray(X.T @ r)
    stales = np.flatnonzero((squares <= _STALE * norms**2) & (norms > 0))
    for here in blocks(len(stales), problem.n):
        stale = stales[here]
        Z = qr.residual(problem.columns(J[stale]))
        length[stale] = x_norm[stale] = np.sqrt(np.einsum("ij,ij->j", Z, Z))
        c[stale] = Z.T @ r
    c = c if r.ndim == 1 else np.linalg.norm(c, axis=1)
    return c, problem.errors.measured_error(size, length, y_size, norm, x_norm), length, size


def off_span(qr: ThinQR, J: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the size s(X_i) and the length ‖P_S^⊥X_i‖ of each column in J, given a factorisation of X_S."""
    X = qr.problem.columns(J)
    Z = qr.residual(X)
    return qr.sizes(qr.problem.column_norms[J], qr.Qt @ X), np.sqrt(np.einsum("ij,ij->j", Z, Z))


def in_span(qr: ThinQR, J: IndexArray) -> tuple[np.ndarray, FloatArray]:
    """Return whether each column in J is in the span of the columns S, and its size (`ThinQR.sizes`).

    The factorisation X_S = QR has the number `unit`. A column X_j counts as in the span if
    ‖P_S^⊥X_j‖ ≤ unit·s(X_j), where s(X_j) is its size.
    """
    inside, sizes = np.zeros(len(J), bool), np.zeros(len(J))
    for start in range(0, len(J), CHUNK):
        block = slice(start, start + CHUNK)
        sizes[block], lengths = off_span(qr, J[block])
        inside[block] = lengths <= qr.unit * sizes[block]
    return inside, sizes


def candidates(size: FloatArray, error: FloatArray, excluded: IndexArray | list[int]) -> IndexArray:
    """Return all columns that may have the largest size, given bounds `error` on the errors of the sizes.

    With e_i = error_i, these are the i with size_i + e_i ≥ max_j (size_j − e_j), where i and j are not in
    `excluded`.
    """
    high, low = size + error, size - error
    low[excluded] = high[excluded] = -1
    return np.flatnonzero((high > 0) & (high >= low.max(initial=0)))


def tied_at_maximum(c: FloatArray, error: FloatArray) -> tuple[float, IndexArray]:
    """Return λ* = max|c_i| and the tied set T, for correlations c with error bounds e = `error` (d,).

    If |c_i| ≤ e_i for all i, the correlations are zero to rounding, and the result is λ* = 0 and an empty T.
    Otherwise T = {i : |c_i| + e_i ≥ max_j (|c_j| − e_j)}.
    """
    size = np.abs(c)
    if not np.any(size > error):
        return 0.0, np.zeros(0, np.intp)
    tied = candidates(size, error, [])
    return float(size[tied].max()), tied


def relative_margin(c: FloatArray, pick: int, lam_star: float) -> float:
    """Return the relative margin (λ* − max_{j ≠ pick}|c_j|)/λ* of a pick, or 0 if this number is negative.

    c are the correlations, and λ* = lam_star is the largest |c_j|.
    """
    size = np.abs(c)
    size[pick] = 0
    return max(0.0, (lam_star - float(size.max())) / lam_star)


def ending(norm: float, error: float, outside: Callable[[], np.ndarray]) -> Status:
    """Return the status that says why all correlations ⟨X_j, r⟩ are zero, where r is the residual.

    EXACT_FIT: r = 0 to rounding. RANK_EXHAUSTED: all columns are in the span of the selected columns.
    NO_CORRELATION: r is orthogonal to all columns.

    norm, error : ‖r‖, and a bound on its error.
    outside : a function that returns, for each column that is not selected, whether it lies outside the span
        of the selected columns. It is called only if r is not zero.
    """
    if norm <= error:
        return Status.EXACT_FIT
    return Status.NO_CORRELATION if np.any(outside()) else Status.RANK_EXHAUSTED


def measured_ending(
    qr: ThinQR, rest: IndexArray, data: Problem | None = None, Y: FloatArray | None = None
) -> Status:
    """Return the status that says why all correlations ⟨X_j, r⟩ are zero, where r is the residual.

    qr, data, Y : as in `measure`.
    rest : the columns that are not selected.
    """
    none = measure(qr, rest[:0], data, Y)
    return ending(none.residual_norm, none.residual_error, lambda: measure(qr, rest, data, Y).outside)
