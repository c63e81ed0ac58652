import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sparselin as sl
from sparselin.testing import integer_designs

SEEDS = st.integers(0, 2**32 - 1)


def assert_is_projection(X, v, lam, S, projection, tol=1e-12):
    """The KKT conditions of the projection, each on its own."""
    u, coef = projection.u, projection.coef
    scale = np.linalg.norm(v) * np.linalg.norm(X, axis=0).max()
    assert np.abs(X[:, S].T @ u).max(initial=0) <= tol * scale
    assert np.abs(X.T @ u).max() <= lam + tol * scale
    np.testing.assert_allclose(v - u, X @ coef, atol=tol * max(np.linalg.norm(v), np.abs(coef).max()))
    for j in projection.active:
        assert X[:, j] @ u == pytest.approx(lam * np.sign(coef[j]), abs=tol * scale)


def test_all_columns_unpenalized_in_any_order(rng):
    X, v = rng.normal(size=(300, 100)), rng.normal(size=300)
    for S in (rng.permutation(100), np.arange(100)[::-1], np.arange(100)):
        assert_is_projection(X, v, 0.1, S, sl.project_dual(X, v, 0.1, forced=S))


@given(SEEDS, st.sampled_from([0.9, 0.3, 0.05]), st.integers(0, 3), st.sampled_from([(8, 20), (20, 8)]))
def test_the_projection_satisfies_its_optimality_conditions(seed, share, size, shape):
    rng = np.random.default_rng(seed)
    X, v = rng.normal(size=shape), rng.normal(size=shape[0])
    S = list(range(size))
    lam = share * sl.lambda_star(X, v, forced=S)
    projection = sl.project_dual(X, v, lam, forced=S)
    assert_is_projection(X, v, lam, S, projection)
    assert 0 <= projection.duality_gap <= 1e-12 * (v @ v)


@given(integer_designs(max_n=6, max_d=9), st.sampled_from([0.8, 0.25]))
def test_the_projection_under_ties(design, share):
    X, v = design
    lam = share * sl.lambda_star(X, v)
    assume(lam > 0)
    assert_is_projection(X, v, lam, [], sl.project_dual(X, v, lam))


def test_against_two_quadratic_programming_solvers(rng):
    cp, quadprog = pytest.importorskip("cvxpy"), pytest.importorskip("quadprog")
    X, v = rng.normal(size=(20, 40)), rng.normal(size=20)
    lam = 0.4 * np.abs(X.T @ v).max()
    ours = sl.project_dual(X, v, lam, forced=[5]).u
    C = np.c_[X[:, 5], X, -X]
    theirs = quadprog.solve_qp(np.eye(20), v, C, np.r_[0, np.full(80, -lam)], meq=1)[0]
    np.testing.assert_allclose(ours, theirs, atol=1e-12 * np.linalg.norm(v))
    u = cp.Variable(20)
    goal = cp.Minimize(cp.sum_squares(u - v))
    cp.Problem(goal, [cp.norm_inf(X.T @ u) <= lam, X[:, 5] @ u == 0]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(ours, u.value, atol=1e-6)


@given(SEEDS)
def test_projecting_twice_and_projecting_an_inner_point(seed):
    rng = np.random.default_rng(seed)
    X, v = rng.normal(size=(8, 12)), rng.normal(size=8)
    lam = 0.5 * np.abs(X.T @ v).max()
    u = sl.project_dual(X, v, lam).u
    np.testing.assert_allclose(sl.project_dual(X, u, lam).u, u, atol=1e-12)
    inside = sl.project_dual(X, v, 3 * lam)
    assert np.array_equal(inside.u, v)
    assert not inside.coef.any()


@given(SEEDS)
def test_projections_do_not_move_points_apart(seed):
    rng = np.random.default_rng(seed)
    X, v, w = rng.normal(size=(8, 12)), rng.normal(size=8), rng.normal(size=8)
    near = sl.project_dual(X, v, 1.0).u - sl.project_dual(X, w, 1.0).u
    assert np.linalg.norm(near) <= np.linalg.norm(v - w) * (1 + 1e-12)


def test_at_zero_it_is_the_residual_of_least_squares(rng):
    X, v = rng.normal(size=(12, 5)), rng.normal(size=12)
    u = sl.project_dual(X, v, 0.0).u
    np.testing.assert_allclose(u, v - X @ np.linalg.lstsq(X, v, rcond=None)[0], atol=1e-13)


def test_ill_conditioned_active_columns_meet_the_stated_error():
    rng = np.random.default_rng(5)
    base = rng.normal(size=(30, 1))
    X = base + 1e-6 * rng.normal(size=(30, 6))
    X /= np.linalg.norm(X, axis=0)
    v = rng.normal(size=30)
    lam = 1e-9
    projection = sl.project_dual(X, v, lam)
    kappa = np.linalg.cond(X[:, list(projection.active)])
    assert_is_projection(X, v, lam, [], projection, tol=max(1e-12, 100 * 2.2e-16 * kappa))
