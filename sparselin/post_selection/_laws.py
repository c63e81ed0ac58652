"""Laws on a line and on a circle, truncated to a union of intervals: their tails, and confidence limits.

Positions are offsets δ from the observed statistic x, so the observed value is δ = 0. A set of offsets is a
list of intervals (l, u) with increasing ends, one of which holds 0. Let R be the mass of the set at δ ≥ 0 and
L its mass at δ ≤ 0. The p-value of the alternative that the statistic is large is R/(R + L).

**Bounds.** The ends of the intervals and x are known up to error bounds. R/L grows if the set gains points at
δ > 0 or loses points at δ < 0. For fixed offsets R/L falls as x grows, because f(x + δ)/f(x + δ') falls in x
if δ > 0 > δ' for the density f of each law. (On the line and on the circle f is log-concave: log f is −z²/2
and m·ln sin φ. `Student` has its own proof.) Hence the largest R/L within the bounds has the least x, the
outer set above 0 and the inner set below 0, and the least R/L has the opposite choice. Both are computed in
balls (Arb) at exact numbers, with a precision that grows until all digits of a float64 are proved, however
small the masses are. Logarithms of p-values are computed in balls too, so they do not underflow.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtrit

from sparselin.parallel.threads import precision
from sparselin.results import FloatArray
from sparselin.validation.extras import installed_by, needs

with needs("flint", f"inference needs python-flint: {installed_by('verify')}"):
    from flint import arb

Set: TypeAlias = list[tuple[float, float]]
Ends: TypeAlias = tuple[FloatArray, FloatArray]  # low and high ends of open intervals
Bounds: TypeAlias = tuple[float, float]  # a lower and an upper bound of one number
LINE: Set = [(-math.inf, math.inf)]
_BITS = 60  # the accuracy of a mass; a float64 has 53 bits
# A relative step of Newton's method after which it ends: the error is then about its square for the normal
# law, but not for `Student`, which is not smooth in θ where an end of a set enters its support.
_CLOSE, _CLOSE_KINKED = 2.0**-26, 2.0**-46
_MIDDLE = 2.0**-40  # below this cos²φ, an integral of sin^m is computed from π/2


def without(parts: list[Ends]) -> Set:
    """Return the real line without open intervals, none of which holds 0."""
    low, high = (np.concatenate([np.zeros(0), *(part[i] for part in parts)]) for i in range(2))
    kept = []
    start = -math.inf
    for i in np.argsort(low):
        if low[i] > start:
            kept.append((start, float(low[i])))
        start = max(start, float(high[i]))
    return [*kept, (start, math.inf)] if start < math.inf else kept


def beyond(low: float, high: float) -> Ends:
    """Return the two rays outside of an interval."""
    return np.array([-math.inf, high]), np.array([low, math.inf])


def scale_set(offsets: Set, factor: float, side: int, error: float = 0.0) -> Set:
    """Multiply a set by a factor > 0, and widen (side = 1) or narrow (−1) it by more than rounding errors.

    error : a bound on the relative error of the factor.
    """
    ends = factor * np.array(offsets).reshape(-1, 2)
    ends *= 1 + side * (2.0**-50 + error) * np.copysign(1.0, ends) * [-1, 1]
    return list(map(tuple, ends.tolist()))


def negative(A: FloatArray, B: FloatArray, C: FloatArray) -> Ends:
    """Return open intervals, as low and high ends, whose union has Aδ² + Bδ + C < 0, for C > 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        inner = B * B - 4 * A * C
        q = -(B + np.copysign(np.sqrt(inner), B)) / 2
        first, second = q / A, C / q  # of opposite signs if A < 0, of one sign if A > 0
        low, high = np.minimum(first, second), np.maximum(first, second)
        between = (A > 0) & (inner > 0)
        outside = A < 0
        line = (A == 0) & (B != 0)
    root = second[line]
    ends = [
        (low[between], high[between]),
        (np.full(outside.sum(), -np.inf), low[outside]),
        (high[outside], np.full(outside.sum(), np.inf)),
        (np.where(root < 0, -np.inf, root), np.where(root < 0, root, np.inf)),
    ]
    return np.concatenate([a for a, _ in ends]), np.concatenate([b for _, b in ends])


