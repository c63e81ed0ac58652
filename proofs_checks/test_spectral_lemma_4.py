"""Lemma 4: the entropy of the perturbation of the coefficients; and the sentences on log-determinants near
it.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 3.1, Section 5.1, footnote 5. Let A
be the matrix of the k unit columns in a set S, C_S = AᵀA, and λ_i(C_S) its eigenvalues. Let α be the
coefficients of least squares on A, and α' the coefficients after noise η ~ N(0, σ²I) on the target. H is the
differential entropy. In print,

    H(α' − α) = k log(2σ²πe) − Σ log λ_i(C_S).

The vector α' − α = C_S⁻¹Aᵀη has the covariance σ²C_S⁻¹, and H(v) = ½ log((2πe)^k det cov) (Section 3) gives
half of the printed value,

    H(α' − α) = ½[k log(2πeσ²) − Σ log λ_i(C_S)].

The factor ½ is lost in the proof at H(δ) = log((2σ²πe)^k det(C_S⁻¹)). It remains true that among sets of one
size, the largest Σ log λ_i gives the least H. Between sets of different sizes, H also changes by ½ log(2πeσ²)
per feature. Similarly, f_ld(S) = log det C_S is 2H(S) − |S| log(2πe), which is the entropy up to a term in
|S| *and* the factor 2. The experiments replace η by ση/‖η‖ in R¹⁰⁰⁰, whose covariance is σ²I/1000. For them,
σ² in the lemma must be divided by 1000. The expected square is E‖α' − α‖² = σ² tr C_S⁻¹ = σ² Σ 1/λ_i.

The function −Σ 1/λ_i is not submodular (nor supermodular). For C = [[3, −2, −1], [−2, 3, 1], [−1, 1, 3]]/3,
the gain of the second column at {0} is smaller than at {0, 2}. The derivative t⁻² of −1/t is antitone but not
operator antitone (SR-definition-11).

The covariances are computed exactly, as σ²MMᵀ with M = C_S⁻¹Aᵀ. Logarithms are computed in ball arithmetic
with 128 bits. Two logarithms count as equal if their balls overlap and the determinants are exactly equal.
"""

from itertools import combinations

from flint import arb, fmpq, fmpq_mat

from proofs_checks import spectral
from proofs_checks.rational import columns, rational
from proofs_checks.spectral import precisely, smoothed_det
from sparselin.ledger import CORRECTED, HOLDS, claim, mutants

C = fmpq_mat(3, 3, [fmpq(v, 3) for v in (3, -2, -1, -2, 3, 1, -1, 1, 3)])
SIGMAS = (fmpq(1, 100), fmpq(1), fmpq(9))


def log_2pie(variance=1):
    """Return log(2πeσ²)."""
    return (2 * arb.pi() * arb(1).exp() * arb(variance)).log()


def gaussian_entropy(covariance):
    """Return the differential entropy ½ log((2πe)^k det cov) of a Gaussian vector in ℝᵏ with the covariance
    matrix cov.
    """
    return (covariance.nrows() * log_2pie() + arb(covariance.det()).log()) / 2


def perturbation_entropy(C, S, variance):
    """Return the corrected entropy of Lemma 4, ½[k log(2πeσ²) − Σ log λ_i].

    λ_i are the eigenvalues of the Gram matrix C_S of the k columns in S.
    """
    return printed_entropy(C, S, variance) / 2


def printed_entropy(C, S, variance):
    """Return the entropy of Lemma 4 as printed, k log(2σ²πe) − Σ log λ_i.

    λ_i are the eigenvalues of the Gram matrix C_S of the k columns in S.
    """
    return len(S) * log_2pie(variance) - sum((value.log() for value in spectral.eigenvalues(C, S)), arb(0))


def expected_noise(C, S, variance):
    """Return σ² Σ 1/λ_i for the eigenvalues λ_i of the Gram matrix C_S: the expected squared change of the
    coefficients.
    """
    return arb(variance) * sum((1 / value for value in spectral.eigenvalues(C, S)), arb(0))


def inverse_trace(C, S):
    """Return −Σ 1/λ_i = −tr C_S⁻¹, where λ_i are the eigenvalues of the Gram matrix C_S."""
    inverse = spectral.principal(C, S).inv()
    return -sum((inverse[i, i] for i in range(len(S))), fmpq(0))


def covariance(design, S, variance):
    """Return the exact covariance σ²C_S⁻¹ of the change of the coefficients, formed as σ²MMᵀ with M =
    C_S⁻¹Aᵀ.

    A is the matrix of the unit columns in S, C_S = AᵀA, and σ² the variance of the noise.
    """
    A = columns(rational(design.X), S)
    M = spectral.principal(design.correlations, S).inv() * A.transpose()
    return M * M.transpose() * (variance / design.N)


