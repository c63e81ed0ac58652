"""Algorithm 2, Hier-Prox: does it find the global minimum of problem (3)?

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithm 2, section 4.2
("Hier-Prox finds the global minimum of an optimization problem of the form (3)") and Appendix B, item 1.
Problem (3) is min ½(θ − b)² + ½‖W − z‖² + λ|b| subject to ‖z‖∞ ≤ M|b|. In print, for each feature, with the
sorted sizes |W_(1)| ≥ … ≥ |W_(K)|, W_(0) = ∞, W_(K+1) = 0 and soft-thresholding S_λ:

    w_m = M/(1 + mM²) · S_λ(|θ| + M·Σ_{i≤m} |W_(i)|),   m = 0..K                        (line 5)
    m̃   = the first m with |W_(m+1)| ≤ w_m ≤ |W_(m)|                                     (line 7)
    θ̃   = sign(θ)·w_m̃/M,   W̃ = sign(W)·min(w_m̃, |W|)                                  (lines 8, 9)

For θ = 0 and λ < M‖W‖₁, the algorithm returns θ̃ = 0 with W̃ ≠ 0, which violates the constraint. For M = 0 it
divides by zero. In all other cases it is right. To see this, fix |b| = t. The best b is sign(θ)t, and the
best z is sign(W)·min(Mt, |W|). With these choices, the objective is

    φ(t) = ½(|θ| − t)² + λt + ½Σ_k (|W_k| − Mt)₊²,   strictly convex on t ≥ 0.

If m satisfies line 7 and w_m > 0, then φ'(w_m/M) = 0. If m satisfies line 7 and w_m = 0, then W_(m+1) = 0 and
φ'(0) = λ − |θ| − M‖W‖₁ ≥ 0. So every m that satisfies line 7 gives the minimiser t* of φ. Such an m exists,
namely m = #{k : |W_k| > Mt*}.

The checks are exact. Only the results of `sl.hier_prox` are compared with a tolerance, 16 eps times |θ| + λ +
(1 + M)‖W‖₁, which allows for a few roundings of the numbers that are added.
"""

from fractions import Fraction

from hypothesis import assume

import sparselin as sl
from proofs_checks import exact_prox as prox
from proofs_checks.exact_prox import levels
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants


def algorithm_2(problem, sign_of_theta=prox.sign):
    """Return the result (θ̃, W̃) of Algorithm 2 as printed, for one feature.

    M = 0 raises ZeroDivisionError.
    """
    w = levels(problem)[prox.search(problem)[0]]
    return w / problem.M * sign_of_theta(problem.v), [prox.sign(x) * min(w, abs(x)) for x in problem.u]


def corrected(problem):
    """Return the result (θ̃, W̃) of the corrected Algorithm 2, for one feature.

    The sign of θ = 0 is read as 1. For M = 0, θ is soft-thresholded, and W̃ = 0.
    """
    if problem.M == 0:
        return prox.soft(problem.v, problem.lam), [Fraction(0)] * len(problem.u)
    return algorithm_2(problem, lambda x: -1 if x < 0 else 1)


@claim("LN-alg-2", "Algorithm 2 and section 4.2; Appendix B, item 1", "proof, exact, brute force", CORRECTED)
@mutants("sl.hier_prox", "algorithm_2")
def test_hier_prox_returns_the_global_minimum(check):
    """Hier-Prox returns the global minimum over b and z of ½(θ_j − b)² + ½‖W_j − z‖² + λ|b| subject to ‖z‖∞ ≤
    M|b|.

    Hypotheses: λ ≥ 0, M ≥ 0, and W_j has K ≥ 0 entries. θ and W are arbitrary, and ties and zeros are
    included.

    Instead: This holds for θ_j ≠ 0 and M > 0. For θ_j = 0, sign(θ_j) must be read as 1 or −1; both are
    optimal, because the minimiser is not unique if λ < M‖W_j‖₁. For M = 0 the operator must be
    soft-thresholding with W = 0.

    Consequences: If some θ_j is exactly zero, Algorithm 1, which uses Hier-Prox as printed, can violate the
    constraint ‖W_j‖∞ ≤ M|θ_j|, and can count a feature as dropped although its W_j is not zero.

    Tolerance: The result of sl.hier_prox may be off by 16 eps·(|θ| + λ + (1 + M)‖W‖₁).
    """
    problem = prox.feature(0, [1], 0, 1)
    b, z = algorithm_2(problem)
    check.refutes(
        b == 0 and z == [Fraction(1, 2)] and not problem.feasible(b, z),
        f"{problem}: returns b = 0 with W = ½ > M|b|; the minimum ¼ is at b = ±½, W = ½",
    )
    check.refutes(
        prox.divides_by_zero(algorithm_2, prox.feature(2, [1], 1, 0)),
        "θ = 2, W = (1), λ = 1, M = 0: line 8 is 0/0; the minimum is at b = 1, W = 0",
    )

    def is_the_global_minimum(problem):
        b, z = corrected(problem)
        t = prox.best_length(problem)
        as_printed = problem.M == 0 or problem.v == 0 or algorithm_2(problem) == (b, z)
        least = problem.feasible(b, z) and problem.objective(b, z) == prox.at_length(problem, t)
        return least and abs(b) == t and prox.computed_is(problem, b, z) and as_printed

    check.forall(prox.features(), is_the_global_minimum)