@dataclasses.dataclass(frozen=True)
class Normal:
    """The law N(θ, 1) on a line.

    x, error : the observed statistic and a bound on its error.
    deviation : σ, the unit of x.
    """

    x: float
    error: float
    deviation: float = 1.0

    def mass(self, low: float, high: float, corner: int, theta: float) -> Any:
        a, b = self._position(low, corner, theta), self._position(high, corner, theta)
        return _tail(a) - _tail(b) if a > 0 else _tail(-b) - _tail(-a)

    def moment(self, low: float, high: float, corner: int, theta: float) -> Any:
        """Return the integral of z − θ over these offsets, as a ball."""
        a, b = self._position(low, corner, theta), self._position(high, corner, theta)
        return ((-a * a / 2).exp() - (-b * b / 2).exp()) / (2 * arb.pi()).sqrt()

    def _position(self, offset: float, corner: int, theta: float) -> Any:
        """Return z − θ at an offset; ±∞ for an infinite one."""
        if not math.isfinite(offset):
            return arb(offset)
        return arb(self.x) + corner * arb(self.error) - arb(theta) + arb(offset)


def _tail(z: Any) -> Any:
    """Return the mass of N(0, 1) above z, as a ball.

    For z > 8 it is e^{−z²/2}·U(½, ½, z²/2)/(2√π), because `erfc` loses all digits of a ball far from zero.
    """
    if not z.is_finite():
        return arb(0) if z > 0 else arb(1)
    if z > 8:
        half = arb(0.5)
        square = z * z / 2
        return (-square).exp() * square.hypgeom_u(half, half) / (2 * arb.pi().sqrt())
    return (z / arb(2).sqrt()).erfc() / 2


@dataclasses.dataclass(frozen=True)
class Circle:
    """The law on a half circle whose angle φ has a density ∝ sin^m φ on (0, π).

    The observed φ₀ is the angle of the point (x, height). The offset of φ is δ = tan((φ₀ − φ)/2), which grows
    with the first coordinate. The offsets ±∞ stand for φ = 0 and φ = π.

    error : a bound on the errors of x and of height.
    """

    x: float
    height: float
    error: float
    m: int

    @property
    def deviation(self) -> float:
        """The usual estimate of σ, if m + 1 are the degrees of freedom of the residual."""
        return self.height / math.sqrt(self.m + 1)

    def mass(self, low: float, high: float, corner: int, theta: float) -> Any:
        shift = corner * arb(self.error)
        x = arb(self.x) + shift
        observed = arb.atan2(arb(self.height) + (shift if x < 0 else -shift), x)
        return self._below(observed, low) - self._below(observed, high)

    def _below(self, observed: Any, offset: float) -> Any:
        """Return ∫sin^m from 0 to the angle of an offset."""
        phi = observed - 2 * arb(offset).atan() if math.isfinite(offset) else arb(-offset)
        if phi < 0 or phi > arb.pi():
            return _below(arb(1) if phi < 0 else arb(-1), arb(0), self.m)
        return _below(phi.cos(), phi.sin() ** 2, self.m)


def _below(x: Any, square: Any, m: int) -> Any:
    """Return ∫sin^m from 0 to the angle φ of the point (x, √square), a ball; φ is 0 or π if square ≤ 0.

    With u = sin²φ it is ½B(u; (m + 1)/2, ½) for φ ≤ π/2, an incomplete beta function. Near π/2, where u is
    nearly 1, it is computed from there on: with v = cos²φ the integral from φ to π/2 is ½B(v; ½, (m + 1)/2).
    """
    a = arb(m + 1) / 2
    half = arb(0.5)
    whole = a.gamma() * half.gamma() / (a + half).gamma()
    if not square > 0:  # φ is 0 or π, or so near that only an upper bound of sin²φ is known
        end = square.upper()
        rest = arb(0).union((end / (x * x + end)).beta_lower(a, half) / 2) if end > 0 else arb(0)
        return rest if x > 0 else whole - rest
    cosine = x * x / (x * x + square)
    if cosine < _MIDDLE:
        rest = cosine.abs_upper().beta_lower(half, a) / 2
        if x > 0 or x < 0:
            rest = cosine.beta_lower(half, a) / 2
            return whole / 2 - (rest if x > 0 else -rest)
        return whole / 2 + arb(0, 1) * rest
    part = (square / (x * x + square)).beta_lower(a, half) / 2
    return part if x > 0 else whole - part


