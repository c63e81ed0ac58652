"""omp(positive=True), lasso_path(positive=True) and their certificates: β ≥ 0 off the forced features."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from scipy.optimize import nnls
from seeds import GENERATORS

import sparselin as sl
from sparselin import Problem, Status
from sparselin.certificates.arithmetic import Exact, Rounded
from sparselin.certificates.step import NonnegativeStep, refutations
from sparselin.lasso._homotopy import Homotopy
from sparselin.testing import integer_designs, tied_designs

TIED = integer_designs(5, 7) | tied_designs(5, 7)
ENDED = {Status.NO_CORRELATION, Status.RANK_EXHAUSTED, Status.EXACT_FIT}


def rational(A):
    A = np.asarray(A, float)
    A = A[:, None] if A.ndim == 1 else A
    return fmpq_mat(*A.shape, [fmpq(*v.as_integer_ratio()) for v in A.ravel().tolist()])


def real(q):
    return int(q.p) / int(q.q)


def exact_residual(X, y, S, free=()):
    """r of least squares on S with β ≥ 0 off `free`, every set of positive coefficients being tried."""
    y = rational(y)
    signed = [j for j in S if j not in free]
    for size in range(len(signed) + 1):
        for P in itertools.combinations(signed, size):
            J = [*free, *P]
            A = rational(X[:, J])
            G = A.transpose() * A
            if J and G.det() == 0:
                continue
            beta = G.solve(A.transpose() * y) if J else fmpq_mat(0, 1)
            r = y - A * beta if J else y
            c = (rational(X).transpose() * r).entries()
            if all(beta[len(free) + i, 0] >= 0 for i in range(size)) and all(c[j] <= 0 for j in signed):
                return r, c
    raise AssertionError("nonnegative least squares has a solution")


@given(TIED, st.booleans())
def test_every_pick_is_one_of_exact_nonnegative_omp(design, force):
    X, y = design
    free = [0] if force and X[:, 0].any() else []
    path = sl.omp(X, y, X.shape[1], positive=True, forced=free)
    S = path.support.tolist()
    for t in range(len(free), len(S) + 1):
        r, c = exact_residual(X, y, S[:t], free)
        norm = np.sqrt(real((r.transpose() * r)[0, 0]))
        assert path.residual_norm[t] == pytest.approx(norm, rel=1e-9, abs=1e-12 * np.linalg.norm(y))
        largest = max((v for j, v in enumerate(c) if j not in S[:t]), default=fmpq(0))
        if t < len(S):
            assert largest > 0
            assert path.ties[t] == tuple(j for j, v in enumerate(c) if v == largest and j not in S[:t])
            assert S[t] == path.ties[t][0]
            assert path.coef_at(t + 1)[t] > 0
            second = max([0, *(real(v) for j, v in enumerate(c) if j not in S[: t + 1])])
            assert path.lam_star[t] == pytest.approx(real(largest), rel=1e-9)
            assert path.margin[t] == pytest.approx(1 - second / real(largest), abs=1e-9)
        elif path.status in ENDED:
            assert largest <= 0
    assert path.status in ENDED or len(S) == X.shape[1]
    assert np.delete(path.coef_path, range(len(free)), axis=1).min(initial=0) >= 0


def test_a_coefficient_becomes_zero_and_positive_again():
    X, y = np.array([[-2.0, 0, 1], [-2, -1, 1], [1, 1, 0]]), np.array([0.0, -1, 3])
    path = sl.omp(X, y, 3, positive=True)
    assert path.support.tolist() == [0, 1, 2]
    np.testing.assert_allclose(path.coef_path, [[5 / 9, 0, 0], [0, 2, 0], [2, 1, 4]], rtol=1e-12)
    assert path.coef_path[1, 0] == 0


def test_selected_columns_may_be_dependent():
    X, y = np.array([[-1.0, 0, 1], [-1, -1, 1], [2, 1, -2]]), np.array([0.0, -3, 1])
    path = sl.omp(X, y, 3, positive=True)
    assert path.support.tolist() == [0, 1, 2]
    np.testing.assert_allclose(path.coef, [0, 3, 2 / 3], rtol=1e-12)
    assert sl.certify(X, y, path, claim="nonnegative_omp").verify(X, y, exact=True)


@given(GENERATORS, st.booleans())
def test_both_end_in_nonnegative_least_squares(rng, wide):
    n, d = (8, 20) if wide else (20, 8)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    best, norm = nnls(X, y)
    path = sl.lasso_path(X, y, positive=True)
    omp = sl.omp(X, y, d, positive=True)
    ends = [path.coef[-1]] + ([omp.dense_coef()] if omp.status in ENDED else [])
    for end in ends:
        assert end.min() >= 0
        assert np.linalg.norm(y - X @ end) == pytest.approx(norm, rel=1e-9, abs=1e-9)
    if norm > 1e-9:
        np.testing.assert_allclose(path.coef[-1], best, atol=1e-9)


def gap(X, y, beta, lam, free):
    """P(β) − D(u), u = y − Xβ projected off the free columns and scaled to ⟨X_j, u⟩ ≤ λ off them."""
    rest = np.setdiff1d(np.arange(X.shape[1]), free)
    Q = np.linalg.qr(X[:, free])[0]
    r = y - X @ beta
    u = r - Q @ (Q.T @ r)
    u *= min(1.0, lam / max((X[:, rest].T @ u).max(initial=0), np.finfo(float).tiny))
    primal = 0.5 * r @ r + lam * beta[rest].sum()
    return primal - 0.5 * y @ y + 0.5 * (y - u) @ (y - u)


@given(GENERATORS, st.integers(0, 2), st.sampled_from([(10, 25), (30, 12), (6, 150)]))
def test_the_duality_gap_vanishes_at_knots_and_between(rng, size, shape):
    X, y, free = rng.standard_normal(shape), rng.standard_normal(shape[0]), list(range(size))
    path = sl.lasso_path(X, y, forced=free, positive=True)
    assert path.status is Status.COMPLETED
    assert path.knots[0] == pytest.approx(max(0, np.delete(X.T @ (y - X @ path.coef[0]), free).max()))
    for i, weight in itertools.product(range(len(path.knots) - 1), (0.0, 0.4)):
        lam = (1 - weight) * path.knots[i] + weight * path.knots[i + 1]
        beta = path.at(lam)
        assert np.delete(beta, free).min() >= 0
        assert abs(gap(X, y, beta, lam, free)) <= 1e-11 * (y @ y)


@given(TIED)
def test_the_path_under_ties_satisfies_its_conditions(design):
    X, y = design
    path = sl.lasso_path(X, y, positive=True)
    assert path.status is Status.COMPLETED
    tol = 1e-10 * np.linalg.norm(X, axis=0).max() * np.linalg.norm(y)
    for lam in [*path.knots, *(path.knots[1:] + path.knots[:-1]) / 2]:
        beta = path.at(lam)
        c = X.T @ (y - X @ beta)
        assert beta.min() >= 0
        assert (c - lam).max() <= tol
        assert np.abs(c - lam)[beta > 0].max(initial=0) <= tol


@pytest.mark.parametrize("shape", [(40, 30), (25, 60), (20, 300), (12, 400)])
@pytest.mark.parametrize("seed", range(3))
def test_the_fast_path_is_that_of_the_careful_homotopy(seed, shape):
    """Correlations below −λ are everywhere here: y has a negative part that no column may fit."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    y = X[:, :5] @ rng.uniform(1, 2, 5) - X[:, 5:9] @ rng.uniform(1, 2, 4)
    problem = Problem(X, y)
    path = sl.lasso_path(problem, positive=True)
    knots = list(Homotopy(problem, np.zeros(0, np.intp), positive=True).knots(0.0))
    assert (X.T @ (y - X @ path.coef[-2]) < -path.knots[-2]).any()
    assert len(knots) == len(path.knots)
    levels = [knot.lam for knot in knots]
    np.testing.assert_allclose(path.knots, levels, rtol=1e-9, atol=1e-12 * path.knots[0])
    for beta, knot in zip(path.coef, knots, strict=True):
        np.testing.assert_allclose(beta, knot.coef, atol=1e-9)


