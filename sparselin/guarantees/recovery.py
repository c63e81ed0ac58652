"""When greedy selection finds the best subset itself: exact recovery conditions.

S is the support of y = X_Sβ + e, X_S independent, X_Sᵀe = 0: the best subset, with its coefficients and
residual. While the picks T so far lie in S, r = P_T^⊥y = v + e with v = P_T^⊥X_Sβ in the span of X_S, and for
j ∉ S

    |⟨X_j, r⟩| ≤ |⟨X_S⁺X_j, X_Sᵀv⟩| + |⟨X_j, e⟩| ≤ ERC·‖X_Sᵀv‖∞ + |⟨X_j, e⟩|,    ERC = max_{j∉S} ‖X_S⁺X_j‖₁.

X_Sᵀr = X_Sᵀv is zero on T; on A = S∖T it is Gβ_A, G the Gram matrix of P_T^⊥X_A, so that
‖X_Sᵀv‖∞ ≥ ‖Gβ_A‖₂/√|A| ≥ λ_min(C_S)·min|β|. So if

    (1 − ERC)·λ_min(C_S)·min_S |β_j| > max_{j∉S} |⟨X_j, e⟩|,                                               (1)

OMP picks all of S first. For e = 0 this is ERC < 1: Tropp, *Greed is good* (2004), Theorem 3.1. ERC < 1
follows from μ₁(k − 1) + μ₁(k) < 1, and that from k < (1 + 1/μ)/2 (Theorem 3.5 and Corollary 3.6 there; unit
columns).

With unit columns ERC < 1 suffices for FR too (Soussen, Gribonval, Idier and Herzet, *Joint k-step analysis of
OMP and OLS*, 2013): it survives projecting off a t ∈ S and scaling to unit length again. Let q = X_S⁺X_j,
‖q‖₁ < 1, s_a = ⟨X_a, X_t⟩ and u = ⟨X_j, X_t⟩ = q_t + Σ q_a s_a. Then (u, Σ |q_a|√(1 − s_a²)) is a combination
of unit vectors of R² with weights |q|, hence shorter than 1, and so Σ_{a≠t} |q_a|√(1 − s_a²)/√(1 − u²) < 1,
which is the new ERC.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparselin.guarantees.along_path import Data
from sparselin.guarantees.promises import OURS, Hypotheses, Run, bound, equal_lengths
from sparselin.results import BestSubset, Bound, Interval, SparseEigenvalues

_TROPP = "Tropp, Greed is good (2004)"
_SOUSSEN = "Soussen, Gribonval, Idier and Herzet, Joint k-step analysis (2013)"


class Condition(NamedTuple):
    """What recovery of a support depends on; inf where its columns are dependent.

    Attributes
    ----------
    known : whether S is a best subset; None if the search for it was stopped.
    exact : whether e = 0 to rounding.
    erc, erc_unit : ERC of the columns as given, and scaled to unit length.
    left, right : the two sides of (1), in units of ‖y‖ and of the longest column, rounded for it and against.
    """

    known: bool | None
    exact: bool
    erc: float
    erc_unit: float
    left: float
    right: float


def condition(data: Data, best: BestSubset) -> Condition:
    """Of the best subset without the features whose coefficient is zero to rounding."""
    problem, square = data.problem, max(best.residual, 0.0)
    S = data.place[best.support[best.coef != 0]]
    exact = bool(np.sqrt(square) <= problem.length_error() * problem.y_norm)
    known = True if best.optimal or exact else None
    if not len(S) or not data.y.any():
        return Condition(known, exact, 0.0, 0.0, 0.0, 0.0)
    lengths = np.sqrt(np.einsum("ij,ij->j", data.X, data.X))
    U, sigma, Vt = np.linalg.svd(data.X[:, S], full_matrices=False)
    kappa = float(sigma[0] / max(sigma[-1], np.finfo(np.float64).tiny))
    off = problem.rounding(kappa)
    if len(sigma) < len(S) or sigma[-1] <= off * sigma[0]:
        return Condition(known, exact, np.inf, np.inf, 0.0, np.inf)
    pseudo = (Vt.T / sigma) @ U.T
    others = np.delete(np.arange(data.d), S)
    image = np.abs(pseudo @ data.X[:, others])
    worst = (1 + 2 * off * kappa) * (1 + 4 * off)
    erc = worst * float(image.sum(axis=0).max(initial=0))
    unit = worst * float((lengths[S] @ image / lengths[others]).max(initial=0))
    beta = pseudo @ data.y
    e = data.y - data.X[:, S] @ beta
    left = (1 - erc) * float(sigma[-1] ** 2 * (1 - 2 * off) * np.abs(beta).min())
    right = float(np.abs(data.X[:, others].T @ e).max(initial=0)) + off
    return Condition(known, exact, erc, unit, left, right)


def of_recovery(run: Run, found: Condition, spectrum: SparseEigenvalues, data: Data) -> list[Bound]:
    """Exact recovery by FR, or by OMP and what picks as it does: factor 1."""
    one, k = np.ones(2), spectrum.k
    sparse: Hypotheses = (("y in the span of k columns", found.exact if found.known else None),)
    if run.algorithm == "FR":
        own = (("ERC < 1, with unit columns", found.erc_unit < 1),)
        return [bound("exact recovery", run, "1", _SOUSSEN, sparse + own, one)]
    lengths = (equal_lengths(data.problem),)
    babel = spectrum.babel[k - 1] + (spectrum.babel[k - 2] if k > 1 else 0.0)
    margin = 1 - data.problem.rounding()
    mu = 0.0 if np.isnan(spectrum.coherence) else spectrum.coherence
    noisy: Hypotheses = (
        ("the best subset is known", found.known),
        ("(1 − ERC)·λ_min(C_S)·min|β| > max_{j∉S} |⟨X_j, e⟩|", found.left > found.right),
    )
    return [
        bound(
            "exact recovery", run, "1", f"{_TROPP}, Theorem 3.1", (*sparse, ("ERC < 1", found.erc < 1)), one
        ),
        bound(
            "exact recovery, babel function",
            run,
            "1",
            f"{_TROPP}, Theorem 3.5",
            (*sparse, *lengths, ("μ₁(k − 1) + μ₁(k) < 1", bool(babel < margin))),
            one,
        ),
        bound(
            "exact recovery, coherence",
            run,
            "1",
            f"{_TROPP}, Corollary 3.6",
            (*sparse, *lengths, ("k < (1 + 1/μ)/2", bool((2 * k - 1) * mu < margin))),
            one,
        ),
        bound("recovery in noise", run, "1", f"{OURS}, Theorem 4", noisy, one),
    ]


def constants(found: Condition, spectrum: SparseEigenvalues) -> list[tuple[str, Interval]]:
    """ERC, μ and μ₁(k − 1) + μ₁(k), for the table of constants."""
    k, mu = spectrum.k, 0.0 if np.isnan(spectrum.coherence) else spectrum.coherence
    babel = spectrum.babel[k - 1] + (spectrum.babel[k - 2] if k > 1 else 0.0)
    pairs = (("ERC", found.erc), ("coherence μ", mu), ("μ₁(k − 1) + μ₁(k)", float(babel)))
    return [(name, Interval(value, value, "as defined")) for name, value in pairs]
