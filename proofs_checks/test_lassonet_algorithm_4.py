"""Algorithm 4, Group-Hier-Prox: does it find the global minimum of problem (4)?

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithm 4 and Appendix B,
item 2. In print: as Algorithm 2 with ‖θ_j‖₂ for |θ_j|, and θ̃_j = w_m̃/M·θ_j/‖θ_j‖₂.

For θ_j = 0 that is 0/0, as it is for M = 0; where λ < M‖W_j‖₁ the minimiser is not zero then, and every b
of the right length is optimal. Otherwise it is right: over all b of length t, ½‖θ_j − b‖² is least at b =
tθ_j/‖θ_j‖ (Cauchy–Schwarz), which leaves the function of t of Algorithm 2. Line 6 as we have it reads
Σ_{j=1}^m |W_j|, with j for the summation index; taken as Σ_{i≤m}|W_(j,i)|, no erratum. "θ_j ∈ ℝᴷ"
(Conventions, and v ∈ ℝᴷ in (4)) is not needed: Proposition 1 allows two sizes, and any p ≥ 1 is used here.
Exact, for θ_j with a rational norm; `sl.group_hier_prox` to 16 eps of what is added, and its clips to (p +
6)/2 eps.
"""

from fractions import Fraction

from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.lassonet import at_length, best_length, feature, features, near, show, sign, size, soft
from sparselin.ledger import CORRECTED, claim, mutants

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
    """A feature whose |v| is ‖θ_j‖, and θ_j."""
    problem = draw(features(multipliers=multipliers, least_v=0))
    direction = draw(st.sampled_from(list(DIRECTIONS)))
    return problem, [problem.v * Fraction(x, DIRECTIONS[direction]) for x in direction]


def algorithm_4(problem, theta):
    """(θ̃, W̃) of lines 4 to 10; ZeroDivisionError for θ = 0 or M = 0."""
    norm, u, lam, M, _ = problem
    ordered = sorted(map(abs, u), reverse=True)
    w = [M / (1 + m * M**2) * soft(norm + M * sum(ordered[:m]), lam) for m in range(len(u) + 1)]
    first = next(
        m
        for m in range(len(u) + 1)
        if (m == 0 or ordered[m - 1] >= w[m]) and w[m] >= (ordered[m] if m < len(u) else 0)
    )
    return [1 / M * w[first] * (x / norm) for x in theta], [sign(x) * min(w[first], abs(x)) for x in u]


def corrected(problem, theta):
    """The same with the first coordinate's direction for θ = 0, and soft-thresholding of ‖θ‖ for M = 0."""
    norm = problem.v
    if problem.M == 0:
        return [soft(norm, problem.lam) * (x / norm if norm else 0) for x in theta], [
            0 * x for x in problem.u
        ]
    if norm == 0:  # S_{λ+1}(1 + x) = S_λ(x)
        scalar, W = algorithm_4(problem._replace(v=Fraction(1), lam=problem.lam + 1), [Fraction(1)])
        return [*scalar, *[Fraction(0)] * (len(theta) - 1)], W
    return algorithm_4(problem, theta)


def value(problem, theta, b, W):
    """(4), for ‖b‖ = t."""
    t = best_length(problem)
    squares = sum((x - y) ** 2 for x, y in zip(theta, b, strict=True))
    squares += sum((x - y) ** 2 for x, y in zip(problem.u, W, strict=True))
    return squares / 2 + problem.lam * t


@claim("LN-alg-4", "Algorithm 4; Appendix B, item 2", "proof, exact, brute force", CORRECTED)
@mutants("sl.group_hier_prox", "algorithm_4")
def test_group_hier_prox_returns_the_global_minimum(check):
    """Group-Hier-Prox returns the global minimum of ½‖θ_j − b‖₂² + ½‖W_j − z‖₂² + λ‖b‖₂ over ‖z‖∞ ≤ M‖b‖₂.

    Hypotheses: λ ≥ 0, M ≥ 0, K ≥ 0, any θ_j ∈ ℝᵖ with a rational norm and any W_j

    Instead: So it does for θ_j ≠ 0 and M > 0. For θ_j = 0 line 9 is 0/0, and any unit vector may stand for
    θ_j/‖θ_j‖ (the minimiser is not unique where λ < M‖W_j‖₁); for M = 0 it is soft-thresholding of ‖θ_j‖ and
    W = 0.

    Tolerance: 16 eps·(‖θ_j‖ + λ + (1 + M)‖W_j‖₁) for sl.group_hier_prox
    """
    problem = feature(0, [1], 0, 1)
    check.refutes(
        _divides_by_zero(problem, [Fraction(0)] * 2) and best_length(problem) == Fraction(1, 2),
        f"θ_j = (0, 0), {show(problem)[7:]}: line 9 is 0/0, but ‖b*‖ = ½",
    )
    without = feature(5, [1], 1, 0)
    check.refutes(
        _divides_by_zero(without, [Fraction(3), Fraction(4)]) and best_length(without) == 4,
        "θ_j = (3, 4), W = (1), λ = 1, M = 0: 1/M, but b* = (12/5, 16/5)",
    )

    def is_the_global_minimum(drawn):
        problem, theta = drawn
        b, W = corrected(problem, theta)
        t = best_length(problem)
        found = sl.group_hier_prox(
            [list(map(float, theta))], [list(map(float, problem.u))], lam=problem.lam, M=problem.M
        )
        return (
            sum(x * x for x in b) == t**2
            and all(abs(z) <= problem.M * t for z in W)
            and value(problem, theta, b, W) == at_length(problem, t)
            and all(near(x, y, size(problem)) for x, y in zip(found.theta[0], b, strict=True))
            and all(near(x, y, size(problem)) for x, y in zip(found.W[0], W, strict=True))
        )

    check.forall(groups(), is_the_global_minimum)


def _divides_by_zero(problem, theta):
    try:
        algorithm_4(problem, theta)
    except ZeroDivisionError:
        return True
    return False
