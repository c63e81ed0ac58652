"""Regressors on the features of a path against textbook searches: targets, weights, intercepts, warnings."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from estimator_cases import data
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


@pytest.fixture
def drawn(rng):
    """X (50, 12) and two targets with signals in other columns."""
    X, y = data(rng, n=50, d=12)
    return X, np.column_stack([y, X[:, 5] - X[:, 7] + rng.standard_normal(50)])


@pytest.mark.parametrize("cls", REGRESSORS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_each_target_has_least_squares_on_its_own_features(rng, drawn, cls, intercept, weighted):
    """Weights multiply the rows by √w; an intercept is the column √w, which is projected out."""
    X, Y = drawn
    weight = rng.integers(0, 3, 50) + rng.random(50) if weighted else None
    model = cls(3, fit_intercept=intercept).fit(X, Y, weight)
    root = np.ones(50) if weight is None else np.sqrt(weight)
    A, B, ones = root[:, None] * X, root[:, None] * Y, root / np.linalg.norm(root) * intercept
    Z, z = (M - np.outer(ones, ones @ M) for M in (A, B))
    for i, target in enumerate(Y.T):
        S, coef = REGRESSORS[cls](Z, z[:, i], 3), np.zeros(12)
        coef[S] = np.linalg.lstsq(Z[:, S], z[:, i], rcond=None)[0]
        near(model.coef_[i], coef)
        near(model.predict(X)[:, i], X @ coef + ones @ (B[:, i] - A @ coef) / np.linalg.norm(root))
        for form in (np.asarray, scipy.sparse.csr_array, pd.DataFrame):
            single = clone(model).fit(form(X), target, weight)
            near(single.coef_, coef)
    column = clone(model).fit(X, Y[:, 1:], weight)
    near(column.coef_, single.coef_)
    assert np.shape(column.intercept_) == ((1,) if intercept else ())


def test_paths_and_counts(rng, drawn):
    X, Y = drawn
    model, both = OLSRegressor(2).fit(X, Y[:, 0]), OLSRegressor(2).fit(X, np.column_stack([Y[:, 0], X[:, 5]]))
    assert (model.n_iter_, model.path_) == (2, sl.ols(X, Y[:, 0], 2, intercept=True))
    assert (both.n_iter_, both.path_[0]) == ([2, 1], model.path_)  # the second target is fitted exactly
    single = SequentialLassoRegressor(method="omp").fit(X.astype(np.float32), Y[:, 0].astype(np.float32))
    assert (single.coef_.dtype, single.path_.coef.dtype, single.n_iter_) == (np.float32, np.float32, 1)
    assert len(BestSubsetRegressor(1).fit(X, Y).result_) == 2


def test_loo_takes_the_least_corrected_error_of_each_target(rng, drawn):
    X, Y = drawn
    X = np.hstack([X, rng.standard_normal((50, 30))])
    for w, most in ((None, 24), (np.append(np.zeros(21), rng.uniform(1, 2, 29)), 14)):
        model = OLSRegressor("loo").fit(X, Y, w)
        for y, t, coef, found in zip(Y.T, model.n_iter_, model.coef_, model.leave_one_out_, strict=True):
            path = sl.ols(X, y, most, intercept=True, sample_weight=w)
            near(found.corrected, sl.leave_one_out(X, y, path, sample_weight=w).corrected)
            assert t == np.argmin(found.corrected)
            near(coef, OLSRegressor(t).fit(X, y, w).coef_)
    assert len(OLSRegressor("loo", max_nonzero_coefs=3).fit(X, Y).path_[0]) == 3
    assert SequentialLassoRegressor("loo", fit_intercept=False).fit(X[:3], np.zeros(3)).n_iter_ == 0


@pytest.mark.parametrize("cls", [OLSRegressor, SequentialLassoRegressor])
def test_what_is_refused(drawn, cls):
    X, Y = drawn[0][:, :5], drawn[1]
    refuses(r"n_nonzero_coefs must be in 1\.\.5; got 6", cls(6).fit, X, Y)
    refuses("n_nonzero_coefs must be an integer, None or 'loo'; got 'ebic'", cls("ebic").fit, X, Y)
    refuses("max_nonzero_coefs must be in", cls("loo", max_nonzero_coefs=0).fit, X, Y)
    X[:, 4] = X[:, 0] + X[:, 1]
    words = r"the path ended with 4 features of 5 requested for 2 of 2 targets, the first 0"
    warns(words, cls(5).fit, X, Y, category=RuntimeWarning)
