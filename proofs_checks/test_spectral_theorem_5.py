"""Theorem 5: the greedy set against the greedy set joined with any other.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 4, Theorem 5 (proof omitted in
print) and the sentences before it. For g = R² + f, f non-negative and submodular, FR's set S of size k and
any |T| ≤ k: g(S) ≥ (1 − e^{−γ_{S,2k}/2}) g(S ∪ T). γ is that of g (Definition 2 as read in
SR-definition-2).

FR goes on where every gain is negative, so the recursion of Das and Kempe has two cases. Let S_i be the
first i picks, A_i = (S∪T)∖S_i, m_i = |A_i| = |S∪T| − i and d_i = g(S∪T) − g(S_i). If T ⊆ S or S is the
ground set there is nothing to prove; else m_i ≥ k − i + 1 ≥ 2. If d_i > 0, some x ∈ A_i gains at least
γd_i/m_i, hence d_{i+1} ≤ (1 − γ/m_i)d_i. If d_i ≤ 0, the largest gain of g in A_i is at least the mean gain
of f, at least (f(S∪T) − f(S_i))/m_i ≥ −g(S_i)/m_i, hence g(S_{i+1}) ≥ (1 − 1/m_i)g(S_i) and, as g(S_i) ≥
g(S∪T), d_{i+1} ≤ g(S∪T)/m_i ≤ g(S∪T)/2. After the last i with d_i ≤ 0 deficits shrink: d_k ≤ g(S∪T)/2 ≤
e^{−γ/2}g(S∪T) as γ ≤ 1. If there is none, d_k ≤ Π(1 − γ/m_i)·g(S∪T) ≤ e^{−γ/2}g(S∪T), since Σ 1/m_i ≥ k/2k.
(γ < 0 is possible, and the bound then trivial.)

A sharper one, in terms of R² alone. With γ = γ_{S,2k}(R²): the gains in A_i sum to at least γ[R²(S∪T) −
R²(S_i)] + f(S∪T) − f(S_i) ≥ G − g(S_i), where G = γR²(S∪T) + f(S∪T), whatever the signs. So G − g(S_{i+1})
≤ (1 − 1/m_i)(G − g(S_i)), and since m_{i+1} = m_i − 1 the product telescopes:

    g(S) ≥ (k/|S∪T|)·[γ_{S,2k}(R²)·R²(S∪T) + f(S∪T)] ≥ ½ γ_{S,2k}(R²)·g(S∪T)

(|S| in place of k where the ground set is smaller). As ½γ ≥ 1 − e^{−γ/2}, the printed bound holds with
γ(R²) for γ(g) as well, without Proposition 10.

Exact for rational f; 1 − e^{−γ/2} in balls of 128 bits. `sl.forward_regression` is run on X/√N; the set that
it selects is judged exactly.
"""

from flint import arb, fmpq

import sparselin as sl
from proofs_checks.rational import real
from proofs_checks.spectral import (
    SHAPES,
    Values,
    added,
    descend,
    draw_design,
    draw_regularizer,
    forward_regression,
    is_submodular,
    mask_of,
    members,
    optimum,
    precisely,
    projected,
    r_squared,
    reports,
    submodularity_ratio,
    subsets,
    table,
    trap,
    unit_columns,
    unseen,
)
from sparselin.ledger import HOLDS, claim, mutants


