"""Gradient OMP on groups of columns for logistic and Poisson regression, against scikit-learn's refits."""

import dataclasses

import numpy as np
import pytest
from losses import NAMED, draw, has_minimum, with_ones
from refusals import warns
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import sparselin as sl
from sparselin.estimators import OMPSelector
from sparselin.greedy._losses import LOSSES
from sparselin.greedy.generalized import generalized_group_omp as select

LABELS = np.array([*"aaaabccdefff"])


def design(loss, rng, n=150):
    """Two categories as indicators, and five other columns of several lengths."""
    X, category = rng.standard_normal((n, 12)) + 1, rng.integers(0, 4, n)
    X[:, :4], X[:, 9:], X[:, 5] = np.eye(4)[category], np.eye(3)[rng.integers(0, 3, n)], 3 * X[:, 5]
    eta = rng.standard_normal(4)[category] + 0.3 * X[:, 5] - 0.5 * X[:, 8]
    y = rng.random(n) < 1 / (1 + np.exp(-eta)) if loss == "logistic" else rng.poisson(np.exp(eta - 1))
    return X, y + 0.0


def weights_of(kind, counts):
    """The weights of groups with these numbers of columns, by their formulas."""
    each = {None: lambda p: 1, "sqrt": np.sqrt, "noise": lambda p: chi2(p).isf(1 / (len(counts) + 1)) ** 0.5}
    return np.array([each[kind](p) for p in counts])


def independent(A):
    """The columns of A that are not in the span of earlier columns."""
    return np.flatnonzero(np.diff([np.linalg.matrix_rank(A[:, :j]) for j in range(1 + A.shape[1])]))


@NAMED
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("standardize", "weights"), [(True, None), (False, "sqrt"), (True, "noise")])
def test_picks_and_refits_against_scikit_learn(loss, intercept, standardize, weights, rng):
    X, y = design(loss, rng)
    weight, used = rng.integers(1, 4, len(y)) + 0.0, np.arange(12) != 6
    options = {"fit_intercept": intercept, "standardize": standardize, "forced": [8], "exclude": [6]}
    options["group_weights"] = weights
    found = OMPSelector(5, groups=LABELS, loss=loss, **options).fit(X, y, weight)
    path, centre = found.path_, np.average(X, axis=0, weights=weight) * intercept
    unit = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weight)) if standardize else np.ones(12)
    assert np.array_equal(path.groups, np.where(used, np.searchsorted(found.groups_, LABELS), -1))
    exact = {"fit_intercept": intercept, "tol": 1e-12, "solver": "newton-cholesky"}
    other = PoissonRegressor(alpha=0, **exact) if loss == "poisson" else LogisticRegression(C=np.inf, **exact)
    for t in range(1, 6):
        S = np.concatenate([np.flatnonzero(used & (path.groups == g)) for g in path.order[:t]])
        kept = independent(with_ones(X[:, S]))[1:] - 1 if intercept else independent(X[:, S])
        assert path.ranks[t] == len(kept)
        assert np.flatnonzero(path.coef_at(t)[:, 0]).tolist() == kept.tolist()
        other.fit(X[:, S[kept]], y, weight)
        predict = other.predict if loss == "poisson" else lambda A: other.predict_proba(A)[:, 1]
        mu = predict(X[:, S[kept]])
        assert path.predict(X, t)[:, 0] == pytest.approx(mu, rel=1e-7, abs=1e-9)
        c = (X / unit).T @ (weight * (y - mu)) * used
        norms = np.array([np.linalg.norm(c[path.groups == g]) for g in range(6)])
        norms /= weights_of(weights, np.bincount(path.groups[used]))
        second, best = np.sort(np.delete(norms, path.order[:t]))[-2:] if t < 5 else (0, 0)
        if t < 5:
            assert norms[path.order[t]] == best == pytest.approx(path.lam_star[t], rel=1e-7)
            assert path.margin[t] == pytest.approx(1 - second / best, abs=1e-6)


@NAMED
@pytest.mark.parametrize("separated", [False, True])
def test_groups_of_one_are_the_path_of_features(loss, separated, rng):
    X, y = draw(loss, rng, 60, 9)
    X[:, 3], X[:, 4] = X[:, 0] + X[:, 1], X[:, 2]
    X[:, 5] = (y == 0) * rng.random(60) if separated else X[:, 5]
    for options in ({"intercept": True}, {"intercept": False, "standardize": True, "forced": [3, 0, 1]}):
        given = {"loss": loss, "sample_weight": rng.random(60), **options}
        path, one = sl.generalized_omp(X, y, 9, **given), select(X, y, 9, groups=np.arange(9), **given)
        same = {"intercept_path": one.intercept_path[:, 0], "deviance": path.deviance}
        same |= {"coef_path": path.coef_path, "optimality": path.optimality}
        same |= {f.name: getattr(one, f.name) for f in dataclasses.fields(path) if f.name not in same}
        assert dataclasses.replace(path, **same) == path
        assert one.residual_norm.tolist() == np.sqrt(path.deviance).tolist()
        assert (path.status is sl.Status.NO_MINIMUM) == separated


