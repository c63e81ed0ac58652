"""The perspective relaxation of the best subset at one node of the search, and the lower bound from it.

See `sparselin.subsets._relaxation` for the problem, the bound and its rounding errors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import ONCE, inner, kernel
from sparselin._kernels.linear_algebra import insert
from sparselin._kernels.primitives import copy, dot, subtract

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]

FREE, IN, OUT = range(3)  # the states of a group at a node
# A relaxation stops if its gap is below this share of the distance of its value from the target.
_CLOSE = 0.02
# The most rounds of one node, and the most iterations of a round.
_ROUNDS, _STEPS = 30, 500
# The relative change of w at which the iteration of the first round stops; it falls tenfold in a round
# without new groups.
_CHANGE = 1e-3
# The entries of w are rounded to multiples of its largest one over this number.
_DIGITS = 2.0**30
# A multiplier μ below 1/(2·_MOST²) counts as zero.
_MOST = 1e12


class Relaxation(NamedTuple):
    """The data of the relaxation: features in units in which columns and y have at most unit length.

    M = XᵀX + ridge·I − diag(D) is given, or is empty; then the columns and the ridge are given.
    """

    M: Reals  # (F, F), or (0, 0)
    rows: Reals  # (F, n) the columns, or (0, 0)
    y: Reals  # (n,), or (0,)
    ridge: Reals  # (F,)
    b: Reals  # Xᵀy
    D: Reals
    low: Reals  # the box: low ≤ 0 ≤ high
    high: Reals
    first: Indices  # (groups + 1,) the first feature of each group, and F
    half: float  # ½‖y‖²
    error: float  # the error of products of columns and y
    eps: float


@inner()
def _height(D, low, high, t):
    """Return H(t) = max {tβ − Dβ²/2 : low ≤ β ≤ high}; inf if there is no maximum."""
    limit = high
    if t < 0:
        t, limit = -t, -low
    if t == 0 or limit == 0:
        return 0.0
    if limit == np.inf or t <= D * limit:
        return t * t / (2 * D)
    return limit * (t - D * limit / 2)


@kernel()
def bound(data, state, m, w, c, H):
    """Fill c = b − Mw and H, the height of each group (−1 if it is out), and return a lower bound.

    state : (groups,) FREE, IN or OUT.
    m : the number of free groups that may be added.
    """
    F = len(data.b)
    size, terms = 1.0, 0
    for j in range(F):
        c[j] = data.b[j]
        if w[j] != 0:
            size = size + abs(w[j])
            terms = terms + 1
    if len(data.M):
        for l in range(F):
            if w[l] != 0:
                subtract(w[l], data.M[l], c)
    else:
        r = data.y.copy()
        for l in range(F):
            if w[l] != 0:
                subtract(w[l], data.rows[l], r)
        for j in range(F):
            c[j] = dot(data.rows[j], r) - (data.ridge[j] - data.D[j]) * w[j]
    e = (data.error + (terms + 4) * data.eps) * size
    base = data.half - 2 * size * e
    for j in range(F):
        if w[j] != 0:
            base -= w[j] * (data.b[j] - c[j]) / 2
    top = np.zeros(m + 1)
    total = 0.0
    most = 0
    for g in range(len(state)):
        if state[g] == OUT:
            H[g] = -1.0
            continue
        H[g] = 0.0
        for j in range(data.first[g], data.first[g + 1]):
            D = data.D[j]
            low = data.low[j]
            high = data.high[j]
            H[g] += max(_height(D, low, high, c[j] - e), _height(D, low, high, c[j] + e))
            most = max(most, data.first[g + 1] - data.first[g])
        if state[g] == IN:
            total += H[g]
        elif H[g] > top[m]:
            insert(top, H[g])
    for i in range(m):
        total += top[i]
    terms = (len(state) + most + 8) * data.eps
    return base - total * (1 + terms) - 4 * data.eps, top[m]


@inner()
def _slope(D, limit, v, L, z):
    """Return s(z) ≥ 0: the derivative of min_β (L/2)(β − v)² + Dβ²/(2z) by z, negated; 0 ≤ β ≤ limit·z."""
    if L * v <= limit * (L * z + D):
        beta = L * v / (L * z + D) if D > 0 else 0.0
        return D / 2 * beta * beta
    return limit * (L * (v - limit * z) - D * limit / 2)


@inner()
def _single(root, limit, v, L, t):
    """Return the z in [0, 1] that minimises min_β (L/2)(β − v)² + Dβ²/(2z) + μz, 0 ≤ β ≤ limit·z.

    root, t : √D, and 1/√(2μ).
    """
    if limit * root * t > 1:
        z = (v * t - root / L) * root
    elif limit > 0:  # the box binds: the penalty is linear
        z = (v - (root * root * limit + 1 / (t * t * limit)) / (2 * L)) / limit
    else:
        z = 0.0
    return min(max(z, 0.0), 1.0)


@inner()
def _several(D, limit, v, L, mu):
    """Return the z in [0, 1] that minimises Σ_j min_β (L/2)(β − v_j)² + D_jβ²/(2z) + μz."""
    low = 0.0
    high = 1.0
    at = 0.0
    for j in range(D.size):
        at += _slope(D[j], limit[j], v[j], L, 1.0)
    if at >= mu:
        return 1.0
    for _ in range(50):
        z = (low + high) / 2
        at = 0.0
        for j in range(D.size):
            at += _slope(D[j], limit[j], v[j], L, z)
        if at > mu:
            low = z
        else:
            high = z
    return high if low > 0 else 0.0


@inner()
def _sum(D, root, limit, v, first, free, L, t, z):
    """Fill z for the multiplier μ = 1/(2t²) of Σz ≤ m, and return the sum of z over the free groups."""
    total = 0.0
    for g in range(free.size):
        if free[g]:
            a, b = first[g], first[g + 1]
            if b == a + 1:
                z[g] = _single(root[a], limit[a], v[a], L, t)
            else:
                z[g] = _several(D[a:b], limit[a:b], v[a:b], L, 1 / (2 * t * t))
            total += z[g]
    return total


@inner()
def _multiplier(D, root, limit, v, first, free, L, m, t, z):
    """Return t = 1/√(2μ) with Σz(μ) = m nearly, and fill z.

    t : a guess. Σz grows with t; it is found by regula falsi (Illinois), and ends at a sum of at most m.
    """
    low = 0.0
    high = np.inf
    below = -1.0 * m
    above = np.inf
    for _ in range(60):
        at = _sum(D, root, limit, v, first, free, L, t, z) - m
        if at <= 0:
            if low > 0:
                above /= 2
            low, below = t, at
            if at >= -1e-5 * m or low >= (1 - 1e-9) * high or t > _MOST:
                break
        else:
            if high < np.inf:
                below /= 2
            high, above = t, at
        if high == np.inf:
            t *= 2 if low < 1e3 else 1e3
        elif low == 0:
            t /= 2
        else:
            t = low + (high - low) * below / (below - above)
            t = min(max(t, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
    return t


@inner()
def _largest_eigenvalue(A):
    """Return an estimate of the largest eigenvalue of A (m, m), by the power method."""
    m = len(A)
    p = np.empty(m)
    q = np.empty(m)
    largest = 0.0
    for i in range(m):
        p[i] = 1 + 0.1 * math.sin(1.7 * i)
    for _ in range(12):
        size = math.sqrt(dot(p, p))
        for i in range(m):
            p[i] /= size
        for i in range(m):
            q[i] = dot(A[i], p)
        largest = math.sqrt(dot(q, q))
        if largest == 0:
            break
        p, q = q, p
    return largest


@inner(**ONCE)
def _iterate(A, b, D, low, high, first, free, m, x, z, t, change):
    """Minimise ½xᵀAx − bᵀx + Ω(x) by FISTA with restarts, from x, in place; fill z and return t.

    Ω(x) = min {Σ D_jx_j²/(2z_j) : Σz ≤ m, 0 ≤ z ≤ 1, low·z ≤ x ≤ high·z}.
    """
    size, old = x.copy(), x.copy()
    v = np.empty(x.size)
    limit = np.empty(x.size)
    ahead = x.copy()
    momentum = 1.0
    root = np.empty(x.size)
    for i in range(x.size):
        root[i] = math.sqrt(D[i])
    z[:] = 1.0
    L = max(1.03 * _largest_eigenvalue(A), 1e-3)
    for _ in range(_STEPS):
        for i in range(x.size):
            v[i] = ahead[i] - (dot(A[i], ahead) - b[i]) / L
            limit[i] = high[i] if v[i] > 0 else -low[i]
            size[i] = abs(v[i])
        t = _multiplier(D, root, limit, size, first, free, L, m, t, z)
        moved = 0.0
        length = 0.0
        turn = 0.0
        for g in range(free.size):
            for i in range(first[g], first[g + 1]):
                new = 0.0
                if z[g] > 0:
                    new = min(L * size[i] * z[g] / (L * z[g] + D[i]), limit[i] * z[g])
                x[i] = new if v[i] > 0 else -new
                step = x[i] - old[i]
                moved = moved + step * step
                length = length + new * new
                turn = turn + (ahead[i] - x[i]) * step
        if turn > 0:
            momentum = 1.0
        following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        for i in range(x.size):
            ahead[i] = x[i] + (momentum - 1) / following * (x[i] - old[i])
            old[i] = x[i]
        momentum = following
        if moved <= change * change * length:
            break
    return t


@inner()
def _round(w):
    """Round the entries of w to multiples of a power of two, near max|w|/_DIGITS."""
    largest = 0.0
    for j in range(w.size):
        largest = max(largest, abs(w[j]))
    if largest > 0:
        unit = math.ldexp(1.0, math.frexp(largest)[1] - 1) / _DIGITS
        for j in range(w.size):
            w[j] = round(w[j] / unit) * unit


@inner()
def _block(data, J):
    """Return M_JJ for the features J."""
    A = np.empty((J.size, J.size))
    for i in range(J.size):
        for l in range(i + 1):
            entry = data.M[J[i], J[l]] if len(data.M) else dot(data.rows[J[i]], data.rows[J[l]])
            A[i, l] = A[l, i] = entry
        if not len(data.M):
            A[i, i] += data.ridge[J[i]] - data.D[J[i]]
    return A


@kernel()
def relax(data, state, m, target, w, c, H, z):
    """Improve w until `bound` reaches the target or the relaxation is solved; return the bound.

    w, z : (F,) and (groups,) a start, and the best w found and its z.
    c, H : filled for this w, as by `bound`.

    The relaxation is solved on a working set of groups, which grows by those with the largest H.
    """
    groups = len(state)
    t = 1.0
    change = _CHANGE
    inside = np.zeros(groups, np.bool_)
    best_w = w.copy()
    best_z = z.copy()
    for g in range(groups):
        for j in range(data.first[g], data.first[g + 1]):
            if state[g] == OUT:
                w[j] = 0.0
            inside[g] |= w[j] != 0
        inside[g] |= state[g] == IN
    best, last = -np.inf, -np.inf
    for turn in range(_ROUNDS):
        _round(w)
        last, following = bound(data, state, m, w, c, H)
        if last > best:
            best = last
            copy(w, best_w)
            copy(z, best_z)
        # without the first condition, the w of another round would have no bound
        ended = turn == _ROUNDS - 1 or (turn > 0 and _is_solved(data, state, w, z, c, best, target))
        if best >= target or ended:
            break
        added = _extend(state, H, inside, following if turn == 0 else 1 / (2 * t * t), max(4 * m, 20))
        if turn > 0 and not added:
            change *= 0.1
        t = _solve(data, state, inside, m, w, z, t, change)
    if last < best:
        copy(best_w, w)
        copy(best_z, z)
        bound(data, state, m, w, c, H)
    return best


@inner(**ONCE)
def _is_solved(data, state, w, z, c, best, target):
    """Return whether the gap of the relaxation is small, compared to the distance from the target."""
    value = data.half
    for g in range(len(state)):
        for j in range(data.first[g], data.first[g + 1]):
            if w[j] != 0:
                value += data.D[j] * w[j] * w[j] / (2 * z[g]) - w[j] * (data.b[j] + c[j]) / 2
    return value - best < _CLOSE * (target - value) or value - best < 1e-9 * data.half


@inner(**ONCE)
def _extend(state, H, inside, level, most):
    """Add at most `most` free groups with H > level to the working set, those with the largest H first."""
    top = np.empty(most + 1, np.intp)
    count = 0
    for g in range(len(state)):
        if state[g] == FREE and not inside[g] and H[g] > level:
            i = count
            while i > 0 and H[top[i - 1]] < H[g]:
                top[i] = top[i - 1]
                i -= 1
            top[i] = g
            count = min(count + 1, most)
    for i in range(count):
        inside[top[i]] = True
    return count > 0


@inner(**ONCE)
def _solve(data, state, inside, m, w, z, t, change):
    """Iterate on the working set; w and z are updated, and the new t is returned."""
    groups = np.empty(len(state), np.intp)
    J = np.empty(len(w), np.intp)
    count = 0
    size = 0
    first = np.zeros(len(state) + 1, np.intp)
    free = np.empty(len(state), np.bool_)
    for g in range(len(state)):
        if inside[g]:
            groups[count] = g
            free[count] = state[g] == FREE
            for j in range(data.first[g], data.first[g + 1]):
                J[size] = j
                size += 1
            count += 1
            first[count] = size
    J = J[:size]
    x = w[J]
    part = np.empty(count)
    A = _block(data, J)
    free = free[:count]
    t = _iterate(A, data.b[J], data.D[J], data.low[J], data.high[J], first, free, m, x, part, t, change)
    w[:], z[:] = 0.0, 0.0
    for i in range(size):
        w[J[i]] = x[i]
    for i in range(count):
        z[groups[i]] = part[i]
    return t
