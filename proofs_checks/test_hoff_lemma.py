"""Hoff's lemma: weight decay on a Hadamard product is an ℓ₁ penalty; and the stationary points of its
objective.

Source: *Sequential Attention for Feature Selection*, poster, "Lemma [Hoff 2017]". Both versions of the paper
cite the lemma ("by a simple argument due to Hoff (2017)") for equations (5) and (6), which are checked in
test_attention_linear.py. In the lemma, l : ℝᵈ → ℝ is any function and λ > 0. With θ in place of the first β
in print,

    inf over w, θ of  l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²)  =  inf over β of  l(β) + λ‖β‖₁.

Idea: at β = w∘θ, the left side minus the right side is (λ/2) Σ (|w_i| − |θ_i|)². Now let l(β) = ½‖y − Xβ‖²
and g = Xᵀ(y − Xβ). A stationary point (w, θ) satisfies the KKT conditions of the LASSO on the support of β =
w∘θ. If |g_i| > λ for some i outside the support, the objective decreases along (w_i, θ_i) = t(1, sign g_i).
Proofs: docs/proofs/hoff_lemma.md.

The checks are exact, in fractions and rational matrices. Only gradient descent is computed in float64.
"""

import itertools
import zlib
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import columns, in_rows, inner, off, rational, real, reals, step
from sparselin.ledger import HOLDS, claim, mutants

AFTER = "after Definition 3.1 and Hoff's lemma"
POSTER = "Lemma [Hoff 2017] (poster); cited before equation (6) (ICLR, NeurIPS submission)"


def overparametrized(loss, w, theta, lam):
    """Return l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²), the left objective of Hoff's lemma."""
    return loss(w * theta) + lam * (w * w + theta * theta).sum(axis=0) / 2


def penalized(loss, beta, lam):
    """Return l(β) + λ‖β‖₁, the right objective of Hoff's lemma."""
    return loss(beta) + lam * abs(beta).sum(axis=0)


def any_loss(rng):
    """Return a function of β with pseudo-random values of both signs, which is not even continuous."""
    salt = int(rng.integers(1 << 30))
    return lambda beta: Fraction(zlib.crc32(f"{salt}{beta.tolist()}".encode()) % 2001 - 1000, 7)


def fractions(rng, d, high=6):
    above, below = rng.integers(-high, high + 1, d).tolist(), rng.integers(1, 5, d).tolist()
    return np.array([Fraction(a, b) for a, b in zip(above, below, strict=True)])


@claim("SA-hoff-lemma", POSTER, "proof, exact", HOLDS)
@mutants("overparametrized", "penalized")
def test_the_infima_agree_for_any_loss(check):
    """The two infima of Hoff's lemma are the same number:

        inf over w, θ of l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²) = inf over β of l(β) + λ‖β‖₁.

    Hypotheses: l : ℝᵈ → ℝ is any function, and λ > 0.
    """

    def never_below_and_reached(_):
        rng, d = check.rng, int(check.rng.integers(1, 5))
        loss, lam = any_loss(rng), Fraction(int(rng.integers(1, 9)), 4)
        w, theta, roots = fractions(rng, d), fractions(rng, d), fractions(rng, d)
        excess = overparametrized(loss, w, theta, lam) - penalized(loss, w * theta, lam)
        reached = overparametrized(loss, abs(roots), roots, lam)
        return excess == lam * ((abs(w) - abs(theta)) ** 2).sum() / 2 and reached == penalized(
            loss, abs(roots) * roots, lam
        )

    check.over(range(check.cases), never_below_and_reached)


def planted(rng, d):
    """Return a nonconvex integer polynomial l, a λ, and a minimiser β⁰ of l + λ‖·‖₁.

    The entries of β⁰ are ± squares of integers, and the least value of l + λ‖·‖₁ is 0.
    """
    t, s = rng.integers(0, 4, d), rng.choice([-1, 1], d)
    a, b, e = rng.integers(1, 3, d), rng.integers(-2, 3, d), rng.integers(0, 3, d)
    lam, base = 2 * int(rng.integers(1, 4)), s * t**2

    def loss(beta):
        terms = sum(
            (x - base[i]) ** 2 * (a[i] * (x + b[i]) ** 2 + e[i]) - lam * s[i] * x for i, x in enumerate(beta)
        )
        return terms + (np.prod(beta, axis=0) - np.prod(base)) ** 2

    return loss, lam, base


