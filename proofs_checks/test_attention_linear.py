"""Definition 3.1: what regularized linear Sequential Attention minimises, and how a feature is read off.

Source: *Sequential Attention for Feature Selection*, Definition 3.1 with equations (5) and (6), Algorithm 1
and the paragraph after Algorithm 3 (ICLR and NeurIPS submission, with the same wording and numbers). In
print:

    (5)  min over w, θ ∈ ℝᵈ of ‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²),   s_i = 1 on S, w_i off S
    (6)  min over θ of ‖Xθ − y‖² + λ‖θ_S̄‖₁,   "precisely the Sequential LASSO algorithm"
    (4)  argmin ½‖Xβ − y‖² + λ‖β_S̄‖₁ in Algorithm 3

(5) = (6). With β = s(w)∘θ, (5) − (6) = (λ/2)(‖w_S‖² + Σ_S̄ (|w_i| − |θ_i|)²) ≥ 0, zero at w_S = 0, |w_i| =
|θ_i| = √|β_i|. (The text has w ∈ ℝ^S̄, the formula w ∈ ℝᵈ; w_S = 0 at the minimum, so it does not matter.)

(6) is not (4): it has no ½. (6) at λ is twice (4) at λ/2, so its λ*(S) is 2‖XᵀP_S^⊥y‖∞ and its window (2λ₂,
2λ*).

Algorithm 1 with softmax as printed has no decay, and says nothing for a linear f: softmax is positive and θ
free, so that at every w the least of ‖X(softmax(w)∘θ) − y‖² over θ is that of ‖Xβ − y‖², at θ =
β/softmax(w). Every w is optimal, and argmax w_i* any feature off S. What chooses is the descent, or a decay
(Lemma 3.2).

With the decay of (5), line 5 adds argmax w_i*. With softmax that is the largest mask; with s_i = w_i it is
not: (−w, −θ) has the value of (w, θ), and where w_i* < 0 the largest w_j is 0, at a feature with
coefficient zero. |w_i| is meant, which at a minimiser is |θ_i| = √|β_i|.

"In practice, λ can simply be set to a large enough value …, since beyond a critical value of λ, the feature
ranking according to LASSO coefficients does not change." Just below λ*, on (λ₂, λ*), |β_i| = εv_i on T and 0
elsewhere: the ranking is constant there. At and above λ* all of β_S̄ is zero and there is none. Nor need one
λ serve all steps.
"""

