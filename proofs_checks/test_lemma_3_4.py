"""Lemma 3.4 (3.5 in the NeurIPS submission) and items 1 and 2 after it: the span that contains r − p.

Source: *Sequential Attention for Feature Selection*, Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission). Let
P_S^⊥ be the projection onto the orthogonal complement of the selected columns X_S. Let r = P_S^⊥y, λ* =
‖Xᵀr‖∞, T = {i : |⟨X_i, r⟩| = λ*}, C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, and p the projection of r onto C_λ ∩
colspan(X_S)^⊥. In print: there is a λ₀ < λ* such that for all λ ∈ (λ₀, λ*)

    r − p ∈ colspan(X_T).

For S ≠ ∅ the lemma is false. Let a and b be the multipliers of the constraints X_Sᵀu = 0 and |⟨X_i, u⟩| ≤ λ
in this projection; b is zero off T. For a LASSO solution β with the residual p they give

    r − p = X_S a + X_T b,   X_S a = −P_S X_T b,   so   r − p = P_S^⊥X_T b,   β_S = X_S⁺(y − X_Tβ_T).

Item 1 after the lemma says that the coefficients on S do not change when the next feature enters. It is
false, like the lemma. Item 2, that only features of T become nonzero, and Theorem 3.3 are true. Proof:
docs/proofs/lemma_3_4.md.

The checks are exact: solutions come from `proofs_checks.rational.segment`, which lists all vertices, their
KKT conditions are verified, and p = y − Xβ. The results of `sl.project_dual` and `sl.lasso_path` have a
tolerance of 1e-12‖y‖, which is about 4000 eps·‖y‖, because the condition number κ(X_S) is a few hundred at
most.
"""

import numpy as np

import sparselin as sl
from proofs_checks.rational import close, columns, exactly, off, rational, real, reals, segment, spans, vector
from proofs_checks.steps import open_steps, spread
from sparselin.ledger import FALSE, HOLDS, claim, mutants

# in units of 1/5 unit columns and a unit y: r = P_S^⊥y = (0, 4), T = {1}, λ* = 16, p = r − ε(0, ¼)
X = np.array([[5.0, 3.0], [0.0, 4.0]])
Y = np.array([3.0, 4.0])
WITNESS = "5X = [[5, 3], [0, 4]], 5y = (3, 4), S = {0}, every λ in (λ₂, λ*)"
NUMBER = "Lemma 3.4 (ICLR), Lemma 3.5 (NeurIPS submission)"
TOLERANCE = "The exact solution and the package's may differ by 1e-12‖y‖."


@claim("SA-lemma-3.4", NUMBER, "formal, exact, float", FALSE, tolerance=TOLERANCE)
@mutants("sl.project_dual", "segment")
def test_where_the_projection_residual_lies(check):
    """Let p be the projection of r = P_S^⊥y onto C_λ ∩ colspan(X_S)^⊥, with C_λ = {u : ‖Xᵀu‖∞ ≤ λ}. There is
    a λ₀ < λ* such that for all λ ∈ (λ₀, λ*) the difference r − p lies in colspan(X_T).

    Hypotheses: S is any set of linearly independent columns with λ* = ‖Xᵀr‖∞ > 0, and T = {i : |⟨X_i, r⟩| =
    λ*}. λ lies in the window (λ₂, λ*), on which the LASSO has the same nonzero features outside S. The
    columns need not have length 1. P_S^⊥ is the projection onto the orthogonal complement of the columns in
    S.

    Instead: r − p lies in colspan(P_S^⊥X_T), which is colspan(X_T) for S = ∅ or X_S ⟂ X_T. The case λ* = 0
    must be excluded, because C_λ is empty for λ < 0.

    Consequences: Item 1 after the lemma (SA-item-1) is false too. Item 2 (SA-item-2) and Theorems 3.3, 1.1
    and 1.2 do not depend on the lemma. They need only that a LASSO solution β is zero off S ∪ T, and this
    follows directly from the multipliers of the projection.

    In Coq: lemma_3_4_is_false; dual_difference, for λ in (λ₁, λ*) with an explicit λ₁
    """
    found = segment(X, Y, (0,))
    residual, p = found.Z * found.v, sl.project_dual(X, Y, 8.0, forced=[0]).u
    check.refutes(
        np.array_equal(p, [0, 2]) and not spans(rational(X[:, [1]]), residual),
        f"{WITNESS}: r − p is a multiple of (0, 1), X_T = {{(3, 4)/5}}",
    )

    def in_the_corrected_span(X, y, S):
        found = segment(X, y, S)
        lam, _, p = found.in_window()
        X_T, residual = columns(rational(X), found.step.tied), found.step.residual - p
        return (
            residual != 0 * residual
            and spans(off(rational(X), S, X_T), residual)
            and (S or spans(X_T, residual))
            and close(reals(p), sl.project_dual(X, y, real(lam), forced=S).u, y)
        )

    check.forall(open_steps(), spread(in_the_corrected_span))


