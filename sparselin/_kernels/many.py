"""OMP and OLS on small designs, one or many in one call of a kernel."""

import math

import numpy as np

from sparselin._kernels import inner, kernel
from sparselin._kernels.pairs import pairs_of
from sparselin._kernels.primitives import copy, dot
from sparselin._kernels.products import moments_by_rows
from sparselin._kernels.screen import (
    Levels,
    ScreenedDesign,
    SelectedColumns,
    SquareBounds,
    Ties,
    empty_workspace,
    extend,
)


@inner()
def design_to_screen(X, by_rows, scale, norms):
    """Return a design whose 16-bit copy is yet to be made; see `ScreenedDesign` for the arguments."""
    n, d = X.shape if by_rows else X.shape[::-1]
    m = pairs_of(n, by_rows)
    return ScreenedDesign(
        X=X,
        copy=np.empty((m, d) if by_rows else (d, m), np.int32),
        by_rows=by_rows,
        scale=scale,
        unit=np.empty(d),
        norms=norms,
        error=np.empty(d),
    )


@inner()
def select(X, scale, norms, r, forced, levels, by_length, picks):
    """Fill `picks` (k,) with the features of OMP, or of OLS, while they are certain; return their number.

    X, scale, norms : see `ScreenedDesign`; X is (n, d) in C order.
    r : (n,) the response, which is replaced by the residual.
    forced : columns that are added first.
    by_length : None for OMP, True for OLS.
    """
    d, k = norms.size, picks.size
    screen = design_to_screen(X, True, scale, norms)
    chosen = SelectedColumns(
        Qt=np.empty((k, r.size)),
        R=np.zeros((k, k)),
        norms=np.empty(k),
        inverse=np.empty(k),
        r=r,
        out=np.zeros(d, np.bool_),
    )
    bounds = None if by_length is None else length_bounds(norms, chosen.out)
    undecided = Ties(r, np.empty((0, 0), np.intp))
    room = empty_workspace(screen, r.size, k)
    for t in range(forced.size + 1):
        picks[t:], stop, seen = (-1, k, -1) if t == forced.size else (forced[t], t + 1, 0)
        steps = np.empty((stop - t, 4))
        count, _ = extend(screen, chosen, bounds, t, seen, levels, undecided, picks[t:stop], steps, room)
        if count == 0:
            break
    return t + count


@inner()
def length_bounds(norms, out):
    """Return bounds on ‖X_j‖², exact ones, and bar columns of zeros; for OLS."""
    for j in range(norms.size):
        out[j] = out[j] or norms[j] == 0
    return SquareBounds(norms * norms, norms * norms)


@inner()
def levels_for(levels, r):
    """Return the levels with ‖r‖ as their y_norm, and without a norm at which picks end."""
    return Levels(
        correlation=levels.correlation,
        unit=levels.unit,
        of_squares=levels.of_squares,
        y_norm=math.sqrt(dot(r, r)),
        dependent=levels.dependent,
        floor=-1.0,
    )


@kernel()
def run(X, by_rows, scale, norms, chosen, t, levels, by_length, ties, picks, numbers):
    """Make picks on a small problem, each as long as it is certain; return their number s.

    X, by_rows, scale, norms : see `ScreenedDesign`. chosen : see `SelectedColumns`; t columns are selected.
    by_length : None for OMP, True for OLS.
    ties : see `extend`.
    picks : (k,), filled with the picks.
    numbers : (4, k + 1). For each pick, row 0 has λ*, computed from R unless the pick is tied, row 1 the
        margin, and row 2 ⟨q, r⟩ for its column q of Q. Row 3 has ‖r‖ after each pick, from its second entry
        on.
    """
    steps = np.empty((picks.size, 4))
    bounds = None if by_length is None else length_bounds(norms, chosen.out)
    picks[:] = -1
    screen = design_to_screen(X, by_rows, scale, norms)
    room = empty_workspace(screen, chosen.r.size, t + picks.size)
    s, _ = extend(screen, chosen, bounds, t, -1, levels, ties, picks, steps, room)
    for i in range(s):
        numbers[0, i] = abs(chosen.R[t + i, t + i] * steps[i, 2])  # as in `LeastSquares.lam_star`
        if ties.found.size and ties.found[i, 0] > 1:
            numbers[0, i] = steps[i, 0]
        numbers[1, i], numbers[2, i] = steps[i, 1], steps[i, 2]
        numbers[3, i + 1] = steps[i, 3]
    return s


@kernel()
def select_rows(X, y, rows, scales, forced, levels, by_length, supports):
    """Write the features that are selected on each set of rows to a row of `supports` (b, k).

    A row of `supports` stays as it is if fewer than k features are certain.

    X : (n, d) in C order, without entries whose squares underflow or overflow.
    rows : (b, m). scales : (b, d) the factors of the columns, for each set of rows.
    forced, by_length : see `select`.
    levels : see `Levels`. Its y_norm and its floor are not used.
    """
    b, m = rows.shape
    d, k = X.shape[1], supports.shape[1]
    A = np.empty((m, d))
    r = np.empty(m)
    ones = np.ones(m)
    picks = np.empty(k, np.intp)
    squares = np.empty(d)
    products = np.empty(d)
    zeros = np.zeros(d)
    for s in range(b):
        for i in range(m):
            copy(X[rows[s, i]], A[i])
            r[i] = y[rows[s, i]]
        moments_by_rows(A, ones, ones, zeros, squares, products, 0, d)
        norms = np.sqrt(squares) * scales[s]
        level = levels_for(levels, r)
        if select(A, scales[s], norms, r, forced, level, by_length, picks) == k:
            copy(picks, supports[s])
