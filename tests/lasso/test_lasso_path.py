import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from fractional import dot, fractions
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import lasso_kkt, residual, worst_kkt
from refusals import refuses
from seeds import GENERATORS
from ties import DESIGNS, KINDS, tied

import sparselin as sl
from sparselin import Problem, Status
from sparselin.lasso._working_set import KnotBlock
from sparselin.lasso.path import _path_of
from sparselin.testing import integer_designs, tied_designs


@given(GENERATORS, st.integers(0, 3), st.sampled_from([(8, 20), (20, 8), (12, 12)]))
def test_kkt_at_and_between_the_knots(rng, unpenalized, shape):
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    S = range(unpenalized)
    path = sl.lasso_path(X, y, forced=S)
    assert path.status is Status.COMPLETED
    assert path.knots[-1] == 0
    assert np.all(np.diff(path.knots) < 0)
    assert worst_kkt(path, X, y, S) <= 1e-10


@given(integer_designs(max_n=8, max_d=12), st.booleans())
def test_kkt_on_designs_full_of_ties(design, unpenalized):
    X, y = design
    S = (0,) if unpenalized else ()
    assume(np.abs(X.T @ residual(X, y, S)).max() > 1e-9)
    path = sl.lasso_path(X, y, forced=S)
    assert path.status is Status.COMPLETED
    assert worst_kkt(path, X, y, S) <= 1e-10


@given(tied_designs())
def test_kkt_with_duplicated_and_negated_columns(design):
    X, y = design
    assume(np.abs(X.T @ y).max() > 1e-9)
    path = sl.lasso_path(X, y)
    assert path.status is Status.COMPLETED
    assert worst_kkt(path, X, y) <= 1e-10


