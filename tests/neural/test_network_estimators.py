"""Tests of the network estimators: scikit-learn's conventions, classes, weights, prediction."""

import warnings

import numpy as np
import pytest
from refusals import refuses

torch = pytest.importorskip("torch")

from flat import lassonet_path  # noqa: E402
from sklearn.model_selection import KFold, ShuffleSplit  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from sparselin.estimators import (  # noqa: E402
    LassoNetClassifier,
    LassoNetClassifierCV,
    LassoNetRegressor,
    LassoNetRegressorCV,
    SequentialAttentionClassifier,
    SequentialAttentionRegressor,
)
from sparselin.neural import mlp  # noqa: E402
from sparselin.neural.lassonet import constant_network  # noqa: E402
from sparselin.neural.training import Rows, squared_error  # noqa: E402

# On full batches in float64, so that repeating rows, or their order, changes rounding only.
SMALL = {"hidden_layer_sizes": (8,), "batch_size": None, "dtype": "float64", "random_state": 0}
ATTENTION = {**SMALL, "epochs": 60, "learning_rate": 0.03}
LASSONET = {
    **SMALL, "epochs": (60, 6), "patience": None, "learning_rate": (0.03, 1e-3), "growth": 2.0,
    "validation_fraction": 0.0,
}  # fmt: skip
CHECKED = [
    SequentialAttentionClassifier(1.0, **ATTENTION),
    SequentialAttentionRegressor(**ATTENTION),
    LassoNetClassifier(1.0, **LASSONET),
    # Some checks have columns of mean 100, for which steps longer than about 1e-4 diverge.
    LassoNetRegressor(0.5, **{**LASSONET, "learning_rate": (0.03, 1e-5)}),
]


@pytest.mark.parametrize("estimator", CHECKED, ids=lambda value: type(value).__name__)
def test_check_estimator(estimator):
    check_estimator(estimator)


@pytest.mark.parametrize("made", [SequentialAttentionClassifier, LassoNetClassifier])
def test_network_is_a_function_of_the_numbers_of_features_and_outputs(made):
    X, y = np.random.default_rng(0).standard_normal((12, 4)), np.arange(12) % 2
    refuses(r"lambda d, q.*got Sequential", made(2, network=mlp(4, [3], 2)).fit, X, y, error=TypeError)
    one = made(2, network=lambda d, q: mlp(d, [3], 1))
    refuses(r"network\(4, 2\) must give 2 outputs.*has shape \(2, 1\)", one.fit, X, y)
    refuses(r"network\(4, 2\) must read 4 features", made(2, network=lambda d, q: mlp(5, [3], q)).fit, X, y)


def test_a_number_of_features_that_is_none_is_named():
    X, y = np.eye(6, 4), np.arange(6) % 2
    automatic = SequentialAttentionClassifier("auto")
    refuses(r"an integer or a share .*; got 'auto'", automatic.fit, X, y, error=TypeError)
    refuses("Pass k as an int", SequentialAttentionClassifier(2.0).fit, X, y)


def test_a_path_that_falls_from_all_features_to_none_is_told():
    X, y = np.random.default_rng(0).standard_normal((20, 4)), np.arange(20.0)
    model = LassoNetRegressor(2, refit=False, **{**LASSONET, "lams": [1e6]})
    with pytest.warns(UserWarning, match=r"from 4 features to none at once.*although 2 features were"):
        assert model.fit(X, y).n_features_ == 0


QUICK = {
    "hidden_layer_sizes": (6,), "growth": 1.6, "learning_rate": 0.01, "epochs": (80, 10), "random_state": 0,
}  # fmt: skip
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
    model = kind(cv=3, refit=refit, **QUICK).fit(X, y)
    losses = model.validation_losses_
    assert losses.shape == (len(model.path_), 3)
    assert {1, 3} <= set(model.selected_)
    assert model.score(X, y) > 0.9
    assert losses.mean(axis=1)[model.row_] == losses.mean(axis=1).min()
    assert sorted(model.selected_) == np.flatnonzero(model.path_.mask[model.row_]).tolist()
    sparser = kind(cv=3, refit=refit, one_standard_error=True, **QUICK).fit(X, y)
    best = losses[model.row_]
    mean = losses.mean(axis=1) - best.mean() - best.std(ddof=1) / np.sqrt(3)
    assert sparser.row_ == np.flatnonzero(mean <= 0)[-1]
    assert sparser.n_features_ <= model.n_features_


