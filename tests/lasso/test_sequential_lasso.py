import numpy as np
import pytest
from attacks.oracles import first_entry
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import lasso_kkt
from scipy.optimize import linprog, nnls

import sparselin as sl
from sparselin import Status
from sparselin.testing import integer_designs, tied_designs


def in_window(entry, X, y, S, share):
    """β(λ) at λ* − share·(λ* − λ₂), from `direction` and least squares on S alone."""
    eps = share * (entry.lam_star - entry.window_lower)
    coef = np.zeros(X.shape[1])
    coef[list(entry.tied)] = entry.signs * entry.direction * eps
    if len(S):
        coef[list(S)] = np.linalg.lstsq(X[:, list(S)], y - X @ coef, rcond=None)[0]
    return coef, entry.lam_star - eps


@given(integer_designs(max_n=7, max_d=10), st.integers(0, 2))
def test_the_direction_solves_the_lasso_throughout_the_window(design, size):
    X, y = design
    S = range(min(size, X.shape[1] - 1))
    entry = sl.first_entry(X, y, forced=S)
    assume(entry.lam_star > 0)
    for share in (1e-6, 0.5, 1.0):
        coef, lam = in_window(entry, X, y, S, share)
        assert lasso_kkt(X, y, coef, lam, S) <= 1e-12 * max(1, np.abs(coef).max())
    assert set(entry.active) <= set(entry.tied)
    assert entry.proof_lower >= entry.window_lower - 1e-12 * entry.lam_star


@given(integer_designs(max_n=7, max_d=10))
def test_the_window_is_sharp(design):
    """Below λ₂ the LASSO's support off S is not A(S), or the formula gives no event."""
    X, y = design
    entry = sl.first_entry(X, y)
    assume(entry.lam_star > 0 and entry.window_lower > 1e-6 * entry.lam_star)
    eps = (entry.lam_star - entry.window_lower) * (1 + 1e-4)
    coef = np.zeros(X.shape[1])
    coef[list(entry.tied)] = entry.signs * entry.direction * eps
    assert lasso_kkt(X, y, coef, entry.lam_star - eps) > 1e-8


@given(tied_designs())
def test_active_set_holds_every_index_that_some_solution_uses(design):
    """A(S) against a linear program for each i ∈ T: max v_i over v ≥ 0, Zv = u*."""
    X, y = design
    entry = sl.first_entry(X, y)
    assume(entry.lam_star > 0)
    Z = X[:, list(entry.tied)] * entry.signs
    v = nnls_direction(Z)
    u = Z @ v
    scale = np.abs(Z).max()
    for position, i in enumerate(entry.tied):
        cost = np.zeros(len(v))
        cost[position] = -1
        most = linprog(cost, A_eq=Z / scale, b_eq=u / scale)
        assert most.status == 0
        assert (i in entry.active) == (-most.fun > 1e-6 * v.max())
    np.testing.assert_allclose(Z @ entry.direction, u, atol=1e-9 * np.abs(u).max())


def nnls_direction(Z):
    """min_{v ≥ 0} ½‖Zv‖² − 1ᵀv: with a row of ones (least distance programming), by scipy's nnls.

    min ‖[Z; 1ᵀ]v − [0; 1]‖² has the same direction: its stationarity is ZᵀZv ≥ (1 − 1ᵀv)·1.
    """
    A = np.vstack([Z, np.ones(Z.shape[1])])
    v = nnls(A, np.r_[np.zeros(len(Z)), 1.0])[0]
    return v / (1 - v.sum())


@given(integer_designs(max_n=7, max_d=10))
def test_both_methods_take_the_same_features_ties_included(design):
    X, y = design
    k = X.shape[1]
    path, fast = sl.sequential_lasso(X, y, k), sl.sequential_lasso(X, y, k, method="omp")
    assert path.support.tolist() == fast.support.tolist()
    assert path.active_sets == fast.active_sets
    assert path.ties == fast.ties
    assert path.status is fast.status


