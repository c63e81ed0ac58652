import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import objective

import sparselin as sl
from sparselin.lasso.gap import gap_at, proved_zero
from sparselin.linalg.elimination import orthonormal_basis, project_off

SEEDS = st.integers(0, 2**32 - 1)


def gap(X, y, S, coef, lam):
    S = np.array(S, np.intp)
    u = project_off(orthonormal_basis(X[:, S]), y - X @ coef)
    return gap_at(y - X @ coef, u, X.T @ u, S, coef, lam, np.linalg.norm(X, axis=0))


@given(SEEDS, st.integers(0, 3))
def test_the_gap_is_primal_minus_dual_and_the_dual_point_is_feasible(seed, size):
    rng = np.random.default_rng(seed)
    X, y, S, lam = rng.normal(size=(10, 15)), rng.normal(size=10), list(range(size)), rng.uniform(0.1, 5)
    coef = rng.normal(size=15)
    dual = gap(X, y, S, coef, lam)
    assert np.abs(X[:, S].T @ dual.u).max(initial=0) <= 1e-12
    assert np.abs(X.T @ dual.u).max() <= lam * (1 + 1e-12)
    value = 0.5 * y @ y - 0.5 * np.sum((y - dual.u) ** 2)
    assert dual.gap == pytest.approx(objective(X, y, coef, lam, S) - value, rel=1e-9)


@given(SEEDS)
def test_the_gap_bounds_the_excess_and_vanishes_at_the_solution(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 15)), rng.normal(size=10)
    lam = 0.3 * np.abs(X.T @ y).max()
    solution = sl.lasso_path(X, y).at(lam)
    assert gap(X, y, [], solution, lam).gap <= 1e-13 * (y @ y)
    other = solution + 0.1 * rng.normal(size=15)
    excess = objective(X, y, other, lam) - objective(X, y, solution, lam)
    assert gap(X, y, [], other, lam).gap >= excess


@given(SEEDS)
def test_what_is_proved_zero_is_zero(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 15)), rng.normal(size=10)
    lam = 0.3 * np.abs(X.T @ y).max()
    solution = sl.lasso_path(X, y).at(lam)
    norms = np.linalg.norm(X, axis=0)
    at_solution = proved_zero(norms, gap(X, y, [], solution, lam), lam)
    assert np.array_equal(at_solution, solution == 0)
    nearby = solution + 1e-4 * rng.normal(size=15)
    assert not np.any(proved_zero(norms, gap(X, y, [], nearby, lam), lam) & (solution != 0))


def test_a_gap_far_below_rounding_of_the_objective_is_known(rng):
    """β = 0 is optimal for λ ≥ ‖Xᵀy‖∞: the gap there is exactly zero, not eps‖y‖²."""
    X, y = rng.normal(size=(10, 15)), rng.normal(size=10)
    assert gap(X, y, [], np.zeros(15), 1.001 * np.abs(X.T @ y).max()).gap == 0


def test_bases_of_dependent_columns(rng):
    columns = rng.normal(size=(10, 3))
    columns = np.c_[columns, 1e8 * (columns[:, 0] - columns[:, 1]), np.zeros(10)]
    basis = orthonormal_basis(columns)
    assert basis.shape == (10, 3)
    np.testing.assert_allclose(basis @ (basis.T @ columns), columns, atol=1e-6)
    assert orthonormal_basis(columns[:, :0]).shape == (10, 0)
