"""Lemma 6: local search for non-negative submodular functions, as printed without deletions.

Source: *Selecting Diverse Features via Spectral Regularization*, algorithm LS (local search) and Lemma 6,
which the paper attributes to Feige, Mirrokni and Vondrák (Theorem 3.4). In print, LS starts at the best
single element. As long as some x ∈ U∖S has f(S + x) ≥ (1 + ε/n²)f(S), LS adds x. At the end it returns the
best of S, U∖S and U. Here U is the set of all n elements. The ε in the inequality of the lemma is lost in the
extracted text; we read, for every T ⊆ U,

    (2 + 2ε/n)·f(S) + f(U∖S) ≥ f(T).

The counterexamples also refute the inequality with 2 + 2/n in place of 2 + 2ε/n.

The search of Feige et al. also deletes elements. With additions only, the final S need not be better than its
subsets. For example, LS may start at an element that has the largest value alone, but makes all other
elements worth little. Then it adds the other elements and ends at U, although U without the first element has
a much larger value. The lemma holds with deletions, and it holds for the regularizers of the paper. The
proofs are in docs/proofs/spectral_lemma_6.md.
"""

import math
from itertools import count

import numpy as np
from flint import arb, fmpq

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.maximization import climb, local_search
from proofs_checks.spectral import entropy, precisely, rank_power, variance
from sparselin.ledger import FALSE, HOLDS, claim, mutants

EPSILONS = (fmpq(1, 100), fmpq(1, 2), fmpq(3), fmpq(20))
# (1, 1, 1, 1)/2 and three unit vectors: inner products ½
SPOILER = spectral.Design(
    np.array([[1, 2, 0, 0], [1, 0, 2, 0], [1, 0, 0, 2], [1, 0, 0, 0]]), 4, np.array([0, 0, 0, 1])
)


class Counted(list):
    """A table of the values of a set function that counts how often a value is read."""

    reads = 0

    def __getitem__(self, mask):
        self.reads += 1
        return super().__getitem__(mask)


def functions(check, size=5):
    """Yield random submodular functions that are non-negative, on at most `size` elements.

    A thorough run also takes all those with small integer values on three elements.
    """
    for _ in range(check.cases):
        yield spectral.draw_submodular(check.rng, int(check.rng.integers(1, size + 1)))
    if check.cases >= 1000:
        yield from spectral.small_submodular(3, 3)


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
    """The local search LS, applied to a submodular function f ≥ 0, ends at a set S with

        (2 + 2ε/n)f(S) + f(U∖S) ≥ f(T)

    for every T.

    Hypotheses: f ≥ 0 is a submodular function on the subsets of U, |U| = n, and ε > 0. LS starts at the best
    single element, and adds an element x to the current set S as long as f(S + x) ≥ (1 + ε/n²)f(S).

    Instead: If the search also deletes elements, with strict inequalities, its final set S satisfies (2 +
    ε/n)f(S) + f(U∖S) ≥ f(T) for every T.

    Consequences: Theorems 7 and 9 are false for LS as printed (SR-theorem-7, SR-theorem-9), and hold with
    deletions. Theorems 14 and 16 do not depend on LS. The lemma is false for some functions f(S) = tr h(C_S)
    ≥ 0 too. But for the three regularizers of the paper it holds for LS as printed
    (ours-lemma-6-regularizers).
    """
    f, eps, U = spectral.SpoilingElement(4, 40), fmpq(1, 10), 15
    check.refutes(
        misled(f, eps) and f[U] == 44,
        "n = 4, ε = 1/10, f(A) = 40|A|, or 40 + |A| if 0 ∈ A: LS ends at U, 44; 2.5·44 + 0 < 120 = f({1, "
        "2, 3})",
    )
    run = sl.local_search(
        *spectral.orthogonal_to_y(4), regularizer=spectral.Values(f), eps=0.1, variant="printed"
    )
    check.over([f], lambda f: (run.value, run.support.tolist()) == (f[U], [0, 1, 2, 3]))
    of_spectrum = spectral.rewarded_variance(SPOILER, 40, 78)
    check.refutes(
        misled(of_spectrum, eps) and of_spectrum[U] == 43,
        "ε = 1/10, columns (1, 1, 1, 1)/2, e₁, e₂, e₃, f(A) = tr h(C_A) for h(t) = 40 − 78(t − 1)²: LS ends "
        "at U, 43; 2.5·43 + 0 < 120 = f({1, 2, 3})",
    )
    spoiled = (spectral.SpoilingElement(n, 10**n) for n in range(1, 8))
    check.over(spoiled, lambda f: guaranteed(f) and guaranteed_by_package(f))
    check.over(functions(check), lambda f: guaranteed(f) and guaranteed_by_package(f))