@given(GENERATORS)
def test_without_a_positive_correlation_nothing_is_selected(rng):
    X = rng.standard_normal((6, 9))
    y = np.linalg.lstsq(X.T, -np.abs(rng.standard_normal(9)), rcond=None)[0]
    X *= np.where(X.T @ y > 0, -1, 1)
    path = sl.omp(X, y, 3, positive=True)
    assert (len(path.support), path.status) == (0, Status.NO_CORRELATION)
    lasso = sl.lasso_path(X, y, positive=True)
    assert (lasso.knots.tolist(), lasso.status) == ([0.0], Status.COMPLETED)
    assert not lasso.coef.any()


def test_zero_and_equal_columns():
    X = np.array([[0.0, 1, 1, 0], [0, 2, 2, 1], [0, 0, 0, 1]])
    path = sl.omp(X, [1.0, 3.0, 1.0], 4, positive=True)
    assert path.ties[0] == (1, 2)
    assert path.support.tolist() == [1, 3]
    assert path.status is Status.EXACT_FIT
    np.testing.assert_allclose(path.coef, [1, 1], rtol=1e-12)
    assert sl.omp(np.zeros((2, 2)), [1.0, 1.0], 1, positive=True).status is Status.RANK_EXHAUSTED
    assert sl.omp(np.eye(2), [0.0, 0.0], 1, positive=True).status is Status.EXACT_FIT


