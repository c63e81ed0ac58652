"""The columns that methods see: the columns of X, perhaps scaled, and a column of ones for an intercept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.errors import SAFETY, eps_of
from sparselin.problem.memory import blocks
from sparselin.results import Fit, FloatArray, IndexArray
from sparselin.validation import Names


class DesignColumns(NamedTuple):
    """The columns scale_j·X_j, j < m, and, for an intercept, `ones` with the index m. X (n, m) is unchanged.

    If `ones` is in S from the start, P_S^⊥ centres every vector, so no centred copy of X is needed. With
    weights, the rows of X and of `ones` are multiplied by √weight.
    """

    X: Any
    ones: FloatArray | None = None
    scale: FloatArray | None = None

    @property
    def d(self) -> int:
        """The number of columns, including the column of ones."""
        return int(self.X.shape[1]) + (self.ones is not None)

    def fit(self, names: Names, positive: bool = False) -> Fit:
        """Return the `Fit` that the result of a fit on these columns records."""
        return Fit(self.X.shape[1], names, self.ones is not None, self.scale is not None, positive)

    def correlate(self, r: FloatArray) -> FloatArray:
        """Return the inner products of all columns with r: (d,) for r (n,), (d, p) for r (n, p)."""
        c = np.asarray(self.X.T @ r)
        if self.scale is not None:
            c = (c.T * self.scale).T
        if self.ones is None:
            return c
        return np.concatenate([c, np.reshape(self.ones @ r, (1, *c.shape[1:]))])

    def predict(self, coef: FloatArray) -> FloatArray:
        """Return the combination of all columns, (n,), for coef (d,)."""
        inner = coef[: self.X.shape[1]]
        fit = np.asarray(self.X @ (inner if self.scale is None else inner * self.scale))
        return fit if self.ones is None else fit + coef[-1] * self.ones

    def block(self, J: IndexArray) -> Any:
        """Return the columns J (n, |J|), sparse if X is sparse."""
        return self.complete(J, self.X[:, J[self.X.shape[1] > J]] if self.ones is not None else self.X[:, J])

    def complete(self, J: IndexArray, block: Any) -> Any:
        """Return the columns J, given those of X among them.

        block : the columns of J that belong to X, as they are in X; the dtype may differ.
        """
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


class Unrounded(NamedTuple):
    """The float32 data as they were given, with √weight and the scales of the columns in float64.

    A float32 problem multiplies its data by both in float32, because products are fast then; its error
    bounds, with float32's eps, cover that rounding. Columns that these bounds leave undecided are computed
    from the data here. They are rounded for the first time in float64, and compared by bounds with its eps.

    X : (n, d) float32, an array or sparse.
    y : (n,) float32.
    root, scale : (n,) √weight and (d,) the scales; None without weights or without `standardize`.
    """

    X: Any
    y: FloatArray
    root: FloatArray | None
    scale: FloatArray | None

    def response(self) -> FloatArray:
        """Return √w·y in float64."""
        y = self.y.astype(np.float64)
        return y if self.root is None else y * self.root

    def ones(self) -> FloatArray:
        """Return the column of an intercept in float64."""
        return np.ones(len(self.y)) if self.root is None else self.root


def scale_rows(X: Any, root: FloatArray | None) -> Any:
    """Return X with each row multiplied by its entry of root; X itself if root is None."""
    if root is None:
        return X
    return X * root[:, None] if isinstance(X, np.ndarray) else X.multiply(root[:, None]).tocsc()


def unit_variance(
    X: Any, t: FloatArray, centred: bool, root: FloatArray | None = None, growth: float = 1.0
) -> FloatArray:
    """Return the scales √(tᵀt)/‖z_j‖ (m,) that give the columns z_j unit variance, or unit mean square.

    If `centred`, z_j = X_j − t·mean_j, else z_j = X_j. The scale is 1 if z_j is zero to rounding. t (n,) in
    float64 is a column of ones, or the square roots of weights. If `root` is given, the rows of X are
    multiplied by it first, in float64. The entries of X are known to growth·eps.

    mean_j = tᵀX_j/tᵀt is subtracted before squares are summed, and the sum is corrected for the rounding of
    mean_j (the corrected two-pass formula of Chan, Golub and LeVeque, 1983).
    """
    total, m = float(t @ t), X.shape[1]
    squares, sizes = np.empty(m), np.empty(m)
    sums = _sums if isinstance(X, np.ndarray) else _sparse_sums
    for here in blocks(m, X.size / m):
        squares[here], sizes[here] = sums(X[:, here], t, root, centred)
    constant = squares <= 2 * (SAFETY * growth * eps_of(X.dtype)) ** 2 * sizes
    return np.asarray(math.sqrt(total) / np.sqrt(np.where(constant, total, squares)))


def _sums(X: FloatArray, t: FloatArray, root: FloatArray | None, centred: bool) -> tuple[FloatArray, ...]:
    """Return ‖z_j‖² and ‖X_j‖² of a dense X, see `unit_variance`."""
    X = scale_rows(X.astype(np.float64), root)
    total, sizes = float(t @ t), np.einsum("ij,ij->j", X, X)
    if not centred:
        return sizes, sizes
    Z = X - t[:, None] * (t @ X / total)
    return np.einsum("ij,ij->j", Z, Z) - (t @ Z) ** 2 / total, sizes


def _sparse_sums(X: Any, t: FloatArray, root: FloatArray | None, centred: bool) -> tuple[FloatArray, ...]:
    """Return ‖z_j‖² and ‖X_j‖² of a sparse X. Entries that are not stored have z_ij = −t_i·mean_j."""
    X = X.tocoo()
    (rows, columns), m, total = X.coords, X.shape[1], float(t @ t)

    def column_sums(terms: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(columns, terms, m), np.float64)

    x = X.data.astype(np.float64)
    x = x if root is None else x * root[rows]
    sizes = column_sums(x**2)
    if not centred:
        return sizes, sizes
    mean = column_sums(t[rows] * x) / total
    z = x - t[rows] * mean[columns]
    rest = _missing(t**2, rows, columns, m)
    drift = column_sums(t[rows] * z) - rest * mean
    return column_sums(z**2) + rest * mean**2 - drift**2 / total, sizes


def _missing(weight: FloatArray, rows: IndexArray, columns: IndexArray, m: int) -> FloatArray:
    """Return the sums (m,) of the weights of the rows that each of m columns does not store.

    There is no cancellation. The sum of all weights minus the sum of the stored ones would be off by eps
    times the sum of all; the result is multiplied by the squared mean of the column, and must be zero for a
    column that is stored in full. So the weights are cut into parts. The entries of a part are integers below
    2⁵³/n times one power of two, so their sums, and the differences of these sums, are exact and not
    negative.
    """
    rest, bits = np.zeros(m), 52 - len(weight).bit_length()
    while weight.any():
        unit = math.ldexp(1.0, max(math.frexp(float(weight.max()))[1] - bits, -1074))  # the least float
        part = np.floor(weight / unit) * unit
        rest += part.sum() - np.asarray(np.bincount(columns, part[rows], m), np.float64)
        weight = weight - part
    return rest
