"""The parts common to all regularizers: the matrix C, f on sets, its gains while S grows, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.linear_algebra import asymmetry
from sparselin.linalg.gathered import is_dense
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.errors import SAFETY, eps_of
from sparselin.problem.labels import check_square_labels
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count, check_finite, check_indices, to_array, to_numeric

Method = Literal["forward", "greedy_local_search"]


# Up to this number of columns, computing all of C costs less than one matrix-vector product for each selected
# column (spectral/* of `make bench`).
_SMALL = 1024


class Gram:
    """The Gram matrix C = XᵀX (d, d) in float64; each column is computed once, when it is needed.

    Attributes
    ----------
    d, diagonal : the size, and C_ii (d,).
    error : a number e; the error of each entry C_ij is at most e·√(C_ii·C_jj).
    eps : the machine epsilon of the dtype in which the data were given.
    """

    def __init__(self, diagonal: FloatArray, error: float, eps: float) -> None:
        self.d = len(diagonal)
        self.diagonal = diagonal
        self.error = error
        self.eps = eps
        self.problem: Problem | None = None
        self._columns: dict[int, FloatArray] = {}
        self._matrix: FloatArray | None = None

    @classmethod
    def of_problem(cls, problem: Problem) -> Gram:
        """Make the Gram matrix of a problem in float64."""
        gram = cls(problem.column_norms.astype(np.float64) ** 2, problem.rounding(), problem.eps)
        gram.problem = problem
        if problem.d <= _SMALL and is_dense(problem):
            with workers(float(problem.n) * problem.d**2):
                gram._matrix = np.asarray(problem.X.T @ problem.X)
        return gram

    @classmethod
    def of_matrix(cls, C: ArrayLike) -> Gram:
        """Make a `Gram` of a matrix C whose entries are treated as rounded to its dtype.

        Raises TypeError or ValueError unless C is a finite symmetric matrix with a nonnegative diagonal.
        """
        check_square_labels(C, "C")
        matrix = to_numeric(to_array(C, "C"), "C")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"C must be a square matrix (d, d), such as XᵀX; got shape {matrix.shape}")
        eps = eps_of(matrix.dtype)
        apart, size = asymmetry(matrix)
        if not apart + size < np.inf:  # NaN, infinity, or squares that overflow
            check_finite(matrix, "C")
            raise ValueError("C has entries whose squares overflow; scale the columns of X")
        matrix = matrix.astype(np.float64, copy=False)
        diagonal = np.diag(matrix).copy()
        if diagonal.min(initial=0) < 0 or apart > (SAFETY * eps) ** 2 * size:
            raise ValueError("C must be symmetric with a nonnegative diagonal, as XᵀX is")
        gram = cls(diagonal, SAFETY * eps, eps)
        gram._matrix = matrix
        return gram

    def cutoff(self, t: int) -> float:
        """Return the number below which eigenvalues of a t × t principal submatrix of C count as zero.

        It is 8·eps·t·max_i C_ii, and so at least t times the largest rounding error of an entry of C.
        """
        return SAFETY * self.eps * t * float(self.diagonal.max(initial=0))

    def column(self, j: int) -> FloatArray:
        """Return column j of C (d,), which must not be modified."""
        if self._matrix is not None:
            return np.asarray(self._matrix[j])
        if j not in self._columns:
            assert self.problem is not None
            self._columns[j] = self.problem.gram_columns([j])[:, 0]
        return self._columns[j]

    def block(self, S: Sequence[int]) -> FloatArray:
        """Return the submatrix C_S (t, t) of the rows and columns S, where t = |S|."""
        index = np.array(S, np.intp)
        if self._matrix is not None:
            return self._matrix[np.ix_(index, index)]
        rows = [self.column(int(j))[index] for j in index]
        return np.array(rows).reshape(len(index), len(index))


class SetFunction(Protocol):
    """The interface of a set function f for the searches: f(S) depends on C_S, where C = XᵀX.

    The searches take the error of f(S) as about eps·max(1, |f(S)|), so f should not be scaled far below 1.
    """

    @property
    def submodular(self) -> bool: ...

    def value(self, C: FloatArray, S: Sequence[int]) -> float: ...

    def gains(self, C: FloatArray, S: Sequence[int]) -> FloatArray: ...


class Growth(Protocol):
    """The state of f(S) for a set S that grows by one feature at a time.

    Attributes
    ----------
    index : S in the order in which features were added.
    value : f(S).
    unit : a typical size of gains. A gain is accurate enough to decide a tie if its error is a small share of
        `unit`.
    """

    index: list[int]

    @property
    def unit(self) -> float: ...

    @property
    def value(self) -> float: ...

    def add(self, j: int) -> None:
        """Add feature j to the set of this state."""

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return f(S + x) − f(S) for each x in J, outside S, and bounds on the rounding errors."""

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """Return f(S) − f(S − x) for each x of the set S = `index`, and bounds on their errors."""