from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import (
    coefficients,
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
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

ONE = np.array([[1.0]]), np.array([1.0])


def equation_5(X, y, S, w, theta, lam):
    """‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²), in the numbers that are put in."""
    beta = [t if i in S else a * t for i, (a, t) in enumerate(zip(w, theta, strict=True))]
    fit = sum(
        (sum(x * b for x, b in zip(row, beta, strict=True)) - t) ** 2 for row, t in zip(X, y, strict=True)
    )
    return fit + lam * (sum(a * a for a in w) + sum(t * t for i, t in enumerate(theta) if i not in S)) / 2


def equation_6(X, y, S, theta, lam):
    """‖Xθ − y‖² + λ‖θ_S̄‖₁, in the numbers that are put in."""
    fit = sum(
        (sum(x * b for x, b in zip(row, theta, strict=True)) - t) ** 2 for row, t in zip(X, y, strict=True)
    )
    return fit + lam * sum(abs(b) for i, b in enumerate(theta) if i not in S)


def exact(X, y):
    return [[Fraction(x) for x in row] for row in X.tolist()], [Fraction(t) for t in y.tolist()]


def entries(beta):
    """A rational column as fractions."""
    return [Fraction(int(b.p), int(b.q)) for b in beta.entries()]


def halfway(X, y, S):
    """In the middle of the exact window below λ*, a solution of (4): λ as fmpq and β (d, 1)."""
    found, entry = segment(X, y, S), sl.first_entry(X, y, unpenalized=S)
    eps = fmpq(*float((entry.lam_star - entry.window_lower) / 2).as_integer_ratio())
    return found, found.step.lam_star - eps, coefficients(X, y, S, found, eps)


SMALL_FRACTIONS = st.lists(st.fractions(-3, 3, max_denominator=4), min_size=12, max_size=12)


@claim(
    "SA-equation-6",
    "equations (5) and (6) (ICLR, NeurIPS submission)",
    "proof, exact, float",
    HOLDS,
    cases=600,
    ci_cases=15,
)
@mutants("equation_5", "equation_6", "sl.hadamard_descent")
def test_both_have_the_same_minimum(check):
    """The minima of (5) over w, θ and of (6) over θ are the same number, λ being the same in both.

    Hypotheses: λ ≥ 0, any S

    Tolerance: 1e-13 of ‖y‖² for square roots; 1e-4 of the gain for the descent, as its own certificate has it
    """

    def never_below_and_reached(drawn):
        (X, y, S), numbers = drawn
        A, b = exact(X, y)
        d, lam = X.shape[1], abs(numbers[0])
        w, theta = numbers[:d], numbers[6 : 6 + d]
        beta = [t if i in S else a * t for i, (a, t) in enumerate(zip(w, theta, strict=True))]
        excess = sum(w[i] ** 2 if i in S else (abs(w[i]) - abs(theta[i])) ** 2 for i in range(d))  # times λ/2
        if equation_5(A, b, S, w, theta, lam) - equation_6(A, b, S, beta, lam) != lam * excess / 2:
            return False
        _, level, solution = halfway(X, y, S)
        best, twice = entries(solution), 2 * Fraction(int(level.p), int(level.q))
        least, size = float(equation_6(A, b, S, best, twice)), float(y @ y)
        roots = [0.0 if i in S else abs(float(t)) ** 0.5 for i, t in enumerate(best)]
        signed = [
            float(t) if i in S else np.sign(float(t)) * abs(float(t)) ** 0.5 for i, t in enumerate(best)
        ]
        reached = equation_5(X, y, S, roots, signed, float(twice))
        found = sl.hadamard_descent(X, y, real(level), unpenalized=S, rng=0)
        if found.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        trained = equation_5(X, y, S, np.nan_to_num(found.w), found.theta, float(twice))
        gain = float(sum(a**2 for a in reals(step(X, y, S).residual))) - least
        return (
            is_solution(X, y, S, solution, level)
            and abs(reached - least) <= 1e-13 * size
            and least - 1e-13 * size <= trained <= least + 1.01e-4 * gain + 1e-13 * size
        )

    check.forall(st.tuples(open_steps(), SMALL_FRACTIONS), never_below_and_reached)


@claim("SA-equation-6-scale", "after equation (6) (ICLR, NeurIPS submission)", "exact", CORRECTED, cases=600)
@mutants("sl.lambda_star", "equation_6")
def test_the_scale_of_lambda(check):
    """(6) is precisely the LASSO (4) of Sequential LASSO.

    Hypotheses: λ > 0, any S

    Instead: Up to λ → λ/2: (6) has no ½, and is twice (4) at λ/2. So in (5) and (6) λ*(S) is 2‖XᵀP_S^⊥y‖∞ and
    the window below it (2λ₂, 2λ*).

    Consequences: None of substance: Theorem 1.1 leaves λ open. With λ just below ‖XᵀP_S^⊥y‖∞ (5) picks from
    the middle of the path, and the pick can be wrong.
    """
    A, b = exact(*ONE)
    zero, half = [Fraction(0)], [Fraction(1, 2)]
    check.refutes(
        is_solution(*ONE, (), rational([0.0]), fmpq(1))
        and equation_6(A, b, (), half, 1) == Fraction(3, 4) < equation_6(A, b, (), zero, 1) == 1,
        "X = [1], y = 1, λ = 1: (4) has β = 0, (6) has θ = ½",
    )

    def twice_the_threshold(selection):
        X, y, S = selection
        A, b = exact(X, y)
        found, at = segment(X, y, S), step(X, y, S)
        null = coefficients(X, y, S, found, fmpq(0))
        scale = Fraction(sl.lambda_star(X, y, unpenalized=S))
        entering = entries(coefficients(X, y, S, found, at.lam_star / 1024))
        # at 2λ* and above nothing enters, below it β_S̄ = 0 is not optimal
        value = [
            equation_6(A, b, S, beta, 2 * scale * Fraction(511, 512)) for beta in (entries(null), entering)
        ]
        objective = sum(a * a for a in entries(at.residual)) / 2
        return (
            is_solution(X, y, S, null, at.lam_star)
            and abs(scale - entries(vector([at.lam_star]))[0]) <= scale / 10**12
            and value[1] < value[0]
            and value[0] == 2 * objective
        )

    check.forall(open_steps(), twice_the_threshold)


def picked(w, S):
    """argmax over S̄ of |w_i|."""
    return int(np.argmax([-1 if i in S else abs(a) for i, a in enumerate(w)]))


def masked_loss(X, y, mask, theta):
    """‖X(mask∘θ) − y‖², exactly."""
    beta = fmpq_mat(len(mask), 1, [m * t for m, t in zip(mask, theta, strict=True)])
    return sum((r * r for r in (rational(X) * beta - rational(y)).entries()), fmpq(0))


@claim(
    "SA-algorithm-1-objective",
    "Algorithm 1, lines 4 and 5 (ICLR, NeurIPS submission, poster)",
    "proof, exact",
    FALSE,
)
@mutants("masked_loss")
def test_without_decay_no_weight_is_preferred(check):
    """For least squares the minimisers (θ*, w*) of line 4 determine the feature of largest weight that line 5
    selects.

    Reading of: “Let (θ*, w*) ← argmin ℓ(f(X∘W; θ), y)”, “Set i* ← argmax w*_i”, f(X; θ) = Xθ, ℓ the squared
    loss

    Hypotheses: the softmax of (1), no decay, as printed; masks softmax(w) are the positive ones of sum 1 off
    S, 1 on S

    Instead: Every w* is optimal, with θ* = β*/softmax(w*), and any feature off S can have the largest weight.
    The descent's start and path choose, or a decay (SA-lemma-3.2).

    Consequences: None for Theorem 1.1, whose variant has the decay.
    """
    X, y = np.eye(2), np.array([1.0, 0.0])
    masks = [fmpq(3, 4), fmpq(1, 4)], [fmpq(1, 4), fmpq(3, 4)]
    check.refutes(
        all(masked_loss(X, y, mask, [1 / mask[0], fmpq(0)]) == 0 for mask in masks),
        "X = I₂, y = (1, 0), S = ∅: loss 0 with softmax(w) = (¾, ¼) and with (¼, ¾), which selects the "
        "feature that is orthogonal to y",
    )

    def any_feature(selection):
        X, y, S = selection
        A, b = rational(X), rational(y)
        beta = least_squares(A, b).entries()
        least = sum((r * r for r in off(A, range(X.shape[1]), b).entries()), fmpq(0))
        free = [i for i in range(X.shape[1]) if i not in S]
        for largest in free:
            total = len(free) + 1
            mask = [fmpq(1) if i in S else fmpq(1 + (i == largest), total) for i in range(X.shape[1])]
            theta = [t / m for t, m in zip(beta, mask, strict=True)]
            if masked_loss(X, y, mask, theta) != least:
                return False
        return True

    check.forall(selections(dependent=True), any_feature)


@claim(
    "SA-algorithm-1-argmax",
    "Algorithm 1, line 5, with Definition 3.1 (ICLR, NeurIPS submission, poster)",
    "proof, exact, float",
    CORRECTED,
    cases=1000,
    ci_cases=30,
)
@mutants("sl.hadamard_descent", "picked", "equation_5")
def test_the_sign_of_the_weights_is_free(check):
    """At a minimiser of (5), i* = argmax_{i∉S} w_i* is the feature of largest attention weight, and one that
    Sequential LASSO selects.

    Hypotheses: λ in the window (2λ₂, 2λ*) of (5)

    Instead: i* = argmax |w_i*|. There |w_i*| = |θ_i*| = √|β_i|, which is positive on A(S) only; the sign of
    w_i* is free.

    Consequences: Theorem 1.1 holds with |w_i|. With softmax, where w_i ↦ s_i(w) increases, line 5 is right as
    it stands.

    Tolerance: (λ/2)(|w_i| − |θ_i|)² is part of what the descent's certificate bounds by 1e-4 of the gain;
    1e-13 of ‖y‖² for rounding
    """
    X, y, half = np.eye(2), np.array([1.0, 0.0]), Fraction(-1, 2)
    A, b = exact(X, y)
    w = [half, Fraction(0)]
    lam = Fraction(3, 2)
    check.refutes(
        equation_5(A, b, (), w, w, lam) == equation_6(A, b, (), [Fraction(1, 4), 0], lam) == Fraction(15, 16)
        and is_solution(X, y, (), rational([0.25, 0.0]), fmpq(3, 4))
        and int(np.argmax(w)) == 1
        and step(X, y).correlation[1] == 0,
        "X = I₂, y = (1, 0), λ = 3/2: at the minimiser w = θ = (−½, 0) argmax w_i is 1, whose correlation is "
        "0",
    )
    negative = trained = 0

    def largest_modulus(selection):
        nonlocal negative, trained
        X, y, S = selection
        found, level, _ = halfway(X, y, S)
        at = sl.hadamard_descent(X, y, real(level), unpenalized=S, rng=check.rng)
        if at.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        w, theta = np.nan_to_num(at.w), np.where(np.isnan(at.w), 0, at.theta)
        gain = 0.5 * float(np.sum(reals(found.step.residual) ** 2)) - at.objective[-1]
        negative, trained = negative + (max(np.delete(w, S), key=abs) < 0), trained + 1
        return (
            real(level) / 2 * np.sum((np.abs(w) - np.abs(theta)) ** 2) <= 1.01e-4 * gain + 1e-13 * (y @ y)
            and picked(w, S) in found.active
            and picked(theta, S) in found.active
        )

    check.forall(open_steps(), largest_modulus)
    check.measured(
        f"the largest |w_i| belongs to a negative w_i in {negative} of {trained} descents from random starts"
    )


@claim(
    "SA-section-2-large-lambda",
    "Section 2, after Algorithm 3 (ICLR, NeurIPS submission)",
    "proof, exact, float",
    CORRECTED,
    cases=600,
)
@mutants("sl.lasso_path", "sl.first_entry")
def test_the_ranking_below_the_threshold(check):
    """λ can be set to a large enough value, since beyond a critical value of λ the feature ranking according
    to the LASSO coefficients does not change.

    Hypotheses: λ* > 0, any independent S

    Instead: The ranking of |β_i|, i ∉ S, is constant on (λ₂, λ*), where |β_i| = εv_i on T and 0 off T; for λ
    ≥ λ* all are zero and there is none. So λ must lie in the window of the step, not merely be large.

    Consequences: Algorithm 3 itself is not touched: it searches for λ*.

    Tolerance: 1e-9 of the largest |β_i|: 64 eps κ with κ ≤ 7e4 for integers up to 5 × 6
    """
    path = sl.lasso_path(np.eye(2), np.array([2.0, 1.0]))
    check.refutes(
        path.at(1.5).tolist() == [0.5, 0.0]
        and path.at(2.0).tolist() == path.at(3.0).tolist() == [0.0, 0.0]
        and is_solution(np.eye(2), np.array([2.0, 1.0]), (), rational([0.0, 0.0]), fmpq(2)),
        "X = I₂, y = (2, 1): β(3/2) = (½, 0), and β(λ) = 0 for every λ ≥ 2",
    )

    def constant_ranking(selection):
        X, y, S = selection
        found, entry = segment(X, y, S), sl.first_entry(X, y, unpenalized=S)
        window = real(found.step.lam_star) - entry.window_lower
        free = [i for i in range(X.shape[1]) if i not in S]
        path = sl.lasso_path(X, y, unpenalized=S, lam_min=entry.window_lower)
        shapes = []
        for share in (0.05, 0.5, 0.95):
            eps = window * share
            beta = np.abs(path.at(real(found.step.lam_star) - eps)[free])
            # β in print is one solution of possibly many: what is common to all is the fit
            fit = reals(found.step.residual) - eps * reals(found.Z * found.v)
            residual = y - X @ path.at(real(found.step.lam_star) - eps)
            shapes.append(beta / beta.max())
            if np.abs(residual - fit).max() > 1e-9 * np.linalg.norm(y):
                return False
        null = all(
            (path.at(real(found.step.lam_star) * factor)[free] == 0).all() for factor in (1.0 + 1e-12, 2.0)
        )
        return np.abs(shapes[1] - shapes[0]).max() <= 1e-9 >= np.abs(shapes[2] - shapes[0]).max() and null

    check.forall(open_steps(), constant_ranking)


# equal columns lengths √6; λ* = 8 at S = ∅, T = {1}; λ*({1}) = 3
FIXED = np.array([[1.0, 1.0, -2.0], [2.0, -1.0, 1.0], [1.0, -2.0, 1.0]]), np.array([-1.0, 3.0, 2.0])


def fixed_solution(lam):
    """β(λ) for the design above and λ ≤ 4: linear between (2/9, −5/9, 0) at 4 and (1, 0, 1) at 0."""
    share = lam / 4
    return [1 - share * fmpq(7, 9), -share * fmpq(5, 9), 1 - share]


@claim("ours-no-fixed-lambda", "the same sentence of Section 2", "exact", HOLDS, cases=300, ci_cases=30)
@mutants("sl.lasso_path", "sl.omp", "fixed_solution")
def test_no_fixed_lambda(check):
    """For some designs with columns of equal length no fixed λ makes two steps of the LASSO, each adding the
    largest |β_i|, pick what OMP picks.

    Hypotheses: X = [[1, 1, −2], [2, −1, 1], [1, −2, 1]], y = (−1, 3, 2): OMP takes 1, then λ*({1}) = 3; for λ
    < 3 the first LASSO has |β_0| > |β_1|, for λ ≥ 3 the second has β_S̄ = 0
    """
    X, y = FIXED

    def wrong(lam):
        beta = fixed_solution(lam)
        if not is_solution(X, y, (), vector(beta), lam) or not abs(beta[0]) > abs(beta[1]):
            return False
        ours = sl.lasso_path(X, y).at(real(lam))
        return np.abs(ours - [real(b) for b in beta]).max() <= 1e-12

    omp = sl.omp(X, y, 2)
    second = step(X, y, [1])
    if (
        step(X, y).tied != (1,)
        or omp.support[0] != 1
        or second.lam_star != 3
        or omp.support[1] not in second.tied
    ):
        check.tally(1, 1, "not the design in question")
    check.over((fmpq(3 * i, check.cases) for i in range(1, check.cases)), wrong)
