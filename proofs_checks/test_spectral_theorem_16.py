"""Theorem 16 and Section 5.3: the spectral variance.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 5.3, footnote 4, Theorem 16. Let
λ_i(C_S) be the eigenvalues of the correlation matrix C_S = (c_ij).

    f_sv(S) = 9k² − Σ (λ_i(C_S) − 1)² = 9k² − ‖C_S − I‖².

For unit columns, the gain f_sv(S + x) − f_sv(S) of a feature x is −2 Σ_{j∈S} c_xj². This gain decreases as S
grows, so f_sv is submodular (the paper's proof is in the supplement, which was not available). The gain is
never positive. The paper says that f_sv is "not monotonically increasing in general". In fact f_sv decreases,
and it is largest at ∅. ‖C_S − I‖² ≤ |S|(|S| − 1), so f_sv ≥ 0 for |S| ≤ 3k. For 3k + 1 copies of a vector,
f_sv = −3k.

Theorem 16 is a guarantee for greedy local search on g = R² + νf_sv, ν > 0. Its proof uses Theorem 9, which is
false for local search as printed, and Proposition 10, which is false for f_sv. But Theorem 16 is true. With ν
= 1 ("w.l.o.g.") it has no content. For ν = 1, every set of at most k features satisfies the first of the
following inequalities, and the optimum OPT of g satisfies the second,

    f_sv ≥ 9k² − k(k − 1) = 8k² + k,    OPT ≤ 9k² + 1.

So every such set attains at least 8/9 of OPT (9/10 for k = 1), while the theorem guarantees at most (1 −
e^{−1/2})/7 < 0.057, because the submodularity ratio γ is at most 1. For f_sv, ν = 1 loses generality, because
ν cannot be absorbed into f. For any ν > 0, forward regression (FR) alone attains the share 1 − e^{−γ} of the
optimum. The reason is that f_sv changes so little in each step that the R² of the selected set is nearly that
of FR on R² alone. The proof is in docs/proofs/spectral_theorems_14_and_16.md.

The checks are exact; 1 − e^{−γ/2} is a ball of 128 bits.
"""

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import greedy_local_search, submodularity_ratio
from proofs_checks.rational import real
from proofs_checks.spectral import precisely, r_squared_table, variance, variance_float
from sparselin.ledger import HOLDS, ClaimFailed, claim, mutants


def package_variance(C, S, k):
    """Return the package's spectral variance of a set, f_sv(S) = 9k² − Σ (λ_i − 1)²."""
    return sl.spectral.SpectralVariance(k).value(C, S)


def package_gains(C, S, k):
    """Return the package's gains f_sv(S + x) − f_sv(S) of the spectral variance for all features x, (d,)."""
    return sl.spectral.SpectralVariance(k).gains(C, S)


@claim("SR-variance-definition", "Section 5.3", "interval, float, exact", HOLDS, cases=400, ci_cases=15)
@mutants("variance", "variance_float", "package_variance", "package_gains")
@precisely()
def test_variance_is_a_frobenius_norm(check):
    """The function f_sv = 9k² − Σ (λ_i − 1)² is 9k² minus |S| times the variance of the eigenvalues, whose
    mean is 1.

    Hypotheses: The columns have length 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit
    columns in S.

    Consequences: Σ (λ_i − 1)² = ‖C_S − I‖², which needs no eigenvalues.

    Tolerance: Balls of 128 bits must overlap. Values in floating point may differ from the exact ones by
    64·eps·k²·|S|². The reason is that an eigenvalue has an error of |S|·eps·‖C_S‖, and that the slope of the
    square is at most 2|S|.
    """
    check.forall(spectral.unit_designs(max_d=5), is_frobenius_norm)


def is_frobenius_norm(design):
    """Return whether the spectral variance of every set, with k = 3, is the same by all ways to compute it.

    It is computed from the eigenvalues, from the Frobenius norm, and by the package. The package's gains
    f_sv(S + x) − f_sv(S) are checked too.
    """
    C, d = design.correlations, design.d
    float_C = design.float_correlations

    def equal(S):
        exact, bound = variance(C, S, 3), 64 * np.finfo(float).eps * 9 * len(S) ** 2
        gains = [real(variance(C, sorted({*S, x}), 3) - exact) for x in range(d)]
        floats = variance_float(float_C, S, 3), package_variance(float_C, S, 3)
        return (
            (81 - spectral.trace_of(lambda t: (t - 1) ** 2, C, S)).overlaps(arb(exact))
            and spectral.trace_of(lambda t: t, C, S).overlaps(arb(len(S)))
            and all(abs(value - real(exact)) <= bound for value in floats)
            and np.all(abs(gains - package_gains(float_C, S, 3)) <= 2 * bound)
        )

    return all(equal(spectral.members(mask)) for mask in range(1, 1 << d))


