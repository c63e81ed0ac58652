"""Greedy selection by blocks of picks: guess the picks on a few columns, and check them on all columns.

A score is |c_j|·scale_j: the correlation itself for OMP (scale 1), |c_j|/‖P_S^⊥X_j‖ for OLS.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import VECTORIZED, inner, kernel
from sparselin._kernels.linear_algebra import subtract

BLOCK = 256  # the entries that share a stored maximum; a multiple of every vector length
STALE = -1


@inner(**VECTORIZED)
def _dots(A, rows, x, out):
    """Compute ⟨A_r, x⟩ for the given rows of A, four at a time."""
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


class SingleColumns(NamedTuple):
    """The columns among which picks are guessed, in single precision.

    Attributes
    ----------
    unit, rows : x_m = X_j/‖X_j‖ is row rows[m] of `unit`, for j = columns[m].
    columns : (M,) the indices of the columns.
    shares : (t, M) ⟨q_s, x_m⟩.
    correlations : (M,) ⟨x_m, r⟩ in units of the largest score.
    weights : (M,) ‖X_j‖ for OMP, ‖X_j‖/ρ_j for OLS. A score is |correlation_m|·weight_m.
    """

    unit: NDArray[np.float32]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shares: NDArray[np.float32]
    correlations: NDArray[np.float32]
    weights: NDArray[np.float32]


class Acceptance(NamedTuple):
    """The rule that accepts a guess as a row of a product VX.

    A guess is accepted if its score exceeds `cut`, which other columns than the candidates may attain. It is
    also accepted to complete a product of up to `few` rows, which cost little more than one row, or, beyond
    `thin` rows, a product of a multiple of `stride` rows.
    """

    cut: float
    few: int
    thin: int
    stride: int


@inner(inline="always")
def _accepts(rule, score, i):
    """Return whether a guess with this score becomes row i of a product."""
    complete = i == 0 or rule.few <= i <= rule.thin or i % rule.stride == 0
    return score > 0 and (score > rule.cut or not complete)


@inner()
def _largest(candidates):
    """Return the position of the candidate with the largest score."""
    correlations, weights = candidates.correlations, candidates.weights
    best = 0
    for m in range(weights.size):
        if abs(correlations[m]) * weights[m] > abs(correlations[best]) * weights[best]:
            best = m
    return best


@inner()
def _rescale(weights, row):
    """Update weight_m = ‖X_j‖/ρ_j: ρ_j² decreases by (row_m·‖X_j‖)². It is zero where ρ_j² is small."""
    for m in range(weights.size):
        square = 1 / (weights[m] * weights[m]) - row[m] * row[m] if weights[m] > 0 else 0.0
        weights[m] = 1 / math.sqrt(square) if square > 1e-4 else 0.0


@kernel(**VECTORIZED)
def guess(candidates, first, scaled, rule, picks):
    """Guess picks by greedy selection among the candidates, in single precision.

    It uses ⟨P_S^⊥x, P_S^⊥x'⟩ = ⟨x, x'⟩ − Σ_s ⟨q_s, x⟩⟨q_s, x'⟩. `scaled` tells whether scores are divided by
    ρ_j. Writes columns into `picks`, beginning with the candidate `first`, and returns their number.
    """
    columns, corr, shares = candidates.columns, candidates.correlations, candidates.shares
    rows = np.empty((picks.size, columns.size), corr.dtype)
    best = 0
    while columns[best] != first:
        best += 1
    for i in range(picks.size):
        if i > 0:
            best = _largest(candidates)
            if not _accepts(rule, abs(corr[best]) * candidates.weights[best], i):
                return i
        picks[i] = columns[best]
        row = rows[i]
        _dots(candidates.unit, candidates.rows, candidates.unit[candidates.rows[best]], row)
        for s in range(shares.shape[0]):
            subtract(shares[s, best], shares[s], row)
        for l in range(i):
            subtract(rows[l, best], rows[l], row)
        if row[best] <= 1e-4:  # after a nearly dependent column, guesses would be rounding errors
            return i + 1
        rho = math.sqrt(row[best])
        for m in range(row.size):
            row[m] /= rho
        subtract(corr[best] / rho, row, corr)
        if scaled:
            _rescale(candidates.weights, row)
        corr[best] = 0
    return picks.size


@inner()
def _maxima(bits, mask, tops):
    """Compute the maxima of |v| over each BLOCK from the bits of v, which order nonnegative floats."""
    size = bits.size
    for b in range(tops.size):
        top = mask & bits[b * BLOCK]
        for j in range(b * BLOCK, min((b + 1) * BLOCK, size)):
            top = max(top, mask & bits[j])
        tops[b] = top


class WeightedScores(NamedTuple):
    """The scores; |score_j| is known to ±error·weights_j.

    Attributes
    ----------
    score, weights : (d,) the scores, and the weights of their errors.
    bits, mask : the bits of `score` as integers, and the mask of all bits except the sign.
    block_weights : the maxima of the weights over the blocks.
    """

    score: NDArray[np.floating]
    weights: NDArray[np.floating]
    bits: NDArray[Any]
    mask: Any
    block_weights: NDArray[np.floating]


class GuessedSteps(NamedTuple):
    """The guessed picks s = 0..p−1, and the argmax after each.

    Attributes
    ----------
    picks : (p,) the columns.
    shares, errors : (p,) ⟨q_s, r⟩, and the errors of scores after pick s, in units of the weights.
    lam, margin : (p,) |c_j| of the argmax j after pick s, and its margin.
    candidates, counts : (p, ·), (p,) the argmax and then the other possible argmaxes; their number.
    """

    picks: NDArray[np.intp]
    shares: NDArray[np.floating]
    errors: NDArray[np.floating]
    lam: NDArray[np.floating]
    margin: NDArray[np.floating]
    candidates: NDArray[np.intp]
    counts: NDArray[np.intp]


class ProjectedLengths(NamedTuple):
    """The squares ρ_j² = ‖P_S^⊥X_j‖², their values at the last projection, 1/ρ_j, ‖X_j‖, and 1/‖y‖."""

    squares: NDArray[np.floating]
    measured: NDArray[np.floating]
    scale: NDArray[np.floating]
    norms: NDArray[np.floating]
    ratio: float


@kernel()
def find(scores, error, candidates):
    """Return the argmax of |score|, the largest and next largest value, and the number of possible argmaxes.

    A column is a possible argmax if it is within the errors, error·weights_j each, of the largest value. As
    many of them as fit are written into `candidates`. The number 1 means that the argmax is certain; 0 means
    that the largest value may be zero.
    """
    score, weights, bits, mask, block_weights = scores
    size = score.size
    maxima = np.empty(block_weights.size, score.dtype)
    tops = maxima.view(bits.dtype)
    _maxima(bits, mask, tops)
    at = 0
    for b in range(1, tops.size):
        if tops[b] > tops[at]:
            at = b
    best = at * BLOCK
    while mask & bits[best] != tops[at]:
        best += 1
    top = maxima[at]
    maxima[at] = 0
    for j in range(at * BLOCK, min((at + 1) * BLOCK, size)):
        if j != best:
            maxima[at] = max(maxima[at], abs(score[j]))
    second = maxima[0]
    for b in range(1, maxima.size):
        second = max(second, maxima[b])
    low = top - error * weights[best]
    if low <= 0:
        return best, top, second, 0
    candidates[0] = best
    count = 1
    for b in range(tops.size):
        if maxima[b] + error * block_weights[b] >= low:
            for j in range(b * BLOCK, min((b + 1) * BLOCK, size)):
                value, slack = abs(score[j]), error * weights[j]
                if j != best and value + slack >= low:
                    if count < candidates.size:
                        candidates[count] = j
                    count += 1
    return best, top, second, count


@inner(inline="always")
def _next(scores, steps, s, c):
    """Find the argmax after the s-th pick. Return whether it is the guessed pick."""
    best, top, second, count = find(scores, steps.errors[s], steps.candidates[s])
    steps.lam[s] = abs(c[best])
    steps.margin[s] = (top - second) / top if top > 0 else 0
    steps.counts[s] = count
    guessed = s + 1 < steps.picks.size and best == steps.picks[s + 1]
    return guessed and 1 <= count <= steps.candidates.shape[1]


@kernel(**VECTORIZED)
def descend(c, W, steps, out, scores):
    """Update c by the picks, as long as each of them is the argmax. Return the number of these picks.

    W = QᵀX (p, d) belongs to the picks, so c_{s+1} = c_s − shares_s·W_s. c is set to zero on `out`.
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
    """Compute the scores |c_j|/ρ_j and the weights of their errors. Return whether a ρ_j² must be recomputed.

    c_j errs by eps‖X_j‖‖y‖, each ⟨q, X_j⟩ by eps‖X_j‖, and the squares of these sum to measured_j − ρ_j². So
    ρ_j errs by eps‖X_j‖√measured_j/ρ_j, and |c_j|/ρ_j by eps‖y‖‖X_j‖/ρ_j times
    1 + |score_j|√measured_j/(ρ_j‖y‖). ratio is 1/‖y‖.
    """
    squares, measured, scale, norms, ratio = lengths
    score, weights, block_weights = scores.score, scores.weights, scores.block_weights
    stale = False
    for j in range(c.size):
        scale[j] = 0
        if measured[j] > 0:
            if squares[j] > 1e-4 * measured[j]:
                scale[j] = 1 / math.sqrt(squares[j])
            else:
                stale = True
    for b in range(block_weights.size):
        block_weights[b] = 0
        for j in range(b * BLOCK, min((b + 1) * BLOCK, c.size)):
            score[j] = c[j] * scale[j]
            spread = ratio * abs(score[j]) * math.sqrt(measured[j]) * scale[j]
            weights[j] = scale[j] * norms[j] * (1 + spread)
            block_weights[b] = max(block_weights[b], weights[j])
    return stale


