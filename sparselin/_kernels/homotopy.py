"""The LASSO homotopy on the Gram matrix of some columns, one clean event at a time.

H (M, M) is XᵀX for M columns, c0 their Xᵀy. `order[:p]` are the nonzero ones, the first `n_free` of them
without penalty (sign 0), and L (by rows) is the Cholesky factor of H on them. At a point λ, β of the
path, with s the signs, c = c0 − Hβ and b = Hw for H_PP w = s, going down to λ − δ means

    β + δw,   c − δb,   c_P = λs all the way,

until a column outside meets ±λ or a coefficient meets zero. Every point is checked as it is passed: c
is computed afresh from β, must satisfy the KKT conditions to rounding, and what it lacks of λs on P
is solved for and added to β. So rounding does not pile up, and the square of the condition number, which
H carries, costs accuracy only in w, where it shortens or lengthens a step that the next check sees.
Whatever is not clear beyond rounding (ties, columns nearly dependent, a λ that is not large against the
errors of c) is left to the caller.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import VECTORIZED, kernel

# How a run ended: at the limit of points or of fresh columns, at the end, before a point that is not
# clear, or for want of room in L.
LIMIT, DONE, DECLINED, FULL = range(4)

# A column is nearly dependent on others when ‖P^⊥X_j‖² is below this share of ‖X_j‖²: then H, which
# knows squares to eps, says too little about it.
_DEPENDENT = 1e-9

# The correction of β may shift Xβ by this share of its size at most: what it leaves undone, of the second
# order, is then below rounding.
_CORRECTED = 1e-9

# The errors of c may be this share of λ.
_CLEAR = 1e-4

# Two values of λ this near to each other, relatively, are not told apart.
_STEP = 1e-13


class Columns(NamedTuple):
    """The M columns.

    Attributes
    ----------
    H, c0, norms : XᵀX (M, M), Xᵀy and ‖X_j‖ (M,).
    y_norm : ‖y‖.
    unit : of rounding; the errors of c are about unit·‖X_j‖(‖y‖ + Σ‖X_l‖|β_l|).
    longest : the largest norm of all columns, candidates or not.
    rank : how many independent columns span everything.
    """

    H: NDArray[np.float64]
    c0: NDArray[np.float64]
    norms: NDArray[np.float64]
    y_norm: float
    unit: float
    longest: float
    rank: int


class Place(NamedTuple):
    """A point of the path.

    Attributes
    ----------
    state : p, and the place in `order` of the column that has just entered, or −1.
    lam : λ (1,).
    order, sign, beta : (room,), the columns that are nonzero, their s and β, p in use.
    L : (room, room), the Cholesky factor.
    n_free : how many have no penalty.
    """

    state: NDArray[np.intp]
    lam: NDArray[np.float64]
    order: NDArray[np.intp]
    sign: NDArray[np.float64]
    beta: NDArray[np.float64]
    L: NDArray[np.float64]
    n_free: int


class Until(NamedTuple):
    """Where a run stops: at λ_min, after `limit` points, or once `quota` columns that are `fresh` entered."""

    lam_min: float
    limit: int
    quota: int
    fresh: NDArray[np.bool_]


class Trail(NamedTuple):
    """What is written of the points passed, unless `coef` has no rows.

    Attributes
    ----------
    coef, lams, sizes : (limit, M), (limit,): β, λ and ‖y‖ + Σ‖X_j‖|β_j|.
    events : (limit,), j + 1 for an entry, −(j + 1) for an exit, 0 for the end.
    """

    coef: NDArray[np.float64]
    lams: NDArray[np.float64]
    sizes: NDArray[np.float64]
    events: NDArray[np.intp]


class Work(NamedTuple):
    """Room for what is computed anew at each point.

    Attributes
    ----------
    z, w, lack, extra : (room,), L⁻¹s, w, what c lacks of λs on P, and what that adds to β.
    c, b, error, level : (M,), the first two zero on P; bounds on the errors of c; see `entries`.
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    lack: NDArray[np.float64]
    extra: NDArray[np.float64]
    c: NDArray[np.float64]
    b: NDArray[np.float64]
    error: NDArray[np.float64]
    level: NDArray[np.float64]


@kernel(**VECTORIZED)
def append(H, order, k, L):
    """Row k of L, for the column order[k]; False when it is nearly dependent on those before."""
    row, source = L[k], H[order[k]]
    square = source[order[k]]
    least = _DEPENDENT * square
    for l in range(k):
        other = L[l]
        total = source[order[l]]
        for i in range(l):
            total -= other[i] * row[i]
        total /= other[l]
        row[l] = total
        square -= total * total
    if square <= least:
        return False
    row[k] = math.sqrt(square)
    return True


