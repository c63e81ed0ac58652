"""Selectors: the functions behind them, another k, kinds of columns and of data, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from losses import NAMED
from peak_memory import peak_memory
from refusals import refuses
from scipy.stats import chi2
from selector_cases import DIABETES, FRAME, SELECTORS, TARGET, alike, each_selector, generalized, make, noise
from sklearn.base import clone
from sklearn.model_selection import KFold

import sparselin as sl
from sparselin import estimators
from sparselin.estimators import OMPSelector, SequentialAttentionSelector, SequentialLassoSelector
from sparselin.greedy._groups import group_omp
from sparselin.greedy._units import weights_of_groups

X, y = DIABETES


@pytest.mark.parametrize("forced", [(), (3, 0)], ids=["", "forced"])
@each_selector
def test_the_functions_behind(selector, forced):
    found = make(selector, 5, forced=forced).fit(X, y)
    want = SELECTORS[selector](X, y, 5, intercept=True, forced=forced)
    assert set(found.selected_) == set(want.support)
    coef = found.coef_[want.support]
    np.testing.assert_allclose(coef, want.coef, rtol=1e-9, atol=1e-9 * np.abs(want.coef).max())
    np.testing.assert_allclose(found.intercept_, want.intercept, rtol=1e-9)
    np.testing.assert_allclose(found.scores_[-1], (1 - want.r2) * y.var(), rtol=1e-9)
    assert found.sizes_.tolist() == list(range(len(forced), 6))
    assert found.k_ == found.n_features_ == found.get_support().sum() == 5


@each_selector
def test_another_k_without_fitting_again(selector, monkeypatch):
    found = make(selector, 3, max_features=6).fit(X, y)
    again = {k: make(selector, k).fit(X, y) for k in (1, 6)}
    before = found.selected_.copy()
    monkeypatch.setattr(selector, "_path", None)
    for k, other in again.items():
        at = found.at(k)
        assert at.k_ == k
        assert at.get_support(True).tolist() == other.get_support(True).tolist()
        np.testing.assert_allclose(at.coef_, other.coef_, rtol=1e-9)
        assert clone(at).n_features_to_select == k
    assert found.k_ == 3
    assert found.selected_.tolist() == before.tolist()
    refuses(r"k must be in 0\.\.6; got 7", found.at, 7)


@NAMED
@pytest.mark.parametrize("cls", [OMPSelector, SequentialLassoSelector])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_generalized_omp_behind(rng, loss, cls, form):
    X, y, weight = generalized(rng, loss)
    X = np.column_stack([X, X[:, 7]])  # a tie
    given, kept = {"standardize": True, "loss": loss}, np.delete(np.arange(11), 1)
    inner = {"sample_weight": weight, "forced": [4]}
    for intercept in (True, False):
        found = cls(4, forced=[5], exclude=[1], fit_intercept=intercept, **given).fit(form(X), y, weight)
        want = sl.generalized_omp(form(X[:, kept]), y, 4, intercept=intercept, **given, **inner)
        assert isinstance(found.path_, sl.results.GeneralizedPath)
        assert found.path_.support.tolist() == kept[want.support].tolist() == found.selected_.tolist()
        assert found.path_.ties == tuple(tuple(kept[list(tied)].tolist()) for tied in want.ties)
        assert max(map(len, found.path_.ties)) == 2
        assert found.coef_[found.selected_].tolist() == want.coef.tolist()
        assert np.count_nonzero(found.coef_) == 4
        assert found.intercept_ == want.intercept
        assert found.coef_.dtype == want.coef.dtype
        np.testing.assert_allclose(found.scores_, want.deviance[1:] / weight.sum(), rtol=1e-6)
        assert found.at(2).coef_[found.selected_[:2]].tolist() == want.coef_at(2).tolist()
        at = found.path_.linear_predictor(X)
        np.testing.assert_allclose(at, X @ found.coef_ + found.intercept_, rtol=1e-4)


def test_excluded_columns_in_every_field(rng):
    X, y = noise(rng)
    X[:, 9] = X[:, 7]
    kept = np.delete(np.arange(12), [0, 5])
    found = SequentialAttentionSelector(3, exclude=[5, 0], random_state=0).fit(X, y).path_
    inner = SequentialAttentionSelector(3, random_state=0).fit(X[:, kept], y).path_
    assert found.support.tolist() == kept[inner.support].tolist()
    for name in ("ties", "active_sets"):
        mapped = [tuple(kept[list(some)].tolist()) for some in getattr(inner, name)]
        assert list(getattr(found, name)) == mapped
    assert any(len(tied) > 1 for tied in found.ties)
    for wide, narrow in zip(found.weights, inner.weights, strict=True):
        assert wide[kept].tolist() == narrow.tolist()
        assert not wide[[0, 5]].any()
    groups = OMPSelector(2, exclude=[5, 0], groups=[0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4]).fit(X, y).path_
    assert groups.groups.tolist() == [-1, 0, 1, 1, 1, -1, 2, 3, 3, 4, 4, 4]


def test_standardize(rng):
    X, y = noise(rng)
    Z = X * 10.0 ** rng.integers(-3, 4, 12)
    standardizing, diverse = OMPSelector(4, standardize=True), estimators.DiverseSelector(4)
    plain = standardizing.fit(X, y).selected_.tolist()
    assert standardizing.fit(Z, y).selected_.tolist() == plain
    assert OMPSelector(4).fit(Z, y).selected_.tolist() != plain
    want = diverse.fit(X, y).selected_.tolist()
    assert diverse.fit(Z, y, np.full(60, 7.0)).selected_.tolist() == want


# Kinds of data


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix])
@each_selector
def test_sparse(selector, container, rng):
    X, y = noise(rng)
    X[rng.random(X.shape) < 0.6] = 0
    for given in ({"n_features_to_select": 3}, {"n_features_to_select": "cv", "cv": 2, "max_features": 4}):
        found, want = (make(selector, **given).fit(A, y) for A in (container(X), X))
        alike(found, want, rtol=1e-7)
    assert sp.issparse(found.transform(container(X)))


@pytest.mark.parametrize(
    ("name", "outputs"),
    [("OMPSelector", 0), ("OMPSelector", [0, 1]), ("OLSSelector", 0), ("SequentialLassoSelector", 0)],
)
def test_sparse_is_not_made_dense(name, outputs, rng):
    n, d = 1000, 20_000
    X = sp.random_array((n, d), density=1e-3, format="csr", rng=rng)
    Y = np.asarray((X[:, [3]] - X[:, [5]]).todense()) + 0.01 * rng.standard_normal((n, 2))
    selector = getattr(estimators, name)(3, exclude=[0])
    selector.fit(X[:, :50], Y[:, outputs])  # compiles
    assert peak_memory(selector.fit, X, Y[:, outputs]) < n * d * 8 / 10


@each_selector
def test_float32(selector, rng):
    X, y = (a.astype(np.float32) for a in noise(rng))
    found = make(selector, 3).fit(X, y)
    assert found.coef_.dtype == np.float32
    assert found.transform(X).dtype == np.float32
    assert found.selected_.tolist() == make(selector, 3).fit(X.astype(np.float64), y).selected_.tolist()
    if selector is OMPSelector:
        several = OMPSelector(3).fit(X, np.column_stack([y, y**2]))
        assert several.coef_.dtype == several.path_.lam_star.dtype == np.float32


def test_labels_of_any_kind(rng):
    X, y, _ = generalized(rng, "logistic")
    want = sl.generalized_omp(X, y, 2, loss="logistic", intercept=True)
    words = np.where(y > 0, "well", "ill")
    for labels in (words, words.astype(object), pd.Series(words, dtype="category"), y > 0, 5 - 3 * (y < 1)):
        found = OMPSelector(2, loss="logistic").fit(X, labels)
        assert found.classes_.tolist() == np.unique(labels).tolist()
        assert found.selected_.tolist() == want.support.tolist()
        assert found.coef_[want.support].tolist() == want.coef.tolist()
    assert OMPSelector(2).fit(X, y).classes_ is None


# Groups and several outputs


def brute_force_groups(X, Y, groups, k, forced=(), weight=lambda m: 1.0):
    """Group OMP by its definition: the norm of the gradient, with numpy's least squares and an intercept."""
    order, n = list(forced), len(Y)
    while True:
        S = np.flatnonzero(np.isin(groups, order))
        A = np.column_stack([np.ones(n), X[:, S]])
        B = np.linalg.lstsq(A, Y, rcond=None)[0]
        residual = Y - A @ B
        if len(order) == k:
            return order, B, residual
        left = [g for g in np.unique(groups) if g not in order]
        weights = [weight(np.sum(groups == g) * Y.shape[1]) for g in left]
        gains = [np.linalg.norm(X[:, groups == g].T @ residual) for g in left] / np.array(weights)
        order.append(left[int(np.argmax(gains))])


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("forced", [(), (9, 1)])
def test_groups_and_several_outputs(rng, q, grouped, forced):
    X = rng.standard_normal((50, 14)) + 2
    Y = X[:, [1, 5, 6]] @ rng.standard_normal((3, q)) + rng.standard_normal((50, q))
    groups = rng.permutation(np.repeat(np.arange(6), [1, 2, 3, 4, 3, 1])) if grouped else np.arange(14)
    want, B, residual = brute_force_groups(X, Y, groups, 4, dict.fromkeys(groups[list(forced)]))
    found = OMPSelector(4, groups=groups if grouped else None, forced=forced).fit(X, Y if q > 1 else Y[:, 0])
    S = np.flatnonzero(np.isin(groups, want))
    assert np.flatnonzero(found.get_support()).tolist() == S.tolist()
    weights = {"sqrt": np.sqrt, "noise": lambda m: chi2(m).isf(1 / 7) ** 0.5} if grouped else {}
    for kind, weight in weights.items():
        A = X
        if kind == "noise":  # orthonormal bases of the centred groups
            A = np.zeros_like(X)
            for g in np.unique(groups):
                A[:, groups == g] = np.linalg.qr(X[:, groups == g] - X[:, groups == g].mean(axis=0))[0]
        order, *_ = brute_force_groups(A, Y, groups, 4, dict.fromkeys(groups[list(forced)]), weight)
        weighted = OMPSelector(4, groups=groups, forced=forced, group_weights=kind)
        assert weighted.fit(X, Y if q > 1 else Y[:, 0]).path_.order.tolist() == order
    np.testing.assert_allclose(np.atleast_2d(found.coef_)[:, S], B[1:].T, rtol=1e-8)
    np.testing.assert_allclose(found.intercept_, B[0] if q > 1 else B[0, 0], rtol=1e-8)
    np.testing.assert_allclose(found.scores_[-1], np.mean(residual**2), rtol=1e-9)
    if grouped or q > 1:
        assert found.path_.order.tolist() == want
        np.testing.assert_allclose(found.path_.predict(X), Y - residual, rtol=1e-8)
    if grouped:
        assert found.groups_[found.path_.order].tolist() == want


