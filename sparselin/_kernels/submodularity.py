"""The submodularity ratio of R² by enumeration: one pass of Gram-Schmidt for each set."""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import kernel

_FAST = {"fastmath": {"reassoc", "contract"}}


@kernel(**_FAST)
def _project(V, m, q, out):
    """Rows of V (m, n) off the unit vector q, into out."""
    n = q.size
    for a in range(m):
        dot = 0.0
        for i in range(n):
            dot += V[a, i] * q[i]
        for i in range(n):
            out[a, i] = V[a, i] - dot * q[i]


@kernel(**_FAST)
def _dot(u, v):
    total = 0.0
    for i in range(u.size):
        total += u[i] * v[i]
    return total


@kernel(**_FAST)
def _unit(v, square, q):
    """v/√square into q."""
    rho = math.sqrt(square)
    for i in range(q.size):
        q[i] = v[i] / rho


@kernel(**_FAST)
def _off(r, q, out):
    """r off the unit vector q, into out."""
    dot = _dot(q, r)
    for i in range(q.size):
        out[i] = r[i] - dot * q[i]


@kernel()
def _rounding(kappa2, bits):
    """8·eps·(√n + κ^p), κ ≥ 1, with `bits` = (8·eps, √n, p)."""
    kappa2 = max(1.0, kappa2)
    return bits[0] * (bits[1] + (kappa2 if bits[2] == 2 else math.sqrt(kappa2)))


@kernel()
def _independent(square, kappa2, bits):
    """Whether a unit column at this squared distance is out of the span, beyond `Problem.length_error`."""
    kappa2 = max(1.0, kappa2)
    if bits[2] == 2:
        return square > 8 * bits[0] * kappa2
    error = bits[0] * (bits[1] + math.sqrt(kappa2))
    return square > error * error


@kernel()
def _condition(kappa2, square):
    """κ² ≥ ‖R⁻¹‖_F² with one more unit column, at distance √square of the span: 1/ρ²·(1 + ‖R⁻¹r‖²) more."""
    return kappa2 + (1 + kappa2 * max(0.0, 1 - square)) / square


@kernel()
def ratio_bounds(singles, joint, count, error):
    """Bounds of the ratio if the roots of `joint` and of each of `count` single gains are off by `error`."""
    a, b, e = math.sqrt(singles), math.sqrt(joint), math.sqrt(count) * error
    low = max(0.0, a - e) / (b + error)
    high = (a + e) / (b - error)
    return low * low, high * high


@kernel()
def _hopeless(V, m, r, gains, at, left, ratio, slack):
    """Whether the largest `left` sums of ratio·h_x − g_x, h_x the gains after A, stay within the slack."""
    top = np.zeros(left)
    for a in range(m):
        c = _dot(V[a], r)
        excess = ratio * c * c / _dot(V[a], V[a]) - gains[at[a]]
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
def _take(singles, joint, count, error, best):
    """Account for one pair; whether it is the new least."""
    if not joint > error * error:
        return False
    low, high = ratio_bounds(singles, joint, count, error)
    best[0] = min(best[0], low)
    if high < best[1]:
        best[1] = high
        return True
    return False


@kernel()
def _added(V, r, index, m, gains, kappa2, k, bits, mu, worst, limit, best, found):
    """All A of 2, …, k of the m columns V (·, n), residuals off L like r, but what the bound excludes."""
    n = r.size
    Vs, rs = np.empty((k, m, n)), np.empty((k, n))
    at = np.empty((k, m), np.int64)
    size, turn = np.zeros(k, np.int64), np.zeros(k, np.int64)
    singles, joint, kappas = np.zeros(k), np.zeros(k), np.empty(k)
    Vs[0], rs[0] = V[:m], r
    at[0] = np.arange(m)
    size[0], kappas[0] = m, kappa2
    q = np.empty(n)
    s = 0
    while s >= 0:
        a = turn[s]
        if a >= size[s]:
            s -= 1
            continue
        turn[s] += 1
        v = Vs[s, a]
        square = _dot(v, v)
        if not _independent(square, kappas[s], bits):
            continue
        c = _dot(v, rs[s])
        one = singles[s] + gains[at[s, a]]
        both = joint[s] + c * c / square
        kappa = _condition(kappas[s], square)
        if s > 0:
            best[2] += 1
            if best[2] > limit:
                return
            if _take(one, both, s + 1, _rounding(kappa, bits), best):
                _record(found, index, at, turn, s)
        left = size[s] - a - 1
        if s + 1 == k or left == 0:
            continue
        _unit(v, square, q)
        _project(Vs[s, a + 1 :], left, q, Vs[s + 1])
        _off(rs[s], q, rs[s + 1])
        for b in range(left):
            at[s + 1, b] = at[s, a + 1 + b]
        if mu > 0 and s + 2 < k and both > worst:
            bound = best[1] * (1 + 1e-6)
            slack = one - bound * both
            if _hopeless(Vs[s + 1], left, rs[s + 1], gains, at[s + 1], k - s - 1, bound / mu, slack):
                continue
        singles[s + 1], joint[s + 1], kappas[s + 1] = one, both, kappa
        size[s + 1], turn[s + 1] = left, 0
        s += 1


