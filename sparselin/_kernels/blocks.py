"""Greedy selection by blocks of picks: guess the picks on a few columns, and check them on all columns.

The score of a column is |c_j|·scale_j, where c = Xᵀr are the correlations with the residual. OMP has
scale_j = 1. OLS has the score |c_j|/‖P_S^⊥X_j‖, where P_S^⊥ projects off the selected columns.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import inner, kernel
from sparselin._kernels.primitives import narrow_dot, subtract

BLOCK = 256  # the entries that share a stored maximum; a multiple of every vector length
STALE = -1


class SingleColumns(NamedTuple):
    """The columns among which picks are guessed, in single precision.

    Attributes
    ----------
    columns : (M,) the indices j of the columns.
    unit, rows : the unit column x_m = X_j/‖X_j‖, j = columns[m], is row rows[m] of `unit`.
    shares : (t, M) ⟨q_s, x_m⟩ for the columns q_s of Q, where X_S = QR for the t selected columns.
    correlations : (M,) ⟨x_m, r⟩, r the residual, scaled.
    weights : (M,) ‖X_j‖ for OMP, ‖X_j‖/ρ_j with ρ_j = ‖P_S^⊥X_j‖ for OLS, scaled. The score of a column is
        |correlations_m|·weights_m, and the scale is such that the largest score is 1.
    """

    unit: NDArray[np.float32]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shares: NDArray[np.float32]
    correlations: NDArray[np.float32]
    weights: NDArray[np.float32]


class Acceptance(NamedTuple):
    """The rule that decides whether a guessed pick is accepted, before the picks are checked.

    The check of p picks computes the product VX, where V has a row for each pick. A guess is accepted if its
    score exceeds `cut`. At a lower score, columns other than the candidates may have a larger score. A guess
    is also accepted if its row adds little to the cost of VX: a product of up to `few` rows costs little more
    than a product of one row, and beyond `thin` rows the number of rows is filled up to a multiple of
    `stride`.
    """

    cut: float
    few: int
    thin: int
    stride: int


@inner(inline="always")
def _accepts(rule, score, i):
    """Return whether a guess with this score is accepted as row i of V, by the rule of `Acceptance`."""
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
    """Update the weights ‖X_j‖/ρ_j, ρ_j = ‖P_S^⊥X_j‖, after a pick that decreases ρ_j² by (row_m·‖X_j‖)².

    A weight becomes zero if ρ_j² is small.
    """
    for m in range(weights.size):
        square = 1.0 / (weights[m] * weights[m]) - row[m] * row[m] if weights[m] > 0 else 0.0
        weights[m] = 1.0 / math.sqrt(square) if square > 1e-4 else 0.0


@kernel()
def guess(candidates, first, scaled, rule, picks):
    """Guess picks by greedy selection among the candidates, in single precision.

    candidates : `SingleColumns`, which are overwritten.
    scaled : whether scores are divided by ρ_j, as in OLS.
    rule : `Acceptance`.

    The inner products of projected columns are ⟨P_S^⊥x, P_S^⊥x'⟩ = ⟨x, x'⟩ − Σ_s ⟨q_s, x⟩⟨q_s, x'⟩, where
    X_S = QR has the columns q_s of Q. The guessed columns are written into `picks`, beginning with the
    candidate `first`. Returns their number.
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
        x = candidates.unit[candidates.rows[best]]
        for m in range(row.size):
            row[m] = narrow_dot(candidates.unit[candidates.rows[m]], x)
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
    """Compute the maximum of |v| over each block of BLOCK entries of v.

    bits, tops : the bits of v and of the maxima as integers, which order nonnegative floats correctly.
    """
    size = bits.size
    for b in range(tops.size):
        top = mask & bits[b * BLOCK]
        for j in range(b * BLOCK, min((b + 1) * BLOCK, size)):
            top = max(top, mask & bits[j])
        tops[b] = top