def misled(f, eps):
    """Return whether local search as printed adds every element, although this violates Lemma 6.

    It must end at the whole set U, and U without element 0 must have more than (2 + 2/n) times its value. f
    must be submodular with the least value 0.
    """
    U = len(f) - 1
    printed = 2 + fmpq(2, U.bit_count())
    submodular = spectral.is_submodular(f) and min(f) == 0
    return submodular and climb(f, eps, U) == U and printed * f[U] + f[0] < f[U & ~1]


def guaranteed(f):
    """Return whether local search with deletions ends at a set that satisfies the corrected lemma, for four
    values of ε.
    """
    U = len(f) - 1
    ends = ((climb(f, eps, U, deletions=True), eps) for eps in EPSILONS)
    return all(0 <= S <= U and corrected(f, S, eps) for S, eps in ends)


def corrected(f, S, eps):
    """Return whether the set S satisfies the corrected Lemma 6: (2 + ε/n)f(S) + f(U∖S) ≥ f(T) for every set
    T.

    S must also be a set at which the search ends: no addition and no deletion increases f by more than the
    factor 1 + ε/n².
    """
    U = len(f) - 1
    n = U.bit_count()
    ended = all(f[S ^ 1 << x] <= (1 + eps / n**2) * f[S] for x in range(n))
    return ended and (2 + eps / n) * f[S] + f[U & ~S] >= max(f)


def guaranteed_by_package(f):
    """Return whether the local search of the package, with deletions, attains the guarantee of the corrected
    lemma.

    The response is orthogonal to the columns, so that R² = 0 and only f counts.
    """
    U = len(f) - 1
    eps = EPSILONS[sum(f) % len(EPSILONS)]
    run = sl.local_search(
        *spectral.orthogonal_to_y(U.bit_count()), regularizer=spectral.Values(f), eps=float(eps)
    )
    at_S, off_S, at_U = (value for _, value in run.candidates)
    ends = [S for S in range(U + 1) if (f[S], f[U & ~S]) == (at_S, off_S)]
    return at_U == f[U] and run.value == max(at_S, off_S, at_U) and any(corrected(f, S, eps) for S in ends)


