"""The least eigenvalue of all k × k principal submatrices of a symmetric matrix, by branch and bound.

A node is a set P, and level t of the arrays belongs to its first t elements. Let M = C − θI, where C is the
symmetric matrix and θ the value to be beaten. `W[t]` is the Schur complement of M_P in M on the candidates
`index[t]`, and `branch[t]` is the position of the candidate on which the search branches. M_P is positive
definite at every node. Therefore the following are equivalent: all C_S − θI with S ⊇ P are positive definite;
all principal submatrices of W[t] of at most k − t elements are positive definite.
"""

import math

import numpy as np

from sparselin._kernels import ONCE, inner, kernel
from sparselin._kernels.linear_algebra import insert
from sparselin._kernels.primitives import copy, eigen, least_eigenvalue

# Pivots and sums must exceed this, which is the rounding error of a scaled Schur complement, 1e3·eps.
_MARGIN = 2.0**-42


@inner()
def submatrix(C, S, size):
    """Return the principal submatrix C_S for the first `size` entries of S."""
    A = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            A[a, b] = C[S[a], S[b]]
    return A


@inner()
def _border(values, vectors, C, S, size, x, limit):
    """Return the least eigenvalue of C_{S + x} if it is below `limit`, otherwise `limit`.

    values, vectors : the eigenvalues, increasing, and the eigenvectors V of C_S.

    The least eigenvalue of C_{S + x} is the root μ below values[0] of C_xx − μ − Σ z_i²/(values_i − μ), where
    z = Vᵀc_x and c_x is column x of C on S. The root is found by bisection.
    """
    z = np.zeros(size)
    for a in range(size):
        c = C[S[a], x]
        for b in range(size):
            z[b] += vectors[a, b] * c
    square = 0.0
    for b in range(size):
        z[b] *= z[b]
        square += z[b]
    high = min(limit, values[0], C[x, x])
    half = 0.5 * (values[0] - C[x, x])
    low = 0.5 * (values[0] + C[x, x]) - math.sqrt(half * half + square)
    if low >= high:
        return high
    for trial in range(48):
        mu = high if trial == 0 else 0.5 * (low + high)
        secular = C[x, x] - mu
        for b in range(size):
            if z[b] > 0:
                secular -= z[b] / max(values[b] - mu, 1e-300)
        if secular < 0:
            high = mu
        elif trial == 0:
            return high
        else:
            low = mu
    return high


@inner()
def _best_addition(C, S, size, used, limit):
    """Return the x ∉ S with the least λ_min(C_{S + x}), and this eigenvalue.

    x is −1 if no λ_min(C_{S + x}) is below `limit`.
    """
    values, vectors = eigen(submatrix(C, S, size))
    best = -1
    for x in range(len(C)):
        if not used[x]:
            value = _border(values, vectors, C, S, size, x, limit)
            if value < limit or (best < 0 and limit == np.inf):
                best, limit = x, value
    return best, limit


@kernel()
def incumbent(C, k, fixed, support, rounds):
    """Find a set S of k indices with small λ_min(C_S), greedily and then by exchanges; return λ_min(C_S).

    S contains the first `fixed` indices of C, and is written into `support`.
    """
    used = np.zeros(len(C), np.bool_)
    for a in range(fixed):
        support[a] = a
        used[a] = True
    for size in range(fixed, k):
        x = _best_addition(C, support, size, used, np.inf)[0] if size > 0 else _first(C)
        support[size] = x
        used[x] = True
    value = least_eigenvalue(submatrix(C, support, k))
    rest = np.empty(k, np.int64)
    for _ in range(rounds if 1 < k < len(C) else 0):
        before = value
        for a in range(fixed, k):
            for b in range(k - 1):
                rest[b] = support[b if b < a else b + 1]
            bound = value - 1e-9 * abs(value)
            x, _ = _best_addition(C, rest, k - 1, used, bound)
            if x >= 0:
                used[support[a]] = False
                used[x] = True
                support[a] = x
                value = least_eigenvalue(submatrix(C, support, k))
        if value >= before:
            break
    return value