class WeightedScores(NamedTuple):
    """The scores of all columns. Each |score_j| is known to ±error·weights_j, where `error` is a number.

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
    """The guessed picks s = 0, …, p − 1, and after each pick its argmax: the column with the largest score.

    Attributes
    ----------
    picks : (p,) the guessed columns.
    shares : (p,) ⟨q_s, r⟩ for the column q_s of Q that belongs to pick s, where X_S = QR and r is the
        residual.
    errors : (p,) the number `error` of `WeightedScores` after pick s.
    lam, margin : (p,) |c_j| of the argmax j after pick s, c = Xᵀr, and its relative distance to the next |c|.
    candidates : (p, ·) the argmax after pick s, followed by the other columns that may be the argmax.
    counts : (p,) the number of columns that may be the argmax after pick s.
    """

    picks: NDArray[np.intp]
    shares: NDArray[np.floating]
    errors: NDArray[np.floating]
    lam: NDArray[np.floating]
    margin: NDArray[np.floating]
    candidates: NDArray[np.intp]
    counts: NDArray[np.intp]


class ProjectedLengths(NamedTuple):
    """The lengths ρ_j = ‖P_S^⊥X_j‖ of all columns after their projection off the selected columns S.

    squares, measured : (d,) ρ_j², and the value of ρ_j² at the last projection.
    scale, norms : (d,) 1/ρ_j and ‖X_j‖.
    ratio : 1/‖y‖.
    """

    squares: NDArray[np.floating]
    measured: NDArray[np.floating]
    scale: NDArray[np.floating]
    norms: NDArray[np.floating]
    ratio: float


@kernel()
def find(scores, error, candidates):
    """Return the argmax of |score|, the largest and next largest value, and the number of possible argmaxes.

    A column is a possible argmax if its |score| may be the largest, given that each score has an error of at
    most error·weights_j. The possible argmaxes are written into `candidates`, the argmax first, as many as
    fit. The number 1 means that the argmax is certain; 0 means that the largest value may be zero.
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
                value = abs(score[j])
                slack = error * weights[j]
                if j != best and value + slack >= low:
                    if count < candidates.size:
                        candidates[count] = j
                    count += 1
    return best, top, second, count


@inner(inline="always")
def _next(scores, steps, s, c):
    """Find the argmax of the scores after the s-th pick, and write it to `steps`.

    Returns whether the argmax is the next guess. The result is also False if more columns may be the argmax
    than `steps.candidates` can hold.
    """
    best, top, second, count = find(scores, steps.errors[s], steps.candidates[s])
    steps.lam[s] = abs(c[best])
    steps.margin[s] = (top - second) / top if top > 0 else 0
    steps.counts[s] = count
    guessed = s + 1 < steps.picks.size and best == steps.picks[s + 1]
    return guessed and 1 <= count <= steps.candidates.shape[1]


@kernel()
def descend(c, W, steps, out, scores):
    """Update c = Xᵀr by the guessed picks that are the argmax, and return the number of these picks.

    The function stops at the first guess that is not the argmax.

    W : (p, d) QᵀX for the columns of Q that belong to the picks, X_S = QR, so c_{s+1} = c_s − shares_s·W_s.
    out : the columns that may not be picked; c is set to zero on these columns.
    """
    for s in range(W.shape[0]):
        row = W[s]
        share = steps.shares[s]
        for j in range(c.size):
            c[j] -= share * row[j]
        for j in out:
            c[j] = 0
        for l in range(s + 1):
            c[steps.picks[l]] = 0
        if not _next(scores, steps, s, c):
            return s + 1
    return W.shape[0]


