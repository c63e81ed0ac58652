"""Inference after selection: the responses with the same selection, and the laws of statistics given them.

y ~ N(μ, σ²I) with a fixed X. The event of a path holds all y for which the path makes the same picks with the
same signs. Proofs, and what is whose: docs/proofs/inference.md.
"""

from itertools import pairwise, product
from statistics import median

import numpy as np
from flint import arb, ctx, fmpq
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.rational import columns, inner, off, rational
from sparselin.ledger import HOLDS, claim, mutants
from sparselin.testing import integer_designs

THEOREM = [f"Theorem {n} of docs/proofs/inference.md" for n in range(6)]


def greedy(X, y, k, by_length):
    """Return k picks of OMP (with `by_length` of OLS) with their signs, exactly; None if there is a tie."""
    A, found = rational(X), []
    for _ in range(k):
        S = [i for i, _ in found]
        Z, c = off(A, S, A), (A.transpose() * off(A, S, y)).entries()
        squares = [inner(z := columns(Z, [j]), z) for j in range(A.ncols())]
        divisors = squares if by_length else [fmpq(1)] * len(squares)
        scores = [
            c_j**2 / divisor if square else fmpq(0)
            for c_j, square, divisor in zip(c, squares, divisors, strict=True)
        ]
        if max(scores) == 0 or scores.count(max(scores)) > 1:
            return None
        i = scores.index(max(scores))
        found.append((i, 1 if c[i] > 0 else -1))
    return found


@st.composite
def two_responses(draw):
    """Draw an integer design, a second response near a multiple of the first, and two weights."""
    X, y = draw(integer_designs(4, 5, -9, 9))
    near = draw(st.lists(st.integers(-9, 9), min_size=len(y), max_size=len(y)))
    weights = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    return X, rational(y), rational(draw(st.integers(1, 9)) * y + np.array(near, float)), weights


@claim("ours-inference-greedy", THEOREM[1], "proof, exact", HOLDS, cases=1000)
@mutants("greedy")
def test_the_events_of_omp_and_ols_are_cones(check):
    """For OMP and OLS the event of k steps is an open convex cone. If y moves along P_A^⊥X_i, where the pick
    i enters the model A at step t, and the first t picks and signs stay the same, so do all later ones.

    Hypotheses: X is arbitrary, y has no tie in the first k steps. In the check k is at most 3.

    Consequences: ηᵀy is a truncated Gaussian given the event. The p-value of a step does not depend on k.
    """

    def right(case):
        X, y, other, (a, b) = case
        k = min(*X.shape, 3)
        wrong = []
        for by_length in (False, True):
            event = greedy(X, y, k, by_length)
            if event is None:
                continue
            if greedy(X, other, k, by_length) == event:
                wrong.append(greedy(X, fmpq(a) * y + fmpq(b) * other, k, by_length) != event)
            for t in range(1, k):
                S, i = [j for j, _ in event[: t - 1]], event[t - 1][0]
                eta = off(rational(X), S, columns(rational(X), [i]))
                moved = y + fmpq(a - b, 2 * X.shape[0]) * eta
                if greedy(X, moved, t, by_length) == event[:t]:
                    wrong.append(greedy(X, moved, k, by_length) != event)
        assume(wrong)
        return not any(wrong)

    check.forall(two_responses(), right)


def events(path, k):
    """Return the first k active sets of a LASSO path with the signs of the coefficients."""
    middle = np.sign(path.coef[1:] + path.coef[:-1])
    return [{j: middle[t, j] for j in path.active[t]} for t in range(k)]


def least_slack(X, y, sequence):
    """Return the least slack of the inequalities of Theorem 2, for the given active sets with their signs."""
    before, slack = {}, np.inf
    for after in sequence:
        A = list(before)
        tau = np.array([before[j] for j in A])
        inverse = np.linalg.pinv(X[:, A]) if A else np.zeros((0, len(y)))
        a, b = inverse @ y, inverse @ inverse.T @ tau
        c, q = X.T @ (y - X[:, A] @ a), X.T @ (X[:, A] @ b)
        (i,) = before.keys() ^ after.keys()
        v = a[A.index(i)] / b[A.index(i)] if i in before else after[i] * c[i] / (1 - after[i] * q[i])
        rest = [j for j in range(X.shape[1]) if j not in (*A, i)]
        signs = [t * (a_j - v * b_j) for j, t, a_j, b_j in zip(A, tau, a, b, strict=True) if j != i]
        slack = min([slack, v, *(v - np.abs(c + v * q)[rest]), *signs])
        before = after
    return slack


