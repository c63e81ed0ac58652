"""Lemma 6: local search for non-negative submodular functions, as printed without deletions.

Source: *Selecting Diverse Features via Spectral Regularization*, algorithm LS and Lemma 6, there attributed
to Feige, Mirrokni and Vondrák (Theorem 3.4). LS in print: start at the best single element; while some x ∈
U∖S has f(S + x) ≥ (1 + ε/n²)f(S), add it; return the best of S, U∖S, U. The ε is lost in the extracted
text; we read (2 + 2ε/n)f(S) + f(U∖S) ≥ f(T), and the witness refutes the reading (2 + 2/n) as well.

The search of Feige et al. also deletes. With additions only, S need not be compared with its subsets: let
f(A) = q|A| for 0 ∉ A and q + |A| for 0 ∈ A. Its gains are q or 1 for an element, q, 1, 2 − q, … for 0, so f
is submodular (q ≥ 1), f(∅) = 0. LS starts at {0}, gains 1 at each step and ends at U with f(U) = q + n,
f(∅) = 0, while f(U∖{0}) = q(n − 1). For n = 4 and q = 40, (2 + 2/n)·44 = 110 < 120; the ratio f(T)/f(S)
tends to n − 1 as q grows.

With deletions, at a set S where no addition or deletion exceeds (1 + ε/n²)f(S): for I ⊇ S, f(I) ≤ f(S) +
Σ_{x∈I∖S} [f(S + x) − f(S)] ≤ (1 + |I∖S|ε/n²)f(S), and likewise for I ⊆ S. For I = S∪T and S∩T together
|T∖S| + |S∖T| ≤ n elements occur, and f(S∪T) + f(S∩T) + f(U∖S) ≥ f(T) + f(∅) + f(U) ≥ f(T) by submodularity,
twice. So (2 + ε/n)f(S) + f(U∖S) ≥ f(T). The inequality in the search must be strict: with ≥, S = ∅ and {x}
alternate for ever where f = 0 on both.

Time: each step multiplies f by more than 1 + ε/n² and max f ≤ n·max f({x}) for n ≥ 2 (f is subadditive, and
f(∅) ≤ f(x) + f(y)), so there are at most log n/log(1 + ε/n²) ≤ (2n²/ε) log n steps for ε ≤ n², of at most n
evaluations. The printed search makes at most n − 1 additions whatever ε is.
"""

import math
from itertools import count

from flint import fmpq

import sparselin as sl
from proofs_checks.spectral import (
    Values,
    climb,
    draw_submodular,
    is_submodular,
    local_search,
    small_submodular,
    trap,
    unseen,
)
from sparselin.ledger import FALSE, HOLDS, claim, mutants

EPSILONS = (fmpq(1, 100), fmpq(1, 2), fmpq(3), fmpq(20))


class Counted(list):
    """A table that counts how often it is read."""

    reads = 0

    def __getitem__(self, mask):
        self.reads += 1
        return super().__getitem__(mask)


def functions(check, size=5):
    """Non-negative submodular functions: random ones, and all the small ones on three elements."""
    for _ in range(check.cases):
        yield draw_submodular(check.rng, int(check.rng.integers(1, size + 1)))
    if check.cases >= 1000:
        yield from small_submodular(3, 3)


