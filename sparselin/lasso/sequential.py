"""Sequential LASSO: the exact λ*(S), the tied set T, and the set A(S) that the LASSO activates first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import blocks as kernels
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Callback, Pick, Selection
from sparselin.greedy.omp import largest_correlation
from sparselin.lasso._homotopy import Homotopy
from sparselin.problem import Problem, as_problem, takes_problem
from sparselin.results import FirstEntry, FloatArray, IndexArray, SelectionPath, Status
from sparselin.ties import relative_margin
from sparselin.validation import check_indices

_ZERO = 1e-9  # the share of the largest coefficient of a dependence below which another counts as zero


@takes_problem
def sequential_lasso(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    method: str = "lasso",
    forced: Iterable[int] = (),
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> SelectionPath:
    """Select k features by Sequential LASSO.

    Step by step, with β(λ, S) the solution of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ and
    λ*(S) = sup{λ > 0 : β(λ, S)_{S̄} ≠ 0}, a member of A(S) = lim_{ε→0} {i ∉ S : β(λ* − ε, S)_i ≠ 0} is added
    to S (Algorithm 3 of *Sequential Attention for Feature Selection*, after Luo and Chen, 2014): here
    the lowest index of A(S). By Theorem 3.3 there, A(S) ⊆ T = argmax_i |⟨X_i, P_S^⊥y⟩|, so that the
    choice is one that OMP could make.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k : features to select, 1 ≤ k ≤ d, `forced` ones included.
    method : "lasso" follows the definition, the first knot of the homotopy at each S, and checks the KKT
        conditions of its first segment; "omp" assumes Theorem 3.3: it takes T from the correlations and
        solves for A(S) only in a tie.
    forced, sample_weight, callback : as for `omp`.

    Returns
    -------
    SelectionPath with A(S) of each step in `active_sets`.

    Raises
    ------
    TypeError, ValueError : as for `omp`, and for an unknown method.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = sequential_lasso(X, np.array([1.0, 4.0]), 2)
    >>> path.support.tolist(), path.active_sets
    ([1, 0], ((1,), (0,)))
    """
    rules = {"lasso": first_to_enter, "omp": first_to_enter_of_the_tied}
    if not isinstance(method, str) or method not in rules:
        raise ValueError(f"method must be one of {sorted(rules)}; got {method!r}")
    problem = as_problem(X, y, sample_weight)
    audit = first_segments if method == "lasso" else None
    return pursue(problem, k, rules[method], forced=forced, callback=callback, clear_sets=True, audit=audit)


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
    return _entry(problem, Homotopy(problem, check_indices(unpenalized, problem.d, "unpenalized")))


def first_segments(selection: Selection, c: FloatArray, W: FloatArray, count: int) -> int:
    """How many of the last p picks, W = XᵀQ being theirs, are seen to enter the LASSO first and alone.

    For T = {i}, X_{S∪i} = QR and a sign s, what `first_entry` solves is v = 1/ρ², and the homotopy's first
    segment is β(λ* − ε) = R⁻¹(z_S, sε/ρ) on S ∪ i. In the middle of the window its KKT conditions are
    checked on all columns, from the residuals y − Xβ of all picks in one product. Picks out of a tie have
    been checked when the tie was settled.
    """
    problem, qr, picks = selection.problem, selection.qr, selection.picks
    p, t, m = len(W), qr.size, len(picks) - len(W)
    shares = np.array(selection.shares, problem.dtype)
    support = np.array(selection.support, np.intp)
    rho = np.diag(qr.R)[t - p :].copy()
    sign, half = np.sign(shares[t - p :]), np.empty(p, problem.dtype)
    kernels.windows(c, W, shares[t - p :], rho, support, m, half)
    half /= 2
    coef = np.zeros((p, t), problem.dtype)
    for s in range(p):
        z = shares[: t - p + s + 1].copy()
        z[-1] = sign[s] * half[s] / rho[s]
        coef[s, : len(z)] = qr.solve(z)
    C = np.empty_like(W)
    problem.correlate_rows(problem.y - coef @ problem.rows_of_columns(np.array(qr.index), count), C, count)
    size = problem.y_norm + np.abs(coef) @ problem.column_norms[qr.index]
    lam = np.array([pick.lam_star for pick in picks[m:]], problem.dtype) - half
    allowed = 100 * problem.rounding() * size
    if len(picks[m].tied) > 1:
        allowed[0] = np.inf
    return int(kernels.satisfied(C, lam, sign, support, m, problem.column_norms, allowed))


def first_to_enter(selection: Selection) -> Pick | Status:
    """The lowest index of A(S), A(S) from the LASSO."""
    homotopy = Homotopy(selection.problem, np.array(selection.support, np.intp))
    c = homotopy.c
    entry = _entry(selection.problem, homotopy)
    if entry.status is not Status.COMPLETED:
        return entry.status
    pick = entry.active[0]
    return Pick(pick, entry.lam_star, relative_margin(c, pick, entry.lam_star), entry.tied, entry.active)


def first_to_enter_of_the_tied(selection: Selection) -> Pick | Status:
    """The same, knowing from Theorem 3.3 that A(S) ⊆ T: nothing is left to solve when |T| = 1."""
    pick = largest_correlation(selection)
    if isinstance(pick, Status) or len(pick.tied) > 1:
        return first_to_enter(selection)
    return pick._replace(active=pick.tied)


def _entry(problem: Problem, homotopy: Homotopy) -> FirstEntry:
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