def regular(design):
    """Return the correlation matrix of a design, and its non-empty sets of linearly independent columns."""
    C = design.correlations
    sets = [spectral.members(mask) for mask in range(1, 1 << design.d)]
    return C, [S for S in sets if spectral.principal(C, S).det() != 0]


@claim("SR-lemma-4", "Lemma 4", "exact, interval, proof", CORRECTED, cases=300, ci_cases=25)
@mutants("perturbation_entropy")
@precisely()
def test_entropy_of_the_perturbation(check):
    """The entropy of the perturbation α' − α of the coefficients is H(α' − α) = k log(2σ²πe) − Σ log
    λ_i(C_S).

    Hypotheses: C_S, the Gram matrix of the k unit columns in S, is nonsingular, λ_i(C_S) are its eigenvalues,
    and the noise on the target is N(0, σ²I). α and α' are the coefficients before and after the noise.

    Instead: H(α' − α) = ½[k log(2πeσ²) − Σ log λ_i(C_S)].

    Consequences: Among sets of one size, the printed and the corrected formula have the same minimisers
    (SR-lemma-4-minimised). The printed right-hand side, which Section 6 measures, is twice the entropy. In
    the experiments of Section 6, the noise ση/‖η‖ has the covariance σ²I/m for a target in ℝᵐ, so σ² in the
    lemma must be divided by m.

    Tolerance: The two sides are computed in ball arithmetic with 128 bits, and the two balls must overlap.
    """
    one = fmpq_mat(1, 1, [1])
    check.refutes(
        not printed_entropy(one, [0], 1).overlaps(gaussian_entropy(one)),
        "k = 1, C_S = (1), σ = 1: H = ½ log(2πe), printed log(2πe)",
    )

    def equal(design, S, variance):
        C, cov = design.correlations, covariance(design, S, variance)
        exact = cov.det() * smoothed_det(C, S, 0) == variance ** len(S)
        return exact and gaussian_entropy(cov).overlaps(perturbation_entropy(C, S, variance))

    def everywhere(design):
        return all(equal(design, S, variance) for S in regular(design)[1] for variance in SIGMAS)

    check.forall(spectral.unit_designs(max_d=4), everywhere)


