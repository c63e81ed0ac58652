"""Proposition 10: the submodularity ratio of R² plus a submodular function.

Source: *Selecting Diverse Features via Spectral Regularization*, Proposition 10 ("follows directly from the
definition") and the sentence after it. In print: for any submodular f, g = R² + f has γ_{U,k}(g) ≥
γ_{U,k}(R²) for all U and k.

With D_R, D_f the joint gains and Σ_R ≥ γD_R, Σ_f ≥ D_f the sums of single gains, Σ_R + Σ_f ≥ γD_R + D_f
= γ(D_R + D_f) + (1 − γ)D_f, and the last term is negative where f loses. So it fails:

- y = (0, 1), columns (1, 0) and (1, 1)/√2, f(S) = (2 − |S|)/4: L = ∅ and the pair give 1/2 for R² and (1/2
  − 1/2)/(1 − 1/2) = 0 for g.
- f_sv, k = 2, on three columns of {−1, 1}³/√3: γ_{{0},2}(R²) = 1/2, γ_{{0},2}(g) = 0.
- f_de with δ = 1/10, k = 2, on three columns of norm 3: γ_{{0},2}(R²) = 3/5, γ_{{0},2}(g) < 1/3.

γ(g) may be negative (f = 3(2 − |S|)/10 on the first example: −1/4), so that "g is approximately submodular
… if f is a non-negative submodular function" (before Theorem 5) says little. The proposition holds when f
is increasing (D_f ≥ 0, γ ≤ 1). For every submodular f the weak form Σ_g ≥ γ_{U,k}(R²)·D_R + D_f holds, and
is enough for Theorem 5 with γ(R²) (see SR-theorem-5).

After it: "since g is monotone …, the greedy FR algorithm gives a (1 − e^{−γ_{S̃,k}(f)})-approximation".
With the regularizer f this says 1 − 1/e (γ(f) = 1), and fails for R² alone: y = e₁, columns (1, 10, 0), (1,
−10, 0), (1, 0, 9), k = 2, f = |S|/100 (f_gr with α = 1 and ν = 1/100): FR takes the third column first and
ends below 0.05, the optimum is 1.02. It is to be γ_{S̃,k}(g), or min(1, γ_{S̃,k}(R²)), as in Theorem 15.
"""

import numpy as np
from flint import arb, fmpq

import sparselin as sl
from proofs_checks.rational import exactly
from proofs_checks.spectral import (
    Design,
    Values,
    added,
    correlations,
    draw_design,
    draw_regularizer,
    draw_submodular,
    entropy,
    forward_regression,
    is_increasing,
    is_submodular,
    mask_of,
    members,
    optimum,
    precisely,
    r_squared,
    reports,
    submodularity_ratio,
    subsets,
    table,
    unit_columns,
    variance,
)
from sparselin.ledger import CORRECTED, FALSE, claim, mutants

PLANE = Design(np.array([[1, 1], [0, 1]]), 0, np.array([0, 1]))  # R² does not see the scale of (1, 1)
SIGNS = Design(np.array([[1, -1, -1], [-1, -1, 1], [-1, -1, -1]]), 3, np.array([1, 1, -1]))
NINE = Design(np.array([[0, -3, -1], [3, 0, 2], [0, 0, 2]]), 9, np.array([-1, 1, -1]))


def fits(design):
    return table(lambda S: r_squared(design.X, design.y, S), design.X.shape[1])


@claim(
    "SR-proposition-10",
    "Proposition 10",
    "exact, interval, brute force, proof",
    FALSE,
    cases=6000,
    ci_cases=60,
)
@mutants(
    "sl.submodularity_ratio", "sl.submodularity_ratio_of", "submodularity_ratio", "r_squared", "variance"
)
def test_ratio_of_the_sum(check):
    """For any submodular f, γ_{U,k}(R² + f) ≥ γ_{U,k}(R²) for all U and k.

    Hypotheses: positive denominators in γ; unit columns

    Instead: It holds for increasing submodular f. For every submodular f the sums of gains of g are at least
    γ_{U,k}(R²)·[R²(L∪A) − R²(L)] + f(L∪A) − f(L).

    Consequences: The proofs of Theorems 14 (δ < 1) and 16 cite it for f_de and f_sv and fall. Both bounds
    survive by the sharper form of Theorem 5, which needs the weak form only. Theorem 15 (f_gr is increasing)
    is not touched.

    Tolerance: none for the statements; sl.submodularity_ratio_of to 1e-9, sl.submodularity_ratio to its own
    bounds
    """
    R, f = fits(PLANE), [fmpq(2 - S.bit_count(), 4) for S in range(4)]
    check.refutes(
        is_submodular(f)
        and (submodularity_ratio(R, 0, 2), submodularity_ratio(added(R, f), 0, 2)) == (fmpq(1, 2), 0),
        "y = (0, 1), columns (1, 0), (1, 1)/√2, f = (2 − |S|)/4, U = ∅, k = 2: γ falls from ½ to 0",
    )
    check.over([added(R, f)], lambda g: abs(ratio_of(g, 0, 2)) <= 1e-9)
    f = [fmpq(3 * (2 - S.bit_count()), 10) for S in range(4)]
    check.over([added(R, f)], lambda g: abs(ratio_of(g, 0, 2) + 0.25) <= 1e-9)
    check.refutes(
        min(f) == 0 and submodularity_ratio(added(R, f), 0, 2) == fmpq(-1, 4),
        "the same with f = 3(2 − |S|)/10 ≥ 0: γ(g) = −¼",
    )
    f = table(lambda S: variance(correlations(SIGNS), S, 2), 3)
    R, g = fits(SIGNS), added(fits(SIGNS), f)
    check.refutes(
        (submodularity_ratio(R, 1, 2), submodularity_ratio(g, 1, 2)) == (fmpq(1, 2), 0),
        "f_sv, k = 2, X = [[1, −1, −1], [−1, −1, 1], [−1, −1, −1]]/√3, y ∝ (1, 1, −1), U = {0}: γ(R²) = ½, "
        "γ(g) = 0",
    )
    with precisely():
        f = table(lambda S: entropy(correlations(NINE), S, fmpq(1, 10), 2), 3)
        R, g = fits(NINE), added(fits(NINE), f)
        check.refutes(
            submodularity_ratio(R, 1, 2) == fmpq(3, 5) and submodularity_ratio(g, 1, 2) < arb(1) / 3,
            "f_de, δ = 1/10, k = 2, X = [[0, −3, −1], [3, 0, 2], [0, 0, 2]]/3, y ∝ (−1, 1, −1), U = {0}: "
            "γ(R²) = 3/5, γ(g) < 1/3",
        )
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        design = draw_design(check.rng, d)
        k, U = int(check.rng.integers(1, d + 1)), int(check.rng.integers(0, 1 << d))
        increasing = draw_regularizer(check.rng, design, k, increasing=True)
        any_f = [value * fmpq(1, 8) for value in draw_submodular(check.rng, d)]
        check.over([(design, fits(design), increasing, any_f, U, k)], _holds_corrected)


