"""The submodularity ratio of R²: the exact value by enumeration, or certified bounds.

Columns are scaled to unit length first, because R² depends only on spans. Let L + x be the set L with x
added. γ_{U,k} is the least ratio of Σ_{x∈A} [R²(L + x) − R²(L)], a sum of single gains, to R²(L ∪ A) − R²(L),
the joint gain, over all L ⊆ U and all A with |A| ≤ k. For L ⊆ U and x ∉ L let ρ_x = ‖P_L^⊥X_x‖,
z_x = P_L^⊥X_x/ρ_x, r = P_L^⊥y and c_x = ⟨z_x, r⟩. The matrix H = (⟨z_x, z_x'⟩) is called the **residual
correlation matrix**, and H_A is its submatrix for the columns A. Then

    R²(L + x) − R²(L) = c_x²/‖y‖²,    R²(L ∪ A) − R²(L) = c_Aᵀ H_A⁻¹ c_A/‖y‖².                          (1)

**Independent A suffice.** If a column of A is in the span of L and the rest of A, removing this column from A
keeps the joint gain and does not increase the sum of the single gains. Likewise, if u is in the span of L,
every ratio of L + u is a ratio of L.

**Spectral bound** (unit columns, A independent given L). By (1) the ratio is ‖c_A‖²/(c_Aᵀ H_A⁻¹ c_A), so

    γ_{U,k} ≥ min_{L,A} λ_min(H_A) ≥ min_{|A| ≤ k} λ_min(C_{U ∪ A}) ≥ λ_min(C, |U| + k).                  (2)

C is the correlation matrix of the columns. For the second inequality let Σ = C_AA − C_AL C_L⁻¹ C_LA = diag(ρ)
H_A diag(ρ). The inverse of Σ is a principal submatrix of (C_{L∪A})⁻¹, so λ_min(Σ) ≥ λ_min(C_{L∪A}). As
ρ_x ≤ 1, vᵀH_A v = (v/ρ)ᵀΣ(v/ρ) ≥ λ_min(Σ)·‖v/ρ‖² ≥ λ_min(Σ)·‖v‖². By interlacing,
λ_min(C_{L∪A}) ≥ λ_min(C_{U∪A}). The last term of (2) is the bound of Das and Kempe, *Submodular meets
Spectral* (2011, Lemma 2.4). R² does not depend on the scale of the columns, so (2) holds for any X, with C
the (uncentred) correlation matrix of the nonzero columns. Zero columns gain nothing.

**Pruning.** Can a pair (L, A ∪ B) have a ratio below a given g? Let A have s elements, let B be a set of at
most k − s others, and let h_x be the gain in R² if x is added to L ∪ A. Let μ be the bound of (2). For the
same reason as above, the residual correlation matrix after L ∪ A has no eigenvalue below μ. So R²(L ∪ A ∪
B) − R²(L ∪ A) ≤ Σ_{x∈B} h_x/μ. Let y be scaled to length 1, and let B be the set for which Σ_{x∈B}
(g·h_x/μ − c_x²)₊ is largest. If this sum is at most Σ_{x∈A} c_x² − g·[R²(L ∪ A) − R²(L)], no pair (L, A ∪ B)
has a ratio below g.

**Rounding.** Let all columns and y have length 1. Let b be the coefficients of x on a set T, z = P_T^⊥X_x and
s(x)² = 1 + ‖b‖². Let a be the coefficients of y on T, r = P_T^⊥y and s(y)² = 1 + ‖a‖². One pass of modified
Gram-Schmidt suffices: it gives the exact R of columns perturbed by some eps (Björck, 1967), even if the basis
is far from orthogonal. Let F be the errors of the columns. To first order they change z by Fb and r by Fa, up
to vectors in the span of T. So, with u = 8·eps, they change ρ = ‖z‖ by u·s(x), ⟨z, r⟩ by u·(s(x)‖r‖ + ρ·s(y)
+ √n·ρ‖r‖), and the square root of a gain, ⟨z, r⟩/ρ, by

    e = u·(2‖r‖·s(x)/ρ + √n‖r‖ + s(y)),    u = 8·eps.                                                   (3)

If the columns x of A are added one after the other, the joint gain is the sum of the squares of these
quotients. So the error of its square root is at most the norm of the vector of the errors e. The same holds
for the square root of the sum of single gains. For a Gram matrix, squares have errors of at most u, and
e = u·(s(x)s(y)/ρ + ‖r‖·s(x)²/ρ² + √n‖r‖). So each pair gives an interval for its ratio. The lower end of the
interval is replaced by λ_min(H_A) of (2) if this eigenvalue is larger, for example if a joint gain is below
its error.

A column x with ρ > 2u·s(x) is outside the span of T. If x is closer to the span, rounding leaves open whether
x is outside, unless `subsets.dependence` decides it. Suppose that it is open. If x is in fact outside, the
joint gain of a set that contains x may have any value up to ‖P_L^⊥y‖², and the single gain of x, for T = L,
may be zero. The lower bound allows for both.
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
from sparselin.guarantees.set_functions import submodularity_ratio_of as submodularity_ratio_of
from sparselin.guarantees.sparse_eigenvalues import bound_below, check_limit, default_nodes
from sparselin.linalg.elimination import eliminate
from sparselin.problem import Problem, as_problem
from sparselin.problem.argument_names import suggest_names
from sparselin.results import IndexArray, SubmodularityRatio
from sparselin.subsets.unit_data import UnitData
from sparselin.validation import Columns, check_count, check_generator

# Up to this number of pairs, enumeration costs less than a bound.
_FEW_PAIRS = 2_000_000
# The largest numbers of sets L for which an eigenvalue, or a greedy pair, is searched separately.
_MOST_BASES, _TRIED_BASES = 1024, 32
# Bounds with a smaller relative difference count as equal; a result reports this difference as `rounding`. It
# must exceed the rounding errors of the bounds, because otherwise no search would end. With a larger value γ
# would have fewer digits.
AGREE = 1e-6
# The number of operations for greedy pairs, which limits the number of columns from which they start.
_GROWTH = 2 * 10**8


@suggest_names
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
    """Compute the submodularity ratio γ_{U,k}(R²) of a design, or bounds on it.

    γ_{U,k} is the largest γ ∈ [0, 1] such that, for all L ⊆ U and all A with |A| ≤ k and A ∩ L = ∅,

        Σ_{x∈A} [R²(L + x) − R²(L)] ≥ γ·[R²(L ∪ A) − R²(L)]

    (Das and Kempe, *Submodular meets Spectral*, 2011, Definition 2.3; Definition 2 of *Selecting Diverse
    Features via Spectral Regularization*). L + x is L with x added. On the left is the sum of the gains of
    the single columns of A; on the right is the gain of all columns of A together. Here
    R²(S) = 1 − ‖P_S^⊥y‖²/‖y‖², where P_S^⊥y is the residual of least squares on S. R² is uncentred, and 0 for
    y = 0. Pairs whose right bracket is zero, up to 1e-24, are excluded. If all pairs are excluded, γ = 1.
    Scaling y or columns does not change γ.

    With `forced` features F the result is the γ of the function S ↦ R²(F ∪ S), where L ⊆ U and A are disjoint
    from F. It equals the γ of the columns and y projected off the columns of F, because R²(F ∪ S) − R²(F) is
    proportional to the R²(S) of the projected data. Columns in the span of F, up to rounding, gain nothing.

    If there are at most `pair_limit` pairs that no bound excludes, γ is found by enumeration of these pairs.
    Otherwise `upper` is the least ratio that was found, and `lower` is the larger of two spectral bounds. The
    first one uses the correlation matrix of the columns of A projected off L; it is the least eigenvalue of
    these matrices over all pairs (L, A). The second one is the least eigenvalue of C_{U ∪ A} over all A,
    where C is the correlation matrix of the columns. Both are at least λ_min(C, |U| + k)
    (`sparse_eigenvalues`).

    Parameters
    ----------
    X (n, d), y (n,), intercept, standardize, sample_weight (n,) : as for `omp`; or a `Problem` as X, with y
        None.
    U : columns, by index or name, for example the support of a greedy selection; may be empty.
    k : the largest |A|, at least 1 (γ = 1 for k = 1); a k > d counts as d. Forced features are not in A.
    pair_limit : the largest number of pairs (L, A); by default 10⁹/d, at least 5 million: some seconds.
    node_limit : the largest number of nodes of each eigenvalue search; by default as for
        `sparse_eigenvalues`.
    rng : seed, or generator, of the random L in the search for an upper bound.
    forced : F, by index or name; columns of U may be among them.

    Returns
    -------
    SubmodularityRatio. lower ≤ γ ≤ upper holds in spite of rounding; `exact` says whether `lower` and `upper`
    agree to a relative 1e-6. The pair L = `base`, A = `added`, both without F, attains `upper`; `added` is
    empty if `upper` is 1.

    `lower` is 0 if rounding leaves open whether a column is in the span of columns of U. This happens if the
    column, scaled to length 1, has a distance below 16·eps·√(1 + ‖b‖²) from the span, where b are its
    coefficients on these columns and eps is the machine epsilon. For two kinds of columns the question is
    decided exactly: columns that are ± a power of two times each other, and columns of small integers (unless
    `sample_weight` multiplied the rows).

    Raises
    ------
    TypeError, ValueError : as for `omp`; U or forced has a repeated index, or an index out of range; k or a
        limit is below 1; rng is not a seed or Generator.

    >>> X, y = [[1.0, 0.0, 0.6], [0.0, 1.0, 0.8], [0.0, 0.0, 0.0]], [1.0, 0.0, 0.0]
    >>> ratio = submodularity_ratio(X, y, [0], 2)
    >>> round(ratio.lower, 9), ratio.base, ratio.added, ratio.exact
    (0.36, array([], dtype=int64), array([1, 2]), True)
    """
    given: dict[str, Any] = {"intercept": intercept, "standardize": standardize}
    whole = as_problem(X, y, sample_weight=sample_weight, **given)
    first, J = whole.indices(forced, "forced"), whole.indices(U, "U")
    problem = eliminate(whole, first)
    k = min(check_count(k, "k", 1), problem.d)
    pair_limit = check_limit(pair_limit, "pair_limit", max(5 * 10**6, 10**9 // problem.d))
    node_limit = check_limit(node_limit, "node_limit", default_nodes(problem.d, k))
    generator = check_generator(rng)
    nonzero = np.flatnonzero(problem.column_norms)
    if problem.y_norm == 0 or len(nonzero) == 0:
        return _result((1.0, 1.0), "every gain is zero", nonzero[:0], nonzero[:0])
    data = _unit_columns(problem, nonzero, J, k)
    best = kernels.Best(np.array([1.0, 1.0, 0.0]), np.full(len(data.U), -1), np.full(k, -1))
    mu = 0.0
    worst = 0.0
    bound = ""
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


def _result(bounds: tuple[float, float], method: str, L: IndexArray, A: IndexArray) -> SubmodularityRatio:
    lower, upper = bounds
    return SubmodularityRatio(lower, upper, method, np.sort(L), np.sort(A), rounding=AGREE * upper)


def _unit_columns(problem: Problem, nonzero: IndexArray, J: IndexArray, k: int) -> kernels.UnitColumns:
    """Return the nonzero columns and y, scaled to unit length, for the kernels; J are the columns of U."""
    data = UnitData.by_length(problem, nonzero, twice=True)
    U = data.place[J]
    n = len(data.y)
    U = U[U >= 0]
    rows = np.zeros((data.d + 1, n + len(U) + k))
    rows[:-1, :n] = data.X.T
    rows[-1, :n] = data.y
    return kernels.UnitColumns(rows, U, k, n, data.exact)


def _count(d: int, u: int, k: int) -> int:
    """Count the pairs (L, A) of disjoint sets of d columns with L ⊆ U and 2 ≤ |A| ≤ k, where |U| = u."""
    choose = math.comb
    return sum(choose(u, l) * choose(d - l, a) for l in range(u + 1) for a in range(2, min(k, d - l) + 1))


def _spectral_bound(data: kernels.UnitColumns, node_limit: int) -> tuple[float, float, str]:
    """Return a lower bound on the submodularity ratio, the least joint gain for its use, and its name.

    The lower bound is the best of the bounds (2) in the docstring of the module, where C is the correlation
    matrix of the columns. It excludes pairs (L, A) only if their joint gain is at least the second result.
    Let λ = min_A λ_min(C_{U ∪ A}) and κ² = (|U| + k)/λ. Then, with the sizes s and lengths ρ of the module,
    Σ_{x∈A} s(x)²/ρ_x² ≤ tr (C_{L∪A})⁻¹ ≤ κ² and k·s(y)² ≤ k·(1 + 1/λ) ≤ 2κ².

    How accurate must a joint gain be? By (3) the square roots of the joint gain and of the sum of single
    gains have errors of at most u·(2κ + √2·κ + √(kn)) ≤ E with E = u·κᵖ·(√n + 4) and p = 1. For a Gram
    matrix, let p = 2; then the errors are at most u·(√2·κ² + κ² + √(kn)) ≤ E. Let the joint gain be at least
    (8e6·E)²/λ. Then the sum of single gains, which is at least λ times the joint gain, is at least (8e6·E)².
    So the relative errors of the joint gain and of the sum are at most 3e-7, and the relative errors of the
    two sides of the inequality for pruning are at most 1e-6.
    """
    X = data.Z[:-1, : data.n]
    U, k = data.U, data.k
    u, root, of_squares = data.exact.unit
    d = len(X)
    size = min(len(U) + k, len(X))
    order = np.append(U, np.setdiff1d(np.arange(d), U))
    C = X[order] @ X[order].T
    # the X of a Gram problem is a Cholesky factor of G, with a relative error of 64·d·eps
    slack = u * (root + d) * size * (8 * d if of_squares else 1)
    joint = bound_below(C, size, slack, node_limit, len(U), known=0.0).lower
    if joint == 0:
        return 0.0, math.inf, "0, because the columns of some U ∪ A are not proved to be independent"
    kappa = math.sqrt(size / joint)
    worst = (8e6 * u * (root + 4) * (kappa**2 if of_squares else kappa)) ** 2 / joint
    sharper = _residual_bound(data, node_limit)
    if sharper > joint:
        return sharper, worst, "least eigenvalue of the residual correlation matrices"
    return joint, worst, "least eigenvalue of C_{U ∪ A}, |A| ≤ k"


def _residual_bound(data: kernels.UnitColumns, node_limit: int) -> float:
    """Return a lower bound on the least eigenvalue of H_A over L ⊆ U and |A| ≤ k.

    H_A is the correlation matrix of the columns of A projected off L. For each L the search looks only for
    eigenvalues below the least one found so far. The result is 0 if the search takes too long.
    """
    U, k = data.U, data.k
    least = 1.0
    error = 0.0
    nodes = 0
    if 2 ** len(U) > _MOST_BASES or k == 1:
        return 0.0 if k > 1 else 1.0
    for L in _subsets(U):
        rows, off = kernels.correlations(data, L)
        H = rows @ rows.T
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
    """Yield all subsets of U, by size."""
    for size in range(len(U) + 1):
        for L in itertools.combinations(U.tolist(), size):
            yield np.array(L, np.int64)


def _improve(data: kernels.UnitColumns, rng: np.random.Generator, best: kernels.Best) -> None:
    """Search for a smaller ratio of single to joint gains with greedy sets A, and store it in `best`.

    The sets L are all subsets of U if there are few, otherwise the first columns of U and some random
    subsets.
    """
    U = data.U
    d = len(data.Z) - 1
    bases = list(_subsets(U)) if 2 ** len(U) <= _TRIED_BASES else [U[:l] for l in range(len(U) + 1)]
    while len(bases) < _TRIED_BASES and len(U) > 5:
        bases.append(U[rng.random(len(U)) < rng.random()])
    stride = 1 + len(bases) * d * d * data.n * data.k // _GROWTH
    for L in bases:
        if kernels.grow(data, L, stride, best):
            best.base[:] = -1
            best.base[: len(L)] = L
