"""The five parts of a problem, and all that is read from them without making another problem."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin import validation
from sparselin.problem.design import DesignColumns, Unrounded, read_only, scale_rows
from sparselin.problem.errors import ErrorModel
from sparselin.problem.labels import align_columns
from sparselin.problem.memory import check_memory
from sparselin.problem.operators import Operator
from sparselin.problem.sizes import Sizes
from sparselin.results import FloatArray, IndexArray, SelectionPath
from sparselin.validation import Columns, Names


def _no_columns() -> IndexArray:
    return np.asarray(read_only(np.zeros(0, np.intp)))


@dataclasses.dataclass(frozen=True, eq=False)
class Precision:
    """The error bounds of the data of a problem, and more exact data if there are any.

    Attributes
    ----------
    errors : the bounds on rounding errors.
    is_multiplied : whether the data were rounded when they were multiplied by √weight, by scales, or by the
        reflectors of `compress`.
    better : data that are more exact, if there are any. The float32 data before their products with weights
        and scales were rounded; or, if the problem was projected from float32 data, the same problem
        projected in float64.
    """

    errors: ErrorModel
    is_multiplied: bool = False
    better: Unrounded | ProblemData | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Provenance:
    """The origin of the data of a problem.

    Attributes
    ----------
    kind : "dense"; "sparse"; "complex"; "operator"; or "gram": X is a Cholesky factor, and the squared
        lengths of its columns have relative errors of eps. Methods do not branch on the kind; everything that
        depends on the kind is a method of the problem.
    origin, removed : the problem from which columns were eliminated to get this one, or None; and these
        columns.
    compressed : the record of the pass of `compress` over the data, or None.
    """

    kind: str
    origin: ProblemData | None = None
    removed: IndexArray = dataclasses.field(default_factory=_no_columns)
    compressed: Compressed | None = None


@dataclasses.dataclass(frozen=True)
class Compressed:
    """The record of a pass by `compress`, which `Problem.compressed` holds.

    Attributes
    ----------
    rows, weight : the number of rows in the factor, those of weight 0 left out, and the sum of their weights.
    chunks, skipped : the number of chunks, and (number, reason) of each chunk left out by on_bad="skip".
    eps : the columnwise backward error. The factor is exact for data whose columns differ from the given ones
        by at most about eps of their lengths. Let N be the largest number of blocks, of at most p = 1024
        rows, that were added one after the other to one factor, and L the depth of the tree that merged
        factors (`sparselin.scale.factor`). For d features eps = 2⁻⁵²·(√(N + (d + 2)·p + L·(d + 2)²) + N/256).
        This formula assumes rounding errors that are independent and of mean zero, except for a small drift.
        The problem multiplies eps by 8 in its error bounds.
    worst_eps : the bound in the worst case, 8(d + 2)(N(p + 1) + L(d + 3))·2⁻⁵³.
    levels : the levels of each category in the order of their first appearance; the features are named
        "category=level".
    held_out : the `Problem` of the rows held out, or None.
    """

    rows: int
    weight: float
    chunks: int
    skipped: tuple[tuple[int, str], ...]
    eps: float
    worst_eps: float
    levels: dict[str, tuple[Any, ...]]
    held_out: ProblemData | None

    def held_out_r2(self, path: SelectionPath) -> FloatArray:
        """Return R² (t + 1,) of the first 0, …, t features of a path on the rows held out.

        Let Z and z be X and y on these rows, z̄ the mean of z, and β the coefficients on the first features.
        Then R² = 1 − ‖z − Zβ‖²/‖z − z̄‖², or without an intercept R² = 1 − ‖z − Zβ‖²/‖z‖². Raises ValueError
        if no rows were held out, or if z is constant (zero, without an intercept).
        """
        held = self.held_out
        if held is None:
            raise ValueError("no rows were held out: compress(..., held_out=10) holds out every tenth row")
        t = held.design.ones
        z = held.y
        centred = z if t is None else z - t * (t @ z) / (t @ t)
        total = float(centred @ centred)
        if total <= (held.unit * held.y_norm) ** 2:
            raise ValueError("y is constant on the rows held out, so R² is not defined: hold out more rows")
        X = held.X[:, path.support]
        errors = []
        for k in range(len(path) + 1):
            r = z - X[:, :k] @ path.coef_at(k)
            r = r if t is None else r - t * path.intercept_at(k)
            errors.append(float(r @ r))
        return np.asarray(1 - np.array(errors) / total)


def _part(path: str) -> Any:
    """Return a property of a problem that reads an attribute of one of its parts."""
    return property(operator.attrgetter(path))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Parts:
    """The five parts of a problem."""

    design: DesignColumns
    y: FloatArray
    sizes: Sizes
    precision: Precision
    provenance: Provenance


class ProblemData(_Parts):
    """The five parts of a problem, and the methods that read them."""

    X: Any = _part("design.X")  # the same matrix as `design.X`; kernels take it as an array
    n: int = _part("design.n")
    n_features: int = _part("design.n_features")
    d: int = _part("design.d")
    dtype: np.dtype[Any] = _part("design.dtype")
    names: Names = _part("design.names")
    labels: tuple[Hashable, ...] = _part("design.labels")
    column_norms: NDArray[Any] = _part("sizes.column_norms")
    y_norm: float = _part("sizes.y_norm")
    Xty: FloatArray = _part("sizes.Xty")
    errors: ErrorModel = _part("precision.errors")
    is_multiplied: bool = _part("precision.is_multiplied")
    kind: str = _part("provenance.kind")
    origin: ProblemData | None = _part("provenance.origin")
    removed: IndexArray = _part("provenance.removed")
    compressed: Compressed | None = _part("provenance.compressed")

    @property
    def eps(self) -> float:
        """The relative error of the data, in the length of a column or of y.

        It is the eps of `dtype`, or larger if the data were projected or compressed.
        """
        return self.errors.eps

    @property
    def unit(self) -> float:
        """The unit u = 8·eps of error bounds, see `ErrorModel.unit`."""
        return self.errors.unit

    @property
    def length_unit(self) -> float:
        """The unit of error bounds on lengths, see `ErrorModel.length_unit`."""
        return self.errors.length_unit

    def rounding(self, kappa: float = 1.0) -> float:
        """Return a bound on the rounding error of ⟨X_i, P_S^⊥y⟩, relative to ‖X_i‖‖y‖.

        kappa : a bound on the condition number of X_S with unit columns. See `ErrorModel.rounding`.
        """
        return self.errors.rounding(kappa)

    def correlation_error(self, kappa: float = 1.0) -> FloatArray:
        """Return rounding·‖X_i‖·‖y‖ (d,), the bounds on the rounding errors of the ⟨X_i, P_S^⊥y⟩."""
        return self.errors.rounding(kappa) * self.column_norms * self.y_norm

    def __repr__(self) -> str:
        return f"Problem({self.kind}, n={self.n}, d={self.d}, {self.dtype})"

    def indices(self, columns: Columns, argument: str, names: Names = None) -> IndexArray:
        """Convert distinct columns, given by index or by name, to indices in the same order.

        columns : a sequence of indices, names or both. A single index or name raises TypeError.
        argument : the name of the caller's argument, for error messages.
        names : the names of the columns, by default those of the problem.

        Raises ValueError for an unknown or repeated column.
        """
        return validation.check_indices(columns, self.n_features, argument, names or self.names, self.labels)

    def align(self, values: Any, argument: str) -> Any:
        """Return an argument with one entry for each column in the order of X; see `align_columns`."""
        return align_columns(values, self.labels or self.names or (), self.n_features, argument)

    def budget(self, k: int, forced: Columns) -> tuple[int, IndexArray]:
        """Check that 1 ≤ k ≤ n_features with at most k forced features. Return k and the forced indices."""
        return validation.check_budget(k, forced, self.n_features, self.names, self.labels)

    def with_ones(self, columns: IndexArray) -> IndexArray:
        """Put the index of the column of ones, if there is an intercept, before the given indices."""
        return np.concatenate([np.arange(self.n_features, self.d), columns])

    def unpenalized_columns(self, forced: Columns, alias: Columns | None = None) -> IndexArray:
        """Return the indices of the columns without penalty: the ones, if any, and those in `forced`.

        alias : the argument `unpenalized`, another name for `forced`; None if it was not passed.
        """
        if alias is None:
            S = self.indices(forced, "forced")
            return S if self.d == self.n_features else self.with_ones(S)
        if len(self.indices(forced, "forced")):
            raise ValueError("unpenalized is another name for forced. Pass only one of them")
        return self.with_ones(self.indices(alias, "unpenalized"))

    def in_units_of_data(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert coefficients (..., d) of the columns to the units of X.

        Returns the coefficients (..., n_features) of X and the intercepts (...).
        """
        m = self.n_features
        scale = self.design.scale
        inner = coef[..., :m] if scale is None else coef[..., :m] * scale
        return inner, coef[..., m] if self.d > m else np.zeros(coef.shape[:-1], coef.dtype)

    def correlate(self, r: FloatArray) -> FloatArray:
        """Return Xᵀr, (d,) for r (n,) and (d, m) for r (n, m)."""
        return self.design.correlate(r)

    def columns(self, J: ArrayLike) -> FloatArray:
        """Return X_J (n, |J|), dense and contiguous by column. Raises MemoryError if it is too large."""
        return self._dense(np.asarray(J, np.intp), self.block)

    def column(self, j: int) -> FloatArray:
        """Return column j (n,), for a copy: it may be a view of X. Raises MemoryError if it is too large."""
        return self.design.column(j) if isinstance(self.X, np.ndarray) else self.columns([j])[:, 0]

    def _dense(self, J: IndexArray, gather: Callable[[IndexArray], Any]) -> FloatArray:
        if not isinstance(self.X, np.ndarray):
            words = "columns of an operator" if self.kind == "operator" else "a dense copy of a sparse matrix"
            check_memory((self.n, len(J)), self.dtype, f"X ({words} here)")
        block = gather(J)
        return np.asfortranarray(block if isinstance(block, np.ndarray) else block.toarray())

    def exact_columns(self, J: ArrayLike | None = None) -> FloatArray | None:
        """Return X_J (n, |J|), or by default X, in float64 without rounding errors of the data.

        Returns None if only rounded data exist: a factor (Gram or compressed problem), or projected columns.
        """
        if self.kind == "gram" or self.is_rounded:
            return None
        whole = J is None and self.is_plain and isinstance(self.X, np.ndarray)
        if whole and not self.has_unrounded:
            return np.asarray(self.X, np.float64)
        return self._dense(np.arange(self.d) if J is None else np.asarray(J, np.intp), self.double_block)

    def block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|), sparse if X is sparse."""
        return self.design.block(J)

    def double_block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|), sparse if X is sparse, with weights and scales applied in float64."""
        better = self.precision.better
        if isinstance(better, ProblemData):
            return better.block(J)
        design = self.double_design
        inner = J[self.n_features > J]
        X = design.X[:, inner].astype(np.float64, copy=False)
        return design.complete(J, scale_rows(X, self.double_root))

    @property
    def double_design(self) -> DesignColumns:
        """The design whose column of ones and scales are in float64; its X has the dtype that was given.

        Unless `double_root` is None, the rows of its X must still be multiplied by `double_root`.
        """
        given, ones = self.precision.better, self.design.ones
        if isinstance(given, Unrounded):
            return DesignColumns(given.X, None if ones is None else given.ones(), given.scale)
        return DesignColumns(self.X, None if ones is None else ones.astype(np.float64), self.design.scale)

    @property
    def double_root(self) -> FloatArray | None:
        """√weight (n,) in float64 if the rows of `double_design.X` still need this factor, or None."""
        given = self.precision.better
        return given.root if isinstance(given, Unrounded) else None

    @property
    def double_y(self) -> FloatArray:
        """The response y (n,) in float64, multiplied by √weight in float64."""
        given = self.precision.better
        if isinstance(given, ProblemData):
            return given.y
        return self.y.astype(np.float64, copy=False) if given is None else given.response()

    def gram_columns(self, J: ArrayLike) -> FloatArray:
        """Return XᵀX_J (d, |J|), the columns J of the Gram matrix."""
        return self.correlate(self.columns(J))

    def predict(self, coef: FloatArray) -> FloatArray:
        """Return the fitted values X @ coef (n,) for coef (d,)."""
        return self.design.predict(coef)

    @property
    def has_columns(self) -> bool:
        """True if the columns of X are stored; False for an operator, where each column costs a product."""
        return not isinstance(self.X, Operator)

    @property
    def is_plain(self) -> bool:
        """True if the columns are those of X: there is no intercept, and they are not standardized."""
        return self.design.is_plain

    @property
    def has_unrounded(self) -> bool:
        """True if the data are float32 products, which were rounded, and the factors are stored."""
        return isinstance(self.precision.better, Unrounded)

    @property
    def is_rounded(self) -> bool:
        """True if X and y carry rounding errors, because they were projected or compressed."""
        return self.origin is not None or self.compressed is not None

    def weighted_rows(self) -> IndexArray:
        """Return the rows with a positive weight. Other rows are zero in y, X and the column of ones."""
        used = self.y != 0 if self.design.ones is None else self.design.ones != 0
        zero = np.flatnonzero(~used)
        used[zero] = np.asarray(abs(self.X[zero]).sum(axis=1)).ravel() > 0
        return np.flatnonzero(used)
