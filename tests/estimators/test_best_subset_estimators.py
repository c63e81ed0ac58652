"""The best subset in scikit-learn against enumeration: the regressor, and the selector with groups."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from refusals import refuses, warns
from scipy.optimize import lsq_linear
from selector_cases import FRAME, TARGET
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparselin as sl
from sparselin.estimators import BestSubsetRegressor, BestSubsetSelector
from sparselin.results import Status

GROUPS = np.array([0, 0, 1, 1, 1, 2, 3, 3])
SIDES = np.tile([-0.5, 1.5], (8, 1))


def least(X, y, weight, S, ridge, sides, intercept):
    """Return the minimum of Σ w(y − b₀ − Xβ)² + Σ ridge_jβ_j² on the columns S, with its β and b₀."""
    mean, level = (np.average(A, axis=0, weights=weight) * intercept for A in (X, y))
    root = np.sqrt(weight)
    A = np.vstack([root[:, None] * (X - mean)[:, S], np.diag(np.sqrt(ridge[S]))])
    b = np.concatenate([root * (y - level), np.zeros(len(S))])
    beta = np.zeros(X.shape[1])
    if len(S):
        low, high = sides[S].T
        bounds = low - 1e-300, high + 1e-300
        beta[S] = lsq_linear(A, b, bounds, method="bvls", tol=1e-15).x
    r = b - A @ beta[S]
    return float(r @ r), beta, float(level - mean @ beta)


def enumerate_sets(
    X, y, k, *, groups=None, forced=(), weight=None, ridge=0.0, sides=None, intercept=True, standardize=False
):
    """Return the value, β and b₀ of the best set of at most k units, by enumeration."""
    n, d = X.shape
    groups = np.arange(d) if groups is None else np.asarray(groups)
    weight = np.ones(n) if weight is None else weight
    sides = np.tile([-np.inf, np.inf], (d, 1)) if sides is None else sides
    scale = np.full(d, ridge, float)
    if standardize:
        mean = np.average(X, axis=0, weights=weight) * intercept
        scale *= np.average((X - mean) ** 2, axis=0, weights=weight)
    first = set(groups[list(forced)].tolist())
    rest = sorted(set(groups.tolist()) - first)
    return min(
        (
            least(X, y, weight, np.flatnonzero(np.isin(groups, [*first, *some])), scale, sides, intercept)
            for some in itertools.combinations(rest, k - len(first))
        ),
        key=lambda item: item[0],
    )


@pytest.fixture
def drawn(rng):
    X = rng.standard_normal((40, 8)) + rng.standard_normal(8)
    X[:, 5] = X[:, 0] + 0.5 * rng.standard_normal(40)
    y = X[:, [0, 3, 6]] @ [2.0, -1.0, 1.0] + 2 * rng.standard_normal(40) + 3
    return X, y, rng.integers(0, 4, 40) + 0.0


OPTIONS = {
    "plain": ({}, {}),
    "ridge": ({"ridge": 20.0}, {}),
    "ridge, standardize": ({"ridge": 20.0, "standardize": True}, {}),
    "proved box": ({"box": "proved"}, {}),
    "box": ({"box": 0.8}, {"sides": np.tile([-0.8, 0.8], (8, 1))}),
    "sides": ({"box": SIDES, "ridge": 1.0}, {"sides": SIDES}),
    "positive": ({"positive": True}, {"sides": np.tile([0.0, np.inf], (8, 1))}),
    "groups": ({"groups": GROUPS}, {}),
    "groups, ridge, forced": ({"groups": GROUPS, "ridge": 5.0, "forced": [6]}, {}),
    "forced": ({"forced": [7, 2], "ridge": 1.0}, {}),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_regressor_is_enumeration(drawn, name, weighted, intercept):
    X, y, w = drawn
    given, others = OPTIONS[name]
    weight = w if weighted else None
    for k in (2, 3):
        model = BestSubsetRegressor(k, fit_intercept=intercept, **given).fit(X, y, weight)
        same = {key: value for key, value in given.items() if key not in ("box", "positive")}
        value, beta, level = enumerate_sets(X, y, k, weight=weight, intercept=intercept, **same, **others)
        assert model.result_.optimal
        assert 2 * model.result_.objective == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(model.coef_, beta, atol=1e-7)
        np.testing.assert_allclose(model.intercept_, level, atol=1e-7)
        np.testing.assert_allclose(model.predict(X), X @ beta + level, atol=1e-6)
        r2 = 1 - np.sum((y - X @ beta - level) ** 2) / np.sum((y - y.mean()) ** 2)
        assert model.score(X, y) == pytest.approx(r2, abs=1e-7)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 20.0])
@pytest.mark.parametrize("forced", [(), (4,)])
def test_the_selector_is_enumeration(drawn, grouped, ridge, forced):
    """Its sets are those of the ridge; its models are least squares on them."""
    X, y, w = drawn
    groups, most = (GROUPS, 4) if grouped else (np.arange(8), 5)
    options = {"ridge": ridge, "groups": GROUPS if grouped else None, "forced": forced}
    found = BestSubsetSelector(3, max_features=most, **options).fit(X, y, w)
    assert found.sizes_.tolist() == list(range(len(forced), most + 1))
    for k, best in zip(found.sizes_[1:].tolist(), found.path_, strict=True):
        value, beta, _ = enumerate_sets(X, y, k, weight=w, groups=groups, forced=forced, ridge=ridge)
        assert 2 * best.objective == pytest.approx(value, rel=1e-9)
        at = found.at(k)
        S = np.flatnonzero(beta)
        assert np.flatnonzero(at.get_support()).tolist() == S.tolist()
        assert len(np.unique(groups[S])) == at.k_ == k
        assert at.n_features_ == len(S)
        value, beta, level = least(X, y, w, S, np.zeros(8), np.tile([-np.inf, np.inf], (8, 1)), True)
        np.testing.assert_allclose(at.coef_, beta, atol=1e-7)
        np.testing.assert_allclose(at.intercept_, level, atol=1e-7)
        assert at.scores_[k - len(forced)] == pytest.approx(value / w.sum(), rel=1e-9)
    assert (found.groups_ is None) != grouped


def test_whole_groups_are_selected(drawn):
    """A column of zeros belongs to its group; so does a column that the others determine."""
    X, y, _ = drawn
    X[:, 1], X[:, 4] = 0.0, X[:, 2] + X[:, 3]
    found = BestSubsetSelector(2, groups=GROUPS, ridge=0.1).fit(X, y)
    whole = np.flatnonzero(np.isin(GROUPS, GROUPS[found.selected_]))
    assert found.get_support(True).tolist() == whole.tolist()
    assert {0, 1} <= set(found.selected_)
    assert found.coef_[1] == 0
    everything = BestSubsetSelector(4, groups=GROUPS, ridge=0.1).fit(X, y)
    assert everything.k_ == 4
    assert everything.n_features_ == 8


# Warnings


def hard(rng):
    return rng.standard_normal((60, 120)), rng.standard_normal(60)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [BestSubsetRegressor, BestSubsetSelector])
def test_a_subset_that_is_not_proved_warns(rng, cls):
    words = r"the subset of .*[68] features is not proved to be the best .*; gap \d"
    hurried = cls(8 if cls is BestSubsetRegressor else 6, ridge=1e-3, time_limit=0.0)
    model = warns(words, hurried.fit, *hard(rng), category=ConvergenceWarning)
    if cls is BestSubsetRegressor:
        assert model.result_.saved is not None
        more = sl.resume_subset(model.result_, node_limit=3)
        assert more.lower_bound >= model.result_.lower_bound
    else:
        assert all(best.saved is None for best in model.path_)


def test_ctrl_c_ends_the_path(drawn, monkeypatch):
    X, y, _ = drawn
    whole = sl.best_subset

    def interrupted(problem, k, **options):
        return whole(problem, k, **options, callback=(lambda state: True) if k == 3 else None)

    monkeypatch.setattr(sl, "best_subset", interrupted)
    selector = BestSubsetSelector(5, ridge=1.0)
    found = warns("3 features is not proved", selector.fit, X, y, category=ConvergenceWarning)
    assert found.sizes_.tolist() == [0, 1, 2, 3]
    assert found.result_.status is Status.STOPPED


# Data and parameters


def test_kinds_of_data(drawn):
    X, y, _ = drawn
    X[np.abs(X) < 0.5] = 0
    model = BestSubsetRegressor(3, ridge=1.0).fit(X, y)
    for given in (sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X, columns=list("abcdefgh"))):
        other = BestSubsetRegressor(3, ridge=1.0).fit(given, y)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)
        np.testing.assert_allclose(other.predict(given), model.predict(X), rtol=1e-9)
    assert other.feature_names_in_.tolist() == list("abcdefgh")
    assert set(other.result_.support_names) <= set("abcdefgh")
    single = BestSubsetRegressor(3, ridge=1.0).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.coef_.dtype == single.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.coef_, model.coef_, rtol=1e-4)


def test_in_a_pipeline_and_a_search():
    steps = make_pipeline(StandardScaler(), BestSubsetRegressor())
    tried = {"bestsubsetregressor__n_nonzero_coefs": [1, 5], "bestsubsetregressor__ridge": [1.0, 1e4]}
    search = GridSearchCV(steps, tried, cv=3).fit(FRAME, TARGET)
    assert list(search.best_params_.values()) == [5, 1.0]
    model = search.best_estimator_[-1]
    again = pickle.loads(pickle.dumps(model))
    assert again.coef_.tolist() == model.coef_.tolist()
    assert again.result_ == model.result_
    assert clone(model).get_params() == model.get_params()


def test_bad_parameters_are_named(drawn):
    X, y, _ = drawn
    for words, given in (
        (r"k must be in 1\.\.8; got 9", {"n_nonzero_coefs": 9}),
        (r"k must be in 1\.\.4; got 5: there are 4 groups", {"n_nonzero_coefs": 5, "groups": GROUPS}),
        ("ridge must be nonnegative", {"ridge": -1.0}),
        ("box must contain 0", {"box": np.tile([1.0, 2.0], (8, 1))}),
        ("a label for each of the 8 features", {"groups": [1, 2]}),
        ("gap must be nonnegative", {"gap": -0.1}),
        ("Did you mean", {"forced": ["bmj"]}),
    ):
        data = (FRAME, TARGET) if "forced" in given else (X, y)
        refuses(words, BestSubsetRegressor(**given).fit, *data)
