"""Greedy selection a block of picks at a time: guess the picks on a few columns, check them on all.

A score is |c_j|·scale_j: the correlation itself for OMP (scale 1), |c_j|/‖P_S^⊥X_j‖ for OLS.
"""

from __future__ import annotations

import math

import numpy as np

from sparselin._kernels import VECTORIZED, kernel
from sparselin._kernels.linear_algebra import subtract

BLOCK = 256  # entries whose maximum is kept; a multiple of every vector length
STALE = -1


@kernel(**VECTORIZED)
def _dots(A, rows, x, out):
    """⟨A_r, x⟩ for the given rows of A, four at a time."""
    M = rows.size
    n = x.size
    for m in range(0, M - 3, 4):
        a, b, c, e = A[rows[m]], A[rows[m + 1]], A[rows[m + 2]], A[rows[m + 3]]
        sa = sb = sc = se = np.float32(0)
        for i in range(n):
            sa += a[i] * x[i]
            sb += b[i] * x[i]
            sc += c[i] * x[i]
            se += e[i] * x[i]
        out[m], out[m + 1], out[m + 2], out[m + 3] = sa, sb, sc, se
    for m in range(M - M % 4, M):
        a = A[rows[m]]
        sa = np.float32(0)
        for i in range(n):
            sa += a[i] * x[i]
        out[m] = sa


@kernel(**VECTORIZED)
def guess(
    unit, rows, columns, spare, W, t, c, norms, scale, scaled, top, first, cut,
    most, few, thin, stride, picks,
):  # fmt: skip
    """Tentative picks among the candidate `columns`: greedy selection there, in the precision of `unit`.

    Row rows[m] of `unit` is x = X_j/‖X_j‖ for the m-th candidate j, and W is [Q Z]ᵀX, t rows of it for Q:
    ⟨P_S^⊥x, P_S^⊥x'⟩ = ⟨x, x'⟩ − Σ_s ⟨q_s, x⟩⟨q_s, x'⟩, or Σ_l ⟨z_l, x⟩⟨z_l, x'⟩ where x is `spare`. Scores
    are |c_j|, or |c_j|·scale_j = |c_j|/ρ_j when scaled, in units of `top`. What is not spare costs a product:
    at most `most` columns; and a score up to `cut`, which a column left out may reach, is not worth it,
    unless it fills a product: of `few`, which cost little more than one, or, beyond `thin`, of `stride`.
    Writes columns into `picks`, beginning with `first`, a candidate, and returns how many.
    """
    M, s = rows.size, W.shape[0]
    B, R = np.empty((s, M), unit.dtype), np.empty((picks.size, M), unit.dtype)
    corr, weight = np.empty(M, unit.dtype), np.empty(M, unit.dtype)
    for m in range(M):
        j = columns[m]
        corr[m] = c[j] / norms[j] / top
        weight[m] = norms[j] * scale[j] if scaled else norms[j]
        for l in range(s):
            B[l, m] = W[l, j] / norms[j]
    best, multiplied = 0, 0
    while columns[best] != first:
        best += 1
    for i in range(picks.size):
        if i > 0:
            best = 0
            for m in range(M):
                if abs(corr[m]) * weight[m] > abs(corr[best]) * weight[best]:
                    best = m
            score = abs(corr[best]) * weight[best]
            whole = multiplied == 0 or few <= multiplied <= thin or multiplied % stride == 0
            if score == 0 or (not spare[best] and (multiplied == most or (score <= cut and whole))):
                return i
        multiplied += not spare[best]
        picks[i] = columns[best]
        row = R[i]
        if spare[best]:
            row[:] = 0
            for l in range(t, s):
                subtract(-B[l, best], B[l], row)
        else:
            _dots(unit, rows, unit[rows[best]], row)
            for l in range(t):
                subtract(B[l, best], B[l], row)
        for l in range(i):
            subtract(R[l, best], R[l], row)
        if row[best] <= 1e-4:  # what follows a nearly dependent column would be lost to rounding
            return i + 1
        rho = math.sqrt(row[best])
        for m in range(M):
            row[m] /= rho
        subtract(corr[best] / rho, row, corr)
        if scaled:
            for m in range(M):
                square = 1 / (weight[m] * weight[m]) - row[m] * row[m] if weight[m] > 0 else 0.0
                weight[m] = 1 / math.sqrt(square) if square > 1e-4 else 0.0
        corr[best] = 0
    return picks.size


