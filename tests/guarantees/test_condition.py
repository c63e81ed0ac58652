"""Condition numbers of selections: formulas against difference quotients, bounds against changes."""

import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest
import scipy.sparse

import sparselin as sl
from sparselin.guarantees.perturbation import _nearest
from sparselin.guarantees.perturbation.condition import Condition
from tests import conditions
from tests.attacks import designs

EPS = float(np.finfo(float).eps)
NAMES = ("S", "i", "j", "sigma", "options", "by_length")  # of the arguments of `textbook_gap`
METHODS = {"omp": sl.omp, "ols": sl.ols, "sequential_lasso": sl.sequential_lasso}


def design(seed, n=18, d=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(10 ** rng.uniform(-1, 1, d)) + rng.standard_normal(d)
    return X, X[:, :3] @ np.array([1.0, -0.5, 0.3]) + 0.3 * rng.standard_normal(n) + 2.0


def textbook_gap(X, y, S, i, j, sigma, options, by_length):
    """The gap of a step, by least squares: the oracle of the formulas."""
    if options.get("intercept"):
        X = X - X.mean(axis=0)
        y = y - y.mean()
    if options.get("standardize"):
        X = X / X.std(axis=0)
    A = X[:, S]
    r = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    Z = X - A @ np.linalg.lstsq(A, X, rcond=None)[0]
    scores = X.T @ r / (np.linalg.norm(Z, axis=0) if by_length else 1)
    return np.sign(scores[i]) * (scores[i] - sigma * scores[j])


@pytest.mark.parametrize("options", conditions.OPTIONS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_number_is_attained_and_not_exceeded_to_first_order(method, options):
    X, y = design(5)
    path = METHODS[method](X, y, 4, **options)
    found = sl.condition(X, y, path)
    intercept = options.get("intercept", False)
    lengths = np.linalg.norm(conditions.centred(X, intercept), axis=0)
    length = np.linalg.norm(conditions.centred(y, intercept))
    first = len(options.get("forced", []))
    rng = np.random.default_rng(0)
    h = 1e-6
    for t in range(first, 4):
        S = path.support[:t].tolist()
        rest = S, path.support[t], found.rivals[t], found.signs[t], options, path.by_length
        gap = functools.partial(textbook_gap, **dict(zip(NAMES, rest, strict=True)))
        here = gap(X, y)
        down = np.zeros_like(X)  # the gradient by differences, an entry at a time
        for place in np.ndindex(X.shape):
            step = np.zeros_like(X)
            step[place] = h * lengths[place[1]]
            down[place] = (gap(X + step, y) - gap(X - step, y)) / (2 * step[place])
        slope = np.array([(gap(X, y + h * e) - gap(X, y - h * e)) / (2 * h) for e in np.eye(len(y))])
        steepest = np.linalg.norm(down, axis=0) @ lengths + np.linalg.norm(slope) * length
        np.testing.assert_allclose(found.numbers[t], steepest / here, rtol=2e-4)
        assert found.numbers[t] >= 1 / found.distances_y[t] * (1 - 1e-12)
        for _ in range(5):
            D, e = rng.standard_normal(X.shape), rng.standard_normal(len(y))
            D = conditions.centred(D, intercept) / np.linalg.norm(conditions.centred(D, intercept), axis=0)
            e = conditions.centred(e, intercept) / np.linalg.norm(conditions.centred(e, intercept))
            fall = here - gap(X + h * lengths * D, y + h * length * e)
            assert fall <= h * steepest * (1 + 1e-3)


@pytest.mark.parametrize("method", ["omp", "ols"])
def test_distance_in_y_is_exact(method):
    X, y = design(8)
    path = METHODS[method](X, y, 3)
    found = sl.condition(X, y, path, in_y=True)
    near = found.nearest
    assert near is not None
    np.testing.assert_allclose(found.upper, found.distance_y, rtol=1e-8)
    np.testing.assert_allclose(found.numbers, 1 / found.distances_y)
    assert found.lower <= found.distance_y
    np.testing.assert_array_equal(near.X, X)
    rng = np.random.default_rng(1)
    textbook = (path.support.tolist(), 0, method == "ols", False, False)
    for _ in range(50):
        e = rng.standard_normal(len(y))
        e += rng.exponential() * (near.y - y) / near.size / np.linalg.norm(y)
        e *= 0.999999 * found.distance_y * np.linalg.norm(y) / np.linalg.norm(e)
        assert conditions.textbook_picks(X, y + e, *textbook)
    beyond = y + (near.y - y) * (1 + 1e-6)
    assert not conditions.textbook_picks(X, beyond, *textbook)


@pytest.mark.parametrize("method", conditions.METHODS)
def test_bounds_on_random_designs(method):
    quotients = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = design(seed, d=6)
        options = conditions.OPTIONS[seed % 4]
        problem, quotient = conditions.examine(X, y, method, options, rng, 10)
        assert not problem
        quotients.append(quotient)
    assert np.nanmean(np.array(quotients) <= 2) >= 0.9


def test_lower_bound_is_refuted_when_it_is_too_large(monkeypatch):
    """The check of the bounds sees a bound that is only twice too large."""
    X, y = design(3)
    right = Condition.lower.fget
    monkeypatch.setattr(Condition, "lower", property(lambda self: 2 * right(self)))
    assert conditions.examine(X, y, "omp", {}, np.random.default_rng(0), 10)[0]


def test_tie_has_distance_zero():
    X, y = np.eye(3), np.array([2.0, 2.0, 1.0])
    found = sl.condition(X, y, sl.omp(X, y, 2))
    assert found.numbers[0] == math.inf
    assert (found.distances_y[0], found.lowers[0], found.upper) == (0, 0, 0)
    assert found.nearest.size == 0
    np.testing.assert_array_equal(found.nearest.X, X)


def test_the_other_sign_of_the_rival_decides():
    X, y = np.array([[1.0, 1.0], [0.1, -0.1]]), np.array([1.0, 5.0])
    path = sl.omp(X, y, 1)
    found = sl.condition(X, y, path, in_y=True)
    assert found.signs[0] == -1
    np.testing.assert_allclose(found.distance_y, 1 / np.sqrt(26))  # |c_0| + |c_1| = 2, ‖X_0 + X_1‖ = 2
    np.testing.assert_allclose(found.upper, found.distance_y)


def test_ols_with_a_candidate_in_the_span():
    X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    y = np.array([3.0, 1.0, 2.0])
    path = sl.ols(X, y, 2, forced=[0])
    found = sl.condition(X, y, path)
    assert np.isnan(found.numbers[0])
    assert found.lower == 0
    assert found.number == math.inf
    assert found.upper < 1e-9
    assert found.nearest.rival == 2
    assert sl.condition(X, y, path, in_y=True).number > 0


def test_without_steps_nothing_can_change():
    X, y = design(0)
    for path in (sl.omp(X, 0 * y, 3), sl.omp(X, 0 * y, 1, forced=[2])):
        found = sl.condition(X, 0 * y, path)
        assert (found.number, found.lower, found.distance_y, found.rival) == (0, math.inf, math.inf, -1)
        assert found.nearest is None
        assert "any distance" in repr(found)


def test_one_column_has_no_rival():
    X, y = np.array([[3.0], [4.0]]), np.array([1.0, 2.0])
    found = sl.condition(X, y, sl.omp(X, y, 1))
    assert found.rivals.tolist() == [-1]
    # ⟨x, y⟩ is zero after both turn towards the orthogonal of the other
    assert found.lower <= found.upper < 1


def test_data_of_all_forms_give_the_same():
    X, y = design(4)
    path = sl.omp(X, y, 3, intercept=True)
    whole = sl.condition(X, y, path)
    for data in (np.asfortranarray(X), scipy.sparse.csc_array(X)):
        np.testing.assert_allclose(sl.condition(data, y, path).numbers, whole.numbers, rtol=1e-9)
    problem = sl.Problem(X, y, intercept=True)
    assert sl.condition(problem, None, path) == whole
    scaled = X * 2.0 ** np.arange(7)
    ols = sl.condition(X, y, sl.ols(X, y, 3)), sl.condition(scaled, 4 * y, sl.ols(scaled, 4 * y, 3))
    np.testing.assert_allclose(ols[0].numbers, ols[1].numbers, rtol=1e-9)
    single = X.astype(np.float32), y.astype(np.float32)
    half = sl.condition(*single, sl.omp(*single, 3))
    doubled = tuple(a.astype(float) for a in single)
    np.testing.assert_allclose(half.numbers, sl.condition(*doubled, sl.omp(*doubled, 3)).numbers, rtol=1e-9)


def test_weights_repeat_rows():
    X, y = design(6)
    weight = np.r_[np.full(9, 2.0), np.ones(8), 0.0]
    rows = np.r_[np.repeat(np.arange(9), 2), np.arange(9, 17)]
    for options in ({}, {"intercept": True}, {"intercept": True, "standardize": True}):
        one = sl.condition(X, y, sl.omp(X, y, 3, sample_weight=weight, **options), sample_weight=weight)
        other = sl.condition(X[rows], y[rows], sl.omp(X[rows], y[rows], 3, **options))
        np.testing.assert_allclose(one.numbers, other.numbers, rtol=1e-9)
        np.testing.assert_allclose(one.distances_y, other.distances_y, rtol=1e-9)


def test_gradients_of_the_search():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    h = 1e-6
    signs = np.array([1.0, -1.0, 0.0])
    gaps = [
        lambda X, y: _nearest.omp_gap(X, y, 2, 1.0, -1.0, None),
        lambda X, y: _nearest.omp_gap(X, y, 2, -1.0, 1.0, 3.0),
        lambda X, y: _nearest.ols_gap(X, y, 2, 1.0, 1.0),
        lambda X, y: _nearest.lasso_gap(X, y, signs, 0.3, 0, 1.0, None),
        lambda X, y: _nearest.lasso_gap(X, y, signs, 0.3, 0, -1.0, 3.0),
        lambda X, y: _nearest.lasso_gap(X[:, :3], y, signs, 0.3, 1, -1.0, 3.0),
    ]
    for gap in gaps:
        _, gradient, of_y = gap(X, y)
        D, e = rng.standard_normal(X.shape), rng.standard_normal(9)
        quotient = (gap(X + h * D, y + h * e)[0] - gap(X - h * D, y - h * e)[0]) / (2 * h)
        expected = (gradient * D[:, : gradient.shape[1]]).sum() + of_y @ e
        np.testing.assert_allclose(quotient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("options", conditions.OPTIONS, ids=str)
def test_numbers_of_the_lasso_are_those_of_the_steepest_change(options):
    X, y = design(7)
    path = sl.lasso_path(X, y, **options)
    lam = float(path.knots[3] + path.knots[4]) / 2
    found = sl.condition(X, y, path, lam=lam)
    A = np.flatnonzero(path.at(lam)).tolist()
    signs = np.sign(path.at(lam)[A]) * ~np.isin(A, options.get("forced", []))
    intercept = options.get("intercept", False)
    standardize = options.get("standardize", False)

    def gap(X, y, j, sign):
        X, y = conditions.centred(X, intercept), conditions.centred(y, intercept)
        X = X / X.std(axis=0) if standardize else X
        coef = np.linalg.solve(X[:, A].T @ X[:, A], X[:, A].T @ y - lam * signs)
        return sign * coef[A.index(j)] if j in A else lam - sign * X[:, j] @ (y - X[:, A] @ coef)

    lengths = np.linalg.norm(conditions.centred(X, intercept), axis=0)
    length = np.linalg.norm(conditions.centred(y, intercept))
    h = 1e-6
    assert len(found) >= 3
    for j, sign, number in zip(found.features, found.signs, found.numbers, strict=True):
        down = np.zeros_like(X)
        for place in np.ndindex(X.shape):
            step = np.zeros_like(X)
            step[place] = h * lengths[place[1]]
            down[place] = (gap(X + step, y, j, sign) - gap(X - step, y, j, sign)) / (2 * step[place])
        slope = [(gap(X, y + h * e, j, sign) - gap(X, y - h * e, j, sign)) / (2 * h) for e in np.eye(len(y))]
        steepest = np.linalg.norm(down, axis=0) @ lengths + np.linalg.norm(slope) * length
        np.testing.assert_allclose(number, steepest / gap(X, y, j, sign), rtol=2e-4)


def test_lasso_at_lambda():
    X, y = np.eye(2), np.array([3.0, 1.0])
    path = sl.lasso_path(X, y)
    found = sl.condition(X, y, path, lam=2.0, in_y=True)
    assert found.features.tolist() == [0, 1]
    np.testing.assert_allclose(found.distances_y, np.array([1.0, 1.0]) / np.sqrt(10))
    np.testing.assert_allclose(found.upper, 1 / np.sqrt(10))
    at_knot = sl.condition(X, y, path, lam=1.0)
    assert (at_knot.number, at_knot.lower, at_knot.upper) == (math.inf, 0, 0)
    with pytest.raises(ValueError, match="needs lam"):
        sl.condition(X, y, path)
    with pytest.raises(ValueError, match="for a LassoPath"):
        sl.condition(X, y, sl.omp(X, y, 1), lam=1.0)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X, y: (X, y, "path"), TypeError, "must be a SelectionPath"),
        (lambda X, y: (X, y + 1, sl.omp(X, y, 2)), ValueError, "does not belong"),
        (lambda X, y: (X[:, ::-1], y, sl.omp(X, y, 2)), ValueError, "does not belong"),
        (lambda X, y: (X, y, sl.omp(X, y, 2, positive=True)), ValueError, "positive"),
        (
            lambda X, y: (sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None, sl.omp(X, y, 2)),
            TypeError,
            "rows",
        ),
        (lambda X, y: (X, y, _other(X, y)), ValueError, "not the pick"),
    ],
)
def test_refusals(change, error, words):
    X, y = design(1)
    with pytest.raises(error, match=words):
        sl.condition(*change(X, y))


