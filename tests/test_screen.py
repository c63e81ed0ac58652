"""The screen of single picks in 16 bits: its error, and what it may not miss."""

import numpy as np
import pytest
from oracles import residual, textbook_omp
from schemes import KINDS, ORDERS, assert_same, design, only, refuse

import sparselin as sl
from sparselin import Problem, Status
from sparselin._kernels import screen as screen_kernels
from sparselin.greedy import _selection as selection
from sparselin.greedy import _single as single
from sparselin.greedy._single import Screen, Screened


@pytest.fixture
def screened(monkeypatch):
    only(monkeypatch, "screen")


@ORDERS
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 61, screen_kernels.CHUNK + 5])
def test_the_copy_errs_by_half_a_unit(kind, order, n):
    X, y = design(kind, 0, n, 90)
    X[:, 3] = 0
    X[0, 4] = 1e8
    screen = Screen(Problem(np.asarray(X, order=order), y), 1)
    unit, copy = screen.data.unit, screen.copy if X.shape == screen.copy.shape else screen.copy.T
    assert np.all(np.abs(copy * unit - X) <= (0.5 + 1e-9) * unit)
    np.testing.assert_allclose(unit * screen_kernels.LARGEST, np.abs(X).max(axis=0), rtol=1e-15)


def exact_error(screen, X, r):
    """|c_j/‖r‖ − unit_j⟨q_j, x⟩| in longer floats."""
    length = np.sqrt(r @ r)
    exact = X.astype(np.longdouble).T @ (r.astype(np.longdouble) / length)
    return np.abs(exact - screen.data.unit * screen.scores(r / length))


@ORDERS
@pytest.mark.parametrize("n", [61, 500, 2051])
def test_the_bound_holds_and_is_not_loose(order, n):
    """Entries half a unit off, and the residual that makes the errors of a column add up."""
    X, y = design("gaussian", 0, n, 40)
    unit = Screen(Problem(X, y), 1).data.unit
    X = np.asarray(unit * np.clip(np.rint(X / unit) + 0.49, -32767, 32767), order=order)
    screen = Screen(Problem(X, y), 1)
    copy = screen.copy if X.shape == screen.copy.shape else screen.copy.T
    for j in range(40):
        error = exact_error(screen, X, np.sign(X[:, j] - screen.data.unit[j] * copy[:, j]))
        assert np.all(error <= screen.data.error)
        assert error[j] > 0.3 * screen.data.error[j]


def few_large_entries(rest, a, n=20_000):
    """n/36 entries of 32767, and `rest` elsewhere; and a direction with the share a² of its square on them.

    A sum in their order is large when the small terms come, so each addition cuts off digits of them.
    """
    m = n // 36
    v, x = np.full(n, rest), np.full(n, np.sqrt((1 - a**2) / (n - m)))
    v[:m], x[:m] = 32767, a / np.sqrt(m)
    return v, x


@ORDERS
def test_the_bound_allows_for_a_long_sum_in_single_precision(order):
    v, x = few_large_entries(8.4999, 0.8)
    X = np.asarray(np.stack([v] * 8, axis=1), order=order)
    screen = Screen(Problem(X, x), 1)
    error = exact_error(screen, X, x)
    assert np.all(error <= 0.7 * screen.data.error)
    assert order == "F" or np.all(error > 0.5 * np.sqrt(len(x)) * screen.data.unit)