@kernel()
def _maxima(bits, mask, tops):
    """Maxima of |v| over each BLOCK, from the bits of v: nonnegative floats are ordered as their bits."""
    size = bits.size
    for b in range(tops.size):
        top = mask & bits[b * BLOCK]
        for j in range(b * BLOCK, min((b + 1) * BLOCK, size)):
            top = max(top, mask & bits[j])
        tops[b] = top


@kernel()
def _find(score, bits, mask, weights, heavy, error, near):
    """Where |score| is largest, that and the next largest value, and how many may be the argmax.

    May: those that come within the errors, error·weights_j each, of the largest; they are put into `near`, as
    many as it holds. One is a clear argmax; none means that the largest may be zero. `heavy` holds the
    maxima of the weights over the blocks.
    """
    size = score.size
    reach = np.empty(heavy.size, score.dtype)
    tops = reach.view(bits.dtype)
    _maxima(bits, mask, tops)
    at = 0
    for b in range(1, tops.size):
        if tops[b] > tops[at]:
            at = b
    best = at * BLOCK
    while mask & bits[best] != tops[at]:
        best += 1
    top = reach[at]
    reach[at] = 0
    for j in range(at * BLOCK, min((at + 1) * BLOCK, size)):
        if j != best:
            reach[at] = max(reach[at], abs(score[j]))
    second = reach[0]
    for b in range(1, reach.size):
        second = max(second, reach[b])
    low = top - error * weights[best]
    if low <= 0:
        return best, top, second, 0
    near[0] = best
    count = 1
    for b in range(tops.size):
        if reach[b] + error * heavy[b] >= low:
            for j in range(b * BLOCK, min((b + 1) * BLOCK, size)):
                value, slack = abs(score[j]), error * weights[j]
                if j != best and value + slack >= low:
                    if count < near.size:
                        near[count] = j
                    count += 1
    return best, top, second, count


@kernel(**VECTORIZED)
def descend(c, bits, mask, W, shares, support, m, weights, heavy, errors, lam, margin, near, counts):
    """Follow c through the picks support[m:m+p], as long as each is the argmax that it was taken for.

    W (p, d) holds XᵀQ for them, so that c_{s+1} = c_s − shares_s·W_s. After each, s = 0..p−1, finds the
    next: near_s[0], with `lam`, `margin` and the others that may be in its place, counts_s in all. Goes on
    while near_s can hold these. Returns how many picks stand.
    """
    d = c.size
    p = W.shape[0]
    for s in range(p):
        row = W[s]
        share = shares[s]
        for j in range(d):
            c[j] -= share * row[j]
        for l in range(m + s + 1):
            c[support[l]] = 0
        best, top, second, counts[s] = _find(c, bits, mask, weights, heavy, errors[s], near[s])
        lam[s] = top
        margin[s] = (top - second) / top if top > 0 else 0
        if not 1 <= counts[s] <= near.shape[1] or best != support[m + s + 1]:
            return s + 1
    return p


@kernel(**VECTORIZED)
def rescale(c, squares, measured, norms, ratio, scale, score, weights, heavy):
    """Scores |c_j|/ρ_j and the weights of their errors; says whether a ρ_j² must be measured anew.

    With errors eps‖X_j‖‖y‖ of c_j and eps‖X_j‖ of each ⟨q, X_j⟩, whose squares sum to measured_j − ρ_j², ρ_j
    errs by eps‖X_j‖√measured_j/ρ_j, and so |c_j|/ρ_j by eps‖y‖‖X_j‖/ρ_j times
    1 + |score_j|√measured_j/(ρ_j‖y‖); ratio is 1/‖y‖.
    """
    stale = False
    for j in range(c.size):
        scale[j] = 0
        if measured[j] > 0:
            if squares[j] > 1e-4 * measured[j]:
                scale[j] = 1 / math.sqrt(squares[j])
            else:
                stale = True
    for b in range(heavy.size):
        heavy[b] = 0
        for j in range(b * BLOCK, min((b + 1) * BLOCK, c.size)):
            score[j] = c[j] * scale[j]
            spread = ratio * abs(score[j]) * math.sqrt(measured[j]) * scale[j]
            weights[j] = scale[j] * norms[j] * (1 + spread)
            heavy[b] = max(heavy[b], weights[j])
    return stale


