"""OMP and OLS on many small designs, each in one compiled call."""

import math

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.linear_algebra import copy, dot
from sparselin._kernels.products import moments
from sparselin._kernels.screen import Levels, ScreenedDesign, SelectedColumns, SquareBounds, extend

_LEAST, _MOST = 1e-200, 1e200  # squares of lengths in this range are accurate


@inner()
def select(A, y, norms, unit, k, squares):
    """Return up to k picks of OMP, or with `SquareBounds` of OLS, as long as they are certain.

    A : (n, d) the design X in C order. norms : (d,) ‖X_j‖, all positive. unit : the unit of a `Problem`.
    squares : `SquareBounds` with ‖X_j‖², or None for OMP.
    """
    n, d = A.shape
    mu = (n // 8 + 12) * 2.0**-24  # as in `Screen`
    screen = ScreenedDesign(A, np.empty((n, d), np.int16), True, np.ones(d), np.empty(d), norms, np.empty(d))
    factors = np.empty((k, n)), np.zeros((k, k)), np.empty(k), np.empty(k)
    growth = SelectedColumns(*factors, y.copy(), np.zeros(d, np.bool_))
    levels = Levels(unit * math.sqrt(n), unit, 1, math.sqrt(dot(y, y)), unit, -1.0)
    picks, steps = np.full(k + 1, -1), np.empty((k + 1, 4))
    return picks[: extend(screen, growth, squares, 0, levels, picks, steps, False, mu / (1 - mu))]


@kernel()
def select_rows(X, y, unit, rows, by_length, supports):
    """Write the picks on each set of rows (m,) of the design X (n, d) and of y to a row of `supports` (b, k).

    rows : (b, m). unit : see `select`. by_length : None for OMP, True for OLS. A row of `supports` stays as
        it is if fewer than k picks are certain, or if the square of a length is not accurate.
    """
    (b, m), d, k = rows.shape, X.shape[1], supports.shape[1]
    A, part, squares, products = np.empty((m, d)), np.empty(m), np.empty(d), np.empty(d)
    for s in range(b):
        for i in range(m):
            copy(X[rows[s, i]], A[i])
            part[i] = y[rows[s, i]]
        moments(A, True, part, squares, products, 0, d)
        if min(squares.min(), dot(part, part)) > _LEAST and max(squares.max(), dot(part, part)) < _MOST:
            bounds = None if by_length is None else SquareBounds(squares.copy(), squares.copy())
            picks = select(A, part, np.sqrt(squares), unit, k, bounds)
            if picks.size == k:
                copy(picks, supports[s])
