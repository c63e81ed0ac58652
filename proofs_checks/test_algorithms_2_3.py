"""The mask of Algorithm 1, and Algorithms 2 and 3 as printed: the picks of OMP, λ*(S) and A(S).

Source: *Sequential Attention for Feature Selection*, equation (1), Algorithms 1, 2 and 3 (both versions; the
poster's "Sequential LASSO" and "Orthogonal Matching Pursuit").

In print, β*(λ, S) is "the optimal solution" of ½‖Xβ − y‖² + λ‖β_S̄‖₁, and Algorithm 3 has

    λ*(S) = sup{λ > 0 : β*(λ, S)_S̄ ≠ 0},            "largest λ with nonzero LASSO on S̄",
    A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0},   "non-empty by Lemma 3.4".

If ‖XᵀP_S^⊥y‖∞ is positive, it equals λ*(S): docs/proofs/theorem_3_3.md. The printed algorithm leaves out two
things.

First, if P_S^⊥y is orthogonal to all columns, the set in the definition of λ*(S) is empty. An empty set has
no supremum, A(S) has no meaning, and the algorithm must stop. The supremum is also never a maximum, because
β_S̄ = 0 at λ* itself.

Second, the optimal solution need not be unique, for example if two columns are equal. A(S) is then the set of
all features that are nonzero in some solution. A(S) is not empty, because the residual p of the LASSO differs
from r = P_S^⊥y for λ < λ*. Lemma 3.4 is not needed for this conclusion.

The paper writes: "Note that Sequential LASSO as stated requires a search for the optimal λ* in each step"
(after Algorithm 3). No search is necessary, because ‖XᵀP_S^⊥y‖∞ is computed from the residual of least
squares on S.
"""

import numpy as np
from flint import arb, fmpq
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import (
    HALF,
    close,
    coefficients,
    columns,
    exactly,
    is_solution,
    least_squares,
    rational,
    real,
    reals,
    segment,
    solution,
    step,
    vector,
)
from proofs_checks.steps import open_steps, selections, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

# equal columns: (½, 0) and (0, ½) are optimal at λ = ½
TWINS = np.array([[1.0, 1.0]]), np.array([1.0])


def attention_weights(w, S):
    """Return the weights of equation (1), 1 on S and softmax_i(w, S̄) off S, as balls."""
    total = sum((arb(a).exp() for i, a in enumerate(w) if i not in S), arb(0))
    return [arb(1) if i in S else arb(a).exp() / total for i, a in enumerate(w)]


