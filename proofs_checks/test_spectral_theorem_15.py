"""Theorem 15 and Section 5.2: the generalized rank.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 5.2, Theorem 15. Let λ_i(C_S) be the
eigenvalues of the correlation matrix C_S.

    f_gr(S) = Σ λ_i(C_S)^α,    0 ≤ α ≤ 1.

For α = 0 this is the rank, if 0⁰ is read as 0, the limit of 0^α. With 0⁰ = 1 it would be |S|. The rank does
not distinguish a full-rank set from an orthogonal set. For α = 1, f_gr is the trace, which does not
distinguish them either, because it is |S| for unit columns. Therefore the interesting range is 0 < α < 1.

Submodularity. For 0 < α < 1, Theorem 12 applies: f is continuous on [0, ∞), and its derivative αt^{α−1} is
operator antitone on t > 0 ("t ∈ R" in print). For α = 0, Theorem 12 does not apply, because t⁰ is not
continuous at 0. But f_gr is then the rank of a matroid, which is submodular. For α = 1, f_gr is modular. By
Lemma 13, f_gr is increasing and non-negative. So g = R² + νf_gr is increasing. Proposition 10 holds for it,
because f_gr is increasing:

    γ_{S,k}(g) ≥ γ_{S,k}(R²),

Theorem 3 then gives Theorem 15 as printed. The submodularity ratio γ is a minimum of quotients; it is read as
the minimum over the quotients with a positive denominator (ledger id SR-definition-2).

The checks are exact for α = 0 and 1. Other α use ball arithmetic with 128 bits on the spectra. Different
eigenvalues lie in disjoint balls, and zero eigenvalues are counted exactly. Spectra are treated as equal if
their characteristic polynomials are.
"""

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import forward_regression, submodularity_ratio
from proofs_checks.rational import real
from proofs_checks.spectral import precisely, r_squared_table, rank_power, rank_power_float
from sparselin.ledger import FALSE, HOLDS, MISPRINT, OPEN, ClaimFailed, claim, mutants

ALPHAS = (fmpq(1, 10), fmpq(1, 2), fmpq(9, 10))


def package_rank(C, S, alpha):
    """Return the package's generalized rank of a set, f_gr(S) = Σ λ_i^α."""
    return sl.spectral.GeneralizedRank(alpha).value(C, S)


def package_gains(C, S, alpha):
    """Return the package's gains f_gr(S + x) − f_gr(S) of the generalized rank for all features x, (d,)."""
    return sl.spectral.GeneralizedRank(alpha).gains(C, S)


@claim("SR-rank-alpha-0", "Section 5.2", "exact, interval", HOLDS, cases=800, ci_cases=40)
@mutants("rank_power", "package_rank")
@precisely()
def test_the_rank_is_the_limit(check):
    """For α = 0, f_gr(S) = Σ λ_i^α is rank(C_S), which does not discriminate between a full-rank matrix and
    an orthogonal one.

    Hypotheses: 0⁰ = 0, and λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S.

    Consequences: With 0⁰ = 1, f_gr would be |S|. For α = 1 f_gr does not discriminate between the two
    matrices either, because f_gr = |S| for unit columns.
    """
    C, I = fmpq_mat(2, 2, [1, fmpq(9, 10), fmpq(9, 10), 1]), spectral.identity(2)
    pairs = {a: (rank_power(C, [0, 1], a), rank_power(I, [0, 1], a)) for a in (0, 1, *ALPHAS)}
    check.over([pairs], lambda f: f[0] == f[1] == (2, 2) and all(f[a][0] < f[a][1] for a in ALPHAS))
    check.forall(spectral.unit_designs(max_d=4), is_limit)


def is_limit(design):
    """Return whether the generalized rank f_gr of every set S has the right values at both ends of the range
    of α.

    It must be the rank of C_S for α = 0, close to the rank for α = 10⁻⁶, and |S| for α = 1.
    """
    C, d, float_C = design.correlations, design.d, design.float_correlations

    def right(S):
        rank = rank_power(C, S, 0)
        return (
            package_rank(float_C, S, 0) == float(rank)
            and (not S or rank == np.linalg.matrix_rank(design.X[:, S].astype(float)))
            and abs(rank_power(C, S, fmpq(1, 10**6)) - rank) < arb(d) / 10**4
            and rank_power(C, S, 1) == len(S)
        )

    return all(right(spectral.members(mask)) for mask in range(1 << d))


