"""Selectors for scikit-learn: its own checks, the functions behind them, brute force, and what is refused."""

import math
import pickle
import tracemalloc
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import sparselin as sl
from sparselin import estimators
from sparselin.estimators import (
    BestSubsetSelector,
    DiverseSelector,
    OLSSelector,
    OMPSelector,
    SequentialAttentionSelector,
    SequentialLassoSelector,
)
from sparselin.greedy._groups import group_omp

SELECTORS = [
    OMPSelector,
    OLSSelector,
    SequentialLassoSelector,
    SequentialAttentionSelector,
    DiverseSelector,
    BestSubsetSelector,
]
FRAME, Y = load_diabetes(as_frame=True, return_X_y=True)
X, y = FRAME.to_numpy(), Y.to_numpy()
seeded = pytest.mark.parametrize("selector", SELECTORS, ids=lambda cls: cls.__name__)


def make(cls, *args, **given):
    """With a seed, where one is used."""
    return cls(*args, **given, **({"random_state": 0} if cls is SequentialAttentionSelector else {}))


def noise(rng, n=60, d=12):
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return X, X[:, 2] * 2 - X[:, 7] + rng.standard_normal(n)


def test_all_are_here():
    assert {cls.__name__ for cls in SELECTORS} <= set(estimators.__all__)


@pytest.mark.filterwarnings("ignore::UserWarning")
@seeded
def test_check_estimator(selector, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check is skipped
    results = check_estimator(selector(), expected_failed_checks={}, on_skip=None, on_fail="raise")
    assert len(results) > 50
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "selector",
    [
        OMPSelector(1),
        OMPSelector(tol=0.3, standardize=True),
        DiverseSelector(2, search="greedy_local"),
        SequentialLassoSelector(loss="poisson", forced=(0,)),
    ],
    ids=str,
)
def test_check_estimator_otherwise(selector, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(selector, expected_failed_checks={}, on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_check_estimator_of_two_classes():
    """A check of array APIs may be skipped: its classes are separated, and it needs a feature."""
    results = check_estimator(OMPSelector("cv", cv=2, loss="logistic"), on_skip=None, on_fail="raise")
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}


OF = {
    OMPSelector: lambda k, **given: sl.omp(X, y, k, intercept=True, **given),
    OLSSelector: lambda k, **given: sl.ols(X, y, k, intercept=True, **given),
    SequentialLassoSelector: lambda k, **given: sl.sequential_lasso(X, y, k, intercept=True, **given),
    SequentialAttentionSelector: lambda k, **given: sl.sequential_attention(X, y, k, intercept=True, **given),
    DiverseSelector: lambda k, **given: sl.forward_regression(
        X, y, k, intercept=True, standardize=True, sample_weight=np.full(len(y), 1 / len(y)), nu=0.1,
        regularizer=sl.spectral.SmoothedDifferentialEntropy(1.0), **given,
    ),
    BestSubsetSelector: lambda k, **given: sl.best_subset(X, y, k, intercept=True, **given),
}  # fmt: skip


@pytest.mark.parametrize("forced", [(), (3, 0)], ids=["", "forced"])
@seeded
def test_the_functions_behind(selector, forced):
    found = make(selector, 5, forced=forced).fit(X, y)
    want = OF[selector](5, forced=forced)
    assert set(found.selected_) == set(want.support)
    coef = found.coef_[want.support]
    np.testing.assert_allclose(coef, want.coef, rtol=1e-9, atol=1e-9 * np.abs(want.coef).max())
    np.testing.assert_allclose(found.intercept_, want.intercept, rtol=1e-9)
    np.testing.assert_allclose(found.scores_[-1], (1 - want.r2) * y.var(), rtol=1e-9)
    assert found.sizes_.tolist() == list(range(len(forced), 6))
    assert found.k_ == found.n_features_ == found.get_support().sum() == 5


@seeded
def test_another_k_without_fitting_again(selector, monkeypatch):
    found = make(selector, 3, max_features=6).fit(X, y)
    again = [make(selector, k).fit(X, y) for k in (1, 6)]
    before = found.selected_.copy()
    monkeypatch.setattr(selector, "_path", None)
    for k, other in zip((1, 6), again, strict=True):
        at = found.at(k)
        assert at.k_ == k
        assert at.get_support(True).tolist() == other.get_support(True).tolist()
        np.testing.assert_allclose(at.coef_, other.coef_, rtol=1e-9)
        assert clone(at).n_features_to_select == k
    assert found.k_ == 3
    assert found.selected_.tolist() == before.tolist()
    with pytest.raises(ValueError, match=r"k must be in 0\.\.6; got 7"):
        found.at(7)


def direct(name, X, y, supports, p, gamma, variance=None):
    """The criterion from the likelihood of numpy's least squares with an intercept."""
    Y, n, scores = y.reshape(len(y), -1), len(y), []
    q = Y.shape[1]
    for chosen, S in supports:
        A = np.column_stack([np.ones(n), X[:, S]])
        residual = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
        square = np.sum(residual**2)
        fit = n * q * math.log(square / (n * q)) if variance is None else square / variance
        rank = np.linalg.matrix_rank(A) - 1
        weight = {"aic": 2.0}.get(name, math.log(n))
        extra = 2 * gamma * math.log(math.comb(p, chosen)) if name == "ebic" else 0.0
        scores.append(fit + weight * q * rank + extra)
    return np.array(scores)


@pytest.mark.parametrize("name", ["aic", "bic", "ebic"])
@pytest.mark.parametrize("variance", [None, 1.3])
def test_criteria(rng, name, variance):
    X, y = noise(rng, 60, 80)
    found = OMPSelector(name, noise_variance=variance, max_features=9, forced=[4], exclude=[70]).fit(X, y)
    path = sl.omp(np.delete(X, 70, 1), y, 9, intercept=True, forced=[4])
    gamma = 1 - math.log(60) / (4 * math.log(78))
    supports = [(t - 1, path.support[:t]) for t in range(1, 10)]
    want = direct(name, X, y, supports, 78, gamma, variance)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-9)
    rises = [t for t in range(8) if want[t + 1] > want[t]]
    assert found.k_ == 1 + (rises[0] if name == "ebic" else want.argmin())
    assert found.gamma_ == (pytest.approx(gamma) if name == "ebic" else None)


