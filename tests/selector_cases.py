"""The selectors, with data for them."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, lars_path

import sparselin as sl
from sparselin import estimators
from sparselin.estimators import SequentialAttentionSelector

FRAME, TARGET = load_diabetes(as_frame=True, return_X_y=True)
DIABETES = FRAME.to_numpy(), TARGET.to_numpy()


def forward_regression(X, y, k, **options):
    """R² + νf as `DiverseSelector` has it by default."""
    weight, regularizer = np.full(len(y), 1 / len(y)), sl.spectral.SmoothedDifferentialEntropy(1.0)
    defaults = {"standardize": True, "sample_weight": weight, "regularizer": regularizer, "nu": 0.1}
    return sl.forward_regression(X, y, k, **defaults, **options)


def refitted_lasso(X, y, k, *, forced=(), intercept=True):
    """Least squares on scikit-learn's last LASSO solution before the path first has more than k features."""
    A = np.column_stack([np.ones(len(y)), X[:, list(forced)]])
    rest = [v - A @ np.linalg.lstsq(A, v, rcond=None)[0] for v in (X, y)]
    rest[0][:, list(forced)] = 0
    coefs = np.abs(lars_path(*rest, method="lasso")[2])
    many = np.flatnonzero(np.count_nonzero(coefs[:, 1:] + coefs[:, :-1], axis=0) > k - len(forced))
    support = [*forced, *np.flatnonzero(coefs[:, many[0] if len(many) else -1])]
    line = LinearRegression().fit(X[:, support], y)
    r2 = line.score(X[:, support], y)
    return SimpleNamespace(support=support, coef=line.coef_, intercept=line.intercept_, r2=r2)


SELECTORS = {
    estimators.OMPSelector: sl.omp,
    estimators.OLSSelector: sl.ols,
    estimators.LassoSelector: refitted_lasso,
    estimators.SequentialLassoSelector: sl.sequential_lasso,
    SequentialAttentionSelector: sl.sequential_attention,
    estimators.DiverseSelector: forward_regression,
    estimators.BestSubsetSelector: sl.best_subset,
}
"""The selectors ↦ the functions behind them."""
each_selector = pytest.mark.parametrize("selector", SELECTORS, ids=lambda cls: cls.__name__)


def make(cls, *args, **options):
    """A selector, with a seed where one is used."""
    return cls(*args, **options, **({"random_state": 0} if cls is SequentialAttentionSelector else {}))


def noise(rng, n=60, d=12):
    """A design, and responses with a signal in its columns 2 and 7."""
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return X, X[:, 2] * 2 - X[:, 7] + rng.standard_normal(n)


def generalized(rng, loss, n=80, d=10):
    """X, responses with a signal in columns 2 and 7, and weights."""
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    eta = X[:, 2] - 0.7 * X[:, 7]
    y = rng.poisson(np.exp(eta - 1)) if loss == "poisson" else eta + rng.logistic(size=n) > eta.mean()
    return X, y + 0.0, rng.integers(1, 4, n) + 0.0


def alike(found, want, rtol=1e-9):
    """Assert that two selectors have the same features, with close coefficients and scores."""
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.coef_, want.coef_, rtol=rtol)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=rtol)
