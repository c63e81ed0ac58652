"""The block scheme: guesses may be as wrong as they like, the picks are the textbook's."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from oracles import residual, textbook_ols, textbook_omp
from threadpoolctl import threadpool_limits

import sparselin as sl
from sparselin import Status
from sparselin._kernels import blocks as kernels
from sparselin.ensembles import gaussian
from sparselin.greedy import _guesses as guesses
from sparselin.greedy import _pursuit as pursuit
from sparselin.greedy._blocks import Blocks


@pytest.fixture(autouse=True)
def blocks_only(monkeypatch):
    """Never by single picks, however small the design and however wrong the guesses."""
    monkeypatch.setattr(pursuit, "SMALL", 0)
    monkeypatch.setattr(Blocks, "efficient", True)


METHODS = {"omp": (sl.omp, textbook_omp), "ols": (sl.ols, textbook_ols)}


def design(kind, seed, n=60, d=250):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if kind == "walks":
        X = X.cumsum(axis=seed % 2)
    elif kind == "lengths":
        X *= np.exp(3 * rng.normal(size=d))
    return (np.asfortranarray(X) if seed % 3 == 0 else X), y


@pytest.mark.parametrize("kind", ["gaussian", "walks", "lengths"])
def test_long_paths_are_the_textbook_ones(kind):
    for seed in range(6):
        X, y = design(kind, seed)
        path = sl.omp(X, y, 40)
        assert path.support.tolist() == textbook_omp(X, y, 40)
        for t in range(41):
            norm = np.linalg.norm(residual(X, y, path.support[:t]))
            assert path.residual_norm[t] == pytest.approx(norm, rel=1e-10)
        coef = np.linalg.lstsq(X[:, path.support], y, rcond=None)[0]
        np.testing.assert_allclose(path.coef, coef, rtol=1e-8)


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("blunder", ["arbitrary", "repeated", "reversed", "nothing to follow"])
def test_wrong_guesses_cost_time_and_change_nothing(monkeypatch, method, blunder, small):
    function, textbook = METHODS[method]
    right, rng = kernels.guess, np.random.default_rng(1)

    def guess(candidates, first, scaled, worth, picks):
        columns, p = candidates.columns, right(candidates, first, scaled, worth, picks)
        if blunder == "arbitrary":
            picks[1:] = rng.choice(columns, len(picks) - 1)
            p = len(picks)
        elif blunder == "repeated":
            picks[:] = first
            p = len(picks)
        elif blunder == "reversed":
            picks[1:p] = picks[1:p][::-1].copy()
        else:
            p = 1
        return p

    monkeypatch.setattr(kernels, "guess", guess)
    if not small:  # there fewer guesses are worth their product
        monkeypatch.setattr(guesses, "_SMALL", 0)
    for seed in range(3):
        X, y = design("gaussian", seed) if small else design("gaussian", seed, 400, 600)
        path = function(X, y, 12)
        assert path.support.tolist() == textbook(X, y, 12)
        assert path.residual_norm[-1] == pytest.approx(
            np.linalg.norm(residual(X, y, path.support)), rel=1e-10
        )


@pytest.mark.parametrize("method", [sl.omp, sl.ols, sl.sequential_lasso])
@pytest.mark.parametrize("kind", ["gaussian", "walks", "lengths"])
def test_w_and_c_are_what_they_are_taken_for(monkeypatch, method, kind):
    """W = XᵀQ and c = Xᵀr after every block, whatever the guesses were."""
    right_guess, right_follow = kernels.guess, Blocks.follow
    rng, blocks = np.random.default_rng(0), []

    def guess(*arguments):
        picks, p = arguments[-1], right_guess(*arguments)
        picks[1:p] = rng.permutation(picks[1:p])
        return p

    def follow(run, *arguments):
        followed = right_follow(run, *arguments)
        qr, problem = run.selection.qr, run.problem
        support = [*run.selection.support, *(pick.feature for pick in followed.picks)]
        assert qr.index == support
        blocks.append(len(followed.picks))
        if len(support) < run.k:
            error = np.abs(run.W[: qr.size] - qr.Qt @ problem.X)
            assert np.all(error <= problem.rounding() * problem.column_norms)
            c = problem.X.T @ residual(problem.X, problem.y, support)
            c[support] = 0
            assert np.all(np.abs(followed.c - c) <= problem.correlation_error(qr.kappa))
        return followed

    monkeypatch.setattr(guesses, "_SMALL", 0)
    monkeypatch.setattr(kernels, "guess", guess)
    monkeypatch.setattr(Blocks, "follow", follow)
    for seed in range(4):
        X, y = design(kind, seed, 400, 1100)
        path = method(X, y, 12)
        assert path.support.tolist() == (textbook_ols if method is sl.ols else textbook_omp)(X, y, 12)
    assert max(blocks) > 1


@pytest.mark.parametrize("method", [sl.omp, sl.ols, sl.sequential_lasso])
@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_no_row_of_W_is_used_before_it_is_made(monkeypatch, method, k):
    right = Blocks.__init__

    def init(run, *arguments):
        right(run, *arguments)
        run.W[run.selection.qr.size :] = np.nan

    monkeypatch.setattr(Blocks, "__init__", init)
    for small in (10**6, 0):
        monkeypatch.setattr(guesses, "_SMALL", small)
        for seed in range(4):
            path = method(*design("walks", seed, 200, 600), k)
            assert path.status is Status.COMPLETED
            assert np.all(np.isfinite(path.coef))


@pytest.mark.parametrize("d", [1, 2, 5, 11, 128, 130, 2100])
def test_any_number_of_columns(monkeypatch, d):
    for small in (10**6, 0):
        monkeypatch.setattr(guesses, "_SMALL", small)
        X, y = design("gaussian", 1, 50, d)
        k = min(d, 20)
        assert sl.omp(X, y, k).support.tolist() == textbook_omp(X, y, k)


@pytest.mark.parametrize("method", [sl.omp, sl.ols, sl.sequential_lasso])
def test_blocks_and_single_steps_agree(method):
    """A callback makes every block a single pick."""
    for kind in ("gaussian", "walks", "lengths"):
        for seed in range(4):
            X, y = design(kind, seed)
            at_once, singly = method(X, y, 30), method(X, y, 30, callback=lambda path: False)
            assert at_once.support.tolist() == singly.support.tolist()
            assert at_once.ties == singly.ties
            np.testing.assert_allclose(at_once.lam_star, singly.lam_star, rtol=1e-10)
            np.testing.assert_allclose(at_once.margin, singly.margin, atol=1e-10)


def test_ties_in_the_middle_of_a_block():
    """±copies of every column: each clear guess runs into a tie, which is listed and goes to the lowest."""
    rng = np.random.default_rng(5)
    half, y = rng.normal(size=(40, 100)), rng.normal(size=40)
    X = np.hstack([half, -half])
    path = sl.omp(X, y, 20)
    assert path.support.tolist() == textbook_omp(half, y, 20)
    assert path.ties == tuple((i, i + 100) for i in path.support)
    assert np.all(path.margin == 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_picks_are_those_of_float64(order):
    """Copies that differ in the sixth digit: float32 correlations cannot tell them apart, float64 can."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        half = rng.normal(size=(60, 150))
        X = np.hstack([half, half + 1e-5 * rng.normal(size=half.shape)]).astype(np.float32, order=order)
        y = rng.normal(size=60).astype(np.float32)
        path = sl.omp(X, y, 15)
        assert path.support.tolist() == textbook_omp(X.astype(float), y.astype(float), 15)
        assert path.ties == tuple((i,) for i in path.support)
        assert path.coef.dtype == path.lam_star.dtype == np.float32


