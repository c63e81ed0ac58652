"""Pipelines that end in a selector: their predictions and scores, and the cross-validation of all steps."""

import numpy as np
import pandas as pd
import pytest
from losses import NAMED
from refusals import refuses
from selector_cases import DIABETES, FRAME, TARGET, each_selector, generalized, make, noise
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

from sparselin import plots
from sparselin.estimators import LassoSelector, OMPSelector, cross_validate

# Predictions and scores


@each_selector
def test_predictions_are_those_of_least_squares_on_the_selected_features(selector, rng):
    weight = rng.integers(0, 3, 442) + 0.0
    found = make(selector, 4).fit(FRAME, TARGET, weight)
    names = found.get_feature_names_out()
    line = LinearRegression().fit(FRAME[names], TARGET, weight)
    np.testing.assert_allclose(found.predict(FRAME), line.predict(FRAME[names]), rtol=1e-9)
    np.testing.assert_allclose(found.score(FRAME, TARGET, weight), line.score(FRAME[names], TARGET, weight))
    refuses("names should match", found.predict, FRAME.iloc[:, ::-1])
    assert not hasattr(found, "predict_proba")
    key = f"{selector.__name__.lower()}__n_features_to_select"
    steps = make_pipeline(StandardScaler(), make(selector))
    search = GridSearchCV(steps, {key: [1, 4]}, cv=3).fit(FRAME, TARGET)
    assert search.best_params_ == {key: 4}
    assert search.best_score_ > 0.4


def test_predictions_for_several_outputs():
    X, y = DIABETES
    Y = np.column_stack([y, y[::-1]])
    found = OMPSelector(3).fit(X, Y)
    want = LinearRegression().fit(X[:, found.selected_], Y).predict(X[:, found.selected_])
    np.testing.assert_allclose(found.predict(X), want, rtol=1e-9)
    assert found.score(X, Y) == pytest.approx(r2_score(Y, want))


@NAMED
def test_predictions_of_labels_probabilities_and_means(rng, loss):
    X, y, weight = generalized(rng, loss)
    y = np.where(y > 0, "well", "ill") if loss == "logistic" else y
    found = OMPSelector(3, loss=loss).fit(X, y, weight)
    S = found.selected_
    peer = (
        LogisticRegression(C=np.inf, tol=1e-9) if loss == "logistic" else PoissonRegressor(alpha=0, tol=1e-9)
    )
    peer.fit(X[:, S], y, weight)
    if loss == "logistic":
        assert found.predict(X).tolist() == peer.predict(X[:, S]).tolist()
        np.testing.assert_allclose(found.predict_proba(X), peer.predict_proba(X[:, S]), rtol=1e-4)
        search = GridSearchCV(make_pipeline(StandardScaler(), found), {}, scoring="roc_auc", cv=3)
        assert search.fit(X[np.argsort(y)], np.sort(y)).best_score_ > 0.6  # stratified folds
    else:
        np.testing.assert_allclose(found.predict(X), peer.predict(X[:, S]), rtol=1e-4)
    assert found.score(X, y, weight) == pytest.approx(peer.score(X[:, S], y, weight), rel=1e-5)


def test_nonnegative_coefficients(rng):
    X, y = noise(rng)
    found = OMPSelector(3, positive=True, forced=[7]).fit(X, y)
    assert found.path_.positive
    assert found.coef_[7] < 0 <= np.delete(found.coef_, 7).min()
    assert OMPSelector(1, positive=True).fit(X, -y).coef_[7] > 0  # β₂ = −2 is refused
    for given, target in (({"groups": range(12)}, y), ({"loss": "logistic"}, y > 0), ({}, np.c_[y, y])):
        refuses("positive=True", OMPSelector(1, positive=True, **given).fit, X, target)


def test_models_of_the_lasso_path(rng):
    """Features leave this path: the models are not nested. Excluded columns keep their numbers."""
    X = rng.standard_normal((40, 30))
    y = X[:, 2] - X[:, 7] - 0.1 * X[:, 3]
    X[:, 3] = X[:, 2] - X[:, 7] + 0.3 * X[:, 3]  # enters first, and has the coefficient −1/3 in the end
    found = LassoSelector(12, exclude=[0, 5]).fit(X, y)
    counts = [0, *map(len, found.lasso_path_.active)]
    for k in range(1, 13):
        last = next(i for i, count in enumerate(counts) if count > k) - 1
        assert sorted(found.at(k).selected_) == sorted(found.lasso_path_.active[last - 1])
        assert found.at(k).result_.support.tolist() == found.at(k).selected_.tolist()
    assert not set(found.at(1).selected_) <= set(found.selected_)
    lam = found.lasso_path_.knots[-1]
    kkt = X.T @ (y - found.lasso_path_.predict(X, lam))
    assert np.abs(np.delete(kkt, [0, 5])).max() == pytest.approx(lam)
    assert found.at(0).result_ is None


@each_selector
def test_the_picture_of_a_selector(selector):
    found = make(selector, 3, max_features=5)
    refuses(f"a fitted selector, or one of .* got {selector.__name__}", plots.show, found, error=TypeError)
    shown = plots.show(found.fit(FRAME, TARGET))
    want = plots.show(getattr(found, "lasso_path_", found.result_))
    assert {text.get_text() for text in shown.texts} - {"selected: 3"} == {
        text.get_text() for text in want.texts
    }
    levels = [line.get_ydata()[0] for line in shown.lines if line.get_linestyle() == "--"]
    assert (2.5 in levels) == (not isinstance(found.path_, tuple))
    plots.close("all")


