"""Estimators and selectors in scikit-learn: its checks, pipelines, searches, routing of metadata, frames."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from estimator_cases import ESTIMATORS, data, each_estimator, ours
from oracles import near
from refusals import refuses
from selector_cases import DIABETES, FRAME, SELECTORS, TARGET, alike, each_selector, make, noise
from sklearn import linear_model
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparselin import estimators
from sparselin.estimators import OMPSelector, SequentialAttentionSelector

# scikit-learn's own checks

OTHERWISE = (
    OMPSelector(1),
    OMPSelector(tol=0.3, standardize=True),
    OMPSelector(2, positive=True),
    estimators.DiverseSelector(2, search="greedy_local"),
    estimators.BestSubsetRegressor(),
    estimators.BestSubsetRegressor(1, ridge=0.5, box="proved", standardize=True, fit_intercept=False),
    estimators.BestSubsetSelector(2, ridge=0.5),
    estimators.OLSRegressor(),
    estimators.SequentialLassoRegressor(1, fit_intercept=False),
    estimators.LassoSelector("loo"),
    estimators.SequentialLassoSelector(loss="poisson", forced=(0,)),
)


def test_check_estimator():
    """All of them pass and none is skipped; those of the array API need a variable before SciPy is loaded."""
    code = (
        f"names = {sorted(ESTIMATORS)}"
        + """
from sklearn.utils.estimator_checks import check_estimator
from sparselin import estimators
for name in names:
    # as for scikit-learn's: there are checks with fewer rows than features
    more = {"noise_variance": 1.0} if name == "LassoLarsIC" else {}
    done = check_estimator(getattr(estimators, name)(**more), on_fail=None, on_skip=None)
    print(name, len(done) >= 50, [(r["check_name"], r["exception"]) for r in done if r["status"] != "passed"])
