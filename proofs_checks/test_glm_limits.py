"""Limits of the theorem on generalized linear models: second-order ties, kinks, non-convex and unbounded
losses.

    F_λ(β) = L(Xβ) + λ‖β‖₁,   c = −Xᵀ∇L(0),   λ* = max|c_i|.

The theorem (test_glm_selection.py) says for which losses L the features that become nonzero in a minimiser of
F_λ just below λ* all attain λ*. Each check is of a counterexample, derived in docs/proofs/glm_limits.md, in
which no feature has been selected before. The counterexamples are: degenerate ties, where the Hessian does
not determine which features enter; a strongly convex C^∞ loss for which the support of the minimiser at λ* −
ε has no limit as ε → 0; losses with kinks; a non-convex loss with a second well; losses that are unbounded
below; and a selected feature that is not the feature that lowers the loss most.
"""

from math import gcd

import numpy as np
from flint import arb, ctx, fmpq
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.glm import POISSON, dual_point, glm_entry, model, reach, solve
from proofs_checks.rational import exactly, rational_of
from sparselin.ledger import HOLDS, claim, mutants

QUESTION = "first open question of Section 5 (ICLR)"


def twins(a, b):
    """Return two designs with the first column X_0 = (a, b), and the response y = 1 + X_0.

    The second column is X_0 − (−b, a) in one design, and X_0 + (−b, a) in the other.
    """
    first = np.array([a, b], float)
    turn = np.array([-b, a], float)
    return [np.column_stack([first, first - k * turn]) for k in (1, -1)], 1 + first


def poisson_correlations(X, y, z, k):
    """Return −X_jᵀ∇L of the Poisson loss for all columns j, exactly, at a β with only one nonzero
    coefficient.

    The coefficient of column k is log z, for a rational number z.
    """
    rows = [fmpq(int(t)) - z ** int(a) for t, a in zip(y, X[:, k], strict=True)]
    return [sum((int(a) * w for a, w in zip(column, rows, strict=True)), fmpq(0)) for column in X.T]


def first_order_agrees(designs, y):
    """Return whether two designs agree to first order for Poisson regression, and feature 0 alone enters in
    least squares.

    At β = 0, both designs must have the gradient −‖X_0‖²(1, 1) and the same Hessian, with the entries ‖X_0‖²
    at (0, 0) and (0, 1). With this gradient and Hessian, in least squares only feature 0 enters just below
    λ*.
    """
    square = designs[0][:, 0] @ designs[0][:, 0]
    grams = [X.T @ X for X in designs]  # ℓ''(0) = 1
    squares = [sl.first_entry(X, y - 1) for X in designs]
    entries = [glm_entry(model(POISSON, X, y)) for X in designs]
    return (
        np.array_equal(*grams)
        and grams[0][0, 0] == grams[0][0, 1] == square
        and all(np.array_equal(X.T @ (y - 1), [square, square]) for X in designs)
        and all((entry.tied, entry.active) == ((0, 1), (0,)) for entry in squares)
        and all(entry.tied == (0, 1) and not entry.beta.any() for entry in entries)
    )


def third_order_decides(pair):
    """Return whether the two designs of `twins` differ in the third derivative of the Poisson loss.

    Along β = (log z, 0), the correlation of column 1 must stay below that of column 0 in one design, and
    exceed it in the other.
    """
    designs, y = twins(*pair)
    idle, joins = designs if pair[0] > pair[1] else designs[::-1]  # k(b − a) < 0 first
    if not first_order_agrees(designs, y):
        return False
    for z in (fmpq(1001, 1000), fmpq(11, 10), fmpq(3, 2), fmpq(4)):
        first, second = poisson_correlations(idle, y, z, 0)
        other, twin = poisson_correlations(joins, y, z, 0)
        if not (first == other and second < first and (z > fmpq(11, 10) or second > -first) and twin > other):
            return False
    return True


def supports_differ(pair):
    """Return whether column 1 is zero at the penalty 0.9λ* in one design of `twins`, and nonzero in the
    other.

    The zero is proved by the duality gap.
    """
    designs, y = twins(*pair)
    active = []
    for X in designs:
        at = model(POISSON, X, y)
        lam = 0.9 * glm_entry(at).lam_star
        beta = solve(at, lam)
        u, gap = dual_point(at, lam, beta)
        zero = abs(X.T @ u) + reach(at, u, gap) < lam
        active.append((bool(zero[1]), bool(beta[1] > 1e-6)))
    return sorted(active) == [(False, True), (True, False)]


