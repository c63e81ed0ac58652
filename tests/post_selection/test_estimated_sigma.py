"""Inference with σ estimated, given or unknown: defaults, levels, cautions; weights; logarithms."""

import dataclasses

import mpmath as mp
import numpy as np
import pytest
import scipy.stats
from refusals import refuses

import sparselin as sl

pytest.importorskip("flint")


def null(seed, n, d):
    rng = np.random.default_rng((seed, n, d))
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def test_tests_have_their_level_with_three_degrees_of_freedom():
    """An estimate that is taken as σ rejects 14 % of true hypotheses here, and its intervals cover 87 %."""
    steps, p, covered = [], [], []
    for seed in range(150):
        X, y = null(seed, 15, 12)
        found = sl.inference(X, y, sl.omp(X, y, 3))
        steps, p = [*steps, *found.step_p_value], [*p, *found.p_value]
        covered += ((found.interval[:, 0] < 0) & (found.interval[:, 1] > 0)).tolist()
    for rejected in (np.array(steps) < 0.05, np.array(p) < 0.05, ~np.array(covered)):
        assert scipy.stats.binomtest(int(rejected.sum()), len(rejected), 0.05).pvalue > 0.001
    assert scipy.stats.kstest(steps, "uniform").pvalue > 0.001


@pytest.mark.parametrize("n", [9, 10, 11, 14, 40])
def test_the_default_needs_three_degrees_of_freedom_and_says_how_many_there_are(n):
    X, y = null(1, n, 8)
    for copies in ([], [0, 3]):  # only independent columns count
        Z = np.column_stack([X, 2 * X[:, copies] + 1])
        path = sl.omp(Z, y, 2, forced=[1, 2], intercept=True)
        found, free = sl.inference(Z, y, path), n - 9
        if free < 3:
            unknown = sl.inference(Z, y, path, sigma="unknown")
            assert found == dataclasses.replace(unknown, model=found.model)
            assert np.isnan([found.sigma, found.degrees]).all()
            words = f"with all features n − d = {free if not copies or n > 11 else n - 11} is too small"
        else:
            assert found == sl.inference(Z, y, path, sigma="full")
            assert found.degrees == free
            words = f"t-tests with n − d = {free} degrees of freedom"
        assert words in str(found)
        assert not found.approximate
    refuses("or a number k", sl.inference, X[:9], y[:9], sl.omp(X[:9], y[:9], 2, intercept=True), k="bic")


def test_only_a_given_or_an_unknown_sigma_is_called_exact():
    X, y = null(2, 130, 10)
    path = sl.omp(X, y, 2)
    for sigma, degrees, word in (
        (1.0, np.inf, "exact"),
        ("full", 120, "exact"),
        ("response", 130, "approximate"),
    ):
        found = sl.inference(X, y, path, sigma=sigma)
        assert (found.degrees, found.approximate) == (degrees, word != "exact")
        assert repr(found).startswith(f"<Inference: {word},")
    randomized = sl.inference(X, y, path, method="randomized")
    assert randomized.approximate
    assert "estimated with n − d = 120 degrees of freedom and taken as known: approximate" in str(randomized)
    assert not sl.inference(X, y, path, method="randomized", sigma=1.0).approximate
    few = X[:40], y[:40], sl.omp(X[:40], y[:40], 2)
    refuses("which needs n − d ≥ 100 degrees .* got n − d = 30", sl.inference, *few, method="randomized")
    assert sl.inference(*few, method="randomized", sigma="full").degrees == 30


def test_a_mean_that_no_column_explains_is_warned_of():
    X, y = null(3, 40, 6)
    for sigma in ("full", "unknown"):
        with pytest.warns(UserWarning, match="y has a mean that the columns do not explain"):
            sl.inference(X, y + 9, sl.omp(X, y + 9, 2), sigma=sigma)
        weight = np.arange(1.0, 41)
        path = sl.omp(X, y + 9, 2, sample_weight=weight)
        with pytest.warns(UserWarning, match="compute the path with intercept=True"):
            sl.inference(X, y + 9, path, sigma=sigma, sample_weight=weight)
        path = sl.omp(X, y + 9, 2, intercept=True)
        shifted = sl.inference(X + 5, y, sl.omp(X + 5, y, 2, intercept=True), sigma=sigma)
        np.testing.assert_allclose(
            sl.inference(X, y + 9, path, sigma=sigma).p_value, shifted.p_value, rtol=1e-9
        )
    sl.inference(X, y + 9, sl.omp(X, y + 9, 2), sigma=1.0)  # any μ


