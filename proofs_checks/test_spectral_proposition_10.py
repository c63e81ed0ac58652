"""Proposition 10: the submodularity ratio of R² plus a submodular function.

Source: *Selecting Diverse Features via Spectral Regularization*, Proposition 10 ("follows directly from the
definition") and the sentence after it. In print, for any submodular f and g = R² + f,

    γ_{U,k}(g) ≥ γ_{U,k}(R²)    for all U and k.

Let D_R and D_f be the joint gains of R² and of f when a set A is added to a set L. Let Σ_R and Σ_f be the
sums of the single gains, when each element of A is added to L alone. With γ = γ_{U,k}(R²), Σ_R ≥ γD_R and Σ_f
≥ D_f. Therefore

    Σ_R + Σ_f ≥ γD_R + D_f = γ(D_R + D_f) + (1 − γ)D_f,

and the last term is negative if f decreases. The proposition fails, among other functions, for two of the
paper's regularizers, f_sv(S) = 9k² − Σ (λ_i − 1)² and f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ. Here λ_i are the
eigenvalues of the Gram matrix C_S. γ(g) may even be negative. Therefore the sentence "g is approximately
submodular … if f is a non-negative submodular function" (before Theorem 5) has little content. The
proposition holds if f is increasing, because then D_f ≥ 0, and γ ≤ 1. For every submodular f the weak form

    Σ_g ≥ γ_{U,k}(R²)·D_R + D_f

holds, where Σ_g is the sum for g. The weak form is enough to prove Theorem 5 with γ(R²) in place of γ(g)
(ledger id SR-theorem-5).

After the proposition the paper says: "since g is monotone …, the greedy FR algorithm gives a (1 −
e^{−γ_{S̃,k}(f)})-approximation". If f is the submodular regularizer, γ(f) = 1, so the factor would be 1 −
1/e. For small f, forward regression does not attain this factor. The ratio must be γ_{S̃,k}(g), or
γ_{S̃,k}(R²) ≤ 1, as in Theorem 15.
"""

import numpy as np
from flint import arb, fmpq

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import forward_regression, submodularity_ratio
from proofs_checks.rational import exactly
from proofs_checks.spectral import precisely, r_squared_table, variance
from sparselin.ledger import CORRECTED, FALSE, claim, mutants

PLANE = spectral.Design(
    np.array([[1, 1], [0, 1]]), 0, np.array([0, 1])
)  # R² does not see the scale of (1, 1)
SIGNS = spectral.Design(np.array([[1, -1, -1], [-1, -1, 1], [-1, -1, -1]]), 3, np.array([1, 1, -1]))
NORM_3 = spectral.Design(np.array([[0, -3, -1], [3, 0, 2], [0, 0, 2]]), 9, np.array([-1, 1, -1]))


@claim(
    "SR-proposition-10",
    "Proposition 10",
    "exact, interval, brute force, proof",
    FALSE,
    cases=6000,
    ci_cases=60,
)
@mutants(
    "sl.submodularity_ratio",
    "sl.submodularity_ratio_of",
    "submodularity_ratio",
    "r_squared_table",
    "variance",
)
@precisely()
def test_ratio_of_the_sum(check):
    """For any submodular f,

        γ_{U,k}(R² + f) ≥ γ_{U,k}(R²)

    for all U and k.

    Hypotheses: The columns have length 1. γ_{U,k}(f) is the submodularity ratio: the least of 1 and of all
    quotients Σ_{x∈A}[f(L+x) − f(L)] / [f(L∪A) − f(L)] with a positive denominator, over L ⊆ U, |A| ≤ k, A ∩ L
    = ∅.

    Instead: The inequality holds for increasing submodular f. For every submodular f, the sums of single
    gains of g = R² + f are at least γ_{U,k}(R²)·[R²(L∪A) − R²(L)] + f(L∪A) − f(L).

    Consequences: The proofs of Theorems 14 (δ < 1) and 16 use the proposition for the regularizers f_de and
    f_sv, so these proofs are wrong. But the bounds of Theorems 14 and 16 hold for forward regression alone
    (SR-theorem-14, SR-theorem-16). The sharper form of Theorem 5 needs only the corrected inequality for
    every submodular f. Theorem 15 is not affected, because its regularizer f_gr is increasing.

    Tolerance: The inequalities have no tolerance. The result of sl.submodularity_ratio_of may differ from the
    exact ratio by 1e-9, and sl.submodularity_ratio must return bounds that contain it.
    """
    R, sizes = r_squared_table(PLANE), [fmpq(2 - S.bit_count()) for S in range(4)]
    f, g = [v / 4 for v in sizes], spectral.added(R, [v / 4 for v in sizes])
    check.refutes(
        spectral.is_submodular(f)
        and (submodularity_ratio(R, 0, 2), submodularity_ratio(g, 0, 2)) == (fmpq(1, 2), 0),
        "y = (0, 1), columns (1, 0), (1, 1)/√2, f = (2 − |S|)/4, U = ∅, k = 2: γ falls from ½ to 0",
    )
    below = spectral.added(R, [v * 3 / 10 for v in sizes])
    check.over([(g, 0), (below, -0.25)], lambda case: abs(ratio_of(case[0], 0, 2) - case[1]) <= 1e-9)
    check.refutes(
        min(sizes) == 0 and submodularity_ratio(below, 0, 2) == fmpq(-1, 4),
        "the same with f = 3(2 − |S|)/10 ≥ 0: γ(g) = −¼",
    )
    check.refutes(
        ratios(SIGNS, lambda S: variance(SIGNS.correlations, S, 2)) == (fmpq(1, 2), 0),
        "f_sv, k = 2, X = [[1, −1, −1], [−1, −1, 1], [−1, −1, −1]]/√3, y ∝ (1, 1, −1), U = {0}: γ(R²) = ½, "
        "γ(g) = 0",
    )
    of_R, of_g = ratios(NORM_3, lambda S: spectral.entropy(NORM_3.correlations, S, fmpq(1, 10), 2))
    check.refutes(
        of_R == fmpq(3, 5) and of_g < arb(1) / 3,
        "f_de, δ = 1/10, k = 2, X = [[0, −3, −1], [3, 0, 2], [0, 0, 2]]/3, y ∝ (−1, 1, −1), U = {0}: "
        "γ(R²) = 3/5, γ(g) < 1/3",
    )
    check.over(sums(check), holds_corrected)


