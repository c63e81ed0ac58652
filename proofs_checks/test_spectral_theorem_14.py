"""Theorem 14 and Section 5.1: the smoothed differential entropy.

Source: *Selecting Diverse Features via Spectral Regularization*, Section 5.1, footnote 3, Theorem 14. Let λ_i
be the eigenvalues of the correlation matrix C_S. For δ > 0

    f_de(S) = Σ log₂(δ + λ_i(C_S)) − 3k log₂ δ,    2^{f_de} = det(δI + C_S)/δ^{3k}.

The power 2^{f_de} is rational for rational δ. Therefore submodularity and monotonicity are exact inequalities
between products. With c = log₂(1/δ), the gain f_de(S + x) − f_de(S) of a feature x is log₂(δ + s) ≥ −c, where
s ≥ 0 is a Schur complement.

Sign. For δ ≤ 1 and |S| ≤ 3k, f_de ≥ (3k − |S|)c ≥ 0. For δ > 1 the constant is negative: f_de(∅) = −3k log₂ δ
< 0. For δ³ > 1 + δ (δ > 1.325), every set of k features has f_de < 0. For δ > 1 the constant must be left
out, because then Σ log₂(δ + λ_i) ≥ 0.

Monotonicity. For δ ≥ 1, f_de increases by Lemma 13, because δ + s ≥ 1. For δ < 1 it does not increase in
general. If a vector is added to m copies of itself, the determinant is multiplied by

    δ(δ + m + 1)/(δ + m).

No unit vector multiplies the determinant of m unit vectors by a smaller factor, because x'(δI + AA')⁻¹x ≥
1/(δ + m) for the matrix A of the m vectors. So f_de increases on all sets of at most k unit vectors if and
only if δ² ≥ (k − 1)(1 − δ).

With δ > 1, the paper's step "we can then use Theorem 3" fails, because f_de is negative on some sets. For one
column, k = 1 and δ = 4, the optimum OPT and the greedy value g are both 1 + log₂ 5 − 6 < 0, so that g = OPT <
(1 − 1/e)·OPT. The same example refutes Theorem 14 for δ > 1. For δ = 1, or without the constant, both
statements hold. For δ ≤ 1, Theorem 14 is true, although its proof uses Proposition 10 and Theorem 9, which
are false. The reason is that f_de is, up to a function of |S|, the increasing function Σ log₂(1 + λ_i/δ), for
which FR (forward regression) alone attains 1 − e^{−γ}. The proof is in
docs/proofs/spectral_theorems_14_and_16.md.

Logarithms are computed in ball arithmetic with 128 bits.
"""

import math

import numpy as np
from flint import arb, fmpq, fmpq_mat

import sparselin as sl
from proofs_checks import maximization, spectral
from proofs_checks.maximization import forward_regression, greedy_local_search, submodularity_ratio
from proofs_checks.rational import real
from proofs_checks.spectral import entropy, entropy_float, precisely, r_squared_table, smoothed_det
from sparselin.ledger import CORRECTED, HOLDS, ClaimFailed, claim, mutants

DELTAS = (fmpq(1, 1000), fmpq(1, 10), fmpq(1, 2), fmpq(9, 10), fmpq(1))
ABOVE_ONE = (fmpq(11, 10), fmpq(2), fmpq(10))
ONE = fmpq_mat(1, 1, [1])


def package_entropy(C, S, delta, k):
    """Return the package's smoothed entropy of a set, f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ."""
    return sl.spectral.SmoothedDifferentialEntropy(delta, k).value(C, S)


def package_gains(C, S, delta, k):
    """Return the package's gains f_de(S + x) − f_de(S) of the smoothed entropy for all features x, (d,)."""
    return sl.spectral.SmoothedDifferentialEntropy(delta, k).gains(C, S)


def determinants(C, d, delta):
    """Return det(δI + C_S) for the Gram matrix C_S of every set S."""
    return [smoothed_det(C, spectral.members(S), delta) for S in range(1 << d)]


