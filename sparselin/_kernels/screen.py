"""Certain picks by a copy of the design in 16 bits, X_j ≈ unit_j·q_j with integers |q_ij| ≤ 32767."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import BORROWED, ONCE, inner, kernel
from sparselin._kernels.linear_algebra import find_inverse_column, orthonormalize, project, solve_in_place
from sparselin._kernels.pairs import (
    GUESS,
    LARGEST,
    RoundedVector,
    Strip,
    empty_strip,
    empty_vector,
    fill_copy,
    gamma,
    multiply,
    round_to_pairs,
)
from sparselin._kernels.primitives import copy, dot, subtract

# No entry is NaN, and no result depends on the sign of a zero. So both forms give the same results.
_FINITE = BORROWED | {"fastmath": {"nnan", "nsz"}}
MOST = 64  # the most columns compared in float64
_STALE = 0.25  # as in `linalg.ties`


@inner(**_FINITE)
def _top(x):
    """Return the largest entry of x, or 0 if no entry is positive. One maximum would wait for the last."""
    a = b = c = e = 0.0
    m = x.size - x.size % 4
    for i in range(0, m, 4):
        a = max(a, x[i])
        b = max(b, x[i + 1])
        c = max(c, x[i + 2])
        e = max(e, x[i + 3])
    for i in range(m, x.size):
        a = max(a, x[i])
    return max(max(a, b), max(c, e))


class ScreenedDesign(NamedTuple):
    """The design, its 16-bit copy X_j ≈ unit_j·q_j, and error bounds for products with the copy.

    Attributes
    ----------
    X : the design without scales, (n, d) if `by_rows`, otherwise transposed, (d, n).
    copy : (m, d) int32 if `by_rows`, otherwise transposed. Both are in C order. Entry (p, j) holds two
        integers of 16 bits: that of X_pj in the lower bits, and that of X_{m+p, j} in the upper bits. Beyond
        the last row they are zero. The function `pairs_of` returns m.
    scale : (d,) the columns of the design are scale_j·X_j.
    unit, norms : (d,) the units of the copy, and the norms of the columns of the design.
    error : (d,) bounds on the errors of unit_j⟨q_j, x⟩ for vectors x of length 1, including all rounding, but
        not that of x.
    """

    X: NDArray[np.float64]
    copy: NDArray[np.int32]
    by_rows: bool
    scale: NDArray[np.floating]
    unit: NDArray[np.float64]
    norms: NDArray[np.float64]
    error: NDArray[np.float64]


@inner(**BORROWED, **ONCE)
def _fill(screen, start, stop, strip):
    """Fill the columns start..stop of the 16-bit copy of a design, with their units and errors.

    The error is off_j + γ·(‖X_j‖ + off_j) with off_j = unit_j·√n/2, and a thousandth of off_j more. For
    n ≤ 2²⁴, 0.001·off_j ≥ 1.5e-8·‖X_j‖ exceeds the float64 rounding errors of unit, q, ‖X_j‖ and ‖r‖.
    """
    n = screen.X.shape[0] if screen.by_rows else screen.X.shape[1]
    factor = gamma(n)
    guess = (GUESS / math.sqrt(n) if n > GUESS * GUESS else 1.0) / LARGEST
    for j in range(start, stop):
        screen.unit[j] = guess * screen.norms[j] / screen.scale[j] if screen.norms[j] > 0 else 0.0
    fill_copy(screen.X, screen.by_rows, screen.copy, screen.unit, start, stop, strip)
    for j in range(start, stop):
        screen.unit[j] *= screen.scale[j]
        off = screen.unit[j] * math.sqrt(n) / 2
        screen.error[j] = 1.001 * (off + factor * (screen.norms[j] + off))


@kernel()
def fill(screen, start, stop):
    """Run `_fill` in one of several threads."""
    d = stop - start
    _fill(screen, start, stop, empty_strip(d, np.empty(d), np.empty(d)))


class Levels(NamedTuple):
    """The numbers that bound rounding errors, and the norm at which picks end.

    correlation, unit : the error of ⟨X_j, r⟩ is at most (correlation + unit·g)·‖X_j‖‖y‖, where g is κ, the
        condition number of `ThinQR.kappa`, or κ² if `of_squares` is true (`ErrorModel.growth`).
    y_norm : ‖y‖.
    dependent : the number `unit` of `ThinQR`, which decides whether a column is dependent.
    floor : features stop being added once the norm of the residual is at most this.
    """

    correlation: float
    unit: float
    of_squares: bool
    y_norm: float
    dependent: float
    floor: float


class SelectedColumns(NamedTuple):
    """The arrays of a selection to which picks are added. Its columns S have the factorisation X_S = QR.

    Attributes
    ----------
    Qt, R, norms, inverse : the arrays of a `ThinQR`.
    r : (n,) the residual, which is updated.
    out : (d,) whether a column may not be picked.
    """

    Qt: NDArray[np.floating]
    R: NDArray[np.floating]
    norms: NDArray[np.floating]
    inverse: NDArray[np.floating]
    r: NDArray[np.floating]
    out: NDArray[np.bool_]


class SquareBounds(NamedTuple):
    """Bounds on the squares ρ_j² = ‖X_j‖² − Σ_s⟨q_s, X_j⟩² for the rows q_s of Qt.

    They come from products with the copy. OLS needs them; for OMP, None takes their place.
    """

    least: NDArray[np.floating]
    most: NDArray[np.floating]


class Ties(NamedTuple):
    """The data and the room for a kernel that decides ties. If `found` is empty, ties are left undecided.

    Attributes
    ----------
    y : (n,) the response.
    found : (m, 1 + w) for each of m picks the number of tied columns, and then their indices. The number is
        zero if the pick was certain, or was not searched. w is at least MOST or the number of columns.
    """

    y: NDArray[np.floating]
    found: NDArray[np.intp]


class Workspace(NamedTuple):
    """Arrays for intermediate results. With them, `extend` makes no arrays, and need not count references.

    Attributes
    ----------
    vector : for a column of Q or the residual, rounded.
    strip : for the copy; it shares the arrays of `low` and `high`.
    products : (d,) products with the copy.
    low, high : (d,) bounds on scores.
    column, residual : (n,).
    shares, inverse : (k,) for ⟨q_s, x⟩, and for a column of R⁻¹, if there are at most k columns.
    scores : (3, MOST) numbers of columns that are compared in float64.
    candidates : (MOST,) these columns.
    """

    vector: RoundedVector
    strip: Strip
    products: NDArray[np.float32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    column: NDArray[np.float64]
    residual: NDArray[np.float64]
    shares: NDArray[np.float64]
    inverse: NDArray[np.float64]
    scores: NDArray[np.float64]
    candidates: NDArray[np.intp]


@inner()
def empty_workspace(screen, n, k):
    """Return workspace for a selection of k columns from a design of n rows."""
    d = screen.unit.size
    low = np.empty(d)
    high = np.empty(d)
    return Workspace(
        vector=empty_vector(screen.copy.shape[0 if screen.by_rows else 1]),
        strip=empty_strip(d, low, high),
        products=np.empty(d, np.float32),
        low=low,
        high=high,
        column=np.empty(n),
        residual=np.empty(n),
        shares=np.empty(k),
        inverse=np.empty(k),
        scores=np.empty((3, MOST)),
        candidates=np.empty(MOST, np.intp),
    )


@inner(**BORROWED, **ONCE)
def _bound_scores(screen, chosen, squares, z, slack, delta, low, high):
    """Compute bounds on all scores, divided by ‖r‖. Scores are |c_j|, or |c_j|/ρ_j for OLS.

    Given are the numbers z_j = ⟨q_j, r/‖r‖⟩; unit_j·z_j differs from c_j/‖r‖ by at most
    error_j + slack·‖X_j‖. The bounds on ρ_j hold for the computed Q; the error of Q changes ρ_j by at most
    delta·‖X_j‖.
    """
    for j in range(z.size):
        value = screen.unit[j] * abs(z[j])
        width = screen.error[j] + slack * screen.norms[j]
        low[j], high[j] = value - width, value + width
    if squares is not None:
        for j in range(z.size):
            spread = delta * screen.norms[j]
            shortest = math.sqrt(max(squares.least[j], 0.0)) - spread
            low[j] /= math.sqrt(squares.most[j]) + spread
            high[j] = high[j] / shortest if shortest > 0 else np.inf
    for j in range(z.size):
        low[j] = -np.inf if chosen.out[j] else low[j]
        high[j] = -1.0 if chosen.out[j] else high[j]


@inner(**BORROWED, **ONCE)
def find_candidates(low, high, candidates):
    """Find the columns whose score may be the largest or second largest, given bounds on the scores.

    The columns are written into `candidates`. Returns their number, or −1 if there are too many.
    """
    first = _top(low)
    best = 0
    while best < low.size - 1 and low[best] != first:
        best += 1
    low[best] = -np.inf
    second = _top(low)
    count = 0
    for j in range(low.size):
        if high[j] >= second:
            if count == candidates.size:
                return -1
            candidates[count] = j
            count += 1
    return count


@inner(**BORROWED, **ONCE)
def _read(screen, j, column):
    """Write column j of the design into `column`."""
    X = screen.X
    scale = screen.scale[j]
    if screen.by_rows:
        for i in range(column.size):
            column[i] = X[i, j] * scale
    else:
        for i in range(column.size):
            column[i] = X[j, i] * scale


@inner(**BORROWED, **ONCE)
def _search(screen, z, error_of_x, chosen, squares, t, levels, room):
    """Find the column j, not in `chosen.out`, with the largest score: |c_j|, c = Xᵀr, or for OLS |c_j|/ρ_j.

    Returns j, |c_j|, the relative distance of its score to the next largest, and the number of columns that
    are written into `room.candidates`; or j = −1 if j is not certain. j is certain if no other column may
    have a larger score, given bounds on the errors of scores.
    z, error_of_x : the products of the copy with r/‖r‖, and the `error` of this `RoundedVector`.
    """
    r = chosen.r
    square = 0.0
    for s in range(t):
        square += chosen.inverse[s]
    kappa = max(1.0, math.sqrt(square))
    condition = kappa * kappa if levels.of_squares else kappa
    error = (levels.correlation + levels.unit * condition) * levels.y_norm
    spread = math.hypot(1.0, kappa)
    low, high = room.low, room.high
    column, shares = room.column, room.shares
    value, slack = room.scores[0], room.scores[1]
    candidates = room.candidates
    uncertain = error / math.sqrt(dot(r, r)) + error_of_x
    _bound_scores(screen, chosen, squares, z, uncertain, levels.dependent * spread, low, high)
    count = find_candidates(low, high, candidates)
    best, top = -1, 0.0
    second, lam = 0.0, 0.0
    for l in range(count):
        j = candidates[l]
        norm = screen.norms[j]
        rho = 1.0
        _read(screen, j, column)
        c = abs(dot(column, r))
        value[l] = c
        slack[l] = error * norm
        if squares is not None:
            rho = project(chosen.Qt, t, column, shares)
            if rho <= levels.dependent * norm:
                chosen.out[j], value[l] = True, 0.0
                slack[l] = 0.0
            elif rho <= levels.dependent * spread * norm:
                return -1, 0.0, 0.0, count
            else:
                value[l] /= rho
                unit = max(levels.dependent * spread, error / (rho * levels.y_norm) * norm)
                slack[l] = (slack[l] + value[l] * norm * unit) / rho  # at least that of `Lengths.weights`
        if value[l] > top:
            best, top, second, lam = l, value[l], top, c
        elif value[l] > second:
            second = value[l]
    if best < 0 or top <= slack[best]:
        return -1, 0.0, 0.0, count
    for l in range(count):
        if l != best and value[l] + slack[l] >= top - slack[best]:
            return -1, 0.0, 0.0, count
    return candidates[best], lam, (top - second) / top, count


@inner(**BORROWED, **ONCE)
def _measure(screen, chosen, by_length, t, levels, y, candidates, room):
    """Write the correlations, scores and error bounds of columns to `room.scores`, as `linalg.ties` does.

    Columns in the span of the selected columns get the score and the error zero.
    """
    n = y.size
    r, column = room.residual, room.column
    shares = room.shares[:t]
    c, score, error = room.scores[0], room.scores[1], room.scores[2]
    copy(y, r)
    r_norm = project(chosen.Qt, t, r, shares)
    R = chosen.R[:t, :t]
    norms = chosen.norms
    y_size = _size(R, norms, shares, levels.y_norm)
    for l in range(candidates.size):
        j = candidates[l]
        c[l] = 0.0
        score[l] = 0.0
        error[l] = 0.0
        _read(screen, j, column)
        norm = screen.norms[j]
        plain = dot(column, r)
        rho = project(chosen.Qt, t, column, shares)
        size = _size(R, norms, shares, norm)
        if chosen.out[j] or not rho > levels.dependent * size:
            continue
        stale = rho * rho <= _STALE * norm * norm
        c[l] = dot(column, r) if stale else plain
        longest = rho if stale else norm
        bound = levels.unit * (size * r_norm + rho * y_size + math.sqrt(n) * longest * r_norm)
        score[l] = abs(c[l])
        if by_length:
            score[l] /= rho
            bound = (bound + score[l] * min(levels.dependent * size, levels.unit * size * size / rho)) / rho
        error[l] = bound


@inner(**BORROWED)
def _size(R, norms, b, norm):
    """Return the size of a column x with Qᵀx = b and the given norm, and change b; see `ThinQR.sizes`."""
    solve_in_place(R, b)
    for s in range(b.size):
        b[s] *= norms[s]
    return math.sqrt(norm * norm + dot(b, b))


@inner(**BORROWED, **ONCE)
def _lowest_of_ties(screen, chosen, squares, t, levels, m, ties, s, room):
    """Return the lowest index of the columns with the largest score, to the bounds of `linalg.ties`.

    The tied columns are written to row s of `ties.found`. The other results are those of `_search`. The index
    is −1 if all scores are zero to rounding.

    m : the number of `room.candidates`, the columns whose score may be the largest or second largest. So
        neither the ties nor the margin depend on other columns.
    """
    by_length = squares is not None
    candidates = room.candidates[:m]
    c, score, error = room.scores[0], room.scores[1], room.scores[2]
    _measure(screen, chosen, by_length, t, levels, ties.y, candidates, room)
    least = 0.0
    for l in range(m):
        least = max(least, score[l] - error[l])
    best, count = -1, 0
    top, second = 0.0, 0.0
    found = ties.found[s]
    for l in range(m):
        if score[l] + error[l] > 0 and score[l] + error[l] >= least:
            count += 1
            found[count] = candidates[l]
            top = max(top, score[l])
            if best < 0 and score[l] > error[l]:
                best = l
    if best < 0:
        return -1, 0.0, 0.0
    found[0] = count
    for l in range(m):
        if l != best:
            second = max(second, score[l])
    return candidates[best], abs(c[best]) if by_length else top, max(0.0, (top - second) / top)


@inner(**BORROWED, **ONCE)
def _shorten(screen, Qt, squares, start, stop, room):
    """Update the bounds on ρ_j² by the columns q_s of Q, start ≤ s < stop.

    |⟨q_s, X_j⟩| differs from unit_j·|z_j| by at most error_j and the error of x. This is at least
    1.5e-5·‖X_j‖ and exceeds the rounding errors of float64.
    """
    x, z = room.vector, room.products
    for s in range(start, stop):
        round_to_pairs(Qt[s], 1.0, x)
        multiply(screen.copy, screen.by_rows, x, z, 0, z.size)
        for j in range(z.size):
            product = screen.unit[j] * abs(z[j])
            error = screen.error[j] + x.error[0] * screen.norms[j]
            low = max(product - error, 0.0)
            high = product + error
            squares.least[j] -= high * high
            squares.most[j] = max(squares.most[j] - low * low, 0.0)


@kernel()
def certain_pick(screen, z, error_of_x, chosen, t, levels):
    """Return the pick of `_search` for OMP, without its candidates."""
    room = empty_workspace(screen, chosen.r.size, t)
    j, lam, margin, _ = _search(screen, z, error_of_x, chosen, None, t, levels, room)
    return j, lam, margin


@kernel()
def add_picks(screen, chosen, squares, t, seen, levels, ties, picks, steps):
    """Run `extend`."""
    room = empty_workspace(screen, chosen.r.size, t + picks.size)
    return extend(screen, chosen, squares, t, seen, levels, ties, picks, steps, room)


@inner(**BORROWED)
def extend(screen, chosen, squares, t, seen, levels, ties, picks, steps, room):
    """Add picks to t selected columns while they are certain, at most picks.size.

    ties : see `Ties`. The lowest of tied columns is picked.
    squares : `SquareBounds` for OLS, None for OMP.
    seen : the number of columns of Q that `squares` allows for, or −1 if the 16-bit copy is yet to be made.
    picks : −1 for each pick that is to be searched. The function fills them in until one is not certain.
    steps : row s has λ* and the margin of pick s, if it was searched; ⟨q, r⟩ for the column q of Q that the
        pick adds; and ‖r‖ afterwards.

    Returns the number of columns added, and the new `seen`. Picks end if a column is in the span of the
    columns before it, or if ‖r‖ is at most `levels.floor`.
    """
    Qt, R, r = chosen.Qt, chosen.R, chosen.r
    x, z = room.vector, room.products
    if seen < 0:
        seen = 0
        _fill(screen, 0, z.size, room.strip)
    for s in range(picks.size):
        if picks[s] < 0:
            if squares is not None:
                _shorten(screen, Qt, squares, seen, t + s, room)
            seen = t + s
            length = math.sqrt(dot(r, r))
            if length > 0:
                round_to_pairs(r, length, x)
                multiply(screen.copy, screen.by_rows, x, z, 0, z.size)
                picks[s], steps[s, 0], steps[s, 1], count = _search(
                    screen, z, x.error[0], chosen, squares, t + s, levels, room
                )
                if ties.found.size and picks[s] < 0 and count > 0:
                    picks[s], steps[s, 0], steps[s, 1] = _lowest_of_ties(
                        screen, chosen, squares, t + s, levels, count, ties, s, room
                    )
        j = picks[s]
        if j < 0 or t + s == r.size:
            return s, seen
        q = Qt[t + s]
        _read(screen, j, q)
        chosen.norms[t + s] = screen.norms[j]
        orthonormalize(Qt, R, chosen.norms, t + s, t + s, room.inverse)
        square = find_inverse_column(R, chosen.norms, t + s, room.inverse[: t + s + 1])
        if not square * levels.dependent * levels.dependent < 1:  # as in `ThinQR`
            return s, seen
        chosen.inverse[t + s] = square
        chosen.out[j] = True
        steps[s, 2] = dot(q, r)
        subtract(steps[s, 2], q, r)
        steps[s, 3] = math.sqrt(dot(r, r))
        if steps[s, 3] <= levels.floor:
            return s + 1, seen
    return picks.size, seen
