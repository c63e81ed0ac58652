"""Callbacks of scikit-learn in estimators and selectors: what they receive, and how they end a path."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from estimator_cases import data, ours
from oracles import near
from selector_cases import DIABETES, each_selector, make
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparselin as sl
from sparselin.estimators import BestSubsetRegressor, OLSRegressor, OMPSelector, SequentialLassoRegressor

reason = "callbacks came with scikit-learn 1.9"
pytestmark = pytest.mark.skipif(find_spec("sklearn.callback") is None, reason=reason)


class Watch:
    """A callback that counts tasks, and stops each path at the k-th pick or segment of it."""

    def __init__(self, stop=None):
        self.stop, self.begun, self.ended, self.seen, self.weights = stop, [], [], [], []

    def setup(self, estimator, context):
        self.begun.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.ended.append(context.task_name)
        self.weights.append(metadata)
        if fitted_estimator is not None and np.ndim(y) == 1:
            self.seen.append((fitted_estimator.score(X, y), fitted_estimator.n_iter_))
        return context.task_name in ("pick", "segment") and context.task_id + 1 == self.stop


class Until(Watch):
    """A callback that ends the path of a selector at k features."""

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        if context.task_name != "step":
            return False
        self.seen.append(fitted_estimator.transform(X).shape[1])
        return self.seen[-1] == self.stop


class Sizes(Watch):
    """A callback that notes the number of features and the sum of weights at the end of each task."""

    def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator):
        size = None if fitted_estimator is None else fitted_estimator.k_
        self.seen.append((context.task_name, context.task_id, size, metadata["sample_weight"].sum()))


class Supports(Watch):
    """A callback that notes the best subset and the sum of weights at the end of each task."""

    def on_fit_task_end(self, estimator, context, *, metadata, fitted_estimator):
        support = fitted_estimator.result_.support.tolist()
        self.seen.append((context.task_name, support, metadata["sample_weight"].sum()))


@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars", "LassoLarsIC"])
def test_callbacks_end_the_path(rng, name):
    X, y = data(rng)
    step = "pick" if name.startswith("Orth") else "segment"
    watch = Watch(stop=3)
    model = ours(name).set_callbacks(watch).fit(X, y, sample_weight=np.ones(60))
    assert model.n_iter_ == 3
    assert watch.begun == ["setup", "fit", *[step] * 3]
    assert watch.ended == [*[step] * 3, "fit", "setup"]
    assert [k for _, k in watch.seen[:3]] == [1, 2, 3]
    assert np.all(np.diff([score for score, _ in watch.seen[:3]]) > 0)
    near(watch.seen[3][0], model.score(X, y))
    assert all((m["sample_weight"] == 1).all() for m in watch.weights)
    quiet = Watch()
    whole = ours(name).set_callbacks(quiet).fit(X, y)
    assert quiet.begun.count(step) == quiet.ended.count(step) >= whole.n_iter_
    near(whole.coef_, ours(name).fit(X, y).coef_)
    pipe = make_pipeline(StandardScaler(), ours(name).set_callbacks(Watch(stop=2))).fit(X, y)
    assert pipe[-1].n_iter_ == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["LassoLars", "LassoLarsCV"])
def test_callbacks_without_steps(rng, name):
    watch = Watch()
    model = ours(name, max_iter=0).set_callbacks(watch).fit(*data(rng))
    assert not model.coef_.any()
    assert "segment" not in watch.begun
    assert watch.begun.count("fit") == 1


def test_callbacks_of_a_fit_in_one_piece(rng):
    X, y = data(rng)
    watch = Supports()
    model = BestSubsetRegressor(3).set_callbacks(watch).fit(X, y, sample_weight=np.ones(60))
    assert watch.begun == ["setup", "fit"]
    assert watch.seen == [("fit", model.result_.support.tolist(), 60)]
    several = Watch()
    BestSubsetRegressor(3).set_callbacks(several).fit(X, np.column_stack([y, -y]))
    assert several.begun.count("target") == several.ended.count("target") == 2


@pytest.mark.parametrize("cls", [OLSRegressor, SequentialLassoRegressor])
def test_callbacks_of_regressors_on_a_path(rng, cls):
    X, y = data(rng)
    watch = Watch(stop=3)
    model = cls(5).set_callbacks(watch).fit(X, y)
    assert (model.n_iter_, watch.begun) == (3, ["setup", "fit", *["pick"] * 3])
    assert [k for _, k in watch.seen] == [1, 2, 3, 3]
    near(model.coef_, cls(3).fit(X, y).coef_)
    assert cls("loo").set_callbacks(Watch(stop=2)).fit(X, np.column_stack([y, -y])).n_iter_ == [2, 2]


@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuit", "LassoLars"])
def test_callbacks_of_targets(rng, name):
    X, y = data(rng)
    watch = Watch(stop=2)
    model = ours(name).set_callbacks(watch).fit(X, np.column_stack([y, -y, y**2]))
    assert watch.begun.count("target") == watch.ended.count("target") == 3
    assert list(model.n_iter_) == [2, 2, 2]


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("name", ["OrthogonalMatchingPursuitCV", "LassoLarsCV"])
def test_callbacks_of_folds(rng, name, n_jobs):
    X, y = data(rng)
    watch = Watch(stop=3)
    model = ours(name, cv=4, n_jobs=n_jobs).set_callbacks(watch).fit(X, y)
    assert sorted(watch.begun) == sorted(watch.ended)
    assert watch.begun.count("fold") == 4
    assert watch.begun.count("refit") == 1
    assert model.n_iter_ <= 3
    assert len(model.mse_path_) <= (3 if name.startswith("Orth") else 16)
    near(ours(name, cv=4).set_callbacks(Watch()).fit(X, y).mse_path_, ours(name, cv=4).fit(X, y).mse_path_)


def test_a_progress_bar(rng, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, y = data(rng)
    search = GridSearchCV(ours("OrthogonalMatchingPursuit"), {"n_nonzero_coefs": [1, 4]}, cv=3)
    search.set_callbacks(ProgressBar()).fit(X, y)
    ours("LassoLarsCV").set_callbacks(ProgressBar()).fit(X, y)
    assert "LassoLarsCV" in capsys.readouterr().out


@pytest.mark.parametrize(
    "rule", [{"n_features_to_select": 5}, {"n_features_to_select": "ebic"}, {"tol": 0.72}], ids=str
)
@each_selector
def test_a_callback_ends_the_path_of_a_selector(selector, rule):
    hook = Until(2)
    with warnings.catch_warnings(action="error"):
        found = make(selector, **rule).set_callbacks(hook).fit(*DIABETES)
    assert hook.seen == [1, 2]
    assert found.sizes_.tolist() == [0, 1, 2]
    assert found.k_ == 2
    assert found.selected_.tolist() == make(selector, 2).fit(*DIABETES).selected_.tolist()


def test_a_step_that_does_not_come_ends_without_an_estimator():
    watch, two = Sizes(), Sizes()
    k = OMPSelector(tol=0.72).set_callbacks(watch).fit(*DIABETES, sample_weight=np.full(442, 2)).k_
    steps = [("step", i, i + 1, 884) for i in range(k)] + [("step", k, None, 884)]
    assert watch.seen == [*steps, ("fit", 0, k, 884)]
    OMPSelector(2, forced=(0, 1)).set_callbacks(two).fit(*DIABETES, sample_weight=np.ones(442))
    assert two.seen == [("fit", 0, 2, 442)]


def test_a_callback_ends_the_path_of_groups():
    X, y = DIABETES
    found = OMPSelector(5).set_callbacks(Until(3)).fit(X, np.column_stack([y, y**2]))
    assert found.k_ == 3
    assert found.path_.status is sl.Status.STOPPED
