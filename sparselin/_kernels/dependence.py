"""The test of whether a column is in the span of others: by error bounds or, if they fail, exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import kernel


class Unit(NamedTuple):
    """The rounding unit u of projected columns.

    If power is 1, a column x with coefficients b on other columns T is known, after projection, to u·s(x),
    s(x)² = ‖x‖² + Σ_T b_j²‖X_j‖². If power is 2, for a Gram problem, its square is known to u·s(x)². A sum of
    n products is known to √n·u.
    """

    u: float
    root: float  # √n
    power: float


class DependenceTest(NamedTuple):
    """The rounding unit of the columns, and the facts that decide dependence exactly."""

    unit: Unit
    twins: NDArray[np.intp]  # equal labels for columns that are ± a power of two times each other
    volumes: NDArray[np.float64]  # log₂ of the lengths, after scaling columns to the least integer entries
    fixed: float  # log₂ of the volume of the columns off which all others were projected before


@kernel()
def span(unit):
    """Return τ: x is outside a span if its squared distance exceeds τ·s(x)². (2u)², or 2u for power 2."""
    return 2 * unit.u if unit.power == 2 else (2 * unit.u) ** 2


@kernel()
def outside_span(exact, square, size, x, members, n, volume):
    """Return 1 if the column x is outside the span of `members`, 0 if it is in the span, −1 if undecided.

    `square` is its squared distance to the span, and `size` is s(x)². All columns have been projected off
    other columns, the product of whose lengths is 2^volume, into n dimensions. Independent columns of
    integers have a Gram determinant of at least 1. So each has a distance of at least 1/Π N from the span of
    the others, where N are their lengths.
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
