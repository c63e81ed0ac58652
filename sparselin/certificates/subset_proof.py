"""The check of a certificate of a subset: its tree of cases, and the bound of each case."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin.certificates.objective import Dyadic, ExactObjective, dyadic
from sparselin.certificates.subset_form import SubsetFields, are_indices, unit_count
from sparselin.results import FloatArray, IndexArray

_FREE, _IN, _OUT = 0, 1, 2


class SubsetProof:
    """The check of a certificate whose form is right."""

    def __init__(self, certificate: SubsetFields, X: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        self.given = given = certificate
        d, scale = X.shape[1], certificate.scale
        self.objective = ExactObjective(
            X, y, weights, intercept=given.intercept, ridge=given.ridge, scale=scale
        )
        self.labels = np.arange(d) if given.groups is None else given.groups
        self.members = [np.flatnonzero(self.labels == unit).tolist() for unit in range(unit_count(given))]
        sides = given.lower.tolist(), given.upper.tolist()
        units = [Fraction(2) ** s for s in scale.tolist()]
        self.box = [
            [Fraction(x) * unit if math.isfinite(x) else None for x, unit in zip(side, units, strict=True)]
            for side in sides
        ]
        self.value: Fraction | None = None
        self.target, self.leaves = Fraction(0), 0
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
        yield from self._walk()

    def _walk(self) -> Iterator[str]:
        """Follow the operations of the tree, and check the bound of every case."""
        state = np.full(len(self.members), _FREE, np.int8)
        state[list(self.given.forced)] = _IN
        stack = [state]
        for t, operation in enumerate(self.given.tree):
            if not stack:
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
        if stack:
            yield "The tree ends, but there are cases that no operation bounds."

    def _is_vector(self, v: Any) -> bool:
        return type(v) is int and 0 <= v < len(self.given.vectors)

    def _are_free(self, units: Any, state: NDArray[np.int8]) -> bool:
        return are_indices(units, len(state)) and all(state[j] == _FREE for j in units)

    def _is_bounded(
        self, v: int, state: NDArray[np.int8], room: int, kind: str, units: tuple[int, ...]
    ) -> bool:
        """Return whether vector v bounds the cases of an operation, which are one, or one for each unit."""
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
        """Return whether a case has one support, and no value on it is below the target."""
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
        """Return the values of features at bounds, or None if they are not distinct and in `features`."""
        d = len(self.labels)
        if not (are_indices(at_lower, d) and are_indices(at_upper, d)):
            return None
        pairs = [(j, side[j]) for J, side in zip((at_lower, at_upper), self.box, strict=True) for j in J]
        fixed = {j: value for j, value in pairs if value is not None}
        return fixed if len(fixed) == len(pairs) and fixed.keys() <= set(features) else None

    def _read_stage(self, s: int) -> tuple[Dyadic, Dyadic, list[int], IndexArray]:
        """Return D, D less the ridge, the features, and the units with features that the stage lacks."""
        stage = self.given.stages[s]
        J: list[int] = stage.features.tolist()
        D = [Fraction(x) for x in stage.diagonal.tolist()]
        moved = dyadic([x - self.objective.ridge[j] for j, x in zip(J, D, strict=True)])
        lacking = np.unique(np.delete(self.labels, stage.features))
        return dyadic(D), moved, J, lacking

    def _compute_heights(self, v: int) -> tuple[list[Fraction], Fraction]:
        """Return the heights of all units for a vector, and the largest sum that is allowed."""
        vector, objective = self.given.vectors[v], self.objective
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
        most = objective.constant - form / 2 - self.target
        beyond = max(most, Fraction(0)) + 1  # in place of larger heights, and of infinite ones
        heights = [Fraction(0)] * len(self.members)
        power = 2 * slope.power - 1 - D.power
        up, down = max(power, 0), objective.mass**2 << max(-power, 0)
        to_slope = Fraction(2) ** slope.power / objective.mass
        to_D = Fraction(2) ** D.power
        for j, a, curvature in zip(J, slope.integers.tolist(), D.integers.tolist(), strict=True):
            end = self.box[int(a > 0)][j]
            if a == 0 or end == 0:
                continue
            height = Fraction(a * a << up, curvature * down) if curvature > 0 else beyond
            if end is not None and abs(a) * to_slope > curvature * to_D * abs(end):  # a maximum at the bound
                height = a * to_slope * end - curvature * to_D * end**2 / 2
            heights[self.labels[j]] = min(heights[self.labels[j]] + height, beyond)
        return heights, most
