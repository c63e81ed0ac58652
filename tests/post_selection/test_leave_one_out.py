"""Leave-one-out against n fits by `lstsq`, or in fractions, and its correction against the inverse matrix."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import sparselin as sl
from sparselin.estimators import BestSubsetSelector, LassoSelector, OLSSelector, OMPSelector

OPTIONS = [{"intercept": True, "standardize": True}, {}, {"intercept": True, "forced": (5, 3)}]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 6)) * RNG.uniform(0.1, 10, 6) + RNG.normal(size=6)
X, y = (a.astype(np.float32).astype(float) for a in (X, X[:, 0] - X[:, 1] + RNG.standard_normal(24) + 3))
WEIGHT = RNG.integers(0, 4, 24) * RNG.uniform(1, 2, 24)

SELECTORS = [
    (OMPSelector, {"standardize": True}),
    (OMPSelector, {"groups": [0, 0, 1, 1, 2, 2]}),
    (OLSSelector, {"forced": (5, 3), "fit_intercept": False}),
    (LassoSelector, {}),
    (BestSubsetSelector, {}),
]


def by_refits(support, w, m):
    """Return the error and the corrected error on these features and m columns of ones, by n fits."""
    A, rows = np.column_stack([np.ones((24, m)), X[:, support]]), np.flatnonzero(w)
    B, z, n = np.sqrt(w)[:, None] * A, np.sqrt(w) * y, len(rows)
    fits = [np.linalg.lstsq(np.delete(B, i, 0), np.delete(z, i), rcond=None)[0] for i in rows]
    squares = [(y[i] - A[i] @ beta) ** 2 for i, beta in zip(rows, fits, strict=True)]
    error = np.average(squares, weights=w[rows])
    A[:, m:] -= m * np.average(A[:, m:], axis=0, weights=w)
    A /= np.sqrt(np.average(A**2, axis=0, weights=w))
    trace = np.trace(np.linalg.inv(A.T @ (w[:, None] * A) / w.sum()))
    return error, error * n / (n - A.shape[1]) * (1 + trace / n)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, np.float32])
def test_each_size_is_that_of_n_fits(options, weight, form):
    path = sl.ols(form(X), y, 6, sample_weight=weight, **options)
    found = sl.leave_one_out(form(X), y, path, sample_weight=weight)
    w, f = np.ones(24) if weight is None else weight, len(options.get("forced", ()))
    expected = np.array([by_refits(path.support[:t], w, int("intercept" in options)) for t in range(7)])
    np.testing.assert_allclose(np.transpose([found.error, found.corrected]), expected, rtol=1e-10)
    np.testing.assert_allclose(found.r2, 1 - found.error / found.error[0])
    assert (found.best, found.best_corrected) == tuple(f + expected[f:].argmin(axis=0))
    drawn = [line.get_ydata() for line in sl.plots.show(found).lines]
    np.testing.assert_array_equal(drawn, [found.error, found.corrected])


@pytest.mark.parametrize(("cls", "options"), SELECTORS, ids=str)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
def test_the_rule_loo_scores_each_model_of_a_selector(cls, options, weight):
    """The models are nested or not; there are groups and forced features; two outputs have the mean error."""
    found = cls("loo", max_features=6 if "groups" not in options else 3, **options).fit(X, y, weight)
    w, m = np.ones(24) if weight is None else weight, int(found.fit_intercept)
    want = [by_refits(found.at(k).selected_, w, m)[1] for k in found.sizes_]
    np.testing.assert_allclose(found.scores_, want, rtol=1e-10)
    assert found.k_ == found.sizes_[np.argmin(want)]
    if cls is OMPSelector:
        both = cls("loo", max_features=3, **options).fit(X, np.column_stack([y, y]), weight)
        np.testing.assert_allclose(both.scores_, found.scores_[: len(both.scores_)], rtol=1e-9)


def test_the_rule_loo_is_for_least_squares():
    for options in ({"loss": "poisson"}, {"positive": True}):
        with pytest.raises(ValueError, match="'loo' needs loss='squared' and positive=False"):
            OMPSelector("loo", **options).fit(X, np.abs(y).round())
    heavy = OLSSelector("loo").fit(X, y, WEIGHT / 1e3)  # few rows count, whatever their weights sum to
    assert heavy.sizes_[-1] == min(6, np.count_nonzero(WEIGHT) // 2 - 1)


def test_a_row_that_determines_its_own_fit_makes_the_error_infinite():
    Z = np.column_stack([X, np.eye(24)[7], 2 * X[:, 0] + 1])
    found = sl.leave_one_out(Z, y, sl.ols(Z, y, 4, forced=[0, 7, 6, 1], intercept=True))
    assert found.corrected[1] == found.corrected[2]  # feature 7 is in the span of feature 0 and the ones
    assert np.isinf(found.corrected).tolist() == np.isneginf(found.r2).tolist() == [False] * 3 + [True] * 2
    assert found.best == found.best_corrected == 4  # all are forced
    whole = sl.leave_one_out(X[:5], y[:5], sl.omp(X[:5], y[:5], 5))  # as many features as rows
    assert np.isinf(whole.error).tolist() == [False] * 5 + [True]


@pytest.mark.parametrize("size", [1e3, 1e8, 1e10])
def test_a_row_that_nearly_determines_its_fit_is_left_out_to_rounding(size):
    """1 − h is about size⁻², far below the rounding of h."""
    Z = np.append(size, X[1:, 0])
    a, b = np.vectorize(Fraction)(Z), np.vectorize(Fraction)(y)
    exact = float(np.mean((b - a * (a @ b - a * b) / (a @ a - a * a)) ** 2))
    error = sl.leave_one_out(Z[:, None], y, sl.omp(Z[:, None], y, 1)).error[1]
    assert error == pytest.approx(exact, rel=1e-9 + 1e-15 * size)


OTHERS = [
    ((X, y, WEIGHT), sl.omp(X, y, 3), "path does not belong to X and y"),
    ((sl.Problem(X, y), None), sl.omp(X, y, 3, intercept=True), "path does not belong to X and y"),
    ((X[:, :1], y), sl.omp(X, y, 3), "path must hold column indices in 0..0"),
    ((X, y), sl.omp(X, y, 3, positive=True), "path must not come from positive=True"),
    ((X, y), sl.lasso_path(X, y), "path must be a SelectionPath, .* got LassoPath"),
]


@pytest.mark.parametrize(("data", "path", "message"), OTHERS)
def test_other_data_and_other_paths_are_refused(data, path, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sl.leave_one_out(*data[:2], path, sample_weight=data[2] if data[2:] else None)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows_of_weight_zero_are_as_if_removed_and_the_unit_of_weights_is_free(options):
    w = np.random.default_rng(3).uniform(0.5, 2, 24)
    places = [0, 5, 5, 24]
    longer, gone = (
        (np.insert(X, places, 40.0, axis=0), np.insert(y, places, -90.0)),
        np.insert(w, places, 0.0),
    )
    found = sl.leave_one_out(X, y, sl.omp(X, y, 5, sample_weight=w, **options), sample_weight=w)
    same = sl.leave_one_out(*longer, sl.omp(*longer, 5, sample_weight=gone, **options), sample_weight=gone)
    unit = sl.leave_one_out(X, y, sl.omp(X, y, 5, sample_weight=4 * w, **options), sample_weight=4 * w)
    data = {key: value for key, value in options.items() if key != "forced"}
    whole, part = sl.Problem(*longer, sample_weight=gone, **data), sl.Problem(X, y, sample_weight=w, **data)
    forced = options.get("forced", ())
    of_whole, of_part = (sl.leave_one_out(p, None, sl.omp(p, 5, forced=forced)) for p in (whole, part))
    for other, expected in ((same, found), (unit, found), (of_whole, of_part)):
        for name in ("error", "corrected", "r2"):
            np.testing.assert_allclose(getattr(other, name), getattr(expected, name), rtol=1e-9)
        assert (other.best, other.best_corrected) == (expected.best, expected.best_corrected)
