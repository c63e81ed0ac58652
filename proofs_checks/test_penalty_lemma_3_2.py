"""Lemma 3.2: a softmax mask with weight decay induces a penalty on β.

Source: *Sequential Attention for Feature Selection*, Lemma 3.2 with its proof in A.3 (ICLR and NeurIPS
submission, in the same words and numbers). The lemma states that a softmax mask only changes the penalty, in
equation (7):

        inf over β = softmax(w, S̄)∘θ of ‖Xβ − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²)  =  inf_β ‖Xβ − y‖² + (λ/2)Q*(β∘β).

Here S̄ is the set of the unselected features. The map D has the entries D(w)_i = 1/softmax_i(w, S̄)² for i ∈
S̄, and ran(D) is its range. Q(q) is the least ‖w‖² with D(w) = q, and Q*(x) = inf_{q ∈ ran(D)} Σ x_iq_i +
Q(q). Idea of the proof: for given w and β, θ = β/softmax(w) is the only choice. Let x = β∘β on S̄, p =
softmax(w), q = 1/p² and K = Σ x_iq_i. The objective in w is then

    F(w) = ‖w‖² + Σ_i x_i (Σ_j e^{w_j − w_i})²,   ∇F = 2(w + Kp − x∘q).

F is strongly convex with constant 2, so that F(w) − ‖∇F(w)‖²/4 ≤ Q*(x) ≤ F(w). The checks evaluate these two
bounds in ball arithmetic. Proofs: docs/proofs/softmax_penalty.md.
"""

import functools

import numpy as np
from flint import arb, ctx
from scipy.optimize import minimize

import sparselin as sl
from proofs_checks import BOTH
from proofs_checks.penalty import balls, enclosure, objective_and_gradient, softmax, total
from sparselin.ledger import HOLDS, MISPRINT, claim, mutants

EPS = np.finfo(float).eps


def decay_of_mask_and_weights(x, w):
    """Return ‖w‖² + Σ x_i/softmax_i(w)², the weight decay of a mask w and of the weights θ = √x/softmax(w),
    as a ball.
    """
    theta = [arb(float(a)).sqrt() / b for a, b in zip(x, softmax(balls(w)), strict=True)]
    return total([a * a for a in balls(w)]) + total([t * t for t in theta])


def printed_objective(x, w):
    """Return the objective Σ x_iq_i + Q(q) of Lemma 3.2 at q = 1/softmax(w)², in floating point.

    Q(q) is the least ‖w‖² that gives this q.
    """
    q = np.array([float(1 / (a * a)) for a in softmax(balls(w))])
    q *= np.sum(q**-0.5) ** 2
    return float(sl.q(q).value) + float(q @ x)


def left_side(X, y, unselected, lam, v):
    """Return the left objective of equation (7), ‖X(softmax(w, S̄)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²), at v =
    (w, θ).

    S̄ is the set of the unselected features.
    """
    w, theta = np.split(v, 2)
    s, e = np.ones(w.size), np.exp(w[unselected] - w.max())
    s[unselected] = e / e.sum()
    return np.sum((X @ (s * theta) - y) ** 2) + lam / 2 * (w @ w + theta[unselected] @ theta[unselected])


def right_side(X, y, unselected, lam, beta):
    """Return the right objective of equation (7), ‖Xβ − y‖² + (λ/2)Q*(β_S̄∘β_S̄), for the softmax penalty Q*.

    S̄ is the set of the unselected features.
    """
    penalty = float(sl.softmax_penalty(beta[unselected] ** 2).value) if len(unselected) else 0.0
    return np.sum((X @ beta - y) ** 2) + lam / 2 * penalty


def least(side, starts):
    return min(minimize(side, v, method="BFGS").fun for v in starts)


def random_x(rng, m):
    """Return the squares x = β∘β of random coefficients, some of which may be zero, or all equal."""
    beta = rng.normal(size=m) * 2.0 ** rng.integers(-6, 7)
    beta[rng.random(m) < 0.15] = 0
    if rng.random() < 0.2:
        beta[:] = beta[0]
    return beta**2


def least_by_quasi_newton(x):
    """Return the softmax penalty Q*(x), the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)², by a
    general-purpose optimiser.
    """

    def F(w):
        e = np.exp(w - w.max())
        p = e / e.sum()
        parts = x / p**2
        return w @ w + parts.sum(), 2 * (w + parts.sum() * p - parts)

    return min(minimize(F, w0, jac=True, method="BFGS", options={"gtol": 1e-9}).fun for w0 in np.eye(len(x)))