def ratios(design, f):
    """Return the submodularity ratios γ_{U,k} of R² and of R² + f for three columns, U = {0} and k = 2."""
    R = r_squared_table(design)
    return submodularity_ratio(R, 1, 2), submodularity_ratio(spectral.added(R, spectral.table(f, 3)), 1, 2)


def sums(check):
    """Yield a design, an increasing submodular function, any submodular function, a set U, and a size k."""
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        design = spectral.draw_design(check.rng, d)
        k, U = int(check.rng.integers(1, d + 1)), int(check.rng.integers(0, 1 << d))
        increasing = spectral.draw_regularizer(check.rng, design, k, increasing=True)
        yield design, increasing, [v * fmpq(1, 8) for v in spectral.draw_submodular(check.rng, d)], U, k


def ratio_of(g, U, k):
    """Return the package's submodularity ratio γ_{U,k} of a set function, given as a table."""
    ground = range(len(spectral.Values(g).f).bit_length() - 1)
    found = sl.submodularity_ratio_of(
        lambda S: spectral.Values(g).value(None, S), ground, spectral.members(U), k
    )
    return found.lower if found.exact else np.nan


def holds_corrected(value):
    """Return whether the corrected form of Proposition 10 holds for a design and two submodular functions.

    For the increasing function f, γ_{U,k}(R² + f) ≥ γ_{U,k}(R²). For the other function, the weaker
    inequality between the sums of gains must hold.
    """
    design, increasing, f, U, k = value
    R = r_squared_table(design)
    g, gamma = spectral.added(R, f), submodularity_ratio(R, U, k)
    ours = sl.submodularity_ratio(design.X, design.y, spectral.members(U), k)

    def weak_form(L, A):
        single = sum((g[L | 1 << x] - g[L] for x in spectral.members(A)), fmpq(0))
        return single >= gamma * (R[L | A] - R[L]) + f[L | A] - f[L]

    return (
        (exactly(ours.lower) <= gamma <= exactly(ours.upper) and ours.exact)
        and (
            spectral.is_increasing(increasing)
            and submodularity_ratio(spectral.added(R, increasing), U, k) >= gamma
        )
        and all(weak_form(L, A) for L in spectral.subsets(U) for A in spectral.subsets((len(R) - 1) & ~L, k))
    )


@claim(
    "SR-proposition-10-greedy",
    "after Proposition 10",
    "exact, interval, brute force, proof",
    CORRECTED,
    cases=6000,
    ci_cases=60,
)
@mutants("sl.forward_regression", "forward_regression", "r_squared_table")
@precisely()
def test_greedy_with_a_monotone_regularizer(check):
    """For monotone f, the greedy algorithm FR gives a (1 − e^{−γ_{S̃,k}(f)})-approximation of the maximum of
    R² + f.

    Hypotheses: f ≥ 0 is increasing and submodular. In each of k steps, forward regression (FR) adds the
    feature that raises g = R² + f most. S̃ is the set of the k features that FR selects. γ_{S̃,k} is the
    submodularity ratio.

    Instead: The bound holds with γ_{S̃,k}(g) or with γ_{S̃,k}(R²). It does not hold with γ_{S̃,k}(f), which
    is 1.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    X, y = np.array([[1, 1, 1], [10, -10, 0], [0, 0, 9]]), np.array([1, 0, 0])
    f = [fmpq(S.bit_count(), 100) for S in range(8)]
    g = spectral.added(r_squared_table(spectral.Design(X, 0, y)), f)
    picked = forward_regression(g, 2)
    check.refutes(
        picked[0] == 2
        and g[spectral.mask_of(picked)] < maximization.one_minus_exp(1) * maximization.optimum(g, 2),
        "y = e₁, columns (1, 10, 0), (1, −10, 0), (1, 0, 9), f = |S|/100, k = 2: FR takes the third "
        "column first",
    )
    found = sl.forward_regression(X, y, 2, regularizer=spectral.Values(f), nu=1.0)
    check.over([found], lambda found: found.support.tolist() == picked)
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 6))
        design, k = spectral.draw_design(check.rng, d), int(check.rng.integers(1, d + 1))
        f = spectral.draw_regularizer(check.rng, design, k, increasing=True)
        check.over([(design, f, k)], lambda value: guaranteed(*value))


def guaranteed(design, f, k):
    """Return whether forward regression attains both corrected bounds, in code of the checks and in the
    package.

    One bound uses the submodularity ratio of R², the other that of R² + f, which must not be smaller.
    """
    R = r_squared_table(design)
    g = spectral.added(R, f)
    found = sl.forward_regression(design.unit_columns, design.y, k, regularizer=spectral.Values(f), nu=1.0)
    for S in {spectral.mask_of(forward_regression(g, k)), spectral.mask_of(found.support.tolist())}:
        of_R, of_g = submodularity_ratio(R, S, k), submodularity_ratio(g, S, k)
        best = maximization.optimum(g, k)
        if of_R > of_g or not all(
            arb(g[S]) >= maximization.one_minus_exp(gamma) * best for gamma in (of_R, of_g)
        ):
            return False
    return maximization.has_stated_value(found, g, k)
