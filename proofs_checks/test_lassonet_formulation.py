"""LassoNet's problem (2): what M = 0, M → ∞ and the constraint ‖W_j‖∞ ≤ M|θ_j| mean.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 3.2 and 3.3. In
print: minimise L(θ, W) + λ‖θ‖₁ over ‖W_j^(1)‖∞ ≤ M|θ_j|, where f(x) = θᵀx + g_W(x), g_W a feed-forward
network whose other layers are not penalised. θ_j = 0 gives W_j = 0; M = 0 recovers exactly the Lasso; M → ∞
recovers a standard unregularized feed-forward network; the constraint budgets the non-linearity of feature
j by |θ_j|, M controlling the relative strength of the two parts.

M = 0: W^(1) = 0 and g_W is a constant (0 without biases, a free intercept with them). M → ∞: λ‖θ‖₁ stays.
In the proximal step t* = |θ| − λ once Mt* ≥ ‖W‖∞, t* ≤ max(|θ| − λ, ‖W‖∞/M), and t* > 0 gives Σ_k(|W_k| −
Mt*)₊ = (t* − |θ| + λ)/M → 0: the limit is S_λ(θ) with W kept. Not even the value of (2) becomes that of a
network without penalty, see `test_as_M_grows`. Budget: for ReLU (any σ with σ(cx) = cσ(x), c > 0) f does
not change when W^(1) and its biases are multiplied by c and the next layer by 1/c. With c small enough
‖cW_j‖∞ ≤ M|θ_j| wherever θ_j ≠ 0, at the same objective; and θ_j = 0, W_j ≠ 0 is a limit of θ_j → 0. So for
a continuous loss the infimum of (2) is that of L(θ, W) + λ‖θ‖₁ without the constraint, for every M > 0, and
where the best unconstrained θ_j is 0 with W_j ≠ 0 it is not attained. The experiments use one hidden ReLU
layer (Appendix D.1). What M does there it does through the training (steps, early stopping), not through
(2). Exact.
"""

from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.lassonet import best_length, features, near, size, soft
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

SMALL = st.integers(-3, 3)
POWERS = st.integers(0, 60).map(lambda k: 2**k)


def relu(x):
    return max(x, 0)


def network(theta, W, out, x):
    """θᵀx + Σ_k out_k·relu(⟨W^k, x⟩): one hidden layer, no biases."""
    hidden = [relu(sum(W[j][k] * x[j] for j in range(len(x)))) for k in range(len(out))]
    return sum(t * a for t, a in zip(theta, x, strict=True)) + sum(
        a * b for a, b in zip(out, hidden, strict=True)
    )


def rescaled(theta, W, out, M):
    """The same network within the constraint, θ ≠ 0."""
    largest = max((abs(w) for row in W for w in row), default=0)
    c = min(Fraction(1), M * min(map(abs, theta)) / largest) if largest else Fraction(1)
    return [[c * w for w in row] for row in W], [b / c for b in out]


def within(theta, W, M):
    """‖W_j‖∞ ≤ M|θ_j| for all j."""
    return all(abs(w) <= M * abs(t) for t, row in zip(theta, W, strict=True) for w in row)


@st.composite
def networks(draw, d=3, K=3):
    """(θ, W, outgoing weights), small rationals."""
    d, K = draw(st.integers(1, d)), draw(st.integers(1, K))
    numbers = st.lists(SMALL.map(Fraction), min_size=d, max_size=d)
    W = draw(st.lists(st.lists(SMALL.map(Fraction), min_size=K, max_size=K), min_size=d, max_size=d))
    return draw(numbers), W, draw(st.lists(SMALL.map(Fraction), min_size=K, max_size=K))


@claim("LN-sec-3.2-zero", "section 3.2, after (2)", "proof, exact, float", HOLDS)
@mutants("sl.hier_prox", "network")
def test_zero_theta_is_no_feature(check):
    """θ_j = 0 implies W_j = 0, and f does not depend on x_j: the zeros of θ are the features not used.

    Hypotheses: θ and W in the constraint, M ≥ 0; what the proximal operators return

    Consequences: It takes an operator that is feasible in floating point too: Algorithm 2 as printed is not
    (LN-alg-2).

    Tolerance: none for feasibility and zeros; 16 eps·K·size for θ
    """

    def unused(drawn):
        problem, (_, _, out), point = drawn
        v, u, lam, M, _ = problem
        K = len(out)
        u = (u * K + (Fraction(0),) * K)[:K]
        step = sl.hier_prox([float(v), 0.0, 1.0], [list(map(float, u)), [0.0] * K, [1.0] * K], lam=lam, M=M)
        theta = [Fraction(float(t)) for t in step.theta]
        W = [[Fraction(float(w)) for w in row] for row in step.W]
        best = best_length(problem._replace(u=u)) * (-1 if v < 0 else 1)
        fits = near(step.theta[0], best, K * size(problem))
        moved = [network(theta, W, out, [*point, Fraction(1)])]
        for j, t in enumerate(theta):
            if t == 0:
                other = [*point, Fraction(1)]
                other[j] += 5
                moved.append(network(theta, W, out, other))
        linear = sum(t * x for t, x in zip(theta, [*point, 1], strict=True))
        nonlinear = network(theta, W, [Fraction(0)] * K, [*point, Fraction(1)]) == linear
        return within(theta, W, M) and fits and len(set(moved)) == 1 and theta[1] == 0 and nonlinear

    check.forall(
        st.tuples(features(), networks(), st.tuples(SMALL.map(Fraction), SMALL.map(Fraction))), unused
    )


