"""Theorem 3.3 proved for single designs, by certificates that are checked without the solver.

Let S be the features that are selected after some steps, and r the residual of least squares on S. Let λ* =
max|⟨X_i, r⟩|, let T be the set of features that attain λ*, and let A(S) be the set of features outside S that
are nonzero in some LASSO solution just below λ*. The paper's Theorem 3.3 says that Sequential LASSO selects
features of T, as OMP does.

Every float64 design is a matrix of rational numbers. For each step of a path, `sl.certify` computes the
following in rational arithmetic: λ*², T and A(S); a direction v that is positive exactly on A(S); Farkas
vectors, which prove that the other features of T stay at zero; and a rational ε₀ > 0 such that the LASSO's
solution is known for all λ ∈ [λ* − ε₀, λ*). `Certificate.verify(exact=True)` checks all of this by products
and comparisons of fractions. The docstring of this method argues that these checks are sufficient.

With normalized=True, the statement is about a design whose columns have exactly the length 1, which is the
paper's hypothesis. The norms of the columns are irrational, so ratios are compared by their squares. With
normalized=False, the columns are used as given; the theorem does not need unit columns.
"""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import sparselin as sl
from sparselin.ledger import HOLDS, claim, mutants
from sparselin.testing import designs_with_margin, integer_designs, tied_designs

SHARED = integer_designs(6, 10) | tied_designs(6, 10) | designs_with_margin(0.01, 6, 10)


@st.composite
def gaussian_designs(draw):
    """Draw Gaussian designs, whose entries use all 53 bits, with n ≤ 8 rows and d ≤ 12 columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 8)), draw(st.integers(2, 12))
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def proves(X, y, path, normalized):
    """Return whether the certificate of a path exists, holds exactly, and is rejected for another target
    y.
    """
    certificate = sl.certify(X, y, path, normalized=normalized)
    exact = certificate.verify(X, y, exact=True)
    other = certificate.verify(X, y + np.eye(len(y))[0], exact=True)
    complete = len(certificate.steps) == len(path.support)
    return exact and not other and complete and all(step.tau > 0 for step in certificate.steps)


@claim("SA-theorem-3.3-certified", "Theorem 3.3", "exact", HOLDS, cases=10_000, ci_cases=60)
@mutants("sl.certify", "sl.sequential_lasso")
def test_certificates_of_designs_as_given(check):
    """Theorem 3.3 is proved in rational arithmetic for each design. For every step, the certificate has the
    set T of tied features, the set A(S) ⊆ T and an ε₀ > 0. A(S) is the set of features outside S that are
    nonzero in some LASSO solution for λ in [λ* − ε₀, λ*).

    Hypotheses: The designs have float64 entries: integers with ties, dyadic fractions, or Gaussian entries.
    Their columns are used as given. S is the set of the features selected before the step, and P_S^⊥y is the
    residual of least squares on S. Then λ* = max|⟨X_i, P_S^⊥y⟩|, and T is the set of features that attain λ*.

    Consequences: The printed theorem is only about unit columns; this statement is more general.
    """

    def proved(design):
        X, y = design
        assume((X.T @ y).any())  # else there is no step
        return proves(X, y, sl.sequential_lasso(X, y, min(4, X.shape[1])), False)

    check.forall(SHARED | gaussian_designs(), proved)


@claim("SA-theorem-3.3-unit-columns", "Theorem 3.3", "exact", HOLDS, cases=2000)
@mutants("sl.certify", "sl.sequential_lasso")
def test_certificates_of_unit_columns(check):
    """Theorem 3.3 is proved for each design under the theorem's own hypothesis, that all columns have exactly
    the length 1.

    Hypotheses: The designs are those of the statement with the ledger id SA-theorem-3.3-certified. Zero
    columns are left out, and the other columns are divided by their norms. The path is computed for these
    quotients, rounded to floats.
    """

    def proved(design):
        X, y = design
        X = X[:, X.any(axis=0)]
        assume((X.T @ y).any())
        unit = X / np.linalg.norm(X, axis=0)
        return proves(X, y, sl.sequential_lasso(unit, y, min(3, X.shape[1])), True)

    check.forall(SHARED, proved)