@claim("SA-item-1", f"item 1 after {NUMBER}", "exact, float", FALSE, tolerance=TOLERANCE)
@mutants("sl.lasso_path", "segment")
def test_selected_coefficients_move(check):
    """When the next feature is selected, the coefficients of the features S selected before do not change:
    β_i, i ∈ S, equals the value with index i in the previous solution β_S* = X_S⁺y.

    Hypotheses: The columns of S are linearly independent, and λ* = ‖XᵀP_S^⊥y‖∞ > 0. λ lies in the window (λ₂,
    λ*), on which the LASSO has the same nonzero features outside S. T is the set of features with |⟨X_i,
    P_S^⊥y⟩| = λ*. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Instead: β_S = β_S* − X_S⁺X_Tβ_T, so β_S changes with β_T unless X_S ⟂ X_Tβ_T.

    Consequences: Nothing that follows in the paper uses this item.
    """
    found = segment(X, Y, (0,))
    before, after = (found.coefficients(exactly(e))[0, 0] for e in (0.0, 1.0))
    path = sl.lasso_path(X, Y, forced=[0])
    check.refutes(
        before - after == exactly(3) / 80 and path.at(16.0)[0] == 0.6 and abs(path.at(8.0)[0] - 0.3) <= 1e-15,
        f"{WITNESS}: β_0 = 3/5 − 3ε/80 at λ* − ε",
    )

    def moves_as_corrected(X, y, S):
        found = segment(X, y, S)
        lam, beta, _ = found.in_window()
        A, moved = rational(X), beta - found.coefficients(exactly(0))
        # X_S(β_S − β_S*) = −P_S X_Tβ_T
        on_S, on_T = (columns(A, J) * vector([moved[i, 0] for i in J]) for J in (S, found.step.tied))
        ours = sl.lasso_path(X, y, forced=S, lam_min=real(lam)).at(real(lam))
        return on_S == off(A, S, on_T) - on_T and close(reals(A * beta), X @ ours, y)

    check.forall(open_steps(), spread(moves_as_corrected))


@claim("SA-item-2", f"item 2 after {NUMBER}", "formal, exact, float", HOLDS)
@mutants("sl.lasso_path", "segment")
def test_only_tied_features_are_nonzero(check):
    """When the next feature is selected, the optimal β can have β_i ≠ 0, i ∉ S, only if i ∈ T = {i : |⟨X_i,
    P_S^⊥y⟩| = λ*}.

    Hypotheses: The columns of S are linearly independent, and λ* = ‖XᵀP_S^⊥y‖∞ > 0. λ lies in the window (λ₂,
    λ*), on which the LASSO has the same nonzero features outside S. P_S^⊥ is the projection onto the
    orthogonal complement of the columns in S.

    Consequences: Lemma 3.4 is not needed for this item. With p = y − Xβ, a solution has |⟨X_i, p⟩| = λ for
    each i ∉ S with β_i ≠ 0. In the whole window, |⟨X_i, p⟩| < λ for all i ∉ S ∪ T (ledger id
    ours-window-sharp).

    In Coq: theorem_3_3_holds, for λ in (λ₁, λ*) with an explicit λ₁
    """

    def zero_off_T(X, y, S):
        found = segment(X, y, S)
        lam, _, p = found.in_window()
        correlation = (rational(X).transpose() * p).entries()
        slack = all(abs(c) < lam or i in found.step.tied for i, c in enumerate(correlation))
        ours = sl.lasso_path(X, y, forced=S, lam_min=real(lam)).at(real(lam))
        nonzero = set(np.flatnonzero(ours)) - set(S)
        # slack: zero in every solution
        return slack and nonzero and nonzero <= set(found.active)

    check.forall(open_steps(), spread(zero_off_T))
