"""The LASSO homotopy on the Gram matrix of some columns, one simple event at a time.

Let X have M columns, H = XᵀX (M, M) and c0 = Xᵀy. `order[:p]` are the columns P with nonzero coefficients,
and the first `n_free` of them, the set S, have no penalty (sign 0). L (by rows) is the Cholesky factor of
H_PP. Let λ, β be a point of the path, s the signs of β on P, c = c0 − Hβ, w the solution of H_PP w = s, and
b = Hw. The path from λ to λ − δ is

    β + δw,   c − δb,   c_P = (λ − δ)s,

until |c_j| = λ − δ for a column outside P, or a coefficient becomes zero. If β ≥ 0 is required, c_j takes the
place of |c_j|. Both are max(c_j, below·c_j) where this maximum is positive: `below` is −1 for |c_j|, and 0
for c_j.

Every point on the way is checked: c is recomputed from β and must satisfy the KKT conditions to rounding, and
β is corrected by the solution for the residual c_P − λs. If a correction was needed, the point is checked
again. So rounding errors do not accumulate. The squared condition number of H affects only w. Through w it
affects the length of a step, and the next check corrects this error.

The caller must decide everything that rounding leaves undecided: ties, nearly dependent columns, and a λ that
is not large compared with the errors of c.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import copy, dot

# The ways in which a run can end: at the limit of points, at the end of the path, before
# a point that rounding leaves undecided, or because L is full.
LIMIT, DONE, DECLINED, FULL = range(4)

# A column is nearly dependent on others if ‖P^⊥X_j‖² is below this times ‖X_j‖². H is then too inaccurate,
# because squares are known from H only to eps.
_DEPENDENT = 1e-9

# The correction of β may change Xβ by at most this, relatively. Then the remaining error, of second order, is
# below rounding.
_CORRECTED = 1e-9

# The errors of c are at most this times λ.
_MAX_ERROR = 1e-4

# Two values of λ count as equal up to this, relatively.
_STEP = 1e-13

# S, |S| = t, counts as well conditioned if ‖D R⁻¹‖_F/√t is at most this, where D = diag ‖X_j‖ and X_S = QR;
# it is 1 for orthogonal columns. The error bounds of the kernels do not contain the condition number of X_S;
# their safety factor of 8 covers it. If S is not well conditioned, the slower `Homotopy` is used.
SPREAD = 8.0


class Columns(NamedTuple):
    """The M columns on which the path is followed, by their Gram matrix.

    Attributes
    ----------
    H, c0, norms : XᵀX (M, M), Xᵀy and ‖X_j‖ (M,).
    y_norm : ‖y‖.
    unit : the rounding unit; the errors of c = Xᵀ(y − Xβ) are about unit·‖X_j‖(‖y‖ + Σ‖X_l‖|β_l|).
    longest : the largest norm of all columns of the design, in H or not.
    rank : the number of independent columns that span the sample space.
    below : −1, or 0 if β ≥ 0 is required of the penalised columns: max(c_j, below·c_j) is compared with λ.
    """

    H: NDArray[np.float64]
    c0: NDArray[np.float64]
    norms: NDArray[np.float64]
    y_norm: float
    unit: float
    longest: float
    rank: int
    below: float


class Place(NamedTuple):
    """A point of the path. Arrays have space for `capacity` columns; the first p entries are in use.

    Attributes
    ----------
    state : (2,) p, and the position in `order` of the column that has just entered, or −1.
    lam : (1,) λ.
    order, sign, beta : (capacity,) the columns P with β_j ≠ 0, their signs s and their β. The columns without
        penalty come first.
    L : (capacity, capacity) the Cholesky factor of XᵀX on these columns.
    n_free : the number of columns without penalty.
    """

    state: NDArray[np.intp]
    lam: NDArray[np.float64]
    order: NDArray[np.intp]
    sign: NDArray[np.float64]
    beta: NDArray[np.float64]
    L: NDArray[np.float64]
    n_free: int


class Until(NamedTuple):
    """The limits of a run, which ends at the first limit that it reaches.

    lam_min : the least λ.
    limit : the largest number of points.
    """

    lam_min: float
    limit: int


class Trail(NamedTuple):
    """The record of the points that a run passes; nothing is recorded if `coef` has no rows.

    Attributes
    ----------
    coef, lams, sizes : (limit, M), (limit,), (limit,) the solution β, λ and ‖y‖ + Σ‖X_j‖|β_j| at each point.
    events : (limit,) j + 1 if column j enters at the point, −(j + 1) if it leaves, and 0 at the end.
    """

    coef: NDArray[np.float64]
    lams: NDArray[np.float64]
    sizes: NDArray[np.float64]
    events: NDArray[np.intp]


class Work(NamedTuple):
    """Workspace for the quantities at a point (λ, β) of the path.

    P are the columns with β_j ≠ 0, s their signs, H = XᵀX, L the Cholesky factor of H_PP, and c0 = Xᵀy.

    Attributes
    ----------
    z, w : (capacity,) L⁻¹s, and w with H_PP w = s.
    residual, extra : (capacity,) c_P − λs, and the correction of β that removes this residual.
    c, b : (M,) c = c0 − Hβ and b = Hw, both set to zero on P.
    error : (M,) bounds on the errors of c.
    entry : (M,) the λ at which each column would enter (see `entries`).
    """

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    residual: NDArray[np.float64]
    extra: NDArray[np.float64]
    c: NDArray[np.float64]
    b: NDArray[np.float64]
    error: NDArray[np.float64]
    entry: NDArray[np.float64]


@inner()
def append(H, order, k, L):
    """Compute the next row k of the Cholesky factor L of H, whose columns are in the order `order`.

    Returns False if column order[k] is nearly dependent on the columns before it.
    """
    row = L[k]
    source = H[order[k]]
    square = source[order[k]]
    least = _DEPENDENT * square
    for l in range(k):
        total = (source[order[l]] - dot(L[l, :l], row[:l])) / L[l, l]
        row[l] = total
        square -= total * total
    if square <= least:
        return False
    row[k] = math.sqrt(square)
    return True


@kernel()
def factor(H, order, p, L):
    """Compute the Cholesky factor L of H on the columns order[:p]; False if they are nearly dependent."""
    independent = True
    for k in range(p):
        independent = independent and append(H, order, k, L)
    return independent


@kernel()
def delete(L, p, k):
    """Remove column k of p columns from the Cholesky factor L, in place.

    The rows below row k move up, and Givens rotations restore the triangle. The rotations of the earlier rows
    are applied to each row that has moved, and then the rotation that eliminates its last entry.
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
        cosine[i] = carried / pivot
        sine[i] = below[i + 1] / pivot
        row[i] = pivot


