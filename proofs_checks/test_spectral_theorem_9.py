"""Theorem 9: greedy and local search together (GLS), for R² plus a non-negative submodular function.

Source: *Selecting Diverse Features via Spectral Regularization*, algorithm GLS, Theorem 9 and its proof. Let
g = R² + f. FR(V) is the set of k features of V that forward regression on g selects, and LS is local search
on f, with the parameter ε. U is the set of all features, and S̃ the set with the largest g among S₁ = FR(U),
S₁' = LS(S₁) and S₂ = FR(U∖S₁). In print, for f ≥ 0 submodular and ε < n/4,

    g(S̃) ≥ κ/(2 + κ(4 + 4ε/n))·max_{|S|≤k} g ≥ κ/7·max_{|S|≤k} g,    κ = 1 − e^{−γ_{S̃,2k}/2}.

γ_{S̃,2k} is the submodularity ratio. LS as printed never deletes an element, and then the theorem is false:
FR can select an element that makes all others worthless, and LS keeps this element and adds the rest of S₁ to
it. With deletions the proof in print is right after two more changes: γ is the smaller of the ratios for S₁
and for S₂, and n = |S₁|. The proof, and the derivation of the counterexamples, are in
docs/proofs/spectral_theorem_9.md.
"""

import math
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import greedy_local_search, submodularity_ratio
from proofs_checks.spectral import precisely, r_squared_table
from sparselin.ledger import FALSE, HOLDS, claim, mutants

EPS = fmpq(1, 20)
# (3, …, 3, 1)/10 in ℝ¹² and ten unit vectors: inner products 3/10
SPOILER = spectral.Design(
    np.vstack([np.array([3] * 11 + [1]), *np.eye(12, dtype=int)[:10] * 10]).T,
    100,
    np.array([0] * 10 + [1, -2]),
)


def kappa(gamma):
    """Return κ = 1 − e^{−γ/2} for a submodularity ratio γ, or 0 for γ < 0."""
    return maximization.one_minus_exp(arb(max(gamma, fmpq(0))) / 2)


def factor(kappa, alpha):
    """Return κ/(2 + κα), the factor of Theorem 9 for κ = 1 − e^{−γ/2} and α = 4 + 4ε/n."""
    return kappa / (2 + kappa * alpha)