@claim("LN-alg-2-search", "Algorithm 2, line 7", "proof, exact", HOLDS)
@mutants("levels")
def test_the_search_ends_and_all_hits_agree(check):
    """The search in line 7 of Algorithm 2 ends: there is an m in 0, …, K with |W_(m+1)| ≤ w_m ≤ |W_(m)|,
    where w_m = M/(1 + mM²)·S_λ(|θ| + M·Σ_{i≤m} |W_(i)|).

    Hypotheses: λ ≥ 0, M ≥ 0, K ≥ 0, and θ and W are arbitrary. |W_(1)| ≥ … ≥ |W_(K)| are the sorted sizes of
    the entries, W_(0) = ∞, W_(K+1) = 0, and S_λ is soft-thresholding.

    Consequences: In a tie several m satisfy the condition. They all have the same w_m = M|b*|, where b* is
    the minimiser, so any of them may be taken; the paper takes the first.
    """
    several = []

    def one_value(problem):
        w, found = levels(problem), prox.search(problem)
        several.append(len(found) > 1)
        return found and all(w[m] == problem.M * prox.best_length(problem) for m in found)

    check.forall(prox.features(), one_value)
    check.measured(
        f"several m's satisfy line 7 in {sum(several)} of {len(several)} features of small integers"
    )


@claim("LN-sec-4.2-nonconvex", "section 4.2", "exact", HOLDS)
@mutants("sl.hier_prox")
def test_problem_3_is_not_convex(check):
    """Problem (3), min ½(θ_j − b)² + ½‖W_j − z‖² + λ|b| over ‖z‖∞ ≤ M|b|, which defines the proximal
    operator, is not convex.

    Hypotheses: M > 0, and W_j has K ≥ 1 entries. (For M = 0 the problem is convex.)

    Consequences: If θ_j = 0 and λ < M‖W_j‖₁, two points (±b*, W*) are optimal, and their midpoint (0, W*)
    violates the constraint. The proximal operator is discontinuous at such (θ_j, W_j). For a fixed sign of b,
    the problem is convex, and the operator is firmly nonexpansive.
    """

    def midpoint_is_infeasible(problem):
        problem = problem._replace(v=Fraction(0))
        b, z = prox.computed(problem)
        assume(b != 0)
        here, there = problem.objective(b, z), problem.objective(-b, z)
        minimum = prox.at_length(problem, prox.best_length(problem))
        optimal = here == there and abs(here - minimum) <= Fraction(1, 2**40) * minimum
        ends = problem.feasible(b, z) and problem.feasible(-b, z)
        return optimal and ends and not problem.feasible(Fraction(0), z)

    check.forall(prox.features(multipliers=(Fraction(1, 2), 1, 2, 3)), midpoint_is_infeasible)


@claim("LN-sec-4.2-decomposable", "section 4.2; Appendix B", "exact, float", HOLDS)
@mutants("sl.hier_prox")
def test_the_problem_decomposes_across_features(check):
    """LassoNet's proximal problem decomposes across features into d problems (3), one for each feature j: min
    ½(θ_j − b)² + ½‖W_j − z‖² + λ|b| over ‖z‖∞ ≤ M|b|.

    Hypotheses: The number d of features is arbitrary, λ ≥ 0 and M ≥ 0.

    Tolerance: The results for single features and for all features together must be equal. Both may differ
    from the exact minimiser by 16 eps·(|θ| + λ + (1 + M)‖W‖₁).
    """

    def rows_alone(problem):
        scales = [(problem.v, 1), (Fraction(1), 0), (-problem.v, 2), (Fraction(0), 1)]
        rows = [problem._replace(v=v, u=tuple(k * x for x in problem.u)) for v, k in scales]
        theta, W = [float(row.v) for row in rows], [[float(x) for x in row.u] for row in rows]
        together = sl.hier_prox(theta, W, lam=problem.lam, M=problem.M)
        return all(
            prox.computed(row) == (theta_j, W_j.tolist())
            and prox.agree([theta_j], prox.minimiser(row)[:1], row.size)
            for row, theta_j, W_j in zip(rows, together.theta, together.W, strict=True)
        )

    check.forall(prox.features(), rows_alone)