@inner()
def forward(L, start, p, rhs, z):
    """Compute the entries start..p of z = L⁻¹·rhs, given the earlier entries."""
    for k in range(start, p):
        z[k] = (rhs[k] - dot(L[k, :k], z[:k])) / L[k, k]


@inner()
def backward(L, p, z, x):
    """Compute x = L⁻ᵀz for the first p entries, by back substitution."""
    for k in range(p):
        x[k] = z[k]
    for k in range(p - 1, -1, -1):
        row = L[k]
        x[k] /= row[k]
        share = x[k]
        for i in range(k):
            x[i] -= share * row[i]


@kernel()
def solve(L, p, rhs, x):
    """Compute x = (LLᵀ)⁻¹·rhs for the first p entries."""
    z = np.empty(p)
    forward(L, 0, p, rhs, z)
    backward(L, p, z, x)


@inner()
def correlate(H, order, p, beta, w, c, b):
    """Subtract Hβ from c and add Hw to b, for β and w on the columns order[:p].

    Each pass reads four rows of H.
    """
    M = c.size
    for k in range(0, p - 3, 4):
        h1, h2, h3, h4 = H[order[k]], H[order[k + 1]], H[order[k + 2]], H[order[k + 3]]
        beta1, beta2, beta3, beta4 = beta[k], beta[k + 1], beta[k + 2], beta[k + 3]
        w1, w2, w3, w4 = w[k], w[k + 1], w[k + 2], w[k + 3]
        for j in range(M):
            c[j] -= (beta1 * h1[j] + beta2 * h2[j]) + (beta3 * h3[j] + beta4 * h4[j])
            b[j] += (w1 * h1[j] + w2 * h2[j]) + (w3 * h3[j] + w4 * h4[j])
    for k in range(p - p % 4, p):
        row = H[order[k]]
        beta1 = beta[k]
        w1 = w[k]
        for j in range(M):
            c[j] -= beta1 * row[j]
            b[j] += w1 * row[j]