@pytest.mark.parametrize("n", [8, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_kkt_on_designs_that_break_lars(kind, n):
    """scikit-learn 1.9.1 violates KKT on 44 % of the first kind and 63 % of the second (n = 8)."""
    for seed in range(DESIGNS // 4):
        X, y = tied(kind, n, np.random.default_rng([seed, n, 7]))
        if np.any(X.T @ y):
            path = sl.lasso_path(X, y)
            assert path.status is Status.COMPLETED, seed
            assert np.all(np.diff(path.knots) < 0), seed
            assert worst_kkt(path, X, y) <= 1e-10, seed


def test_a_coefficient_may_leave(rng):
    """A path with drops: at some knot the active set loses an index that is no longer nonzero below it."""
    drops = 0
    for _ in range(20):
        X, y = rng.normal(size=(10, 15)), rng.normal(size=10)
        active = sl.lasso_path(X, y).active
        drops += any(set(before) - set(after) for before, after in itertools.pairwise(active))
    assert drops > 5


def test_lam_min_and_max_steps(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    whole = sl.lasso_path(X, y)
    lam = (whole.knots[4] + whole.knots[5]) / 2
    part = sl.lasso_path(X, y, lam_min=lam)
    assert part.knots[-1] == lam
    np.testing.assert_allclose(part.coef[-1], whole.at(lam), atol=1e-12)
    steps = sl.lasso_path(X, y, max_steps=5)
    assert steps.status is Status.MAX_STEPS
    assert "undecided" not in steps.status.message
    # `active` at the last knot is what is nonzero just above it
    assert steps.active[-1] == tuple(np.flatnonzero(steps.coef[-1] + steps.coef[-2]))
    np.testing.assert_allclose(steps.knots, whole.knots[:6], rtol=1e-12)
    refuses("the end of this path", steps.at, whole.knots[6])
    above = sl.lasso_path(X, y, lam_min=2 * whole.knots[0])
    assert (above.status, above.active) == (Status.COMPLETED, ((),))
    assert not above.at(2 * whole.knots[0]).any()


def test_a_callback_may_stop(rng):
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    seen = []
    path = sl.lasso_path(X, y, callback=lambda path: seen.append(len(path.knots)) or len(path.knots) == 4)
    assert path.status is Status.STOPPED
    assert seen == [2, 3, 4]


def test_zero_columns_zero_response_and_everything_unpenalized():
    X = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    path = sl.lasso_path(X, [1.0, 1.0])
    assert not path.coef[:, 1].any()
    assert sl.lasso_path(X, [0.0, 0.0]).knots.tolist() == [0.0]
    full = sl.lasso_path(X, [1.0, 1.0], forced=[0, 1, 2])
    np.testing.assert_allclose(X @ full.at(0.0), [1, 1], atol=1e-15)


def test_near_copies_are_followed_or_the_status_says_not():
    """Integer designs in which one column copies another up to 1e-6 .. 1e-14: whatever is returned
    satisfies KKT to rounding of β. Without the check at each knot designs 39 and 226 are wrong by O(1)."""
    statuses = set()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, n).astype(float)
        eps = 10.0 ** -rng.integers(6, 15)
        i, j = rng.choice(d, 2, replace=False)
        X[:, j] = rng.choice([-1, 1]) * X[:, i] + eps * rng.integers(-2, 3, n)
        if not np.any(X.T @ y):
            continue
        path = sl.lasso_path(X, y)
        statuses.add(path.status)
        norms = np.linalg.norm(X, axis=0)
        for lam, coef in zip(path.knots, path.coef, strict=True):
            size = norms.max() * (np.linalg.norm(y) + norms @ np.abs(coef))
            assert lasso_kkt(X, y, coef, lam) * np.abs(X.T @ y).max() <= 1e-12 * size, seed
    assert statuses == {Status.COMPLETED, Status.BEYOND_PRECISION}


def test_a_path_beyond_precision_says_so():
    X = np.array([[1.0, 0.9999999998, 0, -2], [-1, -1, 0, -1], [1, 0.9999999999, 0, 1]])
    path = sl.lasso_path(X, np.array([0.0, 1.0, 1.0]))
    residual_correlation = np.abs(X.T @ (np.array([0.0, 1.0, 1.0]) - X @ path.coef[-1])).max()
    assert path.status is Status.BEYOND_PRECISION or residual_correlation <= path.knots[-1] * (1 + 1e-9)


def test_knots_that_do_not_fall_end_the_path():
    """Column norms from 1e7 to 1e24: rounding makes the path go round at one λ, whatever the limit."""
    rng = np.random.default_rng(11415)
    rng.integers(1, 13), rng.integers(1, 9), rng.choice(9)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12) * 2.0**-40
    X *= 10.0 ** rng.integers(-12, 13, 4) * 1e12
    full = sl.lasso_path(X, y)
    assert full.status is Status.BEYOND_PRECISION
    for steps in range(1, len(full.knots) + 3):
        path = sl.lasso_path(X, y, max_steps=steps)
        np.testing.assert_allclose(path.knots, full.knots[: steps + 1], rtol=1e-13)
        assert path.status is (Status.MAX_STEPS if len(path.knots) == steps + 1 else full.status)


def exact_violation(X, y, coef, lam, S=()):
    """Return the largest |c_j − λ·sign β_j| or |c_j| − λ, divided by the bound on rounding.

    That is 8·(√n + 1) times what rounding of β and y moves c by, and 1e-4·λ. In exact fractions.
    """
    beta = fractions(coef)
    r = [v - dot(row, beta) for v, row in zip(fractions(y), fractions(X), strict=True)]
    c = [dot(column, r) for column in fractions(X.T)]
    penalty = [Fraction(0) if j in S else Fraction(float(lam)) for j in range(len(beta))]
    each = zip(c, beta, penalty, strict=True)
    off = [abs(v - p * int(np.sign(b))) if b else abs(v) - p for v, b, p in each]
    norms = np.linalg.norm(X, axis=0)
    size = norms * (np.linalg.norm(y) + norms @ np.abs(coef))
    allowed = 1e-4 * lam + 8 * (np.sqrt(len(y)) + 1) * 2.0**-52 * size
    return max(float(v) / a for v, a in zip(off, allowed, strict=True) if a > 0)


def low_rank(n, d, rank, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + noise * rng.normal(size=(n, d))
    return X, rng.normal(size=n)


@pytest.mark.parametrize("shape", [(14, 60, 7), (20, 120, 10), (30, 40, 8)])
@pytest.mark.parametrize("noise", [1e-2, 3e-4, 1e-4, 1e-6, 1e-8])
def test_low_rank_plus_noise(shape, noise):
    """A guess that was proved, refused and made again looped without end; others were wrong by 1,300·λ."""
    for seed in (0, 8):
        X, y = low_rank(*shape, noise, seed)
        path = sl.lasso_path(X, y)
        assert path.status is Status.COMPLETED
        assert np.all(np.diff(path.knots) < 0)
        norms = np.linalg.norm(X, axis=0)
        for lam, coef in zip(path.knots, path.coef, strict=True):
            allowed = 1e-4 * lam + 2e-14 * norms * (np.linalg.norm(y) + norms @ np.abs(coef))
            assert np.all(np.abs(X.T @ (y - X @ coef)) <= lam + allowed), (seed, lam)
        for lam, coef in list(zip(path.knots, path.coef, strict=True))[-1::-9]:
            assert exact_violation(X, y, coef, lam) <= 1, (seed, lam)


def test_noise_that_is_rounding_ends_the_path_or_is_followed():
    for noise in (1e-10, 1e-12, 1e-14):
        X, y = low_rank(14, 30, 7, noise, 1)
        path = sl.lasso_path(X, y)
        assert path.status in (Status.COMPLETED, Status.BEYOND_PRECISION)
        assert exact_violation(X, y, path.coef[-1], path.knots[-1]) <= 1


def test_long_and_short_columns():
    """Powers of two from 2⁻²⁰ to 2²⁰: at λ = 0 the fit is that of least squares, or the status says not."""
    ended = 0
    for seed in [50, 52, 93, 104, 115, 181, *range(200, 260)]:
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 8)), int(rng.integers(2, 9))
        X = rng.integers(-2, 3, (n, d)) * 2.0 ** rng.choice([-20, -19, -18, 0, 18, 19, 20], d)
        y = rng.integers(-3, 4, n).astype(float)
        if not np.any(X.T @ y):
            continue
        path = sl.lasso_path(X, y)
        if path.status is Status.COMPLETED:
            ended += 1
            unit = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
            least = np.linalg.norm(residual(unit, y, range(d)))
            assert np.linalg.norm(y - X @ path.coef[-1]) <= least + 1e-9 * np.linalg.norm(y), seed
    assert ended > 50


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6, 1e8])
def test_offsets_beside_an_unpenalised_intercept(offset, rng):
    Z = rng.normal(size=(40, 12))
    X = np.column_stack([np.ones(40), offset + Z])
    y = 1e3 + 3 * Z[:, 0] - 2 * Z[:, 5] + Z[:, 7] + 0.1 * rng.normal(size=40)
    path = sl.lasso_path(X, y, forced=[0])
    assert path.status is Status.COMPLETED
    for lam, coef in list(zip(path.knots, path.coef, strict=True))[::4]:
        assert exact_violation(X, y, coef, lam, (0,)) <= 1
    # the centred floats, exactly; guesses are right to a share of λ
    centred = [Fraction(v) for v in X[:, 1].tolist()]
    mean, mean_y = sum(centred) / 40, sum(Fraction(v) for v in y.tolist()) / 40
    c = sum((v - mean) * (Fraction(w) - mean_y) for v, w in zip(centred, y.tolist(), strict=True))
    assert path.knots[0] == pytest.approx(abs(float(c)), rel=1e-8 if offset < 1e6 else 1e-13)
    assert path.active[0] == (1,)


