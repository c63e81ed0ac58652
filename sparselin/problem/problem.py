"""`Problem(X, y)`: the data, validated once, with the products, norms and error bounds that methods need."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin import validation
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.data import Compressed, Precision, ProblemData, Provenance
from sparselin.problem.design import (
    DesignColumns,
    Matrix,
    Unrounded,
    kind_of,
    read_only,
    scale_data,
    scale_rows,
)
from sparselin.problem.errors import EPS, SAFETY, ErrorModel, GramErrors, eps_of
from sparselin.problem.gram import root_of_gram
from sparselin.problem.labels import align_columns, check_same_rows, check_square_labels
from sparselin.problem.memory import check_memory
from sparselin.problem.operators import Operator, is_operator
from sparselin.problem.scales import unit_variance
from sparselin.problem.sizes import Sizes, measure
from sparselin.problem.support import refuse_complex
from sparselin.results import FloatArray, IndexArray


class Problem(ProblemData):
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

    A problem is a value of five parts, and a variant of it is a new value of parts:

    design : the columns that methods see, their names and labels (`DesignColumns`).
    y : the response, of the dtype of X.
    sizes : the lengths ‖X_j‖ and ‖y‖, and Xᵀy (`Sizes`).
    precision : the error bounds, and more exact data if there are any (`Precision`).
    provenance : the kind of the data, and the problem from which they were made (`Provenance`).

    The attributes of the parts are attributes of the problem. n and n_features are the shape of X. d is
    n_features, plus one if there is an intercept, whose column of ones comes last. Below, X stands for all d
    columns.

    >>> problem = Problem([[3.0, 0.0], [4.0, 1.0]], [1.0, 2.0])
    >>> problem.correlate(problem.y), problem.column_norms
    (array([11.,  2.]), array([5., 1.]))
    """

    origin: Problem | None

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
        intercept = validation.check_flag(intercept, "intercept")
        standardize = validation.check_flag(standardize, "standardize")
        if column_norms is not None and not (is_operator(X) and sample_weight is None):
            raise ValueError("column_norms are for a LinearOperator X without sample_weight. Leave them out")
        labels: tuple[Hashable, ...] = ()
        found: validation.Names = None
        if not validation.need_no_conversion(X, y):
            refuse_complex(X=X, y=y)
            labels = validation.frame_labels(X)
            found = validation.frame_names(X) if names is None else None
            check_same_rows(X, y, "y")
            if sample_weight is not None:
                check_same_rows(X, sample_weight, "sample_weight")
            if is_operator(X):
                X = Operator(X, align_columns(column_norms, (), X.shape[1], "column_norms"))
            elif not isinstance(X, Operator):  # complex data arrive as an Operator
                X = validation.check_design(X)
            y = validation.check_vector(y, "y", X.shape[0], X.dtype)
        if names is not None:
            found = validation.check_names(align_columns(names, labels, X.shape[1], "names"), X.shape[1])
            labels = found
        root = None
        if sample_weight is not None:
            root = np.sqrt(validation.check_weights(sample_weight, X.shape[0], np.dtype(np.float64)))
        if standardize and isinstance(X, Operator):
            raise ValueError("standardize needs the entries of X, which a LinearOperator does not have")
        design, y, unrounded = scale_data(X, np.asarray(y), root, intercept, standardize, found, labels)
        super().__init__(
            design=design,
            y=y,
            sizes=measure(design, y),
            precision=_exact(design, root is not None or standardize, unrounded),
            provenance=_provenance_of(kind_of(X)),
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Problem cannot be changed. Make a new one with another {name}")

    @classmethod
    def _of(
        cls, design: DesignColumns, y: FloatArray, sizes: Sizes, precision: Precision, provenance: Provenance
    ) -> Problem:
        """Make the problem of these parts, without any check."""
        problem = cls.__new__(cls)
        ProblemData.__init__(
            problem, design=design, y=y, sizes=sizes, precision=precision, provenance=provenance
        )
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
        names = validation.frame_names(G)
        names = None if names is None else validation.check_names(names, len(gram))
        design = DesignColumns(read_only(R), names=names, labels=labels)
        y = read_only(z)
        return cls._of(
            design=design,
            y=y,
            sizes=measure(design, y),
            precision=Precision(GramErrors(R.shape[0], R.shape[1], eps, eps)),
            provenance=Provenance("gram"),
        )

    @classmethod
    def from_factor(
        cls, design: DesignColumns, y: FloatArray, growth: float, record: Compressed | None = None
    ) -> Problem:
        """Make the problem of the triangular factor that `compress` computes from the rows of the data.

        design : the columns of the factor and their names, with the transformed column of ones if there is an
            intercept, and the scales if the columns are standardized.
        y : the transformed response.
        growth : the factor is exact for data whose columns differ from the given columns by growth·eps of
            their lengths. So `growth` multiplies eps, and the error bounds of lengths and correlations.
        record : the record of the pass of `compress` over the data.
        """
        design = dataclasses.replace(design, X=read_only(design.X))
        y = read_only(y)
        return cls._of(
            design=design,
            y=y,
            sizes=measure(design, y),
            precision=Precision(_exact(design).errors.grow(growth), is_multiplied=True),
            provenance=Provenance(kind_of(design.X), compressed=record),
        )

    def in_double(self) -> Problem:
        """Return this problem with its data in float64; its eps is `errors.double_eps`."""
        if self.dtype == np.float64:
            return self
        if isinstance(self.precision.better, Problem):
            return self.precision.better
        given = self.double_design
        X = scale_rows(given.X.astype(np.float64), self.double_root)
        design = dataclasses.replace(given, X=X)
        return self._with(design, self.double_y, origin=self.origin, errors=self.errors.in_double())

    def without_scales(self) -> Problem:
        """Return this problem in float64, with columns that are not standardized."""
        double = self.in_double()
        if double.design.scale is None:
            return double
        return double._with(dataclasses.replace(double.design, scale=None), double.y, origin=double.origin)

    def with_labels(self, labels: tuple[Hashable, ...]) -> Problem:
        """Return this problem with the labels of the columns of a frame."""
        return self._of(
            design=dataclasses.replace(self.design, labels=labels),
            y=self.y,
            sizes=self.sizes,
            precision=self.precision,
            provenance=self.provenance,
        )

    def by_position(self) -> Problem:
        """Return this problem without labels, for calls with positions, which no caller meant as labels."""
        return self.with_labels(()) if self.labels else self

    def to_plain(self) -> Problem:
        """Return this problem without intercept and scales, so that its columns are those of X."""
        return self._with(DesignColumns(self.X), self.y)

    def with_design(self, design: DesignColumns) -> Problem:
        """Return this problem in float64 with a design whose columns become float64 only when needed."""
        better = self.precision.better
        return self._of(
            design=design,
            y=self.double_y,
            sizes=dataclasses.replace(self.sizes, column_norms=self.column_norms.astype(np.float64)),
            precision=Precision(
                errors=self.errors.in_double(),
                is_multiplied=self.is_multiplied,
                better=better if isinstance(better, Problem) else None,
            ),
            provenance=self.provenance,
        )

    def with_response(self, y: FloatArray) -> Problem:
        """Return the problem of the same columns and another response y (n,), multiplied by √weight."""
        return self._with(self.design, y)

    def of_columns(self, J: IndexArray) -> Problem:
        """Return the problem of the columns J and y, in float64 if weights or scales rounded the columns."""
        if self.has_unrounded:
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
        design = self.design
        given = self.precision.better
        if isinstance(given, Unrounded):
            root = None if given.root is None else given.root[rows]
            return self._of_rounded_rows(given.X[rows], given.y[rows], root, given.scale is not None)
        X = self.X[rows]
        ones = None if design.ones is None else design.ones[rows]
        t = np.ones(len(rows)) if ones is None else ones.astype(np.float64)
        scale = design.scale
        if scale is not None and t.any():
            scale = unit_variance(X, t, ones is not None).astype(self.dtype)
        return self._with(DesignColumns(X, ones, scale), self.y[rows])

    def _of_rounded_rows(
        self, X: Matrix, y: FloatArray, root: FloatArray | None, standardize: bool
    ) -> Problem:
        """Return the problem of rows of the float32 data before their products were rounded."""
        standardize = standardize and (root is None or bool(root.any()))
        with_intercept = self.design.ones is not None
        design, y, unrounded = scale_data(X, y, root, with_intercept, standardize, self.names, ())
        return self._of(
            design=design,
            y=y,
            sizes=measure(design, y),
            precision=_exact(design, root is not None or standardize, unrounded),
            provenance=Provenance(kind_of(X), removed=self.removed),
        )

    def of_projections(
        self, X: FloatArray, y: FloatArray, removed: IndexArray, growth: float, double: Problem | None = None
    ) -> Problem:
        """Make the problem of X and y, the data of this problem after projection off the `removed` columns.

        growth : the factor by which the projection increases eps.
        double : the same problem in float64, projected before it is rounded to float32.
        """
        errors = self.errors.grow(growth)
        return self._with(DesignColumns(X), y, origin=self, removed=removed, errors=errors, better=double)

    def _with(
        self,
        design: DesignColumns,
        y: FloatArray,
        *,
        origin: Problem | None = None,
        removed: IndexArray | None = None,
        errors: ErrorModel | None = None,
        better: Problem | None = None,
    ) -> Problem:
        """Make the problem of `design` and y, whose other parts are those of this problem, or are given."""
        names = self.names if design.n_features == self.n_features else None
        design = dataclasses.replace(design, X=read_only(design.X), names=names, labels=())
        y = read_only(y)
        errors = dataclasses.replace(errors or self.errors, n=len(y), d=design.d)
        removed = self.removed if removed is None else removed
        return self._of(
            design=design,
            y=y,
            sizes=measure(design, y),
            precision=Precision(errors=errors, is_multiplied=self.is_multiplied, better=better),
            provenance=dataclasses.replace(self.provenance, origin=origin, removed=removed),
        )


def _exact(design: DesignColumns, is_multiplied: bool = False, better: Unrounded | None = None) -> Precision:
    """Return the precision of data that are exact up to rounding to the eps of their dtype."""
    n, m = design.X.shape
    by_products = kind_of(design.X) == "operator"
    errors = _exact_errors(n, m + (design.ones is not None), eps_of(design.dtype), by_products)
    return Precision(errors, is_multiplied, better)


# Values that cannot be changed, and so are made once: this saves a tenth of the time of a small `Problem`.


@functools.lru_cache(maxsize=64)
def _exact_errors(n: int, d: int, eps: float, by_products: bool) -> ErrorModel:
    return ErrorModel(n, d, eps, eps if by_products else EPS)


@functools.cache
def _provenance_of(kind: str) -> Provenance:
    return Provenance(kind)
