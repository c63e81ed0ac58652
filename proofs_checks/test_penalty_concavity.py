"""Figure 2: the senses in which the softmax penalty Q*(β∘β) is concave, and the consequences for sparsity.

Source: *Sequential Attention for Feature Selection*, Figure 2 and the sentence before it (ICLR and NeurIPS
submission, in the same words). "Concave" in this sentence can mean several things; each meaning has a claim.

Notation: x = β∘β are the squares of the coefficients, and Q*(x) is the minimum over w of ‖w‖² + Σ
x_i/softmax_i(w)². Let w be the minimiser. At this w let p = softmax(w), and entry by entry q = 1/p² and y =
x∘q. Let K = Σ y_i. Then

    f(β) = Q*(x) = ‖w‖² + K,   y = w + Kp,   x = p²∘y.

For m = 2 coefficients, w = (a, −a) for a number a. Idea: the derivatives of f have closed forms in (a, K),
and these forms decide in which senses f is concave. Ball (interval) arithmetic on a subdivision proves where
a derivative changes its sign. Proofs: docs/proofs/penalty_concavity.md.

A value from `sl.softmax_penalty` is enclosed in a ball, by the strong convexity, with constant 2, of the
function that is minimised. An inequality between two values counts as proved only if their balls are
disjoint.
"""

import itertools

import numpy as np
from flint import arb, ctx, fmpq

import sparselin as sl
from proofs_checks import penalty as q_star
from proofs_checks.penalty import penalty
from proofs_checks.rational import is_solution, rational
from sparselin.ledger import CORRECTED, FALSE, HOLDS, claim, mutants

FIGURE = "Figure 2 and the sentence before it (ICLR, NeurIPS submission)"
SENTENCE = (
    "“These plots suggest that Q*(β∘β) is a concave regularizer when |β₁| + |β₂| > 2, which would thus "
    "approximate the ℓ₀ regularizer and induce a sparse solution of β, as ℓ₁ regularization does”"
)


def minimiser(x):
    """Return the minimiser w of ‖w‖² + Σ x_i/softmax_i(w)², the objective of the softmax penalty, and p =
    softmax(w).
    """
    w = sl.softmax_penalty(np.asarray(x, float)).minimizer
    return w, np.exp(w) / np.exp(w).sum()


@claim("SA-figure-2-jointly", FIGURE, "proof, interval", FALSE, reading_of=SENTENCE, cases=1500)
@mutants("sl.softmax_penalty", "minimiser")
@ctx.workprec(128)
def test_nowhere_jointly_concave(check):
    """β ↦ Q*(β∘β) is concave on the part |β₁| + |β₂| > 2 of a quadrant.

    Hypotheses: The paper has β ∈ ℝ². The correction is for β ∈ ℝᵐ with any m. Q*(x) is the minimum over w of
    ‖w‖² + Σ x_i/softmax_i(w)².

    Instead: Q*(β∘β) is concave in β on no open set. With x = β∘β and p = softmax(w) for the w at which Q*(x)
    is attained,

        Q*(x + c·p³) = Q*(x) + c,

    for every c with x + c·p³ ≥ 0. So at each β the second derivative is positive in some direction. Along the
    diagonal β = b·1 the value is m³b². As a function of x, Q* is concave.

    Consequences: The guarantees of Zhang & Zhang (2012) for concave penalties of |β_i| do not apply.

    Tolerance: The counterexample has no tolerance. Along lines on which Q* is affine, values may differ from
    the affine function by a relative error of 1e-12.
    """
    one, two, three = (penalty([b, b]) for b in (2.0, 3.0, 4.0))
    check.refutes(
        bool(two < (one + three) / 2)
        and all(a.overlaps(arb(c)) for a, c in ((one, 32), (two, 72), (three, 128))),
        "β = (2, 2), (3, 3), (4, 4): Q* = 32, 72, 128, and 72 < (32 + 128)/2",
    )

    def affine_and_convex(_):
        m = int(check.rng.integers(2, 7))
        beta = check.rng.uniform(0.05, 4, m) * check.rng.choice([0.1, 1, 10])
        w, p = minimiser(beta**2)
        c = float(np.min(beta**2 / np.maximum(p, 1e-9) ** 3)) * check.rng.uniform(-0.9, 3)
        at, moved = sl.softmax_penalty(beta**2), sl.softmax_penalty(beta**2 + c * p**3)
        size = at.value + abs(c)
        step = np.maximum(p, 1e-9) ** 3 / beta
        b = float(check.rng.uniform(0.1, 5))
        return (
            abs(moved.value - at.value - c) <= 1e-12 * size
            and np.abs(moved.minimizer - w).max() <= 1e-9 * (1 + size)
            and bool(q_star.second_difference(beta, step * 0.05 * np.min(beta / step)) > 0)
            and penalty(np.full(m, b)).overlaps(arb(m) ** 3 * arb(b * b) * arb(1, 2.0**-50))
        )

    check.over(range(check.cases), affine_and_convex)


