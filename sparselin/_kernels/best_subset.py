"""Depth-first branch and bound over subsets, on a stack of residual Gram matrices that can be resumed.

A frame is a node (I, F): the features I are in, a subset of at most m of the features F may follow. It holds
G = X_FᵀP_I^⊥X_F, b = X_FᵀP_I^⊥y and ‖P_I^⊥y‖². See `sparselin.guarantees.best_subset` for the bounds.

State of the frames, by level: `G` (levels, d, d); `b`, `D`, `beta`, `index` (levels, d), `index` being F;
`growth` (levels, d + 1) by how much rounding may have grown of each candidate, and last of y; `square`
(levels,) ‖P_I^⊥y‖², `count` |F|, `bound` a lower bound over what is not yet explored of the frame, `kind`
which D it has; `inside` the feature that each level adds to I.

`known` = (unit, twins, volumes, own, fixed, state, off): the first three as in `_kernels.submodularity`;
`own` (d + 1,) to how many u the columns and last y are known before any other is added; `fixed` how many
columns they are projected off, and log₂ of the volume of these; `state` whether rounding left open if a
column is in a span, and how far it may have moved a residual that counted; `off` (levels, d + 1) to what the
remainders of the columns and of y are known.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, kernel
from sparselin._kernels.linear_algebra import dot, project

# what D is: C ⪰ D on F; C_A ⪰ D_A for all A of at most m; none
CONVEX, SPARSE, NONE = 0, 1, 2
# What is left of a column is measured anew when its square falls below this times its growth squared.
_STALE = 1e-4
# D is kept only if it is so large beside diag(G); it is shrunk by _SAFE, far above rounding.
_LEAST, _SAFE = 1e-6, 1e-6
# Two columns whose squared sine is below are compared by projection, if the pair may be better in spite of
# errors so large in products of unit columns.
_PARALLEL, _ERROR = 0.1, 1e-11
_SWEEPS, _HALVINGS = 6, 6
# A new D is computed when so large a share of the candidates is left.
_SHRUNK = 0.8
# So many leaves follow one relaxation; it is given up when so far from what is needed.
_RUN, _HOPELESS = 8, 0.1

DEPTH, NODES, MOVES, SIZE = 0, 1, 2, 3  # entries of `counters`


@kernel(error_model="numpy")
def search(
    X, y, G, b, D, beta, growth, index, square, count, bound, kind, sized, inside, m, best, value, counters,
    slack, known, most,
):  # fmt: skip
    """Go on for at most `most` nodes. True when nothing is left.

    X (d, n) the root's columns by rows and y (n,), both of unit length; `best` (m,) and `value` (1,) the
    incumbent beyond the root, `counters` the level (−1 when done), nodes, improvements and size of `best`.
    """
    stop = counters[NODES] + most
    v, work = np.empty(X.shape[0]), np.empty((4, X.shape[0]))
    while counters[DEPTH] >= 0:
        level = counters[DEPTH]
        left, F, target = m - level, count[level], value[0] - slack
        if bound[level] >= target:
            counters[DEPTH] -= 1
            continue
        if counters[NODES] >= stop:
            return False
        counters[NODES] += 1
        if left <= 2:
            _scan(X, y, G[level], b[level], index[level], square[level], F, left, inside, level, best, value,
                  counters, slack, known, work)  # fmt: skip
            counters[DEPTH] -= 1
            continue
        w = work[1]
        _known_to(known[6][level], index[level], F, w)
        if _SHRUNK * sized[level] >= F:
            convexify(G[level], D[level], F, left, kind, sized, level, w)
        base = relax(
            G[level], b[level], D[level], beta[level], square[level], F, left, kind[level], target, v,
            work[0], w, known[6][level, -1],
        )  # fmt: skip
        total, last, _ = _largest(v, F, left)
        lower = base - total
        bound[level] = max(bound[level], lower)
        if bound[level] >= target:
            counters[DEPTH] -= 1
            continue
        F = _drop(
            G[level],
            b[level],
            D[level],
            beta[level],
            growth[level],
            index[level],
            v,
            F,
            lower + last - target,
        )
        if F == 0:
            bound[level] = np.inf
            continue
        for _ in range(1 if left > 3 else _RUN):
            # include the last candidate, and leave it out of what remains
            j = np.argmax(v[:F])
            F -= 1
            _swap(G[level], b[level], D[level], beta[level], growth[level], index[level], v, F + 1, j, F)
            count[level], inside[level] = F, index[level, F]
            deeper = left > 3 or not _leaf(
                X, y, G[level], b[level], growth[level], index[level], square[level], F, inside, level, best,
                value, counters, slack, known, work,
            )  # fmt: skip
            if deeper:
                _include(
                    X, y, G, b, D, beta, growth, index, square, count, bound, kind, sized, inside, level,
                    left - 1, value, counters, best, slack, known,
                )  # fmt: skip
                counters[DEPTH] += 1
            # no set of fewer than `left` of the others needs a visit
            if left > F:
                bound[level] = np.inf
            elif kind[level] != NONE:
                bound[level] = max(bound[level], base - _largest(v, F, left)[0])
            if deeper or bound[level] >= value[0] - slack:
                break
    return True


@kernel(error_model="numpy")
def _swap(G, b, D, beta, growth, index, v, F, i, j):
    if i == j:
        return
    for l in range(F):
        G[i, l], G[j, l] = G[j, l], G[i, l]
    for l in range(F):
        G[l, i], G[l, j] = G[l, j], G[l, i]
    b[i], b[j] = b[j], b[i]
    D[i], D[j] = D[j], D[i]
    beta[i], beta[j] = beta[j], beta[i]
    growth[i], growth[j] = growth[j], growth[i]
    index[i], index[j] = index[j], index[i]
    v[i], v[j] = v[j], v[i]


@kernel(error_model="numpy")
def _drop(G, b, D, beta, growth, index, v, F, limit):
    """Leave out the candidates with v_j ≤ limit, keeping the order of the others; returns how many stay."""
    kept = 0
    for j in range(F):
        if v[j] <= limit:
            continue
        if kept < j:
            for l in range(F):
                G[kept, l] = G[j, l]
            for l in range(F):
                G[l, kept] = G[l, j]
            b[kept], D[kept], beta[kept], growth[kept] = b[j], D[j], beta[j], growth[j]
            index[kept], v[kept] = index[j], v[j]
        kept += 1
    return kept


@kernel(error_model="numpy")
def relax(G, b, D, beta, square, F, m, kind, target, v, q, w, off):
    """Fill v; the bound over the A ⊆ F, |A| ≤ m, is what is returned less the sum of the m largest v_j.

    Improves beta by coordinate descent for as long as that may lead to the target. The remainders of the
    columns are known to w, that of y to `off`.
    """
    if kind == NONE:
        for j in range(F):
            v[j] = b[j] ** 2 / G[j, j]
        return -np.inf
    if kind == SPARSE:
        for j in range(F):
            v[j] = b[j] ** 2 / D[j]
        return square - max(0.0, _moved(v, D, beta, F, m, w, off) - _ERROR)
    for j in range(F):
        q[j] = -D[j] * beta[j]
    for l in range(F):
        if beta[l] != 0:
            for j in range(F):
                q[j] += beta[l] * G[l, j]
    base = square
    for sweep in range(_SWEEPS + 1):
        lam, upper = _level(b, D, beta, q, square, F, m)
        base = square
        for j in range(F):
            base -= beta[j] * q[j]
            v[j] = (b[j] - q[j]) ** 2 / D[j]
        total, _, following = _largest(v, F, m)
        if base - total >= target or sweep == _SWEEPS:
            break
        if sweep > 2 and upper < target - _HOPELESS * (square - target):
            break
        _sweep(G, b, D, beta, q, F, following if lam < 0 else lam)
    return base - max(0.0, _moved(v, D, beta, F, m, w, off) - _ERROR)


@kernel(error_model="numpy")
def _moved(v, D, beta, F, m, w, off):
    """By how much errors of the remainders lower the bound at x = beta, or (3): twice what they do to xᵀMx,
    and to the sum T of the m largest v_j = u_j²/D_j, √T being the length of a vector. Products of lengths up
    to 1 err by w_j + w_l and w_j + off.
    """
    size, shift, worst = 1.0, off, 0.0
    for j in range(F):
        size += abs(beta[j])
        shift += abs(beta[j]) * w[j]
    for j in range(F):
        p = w[j] * size + shift
        worst = max(worst, p * p / D[j])
    turned = math.sqrt(m * worst)
    return 2 * (2 * size * shift + turned * (2 * math.sqrt(_largest(v, F, m)[0]) + turned))


@kernel(error_model="numpy")
def _known_to(off, index, F, w):
    """To what the remainders of the candidates are known, into w."""
    for j in range(F):
        w[j] = off[index[j]]


@kernel(error_model="numpy")
def _sweep(G, b, D, beta, q, F, lam):
    """Coordinate descent on βᵀMβ − 2bᵀβ + Σ min_z (Dβ²/z + λz), M = G − diag(D), q = Mβ."""
    root = math.sqrt(max(lam, 0.0))
    for j in range(F):
        M = G[j, j] - D[j]
        g = b[j] - q[j] + M * beta[j]
        s = math.sqrt(D[j])
        size = abs(g)
        if size <= root * s:
            new = 0.0
        elif size * s < root * G[j, j]:
            new = (size - root * s) / M
        else:
            new = size / G[j, j]
        if g < 0:
            new = -new
        step = new - beta[j]
        if step != 0:
            row = G[j]
            for l in range(F):
                q[l] += step * row[l]
            q[j] -= step * D[j]
            beta[j] = new


@kernel(error_model="numpy")
def _level(b, D, beta, q, square, F, m):
    """λ = τ², Σ min(1, w_j/τ) = m for w = √D|β| (−1 if no more than m are nonzero), and the primal value."""
    w = np.empty(F)
    value = square
    total = 0.0
    n = 0
    for j in range(F):
        if beta[j] != 0:
            w[n] = math.sqrt(D[j]) * abs(beta[j])
            total += w[n]
            n += 1
            value += beta[j] * (q[j] - 2 * b[j])
    w = w[:n]
    if n <= m:
        for x in w:
            value += x * x
        return -1.0, value
    w.sort()
    r = 0
    while r < m and w[n - 1 - r] * (m - r) >= total:
        total -= w[n - 1 - r]
        value += w[n - 1 - r] ** 2
        r += 1
    if r == m:
        return w[n - m] ** 2, value
    tau = total / (m - r)
    return tau * tau, value + total * tau


@kernel(error_model="numpy")
def _largest(v, F, m):
    """The sum of the m largest of v[:F], the m-th and the one after it, zero where there is none."""
    if m >= F:
        return v[:F].sum(), 0.0, 0.0
    top = np.zeros(m + 1)
    for j in range(F):
        x = v[j]
        if x > top[m]:
            i = m
            while i > 0 and top[i - 1] < x:
                top[i] = top[i - 1]
                i -= 1
            top[i] = x
    return top[:m].sum(), top[m - 1], top[m]


@kernel(error_model="numpy")
def _include(
    X, y, G, b, D, beta, growth, index, square, count, bound, kind, sized, inside, level, m, value, counters,
    best, slack, known,
):  # fmt: skip
    """Fill level + 1 from the last candidate of this level, which `count` no longer counts."""
    F = count[level]
    A, C = G[level], G[level + 1]
    pivot, row, size = A[F, F], A[F], b[level, F]
    below = level + 1
    square[below] = max(0.0, square[level] - size * size / pivot)
    growth[below, -1] = growth[level, -1] + abs(size) / pivot * growth[level, F]
    stale = _STALE * growth[below, -1] ** 2 > 1
    for j in range(F):
        factor = row[j] / pivot
        for l in range(F):
            C[j, l] = A[j, l] - factor * row[l]
        b[below, j] = b[level, j] - factor * size
        D[below, j], beta[below, j], index[below, j] = D[level, j], beta[level, j], index[level, j]
        growth[below, j] = growth[level, j] + abs(factor) * growth[level, F]
        stale |= C[j, j] < _STALE * growth[below, j] ** 2
    count[below], kind[below], bound[below] = F, kind[level], bound[level]
    off, x = known[6], index[level, F]
    off[below] = off[level]
    for j in range(F):
        off[below, index[level, j]] += abs(row[j]) / pivot * off[level, x]
    off[below, -1] += abs(size) / pivot * off[level, x]
    if stale:
        count[below], square[below] = measure(
            X, y, C, b[below], D[below], beta[below], growth[below], index[below], F, inside, below, known
        )
    sized[below] = sized[level]
    w = np.empty(count[below])
    _known_to(off[below], index[below], count[below], w)
    if m > 2 and (stale or count[below] <= _SHRUNK * sized[level]):
        convexify(C, D[below], count[below], m, kind, sized, below, w)
    elif m > 2 and kind[level] != CONVEX:
        kind[below] = _circles(C, D[below], count[below], m, w)
    _note(inside, below, square[below], best, value, counters, slack)


@kernel(error_model="numpy")
def _note(inside, size, square, best, value, counters, slack):
    """A new incumbent, if it is better by more than the slack."""
    if square < value[0] - slack:
        value[0] = square
        best[:size] = inside[:size]
        counters[SIZE] = size
        counters[MOVES] += 1


@kernel(error_model="numpy")
def standing(square, size, x, members, t, n, known):
    """As `standing` of `_kernels.submodularity`: 1 out of the span of the t members, 0 in it, −1 open."""
    unit, twins, volumes, _, fixed, state, _ = known
    gram = unit[2] == 2
    far = (2 * unit[0] if gram else (2 * unit[0]) ** 2) * size
    if square > far:
        return 1
    if not gram:
        total = volumes[x] + fixed[1]
        for s in range(t):
            if twins[members[s]] == twins[x]:
                return 0
            total += volumes[members[s]]
        if t + fixed[0] >= n or 2 * math.sqrt(far) < 2.0**-total:
            return 0
    state[0] = 1
    return -1


@kernel(error_model="numpy")
def reach(Q, T, inside, t, z, x, own):
    """s(x)² of what becomes z, the coefficients on X_I = QR being TQz, T = R⁻¹."""
    total = own[x] ** 2
    h = np.empty(t)
    for l in range(t):
        h[l] = dot(Q[l], z)
    for i in range(t):
        b = 0.0
        for l in range(i, t):
            b += T[i, l] * h[l]
        total += (b * own[inside[i]]) ** 2
    return total


@kernel(error_model="numpy")
def basis(X, inside, t, known):
    """Orthonormal rows Q that span the columns `inside`, R⁻¹, and the independent ones, how many they are.

    A column in the span of those before, for certain or as far as rounding tells, becomes a zero row.
    """
    n = X.shape[1]
    Q, T = np.zeros((t, n)), np.zeros((t, t))
    members, shares, p = np.empty(t, np.intp), np.empty(t), 0
    for s in range(t):
        x = inside[s]
        size = reach(Q, T, inside, s, X[x], x, known[3])
        for l in range(s):
            T[l, s] = -dot(Q[l], X[x])
        Q[s] = X[x]
        length = project(Q, s, Q[s], shares)
        if standing(length * length, size, x, members, p, n, known) <= 0:
            Q[s], T[:, s] = 0, 0
            continue
        members[p] = x
        p += 1
        Q[s] /= length
        # column s of R⁻¹ is (−R⁻¹R_s, 1)/length
        for i in range(s):
            total = 0.0
            for l in range(i, s):
                total += T[i, l] * T[l, s]
            T[i, s] = total
        T[s, s] = 1
        for i in range(s + 1):
            T[i, s] /= length
    return Q, T, members, p


@kernel(error_model="numpy")
def doubt(square, size, unit):
    """What rounding does to ‖r‖² = square, size = s(y)²."""
    if unit[2] == 2:
        return unit[0] * size
    root, aim = math.sqrt(square), math.sqrt(size)
    return unit[0] * root * (2 * aim + unit[1] * root) + (unit[0] * aim) ** 2


@kernel(error_model="numpy")
def measure(X, y, C, b, D, beta, growth, index, F, inside, t, known):
    """Fill C and b by projection, with columns scaled to unit length; leaves out those in the span.

    Returns how many stay and ‖P_I^⊥y‖². D and beta, which belong to other scales, become zero.
    """
    growth[:] = 1.0
    unit, own, n = known[0], known[3], X.shape[1]
    Q, T, members, p = basis(X, inside, t, known)
    r, shares = y.copy(), np.empty(t)
    aim = math.sqrt(reach(Q, T, inside, t, y, len(own) - 1, own))
    rho = project(Q, t, r, shares)
    Z = np.empty((F, n))
    kept, off = 0, known[6]
    off[t, -1] = unit[0] * aim
    for j in range(F):
        x = index[j]
        Z[kept] = X[x]
        size = reach(Q, T, inside, t, X[x], x, own)
        length = project(Q, t, Z[kept], shares)
        if standing(length * length, size, x, members, p, n, known) <= 0:
            continue
        wide = math.sqrt(size) / length
        off[t, x] = unit[0] * (unit[1] + (wide * (aim + wide) if unit[2] == 2 else wide))
        Z[kept] /= length
        index[kept] = x
        b[kept] = dot(Z[kept], r)
        D[kept] = beta[kept] = 0.0
        kept += 1
    for j in range(kept):
        for l in range(j + 1):
            C[j, l] = C[l, j] = dot(Z[j], Z[l])
    return kept, rho * rho


@kernel(**VECTORIZED, error_model="numpy")
def _cholesky(C, shift, share, L, F):
    """L with LLᵀ = C − share·diag(shift), or False when a pivot is not clearly positive."""
    for j in range(F):
        below = L[j]
        pivot = C[j, j] - share * shift[j]
        for l in range(j):
            pivot -= below[l] * below[l]
        if pivot <= 1e-8 * C[j, j]:
            return False
        root = math.sqrt(pivot)
        below[j] = root
        for i in range(j + 1, F):
            row = L[i]
            total = C[i, j]
            for l in range(j):
                total -= row[l] * below[l]
            row[j] = total / root
    return True


@kernel(**VECTORIZED, error_model="numpy")
def _inverse_diagonal(L, h, F):
    """diag((LLᵀ)⁻¹): the squared norms of the columns of L⁻¹."""
    e = np.empty(F)
    for j in range(F):
        h[j] = 0
        for i in range(j, F):
            row = L[i]
            total = 1.0 if i == j else 0.0
            for l in range(j, i):
                total -= row[l] * e[l]
            e[i] = total / row[i]
            h[j] += e[i] * e[i]


@kernel(error_model="numpy")
def convexify(C, D, F, m, kind, sized, level, w):
    """D as large as is cheap, in proportion to 1/diag(C⁻¹), with C ⪰ D; else by Gershgorin's circles.

    An error of C, of w_j + w_l in C_jl at most, is no more than diag(F·w_j + Σ w), which D is less by.
    """
    sized[level], kind[level] = F, NONE
    if F == 0:
        return
    L, h = np.empty((F, F)), np.zeros(F)
    if _cholesky(C, h, 0.0, L, F):
        _inverse_diagonal(L, h, F)
        least = np.inf
        for j in range(F):
            h[j] = 1 / h[j]
            least = min(least, h[j] / C[j, j])
        # the eigenvalues of h^½C⁻¹h^½ sum to F, so that C ⪰ diag(h)/F
        low, high = 1.0 / F, 1.0
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if _cholesky(C, h, middle, L, F):
                low = middle
            else:
                high = middle
        total, enough = w[:F].sum(), low * least > _LEAST
        for j in range(F):
            enough &= low * h[j] > 4 * (F * w[j] + total)
            D[j] = low * h[j] * (1 - _SAFE) - F * w[j] - total
        if enough:
            kind[level] = CONVEX
            return
    kind[level] = _circles(C, D, F, m, w)


@kernel(error_model="numpy")
def _circles(C, D, F, m, w):
    """D_j = C_jj·(1 − the sum of the m − 1 largest |correlations| with others): C_A ⪰ D_A for |A| ≤ m."""
    sizes, most = np.empty(F), 0.0
    for j in range(F):
        most = max(most, w[j])
    for j in range(F):
        for l in range(F):
            sizes[l] = abs(C[j, l]) / math.sqrt(C[l, l])
        sizes[j] = 0
        D[j] = C[j, j] - _largest(sizes, F, m - 1)[0] * math.sqrt(C[j, j]) - m * (w[j] + most)
        if D[j] <= _LEAST * C[j, j]:
            return NONE
    return SPARSE


@kernel(error_model="numpy")
def _leaf(X, y, A, b, growth, index, square, F, inside, level, best, value, counters, slack, known, work):
    """Try all pairs beside I and candidate F; False if that needs the columns measured anew."""
    u, c, p = work[0], work[1], work[2]
    root, w, off = math.sqrt(A[F, F]), work[3], known[6][level]
    share = b[F] / root
    if _STALE * (growth[-1] + abs(share) / root * growth[F]) ** 2 > 1:
        return False
    for j in range(F):
        p[j] = A[F, j] / root
        length = A[j, j] - p[j] * p[j]
        if length < _STALE * (growth[j] + abs(p[j]) / root * growth[F]) ** 2:
            return False
        u[j] = 1 / math.sqrt(length)
        w[j] = (off[index[j]] + abs(p[j]) / root * off[index[F]]) * u[j]
        c[j] = (b[j] - p[j] * share) * u[j]
        p[j] *= u[j]
    counters[NODES] += 1
    rest = max(0.0, square - share * share)
    _note(inside, level + 1, rest, best, value, counters, slack)
    last = off[-1] + abs(share) / root * off[index[F]]
    for j in range(F):
        w[j] += last
    _pairs(X, y, A, index, rest, F, 2, inside, level + 1, best, value, counters, slack, known, u, c, p, w)
    return True


@kernel(error_model="numpy")
def _scan(X, y, A, b, index, square, F, m, inside, level, best, value, counters, slack, known, work):
    """Try all sets of at most m = 1 or 2 more features."""
    u, c, p = work[0], work[1], work[2]
    w, off = work[3], known[6][level]
    for j in range(F):
        u[j] = 1 / math.sqrt(A[j, j])
        c[j] = b[j] * u[j]
        p[j] = 0
        w[j] = off[index[j]] * u[j] + off[-1]
    _pairs(X, y, A, index, square, F, m, inside, level, best, value, counters, slack, known, u, c, p, w)


@kernel(error_model="numpy")
def _pairs(X, y, A, index, square, F, m, inside, level, best, value, counters, slack, known, u, c, p, w):
    """Try all single features and, for m = 2, pairs: unit columns with inner products c with y.

    Each c is known to its w, and the gain of a pair, before the division, to 8 times those of the two. What
    is nearly parallel, or known to less than _ERROR, is compared by projection if it may be better.
    """
    state, top = known[5], 0
    for j in range(F):
        if c[j] ** 2 > c[top] ** 2:
            top = j
    for j in range(F):
        needed = square - value[0] + slack
        if j == top or c[j] ** 2 + 4 * w[j] > needed:
            inside[level] = index[j]
            left = square - c[j] ** 2
            if 4 * w[j] > _ERROR and c[j] ** 2 + 4 * w[j] > needed:
                left, moved = remainder(X, y, inside, level + 1, known)
                state[1] = max(state[1], min(moved, moved + value[0] - left))
            _note(inside, level + 1, max(0.0, left), best, value, counters, slack)
    if m < 2:
        return
    for j in range(F):
        if _better(A[j], u, c, p, w, j, square - value[0] + slack) == 0:
            continue
        for l in range(j):
            rho = A[j, l] * u[j] * u[l] - p[j] * p[l]
            height = 1 - rho * rho
            gain = c[j] ** 2 + c[l] ** 2 - 2 * rho * c[j] * c[l]
            error = 8 * (w[j] + w[l])
            if height > _PARALLEL and error <= _ERROR:
                left = square - gain / height
            elif gain > (square - value[0] + slack) * height - max(error, _ERROR):
                left, moved = _measured(X, y, inside, level, index[j], index[l], known)
                state[1] = max(state[1], min(moved, moved + value[0] - left))
            else:
                continue
            if left < value[0] - slack:
                inside[level], inside[level + 1] = index[j], index[l]
                _note(inside, level + 2, max(0.0, left), best, value, counters, slack)


@kernel(**VECTORIZED, error_model="numpy")
def _better(row, u, c, p, w, j, needed):
    """How many l < j make pairs that may lower the square by more than needed."""
    hits = 0
    uj, cj, pj, wj = u[j], c[j], p[j], w[j]
    for l in range(j):
        rho = row[l] * uj * u[l] - pj * p[l]
        height = 1 - rho * rho
        gain = cj * cj + c[l] * c[l] - 2 * rho * cj * c[l]
        hits += gain > needed * height - max(_ERROR, 8 * (wj + w[l]))
    return hits


@kernel(error_model="numpy")
def _measured(X, y, inside, t, j, l, known):
    """‖P^⊥y‖² for I, j and l, by projection, and what rounding does to it."""
    J = np.empty(t + 2, np.intp)
    J[:t] = inside[:t]
    J[t], J[t + 1] = j, l
    return remainder(X, y, J, t + 2, known)


@kernel(error_model="numpy")
def remainder(X, y, inside, t, known):
    """‖P_I^⊥y‖² by projection, and what rounding does to it."""
    Q, T, _, _ = basis(X, inside, t, known)
    size = reach(Q, T, inside, t, y, len(known[3]) - 1, known[3])
    square = project(Q, t, y.copy(), np.empty(t)) ** 2
    return square, doubt(square, size, known[0])
