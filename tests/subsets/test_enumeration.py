"""The comparison of all sets of many columns, against exact arithmetic and the depth-first search."""

import itertools
import pickle

import numpy as np
import pytest
from exact_r2 import FAMILIES, ExactR2, nearly_dependent, number
from refusals import interrupt

import sparselin as sl
from sparselin._kernels import triples as kernels
from sparselin.parallel import threads
from sparselin.problem.errors import eps_of
from sparselin.subsets import _enumeration
from sparselin.subsets import best_subset as module
from sparselin.subsets import dependence as _dependence
from sparselin.subsets._depth_first import DepthFirst

TIE = 1e-9  # of ‖y‖²


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """All problems with n ≤ d are enumerated, in tiles of few columns."""
    monkeypatch.setattr(module, "_MANY", 0)
    monkeypatch.setattr(_enumeration, "_PANEL", 110)
    monkeypatch.setattr(_enumeration, "_ROWS", 6)
    monkeypatch.setattr(_enumeration, "_WIDTH", 7)


@pytest.fixture
def cold(monkeypatch):
    monkeypatch.setattr("sparselin.greedy.incumbents._starts", lambda X, y, k, forced: iter(()))


def exact_least(X, y, k, intercept, forced=()):
    """The least ‖P_S^⊥y‖² over S ∪ forced in rationals."""
    d = X.shape[1]
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    r2, fixed = ExactR2(A, y), (*forced, *range(d, A.shape[1]))
    rest = [j for j in range(d) if j not in forced]
    sets = itertools.combinations(rest, min(k - len(forced), len(rest)))
    return float(y @ y) * number(1 - max(r2((*fixed, *S)) for S in sets))


def judge(X, y, k, intercept, forced=()):
    """The result is optimal, or a set with the direction of rounding errors is better and gives the bound."""
    found = sl.best_subset(X, y, k, intercept=intercept, forced=forced)
    least, size = exact_least(X, y, k, intercept, forced), float(y @ y)
    assert found.lower_bound <= least + 1e-12 * size
    if found.optimal:
        assert found.residual <= least + TIE * size
    else:
        assert found.lower_bound >= least - 1e-4 * size
    return found.optimal


@pytest.mark.parametrize("family", FAMILIES)
def test_nearly_dependent_columns_in_rationals(family, cold):
    optimal = []
    for seed in range(40):
        rng = np.random.default_rng([seed, FAMILIES.index(family)])
        X, y = nearly_dependent(family, rng)
        n = int(rng.integers(2, X.shape[1] + 1))
        k = int(rng.integers(1, min(X.shape[1], 5) + 1))
        forced = rng.permutation(X.shape[1])[: int(rng.integers(0, min(3, k + 1)))]
        optimal.append(judge(X[:n], y[:n], k, bool(seed % 2), forced.tolist()))
    assert sum(optimal) >= 25


def sums(rng, n, d):
    """Columns u, v, u + v, u − v, and copies that differ by rounding."""
    X = rng.uniform(1, 3, (n, d))
    X[:, 2], X[:, 3] = X[:, 0] + X[:, 1], X[:, 0] - X[:, 1]
    X[:, 4], X[:, 5] = X[:, 0] * X[:, 1] * X[:, 6], X[:, 6] * X[:, 1] * X[:, 0]
    return X[:, rng.permutation(d)]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_sums_and_rounded_copies_are_decided(k, cold):
    optimal = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, k])
        X = sums(rng, 14, 15)
        y = X @ rng.standard_normal(15) + rng.standard_normal(14)
        optimal += judge(X, y, k, bool(seed % 2))
        judge(X[:7], y[:7], k, bool(seed % 2))
    assert optimal >= 11


def test_the_direction_of_rounding_errors_is_no_proof(cold):
    """y is the direction in which fl(a + b) leaves the span of a and b: the best set cannot be computed."""
    rng = np.random.default_rng(5)
    X = rng.uniform(1, 3, (8, 10))
    X[:, 2] = X[:, 0] + X[:, 1]
    e = _dependence.exact_residual(X[:, :2], X[:, 2])
    y = e / np.linalg.norm(e) + 1e-3 * rng.standard_normal(8)
    found = sl.best_subset(X, y, 3)
    assert found.status is sl.Status.BEYOND_PRECISION
    assert not found.optimal
    least = exact_least(X, y, 3, False)
    assert least < found.residual / 10
    assert found.lower_bound == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("gap", [1e-4, 1e-6, 1e-8, 1e-11])
