"""Lemma 8: three sets that together have at least the value of an optimal set.

Source: *Selecting Diverse Features via Spectral Regularization*, Lemma 8, footnotes 3 and 4. Let g = R² + f
with a submodular f. For C, S₁ ⊆ U, C' = C∖S₁ and S₂ ⊆ U∖S₁,

    g(S₁∪C) + g(S₂∪C') + g(S₁∩C) ≥ g(C).

The proof in print is right. Because S₂ ∩ S₁ = ∅, (S₁∪C) ∩ (S₂∪C') = C', and submodularity gives

    f(S₁∪C) + f(S₂∪C') ≥ f(S₁∪S₂∪C) + f(C'),    f(C') + f(S₁∩C) ≥ f(C) + f(∅).

The proof needs f ≥ 0 only at S₁∪S₂∪C and at ∅, and R²(S₁∪C) ≥ R²(C). In greedy local search (GLS) the lemma
is applied to sets of at most k features, so |S₁∪S₂∪C| ≤ 3k. This explains the constants in two regularizers,
the smoothed entropy f_de (for δ ≤ 1) and the spectral variance f_sv: with these constants, they are
non-negative on sets of up to 3k features. S₂ must be disjoint from S₁.

The checks are exact, over all C, S₁ and S₂ of each ground set.
"""

from flint import fmpq

from proofs_checks import spectral
from proofs_checks.spectral import added, r_squared_table
from sparselin.ledger import HOLDS, claim, mutants


@claim("SR-lemma-8", "Lemma 8", "exact, brute force, proof", HOLDS, cases=1500, ci_cases=30)
@mutants("added", "r_squared_table")
def test_three_sets_share_the_optimum(check):
    """For all sets C, S₁ ⊆ U and S₂ ⊆ U∖S₁, g(S₁∪C) + g(S₂∪C') + g(S₁∩C) ≥ g(C), where C' = C∖S₁ and g = R² +
    f.

    Hypotheses: f is submodular, and non-negative on ∅ and on S₁∪S₂∪C.

    Consequences: If f is negative on one of these sets, the inequality can fail. For example, the smoothed
    entropy f_de with δ > 1 is negative at ∅ (SR-entropy-nonnegative).
    """

    check.over(objectives(check), lambda value: shared(*value))


def shared(R, f):
    """Return whether g(S₁∪C) + g(S₂∪C∖S₁) + g(S₁∩C) ≥ g(C), g = R² + f, for all sets C, S₁ and all S₂
    disjoint from S₁.
    """
    g, U = added(R, f), len(f) - 1
    known = g[0] == f[0] and R[U] <= 1
    return known and all(
        g[S1 | C] + g[S2 | C & ~S1] + g[S1 & C] >= R[C] + f[C]
        for C in range(U + 1)
        for S1 in range(U + 1)
        for S2 in spectral.subsets(U & ~S1)
    )


def objectives(check):
    """Yield pairs of tables, of R² and of a submodular f, over all subsets of a small set.

    At the end R² = 0, and f runs over all submodular functions with small integer values on three elements.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 5))
        design = spectral.draw_design(check.rng, d)
        if check.rng.random() < 0.5:
            yield r_squared_table(design), spectral.draw_regularizer(check.rng, design, d)
        else:
            yield r_squared_table(design), [fmpq(v, 16) for v in spectral.draw_submodular(check.rng, d)]
    yield from (([fmpq(0)] * 8, f) for f in spectral.small_submodular(3, 2))
