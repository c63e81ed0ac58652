"""Whether a column is in the span of others: by error bounds, and where they leave it open, exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import kernel


class Unit(NamedTuple):
    """A column x with coefficients b on others T is known to u·s(x), s(x)² = ‖x‖² + Σ_T b_j²‖X_j‖², if power
    is 1; for a Gram problem, 2, squares are known to u·s(x)²; a sum, to √n·u.
    """

    u: float
    root: float  # √n
    power: float


class DependenceTest(NamedTuple):
    """The rounding unit of the columns, and what decides dependence exactly."""

    unit: Unit
    twins: NDArray[np.intp]  # equal for columns that are ± a power of two times each other
    volumes: NDArray[np.float64]  # log₂ of lengths in the least integers that columns are multiples of
    fixed: float  # log₂ of the volume of columns that all others were projected off before


@kernel()
def span(unit):
    """τ such that x is outside a span if its squared distance exceeds τ·s(x)²: (2u)², or 2u for power 2."""
    return 2 * unit.u if unit.power == 2 else (2 * unit.u) ** 2


@kernel()
def outside_span(exact, square, size, x, members, n, volume):
    """1 if the column x is outside the span of `members`, 0 if in it, −1 if undecided.

    `square` is its squared distance and `size` s(x)²; all columns are projected off others, whose lengths
    have the product 2^volume, into n dimensions. Independent columns of integers have a Gram determinant of
    at least 1, so that each has a distance of at least 1/Π N from the span of the others, N their lengths.
    """
    bound = span(exact.unit) * size
    if square > bound:
        return 1
    if exact.unit.power == 2:
        return -1
    total = exact.volumes[x] + exact.fixed + volume
    for member in members:
        if exact.twins[member] == exact.twins[x]:
            return 0
        total += exact.volumes[member]
    return 0 if len(members) >= n or 2 * math.sqrt(bound) < 2.0**-total else -1
