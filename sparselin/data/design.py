"""The columns that methods see: those of X, scaled if asked for, and one of ones for an intercept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray, IndexArray

_CHUNK = 4 * 10**6  # entries of X that are centred at a time


class Design(NamedTuple):
    """Columns scale_j·X_j, j < m, and, for an intercept, `ones` with the index m. X (n, m) stays as it is.

    With `ones` in S from the start, P_S^⊥ centres whatever it is applied to, so that no centred copy of X is
    needed. With weights the rows of X and of `ones` are multiplied by √weight.
    """

    X: Any
    ones: FloatArray | None = None
    scale: FloatArray | None = None

    @property
    def d(self) -> int:
        """The number of columns, that of ones included."""
        return int(self.X.shape[1]) + (self.ones is not None)

    def correlate(self, r: FloatArray) -> FloatArray:
        """The inner products of all columns with r: (d,) for r (n,), (d, p) for r (n, p)."""
        c = np.asarray(self.X.T @ r)
        if self.scale is not None:
            c = (c.T * self.scale).T
        if self.ones is None:
            return c
        return np.concatenate([c, np.reshape(self.ones @ r, (1, *c.shape[1:]))])

    def predict(self, coef: FloatArray) -> FloatArray:
        """The combination of all columns, (n,), for coef (d,)."""
        inner = coef[: self.X.shape[1]]
        fit = np.asarray(self.X @ (inner if self.scale is None else inner * self.scale))
        return fit if self.ones is None else fit + coef[-1] * self.ones

    def block(self, J: IndexArray) -> Any:
        """The columns J (n, |J|), sparse if X is."""
        return self.completed(J, self.X[:, J[self.X.shape[1] > J]] if self.ones is not None else self.X[:, J])

    def completed(self, J: IndexArray, block: Any) -> Any:
        """The columns J, `block` having those of X among them as they are in X, perhaps of another dtype."""
        inside = self.X.shape[1] > J
        if self.scale is not None:
            scale = self.scale[J[inside]].astype(block.dtype)
            block = block * scale if isinstance(block, np.ndarray) else block.multiply(scale).tocsc()
        if self.ones is None or inside.all():
            return block
        ones = self.ones[:, None].astype(block.dtype)
        order = np.where(inside, np.cumsum(inside) - 1, block.shape[1])
        if isinstance(block, np.ndarray):
            return np.column_stack([block, ones])[:, order]
        from scipy.sparse import csc_array, hstack

        return hstack([block, csc_array(ones)], "csc")[:, order]


def unit_variance(X: Any, t: FloatArray, centred: bool, growth: float = 1.0) -> FloatArray:
    """√(tᵗt)/‖z_j‖ (m,), z_j = X_j − t·mean_j, or X_j where not `centred`; 1 where z_j is zero to rounding.

    t is a column of ones, or the square roots of weights: z_j times that has the variance, or mean square,
    one. mean_j = tᵀX_j/tᵀt is subtracted before squares are summed, and the sum is corrected for the rounding
    of mean_j (the corrected two-pass formula of Chan, Golub and LeVeque, 1983). Entries are known to
    growth·eps.
    """
    total, m = float(t @ t), X.shape[1]
    mean = np.asarray(X.T @ t, np.float64) / total if centred else np.zeros(m)
    squares, sizes = np.empty(m), np.empty(m)
    step = max(1, _CHUNK // len(t))
    for a in range(0, m, step):
        here = slice(a, a + step)
        sums = _sums if isinstance(X, np.ndarray) else _sparse_sums
        squares[here], sizes[here], drift = sums(X[:, here], t, mean[here])
        if centred:
            squares[here] -= drift**2 / total
    constant = squares <= 2 * (8 * growth * np.finfo(X.dtype).eps) ** 2 * sizes
    return np.asarray(math.sqrt(total) / np.sqrt(np.where(constant, total, squares)), X.dtype)


def _sums(X: FloatArray, t: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """‖z_j‖², ‖X_j‖² and tᵀz_j, z_j = X_j − t·mean_j."""
    X = X.astype(np.float64)
    Z = X - t[:, None] * mean
    return np.einsum("ij,ij->j", Z, Z), np.einsum("ij,ij->j", X, X), t @ Z


def _sparse_sums(X: Any, t: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same from the stored entries: the others have z_ij = −t_i·mean_j."""
    X = X.tocoo()
    rows, columns = X.coords
    x, m = X.data.astype(np.float64), len(mean)
    z = x - t[rows] * mean[columns]
    terms = (z**2, x**2, t[rows] * z, t[rows] ** 2)
    squares, sizes, drift, stored = (np.asarray(np.bincount(columns, v, m), np.float64) for v in terms)
    rest = float(t @ t) - stored
    return squares + rest * mean**2, sizes, drift - rest * mean