@claim("SR-theorem-5", "Theorem 5", "brute force, exact, interval, proof", HOLDS, cases=8000, ci_cases=60)
@mutants("sl.forward_regression", "forward_regression", "submodularity_ratio", "r_squared")
def test_greedy_against_any_union(check):
    """For any |T| ≤ k the set S of FR satisfies g(S) ≥ (1 − e^{−γ_{S,2k}(g)/2})·g(S∪T), g = R² + f.

    Hypotheses: f ≥ 0 submodular, not necessarily monotone

    Consequences: Sharper: g(S) ≥ (k/|S∪T|)·[γ_{S,2k}(R²)·R²(S∪T) + f(S∪T)] ≥ ½γ_{S,2k}(R²)·g(S∪T), and ½γ ≥ 1
    − e^{−γ/2}. It does not need Proposition 10.

    Unchecked: the omitted proof of the paper; the one in the file is ours

    Tolerance: none for the bound; 1e-9 for the value that is reported (see `reports`)
    """
    with precisely():
        tightest, sharpest = [arb(100)], [fmpq(100)]

        def guaranteed(value):
            design, R, f, k = value
            g = added(R, f)
            found = sl.forward_regression(unit_columns(design), design.y, k, regularizer=Values(f), nu=1.0)
            picks = {mask_of(picked): picked for picked in (forward_regression(g, k), found.support.tolist())}
            return reports(found, g, k) and all(bounded(R, f, g, k, picked) for picked in picks.values())

        def bounded(R, f, g, k, picked):
            S = mask_of(picked)
            share = 1 - (-arb(submodularity_ratio(g, S, 2 * k)) / 2).exp()
            gamma = submodularity_ratio(R, S, 2 * k)
            if len(picked) != min(k, (len(g) - 1).bit_length()) or not 0 <= gamma <= 1:
                return False
            for T in subsets(len(g) - 1, k):
                both = S | T
                sharper = fmpq(len(picked), both.bit_count()) * (gamma * R[both] + f[both])
                if not arb(g[S]) >= share * g[both] or g[S] < sharper:
                    return False
                if share * g[both] > 0 and both != S:
                    tightest[0] = tightest[0].min(g[S] / (share * g[both]))
                if sharper > 0 and both != S:
                    sharpest[0] = min(sharpest[0], g[S] / sharper)
            return True

        # y = (0, 1) on (1, 0) and (1, 1)/√2: γ_{∅,2}(R²) = ½
        R = [fmpq(0), fmpq(0), fmpq(1, 2), fmpq(1)]
        check.over(
            [R],
            lambda R: (
                submodularity_ratio(R, 0, 2) == fmpq(1, 2) and submodularity_ratio(R, 1, 2) == fmpq(1, 2)
            ),
        )

        def ratio(design, f, k):
            R = table(lambda S: r_squared(design.X, design.y, S), design.X.shape[1])
            tightest[0] = arb(100)
            check.over([(design, R, f, k)], guaranteed)
            return float(tightest[0].mid())

        least = 100.0
        for _ in range(check.cases // 40):
            d = int(check.rng.integers(2, 6))
            design = draw_design(check.rng, d, SHAPES[1:])
            k = int(check.rng.integers(1, d))
            f = draw_regularizer(check.rng, design, k)
            least = min(least, descend(check.rng, design, lambda X, f=f, k=k: ratio(X, f, k), 20))
        for _ in range(check.cases // 2):
            tightest[0] = arb(100)
            d = int(check.rng.integers(2, 6))
            design = draw_design(check.rng, d, SHAPES[1:])
            k = int(check.rng.integers(1, d))
            R = table(lambda S, design=design: r_squared(design.X, design.y, S), d)
            check.over([design], lambda design, R=R, d=d: R[-1] == projected(design.X, design.y, range(d)))
            check.over([(design, R, draw_regularizer(check.rng, design, k), k)], guaranteed)
            least = min(least, float(tightest[0].mid()))
        check.measured(
            f"for T ⊄ S, g(S) is at least {least:.3f} times the printed bound "
            f"and {real(sharpest[0]):.3f} times the sharper one"
        )


@claim("SR-theorem-5-monotone", "before Theorem 5", "exact", HOLDS, cases=5, ci_cases=5)
@mutants("sl.forward_regression", "forward_regression", "optimum")
def test_greedy_fails_without_monotonicity(check):
    """The approximation guarantee of Theorem 3 does not carry over to functions that are not monotone.

    Hypotheses: f ≥ 0 submodular (γ = 1)

    Consequences: No constant at all: on f(A) = q|A|, or q + |A| if 0 ∈ A, FR attains (q + k)/(qk) of OPT.
    """

    def fails(d):
        k, q = d - 1, 1000
        f = trap(d, q)
        chosen, best = f[mask_of(forward_regression(f, k))], optimum(f, k)
        found = sl.forward_regression(*unseen(d), k, regularizer=Values(f), nu=1.0)
        return (
            f[mask_of(found.support)] == found.value == chosen
            and is_submodular(f)
            and min(f) >= 0
            and members(mask_of(forward_regression(f, 1))) == [0]
            and (chosen, best) == (q + k, q * k)
            and arb(chosen) < (1 - arb(-1).exp()) * best
        )

    check.over(range(3, 3 + min(check.cases, 7)), fails)  # tables of 2^d values