@claim("ours-glm-ties", QUESTION, "proof, exact, float", HOLDS, cases=60, ci_cases=12)
@mutants("twins", "poisson_correlations", "sl.first_entry")
def test_the_hessian_does_not_decide_ties(check):
    """If features are tied, the Hessian of the loss need not determine A(S), the set of features that enter
    just below λ*. Two designs for Poisson regression have the same λ*, T, signs and Hessian. The nonnegative
    least squares problem with this Hessian, which decides for least squares, has the solution v = (1/‖X_0‖²,
    0). But A(S) = {0} for one design, and 1 ∈ A(S) for the other. Here the third derivatives decide.

    Hypotheses: X_0 = (a, b), X_1 = X_0 ∓ (−b, a) and y = 1 + X_0 for integers a ≠ b, a, b > 0. S = ∅, and T
    is the set of features that attain λ* = max|⟨X_i, ∇L(0)⟩|.

    Consequences: For least squares with the same correlations c = −Xᵀ∇L and the same Hessian, A(S) = {0} in
    both designs. A(S) ⊆ T holds in all cases.

    Tolerance: The correlations are exact, because e^t is rational. The supports are certified by duality
    gaps.
    """

    pairs = [(a, b) for a in range(1, 9) for b in range(1, 9) if a != b]
    kept = check.rng.permutation(len(pairs))[: check.cases]
    check.over([pairs[k] for k in kept], third_order_decides)
    check.over([(1, 2), (2, 1), (1, 3), (2, 3)], supports_differ)


def oscillating(eta, smooth=False):
    """Return the first two derivatives of a loss ℓ at η ≠ 0, as balls, for ℓ' = η − 1 + φ(η) sin(1/η)/8.

    Here φ(η) = η³, or φ(η) = e^{−1/η²} if `smooth`.
    """
    wave, fall = (1 / eta).sin(), (1 / eta).cos()
    size = (-1 / eta**2).exp() if smooth else eta**3
    slope = 2 * size / eta**3 if smooth else 3 * eta**2
    return eta - 1 + size * wave / 8, 1 + (slope * wave - size / eta**2 * fall) / 8


@claim(
    "ours-glm-no-limit",
    "Algorithm 3, line 6, for generalized linear models",
    "proof, interval",
    HOLDS,
    cases=400,
    ci_cases=60,
)
@mutants("oscillating")
def test_the_active_set_need_not_settle(check):
    """Even for strongly convex C^∞ losses, the support of the solution at the penalty λ* − ε need not have a
    limit as ε → 0. The paper's A(S) is this limit. An example is X = [[1, 0], [1, 2]] with the loss ℓ_1(η_1)
    + ℓ_2(η_2), ℓ_2' = η − 1 and ℓ_1' = η − 1 + e^{−1/η²} sin(1/η)/8. Arbitrarily close to λ* = 2 there are λ
    at which the support is {0}, and λ at which it is not {0}.

    Hypotheses: S = ∅, and T = {0, 1} are the features that attain λ*. The check also takes η³ in place of
    e^{−1/η²}, which gives a loss that is C² near 0.

    Consequences: A(S) should be read as the set of features that are active at some λ arbitrarily near λ*.
    All these features lie in T. For least squares the limit exists.
    """

    def alternates(k, smooth=False):
        """Return whether the point (t, 0), 1/t = π(k + ½), is optimal at its penalty for odd k, and not for
        even k.

        The penalty is the correlation of column 0, and the point is optimal if the correlation of column 1 is
        smaller.
        """
        t = 1 / (arb.pi() * (k + arb(1) / 2))
        first, curvature = oscillating(t, smooth)
        c_0, c_1 = 1 - t - first, 2 * (1 - t)
        optimal = c_1 < c_0 if k % 2 else c_1 > c_0
        return bool(optimal) and bool(curvature > 0) and bool(c_0 > 0) and bool(c_0 < 2) and bool(c_1 > -c_0)

    check.over(range(1, check.cases), alternates)
    with ctx.workprec(6000):  # e^{−1/t²} > 2^{−5500} for k < 20
        check.over(range(1, 20), lambda k: alternates(k, smooth=True))

    def convex(case):
        """Return whether ℓ'' is above 49/100, and is the derivative of ℓ' up to 2⁻¹⁰."""
        eta, smooth = case
        eta, h = arb(eta), arb(2) ** -24
        value, curvature = oscillating(eta, smooth)
        difference = (oscillating(eta + h, smooth)[0] - value) / h
        return bool(curvature > arb(49) / 100) and bool(abs(difference - curvature) < arb(2) ** -10)

    check.over([(fmpq(k, 64), False) for k in range(-64, 64) if abs(k) > 6], convex)
    check.over([(fmpq(k, 64), True) for k in range(-256, 256) if abs(k) > 6], convex)