def on_the_axis(m, a):
    """Return a number with the sign of the curvature of the softmax penalty Q*(β∘β) along a coordinate axis.

    β = (b, 0, …, 0) has m entries, and a is the first entry of the minimiser w at β. With g(a) = (1 + (m −
    1)e^{−am/(m−1)})², the number is g(1 − ag''/g') + 2ag'.
    """
    e, rate = (-a * m / (m - 1)).exp(), arb(m) / (m - 1)
    slope = -2 * m * e * (1 + (m - 1) * e)
    return (1 + (m - 1) * e) ** 2 * (1 + a * rate * (1 + 2 * (m - 1) * e) / (1 + (m - 1) * e)) + 2 * a * slope


@claim("ours-penalty-rays", FIGURE, "proof, interval", HOLDS, cases=3000)
@mutants("sl.softmax_penalty", "on_the_axis")
@ctx.workprec(128)
def test_convex_along_rays(check):
    """For β ∈ ℝ², t ↦ Q*(t²β∘β) is strictly convex on t > 0, so the penalty is convex along every ray. For β
    ∈ ℝᵐ on a coordinate axis, it is also convex for m ≤ 6, but not for m = 7 and m = 8.

    Hypotheses: t > 0, β ∈ ℝᵐ and β ≠ 0. Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Consequences: A larger scale is penalised like t², not like a constant. On an axis, Q* is not convex at
    ‖β‖₁ = 0.42 for m = 7, and at 0.354 for m = 8.

    Unchecked: For m ≥ 3, rays off the axes are not checked.
    """

    def strictly_convex(_):
        direction = check.rng.dirichlet([0.7, 0.7]) * 2.0 ** check.rng.uniform(-5, 6)
        return bool(q_star.second_difference(direction, check.rng.uniform(0.05, 0.9) * direction) > 0)

    check.over(range(check.cases), strictly_convex)
    # beyond a = 6 the first term exceeds 1 and |2ag'| ≤ 4ma·e^{−a}(1 + (m − 1)e^{−a}) is below ½
    pieces = [arb(2 * i + 1, 1) / 512 for i in range(6 * 256)]
    check.over(range(2, 7), lambda m: all(bool(on_the_axis(m, a) > 0) for a in pieces))
    for m, b in ((7, 0.42), (8, 0.354)):
        bent = q_star.second_difference(b * np.eye(m)[0], 0.02 * np.eye(m)[0])
        check.tally(1, int(not (bent < 0 and on_the_axis(m, arb(1)) < 0)), f"({b}, 0, …, 0), m = {m}")


def in_one_coordinate(a, K):
    """Return a number with the sign of the second derivative of the softmax penalty Q*(β∘β) in β₁, for β ∈
    ℝ².

    The penalty is the minimum over w of ‖w‖² + Σ β_i²/softmax_i(w)². At the minimiser w = (a, −a), the sum is
    K.
    """
    p, _ = q_star.mask(a)
    return 1 - 4 * a * (1 - 2 * p + 2 * p * p) - 2 * K * p * (1 - p) * (1 - 4 * p)