def test_losses_of_cross_validation_are_of_rows_left_out():
    """The losses equal those of each fold's path, computed by hand with the same λ's."""
    X, y = design()
    model = LassoNetRegressorCV(cv=KFold(3), refit=False, dtype="float64", **QUICK).fit(X, y)
    y = (y - y.mean()) / y.std()
    task = model._task(X, y, None)
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.default_rng(task.seed).integers(2**63)))
        network = model._network(task)
    options = {"learning_rate": 0.01, "epochs": (80, 10), "growth": 1.6, "rng": task.seed}
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        path = lassonet_path(
            network, X[train], y[train], loss="squared", lams=model.path_.lam[1:], stop_on="training",
            validation=(X[test], y[test]), **options,
        )  # fmt: skip
        found = model.validation_losses_[:, fold]
        np.testing.assert_allclose(found[: len(path)], path.validation_loss, rtol=1e-6)
        assert (found[len(path) :] == found[len(path) - 1]).all()


def test_noise_selects_nothing_and_the_constant_is_predicted():
    X, _ = design()
    y = np.random.default_rng(1).standard_normal(60) + 5
    model = LassoNetRegressorCV(cv=3, **QUICK).fit(X, y)
    assert model.selected_.tolist() == []
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-5)
    labels = np.random.default_rng(0).permutation(np.repeat(["a", "b"], [45, 15]))
    classes = LassoNetClassifierCV(cv=3, one_standard_error=True, **QUICK).fit(X, labels)
    assert classes.selected_.tolist() == []
    np.testing.assert_allclose(classes.predict_proba(X), [[0.75, 0.25]] * 60, rtol=1e-3)


def test_a_standard_error_needs_two_folds():
    X, y = design()
    cv = ShuffleSplit(1, random_state=0)
    with pytest.raises(ValueError, match="one_standard_error needs at least 2 folds; cv has 1"):
        LassoNetRegressorCV(cv=cv, one_standard_error=True, **QUICK).fit(X, y)


def test_an_interrupted_fold_ends_the_cross_validation():
    X, y = design()
    calls = iter(range(10**6))

    def loss(output, target):
        if next(calls) == stop:
            raise KeyboardInterrupt
        return 0.5 * (output - target).square().sum(dim=1)

    options = QUICK | {"cv": 3, "loss": loss, "lams": [0.1], "refit": False, "epochs": (10, 80)}
    options |= {"patience": None}
    stop = -1
    LassoNetRegressorCV(**options).fit(X, y)
    stop, calls = int(0.7 * next(calls)), iter(range(10**6))  # at the λ of the second fold
    with pytest.raises(KeyboardInterrupt):
        LassoNetRegressorCV(**options).fit(X, y)


REGRESSORS = LassoNetRegressor(2, **QUICK), SequentialAttentionRegressor(2, **ATTENTIVE)


@pytest.mark.parametrize("model", REGRESSORS, ids=["LN", "SA"])
@pytest.mark.parametrize(("factor", "shift"), [(2.0**100, 0), (2.0**-100, 0), (1, 2.0**27)])
def test_units_of_y_do_not_matter(model, factor, shift):
    """This also holds if y, its square or its variation are beyond float32."""
    X, y = design()
    y = np.round(y * 2**20) / 2**20
    expected = model.fit(X, y).predict(X)
    found = model.fit(X, factor * y + shift).predict(X)
    np.testing.assert_allclose((found - shift) / factor, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30])
@pytest.mark.parametrize("model", REGRESSORS, ids=["LN", "SA"])
def test_a_constant_is_predicted(model, value):
    X, _ = design()
    found = model.fit(X, np.full(60, value)).predict(X)
    np.testing.assert_allclose(found, value, rtol=1e-14)


def test_groups_are_not_parted():
    X, y = design()
    groups = [[0, 1], [2, 3, 4]]
    for k in (2, 3, 4):
        model = LassoNetRegressor(k, groups=groups, **QUICK).fit(X, y)
        assert sorted(model.selected_) in ([0, 1], [2, 3, 4])
        assert [sorted(part) in groups for part in np.split(model.path_.ranking(), [2])].count(True) in (0, 2)
    with pytest.raises(TypeError, match=r"groups must be sequences of features.*labels"):
        LassoNetRegressor(2, groups=[0, 0, 1, 1, 1], **QUICK).fit(X, y)


def test_lams_that_end_early_are_said():
    X, y = design()
    with pytest.warns(UserWarning, match="ends with 5 features, more than 2"):
        LassoNetRegressor(2, lams=[1e-3], refit=False, **QUICK).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LassoNetRegressor(2, refit=False, **QUICK).fit(X, y)


