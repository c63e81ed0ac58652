"""Lemma 3.4 (3.5 in the submission): where the residual of the projection lies; items 1 and 2 after it.

Source: *Sequential Attention for Feature Selection*, Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission).
In print: with p the projection of P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥, C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, and λ just
below λ* = ‖XᵀP_S^⊥y‖∞, the residual P_S^⊥y − p lies in colspan(X_T).

For S ≠ ∅ it need not. The minimiser of ½‖r − u‖² over X_Sᵀu = 0, |⟨X_i, u⟩| ≤ λ has multipliers a, b
with r − p = X_S a + X_T b, and X_Sᵀ(r − p) = 0 gives X_S a = −P_S X_T b, so r − p = P_S^⊥X_T b: the
residual lies in colspan(P_S^⊥X_T). For S = ∅ the two agree. From Xβ = y − p = P_S y + P_S^⊥X_T b follow
β_T = b and, on independent columns, β_S = β_S* − X_S⁺X_T b: item 1 falls with the lemma (β_S stays
where it was only if X_S ⟂ X_T b), item 2 and Theorem 3.3 stand. λ* = 0 must be left out: the lemma then
speaks of λ < 0, where C_λ is empty.

Exact: p = r − εZv by the enumeration of `proofs_checks.rational.segment`, its KKT conditions verified.
Tolerance for `sl.project_dual` and `sl.lasso_path`: 1e-12‖y‖, 4000 eps, for κ(X_S) of a few hundred at
most.
"""

import numpy as np

import sparselin as sl
from proofs_checks.rational import (
    coefficients,
    columns,
    exactly,
    inner,
    is_solution,
    off,
    rational,
    real,
    reals,
    segment,
    spans,
    vector,
)
from proofs_checks.steps import open_steps
from sparselin.ledger import Verdict, claim

# S = {0}, X_1 not orthogonal to X_0: P_S^⊥y = (0, 1), T = {1}, λ* = 1; at λ = ½, p = (0, ½)
X = np.array([[1.0, 1.0], [0.0, 1.0]])
Y = np.array([1.0, 1.0])
WITNESS = "X = [[1, 1], [0, 1]], y = (1, 1), S = {0}, λ = ½"
NUMBER = "Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission)"
TOLERANCE = "1e-12‖y‖ between the exact solution and the package's"


def halfway(X, y, S):
    """A rational ε in the proof's interval, from `sl.first_entry`."""
    entry = sl.first_entry(X, y, unpenalized=S)
    return exactly((entry.lam_star - max(entry.proof_lower, entry.window_lower)) / 2)


@claim(
    "SA-lemma-3.4",
    paper="SA",
    number=NUMBER,
    statement="For λ just below λ*, the projection p of r = P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥ leaves r − p in "
    "colspan(X_T).",
    hypotheses="any independent S with λ* > 0; no unit columns",
    method="exact, float",
    verdict=Verdict.FALSE,
    correction="r − p lies in colspan(P_S^⊥X_T), which is colspan(X_T) for S = ∅ or X_S ⟂ X_T. λ* = 0 is to "
    "be left out (C_λ is empty for λ < 0).",
    consequences="Item 1 falls. Item 2 and Theorems 3.3, 1.1 and 1.2 stand: they need only that β is zero "
    "off S ∪ T, which the multipliers of the projection give directly.",
    tolerance=TOLERANCE,
    mutants=("sl.project_dual", "sl.first_entry"),
)
def test_where_the_projection_residual_lies(check):
    r = np.array([0.0, 1.0])
    p = sl.project_dual(X, r, 0.5, unpenalized=[0]).u
    in_print = spans(rational(X[:, [1]]), rational(r - p))
    check.refutes(np.array_equal(p, [0, 0.5]) and not in_print, f"{WITNESS}: r − p = (0, ½), X_T = (1, 1)")

    def in_the_corrected_span(selection):
        X, y, S = selection
        found, eps = segment(X, y, S), halfway(X, y, S)
        lam, A = found.step.lam_star - eps, rational(X)
        residual = found.Z * found.v * eps
        projected = sl.project_dual(X, y, real(lam), unpenalized=S).u
        return (
            is_solution(X, y, S, coefficients(X, y, S, found, eps), lam)
            and spans(off(A, S, columns(A, found.step.tied)), residual)
            and (bool(S) or spans(columns(A, found.step.tied), residual))
            and close(reals(found.step.residual - residual), projected, y)
        )

    check.forall(open_steps(), in_the_corrected_span)