# ‖β‖₁, and between which |β₁| (inside the first pair, not outside the second) Q* is concave in β₁
CONCAVE_IN_ONE = ((5.0, (0.341, 0.3819), (0.3409, 0.382)), (10.0, (0.0637, 1.4913), (0.0636, 1.4914)))


def concave_between(row):
    """Return whether the softmax penalty is concave in β₁ exactly between two values of β₁, at points with
    |β₁| + |β₂| = s.

    It must be concave at 50 points of an inner interval, and convex at 50 points on each side of an outer
    one.
    """
    s, inside, outside = row
    rest = [*np.linspace(0, outside[0], 50), *np.linspace(outside[1], s, 50)]
    signs = [
        [in_one_coordinate(*q_star.level([b, s - b])) for b in part]
        for part in (np.linspace(*inside, 50), rest)
    ]
    return max(signs[0]) < 0 < min(signs[1])


def concave_beyond(low, high, bound=4.99):
    """Return whether the softmax penalty Q*(β∘β) is concave in β₁ only where |β₁| + |β₂| > `bound`.

    This is proved for all β ∈ ℝ² whose minimiser w = (−a, a) has a between `low` and `high`.
    """
    a = q_star.ball(low, high)
    at_zero = in_one_coordinate(-a, arb(0))
    slope = (at_zero - in_one_coordinate(-a, arb(1))).upper()
    K, r = at_zero.lower() / slope, 1 / (1 + (2 * a).exp())
    least = r * (K * r - a).sqrt() + (1 - r) * (K * (1 - r) + a).sqrt()
    return bool(slope <= 0) or bool(least > bound)


@claim("SA-figure-2-coordinatewise", FIGURE, "proof, interval, float", FALSE, reading_of=SENTENCE, cases=1500)
@mutants("sl.softmax_penalty", "in_one_coordinate")
@ctx.workprec(128)
def test_in_one_coordinate(check):
    """Q*(β∘β) is concave in each |β_i| ≥ 0 wherever |β₁| + |β₂| > 2.

    Hypotheses: β ∈ ℝ², and Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)². Of the possible
    readings of “concave”, this one is closest to the penalties of Zhang & Zhang (2012).

    Instead: Q*(β∘β) is convex in β₁ if ‖β‖₁ ≤ 4.99 or |β₁| ≥ 3^{−3/2}|β₂|, and nowhere concave in both
    coordinates. Let Q* be attained at w = (a, −a), p = softmax(w) and K = Q* − 2a². Q* is concave in β₁ if
    and only if

        2Kp₁p₂(1 − 4p₁) ≥ 1 − 4a(p₁² + p₂²).

    For ‖β‖₁ = 5 this holds for |β₁| from 0.341 to 0.382. For ‖β‖₁ = 10 it holds for |β₁| from 0.064 to 1.491.

    Consequences: If ‖β‖₁ is large, Q*(β∘β) is concave in the smaller coordinate, except near the axis.

    Unchecked: The ends of these two intervals are checked only at 150 points for each ‖β‖₁, in floating
    point.
    """
    check.refutes(
        bool(q_star.second_difference([3.0, 1.0], [1.0, 0.0]) > 0),
        "β = (2, 1), (3, 1), (4, 1): Q* at (3, 1) is below the mean of the other two",
    )

    def as_the_formula(_):
        s = 2.0 ** check.rng.uniform(-2, 6)
        share = check.rng.uniform(0, 0.3) if check.rng.random() < 0.6 else check.rng.uniform(0, 1)
        beta = q_star.dyadic([s * share, s * (1 - share)], 30)
        if beta.min() < 2.0**-10 * s:
            return True
        (a, K), h = q_star.level(beta), np.ldexp(1.0, int(np.log2(beta[0])) - 10)
        sign, bent = in_one_coordinate(a, K), q_star.second_difference(beta, [h, 0.0])
        convex = beta.sum() <= 4.99 or beta[0] >= 3**-1.5 * beta[1]
        # the two coordinates change places with a and −a
        both = sign <= 0 and in_one_coordinate(-a, K) <= 0
        return not both and (sign > 0 or not convex) and (abs(sign) < 0.01 * (1 + K) or bool(bent * sign > 0))

    check.over(range(check.cases), as_the_formula)
    check.over(CONCAVE_IN_ONE, concave_between)
    check.over(((0.36, 4.64), (0.5, 9.5)), lambda b: bool(q_star.second_difference(b, [2.0**-8, 0.0]) < 0))
    # p₁ < ¼ from a = ½ log 3 on; from a = 2 on K ≥ (1 + 2a)e^{2a}/2, and |β₂| ≥ p₂^{3/2}√K > 7
    count = q_star.subdivided([((281 / 512, 2.0),)], lambda box: concave_beyond(*box[0]), 5000)
    check.tally(max(count, 1), int(count < 0), "concave in β₁ at ‖β‖₁ ≤ 4.99")