@kernel(**VECTORIZED)
def descend_scaled(
    c, bits, mask, W, shares, support, m, weights, heavy, errors, lam, margin, near, counts,
    squares, measured, norms, ratio, scale, score,
):  # fmt: skip
    """The same for the scores |c_j|/ρ_j of OLS, ρ_j² = ‖P_S^⊥X_j‖² falling by W_sj² with each pick.

    `bits` are those of `score`; `lam` is |c_j| of the next pick. Stops with the count STALE where
    cancellation has taken four digits of some ρ_j² since it was measured.
    """
    d = c.size
    p = W.shape[0]
    for s in range(p):
        row = W[s]
        share = shares[s]
        for j in range(d):
            c[j] -= share * row[j]
            squares[j] -= row[j] * row[j]
        for l in range(m + s + 1):
            c[support[l]] = 0
            measured[support[l]] = 0
        if rescale(c, squares, measured, norms, ratio, scale, score, weights, heavy):
            counts[s] = STALE
            return s + 1
        best, top, second, counts[s] = _find(score, bits, mask, weights, heavy, errors[s], near[s])
        lam[s] = abs(c[best])
        margin[s] = (top - second) / top if top > 0 else 0
        if counts[s] != 1 or best != support[m + s + 1]:
            return s + 1
    return p


@kernel()
def find(score, bits, mask, weights, heavy, error):
    """The search by itself: position, margin, and how many may be the argmax."""
    best, top, second, count = _find(score, bits, mask, weights, heavy, error, np.empty(1, np.intp))
    return best, (top - second) / top if top > 0 else 0.0, count


@kernel()
def _earlier(least, room, closing):
    """The lesser of `least` and room/closing, where that is positive."""
    return room / closing if room < least * closing else least


@kernel(**VECTORIZED)
def windows(c, W, shares, rho, support, m, length):
    """ε₂ of each of p first knots: how far λ can fall below λ* before another column would enter.

    At the s-th, c = Xᵀr_s, λ* = |c_i| for the pick i = support[m + s] of sign g, and Xᵀu = g W_s/ρ_s is the
    rate at which c falls with λ: ε₂ is the least positive root of |c_j − εgW_sj/ρ_s| = λ* − ε over the
    j ∉ S ∪ i, at most λ*. Then c follows the pick.
    """
    d = c.size
    for s in range(W.shape[0]):
        row = W[s]
        i = support[m + s]
        lam = abs(c[i])
        rate = (1 if c[i] > 0 else -1) / rho[s]
        for l in range(m + s + 1):
            c[support[l]] = 0
        least = np.float64(lam)
        for j in range(d):
            slope = rate * row[j]
            size = abs(c[j])
            growth = slope if c[j] < 0 else -slope  # of |c_j|
            if j != i:
                least = _earlier(least, max(lam - size, 0.0), 1 + growth)
                least = _earlier(least, lam + size, 1 - growth)
        length[s] = least
        for j in range(d):
            c[j] -= shares[s] * row[j]


@kernel()
def satisfied(C, lam, sign, support, m, norms, allowed):
    """How many rows of C (p, d) satisfy the KKT conditions, within allowed_s·‖X_j‖.

    Row s holds the correlations of a solution at lam_s with S = support[:m + s] and sign_s at the next.
    """
    for s in range(C.shape[0]):
        row = C[s]
        for j in range(row.size):
            if abs(row[j]) > lam[s] + allowed[s] * norms[j]:
                return s
        for l in range(m + s + 1):
            i = support[l]
            target = sign[s] * lam[s] if l == m + s else 0.0
            if abs(row[i] - target) > allowed[s] * norms[i]:
                return s
    return C.shape[0]