@claim("ours-hoff-polynomial", POSTER, "exact, brute force", HOLDS, cases=2000, ci_cases=20)
@mutants("overparametrized", "penalized")
def test_polynomial_losses_enumerated(check):
    """For nonconvex integer polynomials l of degree 4 to 8, the two infima of Hoff's lemma are equal and are
    attained at the same β = w∘θ. The first is the infimum over (w, θ) of l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²), the
    second the infimum over β of l(β) + λ‖β‖₁.

    Hypotheses: d ≤ 2. The polynomial is chosen such that l + λ‖·‖₁ has a minimiser whose entries are ±
    squares of integers up to 3. The check tries all w and θ in {−3, …, 3}ᵈ.
    """

    def same_least_value(_):
        d = int(check.rng.integers(1, 3))
        loss, lam, base = planted(check.rng, d)
        w, theta = np.split(np.array(list(itertools.product(range(-3, 4), repeat=2 * d))).T, 2)
        left, right = overparametrized(loss, w, theta, lam), penalized(loss, w * theta, lam)
        where = left == left.min()
        return (
            (left >= right).all()
            and left.min() == right.min() == penalized(loss, base, lam) == 0
            and (abs(w) == abs(theta))[:, where].all()
            and base.tolist() in (w * theta)[:, where].T.tolist()
        )

    check.over(range(check.cases), same_least_value)


@claim("ours-hoff-attained", "after Hoff's lemma", "proof, exact", HOLDS)
@mutants("overparametrized", "penalized")
def test_where_the_infimum_is_attained(check):
    """For λ > 0, l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²) is minimal exactly where |w| = |θ| = √|β| for a minimiser β of l
    + λ‖·‖₁. So the infimum over (w, θ) is attained if and only if the infimum of l + λ‖·‖₁ is attained. For λ
    = 0 the two infima are equal too; for λ < 0 they can differ.

    Hypotheses: l : ℝᵈ → ℝ is any function.
    """

    def only_at_equal_moduli(_):
        d = int(check.rng.integers(1, 4))
        loss, lam = any_loss(check.rng), Fraction(int(check.rng.integers(1, 9)), 4)
        theta = fractions(check.rng, d)
        w = check.rng.choice([-1, 1], d) * check.rng.integers(1, 3, d) * theta
        above = overparametrized(loss, w, theta, lam) - penalized(loss, w * theta, lam)
        free = overparametrized(loss, theta**0, w * theta, 0)
        return (
            (above == 0) == all(abs(w) == abs(theta)) and above >= 0 and free == penalized(loss, w * theta, 0)
        )

    check.over(range(check.cases), only_at_equal_moduli)

    def below_zero(t):
        """Return whether the two objectives of Hoff's lemma have different infima for λ = −2 and l = β².

        The left one must be −t² at w = t, θ = 0, so that it is unbounded below. The right one must be (|t| −
        1)² − 1 at β = t.
        """
        left = overparametrized(lambda beta: beta[0] ** 2, np.array([t]), np.array([Fraction(0)]), -2)
        right = penalized(lambda beta: beta[0] ** 2, np.array([t]), -2)
        return left == -t * t and right == (abs(t) - 1) ** 2 - 1

    check.over([Fraction(t, 3) for t in range(-30, 31)], below_zero)


def stationary_points(X, y, lam):
    """Yield the vectors β = w∘θ of all stationary points (w, θ) of ½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²).

    Each is yielded with its support J. X is rational and has full column rank. On J, β is (X_JᵀX_J)⁻¹(X_Jᵀy −
    λs), where s are the signs of β.
    """
    for size in range(X.ncols() + 1):
        for J in itertools.combinations(range(X.ncols()), size):
            A = columns(X, J)
            for s in itertools.product((1, -1), repeat=size):
                found = (A.transpose() * A).solve(A.transpose() * y - lam * fmpq_mat(size, 1, list(s)))
                beta = in_rows(found, J, X.ncols())
                if all(beta[j, 0] * sign > 0 for j, sign in zip(J, s, strict=True)):
                    yield beta, J


