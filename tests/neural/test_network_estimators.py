"""Tests of the network estimators: scikit-learn's conventions, classes, weights, prediction."""

import itertools
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from refusals import refuses, warns
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils.estimator_checks import check_estimator
from torch import nn

from sparselin.estimators import (
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    SequentialAttentionClassifier,
    SequentialAttentionRegressor,
)
from sparselin.neural import LassoNetSettings, SkipNetwork, lassonet_path, mlp
from sparselin.neural.training import seeded, squared_error

# On full batches in float64, so that repeating rows, or their order, changes rounding only.
SMALL = {"hidden_layer_sizes": (8,), "batch_size": None, "dtype": "float64", "random_state": 0}
ATTENTION = {**SMALL, "epochs": 60, "learning_rate": 0.03}
LASSONET = {**SMALL, "epochs": (60, 6), "patience": None, "learning_rate": (0.03, 1e-3), "growth": 2.0}
LASSONET["validation_fraction"] = 0.0


CHECKED = [
    SequentialAttentionClassifier(1.0, **ATTENTION),
    SequentialAttentionRegressor(**ATTENTION),
    LassoNetClassifier(1.0, **LASSONET),
    # Some checks have columns of mean 100, for which steps longer than about 1e-4 diverge.
    LassoNetRegressor(0.5, **LASSONET | {"learning_rate": (0.03, 1e-5)}),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=lambda value: type(value).__name__)
def test_check_estimator(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize("kind", [SequentialAttentionClassifier, LassoNetClassifier])
def test_network_is_a_function_of_the_numbers_of_features_and_outputs(kind):
    for network, words in (
        (mlp(4, [3], 2), r"lambda d, q.*got Sequential"),
        (lambda d, q: mlp(d, [3], 1), r"network\(4, 2\) must give 2 outputs.*has shape \(2, 1\)"),
        (lambda d, q: mlp(5, [3], q), r"network\(4, 2\) must read 4 features"),
    ):
        refuses(words, kind(2, network=network).fit, *data_for(kind, 12), error=(TypeError, ValueError))


def test_a_number_of_features_that_is_none_is_named():
    X, y = np.eye(6, 4), np.arange(6) % 2
    automatic = SequentialAttentionClassifier("auto")
    refuses(r"an integer or a share .*; got 'auto'", automatic.fit, X, y, error=TypeError)
    refuses("Pass k as an int", SequentialAttentionClassifier(2.0).fit, X, y)
    forced = SequentialAttentionClassifier(2, forced=[0, 1, 2])
    refuses("n_features_to_select: got 3 of them and 2", forced.fit, X, y)


QUICK = {"hidden_layer_sizes": (6,), "growth": 1.6, "learning_rate": 0.01, "epochs": (80, 10)}
QUICK["random_state"] = 0
ATTENTIVE = {"hidden_layer_sizes": (6,), "epochs": 20, "learning_rate": 0.01, "random_state": 0}


def design(n=60):
    X = np.random.default_rng(0).standard_normal((n, 5))
    return X, 2 * X[:, 1] + X[:, 3]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("kind", [LassoNetClassifierCV, LassoNetRegressorCV])
def test_cross_validation_finds_what_matters(kind, refit):
    """The row of least mean loss is chosen, or the sparsest row within one standard error of it."""
    X, y = design(120)
    y = np.where(y > 0, "b", "a") if kind is LassoNetClassifierCV else y
    model, sparser = (
        kind(cv=3, refit=refit, one_standard_error=one, **QUICK).fit(X, y) for one in (False, True)
    )
    losses = model.validation_losses_
    mean, error = losses.mean(axis=1), losses[model.row_].std(ddof=1) / np.sqrt(3)
    assert {1, 3} <= set(model.selected_)
    assert model.score(X, y) > 0.9
    assert mean[model.row_] == mean.min()
    assert sorted(model.selected_) == np.flatnonzero(model.path_.mask[model.row_]).tolist()
    assert sparser.row_ == np.flatnonzero(mean <= mean.min() + error)[-1]


def test_losses_of_cross_validation_are_of_rows_left_out():
    """The losses equal those of each fold's path, computed by hand with the same λ's."""
    X, y = design()
    model = LassoNetRegressorCV(cv=KFold(3), refit=False, dtype="float64", patience=10, **QUICK).fit(X, y)
    task, y = model._task(X, y, None), (y - y.mean()) / y.std()
    with seeded(task.seed):
        network = SkipNetwork(model._new_network(task, task.n_features), task.n_features, 1)
    options = {"network": network, "rng": task.seed, "loss": "squared"}
    names = ("learning_rate", "epochs", "growth", "patience")
    settings = LassoNetSettings(stop_on="training", **{name: getattr(model, name) for name in names})
    options |= {"settings": settings, "lams": model.path_.lam[1:]}
    for found, (train, test) in zip(model.validation_losses_.T, KFold(3).split(X), strict=True):
        path = lassonet_path(X=X[train], y=y[train], validation=(X[test], y[test]), **options)
        np.testing.assert_allclose(found[: len(path)], path.validation_loss, rtol=1e-6)
        assert (found[len(path) :] == found[len(path) - 1]).all()


def test_noise_selects_nothing_and_the_constant_is_predicted():
    X, _ = design()
    y = np.random.default_rng(1).standard_normal(60) + 5
    model = LassoNetRegressorCV(cv=3, **QUICK).fit(X, y)
    labels = np.random.default_rng(0).permutation(np.repeat(["a", "b"], [45, 15]))
    classes = LassoNetClassifierCV(cv=3, one_standard_error=True, **QUICK).fit(X, labels)
    assert model.n_features_ == classes.n_features_ == 0
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)
    np.testing.assert_allclose(classes.predict_proba(X), [[0.75, 0.25]] * 60, rtol=1e-3)