def test_criterion_of_dependent_columns(rng):
    """Forward regression takes the copy of a column for the sake of f; it is no parameter."""
    X, y = noise(rng, 60, 8)
    X[:, 5] = X[:, 2]
    found = DiverseSelector("bic", max_features=8).fit(X, y)
    supports = [(0, [])] + [(len(one), one.support) for one in found.path_]
    np.testing.assert_allclose(found.scores_, direct("bic", X, y, supports, 8, 0), rtol=1e-9)
    assert found.sizes_[-1] == 8


def test_ebic_stops_at_its_first_minimum():
    """With many features of noise EBIC falls again, below that minimum."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5000))
    y = 2 * X[:, 3] - X[:, 8] + rng.standard_normal(100)
    found = OMPSelector("ebic", gamma=0.75).fit(X, y)
    assert found.selected_.tolist() == [3, 8]
    assert found.scores_[-1] < found.scores_[2] < found.scores_[3]


def test_gamma_can_be_given(rng):
    X, y = noise(rng)
    found = OMPSelector("ebic", gamma=0.7, max_features=5).fit(X, y)
    path = sl.omp(X, y, 5, intercept=True)
    want = direct("ebic", X, y, [(t, path.support[:t]) for t in range(6)], 12, 0.7)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-9)


def test_weights_repeat_rows(rng):
    X, y = noise(rng)
    weight = rng.integers(0, 4, len(y))
    for rule in ("ebic", 4):
        one = OMPSelector(rule).fit(X, y, sample_weight=weight)
        many = OMPSelector(rule).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
        assert one.selected_.tolist() == many.selected_.tolist()
        np.testing.assert_allclose(one.scores_, many.scores_, rtol=1e-9)
        np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-9)


def brute_force_groups(X, Y, groups, k, forced=()):
    """Group OMP by its definition: the norm of the gradient, with numpy's least squares and an intercept."""
    order, n = list(forced), len(Y)
    while True:
        S = np.flatnonzero(np.isin(groups, order))
        A = np.column_stack([np.ones(n), X[:, S]])
        B = np.linalg.lstsq(A, Y, rcond=None)[0]
        residual = Y - A @ B
        if len(order) == k:
            return order, B, residual
        left = [g for g in np.unique(groups) if g not in order]
        gains = [np.linalg.norm(X[:, groups == g].T @ residual) for g in left]
        order.append(left[int(np.argmax(gains))])


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("forced", [(), (9, 1)])
def test_groups_and_several_outputs(rng, q, grouped, forced):
    X = rng.standard_normal((50, 14)) + 2
    Y = X[:, [1, 5, 6]] @ rng.standard_normal((3, q)) + rng.standard_normal((50, q))
    groups = rng.permutation(np.repeat(np.arange(6), [1, 2, 3, 4, 3, 1])) if grouped else np.arange(14)
    want, B, residual = brute_force_groups(X, Y, groups, 4, dict.fromkeys(groups[list(forced)]))
    found = OMPSelector(4, groups=groups if grouped else None, forced=forced).fit(X, Y if q > 1 else Y[:, 0])
    S = np.flatnonzero(np.isin(groups, want))
    assert np.flatnonzero(found.get_support()).tolist() == S.tolist()
    np.testing.assert_allclose(np.atleast_2d(found.coef_)[:, S], B[1:].T, rtol=1e-8)
    np.testing.assert_allclose(found.intercept_, B[0] if q > 1 else B[0, 0], rtol=1e-8)
    np.testing.assert_allclose(found.scores_[-1], np.mean(residual**2), rtol=1e-9)
    if grouped or q > 1:
        assert found.path_.order.tolist() == want
        np.testing.assert_allclose(found.path_.predict(X), Y - residual, rtol=1e-8)
    if grouped:
        assert found.groups_[found.path_.order].tolist() == want


def test_criterion_of_groups(rng):
    """The dummies of a category have the rank of one less beside an intercept; C(p, u) counts groups."""
    labels = rng.integers(0, 3, 80)
    X = np.column_stack([np.eye(3)[labels], rng.standard_normal((80, 4))])
    Y = np.column_stack([labels == 1, X[:, 4]]) + 0.3 * rng.standard_normal((80, 2))
    groups = [0, 0, 0, 1, 1, 2, 3]
    found = OMPSelector("ebic", groups=groups, gamma=0.4, max_features=4).fit(X, Y)
    chosen = [found.path_.order[:t] for t in range(len(found.path_) + 1)]
    supports = [(len(some), np.flatnonzero(np.isin(groups, some))) for some in chosen]
    np.testing.assert_allclose(found.scores_, direct("ebic", X, Y, supports, 4, 0.4), rtol=1e-9)


def test_group_ties_and_endings(rng):
    """Equal groups are tied, whatever their numbers, and a group in the span of S is never picked."""
    for _ in range(20):
        A, Q = rng.standard_normal((30, 2)), np.linalg.qr(rng.standard_normal((2, 2)))[0]
        X = np.column_stack([rng.standard_normal((30, 2)), A, A @ Q])
        Y = A @ rng.standard_normal((2, 2))
        path = group_omp(X, Y, 3, groups=np.array([0, 0, 1, 1, 2, 2]))
        assert path.ties[0] == (1, 2)
        assert path.order.tolist() == [1]
        assert path.margin[0] < 1e-12
        assert path.status is sl.Status.EXACT_FIT
    more = group_omp(X, Y + rng.standard_normal((30, 2)), 3, groups=np.array([0, 0, 1, 1, 2, 2]))
    assert sorted(more.order.tolist()) == [0, 1]
    assert more.status is sl.Status.RANK_EXHAUSTED
    none = group_omp(np.eye(4)[:, :2], np.eye(4)[:, 2:], 1)
    assert none.status is sl.Status.NO_CORRELATION
    assert none.predict(np.ones((2, 2))).tolist() == [[0, 0], [0, 0]]


