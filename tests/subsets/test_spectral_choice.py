"""choose_nu: the rule on its own terms, and the LASSO at equal sparsity by scikit-learn."""

import numpy as np
import pytest
from refusals import refuses

import sparselin as sl
from sparselin import Problem
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy, SpectralVariance
from sparselin.spectral.choice import choose_nu_for_each, lasso_fits


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 25)) + 0.7 * rng.standard_normal((60, 1))
    X /= np.linalg.norm(X, axis=0)
    y = X[:, :8] @ rng.standard_normal(8) + 0.05 * rng.standard_normal(60)
    return X, y / np.linalg.norm(y)


def r_squared(X, y, coef):
    return 1 - ((y - X @ coef) ** 2).sum() / (y @ y)


def refit(X, y, S):
    coef = np.zeros(X.shape[1])
    coef[S] = np.linalg.lstsq(X[:, S], y, rcond=None)[0]
    return coef


def test_the_lasso_is_taken_where_it_first_goes_beyond_k(data):
    from sklearn.linear_model import lars_path

    X, y = data
    coefs = lars_path(X, y, method="lasso")[2].T
    sizes = [np.count_nonzero(np.abs(c) > 1e-12) for c in coefs]
    for k, fit in zip((1, 3, 6, 12), lasso_fits(Problem(X, y), (1, 3, 6, 12)), strict=True):
        # the knot before the first that shows k + 1 nonzeros is where that feature enters
        i = next(i for i, size in enumerate(sizes) if size > k) - 1
        assert fit.coef == pytest.approx(coefs[i], abs=1e-9)
        assert fit.features.tolist() == np.flatnonzero(np.abs(coefs[i]) > 1e-12).tolist()
        assert len(fit.features) == k
        assert fit.r2 == pytest.approx(r_squared(X, y, coefs[i]))
        assert fit.r2_refitted == pytest.approx(r_squared(X, y, refit(X, y, fit.features)))
        assert fit.r2_refitted > fit.r2


def test_the_lasso_of_ties_and_of_the_end_of_the_path():
    X, y = np.eye(4), np.array([1.0, 1.0, 0.5, 0.0])
    one, two, three, four = lasso_fits(Problem(X, y), (1, 2, 3, 4))
    assert (one.features.tolist(), one.r2, one.lam) == ([], 0.0, 1.0)  # two features enter at once
    assert (two.features.tolist(), two.lam) == ([0, 1], 0.5)
    assert two.coef == pytest.approx([0.5, 0.5, 0, 0])
    assert three.lam == four.lam == 0  # the path ends with three
    assert four.features.tolist() == [0, 1, 2]
    assert four.r2 == pytest.approx(1.0)


@pytest.mark.parametrize("refitted", [False, True])
@pytest.mark.parametrize("method", ["forward", "greedy_local_search"])
@pytest.mark.parametrize(
    "f", [SmoothedDifferentialEntropy(0.1, k=5), GeneralizedRank(0.5), SpectralVariance(k=5)], ids=str
)
def test_the_rule(f, method, refitted, data):
    X, y = data
    k = 5
    choice = sl.choose_nu(X, y, k, f, method=method, refitted=refitted)
    target = choice.r2_refitted if refitted else choice.r2_lasso
    right = choice.r2_tried >= target - 1e-12
    assert (np.diff(choice.tried) > 0).all()
    assert choice.tried[0] == 0
    assert choice.refitted == refitted
    some = "some" if right.any() else "none"
    assert choice.qualifies == ("every" if right.all() else some)
    if choice.qualifies == "none":
        assert (choice.nu, choice.lower, choice.upper) == (0, 0, 0)
    else:
        i = np.flatnonzero(right)[-1]
        assert choice.nu == choice.lower == choice.tried[i]
        assert choice.upper == (np.inf if i == len(right) - 1 else choice.tried[i + 1])
        assert choice.upper == np.inf or choice.nu == 0 or choice.upper <= 1.02 * choice.nu
    search = sl.forward_regression if method == "forward" else sl.greedy_local_search
    for nu, r2 in list(zip(choice.tried, choice.r2_tried, strict=True))[::4]:
        assert search(X, y, k, regularizer=f, nu=nu).r2 == pytest.approx(r2, abs=1e-12)
    found = search(X, y, k, regularizer=f, nu=choice.nu)
    assert choice.selection.support.tolist() == found.support.tolist()
    assert choice.selection.value == pytest.approx(found.value)


