"""Hoff's lemma: weight decay on a Hadamard product is an ℓ₁ penalty, and its landscape.

Source: *Sequential Attention for Feature Selection*, poster, "Lemma [Hoff 2017]"; in both papers the lemma is
only cited ("by a simple argument due to Hoff (2017)"), for equations (5) and (6), which have a file of their
own. In print: for l : ℝᵈ → ℝ and λ > 0,  inf_{β, w} l(w ⊙ β) + (λ/2)(‖w‖² + ‖β‖²) = inf_β l(β) + λ‖β‖₁.

Proof. With θ for the first β,

    l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²) − [l(w∘θ) + λ‖w∘θ‖₁] = (λ/2) Σ (|w_i| − |θ_i|)² ≥ 0,

and w = √|β|, θ = sign(β)∘√|β| has w∘θ = β and |w| = |θ|. Nothing is asked of l: not continuity, not
convexity, not a lower bound (both sides may be −∞). Hence for λ > 0 the left infimum is attained iff the
right one is, and the minimisers on the left are the (w, θ) with |w| = |θ|, w∘θ a minimiser on the right. For
λ = 0 both sides are inf l. For λ < 0 the left side is −∞ (w = t·1, θ = 0), the right one need not be: l = β²,
λ = −2 gives −1.

Landscape, for l = ½‖y − Xβ‖² and g = Xᵀ(y − Xβ): (w, θ) is stationary iff for each i w_i = θ_i = 0, or |g_i|
= λ and θ_i = sign(g_i)w_i. So β solves the KKT conditions on its support, β_J = (X_JᵀX_J)⁻¹(X_Jᵀy − λs), s =
sign β_J. Off it, moving (w_i, θ_i) from 0 to t(1, sign g_i) changes the objective by t²(λ − |g_i|) +
½t⁴‖X_i‖²: where |g_i| > λ the point is a strict saddle, with the eigenvalue λ − |g_i| < 0 of the Hessian;
where no |g_i| > λ, β satisfies all KKT conditions of a convex problem and the point is a global minimiser.

Exact in fractions and rational matrices; descents in float64.
"""

import itertools
import zlib
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import columns, off, rational, real, step
from sparselin.ledger import HOLDS, claim, mutants

POSTER = "Lemma [Hoff 2017] (poster); cited before equation (6) (ICLR, NeurIPS submission)"


def overparametrized(loss, w, theta, lam):
    """l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²)."""
    decay = sum(a * a for a in w) + sum(b * b for b in theta)
    return loss(tuple(a * b for a, b in zip(w, theta, strict=True))) + lam * decay / 2


def penalized(loss, beta, lam):
    """l(β) + λ‖β‖₁."""
    return loss(beta) + lam * sum(abs(b) for b in beta)


def any_loss(salt):
    """A function of β without any regularity, with values of both signs."""
    return lambda beta: Fraction(zlib.crc32(f"{salt}{beta}".encode()) % 2001 - 1000, 7)


def fractions(rng, d, high=6):
    above, below = rng.integers(-high, high + 1, d).tolist(), rng.integers(1, 5, d).tolist()
    return tuple(Fraction(a, b) for a, b in zip(above, below, strict=True))


@claim("SA-hoff-lemma", POSTER, "proof, exact", HOLDS)
@mutants("overparametrized", "penalized")
def test_the_infima_agree_for_any_loss(check):
    """inf over w, θ of l(w∘θ) + (λ/2)(‖w‖² + ‖θ‖²) equals inf over β of l(β) + λ‖β‖₁.

    Hypotheses: any l : ℝᵈ → ℝ, λ > 0
    """

    def never_below_and_reached(_):
        rng, d = check.rng, int(check.rng.integers(1, 5))
        loss, lam = any_loss(int(rng.integers(1 << 30))), Fraction(int(rng.integers(1, 9)), 4)
        w, theta, roots = fractions(rng, d), fractions(rng, d), fractions(rng, d)
        product = tuple(a * b for a, b in zip(w, theta, strict=True))
        excess = overparametrized(loss, w, theta, lam) - penalized(loss, product, lam)
        squares = tuple(t * abs(t) for t in roots)
        reached = overparametrized(loss, tuple(abs(t) for t in roots), roots, lam)
        square = sum((abs(a) - abs(b)) ** 2 for a, b in zip(w, theta, strict=True))
        return excess == lam * square / 2 and reached == penalized(loss, squares, lam)

    check.over(range(check.cases), never_below_and_reached)