@kernel(**VECTORIZED)
def factor(H, order, p, L):
    """L for order[:p]; False when columns are nearly dependent."""
    independent = True
    for k in range(p):
        independent = independent and append(H, order, k, L)
    return independent


@kernel(**VECTORIZED)
def delete(L, p, k):
    """L without the column k of p: the rows below move up, rotations restore the triangle.

    Each row takes the rotations of the rows above it in turn, then makes the one that clears what
    sticks out of it.
    """
    cosine, sine = np.empty(p), np.empty(p)
    for i in range(k, p - 1):
        below, row = L[i + 1], L[i]
        for l in range(k):
            row[l] = below[l]
        carried = below[k]
        for l in range(k, i):
            row[l] = cosine[l] * carried + sine[l] * below[l + 1]
            carried = cosine[l] * below[l + 1] - sine[l] * carried
        pivot = math.hypot(carried, below[i + 1])
        cosine[i], sine[i] = carried / pivot, below[i + 1] / pivot
        row[i] = pivot


@kernel(**VECTORIZED)
def forward(L, start, p, rhs, z):
    """Entries start..p of z = L⁻¹·rhs, the earlier ones being there."""
    for k in range(start, p):
        row = L[k]
        total = rhs[k]
        for i in range(k):
            total -= row[i] * z[i]
        z[k] = total / row[k]


@kernel(**VECTORIZED)
def backward(L, p, z, x):
    """x = L⁻ᵀz."""
    for k in range(p):
        x[k] = z[k]
    for k in range(p - 1, -1, -1):
        row = L[k]
        x[k] /= row[k]
        share = x[k]
        for i in range(k):
            x[i] -= share * row[i]


@kernel(**VECTORIZED)
def solve(L, p, rhs, x):
    """x = (LLᵀ)⁻¹·rhs."""
    z = np.empty(p)
    forward(L, 0, p, rhs, z)
    backward(L, p, z, x)


@kernel(**VECTORIZED)
def correlate(H, order, p, beta, w, c, b):
    """c ← c − Hβ and b ← b + Hw, four rows of H a pass."""
    M = c.size
    for k in range(0, p - 3, 4):
        h1, h2, h3, h4 = H[order[k]], H[order[k + 1]], H[order[k + 2]], H[order[k + 3]]
        beta1, beta2, beta3, beta4 = beta[k], beta[k + 1], beta[k + 2], beta[k + 3]
        w1, w2, w3, w4 = w[k], w[k + 1], w[k + 2], w[k + 3]
        for j in range(M):
            c[j] -= (beta1 * h1[j] + beta2 * h2[j]) + (beta3 * h3[j] + beta4 * h4[j])
            b[j] += (w1 * h1[j] + w2 * h2[j]) + (w3 * h3[j] + w4 * h4[j])
    for k in range(p - p % 4, p):
        row, beta1, w1 = H[order[k]], beta[k], w[k]
        for j in range(M):
            c[j] -= beta1 * row[j]
            b[j] += w1 * row[j]


@kernel(**VECTORIZED)
def any_above(p, lack, order, norms, bound):
    """Whether what c lacks of λs on P is more than rounding."""
    above = False
    for k in range(p):
        above |= abs(lack[k]) > bound * norms[order[k]]
    return above


@kernel(**VECTORIZED)
def examine(columns, place, work):
    """The direction w, c, b and the errors of c at a place, and what c lacks there.

    Returns ‖y‖ + Σ‖X_j‖|β_j|, the square of what correcting β adds to Xβ, and what times ‖X_j‖ bounds the
    error of c_j on the way to λ = 0.
    """
    p, lam, order, sign, beta = place.state[0], place.lam[0], place.order, place.sign, place.beta
    w, lack, extra, c, b, error, norms = (
        work.w, work.lack, work.extra, work.c, work.b, work.error, columns.norms,
    )  # fmt: skip
    backward(place.L, p, work.z, w)
    c[:], b[:] = columns.c0, 0
    correlate(columns.H, order, p, beta, w, c, b)
    size, slope = columns.y_norm, 0.0
    for k in range(p):
        j = order[k]
        size += norms[j] * abs(beta[k])
        slope += norms[j] * abs(w[k])
        lack[k] = c[j] - lam * sign[k]
        c[j] = b[j] = 0
    shift = 0.0
    if any_above(p, lack, order, norms, columns.unit * size):
        solve(place.L, p, lack, extra)
        for k in range(p):
            shift += lack[k] * extra[k]
    else:
        for k in range(p):
            extra[k] = 0
    bound = columns.unit * (size + lam * slope) + math.sqrt(max(shift, 0.0))
    for j in range(error.size):
        error[j] = norms[j] * bound
    for k in range(p):
        error[order[k]] = 0
    return size, shift, bound


