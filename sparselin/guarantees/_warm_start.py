"""Incumbents for branch and bound: the sets of greedy methods, improved by exchanges.

They are in NumPy, as the first calls of `ols`, `omp` and `lasso_path` compile for longer than a search takes.
X (n, d) and y (n,) have unit lengths, or are zero.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparselin.results import FloatArray, IndexArray

# A squared distance from a span below the first is zero, as is a fall of ‖P_S^⊥y‖² or a difference of scores
# below the second.
_IN_SPAN, _NO_FALL = 1e-8, 1e-10


def starts(X: FloatArray, y: FloatArray, k: int, forced: IndexArray) -> Iterator[tuple[str, IndexArray]]:
    """Pairs (name, support), each of at most k features, the forced ones first."""
    longer = _forward(X, y, 2 * k, forced)
    yield "orthogonal least squares", longer[:k]
    yield "orthogonal matching pursuit", _forward(X, y, k, forced, quotients=False)
    yield "backward elimination", _backward(X, y, k, len(forced), longer)


def exchange(X: FloatArray, y: FloatArray, support: IndexArray, fixed: int) -> IndexArray:
    """Exchange a feature, none of the first `fixed`, for the best one outside while the residual decreases.

    Each exchange decreases ‖P_S^⊥y‖² by at least 1e-10·‖y‖², so that the loop terminates.
    """
    S = support.copy()
    best = residual(X[:, S], y)
    improved = True
    while improved:
        improved = False
        for place in range(fixed, len(S)):
            left, _, fall = _falls(X, y, np.delete(S, place))
            j = _first(fall)
            if left - fall[j] < best - _NO_FALL and j != S[place]:
                S[place], best, improved = j, left - fall[j], True
    return S


def residual(X: FloatArray, y: FloatArray) -> float:
    """min ‖y − Xβ‖²."""
    r = y - X @ np.linalg.lstsq(X, y, rcond=None)[0] if X.shape[1] else y
    return float(r @ r)


def _falls(X: FloatArray, y: FloatArray, S: IndexArray) -> tuple[float, FloatArray, FloatArray]:
    """‖r‖² for r = P_S^⊥y, c = Xᵀr, and by how much each feature reduces ‖r‖²: c_j²/‖P_S^⊥X_j‖²."""
    Q = np.linalg.qr(X[:, S])[0]
    r, Z = (v - Q @ (Q.T @ v) for v in (y, X))
    c, squares = Z.T @ r, np.einsum("ij,ij->j", Z, Z)
    c[S] = 0
    c[squares <= _IN_SPAN] = 0
    return float(r @ r), c, c**2 / np.maximum(squares, _IN_SPAN)


def _first(score: FloatArray) -> int:
    """The first of the largest scores, so that rounding decides no tie."""
    return int(np.argmax(score >= score.max() - _NO_FALL))


def _forward(X: FloatArray, y: FloatArray, k: int, S: IndexArray, quotients: bool = True) -> IndexArray:
    """Add the feature of largest c_j²/‖P_S^⊥X_j‖², or |c_j|, up to k of them."""
    while len(S) < k:
        _, c, fall = _falls(X, y, S)
        j = _first(fall if quotients else abs(c))
        if fall[j] < _NO_FALL:
            break
        S = np.append(S, j)
    return S


def _backward(X: FloatArray, y: FloatArray, k: int, fixed: int, S: IndexArray) -> IndexArray:
    """Remove the feature of least β_j²/((X_SᵀX_S)⁻¹)_jj, the rise of ‖P_S^⊥y‖², until k are left.

    A zero column has a row of zeros in the pseudoinverse; its removal changes nothing.
    """
    while len(S) > k:
        inverse = np.linalg.pinv(X[:, S])
        squares = np.einsum("ij,ij->i", inverse, inverse)
        rise = np.divide((inverse @ y) ** 2, squares, out=np.zeros(len(S)), where=squares > 0)
        S = np.delete(S, fixed + _first(-rise[fixed:]))
    return S
