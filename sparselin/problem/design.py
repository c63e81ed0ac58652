"""The columns that methods see: the columns of X, perhaps scaled, and a column of ones for an intercept.

When a problem is made, the lengths of these columns and of y are measured, and Xᵀy.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import products as kernels
from sparselin.parallel.threads import spread, workers
from sparselin.problem.errors import EPS, SAFETY, ErrorModel, eps_of, largest_of, least_norm
from sparselin.problem.memory import blocks
from sparselin.problem.operators import Operator
from sparselin.results import Fit, FloatArray, IndexArray
from sparselin.validation import Names, check_finite

_FIRST_ROWS = 64  # rows that estimate the means of the columns


class DesignColumns(NamedTuple):
    """The columns that methods see: those of X (n, m), perhaps scaled, and a column of ones for an intercept.

    With scales, column j is scale_j·X_j for j < m. The column of ones, if there is one, has the index m. X is
    not copied. The column of ones is in every selected set S, so the projection P_S^⊥ centres every vector,
    and no centred copy of X is needed. With weights, the rows of X and of `ones` are multiplied by √weight.
    """

    X: Any
    ones: FloatArray | None = None
    scale: FloatArray | None = None

    @property
    def d(self) -> int:
        """The number of columns, including the column of ones."""
        return int(self.X.shape[1]) + (self.ones is not None)

    def fit(self, names: Names, positive: bool = False, by_length: bool = False) -> Fit:
        """Return the `Fit` of these columns: the properties of the columns that a result stores."""
        return Fit(
            n_features=self.X.shape[1],
            names=names,
            with_intercept=self.ones is not None,
            standardized=self.scale is not None,
            positive=positive,
            by_length=by_length,
        )

    def correlate(self, r: FloatArray) -> FloatArray:
        """Return the inner products of all columns with r: (d,) for r (n,), (d, p) for r (n, p)."""
        c = np.asarray(self.X.T @ r)
        if self.scale is not None:
            c = (c.T * self.scale).T
        if self.ones is None:
            return c
        return np.concatenate([c, np.reshape(self.ones @ r, (1, *c.shape[1:]))])

    def predict(self, coef: FloatArray) -> FloatArray:
        """Return the linear combination (n,) of all columns, including the column of ones.

        coef : (d,) the coefficients of the scaled columns; with an intercept the last one belongs to the
            column of ones.
        """
        inner = coef[: self.X.shape[1]]
        fit = np.asarray(self.X @ (inner if self.scale is None else inner * self.scale))
        return fit if self.ones is None else fit + coef[-1] * self.ones

    def block(self, J: IndexArray) -> Any:
        """Return the columns with the indices J, (n, |J|), scaled; the result is sparse if X is sparse."""
        return self.complete(J, self.X[:, J[self.X.shape[1] > J]] if self.ones is not None else self.X[:, J])

    def complete(self, J: IndexArray, block: Any) -> Any:
        """Scale columns of X, and insert the column of ones if J has its index; return the columns J.

        block : the columns of X with an index in J, in the order of J and not yet scaled; their dtype may
            differ from that of X.
        """
        inside = self.X.shape[1] > J
        if self.scale is not None:
            scale = self.scale[J[inside]].astype(block.dtype)
            block = block * scale if isinstance(block, np.ndarray) else block.multiply(scale).tocsc()
        if self.ones is None or inside.all():
            return block
        ones = self.ones[:, None].astype(block.dtype)
        if isinstance(block, np.ndarray):
            columns = np.empty((len(block), len(J)), block.dtype, "F")
            columns[:, inside], columns[:, ~inside] = block, ones
            return columns
        from scipy.sparse import csc_array, hstack

        order = np.where(inside, np.cumsum(inside) - 1, block.shape[1])
        return hstack([block, csc_array(ones)], "csc")[:, order]


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written; other data are returned as they are.

    For Numba read-only arrays are another type. Callers give both, and the package writes to neither, so all
    kernels get the data of a problem as read-only arrays, and are compiled once.
    """
    if not isinstance(array, np.ndarray):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