@claim("ours-inference-lasso", THEOREM[2], "proof, float", HOLDS, cases=1000, ci_cases=100)
@mutants("least_slack", "events", "sl.lasso_path")
def test_the_events_of_the_lasso_are_the_conditions_at_its_knots(check):
    """The LASSO path of y' has the active sets and signs of that of y if and only if y' satisfies the KKT
    conditions for them at each knot. Here the λ of a knot is the linear function of y' that the active sets
    and signs give. No further conditions on the order of the knots are needed.

    Hypotheses: there are no ties. Features may leave. In the check X is 6 × 5 or 4 × 6 with up to 6 knots.

    Tolerance: Cases whose least slack is below 1e-9 are skipped.
    """
    seen = dict.fromkeys(product((False, True), repeat=2), 0)

    def agrees(case):
        n, d, seed, size = case
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)), rng.standard_normal(n)
        near = y + 0.1**size * rng.standard_normal(n)
        first, second = sl.lasso_path(X, y), sl.lasso_path(X, near)
        k = min(6, len(first) - 1)
        sequence = events(first, k)
        slack = least_slack(X, near, sequence)
        assume(abs(slack) > 1e-9 and least_slack(X, y, sequence) > 1e-9)
        same = len(second) > k and events(second, k) == sequence
        seen[same, any(a.keys() - b.keys() for a, b in pairwise(sequence))] += 1
        return same == (slack > 0)

    sizes = st.sampled_from([(6, 5), (4, 6)])
    check.forall(
        st.builds(lambda size, *rest: (*size, *rest), sizes, st.integers(0, 2**32), st.integers(0, 3)), agrees
    )
    check.measured(
        ", ".join(
            f"{'the same' if same else 'other'} events{', one leaves' * left}: {count}"
            for (same, left), count in seen.items()
        )
    )


def share(pieces, x, theta):
    """Return P(Z ≥ x) for Z ~ N(θ, 1) truncated to the intervals x + (l, u), as a ball."""
    with ctx.workprec(4096):
        root = arb(2).sqrt()
        ends = [[(arb(x - theta + end) / root).erf() for end in piece] for piece in pieces]
        masses = [(high - low, piece[0]) for piece, (low, high) in zip(pieces, ends, strict=True)]
        above = sum((mass for mass, low in masses if low >= 0), arb(0))
        return above / sum((mass for mass, _ in masses), arb(0))


@claim("ours-inference-pivot", THEOREM[3], "proof, interval", HOLDS, cases=1000)
@mutants("share")
def test_the_pivot_is_monotone(check):
    """Let Z ~ N(θ, 1) be truncated to a union M of intervals, and p = P(Z ≥ x) for an inner point x of M.
    Then p is strictly increasing in θ, from 0 to 1. For a fixed set M − x of offsets p is strictly decreasing
    in x.

    Hypotheses: M is a finite union of intervals; x and θ are arbitrary.

    Consequences: both ends of the equal-tailed interval for θ are finite. Bounds on the ends of M and on x
    give bounds on p and on the ends of the interval.
    """
    lengths = st.lists(st.integers(1, 20), min_size=1, max_size=5)

    def monotone(case):
        up, down, x, theta = case
        above, below = (np.cumsum(part) / 8 for part in (up, down))
        pieces = [(l, u) for l, u in zip([0.0, *above[1::2]], above[::2], strict=False)]
        pieces += [(-u, -l) for l, u in zip([0.0, *below[1::2]], below[::2], strict=False)]
        p = share(pieces, x / 4, theta / 4)
        rises = share(pieces, x / 4, (theta + 1) / 4) > p > share(pieces, (x + 1) / 4, theta / 4)
        far = share(pieces, 0.0, -60.0) < 0.02 and share(pieces, 0.0, 60.0) > 0.98
        return rises and far

    check.forall(st.tuples(lengths, lengths, st.integers(-8, 8), st.integers(-8, 8)), monotone)