@pytest.mark.parametrize("method", [sl.omp, sl.ols, sl.sequential_lasso])
@pytest.mark.parametrize("nonzero", [3, 30, 63, 64, 150])
def test_zero_columns_are_no_candidates(method, nonzero):
    rng = np.random.default_rng(0)
    X, y = np.zeros((20, 200)), rng.normal(size=20)
    X[:, rng.choice(200, nonzero, replace=False)] = rng.normal(size=(20, nonzero))
    path = method(X, y, 5)
    kept = np.flatnonzero(X.any(axis=0))
    assert path.support.tolist() == kept[method(X[:, kept], y, min(5, nonzero)).support].tolist()
    assert path.status is (Status.COMPLETED if nonzero >= 5 else Status.RANK_EXHAUSTED)


@pytest.mark.parametrize("gap", [3e-8, 3e-7])
@pytest.mark.parametrize("method", [sl.omp, sl.ols, sl.sequential_lasso])
def test_a_gram_problem_with_near_copies_takes_no_feature_twice_and_none_in_the_span(method, gap):
    """G knows lengths to √eps only: copies that differ by less may look correlated, but are in the span."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
        X[:, 10:] = X[:, :10] + gap * X[:, 10:]
        problem = sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y))
        path = method(problem, 12)
        assert len(set(path.support.tolist())) == len(path.support)
        assert np.all(path.coef != 0)
        if gap < 1e-7:
            assert len(set(path.support % 10)) == len(path.support) <= 10
            assert path.status in (Status.RANK_EXHAUSTED, Status.NO_CORRELATION, Status.BEYOND_PRECISION)


def test_a_barred_column_suppresses_no_other():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 8)), rng.normal(size=12)
        X[:, 1] = X[:, 0] + 5e-8 * X[:, 1]
        X[:, :2] *= 1e6
        X[:, 2:] *= 0.01
        problem = sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y))
        path = sl.omp(problem, 6)
        for t, pick in enumerate(path.support):
            c = np.abs(X.T @ residual(X, y, path.support[:t]))
            c[:2] = np.where(np.isin([0, 1], path.support[:t]).any(), 0, c[:2])
            c[path.support[:t]] = 0
            assert c[pick] >= 0.99 * c.max(), seed


def test_a_tolerance_reached_inside_a_block():
    X, y = gaussian(60, 250, 0)
    norms = sl.omp(X, y, 30).residual_norm / np.linalg.norm(y)
    for t in (1, 5, 17, 29):
        path = sl.omp(X, y, 30, tol=norms[t])
        assert len(path.support) == t
        assert path.status is Status.TOLERANCE


def test_the_first_segments_of_sequential_lasso_are_checked(monkeypatch):
    """A window too long, so that the solution in its middle is none, must not pass."""
    X, y = gaussian(30, 80, 0)
    right = kernels.windows

    def windows(c, W, shares, rho, support, m, length):
        right(c, W, shares, rho, support, m, length)
        length[min(3, len(length) - 1)] *= 2.5

    assert sl.sequential_lasso(X, y, 8).status is Status.COMPLETED
    monkeypatch.setattr(kernels, "windows", windows)
    path = sl.sequential_lasso(X, y, 8)
    assert path.status is Status.BEYOND_PRECISION
    assert len(path.support) < 8
    assert len(path.residual_norm) == len(path.support) + 1


def test_memory_stays_below_a_third_of_the_design():
    X, y = gaussian(600, 3000, 0)
    sl.omp(X, y, 2)
    tracemalloc.start()
    sl.omp(X, y, 60)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 0.3 * X.nbytes


@pytest.mark.parametrize("method", [sl.omp, sl.ols])
def test_a_sparse_design_is_never_made_dense(method):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(2000, 4000, density=0.01, format="csc", random_state=rng)
    y = X @ rng.normal(size=4000)
    method(X, y, 2)
    tracemalloc.start()
    path = method(X, y, 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.support.tolist() == method(X.toarray(), y, 10).support.tolist()
    assert peak <= 0.1 * 8 * 2000 * 4000


def test_runs_are_identical_bit_for_bit():
    X, y = gaussian(300, 3000, 0)
    first, second = sl.omp(X, y, 50), sl.omp(X, y, 50)
    assert np.array_equal(first.coef, second.coef)
    assert np.array_equal(first.lam_star, second.lam_star)
    with threadpool_limits(1):
        assert sl.omp(X, y, 50).support.tolist() == first.support.tolist()
