"""OMP and OLS on many small designs, each in one call of a kernel."""

import math

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import copy, dot
from sparselin._kernels.products import moments_by_rows
from sparselin._kernels.screen import Levels, ScreenedDesign, SelectedColumns, SquareBounds, extend


@inner()
def select(A, r, scale, norms, forced, levels, by_length, picks):
    """Fill `picks` (k,) with features of OMP, or of OLS, while they are certain; return their number.

    A, scale : (n, d) in C order, and (d,); the columns of the design are scale_j·A_j. norms : their lengths.
    r : (n,) the response, which is replaced by the residual.
    forced : columns that are added first.
    levels : see `Levels`; its y_norm is replaced by ‖r‖, and picks end only at k.
    by_length : None for OMP, True for OLS.
    """
    (n, d), k = A.shape, picks.size
    screen = ScreenedDesign(
        X=A,
        copy=np.empty((n, d), np.int16),
        by_rows=True,
        scale=scale,
        unit=np.empty(d),
        norms=norms,
        error=np.empty(d),
    )
    chosen = SelectedColumns(
        Qt=np.empty((k, n)),
        R=np.zeros((k, k)),
        norms=np.empty(k),
        inverse=np.empty(k),
        r=r,
        out=np.zeros(d, np.bool_),
    )
    levels = Levels(
        correlation=levels.correlation,
        unit=levels.unit,
        of_squares=levels.of_squares,
        y_norm=math.sqrt(dot(r, r)),
        dependent=levels.dependent,
        floor=-1.0,
    )
    bounds = None
    if by_length is not None:
        bounds = SquareBounds(norms * norms, norms * norms)
        for j in range(d):
            chosen.out[j] = norms[j] == 0
    for t in range(forced.size + 1):
        picks[t:], stop, seen = (-1, k, -1) if t == forced.size else (forced[t], t + 1, 0)
        count, _ = extend(screen, chosen, bounds, t, seen, levels, picks[t:stop], np.empty((stop - t, 4)))
        if count == 0:
            break
    return t + count


@kernel()
def select_rows(X, y, rows, scales, forced, levels, by_length, supports):
    """Write the features that are selected on each set of rows to a row of `supports` (b, k).

    A row of `supports` stays as it is if fewer than k features are certain.

    X : (n, d) in C order, without entries whose squares underflow or overflow.
    rows : (b, m). scales : (b, d) the factors of the columns, for each set of rows.
    forced, levels, by_length : see `select`.
    """
    b, m = rows.shape
    d = X.shape[1]
    A = np.empty((m, d))
    r = np.empty(m)
    ones = np.ones(m)
    picks = np.empty(supports.shape[1], np.intp)
    squares = np.empty(d)
    products = np.empty(d)
    zeros = np.zeros(d)
    for s in range(b):
        for i in range(m):
            copy(X[rows[s, i]], A[i])
            r[i] = y[rows[s, i]]
        moments_by_rows(A, ones, ones, zeros, squares, products, 0, d)
        norms = np.sqrt(squares) * scales[s]
        if select(A, r, scales[s], norms, forced, levels, by_length, picks) == supports.shape[1]:
            copy(picks, supports[s])
