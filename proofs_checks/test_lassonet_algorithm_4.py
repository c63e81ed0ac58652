"""Algorithm 4, Group-Hier-Prox: does it find the global minimum of problem (4)? And does Algorithm 3 count
features?

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), section 6.2, Algorithms 3 and
4, and Appendix B, item 2. Problem (4) is min ½‖θ_j − b‖² + ½‖W_j − z‖² + λ‖b‖₂ subject to ‖z‖∞ ≤ M‖b‖₂. In
print, Algorithm 4 is Algorithm 2 with ‖θ_j‖₂ in place of |θ_j|. With the level w_m̃ that the algorithm finds,
its result is

    θ̃_j = w_m̃/M · θ_j/‖θ_j‖₂                                                            (line 9).

For θ_j = 0, and for M = 0, this expression is 0/0. If θ_j = 0 and λ < M‖W_j‖₁, the minimiser is not zero, and
every b of the right length is optimal. In all other cases the result is right: over all b of length t, ½‖θ_j
− b‖² is least at b = tθ_j/‖θ_j‖ (Cauchy–Schwarz). The remaining problem in t is that of Algorithm 2.

In print, line 6 uses the index j for the summation, and |W_j| in place of the sorted entries. If line 6 is
taken literally, the algorithm finds no level (LN-alg-4-line-6). In the other checks of this file the sum is
Σ_{i≤m} |W_(j,i)| over the m largest entries, as in line 5 of Algorithm 2.

The paper's condition "θ_j ∈ ℝᴷ" (Conventions, and v ∈ ℝᴷ in (4)) is not needed. In Proposition 1, θ_j and W_j
may have different sizes, and the checks use θ_j ∈ ℝᵖ for any p ≥ 1. The checks are exact, for θ_j with a
rational norm. The results of `sl.group_hier_prox` are compared with a tolerance of 16 eps times the size of
the numbers that are added, and its clipped entries with a relative tolerance of (p + 6)/2 eps.
"""

from fractions import Fraction

from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import exact_prox as prox
from sparselin.ledger import CORRECTED, MISPRINT, claim, mutants

# Integer vectors with an integer norm.
DIRECTIONS = {
    (1,): 1,
    (-1,): 1,
    (3, 4): 5,
    (-4, 3): 5,
    (5, -12): 13,
    (1, 2, 2): 3,
    (2, -3, 6): 7,
    (1, 1, 1, 1): 2,
}


@st.composite
def groups(draw, multipliers=(0, Fraction(1, 2), 1, 2, 3)):
    """Draw a vector θ_j with a rational norm, and weights W_j, λ and M, as a `Feature` with v = ‖θ_j‖."""
    problem = draw(prox.features(multipliers=multipliers, least_v=0))
    direction = draw(st.sampled_from(list(DIRECTIONS)))
    return problem, [problem.v * Fraction(x, DIRECTIONS[direction]) for x in direction]


def algorithm_4(problem, theta):
    """Return the result (θ̃_j, W̃_j) of Algorithm 4 as printed, with the sum of line 6 corrected.

    θ_j = 0 or M = 0 raises ZeroDivisionError.
    """
    w = prox.levels(problem)[prox.search(problem)[0]]
    b = [1 / problem.M * w * (x / problem.v) for x in theta]
    return b, [prox.sign(x) * min(w, abs(x)) for x in problem.u]


def corrected(problem, theta):
    """Return the result (θ̃_j, W̃_j) of the corrected Algorithm 4.

    For θ_j = 0 the result θ̃_j is a multiple of the first unit vector. For M = 0 the length of θ_j is
    soft-thresholded, and W̃_j = 0.
    """
    norm = problem.v
    if problem.M == 0:
        length = prox.soft(norm, problem.lam)
        return [length * (x / norm if norm else 0) for x in theta], [Fraction(0)] * len(problem.u)
    if norm == 0:  # S_{λ+1}(1 + x) = S_λ(x)
        scalar, W = algorithm_4(problem._replace(v=Fraction(1), lam=problem.lam + 1), [Fraction(1)])
        return [*scalar, *[Fraction(0)] * (len(theta) - 1)], W
    return algorithm_4(problem, theta)


def squared(x):
    """Return the squared length ‖x‖²."""
    return sum(a * a for a in x)