@kernel()
def rescale(c, lengths, scores):
    """Compute the scores |c_j|/ρ_j, ρ_j = ‖P_S^⊥X_j‖, and the weights of their errors.

    Returns whether a ρ_j² must be recomputed.

    lengths, scores : `ProjectedLengths` and `WeightedScores`. Their fields `scale`, `score` and the weights
        are written.

    The error of c_j is eps‖X_j‖‖y‖. For each column q of Q, X_S = QR, the error of ⟨q, X_j⟩ is eps‖X_j‖. The
    squares of ⟨q, X_j⟩, over the columns q since the last projection, sum to measured_j − ρ_j². So the error
    of ρ_j is eps‖X_j‖√measured_j/ρ_j, and the error of |c_j|/ρ_j is eps‖y‖‖X_j‖/ρ_j times
    1 + |score_j|√measured_j/(ρ_j‖y‖).
    """
    squares, measured, scale, norms, ratio = lengths
    score, weights, block_weights = scores.score, scores.weights, scores.block_weights
    stale = False
    for j in range(c.size):
        scale[j] = 0
        if measured[j] > 0:
            if squares[j] > 1e-4 * measured[j]:
                scale[j] = 1.0 / math.sqrt(squares[j])
            else:
                stale = True
    for b in range(block_weights.size):
        block_weights[b] = 0
        for j in range(b * BLOCK, min((b + 1) * BLOCK, c.size)):
            score[j] = c[j] * scale[j]
            spread = ratio * abs(score[j]) * math.sqrt(measured[j]) * scale[j]
            weights[j] = scale[j] * norms[j] * (1.0 + spread)
            block_weights[b] = max(block_weights[b], weights[j])
    return stale


@kernel()
def descend_ratios(c, W, steps, out, scores, lengths):
    """Update c as `descend` does, but for the scores |c_j|/ρ_j of OLS, where ρ_j = ‖P_S^⊥X_j‖.

    Pick s reduces ρ_j² by W_sj².

    The function stops with the count STALE if a ρ_j² has lost four digits to cancellation since its column
    was last projected.
    """
    for s in range(W.shape[0]):
        row = W[s]
        share = steps.shares[s]
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
    """Return the smaller of `least` and distance/speed if speed is positive, otherwise `least`."""
    return distance / speed if distance < least * speed else least


@kernel()
def windows(c, W, shares, rho, support, m, length):
    """Compute the length ε₂ of the window of each of p picks.

    λ* is the penalty at which the pick enters the LASSO in which the earlier picks S are not penalised. While
    λ decreases from λ* to λ* − ε₂, no other column enters.

    c : (d,) Xᵀr before the first pick, r the residual; updated by each pick.
    W, shares, rho : QᵀX (p, d), ⟨q_s, r⟩ and ρ_s = R_ss for the columns q_s of Q that belong to the picks,
        with X_S = QR.
    support, m : the pick s is the column i = support[m + s].
    length : (p,) filled with ε₂.

    Before pick s, λ* = |c_i|. Let g be the sign of c_i. As λ decreases by 1, c decreases by gW_s/ρ_s. So ε₂
    is the least positive root of |c_j − εgW_sj/ρ_s| = λ* − ε over all j ∉ S ∪ i, but at most λ*.
    """
    d = c.size
    for s in range(W.shape[0]):
        row = W[s]
        i = support[m + s]
        lam = abs(c[i])
        rate = (1.0 if c[i] > 0 else -1.0) / rho[s]
        for l in range(m + s + 1):
            c[support[l]] = 0
        least = np.float64(lam)
        for j in range(d):
            slope = rate * row[j]
            size = abs(c[j])
            growth = slope if c[j] < 0 else -slope  # of |c_j|
            if j != i:
                least = _earlier(least, max(lam - size, 0.0), 1.0 + growth)
                least = _earlier(least, lam + size, 1.0 - growth)
        length[s] = least
        for j in range(d):
            c[j] -= shares[s] * row[j]


@kernel()
def count_valid(C, lam, sign, support, m, norms, allowed):
    """Return the number of rows of C (p, d) before the first that violates the KKT conditions of the LASSO.

    Row s holds the correlations Xᵀ(y − Xβ) of a solution at λ = lam_s, where S = support[:m + s] is not
    penalised. The correlations must be zero on S, sign_s·lam_s at the column support[m + s], and at most
    lam_s in modulus elsewhere. Each condition is checked to an error of allowed_s·‖X_j‖.
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
