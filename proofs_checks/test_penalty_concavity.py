"""Figure 2: in which sense Q*(β∘β) is concave, and what that says about sparsity.

Source: *Sequential Attention for Feature Selection*, Figure 2 and the sentence before it (ICLR and NeurIPS
submission, in the same words): "These plots suggest that Q*(β∘β) is a concave regularizer when |β₁| + |β₂| >
2, which would thus approximate the ℓ₀ regularizer and induce a sparse solution of β (Zhang & Zhang, 2012), as
ℓ₁ regularization does (Tibshirani, 1996)."

Notation: x = β∘β, p = softmax(w) at the minimiser w of ‖w‖² + Σ x_i/p_i², q = 1/p², K = Σ x_iq_i, f(β) =
Q*(x) = ‖w‖² + K; x = p²∘(w + Kp) (`test_penalty_lemma_3_2.py`). The sentence is read in each way that makes
it definite.

- In x it is true everywhere: Q*(x) = inf_q Σ x_iq_i + Q(q) is an infimum of affine functions.
- In β jointly it is true nowhere. Replacing x by x + c·p³ changes K to K + c and leaves w: Q*(x + c·p³) =
  Q*(x) + c, affine. Where no β_i is 0, ∇²f = 2diag(q) + 4diag(β)∇²Q* diag(β) is therefore 2Σ q_id_i² > 0 in
  the direction d = p³/β; where β_i = 0, it is 2q_i in the direction e_i. Along the diagonal (β_i = b, w = 0,
  p = 1/m) f = m³b².
- Along rays, m = 2: with φ(s) = Q*(sx), h = K/s and F'' = 2I + s∇²h, (φ(t²))'' = 2h − 4s∇hᵀF''⁻¹∇h at s = t².
  As h is a sum of exponentials, h∇²h ⪰ ∇h∇hᵀ, and with s∇h = −2w this is positive if K > 2‖w‖². With w = (a,
  −a), a ≥ 0, u = x∘q/K and w = K(u − p), ‖w‖² = K·2a(u₁ − p₁) ≤ K·2a/(1 + e^{2a}) < 0.28K. So f is strictly
  convex along every ray. On an axis, any m, the sign is that of `on_the_axis`, w₁ = a.
- Across the diagonal, at β = b·1 with Σδ = 0: the second derivative is 2m²‖δ‖²(1 − m²b²)/(1 + 3m²b²), since
  ∇²F = (2 + 6m²b²)I and ∂_x∇F δ = −2m²δ on Σ = 0. It is negative iff ‖β‖₁ = mb > 1, for every m; there f = m.
  The 2 in print is no threshold.
- Along segments |β₁| + |β₂| = s in a quadrant: at the end (s, 0), where p₁ ≥ ½, the second derivative in the
  direction (1, −1) is 2q₂ + 2q₁(1 − 32y₁(1 − p₁)²/H) ≥ 2q₂ − (2/3)q₁ > 0, with y₁ = x₁q₁ and H = 4 + 8y₁(1 −
  p₁)(2 − p₁): not concave for any s.
- Contours, m = 2: along the tangent of a level line the second derivative has the sign of G(a, K) = 1 − (K/2)
  sech²a + 4a tanh a + 8a²/K, which is negative on a band around the diagonals only; on the axes, where K =
  a(1 + e^{2a}), G = 1 + 4a − 2ap₁ > 0. On the level f = c, K = c − 2a² ≤ c: for c ≤ 2 G ≥ 0, the sublevel set
  is convex; for c > 2 G < 0 at a = 0, and it is not.
- ℓ₀: f ≥ (Σ|β_i|^{2/3})³ is unbounded on the vectors with one nonzero entry, where ‖β‖₀ = 1. f(tβ)/t²
  decreases to (Σ|β_i|^{2/3})³: far out f is the square of a quasi-norm, not near ℓ₀.
- Sparsity: f is differentiable, ∂f/∂β_i = 2q_iβ_i, zero at β_i = 0. A minimiser β of (7) has 2⟨X_i, r⟩ =
  λq_iβ_i, so β_i = 0 only if ⟨X_i, r⟩ = 0: no λ gives a zero coefficient otherwise. ℓ₁ does so from a finite
  λ on.

Values from `sl.softmax_penalty` are enclosed in balls by 2-strong convexity, and an inequality counts when
the balls separate.
"""

