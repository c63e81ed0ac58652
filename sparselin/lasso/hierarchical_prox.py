"""LassoNet's proximal operators, which shrink a linear weight and the first-layer weights that it bounds.

For one feature with linear weights v ∈ ℝᵖ and first-layer weights u ∈ ℝᴷ the problem is

    minimise  ½‖v − b‖² + ½‖u − z‖² + λ‖b‖   subject to  ‖z‖∞ ≤ M‖b‖.

This is problem (3) of the LassoNet paper for p = 1, and problem (4) for larger p. It is not convex. But for a
fixed t = ‖b‖ the best z is sign(u)·min(|u|, Mt), and the best b is t·v/‖v‖ (any b of length t if v = 0).
Write a₊ for max(a, 0). Up to a constant, the objective is then this function of t,

    φ(t) = ½(‖v‖ − t)² + λt + ½Σ_k (|u_k| − Mt)₊²,    φ'(t) = t − (‖v‖ − λ) − M·Σ_k (|u_k| − Mt)₊,

which is strictly convex on t ≥ 0. Its minimiser t* is 0 if ‖v‖ + M‖u‖₁ ≤ λ, and otherwise the zero of φ'.
Sort the |u_k| in decreasing order. Let S_m be the sum of the first m of them, and t_m = (‖v‖ − λ + M·S_m)/(1
+ mM²). Then

    t* = max(0, t_0, …, t_K).

Proof: Σ_k (|u_k| − Mt)₊ ≥ S_m − mMt, with equality if exactly the first m of the |u_k| exceed Mt. So φ'(t*) =
0 gives (1 + mM²)t* ≥ ‖v‖ − λ + M·S_m for all m, with equality for one m. The paper's Algorithms 2 and 4 write
w_m for M·t_m. The minimiser is unique unless v = 0 and t* > 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels.hierarchical_prox import shrink
from sparselin.parallel.threads import spread, workers
from sparselin.problem.errors import eps_of
from sparselin.problem.labels import check_same_rows
from sparselin.results import FloatArray, HierarchicalProx, IndexArray
from sparselin.validation import check_finite, check_level, to_array, to_numeric


def hier_prox(theta: ArrayLike, W: ArrayLike, *, lam: float, M: float) -> HierarchicalProx:
    """Apply LassoNet's proximal operator Hier-Prox to the weights of each feature.

    For the linear weight theta_j and the first-layer weights W_j of feature j, the operator returns the b and
    z that solve

        minimise  ½(theta_j − b)² + ½‖W_j − z‖² + λ|b|   subject to  ‖z‖∞ ≤ M|b|.

    This is problem (3) of *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021). Let
    |W_(j,1)| ≥ |W_(j,2)| ≥ … be the sorted entries of row j. The solution is

        |b| = max(0, max_{0≤m≤K} (|theta_j| − λ + M·(|W_(j,1)| + … + |W_(j,m)|))/(1 + mM²)),
        b = sign(theta_j)·|b|,    z = sign(W_j)·min(|W_j|, M|b|).

    The paper's Algorithm 2, Hier-Prox, computes this solution unless theta_j = 0 or M = 0. If theta_j = 0,
    both signs of b are optimal, and b ≥ 0 is returned. M = 0 gives soft-thresholding of theta and W = 0. As
    M → ∞, the limit is soft-thresholding of theta with W unchanged. If |theta_j| ≤ λ and W_j ≠ 0, the limit
    is not feasible for any M, so the problem with M = ∞ has no minimiser.

    On the set of weights with theta_j ≥ 0 the operator is firmly nonexpansive, because there it is the
    proximal operator of a convex function. The same holds on the set with theta_j < 0. Between the two sets
    the operator jumps if λ < M‖W_j‖₁. The cost is O(dK log K) at worst. If few entries are clipped, it is a
    few passes over W.

    Parameters
    ----------
    theta : (d,) linear weights. If theta and W are float32, so is the result; otherwise it is float64.
    W : (d, K) first-layer weights, K ≥ 0, one **row** per feature (the transpose of
        `torch.nn.Linear.weight`).
    lam : λ ≥ 0. Within a proximal gradient method, pass λ times the step size.
    M : the hierarchy coefficient, ≥ 0 and finite; for float32 data it is rounded down to float32.

    Returns
    -------
    `HierarchicalProx`. |W| ≤ M|theta| holds exactly, as real numbers and as floats. Let m attain the maximum
    above, let S_m be the sum of the m largest |W_jk|, and eps the machine epsilon. The error of |b| is at
    most a small multiple of eps·(|theta_j| + λ + M·S_m)/(1 + mM²); subnormal |b| are accurate to their
    spacing. Except for subnormal numbers, no bit changes when theta, W and λ are scaled by a power of two, or
    when the entries of W_j are reordered.

    Raises
    ------
    TypeError : an argument is not numeric (complex, strings, objects).
    ValueError : wrong shapes, NaN or infinity (also for M), negative lam or M, or a |b| beyond the range of
        floats.

    >>> step = hier_prox([3.0, 0.5], [[4.0, 1.0], [-0.25, 0.25]], lam=1.0, M=1.0)
    >>> step.theta, step.W, step.active, step.n_clipped
    (array([3., 0.]), array([[3., 1.],
           [0., 0.]]), array([0]), array([1, 2]))
    """
    v, w, lam, M = _check(theta, W, "theta", 1, lam, M)
    b = v[:, None]
    n_clipped = _shrink(b, w, lam, M, 0.0)
    return HierarchicalProx(theta=v, W=w, active=np.flatnonzero(v), n_clipped=n_clipped)


def group_hier_prox(Theta: ArrayLike, W: ArrayLike, *, lam: float, M: float) -> HierarchicalProx:
    """Apply LassoNet's proximal operator Group-Hier-Prox to the weights of each feature.

    This is `hier_prox` for several outputs: feature j has a vector of linear weights, Theta_j. The operator
    returns the b and z that solve

        minimise  ½‖Theta_j − b‖² + ½‖W_j − z‖² + λ‖b‖   subject to  ‖z‖∞ ≤ M‖b‖.

    This is problem (4) of *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021). In the
    solution, ‖b‖ and z are those of `hier_prox` with ‖Theta_j‖₂ in place of |theta_j|, and
    b = ‖b‖·Theta_j/‖Theta_j‖. The paper's Algorithm 4, Group-Hier-Prox, computes this solution unless
    Theta_j = 0 or M = 0. If Theta_j = 0, every direction of b is optimal, and the direction of the first
    coordinate is returned. One column (p = 1) gives the same bits as `hier_prox`.

    The operator commutes with rotations of Theta_j ≠ 0. It is firmly nonexpansive while Theta_j moves along a
    ray from 0, but not if Theta_j changes its direction: if λ < M‖W_j‖₁, the operator jumps at Theta_j = 0.

    Parameters
    ----------
    Theta : (d, p) linear weights, p ≥ 1, one row per feature and one column per output.
    W, lam, M : see `hier_prox`.

    Returns
    -------
    `HierarchicalProx`. ‖W_j‖∞ ≤ M‖theta_j‖ holds exactly. It also holds if the norm is evaluated in floating
    point, in any order: for p > 1 entries are clipped at (1 − (p + 6)·eps/2)·M‖theta_j‖, where eps is the
    machine epsilon. The accuracy is the same as for `hier_prox`.

    Raises
    ------
    TypeError, ValueError : see `hier_prox`.

    >>> step = group_hier_prox([[3.0, 4.0]], [[10.0, -2.0]], lam=1.0, M=1.0)
    >>> step.theta.round(12), step.W.round(12)
    (array([[4.2, 5.6]]), array([[ 7., -2.]]))
    """
    b, w, lam, M = _check(Theta, W, "Theta", 2, lam, M)
    n_clipped = _shrink(b, w, lam, M, norm_slack(b.shape[1], b.dtype))
    return HierarchicalProx(theta=b, W=w, active=np.flatnonzero(b.any(axis=1)), n_clipped=n_clipped)


def _check(
    theta: Any, W: Any, name: str, ndim: int, lam: float, M: float
) -> tuple[FloatArray, FloatArray, float, float]:
    """Check the arguments of `hier_prox`; return copies of theta and W of one dtype, λ, and M.

    The copies are in C order, and M is rounded down to their dtype.

    name : the name of the argument theta, for error messages.
    ndim : the number of axes that theta must have.
    """
    for value, label in ((theta, name), (W, "W")):
        if hasattr(value, "toarray"):
            raise TypeError(f"{label} must be dense; got {type(value).__name__}: pass {label}.toarray()")
    check_same_rows(W, theta, name, "W")
    v: FloatArray = to_numeric(to_array(theta, name), name)
    w: FloatArray = to_numeric(to_array(W, "W"), "W")
    if v.ndim != ndim or (ndim == 2 and v.shape[1] == 0):
        expected = "(d,), one entry per feature" if ndim == 1 else "(d, p) with p ≥ 1, one row per feature"
        other = "; group_hier_prox takes one row per feature" if ndim == 1 and v.ndim == 2 else ""
        raise ValueError(f"{name} must have shape {expected}; got shape {v.shape}{other}")
    if w.ndim != 2 or len(w) != len(v):
        hint = "; rows are features, so pass W.T" if w.ndim == 2 and w.shape[1] == len(v) else ""
        if ndim == 2 and w.ndim == 2 and len(w) == v.shape[1]:
            hint = f"; rows are features, so pass {name}.T"
        raise ValueError(f"W must have shape ({len(v)}, K), one row for each of {name}; got {w.shape}{hint}")
    check_finite(v, name)
    check_finite(w, "W")
    dtype = np.result_type(v.dtype, w.dtype)
    lam, M = check_level(lam, "lam"), check_level(M, "M")
    return np.array(v, dtype, order="C"), np.array(w, dtype, order="C"), lam, round_down(M, dtype)


def round_down(M: float, dtype: np.dtype[Any]) -> float:
    """Return the largest number of this dtype that is at most M ≥ 0."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(M)
    if float(rounded) > M:
        rounded = np.nextafter(rounded, dtype.type(0))
    return float(rounded)


