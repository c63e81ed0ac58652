"""Lemma 4: the entropy of the perturbation of the coefficients; the sentences around it on log-determinants.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 3.1, Section 5.1, footnote 5. In
print, for noise η ~ N(0, σ²I) on the target,

    H(α' − α) = k log(2σ²πe) − Σ log λ_i(C_S).

α' − α = C_S⁻¹Aᵀη has covariance σ²C_S⁻¹, and H(v) = ½ log((2πe)^k det cov) (Section 3) gives half of that,

    H(α' − α) = ½[k log(2πeσ²) − Σ log λ_i(C_S)]:

the factor ½ is lost in the proof at H(δ) = log((2σ²πe)^k det(C_S⁻¹)). That maximising Σ log λ_i minimises H
among sets of one size is not touched; between sizes H also changes by ½ log(2πeσ²) per feature. Likewise
f_ld(S) = log det C_S is 2H(S) − |S| log(2πe), the entropy up to a term in |S| *and* the factor 2. The
experiments replace η by ση/‖η‖ in R¹⁰⁰⁰, of covariance σ²I/1000: there σ² in the lemma is to be divided by
1000. E‖α' − α‖² = σ² tr C_S⁻¹ = σ² Σ 1/λ_i.

−Σ 1/λ_i is not submodular (nor supermodular): on C = [[3, −2, −1], [−2, 3, 1], [−1, 1, 3]]/3 the second
column gains less from {0} than from {0, 2}. The derivative t⁻² of −1/t is antitone but not operator
antitone (SR-definition-11).

The covariances are formed exactly from M = C_S⁻¹Aᵀ as σ²MMᵀ; logarithms are balls of 128 bits, and an
equality counts when they overlap and the determinants under them agree exactly.
"""

from itertools import combinations

from flint import arb, fmpq, fmpq_mat

from proofs_checks.rational import columns, rational
from proofs_checks.spectral import (
    correlations,
    eigenvalues,
    members,
    precisely,
    principal,
    smoothed_det,
    table,
    unit_designs,
)
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants

C = fmpq_mat(3, 3, [fmpq(v, 3) for v in (3, -2, -1, -2, 3, 1, -1, 1, 3)])
SIGMAS = (fmpq(1, 100), fmpq(1), fmpq(9))


def log_2pie(variance=1):
    """Return log(2πeσ²)."""
    return (2 * arb.pi() * arb(1).exp() * arb(variance)).log()


def gaussian_entropy(covariance):
    """Return ½ log((2πe)^k det)."""
    return (covariance.nrows() * log_2pie() + arb(covariance.det()).log()) / 2


def perturbation_entropy(C, S, variance):
    """Return the entropy of Lemma 4, corrected."""
    return printed_entropy(C, S, variance) / 2


def printed_entropy(C, S, variance):
    """Return the entropy of Lemma 4 as printed: k log(2σ²πe) − Σ log λ_i."""
    return len(S) * log_2pie(variance) - sum((value.log() for value in eigenvalues(C, S)), arb(0))


def expected_noise(C, S, variance):
    """Return σ² Σ 1/λ_i."""
    return arb(variance) * sum((1 / value for value in eigenvalues(C, S)), arb(0))


def inverse_trace(C, S):
    """Return −Σ 1/λ_i = −tr C_S⁻¹."""
    inverse = principal(C, S).inv()
    return -sum((inverse[i, i] for i in range(len(S))), fmpq(0))


def covariance(design, S, variance):
    """Return σ²MMᵀ with M = C_S⁻¹Aᵀ, A the unit columns: MMᵀ = C_S⁻¹(XᵀX/N)C_S⁻¹."""
    A = columns(rational(design.X), S)
    M = principal(correlations(design), S).inv() * A.transpose()
    return M * M.transpose() * (variance / design.N)


def regular(design):
    """Return the non-empty sets of independent columns."""
    C = correlations(design)
    sets = [members(mask) for mask in range(1, 1 << design.d)]
    return C, [S for S in sets if principal(C, S).det() != 0]