import functools
import itertools

import numpy as np
from flint import arb, ctx, fmpq

import sparselin as sl
from proofs_checks.rational import is_solution, rational
from sparselin.ledger import Verdict, claim

FIGURE = "Figure 2 and the sentence before it (ICLR, NeurIPS submission)"


def precisely(check):
    """The check at 128 bits, whatever else has set."""

    @functools.wraps(check)
    def at_128_bits(*arguments):
        with ctx.workprec(128):
            check(*arguments)

    return at_128_bits


def total(v):
    return sum(v, arb(0))


def around(x):
    """A ball that contains Q*(x), for floats x: F(w) − ‖∇F(w)‖²/4 ≤ Q* ≤ F(w) at the w that
    `sl.softmax_penalty` found."""
    found = sl.softmax_penalty(np.asarray(x, float))
    w, x = [arb(float(a)) for a in found.minimizer], [arb(float(a)) for a in x]
    e = [a.exp() for a in w]
    p = [a / total(e) for a in e]
    parts = [a / (b * b) for a, b in zip(x, p, strict=True)]
    K = total(parts)
    high = total([a * a for a in w]) + K
    low = high - total([(a + K * b - c) ** 2 for a, b, c in zip(w, p, parts, strict=True)])
    value = arb(float(found.value))
    if not (low * (1 - arb(2) ** -40) <= value and value <= high * (1 + arb(2) ** -40)):
        raise AssertionError(f"Q*({x}) is not {value}")
    return low.union(high)


def penalty(beta):
    """Q*(β∘β) as a ball; the squares of β are rounded once, which is covered."""
    x = np.square(np.asarray(beta, float))
    ball = around(x)
    return ball * arb(1, 2.0**-50)  # ∂log Q*/∂log x_i = x_iq_i/Q*, of sum at most 1


def minimiser(x):
    """w and p = softmax(w)."""
    w = sl.softmax_penalty(np.asarray(x, float)).minimizer
    return w, np.exp(w) / np.exp(w).sum()


@claim(
    "SA-figure-2-jointly",
    paper="SA",
    number=FIGURE,
    statement="β ↦ Q*(β∘β) is concave on the part |β₁| + |β₂| > 2 of a quadrant.",
    hypotheses="m = 2 in print; the correction for every m",
    method="proof, interval",
    verdict=Verdict.FALSE,
    correction="It is concave near no β at all: Q*(x + c·p³) = Q*(x) + c, so that the Hessian in β is "
    "positive in some direction; along the diagonal it is m³b². Concave it is in x = β∘β.",
    consequences="The guarantees of Zhang & Zhang (2012), for concave penalties of |β_i|, do not apply.",
    tolerance="none in the witness; 1e-12 of the value along the affine lines",
    mutants=("sl.softmax_penalty", "minimiser"),
    cases=1500,
)
@precisely
def test_nowhere_jointly_concave(check):
    one, two, three = (penalty([b, b]) for b in (2.0, 3.0, 4.0))
    check.refutes(
        bool(two < (one + three) / 2)
        and all(a.overlaps(arb(c)) for a, c in ((one, 32), (two, 72), (three, 128))),
        "β = (2, 2), (3, 3), (4, 4): Q* = 32, 72, 128, and 72 < (32 + 128)/2",
    )

    def affine_and_convex(_):
        m = int(check.rng.integers(2, 7))
        beta = check.rng.uniform(0.05, 4, m) * check.rng.choice([0.1, 1, 10])
        x = beta**2
        w, p = minimiser(x)
        c = float(np.min(x / np.maximum(p, 1e-9) ** 3)) * check.rng.uniform(-0.9, 3)
        moved = sl.softmax_penalty(x + c * p**3)
        value = float(sl.softmax_penalty(x).value)
        size = value + abs(c)
        line = abs(moved.value - value - c) <= 1e-12 * size and np.abs(moved.minimizer - w).max() <= 1e-9 * (
            1 + size
        )
        step = np.maximum(p, 1e-9) ** 3 / beta
        step *= 0.05 * np.min(beta / step)
        middle, ends = penalty(beta), (penalty(beta + step) + penalty(beta - step)) / 2
        b = float(check.rng.uniform(0.1, 5))
        diagonal = penalty(np.full(m, b)).overlaps(arb(m) ** 3 * arb(b * b) * arb(1, 2.0**-50))
        return line and diagonal and bool(middle < ends)

    check.over(range(check.cases), affine_and_convex)