def test_a_nearly_equal_pair_is_found(gap, cold):
    """y lies along the difference of two columns, and a third column."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 40))
    X[:, 31] = X[:, 7] + gap * rng.standard_normal(20)
    y = (X[:, 31] - X[:, 7]) / gap + 2 * X[:, 12] + 0.1 * rng.standard_normal(20)
    found = sl.best_subset(X, y, 3)
    assert sorted(found.support.tolist()) == [7, 12, 31]
    assert found.optimal == (gap > 1e-10)
    assert found.lower_bound <= exact_least(X[:, [7, 12, 31]], y, 3, False) * (1 + 1e-9)


@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"standardize": True}, {"sample_weight": 1}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_depth_first_search(options, dtype, monkeypatch):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((25, 30)).astype(dtype), rng.standard_normal(25).astype(dtype)
        if "sample_weight" in options:
            options = {"sample_weight": rng.uniform(0.5, 2, 25)}
        k = int(rng.integers(1, 5))
        forced = rng.permutation(30)[: int(rng.integers(0, k + 1))].tolist()
        found = sl.best_subset(X, y, k, forced=forced, **options)
        with monkeypatch.context() as patch:
            patch.setattr(module, "Enumeration", DepthFirst)
            other = sl.best_subset(X, y, k, forced=forced, **options)
        assert found.optimal
        assert other.optimal
        assert sorted(found.support.tolist()) == sorted(other.support.tolist())
        np.testing.assert_allclose(found.coef, other.coef, rtol=1e-4 if dtype == np.float32 else 1e-9)
        assert found.lower_bound == pytest.approx(other.lower_bound, rel=1e-8)


@pytest.mark.parametrize(("k", "d"), [(1, 9), (2, 20), (3, 4), (3, 20), (4, 5), (4, 12), (5, 9)])
def test_each_set_is_compared_once(k, d, monkeypatch, rng):
    """Every set is reported if the best set is to be improved by less than nothing."""
    compared, compare = [], _enumeration.kernels.compare
    monkeypatch.setattr(_enumeration.Enumeration, "_goal", lambda self, level: -1.0)

    def note(data, best, sets):
        compared.extend(map(frozenset, sets.tolist()))
        return compare(data, best, sets)

    monkeypatch.setattr(_enumeration.kernels, "compare", note)
    n = min(d, 8)
    assert sl.best_subset(rng.standard_normal((n, d)), rng.standard_normal(n), k).optimal
    sizes = range(min(2, k), k + 1)
    expected = [frozenset(S) for size in sizes for S in itertools.combinations(range(d), size)]
    assert len(compared) == len(expected)
    assert set(compared) == set(expected)


@pytest.mark.parametrize("forced", [[0, 1], [2, 0, 1]])
def test_forced_columns_that_are_equal_to_rounding(forced, cold):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((7, 8)), rng.standard_normal(7)
        X[:, 1] = X[:, 0] * 3.3
        for k in range(len(forced), 6):
            judge(X, y, k, bool(seed % 2), forced)


def test_equal_columns_before_the_last_three(cold):
    """The first pair of five columns differs by rounding, in a direction that y has."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((9, 10))
        X[:, 1] = X[:, 0] * (1 + 2.0**-52 * rng.integers(0, 2, 9))
        e = _dependence.exact_residual(X[:, :1], X[:, 1])
        y = 6 * X[:, 0] + e / np.linalg.norm(e) + 0.3 * (X[:, 4] - X[:, 6] + 0.7 * X[:, 8])
        judge(X, y + 0.01 * rng.standard_normal(9), 5, False)


