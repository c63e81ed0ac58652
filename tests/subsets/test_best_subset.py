import functools
import itertools

import numba
import numpy as np
import pytest
from exact_r2 import FAMILIES, ExactR2, nearly_dependent, number
from refusals import interrupt

import sparselin as sl
from sparselin._kernels import best_subset as kernels
from sparselin._kernels.dependence import DependenceTest, Unit
from sparselin.subsets.best_subset import best_subset

TIE = 1e-10  # of ‖y‖²


def brute_force(X, y, k, forced=()):
    """The least ‖P_S^⊥y‖² over all S of k columns that contain the forced ones, by singular vectors."""
    rest = [j for j in range(X.shape[1]) if j not in forced]
    sets = [[*forced, *more] for more in itertools.combinations(rest, k - len(forced))]
    unit = X / np.where(np.linalg.norm(X, axis=0) > 0, np.linalg.norm(X, axis=0), 1)
    U, s, _ = np.linalg.svd(unit[:, np.array(sets, int)].transpose(1, 0, 2), full_matrices=False)
    shares = np.where(s > 1e-12, np.einsum("snr,n->sr", U, y), 0)
    r = y - np.einsum("snr,sr->sn", U, shares)
    return float((r**2).sum(axis=1).min())


def draw(rng, kind):
    """X, y, k: Gaussian; integer with ties; duplicated columns; d > n; running sums; nearly dependent."""
    n, d = int(rng.integers(5, 14)), int(rng.integers(5, 11))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    if kind == "integer":
        X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, n).astype(float)
    elif kind == "duplicated":
        copies = X[:, rng.integers(0, d, d // 2)] * rng.choice([1.0, -1.0, 4.0], d // 2)
        X[:, rng.integers(0, d, d // 2)] = copies
    elif kind == "wide":
        X, y = X[:5], y[:5]
    elif kind == "running sums":
        X = np.cumsum(X, axis=1)
    elif kind == "nearly dependent":
        copies = X[:, rng.integers(0, max(2, d // 2), d)]
        X = copies + 10.0 ** rng.uniform(-6, 0) * rng.standard_normal((n, d))
    elif kind == "correlated":
        X += 2 * rng.standard_normal((n, 1))
    return X, y, int(rng.integers(1, min(d, 6) + 1))


KINDS = ("gaussian", "integer", "duplicated", "wide", "running sums", "nearly dependent", "correlated")


@pytest.fixture
def cold(monkeypatch):
    """Nothing is known before the search, so that it must find what it proves."""
    monkeypatch.setattr("sparselin.greedy.incumbents._starts", lambda X, y, k, forced: iter(()))


def signal(n, d, k, seed, noise=1.0):
    X = sl.ensembles.ar1(n, d, seed, rho=0.5)[0]
    rng = np.random.default_rng([seed, 1])
    fit = X[:, rng.choice(d, k, replace=False)] @ rng.standard_normal(k)
    e = rng.standard_normal(n)
    return X, fit + noise * e * np.linalg.norm(fit) / np.linalg.norm(e)


def check(X, y, k, forced=()):
    best, least, size = best_subset(X, y, k, forced=forced), brute_force(X, y, k, forced), float(y @ y)
    assert best.residual == pytest.approx(least, rel=0, abs=TIE * size)
    assert best.lower_bound <= least + TIE * size
    assert best.lower_bound <= best.residual
    assert best.optimal
    assert len(set(best.support.tolist())) == len(best.support) <= k
    assert best.support[: len(forced)].tolist() == list(forced)
    r = y - X[:, best.support] @ best.coef
    assert r @ r == pytest.approx(best.residual, rel=0, abs=TIE * size)
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_brute_force(kind, cold):
    rng = np.random.default_rng([5, KINDS.index(kind)])
    moves = nodes = 0
    for _ in range(120):
        best = check(*draw(rng, kind))
        moves, nodes = moves + best.moves, nodes + best.nodes
    assert moves > 120
    assert nodes > 120


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_brute_force_after_a_warm_start_and_with_forced_features(kind):
    rng = np.random.default_rng([6, KINDS.index(kind)])
    for _ in range(30):
        X, y, k = draw(rng, kind)
        forced = rng.permutation(X.shape[1])[: rng.integers(0, k + 1)].tolist()
        check(X, y, k, forced)


@pytest.mark.parametrize("k", [3, 4, 6, 8])
def test_it_is_brute_force_where_bounds_decide(k, cold):
    for seed in range(4):
        X, y = signal(40, 14, k, seed)
        best = check(X, y, k)
        assert best.nodes < 500


def test_a_search_that_is_stopped_anywhere_has_a_right_bound(cold):
    for X, y in (signal(30, 14, 5, 0, noise=3.0), sl.ensembles.gaussian(8, 12, 1)):
        least, size = brute_force(X, y, 5), float(y @ y)
        full = best_subset(X, y, 5)
        lower, residual = 0.0, np.inf
        for limit in range(full.nodes):
            best = best_subset(X, y, 5, node_limit=limit)
            assert best.lower_bound <= least + TIE * size
            assert best.lower_bound >= lower
            assert best.residual >= least - TIE * size
            assert best.residual <= residual + TIE * size
            assert not best.optimal
            assert best.status is sl.Status.MAX_ITER
            lower, residual = best.lower_bound, best.residual
        assert full.optimal
        assert lower > 0 or len(y) < X.shape[1]


@functools.cache
def entry(name):
    """Give a kernel that only kernels call an entry from Python."""
    return numba.njit(error_model="numpy")(getattr(kernels, name).py_func)


def frame(C, b=0.0, square=0.0):
    """A stack of one level that holds the remainders with Gram matrix C, known exactly."""
    stack = kernels.empty_stack(1, len(C))
    stack.G[0], stack.features[0], stack.size[0], stack.square[0] = C, np.arange(len(C)), len(C), square
    first = entry("frame_at")(stack, 0)
    first.b[:-1], first.growth[:] = b, 1.0
    return stack, first


def test_the_relaxation_bounds_every_subset_for_any_x(rng):
    """At x as it comes, and near its best, where a bound that is a hundredth too tight would be seen."""
    tight, convexify, relax = 0, entry("convexify"), entry("relax")
    for _ in range(200):
        F, m = int(rng.integers(4, 9)), int(rng.integers(3, 5))
        X, y = rng.standard_normal((F + 6, F)), rng.standard_normal(F + 6)
        C, b, square = X.T @ X, X.T @ y, float(y @ y)
        stack, first = frame(C, b, square)
        D, v, x = first.D[:F], first.v[:F], first.beta[:F]
        x[:] = rng.standard_normal(F)
        convexify(stack, 0)
        assert stack.kind[0] == kernels.CONVEX
        assert D.min() > 0
        assert np.linalg.eigvalsh(C - np.diag(D))[0] >= 0
        least = brute_force(X, y, m)
        for _ in range(40):
            base = relax(stack, 0, m, np.inf)
            bound = base - np.sort(v)[-m:].sum()
            assert bound <= least + TIE * square
        M = C - np.diag(D)
        assert base == pytest.approx(square - x @ M @ x)
        np.testing.assert_allclose(v, (b - M @ x) ** 2 / D, rtol=1e-9, atol=1e-12 * square)
        tight += bound >= least - 1e-3 * square
    assert tight > 40


def test_circles_are_below_every_submatrix(rng):
    circles = entry("circles")
    for _ in range(50):
        X = sl.ensembles.gaussian(60, 9, rng)[0] * rng.uniform(0.5, 2, 9)
        C, m = X.T @ X, 4
        stack, first = frame(C)
        circles(stack, 0, m)
        if stack.kind[0] == kernels.SPARSE:
            for A in itertools.combinations(range(9), m):
                assert np.linalg.eigvalsh((C - np.diag(first.D[:-1]))[np.ix_(A, A)])[0] >= -1e-12


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-7])
def test_nearly_dependent_columns_are_measured_anew(gap, cold, rng):
    """y lies in what two nearly equal columns differ by, and three nearly dependent ones."""
    for _ in range(10):
        X = rng.standard_normal((12, 8))
        turn = rng.standard_normal((12, 2))
        X[:, 4] = X[:, 1] + gap * turn[:, 0]
        X[:, 6] = X[:, 2] + X[:, 3] + gap * turn[:, 1]
        y = turn[:, 0] + turn[:, 1] + 0.5 * rng.standard_normal(12)
        for k in (2, 3, 4, 5):
            best, least = best_subset(X, y, k), brute_force(X, y, k)
            assert best.residual <= least + 1e-14 / gap * (y @ y) + TIE * (y @ y)
            assert best.optimal


def least_of_independent(X, y, k):
    """The least ‖P_S^⊥y‖² over k of the independent columns, by orthogonal factors and two projections."""
    sets = np.array(list(itertools.combinations(range(X.shape[1]), k)))
    Q = np.linalg.qr((X / np.linalg.norm(X, axis=0))[:, sets].transpose(1, 0, 2))[0]
    r = np.broadcast_to(y, (len(sets), len(y)))
    for _ in range(2):
        r = r - np.einsum("snk,sk->sn", Q, np.einsum("snk,sn->sk", Q, r))
    return float((r**2).sum(axis=1).min())


def test_chains_of_columns_are_measured_anew(cold):
    """Each column nearly is the new direction of the one before: no length falls, but errors grow by g⁻²."""
    g, t, n = 0.012, 5, 9
    for seed in range(150):
        rng = np.random.default_rng(seed)
        Z = np.linalg.qr(rng.standard_normal((n, n)))[0]
        chain = Z[:, :t].copy()
        chain[:, 1:] = Z[:, : t - 1] + g * Z[:, 1:t]
        X = np.hstack([chain, Z[:, [t - 1]] + 0.3 * rng.standard_normal((n, 3))])
        y = chain @ (np.array([10, 8, 5, 3, 3]) * rng.standard_normal(t))
        y += Z[:, t - 1] * rng.standard_normal()
        y += 10.0 ** rng.uniform(-6, 0) * rng.standard_normal(n)
        X, k = X[:, rng.permutation(t + 3)], int(rng.integers(4, 7))
        best, least, size = best_subset(X, y, k), least_of_independent(X, y, k), float(y @ y)
        assert best.optimal
        assert best.residual <= least + 1e-8 * size
        assert best.lower_bound <= least + 1e-8 * size


def test_nearly_parallel_pairs_of_a_leaf_are_measured(rng):
    """Short remainders at a small angle, with y along their difference."""
    refused, leaf = 0, entry("leaf")
    for _ in range(500):
        Z = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        height, sine = np.sqrt(rng.uniform(3e-4, 1e-3)), np.sqrt(rng.uniform(1.05e-5, 1e-3))
        turned = Z[:, 1] + sine * Z[:, 2]
        X = np.array([Z[:, 0] + height * Z[:, 1], Z[:, 0] + height * turned, Z[:, 0]])
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = rng.standard_normal() * Z[:, 2] + 0.1 * Z[:, 3]
        y /= np.linalg.norm(y)
        exact = DependenceTest(Unit(2e-15, 2.0, 1.0), np.arange(3), np.full(3, np.inf), 0.0)
        data = kernels.SubsetData(
            X=X, y=y, exact=exact, own=np.ones(4), fixed=0, volume=0.0, seen=np.zeros(2)
        )
        stack, first = frame(X @ X.T, X @ y, 1.0)
        stack.size[0], first.off[:] = 2, 1e-14
        inside, found = np.array([2, 0, 0, 0]), np.zeros(4, np.intp)
        state = kernels.SubsetSearch(
            m=3,
            inside=inside,
            found=found,
            value=np.array([10.0, 10.0]),
            counters=np.zeros(8, np.intp),
            unclear=np.zeros(6, np.intp),
            work=np.empty((4, 3)),
            rivals=np.zeros((4, 5), np.intp),
            squares=np.zeros(4),
        )
        tried = leaf(stack, state, 0)
        stack.kind[0] = kernels.NONE
        kernels.renew(data, stack, state)
        refused += not tried
        if tried:
            assert state.value[0] == pytest.approx(least_of_independent(X.T, y, 3), rel=0, abs=TIE)
    assert refused < 250


def test_ties_and_what_is_dependent():
    X = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    best = best_subset(X, [3.0, 2.0, 1.0], 3)
    assert sorted(best.support.tolist()) == [0, 3]
    assert best.status is sl.Status.RANK_EXHAUSTED
    assert best.residual == pytest.approx(1)
    exact = best_subset(X, [3.0, 2.0, 0.0], 4)
    assert exact.status is sl.Status.EXACT_FIT
    assert len(exact.support) == 2
    assert exact.lower_bound == 0 == exact.gap
    zero = best_subset(X, np.zeros(3), 2)
    assert (zero.support.size, zero.r2, zero.value, zero.residual) == (0, 0, 0, 0)
    assert zero.status is sl.Status.EXACT_FIT
    orthogonal = best_subset(X, [0.0, 0.0, 1.0], 2)
    assert orthogonal.support.size == 0
    assert orthogonal.status is sl.Status.NO_CORRELATION
    assert orthogonal.residual == orthogonal.lower_bound + 1e-10 == 1


def test_forced_columns_that_are_dependent_count():
    X = np.array([[1.0, 2.0, 0.0, 0.5], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    best = best_subset(X, [1.0, 1.0, 0.5], 3, forced=(0, 1))
    assert best.support[:2].tolist() == [0, 1]
    assert best.coef[1] == 0
    assert len(best.support) == 3
    whole = best_subset(X, [1.0, 1.0, 0.5], 2, forced=(0, 1))
    assert whole.support.tolist() == [0, 1]
    assert whole.optimal


def test_all_columns_are_one_subset(rng):
    X, y = rng.standard_normal((9, 5)), rng.standard_normal(9)
    best = best_subset(X, y, 5)
    assert sorted(best.support.tolist()) == list(range(5))
    assert best.residual == pytest.approx(np.linalg.lstsq(X, y)[1][0])


def test_the_fields(cold):
    X, y = signal(40, 12, 4, 3)
    best = best_subset(X, y, 5)
    order = sl.ols(X[:, best.support], y, 5)
    assert order.support.tolist() == list(range(5))
    np.testing.assert_allclose(best.coef, np.linalg.lstsq(X[:, best.support], y)[0])
    squares = [brute_force(X[:, best.support[:t]], y, t) for t in range(1, 6)]
    np.testing.assert_allclose(np.cumsum(best.gains), 1 - np.array(squares) / (y @ y))
    assert best.value == best.r2 == pytest.approx(best.gains.sum())
    assert best.best_prefix == 5
    assert best.diversity == 0
    assert best.n_features == 12
    assert best.moves > 0
    assert best.candidates == ()
    assert 0 <= best.gap < 1e-8


def test_the_starts_are_candidates():
    X, y = signal(40, 12, 4, 3)
    best = best_subset(X, y, 4)
    names, values = zip(*best.candidates, strict=True)
    assert names == ("orthogonal least squares", "orthogonal matching pursuit", "backward elimination")
    assert max(values) <= best.r2 + TIE
    assert best.moves == 0 or max(values) < best.r2


def hard():
    """White noise on more columns than rows: thousands of nodes."""
    return sl.ensembles.gaussian(30, 60, 4)[0], np.random.default_rng(0).standard_normal(30)


def test_the_callback_follows_and_stops():
    X, y = hard()
    seen = []
    best = best_subset(X, y, 8, callback=lambda state: seen.append(state) or len(seen) == 4)
    assert best.status is sl.Status.STOPPED
    assert not best.optimal
    assert len(seen) == 4
    assert [s.nodes for s in seen] == sorted({s.nodes for s in seen})
    assert best.nodes == seen[-1].nodes
    assert best.residual == pytest.approx(seen[-1].residual)
    assert all(s.lower_bound <= best.residual and len(s.support) == 8 for s in seen)
    assert best.lower_bound == pytest.approx(seen[-1].lower_bound)


def test_an_interrupt_returns_the_best_so_far():
    X, y = hard()

    best = best_subset(X, y, 6, callback=interrupt)
    assert best.status is sl.Status.STOPPED
    assert len(best.support) == 6
    assert best.lower_bound <= best.residual


def test_limits():
    X, y = hard()
    assert best_subset(X, y, 6, time_limit=0).status is sl.Status.MAX_ITER
    limited = best_subset(X, y, 6, node_limit=100)
    assert limited.status is sl.Status.MAX_ITER
    assert 100 <= limited.nodes <= 110
    assert best_subset(X, y, 6, node_limit=100).nodes == limited.nodes
    assert best_subset(X, y, 6, node_limit=0).nodes == 0


def test_abess_is_never_better():
    abess = pytest.importorskip("abess")
    for seed in range(5):
        X, y = signal(80, 30, 6, seed)
        model = abess.LinearRegression(support_size=6, fit_intercept=False).fit(X, y)
        theirs = np.flatnonzero(model.coef_)
        r = y - X[:, theirs] @ np.linalg.lstsq(X[:, theirs], y)[0]
        best = best_subset(X, y, 6)
        assert best.optimal
        assert len(theirs) <= 6
        assert best.residual <= r @ r + TIE * (y @ y)


def test_a_path_that_goes_round_at_one_knot_does_not_hold_up_the_search():
    """Column norms from 1e7 to 1e24, on which the LASSO path made steps of no length without end."""
    rng = np.random.default_rng(11415)
    rng.integers(1, 13), rng.integers(1, 9), rng.choice(9)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    X *= 10.0 ** rng.integers(-12, 13, 4) * 1e12
    best = best_subset(X, y * 2.0**-40, 4)
    assert best.optimal
    assert best.residual == pytest.approx(brute_force(X, y * 2.0**-40, 4))


@pytest.mark.parametrize("family", FAMILIES)
def test_nearly_dependent_columns_in_rationals(family):
    """No subset is below `lower_bound`, and what is optimal is so; both exactly."""
    optimal, expected = 0, 40
    if family == "rounded multiples":
        expected = 20
    elif family.startswith("m"):
        expected = 60
    for seed in range(60):
        rng = np.random.default_rng([seed, FAMILIES.index(family)])
        X, y = nearly_dependent(family, rng)
        d, size = X.shape[1], float(y @ y)
        k = int(rng.integers(1, d + 1))
        best, least = best_subset(X, y, k), number(1 - ExactR2(X, y).best(d, k)) if size else 0.0
        assert best.lower_bound <= (least + 1e-15) * size, seed
        if best.optimal:
            assert best.residual <= (least + 2e-6) * size, seed
            assert best.status is not sl.Status.COMPLETED or len(best.support) == k
        optimal += best.optimal
    assert optimal >= expected


def test_the_bound_follows_the_condition():
    """Noise of 1e-8 to 3e-7: a fixed margin was too little for one design in ten to four."""
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X, y = nearly_dependent("clusters", rng, 10.0 ** rng.uniform(-8, -6.5))
        d = X.shape[1]
        best = best_subset(X, y, d - 1)
        least = number(1 - ExactR2(X, y).best(d, d - 1))
        assert best.lower_bound <= least * float(y @ y) * (1 + 1e-15) + 1e-16, seed


def test_a_rank_that_rounding_leaves_open_is_beyond_precision(rng):
    X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    X[:, 2] = 3 * X[:, 0]
    best = best_subset(X, y, 3)
    assert best.status is sl.Status.BEYOND_PRECISION
    assert not best.optimal
    assert best.lower_bound == 0
    X[:, 2] = -4 * X[:, 0]
    assert best_subset(X, y, 3).status is sl.Status.RANK_EXHAUSTED


# Certificates that are lacking


def test_a_result_says_why_it_has_no_certificate_and_what_to_do():
    X, y = sl.ensembles.gaussian(60, 12, 0)
    plain = sl.best_subset(X, y, 3)
    assert plain.certificate is None
    assert "pass box=np.inf" in plain.why_no_certificate
    assert f"no certificate: {plain.why_no_certificate}" in str(plain)
    boxed = sl.best_subset(X, y, 3, box=np.inf)
    assert boxed.certificate.verify(X, y)
    assert boxed.why_no_certificate == ""
    assert "no certificate" not in str(boxed)
    gram = sl.best_subset(sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None, 3, box=np.inf)
    assert gram.certificate is None
    assert "not those of X: pass X and y" in gram.why_no_certificate
    assert "y is 0" in sl.best_subset(X, 0 * y, 3, box=np.inf).why_no_certificate
