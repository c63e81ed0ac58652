"""Checks of the mask of Algorithm 1, and of Algorithms 2 (OMP) and 3 (Sequential LASSO) as printed.

Source: *Sequential Attention for Feature Selection*, equation (1), Algorithms 1, 2 and 3 (both versions; the
poster's "Sequential LASSO" and "Orthogonal Matching Pursuit").

S is the set of the selected features, S̄ the set of all others, and P_S^⊥ the projection onto the orthogonal
complement of the columns of S. In print, β*(λ, S) is "the optimal solution" of ½‖Xβ − y‖² + λ‖β_S̄‖₁, and
Algorithm 3 has

    λ*(S) = sup{λ > 0 : β*(λ, S)_S̄ ≠ 0},            "largest λ with nonzero LASSO on S̄",
    A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0},   "non-empty by Lemma 3.4".

If the number ‖XᵀP_S^⊥y‖∞ is positive, it equals λ*(S). The proof is in docs/proofs/theorem_3_3.md. The
printed algorithm leaves out two things.

First, if P_S^⊥y is orthogonal to all columns, the set in the definition of λ*(S) is empty. An empty set has
no supremum, A(S) has no meaning, and the algorithm must stop. The supremum is also never a maximum, because
β_S̄ = 0 at λ* itself.

Second, the optimal solution need not be unique, for example if two columns are equal. A(S) is then the set of
all features that are nonzero in some solution. This set is not empty, because the residual of the LASSO
differs from P_S^⊥y for every λ < λ*. Lemma 3.4 is not needed for this conclusion.

The paper writes: "Note that Sequential LASSO as stated requires a search for the optimal λ* in each step"
(after Algorithm 3). No search is necessary, because ‖XᵀP_S^⊥y‖∞ is computed from the residual of least
squares on S.
"""

import numpy as np
from flint import arb, fmpq
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import ALL, BOTH
from proofs_checks.rational import (
    HALF,
    close,
    columns,
    exactly,
    is_solution,
    least_squares,
    rational,
    real,
    reals,
    segment,
    step,
    vector,
)
from proofs_checks.steps import open_steps, selections, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

# equal columns: (½, 0) and (0, ½) are optimal at λ = ½
TWINS = np.array([[1.0, 1.0]]), np.array([1.0])


def attention_weights(w, S):
    """Return the weights of the attention mask as balls: 1 for selected features, softmax_i(w, S̄) for
    others.

    S̄ is the set of the features that are not selected. The weights are those of equation (1) of the paper on
    Sequential Attention.
    """
    total = sum((arb(a).exp() for i, a in enumerate(w) if i not in S), arb(0))
    return [arb(1) if i in S else arb(a).exp() / total for i, a in enumerate(w)]


@claim("SA-equation-1", f"equation (1), line 5 of Algorithm 1, Figure 1 {ALL}", "interval", HOLDS)
@mutants("attention_weights")
def test_the_weights_of_unselected_features(check):
    """In the mask of Sequential Attention, a selected feature has the weight 1. A feature i of the set S̄ of
    unselected features is downscaled by

        softmax_i(w, S̄) = exp(w_i)/Σ_{j ∈ S̄} exp(w_j) ∈ (0, 1].

    This weight is less than 1, unless i is the only unselected feature.

    The unselected feature with the largest w_i is also the unselected feature with the largest weight.

    Reading of: “features i ∈ S are used as direct inputs to the model and the unselected features i ∉ S are
    downscaled by the scalar value softmax_i(w, S̄)”, “unselected feature with largest attention weight”

    Hypotheses: The vector w ∈ ℝ^d is arbitrary, and not all features are selected.

    Consequences: The weights of the unselected features have the sum 1, and the weight of feature i increases
    with w_i. If only one feature is unselected, its weight is 1, as if it were selected.
    """
    check.over([attention_weights([fmpq(3)], ())], lambda weights: weights[0].contains(1))

    def downscaled(w, size):
        S, free, weights = range(size), range(size, len(w)), attention_weights(w, range(size))
        return (
            all(weights[i] == 1 for i in S)
            and all(0 < weights[i] < 1 for i in free)
            and sum((weights[i] for i in free), arb(0)).contains(1)
            and all(weights[i] < weights[j] for i in free for j in free if w[i] < w[j])
        )

    logits = st.builds(fmpq, st.integers(-20, 20), st.integers(1, 4))
    check.forall(st.tuples(st.lists(logits, min_size=4, max_size=6), st.integers(0, 2)), spread(downscaled))