def absolute_gap(X, y, lam, beta, u):
    """Return the duality gap of Σ|y_i − ⟨x_i, β⟩| + λ‖β‖₁ at β and the dual point u, exactly, or None.

    None means that u is not feasible.
    """
    n, d = len(y), len(beta)
    fit = [sum((X[i][j] * beta[j] for j in range(d)), fmpq(0)) for i in range(n)]
    c = [sum((X[i][j] * u[i] for i in range(n)), fmpq(0)) for j in range(d)]
    if any(abs(t) > 1 for t in u) or any(abs(t) > lam for t in c):
        return None
    primal = sum((abs(t - f) for t, f in zip(y, fit, strict=True)), fmpq(0))
    primal += lam * sum((abs(b) for b in beta), fmpq(0))
    return primal - sum((t * w for t, w in zip(y, u, strict=True)), fmpq(0))


@claim("ours-glm-nonsmooth", QUESTION, "proof, exact", HOLDS, cases=300, ci_cases=25)
@mutants("absolute_gap")
def test_absolute_loss_picks_otherwise(check):
    """For a loss with kinks, the feature that Sequential LASSO selects need not maximise |⟨X_i, g⟩|, and λ*
    need not be the maximum. Here g is the subgradient in which kinks have the derivative 0. An example is the
    absolute loss with X = [[a, 0], [a, 1]], y = (0, 1), S = ∅ and a > 1. There |Xᵀg| = (a, 1), but λ* = 1,
    and the set of features that enter just below λ* is A = {1}.

    Hypotheses: The theorem on generalized linear models assumes that L is differentiable. The example shows
    that the assumption is necessary. The check draws a and λ.

    Consequences: λ* = min{‖Xᵀg‖∞ : g ∈ ∂L(X_Sβ̂_S), X_Sᵀg = 0}, where β̂_S minimises L on S. If L is
    piecewise linear and bounded below, the set A(S) of features that enter satisfies A(S) ⊆ argmax|⟨X_i, g⟩|
    for each g that attains this minimum.

    Unchecked: The consequences are proved, but not checked.
    """

    def picks_the_smaller(case):
        a, share = case
        X, y = [[a, fmpq(0)], [a, fmpq(1)]], [fmpq(0), fmpq(1)]
        g = [fmpq((t > 0) - (t < 0)) for t in y]
        by_g = [abs(sum(X[i][j] * g[i] for i in range(2))) for j in range(2)]
        above, below = 1 + share * (a - 1), share
        zero_above = absolute_gap(X, y, above, [fmpq(0)] * 2, [-1 + 1 / a, fmpq(1)]) == 0
        u = [-below, below]
        one_below = absolute_gap(X, y, below, [fmpq(0), fmpq(1)], u) == 0
        not_zero = absolute_gap(X, y, below, [fmpq(0)] * 2, u) > 0
        # β_0 = 0 in every solution, as |⟨X_0, u⟩| < λ
        others_zero = abs(X[0][0] * u[0] + X[1][0] * u[1]) < below
        return by_g == [a, 1] and by_g[0] > by_g[1] and zero_above and one_below and not_zero and others_zero

    share = st.fractions(0, 1, max_denominator=50).filter(lambda q: 0 < q < 1)
    size = st.fractions(1, 9, max_denominator=9).filter(lambda q: q > 1)
    rational = st.tuples(size, share).map(lambda pair: tuple(map(rational_of, pair)))
    check.forall(rational, picks_the_smaller)


