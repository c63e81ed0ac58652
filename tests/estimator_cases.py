"""The estimators in place of scikit-learn's, with data for them."""

import pytest
from oracles import near
from sklearn import linear_model

from sparselin import estimators

ESTIMATORS = {
    "OrthogonalMatchingPursuit": {"n_nonzero_coefs": 4},
    "OrthogonalMatchingPursuitCV": {"max_iter": 8},
    "LassoLars": {"alpha": 0.05},
    "LassoLarsCV": {},
    "LassoLarsIC": {"criterion": "bic"},
}
each_estimator = pytest.mark.parametrize("name", ESTIMATORS)


def ours(name, **options):
    return getattr(estimators, name)(**ESTIMATORS[name] | options)


def theirs(name, **options):
    return getattr(linear_model, name)(**ESTIMATORS[name] | options)


def data(rng, n=60, d=20, offset=3.0):
    """A design, and responses with a signal in its first four columns."""
    X = rng.standard_normal((n, d)) + offset * rng.standard_normal(d)
    return X, X[:, :4] @ [3.0, -2.0, 1.5, 1.0] + rng.standard_normal(n) + offset


def near_models(a, b, tol=1e-9):
    """Assert that two models have close coefficients and intercepts."""
    near(a.coef_, b.coef_, tol)
    near(a.intercept_, b.intercept_, tol)
