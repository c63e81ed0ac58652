"""Section 3: the objective R² + νf, and what is assumed of it.

Source: *Selecting Diverse Features via Spectral Regularization*, Sections 1 and 3, footnote 2, Sections 4.
R²_Z(S) = 1 − ‖Z − Z'(S)‖² with Z'(S) the least-squares prediction of a unit Z from the columns in S. "Cov"
is read as the inner product (the columns are vectors of unit length, not centred); with covariances of
columns that are not centred the formula below would not be 1 − ‖Z − Z'‖².

The residual is orthogonal to its fit, so ‖Z − Z'‖² = 1 − ‖P_S Z‖²: R² is the squared length of the
projection. α = C_S⁻¹b_S solves the normal equations, and R² = b_Sᵀα; for singular C_S any solution of C_Sα
= b_S gives the same value, b_SᵀC_S⁺b_S. A larger span has the longer projection: R² increases. Scaling a
column does not change spans.

Exact: integer columns of equal norm, so that C is rational; the residual comes from the projections of
`proofs_checks.rational`, the pseudoinverse from a rank factorisation.
"""

from itertools import combinations

import numpy as np
from flint import fmpq, fmpq_mat

import sparselin as sl
from proofs_checks.rational import columns, exactly, independent, off, rational
from proofs_checks.spectral import (
    chains,
    correlations,
    draw_submodular,
    is_submodular,
    members,
    principal,
    projected,
    r_squared,
    subsets,
    unit_designs,
)
from sparselin.ledger import HOLDS, claim, mutants


def error(design, S):
    """‖y − P_S y‖²/‖y‖² by projection."""
    return 1 - projected(design.X, design.y, S)


@claim("SR-objective-equivalence", "Section 1, Section 3", "exact", HOLDS, cases=1000, ci_cases=40)
@mutants("sl.best_subset", "r_squared")
def test_least_error_is_largest_r_squared(check):
    """To minimise the prediction error over sets of at most k features is to maximise R², the squared length
    of the projection of Z.

    Hypotheses: Z ≠ 0, any columns

    Tolerance: none: the set of sl.best_subset is judged exactly; its R² to 1e-9 (see `reports`)
    """

    def same_minimisers(design):
        d = design.X.shape[1]
        sets = [S for s in range(min(d, 3) + 1) for S in combinations(range(d), s)]
        errors = [error(design, S) for S in sets]
        values = [r_squared(design.X, design.y, S) for S in sets]
        minimal = [S for S, e in zip(sets, errors, strict=True) if e == min(errors)]
        maximal = [S for S, v in zip(sets, values, strict=True) if v == max(values)]
        k = min(d, 3)
        found = sl.best_subset(design.X, design.y, k)
        best = r_squared(design.X, design.y, found.support.tolist()), float(max(values))
        lower = 1 - exactly(found.lower_bound) / int(design.y @ design.y)
        return (
            minimal == maximal
            and all(v == 1 - e for v, e in zip(values, errors, strict=True))
            and len(found.support) <= k
            and (not found.optimal or best[0] == max(values))
            and max(values) <= lower
            and abs(found.r2 - best[1]) <= 1e-9
        )

    check.forall(unit_designs(), same_minimisers)


@claim(
    "SR-objective-formula",
    "Section 3, before Definition 2; footnote 2",
    "exact",
    HOLDS,
    cases=600,
    ci_cases=40,
)
@mutants("r_squared")
def test_r_squared_is_a_quadratic_form(check):
    """R²(S) = b_SᵀC_S⁻¹b_S, with optimal coefficients C_S⁻¹b_S; with the pseudoinverse where C_S is singular.

    Hypotheses: unit Z and X_i, inner products in C and b

    Unchecked: centred columns, for which the same holds with covariances
    """

    def holds(design):
        d = design.X.shape[1]
        C = correlations(design)
        h = design.X.T @ design.y
        scale = fmpq(design.N * int(design.y @ design.y))
        for mask in subsets((1 << d) - 1)[1:]:
            S = members(mask)
            C_S, b = principal(C, S), fmpq_mat(len(S), 1, [int(h[i]) for i in S])
            inverse = C_S.inv() if C_S.det() != 0 else pseudoinverse(C_S)
            if (b.transpose() * inverse * b)[0, 0] / scale != r_squared(design.X, design.y, S):
                return False
            # the coefficients αN^(-1/2) predict y/‖y‖ from the unit columns: X_S α/N is the projection of y
            fitted = columns(rational(design.X), S) * inverse * b * fmpq(1, design.N)
            if fitted != rational(design.y) - off(rational(design.X), S, rational(design.y)):
                return False
        return True

    check.forall(unit_designs(max_d=4), holds)


