import itertools
from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, gram, solve
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import objective
from seeds import GENERATORS

import sparselin as sl
from sparselin import Status
from sparselin.lasso._candidates import Candidates
from sparselin.lasso.gap import gap_at, proved_zero
from sparselin.linalg.elimination import orthonormal_basis, project_off
from sparselin.testing import integer_designs


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


@given(GENERATORS, st.sampled_from([0.9, 0.3, 0.05]), st.integers(0, 3), st.sampled_from([(8, 20), (20, 8)]))
def test_the_projection_satisfies_its_optimality_conditions(rng, share, size, shape):
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


def exact_projection(X, v, lam, S):
    """u in rational arithmetic: of all active sets and signs those that satisfy the optimality conditions."""
    columns, v, lam = fractions(X.T), fractions(v), Fraction(float(lam))
    others = [j for j in range(len(columns)) if j not in S]
    for size in range(len(v) - len(S) + 1):
        for P in itertools.combinations(others, size):
            for signs in itertools.product((1, -1), repeat=size):
                A = [columns[j] for j in (*S, *P)]
                s = [0] * len(S) + list(signs)
                beta = solve(gram(A), [dot(a, v) - lam * t for a, t in zip(A, s, strict=True)])
                if beta is None or any(b * t < 0 for b, t in zip(beta, s, strict=True)):
                    continue
                u = [x - sum(b * a[i] for b, a in zip(beta, A, strict=True)) for i, x in enumerate(v)]
                if all(abs(dot(columns[j], u)) <= lam for j in others):
                    return np.array([float(x) for x in u])
    raise AssertionError("no active set is optimal")


def condition_of_faces(X, u, lam, S):
    """The largest condition number of independent unit columns of S and of the faces near u."""
    near = np.abs(X.T @ u) >= (1 - 1e-6) * lam
    J = [j for j in range(X.shape[1]) if X[:, j].any() and (j in S or near[j])]
    unit = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    found = [1.0]
    for size in range(1, min(len(X), len(J)) + 1):
        for some in itertools.combinations(J, size):
            values = np.linalg.svd(unit[:, some], compute_uv=False)
            found += [values[0] / values[-1]] if values[-1] > 1e-12 else []
    return max(found)


def near_copies(seed):
    """(X, v, S, levels): small integers, a column nearly equal to another, λ at the knots and between."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    X, v = rng.integers(-3, 4, (n, d)).astype(float), rng.integers(-3, 4, n).astype(float)
    copy = X[:, rng.integers(d)].copy()
    copy[rng.integers(n)] += 2.0 ** -int(rng.integers(3, 30))
    X[:, rng.integers(d)] = copy
    S = [int(rng.choice(np.flatnonzero(X.any(axis=0))))] if rng.random() < 0.3 else []
    knots = sl.lasso_path(X, v, forced=S).knots
    return X, v, S, [lam for lam in (knots[0] / 2, *knots[1:-1]) if lam > 1e-6]


AT_KNOTS = [
    ([[3, 3 + 2**-9], [3, 3], [0, 0]], [1, 2, -1], 3.0),
    ([[-3, -3, 0], [-127 / 128, -1, 3], [-3, -3, 3]], [1, 1, 2], 0.992187499998477),
    ([[3, 1 + 2**-12, 1], [3, 0, 0], [-1, -2, -2]], [-3, -2, 3], 3 / 7),
]


@pytest.mark.parametrize(
    "design", [*((np.array(X), np.array(v, float), [], [lam]) for X, v, lam in AT_KNOTS), *range(60)]
)
def test_the_error_where_columns_are_nearly_equal(design):
    X, v, S, levels = near_copies(design) if isinstance(design, int) else design
    for lam in levels:
        projection = sl.project_dual(X, v, lam, forced=S)
        if projection.status is Status.COMPLETED:
            u = exact_projection(X, v, lam, S)
            kappa = condition_of_faces(X, u, lam, S)
            bound = max(1e-12, 100 * np.finfo(float).eps * kappa) * np.linalg.norm(v)
            assert np.linalg.norm(projection.u - u) <= bound


def test_a_coefficient_that_is_zero_wrongly_is_noticed(monkeypatch, rng):
    """The faces of features with β_j = 0 are checked, also of those that were active before a correction."""
    X, v = rng.normal(size=(8, 6)), rng.normal(size=8)
    lam = 0.3 * sl.lambda_star(X, v)
    right, refined = sl.project_dual(X, v, lam), Candidates.refine

    def dropped(self, lam):
        coef = refined(self, lam)[0].copy()
        coef[-1] = 0
        return coef, v - coef @ self.columns[self.reached.order[: len(coef)]]

    monkeypatch.setattr(Candidates, "refine", dropped)
    assert_is_projection(X, v, lam, [], sl.project_dual(X, v, lam))
    np.testing.assert_allclose(sl.project_dual(X, v, lam).u, right.u, rtol=1e-12)


def test_at_zero_it_is_the_residual_of_least_squares(rng):
    X, v = rng.normal(size=(12, 5)), rng.normal(size=12)
    u = sl.project_dual(X, v, 0.0).u
    np.testing.assert_allclose(u, v - X @ np.linalg.lstsq(X, v, rcond=None)[0], atol=1e-13)


def test_ill_conditioned_active_columns_meet_the_stated_error(rng):
    base = rng.normal(size=(30, 1))
    X = base + 1e-6 * rng.normal(size=(30, 6))
    X /= np.linalg.norm(X, axis=0)
    v = rng.normal(size=30)
    lam = 1e-9
    projection = sl.project_dual(X, v, lam)
    kappa = np.linalg.cond(X[:, list(projection.active)])
    assert_is_projection(X, v, lam, [], projection, tol=max(1e-12, 100 * 2.2e-16 * kappa))


# The duality gap of the LASSO, and what it proves to be zero


def gap(X, y, S, coef, lam):
    S = np.array(S, np.intp)
    u = project_off(orthonormal_basis(X[:, S]), y - X @ coef)
    return gap_at(y - X @ coef, u, X.T @ u, S, coef, lam, np.linalg.norm(X, axis=0))


@given(GENERATORS, st.integers(0, 3))
def test_the_gap_is_primal_minus_dual_and_the_dual_point_is_feasible(rng, size):
    X, y, S, lam = rng.normal(size=(10, 15)), rng.normal(size=10), list(range(size)), rng.uniform(0.1, 5)
    coef = rng.normal(size=15)
    dual = gap(X, y, S, coef, lam)
    assert np.abs(X[:, S].T @ dual.u).max(initial=0) <= 1e-12
    assert np.abs(X.T @ dual.u).max() <= lam * (1 + 1e-12)
    value = 0.5 * y @ y - 0.5 * np.sum((y - dual.u) ** 2)
    assert dual.gap == pytest.approx(objective(X, y, coef, lam, S) - value, rel=1e-9)


@given(GENERATORS)
def test_the_gap_bounds_the_excess_and_vanishes_at_the_solution(rng):
    X, y = rng.normal(size=(10, 15)), rng.normal(size=10)
    lam = 0.3 * np.abs(X.T @ y).max()
    solution = sl.lasso_path(X, y).at(lam)
    assert gap(X, y, [], solution, lam).gap <= 1e-13 * (y @ y)
    other = solution + 0.1 * rng.normal(size=15)
    excess = objective(X, y, other, lam) - objective(X, y, solution, lam)
    assert gap(X, y, [], other, lam).gap >= excess


@given(GENERATORS)
def test_what_is_proved_zero_is_zero(rng):
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