@dataclasses.dataclass(frozen=True)
class Student:
    """The law of x = ηᵀy/σ̂ with ν degrees of freedom of σ̂, given z and (x − θ)² + ν, in units of σ̂.

    Let e = P_X^⊥y, where ν = n − rank X is its dimension, σ̂² = ‖e‖²/ν, and let z be the part of P_Xy that is
    orthogonal to η. If μ = Xβ and ηᵀμ = θ, then (η̂ᵀy − θ, e) is N(0, σ²I) in ν + 1 dimensions and independent
    of z. Given its length ρ it is uniform on a sphere, so the angle φ with cos φ = (η̂ᵀy − θ)/ρ has a density
    ∝ sin^{ν−1} φ, whatever σ is. In terms of the offset δ, and in units of σ̂, the density is

        f(δ) ∝ g(δ)^{(ν−2)/2},    g(δ) = ν − δ² − 2δ(x − θ) > 0.

    So f(δ)/f(δ') falls in x if ν ≥ 2 and δ > 0 > δ': the derivative of ln g(δ) in x is −2δ/g(δ), and g stays
    positive for no more offsets δ > 0, and for no fewer δ' < 0. In θ it grows; strictly if ν > 2, so that an
    equal-tailed confidence set is an interval. Its ends are finite as for the normal law: as θ grows, the
    offsets δ < 0 with g > 0 shrink to none, while g grows at all δ > 0.

    x, error : the observed statistic and a bound on its error, in units of σ̂.
    deviation : σ̂.
    degrees : ν ≥ 2.
    """

    x: float
    error: float
    deviation: float
    degrees: int

    def mass(self, low: float, high: float, corner: int, theta: float) -> Any:
        one, two = (self._point(offset, corner, theta) for offset in (low, high))
        return _below(*one, self.degrees - 1) - _below(*two, self.degrees - 1)

    def moment(self, low: float, high: float, corner: int, theta: float) -> Any:
        """Return `mass` times the derivative of its logarithm in θ, up to a term that is in that of all sets.

        Let ρ² = (x − θ)² + ν and u = x − θ. By parts, (ν − 2)∫δ·g^{(ν−4)/2} is −g^{(ν−2)/2} at the ends, less
        (ν − 2)u·∫g^{(ν−4)/2}; and ∫g^{p/2} is ρ^{p+1}·∫sin^{p+1} φ. This needs ν > 2.
        """
        nu = self.degrees
        centre = self._point(0.0, corner, theta)[0]
        (x, one), (v, two) = (self._point(offset, corner, theta) for offset in (low, high))
        square = centre * centre + nu
        ends = [(part / square).sqrt() ** (nu - 2) if part > 0 else arb(0) for part in (one, two)]
        inner = _below(x, one, nu - 3) - _below(v, two, nu - 3)
        return (ends[0] - ends[1]) / square.sqrt() - (nu - 2) * centre / square * inner

    def _point(self, offset: float, corner: int, theta: float) -> tuple[Any, Any]:
        """Return x + δ − θ and g(δ) at an offset; a point with g = 0 for an infinite one."""
        centre = arb(self.x) + corner * arb(self.error) - arb(theta)
        if not math.isfinite(offset):
            return arb(math.copysign(1.0, offset)), arb(0)
        return centre + arb(offset), self.degrees - arb(offset) * (arb(offset) + 2 * centre)


Law: TypeAlias = Normal | Circle | Student


class Tail(NamedTuple):
    """Lower and upper bounds of a tail probability, and of its natural logarithm."""

    bounds: Bounds
    logarithm: Bounds

    @classmethod
    def between(cls, low: Any, high: Any) -> Tail:
        """Round two balls outwards; a ball that is zero has the logarithm −∞."""
        logs = (ball.log() if ball > 0 else arb(-math.inf) for ball in (low, high))
        return cls(_outwards(low, high), _outwards(*logs))


def _outwards(low: Any, high: Any) -> Bounds:
    ends = float(low.lower()), float(high.upper())
    return math.nextafter(ends[0], -math.inf), math.nextafter(ends[1], math.inf)


class Corner(NamedTuple):
    """The sets above and below the observed value, and the side of x, that make R/L largest or least."""

    above: Set
    below: Set
    side: int

    def masses(self, law: Law, theta: float = 0.0) -> tuple[Any, Any]:
        """Return R and L as balls, with a precision that grows until both have _BITS correct bits."""
        bits = 2 * _BITS
        while True:
            with precision(bits):
                R, L = (_sum(law.mass, part, self.side, theta) for part in (self.above, self.below))
            if min(R.rel_accuracy_bits(), L.rel_accuracy_bits()) >= _BITS:
                return R, L
            bits *= 2

    def excess(self, law: Normal | Student, theta: float, level: float, sign: int) -> tuple[Any, float]:
        """Return ln(R/L) − sign·ln((1 + level)/(1 − level)) as a ball, and its derivative in θ.

        The derivative is the difference of the mean moments above and below the observed value.
        """
        R, L = self.masses(law, theta)
        bits = 2 * _BITS
        while True:
            with precision(bits):
                odds = ((1 + arb(level)) / (1 - arb(level))).log()
                above, below = (
                    _sum(law.moment, part, self.side, theta) / _sum(law.mass, part, self.side, theta)
                    for part in (self.above, self.below)
                )
                if (above - below).rel_accuracy_bits() >= _BITS // 2:
                    return (R / L).log() - sign * odds, float(above - below)
            bits *= 2