def bounded_below_by_penalty(rng):
    """Return whether the softmax penalty Q*(x) is a lower bound of both forms of its objective, attained at
    the minimiser.

    The forms are Σ x_iq_i + Q(q) of Lemma 3.2 and the weight decay ‖w‖² + ‖θ‖². They are compared with Q*(x)
    at a random w. Q*(x) must also lie between its two bounds in ball arithmetic.
    """
    x = random_x(rng, int(rng.integers(1, 7)))
    found = sl.softmax_penalty(x)
    (low, high), value = enclosure(x, found.minimizer), float(found.value)
    w = rng.normal(size=x.size) * rng.choice([0.1, 1, 3])
    decay, by_q = decay_of_mask_and_weights(x, w), printed_objective(x, w)
    enclosed = bool(low - 1e-12 * value <= value) and bool(value <= high + 1e-12 * value)
    decay_above = bool(low <= decay)
    # Q(D(w)) ≤ ‖w‖²: q fixes w up to a constant
    printed_between = float(low) <= by_q * (1 + 1e-12) <= float(decay) * (1 + 1e-10) + 1e-300
    reached = abs(printed_objective(x, found.minimizer) - value) <= 1e-12 * max(value, 1e-300)
    return enclosed and decay_above and printed_between and reached


def both_sides(rng):
    """Return whether the two sides of equation (7) of the paper, minima over different variables, agree
    numerically.

    Each minimum is found by an optimiser from several starts, for a random small design.
    """
    d = int(rng.integers(1, 4))
    X, y, lam = rng.integers(-2, 3, (3, d)), rng.integers(-3, 4, 3), float(rng.integers(1, 5))
    unselected = np.flatnonzero(rng.random(d) >= 0.25)
    starts = rng.normal(size=(6, 2 * d))
    left = least(functools.partial(left_side, X, y, unselected, lam), starts)
    right = least(functools.partial(right_side, X, y, unselected, lam), starts[:, d:])
    return abs(left - right) <= 1e-6 * max(y @ y, 1)