def test_knots_that_are_one_in_float32_stay_apart():
    """β jumps where λ moves by 1e-12: without the first of both knots the segment above would be another."""
    problem = sl.Problem(np.eye(2, dtype=np.float32), np.array([2, 1], np.float32))
    lams, coef = np.array([2, 1 + 1e-12, 1, 0.5]), np.array([[0, 0], [1, 0], [0, 1], [0, 2.0]])
    block = KnotBlock(lams, np.arange(2), coef, [(0,), (), (1,), (1,)])
    path = _path_of(problem, np.zeros(0, np.intp), False, [block], sl.Status.COMPLETED)
    assert np.all(np.diff(path.knots) < 0)
    assert path.at(1.5) == pytest.approx([0.5, 0], abs=1e-6)
    assert path.at(0.75) == pytest.approx([0, 1.5], abs=1e-6)


@pytest.mark.parametrize("rho", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("S", [[], [3, 4]])
def test_the_end_of_a_gram_path_that_fits_y(rho, S):
    """The level of column 2 at λ = 0 is negative and tiny: without it, (3, 2, 0) fits y."""
    X, y = np.zeros((6, 6)), np.array([3, 2, -5e-5 * rho, 1, 0.02, 0])
    X[0, 0] = X[1, 1] = X[3, 3] = X[3, 4] = 1
    X[0, 2] = X[1, 2] = 0.505
    X[2, 2], X[4, 4], X[5, 5] = rho, 0.05, 0.3
    path = sl.lasso_path(Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), forced=S)
    assert path.status is Status.COMPLETED
    assert np.linalg.norm(y - X @ path.coef[-1]) <= 1e-4 * rho


@pytest.mark.parametrize("offset", [1e1, 1e3, 1e4])
def test_a_gram_path_beside_an_intercept(offset):
    """κ² = offset² hides no knot: a bound on the error of c that is larger than λ is no reason to be tied."""
    same = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 9)) + offset, rng.normal(size=30) + offset
        X[:, 0] = 1
        path = sl.lasso_path(X, y, forced=[0])
        gram = sl.lasso_path(Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), forced=[0])
        same += gram.active == path.active
        if gram.active == path.active:
            np.testing.assert_allclose(gram.knots, path.knots, atol=1e-13 * offset**2 * path.knots[0])
    assert same >= 18


