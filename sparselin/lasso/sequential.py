"""Sequential LASSO, which repeatedly selects a feature that enters the LASSO first, and its windows of λ."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin._kernels import blocks as kernels
from sparselin.greedy._method import Callback, GreedyMethod
from sparselin.greedy._pursuit import pursue
from sparselin.greedy._selection import Selection
from sparselin.greedy._walk import Pick
from sparselin.greedy.omp import largest_correlation
from sparselin.lasso._homotopy import Homotopy
from sparselin.lasso.entry import entry_of, first_entry
from sparselin.linalg.gathered import correlate_rows, rows_of_columns
from sparselin.linalg.ties import relative_margin
from sparselin.problem import DataOptions, as_problem, takes_problem
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
    callback: Callback | None = None,
    **data: Unpack[DataOptions],
) -> SelectionPath:
    """Select k features by Sequential LASSO.

    Let S be the features selected so far and S̄ the others. Sequential LASSO solves the LASSO in which S is
    not penalised, min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁, and selects a feature that enters first as λ decreases. Let
    β(λ, S) be the solution and λ*(S) = sup{λ > 0 : β(λ, S)_{S̄} ≠ 0}. The features that enter first are

        A(S) = lim_{ε→0} {i ∉ S : β(λ* − ε, S)_i ≠ 0}.

    Each step adds the lowest index of A(S) to S (Algorithm 3 of *Sequential Attention for Feature Selection*,
    after Luo and Chen, 2014). By Theorem 3.3 of that paper, A(S) is a subset of T, the set of features with
    the largest |⟨X_i, P_S^⊥y⟩|. Here P_S^⊥y is the residual of least squares on S. OMP also selects a feature
    of T.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    k : number of features to select, 1 ≤ k ≤ d, including the `forced` ones.
    method : "lasso" follows the definition: at each S it checks the KKT conditions on the first segment of
        the homotopy. "omp" assumes Theorem 3.3: it computes T from the correlations, and solves for A(S) only
        if T has several features.
    forced, intercept, standardize, sample_weight, callback : see `omp`.

    Returns
    -------
    SelectionPath, with A(S) of each step in `active_sets`.

    Raises
    ------
    TypeError, ValueError : see `omp`; also for an unknown method.

    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> path = sequential_lasso(X, np.array([1.0, 4.0]), 2)
    >>> path.support.tolist(), path.active_sets
    ([1, 0], ((1,), (0,)))
    """
    rules = {"lasso": first_to_enter, "omp": first_to_enter_by_correlation}
    if method not in list(rules):
        raise ValueError(f"method must be one of {sorted(rules)}; got {method!r}")
    problem = as_problem(X, y, **data, operator=True)
    audit = first_segments if method == "lasso" else None
    greedy = GreedyMethod(rule=rules[method], with_active=True, audit=audit)
    return pursue(problem, k, greedy, forced=forced, callback=callback)


def first_segments(selection: Selection, c: FloatArray, W: FloatArray, count: int) -> int:
    """Verify for each of the last p picks that it enters the LASSO first and alone; return how many pass.

    Let S be the features before a pick i, and r the residual on S. The tied set of a pick is T, the features
    of largest |⟨X_j, r⟩|. Picks with T = {i} are checked here; picks with more ties were checked by
    `first_to_enter`.

    c : (d,) Xᵀr before the first of these picks.
    W : (p, d) QᵀX for the columns of Q that belong to these picks.
    count : the number of threads.

    Let X_{S∪i} = QR, z = Qᵀy, s = sign ⟨X_i, r⟩ and ρ = ‖P_S^⊥X_i‖. If T = {i}, the direction v of
    `first_entry` is 1/ρ², and the first segment of the homotopy is β(λ* − ε) = R⁻¹(z_S, sε/ρ) on S ∪ i. This
    segment is the solution in a window of λ below λ*. The KKT conditions are checked on all columns in the
    middle of the window. One product with the residuals y − Xβ serves all picks.
    """
    problem, qr = selection.problem, selection.qr
    picks = selection.trail.picks
    p = len(W)
    t = qr.size
    m = len(picks) - len(W)
    projections = np.array(selection.fit.projections, problem.dtype)
    support = np.array(selection.trail.support, np.intp)
    rho = np.diag(qr.R)[t - p :].copy()
    sign = np.sign(projections[t - p :])
    half = np.empty(p, problem.dtype)
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
    return int(kernels.count_valid(C, lam, sign, support, m, problem.column_norms, allowed))


def first_to_enter(selection: Selection) -> Pick | Status:
    """Return the pick of Sequential LASSO: the lowest index among the features that enter the LASSO first.

    These features are computed by the homotopy. If no pick is possible, the Status that ends the path is
    returned.
    """
    homotopy = homotopy_at(selection)
    c = homotopy.c
    entry = entry_of(selection.problem, homotopy)
    if entry.status is not Status.COMPLETED:
        return entry.status
    pick = entry.active[0]
    return Pick(
        feature=pick,
        lam_star=entry.lam_star,
        margin=relative_margin(c, pick, entry.lam_star),
        tied=entry.tied,
        active=entry.active,
    )


def homotopy_at(selection: Selection) -> Homotopy:
    """Return the LASSO homotopy at its first knot, where the selected features have no penalty.

    The homotopy uses the factorisation of the selection.
    """
    S = np.array(selection.trail.support, np.intp)
    return Homotopy(selection.problem, S, qr=selection.double_qr())


def first_to_enter_by_correlation(selection: Selection) -> Pick | Status:
    """Return the pick of Sequential LASSO, or the Status that ends the path, assuming Theorem 3.3.

    The pick is the lowest index of A(S), the features that enter the LASSO first when the selected features S
    have no penalty. Let T be the features of largest |⟨X_i, r⟩|, where r is the residual on S; T is computed
    from the correlations. By Theorem 3.3, A(S) ⊆ T. So if |T| = 1, then A(S) = T. Otherwise the homotopy
    decides, as in `first_to_enter`.
    """
    pick = largest_correlation(selection)
    if isinstance(pick, Status) or len(pick.tied) > 1:
        return first_to_enter(selection)
    return pick._replace(active=pick.tied)


@takes_problem
def window_ratios(
    X: Any, y: ArrayLike | None, k: int, *, forced: Columns = (), **data: Unpack[DataOptions]
) -> FloatArray:
    """Return λ₂(S)/λ*(S) at each step of Sequential LASSO, the lower end of its window relative to λ*.

    Let S be the features before a step, S̄ the others, and A(S) the features that Sequential LASSO may select
    in this step. Let β(λ) minimise ½‖y − Xβ‖² + λ‖β_{S̄}‖₁. The window is the largest interval (λ₂, λ*) of λ
    on which the nonzero coefficients of β(λ) outside S are exactly those of A(S) (`first_entry`,
    docs/windows.md). The smaller the ratio, the wider the window.

    Parameters
    ----------
    X, y, k, forced, intercept, standardize, sample_weight : see `sequential_lasso`.

    Returns
    -------
    The ratios (m,), 0 ≤ λ₂/λ* < 1, in the order of `sequential_lasso(...).support` and in its dtype. Forced
    features have the ratio NaN. Their number m is less than k if the path ends before k features are
    selected.

    Raises
    ------
    TypeError, ValueError : see `sequential_lasso`.

    >>> window_ratios([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], [1.0, 4.0], 2).round(3)
    array([0.75, 0.  ])
    """
    problem = as_problem(X, y, **data, operator=True)
    path = sequential_lasso(problem, None, k, forced=forced)
    problem = problem.by_position()
    ratios = np.full(len(path.support), np.nan, problem.dtype)
    for t in np.flatnonzero(~np.isnan(path.lam_star)):
        entry = first_entry(problem, None, forced=path.support[:t])
        ratios[t] = entry.window_lower / entry.lam_star if entry.lam_star > 0 else np.nan
    return ratios
