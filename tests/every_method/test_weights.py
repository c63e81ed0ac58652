"""One meaning of a weight: inverse variances up to a factor; a row of weight zero is as if removed."""

import itertools
import math
import warnings

import numpy as np
import pytest
from oracles import near
from refusals import refuses
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparselin.estimators import (
    BestSubsetSelector,
    DiverseSelector,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LassoSelector,
    OLSRegressor,
    OLSSelector,
    OMPSelector,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    SequentialLassoSelector,
    cross_validate,
)

RULES = ("aic", "bic", "ebic", "loo", "cv", "cv_1se", 3, 0.4)
SELECTORS = (
    OMPSelector,
    OLSSelector,
    LassoSelector,
    SequentialLassoSelector,
    DiverseSelector,
    BestSubsetSelector,
)
MODELS = [
    *(OMPSelector(rule) for rule in RULES),
    *(cls("bic", max_features=4) for cls in SELECTORS),
    OMPSelector("ebic", groups=[0, 0, 1, 1, 2, 3, 4, 5]),
    OMPSelector("aic", forced=[5], exclude=[1], standardize=True),
    OMPSelector("bic", fit_intercept=False),
    *(OMPSelector(rule, loss="poisson", max_features=3) for rule in ("aic", "bic", "ebic", "cv", 2)),
    LassoLars(alpha=0.1), LassoLarsCV(), LassoLarsIC(), LassoLarsIC(criterion="bic"),
    OrthogonalMatchingPursuit(), OrthogonalMatchingPursuitCV(), OLSRegressor("loo"), OLSRegressor(3),
]  # fmt: skip
each_model = pytest.mark.parametrize("model", MODELS, ids=str)