def double_well(beta, lam):
    """Return L(β) + λ‖β‖₁ for the non-convex loss L(β) = ½(1 − β_0)² + 3β_1⁴ − 16β_1³."""
    a, b = beta
    return (1 - a) ** 2 / 2 + 3 * b**4 - 16 * b**3 + lam * (abs(a) + abs(b))


@claim("ours-glm-nonconvex", QUESTION, "proof, exact", HOLDS, cases=400, ci_cases=40)
@mutants("double_well")
def test_a_second_well_is_picked(check):
    """For a smooth non-convex loss L, the feature that Sequential LASSO selects need not maximise the partial
    derivative |∂_iL|. An example is L(β) = ½(1 − β_0)² + 3β_1⁴ − 16β_1³. Here −∇L(0) = (1, 0), but λ* =
    16384/243 ≈ 67.4, and the set of features that enter just below λ* is A = {1}.

    Hypotheses: The theorem on generalized linear models assumes that L is convex. The example shows that the
    assumption is necessary. L is differentiable, minimisers are global, and S = ∅.
    """
    star, well, zero = fmpq(16384, 243), fmpq(32, 9), fmpq(0)

    def jumps(case):
        share, a, b = case
        above, below = star * (1 + share), 1 + share * (star - 1)
        nothing_better = double_well((a, b), above) >= double_well((zero, zero), above)
        drops = double_well((zero, well), below) < double_well((zero, zero), below)
        without_first = double_well((a, b), below) >= double_well((zero, b), below)
        # along β_0 alone nothing is gained, so the second feature it is
        return nothing_better and drops and without_first and double_well((a, zero), below) >= fmpq(1, 2)

    number = st.fractions(-6, 6, max_denominator=40)
    share = st.fractions(0, 1, max_denominator=40).filter(lambda q: 0 < q < 1)
    rational = st.tuples(share, number, number).map(lambda triple: tuple(map(rational_of, triple)))
    check.forall(rational, jumps)
    # the maximum of 16η² − 3η³ on η ≥ 0: its derivative η(32 − 9η) changes sign once
    check.over([well], lambda e: 16 * e**2 - 3 * e**3 == star and 32 - 9 * e == 0)
    step = fmpq(1, 10**6)
    slope = [(double_well(at, zero) - fmpq(1, 2)) / step for at in ((step, zero), (zero, step))]
    check.over([slope], lambda s: abs(s[0] + 1) < fmpq(1, 10**5) and abs(s[1]) < fmpq(1, 10**5))


def linear_objective(X, lam, beta):
    """Return the penalised linear loss −Σ⟨x_i, β⟩ + λ‖β‖₁, exactly."""
    eta = [sum((exactly(a) * b for a, b in zip(row, beta, strict=True)), fmpq(0)) for row in X]
    return lam * sum((abs(b) for b in beta), fmpq(0)) - sum(eta, fmpq(0))


@claim("ours-glm-unbounded", QUESTION, "proof, exact", HOLDS, cases=200, ci_cases=40)
@mutants("linear_objective")
def test_linear_losses_have_no_active_set(check):
    """The theorem on generalized linear models assumes that the losses ℓ_i are bounded below. This assumption
    cannot be dropped. For ℓ(η) = −η, the penalised loss F_λ(β) = Σℓ(⟨x_i, β⟩) + λ‖β‖₁ is minimised by 0 for λ
    ≥ λ* = ‖Xᵀ1‖∞, and its infimum is −∞ for λ < λ*. So A(S), the set of features that enter just below λ*,
    does not exist.

    Hypotheses: X has integer entries and Xᵀ1 ≠ 0; S = ∅.

    Consequences: Part (c) of the theorem, on the features that enter just below λ*, needs only that
    minimisers exist there.
    """

    def falls_for_ever(case):
        X = check.rng.integers(-3, 4, case) + 0.0
        while not X.sum(axis=0).any():
            X = check.rng.integers(-3, 4, case) + 0.0
        c = X.sum(axis=0)
        lam, i = exactly(abs(c).max()), int(np.argmax(abs(c)))
        below, above = lam * fmpq(9, 10), lam
        ray = [[fmpq(int(np.sign(c[i])) * t * (j == i)) for j in range(len(c))] for t in (1, 10, 1000)]
        other = [fmpq(int(b), 7) for b in check.rng.integers(-20, 21, len(c))]
        falls = [
            linear_objective(X, below, beta) == -lam * t / 10
            for beta, t in zip(ray, (1, 10, 1000), strict=True)
        ]
        return all(falls) and linear_objective(X, above, other) >= 0

    check.over([(k % 4 + 1, k % 3 + 1) for k in range(check.cases)], falls_for_ever)


