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

Exact: solutions by the enumeration of `proofs_checks.rational.segment`, their KKT conditions verified;
p = y − Xβ. Tolerance for `sl.project_dual` and `sl.lasso_path`: 1e-12‖y‖, 4000 eps, for κ(X_S) of a few
hundred at most.
"""

import numpy as np

import sparselin as sl
from proofs_checks.rational import (
    close,
    coefficients,
    columns,
    exactly,
    inner,
    off,
    rational,
    real,
    reals,
    segment,
    spans,
    vector,
)
from proofs_checks.steps import in_window, open_steps
from sparselin.ledger import FALSE, HOLDS, claim, mutants

# in units of 1/5 unit columns and a unit y: r = P_S^⊥y = (0, 4), T = {1}, λ* = 16, p = r − ε(0, ¼)
X = np.array([[5.0, 3.0], [0.0, 4.0]])
Y = np.array([3.0, 4.0])
WITNESS = "5X = [[5, 3], [0, 4]], 5y = (3, 4), S = {0}, every λ in (λ₂, λ*)"
NUMBER = "Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission)"
TOLERANCE = "1e-12‖y‖ between the exact solution and the package's"


@claim("SA-lemma-3.4", NUMBER, "exact, float", FALSE, tolerance=TOLERANCE)
@mutants("sl.project_dual", "sl.first_entry", "segment")
def test_where_the_projection_residual_lies(check):
    """For λ just below λ*, the projection p of r = P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥ leaves r − p in
    colspan(X_T).

    Hypotheses: any independent S with λ* > 0, λ in the window (λ₂, λ*); no unit columns

    Instead: r − p lies in colspan(P_S^⊥X_T), which is colspan(X_T) for S = ∅ or X_S ⟂ X_T. λ* = 0 is to be
    left out (C_λ is empty for λ < 0).

    Consequences: Item 1 falls. Item 2 and Theorems 3.3, 1.1 and 1.2 stand: they need only that β is zero off
    S ∪ T, which the multipliers of the projection give directly.
    """
    residual = segment(X, Y, (0,)).Z * segment(X, Y, (0,)).v
    p = sl.project_dual(X, Y, 8.0, unpenalized=[0]).u
    check.refutes(
        np.array_equal(p, [0, 2]) and not spans(rational(X[:, [1]]), residual),
        f"{WITNESS}: r − p is a multiple of (0, 1), X_T = {{(3, 4)/5}}",
    )

    def in_the_corrected_span(selection):
        X, y, S = selection
        found = segment(X, y, S)
        lam, _, p = in_window(X, y, S, found)
        A, residual = rational(X), found.step.residual - p
        return (
            residual != 0 * residual
            and spans(off(A, S, columns(A, found.step.tied)), residual)
            and (bool(S) or spans(columns(A, found.step.tied), residual))
            and close(reals(p), sl.project_dual(X, y, real(lam), unpenalized=S).u, y)
        )

    check.forall(open_steps(), in_the_corrected_span)


@claim("SA-item-1", f"item 1 after {NUMBER}", "exact, float", FALSE, tolerance=TOLERANCE)
@mutants("sl.lasso_path", "sl.first_entry", "segment")
def test_selected_coefficients_move(check):
    """When the next feature is selected, β_i for i ∈ S equals its value in the previous solution β_S* =
    X_S⁺y.

    Hypotheses: λ in the window (λ₂, λ*), λ* > 0, independent S

    Instead: β_S = β_S* − X_S⁺X_Tβ_T: it moves with β_T unless X_S ⟂ X_Tβ_T.

    Consequences: Nothing that follows uses it.
    """
    found = segment(X, Y, (0,))
    before, after = (coefficients(X, Y, (0,), found, exactly(e))[0, 0] for e in (0.0, 1.0))
    path = sl.lasso_path(X, Y, unpenalized=[0])
    check.refutes(
        before - after == exactly(3) / 80 and path.at(16.0)[0] == 0.6 and abs(path.at(8.0)[0] - 0.3) <= 1e-15,
        f"{WITNESS}: β_0 = 3/5 − 3ε/80 at λ* − ε",
    )

    def moves_as_corrected(selection):
        X, y, S = selection
        found = segment(X, y, S)
        lam, beta, _ = in_window(X, y, S, found)
        A, before = rational(X), coefficients(X, y, S, found, exactly(0))
        entered = A * vector([0 * b if i in S else b for i, b in enumerate(beta.entries())])
        shift = A * vector([b - old if i in S else 0 * b for i, (b, old) in enumerate(pairs(beta, before))])
        ours = sl.lasso_path(X, y, unpenalized=S, lam_min=real(lam)).at(real(lam))
        return shift == off(A, S, entered) - entered and close(reals(A * beta), X @ ours, y)

    check.forall(open_steps(), moves_as_corrected)


@claim("SA-item-2", f"item 2 after {NUMBER}", "exact, float", HOLDS)
@mutants("sl.lasso_path", "sl.first_entry", "segment")
def test_only_tied_features_are_nonzero(check):
    """When the next feature is selected, β_i for i ∉ S can be nonzero only if i ∈ T.

    Hypotheses: λ in the window (λ₂, λ*), λ* > 0, independent S

    Consequences: Lemma 3.4 is not needed: a solution has |⟨X_i, p⟩| = λ where β_i ≠ 0, and off S ∪ T |⟨X_i,
    p⟩| < λ by the distances in the proof.

    Unchecked: how far below λ* it goes on: see the rows on the window
    """

    def zero_off_T(selection):
        X, y, S = selection
        found = segment(X, y, S)
        lam, _, p = in_window(X, y, S, found)
        A = rational(X)
        others = [i for i in range(A.ncols()) if i not in S and i not in found.step.tied]
        slack = all(abs(inner(columns(A, [i]), p)) < lam for i in others)  # so zero in every solution
        ours = sl.lasso_path(X, y, unpenalized=S, lam_min=real(lam)).at(real(lam))
        nonzero = set(np.flatnonzero(ours)) - set(S)
        return slack and nonzero and nonzero <= set(found.active)

    check.forall(open_steps(), zero_off_T)


def pairs(a, b):
    """The entries of two columns."""
    return zip(a.entries(), b.entries(), strict=True)