def planted(rng, d):
    """A nonconvex integer polynomial l, λ, t and β⁰ = s∘t² such that l + λ‖·‖₁ ≥ 0, with equality at β⁰.

    l = Σ (β_i − β⁰_i)²q_i(β_i) + (Πβ_i − Πβ⁰_i)² − λ⟨s, β⟩ with q_i ≥ 0 of degree 2.
    """
    t, s = rng.integers(0, 4, d), rng.choice([-1, 1], d)
    a, b, e = rng.integers(1, 3, d), rng.integers(-2, 3, d), rng.integers(0, 3, d)
    lam, base = 2 * int(rng.integers(1, 4)), s * t**2

    def loss(beta):
        terms = sum(
            (x - base[i]) ** 2 * (a[i] * (x + b[i]) ** 2 + e[i]) - lam * s[i] * x for i, x in enumerate(beta)
        )
        return terms + (np.prod(beta, axis=0) - np.prod(base)) ** 2

    return loss, lam, t, base


@claim("ours-hoff-polynomial", POSTER, "exact, brute force", HOLDS, cases=2000, ci_cases=20)
@mutants("overparametrized", "penalized")
def test_polynomial_losses_enumerated(check):
    """For nonconvex integer polynomials l of degree 4 to 8 the two infima are the same number, attained at
    the same β.

    Hypotheses: d ≤ 2; a minimiser of l + λ‖·‖₁ is planted at signed squares, w and θ run through {−3, …, 3}ᵈ
    """
    lattice = np.arange(-3, 4)

    def same_least_value(_):
        d = int(check.rng.integers(1, 3))
        loss, lam, t, base = planted(check.rng, d)
        grid = np.array(list(itertools.product(lattice, repeat=2 * d))).T
        w, theta = tuple(grid[:d]), tuple(grid[d:])
        left = overparametrized(loss, w, theta, lam)
        right = penalized(loss, tuple(w * theta for w, theta in zip(w, theta, strict=True)), lam)
        best = penalized(loss, tuple(base), lam)
        where = left == left.min()
        return (
            (left >= right).all()
            and left.min() == right.min() == best == 0
            and (np.abs(grid[:d]) == np.abs(grid[d:]))[:, where].all()
            and any((grid[:d] * grid[d:])[:, i].tolist() == base.tolist() for i in np.flatnonzero(where))
            and (np.abs(t) <= 3).all()
        )

    check.over(range(check.cases), same_least_value)


@claim("ours-hoff-attained", "after Hoff's lemma", "proof, exact", HOLDS)
@mutants("overparametrized", "penalized")
def test_where_the_infimum_is_attained(check):
    """For λ > 0 the minimisers over (w, θ) are the points with |w| = |θ| = √|β| over the minimisers β of l +
    λ‖·‖₁, so the one infimum is attained iff the other is; for λ = 0 the lemma holds too, for λ < 0 it does
    not.

    Hypotheses: any l
    """

    def only_at_equal_moduli(_):
        d = int(check.rng.integers(1, 4))
        loss, lam = any_loss(int(check.rng.integers(1 << 30))), Fraction(int(check.rng.integers(1, 9)), 4)
        theta = fractions(check.rng, d)
        signs, factors = check.rng.choice([-1, 1], d), check.rng.integers(1, 3, d)
        w = tuple(int(s * f) * b for s, f, b in zip(signs, factors, theta, strict=True))
        product = tuple(a * b for a, b in zip(w, theta, strict=True))
        equal = all(abs(a) == abs(b) for a, b in zip(w, theta, strict=True))
        above = overparametrized(loss, w, theta, lam) - penalized(loss, product, lam)
        free = overparametrized(loss, (Fraction(1),) * d, product, Fraction(0))
        return (above == 0) == equal and above >= 0 and free == penalized(loss, product, Fraction(0))

    check.over(range(check.cases), only_at_equal_moduli)

    # λ = −2, l = β²: unbounded on the left, −1 on the right
    def square(beta):
        return beta[0] ** 2

    check.over(
        [Fraction(t, 3) for t in range(-30, 31)],
        lambda t: (
            overparametrized(square, (t,), (Fraction(0),), -2) == -t * t
            and penalized(square, (t,), -2) == (abs(t) - 1) ** 2 - 1
        ),
    )


