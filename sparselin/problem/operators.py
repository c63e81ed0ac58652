"""A SciPy `LinearOperator` as X: only products with X are used, and column j is X times a unit vector."""

from __future__ import annotations

import copy
import functools
import math
import sys
from typing import Any

import numpy as np

from sparselin.problem.errors import SAFETY, eps_of, product_error
from sparselin.problem.memory import blocks
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_vector, to_numeric

_HOW = "Pass both to scipy.sparse.linalg.LinearOperator(shape, matvec, rmatvec=...)."
_CACHE_ENTRIES = 3 * 10**7  # the most entries in the cache of columns


def is_operator(X: Any) -> bool:
    """Return whether X is a SciPy LinearOperator.

    SciPy is not imported for this test: if its module is not loaded, X cannot be a LinearOperator.
    """
    module = sys.modules.get("scipy.sparse.linalg")
    return module is not None and isinstance(X, module.LinearOperator)


class Operator:
    """The matrix X = D·A, where A is an operator (n, d), and the diagonal matrix D scales its rows.

    Without row scales, D is the identity.

    The class supports the operations on an array that a problem needs: `X @ v`, `X.T @ r`, `X[:, J]` (an
    array), `astype`, `shape`, `dtype`, `ndim` and `size`.

    Attributes
    ----------
    lengths : (d,) the lengths of the columns, float64. If none were given, they are computed from the
        products with all d unit vectors, in blocks.
    """

    ndim, kind = 2, "operator"

    def __init__(self, A: Any, lengths: Any = None) -> None:
        kind = np.zeros(0, np.float64 if A.dtype is None else A.dtype)
        self.dtype: np.dtype[Any] = to_numeric(kind, "X").dtype
        self.shape: tuple[int, int] = (int(A.shape[0]), int(A.shape[1]))
        self.size = self.shape[0] * self.shape[1]
        self._A = A
        self._columns = dict[int, FloatArray]()
        self._row_scale: FloatArray | None = None
        self._check_adjoint()
        self._given = None if lengths is None else self._check_lengths(lengths)

    @functools.cached_property
    def lengths(self) -> FloatArray:
        return self._measure_lengths() if self._given is None else self._given

    def scale_rows(self, row_scale: FloatArray) -> Operator:
        """Return the operator diag(row_scale)·A, in which row_scale (n,) replaces the present row scales."""
        other = copy.copy(self)
        other._row_scale = row_scale
        other._columns = {}
        return other

    @property
    def T(self) -> _Adjoint:
        return _Adjoint(self)

    def astype(self, dtype: Any) -> Operator:
        """Return the operator with products in another dtype; they do not become more accurate."""
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        other._columns = {}
        return other

    def __matmul__(self, v: FloatArray) -> FloatArray:
        """Return D·A·v (n,), or (n, m) for v (d, m), where D·A is the matrix of the operator."""
        product = np.asarray(self._A @ v)
        if self._row_scale is not None:
            product = (product.T * self._row_scale).T
        return product.astype(self.dtype, copy=False)

    def adjoint(self, r: FloatArray) -> FloatArray:
        """Return Aᵀ·D·r (d,), or (d, m) for r (n, m), where D·A is the matrix of the operator."""
        if self._row_scale is not None:
            r = (r.T * self._row_scale).T
        adjoint = self._A.rmatvec if r.ndim == 1 else self._A.rmatmat
        return np.asarray(adjoint(np.ascontiguousarray(r))).astype(self.dtype, copy=False)

    def __getitem__(self, index: tuple[slice, Any]) -> FloatArray:
        """Return the columns X[:, J], where J are indices or a slice."""
        rows, J = index
        assert rows == slice(None)
        J = np.arange(self.shape[1])[J] if isinstance(J, slice) else np.asarray(J, np.intp)
        new = [j for j in dict.fromkeys(J.tolist()) if j not in self._columns]
        if len(J) * self.shape[0] > _CACHE_ENTRIES:
            return self._gather(J)
        if len(new) and (len(self._columns) + len(new)) * self.shape[0] > _CACHE_ENTRIES:
            self._columns = {}
            new = list(dict.fromkeys(J.tolist()))
        if new:
            block = self._gather(np.array(new, np.intp))
            self._columns.update({j: block[:, i].copy() for i, j in enumerate(new)})
        out = np.empty((self.shape[0], len(J)), self.dtype, order="F")
        for i, j in enumerate(J.tolist()):
            out[:, i] = self._columns[j]
        return out

    def _gather(self, J: IndexArray) -> FloatArray:
        """Compute the columns J by products with unit vectors; if lengths were given, check them."""
        out = np.empty((self.shape[0], len(J)), self.dtype, order="F")
        for here in blocks(len(J), max(self.shape)):
            units = np.zeros((self.shape[1], len(J[here])), self.dtype)
            units[J[here], np.arange(len(J[here]))] = 1
            out[:, here] = self @ units
        if self._given is not None:
            found = np.sqrt(np.einsum("ij,ij->j", out, out, dtype=np.float64))
            off = np.abs(found - self._given[J]) > SAFETY * math.sqrt(eps_of(self.dtype)) * found
            if off.any():
                i = int(np.argmax(off))
                raise ValueError(
                    f"column_norms[{J[i]}] is {self._given[J[i]]}, but column {J[i]} of X has length "
                    f"{found[i]}. Pass the lengths of the columns, or leave column_norms out"
                )
        return out

    def _measure_lengths(self) -> FloatArray:
        """Return the lengths of all columns, computed by d products."""
        lengths = np.empty(self.shape[1])
        for here in blocks(len(lengths), max(self.shape)):
            block = self._gather(np.arange(here.start, here.stop))
            lengths[here] = np.sqrt(np.einsum("ij,ij->j", block, block, dtype=np.float64))
        return lengths

    def _check_lengths(self, lengths: Any) -> FloatArray:
        vector = check_vector(lengths, "column_norms", self.shape[1], np.dtype(np.float64), "column")
        if vector.min() < 0:
            raise ValueError(f"column_norms must be nonnegative; got {vector.min()}")
        return vector

    def _check_adjoint(self) -> None:
        """Check ⟨Au, v⟩ = ⟨u, Aᵀv⟩ for random vectors u and v, to rounding.

        The tolerance is 8·eps·(√(n + d) + 1)·(‖Au‖‖v‖ + ‖u‖‖Aᵀv‖).
        """
        rng = np.random.default_rng(0)
        v, u = (rng.standard_normal(m).astype(self.dtype) for m in self.shape)
        try:
            there = self @ u
            back = self.adjoint(v)
        except NotImplementedError:
            raise TypeError(f"X must have rmatvec (its adjoint) as well as matvec. {_HOW}") from None
        if not (np.isfinite(there).all() and np.isfinite(back).all()):
            raise ValueError("X must be finite; a product with X has NaN or infinite entries")
        apart = abs(float(there @ v) - float(u @ back))
        size = float(np.linalg.norm(there) * np.linalg.norm(v) + np.linalg.norm(u) * np.linalg.norm(back))
        if not apart <= product_error(sum(self.shape), eps_of(self.dtype)) * size:
            raise ValueError(
                f"X must have its adjoint as rmatvec, so that ⟨Xu, v⟩ = ⟨u, Xᵀv⟩; for random vectors these "
                f"are {there @ v:g} and {u @ back:g}. {_HOW}"
            )


class _Adjoint:
    """The transpose of an `Operator`, which can be multiplied by vectors."""

    def __init__(self, X: Operator) -> None:
        self.X = X

    def __matmul__(self, r: FloatArray) -> FloatArray:
        return self.X.adjoint(r)
