"""The number of features that selectors choose: criteria, cross-validation, tolerances, shares."""

import math
import pickle
import warnings

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from losses import NAMED
from refusals import warns
from selector_cases import DIABETES, SELECTORS, alike, each_selector, generalized, make, noise
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import KFold, StratifiedKFold

import sparselin as sl
from sparselin.estimators import (
    BestSubsetSelector,
    DiverseSelector,
    OLSSelector,
    OMPSelector,
    SequentialLassoSelector,
)
from sparselin.greedy.generalized import generalized_group_omp

# Criteria


def penalty(name, n, parameters, chosen, p, gamma):
    """Return the term that a criterion adds to −2·log-likelihood."""
    extra = 2 * gamma * math.log(math.comb(p, chosen)) if name == "ebic" else 0.0
    return {"aic": 2.0}.get(name, math.log(n)) * parameters + extra


def criterion_by_hand(name, X, y, supports, p, gamma, variance=None):
    """The criterion from the likelihood of numpy's least squares with an intercept."""
    Y, n, scores = y.reshape(len(y), -1), len(y), []
    q = Y.shape[1]
    for chosen, S in supports:
        A = np.column_stack([np.ones(n), X[:, S]])
        square = np.sum((Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]) ** 2)
        fit = n * q * math.log(square / (n * q)) if variance is None else square / variance
        rank = np.linalg.matrix_rank(A) - 1
        scores.append(fit + penalty(name, n, q * rank, chosen, p, gamma))
    return np.array(scores)


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


@pytest.mark.parametrize(("name", "given"), [("aic", None), ("bic", None), ("ebic", None), ("ebic", 0.7)])
@pytest.mark.parametrize("variance", [None, 1.3])
def test_criteria(rng, name, given, variance):
    X, y = noise(rng, 60, 80)
    options = {"gamma": given, "noise_variance": variance, "forced": [4], "exclude": [70]}
    found = OMPSelector(name, max_features=9, **options).fit(X, y)
    path = sl.omp(np.delete(X, 70, 1), y, 9, intercept=True, forced=[4])
    gamma = given or 1 - math.log(60) / (4 * math.log(78))
    supports = [(t - 1, path.support[:t]) for t in range(1, 10)]
    want = criterion_by_hand(name, X, y, supports, 78, gamma, variance)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-9)
    rises = [t for t in range(8) if want[t + 1] > want[t]]
    assert found.k_ == 1 + (rises[0] if name == "ebic" else want.argmin())
    assert found.gamma_ == (pytest.approx(gamma) if name == "ebic" else None)


def test_criterion_of_dependent_columns(rng):
    """Forward regression takes the copy of a column for the sake of f; it is no parameter."""
    X, y = noise(rng, 60, 8)
    X[:, 5] = X[:, 2]
    found = DiverseSelector("bic", max_features=8).fit(X, y)
    supports = [(0, [])] + [(len(result), result.support) for result in found.path_]
    want = criterion_by_hand("bic", X, y, supports, 8, 0)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-9)
    assert found.sizes_[-1] == 8


def test_criterion_of_groups(rng):
    """The dummies of a category lose one rank to an intercept; C(p, u) counts groups."""
    labels = rng.integers(0, 3, 80)
    X = np.column_stack([np.eye(3)[labels], rng.standard_normal((80, 4))])
    Y = np.column_stack([labels == 1, X[:, 4]]) + 0.3 * rng.standard_normal((80, 2))
    groups = [0, 0, 0, 1, 1, 2, 3]
    found = OMPSelector("ebic", groups=groups, gamma=0.4, max_features=4).fit(X, Y)
    chosen = [found.path_.order[:t] for t in range(len(found.path_) + 1)]
    supports = [(len(some), np.flatnonzero(np.isin(groups, some))) for some in chosen]
    want = criterion_by_hand("ebic", X, Y, supports, 4, 0.4)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-9)


GROUPS = np.array([0, 0, 1, 0, 2, 3, 3, 4, 5, 6])  # of columns


def columns_of(groups, chosen):
    """Return the columns of the chosen groups; without groups these are the chosen columns."""
    return chosen if groups is None else np.flatnonzero(np.isin(groups, chosen))


@NAMED
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", ["aic", "bic", "ebic"])
def test_criteria_by_the_deviance(rng, loss, name, grouped):
    X, y, weight = generalized(rng, loss)
    groups, given = GROUPS if grouped else None, {"loss": loss, "max_features": 6, "gamma": 0.6}
    found = OMPSelector(name, groups=groups, forced=[4], **given).fit(X, y, weight)
    order, p = (found.path_.order, 6) if grouped else (found.path_.support, 9)
    n, rows = len(y), np.arange(len(y))
    sets = [columns_of(groups, order[:k]) for k in range(1, 7)]
    unit = n / weight.sum()  # the weights have mean 1 in criteria
    fits = [unit * deviance(loss, X, y, weight, S, rows, rows) for S in sets]
    want = [fit + penalty(name, n, len(sets[u]), u, p, 0.6) for u, fit in enumerate(fits)]
    np.testing.assert_allclose(found.scores_, want, rtol=1e-7)
    assert {2, 7} <= set(found.selected_)