def test_a_standard_error_needs_two_folds():
    model = LassoNetRegressorCV(cv=ShuffleSplit(1, random_state=0), one_standard_error=True, **QUICK)
    refuses("one_standard_error needs at least 2 folds; cv has 1", model.fit, *design())


def test_an_interrupted_fold_ends_the_cross_validation():
    calls, stop = itertools.count(), -1

    def loss(output, target):
        if next(calls) == stop:
            raise KeyboardInterrupt
        return squared_error(output, target)

    options = QUICK | {"epochs": (10, 80), "patience": None}
    model = LassoNetRegressorCV(cv=3, loss=loss, lams=[0.1], refit=False, **options).fit(*design())
    stop = int(1.7 * next(calls))  # at the λ of the second fold
    refuses("^$", model.fit, *design(), error=KeyboardInterrupt)


REGRESSORS = pytest.mark.parametrize(
    "model", [LassoNetRegressor(2, **QUICK), SequentialAttentionRegressor(2, **ATTENTIVE)], ids=["LN", "SA"]
)


@REGRESSORS
@pytest.mark.parametrize(("factor", "shift"), [(2.0**100, 0), (2.0**-100, 0), (1, 2.0**27)])
def test_units_of_y_do_not_matter(model, factor, shift):
    """This also holds if y, its square or its variation are beyond float32."""
    X, y = design()
    y = np.round(y * 2**20) / 2**20
    expected = model.fit(X, y).predict(X)
    found = model.fit(X, factor * y + shift).predict(X)
    np.testing.assert_allclose((found - shift) / factor, expected, rtol=1e-3, atol=1e-3)


@REGRESSORS
@pytest.mark.parametrize("value", [0.0, 0.1, 1e30])
def test_a_constant_is_predicted(model, value):
    X, _ = design()
    np.testing.assert_allclose(model.fit(X, np.full(60, value)).predict(X), value, rtol=1e-14)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_groups_are_not_parted(k):
    model = LassoNetRegressor(k, groups=[[0, 1], [2, 3, 4]], **QUICK).fit(*design())
    assert sorted(model.selected_) in ([0, 1], [2, 3, 4])


def test_a_path_without_k_features_is_told():
    model = LassoNetRegressor(2, lams=[1e6], refit=False, **QUICK)
    words = r"from 5 features to none at once.*although 2 features were"
    assert warns(words, model.fit, *design()).n_features_ == 0
    warns("ends with 5 features, more than 2", model.set_params(lams=[1e-3]).fit, *design())
    with warnings.catch_warnings(action="error"):
        model.set_params(lams=None).fit(*design())


def test_a_network_that_was_moved_predicts():
    X, y = design()
    model = SequentialAttentionRegressor(2, **ATTENTIVE).fit(X, y)
    before = model.predict(X)
    model.network_.double()
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-4, atol=1e-5)


@REGRESSORS
def test_ctrl_c_ends_the_fit_and_keeps_the_path(monkeypatch, model):
    for name in ("_path_training.PathTraining.train_at", "attention.SequentialAttention._pick"):
        monkeypatch.setattr(f"sparselin.neural.{name}", Mock(side_effect=KeyboardInterrupt))
    model = clone(model)
    refuses("^$", model.fit, *design(), error=KeyboardInterrupt)
    assert len(model.path_) == isinstance(model, LassoNetRegressor)
    assert not hasattr(model, "network_")


def normalised(d, q):
    return nn.Sequential(nn.Linear(d, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, q))