def test_group_ties_and_endings(rng):
    """Equal groups are tied, whatever their numbers, and a group in the span of S is never picked."""
    groups = np.array([0, 0, 1, 1, 2, 2])
    for _ in range(20):
        A, Q = rng.standard_normal((30, 2)), np.linalg.qr(rng.standard_normal((2, 2)))[0]
        X = np.column_stack([rng.standard_normal((30, 2)), A, A @ Q])
        Y = A @ rng.standard_normal((2, 2))
        path = group_omp(X, Y, 3, groups=groups)
        assert path.ties[0] == (1, 2)
        assert path.order.tolist() == [1]
        assert path.margin[0] < 1e-12
        assert path.status is sl.Status.EXACT_FIT
    more = group_omp(X, Y + rng.standard_normal((30, 2)), 3, groups=groups)
    assert sorted(more.order.tolist()) == [0, 1]
    assert more.status is sl.Status.RANK_EXHAUSTED
    none = group_omp(np.eye(4)[:, :2], np.eye(4)[:, 2:], 1)
    assert none.status is sl.Status.NO_CORRELATION
    assert none.predict(np.ones((2, 2))).tolist() == [[0, 0], [0, 0]]


def test_group_ties_beside_nearly_dependent_columns(rng):
    """Columns that differ by one in the span of S are tied, however badly rounding has left that span."""
    for _ in range(10):
        a, b, u = rng.standard_normal((3, 30))
        X = np.column_stack([a, a + 1e-6 * b, u, u + b])
        Y = rng.standard_normal((30, 2))
        path = group_omp(X, Y, 2, groups=np.array([0, 0, 1, 2]), forced=(0,))
        assert path.ties[1] == (1, 2)
        assert path.order.tolist() == [0, 1]
        assert group_omp(X[:, :3], Y, 2, groups=np.array([0, 0, 1]), forced=(0,)).margin[1] == 1


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_groups_are_compared_beside_an_intercept(rng, far):
    """The near-dependence of uncentred columns on the ones does not blur the comparison."""
    X = rng.standard_normal((40, 6)) + far
    Y = X[:, [4, 1]] + 0.1 * rng.standard_normal((40, 2))
    path = group_omp(X, Y, 2, intercept=True)
    assert sorted(path.order.tolist()) == [1, 4]
    assert all(len(tied) == 1 for tied in path.ties)