def test_group_ties_beside_nearly_dependent_columns(rng):
    """Columns that differ by one in the span of S are tied, however badly rounding has left that span."""
    for _ in range(10):
        a, b, u = rng.standard_normal((3, 30))
        X = np.column_stack([a, a + 1e-6 * b, u, u + b])
        Y = rng.standard_normal((30, 2))
        path = group_omp(X, Y, 2, groups=np.array([0, 0, 1, 2]), forced=(0,))
        assert path.ties[1] == (1, 2)
        assert path.order.tolist() == [0, 1]
        assert group_omp(X[:, :3], Y, 2, groups=np.array([0, 0, 1]), forced=(0,)).margin[1] == 1


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_groups_are_compared_beside_an_intercept(rng, far):
    """The near-dependence of uncentred columns on the ones does not blur the comparison."""
    X = rng.standard_normal((40, 6)) * [1, 1, 1, 1, 1, 1] + far
    Y = X[:, [4, 1]] + 0.1 * rng.standard_normal((40, 2))
    path = group_omp(X, Y, 2, intercept=True)
    assert sorted(path.order.tolist()) == [1, 4]
    assert all(len(tied) == 1 for tied in path.ties)


@pytest.mark.parametrize("standardize", [False, True])
def test_one_output_in_groups_of_one_is_omp(rng, standardize):
    X, y = noise(rng)
    weight = rng.integers(0, 3, len(y)) + 0.0
    given = {"intercept": True, "standardize": standardize, "sample_weight": weight}
    path, want = group_omp(X, y[:, None], 6, **given), sl.omp(X, y, 6, **given)
    assert path.support.tolist() == want.support.tolist()
    for name in ("lam_star", "margin", "residual_norm"):
        np.testing.assert_allclose(getattr(path, name), getattr(want, name), rtol=1e-9)
    np.testing.assert_allclose(path.coef_at(4)[:, 0], want.coef_at(4), rtol=1e-9)
    np.testing.assert_allclose(path.intercept_path[:, 0], want.intercept_path, rtol=1e-9)


def errors_by_hand(cls, X, y, splits, k, weight=None):
    """Mean squared errors in cross-validation, a fit for each fold and number of features."""
    totals = []
    for t in range(1, k + 1):
        squares, sizes = [], []
        for train, test in splits:
            w = np.ones(len(y)) if weight is None else weight
            fold = make(cls, t).fit(X[train], y[train], sample_weight=w[train])
            S = fold.get_support()
            line = LinearRegression().fit(X[train][:, S], y[train], sample_weight=w[train])
            squares.append(np.average((y[test] - line.predict(X[test][:, S])) ** 2, weights=w[test]))
            sizes.append(w[test].sum())
        totals.append(np.average(squares, weights=sizes))
    return np.array(totals)


@pytest.mark.parametrize("weighted", [False, True])
@seeded
def test_cross_validation_has_one_path_for_each_fold(selector, weighted, rng, monkeypatch):
    X, y = noise(rng, 50, 8)
    weight = rng.integers(1, 4, 50) + 0.0 if weighted else None
    splits = list(KFold(3).split(X))
    want = errors_by_hand(selector, X, y, splits, 4, weight)
    paths, path = [], selector._path
    monkeypatch.setattr(selector, "_path", lambda *given: paths.append(1) or path(*given))
    found = make(selector, "cv", cv=3, max_features=4).fit(X, y, sample_weight=weight)
    assert len(paths) == 4  # three folds, and all rows
    np.testing.assert_allclose(found.scores_[1:], want, rtol=1e-8)
    assert found.k_ == found.scores_.argmin()
    curve = found.cross_validation_
    few = make(selector, "cv_1se", cv=3, max_features=4).fit(X, y, sample_weight=weight)
    assert few.k_ == np.argmax(curve.error <= curve.error.min() + curve.standard_error[found.k_])


def test_a_path_that_ends_early_in_a_fold_keeps_its_last_model(rng):
    X, y = noise(rng, 40, 8)
    X[10:, 3] = 0  # constant where the first of four folds is left out
    splits = list(KFold(4).split(X))
    with pytest.warns(UserWarning, match="ended with k=7"):
        want = errors_by_hand(OMPSelector, X, y, splits, 8)
    found = OMPSelector("cv", cv=4, max_features=8).fit(X, y)
    np.testing.assert_allclose(found.scores_[1:], want, rtol=1e-8)