@kernel(**VECTORIZED)
def descend_ratios(c, W, steps, out, scores, lengths):
    """Do as `descend`, for the scores |c_j|/ρ_j of OLS. Each pick reduces ρ_j² = ‖P_S^⊥X_j‖² by W_sj².

    The function stops with the count STALE if a ρ_j² has lost four digits to cancellation since its column
    was last projected.
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


@inner()
def _earlier(least, distance, speed):
    """Return the smaller of `least` and distance/speed, if speed is positive, else `least`."""
    return distance / speed if distance < least * speed else least


@kernel(**VECTORIZED)
def windows(c, W, shares, rho, support, m, length):
    """Compute the window ε₂ of each of p first knots: λ can fall to λ* − ε₂ before another column enters.

    At the s-th knot, c = Xᵀr_s, and λ* = |c_i| for the pick i = support[m + s] of sign g. Xᵀu = g W_s/ρ_s is
    the rate at which c decreases with λ. So ε₂ is the least positive root of |c_j − εgW_sj/ρ_s| = λ* − ε over
    all j ∉ S ∪ i, but at most λ*. Then c is updated by the pick.
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
def count_valid(C, lam, sign, support, m, norms, allowed):
    """Count the rows of C (p, d), from the first, that satisfy the KKT conditions within allowed_s·‖X_j‖.

    Row s holds the correlations of a solution at lam_s, with S = support[:m + s] and sign_s at the next
    column support[m + s].
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
