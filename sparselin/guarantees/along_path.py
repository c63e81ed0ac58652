"""What a greedy path shows of R² at each of its sets: the constants that promises are made of.

Let S be one of its sets, r = P_S^⊥y, c = Xᵀr, ρ_x = ‖P_S^⊥X_x‖, and A a set of at most k columns that are
independent given S; m ≥ |A| is the least of k, the number of columns outside the span of S, and n − |S|. With
G = (⟨P_S^⊥X_x, P_S^⊥X_x'⟩)_{x,x' ∈ A} and H = G scaled to unit diagonal,

    ‖y‖²·[R²(S ∪ A) − R²(S)] = c_Aᵀ G⁻¹ c_A ≤ ‖c_A‖²/λ_min(G),    and ≤ Σ_A (c_x/ρ_x)²/λ_min(H),         (1)

while the definition of γ_{S,k} gives ≤ Σ_A (c_x/ρ_x)²/γ_{S,k}. Columns in the span of S gain nothing, and
dependent ones no more than independent ones do: (1) with the least eigenvalues over all m columns outside the
span of S (zero where some are dependent; by interlacing no larger than those of fewer) bounds what any k
columns can add.

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
    and A have, of the columns as given (`sparse`) and scaled to unit length (`correlation`).

    By interlacing each bounds its like of every step from below.
    """

    gamma: float
    sparse: float
    correlation: float


class Step(NamedTuple):
    """One set S of the path. Constants are (2,), certified lower and upper bounds.

    Attributes
    ----------
    r2, error : R²(S), and how far rounding may have moved it.
    most : m.
    largest_correlation, largest_gain : whether that pick has the largest |c|, the largest |c|/ρ, to rounding;
        for a path that ends before k picks, whether all are zero. None if S is so ill-conditioned that some
        column is in its span by `length_error`, but not by what rounding does to that column.
    gamma : γ.
    theta : θ; ρ_i = 1 stands in where there is no next pick.
    reach : at least R² of any set of k features.
    doubtful : whether there is such a column.
    """

    r2: float
    error: float
    most: int
    largest_correlation: bool | None
    largest_gain: bool | None
    gamma: FloatArray
    theta: FloatArray
    reach: float
    doubtful: bool = False


def scaled(problem: Problem) -> Data:
    """The data as the promises need them; y = 0 stays zero."""
    norms = problem.column_norms.astype(np.float64)
    # where all columns are zero, one of them stands for all
    keep = np.flatnonzero(norms) if norms.any() else np.zeros(1, np.intp)
    columns = problem.columns(keep)
    A = np.empty((problem.n, len(keep) + 1), order="F")
    A[:, :-1] = columns
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
    """At least R² of all columns. Singular values that are zero to rounding say nothing of the condition."""
    norms = np.sqrt(np.einsum("ij,ij->j", data.X, data.X))
    if data.d >= len(data.y) or not norms.all():
        return 1.0
    U, sigma, _ = np.linalg.svd(data.X / norms, full_matrices=False)
    kappa = float(sigma[0] / sigma[sigma > data.problem.length_error() * sigma[0]].min())
    r = data.y - U @ (U.T @ data.y)
    return min(1.0, 1 - float(r @ r) + 4 * data.problem.rounding(kappa))


class _Left(NamedTuple):
    """What S leaves of the columns outside its span, which are `places` of the data, and of y.

    `Z` holds P_S^⊥X_x, `rho` ρ_x, `c` c_x; `off` is what rounding does to a projection of a unit vector at
    most, `off_unit` to one of length 1 of a column by itself. A column Σ_S α_s X_s is found at a distance of
    some eps·Σ |α_s|·‖X_s‖ from the span of S, however ill-conditioned S is; one that is farther, but within
    `length_error`, counts as in the span for the algorithms, but may be of use in another set: `doubtful`.
    """

    places: IndexArray
    Z: FloatArray
    rho: FloatArray
    c: FloatArray
    off: float
    off_unit: FloatArray
    doubtful: bool