def moment(r, m):
    """Return the mean of cos^{2r} φ under the density ∝ sin^m φ on (0, π), by the recursion of Wallis."""
    value = fmpq(1)
    for i in range(r):  # ∫cos^{2i+2}·sin^m = (2i + 1)/(m + 2i + 2)·∫cos^{2i}·sin^m
        value *= fmpq(2 * i + 1, m + 2 * i + 2)
    return value


def on_circle(a, b, c, d):
    """Return (1 + δ²)·aᵀy as a polynomial in δ, where aᵀy = a + b·cos φ + c·sin φ and δ = tan(φ/2)."""
    return a * (1 + d * d) + b * (1 - d * d) + 2 * c * d


@claim("ours-inference-circle", THEOREM[4], "proof, exact", HOLDS, cases=300)
@mutants("moment", "on_circle")
def test_the_law_on_the_circle(check):
    """Let S have independent columns and β_j = 0 in μ = X_Sβ. Let q and e be the unit vectors along
    P_{S∖j}^⊥X_j and P_S^⊥y, and ρ = ‖P_{S∖j}^⊥y‖. Given P_{S∖j}y, ρ and e, the angle φ in y = P_{S∖j}y +
    ρ(cos φ·q + sin φ·e) has a density ∝ sin^{n−|S|−1} φ on (0, π), for every σ. A linear inequality in y is
    quadratic in tan(φ/2).

    Hypotheses: n > |S|. The check compares all moments of cos² φ up to the tenth with those of a coordinate
    of a uniform point on the unit sphere, E g_1^{2r}/E‖g‖^{2r} for g ~ N(0, I) in dimension n − |S| + 1, and
    the polynomial at rational points of the circle.
    """

    def right(case):
        m, a, b, c, d = case
        N, ratio = m + 2, fmpq(1)
        same = []
        for r in range(1, 11):
            ratio *= fmpq(2 * r - 1, N + 2 * r - 2)  # E g_1^{2r} and E‖g‖^{2r} grow by these factors
            same.append(moment(r, m) == ratio)
        d = fmpq(*d)
        cos, sin = (1 - d**2) / (1 + d**2), 2 * d / (1 + d**2)
        return all(same) and on_circle(a, b, c, d) == (1 + d**2) * (a + b * cos + c * sin)

    numbers = st.integers(-9, 9)
    check.forall(
        st.tuples(st.integers(0, 60), numbers, numbers, numbers, st.tuples(numbers, st.integers(1, 9))), right
    )


@claim("ours-inference-median", THEOREM[5], "proof, exact", HOLDS, cases=1000)
@mutants("median")
def test_twice_the_median_of_p_values_is_a_p_value(check):
    """If p_1, …, p_B are p-values of one hypothesis, dependent in any way, then twice their median is a
    p-value (Meinshausen, Meier and Bühlmann, *p-values for high-dimensional regression*, 2009).

    Hypotheses: P(p_b ≤ u) ≤ u for all u and b. In the check the p_b are permutations of 1/m, …, m/m on m
    points of equal probability.

    Consequences: The median alone is not a p-value: if (p_1, p_2, p_3) is (1, 3, 2)/3, (2, 1, 3)/3 or
    (3, 2, 1)/3 with equal probability, the median is always ⅔.
    """

    def valid(columns, factor=2):
        values = [factor * median(row) for row in zip(*columns, strict=True)]
        return all(sum(v <= u for v in values) <= u for u in range(1, len(values) + 1))

    orders = st.integers(2, 9).flatmap(
        lambda m: st.lists(st.permutations(range(1, m + 1)), min_size=1, max_size=5)
    )
    check.forall(orders, valid)
    check.over([[(1, 2, 3), (3, 1, 2), (2, 3, 1)]], lambda columns: valid(columns) and not valid(columns, 1))