@pytest.mark.parametrize(("amplitude", "copy"), [(1000, False), (1000, True), (100, True)])
def test_a_gram_path_whose_knots_are_far_apart(amplitude, copy):
    """After the first λ falls by thousands: what cuts the errors goes with the λ to come."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 9)) + 1000
        X[:, 0] = 1
        if copy:
            X[:, 8] = X[:, 2]
        y = amplitude * (X[:, 1] - 1000) + rng.normal(size=30)
        gram = sl.lasso_path(Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), forced=[0])
        assert len(gram.knots) == len(sl.lasso_path(X, y, forced=[0]).knots)


def test_noise_in_a_gram_matrix_is_no_knot():
    """y is in the span of two columns and the complement of all: λ*({0, 1}) = 0."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.round(3 * rng.normal(size=(12, 5)))
        y = 2 * X[:, 0] + X[:, 1] + 3 * np.linalg.svd(X.T)[2][-1]
        problem = Problem.from_gram(X.T @ X, X.T @ y, float(y @ y))
        path = sl.sequential_lasso(problem, 4)
        assert (sorted(path.support), path.status) == ([0, 1], Status.NO_CORRELATION)
        assert sl.first_entry(problem, forced=[0, 1]).lam_star == 0


def test_a_path_may_end_where_a_coefficient_leaves():
    """β_j is zero there but for rounding; its level is not."""
    ends = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(8, 9)) + 0.7 * rng.normal(size=(8, 1)), rng.normal(size=8)
        X[:, 8] = X[:, 0]
        path = sl.lasso_path(X, y)
        for above, below, lam in zip(path.active, path.active[1:-1], path.knots[1:-1], strict=False):
            if len(below) < len(above):
                ends += 1
                assert sl.lasso_path(X, y, lam_min=float(lam)).status is Status.COMPLETED
                assert sl.project_dual(X, y, float(lam)).status is Status.COMPLETED
    assert ends > 7


def test_forced_columns_that_are_dependent_only_together(rng):
    """κ(X_S) is 2e7, though no column of S is near the span of those before it."""
    t, n = 24, 30
    S = np.linalg.qr(rng.normal(size=(n, n)))[0][:, :t] @ (np.eye(t) - np.triu(np.ones((t, t)), 1))
    S /= np.linalg.norm(S, axis=0)
    X, y = np.column_stack([S, rng.normal(size=(n, 4))]), S @ rng.normal(size=t) + rng.normal(size=n)
    lam_star = sl.first_entry(X, y, forced=range(t)).lam_star
    assert sl.lasso_path(X, y, forced=range(t)).knots[0] == pytest.approx(lam_star, rel=1e-9)
    Q = np.linalg.qr(S)[0]
    u = y - Q @ (Q.T @ y)
    u -= Q @ (Q.T @ u)
    found = sl.project_dual(X, y, 1.0001 * lam_star, forced=range(t)).u
    assert np.linalg.norm(found - u) <= 1e-8 * np.linalg.norm(y)


@pytest.mark.parametrize("seed", range(8))
def test_a_sparse_path_ends_at_a_knot(seed):
    rng = np.random.default_rng(seed)
    Z = scipy.sparse.random_array((100, 150), density=0.2, rng=rng, data_sampler=rng.standard_normal).tocsc()
    y = rng.standard_normal(100)
    whole = sl.lasso_path(Z.toarray(), y, max_steps=30)
    for t in (3, 10, 25):
        path = sl.lasso_path(Z, y, lam_min=float(whole.knots[t]))
        assert path.status is Status.COMPLETED
        np.testing.assert_allclose(path.coef[-1], whole.coef[t], atol=1e-9 * np.abs(whole.coef[t]).max())


def test_a_sparse_path_in_which_a_coefficient_vanishes_at_zero():
    X = np.array(
        [
            [1, 1, 0, 1, 1, 1, 0],
            [0, 0, 0, 1, 0, 1, 0],
            [0, 0, 0, 0, 1, 0, 1],
            [1, 1, 0, 1, 0, 0, 0],
            [1, 1, 0, 1, 1, 0, 1.0],
        ]
    )
    y = np.array([0, 2, 4, 1, 2.0])
    dense, sparse = (sl.lasso_path(data, y, positive=True) for data in (X, scipy.sparse.csc_array(X)))
    assert sparse.active == dense.active
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-14)
