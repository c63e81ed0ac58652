"""Theorem 3.3 proved for single designs, by certificates that are checked without the solver.

Every float64 design is a matrix of rational numbers. For each step of a path `sl.certify` finds, in
rational arithmetic, λ*², T, A(S), a direction v (positive exactly on A(S)), Farkas vectors for the tied
columns that stay out at equality, and an explicit rational ε₀ > 0 such that the LASSO's solution is
known for all λ ∈ [λ* − ε₀, λ*). `Certificate.verify(exact=True)` checks all that by products and
comparisons of fractions. Its docstring has the argument that what is checked suffices.

With normalized=True the statement is about X with exactly unit columns, the paper's hypothesis; their
norms are irrational, so ratios are compared in squares. Without it the columns are as given: the
theorem does not need unit columns.
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
    """Draw full 53-bit entries: n ≤ 8, d ≤ 12."""
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
    """Theorem 3.3, proved in rational arithmetic for each design: T, A(S) ⊆ T and an ε₀ > 0 for every step.

    Hypotheses: float64 designs: integers with ties, dyadic fractions, Gaussian entries; columns as given

    Consequences: This is an extension, because the theorem in print has unit columns.
    """

    def proved(design):
        X, y = design
        assume((X.T @ y).any())  # else there is no step
        return proves(X, y, sl.sequential_lasso(X, y, min(4, X.shape[1])), False)

    check.forall(SHARED | gaussian_designs(), proved)


@claim("SA-theorem-3.3-unit-columns", "Theorem 3.3", "exact", HOLDS, cases=2000)
@mutants("sl.certify", "sl.sequential_lasso")
def test_certificates_of_unit_columns(check):
    """Theorem 3.3 under its own hypothesis, exactly unit columns, proved for each design.

    Hypotheses: the same designs, zero columns left out, divided by their norms; the path is made on rounded
    quotients
    """

    def proved(design):
        X, y = design
        X = X[:, X.any(axis=0)]
        assume((X.T @ y).any())
        unit = X / np.linalg.norm(X, axis=0)
        return proves(X, y, sl.sequential_lasso(unit, y, min(3, X.shape[1])), True)

    check.forall(SHARED, proved)
