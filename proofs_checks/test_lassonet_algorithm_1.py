"""Algorithm 1, which trains LassoNet: its step, the shrinkage in a step, the end of its loop, and its cost.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithm 1, sections 3.2,
4.1, 4.2 and 4.3. In print, line 2 trains a network without penalty. Then the following is repeated while any
θ_j ≠ 0:

    λ ← (1 + ε)λ,   then B times:   x = (θ, W) ← x − α∇L(x),   (θ, W^(1)) ← Hier-Prox(θ, W^(1), αλ, M).

Problem (2) is min L(θ, W) + λ‖θ‖₁ subject to ‖W_j‖∞ ≤ M|θ_j| for each feature j. Problem (3), which Hier-Prox
solves, is min ½(θ_j − b)² + ½‖W_j − z‖² + λ|b| subject to ‖z‖∞ ≤ M|b|.

*Step.* The proximal gradient step at x = (θ, W) minimises ⟨∇L(x), x' − x⟩ + ‖x' − x‖²/(2α) + λ‖θ'‖₁ over the
x' that satisfy the constraint. Multiply this objective by α and complete the square. The result is problem
(3) at x − α∇L(x), with αλ in place of λ, which line 9 solves. Suppose that ∇L has the Lipschitz constant 1/α.
Then the minimised function plus L(x) is an upper bound of L + λ‖θ‖₁ that is equal to it at x. Hier-Prox finds
the global minimum of the upper bound over the constraint, although the problem is not convex. This minimum is
at most the value at x, so the objective does not increase.

*The loop cannot end before λ = |L'(0)|.* Let there be one feature and no hidden units, let αL'' ≤ 1, and let
L'(0) ≤ 0 ≤ θ (or both reversed). Then θ − αL'(θ) does not decrease in θ, so it is at least −αL'(0). After the
soft-thresholding by αλ, θ is at least α(|L'(0)| − λ), so θ > 0 as long as λ < |L'(0)|.

Sections 2 and 3 of docs/proofs/lassonet.md derive by how much a step reduces |θ_j| + M‖W_j‖₁, and show why
the loop ends. The checks are exact. Only the results of `sl.hier_prox` are compared with a tolerance, 16 eps
times the size of the numbers that are added.
"""

from fractions import Fraction

from hypothesis import assume
from hypothesis import strategies as st

from proofs_checks import exact_prox as prox
from proofs_checks.exact_prox import minimiser
from sparselin.ledger import EMPIRICAL, HOLDS, claim, mutants


def residual(A, c, x):
    """Return the vector Ax − c."""
    return [prox.inner(row, x) - e for row, e in zip(A, c, strict=True)]


def loss(A, c, x):
    """Return the loss ½‖Ax − c‖²."""
    return sum(r * r for r in residual(A, c, x)) / 2


def gradient(A, c, x):
    """Return the gradient Aᵀ(Ax − c) of ½‖Ax − c‖²."""
    return [prox.inner(column, residual(A, c, x)) for column in zip(*A, strict=True)]


def small_step(A):
    """Return a step length, a power of two, that is at most 1 over the Lipschitz constant of the gradient of
    ½‖Ax − c‖².
    """
    return Fraction(1, 2 ** max(sum(a * a for row in A for a in row), 1).bit_length())


def split(x, K):
    """Return the list of (θ_j, W_j1, …, W_jK) for all features j, cut from the vector x of all weights."""
    return [x[i : i + 1 + K] for i in range(0, len(x), 1 + K)]


def weight(row, M):
    """Return |θ_j| + M‖W_j‖₁ for a feature with the weights (θ_j, W_j1, …, W_jK)."""
    return abs(row[0]) + M * sum(map(abs, row[1:]))


def step(x, g, K, alpha, lam, M):
    """Return the weights after a gradient step and Hier-Prox with αλ, lines 8 and 9 of Algorithm 1, exactly.

    x has the weights (θ_j, W_j1, …, W_jK) of all features, and g the gradient of the loss.
    """
    moved = [a - alpha * b for a, b in zip(x, g, strict=True)]
    proxes = [minimiser(prox.Feature(v, tuple(u), alpha * lam, M)) for v, *u in split(moved, K)]
    return [a for b, z in proxes for a in (b, *z)]


