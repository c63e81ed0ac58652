"""`Problem(X, y)`: the data, validated once, with the products, norms and error bounds that methods need."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import moments
from sparselin.memory import check_memory
from sparselin.parallel.threads import spread, workers
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_design, check_finite, check_real, check_vector

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)

# Rounding errors of n-term sums grow like √n in practice (n at worst); this is their safety factor.
_SAFETY = 8.0
# The Cholesky factor R of a Gram matrix G is accepted if |RᵀR − G| is at most so many times d·eps·max G.
_RANK = 64
# Norms below these have squares that lose digits to underflow.
_TINY = {np.dtype(t): float(np.sqrt(np.finfo(t).tiny) / np.finfo(t).eps) for t in (np.float32, np.float64)}


class Leeway(NamedTuple):
    """How a LASSO path uses the bounds on the errors of c.

    They are reduced to cap·λ where larger, and the path ends where one exceeds limit·λ.
    """

    cap: float
    limit: float


class Problem:
    """A design X (n, d) and a response y (n,), validated once, and frozen.

    Parameters
    ----------
    X : array (n, d), C or F order, float32 or float64 (kept); integers and booleans become float64;
        or a SciPy sparse matrix (kept sparse; repeated entries are summed), or a pandas or polars frame
        (columns by position).
    y : array (n,), converted to the dtype of X.
    sample_weight : (n,) ≥ 0 or None. Row i of X and y is multiplied by √weight_i, so that every
        squared residual is.

    Raises
    ------
    TypeError : an argument is not numeric (complex, strings, objects).
    ValueError : wrong shape, no rows or columns, NaN or infinity, or norms beyond the float range.

    Neither X nor y is modified or, if avoidable, copied: do not change X in place afterwards, since
    its norms are stored. Nothing is rescaled: use unit columns where a statement needs them.

    Attributes
    ----------
    X, y, n, d, dtype, eps : the data; X contiguous in C or Fortran order, or a CSC array; eps of dtype.
    kind : "dense"; "sparse"; or "gram": X is a Cholesky factor, and the squared lengths of its columns are
        known to eps. Methods do not branch on it: what depends on it is a method of the problem.
    column_norms, y_norm : ‖X_j‖ (d,) and ‖y‖.
    Xty : Xᵀy (d,).

    >>> problem = Problem([[3.0, 0.0], [4.0, 1.0]], [1.0, 2.0])
    >>> problem.correlate(problem.y), problem.column_norms
    (array([11.,  2.]), array([5., 1.]))
    """

    def __init__(self, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None) -> None:
        X = check_design(X)
        y = check_vector(y, "y", X.shape[0], X.dtype)
        if sample_weight is not None:
            weight = check_vector(sample_weight, "sample_weight", X.shape[0], X.dtype)
            if weight.min() < 0:
                raise ValueError(f"sample_weight must be nonnegative; the least entry is {weight.min()}")
            root = np.sqrt(weight)
            y = y * root
            X = X * root[:, None] if isinstance(X, np.ndarray) else X.multiply(root[:, None]).tocsc()
        self.X, self.y = X, y
        self.n, self.d = X.shape
        self.dtype = X.dtype
        self.eps = float(np.finfo(X.dtype).eps)
        self.kind = "dense" if isinstance(X, np.ndarray) else "sparse"
        self._measure()
        self._check_range()

    def __setattr__(self, name: str, value: object) -> None:
        if name in vars(self) and not name.startswith("_"):
            raise AttributeError(f"a Problem is frozen: make another one to change its {name}")
        super().__setattr__(name, value)

    @property
    def _is_gram(self) -> bool:
        return self.kind == "gram"

    @classmethod
    def from_gram(cls, G: ArrayLike, Xty: ArrayLike, yty: float) -> Problem:
        """The problem known only through G = XᵀX (d, d), Xᵀy (d,) and ‖y‖².

        A Cholesky factor R of G (scaled to unit diagonal, with diagonal pivoting, rank revealed) replaces X,
        and R⁻ᵀXᵀy replaces y: selections, coefficients, λ's and residual norms depend on X and y only
        through G, Xᵀy and ‖y‖². Vectors of sample space (dual points, residuals) are then
        given in these coordinates. G knows squared lengths to eps: distances to the span of other columns
        are known only to √eps, and κ(X)² multiplies the errors.

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
        problem = cls(*_root_of_gram(gram, b, square))
        vars(problem)["kind"] = "gram"
        return problem

    def _measure(self) -> None:
        """‖X_j‖ and ⟨X_j, y⟩ in one pass, which also shows whether X is finite."""
        if isinstance(self.X, np.ndarray):
            squares, products = np.empty(self.d), np.empty(self.d)
            by_rows = bool(self.X.flags.c_contiguous)
            measure = moments.by_rows if by_rows else moments.by_columns
            data = self.X if by_rows else self.X.T
            with workers(4 * self.n * self.d) as count:
                spread(lambda a, b: measure(data, self.y, squares, products, a, b), self.d, count)
            if not np.isfinite(squares).all():
                check_finite(self.X, "X")
        else:
            squares = np.asarray(self.X.multiply(self.X).sum(axis=0), self.dtype).ravel()
            products = self.X.T @ self.y
        with np.errstate(over="ignore"):
            self.column_norms = np.sqrt(squares).astype(self.dtype, copy=False)
            self.Xty = products.astype(self.dtype, copy=False)
            y = np.asarray(self.y, np.float64)
            square = float(y @ y)
            self.y_norm = math.sqrt(square) if square <= np.finfo(self.dtype).max else math.inf

    def _check_range(self) -> None:
        tiny = _TINY[self.dtype]
        if (
            min(self.y_norm, self.column_norms.min()) > tiny
            and self.column_norms.max() * self.y_norm < np.inf
        ):
            return
        norms = np.append(self.column_norms, self.y_norm)
        bad = ~np.isfinite(norms) | ((norms > 0) & (norms < tiny))
        zero = np.flatnonzero(norms[:-1] == 0)
        bad[zero] = np.asarray((self.X[:, zero] != 0).sum(axis=0)) > 0  # of stored entries, if X is sparse
        bad[-1] |= self.y_norm == 0 and bool(np.any(self.y != 0))
        if bad.any() or not np.isfinite(norms.max() * self.y_norm):
            where = "y" if bad[-1] else f"column {int(np.argmax(bad))} of X"
            raise ValueError(
                f"{where} has a norm whose square over- or underflows {self.dtype}; "
                "scale X or y by a power of two (selections do not change)"
            )

    def __repr__(self) -> str:
        return f"Problem({self.kind}, n={self.n}, d={self.d}, {self.dtype})"

    def correlate(self, r: FloatArray) -> FloatArray:
        """Xᵀr, (d,) for r (n,) and (d, m) for r (n, m)."""
        return np.asarray(self.X.T @ r)

    def columns(self, J: ArrayLike) -> FloatArray:
        """X_J (n, |J|), dense and contiguous by column. MemoryError if X is sparse and X_J too large."""
        J = np.asarray(J, np.intp)
        if self.kind == "sparse":
            check_memory((self.n, len(J)), self.dtype, "X (sparse, but made dense here)")
        block = self.block(J)
        return np.asfortranarray(block if isinstance(block, np.ndarray) else block.toarray())

    def exact_columns(self, J: ArrayLike | None = None) -> FloatArray | None:
        """X_J (n, |J|), or X, in float64, exactly; None for a Gram problem, whose factor is rounded."""
        if self._is_gram:
            return None
        whole = J is None and isinstance(self.X, np.ndarray)
        X = self.X if whole else self.columns(np.arange(self.d) if J is None else J)
        return np.asarray(X, np.float64)

    def block(self, J: IndexArray) -> Any:
        """X_J (n, |J|), sparse if X is."""
        return self.X[:, J]

    def gram_columns(self, J: ArrayLike) -> FloatArray:
        """Xᵀ X_J (d, |J|)."""
        return self.correlate(self.columns(J))

    def predict(self, coef: FloatArray) -> FloatArray:
        """X @ coef (n,)."""
        return np.asarray(self.X @ coef)

    def in_double(self) -> Problem:
        """The problem with its data in float64, and with `double_eps`."""
        if self.dtype == np.float64:
            return self
        return self._with(self.X.astype(np.float64), self.y.astype(np.float64))

    def part(self, J: IndexArray) -> Problem:
        """The problem of the columns J alone."""
        return self._with(self.block(J), self.y)

    def _with(self, X: Any, y: FloatArray) -> Problem:
        """The problem (X, y), of the same kind as this one: from a Gram matrix or not."""
        problem = Problem(X, y)
        vars(problem).update(kind=self.kind, eps=self.eps if self._is_gram else problem.eps)
        return problem

    @property
    def double_eps(self) -> float:
        """eps of float64; for a Gram problem eps of the dtype in which G was given."""
        return self.eps if self._is_gram else float(np.finfo(np.float64).eps)

    @property
    def gram_eps(self) -> float:
        """The error of the entries of XᵀX as computed in float64, relative to its largest entry."""
        return _RANK * self.d * self.eps if self._is_gram else float(np.finfo(np.float64).eps)

    @property
    def power(self) -> int:
        """p of the κ^p that multiplies errors: 1, or 2 for a Gram problem, which knows squared lengths."""
        return 2 if self._is_gram else 1

    @property
    def unit(self) -> float:
        """u = 8·eps: P_S^⊥x errs by u·s(x), s(x) the size of x (see `ThinQR.sizes`)."""
        return _SAFETY * self.eps

    @property
    def length_unit(self) -> float:
        """X_i counts as in the span of S when ‖P_S^⊥X_i‖ ≤ length_unit·s(X_i).

        That is u, or 8·√eps for a Gram problem, which knows squared lengths to eps.
        """
        return _SAFETY * (math.sqrt(self.eps) if self._is_gram else self.eps)

    def rounding(self, kappa: float = 1.0) -> float:
        """A bound on the relative rounding error of an inner product with P_S^⊥: 8·eps·(√n + κ^p).

        A sum of n products errs by about √n·eps (n·eps at worst); the computed span of S is that of
        a matrix whose columns are off by eps, at an angle of κ·eps, κ a bound on the condition number of X_S
        with unit columns, p = `power`. Where this bound does not decide, `sparselin.ties` uses sharper ones.
        """
        return _SAFETY * self.eps * (math.sqrt(self.n) + kappa**self.power)

    def correlation_error(self, kappa: float = 1.0) -> FloatArray:
        """e_c (d,): bounds on the rounding errors of c_i = ⟨X_i, P_S^⊥y⟩, rounding·‖X_i‖·‖y‖."""
        return self.rounding(kappa) * self.column_norms * self.y_norm

    def length_error(self, kappa: float = 1.0) -> float:
        """A bound on the error of ‖P_S^⊥X_i‖/‖X_i‖ for all i: `length_unit`·s(X_i)/‖X_i‖, s(X_i) ≤ κ‖X_i‖."""
        if self._is_gram:
            return self.length_unit * kappa
        return self.rounding(kappa)

    def measured_error(
        self, size: FloatArray, length: FloatArray, y_size: float, r_norm: float, x_norm: FloatArray
    ) -> FloatArray:
        """Bounds on the errors of c_i = ⟨x, r⟩ (see `sparselin.ties`), x being X_i or z_i:
        u·(s(X_i)‖r‖ + ‖z_i‖s(y) + √n‖x‖‖r‖), or u·s(X_i)s(y) for a Gram problem.
        """
        if self._is_gram:
            return np.asarray(self.unit * size * y_size)
        return np.asarray(self.unit * (size * r_norm + length * y_size + math.sqrt(self.n) * x_norm * r_norm))

    def refined_error(self, r_norm: float, size: float, kappa: float) -> float:
        """A bound on the error of ⟨X_i, r⟩/‖X_i‖ for a refined r = f − X_Jx: 8·eps·(√n + 1)·(‖r‖ + eps·size).

        size is ‖f‖ + Σ‖X_j‖|x_j|. For a Gram problem, which refinement does not help, 8·eps·(√n + 1)·κ²·size.
        """
        if self._is_gram:
            return self.rounding() * kappa**2 * size
        return self.rounding() * (r_norm + self.eps * size)

    @property
    def leeway(self) -> Leeway:
        """For a Gram problem the bounds by κ² would end the path long before its errors matter."""
        if self._is_gram:
            return Leeway(cap=1e-3, limit=math.inf)
        return Leeway(cap=math.inf, limit=1e-3)

    def sign_error(self, kappa: float) -> float:
        """τ such that a refined β_j may have the wrong sign if ‖X_j‖|β_j| ≤ τ·(‖y‖ + Σ‖X_l‖|β_l|): 64·eps.

        For a Gram problem, which refinement does not help, 64·eps·κ², at most 1/1000.
        """
        return min(1e-3, 64 * self.eps * kappa**2) if self._is_gram else 64 * self.eps


