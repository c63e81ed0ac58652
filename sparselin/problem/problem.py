"""`Problem(X, y)`: the data, validated once, with the products, norms and error bounds that methods need."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import moments
from sparselin.parallel.threads import spread, workers
from sparselin.problem.design import DesignColumns, Unrounded, unit_variance, weighted
from sparselin.problem.gram import root_of_gram
from sparselin.problem.memory import check_memory
from sparselin.problem.operators import Operator, is_operator
from sparselin.problem.rounding import ErrorBounds, check_range
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import (
    Columns,
    Names,
    check_budget,
    check_design,
    check_finite,
    check_indices,
    check_names,
    check_real,
    check_same_rows,
    check_vector,
    check_weights,
    frame_names,
    frame_numbers,
)


class Problem(ErrorBounds):
    """A design X (n, d) and a response y (n,), validated once, and frozen.

    Parameters
    ----------
    X : array (n, d), C or F order, float32 or float64 (kept); integers and booleans become float64;
        or a SciPy sparse matrix (kept sparse; repeated entries are summed), or a pandas or polars frame
        (columns by position; names are its labels if all are strings, and integer labels are no names); or a
        SciPy `LinearOperator` with rmatvec, see below.
    y : array (n,), converted to the dtype of X.
    sample_weight : (n,) ≥ 0, not all zero, or None. Row i of X and y is multiplied by √weight_i, so that
        every squared residual is.
    intercept : whether an unpenalised column of ones is in every S from the start. P_S^⊥ then centres X and
        y; neither is copied for it.
    standardize : whether the columns count divided by their standard deviations (by their root mean squares
        without an intercept; with weights √(Σw_i z_ij²/Σw_i), z the centred columns), as scikit-learn's
        StandardScaler and glmnet do. λ's are then those of the standardized columns; coefficients are in the
        units of X. A constant column, in the span of the intercept, is never selected.
    names : d different names of the columns; by default those of a frame, if they are strings, of which some
        may repeat: such columns go by index.
    column_norms : (d,) the lengths of the columns of a LinearOperator, to a relative 8·√eps; for `ols`, which
        compares columns by them, to full precision.

    An operator is used by its products with vectors. Its column norms take d of them, unless they are given
    (those of the columns that are used are checked). Its products are taken to be as accurate as sums of
    products are: those with unit vectors to eps of each entry, and ⟨X_i, r⟩ to 8·eps·√n·‖X_i‖‖r‖, as by fast
    transforms whose columns are of similar lengths. `omp`, `ols`, `sequential_lasso`, `first_entry`,
    `lambda_star`, `lasso_path` and `project_dual` take one; there is no `standardize`.

    Raises
    ------
    TypeError : an argument is not numeric (complex, strings, objects); a frame with strings among its labels
        and others.
    ValueError : wrong shape, no rows or columns, NaN or infinity, norms beyond the float range; repeated
        names, or a wrong number of them; weights negative or all zero; a pandas y or sample_weight that
        labels the rows of X in another order, or only some of them; an operator whose rmatvec is not its
        adjoint, with `standardize`, or with both `sample_weight` and `column_norms`.

    Neither X nor y is modified or, if avoidable, copied: do not change X in place afterwards, since
    its norms are stored. Without `standardize` nothing is rescaled: use unit columns where a statement needs
    them.

    Attributes
    ----------
    X, y, dtype, eps : the data; X contiguous in C or Fortran order, or a CSC array; eps of dtype, or a larger
        one, if they were projected or compressed: the relative error with which their lengths are known.
    n, n_features : the shape of X.
    design, d : the columns that methods see, and their number: n_features, and one more for an intercept,
        which comes last; in the attributes and methods below X stands for them.
    names : n_features names, or None.
    origin, removed : the problem from which columns were eliminated to get this one, or None, and which.
    compressed : what `compress` recorded of its pass over the data, or None.
    kind : "dense"; "sparse"; "complex"; "operator"; or "gram": X is a Cholesky factor, and the squared
        lengths of its columns are known to eps. Methods do not branch on it: what depends on it is a method
        of the problem.
    is_multiplied : whether the data are products with √weight or scales, which were rounded.
    unrounded : the data before weights and scales rounded them to float32; None for all other data.
    column_norms, y_norm : ‖X_j‖ (d,) and ‖y‖.
    Xty : Xᵀy (d,).

    >>> problem = Problem([[3.0, 0.0], [4.0, 1.0]], [1.0, 2.0])
    >>> problem.correlate(problem.y), problem.column_norms
    (array([11.,  2.]), array([5., 1.]))
    """

    _numbers: tuple[int, ...] = ()  # see `check_indices`
    unrounded: Unrounded | None = None
    is_multiplied = False
    _double: Problem | None = None  # in float64, of float32 data that were projected

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
        self.origin: Problem | None = None
        self.removed: IndexArray = np.zeros(0, np.intp)
        self.compressed: Any = None
        labels, numbers = (frame_names(X), frame_numbers(X)) if names is None else (None, ())
        check_same_rows(X, y, "y")
        check_same_rows(X, sample_weight, "sample_weight")
        if column_norms is not None and not (is_operator(X) and sample_weight is None):
            raise ValueError("column_norms are for a LinearOperator X without sample_weight: leave them out")
        if not isinstance(X, Operator):  # as complex data are
            X = Operator(X, column_norms) if is_operator(X) else check_design(X)
        y = check_vector(y, "y", X.shape[0], X.dtype)
        self.names = labels if names is None else check_names(names, X.shape[1])
        self._numbers = numbers
        root = None
        if sample_weight is not None:
            root = np.sqrt(check_weights(sample_weight, X.shape[0], np.dtype(np.float64)))
        if standardize and isinstance(X, Operator):
            raise ValueError("standardize needs the entries of X, which a LinearOperator does not have")
        self._scaled(X, y, root, bool(intercept), standardize)

    def _scaled(
        self, X: Any, y: FloatArray, root: FloatArray | None, intercept: bool, standardize: bool
    ) -> None:
        """Set the design of X and y, rows multiplied by `root`, (n,) in float64, in the dtype of X."""
        t = np.ones(len(y)) if root is None else root
        self.is_multiplied = root is not None or bool(standardize)
        scale = unit_variance(X, t, intercept, root) if standardize else None
        if X.dtype == np.float32 and not isinstance(X, Operator) and (root is not None or standardize):
            self.unrounded = Unrounded(X, y, root, scale)
        if root is not None:
            root = root.astype(X.dtype)
            X, y = X.weighted(root) if isinstance(X, Operator) else weighted(X, root), y * root
        ones = t.astype(X.dtype) if intercept else None
        self._set(DesignColumns(X, ones, None if scale is None else scale.astype(X.dtype)), y)

    def _set(self, design: DesignColumns, y: FloatArray) -> None:
        X = design.X
        self.design, self.X, self.y = design, X, y
        self.n, self.n_features = X.shape
        self.d = design.d
        self.dtype = X.dtype
        self.eps = float(np.finfo(X.dtype).eps)
        self.kind = "dense" if isinstance(X, np.ndarray) else getattr(X, "kind", "sparse")
        self._measure()
        check_range(X, y, self.column_norms, self.y_norm)

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) and not name.startswith("_"):
            raise AttributeError(f"a Problem is frozen: make another one to change its {name}")
        super().__setattr__(name, value)

    @classmethod
    def from_gram(cls, G: ArrayLike, Xty: ArrayLike, yty: float) -> Problem:
        """The problem known only through G = XᵀX (d, d), Xᵀy (d,) and ‖y‖².

        A Cholesky factor R of G (scaled to unit diagonal, with diagonal pivoting, rank revealed) replaces X,
        and R⁻ᵀXᵀy replaces y: selections, coefficients, λ's and residual norms depend on X and y only
        through G, Xᵀy and ‖y‖². Vectors of sample space (dual points, residuals) are then
        given in these coordinates. Xᵀy is kept as given, so that the first pick is the argmax of |Xᵀy|. G
        knows squared lengths to eps: distances to the span of other columns are known only to √eps, and κ(X)²
        multiplies the errors.

        Raises ValueError when G is not square, symmetric and positive semidefinite to rounding, when Xᵀy
        is not in its range, or when ‖y‖² is smaller than G and Xᵀy imply.

        >>> problem = Problem.from_gram([[4.0, 2.0], [2.0, 5.0]], [2.0, 1.0], 3.0)
        >>> problem.correlate(problem.y), round(float(problem.y_norm) ** 2, 12)
        (array([2., 1.]), 3.0)
        """
        gram = check_design(G, "G")
        if not isinstance(gram, np.ndarray):
            check_memory(gram.shape, gram.dtype, "G")
            gram = gram.toarray()
        check_finite(gram, "G")
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(f"G must be square, (d, d); got shape {gram.shape}")
        b = check_vector(Xty, "Xty", len(gram), gram.dtype)
        square = check_real(yty, "yty")
        if square < 0:
            raise ValueError(f"yty = ‖y‖² must be nonnegative; got {square}")
        R, z, error = root_of_gram(gram, b, square)
        problem = cls(R, z, names=frame_names(G))
        vars(problem).update(kind="gram", eps=max(problem.eps, error / 8))  # see `unit`
        problem._numbers = frame_numbers(G)
        return problem

    @classmethod
    def from_factor(
        cls,
        design: DesignColumns,
        y: FloatArray,
        growth: float,
        names: Names = None,
        record: Any = None,
    ) -> Problem:
        """The problem whose rows are those of the triangular factor of the data, as `compress` makes it.

        design : its columns, with what the ones of an intercept became, and the scale of standardized ones.
        growth : the factor is exact for data whose columns differ from the given ones by growth·eps of their
            lengths. eps grows by it, and with eps the bounds on errors: of lengths e_ρ (`length_unit`·s), of
            correlations e_c (`correlation_error`, `measured_error`).
        """
        problem: Problem = object.__new__(cls)
        problem.origin, problem.removed = None, np.zeros(0, np.intp)
        problem.compressed, problem.names = record, names
        problem._set(design, y)
        vars(problem)["eps"] = growth * problem.eps
        return problem

    def _measure(self) -> None:
        """‖X_j‖ and ⟨X_j, y⟩ in one pass, which also shows whether X is finite."""
        X, y, ones, scale, m = self.X, self.y, self.design.ones, self.design.scale, self.n_features
        squares, products = np.empty(self.d), np.empty(self.d)
        if isinstance(X, np.ndarray):
            by_rows = bool(X.flags.c_contiguous)
            measure = moments.by_rows if by_rows else moments.by_columns
            data = X if by_rows else X.T
            with workers(4 * self.n * m) as count:
                spread(lambda a, b: measure(data, y, squares, products, a, b), m, count)
            if not np.isfinite(squares[:m]).all():
                check_finite(X, "X", self.names)
        else:
            products[:m] = X.T @ y
            squares[:m] = X.lengths**2 if isinstance(X, Operator) else X.multiply(X).sum(axis=0)
        if ones is not None:
            squares[m], products[m] = ones @ ones, ones @ y
        with np.errstate(over="ignore"):
            norms = np.sqrt(squares)
            if scale is not None:
                norms[:m] *= scale
                products[:m] *= scale
            self.column_norms = norms.astype(self.dtype, copy=False)
            self.Xty = products.astype(self.dtype, copy=False)
            double = np.asarray(y, np.float64)
            square = float(double @ double)
            self.y_norm = math.sqrt(square) if square <= np.finfo(self.dtype).max else math.inf

    def __repr__(self) -> str:
        return f"Problem({self.kind}, n={self.n}, d={self.d}, {self.dtype})"

    def indices(self, columns: Columns, argument: str, names: Names = None) -> IndexArray:
        """The columns of an argument, given by indices or `names`, by default those of X, as indices."""
        return check_indices(columns, self.n_features, argument, names or self.names, self._numbers)

    def budget(self, k: int, forced: Columns) -> tuple[int, IndexArray]:
        """k, 1 ≤ k ≤ n_features, and the forced features, at most k, as indices."""
        return check_budget(k, forced, self.n_features, self.names, self._numbers)

    def with_ones(self, columns: IndexArray) -> IndexArray:
        """The column of ones, if there is an intercept, and then the given ones."""
        return np.concatenate([np.arange(self.n_features, self.d), columns])

    def unpenalized(self, forced: Columns, alias: Columns | None = None) -> IndexArray:
        """S, given as `forced` or by its alias `unpenalized`, after the column of ones if there is one."""
        if alias is None:
            return self.with_ones(self.indices(forced, "forced"))
        if len(self.indices(forced, "forced")):
            raise ValueError("unpenalized is another name for forced: pass one of them")
        return self.with_ones(self.indices(alias, "unpenalized"))

    def in_units_of_data(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (..., d) of the columns → those of X (..., n_features), and the intercepts (...)."""
        m, scale = self.n_features, self.design.scale
        inner = coef[..., :m] if scale is None else coef[..., :m] * scale
        return inner, coef[..., m] if self.d > m else np.zeros(coef.shape[:-1], coef.dtype)

    def correlate(self, r: FloatArray) -> FloatArray:
        """Xᵀr, (d,) for r (n,) and (d, m) for r (n, m)."""
        return self.design.correlate(r)

    def columns(self, J: ArrayLike) -> FloatArray:
        """X_J (n, |J|), dense and contiguous by column. MemoryError if X is sparse and X_J too large."""
        return self._dense(np.asarray(J, np.intp), self.block)

    def double_columns(self, J: ArrayLike) -> FloatArray:
        """X_J (n, |J|) in float64, not rounded to float32 by weights or scales; dense, like `columns`."""
        return self._dense(np.asarray(J, np.intp), self.double_block)

    def _dense(self, J: IndexArray, gather: Callable[[IndexArray], Any]) -> FloatArray:
        if not isinstance(self.X, np.ndarray):
            words = (
                "an operator, its columns gathered" if self.kind == "operator" else "sparse, but made dense"
            )
            check_memory((self.n, len(J)), self.dtype, f"X ({words} here)")
        block = gather(J)
        return np.asfortranarray(block if isinstance(block, np.ndarray) else block.toarray())

    def exact_columns(self, J: ArrayLike | None = None) -> FloatArray | None:
        """X_J (n, |J|), or X, in float64, exactly; None where X is rounded: a factor, or projected."""
        if self._is_gram or self.is_rounded:
            return None
        whole = J is None and self.is_plain and isinstance(self.X, np.ndarray)
        if whole and self.unrounded is None:
            return np.asarray(self.X, np.float64)
        return self.double_columns(np.arange(self.d) if J is None else J)

    def block(self, J: IndexArray) -> Any:
        """X_J (n, |J|), sparse if X is."""
        return self.design.block(J)

    def double_block(self, J: IndexArray) -> Any:
        """X_J (n, |J|) in float64, sparse if X is, not rounded to float32 by weights or scales."""
        if self._double is not None:
            return self._double.block(J)
        if self.unrounded is None:
            return self.block(J).astype(np.float64, copy=False)
        block = self.unrounded.X[:, J[self.n_features > J]].astype(np.float64)
        return self.double_design.completed(J, weighted(block, self.unrounded.root))

    @property
    def double_design(self) -> DesignColumns:
        """The column of ones and the scales in float64, with the given X as it is."""
        X, ones, scale = self.design
        given = self.unrounded
        if given is not None:
            return DesignColumns(given.X, None if ones is None else given.ones(), given.scale)
        return DesignColumns(X, None if ones is None else ones.astype(np.float64), scale)

    @property
    def double_y(self) -> FloatArray:
        """y (n,) in float64, not rounded to float32 by weights."""
        given = self.unrounded
        if self._double is not None:
            return self._double.y
        return self.y.astype(np.float64, copy=False) if given is None else given.response()

    def gram_columns(self, J: ArrayLike) -> FloatArray:
        """Xᵀ X_J (d, |J|)."""
        return self.correlate(self.columns(J))

    def predict(self, coef: FloatArray) -> FloatArray:
        """X @ coef (n,)."""
        return self.design.predict(coef)

    @property
    def has_columns(self) -> bool:
        """Whether columns are at hand; those of an operator cost a product each."""
        return not isinstance(self.X, Operator)

    @property
    def is_plain(self) -> bool:
        """Whether the columns are those of X: no intercept, and not standardized."""
        return self.design.ones is None and self.design.scale is None

    @property
    def is_rounded(self) -> bool:
        """Whether X and y are rounded: scaled, projected, or compressed."""
        return self.origin is not None or self.compressed is not None

    def in_double(self) -> Problem:
        """The problem with its data in float64, and with `double_eps`."""
        if self.dtype == np.float64:
            return self
        if self._double is not None:
            return self._double
        X, ones, scale = self.double_design
        root = None if self.unrounded is None else self.unrounded.root
        X = weighted(X.astype(np.float64), root)
        return self._with(DesignColumns(X, ones, scale), self.double_y, self.origin)

    def of_columns(self, J: IndexArray) -> Problem:
        """The problem of the columns J alone; in float64 where weights or scales rounded them to float32."""
        if self.unrounded is not None:
            return self.in_double().of_columns(J)
        if self.origin is None:
            return self._with(DesignColumns(self.block(J)), self.y)
        problem = self._with(
            DesignColumns(self.block(J)), self.y, self.origin.of_columns(np.append(J, self.removed))
        )
        vars(problem)["removed"] = np.arange(len(J), len(J) + len(self.removed))
        return problem

    def of_rows(self, rows: IndexArray) -> Problem:
        """The problem of these rows with their weights; standardized columns are standardized anew on them.

        (To a common factor without an intercept; not where all the weights are zero.) TypeError for a Gram
        problem, and for a compressed one.
        """
        if self._is_gram or self.compressed is not None:
            which = "Gram" if self._is_gram else "compressed"
            raise TypeError(f"rows of X are needed, which a {which} problem does not have: pass X and y")
        if self.unrounded is not None:
            X, y, root, scale = self.unrounded
            root = None if root is None else root[rows]
            problem: Problem = object.__new__(Problem)
            problem.origin, problem.removed, problem.compressed = None, self.removed, None
            problem.names, standardize = self.names, scale is not None and (root is None or bool(root.any()))
            problem._scaled(X[rows], y[rows], root, self.design.ones is not None, standardize)
            return problem
        X, ones, scale = self.design
        X, ones = X[rows], None if ones is None else ones[rows]
        t = np.ones(len(rows)) if ones is None else ones.astype(np.float64)
        if scale is not None and t.any():
            scale = unit_variance(X, t, ones is not None).astype(self.dtype)
        return self._with(DesignColumns(X, ones, scale), self.y[rows])

    def eliminated(self) -> Problem:
        """The problem without its intercept: its columns, scaled, and y, both projected off the ones.

        For methods that work on a dense copy of X in any case. With a column of the ones t in every S,
        P_S^⊥x = P_{S∖t}^⊥(x − t·(tᵀx)/(tᵀt)). A column, or y, that is constant to rounding is zero: at most
        length_unit·s(x) is left of it, s(x)² = ‖x‖² + ‖t·mean‖² ≤ 2‖x‖² (see `ThinQR.sizes`). MemoryError if
        X is sparse, and too large when dense.

        x − mean is rounded to eps of itself, whatever mean is; x·√weight and t·mean to eps of themselves,
        so that with weights eps grows by √2‖x‖/‖z‖, z what is left.
        """
        if self.is_plain:
            return self
        double = self.in_double()
        X, t, scale = double.design
        if t is None:
            return self._left(double, double.columns(np.arange(self.d)), double.y, self.removed, 1.0)
        data = double._with(DesignColumns(X), double.y)
        X, y = data.columns(np.arange(data.d)), double.y
        for _ in range(2):
            X, y = (v - np.multiply.outer(t, t @ v) / (t @ t) for v in (X, y))
        norms = np.append(data.column_norms, data.y_norm)
        left = np.append(np.linalg.norm(X, axis=0), np.linalg.norm(y))
        outside = left > math.sqrt(2) * self.length_unit * norms
        X[:, ~outside[:-1]] = 0
        y = y if outside[-1] else np.zeros(self.n)
        worst = float((norms[outside] / left[outside]).max(initial=0)) if (t != 1).any() else 0.0
        X, ones = X if scale is None else X * scale, np.arange(self.n_features, self.d)
        return self._left(double, X, y, ones, 1 + math.sqrt(2) * worst)

    def _left(
        self, double: Problem, X: FloatArray, y: FloatArray, removed: IndexArray, growth: float
    ) -> Problem:
        """`left` in the dtype of this problem, from float64; `in_double` returns what was not rounded."""
        exact = double.projected(X, y, removed, growth)
        if self.dtype == np.float64:
            return exact
        problem = self.projected(X.astype(self.dtype), y.astype(self.dtype), removed, growth)
        problem._double = exact
        return problem

    def projected(self, X: FloatArray, y: FloatArray, removed: IndexArray, growth: float) -> Problem:
        """The problem of X and y, this one's projected off the `removed` columns; eps grows by `growth`."""
        problem = self._with(DesignColumns(X), y, self)
        vars(problem).update(removed=removed, eps=growth * problem.eps)
        return problem

    def restored(self, support: IndexArray, coef: FloatArray) -> tuple[FloatArray, float]:
        """Coefficients on the support in the units of the data, and the intercept that was eliminated."""
        if self.origin is None:
            return coef, 0.0
        design = self.origin.design
        coef = coef if design.scale is None else coef * design.scale[support]
        if design.ones is None:
            return coef, 0.0
        r = self.origin.y - np.asarray(self.origin.X[:, support] @ coef)
        removed = self.origin.columns(self.removed)  # the ones first
        return coef, float(np.linalg.lstsq(removed, r, rcond=None)[0][0])

    def _with(self, design: DesignColumns, y: FloatArray, origin: Problem | None = None) -> Problem:
        """Another design and y, of the same kind as this one: from a Gram matrix or not."""
        problem = object.__new__(Problem)
        problem.origin, problem.removed, problem.compressed = origin, self.removed, self.compressed
        problem.is_multiplied = self.is_multiplied
        problem.names = self.names if design.X.shape[1] == self.n_features else None
        problem._set(design, y)
        same = self._is_gram or self.kind == "operator" or problem.dtype == self.dtype
        vars(problem).update(kind=self.kind, eps=self.eps if same else problem.eps)
        return problem