@claim("SA-figure-2-across-diagonal", FIGURE, "proof, interval", HOLDS, reading_of=SENTENCE, cases=1500)
@mutants("sl.softmax_penalty")
@ctx.workprec(128)
def test_across_the_diagonal(check):
    """At the points β = (b, b) with |β₁| + |β₂| > 2 the curvature of Q*(β∘β) across the diagonal is negative.

    Hypotheses: The curvature is that in the directions δ with Σδ_i = 0, at β = b·1 ∈ ℝᵐ with any m ≥ 2. Q*(x)
    is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Consequences: The curvature becomes negative at ‖β‖₁ = 1, for every m; there Q* = m. The curvature in the
    direction δ is

        2m²‖δ‖²(1 − m²b²)/(1 + 3m²b²).

    Tolerance: The curvature is compared with a second difference. Their difference, of fourth order in the
    step, is tolerated. It is below a tenth of the curvature for |1 − (mb)²| ≥ 0.05.
    """

    def negative_beyond_one(i):
        m = int(check.rng.integers(2, 8)) if i % 2 else 2
        norm = float(check.rng.uniform(2, 20) if i % 3 == 0 else check.rng.uniform(0.2, 2))
        if abs(norm**2 - 1) < 0.05:
            norm = 1.2
        b, delta = norm / m, check.rng.normal(size=m)
        delta -= delta.mean()
        delta *= b * 2e-3 / np.abs(delta).max()
        second = q_star.second_difference(np.full(m, b), delta)
        expected = 2 * m**2 * float(delta @ delta) * (1 - norm**2) / (1 + 3 * norm**2)
        return abs(float(second) - expected) <= 0.1 * abs(expected) and (norm <= 2 or bool(second < 0))

    check.over(range(check.cases), negative_beyond_one)
    levels = all(penalty(np.full(m, 1 / m)).overlaps(arb(m) * arb(1, 2.0**-49)) for m in range(2, 9))
    check.tally(7, int(not levels), "Q* at ‖β‖₁ = 1 on the diagonal is not m")


def curving(a, first, second):
    """Return a number with the sign of the second derivative of the softmax penalty along the segment |β₁| +
    |β₂| = s.

    The minimiser w = (a, −a) and the two terms β_i²/softmax_i(w)² at β are given.
    """
    p, r = q_star.mask(a)
    H = 4 + 8 * r * (1 + r) * first + 8 * p * (1 + p) * second
    across = np.sqrt(first) * r / p + np.sqrt(second) * p / r
    return (1 / p**2 + 1 / r**2) * H / 2 - 16 * across**2


# s and two bounds between which min|β_i| is where the second derivative changes sign
SEGMENTS = ((2.0, 0.308, 0.307), (3.0, 0.244, 0.243), (5.0, 0.149, 0.148), (10.0, 0.059, 0.058))
# s and the larger share of the point of least Q*, to within 2e-4, 5e-5, 5e-6
LEAST = ((2.0, 0.9542, 2e-4), (3.0, 0.98530, 5e-5), (10.0, 0.999613, 5e-6))


