"""The LASSO of small problems: its results are those of the methods for larger problems."""

import numpy as np
import pytest
from oracles import lasso_kkt, worst_kkt

import sparselin as sl
from sparselin import Problem, Status
from sparselin.lasso import _small as small
from sparselin.lasso import projection as dual_polytope
from sparselin.lasso._homotopy import Homotopy

NONE = np.zeros(0, np.intp)
OPTIONS = [{}, {"intercept": True}, {"intercept": True, "standardize": True}, {"standardize": True}]


@pytest.fixture
def only_small(monkeypatch):
    """Refuse the methods for larger problems."""
    monkeypatch.setattr(Homotopy, "__init__", None)
    monkeypatch.setattr(dual_polytope, "knot_blocks", None)


def draw(seed, n=40, d=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    return X, X[:, :3] @ rng.normal(size=3) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(40, 30), (15, 60), (50, 95)])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "more", [{}, {"forced": (7, 2)}, {"positive": True}, {"max_steps": 5}, {"lam_min": 2.0}]
)
def test_paths_are_those_of_larger_problems(monkeypatch, order, shape, options, more):
    X, y = draw(3, *shape)
    X = np.asarray(X, order=order)
    problem = Problem(X, y, **options)
    S = problem.unpenalized_columns(more.get("forced", ()))
    sizes = more.get("lam_min", 0.0), more.get("max_steps", 999) + 1, more.get("positive", False)
    knots, path = small.small_path(problem, S, *sizes), sl.lasso_path(problem, **more)
    monkeypatch.setattr(small, "SMALL", 0)
    assert small.small_path(problem, S, *sizes) is None
    other = sl.lasso_path(problem, **more)
    assert (path.active, path.status) == (other.active, other.status)
    np.testing.assert_allclose(knots.lams, path.knots, rtol=1e-15)
    for name in ("knots", "coef", "intercept", "r2"):
        np.testing.assert_allclose(getattr(path, name), getattr(other, name), rtol=1e-10, atol=1e-11)


def test_what_rounding_leaves_undecided_is_left_to_the_careful_path():
    X, y = draw(0)
    tie = X.copy()
    tie[:, 9] = -tie[:, int(np.argmax(np.abs(X.T @ y)))]
    dependent = X.copy()
    dependent[:, 3] = dependent[:, 4] + 1e-9 * dependent[:, 5]
    for problem, S in (
        (Problem(tie, y), NONE), (Problem(dependent, y), np.array([3, 4])), (Problem(X, 0 * y), NONE),
        (Problem(X.astype(np.float32), y), NONE), (Problem(np.hstack([X] * 4), y), NONE),
        (Problem(X[:, :5], X[:, 0]), np.array([0])),
    ):  # fmt: skip
        assert small.small_path(problem, S, 0.0, 5) is None
        assert sl.lasso_path(problem, forced=S, max_steps=5).status in (Status.MAX_STEPS, Status.COMPLETED)
    assert small.solution_at(Problem(tie, y), NONE, 1.0) is None
    assert small.small_path(Problem(X, y), NONE, 1e9, 5) is None
    assert worst_kkt(sl.lasso_path(tie, y), tie, y) <= 1e-11


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("S", [[], [4, 200, 333]])
@pytest.mark.parametrize("share", [1.5, 0.6, 0.2, 0.1])
def test_projections_widen_their_columns(only_small, monkeypatch, order, S, share, rng):
    """Columns correlate with their neighbours, so that the first columns are the wrong ones."""
    monkeypatch.setattr(small, "_FIRST", 8)
    rounds, run = [], small.small_lasso.run
    monkeypatch.setattr(small.small_lasso, "run", lambda *a: rounds.append(1) or run(*a))
    X = rng.normal(size=(80, 700))
    for j in range(1, 700):
        X[:, j] += 0.9 * X[:, j - 1]
    v = X[:, rng.choice(700, 8, replace=False)] @ rng.normal(size=8) + rng.normal(size=80)
    basis = np.linalg.qr(X[:, S])[0]
    lam = share * np.abs(X.T @ (v - basis @ (basis.T @ v))).max()
    found = sl.project_dual(np.asarray(X, order=order), v, lam, forced=S)
    assert lasso_kkt(X, v, found.coef, lam, S) <= 1e-12
    np.testing.assert_allclose(found.u, v - X @ found.coef, atol=1e-12 * np.linalg.norm(v))
    assert found.active == tuple(np.setdiff1d(np.flatnonzero(found.coef), S))
    assert 0 <= found.duality_gap <= 1e-12 * (v @ v)
    assert share > 0.2 or len(rounds) > 1


@pytest.mark.parametrize(("scale", "d"), [(2.0**-300, 30), (2.0**300, 30), (2.0**-300, 600), (2.0**300, 600)])
def test_lengths_do_not_matter(scale, d):
    X, y = draw(1, d=d)
    path, scaled = (sl.lasso_path(Z, y, max_steps=30, standardize=True) for Z in (X, X * scale))
    np.testing.assert_allclose(scaled.knots, path.knots, rtol=1e-12)
    assert scaled.active == path.active
    assert sl.project_dual(X * scale, y, scale).u.tolist() == sl.project_dual(X, y, 1.0).u.tolist()


def test_the_end_is_as_accurate_as_from_a_qr_factorisation():
    """The error of β from the Gram matrix alone would be some κ²·eps = 2e-8, not κ·eps."""
    X, y = draw(2, 40, 6)
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    knots, best = small.small_path(Problem(X, y), NONE, 0.0, 99), np.linalg.lstsq(X, y, rcond=None)[0]
    assert knots is not None
    np.testing.assert_allclose(knots.coef[-1], best, rtol=1e-10)