def on_the_axis(m, a):
    """g(1 − ag''/g') + 2ag' for g = (1 + (m − 1)e^{−am/(m−1)})²: the sign of the curvature of f along (β,
    0, …, 0)."""
    e, rate = (-a * m / (m - 1)).exp(), arb(m) / (m - 1)
    slope = -2 * m * e * (1 + (m - 1) * e)
    return (1 + (m - 1) * e) ** 2 * (1 + a * rate * (1 + 2 * (m - 1) * e) / (1 + (m - 1) * e)) + 2 * a * slope


@claim(
    "SA-figure-2-rays",
    paper="SA",
    number=FIGURE,
    statement="t ↦ Q*(t²β∘β) is concave where t(|β₁| + |β₂|) > 2.",
    hypotheses="m = 2",
    method="proof, interval",
    verdict=Verdict.FALSE,
    correction="For m = 2 it is strictly convex on every ray, for all t > 0. (On a coordinate axis it is "
    "convex for m ≤ 6 too, and no longer for m = 8, at ‖β‖₁ = 0.354.)",
    consequences="Scaling is penalised like t², not like a constant.",
    mutants=("sl.softmax_penalty",),
    cases=3000,
)
@precisely
def test_convex_along_rays(check):
    check.refutes(
        bool(penalty([4.0, 2.0]) < (penalty([2.0, 1.0]) + penalty([6.0, 3.0])) / 2),
        "β = (2, 1), (4, 2), (6, 3): Q*(4, 2) is below the mean of the other two",
    )

    def strictly_convex(_):
        direction = check.rng.dirichlet([0.7, 0.7]) * 2.0 ** check.rng.uniform(-5, 6)
        r, t = check.rng.uniform(0.05, 0.9), 1.0
        return bool(
            penalty(t * direction) < (penalty((t - r) * direction) + penalty((t + r) * direction)) / 2
        )

    check.over(range(check.cases), strictly_convex)
    # beyond a = 6 the first term exceeds 1 and |2ag'| ≤ 4ma·e^{−a}(1 + (m − 1)e^{−a}) is below ½
    pieces = [arb(2 * i + 1, 1) / 512 for i in range(6 * 256)]
    check.over(range(2, 7), lambda m: all(bool(on_the_axis(m, a) > 0) for a in pieces))
    concave = penalty([0.354] + [0.0] * 7) * 2 - penalty([0.329] + [0.0] * 7) - penalty([0.379] + [0.0] * 7)
    check.tally(1, int(not (concave > 0 and on_the_axis(7, arb(1)) < 0)), "m = 7, 8 on an axis")