@pytest.mark.parametrize("standardize", [False, True])
def test_one_output_in_groups_of_one_is_omp(rng, standardize):
    X, y = noise(rng)
    weight = rng.integers(0, 3, len(y)) + 0.0
    given = {"intercept": True, "standardize": standardize, "sample_weight": weight}
    path, want = group_omp(X, y[:, None], 6, **given), sl.omp(X, y, 6, **given)
    assert path.support.tolist() == want.support.tolist()
    for name in ("lam_star", "margin", "residual_norm"):
        np.testing.assert_allclose(getattr(path, name), getattr(want, name), rtol=1e-9)
    np.testing.assert_allclose(path.coef_at(4)[:, 0], want.coef_at(4), rtol=1e-9)
    np.testing.assert_allclose(path.intercept_path[:, 0], want.intercept_path, rtol=1e-9)


@pytest.mark.parametrize("selector", list(SELECTORS)[1:])
def test_only_omp_takes_several_outputs(selector):
    refuses("OMPSelector with loss='squared' takes several", selector().fit, X, np.column_stack([y, y]))


# Refusals

HALF = np.arange(442) < 221
WORDS = np.where(y > 100, "ill", "well")


def refused(words, *size, y=y, sample_weight=None, **options):
    """Assert that OMPSelector(*size, **options) refuses the data of diabetes with another y or weights."""
    refuses(words, OMPSelector(*size, **options).fit, FRAME, y, sample_weight)