def another_minimiser(A_S, b):
    """Return a minimiser of ‖A_Sβ − b‖², another one than `least_squares` returns if the columns are
    dependent.
    """
    ones = vector([fmpq(1)] * A_S.ncols())
    return least_squares(A_S, b) + ones - least_squares(A_S, A_S * ones)


@claim("SA-algorithm-2", "Algorithm 2, lines 4 and 5", "exact", HOLDS)
@mutants("sl.omp")
def test_omp_picks_a_largest_correlation(check):
    """For any minimiser β_S* of ‖X_Sβ − y‖²,

        ⟨X_i, y − X_Sβ_S*⟩² = ⟨X_i, y − P_S y⟩² = ⟨X_i, P_S^⊥y⟩²,

    and OMP picks an i ∉ S that maximises this square. Here S are the features selected so far, P_S is the
    projection onto the span of their columns X_S, and P_S^⊥ = I − P_S.

    Hypotheses: S is any set of features, and its columns may be dependent. The pick is checked if λ* =
    max|⟨X_i, P_S^⊥y⟩| is positive.

    Consequences: Line 4 of Algorithm 2 need not say which minimiser β_S* is meant. For the sets that OMP
    selects there is only one minimiser, because each pick has λ* > 0 and is therefore outside the span of
    X_S.

    Unchecked: The pick is not checked if all correlations are zero. The algorithm leaves this case open;
    `sl.omp` stops.
    """

    def holds(X, y, S):
        A, b, at = rational(X), rational(y), step(X, y, S)
        if S:
            A_S = columns(A, S)
            for beta in (least_squares(A_S, b), another_minimiser(A_S, b)):
                if b - A_S * beta != at.residual or any((A_S.transpose() * at.residual).entries()):
                    return False
            if A_S.rank() < len(S):
                return True  # sl.omp is not asked to force dependent columns
        path = sl.omp(X, y, len(S) + 1, forced=S)
        if not at.lam_star:
            return len(path.support) == len(S)
        independent = columns(A, path.support.tolist()).rank() == len(S) + 1
        return independent and path.support[-1] in at.tied and set(path.ties[-1]) == set(at.tied)

    check.forall(selections(dependent=True), spread(holds))


