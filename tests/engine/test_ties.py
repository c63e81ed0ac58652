"""T, λ* and statuses compared with exact arithmetic, where X_S is ill-conditioned."""

import itertools
from fractions import Fraction

import flint
import numpy as np
import pytest
import scipy.sparse
from attacks.oracles import Design

import sparselin as sl
from sparselin import Status
from sparselin.greedy._walk import argmax
from sparselin.lasso._dependent import largest_support
from sparselin.linalg.thin_qr import ThinQR
from sparselin.linalg.ties import Scores, measure, tied_at_maximum


def offset_design(rng, offset, y_offset, n=24, d=8):
    Z = rng.standard_normal((n, d))
    y = y_offset + 3 * Z[:, 0] - 2 * Z[:, 5] + Z[:, 7] + 0.1 * rng.standard_normal(n)
    return np.column_stack([np.ones(n), offset + Z]), y


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("y_offset", [0.0, 1e3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_intercept_and_uncentred_columns(offset, y_offset, order, rng):
    """Years, prices, time stamps: what is left of a column is 1e-6 of it, and all of what matters."""
    X, y = offset_design(rng, offset, y_offset)
    X, exact = np.asarray(X, order=order), Design(X, y)
    for path in (sl.omp(X, y, 8, forced=[0]), sl.sequential_lasso(X, y, 8, method="omp", forced=[0])):
        assert path.status is sl.Status.COMPLETED
        for t, pick in enumerate(path.support[1:], 1):
            step = exact.at(path.support[:t])
            assert path.ties[t] == step.tied == (pick,)
            assert path.lam_star[t] == pytest.approx(step.top, rel=1e-6)
    path = sl.ols(X, y, 8, forced=[0])
    assert path.status is sl.Status.COMPLETED
    for t, pick in enumerate(path.support[1:], 1):
        falls = exact.at(path.support[:t]).falls
        assert path.ties[t] == (pick,) == (max(falls, key=falls.get),)


def test_the_largest_is_not_dropped_because_its_bound_is_large():
    """A column of length 1e8 and a nearly dependent S: |c| = 1 is below what its bound by κ was."""
    X = np.array([[1.0, 1, 1e8, 0], [0, 2.0**-23, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.5]])
    y = np.ones(4)
    path, entry = sl.omp(X, y, 3, forced=[0, 1]), sl.first_entry(X, y, forced=[0, 1])
    assert path.support[2] == 2
    assert path.ties[2] == (2,)
    assert path.lam_star[2] == pytest.approx(1)
    assert (entry.lam_star, entry.tied, entry.status) == (1.0, (2,), Status.COMPLETED)
    assert sl.ols(X, y, 3, forced=[0, 1]).ties[2] == (2, 3)  # both fall by all that there is: 1 and 1/4 : 1/4


def test_what_may_be_the_largest_is_tied_though_it_may_be_zero():
    """|c| = (1, 0 ± 2): the second cannot be excluded, and the first is what is certainly not zero."""
    c, error = np.array([0.0, 1.0]), np.array([2.0, 0.1])
    assert tied_at_maximum(c, error)[1].tolist() == [0, 1]
    pick, _ = argmax(c, error, [], lambda J: Scores(c[J], error[J], 1.0))
    assert pick.tied == (0, 1)
    assert pick.feature == 1


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("scale", [1.0, 2.0**20])
def test_measured_errors_bound_those_that_are_made(apart, scale, rng):
    """For a nearly dependent S, |ĉ − c| ≤ e in rationals, and e is as small as rounded data allow."""
    for _ in range(5):
        X = rng.standard_normal((9, 6)) * np.array([1, 1, 1, 1, scale, 1 / scale])
        X[:, 1] = X[:, 0] + apart * X[:, 1]
        y = rng.standard_normal(9)
        problem = sl.Problem(X, y)
        found = measure(ThinQR(problem, [0, 1, 2]), np.array([3, 4, 5]))
        step = Design(X, y).at([0, 1, 2])
        assert np.all(np.abs(found.c - step.c[3:]) <= found.error)
        assert np.all(np.abs(found.length - step.z[3:]) <= found.length_error)
        assert np.all(found.error <= 1e-13 / apart * problem.column_norms[3:] * problem.y_norm)


def test_a_clear_column_is_not_concerned_by_the_condition_of_the_others(rng):
    """S is dependent to 1e-9; y and the columns left have no part in that, and their errors are eps."""
    Q = np.linalg.qr(rng.standard_normal((30, 8)))[0]
    X = Q.copy()
    X[:, 1] = Q[:, 0] + 1e-9 * Q[:, 1]
    problem = sl.Problem(X, Q[:, 0] + Q[:, 2:] @ np.arange(1.0, 7.0))
    qr = ThinQR(problem, [0, 1])
    assert qr.kappa > 1e9
    found = measure(qr, np.arange(2, 8))
    assert np.all(found.error <= 1000 * problem.eps * problem.y_norm)


def nearly_dependent_pair():
    """Orthonormal u, w, v and others; r errs by κ = 1e9 along w for u and u + 1e-9·w."""
    u, w, v, *others = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 20)))[0].T
    return u, w, v, np.array(others)


