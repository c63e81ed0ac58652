"""The submodularity ratio of R² by enumeration: one pass of modified Gram-Schmidt for each set.

A row is what a set T leaves of a column, z = x − X_T·b in `n` coordinates, and then −b, an entry for each
element of T in the order in which they came. So 1 + ‖b‖² is the square of the size s(x), and what rounding of
the data makes of z is measured for each column. See `sparselin.guarantees.submodularity` for the errors.

`unit` = (u, √n, p) says how far data are known: p = 1 for columns, 2 for a Gram matrix; `twins` are equal for
columns that are exact multiples of each other, `volumes` are log₂ of the lengths of columns in the least
integers that they are multiples of.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, kernel

# A joint gain whose root is below counts as zero.
NEGLIGIBLE = 1e-12


@kernel(**VECTORIZED)
def _project(V, m, q, f, out):
    """Rows of V (m, ·) less ⟨V_a, f⟩ times the row q, into out."""
    n = f.size
    for a in range(m):
        dot = 0.0
        for i in range(n):
            dot += V[a, i] * f[i]
        for i in range(q.size):
            out[a, i] = V[a, i] - dot * q[i]


@kernel(**VECTORIZED)
def _dots(v, r, n):
    """‖z‖², s² and ⟨z, r⟩ of a row v and of the first n entries of r."""
    square, product, size = 0.0, 0.0, 1.0
    for i in range(n):
        square += v[i] * v[i]
        product += v[i] * r[i]
    for i in range(n, v.size):
        size += v[i] * v[i]
    return square, size, product


@kernel(**VECTORIZED)
def _pivot(row, square, t, n, q, f):
    """The row as element t of T, into q, and z/‖z‖² into f."""
    for i in range(row.size):
        q[i] = row[i]
    q[n + t] += 1.0
    for i in range(n):
        f[i] = row[i] / square


@kernel()
def _looseness(square, size, unit):
    """What rounding turns the direction of a row by."""
    ratio = size / square
    return unit[0] * (ratio if unit[2] == 2 else math.sqrt(ratio))


@kernel()
def _error(square, size, rest, aim, unit):
    """The square of what rounding does to c/ρ; ρ² = square, size = s(x)², rest = ‖r‖², aim = s(y)²."""
    ratio, n = size / square, unit[1] * unit[1]
    if unit[2] == 2:
        return 3 * unit[0] ** 2 * (ratio * aim + rest * (ratio * ratio + n))
    return 3 * unit[0] ** 2 * (rest * (4 * ratio + n) + aim)


@kernel()
def span(unit):
    """How far from a span, in units of s², is out of it: (2u)², or 2u where squares are known to u."""
    return 2 * unit[0] if unit[2] == 2 else (2 * unit[0]) ** 2


@kernel()
def standing(square, size, x, members, t, n, known):
    """Of a column x against the first t members: 1 out of their span, 0 in it, −1 if rounding leaves it open.

    Independent columns of integers have a Gram determinant of at least 1, so that one of them, of length N_x,
    is at a distance of at least 1/Π N of the span of the others, N all lengths but its own.
    """
    unit, twins, volumes = known
    far = span(unit) * size
    if square > far:
        return 1
    if unit[2] == 2:
        return -1
    if t >= n:
        return 0
    total = volumes[x]
    for s in range(t):
        if twins[members[s]] == twins[x]:
            return 0
        total += volumes[members[s]]
    return 0 if 2 * math.sqrt(far) < 2.0**-total else -1


@kernel()
def _spectral(Vs, turn, squares, loose, at, s, n, l):
    """At least λ_min(H_A) of the A of s + 1 elements on the stack, from the trace τ of H_A⁻¹.

    With a = |A|, λ the least eigenvalue and the others of mean (a − λ)/(a − 1), convexity of 1/λ says that
    τ ≥ 1/λ + (a − 1)²/(a − λ). Rounding moves √λ by at most the root of Σ `loose`².
    """
    trace, off = 0.0, 0.0
    for i in range(s + 1):
        row = Vs[i, turn[i] - 1]
        total = squares[at[i, turn[i] - 1]]
        for j in range(i):
            total += row[n + l + j] ** 2 * squares[at[j, turn[j] - 1]]
        trace += total / _dots(row, row, n)[0]
        off += loose[at[i, turn[i] - 1]] ** 2
    a = s + 1
    half = a * (trace - a + 2)
    least = 2 * a / (half + math.sqrt(max(0.0, half * half - 4 * trace * a)))
    root = max(0.0, math.sqrt(max(0.0, least)) * (1 - 1e-12) - 2 * math.sqrt(off))
    return root * root


@kernel()
def ratio_bounds(singles, joint, errors, error):
    """Bounds of the ratio, the roots of its two parts being off by the roots of `errors` and `error`."""
    a, b, e, f = math.sqrt(singles), math.sqrt(joint), math.sqrt(errors), math.sqrt(error)
    low = max(0.0, a - e) / (b + f)
    high = (a + e) / (b - f) if b > f else np.inf
    return low * low, high * high


@kernel()
def _hopeless(V, m, n, r, gains, at, left, ratio, slack):
    """Whether the largest `left` sums of ratio·h_x − g_x, h_x the gains after A, stay within the slack."""
    top = np.zeros(left)
    for a in range(m):
        square, _, c = _dots(V[a], r, n)
        excess = ratio * c * c / square - gains[at[a]]
        if not excess <= top[-1]:
            b = left - 1
            while b > 0 and not excess <= top[b - 1]:
                top[b] = top[b - 1]
                b -= 1
            top[b] = excess
    return top.sum() <= slack


@kernel()
def _record(found, index, at, turn, s):
    found[:] = -1
    for t in range(s + 1):
        found[t] = index[at[t, turn[t] - 1]]


@kernel()
def _take(singles, joint, errors, error, floor, best):
    """Account for one pair, of ratio `floor` at least; whether it is the new least."""
    low, high = ratio_bounds(singles, joint, errors, error)
    best[0] = min(best[0], max(low, floor))
    if high < best[1] and math.sqrt(joint) - math.sqrt(error) > NEGLIGIBLE:
        best[1] = high
        return True
    return False


@kernel()
def _added(V, r, base, members, l, n, k, known, mu, worst, limit, best, found):
    """All A of 2, …, k of the columns of `base`, residuals V (m, ·) off L like r, but what `mu` excludes."""
    index, gains, errors, squares, loose = base
    unit, m, width, near = known[0], len(V), len(r), span(known[0])
    Vs, rs = np.empty((k, m, width)), np.empty((k, 1, width))
    at = np.empty((k, m), np.int64)
    size, turn = np.zeros(k, np.int64), np.zeros(k, np.int64)
    singles, joint, off, error = np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k)
    rest, aim = np.empty(k), np.empty(k)
    Vs[0], rs[0, 0] = V, r
    rest[0], aim[0], _ = _dots(r, r, n)
    at[0] = np.arange(m)
    size[0] = m
    q, f = np.empty(width), np.empty(n)
    s = 0
    while s >= 0:
        a = turn[s]
        if a >= size[s]:
            s -= 1
            continue
        turn[s] += 1
        v, x = Vs[s, a], at[s, a]
        square, far, c = _dots(v, rs[s, 0], n)
        one, wrong = singles[s] + gains[x], off[s] + errors[x]
        stands = 1
        if not square > near * far:
            stands = standing(square, far, index[x], members, l + s, n, known)
        if stands < 0:
            # whatever x adds, what L ∪ A gains is ‖r‖² at most
            best[0] = min(best[0], ratio_bounds(one, rest[0], wrong, 1e-6 * rest[0])[0])
        if stands <= 0:
            continue
        both = joint[s] + c * c / square
        less = error[s] + _error(square, far, rest[s], aim[s], unit)
        if s > 0:
            best[2] += 1
            if best[2] > limit:
                return
            clear = wrong <= 1e-6 * one and less <= 1e-6 * both and one >= 1.01 * best[1] * both
            if not clear and math.sqrt(both) + math.sqrt(less) > NEGLIGIBLE:
                floor = 0.0
                if ratio_bounds(one, both, wrong, less)[0] < best[0]:
                    floor = _spectral(Vs, turn, squares, loose, at, s, n, l)
                if _take(one, both, wrong, less, floor, best):
                    _record(found, index, at, turn, s)
        left = size[s] - a - 1
        if s + 1 == k or left == 0:
            continue
        _pivot(v, square, l + s, n, q, f)
        _project(Vs[s, a + 1 :], left, q, f, Vs[s + 1])
        _project(rs[s], 1, q, f, rs[s + 1])
        for b in range(left):
            at[s + 1, b] = at[s, a + 1 + b]
        if mu > 0 and s + 2 < k and both > worst:
            bound = best[1] * (1 + 1e-6)
            slack = one - bound * both
            if _hopeless(Vs[s + 1], left, n, rs[s + 1, 0], gains, at[s + 1], k - s - 1, bound / mu, slack):
                continue
        singles[s + 1], joint[s + 1], off[s + 1], error[s + 1] = one, both, wrong, less
        size[s + 1], turn[s + 1] = left, 0
        members[l + s] = index[x]
        s += 1
        rest[s], aim[s], _ = _dots(rs[s, 0], rs[s, 0], n)


@kernel()
def _candidates(Z, r, inside, members, l, n, known, ordered):
    """Columns out of the span of L: residuals; (indices, single gains, squares of their errors, ρ², what
    rounding turns them by), by falling gain if `ordered`; and whether rounding leaves one open.
    """
    d, unit = len(Z), known[0]
    index, table = np.empty(d, np.int64), np.empty((4, d))
    rest, aim, _ = _dots(r, r, n)
    m, open_ = 0, False
    for x in range(d):
        if not inside[x]:
            square, size, c = _dots(Z[x], r, n)
            stands = standing(square, size, x, members, l, n, known)
            open_ |= stands < 0
            if stands > 0:
                index[m] = x
                table[0, m] = c * c / square
                table[1, m] = _error(square, size, rest, aim, unit)
                table[2, m] = square
                table[3, m] = _looseness(square, size, unit)
                m += 1
    if ordered:
        order = np.argsort(-table[0, :m])
        index[:m], table[:, :m] = index[:m][order], table[:, :m][:, order]
    V = np.empty((m, Z.shape[1]))
    for a in range(m):
        V[a] = Z[index[a]]
    return V, (index, table[0], table[1], table[2], table[3]), open_


@kernel()
def every_base(Z0, r0, U, n, k, known, mu, worst, limit, best, base, found):
    """All L ⊆ U and A: `best` = (lower, upper, pairs); `base` and `found` get L and A of `upper`, then −1.

    The rows Z0 (d, n + |U| + k) are unit columns, zero beyond the first n entries, and so is r0, y of length
    1. L + u spans what L does if u is in its span: it is left out. `mu` > 0 bounds the least eigenvalue of
    every residual correlation matrix, and prunes below pairs whose joint gain exceeds `worst`. No more than
    `limit` pairs are looked at.
    """
    d, width = Z0.shape
    u, unit = len(U), known[0]
    Z, rs = np.empty((u + 1, d, width)), np.empty((u + 1, 1, width))
    turn, members = np.zeros(u + 1, np.int64), np.zeros(u + k, np.int64)
    inside = np.zeros(d, np.bool_)
    q, f = np.empty(width), np.empty(n)
    Z[0], rs[0, 0] = Z0, r0
    l = 0
    fresh = True
    while l >= 0 and best[2] <= limit:
        if fresh:
            r = rs[l, 0]
            square, size, _ = _dots(r, r, n)
            if math.sqrt(square) + unit[0] * math.sqrt(size) > NEGLIGIBLE:
                upper = best[1]
                V, facts, open_ = _candidates(Z[l], r, inside, members, l, n, known, mu > 0)
                m = len(V)
                if open_ and k > 1:
                    best[0] = 0
                if m > 1 and k > 1:
                    _added(V, r, facts, members, l, n, min(k, m), known, mu, worst, limit, best, found)
                if best[1] < upper:
                    base[:] = -1
                    for t in range(l):
                        base[t] = U[turn[t] - 1]
            turn[l] = 0 if l == 0 else turn[l - 1]
        fresh = False
        if turn[l] >= u:
            l -= 1
            if l >= 0:
                inside[U[turn[l] - 1]] = False
            continue
        x = U[turn[l]]
        turn[l] += 1
        square, size, _ = _dots(Z[l, x], Z[l, x], n)
        if standing(square, size, x, members, l, n, known) > 0:
            _pivot(Z[l, x], square, l, n, q, f)
            _project(Z[l], d, q, f, Z[l + 1])
            _project(rs[l], 1, q, f, rs[l + 1])
            inside[x] = True
            members[l] = x
            l += 1
            fresh = True


@kernel()
def residuals(Z0, r0, L, n, known):
    """The rows of X and y off the independent columns of L, which come too, as `members`, and are marked."""
    Z, r = Z0.copy(), np.empty((1, len(r0)))
    r[0] = r0
    inside = np.zeros(len(Z), np.bool_)
    members, l = np.zeros(len(L) + 1, np.int64), 0
    q, f = np.empty(len(r0)), np.empty(n)
    for x in L:
        inside[x] = True
        square, size, _ = _dots(Z[x], Z[x], n)
        if standing(square, size, x, members, l, n, known) > 0:
            _pivot(Z[x], square, l, n, q, f)
            _project(Z, len(Z), q, f, Z)
            _project(r, 1, q, f, r)
            members[l] = x
            l += 1
    return Z, r, inside, members, l


@kernel()
def correlations(Z0, r0, L, n, known):
    """The residual correlation matrix of the columns out of the span of L, and a bound on its errors.

    The bound is infinite if rounding leaves open which these are.
    """
    Z, r, inside, members, l = residuals(Z0, r0, L, n, known)
    V, facts, open_ = _candidates(Z, r[0], inside, members, l, n, known, False)
    error = np.inf if open_ else 0.0
    H = np.empty((len(V), n))
    for a in range(len(V)):
        error = max(error, facts[4][a] + known[0][0] * known[0][1])
        H[a] = V[a, :n] / math.sqrt(facts[3][a])
    return H @ H.T, error


@kernel()
def grow(Z0, r0, L, n, k, stride, known, best, found):
    """From every stride-th column, add what makes the ratio at L least; whether `upper` fell."""
    Z, row, inside, before, l = residuals(Z0, r0, L, n, known)
    V0, facts, _ = _candidates(Z, row[0], inside, before, l, n, known, False)
    index, gains, errors, _, _ = facts
    m, unit = len(V0), known[0]
    fell = False
    picked, members = np.empty(k, np.int64), np.zeros(l + k, np.int64)
    members[:l] = before[:l]
    q, f = np.empty(Z.shape[1]), np.empty(n)
    for start in range(0, m, stride):
        V, r = V0.copy(), row.copy()
        out = np.zeros(m, np.bool_)
        singles, joint, off, error = 0.0, 0.0, 0.0, 0.0
        for s in range(min(k, m)):
            choice, least = -1, np.inf
            for a in range(m):
                if out[a] or (s == 0 and a != start):
                    continue
                square, size, c = _dots(V[a], r[0], n)
                if s == 0 or standing(square, size, index[a], members, l + s, n, known) > 0:
                    both = joint + c * c / square
                    if choice < 0 or (both > 0 and (singles + gains[a]) / both < least):
                        choice = a
                        least = (singles + gains[a]) / both if both > 0 else np.inf
            if choice < 0:
                break
            v = V[choice]
            square, size, c = _dots(v, r[0], n)
            singles += gains[choice]
            off += errors[choice]
            joint += c * c / square
            rest, aim, _ = _dots(r[0], r[0], n)
            error += _error(square, size, rest, aim, unit)
            picked[s] = index[choice]
            members[l + s] = index[choice]
            out[choice] = True
            if s > 0:
                best[2] += 1
                if _take(singles, joint, off, error, np.inf, best):
                    found[:] = -1
                    found[: s + 1] = picked[: s + 1]
                    fell = True
            _pivot(v, square, l + s, n, q, f)
            _project(V, m, q, f, V)
            _project(r, 1, q, f, r)
    return fell
