"""The first entry into the LASSO: λ*(S), the tied set T, and the features A(S) that become active first.

S are the features without penalty.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso import _small
from sparselin.lasso._dependent import dependence_moves, keeps_fit, largest_support
from sparselin.lasso._homotopy import Homotopy
from sparselin.linalg.thin_qr import length_of, refine
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, IndexArray, Status
from sparselin.validation import Columns

# The largest share of v that rounding may put on a tight column outside A(S). With more, rounding decides
# which of two nearly equal columns is in A(S); a smaller number would leave harmless ties undecided.
_UNDECIDED = 1e-3


@takes_problem
def lambda_star(
    X: Any,
    y: ArrayLike | None,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
    **data: Unpack[DataOptions],
) -> float:
    """Return λ*(S) = ‖XᵀP_S^⊥y‖∞, the least λ at which the LASSO sets all features outside S to zero.

    The problem is min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁, where S̄ are the features outside S, and P_S^⊥y is the
    residual of least squares on S. Just below λ*(S), some feature outside S has a nonzero coefficient. λ*
    appears in equation (4) and in Algorithm 3 of *Sequential Attention for Feature Selection*. The paper's
    objective has no factor ½, so its λ* is twice the number returned here. λ* has the units of ⟨X_i, y⟩. If
    λ* is zero to rounding, the result is exactly zero.

    Parameters
    ----------
    X, y, forced, unpenalized, intercept, standardize, sample_weight : see `first_entry`.

    Returns
    -------
    λ*(S), a number.

    Raises
    ------
    TypeError, ValueError : see `first_entry`.

    >>> lambda_star([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], forced=[0])
    1.0
    """
    problem = as_problem(X, y, **data, operator=True)
    return first_entry(problem, None, forced=forced, unpenalized=unpenalized).lam_star


@takes_problem
def first_entry(
    X: Any,
    y: ArrayLike | None,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
    **data: Unpack[DataOptions],
) -> FirstEntry:
    """Compute the first entry into the LASSO with S unpenalised: λ*, T, A(S), the direction and the window.

    The problem is min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁, where S̄ are the features outside S. Let r = P_S^⊥y be the
    residual of least squares on S, and c = Xᵀr. All features outside S are zero for λ ≥ λ* = max|c_i|. The
    features that enter just below λ* form the active set A(S). They belong to the tied set
    T = {i : |c_i| = λ*}, but A(S) can be smaller than T.

    The direction v says how the tied coefficients leave zero: β_T = sign(c_T)∘(εv) at λ = λ* − ε, where ∘
    multiplies entry by entry. Let Z be the matrix with the columns sign(c_i)·P_S^⊥X_i for i ∈ T, and H = ZᵀZ.
    The KKT conditions just below λ* are Hv ≥ 1, v ≥ 0 and vᵀ(Hv − 1) = 0. So v solves

        min_{v ≥ 0} ½vᵀHv − 1ᵀv,

    and A(S) is the support of v. The formula for β_T holds for every ε up to the first event, at ε₂. There
    are two kinds of events. A feature j ∉ T ∪ S enters when |c_j − ε⟨X_j, Zv⟩| = λ* − ε, and a feature
    j ∈ T∖A(S) enters with the sign opposite to c_j when ε = 2λ*/(1 + (Hv)_j). ε₂ is the least positive
    solution of these equations.

    So exactly A(S) is active in the window (λ₂, λ*), where λ₂ = λ* − ε₂ is `window_lower`. The proof of Lemma
    3.4 of *Sequential Attention for Feature Selection* (3.5 in its first version) gives a window (λ₀, λ*)
    that is at most as wide. Its lower end λ₀ = (1 − ε₀)λ* is `proof_lower`, where

        ε₀ = min{(λ* − |c_i|)/(λ* + ‖X_i‖‖r‖) over i ∉ T ∪ S,  2λ*/(λ* + ‖X_i‖‖r‖) over i ∈ T,  1}.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    forced : S, by index or name. `unpenalized` is another name for this argument.
    intercept, standardize : fit an unpenalised intercept; divide columns by their standard deviations, so
        that λ penalises the coefficients of the scaled columns (see `Problem`).
    sample_weight : (n,) weights of the squared residuals.

    Returns
    -------
    FirstEntry, with the quantities above. If v is not unique, for example because columns are duplicated, a v
    with the largest support is returned.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`) or invalid `forced`.

    >>> entry = first_entry([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [2.0, 1.0], forced=[2])
    >>> entry.lam_star, entry.tied, entry.active, entry.signs.tolist()
    (0.5, (0, 1), (0, 1), [1.0, -1.0])
    """
    problem = as_problem(X, y, **data, operator=True)
    S = problem.unpenalized_columns(forced, unpenalized)
    segment = None if len(S) else _small.first_segment(problem)
    return entry_of(problem, Homotopy(problem, S)) if segment is None else _entry_below(problem, segment)


def _entry_below(problem: Problem, segment: _small.FirstSegment) -> FirstEntry:
    """Return the `FirstEntry` of a problem with an empty S, where T = {j}, given the path below λ*."""
    j, product, square, lower = segment
    lam = abs(product)
    T = np.array([j])
    norm = problem.y_norm
    proof = _proof_lower(problem, problem.correlate(problem.y), T, T[:0], lam, norm)
    return FirstEntry(
        lam_star=lam,
        tied=(j,),
        active=(j,),
        signs=np.array([math.copysign(1.0, product)]),
        direction=np.array([1 / square]),
        window_lower=lower,
        proof_lower=max(lower, proof),
        residual_norm=norm,
        status=Status.COMPLETED,
        names=problem.names,
    )


def entry_of(problem: Problem, homotopy: Homotopy) -> FirstEntry:
    """Compute the `FirstEntry` of a problem: λ*(S), the features that enter there, and the window below it.

    S are the features without penalty. The LASSO path is followed from its first knot, λ*(S), to the second
    knot, which is the lower end of the window.

    homotopy : the state of the path of this problem at the first knot; it is moved to the second knot.
    """
    if homotopy.lam > 0:
        homotopy.tie_products()
    lam, c, T = homotopy.lam, homotopy.c, homotopy.tied
    norm = float(np.sqrt(homotopy.base.r @ homotopy.base.r))
    if lam == 0:
        none = np.zeros(0, problem.dtype)
        return FirstEntry(
            lam_star=0.0,
            tied=(),
            active=(),
            signs=none,
            direction=none,
            window_lower=0.0,
            proof_lower=0.0,
            residual_norm=norm,
            status=homotopy.ending(),
            names=problem.names,
        )
    signs = np.sign(c[T])
    homotopy.enter()
    v = _direction(homotopy, T, signs)
    sound = homotopy.sound and v is not None
    homotopy.advance(0.0)
    lower = homotopy.lam
    sound = sound and lower < lam and homotopy.is_optimal((lam + lower) / 2)
    v = np.zeros(len(T)) if v is None else v
    proof = _proof_lower(problem, c, T, homotopy.unpenalized, lam, norm)
    return FirstEntry(
        lam_star=lam,
        tied=tuple(T.tolist()),
        active=tuple(T[v > 0].tolist()),
        signs=signs.astype(problem.dtype),
        direction=v.astype(problem.dtype),
        window_lower=lower,
        proof_lower=max(lower, proof),  # λ₂ ≤ λ₀ up to rounding
        residual_norm=norm,
        status=Status.COMPLETED if sound else Status.BEYOND_PRECISION,
        names=problem.names,
    )


def _direction(homotopy: Homotopy, T: IndexArray, signs: FloatArray) -> FloatArray | None:
    """Return the direction v (|T|,) of `first_entry`; if v is not unique, one of largest support.

    Returns None if rounding leaves the support undecided.

    signs : the signs of c_T, the correlations of the tied columns T.

    For i ∈ T let z_i = sign(c_i)·P_S^⊥X_i, where S are the features without penalty, and let Z be the matrix
    of these columns. All solutions v have the same Zv = u. If g_i = ⟨z_i, u⟩ > 1, then v_i = 0 in all
    solutions. So only J = {i : g_i = 1} matters, and v is unique if Z_J has independent columns. Otherwise
    each dependent z_j = Σ_i b_i·z_i gives a direction e_j − b along which Zv is constant.

    If a column is tight with v_i = 0, rounding makes v_i positive or negative. So v_i is set to zero where
    this changes Zv by no more than rounding of X does: ‖X_i‖v_i ≤ u·√(Σ_j ‖X_j‖²v_j²), with the `unit` u of
    the factorisation.
    """
    qr = homotopy.qr
    place = {int(j): i for i, j in enumerate(T)}
    slope, entered = homotopy.slope(), homotopy.active()
    v = np.zeros(len(T))
    for j in entered:
        v[place[j]] = max(signs[place[j]] * slope[j], 0.0)
    shares = v * homotopy.problem.column_norms[T]
    v[shares <= qr.unit * length_of(shares)] = 0
    dependent = [j for j in homotopy.tight_columns().tolist() if not qr.append(j)]
    sign_of = np.ones(homotopy.problem.d)
    sign_of[T] = signs
    decided = _is_zero_outside(homotopy, entered, sign_of)
    J, N, error, size = dependence_moves(qr, dependent, sign_of)
    for j in set(homotopy.active()) - set(entered):
        qr.remove(j)
    if not (decided and dependent):
        return v if decided else None
    inside = np.array([j in place for j in J])
    rows = np.array([place[j] for j in J if j in place])
    support = largest_support(v[rows], N[inside], error[inside])
    if support is None:
        return None
    v[rows] = support.w
    free = np.array([slope[j] for j in homotopy.free]) + N[~inside] @ support.q
    moved = [*homotopy.free, *T.tolist()]
    x = np.concatenate([free, signs * v])
    return v if keeps_fit(qr, homotopy.direction, moved, x, float(size @ np.abs(support.q))) else None


def _is_zero_outside(homotopy: Homotopy, entered: tuple[int, ...], sign_of: FloatArray) -> bool:
    """Return whether v_i = 0 for the columns of the factorisation that are neither in S nor in `entered`.

    They are tight (g_i = 1 to rounding), and independent of the other columns. So the v with g = 1 on all
    columns of the factorisation must be zero on them. If one is nearly equal to a column in `entered`,
    rounding of g_i, by eps, moves v_i by up to κ²·eps, and so exchanges the two. v is computed in twice the
    precision; what is left of v_i is compared with the largest v_j, in units of the lengths.
    """
    qr = homotopy.qr
    if len(qr.index) == len(homotopy.free) + len(entered):
        return True
    signs = sign_of[qr.index]
    signs[: len(homotopy.free)] = 0
    balance = refine(qr, None, signs)
    size = qr.norms * np.abs(balance.x)
    outside = np.isin(qr.index, [*homotopy.free, *entered], invert=True)
    return balance.sound and bool((size[outside] <= _UNDECIDED * size.max()).all())


def _proof_lower(
    problem: Problem, c: FloatArray, T: IndexArray, S: IndexArray, lam: float, residual_norm: float
) -> float:
    """Return λ₀ = (1 − ε₀)λ*, the lower end of the window in a published proof.

    `first_entry` gives the formula for ε₀. With an intercept it uses the norms of the centred columns.
    """
    norms = problem.column_norms.astype(np.float64)
    ones = problem.design.ones
    if ones is not None:  # by Pythagoras, plus an upper bound on its rounding error
        mean = problem.correlate(ones).astype(np.float64) ** 2 / float(ones @ ones)
        norms = np.sqrt(np.maximum(norms**2 - mean, 0) + problem.rounding() * norms**2)
    speed = lam + norms * residual_norm  # |c_j(λ) − c_j| + ελ* ≤ ε·speed at λ = (1 − ε)λ*
    epsilon = (lam - np.abs(c)) / speed
    epsilon[T] = 2 * lam / speed[T]
    epsilon[S] = 1
    return lam * (1 - min(1.0, float(epsilon.min())))