def _sum(of: Callable[..., Any], part: Set, side: int, theta: float) -> Any:
    return sum((of(low, high, side, theta) for low, high in part), arb(0))


def corners(outer: Set, inner: Set) -> tuple[Corner, Corner]:
    """Return the corners of the least and of the largest R/L.

    outer, inner : sets of which the first holds the exact set, and the exact set holds the second.
    """
    above = [[(max(low, 0.0), high) for low, high in part if high > 0] for part in (inner, outer)]
    below = [[(low, min(high, 0.0)) for low, high in part if low < 0] for part in (outer, inner)]
    return Corner(above[0], below[0], 1), Corner(above[1], below[1], -1)


def tails(law: Law, outer: Set, inner: Set) -> tuple[Tail, Tail]:
    """Return bounds on R/(R + L) and on L/(R + L), and on their logarithms."""
    with precision(3 * _BITS):
        (R, L), (R_most, L_least) = (corner.masses(law) for corner in corners(outer, inner))
        least, most = R + L, R_most + L_least
        return Tail.between(R / least, R_most / most), Tail.between(L_least / most, L / least)


def limits(law: Law, outer: Set, inner: Set, level: float) -> FloatArray:
    """Return bounds (2, 2) on the ends of the equal-tailed confidence interval, in units of the deviation.

    At the ends R/(R + L) is (1 − level)/2 and (1 + level)/2. For the normal law, and for `Student` with
    ν > 2, it is strictly increasing in θ, from 0 to 1, so both ends are finite. On a circle without
    truncation they are those of the t-test; the sets are not used.
    """
    if isinstance(law, Circle):
        return _student(law, level)
    least, largest = corners(outer, inner)
    found = []
    for sign in (-1, 1):
        low, start = _root(law, largest, level, sign, -1, law.x)
        high, _ = _root(law, least, level, sign, 1, start)
        found.append((low, high))
    return np.array(found)


def _student(law: Circle, level: float) -> FloatArray:
    """Return bounds on x/deviation ∓ t for the (1 + level)/2 quantile t of Student's law, with proof."""
    root = math.sqrt(law.m + 1)
    tail = (1 - level) / 2
    guess = -float(stdtrit(law.m + 1, tail))
    distance = 2.0**-48 * max(guess, 2.0**-50)
    while True:
        ends = guess - distance, guess + distance
        (least, _), (_, most) = (tails(Circle(t, root, 0.0, law.m), LINE, LINE)[0].bounds for t in ends)
        if least > tail * (1 + 2.0**-50) and most < tail * (1 - 2.0**-50):
            break
        distance *= 2
    centre = law.x / law.deviation
    slack = distance + 2 * law.error / law.deviation * (1 + guess / root)
    return np.array([[side * guess + centre - slack, side * guess + centre + slack] for side in (-1, 1)])


def _root(
    law: Normal | Student, part: Corner, level: float, sign: int, side: int, theta: float
) -> tuple[float, float]:
    """Return a θ below (side = −1) or above (1) the zero of `Corner.excess`, with proof; and the zero.

    Newton's method finds the zero from a first guess `theta`. The proof is the sign of the excess, at a
    distance from the zero that doubles until the sign is certain.
    """
    low = -math.inf
    high = math.inf
    done = False
    close = _CLOSE if isinstance(law, Normal) else _CLOSE_KINKED
    while not done:
        ball, slope = part.excess(law, theta, level, sign)
        gap = float(ball)
        low, high = (theta, high) if gap < 0 else (low, theta)
        new = theta - gap / slope
        done = abs(new - theta) <= close * max(1.0, abs(new))
        if not done and not low < new < high:
            away = math.copysign(1 + abs(theta - law.x), gap)
            new = (low + high) / 2 if math.isfinite(high - low) else theta - away
            done = not low < new < high
        theta = new
    distance = 2.0**-49 * max(1.0, abs(theta))
    while not side * part.excess(law, theta + side * distance, level, sign)[0] > 0:
        distance *= 2
    return theta + side * distance, theta