def test_a_network_that_was_moved_predicts():
    X, y = design()
    model = LassoNetRegressor(2, **QUICK).fit(X, y)
    before = model.predict(X)
    model.network_.double()
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "method", "length"),
    [
        (LassoNetRegressor(2, **QUICK), "_path_training.PathTraining.train_at", 1),
        (SequentialAttentionRegressor(2, **ATTENTIVE), "attention.SequentialAttention._pick", 0),
    ],
)
def test_ctrl_c_ends_the_fit_and_keeps_the_path(monkeypatch, model, method, length):
    monkeypatch.setattr(f"sparselin.neural.{method}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*design())
    assert len(model.path_) == length
    assert not hasattr(model, "network_")


def interrupted(*_):
    raise KeyboardInterrupt


def normalised(d, q):
    return torch.nn.Sequential(
        torch.nn.Linear(d, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Linear(6, q)
    )


def data_for(kind, n):
    X = np.random.default_rng(0).standard_normal((n, 4))
    return X, X[:, 1] > 0 if "Classifier" in kind.__name__ else X[:, 1]


SHORT = {"growth": 2.0, "epochs": (2, 2)}
OF_EACH_KIND = [
    (SequentialAttentionClassifier, {"n_features_to_select": 2, "epochs": 3}),
    (SequentialAttentionRegressor, {"n_features_to_select": 2, "epochs": 3}),
    (LassoNetClassifier, {"n_features_to_select": 2, "validation_fraction": 0.0, **SHORT}),
    (LassoNetRegressor, {"n_features_to_select": 2, "validation_fraction": 0.0, **SHORT}),
    (LassoNetRegressor, {"n_features_to_select": 2, "validation_fraction": 0.0, "refit": False, **SHORT}),
    (LassoNetRegressor, {"validation_fraction": 16 / 33, **SHORT}),
    (LassoNetClassifierCV, {"cv": 3, **SHORT}),
    (LassoNetRegressorCV, {"cv": 3, **SHORT}),
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


SEARCHES = [
    {"growth": 3.0, "epochs": (3, 20), "patience": None, "batch_size": 16, "lams": lams, "refit": refit}
    for lams in (None, [1e6]) for refit in (False, True)
]  # fmt: skip
LASSONETS = LassoNetClassifier, LassoNetRegressor, LassoNetClassifierCV, LassoNetRegressorCV


@pytest.mark.parametrize(
    ("kind", "options"),
    [*((kind, options) for kind in LASSONETS for options in SEARCHES),
     *((kind, {"epochs": 2}) for kind in (SequentialAttentionClassifier, SequentialAttentionRegressor))],
)  # fmt: skip
def test_random_numbers_outside_are_left_as_they_are(kind, options):
    X, y = data_for(kind, 40)
    model = kind(hidden_layer_sizes=(4,), dropout=0.5, random_state=0, **options)
    if kind in LASSONETS[:2] and options["lams"] is not None:
        y = np.random.default_rng(1).permutation(y)  # nothing to predict: the row without features is best
    torch.manual_seed(7)
    before = torch.get_rng_state()
    model.fit(X, y)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_constant_draws_no_random_numbers(dtype):
    rows = Rows(torch.ones(4, 3, dtype=dtype), torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=dtype)[:, None])
    before = torch.get_rng_state()
    network = constant_network(rows, 1, squared_error)
    assert torch.equal(before, torch.get_rng_state())
    assert network(rows.X[:, :0]).flatten().tolist() == pytest.approx([3.0] * 4)
    assert network.weight.dtype == dtype


@pytest.mark.parametrize(
    ("kind", "options"), [OF_EACH_KIND[i] for i in (0, 1, 2, 3, 6, 7)], ids=lambda value: str(value)[-30:-2]
)
def test_a_wrong_value_of_any_argument_is_named(kind, options, wrong):
    X, y = data_for(kind, 24)
    plain = {"hidden_layer_sizes": (3,), "random_state": 0, **options}
    for name in kind(**plain).get_params():
        for value in wrong[name]:
            if value is None and name == "random_state":
                continue
            if name == "class_weight" and isinstance(value, dict):
                value = {bool(label): number for label, number in value.items()}
            called = "n_features_to_select" if name == "forced" and value == [0, 1, 2] else name
            with pytest.raises((TypeError, ValueError), match=called) as raised:
                kind(**{**plain, name: value}).fit(X, y)
            assert "ambiguous" not in str(raised.value), name


@pytest.mark.parametrize(
    ("kind", "options"), [case for case in OF_EACH_KIND if "Classifier" in case[0].__name__]
)
@pytest.mark.parametrize("label", [0, 3, "a", True])
def test_one_class_is_refused(kind, options, label):
    X = np.random.default_rng(0).standard_normal((24, 4))
    with pytest.raises(ValueError, match=r"y must have at least two classes; got only"):
        kind(hidden_layer_sizes=(3,), **options).fit(X, [label] * 24)
