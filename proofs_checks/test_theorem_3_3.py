"""Theorem 3.3 (informally 1.2): Sequential LASSO selects features as Orthogonal Matching Pursuit does.

Source: *Sequential Attention for Feature Selection*, Theorem 3.3 (both versions), Algorithm 3.
Statement: at every step the feature that Sequential LASSO adds to S maximises |⟨X_i, P_S^⊥y⟩|.
Hypotheses in print: unit columns and unit y. Checked without them: neither is needed.
Method: integer designs full of ties, so that "maximises" is decided exactly; the LASSO by the homotopy.
Tolerance: correlations of small integers are exact at S = ∅; else 1e-12 relative to ‖X_i‖‖y‖.
Not checked here: λ* and A(S) by a solver that shares no code (`sparselin verify` does that).
"""

import numpy as np
from hypothesis import given

import sparselin as sl
from sparselin.testing import integer_designs, tied_designs


def correlations(X, y, S):
    S = list(S)
    r = y - X[:, S] @ np.linalg.lstsq(X[:, S], y, rcond=None)[0] if S else y
    c = np.abs(X.T @ r)
    c[S] = 0
    return c


@given(integer_designs())
def test_every_active_set_lies_within_the_largest_correlations(design):
    X, y = design
    path = sl.sequential_lasso(X, y, X.shape[1])
    scale = np.linalg.norm(X, axis=0).max() * np.linalg.norm(y)
    for t, active in enumerate(path.active_sets):
        c = correlations(X, y, path.support[:t])
        assert active
        assert all(c[i] >= c.max() - 1e-12 * scale for i in active)  # A(S) ⊆ T


@given(tied_designs())
def test_omp_could_have_picked_it_under_planted_ties(design):
    X, y = design
    path = sl.sequential_lasso(X, y, X.shape[1])
    for t, pick in enumerate(path.support):
        step = sl.omp(X, y, t + 1, forced=path.support[:t])
        assert pick in step.ties[t]


@given(integer_designs())
def test_without_ties_the_supports_are_the_same(design):
    X, y = design
    ours, theirs = sl.sequential_lasso(X, y, X.shape[1]), sl.omp(X, y, X.shape[1])
    for t in range(len(theirs.support)):
        if len(theirs.ties[t]) > 1:
            break
        assert ours.support[t] == theirs.support[t]


def test_the_tie_breaking_can_be_strictly_smaller():
    """ "It is possible that Sequential LASSO chooses … from a set … that is strictly smaller": a witness.

    c = (1, 1, 1), so OMP may take any column; u* = e₁ satisfies ⟨z_i, u*⟩ = 1 for all i with v = (1, 0, 0).
    """
    X, y = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0, 0.0])
    entry = sl.first_entry(X, y)
    assert entry.tied == (0, 1, 2)
    assert entry.active == (0,)