@pytest.mark.parametrize("standardize", [False, True])
def test_an_intercept_is_free_of_sign(standardize, rng):
    X = rng.standard_normal((40, 10)) + 3
    y = X[:, :3] @ [1.0, 2.0, 0.5] - 50 + 0.1 * rng.standard_normal(40)
    path = sl.omp(X, y, 3, positive=True, intercept=True, standardize=standardize)
    assert sorted(path.support.tolist()) == [0, 1, 2]
    assert path.intercept_path[-1] < -10
    ones = np.column_stack([X, np.ones(40)])
    best = nnls(np.column_stack([ones, -np.ones(40)]), y)[0]
    lasso = sl.lasso_path(X, y, positive=True, intercept=True, standardize=standardize)
    np.testing.assert_allclose(lasso.coef[-1], best[:10], atol=1e-8)
    assert lasso.intercept[-1] == pytest.approx(best[10] - best[11])
    if not standardize:
        forced = sl.omp(ones, y, 4, positive=True, forced=[10])
        assert forced.support[1:].tolist() == path.support.tolist()
        certificate = sl.certify(X, y, path, claim="nonnegative_omp")
        assert certificate.forced == (10,)


def test_forced_features_may_be_negative(rng):
    X = rng.standard_normal((20, 6))
    y = X @ [-3.0, 2.0, 1.0, 0, 0, 0]
    path = sl.omp(X, y, 3, positive=True, forced=[0])
    np.testing.assert_allclose(path.dense_coef(), [-3, 2, 1, 0, 0, 0], atol=1e-12)
    assert np.isnan(path.lam_star[0])
    assert sl.omp(X, y, 4, positive=True, forced=[0, 3]).coef_path[0, 0] < 0
    lasso = sl.lasso_path(X, y, positive=True, forced=[0])
    np.testing.assert_allclose(lasso.coef[-1], [-3, 2, 1, 0, 0, 0], atol=1e-10)