class PlainGrowth:
    """The state of a set function f without a `_growth` of its own; methods of f are called with all of C."""

    def __init__(self, gram: Gram, f: SetFunction) -> None:
        self.gram, self.f = gram, f
        self.index: list[int] = []
        self.C = gram.block(range(gram.d))
        self.value = float(f.value(self.C, []))

    @property
    def unit(self) -> float:
        return max(1.0, abs(self.value))

    def add(self, j: int) -> None:
        self.index.append(j)
        self.value = float(self.f.value(self.C, self.index))

    def gains(self, J: IndexArray) -> tuple[FloatArray, FloatArray]:
        gains = np.asarray(self.f.gains(self.C, self.index), np.float64)
        return gains[J], np.full(len(J), self._error())

    def losses(self) -> tuple[FloatArray, FloatArray]:
        less = [self.f.value(self.C, [i for i in self.index if i != j]) for j in self.index]
        return self.value - np.array(less), np.full(len(less), self._error())

    def _error(self) -> float:
        return self.gram.error * (1 + len(self.index)) * max(1.0, abs(self.value))


def grow(gram: Gram, f: SetFunction, S: Sequence[int] = ()) -> Growth:
    """Return the state of f at S, to which features can be added."""
    start = getattr(f, "_growth", None)
    growth: Growth = PlainGrowth(gram, f) if start is None else start(gram)
    for j in S:
        growth.add(int(j))
    return growth


def spectrum(C: ArrayLike, S: Iterable[int]) -> tuple[FloatArray, float]:
    """Return the eigenvalues of C_S, and the cut-off: eigenvalues up to the cut-off count as zero.

    Eigenvalues that are negative by rounding are replaced by zero.
    """
    gram = Gram.of_matrix(C)
    index = check_indices(S, gram.d, "S").tolist()
    values = np.linalg.eigvalsh(gram.block(index)) if index else np.zeros(0)
    cutoff = gram.cutoff(len(index))
    if values.min(initial=0) < -cutoff:
        raise ValueError(
            f"C must be positive semidefinite, as XᵀX is; C_S has the eigenvalue {values.min():g}"
        )
    return np.maximum(values, 0), cutoff


def trace_error(h: Callable[[FloatArray], FloatArray], values: FloatArray, e: float) -> float:
    """Return a bound on the error of Σ h(λ_i), for concave h, if the error of each λ_i is at most e.

    values : the eigenvalues λ_i, without those that count as zero.
    e : unit·Σ_S C_ii, if the error ΔC_ij of C_ij is at most unit·√(C_ii·C_jj). Then ‖ΔC_S‖_F ≤ e, and by
        Weyl's inequality the error of each eigenvalue is at most e.

    Because h is concave, |h(t) − h(λ)| over t in [λ − e, λ + e] ∩ [0, ∞) is largest at an end of this
    interval, or at the maximum of h, which is at 1 if h does not increase.
    """
    low = np.maximum(values - e, 0)
    high = values + e
    here = h(values)
    return float(np.max([np.abs(h(t) - here) for t in (low, np.clip(1.0, low, high), high)], axis=0).sum())


class Regularizer:
    """The base of the regularizers f(S) = constant + Σ h(λ_i), where λ_i are the eigenvalues of C_S."""

    def gains(self: Any, C: ArrayLike, S: Iterable[int]) -> FloatArray:
        """Return f(S + x) − f(S) for all features x, (d,), in O(d|S|²) operations; it is 0 for x in S."""
        gram = Gram.of_matrix(C)
        taken: IndexArray = check_indices(S, gram.d, "S")
        others = np.setdiff1d(np.arange(gram.d), taken)
        gains = np.zeros(gram.d)
        gains[others] = grow(gram, self, taken.tolist()).gains(others)[0]
        return gains

    def _value_error(self: Any, C: FloatArray, S: Sequence[int], unit: float) -> float:
        """Return a bound on the error of f(S) from rounding of C.

        unit : the error of C_ij is at most unit·√(C_ii·C_jj).
        """
        values, _ = spectrum(C, S)
        return trace_error(self._h, values, unit * float(np.diag(C)[S].sum()))


def check_constant(f: Any) -> None:
    """Check `f.k`, the k of the normalising constant of f (an integer or None), and store it as an int."""
    if f.k is not None:
        object.__setattr__(f, "k", check_count(f.k, "k", 1))