@inner()
def any_above(p, residual, order, norms, bound):
    """Return whether |residual_k| exceeds its rounding error bound·‖X_j‖, j = order[k], for some k < p."""
    above = False
    for k in range(p):
        above |= abs(residual[k]) > bound * norms[order[k]]
    return above


@inner()
def examine(columns, place, work, unit):
    """Fill `work` at a point: w, c, b, the errors of c, the residual c_P − λs, and the correction of β.

    `Work` defines these quantities. Let size = ‖y‖ + Σ‖X_j‖|β_j|. The correction is zero if the residual is
    at most unit·‖X_j‖·size on P. Returns three numbers: size; the squared norm of the change of Xβ by the
    correction of β; and a bound on the error of c_j/‖X_j‖ on the segment from here down to λ = 0.
    """
    p = place.state[0]
    lam = place.lam[0]
    order, sign, beta = place.order, place.sign, place.beta
    norms = columns.norms
    w, residual, extra, c, b, error = work.w, work.residual, work.extra, work.c, work.b, work.error
    backward(place.L, p, work.z, w)
    copy(columns.c0, c)
    b[:] = 0
    correlate(columns.H, order, p, beta, w, c, b)
    size = columns.y_norm
    slope = 0.0
    for k in range(p):
        size += norms[order[k]] * abs(beta[k])
        slope += norms[order[k]] * abs(w[k])
    for k in range(p):
        j = order[k]
        residual[k] = c[j] - lam * sign[k]
        c[j] = b[j] = 0
    shift = 0.0
    if any_above(p, residual, order, norms, unit * size):
        solve(place.L, p, residual, extra)
        for k in range(p):
            shift += residual[k] * extra[k]
    else:
        for k in range(p):
            extra[k] = 0
    bound = unit * (size + lam * slope) + math.sqrt(max(shift, 0.0))
    for j in range(error.size):
        error[j] = norms[j] * bound
    for k in range(p):
        error[order[k]] = 0
    return size, shift, bound


@inner()
def count_violations(lam, below, c, error):
    """Return the number of columns with |c_j| > λ by more than rounding, or c_j > λ if `below` is 0."""
    count = 0
    for j in range(c.size):
        count += max(c[j], below * c[j]) > lam + error[j]
    return count


@inner()
def entries(lam, below, full, work):
    """Compute the λ at which each column would enter, and write it into `work.entry`.

    On the segment, c_j = a_j + λb_j, so a = c − λb is the value of c at λ = 0, and column j enters at
    λ = |a|/(1 − sign(a)·b). If β ≥ 0 is required, a column with a < 0 never enters: c_j < λ holds at both
    ends of the segment, and so between them. If a is zero to rounding, no λ is computed. If the columns with
    nonzero coefficients also span the sample space (`full`), a is exactly zero. Otherwise the error of a
    bounds the λ at which the column might enter.

    Returns the largest of these bounds, and the number of tied columns. A column is tied if c_j = ±λ to
    rounding now, and it is not certain that c_j moves to the opposite bound.
    """
    c, b, error, entry = work.c, work.b, work.error, work.entry
    tied, unknown = 0, 0
    for j in range(c.size):
        a = c[j] - lam * b[j]
        s = 1.0 if a > 0 else -1.0
        size = s * a
        speed = 1 - s * b[j]
        entry[j] = size / speed if (max(a, below * a) > error[j]) & (speed > 0) else 0.0
        near = lam - max(c[j], below * c[j]) <= error[j]
        tied += near & ((s * c[j] > 0) | (size <= 2 * error[j]))
        unknown += size < error[j]
    possible = 0.0
    if full:
        entry[:] = 0
    elif unknown > 0:
        for j in range(c.size):
            size = abs(c[j] - lam * b[j])
            if size < error[j]:
                possible = max(possible, (size + error[j]) / max(1 - max(b[j], below * b[j]), _STEP))
    return possible, tied