@inner(**ONCE)
def _first(C):
    """Return an index of the pair (x, y) for which λ_min of the 2 × 2 submatrix of C is least."""
    best = 0
    least = np.inf
    for i in range(len(C)):
        for j in range(i):
            half = 0.5 * (C[i, i] - C[j, j])
            value = 0.5 * (C[i, i] + C[j, j]) - math.sqrt(half * half + C[i, j] * C[i, j])
            if value < least:
                best, least = j, value
    return best


@inner()
def _violation(W, m, left, pinned):
    """Return one or two of the m candidates whose submatrix of W is not positive definite.

    One candidate is returned as (a, −1), two as (a, b). (−1, −1) means that there are none. Pairs are
    examined only if `left` is 2. If candidate 0 is `pinned`, only pairs with candidate 0 are examined.
    """
    for a in range(m):
        if not W[a, a] > 0:
            return a, -1
    if left == 2:
        for a in range(m):
            for b in range(min(a, 1) if pinned else a):
                if not W[a, b] * W[a, b] < W[a, a] * W[b, b]:
                    return a, b
    return -1, -1


@inner(**ONCE)
def _outside_definite(T, m, bad):
    """Find a set of the m candidates on which T is positive definite, by pivoted Cholesky.

    The other candidates are marked in `bad`. Returns the number of marked candidates. T has a unit diagonal
    and is overwritten.
    """
    count = m
    bad[:m] = True
    while count > 0:
        p = -1
        for a in range(m):
            if bad[a] and (p < 0 or T[a, a] > T[p, p]):
                p = a
        if not T[p, p] > _MARGIN:
            break
        bad[p] = False
        count -= 1
        for a in range(m):
            if bad[a]:
                ratio = T[a, p] / T[p, p]
                for b in range(m):
                    T[a, b] -= ratio * T[p, b]
    return count


@inner(**ONCE)
def _not_dominant(T, m, left, bad):
    """Mark in `bad` the rows of T whose left − 1 largest off-diagonal moduli sum to 1 or more.

    T has a unit diagonal. Returns the number of marked rows.
    """
    top = np.empty(left - 1)
    count = 0
    for a in range(m):
        top[:] = 0
        for b in range(m):
            size = abs(T[a, b])
            if b != a and size > top[-1]:
                insert(top, size)
        total = 0.0
        for b in range(left - 1):
            total += top[b]
        bad[a] = not total < 1 - _MARGIN
        count += bad[a]
    return count


@inner(**ONCE)
def _branches(W, m, left, order):
    """Move to the front of `order` the candidates on which the search must branch. Return their number.

    Every submatrix of W that is not positive definite contains one of these candidates. They are chosen in
    one of two ways, whichever gives fewer. Either they are all candidates outside a set on which W is
    positive definite (then interlacing proves the claim), or all candidates whose rows are not diagonally
    dominant. For the second choice, scale W to a unit diagonal: one of the candidates has the largest entry
    of an eigenvector for an eigenvalue ≤ 0 (Gershgorin).
    """
    T = np.empty((m, m))
    for a in range(m):
        for b in range(m):
            T[a, b] = W[a, b] / math.sqrt(W[a, a] * W[b, b])
    bad = np.empty(m, np.bool_)
    worse = np.empty(m, np.bool_)
    count = _not_dominant(T, m, left, bad)
    if count > 0:
        other = _outside_definite(T, m, worse)
        if other < count:
            bad, count = worse, other
    front = 0
    back = count
    for a in range(m):
        if bad[a]:
            order[front] = a
            front += 1
        else:
            order[back] = a
            back += 1
    return count


