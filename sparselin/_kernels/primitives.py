"""The functions of kernels that are written twice: here for the interpreter, and in `compiled_primitives`.

Both forms of a function give the same bits. A sum in lanes has LANES = 16 partial sums. Entry i, below the
last multiple of 16, is added to the partial sum i mod 16. Let r be the number of entries that are left. Then,
for w = 8, 4, 2 and 1, the two halves of the partial sums are added, so that w of them remain, and the next w
entries are added to them if r has w in its binary form.
"""

import math
from fractions import Fraction

import numpy as np

LANES = 16
_SPLIT = 2.0**27 + 1
_TINY = 2.0**-480
_HUGE = 2.0**480


def multiply_add(a, b, c):
    """Return a·b + c, rounded once; Python has such a function only from version 3.13 on.

    If c = −fl(a·b), the result is the error of the product, by Dekker's formula. Otherwise exact fractions
    are used, and a sum or product that is not finite is left to floats.
    """
    a = float(a)
    b = float(b)
    c = float(c)
    p = a * b
    if p + c == 0 and _TINY < abs(a) < _HUGE and _TINY < abs(b) < _HUGE:
        x, y = _SPLIT * a, _SPLIT * b
        a1, b1 = x - (x - a), y - (y - b)
        a2, b2 = a - a1, b - b1
        return ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2
    if not math.isfinite(p + c):
        return p + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def dot(a, b):
    """Return ⟨a, b⟩ for arrays without gaps in memory, summed in float64, in lanes."""
    _refuse_gaps(a, b)
    return _sum_in_lanes(np.multiply(a, b, dtype=np.float64))


def narrow_dot(a, b):
    """Return ⟨a, b⟩ as `dot` does, but for arrays in float32 and summed in float32."""
    _refuse_gaps(a, b)
    return _sum_in_lanes(a * b)


def _refuse_gaps(*arrays):
    """Refuse arrays that the compiled form refuses."""
    if not all(array.flags.c_contiguous for array in arrays):
        raise TypeError("dot needs vectors without gaps in memory")


def _sum_in_lanes(terms):
    """Return the sum of the terms in lanes."""
    width = LANES
    start = terms.size - terms.size % LANES
    sums = np.add.reduce(terms[:start].reshape(-1, LANES), axis=0)
    while width > 1:
        width //= 2
        sums = sums[:width] + sums[width:]
        if terms.size & width:
            sums += terms[start : start + width]
            start += width
    return sums[0] + 0  # −0 becomes 0, with which compiled sums begin


def add_four_pairs(A, p, left, x, out):
    """Add Σ_s⟨A[s, left:], x_s⟩, p ≤ s < p + 4, to `out` in float32, for pairs of integers in A and x.

    An entry of A and x, in int32, holds two integers of 16 bits, and ⟨a, x⟩ is the sum of their two products.
    Sums of two such numbers must be less than 2³¹. They are exact, and the two sums are added in float32.
    """
    pairs = A[p : p + 4, left : left + out.size]
    factors = x[p : p + 4, np.newaxis]
    low = (pairs << 16 >> 16) * (factors << 16 >> 16)
    sums = np.add.reduceat(low + (pairs >> 16) * (factors >> 16), [0, 2], dtype=np.int32)
    rounded = sums.astype(out.dtype)
    out += rounded[0] + rounded[1]


def dot_of_pairs(a, x):
    """Return ⟨a, x⟩ in float32 for vectors of pairs of integers, as in `add_four_pairs`.

    16 divides their size. The entries i and i + 8 of each 16 are summed exactly. Their sum is added to the
    partial sum i of eight.
    """
    products = (a << 16 >> 16) * (x << 16 >> 16) + (a >> 16) * (x >> 16)
    exact = np.add.reduce(products.reshape(-1, 2, 8), axis=1, dtype=np.int32)
    sums = np.add.reduce(exact.astype(np.float32), axis=0)
    for width in (4, 2, 1):
        sums = sums[:width] + sums[width:]
    return sums[0]


def subtract(share, a, b):
    """Subtract share·a from b."""
    b -= share * a


def copy(a, b):
    """Copy a to the first entries of b."""
    b[: a.size] = a


def is_among(j, chosen, t):
    """Return whether j is among the first t entries of `chosen`."""
    return j in chosen[:t].tolist()


def eigen(A):
    """Return the eigenvalues, increasing, and the eigenvectors of a symmetric matrix, by LAPACK's syevd."""
    from scipy.linalg.lapack import dsyevd

    values, vectors, _ = dsyevd(A, compute_v=1, lower=1)
    return values, vectors


def least_eigenvalue(A):
    """Return the least eigenvalue of a symmetric matrix, by LAPACK's syevd."""
    from scipy.linalg.lapack import dsyevd

    return dsyevd(A, compute_v=0, lower=1)[0][0]


# The work of a call, see the module `interpreter`. A byte of bytecode takes about 7 ns to run.
WORK = {
    multiply_add: 170,
    dot: 700,
    narrow_dot: 700,
    add_four_pairs: 2000,
    dot_of_pairs: 1500,
    subtract: 250,
    copy: 250,
    is_among: 250,
    eigen: 3000,
    least_eigenvalue: 3000,
}