def value(problem, theta, b, W):
    """Return the value of ½‖θ − b‖² + ½‖W_j − z‖² + λ‖b‖, the objective of problem (4), at z = W.

    The length ‖b‖ in the penalty is taken to be the optimal one.
    """
    off = [x - y for x, y in zip([*theta, *problem.u], [*b, *W], strict=True)]
    return squared(off) / 2 + problem.lam * prox.best_length(problem)


def computed(problem, theta):
    """Return the result (θ̃_j, W̃_j) of the package's `group_hier_prox` for one feature."""
    Theta, W = [[float(x) for x in theta]], [[float(x) for x in problem.u]]
    step = sl.group_hier_prox(Theta, W, lam=problem.lam, M=problem.M)
    return step.theta[0], step.W[0]


@claim("LN-alg-4", "Algorithm 4; Appendix B, item 2", "proof, exact, brute force", CORRECTED)
@mutants("sl.group_hier_prox", "algorithm_4")
def test_group_hier_prox_returns_the_global_minimum(check):
    """Group-Hier-Prox returns the global minimum of ½‖θ_j − b‖₂² + ½‖W_j − z‖₂² + λ‖b‖₂ over ‖z‖∞ ≤ M‖b‖₂.

    Hypotheses: λ ≥ 0, M ≥ 0, θ_j ∈ ℝᵖ is any vector with a rational norm, and W_j any vector of K ≥ 0
    entries.

    Instead: This holds for θ_j ≠ 0 and M > 0. Line 9 of the algorithm is θ̃_j = (w/M)θ_j/‖θ_j‖₂ with a level
    w, which for θ_j = 0 is 0/0. Then any unit vector may take the place of θ_j/‖θ_j‖, because the minimiser
    is not unique if λ < M‖W_j‖₁. For M = 0 the operator must be soft-thresholding of ‖θ_j‖ with W = 0.

    Tolerance: The result of sl.group_hier_prox may be off by 16 eps·(‖θ_j‖ + λ + (1 + M)‖W_j‖₁).
    """
    problem, without = prox.feature(0, [1], 0, 1), prox.feature(5, [1], 1, 0)
    check.refutes(
        prox.divides_by_zero(algorithm_4, problem, [Fraction(0)] * 2)
        and prox.best_length(problem) == Fraction(1, 2),
        f"θ_j = (0, 0), {str(problem)[7:]}: line 9 is 0/0, but ‖b*‖ = ½",
    )
    check.refutes(
        prox.divides_by_zero(algorithm_4, without, [Fraction(3), Fraction(4)])
        and prox.best_length(without) == 4,
        "θ_j = (3, 4), W = (1), λ = 1, M = 0: 1/M, but b* = (12/5, 16/5)",
    )

    def is_the_global_minimum(drawn):
        problem, theta = drawn
        b, W = corrected(problem, theta)
        t = prox.best_length(problem)
        feasible = squared(b) == t**2 and all(abs(z) <= problem.M * t for z in W)
        least = value(problem, theta, b, W) == prox.at_length(problem, t)
        found_b, found_W = computed(problem, theta)
        return feasible and least and prox.agree([*found_b, *found_W], [*b, *W], problem.size)

    check.forall(groups(), is_the_global_minimum)


@claim("LN-alg-3-count", "Algorithm 3, lines 3 and 11; section 6.2", "proof, exact, float", CORRECTED)
@mutants("sl.group_hier_prox", "corrected")
def test_features_are_rows_and_not_coordinates(check):
    """In Algorithm 3, the k of line 11, which is the number of non-zero coordinates of θ ∈ ℝ^{d×p}, is the
    number of active features.

    Hypotheses: There are p ≥ 1 outputs, and row j of θ belongs to feature j. θ and W are the values after
    line 9, that is, after Algorithm 4, which is taken as corrected (ledger id LN-alg-4).

    Instead: The number of active features is the number of non-zero rows of θ. The number of non-zero
    coordinates and the number of non-zero rows become zero together, so line 4 ends the loop at the right
    time. The result θ̃_j has the direction of θ_j, so a feature is dropped for all outputs at once.

    Consequences: The paper's purpose, "to enforce the same set of selected features across all reconstructed
    inputs", is attained. Feature j is dropped if and only if ‖θ_j‖₂ + M‖W_j‖₁ ≤ λ, and no single output
    decides this. Line 3 sets k = d, and line 11 can then set k to d·p.

    Tolerance: Zeros are compared exactly.
    """
    b, _ = corrected(prox.feature(5, [1], 1, 1), [Fraction(3), Fraction(4)])
    check.refutes(
        sum(x != 0 for x in b) == 2,
        "d = 1, p = 2, θ_1 = (3, 4), W_1 = (1), λ = 1, M = 1: two coordinates are left of one feature",
    )

    def row_by_row(drawn):
        problem, theta = drawn
        b, W = corrected(problem, theta)
        found_b, found_W = computed(problem, theta)
        dropped = problem.v + problem.M * sum(map(abs, problem.u)) <= problem.lam
        pattern = [dropped or x == 0 for x in (theta if problem.v else [1, *theta[1:]])]
        zeros = all([x == 0 for x in row] == pattern for row in (b, found_b.tolist()))
        return zeros and (not dropped or not (any(W) or found_W.any()))

    check.forall(groups(), row_by_row)


