"""Greedy selection a block of picks at a time: guess the picks on a few columns, check them on all.

A score is |c_j|·scale_j: the correlation itself for OMP (scale 1), |c_j|/‖P_S^⊥X_j‖ for OLS.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Candidates(NamedTuple):
    """Columns among which guesses are made, in single precision.

    Attributes
    ----------
    unit, rows : x_m = X_j/‖X_j‖ is row rows[m] of `unit`, j = columns[m].
    columns : (M,).
    shares : (t, M) ⟨q_s, x_m⟩.
    correlations : (M,) ⟨x_m, r⟩ in units of the largest score.
    weights : (M,) a score is |correlation_m|·weight_m: ‖X_j‖, or ‖X_j‖/ρ_j.
    """

    unit: NDArray[np.float32]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shares: NDArray[np.float32]
    correlations: NDArray[np.float32]
    weights: NDArray[np.float32]


class Worth(NamedTuple):
    """When a guess is worth its product.

    A score up to `cut`, which a column left out may reach, is not, unless it fills a product: of `few`, which
    cost little more than one, or, beyond `thin`, of `stride`.
    """

    cut: float
    few: int
    thin: int
    stride: int


@kernel(inline="always")
def _worth(worth, score, i):
    """Whether column i of a product is worth having."""
    whole = i == 0 or worth.few <= i <= worth.thin or i % worth.stride == 0
    return score > 0 and (score > worth.cut or not whole)


@kernel()
def _largest(candidates):
    correlations, weights = candidates.correlations, candidates.weights
    best = 0
    for m in range(weights.size):
        if abs(correlations[m]) * weights[m] > abs(correlations[best]) * weights[best]:
            best = m
    return best


@kernel()
def _rescale(weights, row):
    """weight_m = ‖X_j‖/ρ_j, ρ_j² falling by (row_m·‖X_j‖)²; zero where little is left."""
    for m in range(weights.size):
        square = 1 / (weights[m] * weights[m]) - row[m] * row[m] if weights[m] > 0 else 0.0
        weights[m] = 1 / math.sqrt(square) if square > 1e-4 else 0.0


@kernel(**VECTORIZED)
def guess(candidates, first, scaled, worth, picks):
    """Tentative picks among the candidates: greedy selection there, as exact as single precision is.

    ⟨P_S^⊥x, P_S^⊥x'⟩ = ⟨x, x'⟩ − Σ_s ⟨q_s, x⟩⟨q_s, x'⟩. `scaled` says whether scores are divided by ρ_j.
    Writes columns into `picks`, beginning with `first`, a candidate, and returns how many.
    """
    columns, corr, shares = candidates.columns, candidates.correlations, candidates.shares
    rows = np.empty((picks.size, columns.size), corr.dtype)
    best = 0
    while columns[best] != first:
        best += 1
    for i in range(picks.size):
        if i > 0:
            best = _largest(candidates)
            if not _worth(worth, abs(corr[best]) * candidates.weights[best], i):
                return i
        picks[i] = columns[best]
        row = rows[i]
        _dots(candidates.unit, candidates.rows, candidates.unit[candidates.rows[best]], row)
        for s in range(shares.shape[0]):
            subtract(shares[s, best], shares[s], row)
        for l in range(i):
            subtract(rows[l, best], rows[l], row)
        if row[best] <= 1e-4:  # what follows a nearly dependent column would be lost to rounding
            return i + 1
        rho = math.sqrt(row[best])
        for m in range(row.size):
            row[m] /= rho
        subtract(corr[best] / rho, row, corr)
        if scaled:
            _rescale(candidates.weights, row)
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


class Scores(NamedTuple):
    """What competes, |score_j| known to ±error·weights_j.

    Attributes
    ----------
    score, weights : (d,).
    bits, mask : the bits of `score` as integers, and the mask of all but the sign.
    heavy : the maxima of the weights over the blocks.
    """

    score: NDArray[np.floating]
    weights: NDArray[np.floating]
    bits: NDArray[Any]
    mask: Any
    heavy: NDArray[np.floating]


class Steps(NamedTuple):
    """Picks, and what comes after each: s = 0..p−1.

    Attributes
    ----------
    picks : (p,) the columns.
    shares, errors : (p,) ⟨q_s, r⟩, and the errors of scores after it, in units of the weights.
    lam, margin : (p,) |c_j| of the next, and its margin.
    near, counts : (p, ·), (p,) the next, then the others that may be in its place, counts_s in all.
    """

    picks: NDArray[np.intp]
    shares: NDArray[np.floating]
    errors: NDArray[np.floating]
    lam: NDArray[np.floating]
    margin: NDArray[np.floating]
    near: NDArray[np.intp]
    counts: NDArray[np.intp]


class Lengths(NamedTuple):
    """ρ_j² = ‖P_S^⊥X_j‖² of all columns, what it was when last measured, 1/ρ_j, ‖X_j‖, and 1/‖y‖."""

    squares: NDArray[np.floating]
    measured: NDArray[np.floating]
    scale: NDArray[np.floating]
    norms: NDArray[np.floating]
    ratio: float


@kernel()
def find(scores, error, near):
    """Where |score| is largest, that and the next largest value, and how many may be the argmax.

    May: those that come within the errors, error·weights_j each, of the largest; they are put into `near`, as
    many as it holds. One is a clear argmax; none means that the largest may be zero.
    """
    score, weights, bits, mask, heavy = scores
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


@kernel(inline="always")
def _next(scores, steps, s, c):
    """Find what comes after the s-th pick; says whether it is the pick that was guessed."""
    best, top, second, count = find(scores, steps.errors[s], steps.near[s])
    steps.lam[s] = abs(c[best])
    steps.margin[s] = (top - second) / top if top > 0 else 0
    steps.counts[s] = count
    guessed = s + 1 < steps.picks.size and best == steps.picks[s + 1]
    return guessed and 1 <= count <= steps.near.shape[1]


@kernel(**VECTORIZED)
def descend(c, W, steps, out, scores):
    """Follow c through the picks, as long as each is the argmax that it was taken for.

    W (p, d) holds XᵀQ for them, so that c_{s+1} = c_s − shares_s·W_s; c is zero where `out`. Returns how many
    picks stand.
    """
    for s in range(W.shape[0]):
        row, share = W[s], steps.shares[s]
        for j in range(c.size):
            c[j] -= share * row[j]
        for j in out:
            c[j] = 0
        for l in range(s + 1):
            c[steps.picks[l]] = 0
        if not _next(scores, steps, s, c):
            return s + 1
    return W.shape[0]


@kernel(**VECTORIZED)
def rescale(c, lengths, scores):
    """Scores |c_j|/ρ_j and the weights of their errors; says whether a ρ_j² must be measured anew.

    With errors eps‖X_j‖‖y‖ of c_j and eps‖X_j‖ of each ⟨q, X_j⟩, whose squares sum to measured_j − ρ_j², ρ_j
    errs by eps‖X_j‖√measured_j/ρ_j, and so |c_j|/ρ_j by eps‖y‖‖X_j‖/ρ_j times
    1 + |score_j|√measured_j/(ρ_j‖y‖); ratio is 1/‖y‖.
    """
    squares, measured, scale, norms, ratio = lengths
    score, weights, heavy = scores.score, scores.weights, scores.heavy
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
def descend_scaled(c, W, steps, out, scores, lengths):
    """The same for the scores |c_j|/ρ_j of OLS, ρ_j² = ‖P_S^⊥X_j‖² falling by W_sj² with each pick.

    Stops with the count STALE where cancellation has taken four digits of some ρ_j² since it was measured.
    """
    for s in range(W.shape[0]):
        row, share = W[s], steps.shares[s]
        for j in range(c.size):
            c[j] -= share * row[j]
            lengths.squares[j] -= row[j] * row[j]
        for j in out:
            c[j] = 0
            lengths.measured[j] = 0
        for l in range(s + 1):
            c[steps.picks[l]] = 0
            lengths.measured[steps.picks[l]] = 0
        if rescale(c, lengths, scores):
            steps.counts[s] = STALE
            return s + 1
        if not _next(scores, steps, s, c):
            return s + 1
    return W.shape[0]


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
