"""Theorem 16 and Section 5.3: the spectral variance f_sv(S) = 9k² − Σ (λ_i(C_S) − 1)².

Source: *Selecting Diverse Features via Spectral Regularization*, Section 5.3, footnote 4, Theorem 16.

f_sv(S) = 9k² − ‖C_S − I‖²; for unit columns the gain of x is −2 Σ_{j∈S} c_xj², which decreases as S grows
(submodular; the proof is in the supplement, not at hand) and is never positive: f_sv is not only "not
monotonically increasing in general" but decreasing, and largest at ∅. ‖C_S − I‖² ≤ |S|(|S| − 1), so f_sv ≥
0 for |S| ≤ 3k; 3k + 1 copies have −3k.

Theorem 16. Its proof cites Theorem 9, which falls for LS as printed, and there Proposition 10, which fails
for f_sv. The theorem stands. With ν = 1 ("w.l.o.g.") it says nothing: any set of at most k features has
f_sv ≥ 9k² − k(k − 1) = 8k² + k, and OPT ≤ 9k² + 1, so every such set attains 8/9 of OPT and more (9/10 for
k = 1), while the theorem promises (1 − e^{−1/2})/7 < 0.057, whatever γ ≤ 1 is.

For f_sv ν = 1 is some generality lost: ν cannot be put into f. For any ν > 0 FR alone is enough. Let S_i be
the first i picks, S₁ = S_k = FR(U) as in Theorem 5, D_i = R²(C*) − R²(S_i), γ = γ_{S₁,k}(R²). f loses by
any x at most 2i and gains by none, so that the pick's gain in R² is at least that of each x ∈ C*∖S_i less
2νi. The largest of these being at least γD_i/k, D_{i+1} ≤ (1 − γ/k)D_i + 2νi while D_i ≥ 0, whence R²(S₁) ≥
(1 − e^{−γ})R²(C*) − νk(k − 1); where D_i < 0 once, it stays so. With f(S₁) ≥ 9k² − k(k − 1) and OPT ≤
R²(C*) + 9k²ν, as 7/9 > 1 − 1/e,

    g(S₁) ≥ (1 − e^{−γ})R²(C*) + 7k²ν ≥ (1 − e^{−γ})·OPT,   γ = γ_{S₁,k}(R²),

and the set returned is no worse. (If fewer than k features are there S₁ has them all: D ≤ 0 at the end.)
This has γ of S₁; γ_{S̃,2k} stands without a function in print, and is R²'s here. For k ≤ 14 the printed
bound holds with γ_{∅,2k}(R²), the largest of them, so for any S̃: the first pick has the largest R² of all,
all singletons having the same f, so R²(S₁) ≥ γ_{∅,2k}R²(C*)/k, and f(S₁) ≥ (8/9)f(C*). For k ≥ 15 and ν ≥
1/30000 any γ ≤ 1 will do: (8k² + k)ν ≥ (1 − e^{−1/2})/7·(9k²ν + 1), which is tightest at k = 15, ν =
1/30000.

Exact; 1 − e^{−γ/2} in balls of 128 bits.
"""

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import real
from proofs_checks.spectral import (
    SHAPES,
    added,
    chains,
    correlations,
    descend,
    draw_design,
    greedy_local_search,
    is_submodular,
    mask_of,
    members,
    optimum,
    precisely,
    projected,
    r_squared,
    reports,
    settle,
    submodularity_ratio,
    subsets,
    table,
    trace_of,
    unit_columns,
    unit_designs,
    variance,
    variance_float,
)
from sparselin.ledger import HOLDS, claim, mutants

NUS = (fmpq(1), fmpq(1, 8), fmpq(1, 128), fmpq(1, 4096))


def package_variance(C, S, k):
    """f_sv of the package."""
    return sl.spectral.SpectralVariance(k).value(C, S)


def package_gains(C, S, k):
    """Its gains, (d,)."""
    return sl.spectral.SpectralVariance(k).gains(C, S)


