"""Lemma 3.4 (3.5 in the first version): where the residual of the projection lies.

Source: *Sequential Attention for Feature Selection*, Lemma 3.4, and items 1 and 2 after it.
Statement in print: for λ just below λ* = ‖XᵀP_S^⊥y‖∞, with p the projection of P_S^⊥y onto
C_λ ∩ colspan(X_S)^⊥, P_S^⊥y − p lies in colspan(X_T), T the set of largest correlations.
False as printed for S ≠ ∅: it lies in colspan(P_S^⊥X_T), and β_S moves with β_T. For S = ∅ the two agree.
Theorem 3.3 survives: it needs only that β is zero off S ∪ T (item 2).
"""

import numpy as np
from hypothesis import assume, given

import sparselin as sl
from sparselin.testing import integer_designs

# S = {0}, X_1 not orthogonal to X_0
X = np.array([[1.0, 1.0], [0.0, 1.0]])
Y = np.array([1.0, 1.0])


def distance(v, columns):
    """From v to the span of the columns."""
    return np.linalg.norm(v - columns @ np.linalg.lstsq(columns, v, rcond=None)[0])


def off(columns, S):
    """P_S^⊥ of the columns."""
    return columns - S @ np.linalg.lstsq(S, columns, rcond=None)[0]


def test_the_printed_lemma_fails_for_nonempty_S():
    """P_S^⊥y = (0, 1), T = {1}, λ* = 1; at λ = ½ p = (0, ½), and (0, ½) is no multiple of X_1 = (1, 1)."""
    r = np.array([0.0, 1.0])
    p = sl.project_dual(X, r, 0.5, unpenalized=[0]).u
    assert np.array_equal(p, [0.0, 0.5])
    assert distance(r - p, X[:, [1]]) > 0.3
    assert distance(r - p, off(X[:, [1]], X[:, [0]])) < 1e-15


def test_item_1_fails_with_it():
    """ "If i ∈ S, then β_i is equal to the i-th value in the previous solution": β_0 falls from 1 to ½."""
    path = sl.lasso_path(X, Y, unpenalized=[0])
    assert path.at(1.0)[0] == 1.0
    assert path.at(0.5)[0] == 0.5


@given(integer_designs(max_n=6, max_d=8))
def test_corrected_the_residual_lies_in_the_span_of_the_projected_tied_columns(design):
    X, y = design
    S = [0]
    entry = sl.first_entry(X, y, unpenalized=S)
    assume(entry.lam_star > 0 and X[:, 0].any())
    lam = (entry.lam_star + entry.window_lower) / 2
    r = off(y[:, None], X[:, S])[:, 0]
    p = sl.project_dual(X, r, lam, unpenalized=S).u
    assert distance(r - p, off(X[:, list(entry.tied)], X[:, S])) <= 1e-12 * np.linalg.norm(y)


@given(integer_designs(max_n=6, max_d=8))
def test_as_printed_it_holds_for_empty_S(design):
    X, y = design
    entry = sl.first_entry(X, y)
    assume(entry.lam_star > 0)
    lam = (entry.lam_star + entry.proof_lower) / 2
    p = sl.project_dual(X, y, lam).u
    assert distance(y - p, X[:, list(entry.tied)]) <= 1e-12 * np.linalg.norm(y)


@given(integer_designs(max_n=6, max_d=8))
def test_item_2_only_tied_features_are_nonzero(design):
    X, y = design
    S = [0]
    entry = sl.first_entry(X, y, unpenalized=S)
    assume(entry.lam_star > 0)
    lam = (entry.lam_star + entry.proof_lower) / 2
    coef = sl.lasso_path(X, y, unpenalized=S, lam_min=lam).at(lam)
    assert set(np.flatnonzero(coef)) <= set(entry.tied) | set(S)