def levels_of_line_6(problem, entries):
    """Return M/(1 + mM²)·S_λ(‖θ_j‖₂ + MΣ) for each m, where Σ is the sum of the first m given entries.

    S_λ is soft-thresholding.
    """
    v, _, lam, M, _ = problem
    return [M / (1 + m * M**2) * prox.soft(v + M * sum(entries[:m]), lam) for m in range(len(entries) + 1)]


def stops(problem, found):
    """Return every m at which Algorithm 4 stops if the levels w_{j,m} are as given.

    It stops if |W_(j,m)| ≥ w_{j,m} ≥ |W_(j,m+1)|, where |W_(j,m)| is the m-th largest entry, ∞ for m = 0, and
    0 beyond the last one.
    """
    ordered = sorted(map(abs, problem.u), reverse=True)
    return [
        m
        for m, w in enumerate(found)
        if (m == 0 or ordered[m - 1] >= w) and w >= ([*ordered, Fraction(0)][m])
    ]


@claim("LN-alg-4-line-6", "Algorithm 4, line 6", "exact, brute force", MISPRINT)
@mutants("levels_of_line_6", "stops", "sl.group_hier_prox")
def test_line_6_adds_the_largest_entries(check):
    """Line 6 of Algorithm 4 adds M|W_j|, summed over j = 1, …, m, to ‖θ_j‖₂: w_{j,m} = M/(1 + mM²)·S_λ(‖θ_j‖₂
    + MΣ_{j=1}^m |W_j|).

    Reading of: “w_{j,m} ← M/(1 + mM²)·S_λ(‖θ_j‖₂ + M Σ_{j=1}^m |W_j^{(1)}|)”

    Hypotheses: M > 0, and θ_j ≠ 0 has a rational norm. W_j has K ≥ 0 entries, and the sum is read as the sum
    of the first m entries |W_{j,1}|, …, |W_{j,m}|. (A sum over features j would be a vector in ℝᴷ. Moreover m
    runs to K, and not to the number d of features.)

    Instead: The sum must be Σ_{i=1}^m |W_(j,i)|, over the m largest entries of line 4, as in line 5 of
    Algorithm 2. With this sum, line 8 finds an m at which to stop, and the level w_{j,m} is M times the norm
    of the minimiser.

    Unchecked: Other versions of the paper are not checked, because only the text of the HAL version was
    available. In that text, line 5 of Algorithm 2 is right.

    Tolerance: The result of sl.group_hier_prox may be off by 16 eps·(‖θ_j‖ + λ + (1 + M)‖W_j‖₁).
    """
    problem = prox.feature(1, [1, 3], 1, 1)
    check.refutes(
        stops(problem, levels_of_line_6(problem, problem.u)) == []
        and prox.best_length(problem) == Fraction(3, 2),
        "‖θ_j‖ = 1, W_j = (1, 3), λ = 1, M = 1: the levels 0, 1/2, 4/3, and line 8 stops at none; ‖b*‖ = 3/2",
    )

    def stops_at_the_minimiser(drawn):
        problem, theta = drawn
        found = levels_of_line_6(problem, sorted(map(abs, problem.u), reverse=True))
        at = stops(problem, found)
        lengths = {found[m] / problem.M for m in at}
        b, _ = computed(problem, theta)
        direction = [prox.best_length(problem) * x / problem.v for x in theta]
        return lengths == {prox.best_length(problem)} and prox.agree(b, direction, problem.size)

    check.forall(
        groups(multipliers=(Fraction(1, 2), 1, 2, 3)).filter(lambda drawn: drawn[0].v > 0),
        stops_at_the_minimiser,
    )
