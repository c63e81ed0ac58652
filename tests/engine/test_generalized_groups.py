"""Logistic and Poisson regression on groups of columns, against scikit-learn's refits; separated data."""

import dataclasses
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from losses import EPS, NAMED, draw, has_minimum, with_ones
from refusals import warns
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import sparselin as sl
from proofs_checks.glm import LOGISTIC, POISSON, moving_rows
from sparselin.estimators import OMPSelector
from sparselin.greedy._losses import LOSSES, LossData, refit, separates
from sparselin.greedy._outcomes import NoFit
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


def norms_of_projections(X, w, r, groups):
    """The lengths of the projections of √w∘r on the spans of the groups of columns √w∘X."""
    root = np.sqrt(w)
    found = []
    for g in range(6):
        U, sigma, _ = np.linalg.svd(root[:, None] * X[:, groups == g], full_matrices=False)
        found.append(np.linalg.norm(U[:, sigma > 1e-9 * sigma[0]].T @ (root * r)))
    return np.array(found)


def independent(A):
    """The columns of A that are not in the span of earlier columns."""
    ranks = [np.linalg.matrix_rank(A[:, :j]) for j in range(1, 1 + A.shape[1])]
    return np.flatnonzero(np.diff([0, *ranks]))


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
        if weights == "noise":
            norms = norms_of_projections(X - centre, weight, y - mu, path.groups) * weight.sum() ** 0.5
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
    assert f"with group {LABELS[0]} (4 features) the data are separated, by x2 alone (`recession`)" in str(
        path
    )


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


# Data that are separated, or almost


by_feature = partial(sl.generalized_omp, intercept=True)


def test_a_minimum_is_found_where_there_is_one(rng):
    """Small integers, whatever the units and weights: Stiemke's alternative by another linear program, and
    for two columns all directions, exactly. The direction is checked in rational arithmetic."""
    found = dict.fromkeys([(loss, exists) for loss in LOSSES for exists in (True, False)], 0)
    for case in range(160):
        loss = LOSSES[("logistic", "poisson")[case % 2]]
        n, p = rng.integers(2, 12), rng.integers(1, 5)
        A = rng.integers(-2, 3, (n, p)) * (rng.random((n, p)) < rng.choice([0.5, 1])) + 0.0
        if rng.random() < 0.5:
            A[:, 0] = 1
        if np.linalg.matrix_rank(A) < p:
            continue
        y = rng.integers(0, 2, n) + 0.0 if case % 2 == 0 else rng.integers(-2, 4, n).clip(0) + 0.0
        signs = loss.signs(y)
        exists = has_minimum(signs, A)
        if p <= 2:
            assert exists == (not moving_rows((LOGISTIC, POISSON)[case % 2], A, y)[0].any())
        units = 10.0 ** rng.integers(-6, 7, p)
        fit = refit(LossData(loss, y, rng.choice([1e-3, 1.0, 50.0], n)), A * units, np.zeros(p))
        found[loss.name, exists] += 1
        assert exists == (not isinstance(fit, NoFit)), (loss.name, A, y, units)
        if not exists:
            assert fit.status is sl.Status.NO_MINIMUM
            b = [Fraction(v) for v in fit.direction]
            rows = [[Fraction(a) for a in row] for row in A * units]
            along = [sum(a * v for a, v in zip(row, b, strict=True)) for row in rows]
            size = [sum(abs(a * v) for a, v in zip(row, b, strict=True)) for row in rows]
            gained = [-abs(e) if s == 0 else int(s) * e for s, e in zip(signs, along, strict=True)]
            assert all(g >= -64 * p * EPS * z for g, z in zip(gained, size, strict=True))
            assert any(g > z / 1000 for g, z in zip(gained, size, strict=True))
    assert min(found.values()) > 10


def test_only_a_direction_that_loses_nowhere_separates():
    A, signs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0, 1.0])
    assert separates(signs, A, np.array([1.0, 0.0]))
    assert not separates(signs, A, np.array([1.0, 1e-9]))
    assert not separates(signs, A, np.array([-1.0, 0.0]))
    assert not separates(signs, A, np.zeros(2))
    many = np.vstack([np.tile(A, (20, 1)), [[-1.0, 0.0]]])
    assert not separates(np.append(np.tile(signs, 20), 1.0), many, np.array([1.0, 0.0]))