def test_some_none_and_every(data, rng):
    X, y = data
    f = SpectralVariance()
    some = sl.choose_nu(X, y, 6, f, refitted=True)
    assert some.qualifies == "some"
    assert 0 < some.lower < some.upper < np.inf
    for columns in (np.linalg.qr(X)[0], np.eye(60), np.linalg.qr(X * rng.standard_normal((60, 1)))[0]):
        every = sl.choose_nu(columns, y, 3, f)  # f is 0 up to rounding: R² decides for every ν
        assert (every.qualifies, every.lower, every.upper) == ("every", 4096, np.inf)
        assert np.ptp(every.r2_tried) < 1e-12
    # column 0 is nearest to y and no part of it; the LASSO goes by the longer columns, and has y
    X = np.column_stack([[1.0, 1.0, 0.3], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0]])
    none = sl.choose_nu(X, [1.0, 1.0, 0.0], 2, GeneralizedRank(0.0), refitted=True)
    assert none.selection.support.tolist() == [0, 1]
    assert none.r2_refitted == pytest.approx(1)
    assert (none.qualifies, none.nu, none.upper) == ("none", 0, 0)


def test_all_of_several_k_share_the_grid(data):
    X, y = data
    f = SmoothedDifferentialEntropy(0.1)
    ks = (7, 2, 4)
    together = choose_nu_for_each(X, y, ks, f, refitted=True)
    assert [len(choice.selection.support) for choice in together] == list(ks)
    for k, choice in zip(ks, together, strict=True):
        found = sl.forward_regression(X, y, k, regularizer=f, nu=choice.nu)
        assert choice.selection.support.tolist() == found.support.tolist()
        alone = lasso_fits(Problem(X, y), [k])[0]
        assert (choice.r2_lasso, choice.r2_refitted) == pytest.approx((alone.r2, alone.r2_refitted))
        for nu, r2 in zip(choice.tried, choice.r2_tried, strict=True):
            assert sl.forward_regression(X, y, k, regularizer=f, nu=nu).r2 == pytest.approx(r2, abs=1e-12)
        assert choice.qualifies == "none" or choice.selection.r2 >= choice.r2_refitted - 1e-12
    assert choose_nu_for_each(X, y, (), f) == ()


def test_the_constant_is_that_of_each_k(data):
    X, y = data
    choices = choose_nu_for_each(X, y, (2, 5), SpectralVariance(k=9), method="greedy_local_search")
    for k, choice in zip((2, 5), choices, strict=True):
        found = sl.greedy_local_search(X, y, k, regularizer=SpectralVariance(k=k), nu=choice.nu)
        assert choice.selection.diversity == pytest.approx(found.diversity)


def test_the_refinement_ends_where_weights_are_tiny(data):
    """ν₀ = 1e-200: its square is zero."""
    X, y = data
    f = GeneralizedRank(1.0)
    lengths = 1 + np.arange(25) / 25
    base, tiny = (sl.choose_nu(scale * X * lengths, y, 5, f, refitted=True) for scale in (1.0, 1e100))
    assert base.qualifies == "some"
    assert tiny.nu == pytest.approx(1e-200 * base.nu)
    assert tiny.selection.support.tolist() == base.selection.support.tolist()


def test_a_zero_response_qualifies_always():
    choice = sl.choose_nu(np.eye(3), np.zeros(3), 2, SpectralVariance())
    assert (choice.qualifies, choice.r2_lasso, choice.selection.r2) == ("every", 0.0, 0.0)


def test_the_callback_sees_each_weight_and_ends_the_search(data):
    X, y = data
    seen = []
    choice = sl.choose_nu(X, y, 4, SpectralVariance(), callback=seen.append)
    assert sorted(seen) == choice.tried.tolist()
    short = sl.choose_nu(X, y, 4, SpectralVariance(), callback=lambda nu: nu > 0)
    assert len(short.tried) == 2


BAD_INPUT = [
    ({"method": "lasso"}, "method must be one of"),
    ({"variant": "x"}, "variant must be one of"),
    ({"regularizer": None}, "regularizer must be"),
    ({"regularizer": "sv"}, "regularizer must be"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT)
def test_bad_input(arguments, message, data):
    X, y = data
    given = {"k": 3, "regularizer": SpectralVariance()} | arguments
    refuses(message, sl.choose_nu, X, y, error=(TypeError, ValueError), **given)


def test_a_problem_has_its_own_y(rng):
    X, y = rng.standard_normal((8, 4)), rng.standard_normal(8)
    with pytest.raises(TypeError, match="got a Problem and a y"):
        sl.choose_nu(sl.Problem(X, y), y, 2, sl.spectral.GeneralizedRank(0.5))