class Unrounded(NamedTuple):
    """The float32 data as they were given, with √weight and the scales of the columns in float64.

    A float32 problem multiplies its data by √weight and by the scales in float32, because products are fast
    then. Its error bounds use the eps of float32 and so include this rounding. If these bounds do not decide
    which of several columns has the larger correlation, these columns are computed again in float64 from the
    fields below, and compared with bounds for float64.

    X : (n, d) float32, an array or sparse.
    y : (n,) float32.
    root : (n,) √weight; None without weights.
    scale : (d,) the scales of the columns; None without `standardize`.
    """

    X: Any
    y: FloatArray
    root: FloatArray | None
    scale: FloatArray | None

    def response(self) -> FloatArray:
        """Return the response multiplied by √weight, (n,), in float64."""
        y = self.y.astype(np.float64)
        return y if self.root is None else y * self.root

    def ones(self) -> FloatArray:
        """Return the column of ones multiplied by √weight, (n,), in float64, for an intercept."""
        return np.ones(len(self.y)) if self.root is None else self.root


def scale_rows(X: Any, root: FloatArray | None) -> Any:
    """Multiply row i of X by root_i and return the product; if root is None, return X itself."""
    if root is None:
        return X
    return X * root[:, None] if isinstance(X, np.ndarray) else X.multiply(root[:, None]).tocsc()


@np.errstate(over="ignore", invalid="ignore")  # `_check_range` refuses what overflows
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
    total, m = float(t @ t), X.shape[1]
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
    total, root = float(t @ t), np.ones(len(t)) if root is None else root
    centre, squares, drift = (np.zeros(X.shape[1]) for _ in range(3))  # apart in memory
    some = slice(0, _FIRST_ROWS)
    weight = float(t[some] @ t[some])
    if centred and weight > 0:
        centre += (t[some] * root[some]) @ X[some].astype(np.float64) / weight
    _read(X, root, t, centre, squares, drift)
    if centred and (2 * np.square(drift / math.sqrt(total)) > squares).any():
        centre += drift / total
        _read(X, root, t, centre, squares, drift)
    sizes = squares + centre * (2 * drift + centre * total)
    return squares - centred * (drift / math.sqrt(total)) ** 2, sizes


def _read(X: FloatArray, root: FloatArray, t: FloatArray, *columns: FloatArray) -> None:
    """Compute moments of the columns of X by the kernel `moments_by_rows` or `moments_by_columns`.

    columns : the centres, and the arrays for the squares and products.
    """
    by_rows = bool(X.flags.c_contiguous)
    data, moments = (X, kernels.moments_by_rows) if by_rows else (X.T, kernels.moments_by_columns)
    with workers(4 * X.size) as count:
        spread(lambda a, b: moments(data, root, t, *columns, a, b), X.shape[1], count)


def _sparse_sums(X: Any, t: FloatArray, root: FloatArray | None, centred: bool) -> tuple[FloatArray, ...]:
    """Return the results of `_sums` for a sparse X; an entry that is not stored gives z_ij = −t_i·mean_j."""
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
    """Return, for each of m sparse columns, the sum of weight_i over the rows i that are not stored.

    rows, columns : the row and the column of each stored entry.

    The obvious formula is the sum of all weights minus the sum over the stored rows. It would have an error
    of eps times the sum of all weights. But the result must be exactly zero for a column that stores every
    row, because it is multiplied by the squared mean of the column. So each weight is cut into parts, first
    parts, second parts and so on. The n first parts are multiples of one power of two, by integers below
    2⁵³/n; the same holds for the n second parts, with another power of two. Therefore sums of first parts,
    and differences of these sums, are exact and not negative, and likewise for the other parts.
    """
    rest, bits = np.zeros(m), 52 - len(weight).bit_length()
    while weight.any():
        unit = math.ldexp(1.0, max(math.frexp(float(weight.max()))[1] - bits, -1074))  # the least float
        part = np.floor(weight / unit) * unit
        rest += part.sum() - np.asarray(np.bincount(columns, part[rows], m), np.float64)
        weight = weight - part
    return rest