@kernel(**VECTORIZED)
def violations(lam, c, error):
    """How many columns have |c| > λ beyond rounding."""
    count = 0
    for j in range(c.size):
        count += abs(c[j]) > lam + error[j]
    return count


@kernel(**VECTORIZED)
def entries(lam, full, work):
    """λ at which each column would enter: with a = c − λb, what c is at λ = 0, that is

        |a|/(1 − sign(a)·b).

    Where a is zero to rounding there is none: if the columns of P span everything (`full`) it is zero, and
    else what it may be bounds the λ at which the column might yet enter. Returns the largest of these bounds,
    and how many columns are at ±λ now and not clearly on their way from there, to the opposite face.
    """
    c, b, error, level = work.c, work.b, work.error, work.level
    tied, unknown = 0, 0
    for j in range(c.size):
        a = c[j] - lam * b[j]
        s = 1.0 if a > 0 else -1.0
        size = s * a
        room = 1 - s * b[j]
        level[j] = size / room if (size > error[j]) & (room > 0) else 0.0
        tied += (lam - abs(c[j]) <= error[j]) & ((s * c[j] > 0) | (size <= 2 * error[j]))
        unknown += size < error[j]
    doubt = 0.0
    if full:
        level[:] = 0
    elif unknown > 0:
        for j in range(c.size):
            size = abs(c[j] - lam * b[j])
            if size < error[j]:
                doubt = max(doubt, (size + error[j]) / max(1 - abs(b[j]), _STEP))
    return doubt, tied


@kernel(**VECTORIZED)
def first_exit(place, w):
    """The place in P of the first coefficient to reach zero, and λ there; −1 if there is none."""
    lam, sign, beta = place.lam[0], place.sign, place.beta
    first, top = -1, 0.0
    for k in range(place.n_free, place.state[0]):
        if sign[k] * w[k] < 0:
            level = lam + beta[k] / w[k]
            if level > top:
                first, top = k, level
    return first, top


@kernel(**VECTORIZED)
def next_event(columns, place, work, bound, lam_min):
    """λ of the next event, the column that enters or −1, the place in P that leaves or −1; if it is clear."""
    p, lam, sign, beta, w, level = place.state[0], place.lam[0], place.sign, place.beta, work.w, work.level
    doubt, tied = entries(lam, p == columns.rank, work)
    clear = tied == 0 and bound * columns.longest <= _CLEAR * lam
    for k in range(place.n_free, p):
        clear &= beta[k] != 0 or sign[k] * w[k] > 0
    entry = int(np.argmax(level))
    leaving, exit_level = first_exit(place, w)
    below = max(level[entry], exit_level)
    clear &= below < lam * (1 - _STEP) and doubt <= max(below, lam_min)
    if level[entry] >= exit_level:
        leaving = -1
    else:
        entry = -1
    return below, entry, leaving, clear


@kernel(**VECTORIZED)
def correct(place, extra):
    """β + extra; zero where rounding has carried it past zero, or it has just entered."""
    n_free, entered, sign, beta = place.n_free, place.state[1], place.sign, place.beta
    for k in range(place.state[0]):
        beta[k] += extra[k]
        if k >= n_free and (k == entered or sign[k] * beta[k] < 0):
            beta[k] = 0


@kernel(**VECTORIZED)
def unbalanced(columns, place, bound):
    """Whether c = c0 − Hβ differs from λs on P by more than bound·‖X_j‖."""
    p, lam, order, sign, beta = place.state[0], place.lam[0], place.order, place.sign, place.beta
    H, c0, norms = columns.H, columns.c0, columns.norms
    off = False
    for k in range(p):
        row = H[order[k]]
        total = c0[order[k]] - lam * sign[k]
        for l in range(p):
            total -= row[order[l]] * beta[l]
        off |= abs(total) > bound * norms[order[k]]
    return off