def test_labels_that_are_almost_separated():
    """β = log(w/w'), w and w' the weights of right and wrong labels; the classes overlap by w' alone."""
    X, y = [[1.0], [1.0], [-1.0], [-1.0]], [1, 0, 0, 1]
    for ratio in (1e-3, 1e-18, 1e-200):
        options = {"loss": "logistic", "intercept": False, "sample_weight": [1, ratio, 1, ratio]}
        path = by_feature(X, y, 1, **options)
        assert path.coef[0] == pytest.approx(-np.log(ratio), rel=1e-13)
        assert path.optimality[-1] < 1e-22 * ratio


def test_steps_from_where_the_loss_is_almost_linear():
    """Found by chance: a step that lowers L ends where Newton's next direction moves η by 10³⁰."""
    A = np.zeros((12, 3))
    A[:, 0], A[[2, 8], 0] = 1, 0
    A[[1, 3, 5, 10], 1], A[[5, 11], 2] = [-1, -1, 2, 1], [1, -2]
    y, weight = np.zeros(12), np.ones(12)
    y[[2, 3, 5, 6, 9, 11]], weight[[3, 7]], weight[[4, 5, 11]] = 1, 50, 1e-3
    found = refit(LossData(LOSSES["logistic"], y, weight), A * [1e-3, 0.1, 0.01], np.zeros(3))
    assert found.decrement**2 < 1e-25


def test_nearly_dependent_columns(rng):
    """The data are separated despite an offset of 10⁸, or it is undecided."""
    X, y = draw("logistic", rng)
    X[:, 4] = 1e8 + (y & (rng.random(80) < 0.5))
    path = by_feature(X, y, 3, loss="logistic", forced=[3, 4])
    assert (path.status, path.unfitted) == (sl.Status.NO_MINIMUM, (4,))
    assert separates(2.0 * y - 1, with_ones(X[:, [3, 4]]), path.recession)
    X[:, 6] = X[:, 5] + 1e-13 * X[:, 6]
    path = by_feature(X, y, 3, loss="logistic", forced=[5, 6])
    assert (path.status, path.unfitted, len(path)) == (sl.Status.BEYOND_PRECISION, (6,), 1)
    assert not len(path.recession)


@pytest.mark.parametrize("standardize", [False, True])
def test_separated_data_end_the_path_with_the_last_model(standardize, rng):
    """Labels by a hyperplane: complete separation. A column that is zero but for some successes: quasi-."""
    X = rng.standard_normal((100, 6)) * [1, 2, 3, 4, 5, 6] + 7
    y = X[:, :3] @ [1.0, -1.0, 0.5] > 3.6
    options = {"loss": "logistic", "standardize": standardize, "forced": [0, 1]}
    path = by_feature(X, y, 5, **options)
    assert path.status is sl.Status.NO_MINIMUM
    assert path.unfitted == (2,)
    same = by_feature(X, y, 2, **options)
    assert np.array_equal(path.coef, same.coef)
    assert path.optimality[-1] < 1e-18 * path.deviance[0]
    assert np.all(with_ones(X[:, [0, 1, 2]]) @ path.recession * np.where(y, 1, -1) > 0)
    assert "with x2 the data are separated, by a combination of x0, x1, x2 (`recession`)" in str(path)
    assert f"NO_MINIMUM: {path.status.message}" in str(path)

    y = rng.random(100) < 0.5
    X[:, 4] = y & (rng.random(100) < 0.5)
    path = by_feature(X, y, 5, forced=[3, 4], loss="logistic", standardize=standardize)
    assert (path.status, path.unfitted, path.support.tolist()) == (sl.Status.NO_MINIMUM, (4,), [3])
    along = with_ones(X[:, [3, 4]]) @ path.recession
    assert np.all(np.where(y, 1, -1) * along >= -1e-12 * np.abs(along).max())
    assert path.recession[2] > 0


def test_counts_that_are_zero_wherever_a_column_is_not(rng):
    X, y = draw("poisson", rng)
    X[:, 5] = (y == 0) & (rng.random(80) < 0.7)
    path = by_feature(X, y, 4, loss="poisson", forced=[0, 5])
    assert (path.status, path.unfitted, len(path)) == (sl.Status.NO_MINIMUM, (5,), 1)
    assert path.recession[2] < 0
    assert not path.recession[:2].any()
    assert "with x5 the data are separated, by x5 alone (`recession`)" in str(path)
    zero = by_feature(np.abs(X), 0 * y, 1, loss="poisson", intercept=False)
    assert (zero.status, len(zero)) == (sl.Status.NO_MINIMUM, 0)