@claim(
    "SA-figure-2-across-diagonal",
    paper="SA",
    number=FIGURE,
    statement="At the points β = (b, b) with |β₁| + |β₂| > 2 the curvature of Q*(β∘β) across the diagonal is "
    "negative.",
    hypotheses="curvature in the directions δ with Σδ_i = 0 at β = b·1, any m ≥ 2",
    method="proof, interval",
    verdict=Verdict.HOLDS,
    consequences="The threshold is ‖β‖₁ = 1, for every m, where Q* = m: the curvature is 2m²‖δ‖²(1 − "
    "m²b²)/(1 + 3m²b²).",
    tolerance="the fourth-order term of the difference, below a tenth of the curvature for |1 − (mb)²| ≥ "
    "0.05",
    mutants=("sl.softmax_penalty",),
    cases=1500,
)
@precisely
def test_across_the_diagonal(check):
    def negative_beyond_one(i):
        m = int(check.rng.integers(2, 8)) if i % 2 else 2
        norm = float(check.rng.uniform(2, 20) if i % 3 == 0 else check.rng.uniform(0.2, 2))
        if abs(norm**2 - 1) < 0.05:
            norm = 1.2
        b, delta = norm / m, check.rng.normal(size=m)
        delta -= delta.mean()
        delta *= b * 2e-3 / np.abs(delta).max()
        second = penalty(np.full(m, b) + delta) + penalty(np.full(m, b) - delta) - 2 * penalty(np.full(m, b))
        expected = 2 * m**2 * float(delta @ delta) * (1 - norm**2) / (1 + 3 * norm**2)
        return abs(float(second) - expected) <= 0.1 * abs(expected) and (norm <= 2 or bool(second < 0))

    check.over(range(check.cases), negative_beyond_one)
    levels = all(penalty(np.full(m, 1 / m)).overlaps(arb(m) * arb(1, 2.0**-49)) for m in range(2, 9))
    check.tally(7, int(not levels), "Q* at ‖β‖₁ = 1 on the diagonal is not m")


@claim(
    "SA-figure-2-segments",
    paper="SA",
    number=FIGURE,
    statement="Q*(β∘β) is concave along the segments |β₁| + |β₂| = s, s > 2, of a quadrant.",
    hypotheses="m = 2",
    method="proof, interval",
    verdict=Verdict.FALSE,
    correction="For no s > 0: near the ends, on the axes, it is convex. For s > 1 it is concave in the "
    "middle.",
    mutants=("sl.softmax_penalty",),
    cases=1000,
)
@precisely
def test_segments_of_constant_norm(check):
    check.refutes(
        bool(penalty([2.75, 0.25]) * 2 < penalty([3.0, 0.0]) + penalty([2.5, 0.5])),
        "s = 3: Q* at (11/4, ¼) is below the mean of those at (3, 0) and (5/2, ½)",
    )

    def convex_at_the_ends(_):
        s = 2.0 ** check.rng.uniform(-4, 5)
        h = 2.0**-14 * s / (1 + s) ** 2
        second = penalty([s, 0.0]) + penalty([s - 2 * h, 2 * h]) - 2 * penalty([s - h, h])
        b, k = s / 2, 0.02 * s
        middle = penalty([b + k, b - k]) * 2 - 2 * penalty([b, b])
        return bool(second > 0) and (s <= 1.1 or bool(middle < 0))

    check.over(range(check.cases), convex_at_the_ends)


def bending(a, K):
    """G(a, K), of the sign of the second derivative of Q*(β∘β) along its level line; m = 2."""
    return 1 - K / 2 / np.cosh(a) ** 2 + 4 * a * np.tanh(a) + 8 * a * a / K