# Weights


FAMILY = [
    {}, {"sigma": 2.0}, {"sigma": "unknown"}, {"sigma": "response"}, {"k": "bic"},
    {"sigma": 1.0, "k": "ebic"}, {"method": "split"}, {"method": "split", "splits": 3, "sigma": "unknown"},
    {"method": "randomized", "sigma": "full"}, {"method": "randomized", "sigma": 1.5},
]  # fmt: skip


def numbers_of(found):
    fields = (found.p_value, found.step_p_value, found.spacing_p_value, found.interval.ravel())
    return np.concatenate([*fields, found.estimate, [found.degrees]])


@pytest.mark.parametrize("wanted", FAMILY, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"intercept": True}, {"intercept": True, "standardize": True}], ids=str
)
def test_rows_of_weight_zero_are_as_if_removed_and_the_unit_of_weights_is_free(wanted, options):
    """A row that is zero in X and y has weight 1 all the same."""
    X, y = null(4, 30, 5)
    X[3] = y[3] = 0
    weight = np.random.default_rng(5).uniform(0.5, 2, 30)
    gone = np.insert(weight, [0, 7, 7, 30], 0.0)
    longer = np.insert(X, [0, 7, 7, 30], 99.0, axis=0), np.insert(y, [0, 7, 7, 30], -77.0)
    for method in (sl.omp, lambda *data, **more: sl.lasso_path(*data[:2], max_steps=3, **more)):
        path = method(X, y, 3, sample_weight=weight, **options)
        found = sl.inference(X, y, path, sample_weight=weight, **wanted)
        again = method(*longer, 3, sample_weight=gone, **options)
        same = sl.inference(*longer, again, sample_weight=gone, **wanted)
        np.testing.assert_allclose(numbers_of(same), numbers_of(found), rtol=1e-8)
        assert same.model == found.model
        if not isinstance(wanted.get("sigma"), float):
            again = method(X, y, 3, sample_weight=8 * weight, **options)
            other = sl.inference(X, y, again, sample_weight=8 * weight, **wanted)
            np.testing.assert_allclose(numbers_of(other), numbers_of(found), rtol=1e-8)


# Logarithms


def test_p_values_below_the_least_float_keep_their_order():
    X, _ = null(6, 60, 4)
    y = X @ [900.0, 700, 0, 0] + 1e-3 * X[:, 2] + np.random.default_rng(7).standard_normal(60)
    found = sl.inference(X, y, sl.omp(X, y, 2, forced=[0, 1]), sigma=1.0)
    assert found.p_value.tolist() == pytest.approx([0, 0], abs=1e-320)
    with mp.workdps(30):
        expected = [float(mp.log(2 * mp.ncdf(-abs(z)))) for z in found.estimate / found.standard_error]
    np.testing.assert_allclose(found.log_p_value, expected, rtol=1e-9)
    assert found.log_p_value[0] < found.log_p_value[1] < -1e6
    shown = [line.split()[2] for line in str(found).splitlines()[2:4]]
    for text, log in zip(shown, found.log_p_value, strict=True):
        digits, power = text.split("e")
        assert np.log(float(digits)) + int(power) * np.log(10) == pytest.approx(log, rel=1e-6)
    assert found.to_frame("pandas")["log_p_value"].tolist() == found.log_p_value.tolist()
    X, y = null(8, 30, 4)
    found = sl.inference(X, y, sl.omp(X, y, 3))
    np.testing.assert_allclose(np.exp(found.log_step_p_value), found.step_p_value, rtol=1e-13)
    np.testing.assert_allclose(np.exp(found.log_p_value), found.p_value, rtol=1e-13)
