"""Duality gaps of the LASSO, computed only from X, y, β and the features without penalty.

A gap does not depend on the solver that found β.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparselin.linalg.elimination import orthonormal_basis, project_off
from sparselin.problem import Problem
from sparselin.problem.errors import eps_of
from sparselin.results import FloatArray, IndexArray


@dataclasses.dataclass(frozen=True, eq=False)
class DualityGap:
    """A feasible dual point u of the LASSO, and the duality gap between u and some coefficients β.

    Attributes
    ----------
    gap : P(β) − D(u) ≥ 0 plus a bound on its rounding error, where P and D are the primal and the dual
        objective. The gap bounds both P(β) − min P and ½‖u − u*‖², where u* is the optimal dual point.
    u : (n,) the dual point, with X_Sᵀu = 0 and ‖Xᵀu‖∞ ≤ λ, where S are the features without penalty.
    correlation : (d,) Xᵀu.
    error : (d,) a bound on the rounding error of `correlation`.
    """

    gap: float
    u: FloatArray
    correlation: FloatArray
    error: FloatArray


def gap_at(
    residual: FloatArray,
    u: FloatArray,
    correlation: FloatArray,
    S: IndexArray,
    coef: FloatArray,
    lam: float,
    column_norms: FloatArray,
) -> DualityGap:
    """Return the duality gap of the LASSO min ½‖y − Xβ‖² + λ‖β_{S̄}‖₁ at β = coef.

    S are the features without penalty, and S̄ the others. With the objectives P(β) = ½‖r‖² + λ‖β_{S̄}‖₁ and
    D(u) = ½‖y‖² − ½‖y − u‖², where r is the residual, the gap is

        P(β) − D(u) = ½‖r − u‖² + Σ_{j ∉ S} (λ|β_j| − β_j⟨X_j, u⟩) − Σ_{j ∈ S} β_j⟨X_j, u⟩.

    The first two terms are nonnegative, and the last sum is zero. So gaps far below eps‖y‖² are computed
    without cancellation. A bound on the rounding error is added: the sum of |β_j| times the error of
    ⟨X_j, u⟩, which is 4√n·eps·‖X_j‖‖u‖.

    residual : r = y − Xβ.
    u : (n,) r projected off X_S, so that X_Sᵀu = 0 to rounding. u is scaled so that ‖Xᵀu‖∞ ≤ λ.
    correlation : (d,) Xᵀu.
    """
    correlation = correlation.copy()
    correlation[S] = 0
    steepest = float(np.abs(correlation).max(initial=0))
    if steepest > lam:
        u, correlation = u * (lam / steepest), correlation * (lam / steepest)
    penalized = np.abs(coef)
    penalized[S] = 0
    error = 4 * math.sqrt(len(u)) * eps_of(u.dtype) * column_norms * math.sqrt(float(u @ u))
    complementarity = float(lam * penalized.sum() - coef @ correlation)
    gap = 0.5 * float(np.sum((residual - u) ** 2)) + max(complementarity, 0.0) + float(np.abs(coef) @ error)
    return DualityGap(gap, u, correlation, error)


def gap_of(problem: Problem, S: IndexArray, b: FloatArray, lam: float, y: FloatArray | None = None) -> float:
    """Return the duality gap of `gap_at` for a `Problem`, or for a `Problem` with another response y."""
    residual = (problem.y if y is None else y) - problem.predict(b)
    u = project_off(orthonormal_basis(problem.columns(S)), residual)
    return gap_at(residual, u, problem.correlate(u), S, b, lam, problem.column_norms).gap


def proved_zero(column_norms: FloatArray, dual: DualityGap, lam: float) -> np.ndarray:
    """Apply the gap-safe test; return booleans (d,), True where the test proves β_j = 0 in every solution.

    For the dual point u and its duality gap, the test is |⟨X_j, u⟩| + ‖X_j‖√(2·gap) < λ. It is valid for two
    reasons: the distance of u from the optimal dual point u* is at most √(2·gap), because the dual is
    1-strongly concave; and β_j = 0 if |⟨X_j, u*⟩| < λ (Ndiaye, Fercoq, Gramfort and Salmon, 2017). The
    rounding error of ⟨X_j, u⟩ is added. Entries for j ∈ S, the features without penalty, have no meaning.
    """
    radius = math.sqrt(2 * dual.gap)
    return np.asarray(np.abs(dual.correlation) + dual.error + column_norms * radius < lam)
