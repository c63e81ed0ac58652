"""Sentences on the reasons why diversity matters, and the formulas of Sections 3.1 and 6.

Source: *Selecting Diverse Features via Spectral Regularization*, Sections 1, 2, 3.1 and 6, footnote 1.

*Stochastic gradient.* Let y = Aα, where A has k unit columns, so that the squared lengths of its rows have
the sum k. Let β be an estimate of α, e = β − α its error, and e⁺ the error after a step. A row a is drawn
with probability ‖a‖²/k, and a step of length 1/‖a‖² on ½(aᵀβ − aᵀα)² projects e off a. Hence

    E‖e⁺‖² = ‖e‖² − Σ_a (‖a‖²/k)(aᵀe)²/‖a‖² = ‖e‖² − eᵀC_Se/k,

which is the factor 1 − λ_min(C_S)/k in the slowest direction. λ_min(C_S) ≤ tr C_S/k = 1, with equality if and
only if the columns are orthogonal. (Strohmer and Vershynin, *A randomized Kaczmarz algorithm with exponential
convergence*, 2009.)

*Greedy methods.* Let X_3, X_4 and e be orthonormal, Z = (3X_3 + 4X_4)/5, 0 < φ < ψ with cos ψ > 4/5, and

    X_1 = cos φ·Z + sin φ·e,    X_2 = cos ψ·Z − sin ψ·e.

The target Z is in the span of X_1 and X_2, and also in the span of X_3 and X_4. X_1 has the largest
correlation with Z, and leaves the residual r. The following holds:

    r = sin φ·(sin φ·Z − cos φ·e),    ⟨X_2, r⟩ = sin φ·sin(φ + ψ) > sin² φ ≥ ⟨X_3, r⟩, ⟨X_4, r⟩.

So X_2 is selected next, at the angle φ + ψ to X_1.

*The largest ν.* Let S maximise R² + νf and T maximise R² + ν'f, with ν < ν'. The sum of the two inequalities
is (ν' − ν)(f(T) − f(S)) ≥ 0. Therefore R²(S) − R²(T) ≥ ν(f(T) − f(S)) ≥ 0. Each S is a maximiser on a closed
interval of ν ≥ 0, which is described by finitely many inequalities that are linear in ν. For a given c, the
union of these intervals over the S with R²(S) > c is closed. If it contains ν', it contains every ν in [0,
ν'].
"""

from itertools import combinations, pairwise

import numpy as np
from flint import fmpq, fmpq_mat
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.rational import inner, off, rational, vector
from proofs_checks.spectral import r_squared
from sparselin.ledger import HOLDS, MISPRINT, OPEN, claim, mutants

HALF = fmpq(1, 2)
FIVE = st.lists(st.integers(-3, 3).map(fmpq), min_size=5, max_size=5)


# --- Section 1 -------------------------------------------------------------------------------------------


def expected_square(A, e):
    """Return the expected squared length of the error after one step of the stochastic gradient.

    The error is e before the step. The columns of A have the same length, and are scaled to length 1.
    """
    total = sum((A[i, j] ** 2 for i in range(A.nrows()) for j in range(A.ncols())), fmpq(0))
    found = fmpq(0)
    for i in range(A.nrows()):
        row = vector([A[i, j] for j in range(A.ncols())])
        if length := inner(row, row):
            after = e - row * (inner(row, e) / length)
            found += length / total * inner(after, after)
    return found


def equicorrelated(rho):
    """Return the correlation matrix of three columns whose correlations are all ρ.

    Its eigenvalues are 1 + 2ρ, 1 − ρ and 1 − ρ.
    """
    return fmpq_mat(3, 3, [fmpq(1) if i == j else rho for i in range(3) for j in range(3)])