@NAMED
def test_dependent_forced_columns_are_no_parameters(rng, loss):
    X, y, weight = generalized(rng, loss)
    weight[:9] = 0
    X[:, 3], X[9:, 5], X[:, 6] = 2 * X[:, 4] - 1, 7.0, 0.0
    dependent, single = (
        OMPSelector("bic", loss=loss, forced=forced).fit(X, y, weight).scores_
        for forced in ([4, 3, 5, 6], [4])
    )
    np.testing.assert_allclose(dependent, single[: len(dependent)], rtol=1e-9)
    plain = OMPSelector("bic", loss=loss, forced=[4, 5], fit_intercept=False).fit(X, y, weight)
    np.testing.assert_allclose(plain.scores_[0], single[0] + math.log(np.count_nonzero(weight)), rtol=1e-9)


VARIANTS = [
    (OMPSelector, {"positive": True}), (OMPSelector, {"groups": range(11)}),
    (OMPSelector, {"loss": "poisson"}), (SequentialLassoSelector, {"loss": "poisson"}),
    (BestSubsetSelector, {"groups": range(11)}), (DiverseSelector, {"search": "greedy_local"}),
]  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("selector", "options"), [*((cls, {}) for cls in SELECTORS), *VARIANTS])
def test_rank_of_each_model(selector, options, intercept):
    """The forced columns are dependent and orthogonal to y, so the first model has zero coefficients.

    With `positive` a column gets the coefficient zero, and then the path takes its negative.
    """
    rng, x = np.random.default_rng(143), np.tile([1.0, 1.0, -1.0, -1.0], 4)
    half = rng.integers(-5, 6, 8)
    y, Z = np.concatenate([half, -half]), rng.standard_normal((16, 4))
    X = np.column_stack([x, 2 * x - 1, 3 * x - 1, Z, -Z])
    y, given = y**2 if "loss" in options else y, {"max_features": 8, "forced": [0, 1, 2], **options}
    aic, bic = (make(selector, s, fit_intercept=intercept, **given).fit(X, y) for s in ("aic", "bic"))
    supports = [aic.at(k).selected_ for k in aic.sizes_]
    want = [np.linalg.matrix_rank((X - intercept * X.mean(axis=0))[:, S]) for S in supports]
    np.testing.assert_allclose((bic.scores_ - aic.scores_) / (math.log(16) - 2), want, rtol=1e-9)
    assert len(want) > 3
    assert want[0] == 2 - intercept


def test_ebic_stops_at_its_first_minimum(rng):
    """EBIC falls again below that minimum if there are many features of noise."""
    X = rng.standard_normal((100, 5000))
    y = 2 * X[:, 3] - X[:, 8] + rng.standard_normal(100)
    found = OMPSelector("ebic", gamma=0.75).fit(X, y)
    assert found.selected_.tolist() == [3, 8]
    assert found.scores_[-1] < found.scores_[2] < found.scores_[3]


def test_a_fit_with_weights_is_that_of_repeated_rows(rng):
    """A criterion is not: it counts a row once, whatever its weight."""
    X, y = noise(rng)
    weight = rng.integers(0, 4, len(y))
    repeated = OMPSelector(4).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    alike(OMPSelector(4).fit(X, y, sample_weight=weight), repeated)


def test_zeros_of_either_sign_make_one_row():
    """Two features and an intercept fit three different rows, each given twice, without a residual."""
    rows, y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.tile([1.0, 2.0, 4.0], 2)
    signed = np.where(rows == 0, -0.0, rows)
    stored = sp.coo_array((signed.ravel(), np.divmod(np.arange(6), 2)), shape=(3, 2))
    for X in (np.tile(rows, (2, 1)), np.vstack([rows, signed]), sp.vstack([sp.csc_array(rows), stored])):
        scores = OMPSelector("bic").fit(X, y).scores_
        assert np.isfinite(scores[:2]).all()
        assert scores[2] == np.inf
    assert X.nnz == 8


@pytest.mark.filterwarnings("error")
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
            found = OMPSelector("bic", max_features=12).fit(form(A), b, sample_weight=w)
            assert found.scores_[-1] == np.inf
            assert found.k_ < 9


# Cross-validation


def mean_errors(errors, splits, weight):
    """The mean of errors(train, test), an error for each size, over folds that count by their weights."""
    splits = list(splits)
    sizes = [weight[test].sum() for _, test in splits]
    return np.average([errors(*split) for split in splits], axis=0, weights=sizes)


