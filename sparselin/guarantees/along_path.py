"""What a greedy path shows of R² at each of its sets: the constants that promises are made of.

Let S be one of its sets, r = P_S^⊥y, c = Xᵀr, ρ_x = ‖P_S^⊥X_x‖, and A a set of at most k columns that are
independent given S; m is the largest number of these, at most k. With G = (⟨P_S^⊥X_x, P_S^⊥X_x'⟩)_{x,x' ∈ A}
and H = G scaled to unit diagonal,

    ‖y‖²·[R²(S ∪ A) − R²(S)] = c_Aᵀ G⁻¹ c_A ≤ ‖c_A‖²/λ_min(G),    and ≤ Σ_A (c_x/ρ_x)²/λ_min(H),         (1)

while the definition of γ_{S,k} gives ≤ Σ_A (c_x/ρ_x)²/γ_{S,k}. Columns in the span of S gain nothing, and
dependent ones no more than independent ones do: (1) with the least eigenvalues over all such A bounds what
any k columns can add.

**A step.** Let Δ = R²(best) − R²(S), A = best∖S. FR's gain g is the largest (c_x/ρ_x)², so that Δ ≤ (m/γ)·g
with γ = max(γ_{S,k}, λ_min(H)). OMP's pick i has the largest |c| and gains g = c_i²/ρ_i², so that

    Δ ≤ (m/θ)·g,    θ = max(γ_{S,k}·min_x ρ_x², λ_min(G))/ρ_i²,                                          (2)

for Σ_A (c_x/ρ_x)² ≤ m·c_i²/min ρ_x² in the one case and ‖c_A‖² ≤ m·c_i² in the other. Either way Δ falls by a
factor 1 − θ/m.

**Afterwards.** (1) with the m largest summands bounds R²(best) from every S, whoever chose it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sparselin.guarantees.sparse_eigenvalues import bound_below
from sparselin.guarantees.submodularity import submodularity_ratio
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray

_EPS = float(np.finfo(np.float64).eps)


class Data(NamedTuple):
    """The nonzero columns in float64, the longest of length one, and y of length one, in few rows.

    `place` (d,) says where a column of the problem is in X, −1 for zero columns.
    """

    problem: Problem
    X: FloatArray
    y: FloatArray
    place: IndexArray

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


class Known(NamedTuple):
    """What is known before a step is looked at: γ_{S,k} of the whole path, and λ_min of as many columns as S
    and
    A have, of the columns as given (`sparse`) and scaled to unit length (`correlation`). By interlacing each
    bounds its like of every step from below."""

    gamma: float
    sparse: float
    correlation: float


class Step(NamedTuple):
    """One set S of the path. Constants are (2,), certified lower and upper bounds.

    Attributes
    ----------
    r2, error : R²(S), and how far rounding may have moved it.
    most : m.
    largest_correlation, largest_gain : whether that pick has the largest |c|, the largest |c|/ρ, to rounding.
    gamma : γ.
    theta : θ; ρ_i = 1 stands in where there is no next pick.
    reach : at least R² of any set of k features.
    """

    r2: float
    error: float
    most: int
    largest_correlation: bool
    largest_gain: bool
    gamma: FloatArray
    theta: FloatArray
    reach: float


def scaled(problem: Problem) -> Data:
    """The data as the promises need them; y = 0 stays zero."""
    norms = problem.column_norms.astype(np.float64)
    # where all columns are zero, one of them stands for all
    keep = np.flatnonzero(norms) if norms.any() else np.zeros(1, np.intp)
    A = np.empty((problem.n, len(keep) + 1), order="F")
    A[:, :-1] = problem.columns(keep)
    A[:, :-1] /= norms[keep].max(initial=0) or 1.0
    A[:, -1] = problem.y / np.float64(problem.y_norm or 1.0)
    if problem.n > A.shape[1]:
        A = np.asarray(np.linalg.qr(A, mode="r"))
    place = np.full(problem.d, -1)
    place[keep] = np.arange(len(keep))
    return Data(problem, np.ascontiguousarray(A[:, :-1]), np.ascontiguousarray(A[:, -1]), place)


def explained(data: Data, S: IndexArray) -> tuple[float, float]:
    """R²(S) = ‖P_S y‖²/‖y‖² and how far rounding may have moved it: the span of S is known to `rounding`."""
    J = data.place[S]
    J = J[J >= 0]
    if not len(J):
        return 0.0, 0.0
    Q, kappa = _basis(data.X[:, J])
    r = data.y - Q @ (Q.T @ data.y)
    r -= Q @ (Q.T @ r)
    square = float(data.y @ data.y)
    return max(0.0, square - float(r @ r)), 4 * data.problem.rounding(kappa)


def everything(data: Data) -> float:
    """At least R² of all columns."""
    if data.d >= len(data.y):
        return 1.0
    U = np.linalg.svd(data.X, full_matrices=False)[0]
    r = data.y - U @ (U.T @ data.y)
    return min(1.0, 1 - float(r @ r) + 4 * data.problem.rounding())


def step(
    data: Data, S: IndexArray, pick: IndexArray, k: int, known: Known, pair_limit: int, node_limit: int
) -> Step:
    """The constants at S, a set of independent columns, from which `pick` (of length 0 or 1) was taken."""
    r2, error = explained(data, S)
    Q, kappa = _basis(data.X[:, data.place[S]])
    Z, r = (v - Q @ (Q.T @ v) for v in (data.X, data.y))
    Z, r = (v - Q @ (Q.T @ v) for v in (Z, r))
    rho, norms = (np.sqrt(np.einsum("ij,ij->j", V, V)) for V in (Z, data.X))
    free = np.flatnonzero(rho > data.problem.length_error(kappa) * norms)
    free = np.setdiff1d(free, data.place[S])
    most = min(k, len(free), len(data.y) - len(S))
    if most <= 0 or not data.y.any():
        return Step(r2, error, 0, True, True, np.ones(2), np.ones(2), min(1.0, r2 + error))
    Z, rho, norms, c = Z[:, free], rho[free], norms[free], Z[:, free].T @ r
    off = data.problem.rounding(kappa)
    ratio = submodularity_ratio(data.problem, None, S, k, pair_limit=pair_limit, node_limit=node_limit)
    given = _raised(np.array([ratio.lower, ratio.upper]), known.gamma)
    H = _least(Z / rho, most, float((off * norms / rho).max()), node_limit)
    gamma = np.maximum(given, _raised(H, known.correlation))
    sparse = _raised(_least(Z, most, off, node_limit), known.sparse)
    gains, slack = np.abs(c) / rho, off * norms / rho
    reach = _reach(c, gains, slack, off, most, float(gamma[0]), float(sparse[0]))
    at = np.flatnonzero(free == data.place[pick[0]]) if len(pick) else np.zeros(0, np.intp)
    i = int(at[0]) if len(at) else -1
    theta = np.maximum(given * float(rho.min() ** 2), sparse) / (float(rho[i] ** 2) if i >= 0 else 1.0)
    most_correlated = i < 0 or bool(np.abs(c[i]) >= np.abs(c).max() - 2 * off)
    most_gained = i < 0 or bool(gains[i] + slack[i] >= (gains - slack).max())
    return Step(
        r2,
        error,
        most,
        most_correlated,
        most_gained,
        np.minimum(1.0, gamma),
        np.minimum(1.0, theta),
        min(1.0, r2 + error + reach),
    )


def _raised(bounds: FloatArray, known: float) -> FloatArray:
    """Bounds of what is at least `known`."""
    return np.array([max(bounds[0], known), max(bounds[1], known)])


def _reach(
    c: FloatArray, gains: FloatArray, slack: FloatArray, off: float, m: int, gamma: float, sparse: float
) -> float:
    """What k columns can add, by (1)."""
    one = _largest(gains + slack, m) / gamma if gamma > 0 else math.inf
    other = _largest(np.abs(c) + off, m) / sparse if sparse > 0 else math.inf
    return min(one, other)


def _largest(values: FloatArray, m: int) -> float:
    """The sum of the m largest squares."""
    return float((np.sort(values)[len(values) - m :] ** 2).sum())


def _basis(X: FloatArray) -> tuple[FloatArray, float]:
    """An orthonormal basis of independent columns, and the condition of them with unit length."""
    if not X.shape[1]:
        return X, 1.0
    Q = np.linalg.qr(X)[0]
    sigma = np.linalg.svd(X / np.sqrt(np.einsum("ij,ij->j", X, X)), compute_uv=False)
    return Q, float(sigma[0] / max(sigma[-1], _EPS))


def _least(Z: FloatArray, m: int, off: float, node_limit: int) -> FloatArray:
    """λ_min over m columns of ZᵀZ; the columns are known to `off`, which moves singular values by √m·off."""
    C = Z.T @ Z
    trace = float(np.sort(C.diagonal())[len(C) - m :].sum())
    found = bound_below(C, m, 8 * _EPS * (math.sqrt(len(Z)) + m) * trace, node_limit, known=0.0)
    root = np.sqrt(np.maximum(0.0, [found.lower, found.value])) + math.sqrt(m) * off * np.array([-1, 1])
    return np.asarray(np.maximum(0.0, root) ** 2)
