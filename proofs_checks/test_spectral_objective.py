"""Section 3: the objective R² + νf, and the assumptions on it.

Source: *Selecting Diverse Features via Spectral Regularization*, Sections 1 and 3, footnote 2, Section 4. Let
Z'(S) be the least-squares prediction of a unit vector Z from the columns in S. Then

    R²_Z(S) = 1 − ‖Z − Z'(S)‖².

The paper's "Cov" is read as the inner product, because its columns have unit length but are not centred.

The residual Z − Z'(S) is orthogonal to Z'(S), so R² = ‖P_S Z‖² is the squared length of the projection of Z.
Let b_S = X_SᵀZ and C_S = X_SᵀX_S. α = C_S⁻¹b_S solves the normal equations, and

    R² = b_Sᵀα = b_SᵀC_S⁻¹b_S.

If b_S and C_S held covariances in place of inner products, b_SᵀC_S⁻¹b_S would not be 1 − ‖Z − Z'(S)‖². If C_S
is singular, any solution of C_Sα = b_S gives the same value, b_SᵀC_S⁺b_S. A larger span has a longer
projection, so R² increases. Scaling a column does not change the spans.

The checks are exact. They use integer columns of equal norm, so that C is rational. The residual comes from
the projections of `proofs_checks.rational`, and the pseudoinverse from a rank factorisation.
"""

import numpy as np
from flint import fmpq, fmpq_mat

import sparselin as sl
from proofs_checks import spectral
from proofs_checks.rational import columns, exactly, independent, off, rational
from proofs_checks.spectral import is_submodular, r_squared, r_squared_table
from sparselin.ledger import HOLDS, claim, mutants


@claim("SR-objective-equivalence", "Section 1, Section 3", "exact", HOLDS)
@mutants("sl.best_subset", "r_squared")
def test_least_error_is_largest_r_squared(check):
    """To minimise the prediction error over sets of at most k features is the same as to maximise R², the
    squared length of the projection of Z.

    Hypotheses: The target is Z ≠ 0, and the columns are arbitrary.

    Tolerance: The R² of the set that sl.best_subset returns is computed exactly. The R² that the package
    reports may differ from it by 1e-9.
    """

    def same_minimisers(design):
        sets = [tuple(spectral.members(S)) for S in spectral.subsets((1 << design.d) - 1, 3)]
        errors = {S: 1 - spectral.projected(design.X, design.y, S) for S in sets}
        values = {S: r_squared(design.X, design.y, S) for S in sets}
        least, most = min(errors.values()), max(values.values())
        same = all(values[S] == 1 - errors[S] and (errors[S] == least) == (values[S] == most) for S in sets)
        return same and found_by_package(design, most)

    check.forall(spectral.unit_designs(), same_minimisers)


def found_by_package(design, most):
    """Return whether the package finds the set of at most 3 features with the largest R², or a valid bound
    for it.
    """
    found = sl.best_subset(design.X, design.y, min(design.d, 3))
    best = r_squared(design.X, design.y, found.support.tolist())
    return (
        len(found.support) <= 3
        and (not found.optimal or best == most)
        and most <= 1 - exactly(found.lower_bound) / int(design.y @ design.y)
        and abs(found.r2 - float(most)) <= 1e-9
    )


@claim("SR-objective-formula", "Section 3, before Definition 2; footnote 2", "exact", HOLDS, cases=600)
@mutants("r_squared")
def test_r_squared_is_a_quadratic_form(check):
    """R²(S) = b_SᵀC_S⁻¹b_S, and C_S⁻¹b_S are the optimal coefficients. If C_S is singular, the pseudoinverse
    takes the place of the inverse.

    Hypotheses: Z and the X_i have length 1, C_S = X_SᵀX_S, and b_S = X_SᵀZ.

    Unchecked: Centred columns are not checked. For them the formula holds with covariances in place of inner
    products.
    """

    def holds(design):
        d = design.d
        C = design.correlations
        h = design.X.T @ design.y
        scale = fmpq(design.N * int(design.y @ design.y))
        for mask in spectral.subsets((1 << d) - 1)[1:]:
            S = spectral.members(mask)
            C_S, b = spectral.principal(C, S), fmpq_mat(len(S), 1, [int(h[i]) for i in S])
            inverse = C_S.inv() if C_S.det() != 0 else pseudoinverse(C_S)
            if (b.transpose() * inverse * b)[0, 0] / scale != r_squared(design.X, design.y, S):
                return False
            # the coefficients αN^(-1/2) predict y/‖y‖ from the unit columns: X_S α/N is the projection of y
            fitted = columns(rational(design.X), S) * inverse * b * fmpq(1, design.N)
            if fitted != rational(design.y) - off(rational(design.X), S, rational(design.y)):
                return False
        return True

    check.forall(spectral.unit_designs(max_d=4), holds)