"""
    )
    run = [sys.executable, "-W", "ignore", "-c", code]
    env = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines() == [f"{name} True []" for name in sorted(ESTIMATORS)]


# checks that weights act as repeated rows: a criterion, or a default that needs n, counts a row once
REPEATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights are inverse variances up to a factor, so n "
    "is the number of rows and not the sum of the weights"
    for kind in ("dense", "sparse")
}


def failing_checks(selector):
    """The checks of scikit-learn that a selector does not pass, of more than 50, apart from `REPEATED`."""
    by_rows = isinstance(selector.n_features_to_select, str) if hasattr(selector, "cv") else False
    expected = REPEATED if by_rows else {}
    results = check_estimator(selector, expected_failed_checks=expected, on_skip=None, on_fail="raise")
    assert len(results) > 50
    failed = {result["check_name"] for result in results if result["status"] != "passed"}
    return failed - set(expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("selector", [*(cls() for cls in SELECTORS), *OTHERWISE], ids=str)
def test_check_selector(selector, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check is skipped
    assert not failing_checks(selector)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_check_selector_of_two_classes():
    """A check of array APIs may be skipped: its classes are separated, and it needs a feature."""
    assert failing_checks(OMPSelector("cv", cv=2, loss="logistic")) <= {"check_array_api_input"}


def test_scikit_learn_is_loaded_at_first_use():
    code = "import sys, sparselin; sparselin.estimators; print('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@each_estimator
def test_same_parameters_and_defaults(name):
    assert getattr(estimators, name)().get_params() == getattr(linear_model, name)().get_params()


def test_all_selectors_are_here():
    assert {cls.__name__ for cls in SELECTORS} <= set(estimators.__all__)


# Pipelines, searches, copies


@each_estimator
def test_in_a_pipeline_and_a_search(rng, name):
    X, y = data(rng)
    pipe = make_pipeline(StandardScaler(), ours(name)).fit(X, y)
    assert pipe.score(X, y) > 0.8
    tried = {"n_nonzero_coefs": [1, 4], "alpha": [10.0, 0.05], "max_iter": [1, 8]}
    key = next((key for key in ESTIMATORS[name] if key in tried), "max_iter")
    search = GridSearchCV(ours(name), {key: tried[key]}, cv=3).fit(X, y)
    assert search.best_params_ == {key: tried[key][1]}
    selector = make_pipeline(StandardScaler(), SelectFromModel(ours(name))).set_output(transform="pandas")
    kept = selector.fit_transform(pd.DataFrame(X, columns=[f"c{j}" for j in range(20)]), y)
    assert {"c0", "c1"} <= set(kept.columns)
    for copy in (clone(pipe[-1]).fit(*(pipe[0].transform(X), y)), pickle.loads(pickle.dumps(pipe[-1]))):
        assert np.array_equal(copy.coef_, pipe[-1].coef_)


@each_selector
def test_copies(selector):
    X, y = DIABETES
    found = make(selector, "bic", forced=(1,)).fit(X, y)
    again = pickle.loads(pickle.dumps(found))
    assert again.transform(X).tolist() == found.transform(X).tolist()
    assert again.path_ == found.path_
    assert clone(found).get_params() == found.get_params()


def test_random_state(rng):
    X, y = noise(rng)
    selectors = (SequentialAttentionSelector(2, random_state=seed) for seed in (0, 0, 1))
    weights = [selector.fit(X, y).path_.weights[0] for selector in selectors]
    assert weights[0].tolist() == weights[1].tolist() != weights[2].tolist()


# Routing of metadata


@each_estimator
def test_metadata_routing(rng, name):
    X, y = data(rng)
    weight, groups = rng.uniform(0, 2, 60), np.arange(60) // 15
    with sklearn.config_context(enable_metadata_routing=True):
        model = ours(name).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, model).fit(X, y, sample_weight=weight)
        direct = ours(name).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
        near(pipe[-1].coef_, direct.coef_)
        model.set_score_request(sample_weight=True)
        cross_validate(model, X, y, params={"sample_weight": weight}, error_score="raise")
        if name.endswith("CV"):
            model = ours(name, cv=GroupKFold(4)).fit(X, y, groups=groups, sample_weight=weight)
            folds = list(GroupKFold(4).split(X, groups=groups))
            for given in (folds, iter(folds)):
                found = ours(name, cv=given).fit(X, y, sample_weight=weight)
                near(model.mse_path_, found.mse_path_)
    if name.endswith("CV"):
        model = ours(name, cv=GroupKFold(4)).fit(X, y, weight, groups=groups)
        near(model.mse_path_, found.mse_path_)
        refuses("gruops", model.fit, X, y, gruops=groups, error=TypeError)


def test_metadata_routing_of_selectors(rng):
    X, y = noise(rng)
    people = rng.permutation(np.repeat(np.arange(6), 10))
    folds = list(GroupKFold(3).split(X, y, people))
    grouped = OMPSelector("cv", cv=GroupKFold(3))
    plain = clone(grouped).fit(X, y, groups=people)
    refuses("fit takes sample_wieght only if n_features", OMPSelector(3).fit, X, y, sample_wieght=people)
    weight = rng.integers(0, 3, 60) + 0.0
    with sklearn.config_context(enable_metadata_routing=True):
        grouped.fit(X, y, groups=people)
        selector = OMPSelector(3).set_fit_request(sample_weight=True)
        line = linear_model.LinearRegression().set_fit_request(sample_weight=False)
        steps = make_pipeline(selector, line).fit(X, y, sample_weight=weight)
    want = OMPSelector("cv", cv=folds).fit(X, y).scores_.tolist()
    assert grouped.scores_.tolist() == plain.scores_.tolist() == want
    alike(steps[0], OMPSelector(3).fit(X, y, sample_weight=weight))


# Frames


@each_estimator
def test_the_data_are_left_alone(rng, name):
    """Read-only arrays, frames and lists do; X is not written to whatever `copy_X` says."""
    X, y = data(rng)
    X.flags.writeable = y.flags.writeable = False
    copy = {"copy" if name == "OrthogonalMatchingPursuitCV" else "copy_X": False}
    model = ours(name, **({} if name == "OrthogonalMatchingPursuit" else copy)).fit(X, y)
    near(ours(name).fit(np.asfortranarray(X), y).coef_, model.coef_)
    near(ours(name).fit(X.tolist(), y.tolist()).coef_, model.coef_)
    frame = pd.DataFrame(X.copy(), columns=[f"c{j}" for j in range(20)])
    named = ours(name).fit(frame, pd.Series(y))
    assert named.feature_names_in_[3] == "c3"
    near(named.predict(frame), model.predict(X))
    refuses(r"X\['visit'\] must hold", ours(name).fit, frame.assign(visit="May"), y, error=TypeError)
    frame.iloc[2, 3] = np.nan
    refuses("NaN", ours(name).fit, frame, y)


@each_selector
def test_names(selector):
    found = make(selector, 4, forced=["sex"], exclude=["bmi", "s5"]).fit(FRAME, TARGET)
    assert "sex" in found.get_feature_names_out()
    assert not {"bmi", "s5"} & set(found.get_feature_names_out())
    inner = make(selector, 4, forced=["sex"]).fit(FRAME.drop(columns=["bmi", "s5"]), TARGET)
    assert found.get_feature_names_out().tolist() == inner.get_feature_names_out().tolist()
    path = found.path_ if hasattr(found.path_, "names") else found.path_[-1]
    assert path.names == tuple(FRAME.columns)
    np.testing.assert_allclose(path.predict(FRAME), FRAME.to_numpy() @ found.coef_ + found.intercept_)
    refuses("Did you mean 'bmi'", make(selector, 4, exclude=["bmj"]).fit, FRAME, TARGET)
    for value in ("male", pd.Timestamp(0)):
        words = r"X\['visit'\] must hold real numbers; got dtype"
        refuses(words, make(selector).fit, FRAME.assign(visit=value), TARGET, error=TypeError)


@each_selector
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_frames(selector, library):
    found = make(selector, 3).set_output(transform=library).fit(FRAME, TARGET).transform(FRAME)
    assert isinstance(found, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(found.columns) == [name for name in FRAME if name in set(found.columns)]
    other = pl.DataFrame(FRAME)
    fitted = make(selector, 3).set_output(transform=library).fit(other, TARGET)
    again = fitted.transform(other)
    np.testing.assert_array_equal(again.to_numpy(), found.to_numpy())
    if hasattr(fitted, "feature_names_in_"):  # scikit-learn 1.7 does not know the names of polars 2
        assert list(again.columns) == list(found.columns)
