import datetime

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from oracles import residual, textbook_ols, textbook_omp
from refusals import refuses
from schemes import METHODS, TEXTBOOK
from seeds import GENERATORS, SEEDS
from ties import DESIGNS, KINDS, tied

import sparselin as sl
from sparselin import Status
from sparselin.testing import integer_designs


def gaussian(seed, n=20, d=30):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@given(SEEDS)
def test_supports_and_coefficients_are_the_textbook_ones(seed):
    X, y = gaussian(seed)
    path = sl.omp(X, y, 6)
    assert path.support.tolist() == textbook_omp(X, y, 6)
    for t in range(7):
        S = path.support[:t]
        coef = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
        np.testing.assert_allclose(path.coef_at(t), coef, rtol=1e-10)
        np.testing.assert_allclose(path.residual_norm[t], np.linalg.norm(residual(X, y, S)), rtol=1e-12)
    assert np.flatnonzero(path.dense_coef()).tolist() == sorted(path.support)


@given(integer_designs(max_n=6, max_d=8))
def test_every_pick_is_an_argmax_and_the_end_is_told(design):
    X, y = design
    path = sl.omp(X, y, X.shape[1])
    scale = np.linalg.norm(X, axis=0).max() * np.linalg.norm(y)
    for t, pick in enumerate(path.support):
        c = np.abs(X.T @ residual(X, y, path.support[:t]))
        c[path.support[:t]] = 0
        assert c[pick] >= c.max() - 1e-12 * scale
        assert path.lam_star[t] == pytest.approx(c.max(), rel=1e-12)
        assert pick == min(path.ties[t])
        assert set(path.ties[t]) == set(np.flatnonzero(c >= c.max() - 1e-12 * scale).tolist())
    r = residual(X, y, path.support)
    if path.status is Status.EXACT_FIT:
        assert np.linalg.norm(r) <= 1e-12 * np.linalg.norm(y)
    elif path.status in (Status.NO_CORRELATION, Status.RANK_EXHAUSTED):
        assert np.linalg.norm(r) > 1e-9 * np.linalg.norm(y)
        assert np.abs(X.T @ r).max() <= 1e-12 * scale
        full = len(path.support) == np.linalg.matrix_rank(X)
        assert full == (path.status is Status.RANK_EXHAUSTED)
    else:
        assert path.status is Status.COMPLETED
        assert len(path.support) == X.shape[1]


