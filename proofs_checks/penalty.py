"""The penalty Q* of the softmax mask in ball arithmetic: the functions that the checks of Q* share.

Q*(x) is the minimum over w of F(w) = ‖w‖² + Σ x_i/softmax_i(w)². A ball is an interval that is guaranteed to
contain the exact value. Each value from `sl.softmax_penalty` is enclosed in a ball, by the strong convexity
of F with constant 2. An inequality counts as proved only if the balls of its two sides do not overlap.
"""

import numpy as np
from flint import arb

import sparselin as sl


def balls(v):
    """Return the given floats as balls of radius zero."""
    return [arb(float(a)) for a in v]


def total(v):
    return sum(v, arb(0))


def softmax(w):
    e = [a.exp() for a in w]
    return [a / total(e) for a in e]


def objective_and_gradient(x, w):
    """Return balls that contain F(w) = ‖w‖² + Σ x_i/softmax_i(w)² and its gradient in w."""
    p = softmax(w)
    parts = [a / (b * b) for a, b in zip(x, p, strict=True)]
    K = total(parts)
    gradient = [2 * (a + K * b - c) for a, b, c in zip(w, p, parts, strict=True)]
    return total([a * a for a in w]) + K, gradient


def enclosure(x, w):
    """Return a lower and an upper bound on the softmax penalty Q*(x) = min_w ‖w‖² + Σ x_i/softmax_i(w)².

    The bounds are balls. They hold for every vector w of floats, and are close if w is near the minimiser.
    """
    F, gradient = objective_and_gradient(balls(x), balls(w))
    return F - total([g * g for g in gradient]) / 4, F


def ball(low, high):
    """Return a ball that contains the interval [low, high].

    The sum and the difference of the two floats must be exact in floating point.
    """
    return arb((low + high) / 2, (high - low) / 2)


def subdivided(boxes, holds, limit=20_000):
    """Halve boxes until `holds` is true on each part, and return the number of boxes that were tried.

    A box is a tuple of intervals (low, high). If more than `limit` boxes are needed, return −1.
    """
    boxes, count = list(boxes), 0
    while boxes:
        box = boxes.pop()
        count += 1
        if count > limit:
            return -1
        if holds(box):
            continue
        widest = max(range(len(box)), key=lambda i: box[i][1] - box[i][0])
        low, high = box[widest]
        middle = (low + high) / 2
        boxes += [(*box[:widest], half, *box[widest + 1 :]) for half in ((low, middle), (middle, high))]
    return count


def around(x):
    """Return a ball that contains the softmax penalty Q*(x) = min_w ‖w‖² + Σ x_i/softmax_i(w)².

    The ball is computed from the w that `sl.softmax_penalty` finds. Raises AssertionError if the value that
    this function reports is not in the ball.
    """
    found = sl.softmax_penalty(np.asarray(x, float))
    (low, high), value = enclosure(x, found.minimizer), arb(float(found.value))
    if not (low * (1 - arb(2) ** -40) <= value and value <= high * (1 + arb(2) ** -40)):
        raise AssertionError(f"Q*({x}) is not {value}")
    return low.union(high)


def penalty(beta):
    """Return a ball that contains the softmax penalty Q*(x) for the squares x_i = β_i².

    The ball allows for the rounding of these squares.
    """
    # ∂log Q*/∂log x_i = x_iq_i/Q*, of sum at most 1
    return around(np.square(np.asarray(beta, float))) * arb(1, 2.0**-50)


def second_difference(beta, step):
    """Return f(β + h) + f(β − h) − 2f(β) for the step h, where f(β) = Q*(β∘β) is the softmax penalty."""
    beta, step = np.asarray(beta), np.asarray(step)
    return penalty(beta + step) + penalty(beta - step) - 2 * penalty(beta)


def mask(a):
    """Return the softmax weights p₁ and p₂ of w = (a, −a)."""
    p = 1 / (1 + np.exp(-2 * a))
    return p, 1 - p


def dyadic(x, bits=20):
    """Return the multiple of 2^−bits that is nearest to each x, so that sums of these numbers are exact."""
    return np.ldexp(np.round(np.ldexp(x, bits)), -bits)


def level(beta):
    """Return numbers a and K that describe the softmax penalty of β ∈ ℝ².

    The minimum of ‖w‖² + Σ β_i²/softmax_i(w)² over w is attained at w = (a, −a), and K is the value of the
    sum there.
    """
    found = sl.softmax_penalty(np.square(np.asarray(beta, float)))
    a = float(found.minimizer[0])
    return a, float(found.value) - 2 * a * a


