"""Definition 2: the submodularity ratio, and its bound by an eigenvalue.

Source: *Selecting Diverse Features via Spectral Regularization*, Definition 2 and the paragraph after it. In
print, for a non-negative f,

    γ_{U,k}(f) = min { Σ_{x∈S} [f(L+x) − f(L)] / [f(L∪S) − f(L)] : L ⊆ U, |S| ≤ k, S ∩ L = ∅ }.

The definition admits S = ∅, and so 0/0. There is a second problem. If f decreases, the quotient of two
negative numbers has the opposite of the intended meaning. For L = ∅ and the set S of two copies of a unit
vector, the quotient is

    0/(−2) = 0                                  for f_sv,
    2 log₂(11/10)/log₂(21/100) < 0              for f_de with δ = 1/10,

although both functions, f_sv(S) = 9k² − Σ (λ_i − 1)² and f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ with the
eigenvalues λ_i of the Gram matrix C_S, are submodular. We read the definition as the minimum over the pairs
with f(L∪S) > f(L), and at most 1 (1 if there is no such pair). Then a submodular f has γ = 1, because its
sums of gains are at least the joint gain. An increasing f has 0 ≤ γ ≤ 1. For an increasing f, γ_{V,k} = 1 for
the ground set V and all k if and only if f is submodular. γ does not increase with U or k. All other
statements of the ledger use this reading.

The bound of Das and Kempe, with λ_min(C, s) the least eigenvalue of all C_B with |B| ≤ s, is

    γ_{U,k}(R²) ≥ λ_min(C, k + |U|).

To prove it, project all columns and the target off the columns in L. Let b be the inner products of the
projected columns with the projected target, and C the Gram matrix of the projected columns. The joint gain
b_SᵀC_S⁺b_S is at most ‖b_S‖²/λ_min(C_S). The single gains have the sum Σ b_x²/c_xx ≥ ‖b_S‖², because c_xx ≤
1. The Schur complement has no smaller eigenvalue than C_{L∪S}. If some C_B is singular, the bound is γ ≥ 0,
which always holds. The checks are exact: λ_min(C_B) ≤ γ if and only if C_B − γI is not positive definite,
which the signs of a characteristic polynomial decide.
"""

from itertools import combinations

from flint import fmpq, fmpq_mat

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.maximization import submodularity_ratio
from proofs_checks.rational import exactly
from proofs_checks.spectral import precisely, r_squared_table
from sparselin.ledger import CORRECTED, HOLDS, OPEN, claim, mutants

COPIES = fmpq_mat(2, 2, [1, 1, 1, 1])


@claim("SR-definition-2", "Definition 2", "exact, interval, brute force", CORRECTED, cases=400, ci_cases=12)
@mutants("sl.submodularity_ratio_of", "submodularity_ratio")
def test_what_the_ratio_measures(check):
    """The submodularity ratio measures how close a non-negative f is to being submodular. It is γ_{U,k}(f) =
    min over L ⊆ U, |S| ≤ k, S ∩ L = ∅ of Σ_{x∈S}[f(L+x) − f(L)] / [f(L∪S) − f(L)].

    Hypotheses: f is a non-negative set function, monotone or not.

    Instead: The minimum must be taken over the pairs (L, S) with a positive denominator, and γ must be at
    most 1. Then γ = 1 for every submodular f. An increasing f has γ in [0, 1], and it has γ = 1 for the whole
    ground set if and only if f is submodular.

    Consequences: With the printed minimum, Proposition 10 would fail for the paper's regularizers f_sv and
    f_de on every pair of equal columns. Theorems 3 and 5 hold with both minima, because the printed γ is the
    smaller one.

    Tolerance: The result of sl.submodularity_ratio_of may differ from the exact fraction by 1e-9.
    """
    f = spectral.table(lambda S: spectral.variance(COPIES, S, 2), 2)
    sizes = [mask.bit_count() for mask in range(4)]
    check.refutes(
        (0, 0) in quotients(sizes, 0, 2) and all(single == joint for single, joint in quotients(sizes, 0, 2)),
        "f(S) = |S|, as any f: S = ∅ is admitted and gives 0/0; without it γ_{∅,2} = 1",
    )
    check.refutes(
        spectral.is_submodular(f) and submodularity_ratio(f, 0, 2, printed=True) == 0,
        "f_sv on two copies, k = 2: submodular, yet the printed γ_{∅,2} is 0/(−2) = 0",
    )
    with precisely():
        h = spectral.table(lambda S: spectral.entropy(COPIES, S, fmpq(1, 10), 2), 2)
        check.refutes(
            min(h) >= 0 and submodularity_ratio(h, 0, 2, printed=True) < 0,
            "f_de, δ = 1/10, on two copies, k = 2: submodular and non-negative, yet the printed γ_{∅,2} < 0",
        )
    check.over(ratios(check), measures)


def ratios(check):
    """Yield a submodular function f, an increasing function g, two sets A ⊆ U, and a size k."""
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        f, g = spectral.draw_submodular(check.rng, d), spectral.draw_monotone(check.rng, d)
        U = int(check.rng.integers(0, 1 << d))
        yield f, g, U & int(check.rng.integers(0, 1 << d)), U, int(check.rng.integers(1, d + 1))