@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_designs_full_of_ties(kind, n):
    """Every pick is an argmax to rounding, and none is left while a column is correlated."""
    for seed in range(DESIGNS // 4):
        X, y = tied(kind, n, np.random.default_rng([seed, n, 7]))
        path = sl.omp(X, y, X.shape[1])
        e = 1e-12 * np.linalg.norm(X, axis=0) * np.linalg.norm(y)
        r = y
        Q = np.zeros((n, 0))
        for t, pick in enumerate(path.support):
            c = np.abs(X.T @ r)
            c[path.support[:t]] = 0
            assert c[pick] + e[pick] >= np.max(c - e), (seed, t)
            q = X[:, pick] - Q @ (Q.T @ X[:, pick])
            q -= Q @ (Q.T @ q)
            Q = np.c_[Q, q / np.linalg.norm(q)]
            r = y - Q @ (Q.T @ y)
        assert np.all(np.abs(X.T @ r) <= e), seed
        assert path.status is not Status.COMPLETED or len(path.support) == X.shape[1]


@METHODS
def test_forced_features_come_first_and_count(rng, method):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    path = method(X, y, 5, forced=[7, 3])
    assert path.support.tolist() == TEXTBOOK[method](X, y, 5, S=[7, 3])
    assert np.isnan(path.lam_star).tolist() == [True, True, False, False, False]
    assert path.ties[0] == ()


def test_dependent_forced_features_get_the_coefficient_zero(rng):
    X, y = rng.normal(size=(20, 6)), rng.normal(size=20)
    X[:, 1], X[:, 2] = -X[:, 0], 0
    path = sl.omp(X, y, 4, forced=[0, 1, 2])
    assert path.coef[1] == path.coef[2] == 0
    assert path.residual_norm[1] == path.residual_norm[3]


@pytest.mark.parametrize("method", [sl.omp, sl.ols])
def test_tol_is_a_relative_residual_norm(rng, method):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    norms = method(X, y, 10).residual_norm / np.linalg.norm(y)
    for scale in (1.0, 1e-12, 1e12):
        path = method(X, y * scale, 10, tol=(norms[4] + norms[3]) / 2)
        assert len(path.support) == 4
        assert path.status is Status.TOLERANCE


@pytest.mark.parametrize("method", [sl.omp, sl.ols])
def test_residual_is_a_residual_norm(rng, method):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    for scale in (1e-15, 1.0, 1e15):
        norms = method(X, y * scale, 10).residual_norm
        path = method(X, y * scale, 10, residual=(norms[4] + norms[3]) / 2)
        assert path.status is Status.TOLERANCE
        assert len(path.support) == 4
        for tol, stop in ((norms[2] / norms[0] * 1.001, 2), (norms[6] / norms[0], 4)):  # the first of the two
            path = method(X, y * scale, 10, tol=tol, residual=norms[4] * 1.001)
            assert len(path.support) == stop
        path = method(X, y * scale, 10, residual=norms[0])
        assert path.status is Status.TOLERANCE
        assert path.support.size == 0
        assert len(method(X, y * scale, 10, residual=norms[0], forced=[7]).support) == 1


# columns of np.eye(4, 6), of which the last two are zero; y, k, options and the end
ENDS = [
    ([0, 1], [1, 2, 0, 0], 2, {}, Status.COMPLETED),
    ([0, 1], [1, 2, 0, 0], 2, {"tol": 1e-6}, Status.TOLERANCE),
    ([0, 1], [0, 0, 0, 0], 1, {"tol": 0.0}, Status.TOLERANCE),
    ([0, 1], [0, 0, 0, 0], 1, {}, Status.EXACT_FIT),
    ([0, 1, 0, 1], [1, 2, 0, 0], 3, {}, Status.EXACT_FIT),
    ([0, 1, 0, 1], [1, 2, 3, 0], 3, {}, Status.RANK_EXHAUSTED),
    ([4, 5], [1, 2, 0, 0], 2, {}, Status.RANK_EXHAUSTED),
    ([0, 1], [0, 0, 3, 0], 1, {}, Status.NO_CORRELATION),
]


@pytest.mark.parametrize(("J", "y", "k", "options", "status"), ENDS)
@pytest.mark.parametrize("unit", [1, 1j])
def test_statuses(J, y, k, options, status, unit):
    X = np.eye(4, 6)[:, J] * np.array(unit) ** (1 + np.arange(len(J)) // 2)
    for method in (sl.omp, sl.ols):
        assert method(X, y, k, **options).status is status
    for N in (1, 40):
        assert set(sl.batch_omp(X, np.outer(y, np.ones(N)), k, **options).status) == {status}


@METHODS
def test_a_callback_sees_each_step_and_may_stop(rng, method):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    seen = []

    def stop_at_three(path):
        seen.append(path.support.tolist())
        return len(path.support) == 3

    path = method(X, y, 9, callback=stop_at_three)
    assert path.status is Status.STOPPED
    assert [len(support) for support in seen] == [1, 2, 3]
    assert path.support.tolist() == method(X, y, 3).support.tolist()


def test_nearly_dependent_columns_keep_an_orthogonal_basis(rng):
    """κ = 1e10: the residual is still orthogonal to the selected columns to rounding."""
    base = rng.normal(size=50)
    X = base[:, None] + 1e-10 * rng.normal(size=(50, 6))
    y = rng.normal(size=50)
    path = sl.omp(X, y, 6, forced=range(6))
    r = y - X @ path.dense_coef()
    assert np.abs(X.T @ r).max() <= 1e-5 * np.linalg.norm(y)
    exact = np.linalg.qr(X - base[:, None])[0]
    assert path.residual_norm[-1] <= np.linalg.norm(y)
    assert exact.shape == (50, 6)


def test_a_callback_may_answer_with_a_numpy_bool(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    path = sl.omp(X, y, 9, callback=lambda path: path.residual_norm[-1] < 0.9 * path.residual_norm[0])
    assert path.status is Status.STOPPED


def test_frames_of_mixed_numbers_and_what_they_refuse(rng):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    X[:, 1] = X[:, 1] > 0
    X[:, 2] = np.round(3 * X[:, 2])
    columns = {"a": X[:, 0], "b": X[:, 1].astype(bool), "c": X[:, 2].astype(int)}
    frame = pandas.DataFrame(columns).astype({"c": "Int64"})
    for data in (frame, polars.DataFrame(columns)):
        assert sl.omp(data, y, 3).support.tolist() == sl.omp(X, y, 3).support.tolist()
    days = polars.Series([datetime.date(2026, 1, 1 + i) for i in range(20)])
    dates = polars.DataFrame({"a": X[:, 0], "day": days})
    texts = pandas.DataFrame({"a": X[:, 0], "name": ["x"] * 20})
    for data, column in ((dates, "day"), (texts, "name")):
        refuses(rf"X\['{column}'\] must hold real numbers", sl.omp, data, y, 1, error=TypeError)


# Orthogonal least squares


LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "sparse": scipy.sparse.csc_array}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["gaussian", "walks down", "walks across", "lengths"])
def test_supports_are_the_textbook_ones(rng, layout, kind):
    for _ in range(8):
        X, y = rng.normal(size=(30, 80)), rng.normal(size=30)
        X = {
            "gaussian": X,
            "walks down": X.cumsum(axis=0),
            "walks across": X.cumsum(axis=1),
            "lengths": X * np.exp(5 * rng.normal(size=80)),
        }[kind]
        path = sl.ols(LAYOUTS[layout](X), y, 8)
        assert path.support.tolist() == textbook_ols(X, y, 8)
        r = residual(X, y, path.support)
        assert path.residual_norm[-1] == pytest.approx(np.linalg.norm(r), rel=1e-10)


@given(integer_designs(max_n=6, max_d=8))
def test_every_pick_lowers_the_residual_most(design):
    X, y = design
    path = sl.ols(X, y, X.shape[1])
    rank = np.linalg.matrix_rank
    for t, pick in enumerate(path.support):
        S = path.support[:t].tolist()
        before = np.linalg.norm(residual(X, y, S))
        falls = np.zeros(X.shape[1])
        for j in set(range(X.shape[1])) - set(S):
            if rank(X[:, [*S, j]]) > t:
                falls[j] = before**2 - np.linalg.norm(residual(X, y, [*S, j])) ** 2
        best = np.flatnonzero(falls >= falls.max() - 1e-10 * np.linalg.norm(y) ** 2)
        assert path.ties[t] == tuple(best.tolist())
        assert pick == best[0]
        assert path.lam_star[t] == pytest.approx(abs(X[:, pick] @ residual(X, y, S)), rel=1e-10)
    r = residual(X, y, path.support)
    assert np.abs(X.T @ r).max() <= 1e-10 * np.linalg.norm(X) * np.linalg.norm(y)


@given(GENERATORS)
def test_the_margin_is_about_the_falls(rng):
    X, y = rng.normal(size=(15, 20)), rng.normal(size=15)
    path = sl.ols(X, y, 4)
    for t in range(4):
        S = path.support[:t].tolist()
        P = X - X[:, S] @ np.linalg.lstsq(X[:, S], X, rcond=None)[0] if S else X
        lengths = np.linalg.norm(P, axis=0)
        lengths[S] = np.inf
        score = np.sort(np.abs(X.T @ residual(X, y, S)) / lengths)
        assert path.margin[t] == pytest.approx(1 - score[-2] / score[-1], abs=1e-11)


@pytest.mark.parametrize("gap", [1e-3, 1e-5])
def test_lengths_are_measured_anew_after_cancellation(rng, gap):
    """Pairs of near-copies: once one is taken the other has length `gap`, its square lost to rounding."""
    for _ in range(10):
        base = rng.normal(size=(40, 15))
        X = np.hstack([base, base + gap * rng.normal(size=base.shape)])
        y = rng.normal(size=40)
        path = sl.ols(X, y, 8)
        assert path.support.tolist() == textbook_ols(X, y, 8)


def test_a_length_of_a_hundred_millionth(rng):
    """x₂ = x₁ + 1e-8·δ, and only δ brings the fall of 2: ρ² = 1e-16 is lost in the recurrence."""
    for _ in range(10):
        Q = np.linalg.qr(rng.normal(size=(40, 30)))[0]
        others = Q[:, 2:] + 0.2 * Q[:, :1] + 0.3 * Q[:, 1:2]
        X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-8 * Q[:, 1], others / np.linalg.norm(others, axis=0)])
        y = 3 * Q[:, 0] + 2 * Q[:, 1] + 0.5 * Q[:, 2]
        path = sl.ols(X, y, 2)
        i, j = path.support.tolist()
        assert {i, j} == {0, 1}
        P = X - np.outer(X[:, i], X[:, i] @ X) / (X[:, i] @ X[:, i])
        P -= np.outer(X[:, i], X[:, i] @ P) / (X[:, i] @ X[:, i])
        scores = np.abs(P.T @ y)[np.arange(30) != i] / np.linalg.norm(P, axis=0)[np.arange(30) != i]
        first, second = np.sort(scores)[[-1, -2]]
        assert path.margin[1] == pytest.approx(1 - second / first, abs=1e-6)