def stationary_points(X, y, lam):
    """(β, J) for every J and signs s with β_J = (X_JᵀX_J)⁻¹(X_Jᵀy − λs) of signs s; X rational of full
    column rank."""
    d = X.ncols()
    for size in range(d + 1):
        for J in itertools.combinations(range(d), size):
            A = columns(X, J)
            H = A.transpose() * A
            c = A.transpose() * y
            for s in itertools.product((1, -1), repeat=size):
                beta = fmpq_mat(d, 1)
                if size:
                    found = H.solve(c - lam * fmpq_mat(size, 1, list(s)))
                    if any(entry * sign <= 0 for entry, sign in zip(found.entries(), s, strict=True)):
                        continue
                    for j, entry in zip(J, found.entries(), strict=True):
                        beta[j, 0] = entry
                yield beta, J


def objective(X, y, beta, lam):
    """½‖y − Xβ‖² + λ‖β‖₁, exactly; it is F at |w| = |θ| = √|β|."""
    r = y - X * beta
    return sum((a * a for a in r.entries()), fmpq(0)) / 2 + lam * sum(
        (abs(b) for b in beta.entries()), fmpq(0)
    )


def lasso_optimum(X, y, lam, S=()):
    """The least ½‖y − Xβ‖² + λ‖β_S̄‖₁, exactly: S is projected off, supports of independent columns
    suffice."""
    free = [j for j in range(X.shape[1]) if j not in S]
    A, b = off(rational(X), S, columns(rational(X), free)), off(rational(X), S, rational(y))
    best = None
    for size in range(len(free) + 1):
        for J in itertools.combinations(range(len(free)), size):
            A_J = columns(A, J)
            if size and A_J.rank() < size:
                continue
            for beta, _ in stationary_points(A_J, b, lam):
                value = objective(A_J, b, beta, lam)
                best = value if best is None else min(best, value)
    return best


def small_design(rng, max_n=4, max_d=3):
    n, d = int(rng.integers(1, max_n + 1)), int(rng.integers(1, max_d + 1))
    return rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-3, 4, n).astype(float)


