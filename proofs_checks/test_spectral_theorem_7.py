"""Theorem 7: unconstrained maximisation of R² + f by local search on f.

Source: *Selecting Diverse Features via Spectral Regularization*, Theorem 7. The local search LS increases f
until it ends at a set S. It returns the set S̃ among S, U∖S and U with the largest g = R² + f, where U is the
set of all n features. In print

    (4 + 4ε/n)·g(S̃) ≥ max g.

The ε of this formula is missing in the text that was extracted from the paper's file. The counterexample
below also refutes the bound without ε, with 4 + 4/n. The proof uses Lemma 6. For LS as printed, which never
deletes an element, the theorem is false, like the lemma. The counterexample has f(A) = q|A|, or q + |A| if 0
∈ A, with q = 1000, and n = 6 orthonormal columns. y is the sum of the columns, so that R²(A) = |A|/6. LS ends
at S = U with g(U) = 1007 and g(∅) = 0, while max g ≥ g(U∖{0}) = 5000 + 5/6. The ratio is 0.2014 < 1/(4 +
4/6). For larger n and q the ratio tends to 0, so no constant is possible.

Suppose that LS also deletes elements, and accepts an addition or a deletion only if it increases f to more
than (1 + ε/n²)f(S), not to exactly this value. Then the proof in print is right. Let C* be the set at which g
is largest. Because f ≥ 0, R² ≥ 0 and R² is increasing,

    g(C*) ≤ (2 + 2ε/n)f(S) + f(U∖S) + R²(U) ≤ (2 + 2ε/n)g(S) + g(U∖S) + g(U).

For this LS, Lemma 6 also holds with 2 + ε/n in place of 2 + 2ε/n. With this sharper form, the factor 4 + ε/n
suffices.
"""

import numpy as np
from flint import fmpq

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.maximization import has_stated_value, local_search, verify
from proofs_checks.rational import real
from proofs_checks.spectral import r_squared_table
from sparselin.ledger import FALSE, claim, mutants


@claim("SR-theorem-7", "Theorem 7", "exact, brute force, proof", FALSE, cases=3000, ci_cases=60)
@mutants("sl.local_search", "local_search", "r_squared_table")
def test_unconstrained_maximisation(check):
    """The local search LS on f is a 1/(4 + 4ε/n)-approximation of max_S g(S), g = R² + f.

    Hypotheses: f ≥ 0 is submodular on a set U of n elements, and ε > 0. LS adds elements x to a set S as long
    as f(S + x) ≥ (1 + ε/n²)f(S). Of S, U∖S and U it returns the set with the largest g.

    Instead: This is true if the search also deletes features, with strict inequalities. Then the ratio is
    even 1/(4 + ε/n).

    Consequences: Theorem 9, on greedy local search (GLS), is false for GLS as printed, and holds with the
    corrected LS.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    witness(check)
    tightest = [fmpq(100)]

    def guaranteed(value):
        design, R, f, eps = value
        g = spectral.added(R, f)
        run = sl.local_search(design.unit_columns, design.y, regularizer=spectral.Values(f), eps=float(eps))
        sets = {local_search(f, g, eps, deletions=True), spectral.mask_of(run.support.tolist())}
        if max(g) > 0:
            tightest[0] = min(tightest[0], *(g[S] / max(g) for S in sets))
        return has_stated_value(run, g) and all((4 + eps / design.d) * g[S] >= max(g) for S in sets)

    check.over(objectives(check), guaranteed)
    check.measured(f"with deletions LS attains at least {real(tightest[0]):.3f} of the optimum")


def witness(check):
    """Check the counterexample to Theorem 7 with n = 6 orthonormal columns and their sum y.

    The local search of the checks, and the package's local search as printed, return a set with the value
    1007, although 5000 + 5/6 is possible. The package's variant that also deletes elements attains the
    guarantee.
    """
    n, eps = 6, fmpq(1, 50)
    design = spectral.Design(np.eye(n, dtype=int), 1, np.ones(n, dtype=int))
    f = spectral.SpoilingElement(n, 1000)
    g = spectral.added(r_squared_table(design), f)
    found = local_search(f, g, eps)
    check.refutes(
        g[found] == 1007 and max(g) == 5000 + fmpq(5, 6) and (4 + fmpq(4, n)) * g[found] < max(g),
        "n = 6 orthonormal columns, y their sum, ε = 1/50, f(A) = 1000|A|, or 1000 + |A| if 0 ∈ A: "
        "LS returns U, 1007, of 5000 + 5/6",
    )
    printed, complete = (
        sl.local_search(design.X, design.y, regularizer=spectral.Values(f), eps=0.02, variant=variant)
        for variant in ("printed", "complete")
    )
    verify(check, has_stated_value(printed, g) and g[spectral.mask_of(printed.support)] == 1007)
    attained = g[spectral.mask_of(complete.support)]
    verify(check, has_stated_value(complete, g) and (4 + eps / n) * attained >= max(g))


def objectives(check):
    """Yield designs with their table of R², a submodular f ≥ 0, and ε.

    A thorough run also takes all submodular f ≥ 0 with small integer values on three columns.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 6))
        design = spectral.draw_design(check.rng, d)
        R, f = r_squared_table(design), spectral.draw_regularizer(check.rng, design, d)
        yield design, R, f, fmpq(int(check.rng.integers(1, 30)), 10)
        yield design, R, [fmpq(v, 40) for v in spectral.draw_submodular(check.rng, d)], fmpq(1, 10)
    design = spectral.draw_design(check.rng, 3)
    R = r_squared_table(design)
    for f in spectral.small_submodular(3, 3) if check.cases >= 1000 else ():
        yield design, R, [fmpq(v, 2) for v in f], fmpq(1, 10)