@claim("SA-algorithm-3-threshold", "Algorithm 3, line 5; poster", "formal, exact, proof", CORRECTED)
@mutants("sl.first_entry", "sl.lambda_star")
def test_the_largest_penalty_with_a_feature(check):
    """At each step of Sequential LASSO there is a

        λ*(S) = sup{λ > 0 : β*(λ, S)_S̄ ≠ 0}.

    This λ*(S) is the largest λ at which the LASSO is nonzero on S̄, and equals ‖XᵀP_S^⊥y‖∞. Here S are the
    features selected so far, S̄ are all others, β*(λ, S) is the optimal solution of ½‖Xβ − y‖² + λ‖β_S̄‖₁,
    and P_S^⊥y is the residual of least squares on S.

    Hypotheses: The columns of S are linearly independent.

    Instead: The statement holds if P_S^⊥y is not orthogonal to all columns. Otherwise the set in the supremum
    is empty, and the algorithm must stop. λ*(S) is a supremum, not a maximum. The solution need not be
    unique: for all solutions, β_S̄ ≠ 0 if λ < λ*, and β_S̄ = 0 if λ ≥ λ*.

    Consequences: Theorem 3.3 makes a statement only about steps with λ* > 0.

    Tolerance: The package's λ* may differ from the exact λ* by 2⁻⁴⁰λ*.

    In Coq: lambda_star_is_the_threshold, above_lambda_star, below_lambda_star
    """
    stops = sl.sequential_lasso(*TWINS, 2)
    check.refutes(
        stops.status is sl.Status.EXACT_FIT and sl.lambda_star(*TWINS, forced=[0]) == 0,
        "X = [[1, 1]], y = (1), S = {0}: P_S^⊥y = 0, and β*(λ, S)_S̄ = 0 for every λ > 0: no step 2",
    )
    both = [vector([HALF, fmpq(0)]), vector([fmpq(0), HALF])]
    check.refutes(
        all(is_solution(*TWINS, (), beta, HALF) for beta in both) and sl.lambda_star(*TWINS) == 1,
        "X = [[1, 1]], y = (1), S = ∅, λ = ½: (½, 0) and (0, ½) are both optimal",
    )
    check.refutes(
        is_solution(*TWINS, (), vector([fmpq(0), fmpq(0)]), fmpq(1)),
        "X = [[1, 1]], y = (1), S = ∅: at λ* = 1 itself β = 0, so that no λ is the largest with β ≠ 0",
    )

    def threshold(X, y, S):
        found = segment(X, y, S)
        lam_star, without = found.step.lam_star, found.coefficients(fmpq(0))
        below = any(is_solution(X, y, S, without, lam_star * fmpq(k, 4)) for k in (1, 2, 3))
        above = all(is_solution(X, y, S, without, lam_star * fmpq(k, 4)) for k in (4, 5, 9))
        ours = sl.first_entry(X, y, forced=S).lam_star, sl.lambda_star(X, y, forced=S)
        return above and not below and all(abs(exactly(a) - lam_star) <= lam_star / 2**40 for a in ours)

    check.forall(open_steps(), spread(threshold))


@claim("SA-section-2-search", f"Section 2, after Algorithm 3 {BOTH}", "proof, exact, float", FALSE)
@mutants("sl.lambda_star", "sl.sequential_lasso")
def test_no_penalty_has_to_be_searched(check):
    """Each step of Sequential LASSO requires a search for λ*(S), the largest penalty at which the LASSO is
    nonzero outside the set S of selected features.

    Reading of: “Note that Sequential LASSO as stated requires a search for the optimal λ* in each step”

    Hypotheses: λ*(S) > 0, and the columns of S are linearly independent.

    Instead: λ*(S) has the closed form ‖XᵀP_S^⊥y‖∞, where P_S^⊥y is the residual of least squares on S. It
    takes one least-squares fit on S and one product with Xᵀ. It is not necessary to try a λ just below λ*(S)
    either. The features that become nonzero there follow from a nonnegative least-squares problem on the tied
    features, those i with |⟨X_i, P_S^⊥y⟩| = λ*(S).

    Consequences: There is no reason to set λ “to a large enough value”. The paper's statement about such
    values is false (ledger id SA-section-2-large-lambda).

    Tolerance: The package's λ* may have a relative error of 2⁻⁴⁰. So the conditions of optimality are checked
    exactly at λ*(1 + 2⁻⁴⁰) and at λ*(1 − 2⁻⁴⁰).
    """
    X, y, zero = np.eye(2), np.array([2.0, 1.0]), vector([fmpq(0), fmpq(0)])
    below = (2 - fmpq(1, 2**k) for k in range(60))
    check.refutes(
        step(X, y).lam_star == 2 == sl.lambda_star(X, y)
        and is_solution(X, y, (), zero, fmpq(2))
        and not any(is_solution(X, y, (), zero, lam) for lam in below),
        "X = I₂, y = (2, 1), S = ∅: ‖Xᵀy‖∞ = 2, and β = 0 is optimal for λ = 2 and for no λ < 2",
    )

    def computed(X, y, S):
        found, lam = segment(X, y, S), exactly(sl.lambda_star(X, y, forced=S))
        without, share = found.coefficients(fmpq(0)), fmpq(1, 2**40)
        above, below = (is_solution(X, y, S, without, lam * (1 + sign * share)) for sign in (1, -1))
        pick = sl.sequential_lasso(X, y, len(S) + 1, forced=S).support[-1]
        return above and not below and pick in found.active

    check.forall(open_steps(), spread(computed))