@claim(
    "ours-hoff-landscape",
    "after Definition 3.1 and Hoff's lemma",
    "proof, exact",
    HOLDS,
    cases=400,
    ci_cases=12,
)
@mutants("sl.lasso_path", "stationary_points", "objective")
def test_every_other_stationary_point_is_a_strict_saddle(check):
    """½‖y − X(w∘θ)‖² + (λ/2)(‖w‖² + ‖θ‖²) has no spurious minima: a stationary point is a global minimiser or
    a strict saddle, with an eigenvalue λ − |g_i| < 0 of the Hessian for some i with w_i = θ_i = 0.

    Hypotheses: λ > 0; all stationary points of integer designs with independent columns, λ a rational below
    λ*

    Unchecked: dependent columns, by the same proof; stationary points are then not isolated

    Tolerance: 1e-13 of ½‖y‖² against the homotopy: a few operations on knots that are rationals of a few
    digits
    """
    saddles = 0

    def global_or_saddle(_):
        nonlocal saddles
        while True:
            X, y = small_design(check.rng)
            A, b, lam_star = rational(X), rational(y), step(X, y).lam_star
            if A.rank() == X.shape[1] and lam_star > 0:
                break
        lam = lam_star * fmpq(int(check.rng.integers(1, 8)), 8)
        least = lasso_optimum(X, y, lam)
        lam_float = real(lam)
        ours = sl.lasso_path(X, y, lam_min=lam_float).at(lam_float)
        value = 0.5 * np.sum((y - X @ ours) ** 2) + lam_float * np.abs(ours).sum()
        good = abs(value - real(least)) <= 1e-13 * 0.5 * (y @ y)
        minimisers = 0
        for beta, J in stationary_points(A, b, lam):
            g = (A.transpose() * (b - A * beta)).entries()
            escapes = [i for i in range(len(g)) if i not in J and abs(g[i]) > lam]
            here = objective(A, b, beta, lam)
            minimisers += not escapes
            good = good and (here > least) == bool(escapes)
            saddles += bool(escapes)
            for i in escapes:
                length = sum((A[k, i] ** 2 for k in range(A.nrows())), fmpq(0))
                for share in (1, fmpq(1, 100)):  # t² of the curve t(1, sign g_i)
                    t2 = share * (abs(g[i]) - lam) / length
                    moved = fmpq_mat(beta)
                    moved[i, 0] = t2 if g[i] > 0 else -t2
                    change = objective(A, b, moved, lam) - here
                    good = good and change == t2 * (lam - abs(g[i])) + t2**2 * length / 2 < 0
        return good and minimisers == 1

    check.over(range(check.cases), global_or_saddle)
    check.measured(f"{saddles} strict saddles beside {check.cases} minimisers")


@claim(
    "ours-hoff-descent",
    "after Definition 3.1 and Hoff's lemma",
    "exact, float",
    HOLDS,
    cases=1000,
    ci_cases=25,
)
@mutants("sl.hadamard_descent", "lasso_optimum")
def test_descent_reaches_the_lasso(check):
    """Gradient descent on (w, θ) from a random start ends within its tolerance of the least of ½‖y − Xβ‖² +
    λ‖β_S̄‖₁ wherever it ends with a certificate.

    Hypotheses: integer designs, any S, λ/λ* from 1/8 to 9/8; descents that end with MAX_ITER are undecided

    Unchecked: that a descent always ends with a certificate

    Tolerance: the certificate's own 1e-4 of the gain ½‖P_S^⊥y‖² − F (and 1e-14·½‖P_S^⊥y‖² where λ ≥ λ*), and
    1e-13 of ½‖y‖² for rounding
    """
    unpicked = 0

    def as_low_as_the_lasso(seed):
        nonlocal unpicked
        X, y = small_design(check.rng, 4, 4)
        S = tuple(np.flatnonzero(check.rng.random(X.shape[1]) < 0.2).tolist())
        at = step(X, y, S)
        lam = (at.lam_star or fmpq(1)) * fmpq(int(check.rng.integers(1, 10)), 8)
        least = lasso_optimum(X, y, lam, S)
        found = sl.hadamard_descent(X, y, real(lam), unpenalized=S, rng=seed)
        if found.status is sl.Status.MAX_ITER:
            check.undecided()
            return True
        free = [j for j in range(X.shape[1]) if j not in S]
        lam_float, null = real(lam), 0.5 * float(np.sum(np.square(y_off(at))))
        F = 0.5 * np.sum((y - X @ found.coef) ** 2)
        F += lam_float / 2 * (np.sum(found.w[free] ** 2) + np.sum(found.theta[free] ** 2))
        rounding = 1e-13 * 0.5 * (y @ y)
        exact = real(least)
        unpicked += lam >= at.lam_star
        return (
            exact - rounding <= F <= exact + 1.01e-4 * max(null - exact, 0) + 1e-14 * null + rounding
            and abs(found.objective[-1] - F) <= rounding
        )

    check.over(range(check.cases), as_low_as_the_lasso)
    check.measured(f"in {unpicked} of {check.cases} descents λ ≥ λ*, and w, θ tend to zero")


def y_off(at):
    """P_S^⊥y as floats."""
    return [real(a) for a in at.residual.entries()]