@inner()
def first_exit(place, w):
    """Return the position in P of the first coefficient that becomes zero as λ decreases, and this λ.

    P are the columns with nonzero coefficients. Their β changes by w when λ decreases by 1. The position is
    −1 if no coefficient becomes zero.
    """
    lam = place.lam[0]
    sign, beta = place.sign, place.beta
    first, top = -1, 0.0
    for k in range(place.n_free, place.state[0]):
        if sign[k] * w[k] < 0:
            exit_ = lam + beta[k] / w[k]
            if exit_ > top:
                first, top = k, exit_
    return first, top


@inner()
def next_event(columns, place, work, bound, lam_min):
    """Find the next event on the path, at which a column enters or leaves.

    Returns four results: the λ of the event; the column that enters, or −1; the position in P, the columns
    with nonzero coefficients, of the column that leaves, or −1; and whether the event is certain in spite of
    rounding.
    """
    p = place.state[0]
    lam = place.lam[0]
    sign, beta = place.sign, place.beta
    w = work.w
    possible, tied = entries(lam, columns.below, p == columns.rank, work)
    certain = tied == 0 and bound * columns.longest <= _MAX_ERROR * lam
    for k in range(place.n_free, p):
        certain &= beta[k] != 0 or sign[k] * w[k] > 0
    entering = int(np.argmax(work.entry))
    leaving, exit_ = first_exit(place, w)
    below = max(work.entry[entering], exit_)
    certain &= below < lam * (1 - _STEP) and possible <= max(below, lam_min)
    if work.entry[entering] >= exit_:
        leaving = -1
    else:
        entering = -1
    return below, entering, leaving, certain


@inner()
def correct(place, extra):
    """Add the correction `extra` to β; set β_j to zero if its sign is wrong or if column j just entered."""
    n_free = place.n_free
    entered = place.state[1]
    sign, beta = place.sign, place.beta
    for k in range(place.state[0]):
        beta[k] += extra[k]
        if k >= n_free and (k == entered or sign[k] * beta[k] < 0):
            beta[k] = 0


@inner()
def accept(place, reached):
    """Copy an accepted point, except its Cholesky factor L, to `reached`."""
    p = place.state[0]
    order, sign, beta = place.order, place.sign, place.beta
    to_order, to_sign, to_beta = reached.order, reached.sign, reached.beta
    reached.state[0] = p
    reached.state[1] = place.state[1]
    reached.lam[0] = place.lam[0]
    for k in range(p):
        to_order[k] = order[k]
        to_sign[k] = sign[k]
        to_beta[k] = beta[k]


@inner()
def record(trail, i, place, size, event):
    """Write the point `place`, and the event that led to it, as point i of the trail."""
    trail.lams[i] = place.lam[0]
    trail.sizes[i] = size
    trail.events[i] = event
    row = trail.coef[i]
    order, beta = place.order, place.beta
    for j in range(row.size):
        row[j] = 0
    for k in range(place.state[0]):
        row[order[k]] = beta[k]


@inner()
def move(place, work, below, entering, leaving):
    """Move the point to λ = below, where a column enters, a column leaves, or neither.

    entering : the column that enters, or −1.
    leaving : the position of the column that leaves among the columns with nonzero coefficients, or −1.

    Returns the event as in `Trail.events`.
    """
    p = place.state[0]
    order, sign, beta = place.order, place.sign, place.beta
    gap = place.lam[0] - below
    w = work.w
    for k in range(p):
        beta[k] += gap * w[k]
    place.lam[0] = below
    place.state[1] = -1
    if entering >= 0:
        order[p] = entering
        sign[p] = 1.0 if work.c[entering] > gap * work.b[entering] else -1.0
        beta[p] = 0.0
        forward(place.L, p, p + 1, sign, work.z)
        place.state[0] = p + 1
        place.state[1] = p
        return entering + 1
    if leaving < 0:
        return 0
    event = -1 - order[leaving]
    delete(place.L, p, leaving)
    for k in range(leaving, p - 1):
        order[k] = order[k + 1]
        sign[k] = sign[k + 1]
        beta[k] = beta[k + 1]
    forward(place.L, leaving, p - 1, sign, work.z)
    place.state[0] = p - 1
    return event


