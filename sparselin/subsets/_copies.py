"""Columns that are exact multiples of others: they span the same line, so sets may exchange them.

Without a ridge, a box, groups, signs and a hierarchy, the value of a set depends on its span only. Then a
search needs one column of each class of multiples, and two columns of one class in a set are one too many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparselin.results import FloatArray, IndexArray

# Columns whose ratios of two random sums differ by more than this share are not multiples of each other.
_APART = 1e-9
# Columns of integers, times a power of two, below 2^_BITS are divided by their greatest common divisor.
_BITS = 62


def find_copies(X: FloatArray) -> IndexArray:
    """Return for each column the first column of its class (d,); X (n, d) has no rounding errors.

    A class holds columns that are multiples of each other: by ± a power of two, or, if the columns are
    integers below 2⁶² times a power of two, by any number. A column of zeros is in a class of its own.
    """
    first = np.arange(X.shape[1])
    J = _candidates(X)
    classes: dict[bytes, int] = {}
    for j in J.tolist():
        first[j] = classes.setdefault(_line(X[:, j]), j)
    return first


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _candidates(X: FloatArray) -> IndexArray:
    """Return, in increasing order, the columns that may be multiples of another one.

    The ratio of two linear functions of a column does not depend on its length.
    """
    angles = np.arange(1.0, len(X) + 1)
    above, below = np.cos(angles), np.sin(angles)
    ratio = (above @ X) / (below @ X)
    order = np.argsort(ratio, kind="stable")
    near = np.abs(np.diff(ratio[order])) <= _APART * np.abs(ratio[order][1:])  # False for NaN and infinity
    chosen = np.zeros(len(order), bool)
    chosen[order[1:][near]] = chosen[order[:-1][near]] = True
    return np.flatnonzero(chosen)


def _line(x: FloatArray) -> bytes:
    """Return a text that is the same for a column and its multiples."""
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    inside = whole != 0
    whole *= np.sign(whole[np.argmax(inside)])
    exponent = np.where(inside, exponent - exponent[inside].max(), 0)
    low = exponent - 53 + np.frexp((whole & -whole).astype(np.float64))[1] - 1
    least = int(low[inside].min())
    if least < -_BITS:
        return whole.tobytes() + exponent.tobytes()
    integers: NDArray[np.int64] = np.ldexp(whole.astype(np.float64), exponent - 53 - least).astype(np.int64)
    primitive: NDArray[np.int64] = integers // np.gcd.reduce(integers)
    return primitive.tobytes()
