"""Definition 3.1: the objective of regularized linear Sequential Attention, and the feature that it selects.

Source: *Sequential Attention for Feature Selection*, Definition 3.1 with equations (5) and (6), Algorithm 1
and the paragraph after Algorithm 3 (ICLR and NeurIPS submission, with the same wording and numbers). With
s_i(w) = 1 for i ∈ S and s_i(w) = w_i for i ∉ S, the paper has these problems:

    (5)  min over w, θ ∈ ℝᵈ of ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²)
    (6)  min over θ of ‖Xθ − y‖² + λ‖θ_S̄‖₁,   "precisely the Sequential LASSO algorithm"
    (4)  argmin ½‖Xβ − y‖² + λ‖β_S̄‖₁ in Algorithm 3

Idea: at θ' = s(w)∘θ, the objective of (5) minus the objective of (6) is (λ/2)(‖w_S‖² + Σ_S̄ (|w_i| −
|θ_i|)²), which is never negative. The objective of (6) at λ is twice the objective of (4) at λ/2. If the mask
is positive and there is no penalty, the weights do not show which features matter. The sign of w_i does not
show it either. Derivations: docs/proofs/linear_attention.md.
"""

from fractions import Fraction

import numpy as np
from flint import fmpq
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import ALL, BOTH
from proofs_checks.rational import (
    entries,
    exact,
    fraction,
    inner,
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
from proofs_checks.steps import masked_loss, open_steps, selections, spread
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

ONE = np.array([[1.0]]), np.array([1.0])
AXES = np.eye(2), np.array([1.0, 0.0])


def equation_5(X, y, S, w, theta, lam):
    """Return objective (5), ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²), in the arithmetic of the arguments."""
    free = np.delete(theta, S)
    return masked_loss(X, y, masked(w, S), theta) + lam * (w @ w + free @ free) / 2


def equation_6(X, y, S, theta, lam):
    """Return objective (6), ‖Xθ − y‖² + λ‖θ_S̄‖₁, in the arithmetic of the arguments."""
    r = X @ theta - y
    return r @ r + lam * abs(np.delete(theta, S)).sum()


def masked(w, S, on_S=1):
    """Return the mask s(w): w_i for i ∉ S, and `on_S` (by default 1) for i ∈ S."""
    return np.array([on_S if i in S else a for i, a in enumerate(w)])


def square_roots(beta, S):
    """Return (w, θ) with s(w)∘θ = β, |w_i| = |θ_i| = √|β_i| off S and w_S = 0."""
    root, on_S = np.sqrt(np.abs(beta)), np.isin(np.arange(beta.size), S)
    return np.where(on_S, 0, root), np.where(on_S, beta, np.sign(beta) * root)


SMALL_FRACTIONS = st.lists(st.fractions(-3, 3, max_denominator=4), min_size=12, max_size=12)


@claim("SA-equation-6", f"equations (5) and (6) {BOTH}", "proof, exact, float", HOLDS, cases=600, ci_cases=15)
@mutants("equation_5", "equation_6", "sl.hadamard_descent")
def test_both_have_the_same_minimum(check):
    """Problems (5) and (6) have the same minimum, where λ is the same in both:

        min over w, θ of ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²) = min over θ of ‖Xθ − y‖² + λ‖θ_S̄‖₁.

    Hypotheses: λ ≥ 0, and S is any set. The mask is s_i(w) = 1 for i ∈ S, and s_i(w) = w_i otherwise.

    Tolerance: Square roots may add an error of 1e-13 of ‖y‖². The value at which the descent ends may be
    larger by 1e-4 of the gain, which is ‖P_S^⊥y‖² minus the minimum; the descent certifies this accuracy.
    """

    def never_below(X, y, S, w, theta, lam):
        excess = equation_5(X, y, S, w, theta, lam) - equation_6(X, y, S, masked(w, S) * theta, lam)
        return excess == lam * ((abs(w) - abs(masked(theta, S, 0))) ** 2).sum() / 2

    def reached_and_trained(drawn):
        (X, y, S), numbers = drawn
        w, theta = np.reshape(numbers, (2, 6))[:, : X.shape[1]]
        if not never_below(exact(X), exact(y), S, w, theta, abs(numbers[0])):
            return False
        lam, beta, _ = segment(X, y, S).in_window()
        least = float(equation_6(exact(X), exact(y), S, entries(beta), 2 * fraction(lam)))
        reached = equation_5(X, y, S, *square_roots(reals(beta), S), 2 * real(lam))
        found = sl.hadamard_descent(X, y, real(lam), forced=S, rng=0)
        if found.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        trained = equation_5(X, y, S, np.nan_to_num(found.w), found.theta, 2 * real(lam))
        gain, rounding = np.sum(reals(step(X, y, S).residual) ** 2) - least, 1e-13 * (y @ y)
        return abs(reached - least) <= rounding and -rounding <= trained - least <= 1.01e-4 * gain + rounding

    check.forall(st.tuples(open_steps(), SMALL_FRACTIONS), reached_and_trained)


@claim("SA-section-5-only", f"Section 5 {BOTH}", "proof, exact, float", FALSE, cases=400, ci_cases=15)
@mutants("equation_5", "equation_6", "sl.sequential_attention")
def test_another_mask_has_the_guarantees(check):
    """The provable guarantees hold only for the overparameterization of Definition 3.1, s_i(w) = w_i.

    Reading of: “our provable guarantees only hold for the overparameterization scheme in the regularized
    linear Sequential Attention algorithm (see Definition 3.1)”

    Hypotheses: The guarantees are those of OMP: with λ in the window of the step, the selected feature is one
    that OMP may select. The mask is 1 on S.

    Instead: They hold for each mask that induces the penalty λ‖β‖₁, for example for s_i(w) = |w_i|, which
    Section 4.2 compares: with this mask, (5) minus (6) is (λ/2)(‖w_S‖² + Σ_S̄ (|w_i| − |θ_i|)²) ≥ 0, as with
    s_i(w) = w_i. For the masks softmax, w² and the normalised ones they fail (ledger ids
    ours-mask-softmax-departs, ours-mask-l2-departs, ours-mask-normalized-departs).

    Consequences: Section 4.2 itself says that |w| "captures the provable variant" (ledger id
    SA-section-4.2-l1).
    """
    X, y = np.array([[2.0, 1.0], [0.0, 2.0]]), np.array([3.0, 1.0])  # correlations 6 and 5
    picks = sl.sequential_attention(X, y, 1, parametrization="l1", rng=0).support.tolist()
    check.refutes(
        picks == sl.omp(X, y, 1).support.tolist() == [0]
        and _excess(X, y, [], [-1, 2], [3, 1], 1) == Fraction(5, 2),
        "X = [[2, 1], [0, 2]], y = (3, 1): |w| selects OMP's feature",
    )

    def as_for_the_linear_mask(drawn):
        (X, y, S), numbers = drawn
        w, theta = np.reshape(numbers, (2, 6))[:, : X.shape[1]]
        lam = abs(numbers[0])
        distance = ((abs(w) - abs(masked(theta, S, 0))) ** 2).sum()
        return _excess(X, y, S, w, theta, lam) == lam * distance / 2

    check.forall(st.tuples(open_steps(), SMALL_FRACTIONS), as_for_the_linear_mask)


def _excess(X, y, S, w, theta, lam):
    """Return (5) with the mask |w| off S, minus (6) at the same coefficients, as a fraction."""
    A, b = exact(X), exact(y)
    w, theta = (np.array([Fraction(v) for v in values]) for values in (w, theta))
    return equation_5(A, b, S, abs(w), theta, lam) - equation_6(A, b, S, masked(abs(w), S) * theta, lam)


@claim("SA-equation-6-scale", f"after equation (6) {BOTH}", "exact", CORRECTED, cases=600)
@mutants("sl.lambda_star", "equation_6")
def test_the_scale_of_lambda(check):
    """Problem (6), min ‖Xθ − y‖² + λ‖θ_S̄‖₁, is precisely problem (4) of Sequential LASSO:

        min ½‖Xβ − y‖² + λ‖β_S̄‖₁.

    Hypotheses: λ > 0, and S is any set.

    Instead: This holds up to the replacement of λ by λ/2, because (6) has no factor ½ and is twice (4) at
    λ/2. So in (5) and (6), λ*(S) is 2‖XᵀP_S^⊥y‖∞. The window below λ*(S), in which the same features are
    nonzero, is (2λ₂, 2λ*), where (λ₂, λ*) is the window of (4).

    Consequences: No result changes, because Theorem 1.1 leaves λ open. But with λ just below ‖XᵀP_S^⊥y‖∞,
    half of the threshold of (5), the pick comes from the middle of the LASSO path, and it can be wrong.
    """
    half, zero = (equation_6(*map(exact, ONE), (), exact([b]), 1) for b in (0.5, 0.0))
    check.refutes(
        is_solution(*ONE, (), rational([0.0]), fmpq(1)) and half == Fraction(3, 4) < zero == 1,
        "X = [1], y = 1, λ = 1: (4) has β = 0, (6) has θ = ½",
    )

    def twice_the_threshold(X, y, S):
        found = segment(X, y, S)
        at, scale = found.step, Fraction(sl.lambda_star(X, y, forced=S))
        solutions = [found.coefficients(eps) for eps in (fmpq(0), at.lam_star / 1024)]
        # at 2λ* and above nothing enters, below it β_S̄ = 0 is not optimal
        null, entering = (
            equation_6(exact(X), exact(y), S, entries(beta), 2 * scale * Fraction(511, 512))
            for beta in solutions
        )
        return (
            is_solution(X, y, S, solutions[0], at.lam_star)
            and abs(scale - fraction(at.lam_star)) <= scale / 10**12
            and entering < null == fraction(inner(at.residual, at.residual))
        )

    check.forall(open_steps(), spread(twice_the_threshold))


@claim("SA-algorithm-1-objective", f"Algorithm 1, lines 4 and 5 {ALL}", "proof, exact", FALSE)
@mutants("masked_loss")
def test_without_decay_no_weight_is_preferred(check):
    """For least squares, the minimisers (θ*, w*) of line 4 of Algorithm 1 determine which feature line 5
    selects, namely the feature with the largest weight.

    Reading of: “Let (θ*, w*) ← argmin ℓ(f(X∘W; θ), y)”, “Set i* ← argmax w*_i”, f(X; θ) = Xθ, ℓ the squared
    loss

    Hypotheses: The mask is the softmax of equation (1), and there is no weight decay, as printed. Then the
    masks softmax(w) are exactly the vectors that are 1 on S, and positive with sum 1 off S.

    Instead: Every w* is optimal, together with θ* = β*/softmax(w*), where β* minimises ‖Xβ − y‖². Any feature
    off S can have the largest weight. The start and the path of the descent determine this feature, or a
    weight decay if there is one (SA-lemma-3.2).

    Consequences: Theorem 1.1 is not affected, because its variant of the algorithm has the decay.
    """
    masks = exact([0.75, 0.25]), exact([0.25, 0.75])
    check.refutes(
        all(masked_loss(*map(exact, AXES), mask, exact(AXES[1]) / mask) == 0 for mask in masks),
        "X = I₂, y = (1, 0), S = ∅: loss 0 with softmax(w) = (¾, ¼) and with (¼, ¾), which selects the "
        "feature that is orthogonal to y",
    )

    def any_feature(X, y, S):
        beta, r = least_squares(rational(X), rational(y)), off(rational(X), range(X.shape[1]), rational(y))
        free = [i for i in range(X.shape[1]) if i not in S]
        for largest in free:
            w = [Fraction(1 + (i == largest), len(free) + 1) for i in range(X.shape[1])]
            mask = masked(w, S)
            if masked_loss(exact(X), exact(y), mask, entries(beta) / mask) != fraction(inner(r, r)):
                return False
        return True

    check.forall(selections(dependent=True), spread(any_feature))


def picked(w, S):
    """Return the feature i ∉ S with the largest |w_i|."""
    return int(np.argmax(masked(np.abs(w), S, -1)))


def balanced(at, lam, S, y, residual):
    """Return whether (λ/2) Σ_S̄ (|w_i| − |θ_i|)² is within the certified accuracy of the descent, 1e-4 of its
    gain.
    """
    apart = np.sum((np.abs(np.delete(at.w, S)) - np.abs(np.delete(at.theta, S))) ** 2)
    gain = 0.5 * float(np.sum(reals(residual) ** 2)) - at.objective[-1]
    return lam / 2 * apart <= 1.01e-4 * gain + 1e-13 * (y @ y)


@claim(
    "SA-algorithm-1-argmax",
    f"Algorithm 1, line 5, with Definition 3.1 {ALL}",
    "proof, exact, float",
    CORRECTED,
    ci_cases=30,
)
@mutants("sl.hadamard_descent", "picked", "equation_5")
def test_the_sign_of_the_weights_is_free(check):
    """At a minimiser (w*, θ*) of (5), i* = argmax_{i∉S} w_i* is the feature with the largest attention
    weight, and Sequential LASSO selects this feature.

    Hypotheses: The objective (5) is ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²), with s_i(w) = 1 on S and w_i
    off S. Its λ lies in (2λ₂, 2λ*), where λ* = ‖XᵀP_S^⊥y‖∞, and (λ₂, λ*) is the largest interval below λ* on
    which the LASSO has the same nonzero features A(S).

    Instead: i* = argmax |w_i*|. In the window, |w_i*| = |θ_i*| = √|β_i| for the LASSO solution β = w*∘θ*, and
    these numbers are positive only on A(S). The sign of w_i* can be chosen freely.

    Consequences: Theorem 1.1 holds with |w_i| in place of w_i. With the softmax mask, line 5 is right as
    printed, because the weight s_i(w) increases with w_i.

    Tolerance: The term (λ/2)(|w_i| − |θ_i|)² is part of the error that the descent certifies to be at most
    1e-4 of the gain. Another 1e-13 of ‖y‖² is for rounding.
    """
    w, design, lam = exact([-0.5, 0.0]), tuple(map(exact, AXES)), Fraction(3, 2)
    least = is_solution(*AXES, (), rational([0.25, 0.0]), fmpq(3, 4)) and (
        equation_5(*design, (), w, w, lam) == equation_6(*design, (), w * w, lam) == Fraction(15, 16)
    )
    check.refutes(
        least and np.argmax(w) == 1 and step(*AXES).correlation[1] == 0,
        "X = I₂, y = (1, 0), λ = 3/2: at the minimiser w = θ = (−½, 0) argmax w_i is 1, whose correlation is "
        "0",
    )
    signs = []

    def largest_modulus(X, y, S):
        found = segment(X, y, S)
        lam = real(found.in_window().lam)
        at = sl.hadamard_descent(X, y, lam, forced=S, rng=check.rng)
        if at.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        signs.append(max(np.delete(at.w, S), key=abs) < 0)
        picks = {picked(at.w, S), picked(at.theta, S)}
        return picks <= set(found.active) and balanced(at, lam, S, y, found.step.residual)

    check.forall(open_steps(), spread(largest_modulus))
    check.measured(
        f"the largest |w_i| belongs to a negative w_i in {sum(signs)} of {len(signs)} descents from random "
        "starts"
    )


@claim(
    "SA-section-2-large-lambda",
    f"Section 2, after Algorithm 3 {BOTH}",
    "proof, exact, float",
    CORRECTED,
    cases=600,
)
@mutants("sl.lasso_path", "sl.first_entry")
def test_the_ranking_below_the_threshold(check):
    """λ can be set to a large enough value, since beyond a critical value of λ the feature ranking according
    to the LASSO coefficients does not change.

    Hypotheses: λ* = ‖XᵀP_S^⊥y‖∞ > 0, and S is any set of linearly independent columns.

    Instead: Let T be the set of features with |⟨X_i, P_S^⊥y⟩| = λ*. The ranking of the |β_i|, i ∉ S, is
    constant for λ in the window (λ₂, λ*), the largest interval below λ* on which the same features outside S
    are nonzero. At λ = λ* − ε in this window, |β_i| = εv_i for i ∈ T, with a fixed v ≥ 0, and β_i = 0 for i ∉
    S ∪ T. For λ ≥ λ* all these β_i are zero, so there is no ranking. Therefore it is not enough that λ is
    large: λ must lie in the window of the step.

    Consequences: Algorithm 3 itself is not affected, because its λ* has a closed form (SA-section-2-search).

    Tolerance: The tolerance is 1e-9 of the largest |β_i|. The rounding error is about 64·eps·κ, with a
    condition number κ ≤ 7e4 for integer designs of up to 5 × 6.
    """
    design = np.eye(2), np.array([2.0, 1.0])
    path = sl.lasso_path(*design)
    check.refutes(
        path.at(1.5).tolist() == [0.5, 0.0]
        and path.at(2.0).tolist() == path.at(3.0).tolist() == [0.0, 0.0]
        and is_solution(*design, (), rational([0.0, 0.0]), fmpq(2)),
        "X = I₂, y = (2, 1): β(3/2) = (½, 0), and β(λ) = 0 for every λ ≥ 2",
    )

    def constant_ranking(X, y, S):
        found, lower = segment(X, y, S), sl.first_entry(X, y, forced=S).window_lower
        path, lam_star = sl.lasso_path(X, y, forced=S, lam_min=lower), real(found.step.lam_star)
        shapes = []
        for eps in np.multiply((0.05, 0.5, 0.95), lam_star - lower):
            beta = path.at(lam_star - eps)
            shapes.append(np.delete(np.abs(beta), S) / np.delete(np.abs(beta), S).max())
            # β in print is one solution of possibly many: what is common to all is the fit
            residual = reals(found.step.residual) - eps * reals(found.Z * found.v)
            if np.abs(y - X @ beta - residual).max() > 1e-9 * np.linalg.norm(y):
                return False
        null = all((np.delete(path.at(lam_star * factor), S) == 0).all() for factor in (1.0 + 1e-12, 2.0))
        return null and np.abs(np.diff(shapes, axis=0)).max() <= 1e-9

    check.forall(open_steps(), spread(constant_ranking))


# equal columns lengths √6; λ* = 8 at S = ∅, T = {1}; λ*({1}) = 3
FIXED = np.array([[1.0, 1.0, -2.0], [2.0, -1.0, 1.0], [1.0, -2.0, 1.0]]), np.array([-1.0, 3.0, 2.0])


def fixed_solution(lam):
    """Return β(λ) for the design `FIXED` and λ ≤ 4: linear between (2/9, −5/9, 0) at 4 and (1, 0, 1) at 0."""
    share = lam / 4
    return [1 - share * fmpq(7, 9), -share * fmpq(5, 9), 1 - share]


@claim("ours-no-fixed-lambda", "the same sentence of Section 2", "exact", HOLDS, cases=300, ci_cases=30)
@mutants("sl.lasso_path", "sl.omp", "fixed_solution")
def test_no_fixed_lambda(check):
    """For some designs with columns of equal length, no fixed λ makes the LASSO pick the same features as
    OMP. Both methods take two steps, and each step of the LASSO adds the feature with the largest |β_i|, i ∉
    S.

    Hypotheses: The design is X = [[1, 1, −2], [2, −1, 1], [1, −2, 1]], y = (−1, 3, 2), with the features 0, 1
    and 2. OMP takes feature 1 first, and then λ*({1}) = ‖XᵀP_S^⊥y‖∞ = 3 for S = {1}. For λ < 3, the first
    LASSO has |β_0| > |β_1|. For λ ≥ 3, the second LASSO has β_S̄ = 0.
    """

    picks, second = sl.omp(*FIXED, 2).support.tolist(), step(*FIXED, [1])
    as_said = step(*FIXED).tied == (1,) and picks[0] == 1 and second.lam_star == 3 and picks[1] in second.tied

    def wrong(lam):
        beta = vector(fixed_solution(lam))
        ours = sl.lasso_path(*FIXED).at(real(lam))
        zero, one, _ = map(abs, beta.entries())
        close = np.abs(ours - reals(beta)).max() <= 1e-12
        return as_said and is_solution(*FIXED, (), beta, lam) and zero > one and close

    check.over((fmpq(3 * i, check.cases) for i in range(1, check.cases)), wrong)
