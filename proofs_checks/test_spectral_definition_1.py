"""Definition 1: the three regularizers as diversity-promoting functions.

Source: *Selecting Diverse Features via Spectral Regularization*, Definition 1 and Sections 5.1 to 5.3 ("it
is easy to show that … is diversity-promoting"). In print: f is diversity-promoting if "for a fixed k, f(S)
is maximized when S is an orthogonal set of vectors and is minimized when S has the lowest rank, where |S| ≤
k".

The functions are f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, f_gr(S) = Σ λ_i^α and f_sv(S) = 9k² − Σ (λ_i − 1)²,
where λ_i are the eigenvalues of the Gram matrix C_S. With |S| ≤ k the statement fails. A single vector is an
orthogonal set, and f_de and f_gr are larger on an orthogonal pair. ∅ has the lowest rank, and f_sv(∅) = 9k²
is its maximum. For δ² + δ < 1, f_de is smaller on a repeated vector than on ∅. Among sets of one size, a set
of smaller rank need not have a smaller f either. Three unit vectors at 120° have rank 2 and the eigenvalues
(3/2, 3/2, 0). Two near copies and a vector orthogonal to them have rank 3 and eigenvalues near (2, 1, 0), for
which all three functions are smaller. So among the columns of one X, the set of lowest rank need not minimise
f.

The corrected statement is about all sets of exactly k unit vectors. For these, tr C_S = k. Therefore the
vector of eigenvalues majorises (1, …, 1), strictly unless C_S = I, and is majorised by (k, 0, …, 0), strictly
unless the rank is 1. Therefore the sum Σ h(λ_i), with a strictly concave function h, is largest exactly on
orthonormal sets, and smallest exactly on sets of rank 1. The extreme values, without the constants in f_de
and f_sv, are

    summand         on orthonormal sets     on sets of rank 1
    log₂(δ + t)     k log₂(1 + δ)           log₂(δ + k) + (k − 1) log₂ δ
    t^α, 0 < α < 1  k                       k^α
    −(t − 1)²       0                       −k(k − 1)

The rank (α = 0) is largest on all independent sets. The trace (α = 1) is constant, so every set has the
largest and the smallest value.

The checks are exact, by determinants and Frobenius norms. For α = ½ they use ball arithmetic with 128 bits,
and the cases of equality are recognised from C_S itself.
"""

from flint import arb, fmpq, fmpq_mat

from proofs_checks import spectral
from proofs_checks.spectral import precisely, rank_power, smoothed_det, variance
from sparselin.ledger import CORRECTED, claim, mutants

ONE, PAIR, COPIES = [0], [0, 1], fmpq_mat(2, 2, [1, 1, 1, 1])
I2, HALF, NEAR = spectral.identity(2), fmpq(1, 2), fmpq(9999, 10000)
AT_120_DEGREES = fmpq_mat(3, 3, [1, -HALF, -HALF, -HALF, 1, -HALF, -HALF, -HALF, 1])
NEAR_COPIES = fmpq_mat(3, 3, [1, NEAR, 0, NEAR, 1, 0, 0, 0, 1])
THREE = [0, 1, 2]
RANKS = "three unit vectors at 120° (rank 2) against two near copies and an orthogonal vector (rank 3)"
# copies and opposite columns (rank 1), orthogonal columns, near copies
KINDS = (*spectral.SHAPES, (1, 1), (2, 25), (4, 1))


def sets(check):
    """Yield the correlation matrix of k unit vectors, and k ≤ 5."""
    for _ in range(check.cases):
        k = int(check.rng.integers(1, 6))
        yield spectral.draw_design(check.rng, k, KINDS).correlations, k


@claim(
    "SR-diversity-entropy", "Definition 1, Section 5.1", "exact, proof", CORRECTED, cases=3000, ci_cases=150
)
@mutants("smoothed_det")
def test_entropy_promotes_diversity(check):
    """For fixed k, over all sets S with |S| ≤ k, the smoothed entropy f_de is largest if S is orthogonal, and
    smallest if S has the lowest rank.

    Hypotheses: The vectors have length 1, and δ > 0. f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, where λ_i are the
    eigenvalues of the Gram matrix C_S.

    Instead: Among the sets of exactly k unit vectors, f_de is largest if and only if S is orthonormal, and
    smallest if and only if S has rank 1.
    """
    tenth = fmpq(1, 10)
    check.refutes(
        smoothed_det(I2, ONE, HALF) < smoothed_det(I2, PAIR, HALF),
        "δ = ½, k = 2: one vector is an orthogonal set, two orthogonal ones have more",
    )
    check.refutes(
        smoothed_det(COPIES, PAIR, tenth) < smoothed_det(COPIES, [], tenth),
        "δ = 1/10, k = 2: two copies (rank 1) have less than ∅ (rank 0)",
    )
    check.refutes(
        smoothed_det(NEAR_COPIES, THREE, tenth) < smoothed_det(AT_120_DEGREES, THREE, tenth)
        and AT_120_DEGREES.rank() == 2,
        f"δ = 1/10, k = 3: {RANKS}",
    )

    def extreme(value):
        C, k = value
        return all(
            _extreme(smoothed_det(C, range(k), delta), (1 + delta) ** k, delta ** (k - 1) * (delta + k), C)
            for delta in (fmpq(1, 1000), tenth, HALF, fmpq(1), fmpq(5))
        )

    check.over(sets(check), extreme)


