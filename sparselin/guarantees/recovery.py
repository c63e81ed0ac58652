"""Conditions for exact recovery, under which greedy selection finds the best subset.

Let y = X_Sβ + e with X_S independent and X_Sᵀe = 0, where S is the best subset, β its coefficients and e its
residual. Let T be the picks so far, and suppose that they lie in S. Then r = P_T^⊥y = v + e, where
v = P_T^⊥X_Sβ is in the span of X_S. With the pseudoinverse X_S⁺, for j ∉ S

    |⟨X_j, r⟩| ≤ |⟨X_S⁺X_j, X_Sᵀv⟩| + |⟨X_j, e⟩| ≤ ERC·‖X_Sᵀv‖∞ + |⟨X_j, e⟩|,    ERC = max_{j∉S} ‖X_S⁺X_j‖₁.

X_Sᵀr = X_Sᵀv is zero on T. On A = S∖T, X_Aᵀv = Gβ_A, where G is the Gram matrix of P_T^⊥X_A. Therefore
‖X_Sᵀv‖∞ ≥ ‖Gβ_A‖₂/√|A| ≥ λ_min(C_S)·min|β|, where C_S is the Gram matrix of X_S. So if

    (1 − ERC)·λ_min(C_S)·min_S |β_j| > max_{j∉S} |⟨X_j, e⟩|,                                               (1)

OMP picks all of S first. For e = 0 the condition is ERC < 1: Tropp, *Greed is good* (2004), Theorem 3.1. Such
conditions with noise are due to Donoho, Elad and Temlyakov (2006) and to Cai and Wang (2011). Let μ be the
coherence and μ₁ the Babel function. For unit columns ERC < 1 follows from μ₁(k − 1) + μ₁(k) < 1, which
follows from k < (1 + 1/μ)/2 (Tropp's Theorem 3.5 and Corollary 3.6).

With unit columns ERC < 1 suffices for FR (forward regression) too (Soussen, Gribonval, Idier and Herzet,
*Joint k-step analysis of OMP and OLS*, 2013). The reason is that ERC < 1 still holds after the columns have
been projected off a column t ∈ S and scaled to unit length again. Proof: Let q = X_S⁺X_j, w = ‖q‖₁ < 1,
s_a = ⟨X_a, X_t⟩ and u = ⟨X_j, X_t⟩ = q_t + Σ q_a s_a. Then (u, Σ |q_a|√(1 − s_a²)) is a combination of unit
vectors of the plane with weights |q|, so its length is at most w. The new ERC is Σ_{a≠t} |q_a|√(1 − s_a²)/√(1
− u²) ≤ √((w² − u²)/(1 − u²)) ≤ w < 1.

**Rounding.** Let τ bound the errors of e and of differences of correlations. If OMP picks a feature outside
S, the first such pick implies (1 − ERC)·‖X_Sᵀv‖∞ ≤ τ. So ‖v‖² ≤ |S|·τ²/((1 − ERC)²·λ_min(C_S)), which bounds
the loss in R². For FR, with unit columns, τ is divided by the least length of a column after projection off
T: ρ_a² ≥ λ_min(C_S) for a ∈ S, and ρ_j² ≥ 1 − ‖X_Sq‖² ≥ 1 − ERC² for j ∉ S.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sparselin.guarantees.coherence import columns_of, normalize, scale_by_powers
from sparselin.guarantees.promises import OURS, GreedyRun, Hypotheses, equal_lengths
from sparselin.problem import Problem
from sparselin.problem.errors import TINY, rank_level
from sparselin.results import BestSubset, Bound, FloatArray, Interval, SparseEigenvalues
from sparselin.subsets.unit_data import UnitData
from sparselin.validation import Columns, check_indices, frame_labels, frame_names

_TROPP = "Tropp, Greed is good (2004)"
_SOUSSEN = "Soussen, Gribonval, Idier and Herzet, Joint k-step analysis (2013)"
# In units of the rounding error e of correlations. Correlations with a smaller difference may count as tied:
# tied correlations differ by up to 2e as computed, and by up to 4e exactly. As much is added for the errors
# of this module.
_TIES = 8


class RecoveryCondition(NamedTuple):
    """The constants on which the recovery of a support S depends; ERC is inf if X_S is dependent.

    ERC is the exact recovery coefficient of S, and e the residual of y on S.

    Attributes
    ----------
    known : whether S is a best subset; None if the search for it was stopped.
    exact : whether e = 0 up to rounding.
    erc, erc_unit : ERC of the columns as given, and of the columns scaled to unit length.
    factor, factor_unit : the factors of the guarantees for OMP and for FR if ERC < 1 and e = 0 up to
        rounding: 1 less the effect of rounding.
    left, right : the two sides of the condition (1) of the module, in units of ‖y‖ and of the longest column,
        with the errors of both added to the right side.
    share : R²(S) is at least this share of the largest R².
    """

    known: bool | None
    exact: bool
    erc: float
    erc_unit: float
    factor: float
    factor_unit: float
    left: float
    right: float
    share: float = 1.0


def exact_recovery_coefficient(X: Any, S: Columns) -> float:
    """Return Tropp's exact recovery coefficient of S: ERC(S) = max_{j∉S} ‖X_S⁺X_j‖₁.

    X_S⁺ is the pseudoinverse, so X_S⁺X_j are the least squares coefficients of column j on the columns of S.
    If ERC(S) < 1, then for every y = X_Sβ all picks of OMP are in S until the residual is zero (Tropp, *Greed
    is good*, 2004, Theorem 3.1). With unit columns the same holds for OLS (Soussen, Gribonval, Idier, Herzet,
    2013). Conversely, let ERC(S) > 1 be attained at j, and take the y = X_Sβ with X_Sᵀy = sign(X_S⁺X_j).
    OMP's first pick for this y is not in S, because ⟨X_j, y⟩ = ERC(S) exceeds |⟨X_i, y⟩| ≤ 1 for i ∈ S. The
    columns are not rescaled, and ERC(S) depends on their lengths.

    Parameters
    ----------
    X : design (n, d): an array, SciPy sparse matrix or frame; or a `Problem`. float32 is computed in float64.
    S : columns, by index or name.

    Returns
    -------
    ERC(S) ≥ 0, with an error of about κ(X_S)·√n·eps·max_{j∉S} ‖X_S⁺‖‖X_j‖, where κ is the condition number
    and eps the machine epsilon. ERC(S) is 0 if S is empty or has all columns. It is infinite if it exceeds
    the range of floats, or if the columns of X_S are dependent up to rounding. They are dependent if, after
    scaling to unit length, their least and largest singular values satisfy σ_min ≤ max(n, |S|)·eps·σ_max.

    Raises
    ------
    TypeError : X is not numeric, or a LinearOperator.
    ValueError : X is not a finite matrix, or is a `Problem` with an intercept or standardized columns; or S
        is not a set of columns of X.

    >>> exact_recovery_coefficient([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25]], [0, 1])
    0.75
    """
    columns = columns_of(X)
    n, d = columns.shape
    named = X if isinstance(X, Problem) else None
    names = named.names if named else frame_names(X)
    inside = check_indices(S, d, "S", names, named.labels if named else frame_labels(X))
    outside = np.setdiff1d(np.arange(d), inside)
    if not len(inside) or not len(outside):
        return 0.0
    block = columns[:, inside]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    if len(inside) > n or not block.any(axis=0).all():
        return math.inf
    unit, lengths, own = normalize(block)
    U, sigma, Vt = np.linalg.svd(unit, full_matrices=False)
    if sigma[-1] <= rank_level(block.shape) * sigma[0]:
        return math.inf
    pseudo = (Vt.T / sigma) @ U.T
    rest, others = scale_by_powers(columns[:, outside])
    with np.errstate(over="ignore"):  # ERC(S) itself may be beyond the range of floats
        return _largest_norm(np.ldexp((rest.T @ pseudo.T) / lengths, others[:, None] - own).T)


def condition(data: UnitData, best: BestSubset) -> RecoveryCondition:
    """Compute the constants for the recovery of the best subset, without features of coefficient zero."""
    problem = data.problem
    S = data.place[best.support[best.coef != 0]]
    exact = bool(np.sqrt(max(best.residual, 0.0)) <= problem.errors.length_error() * problem.y_norm)
    known = True if best.optimal or exact else None
    if not len(S) or not data.y.any():
        return RecoveryCondition(
            known=known, exact=exact, erc=0.0, erc_unit=0.0, factor=1.0, factor_unit=1.0, left=0.0, right=0.0
        )
    others = np.delete(np.arange(data.d), S)
    lengths = np.sqrt(np.einsum("ij,ij->j", data.X, data.X))
    unit = data.X / lengths
    (pseudo, sigma, off), (pseudo_unit, sigma_unit, _) = (_inverse(problem, V[:, S]) for V in (data.X, unit))
    if not sigma or not sigma_unit:
        return RecoveryCondition(
            known=known,
            exact=exact,
            erc=np.inf,
            erc_unit=np.inf,
            factor=0.0,
            factor_unit=0.0,
            left=0.0,
            right=np.inf,
        )
    worst = 1 + 4 * off * (1 + 1 / sigma)
    inverses = (pseudo, data.X), (pseudo_unit, unit)
    erc, erc_unit = (worst * _largest_norm(A @ V[:, others]) for A, V in inverses)
    beta = pseudo @ data.y
    e = data.y - data.X[:, S] @ beta
    rest = (np.abs(V[:, others].T @ e) for V in (data.X, unit))
    right, right_unit = (float(c.max(initial=0)) + _TIES * off for c in rest)
    left = (1 - erc) * sigma**2 * (1 - 2 * off) * float(np.abs(beta).min())
    shortest = min(sigma_unit, np.sqrt(max(0.0, 1 - erc_unit**2)))
    factor = _certain(right, erc, sigma, len(S))
    factor_unit = _certain(right_unit, erc_unit, sigma_unit * shortest, len(S))
    return RecoveryCondition(
        known=known,
        exact=exact,
        erc=erc,
        erc_unit=erc_unit,
        factor=factor,
        factor_unit=factor_unit,
        left=left,
        right=right,
        share=_share(best, problem.y_norm),
    )


def _largest_norm(coefs: FloatArray) -> float:
    """Return the largest 1-norm of a column of `coefs`, the matrix X_S⁺X_{S̄}; 0 if it has no columns."""
    return float(np.abs(coefs).sum(axis=0).max(initial=0))


def _inverse(problem: Problem, X: FloatArray) -> tuple[FloatArray, float, float]:
    """Return X⁺, the least singular value σ_min, and the relative rounding error of a projection off X.

    σ_min is 0 if the columns of X are dependent up to rounding.
    """
    U, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    off = problem.rounding(float(sigma[0] / max(sigma[-1], TINY)))
    if X.shape[1] > len(sigma) or sigma[-1] <= off * sigma[0]:
        return X.T, 0.0, off
    return np.asarray((Vt.T / sigma) @ U.T), float(sigma[-1]), off


def _share(best: BestSubset, y_norm: float) -> float:
    """Return a share of the largest R² that R² of the best subset certainly has, given ‖y‖."""
    square = max(best.residual, 0.0)
    # the largest R² is at most best.r2 + excess
    excess = (square - min(square, best.lower_bound)) / y_norm**2
    return max(0.0, 1 - excess / best.r2) if best.r2 > 0 else 0.0


def _certain(tau: float, erc: float, sigma: float, size: int) -> float:
    """Return 1 − |S|·τ²/((1 − ERC)²·σ²), at least 0: the factor of exact recovery in spite of rounding.

    tau, erc, sigma, size : τ, the error of correlations; ERC, the exact recovery coefficient; σ = σ_min(X_S),
        the least singular value; and |S|.
    """
    lost = (1 - erc) * sigma
    return max(0.0, 1 - size * (tau / lost) ** 2) if lost > 0 else 0.0


def of_recovery(
    run: GreedyRun, found: RecoveryCondition, given: SparseEigenvalues, data: UnitData
) -> list[Bound]:
    """Return the guarantees of exact recovery for a run of FR, of OMP, or of a method with OMP's picks.

    If the hypotheses of a guarantee hold, its factor is 1 up to rounding.
    """
    k = given.k
    certain = np.array([found.factor, 1.0])
    sparse: Hypotheses = (("y in the span of k columns", found.exact if found.known else None),)
    if run.algorithm == "FR":
        own = (("ERC < 1, with unit columns", found.erc_unit < 1),)
        return [run.bound("exact recovery", "1", _SOUSSEN, sparse + own, np.array([found.factor_unit, 1.0]))]
    lengths = (equal_lengths(data.problem),)
    babel = given.babel[k - 1] + (given.babel[k - 2] if k > 1 else 0.0)
    margin = 1 - data.problem.rounding()
    mu = 0.0 if np.isnan(given.coherence) else given.coherence
    noisy: Hypotheses = (
        ("the best subset is known", found.known),
        ("(1 − ERC)·λ_min(C_S)·min|β| > max_{j∉S} |⟨X_j, e⟩|", found.left > found.right),
    )
    by_babel = ("μ₁(k − 1) + μ₁(k) < 1", bool(babel < margin))
    by_coherence = ("k < (1 + 1/μ)/2", bool((2 * k - 1) * mu < margin))
    rows: tuple[tuple[str, str, Hypotheses], ...] = (
        ("exact recovery", "Theorem 3.1", (*sparse, ("ERC < 1", found.erc < 1))),
        ("exact recovery, babel function", "Theorem 3.5", (*sparse, *lengths, by_babel)),
        ("exact recovery, coherence", "Corollary 3.6", (*sparse, *lengths, by_coherence)),
    )
    return [
        *(run.bound(name, "1", f"{_TROPP}, {where}", holds, certain) for name, where, holds in rows),
        run.bound("recovery in noise", "1", f"{OURS}, Theorem 4", noisy, np.array([found.share, 1.0])),
    ]


def constants(found: RecoveryCondition, spectrum: SparseEigenvalues) -> list[tuple[str, Interval]]:
    """Return the pairs (name, value) of ERC, μ and μ₁(k − 1) + μ₁(k), for `GuaranteeBounds.constants`.

    ERC is the exact recovery coefficient, μ the coherence and μ₁ the Babel function.
    """
    k = spectrum.k
    mu = 0.0 if np.isnan(spectrum.coherence) else spectrum.coherence
    babel = spectrum.babel[k - 1] + (spectrum.babel[k - 2] if k > 1 else 0.0)
    pairs = (("ERC", found.erc), ("coherence μ", mu), ("μ₁(k − 1) + μ₁(k)", float(babel)))
    return [(name, Interval(value, value, "as defined")) for name, value in pairs]
