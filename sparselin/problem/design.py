"""The columns that methods see: the columns of X, perhaps scaled, and a column of ones for an intercept."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sparselin.problem.operators import Operator
from sparselin.problem.scales import unit_variance
from sparselin.results import Fit, FloatArray, IndexArray
from sparselin.validation import Names

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Matrix: TypeAlias = "FloatArray | csc_array | Operator"


@dataclasses.dataclass(frozen=True, eq=False)
class DesignColumns:
    """The columns that methods see: those of X (n, m), perhaps scaled, and a column of ones for an intercept.

    With scales, column j is scale_j·X_j for j < m. The column of ones, if there is one, has the index m. X is
    not copied. The column of ones is in every selected set S, so the projection P_S^⊥ centres every vector,
    and no centred copy of X is needed. With weights, the rows of X and of `ones` are multiplied by √weight.

    Attributes
    ----------
    X : (n, m), contiguous in C or Fortran order and read-only; or a CSC array, or an `Operator`.
    ones : (n,), or None if there is no intercept.
    scale : (m,), or None if the columns are not standardized.
    names : the m names of the columns of X, or None.
    labels : the labels of the columns of a frame, or the given names, or (). They are for the arguments of
        the caller only: a design that is made from this one has none.
    """

    X: Matrix
    ones: FloatArray | None = None
    scale: FloatArray | None = None
    names: Names = None
    labels: tuple[Hashable, ...] = ()

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number m of columns of X."""
        return int(self.X.shape[1])

    @property
    def d(self) -> int:
        """The number of columns, including the column of ones."""
        return int(self.X.shape[1]) + (self.ones is not None)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of X: float32 or float64."""
        return self.X.dtype

    @property
    def is_plain(self) -> bool:
        """True if the columns are those of X: there is no intercept, and they are not standardized."""
        return self.ones is None and self.scale is None

    def fit(self, positive: bool = False, by_length: bool = False) -> Fit:
        """Return the `Fit` of these columns: the properties of the columns that a result stores."""
        return Fit(
            n_features=self.X.shape[1],
            names=self.names,
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

    def column(self, j: int) -> FloatArray:
        """Return column j (n,) of a dense design, scaled; it may be a view of X."""
        if self.ones is not None and j == self.n_features:
            return self.ones
        X: Any = self.X
        return np.asarray(X[:, j] if self.scale is None else X[:, j] * self.scale[j])

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


def kind_of(X: Matrix) -> str:
    """Return the kind of a design: dense, sparse, or the kind of an operator."""
    return "dense" if isinstance(X, np.ndarray) else getattr(X, "kind", "sparse")


def read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written; other data are returned as they are.

    For Numba read-only arrays are another type. Callers give both, and the package writes to neither, so all
    kernels get the data of a problem as read-only arrays, and are compiled once.
    """
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
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


def scale_data(
    X: Matrix,
    y: FloatArray,
    root: FloatArray | None,
    intercept: bool,
    standardize: bool,
    names: Names,
    labels: tuple[Hashable, ...],
) -> tuple[DesignColumns, FloatArray, Unrounded | None]:
    """Return the design and the response after weighting and scaling, in the dtype of X.

    The third result holds the data before their products were rounded, if they are float32 and were
    multiplied.

    root : (n,) √weight in float64, by which the rows are multiplied; None without weights.
    standardize : whether the columns are divided by their standard deviations.
    names, labels : see `DesignColumns`.
    """
    X = read_only(X)
    y = read_only(y)
    if root is None and not (intercept or standardize):
        return DesignColumns(X, names=names, labels=labels), y, None
    with np.errstate(over="ignore", invalid="ignore"):  # `sizes.measure` refuses what overflows
        t = np.ones(len(y)) if root is None else root
        ones = t.astype(X.dtype) if intercept else None
        scale = unit_variance(X, t, intercept, root) if standardize else None
        unrounded = None
        if X.dtype == np.float32 and not isinstance(X, Operator) and (root is not None or standardize):
            unrounded = Unrounded(X=X, y=y, root=root, scale=scale)
        if root is not None:
            root = root.astype(X.dtype)
            X = X.scale_rows(root) if isinstance(X, Operator) else scale_rows(X, root)
            y = y * root
        scale = None if scale is None else scale.astype(X.dtype)
    return DesignColumns(read_only(X), ones, scale, names, labels), read_only(y), unrounded