@NAMED
def test_rotated_groups_are_tied_and_groups_in_the_span_are_never_picked(loss, rng):
    groups = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4])
    for _ in range(10):
        X, y = draw(loss, rng, 80, 6)
        Q, given = np.linalg.qr(rng.standard_normal((3, 3)))[0], {"groups": groups, "loss": loss}
        A = np.column_stack([0 * y, X[:, 3:], X[:, :3], X[:, :3] @ Q, X[:, 3] - X[:, 0], np.ones(80)])
        path = select(A, y, 5, intercept=True, **given)
        assert (path.ties[0], path.order[0], path.status.name) == ((2, 3), 2, "RANK_EXHAUSTED")
        assert path.margin[0] < 1e-12
        assert 3 not in path.order
        path = select(A, y, 5, intercept=True, forced=(2, 3, 4), **given)
        assert path.order.tolist() == [2, 3, 4, 1]
        assert path.ranks.tolist() == [0, 3, 3, 4, 6]
        assert path.coef_path[2][3:].tolist() == [[0.0]] * 3 + path.coef_path[2][6:7].tolist() + [[0.0]]


def test_dependent_indicators_beside_means_of_very_different_sizes(rng):
    for _ in range(10):
        first, z = np.eye(4)[rng.integers(0, 4, 400)], rng.uniform(-300, 10, 400)
        X, y = np.column_stack([z, first @ rng.standard_normal((4, 2)), first]), np.exp(z + rng.random(400))
        given = {"groups": np.repeat([0, 1, 2], [1, 2, 4]), "loss": "poisson", "forced": (0, 1, 2)}
        assert select(X, y, 3, intercept=True, **given).ranks.tolist() == [0, 1, 3, 4]


def test_an_indicator_that_separates(rng):
    X, y = design("logistic", rng)
    y[X[:, 2] == 1], X[:, :4] = 1, 9 * X[:, :4]
    given, words = {"groups": LABELS, "loss": "logistic", "forced": [5]}, np.where(y > 0, "yes", "no")
    selector = OMPSelector(2, **given, exclude=[6])
    path = warns("ended with k=1, before it reached k=2: with the next", selector.fit, X, words).path_
    assert (path.status, path.unfitted, path.classes) == (sl.Status.NO_MINIMUM, (0,), ("no", "yes"))
    assert "with group 0 (4 features) the data are separated, by x2 alone (`recession`)" in str(path)


@NAMED
def test_a_path_ends_exactly_where_the_data_are_separated(loss, rng):
    """Stiemke's alternative by another linear program, on small integers."""
    ended, groups = 0, np.arange(9) // 3
    for _ in range(60):
        X = rng.integers(-1, 2, (rng.integers(10, 40), 9)) + 0.0
        X[:, 1] = 1 - X[:, 0]
        y = rng.integers(0, 2, len(X)) * (1 if loss == "logistic" else rng.integers(1, 3))
        y[:2] = 0, 1
        path, signs = select(X, y, 3, groups=groups, loss=loss, intercept=True), LOSSES[loss].signs(y + 0.0)
        for order in (path.order, [*path.order, *path.unfitted]):
            A = with_ones(X[:, np.isin(groups, order)])
            assert has_minimum(signs, A[:, independent(A)]) == (len(order) == len(path))
        if path.unfitted:
            ended += path.status is sl.Status.NO_MINIMUM
            S = np.concatenate([path.support, np.flatnonzero(groups == path.unfitted)])
            along = with_ones(X[:, S]) @ path.recession
            gained = np.where(signs == 0, -np.abs(along), signs * along)
            assert gained.min() >= -1e-12 * gained.max()
    assert 5 < ended < 50


def test_a_column_that_its_group_outweighs_is_not_called_orthogonal():
    """The even column has no correlation, and the other one is below the rounding error of the group."""
    even, y = np.tile([1.0, -1.0], 8), np.repeat([0, 1], 8)
    X = np.column_stack([even, 1e-16 * (2 - even)])
    assert select(X, y, 1, groups=np.array([0, 0]), loss="poisson").status is sl.Status.BEYOND_PRECISION