def pseudoinverse(C):
    """C⁺ of a symmetric matrix from C = FG, F independent columns, G = C_JJ⁻¹C[J, :]."""
    J = independent(C, list(range(C.ncols())))
    if not J:
        return fmpq_mat(C.ncols(), C.nrows())
    F = columns(C, J)
    G = principal(C, J).solve(F.transpose())
    return G.transpose() * (G * G.transpose()).inv() * (F.transpose() * F).inv() * F.transpose()


@claim("SR-objective-normalisation", "Section 3", "exact", HOLDS, cases=600, ci_cases=40)
@mutants("r_squared")
def test_r_squared_does_not_see_the_scale(check):
    """By normalisation one can assume ‖X_i‖ = 1 = ‖Z‖: R² does not change.

    Hypotheses: no zero column, Z ≠ 0

    Consequences: R² alone is scale-free: the regularizers and every bound on f are for unit columns. Zero
    columns, as MNIST has at its corners, are to be left out.
    """
    for _ in range(check.cases):
        n, d = check.rng.integers(1, 6, size=2)
        X, y = check.rng.integers(-3, 4, size=(n, d)), check.rng.integers(-3, 4, size=n)
        y[0] += 4
        scaled = X * check.rng.choice([-5, -3, 2, 7], size=d)
        full = (1 << int(d)) - 1
        check.over(
            [(X, y)],
            lambda _, X=X, y=y, scaled=scaled, full=full: all(
                r_squared(X, y, members(S)) == r_squared(scaled, 3 * y, members(S))
                == projected(X, y, members(S))
                for S in subsets(full)
            ),
        )  # fmt: skip


@claim("SR-objective-monotone", "proofs of Theorem 7 and Lemma 8", "exact", HOLDS, cases=1000, ci_cases=40)
@mutants("r_squared")
def test_r_squared_increases(check):
    """R² is monotone: R²(A) ≤ R²(B) for A ⊆ B; and 0 ≤ R² ≤ 1.

    Hypotheses: Z ≠ 0, any columns

    Consequences: R² is not submodular: a pair of suppressors gains more together (SR-proposition-10).
    """

    def increases(design):
        d = design.X.shape[1]
        R = [r_squared(design.X, design.y, members(S)) for S in range(1 << d)]
        return (
            R[0] == 0
            and all(R[A] <= R[A | x] for A, _, x in chains(d))
            and R[-1] == 1 - error(design, range(d))
            and R[-1] <= 1
        )

    check.forall(unit_designs(), increases)


@claim("SR-objective-nu", 'Section 4, "w.l.o.g., ν = 1"', "exact", HOLDS, cases=300, ci_cases=20)
@mutants("is_submodular")
def test_scaling_keeps_submodularity(check):
    """One may take ν = 1 for a general regularizer: νf is non-negative and submodular where f is.

    Hypotheses: ν > 0

    Consequences: For a fixed family it is not without loss: with ν = 1 the constants 9k² and 3k log₂(1/δ)
    alone make every set of size k a good one (SR-theorem-16); for small ν they do not.
    """
    for _ in range(check.cases):
        f = draw_submodular(check.rng, 4)
        nu = fmpq(int(check.rng.integers(1, 9)), int(check.rng.integers(1, 9)))
        broken = list(f)
        broken[-1] += 1 + 4 * max(f)  # the last gain exceeds every other
        check.over(
            [(f, nu)],
            lambda _, f=f, nu=nu, broken=broken: (
                min(f) >= 0
                and is_submodular(np.array(f)) is True
                and is_submodular([nu * v for v in f]) is True
                and is_submodular([nu * v for v in broken]) is False
            ),
        )