@claim(
    "SR-lemma-6",
    "Lemma 6, from Feige, Mirrokni and Vondrák (2011), Theorem 3.4",
    "exact, brute force, proof",
    FALSE,
    cases=3000,
    ci_cases=60,
)
@mutants("sl.local_search", "climb")
def test_what_local_search_guarantees(check):
    """LS ends at an S with (2 + 2ε/n)f(S) + f(U∖S) ≥ f(T) for every T.

    Hypotheses: f ≥ 0 submodular, ε > 0

    Instead: For the search that also deletes, with strict inequalities: (2 + ε/n)f(S) + f(U∖S) ≥ f(T).

    Consequences: Theorems 7 and 9 fall for LS as printed (SR-theorem-7, SR-theorem-9) and hold with
    deletions. Theorems 14 and 16 do not depend on LS.
    """
    f, eps, U = trap(4, 40), fmpq(1, 10), 15
    S = climb(f, eps, U, deletions=False)
    check.refutes(
        is_submodular(f) and min(f) == 0 and S == U and (2 + fmpq(2, 4)) * f[S] + f[0] < f[U & ~1],
        "n = 4, ε = 1/10, f(A) = 40|A|, or 40 + |A| if 0 ∈ A: LS ends at U, 44; 2.5·44 + 0 < 120 = f({1, "
        "2, 3})",
    )
    run = sl.local_search(*unseen(4), regularizer=Values(f), eps=0.1, variant="printed")
    check.over([f], lambda f: (run.value, run.support.tolist()) == (f[U], [0, 1, 2, 3]))

    def guaranteed(f):
        U = len(f) - 1
        n = U.bit_count()
        for eps in EPSILONS:
            S = climb(f, eps, U, deletions=True)
            if not 0 <= S <= U or (2 + eps / n) * f[S] + f[U & ~S] < max(f):
                return False
            if any(f[S ^ 1 << x] > (1 + eps / n**2) * f[S] for x in range(n)):
                return False
        return True

    def ours(f):
        """With y orthogonal to the columns g = f, and the candidates are f(S), f(U∖S) and f(U)."""
        U = len(f) - 1
        n, eps = U.bit_count(), EPSILONS[sum(f) % len(EPSILONS)]
        run = sl.local_search(*unseen(n), regularizer=Values(f), eps=float(eps))
        at_S, beside, at_U = (value for _, value in run.candidates)
        return (
            at_U == f[U]
            and run.value == max(at_S, beside, at_U)
            and any(
                (f[S], f[U & ~S]) == (at_S, beside)
                and (2 + eps / n) * f[S] + f[U & ~S] >= max(f)
                and all(f[S ^ 1 << x] <= (1 + eps / n**2) * f[S] for x in range(n))
                for S in range(U + 1)
            )
        )

    check.over([trap(n, 10**n) for n in range(1, 8)], lambda f: guaranteed(f) and ours(f))
    check.over(functions(check), lambda f: guaranteed(f) and ours(f))


@claim("SR-lemma-6-time", "Lemma 6", "exact, brute force, proof", HOLDS, cases=2000, ci_cases=60)
@mutants("local_search")
def test_how_long_local_search_takes(check):
    """LS takes O((1/ε) n³ log n) time, counted in evaluations of f.

    Hypotheses: f ≥ 0 submodular, 0 < ε ≤ n², n ≥ 2

    Consequences: As printed it takes at most n² evaluations; with deletions n + n·log n/log(1 + ε/n²) of
    them.

    Unchecked: ε > n², where the bound falls below the n evaluations of the first line
    """
    longest = [0.0]

    def quick(f):
        n = (len(f) - 1).bit_length()
        for eps in EPSILONS:
            if n < 2 or eps > n * n:
                continue
            steps = math.log(n) / math.log1p(float(eps) / n**2) + 1
            for deletions in (False, True):
                counted = Counted(f)
                S = local_search(counted, f, eps, deletions=deletions)
                # two reads for a comparison, and 2n in the first line
                bound = (min(n, steps) if not deletions else steps) * 2 * n + 2 * n
                if counted.reads > bound or f[S] != max(f[T] for T in ends(f, eps, deletions)):
                    return False
                longest[0] = max(longest[0], counted.reads / bound)
        return True

    check.over(functions(check), quick)
    check.measured(f"at most {longest[0]:.2f} of the evaluations that the proof allows")


def ends(f, eps, deletions):
    """S, U∖S and U, by a search of its own."""
    U = len(f) - 1
    n = U.bit_count()
    S = 1 << max(range(n), key=lambda x: (f[1 << x], -x))
    for _ in count():
        flips = [x for x in range(n) if deletions or not S >> x & 1]
        better = [
            x
            for x in flips
            if (
                f[S ^ 1 << x] > (1 + eps / n**2) * f[S]
                if deletions
                else f[S ^ 1 << x] >= (1 + eps / n**2) * f[S]
            )
        ]
        if not better:
            return S, U & ~S, U
        S ^= 1 << better[0]