def norm_slack(p: int, dtype: np.dtype[Any]) -> float:
    """Return the relative margin by which entries of W_j are kept below M‖b‖, for b ∈ ℝᵖ.

    With this margin ‖W_j‖∞ ≤ M‖b‖ holds in whatever order the sum in the norm is evaluated. Two evaluations
    of the norm, the one here and the user's, may each have a relative error of (p + 3)/2·eps/2, and the
    product M‖b‖ adds 2·eps/2.
    """
    return (p + 6) * eps_of(dtype) / 2 if p > 1 else 0.0


def shrink_in_place(b: FloatArray, w: FloatArray, lam: float, M: float) -> None:
    """Apply `group_hier_prox` to b (G, p) and w (G, K), overwriting them; only overflow is checked."""
    _shrink(b, w, lam, round_down(M, b.dtype), norm_slack(b.shape[1], b.dtype))


def _shrink(b: FloatArray, w: FloatArray, lam: float, M: float, slack: float) -> IndexArray:
    """Apply `group_hier_prox` to b (d, p) and w (d, K) in place.

    Returns, for each row of w, the number of entries that were clipped.

    slack : the margin that `norm_slack` returns.
    """
    n_clipped = np.zeros(len(w), np.intp)
    with workers(60.0 * (w.size + b.size)) as count:
        spread(lambda start, stop: shrink(b, w, lam, M, slack, n_clipped, start, stop), len(w), count)
    finite = np.isfinite(b).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"theta, W and M must keep ‖b‖ within the range of {b.dtype}; it overflows for feature "
            f"{int(np.argmin(finite))}. Scale theta, W and lam down by a power of two."
        )
    return n_clipped