@claim("SR-entropy-definition", "Section 5.1", "interval, float", HOLDS, cases=300, ci_cases=12)
@mutants("entropy", "entropy_float", "package_entropy", "package_gains")
@precisely()
def test_entropy_is_a_log_determinant(check):
    """The function f_de(S) = Σ log₂(δ + λ_i(C_S)) − 3k log₂ δ is a smoothed log-determinant. f_de(S) is log₂
    det(δI + C_S) − 3k log₂ δ, and log₂ det(δI + C_S) tends to log₂ det C_S as δ → 0 if C_S is nonsingular.

    Hypotheses: The columns have length 1, and δ > 0. λ_i(C_S) are the eigenvalues of their Gram matrix C_S.

    Tolerance: Values in floating point may differ from the exact ones by 4·eps·((|S| + 1)²/(δ ln 2) + (|S| +
    9)(1 + |log₂ δ|)). The reason is that an eigenvalue has an error of |S|·eps·‖C_S‖, and that the slope of
    the logarithm is at most 1/(δ ln 2). Gains f_de(S + x) − f_de(S) may differ by twice as much.
    """
    check.forall(spectral.unit_designs(max_d=4), is_log_determinant)


def is_log_determinant(design):
    """Return whether the smoothed entropy from the eigenvalues equals that of the package, for every set and
    every δ.

    For δ → 0 it must also approach log₂ det C_S.
    """
    C, float_C = design.correlations, design.float_correlations
    return all(right_in_floats(C, float_C, delta) for delta in DELTAS + ABOVE_ONE) and all(
        tends_to_log_det(C, spectral.members(mask)) for mask in range(1 << design.d)
    )


def right_in_floats(C, float_C, delta):
    """Return whether the package's smoothed entropy, with k = 3, and its gains are right up to rounding on
    every set.
    """
    f, delta = (
        [float(v.mid()) for v in spectral.table(lambda S: entropy(C, S, delta, 3), len(float_C))],
        real(delta),
    )

    def right(mask):
        S, eps = spectral.members(mask), np.finfo(float).eps
        size = (len(S) + 9) * (1 + abs(math.log2(delta)))
        rounding = 4 * eps * ((len(S) + 1) ** 2 / delta / math.log(2) + size)
        values = entropy_float(float_C, S, delta, 3), package_entropy(float_C, S, delta, 3)
        gains = np.array([f[mask | 1 << x] - f[mask] for x in range(len(float_C))])
        right_gains = abs(gains - package_gains(float_C, S, delta, 3)) <= 2 * rounding
        return all(abs(value - f[mask]) <= rounding for value in values) and right_gains.all()

    return all(right(mask) for mask in range(len(f)))


def tends_to_log_det(C, S):
    """Return whether log₂ det(δI + C_S) is within the proved distance of log₂ det C_S for a small δ.

    For eigenvalues λ_i of a nonsingular C_S, the difference must lie between 0 and Σ δ/(λ_i ln 2). For a
    singular C_S the result is True.
    """
    limit, smoothed = smoothed_det(C, S, 0), smoothed_det(C, S, fmpq(1, 10**9))
    return limit == 0 or 0 <= smoothed / limit - 1 <= fmpq(1, 10**6) / limit


