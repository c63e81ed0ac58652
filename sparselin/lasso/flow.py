"""Gradient flow on w∘θ without weight decay, in the limit of vanishing initialisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._flow import Flow, Saddle
from sparselin.linalg.thin_qr import ThinQR, length_of
from sparselin.parallel.threads import workers
from sparselin.problem import DataOptions, Problem, as_problem, takes_problem
from sparselin.results import FlowPath, IndexArray, Status
from sparselin.validation import Columns, check_count
from sparselin.validation.progress import ProgressLog


@takes_problem
def gradient_flow(
    X: Any,
    y: ArrayLike | None,
    *,
    forced: Columns = (),
    max_events: int | None = None,
    restart: bool = False,
    callback: Callable[[FlowPath], object] | None = None,
    **data: Unpack[DataOptions],
) -> FlowPath:
    """Compute the limit α → 0 of gradient flow on w∘θ, event by event.

    Train β = w∘θ by gradient flow on ½‖y − Xβ‖² without a penalty, from θ = 0 and w_i = α. Since w_i² − θ_i²
    = α² is conserved, β_i = (α²/2)·sinh(2∫c_i dt) with c = Xᵀ(y − Xβ). Measure time by τ = t/log(1/α), and
    let s_i(τ) = ∫₀^τ c_i. As α → 0, the flow tends to the inverse scale space flow

        ds/dτ = Xᵀ(y − Xβ),   s ∈ ∂‖β‖₁,

    which means |s_i| ≤ 1, and s_i = sign β_i where β_i ≠ 0. β is constant between events, at which some |s_i|
    reach 1. Then β becomes the minimiser of ½‖y − Xβ‖² over s_iβ_i ≥ 0 where |s_i| = 1, and β_i = 0
    elsewhere. These points are saddles of the loss of (w, θ). No differential equation is solved: the events
    are computed one by one. The forced features S have no factors: β_S is at least squares all the time, so
    the flow is that of P_S^⊥X and P_S^⊥y, where P_S^⊥ projects off X_S.

    Uniqueness. s, Xβ and the times are unique. If the columns of {i : |s_i| = 1} are dependent, β may not be.
    Then β is the limit from equal α: the solution of largest −Σ|β_i| log|β_i|, whose support is the largest
    possible. For example, duplicates share equally, and if x₃ = (x₁ + x₂)/2, then β₃ = √(β₁β₂).

    The LASSO. The average β̄ = (1/τ)∫₀^τ β satisfies s(τ) = τ·Xᵀ(y − Xβ̄). So it is a LASSO solution at λ =
    1/τ if and only if s_i(τ) = sign β̄_i wherever β̄_i ≠ 0 (`FlowPath.average`).

    OMP. With `restart`, the flow starts again from s = 0 after the first event, whose pick joins S; and so
    on. The pick is the lowest index of the support after the event, which is A(S) of `first_entry`. So the
    picks are those of `sequential_lasso`, and those of `omp` outside ties. Without `restart` the flow
    compares correlations that it accumulated, so it may choose otherwise.

    Accuracy. `FlowPath.s_error` bounds the errors of s, to first order in eps (`_flow` derives it). Features
    that arrive together to these bounds are tied, and the bounds hold if the tie is exact. With nearly
    dependent columns the errors may be multiplied from event to event.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), or one `Problem` in place of both.
    forced : S, the features whose coefficients are at least squares, by index or name. A feature that depends
        linearly on the features before it gets the coefficient zero.
    intercept, standardize : fit an intercept, which is at least squares; divide columns by their standard
        deviations (see `Problem`). Then s refers to the standardized columns, and β is in the units of X.
    max_events : compute at most this many events. A path that is cut off in this way has the status
        MAX_STEPS.
    restart : restart the flow after each pick, which is OMP. Then there is an event for each pick.
    sample_weight : (n,) weights of the squared residuals.
    callback : called after each event with the path so far; the path stops if it returns True.

    Returns
    -------
    FlowPath. Its times have the units of 1/λ, so y → cy gives τ → τ/c. It stores s of all d features at each
    event; if d is large, limit the number of events by `max_events`.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), invalid `forced`, or max_events < 1.

    References
    ----------
    Burger, Gilboa, Osher and Xu, *Nonlinear inverse scale space methods*, 2006. Burger, Möller, Benning and
    Osher, *An adaptive inverse scale space method for compressed sensing*, 2013: the events. Pesme and
    Flammarion, *Saddle-to-saddle dynamics in diagonal linear networks*, 2023, and Berthier, *Incremental
    learning in diagonal linear networks*, 2023: gradient flow on w∘θ visits these points. Berthier, *Diagonal
    linear networks and the lasso regularization path*, 2025: the average and the LASSO. Osher, Ruan, Xiong,
    Yao and Yin, *Sparse recovery via differential inclusions*, 2016: statistical properties. Möller and
    Zhang, *Fast sparse reconstruction: greedy inverse scale space flows*, 2016: relations to OMP.

    >>> import numpy as np
    >>> X = np.array([[2.0, 0.6], [0.0, 0.1]])
    >>> path = gradient_flow(X, np.linalg.solve(X.T, [1.0, 0.9]))
    >>> path.tau.round(4).tolist(), path.supports
    ([1.0, 1.1667, 2.2089], ((0,), (1,), (0, 1)))
    >>> path.average(1.1).is_lasso, path.average(1.5).violations
    (True, (0,))
    """
    problem = as_problem(X, y, **data, operator=True)
    S = problem.unpenalized_columns(forced)
    limit = None if max_events is None else check_count(max_events, "max_events", 1)
    # many small products follow one another; with one thread each, BLAS does not wait for busy cores
    with workers(2.0 * problem.n * problem.d):
        flow = Flow(problem, S)
        saddles = [flow.saddle()]
        picks = list[int]()
        progress = ProgressLog("gradient_flow", "events")
        while (arrival := flow.arrival()) is not None:
            progress.report(len(saddles) - 1)
            if limit is not None and len(saddles) > limit:
                return _path(problem, S, saddles, restart, Status.MAX_STEPS)
            flow.advance(arrival)
            saddle = flow.saddle()
            if restart and flow.sound:
                picks.append(saddle.support[0])
                flow = Flow(problem, np.append(S, picks), flow.tau)
                saddle = flow.saddle()._replace(s=saddle.s, s_error=saddle.s_error, support=tuple(picks))
            if not flow.sound:
                break
            saddles.append(saddle)
            if callback is not None and callback(path := _path(problem, S, saddles, restart, Status.STOPPED)):
                return path
        status = flow.ending() if restart else Status.COMPLETED
        status = status if flow.sound else Status.BEYOND_PRECISION
        return _path(problem, S, saddles, restart, status)


def _path(problem: Problem, S: IndexArray, saddles: list[Saddle], restart: bool, status: Status) -> FlowPath:
    """Make the `FlowPath` of the saddles, in the units of X; the first saddle is the state at τ = 0."""
    m = problem.n_features
    scale = problem.design.scale
    dtype = problem.dtype
    ones = ThinQR(problem.in_double(), range(m, problem.d))
    total = length_of(ones.residual(ones.problem.y))
    norms = np.array([saddle.residual for saddle in saddles])
    coef, intercept = problem.in_units_of_data(np.array([saddle.coef for saddle in saddles]))
    used = np.flatnonzero(coef.any(axis=0))
    r2 = np.clip(1 - (norms / total) ** 2, 0, 1) if total else 0 * norms
    events = saddles[1:]
    error = np.array([saddle.s_error[used].max(initial=0) + problem.unit for saddle in events])
    tau = np.array([saddle.tau for saddle in events])
    fit = problem.design.fit()
    s = np.array([saddle.s[:m] for saddle in events]).reshape(-1, m).astype(dtype)
    forced = S[problem.d - m :]
    fits = (coef[:, used].astype(dtype), intercept.astype(dtype), norms.astype(dtype), r2.astype(dtype))
    supports, unique = tuple(saddle.support for saddle in events), tuple(saddle.unique for saddle in events)
    penalty = np.where(np.isin(used, S), 0, 1 / (1.0 if scale is None else scale[used])).astype(dtype)
    return FlowPath(tau, s, error, used, *fits, supports, unique, penalty, restart, forced, status, fit)