@claim("SR-lemma-4", "Lemma 4", "exact, interval, proof", CORRECTED, cases=300, ci_cases=25)
@mutants("perturbation_entropy")
@precisely()
def test_entropy_of_the_perturbation(check):
    """H(α' − α) = k log(2σ²πe) − Σ log λ_i(C_S).

    Hypotheses: C_S regular, noise N(0, σ²I) on the target

    Instead: H(α' − α) = ½[k log(2πeσ²) − Σ log λ_i(C_S)].

    Consequences: The minimisers among sets of size k are the same (SR-lemma-4-minimised). The right-hand
    side, which is measured in Section 6, is twice the entropy. There σ² must be divided by the dimension of
    the target.

    Tolerance: balls of 128 bits overlap
    """
    one = fmpq_mat(1, 1, [1])
    check.refutes(
        not printed_entropy(one, [0], 1).overlaps(gaussian_entropy(one)),
        "k = 1, C_S = (1), σ = 1: H = ½ log(2πe), printed log(2πe)",
    )

    def equal(design, S, variance):
        C, cov = correlations(design), covariance(design, S, variance)
        exact = cov.det() * smoothed_det(C, S, 0) == variance ** len(S)
        return exact and gaussian_entropy(cov).overlaps(perturbation_entropy(C, S, variance))

    def everywhere(design):
        return all(equal(design, S, variance) for S in regular(design)[1] for variance in SIGMAS)

    check.forall(unit_designs(max_d=4), everywhere)


@claim("SR-lemma-4-minimised", "after Lemma 4; Section 5.1", "exact, interval", HOLDS, cases=300, ci_cases=25)
@mutants("perturbation_entropy")
@precisely()
def test_largest_determinant_has_least_entropy(check):
    """The entropy of the perturbation is minimised by maximising Σ log λ_i(C_S).

    Hypotheses: sets of one size k, C_S regular

    Consequences: For sets of different sizes this fails, because H changes by ½ log(2πeσ²) with every
    feature.
    """

    def ordered(C, S, T):
        more, less = smoothed_det(C, S, 0), smoothed_det(C, T, 0)
        first, second = perturbation_entropy(C, S, 1), perturbation_entropy(C, T, 1)
        return first < second if more > less else first > second if more < less else first.overlaps(second)

    def same_order(design):
        C, sets = regular(design)
        pairs = ((S, T) for S, T in combinations(sets, 2) if len(S) == len(T))
        less_noise = all(perturbation_entropy(C, S, fmpq(1, 2)) < perturbation_entropy(C, S, 1) for S in sets)
        return less_noise and all(ordered(C, S, T) for S, T in pairs)

    check.forall(unit_designs(min_d=2, max_d=4), same_order)


@claim(
    "SR-perturbation-norm",
    "after Lemma 4 (proof in the supplement)",
    "exact, interval, proof",
    HOLDS,
    cases=300,
    ci_cases=25,
)
@mutants("expected_noise")
@precisely()
def test_expected_noise_in_the_coefficients(check):
    """The expected squared two-norm of α' − α is σ² times the sum of the eigenvalues of C_S⁻¹.

    Hypotheses: C_S regular, noise N(0, σ²I) on the target

    Unchecked: the supplement, which the text at hand does not contain

    Tolerance: balls of 128 bits overlap
    """

    def equal(design):
        C, sets = regular(design)
        traces = [sum(covariance(design, S, fmpq(3))[i, i] for i in range(len(S))) for S in sets]
        return all(
            expected_noise(C, S, 3).overlaps(arb(trace)) and trace == -3 * inverse_trace(C, S)
            for S, trace in zip(sets, traces, strict=True)
        )

    check.forall(unit_designs(max_d=4), equal)