@claim(
    "SA-figure-2-contours",
    paper="SA",
    number=FIGURE,
    statement="In a quadrant the contours of Q*(β∘β) bend towards the origin wherever |β₁| + |β₂| > 2, like "
    "those of a concave penalty: there the second derivative along the level line is negative.",
    hypotheses="m = 2",
    method="proof, interval, float",
    verdict=Verdict.FALSE,
    correction="Only in a band around the diagonals, where 1 − (K/2)sech²a + 4a tanh a + 8a²/K < 0, w = (a, "
    "−a) and K = Q* − 2a²; near the axes the sublevel sets bulge at every level. {Q*(β∘β) ≤ c} is convex iff "
    "c ≤ 2.",
    consequences="The corners that make an ℓ_p ball with p ≤ 1 select are not there.",
    unchecked="whether {Q* ≤ c} is convex for c ≤ m where m ≥ 3 (for c > m it is not)",
    tolerance="differences of step 1e-3 of the point, where |G| ≥ 0.05(1 + K)",
    mutants=("sl.softmax_penalty", "bending"),
    cases=2000,
)
@precisely
def test_where_the_contours_bend_inwards(check):
    ends, middle = (penalty([3.0, 0.0]), penalty([2.6875, 0.25])), penalty([2.84375, 0.125])
    check.refutes(
        bool(middle < ends[0]) and bool(middle < ends[1]),
        "Q* at (91/32, ⅛) is below that at (3, 0) and at (43/16, ¼), whose midpoint it is",
    )

    def as_the_formula(_):
        a = float(check.rng.choice([0, 1]) * abs(check.rng.normal()) * 0.7)
        p = 1 / (1 + np.exp(-2 * a))
        K = a / (1 - p) * check.rng.uniform(1.02, 6) + check.rng.uniform(0, 5) * (a < 0.3) + 1e-3
        x = np.array([p**2 * (a + K * p), (1 - p) ** 2 * ((1 - p) * K - a)])
        if x.min() <= 0:
            return True
        beta, G = np.sqrt(x), bending(a, K)
        tangent = np.array([beta[1] / (1 - p) ** 2, -beta[0] / p**2])
        tangent *= 1e-3 * beta.min() / np.abs(tangent).max()
        second = penalty(beta + tangent) + penalty(beta - tangent) - 2 * penalty(beta)
        level = 2 * a * a + K
        on_axis = bending(a, a * (1 + np.exp(2 * a))) if a else 1.0
        good = on_axis > 0 and (level > 2 or G >= 0) and abs(float(penalty(beta)) - level) <= 1e-9 * level
        return good and (abs(G) < 0.05 * (1 + K) or bool(second * G > 0))

    check.over(range(check.cases), as_the_formula)


@claim(
    "SA-figure-2-in-x",
    paper="SA",
    number=FIGURE,
    statement="Q*(x) is concave in x = β∘β, everywhere, and increases in each x_i with slope q_i ≥ 1.",
    hypotheses="any m",
    method="proof, interval",
    verdict=Verdict.HOLDS,
    consequences="The one sense of the sentence that is true needs no threshold. A function concave in β² "
    "(β² itself, the ridge penalty, is one) need not favour zeros.",
    mutants=("sl.softmax_penalty",),
    cases=2000,
)
@precisely
def test_concave_in_the_squares(check):
    def midpoint_and_slope(_):
        m = int(check.rng.integers(1, 7))
        u, v = check.rng.exponential(size=(2, m)) * 4.0 ** check.rng.integers(-4, 5)
        u[check.rng.random(m) < 0.2] = 0
        u, v = np.ldexp(np.round(np.ldexp([u, v], 20)), -20)  # so that the midpoint is exact
        below = (around(u) + around(v)) / 2 <= around((u + v) / 2) * (1 + arb(2) ** -60)
        i = int(check.rng.integers(m))
        step = np.zeros(m)
        step[i] = np.ldexp(1.0, int(check.rng.integers(-6, 3)))
        rise = around(u + step) - around(u)
        _, p = minimiser(u)
        steep = rise >= float(step[i]) * (1 - 2.0**-30) and rise <= float(step[i] / p[i] ** 2 * (1 + 1e-6))
        return bool(below) and bool(steep)

    check.over(range(check.cases), midpoint_and_slope)


