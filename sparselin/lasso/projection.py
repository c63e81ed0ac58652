"""The projector onto the dual polytope of the LASSO."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._homotopy import Homotopy
from sparselin.lasso._working_set import solution_at
from sparselin.lasso.gap import gap_at, gap_of
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.results import DualProjection, FloatArray, IndexArray, Status
from sparselin.validation import Columns, check_level


def project_dual(
    X: Any,
    v: ArrayLike,
    lam: float,
    *,
    forced: Columns = (),
    unpenalized: Columns | None = None,
) -> DualProjection:
    """The projection u of v onto C_λ ∩ colspan(X_S)^⊥, C_λ = {u : ‖Xᵀu‖∞ ≤ λ}.

    This is the dual of the LASSO, equation (11) of *Sequential Attention for Feature Selection*: with
    β a solution of min ½‖v − Xβ‖² + λ‖β_{S̄}‖₁,

        u = v − Xβ.

    It is found by the homotopy from λ*(S) down to λ, a finite method. Unless the status is BEYOND_PRECISION,
    the error is at most max(1e-12, 100·eps·κ)·‖v‖ in float64, κ the largest condition number of independent
    unit columns of S and of the faces that u is on to rounding (at a knot also of features with β_j = 0).

    Parameters
    ----------
    X : design (n, d), dense, sparse or a frame. Not a Problem: u lives in sample space.
    v : (n,) the point to project.
    lam : λ ≥ 0; at zero u is the residual of least squares on all columns.
    forced : S, the columns to which u is orthogonal, by index or name; `unpenalized` is another name for it.

    Returns
    -------
    DualProjection.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), lam < 0, bad `forced`, or a Problem for X.

    >>> projection = project_dual([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5], 1.0)
    >>> projection.u.tolist(), projection.coef.tolist(), projection.active
    ([1.0, 0.5], [2.0, 0.0], (0,))
    """
    if isinstance(X, Problem):
        raise TypeError(
            "project_dual needs the design X itself: "
            "a Problem may be weighted, or known only by its Gram matrix"
        )
    problem = Problem(X, v)
    S = problem.unpenalized(forced, unpenalized)
    lam = check_level(lam, "lam")
    with workers(math.inf):  # limits BLAS to one thread: it would wake others for each of many small products
        solution = solution_at(problem, S, lam)
        if solution is None:
            return _by_homotopy(problem, S, lam)
        coef = np.zeros(problem.d, problem.dtype)
        coef[solution.columns] = solution.coef
        u = solution.residual
        gap = gap_at(u, u, solution.correlation, S, coef, lam, problem.column_norms).gap
        return DualProjection(u, coef, _active(coef, S), gap, Status.COMPLETED, problem.names)


def _by_homotopy(problem: Problem, S: IndexArray, lam: float) -> DualProjection:
    homotopy = Homotopy(problem, S)
    above = lam >= homotopy.lam
    if not above:
        for _ in homotopy.knots(lam):
            pass
    dtype = problem.dtype
    u = (homotopy.base.r if above else homotopy.residual).astype(dtype, copy=False)
    coef = homotopy.coef().astype(dtype, copy=False)
    return DualProjection(
        u=u,
        coef=coef,
        active=_active(coef, S),
        duality_gap=gap_of(problem, S, coef, lam),
        status=Status.COMPLETED if homotopy.lam <= lam or above else Status.BEYOND_PRECISION,
        names=problem.names,
    )


def _active(coef: FloatArray, S: IndexArray) -> tuple[int, ...]:
    off = coef.copy()
    off[S] = 0
    return tuple(np.flatnonzero(off).tolist())