def least_on_segment(row):
    """Return whether the softmax penalty on the segment |β₁| + |β₂| = s is least where it is claimed to be.

    `row` has s, the share of s that the larger coordinate has at the minimum, and the precision of this
    share.
    """
    s, share, within = row
    below, at, above = (penalty([s * b, s * (1 - b)]) for b in (share - within, share, share + within))
    # beyond the convex part the slope in min|β_i| is positive, and stays so where f is concave
    wide, narrow = next(row[1:] for row in SEGMENTS if row[0] == s)
    p = minimiser(np.square([s - wide, wide]))[1]
    rising = narrow / p[1] ** 2 > 1.01 * (s - narrow) / p[0] ** 2
    return bool(at < below) and bool(at < above) and rising and s * (1 - share) < narrow


@claim("SA-figure-2-segments", FIGURE, "proof, interval", CORRECTED, reading_of=SENTENCE, cases=1000)
@mutants("sl.softmax_penalty", "curving", "minimiser")
@ctx.workprec(128)
def test_segments_of_constant_norm(check):
    """In a quadrant, Q*(β∘β) is concave along the segments |β₁| + |β₂| = s, s > 2. On such a segment it is
    least at the two end points, which lie on the axes.

    Hypotheses: β ∈ ℝ², and Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Instead: For s ≥ 2, Q*(β∘β) is concave along the segment outside a strip min|β_i| < 0.308 along the axes
    (0.244 for s ≥ 3, 0.149 for s ≥ 5, 0.059 for s ≥ 10). Inside the strip it is convex. The minimum is close
    to an axis, and never on it: its larger coordinate is 0.954s, 0.985s, 0.9996s for s = 2, 3, 10. For s ≥
    1.482, the value on an axis is below the value on the diagonal.

    Consequences: Among the β with a given ‖β‖₁, Q* favours β that are nearly sparse.
    """
    check.refutes(
        all(bool(penalty([2.9375, 0.0625]) < penalty([3.0 - b, b])) for b in (0.0, 0.125)),
        "s = 3: Q* at (47/16, 1/16) is below that at (3, 0) and at (23/8, ⅛), whose midpoint it is",
    )

    for row in SEGMENTS:
        count = q_star.strip(lambda a, c: curving(a, *q_star.place(a, c)[1:3]), *row)
        check.tally(max(count, 1), int(count < 0), f"the strip of {row}")

    def on_both_sides(_):
        s, (low, high), outer = q_star.sides(check, SEGMENTS)
        u, v = np.ldexp(np.ceil(np.ldexp(np.sort(check.rng.uniform(low, high, 2)), 20)), -20)
        if outer and check.rng.random() < 0.3:
            v = s - v  # beyond the diagonal
        half = (v - u) / 2
        bent = q_star.second_difference([s - u - half, u + half], [-half, half])
        return abs(v - u) < 0.02 * (high - low) or bool(bent < 0 if outer else bent > 0)

    check.over(range(check.cases), on_both_sides)
    check.over(range(check.cases), lambda _: q_star.convex_at_the_end(2.0 ** check.rng.uniform(-4, 5)))
    check.over(LEAST, least_on_segment)
    # on the diagonal Q* is 2s²
    below, beyond = (penalty([s, 0.0]) - 2 * arb(s) ** 2 for s in (1.4819, 1.482))
    check.tally(1, int(not below > 0 > beyond), "where an axis is below the diagonal")


def bending(a, K):
    """Return a number with the sign of the second derivative of the softmax penalty along its level line, for
    β ∈ ℝ².

    The penalty is the minimum over w of ‖w‖² + Σ β_i²/softmax_i(w)². At the minimiser w = (a, −a), the sum is
    K. The level line bends towards the origin where the number is negative.
    """
    p, _ = q_star.mask(a)
    return 1 - 2 * K * p * (1 - p) + 4 * a * (2 * p - 1) + 8 * a * a / K


CONTOURS = ((2.0, 0.264, 0.263), (3.0, 0.193, 0.192), (5.0, 0.118, 0.117), (10.0, 0.052, 0.051))


