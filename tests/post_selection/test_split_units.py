"""Inference on the other half for groups and other losses, against formulas of SciPy, and by simulation."""

import numpy as np
import pytest
import scipy.stats
from refusals import refuses
from scipy.optimize import minimize

import sparselin as sl
from sparselin.estimators import OMPSelector
from sparselin.post_selection.classical import classical
from sparselin.results import Fit

GROUPS = ["a", "a", "b", "c", "c", "c"]


def least_squares(X, y, w, ones):
    """Return estimates, standard errors and p-values of t-tests, from a QR factorisation."""
    A = np.column_stack([np.ones(len(X)), X]) if ones else X
    root = np.sqrt(w)
    Q, R = np.linalg.qr(root[:, None] * A)
    beta = np.linalg.solve(R, Q.T @ (root * y))
    free = len(y) - A.shape[1]
    left = root * (y - A @ beta)
    inverse = np.linalg.inv(R)
    covariance = inverse @ inverse.T * (left @ left) / free
    error = np.sqrt(np.diag(covariance))
    p = 2 * scipy.stats.t.sf(np.abs(beta / error), free)
    return beta[ones:], error[ones:], p[ones:], float(left @ left), free


def likelihood(X, y, w, loss, ones):
    """Return the maximum likelihood estimates and their covariance, by BFGS and the Hessian at its end."""
    A = np.column_stack([np.ones(len(X)), X]) if ones else X

    def negative(beta):
        eta = A @ beta
        terms = np.logaddexp(0, eta) if loss == "logistic" else np.exp(eta)
        return float(w @ (terms - y * eta))

    def slope(beta):
        eta = A @ beta
        mean = 1 / (1 + np.exp(-eta)) if loss == "logistic" else np.exp(eta)
        return A.T @ (w * (mean - y))

    beta = minimize(negative, np.zeros(A.shape[1]), jac=slope, tol=1e-13, options={"gtol": 1e-9}).x
    mean = 1 / (1 + np.exp(-A @ beta)) if loss == "logistic" else np.exp(A @ beta)
    variance = w * (mean * (1 - mean) if loss == "logistic" else mean)
    return beta[ones:], np.linalg.inv(A.T @ (variance[:, None] * A))[ones:, ones:]