@inner()
def _eliminate(V, p, m, W, left):
    """Fill W with the Schur complement of entry V_pp on the m candidates after p.

    If left is 2, only the lower triangle is filled.
    """
    for a in range(m):
        i = p + 1 + a
        ratio = V[i, p] / V[p, p]
        for b in range(a + 1):
            W[a, b] = V[i, p + 1 + b] - ratio * V[p, p + 1 + b]
    if left > 2:
        for a in range(m):
            for b in range(a):
                W[b, a] = W[a, b]


@inner()
def _shift(C, theta, W):
    """Fill W with C − θI."""
    for a in range(len(C)):
        copy(C[a], W[a])
        W[a, a] -= theta


@inner()
def _permute(W, m, order):
    """Reorder the rows and columns of the first m candidates in W."""
    T = W[:m, :m].copy()
    for a in range(m):
        for b in range(m):
            W[a, b] = T[order[a], order[b]]


@inner()
def _renew(C, k, theta, W, size, branch, order, t):
    """Recompute the Schur complements W[0], …, W[t] for another θ; W[t] is not reordered."""
    _shift(C, theta, W[0])
    for s in range(t):
        _permute(W[s], size[s], order[s])
        _eliminate(W[s], branch[s], size[s + 1], W[s + 1], k - s - 1)


@kernel()
def search(C, k, fixed, value, gap, node_limit, support):
    """Search for sets S with λ_min(C_S) below value − gap, and reduce `value` until there are none.

    S runs through the sets of k ≥ 2 indices that contain the first `fixed` indices of C. At the start,
    `value` is λ_min(C_S) of some S. When a smaller value is found, its S is written into `support` (k,),
    padded with −1. Returns the value, whether the search was completed within `node_limit` nodes, and the
    number of nodes.
    """
    d = len(C)
    W, index = np.empty((k - 1, d, d)), np.empty((k - 1, d), np.int64)
    order = np.empty((k - 1, d), np.int64)
    size, branch = np.zeros(k - 1, np.int64), np.zeros(k - 1, np.int64)
    stop = np.zeros(k - 1, np.int64)
    for a in range(d):
        index[0, a] = a
    size[0] = d
    _shift(C, value - gap, W[0])
    # not the literal 0, for which the callees of t would be compiled once more
    t = 0 * k
    nodes = 0
    while t >= 0:
        nodes += 1
        if nodes > node_limit:
            return value, False, nodes
        m = size[t]
        left = k - t
        a, b = _violation(W[t], m, left, t < fixed)
        while a >= 0:
            found = _members(index, branch, t, a, b)
            lower = least_eigenvalue(submatrix(C, found, len(found)))
            if not lower < value:
                return value, False, nodes
            value = lower
            support[:] = -1
            copy(found, support)
            _renew(C, k, value - gap, W, size, branch, order, t)
            a, b = _violation(W[t], m, left, t < fixed)
        branch[t], stop[t] = 0, 0
        for a in range(m):
            order[t, a] = a
        if left > 2 and t < fixed:
            stop[t] = 1
        elif left > 2:
            stop[t] = _branches(W[t], m, left, order[t])
            _permute(W[t], m, order[t])
            old = index[t, :m].copy()
            for a in range(m):
                index[t, a] = old[order[t, a]]
        # at least k − t candidates must remain for k − t further elements
        while t >= 0 and (branch[t] >= stop[t] or size[t] - branch[t] < k - t):
            t -= 1
            if t >= 0:
                branch[t] += 1
        if t >= 0:
            first = branch[t] + 1
            size[t + 1] = size[t] - first
            copy(index[t, first : size[t]], index[t + 1])
            _eliminate(W[t], branch[t], size[t + 1], W[t + 1], k - t - 1)
            t += 1
    return value, True, nodes


@inner()
def _members(index, branch, t, a, b):
    """Return the indices of the node P at level t, and of its candidates a and b if these are not −1."""
    found = np.empty(t + (1 if b < 0 else 2), np.int64)
    for s in range(t):
        found[s] = index[s, branch[s]]
    found[t] = index[t, a]
    if b >= 0:
        found[t + 1] = index[t, b]
    return found
