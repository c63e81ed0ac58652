"""Splits, randomization, the spacing test and knockoffs against least squares, knots and brute force."""

import importlib
import math

import numpy as np
import pytest
from refusals import refuses
from scipy import sparse, stats

import sparselin as sl
from sparselin.post_selection import _splitting
from sparselin.post_selection._conditional import spacing_p_values as spacing
from sparselin.post_selection._events import Basis
from sparselin.post_selection._noise import Noise
from sparselin.post_selection._splitting import randomize, select, split
from sparselin.post_selection._traces import trace_of

knockoffs = importlib.import_module("sparselin.post_selection.knockoffs")
OPTIONS = pytest.mark.parametrize("options", [{}, {"intercept": True, "standardize": True}], ids=str)


def design(seed, n=40, d=8, signal=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    return X, signal * (X[:, 0] - X[:, 3]) + rng.standard_normal(n)


@pytest.fixture
def parts(monkeypatch):
    """The data on which a method selects, in the order of the calls."""
    parts = []
    monkeypatch.setattr(
        _splitting, "select", lambda part, *rest: (parts.append(part), select(part, *rest))[1]
    )
    return parts


def rest_of(part, y, n):
    """The rows whose responses are not those of a part, of the last n rows."""
    return [i for i in range(len(y) - n, len(y)) if y[i] not in part.y]


def oracle(Z, y, sigma, first=0, level=0.9):
    """Estimates, p-values and intervals of the coefficients from column `first` on, by normal equations."""
    G, free = np.linalg.inv(Z.T @ Z), len(y) - Z.shape[1]
    beta, law = G @ Z.T @ y, stats.norm if sigma > 0 else stats.t(free)
    scale = sigma if sigma > 0 else np.linalg.norm(y - Z @ beta) / math.sqrt(free)
    spread = scale * np.sqrt(np.diag(G))
    ends = beta[:, None] + np.outer(spread, [-1, 1]) * law.ppf((1 + level) / 2)
    return [values[first:] for values in (beta, spread, 2 * law.sf(np.abs(beta / spread)), ends)]


def agrees(found, expected):
    mine = (found.estimate, found.standard_error, found.p_value, found.interval)
    for a, b in zip(mine, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    for low, high in (found.bounds.T, np.moveaxis(found.interval_bounds, 2, 0)):
        assert np.all((low < high) & (high - low <= 1e-8 * np.abs(high)))
    assert np.all(found.truncation == [-math.inf, math.inf])


@OPTIONS
@pytest.mark.parametrize("sigma", [1.5, math.nan])
def test_a_split_is_least_squares_on_the_rows_that_did_not_select(sigma, options, parts):
    X, y = design(1, n=43)
    w = np.r_[np.zeros(6), np.random.default_rng(2).uniform(0.5, 2, 37)]
    path, root = sl.omp(X, y, 4, forced=[5], sample_weight=w, **options), np.sqrt(w)
    problem = sl.Problem(X, y, sample_weight=w, **options)
    given = "unknown" if math.isnan(sigma) else sigma
    found, again, third = (
        split(problem, path, np.arange(6, 43), 4, None, given, 0.9, 1, rng) for rng in (3, 3, 4)
    )
    rows = rest_of(parts[0], y * root, 37)
    first = np.setdiff1d(np.arange(6, 43), rows)
    S = sl.omp(X[first], y[first], 4, forced=[5], sample_weight=w[first], **options).support
    assert found.support.tolist() == S.tolist()
    Z = np.column_stack([np.ones(43)] * bool(options) + [X[:, S]]) * root[:, None]
    agrees(found, oracle(Z[rows], (y * root)[rows], sigma, int(bool(options))))
    assert "selected on 18 rows, coefficients of the other 19 rows" in found.model
    assert found == again != third


def test_several_splits_take_twice_the_median(parts):
    X, y = design(4, signal=0.5)
    path, P = sl.omp(X, y, 5), np.ones((6, 8))
    found = split(sl.Problem(X, y), path, np.arange(40), 3, None, 1.0, 0.9, 6, 0)
    np.testing.assert_allclose(np.exp(found.log_p_value), found.p_value, rtol=1e-12)
    for row, part in zip(P, parts, strict=True):
        rows, S = rest_of(part, y, 40), sl.omp(part, 3).support
        row[S] = oracle(X[np.ix_(rows, S)], y[rows], 1.0)[2]
    expected = np.minimum(1, 2 * np.median(P, axis=0))[path.support[:3]]
    np.testing.assert_allclose(found.p_value, expected, rtol=1e-9)
    assert found.support.tolist() == path.support[:3].tolist()
    assert np.any((P.min(axis=0)[path.support[:3]] < expected) & (expected < 1))
    assert np.isnan([found.interval, found.truncation]).all()
    none = sl.inference(X, y, path, k=0, sigma=1.0)
    assert "a half selects" in str(found)
    assert "a half selects" not in str(none)
    assert len(none) == none.forward_stop(0.1) == 0


def test_selection_is_repeated_by_the_method_of_the_path():
    X, y = design(6, n=60)
    Z, z = design(39, n=30)
    part = sl.Problem(Z * [1, 9, 1, 1, 1, 1, 1, 1], z, intercept=True)  # OMP prefers long columns
    found = [select(part, method(X, y, 3, forced=[2]), None, None) for method in (sl.omp, sl.ols)]
    assert found == [method(part, 3, forced=[2]).support.tolist() for method in (sl.omp, sl.ols)]
    assert found[0] != found[1]
    lasso = sl.lasso_path(X, y, forced=[2], max_steps=4)
    assert set(select(part, lasso, 3, None)) == {2, *sl.lasso_path(part, forced=[2]).active[2]}
    at = np.flatnonzero(sl.lasso_path(part, forced=[2]).at(5.0))
    assert set(select(part, sl.lasso_path(X, y, forced=[2], max_steps=1), None, 5.0)) == set(at)
    assert len(at) == 5
    whole, path = sl.omp(part, 6), sl.omp(X, y, 6)
    for criterion, gamma in (("bic", 0.0), ("ebic", 1 - math.log(30) / (4 * math.log(8)))):
        t, sizes = np.arange(7), [math.comb(8, j) for j in range(7)]
        scores = 30 * np.log(whole.residual_norm**2) + t * math.log(30) + 2 * gamma * np.log(sizes)
        best = np.argmin(scores) if criterion == "bic" else np.flatnonzero(np.diff(scores) > 0)[0]
        assert select(part, path, criterion, None) == whole.support[:best].tolist() != []
    few = part.of_rows(np.arange(4))
    refuses("k must be at most 3 on the data that select", select, few, path, 5, None)
    refuses(r"k must be at most \d on the data that select .*; got 4", select, few, lasso, None, None)


@OPTIONS
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_randomization_selects_and_infers_on_independent_responses(gamma, options, parts):
    X, y = design(8, n=300)
    w = np.r_[np.zeros(100), np.full(200, 0.25)]
    problem, root = sl.Problem(X, y, sample_weight=w, **options), np.sqrt(w)
    path = sl.omp(problem, 3)
    found, again, third = (
        randomize(
            problem, path, np.arange(100, 300), None, None, Noise(sigma=3.0, words="known"), 0.9, gamma, rng
        )
        for rng in (5, 5, 6)
    )
    noise = (parts[0].y - y * root) / gamma
    assert not noise[:100].any()
    assert stats.kstest(noise[100:] / 3, "norm").pvalue > 0.01
    of_data = np.random.default_rng(5).standard_normal(300)  # data may have been drawn with the same seed
    assert not np.isin(noise[100:] / 3, of_data).any()
    assert found.support.tolist() == sl.omp(parts[0], 3).support.tolist()
    Z = np.column_stack([np.ones(300)] * bool(options) + [X[:, found.support]]) * root[:, None]
    agrees(found, oracle(Z, y * root - noise / gamma, 3 * math.hypot(1, 1 / gamma), int(bool(options))))
    assert (found.sigma, found.method) == (3, "randomized")
    assert found == again != third


@pytest.mark.parametrize("which", ["split", "split, σ unknown", "randomized"])
def test_p_values_are_uniform_and_intervals_cover_after_selection(which, parts):
    p, covered = [], []
    for seed in range(150):
        X, noise = design(seed, n=24, signal=0)
        mu = X[:, 1] * (seed % 2)
        arguments = (sl.Problem(X, mu + noise), sl.omp(X, mu + noise, 2), np.arange(24), 2, None)
        if which == "randomized":
            found, rows = randomize(*arguments, Noise(sigma=1.0, words=""), 0.8, 1.0, seed), list(range(24))
        else:
            found = split(*arguments, 1.0 if which == "split" else "unknown", 0.8, 1, seed)
            rows = rest_of(parts[-1], mu + noise, 24)
        truth = np.linalg.lstsq(X[np.ix_(rows, found.support)], mu[rows], rcond=None)[0]
        covered += list((found.interval[:, 0] < truth) & (truth < found.interval[:, 1])) if seed % 2 else []
        p += [] if seed % 2 else found.p_value.tolist()
    assert stats.kstest(p, "uniform").pvalue > 0.01
    if which != "split, σ unknown":  # its t-tests assume that the mean is in the span
        assert abs(np.mean(covered) - 0.8) < 3 * math.sqrt(0.16 / len(covered))


def steps(X, y, k, **options):
    """The bounds of the spacing test, the events of k steps, and the path."""
    path = sl.lasso_path(X, y, max_steps=k, **options)
    trace = trace_of(path, None, None)
    return (
        spacing(Basis(sl.Problem(X, y), np.unique(trace.features)), trace.steps, Noise(sigma=2.0, words=""))[
            0
        ],
        trace.steps,
        path,
    )


def test_the_spacing_test_is_its_formula():
    counted = 0
    for seed in range(30):
        X, y = design(seed, n=12, d=9, signal=1)
        bounds, events, path = steps(X, y, 6, forced=[4] * (seed % 2))
        left = [t for t, event in enumerate(events) if not event.enters]
        assert np.isnan(bounds[:, 0]).tolist() == [t >= min(left, default=6) for t in range(6)]
        for t in range(min(left, default=6) - 1):  # the knot before one leaves may be another
            u = np.zeros(12)
            for sign, event in zip((-1, 1), events[t : t + 2], strict=True):
                u += sign * np.linalg.pinv(X[:, list(event.before)]).T @ np.array(event.signs)
            ends = np.r_[math.inf, path.knots][t : t + 3] * np.linalg.norm(u) / 2
            last, here, after = stats.norm.sf(ends)
            np.testing.assert_allclose(bounds[t], (here - last) / (after - last), rtol=1e-6)
            assert 0 < bounds[t, 1] - bounds[t, 0] < 1e-8 * bounds[t, 1]
            counted += 1
    assert counted > 100


def test_the_spacing_test_and_the_exact_test():
    """They agree for orthogonal columns; otherwise either p-value may be larger, see `spacing`."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 6)))[0] * [1, 2, 3, 1, 2, 3]
    bounds, _, path = steps(Q, np.arange(9.0), 5)
    exact = sl.inference(Q, np.arange(9.0), path, sigma=2.0).step_p_value
    np.testing.assert_allclose(bounds.mean(axis=1), exact, rtol=1e-9)
    X, p = np.array([[-5.8, 2.7, 7.8], [0, -1.25, 2.1], [0, 0, 0.05]]), []
    for y in 2 * np.random.default_rng(1).standard_normal((900, 3)):
        p.append(steps(X, y, 2)[0].mean(axis=1))
    assert stats.kstest(np.array(p)[:, 0], "uniform", alternative="greater").pvalue > 0.01
    assert stats.binomtest(int(np.sum(np.array(p)[:, 1] <= 0.2)), 900, 0.2).pvalue < 1e-4


def test_knockoffs_have_the_gram_matrix_of_the_features():
    X, _ = design(9, n=33, d=12)
    for options, n in (({}, 24), ({"intercept": True}, 25), ({"intercept": True}, 33)):
        both, y = knockoffs.augment(sl.Problem(100 + X[:n], 50 + X[:n, 1], **options), 0)
        A, B = both[:, :12], both[:, 12:]
        Z, gram = 100 + X[:n] - (100 + X[:n]).mean(axis=0) * bool(options), A.T @ A
        s, unit = min(1, 31 / 16 * np.linalg.eigvalsh(gram)[0]), Z / np.linalg.norm(Z, axis=0)
        for mine, expected in ((A, unit), (B.T @ B, gram), (A.T @ B, gram - s * np.eye(12))):
            np.testing.assert_allclose(mine, expected, atol=1e-11)
        assert not options or np.abs(np.r_[both.sum(axis=0), y.sum()]).max() < 1e-9
    both, _ = knockoffs.augment(sl.Problem(np.eye(8)[:, :3], np.ones(8)), 0)  # s = 1
    np.testing.assert_allclose(both.T @ both, np.eye(6), atol=1e-12)


def test_the_exchange_of_a_feature_and_its_knockoff_flips_its_sign(monkeypatch):
    X, y = design(10, n=60, d=12, signal=0.3)
    both, z = knockoffs.augment(sl.Problem(X, y, intercept=True), 1)
    path, Z = sl.lasso_path(both, z), np.zeros(24)
    for t in reversed(range(len(path))):
        Z[list(path.active[t])] = path.knots[t]
    found, order = sl.knockoffs(X, y, rng=1), np.arange(24).reshape(2, 12)
    np.testing.assert_allclose(found.W, [max(a, b) * np.sign(a - b) for a, b in Z.reshape(2, 12).T])
    assert np.sort(Z)[:-3:-1] == pytest.approx(path.knots[:2])
    order[:, [0, 5, 7]] = order[::-1, [0, 5, 7]]
    monkeypatch.setattr(knockoffs, "augment", lambda *_: (both[:, order.ravel()], z))
    flipped = np.where(np.isin(np.arange(12), [0, 5, 7]), -1, 1)
    np.testing.assert_allclose(sl.knockoffs(X, y, rng=1).W, flipped * found.W)
    assert found.status is sl.Status.COMPLETED


def test_the_false_discovery_rate_and_the_threshold():
    rates, heads = [], 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((70, 30)) + rng.standard_normal((70, 1))
        y = 0.5 * X[:, :12].sum(axis=1) + 7 + rng.standard_normal(70)
        found = sl.knockoffs(X, y, q=0.2, rng=seed)
        W, heads = found.W, heads + np.sum(found.W[12:] > 0)
        good = [t for t in abs(W) if t and 1 + sum(w <= -t for w in W) <= 0.2 * sum(w >= t for w in W)]
        assert found.threshold == min(good, default=math.inf)
        assert found.selected.tolist() == [j for j in range(30) if W[j] >= found.threshold]
        rates.append(np.mean(found.selected >= 12) if len(found.selected) else 0.0)
    assert 0.05 < np.mean(rates) < 0.2 + 3 * np.std(rates) / math.sqrt(120)
    assert stats.binomtest(int(heads), 120 * 18).pvalue > 0.01


@pytest.mark.parametrize("seed", [21, 107, 202, 392, *range(4)])
def test_each_exchange_flips_one_sign(seed, monkeypatch):
    """A pair ties for the first four seeds if s = 2λ_min(Σ), at the end of the path; the lower index won."""
    rng = np.random.default_rng([1, seed])
    X, y = rng.standard_normal((13, 4)), rng.standard_normal(13)
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    both, z = knockoffs.augment(sl.Problem(X, y, intercept=True), seed)
    found = sl.knockoffs(X, y, rng=seed)
    assert found.W.all()
    for j in range(4):
        order = np.arange(8).reshape(2, 4)
        order[:, j] = order[::-1, j]
        exchanged = both[:, order.ravel()], z
        monkeypatch.setattr(knockoffs, "augment", lambda *_, pair=exchanged: pair)
        flipped = np.where(np.arange(4) == j, -1, 1) * found.W
        np.testing.assert_allclose(sl.knockoffs(X, y, rng=seed).W, flipped, rtol=1e-9)
        monkeypatch.undo()


def test_knockoffs_ignore_scales_and_rows_without_weight_and_have_a_table():
    X, y = design(11, n=50, d=10)
    X[:, :6] += 0.1 * y[:, None]
    problem = sl.Problem(X, y, sample_weight=np.arange(50) < 40, names=list("abcdefghij"))
    found, few = sl.knockoffs(problem, q=0.4, rng=4), sl.knockoffs(problem, q=0.01)
    np.testing.assert_allclose(
        sl.knockoffs(X[:40] * np.arange(1, 11), y[:40], rng=4, intercept=False).W, found.W
    )
    assert not np.allclose(sl.knockoffs(X[:40], y[:40], rng=3, intercept=False).W, found.W)
    frame = found.to_frame("pandas")
    assert frame["W"].tolist() == sorted(found.W, reverse=True)
    assert set(frame.loc[frame["selected"], "name"]) == {"abcdefghij"[j] for j in found.selected} != set()
    assert f"{len(found.selected)} of 10 features" in repr(found)
    assert "needs at least 100 features" in str(few)


def test_rows_without_weight_are_found():
    X, y = np.array([[0.0, 0], [1, 2], [0, 3], [0, 0], [5, 0]]), np.array([1.0, 0, 2, 3, 4])
    for form, intercept in ((X, False), (X, True), (sparse.csc_array(X), False)):
        problem = sl.Problem(form, y, sample_weight=[1, 2, 0, 0, 3], intercept=intercept)
        assert problem.weighted_rows().tolist() == [0, 1, 4]


def test_refusals():
    X, y = design(12, n=20)
    problem, wide, path = sl.Problem(X, y), sl.Problem(*design(1, 20, 10)), sl.omp(X, y, 2)
    centred = sl.Problem(wide.X, wide.y, intercept=True)

    def divide(data, k, sigma=1.0, splits=1):
        return split(data, sl.omp(data, k), np.arange(20), k, None, sigma, 0.9, splits, 0)

    refuses("splits must be at least 1", divide, problem, 2, splits=0)
    refuses("two rows with a positive weight", split, problem, path, np.arange(1), 1, None, 1.0, 0.9, 1, 0)
    refuses("the selected features are dependent", divide, sl.Problem(np.eye(20)[:, :6], y), 1)
    for data, k, sigma in ((problem, 0, 1.0), (wide, 9, "unknown"), (wide, 10, 1.0), (centred, 9, 1.0)):
        assert len(split(data, sl.omp(data, max(k, 1)), np.arange(20), k, None, sigma, 0.9, 1, 0)) == k
    for data, k in ((wide, 10), (centred, 9)):
        refuses(
            "10 rows for the inference do not determine 10 coefficients and σ", divide, data, k, "unknown"
        )
    refuses("a model fits y exactly", divide, sl.Problem(X[:, :1], X[:, 0]), 1, "unknown")
    known = problem, path, np.arange(20), 2, None, Noise(sigma=1.0, words=""), 0.9
    refuses("gamma must be positive", randomize, *known, 0, 0)
    words = "at least 16 rows with a positive weight, twice .* without looking at y"
    refuses(words, sl.knockoffs, X[:15], y[:15], intercept=False)
    refuses("at least 17 rows .* plus one", sl.knockoffs, X[:16], y[:16])
    refuses("x3 depends on the others", sl.knockoffs, X[:, [0, 1, 2, 0]], y)
    refuses("q must be between 0 and 1", sl.knockoffs, X, y, q=1)
    gram = sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y)
    refuses("rows of X are needed", sl.knockoffs, gram, error=TypeError)


def test_lambda_of_a_split_is_that_of_the_rows_that_select(parts):
    X, y = design(20, n=41)
    path, w = sl.lasso_path(X, y), np.random.default_rng(1).uniform(0.5, 2, 41)
    w[[4, 9]] = 0
    calls = []
    for weight in (None, w):
        given = {} if weight is None else {"sample_weight": weight}
        path = sl.lasso_path(X, y, **given)
        for lam in (8.0, lambda *rows: calls.append(rows) or 3.0):
            sl.inference(X, y, path, lam=lam, method="split", sigma=1.0, **given)
            part = parts[-1]
            root = np.ones(41) if weight is None else np.sqrt(weight)
            first = np.flatnonzero(np.isin(y * root, part.y) & (root > 0))
            share = np.sum(root[first] ** 2) / np.sum(root**2)
            assert len(first) == np.count_nonzero(root) // 2
            level = 3.0 if callable(lam) else 8.0 * share
            S = np.flatnonzero(
                sl.lasso_path(X[first], y[first], **{k: v[first] for k, v in given.items()}).at(level)
            )
            found = sl.inference(X, y, path, lam=lam, method="split", sigma=1.0, **given)
            assert sorted(found.support) == S.tolist() != []
            assert ("chosen on the rows that select" if callable(lam) else "have their share") in str(found)
        for one, other in zip(calls.pop(), (X, y, weight), strict=False):
            np.testing.assert_array_equal(one, other[first])
        calls.clear()


def test_the_advice_for_a_lambda_of_cross_validation_works_when_it_is_followed():
    from sparselin.estimators import LassoLarsCV

    lam, p = (lambda X, y: len(y) * LassoLarsCV().fit(X, y).alpha_), []
    for seed in range(40):
        X, y = design(seed, n=30, d=4, signal=0)
        path = sl.lasso_path(X, y, intercept=True)
        for options in ({}, {"method": "exact"}):
            words = r"method='split' and a function lam\(X, y\) .* lam=lambda X, y: len\(y\) \* LassoLarsCV"
            refuses(words, sl.inference, X, y, path, lam=lam, error=TypeError, **options)
        p += sl.inference(X, y, path, lam=lam, method="split", rng=seed).p_value.tolist()
        several = sl.inference(X, y, path, lam=lam, method="split", splits=2)
        assert np.all(several.p_value <= 1)
    assert len(p) > 20
    assert stats.kstest(p, "uniform").pvalue > 0.01
    problem = sl.Problem(X, y, intercept=True)
    refuses("Pass X and y", sl.inference, problem, None, path, lam=lam, method="split", error=TypeError)
    refuses("nonnegative", sl.inference, X, y, path, lam=lambda X, y: -1.0, method="split")
    assert len(sl.inference(X, y, path, lam=lambda X, y: 0.0, method="split")) == 4
    refuses("lam needs a LassoPath", sl.inference, X, y, sl.omp(X, y, 2), lam=lam, method="split")


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array], ids=str)
def test_knockoffs_have_an_intercept_unless_told_otherwise(form):
    """The model is wrong if y has a mean and there is no intercept."""
    X, y = design(30, n=60, d=10, signal=0)
    Z = form(X + 3)
    found = sl.knockoffs(Z, y, q=0.5)
    for other in (
        sl.knockoffs(Z, y + 8, q=0.5),
        sl.knockoffs(Z, y, q=0.5, intercept=True),
        sl.knockoffs(sl.Problem(Z, y, intercept=True), q=0.5),
    ):
        np.testing.assert_allclose(other.W, found.W, rtol=1e-3 if form is np.float32 else 1e-7)
        assert other.with_intercept
    w = np.linspace(0.5, 2, 60)
    for given in ({}, {"sample_weight": w}):
        with pytest.warns(UserWarning, match="not bounded then: pass intercept=True"):
            assert not sl.knockoffs(form(X), y + 8, intercept=False, **given).with_intercept
    with pytest.warns(UserWarning, match="pass intercept=True"):
        sl.knockoffs(sl.Problem(form(X), y + 8))
    refuses("intercept must be passed with the data", sl.knockoffs, sl.Problem(Z, y), intercept=True)


@pytest.mark.parametrize("options", [{}, {"intercept": False}], ids=str)
def test_knockoffs_take_weights_as_inverse_variances_up_to_a_factor(options):
    X, y = design(31, n=50, d=8, signal=1)
    X[5] = y[5] = 0  # a row of weight 1
    w = np.random.default_rng(2).uniform(0.5, 2, 50)
    found = sl.knockoffs(X, y, q=0.4, rng=3, sample_weight=w, **options)
    gone = np.insert(w, [0, 9, 50], 0)
    longer = np.insert(X, [0, 9, 50], 50.0, axis=0), np.insert(y, [0, 9, 50], -60.0)
    assert (found.W > 0).any()
    for other, unit in (
        (sl.knockoffs(*longer, q=0.4, rng=3, sample_weight=gone, **options), 1),
        (sl.knockoffs(X, y, q=0.4, rng=3, sample_weight=7 * w, **options), math.sqrt(7)),
    ):
        np.testing.assert_allclose(other.W, unit * found.W, rtol=1e-9)
        assert other.selected.tolist() == found.selected.tolist()
