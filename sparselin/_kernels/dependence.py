"""The test of whether a column is in the span of others: by error bounds or, if they fail, exactly."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import kernel


class Unit(NamedTuple):
    """The rounding unit u of projected columns.

    Let x be a column that is projected off other columns T, with coefficients b, and let s(x)² = ‖x‖² + Σ_T
    b_j²‖X_j‖². The error of the projected column is at most u·s(x), unless `of_squares` is true. Then the
    error of the squared length of the projected column is at most u·s(x)². This is the case for a problem
    that is given by its Gram matrix. A sum of n products has an error of √n·u, relative to the lengths of the
    two vectors that are multiplied.
    """

    u: float
    root: float  # √n
    of_squares: bool


class DependenceTest(NamedTuple):
    """The data of the test for dependence: the rounding unit, and numbers that decide the test exactly."""

    unit: Unit
    twins: NDArray[np.intp]  # equal labels for columns that are ± a power of two times each other
    volumes: NDArray[np.float64]  # log₂ of the lengths, after scaling columns to the least integer entries
    fixed: float  # log₂ of the volume of the columns off which all others were projected before


@kernel()
def span(unit):
    """Return a τ: a column x is outside a span if its squared distance to the span exceeds τ·s(x)².

    τ is (2u)², or 2u if `of_squares` is true. `Unit` defines u, `of_squares` and the size s(x).
    """
    return 2 * unit.u if unit.of_squares else 4 * unit.u * unit.u


@kernel()
def outside_span(exact, square, size, x, members, n, volume):
    """Return 1 if the column x is outside the span of `members`, 0 if it is in the span, −1 if undecided.

    exact : `DependenceTest`.
    square, size : the squared distance of x to the span, and the squared size s(x)² of `Unit`.
    n : the dimension of the space, less the number of columns off which all others were projected.
    volume : log₂ of the product of the lengths of these columns, without those that `exact.fixed` counts.

    Independent columns of integers have a Gram determinant of at least 1. So the distance of each column from
    the span of the others is at least 1/Π N, where N are the lengths of the others.
    """
    bound = span(exact.unit) * size
    if square > bound:
        return 1
    if exact.unit.of_squares:
        return -1
    total = exact.volumes[x] + exact.fixed + volume
    for member in members:
        if exact.twins[member] == exact.twins[x]:
            return 0
        total += exact.volumes[member]
    return 0 if len(members) >= n or math.log2(2 * math.sqrt(bound)) < -total else -1
