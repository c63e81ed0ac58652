"""Algorithms 2 and 3 as printed: what OMP maximises, and what λ*(S) and A(S) are.

Source: *Sequential Attention for Feature Selection*, Algorithms 2 and 3 (both versions; the poster's
"Sequential LASSO" and "Orthogonal Matching Pursuit").

Algorithm 3 in print: β*(λ, S) is "the optimal solution" of ½‖Xβ − y‖² + λ‖β_S̄‖₁, λ*(S) = sup{λ > 0 : β*(λ,
S)_S̄ ≠ 0}, A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0}, "non-empty by Lemma 3.4".

λ*(S) = ‖XᵀP_S^⊥y‖∞ wherever that is positive. For λ ≥ ‖XᵀP_S^⊥y‖∞, λ > 0, the point u = P_S^⊥y is dual
feasible and attains ½‖P_S^⊥y‖², the value of (β_S*, 0); so that is optimal, and as the fit Xβ is the same
in all solutions, so is ‖β_S̄‖₁, = 0. For smaller λ no β with β_S̄ = 0 is optimal: its best is β_S*, whose
residual violates |⟨X_i, r⟩| ≤ λ. Two things are left out in print. If P_S^⊥y ⟂ X the set is empty: its
supremum is no number, A(S) has no meaning, and the algorithm must stop. And "the" optimal solution need not
be unique (equal columns): A(S) is then every index that is nonzero in some solution.

The limit exists because the set is constant on (λ₂, λ*): β_T = s∘(εv) with the same v
(test_window_length.py, "Sharpness", has the proof). It is not empty, as r ≠ p for λ < λ*; Lemma 3.4 is not
needed for that.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.rational import (
    close,
    coefficients,
    columns,
    exactly,
    is_solution,
    least_squares,
    off,
    rational,
    real,
    reals,
    segment,
    step,
    vector,
)
from proofs_checks.steps import open_steps, selections
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants


@claim("SA-algorithm-2", "Algorithm 2, line 5", "exact", HOLDS)
@mutants("sl.omp")
def test_omp_picks_a_largest_correlation(check):
    """⟨X_i, y − X_Sβ_S*⟩² = ⟨X_i, y − P_S y⟩² = ⟨X_i, P_S^⊥y⟩² for any minimiser β_S*, and OMP picks an i ∉ S
    that maximises it.

    Hypotheses: any S, dependent columns too; the pick where λ* > 0

    Unchecked: what to pick where all correlations are zero, which the algorithm leaves open (sl.omp stops)
    """

    def holds(selection):
        X, y, S = selection
        A, b = rational(X), rational(y)
        r = off(A, S, b)
        same = True
        if S:
            A_S, ones = columns(A, S), vector([fmpq(1)] * len(S))
            # two minimisers, which differ where the columns are dependent
            beta = least_squares(A_S, b)
            other = beta + ones - least_squares(A_S, A_S * ones)
            normal = (A_S.transpose() * r).entries()
            same = b - A_S * beta == r == b - A_S * other and not any(normal)
        at = step(X, y, S)
        if S and columns(A, S).rank() < len(S):
            return same  # sl.omp is not asked to force dependent columns
        path = sl.omp(X, y, len(S) + 1, forced=S)
        if not at.lam_star:
            return same and len(path.support) == len(S)
        return same and path.support[-1] in at.tied and set(path.ties[-1]) == set(at.tied)

    check.forall(selections(dependent=True), holds)


@claim("SA-algorithm-3-threshold", "Algorithm 3, line 5; poster", "exact, proof", CORRECTED)
@mutants("sl.first_entry", "sl.lambda_star")
def test_the_largest_penalty_with_a_feature(check):
    """Sequential LASSO has a largest λ*(S) = sup{λ > 0 : β*(λ, S)_S̄ ≠ 0}, β*(λ, S) being the optimal
    solution; it equals ‖XᵀP_S^⊥y‖∞.

    Hypotheses: independent S

    Instead: So it is where P_S^⊥y is not orthogonal to all columns; else the set is empty and the algorithm
    must stop. The solution may not be unique; β_S̄ ≠ 0 then holds for all solutions below λ* and for none
    above.

    Consequences: Theorem 3.3 is about steps with λ* > 0.

    Tolerance: 2⁻⁴⁰λ* between the exact λ* and the package's
    """
    X, y = np.array([[1.0, 1.0]]), np.array([1.0])
    stops = sl.sequential_lasso(X, y, 2)
    check.refutes(
        stops.status is sl.Status.EXACT_FIT and sl.lambda_star(X, y, unpenalized=[0]) == 0,
        "X = [[1, 1]], y = (1), S = {0}: P_S^⊥y = 0, and β*(λ, S)_S̄ = 0 for every λ > 0: no step 2",
    )
    twins, one = np.array([[1.0, 1.0]]), np.array([1.0])
    half = fmpq(1, 2)
    check.refutes(
        all(is_solution(twins, one, (), vector(beta), half) for beta in ([half, 0 * half], [0 * half, half]))
        and sl.lambda_star(twins, one) == 1,
        "X = [[1, 1]], y = (1), S = ∅, λ = ½: (½, 0) and (0, ½) are both optimal",
    )

    def threshold(selection):
        X, y, S = selection
        found = segment(X, y, S)
        lam_star = found.step.lam_star
        at_least_squares = coefficients(X, y, S, found, 0 * lam_star)
        inside = [lam_star * fmpq(k, 4) for k in (1, 2, 3)]
        below = not any(is_solution(X, y, S, at_least_squares, lam) for lam in inside)
        above = all(is_solution(X, y, S, at_least_squares, lam_star * fmpq(k, 4)) for k in (4, 5, 9))
        ours = (
            exactly(sl.first_entry(X, y, unpenalized=S).lam_star),
            exactly(sl.lambda_star(X, y, unpenalized=S)),
        )
        return below and above and all(abs(value - lam_star) <= lam_star * fmpq(1, 2**40) for value in ours)

    check.forall(open_steps(), threshold)


@claim("SA-algorithm-3-limit", "Algorithm 3, lines 6 and 7", "exact, brute force", CORRECTED)
@mutants("sl.first_entry")
def test_the_active_set_just_below_the_threshold(check):
    """A(S) = lim_{ε→0} {i ∈ S̄ : β*(λ* − ε, S)_i ≠ 0} exists and is not empty.

    Hypotheses: λ* > 0, independent S

    Instead: For ε ↓ 0 (from above it is empty), and with A(S) the indices that are nonzero in some solution:
    solutions may be chosen so that there is no limit. So read, it is constant on (λ₂, λ*).

    Consequences: Lemma 3.4, which print gives as the reason that it is not empty, is not needed: r ≠ p below
    λ*.
    """
    twins, one = np.array([[1.0, 1.0]]), np.array([1.0])
    lams = [1 - fmpq(1, 2**k) for k in range(1, 9)]
    alternating = [[1 - lam, 0 * lam][:: (-1) ** k] for k, lam in enumerate(lams)]
    check.refutes(
        all(
            is_solution(twins, one, (), vector(beta), lam)
            for beta, lam in zip(alternating, lams, strict=True)
        ),
        "X = [[1, 1]], y = (1), S = ∅: (1 − λ, 0) and (0, 1 − λ) are optimal, and may alternate as λ → 1",
    )

    def constant(selection):
        X, y, S = selection
        found = segment(X, y, S)
        entry = sl.first_entry(X, y, unpenalized=S)
        length = found.step.lam_star - exactly(entry.window_lower)
        eps = [length * fmpq(1, 2**k) for k in (1, 2, 20)]
        solved = all(
            is_solution(X, y, S, coefficients(X, y, S, found, e), found.step.lam_star - e) for e in eps
        )
        same = entry.tied == found.step.tied and entry.active == found.active
        return solved and same and len(found.active) > 0

    check.forall(open_steps(), constant)


@claim("SA-section-3.2-zero", "Section 3.2, after equation (10)", "exact, float", CORRECTED)
@mutants("sl.project_dual")
def test_nothing_is_active_above_the_threshold(check):
    """If λ ≥ ‖XᵀP_S^⊥y‖∞, then p = P_S^⊥y and Xβ = X_Sβ_S*, meaning that β is zero outside of S.

    Hypotheses: independent S

    Instead: For λ > 0. Xβ = X_Sβ_S* alone does not make β zero outside of S where columns are dependent;
    ‖β_S̄‖₁, which is the same in all solutions, does. For λ = 0 (allowed where P_S^⊥y ⟂ X) it is false.

    Consequences: Nothing else: λ > 0 throughout Algorithm 3.

    Tolerance: 1e-12‖y‖ between P_S^⊥y and sl.project_dual
    """
    X, y = np.array([[1.0, 1.0]]), np.array([1.0])
    beta = vector([fmpq(0), fmpq(1)])
    check.refutes(
        is_solution(X, y, (0,), beta, fmpq(0)),
        "X = [[1, 1]], y = (1), S = {0}: λ = 0 = ‖XᵀP_S^⊥y‖∞, and β = (0, 1) is optimal",
    )

    def zero(selection):
        X, y, S = selection
        at = step(X, y, S)
        for factor in (1 + 2.0**-40, 1.25, 3.0):
            projection = sl.project_dual(X, y, factor * real(at.lam_star), unpenalized=S)
            if np.delete(projection.coef, S).any() or not close(projection.u, reals(at.residual), y):
                return False
        return True

    check.forall(open_steps(), zero)
