"""Theorem 1.1: regularized linear Sequential Attention selects features as OMP does.

Source: *Sequential Attention for Feature Selection*, Theorem 1.1 with Definition 3.1 and equations (5), (6).
Statement: for λ just below λ*, a minimiser of ½‖X(s(w)∘θ) − y‖² + (λ/2)(‖w‖² + ‖θ_{S̄}‖²) has its largest
|w_i| at a feature that maximises |⟨X_i, P_S^⊥y⟩|. (Our λ is half the paper's, whose squared error has no ½.)
Method: gradient descent from random starts to a certified duality gap; (5) = (6) by Hoff's identity.
Not checked: that every minimisation method finds the minimiser; a descent without certificate is left out.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparselin as sl

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_largest_weight_is_on_an_argmax_of_the_correlations(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 20)), rng.normal(size=15)
    entry = sl.first_entry(X, y)
    lam = (entry.lam_star + entry.window_lower) / 2
    result = sl.hadamard_descent(X, y, lam, rng=seed)
    assert result.status is sl.Status.COMPLETED
    assert np.argmax(np.abs(result.w)) == np.argmax(np.abs(X.T @ y))


@given(SEEDS)
def test_the_whole_selection_is_that_of_omp(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 20)), rng.normal(size=15)
    path = sl.sequential_attention(X, y, 3, rng=seed)
    assert path.support.tolist() == sl.omp(X, y, 3).support.tolist()


@given(SEEDS, st.floats(0.1, 0.9))
def test_equations_5_and_6_have_the_same_infimum(seed, share):
    """min over (w, θ) of (5) = min over β of (6): Hoff's ½(w² + θ²) ≥ |wθ|, with equality at |w| = |θ|."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 12)), rng.normal(size=10)
    lam = share * sl.lambda_star(X, y)
    beta = sl.lasso_path(X, y, lam_min=lam).at(lam)
    lasso = 0.5 * np.sum((y - X @ beta) ** 2) + lam * np.abs(beta).sum()
    trained = sl.hadamard_descent(X, y, lam, rng=seed)
    decrease = 0.5 * y @ y - lasso
    assert lasso <= trained.objective[-1] * (1 + 1e-12)
    assert trained.objective[-1] <= lasso + 0.011 * decrease
    w = np.sqrt(np.abs(beta))
    attained = 0.5 * np.sum((y - X @ (w * np.sign(beta) * w)) ** 2) + lam * np.sum(w**2)
    assert attained == pytest.approx(lasso, rel=1e-12)
