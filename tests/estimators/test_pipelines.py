"""Pipelines that end in a selector: their predictions and scores, and the cross-validation of all steps."""

import numpy as np
import pandas as pd
import pytest
from losses import NAMED
from refusals import refuses, warns
from selector_cases import FRAME, TARGET, each_selector, generalized, make, noise, refitted_lasso
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

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
    steps, key = make_pipeline(StandardScaler(), found), f"{selector.__name__.lower()}__n_features_to_select"
    search = GridSearchCV(steps, {key: [1, 0.4, "ebic"]}, cv=2).fit(FRAME, TARGET)
    assert search.best_params_[key] != 1
    assert search.best_score_ > 0.4
    if selector is OMPSelector:
        X, Y = FRAME[names], np.column_stack([TARGET, TARGET[::-1]])
        np.testing.assert_allclose(OMPSelector(4).fit(X, Y).predict(X), line.fit(X, Y).predict(X), rtol=1e-9)


@NAMED
def test_predictions_of_labels_probabilities_and_means(rng, loss):
    X, y, weight = generalized(rng, loss)
    y = np.where(y > 0, "well", "ill") if loss == "logistic" else y
    found = OMPSelector(3, loss=loss).fit(X, y, weight)
    S = found.selected_
    labels = loss == "logistic"
    peer = LogisticRegression(C=np.inf, tol=1e-9) if labels else PoissonRegressor(alpha=0, tol=1e-9)
    peer.fit(X[:, S], y, weight)
    if loss == "poisson":
        np.testing.assert_allclose(found.predict(X), peer.predict(X[:, S]), rtol=1e-4)
        assert np.isfinite(found.score(1e9 * X, y))
    else:
        assert found.predict(X).tolist() == peer.predict(X[:, S]).tolist()
        np.testing.assert_allclose(found.predict_proba(X), peer.predict_proba(X[:, S]), rtol=1e-4)
        search = GridSearchCV(make_pipeline(StandardScaler(), found), {}, scoring="roc_auc", cv=3)
        assert search.fit(X[np.argsort(y)], np.sort(y)).best_score_ > 0.6  # stratified folds
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
    y = X[:, 2] - X[:, 7] - 0.1 * X[:, 3] + 0.05 * rng.standard_normal(40)
    X[:, 3] = (
        X[:, 2] - X[:, 7] + 0.3 * X[:, 3]
    )  # enters first, and leaves: its final coefficient is about −1/3
    found = LassoSelector(13, forced=[9], exclude=[0, 5]).fit(X, y)
    kept = np.delete(np.arange(30), [0, 5])
    for at in map(found.at, range(2, 14)):
        assert sorted(at.selected_) == sorted(kept[refitted_lasso(X[:, kept], y, at.k_, forced=[7]).support])
        assert at.result_.support.tolist() == at.selected_.tolist()
    assert not set(found.at(2).selected_) <= set(found.selected_)
    lasso, lam = found.lasso_path_, found.lasso_path_.knots[-1]
    assert set(lasso.features) == {*lasso.forced, *np.concatenate(lasso.active)} > {9, 2, 3}
    kkt = X[:, kept].T @ (y - lasso.predict(X, lam))
    assert np.abs(kkt).max() == pytest.approx(lam)
    assert found.at(1).result_ is None
    X[:, 2] = X[:, 1] - X[:, 0]
    warns("ended with k=2, before it reached k=3: no column reduces", LassoSelector(3).fit, X[:, :3], y)


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
    weight, kept = rng.integers(0, 4, 50) + 0.0 if weighted else None, {"forced": [4], "exclude": [1]}
    inner = make(selector, "cv", max_features=5, cv=4, **kept).fit(X, y, weight).cross_validation_
    found = cross_validate(make(selector, 5, **kept), X, y, cv=KFold(4), sample_weight=weight)
    for name in ("sizes", "error", "standard_error", "r2", "best", "chosen", "folds"):
        np.testing.assert_allclose(getattr(found, name), getattr(inner, name), rtol=1e-9, atol=1e-12)