class _TakesProblem(Protocol[_Arguments, _Result_co]):
    """f(X, y, ...) or f(problem, ...)."""

    @overload
    def __call__(self, X: Problem, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result_co: ...
    @overload
    def __call__(self, X: Any, y: Any, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result_co: ...


def takes_problem(
    function: Callable[Concatenate[Any, Any, _Arguments], _Result],
) -> _TakesProblem[_Arguments, _Result]:
    """Allow f(problem, ...) for f(X, y, ...), y being omitted or None."""

    @functools.wraps(function)
    def wrapper(X: Any, *args: Any, **kwargs: Any) -> _Result:
        # after a Problem comes k or λ, a number; a vector in its place is a y, which `as_problem` refuses
        if isinstance(X, Problem) and (not args or (args[0] is not None and np.ndim(args[0]) == 0)):
            args = (kwargs.pop("y", None), *args)
        return function(X, *args, **kwargs)

    return wrapper


def as_problem(X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Problem:
    """The problem itself, or a new one from (X, y)."""
    if not isinstance(X, Problem):
        if y is None:
            raise TypeError("y is missing: pass X and y, or one Problem in place of both")
        return Problem(X, y, sample_weight=sample_weight)
    if y is not None:
        raise TypeError("got a Problem and a y: the Problem holds its own y, so leave y out")
    if sample_weight is not None:
        raise ValueError("sample_weight must enter with the data: Problem(X, y, sample_weight=...)")
    return X


def _root_of_gram(G: FloatArray, b: FloatArray, square: float) -> tuple[FloatArray, FloatArray]:
    """(R, z) with RᵀR = G, Rᵀz = b and ‖z‖² = square, the last row of R being zero."""
    from scipy.linalg import lapack, solve_triangular

    eps = float(np.finfo(G.dtype).eps)
    d = len(G)
    diagonal = np.diag(G)
    if diagonal.min() < 0 or np.abs(G - G.T).max() > 8 * eps * np.abs(G).max():
        raise ValueError("G must be symmetric with a nonnegative diagonal, as XᵀX is")
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    factorize = lapack.dpstrf if G.dtype == np.float64 else lapack.spstrf
    U, pivots, rank, _ = factorize(G / scale / scale[:, None], tol=8 * d * eps)
    pivots = pivots - 1
    R = np.zeros((rank + 1, d), G.dtype)
    R[:rank, pivots] = np.triu(U)[:rank]
    R *= scale
    if np.abs(R.T @ R - G).max() > _RANK * d * eps * diagonal.max():
        raise ValueError("G must be positive semidefinite, as XᵀX is; the Cholesky factor of this one is not")
    z = np.zeros(rank + 1, G.dtype)
    z[:rank] = solve_triangular(R[:rank, pivots[:rank]], b[pivots[:rank]], trans="T")
    slack = 64 * d * math.sqrt(eps)
    if np.abs(R.T @ z - b).max(initial=0) > slack * scale.max() * math.sqrt(square):
        raise ValueError("Xty must lie in the range of G, as Xᵀy does, with ‖y‖² = yty large enough")
    left = square - float(z @ z)
    if left < -slack * square:
        raise ValueError(f"yty = {square:g} is smaller than G and Xty imply ({float(z @ z):g})")
    z[rank] = math.sqrt(max(left, 0.0))
    return R, z