@claim("SR-section-1-sgd", "Section 1", "proof, exact", HOLDS, cases=600, ci_cases=40)
@mutants("expected_square")
def test_correlated_features_slow_stochastic_gradient(check):
    """Correlated features slow down the stochastic gradient. In the slowest direction, a step multiplies the
    expected squared error by 1 − λ_min(C_S)/k, where C_S is the Gram matrix of the k columns. The best
    possible factor is 1 − 1/k, and only orthogonal features have it.

    Reading of: “correlated features can slow down the convergence of algorithms such as the stochastic
    gradient (e.g., [2]); by demanding diversity, one can potentially obviate this slowdown”

    Hypotheses: The problem is least squares without noise, with unit columns. A row is drawn with a
    probability proportional to its squared length, and the step has the length 1/‖row‖².

    Consequences: In the extreme case diversity removes this effect, because each regularizer is largest for
    orthogonal columns. But otherwise a larger regularizer need not mean a larger λ_min. Compare three columns
    whose correlations are all −9/20 with three columns whose correlations are all 4/5. For the first, the
    smoothed entropy (δ = 1 and 1/10), the generalized rank (α = 1/2) and the spectral variance are larger,
    but λ_min is only 1/10, and 1/5 for the second.

    Unchecked: Other steps and other ways to draw a row are not checked. The reference [2] is about coordinate
    descent in parallel.
    """
    slow, fast = equicorrelated(fmpq(-9, 20)), equicorrelated(fmpq(4, 5))
    S = [0, 1, 2]
    diversities = [
        lambda C: spectral.smoothed_det(C, S, 1),
        lambda C: spectral.smoothed_det(C, S, fmpq(1, 10)),
        lambda C: spectral.rank_power(C, S, HALF),
        lambda C: spectral.variance(C, S, 3),
    ]
    check.over(diversities, lambda f: f(slow) > f(fast))
    check.over(
        [(slow, fmpq(1, 10)), (fast, fmpq(1, 5))],
        lambda case: (case[0] - spectral.identity(3) * case[1]).det() == 0,
    )

    def shrinks_by_the_quadratic_form(drawn):
        design, entries = drawn
        k, C, A = design.d, design.correlations, rational(design.X)
        e = vector(entries[:k])
        square, form = inner(e, e), inner(e, C * e)
        units = [vector([fmpq(i == j) for i in range(k)]) for j in range(k)]
        pairs = [units[i] + units[j] * s for i in range(k) for j in range(i) for s in (-1, 1)]
        slowest = max((expected_square(A, pair) for pair in pairs), default=2 - fmpq(2, k))
        orthogonal = spectral.identity(k) == C
        return expected_square(A, e) == square - form / k and orthogonal == (slowest == 2 - fmpq(2, k))

    check.forall(st.tuples(spectral.unit_designs(max_d=4), FIVE), shrinks_by_the_quadratic_form)


ANGLES = {7: (24, 25), 5: (12, 13), 9: (40, 41), 11: (60, 61), 8: (15, 17)}
"""The opposite leg of a right triangle ↦ the adjacent leg and the hypotenuse; the cosines exceed 4/5."""


def two_pairs(one, other):
    """Return four columns and a target Z that lies in the span of the first two and in the span of the last
    two.

    The last two columns are orthogonal. The first two enclose the angles φ and ψ with Z, which are angles of
    two right triangles, so that all entries are integers. All columns have the same length.
    """
    (a, c), (b, h) = ANGLES[one], ANGLES[other]
    first = np.array([3 * a, 4 * a, 5 * one]) * h
    second = np.array([3 * b, 4 * b, -5 * other]) * c
    length = 5 * c * h
    return np.stack([first, second, [length, 0, 0], [0, length, 0]], axis=1), np.array([3, 4, 0])


def increasing_angles():
    """Return the pairs of right triangles for which the angle φ of the first is smaller than the angle ψ of
    the second.
    """
    return [(p, q) for p in ANGLES for q in ANGLES if p * ANGLES[q][1] < q * ANGLES[p][1]]


