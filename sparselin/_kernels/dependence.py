"""Whether a column is in the span of others: what rounding leaves of that, and what is certain of it."""

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


class Exact(NamedTuple):
    """How far columns are known."""

    unit: Unit
    twins: NDArray[np.intp]  # equal for columns that are ± a power of two times each other
    volumes: NDArray[np.float64]  # log₂ of lengths in the least integers that columns are multiples of


@kernel()
def span(unit):
    """How far from a span, in units of s², is out of it: (2u)², or 2u where squares are known to u."""
    return 2 * unit.u if unit.power == 2 else (2 * unit.u) ** 2


@kernel()
def standing(exact, square, size, x, members, n, volume):
    """Of a column x against `members`: 1 out of their span, 0 in it, −1 if rounding leaves it open.

    `square` is that of its distance and `size` s(x)²; all are projected off columns whose lengths have the
    product 2^volume, into n dimensions. Independent columns of integers have a Gram determinant of at least
    1, so that one of them, of length N_x, is at a distance of at least 1/Π N of the span of the others, N all
    lengths but its own.
    """
    far = span(exact.unit) * size
    if square > far:
        return 1
    if exact.unit.power == 2:
        return -1
    total = exact.volumes[x] + volume
    for member in members:
        if exact.twins[member] == exact.twins[x]:
            return 0
        total += exact.volumes[member]
    return 0 if len(members) >= n or 2 * math.sqrt(far) < 2.0**-total else -1
