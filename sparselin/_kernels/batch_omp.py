"""OMP for many signals over one dictionary, whose columns u_j have unit length here (or are zero).

`select` solves a chunk of signals y. Let U be the dictionary, G = UᵀU its Gram matrix, S the picks so far,
U_S = QR a QR factorisation with columns q_t of Q, γ the coefficients of y on S, and c = Uᵀ(y − U_Sγ). Each
signal is first solved by G alone. The stored arrays are W[t] = Uᵀq_t, z_t = ⟨q_t, y⟩ and V[t], the column t
of R⁻¹. When column i is picked as element t of S, the arrays change by

    R[s, t] = ⟨V[s], G[S, i]⟩,   ρ² = G_ii − Σ_s R[s, t]²,   z_t = (⟨u_i, y⟩ − Σ_s z_s R[s, t])/ρ,
    W[t] = (G[i] − Σ_s R[s, t] W[s])/ρ,   V[t] = (e_t − Σ_s R[s, t] V[s])/ρ,
    c ← c − z_t W[t],   γ ← γ + z_t V[t],

where s < t and ρ = R[t, t]. Almost all of the work is the update of W and c, whose rows have d entries. W and
c are float32, and only exclude columns. The columns that c does not exclude (usually all but one are
excluded) are compared in float64. If rounding might still decide a pick, a tie or the end, the signal is
solved again by a QR factorisation of its columns in ℝⁿ, as `omp` does; this is called the sample space below.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import BORROWED, ONCE, inner, kernel
from sparselin._kernels.linear_algebra import extend_inverse, project
from sparselin._kernels.primitives import copy, dot, is_among, subtract

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Indices = NDArray[np.intp]

COMPLETED, TOLERANCE, EXACT_FIT, NO_CORRELATION, RANK_EXHAUSTED = range(5)
_REDO = -1
_SIZE = np.int32(2**31 - 1)  # all bits of a float32 except its sign; as integers they order |c|
_EPS = 2.0**-52
_HALF_EPS32 = 2.0**-24
_TINY32 = 2.0**-126
SAFETY = 8.0
# For a larger κ² the Gram matrix would cost the coefficients more than four of sixteen digits.
_CONDITION = 1e4
# The number of entries of a block of c; the last block is padded with zeros.
_BLOCK = 64
# The float32 entries in a line of the cache. Rows of W begin at a line, and are one line longer than d needs,
# so that they do not all map to the same lines.
_LINE = _PAD = 16


def singles(values: NDArray[Any]) -> Singles:
    """Return a copy in float32 that begins at a cache line.

    Loops over arrays that begin elsewhere take up to a tenth more time.
    """
    whole = np.empty(values.size + _LINE, np.float32)
    start = -whole.__array_interface__["data"][0] // whole.itemsize % _LINE
    copied = whole[start : start + values.size].reshape(values.shape)
    copied[:] = values
    return copied


class Dictionary(NamedTuple):
    """The dictionary, with columns x_j = ‖x_j‖u_j, where u_j has unit length.

    The score of a column is scale_j|⟨u_j, r⟩|, where r is the residual of a signal.
    """

    U: Reals  # (d, n), by rows
    scale: Reals  # ‖x_j‖ over the largest length
    scale32: Singles
    G: Reals  # UᵀU; if it is empty, all signals are solved in sample space
    G32: Singles
    eps: float  # of the data's dtype; it decides what counts as zero, see `linalg.ties`; ties use float64's


class Signal(NamedTuple):
    """A signal y and its selection. For a chunk of signals, each array has one more axis."""

    y: Reals
    c: Reals  # Uᵀy
    length: Reals  # ‖y‖
    limit: Reals  # the ‖r‖ at which to stop, or −1
    chosen: Indices  # (k,) S, with t entries in use
    gamma: Reals  # (k,) γ
    norms: Reals  # (k + 1,) ‖r‖ after each pick


class Recurrence(NamedTuple):
    """The arrays that `by_gram` updates from pick to pick; the module's docstring defines V, z, R, W and c.

    W, its helpers and c only exclude columns. They are in float32, and c is stored as scale·Uᵀr/‖y‖, where r
    is the residual. The other arrays are in float64.
    """

    V: Reals
    z: Reals
    column: Reals  # of R
    products: Reals  # ⟨u_i, U_S⟩
    size: Reals  # (d,) |c|
    W: Singles
    column32: Singles
    g: Singles  # the next row of W before it is scaled
    scale: Singles  # zero on S, so that c stays zero there
    c: Singles
    bits: NDArray[np.int32]  # the memory of c, a row for each block
    tops: NDArray[np.int32]

    @classmethod
    def of(cls, d: int, k: int) -> Recurrence:
        blocks = -(-d // _BLOCK)
        c = singles(np.zeros(blocks * _BLOCK))
        doubles = np.zeros((k, k)), np.empty(k), np.empty(k), np.empty(k), np.empty(d)
        W = np.zeros((k + 8, -(-d // _LINE) * _LINE + _PAD))
        column = np.zeros(k + 8)
        g = np.zeros(d)
        tops = np.empty(blocks, np.int32)
        bits = c.view(np.int32).reshape(blocks, _BLOCK)
        return cls(*doubles, singles(W), singles(column), singles(g), singles(g), c, bits, tops)


class CorrelationErrors(NamedTuple):
    """Error bounds for the correlations c_j = ⟨u_j, r⟩ of the unit columns u_j with the residual r.

    error : a bound on the error of c when it is computed in float64.
    zero : a bound on the error of c that rounding of the data causes. If |c_j| ≤ zero, c_j counts as zero.
    kappa2 : a bound on the squared condition number κ² of the selected columns.
    """

    error: float
    zero: float
    kappa2: float


class Factors(NamedTuple):
    """The arrays that `by_samples` updates from pick to pick.

    Let U_S = QR for the selected unit columns U_S, and r the residual of the signal y. The rows of the fields
    Q and R are those of Qᵀ and Rᵀ; V = R⁻ᵀ and z = Qᵀy. The field `size` holds |c_j|, where c = Uᵀr, and the
    field `error` holds bounds on the errors of c.
    """

    Q: Reals
    R: Reals
    V: Reals
    z: Reals
    r: Reals
    size: Reals
    error: Reals
    v: Reals  # scratch, (n,) and (k,)
    column: Reals

    @classmethod
    def of(cls, n: int, d: int, k: int) -> Factors:
        square = np.zeros((k, n)), np.zeros((k, k)), np.zeros((k, k))
        return cls(*square, np.empty(k), np.empty(n), np.empty(d), np.empty(d), np.empty(n), np.empty(k))


@kernel(**BORROWED)
def select(dictionary, signals, forced, recurrence, factors, taken, code):
    """Run OMP on a chunk of signals; all selections begin with the columns `forced`.

    The results are written into `signals`, the number of picks of each signal into `taken`, and its status
    into `code`. Returns the number of signals that were solved by QR factorisations in sample space (ℝⁿ).
    """
    redone = 0
    for m in range(len(signals.y)):
        signal = Signal(
            y=signals.y[m],
            c=signals.c[m],
            length=signals.length[m],
            limit=signals.limit[m],
            chosen=signals.chosen[m],
            gamma=signals.gamma[m],
            norms=signals.norms[m],
        )
        status = _REDO
        t = 0
        if dictionary.G.size:
            status, t = by_gram(dictionary, signal, forced, recurrence, factors.r)
        if status == _REDO:
            redone += 1
            status, t = by_samples(dictionary, signal, forced, factors)
        else:
            history(signal, recurrence.z, residual(dictionary, signal, t, factors.r), t)
        signal.chosen[t:] = -1
        signal.gamma[t:] = 0
        signal.norms[t + 1 :] = math.nan
        code[m], taken[m] = status, t
    return redone


@inner(**BORROWED)
def history(signal, z, norm, t):
    """Write the residual's norm after each of t picks into `signal.norms`; the last one, `norm`, is given.

    The norms of the residuals r_s are computed from the last to the first by ‖r_s‖² = ‖r_{s+1}‖² + z_s², with
    z = Qᵀy and U_S = QR. Nothing cancels. The errors of the norms are at most √t times
    `CorrelationErrors.error`, because the error of each z_s is less than the error of the correlations Uᵀr.
    """
    square = norm * norm
    signal.norms[t] = norm
    for s in range(t - 1, -1, -1):
        square += z[s] * z[s]
        signal.norms[s] = math.sqrt(square)


@inner(**BORROWED)
def by_gram(dictionary, signal, forced, recurrence, r):
    """Run OMP on a signal by the Gram matrix. Return the status and the number of picks.

    The status is _REDO if rounding might decide a pick; then the signal must be solved by `by_samples`.
    """
    length, limit = signal.length, signal.limit
    c = recurrence.c
    k = signal.gamma.size
    unit = 1 / length if length > 0 else 0.0
    for j in range(dictionary.scale.size):
        c[j] = signal.c[j] * unit * dictionary.scale[j]
        recurrence.scale[j] = dictionary.scale32[j]
    condition = 0.0
    square = length * length
    for t in range(k + 1):
        known = _error_bounds(signal, dictionary.eps, condition)
        if t >= forced.size and limit >= 0 and square <= limit * limit + 4 * known.error * length:
            norm = residual(dictionary, signal, t, r)
            if norm <= limit - known.error:
                return TOLERANCE, t
            if norm <= limit + known.error:
                return _REDO, 0
        if t == k:
            break
        i = forced[t] if t < forced.size else pick(dictionary, signal, known, recurrence, t)
        if i < 0:
            # ‖r‖ ≤ u‖y‖ ≤ u·s(y) makes every |c_j| ≤ e_j, and so ends `omp` too
            fits = residual(dictionary, signal, t, r) <= SAFETY * dictionary.eps * length
            return (EXACT_FIT, t) if fits else (_REDO, 0)
        rho2, share = orthogonalize(recurrence, dictionary.G[i], signal, t, i)
        if rho2 <= 0:
            return _REDO, 0
        inverse = 1 / math.sqrt(rho2)
        share *= inverse
        condition += extend_inverse(recurrence.V, recurrence.column, t, inverse)
        if condition > _CONDITION:
            return _REDO, 0
        square -= share * share
        add(recurrence, signal, t, i, share)
        if t + 1 < k:
            update(dictionary, signal, recurrence, t, inverse, share * unit)
    return COMPLETED, k


@inner(**BORROWED, **ONCE)
def _error_bounds(signal, eps, condition):
    """Return bounds on the errors of c = Uᵀr, given a bound `condition` on κ², as `CorrelationErrors`.

    κ is the condition number of the selected columns U_S = QR. The field `error` bounds the error of c for an
    exact residual r = y − U_Sγ, plus the effect of the error of the coefficients γ. The effect is √n·eps
    times κ (from the Gram matrix to R) times κ (from R to γ).
    """
    root = math.sqrt(signal.y.size)
    kappa2 = max(1.0, condition)
    zero = SAFETY * eps * (root + math.sqrt(kappa2)) * signal.length
    error = SAFETY * _EPS * (root + math.sqrt(kappa2) + root * kappa2) * signal.length
    return CorrelationErrors(error, zero, kappa2)


@inner(**BORROWED, **ONCE)
def orthogonalize(recurrence, row, signal, t, i):
    """Compute the column R[:t, t] for pick i from row = G[i]; return ρ² = R[t, t]² and ρ·z_t.

    G is the Gram matrix of the dictionary U, U_S = QR, and z_t = ⟨q_t, y⟩ for the new column q_t of Q.
    """
    V, z, column, products = recurrence.V, recurrence.z, recurrence.column, recurrence.products
    rho2 = row[i]
    share = signal.c[i]
    for s in range(t):
        products[s] = row[signal.chosen[s]]
    for s in range(t):
        total = 0.0
        for l in range(s + 1):
            total += V[s, l] * products[l]
        column[s] = total
        rho2 -= total * total
        share -= total * z[s]
    return rho2, share


@inner(**BORROWED, **ONCE)
def add(recurrence, signal, t, i, share):
    """Add pick i to the selection, and update the coefficients γ by γ ← γ + z_t V[t].

    V[t] is the column t of R⁻¹, U_S = QR, and z_t = share is the inner product of y with column t of Q.
    """
    gamma, V = signal.gamma, recurrence.V
    gamma[t] = 0
    for s in range(t + 1):
        gamma[s] += share * V[t, s]
    recurrence.z[t] = share
    signal.chosen[t] = i


@inner(**BORROWED, **ONCE)
def update(dictionary, signal, recurrence, t, inverse, share):
    """Update the float32 correlations c = scale·Uᵀr/‖y‖ after pick t.

    inverse : 1/ρ, ρ = R[t, t] for U_S = QR.
    share : z_t/‖y‖, where z_t is the inner product of y with column t of Q.
    """
    for s in range(t + 8):
        recurrence.column32[s] = recurrence.column[s] if s < t else 0.0
    i = signal.chosen[t]
    recurrence.scale[i], recurrence.c[i] = 0, 0
    extend(recurrence, dictionary.G32[i], t, np.float32(inverse), np.float32(share))


# The compiler may reorder sums and contract products (FMA): no result depends on the roundings of W and c, as
# `pick` shows. Otherwise a signal would take a sixth more time. A call would take another tenth,
# because it copies the arrays of a tuple to the stack; so the function is put into its caller.
@inner(**BORROWED, forceinline=True, fastmath={"reassoc", "contract"})
def extend(recurrence, row, t, inverse, share):
    """Compute W[t] = (row − Σ_{s<t} column_s W[s])·inverse and c ← c − share·scale∘W[t].

    The first pass reads four rows of W, and each later pass reads eight or four. The vector `column` holds
    R[s, t] for s < t. Its later entries are zero, because the later rows of W still hold values of earlier
    signals.
    """
    W, column, g, c = recurrence.W, recurrence.column32, recurrence.g, recurrence.c
    scale, d = recurrence.scale, row.size
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


@inner(**BORROWED, **ONCE)
def pick(dictionary, signal, known, recurrence, t):
    """Return the column with the largest score if it is certain, otherwise −1.

    The score of column j is scale_j|c_j|, c = Uᵀr for the dictionary U and the residual r. Column i is
    certain if |c_i| > zero, and if scale_i(|c_i| − error) exceeds scale_j(|c_j| + error) for every other j;
    `known` has the bounds zero and error for float64. The float32 values are tried first, and have a larger
    error. Let U_S = QR for the selected columns. The error of W = QᵀU is δW = R⁻ᵀF, where F_t is the rounding
    error of step t, at most t + 2 times half an eps of float32.

    The result does not depend on the roundings of float32, but only on the scores in float64. The scores of
    one column in float32 and in float64 differ by at most e = `error` + `own` in units of ‖y‖, where `own` is
    the error in float64. A column that is certain in float64 leads by 2·`own` there. So a lead of
    2(e + `own`) in float32 implies it, and a column whose score is smaller than the largest one by more than
    this in float32 cannot be one of those that decide in float64.
    """
    length = signal.length
    own = known.error / length if length > 0 else 0.0
    error = _HALF_EPS32 * (4 + math.sqrt(t * known.kappa2) * (t + 2)) + own
    best, i = largest(recurrence.bits, recurrence.tops, np.float32(2 * error + 4 * own))
    if i >= 0 and best * length > (known.zero + 2 * (error + own) * length) * dictionary.scale[i]:
        return i
    compare(dictionary, signal, recurrence, t, best, error, own)
    return certain_argmax(recurrence.size, dictionary.scale, known)


@inner(**BORROWED)
def compare(dictionary, signal, recurrence, t, best, error, own):
    """Compute |c_j|, c_j = ⟨u_j, y⟩ − G[j, S]γ, in float64 for the columns that may have the largest score.

    The values are written into `recurrence.size`, with −1 for all other columns. γ are the coefficients of y
    on the selected columns S, and G is the Gram matrix.

    best, error, own : the largest float32 score scale_j|c_j|, and the bounds on the errors of scores in
        float32 and in float64, in units of ‖y‖.
    """
    c = recurrence.c
    scale = dictionary.scale
    size = recurrence.size
    first = 0
    while abs(c[first]) < best:
        first += 1
    low = best - error * scale[first] - 4 * own - _TINY32
    for j in range(size.size):
        size[j] = -1
        if abs(c[j]) + error * scale[j] >= low and not is_among(j, signal.chosen, t):
            total = signal.c[j]
            for s in range(t):
                total -= signal.gamma[s] * dictionary.G[signal.chosen[s], j]
            size[j] = abs(total)


@inner(**BORROWED)
def certain_argmax(size, scale, known):
    """Return the j with the largest score scale_j·size_j if it is certain and nonzero, otherwise −1.

    known : the bounds on the errors of size_j = |c_j|. Negative sizes are ignored.
    """
    best = -1
    for j in range(size.size):
        if size[j] >= 0 and (best < 0 or scale[j] * size[j] > scale[best] * size[best]):
            best = j
    if best < 0 or size[best] <= known.zero + known.error:
        return -1
    low = scale[best] * (size[best] - known.error)
    for j in range(size.size):
        if j != best and size[j] >= 0 and scale[j] * (size[j] + known.error) >= low:
            return -1
    return best


@inner(**BORROWED, **ONCE)
def largest(bits, tops, gap):
    """Return the largest |c_j|, and its j if all others are smaller by more than `gap`, otherwise −1.

    The array c is given by its bits as integers, because the compiler does not vectorise a maximum of floats.
    Each block is a row. From an index b·_BLOCK + j, which might be negative, the compiler would read the
    entries one by one (by a gather instruction), which takes ten times as long. It would also add integers of
    64 bits, half as many at a time, if they were not cut to 32 bits.
    tops : workspace for the maxima of blocks.
    """
    best = np.int32(0)
    for b in range(tops.size):
        top = np.int32(0)
        block = bits[b]
        for j in range(_BLOCK):
            top = max(top, np.int32(block[j] & _SIZE))
        tops[b] = top
        best = max(best, top)
    largest_size = np.int32(best).view(np.float32)  # Numba needs one definition of what `view` converts
    low = np.float32(largest_size - gap)
    if low <= 0:
        return largest_size, -1
    limit = low.view(np.int32)
    count = np.int32(0)
    i = np.int32(-1)
    for b in range(tops.size):
        if tops[b] >= limit:
            block = bits[b]
            for j in range(_BLOCK):
                if (block[j] & _SIZE) >= limit:
                    count = np.int32(count + 1)
                    i = np.int32(b * _BLOCK + j)
    return largest_size, (i if count == 1 else -1)


@inner(**BORROWED)
def residual(dictionary, signal, t, r):
    """Compute the residual r = y − U_Sγ, where S are the first t picks. Return ‖r‖."""
    copy(signal.y, r)
    for s in range(t):
        subtract(signal.gamma[s], dictionary.U[signal.chosen[s]], r)
    return math.sqrt(dot(r, r))


@inner(**BORROWED)
def by_samples(dictionary, signal, forced, factors):
    """Run OMP on a signal in sample space, as `omp` does. Return the status and the number of picks.

    Correlations Uᵀr are computed from the residual r itself, and columns are orthogonalised twice.
    """
    r = factors.r
    k = signal.gamma.size
    condition = 0.0
    norm = signal.length
    y_size = 0.0
    code = COMPLETED
    copy(signal.y, r)
    for t in range(k + 1):
        signal.norms[t] = norm
        if t >= forced.size and norm <= signal.limit:
            code = TOLERANCE
            break
        if t == k:
            break
        if t < forced.size:
            i = forced[t]
        else:
            i, norm, y_size = choose(dictionary, signal, factors, t, condition, norm)
            signal.norms[t] = norm
        if i < 0:
            code = NO_CORRELATION
            if norm <= SAFETY * dictionary.eps * y_size:
                code = EXACT_FIT
            elif spans_all(dictionary, signal, factors, t):
                code = RANK_EXHAUSTED
            break
        condition += append(dictionary.U[i], factors, t, dictionary.eps)
        norm = math.sqrt(dot(r, r))
        signal.chosen[t] = i
    back_substitute(factors.R, factors.z, t, signal.gamma)
    return code, t


@inner(**BORROWED)
def back_substitute(R, z, t, gamma):
    """Compute γ[:t] = R⁻¹z where row t of the array R holds column t of the triangle."""
    for i in range(t - 1, -1, -1):
        gamma[i] = z[i]
        for s in range(i + 1, t):
            gamma[i] -= R[s, i] * gamma[s]
        gamma[i] /= R[i, i]


@inner(**BORROWED)
def choose(dictionary, signal, factors, t, condition, norm):
    """Return three results: the next pick of `omp` (−1 if every score is zero to rounding), ‖r‖ and s(y).

    r is the residual, and s(y) the size of y (`extent`), from which the errors of r follow. s(y) is computed
    only if scores had to be compared more exactly, with r computed again; otherwise 0 is returned for it.
    """
    U, scale = dictionary.U, dictionary.scale
    size, error = factors.size, factors.error
    for j in range(size.size):
        size[j] = abs(dot(U[j], factors.r))
    for s in range(t):
        size[signal.chosen[s]] = -1
    root = math.sqrt(signal.y.size)
    bound = SAFETY * _EPS * (root + math.sqrt(max(1.0, condition))) * signal.length
    error[:] = bound
    count, i, _ = candidates(size, scale, error, dictionary.eps / _EPS)
    if count == 1 and i >= 0:
        return i, norm, 0.0
    copy(signal.y, factors.r)
    norm = project(factors.Q, t, factors.r, factors.column)
    y_size = extent(factors, t, dot(signal.y, signal.y))
    measure(dictionary, factors, t, bound, norm, y_size)
    return candidates(size, scale, error, dictionary.eps / _EPS)[2], norm, y_size


@inner(**BORROWED)
def append(u, factors, t, eps):
    """Add the column u to the factorisation U_S = QR, and project the residual off the new column of Q.

    Returns the increase of the bound on the squared condition number κ² of U_S. If u is in the span of the
    other columns to rounding, it gets the coefficient zero and a zero column of Q.
    """
    Q, R, V, z, r = factors.Q, factors.R, factors.V, factors.z, factors.r
    q, column = Q[t], R[t]
    copy(u, q)
    rho = project(Q, t, q, column)
    square = 0.0
    if rho > 0:
        square = extend_inverse(V, column, t, 1 / rho)
    keep = 1.0
    if rho == 0 or square * (SAFETY * eps) * (SAFETY * eps) >= 1:
        keep = 0.0
        rho = 1.0
        square = 0.0
        column[:t] = 0
        extend_inverse(V, column, t, 1.0)
    for i in range(q.size):
        q[i] = keep * q[i] / rho
    column[t] = rho
    z[t] = dot(q, r)
    subtract(z[t], q, r)
    return square


@inner(**BORROWED)
def extent(factors, t, square):
    """Return the size s(x) = √(‖x‖² + ‖b‖²) of a vector x, to which the error of P_S^⊥x is proportional.

    b = R⁻¹Qᵀx are the coefficients of x on U_S = QR. Given: square = ‖x‖² and factors.column = Qᵀx.
    """
    for i in range(t):
        b = 0.0
        for s in range(i, t):
            b += factors.V[s, i] * factors.column[s]
        square += b * b
    return math.sqrt(square)


@inner(**BORROWED)
def measure(dictionary, factors, t, bound, norm, y_size):
    """Compute |c_j|, c = Uᵀr, and its error with the sharp bounds of `sparselin.linalg.ties`, for candidates.

    U is the dictionary, and r the residual. Candidates are the columns that may have the largest score. Sizes
    |c_j| and errors are written into `factors.size` and `factors.error`. The size is −1 for all other
    columns, and for columns that are in the span of the selected ones up to the eps of the data. For a column
    in the span, |c_j| is below `bound` with that eps. So the largest |c_j| is reduced by this bound when
    candidates are chosen: no column in the span can then hide another column.
    """
    scale = dictionary.scale
    size, error, r = factors.size, factors.error, factors.r
    low = 0.0
    coarse = dictionary.eps / _EPS
    for j in range(size.size):
        low = max(low, scale[j] * (size[j] - coarse * bound))
    for j in range(size.size):
        if size[j] < 0 or scale[j] * (size[j] + bound) < low:
            size[j] = -1
            continue
        rho, own = project_off(dictionary.U[j], factors, t)
        size[j] = abs(dot(factors.v, r)) if rho > SAFETY * dictionary.eps * own else -1.0
        error[j] = SAFETY * _EPS * (own * norm + rho * y_size + math.sqrt(r.size) * rho * norm)


@inner(**BORROWED)
def project_off(u, factors, t):
    """Write P_S^⊥u, u projected off the selected columns, into `factors.v`, for a unit column u.

    Returns the length of P_S^⊥u, and the size s(u) of `extent`.
    """
    copy(u, factors.v)
    return project(factors.Q, t, factors.v, factors.column), extent(factors, t, 1.0)


@inner(**BORROWED)
def candidates(size, scale, error, coarse):
    """Find the candidates for the largest score scale_j·size_j, which is known to ±scale_j·error_j.

    A score is certainly not zero if size_j > coarse·error_j. Returns three results: the number of candidates;
    the smallest index of a candidate whose score is certainly not zero, or −1 if there is none; and the pick.
    The pick is this index, or the first candidate if only other scores are certainly not zero, or −1 if all
    scores may be zero. Negative sizes are ignored.
    """
    low = 0.0
    count = 0
    first = -1
    pick = -1
    certain = False
    for j in range(size.size):
        low = max(low, scale[j] * (size[j] - error[j]))
        certain |= (scale[j] > 0) & (size[j] > coarse * error[j])
    for j in range(size.size):
        if size[j] >= 0 and scale[j] > 0 and scale[j] * (size[j] + error[j]) >= low:
            count += 1
            if certain and pick < 0:
                pick = j
            if first < 0 and size[j] > coarse * error[j]:
                first = pick = j
    return count, first, pick


@inner(**BORROWED)
def spans_all(dictionary, signal, factors, t):
    """Return whether every column of the dictionary is in the span of the selected ones to rounding."""
    for j in range(dictionary.scale.size):
        if not is_among(j, signal.chosen, t):
            rho, own = project_off(dictionary.U[j], factors, t)
            if rho > SAFETY * dictionary.eps * own:
                return False
    return True