@claim("SR-lemma-4-minimised", "after Lemma 4; Section 5.1", "exact, interval", HOLDS, cases=300, ci_cases=25)
@mutants("perturbation_entropy")
@precisely()
def test_largest_determinant_has_least_entropy(check):
    """Among sets S of one size, the entropy of the perturbation of the coefficients is minimised by
    maximising Σ log λ_i(C_S).

    Hypotheses: The sets have one size k, and the Gram matrix C_S of the unit columns in S, with the
    eigenvalues λ_i(C_S), is nonsingular.

    Consequences: For sets of different sizes this fails, because the entropy changes by ½ log(2πeσ²) with
    every feature.
    """

    def ordered(C, S, T):
        more, less = smoothed_det(C, S, 0), smoothed_det(C, T, 0)
        first, second = perturbation_entropy(C, S, 1), perturbation_entropy(C, T, 1)
        if more > less:
            return first < second
        return first > second if more < less else first.overlaps(second)

    def same_order(design):
        C, sets = regular(design)
        pairs = ((S, T) for S, T in combinations(sets, 2) if len(S) == len(T))
        less_noise = all(perturbation_entropy(C, S, fmpq(1, 2)) < perturbation_entropy(C, S, 1) for S in sets)
        return less_noise and all(ordered(C, S, T) for S, T in pairs)

    check.forall(spectral.unit_designs(min_d=2, max_d=4), same_order)


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

    Hypotheses: C_S, the Gram matrix of the unit columns in S, is nonsingular, and the noise on the target is
    N(0, σ²I). α and α' are the coefficients before and after the noise.

    Unchecked: The proof in the supplement is not checked, because the supplement was not available.

    Tolerance: The two sides are computed in ball arithmetic with 128 bits, and the two balls must overlap.
    """

    def equal(design):
        C, sets = regular(design)
        traces = [sum(covariance(design, S, fmpq(3))[i, i] for i in range(len(S))) for S in sets]
        return all(
            expected_noise(C, S, 3).overlaps(arb(trace)) and trace == -3 * inverse_trace(C, S)
            for S, trace in zip(sets, traces, strict=True)
        )

    check.forall(spectral.unit_designs(max_d=4), equal)


@claim("SR-inverse-trace", "after Lemma 4", "exact", HOLDS, cases=1, ci_cases=1)
@mutants("inverse_trace")
def test_inverse_trace_is_not_submodular(check):
    """The set function −Σ 1/λ_i(C_S) is not submodular.

    Hypotheses: C is positive definite with unit diagonal, S ≠ ∅, and λ_i(C_S) are the eigenvalues of the
    principal submatrix C_S.

    Consequences: The function is not supermodular either.
    """

    def gain(S, x):
        return inverse_trace(C, [*S, x]) - inverse_trace(C, S)

    check.over([C], lambda _: gain([0], 1) == fmpq(-13, 5) and gain([0, 2], 1) > gain([0], 1))
    check.over([C], lambda _: gain([2], 0) == fmpq(-5, 4) and gain([1, 2], 0) < gain([2], 0))


@claim("SR-log-det-entropy", "Section 5.1", "interval", CORRECTED, cases=300, ci_cases=25)
@mutants("smoothed_det")
@precisely()
def test_log_determinant_and_entropy(check):
    """For a Gaussian vector, f_ld(S) = log det C_S is the differential entropy of S up to an additive term in
    |S|.

    Hypotheses: The covariance matrix C_S of the entries in S is nonsingular.

    Instead: The entropy H(S) satisfies 2H(S) = f_ld(S) + |S| log(2πe), so there is also a factor 2.

    Tolerance: The two sides are computed in ball arithmetic with 128 bits, and the two balls must overlap.
    """
    I2, C = fmpq_mat(2, 2, [1, 0, 0, 1]), fmpq_mat(2, 2, [1, fmpq(1, 2), fmpq(1, 2), 1])
    gaps = [gaussian_entropy(M) - arb(smoothed_det(M, [0, 1], 0)).log() for M in (I2, C)]
    check.refutes(
        not gaps[0].overlaps(gaps[1]), "C = I and C = [[1, ½], [½, 1]]: H − f_ld differs, |S| = 2 in both"
    )

    def equal(design):
        C, sets = regular(design)
        twice = ((S, 2 * gaussian_entropy(spectral.principal(C, S))) for S in sets)
        return all((H - len(S) * log_2pie()).overlaps(arb(smoothed_det(C, S, 0)).log()) for S, H in twice)

    check.forall(spectral.unit_designs(max_d=4), equal)


@claim("SR-log-det-range", "Section 5.1", "exact, proof", HOLDS, cases=500, ci_cases=40)
@mutants("smoothed_det")
def test_log_determinant_is_never_positive(check):
    """The function f_ld(S) = log det C_S is undefined on sets of dependent columns, and may be negative. In
    contrast, Σ log₂(δ + λ_i) is defined for every set.

    Hypotheses: The columns have length 1, and δ > 0. C_S is the correlation (Gram) matrix of the columns in
    S, and λ_i are its eigenvalues.

    Consequences: For unit columns f_ld ≤ 0 always, with equality only for orthonormal sets (Hadamard).
    """

    def within(design):
        C = design.correlations
        dets = spectral.table(lambda S: smoothed_det(C, S, 0), design.d)
        return all(
            (value == 0) == (spectral.principal(C, spectral.members(S)).rank() < S.bit_count())
            and 0 <= value <= 1
            and (value == 1)
            == all(C[i, j] == 0 for i in spectral.members(S) for j in spectral.members(S) if i != j)
            and smoothed_det(C, spectral.members(S), fmpq(1, 1000)) >= fmpq(1, 1000) ** S.bit_count()
            for S, value in enumerate(dets)
        )

    check.forall(spectral.unit_designs(max_d=5), within)


def chi_mean(m):
    """Return the mean length E‖η‖ of a vector η of m independent standard normal entries."""
    return arb(2).sqrt() * (arb(m + 1) / 2).gamma() / (arb(m) / 2).gamma()


@claim("SR-footnote-5", "footnote 5", "interval", HOLDS, cases=2000, ci_cases=60)
@mutants("chi_mean")
@precisely()
def test_norm_of_a_gaussian_is_concentrated(check):
    """For η ~ N(0, I) in R¹⁰⁰⁰, ‖η‖ is highly concentrated, so that ση/‖η‖ is nearly Gaussian in each
    direction.

    Hypotheses: The check covers vectors of m ≤ 2000 coordinates.

    Consequences: The standard deviation of ‖η‖ is less than its mean divided by √(2m − 1), which is 2.3 % of
    the mean for m = 1000. But ση/‖η‖ has the variance σ²/m in each coordinate, not σ².
    """
    sizes = range(1, check.cases + 1) if check.cases >= 2000 else (*range(1, check.cases), 1000)
    # variance / mean² = m/mean² − 1 < 1/(2m − 1)
    check.over(sizes, lambda m: m / chi_mean(m) ** 2 < arb(2 * m) / (2 * m - 1) and chi_mean(m) ** 2 < m)