def test_every_active_set_is_the_first_of_the_homotopy(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    path = sl.sequential_lasso(X, y, 5, forced=[2])
    for t in range(1, 5):
        first = sl.lasso_path(X, y, forced=path.support[:t], max_steps=1)
        assert first.active[0] == path.active_sets[t]
        assert first.knots[0] == pytest.approx(path.lam_star[t], rel=1e-13)


def test_statuses_at_lambda_star_zero():
    X = np.eye(3)[:, :2]
    assert sl.first_entry(X, [0, 0, 1]).status is Status.NO_CORRELATION
    assert sl.first_entry(X, [0, 0, 0]).status is Status.EXACT_FIT
    assert sl.first_entry(X, [1, 1, 1], forced=[0, 1]).status is Status.RANK_EXHAUSTED
    assert sl.lambda_star(X, [0, 0, 1]) == 0.0


def test_an_unknown_method_is_named():
    with pytest.raises(ValueError, match=r"method must be one of.*got 'lars'"):
        sl.sequential_lasso(np.eye(2), [1.0, 2.0], 1, method="lars")


def nearly_dependent(eps, dtype=np.float64):
    """Columns 0 and 1 at an angle of eps, 2 and 3 at a wide one; forced=[0, 1] has the condition 1/eps."""
    X = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, eps, 0, 0]], dtype)
    return X, np.array([1, 3, 1, 0], dtype)


@pytest.mark.parametrize(("eps", "dtype"), [(3e-8, np.float64), (1e-3, np.float32), (1e-5, np.float64)])
def test_an_ill_conditioned_S_does_not_hide_an_entry(eps, dtype):
    X, y = nearly_dependent(eps, dtype)
    entry = sl.first_entry(X, y, forced=[0, 1])
    assert entry.active == (3,)
    np.testing.assert_allclose(entry.direction, [0.5], rtol=1e-5)
    assert entry.window_lower == pytest.approx(2.0, rel=1e-5)
    assert sl.sequential_lasso(X, y, 3, forced=[0, 1]).support.tolist() == [0, 1, 3]


def test_a_long_column_does_not_hide_the_others():
    """The error bound of c_i goes with ‖X_i‖, not with the longest column."""
    X, y = np.diag([1.0, 1.0, 1e15]), np.array([1.0, 3.0, 0.0])
    assert sl.omp(X, y, 2).support.tolist() == [1, 0]
    assert sl.lasso_path(X, y).knots.tolist() == [3.0, 1.0, 0.0]
    assert sl.project_dual(X, y, 0.5).u.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_against_exact_fractions_whatever_the_order_of_the_columns(dtype):
    tied = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 7)), int(rng.integers(2, 8))
        low, high = [(-1, 2), (0, 2), (-2, 3)][seed % 3]
        X, y = rng.integers(low, high, (n, d)), rng.integers(-3, 4, n)
        S = rng.choice(d, int(rng.integers(0, min(3, d))), replace=False).tolist()
        square, T, A = first_entry(X, y, S)
        tied += len(T) > 1
        order = rng.permutation(d)
        place = np.argsort(order)
        entry = sl.first_entry(X[:, order].astype(dtype), y.astype(dtype), forced=place[S])
        assert entry.lam_star == pytest.approx(float(square) ** 0.5, rel=1e-12)
        assert sorted(order[list(entry.tied)]) == list(T), seed
        assert sorted(order[list(entry.active)]) == list(A), seed
        assert entry.status is Status.COMPLETED or square == 0
    assert tied > 50


def test_a_degenerate_tie_whatever_the_order_of_the_columns(rng):
    """z₆ = z₀ off column 1: A(S) = {0, 6}; rounding used to hide one of the two."""
    rows = ["1101100", "1000111", "1110100", "0010110", "1100000"]
    X, y = np.array([[*map(float, row)] for row in rows]), np.array([0.0, 3, -1, 0, 1])
    assert first_entry(X, y, [1])[2] == (0, 6)
    for _ in range(40):
        order = rng.permutation(7)
        entry = sl.first_entry(X[:, order], y, forced=[int(np.argsort(order)[1])])
        assert sorted(order[list(entry.active)]) == [0, 6]
