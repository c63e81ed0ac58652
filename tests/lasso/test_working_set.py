"""The fast LASSO path: guesses on candidates, proofs on all columns, ties left to the careful homotopy."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from oracles import lasso_kkt, worst_kkt

import sparselin as sl
from sparselin import Problem, Status
from sparselin._kernels import homotopy as kernels
from sparselin.lasso import _candidates as candidates
from sparselin.lasso._homotopy import Homotopy
from sparselin.linalg import gathered as products


def test_a_coefficient_that_vanishes_where_another_enters():
    """At λ = 144/61 one coefficient reaches zero, to rounding, as another enters: it is zero below."""
    rng = np.random.default_rng([117, 77, 8])
    y = rng.integers(-3, 4, 20).astype(float)
    H = scipy.linalg.hadamard(32).astype(float)
    X = H[rng.choice(32, 20, replace=False)][:, rng.permutation(32)[:16]]
    path = sl.lasso_path(X, y)
    assert worst_kkt(path, X, y) <= 1e-12
    assert 12 not in path.active[int(np.argmin(np.abs(path.knots - 144 / 61)))]


def ar1(n, d, rng):
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] += 0.9 * X[:, j - 1]
    return X, X[:, rng.choice(d, 8, replace=False)] @ rng.normal(size=8) + rng.normal(size=n)


@pytest.mark.parametrize("order", ["C", "F", "sparse", "float32"])
@pytest.mark.parametrize("S", [(), (3, 700)])
def test_guesses_are_proved_on_all_columns(rng, order, S):
    """d ≫ steps, so that candidates are few, and neighbours correlate, so that they are the wrong ones."""
    X, y = ar1(120, 900, rng)
    design = {"C": X, "F": np.asfortranarray(X), "sparse": scipy.sparse.csc_array(X), "float32": X}[order]
    if order == "float32":
        design, y = X.astype(np.float32), y.astype(np.float32)
    path = sl.lasso_path(design, y, forced=S, max_steps=90)
    assert path.status is Status.MAX_STEPS
    assert len(path.knots) == 91
    assert path.coef.dtype == design.dtype
    X, y, tol = np.asarray(X, np.float64), y.astype(np.float64), 1e-4 if order == "float32" else 1e-12
    assert worst_kkt(path, X, y, S) <= tol


def test_the_fast_path_is_the_careful_one(rng):
    X, y = ar1(60, 400, rng)
    path = sl.lasso_path(X, y, forced=[5], max_steps=50)
    for i, knot in zip(range(51), Homotopy(Problem(X, y), np.array([5])).knots(0.0), strict=False):
        assert path.knots[i] == pytest.approx(knot.lam, rel=1e-10)
        np.testing.assert_allclose(path.coef[i], knot.coef, atol=1e-9 * np.abs(knot.coef).max())
        assert path.active[i] == (knot.active if i < 50 else path.active[49])


def test_one_tie_does_not_stop_the_fast_path(rng, monkeypatch):
    """Two columns tied at λ* and no other tie: the careful homotopy settles that knot alone."""
    X, y = rng.normal(size=(60, 41)), rng.normal(size=60)
    j = int(np.argmax(np.abs(X[:, :40].T @ y)))
    X[:, 40] += (X[:, j] - X[:, 40]) @ y / (y @ y) * y
    settled = []
    enter = Homotopy.enter
    monkeypatch.setattr(Homotopy, "enter", lambda self: settled.append(self.lam) or enter(self))
    path = sl.lasso_path(X, y)
    assert worst_kkt(path, X, y) <= 1e-11
    assert settled == [pytest.approx(abs(X[:, j] @ y))]
    assert {j, 40} <= set(path.active[0])


def test_dependent_unpenalised_columns(rng):
    X, y = rng.normal(size=(30, 200)), rng.normal(size=30)
    X[:, 3] = X[:, 1] - 2 * X[:, 2]
    path = sl.lasso_path(X, y, forced=[1, 2, 3], lam_min=0.5)
    assert path.status is Status.COMPLETED
    assert not path.coef[:, 3].any()
    assert worst_kkt(path, X, y, [1, 2, 3]) <= 1e-11


@pytest.mark.parametrize("share", [0.6, 0.2, 0.03])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_projection_with_candidates(rng, share, dtype, monkeypatch):
    X, v = ar1(80, 700, rng)
    S = [4, 200, 333]
    lam = share * sl.lambda_star(X, v, forced=S)
    with monkeypatch.context() as no_help:
        no_help.setattr(Homotopy, "knots", None)
        projection = sl.project_dual(X.astype(dtype), v.astype(dtype), lam, forced=S)
    assert projection.u.dtype == dtype
    tol = 1e-12 if dtype == np.float64 else 1e-4
    assert lasso_kkt(X, v, projection.coef.astype(float), lam, S) <= tol
    np.testing.assert_allclose(projection.u, v - X @ projection.coef, atol=tol * np.linalg.norm(v))
    exact = sl.lasso_path(X, v, forced=S, lam_min=lam)
    np.testing.assert_allclose(projection.u, v - X @ exact.coef[-1], atol=tol * np.linalg.norm(v))
    assert 0 <= projection.duality_gap <= tol * (v @ v)


def test_nothing_is_read_that_was_not_written(rng, monkeypatch):
    """Arrays that NumPy leaves as they come are full of NaN here."""
    X, y = ar1(60, 400, rng)
    lam = 0.05 * np.abs(X.T @ y).max()
    path, projection = sl.lasso_path(X, y, forced=[5]), sl.project_dual(X, y, lam, forced=[5])

    def unwritten(shape, dtype=float, **_):
        return np.full(shape, -7 if np.issubdtype(dtype, np.integer) else np.nan, dtype)

    monkeypatch.setattr(np, "empty", unwritten)
    np.testing.assert_array_equal(sl.lasso_path(X, y, forced=[5]).coef, path.coef)
    np.testing.assert_array_equal(sl.project_dual(X, y, lam, forced=[5]).u, projection.u)


def test_a_path_that_outgrows_its_arrays(rng, monkeypatch):
    X, y = rng.normal(size=(60, 150)), rng.normal(size=60)
    path = sl.lasso_path(X, y)
    monkeypatch.setattr(candidates, "_CAPACITY", 3)
    monkeypatch.setattr(Homotopy, "knots", None)
    again = sl.lasso_path(X, y)
    assert again.active == path.active
    np.testing.assert_allclose(again.coef, path.coef, atol=1e-12)


@pytest.mark.parametrize("kind", ["C", "F", "float32", "sparse"])
@pytest.mark.parametrize("by_columns", [0, 10**9])
def test_candidates_know_their_products(rng, kind, by_columns, monkeypatch):
    """Enough of them for threads to share the triangle; more come, few of them."""
    monkeypatch.setattr(products, "_BY_COLUMNS", by_columns)
    X, y = rng.normal(size=(420, 900)), rng.normal(size=420)
    if kind == "float32":
        X, y = X.astype(np.float32), y.astype(np.float32)
    design = {"F": np.asfortranarray(X), "sparse": scipy.sparse.csc_array(X)}.get(kind, X)
    some = candidates.Candidates(Problem(design, y), np.array([7, 3]), False)
    assert some.start()
    X, y = X.astype(float), y.astype(float)
    r = y - X[:, [7, 3]] @ np.linalg.lstsq(X[:, [7, 3]], y, rcond=None)[0]
    np.testing.assert_allclose(some.first_correlations(), X.T @ r, atol=1e-10 if kind != "float32" else 1e-3)
    some.add(np.setdiff1d(np.arange(800), [3, 7]))
    some.add(np.arange(850, 880))
    C = X[:, some.index]
    np.testing.assert_allclose(some.gram, C.T @ C, atol=1e-10)
    np.testing.assert_allclose(some.c0, C.T @ y, atol=1e-10)
    np.testing.assert_array_equal(some.place[some.index], np.arange(830))
    if kind != "sparse":
        np.testing.assert_array_equal(some.columns, C.T)


def test_all_columns_are_candidates(rng):
    X, y = rng.normal(size=(450, 700)), rng.normal(size=450)
    every = candidates.Candidates(Problem(X, y), np.array([5]), True)
    np.testing.assert_allclose(every.gram, X.T @ X, atol=1e-10)
    np.testing.assert_allclose(every.c0, X.T @ y, atol=1e-10)


def test_a_column_taken_out_of_the_cholesky_factor(rng):
    A = rng.normal(size=(20, 9))
    gram, order = A.T @ A, rng.permutation(9)
    for k in range(9):
        L, fresh = np.zeros((9, 9)), np.zeros((9, 9))
        assert kernels.factor(gram, order, 9, L)
        kernels.delete(L, 9, k)
        assert kernels.factor(gram, np.delete(order, k), 8, fresh)
        np.testing.assert_allclose(np.tril(L[:8, :8]), np.tril(fresh[:8, :8]), rtol=1e-12, atol=1e-12)


def test_nearly_dependent_columns_are_left_to_the_careful_homotopy(rng):
    A = rng.normal(size=(20, 3))
    A = np.c_[A, A[:, 0] + 1e-6 * A[:, 1]]
    assert not kernels.factor(A.T @ A, np.arange(4), 4, np.zeros((4, 4)))


def test_norms_and_products_of_more_columns_than_a_strip(rng):
    X, y = rng.normal(size=(7, 20_000)), rng.normal(size=7)
    problem = Problem(X, y)
    np.testing.assert_allclose(problem.column_norms, np.linalg.norm(X, axis=0), rtol=1e-14)
    np.testing.assert_allclose(problem.Xty, y @ X, atol=1e-13)


@pytest.mark.parametrize("longest", [64, 4096])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_in_single_precision_keep_their_bound(rng, dtype, order, longest, monkeypatch):
    monkeypatch.setattr(products, "_LONGEST", longest)
    monkeypatch.setattr(products, "_SUMMED", 32)
    X, V = rng.normal(size=(150, 40)) * 10.0 ** rng.integers(-3, 4, 40), rng.normal(size=(9, 150))
    problem = Problem(
        np.asarray(X, dtype, order=order), X[:, 3].astype(dtype), intercept=True, standardize=True
    )
    V /= np.linalg.norm(V, axis=1)[:, None]
    some = products.AllProducts(problem, rough=True)
    assert some.rough == (dtype == np.float64)
    error = np.abs(some.of(V) - V @ problem.double_block(np.arange(41)))[:, :40] / problem.column_norms[:40]
    assert 1e-9 < error.max() <= some.error < 1e-4
    assert not products.AllProducts(
        Problem(1e30 * X, X[:, 3]), rough=True
    ).rough  # beyond the range of float32


def test_a_path_does_not_depend_on_the_errors_of_products(rng, monkeypatch):
    """The products have errors up to their bound, which is larger here and leaves more columns open."""
    X, y = ar1(120, 900, rng)
    begin, of = products.AllProducts.__init__, products.AllProducts.of
    paths = [sl.lasso_path(X, y, max_steps=steps) for steps in range(10, 40)]

    def wider(self, problem, rough):
        begin(self, problem, rough)
        self.error *= 300

    def wrong(self, V):
        c = of(self, V)
        return c + 0.9 * self.error * self.problem.column_norms * rng.choice([-1, 1], c.shape)

    monkeypatch.setattr(products.AllProducts, "__init__", wider)
    monkeypatch.setattr(products.AllProducts, "of", wrong)
    monkeypatch.setattr(Homotopy, "knots", None)
    for path in paths:
        again = sl.lasso_path(X, y, max_steps=len(path.knots) - 1)
        assert again.active == path.active
        np.testing.assert_allclose(again.coef, path.coef, atol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("options", [{}, {"intercept": True, "standardize": True}])
def test_tall_data_in_single_precision_are_not_converted(rng, order, options, monkeypatch):
    X = np.asarray(rng.normal(size=(5000, 400)) + 1, np.float32, order=order)
    y = (X[:, :9] @ rng.normal(size=9) + rng.normal(size=5000)).astype(np.float32)
    path = sl.lasso_path(X.astype(float), y.astype(float), max_steps=40, **options)
    monkeypatch.setattr(Problem, "in_double", None)
    again = sl.lasso_path(X, y, max_steps=40, **options)
    assert again.active == path.active
    np.testing.assert_allclose(again.knots, path.knots, rtol=1e-5)
