"""A copy of a design in 16 bits, X_j ≈ unit_j·q_j with integers |q_ij| ≤ 32767, and its products."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import VECTORIZED, inner, kernel
from sparselin._kernels.linear_algebra import dot

LARGEST = 32767
CHUNK = 1024  # the products that are summed in single precision before their sum is added in double precision
_STRIP = 4096  # the columns at a time, whose sums fit into the first-level cache
_MASK = np.iinfo(np.int64).max  # all bits except the sign
_FINITE = {"fastmath": {"reassoc", "contract", "nnan"}}


@inner(**_FINITE)
def _raise(tops, x):
    """Raise each entry tops_j to |x_j| if |x_j| is larger."""
    for j in range(x.size):
        tops[j] = max(tops[j], abs(x[j]))


@inner()
def _largest(bits):
    """Return the bits of max|x|, given the bits of x as integers, which order nonnegative floats."""
    top = 0
    for i in range(bits.size):
        top = max(top, bits[i] & _MASK)
    return top


@inner(**VECTORIZED)
def _round(x, inverse, out):
    """Compute out = x·inverse, rounded to the nearest integer.

    An offset makes the product positive before it is truncated.
    """
    for j in range(x.size):
        out[j] = np.int16(np.int32(x[j] * inverse[j] + (LARGEST + 1.5)) - np.int32(LARGEST + 1))


@kernel()
def copy_by_rows(X, copy, unit, start, stop):
    """Fill the columns start..stop of the 16-bit copy (n, d) of X (n, d), in C order, and their units."""
    for left in range(start, stop, _STRIP):
        right = min(left + _STRIP, stop)
        tops = np.zeros(right - left)
        for i in range(X.shape[0]):
            _raise(tops, X[i, left:right])
        inverse = np.zeros(right - left)
        for j in range(tops.size):
            unit[left + j] = tops[j] / LARGEST
            if tops[j] > 0:
                inverse[j] = LARGEST / tops[j]
        for i in range(X.shape[0]):
            _round(X[i, left:right], inverse, copy[i, left:right])


@kernel()
def copy_by_columns(Xt, copy, unit, start, stop):
    """Fill the rows start..stop of the 16-bit copy (d, n) of Xt = Xᵀ (d, n), and their units."""
    inverse = np.empty(Xt.shape[1])
    bits, tops = Xt.view(np.int64), unit.view(np.int64)
    for j in range(start, stop):
        tops[j] = _largest(bits[j])
        top = unit[j]
        unit[j] = top / LARGEST
        inverse[:] = LARGEST / top if top > 0 else 0.0
        _round(Xt[j], inverse, copy[j])


@kernel(fastmath={"contract"})
def products_by_rows(copy, x, z, start, stop):
    """Compute z_j = ⟨q_j, x⟩ for start ≤ j < stop, where q_j is column j of the 16-bit copy (n, d) of X.

    Eight rows at a time are summed in pairs, and the n/8 sums are added one after the other. If the compiler
    could reorder the sum, it would add all n terms one after the other, with a larger error.
    """
    n = copy.shape[0]
    for left in range(start, stop, _STRIP):
        right = min(left + _STRIP, stop)
        out = z[left:right]
        out[:] = 0
        for i in range(0, n - 7, 8):
            a, b, c = copy[i, left:right], copy[i + 1, left:right], copy[i + 2, left:right]
            e, f, g = copy[i + 3, left:right], copy[i + 4, left:right], copy[i + 5, left:right]
            h, k = copy[i + 6, left:right], copy[i + 7, left:right]
            xa, xb, xc, xe = x[i], x[i + 1], x[i + 2], x[i + 3]
            xf, xg, xh, xk = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
            for j in range(out.size):
                out[j] += (
                    (xa * np.float32(a[j]) + xb * np.float32(b[j]))
                    + (xc * np.float32(c[j]) + xe * np.float32(e[j]))
                ) + (
                    (xf * np.float32(f[j]) + xg * np.float32(g[j]))
                    + (xh * np.float32(h[j]) + xk * np.float32(k[j]))
                )
        for i in range(n - n % 8, n):
            row, share = copy[i, left:right], x[i]
            for j in range(out.size):
                out[j] += share * np.float32(row[j])


@inner(**VECTORIZED)
def _dots(a, b, c, e, x):
    """Return ⟨a, x⟩, ⟨b, x⟩, ⟨c, x⟩ and ⟨e, x⟩ for four columns, reading each entry of x once."""
    sa = sb = sc = se = np.float32(0)
    for i in range(x.size):
        sa += np.float32(a[i]) * x[i]
        sb += np.float32(b[i]) * x[i]
        sc += np.float32(c[i]) * x[i]
        se += np.float32(e[i]) * x[i]
    return sa, sb, sc, se


@kernel()
def products_by_columns(copy, x, z, start, stop):
    """Compute z_j = ⟨q_j, x⟩ for start ≤ j < stop, from a copy (d, n).

    Chunks of four columns are summed in single precision, and these sums are added in double precision.
    """
    last = stop - 1
    for j in range(start, stop, 4):  # at the end the last column is repeated
        a, b, c, e = j, min(j + 1, last), min(j + 2, last), min(j + 3, last)
        ta = tb = tc = te = 0.0
        for low in range(0, x.size, CHUNK):
            here = slice(low, low + CHUNK)
            sa, sb, sc, se = _dots(copy[a, here], copy[b, here], copy[c, here], copy[e, here], x[here])
            ta, tb, tc, te = ta + sa, tb + sb, tc + sc, te + se
        z[a], z[b], z[c], z[e] = ta, tb, tc, te


class ScreenedDesign(NamedTuple):
    """The design, and error bounds for products with its 16-bit copy, X_j ≈ unit_j·q_j.

    Attributes
    ----------
    X, scale : (n, d) and (d,): the columns of the design are scale_j·X_j.
    unit, norms : (d,) the units of the copy, and the norms of the columns of the design.
    error : (d,) bounds on the errors of unit_j⟨q_j, x⟩ for unit vectors x, including all rounding.
    candidates : workspace for the columns that are compared.
    """

    X: NDArray[np.float64]
    scale: NDArray[np.floating]
    unit: NDArray[np.float64]
    norms: NDArray[np.float64]
    error: NDArray[np.float64]
    candidates: NDArray[np.intp]


@inner()
def find_candidates(screen, z, slack, out):
    """Find the columns, except `out`, that may have the largest or second largest |c_j|, c = Xᵀr.

    The columns are written into `screen.candidates`. Returns their number, or −1 if there are too many. The
    copy of column X_j is unit_j·q_j with integers q_j. Given are the numbers z_j = ⟨q_j, r/‖r‖⟩; unit_j·z_j
    differs from c_j/‖r‖ by at most error_j + slack·‖X_j‖.
    """
    low, width = np.empty(z.size), np.empty(z.size)
    for j in range(z.size):
        width[j] = screen.error[j] + slack * screen.norms[j]
        low[j] = screen.unit[j] * abs(z[j]) - width[j]
    for j in out:
        low[j] = -np.inf
    first = second = 0.0
    for j in range(z.size):
        if low[j] > second:
            second = min(low[j], first)
            first = max(low[j], first)
    count = 0
    for j in range(z.size):
        if low[j] + 2 * width[j] >= second:
            if count == screen.candidates.size:
                return -1
            screen.candidates[count] = j
            count += 1
    return count


@kernel()
def certain_pick(screen, z, r, slack, out):
    """Find the column j with the largest |c_j|, c = Xᵀr, except the columns `out`.

    Returns j, |c_j| and its relative distance to the next largest value, or j = −1 if j is not certain. j is
    certain if no other column may have a larger value, given that each c_j has an error of slack·‖r‖‖X_j‖.
    z : ⟨q_j, r/‖r‖⟩ for the columns q_j of the copy.
    """
    error = slack * math.sqrt(dot(r, r))
    best, top, second = -1, 0.0, 0.0
    count = find_candidates(screen, z, slack, out)
    value = np.empty(max(count, 0))
    for l in range(count):
        j = screen.candidates[l]
        value[l] = abs(screen.scale[j] * dot(screen.X[:, j], r))
        if value[l] > top:
            best, top, second = l, value[l], top
        elif value[l] > second:
            second = value[l]
    low = top - error * screen.norms[screen.candidates[best]] if best >= 0 else 0.0
    if low <= 0:
        return -1, 0.0, 0.0
    for l in range(count):
        if l != best and value[l] + error * screen.norms[screen.candidates[l]] >= low:
            return -1, 0.0, 0.0
    return screen.candidates[best], top, (top - second) / top