@kernel()
def _candidates(Z, r, inside, kappa2, bits, ordered):
    """Columns out of the span of L: residuals, indices, single gains; by falling gain if `ordered`."""
    d, n = Z.shape
    index, gains = np.empty(d, np.int64), np.empty(d)
    m = 0
    for x in range(d):
        if not inside[x]:
            square = _dot(Z[x], Z[x])
            if _independent(square, kappa2, bits):
                c = _dot(Z[x], r)
                index[m] = x
                gains[m] = c * c / square
                m += 1
    if ordered:
        order = np.argsort(-gains[:m])
        index[:m], gains[:m] = index[:m][order], gains[:m][order]
    V = np.empty((m, n))
    for a in range(m):
        V[a] = Z[index[a]]
    return V, index, gains


@kernel()
def every_base(X, y, U, k, bits, mu, worst, limit, best, base, found):
    """All L ⊆ U and A: `best` = (lower, upper, pairs); `base` and `found` get L and A of `upper`, then −1.

    X (d, n) has unit rows and y unit length. L + u spans what L does if u is in its span: it is left out.
    `mu` > 0 bounds the least eigenvalue of every residual correlation matrix, and prunes below pairs whose
    joint gain exceeds `worst`. No more than `limit` pairs are looked at.
    """
    d, n = X.shape
    u = len(U)
    Z, rs, kappas = np.empty((u + 1, d, n)), np.empty((u + 1, n)), np.zeros(u + 1)
    turn = np.zeros(u + 1, np.int64)
    inside = np.zeros(d, np.bool_)
    Z[0], rs[0] = X, y
    l = 0
    fresh = True
    while l >= 0 and best[2] <= limit:
        if fresh:
            upper = best[1]
            V, index, gains = _candidates(Z[l], rs[l], inside, kappas[l], bits, mu > 0)
            m = len(V)
            if m > 1 and k > 1:
                _added(V, rs[l], index, m, gains, kappas[l], min(k, m), bits, mu, worst, limit, best, found)
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
        square = _dot(Z[l, x], Z[l, x])
        if _independent(square, kappas[l], bits):
            q = Z[l, x] / math.sqrt(square)
            _project(Z[l], d, q, Z[l + 1])
            rs[l + 1] = rs[l] - _dot(q, rs[l]) * q
            kappas[l + 1] = _condition(kappas[l], square)
            inside[x] = True
            l += 1
            fresh = True


@kernel()
def residuals(X, y, L, bits):
    """X and y off the independent columns of L, which are marked, and their condition."""
    Z, r, kappa2 = X.copy(), y.copy(), 0.0
    inside = np.zeros(len(X), np.bool_)
    for x in L:
        inside[x] = True
        square = _dot(Z[x], Z[x])
        if _independent(square, kappa2, bits):
            q = Z[x] / math.sqrt(square)
            _project(Z, len(Z), q, Z)
            r -= _dot(q, r) * q
            kappa2 = _condition(kappa2, square)
    return Z, r, inside, kappa2


@kernel()
def correlations(X, y, L, bits):
    """The residual correlation matrix of the columns out of the span of L, and a bound on its errors."""
    Z, r, inside, kappa2 = residuals(X, y, L, bits)
    V, _, _ = _candidates(Z, r, inside, kappa2, bits, False)
    error = 0.0
    for a in range(len(V)):
        square = _dot(V[a], V[a])
        error = max(error, _rounding(_condition(kappa2, square), bits))
        V[a] /= math.sqrt(square)
    return V @ V.T, error


@kernel()
def grow(X, y, L, k, stride, bits, best, found):
    """From every stride-th column, add what makes the ratio at L least; whether `upper` fell."""
    Z, r0, inside, kappa0 = residuals(X, y, L, bits)
    V0, index, gains = _candidates(Z, r0, inside, kappa0, bits, False)
    m = len(V0)
    fell = False
    picked = np.empty(k, np.int64)
    for start in range(0, m, stride):
        V, r, kappa2 = V0.copy(), r0.copy(), kappa0
        out = np.zeros(m, np.bool_)
        singles, joint = 0.0, 0.0
        for s in range(min(k, m)):
            choice, least = -1, np.inf
            for a in range(m):
                if out[a] or (s == 0 and a != start):
                    continue
                square = _dot(V[a], V[a])
                if _independent(square, kappa2, bits):
                    c = _dot(V[a], r)
                    both = joint + c * c / square
                    if choice < 0 or (both > 0 and (singles + gains[a]) / both < least):
                        choice = a
                        least = (singles + gains[a]) / both if both > 0 else np.inf
            if choice < 0:
                break
            square = _dot(V[choice], V[choice])
            c = _dot(V[choice], r)
            singles += gains[choice]
            joint += c * c / square
            kappa2 = _condition(kappa2, square)
            picked[s] = index[choice]
            out[choice] = True
            if s > 0:
                best[2] += 1
                if _take(singles, joint, s + 1, _rounding(kappa2, bits), best):
                    found[:] = -1
                    found[: s + 1] = picked[: s + 1]
                    fell = True
            q = V[choice] / math.sqrt(square)
            _project(V, m, q, V)
            r = r - _dot(q, r) * q
    return fell
