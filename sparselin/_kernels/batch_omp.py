"""OMP for many signals over one dictionary; here its columns u_j have unit length (or are zero).

`select` takes a chunk of signals. Each first goes by the Gram matrix G = UᵀU. With U_S = QR, W[t] = Uᵀq_t,
z_t = ⟨q_t, y⟩ and V[t] the column t of R⁻¹, a pick i extends them by

    R[s, t] = ⟨V[s], G[S, i]⟩,   ρ² = G_ii − Σ_s R[s, t]²,   z_t = (⟨u_i, y⟩ − Σ_s z_s R[s, t])/ρ,
    W[t] = (G[i] − Σ_s R[s, t] W[s])/ρ,   V[t] = (e_t − Σ_s R[s, t] V[s])/ρ,
    c ← c − z_t W[t],   γ ← γ + z_t V[t].

Almost all the work is in W and c, (d,) each. These are float32 and only screen: the columns that c cannot
exclude, mostly one, are compared in float64. Where rounding might decide even so (a pick, a tie, the end),
the signal is done again by a QR factorisation in sample space, which is what `omp` does.

`scale` (d,) is ‖x_j‖ over the largest, with x_j = ‖x_j‖u_j the columns as given: what competes is
scale_j|⟨u_j, r⟩|. `eps` is that of the dtype of the data: it sets what counts as zero, as in
`sparselin.ties`. Ties are those of float64. `tol` is negative for none.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, kernel
from sparselin._kernels.linear_algebra import dot, extend_inverse, project, solve, subtract

COMPLETED, TOLERANCE, EXACT_FIT, NO_CORRELATION, RANK_EXHAUSTED = range(5)
_REDO = -1
_SIZE = np.int32(2**31 - 1)  # all bits of a float32 but its sign: as integers they order |c|
_EPS = 2.0**-52
_HALF_EPS32 = 2.0**-24
_TINY32 = 2.0**-126
_SAFETY = 8.0
# Above this κ² the Gram matrix would cost the coefficients more than four of their sixteen digits.
_CONDITION = 1e4
# c comes in blocks of so many, the last one filled up with zeros.
_BLOCK = 64
# Rows of W this much longer than d columns do not all fall into the same cache lines.
_PAD = 16


@kernel()
def select(G, G32, C, Yt, Ut, scale, lengths, k, tol, eps, support, coef, taken, residual_norm, status):
    """Signals Yt (m, n), C (m, d) = Yt U, lengths (m,) = ‖y‖; the results have a row a signal.

    An empty G sends all signals to sample space. Returns how many went there.
    """
    d, n = Ut.shape
    blocks = -(-d // _BLOCK)
    dictionary = Ut, scale, scale.astype(np.float32), G, G32
    screen = (
        np.zeros((k + 8, d + _PAD), np.float32),
        np.empty(k + 8, np.float32),
        np.empty(d, np.float32),
        np.zeros(blocks * _BLOCK, np.float32),
        np.empty(blocks, np.int32),
    )
    recurrence = np.zeros((k, k)), np.empty(k), np.empty(k), np.empty(k)
    factors = np.zeros((k, n)), np.zeros((k, k)), np.zeros((k, k)), np.empty(k), np.empty(n)
    r, size = np.empty(n), np.empty(d)
    redone = 0
    for m in range(Yt.shape[0]):
        y, length, chosen, gamma = Yt[m], lengths[m], support[m], coef[m]
        code, t = _REDO, 0
        if G.size:
            signal = y, C[m], length
            code, t = by_gram(dictionary, signal, tol, eps, screen, recurrence, r, size, chosen, gamma)
        if code == _REDO:
            redone += 1
            code, t = by_samples(y, Ut, scale, length, tol, eps, factors, r, size, chosen, gamma)
        else:
            residual(y, Ut, chosen, gamma, t, r)
        for s in range(t, k):
            chosen[s] = -1
            gamma[s] = 0
        residual_norm[m] = math.sqrt(dot(r, r))
        taken[m] = t
        status[m] = code
    return redone


@kernel()
def by_gram(dictionary, signal, tol, eps, screen, recurrence, r, size, chosen, gamma):
    """One signal by the Gram matrix: (status, number of picks), or _REDO where rounding might decide.

    c0 = Uᵀy is in float64, c = scale·Uᵀr/‖y‖ in float32. `error` bounds what is uncertain in float64: e_c,
    and the error of an n-term sum times no more than κ from G to R and again from R to γ.
    """
    Ut, scale, scale32, G, G32 = dictionary
    y, c0, length = signal
    W, column32, g, c, tops = screen
    V, column, z, products = recurrence
    unit = 1 / length if length > 0 else 0.0
    for j in range(c0.size):
        c[j] = c0[j] * unit * scale[j]
    k, root = gamma.size, math.sqrt(y.size)
    condition, square, t = 0.0, length * length, 0
    while True:
        kappa2 = max(1.0, condition)
        zero = _SAFETY * eps * (root + math.sqrt(kappa2)) * length
        error = _SAFETY * _EPS * (root + math.sqrt(kappa2) + root * kappa2) * length
        if tol >= 0 and square <= (tol * length) ** 2 + 4 * error * length:
            norm = residual(y, Ut, chosen, gamma, t, r)
            if norm <= tol * length - error:
                return TOLERANCE, t
            if norm <= tol * length + error:
                return _REDO, 0
        if t == k:
            return COMPLETED, t
        i = pick(G, c0, c, tops, scale, length, error, zero, kappa2, size, chosen, gamma, t)
        if i < 0:
            # ‖r‖ ≤ u‖y‖ ≤ u·s(y) makes every |c_j| ≤ e_j, and so ends `omp` too
            fits = residual(y, Ut, chosen, gamma, t, r) <= _SAFETY * eps * length
            return (EXACT_FIT, t) if fits else (_REDO, 0)
        rho2, share = orthogonalize(V, G[i], chosen, t, z, products, column, G[i, i], c0[i])
        if rho2 <= 0:
            return _REDO, 0
        inverse = 1 / math.sqrt(rho2)
        share *= inverse
        condition += extend_inverse(V, column, t, inverse)
        if condition > _CONDITION:
            return _REDO, 0
        gamma[t] = 0
        for s in range(t + 1):
            gamma[s] += share * V[t, s]
        z[t] = share
        chosen[t] = i
        square -= share * share
        if t + 1 < k:
            for s in range(t + 8):
                column32[s] = column[s] if s < t else 0.0
            extend(W, G32[i], g, column32, t, np.float32(inverse), np.float32(share * unit), scale32, c)
            for s in range(t + 1):
                c[chosen[s]] = 0
        t += 1


@kernel(**VECTORIZED)
def orthogonalize(V, row, chosen, t, z, products, column, rho2, share):
    """column = R[:t, t] from row = G[i]; returns ρ² and ρ·z_t."""
    for s in range(t):
        products[s] = row[chosen[s]]
    for s in range(t):
        total = 0.0
        for l in range(s + 1):
            total += V[s, l] * products[l]
        column[s] = total
        rho2 -= total * total
        share -= total * z[s]
    return rho2, share


@kernel(**VECTORIZED)
def extend(W, row, g, column, t, inverse, share, scale, c):
    """W[t] = (row − Σ_{s<t} column_s W[s])·inverse and c ← c − share·scale∘W[t].

    Four rows of W in the first pass, then eight or four in each; `column` is zero from t on, where W is old.
    """
    d = row.size
    w0, w1, w2, w3 = W[0], W[1], W[2], W[3]
    r0, r1, r2, r3 = column[0], column[1], column[2], column[3]
    for j in range(d):
        g[j] = row[j] - ((r0 * w0[j] + r1 * w1[j]) + (r2 * w2[j] + r3 * w3[j]))
    for s in range(4, t, 8):
        w0, w1, w2, w3 = W[s], W[s + 1], W[s + 2], W[s + 3]
        r0, r1, r2, r3 = column[s], column[s + 1], column[s + 2], column[s + 3]
        if t - s <= 4:
            for j in range(d):
                g[j] -= (r0 * w0[j] + r1 * w1[j]) + (r2 * w2[j] + r3 * w3[j])
        else:
            w4, w5, w6, w7 = W[s + 4], W[s + 5], W[s + 6], W[s + 7]
            r4, r5, r6, r7 = column[s + 4], column[s + 5], column[s + 6], column[s + 7]
            for j in range(d):
                left = (r0 * w0[j] + r1 * w1[j]) + (r2 * w2[j] + r3 * w3[j])
                g[j] -= left + ((r4 * w4[j] + r5 * w5[j]) + (r6 * w6[j] + r7 * w7[j]))
    w = W[t]
    for j in range(d):
        x = g[j] * inverse
        w[j] = x
        c[j] -= share * scale[j] * x


@kernel()
def pick(G, c0, c, tops, scale, length, error, zero, kappa2, size, chosen, gamma, t):
    """The i for which scale_i(|c_i| − error) is above all other scale_j(|c_j| + error), |c_i| > zero; or −1.

    The screen c errs by scale_j·blur: δW = R⁻ᵀF, where F_t is what rounding adds in step t, at most
    t + 2 times half an eps.
    """
    blur = _HALF_EPS32 * (4 + math.sqrt(t * kappa2) * (t + 2))
    if length > 0:
        blur += error / length
    best, i = largest(c.view(np.int32), tops, np.float32(2 * blur))
    if i >= 0 and best * length > (zero + 2 * blur * length) * scale[i]:
        return i
    return clear_winner(G, c0, c, scale, best, blur, error, zero, size, chosen, gamma, t)


@kernel()
def clear_winner(G, c0, c, scale, best, blur, error, zero, size, chosen, gamma, t):
    """The same by comparing in float64, as c_j = c0_j − G[j, S]γ, what the screen leaves."""
    first = 0
    while abs(c[first]) < best:
        first += 1
    level = best - blur * scale[first] - _TINY32
    winner = -1
    for j in range(size.size):
        size[j] = -1
        if abs(c[j]) + blur * scale[j] >= level and not is_among(j, chosen, t):
            total = c0[j]
            for s in range(t):
                total -= gamma[s] * G[chosen[s], j]
            size[j] = abs(total)
            if winner < 0 or scale[j] * size[j] > scale[winner] * size[winner]:
                winner = j
    if winner < 0 or size[winner] <= zero + error:
        return -1
    level = scale[winner] * (size[winner] - error)
    for j in range(size.size):
        if j != winner and size[j] >= 0 and scale[j] * (size[j] + error) >= level:
            return -1
    return winner


@kernel(**VECTORIZED)
def largest(bits, tops, room):
    """The largest |c_j| and its j, or −1 unless all others are smaller by more than `room`.

    c comes as the integers with its bits: a maximum of floats would not be vectorised.
    """
    block = 0
    for b in range(tops.size):
        top = np.int32(0)
        for j in range(b * _BLOCK, b * _BLOCK + _BLOCK):
            top = max(top, bits[j] & _SIZE)
        tops[b] = top
        if top > tops[block]:
            block = b
    best = np.int32(tops[block]).view(np.float32)
    level = np.float32(best - room)
    if level <= 0:
        return best, -1
    limit = np.int32(level.view(np.int32))
    count, i = 0, -1
    for b in range(tops.size):
        count += b != block and tops[b] >= limit
    for j in range(block * _BLOCK, block * _BLOCK + _BLOCK):
        if bits[j] & _SIZE >= limit:
            count += 1
            i = j
    return best, (i if count == 1 else -1)


@kernel()
def is_among(j, chosen, t):
    for s in range(t):  # noqa: SIM110
        if chosen[s] == j:
            return True
    return False


@kernel(**VECTORIZED)
def residual(y, Ut, chosen, gamma, t, r):
    """r = y − U_Sγ; returns its norm."""
    for i in range(y.size):
        r[i] = y[i]
    for s in range(t):
        subtract(gamma[s], Ut[chosen[s]], r)
    return math.sqrt(dot(r, r))


@kernel()
def by_samples(y, Ut, scale, length, tol, eps, factors, r, size, chosen, gamma):
    """One signal as `omp` does it: Uᵀr with the residual itself, columns orthogonalised twice.

    A pick that turns out to lie in the span of the others (rounding alone can make one) gets the coefficient
    zero and a zero row of Q. Returns (status, number of picks) and leaves the residual in r.
    """
    Q, R, V, z, v = factors
    k, root = gamma.size, math.sqrt(y.size)
    error, column = np.empty(size.size), np.empty(k)
    condition, norm, t = 0.0, length, 0
    r[:] = y
    while True:
        if tol >= 0 and norm <= tol * length:
            code = TOLERANCE
            break
        if t == k:
            code = COMPLETED
            break
        for j in range(size.size):
            size[j] = abs(dot(Ut[j], r))
        for s in range(t):
            size[chosen[s]] = -1
        bound = _SAFETY * _EPS * (root + math.sqrt(max(1.0, condition))) * length
        error[:] = bound
        near, i = contenders(size, scale, error, eps / _EPS)
        if near > 1 or i < 0:
            norm, y_size = measure_signal(y, Q, V, t, r, column)
            measure(Ut, scale, bound, Q, V, t, r, norm, y_size, eps, v, column, size, error)
            near, i = contenders(size, scale, error, eps / _EPS)
        if i < 0:
            code = NO_CORRELATION
            if norm <= _SAFETY * eps * y_size:
                code = EXACT_FIT
            elif spans_all(Ut, chosen, Q, V, t, eps, v, column):
                code = RANK_EXHAUSTED
            break
        Q[t] = Ut[i]
        rho = project(Q, t, Q[t], R[t])
        if rho > 0:
            square = extend_inverse(V, R[t], t, 1 / rho)
        if rho > 0 and square * (_SAFETY * eps) ** 2 < 1:
            Q[t] /= rho
            condition += square
        else:
            Q[t] = 0
            R[t, :t] = 0
            rho = 1.0
            extend_inverse(V, R[t], t, 1 / rho)
        R[t, t] = rho
        z[t] = dot(Q[t], r)
        subtract(z[t], Q[t], r)
        norm = math.sqrt(dot(r, r))
        chosen[t] = i
        t += 1
    gamma[:t] = solve(R[:t, :t].T, z[:t])
    return code, t


@kernel()
def extent(V, t, column, square):
    """√(square + ‖b‖²), b = R⁻¹·column: the size of x, if `square` is ‖x‖² and `column` Qᵀx."""
    for i in range(t):
        b = 0.0
        for s in range(i, t):
            b += V[s, i] * column[s]
        square += b * b
    return math.sqrt(square)


@kernel()
def measure_signal(y, Q, V, t, r, column):
    """r = P_S^⊥y anew; returns its norm and the size of y."""
    r[:] = y
    return project(Q, t, r, column), extent(V, t, column, dot(y, y))


@kernel()
def measure(Ut, scale, bound, Q, V, t, r, norm, y_size, eps, v, column, size, error):
    """|c_j| and e_j of what `bound` leaves open, as `sparselin.ties` has them; −1 for the span of S."""
    level = 0.0
    for j in range(size.size):
        level = max(level, scale[j] * (size[j] - bound))
    for j in range(size.size):
        if size[j] < 0 or scale[j] * (size[j] + bound) < level:
            size[j] = -1
            continue
        v[:] = Ut[j]
        rho, own = project(Q, t, v, column), extent(V, t, column, 1.0)
        size[j] = abs(dot(v, r)) if rho > _SAFETY * eps * own else -1.0
        error[j] = _SAFETY * _EPS * (own * norm + rho * y_size + math.sqrt(r.size) * rho * norm)


@kernel()
def contenders(size, scale, error, coarse):
    """How many j may have the largest scale_j·size_j, known to ±scale_j·error_j, and the least of them that
    is certainly not zero, size_j > coarse·error_j; −1 if none is. A negative size does not compete.
    """
    level, count, first = 0.0, 0, -1
    for j in range(size.size):
        level = max(level, scale[j] * (size[j] - error[j]))
    for j in range(size.size):
        if size[j] >= 0 and scale[j] > 0 and scale[j] * (size[j] + error[j]) >= level:
            count += 1
            if first < 0 and size[j] > coarse * error[j]:
                first = j
    return count, first


@kernel()
def spans_all(Ut, chosen, Q, V, t, eps, v, column):
    """Whether every column lies in the span of the rows of Q to rounding; v (n,) and column are scratch."""
    for j in range(Ut.shape[0]):
        if not is_among(j, chosen, t):
            v[:] = Ut[j]
            if project(Q, t, v, column) > _SAFETY * eps * extent(V, t, column, 1.0):
                return False
    return True
