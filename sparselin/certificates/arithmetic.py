"""Two arithmetics for checking a certificate: exact, and float64 with running error bounds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparselin.problem.errors import EPS, TINY
from sparselin.results import FloatArray

# The error of scaling the data, or of an operation and of bounding it, by underflow: each rounds to 2⁻¹⁰⁷⁵,
# half the least number, and 2⁵ times that covers them.
_UNDERFLOW = 2.0**-1070
# The relative radius up to which a number counts as known. Larger, conditions hold that nobody knows;
# smaller, long paths of ill-conditioned columns have no rounded certificate.
_MAX_ERROR = 2.0**-10


def root_bounds(q: Fraction) -> tuple[Fraction, Fraction]:
    """Rational bounds of √q, equal when √q is rational, else with a relative distance of at most 2⁻⁶⁴."""
    # √(a/b) = √(ab)/b, and ab ≥ 1
    square = q.numerator * q.denominator << 128
    root = math.isqrt(square)
    below = Fraction(root, q.denominator << 64)
    return below, below if root * root == square else Fraction(root + 1, q.denominator << 64)


class Arithmetic(Protocol):
    """The arithmetic in which the conditions are checked. X and y are multiples a·X and b·y of the data.

    x_unit is a, coef_unit b/a, and lam_unit (ab)², or b² when normalized; squares holds the w_j² of a·X, and
    stated is false for the zero columns of a normalized design, about which nothing is stated.
    """

    X: NDArray[Any]
    y: Any
    squares: Any
    stated: NDArray[np.bool_]
    x_unit: Fraction
    coef_unit: Fraction
    lam_unit: Fraction

    def vector(self, values: Iterable[Fraction | int]) -> Any: ...
    def square_lengths(self) -> Any: ...
    def product(self, A: NDArray[Any], v: Any) -> Any: ...
    def nonpositive(self, v: Any) -> NDArray[np.bool_]: ...
    def negative(self, v: Any) -> NDArray[np.bool_]: ...
    def known(self, v: Any, squared_scale: Any) -> bool: ...


class Exact:
    """Integers for X and y, fractions for everything else."""

    def __init__(self, X: FloatArray, y: FloatArray, normalized: bool) -> None:
        self.X, a = _integers(X)
        self.y_integers, b = _integers(y)
        self.y = self.vector(self.y_integers)
        self.squares = self.square_lengths() if normalized else np.ones(X.shape[1], object)
        self.stated = np.asarray(X.any(axis=0) | (not normalized))
        self.x_unit = Fraction(a)
        self.coef_unit, self.lam_unit = _units(self.x_unit, Fraction(b), normalized)

    def square_lengths(self) -> NDArray[np.object_]:
        """‖a·X_j‖²."""
        return np.asarray((self.X**2).sum(axis=0))

    def vector(self, values: Iterable[Fraction | int]) -> NDArray[np.object_]:
        return np.array([Fraction(v) for v in values], object)

    def product(self, A: NDArray[Any], v: NDArray[np.object_]) -> NDArray[np.object_]:
        numerators, denominator = over_common_denominator(v)
        sums = A @ np.array(numerators, object)
        return np.array([Fraction(x, denominator) for x in sums], object)

    def nonpositive(self, v: NDArray[np.object_]) -> NDArray[np.bool_]:
        return np.array([x <= 0 for x in v], bool)

    def negative(self, v: NDArray[np.object_]) -> NDArray[np.bool_]:
        return np.array([x < 0 for x in v], bool)

    def known(self, v: NDArray[np.object_], squared_scale: NDArray[np.object_]) -> bool:
        return True


class Rounded:
    """float64 with error bounds, on data scaled by powers of two to a largest entry in [½, 1).

    Numbers closer than their bounds count as equal, so bounds must be small: `known` requires 2⁻¹⁰.
    """

    def __init__(self, X: FloatArray, y: FloatArray, normalized: bool) -> None:
        p, q = (int(np.frexp(np.abs(v).max())[1]) for v in (X, y))
        self.X, self.y = np.ldexp(X, -p), _Ball(np.ldexp(y, -q), np.zeros(len(y)))
        self.squares = _Ball(np.ones(X.shape[1]), np.zeros(X.shape[1]))
        self.stated = np.asarray(X.any(axis=0) | (not normalized))
        if normalized:
            self.squares = self.square_lengths()
        self.x_unit = Fraction(2) ** -p
        self.coef_unit, self.lam_unit = _units(self.x_unit, Fraction(2) ** -q, normalized)

    def square_lengths(self) -> _Ball:
        """‖a·X_j‖²; products with 1 are exact, so that `product` covers the rounding of squares instead."""
        n = len(self.X)
        return self.product((self.X**2).T, _Ball(np.ones(n), np.zeros(n)))

    def vector(self, values: Iterable[Fraction | int]) -> _Ball:
        mid = np.array([float(v) for v in values], np.float64)
        return _Ball.rounded(mid, np.full(len(mid), TINY))

    def product(self, A: FloatArray, v: _Ball) -> _Ball:
        """Av; a sum of m products errs by less than m·eps·Σ|products| (about half of that)."""
        m = A.shape[1]
        spread = v.rad + (m + 1) * EPS * np.abs(v.mid)
        lost = m * _UNDERFLOW * (1 + np.max(np.abs(v.mid) + v.rad, initial=0.0))
        return _Ball(A @ v.mid, np.abs(A) @ spread + lost)

    def nonpositive(self, v: _Ball) -> NDArray[np.bool_]:
        return np.asarray((v.mid <= v.rad) & np.isfinite(v.rad))

    def negative(self, v: _Ball) -> NDArray[np.bool_]:
        return np.asarray(v.mid < -v.rad)

    def known(self, v: _Ball, squared_scale: _Ball) -> bool:
        return bool((v.rad <= _MAX_ERROR * np.sqrt(np.abs(squared_scale.mid))).all())


@dataclasses.dataclass(frozen=True, eq=False)
class _Ball:
    """Numbers within rad of mid, elementwise; 4·eps in place of ½·eps covers the rounding of rad too."""

    mid: FloatArray
    rad: FloatArray

    @classmethod
    def rounded(cls, mid: FloatArray, rad: FloatArray) -> _Ball:
        return cls(mid, rad + 4 * EPS * (np.abs(mid) + rad) + _UNDERFLOW)

    def __add__(self, other: _Ball) -> _Ball:
        return _Ball.rounded(self.mid + other.mid, self.rad + other.rad)

    def __sub__(self, other: _Ball) -> _Ball:
        return _Ball.rounded(self.mid - other.mid, self.rad + other.rad)

    def __mul__(self, other: _Ball) -> _Ball:
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return _Ball.rounded(self.mid * other.mid, rad)

    def __getitem__(self, J: Any) -> _Ball:
        return _Ball(self.mid[J], self.rad[J])


def _integers(values: FloatArray) -> tuple[NDArray[np.object_], int]:
    """The least multiple of `values` by a power of two with integer entries, and that power."""
    numerators, denominator = over_common_denominator([Fraction(v) for v in values.ravel().tolist()])
    return np.array(numerators, object).reshape(values.shape), denominator


def over_common_denominator(values: Iterable[Fraction]) -> tuple[list[int], int]:
    values = list(values)
    denominator = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (denominator // v.denominator) for v in values], denominator


def _units(a: Fraction, b: Fraction, normalized: bool) -> tuple[Fraction, Fraction]:
    return b / a, b**2 if normalized else (a * b) ** 2