@pytest.mark.parametrize("ones", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_tests_of_least_squares_are_t_and_f(rng, ones, weighted):
    X, y = rng.standard_normal((40, 6)), rng.standard_normal(40) + 2
    w = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    found = classical(X, y, np.arange(6), GROUPS, Fit(6, with_intercept=bool(ones)), 0.9, 40, w)
    beta, error, p, rss, free = least_squares(X, y, w, ones)
    assert np.allclose(found.estimate, beta)
    assert np.allclose(found.standard_error, error)
    assert np.allclose(found.p_value, p)
    width = scipy.stats.t.ppf(0.95, free) * error
    assert np.allclose(found.interval, np.column_stack([beta - width, beta + width]))
    for u, name in enumerate("abc"):
        inner = [j for j in range(6) if GROUPS[j] != name]
        more = least_squares(X[:, inner], y, w, ones)[3] - rss
        count = GROUPS.count(name)
        F = more / count / (rss / free)
        assert found.unit_statistic[u] == pytest.approx(F)
        assert found.unit_p_value[u] == pytest.approx(scipy.stats.f.sf(F, count, free))


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.parametrize("ones", [0, 1])
def test_tests_of_other_losses_are_of_wald(rng, loss, ones):
    X = rng.standard_normal((80, 6))
    w = rng.uniform(0.5, 2, 80)
    y = rng.integers(0, 2, 80) if loss == "logistic" else rng.poisson(1.5, 80)
    fit = Fit(6, with_intercept=bool(ones), loss=loss)
    found = classical(X, y.astype(float), np.arange(6), GROUPS, fit, 0.95, 80, w)
    beta, covariance = likelihood(X, y, w, loss, ones)
    if loss == "poisson":
        mu = np.exp(X @ beta)
        mu *= (w @ y) / (w @ mu) if ones else 1
        phi = max(1.0, float((w * (y - mu) ** 2 / mu).sum() / (80 - 6 - ones)))
        assert found.dispersion == pytest.approx(phi, rel=1e-4)
        covariance *= phi
    assert np.allclose(found.estimate, beta, rtol=1e-5, atol=1e-7)
    assert np.allclose(found.standard_error, np.sqrt(np.diag(covariance)), rtol=1e-5)
    assert np.allclose(
        found.p_value, 2 * scipy.stats.norm.sf(np.abs(beta) / np.sqrt(np.diag(covariance))), rtol=1e-4
    )
    for u, name in enumerate("abc"):
        at = [j for j in range(6) if GROUPS[j] == name]
        chi2 = beta[at] @ np.linalg.solve(covariance[np.ix_(at, at)], beta[at])
        assert found.unit_p_value[u] == pytest.approx(scipy.stats.chi2.sf(chi2, len(at)), rel=1e-4)
    assert found.degrees == np.inf


def test_dependent_columns_separation_and_few_rows_have_no_tests(rng):
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    X[:, 2] = X[:, 0] - X[:, 1]
    fit = Fit(4, with_intercept=True)
    found = classical(X, y, np.arange(4), list("abcd"), fit, 0.95, 30)
    assert np.isnan(found.estimate).tolist() == [False, False, True, False]
    assert np.isnan(found.unit_p_value[2])
    again = classical(X[:, [0, 1, 3]], y, np.arange(3), list("abd"), fit, 0.95, 30)
    assert np.allclose(found.p_value[[0, 1, 3]], again.p_value)
    few = classical(X[:4], y[:4], np.arange(4), list("abcd"), fit, 0.95, 4)
    assert "do not determine" in few.reason
    separated = (X[:, 0] > 0).astype(float)
    logistic = Fit(4, with_intercept=True, loss="logistic")
    found = classical(X, separated, np.arange(2), list("ab"), logistic, 0.95, 30)
    assert "separate" in found.reason
    assert np.isnan(found.estimate).all()
    assert "no tests: the selected features separate" in str(found)
    assert classical(X, np.ones(30), np.arange(2), list("ab"), logistic, 0.95, 30).reason.endswith(
        "one class only"
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_p_values_of_groups_have_their_level_without_any_effect(loss):
    """100 draws of noise: the largest group is picked each time, but the other half does not know it."""
    p = []
    same_rows = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((100, 12)), rng.standard_normal(100)
        y = (y > 0).astype(int) if loss == "logistic" else y
        path = OMPSelector(1, groups=np.repeat(range(4), 3), loss=loss).fit(X, y).path_
        found = sl.inference(X, y, path, method="split", rng=seed)
        assert found.rows == (50, 50)
        p.append(found.unit_p_value[0])
        naive = classical(X[:, path.support], y.astype(float), path.support, ["g"] * 3, path.fit, 0.95, 100)
        same_rows.append(naive.unit_p_value[0])
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.001
    assert scipy.stats.kstest(same_rows, "uniform").pvalue < 1e-6


def test_the_half_selects_by_the_same_method(rng):
    X = rng.standard_normal((120, 8))
    y = X[:, 2] + X[:, 5] + rng.standard_normal(120)
    w = rng.integers(0, 3, 120).astype(float)
    labels = ["p", "p", "q", "q", "r", "r", "s", "s"]
    options = {
        "groups": labels,
        "group_weights": "noise",
        "standardize": True,
        "forced": [6],
        "exclude": [0, 1],
    }
    path = OMPSelector(3, **options).fit(X, y, sample_weight=w).path_
    found = sl.inference(X, y, path, method="split", rng=3, sample_weight=w)
    rows = np.flatnonzero(w > 0)
    order = np.random.default_rng(3).spawn(1)[0].permutation(rows)
    first = np.sort(order[: len(rows) // 2])
    again = OMPSelector(3, **options).fit(X[first], y[first], sample_weight=w[first]).path_
    assert found.unit_names == again.order_names
    assert found.unit_names[0] == "s"
    assert found.support.tolist() == again.support.tolist()


def test_generalized_paths_name_their_labels(frame):
    X, y = frame.drop(columns="progression"), frame["progression"]
    labels = np.where(y > y.median(), "high", "low")
    path = sl.generalized_omp(X, labels, 2, loss="logistic", intercept=True)
    found = sl.inference(X, labels, path, method="split")
    assert found.unit_names == tuple(found.name_of(int(j)) for j in found.support)
    assert list(found.to_frame()["name"]) == list(found.unit_names)


def test_an_exact_fit_has_no_tests(rng):
    """Rounding errors are no noise: without this rule p is 1e-256."""
    X = rng.standard_normal((30, 3))
    for ones in (False, True):
        fit = Fit(3, with_intercept=ones)
        for y in (X[:, 0] - X[:, 2] + 3 * ones, np.full(30, 2.0 * ones)):
            assert "exactly" in classical(1e-12 * X, y, np.arange(3), list("abc"), fit, 0.95, 30).reason
    constant = classical(X, np.full(30, 2.0), np.arange(3), list("abc"), Fit(3), 0.95, 30)
    assert not constant.reason  # without an intercept it is data like others


def test_groups_need_a_split(rng):
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    path = OMPSelector(1, groups=[0, 0, 1, 1]).fit(X, y).path_
    refuses("a GroupPath has inference by a split", sl.inference, X, y, path)
    refuses("k is for a SelectionPath", sl.inference, X, y, path, method="split", k=1)
    refuses("splits is for a SelectionPath", sl.inference, X, y, path, method="split", splits=3)
    refuses("needs the rows", sl.inference, sl.Problem(X, y), None, path, method="split", error=TypeError)
    two = OMPSelector(1, groups=[0, 0, 1, 1]).fit(X, np.column_stack([y, y])).path_
    refuses("rng must be", sl.inference, X, y, path, method="split", rng="a", error=TypeError)
    refuses("two rows", sl.inference, X[:1], y[:1], path, method="split")
    refuses("one output", sl.inference, X, np.column_stack([y, y]), two, method="split")


def test_an_interval_without_its_estimate_is_marked():
    rng = np.random.default_rng(0)
    marked = 0
    for _ in range(60):
        X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
        found = sl.inference(X, y, sl.omp(X, y, 2), sigma=1.0)
        low, high = found.interval.T
        outside = (found.estimate < low) | (found.estimate > high)
        assert ("does not hold the estimate" in str(found)) == outside.any()
        assert str(found).count(" *\n") == outside.sum()
        marked += outside.any()
    assert 0 < marked < 60
