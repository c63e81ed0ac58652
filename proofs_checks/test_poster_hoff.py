"""The poster's proof sketch for "Sequential LASSO = OMP".

Source: *Sequential Attention for Feature Selection*, poster, "Proof sketch (first step of selection only)":

    Primal problem: minimize ‖Xβ − y‖² + λ‖β‖₁.  Dual problem: minimize ‖y − u‖² s.t. ‖Xᵀu‖∞ ≤ λ.
    If λ ≥ ‖Xᵀy‖∞ → projection residual is 0 → β = 0.
    If λ < ‖Xᵀy‖∞ → projection residual is orthogonal to X_{i*} → β_{i*} ≠ 0,

where "i* witnesses the max of ‖Xᵀy‖∞".

The dual problem of the sketch belongs to ½‖Xβ − y‖² + λ‖β‖₁, with ½ before the square. This is the objective
of the paper's equation (4) and of the poster's Sequential LASSO. Without the ½, ‖Xβ − y‖² + λ‖β‖₁ = 2(½‖Xβ −
y‖² + (λ/2)‖β‖₁). So the constraint of its dual is ‖Xᵀu‖∞ ≤ λ/2, and β = 0 for λ ≥ 2‖Xᵀy‖∞.

The residual y − u is never orthogonal to X_{i*}. Let λ* = ‖Xᵀy‖∞. As |⟨X_{i*}, u⟩| ≤ λ < λ* = |⟨X_{i*}, y⟩|,

    |⟨X_{i*}, y − u⟩| ≥ λ* − λ.

Let T be the set of features that attain λ*. Let (λ₂, λ*) be the largest interval on which the same features
are nonzero. If T = {i*} and λ is in (λ₂, λ*), the residual is orthogonal to the face ⟨X_{i*}, u⟩ = ±λ on
which u lies, because y − u = Xβ = β_{i*}X_{i*}. The poster confuses the face with its normal X_{i*}.

The conclusion β_{i*} ≠ 0 need not follow. For λ below λ₂ the coefficient of i* may become zero again, and of
several tied features some may never enter. On (λ₂, λ*) the conclusion holds if T = {i*}. For every i* ∈ A(∅),
the features that enter just below λ*, it holds for some solution.

The checks are exact, in rational arithmetic. The results of `sl.project_dual` and `sl.lasso_path` are
compared with the exact ones up to rounding.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.rational import HALF, inner, is_solution, rational, real, reals, segment, step, vector
from proofs_checks.steps import open_steps, spread
from sparselin.ledger import CORRECTED, claim, mutants

POSTER = "poster, proof sketch of Sequential LASSO = OMP"
TOLERANCE = (
    "The solvers may be off by 1e-9 of ‖y‖. The rounding error is about 64·eps·κ, with a condition number "
    "κ ≤ 7e4 for integer designs of up to 5 × 6."
)
ONE = np.array([[1.0]]), np.array([1.0])


def close(a, b, y):
    return np.max(np.abs(a - b), initial=0) <= 1e-9 * np.linalg.norm(y)


def primal(X, y, beta, lam):
    """Return ‖Xβ − y‖² + λ‖β‖₁, exactly."""
    r = rational(X) * beta - rational(y)
    return inner(r, r) + lam * sum((abs(b) for b in beta.entries()), fmpq(0))


@claim("SA-poster-dual", POSTER, "exact, float", CORRECTED, tolerance=TOLERANCE, cases=600)
@mutants("sl.project_dual", "primal")
def test_the_dual_of_the_sketch(check):
    """The dual of min ‖Xβ − y‖² + λ‖β‖₁ is min ‖y − u‖² subject to ‖Xᵀu‖∞ ≤ λ, and Xβ = y − u.

    Hypotheses: The penalty is λ > 0.

    Instead: Either the primal must have ½ before the square, as in equation (4) of the paper, or the
    constraint must be ‖Xᵀu‖∞ ≤ λ/2.

    Consequences: Only the proof sketch on the poster is affected. Equations (4), (8) and (11) of the paper
    agree with one another.
    """
    half, zero = vector([HALF]), vector([fmpq(0)])
    u = sl.project_dual(*ONE, 1.0).u
    check.refutes(
        u[0] == 1 and primal(*ONE, half, 1) == fmpq(3, 4) < primal(*ONE, zero, 1) == 1,
        "X = [1], y = 1, λ = 1: β = ½, but the projection is u = 1 and y − u = 0",
    )

    def as_corrected(X, y, _):
        level, beta, p = segment(X, y).in_window()  # level = λ/2
        least = primal(X, y, beta, 2 * level)
        return close(sl.project_dual(X, y, real(level)).u, reals(p), y) and all(
            least <= primal(X, y, factor * beta, 2 * level) for factor in (fmpq(9, 10), fmpq(11, 10), 0)
        )

    check.forall(open_steps(max_selected=0), spread(as_corrected))


@claim("SA-poster-threshold", POSTER, "exact, float", CORRECTED, tolerance=TOLERANCE, cases=600)
@mutants("sl.project_dual", "sl.lambda_star")
def test_the_threshold_of_the_sketch(check):
    """If λ ≥ ‖Xᵀy‖∞, then the projection residual y − u is 0, and the minimiser of ‖Xβ − y‖² + λ‖β‖₁ is β =
    0.

    Hypotheses: λ > 0, and u is the projection of y onto ‖Xᵀu‖∞ ≤ λ.

    Instead: The residual is 0 for λ ≥ ‖Xᵀy‖∞, but β = 0 only for λ ≥ 2‖Xᵀy‖∞. For ½‖Xβ − y‖² + λ‖β‖₁, with ½
    before the square, the two thresholds are equal.
    """
    half, zero = vector([HALF]), vector([fmpq(0)])
    check.refutes(
        step(*ONE).lam_star == 1 and primal(*ONE, half, 1) < primal(*ONE, zero, 1),
        "X = [1], y = 1, λ = 1 = ‖Xᵀy‖∞: the minimiser is β = ½",
    )

    def as_corrected(X, y, _):
        found = segment(X, y)
        lam_star, null = found.step.lam_star, 0 * found.coefficients(fmpq(1))
        beta = found.coefficients(lam_star / 4096)
        factor = float(check.rng.uniform(1 + 1e-12, 3))
        above, below = (sl.project_dual(X, y, share * real(lam_star)).u for share in (factor, 0.75))
        return (
            np.array_equal(above, y)
            and not close(below, y, y)
            and is_solution(X, y, (), null, lam_star)
            and primal(X, y, beta, 2 * lam_star * fmpq(2047, 2048)) < primal(X, y, null, 0)
            and abs(sl.lambda_star(X, y) - real(lam_star)) <= 1e-12 * real(lam_star)
        )

    check.forall(open_steps(max_selected=0), spread(as_corrected))


@claim("SA-poster-orthogonal", POSTER, "proof, exact, float", CORRECTED, tolerance=TOLERANCE, cases=1000)
@mutants("sl.project_dual")
def test_what_the_residual_is_orthogonal_to(check):
    """If λ < ‖Xᵀy‖∞ = |⟨X_{i*}, y⟩|, then the projection residual y − u is orthogonal to X_{i*}.

    Hypotheses: 0 < λ < λ* = ‖Xᵀy‖∞, and u is the projection of y onto ‖Xᵀu‖∞ ≤ λ.

    Instead: Let T be the set of features that attain λ*. Let (λ₂, λ*) be the largest interval on which the
    same features are nonzero. If T = {i*} and λ is in (λ₂, λ*), the residual is orthogonal to the face
    ⟨X_{i*}, u⟩ = ±λ, and so parallel to X_{i*}. The residual is never orthogonal to X_{i*} itself, because
    |⟨X_{i*}, y − u⟩| ≥ λ* − λ > 0.

    Consequences: The sketch concludes that β_{i*} ≠ 0. This is nevertheless true if T = {i*} and λ is in (λ₂,
    λ*), because y ≠ u. Theorem 3.3 is not affected, because its proof does not use this statement.
    """
    u = sl.project_dual(*ONE, 0.5).u
    check.refutes(
        u[0] == 0.5 and ONE[0][0, 0] * (ONE[1] - u)[0] == 0.5,
        "X = [1], y = 1, λ = ½: u = ½, y − u = ½ = ½X_{i*}",
    )

    def correlated_and_parallel(X, y, _):
        found = segment(X, y)
        lam_star, level = real(found.step.lam_star), real(found.in_window().lam)
        lam = float(check.rng.uniform(0.05, 0.95)) * lam_star
        rounding = 1e-9 * np.linalg.norm(y) * np.linalg.norm(X, axis=0).max()
        signed = X[:, found.step.tied] * found.signs
        left, residual = (y - sl.project_dual(X, y, at).u for at in (lam, level))
        face = signed[:, 0] @ (y - residual)  # ±⟨X_{i*}, u⟩ on the window, where y − u = εZv, Z = [±X_i]_T
        return (
            (left @ signed).min() >= lam_star - lam - rounding
            and close(residual, (lam_star - level) * reals(found.Z * found.v), y)
            and (len(found.step.tied) > 1 or abs(face - level) <= rounding)
        )

    check.forall(open_steps(max_selected=0), spread(correlated_and_parallel))


# columns of length 3
LEAVES = np.array([[-2.0, -2.0, 0.0], [-1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]), np.array([0.0, 1.0, 2.0])
TIED = np.array([[3.0, 0.0, 2.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, -1.0])


@claim("SA-poster-enters", POSTER, "proof, exact, float", CORRECTED, tolerance=TOLERANCE, cases=1000)
@mutants("sl.lasso_path", "sl.first_entry")
def test_which_witness_enters(check):
    """If λ < λ* = ‖Xᵀy‖∞ = |⟨X_{i*}, y⟩|, then β_{i*} ≠ 0.

    Hypotheses: 0 < λ < λ*, and β minimises ½‖y − Xβ‖² + λ‖β‖₁, with ½ before the square as in equation (4) of
    the paper.

    Instead: Let λ be in the window (λ₂, λ*), on which the same features are nonzero. If i* is the only
    feature with |⟨X_i, y⟩| = λ*, then β_{i*} ≠ 0. Otherwise β_{i*} ≠ 0 in some solution if and only if i* ∈
    A(∅), the set of features that enter just below λ*. Some feature with |⟨X_i, y⟩| = λ* always enters.

    Consequences: Theorem 3.3 holds. It states that every feature in A(S) attains λ*, and does not state the
    converse.
    """
    left, at = vector([fmpq(13, 30), fmpq(0), fmpq(13, 30)]), step(*LEAVES)
    check.refutes(
        at.tied == (1,) and at.lam_star == 4 and is_solution(*LEAVES, (), left, fmpq(2, 5)),
        "X = [[−2, −2, 0], [−1, 2, 3], [2, 1, 0]] (columns of length 3), y = (0, 1, 2), λ = 2/5: i* = 1, "
        "‖Xᵀy‖∞ = 4, and β = (13/30, 0, 13/30)",
    )
    found = segment(*TIED)
    check.refutes(
        found.step.tied == (0, 1, 2) and found.active == (0, 1),
        "X = [[3, 0, 2], [0, 3, 2], [0, 0, 1]] (columns of length 3), y = (1, 1, −1): all three attain the "
        "maximum, only β_0, β_1 ≠ 0 just below it",
    )

    def only_active_ones(X, y, _):
        found = segment(X, y)
        level = real(found.in_window().lam)
        beta = sl.lasso_path(X, y, lam_min=level).at(level)
        entered = set(np.flatnonzero(np.abs(beta) > 1e-9 * np.abs(beta).max()).tolist())
        alone = len(found.step.tied) > 1 or entered == set(found.step.tied)
        return (
            entered and entered <= set(found.active) and alone and sl.first_entry(X, y).active == found.active
        )

    check.forall(open_steps(max_selected=0), spread(only_active_ones))