@claim("SA-algorithm-3-limit", "Algorithm 3, lines 6 and 7", "formal, exact, brute force", CORRECTED)
@mutants("sl.first_entry")
def test_the_active_set_just_below_the_threshold(check):
    """The set A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0} exists and is not empty. Here S are the
    selected features, S̄ are all others, and β*(λ, S) minimises ½‖Xβ − y‖² + λ‖β_S̄‖₁. λ* is the number
    ‖XᵀP_S^⊥y‖∞, with the residual P_S^⊥y of least squares on S.

    Hypotheses: λ* > 0, and the columns of S are linearly independent.

    Instead: The statement holds for ε ↓ 0 and for the indices that are nonzero in some solution. For ε < 0
    the set is empty. The set of these indices is the same for all λ in some interval (λ₂, λ*). But if one
    solution is chosen for each λ, the supports of the chosen solutions need not have a limit.

    Consequences: The paper gives its Lemma 3.4 as the reason that A(S) is not empty. The lemma is not needed:
    the residual of the LASSO differs from P_S^⊥y for every λ < λ*.

    In Coq: active_is_nonzero, some_feature_is_active; in these theorems the set is constant on an interval
    (λ₁, λ*) with an explicit λ₁
    """
    lams = [1 - fmpq(1, 2**k) for k in range(1, 9)]
    alternating = [vector([1 - lam, 0 * lam][:: (-1) ** k]) for k, lam in enumerate(lams)]
    check.refutes(
        all(is_solution(*TWINS, (), beta, lam) for beta, lam in zip(alternating, lams, strict=True)),
        "X = [[1, 1]], y = (1), S = ∅: (1 − λ, 0) and (0, 1 − λ) are optimal, and may alternate as λ → 1",
    )

    def constant(selection):
        X, y, S = selection
        found = segment(X, y, S)
        entry = sl.first_entry(X, y, forced=S)
        length = found.step.lam_star - exactly(entry.window_lower)
        inside = [found.solution(length / 2**k).beta for k in (1, 2, 20)]
        constant = all((beta[i, 0] != 0) == (i in found.active) for beta in inside for i in found.step.tied)
        return (entry.tied, entry.active) == (found.step.tied, found.active) and found.active and constant

    check.forall(open_steps(), constant)


@claim("SA-section-3.2-zero", "Section 3.2, after equation (10)", "formal, exact, float", CORRECTED)
@mutants("sl.project_dual")
def test_nothing_is_active_above_the_threshold(check):
    """If λ ≥ ‖XᵀP_S^⊥y‖∞, the residual y − Xβ of the LASSO is P_S^⊥y. Therefore Xβ = X_Sβ_S*, which means
    that β is zero outside S. Here S are the selected features, which the LASSO does not penalise, β_S* is the
    least-squares solution on S, and P_S^⊥y is the residual of this solution.

    Hypotheses: The columns of S are linearly independent.

    Instead: The statement holds for λ > 0. If columns are dependent, Xβ = X_Sβ_S* does not imply that β is
    zero outside S. The true reason is that Σ_{i ∉ S} |β_i| is the same in all solutions. The printed
    condition allows λ = 0 if P_S^⊥y is orthogonal to all columns; the statement is then false.

    Consequences: No other statement is affected, because λ > 0 throughout Algorithm 3.

    Tolerance: The distance between P_S^⊥y and the result of sl.project_dual may be 1e-12‖y‖.

    In Coq: above_lambda_star, dual_projection
    """
    check.refutes(
        is_solution(*TWINS, (0,), vector([fmpq(0), fmpq(1)]), fmpq(0)),
        "X = [[1, 1]], y = (1), S = {0}: λ = 0 = ‖XᵀP_S^⊥y‖∞, and β = (0, 1) is optimal",
    )

    def zero(X, y, S):
        at = step(X, y, S)
        for factor in (1 + 2.0**-40, 1.25, 3.0):
            projection = sl.project_dual(X, y, factor * real(at.lam_star), forced=S)
            if np.delete(projection.coef, S).any() or not close(projection.u, reals(at.residual), y):
                return False
        return True

    check.forall(open_steps(), spread(zero))
