"""`Problem(X, y)`: the data, validated once, with the products, norms and error bounds that methods need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin import validation
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.design import (
    DesignColumns,
    Unrounded,
    measure_fields,
    scale_fields,
    scale_rows,
    unit_variance,
)
from sparselin.problem.errors import SAFETY, ErrorModel, GramErrors, eps_of
from sparselin.problem.gram import root_of_gram
from sparselin.problem.labels import align_columns, check_same_rows, check_square_labels
from sparselin.problem.memory import check_memory
from sparselin.problem.operators import Operator, is_operator
from sparselin.problem.support import refuse_complex
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import Columns, Names


class _Fields:
    """The fields of a `Problem`. The docstring of `Problem` explains them."""

    design: DesignColumns
    X: Any
    y: FloatArray
    n: int
    n_features: int
    d: int
    dtype: np.dtype[Any]
    kind: str
    errors: ErrorModel
    column_norms: NDArray[Any]
    y_norm: float
    Xty: FloatArray
    names: Names = None
    labels: tuple[Any, ...] = ()
    origin: Problem | None = None
    removed: IndexArray
    compressed: Any = None
    is_multiplied: bool = False
    unrounded: Unrounded | None = None
    double: Problem | None = None


class Problem(_Fields):
    """A design X (n, d) and a response y (n,), which are validated once and cannot be changed.

    Parameters
    ----------
    X : array (n, d), C or F order, float32 or float64 (kept); integers and booleans become float64. Or a
        SciPy sparse matrix (kept sparse; repeated entries are summed). Or a pandas or polars frame: columns
        are taken by position, and the labels are names. Other labels than strings are names by their texts,
        but the labels 0, 1, …, d − 1 are not. Or a SciPy `LinearOperator` with rmatvec, see below.
    y : array (n,), converted to the dtype of X.
    sample_weight : (n,) ≥ 0, not all zero, or None. Row i of X and y is multiplied by √weight_i, so that
        every squared residual is multiplied by its weight.
    intercept : whether an unpenalised column of ones is in every set S of selected features, from the start.
        Projecting off S then centres X and y, without a copy of X or y.
    standardize : whether each column is divided by its standard deviation, as by scikit-learn's
        StandardScaler and by glmnet. With weights w this is √(Σw_i z_ij²/Σw_i), z_j being the centred column.
        Without an intercept, z_j = X_j. λ refers to the standardized columns, but coefficients are in the
        units of X. A constant column is in the span of the intercept and is never selected.
    names : d different names of the columns, or a mapping or a Series from the labels of a frame to names. By
        default they are the labels of a frame.
        Labels may repeat; such columns can only be given by index.
    column_norms : (d,) the lengths of the columns of a LinearOperator, with a relative error of at most
        8·√eps. For `ols` they must be exact to rounding.

    A LinearOperator is used only through products with vectors. Its column norms take d products, unless
    `column_norms` gives them. Given norms are checked for the columns that are used. The products of the
    operator are assumed to be as accurate as sums of products: an error of eps in each entry of a product
    with a unit vector, and of 8·eps·√n·‖X_i‖‖r‖ in ⟨X_i, r⟩. Fast transforms whose columns have similar
    lengths have this accuracy. docs/data.md lists the functions that take an operator.

    Raises
    ------
    TypeError : an argument is not numeric (complex, strings, objects); a frame has both strings and other
        labels; `intercept` or `standardize` is not a bool.
    ValueError : wrong shape, no rows or columns, NaN or infinity, norms beyond the float range; repeated
        names, or a wrong number of names; weights that are negative or all zero; a pandas y or sample_weight
        that labels the rows of X in another order, or only some of them; an operator whose rmatvec is not its
        adjoint, or with `standardize`, or with both `sample_weight` and `column_norms`.

    X and y are not modified, and they are not copied unless a copy is needed. So do not change X in place
    afterwards, because its norms are stored. Without `standardize` the columns are not rescaled. If a theorem
    needs unit columns, pass unit columns.

    Attributes
    ----------
    X, y, dtype : the data; X is contiguous in C or Fortran order, or a CSC array.
    n, n_features : the shape of X.
    design, d : the columns that methods see (X stands for them below), and their number. d is n_features,
        plus one if there is an intercept, whose column of ones comes last.
    names : the n_features names, or None.
    origin, removed : the problem from which columns were eliminated to get this one, or None; and these
        columns.
    compressed : the record of the pass of `compress` over the data, or None.
    kind : "dense"; "sparse"; "complex"; "operator"; or "gram": X is a Cholesky factor, and the squared
        lengths of its columns have relative errors of eps. Methods do not branch on the kind; everything that
        depends on the kind is a method of the problem.
    is_multiplied : whether the data were rounded when they were multiplied by √weight, by scales, or by the
        reflectors of `compress`.
    unrounded : float32 data before their products with weights and scales were rounded, or None.
    errors : the bounds on rounding errors, an `ErrorModel`.
    labels : the labels of the columns of a frame, or the given names. They are for the arguments of the
        caller only: a problem that is made from this one has none.
    double : if this problem was projected from float32 data, the same problem projected in float64.
    column_norms, y_norm : ‖X_j‖ (d,) and ‖y‖.
    Xty : Xᵀy (d,).

    >>> problem = Problem([[3.0, 0.0], [4.0, 1.0]], [1.0, 2.0])
    >>> problem.correlate(problem.y), problem.column_norms
    (array([11.,  2.]), array([5., 1.]))
    """

    @suggest_names
    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        intercept: bool = False,
        standardize: bool = False,
        names: Iterable[str] | None = None,
        column_norms: ArrayLike | None = None,
    ) -> None:
        refuse_complex(X=X, y=y)
        intercept = validation.check_flag(intercept, "intercept")
        standardize = validation.check_flag(standardize, "standardize")
        found = validation.frame_names(X) if names is None else None
        labels = validation.frame_labels(X)
        check_same_rows(X, y, "y")
        check_same_rows(X, sample_weight, "sample_weight")
        if column_norms is not None and not (is_operator(X) and sample_weight is None):
            raise ValueError("column_norms are for a LinearOperator X without sample_weight. Leave them out")
        if not isinstance(X, Operator):  # complex data arrive as an Operator
            norms = align_columns(column_norms, (), X.shape[1], "column_norms") if is_operator(X) else None
            X = Operator(X, norms) if is_operator(X) else validation.check_design(X)
        y = validation.check_vector(y, "y", X.shape[0], X.dtype)
        if names is None:
            names = found
        else:
            names = align_columns(names, labels, X.shape[1], "names")
            names = labels = validation.check_names(names, X.shape[1])
        root = None
        if sample_weight is not None:
            root = np.sqrt(validation.check_weights(sample_weight, X.shape[0], np.dtype(np.float64)))
        if standardize and isinstance(X, Operator):
            raise ValueError("standardize needs the entries of X, which a LinearOperator does not have")
        fields = scale_fields(X, y, root, intercept, standardize, names=names)
        self.__dict__.update(fields, labels=labels)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Problem cannot be changed. Make a new one with another {name}")

    @classmethod
    def _of(cls, **fields: Any) -> Problem:
        """Make a problem with these fields, without any check."""
        problem = cls.__new__(cls)
        problem.__dict__.update(fields)
        return problem

    @classmethod
    def from_gram(cls, G: ArrayLike, Xty: ArrayLike, yty: float) -> Problem:
        """Make a problem from G = XᵀX (d, d), Xᵀy (d,) and yty = ‖y‖², without X and y.

        A Cholesky factor R of G (scaled to unit diagonal, with diagonal pivoting, which reveals the rank)
        replaces X, and R⁻ᵀXᵀy replaces y. This is possible because selections, coefficients, each λ and
        residual norms depend on X and y only through G, Xᵀy and ‖y‖². Vectors of sample space (dual points,
        residuals) are given in these coordinates. Xᵀy is stored as given, so that the first pick is the
        argmax of |Xᵀy|. Squared lengths from G have relative errors of eps. So the distance of a column to
        the span of other columns has errors of √eps, and errors are multiplied by κ(X)².

        Raises ValueError if G is not square, symmetric and positive semidefinite to rounding, if Xᵀy is not
        in the range of G, or if ‖y‖² is smaller than G and Xᵀy imply.

        >>> problem = Problem.from_gram([[4.0, 2.0], [2.0, 5.0]], [2.0, 1.0], 3.0)
        >>> problem.correlate(problem.y), round(float(problem.y_norm) ** 2, 12)
        (array([2., 1.]), 3.0)
        """
        check_square_labels(G, "G")
        gram = validation.check_design(G, "G")
        if not isinstance(gram, np.ndarray):
            check_memory(gram.shape, gram.dtype, "G")
            gram = gram.toarray()
        validation.check_finite(gram, "G")
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(f"G must be square, (d, d); got shape {gram.shape}")
        labels = validation.frame_labels(G)
        Xty = align_columns(Xty, labels, len(gram), "Xty")
        b = validation.check_vector(Xty, "Xty", len(gram), gram.dtype, "column")
        square = validation.check_real(yty, "yty")
        if square < 0:
            raise ValueError(f"yty = ‖y‖² must be nonnegative; got {square}")
        R, z, error = root_of_gram(gram, b, square)
        eps = max(eps_of(R.dtype), error / SAFETY)  # see `ErrorModel.unit`
        errors = GramErrors(R.shape[0], R.shape[1], eps, eps)
        names = validation.frame_names(G)
        names = None if names is None else validation.check_names(names, len(gram))
        fields = measure_fields(DesignColumns(R), z, names)
        return cls._of(**fields | {"kind": "gram", "errors": errors}, labels=labels)

    @classmethod
    def from_factor(
        cls, design: DesignColumns, y: FloatArray, growth: float, names: Names = None, record: Any = None
    ) -> Problem:
        """Make the problem of the triangular factor that `compress` computes from the rows of the data.

        design : the columns of the factor, with the transformed column of ones if there is an intercept, and
            the scales if the columns are standardized.
        y : the transformed response.
        growth : the factor is exact for data whose columns differ from the given columns by growth·eps of
            their lengths. So `growth` multiplies eps, and the error bounds of lengths and correlations.
        record : the record of the pass of `compress` over the data.
        """
        fields = measure_fields(design, y, names)
        fields["errors"] = fields["errors"].grow(growth)
        return cls._of(**fields, compressed=record, is_multiplied=True)

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
            return self.with_ones(self.indices(forced, "forced"))
        if len(self.indices(forced, "forced")):
            raise ValueError("unpenalized is another name for forced. Pass only one of them")
        return self.with_ones(self.indices(alias, "unpenalized"))

    def in_units_of_data(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert coefficients (..., d) of the columns to the units of X.

        Returns the coefficients (..., n_features) of X and the intercepts (...).
        """
        m, scale = self.n_features, self.design.scale
        inner = coef[..., :m] if scale is None else coef[..., :m] * scale
        return inner, coef[..., m] if self.d > m else np.zeros(coef.shape[:-1], coef.dtype)

    def correlate(self, r: FloatArray) -> FloatArray:
        """Return Xᵀr, (d,) for r (n,) and (d, m) for r (n, m)."""
        return self.design.correlate(r)

    def columns(self, J: ArrayLike) -> FloatArray:
        """Return X_J (n, |J|), dense and contiguous by column. Raises MemoryError if it is too large."""
        return self._dense(np.asarray(J, np.intp), self.block)

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
        if whole and self.unrounded is None:
            return np.asarray(self.X, np.float64)
        return self._dense(np.arange(self.d) if J is None else np.asarray(J, np.intp), self.double_block)

    def block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|), sparse if X is sparse."""
        return self.design.block(J)

    def double_block(self, J: IndexArray) -> Any:
        """Return X_J (n, |J|), sparse if X is sparse, with weights and scales applied in float64."""
        if self.double is not None:
            return self.double.block(J)
        design, inner = self.double_design, J[self.n_features > J]
        X = design.X[:, inner].astype(np.float64, copy=False)
        return design.complete(J, scale_rows(X, self.double_root))

    @property
    def double_design(self) -> DesignColumns:
        """The design whose column of ones and scales are in float64; its X has the dtype that was given.

        Unless `double_root` is None, the rows of its X must still be multiplied by `double_root`.
        """
        X, ones, scale = self.design
        given = self.unrounded
        if given is not None:
            return DesignColumns(given.X, None if ones is None else given.ones(), given.scale)
        return DesignColumns(X, None if ones is None else ones.astype(np.float64), scale)

    @property
    def double_root(self) -> FloatArray | None:
        """√weight (n,) in float64 if the rows of `double_design.X` still need this factor, or None."""
        return None if self.unrounded is None else self.unrounded.root

    @property
    def double_y(self) -> FloatArray:
        """The response y (n,) in float64, multiplied by √weight in float64."""
        given = self.unrounded
        if self.double is not None:
            return self.double.y
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
        return self.design.ones is None and self.design.scale is None

    @property
    def is_rounded(self) -> bool:
        """True if X and y carry rounding errors, because they were projected or compressed."""
        return self.origin is not None or self.compressed is not None

    def in_double(self) -> Problem:
        """Return this problem with its data in float64; its eps is `errors.double_eps`."""
        if self.dtype == np.float64:
            return self
        if self.double is not None:
            return self.double
        X, ones, scale = self.double_design
        design = DesignColumns(scale_rows(X.astype(np.float64), self.double_root), ones, scale)
        return self._with(design, self.double_y, origin=self.origin, errors=self.errors.in_double())

    def without_scales(self) -> Problem:
        """Return this problem in float64, with columns that are not standardized."""
        double = self.in_double()
        design = double.design._replace(scale=None)
        return double if double.design.scale is None else double._with(design, double.y, origin=double.origin)

    def with_labels(self, labels: tuple[Any, ...]) -> Problem:
        """Return this problem with the labels of the columns of a frame."""
        return self._of(**self.__dict__ | {"labels": labels})

    def by_position(self) -> Problem:
        """Return this problem without labels, for calls with positions, which no caller meant as labels."""
        return self.with_labels(()) if self.labels else self

    def to_plain(self) -> Problem:
        """Return this problem without intercept and scales, so that its columns are those of X."""
        return self._with(DesignColumns(self.X), self.y)

    def with_design(self, design: DesignColumns) -> Problem:
        """Return this problem in float64 with a design whose columns become float64 only when needed."""
        norms, y, errors = self.column_norms.astype(np.float64), self.double_y, self.errors.in_double()
        fields = {"design": design, "y": y, "dtype": y.dtype, "column_norms": norms, "errors": errors}
        return self._of(**self.__dict__ | fields | {"unrounded": None})

    def with_response(self, y: FloatArray) -> Problem:
        """Return the problem of the same columns and another response y (n,), multiplied by √weight."""
        return self._with(self.design, y)

    def of_columns(self, J: IndexArray) -> Problem:
        """Return the problem of the columns J and y, in float64 if weights or scales rounded the columns."""
        if self.unrounded is not None:
            return self.in_double().of_columns(J)
        origin, removed = self.origin, self.removed
        if origin is not None:
            origin = origin.of_columns(np.append(J, removed))
            removed = np.arange(len(J), len(J) + len(removed))
        return self._with(DesignColumns(self.block(J)), self.y, origin=origin, removed=removed)

    def of_rows(self, rows: IndexArray) -> Problem:
        """Return the problem of these rows with their weights.

        If the columns are standardized, they are standardized again on these rows, unless all weights of the
        rows are zero. Without an intercept this is done up to a common factor.

        Raises TypeError for a Gram problem and for a compressed problem.
        """
        if self.kind == "gram" or self.compressed is not None:
            which = "Gram" if self.kind == "gram" else "compressed"
            raise TypeError(f"rows of X are needed, and a {which} problem does not have them. Pass X and y")
        if self.unrounded is not None:
            X, y, root, scale = self.unrounded
            root = None if root is None else root[rows]
            standardize = scale is not None and (root is None or bool(root.any()))
            fields = scale_fields(
                X[rows], y[rows], root, self.design.ones is not None, standardize, self.names
            )
            return self._of(**fields | {"removed": self.removed})
        X, ones, scale = self.design
        X, ones = X[rows], None if ones is None else ones[rows]
        t = np.ones(len(rows)) if ones is None else ones.astype(np.float64)
        if scale is not None and t.any():
            scale = unit_variance(X, t, ones is not None).astype(self.dtype)
        return self._with(DesignColumns(X, ones, scale), self.y[rows])

    def weighted_rows(self) -> IndexArray:
        """Return the rows with a positive weight. Other rows are zero in y, X and the column of ones."""
        used = self.y != 0 if self.design.ones is None else self.design.ones != 0
        zero = np.flatnonzero(~used)
        used[zero] = np.asarray(abs(self.X[zero]).sum(axis=1)).ravel() > 0
        return np.flatnonzero(used)

    def of_projections(
        self, X: FloatArray, y: FloatArray, removed: IndexArray, growth: float, double: Problem | None = None
    ) -> Problem:
        """Make the problem of X and y, the data of this problem after projection off the `removed` columns.

        growth : the factor by which the projection increases eps.
        double : the same problem in float64, projected before it is rounded to float32.
        """
        errors = self.errors.grow(growth)
        return self._with(DesignColumns(X), y, origin=self, removed=removed, errors=errors, double=double)

    def _with(self, design: DesignColumns, y: FloatArray, **changes: Any) -> Problem:
        """Make a problem of `design` and y with the other fields of this problem.

        changes : fields that replace those of this problem. `origin` is None unless it is among them.
        """
        names = self.names if design.X.shape[1] == self.n_features else None
        kept = ("kind", "errors", "removed", "compressed", "is_multiplied")
        known = {name: getattr(self, name) for name in kept}
        fields = measure_fields(design, y, names) | known | changes
        errors = dataclasses.replace(fields["errors"], n=len(y), d=design.d)
        return self._of(**fields | {"errors": errors})