@pytest.mark.parametrize("gap", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("forced", [[], [0]])
def test_weights_and_a_nearly_equal_pair(gap, forced, cold):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, E = rng.standard_normal((10, 12)), rng.standard_normal(10)
        X[:, 1], weight = X[:, 0] + gap * E, rng.uniform(0.5, 2, 10)
        y = 4 * E + X[:, 5] + 0.1 * rng.standard_normal(10)
        found = sl.best_subset(X, y, 3, forced=forced, sample_weight=weight)
        root = np.sqrt(weight)
        least = exact_least(X * root[:, None], y * root, 3, False, forced)
        assert found.lower_bound <= least * (1 + 1e-3)
        assert found.optimal == (gap > 1e-10 or bool(forced)) or found.status is sl.Status.BEYOND_PRECISION
        if gap == 1e-5:
            assert found.optimal


def test_a_response_near_the_forced_column_reports_few_sets(cold, monkeypatch, rng):
    reported = []
    monkeypatch.setattr(
        _enumeration, "triples", lambda *given: reported.append(kernels.triples(*given)) or reported[-1]
    )
    X = np.column_stack([np.ones(50), rng.standard_normal((50, 60))])
    assert sl.best_subset(X, 3e5 + rng.standard_normal(50), 4, forced=[0]).optimal
    assert sum(reported) < 1000


def test_a_flood_of_equal_sets_proves_nothing(cold, monkeypatch, rng):
    """All columns are in a space of three dimensions, so that all sets of three are equal."""
    monkeypatch.setattr(_enumeration, "_FLOOD", 10)
    X = rng.standard_normal((9, 3)) @ rng.standard_normal((3, 30))
    found = sl.best_subset(X, rng.standard_normal(9), 3)
    assert (found.status, found.lower_bound) == (sl.Status.BEYOND_PRECISION, 0)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_an_exact_fit_at_the_start_is_the_best_and_unique(k, rng):
    X = rng.standard_normal((25, 30))
    found = sl.best_subset(X, X[:, 3 : 3 + k] @ np.arange(1, k + 1), k)
    assert (found.unique, found.optimal, sorted(found.support.tolist())) == (True, True, [*range(3, 3 + k)])


def test_columns_with_a_range_beyond_the_floats(cold, rng):
    """Their integers have more than 1,024 bits, so that only quotients of shifted integers are floats."""
    X = np.exp(-rng.uniform(0, 700, (12, 14)))
    X[0], X[1] = 1.0, 1e-305
    X[:, 2], X[:, 4] = X[:, 0] + X[:, 1], X[:, 3] * 3.3
    e = _dependence.exact_residual(X[:, :2], X[:, 2])
    assert np.isfinite(e).all()
    judge(X, rng.standard_normal(12), 3, False)


def test_weights_leave_sums_open(cold, rng):
    """The products with √weight are rounded, so that a + b is no longer the sum of the columns."""
    X = sums(rng, 14, 15)
    found = sl.best_subset(X, rng.standard_normal(14), 3, sample_weight=rng.uniform(0.5, 2, 14))
    assert (found.status, found.lower_bound) == (sl.Status.BEYOND_PRECISION, 0)


def test_a_search_goes_on_where_it_stopped(cold, monkeypatch, rng):
    X, y = rng.standard_normal((15, 25)), rng.standard_normal(15)
    whole = sl.best_subset(X, y, 4)
    part = sl.best_subset(X, y, 4, node_limit=0)
    steps = 0
    while not part.optimal:
        assert part.lower_bound == 0
        assert part.status is sl.Status.MAX_ITER
        part = sl.resume_subset(pickle.loads(pickle.dumps(part)), node_limit=1 + part.nodes % 7)
        steps += 1
    assert steps > 20
    assert part.nodes == whole.nodes
    assert part.support.tolist() == whole.support.tolist()
    assert part.lower_bound == whole.lower_bound

    monkeypatch.setattr(_enumeration.Enumeration, "_compare_tile", interrupt)
    stopped = sl.best_subset(X, y, 3)
    assert stopped.status is sl.Status.STOPPED
    monkeypatch.undo()
    assert sl.resume_subset(stopped).optimal


def test_threads_change_nothing(monkeypatch, rng):
    X, y = sums(rng, 40, 60), rng.standard_normal(40)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(
            _enumeration,
            "spread_chunks",
            lambda task, size, chunk, _, c=count: threads.spread_chunks(task, size, chunk, c),
        )
        best = sl.best_subset(X, y, 3, intercept=True)
        found.append((best.support.tolist(), best.coef.tobytes(), best.lower_bound, best.nodes, best.moves))
    assert found[0] == found[1] == found[2]


def test_the_kernel_reports_each_better_set_once(rng):
    n, d = 12, 23
    Z = rng.standard_normal((d, n))
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    Z[0], y = 0, rng.standard_normal(n)
    y /= np.linalg.norm(y)
    Z[9] = Z[8] + 1e-4 * Z[9]
    Z[9] /= np.linalg.norm(Z[9])
    gains = {}
    for S in itertools.combinations(range(1, d), 3):
        Q = np.linalg.qr(Z[list(S)].T)[0]
        gains[S] = np.sum((Q.T @ y) ** 2)
    need = np.median(list(gains.values()))
    reported = []
    for i0, j0, l0 in itertools.product(range(1, d, 5), range(1, d, 6), range(1, d, 7)):
        out = np.empty((3, 3), np.intp)
        I, J, L = (slice(a, min(a + width, d)) for a, width in ((i0, 5), (j0, 6), (l0, 7)))
        data = Z[J] @ Z[L].T, Z[I] @ Z.T, Z @ y, np.full(d, 1e-15), (i0, j0, l0), need
        count = kernels.triples(*data, out)
        reported += map(tuple, out[:count].tolist())
        if count > 3:
            whole = np.empty((count, 3), np.intp)
            assert kernels.triples(*data, whole) == count
            assert whole[:3].tolist() == out.tolist()
            reported[-3:] = map(tuple, whole.tolist())
    assert sorted(reported) == sorted(S for S, gain in gains.items() if gain > need)


def test_the_bound_on_residuals_of_nearly_dependent_columns(rng):
    """The bound is below the exact residual, and near it where the longest float is longer than float64."""
    X, y = rng.uniform(0.1, 0.2, (30, 40)), rng.standard_normal(30)
    y /= 2 * np.linalg.norm(y)
    A = np.stack([X[:, [2 * i, 2 * i + 1]] for i in range(20)])
    b = A @ [0.5, 0.25]
    b[10:] *= 1 + 1e-9 * rng.standard_normal((10, 30))
    least = _dependence.least_residuals(A, b, y)
    for i in range(20):
        e = _dependence.exact_residual(A[i], b[i])
        r = _dependence.exact_residual(A[i], y)
        exact = r @ r - (e @ r) ** 2 / (e @ e)
        assert 0 <= least[i] <= exact * (1 + 1e-12)
        if eps_of(np.longdouble) < 1e-18:
            assert least[i] > 0.8 * exact
