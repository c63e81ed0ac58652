"""The objective of a best subset in exact arithmetic: its gradient, and its minimum on a support."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sparselin.certificates.arithmetic import over_common_denominator
from sparselin.certificates.integers import IntegerColumns, Integers, solve_semidefinite
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets.curvature import is_semidefinite

# Up to this number of features XᵀWX − Δ is eliminated exactly if `is_semidefinite` does not prove it.
_FEW = 40


class Dyadic(NamedTuple):
    """A vector of rational numbers, stored as integers times one common power of two."""

    integers: Integers
    power: int

    def __add__(self, other: Dyadic) -> Dyadic:  # type: ignore[override]
        power = min(self.power, other.power)
        left, right = self.power - power, other.power - power
        return Dyadic((self.integers << left) + (other.integers << right), power)

    def scale(self, powers: Integers) -> Dyadic:
        """Return the vector with entry j multiplied by 2^powers_j."""
        low = min(powers.tolist(), default=0)
        return Dyadic(self.integers << (powers - low), self.power + low)

    def sum(self) -> Fraction:
        return Fraction(sum(self.integers.tolist())) * Fraction(2) ** self.power


def dyadic(values: FloatArray | list[Fraction]) -> Dyadic:
    """Convert floats, or fractions with powers of two as denominators, to integers times one power of two."""
    numerators, denominator = over_common_denominator(map(Fraction, list(values)))
    return Dyadic(np.array(numerators, object), 1 - denominator.bit_length())


class ExactObjective:
    """The objective ½Σ_i w_i(y_i − b₀ − Σ_j X_ijβ_j/2^scale_j)² + ½Σ_j ridge_jβ_j², in rational numbers.

    b₀ is the best intercept, or 0 without an intercept. As a function of β, the objective is
    constant − bᵀβ + ½βᵀGβ with a vector b and a matrix G.

    Attributes
    ----------
    mass : the sum of the weights as integers with an intercept, else 1. Gradients are multiples of 1/mass.
    ridge : (d,) ridge_j = ridge/4^scale_j.
    b : mass·b.
    constant : the objective at β = 0.
    """

    def __init__(
        self,
        X: FloatArray,
        y: FloatArray,
        weights: FloatArray,
        *,
        intercept: bool,
        ridge: float,
        scale: IndexArray,
    ) -> None:
        self._data = X, weights, scale.tolist()
        self._columns = IntegerColumns(X)
        self._powers = np.array((self._columns.exponents - scale).tolist(), object)
        self._y = dyadic(y)
        self._weights = dyadic(weights)
        self._intercept = intercept
        self.ridge = [Fraction(ridge) / Fraction(4) ** s for s in scale.tolist()]
        self.mass = sum(self._weights.integers.tolist()) if intercept else 1
        self._sums = self._columns.correlate(self._weights.integers)
        self.b = self._correlate(self._y)
        power = self._weights.power + 2 * self._y.power
        squares = Dyadic(self.mass * self._weights.integers * self._y.integers**2, power)
        self.constant = squares.sum() / (2 * self.mass)
        if intercept:
            mean = (self._weights.integers * self._y.integers).sum()
            self.constant -= Fraction(mean**2) * Fraction(2) ** squares.power / (2 * self.mass)
        self._gram_column = functools.lru_cache(512)(self._compute_gram_column)

    def _correlate(self, r: Dyadic) -> Dyadic:
        """Return mass·XᵀWr (d,), for a vector r (n,) that is centred if there is an intercept."""
        u = self._weights.integers * r.integers
        c = self.mass * self._columns.correlate(u)
        if self._intercept:
            c = c - self._sums * u.sum()
        return Dyadic(c, self._weights.power + r.power).scale(self._powers)

    def _compute_gram_column(self, j: int) -> Dyadic:
        return self._correlate(Dyadic(self._columns.column(j), self._powers[j]))

    def gram(self, i: int, j: int) -> Fraction:
        """Return the entry (i, j) of the matrix G of the quadratic objective."""
        column = self._gram_column(j)
        product = Fraction(column.integers[i], self.mass) * Fraction(2) ** column.power
        return product + self.ridge[i] if i == j else product

    def slope(self, w: Dyadic) -> Dyadic:
        """Return mass·(b − (G − diag(ridge))w) (d,) for a vector w (d,).

        b and G are the vector and the matrix of the objective constant − bᵀβ + ½βᵀGβ.
        """
        scaled = w.scale(self._powers)
        fit = Dyadic(self._columns.times(scaled.integers), scaled.power)
        return self._correlate(self._y + Dyadic(-fit.integers, fit.power))

    def minimum(
        self, features: list[int], fixed: dict[int, Fraction]
    ) -> tuple[dict[int, Fraction], Fraction, dict[int, Fraction]]:
        """Minimise over β that is zero outside `features`, with the values of some features fixed.

        Returns β, the minimum of the objective, and its gradient at the fixed features; at the other
        `features` the gradient is zero.
        """
        free = [j for j in features if j not in fixed]
        rights = [self._b(i) - sum(self.gram(i, j) * value for j, value in fixed.items()) for i in free]
        flat, _ = over_common_denominator([self.gram(i, j) for i in free for j in free] + rights)
        m = len(free)
        solution = solve_semidefinite([flat[m * i : m * i + m] for i in range(m)], flat[m * m :])
        if solution is None:
            raise ArithmeticError("normal equations have a solution, and their matrix is semidefinite")
        beta = fixed | {j: Fraction(value, solution[1]) for j, value in zip(free, solution[0], strict=True)}
        slopes = {i: sum((self.gram(i, j) * beta[j] for j in beta), -self._b(i)) for i in fixed}
        terms = sum((slopes[j] * beta[j] for j in fixed), Fraction(0))
        terms -= sum(self._b(j) * beta[j] for j in beta)
        return beta, self.constant + terms / 2, slopes

    def minimum_in_box(
        self, features: list[int], box: dict[int, Sequence[Fraction | None]], start: dict[int, Fraction]
    ) -> Fraction:
        """Return the least objective over β that is zero outside `features`, and within bounds.

        box : the bounds of each feature, low ≤ 0 ≤ high, or None where there is none.
        start : features that are thought to be at a bound, and this bound; only the time depends on them.

        The method is that of active sets. The features that are not free are at a bound. From a β within the
        bounds one moves towards the minimum over the free features until a bound is met, where that feature
        stays. At the minimum, the feature with the least number whose derivative leads into the box becomes
        free (Bland's rule, by which no set of free features comes twice without a decrease). There is none at
        the least objective, by the conditions of Karush, Kuhn and Tucker.
        """
        zero = Fraction(0)
        fixed = set(start)
        beta = self.minimum(features, start)[0]
        if not all(_is_inside(beta[j], box[j]) for j in features):
            beta = dict.fromkeys(features, zero)
            fixed = {j for j in features if zero in box[j]}
        while True:
            aim, value, slopes = self.minimum(features, {j: beta[j] for j in fixed})
            share = Fraction(1)
            met = -1
            for j in sorted(features):
                if not _is_inside(aim[j], box[j]):
                    end = box[j][int(aim[j] > beta[j])]
                    reach = ((end or zero) - beta[j]) / (aim[j] - beta[j])
                    if reach < share:
                        share, met = reach, j
            beta = {j: beta[j] + share * (aim[j] - beta[j]) for j in features}
            if met >= 0:
                fixed.add(met)
                continue
            inward = [j for j in sorted(fixed) if _leads_inside(beta[j], slopes[j], box[j])]
            if not inward:
                return value
            fixed.remove(inward[0])

    def _b(self, j: int) -> Fraction:
        return Fraction(self.b.integers[j], self.mass) * Fraction(2) ** self.b.power

    def has_curvature(self, J: list[int], diagonal: list[Fraction]) -> bool:
        """Return whether G − diag(diagonal) is proved to be positive semidefinite on these features.

        G is the matrix of the quadratic objective.
        """
        X, weights, scale = self._data
        pairs = zip(J, diagonal, strict=True)
        excess = [(D - self.ridge[j]) * Fraction(4) ** scale[j] for j, D in pairs]
        if is_semidefinite(X[:, J], weights, excess, centred=self._intercept):
            return True
        if len(J) > _FEW:
            return False
        entries = [self.gram(i, j) - (diagonal[t] if i == j else 0) for t, i in enumerate(J) for j in J]
        flat, _ = over_common_denominator(entries)
        m = len(J)
        return solve_semidefinite([flat[m * i : m * i + m] for i in range(m)], [0] * m) is not None


def _is_inside(value: Fraction, ends: Sequence[Fraction | None]) -> bool:
    low, high = ends
    return (low is None or value >= low) and (high is None or value <= high)


def _leads_inside(value: Fraction, slope: Fraction, ends: Sequence[Fraction | None]) -> bool:
    """Return whether a step against the slope leads from a bound into the box."""
    low, high = ends
    return low != high and ((value == low and slope < 0) or (value == high and slope > 0))
