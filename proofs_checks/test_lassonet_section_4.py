"""LassoNet's proximal step: its scale αλ, descent, and the cost O(p log p).

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), Algorithm 1, line 9, and
section 4.2.

Step: the proximal gradient step at x = (θ, W) is argmin ⟨∇L(x), x' − x⟩ + ‖x' − x‖²/(2α) + λ‖θ'‖₁ over the
constraint. Times α, and with the square completed, that is (3) at x − α∇L(x) with αλ for λ: line 9. Where
∇L has the Lipschitz constant 1/α, the model lies above the objective and touches it at x, and its global
minimum over the constraint (which Hier-Prox finds, nonconvex as it is) is not above its value at x: the
objective does not rise. Cost: a row takes a sort of K entries, K additions for the running sums, K + 1
divisions and comparisons: with p = dK + d, O(dK log K) ⊆ O(p log p). If each sum of line 5 were added up
anew it would be dK(K − 1)/2 additions. Exact but for `sl.hier_prox`, which is compared to 16 eps of what is
added.
"""

from fractions import Fraction
from math import log2

import numpy as np
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.lassonet import best_length, feature, features, near, objective, sign, size
from sparselin.ledger import HOLDS, claim, mutants

SMALL = st.integers(-3, 3)


def minimum(problem):
    """(b, z) of (3)."""
    b = best_length(problem)
    return (-b if problem.v < 0 else b), [sign(x) * min(abs(x), problem.M * b) for x in problem.u]


def loss(A, c, x):
    """½‖Ax − c‖²."""
    return (
        sum((sum(a * b for a, b in zip(row, x, strict=True)) - e) ** 2 for row, e in zip(A, c, strict=True))
        / 2
    )


def gradient(A, c, x):
    """Aᵀ(Ax − c)."""
    residual = [sum(a * b for a, b in zip(row, x, strict=True)) - e for row, e in zip(A, c, strict=True)]
    return [sum(row[k] * r for row, r in zip(A, residual, strict=True)) for k in range(len(x))]


@st.composite
def quadratics(draw):
    """A feasible feature (θ, W), λ and M, and integers A, c of a loss in (θ, W)."""
    problem = draw(features(multipliers=(Fraction(1, 2), 1, 2), max_K=3))
    v, u, lam, M, _ = problem
    u = [sign(x) * min(abs(x), M * abs(v)) for x in u]
    rows = st.lists(SMALL, min_size=1 + len(u), max_size=1 + len(u))
    A = draw(st.lists(rows, min_size=1, max_size=3))
    return feature(v, u, lam, M), A, draw(st.lists(SMALL, min_size=len(A), max_size=len(A)))


@claim("LN-alg-1-step", "Algorithm 1, line 9; section 4.2", "proof, exact, float", HOLDS)
@mutants("sl.hier_prox", "gradient")
def test_a_step_minimises_the_model_and_descends(check):
    """Lines 8 and 9, with αλ for λ, are a proximal gradient step of (2), exactly and globally minimised.

    Hypotheses: quadratic loss in (θ, W) for one feature; θ_j ≠ 0 after line 8 where Algorithm 2 needs it

    Consequences: With α no larger than 1 over the Lipschitz constant of ∇L the objective (2) does not rise,
    although (3) is not convex. The paper claims no rate; nothing better than stationary points can be
    expected.

    Unchecked: α too large, stochastic gradients, momentum (section 5.2 uses 0.9)

    Tolerance: 16 eps·size between the exact step and sl.hier_prox
    """

    def descends(drawn):
        problem, A, c = drawn
        v, u, lam, M, _ = problem
        x = [v, *u]
        bound = sum(a * a for row in A for a in row)  # trace AᵀA ≥ the Lipschitz constant
        alpha = Fraction(1, 2 ** max(bound, 1).bit_length())
        g = gradient(A, c, x)
        moved = [a - alpha * b for a, b in zip(x, g, strict=True)]
        inner = problem._replace(v=moved[0], u=tuple(moved[1:]), lam=alpha * lam)
        b, z = minimum(inner)
        found = sl.hier_prox([float(moved[0])], [list(map(float, moved[1:]))], lam=float(alpha * lam), M=M)
        new = [b, *z]
        model = sum(
            d * (y - a) + (y - a) ** 2 / (2 * alpha) for d, y, a in zip(g, new, x, strict=True)
        ) + lam * abs(b)
        square = sum(d * d for d in g) * alpha / 2
        same = near(found.theta[0], b, size(inner)) and all(
            near(p, q, size(inner)) for p, q in zip(found.W[0], z, strict=True)
        )
        shifted = [[[a + s * (i == k) for i, a in enumerate(x)] for s in (1, -1)] for k in range(len(x))]
        slopes = [(loss(A, c, up) - loss(A, c, down)) / 2 for up, down in shifted]
        return (
            g == slopes
            and model + square == objective(inner, b, z) / alpha
            and loss(A, c, new) + lam * abs(b) <= loss(A, c, x) + model <= loss(A, c, x) + lam * abs(v)
            and same
        )

    check.forall(quadratics(), descends)