@pytest.mark.parametrize(("n", "d", "rule", "longest"), [
    (60, 80, "bic", 29), (60, 12, "bic", 12), (200, 80, "bic", 30), (40, 80, "cv", 15), (3, 8, "bic", 1),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:the least score")
def test_the_longest_path(rng, n, d, rule, longest):
    """30, or one less than half the rows, of a fold with "cv"."""
    X, y = noise(rng, n, d)
    assert OMPSelector(rule).fit(X, y).sizes_.tolist() == list(range(longest + 1))


def test_folds_at_once(rng):
    X, y = noise(rng)
    with joblib.parallel_config(backend="threading"):
        one, two = (OMPSelector("cv", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.scores_.tolist() == two.scores_.tolist()
    pickle.loads(pickle.dumps(two))  # for processes


def test_one_hot_classes():
    X, labels = load_iris(return_X_y=True)
    Y = np.eye(3)[labels]
    found = OMPSelector("cv").fit(X, Y)  # sorted by class: stratified folds
    want = OMPSelector("cv", cv=StratifiedKFold(5).split(X, labels)).fit(X, Y)
    assert found.scores_.tolist() == want.scores_.tolist()
    again = OMPSelector("cv").fit(sp.csr_array(X), sp.csr_array(Y))
    np.testing.assert_allclose(found.scores_, again.scores_, rtol=1e-9)
    assert found.coef_.shape == (3, 4)
    assert found.intercept_.shape == (3,)


@seeded
def test_names(selector):
    found = make(selector, 4, forced=["sex"], exclude=["bmi", "s5"]).fit(FRAME, Y)
    assert "sex" in found.get_feature_names_out()
    assert not {"bmi", "s5"} & set(found.get_feature_names_out())
    inner = make(selector, 4, forced=["sex"]).fit(FRAME.drop(columns=["bmi", "s5"]), Y)
    assert found.get_feature_names_out().tolist() == inner.get_feature_names_out().tolist()
    path = found.path_ if hasattr(found.path_, "names") else found.path_[-1]
    assert path.names == tuple(FRAME.columns)
    np.testing.assert_allclose(path.predict(FRAME), FRAME.to_numpy() @ found.coef_ + found.intercept_)
    with pytest.raises(ValueError, match="Did you mean 'bmi'"):
        make(selector, 4, exclude=["bmj"]).fit(FRAME, Y)


def test_excluded_columns_in_every_field(rng):
    X, y = noise(rng)
    X[:, 9] = X[:, 7]
    kept = np.delete(np.arange(12), [0, 5])
    found = SequentialAttentionSelector(3, exclude=[5, 0], random_state=0).fit(X, y).path_
    inner = SequentialAttentionSelector(3, random_state=0).fit(X[:, kept], y).path_
    assert found.support.tolist() == kept[inner.support].tolist()
    for name in ("ties", "active_sets"):
        mapped = [tuple(kept[list(some)].tolist()) for some in getattr(inner, name)]
        assert list(getattr(found, name)) == mapped
    assert any(len(tied) > 1 for tied in found.ties)
    for wide, narrow in zip(found.weights, inner.weights, strict=True):
        assert wide[kept].tolist() == narrow.tolist()
        assert not wide[[0, 5]].any()
    groups = OMPSelector(2, exclude=[5, 0], groups=[0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4]).fit(X, y).path_
    assert groups.groups.tolist() == [-1, 0, 1, 1, 1, -1, 2, 3, 3, 4, 4, 4]


@seeded
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_frames(selector, library):
    found = make(selector, 3).set_output(transform=library).fit(FRAME, Y).transform(FRAME)
    assert isinstance(found, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(found.columns) == [name for name in FRAME if name in set(found.columns)]
    other = pl.DataFrame(FRAME)
    fitted = make(selector, 3).set_output(transform=library).fit(other, Y)
    again = fitted.transform(other)
    np.testing.assert_array_equal(again.to_numpy(), found.to_numpy())
    if hasattr(fitted, "feature_names_in_"):  # scikit-learn 1.7 does not know the names of polars 2
        assert list(again.columns) == list(found.columns)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix])
@seeded
def test_sparse(selector, container, rng):
    X, y = noise(rng)
    X[rng.random(X.shape) < 0.6] = 0
    for given in ({"n_features_to_select": 3}, {"n_features_to_select": "cv", "cv": 2, "max_features": 4}):
        found, want = (make(selector, **given).fit(A, y) for A in (container(X), X))
        assert found.selected_.tolist() == want.selected_.tolist()
        np.testing.assert_allclose(found.coef_, want.coef_, rtol=1e-7)
        np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-7)
    assert sp.issparse(found.transform(container(X)))


@pytest.mark.parametrize("cls", [OMPSelector, OLSSelector, SequentialLassoSelector])
@pytest.mark.parametrize("several", [False, True])
def test_sparse_is_not_made_dense(cls, several, rng):
    n, d = 1000, 20_000
    X = sp.random_array((n, d), density=1e-3, format="csr", rng=rng)
    Y = np.asarray((X[:, [3]] - X[:, [5]]).todense()) + 0.01 * rng.standard_normal((n, 2))
    selector = cls(3, exclude=[0])
    target = Y if several and cls is OMPSelector else Y[:, 0]
    selector.fit(X[:, :50], target)  # compiles
    tracemalloc.start()
    selector.fit(X, target)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < n * d * 8 / 10


@seeded
def test_float32(selector, rng):
    X, y = (a.astype(np.float32) for a in noise(rng))
    found = make(selector, 3).fit(X, y)
    assert found.coef_.dtype == np.float32
    assert found.transform(X).dtype == np.float32
    assert found.selected_.tolist() == make(selector, 3).fit(X.astype(np.float64), y).selected_.tolist()
    if selector is OMPSelector:
        several = OMPSelector(3).fit(X, np.column_stack([y, y**2]))
        assert several.coef_.dtype == several.path_.lam_star.dtype == np.float32


@seeded
def test_pipeline_and_grid(selector):
    steps = make_pipeline(StandardScaler(), make(selector), LinearRegression())
    name = selector.__name__.lower()
    search = GridSearchCV(steps, {f"{name}__n_features_to_select": [1, 0.4, "ebic"]}, cv=2)
    search.fit(FRAME, Y)
    assert search.best_params_[f"{name}__n_features_to_select"] != 1
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@seeded
def test_copies(selector):
    found = make(selector, "bic", forced=(1,)).fit(X, y)
    again = pickle.loads(pickle.dumps(found))
    assert again.transform(X).tolist() == found.transform(X).tolist()
    assert again.path_ == found.path_
    assert clone(found).get_params() == found.get_params()


def test_random_state(rng):
    X, y = noise(rng)
    weights = [
        SequentialAttentionSelector(2, random_state=seed).fit(X, y).path_.weights[0] for seed in (0, 0, 1)
    ]
    assert weights[0].tolist() == weights[1].tolist() != weights[2].tolist()


def test_share():
    assert OMPSelector(0.3).fit(X, y).k_ == 3
    assert OMPSelector(0.01).fit(X, y).k_ == 1
    assert OMPSelector(0.5, exclude=range(4)).fit(X, y).k_ == 3
    assert OMPSelector(1.0).fit(X, y).k_ == 10


@seeded
def test_tol(selector):
    norm = np.linalg.norm(y - y.mean())
    found = make(selector, tol=0.72).fit(X, y)
    left = [np.linalg.norm(y - X @ at.coef_ - at.intercept_) / norm for at in map(found.at, found.sizes_)]
    assert left[-1] <= 0.72 < left[-2]
    assert make(selector, tol=1.0).fit(X, y).k_ == 0
    assert make(selector, 1, tol=0.72).fit(X, y).k_ == 1


def test_tol_of_groups():
    Z = np.column_stack([y, y[::-1]])
    found = OMPSelector(tol=0.92).fit(X, Z)
    assert found.path_.status is sl.Status.TOLERANCE
    assert found.path_.residual_norm[-1] <= 0.92 * np.linalg.norm(Z - Z.mean(axis=0))
    assert found.path_.residual_norm[-2] > 0.92 * np.linalg.norm(Z - Z.mean(axis=0))


def test_metadata_routing(rng):
    X, y = noise(rng)
    people = rng.permutation(np.repeat(np.arange(6), 10))
    splits = list(GroupKFold(3).split(X, y, people))
    want = OMPSelector("cv", cv=splits).fit(X, y)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        OMPSelector("cv", cv=GroupKFold(3)).fit(X, y, groups=people)
    with pytest.raises(ValueError, match="fit takes sample_wieght with"):
        OMPSelector(3).fit(X, y, sample_wieght=people)
    weight = rng.integers(0, 3, 60) + 0.0
    with sklearn.config_context(enable_metadata_routing=True):
        found = OMPSelector("cv", cv=GroupKFold(3)).fit(X, y, groups=people)
        selector = OMPSelector(3).set_fit_request(sample_weight=True)
        line = LinearRegression().set_fit_request(sample_weight=False)
        steps = make_pipeline(selector, line).fit(X, y, sample_weight=weight)
    assert found.scores_.tolist() == want.scores_.tolist()
    alone = OMPSelector(3).fit(X, y, sample_weight=weight)
    assert steps[0].selected_.tolist() == alone.selected_.tolist()


class Until:
    """A callback that ends the path at k features."""

    def __init__(self, k):
        self.k, self.seen = k, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.task_name != "step":
            return False
        self.seen.append(fitted_estimator.transform(X).shape[1])
        return self.seen[-1] == self.k


@pytest.mark.skipif(not hasattr(OMPSelector, "set_callbacks"), reason="callbacks came with scikit-learn 1.9")
@pytest.mark.parametrize("rule", [5, "ebic"])
@seeded
def test_a_callback_ends_the_path(selector, rule):
    hook = Until(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make(selector, rule).set_callbacks(hook).fit(X, y)
    assert hook.seen == [1, 2]
    assert found.sizes_.tolist() == [0, 1, 2]
    assert found.k_ == 2
    assert found.selected_.tolist() == make(selector, 2).fit(X, y).selected_.tolist()


@pytest.mark.skipif(not hasattr(OMPSelector, "set_callbacks"), reason="callbacks came with scikit-learn 1.9")
@seeded
def test_a_callback_beside_tol(selector):
    assert make(selector, tol=0.72).set_callbacks(Until(2)).fit(X, y).k_ == 2


@pytest.mark.skipif(not hasattr(OMPSelector, "set_callbacks"), reason="callbacks came with scikit-learn 1.9")
def test_a_step_that_does_not_come_ends_without_an_estimator():
    class Watch(Until):
        def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator):
            size = None if fitted_estimator is None else fitted_estimator.k_
            self.seen.append((context.task_name, context.task_id, size, metadata["sample_weight"].sum()))

    hook = Watch(0)
    found = OMPSelector(tol=0.72).set_callbacks(hook).fit(X, y, sample_weight=np.full(442, 2))
    k = found.k_
    steps = [("step", i, i + 1, 884) for i in range(k)] + [("step", k, None, 884)]
    assert hook.seen == [*steps, ("fit", 0, k, 884)]
    OMPSelector(2, forced=(0, 1)).set_callbacks(nothing := Watch(0)).fit(X, y, sample_weight=np.ones(442))
    assert nothing.seen == [("fit", 0, 2, 442)]


@pytest.mark.skipif(not hasattr(OMPSelector, "set_callbacks"), reason="callbacks came with scikit-learn 1.9")
def test_a_callback_ends_the_path_of_groups():
    found = OMPSelector(5).set_callbacks(Until(3)).fit(X, np.column_stack([y, y**2]))
    assert found.k_ == 3
    assert found.path_.status is sl.Status.STOPPED


@pytest.mark.parametrize(
    ("given", "fit", "error", "words"),
    [
        ({"n_features_to_select": 11}, {}, ValueError, "=11 is more than .* n_features=10"),
        ({"n_features_to_select": 0}, {}, ValueError, "n_features_to_select must be at least 1"),
        ({"n_features_to_select": True}, {}, TypeError, "must be an integer; got True"),
        ({"n_features_to_select": 1.5}, {}, ValueError, r"in \(0, 1\]; got 1.5"),
        ({"n_features_to_select": "best"}, {}, ValueError, "'auto', 'aic', 'bic', 'ebic', 'cv', 'cv_1se'"),
        ({"n_features_to_select": "bic", "tol": 0.1}, {}, ValueError, "two rules for one number"),
        ({"n_features_to_select": 1, "forced": (0, 1)}, {}, ValueError, "forced features count: got 2"),
        ({"n_features_to_select": 5, "max_features": 3}, {}, ValueError, r"max_features must be in 5\.\.10"),
        ({"forced": (0,), "exclude": (1, 0)}, {}, ValueError, r"both have \[0\]"),
        ({"exclude": range(10)}, {}, ValueError, "exclude must leave a column"),
        ({"groups": [0, 1]}, {}, ValueError, "a label for each of the 10 features"),
        ({"noise_variance": 0}, {}, ValueError, "noise_variance must be positive"),
        ({"gamma": -1}, {}, ValueError, "gamma must be nonnegative"),
        ({}, {"sample_weight": -np.ones(442)}, ValueError, "sample_weight must be nonnegative"),
        ({}, {"sample_weight": np.ones(442) / 442}, ValueError, "no degree of freedom is left for 'ebic'"),
        ({}, {"y": np.where(y > 100, "ill", "well")}, ValueError, "LabelBinarizer"),
        ({}, {"y": Y[::-1]}, ValueError, "labels of the rows of X in another order"),
        ({"n_features_to_select": "cv"}, {"y": np.sort(y) > 140}, None, ""),
        ({"n_features_to_select": "cv", "cv": 2}, {"y": np.r_[np.zeros(221), np.ones(221)]}, ValueError,
         "y is constant on the 221 rows that fold 1 of 2 fits"),
        ({"n_features_to_select": "cv"}, {"y": np.eye(3)[np.r_[2, np.arange(441) % 2]]}, ValueError,
         "a class that is seen once, column 2"),
        ({"n_features_to_select": "cv", "cv": [(np.arange(400), np.arange(400, 442))]}, {}, ValueError,
         "at least two splits; got 1"),
        ({"n_features_to_select": "cv", "cv": [(np.arange(9), np.arange(9, 442))] * 2, "max_features": 9}, {},
         ValueError, "max_features=9 is more than fold 1 of 2 can tell apart: it fits 9 rows"),
        ({"n_features_to_select": "cv", "cv": 2}, {"sample_weight": np.r_[np.zeros(221), np.ones(221)]},
         ValueError, "fold 1 of 2 has rows of sample_weight zero only"),
        ({"loss": "hinge"}, {}, ValueError, "one of .'squared', 'logistic', 'poisson'.; got 'hinge'"),
        ({"loss": "poisson", "groups": range(10)}, {}, ValueError, "groups must be None for loss='poisson'"),
        ({"loss": "logistic", "noise_variance": 1.0}, {}, ValueError, "noise_variance must be None for loss"),
        ({"loss": "poisson"}, {"y": np.c_[y, y]}, ValueError, "y must be a vector .* loss='squared'"),
        ({"loss": "poisson"}, {"y": y - 200}, ValueError, "y must hold counts, or rates, ≥ 0 for loss='poi"),
        ({"loss": "poisson"}, {"y": np.where(y > 100, "ill", "well")}, ValueError, "pass loss='logistic'"),
        ({"loss": "logistic"}, {"y": y // 150}, ValueError, "two classes for .*; got 3. .* one-hot columns"),
        ({"loss": "logistic"}, {"y": np.full(442, "a")}, ValueError, "y must have two classes for .*; got 1"),
        ({"loss": "logistic", "n_features_to_select": "cv"}, {"y": np.where(y == y.max(), "top", "rest")},
         ValueError, "a class that is seen once, 'top'"),
        ({"loss": "logistic", "n_features_to_select": "cv", "cv": KFold(2)}, {"y": np.arange(442) < 221},
         ValueError, "y is constant on the 221 rows that fold 1 of 2 fits"),
        ({"loss": "logistic", "forced": ["bmi"]}, {"y": X[:, 2] > 0}, ValueError,
         "the 1 forced features have no model on 442 rows: with the next feature the data are separated"),
    ],
)  # fmt: skip
def test_what_is_refused(given, fit, error, words):
    selector = OMPSelector(**given)
    if error is None:
        assert selector.fit(FRAME, **{"y": y, **fit})
        return
    with pytest.raises(error, match=words):
        selector.fit(FRAME, **{"y": y, **fit})


@pytest.mark.parametrize("cls", SELECTORS[1:])
def test_only_omp_takes_several_outputs(cls):
    with pytest.raises(ValueError, match="OMPSelector takes several outputs"):
        cls().fit(X, np.column_stack([y, y]))


def test_what_is_told(rng):
    X, y = noise(rng, 8, 20)
    with pytest.warns(UserWarning, match="ended with k=7, short of 9 as asked for: the residual"):
        found = OMPSelector(9).fit(X, y)
    assert found.k_ == 7
    with pytest.warns(UserWarning, match="ended with k=2, short of tol=0.001: there are no more"):
        OMPSelector(tol=1e-3, exclude=range(2, 20)).fit(X, y)
    with pytest.warns(UserWarning, match="ended with k=1, short of tol=0.001: max_features is reached"):
        OMPSelector(tol=1e-3, max_features=1).fit(X, y)
    with pytest.warns(UserWarning, match="k=1 fits y exactly: bic is −∞ there"):
        assert OLSSelector("bic").fit(X[:, :4], X[:, 1]).selected_.tolist() == [1]
    Z = noise(rng)[0]
    with pytest.warns(UserWarning, match="k=2 fits y exactly: bic is −∞ there"):
        assert sorted(OMPSelector("bic").fit(Z, Z[:, [3, 8]]).selected_) == [3, 8]
    X, _ = noise(rng, 100, 40)
    with pytest.warns(UserWarning, match="that of the longest path tried, 30 of 40 features"):
        OMPSelector("aic").fit(X, X.sum(axis=1) + 1e-3 * rng.standard_normal(100))


def test_zeros_of_either_sign_make_one_row():
    """With an intercept two features fit three different rows, each of them twice, without a residual."""
    rows, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.tile([1.0, 2.0, 4.0], 2)
    signed = np.where(rows == 0, -0.0, rows)
    stored = sp.coo_array((signed.ravel(), np.divmod(np.arange(6), 2)), shape=(3, 2))
    for X in (np.tile(rows, (2, 1)), np.vstack([rows, signed]), sp.vstack([sp.csc_array(rows), stored])):
        scores = OMPSelector("bic").fit(X, y).scores_
        assert np.isfinite(scores[:2]).all()
        assert scores[2] == np.inf
    assert X.nnz == 8


def test_saturated_models_are_not_chosen(rng):
    """d > n: with as many parameters as rows any y is fitted; also where rows are repeated, or weighted."""
    X, y = noise(rng, 10, 30)
    more = np.vstack([X, rng.standard_normal((5, 30))]), np.append(y, np.zeros(5))
    for A, b, w in (
        (X, y, None),
        (np.repeat(X, 3, 0), np.repeat(y, 3), None),
        (X, y, np.full(10, 3.0)),
        (*more, np.repeat([3.0, 0.0], [10, 5])),
    ):
        for form in (np.asarray, sp.csr_array):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = OMPSelector("bic", max_features=12).fit(form(A), b, sample_weight=w)
            assert found.scores_[-1] == np.inf
            assert found.k_ < 9


def generalized(rng, loss, n=80, d=10):
    """X, responses with a signal in columns 2 and 7, and weights."""
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    eta = X[:, 2] - 0.7 * X[:, 7]
    y = rng.poisson(np.exp(eta - 1)) if loss == "poisson" else eta + rng.logistic(size=n) > eta.mean()
    return X, y + 0.0, rng.integers(1, 4, n) + 0.0


def deviance(loss, X, y, weight, S, rows, on):
    """The deviance, on some rows, of scikit-learn's fit on others with the columns S and an intercept."""
    A, exact = X[:, S], {"solver": "newton-cholesky", "tol": 1e-12}
    if loss == "poisson":
        model = PoissonRegressor(alpha=0, **exact) if len(S) else DummyRegressor()
        means = model.fit(A[rows], y[rows], weight[rows]).predict(A[on])
        return weight[on].sum() * mean_poisson_deviance(y[on], means, sample_weight=weight[on])
    model = LogisticRegression(C=np.inf, **exact) if len(S) else DummyClassifier()
    model.fit(A[rows], y[rows], weight[rows])
    return 2 * log_loss(y[on], model.predict_proba(A[on]), sample_weight=weight[on], normalize=False)


LOSSES = pytest.mark.parametrize("loss", ["logistic", "poisson"])


@LOSSES
@pytest.mark.parametrize("cls", [OMPSelector, SequentialLassoSelector])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_generalized_omp_behind(rng, loss, cls, form):
    X, y, weight = generalized(rng, loss)
    X = np.column_stack([X, X[:, 7]])  # a tie
    given = {"forced": [5], "standardize": True, "loss": loss}
    for intercept in (True, False):
        found = cls(4, exclude=[1], fit_intercept=intercept, **given).fit(form(X), y, weight)
        kept = np.delete(np.arange(11), 1)
        want = sl.generalized_omp(
            form(X[:, kept]), y, 4, sample_weight=weight, **{**given, "forced": [4]}, intercept=intercept
        )
        assert isinstance(found.path_, sl.GeneralizedPath)
        assert found.path_.support.tolist() == kept[want.support].tolist() == found.selected_.tolist()
        assert found.path_.ties == tuple(tuple(kept[list(tied)].tolist()) for tied in want.ties)
        assert max(map(len, found.path_.ties)) == 2
        assert found.coef_[found.selected_].tolist() == want.coef.tolist()
        assert np.count_nonzero(found.coef_) == 4
        assert found.intercept_ == want.intercept
        assert found.coef_.dtype == want.coef.dtype
        np.testing.assert_allclose(found.scores_, want.deviance[1:] / weight.sum(), rtol=1e-6)
        assert found.at(2).coef_[found.selected_[:2]].tolist() == want.coef_at(2).tolist()
        at = found.path_.linear_predictor(X)
        np.testing.assert_allclose(at, X @ found.coef_ + found.intercept_, rtol=1e-4)


@LOSSES
@pytest.mark.parametrize("name", ["aic", "bic", "ebic"])
def test_criteria_by_the_deviance(rng, loss, name):
    X, y, weight = generalized(rng, loss)
    found = OMPSelector(name, loss=loss, forced=[4], max_features=6, gamma=0.6).fit(X, y, weight)
    n, rows, ks = weight.sum(), np.arange(len(y)), np.arange(1, 7)
    fits = [deviance(loss, X, y, weight, found.path_.support[:k], rows, rows) for k in ks]
    penalty = ks * (2 if name == "aic" else math.log(n))
    if name == "ebic":
        penalty = penalty + [1.2 * math.log(math.comb(9, k - 1)) for k in ks]
    np.testing.assert_allclose(found.scores_, fits + penalty, rtol=1e-7)
    assert {2, 7} <= set(found.selected_)


@LOSSES
def test_dependent_forced_columns_are_no_parameters(rng, loss):
    X, y, weight = generalized(rng, loss)
    weight[:9] = 0
    X[:, 3], X[9:, 5], X[:, 6] = 2 * X[:, 4] - 1, 7.0, 0.0
    both = OMPSelector("bic", loss=loss, forced=[4, 3, 5, 6]).fit(X, y, weight)
    one = OMPSelector("bic", loss=loss, forced=[4]).fit(X, y, weight)
    np.testing.assert_allclose(both.scores_, one.scores_[: len(both.scores_)], rtol=1e-9)
    plain = OMPSelector("bic", loss=loss, forced=[4, 5], fit_intercept=False).fit(X, y, weight)
    np.testing.assert_allclose(plain.scores_[0], one.scores_[0] + math.log(weight.sum()), rtol=1e-9)


@LOSSES
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
def test_cross_validation_by_the_deviance(rng, loss, form):
    X, y, weight = generalized(rng, loss, 90, 8)
    weight[::10] = 0
    found = OMPSelector("cv", loss=loss, max_features=3).fit(form(X), y, weight)
    splits = (StratifiedKFold(5) if loss == "logistic" else KFold(5)).split(X, y)
    errors, sizes = [], []
    for train, test in splits:
        S = sl.generalized_omp(X[train], y[train], 3, loss=loss, sample_weight=weight[train]).support
        sizes.append(weight[test].sum())
        errors.append([deviance(loss, X, y, weight, S[:t], train, test) / sizes[-1] for t in range(4)])
    want = np.average(errors, axis=0, weights=sizes)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-7)
    assert found.k_ == want.argmin()
    of_mean = np.average([fold[0] for fold in errors], weights=sizes)
    np.testing.assert_allclose(found.cross_validation_.r2, 1 - want / of_mean, rtol=1e-5, atol=1e-7)


def test_labels_of_any_kind(rng):
    X, y, _ = generalized(rng, "logistic")
    want = sl.generalized_omp(X, y, 2, loss="logistic")
    words = np.where(y > 0, "well", "ill")
    for labels in (words, words.astype(object), pd.Series(words, dtype="category"), y > 0, 5 - 3 * (y < 1)):
        found = OMPSelector(2, loss="logistic").fit(X, labels)
        assert found.classes_.tolist() == np.unique(labels).tolist()
        assert found.selected_.tolist() == want.support.tolist()
        assert found.coef_[want.support].tolist() == want.coef.tolist()
    assert OMPSelector(2).fit(X, y).classes_ is None
    steps = make_pipeline(StandardScaler(), OMPSelector(loss="logistic"), LogisticRegression())
    search = GridSearchCV(steps, {"ompselector__n_features_to_select": [1, "bic", "cv"]}, cv=3)
    assert search.fit(X, words).best_score_ > 0.6


@LOSSES
def test_tol_of_the_deviance(rng, loss):
    X, y, _ = generalized(rng, loss)
    found = SequentialLassoSelector(tol=0.8, loss=loss).fit(X, y)
    share = found.path_.deviance / found.path_.deviance[0]
    assert share[-1] <= 0.8 < share[-2]
    assert OMPSelector(tol=1.0, loss=loss).fit(X, y).k_ == 0


def test_separated_classes(rng):
    """The last model that is finite is kept, and the status told."""
    X, y, _ = generalized(rng, "logistic")
    X[:, 3] = np.where(y > 0, 1, -1) * rng.uniform(0.01, 3, len(y))
    X[:, 5] = np.where(y > 0, 1, -1) * rng.uniform(1, 1.1, len(y)) * 9
    words = "ended with k=1{}: with the next feature the data are separated"
    given = {"loss": "logistic", "forced": [2], "exclude": [0]}
    with pytest.warns(UserWarning, match=words.format(", short of 3 as asked for")):
        found = OMPSelector(3, **given).fit(X, y)
    want = sl.generalized_omp(X, y, 1, loss="logistic", forced=[2])
    assert found.path_.unfitted == (5,)
    for rule in ("ebic", "cv"):
        with pytest.warns(UserWarning, match="path " + words.format("")):
            found = OMPSelector(rule, **given).fit(X, y)
        assert found.sizes_.tolist() == [1]
        assert found.selected_.tolist() == [2]
        np.testing.assert_allclose(found.coef_[2], want.coef[0], rtol=1e-9)


def test_a_path_without_features_in_cross_validation(rng):
    """Also where folds could pick one."""
    X, y, _ = generalized(rng, "logistic")
    with pytest.warns(UserWarning, match="the path ended with k=0"):
        assert OMPSelector("cv", loss="logistic").fit(np.c_[X, 1e3 * y], y).k_ == 0
    even = np.tile([1.0, -1.0], 20)[:, None]
    found = OMPSelector("cv", fit_intercept=False).fit(even, np.repeat([1.0, 2.0], 20))
    assert found.scores_.tolist() == [2.5]


def test_a_mean_beyond_the_floats(rng):
    """A count far from the others' X: its deviance overflows, and fewer features are chosen."""
    X, y, _ = generalized(rng, "poisson")
    X[0, 2], y[0] = 1e5, 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = OMPSelector("cv", loss="poisson", max_features=2, cv=KFold(4), exclude=[7]).fit(X, y)
    assert found.k_ == 0
    assert found.scores_[1] == np.inf


def test_best_subset_that_is_not_proved(rng):
    X = rng.standard_normal((60, 40))
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="not proved to be the best"):
        BestSubsetSelector(8, time_limit=0.0).fit(X, rng.standard_normal(60))


def test_standardize(rng):
    X, y = noise(rng)
    lengths = 10.0 ** rng.integers(-3, 4, 12)
    plain = OMPSelector(4, standardize=True).fit(X, y)
    assert OMPSelector(4, standardize=True).fit(X * lengths, y).selected_.tolist() == plain.selected_.tolist()
    assert OMPSelector(4).fit(X * lengths, y).selected_.tolist() != plain.selected_.tolist()
    diverse = DiverseSelector(4).fit(X, y)
    assert (
        DiverseSelector(4).fit(X * lengths, y, np.full(60, 7.0)).selected_.tolist()
        == diverse.selected_.tolist()
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("selector", [OMPSelector, OLSSelector])
@pytest.mark.parametrize("tol", [0.0, 1e-17, 1e-3])
def test_an_exact_fit_is_within_any_tolerance(selector, tol):
    rng = np.random.default_rng(3)
    Z = rng.integers(-3, 4, (12, 5)).astype(float)
    found = selector(tol=tol).fit(Z, Z[:, 1] - 2 * Z[:, 3])
    assert found.k_ == 2
