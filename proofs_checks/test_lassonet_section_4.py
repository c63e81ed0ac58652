"""The cost of Hier-Prox, and the effect of a larger λ on the weights.

Source: *LassoNet: A Neural Network with Feature Sparsity* (JMLR 22(127), 2021), sections 3.3, 4.2 and 4.4.

*Cost.* For each of the d features, Hier-Prox sorts the K entries of its weights, and takes K additions for
the running sums, and K + 1 divisions and comparisons. With p = dK + d, the cost is O(dK log K) ⊆ O(p log p).
If each sum in line 5 of the algorithm were computed from the beginning, the number of additions would be dK(K
− 1)/2.

*Larger λ.* Let two points be global minimisers of problem (2), min L(θ, W) + λ‖θ‖₁ over ‖W_j‖∞ ≤ M|θ_j|, for
two values of λ. The minimiser for the larger λ has no larger ‖θ‖₁ and no smaller loss
(docs/proofs/lassonet.md, 4). In general nothing more is true: if λ increases, single weights may increase,
and so may the number of nonzero weights.

The checks are exact. Only the results of `sl.hier_prox` are compared with a tolerance, 16 eps times the size
of the numbers that are added.
"""

from fractions import Fraction
from math import log2

import numpy as np
from flint import fmpq
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks.exact_prox import SMALL, agree, best_length, feature, soft
from proofs_checks.rational import fraction, nonnegative, rational, vector
from sparselin.ledger import HOLDS, claim, mutants