def measures(case):
    """Return whether the submodularity ratio γ_{U,k}, defined as corrected here, has the expected properties.

    The corrected definition: γ_{U,k}(f) is the least of 1 and of the quotients Σ_{x∈S} [f(L+x) − f(L)] /
    (f(L∪S) − f(L)) with a positive denominator, over L ⊆ U, |S| ≤ k and S ∩ L = ∅.

    For the submodular f, γ_{U,k}(f) = 1. For the increasing g, 0 ≤ γ_{U,k}(g) ≤ γ_{A,k}(g) ≤ γ_{A,1}(g) = 1
    for the subset A of U. γ(g) = 1 for the whole ground set if and only if g is submodular.
    """
    f, g, A, U, k = case
    full, gamma = len(g) - 1, submodularity_ratio(g, U, k)
    return (
        submodularity_ratio(f, U, k) == 1
        and 0 <= gamma <= submodularity_ratio(g, A, k) <= submodularity_ratio(g, A, 1) == 1
        and spectral.is_submodular(g) == (submodularity_ratio(g, full, full.bit_length()) == 1)
        and min([fmpq(1), *(fmpq(single, joint) for single, joint in quotients(g, U, k) if joint)]) == gamma
        and all(by_package(h, U, k) for h in (f, g))
    )


def quotients(f, U, k):
    """Yield the numerator and the denominator of every quotient in the definition of γ_{U,k}(f).

    They are Σ_{x∈S} [f(L+x) − f(L)] and f(L∪S) − f(L), for L ⊆ U, |S| ≤ k and S ∩ L = ∅.
    """
    for L in spectral.subsets(U):
        rest = [x for x in range((len(f) - 1).bit_length()) if not L >> x & 1]
        for size in range(k + 1):
            for S in combinations(rest, size):
                yield sum(f[L | 1 << x] - f[L] for x in S), f[L | spectral.mask_of(S)] - f[L]


def by_package(f, U, k):
    """Return whether the package's submodularity ratio γ_{U,k}(f) equals the exact one, up to 1e-9."""
    d = (len(f) - 1).bit_length()
    found = sl.submodularity_ratio_of(lambda S: f[spectral.mask_of(S)], range(d), spectral.members(U), k)
    return found.exact and abs(found.upper - float(submodularity_ratio(f, U, k))) <= 1e-9


@claim(
    "SR-ratio-eigenvalue",
    "after Definition 2, from Das and Kempe (2011), Lemma 2.4",
    "exact, proof",
    HOLDS,
    cases=400,
    ci_cases=15,
)
@mutants("sl.submodularity_ratio", "sl.sparse_eigenvalues", "submodularity_ratio", "r_squared_table")
def test_the_ratio_of_r_squared_is_at_least_the_least_eigenvalue(check):
    """The submodularity ratio of R² satisfies γ_{U,k}(R²) ≥ λ_min(C, k + |U|). Here λ_min(C, s) is the least
    eigenvalue of all correlation matrices C_B of at most s features B.

    Hypotheses: The columns have length 1. γ_{U,k}(R²) is the least of 1 and of all quotients Σ_{x∈A}[R²(L+x)
    − R²(L)] / [R²(L∪A) − R²(L)] with a positive denominator, over L ⊆ U, |A| ≤ k, A ∩ L = ∅.

    Consequences: A large γ does not imply a large eigenvalue. For two copies of a column, γ(R²) = 1, but C is
    singular.

    Tolerance: There is none. The intervals that the package returns must contain the exact numbers.
    """

    copied = spectral.table(lambda S: fmpq(1 if S else 0), 2)

    def at_least(design):
        d, R = design.d, r_squared_table(design)
        # R² of two copies of the target has γ = 1
        return (
            submodularity_ratio(copied, 0, 2) == 1
            and R[-1] <= 1
            and all(at_least_eigenvalue(design, R, U, k) for U in (0, 1, 3) for k in range(1, d + 1))
        )

    check.forall(spectral.unit_designs(min_d=2, max_d=5), at_least)


def at_least_eigenvalue(design, R, U, k):
    """Return whether the submodularity ratio γ_{U,k}(R²) is at least the least eigenvalue λ_min(C, k + |U|).

    The intervals that the package returns for the two numbers must contain them.
    """
    C = design.correlations
    size = min(C.nrows(), k + U.bit_count())
    gamma = submodularity_ratio(R, U, k)
    ratio = sl.submodularity_ratio(design.X, design.y, spectral.members(U), k)
    least = sl.sparse_eigenvalues(design.X, size).lambda_min  # of N·C, in integers
    below, above = (exactly(value) / design.N for value in (least.lower, least.upper))
    return (
        not definite(C, size, gamma)  # not every eigenvalue exceeds γ
        and (exactly(ratio.lower) <= gamma <= exactly(ratio.upper) and ratio.exact)
        and (definite(C, size, below, strictly=False) and not definite(C, size, above) and least.exact)
    )


def definite(C, size, theta, strictly=True):
    """Return whether C_B − θI is positive definite for every set B of the given size (if not `strictly`,
    semidefinite).
    """
    shifted = (
        spectral.principal(C, B) - theta * spectral.identity(size)
        for B in combinations(range(C.nrows()), size)
    )
    return all(spectral.is_psd(M) and (not strictly or M.det() != 0) for M in shifted)


@claim("SR-ratio-near-one", "after Definition 2", "float", OPEN)
def test_the_ratio_in_practice(check):
    """In practice the submodularity ratio for R² is often quite close to 1.

    Hypotheses: The data sets are those of Das and Kempe (2011).

    Unchecked: The sentence is not checked. It is an observation on data that the paper does not contain, and
    the ratio is a minimum over exponentially many sets.
    """
