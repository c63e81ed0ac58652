"""OMP and OLS for complex data, computed as OMP and OLS on pairs of real columns.

Over ℂ the correlations c_j = ⟨X_j, r⟩ = X_jᴴr are compared by their modulus. Replace the complex X (n, d) by
the real matrix [Re X, −Im X; Im X, Re X] of shape (2n, 2d), and r by the real vector (Re r, Im r) of length
2n. The columns j and d + j of the real matrix are (Re X_j, Im X_j) and (−Im X_j, Re X_j). Their inner
products with the real r are Re c_j and Im c_j. The two columns are orthogonal and have equal length, and they
keep both properties when they are projected off other pairs. Let X_g be the matrix of these two columns, and
‖z_j‖ their common length after projection. Then |c_j| = ‖X_gᵀr‖, and |c_j|/‖z_j‖ is the norm of X_gᵀr/‖z_j‖.
Therefore OMP and OLS over ℂ are OMP and OLS on groups of two real columns, with the same lengths, residuals,
error bounds, ties and statuses.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin import validation
from sparselin.greedy._groups import GroupLeastSquares, frobenius_units
from sparselin.greedy._thresholds import floor_of
from sparselin.greedy._units import UnitState
from sparselin.greedy._walk import walk
from sparselin.linalg.gathered import ROUGH
from sparselin.parallel.threads import spread, workers
from sparselin.problem import Problem
from sparselin.problem.design import read_only
from sparselin.problem.errors import real_dtype
from sparselin.problem.labels import check_same_rows
from sparselin.problem.memory import blocks
from sparselin.problem.operators import Operator, is_operator
from sparselin.problem.scales import sum_columns
from sparselin.problem.support import only_real
from sparselin.results import Fit, FloatArray, IndexArray, Names, SelectionPath, Status
from sparselin.validation import Columns

# Tuned by complex/* of `make bench`: the fewest entries of X for which rows of XᴴX are computed in advance,
# and the most rows that one product computes.
_LEAST = 10**6
_AT_ONCE = 16
_SHARE = 0.25  # the most rows of XᴴX, as a share of n: reading them takes this share of the time of a pass


def stack(z: Any) -> FloatArray:
    """Return the real array (Re z, Im z), of shape (2n,) or (2n, m), for a complex z, (n,) or (n, m)."""
    return np.concatenate([z.real, z.imag])


def unstack(v: FloatArray) -> Any:
    """Return the complex array z for the real array v = (Re z, Im z)."""
    half = len(v) // 2
    return v[:half] + 1j * v[half:]


class ComplexColumns(Operator):
    """The real matrix [Re −Im; Im Re] (2n, 2d) of diag(root)·X, for a complex X (n, d) and root = √weights.

    X is an array, a sparse matrix or a LinearOperator. Only X is stored; columns of the real matrix and
    products with it are computed on demand.
    """

    def __init__(self, X: Any, root: FloatArray | None = None, dtype: Any = None) -> None:
        n, d = X.shape
        self.X = X
        self.is_dense = isinstance(X, np.ndarray)
        self.root = root
        self.dtype = real_dtype(X.dtype) if dtype is None else np.dtype(dtype)
        self.shape = (2 * n, 2 * d)
        self.size = 4 * n * d
        self.kind = "operator" if is_operator(X) else "complex"
        self._given = None
        self._columns = dict[int, FloatArray]()

    @classmethod
    def of(cls, X: Any, name: str = "X") -> ComplexColumns:
        """Check X, and wrap it: in complex64 if X is complex64 or float32, else in complex128."""
        if is_operator(X):
            columns = cls(X)
            columns._check_adjoint()
            return columns
        X = X if hasattr(X, "tocsc") else validation.to_array(X, name)
        plain = isinstance(X, np.ndarray) and X.dtype in (np.complex64, np.complex128)
        if plain and X.ndim == 2 and X.size and X.flags.forc:  # no copy is needed
            columns = cls(X)
            if not np.isfinite(columns.lengths).all():
                validation.check_finite(X, name)
            return columns
        real, imaginary = (validation.check_design(part, name) for part in (X.real, X.imag))
        for part in (real, imaginary):
            if isinstance(part, np.ndarray):
                validation.check_finite(part, name)
        return cls((real + 1j * imaginary).astype(np.result_type(real.dtype, np.complex64), copy=False))

    def vector(self, y: Any, name: str = "y") -> Any:
        """Check y (n,), and return it in complex128, rounded to complex64 first if X is complex64."""
        validation.check_mask(**{name: y})
        y = np.asarray(y)
        n = self.shape[0] // 2
        real, imaginary = (validation.check_vector(part, name, n, self.dtype) for part in (y.real, y.imag))
        return real.astype(np.complex128) + 1j * imaginary

    def scale_rows(self, row_scale: FloatArray) -> ComplexColumns:
        return ComplexColumns(self.X, row_scale[: len(row_scale) // 2], self.dtype)

    def astype(self, dtype: Any) -> ComplexColumns:
        if self.kind == "complex":
            return ComplexColumns(self.X.astype(np.result_type(dtype, np.complex64)), self.root)
        return ComplexColumns(self.X, self.root, dtype)

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return stack(self._scale(self.X @ unstack(v))).astype(self.dtype, copy=False)

    def adjoint(self, r: FloatArray) -> FloatArray:
        if r.shape[1:] == (1,):  # a product with a vector is faster
            return self.adjoint(r[:, 0])[:, None]
        z = self._scale(unstack(r))
        if self.kind == "operator":
            c = self.X.rmatvec(z) if z.ndim == 1 else self.X.rmatmat(z)
        elif self.is_dense:
            with workers(8.0 * self.X.size * (z.size // len(z))) as count:
                c = self.multiply(z.T.conj(), count).T.conj()
        else:
            c = (z.T.conj() @ self.X).T.conj()
        return stack(c).astype(self.dtype, copy=False)

    def multiply(self, V: Any, count: int) -> Any:
        """Return VX, for a dense X and a complex V (n,) or (m, n), computed in `count` threads."""
        d = self.X.shape[1]
        out = np.empty((*V.shape[:-1], d), np.result_type(V, self.X))
        spread(lambda a, b: np.matmul(V, self.X[:, a:b], out=out[..., a:b]), d, count)
        return out

    def gram_rows(self, J: IndexArray, count: int) -> Any:
        """Return the rows J of AᴴA, for the dense matrix A = diag(root)·X, computed in `count` threads."""
        return self.multiply(self._scale(self._block(J)).conj().T, count)

    def __getitem__(self, index: tuple[slice, Any]) -> FloatArray:
        if self.kind == "operator":
            return super().__getitem__(index)
        return self._gather(np.arange(self.shape[1])[index[1]])

    @functools.cached_property
    def lengths(self) -> FloatArray:
        d = self.shape[1] // 2
        if self.is_dense and self.X.flags.forc:
            return np.tile(np.sqrt(self._squares()), 2)
        squares = list[Any]()
        for here in blocks(d, max(self.shape)):
            block = self._block(np.arange(here.start, here.stop))
            parts = (np.einsum("ij,ij->j", v, v, dtype=np.float64) for v in (block.real, block.imag))
            squares.append(sum(parts))
        return np.tile(np.sqrt(np.concatenate(squares)), 2)

    def _squares(self) -> FloatArray:
        """Return the squared lengths (d,) of the columns of a contiguous array X, with the row scales.

        X is read once, as an array of reals: (n, 2d) in C order, (2n, d) in Fortran order.
        """
        real = real_dtype(self.X.dtype)
        parts = self.X.view(real) if self.X.flags.c_contiguous else self.X.T.view(real).T
        m, p = parts.shape
        root = np.ones(m) if self.root is None else np.repeat(self.root, m // len(self.root))
        squares = np.empty(p)
        sum_columns(read_only(parts), root, root, np.zeros(p), squares, np.empty(p))
        return np.asarray(squares.reshape(self.X.shape[1], -1).sum(axis=1))

    def _gather(self, J: IndexArray) -> FloatArray:
        d = self.shape[1] // 2
        inside, place = np.unique(J % d, return_inverse=True)
        columns = stack(self._block(inside)[:, place] * np.where(d > J, 1, 1j))
        return np.asfortranarray(columns, self.dtype)

    def _block(self, J: IndexArray) -> Any:
        """Return the columns J of diag(root)·X as a dense complex array, where root = √weights."""
        if self.kind == "operator":
            units = np.zeros((self.X.shape[1], len(J)), np.result_type(self.dtype, np.complex64))
            units[J, np.arange(len(J))] = 1
            return self._scale(self.X @ units)
        block = self.X[:, J]
        return self._scale(block if isinstance(block, np.ndarray) else block.toarray())

    def _scale(self, z: Any) -> Any:
        return z if self.root is None else (z.T * self.root).T


class RowsAhead:
    """Rows of XᴴX for the selected columns S of a dense complex X; guessed rows are computed with them.

    When the row of a pick is missing, one product computes it together with the rows of the columns with the
    largest scores, which may be picked next. A guess that is not picked costs time, and changes no pick. The
    number of guesses follows from the picks that the last product served. If it served only one, no rows are
    computed any more.
    """

    def __init__(self, columns: ComplexColumns, k: int, count: int) -> None:
        n, d = columns.X.shape
        self._columns = columns
        self._k = k
        self._count = count
        self._rows: dict[int, Any] = {}
        self._known = np.zeros(d, bool)
        self._at_once = _AT_ONCE
        self._most = int(n * _SHARE)
        self._last = 0  # the number of selected columns at the last product

    def of(self, S: IndexArray, score: FloatArray) -> list[Any] | None:
        """Return the rows of XᴴX that belong to the columns S, or None if passes over X are faster.

        score : (d,) the scores of all columns at the last pick.
        """
        t = len(S)
        missing = S[~self._known[S]]
        if len(missing):
            served = t - self._last
            if self._last:
                self._at_once = min(_AT_ONCE, 2 * served) if served > 1 else 0
            self._last = t
            free = self._most - len(self._rows) - len(missing)
            if not self._at_once or free < 0:
                return None
            guesses = max(0, min(self._at_once - len(missing), self._k - t - 1, free))
            score = np.where(self._known, 0, score)
            score[S] = 0
            best = np.argpartition(-score, guesses)[:guesses]
            new = np.concatenate([missing, best[score[best] > 0]])
            self._known[new] = True
            self._rows.update(zip(new.tolist(), self._columns.gram_rows(new, self._count), strict=True))
        return [self._rows[j] for j in S.tolist()]


class ComplexLeastSquares(GroupLeastSquares):
    """Least squares on complex columns, which reads a dense X less than once for each pick.

    Let S be the selected columns and β their coefficients. The correlations are c = Xᴴy − XᴴX_Sβ, where the
    rows of XᴴX are those of `RowsAhead`. In comparison with Xᴴr, the bound on the error of c_i grows by
    u·‖X_i‖(‖y‖ + Σ_j ‖X_j‖|β_j|), where u is the bound of a product. Where this is more than the share ROUGH
    of the largest |c|, c is computed from the residual r.

    k : the number of features to select.
    count : the number of threads.
    """

    def __init__(self, data: Problem, problem: Problem, quotients: bool, k: int, count: int) -> None:
        super().__init__(data, problem, problem.y[:, None], quotients)
        columns: ComplexColumns = problem.X
        large = columns.is_dense and columns.X.size >= _LEAST
        self._ahead = RowsAhead(columns, k, count) if large else None

    def _correlate(self) -> tuple[FloatArray, float]:
        if not self.qr.size:
            return self.problem.Xty[:, None], self._error()
        found = None if self._ahead is None else self._by_rows(self._ahead)
        return super()._correlate() if found is None else found

    def _by_rows(self, ahead: RowsAhead) -> tuple[FloatArray, float] | None:
        """Return the results of `_correlate` by rows of XᴴX, or None if these are slower or less accurate."""
        problem = self.problem
        d = problem.d // 2
        coef = self.qr.solve(self.qr.Qt @ problem.y)
        more = problem.rounding() * (problem.y_norm + float(self.qr.norms @ np.abs(coef)))
        score = np.hypot(self._c[:d], self._c[d:]) if len(self._c) else np.zeros(d)
        if more * problem.column_norms.max() > ROUGH * score.max():
            return None
        J = np.array(self.qr.index, np.intp)
        S = np.unique(J % d)
        rows = ahead.of(S, score if self.lengths is None else score * self.lengths.scale[:d])
        if rows is None:
            return None
        beta = np.zeros(d, np.complex128)
        np.add.at(beta, J % d, coef * np.where(d > J, 1, 1j))
        fit = np.zeros(d, np.complex128)
        for b, row in zip(beta[S].conj(), rows, strict=True):
            fit += b * row
        return stack(unstack(problem.Xty) - fit.conj())[:, None], self._error() + more


def complex_path(
    state: UnitState[GroupLeastSquares, SelectionPath], status: Status, names: Names
) -> SelectionPath:
    """Return the features that were selected so far, whose units are pairs of real columns."""
    fit, trail = state.fit, state.trail
    dtype = state.fit.data.dtype
    t = len(trail.picks)
    coef_path = np.zeros((t, t), np.result_type(dtype, np.complex64))
    for i, coef in enumerate(fit.coefficients()[1:]):
        coef_path[i, : i + 1] = coef[::2, 0] + 1j * coef[1::2, 0]
    lam_star, margin, ties = trail.fields(dtype)
    return SelectionPath(
        support=np.array(trail.support, np.intp),
        coef_path=coef_path,
        intercept_path=np.zeros(t + 1, dtype),
        lam_star=lam_star,
        margin=margin,
        ties=ties,
        active_sets=((),) * t,
        weights=(),
        residual_norm=np.array(trail.norms, dtype),
        status=status,
        fit=Fit(n_features=fit.data.d // 2, names=names, by_length=fit.lengths is not None),
    )


def select(
    X: Any,
    y: Any,
    k: int,
    *,
    quotients: bool = False,
    tol: float | None = None,
    residual: float | None = None,
    forced: Columns = (),
    name: str = "omp",
    sample_weight: ArrayLike | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
    **real_only: bool,
) -> SelectionPath:
    """Run `omp` on complex X or y; if `quotients` is set, run `ols`.

    X : the design, or a `ComplexColumns` made from it. Data in complex64 are compared in complex128 (see
        `linalg.ties`).
    real_only : the options that require real data. If one of them is set, an error is raised.
    name : the function that was called, for error messages.
    """
    if any(real_only.values()):
        raise only_real("complex", name)
    check_same_rows(X, y, "y")
    check_same_rows(X, sample_weight, "sample_weight")
    columns = X if isinstance(X, ComplexColumns) else ComplexColumns.of(X)
    names, labels = validation.frame_names(X), validation.frame_labels(X)
    vector = stack(columns.vector(y))
    n, d = (half // 2 for half in columns.shape)
    k, first = validation.check_budget(k, forced, d, names, labels)
    weight = None
    if sample_weight is not None:
        weight = np.tile(validation.check_weights(sample_weight, n, np.dtype(np.float64)), 2)
    result = functools.partial(complex_path, names=names)
    with workers(8.0 * n * d * k) if columns.is_dense else contextlib.nullcontext(1) as count:
        data = Problem(columns, vector, sample_weight=weight)
        problem = data.in_double()
        if data.dtype == np.float32 and columns.kind == "complex":  # weights are not rounded to float32
            problem = Problem(columns.astype(np.float64), vector, sample_weight=weight)
        fit = ComplexLeastSquares(data, problem, quotients, k, count)
        pairs = frobenius_units(fit, np.tile(np.arange(d), 2))
        state: UnitState[GroupLeastSquares, SelectionPath] = UnitState(pairs, fit, result)
        state.force(first.tolist())
        return walk(state, k, floor_of(data, state.trail.norms[0], tol, residual), callback)