@ORDERS
def test_a_near_tie_that_single_precision_turns_round(order):
    """The largest correlation is the one that a long chain of roundings would take most from."""
    v, x = few_large_entries(6.4999, 0.7)
    n = len(x)
    X = np.zeros((n + 1, 10))
    X[n, 0] = 1
    X[:n, 1] = v
    X[:n, 2:4] = np.outer(x * (v @ x), [1 - 2e-5, 1 - 3e-5])
    X[:n, 4:] = 1e-3 * np.random.default_rng(0).normal(size=(n, 6))
    path = sl.omp(np.asarray(X, order=order), np.append(x, 1.0), 6, forced=[0])
    assert path.support[1] == 1
    assert path.margin[1] == pytest.approx(2e-5, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_may_err_as_far_as_its_bound(screened, monkeypatch, kind):
    """Errors of 0.99 of the bound, the worst for the picks or by chance, in place of the copy's own."""
    rng = np.random.default_rng(0)

    def scores(self, x):
        unit, exact = self.data.unit, self.data.X.T @ x
        spread = 0.99 * self.data.error * rng.choice([-1, 1], len(exact))
        if rng.random() < 0.5:  # the largest too small, all others too large
            spread = 0.99 * self.data.error * np.sign(exact)
            spread[np.argmax(np.abs(exact))] *= -1
        return np.divide(exact + spread, unit, out=np.zeros_like(unit), where=unit > 0)

    for seed in range(3):
        usual = sl.omp(*design(kind, seed), 25)
        with monkeypatch.context() as patch:
            patch.setattr(Screen, "scores", scores)
            assert_same(sl.omp(*design(kind, seed), 25), usual)


def test_more_contenders_than_are_compared(screened, monkeypatch):
    """200 columns that the copy cannot tell apart: then all correlations are computed."""
    asked, right = [], selection.Selection.correlations
    monkeypatch.setattr(selection.Selection, "correlations", lambda self: asked.append(self) or right(self))
    rng = np.random.default_rng(0)
    y, few, many = rng.normal(size=50), rng.normal(size=(50, 5)), 1e-7 * rng.normal(size=(50, 200))
    for X in (np.hstack([few, y[:, None] + many]),
              np.hstack([few + 30 * y[:, None], rng.normal(size=(50, 1)) + many])):  # fmt: skip
        asked.clear()
        assert sl.omp(X, y, 7).support.tolist() == textbook_omp(X, y, 7)
        assert asked


@pytest.mark.parametrize(("count", "apart"), [(3, 1e-4), (10, 1e-5), (40, 1e-6), (40, 1e-8)])
def test_runner_up_among_many_that_are_close(count, apart):
    """Columns within the bound of the copy: margins are those of float64."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=80)
    near = y[:, None] + apart * rng.normal(size=(80, count))
    X = np.hstack([0.1 * rng.normal(size=(80, 60)), near, near[:, :2] * 0.3])
    path = sl.omp(X, y, 6, forced=[0])  # the first unforced pick is searched by the copy
    c = np.sort(np.abs(X.T @ residual(X, y, [0])))
    assert path.support[1] == textbook_omp(X, y, 2, [0])[1]
    assert path.lam_star[1] == pytest.approx(c[-1], rel=1e-12)
    assert path.margin[1] == pytest.approx((c[-1] - c[-2]) / c[-1], abs=1e-12)


def test_what_the_factorisation_refuses_is_barred():
    X, y = design("gaussian", 0)
    X[:, 9] = X[:, 7]
    chosen, k = selection.begin(Problem(X, y), 20, (), selection.Selection)
    scheme = Screened(chosen, k, 1, False)
    chosen.record(scheme.extend(selection.Pick(7), -1.0, 1))
    assert scheme.extend(selection.Pick(9), -1.0, 1).picks == []
    chosen.exclude(9)
    assert chosen.trail.support == [7]
    assert scheme.certain_pick().feature not in (7, 9)


@pytest.mark.parametrize(("n", "d"), [(8, 12), (5, 40), (8, 8), (1, 3)])
def test_a_basis_is_never_exceeded(n, d):
    X, y = design("gaussian", 0, n, d)
    path = sl.omp(X, y, min(d, n + 4))
    assert path.status is (Status.COMPLETED if d == n else Status.EXACT_FIT)
    chosen, k = selection.begin(Problem(X, y), min(20, d), (), selection.Selection)
    scheme = Screened(chosen, k, 1, False)
    for j in range(n):
        followed = scheme.extend(selection.Pick(j), -1.0, 1)
        assert [pick.feature for pick in followed.picks] == [j]
        chosen.record(followed)
    assert d == n or scheme.extend(selection.Pick(n), -1.0, 5).picks == []
    assert chosen.qr.size == n


def test_few_picks_and_other_problems_need_no_copy(monkeypatch):
    monkeypatch.setattr(single, "Screen", refuse)
    X, y = design("walks", 0)
    for k, forced in ((single.FEWEST - 1, ()), (single.FEWEST + 1, (0, 1))):
        assert len(sl.omp(X, y, k, forced=forced).support) == k
    sl.ols(X, y, 9)
    sl.omp(X.astype(np.float32), y, 9)
    with pytest.raises(AssertionError, match="not this scheme"):
        sl.omp(X, y, single.FEWEST)


@ORDERS
def test_passes_are_shared_as_long_as_that_makes_them_faster(monkeypatch, order):
    X, y = design("gaussian", 0)
    screen = Screen(Problem(np.asarray(X, order=order), y), 3)
    times = iter([0, 1, 0, 2, 0, 0.5, 0, 0.5, 0, 2, 0, 0.5])  # alone; waking, twice together, late; alone
    monkeypatch.setattr(single.time, "perf_counter", lambda: next(times))
    threads, scores = [], []
    for _ in range(6):
        threads.append(screen._threads)
        scores.append(screen.scores(y))
    assert threads == [1, 3, 3, 3, 3, 1]
    assert all(np.array_equal(score, scores[0]) for score in scores)
