"""The projector onto the dual polytope of the LASSO."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso._small import ProvedSolution, solution_at
from sparselin.lasso._working_set import knot_blocks
from sparselin.lasso.gap import gap_at, gap_of
from sparselin.parallel.threads import workers
from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.results import DualProjection, FloatArray, IndexArray, Status
from sparselin.validation import Columns, Names, check_level


@suggest_names
def project_dual(
    X: Any, v: ArrayLike, lam: float, *, forced: Columns = (), unpenalized: Columns | None = None
) -> DualProjection:
    """Project a point v onto the dual polytope of the LASSO.

    The projection u is the point nearest to v in {u : ‖Xᵀu‖∞ ≤ λ, X_Sᵀu = 0}. It solves the dual of the LASSO
    with response v, equation (11) of *Sequential Attention for Feature Selection*. Let β minimise
    ½‖v − Xβ‖² + λ‖β_{S̄}‖₁, where S̄ are the features outside S. Then

        u = v − Xβ.

    The algorithm follows the LASSO path from λ*(S), where all coefficients outside S are zero, down to λ. It
    finds u in finitely many steps. Unless the status is BEYOND_PRECISION, the error of u is at most
    max(1e-12, 100·eps·κ)·‖v‖ in float64. Here eps is the machine epsilon. Let E be the columns of S and the
    columns X_j with |⟨X_j, u⟩| = λ to rounding, all scaled to length 1. Each set of linearly independent
    columns in E has a condition number, and κ is the largest of these numbers. At a knot of the path, E also
    includes features with β_j = 0.

    Parameters
    ----------
    X : design (n, d), dense, sparse or a frame. A Problem is not accepted, because u is a point in the space
        of the samples.
    v : (n,) the point to project.
    lam : λ ≥ 0. For λ = 0, u is the residual of least squares on all columns.
    forced : S, the columns to which u is orthogonal, by index or name. `unpenalized` is another name for this
        argument.

    Returns
    -------
    DualProjection, with the projection u, the LASSO solution β, its active features and its duality gap.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), lam < 0, invalid `forced`, or a Problem for X.

    >>> projection = project_dual([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5], 1.0)
    >>> projection.u.tolist(), projection.coef.tolist(), projection.active
    ([1.0, 0.5], [2.0, 0.0], (0,))
    """
    if isinstance(X, Problem):
        raise TypeError(
            "X must be the design itself, in project_dual; got a Problem, which may be weighted, or known "
            "only by its Gram matrix"
        )
    problem = Problem(X, v)
    S = problem.unpenalized_columns(forced, unpenalized)
    lam = check_level(lam, "lam")
    solution = solution_at(problem, S, lam)
    if solution is None:
        with workers(math.inf):  # limit BLAS to one thread: it would wake others for many small products
            return _by_path(problem, S, lam)
    later = _OfSolution(problem, S, lam, solution)
    return DualProjection._deferring(later, u=solution.r, status=Status.COMPLETED)


class _OfSolution:
    """The fields of a `DualProjection` that are computed when they are read, given the LASSO solution."""

    def __init__(self, problem: Problem, S: IndexArray, lam: float, solution: ProvedSolution) -> None:
        self._names = problem.names
        self._norms = problem.column_norms
        self._S = S
        self._lam = lam
        self._solution = solution

    def coef(self) -> FloatArray:
        """Return β (d,)."""
        coef = np.zeros(len(self._norms))
        coef[self._solution.columns] = self._solution.beta
        return coef

    def active(self) -> tuple[int, ...]:
        """Return the features outside S with a nonzero coefficient."""
        return _active(self.coef(), self._S)

    def duality_gap(self) -> float:
        """Return the duality gap."""
        r = self._solution.r
        return gap_at(r, r, self._solution.c, self._S, self.coef(), self._lam, self._norms).gap

    def names(self) -> Names:
        """Return the names of the features."""
        return self._names


def _by_path(problem: Problem, S: IndexArray, lam: float) -> DualProjection:
    """Compute the projection of `project_dual` by the LASSO path, which also decides ties."""
    *_, end = knot_blocks(problem, S, lam, sys.maxsize, False)
    double = problem.in_double()
    beta = end.dense(problem.d)
    coef, u = (array.astype(problem.dtype) for array in (beta, double.y - double.predict(beta)))
    gap = gap_of(problem, S, coef, lam)
    status = Status.COMPLETED if end.lams[-1] <= lam else Status.BEYOND_PRECISION
    return DualProjection(u, coef, _active(coef, S), gap, status, problem.names)


def _active(coef: FloatArray, S: IndexArray) -> tuple[int, ...]:
    """Return the features outside S with a nonzero coefficient."""
    active = coef != 0
    active[S] = False
    return tuple(np.flatnonzero(active).tolist())
