"""Regressors on the features of a path against textbook searches: targets, weights, intercepts, warnings."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimator_cases import data, near_models
from oracles import near, textbook_ols, textbook_omp
from refusals import refuses, warns
from sklearn.base import clone

import sparselin as sl
from sparselin.estimators import BestSubsetRegressor, OLSRegressor, SequentialLassoRegressor

REGRESSORS = {
    OLSRegressor: textbook_ols,
    SequentialLassoRegressor: textbook_omp,  # Theorem 3.3
    BestSubsetRegressor: lambda X, y, k: sl.best_subset(X, y, k).support.tolist(),
}
each = pytest.mark.parametrize("cls", REGRESSORS, ids=lambda cls: cls.__name__)
FORMS = (np.asarray, np.asfortranarray, scipy.sparse.csr_array, pd.DataFrame)


@each
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_each_target_has_least_squares_on_its_own_features(rng, cls, intercept, weighted):
    """Weights are rows times √w; an intercept is a column of ones that is projected out."""
    X, y = data(rng, n=50, d=12)
    Y = np.column_stack([y, X[:, 5] - X[:, 7] + rng.standard_normal(50), X[:, 9]])
    weight = rng.integers(0, 3, 50) + rng.random(50) if weighted else None
    model = cls(3, fit_intercept=intercept)
    several = clone(model).fit(X, Y, weight)
    root = np.ones(50) if weight is None else np.sqrt(weight)
    ones = root / np.linalg.norm(root) * intercept
    Z = X * root[:, None] - np.outer(ones, ones @ (X * root[:, None]))
    assert several.intercept_.shape == (3,) if intercept else several.intercept_ == 0.0
    for i, target in enumerate(Y.T):
        z = target * root - ones * (ones @ (target * root))
        S = REGRESSORS[cls](Z, z, 3) if i < 2 else [9]
        coef = np.zeros(12)
        coef[S] = np.linalg.lstsq(Z[:, S], z, rcond=None)[0]
        near(several.coef_[i], coef)
        level = (root @ (target * root - X * root[:, None] @ coef)) / (root @ root) * intercept
        near(several.predict(X)[:, i], X @ coef + level)
    single = clone(model).fit(X, Y[:, 0], weight)
    near(single.coef_, several.coef_[0])
    column = clone(model).fit(X, Y[:, :1], weight)
    assert (column.coef_.shape, np.shape(column.intercept_)) == ((12,), (1,) if intercept else ())
    for form in FORMS:
        near_models(clone(model).fit(form(X), y, weight), single)


def test_paths_and_counts(rng):
    X, y = data(rng)
    Y = np.column_stack([y, X[:, 5]])
    model = OLSRegressor(2).fit(X, y)
    assert (model.n_iter_, model.path_, model.leave_one_out_) == (2, sl.ols(X, y, 2, intercept=True), None)
    both = OLSRegressor(2).fit(X, Y)
    assert both.n_iter_ == [2, 1]  # the second target is fitted exactly
    assert both.path_[0] == model.path_
    assert OLSRegressor().fit(X, y).n_iter_ == 2  # a tenth
    single = SequentialLassoRegressor(2, method="omp").fit(X.astype(np.float32), y.astype(np.float32))
    assert (single.coef_.dtype, single.path_.coef.dtype) == (np.float32, np.float32)
    assert len(BestSubsetRegressor(1).fit(X, Y).result_) == 2


def test_loo_takes_the_least_corrected_error_of_each_target(rng):
    X, y = data(rng, n=41, d=30)
    Y = np.column_stack([y, X[:, 5] + rng.standard_normal(41)])
    weight = np.append(np.zeros(11), rng.uniform(1, 2, 30))
    for w, most in ((None, 20), (weight, 14)):
        model = OLSRegressor("loo").fit(X, Y, w)
        for i, target in enumerate(Y.T):
            path = sl.ols(X, target, most, intercept=True, sample_weight=w)
            found = sl.leave_one_out(X, target, path, sample_weight=w)
            assert model.n_iter_[i] == np.argmin(found.corrected) == np.count_nonzero(model.coef_[i])
            near(model.leave_one_out_[i].corrected, found.corrected)
            near(
                model.coef_[i],
                sl.ols(X, target, model.n_iter_[i], intercept=True, sample_weight=w).dense_coef(),
            )
    assert OLSRegressor("loo", max_nonzero_coefs=3).fit(X, y).path_.support.shape == (3,)
    noise = SequentialLassoRegressor("loo", fit_intercept=False).fit(X[:3], np.zeros(3))
    assert (noise.n_iter_, noise.coef_.any()) == (0, False)


@pytest.mark.parametrize("cls", [OLSRegressor, SequentialLassoRegressor])
def test_what_is_refused(rng, cls):
    X, y = data(rng, d=5)
    refuses(r"n_nonzero_coefs must be in 1\.\.5; got 6", cls(6).fit, X, y)
    refuses("n_nonzero_coefs must be an integer, None or 'loo'; got 'ebic'", cls("ebic").fit, X, y)
    refuses("max_nonzero_coefs must be in", cls("loo", max_nonzero_coefs=0).fit, X, y)
    refuses("n_nonzero_coefs must be an integer", cls(2.0).fit, X, y, error=TypeError)
    X[:, 4] = X[:, 0] + X[:, 1]
    words = r"the path ended with 4 features of 5 requested for 2 of 2 targets, the first 0"
    warns(words, cls(5).fit, X, np.column_stack([y, -y]), category=RuntimeWarning)