def objective(X, y, beta, lam):
    """Return ½‖y − Xβ‖² + λ‖β‖₁, exactly.

    This is also the value of ½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²) for w∘θ = β with |w| = |θ| = √|β|.
    """
    r = y - X * beta
    return inner(r, r) / 2 + lam * sum((abs(b) for b in beta.entries()), fmpq(0))


def lasso_optimum(X, y, lam, S=()):
    """Return the minimum of ½‖y − Xβ‖² + λ‖β_S̄‖₁, exactly, where S̄ is the complement of S.

    X and y are projected off the columns of S. It suffices to try the supports whose columns are independent.
    """
    free = [j for j in range(X.shape[1]) if j not in S]
    A, b = off(rational(X), S, columns(rational(X), free)), off(rational(X), S, rational(y))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(len(free)), size) for size in range(len(free) + 1)
    )
    parts = [columns(A, J) for J in subsets]
    return min(
        objective(A_J, b, beta, lam)
        for A_J in parts
        if A_J.ncols() == 0 or A_J.rank() == A_J.ncols()
        for beta, _ in stationary_points(A_J, b, lam)
    )


def small_design(rng, max_n=4, max_d=3):
    n, d = int(rng.integers(1, max_n + 1)), int(rng.integers(1, max_d + 1))
    return rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-3, 4, n).astype(float)


def below_the_threshold(rng):
    """Return an integer design with independent columns, a response, and a rational penalty below λ* =
    ‖Xᵀy‖∞.
    """
    while True:
        X, y = small_design(rng)
        lam_star = step(X, y).lam_star
        if rational(X).rank() == X.shape[1] and lam_star > 0:
            return X, y, lam_star * fmpq(int(rng.integers(1, 8)), 8)


def changes(A, b, beta, i, excess, lam):
    """Return whether F(w, θ) = ½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²) decreases from a stationary point along
    one coordinate.

    β = w∘θ with β_i = 0, g = Xᵀ(y − Xβ), and `excess` is sign(g_i)(|g_i| − λ). At (w_i, θ_i) = t(1, sign g_i)
    the change must be −t²(|g_i| − λ) + ½t⁴‖X_i‖² < 0, for two values of t.
    """
    square = inner(columns(A, [i]), columns(A, [i]))
    for share in (1, fmpq(1, 100)):
        moved = fmpq_mat(beta)
        moved[i, 0] = share * excess / square  # t² sign g_i
        t2 = abs(moved[i, 0])
        change = objective(A, b, moved, lam) - objective(A, b, beta, lam)
        if not change == -t2 * abs(excess) + t2**2 * square / 2 < 0:
            return False
    return True