@claim("SR-entropy-nonnegative", "Section 5.1, footnote 3", "exact, interval, proof", CORRECTED, cases=600)
@mutants("entropy", "smoothed_det")
@precisely()
def test_sign_of_the_entropy(check):
    """The smoothed entropy f_de is non-negative for sets of up to 3k features.

    Hypotheses: The columns have length 1, and δ > 0. f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, where λ_i are the
    eigenvalues of the Gram matrix C_S of the unit columns in S.

    Instead: This holds for δ ≤ 1. For δ > 1 it holds without the constant −3k log₂ δ: Σ log₂(δ + λ_i) ≥ 0.

    Consequences: For δ > 1, Theorems 3, 9 and 14 do not apply to f_de (SR-entropy-greedy, SR-theorem-14).
    """
    check.refutes(entropy(ONE, [], 2, 1) < 0, "δ = 2, k = 1: f_de(∅) = −3")
    check.refutes(entropy(ONE, [0], 2, 1) < 0, "δ = 2, k = 1: f_de({x}) = log₂ 3 − 3")

    def signed(design):
        C, d = design.correlations, design.d
        return all(
            all(
                smoothed_det(C, S, delta) >= delta ** (3 * k)
                for k in range(-(-len(S) // 3), 3)
                for delta in DELTAS
            )
            and all(smoothed_det(C, S, delta) >= 1 for delta in ABOVE_ONE)
            and not entropy(C, S, fmpq(1, 10), 2) < (6 - len(S)) * spectral.log2(10)
            for S in (spectral.members(mask) for mask in range(1 << d))
        )

    check.forall(spectral.unit_designs(max_d=6), signed)


@claim("SR-entropy-submodular", "proof of Theorem 14", "exact, brute force, proof", HOLDS)
@mutants("smoothed_det")
def test_entropy_is_submodular(check):
    """The function f_de(S) = Σ log₂(δ + λ_i(C_S)) − 3k log₂ δ is submodular.

    Hypotheses: δ > 0 is arbitrary, and so is k, because the term 3k log₂ δ is constant. C is positive
    semidefinite, and its diagonal is arbitrary. λ_i(C_S) are the eigenvalues of the principal submatrix C_S.
    """

    def submodular(value):
        C, d = value
        for delta in DELTAS + ABOVE_ONE:
            D = determinants(C, d, delta)
            if D[1] != C[0, 0] + delta or any(
                D[A | x] * D[B] < D[B | x] * D[A] for A, B, x in spectral.chains(d)
            ):
                return False
        return True

    def matrices():
        for _ in range(check.cases):
            d = int(check.rng.integers(2, 6))
            if check.rng.random() < 0.7:
                yield spectral.draw_design(check.rng, d).correlations, d
            else:
                yield spectral.draw_hermitian(check.rng, d), d

    check.over(matrices(), submodular)


@claim("SR-entropy-monotone", "Section 5.1, after Theorem 14", "exact, proof", HOLDS, cases=1500, ci_cases=60)
@mutants("smoothed_det")
def test_entropy_increases_from_one_on(check):
    """For δ ≥ 1, f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ is monotonically increasing in S.

    Hypotheses: δ ≥ 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S.
    """

    def increasing(design):
        d = design.d
        C = design.correlations
        tables = [determinants(C, d, delta) for delta in (fmpq(1), *ABOVE_ONE)]
        return all(D[A | x] >= D[A] for D in tables for A, _, x in spectral.chains(d)) and tables[0][1] == 2

    check.forall(spectral.unit_designs(max_d=5), increasing)


@claim(
    "SR-entropy-not-monotone",
    "Section 5.1, after Theorem 14; Section 6 (ld and ld-0.1)",
    "exact, proof",
    HOLDS,
    cases=1500,
    ci_cases=60,
)
@mutants("smoothed_det")
def test_entropy_decreases_below_one(check):
    """The function f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ is not monotone in general.

    Hypotheses: δ < 1, and λ_i are the eigenvalues of the Gram matrix C_S of the unit columns in S.

    Consequences: For no δ < 1 is f_de monotone on all sets. On the sets of at most k unit vectors, it
    increases if and only if δ² ≥ (k − 1)(1 − δ).
    """

    def falls(value):
        delta, k = value
        copies = fmpq_mat(k, k, [1] * (k * k))
        last = smoothed_det(copies, range(k), delta) / smoothed_det(copies, range(k - 1), delta)
        return (last >= 1) == (delta**2 >= (k - 1) * (1 - delta))

    check.over(((fmpq(p, 20), k) for p in range(1, 20) for k in range(1, 9)), falls)
    # the copies are the worst case
    C, half = fmpq_mat(2, 2, [1, fmpq(9, 10), fmpq(9, 10), 1]), fmpq(1, 2)
    check.over([C], lambda C: smoothed_det(C, [0, 1], half) < smoothed_det(C, [0], half))

    def worst(design):
        d = design.d
        tables = [(delta, determinants(design.correlations, d, delta)) for delta in DELTAS]
        return all(
            D[A | x] * (delta + A.bit_count()) >= delta * (delta + A.bit_count() + 1) * D[A]
            for delta, D in tables
            for A, _, x in spectral.chains(d)
        )

    check.forall(spectral.unit_designs(max_d=5), worst)


@claim(
    "SR-entropy-greedy",
    "Section 5.1, after Theorem 14",
    "interval, brute force, proof",
    CORRECTED,
    cases=3000,
)
@mutants("sl.forward_regression", "forward_regression", "entropy", "r_squared_table")
@precisely()
def test_greedy_on_the_monotone_entropy(check):
    """For δ ≥ 1, Theorem 3 gives the tighter bound (1 − e^{−γ_{S̃,k}})·OPT for forward regression (FR) on g =
    R² + f_de.

    Hypotheses: δ ≥ 1, ν = 1, and f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, where λ_i are the eigenvalues of the
    Gram matrix C_S of the unit columns in S. In each of k steps, FR adds the feature that raises g most. S̃
    is the set of the k features that FR selects, OPT the maximum of g over |S| ≤ k, and γ_{S̃,k} the
    submodularity ratio.

    Instead: The bound holds for δ = 1, and for δ > 1 without the constant −3k log₂ δ, that is, with Σ log₂(δ
    + λ_i). γ may be the ratio of R² or of g.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    alone = 1 + entropy(ONE, [0], 4, 1)
    check.refutes(
        alone.overlaps(spectral.log2(5) - 5) and alone < maximization.one_minus_exp(1) * alone,
        "one column X = y, k = 1, δ = 4: FR is optimal and g = OPT = log₂ 5 − 5 < (1 − 1/e)·OPT",
    )
    check.over([ONE], lambda C: entropy(C, [0], fmpq(1), 5).contains(1))
    for _ in range(check.cases):
        design, k, R = draw(check)
        C, delta = design.correlations, (fmpq(1), *ABOVE_ONE)[int(check.rng.integers(0, 4))]
        f = spectral.table(
            lambda S, C=C, k=k, a=delta: entropy(C, S, a, k) + 3 * k * spectral.log2(a), C.nrows()
        )
        g = spectral.added(R, f)
        plain = sl.spectral.SmoothedDifferentialEntropy(float(delta))  # without the constant, as f
        found = sl.forward_regression(design.unit_columns, design.y, k, regularizer=plain, nu=1.0)
        known = maximization.has_stated_value(found, g, k)
        for S in {spectral.mask_of(forward_regression(g, k)), spectral.mask_of(found.support.tolist())}:
            bound = maximization.one_minus_exp(submodularity_ratio(R, S, k)) * maximization.optimum(g, k)
            maximization.settle(check, g[S] if known else arb(-1), bound, f"{design}, {k}, {delta}")


def draw(check):
    """Draw a design and k ≤ 3, and return them with the table of R² of all sets, which is checked."""
    d = int(check.rng.integers(2, 6))
    design = spectral.draw_design(check.rng, d, spectral.SHAPES[1:])
    k, R = int(check.rng.integers(1, min(3, d) + 1)), r_squared_table(design)
    check.over([design], lambda design: R[-1] == design.r_squared_of_all)
    return design, k, R


@claim("SR-theorem-14", "Theorem 14", "interval, brute force, proof", CORRECTED, cases=6000, ci_cases=60)
@mutants("sl.greedy_local_search", "greedy_local_search", "entropy", "r_squared_table", "submodularity_ratio")
@precisely()
def test_guarantee_with_the_entropy(check):
    """Greedy local search, GLS, on g = R² + νf_de attains

        (1 − e^{−γ_{S̃,2k}/2})/7

    of the optimum, the maximum of g over |S| ≤ k.

    Hypotheses: The columns have length 1, δ > 0 and ν > 0. GLS computes three sets. S₁ is the set of k
    features that forward regression (FR) on g selects. S₁' is the result of local search on f within S₁. S₂
    is the set that FR selects from the features outside S₁. Of these it returns the set S̃ with the largest
    g. f_de(S) = Σ log₂(δ + λ_i) − 3k log₂ δ, where λ_i are the eigenvalues of the Gram matrix C_S of the unit
    columns in S. γ is the submodularity ratio.

    Instead: This holds for δ ≤ 1, with γ of R² and for the set S₁ (for any S̃ if k ≤ 14). FR alone attains
    the share 1 − e^{−γ_{S₁,k}(R²)} of the optimum. For δ > 1 the constant −3k log₂ δ must be left out. Then
    f_de is non-negative and increasing, and Theorem 3 applies.

    Consequences: Our proof uses neither Theorem 9 nor Proposition 10 for f_de, which are false. Among sets of
    one size, g differs only by a constant from the increasing function R² + ν Σ log₂(1 + λ_i/δ). FR compares
    only sets of one size, so it selects the same features for both functions. Moreover, f_de of any k
    features is at least 2/3 of the constant 3k log₂(1/δ), and 2/3 > 1 − 1/e.

    Unchecked: For k > 14, the bound with the γ of a returned set other than S₁ is not checked.

    Tolerance: The bound itself has no tolerance. The value of g that the package reports may differ from the
    exact one by 1e-9 times the largest value of g.
    """
    f = spectral.table(lambda S: entropy(ONE, S, 4, 1), 1)
    g = spectral.added([fmpq(0), fmpq(1)], f)
    found, best = greedy_local_search(f, g, 1, fmpq(1, 10)).best, maximization.optimum(g, 1)
    check.refutes(
        found == 1 and best < 0 and g[found] < maximization.one_minus_exp(fmpq(1, 2)) / 7 * best,
        "one column X = y, k = 1, δ = 4: GLS is optimal and g = OPT = log₂ 5 − 5 < 0, less than a "
        "fraction of itself",
    )
    check.over([maximization.SUPPRESSION], lambda R: submodularity_ratio(R, 0, 2) == fmpq(1, 2))

    def start():
        design, k, _ = draw(check)
        delta, nu = DELTAS[int(check.rng.integers(0, 5))], maximization.NUS[int(check.rng.integers(0, 4))]
        return design, lambda design: over_bound(check, design, k, delta, nu)

    least = maximization.least_found(check.rng, -(-check.cases // 20), start)
    check.measured(
        f"GLS as printed attains at least {least:.2f} times the printed bound, in a search for violations"
    )


def over_bound(check, design, k, delta, nu):
    """Return g(S̃) divided by the printed bound of Theorem 14, for g = R² + νf_de with the smoothed entropy
    f_de.

    S̃ is the set that greedy local search selects, in code of the checks. The printed bound and the sharper
    one are checked for S̃ and for the set that the package selects.
    """
    R, C, X = r_squared_table(design), design.correlations, design.unit_columns
    f = spectral.table(lambda S: nu * entropy(C, S, delta, k), C.nrows())
    g, f_de = spectral.added(R, f), sl.spectral.SmoothedDifferentialEntropy(float(delta), k)
    found = greedy_local_search(f, g, k, fmpq(1, 10))
    ours = sl.greedy_local_search(X, design.y, k, regularizer=f_de, nu=float(nu), variant="printed")
    known = R[-1] == design.r_squared_of_all and as_derived(f, nu, delta, k)
    if not (known and maximization.has_stated_value(ours, g) and len(ours.support) <= k):
        raise ClaimFailed(f"R², f_de or the set returned is wrong: {design}, {k}, {delta}, {nu}")
    sets = {found.best, spectral.mask_of(ours.support.tolist())}
    return maximization.settle_bounds(check, R, g, k, found, sets, f"{design}, {k}, {delta}, {nu}")


def as_derived(f, nu, delta, k):
    """Return whether the table f of νf_de has the values and the lower bound that are derived by hand.

    With c = log₂(1/δ), f must be ν(log₂(1 + δ) + 3kc) at single features, and at least ν(3k − |S|)c at sets S
    of at most 2k features. The comparisons are of balls.
    """
    c = -spectral.log2(delta) if delta != 1 else arb(0)
    single = f[1].overlaps(nu * (spectral.log2(1 + delta) + 3 * k * c))
    return single and all(
        not f[S] < nu * (3 * k - S.bit_count()) * c for S in spectral.subsets(len(f) - 1, 2 * k)
    )