@claim(
    "SA-figure-2-l0",
    paper="SA",
    number=FIGURE,
    statement="For |β₁| + |β₂| > 2 Q*(β∘β) approximates the ℓ₀ regularizer: it stays between two multiples "
    "of ‖β‖₀.",
    hypotheses="m = 2 in print; the correction for every m",
    method="proof, interval",
    verdict=Verdict.FALSE,
    correction="Q*(t²β∘β)/t² decreases in t to (Σ|β_i|^{2/3})³ > 0: far out Q* is the square of the ℓ_{2/3} "
    "quasi-norm. On (b, 0), where ‖β‖₀ = 1, it is at least b².",
    tolerance="none",
    mutants=("sl.softmax_penalty",),
    cases=1500,
)
@precisely
def test_it_grows_like_a_square(check):
    check.refutes(
        bool(penalty([3.0, 0.0]) < 14) and bool(penalty([300.0, 0.0]) > 90_000),
        "Q* < 14 at (3, 0) and Q* > 90000 at (300, 0), both with one nonzero entry",
    )

    def towards_the_quasi_norm(_):
        m = int(check.rng.integers(2, 6))
        roots = check.rng.integers(0, 6, m)
        roots[0] = max(roots[0], 1)
        beta, quasi = roots.astype(float) ** 3, int(np.sum(roots**2)) ** 3
        scales = 2.0 ** np.array([-2, 1, 4, 9])
        ratios = [penalty(t * beta) / float(t) ** 2 for t in scales]
        falls = all(bool(b <= a * (1 + arb(2) ** -40)) for a, b in itertools.pairwise(ratios))
        # ‖w‖² at the mask ∝ |β|^{2/3}, zeros of β at a mask of 2⁻¹⁶ each
        return (
            falls
            and bool(ratios[-1] * (1 + arb(2) ** -40) >= quasi)
            and bool(ratios[-1] <= quasi * (1 + arb(1) / 100))
        )

    check.over(range(check.cases), towards_the_quasi_norm)


@claim(
    "SA-figure-2-sparse",
    paper="SA",
    number=FIGURE,
    statement="Q*(β∘β) induces a sparse solution β of (7), as ℓ₁ regularization does: for λ large enough "
    "some β_i is zero.",
    hypotheses="any X, y, λ > 0; S = ∅",
    method="proof, exact, interval",
    verdict=Verdict.FALSE,
    correction="A minimiser of (7) has 2⟨X_i, r⟩ = λq_iβ_i, q_i < ∞, so β_i = 0 only if ⟨X_i, r⟩ = 0: no λ "
    "makes other zeros. Otherwise the step ⟨X_i, r⟩/(‖X_i‖² + λq_i/2) in β_i lowers (7).",
    consequences="Sequential Attention needs its argmax: with softmax no threshold on β would select.",
    mutants=("sl.softmax_penalty", "minimiser"),
    cases=1500,
)
@precisely
def test_no_coefficient_becomes_zero(check):
    X, y = np.eye(2), np.array([2.0, 1.0])

    def value(X, y, beta, lam):
        r = y - X @ beta
        return arb(float(r @ r)) * arb(1, 2.0**-46) + lam / 2 * penalty(beta)

    def improved(X, y, beta, lam, i):
        """β with β_i = 0 moved by the step above."""
        _, p = minimiser(beta**2)
        better = beta.copy()
        better[i] = X[:, i] @ (y - X @ beta) / (X[:, i] @ X[:, i] + lam / 2 / max(p[i], 1e-9) ** 2)
        return better

    def lowers(lam, first):
        beta = np.array([first, 0.0])
        return bool(value(X, y, improved(X, y, beta, lam, 1), lam) < value(X, y, beta, lam))

    # β = (b, 0) with any b: 2⟨X₂, r⟩ = 2 ≠ 0; the LASSO (6) has β₂ = 0 for λ ≥ 2
    check.refutes(
        is_solution(X, y, (), rational([1.0, 0.0]), fmpq(1))
        and all(lowers(lam, b) for lam in (2.0, 8.0, 64.0) for b in (0.0, 0.25, 0.5, 1.0, 2.0)),
        "X = I₂, y = (2, 1), λ = 2: ℓ₁ has β = (1, 0); for no λ does (7) have a minimiser with β₂ = 0, where "
        "r₂ = 1",
    )

    def never_at_zero(_):
        n, d = int(check.rng.integers(1, 5)), int(check.rng.integers(2, 6))
        X, y = check.rng.integers(-2, 3, (n, d)).astype(float), check.rng.integers(-3, 4, n).astype(float)
        beta, lam = check.rng.integers(-3, 4, d) / 2, float(2.0 ** check.rng.integers(-3, 7))
        i = int(check.rng.integers(d))
        beta[i] = 0
        if X[:, i] @ (y - X @ beta) == 0:
            return True
        return bool(value(X, y, improved(X, y, beta, lam, i), lam) < value(X, y, beta, lam))

    check.over(range(check.cases), never_at_zero)
