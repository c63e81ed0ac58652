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

import numpy as np

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
def correlate(H, order, p, M, beta, w, c0, c, b):
    """c = c0 − Hβ and b = Hw, four rows of H a pass."""
    for j in range(M):
        c[j] = c0[j]
        b[j] = 0
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
def violations(M, lam, c, error):
    """How many columns have |c| > λ beyond rounding."""
    count = 0
    for j in range(M):
        count += abs(c[j]) > lam + error[j]
    return count


@kernel(**VECTORIZED)
def entries(M, lam, c, b, error, level, full):
    """λ at which each column would enter: with a = c − λb, what c is at λ = 0, that is

        |a|/(1 − sign(a)·b).

    Where a is zero to rounding there is none: if the columns of P span everything (`full`) it is zero, and
    else what it may be bounds the λ at which the column might yet enter. Returns the largest of these bounds,
    and how many columns are at ±λ now and not clearly on their way from there, to the opposite face.
    """
    tied, unknown = 0, 0
    for j in range(M):
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
        for j in range(M):
            size = abs(c[j] - lam * b[j])
            if size < error[j]:
                doubt = max(doubt, (size + error[j]) / max(1 - abs(b[j]), _STEP))
    return doubt, tied


@kernel(**VECTORIZED)
def first_exit(n_free, p, lam, sign, beta, w):
    """The place in P of the first coefficient to reach zero, and λ there; −1 if there is none."""
    place, top = -1, 0.0
    for k in range(n_free, p):
        if sign[k] * w[k] < 0:
            level = lam + beta[k] / w[k]
            if level > top:
                place, top = k, level
    return place, top


@kernel(**VECTORIZED)
def remove(order, sign, beta, L, z, p, k):
    """Take place k out of P."""
    delete(L, p, k)
    for l in range(k, p - 1):
        order[l], sign[l], beta[l] = order[l + 1], sign[l + 1], beta[l + 1]
    forward(L, k, p - 1, sign, z)


@kernel(**VECTORIZED)
def any_above(p, lack, order, norms, bound):
    """Whether what c lacks of λs on P is more than rounding."""
    above = False
    for k in range(p):
        above |= abs(lack[k]) > bound * norms[order[k]]
    return above


@kernel(**VECTORIZED)
def correct(p, n_free, extra, entered, sign, beta):
    """β + extra; zero where rounding has carried it past zero, or it has just entered."""
    for k in range(p):
        beta[k] += extra[k]
        if k >= n_free and (k == entered or sign[k] * beta[k] < 0):
            beta[k] = 0


@kernel(**VECTORIZED)
def unbalanced(H, c0, order, p, lam, sign, beta, norms, bound):
    """Whether c = c0 − Hβ differs from λs on P by more than bound·‖X_j‖."""
    off = False
    for k in range(p):
        row = H[order[k]]
        total = c0[order[k]] - lam * sign[k]
        for l in range(p):
            total -= row[order[l]] * beta[l]
        off |= abs(total) > bound * norms[order[k]]
    return off