def counted_hier_prox(theta, W, lam, M):
    """Algorithm 2 by merge sort and running sums: θ̃ (M > 0), and how many operations on numbers it took."""
    operations = 0

    def merge_sort(a):
        nonlocal operations
        if len(a) < 2:
            return a
        left, right = merge_sort(a[: len(a) // 2]), merge_sort(a[len(a) // 2 :])
        merged = []
        while left and right:
            operations += 1
            merged.append((left if left[-1] >= right[-1] else right).pop())
        merged += left[::-1] + right[::-1]
        return merged[::-1]

    out = []
    for v, row in zip(theta, W, strict=True):
        u = merge_sort([abs(x) for x in row])[::-1]
        total, m = Fraction(0), 0
        w = M * max(abs(v) - lam, Fraction(0))
        operations += 3
        while m < len(u) and u[m] > w:
            total += u[m]
            m += 1
            w = M / (1 + m * M**2) * max(abs(v) + M * total - lam, Fraction(0))
            operations += 10
        out.append((-1 if v < 0 else 1) * w / M)
    return out, operations


@claim("LN-sec-4.2-cost", "section 4.2", "proof, exact", HOLDS)
@mutants("counted_hier_prox")
def test_the_cost_is_p_log_p(check):
    """Hier-Prox costs O(p log p), p = dK + d.

    Hypotheses: sums of line 5 carried along; operations on numbers counted, M > 0

    Consequences: More exactly O(d + dK log K), and O(p) with a selection in place of the sort. Line 5 taken
    literally, each sum anew, would be Θ(dK²).
    """
    most = []

    def within_the_bound(shape):
        d, K = shape
        theta = [Fraction(int(x)) for x in check.rng.integers(-9, 10, d)]
        W = [[Fraction(int(x)) for x in row] for row in check.rng.integers(-99, 100, (d, K))]
        lam, M = Fraction(1), Fraction(1, int(check.rng.integers(1, 20)))
        found, operations = counted_hier_prox(theta, W, lam, M)
        p = d * K + d
        most.append(operations / (p * log2(p)) if p > 1 else 0)
        ours = sl.hier_prox(
            list(map(float, theta)), np.array(W, float).reshape(d, K), lam=1.0, M=float(M)
        ).theta
        problems = [feature(t, row, lam, Fraction(float(M))) for t, row in zip(theta, W, strict=True)]
        close = all(near(a, b, size(problem)) for a, b, problem in zip(ours, found, problems, strict=True))
        exact = K > 12 or abs(found[0]) == best_length(feature(theta[0], W[0], lam, M))
        return 3 * d <= operations <= d * (3 + 10 * K + K * log2(max(K, 2))) and close and exact

    shapes = [(1, 0), (1, 1), (7, 3), (3, 64), (2, 400)]
    draws = [tuple(map(int, check.rng.integers(1, 13, 2))) for _ in range(check.cases)]
    check.over(shapes + draws, within_the_bound)
    check.measured(f"at most {max(most[5:] or most):.1f}·p·log₂p operations")