@claim("SR-rank-definition", "Section 5.2", "exact, interval, float, proof", HOLDS, cases=400, ci_cases=10)
@mutants("rank_power", "rank_power_float", "package_rank", "package_gains")
@precisely()
def test_generalized_rank_increases(check):
    """The function f_gr(S) = Σ λ_i^α is non-negative, and monotonically increasing in S.

    Hypotheses: 0 ≤ α ≤ 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S.

    Unchecked: Values of α other than 0, 1/10, 1/2, 9/10 and 1 are not checked; Lemma 13 covers them.

    Tolerance: Values are computed in ball arithmetic with 128 bits. Values in floating point may differ from
    them by 1e-6. Eigenvalues below 1e-9 count as zero. The nonzero eigenvalues are above 1e-8, because their
    product is at least N^−rank, where N is the squared norm of the integer columns.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        design = spectral.draw_design(check.rng, d)
        C, float_C = design.correlations, design.float_correlations
        for alpha in (0, *ALPHAS, 1):
            f = spectral.table(lambda S, C=C, alpha=alpha: rank_power(C, S, alpha), d)
            check.over(
                range(1, 1 << d), lambda S, f=f, M=float_C, a=alpha: right_in_floats(f, M, S, real(fmpq(a)))
            )
            if alpha in (0, 1):
                check.over([f], spectral.is_increasing)
            else:
                for A, _, x in spectral.chains(d):
                    maximization.settle(check, f[A | x], f[A], f"{design}, {alpha}: {A} + {x}")


def right_in_floats(f, C, mask, alpha):
    """Return whether the package's generalized rank f_gr of a set S, and its gains f_gr(S + x) − f_gr(S), are
    right.

    The rank must also be ≥ 0.
    """
    S, exact = spectral.members(mask), _real(f[mask])
    gains = [_real(f[mask | 1 << x] - f[mask]) for x in range(len(C))]
    return (
        not f[mask] < 0
        and abs(exact - rank_power_float(C, S, alpha)) <= 1e-6
        and abs(exact - package_rank(C, S, alpha)) <= 1e-6
        and np.all(abs(gains - package_gains(C, S, alpha)) <= 2e-6)
    )


def _real(value):
    return float(value.mid()) if isinstance(value, arb) else real(value)


@claim("SR-rank-submodular", "proof of Theorem 15", "exact, interval, proof", HOLDS, cases=400, ci_cases=15)
@mutants("rank_power")
@precisely()
def test_generalized_rank_is_submodular(check):
    """The function f_gr(S) = Σ λ_i(C_S)^α is submodular.

    Hypotheses: 0 ≤ α ≤ 1. C is positive semidefinite, and its diagonal is arbitrary. λ_i(C_S) are the
    eigenvalues of the principal submatrix C_S.

    Unchecked: Values of α other than 0, 1/10, 1/2, 9/10 and 1 are not checked; Theorem 12 covers them.

    Tolerance: Values are computed in ball arithmetic with 128 bits. A comparison of two overlapping balls
    would count as undecided.
    """
    for _ in range(check.cases):
        d = int(check.rng.integers(2, 5))
        complex_C = check.rng.random() < 0.3
        C = (
            spectral.draw_hermitian(check.rng, d)
            if complex_C
            else spectral.draw_design(check.rng, d).correlations
        )
        rows = [
            spectral.doubled(spectral.members(S), d) if complex_C else spectral.members(S)
            for S in range(1 << d)
        ]
        for alpha, whole in ((0, C.rank()), (1, _trace(C))):
            f = [rank_power(C, S, alpha) for S in rows]
            check.over([f], spectral.is_submodular)
            check.over([f], lambda f, whole=whole: f[-1] == whole)
        strict = spectral.strict_chains(C, rows)
        for alpha in ALPHAS:
            f = [rank_power(C, S, alpha) for S in rows]
            for A, B, x in strict:
                maximization.settle(check, f[A | x] - f[A], f[B | x] - f[B], f"{C}, {alpha}: {A}, {B}, {x}")


SUPPRESSOR = spectral.Design(np.array([[5, 3], [0, 4]]), 25, np.array([0, 1]))
"""Columns (1, 0) and (3, 4)/5, y = (0, 1): R² is 0, 16/25 and 1 on the first, the second and both."""


@claim(
    "SR-theorem-15-submodular", "proof of Theorem 15", "exact, interval, proof", FALSE, cases=300, ci_cases=15
)
@mutants("rank_power", "r_squared_table", "submodularity_ratio")
@precisely()
def test_the_objective_is_not_submodular(check):
    """The objective g = R² + νf_gr of forward regression is submodular.

    Reading of: “Since g(S) is non-negative, monotone, and submodular, we can now apply Theorem 3”

    Hypotheses: 0 ≤ α ≤ 1, ν > 0, and f_gr(S) = Σ λ_i(C_S)^α. λ_i(C_S) are the eigenvalues of the Gram matrix
    C_S of the unit columns in S.

    Instead: g is approximately submodular: its submodularity ratio is at least that of R², as the same proof
    says two sentences earlier. For α = 1, f_gr(S) = |S| is modular, so g is submodular if and only if R² is.

    Consequences: Theorem 15 holds, because Theorem 3 needs an increasing non-negative function with a
    submodularity ratio, and no submodular one.

    Unchecked: Values of α other than 0, 1/10, 1/2, 9/10 and 1 are not checked.
    """
    R, C = r_squared_table(SUPPRESSOR), SUPPRESSOR.correlations
    check.refutes(
        [0, 0, fmpq(16, 25), 1] == R
        and all(_loses(R, C, alpha, nu) for alpha in (1, *ALPHAS) for nu in NUS_HERE),
        "columns (1, 0), (3, 4)/5, y = (0, 1), ν ≤ 1: the gain of the second is larger after the first",
    )

    def as_corrected(design):
        R, k = r_squared_table(design), design.d
        f = spectral.table(lambda S: rank_power(design.correlations, S, 1), k)
        g = spectral.added(R, f)
        everything = len(R) - 1
        return spectral.is_submodular(g) == spectral.is_submodular(R) and (
            submodularity_ratio(g, everything, k) >= submodularity_ratio(R, everything, k)
        )

    check.over(
        (spectral.draw_design(check.rng, int(check.rng.integers(2, 5))) for _ in range(check.cases)),
        as_corrected,
    )


NUS_HERE = (fmpq(1), fmpq(1, 8), fmpq(1, 128))


def _loses(R, C, alpha, nu):
    """Return whether g = R² + νf_gr gains more by the second column after the first than before it."""
    f = [rank_power(C, spectral.members(S), alpha) for S in range(4)]
    return (R[3] - R[1]) - (R[2] - R[0]) + nu * (f[3] - f[1] - f[2] + f[0]) > 0


def _trace(C):
    return sum((C[i, i] for i in range(C.nrows())), fmpq(0))


@claim("SR-theorem-15", "Theorem 15", "exact, interval, brute force, proof", HOLDS, cases=6000, ci_cases=60)
@mutants(
    "sl.forward_regression", "forward_regression", "r_squared_table", "rank_power", "submodularity_ratio"
)
@precisely()
def test_greedy_with_the_generalized_rank(check):
    """Forward regression, FR, on g = R² + νf_gr attains 1 − e^{−γ_{S̃,k}(R²)} of the maximum of g over |S| ≤
    k.

    Hypotheses: 0 ≤ α ≤ 1, ν > 0, and f_gr(S) = Σ λ_i^α, where λ_i are the eigenvalues of the Gram matrix C_S
    of the unit columns in S. In each of k steps, FR adds the feature that raises g most. S̃ is the set of the
    k features that FR selects, and γ_{S̃,k}(R²) the submodularity ratio of R².

    Consequences: The proof needs Proposition 10 only for an increasing f, for which the proposition holds.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    check.over([maximization.SUPPRESSION], lambda R: submodularity_ratio(R, 0, 2) == fmpq(1, 2))

    def start():
        d = int(check.rng.integers(2, 6))
        k, nu = int(check.rng.integers(1, d + 1)), maximization.NUS[int(check.rng.integers(0, 4))]
        alpha = (0, 1, fmpq(1, 2))[int(check.rng.integers(0, 3))]
        return spectral.draw_design(check.rng, d, spectral.SHAPES[1:]), lambda X: over_bound(
            check, X, k, alpha, nu
        )

    least = maximization.least_found(check.rng, -(-check.cases // 20), start)
    check.measured(f"FR attains at least {least:.3f} times the bound, in a search for violations")


def over_bound(check, design, k, alpha, nu):
    """Return the greedy value g(S) divided by the bound of Theorem 15, or 100 if the bound is 0.

    The bound is checked for the sets that forward regression selects in code of the checks and in the
    package.
    """
    R, C, X = r_squared_table(design), design.correlations, design.unit_columns
    f = spectral.table(lambda S: nu * rank_power(C, S, alpha), C.nrows())
    g, rank = spectral.added(R, f), sl.spectral.GeneralizedRank(float(alpha))
    found = sl.forward_regression(X, design.y, k, regularizer=rank, nu=float(nu))
    whole = alpha != 0 or f[-1] == nu * C.rank()
    single = alpha == 0 or not (f[1] < nu or f[1] > nu)
    known = R[-1] == design.r_squared_of_all and whole and single
    if not (known and maximization.has_stated_value(found, g, k)):
        raise ClaimFailed(f"R², f_gr or the set returned is wrong: {design}, {k}, {alpha}, {nu}")
    for S in {spectral.mask_of(forward_regression(g, k)), spectral.mask_of(found.support.tolist())}:
        bound = maximization.one_minus_exp(submodularity_ratio(R, S, k)) * maximization.optimum(g, k)
        maximization.settle(check, arb(g[S]), bound, f"{design}, {k}, {alpha}, {nu}")
    return float((g[S] / bound).mid()) if bound > 0 else 100.0


# the numbered statements, and where print refers to one of them
KINDS = {
    "Definition": (1, 2, 11),
    "Theorem": (3, 5, 7, 9, 12, 14, 15, 16),
    "Lemma": (4, 6, 8, 13),
    "Proposition": (10,),
}
REFERENCES = {
    "Section 3.1": ("Definition 1",),
    "Section 4": ("Theorem 5", "Theorem 7", "Theorem 9"),
    "proof of Theorem 7": ("Lemma 6",),
    "proof of Theorem 9": ("Theorem 7", "Lemma 8"),
    "Section 5.1": ("Lemma 4", "Theorem 3", "Lemma 13"),
    "footnotes 3 and 4": ("Lemma 8",),
    "proof of Theorem 14": ("Definition 11", "Theorem 12", "Proposition 10", "Theorem 9"),
    "proof of Theorem 15": ("Theorem 12", "Lemma 10", "Lemma 13", "Theorem 3"),
    "Section 5.3": ("Theorem 9",),
    "Section 6": ("Lemma 4",),
}


def exists(reference):
    """Return whether a reference such as "Lemma 10" is to a numbered statement that the paper has."""
    kind, number = reference.split()
    return int(number) in KINDS[kind]


@claim("SR-theorem-15-reference", "proof of Theorem 15, and elsewhere", "exact", MISPRINT)
@mutants("exists")
def test_statements_that_are_referred_to(check):
    """The bound on the submodularity ratio of g in Theorem 15 follows by Lemma 10.

    Hypotheses: The numbered statements and the references are the printed ones.

    Instead: The bound follows by Proposition 10. All other references in the paper name the right kind of
    statement (theorem, lemma, proposition or definition).
    """
    check.refutes(
        not exists("Lemma 10") and exists("Proposition 10"),
        "number 10 is a proposition, and Lemma 10 is none",
    )
    others = [reference for found in REFERENCES.values() for reference in found if reference != "Lemma 10"]
    check.over(others, exists)


@claim("SR-proposition-10-reference", "after Proposition 10; Theorem 3", "exact", OPEN)
def test_theorem_3_of_the_thesis(check):
    """The guarantee of greedy for monotone functions, Theorem 3, is Theorem 3 of the reference [4] (Das, PhD
    thesis, 2011).

    Reading of: “we can directly apply [4, Theorem 3]”; “Theorem 3 (from [4])”

    Hypotheses: The “3” in “[4, Theorem 3]” is read as the number of a theorem in the thesis.

    Unchecked: The sentence is not checked, because the thesis was not available. If Theorem 3 of this paper
    is meant, the reference is misprinted. For the proof of Theorem 5, a bound of the same kind, the paper
    refers to Theorem 3.2 of Das and Kempe, [5], which was not available either.
    """