# The cross-validation of a whole pipeline


@pytest.mark.parametrize("weighted", [False, True])
@each_selector
def test_without_other_steps_it_is_that_of_the_selector(selector, weighted, rng):
    X, y = noise(rng, 50, 8)
    weight = rng.integers(0, 4, 50) + 0.0 if weighted else None
    inner = make(selector, "cv", forced=[4], max_features=5, cv=4).fit(X, y, weight).cross_validation_
    found = cross_validate(make(selector, 5, forced=[4]), X, y, cv=4, sample_weight=weight)
    for name in ("sizes", "error", "standard_error", "r2", "best", "chosen", "folds"):
        np.testing.assert_allclose(getattr(found, name), getattr(inner, name), rtol=1e-9, atol=1e-12)


@pytest.fixture
def table(rng):
    """A frame with gaps, a category that only two rows have, and people with several rows."""
    X, y = noise(rng, 90, 8)
    frame = pd.DataFrame(X, columns=list("abcdefgh"), index=rng.permutation(90)).mask(
        rng.random(X.shape) < 0.1
    )
    frame["town"] = np.where(np.arange(90) < 2, "rare", rng.choice(["big", "small"], 90))
    return frame, pd.Series(y, index=frame.index), rng.permutation(np.repeat(np.arange(18), 5))


def encoded(k, encoder, loss="squared"):
    """A pipeline that imputes, encodes, scales, and selects at most k features."""
    columns = make_column_transformer(
        (SimpleImputer(), list("abcdefgh")), (encoder, ["town"]), verbose_feature_names_out=False
    )
    steps = (columns, StandardScaler(), OMPSelector(k, forced=["b"], loss=loss))
    return make_pipeline(*steps).set_output(transform="pandas")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")  # of TargetEncoder
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("jobs", [None, 2])
def test_all_steps_are_fitted_on_the_training_rows(table, rng, loss, jobs):
    X, y, people = table
    if loss != "squared":
        y = pd.Series(np.where(y > 0, "yes", "no"), X.index) if loss == "logistic" else (y**2).round()
    weight, folds, errors = rng.integers(1, 4, 90) + 0.0, [], []
    for train, test in GroupKFold(4).split(X, y, people):
        errors.append([])
        for k in range(1, 5):
            steps = encoded(k, TargetEncoder(random_state=0), loss)
            steps.fit(X.iloc[train], y.iloc[train], ompselector__sample_weight=weight[train])
            measure = {"squared": mean_squared_error, "poisson": mean_poisson_deviance, "logistic": log_loss}[
                loss
            ]
            how = steps.predict_proba if loss == "logistic" else steps.predict
            error = measure(y.iloc[test], how(X.iloc[test]), sample_weight=weight[test])
            errors[-1].append(error * (2 if loss == "logistic" else 1))
        folds.append(weight[test].sum())
    model, seen = encoded(4, TargetEncoder(random_state=0), loss), []
    given = {"cv": GroupKFold(4), "groups": people, "sample_weight": weight, "n_jobs": jobs}
    found = cross_validate(model, X, y, **given, progress=seen.append)
    assert found.sizes.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(found.error, np.average(errors, axis=0, weights=folds), rtol=1e-7)
    assert [fold.weight for fold in seen] == folds
    assert not hasattr(model[-1], "coef_")


def test_a_fold_with_fewer_columns_keeps_its_last_model(table):
    X, y, _ = table
    model = encoded("cv_1se", OneHotEncoder(sparse_output=False, handle_unknown="ignore"))
    found = cross_validate(
        model, X, y, cv=[(np.arange(2, 90), np.arange(2)), (np.arange(60), np.arange(60, 90))]
    )
    assert found.sizes.tolist() == list(range(1, 12))  # "rare" is no column of the first fold
    assert found.error[-1] == found.error[-2] != found.error[-3]


def test_classes_have_stratified_folds_and_numbers_consecutive_ones(rng):
    X, y, _ = generalized(rng, "logistic")
    order = np.argsort(y)
    found = cross_validate(OMPSelector(3, loss="logistic"), X[order], y[order], cv=4)
    folds = list(StratifiedKFold(4).split(X[order], y[order]))
    want = cross_validate(OMPSelector(3, loss="logistic"), X[order], y[order], cv=iter(folds))
    assert found.error.tolist() == want.error.tolist()
    plain, folds = OMPSelector("ebic", max_features=4, tol=0.5), KFold(4).split(X)
    assert (
        cross_validate(plain, X, y, cv=4).error.tolist()
        == cross_validate(plain, X, y, cv=folds).error.tolist()
    )
    assert len(cross_validate(OMPSelector(), X, y).sizes) == 11


def test_what_cannot_be_cross_validated_is_refused(table):
    X, y, _ = table
    steps = make_pipeline(StandardScaler(), LinearRegression())
    refuses("a Pipeline that ends in one; got LinearRegression", cross_validate, steps, X, y, error=TypeError)
    model = make_pipeline(FunctionTransformer(np.nan_to_num), OMPSelector(2))
    numbers = X.drop(columns="town")
    half = (np.arange(90) < 45) * 1.0
    refuses(
        "y is constant on the 45 training rows of fold 1 of 2", cross_validate, model, numbers, half, cv=2
    )
    refuses("labels of the rows of X in another order", cross_validate, model, numbers, y[::-1])
    refuses(
        "is more than there are",
        cross_validate,
        model.set_params(ompselector__n_features_to_select=9),
        numbers,
        y,
    )