@claim("SR-footnote-1", "Sections 1 and 2, footnote 1", "proof, exact, float", HOLDS)
@mutants("sl.omp", "sl.forward_regression", "sl.lasso_path", "r_squared")
def test_greedy_and_the_lasso_ignore_diversity(check):
    """The greedy methods and the Lasso do not address diversity. Of two pairs of features that predict Z
    without error, they pick a pair with a correlation above 3/5, and not the orthogonal pair.

    Reading of: “the traditional greedy and ℓ₁-relaxation approaches to feature-selection do not explicitly
    address feature diversity”; “None of these methods, however, takes feature diversity into the account
    during selection”

    Hypotheses: The check takes ten designs of four features. The methods are OMP, forward regression and the
    path of the Lasso, with k = 2. They are compared with the largest R² + νf_sv for three ν, where f_sv(S) =
    9k² − ‖C_S − I‖² is the spectral variance.

    Consequences: R² + νf_sv is largest at the orthogonal pair for every ν > 0. Greedy methods avoid redundant
    features only implicitly: a column that depends linearly on the selected ones adds nothing, and is not
    selected.

    Unchecked: The discussion in the paper's supplement is not checked, because the supplement was not
    available (SR-supplement).
    """

    def ignores(case):
        X, Z = two_pairs(*case)
        N = int(X[:, 0] @ X[:, 0])
        C = fmpq_mat(4, 4, [fmpq(int(v), N) for v in (X.T @ X).ravel()])
        pairs = list(combinations(range(4), 2))
        perfect = [S for S in pairs if r_squared(X, Z, S) == 1]
        best = [
            max(
                (S for k in (1, 2) for S in combinations(range(4), k)),
                key=lambda S: r_squared(X, Z, S) + nu * spectral.variance(C, S, 2),
            )
            for nu in (fmpq(1, 1000), fmpq(1), fmpq(1000))
        ]
        unit = X / np.sqrt(N)
        found = [sl.omp(unit, Z, 2).support, sl.forward_regression(unit, Z, 2).support]
        found += sl.lasso_path(unit, Z).active[:2]
        return (
            [sorted(map(int, S)) for S in found] == [[0, 1], [0, 1], [0], [0, 1]]
            and perfect == [(0, 1), (2, 3)]
            and best == [(2, 3)] * 3
            and C[0, 1] > fmpq(3, 5)
        )

    check.over(increasing_angles(), ignores)


@claim("SR-supplement", "footnote 1; Sections 3.1, 5 and 6", "float", OPEN)
def test_the_supplement(check):
    """The supplementary material discusses the diversity of greedy and ℓ₁ methods, and has results on
    simulated data.

    Hypotheses: Footnote 1 has the address of the supplement.

    Unchecked: The sentence is not checked, because the supplement was not available. The paper says that the
    supplement proves three statements. They are checked under the ledger ids SR-perturbation-norm,
    SR-lemma-13 and SR-variance-submodular.
    """


# --- notation --------------------------------------------------------------------------------------------


def coefficients(A, Z):
    """Return the least-squares coefficients (AᵀA)⁻¹AᵀZ, for independent columns of A."""
    return (A.transpose() * A).solve(A.transpose() * Z)


def has_independent_columns(A):
    """Return whether the columns of A are linearly independent."""
    return A.rank() == A.ncols()


@claim("SR-section-3.1-dimensions", "Section 3.1", "exact", MISPRINT, cases=600, ci_cases=40)
@mutants("coefficients")
def test_dimensions_of_the_perturbation(check):
    """For n features X_i, the target Z is in ℝⁿ, the matrix A of the columns in S is in ℝ^{n×k}, and the
    noise of the target is N(0, σ²I_n).

    Hypotheses: X_i ∈ ℝᵐ for i = 1, …, n, as in Section 3, and |S| = k.

    Instead: Z ∈ ℝᵐ, A ∈ ℝ^{m×k} and η ~ N(0, σ²I_m). Then C_S = AᵀA, and α = C_S⁻¹AᵀZ are the coefficients of
    the best prediction. Let α' be the coefficients for Z + η. Then α' − α has the covariance σ²C_S⁻¹, which
    Lemma 4 uses.
    """
    A = rational(np.array([[1], [0]]))
    check.refutes(
        (A.nrows(), A.ncols()) == (2, 1) != (1, 1),
        "one feature, X_1 = (1, 0), and S = {1}: A is 2×1, not 1×1",
    )

    def right_with_m(design):
        A, Z = rational(design.X), rational(design.y)
        assume(has_independent_columns(A))
        alpha = coefficients(A, Z)
        M = coefficients(A, spectral.identity(A.nrows()))  # η ↦ α' − α
        normal = A.transpose() * (Z - A * alpha)
        shapes = (alpha.nrows(), M.nrows(), M.ncols()) == (A.ncols(), A.ncols(), len(design.y))
        return (
            shapes
            and normal == normal * 0
            and M * M.transpose() * (A.transpose() * A) == spectral.identity(A.ncols())
        )

    check.forall(spectral.unit_designs(max_d=4), right_with_m)


