"""Theorem 5: the value of the greedy set, compared with its union with any other set.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 4, Theorem 5 (proof omitted in
print) and the sentences before it. Let g = R² + f with f non-negative and submodular. Let S be the set of k
features that forward regression (FR) selects, T any set of at most k features, and γ the submodularity ratio
of g (Definition 2). Then

    g(S) ≥ (1 − e^{−γ_{S,2k}/2})·g(S ∪ T).

FR adds a feature even if every gain is negative. Therefore the recursion of Das and Kempe for the value
g(S_i) of the first i features has two cases. If g(S_i) is below g(S∪T), the difference shrinks by a factor.
If g(S_i) is above g(S∪T), one step decreases g by no more than the mean loss of f. A sharper bound needs only
the γ of R², and does not need Proposition 10:

    g(S) ≥ (k/|S∪T|)·[γ_{S,2k}(R²)·R²(S∪T) + f(S∪T)] ≥ ½ γ_{S,2k}(R²)·g(S∪T).

Both proofs are in docs/proofs/spectral_theorem_5.md. The checks are exact for rational f; 1 − e^{−γ/2} is a
ball of 128 bits. `sl.forward_regression` gets the columns X/√N, and the set that it selects is judged
exactly.
"""

from flint import arb, fmpq

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import forward_regression, optimum, submodularity_ratio
from proofs_checks.rational import real
from proofs_checks.spectral import precisely, r_squared_table
from sparselin.ledger import HOLDS, claim, mutants


@claim("SR-theorem-5", "Theorem 5", "brute force, exact, interval, proof", HOLDS, cases=8000, ci_cases=60)
@mutants("sl.forward_regression", "forward_regression", "submodularity_ratio", "r_squared_table")
@precisely()
def test_greedy_against_any_union(check):
    """For any set T of at most k features, the set S of k features that forward regression on g selects
    satisfies

        g(S) ≥ (1 − e^{−γ_{S,2k}(g)/2})·g(S∪T),   g = R² + f.

    Hypotheses: f ≥ 0 is submodular, and need not be monotone. γ_{S,2k}(g) is the submodularity ratio of g.

    Consequences: A sharper bound is g(S) ≥ (k/|S∪T|)·[γ_{S,2k}(R²)·R²(S∪T) + f(S∪T)] ≥ ½γ_{S,2k}(R²)·g(S∪T),
    because ½γ ≥ 1 − e^{−γ/2}. Its proof does not need Proposition 10.

    Unchecked: The paper omits its proof; the proof in docs/proofs is ours.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    check.over(
        [maximization.SUPPRESSION],
        lambda R: submodularity_ratio(R, 0, 2) == submodularity_ratio(R, 1, 2) == fmpq(1, 2),
    )
    least = [arb(100), fmpq(100)]

    def ratio(*value):
        over = attained(check, *value)
        least[:] = (min(pair, key=spectral.midpoint) for pair in zip(least, over, strict=True))
        return float(over[0].mid())

    for _ in range(check.cases // 40):
        design, f, k = objective(check)
        maximization.worst_by_exchanges(check.rng, design, lambda X, f=f, k=k: ratio(X, f, k), 20)
    for _ in range(check.cases // 2):
        design, f, k = objective(check)
        maximization.verify(check, r_squared_table(design)[-1] == design.r_squared_of_all)
        ratio(design, f, k)
    check.measured(
        f"for T ⊄ S, g(S) is at least {float(least[0].mid()):.3f} times the printed bound "
        f"and {real(least[1]):.3f} times the sharper one"
    )


def objective(check):
    """Return a design, a regularizer f, and a k below the number of columns."""
    d = int(check.rng.integers(2, 6))
    design = spectral.draw_design(check.rng, d, spectral.SHAPES[1:])
    k = int(check.rng.integers(1, d))
    return design, spectral.draw_regularizer(check.rng, design, k), k


def attained(check, design, f, k):
    """Return g(S) divided by the printed bound of Theorem 5 and by the sharper bound, and check that both are
    ≥ 1.

    Forward regression selects S, in the package and in code of the checks. The smaller quotients are
    returned.
    """
    R = r_squared_table(design)
    g = spectral.added(R, f)
    found = sl.forward_regression(design.unit_columns, design.y, k, regularizer=spectral.Values(f), nu=1.0)
    sets = {spectral.mask_of(picked) for picked in (forward_regression(g, k), found.support.tolist())}
    over = [ratios_to_bounds(R, f, k, S) for S in sets]
    maximization.verify(
        check, maximization.has_stated_value(found, g, k) and all(a >= 1 and b >= 1 for a, b in over)
    )
    return [min(ratios, key=spectral.midpoint) for ratios in zip(*over, strict=True)]


def ratios_to_bounds(R, f, k, S):
    """Return g(S) divided by the printed bound of Theorem 5 and by the sharper bound, at the least over all
    sets T.

    T runs over the sets of at most k features that are not contained in S.
    """
    g, gamma = spectral.added(R, f), submodularity_ratio(R, S, 2 * k)
    printed = maximization.one_minus_exp(submodularity_ratio(g, S, 2 * k) / 2)
    if not (0 <= gamma <= 1 and S.bit_count() == k):
        return arb(0), fmpq(0)
    least = [arb(100), fmpq(100)]
    for both in {S | T for T in spectral.subsets(len(g) - 1, k)} - {S}:
        sharper = fmpq(k, both.bit_count()) * (gamma * R[both] + f[both])
        for i, bound in enumerate((printed * g[both], sharper)):
            if bound > 0:
                least[i] = min(least[i], g[S] / bound, key=spectral.midpoint)
    return least


@claim("SR-theorem-5-monotone", "before Theorem 5", "exact", HOLDS, cases=5, ci_cases=5)
@mutants("sl.forward_regression", "forward_regression", "optimum")
def test_greedy_fails_without_monotonicity(check):
    """The approximation guarantee of Theorem 3 for the greedy algorithm does not carry over to functions that
    are not monotone.

    Hypotheses: f ≥ 0 is submodular, so that its submodularity ratio γ is 1.

    Consequences: Without monotonicity, greedy forward regression (FR) has no constant factor. For f(A) =
    q|A|, and f(A) = q + |A| if 0 ∈ A, FR attains (q + k)/(qk) of the maximum over sets of k elements.
    """

    def fails(d):
        k, q = d - 1, 1000
        f = spectral.SpoilingElement(d, q)
        chosen, best = f[spectral.mask_of(forward_regression(f, k))], optimum(f, k)
        found = sl.forward_regression(*spectral.orthogonal_to_y(d), k, regularizer=spectral.Values(f), nu=1.0)
        return (
            f[spectral.mask_of(found.support)] == found.value == chosen
            and (spectral.is_submodular(f) and min(f) >= 0)
            and spectral.members(spectral.mask_of(forward_regression(f, 1))) == [0]
            and (chosen, best) == (q + k, q * k)
            and arb(chosen) < maximization.one_minus_exp(1) * best
        )

    check.over(range(3, 3 + min(check.cases, 7)), fails)  # tables of 2^d values
