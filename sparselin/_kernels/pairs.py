"""Integers of 16 bits in pairs: a rounded copy of a design, a rounded vector, and the products of both.

One instruction (pmaddwd) multiplies two pairs and adds the two products. So an entry of int32 holds two
integers, and sums of up to four products are exact.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import BORROWED, ONCE, inner, kernel
from sparselin._kernels.primitives import add_four_pairs, dot, dot_of_pairs

LARGEST = 32767
GUESS = 6  # in most columns no entry is larger than this many root mean squares
_STRIP = 4096  # the columns at a time, whose sums fit into the first-level cache
_LAST = 32  # no column of a copy in Fortran order has more pairs without two rows of X
_OFFSET = LARGEST + 1  # makes numbers positive before they are truncated
_SIGNS = -0x7FFF8000  # in two integers of 16 bits, what the offset changes
# Four products of integers up to _OFFSET and _FINEST do not exceed 2³¹.
_FINEST = 16383
_ROUGH = 4e-4  # four times the error of a Gaussian vector that is rounded to integers up to _FINEST
# No entry is NaN, and no result depends on the sign of a zero. So both forms give the same results.
_FINITE = BORROWED | {"fastmath": {"nnan", "nsz"}}


@inner(**_FINITE)
def _round_pairs(x, y, inverse, out, tops):
    """Compute x·inverse and y·inverse, rounded to integers; raise entries of `tops` to their moduli.

    An entry of `out` holds both integers, that of x in the lower 16 bits. It is not valid if tops_j exceeds
    LARGEST + ½.
    """
    for j in range(out.size):
        low = x[j] * inverse[j]
        high = y[j] * inverse[j]
        tops[j] = max(tops[j], max(abs(low), abs(high)))
        low_bits = np.int32(low + (_OFFSET + 0.5))
        high_bits = np.int32(high + (_OFFSET + 0.5))
        out[j] = (low_bits | high_bits << 16) ^ _SIGNS


@inner(**BORROWED, **ONCE)
def _copy_rows(X, copy, inverse, tops, zero, left, right):
    """Fill the columns left..right of the copy, given X in C order, and zeros."""
    n = X.shape[0]
    m = len(copy)
    for p in range(m):
        low = X[p, left:right] if p < n else zero
        high = X[m + p, left:right] if m + p < n else zero
        _round_pairs(low, high, inverse, copy[p, left:right], tops)


@inner(**_FINITE)
def _round_column(x, y, inverse, out):
    """Compute pairs as `_round_pairs` does, and return whether they are valid."""
    bits = np.int32(0)
    for p in range(out.size):
        low = np.int32(x[p] * inverse + (_OFFSET + 0.5))
        high = np.int32(y[p] * inverse + (_OFFSET + 0.5))
        bits = np.int32(bits | low | high)
        out[p] = (low | high << 16) ^ _SIGNS
    return bits >> 16 == 0


@inner(**BORROWED, **ONCE)
def _copy_columns(Xt, copy, inverse, tops, zeros, last, left):
    """Fill the rows of the copy from `left` on with columns of X, given Xᵀ (d, n) in C order."""
    n = Xt.shape[1]
    m = copy.shape[1]
    both = max(n - m, 0)  # the pairs of two rows of X
    zero = zeros[: m - both]
    last = last[: m - both]
    last[:] = 0
    for j in range(inverse.size):
        x, pairs = Xt[left + j], copy[left + j]
        valid = _round_column(x[:both], x[m:], inverse[j], pairs[:both])
        for i in range(both, min(m, n)):
            last[i - both] = x[i]
        if not (_round_column(last, zero, inverse[j], pairs[both:]) and valid):
            for i in range(n):
                tops[j] = max(tops[j], abs(x[i] * inverse[j]))


class Strip(NamedTuple):
    """Arrays for columns that are copied together, w columns at most.

    zeros, rest : zeros in place of rows beyond the last, and workspace for the last rows of a column.
    tops, inverse : (≥ w,) workspace for the largest integers, and for the reciprocals of the units.
    """

    zeros: NDArray[np.float64]
    rest: NDArray[np.float64]
    tops: NDArray[np.float64]
    inverse: NDArray[np.float64]


@inner()
def empty_strip(d, tops, inverse):
    """Return workspace for `fill_copy`, if the copy has d columns, with two arrays (d,)."""
    return Strip(zeros=np.zeros(max(min(d, _STRIP), _LAST)), rest=np.empty(_LAST), tops=tops, inverse=inverse)


@inner(**BORROWED)
def fill_copy(X, by_rows, copy, unit, start, stop, strip):
    """Fill the columns start..stop of the 16-bit copy of a design, see `ScreenedDesign`.

    On entry `unit` holds guesses of the units. Where a guess is too small, the unit becomes
    max_i|X_ij|/LARGEST, and columns are copied again. `strip` is workspace.
    """
    for left in range(start, stop, _STRIP):
        right = min(left + _STRIP, stop)
        tops = strip.tops[: right - left]
        inverse = strip.inverse[: right - left]
        for _ in range(2):
            for j in range(right - left):
                tops[j] = 0.0
                inverse[j] = 1 / unit[left + j] if unit[left + j] > 0 else 0.0
            if by_rows:
                _copy_rows(X, copy, inverse, tops, strip.zeros[: right - left], left, right)
            else:
                _copy_columns(X, copy, inverse, tops, strip.zeros, strip.rest, left)
            valid = True
            for j in range(right - left):
                if tops[j] > LARGEST + 0.25:
                    unit[left + j] = unit[left + j] * (tops[j] / LARGEST)
                    valid = False
            if valid:
                break


class RoundedVector(NamedTuple):
    """A vector x of length 1, rounded to unit·(p + 2⁻¹⁴·q) with vectors p and q of integers.

    Attributes
    ----------
    parts : (2, m) p and q; an entry holds two integers, as an entry of the 16-bit copy does.
    used : (1,) the number of parts that are used; with one part, q is zero.
    unit : (1,) the unit, a number of float32.
    error : (1,) a bound on the error of products that is due to this rounding, relative to ‖X_j‖.
    whole, rest : (2m,) workspace for integers, and for what they leave.
    """

    parts: NDArray[np.int32]
    used: NDArray[np.intp]
    unit: NDArray[np.float64]
    error: NDArray[np.float64]
    whole: NDArray[np.int32]
    rest: NDArray[np.float64]


@kernel()
def empty_vector(m):
    """Return arrays for a `RoundedVector` with m pairs of integers."""
    return RoundedVector(
        parts=np.zeros((2, m), np.int32),
        used=np.zeros(1, np.intp),
        unit=np.zeros(1),
        error=np.zeros(1),
        whole=np.zeros(2 * m, np.int32),
        rest=np.empty(2 * m),
    )


@inner(**BORROWED, **ONCE)
def gamma(n):
    """Return γ = mu/(1 − mu), u = 2⁻²⁴, for the m roundings of a term of ⟨q_j, x⟩.

    In C order these are the roundings of a sum of four products (1), in the sum of two such sums (1), in the
    sum of these (⌈n/8⌉), and in the product with the unit of x (1). In Fortran order they are those of a sum
    of four products (1), in a partial sum (⌈n/32⌉), in the sum of these (3) and in the product (1).
    """
    mu = (n // 8 + 6) * 2.0**-24
    return mu / (1 - mu)


@inner(**BORROWED)
def round_to_pairs(v, length, x):
    """Round v/length, a vector of length 1, to integers.

    Let δ be the error of this rounding. It changes ⟨X_j, x⟩ by at most ‖X_j‖‖δ‖, and the error of the copy,
    which is less than ‖X_j‖/5, by a fifth of that. If ‖δ‖ is large, because few entries of x are, δ is
    rounded to integers too. The roundings of the products with them are at most γ‖X_j‖‖δ‖.
    """
    top = 0.0
    for i in range(v.size):
        top = max(top, abs(v[i]))
    unit = np.float64(np.float32(top / length / _FINEST))
    rest = x.rest[: v.size]
    for i in range(v.size):
        rest[i] = v[i] / (length * unit)
    error = unit * _split(rest, x.parts[0], x.whole)
    x.used[0] = 1
    x.unit[0] = unit
    x.error[0] = 1.25 * error
    if error > _ROUGH:
        for i in range(v.size):
            rest[i] *= 2.0**14
        error = gamma(v.size) * error + 2.0**-14 * unit * _split(rest, x.parts[1], x.whole)
        x.used[0] = 2
        x.error[0] = 1.25 * error


@inner(**BORROWED)
def _split(x, pairs, whole):
    """Subtract from x the nearest integers, write these to `pairs`, and return the norm of the rest.

    whole : workspace, whose entries from x.size on are zero.
    """
    m = pairs.size
    for i in range(x.size):
        whole[i] = np.int32(x[i] + (_FINEST + 1.5)) - np.int32(_FINEST + 1)
        x[i] -= whole[i]
    for p in range(m):
        pairs[p] = (whole[p] & 0xFFFF) | whole[m + p] << 16
    return math.sqrt(dot(x, x))


@inner(**BORROWED)
def multiply(copy, by_rows, x, z, start, stop):
    """Compute z_j = ⟨q_j, x⟩ for start ≤ j < stop, where q_j are the integers of column j in the copy."""
    unit = np.float32(x.unit[0])
    if not by_rows:
        for j in range(start, stop):
            z[j] = dot_of_pairs(copy[j], x.parts[0])
            if x.used[0] > 1:
                z[j] += dot_of_pairs(copy[j], x.parts[1]) * np.float32(2.0**-14)
            z[j] *= unit
        return
    for left in range(start, stop, _STRIP):
        out = z[left : min(left + _STRIP, stop)]
        out[:] = 0
        for part in range(x.used[0] - 1, -1, -1):
            for p in range(0, len(copy), 4):
                add_four_pairs(copy, p, left, x.parts[part], out)
            scale = np.float32(2.0**-14) if part else unit
            for j in range(out.size):
                out[j] *= scale


@kernel()
def pairs_of(n, by_rows):
    """Return the number m of pairs in a column of the copy, of which 4 are read at once, or 16 by columns."""
    return 4 * -(-n // 8) if by_rows else 16 * -(-n // 32)


@kernel()
def round_vector(v, length, x):
    """Run `round_to_pairs`."""
    round_to_pairs(v, length, x)


@kernel()
def products(copy, by_rows, x, z, start, stop):
    """Run `multiply` in one of several threads."""
    multiply(copy, by_rows, x, z, start, stop)
