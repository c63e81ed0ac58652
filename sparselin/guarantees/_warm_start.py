"""Incumbents for branch and bound: the sets of greedy methods and of the LASSO, improved by exchanges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparselin.greedy.ols import ols
from sparselin.greedy.omp import omp
from sparselin.lasso.path import lasso_path
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray


def starts(problem: Problem, k: int, forced: IndexArray) -> Iterator[tuple[str, IndexArray]]:
    """Pairs (name, support), each of at most k features, the forced ones first."""
    for name, method in (("orthogonal least squares", ols), ("orthogonal matching pursuit", omp)):
        yield name, method(problem, k, forced=forced).support
    path = lasso_path(problem, forced=forced, max_steps=k - len(forced) + 2)
    entered = path.features[np.argsort(np.argmax(path.coef_path != 0, axis=0), kind="stable")]
    yield "LASSO path", np.concatenate([forced, entered[~np.isin(entered, forced)]])[:k]


def exchange(X: FloatArray, y: FloatArray, support: IndexArray, fixed: int) -> IndexArray:
    """Exchange a feature, none of the first `fixed`, for the best one outside while the residual decreases.

    Each exchange decreases ‖P_S^⊥y‖² by at least 1e-10·‖y‖², so that the loop terminates. X (n, d) and
    y (n,) have unit lengths.
    """
    S = list(support)
    best = residual(X[:, S], y)
    improved = True
    while improved:
        improved = False
        for place in range(fixed, len(S)):
            rest = S[:place] + S[place + 1 :]
            Q = np.linalg.qr(X[:, rest])[0]
            r, Z = (v - Q @ (Q.T @ v) for v in (y, X))
            squares = np.einsum("ij,ij->j", Z, Z)
            fall = np.where(squares > 1e-8, (Z.T @ r) ** 2 / np.where(squares > 1e-8, squares, 1), 0)
            fall[rest] = 0
            j = int(np.argmax(fall))
            if r @ r - fall[j] < best - 1e-10 and j != S[place]:
                S[place] = j
                best, improved = r @ r - fall[j], True
    return np.array(S, np.intp)


def residual(X: FloatArray, y: FloatArray) -> float:
    """min ‖y − Xβ‖²."""
    r = y - X @ np.linalg.lstsq(X, y, rcond=None)[0] if X.shape[1] else y
    return float(r @ r)
