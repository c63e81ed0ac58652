"""The first entry into the LASSO: the exact λ*(S), the tied set T, and A(S), what is activated first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._homotopy import Homotopy
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, IndexArray, Status
from sparselin.validation import check_indices

_ZERO = 1e-9  # the share of the largest coefficient of a dependence below which another counts as zero


@takes_problem
def lambda_star(
    X: Any, y: ArrayLike | None, *, unpenalized: Iterable[int] = (), sample_weight: ArrayLike | None = None
) -> float:
    """λ*(S) = ‖XᵀP_S^⊥y‖∞, the penalty at which a first feature outside S enters the LASSO.

    Equation (4) and Algorithm 3 of *Sequential Attention for Feature Selection*, in the scale of
    ½‖y − Xβ‖² + λ‖β_{S̄}‖₁. Zero when it is zero to rounding. Parameters and errors as for `first_entry`.

    >>> lambda_star([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], unpenalized=[0])
    1.0
    """
    return first_entry(as_problem(X, y, sample_weight), None, unpenalized=unpenalized).lam_star


@takes_problem
def first_entry(
    X: Any, y: ArrayLike | None, *, unpenalized: Iterable[int] = (), sample_weight: ArrayLike | None = None
) -> FirstEntry:
    """Everything about the first entry into the LASSO whose unpenalised set is S.

    With r = P_S^⊥y, c = Xᵀr, Z the columns sign(c_i)·P_S^⊥X_i for i ∈ T and H = ZᵀZ, the KKT conditions
    just below λ* say that β_T = sign(c_T)·(εv) with Hv ≥ 1, v ≥ 0, v ⟂ (Hv − 1), that is, v solves

        min_{v ≥ 0} ½vᵀHv − 1ᵀv,

    for every ε up to the first event: the least positive root ε₂ of |c_j − ε⟨X_j, Zv⟩| = λ* − ε over
    j ∉ T ∪ S and of ε = 2λ*/(1 + (Hv)_j) over j ∈ T∖A. `window_lower` is λ₂ = λ* − ε₂. `proof_lower` is
    (1 − ε₀)λ*, what the proof of Lemma 3.4 of *Sequential Attention for Feature Selection* (3.5 in its first
    version) gives:

        ε₀ = min{(λ* − |c_i|)/(λ* + ‖X_i‖‖r‖) over i ∉ T ∪ S,  2λ*/(λ* + ‖X_i‖‖r‖) over i ∈ T,  1}.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    unpenalized : S.
    sample_weight : (n,) weights of the squared residuals.

    Returns
    -------
    FirstEntry. Where v is not unique (duplicated columns) the one of largest support.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), bad `unpenalized`.

    >>> entry = first_entry([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [2.0, 1.0], unpenalized=[2])
    >>> entry.lam_star, entry.tied, entry.active, entry.signs.tolist()
    (0.5, (0, 1), (0, 1), [1.0, -1.0])
    """
    problem = as_problem(X, y, sample_weight)
    return entry_of(problem, Homotopy(problem, check_indices(unpenalized, problem.d, "unpenalized")))


def entry_of(problem: Problem, homotopy: Homotopy) -> FirstEntry:
    """Let the homotopy leave its first knot, and tell what is to be known there."""
    lam, c, T = homotopy.lam, homotopy.c, homotopy.tied
    norm = float(np.sqrt(homotopy.base.r @ homotopy.base.r))
    if lam == 0:
        none = np.zeros(0, problem.dtype)
        return FirstEntry(0.0, (), (), none, none, 0.0, 0.0, norm, _ending(homotopy))
    signs = np.sign(c[T])
    homotopy.enter()
    v = _direction_of_largest_support(homotopy, T, signs)
    sound = homotopy.sound and v is not None
    homotopy.advance(0.0)
    lower = homotopy.lam
    sound = sound and lower < lam and homotopy.optimal((lam + lower) / 2)
    v = np.zeros(len(T)) if v is None else v
    return FirstEntry(
        lam_star=lam,
        tied=tuple(T.tolist()),
        active=tuple(T[v > 0].tolist()),
        signs=signs.astype(problem.dtype),
        direction=v.astype(problem.dtype),
        window_lower=lower,
        proof_lower=_proof_lower(problem, c, T, homotopy.unpenalized, lam, norm),
        residual_norm=norm,
        status=Status.COMPLETED if sound else Status.BEYOND_PRECISION,
    )


def _ending(homotopy: Homotopy) -> Status:
    """Why λ*(S) is zero: the residual is, or nothing independent is left, or it is orthogonal to X."""
    if homotopy.fitted():
        return Status.EXACT_FIT
    if homotopy.face.in_span(np.arange(homotopy.problem.d))[0].all():
        return Status.RANK_EXHAUSTED
    return Status.NO_CORRELATION


def _direction_of_largest_support(homotopy: Homotopy, T: IndexArray, signs: FloatArray) -> FloatArray | None:
    """v (|T|,) of the homotopy, or where v is not unique one that is positive wherever some v is.

    All solutions share Zv = u. An i with g_i = ⟨z_i, u⟩ > 1 is zero in all of them, so only the tight
    J = {i : g_i = 1} matter, and v is unique if Z_J has independent columns. Else each dependent
    z_j = Σ_i b_i·z_i is a direction e_j − b in which v may move. None if rounding leaves none.
    """
    face, place = homotopy.face, {int(j): i for i, j in enumerate(T)}
    slope = homotopy.slope()
    v = np.zeros(len(T))
    for j in homotopy.active():
        v[place[j]] = max(signs[place[j]] * slope[j], 0.0)
    rates, error = homotopy.rates()
    tight = homotopy.tied[rates <= 1 + error]
    entered = homotopy.active()
    dependent = [int(j) for j in tight if not face.append(int(j))]
    if dependent:
        moves = np.zeros((len(T), len(dependent)))
        inside = [j for j in face.index if j in place]
        for k, j in enumerate(dependent):
            b = face.balance(homotopy.problem.columns([j])[:, 0], None)
            x = np.where(np.abs(b.x) > _ZERO * np.abs(b.x).max(), b.x, 0)
            for i, value in zip(face.index, x.tolist(), strict=True):
                if i in place:
                    moves[place[i], k] = -signs[place[i]] * signs[place[j]] * value
            moves[place[j], k] = 1
        J = np.array([place[j] for j in inside + dependent])
        larger = _largest_support(v[J], moves[J])
        if larger is None:
            return None
        v[J] = larger
    for j in set(homotopy.active()) - set(entered):
        face.remove(j)
    return v


def _largest_support(v: FloatArray, N: FloatArray) -> FloatArray | None:
    """A v + Nq ≥ 0 whose support holds that of every other; None if rounding leaves none.

    With v scaled by θ, max Σt over 0 ≤ t ≤ 1, t ≤ θv + Nq sets t_i to one exactly where some solution is
    positive, else to zero (Freund, Roundy and Todd, 1985). The linear program is solved in float64 to
    1e-7 or so; what it leaves where v is to be zero is taken out by least squares.
    """
    from scipy.optimize import linprog

    m, q = N.shape
    scale = float(v.max())
    if not scale > 0:
        return None
    below = np.hstack([-v[:, None] / scale, -N, np.eye(m)])
    bounds = [(0, None)] + [(None, None)] * q + [(0, 1)] * m
    cost = np.concatenate([np.zeros(1 + q), -np.ones(m)])
    solution = linprog(cost, A_ub=below, b_ub=np.zeros(m), bounds=bounds).x
    if solution is None or not solution[0] > 0:
        return None
    positive = solution[1 + q :] > 0.5
    move = solution[1 : 1 + q] * (scale / solution[0])
    zero = ~positive
    move -= np.linalg.lstsq(N[zero], v[zero] + N[zero] @ move, rcond=None)[0]
    w = v + N @ move
    if np.abs(w[zero]).max(initial=0) > _ZERO * w.max() or not w[positive].min(initial=np.inf) > 0:
        return None
    return np.where(positive, w, 0)


def _proof_lower(
    problem: Problem, c: FloatArray, T: IndexArray, S: IndexArray, lam: float, residual_norm: float
) -> float:
    """λ₀ = (1 − ε₀)λ* (see `first_entry`)."""
    reach = lam + problem.column_norms * residual_norm
    room = (lam - np.abs(c)) / reach
    room[T] = 2 * lam / reach[T]
    room[S] = 1
    return lam * (1 - min(1.0, float(room.min())))
