"""LassoNet's problem (2): the cases M = 0 and M → ∞, and the meaning of the constraint ‖W_j‖∞ ≤ M|θ_j|.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 3.2 and 3.3. In
print, g_W is a feed-forward network, and only its first layer W^(1) enters the constraint:

    minimise  L(θ, W) + λ‖θ‖₁   subject to  ‖W_j^(1)‖∞ ≤ M|θ_j|,       f(x) = θᵀx + g_W(x).        (2)

The paper says the following. If θ_j = 0, then W_j = 0. M = 0 recovers exactly the Lasso, and M → ∞ a standard
unregularized feed-forward network. The constraint bounds the non-linearity of feature j by |θ_j|, and M
controls the relative strength of the linear and the nonlinear part. The problem favours the linear part.

The checks show the following. For M = 0, W^(1) = 0, and g_W is a constant: 0 without biases, and a free
intercept with biases. As M → ∞, the penalty λ‖θ‖₁ remains. The constraint does not limit the functions that
can be represented: hidden units can be rescaled until the constraint holds, and two additional units can
carry any linear part without a penalty. The proofs are in section 4 of docs/proofs/lassonet.md. The checks
are exact.
"""

from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import exact_prox as prox
from proofs_checks.exact_prox import network
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

POWERS = st.integers(0, 60).map(lambda k: 2**k)
POINT = prox.SMALL.map(Fraction)
HALF, ONE = Fraction(1, 2), Fraction(1)


def rescaled(theta, W, out, M):
    """Return the weights of an equal network that satisfies the constraint ‖W_j‖∞ ≤ M|θ_j|, for θ without
    zeros.

    The first layer is multiplied by a constant, and the outgoing weights are divided by it.
    """
    largest = max((abs(w) for row in W for w in row), default=0)
    c = min(ONE, M * min(map(abs, theta)) / largest) if largest else ONE
    return [[c * w for w in row] for row in W], [b / c for b in out]


def within(theta, W, M):
    """Return whether a network satisfies LassoNet's constraint ‖W_j‖∞ ≤ M|θ_j| for every feature j."""
    return all(abs(w) <= M * abs(t) for t, row in zip(theta, W, strict=True) for w in row)


@st.composite
def networks(draw, d=3, K=3):
    """Draw a network with at most d inputs and K hidden units: θ, the first layer W, and the outgoing
    weights.

    All weights are small integers.
    """
    d, K = draw(st.integers(1, d)), draw(st.integers(1, K))
    numbers = st.lists(POINT, min_size=d, max_size=d)
    W = draw(st.lists(st.lists(POINT, min_size=K, max_size=K), min_size=d, max_size=d))
    return draw(numbers), W, draw(st.lists(POINT, min_size=K, max_size=K))


def points(n):
    """Return a strategy that draws n points in ℝ³ with small integer coordinates."""
    return st.lists(st.lists(POINT, min_size=3, max_size=3), min_size=n, max_size=n)


@claim("LN-sec-3.2-zero", "section 3.2, after (2)", "proof, exact, float", HOLDS)
@mutants("sl.hier_prox", "network")
def test_zero_theta_is_no_feature(check):
    """θ_j = 0 implies W_j = 0, and then f does not depend on x_j. So a feature is not used if and only if θ_j
    = 0.

    Hypotheses: θ and W satisfy the constraint ‖W_j‖∞ ≤ M|θ_j| with M ≥ 0. The check uses weights that the
    proximal operator Hier-Prox returns.

    Consequences: In floating point, the statement requires a proximal operator whose results satisfy the
    constraint. The results of Algorithm 2 as printed can violate it (ledger id LN-alg-2).

    Tolerance: The constraint and zeros are checked exactly. θ may have an error of 16 eps·K·(|θ| + λ + (1 +
    M)‖W‖₁) for K hidden units.
    """

    def unused(drawn):
        problem, (_, _, out), point = drawn
        K, M = len(out), problem.M
        problem = problem._replace(u=(problem.u * K + (Fraction(0),) * K)[:K])
        start = [float(problem.v), 0.0, 1.0], [list(map(float, problem.u)), [0.0] * K, [1.0] * K]
        step = sl.hier_prox(*start, lam=problem.lam, M=M)
        theta, W = prox.fractions(step.theta), [prox.fractions(row) for row in step.W]
        x = [*point, ONE]
        values = {network(theta, W, out, x)}
        for j in np.flatnonzero(step.theta == 0):
            values.add(network(theta, W, out, [a + 5 * (i == j) for i, a in enumerate(x)]))
        linear = network(theta, W, [Fraction(0)] * K, x) == prox.inner(theta, x)
        right = prox.agree(theta[:1], prox.minimiser(problem)[:1], K * problem.size)
        return within(theta, W, M) and right and len(values) == 1 and theta[1] == 0 and linear

    check.forall(st.tuples(prox.features(), networks(), st.tuples(POINT, POINT)), unused)


