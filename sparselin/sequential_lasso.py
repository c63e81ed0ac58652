"""Sequential LASSO: the exact λ*(S), the tied set T, and the set A(S) that the LASSO activates first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import blocks as kernels
from sparselin.homotopy import Homotopy
from sparselin.omp import largest_correlation
from sparselin.problem import Problem, as_problem, check_indices, takes_problem
from sparselin.pursuit import pursue
from sparselin.results import FirstEntry, FloatArray, IndexArray, SelectionPath, Status
from sparselin.selection import Callback, Pick, Selection
from sparselin.ties import ending, relative_margin


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
    homotopy = Homotopy(problem, check_indices(unpenalized, problem.d, "unpenalized"))
    return _entry(homotopy)


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
    entry = _entry(homotopy)
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


def _entry(homotopy: Homotopy) -> FirstEntry:
    """Let the homotopy leave its first knot, and tell what is to be known there."""
    problem, lam, c = homotopy.problem, homotopy.lam, homotopy.c
    norm = float(np.sqrt(homotopy.residual @ homotopy.residual))
    if lam == 0:
        none = np.zeros(0, problem.dtype)
        return FirstEntry(0.0, (), (), none, none, 0.0, 0.0, norm, ending(problem, homotopy.qr))
    T = homotopy.tied
    homotopy.enter()
    window_lower = _window_lower(homotopy, c, T, np.isin(T, homotopy.qr.index))
    homotopy.lam = (lam + window_lower) / 2
    sound = homotopy.optimal(homotopy.coef())
    v = _direction_of_largest_support(homotopy, T, np.sign(c[T]))
    return FirstEntry(
        lam_star=lam,
        tied=tuple(T.tolist()),
        active=tuple(T[v > 0].tolist()),
        signs=np.sign(c[T]),
        direction=v,
        window_lower=window_lower,
        proof_lower=_proof_lower(problem, c, T, homotopy.unpenalized, lam, norm),
        residual_norm=norm,
        status=Status.COMPLETED if sound and v.max() > 0 else Status.BEYOND_PRECISION,
    )


def _direction_of_largest_support(homotopy: Homotopy, T: IndexArray, signs: FloatArray) -> FloatArray:
    """v (|T|,) of the homotopy, or where v is not unique one that is positive wherever some v is.

    All solutions share Zv = u. An i with g_i = ⟨z_i, u⟩ > 1 is zero in all of them, so only the tight
    J = {i : g_i = 1} matter, and v is unique if Z_J has independent columns.
    """
    coef = np.zeros(homotopy.problem.d, homotopy.problem.dtype)
    coef[homotopy.qr.index] = homotopy.slope
    v = np.maximum(signs * coef[T], 0)
    tight = homotopy.tied[homotopy.rates() <= 1 + homotopy.rate_error()]
    # every column of J, so that Q spans Z_J below
    independent = [homotopy.qr.append(int(j)) for j in tight]
    if all(independent):
        return v
    J = np.flatnonzero((v > 0) | np.isin(T, tight))
    basis = homotopy.qr.Qt[homotopy.n_free :]
    Z = signs[J] * (basis @ homotopy.problem.columns(T[J]))
    larger = _largest_support(Z, Z @ v[J])
    if larger is not None:
        v[J] = larger
    return v


def _largest_support(Z: FloatArray, u: FloatArray) -> FloatArray | None:
    """A v ≥ 0 with Zv = u whose support holds that of every other; None if rounding leaves none.

    With v scaled by θ, max Σt over 0 ≤ t ≤ 1, t ≤ v, Zv = θu sets t_i to one exactly where some solution is
    positive, else to zero (Freund, Roundy and Todd, 1985). The linear program is solved in float64 to
    1e-7 or so; what is left of Zv − u is taken out on the support by least squares.
    """
    from scipy.optimize import linprog

    if len(Z) == 0:
        return None
    Z, u = Z.astype(np.float64), u.astype(np.float64)
    m = Z.shape[1]
    size = np.abs(Z).max()
    unit = np.abs(u).max()
    equal = np.hstack([Z / size, -u[:, None] / unit, np.zeros_like(Z)])
    below = np.hstack([-np.eye(m), np.zeros((m, 1)), np.eye(m)])
    cost = np.concatenate([np.zeros(m + 1), -np.ones(m)])
    bounds = [(0, None)] * (m + 1) + [(0, 1)] * m
    solution = linprog(cost, A_ub=below, b_ub=np.zeros(m), A_eq=equal, b_eq=np.zeros(len(Z)), bounds=bounds).x
    if solution is None or not solution[m] > 0:
        return None
    positive = solution[m + 1 :] > 0.5
    v = np.where(positive, solution[:m] / solution[m] * (unit / size), 0)
    v[positive] += np.linalg.lstsq(Z[:, positive], u - Z @ v, rcond=None)[0]
    return np.asarray(v) if v[positive].min(initial=np.inf) > 0 and positive.any() else None


def _window_lower(homotopy: Homotopy, c: FloatArray, T: IndexArray, positive: np.ndarray) -> float:
    """λ₂ = λ* − ε₂ (see `first_entry`)."""
    lam = float(homotopy.lam)
    slope = homotopy.problem.correlate(homotopy.u)
    outside = homotopy.problem.column_norms > 0
    outside[T] = outside[homotopy.unpenalized] = False
    # c_j − ε·slope_j = ±(λ* − ε); a root within rounding of λ* is no event: c_j vanishes with λ
    event = np.full(len(c), lam)
    for sign in (-1, 1):
        room = 1 + sign * slope
        meets = outside & (room > 0)
        event[meets] = np.minimum(event[meets], (lam + sign * c[meets]) / room[meets])
    resting = T[~positive]
    event[resting] = 2 * lam / (1 + np.abs(slope[resting]))
    event[lam - event <= homotopy.problem.correlation_error(homotopy.qr.kappa)] = lam
    return max(0.0, lam - float(event.min()))


def _proof_lower(
    problem: Problem, c: FloatArray, T: IndexArray, S: IndexArray, lam: float, residual_norm: float
) -> float:
    """λ₀ = (1 − ε₀)λ* (see `first_entry`)."""
    reach = lam + problem.column_norms * residual_norm
    room = (lam - np.abs(c)) / reach
    room[T] = 2 * lam / reach[T]
    room[S] = 1
    return lam * (1 - min(1.0, float(room.min())))
