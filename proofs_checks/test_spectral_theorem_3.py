"""Theorem 3: the greedy algorithm on a monotone function with submodularity ratio γ.

Source: *Selecting Diverse Features via Spectral Regularization*, Theorem 3, from the thesis of Das. For a
non-negative increasing f with the maximum OPT = f(C*) over sets of size k, the greedy set S̃ has

    f(S̃) ≥ (1 − e^{−γ_{S̃,k}(f)})·OPT.

Here γ_{S̃,k}(f) is the submodularity ratio. Proof. Let γ = γ_{S̃,k}(f), S_i the set of the first i elements
that are selected, and A = C*∖S_i, so that |A| ≤ k. Some x ∈ A has a gain of at least

    γ[f(S_i∪A) − f(S_i)]/k ≥ γ[OPT − f(S_i)]/k,

so OPT − f(S_k) ≤ (1 − γ/k)^k (OPT − f(∅)) ≤ e^{−γ}·OPT. The proof needs the inequality that defines γ only at
sets S_i ⊆ S̃, so γ_{S̃,k} suffices. The denominators f(S_i∪A) − f(S_i) are non-negative, and if one is zero,
there is nothing to prove. For increasing f, the minimum as printed in Definition 2 agrees with the minimum
over positive denominators, by which the checks define γ. The proof uses monotonicity for f(S_i∪C*) ≥ OPT, and
non-negativity for f(∅) ≥ 0.

The checks use integer functions; 1 − e^{−γ} is a ball of 128 bits. Ties are broken in favour of the first
element. The proof holds for every rule. The check favours no rule either, because the elements of the random
functions are in random order.
"""

from itertools import product

from flint import arb, fmpq

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.maximization import (
    forward_regression,
    has_stated_value,
    one_minus_exp,
    optimum,
    submodularity_ratio,
)
from proofs_checks.spectral import precisely
from sparselin.ledger import HOLDS, claim, mutants


@claim(
    "SR-theorem-3",
    "Theorem 3, from Das (2011)",
    "brute force, interval, proof",
    HOLDS,
    cases=4000,
    ci_cases=100,
)
@mutants("sl.forward_regression", "sl.submodularity_ratio_of", "forward_regression", "submodularity_ratio")
@precisely()
def test_greedy_on_monotone_functions(check):
    """For a non-negative monotone f, the greedy set S̃ of size k has f(S̃) ≥ (1 − e^{−γ_{S̃,k}(f)})·OPT.

    Hypotheses: f ≥ 0 is increasing, OPT is its maximum over sets of size k, and γ is the submodularity ratio.

    Consequences: The hypothesis f ≥ 0 is necessary, also at ∅. A counterexample without it is the smoothed
    entropy with δ > 1 (ledger id SR-entropy-greedy).

    Tolerance: The result of sl.submodularity_ratio_of may differ from the exact fraction by 1e-9.
    """
    tightest = [arb(100)]

    def guaranteed(case):
        ratio = over_bound(*case)
        tightest[0] = tightest[0].min(ratio)
        return ratio >= 1

    check.over(EXAMPLES, lambda case: submodularity_ratio(*case[:3]) == case[3])
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 6))
        f, k = spectral.draw_monotone(check.rng, d), int(check.rng.integers(1, d + 1))
        check.over([(f, k)], lambda case: guaranteed(case) and guaranteed_by_package(*case))
    for f in product(range(4 if check.cases > 1000 else 2), repeat=7):
        if spectral.is_increasing(f := (0, *f)):
            check.over([(f, 1), (f, 2)], guaranteed)
    check.measured(f"f(S̃) is at least {float(tightest[0].mid()):.3f} times the bound")


# f(1) = f(2) = 1, f(3) = 4 on two elements: γ_{∅,2} = 2/4
EXAMPLES = [
    ((0, 1, 1, 4), 0, 2, fmpq(1, 2)),
    ((0, 1, 1, 2), 0, 2, 1),
    ((0, 0, 0, 1), 0, 2, 0),
    ((0, 0, 0, 1), 0, 1, 1),
]


def over_bound(f, k):
    """Return the greedy value f(S̃) divided by the bound (1 − e^{−γ})·OPT of Theorem 3, or 100 if the bound
    is 0.

    Return 0 if the submodularity ratio γ is above 1, or differs from the ratio as printed in Definition 2.
    """
    picked = forward_regression(f, k)
    S = spectral.mask_of(picked)
    gamma, bound = submodularity_ratio(f, S, k), one_minus_exp(submodularity_ratio(f, S, k)) * optimum(f, k)
    if len(picked) != k or gamma > 1 or gamma != submodularity_ratio(f, S, k, printed=True):
        return arb(0)
    return arb(f[S]) / bound if bound > 0 else arb(100)


def guaranteed_by_package(f, k):
    """Return whether the package's greedy selection attains the bound of Theorem 3.

    The target is orthogonal to all columns, so that R² = 0. The package's submodularity ratio must also be
    right.
    """
    d = (len(f) - 1).bit_length()
    found = sl.forward_regression(*spectral.orthogonal_to_y(d), k, regularizer=spectral.Values(f), nu=1.0)
    S = spectral.mask_of(found.support.tolist())
    gamma = submodularity_ratio(f, S, k)
    ratio = sl.submodularity_ratio_of(
        lambda A: f[spectral.mask_of(A)], range(d), spectral.members(S), k, monotone=True
    )
    right = ratio.exact and abs(ratio.upper - float(gamma)) <= 1e-9
    return has_stated_value(found, f, k) and right and arb(f[S]) >= one_minus_exp(gamma) * optimum(f, k)
