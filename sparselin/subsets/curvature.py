"""A proof that XᵀWX − Δ is positive semidefinite, for a diagonal matrix Δ and a design X of any size.

Let Z be W^½X, with centred columns if there is an intercept, and with columns scaled to lengths just below
2³¹. Let A be Z rounded to integers, and E = Z − A. For 0 < δ < 1 and every vector v,

    ‖Zv‖² ≥ (‖Av‖ − ‖Ev‖)² ≥ (1 − δ)‖Av‖² − (1/δ − 1)‖E‖_F²‖v‖²,

because ‖Ev‖² ≤ ‖E‖_F²‖v‖². So it suffices that S = AᵀA − Δ′ is positive semidefinite, where Δ′ is an integer
diagonal matrix with Δ′_j ≥ (Δ_j + (1/δ − 1)‖E‖_F²)/(1 − δ). Let L be any matrix of integers. If S − LLᵀ has a
nonnegative diagonal and is diagonally dominant, it is positive semidefinite, and so is S. A suitable L is
found in floats: the Cholesky factor of S minus a multiple of the identity, rounded to integers. The products
AᵀA and LLᵀ are exact: the integers are split into two halves of 16 bits, whose products in float64 have no
rounding.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

_BITS = 31  # columns have lengths below 2³¹, so that AᵀA and LLᵀ are below 2⁶³
_SMALL = 1 << 45  # so that sums of 2¹⁷ entries are below 2⁶³
_BLOCK = 1 << 16  # rows of a product whose sums are below 2⁵³
_UNDERFLOW = 2.0**-500  # more than the root of the least float, which is 2⁻⁵³⁷


def is_semidefinite(X: FloatArray, weights: FloatArray, excess: list[Fraction], *, centred: bool) -> bool:
    """Return whether XᵀWX − diag(excess) is proved to be positive semidefinite, where W = diag(weights).

    If `centred`, the weighted means of the columns are subtracted from X first. The result False proves
    nothing.
    """
    X, weights = X[weights > 0], weights[weights > 0]
    if max(excess, default=Fraction(0)) <= 0:
        return True
    if len(X) == 0 or len(excess) >= 1 << 17:
        return False
    zero = (X[0] == X).all(axis=0) if centred else ~X.any(axis=0)
    kept = np.flatnonzero(~zero).tolist()
    if any(excess[j] > 0 for j in np.flatnonzero(zero)):
        return False
    with np.errstate(all="ignore"):
        A, error, unit = _rounded_columns(X[:, kept], weights, centred=centred)
        total = float(error @ error)
    if not math.isfinite(total):
        return False
    scaled = [excess[j] * Fraction(4) ** u for j, u in zip(kept, unit, strict=True)]
    return _is_dominant(A, _diagonal(scaled, Fraction(total)))


def _rounded_columns(
    X: FloatArray, weights: FloatArray, *, centred: bool
) -> tuple[FloatArray, FloatArray, list[int]]:
    """Return A, bounds on the lengths of the columns of E, and log₂ of the factors that scale Z.

    The docstring of the module defines the integer matrix A, Z and E = Z − A. The rounding of a mean of n
    numbers of size at most m is at most (n + 8)·eps·m, and that of a square root, difference or product at
    most ½·eps. The mean is subtracted twice. An error of the first mean does not matter, because it moves all
    rows by the same amount.
    """
    n = len(X)
    level = int(np.frexp(weights.max())[1]) + 1 >> 1
    root = np.sqrt(np.ldexp(weights, -2 * level))
    power = np.frexp(np.abs(X).max(axis=0))[1]
    Z = np.ldexp(X, -power)
    most = np.abs(Z).max(axis=0)
    if centred:
        W = root * root
        Z = Z - W @ Z / W.sum()
        most = np.abs(Z).max(axis=0)
        Z = Z - W @ Z / W.sum()
    Z = root[:, None] * Z
    size = np.frexp(np.abs(Z).max(axis=0))[1]
    Z = np.ldexp(Z, -size)
    up = _BITS - np.frexp(np.sqrt((Z * Z).sum(axis=0)))[1]
    Z = np.ldexp(Z, up)
    A = np.rint(Z)
    lost = np.ldexp((n + 32) * EPS * most + _UNDERFLOW, up - size)
    error = 1.001 * (np.sqrt(((Z - A) ** 2).sum(axis=0)) + math.sqrt(n) * lost)
    return A, error, (up - size - power - level).tolist()


def _diagonal(excess: list[Fraction], total: Fraction) -> list[int]:
    """Return the integer diagonal Δ′ of the module docstring for Δ = `excess` and ‖E‖_F² = `total`.

    The free parameter δ is chosen to nearly minimise the loss δ·Δ_j + ‖E‖_F²/δ.
    """
    middle = sorted(excess)[len(excess) // 2]
    ratio = total / middle if middle > 0 else Fraction(1)
    half = (ratio.numerator.bit_length() - ratio.denominator.bit_length()) // 2
    delta = Fraction(2) ** min(-2, max(-60, half))
    return [math.ceil((x + total * (1 / delta - 1)) / (1 - delta)) for x in excess]


def _is_dominant(A: FloatArray, shift: list[int]) -> bool:
    """Return whether AᵀA − diag(shift) is proved to be positive semidefinite by a rounded Cholesky factor."""
    d = len(shift)
    if max(shift) >= 1 << 62:
        return False
    S = _gram(A)
    S[np.diag_indices(d)] -= np.array([max(x, -(1 << 60)) for x in shift], np.int64)
    push = 0.4 * d * 2.0**_BITS
    for _ in range(3):
        try:
            L = np.rint(np.linalg.cholesky(S.astype(np.float64) - push * np.eye(d)))
        except np.linalg.LinAlgError:
            return False
        if not (np.abs(L).max() < 2.0**32 and (L * L).sum(axis=1).max() < 2.0**62.5):
            return False
        R = S - _gram(np.ascontiguousarray(L.T))
        diagonal = R[np.diag_indices(d)].copy()
        R[np.diag_indices(d)] = 0
        if ((R > -_SMALL) & (R < _SMALL)).all() and (diagonal >= np.abs(R).sum(axis=1)).all():
            return True
        push *= 4
    return False


def _gram(A: FloatArray) -> NDArray[np.int64]:
    """Return AᵀA for a matrix of integers below 2³² whose columns have squared lengths below 2⁶³."""
    total = np.zeros((A.shape[1], A.shape[1]), np.int64)
    for first in range(0, len(A), _BLOCK):
        rows = A[first : first + _BLOCK]
        high = np.rint(rows * 2.0**-16)
        low = rows - high * 2.0**16
        mixed = (high.T @ low).astype(np.int64)
        total += (high.T @ high).astype(np.int64) << 32
        total += ((mixed + mixed.T) << 16) + (low.T @ low).astype(np.int64)
    return total
