"""The two arithmetics that check a certificate: exact, and float64 with running error bounds."""

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

# The error by underflow of scaling the data, or of an operation and its bound: each step rounds to 2⁻¹⁰⁷⁵,
# half the least number, and 2⁵ times that covers all steps.
_UNDERFLOW = 2.0**-1070
# A number counts as known if its error bound is at most this share of its scale. If the share were larger,
# undecided conditions would count as met; if it were smaller, long paths of ill-conditioned columns could not
# be checked in float64.
_MAX_ERROR = 2.0**-10


def root_bounds(q: Fraction) -> tuple[Fraction, Fraction]:
    """Return a rational lower bound and a rational upper bound of √q.

    If √q is rational, both bounds are equal to √q; otherwise their relative distance is at most 2⁻⁶⁴.
    """
    # √(a/b) = √(ab)/b, and ab ≥ 1
    square = q.numerator * q.denominator << 128
    root = math.isqrt(square)
    below = Fraction(root, q.denominator << 64)
    return below, below if root * root == square else Fraction(root + 1, q.denominator << 64)


class Arithmetic(Protocol):
    """The arithmetic in which the conditions of a certificate are checked.

    X, y : multiples a·X and b·y of the data.
    x_unit, coef_unit, lam_unit : the factors by which a and b multiply other numbers: a for X, b/a for
        coefficients, and (ab)² for λ*² (b² if the columns are normalized).
    squares : (d,) the squared weights w_j² of the correlations c_j, because |c_j|/w_j is compared. w_j² is 1,
        or the squared norm of column j of a·X if the columns are normalized.
    stated : (d,) False for the zero columns of a normalized design, about which a certificate states nothing.
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
    def is_nonpositive(self, v: Any) -> NDArray[np.bool_]: ...
    def is_negative(self, v: Any) -> NDArray[np.bool_]: ...
    def is_known(self, v: Any, squared_scale: Any) -> bool: ...


class Exact:
    """The exact arithmetic: integers for X and y, fractions for everything else."""

    def __init__(self, X: FloatArray, y: FloatArray, normalized: bool) -> None:
        self.X, a = _integers(X)
        self.y_integers, b = _integers(y)
        self.y = self.vector(self.y_integers)
        self.squares = self.square_lengths() if normalized else np.ones(X.shape[1], object)
        self.stated = np.asarray(X.any(axis=0) | (not normalized))
        self.x_unit = Fraction(a)
        self.coef_unit, self.lam_unit = _units(self.x_unit, Fraction(b), normalized)

    def square_lengths(self) -> NDArray[np.object_]:
        """Return the squared norms ‖a·X_j‖² (d,) of the columns."""
        return np.asarray((self.X**2).sum(axis=0))

    def vector(self, values: Iterable[Fraction | int]) -> NDArray[np.object_]:
        return np.array([Fraction(v) for v in values], object)

    def product(self, A: NDArray[Any], v: NDArray[np.object_]) -> NDArray[np.object_]:
        numerators, denominator = over_common_denominator(v)
        sums = A @ np.array(numerators, object)
        return np.array([Fraction(x, denominator) for x in sums], object)

    def is_nonpositive(self, v: NDArray[np.object_]) -> NDArray[np.bool_]:
        return np.array([x <= 0 for x in v], bool)

    def is_negative(self, v: NDArray[np.object_]) -> NDArray[np.bool_]:
        return np.array([x < 0 for x in v], bool)

    def is_known(self, v: NDArray[np.object_], squared_scale: NDArray[np.object_]) -> bool:
        return True


class Rounded:
    """The rounded arithmetic: float64 with error bounds.

    X and y are multiplied by powers of two, so that their largest entries lie in [½, 1). Numbers that are
    closer than their error bounds count as equal. So the bounds must be small: `is_known` requires that a
    bound is at most 2⁻¹⁰ times the largest possible size of the number.
    """

    def __init__(self, X: FloatArray, y: FloatArray, normalized: bool) -> None:
        p, q = (int(np.frexp(np.abs(v).max())[1]) for v in (X, y))
        self.X = np.ldexp(X, -p)
        self.y = _Ball(np.ldexp(y, -q), np.zeros(len(y)))
        self.squares = self.square_lengths() if normalized else _ones(X.shape[1])
        self.stated = np.asarray(X.any(axis=0) | (not normalized))
        self.x_unit = Fraction(2) ** -p
        self.coef_unit, self.lam_unit = _units(self.x_unit, Fraction(2) ** -q, normalized)

    def square_lengths(self) -> _Ball:
        """Return the squared norms ‖a·X_j‖² (d,) of the columns.

        They are the products of X∘X, the matrix of squared entries, with a vector of ones. Multiplying by one
        makes no rounding error, so the error bound of `product` covers the rounding of X∘X instead.
        """
        return self.product((self.X**2).T, _ones(len(self.X)))

    def vector(self, values: Iterable[Fraction | int]) -> _Ball:
        mid = np.array([float(v) for v in values], np.float64)
        return _Ball.add_rounding(mid, np.full(len(mid), TINY))

    def product(self, A: FloatArray, v: _Ball) -> _Ball:
        """Return Av with error bounds.

        The error of a sum of m products is less than m·eps·Σ|products| (about half of that).
        """
        m = A.shape[1]
        spread = v.rad + (m + 1) * EPS * np.abs(v.mid)
        lost = m * _UNDERFLOW * (1 + np.max(np.abs(v.mid) + v.rad, initial=0.0))
        return _Ball(A @ v.mid, np.abs(A) @ spread + lost)

    def is_nonpositive(self, v: _Ball) -> NDArray[np.bool_]:
        return np.asarray((v.mid <= v.rad) & np.isfinite(v.rad))

    def is_negative(self, v: _Ball) -> NDArray[np.bool_]:
        return np.asarray(v.mid < -v.rad)

    def is_known(self, v: _Ball, squared_scale: _Ball) -> bool:
        return bool((v.rad <= _MAX_ERROR * np.sqrt(np.abs(squared_scale.mid))).all())


@dataclasses.dataclass(frozen=True, eq=False)
class _Ball:
    """An array of numbers that are known up to ±rad: each is within `rad` of `mid`.

    Each operation adds 4·eps of the result to rad. The rounding of `mid` needs only ½·eps of the result; the
    rest covers the rounding of `rad`.
    """

    mid: FloatArray
    rad: FloatArray

    @classmethod
    def add_rounding(cls, mid: FloatArray, rad: FloatArray) -> _Ball:
        return cls(mid, rad + 4 * EPS * (np.abs(mid) + rad) + _UNDERFLOW)

    def __add__(self, other: _Ball) -> _Ball:
        return _Ball.add_rounding(self.mid + other.mid, self.rad + other.rad)

    def __sub__(self, other: _Ball) -> _Ball:
        return _Ball.add_rounding(self.mid - other.mid, self.rad + other.rad)

    def __mul__(self, other: _Ball) -> _Ball:
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        return _Ball.add_rounding(self.mid * other.mid, rad)

    def __getitem__(self, J: Any) -> _Ball:
        return _Ball(self.mid[J], self.rad[J])


def _ones(n: int) -> _Ball:
    return _Ball(np.ones(n), np.zeros(n))


def _integers(values: FloatArray) -> tuple[NDArray[np.object_], int]:
    """Multiply floats by the least power of two ≥ 1 that makes them integers; return them and the power."""
    numerators, denominator = over_common_denominator([Fraction(v) for v in values.ravel().tolist()])
    return np.array(numerators, object).reshape(values.shape), denominator


def over_common_denominator(values: Iterable[Fraction]) -> tuple[list[int], int]:
    """Bring fractions to their least common denominator; return the numerators and the denominator."""
    values = list(values)
    denominator = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (denominator // v.denominator) for v in values], denominator


def _units(a: Fraction, b: Fraction, normalized: bool) -> tuple[Fraction, Fraction]:
    return b / a, b**2 if normalized else (a * b) ** 2
