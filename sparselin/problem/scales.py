"""The scales that give each column unit variance, and one reading of a dense X for sums over its columns."""

import math
from typing import Any

import numpy as np

from sparselin._kernels import products as kernels
from sparselin.parallel.threads import divide
from sparselin.problem.errors import SAFETY, eps_of
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray

_FIRST_ROWS = 64  # rows that estimate the means of the columns


@np.errstate(over="ignore", invalid="ignore")  # `sizes.measure` refuses what overflows
def unit_variance(
    X: Any, t: FloatArray, centred: bool, root: FloatArray | None = None, growth: float = 1.0
) -> FloatArray:
    """Return the scales (m,) that give each column of X unit variance, or unit mean square.

    If `centred`, let z_j = X_j − t·mean_j, else z_j = X_j. The scale of column j is √(tᵀt)/‖z_j‖, or 1 if z_j
    is zero to rounding.

    t : (n,) a column of ones, or √weight, in float64.
    root : (n,) √weight. If it is given, row i of X is first multiplied by root_i, in float64.
    growth : the entries of X have a relative error of growth·eps.

    First mean_j = tᵀX_j/tᵀt is subtracted, then squares are summed, and the sum is corrected for the error of
    mean_j (the corrected two-pass formula of Chan, Golub and LeVeque, 1983).
    """
    total = float(t @ t)
    m = X.shape[1]
    if isinstance(X, np.ndarray):
        squares, sizes = _sums(X, t, root, centred)
    else:
        squares, sizes = np.empty(m), np.empty(m)
        for here in blocks(m, X.size / m):
            squares[here], sizes[here] = _sparse_sums(X[:, here], t, root, centred)
    constant = squares <= 2 * (SAFETY * growth * eps_of(X.dtype)) ** 2 * sizes
    return np.asarray(math.sqrt(total) / np.sqrt(np.where(constant, total, squares)))


def _sums(X: FloatArray, t: FloatArray, root: FloatArray | None, centred: bool) -> tuple[FloatArray, ...]:
    """Return ‖z_j‖² and ‖X_j‖², arrays (m,), of a dense X (n, m), for `unit_variance`.

    If `root` is given, row i of X is first multiplied by root_i, and X_j is a column of that product. If
    `centred`, z_j is X_j minus its projection on t; otherwise z_j = X_j. t is a column of ones, or √weight.

    The first rows of X give an estimate a of mean_j. With z = X_j − t·a the results are ‖z‖² − ⟨t, z⟩²/tᵀt
    and ‖z‖² + 2a⟨t, z⟩ + a²tᵀt. If the first subtraction cancels more than half of ‖z‖² for a column, each
    estimate is corrected by ⟨t, z⟩/tᵀt, and X is read again.
    """
    total = float(t @ t)
    root = np.ones(len(t)) if root is None else root
    centre, squares, drift = (np.zeros(X.shape[1]) for _ in range(3))  # apart in memory
    some = slice(0, _FIRST_ROWS)
    weight = float(t[some] @ t[some])
    if centred and weight > 0:
        centre += (t[some] * root[some]) @ X[some].astype(np.float64) / weight
    sum_columns(X, root, t, centre, squares, drift)
    if centred and (2 * np.square(drift / math.sqrt(total)) > squares).any():
        centre += drift / total
        sum_columns(X, root, t, centre, squares, drift)
    sizes = squares + centre * (2 * drift + centre * total)
    return squares - centred * (drift / math.sqrt(total)) ** 2, sizes


def sum_columns(X: FloatArray, root: FloatArray, t: FloatArray, *columns: FloatArray) -> None:
    """Compute moments of the columns of X by the kernel `moments_by_rows` or `moments_by_columns`.

    columns : the centres, and the arrays for the squares and products.
    """
    by_rows = bool(X.flags.c_contiguous)
    data, moments = (X, kernels.moments_by_rows) if by_rows else (X.T, kernels.moments_by_columns)
    divide(lambda a, b: moments(data, root, t, *columns, a, b), X.shape[1], 4.0 * X.size)


def _sparse_sums(X: Any, t: FloatArray, root: FloatArray | None, centred: bool) -> tuple[FloatArray, ...]:
    """Return the results of `_sums` for a sparse X; an entry that is not stored gives z_ij = −t_i·mean_j."""
    X = X.tocoo()
    rows, columns = X.coords
    m = X.shape[1]
    total = float(t @ t)

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
    """Return, for each of m sparse columns, the sum of weight_i over the rows i that are not stored.

    rows, columns : the row and the column of each stored entry.

    The obvious formula is the sum of all weights minus the sum over the stored rows. It would have an error
    of eps times the sum of all weights. But the result must be exactly zero for a column that stores every
    row, because it is multiplied by the squared mean of the column. So each weight is cut into parts, first
    parts, second parts and so on. The n first parts are multiples of one power of two, by integers below
    2⁵³/n; the same holds for the n second parts, with another power of two. Therefore sums of first parts,
    and differences of these sums, are exact and not negative, and likewise for the other parts.
    """
    rest = np.zeros(m)
    bits = 52 - len(weight).bit_length()
    while weight.any():
        unit = math.ldexp(1.0, max(math.frexp(float(weight.max()))[1] - bits, -1074))  # the least float
        part = np.floor(weight / unit) * unit
        rest += part.sum() - np.asarray(np.bincount(columns, part[rows], m), np.float64)
        weight = weight - part
    return rest