@st.composite
def losses(draw, length, rows=3):
    """Draw an integer matrix A and an integer vector c, for the loss ½‖Ax − c‖² in ℝ^length."""
    A = draw(st.lists(st.lists(prox.SMALL, min_size=length, max_size=length), min_size=1, max_size=rows))
    return A, draw(st.lists(prox.SMALL, min_size=len(A), max_size=len(A)))


@st.composite
def quadratics(draw):
    """Draw a feature (θ, W) with λ and M that satisfies LassoNet's constraint, and a quadratic loss of its
    weights.

    The loss is ½‖Ax − c‖² with integers A and c.
    """
    problem = draw(prox.features(multipliers=(Fraction(1, 2), 1, 2), max_K=3))
    v, u, lam, M, _ = problem
    u = [prox.sign(x) * min(abs(x), M * abs(v)) for x in u]
    return prox.feature(v, u, lam, M), *draw(losses(1 + len(u)))


@claim("LN-alg-1-step", "Algorithm 1, line 9; section 4.2", "proof, exact, float", HOLDS)
@mutants("sl.hier_prox", "gradient")
def test_a_step_minimises_the_model_and_descends(check):
    """Lines 8 and 9 of Algorithm 1 are a proximal gradient step for problem (2), with αλ in place of λ. The
    minimum in this step is found exactly, and it is the global one.

    Hypotheses: Problem (2) is min L(θ, W) + λ‖θ‖₁ subject to ‖W_j‖∞ ≤ M|θ_j|. The check uses a loss L that is
    quadratic in the (θ, W) of one feature, and starts at a feasible point. Algorithm 2 requires θ_j ≠ 0 after
    line 8.

    Consequences: If α is at most 1 over the Lipschitz constant of ∇L, the objective (2) does not increase,
    although the problem of a step is not convex. The paper claims no rate of convergence. Only stationary
    points can be expected in the limit.

    Unchecked: Larger α, stochastic gradients and momentum (section 5.2 uses 0.9) are not checked.

    Tolerance: The exact step and the result of sl.hier_prox may differ by 16 eps·(|θ| + λ + (1 + M)‖W‖₁).
    """

    def slope(A, c, x, k):
        up, down = ([a + s * (i == k) for i, a in enumerate(x)] for s in (1, -1))
        return (loss(A, c, up) - loss(A, c, down)) / 2

    def descends(drawn):
        problem, A, c = drawn
        x, lam, alpha = [problem.v, *problem.u], problem.lam, small_step(A)
        g = gradient(A, c, x)
        v, *u = (a - alpha * b for a, b in zip(x, g, strict=True))
        proximal = problem._replace(v=v, u=tuple(u), lam=alpha * lam)
        b, z = minimiser(proximal)
        moved = [y - a for y, a in zip([b, *z], x, strict=True)]
        model = prox.inner(g, moved) + prox.inner(moved, moved) / (2 * alpha) + lam * abs(b)
        square = alpha * prox.inner(g, g) / 2
        before, after = loss(A, c, x), loss(A, c, [b, *z]) + lam * abs(b)
        return (
            g == [slope(A, c, x, k) for k in range(len(x))]
            and model + square == proximal.objective(b, z) / alpha
            and after <= before + model <= before + lam * abs(problem.v)
            and prox.computed_is(proximal, b, z)
        )

    check.forall(quadratics(), descends)