@claim(
    "SA-equation-1",
    "equation (1), line 5 of Algorithm 1, Figure 1 (ICLR, NeurIPS submission, poster)",
    "interval",
    HOLDS,
)
@mutants("attention_weights")
def test_the_weights_of_unselected_features(check):
    """A selected feature has the weight 1, and unselected features are downscaled by

        softmax_i(w, S̄) = exp(w_i)/Σ_{j ∈ S̄} exp(w_j) ∈ (0, 1].

    This weight is less than 1 unless i is the last feature left.

    The feature argmax_{i ∉ S} w_i is the unselected feature with the largest of these weights.

    Reading of: “features i ∈ S are used as direct inputs to the model and the unselected features i ∉ S are
    downscaled by the scalar value softmax_i(w, S̄)”, “unselected feature with largest attention weight”

    Hypotheses: w ∈ ℝ^d is arbitrary, and S ≠ [d].

    Consequences: The weights off S have the sum 1, and each of them increases with its own w_i. If only one
    feature is left, its weight is 1, as if this feature were selected.
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
    """Return a minimiser β of ‖A_Sβ − b‖² that differs from `least_squares` if the columns are dependent."""
    ones = vector([fmpq(1)] * A_S.ncols())
    return least_squares(A_S, b) + ones - least_squares(A_S, A_S * ones)


@claim("SA-algorithm-2", "Algorithm 2, lines 4 and 5", "exact", HOLDS)
@mutants("sl.omp")
def test_omp_picks_a_largest_correlation(check):
    """For any minimiser β_S* of ‖X_Sβ − y‖²,

        ⟨X_i, y − X_Sβ_S*⟩² = ⟨X_i, y − P_S y⟩² = ⟨X_i, P_S^⊥y⟩²,

    and OMP picks an i ∉ S that maximises this square.

    Hypotheses: S is any set, and its columns may be dependent. The pick is checked if λ* = max|⟨X_i, P_S^⊥y⟩|
    is positive.

    Consequences: Line 4 need not say which minimiser is meant. As long as λ* > 0 there is only one minimiser,
    because each pick is outside the span of X_S.

    Unchecked: The pick is not checked if all correlations are zero. The algorithm leaves this case open;
    sl.omp stops.
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
    """At each step of Sequential LASSO, with the optimal solution β*(λ, S) of ½‖Xβ − y‖² + λ‖β_S̄‖₁, there is
    a

        λ*(S) = sup{λ > 0 : β*(λ, S)_S̄ ≠ 0}.

    This λ*(S) is the largest λ at which the LASSO is nonzero on S̄, and equals ‖XᵀP_S^⊥y‖∞.

    Hypotheses: The columns of S are linearly independent.

    Instead: The statement holds if P_S^⊥y is not orthogonal to all columns. Otherwise the set is empty, and
    the algorithm must stop. λ*(S) is a supremum, not a maximum. The solution need not be unique: for all
    solutions, β_S̄ ≠ 0 if λ < λ*, and β_S̄ = 0 if λ ≥ λ*.

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
        lam_star, without = found.step.lam_star, coefficients(X, y, S, found, fmpq(0))
        below = any(is_solution(X, y, S, without, lam_star * fmpq(k, 4)) for k in (1, 2, 3))
        above = all(is_solution(X, y, S, without, lam_star * fmpq(k, 4)) for k in (4, 5, 9))
        ours = sl.first_entry(X, y, forced=S).lam_star, sl.lambda_star(X, y, forced=S)
        return above and not below and all(abs(exactly(a) - lam_star) <= lam_star / 2**40 for a in ours)

    check.forall(open_steps(), spread(threshold))


@claim(
    "SA-section-2-search",
    "Section 2, after Algorithm 3 (ICLR, NeurIPS submission)",
    "proof, exact, float",
    FALSE,
)
@mutants("sl.lambda_star", "sl.sequential_lasso")
def test_no_penalty_has_to_be_searched(check):
    """Each step of Sequential LASSO requires a search for λ*(S), because the step selects just below this
    penalty.

    Reading of: “Note that Sequential LASSO as stated requires a search for the optimal λ* in each step”

    Hypotheses: λ*(S) > 0, and the columns of S are linearly independent.

    Instead: λ*(S) = ‖XᵀP_S^⊥y‖∞ is a closed form. This form takes one least-squares fit on S and one product
    with Xᵀ. It is not necessary to try a λ below λ* either, because A(S), the set of features that become
    nonzero there, follows from nonnegative least squares on the tied features.

    Consequences: There is no reason to set λ “to a large enough value”. The paper's statement about such
    values is false (SA-section-2-large-lambda).

    Tolerance: The package's λ* has a relative tolerance of 2⁻⁴⁰: the conditions of optimality are checked
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
        without, share = coefficients(X, y, S, found, fmpq(0)), fmpq(1, 2**40)
        above, below = (is_solution(X, y, S, without, lam * (1 + sign * share)) for sign in (1, -1))
        pick = sl.sequential_lasso(X, y, len(S) + 1, forced=S).support[-1]
        return above and not below and pick in found.active

    check.forall(open_steps(), spread(computed))


@claim("SA-algorithm-3-limit", "Algorithm 3, lines 6 and 7", "formal, exact, brute force", CORRECTED)
@mutants("sl.first_entry")
def test_the_active_set_just_below_the_threshold(check):
    """The set A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0} exists and is not empty, where β*(λ, S)
    minimises ½‖Xβ − y‖² + λ‖β_S̄‖₁.

    Hypotheses: λ* = ‖XᵀP_S^⊥y‖∞ > 0, and the columns of S are linearly independent.

    Instead: The statement holds for ε ↓ 0 and for the indices that are nonzero in some solution. For ε < 0
    the set is empty. The set of these indices is constant for λ in an interval (λ₂, λ*). If one solution is
    chosen for each λ, the supports of these solutions need not have a limit.

    Consequences: The paper gives Lemma 3.4 as the reason that the set is not empty. The lemma is not needed:
    the residual of the LASSO differs from P_S^⊥y for every λ < λ*.

    In Coq: active_is_nonzero, some_feature_is_active; in them the set is constant on (λ₁, λ*) with an
    explicit λ₁
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
        inside = [solution(X, y, S, found, length / 2**k).beta for k in (1, 2, 20)]
        constant = all((beta[i, 0] != 0) == (i in found.active) for beta in inside for i in found.step.tied)
        return (entry.tied, entry.active) == (found.step.tied, found.active) and found.active and constant

    check.forall(open_steps(), constant)


@claim("SA-section-3.2-zero", "Section 3.2, after equation (10)", "formal, exact, float", CORRECTED)
@mutants("sl.project_dual")
def test_nothing_is_active_above_the_threshold(check):
    """If λ ≥ ‖XᵀP_S^⊥y‖∞, the residual p = y − Xβ of the LASSO is P_S^⊥y, and Xβ = X_Sβ_S*, meaning that β is
    zero outside of S.

    Hypotheses: The columns of S are linearly independent. β_S* denotes the least squares solution on S.

    Instead: The statement holds for λ > 0. If columns are dependent, Xβ = X_Sβ_S* alone does not imply that β
    is zero outside of S. The reason for β_S̄ = 0 is that ‖β_S̄‖₁ is the same in all solutions. For λ = 0,
    which is allowed if P_S^⊥y ⟂ X, the statement is false.

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