@claim("ours-hoff-landscape", AFTER, "proof, exact", HOLDS, cases=400, ci_cases=12)
@mutants("sl.lasso_path", "stationary_points", "objective")
def test_every_other_stationary_point_is_a_strict_saddle(check):
    """The function ½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²) has no spurious minima. A stationary point is a global
    minimiser or a strict saddle. At a strict saddle, λ − |g_i| < 0 is an eigenvalue of the Hessian for some i
    with w_i = θ_i = 0, where g = Xᵀ(y − X(w∘θ)).

    Hypotheses: The check takes all stationary points of integer designs with independent columns, for a
    rational λ with 0 < λ < λ* = ‖Xᵀy‖∞.

    Consequences: Gradient descent finds the LASSO solution from almost every start in a given ball, if its
    constant step is small enough for this ball. Earlier papers prove parts of the statement: Poon and Peyré
    (2021) prove that there are no spurious minima. Ziyin and Wang (2023) and Kolb, Müller, Bischl and Rügamer
    (2023) treat other losses. Ouyang, Liu, Pong and Wang (2024) treat second-order stationary points.

    Unchecked: Dependent columns are not checked. The same proof covers them, but their stationary points are
    not isolated.

    Tolerance: The exact minimum and the value from `sl.lasso_path` may differ by 1e-13 of ½‖y‖². This exceeds
    the rounding errors, because the path consists of a few operations on rational numbers of few digits.
    """
    saddles = 0

    def global_or_saddle(_):
        nonlocal saddles
        X, y, lam = below_the_threshold(check.rng)
        A, b, least = rational(X), rational(y), lasso_optimum(X, y, lam)
        beta = sl.lasso_path(X, y, lam_min=real(lam)).at(real(lam))
        value = 0.5 * np.sum((y - X @ beta) ** 2) + real(lam) * np.abs(beta).sum()
        good, minimisers = abs(value - real(least)) <= 1e-13 * 0.5 * (y @ y), 0
        for beta, J in stationary_points(A, b, lam):
            g = (A.transpose() * (b - A * beta)).entries()
            escapes = [i for i in range(len(g)) if i not in J and abs(g[i]) > lam]
            saddles, minimisers = saddles + bool(escapes), minimisers + (not escapes)
            good = good and (objective(A, b, beta, lam) > least) == bool(escapes)
            good = good and all(
                changes(A, b, beta, i, g[i] - lam if g[i] > 0 else g[i] + lam, lam) for i in escapes
            )
        return good and minimisers == 1

    check.over(range(check.cases), global_or_saddle)
    check.measured(f"{saddles} strict saddles and {check.cases} minimisers")


@claim("ours-hoff-descent", AFTER, "exact, float", HOLDS, ci_cases=25)
@mutants("sl.hadamard_descent", "lasso_optimum")
def test_descent_reaches_the_lasso(check):
    """Let gradient descent on (w, θ), with β = w∘θ, start at a random point and end with a certificate. Then
    its objective is within the certified tolerance of the minimum of ½‖y − Xβ‖² + λ‖β_S̄‖₁.

    Hypotheses: The designs have integer entries, S is any set of features without penalty, S̄ its complement,
    and λ/λ* lies between 1/8 and 9/8, where λ* = ‖XᵀP_S^⊥y‖∞. Descents that end with the status MAX_ITER are
    undecided. P_S^⊥ is the projection onto the orthogonal complement of the columns in S.

    Unchecked: It is not checked that a descent always ends with a certificate.

    Tolerance: The certificate allows 1e-4 of the gain ½‖P_S^⊥y‖² − F, where F is the minimum, and
    1e-14·½‖P_S^⊥y‖² if λ ≥ λ*. Another 1e-13 of ½‖y‖² is for rounding.
    """
    unpicked = 0

    def as_low_as_the_lasso(seed):
        nonlocal unpicked
        X, y = small_design(check.rng, 4, 4)
        S = tuple(np.flatnonzero(check.rng.random(X.shape[1]) < 0.2).tolist())
        at = step(X, y, S)
        lam = (at.lam_star or fmpq(1)) * fmpq(int(check.rng.integers(1, 10)), 8)
        least = real(lasso_optimum(X, y, lam, S))
        found = sl.hadamard_descent(X, y, real(lam), forced=S, rng=seed)
        if found.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        w, theta = np.delete(found.w, S), np.delete(found.theta, S)
        F = 0.5 * np.sum((y - X @ found.coef) ** 2) + real(lam) / 2 * (w @ w + theta @ theta)
        null, rounding = 0.5 * np.sum(reals(at.residual) ** 2), 1e-13 * 0.5 * (y @ y)
        unpicked += lam >= at.lam_star
        above = 1.01e-4 * max(null - least, 0) + 1e-14 * null + rounding
        return least - rounding <= F <= least + above and abs(found.objective[-1] - F) <= rounding

    check.over(range(check.cases), as_low_as_the_lasso)
    check.measured(f"in {unpicked} of {check.cases} descents λ ≥ λ*, and w, θ tend to zero")