@st.composite
def lasso_solutions(draw):
    """Draw integers X, y, β and λ such that β is a solution of min ½‖y − Xβ‖² + λ‖β‖₁."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    X = np.array(draw(st.lists(st.lists(prox.SMALL, min_size=d, max_size=d), min_size=n, max_size=n)))
    r = np.array(draw(st.lists(prox.SMALL, min_size=n, max_size=n)))
    c = X.T @ r
    lam = int(np.abs(c).max())
    assume(lam > 0)
    sizes = np.array(draw(st.lists(st.integers(0, 4), min_size=d, max_size=d)))
    beta = np.sign(c) * sizes * (np.abs(c) == lam)
    return X, X @ beta + r, beta, lam


def solves_the_lasso(X, y, beta, lam):
    """Return whether β satisfies the optimality conditions of min ½‖y − Xβ‖² + λ‖β‖₁, in integers."""
    c = X.T @ (y - X @ beta)
    return bool(np.all(np.abs(c) <= lam) and np.all(c[beta != 0] == lam * np.sign(beta[beta != 0])))


@claim("LN-sec-3.2-lasso", "section 3.2, 'in the extreme case where M = 0'", "proof, exact", HOLDS)
@mutants("sl.hier_prox", "solves_the_lasso")
def test_without_hierarchy_it_is_the_lasso(check):
    """For M = 0, problem (2), min L(θ, W) + λ‖θ‖₁ over ‖W_j^(1)‖∞ ≤ M|θ_j|, is the Lasso: W^(1) = 0, f(x) =
    θᵀx, and the proximal step is soft-thresholding.

    Hypotheses: f(x) = θᵀx + g_W(x), and the loss is the squared loss. The network g_W with the first layer
    W^(1) has no biases. With biases, g_W(0) would be a free intercept.

    Consequences: Algorithm 2, which computes the proximal step, divides by M, and so fails for M = 0 (ledger
    id LN-alg-2).
    """

    def fixed(X, y, beta, lam, W):
        """Return whether the proximal gradient step of LassoNet with M = 0 leaves β unchanged.

        Return None if the network after the step is not f(x) = θᵀx.
        """
        alpha = 2.0**-6
        step = sl.hier_prox(beta + alpha * (X.T @ (y - X @ beta)), W, lam=alpha * lam, M=0.0)
        value = network(list(step.theta), step.W.tolist(), [1.0] * 3, [1.0] * len(beta))
        return bool(np.all(step.theta == beta)) if not step.W.any() and value == step.theta.sum() else None

    def a_fixed_point_of_the_step_iff_a_solution(drawn):
        (X, y, beta, lam), (_, W, _), shift = drawn
        W = np.resize(np.array(W, float), (len(beta), 3))
        other = beta + shift * np.eye(len(beta), dtype=int)[0]
        stays = [fixed(X, y, candidate, lam, W) for candidate in (beta, other)]
        return stays == [True, solves_the_lasso(X, y, other, lam)] and solves_the_lasso(X, y, beta, lam)

    check.forall(
        st.tuples(lasso_solutions(), networks(), st.integers(1, 3)), a_fixed_point_of_the_step_iff_a_solution
    )


def one_unit(theta, w, a):
    """Return the loss of a network with one hidden unit, ½Σ(x − f(x))² over x = ±1 for f(x) = θx +
    a·relu(wx).
    """
    return sum((x - network([theta], [[w]], [a], [x])) ** 2 for x in (ONE, -ONE)) / 2


@claim("LN-sec-3.2-M-infinity", "section 3.2, 'by letting M → +∞'", "proof, exact, float", CORRECTED)
@mutants("sl.hier_prox", "network")
def test_as_M_grows(check):
    """Problem (2), min L(θ, W) + λ‖θ‖₁ over ‖W_j‖∞ ≤ M|θ_j|, recovers a standard unregularized feed-forward
    neural network as M → ∞.

    Hypotheses: The penalty is λ > 0.

    Instead: W becomes unregularized, but the skip layer θ and its penalty λ‖θ‖₁ remain. The proximal step
    tends to (S_λ(θ), W), where S_λ is soft-thresholding, and equals this limit as soon as M(|θ_j| − λ) ≥
    ‖W_j‖∞.

    Consequences: For M = ∞, the constraint is W_j = 0 if θ_j = 0. Then the problem of the proximal step has
    no minimiser if |θ_j| ≤ λ and W_j ≠ 0.

    Tolerance: The result of sl.hier_prox may be off by 16 eps·(|θ| + λ + 2‖W‖₁).
    """
    # f(1) = θ + a·relu(w) and, for w > 0, f(−1) = −θ: the first is fitted for any θ ≠ 0, and
    # ½(1 − θ)² + ½|θ| is least, ⅜, at θ = ½. With w < 0 the same at x = 1.
    grid = [Fraction(k, 16) for k in range(-32, 33)]
    penalised = min(one_unit(theta, ONE, 1 - theta) + abs(theta) / 2 for theta in grid)
    unregularised, without_skip = one_unit(ONE, Fraction(0), ONE), one_unit(Fraction(0), ONE, ONE)
    check.refutes(
        (penalised, unregularised, without_skip) == (Fraction(3, 8), 0, HALF),
        "one ReLU unit, data y = x at x = ±1, λ = ½: the infimum of (2) is ⅜ for every M > 0; a network with "
        "skip layer and no penalty has loss 0, one without skip layer ½",
    )
    check.refutes(
        {prox.computed(prox.feature(2, [1], 1, 2**k))[0] for k in range(0, 1000, 50)} == {1},
        "the proximal step at θ = 2, W = (1), λ = 1: b = 1, not 2, for all M ≥ 1",
    )

    def in_the_limit(drawn):
        problem, M = drawn
        v, u, lam, _, _ = problem
        b, z = prox.computed(problem._replace(M=Fraction(M)))
        top, limit = max(map(abs, u), default=Fraction(0)), abs(prox.soft(v, lam))
        slack = 16 * prox.EPS * problem._replace(M=ONE).size
        lowered = sum(abs(x) - abs(y) for x, y in zip(u, z, strict=True))
        tends = limit - slack <= abs(b) <= max(limit, top / M) + slack
        keeps = lowered <= (top / M + lam) / M + len(u) * slack
        return tends and keeps and (M * limit < top or (abs(b) == limit and lowered == 0))

    check.forall(st.tuples(prox.features(), POWERS), in_the_limit)


def fits_the_modulus(theta, M):
    """Return whether a network with two hidden units and the given θ satisfies the constraint and is f(x) =
    |x| at x = ±1.

    The constraint is ‖W‖∞ ≤ M|θ|.
    """
    w = M * theta
    W, out = [[w, -w]], [(1 - theta) / w, (1 + theta) / w]
    return within([theta], W, M) and all(network([theta], W, out, [x]) == 1 for x in (ONE, -ONE))


@claim(
    "LN-sec-3.2-budget",
    "section 3.2, 'this budgets the total amount of non-linearity'; section 3.3 on M",
    "proof, exact",
    FALSE,
)
@mutants("network", "rescaled")
def test_hidden_units_rescale_out_of_the_constraint(check):
    """For given θ_j ≠ 0, the constraint ‖W_j‖∞ ≤ M|θ_j| limits the networks that problem (2) can attain, and
    a smaller M limits them more.

    Reading of: “This budgets the total amount of non-linearity involving feature j according to the relative
    effect importance of X_j as a main effect”; “M, controls the relative strength of the linear and nonlinear
    components”

    Hypotheses: The network has one hidden ReLU layer and free outgoing weights, as in the experiments, and M
    > 0. The statement on the infimum assumes that the loss L is continuous. (The paper also lists the
    misclassification rate, which is not.) Problem (2) is min L(θ, W) + λ‖θ‖₁ subject to the constraint.

    Instead: Hidden units can be rescaled freely. For every network that has θ_j ≠ 0 wherever W_j ≠ 0, there
    is an equal network within the constraint. The infimum of (2) equals the infimum of L + λ‖θ‖₁ without the
    constraint, and is the same for every M > 0.

    Consequences: Problem (2) need not have a minimiser. In the counterexample its infimum is 0, but the only
    point with ‖θ‖₁ = 0 has loss 1. The implication θ_j = 0 ⟹ W_j = 0 is true, and the proximal operators of
    the paper are right.

    Unchecked: The effect of M along the training path, where weights start small and training stops early, is
    not checked.
    """
    tiny, multipliers = [Fraction(1, 10**k) for k in (1, 6, 30)], [Fraction(1, 10), ONE, Fraction(10)]
    check.refutes(
        all(fits_the_modulus(theta, M) for theta in tiny for M in multipliers),
        "data y = 1 at x = ±1, K = 2: f(x) = |x| is fitted within the constraint for every M > 0 and θ > 0",
    )

    def an_equal_one_within(drawn):
        (theta, W, out), M, delta, x = drawn
        theta = [t or delta for t in theta]
        x = [a[: len(theta)] for a in x]
        scaled, outgoing = rescaled(theta, W, out, M)
        values = [network(theta, W, out, a) for a in x]
        hidden = [prox.relu(prox.inner(column, x[0])) for column in zip(*W, strict=True)]
        same = [network(theta, scaled, outgoing, a) for a in x] == values
        return within(theta, scaled, M) and same and values[0] == prox.inner([*theta, *out], [*x[0], *hidden])

    multiples = st.sampled_from([Fraction(1, 100), HALF, ONE, Fraction(10)])
    deltas = st.sampled_from([Fraction(1, 1000), Fraction(-1, 7)])
    check.forall(st.tuples(networks(), multiples, deltas, points(3)), an_equal_one_within)


def without_linear_part(theta, W, out, M, delta):
    """Return an equal network with θ = (δ, …, δ), in which two additional hidden units carry the rest of the
    linear part.

    The new network satisfies the constraint ‖W_j‖∞ ≤ Mδ.
    """
    small = [delta] * len(theta)
    wider = [[*row, t - delta, delta - t] for t, row in zip(theta, W, strict=True)]
    return small, *rescaled(small, wider, [*out, ONE, -ONE], M)


@claim(
    "LN-sec-3.2-linear",
    "section 3.2, 'it promotes the linear component of the signal'",
    "proof, exact",
    FALSE,
)
@mutants("without_linear_part", "network")
def test_the_linear_part_moves_to_the_hidden_units(check):
    """If two networks within the constraint ‖W_j‖∞ ≤ M|θ_j| are the same linear function, problem (2) does
    not prefer the network that represents this function by its hidden units.

    Reading of: “it promotes the linear component of the signal above the nonlinear one”

    Hypotheses: The network has one hidden ReLU layer and free outgoing weights, λ > 0 and M > 0. Problem (2)
    is min L(θ, W) + λ‖θ‖₁ subject to the constraint.

    Instead: The penalty applies only to the linear part θ. With two more hidden units, every function f is
    attained within the constraint, at the same loss, and with ‖θ‖₁ as small as desired. So the infimum of (2)
    over networks with K + 2 units is at most the infimum of L alone over networks with K units and a skip
    layer, without the constraint.

    Consequences: Section 3.1 says: "A penalty is introduced … that encourages feature sparsity". But if the
    number of units is free (section 3.1: “the width and depth of the network are arbitrary”), the infimum of
    (2) equals the infimum of L for every λ, and no θ_j is 0 in the networks that approach it. With too few
    units the penalty does increase the infimum (LN-sec-3.2-M-infinity).

    Unchecked: Training is not checked. In practice it ends before the outgoing weights are as large as
    1/‖θ‖₁, which the construction needs.
    """
    delta, line = Fraction(1, 1000), ([ONE], [[]], [])
    theta, W, out = without_linear_part(*line, ONE, delta)
    same = all(network(theta, W, out, [x]) == x == network(*line, [x]) for x in (ONE, -ONE))
    check.refutes(
        same and within(theta, W, ONE) and theta == [delta],
        "data y = x at x = ±1, λ = M = 1: f(x) = x costs λ with θ = 1, W = 0, and λ/1000 with θ = 1/1000 and "
        "two hidden units",
    )

    def the_same_function(drawn):
        (theta, W, out), M, delta, x = drawn
        x = [a[: len(theta)] for a in x]
        small, wider, outgoing = without_linear_part(theta, W, out, M, delta)
        same = [network(small, wider, outgoing, a) for a in x] == [network(theta, W, out, a) for a in x]
        return same and within(small, wider, M) and sum(map(abs, small)) == len(theta) * abs(delta)

    deltas = st.sampled_from([Fraction(1, 1000), Fraction(-1, 10**9)])
    check.forall(
        st.tuples(networks(), st.sampled_from([HALF, ONE, Fraction(10)]), deltas, points(4)),
        the_same_function,
    )