def poisson_loss(column, y, b):
    """Return the Poisson loss Σ e^{x_i b} − y_i x_i b with the coefficient b of one column x, as a ball."""
    return sum((arb(int(a)) * b).exp() - int(t) * int(a) * b for a, t in zip(column, y, strict=True))


def least_poisson_loss(column, y):
    """Return a lower bound on the least Poisson loss Σ e^{x_i b} − y_i x_i b over the coefficient b of one
    column x.

    The bound comes from the tangent at an end of an interval that contains the minimiser.
    """
    low, high = arb(-8), arb(8)
    for _ in range(40):
        middle = ((low + high) / 2).mid()
        low, high = (low, middle) if _slope(column, y, middle) > 0 else (middle, high)
    if not (_slope(column, y, low) < 0 and _slope(column, y, high) > 0):
        raise ValueError("the minimiser is not enclosed")
    return poisson_loss(column, y, low) + _slope(column, y, low) * (high - low)


def _slope(column, y, b):
    return sum(int(a) * (arb(int(a)) * b).exp() - int(t) * int(a) for a, t in zip(column, y, strict=True))


def picks_the_lesser(triple):
    """Return whether in Poisson regression only feature 1 attains λ*, although feature 0 lowers the loss
    more.

    The loss is 3 at β = 0. Feature 0 must lower it by more than 0.99, and feature 1 by less than 0.78.
    """
    p, q, h = triple
    X, y = np.array([[h, 0.0], [0.0, p], [0.0, q]]), np.array([0.0, 2.0, 2.0])
    entry = glm_entry(model(POISSON, X, y))
    start = poisson_loss(X[:, 1], y, arb(0))
    first = start - poisson_loss(X[:, 0], y, arb(-5) / h)  # e^{hb} = e⁻⁵
    second = start - least_poisson_loss(X[:, 1], y)
    picked = (entry.tied, entry.lam_star, entry.sizes.tolist()) == ((1,), p + q, [h, p + q])
    return picked and bool(start == 3 and first > arb(99) / 100 and second < arb(78) / 100 and second > 0)


def largest_decrease(rng):
    """Return whether, for columns of equal length, the feature with the largest |⟨X_i, y⟩| lowers the squared
    loss most.
    """
    X = np.where(rng.integers(0, 2, (4, 5)), 1.0, -1.0)
    y = rng.integers(-3, 4, 4) + 0.0
    c = X.T @ y
    decrease = [(y @ y - np.sum((y - x * (x @ y) / 4) ** 2)) / 2 for x in X.T]
    return np.array_equal(decrease, c**2 / 8) and decrease[np.argmax(abs(c))] == max(decrease)


@claim("ours-glm-not-forward", QUESTION, "exact, interval", HOLDS, cases=60, ci_cases=8)
@mutants("glm_entry", "poisson_loss", "least_poisson_loss")
def test_the_pick_does_not_lower_the_loss_most(check):
    """The feature that Sequential LASSO selects need not be the feature that lowers the loss most, even for
    unit columns and S = ∅. For least squares with unit columns and S = ∅, the two features are the same. An
    example is Poisson regression with X_0 = (h, 0, 0), X_1 = (0, p, q), p² + q² = h² and y = (0, 2, 2). The
    correlations c = −Xᵀ∇L(0) have the sizes (h, p + q), so the set of features with the largest |c_i| is T =
    {1}. But X_0 lowers the loss by more than 0.99, and X_1 lowers it by less than 0.78.

    Hypotheses: (p, q, h) is a Pythagorean triple, so all columns have length h.
    """
    triples = [
        (m * m - k * k, 2 * m * k, m * m + k * k) for m in range(2, 14) for k in range(1, m) if gcd(m, k) == 1
    ]

    check.over(triples[: check.cases], picks_the_lesser)

    check.over(range(check.cases), lambda _: largest_decrease(check.rng))