@claim("ours-hier-prox-law", "Algorithms 2 and 4; section 4.4", "proof, exact, float", HOLDS)
@mutants("sl.hier_prox", "minimiser")
def test_what_a_step_takes_off(check):
    """Hier-Prox soft-thresholds |θ_j| + M‖W_j‖₁: its result (θ̃, W̃) has |θ̃_j| + M‖W̃_j‖₁ = (|θ_j| + M‖W_j‖₁
    − λ)₊.

    Hypotheses: λ, M ≥ 0, each feature has K ≥ 0 weights, and θ and W are arbitrary. With ‖θ_j‖₂ in place of
    |θ_j|, the statement also holds for Group-Hier-Prox. For M = 0, Hier-Prox is the soft-thresholding of the
    Lasso.

    Consequences: A feature is dropped if and only if |θ_j| + M‖W_j‖₁ ≤ λ. |θ_j| itself may grow: θ = 0, W =
    (1), λ = 0, M = 1 gives θ̃ = W̃ = ½.

    Tolerance: The result of sl.hier_prox may be off by 16 eps·(1 + M·K)·(|θ| + λ + (1 + M)‖W‖₁).
    """
    grown = prox.feature(0, [1], 0, 1)
    check.over([grown], lambda problem: minimiser(problem) == (Fraction(1, 2), [Fraction(1, 2)]))

    def falls_by_lambda(problem):
        v, u, lam, M, _ = problem
        expected = prox.soft(weight([v, *u], M), lam)
        b, z = minimiser(problem)
        theta, W = prox.computed(problem)
        close = prox.agree([weight([theta, *W], M)], [expected], (1 + M * len(u)) * problem.size)
        return weight([b, *z], M) == expected and close

    check.forall(prox.features(), falls_by_lambda)


@st.composite
def trained(draw):
    """Draw the weights x of a network, the number K of its hidden units, a loss, and the ε and B of Algorithm
    1.

    There are one or two features and at most two units. x need not satisfy LassoNet's constraint.
    """
    K, d = draw(st.integers(0, 2)), draw(st.integers(1, 2))
    x = [Fraction(a) for a in draw(st.lists(prox.SMALL, min_size=d * (1 + K), max_size=d * (1 + K)))]
    eps, B = draw(st.sampled_from([Fraction(1, 2), 1])), draw(st.integers(1, 2))
    return x, K, draw(losses(d * (1 + K))), eps, B


def ends_in_time(drawn):
    """Return whether the loop of Algorithm 1 ends as early as the theorem says, for λ₁ = M = 1.

    With K units, the step length α and the objective F after the first step, it must end by the first λ > λ₁
    with αλλ₁ ≥ 4(1 + KM²)F. Until then the objective at λ must be at most (λ/λ₁)F.
    """
    x, K, (A, c), eps, B = drawn
    M, lam, alpha, first = Fraction(1), Fraction(1), small_step(A), None
    while True:
        for _ in range(B):
            x = step(x, gradient(A, c, x), K, alpha, lam, M)
            value = loss(A, c, x) + lam * sum(abs(row[0]) for row in split(x, K))
            first = value if first is None else first
            if value > lam * first:
                return False
        if not any(row[0] for row in split(x, K)):
            return True
        if lam > 1 and alpha * lam >= 4 * (1 + K * M**2) * first:
            return False
        lam *= 1 + eps


@claim("LN-alg-1-ends", "Algorithm 1, lines 3 to 12", "proof, exact", HOLDS, cases=150, ci_cases=15)
@mutants("minimiser", "gradient")
def test_the_loop_over_lambda_ends(check):
    """Algorithm 1 ends no later than at the first λ > λ₁ with αλλ₁ ≥ 4(1 + KM²)F. Here λ₁ = (1 + ε)λ₀ is the
    first penalty, α the step length, K the number of hidden units, and M the hierarchy coefficient. F is the
    objective L + λ₁‖θ‖₁ after the first step.

    Hypotheses: λ₀, ε > 0. L ≥ 0 has a gradient with a Lipschitz constant of at most 1/α. Hier-Prox is taken
    as corrected (ledger id LN-alg-2).

    Consequences: Both λ₀ > 0 and the bound on the Lipschitz constant are necessary. For λ₀ = 0, L = ½(θ − 1)²
    and θ = 1, λ and θ never change. For L = ½θ², α = 4, ε = B = 1, αλ₁ = 1 and θ = 1 at the start, θ is
    (−2)^t after t steps. λ₀ is not among the inputs in line 1 of the algorithm. During the run, the number of
    nonzero θ_j may increase again.

    Unchecked: Networks whose gradient is not Lipschitz continuous are not checked, for example products of
    the weights of two layers, or ReLU units.
    """
    one = [Fraction(1)]
    check.over([one], lambda x: step(x, gradient([[1]], [1], x), 0, 1, 0, 1) == x)

    def doubles(t):
        x = [Fraction((-2) ** t)]
        return step(x, x, 0, 4, Fraction(2**t, 4), Fraction(1)) == [-2 * x[0]]

    check.over(range(40), doubles)
    check.forall(trained(), ends_in_time)