def test_a_long_column_ties_past_the_runner_up():
    """y has such a share of S, nearly dependent, that c_j errs by 2e-6·‖X_j‖: the third may be first."""
    u, w, v, others = nearly_dependent_pair()
    X = np.array([u, u + 1e-9 * w, v, 0.9 * v, 0.7 * v, *(0.1 * v + 0.01 * others[3:])]).T
    X[:, 2:5] += others[:3].T * np.array([1, 1, 200])
    path = sl.omp(X, w + 1e-3 * v, 8, forced=[0, 1])
    assert path.ties[2] == (2, 4)
    assert path.support[2] == 2
    # what has no share of w is not concerned by how nearly S is dependent
    assert sl.omp(X, u + 1e-3 * v, 8, forced=[0, 1]).ties[2] == (2,)


@pytest.mark.parametrize(("gap", "tied"), [(1.5, (2, 3)), (2.5, (2,))])
def test_both_that_are_compared_may_err(gap, tied):
    """Columns of unit length: a tie until |c| differs by twice the error of each."""
    u, w, v, others = nearly_dependent_pair()
    S = np.array([u, u + 1e-9 * w]).T
    apart = gap * 8 * np.finfo(float).eps * np.linalg.norm(np.linalg.inv(np.linalg.qr(S)[1])) / 1e-3
    shares = np.array([[0.8], [0.8 - apart]])
    pair = shares * v + np.sqrt(1 - shares**2) * others[:2]
    X = np.vstack([S.T, pair, 0.1 * v + 0.01 * others[3:]]).T
    assert sl.omp(X, w + 1e-3 * v, 8, forced=[0, 1]).ties[2] == tied


@pytest.mark.parametrize("method", ["lasso", "omp"])
def test_near_copies_in_float32_that_the_rule_proposes_again(method):
    """A barred column came back as the first of the guesses, although it was no candidate."""
    X = [[-1.381953477859497, -1.3819531202316284, -1.3819530010223389],
         [-1.7292734384536743, -1.7292680740356445, -1.729267954826355],
         [0.42187806963920593, 0.42187732458114624, 0.4218772053718567]]  # fmt: skip
    y = [0.9492835402488708, -0.789469838142395, 2.1171765327453613]
    path = sl.sequential_lasso(np.array(X, np.float32), np.array(y, np.float32), 3, method=method, forced=[0])
    assert path.support.tolist()[0] == 0
    assert path.status in (Status.BEYOND_PRECISION, Status.RANK_EXHAUSTED, Status.NO_CORRELATION)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "options", ["weights", "standardize", "weights standardize", "intercept standardize"]
)
def test_float32_ties_are_those_of_the_data_before_weights_and_scales(options, sparse):
    """Against fractions: c_j² over the weighted sum of squares, for integers."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = 3 + seed % 2
        X, y = rng.integers(-3, 4, (n, 8)), rng.integers(-3, 4, n)
        w = rng.integers(1, 4, n) if "weights" in options else np.ones(n, int)
        squares = []
        for x in X.T.tolist():
            z = [Fraction(v) for v in x]
            if "intercept" in options:
                mean = sum(z) / n
                z = [v - mean for v in z]
            c = sum(a * b * int(t) for a, b, t in zip(w.tolist(), z, y, strict=True))
            variance = sum(a * b**2 for a, b in zip(w.tolist(), z, strict=True))
            if "standardize" in options:
                squares.append(c**2 / variance if variance else 0)
            else:
                squares.append(c**2)
        T = [j for j, square in enumerate(squares) if square == max(squares)]
        if max(squares) == 0 or len(T) < 2:
            continue
        found += 1
        data = X.astype(np.float32)
        path = sl.omp(
            scipy.sparse.csc_array(data) if sparse else data,
            y.astype(np.float32),
            1,
            sample_weight=w if "weights" in options else None,
            standardize="standardize" in options,
            intercept="intercept" in options,
        )
        assert path.support.dtype.kind == "i" and path.lam_star.dtype == np.float32  # noqa: PT018
        assert set(T) <= set(path.ties[0])
        assert path.support[0] == path.ties[0][0]
    assert found >= 5


def test_the_first_pick_of_a_gram_problem_is_that_of_its_correlations():
    """Columns of mean 2²⁵ and y orthogonal to ones: Xᵀy cancels to eps of ‖X_i‖‖y‖, and is exact."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = 2.0**25 + rng.integers(-3, 4, (4, 4)), rng.integers(-3, 4, 4).astype(float)
        y[-1] -= y.sum()
        b = X.T @ y
        if b.any():
            problem = sl.Problem.from_gram(X.T @ X, b, float(y @ y))
            for path in (sl.omp(problem, 1), sl.ols(problem, 1)):
                assert np.abs(b)[path.support].tolist() == [np.abs(b).max()]
            assert sl.lambda_star(problem) == pytest.approx(np.abs(b).max(), rel=1e-6)