@claim(
    "SA-item-1",
    paper="SA",
    number=f"item 1 after {NUMBER}",
    statement="When the next feature is selected, β_i for i ∈ S equals its value in the previous solution "
    "β_S* = X_S⁺y.",
    hypotheses="λ in the proof's interval below λ* > 0, independent S",
    method="exact, float",
    verdict=Verdict.FALSE,
    correction="β_S = β_S* − X_S⁺X_Tβ_T: it moves with β_T unless X_S ⟂ X_Tβ_T.",
    consequences="Nothing that follows uses it.",
    tolerance=TOLERANCE,
    mutants=("sl.lasso_path", "sl.first_entry"),
)
def test_selected_coefficients_move(check):
    path = sl.lasso_path(X, Y, unpenalized=[0])
    check.refutes(path.at(1.0)[0] == 1 and path.at(0.5)[0] == 0.5, f"{WITNESS}: β_0 falls from 1 to ½")

    def moves_as_corrected(selection):
        X, y, S = selection
        found, eps = segment(X, y, S), halfway(X, y, S)
        lam, A = found.step.lam_star - eps, rational(X)
        beta, before = (coefficients(X, y, S, found, e) for e in (eps, 0 * eps))
        entered = A * vector([0 * b if i in S else b for i, b in enumerate(beta.entries())])
        shift = A * vector([b - old if i in S else 0 * b for i, (b, old) in enumerate(pairs(beta, before))])
        ours = sl.lasso_path(X, y, unpenalized=S, lam_min=real(lam)).at(real(lam))
        return shift == off(A, S, entered) - entered and close(reals(A * beta), X @ ours, y)

    check.forall(open_steps(), moves_as_corrected)


@claim(
    "SA-item-2",
    paper="SA",
    number=f"item 2 after {NUMBER}",
    statement="When the next feature is selected, β_i for i ∉ S can be nonzero only if i ∈ T.",
    hypotheses="λ in the proof's interval below λ* > 0, independent S",
    method="exact, float",
    verdict=Verdict.HOLDS,
    consequences="Lemma 3.4 is not needed: a solution has |⟨X_i, p⟩| = λ where β_i ≠ 0, and off S ∪ T "
    "|⟨X_i, p⟩| < λ by the distances in the proof.",
    unchecked="how far below λ* it goes on: see the rows on the window",
    mutants=("sl.lasso_path", "sl.first_entry"),
)
def test_only_tied_features_are_nonzero(check):
    def zero_off_T(selection):
        X, y, S = selection
        found, eps = segment(X, y, S), halfway(X, y, S)
        lam, A = found.step.lam_star - eps, rational(X)
        p = found.step.residual - found.Z * found.v * eps  # the same in every solution
        others = [i for i in range(A.ncols()) if i not in S and i not in found.step.tied]
        slack = all(abs(inner(columns(A, [i]), p)) < lam for i in others)
        ours = sl.lasso_path(X, y, unpenalized=S, lam_min=real(lam)).at(real(lam))
        nonzero = set(np.flatnonzero(ours)) - set(S)
        return slack and nonzero and nonzero <= set(found.active)

    check.forall(open_steps(), zero_off_T)


def pairs(a, b):
    """The entries of two columns."""
    return zip(a.entries(), b.entries(), strict=True)


def close(a, b, y):
    """‖a − b‖ ≤ 1e-12‖y‖."""
    return np.linalg.norm(a - b) <= 1e-12 * np.linalg.norm(y)