def gradients_of_the_path(theta, curvature, best, eps, lam, B):
    """Return the number of gradients that the loop of Algorithm 1 computes, for a loss of one θ without
    hidden units.

    The loss is L = ½·curvature·(θ − best)², and the step length is 1/(2·curvature).
    """
    for t in range(1, 200):
        lam *= 1 + eps
        for _ in range(B):
            theta = step([theta], [curvature * (theta - best)], 0, 1 / (2 * curvature), lam, Fraction(1))[0]
        if theta == 0:
            return t * B
    raise AssertionError("LN-alg-1-ends: the loop ends")


@claim(
    "LN-sec-4.3-path", "sections 3.2 and 4.3, Algorithm 1", "proof, exact", EMPIRICAL, cases=100, ci_cases=10
)
@mutants("gradients_of_the_path", "minimiser")
def test_the_loop_cannot_end_before_the_slope_at_zero(check):
    """LassoNet's path, the training for all penalties λ, costs essentially as much as training one model.

    Reading of: “The LassoNet regularization path can be trained at a cost that is essentially that of
    training a single model”; “The use of warm starts dramatically reduces the number of rounds of gradient
    descent needed during each iteration”

    Hypotheses: The cost is counted in gradients. The lower bound on the cost is for one feature with a loss
    L(θ), no hidden units, and a step length α with αL'' ≤ 1. The path begins at a θ with θL'(0) ≤ 0; a
    minimiser of a convex L satisfies this condition.

    Consequences: Lines 4 to 12 of Algorithm 1 compute B gradients for every λ, and the loop cannot end before
    λ ≥ |L'(0)|. So the path takes at least B·log(|L'(0)|/λ₀)/log(1 + ε) gradients, where λ₀ is the first λ,
    and each λ is 1 + ε times the previous one. Therefore the sentence is true only if B is smaller than the
    number of epochs of line 2 by a factor of about the number of λ's. Section 4.3 says that few rounds are
    enough, but Algorithm 1 leaves B open.

    Unchecked: The times of the experiments are not checked.
    """
    path = gradients_of_the_path(Fraction(1), Fraction(1), Fraction(1), Fraction(1, 10), Fraction(1, 1000), 1)
    check.over([path], lambda count: count == 74)
    check.measured(f"{path} gradients for L = ½(θ − 1)², α = ½, θ = 1, λ₀ = 1/1000, ε = 1/10, B = 1")

    def not_before_the_slope_at_zero(drawn):
        theta, curvature, best, eps, B = drawn
        assume(theta * best >= 0)
        taken = gradients_of_the_path(theta, curvature, best, eps, Fraction(1, 64), B)
        return taken % B == 0 and (1 + eps) ** (taken // B) / 64 >= curvature * abs(best)

    numbers, curvatures = st.integers(-4, 4).map(Fraction), st.integers(1, 4).map(Fraction)
    eps = st.sampled_from([Fraction(1, 4), Fraction(1)])
    check.forall(
        st.tuples(numbers, curvatures, numbers, eps, st.integers(1, 3)), not_before_the_slope_at_zero
    )


def flat(theta, W):
    """Return one list (θ_1, W_11, …, W_1K, θ_2, …) of all weights, feature by feature."""
    return [a for t, row in zip(theta, W, strict=True) for a in (t, *row)]


def backpropagation(theta, W, out, data):
    """Return the gradients of ½Σ(f(x) − y)² in θ, in the first layer W, and in the outgoing weights.

    The derivative of relu at 0 counts as 0.
    """
    passes = [
        (x, prox.network(theta, W, out, x) - y, [prox.inner(column, x) for column in zip(*W, strict=True)])
        for x, y in data
    ]
    inputs, units = range(len(theta)), range(len(out))
    return (
        [sum(r * x[j] for x, r, _ in passes) for j in inputs],
        [[sum(r * out[k] * (h[k] > 0) * x[j] for x, r, h in passes) for k in units] for j in inputs],
        [sum(r * prox.relu(h[k]) for _, r, h in passes) for k in units],
    )


MODULUS = [([1], 1), ([-1], 1)]


def penalised_at(t, lam):
    """Return the loss plus λ‖θ‖₁ of a network with θ = t and two hidden units, on the two data points x = ±1,
    y = 1.

    The first layer is W = (t, −t), and the outgoing weights are 1.
    """
    return sum((prox.network([t], [[t, -t]], [1, 1], x) - y) ** 2 for x, y in MODULUS) / 2 + lam * t


@st.composite
def networks_at_zero(draw):
    """Draw data points with two features, and the outgoing weights of one to three hidden units."""
    point = st.tuples(st.lists(prox.SMALL, min_size=2, max_size=2), prox.SMALL)
    return draw(st.lists(point, min_size=1, max_size=4)), draw(st.lists(prox.SMALL, min_size=1, max_size=3))


@claim("ours-lassonet-sparse-to-dense", "section 4.1", "proof, exact", HOLDS, cases=300, ci_cases=20)
@mutants("backpropagation", "minimiser")
def test_from_sparse_to_dense_the_hidden_units_stay_zero(check):
    """Let Algorithm 1, which trains LassoNet, run from sparse to dense, and begin at θ = 0, where the
    constraint ‖W_j‖∞ ≤ M|θ_j| forces W = 0. Then W = 0 in all steps, so the path of Algorithm 1 is the path
    of the Lasso.

    Hypotheses: λ decreases, and the network has one hidden ReLU layer without biases. Gradients are computed
    by back-propagation with relu'(0) = 0, as is usual. If W = 0, every hidden unit is 0, and so are the
    gradients in W and in the outgoing weights.

    Consequences: The point θ = 0, W = 0 need not be a local minimum of the objective L + λ‖θ‖₁. An example
    has the data points x = ±1 with y = 1, two hidden units with outgoing weights 1, M = 1 and λ = ¼. The
    objective is 1 at θ = 0, and all gradients are 0 there, but at θ = t, W = (t, −t) it is 1 − 7t/4 + 2t². So
    “gets caught in local minima” (section 4.1, on Figure 4) does not describe this case. A path from sparse
    to dense has to begin at W ≠ 0, or with biases in the first layer.

    Unchecked: Generalization and other starting points are not checked.
    """
    check.over([[0]], lambda x: backpropagation(x, [[0, 0]], [1, 1], MODULUS) == (x, [[0, 0]], [0, 0]))
    lengths = [Fraction(0), *(Fraction(1, 10**k) for k in (1, 4, 9))]
    check.over(lengths, lambda t: penalised_at(t, Fraction(1, 4)) == 1 - 7 * t / 4 + 2 * t**2)

    def the_lasso(drawn):
        data, out = drawn
        A, y, K = [x for x, _ in data], [y for _, y in data], len(out)
        theta, W = [Fraction(0)] * 2, [[Fraction(0)] * K] * 2
        for lam in (4, 4, 1, 1, Fraction(1, 4), Fraction(1, 4)):
            alpha, (g, G, g_out) = small_step(A), backpropagation(theta, W, out, data)
            slopes = gradient(A, y, theta)
            lasso = [prox.soft(t - alpha * s, alpha * lam) for t, s in zip(theta, slopes, strict=True)]
            rows = split(step(flat(theta, W), flat(g, G), K, alpha, lam, Fraction(1)), K)
            theta, W = [row[0] for row in rows], [row[1:] for row in rows]
            if theta != lasso or any(map(any, W)) or any(g_out):
                return False
        return True

    check.forall(networks_at_zero(), the_lasso)