@claim("SR-inverse-trace", "after Lemma 4", "exact", HOLDS, cases=1, ci_cases=1)
@mutants("inverse_trace")
def test_inverse_trace_is_not_submodular(check):
    """−Σ 1/λ_i(C_S) is not submodular.

    Hypotheses: C positive definite with unit diagonal, S ≠ ∅

    Consequences: It is not supermodular either.
    """

    def gain(S, x):
        return inverse_trace(C, [*S, x]) - inverse_trace(C, S)

    check.over([C], lambda _: gain([0], 1) == fmpq(-13, 5) and gain([0, 2], 1) > gain([0], 1))
    check.over([C], lambda _: gain([2], 0) == fmpq(-5, 4) and gain([1, 2], 0) < gain([2], 0))


@claim("SR-log-det-entropy", "Section 5.1", "interval", CORRECTED, cases=300, ci_cases=25)
@mutants("smoothed_det")
@precisely()
def test_log_determinant_and_entropy(check):
    """For a Gaussian, f_ld(S) = log det C_S is the differential entropy of S up to an additive term in |S|.

    Hypotheses: C_S regular

    Instead: 2H(S) = f_ld(S) + |S| log(2πe), so there is also a factor 2.

    Tolerance: balls of 128 bits overlap
    """
    I2, C = fmpq_mat(2, 2, [1, 0, 0, 1]), fmpq_mat(2, 2, [1, fmpq(1, 2), fmpq(1, 2), 1])
    gaps = [gaussian_entropy(M) - arb(smoothed_det(M, [0, 1], 0)).log() for M in (I2, C)]
    check.refutes(
        not gaps[0].overlaps(gaps[1]), "C = I and C = [[1, ½], [½, 1]]: H − f_ld differs, |S| = 2 in both"
    )

    def equal(design):
        C, sets = regular(design)
        twice = ((S, 2 * gaussian_entropy(principal(C, S))) for S in sets)
        return all((H - len(S) * log_2pie()).overlaps(arb(smoothed_det(C, S, 0)).log()) for S, H in twice)

    check.forall(unit_designs(max_d=4), equal)


@claim("SR-log-det-range", "Section 5.1", "exact, proof", HOLDS, cases=500, ci_cases=40)
@mutants("smoothed_det")
def test_log_determinant_is_never_positive(check):
    """f_ld is undefined on dependent sets and may be negative; Σ log₂(δ + λ_i) is defined for every set.

    Hypotheses: unit columns, δ > 0

    Consequences: For unit columns f_ld ≤ 0 always, with equality for orthonormal sets only (Hadamard).
    """

    def within(design):
        C = correlations(design)
        dets = table(lambda S: smoothed_det(C, S, 0), design.d)
        return all(
            (value == 0) == (principal(C, members(S)).rank() < S.bit_count())
            and 0 <= value <= 1
            and (value == 1) == all(C[i, j] == 0 for i in members(S) for j in members(S) if i != j)
            and smoothed_det(C, members(S), fmpq(1, 1000)) >= fmpq(1, 1000) ** S.bit_count()
            for S, value in enumerate(dets)
        )

    check.forall(unit_designs(max_d=5), within)


def chi_mean(m):
    """Return E‖η‖ for η ~ N(0, I_m)."""
    return arb(2).sqrt() * (arb(m + 1) / 2).gamma() / (arb(m) / 2).gamma()


@claim("SR-footnote-5", "footnote 5", "interval", HOLDS, cases=2000, ci_cases=60)
@mutants("chi_mean")
@precisely()
def test_norm_of_a_gaussian_is_concentrated(check):
    """For η ~ N(0, I) in R¹⁰⁰⁰, ‖η‖ is highly concentrated, so that ση/‖η‖ is nearly Gaussian in each
    direction.

    Hypotheses: m ≤ 2000 coordinates

    Consequences: The standard deviation of ‖η‖ is less than its mean divided by √(2m − 1), which is 2.3 % for
    m = 1000. But ση/‖η‖ has the variance σ²/m in each coordinate, not σ².
    """
    sizes = range(1, check.cases + 1) if check.cases >= 2000 else (*range(1, check.cases), 1000)
    # variance / mean² = m/mean² − 1 < 1/(2m − 1)
    check.over(sizes, lambda m: m / chi_mean(m) ** 2 < arb(2 * m) / (2 * m - 1) and chi_mean(m) ** 2 < m)
