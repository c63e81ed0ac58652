"""Sequential LASSO: the next feature is the first to enter the LASSO with S unpenalised; and its windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import blocks as kernels
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Callback, Selection
from sparselin.greedy._walk import Pick
from sparselin.greedy.omp import largest_correlation
from sparselin.lasso._homotopy import Homotopy
from sparselin.lasso.entry import entry_of, first_entry
from sparselin.linalg.gathered import correlate_rows, rows_of_columns
from sparselin.linalg.ties import relative_margin
from sparselin.problem import as_problem, takes_problem
from sparselin.results import FloatArray, SelectionPath, Status
from sparselin.validation import Columns


@takes_problem
def sequential_lasso(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    method: str = "lasso",
    forced: Columns = (),
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> SelectionPath:
    """Select k features by Sequential LASSO.

    With β(λ, S) the solution of min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ and λ*(S) = sup{λ > 0 : β(λ, S)_{S̄} ≠ 0}, each
    step adds to S a member of A(S) = lim_{ε→0} {i ∉ S : β(λ* − ε, S)_i ≠ 0} (Algorithm 3 of *Sequential
    Attention for Feature Selection*, after Luo and Chen, 2014): here the lowest index of A(S). By Theorem
    3.3 there, A(S) ⊆ T = argmax_i |⟨X_i, P_S^⊥y⟩|, so that OMP could make the same choice.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k : features to select, 1 ≤ k ≤ d, `forced` ones included.
    method : "lasso" follows the definition: it checks the KKT conditions of the first segment of the homotopy
        at each S; "omp" assumes Theorem 3.3: it takes T from the correlations and solves for A(S) only in a
        tie.
    forced, intercept, standardize, sample_weight, callback : as for `omp`.

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
    if method not in list(rules):
        raise ValueError(f"method must be one of {sorted(rules)}; got {method!r}")
    problem = as_problem(X, y, sample_weight, intercept, standardize, operator=True)
    audit = first_segments if method == "lasso" else None
    return pursue(problem, k, rules[method], forced=forced, callback=callback, with_active=True, audit=audit)


def first_segments(selection: Selection, c: FloatArray, W: FloatArray, count: int) -> int:
    """How many of the last p picks, with W = QᵀX (p, d), are verified to enter the LASSO first and alone.

    For T = {i}, X_{S∪i} = QR, z = Qᵀy and s = sign ⟨X_i, r⟩, the v of `first_entry` is 1/ρ², and the first
    segment of the homotopy is β(λ* − ε) = R⁻¹(z_S, sε/ρ) on S ∪ i. In the middle of the window its KKT
    conditions are checked on all columns, from the residuals y − Xβ of all picks in one product. A pick from
    a tie, |T| > 1, was checked by `first_to_enter`.
    """
    problem, qr, picks = selection.problem, selection.qr, selection.picks
    p, t, m = len(W), qr.size, len(picks) - len(W)
    projections = np.array(selection.projections, problem.dtype)
    support = np.array(selection.support, np.intp)
    rho = np.diag(qr.R)[t - p :].copy()
    sign, half = np.sign(projections[t - p :]), np.empty(p, problem.dtype)
    kernels.windows(c, W, projections[t - p :], rho, support, m, half)
    half /= 2
    coef = np.zeros((p, t), problem.dtype)
    for s in range(p):
        z = projections[: t - p + s + 1].copy()
        z[-1] = sign[s] * half[s] / rho[s]
        coef[s, : len(z)] = qr.solve(z)
    C = np.empty_like(W)
    fitted = coef @ rows_of_columns(problem.design, np.array(qr.index), count)
    correlate_rows(problem, problem.y - fitted, C, count)
    size = problem.y_norm + np.abs(coef) @ problem.column_norms[qr.index]
    lam = np.array([pick.lam_star for pick in picks[m:]], problem.dtype) - half
    allowed = 100 * problem.rounding() * size
    if len(picks[m].tied) > 1:
        allowed[0] = np.inf
    return int(kernels.satisfied(C, lam, sign, support, m, problem.column_norms, allowed))


def first_to_enter(selection: Selection) -> Pick | Status:
    """The lowest index of A(S), A(S) found by the homotopy."""
    homotopy = homotopy_at(selection)
    c = homotopy.c
    entry = entry_of(selection.problem, homotopy)
    if entry.status is not Status.COMPLETED:
        return entry.status
    pick = entry.active[0]
    return Pick(pick, entry.lam_star, relative_margin(c, pick, entry.lam_star), entry.tied, entry.active)


def homotopy_at(selection: Selection) -> Homotopy:
    """The homotopy at λ*(S), which begins with the factorisation of the selection."""
    S = np.array(selection.support, np.intp)
    return Homotopy(selection.problem, S, qr=selection.double_qr())


def first_to_enter_of_the_tied(selection: Selection) -> Pick | Status:
    """The same, assuming Theorem 3.3, A(S) ⊆ T: when |T| = 1 there is nothing to solve."""
    pick = largest_correlation(selection)
    if isinstance(pick, Status) or len(pick.tied) > 1:
        return first_to_enter(selection)
    return pick._replace(active=pick.tied)


@takes_problem
def window_ratios(
    X: Any,
    y: ArrayLike | None,
    k: int,
    *,
    forced: Columns = (),
    intercept: bool = False,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """λ₂(S)/λ*(S) at each step of Sequential LASSO: where the selection window ends, as a share of λ*.

    With S the features before a step, the support of argmin ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ off S is A(S) for all λ in
    (λ₂, λ*), and λ₂ is the least such number (`first_entry`, docs/windows.md): nearer to 0 is a wider window.

    Parameters
    ----------
    X, y, k, forced, intercept, standardize, sample_weight : as for `sequential_lasso`.

    Returns
    -------
    (m,) the ratios, 0 ≤ λ₂/λ* < 1, in the order of `sequential_lasso(...).support` and of its dtype; NaN for
    forced features. m < k where the path ends before k features.

    Raises
    ------
    TypeError, ValueError : as for `sequential_lasso`.

    >>> window_ratios([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], [1.0, 4.0], 2).round(3)
    array([0.75, 0.  ])
    """
    problem = as_problem(X, y, sample_weight, intercept, standardize, operator=True)
    path = sequential_lasso(problem, None, k, forced=forced)
    ratios = np.full(len(path.support), np.nan, problem.dtype)
    for t in np.flatnonzero(~np.isnan(path.lam_star)):
        entry = first_entry(problem, None, forced=path.support[:t])
        ratios[t] = entry.window_lower / entry.lam_star if entry.lam_star > 0 else np.nan
    return ratios