@st.composite
def lasso_solutions(draw):
    """Integer X, y, β, λ, β a solution of the Lasso: |⟨X_j, y − Xβ⟩| ≤ λ, with its sign where β_j ≠ 0."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    X = np.array(draw(st.lists(st.lists(SMALL, min_size=d, max_size=d), min_size=n, max_size=n)))
    r = np.array(draw(st.lists(SMALL, min_size=n, max_size=n)))
    c = X.T @ r
    lam = int(np.abs(c).max())
    assume(lam > 0)
    sizes = np.array(draw(st.lists(st.integers(0, 4), min_size=d, max_size=d)))
    beta = np.sign(c) * sizes * (np.abs(c) == lam)
    return X, X @ beta + r, beta, lam


def solves_the_lasso(X, y, beta, lam):
    """The optimality conditions of ½‖y − Xβ‖² + λ‖β‖₁, in integers."""
    c = X.T @ (y - X @ beta)
    return bool(np.all(np.abs(c) <= lam) and np.all(c[beta != 0] == lam * np.sign(beta[beta != 0])))


@claim("LN-sec-3.2-lasso", "section 3.2, 'in the extreme case where M = 0'", "proof, exact", HOLDS)
@mutants("sl.hier_prox", "solves_the_lasso")
def test_without_hierarchy_it_is_the_lasso(check):
    """For M = 0, (2) is the Lasso: W^(1) = 0, f(x) = θᵀx, and the proximal step is soft-thresholding.

    Hypotheses: g_W without biases (with biases g_W(0) is a free intercept); squared loss

    Consequences: Algorithm 2 itself divides by M: see LN-alg-2.
    """

    def a_fixed_point_of_the_step_iff_a_solution(drawn):
        (X, y, beta, lam), (_, W, _), shift = drawn
        step_size = 2.0**-6
        answers = []
        for candidate in (beta, beta + shift * np.eye(len(beta), dtype=int)[0]):
            stepped = candidate + step_size * (X.T @ (y - X @ candidate))
            weights = np.resize(np.array(W, float), (len(beta), 3))
            step = sl.hier_prox(stepped, weights, lam=step_size * lam, M=0.0)
            answers.append(bool(np.all(step.theta == candidate)))
            solves = solves_the_lasso(X, y, candidate, lam)
            silent = (
                network(list(step.theta), step.W.tolist(), [1.0] * 3, [1.0] * len(beta)) == step.theta.sum()
            )
            if answers[-1] != solves or step.W.any() or not silent:
                return False
        return answers[0]

    check.forall(
        st.tuples(lasso_solutions(), networks(), st.integers(1, 3)), a_fixed_point_of_the_step_iff_a_solution
    )


@claim("LN-sec-3.2-M-infinity", "section 3.2, 'by letting M → +∞'", "proof, exact, float", CORRECTED)
@mutants("sl.hier_prox", "network")
def test_as_M_grows(check):
    """As M → ∞, (2) recovers a standard unregularized feed-forward neural network.

    Hypotheses: λ > 0

    Instead: W becomes unregularized; the skip layer stays, with its penalty λ‖θ‖₁. The proximal step tends to
    (S_λ(θ), W), and is that as soon as M(|θ_j| − λ) ≥ ‖W_j‖∞.

    Consequences: At M = ∞ itself there is no minimiser of (3) where |θ_j| ≤ λ and W_j ≠ 0.

    Tolerance: 16 eps·(|θ| + λ + 2‖W‖₁)
    """
    # Data y = x at x = ±1. f(1) = θ + a·relu(w) and, for w > 0, f(−1) = −θ: the first is fitted for any
    # θ ≠ 0, and ½(1 − θ)² + ½|θ| is least, ⅜, at θ = ½. With w < 0 the same at x = 1.
    half, one = Fraction(1, 2), Fraction(1)

    def squares(theta, w, a):
        return sum((x - network([theta], [[w]], [a], [x])) ** 2 for x in (one, -one)) / 2

    penalised = [squares(k * half / 8, one, 1 - k * half / 8) + abs(k) * half / 16 for k in range(-32, 33)]
    unregularised, without_skip = squares(one, Fraction(0), one), squares(Fraction(0), one, one)
    check.refutes(
        (min(penalised), unregularised, without_skip) == (Fraction(3, 8), 0, half),
        "one ReLU unit, data y = x at x = ±1, λ = ½: the infimum of (2) is ⅜ for every M > 0; a network with "
        "skip layer and no penalty has loss 0, one without skip layer ½",
    )
    shrunk = [sl.hier_prox([2.0], [[1.0]], lam=1.0, M=2.0**k).theta[0] for k in range(0, 1000, 50)]
    check.refutes(
        set(shrunk) == {1.0}, "the proximal step at θ = 2, W = (1), λ = 1: b = 1, not 2, for all M ≥ 1"
    )

    def in_the_limit(drawn):
        problem, M = drawn
        v, u, lam, _, _ = problem
        step = sl.hier_prox([float(v)], [list(map(float, u))], lam=lam, M=float(M))
        top, rest = max(map(abs, u), default=Fraction(0)), abs(soft(v, lam))
        slack = 16 * Fraction(2) ** -52 * size(problem._replace(M=Fraction(1)))
        b = abs(Fraction(float(step.theta[0])))
        lowered = sum(abs(x) - abs(Fraction(float(z))) for x, z in zip(u, step.W[0], strict=True))
        bounds = (
            rest - slack <= b <= max(rest, top / M) + slack
            and lowered <= (top / M + lam) / M + len(u) * slack
        )
        at_once = M * rest < top or (b == rest and lowered == 0)
        return bounds and at_once

    check.forall(st.tuples(features(), POWERS), in_the_limit)


@claim(
    "LN-sec-3.2-budget",
    "section 3.2, 'this budgets the total amount of non-linearity'; section 3.3 on M",
    "proof, exact",
    FALSE,
)
@mutants("network", "rescaled")
def test_hidden_units_rescale_out_of_the_constraint(check):
    """For given θ_j ≠ 0 the constraint limits the networks attainable in (2), the more so the smaller M.

    Hypotheses: one hidden ReLU layer and free outgoing weights, as in the experiments; M > 0; for the infimum
    a continuous loss (the paper also lists the misclassification rate)

    Instead: Hidden units rescale freely: every network with θ_j ≠ 0 wherever W_j ≠ 0 has an equal one within
    the constraint. The infimum of (2) is that of L + λ‖θ‖₁ without the constraint, the same for every M > 0.

    Consequences: (2) need not have a minimiser: in the witness it has infimum 0, while the only point with
    ‖θ‖₁ = 0 has loss 1. θ_j = 0 ⟹ W_j = 0 stands, and so do the proximal operators.

    Unchecked: what M does along the training path, where weights start small and stop early
    """

    def fits_the_modulus(theta, M):
        """f(x) = |x| at x = ±1 with θ as small as one likes: out = ((1 − θ)/(Mθ), (1 + θ)/(Mθ))."""
        w = M * theta
        W, out = [[w, -w]], [(1 - theta) / w, (1 + theta) / w]
        return within([theta], W, M) and all(
            network([theta], W, out, [x]) == 1 for x in (Fraction(1), Fraction(-1))
        )

    tiny = [Fraction(1, 10**k) for k in (1, 6, 30)]
    check.refutes(
        all(
            fits_the_modulus(theta, M) for theta in tiny for M in (Fraction(1, 10), Fraction(1), Fraction(10))
        ),
        "data y = 1 at x = ±1, K = 2: f(x) = |x| is fitted within the constraint for every M > 0 and θ > 0",
    )

    def an_equal_one_within(drawn):
        (theta, W, out), M, delta, points = drawn
        theta = [t or delta for t in theta]
        scaled, outgoing = rescaled(theta, W, out, M)
        same = all(
            network(theta, scaled, outgoing, x[: len(theta)]) == network(theta, W, out, x[: len(theta)])
            for x in points
        )
        x = points[0][: len(theta)]
        hidden = [relu(sum(w * a for w, a in zip(column, x, strict=True))) for column in zip(*W, strict=True)]
        plain = sum(a * b for a, b in zip([*theta, *out], [*x, *hidden], strict=True))
        return within(theta, scaled, M) and same and network(theta, W, out, x) == plain

    points = st.lists(st.lists(SMALL.map(Fraction), min_size=3, max_size=3), min_size=3, max_size=3)
    multiples = st.sampled_from([Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(10)])
    deltas = st.sampled_from([Fraction(1, 1000), Fraction(-1, 7)])
    check.forall(st.tuples(networks(), multiples, deltas, points), an_equal_one_within)
