"""Exact integer arithmetic on matrices of floats: products, and linear systems.

A float is an integer times a power of two. `IntegerColumns` splits these integers into digits of at most 24
bits. Every sum of products of digits is an integer below 2⁵³, so that a matrix product of digits in float64
has no rounding, in any order of summation. The full products are then assembled as Python integers. Vectors
of Python integers are arrays of dtype object.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparselin.results import FloatArray, IndexArray

Integers: TypeAlias = NDArray[np.object_]
Matrix: TypeAlias = list[list[int]]
_PRIMES = (2**31 - 1, 2**31 - 19)  # products of two residues fit into 63 bits


class IntegerColumns:
    """The columns of a matrix (n, d) of floats, written as X_j = N_j·2^e_j with integer vectors N_j.

    Attributes
    ----------
    exponents : (d,) e_j, the largest exponent for which N_j consists of integers, and 0 for a zero column.
    """

    def __init__(self, X: FloatArray) -> None:
        mantissa, exponent = np.frexp(X)
        whole = np.abs(np.ldexp(mantissa, 53)).astype(np.uint64)  # |X| = whole·2^(exponent − 53)
        lowest = np.frexp((whole & (~whole + np.uint64(1))).astype(np.float64))[1] - 1
        zero = whole == 0
        lowest[zero] = 0
        whole >>= lowest.astype(np.uint64)
        exponent += lowest - 53
        most = np.iinfo(exponent.dtype).max
        least = np.where(zero, most, exponent).min(axis=0)
        self.exponents: IndexArray = np.where(zero.all(axis=0), 0, least).astype(np.intp)
        shift = np.where(zero, 0, exponent - self.exponents)
        lengths = (shift + np.frexp(whole.astype(np.float64))[1]).max(axis=0)
        self.shape = X.shape
        self.bits = min(24, (53 - max(X.shape).bit_length()) // 2)
        sign = np.sign(mantissa).astype(np.float32)
        self._digits: list[tuple[IndexArray, NDArray[np.float32]]] = []
        for low in range(0, int(lengths.max()), self.bits):
            J = np.flatnonzero(lengths > low)
            self._digits.append((J, _digit(whole[:, J], shift[:, J] - low, self.bits) * sign[:, J]))

    def column(self, j: int) -> Integers:
        """Return the integer vector N_j (n,) of column j, X_j = N_j·2^e_j."""
        total = np.zeros(self.shape[0], object)
        for J, digit in self._digits[::-1]:
            at = np.flatnonzero(j == J)
            total = (total << self.bits) + digit[:, at].sum(axis=1).astype(np.int64).astype(object)
        return total

    def times(self, v: Integers) -> Integers:
        """Return Nv (n,) for integers v (d,), where N is the matrix of the integer columns."""
        return self._product(v, self.shape[0], transposed=False)

    def correlate(self, u: Integers) -> Integers:
        """Return Nᵀu (d,) for integers u (n,), where N is the matrix of the integer columns."""
        return self._product(u, self.shape[1], transposed=True)

    def _product(self, v: Integers, size: int, *, transposed: bool) -> Integers:
        count = max((int(x).bit_length() for x in v), default=0) // self.bits + 1
        mask = (1 << self.bits) - 1
        parts = [(v >> self.bits * q) & mask for q in range(count - 1)] + [v >> self.bits * (count - 1)]
        digits = np.stack([part.astype(np.float64) for part in parts], axis=1)
        sums = np.zeros((len(self._digits) + count, size), np.int64)  # of digits with the same power of two
        for p, (J, digit) in enumerate(self._digits):
            whole = digit.astype(np.float64)
            product = (whole.T @ digits if transposed else whole @ digits[J]).astype(np.int64).T
            if transposed:
                sums[p : p + count, J] += product
            else:
                sums[p : p + count] += product
        total = np.zeros(size, object)
        for row in sums[::-1]:
            total = (total << self.bits) + row.astype(object)
        return total


def _digit(whole: NDArray[np.uint64], shift: NDArray[Any], bits: int) -> NDArray[np.float32]:
    """Return the lowest `bits` bits of whole·2^shift, rounded down."""
    up = np.clip(shift, 0, bits).astype(np.uint64)
    down = np.clip(-shift, 0, 63).astype(np.uint64)
    digit: NDArray[np.uint64] = ((whole >> down) << up) & np.uint64((1 << bits) - 1)
    return digit.astype(np.float32)


def solve_semidefinite(A: Matrix, b: list[int]) -> tuple[list[int], int] | None:
    """Solve Ax = b for a symmetric positive semidefinite matrix A of integers.

    The method is the fraction-free elimination of Gauss, Jordan and Bareiss. All its entries are minors of
    the matrix, so the divisions have no remainder.

    Returns integers z and t > 0 with x = z/t, where x is zero at dependent columns. Returns None if A is not
    positive semidefinite, or if there is no solution.
    """
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    size = len(A)
    divisor = 1
    dependent = []
    for p in range(size):
        pivot = rows[p][p]
        if pivot < 0 or (pivot == 0 and any(rows[p])):
            return None
        if pivot == 0:  # the column is in the span of the others
            dependent.append(p)
            continue
        for i in range(size):
            if i != p:
                share = rows[i][p]
                rows[i] = [(pivot * x - share * z) // divisor for x, z in zip(rows[i], rows[p], strict=True)]
        divisor = pivot
    return [0 if p in dependent else rows[p][-1] for p in range(size)], divisor


def are_independent(N: Integers) -> bool:
    """Return whether the columns of a matrix of integers are proved to be linearly independent.

    They are independent if they are so modulo a prime, because a minor that is not zero modulo it is not
    zero. Two primes are tried; False may come from independent columns, but not from those of random data.
    """
    return any(_full_rank((N % prime).astype(np.int64), prime) for prime in _PRIMES)


def _full_rank(A: NDArray[np.int64], prime: int) -> bool:
    """Return whether a matrix (n, m) has the rank m modulo a prime; A is overwritten."""
    for p in range(A.shape[1]):
        rows = np.flatnonzero(A[p:, p])
        if not len(rows):
            return False
        A[[p, p + rows[0]]] = A[[p + rows[0], p]]
        share = A[p + 1 :, p] * pow(int(A[p, p]), -1, prime) % prime
        A[p + 1 :, p:] = (A[p + 1 :, p:] - share[:, None] * A[p, p:] % prime) % prime
    return True