def test_noise_exceeds_the_weights_of_all_sizes_equally(rng):
    """The norms of noise on orthonormal groups exceed their weights with probability 1/7."""
    counts = np.array([1, 2, 3, 5, 8, 25])
    norms = np.sqrt(rng.chisquare(counts, (20_000, 6)))
    above = np.mean(norms > weights_of_groups("noise", counts), axis=0)
    np.testing.assert_allclose(above, 1 / 7, atol=4 * np.sqrt(6 / 49 / 20_000))


def test_sizes_are_refused():
    refused("group_weights='noise' needs groups", 2, group_weights="noise")
    refused("must be None, 'sqrt' or 'noise'; got 3", 2, group_weights=3, groups=list("aabbccddee"))
    refused("=11 is more than .* n_features=10", 11)
    refused("n_features_to_select must be at least 1", 0)
    refused(r"in \(0, 1\]; got 1.5", 1.5)
    refused("'auto', 'aic', 'bic', 'ebic', 'loo', 'cv', 'cv_1se'", "best")
    refused("two rules for one number", "bic", tol=0.1)
    refused("forced features count in n_features_to_select: got 2 of them and 1", 1, forced=(0, 1))
    refused(r"max_features must be in 5\.\.10", 5, max_features=3)
    refuses("must be an integer; got True", OMPSelector(True).fit, FRAME, y, error=TypeError)


def test_options_are_refused():
    refused(r"both have \[0\]", forced=(0,), exclude=(1, 0))
    refused("exclude must leave a column", exclude=range(10))
    refused("a label for each of the 10 features", groups=[0, 1])
    refused("noise_variance must be positive", noise_variance=0)
    refused("gamma must be nonnegative", gamma=-1)


def test_data_are_refused():
    refused("sample_weight must be nonnegative", sample_weight=-np.ones(442))
    refused("at least 2 rows of positive sample_weight; got 1", sample_weight=np.arange(442) == 3)
    refused("LabelBinarizer", y=WORDS)
    refused("labels of the rows of X in another order", y=TARGET[::-1])