def merge_sort(a):
    """Return the numbers in increasing order, and the number of comparisons."""
    if len(a) < 2:
        return a, 0
    (left, n_left), (right, n_right) = merge_sort(a[: len(a) // 2]), merge_sort(a[len(a) // 2 :])
    merged = []
    while left and right:
        merged.append((left if left[-1] >= right[-1] else right).pop())
    return left + right + merged[::-1], n_left + n_right + len(merged)


def counted_hier_prox(theta, W, lam, M):
    """Return the θ̃ of Hier-Prox, computed with merge sort and running sums, and the number of its operations
    on numbers.

    M must be positive.
    """
    out, operations = [], 0
    for v, row in zip(theta, W, strict=True):
        u, comparisons = merge_sort([abs(x) for x in row])
        u.reverse()
        total, m, w = Fraction(0), 0, M * soft(abs(v), lam)
        while m < len(u) and u[m] > w:
            total, m = total + u[m], m + 1
            w = M / (1 + m * M**2) * soft(abs(v) + M * total, lam)
        operations += comparisons + 3 + 10 * m
        out.append((-1 if v < 0 else 1) * w / M)
    return out, operations


@claim("LN-sec-4.2-cost", "section 4.2", "proof, exact", HOLDS)
@mutants("counted_hier_prox")
def test_the_cost_is_p_log_p(check):
    """Hier-Prox costs O(p log p), where p = dK + d is the number of weights of d features and K hidden units.

    Hypotheses: The sums in line 5 of the algorithm are running sums, M > 0, and the cost is the number of
    operations on numbers.

    Consequences: More exactly, the cost is O(d + dK log K), or O(p) with a selection algorithm in place of
    the sort. If line 5 is taken literally, and each sum is computed anew, the cost is Θ(dK²).
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
        close = all(agree([a], [b], row.size) for a, b, row in zip(ours, found, problems, strict=True))
        exact = K > 12 or abs(found[0]) == best_length(feature(theta[0], W[0], lam, M))
        return 3 * d <= operations <= d * (3 + 10 * K + K * log2(max(K, 2))) and close and exact

    shapes = [(1, 0), (1, 1), (7, 3), (3, 64), (2, 400)]
    draws = [tuple(map(int, check.rng.integers(1, 13, 2))) for _ in range(check.cases)]
    check.over(shapes + draws, within_the_bound)
    check.measured(f"at most {max(most[5:] or most):.1f}·p·log₂p operations")


def lasso(X, y, lam):
    """Return a minimiser β of ½‖y − Xβ‖² + λ‖β‖₁, exactly.

    β is v − w for a minimiser (v, w) ≥ 0 of ½‖y − Xv + Xw‖² + λΣ(v_i + w_i).
    """
    Z, d = rational(np.hstack([X, -X])), X.shape[1]
    prices = vector([fmpq(lam)] * (2 * d))
    found = nonnegative(Z.transpose() * Z, Z.transpose() * rational(y) - prices)[0].entries()
    return [fraction(v - w) for v, w in zip(found[:d], found[d:], strict=True)]


def norm_and_loss(X, y, lam):
    """Return ‖β‖₁ and ‖y − Xβ‖² for a minimiser β of ½‖y − Xβ‖² + λ‖β‖₁, exactly."""
    beta = np.array(lasso(X, y, lam), object)
    r = y - X @ beta
    return abs(beta).sum(), r @ r


@st.composite
def designs(draw):
    """Draw a design with at most three features and a response, both with small integer entries."""
    n, d = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(SMALL, min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(X), np.array(draw(st.lists(SMALL, min_size=n, max_size=n)))


def ordered_by_lambda(X, y, low, high):
    """Return whether the Lasso at the penalty `high` has no larger ‖β‖₁ and no smaller loss than at the
    penalty `low`.
    """
    (norm, loss), (norm_high, loss_high) = (norm_and_loss(X, y, lam) for lam in (low, high))
    return norm_high <= norm and loss_high >= loss


@claim("LN-sec-3.3-lambda", "section 3.3", "proof, exact", HOLDS, cases=500, ci_cases=40)
@mutants("lasso")
def test_a_larger_lambda_has_no_larger_norm(check):
    """If the penalty λ of LassoNet increases, ‖θ‖₁ does not increase, and the loss does not decrease.

    Reading of: “higher values of λ encourage sparser models”

    Hypotheses: θ belongs to a global minimiser of problem (2), min L(θ, W) + λ‖θ‖₁ over ‖W_j‖∞ ≤ M|θ_j|, if a
    minimiser exists, which is not always so (ledger id LN-sec-3.2-budget). The loss and M are arbitrary. The
    check uses the squared loss and M = 0.

    Consequences: The number of features may increase with λ. For X = [[−2, 1], [2, −1], [−1, 1]], y = (0, −3,
    3) and M = 0, θ is (0, 5/3) for λ = 1 and (−½, ½) for λ = 2. So the number of selected features, k in line
    11 of Algorithm 1, may increase from one λ to the next.
    """
    X, y = np.array([[-2, 1], [2, -1], [-1, 1]]), np.array([0, -3, 3])
    solutions = {1: [0, Fraction(5, 3)], 2: [Fraction(-1, 2), Fraction(1, 2)]}
    check.over(solutions, lambda lam: lasso(X, y, lam) == solutions[lam])
    check.forall(
        st.tuples(designs(), st.integers(0, 3), st.integers(1, 3)),
        lambda drawn: ordered_by_lambda(*drawn[0], drawn[1], drawn[1] + drawn[2]),
    )


@claim("LN-sec-4.4-bias", "section 4.4", "proof, exact", HOLDS, cases=500, ci_cases=40)
@mutants("lasso")
def test_the_norm_is_at_most_that_without_penalty(check):
    """The norm ‖θ‖₁ of a solution with the penalty λ‖θ‖₁ is at most the norm of a solution without it.

    Reading of: “The use of the ℓ₁ penalty slightly biases the weights of the model downwards”, “a well-known
    property of all ℓ₁ regularized models such as Lasso”

    Hypotheses: θ belongs to a global minimiser of problem (2), min L(θ, W) + λ‖θ‖₁ over ‖W_j‖∞ ≤ M|θ_j|. A
    minimiser exists for this λ and for λ = 0. The loss L and M are arbitrary. The check uses the squared loss
    and M = 0.

    Consequences: A single weight may be larger with the penalty than without it. For X = [[2, −1], [−1, 1]],
    y = (−2, 2) and M = 0, θ is (0, 2) by least squares and (−1, 0) for λ = 1. With orthonormal columns, the
    penalty reduces the size of each weight by λ, or to 0.

    Unchecked: The sentence "in practice, this re-fitting tends to improve test-time performance" is not
    checked here.
    """
    X, y = np.array([[2, -1], [-1, 1]]), np.array([-2, 2])
    solutions = {0: [0, 2], 1: [-1, 0]}
    check.over(solutions, lambda lam: lasso(X, y, lam) == solutions[lam])

    def falls_in_sum_and_by_lambda_if_orthonormal(drawn):
        (X, y), lam = drawn
        unit = np.eye(len(y), dtype=int)
        by_lambda = lasso(unit, y, lam) == [soft(Fraction(int(e)), lam) for e in y]
        return ordered_by_lambda(X, y, 0, lam) and by_lambda

    check.forall(st.tuples(designs(), st.integers(1, 4)), falls_in_sum_and_by_lambda_if_orthonormal)