def step(
    data: Data, S: IndexArray, pick: IndexArray, k: int, known: Known, pair_limit: int, node_limit: int
) -> Step:
    """The constants at S, a set of independent columns, from which `pick` (of length 0 or 1) was taken."""
    r2, error = explained(data, S)
    left = _left(data, S)
    if left.doubtful and data.y.any():
        undecided = None if len(S) < k else True
        return Step(r2, error, k, undecided, undecided, np.array([0.0, 1.0]), np.array([0.0, 1.0]), 1.0, True)
    most = min(k, len(left.places), len(data.y) - len(S))
    if most <= 0 or not data.y.any():
        return Step(r2, error, 0, True, True, np.ones(2), np.ones(2), min(1.0, r2 + error))
    ratio = submodularity_ratio(data.problem, None, S, k, pair_limit=pair_limit, node_limit=node_limit)
    given = _raised(np.array([ratio.lower, ratio.upper]), known.gamma)
    unit = left.Z / left.rho
    gamma = np.maximum(given, _least(unit, most, float(left.off_unit.max()), node_limit, known.correlation))
    sparse = _least(left.Z, most, left.off, node_limit, known.sparse)
    reach = _reach(left, most, float(gamma[0]), float(sparse[0]))
    at = np.flatnonzero(np.isin(left.places, data.place[pick]))
    theta = _theta(left, at, given, sparse)
    capped = np.minimum(1.0, gamma), np.minimum(1.0, theta)
    ended = not len(pick) and len(S) < k and 1 - r2 > data.problem.length_error() ** 2 + error
    largest = _nothing_left(left) if ended else _largest_at(left, at)
    return Step(r2, error, most, *largest, *capped, min(1.0, r2 + error + reach))


def _left(data: Data, S: IndexArray) -> _Left:
    """P_S^⊥ of everything, projected twice; columns that are in the span of S to rounding are left out."""
    J = data.place[S]
    Q, kappa = _basis(data.X[:, J])
    Z, r = (v - Q @ (Q.T @ v) for v in (data.X, data.y))
    Z, r = (v - Q @ (Q.T @ v) for v in (Z, r))
    rho, norms = (np.sqrt(np.einsum("ij,ij->j", V, V)) for V in (Z, data.X))
    outside = rho > data.problem.length_error(kappa) * norms
    alpha = np.linalg.lstsq(data.X[:, J] / norms[J], data.X, rcond=None)[0]
    within = rho <= data.problem.length_error() * (norms + np.abs(alpha).sum(axis=0))
    doubtful = bool(np.delete(~outside & ~within, J).any())
    places = np.setdiff1d(np.flatnonzero(outside), J)
    Z, rho, off = Z[:, places], rho[places], data.problem.rounding(kappa)
    return _Left(places, Z, rho, Z.T @ r, off, off * norms[places] / rho, doubtful)


def _theta(left: _Left, at: IndexArray, gamma: FloatArray, sparse: FloatArray) -> FloatArray:
    """θ of (2); each ρ is known to a relative `off_unit`. `at` is where the pick is, if there is one."""
    off = np.array([-1.0, 1.0])[:, None] * left.off_unit
    shortest = (left.rho * np.maximum(0.0, 1 + off)).min(axis=1)
    length = (left.rho * np.maximum(0.0, 1 - off))[:, at].prod(axis=1)
    above = np.maximum(gamma * shortest**2, sparse)
    return np.asarray(np.divide(above, length**2, out=np.ones(2), where=length > 0))


def _largest_at(left: _Left, at: IndexArray) -> tuple[bool, bool]:
    """Whether the pick, if there is one, has the largest |c|, and the largest |c|/ρ, to rounding."""
    size, gains = np.abs(left.c), np.abs(left.c) / left.rho
    most_correlated = bool((size[at] >= size.max() - 2 * left.off).all())
    most_gained = bool(((gains + left.off_unit)[at] >= (gains - left.off_unit).max()).all())
    return most_correlated, most_gained


def _nothing_left(left: _Left) -> tuple[bool, bool]:
    """Whether the path may end here: whether all c are zero to rounding, and all |c|/ρ."""
    size = np.abs(left.c)
    return bool((size <= 2 * left.off).all()), bool((size <= 2 * left.off_unit * left.rho).all())


def _raised(bounds: FloatArray, known: float) -> FloatArray:
    """Bounds of what is at least `known`."""
    return np.array([max(bounds[0], known), max(bounds[1], known)])


def _reach(left: _Left, m: int, gamma: float, sparse: float) -> float:
    """What k columns can add, by (1)."""
    size = np.abs(left.c)
    one = _largest(size / left.rho + left.off_unit, m) / gamma if gamma > 0 else math.inf
    other = _largest(size + left.off, m) / sparse if sparse > 0 else math.inf
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


def _least(Z: FloatArray, m: int, off: float, node_limit: int, known: float) -> FloatArray:
    """λ_min over m columns of ZᵀZ, which is at least `known`.

    The columns are known to `off`, which moves singular values by √m·off.
    """
    C, moved = Z.T @ Z, math.sqrt(m) * off
    trace = float(np.sort(C.diagonal())[len(C) - m :].sum())
    floor = max(0.0, math.sqrt(known) - moved) ** 2
    found = bound_below(C, m, 8 * _EPS * (math.sqrt(len(Z)) + m) * trace, node_limit, known=floor)
    root = np.sqrt(np.maximum(0.0, [found.lower, found.value])) + moved * np.array([-1, 1])
    return _raised(np.maximum(0.0, root) ** 2, known)