@claim("SR-section-6-target", "Section 6", "exact", MISPRINT, cases=600, ci_cases=40)
@mutants("coefficients")
def test_the_target_of_the_perturbed_features(check):
    """The least-squares coefficients for perturbed features X' are α' = (C'_S)⁻¹(X'_S)ᵀy.

    Hypotheses: C'_S = (X'_S)ᵀX'_S is nonsingular, and only the features are perturbed, from X to X'.

    Instead: α' = (C'_S)⁻¹(X'_S)ᵀZ with the target Z. The paper defines no y. For X' = X, the printed formula
    gives the unperturbed coefficients α = C_S⁻¹X_SᵀZ if and only if y − Z is orthogonal to the columns in S.
    """
    A, Z, y = (rational(np.array(x)) for x in ([1, 0], [1, 0], [0, 1]))
    check.refutes(
        (coefficients(A, y)[0, 0], coefficients(A, Z)[0, 0]) == (0, 1),
        "X'_S = X_S = (1, 0)ᵀ, Z = (1, 0), and (0, 1) for y, which is defined nowhere: α' = 0, α = 1",
    )

    def is_the_target(drawn):
        design, entries = drawn
        A, Z = rational(design.X), rational(design.y)
        assume(has_independent_columns(A))
        y = vector(entries[: A.nrows()])
        seen, unseen = A * coefficients(A, y - Z), off(A, range(A.ncols()), y)
        same = coefficients(A, y) == coefficients(A, Z)
        normal = A.transpose() * (Z - A * coefficients(A, Z))
        return (
            same == (seen == seen * 0)
            and coefficients(A, Z + unseen) == coefficients(A, Z)
            and normal == normal * 0
        )

    check.forall(st.tuples(spectral.unit_designs(max_d=3), FIVE), is_the_target)


REGULARIZATION = {
    "Definition 1": "ν",
    "Section 4": "ν",
    "Section 6, the choice": "λ",
    "Section 6, the rule": "ν",
}
"""A place ↦ the letter there of the constant before the regularizer."""


def maximisers(R, f, nu, k):
    """Return the pair (R²(S), f(S)) for every set S of at most k features at which R² + νf is largest."""
    sets = spectral.subsets(len(R) - 1, k)
    most = max(R[S] + nu * f[S] for S in sets)
    return [(R[S], f[S]) for S in sets if R[S] + nu * f[S] == most]


@claim("SR-section-6-nu", "Section 6", "proof, exact, brute force", MISPRINT, cases=300, ci_cases=20)
@mutants("maximisers")
def test_the_largest_nu(check):
    """The experiments use the largest regularization parameter λ for which the R² of the solution is greater
    than that of the Lasso.

    Reading of: “The way we decided on the regularization parameters λ is as follows. First we run the lasso
    using a regularization path approach, and obtain a set of solutions for a range of regularization
    parameter values … We chose the regularization constant (ν) to be the maximum subject to the condition
    that the R² value for that solution should be greater than that obtained by the lasso solution”

    Hypotheses: The selected sets are exact maximisers of R² + νf over the sets of at most k features. λ is
    read as the constant that is chosen, and not as the Lasso's own penalty, for which the paper uses a whole
    range of values.

    Instead: The constant is ν, as in Definition 1; λ_i are eigenvalues in Section 3. If ν increases, the R²
    of a maximiser does not increase, and its f does not decrease. Consider the set of all ν at which some
    maximiser has an R² greater than a given number. This set is empty, or a closed interval that begins at 0.
    If this interval is bounded, there is a largest ν. The interval can be unbounded: for X = I_2, Z = (1,
    1)/√2, k = 2 and the generalized rank f_gr, {1, 2} is a maximiser for every ν ≥ 0, with R² = 1.

    Unchecked: The sets that the paper's greedy methods, forward regression (FR) and greedy local search
    (GLS), select need not be maximisers. For the sets that FR and GLS select, the statement is not checked,
    and it need not hold.
    """
    check.refutes(
        [place for place, letter in REGULARIZATION.items() if letter != "ν"] == ["Section 6, the choice"],
        "λ where Definition 1, Section 4 and the rule in Section 6 have ν",
    )

    nus = [fmpq(0), *(fmpq(2) ** p for p in range(-8, 4, 2))]
    R, f = [fmpq(0), HALF, HALF, fmpq(1)], [fmpq(0), fmpq(1), fmpq(1), fmpq(2)]  # X = I_2, f_gr(S) = |S|
    check.over(nus, lambda nu: maximisers(R, f, nu, 2) == [(1, 2)])

    def is_monotone(case):
        R, f, k = case
        found = [maximisers(R, f, nu, k) for nu in nus]
        return all(a[0] >= b[0] and a[1] <= b[1] for low, high in pairwise(found) for a in low for b in high)

    for _ in range(check.cases):
        design = spectral.draw_design(check.rng, int(check.rng.integers(2, 5)))
        k = int(check.rng.integers(1, design.d + 1))
        check.over(
            [(spectral.r_squared_table(design), spectral.draw_regularizer(check.rng, design, k), k)],
            is_monotone,
        )


