"""The check of a certificate of a best subset: its tree of cases, and the lower bound of each case."""

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparselin.certificates.form import are_features
from sparselin.results import FloatArray, IndexArray
from sparselin.subsets.certificate_form import SubsetFields, unit_count
from sparselin.subsets.objective import Dyadic, ExactObjective, dyadic

_FREE, _IN, _OUT = range(3)
Term: TypeAlias = tuple[int, int, int, Fraction | None]


class SubsetProof:
    """The check of a certificate of a best subset whose fields have the right form.

    `sparselin.subsets.certificate` defines the cases, vectors, stages and heights of such a certificate.
    """

    def __init__(self, certificate: SubsetFields, X: FloatArray, y: FloatArray, w: FloatArray) -> None:
        self.given = given = certificate
        d = X.shape[1]
        scale = certificate.scale
        self.objective = ExactObjective(X, y, w, intercept=given.intercept, ridge=given.ridge, scale=scale)
        self.labels = np.arange(d) if given.groups is None else given.groups
        self.members = [np.flatnonzero(self.labels == unit).tolist() for unit in range(unit_count(given))]
        self.pairs = np.array(given.hierarchy, np.intp).reshape(-1, 2).T
        units = [Fraction(2) ** s for s in scale.tolist()]
        self.box = [
            [Fraction(x) * unit if math.isfinite(x) else None for x, unit in zip(side, units, strict=True)]
            for side in (given.lower.tolist(), given.upper.tolist())
        ]
        self.inner = self.box
        self.value: Fraction | None = None
        self.target = Fraction(0)
        self.leaves = 0
        self.stage = functools.lru_cache(64)(self._read_stage)
        self.heights = functools.lru_cache(64)(self._compute_heights)

    def failures(self) -> Iterator[str]:
        given = self.given
        inside = [j for unit in given.support for j in self.members[unit]]
        fixed = self._values_at_bounds(given.at_lower, given.at_upper, inside)
        if fixed is None:
            yield "`at_lower` and `at_upper` must be distinct features of the support that have that bound."
            return
        beta, self.value, _ = self.objective.minimum(inside, fixed)
        for j, value in beta.items():
            low, high = (side[j] for side in self.box)
            if (low is not None and value < low) or (high is not None and value > high):
                yield f"The coefficient of feature {j} of the support is outside its bounds."
        self.target = (1 - Fraction(given.gap)) * self.value
        for s, stage in enumerate(given.stages):
            diagonal = [Fraction(x) for x in stage.diagonal.tolist()]
            if not self.objective.has_curvature(stage.features.tolist(), diagonal):
                yield f"Stage {s}: the matrix less D is not proved to be positive semidefinite. Decrease D."
        if given.box is not None and not self._narrow(given.box):
            yield "`box` must be a vector of a stage with all features, whose heights are finite."
        yield from self._walk()

    def _walk(self) -> Iterator[str]:
        """Follow the tree of cases; yield a failure for each case whose lower bound is too low."""
        state = np.full(len(self.members), _FREE, np.int8)
        state[list(self.given.forced)] = _IN
        stack = [state]
        for t, operation in enumerate(self.given.tree):
            if not self._has_case(stack):
                yield f"Operation {t}: every case has been bounded, but there are operations left."
                return
            state = stack[-1]
            room = self.given.k - int((state == _IN).sum())
            match operation:
                case ("split", j) if self._are_free((j,), state) and room > 0:
                    other = state.copy()
                    state[j], other[j] = _OUT, _IN
                    stack.append(other)
                    continue
                case ("out" | "in" as kind, v, units) if self._is_vector(v) and self._are_free(units, state):
                    if kind == "in" and len(units) > room:
                        yield f"Operation {t}: more than k units are in."
                        return
                    high = self._is_bounded(v, state, room, kind, units)
                    self.leaves += len(units)
                    state[list(units)] = _OUT if kind == "out" else _IN
                case ("bound", v) if self._is_vector(v):
                    high = self._is_bounded(v, state, room, "bound", ())
                    self.leaves += 1
                    stack.pop()
                case ("value", at_lower, at_upper):
                    high = self._is_least(state, at_lower, at_upper)
                    self.leaves += 1
                    stack.pop()
                case _:
                    yield f"Operation {t} is malformed, or does not fit the case that it is about."
                    return
            if not high:
                yield f"Operation {t}: the bound is below (1 − gap) times the value, or not for this case."
        if self._has_case(stack):
            yield "The tree ends, but there are cases that no operation bounds."

    def _has_case(self, stack: list[NDArray[np.int8]]) -> bool:
        """Drop the last cases while the hierarchy leaves no set in them; return whether a case is left."""
        while stack and not self._decide(stack[-1]):
            stack.pop()
        return len(stack) > 0

    def _decide(self, state: NDArray[np.int8]) -> bool:
        """Change the states of units that the hierarchy decides in a case; return False if no set is left.

        See *Hierarchy* in `subsets.certificate`.
        """
        units, needed = self.pairs
        inside = needed[state[units] == _IN]
        possible = bool((state[inside] != _OUT).all())
        state[inside] = _IN
        room = self.given.k - int((state == _IN).sum())
        lacking = np.bincount(units[state[needed] != _IN], minlength=len(state))
        lost = (lacking > 0) & (lacking >= room)
        lost[units[state[needed] == _OUT]] = True
        state[lost & (state == _FREE)] = _OUT
        return possible and room >= 0

    def _is_vector(self, v: Any) -> bool:
        return type(v) is int and 0 <= v < len(self.given.vectors)

    def _are_free(self, units: Any, state: NDArray[np.int8]) -> bool:
        return are_features(units, len(state)) and all(state[j] == _FREE for j in units)

    def _is_bounded(
        self, v: int, state: NDArray[np.int8], room: int, kind: str, units: tuple[int, ...]
    ) -> bool:
        """Return whether the bound of vector v suffices for all cases of an operation.

        v : the number of the vector.
        state : for each unit (feature or group), whether it is in, out, or free in the current case.
        room : how many free units may still be selected.
        kind, units : the operation. "bound" is about the current case; "out" and "in" are about one case for
            each of `units`.
        """
        missing = self.stage(self.given.vectors[v].stage)[3]
        if (state[missing] != _OUT).any():
            return False
        heights, most = self.heights(v)
        most -= sum(heights[j] for j in np.flatnonzero(state == _IN).tolist())
        order = sorted(np.flatnonzero(state == _FREE).tolist(), key=heights.__getitem__, reverse=True)
        sums = [Fraction(0), *itertools.accumulate(heights[j] for j in order[: room + 1])]
        fewer, equal, more = (sums[min(max(m, 0), len(sums) - 1)] for m in (room - 1, room, room + 1))
        largest = set(order[:room])
        if kind == "out":
            return all((equal if j in largest else heights[j] + fewer) <= most for j in units)
        if kind == "in":
            return all((more - heights[j] if j in largest else equal) <= most for j in units)
        return equal <= most

    def _is_least(self, state: NDArray[np.int8], at_lower: Any, at_upper: Any) -> bool:
        """Return whether a case has only one support left, whose minimum is at least the target."""
        full = (state == _IN).sum() == self.given.k
        units = np.flatnonzero(state == _IN if full else state != _OUT).tolist()
        features = [j for unit in units for j in self.members[unit]]
        fixed = self._values_at_bounds(at_lower, at_upper, features)
        if len(units) > self.given.k or fixed is None:
            return False
        beta, bound, slopes = self.objective.minimum(features, fixed)
        for j, slope in slopes.items():
            end = self.box[int(slope < 0)][j]
            if slope != 0 and end is None:
                return False
            bound += slope * ((end or 0) - beta[j])
        return bound >= self.target

    def _values_at_bounds(
        self, at_lower: Any, at_upper: Any, features: list[int]
    ) -> dict[int, Fraction] | None:
        """Return a dictionary from features at a bound to the values of their bounds.

        Returns None unless these features are distinct, belong to `features` and have finite bounds.

        at_lower, at_upper : the features at their lower and at their upper bound.
        """
        d = len(self.labels)
        if not (are_features(at_lower, d) and are_features(at_upper, d)):
            return None
        pairs = [(j, side[j]) for J, side in zip((at_lower, at_upper), self.box, strict=True) for j in J]
        fixed = {j: value for j, value in pairs if value is not None}
        return fixed if len(fixed) == len(pairs) and fixed.keys() <= set(features) else None

    def _read_stage(self, s: int) -> tuple[Dyadic, Dyadic, list[int], IndexArray]:
        """Return the parts of stage s that the bounds need.

        These are its diagonal D, D minus the ridge, its features, and the units (features or groups) that
        have features outside the stage.
        """
        stage = self.given.stages[s]
        J: list[int] = stage.features.tolist()
        D = [Fraction(x) for x in stage.diagonal.tolist()]
        moved = dyadic([x - self.objective.ridge[j] for j, x in zip(J, D, strict=True)])
        lacking = np.unique(np.delete(self.labels, stage.features))
        return dyadic(D), moved, J, lacking

    def _compute_heights(self, v: int) -> tuple[list[Fraction], Fraction]:
        """Return the heights of all units for vector v, and the largest sum of heights that is allowed.

        A height bounds the contribution of a unit (feature or group) to the objective; see
        `subsets.certificate`.
        """
        terms, base, *_ = self._terms(v)
        most = base - self.target
        beyond = max(most, Fraction(0)) + 1  # in place of larger heights, and of infinite ones
        heights = [Fraction(0)] * len(self.members)
        for j, _, _, height in terms:
            total = heights[self.labels[j]] + (beyond if height is None else height)
            heights[self.labels[j]] = min(total, beyond)
        return heights, most

    def _terms(self, v: int) -> tuple[list[Term], Fraction, Fraction, Fraction]:
        """Return the terms of the lower bound (2) of `subsets.certificate` for vector v.

        Returns a tuple (j, c_j, D_j, H_j) for each feature of the stage, the number ½yᵀWy − ½wᵀMw, and the
        factors that turn the integers c_j and D_j into the true numbers. H_j is None if it is infinite.
        """
        vector = self.given.vectors[v]
        objective = self.objective
        D, moved, J, _ = self.stage(vector.stage)
        entries = np.zeros(len(self.labels), object)
        entries[vector.features] = vector.entries.astype(object)
        w = Dyadic(entries, vector.exponent)
        c = objective.slope(w)
        more = Dyadic(objective.mass * moved.integers * entries[J], moved.power + w.power)
        slope = Dyadic(c.integers[J], c.power) + more
        # wᵀMw = wᵀ(b − c) over the features of the stage
        difference = Dyadic(objective.b.integers[J], objective.b.power) + Dyadic(-slope.integers, slope.power)
        form = Dyadic(difference.integers * entries[J], difference.power + w.power).sum() / objective.mass
        power = 2 * slope.power - 1 - D.power
        up = max(power, 0)
        down = objective.mass**2 << max(-power, 0)
        to_slope = Fraction(2) ** slope.power / objective.mass
        to_D = Fraction(2) ** D.power
        terms: list[Term] = []
        for j, a, curvature in zip(J, slope.integers.tolist(), D.integers.tolist(), strict=True):
            end = self.inner[int(a > 0)][j]
            height: Fraction | None = Fraction(0)
            if a != 0 and end != 0:
                height = Fraction(a * a << up, curvature * down) if curvature > 0 else None
                if end is not None and abs(a) * to_slope > curvature * to_D * abs(end):  # at the bound
                    height = a * to_slope * end - curvature * to_D * end**2 / 2
            terms.append((j, a, curvature, height))
        return terms, objective.constant - form / 2, to_slope, to_D

    def _narrow(self, v: int) -> bool:
        """Tighten the bounds on the coefficients by formula (3) of `subsets.certificate` for vector v.

        Returns False if the vector does not bound the coefficients of all features.
        """
        terms, base, to_slope, to_D = self._terms(v)
        if len(terms) < len(self.labels) or any(height is None for *_, height in terms):
            return False
        heights = [Fraction(0)] * len(self.members)
        for j, _, _, height in terms:
            heights[self.labels[j]] += height or 0
        room = self.given.k - len(self.given.forced)
        forced = set(self.given.forced)
        order = sorted(set(range(len(heights))) - forced, key=heights.__getitem__, reverse=True)[:room]
        least = heights[order[-1]] if len(order) == room > 0 else Fraction(0)
        spare = (self.value or 0) - base + sum(heights[unit] for unit in (*forced, *order))
        low, high = ([*side] for side in self.box)
        for j, a, curvature, height in terms:
            if curvature > 0:
                unit = self.labels[j]
                c = a * to_slope
                D = curvature * to_D
                more = Fraction(0) if unit in forced else min(heights[unit] - least, Fraction(0))
                rest = spare + more - (height or 0) + c * c / (2 * D)
                reach = _root_above(2 * max(rest, Fraction(0)) / D)
                ends = low[j], high[j]
                low[j] = min(c / D - reach if ends[0] is None else max(ends[0], c / D - reach), Fraction(0))
                high[j] = max(c / D + reach if ends[1] is None else min(ends[1], c / D + reach), Fraction(0))
        self.inner = [low, high]
        self.heights.cache_clear()
        return True


def _root_above(x: Fraction) -> Fraction:
    """Return an upper bound of √x with few digits, whose relative error is at most 2⁻⁶⁰."""
    places = max(0, 64 + (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
    return Fraction(math.isqrt((x.numerator << 2 * places) // x.denominator) + 1, 1 << places)