def as_the_formula(a, K):
    """Return whether the formula for the curvature of a level line of the softmax penalty has the sign of a
    second difference.

    β ∈ ℝ² is the point with the minimiser w = (a, −a) and with Σ β_i²/softmax_i(w)² = K. Return True if there
    is no such point.
    """
    p, r = q_star.mask(a)
    x = np.array([p**2 * (a + K * p), r**2 * (K * r - a)])
    if x.min() <= 0:
        return True
    beta, G, height = np.sqrt(x), bending(a, K), 2 * a * a + K
    on_axis = bending(a, a * (1 + np.exp(2 * a))) if a else 1.0
    good = on_axis > 0 and (height > 2 or G >= 0) and abs(float(penalty(beta)) - height) <= 1e-9 * height
    return good and (abs(G) < 0.05 * (1 + K) or bool(q_star.along_the_level_line(beta, p) * G > 0))


@claim("SA-figure-2-contours", FIGURE, "proof, interval, float", CORRECTED, reading_of=SENTENCE, cases=2000)
@mutants("sl.softmax_penalty", "bending")
@ctx.workprec(128)
def test_where_the_contours_bend_inwards(check):
    """In a quadrant, the contours of Q*(β∘β) bend towards the origin wherever |β₁| + |β₂| > 2, like the
    contours of a concave penalty: the second derivative along the level line is negative.

    Hypotheses: β ∈ ℝ², and Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Instead: For |β₁| + |β₂| ≥ 2, this holds outside a strip min|β_i| < 0.264 along the axes. The strip is
    narrower for larger β: its width is 0.193 for ‖β‖₁ ≥ 3, 0.118 for ‖β‖₁ ≥ 5 and 0.052 for ‖β‖₁ ≥ 10. Inside
    the strip the contours bend outwards, at every level. The set {Q*(β∘β) ≤ c} is convex if and only if c ≤
    2.

    Consequences: An ℓ_p ball with p ≤ 1 selects by its corners, but here the corners are rounded. So β is
    nearly sparse, not sparse.

    Unchecked: For β ∈ ℝᵐ with m ≥ 3, it is not checked whether {Q* ≤ c} is convex for c ≤ m. (For c > m it is
    not.)

    Tolerance: Second differences have a step of 1e-3 of the point. They are compared with a closed formula G
    for the second derivative only if |G| ≥ 0.05(1 + K), where K = Σ β_i²/softmax_i(w)² at the minimiser w.
    """
    ends, middle = (penalty([3.0, 0.0]), penalty([2.6875, 0.25])), penalty([2.84375, 0.125])
    check.refutes(
        bool(middle < ends[0]) and bool(middle < ends[1]),
        "Q* at (91/32, ⅛) is below that at (3, 0) and at (43/16, ¼), whose midpoint it is",
    )
    for row in CONTOURS:
        count = q_star.strip(lambda a, c: bending(a, q_star.place(a, c)[3]), *row)
        check.tally(max(count, 1), int(count < 0), f"the strip of {row}")

    def on_both_sides(_):
        s, (low, high), outer = q_star.sides(check, CONTOURS)
        c = check.rng.uniform(low, high)
        a, K = q_star.level([s - c, c])
        G = bending(a, K)
        if c < 1e-4 * s or abs(G) < 0.05 * (1 + K):
            return (G < 0) == outer
        second = q_star.along_the_level_line(np.array([s - c, c]), q_star.mask(a)[0])
        return (G < 0) == outer and bool(second < 0 if outer else second > 0)

    def anywhere(_):
        a = float(check.rng.choice([0, 1]) * abs(check.rng.normal()) * 0.7)
        K = a / q_star.mask(a)[1] * check.rng.uniform(1.02, 6) + check.rng.uniform(0, 5) * (a < 0.3) + 1e-3
        return as_the_formula(a, K)

    check.over(range(check.cases), on_both_sides)
    check.over(range(check.cases), anywhere)