def _extreme(value, at_identity, at_rank_one, C):
    """Return whether a value lies between its values for rank 1 and for C = I, and equals one of them only
    there.
    """
    return (
        at_rank_one <= value <= at_identity
        and (value == at_identity) == (spectral.identity(C.nrows()) == C)
        and (value == at_rank_one) == (C.rank() == 1)
    )


@claim(
    "SR-diversity-rank",
    "Definition 1, Section 5.2",
    "exact, interval, proof",
    CORRECTED,
    cases=1500,
    ci_cases=100,
)
@mutants("rank_power")
@precisely()
def test_generalized_rank_promotes_diversity(check):
    """For fixed k, over all sets S with |S| ≤ k, the generalized rank f_gr is largest if S is orthogonal, and
    smallest if S has the lowest rank.

    Hypotheses: The vectors have length 1, and 0 ≤ α ≤ 1. f_gr(S) = Σ λ_i^α, where λ_i are the eigenvalues of
    the Gram matrix C_S.

    Instead: Among the sets of exactly k unit vectors and for 0 < α < 1, f_gr is largest if and only if S is
    orthonormal, and smallest if and only if S has rank 1. For α = 0 it is largest if and only if S is
    independent. For α = 1, f_gr = k is constant, so every set has the largest and the smallest value.

    Unchecked: Values of α other than 0, ½ and 1 are not checked; the proof covers them.
    """
    check.refutes(
        rank_power(I2, ONE, HALF) < rank_power(I2, PAIR, HALF),
        "k = 2: one vector is an orthogonal set, two orthogonal ones have more",
    )
    check.refutes(
        rank_power(NEAR_COPIES, THREE, HALF) < rank_power(AT_120_DEGREES, THREE, HALF),
        f"α = ½, k = 3: {RANKS}",
    )
    check.over(sets(check), lambda value: _between(*value))


def _between(C, k):
    """Return whether √k ≤ Σ √λ_i ≤ k for the eigenvalues λ_i of the correlation matrix of k unit vectors.

    The first inequality must be an equality exactly for rank 1, and the second exactly for the identity
    matrix.
    """
    S, rank = range(k), C.rank()
    root = rank_power(C, S, HALF)
    if spectral.identity(k) == C:
        within = root.contains(k)
    elif rank == 1:
        within = root.overlaps(arb(k).sqrt())
    else:
        within = arb(k).sqrt() < root < k
    return within and rank_power(C, S, 1) == k and rank_power(C, S, 0) == rank and 1 <= rank <= k


@claim(
    "SR-diversity-variance", "Definition 1, Section 5.3", "exact, proof", CORRECTED, cases=3000, ci_cases=150
)
@mutants("variance")
def test_spectral_variance_promotes_diversity(check):
    """For fixed k, over all sets S with |S| ≤ k, the spectral variance f_sv is largest if S is orthogonal,
    and smallest if S has the lowest rank.

    Hypotheses: The vectors have length 1. f_sv(S) = 9k² − Σ (λ_i − 1)², where λ_i are the eigenvalues of the
    Gram matrix C_S.

    Instead: Among the sets of exactly k unit vectors, f_sv is largest if and only if S is orthonormal, and
    smallest if and only if S has rank 1.

    Consequences: Over all sets with |S| ≤ k, f_sv is indeed largest if S is orthogonal. The second half of
    the printed statement fails, because ∅ has the lowest rank and the largest f_sv.
    """
    check.refutes(
        variance(COPIES, [], 2) == 36 and variance(COPIES, PAIR, 2) == 34,
        "k = 2: ∅ has the lowest rank and the largest value, 36; two copies have 34",
    )
    check.refutes(variance(NEAR_COPIES, THREE, 3) < variance(AT_120_DEGREES, THREE, 3), f"k = 3: {RANKS}")

    def extreme(value):
        C, k = value
        S = range(k)
        return _extreme(variance(C, S, k), fmpq(9 * k * k), fmpq(9 * k * k - k * (k - 1)), C) and all(
            variance(C, [i], k) == 9 * k * k == variance(spectral.principal(C, []), [], k) for i in S
        )

    check.over(sets(check), extreme)