@pytest.fixture
def table(rng):
    """A frame with gaps, and a category that only two rows have."""
    X, y = noise(rng, 90, 8)
    frame = pd.DataFrame(X, rng.permutation(90), list("abcdefgh")).mask(rng.random(X.shape) < 0.1)
    frame["town"] = np.where(np.arange(90) < 2, "rare", rng.choice(["big", "small"], 90))
    return frame, pd.Series(y, frame.index)


def encoded(k, encoder, loss="squared"):
    """A pipeline that imputes, encodes, scales, and selects at most k features."""
    columns = make_column_transformer((encoder, ["town"]), remainder=SimpleImputer())
    selector = OMPSelector(k, forced=["remainder__b"], loss=loss)
    return make_pipeline(columns, StandardScaler(), selector).set_output(transform="pandas")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")  # of TargetEncoder
@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize(
    ("loss", "measure"),
    [("squared", mean_squared_error), ("logistic", log_loss), ("poisson", mean_poisson_deviance)],
)
def test_all_steps_are_fitted_on_the_training_rows(table, rng, loss, measure, jobs):
    X, y = table
    labels = y.where(y > 0, "ill").where(y < 0, "well")
    y = {"squared": y, "poisson": (y**2).round(), "logistic": labels}[loss]
    people, weight, seen = rng.permutation(np.arange(90) // 5), rng.integers(1, 4, 90) + 0.0, []
    given, want = {"cv": GroupKFold(4), "groups": people, "n_jobs": jobs}, []
    for k in (1, 2, 3, 4):
        steps = encoded(k, TargetEncoder(random_state=0), loss)
        how = {"method": "predict_proba" if loss == "logistic" else "predict"}
        guess = cross_val_predict(steps, X, y, **given, **how, params={"ompselector__sample_weight": weight})
        want.append(measure(y, guess, sample_weight=weight) * (2 if loss == "logistic" else 1))
    found = cross_validate(steps, X, y, **given, sample_weight=weight, progress=seen.append)
    assert found.sizes.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(found.error, want, rtol=1e-7)
    assert sum(fold.weight for fold in seen) == weight.sum()
    assert len(seen) == found.folds == 4
    assert not hasattr(steps[-1], "coef_")


def test_a_fold_with_fewer_columns_keeps_its_last_model(table):
    model = encoded("cv_1se", OneHotEncoder(sparse_output=False, handle_unknown="ignore"))
    folds = [(np.arange(2, 90), np.arange(2)), (np.arange(60), np.arange(60, 90))]
    found = cross_validate(model, *table, cv=folds)
    assert found.sizes.tolist() == list(range(1, 12))  # "rare" is no column of the first fold
    assert found.error[-1] == found.error[-2] != found.error[-3]


def test_numbers_of_folds_and_of_features(rng):
    X, y, _ = generalized(rng, "logistic")
    X, y = X[np.argsort(y)], np.sort(y)
    model = OMPSelector("ebic", loss="logistic", tol=0.5)
    found, want = (cross_validate(model, X, y, cv=cv) for cv in (4, StratifiedKFold(4).split(X, y)))
    assert found.error.tolist() == want.error.tolist()
    assert found.sizes.tolist() == list(range(11))


def test_what_cannot_be_cross_validated_is_refused(table):
    X, y = table[0].drop(columns="town").fillna(0.0), table[1]
    other = make_pipeline(StandardScaler(), LinearRegression())
    model = make_pipeline(StandardScaler(), OMPSelector(9))
    refuses("a Pipeline that ends in one; got LinearRegression", cross_validate, other, X, y, error=TypeError)
    refuses("labels of the rows of X in another order", cross_validate, model, X, y[::-1])
    refuses("=9 is more than there are", cross_validate, model, X, y)
    half = (np.arange(90) < 45) * 1.0
    refuses("y is constant on the 45 training rows of fold 1", cross_validate, OMPSelector(2), X, half, cv=2)