@kernel(**VECTORIZED)
def settle(place, clear):
    """The place is clear: what is known of it goes to `clear`."""
    p, order, sign, beta = place.state[0], place.order, place.sign, place.beta
    to_order, to_sign, to_beta = clear.order, clear.sign, clear.beta
    clear.state[0], clear.state[1], clear.lam[0] = p, place.state[1], place.lam[0]
    for k in range(p):
        to_order[k], to_sign[k], to_beta[k] = order[k], sign[k], beta[k]


@kernel(**VECTORIZED)
def record(trail, i, place, size, event):
    """Write point i."""
    trail.lams[i], trail.sizes[i], trail.events[i] = place.lam[0], size, event
    row, order, beta = trail.coef[i], place.order, place.beta
    for j in range(row.size):
        row[j] = 0
    for k in range(place.state[0]):
        row[order[k]] = beta[k]


@kernel(**VECTORIZED)
def move(place, work, below, entry, leaving):
    """Down to λ = below, where a column enters, one leaves, or neither; returns the event."""
    p, order, sign, beta = place.state[0], place.order, place.sign, place.beta
    gap, w = place.lam[0] - below, work.w
    for k in range(p):
        beta[k] += gap * w[k]
    place.lam[0] = below
    place.state[1] = -1
    if entry >= 0:
        order[p], sign[p], beta[p] = entry, 1.0 if work.c[entry] > gap * work.b[entry] else -1.0, 0.0
        forward(place.L, p, p + 1, sign, work.z)
        place.state[0], place.state[1] = p + 1, p
        return entry + 1
    if leaving < 0:
        return 0
    event = -1 - order[leaving]
    delete(place.L, p, leaving)
    for k in range(leaving, p - 1):
        order[k], sign[k], beta[k] = order[k + 1], sign[k + 1], beta[k + 1]
    forward(place.L, leaving, p - 1, sign, work.z)
    place.state[0] = p - 1
    return event


@kernel(**VECTORIZED)
def follow(columns, reached, until, trail):
    """Follow the path from the place `reached`, and write the points passed.

    `reached` becomes the last one that is clear (but its L may be one ahead, if DECLINED). Returns how the
    run ended and how many points it passed.
    """
    M, room = len(columns.c0), len(reached.order)
    work = Work(
        np.empty(room), np.empty(room), np.empty(room), np.empty(room),
        np.empty(M), np.empty(M), np.empty(M), np.empty(M),
    )  # fmt: skip
    place = Place(
        reached.state.copy(), reached.lam.copy(), reached.order.copy(), reached.sign.copy(),
        reached.beta.copy(), reached.L, reached.n_free,
    )  # fmt: skip
    forward(place.L, 0, place.state[0], place.sign, work.z)
    passed, event, found, ended = -1, 0, 0, False
    below, entry, leaving = until.lam_min, -1, -1
    while True:
        size, shift, bound = examine(columns, place, work)
        clear = shift <= (_CORRECTED * size) ** 2 and violations(place.lam[0], work.c, work.error) == 0
        if clear and not ended:
            below, entry, leaving, clear = next_event(columns, place, work, bound, until.lam_min)
        if clear:
            correct(place, work.extra)
            # a correction that was cut off, or too inexact itself, leaves β off the path
            clear = not (shift > 0 and unbalanced(columns, place, 4 * columns.unit * size))
        if not clear:
            return DECLINED, max(passed, 0)
        settle(place, reached)
        if passed >= 0 and len(trail.coef) > 0:
            record(trail, passed, place, size, event)
        passed += 1
        if ended:
            return DONE, passed
        if passed == until.limit or found >= until.quota:
            return LIMIT, passed
        ended = below <= until.lam_min
        if ended:
            below, entry, leaving = until.lam_min, -1, -1
        if entry >= 0:
            p = place.state[0]
            if p == room:
                return FULL, passed
            place.order[p] = entry
            if not append(columns.H, place.order, p, place.L):
                return DECLINED, passed
            found += until.fresh[entry]
        event = move(place, work, below, entry, leaving)


@kernel(**VECTORIZED)
def first_violations(c0, products, lams, slack, norms, start, first):
    """first[j] for the columns start + (0..width − 1) of c = c0 − products (m, width): the first of m points
    at which |c_j| > λ + slack·‖X_j‖; it is left alone where there is none.
    """
    m, width = products.shape
    for i in range(m - 1, -1, -1):
        row, lam, room = products[i], lams[i], slack[i]
        for l in range(width):
            j = start + l
            if abs(c0[j] - row[l]) > lam + room * norms[j]:
                first[j] = i