@claim("SR-variance-nonnegative", "Section 5.3, footnote 4", "exact, proof", HOLDS, cases=1500, ci_cases=60)
@mutants("variance")
def test_sign_of_the_variance(check):
    """The constant 9k² makes f_sv(S) = 9k² − Σ (λ_i − 1)² non-negative for sets of up to 3k features.

    Hypotheses: The columns have length 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit
    columns in S.

    Consequences: On sets of up to 3k features even f_sv ≥ 3k > 0. For 3k + 1 copies of a column, f_sv = −3k.
    """

    def copies(m):
        return fmpq_mat(m, m, [(-1) ** (i // 2 + j // 2) for i in range(m) for j in range(m)])

    check.over(range(1, 6), lambda k: variance(copies(3 * k), range(3 * k), k) == 3 * k)
    check.over(range(1, 6), lambda k: variance(copies(3 * k + 1), range(3 * k + 1), k) == -3 * k)

    def signed(design):
        C, d = design.correlations, design.d
        sets = [spectral.members(S) for S in range(1 << d)]
        return all(
            9 * k * k >= variance(C, S, k) >= 9 * k * k - len(S) * max(len(S) - 1, 0)
            and variance(C, S, k) >= 3 * k
            for S in sets
            for k in (1, 2)
            if len(S) <= 3 * k
        )

    check.forall(spectral.unit_designs(max_d=6), signed)


@claim("SR-variance-submodular", "Section 5.3 (proof in the supplement)", "exact, brute force, proof", HOLDS)
@mutants("variance")
def test_variance_is_submodular(check):
    """The function f_sv(S) = 9k² − Σ (λ_i − 1)² is submodular.

    Hypotheses: The columns have length 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit
    columns in S. The proof covers every Hermitian matrix C.

    Unchecked: The proof in the supplement is not checked. The statement follows from Theorem 12 with f' =
    −2(t − 1), or from the gain −2 Σ_{j∈S} c_xj² of a feature x.
    """

    def submodular(design):
        C, d = design.correlations, design.d
        f = spectral.table(lambda S: variance(C, S, 2), d)
        gains = all(
            f[A | 1 << x] - f[A] == -2 * sum((C[x, j] ** 2 for j in spectral.members(A)), fmpq(0))
            for A in range(1 << d)
            for x in range(d)
            if not A >> x & 1
        )
        return spectral.is_submodular(f) and gains and f[0] == 36

    check.forall(spectral.unit_designs(max_d=5), submodular)


@claim("SR-variance-not-monotone", "Section 5.3; Section 6", "exact, proof", HOLDS)
@mutants("variance")
def test_variance_never_increases(check):
    """The function f_sv(S) = 9k² − Σ (λ_i − 1)² is not monotonically increasing in general.

    Hypotheses: The columns have length 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit
    columns in S.

    Consequences: f_sv is decreasing. Its largest value is attained at ∅ and at single features.
    """
    check.over(
        [fmpq_mat(2, 2, [2, 1, 1, 2]) * fmpq(1, 2)],
        lambda C: variance(C, [0, 1], 1) == fmpq(17, 2) < variance(C, [0], 1),
    )

    def decreasing(design):
        C, d = design.correlations, design.d
        f = spectral.table(lambda S: variance(C, S, 1), d)
        return all(f[A | x] <= f[A] for A, _, x in spectral.chains(d)) and all(
            f[1 << i] == f[0] == 9 for i in range(d)
        )

    check.forall(spectral.unit_designs(max_d=5), decreasing)


@claim("SR-theorem-16", "Theorem 16", "exact, interval, brute force, proof", HOLDS, cases=6000, ci_cases=60)
@mutants(
    "sl.greedy_local_search", "greedy_local_search", "variance", "r_squared_table", "submodularity_ratio"
)
@precisely()
def test_guarantee_with_the_variance(check):
    """Greedy local search, GLS, on g = R² + νf_sv, with ν = 1 “w.l.o.g.”, attains

        (1 − e^{−γ_{S̃,2k}/2})/7

    of the optimum, the maximum of g over |S| ≤ k.

    Reading of: a guarantee “for (1)”. In (1), ν > 0 is arbitrary, but Section 4 says “w.l.o.g., ν = 1”. The
    paper does not say of which function γ_{S̃,2k} is the submodularity ratio

    Hypotheses: The columns have length 1, and γ_{S̃,2k} may be any number up to 1. GLS computes three sets.
    S₁ is the set of k features that forward regression (FR) on g selects. S₁' is the result of local search
    on f within S₁. S₂ is the set that FR selects from the features outside S₁. Of these it returns the set S̃
    with the largest g. f_sv(S) = 9k² − Σ (λ_i − 1)², where λ_i are the eigenvalues of the Gram matrix C_S of
    the unit columns in S.

    Consequences: With ν = 1, every set of at most k features attains 8/9 of the optimum. For every ν > 0, the
    bound holds with the submodularity ratio γ of R² if k ≤ 14, or ν ≥ 1/30000, or S̃ = S₁. Moreover, FR alone
    attains the share 1 − e^{−γ_{S₁,k}(R²)} of the optimum. Our proofs use neither Theorem 9 nor Proposition
    10, both of which are false.

    Unchecked: If k > 14 and ν < 1/30000 and GLS returns S₁' or S₂, the bound is not checked with the γ of the
    returned set.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    check.over([maximization.SUPPRESSION], lambda R: submodularity_ratio(R, 0, 2) == fmpq(1, 2))
    most, nu = maximization.one_minus_exp(fmpq(1, 2)) / 7, fmpq(1, 30000)
    check.over(range(15, 100), lambda k: arb((8 * k * k + k) * nu) >= most * (9 * k * k * nu + 1))
    check.over([14], lambda k: most <= fmpq(1, k) and most < fmpq(8, 9))
    worst_share = [fmpq(1)]

    def start():
        d = int(check.rng.integers(2, 6))
        k, nu = int(check.rng.integers(1, min(3, d) + 1)), maximization.NUS[int(check.rng.integers(0, 4))]
        return spectral.draw_design(check.rng, d, spectral.SHAPES[1:]), lambda X: over_bound(
            check, X, k, nu, worst_share
        )

    least = maximization.least_found(check.rng, -(-check.cases // 20), start)
    check.measured(
        f"GLS as printed attains at least {least:.2f} times the printed bound in a search; "
        f"with ν = 1 every set attains {real(worst_share[0]):.3f} of the optimum"
    )


def over_bound(check, design, k, nu, worst_share):
    """Return g(S̃) divided by the printed bound of Theorem 16, for g = R² + νf_sv with the spectral variance
    f_sv.

    S̃ is the set that greedy local search selects, in code of the checks. The printed bound and the sharper
    one are checked for S̃ and for the set that the package selects. For ν = 1, every set of at most k
    features must attain 8/9 of the optimum, and `worst_share` is lowered to the least share that a set
    attains.
    """
    R, C, X = r_squared_table(design), design.correlations, design.unit_columns
    f = spectral.table(lambda S: nu * variance(C, S, k), C.nrows())
    g, f_sv = spectral.added(R, f), sl.spectral.SpectralVariance(k)
    found = greedy_local_search(f, g, k, fmpq(1, 10))
    ours = sl.greedy_local_search(X, design.y, k, regularizer=f_sv, nu=float(nu), variant="printed")
    known = R[-1] == design.r_squared_of_all and f[0] == f[1] == 9 * k * k * nu
    if not (known and maximization.has_stated_value(ours, g) and len(ours.support) <= k):
        raise ClaimFailed(f"R², f_sv or the set returned is wrong: {design}, {k}, {nu}")
    if nu == 1:
        worst, best = min(g[S] for S in spectral.subsets(len(g) - 1, k)), maximization.optimum(g, k)
        maximization.settle(
            check, worst, fmpq(8 * k * k + k, 9 * k * k + 1) * best, f"{design}, {k}, {nu}: any set"
        )
        worst_share[0] = min(worst_share[0], worst / best)
    sets = {found.best, spectral.mask_of(ours.support.tolist())}
    return maximization.settle_bounds(check, R, g, k, found, sets, f"{design}, {k}, {nu}")
