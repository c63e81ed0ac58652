"""Theorem 7: unconstrained maximisation of R² + f by local search on f.

Source: *Selecting Diverse Features via Spectral Regularization*, Theorem 7. In print: LS, which climbs by f
and returns the best of S, U∖S, U in g = R² + f, is a 1/(4 + 4ε/n)-approximation of max g (the ε is lost in
the text; the witness refutes 1/(4 + 4/n) as well).

It rests on Lemma 6 and falls with it for LS as printed: the function of SR-lemma-6 on n = 6 orthonormal
columns, q = 1000, y the sum of the columns, so that R²(A) = |A|/6. LS ends at S = U with g(U) = 1007, g(∅)
= 0, and OPT ≥ g(U∖{0}) = 5000 + 5/6: a ratio of 0.2014 < 1/(4 + 4/6). For larger n and q the ratio tends to
0: no constant is left.

With deletions and strict inequalities the proof in print is right: g(C*) ≤ (2 + 2ε/n)f(S) + f(U∖S) + R²(U)
≤ (2 + 2ε/n)g(S) + g(U∖S) + g(U), for f, R² ≥ 0 and R² increasing; 4 + ε/n is enough by the sharper Lemma 6.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks.rational import real
from proofs_checks.spectral import (
    Values,
    added,
    draw_design,
    draw_regularizer,
    draw_submodular,
    local_search,
    mask_of,
    r_squared,
    reports,
    small_submodular,
    table,
    trap,
    unit_columns,
)
from sparselin.ledger import FALSE, claim, mutants


@claim("SR-theorem-7", "Theorem 7", "exact, brute force, proof", FALSE, cases=3000, ci_cases=60)
@mutants("sl.local_search", "local_search", "r_squared")
def test_unconstrained_maximisation(check):
    """LS is a 1/(4 + 4ε/n)-approximation of max_S R²(S) + f(S).

    Hypotheses: f ≥ 0 submodular, ε > 0

    Instead: For the search that also deletes, with strict inequalities; then even 1/(4 + ε/n).

    Consequences: Theorem 9 falls for GLS as printed, and holds with the corrected search.

    Tolerance: none for the bound; 1e-9 for the value that is reported (see `reports`)
    """
    n, eps = 6, fmpq(1, 50)
    X, y = np.eye(n, dtype=int), np.ones(n, dtype=int)
    f = trap(n, 1000)
    g = added(table(lambda S: r_squared(X, y, S), n), f)
    found = local_search(f, g, eps)
    check.refutes(
        g[found] == 1007 and max(g) == 5000 + fmpq(5, 6) and (4 + fmpq(4, n)) * g[found] < max(g),
        "n = 6 orthonormal columns, y their sum, ε = 1/50, f(A) = 1000|A|, or 1000 + |A| if 0 ∈ A: "
        "LS returns U, 1007, of 5000 + 5/6",
    )
    ours = [
        sl.local_search(X, y, regularizer=Values(f), eps=0.02, variant=variant)
        for variant in ("printed", "complete")
    ]
    check.over([g], lambda g: all(reports(run, g) for run in ours) and g[mask_of(ours[0].support)] == 1007)
    check.over([g], lambda g: (4 + eps / n) * g[mask_of(ours[1].support)] >= max(g))
    tightest = [fmpq(100)]

    def guaranteed(value):
        design, R, f, eps = value
        g = added(R, f)
        run = sl.local_search(unit_columns(design), design.y, regularizer=Values(f), eps=float(eps))
        return reports(run, g) and all(
            bounded(f, g, eps, S)
            for S in {local_search(f, g, eps, deletions=True), mask_of(run.support.tolist())}
        )

    def bounded(f, g, eps, found):
        factor = 4 + eps / (len(f) - 1).bit_count()
        if max(g) > 0:
            tightest[0] = min(tightest[0], g[found] / max(g))
        return factor * g[found] >= max(g)

    def cases():
        for _ in range(check.cases):
            d = int(check.rng.integers(1, 6))
            design = draw_design(check.rng, d)
            R = table(lambda S, design=design: r_squared(design.X, design.y, S), d)
            f = draw_regularizer(check.rng, design, d)
            yield design, R, f, fmpq(int(check.rng.integers(1, 30)), 10)
            yield design, R, [fmpq(v, 40) for v in draw_submodular(check.rng, d)], fmpq(1, 10)
        design = draw_design(check.rng, 3)
        R = table(lambda S: r_squared(design.X, design.y, S), 3)
        for f in small_submodular(3, 3) if check.cases >= 1000 else ():
            yield design, R, [fmpq(v, 2) for v in f], fmpq(1, 10)

    check.over(cases(), guaranteed)
    check.measured(f"with deletions LS attains at least {real(tightest[0]):.3f} of the optimum")
