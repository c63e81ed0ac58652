"""Extreme eigenvalues of all k × k principal submatrices of C = XᵀX, exactly or in certified intervals.

For a symmetric matrix M let M_S be the submatrix with the rows and columns S, and λ_min(M, k) the least
eigenvalue of M_S over all S with at most k elements. Because λ_max(C, k) = −λ_min(−C, k), it suffices to
compute λ_min(M, k) for M = C and M = −C. By Cauchy's interlacing S ⊆ T implies λ_min(M_S) ≥ λ_min(M_T). So
sets of exactly min(k, d) elements suffice.

**Search.** Let A = M − θI. Then θ ≤ λ_min(M, k) if and only if A_S is positive semidefinite for all sets S of
k elements. θ is kept a little below the least λ_min(M_S) found so far, and sets P are extended by one element
at a time. Let Q be the candidates outside P, and W = A_QQ − A_QP A_P⁻¹ A_PQ the Schur complement. For S ⊇ P,
A_S is positive definite if and only if A_P and the submatrix of W on S∖P are positive definite. A diagonal
entry W_qq ≤ 0 gives a set S with an eigenvalue of M_S below θ. If two elements remain to be added, a pair
with W_qr² ≥ W_qq·W_rr also gives such a set. In these cases θ is reduced and W recomputed. Otherwise it
suffices to add the candidates of one of the following two lists to P. For every S ⊇ P without these
candidates, A_S is proved positive definite.

- The candidates outside a set G for which W_GG is positive definite. G comes from a pivoted Cholesky
  factorisation. By interlacing, every principal submatrix of W_GG is positive definite too.
- The candidates q for which the sum of the largest k − |P| − 1 terms |W_qr|/√(W_qq·W_rr), r ≠ q, is at least
  1. To see that these suffice, scale W to unit diagonal. If a submatrix on S∖P has an eigenvector for an
  eigenvalue ≤ 0, the largest entry of this eigenvector belongs to one of these candidates (Gershgorin's
  argument).

**Rounding.** Positive pivots in a Cholesky factorisation of A_T, T ⊇ S, prove that A_S + E is positive
definite for some E with |E_ij| ≤ (|T| + 1)·eps·√(A_ii·A_jj). So ‖E‖ ≤ (d + 1)·eps·tr A_S, whatever the
condition number (Higham, *Accuracy and Stability*, 2002, Theorem 10.3). The error of C_S is at most
8·eps·√n·tr C_S. Lower bounds are decreased, and upper bounds increased, by three times `slack`, which is
8·eps·(√n + d) times a bound on these traces.

**Bounds without a search.** Let the diagonal of M lie in [a, b]. There are three lower bounds on λ_min(M, k):

- λ_min(M) (interlacing);
- min_i M_ii − Σ of the k − 1 largest |M_ij| (Gershgorin);
- t·λ_min(M, j) − (t − 1)·b for j ≤ k and t = (k − 1)/(j − 1) (j = 2 is used).

Proof of the last bound: Let v be a unit eigenvector of M_S for the eigenvalue λ, α = Σ M_ii·v_i² and ω = λ −
α. Over all subsets T of S with j elements, v_Tᵀ M_T v_T has the mean (j/k)·(α + ω/t), and ‖v_T‖² has the mean
j/k. Because v_Tᵀ M_T v_T ≥ λ_min(M, j)·‖v_T‖², α + ω/t ≥ λ_min(M, j). So λ = α + ω ≥ t·λ_min(M, j) − (t −
1)·α. Between the best of these bounds and the least λ_min(M_S) found, θ is bisected, because searches at a
lower θ visit fewer nodes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin._kernels import sparse_eigenvalues as kernels
from sparselin.guarantees.coherence import columns_of, cumulative
from sparselin.parallel.threads import limit_blas
from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.errors import EPS, product_error
from sparselin.problem.memory import check_memory
from sparselin.problem.support import no_operator
from sparselin.results import FloatArray, IndexArray, Interval, SparseEigenvalues
from sparselin.validation import check_count

# The range of the largest entry of X, in which determinants of pairs (fourth powers) do not over- or
# underflow.
_RANGE = 1e-70, 1e70
# The largest number of entries in the Schur complements of a search: 1 GiB.
_STORE = 2**27
_BISECTIONS = 5
# The largest number of operations to find the first set: about two seconds.
_SEARCHED = 3e9


class _Bounds(NamedTuple):
    """A lower and an upper bound on the least eigenvalue of M_S over sets S of k elements.

    lower, method : the lower bound, and the method that found it.
    value, support : the upper bound λ_min(M_S), and the set S at which it is attained.
    """

    lower: float
    value: float
    support: IndexArray
    method: str


@suggest_names
def sparse_eigenvalues(X: Any, k: int, *, node_limit: int | None = None) -> SparseEigenvalues:
    """Compute the extreme eigenvalues of the Gram matrices C_S of all sets S of at most k columns of X.

        λ_min(C, k) = min_{|S| ≤ k} λ_min(C_S),    λ_max(C, k) = max_{|S| ≤ k} λ_max(C_S)

    Here C = XᵀX, and C_S = X_SᵀX_S. These two numbers are the best constants with
    λ_min(C, k)·‖v‖² ≤ ‖Xv‖² ≤ λ_max(C, k)·‖v‖² for every v with at most k nonzeros. X is not rescaled. For
    unit columns the larger of 1 − λ_min and λ_max − 1 is the restricted isometry constant. A k > d counts as
    d, so the results are then the extreme eigenvalues of C. λ_min(C, k) is 0 if a column is zero, if k ≥ 2
    and two columns are parallel, or if k > n. The problem is NP-hard. For a Gaussian design with a few
    million sets, branch and bound takes some hundredths of a second.

    Parameters
    ----------
    X : design (n, d): an array, SciPy sparse matrix or frame; or a `Problem`. float32 is computed in float64.
    k : the largest number of columns in a set, at least 1.
    node_limit : the largest number of nodes of each search. The default is 10¹⁰/d³, or 10¹⁰/d² for k ≤ 3, but
        at least 10 and at most 50,000: this takes some seconds, and more if k is in the hundreds. If the
        limit is reached, the interval is wider, but still valid.

    Returns
    -------
    SparseEigenvalues. `lambda_min` and `lambda_max` are intervals that contain the eigenvalues in spite of
    rounding errors, which are about 8·eps·(√n + d)·tr C_S (eps is the machine epsilon). Their `method` says
    whether a search was complete. `babel` and `coherence` are computed for the nonzero columns, scaled to
    unit length (Tropp, *Greed is good*, 2004).

    Raises
    ------
    TypeError : X is not numeric, or k or node_limit is not an integer.
    ValueError : X is not a finite matrix, its largest entry is neither 0 nor between 1e-70 and 1e70, k < 1,
        or node_limit < 1.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> spectrum = sparse_eigenvalues(X, 2)
    >>> round(spectrum.lower, 12), spectrum.lambda_min_support, round(spectrum.upper, 12)
    (0.2, array([1, 2]), 1.8)
    >>> spectrum.coherence, spectrum.babel.round(12)
    (0.8, array([0.8, 1.4]))
    """
    X, eps = _design(X)
    n, d = X.shape
    k = min(check_count(k, "k", 1), d)
    node_limit = check_limit(node_limit, "node_limit", default_nodes(d, k))
    check_memory((d, d), np.float64, "The Gram matrix of X")
    with limit_blas(X.size):
        C = X.T @ X
        C = np.ascontiguousarray(C if isinstance(C, np.ndarray) else C.toarray())
        trace = float(np.sort(C.diagonal())[d - k :].sum())
        unit = product_error(n, eps, d)
        slack = unit * trace, unit * (trace + k * min(trace, float(np.linalg.norm(C))))
        low = bound_below(C, k, slack[0], node_limit, known=0.0)
        high = bound_below(-C, k, slack[1], node_limit)
        (smallest, _), (_, largest) = (_singular_bounds(X, end.support, eps) for end in (low, high))
    least = Interval(max(0.0, min(low.lower, smallest)), smallest, low.method, rounding=8 * slack[0])
    most = Interval(largest, max(-high.lower, largest), high.method, rounding=8 * slack[1])
    babel = cumulative(X, k)
    coherence = float(babel[0]) if np.count_nonzero(C.diagonal()) > 1 else math.nan
    condition = _quotient(most, least)
    return SparseEigenvalues(k, least, most, low.support, high.support, condition, coherence, babel)


def check_limit(limit: int | None, name: str, default: int) -> int:
    """Check that a limit of a search is a positive integer or None, for the default; return at most 2⁶²."""
    return min(default if limit is None else check_count(limit, name, 1), 2**62)


def default_nodes(d: int, k: int) -> int:
    """Return the default node limit of `sparse_eigenvalues`: 10¹⁰ operations, but 10 to 50,000 nodes.

    A node costs d² operations. If three or more elements remain to be chosen, it costs more, because a part
    of a Cholesky factorisation is computed too.
    """
    return int(min(50_000, max(10, 10**10 // (d**2 if k <= 3 else d**3))))


def _design(X: Any) -> tuple[Any, float]:
    """Return X in float64, and the relative error of the entries of XᵀX. The range of X is checked."""
    if isinstance(X, Problem):
        if not X.has_columns:
            raise no_operator()
        eps = X.errors.gram_eps
        X = X.X.astype(np.float64, copy=False)
    else:
        eps = EPS
        X = columns_of(X)
    top = float(abs(X).max())
    if top and not _RANGE[0] < top < _RANGE[1]:
        raise ValueError(
            f"the fourth powers of X must be within the range of floats; its largest entry is {top:g}. "
            "Scale X by a power of two; eigenvalues scale by its square."
        )
    return X, eps


def bound_below(
    M: FloatArray, k: int, slack: float, node_limit: int, fixed: int = 0, known: float = -math.inf
) -> _Bounds:
    """Search for the least eigenvalue of M_S over sets S of k ≤ d elements, and bound it from both sides.

    All sets contain the elements 0, …, fixed − 1.

    slack : a bound on the rounding error of λ_min(M_S).
    known : a lower bound on the minimum that is already known.
    """
    d = len(M)
    if k == 1 and fixed == 0:
        i = int(np.argmin(M.diagonal()))
        return _Bounds(max(known, float(M[i, i]) - slack), float(M[i, i]), np.array([i]), "the diagonal")
    value, support = _incumbent(M, k, fixed)
    if k in (d, fixed):
        return _Bounds(max(known, value - slack), value, np.sort(support), "the only set")
    if value <= known + slack:
        method = f"{known:g}, a lower bound that is attained up to rounding"
        return _Bounds(known, value, np.sort(support), method)
    done, nodes = False, 0
    if k * d * d <= _STORE:
        value, done, nodes = kernels.search(M, k, fixed, value, 2 * slack, node_limit, support)
    support = np.sort(support[support >= 0])
    if done:
        return _Bounds(max(known, value - 3 * slack), value, support, f"branch and bound, {nodes} nodes")
    lower, method = _relaxations(M, k, slack)
    lower = max(lower, known)
    return _bisect(M, k, slack, node_limit, fixed, _Bounds(lower, value, support, method))


def _incumbent(M: FloatArray, k: int, fixed: int) -> tuple[float, IndexArray]:
    """Return λ_min(M_S) and S for a set S of k elements with a small λ_min(M_S), from which a search starts.

    S is selected greedily and improved by rounds of exchanges, of k³(k + d) operations each. If even one
    round takes too long, S consists of the positions of the k largest entries of the eigenvector of λ_min(M).
    """
    support = np.empty(k, np.int64)
    rounds = int(min(2 if len(M) <= 16 else 5, _SEARCHED / (k**3 * (k + len(M)))))
    if rounds:
        return float(kernels.incumbent(M, k, fixed, support, rounds)), support
    size = np.abs(np.linalg.eigh(M)[1][:, 0])
    size[:fixed] = np.inf
    support[:] = np.argsort(-size, kind="stable")[:k]
    return float(np.linalg.eigvalsh(M[np.ix_(support, support)])[0]), support


def _relaxations(M: FloatArray, k: int, slack: float) -> tuple[float, str]:
    """Return the largest of three lower bounds on λ_min(M, k) that need no search, and its name.

    λ_min(M, k) is the least eigenvalue of M_S over sets S of k elements, 1 < k < d.

    slack : a bound on the rounding error of λ_min(M_S). For λ_min(M) the slack is multiplied by d/k, because
        tr M ≤ (d/k)·max tr M_S.
    """
    diagonal = M.diagonal()
    others = np.abs(M - np.diag(diagonal))
    radius = -np.partition(-others, k - 2, axis=1)[:, : k - 1].sum(axis=1)
    pairs = (diagonal[:, None] + diagonal) / 2 - np.hypot((diagonal[:, None] - diagonal) / 2, others)
    np.fill_diagonal(pairs, np.inf)
    bounds = [
        (float(np.linalg.eigvalsh(M)[0]) - slack * len(M) / k, "interlacing with all columns"),
        (float((diagonal - radius).min()) - slack, "Gershgorin"),
        ((k - 1) * float(pairs.min() - slack) - (k - 2) * float(diagonal.max()), "averages over pairs"),
    ]
    return max(bounds)


def _bisect(M: FloatArray, k: int, slack: float, node_limit: int, fixed: int, known: _Bounds) -> _Bounds:
    """Increase the lower bound in `known` by bisection; each search may visit at most node_limit/4 nodes."""
    lower, value, support, method = known
    top = value
    for _ in range(_BISECTIONS if k * M.shape[0] ** 2 <= _STORE else 0):
        theta = (lower + top) / 2
        found = np.full(k, -1)
        better, done, _ = kernels.search(M, k, fixed, value, value - theta, max(1, node_limit // 4), found)
        if better < value:
            value = better
            support = np.sort(found[found >= 0])
            continue
        if done:
            lower = theta - slack
            method = "branch and bound below the incumbent"
        else:
            top = theta
    return _Bounds(lower, value, support, f"{method}; the node limit was reached")


def _singular_bounds(X: Any, support: IndexArray, eps: float) -> tuple[float, float]:
    """Return an upper bound on σ_min(X_S)² and a lower bound on σ_max(X_S)².

    The error of a computed singular value is at most 8·eps·(√n + k)·σ_max, for k columns.
    """
    block = X[:, support]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    sigma = np.linalg.svd(block, compute_uv=False)
    error = product_error(len(block), eps, len(support)) * float(sigma[0])
    least = float(sigma[-1]) if len(support) <= len(block) else 0.0
    return (least + error) ** 2, max(0.0, float(sigma[0]) - error) ** 2


def _quotient(most: Interval, least: Interval) -> Interval:
    """Return bounds on λ_max/λ_min from bounds on λ_max and λ_min; the ratio is infinite if λ_min is 0."""
    lower = most.lower / least.upper if least.upper > 0 else math.inf
    upper = most.upper / least.lower if least.lower > 0 else math.inf
    return Interval(lower, upper, "the bounds on λ_max and λ_min")
