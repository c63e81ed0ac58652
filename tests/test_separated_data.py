"""Logistic and Poisson regression where the data are separated, or almost."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from losses import EPS, draw, has_minimum, with_ones

import sparselin as sl
from proofs_checks.glm import LOGISTIC, POISSON, moving_rows
from sparselin.greedy._losses import LOSSES, LossData, NoFit, refit, separates

select = partial(sl.generalized_omp, intercept=True)


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
        path = select(X, y, 1, **options)
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
    path = select(X, y, 3, loss="logistic", forced=[3, 4])
    assert (path.status, path.unfitted) == (sl.Status.NO_MINIMUM, (4,))
    assert separates(2.0 * y - 1, with_ones(X[:, [3, 4]]), path.recession)
    X[:, 6] = X[:, 5] + 1e-13 * X[:, 6]
    path = select(X, y, 3, loss="logistic", forced=[5, 6])
    assert (path.status, path.unfitted, len(path)) == (sl.Status.BEYOND_PRECISION, (6,), 1)
    assert not len(path.recession)


@pytest.mark.parametrize("standardize", [False, True])
def test_separated_data_end_the_path_with_the_last_model(standardize, rng):
    """Labels by a hyperplane: complete separation. A column that is zero but for some successes: quasi-."""
    X = rng.standard_normal((100, 6)) * [1, 2, 3, 4, 5, 6] + 7
    y = X[:, :3] @ [1.0, -1.0, 0.5] > 3.6
    options = {"loss": "logistic", "standardize": standardize, "forced": [0, 1]}
    path = select(X, y, 5, **options)
    assert path.status is sl.Status.NO_MINIMUM
    assert path.unfitted == (2,)
    same = select(X, y, 2, **options)
    assert np.array_equal(path.coef, same.coef)
    assert path.optimality[-1] < 1e-18 * path.deviance[0]
    assert np.all(with_ones(X[:, [0, 1, 2]]) @ path.recession * np.where(y, 1, -1) > 0)
    assert "with x2 the data are separated, by a combination of x0, x1, x2 (`recession`)" in str(path)
    assert f"NO_MINIMUM: {path.status.message}" in str(path)

    y = rng.random(100) < 0.5
    X[:, 4] = y & (rng.random(100) < 0.5)
    path = select(X, y, 5, forced=[3, 4], loss="logistic", standardize=standardize)
    assert (path.status, path.unfitted, path.support.tolist()) == (sl.Status.NO_MINIMUM, (4,), [3])
    along = with_ones(X[:, [3, 4]]) @ path.recession
    assert np.all(np.where(y, 1, -1) * along >= -1e-12 * np.abs(along).max())
    assert path.recession[2] > 0


def test_counts_that_are_zero_wherever_a_column_is_not(rng):
    X, y = draw("poisson", rng)
    X[:, 5] = (y == 0) & (rng.random(80) < 0.7)
    path = select(X, y, 4, loss="poisson", forced=[0, 5])
    assert (path.status, path.unfitted, len(path)) == (sl.Status.NO_MINIMUM, (5,), 1)
    assert path.recession[2] < 0
    assert not path.recession[:2].any()
    assert "with x5 the data are separated, by x5 alone (`recession`)" in str(path)
    zero = select(np.abs(X), 0 * y, 1, loss="poisson", intercept=False)
    assert (zero.status, len(zero)) == (sl.Status.NO_MINIMUM, 0)