def place(a, c):
    """Return |β₁|, y₁, y₂ and K for the vector β ∈ ℝ² that has |β₂| = c and the minimiser w = (a, −a), a ≥ 0.

    The minimiser is that of ‖w‖² + Σ β_i²/softmax_i(w)². With its softmax weights p, y_i = (β_i/p_i)² and K =
    y₁ + y₂.
    """
    p, r = mask(a)
    y = (c / r) ** 2
    K = (y + a) / r
    return p * np.sqrt(a + K * p), a + K * p, y, K


def of_norm(s, a):
    """Return |β₂| of the vector β ∈ ℝ² that has ‖β‖₁ = s and the minimiser w = (a, −a), a ≥ 0, in floats.

    The minimiser is that of ‖w‖² + Σ β_i²/softmax_i(w)². If there is no such β, return 0.
    """
    odds = np.exp(2 * a)  # p₁/p₂; (s − |β₂|)² = p₁²a/p₂ + odds³β₂²
    square = max(s * s - a * odds**2 / (1 + odds), 0.0)
    return float(square / (s + np.sqrt(s * s + (odds**3 - 1) * square)))


def strip(sign, s, wide, narrow):
    """Return the number of intervals that prove a sign on both sides of a strip, or −1 without a proof.

    Here sign(a, c) is a function of the vectors β ∈ ℝ² with |β₂| = c for which w = (a, −a) minimises ‖w‖² + Σ
    β_i²/softmax_i(w)². The proof divides the range of a into intervals. It shows that sign(a, c) < 0 wherever
    ‖β‖₁ ≥ s and min|β_i| ≥ wide, and that sign(a, c) > 0 wherever ‖β‖₁ ≤ s and min|β_i| ≤ narrow.
    """

    def on_both_sides(box):
        ((low, high),) = box
        a, ends = ball(low, high), (arb(low), arb(high))
        # |β₁| increases in a
        c, e = max(wide, of_norm(s, high) * (1 - 1e-9)), min(narrow, of_norm(s, low) * (1 + 1e-9))
        reached = (c == wide or place(ends[1], arb(c))[0] + c <= s) and (
            e == narrow or place(ends[0], arb(e))[0] + e >= s
        )
        empty = place(ends[0], arb(0))[0] > s
        return reached and bool(sign(a, arb(c)) < 0) and (empty or bool(sign(a, arb(e)) > 0))

    beyond = arb(wide) ** 2 * arb(12).exp() > 10 and place(arb(3), arb(0))[0] > s
    return subdivided([((0.0, 3.0),)], on_both_sides, 5000) if beyond else -1


def sides(check, strips):
    """Draw a norm s = ‖β‖₁ and an interval for min|β_i| on one side of a random strip (s, wide, narrow).

    The third result is true for the outer side, where min|β_i| ≥ wide. It is false for the inner side, where
    min|β_i| ≤ narrow.
    """
    s, wide, narrow = strips[int(check.rng.integers(len(strips)))]
    if check.rng.random() < 0.5:
        s = dyadic(s * 2.0 ** check.rng.uniform(0, 3))
        return s, (wide, s / 2), True
    s = dyadic(s * check.rng.uniform(0.1, 1))
    return s, (0.0, min(narrow, s / 2)), False


def alike(first, second):
    """Return whether the two balls of each pair of corresponding entries may contain the same number."""
    return all((a - b).contains(0) for a, b in zip(first, second, strict=True))


def convex_at_the_end(s):
    """Return whether the softmax penalty Q*(β∘β) has the expected shape near the end (s, 0) of a segment.

    The segment is β₁ + β₂ = s with β ≥ 0. The penalty must be convex near this end, and decrease from it.
    """
    h = 2.0**-14 * s / (1 + s) ** 2
    falls = bool(penalty([s - h, h]) < penalty([s, 0.0]))
    return falls and bool(second_difference([s - h, h], [h, -h]) > 0)


def along_the_level_line(beta, p):
    """Return the second difference of the softmax penalty Q*(β∘β) along the tangent of its level line at β.

    The step is 1e-3 of the smaller entry of β.
    """
    tangent = np.array([beta[1] / (1 - p) ** 2, -beta[0] / p**2])
    return second_difference(beta, tangent * 1e-3 * beta.min() / np.abs(tangent).max())


def objective(X, y, beta, lam):
    """Return the loss ‖Xβ − y‖² + (λ/2)Q*(β∘β), where Q* is the softmax penalty."""
    r = y - X @ beta
    return arb(float(r @ r)) * arb(1, 2.0**-46) + lam / 2 * penalty(beta)