def test_folds_are_refused():
    assert OMPSelector("cv").fit(FRAME, np.sort(y) > 140)
    refused("y is constant on the 221 training rows of fold 1 of 2", "cv", cv=2, y=1.0 - HALF)
    refused("a class that occurs only once, column 2", "cv", y=np.eye(3)[np.r_[2, np.arange(441) % 2]])
    refused("at least two splits; got 1", "cv", cv=[(np.arange(400), np.arange(400, 442))])
    nine = [(np.arange(9), np.arange(9, 442))] * 2
    words = "max_features=9 is too large: fold 1 of 2 has only 9 training .* Pass max_features=8 or less"
    refused(words, "cv", cv=nine, max_features=9)
    halves = [(np.flatnonzero(side == HALF), np.flatnonzero(side != HALF)) for side in (0, 1)]
    words = "all training rows of fold . of 2 have sample_weight zero. Leave this fold out of cv"
    refused(words, "cv", cv=halves, sample_weight=1.0 - HALF)


def test_losses_are_refused():
    refused("one of .'squared', 'logistic', 'poisson'.; got 'hinge'", loss="hinge")
    refused("noise_variance must be None for loss", loss="logistic", noise_variance=1.0)
    refused("y must be a vector .* loss='squared'", loss="poisson", y=np.c_[y, y])
    refused("y must hold counts or rates ≥ 0 for loss='poi", loss="poisson", y=y - 200)
    refused("pass loss='logistic'", loss="poisson", y=WORDS)
    refused("two classes for .*; got 3. .* one-hot columns", loss="logistic", y=y // 150)
    refused("y must have two classes for .*; got 1", loss="logistic", y=np.full(442, "a"))
    top = np.where(y == y.max(), "top", "rest")
    refused("a class that occurs only once, 'top'", "cv", loss="logistic", y=top)
    words = "y is constant on the 221 training rows of fold 1 of 2"
    refused(words, "cv", loss="logistic", cv=KFold(2), y=HALF)
    words = "the 1 forced features have no model on 442 rows: the data are separated"
    refused(words, loss="logistic", forced=["bmi"], y=X[:, 2] > 0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("sparse", [False, True])
def test_noise_weights_do_not_depend_on_the_level_without_an_indicator(rng, loss, sparse):
    """The span of the indicators of a category is the same whichever level has none."""
    n = 200
    level = rng.integers(0, 4, n)
    numbers = rng.standard_normal((n, 3)) * [1, 100, 0.01]
    eta = numbers[:, 0] + (level == 2) - (level == 3)
    y = {"squared": eta + rng.standard_normal(n), "poisson": rng.poisson(np.exp(eta / 2))}
    y["logistic"] = (y["squared"] > 0).astype(int)
    w = rng.integers(1, 4, n).astype(float)
    found = []
    for reference in range(4):
        X = np.column_stack([numbers, np.delete(np.eye(4)[level], reference, axis=1)])
        given = sp.csr_array(X) if sparse else X
        selector = OMPSelector(3, groups=[0, 1, 2, 3, 3, 3], group_weights="noise", loss=loss)
        path = selector.fit(given, y[loss], sample_weight=w).path_
        found.append((path.order.tolist(), path.lam_star, path.residual_norm, path.predict(X)[:, 0]))
        # the coefficients belong to the columns of X
        plain = OMPSelector(3, groups=[0, 1, 2, 3, 3, 3], loss=loss, forced=path.support.tolist())
        plain.fit(X, y[loss], sample_weight=w)
        np.testing.assert_allclose(selector.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    for other in found[1:]:
        assert other[0] == found[0][0]
        for one, two in zip(other[1:], found[0][1:], strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-6)


def test_noise_weights_give_dependent_columns_the_coefficient_zero(rng):
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    X[:, 2] = X[:, 0] - X[:, 1]
    path = OMPSelector(2, groups=[0, 0, 0, 1], group_weights="noise").fit(X, y).path_
    assert path.coef[path.support.tolist().index(2), 0] == 0
    others = X[:, [0, 1, 3]]
    expected = others @ np.linalg.lstsq(others - others.mean(axis=0), y - y.mean())[0]
    np.testing.assert_allclose(path.predict(X)[:, 0], expected - expected.mean() + y.mean())