@claim("SA-figure-2-in-x", FIGURE, "proof, interval", HOLDS, reading_of=SENTENCE, cases=2000)
@mutants("sl.softmax_penalty")
@ctx.workprec(128)
def test_concave_in_the_squares(check):
    """Q*(x) is concave in x = β∘β everywhere, and increases in each x_i with a slope q_i ≥ 1.

    Hypotheses: β ∈ ℝᵐ with any m. Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)², and q =
    1/softmax(w)² at the minimiser w.

    Consequences: In this sense the paper's sentence is true, even without its condition |β₁| + |β₂| > 2. But
    a function that is concave in β² need not favour zeros. The ridge penalty β² is an example.
    """

    def midpoint_and_slope(_):
        m = int(check.rng.integers(1, 7))
        u, v = check.rng.exponential(size=(2, m)) * 4.0 ** check.rng.integers(-4, 5)
        u[check.rng.random(m) < 0.2] = 0
        u, v = q_star.dyadic([u, v])
        below = (q_star.around(u) + q_star.around(v)) / 2 <= q_star.around((u + v) / 2) * (1 + arb(2) ** -60)
        i = int(check.rng.integers(m))
        step = np.zeros(m)
        step[i] = np.ldexp(1.0, int(check.rng.integers(-6, 3)))
        rise = q_star.around(u + step) - q_star.around(u)
        _, p = minimiser(u)
        steep = rise >= float(step[i]) * (1 - 2.0**-30) and rise <= float(step[i] / p[i] ** 2 * (1 + 1e-6))
        return bool(below) and bool(steep)

    check.over(range(check.cases), midpoint_and_slope)


@claim("ours-penalty-l0", FIGURE, "proof, exact, interval", HOLDS, cases=1500)
@mutants("sl.softmax_penalty")
@ctx.workprec(128)
def test_it_grows_like_a_square(check):
    """The ratio Q*(t²β∘β)/t² decreases to N = (Σ|β_i|^{2/3})³ as t → ∞, and

        ‖β‖₁² ≤ N ≤ ‖β‖₀‖β‖₁².

    The upper bound is attained if and only if the nonzero |β_i| are equal.

    The value of Q*(β∘β) at (s/2, s/2), divided by its value at (s, 0), increases to 2 as s → ∞.

    Hypotheses: β ∈ ℝᵐ with any m, and β ≠ 0. Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Consequences: Among the β with the same large ‖β‖₁, Q* is about twice as large for two equal nonzero
    entries as for one, like ‖β‖₀. But as ‖β‖₁ varies, Q* grows like a square, and is unbounded even for ‖β‖₀
    = 1.
    """
    # at (s/2, s/2) it is 2s²
    halves = [2 * arb(s * s) / penalty([s, 0.0]) for s in 2.0 ** np.arange(-3, 13)]
    rising = all(bool(a < b) for a, b in itertools.pairwise(halves)) and 1.9999 < halves[-1] < 2
    flat = all(penalty([s / 2, s / 2]).overlaps(2 * arb(s * s)) for s in 2.0 ** np.arange(-3, 13))
    check.tally(len(halves), int(not (rising and flat)), "Q*(s/2, s/2)/Q*(s, 0)")

    def towards_the_quasi_norm(_):
        m = int(check.rng.integers(2, 6))
        roots = check.rng.integers(0, 6, m)
        roots[0] = max(roots[0], 1)
        beta, quasi = roots.astype(float) ** 3, int(np.sum(roots**2)) ** 3
        norm, support = int(np.sum(roots**3)) ** 2, np.count_nonzero(roots)
        equal = np.unique(roots[roots > 0]).size == 1
        scales = 2.0 ** np.array([-2, 1, 4, 9])
        ratios = [penalty(t * beta) / float(t) ** 2 for t in scales]
        falls = all(bool(b <= a * (1 + arb(2) ** -40)) for a, b in itertools.pairwise(ratios))
        # ‖w‖² at the mask ∝ |β|^{2/3}, zeros of β at a mask of 2⁻¹⁶ each
        return (
            falls
            and norm <= quasi <= support * norm
            and (quasi == support * norm) == equal
            and bool(ratios[-1] * (1 + arb(2) ** -40) >= quasi)
            and bool(ratios[-1] <= quasi * (1 + arb(1) / 100))
        )

    check.over(range(check.cases), towards_the_quasi_norm)


