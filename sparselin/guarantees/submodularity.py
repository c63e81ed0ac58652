"""The submodularity ratio of R²: exactly by enumeration, or in bounds.

Columns are scaled to unit norm first: R² depends on spans only. For L ⊆ U and x ∉ L let ρ_x = ‖P_L^⊥X_x‖,
z_x = P_L^⊥X_x/ρ_x, r = P_L^⊥y, H = (⟨z_x, z_x'⟩) the **residual correlation matrix** and c_x = ⟨z_x, r⟩. Then

    R²(L + x) − R²(L) = c_x²/‖y‖²,    R²(L ∪ A) − R²(L) = c_Aᵀ H_A⁻¹ c_A/‖y‖².                          (1)

**Independent A suffice.** If a column of A is in the span of L and the others, removing it keeps the joint
gain and does not increase the sum. Likewise, for u in the span of L, L + u has only ratios that L has.

**Spectral bound** (unit columns, A independent given L). Of (1) the ratio is ‖c_A‖²/(c_Aᵀ H_A⁻¹ c_A), so

    γ_{U,k} ≥ min_{L,A} λ_min(H_A) ≥ min_{|A| ≤ k} λ_min(C_{U ∪ A}) ≥ λ_min(C, |U| + k).                  (2)

For the second inequality, Σ = C_AA − C_AL C_L⁻¹ C_LA = diag(ρ) H_A diag(ρ) has the inverse of a principal
submatrix of (C_{L∪A})⁻¹, so λ_min(Σ) ≥ λ_min(C_{L∪A}), and with ρ_x ≤ 1, vᵀH_A v = (v/ρ)ᵀΣ(v/ρ) ≥
λ_min(Σ)·‖v/ρ‖² ≥ λ_min(Σ)·‖v‖². Then λ_min(C_{L∪A}) ≥ λ_min(C_{U∪A}) by interlacing. The last member is the
bound of Das and Kempe, *Submodular meets Spectral* (2011, Lemma 2.4). As R² ignores the scale of columns, (2)
holds for any X, C being the (uncentred) correlation matrix of the nonzero columns; zero columns gain nothing.

**Pruning.** Let A be a set of s elements, B one of at most k − s more, h_x the gain of x after L ∪ A. H given
A, scaled to unit diagonal, has least eigenvalue at least μ, the bound of (2), for the reason above; so
R²(L ∪ A ∪ B) − R²(L ∪ A) ≤ Σ_{x∈B} h_x/μ, and no pair (L, A ∪ B) has a ratio below g if
Σ_{x∈B} (g·h_x/μ − c_x²)₊ ≤ Σ_{x∈A} c_x² − g·[R²(L ∪ A) − R²(L)] for the B of largest sum.

**Rounding.** Let x have the coefficients b on T, z = P_T^⊥X_x, s(x)² = 1 + ‖b‖², and y the coefficients a,
r = P_T^⊥y, s(y)² = 1 + ‖a‖², all for columns and y of length 1. Modified Gram-Schmidt gives the exact R of
columns perturbed by some eps (Björck, 1967), even if the basis is far from orthogonal: one pass suffices.
Errors F of the columns change z by Fb and r by Fa to first order, up to a part in the span of T; hence ρ by
u·s(x), ⟨z, r⟩ by u·(s(x)‖r‖ + ρ·s(y) + √n·ρ‖r‖) and the root of a gain, ⟨z, r⟩/ρ, by

    e = u·(2‖r‖·s(x)/ρ + √n‖r‖ + s(y)),    u = 8·eps.                                                   (3)

The root of a joint gain is the norm of the vector of such quotients, for one x of A after the other, with an
error of at most the norm of the vector of their e; so is the root of the sum of single gains. For a Gram
matrix, squares are known to u: e = u·(s(x)s(y)/ρ + ‖r‖·s(x)²/ρ² + √n‖r‖). So each pair gives an interval; its
lower end is replaced by λ_min(H_A), see (2), if that is larger, as for joint gains below their error.

An x with ρ > 2u·s(x) is outside the span of T. A closer one is undecided, unless `_dependence` decides. If it
is outside, the joint gain of a set that contains x may have any value up to ‖r‖² (for the r of L), and its
single gain, if T = L, may be zero: the lower bound assumes both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import sparse_eigenvalues as spectra
from sparselin._kernels import submodularity as kernels
from sparselin.guarantees._dependence import exactness
from sparselin.guarantees.set_functions import check_generator
from sparselin.guarantees.set_functions import submodularity_ratio_of as submodularity_ratio_of
from sparselin.guarantees.sparse_eigenvalues import bound_below, default_nodes
from sparselin.linalg.elimination import eliminate
from sparselin.problem import Problem, as_problem
from sparselin.results import IndexArray, SubmodularityRatio
from sparselin.validation import Columns, check_count

# Up to so many pairs enumeration costs less than a bound.
_FEW_PAIRS = 2_000_000
# The largest number of L with a search of their own, for an eigenvalue, or for a pair.
_MOST_BASES, _TRIED_BASES = 1024, 32
# The largest limit for a kernel.
_MOST = 2**62
# Bounds with a smaller relative difference count as equal; a result states it as `rounding`. It must exceed
# the rounding of the bounds, or no search ends; larger, γ is known to fewer digits.
AGREE = 1e-6
# Operations for greedy pairs; it limits the number of columns that they start from.
_GROWTH = 2 * 10**8


def submodularity_ratio(
    X: Any,
    y: ArrayLike | None,
    U: Columns,
    k: int,
    *,
    pair_limit: int | None = None,
    node_limit: int | None = None,
    rng: int | np.random.Generator = 0,
    forced: Columns = (),
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
) -> SubmodularityRatio:
    """The submodularity ratio γ_{U,k}(R²) of a design.

    The largest γ ∈ [0, 1] such that for all L ⊆ U and A with |A| ≤ k, A ∩ L = ∅,

        Σ_{x∈A} [R²(L + x) − R²(L)] ≥ γ·[R²(L ∪ A) − R²(L)]

    (Das and Kempe, *Submodular meets Spectral*, 2011, Definition 2.3; Definition 2 of *Selecting Diverse
    Features via Spectral Regularization*), R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖² uncentred, and 0 for y = 0. Pairs whose
    right bracket is zero, up to 1e-24, are excluded; if all are, γ = 1. Scaling y or columns does not change
    γ.

    With `forced` features F this is γ of S ↦ R²(F ∪ S): over L ⊆ U and A disjoint from F, with F ∪ L for L
    above. It is that of the columns and y projected off those of F, since R²(F ∪ S) − R²(F) is proportional
    to R²(S) of these, and columns in the span of F, to rounding, gain nothing.

    If there are at most `pair_limit` pairs, or a bound excludes the others, all are enumerated.
    Otherwise `lower` is a spectral bound, the least eigenvalue of the residual correlation matrices or of the
    C_{U ∪ A}, both at least λ_min(C, |U| + k) of unit columns; and `upper` is the least ratio found.

    Parameters
    ----------
    X (n, d), y (n,), intercept, standardize, sample_weight (n,) : as for `omp`; or a `Problem` as X, with y
        None.
    U : columns, by index or name, such as the greedy support; may be empty.
    k : the largest |A|, at least 1 (γ = 1 for k = 1); a k > d counts as d. Forced features are not in A.
    pair_limit, node_limit : the numbers of pairs (L, A), and of nodes of each eigenvalue search, by default
        10⁹/d pairs, at least 5 million, and as for `sparse_eigenvalues`: some seconds at most.
    rng : for the choice of L in the search for an upper bound.
    forced : F, by index or name; columns of U may be among them.

    Returns
    -------
    SubmodularityRatio. lower ≤ γ ≤ upper, rounding included; `exact` says whether they agree to a relative
    1e-6. `base` and `added`, without F, attain `upper`; `added` is empty if upper is 1.

    If rounding leaves open whether a column of length 1 is in the span of some of U, at a distance below
    16·eps·√(1 + ‖b‖²) for the coefficients b on them, `lower` is 0. It is decided exactly if the columns are
    ± a power of two times each other, or small integers (not after `sample_weight` multiplied the rows).

    Raises
    ------
    TypeError, ValueError : as for `omp`; U or forced with an index out of range or twice; k or a limit below
        1; an rng that is not a seed or Generator.

    >>> X, y = [[1.0, 0.0, 0.6], [0.0, 1.0, 0.8], [0.0, 0.0, 0.0]], [1.0, 0.0, 0.0]
    >>> ratio = submodularity_ratio(X, y, [0], 2)  # of the columns 1 and 2 only the third says much of y
    >>> round(ratio.lower, 9), ratio.base, ratio.added, ratio.exact
    (0.36, array([], dtype=int64), array([1, 2]), True)
    """
    whole = as_problem(X, y, sample_weight, intercept, standardize)
    problem = eliminate(whole, whole.indices(forced, "forced"))
    J = problem.indices(U, "U")
    k = min(check_count(k, "k", 1), problem.d)
    if pair_limit is None:
        pair_limit = max(5 * 10**6, 10**9 // problem.d)
    if node_limit is None:
        node_limit = default_nodes(problem.d, k)
    pair_limit = min(check_count(pair_limit, "pair_limit", 1), _MOST)
    node_limit = min(check_count(node_limit, "node_limit", 1), _MOST)
    generator = check_generator(rng)
    nonzero = np.flatnonzero(problem.column_norms)
    if problem.y_norm == 0 or len(nonzero) == 0:
        return _result((1.0, 1.0), "every gain is zero", nonzero[:0], nonzero[:0])
    data = _scaled(problem, nonzero, J, k)
    best = kernels.Best(np.array([1.0, 1.0, 0.0]), np.full(len(data.U), -1), np.full(k, -1))
    mu, worst, bound = 0.0, 0.0, ""
    if _count(len(nonzero), len(data.U), k) > min(pair_limit, _FEW_PAIRS):
        mu, worst, bound = _spectral_bound(data, node_limit)
        _improve(data, generator, best)
        best.bounds[kernels.PAIRS] = 0
    kernels.every_base(data, mu, worst, pair_limit, best)
    lower, upper, pairs = best.bounds.tolist()
    base, added = best.base, best.added
    if pairs <= pair_limit:
        cut = " and a bound on the rest" if mu > 0 else ""
        method = f"enumeration of {int(pairs)} pairs{cut}"
        lower = max(lower, mu)
    else:
        method = f"lower: {bound}; upper: the least ratio of {int(pairs)} pairs and a greedy search"
        lower = mu
    return _result((min(lower, upper), upper), method, nonzero[base[base >= 0]], nonzero[added[added >= 0]])


def _result(
    bounds: tuple[float, float], method: str, base: IndexArray, added: IndexArray
) -> SubmodularityRatio:
    lower, upper = bounds
    return SubmodularityRatio(lower, upper, method, np.sort(base), np.sort(added), rounding=AGREE * upper)


def _scaled(problem: Problem, nonzero: IndexArray, J: IndexArray, k: int) -> kernels.UnitColumns:
    """The data as a triangular factor of (X, y), if that has fewer rows."""
    columns = problem.columns(nonzero)
    A = np.empty((problem.n, len(nonzero) + 1), order="F")
    A[:, :-1] = columns
    A[:, -1] = problem.y
    # twice: the first lengths are rounded to the dtype of the problem
    A /= np.append(problem.column_norms[nonzero], problem.y_norm)
    A /= np.sqrt(np.einsum("ij,ij->j", A, A))
    if problem.n > A.shape[1]:
        A = np.asarray(np.linalg.qr(A, mode="r"))
    place = np.full(problem.d, -1)
    place[nonzero] = np.arange(len(nonzero))
    U = place[J]
    U = U[U >= 0]
    rows = np.zeros((A.shape[1], len(A) + len(U) + k))
    rows[:, : len(A)] = A.T
    return kernels.UnitColumns(rows, U, k, len(A), exactness(problem, nonzero))


def _count(d: int, u: int, k: int) -> int:
    """The pairs (L, A), |A| ≥ 2."""
    return sum(
        math.comb(u, l) * math.comb(d - l, a) for l in range(u + 1) for a in range(2, min(k, d - l) + 1)
    )


def _spectral_bound(data: kernels.UnitColumns, node_limit: int) -> tuple[float, float, str]:
    """The best bound of (2) that is found; the joint gain above which it may prune; its name.

    Let λ be the bound by C_{U ∪ A} and κ² = (|U| + k)/λ, so that Σ_{x∈A} s(x)²/ρ_x² ≤ tr (C_{L∪A})⁻¹ ≤ κ² and
    k·s(y)² ≤ k·(1 + 1/λ) ≤ 2κ². By (3) the roots of the joint gain and of the sum of single gains err by at
    most u·(2κ + √2·κ + √(kn)) ≤ E = u·κᵖ·(√n + 4); for a Gram matrix, p = 2, by u·(√2·κ² + κ² + √(kn)). If
    the joint gain is at least (8e6·E)²/λ, the sum, at least λ times that, is at least (8e6·E)², and both are
    known to a relative 3e-7: the sides of the inequality that prunes differ by no more than a relative 1e-6.
    """
    X, U, k = data.Z[:-1, : data.n], data.U, data.k
    u, root, power = data.exact.unit
    d, size = len(X), min(len(U) + k, len(X))
    order = np.append(U, np.setdiff1d(np.arange(d), U))
    C = X[order] @ X[order].T
    # the X of a Gram problem is a Cholesky factor of G, with a relative error of 64·d·eps
    slack = u * (root + d) * size * (8 * d if power == 2 else 1)
    joint = bound_below(C, size, slack, node_limit, len(U), known=0.0).lower
    if joint == 0:
        return 0.0, math.inf, "0, the columns of a U ∪ A being dependent or not proved independent"
    kappa = math.sqrt(size / joint)
    worst = (8e6 * u * (root + 4) * kappa**power) ** 2 / joint
    sharper = _residual_bound(data, node_limit)
    if sharper > joint:
        return sharper, worst, "least eigenvalue of the residual correlation matrices"
    return joint, worst, "least eigenvalue of C_{U ∪ A}, |A| ≤ k"


def _residual_bound(data: kernels.UnitColumns, node_limit: int) -> float:
    """min λ_min(H_A) over L ⊆ U, |A| ≤ k, searched at each L below the least so far; 0 if too long."""
    U, k = data.U, data.k
    least, error, nodes = 1.0, 0.0, 0
    if 2 ** len(U) > _MOST_BASES or k == 1:
        return 0.0 if k > 1 else 1.0
    for L in _subsets(U):
        H, off = kernels.correlations(data, L)
        size = min(k, len(H))
        error = max(error, 3 * (2 * off + data.exact.unit.u * len(H)) * size)
        if error == math.inf:
            return 0.0
        if size < 2:
            continue
        support = np.full(size, -1)
        if size == len(H):
            least = min(least, float(np.linalg.eigvalsh(H)[0]))
            continue
        least, done, used = spectra.search(H, size, 0, least, error, node_limit - nodes, support)
        nodes += used
        if not done or nodes >= node_limit:
            return 0.0
    return max(0.0, least - 2 * error)


def _subsets(U: IndexArray) -> Iterator[IndexArray]:
    for size in range(len(U) + 1):
        for L in itertools.combinations(U.tolist(), size):
            yield np.array(L, np.int64)


def _improve(data: kernels.UnitColumns, rng: np.random.Generator, best: kernels.Best) -> None:
    """Ratios of greedy A, at every L ⊆ U, or at the prefixes of U and random L."""
    U, d = data.U, len(data.Z) - 1
    bases = list(_subsets(U)) if 2 ** len(U) <= _TRIED_BASES else [U[:l] for l in range(len(U) + 1)]
    while len(bases) < _TRIED_BASES and len(U) > 5:
        bases.append(U[rng.random(len(U)) < rng.random()])
    stride = 1 + len(bases) * d * d * data.n * data.k // _GROWTH
    for L in bases:
        if kernels.grow(data, L, stride, best):
            best.base[:] = -1
            best.base[: len(L)] = L