def data(model, seed):
    """X, y, and weights that range over a factor of ten; y is ≥ 0 for the Poisson loss."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((50, 8)), rng.uniform(0.1, 1, 50)
    eta = X[:, 2] - 0.6 * X[:, 5]
    if getattr(model, "loss", "") == "poisson":
        return X, rng.poisson(np.exp(eta)) + 0.0, w
    return X, eta + rng.standard_normal(50) / np.sqrt(w), w


def fitted(model, *args, **kwargs):
    """Return the attributes on which the meaning of weights bears; None where the model has none."""
    with warnings.catch_warnings(action="ignore"):
        found = model.__class__(**model.get_params()).fit(*args, **kwargs)
    names = ("k_", "scores_", "criterion_", "mse_path_", "gamma_", "alpha_", "n_iter_", "coef_", "intercept_")
    return {name: getattr(found, name) for name in names if getattr(found, name, None) is not None}


def assert_alike(found, want, rtol):
    assert found.keys() == want.keys()
    for name in found:
        np.testing.assert_allclose(found[name], want[name], rtol=rtol, atol=rtol * np.max(np.abs(want[name])))


@each_model
def test_no_answer_depends_on_the_unit_of_the_weights(model):
    X, y, w = data(model, 1)
    want = fitted(model, X, y, sample_weight=w)
    for c in (2.0**-40, 1 / 3.7, 50.0, 2.0**40):
        assert_alike(fitted(model, X, y, sample_weight=c * w), want, 1e-8)
    assert_alike(fitted(model, X, y, sample_weight=np.full(50, 7.0)), fitted(model, X, y), 1e-8)


@each_model
def test_rows_of_weight_zero_are_as_if_removed(model):
    X, y, w = data(model, 2)
    for zero in (np.arange(50) < 20, np.arange(50) % 3 == 0):
        v = np.where(zero, 0.0, w)
        assert_alike(
            fitted(model, X, y, sample_weight=v),
            fitted(model, X[~zero], y[~zero], sample_weight=v[~zero]),
            1e-9,
        )


CV = (OMPSelector("cv"), OLSSelector("cv_1se"), LassoLarsCV(), OrthogonalMatchingPursuitCV())


@pytest.mark.parametrize("model", CV, ids=str)
def test_folds_without_the_rows_of_weight_zero(model):
    """A splitter splits the rows that are left; given rows are translated, and empty folds left out."""
    X, y, w = data(model, 3)
    groups = np.random.default_rng(0).integers(0, 6, 50)
    for zero in (np.arange(50) < 10, groups == 2):
        v, on = np.where(zero, 0.0, w), ~zero
        fit = {"X": X, "y": y, "sample_weight": v}
        less = {"X": X[on], "y": y[on], "sample_weight": v[on]}
        for cv in (4, KFold(5, shuffle=True, random_state=1), LeaveOneOut()):
            model.set_params(cv=cv)
            assert_alike(fitted(model, **fit), fitted(model, **less), 1e-9)
        model.set_params(cv=GroupKFold(3))
        assert_alike(fitted(model, **fit, groups=groups), fitted(model, **less, groups=groups[on]), 1e-9)
        place = np.cumsum(on) - 1
        given = list(KFold(5).split(X))
        left = [tuple(place[rows][on[rows]] for rows in split) for split in given]
        model.set_params(cv=[split for split in left if len(split[1])])
        want = fitted(model, **less)
        for cv in (given, PredefinedSplit(np.arange(50) // 10)):
            model.set_params(cv=cv)
            assert_alike(fitted(model, **fit), want, 1e-9)


def test_a_pipeline_without_the_rows_of_weight_zero():
    X, y, w = data(None, 4)
    zero, model = np.arange(50) % 4 == 0, make_pipeline(StandardScaler(), OMPSelector(4))
    groups = np.arange(50) // 8
    w[zero], X[zero] = 0, 1e6
    for cv, by in ((5, None), (GroupKFold(3), groups)):
        found = cross_validate(model, X, y, cv=cv, groups=by, sample_weight=w)
        by = None if by is None else by[~zero]
        want = cross_validate(model, X[~zero], y[~zero], cv=cv, groups=by, sample_weight=w[~zero])
        near(found.error, want.error, 1e-9)


@pytest.mark.parametrize(("rule", "outputs"), [*itertools.product(("aic", "bic", "ebic"), (1, 2))])
def test_criteria_by_the_likelihood(rule, outputs):
    """−2·log-likelihood of y_i ~ N(μ_i, σ²/w_i) at its maximum, by the density of each row."""
    X, y, w = data(None, 5)
    Y = np.column_stack([y, y[::-1]])[:, :outputs]
    found = OMPSelector(rule, max_features=5, gamma=0.5).fit(X, Y if outputs > 1 else y, w)
    n, q, p = 50, outputs, 8
    for k, score in zip(found.sizes_, found.scores_, strict=True):
        S = (found.path_.order if outputs > 1 else found.path_.support)[:k]
        A = np.column_stack([np.ones(n), X[:, S]])
        root = np.sqrt(w)[:, None]
        r = Y - A @ np.linalg.lstsq(A * root, Y * root, rcond=None)[0]
        variance = (w[:, None] * r**2).sum() / (n * q) / w[:, None]
        density = -0.5 * np.log(2 * np.pi * variance) - r**2 / (2 * variance)
        charge = (2 if rule == "aic" else math.log(n)) * k * q
        charge += 2 * 0.5 * math.log(math.comb(p, k)) * (rule == "ebic")
        near(score + n * q * (1 + math.log(2 * np.pi)), -2 * density.sum() + charge, 1e-10)


def test_a_given_variance_is_that_of_a_row_of_weight_one():
    X, y, w = data(None, 6)
    for model in (OMPSelector, LassoLarsIC):
        name = {OMPSelector: "scores_", LassoLarsIC: "criterion_"}[model]
        rule = {"n_features_to_select": "bic"} if model is OMPSelector else {"criterion": "bic"}
        one, many = (
            fitted(model(**rule, noise_variance=c * 1.3), X, y, sample_weight=c * w)[name] for c in (1.0, 9.0)
        )
        near(one, many, 1e-10)


def test_the_variance_is_estimated_from_rows():
    X, y, w = data(None, 7)
    model = LassoLarsIC().fit(X, y, sample_weight=w)
    A, root = np.column_stack([np.ones(50), X]), np.sqrt(w)
    squares = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[1][0]
    near(model.noise_variance_, squares / (50 - 9), 1e-9)
    words = r"smaller than the number of features plus 2 \(n_samples = 9 of positive weight, n_features = 8\)"
    refuses(words, LassoLarsIC().fit, X, y, sample_weight=np.arange(50) < 9)
