"""Steps of OMP, compiled as a whole.

A copy of X in 16 bits, X_j ≈ unit_j·q_j with integers q_ij, shows which few columns may be the argmax or come
second; these are compared in full precision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import VECTORIZED, kernel
from sparselin._kernels.atomic import give_way, load, store
from sparselin._kernels.linear_algebra import dependent, dot, inverse_column_norm, orthogonalize

LARGEST = 32767
_STRIP = 8192  # columns of X, in C order, that are copied at a time: long streams
_TILE = 32  # columns of X, in Fortran order, that are copied at a time: a row of them is a line of the cache
_DEPTH = 2048  # and rows
_WIDTH = 4096  # columns of the copy that are screened at a time: their sums fit into the first cache level
_SHIFT = 2**15
LATE = 4  # pieces that may be late before a run goes on alone: there are fewer cores than threads


class Screen(NamedTuple):
    """The design in both precisions.

    Attributes
    ----------
    X : (n, d).
    copy : the integers q (n, d).
    unit : (d,).
    blur : (d,) bounds on the errors of unit_j⟨q_j, x⟩ for unit vectors x, all rounding included.
    norms : ‖X_j‖ (d,).
    x, z, near : room for r/‖r‖ (n,) and ⟨q_j, x⟩ (d,) in single precision, and for the columns compared.
    """

    X: NDArray[np.float64]
    copy: NDArray[np.int16]
    unit: NDArray[np.float64]
    blur: NDArray[np.float64]
    norms: NDArray[np.float64]
    x: NDArray[np.float32]
    z: NDArray[np.float32]
    near: NDArray[np.intp]


class Team(NamedTuple):
    """What T threads share for a run of steps: passes in pieces, rows of the copy, done by who comes first.

    The first thread runs the steps, and waits for no other for long: see `_gather`. So x may change while one
    that is late reads it, and that is why each has sums of its own, and each run a team.

    Attributes
    ----------
    now : the number of the pass (0 before the first), whether the run is over, and how many pieces were late.
    begun : the last pass for which each piece was begun.
    done : T·(the last pass for which each piece was finished) + (the thread whose sums these are).
    sums : (T, pieces, d).
    """

    now: NDArray[np.int64]
    begun: NDArray[np.int64]
    done: NDArray[np.int64]
    sums: NDArray[np.float32]


class Record(NamedTuple):
    """What is noted of each step: λ* and the margin of its pick, ⟨q, r⟩, and ‖r‖ after it."""

    lam: NDArray[np.float64]
    margin: NDArray[np.float64]
    shares: NDArray[np.float64]
    left: NDArray[np.float64]


@kernel(**VECTORIZED)
def _rounded(x, inverse, out, used):
    """out = x/unit to the nearest integers; `used` gets bits beyond the 16th where they do not fit."""
    for j in range(out.size):
        # a conversion cuts off, which rounds what is positive when a half is added; 3·2¹⁵ + q has the bits of
        # 2·2¹⁵, and 16 more, if −2¹⁵ ≤ q < 2¹⁵
        shifted = np.int32(x[j] * inverse[j] + (3 * _SHIFT + 0.5))
        used[j] |= shifted ^ np.int32(2 * _SHIFT)
        out[j] = np.int16(shifted - np.int32(3 * _SHIFT))


@kernel()
def copy_by_rows(X, copy, unit, start, stop):
    """Columns start..stop of the copy (n, d) of X (n, d) in C order.

    The units are guesses: those that do not suffice for a column are enlarged, and all is done again.
    """
    n = X.shape[0]
    for left in range(start, stop, _STRIP):
        right = min(left + _STRIP, stop)
        width = right - left
        inverse, used = np.empty(width), np.empty(width, np.int32)
        for _ in range(2):
            used[:] = 0
            for j in range(width):
                inverse[j] = 1 / unit[left + j] if unit[left + j] > 0 else 0.0
            for i in range(n):
                _rounded(X[i, left:right], inverse, copy[i, left:right], used)
            enough = True
            for j in range(width):
                if used[j] >> 16 != 0:
                    enough = False
                    unit[left + j] = _least_unit(X[:, left + j])
            if enough:
                break


@kernel()
def copy_by_columns(Xt, copy, unit, start, stop):
    """The same for X in Fortran order, Xt (d, n), by tiles."""
    n = Xt.shape[1]
    tile, bits = np.empty((_TILE, _DEPTH), np.int16), np.empty(_TILE, np.int32)
    inverse, used = np.empty(_DEPTH), np.empty(_DEPTH, np.int32)
    for left in range(start, stop, _TILE):
        right = min(left + _TILE, stop)
        for _ in range(2):
            bits[:] = 0
            for low in range(0, n, _DEPTH):
                high = min(low + _DEPTH, n)
                for j in range(left, right):
                    inverse[:] = 1 / unit[j] if unit[j] > 0 else 0.0
                    used[:] = 0
                    _rounded(Xt[j, low:high], inverse, tile[j - left, : high - low], used)
                    for i in range(high - low):
                        bits[j - left] |= used[i]
                for i in range(low, high):
                    for j in range(left, right):
                        copy[i, j] = tile[j - left, i - low]
            enough = True
            for j in range(left, right):
                if bits[j - left] >> 16 != 0:
                    enough = False
                    unit[j] = _least_unit(Xt[j])
            if enough:
                break


@kernel(inline="always")
def _least_unit(x):
    top = 0.0
    for i in range(x.size):
        top = max(top, abs(x[i]))
    return top * (1 + 1e-9) / LARGEST


@kernel(fastmath={"contract"})
def _sum_rows(copy, x, z):
    """z = Σ x_i·copy_i for rows copy_i, eight at a time, summed up in pairs: n/8 + 11 roundings at most.

    To reassociate would make one chain of them all.
    """
    n = copy.shape[0]
    for left in range(0, z.size, _WIDTH):
        right = min(left + _WIDTH, z.size)
        out = z[left:right]
        out[:] = 0
        for i in range(0, n - 7, 8):
            a, b, c = copy[i, left:right], copy[i + 1, left:right], copy[i + 2, left:right]
            e, f, g = copy[i + 3, left:right], copy[i + 4, left:right], copy[i + 5, left:right]
            h, k = copy[i + 6, left:right], copy[i + 7, left:right]
            xa, xb, xc, xe = x[i], x[i + 1], x[i + 2], x[i + 3]
            xf, xg, xh, xk = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
            for j in range(out.size):
                out[j] += (
                    (xa * np.float32(a[j]) + xb * np.float32(b[j]))
                    + (xc * np.float32(c[j]) + xe * np.float32(e[j]))
                ) + (
                    (xf * np.float32(f[j]) + xg * np.float32(g[j]))
                    + (xh * np.float32(h[j]) + xk * np.float32(k[j]))
                )
        for i in range(n - n % 8, n):
            row, share = copy[i, left:right], x[i]
            for j in range(out.size):
                out[j] += share * np.float32(row[j])


@kernel(inline="always")
def _piece(copy, x, team, own, c):
    """Σ x_i·copy_i over the rows of piece c, into the sums of thread `own`."""
    low, high = x.size * c // team.done.size, x.size * (c + 1) // team.done.size
    _sum_rows(copy[low:high], x[low:high], team.sums[own, c])


@kernel()
def _join(copy, x, team, own, now):
    """Do what pieces of pass `now` nobody has begun, from the thread's own share of them on."""
    pieces, threads = team.done.size, team.sums.shape[0]
    for l in range(pieces):
        c = (own * pieces // threads + l) % pieces
        if load(team.begun, c) < now:
            store(team.begun, c, now)
            _piece(copy, x, team, own, c)
            store(team.done, c, now * threads + own)


@kernel()
def help_out(copy, x, team, own):
    """Join in every pass that another thread makes, until the run is over, or seems to be."""
    last = idle = 0
    while load(team.now, 1) == 0 and idle < copy.size:
        now = load(team.now, 0)
        idle += 1
        if now > last:
            _join(copy, x, team, own, now)
            last, idle = now, 0
        elif idle % 1024 == 0:  # there may be more threads than cores, and the run's be waiting for this one
            give_way()


@kernel(inline="always")
def _gather(copy, x, z, team, now):
    """z from the sums of all threads, who are waited for about as long as it takes to do a piece over."""
    pieces, threads = team.done.size, team.sums.shape[0]
    z[:] = 0
    for c in range(pieces):
        owner = -1
        for _ in range(1 + copy.size // (8 * pieces)):
            done = load(team.done, c)
            if done // threads == now:
                owner = done % threads
                break
        if owner < 0:
            owner = 0
            _piece(copy, x, team, owner, c)
            team.now[2] += 1
            if team.now[2] == LATE:
                store(team.now, 1, 1)
        part = team.sums[owner, c]
        for j in range(z.size):
            z[j] += part[j]


@kernel(inline="always")
def _screen(copy, x, z, team):
    """z_j = ⟨q_j, x⟩ for all columns."""
    now = team.now[0] + 1
    store(team.now, 0, now)
    _join(copy, x, team, np.intp(0), now)  # a literal 0 would have it compiled twice
    if team.done.size > 1:  # z is the sums themselves otherwise
        _gather(copy, x, z, team, now)


@kernel(inline="always")
def _normalize(r, x):
    """x = r/‖r‖ in single precision, unless r = 0; returns ‖r‖."""
    length = math.sqrt(dot(r, r))
    if length > 0:
        for i in range(r.size):
            x[i] = r[i] / length
    return length


@kernel(inline="always")
def _contenders(design, length, error, out, m):
    """Put into `near` the columns that may be first or second in |c_j|; how many, or −1 if it is too short.

    With ‖r‖ = length, c_j is known to ‖r‖·blur_j + error·‖X_j‖. The columns out[:m] are left out.
    """
    d, near = design.z.size, design.near
    slack = error / length
    low, width = np.empty(d), np.empty(d)
    for j in range(d):
        width[j] = design.blur[j] + slack * design.norms[j]
        low[j] = design.unit[j] * abs(design.z[j]) - width[j]
    for l in range(m):
        low[out[l]] = -np.inf
    first = second = 0.0
    for j in range(d):
        if low[j] > second:
            second = min(low[j], first)
            first = max(low[j], first)
    count = 0
    for j in range(d):
        if low[j] + 2 * width[j] >= second:
            if count == near.size:
                return -1
            near[count] = j
            count += 1
    return count


@kernel(inline="always")
def _clear_pick(design, team, r, error, out, m):
    """The pick that is clear, its |c_j| and margin; −1 where none is.

    Clear is an argmax of |c_j|, c = Xᵀr, that no other column reaches within the errors, error·‖X_j‖ each.
    """
    near, norms = design.near, design.norms
    length = _normalize(r, design.x)
    _screen(design.copy, design.x, design.z, team)
    count = _contenders(design, length, error, out, m) if length > 0 else -1
    value = np.empty(max(count, 0))
    best, top, second = -1, 0.0, 0.0
    for l in range(count):
        value[l] = abs(dot(design.X[:, near[l]], r))
        if value[l] > top:
            best, top, second = l, value[l], top
        elif value[l] > second:
            second = value[l]
    low = top - error * norms[near[best]] if best >= 0 else 0.0
    if low <= 0:
        return -1, 0.0, 0.0
    for l in range(count):
        slack = error * norms[near[l]]
        if l != best and value[l] + slack >= low:
            return -1, 0.0, 0.0
    return near[best], top, (top - second) / top


@kernel(inline="always")
def rounding(factor, t, root, unit):
    """`Problem.rounding` of the first t columns: unit·(root + κ)."""
    square = 0.0
    for l in range(t):
        square += factor.inverse[l]
    return unit * (root + max(1.0, math.sqrt(square)))


@kernel(inline="always")
def take(design, factor, t, r, j, unit):
    """Append column j, and project r off it; returns ⟨q, r⟩ and ‖r‖ after it, or −1 if it is dependent."""
    q = factor.Qt[t]
    for i in range(q.size):
        q[i] = design.X[i, j]
    factor.lengths[t] = design.norms[j]
    orthogonalize(factor.Qt, factor.R, factor.lengths, t)
    if dependent(factor.R, factor.lengths, t, unit):
        return 0.0, -1.0
    factor.inverse[t] = inverse_column_norm(factor.R, factor.lengths, t)
    share = dot(q, r)
    for i in range(r.size):
        r[i] -= share * q[i]
    return share, math.sqrt(dot(r, r))


@kernel()
def advance(design, team, factor, t, r, y_norm, root, unit, floor, out, m, first, size, record):
    """Take `first`, or what is clear to come if it is −1, and so on, until ‖r‖ ≤ floor or `size` are taken.

    Picks are put into out[m:]. Returns how many are taken; another one is there if it could not be.
    """
    j, p = first, 0
    while True:
        if j < 0:
            error = rounding(factor, t + p, root, unit) * y_norm
            j, record.lam[p], record.margin[p] = _clear_pick(design, team, r, error, out, m + p)
        if j < 0:
            break
        out[m + p] = j
        if p == size or t + p == r.size:  # of a basis, nothing is independent
            break
        record.shares[p], record.left[p] = take(design, factor, t + p, r, j, unit)
        if record.left[p] < 0:
            break
        p += 1
        if record.left[p - 1] <= floor or p == size:
            break
        j = -1
    store(team.now, 1, 1)  # here, where no signal comes in between
    return p