def lowers(X, y, beta, lam, i):
    """Return whether a coefficient β_i = 0 is not optimal in problem (7), min ‖Xβ − y‖² + (λ/2)Q*(β∘β).

    The objective must decrease if β_i becomes ⟨X_i, y − Xβ⟩/(‖X_i‖² + λ/(2·softmax_i(w)²)), where the softmax
    penalty Q* is attained at w.
    """
    _, p = minimiser(beta**2)
    better = beta.copy()
    better[i] = X[:, i] @ (y - X @ beta) / (X[:, i] @ X[:, i] + lam / 2 / max(p[i], 1e-9) ** 2)
    return bool(q_star.objective(X, y, better, lam) < q_star.objective(X, y, beta, lam))


@claim("SA-figure-2-sparse", FIGURE, "proof, exact, interval", FALSE, reading_of=SENTENCE, cases=1500)
@mutants("sl.softmax_penalty", "minimiser")
@ctx.workprec(128)
def test_no_coefficient_becomes_zero(check):
    """The penalty Q*(β∘β) induces sparse minimisers β of problem (7), min ‖Xβ − y‖² + (λ/2)·Q*(β∘β), as ℓ₁
    regularization does. For λ large enough some β_i is zero.

    Hypotheses: X and y are arbitrary, λ > 0, and no feature has been selected before (S = ∅). Q*(x) is the
    minimum over w of ‖w‖² + Σ x_i/softmax_i(w)².

    Instead: The statement is false. No λ makes a coefficient β_i of a minimiser zero unless ⟨X_i, r⟩ = 0,
    where r = y − Xβ. To see this, let q_i = 1/softmax_i(w)² < ∞ at the w at which Q*(β∘β) is attained. A
    minimiser β of (7) has

        2⟨X_i, r⟩ = λq_iβ_i,

    so β_i = 0 only if ⟨X_i, r⟩ = 0. If β_i = 0 and ⟨X_i, r⟩ ≠ 0, the step ⟨X_i, r⟩/(‖X_i‖² + λq_i/2) in β_i
    lowers (7).

    Consequences: β can be nearly sparse. For example, among the β ∈ ℝ² with ‖β‖₁ = 10, Q* is least at (9.996,
    0.004) (ledger id SA-figure-2-segments). With softmax, the zeros of β cannot select features, so
    Sequential Attention needs its argmax.
    """
    X, y = np.eye(2), np.array([2.0, 1.0])
    # β = (b, 0) with any b: 2⟨X₂, r⟩ = 2 ≠ 0; the LASSO (6) has β₂ = 0 for λ ≥ 2
    check.refutes(
        is_solution(X, y, (), rational([1.0, 0.0]), fmpq(1))
        and all(
            lowers(X, y, np.array([b, 0.0]), lam, 1)
            for lam in (2.0, 8.0, 64.0)
            for b in (0.0, 0.25, 0.5, 1.0, 2.0)
        ),
        "X = I₂, y = (2, 1), λ = 2: ℓ₁ has β = (1, 0); for no λ does (7) have a minimiser with β₂ = 0, where "
        "r₂ = 1",
    )

    def never_at_zero(_):
        n, d = int(check.rng.integers(1, 5)), int(check.rng.integers(2, 6))
        X, y = check.rng.integers(-2, 3, (n, d)).astype(float), check.rng.integers(-3, 4, n).astype(float)
        beta, lam = check.rng.integers(-3, 4, d) / 2, float(2.0 ** check.rng.integers(-3, 7))
        i = int(check.rng.integers(d))
        beta[i] = 0
        return X[:, i] @ (y - X @ beta) == 0 or lowers(X, y, beta, lam, i)

    check.over(range(check.cases), never_at_zero)
