"""The triangular factor R of a matrix A of any length, by Householder reflectors, a block of rows at a time.

Let B be a block of p rows. A step stacks R on top of B and replaces R by the triangular factor of this
matrix. It is computed by LAPACK's tpqrt with a rectangular B (l = 0). If A are the rows read so far,
AᵀA = RᵀR holds after each step, so the rows of B are no longer needed. The reflector of column i changes only
row i of R and the block B, because its vector consists of the unit vector e_i on top of a vector of p
entries.

The error: in floating point with unit roundoff u the computed R̂ is the exact factor of some A + E. The
following bounds on ‖Ee_j‖/‖Ae_j‖, the relative error of column j, hold whatever the scales of the columns and
the condition number of A.

- In the worst case a reflector of length p applied to v has an error of γ̃_p‖v‖ with γ̃_p = cpu/(1 − cpu) and
  a small integer c (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Lemmas 19.2 and 19.3;
  section 19.5 for blocks of reflectors). In each of N steps d reflectors act on vectors with at most the norm
  of Ae_j. So, to first order, ‖Ee_j‖ ≤ N·d·γ̃_{p+1}‖Ae_j‖ if one step follows the other. The rows can also be
  divided into parts that are factored separately, by at most N steps each; then the factors are merged in
  pairs, by a tree of depth L. In this case ‖Ee_j‖ ≤ (N·γ̃_{p+1} + L·γ̃_{d+1})·d·‖Ae_j‖. (Mori, Yamamoto and
  Zhang, 2012, have these two terms for N = 1.)
- If rounding errors are independent and of mean zero, their sums grow as roots of sums of squares (Connolly
  and Higham, 2023, for QR: √(nd)·u in place of nd·u). `growth` uses this. At a step, let r be column j of R,
  and b column j of B. The reflector of column i has an error of order u|r_i| in row i of R, and of order u‖b‖
  in B; its inner product, of p terms, has an error of √p·u‖b‖. So a step adds u²(‖r‖² + d·p‖b‖²) to the
  square of the error. In each of N steps ‖r‖ ≤ ‖Ae_j‖, and the ‖b‖² of all steps sum to at most ‖Ae_j‖². The
  total is u²(N + d·p)‖Ae_j‖². A merge is a step in which B, of d rows, is the factor of other rows of A. On
  each level of the tree the sum of the ‖b‖² is again at most ‖Ae_j‖², so each level adds u²·d²‖Ae_j‖².
- Rounding errors are not quite independent if many steps are nearly the same. If each step adds a single row
  of integers, the error drifts by .005·eps a step (measured up to N = 4·10⁵, compared with 0.5·√N·eps).
  Blocks of 64 rows and more show no drift up to N = 10⁵. Therefore `growth` adds N/256.

So without a tree the error grows with the number of steps, and with a tree only with the logarithm of the
number of parts.
"""

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sparselin.parallel.threads import scipy_linalg
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray

BLOCK = 1024  # the largest number of rows of a block, which must stay in the cache of a core
_INNER = 8  # reflectors that are applied at once
_WIDE = 100  # with this many columns, blocks have half as many rows, and twice as many reflectors are applied
_ALIGNED = 64


def empty(rows: int, columns: int) -> FloatArray:
    """Return an empty array in column order, aligned to 64 bytes so that repeated runs give equal bits."""
    raw = np.empty(8 * rows * columns + _ALIGNED, np.uint8)
    start = -raw.ctypes.data % _ALIGNED
    return raw[start : start + 8 * rows * columns].view(np.float64).reshape((rows, columns), order="F")


def zeros(size: int) -> FloatArray:
    """Return the factor of a matrix without rows."""
    R = empty(size, size)
    R[:] = 0
    return R


def align(array: FloatArray) -> FloatArray:
    """Return a copy of a matrix in the memory layout of `empty`, which LAPACK needs."""
    copy = empty(*array.shape)
    copy[:] = array
    return copy


@functools.cache
def _tpqrt() -> Callable[..., None]:
    """Return SciPy's dtpqrt. It runs without the GIL, so that a thread can read the next chunk meanwhile."""
    scipy_linalg()
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__["dtpqrt"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype = ctypes.c_char_p
    name.argtypes = [ctypes.py_object]
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 12)(pointer(capsule, name(capsule)))


class Folder:
    """An updater of triangular factors with `size` columns, by blocks of at most `rows` rows.

    It holds LAPACK's work arrays.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._tpqrt = _tpqrt()
        wide = size >= _WIDE
        self.rows = BLOCK // 2 if wide else BLOCK
        self._inner = min(2 * _INNER if wide else _INNER, size)
        self._T, self._work = empty(self._inner, size), empty(self._inner, size)

    def fold(self, R: FloatArray, B: FloatArray) -> None:
        """Replace R in place by the triangular factor of R stacked on top of B (p, m), and overwrite B.

        B is in column order, with any leading dimension. The diagonal of R may get any sign; `finish` makes
        it positive.
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
        """Multiply rows of R by −1, in place, so that the diagonal of R is nonnegative.

        The result is the unique factor with this property if the factored matrix has independent columns.
        """
        R[np.diag(R) < 0] *= -1
        R += 0.0  # no −0


def growth(steps: int, merges: int, columns: int) -> float:
    """Return the relative error of a column of the factored matrix, divided by the machine epsilon.

    The result is √(N + d·p + L·d²) + N/256 (see the docstring of the module). N = `steps` is the largest
    number of blocks of rows that are added one after the other to one factor, p = `BLOCK` the largest number
    of rows in a block, L = `merges` the depth of the tree by which factors are merged, and d = `columns`.
    """
    return math.sqrt(steps + columns * BLOCK + merges * columns**2) + steps / 256


def worst_error(steps: int, merges: int, columns: int) -> float:
    """Return a bound on the relative error of a column of the factored matrix in the worst case.

    The result is c·d·(N·(p + 1) + L·(d + 1))·u with c = 8 and the unit roundoff u. `growth` defines N, p, L
    and d = `columns`.
    """
    return 8 * columns * (steps * (BLOCK + 1) + merges * (columns + 1)) * EPS / 2