@claim("SA-lemma-3.2", f"Lemma 3.2 and equation (7) {BOTH}", "proof, interval, float", MISPRINT, ci_cases=25)
@mutants("sl.softmax_penalty", "sl.q", "objective_and_gradient")
@ctx.workprec(128)
def test_softmax_only_changes_the_penalty(check):
    """The two infima of equation (7) are equal:

        inf over β = softmax(w, S̄)∘θ of ‖Xβ − y‖² + (λ/2)(‖w‖² + ‖θ_S̄‖²)
            = inf over β of ‖Xβ − y‖² + (λ/2)Q*(β∘β).

    Here Q* : ℝ^S̄ → ℝ is Q*(x) = inf_{q ∈ ran(D)} Σ x_iq_i + Q(q). D is the map D(w)_i = 1/softmax_i(w, S̄)²
    with the range ran(D), and Q(q) = inf {‖w‖² : D(w) = q}.

    Hypotheses: S is any set of selected features, S̄ its complement, λ ≥ 0, and any loss of β may replace ‖Xβ
    − y‖². The check uses both Q*(x) = inf_w ‖w‖² + Σ x_i/softmax_i(w)² and Σ x_iq_i + Q(q).

    Instead: Q* : [0, ∞)^S̄ → ℝ, and its argument is β_S̄∘β_S̄. These are slips of notation. With them
    corrected, (7) holds as printed.

    Consequences: Equation (14) holds, and so does “this only changes the choice of regularization”.

    Tolerance: There is none between balls. Values from float64 may differ from them by a relative error of
    1e-12. The two global minima, each found from several starts, may differ by 1e-6 of ‖y‖².
    """
    # w = (−t, t): F = 2t² − (1 + e^{2t})², less than −e^{4t}/2 from t = 1 on
    check.refutes(
        all(
            objective_and_gradient(balls([-1, 0]), balls([-t, t]))[0] + arb(4 * t).exp() / 2 < 0
            for t in (1, 2, 4, 8)
        ),
        "|S̄| = 2, x = (−1, 0): Σ x_iq_i + Q(q) < −½e^{4t} at w = (−t, t), t ≥ 1: Q*(x) = −∞",
    )
    both = np.array([1.0, 0.0])
    check.refutes(
        enclosure(both, sl.softmax_penalty(both).minimizer)[0] > 0,
        "d = 2, S = {1}: β∘β has two entries, the argument of Q* one. With both, X = I₂ and y = (1, 0): the "
        "left side of (7) is 0, at β = y, the right side more, as Q*(1, 0) > 0",
    )
    check.over(range(check.cases), lambda _: bounded_below_by_penalty(check.rng))
    check.over(range(check.cases // 20), lambda _: both_sides(check.rng))


@claim("ours-lemma-3.2-range", "Lemma 3.2, what is not printed", "proof, interval", HOLDS, cases=2000)
@mutants("sl.q", "softmax")
@ctx.workprec(128)
def test_the_domain_of_q_and_its_value(check):
    """Let ran(D) be the range of the map D(w) = 1/softmax(w)², and Q(q) = inf {‖w‖² : D(w) = q} for q in this
    range. Then

        ran(D) = {q : q_i > 1, Σ q_i^{−1/2} = 1} (q = 1 for one feature), Q(q) = ¼ Σ (log q_i − mean)².

    Hypotheses: The number of unselected features is m = |S̄| ≥ 1. “Mean” is the mean of the log q_i.

    Tolerance: Values in float64 may have an error of 8m·eps·(1 + max |log q_i|²), because logarithms are
    rounded.
    """

    def as_derived(_):
        rng, m = check.rng, int(check.rng.integers(1, 8))
        k = rng.integers(1, 40, m)
        n = int(k.sum())
        q = (n / k) ** 2  # q_i = (n/k_i)²: Σ q_i^{−1/2} = Σ k_i/n = 1
        found = sl.q(q)
        logs = [2 * (arb(n) / int(a)).log() for a in k]
        w = [(total(logs) / m - a) / 2 for a in logs]
        value = total([a * a for a in w])
        shift = arb(int(rng.integers(1, 50))) / 16
        tolerance = 8 * m * EPS * (1 + np.max(np.log(q)) ** 2)
        p = softmax(balls(rng.normal(size=m) * 4))
        # softmax(w) = k/n, that is D(w) = q; the other preimages w + c·1 are longer
        preimage = all((a * n).overlaps(arb(int(b))) for a, b in zip(softmax(w), k, strict=True))
        no_shorter = bool(total([(a + shift) ** 2 for a in w]) > value)
        # sl.q gives ‖w‖² and w
        same_value = abs(float(found.value) - float(value)) <= tolerance
        as_stated = same_value and np.max(np.abs(found.minimizer - [float(a) for a in w])) <= tolerance
        # D of a random w has q_i > 1, Σ q_i^{−1/2} = 1
        in_range = (m == 1 or all(bool(1 / (a * a) > 1) for a in p)) and total(p).overlaps(arb(1))
        return preimage and as_stated and no_shorter and in_range

    check.over(range(check.cases), as_derived)


@claim(
    "ours-lemma-3.2-attained", "Lemma 3.2, what is not printed", "proof, interval, float", HOLDS, cases=1500
)
@mutants("sl.softmax_penalty", "objective_and_gradient")
@ctx.workprec(128)
def test_the_infimum_is_attained_once(check):
    """The function ‖w‖² + Σ x_i/softmax_i(w)² of w is strongly convex with constant 2. So its infimum Q*(x)
    is attained, at exactly one w. The package's `softmax_penalty` returns Q*(x) and this w.

    Hypotheses: x ≥ 0 has m ≤ 8 entries.

    Tolerance: Let F be the function, and w the point that the package returns. F(w) − Q*(x) ≤ ‖∇F(w)‖²/4,
    evaluated in ball arithmetic, and this bound is at most 1e-13·F(w). The distance of w from the minimiser
    is at most ‖∇F(w)‖/2. The value may differ from that of a general-purpose optimiser by a relative error of
    1e-8.
    """

    def certified(i):
        m = int(check.rng.integers(1, 9))
        x = random_x(check.rng, m)
        found = sl.softmax_penalty(x)
        (low, high), value = enclosure(x, found.minimizer), float(found.value)
        # midpoints: F((u + v)/2) ≤ (F(u) + F(v))/2 − ‖u − v‖²/4
        u, v = check.rng.normal(size=(2, m)) * 2
        a, b, c = (objective_and_gradient(balls(x), balls(t))[0] for t in (u, v, (u + v) / 2))
        gap = total([(s - t) ** 2 for s, t in zip(balls(u), balls(v), strict=True)])
        searched = i % 10 == 0 and m > 1 and 1e-3 < value < 1e3
        return (
            bool(c <= (a + b) / 2 - gap / 4 * (1 - arb(2) ** -40))
            and (not value or bool(high - low <= 1e-13 * high))
            and float(low) - 1e-13 * value <= value <= float(high) + 1e-13 * value
            and (not searched or abs(least_by_quasi_newton(x) - value) <= 1e-8 * value)
        )

    check.over(range(check.cases), certified)


def x_with_minimiser(w, K):
    """Return an x whose softmax penalty Q*(x) is known, and Q*(x).

    Q*(x) is the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)². It is attained at the given w, Σw_i = 0, where
    the sum is K.
    """
    p = np.exp(w) / np.exp(w).sum()
    return p**2 * (w + K * p), w @ w + K


@claim("ours-lemma-3.2-inverse", "Lemma 3.2, what is not printed", "proof, float", HOLDS, cases=3000)
@mutants("sl.softmax_penalty", "x_with_minimiser")
@ctx.workprec(128)
def test_the_penalty_in_closed_form(check):
    """Let Q*(x) be the minimum over w of ‖w‖² + Σ x_i/softmax_i(w)². Let w have Σw_i = 0 and p = softmax(w),
    and let K satisfy w + Kp ≥ 0. Then Q*(p²∘(w + Kp)) = ‖w‖² + K, and the minimum is attained at w. Every x ≥
    0 is of the form p²∘(w + Kp).

    Hypotheses: x has m ≤ 8 entries.

    Tolerance: Because ∂Q*/∂x = 1/p², a relative error of eps in w + Kp is an error of eps(‖w‖₁ + K) in the
    value. The tolerance is 64 eps of ‖w‖₁ + K + ‖w‖² for the value, and 1e-9(1 + ‖w‖) for the minimiser.
    """

    def as_constructed(_):
        m = int(check.rng.integers(2, 9))
        w = check.rng.normal(size=m) * check.rng.choice([0.01, 0.5, 1.5])
        w -= w.mean()
        p = np.exp(w) / np.exp(w).sum()
        K = float(np.max(-w / p)) + check.rng.choice([0.0, 0.01, 1.0, 20.0])
        x, value = x_with_minimiser(w, K)
        x = np.maximum(x, 0)
        found = sl.softmax_penalty(x)
        back = found.minimizer
        parts = x / np.square(np.exp(back) / np.exp(back).sum())
        return (
            abs(found.value - value) <= 64 * EPS * (np.abs(w).sum() + K + w @ w)
            and np.abs(back - w).max() <= 1e-9 * (1 + np.abs(w).max())
            and abs(parts.sum() - K) <= 1e-8 * (K + 1)
        )

    check.over(range(check.cases), as_constructed)


@claim("ours-penalty-bounds", "Lemma 3.2, what is not printed", "proof, interval", HOLDS, cases=2000)
@mutants("sl.softmax_penalty", "objective_and_gradient")
@ctx.workprec(128)
def test_between_two_homogeneous_functions(check):
    """For β ∈ ℝᵐ, the softmax penalty Q*(β∘β) lies between two functions that are homogeneous of degree 2:

        (Σ|β_i|^{2/3})³ ≤ Q*(β∘β) ≤ m²‖β‖².

    For each of the two inequalities, equality holds if and only if all |β_i| are equal.

    If β has no zeros, also Q*(β∘β) ≤ (Σ|β_i|^{2/3})³ + (4/9)Σ(log|β_i| − mean)², with the mean of the
    log|β_i|.

    Hypotheses: β_i = t_i³ with integers t_i, so that the bounds are integers. Q*(x) is the minimum over w of
    ‖w‖² + Σ x_i/softmax_i(w)².
    """

    def between(_):
        m = int(check.rng.integers(1, 7))
        t = check.rng.integers(0, 7, m) if check.rng.random() < 0.9 else np.full(m, check.rng.integers(0, 7))
        x = t.astype(float) ** 6
        found = sl.softmax_penalty(x)
        (low, high), value = enclosure(x, found.minimizer), float(found.value)
        lower, upper = int(np.sum(t**2)) ** 3, m**2 * int(np.sum(t**6))
        if np.all(t == t[0]):
            return lower == upper and all(abs(a - lower) <= 1e-13 * lower for a in (low, high, value))
        logs = [3 * arb(int(a)).log() for a in t if a]
        square = total([(a - total(logs) / m) ** 2 for a in logs])
        return (
            bool(low > lower)
            and bool(high < upper)
            and float(low) * (1 - 1e-12) <= value <= float(high) * (1 + 1e-12)
            and (len(logs) < m or bool(high < lower + square * 4 / 9))
        )

    check.over(range(check.cases), between)