@kernel(**VECTORIZED)
def follow(
    H,
    c0,
    norms,
    M,
    unit,
    y_norm,
    longest,
    lam_min,
    rank,
    n_free,
    fresh,
    quota,
    limit,
    state,
    point,
    order,
    sign,
    beta,
    L,
    coefs,
    lams,
    sizes,
    events,
):
    """Follow the path from a point down to λ_min, and write the points passed.

    state, point : p, the place that has just entered or −1; λ. They, order, sign and beta hold the point
        reached at the end, the last one that is clear (but L may be one ahead: then see DECLINED).
    longest : the largest norm of all columns.
    rank : how many independent columns span everything.
    fresh, quota : the run stops once it has passed the entries of `quota` columns that are `fresh` (M,).
    limit : the most points to pass.
    coefs (limit, M), lams, sizes, events (limit,) : β, λ, ‖y‖ + Σ‖X_j‖|β_j| and j + 1 for an entry, −(j + 1)
        for an exit, 0 for the end; not written when `coefs` has no rows.

    Returns how it ended and how many points it passed.
    """
    room = L.shape[0]
    p, entered, lam = state[0], state[1], point[0]
    z, w, lack, extra = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    c, b, error, level = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    order0, sign0, beta0 = order.copy(), sign.copy(), beta.copy()
    forward(L, 0, p, sign, z)
    passed, ended, event, found = -1, False, 0, 0
    while True:
        backward(L, p, z, w)
        correlate(H, order, p, M, beta, w, c0, c, b)
        size, slope = y_norm, 0.0
        for k in range(p):
            j = order[k]
            size += norms[j] * abs(beta[k])
            slope += norms[j] * abs(w[k])
            lack[k] = c[j] - lam * sign[k]
            c[j] = b[j] = 0
        shift = 0.0
        if any_above(p, lack, order, norms, unit * size):
            solve(L, p, lack, extra)
            for k in range(p):
                shift += lack[k] * extra[k]
        else:
            for k in range(p):
                extra[k] = 0
        clear = shift <= (_CORRECTED * size) ** 2
        bound = unit * (size + lam * slope) + math.sqrt(max(shift, 0.0))
        for j in range(M):
            error[j] = norms[j] * bound
        for k in range(p):
            error[order[k]] = 0
        clear &= violations(M, lam, c, error) == 0
        exit_place, exit_level, entry, below = -1, 0.0, 0, 0.0
        if not ended:
            doubt, tied = entries(M, lam, c, b, error, level, p == rank)
            clear &= tied == 0 and bound * longest <= _CLEAR * lam
            for k in range(n_free, p):
                clear &= beta[k] != 0 or sign[k] * w[k] > 0
            entry = int(np.argmax(level))
            exit_place, exit_level = first_exit(n_free, p, lam, sign, beta, w)
            below = max(level[entry], exit_level)
            clear &= below < lam * (1 - _STEP) and doubt <= max(below, lam_min)
        if not clear:
            status = DECLINED
            break
        correct(p, n_free, extra, entered, sign, beta)
        # a correction that was cut off, or too inexact itself, leaves β off the path
        if shift > 0 and unbalanced(H, c0, order, p, lam, sign, beta, norms, 4 * unit * size):
            status = DECLINED
            break
        state[0], state[1], point[0] = p, entered, lam
        for k in range(p):
            order0[k], sign0[k], beta0[k] = order[k], sign[k], beta[k]
        if passed >= 0 and len(coefs) > 0:
            lams[passed], sizes[passed], events[passed] = lam, size, event
            for j in range(M):
                coefs[passed, j] = 0
            for k in range(p):
                coefs[passed, order[k]] = beta[k]
        passed += 1
        if ended:
            status = DONE
            break
        if passed == limit or found >= quota:
            status = LIMIT
            break

        enters = level[entry] >= exit_level
        ended = below <= lam_min
        if ended:
            below, event, entered = lam_min, 0, -1
        elif enters:
            if p == room:
                status = FULL
                break
            order[p] = entry
            if not append(H, order, p, L):
                status = DECLINED
                break
        for l in range(p):
            beta[l] += (lam - below) * w[l]
        if not ended and enters:
            sign[p] = 1.0 if c[entry] > (lam - below) * b[entry] else -1.0
            beta[p] = 0
            forward(L, p, p + 1, sign, z)
            event, entered, found = entry + 1, p, found + fresh[entry]
            p += 1
        elif not ended:
            event, entered = -1 - order[exit_place], -1
            remove(order, sign, beta, L, z, p, exit_place)
            p -= 1
        lam = below
    for k in range(state[0]):
        order[k], sign[k], beta[k] = order0[k], sign0[k], beta0[k]
    return status, max(passed, 0)


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