@claim(
    "ours-lemma-6-regularizers",
    "Lemma 6 with the regularizers of Section 5",
    "exact, interval, brute force, proof",
    HOLDS,
)
@mutants("climb", "entropy", "variance", "rank_power")
@precisely()
def test_local_search_with_the_regularizers(check):
    """Lemma 6 holds for the three regularizers of the paper. For the generalized rank f_gr, the spectral
    variance f_sv, and the smoothed entropy f_de with δ ≤ 1, the local search LS as printed ends at a set S
    with

        (2 + 2ε/n)f(S) + f(U∖S) ≥ f(T)

    for every T.

    Hypotheses: The columns have length 1, and n ≤ 3k, so that f_de and f_sv are non-negative. f_gr(S) = Σ
    λ_i^α, f_sv(S) = 9k² − Σ (λ_i − 1)² and f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, where λ_i are the
    eigenvalues of the Gram matrix C_S. U is the set of the n features. LS starts at the best single feature,
    and adds a feature x to the current set S as long as f(S + x) ≥ (1 + ε/n²)f(S).

    Consequences: Lemma 6 fails only for other functions (SR-lemma-6). The corrected form of Theorem 9 holds
    for these three functions and greedy local search (GLS) as printed, because GLS runs LS within a set of k
    features. Stronger inequalities hold: f(T) ≤ f(S) for f_sv, f(T) ≤ (1 + ε/n)f(S) for f_gr, and f(T) ≤ (1 +
    ε/n)f(S) + |S∖T| log₂(1/δ) ≤ (2 + ε/n)f(S) for f_de.

    Unchecked: Values of α other than 0, ½ and 1 are not checked.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(1, 6))
        C, k = spectral.draw_design(check.rng, d).correlations, -(-d // 3)
        eps = EPSILONS[int(check.rng.integers(len(EPSILONS)))]
        f = spectral.table(lambda S, C=C, k=k: variance(C, S, k), d)
        check.over([f], lambda f, eps=eps, k=k: f[climb(f, eps, len(f) - 1)] == max(f) == 9 * k * k)
        for alpha in (0, fmpq(1, 2), 1):
            f = spectral.table(lambda S, C=C, alpha=alpha: rank_power(C, S, alpha), d)
            check.over([f], lambda f, eps=eps: starts_at(f, 1) and within(f, 0, eps))
        for delta in (fmpq(1, 100), fmpq(1, 2), fmpq(9, 10), fmpq(1)):
            f, c = (
                spectral.table(lambda S, C=C, k=k, delta=delta: entropy(C, S, delta, k), d),
                spectral.log2(1 / delta),
            )
            single = spectral.log2(1 + delta) + 3 * k * c
            check.over([f], lambda f, c=c, eps=eps, s=single: starts_at(f, s) and within(f, c, eps))


def starts_at(f, value):
    """Return whether every single element has the same given value."""
    return all(arb(f[1 << x]).overlaps(arb(value)) for x in range((len(f) - 1).bit_length()))


def within(f, c, eps):
    """Return whether the set S at which local search as printed ends is nearly optimal, up to a constant c
    per element.

    For all sets T, f(T) ≤ (1 + ε/n)f(S) + |S∖T|c, and this bound must be at most (2 + ε/n)f(S).
    """
    U = len(f) - 1
    n, S = U.bit_count(), climb(f, eps, U)
    most = (1 + eps / n) * f[S]
    return not n * c > f[S] and not any(f[T] > most + (S & ~T).bit_count() * c for T in range(U + 1))


@claim("SR-lemma-6-time", "Lemma 6", "exact, brute force, proof", HOLDS, cases=2000, ci_cases=60)
@mutants("local_search")
def test_how_long_local_search_takes(check):
    """The local search LS takes O((1/ε) n³ log n) time, counted in evaluations of f.

    Hypotheses: f ≥ 0 is submodular on n ≥ 2 elements, and 0 < ε ≤ n².

    Consequences: As printed, LS takes at most n² evaluations. With deletions, it takes at most n + n·log
    n/log(1 + ε/n²) evaluations.

    Unchecked: ε > n² is not checked. For ε > n² the bound is smaller than n, although LS begins with n
    evaluations, one for each single element.
    """
    longest = [0.0]

    def quick(f):
        n = (len(f) - 1).bit_length()
        shares = [
            evaluations(f, eps, deletions)
            for eps in EPSILONS
            if n >= 2 and eps <= n * n
            for deletions in (False, True)
        ]
        longest[0] = max([longest[0], *shares])
        return longest[0] <= 1

    check.over(functions(check), quick)
    check.measured(f"at most {longest[0]:.2f} of the evaluations that the proof allows")


def evaluations(f, eps, deletions):
    """Return how often local search reads a value of f, divided by the number that the proof allows.

    Return infinity if the value of the returned set differs from that of a second implementation of the
    search.
    """
    n, counted = (len(f) - 1).bit_length(), Counted(f)
    S = local_search(counted, f, eps, deletions=deletions)
    if f[S] != max(f[T] for T in ends(f, eps, deletions)):
        return math.inf
    steps = math.log(n) / math.log1p(float(eps) / n**2) + 1
    # two reads for a comparison, and 2n in the first line
    return counted.reads / ((steps if deletions else min(n, steps)) * 2 * n + 2 * n)


def ends(f, eps, deletions):
    """Return the final set S of local search, its complement, and the whole set U, by a second
    implementation.
    """
    U = len(f) - 1
    n = U.bit_count()
    S = 1 << max(range(n), key=lambda x: (f[1 << x], -x))
    for _ in count():
        least = (1 + eps / n**2) * f[S]
        neighbours = [S ^ 1 << x for x in range(n) if deletions or not S >> x & 1]
        better = [T for T in neighbours if (f[T] > least if deletions else f[T] >= least)]
        if not better:
            return S, U & ~S, U
        S = better[0]