def ratio_of(g, U, k):
    """γ_{U,k} of a table by the package."""
    ground = range(len(Values(g).f).bit_length() - 1)
    found = sl.submodularity_ratio_of(lambda S: Values(g).value(None, S), ground, members(U), k)
    return found.lower if found.exact else np.nan


def _holds_corrected(value):
    design, R, increasing, f, U, k = value
    full, gamma = len(R) - 1, submodularity_ratio(R, U, k)
    ours = sl.submodularity_ratio(design.X, design.y, members(U), k)
    if not exactly(ours.lower) <= gamma <= exactly(ours.upper) or not ours.exact:
        return False
    if not is_increasing(increasing) or submodularity_ratio(added(R, increasing), U, k) < gamma:
        return False
    g = added(R, f)
    return all(
        sum((g[L | 1 << x] - g[L] for x in members(A)), fmpq(0))
        >= gamma * (R[L | A] - R[L]) + f[L | A] - f[L]
        for L in subsets(U)
        for A in subsets(full & ~L, k)
    )


@claim(
    "SR-proposition-10-greedy",
    "after Proposition 10",
    "exact, interval, brute force, proof",
    CORRECTED,
    cases=6000,
    ci_cases=60,
)
@mutants("sl.forward_regression", "forward_regression", "r_squared")
def test_greedy_with_a_monotone_regularizer(check):
    """For monotone f the greedy FR algorithm gives a (1 − e^{−γ_{S̃,k}(f)})-approximation of max R² + f.

    Hypotheses: f ≥ 0 increasing and submodular

    Instead: With γ_{S̃,k}(g), or γ_{S̃,k}(R²), in place of γ_{S̃,k}(f) (which is 1).

    Tolerance: none for the bound; 1e-9 for the value that is reported (see `reports`)
    """
    with precisely():
        X, y = np.array([[1, 1, 1], [10, -10, 0], [0, 0, 9]]), np.array([1, 0, 0])
        g = added(fits(Design(X, 0, y)), [fmpq(S.bit_count(), 100) for S in range(8)])
        picked = forward_regression(g, 2)
        check.refutes(
            picked[0] == 2 and g[mask_of(picked)] < (1 - arb(-1).exp()) * optimum(g, 2),
            "y = e₁, columns (1, 10, 0), (1, −10, 0), (1, 0, 9), f = |S|/100, k = 2: FR takes the third "
            "column first",
        )
        sizes = Values([fmpq(S.bit_count(), 100) for S in range(8)])
        check.over(
            [g],
            lambda g: sl.forward_regression(X, y, 2, regularizer=sizes, nu=1.0).support.tolist() == picked,
        )

        def guaranteed(value):
            design, R, f, k = value
            g = added(R, f)
            found = sl.forward_regression(unit_columns(design), design.y, k, regularizer=Values(f), nu=1.0)
            sets = {mask_of(forward_regression(g, k)), mask_of(found.support.tolist())}
            return reports(found, g, k) and all(bounded(R, g, k, S) for S in sets)

        def bounded(R, g, k, S):
            of_g, of_R = submodularity_ratio(g, S, k), submodularity_ratio(R, S, k)
            return of_R <= of_g and all(
                arb(g[S]) >= (1 - (-arb(gamma)).exp()) * optimum(g, k) for gamma in (of_g, of_R)
            )

        for _ in range(check.cases):
            d = int(check.rng.integers(1, 6))
            design, k = draw_design(check.rng, d), int(check.rng.integers(1, d + 1))
            f = draw_regularizer(check.rng, design, k, increasing=True)
            check.over([(design, fits(design), f, k)], guaranteed)