@claim("SR-theorem-9", "Theorem 9", "exact, interval, brute force, proof", FALSE, cases=3000, ci_cases=60)
@mutants("sl.greedy_local_search", "greedy_local_search", "submodularity_ratio", "r_squared_table")
@precisely()
def test_greedy_local_search(check):
    """The set S̃ that GLS selects has, for g = R² + f,

        g(S̃) ≥ κ/(2 + κ(4 + 4ε/n))·max_{|S|≤k} g ≥ κ/7·max_{|S|≤k} g,    κ = 1 − e^{−γ_{S̃,2k}/2}.

    Hypotheses: f ≥ 0 is submodular, and ε < n/4. FR(V) is the set of k elements of V that forward regression
    on g selects, and LS is local search on f with the parameter ε. GLS computes S₁ = FR(U), S₁' = LS(S₁) and
    S₂ = FR(U∖S₁), for the set U of all features. It returns the set S̃ with the largest g among these.
    γ_{S̃,2k} is the submodularity ratio, a minimum of quotients. It is read as the minimum over the quotients
    with a positive denominator, because the printed minimum is negative for the counterexample.

    Instead: The bound holds if LS also deletes elements, with strict inequalities, for n = |S₁| and γ =
    min(γ_{S₁,2k}, γ_{S₂,2k}). Both ratios γ may be those of g or those of R².

    Consequences: Theorems 14 and 16 cite Theorem 9, but they hold by proofs that need FR only. For general f,
    and also for f(S) = tr h(C_S), GLS as printed attains no constant ratio: for each ε < n/4 the bound fails
    for some f. The paper's own regularizers are an exception. For the generalized rank, the spectral
    variance, and the smoothed entropy with δ ≤ 1, GLS as printed attains the corrected ratio (ledger id
    ours-lemma-6-regularizers).

    Unchecked: If GLS returns S₁' or S₂, the bound with the γ of the returned set is not proved. No violation
    was found.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    check.refutes(
        spectral.is_submodular(spectral.SpoilingElement(6, 1000))
        and submodularity_ratio(spectral.SpoilingElement(6, 1000), 3, 6) == 1
        and attained(spectral.SpoilingElement(11, 1000), 10) == fmpq(1010, 10000) < printed(1, 10),
        "k = 10, 11 orthonormal columns orthogonal to y, ε = 1/20, f(A) = 1000|A|, or 1000 + |A| if 0 ∈ A: "
        "GLS attains 1010 of 10000",
    )
    check.refutes(
        attained(spectral.SpoilingElement(20, 1000), 19) == fmpq(1019, 19000) < kappa(fmpq(1)) / 7,
        "the same with k = 19, 20 columns: GLS attains 1019 of 19000, less than κ/7",
    )
    check.refutes(
        attained(spectral.SpoilingElement(41, 100), 40, eps=9) == fmpq(140, 4000) < kappa(fmpq(1)) / 7,
        "k = 40, 41 columns, ε = 9, f(A) = 100|A|, or 100 + |A| if 0 ∈ A: GLS attains 140 of 4000, less "
        "than κ/7",
    )
    # γ(g) ≥ 1 − R²(U), see docs/proofs/spectral_theorem_9.md
    f, R = spectral.rewarded_variance(SPOILER, 1000, 5550), r_squared_table(SPOILER)
    check.refutes(
        f[-1] == 1010 and f[-2] == 10000 and R[1] > R[2] and attained(f, 10, R) < printed(1 - R[-1], 10),
        "k = 10, ε = 1/20, columns (3, …, 3, 1)/10, e₁, …, e₁₀ of ℝ¹², y = e₁₁ − 2e₁₂, f(A) = tr h(C_A) for "
        "h(t) = 1000 − 5550(t − 1)²: GLS attains less than 1010 of 10000",
    )
    around_the_witness(check)
    corrected_theorem_on_random_designs(check)


def printed(gamma, k):
    """Return a lower bound of the printed factor κ/(2 + κ(4 + 4ε/n)), κ = 1 − e^{−γ/2}, for ε ≤ 1 and n ≥ k.

    The lower bound has 4/k in place of 4ε/n.
    """
    return factor(kappa(fmpq(gamma)), 4 + arb(fmpq(4, k)))


def attained(f, k, R=None, eps=EPS):
    """Return g(S̃)/g(U∖{0}), g = R² + f, for the set S̃ that greedy local search as printed selects from U."""
    g = spectral.added(R, f) if R else f
    return fmpq(1) * g[greedy_local_search(f, g, k, eps).best] / g[len(f) - 2]


def around_the_witness(check):
    """Check the first counterexample to Theorem 9 in more detail: k = 10 and f(A) = 1000|A|, or 1000 + |A| if
    0 ∈ A.

    Greedy local search in the package attains the value 1010 with the local search as printed, and 9000 with
    deletions. For ε = 1/10, 1/2 and 2 the ratio to the optimum is 9/10. The submodularity ratio as printed is
    negative: it is at most −7003/989 for k = 10, and −1003/995 and −2003/994 for k = 4 and 5.
    """
    k, q, eps = 10, 1000, EPS
    f, L = spectral.SpoilingElement(k + 1, q), 0b110
    X, y = spectral.orthogonal_to_y(k + 1)
    runs = [
        sl.greedy_local_search(X, y, k, regularizer=spectral.Values(f), eps=float(eps), variant=variant)
        for variant in ("printed", "complete")
    ]
    maximization.verify(check, [f[spectral.mask_of(run.support.tolist())] for run in runs] == [1010, 9 * q])
    larger = fmpq(1, 10), fmpq(1, 2), fmpq(2)
    maximization.verify(check, *(attained(f, k, eps=value) == fmpq(9, 10) for value in larger))
    single = sum(f[L | 1 << x] - f[L] for x in range(k + 1) if not L >> x & 1)
    S = greedy_local_search(f, f, k, eps).best
    maximization.verify(check, L & ~S == 0 and (single, f[-1] - f[L]) == (7003, -989))
    for d, least in ((5, fmpq(-1003, 995)), (6, fmpq(-2003, 994))):
        f = spectral.SpoilingElement(d, q)
        S = greedy_local_search(f, f, d - 1, eps).best
        maximization.verify(check, submodularity_ratio(f, S, 2 * d, printed=True) == least)


def corrected_theorem_on_random_designs(check):
    """Check the corrected form of Theorem 9 on random designs.

    Report the least quotient of g(S̃) by two bounds: the one that is proved, and the one with the
    submodularity ratio of the returned set S̃.
    """
    least = {"g": arb(100), "S̃": arb(100)}

    def ratio(*objective):
        found = ratios_to_bounds(check, *objective)
        least.update({of: least[of].min(found[of]) for of in least})
        return float(found["g"].mid())

    ratio(*spectral.orthogonal_to_y(11), [fmpq(0)] * 2048, spectral.SpoilingElement(11, 1000), 4, EPS)
    for _ in range(-(-check.cases // 10)):
        start, *objective = draw_objective(check.rng)

        def of_design(design, objective=objective):
            R = r_squared_table(design)
            maximization.verify(check, R[-1] == design.r_squared_of_all)
            return ratio(design.unit_columns, design.y, R, *objective)

        maximization.worst_by_exchanges(check.rng, start, of_design, 10)
    check.measured(
        f"with deletions GLS attains at least {float(least['g'].mid()):.2f} times the corrected bound, "
        f"and {float(least['S̃'].mid()):.2f} times the one with the γ of the returned set"
    )


def ratios_to_bounds(check, X, y, R, f, k, eps):
    """Return g(S̃) divided by each of the three bounds of `corrected`, or 100 if the bound is 0.

    S̃ is the set that greedy local search selects. The two bounds that are proved are checked.
    """
    g = spectral.added(R, f)
    found, best = greedy_local_search(f, g, k, eps, deletions=True), maximization.optimum(g, k)
    ours = sl.greedy_local_search(X, y, k, regularizer=spectral.Values(f), eps=float(eps))
    bounds = {of: ratio * best for of, ratio in corrected(R, g, found, k, eps).items()}
    sets = found.best, spectral.mask_of(ours.support.tolist())
    proved = [bounds[of] for of in ("g", "R²")]
    maximization.verify(
        check, same_values(ours, found, g, k) and all(best >= g[S] >= b for S in sets for b in proved)
    )
    return {of: g[found.best] / bound if bound > 0 else arb(100) for of, bound in bounds.items()}


def draw_objective(rng):
    """Draw a design, a submodular f ≥ 0, a k that is at most half the number of columns, and an ε < ¼."""
    d = int(rng.integers(2, 7))
    design = spectral.draw_design(rng, d, spectral.SHAPES[1:])
    k, eps = int(rng.integers(1, d // 2 + 1)), fmpq(int(rng.integers(1, 25)), 100)
    f = spectral.draw_regularizer(rng, design, k)
    if rng.random() < 0.5:
        f = [fmpq(v, 40) for v in spectral.draw_submodular(rng, d)]
    return design, f, k, eps


def corrected(R, g, found, k, eps):
    """Return the factor κ/(2 + κα), α = 4 + 4ε/|S₁|, of the corrected Theorem 9 with three submodularity
    ratios γ.

    The first γ is min(γ_{S₁,2k}, γ_{S₂,2k}) of g, and the second is the same minimum for R², with κ = γ/2.
    The third is γ_{S̃,2k} of g, for the returned set S̃. S₁ and S₂ are the two sets that forward regression
    selects.
    """

    def least(h):
        outside = (len(h) - 1) & ~found.S1
        return min(submodularity_ratio(h, found.S1, 2 * k), submodularity_ratio(h, found.S2, 2 * k, outside))

    alpha = arb(4 + 4 * eps / found.S1.bit_count())
    return {
        "g": factor(kappa(least(g)), alpha),
        "R²": factor(arb(least(R)) / 2, alpha),
        "S̃": factor(kappa(submodularity_ratio(g, found.best, 2 * k)), alpha),
    }


def same_values(ours, found, g, k):
    """Return whether forward regression of the package and of the checks select sets with the same values.

    The selected sets must have at most k features, and the two sets of forward regression must be disjoint.
    The sets of local search may differ.
    """
    first, _, second = (value for _, value in ours.candidates)
    off = abs(first - float(g[found.S1])) + abs(second - float(g[found.S2]))
    proper = found.best.bit_count() <= k and len(ours.support) <= k and not found.S1 & found.S2
    return proper and maximization.has_stated_value(ours, g) and off <= 1e-9 * float(max(g) + 1)


@claim("SR-theorem-9-constants", "proof of Theorem 9", "exact", HOLDS, cases=3000, ci_cases=200)
@mutants("factor")
def test_constants_of_the_proof(check):
    """The number max(ε'/α, κ(1 − ε')/2) is κ/(κα + 2) for ε' = κα/(κα + 2). This factor is at least κ/7 for α
    = 4 + 4ε/n, ε < n/4.

    Hypotheses: 0 < κ ≤ 1 − e^{−1/2}, because κ = 1 − e^{−γ/2} for a submodularity ratio γ ≤ 1.

    Consequences: For other ε', the proof of Theorem 9 guarantees only the minimum of ε'/α and κ(1 − ε')/2,
    not their maximum. κ/7 may be replaced by κ/4.
    """

    def equal(value):
        kappa, alpha = value
        eps = kappa * alpha / (kappa * alpha + 2)
        return (
            eps / alpha == kappa * (1 - eps) / 2 == factor(kappa, alpha)
            and factor(kappa, alpha) > kappa / 4 > kappa / 7
        )

    top = Fraction(39346, 100000)
    maximization.verify(check, abs(float(top) - (1 - math.exp(-0.5))) < 1e-5 and factor(top, 5) > top / 4)
    for _ in range(check.cases):
        kappa = top * int(check.rng.integers(1, 1001)) / 1000
        check.over([(kappa, 4 + Fraction(int(check.rng.integers(0, 1000)), 1000))], equal)