def pseudoinverse(C):
    """Return the pseudoinverse of a symmetric matrix, in exact arithmetic, from a rank factorisation."""
    J = independent(C, list(range(C.ncols())))
    if not J:
        return fmpq_mat(C.ncols(), C.nrows())
    F = columns(C, J)
    G = spectral.principal(C, J).solve(F.transpose())
    return G.transpose() * (G * G.transpose()).inv() * (F.transpose() * F).inv() * F.transpose()


@claim("SR-objective-normalisation", "Section 3", "exact", HOLDS, cases=600)
@mutants("r_squared")
def test_r_squared_does_not_see_the_scale(check):
    """One can assume ‖X_i‖ = 1 = ‖Z‖ by normalisation, because R² does not change.

    Hypotheses: No column is zero, and Z ≠ 0.

    Consequences: Only R² is independent of the lengths of the columns. The values of the regularizers f, and
    the bounds on f in the paper, are for unit columns. Zero columns, such as the corner pixels of MNIST, must
    be left out.
    """

    def unchanged(value):
        X, y, scaled = value
        sets = [spectral.members(S) for S in range(1 << len(X.T))]
        return all(
            r_squared(X, y, S) == r_squared(scaled, 3 * y, S) == spectral.projected(X, y, S) for S in sets
        )

    for _ in range(check.cases):
        n, d = check.rng.integers(1, 6, size=2)
        X, y = check.rng.integers(-3, 4, size=(n, d)), check.rng.integers(-3, 4, size=n)
        y[0] += 4
        check.over([(X, y, X * check.rng.choice([-5, -3, 2, 7], size=d))], unchanged)


@claim("SR-objective-monotone", "proofs of Theorem 7 and Lemma 8", "exact", HOLDS)
@mutants("r_squared_table")
def test_r_squared_increases(check):
    """R² is monotone in the set of features, that is, R²(A) ≤ R²(B) for A ⊆ B. Moreover 0 ≤ R² ≤ 1.

    Hypotheses: The target is Z ≠ 0, and the columns are arbitrary.

    Consequences: R² is not submodular: two features together can increase R² by more than the sum of their
    single increases (ledger id SR-proposition-10).
    """

    def increases(design):
        d, R = design.d, r_squared_table(design)
        whole = R[0] == 0 and R[-1] == design.r_squared_of_all <= 1
        return whole and all(R[A] <= R[A | x] for A, _, x in spectral.chains(d))

    check.forall(spectral.unit_designs(), increases)


@claim("SR-objective-nu", 'Section 4, "w.l.o.g., ν = 1"', "exact", HOLDS, cases=300, ci_cases=20)
@mutants("is_submodular")
def test_scaling_keeps_submodularity(check):
    """In the objective R² + νf one may take ν = 1 for a general regularizer f, because νf is non-negative and
    submodular if f is.

    Hypotheses: The constant is ν > 0.

    Consequences: For a fixed family of regularizers ν = 1 is a restriction. The paper's spectral variance and
    smoothed entropy contain the constants 9k² and 3k log₂(1/δ). With ν = 1, these constants alone make the
    value of every set of size k nearly optimal (ledger id SR-theorem-16). For small ν they do not.
    """

    def kept(value):
        f, nu = value
        broken = [*f[:-1], f[-1] + 1 + 4 * max(f)]  # the last gain exceeds every other
        found = [is_submodular(h) for h in (np.array(f), [nu * v for v in f], [nu * v for v in broken])]
        return min(f) >= 0 and found == [True, True, False]

    for _ in range(check.cases):
        f = spectral.draw_submodular(check.rng, 4)
        check.over([(f, fmpq(int(check.rng.integers(1, 9)), int(check.rng.integers(1, 9))))], kept)