def _other(X, y):
    """A path whose first pick is not the largest correlation, with the residuals of its picks."""
    worst = int(np.argmin(np.abs(X.T @ y)))
    forced = sl.omp(X, y, 1, forced=[worst])
    return dataclasses.replace(forced, lam_star=np.ones(1), ties=((worst,),))


def test_condition_can_be_pickled():
    X, y = design(2)
    found = sl.condition(X, y, sl.omp(X, y, 3))
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.upper == found.upper


def test_completed_promises_a_gap_beyond_rounding_of_the_two_columns():
    """A step without ties has |c_i| − |c_j| ≥ 4·eps·(‖X_i‖ + ‖X_j‖)‖r‖."""
    steps = 0
    for family in sorted(designs.FAMILIES):
        for seed in range(8):
            X, y = designs.draw(family, seed, "step")[:2]
            path = sl.omp(X, y, min(5, X.shape[1]))
            norms = np.linalg.norm(X, axis=0)
            unit = designs.unit(X)
            for t in range(len(path)):
                S = path.support[:t]
                Q = np.linalg.qr(X[:, S])[0]
                r = y - Q @ (Q.T @ y)
                r = r - Q @ (Q.T @ r)
                c = np.abs(X.T @ r)
                i = path.support[t]
                others = np.setdiff1d(np.arange(X.shape[1]), [*S, i])
                if len(path.ties[t]) > 1 or not len(others) or np.linalg.cond(unit[:, [*S, i]]) > 1e3:
                    continue  # without refinement, the oracle would need more digits there
                j = others[np.argmax(c[others])]
                steps += 1
                assert c[i] - c[j] >= 4 * EPS * (norms[i] + norms[j]) * np.linalg.norm(r)
    assert steps > 150


def test_a_pick_without_ties_can_be_closer_to_another_than_eps():
    """Refinement decides picks for the data as they are, so their distance can be below eps."""
    X, y = designs.draw("conditioned", 2, "step")[:2]
    path = sl.omp(X, y, min(6, X.shape[1]), intercept=True)
    found = sl.condition(X, y, path)
    untied = [t for t in range(len(path)) if len(path.ties[t]) == 1]
    assert max(found.numbers[untied] * EPS) > 2