def data_for(kind, n):
    X = np.random.default_rng(0).standard_normal((n, 4))
    return X, (X[:, 1] > 0).astype(int) if "Classifier" in kind.__name__ else X[:, 1]


SHORT = {"growth": 2.0, "epochs": (2, 2)}
ATTENTIONS = SequentialAttentionClassifier, SequentialAttentionRegressor
BY_NUMBER = LassoNetClassifier, LassoNetRegressor
OF_EACH_KIND = [
    *((kind, {"n_features_to_select": 2, "epochs": 3}) for kind in ATTENTIONS),
    *((kind, {"n_features_to_select": 2, "validation_fraction": 0.0, **SHORT}) for kind in BY_NUMBER),
    *((kind, {"cv": 3, **SHORT}) for kind in (LassoNetClassifierCV, LassoNetRegressorCV)),
    (LassoNetRegressor, {"n_features_to_select": 2, "validation_fraction": 0.0, "refit": False, **SHORT}),
    (LassoNetRegressor, {"validation_fraction": 16 / 33, **SHORT}),
]


@pytest.mark.parametrize("batch_size", [None, 1, 2, 8, 16, 32, 33, 64])
@pytest.mark.parametrize(("kind", "options"), OF_EACH_KIND)
def test_batch_normalisation_trains_with_all_sizes_of_batches_but_1(kind, options, batch_size):
    X, y = data_for(kind, 33)
    model = kind(network=normalised, batch_size=batch_size, random_state=0, **options)
    if batch_size == 1:
        refuses(r"every batch must have at least 2 rows, .* Pass a batch_size", model.fit, X, y)
    else:
        assert np.isfinite(model.fit(X, y).predict(X).astype(float)).all()


@pytest.mark.filterwarnings("ignore:the path goes from 4 features to none")
@pytest.mark.parametrize(
    ("kind", "options"), [*OF_EACH_KIND, (LassoNetRegressorCV, {"cv": 3, "lams": [1e6], **SHORT})]
)
def test_random_numbers_outside_are_left_as_they_are(kind, options):
    """There is nothing to predict with the large λ, so the row without features is best."""
    X, y = data_for(kind, 40)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    model = kind(hidden_layer_sizes=(4,), dropout=0.5, batch_size=16, random_state=0, **options)
    model.fit(X, np.random.default_rng(1).permutation(y) if "lams" in options else y)
    assert torch.equal(before, torch.get_rng_state())
    assert "lams" not in options or not model.n_features_


@pytest.mark.parametrize(("kind", "options"), OF_EACH_KIND[:6], ids=lambda value: str(value)[-30:-2])
def test_a_wrong_value_of_any_argument_is_named(kind, options, refuses_wrong_values):
    plain = {"hidden_layer_sizes": (3,), "random_state": 0, **options}
    refuses_wrong_values(
        lambda name, value: kind(**plain | {name: value}).fit(*data_for(kind, 24)), kind().get_params()
    )


@pytest.mark.parametrize(
    ("kind", "cv"),
    [
        (SequentialAttentionRegressor, None),
        (LassoNetRegressor, None),
        (LassoNetClassifier, None),
        (LassoNetRegressorCV, 3),
        (LassoNetRegressorCV, "pairs"),
    ],
)
def test_rows_of_weight_zero_are_as_if_removed(kind, cv):
    """They are in no batch, no validation split and no fold; pairs of indices refer to all rows."""
    rng = np.random.default_rng(20261128)
    X, classes = rng.standard_normal((40, 4)), kind is LassoNetClassifier
    y = (X[:, 1] > 0).astype(int) if classes else X[:, 1] + 0.1 * rng.standard_normal(40)
    weight = np.where(np.arange(40) % 4 == 1, 0.0, rng.uniform(0.5, 2, 40))
    left = np.flatnonzero(weight)
    settings = (
        dict(ATTENTION) if kind is SequentialAttentionRegressor else LASSONET | {"validation_fraction": 0.2}
    )
    first = second = settings | ({"cv": cv} if kind is LassoNetRegressorCV else {})
    if kind is LassoNetRegressorCV:
        first, second = ({k: v for k, v in s.items() if k != "validation_fraction"} for s in (first, second))
        if cv == "pairs":
            first = first | {"cv": list(KFold(3).split(X))}
            place = {row: i for i, row in enumerate(left.tolist())}
            inner = [
                [[place[i] for i in side.tolist() if i in place] for side in fold] for fold in first["cv"]
            ]
            second = second | {"cv": inner}
    zero = kind(**first).fit(X, y, sample_weight=weight)
    removed = kind(**second).fit(X[left], y[left], sample_weight=weight[left])
    np.testing.assert_array_equal(zero.selected_, removed.selected_)
    np.testing.assert_array_equal(zero.predict(X), removed.predict(X))
