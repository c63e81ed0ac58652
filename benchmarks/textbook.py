"""The algorithms of textbooks in NumPy, with which answers are compared. They use no code of the package.

Each step makes one pass over X, with true residuals and Gram-Schmidt twice, so no error accumulates.
"""

from typing import Any

import numpy as np


def columns(X: Any, S: list[int]) -> np.ndarray:
    """Return X_S as a dense array, for a dense or sparse X."""
    block = X[:, S]
    return block if isinstance(block, np.ndarray) else block.toarray()


def residual(X: Any, y: np.ndarray, S: list[int]) -> np.ndarray:
    """Return P_S^⊥y, from least squares."""
    if not S:
        return y
    X_S = columns(X, S)
    return y - X_S @ np.linalg.lstsq(X_S, y, rcond=None)[0]


def rank_with_ones(X: np.ndarray) -> int:
    """Return the exact rank of (1, X), less one, for integers X, by fraction-free elimination (Bareiss)."""
    rows = [[1, *map(int, row)] for row in X]
    rank, last = 0, 1
    for j in range(X.shape[1] + 1):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        top = rows[rank]
        for i in range(rank + 1, len(rows)):
            a = rows[i][j]
            rows[i] = [(top[j] * x - a * z) // last for x, z in zip(rows[i], top, strict=True)]
        last, rank = top[j], rank + 1
    return rank - 1


def omp(X: Any, y: np.ndarray, k: int, follow: list[int] | None = None) -> tuple[list[int], np.ndarray]:
    """Run OMP: pick argmax |X_jᴴP_S^⊥y| k times.

    Returns the support, and how far the score of each pick is below the best score. These differences are
    zero, unless `follow` prescribes the picks.
    """
    return _greedy(X, y, k, False, follow)


def group_omp(X: np.ndarray, y: np.ndarray, k: int, groups: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Run group OMP: pick argmax_g ‖X_gᵀr‖ k times; return the groups in their order, and the residual."""
    order: list[int] = []
    r = y
    for _ in range(k):
        squares = np.bincount(groups, (X.T @ r) ** 2)
        squares[order] = -1
        order.append(int(np.argmax(squares)))
        r = residual(X, y, np.flatnonzero(np.isin(groups, order)).tolist())
    return order, r


def ols(X: Any, y: np.ndarray, k: int, follow: list[int] | None = None) -> tuple[list[int], np.ndarray]:
    """Run OLS: pick argmax |⟨X_j, r⟩|/‖P_S^⊥X_j‖, r = P_S^⊥y, k times; return as `omp` does.

    This column reduces the residual of least squares most.
    """
    return _greedy(X, y, k, True, follow)


def _greedy(
    X: Any, y: np.ndarray, k: int, orthogonal: bool, follow: list[int] | None
) -> tuple[list[int], np.ndarray]:
    """Run OLS if `orthogonal`, otherwise OMP."""
    S: list[int] = []
    gaps, r, basis = np.zeros(k), y, np.zeros((X.shape[0], k), np.result_type(X.dtype, y), order="F")
    squares = np.asarray((X * X).sum(axis=0), float).ravel() if orthogonal else np.zeros(0)
    left = squares.copy()
    for t in range(k):
        scores, Q = np.abs(X.T @ r.conj()), basis[:, :t]
        scores[S] = -1
        if orthogonal:
            _divide_by_lengths(scores, X, Q, squares, left)
        best = int(np.argmax(scores))
        S.append(best if follow is None else follow[t])
        gaps[t] = scores[best] - scores[S[-1]]
        q = _project_off(Q, columns(X, S[-1:])[:, 0])
        basis[:, t] = q / np.linalg.norm(q)
        r = _project_off(basis[:, : t + 1], y)
        if orthogonal:
            left -= (X.T @ basis[:, t]) ** 2
    return S, gaps


def _project_off(Q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Project v off the span of Q, twice."""
    for _ in range(2):
        v = v - Q @ (Q.conj().T @ v)
    return v


def _divide_by_lengths(
    scores: np.ndarray, X: Any, Q: np.ndarray, squares: np.ndarray, left: np.ndarray
) -> None:
    """Divide the scores by ‖P_S^⊥X_j‖, in place.

    ‖P_S^⊥X_j‖² = ‖X_j‖² − Σ_s ⟨q_s, X_j⟩² loses digits for columns close to the span of S. So for the largest
    scores the lengths are computed from P_S^⊥X_j itself.
    """
    c = scores.copy()
    alive = (left > 1e-10 * squares) & (c >= 0)
    scores[:] = np.where(alive, c / np.sqrt(np.where(alive, left, 1)), -1)
    top = np.flatnonzero(scores >= 0.999 * scores.max())[:256]
    scores[top] = c[top] / np.linalg.norm(_project_off(Q, columns(X, top.tolist())), axis=0)


def lasso_kkt(X: np.ndarray, y: np.ndarray, knots: np.ndarray, coef: np.ndarray) -> float:
    """Return the largest violation of the KKT conditions at the knots, divided by ‖Xᵀy‖∞.

    The conditions are |c_j| ≤ λ, and c_j = λ·sign β_j where β_j ≠ 0.
    """
    C = (y[:, None] - X @ coef.T).T @ X
    inside = np.abs(C) - knots[:, None]
    on = np.abs(C - knots[:, None] * np.sign(coef))[coef != 0]
    return float(max(inside.max(), on.max(initial=0)) / np.abs(X.T @ y).max())


def flow_violation(X: np.ndarray, y: np.ndarray, tau: np.ndarray, coef: np.ndarray) -> float:
    """Return the largest violation of |s| ≤ 1, and of s_j = sign β_j where β_j ≠ 0, at the flow's events.

    coef : (m, d) β after each event; before the first one it is zero. s is the integral of Xᵀ(y − Xβ).
    """
    before = np.vstack([np.zeros(X.shape[1]), coef[:-1]])
    s = np.cumsum(np.diff(tau, prepend=0)[:, None] * ((y[:, None] - X @ before.T).T @ X), axis=0)
    on = [np.abs(s - np.sign(beta))[beta != 0] for beta in (before, coef)]
    return float(max(np.abs(s).max() - 1, *(part.max(initial=0) for part in on)))


def projection(
    X: np.ndarray, v: np.ndarray, lam: float, S: np.ndarray, coef: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return u in extended precision for the active set and signs of coef, and whether KKT proves them right.

    X_AᵀX_A β_A = X_Aᵀv − λs is solved by iterative refinement: residuals in extended precision, corrections
    in double precision.
    """
    penalized = np.ones(len(coef), bool)
    penalized[S] = False
    A = np.flatnonzero((coef != 0) | ~penalized)
    s = np.where(penalized, np.sign(coef), 0)[A].astype(np.longdouble)
    X_A, wide = X[:, A].astype(np.longdouble), v.astype(np.longdouble)
    gram = X[:, A].T @ X[:, A]
    beta = np.zeros(len(A), np.longdouble)
    for _ in range(12):
        rest = X_A.T @ (wide - X_A @ beta) - np.longdouble(lam) * s
        beta = beta + np.linalg.solve(gram, rest.astype(np.float64)) if len(A) else beta
    u = wide - X_A @ beta
    c = np.abs(X.T @ u.astype(np.float64))
    right = bool(c[penalized].max(initial=0) <= lam * (1 + 1e-12) and np.all(beta * s >= 0))
    return u, right