@claim("SR-variance-definition", "Section 5.3", "interval, float, exact", HOLDS, cases=400, ci_cases=15)
@mutants("variance", "variance_float", "package_variance", "package_gains")
def test_variance_is_a_frobenius_norm(check):
    """f_sv = 9k² − Σ (λ_i − 1)² is 9k² minus |S| times the mean square of the eigenvalues about their mean,
    1.

    Hypotheses: unit columns

    Consequences: Σ (λ_i − 1)² = ‖C_S − I‖², which needs no eigenvalues.

    Tolerance: balls of 128 bits overlap; floats to 64·eps·k²·|S|²: eigenvalues to |S|·eps·‖C_S‖, at slope
    2|S|
    """
    with precisely():

        def equal(design):
            C, d = correlations(design), design.X.shape[1]
            float_C = design.X.T @ design.X / design.N
            for S in (members(mask) for mask in range(1, 1 << d)):
                ours = variance(C, S, 3)
                if not (81 - trace_of(lambda t: (t - 1) ** 2, C, S)).overlaps(arb(ours)):
                    return False
                if trace_of(lambda t: t, C, S).overlaps(arb(len(S))) is False:
                    return False
                bound = 64 * np.finfo(float).eps * 9 * len(S) ** 2
                floats = variance_float(float_C, S, 3), package_variance(float_C, S, 3)
                if any(abs(value - real(ours)) > bound for value in floats):
                    return False
                for x, gain in enumerate(package_gains(float_C, S, 3)):
                    if abs(real(variance(C, sorted({*S, x}), 3) - ours) - gain) > 2 * bound:
                        return False
            return True

        check.forall(unit_designs(max_d=5), equal)


