"""Theorem 3.3 proved for single designs, by certificates that are checked without the solver.

Let r = P_S^⊥y be the residual after some steps, λ* = max|⟨X_i, r⟩|, T the set of features that attain λ*, and
A(S) the set of features outside S that are nonzero in some LASSO solution just below λ*.

Every float64 design is a matrix of rational numbers. For each step of a path, `sl.certify` finds these things
in rational arithmetic: λ*², T, A(S), a direction v that is positive exactly on A(S), Farkas vectors, which
prove that the other tied columns stay at zero, and an explicit rational ε₀ > 0 such that the LASSO's solution
is known for all λ ∈ [λ* − ε₀, λ*). `Certificate.verify(exact=True)` checks all of this by products and
comparisons of fractions. Its docstring argues that these checks are sufficient.

With normalized=True, the statement is about X with exactly unit columns, which is the paper's hypothesis. The
norms of the columns are irrational, so ratios are compared by their squares. With normalized=False, the
columns are used as given; the theorem does not need unit columns.
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
    """Return whether the certificate of a path exists, holds exactly, and fails for another y."""
    certificate = sl.certify(X, y, path, normalized=normalized)
    exact = certificate.verify(X, y, exact=True)
    other = certificate.verify(X, y + np.eye(len(y))[0], exact=True)
    complete = len(certificate.steps) == len(path.support)
    return exact and not other and complete and all(step.tau > 0 for step in certificate.steps)


@claim("SA-theorem-3.3-certified", "Theorem 3.3", "exact", HOLDS, cases=10_000, ci_cases=60)
@mutants("sl.certify", "sl.sequential_lasso")
def test_certificates_of_designs_as_given(check):
    """Theorem 3.3 is proved in rational arithmetic for each design: T, A(S) ⊆ T and an ε₀ > 0 for every step,
    with A(S) the set of features that the LASSO makes nonzero for λ in [λ* − ε₀, λ*).

    Hypotheses: The designs have float64 entries: integers with ties, dyadic fractions, or Gaussian entries.
    Their columns are used as given. Here λ* = max|⟨X_i, P_S^⊥y⟩|, and T is the set of features that attain
    λ*.

    Consequences: This row extends the printed theorem, which has unit columns.
    """

    def proved(design):
        X, y = design
        assume((X.T @ y).any())  # else there is no step
        return proves(X, y, sl.sequential_lasso(X, y, min(4, X.shape[1])), False)

    check.forall(SHARED | gaussian_designs(), proved)


@claim("SA-theorem-3.3-unit-columns", "Theorem 3.3", "exact", HOLDS, cases=2000)
@mutants("sl.certify", "sl.sequential_lasso")
def test_certificates_of_unit_columns(check):
    """Theorem 3.3 is proved for each design under its own hypothesis, that the columns have exactly the
    length 1.

    Hypotheses: The designs are those of SA-theorem-3.3-certified. Zero columns are left out, and the other
    columns are divided by their norms. The path is computed for the rounded quotients.
    """

    def proved(design):
        X, y = design
        X = X[:, X.any(axis=0)]
        assume((X.T @ y).any())
        unit = X / np.linalg.norm(X, axis=0)
        return proves(X, y, sl.sequential_lasso(unit, y, min(3, X.shape[1])), True)

    check.forall(SHARED, proved)