@kernel()
def follow(columns, reached, until, trail):
    """Follow the path from the point `reached`, and record the points on the way.

    `reached` becomes the last accepted point. (If the run ends with DECLINED, `reached.L` may have one more
    row.) Returns a code that says why the run ended, and the number of points.
    """
    M, capacity = len(columns.c0), len(reached.order)
    work = Work(
        z=np.empty(capacity),
        w=np.empty(capacity),
        residual=np.empty(capacity),
        extra=np.empty(capacity),
        c=np.empty(M),
        b=np.empty(M),
        error=np.empty(M),
        entry=np.empty(M),
    )
    place = Place(
        state=reached.state.copy(),
        lam=reached.lam.copy(),
        order=reached.order.copy(),
        sign=reached.sign.copy(),
        beta=reached.beta.copy(),
        L=reached.L,
        n_free=reached.n_free,
    )
    forward(place.L, 0, place.state[0], place.sign, work.z)
    passed, event = -1, 0
    ended = False
    below = until.lam_min
    entering, leaving = -1, -1
    while True:
        size, shift, bound = examine(columns, place, work, columns.unit)
        certain = shift <= _CORRECTED * _CORRECTED * size * size
        correct(place, work.extra)
        if shift > 0 and certain:  # after a truncated or inaccurate correction β is not on the path
            size, shift, bound = examine(columns, place, work, 4 * columns.unit)
            certain = shift == 0
        certain = certain and count_violations(place.lam[0], columns.below, work.c, work.error) == 0
        if certain and not ended:
            below, entering, leaving, certain = next_event(columns, place, work, bound, until.lam_min)
        if not certain:
            return DECLINED, max(passed, 0)
        accept(place, reached)
        if passed >= 0 and len(trail.coef) > 0:
            record(trail, passed, place, size, event)
        passed += 1
        if ended:
            return DONE, passed
        if passed == until.limit:
            return LIMIT, passed
        ended = below <= until.lam_min
        if ended:
            below = until.lam_min
            entering, leaving = -1, -1
        if entering >= 0:
            p = place.state[0]
            if p == capacity:
                return FULL, passed
            place.order[p] = entering
            if not append(columns.H, place.order, p, place.L):
                return DECLINED, passed
        event = move(place, work, below, entering, leaving)


@kernel()
def first_violations(c, lams, lengths, error, norms, below, certain, strict):
    """Find for each column j the first of m points at which it violates |lengths·c_j| ≤ λ, or m.

    c (m, d) are the correlations at the points, divided by `lengths` (m,). Their errors are at most
    error·‖X_j‖. If `below` is 0, c_j takes the place of |c_j|.

    certain, strict : (d,), filled with the first points for the bounds λ + error·‖X_j‖ and λ − error·‖X_j‖.
        For λ = 0 both bounds are the first.
    """
    m, d = c.shape
    certain[:] = m
    strict[:] = m
    for i in range(m - 1, -1, -1):
        row = c[i]
        length, lam = lengths[i], lams[i]
        more = error[i]
        less = -more if lam > 0 else more
        for j in range(d):
            value = length * row[j]
            size = max(value, below * value)
            if not size <= lam + less * norms[j]:  # also NaN
                strict[j] = i
            if not size <= lam + more * norms[j]:
                certain[j] = i


@kernel()
def start(columns, place):
    """Compute the Cholesky factor and the least squares coefficients β of the columns S without penalty.

    Returns an upper bound κ² on the squared condition number of X_S with columns of length 1, or ∞ if these
    columns are nearly dependent. With X_S = QR it is ‖D R⁻¹‖_F², where D = diag ‖X_j‖; the row l of R⁻ᵀD is
    computed by a forward substitution in L = Rᵀ.
    """
    t, order = place.n_free, place.order
    square = 0.0
    if not factor(columns.H, order, t, place.L):
        return math.inf
    unit = np.zeros(t)
    z = np.zeros(t)
    rhs = np.empty(t)
    for l in range(t):
        unit[l], rhs[l] = columns.norms[order[l]], columns.c0[order[l]]
        forward(place.L, l, t, unit, z)
        for k in range(l, t):
            square += z[k] * z[k]
        unit[l] = z[l] = 0
    solve(place.L, t, rhs, place.beta)
    return square
