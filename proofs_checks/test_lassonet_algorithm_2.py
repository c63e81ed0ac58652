"""Algorithm 2, Hier-Prox: does it find the global minimum of problem (3)?

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithm 2, section 4.2
("Hier-Prox finds the global minimum of an optimization problem of the form (3)") and Appendix B, item 1.
In print: with |W_(1)| ≥ … ≥ |W_(K)|, w_m = M/(1 + mM²)·S_λ(|θ| + M·Σ_{i≤m}|W_(i)|) and m̃ the first m in 0..K
with |W_(m+1)| ≤ w_m ≤ |W_(m)| (W_(K+1) = 0, W_(0) = ∞), return θ̃ = sign(θ)·w_m̃/M and
W̃ = sign(W)·min(w_m̃, |W|).

For θ = 0 and λ < M‖W‖₁ it returns θ̃ = 0 with W̃ ≠ 0, which is not feasible; for M = 0 it divides by zero.
Otherwise it is right. Given t = |b| the best b is sign(θ)t (either sign at θ = 0) and the best W is
sign(W)·min(Mt, |W|), which leaves φ(t) = ½(|θ| − t)² + λt + ½Σ(|W_k| − Mt)₊², strictly convex on t ≥ 0. If m
is in its interval and w_m > 0, then φ'(w_m/M) = 0; if w_m = 0, then W_(m+1) = 0 and
φ'(0) = λ − |θ| − M‖W‖₁ ≥ 0. So any such m gives the minimum. One exists: m = #{k : |W_k| > Mt*}.
Exact, but for `sl.hier_prox`: 16 eps of |θ| + λ + (1 + M)‖W‖₁, a few roundings of what is added.
"""

from fractions import Fraction

from hypothesis import assume

import sparselin as sl
from proofs_checks.lassonet import (
    at_length,
    best_length,
    feasible,
    feature,
    features,
    near,
    objective,
    show,
    sign,
    size,
    soft,
)
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants

NUMBER = "Algorithm 2 and section 4.2; Appendix B, item 1"


def levels(problem):
    """w_0, …, w_K of line 5 and the m's of line 7, all of them."""
    v, u, lam, M, _ = problem
    ordered = sorted(map(abs, u), reverse=True)
    w = [M / (1 + m * M**2) * soft(abs(v) + M * sum(ordered[:m]), lam) for m in range(len(u) + 1)]
    return w, [
        m
        for m in range(len(u) + 1)
        if (ordered[m] if m < len(u) else 0) <= w[m] and (m == 0 or w[m] <= ordered[m - 1])
    ]


def algorithm_2(problem, sign_of_theta=sign):
    """(θ̃, W̃) of lines 8 and 9; ZeroDivisionError for M = 0."""
    w, found = levels(problem)
    w = w[found[0]]
    return w / problem.M * sign_of_theta(problem.v), [sign(x) * min(w, abs(x)) for x in problem.u]


def divides_by_zero(problem):
    try:
        algorithm_2(problem)
    except ZeroDivisionError:
        return True
    return False


def corrected(problem):
    """The same with a sign of zero, and soft-thresholding for M = 0."""
    if problem.M == 0:
        return soft(problem.v, problem.lam), [Fraction(0)] * len(problem.u)
    return algorithm_2(problem, lambda x: -1 if x < 0 else 1)


def is_the_global_minimum(problem):
    b, z = corrected(problem)
    found = sl.hier_prox([float(problem.v)], [list(map(float, problem.u))], lam=problem.lam, M=problem.M)
    t = best_length(problem)
    same = all(near(x, y, size(problem)) for x, y in zip(found.W[0], z, strict=True))
    literal = problem.M == 0 or problem.v == 0 or algorithm_2(problem) == (b, z)
    return (
        feasible(problem, b, z)
        and objective(problem, b, z) == at_length(problem, t)
        and abs(b) == t
        and near(found.theta[0], b, size(problem))
        and same
        and literal
    )