@np.errstate(over="ignore", invalid="ignore")  # `_check_range` refuses what overflows
def measure_norms(design: DesignColumns, y: FloatArray, names: Names) -> dict[str, Any]:
    """Compute the fields column_norms (d,), y_norm and Xty (d,) of a problem: ‖X_j‖, ‖y‖ and Xᵀy.

    A dense X is read once. Its sums of squares also show whether X is finite.

    Raises ValueError if X is not finite, or if the square of a norm overflows or underflows.
    """
    X, ones, scale = design
    m, d = X.shape[1], design.d
    squares, products, double = np.empty(d), np.empty(d), np.asarray(y, np.float64)
    if isinstance(X, np.ndarray):
        _read(X, np.ones(len(y)), double, np.zeros(m), squares, products)
    else:
        products[:m] = X.T @ y
        squares[:m] = X.lengths**2 if isinstance(X, Operator) else X.multiply(X).sum(axis=0)
    if ones is not None:
        squares[m], products[m] = ones @ ones, ones @ y
    norms = np.sqrt(squares)
    if not norms.max() < math.inf and isinstance(X, np.ndarray):
        check_finite(X, "X", names)
    if scale is not None:
        _check_range(X, y, norms, 1.0)  # the scales come from the squares of X itself
        norms[:m] *= scale
        products[:m] *= scale
    least, most = float(norms.min()), float(norms.max())
    column_norms, Xty = norms.astype(X.dtype, copy=False), products.astype(X.dtype, copy=False)
    square = float(np.vdot(double, double))  # in contrast to @, without a warning if it overflows
    y_norm = math.sqrt(square) if square <= largest_of(X.dtype) else math.inf
    if not (min(y_norm, least) > least_norm(X.dtype) and most * max(most, y_norm) < largest_of(X.dtype)):
        _check_range(X, y, column_norms, y_norm)
    return {"column_norms": column_norms, "y_norm": y_norm, "Xty": Xty}


def _check_range(X: Any, y: FloatArray, column_norms: FloatArray, y_norm: float) -> None:
    """Raise ValueError if ‖X_j‖², ‖y‖² or ‖X_j‖‖y‖ overflows or underflows in the dtype of X."""
    tiny, norms = least_norm(X.dtype), np.append(column_norms, y_norm)
    bad = ~(norms < math.sqrt(largest_of(X.dtype))) | ((norms > 0) & (norms < tiny))
    zero = np.flatnonzero(norms[: X.shape[1]] == 0)
    if getattr(X, "kind", "") != "operator":
        bad[zero] = np.asarray((X[:, zero] != 0).sum(axis=0)) > 0  # sparse X: stored entries only
    bad[-1] |= y_norm == 0 and bool(np.any(y != 0))
    if bad.any() or not np.isfinite(norms.max() * y_norm):
        where = "y" if bad[-1] else f"column {int(np.argmax(bad))} of X"
        raise ValueError(
            f"{where} has a norm whose square over- or underflows {X.dtype}. "
            "Scale X or y by a power of two; selections do not change"
        )


def measure_fields(design: DesignColumns, y: FloatArray, names: Names) -> dict[str, Any]:
    """Compute the fields of a problem with this design and y, whose data are exact up to rounding to eps."""
    design, y = design._replace(X=read_only(design.X)), read_only(y)
    X, d = design.X, design.d
    kind = "dense" if isinstance(X, np.ndarray) else getattr(X, "kind", "sparse")
    n, m = X.shape
    eps = eps_of(X.dtype)
    errors = ErrorModel(n, d, eps, eps if kind == "operator" else EPS)
    fields = {"design": design, "X": X, "y": y, "n": n, "n_features": m, "d": d, "dtype": X.dtype}
    fields |= {"kind": kind, "errors": errors, "names": names, "removed": np.zeros(0, np.intp)}
    return fields | measure_norms(design, y, names)


@np.errstate(over="ignore", invalid="ignore")  # `_check_range` refuses what overflows
def scale_fields(
    X: Any, y: FloatArray, root: FloatArray | None, intercept: bool, standardize: bool, names: Names
) -> dict[str, Any]:
    """Compute the fields of the problem of X and y after weighting and scaling, in the dtype of X.

    root : (n,) √weight in float64, by which the rows are multiplied; None without weights.
    standardize : whether the columns are divided by their standard deviations.
    """
    X, y, scale, ones = read_only(X), read_only(y), None, None
    if intercept or standardize:
        t = np.ones(len(y)) if root is None else root
        ones = t.astype(X.dtype) if intercept else None
        scale = unit_variance(X, t, intercept, root) if standardize else None
    is_multiplied, unrounded = root is not None or bool(standardize), None
    if X.dtype == np.float32 and not isinstance(X, Operator) and is_multiplied:
        unrounded = Unrounded(X, y, root, scale)
    if root is not None:
        root = root.astype(X.dtype)
        X, y = X.scale_rows(root) if isinstance(X, Operator) else scale_rows(X, root), y * root
    design = DesignColumns(X, ones, None if scale is None else scale.astype(X.dtype))
    return {**measure_fields(design, y, names), "is_multiplied": is_multiplied, "unrounded": unrounded}