@claim("SR-variance-nonnegative", "Section 5.3, footnote 4", "exact, proof", HOLDS, cases=1500, ci_cases=60)
@mutants("variance")
def test_sign_of_the_variance(check):
    """The constant 9k² makes f_sv non-negative for sets of up to 3k features.

    Hypotheses: unit columns

    Consequences: f_sv ≥ 3k > 0 there; it fails for 3k + 1 copies, where f_sv = −3k.
    """

    def copies(m):
        return fmpq_mat(m, m, [(-1) ** (i // 2 + j // 2) for i in range(m) for j in range(m)])

    check.over(range(1, 6), lambda k: variance(copies(3 * k), range(3 * k), k) == 3 * k)
    check.over(range(1, 6), lambda k: variance(copies(3 * k + 1), range(3 * k + 1), k) == -3 * k)

    def signed(design):
        C, d = correlations(design), design.X.shape[1]
        sets = [members(S) for S in range(1 << d)]
        return all(
            9 * k * k >= variance(C, S, k) >= 9 * k * k - len(S) * max(len(S) - 1, 0)
            and variance(C, S, k) >= 3 * k
            for S in sets
            for k in (1, 2)
            if len(S) <= 3 * k
        )

    check.forall(unit_designs(max_d=6), signed)


@claim(
    "SR-variance-submodular",
    "Section 5.3 (proof in the supplement)",
    "exact, brute force, proof",
    HOLDS,
    cases=1000,
    ci_cases=40,
)
@mutants("variance")
def test_variance_is_submodular(check):
    """f_sv is submodular.

    Hypotheses: unit columns; the proof covers every Hermitian C

    Unchecked: the proof of the supplement; Theorem 12 with f' = −2(t − 1), or the formula for the gain, prove
    it
    """

    def submodular(design):
        C, d = correlations(design), design.X.shape[1]
        f = table(lambda S: variance(C, S, 2), d)
        gains = all(
            f[A | 1 << x] - f[A] == -2 * sum((C[x, j] ** 2 for j in members(A)), fmpq(0))
            for A in range(1 << d)
            for x in range(d)
            if not A >> x & 1
        )
        return is_submodular(f) and gains and f[0] == 36

    check.forall(unit_designs(max_d=5), submodular)


@claim("SR-variance-not-monotone", "Section 5.3; Section 6", "exact, proof", HOLDS, cases=1000, ci_cases=40)
@mutants("variance")
def test_variance_never_increases(check):
    """f_sv is not monotonically increasing in general.

    Hypotheses: unit columns

    Consequences: It is decreasing: no set has more than ∅ or a single feature.
    """
    check.over(
        [fmpq_mat(2, 2, [2, 1, 1, 2]) * fmpq(1, 2)],
        lambda C: variance(C, [0, 1], 1) == fmpq(17, 2) < variance(C, [0], 1),
    )

    def decreasing(design):
        C, d = correlations(design), design.X.shape[1]
        f = table(lambda S: variance(C, S, 1), d)
        return all(f[A | x] <= f[A] for A, _, x in chains(d)) and all(
            f[1 << i] == f[0] == 9 for i in range(d)
        )

    check.forall(unit_designs(max_d=5), decreasing)


@claim("SR-theorem-16", "Theorem 16", "exact, interval, brute force, proof", HOLDS, cases=6000, ci_cases=60)
@mutants("sl.greedy_local_search", "greedy_local_search", "variance", "r_squared", "submodularity_ratio")
def test_guarantee_with_the_variance(check):
    """GLS on R² + νf_sv, ν = 1 “w.l.o.g.”, attains (1 − e^{−γ_{S̃,2k}/2})/7 of the optimum.

    Hypotheses: unit columns; ν = 1; any γ ≤ 1. For other ν > 0, which print means but loses by ν = 1: γ of
    R², and ν ≥ 1/30000 or k ≤ 14 or S̃ = S₁

    Consequences: By a proof that needs neither Theorem 9 nor Proposition 10, which fall: FR alone attains 1 −
    e^{−γ_{S₁,k}(R²)} for every ν > 0. With ν = 1 every set of at most k features attains 8/9.

    Unchecked: k > 14 and ν < 1/30000 with the γ of S₁' or S₂, where that is returned

    Tolerance: none for the bound; 1e-9 for the value that is reported (see `reports`)
    """
    with precisely():
        half = [fmpq(0), fmpq(0), fmpq(1, 2), fmpq(1)]
        check.over([half], lambda R: submodularity_ratio(R, 0, 2) == fmpq(1, 2))
        most, nu = (1 - (-arb(1) / 2).exp()) / 7, fmpq(1, 30000)
        check.over(
            range(15, 100),
            lambda k: arb((8 * k * k + k) * nu) >= most * (9 * k * k * nu + 1),
        )
        check.over([14], lambda k: most <= fmpq(1, k) and most < fmpq(8, 9))
        poorest = [fmpq(1)]

        def ratio(design, k, nu):
            d = design.X.shape[1]
            R = table(lambda S: r_squared(design.X, design.y, S), d)
            C = correlations(design)
            f = table(lambda S: nu * variance(C, S, k), d)
            known = R[-1] == projected(design.X, design.y, range(d)) and f[0] == f[1] == 9 * k * k * nu
            g = added(R, f)
            found, best = greedy_local_search(f, g, k, fmpq(1, 10)), optimum(g, k)
            widest = submodularity_ratio(R, 0, 2 * k)
            printed = (1 - (-arb(widest) / 2).exp()) / 7 * best
            where = f"{design}, {k}, {nu}"
            f_sv = sl.spectral.SpectralVariance(k)
            ours = sl.greedy_local_search(
                unit_columns(design), design.y, k, regularizer=f_sv, nu=float(nu), variant="printed"
            )
            known = known and reports(ours, g) and len(ours.support) <= k
            for S in {found.best, mask_of(ours.support.tolist())}:
                settle(check, arb(g[S]) if known else arb(-1), printed, f"{where}: the printed bound")
            sharper = (1 - (-arb(submodularity_ratio(R, found.S1, k))).exp()) * best
            settle(check, arb(g[found.S1]), sharper, f"{where}: the sharper bound")
            if nu == 1:
                worst = min(g[S] for S in subsets(len(g) - 1, k))
                settle(check, worst, fmpq(8 * k * k + k, 9 * k * k + 1) * best, f"{where}: any set")
                poorest[0] = min(poorest[0], worst / best)
            return float((g[found.best] / printed).mid()) if widest > 0 else 100.0

        least = 100.0
        for _ in range(-(-check.cases // 20)):
            d = int(check.rng.integers(2, 6))
            k, nu = int(check.rng.integers(1, min(3, d) + 1)), NUS[int(check.rng.integers(0, 4))]
            start = draw_design(check.rng, d, SHAPES[1:])
            least = min(least, descend(check.rng, start, lambda X, k=k, nu=nu: ratio(X, k, nu), 20))
        check.measured(
            f"GLS as printed attains at least {least:.2f} times the printed bound in a search; "
            f"with ν = 1 every set attains {real(poorest[0]):.3f} of the optimum"
        )