def errors_by_hand(cls, X, y, splits, k, weight=None):
    """Mean squared errors in cross-validation, a fit for each fold and number of features."""
    w = np.ones(len(y)) if weight is None else weight

    def error(t, train, test):
        S = make(cls, t).fit(X[train], y[train], sample_weight=w[train]).get_support()
        line = LinearRegression().fit(X[train][:, S], y[train], sample_weight=w[train])
        return np.average((y[test] - line.predict(X[test][:, S])) ** 2, weights=w[test])

    return mean_errors(lambda *split: [error(t, *split) for t in range(1, k + 1)], splits, w)


@pytest.mark.parametrize("weighted", [False, True])
@each_selector
def test_cross_validation_has_one_path_for_each_fold(selector, weighted, rng, monkeypatch):
    X, y = noise(rng, 50, 8)
    weight = rng.integers(1, 4, 50) + 0.0 if weighted else None
    want = errors_by_hand(selector, X, y, KFold(3).split(X), 4, weight)
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
    want = warns("ended with k=7", errors_by_hand, OMPSelector, X, y, KFold(4).split(X), 8)
    found = OMPSelector("cv", cv=4, max_features=8).fit(X, y)
    np.testing.assert_allclose(found.scores_[1:], want, rtol=1e-8)


@NAMED
@pytest.mark.parametrize("form", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("grouped", [False, True])
def test_cross_validation_by_the_deviance(rng, loss, form, grouped):
    X, y, weight = generalized(rng, loss, 90, 8)
    data, used = (X.copy(), y.copy(), weight), np.arange(90) % 10 > 0
    weight[~used] = 0
    X, y, weight = X[used], y[used], weight[used]  # as if the other rows were removed
    groups = GROUPS[:8] if grouped else None

    given = {"loss": loss, "intercept": True, "groups": np.arange(8) if groups is None else groups}

    def errors(train, test):
        order = generalized_group_omp(X[train], y[train], 3, sample_weight=weight[train], **given).order
        sets = [columns_of(groups, order[:t]) for t in range(4)]
        return [deviance(loss, X, y, weight, S, train, test) / weight[test].sum() for S in sets]

    found = OMPSelector("cv", loss=loss, groups=groups, max_features=3).fit(form(data[0]), *data[1:])
    folds = StratifiedKFold(5) if loss == "logistic" else KFold(5)
    want = mean_errors(errors, folds.split(X, y), weight)
    np.testing.assert_allclose(found.scores_, want, rtol=1e-7)
    assert found.k_ == want.argmin()
    np.testing.assert_allclose(found.cross_validation_.r2, 1 - want / want[0], rtol=1e-5, atol=1e-7)


def test_folds_at_once(rng):
    X, y = noise(rng)
    with joblib.parallel_config(backend="threading"):
        first, second = (OMPSelector("cv", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert first.scores_.tolist() == second.scores_.tolist()
    pickle.loads(pickle.dumps(second))  # for processes


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


def test_cross_validation_where_a_feature_separates_the_classes(rng):
    X, y, _ = generalized(rng, "logistic")
    selector = OMPSelector("cv", loss="logistic")
    assert warns("the path ended with k=0", selector.fit, np.c_[X, 1e3 * y], y).k_ == 0


def test_a_mean_beyond_the_floats(rng):
    """A count far from the others' X: its deviance overflows, and fewer features are chosen."""
    X, y, _ = generalized(rng, "poisson")
    X[0, 2], y[0] = 1e5, 1
    with warnings.catch_warnings(action="error"):
        found = OMPSelector("cv", loss="poisson", max_features=2, cv=KFold(4), exclude=[7]).fit(X, y)
    assert found.k_ == 0
    assert found.scores_[1] == np.inf


def test_cross_validation_without_a_feature():
    """The path on all rows selects no feature, although folds could pick one."""
    even = np.tile([1.0, -1.0], 20)[:, None]
    found = OMPSelector("cv", fit_intercept=False).fit(even, np.repeat([1.0, 2.0], 20))
    assert found.scores_.tolist() == [2.5]


# The longest path, shares, tolerances


@pytest.mark.parametrize(("n", "d", "rule", "longest"), [
    (60, 80, "bic", 29), (60, 12, "bic", 12), (200, 80, "bic", 30), (40, 80, "cv", 15), (3, 8, "bic", 1),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:the least score")
def test_the_longest_path(rng, n, d, rule, longest):
    """30, or one less than half the rows, of a fold with "cv"."""
    X, y = noise(rng, n, d)
    assert OMPSelector(rule).fit(X, y).sizes_.tolist() == list(range(longest + 1))


def test_share():
    for share, exclude, k in ((0.3, (), 3), (0.01, (), 1), (0.5, range(4), 3), (1.0, (), 10)):
        assert OMPSelector(share, exclude=exclude).fit(*DIABETES).k_ == k


@each_selector
def test_tol(selector):
    X, y = DIABETES
    norm = np.linalg.norm(y - y.mean())
    found = make(selector, tol=0.72).fit(X, y)
    left = [np.linalg.norm(y - X @ at.coef_ - at.intercept_) / norm for at in map(found.at, found.sizes_)]
    assert left[-1] <= 0.72 < left[-2]
    assert make(selector, tol=1.0).fit(X, y).k_ == 0
    assert make(selector, 1, tol=0.72).fit(X, y).k_ == 1


@NAMED
def test_tol_of_the_deviance(rng, loss):
    X, y, _ = generalized(rng, loss)
    path = SequentialLassoSelector(tol=0.8, loss=loss).fit(X, y).path_
    assert path.deviance[-1] <= 0.8 * path.deviance[0] < path.deviance[-2]
    assert OMPSelector(tol=1.0, loss=loss).fit(X, y).k_ == 0


def test_tol_of_several_outputs():
    X, y = DIABETES
    Z = np.column_stack([y, y[::-1]])
    found = OMPSelector(tol=0.92).fit(X, Z)
    assert found.path_.status is sl.Status.TOLERANCE
    left = found.path_.residual_norm / np.linalg.norm(Z - Z.mean(axis=0))
    assert left[-1] <= 0.92 < left[-2]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("selector", [OMPSelector, OLSSelector])
@pytest.mark.parametrize("tol", [0.0, 1e-17, 1e-3])
def test_an_exact_fit_is_within_any_tolerance(selector, tol, rng):
    Z = rng.integers(-3, 4, (12, 5)).astype(float)
    assert selector(tol=tol).fit(Z, Z[:, 1] - 2 * Z[:, 3]).k_ == 2


# Warnings


def test_separated_classes(rng):
    """The last finite model is kept, and the status is reported."""
    X, y, _ = generalized(rng, "logistic")
    X[:, 3] = np.where(y > 0, 1, -1) * rng.uniform(0.01, 3, len(y))
    X[:, 5] = np.where(y > 0, 1, -1) * rng.uniform(1, 1.1, len(y)) * 9
    words = "ended with k=1{}: with the next feature the data are separated"
    given = {"loss": "logistic", "forced": [2], "exclude": [0]}
    found = warns(words.format(", before it reached k=3"), OMPSelector(3, **given).fit, X, y)
    want = sl.generalized_omp(X, y, 1, loss="logistic", forced=[2], intercept=True)
    assert found.path_.unfitted == (5,)
    for rule in ("ebic", "cv"):
        found = warns("path " + words.format(""), OMPSelector(rule, **given).fit, X, y)
        assert found.sizes_.tolist() == [1]
        assert found.selected_.tolist() == [2]
        np.testing.assert_allclose(found.coef_[2], want.coef[0], rtol=1e-9)


def test_warnings(rng):
    X, y = noise(rng, 8, 20)
    assert warns("ended with k=7, before it reached k=9: the residual", OMPSelector(9).fit, X, y).k_ == 7
    few = OMPSelector(tol=1e-3, exclude=range(2, 20))
    warns("ended with k=2, before it reached tol=0.001: no features are left", few.fit, X, y)
    short = OMPSelector(tol=1e-3, max_features=1)
    warns("ended with k=1, before it reached tol=0.001: max_features is reached", short.fit, X, y)
    exact = warns("k=1 fits y exactly, so bic is −∞", OLSSelector("bic").fit, X[:, :4], X[:, 1])
    assert exact.selected_.tolist() == [1]
    Z = noise(rng)[0]
    exact = warns("k=2 fits y exactly, so bic is −∞", OMPSelector("bic").fit, Z, Z[:, [3, 8]])
    assert sorted(exact.selected_) == [3, 8]
    X, _ = noise(rng, 100, 40)
    y = X.sum(axis=1) + 1e-3 * rng.standard_normal(100)
    warns("the longest path tried, with 30 of 40 features", OMPSelector("aic").fit, X, y)


def test_groups_of_float32_columns_depend_to_the_precision_of_the_data(rng):
    """Two columns that differ in their last bits have rank one, and a sum of groups is fitted exactly."""
    X = rng.normal(size=(20, 8)).astype(np.float32)
    X[:, 1] = np.nextafter(X[:, 0], rng.choice([-9, 9], 20).astype(np.float32))
    model = OMPSelector(4, groups=np.arange(8) // 2, fit_intercept=False)
    with pytest.warns(UserWarning, match="the residual is zero to rounding"):
        path = model.fit(X, X[:, 0] + X[:, 2]).path_
    assert sorted(path.order) == [0, 1]
    assert path.ranks[-1] == 3
    assert path.status is sl.Status.EXACT_FIT