@claim("LN-alg-2", NUMBER, "proof, exact, brute force", CORRECTED)
@mutants("sl.hier_prox", "algorithm_2")
def test_hier_prox_returns_the_global_minimum(check):
    """Hier-Prox returns the global minimum of ½(θ − b)² + ½‖W_j − z‖² + λ|b| over ‖z‖∞ ≤ M|b|.

    Hypotheses: λ ≥ 0, M ≥ 0, K ≥ 0, any θ and W, ties and zeros among them

    Instead: So it does for θ_j ≠ 0 and M > 0. For θ_j = 0 sign(θ_j) must be read as 1 or −1 (both are
    optimal: the minimiser is not unique where λ < M‖W_j‖₁); for M = 0 it is soft-thresholding and W = 0.

    Consequences: At a θ_j that is exactly zero Algorithm 1 as printed can leave the feasible set of (2), and
    count as dropped a feature whose W_j is not zero.

    Tolerance: 16 eps·(|θ| + λ + (1 + M)‖W‖₁) for sl.hier_prox
    """
    problem = feature(0, [1], 0, 1)
    b, z = algorithm_2(problem)
    check.refutes(
        b == 0 and z == [Fraction(1, 2)] and not feasible(problem, b, z),
        f"{show(problem)}: returns b = 0 with W = ½ > M|b|; the minimum ¼ is at b = ±½, W = ½",
    )
    check.refutes(
        divides_by_zero(feature(2, [1], 1, 0)),
        "θ = 2, W = (1), λ = 1, M = 0: line 8 is 0/0; the minimum is at b = 1, W = 0",
    )
    check.forall(features(), is_the_global_minimum)


@claim("LN-alg-2-search", "Algorithm 2, line 7", "proof, exact", HOLDS)
@mutants("levels")
def test_the_search_ends_and_all_hits_agree(check):
    """There is an m in 0..K with |W_(m+1)| ≤ w_m ≤ |W_(m)|.

    Hypotheses: λ ≥ 0, M ≥ 0, K ≥ 0, any θ and W

    Consequences: Ties make several m's of it, all with the same w_m = M|b*|: 'the first' is a convenience.
    """
    several = []

    def one_value(problem):
        w, found = levels(problem)
        several.append(len(found) > 1)
        return found and all(w[m] == problem.M * best_length(problem) for m in found)

    check.forall(features(), one_value)
    check.measured(
        f"several m's satisfy line 7 in {sum(several)} of {len(several)} features of small integers"
    )


@claim("LN-sec-4.2-nonconvex", "section 4.2", "exact", HOLDS)
@mutants("sl.hier_prox")
def test_problem_3_is_not_convex(check):
    """Problem (3), which defines the proximal operator, is not convex.

    Hypotheses: M > 0 and K ≥ 1 (for M = 0 it is convex)

    Consequences: At θ_j = 0 with λ < M‖W_j‖₁ two points ±b* are optimal, their midpoint (0, W*) is
    infeasible, and the operator jumps there. At fixed sign of b it is convex, and the operator firmly
    nonexpansive.
    """

    def midpoint_is_infeasible(problem):
        found = sl.hier_prox([0.0], [list(map(float, problem.u))], lam=problem.lam, M=problem.M)
        b, z = Fraction(float(found.theta[0])), [Fraction(float(x)) for x in found.W[0]]
        assume(b != 0)
        here, there = objective(problem, b, z), objective(problem, -b, z)
        minimum = at_length(problem, best_length(problem))
        return (
            here == there
            and abs(here - minimum) <= Fraction(1, 2**40) * minimum
            and feasible(problem, b, z)
            and feasible(problem, -b, z)
            and not feasible(problem, Fraction(0), z)
        )

    features_at_zero = features(multipliers=(Fraction(1, 2), 1, 2, 3)).map(
        lambda f: f._replace(v=Fraction(0))
    )
    check.forall(features_at_zero, midpoint_is_infeasible)


@claim("LN-sec-4.2-decomposable", "section 4.2; Appendix B", "exact, float", HOLDS)
@mutants("sl.hier_prox")
def test_the_problem_decomposes_across_features(check):
    """The proximal problem decomposes across features: d problems (3), one a row.

    Hypotheses: any d, λ ≥ 0, M ≥ 0

    Tolerance: none between rows alone and together; 16 eps·size to the exact minimum
    """

    def rows_alone(problem):
        v, u, lam, M, _ = problem
        theta = [float(v), 1.0, -float(v), 0.0]
        W = [[float(x) * k for x in u] for k in (1, 0, 2, 1)]
        together = sl.hier_prox(theta, W, lam=lam, M=M)
        alone = [sl.hier_prox([theta[j]], [W[j]], lam=lam, M=M) for j in range(4)]
        exact = [feature(Fraction(theta[j]), [Fraction(x) for x in W[j]], lam, M) for j in range(4)]
        return all(
            one.theta[0] == together.theta[j]
            and (one.W[0] == together.W[j]).all()
            and near(together.theta[j], (-1 if theta[j] < 0 else 1) * best_length(exact[j]), size(exact[j]))
            for j, one in enumerate(alone)
        )

    check.forall(features(), rows_alone)