@pytest.mark.parametrize("exponent", range(0, 45, 4))
def test_active_set_of_columns_of_very_different_lengths(exponent):
    """Compare with a calculation: ⟨z_i, u⟩ = 1 for u = (1, 1), so v_0 = 1/b > 0 and v_1 + v_2 = 2 − 1/b."""
    b = 2.0**exponent
    X, y = np.array([[1 - b, 1, 1], [b, 0, 0]]), np.ones(2)
    entry = sl.first_entry(X, y)
    assert (entry.status.name, entry.active) == ("COMPLETED", (0, 1, 2))
    assert entry.direction[0] == pytest.approx(1 / b)
    assert sl.sequential_lasso(X, y, 1).active_sets == ((0, 1, 2),)
    assert sl.verify(X, y, 1).verdict != "violates"


def supports_of_cone(A):
    """Return the indices i for which (q, Aq)_i > 0 for some q ≥ 0 with Aq ≥ 0, by enumeration of rays."""
    M = [*np.eye(A.shape[1], dtype=int).tolist(), *A.tolist()]
    p, found = A.shape[1], set()
    for rows in itertools.combinations(M, p - 1):
        null, dimension = flint.fmpz_mat(p - 1, p, [x for row in rows for x in row]).nullspace()
        for sign in (1, -1) if dimension == 1 else ():
            ray = [sum(m * sign * int(null[k, 0]) for k, m in enumerate(row)) for row in M]
            found |= {i for i, x in enumerate(ray) if x > 0} if min(ray) >= 0 else set()
    return found


@pytest.mark.parametrize("seed", range(60))
def test_largest_support_is_that_of_the_rays_at_every_scale(seed):
    rng = np.random.default_rng(seed)
    a, p = rng.integers(1, 4, 2)
    A = rng.integers(-2, 3, (a, p))
    N = np.vstack([-np.abs(A).sum(axis=0, keepdims=True) - 1.0 - A.sum(axis=0), A, np.eye(p)])
    true = supports_of_cone(A)
    expected = [True, *(p + i in true for i in range(a)), *(k in true for k in range(p))]
    scales = 2.0 ** rng.integers(-40, 41, 1 + a + p)
    for scale in (np.ones(1 + a + p), scales):
        moves = scale[:, None] * N / scale[-p:]
        v = np.append(scale[0], np.zeros(a + p))
        found = largest_support(v, moves, 1e-15 * np.abs(moves))
        assert (found.w > 0).tolist() == expected
        assert (found.w >= 0).all()
        left = found.w - v - moves @ found.q
        assert (np.abs(left) <= 1e-12 * (v + np.abs(moves) @ np.abs(found.q))).all()
