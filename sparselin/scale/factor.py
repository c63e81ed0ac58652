"""The triangular factor R of a matrix A of any length: Householder reflectors, a block of rows at a time.

A step replaces R by the factor of R above a block B of p rows, LAPACK's tpqrt with a rectangular B (l = 0):
AᵀA = RᵀR throughout, and the rows of B are forgotten. The reflector of column i changes row i of R and B
alone, since it is e_i above a vector of p entries.

Its error. In floating point with unit roundoff u the computed R̂ is the exact factor of some A + E, with
bounds on ‖Ee_j‖/‖Ae_j‖ for each column j, whatever the scales of the columns and κ(A).

- In the worst case a reflector of length p applied to v errs by γ̃_p‖v‖, γ̃_p = cpu/(1 − cpu), c a small
  integer (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Lemmas 19.2 and 19.3; section
  19.5 for blocks of reflectors), and d reflectors act in each of N steps on vectors no longer than Ae_j:
  ‖Ee_j‖ ≤ N·d·γ̃_{p+1}‖Ae_j‖ to first order for a chain, and for a tree of depth L whose leaves are chains of
  N steps (N·γ̃_{p+1} + L·γ̃_{d+1})·d·‖Ae_j‖ (for N = 1: Mori, Yamamoto and Zhang, 2012, whose two terms
  these are).
- For rounding errors that are independent and of mean zero, sums of errors grow as roots of sums of squares
  (Connolly and Higham, 2023, for QR: √(nd)·u in place of nd·u), which `growth` uses. Let r and b be what
  column j has in R and in B at a step. The reflector of column i errs by some u|r_i| in row i of R, and in B
  by some u‖b‖, and its inner product, of p terms, is off by √p·u‖b‖. So a step adds u²(‖r‖² + d·p‖b‖²) to
  the square of the error. ‖r‖ ≤ ‖Ae_j‖ in each of N steps; the ‖b‖² of all steps sum to ‖Ae_j‖²: in all
  u²(N + d·p)‖Ae_j‖². A merge has for B the factor, of d rows, of another part of the rows, and on a level of
  a tree the squares of the parts sum to at most ‖Ae_j‖² again: u²·d² for each level.

- They are not quite independent where many steps are nearly the same: chains of single rows of integers
  drift by .005·eps a step (measured up to N = 4·10⁵, beside 0.5·√N·eps), while those of 64 rows and more do
  not show it up to N = 10⁵. `growth` adds N/256.

So the error of a chain grows with its length, and that of a tree with the logarithm.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.parallel.threads import look_again
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

BLOCK = 1024  # most rows of a block, which shall stay in the cache of a core
_INNER = 8  # reflectors that are applied at once
_WIDE = 100  # from so many columns on a block has half as many rows, and twice as many are applied at once
_ALIGNED = 64


def empty(rows: int, columns: int) -> FloatArray:
    """An array by columns that begins at a multiple of 64 bytes, so that sums run alike on each run."""
    raw = np.empty(8 * rows * columns + _ALIGNED, np.uint8)
    start = -raw.ctypes.data % _ALIGNED
    return raw[start : start + 8 * rows * columns].view(np.float64).reshape((rows, columns), order="F")


def zeros(size: int) -> FloatArray:
    """R of no rows."""
    R = empty(size, size)
    R[:] = 0
    return R


@functools.cache
def _tpqrt() -> Callable[..., None]:
    """SciPy's LAPACK, called without the GIL, so that a thread can read meanwhile."""
    from scipy.linalg import cython_lapack

    look_again()
    capsule = cython_lapack.__pyx_capi__["dtpqrt"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 12)(pointer(capsule, name(capsule)))


class Folder:
    """Folds blocks of at most `rows` rows into factors of `size` columns; it holds the space for LAPACK."""

    def __init__(self, size: int) -> None:
        self.size, self._tpqrt = size, _tpqrt()
        wide = size >= _WIDE
        self.rows = BLOCK // 2 if wide else BLOCK
        self._inner = min(2 * _INNER if wide else _INNER, size)
        self._T, self._work = empty(self._inner, size), empty(self._inner, size)

    def fold(self, R: FloatArray, B: FloatArray) -> None:
        """R ← the factor of R above B (p, m), in place; B, by columns with any leading dimension, is lost.

        The diagonal of R may have any sign: `finish` follows.
        """
        assert R.shape == (self.size, self.size) == (self.size, B.shape[1])
        assert R.strides[0] == B.strides[0] == 8
        ld = B.strides[1] // 8 if B.shape[1] > 1 else max(1, len(B))
        numbers = [len(B), self.size, 0, self._inner, self.size, ld, self._inner, 0]
        m, n, l, nb, lda, ldb, ldt, info = (ctypes.c_int(v) for v in numbers)

        def at(v: Any) -> Any:
            return v.ctypes.data if isinstance(v, np.ndarray) else ctypes.addressof(v)

        order = (m, n, l, nb, R, lda, B, ldb, self._T, ldt, self._work, info)
        self._tpqrt(*map(at, order))
        assert info.value == 0

    def finish(self, R: FloatArray) -> None:
        """diag R ≥ 0, by signs of rows, in place: R is then unique, if A has independent columns."""
        R[np.diag(R) < 0] *= -1
        R += 0.0  # no −0


def growth(steps: int, merges: int, columns: int) -> float:
    """√(N + d·p + L·d²) + N/256: the columnwise backward error over eps = 2u (see above).

    N steps in a leaf of the tree, at most, blocks of at most p = `BLOCK` rows, L merges above it.
    """
    return math.sqrt(steps + columns * BLOCK + merges * columns**2) + steps / 256


def worst(steps: int, merges: int, columns: int) -> float:
    """c·d·(N·(p + 1) + L·(d + 1))·u with c = 8, the bound of the worst case."""
    return 8 * columns * (steps * (BLOCK + 1) + merges * (columns + 1)) * EPS / 2
