"""The table of sizes of `sparselin select`, by hand and against models that are fitted anew."""

import numpy as np
import pytest

import sparselin as sl
from sparselin.estimators import OMPSelector
from sparselin.studies.select.sizes import table_of_sizes


def test_by_hand():
    """RSS is 10 without the feature, where ȳ = 3, and 1.9 with the slope .9, so that σ̂² = 1.9/3."""
    X, y = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 2.0, 4.0, 5.0])
    path = sl.omp(X, y, 1, intercept=True)
    zero, one = table_of_sizes(path, X, y, None)
    expected = [0, 0.0, 0.0, 10 / (1.9 / 3) - 5 + 2, 5 * np.log(10 / 5)]
    np.testing.assert_allclose(zero, expected, rtol=1e-12, atol=1e-12)
    expected = [1, 0.81, 1 - 0.19 * 4 / 3, 2.0, 5 * np.log(1.9 / 5) + np.log(5)]
    np.testing.assert_allclose(one, expected, rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("unit", [1.0, 3.0, 2.0**20])
def test_with_weights(intercept, unit):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((30, 6)) + 2
    y, w = X[:, 0] - X[:, 3] + rng.standard_normal(30) + 1, rng.uniform(0.2, 3, 30) * unit
    path = sl.omp(X, y, 4, intercept=intercept, sample_weight=w)
    ones = np.ones((30, int(intercept)))

    def rss(S):
        A, z = np.sqrt(w)[:, None] * np.hstack([ones, X[:, S]]), np.sqrt(w) * y
        return np.sum((z - A @ np.linalg.lstsq(A, z)[0]) ** 2)

    variance = rss(np.arange(6)) / (30 - 6 - intercept)
    scores = OMPSelector("bic", fit_intercept=intercept, max_features=4).fit(X, y, w).scores_
    for size in table_of_sizes(path, X, y, w):
        S, p = path.support[: size.k], size.k + intercept
        freedom = (rss(S) / (30 - p)) / (rss(S[:0]) / (30 - intercept))
        np.testing.assert_allclose(size.adjusted_r2, 1 - freedom, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(size.cp, rss(S) / variance - 30 + 2 * p, rtol=1e-9)
        np.testing.assert_allclose(size.bic, scores[size.k], rtol=1e-9)


def test_without_degrees_of_freedom():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((5, 9)), rng.standard_normal(5)
    found = table_of_sizes(sl.omp(X, y, 4, intercept=True), X, y, None)
    assert [size.cp for size in found] == [None] * 5
    assert [size.adjusted_r2 is None for size in found] == [False] * 4 + [True]
    assert table_of_sizes(sl.omp(X, y, 2, positive=True), X, y, None) == []