SKEWED = spectral.Design(np.array([[5, 3, 0], [0, 4, 0], [0, 0, 5]]), 25, np.array([0, 1, 0]))
"""Unit columns (1, 0, 0), (3, 4, 0)/5 and (0, 0, 1), and Z = (0, 1, 0)."""


def chosen_by_the_rule(R, f, k, nus, bar):
    """Return the maximisers of R² + νf, as pairs (R², f), for the largest ν of `nus` with some R² > `bar`."""
    runs = [maximisers(R, f, nu, k) for nu in nus]
    return [run for run in runs if max(r for r, _ in run) > bar][-1]


@claim("SR-section-6-quality", "Section 6", "proof, exact, brute force", MISPRINT, cases=300, ci_cases=20)
@mutants("chosen_by_the_rule")
def test_what_the_rule_for_nu_ensures(check):
    """The rule for ν ensures that diversity is not sacrificed for solution quality: ν is the largest value
    for which the R² of the solution is greater than that of the Lasso.

    Reading of: “We chose the regularization constant (ν) to be the maximum subject to the condition that the
    R² value for that solution should be greater than that obtained by the lasso solution with corresponding
    sparsity. This ensures we are not sacrificing diversity for solution quality.”

    Hypotheses: The selected sets are exact maximisers of R² + νf over the sets of at most k features; ν is
    one of finitely many values, the least of which is 0.

    Instead: The two nouns are exchanged. The rule ensures that solution quality is not sacrificed for
    diversity, because R² stays above that of the Lasso. Diversity can be sacrificed: the set that is selected
    can be the least diverse of all sets with k features. Of the values of ν that pass, the largest gives the
    largest f.
    """
    R, C = spectral.r_squared_table(SKEWED), SKEWED.correlations
    f = spectral.table(lambda S: spectral.variance(C, S, 2), 3)
    nus = [fmpq(0), *(fmpq(2) ** p for p in range(-8, 4, 2))]
    bar = fmpq(16, 25)
    pairs = sorted((f[S], R[S]) for S in spectral.subsets(7, 2) if S.bit_count() == 2)
    check.refutes(
        chosen_by_the_rule(R, f, 2, nus, bar) == [(R[3], f[3])]
        and pairs[0] == (f[3], R[3])
        and pairs[0][0] < pairs[1][0],
        "unit columns (1, 0, 0), (3, 4, 0)/5, (0, 0, 1), Z = (0, 1, 0), k = 2, f_sv, and R² above 16/25: the "
        "least diverse pair is selected",
    )

    def keeps_the_quality(case):
        R, f, k = case
        bar = max(R[S] for S in spectral.subsets(len(R) - 1, k)) / 2
        if max(r for r, _ in maximisers(R, f, fmpq(0), k)) <= bar:
            return True
        run = chosen_by_the_rule(R, f, k, nus, bar)
        every = [maximisers(R, f, nu, k) for nu in nus]
        passing = [found for found in every if max(r for r, _ in found) > bar]
        most = max(value for found in passing for _, value in found)
        return max(r for r, _ in run) > bar and max(value for _, value in run) == most

    for _ in range(check.cases):
        design = spectral.draw_design(check.rng, int(check.rng.integers(2, 5)))
        k = int(check.rng.integers(1, design.d + 1))
        check.over(
            [(spectral.r_squared_table(design), spectral.draw_regularizer(check.rng, design, k), k)],
            keeps_the_quality,
        )