def test_dependent_forced_columns_get_zero(rng):
    X = rng.standard_normal((10, 4))
    X[:, 1] = X[:, 0]
    path = sl.omp(X, X[:, 3] - X[:, 0], 3, positive=True, forced=[0, 1])
    assert path.support.tolist() == [0, 1, 3]
    np.testing.assert_allclose(path.coef, [-1, 0, 1], atol=1e-12)


def test_tolerance_and_callback(rng):
    X, y = rng.standard_normal((30, 10)), rng.standard_normal(30) + 1
    whole, seen = sl.omp(X, y, 5, positive=True), []
    level = float(whole.residual_norm[2] / whole.residual_norm[0])
    path = sl.omp(X, y, 5, tol=level * (1 + 1e-9), positive=True)
    assert (path.status, len(path.support)) == (Status.TOLERANCE, 2)
    stopped = sl.omp(X, y, 5, positive=True, callback=lambda path: seen.append(path) or len(seen) == 3)
    assert stopped.status is Status.STOPPED
    assert [len(path.support) for path in seen] == [1, 2, 3]
    np.testing.assert_array_equal(seen[1].coef_path, whole.coef_path[:2, :2])


def test_nearly_equal_columns_are_tied(rng):
    X, y = rng.standard_normal((15, 6)), rng.standard_normal(15)
    first = int(sl.omp(X, y, 1, positive=True).support[0])
    X = np.column_stack([X, X[:, first] * (1 + 2**-52)])
    assert sl.omp(X, y, 1, positive=True).ties[0] == (first, 6)


def test_columns_of_large_mean_do_not_end_the_path_early(rng):
    X = rng.standard_normal((60, 15)) + 1e6
    y = (X - 1e6)[:, :4] @ [1.0, 1.0, 2.0, 2.0] + 0.1 * rng.standard_normal(60)
    path = sl.omp(X, y, 4, positive=True, intercept=True)
    assert sorted(path.support.tolist()) == [0, 1, 2, 3]
    centred = sl.omp(X - X.mean(axis=0), y - y.mean(), 4, positive=True)
    np.testing.assert_allclose(path.dense_coef(), centred.dense_coef(), rtol=1e-6)


CONDITIONS = [
    (0, (0, 1), (1, 0), (2,), 1, "not orthogonal"),
    (1, (0,), (0,), (1,), 49, "not orthogonal"),
    (0, (0, 1), (0, 0), (2,), 25, "not optimal"),
    (0, (0, 1), (3, -1), (2,), 1, "negative coefficient"),
    (0, (), (), (1,), 49, "not below"),
    (0, (), (), (3,), 121, "not attained"),
    (0, (), (), (0,), 120, "not attained"),
]


@pytest.mark.parametrize(("n_forced", "S", "coef", "tied", "lam_squared", "part"), CONDITIONS)
def test_each_condition_is_checked(n_forced, S, coef, tied, lam_squared, part):
    X, y = np.array([[2.0, 1.0, 1.0, -2.0], [1.0, 2.0, 0.0, -1.0]]), np.array([5.0, 1.0])
    step = NonnegativeStep(S, tied[0], tied, Fraction(lam_squared), tuple(map(Fraction, coef)))
    for numbers in (Exact(X, y, False), Rounded(X, y, False)):
        assert any(part in failure for failure in refutations(step, numbers, n_forced))


def test_a_pick_by_modulus_and_a_wrong_claim_are_refuted():
    X, y = np.eye(2), np.array([1.0, -2.0])
    refuses("step 1: 1 is refuted", sl.certify, X, y, sl.omp(X, y, 1), claim="nonnegative_omp")
    refuses('claim="nonnegative_omp"', sl.certify, X, y, sl.omp(X, y, 1, positive=True))
    X, y = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5]]), np.array([5.0, 1.0])
    with pytest.raises(ValueError, match="below the largest, that of"):
        sl.certify(X, y, sl.omp(X[:, [2, 1, 0]], y, 1, positive=True), claim="nonnegative_omp")
