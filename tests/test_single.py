"""The screen in 16 bits: it may err as far as its bound says, and no pick changes."""

import tracemalloc
import warnings

import numpy as np
import pytest
from oracles import residual, textbook_omp

import sparselin as sl
from sparselin import Problem, Status
from sparselin._kernels import screen as kernels
from sparselin.ensembles import random_walk
from sparselin.greedy import _blocks as blocks
from sparselin.greedy import _pursuit as pursuit
from sparselin.greedy import _selection as selection
from sparselin.greedy import _single as single
from sparselin.greedy._blocks import Blocks
from sparselin.greedy._single import Screen, Screened

KINDS = ["gaussian", "walks", "lengths", "heavy tails", "signs", "one-hot"]


def design(kind, seed, n=61, d=250):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if kind == "walks":
        X = X.cumsum(axis=seed % 2)
    elif kind == "lengths":
        X *= np.exp(9 * rng.normal(size=d))
    elif kind == "heavy tails":
        X = rng.standard_cauchy(size=(n, d))
    elif kind == "signs":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "one-hot":
        X[:, : d // 2] = 0
        X[rng.integers(0, n, d // 2), np.arange(d // 2)] = 3
    return X, y


def only_single(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a block")

    monkeypatch.setattr(pursuit, "SMALL", np.inf)
    monkeypatch.setattr(Blocks, "follow", refuse)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_the_textbook_ones(monkeypatch, kind, order):
    only_single(monkeypatch)
    for seed in range(4):
        X, y = design(kind, seed)
        X = np.asarray(X, order=order)
        path = sl.omp(X, y, 30)
        clear = [len(tied) == 1 for tied in path.ties]
        if all(clear):
            assert path.support.tolist() == textbook_omp(X, y, 30)
        for t in range(len(path.support)):
            r = residual(X, y, path.support[:t])
            c = np.abs(X.T @ r)
            c[path.support[:t]] = 0
            assert path.lam_star[t] == pytest.approx(c.max(), rel=1e-9)
            assert c[path.support[t]] == pytest.approx(c.max(), rel=1e-9)
            assert path.residual_norm[t] == pytest.approx(np.linalg.norm(r), rel=1e-10)
            if clear[t]:
                second = np.partition(c, -2)[-2]
                assert path.margin[t] == pytest.approx((c.max() - second) / c.max(), abs=1e-9)
        coef = np.linalg.lstsq(X[:, path.support], y, rcond=None)[0]
        np.testing.assert_allclose(path.coef, coef, rtol=1e-7, atol=1e-10 * np.abs(coef).max())
    assert path.status is Status.COMPLETED


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 61, kernels.CHUNK + 5])
def test_the_copy_errs_by_half_a_unit(kind, order, n):
    for seed in range(3):
        X, y = design(kind, seed, n, 90)
        X[:, 3] = 0
        X[0, 4] = 1e8
        screen = Screen(Problem(np.asarray(X, order=order), y), 1)
        unit, copy = screen.data.unit, screen.copy if X.shape == screen.copy.shape else screen.copy.T
        assert np.all(np.abs(copy * unit - X) <= (0.5 + 1e-9) * unit)
        np.testing.assert_allclose(unit * kernels.LARGEST, np.abs(X).max(axis=0), rtol=1e-15)


def exact_error(screen, X, r):
    """|c_j/‖r‖ − unit_j⟨q_j, x⟩| in longer floats."""
    length = np.sqrt(r @ r)
    exact = X.astype(np.longdouble).T @ (r.astype(np.longdouble) / length)
    return np.abs(exact - screen.data.unit * screen.scores(r / length))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [61, 500, 2051])
def test_the_bound_holds_and_is_not_loose(order, n):
    """Entries half a unit off, and the residual that makes the errors of a column add up."""
    X, y = design("gaussian", 0, n, 40)
    unit = Screen(Problem(X, y), 1).data.unit
    X = np.asarray(unit * np.clip(np.rint(X / unit) + 0.49, -32767, 32767), order=order)
    screen, shares = Screen(Problem(X, y), 1), []
    copy = screen.copy if X.shape == screen.copy.shape else screen.copy.T
    for j in range(40):
        error = exact_error(screen, X, np.sign(X[:, j] - screen.data.unit[j] * copy[:, j]))
        assert np.all(error <= screen.data.error)
        shares.append(float(error[j] / screen.data.error[j]))
    assert min(shares) > 0.3


def few_large_entries(n, rest, a):
    """n/36 entries of 32767, and `rest` elsewhere; and a direction with the share a² of its square on them.

    A sum in their order is large when the small terms come.
    """
    m = n // 36
    v, x = np.full(n, rest), np.full(n, np.sqrt((1 - a**2) / (n - m)))
    v[:m], x[:m] = 32767, a / np.sqrt(m)
    return v, x


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_bound_allows_for_a_long_sum_in_single_precision(order):
    """20,000 small terms after a few large ones, of which each addition cuts off some."""
    n = 20_000
    v, x = few_large_entries(n, 8.4999, 0.8)
    X = np.asarray(np.stack([v] * 8, axis=1), order=order)
    screen = Screen(Problem(X, x), 1)
    error = exact_error(screen, X, x)
    assert np.all(error <= 0.7 * screen.data.error)
    if order == "C":
        assert np.all(error > 0.5 * np.sqrt(n) * screen.data.unit)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_near_tie_that_single_precision_turns_round(order):
    """The largest correlation is the one that a long chain of roundings would take most from."""
    n = 20_000
    v, x = few_large_entries(n, 6.4999, 0.7)
    X = np.zeros((n + 1, 10))
    X[n, 0] = 1
    X[:n, 1] = v
    X[:n, 2:4] = np.outer(x * (v @ x), [1 - 2e-5, 1 - 3e-5])
    X[:n, 4:] = 1e-3 * np.random.default_rng(0).normal(size=(n, 6))
    path = sl.omp(np.asarray(X, order=order), np.append(x, 1.0), 6, forced=[0])
    assert path.support[1] == 1
    assert path.margin[1] == pytest.approx(2e-5, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_may_err_as_far_as_its_bound(monkeypatch, kind):
    """Errors of 0.99 of the bound, the worst for the picks or by chance, in place of the copy's own."""
    only_single(monkeypatch)
    rng = np.random.default_rng(0)

    def scores(self, x):
        _, unit, _, blur, _ = self.data
        exact = self.data.X.T @ x
        spread = blur * rng.choice([-0.99, 0.99], len(exact))
        if rng.random() < 0.5:  # the largest too small, all others too large
            spread = 0.99 * blur * np.sign(exact)
            spread[np.argmax(np.abs(exact))] *= -1
        return np.divide(exact + spread, unit, out=np.zeros_like(unit), where=unit > 0)

    for seed in range(3):
        X, y = design(kind, seed)
        usual = sl.omp(X, y, 25)
        with monkeypatch.context() as patch:
            patch.setattr(Screen, "scores", scores)
            path = sl.omp(X, y, 25)
        assert path.support.tolist() == usual.support.tolist()
        assert path.ties == usual.ties
        np.testing.assert_allclose(path.lam_star, usual.lam_star, rtol=1e-12)
        np.testing.assert_allclose(path.margin, usual.margin, atol=1e-12)


def test_more_contenders_than_are_compared(monkeypatch):
    """200 columns that the copy cannot tell apart: then all correlations are computed."""
    only_single(monkeypatch)
    asked = []
    right = selection.Selection.correlations
    monkeypatch.setattr(
        selection.Selection, "correlations", lambda self: asked.append(len(self.picks)) or right(self)
    )
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    X = np.hstack([rng.normal(size=(50, 5)), y[:, None] + 1e-7 * rng.normal(size=(50, 200))])
    path = sl.omp(X, y, 6)
    assert path.support.tolist() == textbook_omp(X, y, 6)
    X = np.hstack([X[:, :5] + 30 * y[:, None], rng.normal(size=(50, 1)) + 1e-7 * rng.normal(size=(50, 200))])
    path = sl.omp(X, y, 7)
    assert path.support.tolist() == textbook_omp(X, y, 7)
    assert max(asked) > 0


def test_runner_up_among_many_that_are_close():
    """3 to 40 columns within the bound of the copy: margins are those of float64."""
    rng = np.random.default_rng(3)
    for count, apart in ((3, 1e-4), (10, 1e-5), (40, 1e-6), (40, 1e-8)):
        y = rng.normal(size=80)
        near = y[:, None] + apart * rng.normal(size=(80, count))
        X = np.hstack([0.1 * rng.normal(size=(80, 60)), near, near[:, :2] * 0.3])
        path = sl.omp(X, y, 6, forced=[0])  # the first unforced pick is searched by the copy
        c = np.sort(np.abs(X.T @ residual(X, y, [0])))
        assert path.support[1] == textbook_omp(X, y, 2, [0])[1]
        assert path.lam_star[1] == pytest.approx(c[-1], rel=1e-12)
        assert path.margin[1] == pytest.approx((c[-1] - c[-2]) / c[-1], abs=1e-12)


def test_ties_are_left_to_the_rule(monkeypatch):
    """±copies of every column: each pick is a tie, which is listed and goes to the lowest."""
    only_single(monkeypatch)
    rng = np.random.default_rng(5)
    half, y = rng.normal(size=(40, 100)), rng.normal(size=40)
    path = sl.omp(np.hstack([half, -half]), y, 20)
    assert path.support.tolist() == textbook_omp(half, y, 20)
    assert path.ties == tuple((i, i + 100) for i in path.support)
    assert np.all(path.margin == 0)


def test_a_long_column_ties_past_the_runner_up():
    """y has such a share of S, nearly dependent, that c_j errs by 2e-6·‖X_j‖: the third may be first."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(60, 20)))[0].T
    u, w, v, others = Q[0], Q[1], Q[2], Q[3:]
    X = np.array([u, u + 1e-9 * w, v, 0.9 * v, 0.7 * v, *(0.1 * v + 0.01 * others[3:])]).T
    X[:, 2:5] += others[:3].T * np.array([1, 1, 200])
    path = sl.omp(X, w + 1e-3 * v, 8, forced=[0, 1])
    assert path.ties[2] == (2, 4)
    assert path.support[2] == 2
    # what has no share of w is not concerned by how nearly S is dependent
    assert sl.omp(X, u + 1e-3 * v, 8, forced=[0, 1]).ties[2] == (2,)


@pytest.mark.parametrize(("gap", "tied"), [(1.5, (2, 3)), (2.5, (2,))])
def test_both_that_are_compared_may_err(gap, tied):
    """S as above, and columns of unit length: a tie until |c| differs by twice the error of each."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(60, 20)))[0].T
    u, w, v, others = Q[0], Q[1], Q[2], Q[3:]
    S = np.array([u, u + 1e-9 * w]).T
    kappa = np.linalg.norm(np.linalg.inv(np.linalg.qr(S)[1]))
    apart = gap * 8 * np.finfo(float).eps * kappa / 1e-3
    shares = np.array([0.8, 0.8 * (1 - apart / 0.8)])
    pair = shares[:, None] * v + np.sqrt(1 - shares[:, None] ** 2) * others[:2]
    X = np.vstack([S.T, pair, 0.1 * v + 0.01 * others[3:]]).T
    assert sl.omp(X, w + 1e-3 * v, 8, forced=[0, 1]).ties[2] == tied


def test_what_the_factorisation_refuses_is_barred():
    X, y = design("gaussian", 0)
    X[:, 9] = X[:, 7]
    chosen, k, _ = selection.begin(Problem(X, y), 20, None, ())
    scheme = Screened(chosen, k, 1, False)
    chosen.record(scheme.follow(selection.Pick(7), -1.0, 1))
    assert scheme.follow(selection.Pick(9), -1.0, 1).picks == []
    chosen.exclude(9)
    assert chosen.support == [7]
    assert scheme.certain_pick().feature not in (7, 9)


@pytest.mark.parametrize("callback", [None, lambda path: False])
@pytest.mark.parametrize("scheme", [Blocks, Screened])
def test_a_rule_that_insists_on_a_column_in_the_span_ends_the_path(monkeypatch, scheme, callback):
    monkeypatch.setattr(pursuit, "SMALL", 0 if scheme is Blocks else np.inf)
    monkeypatch.setattr(scheme, "certain_pick", lambda self: None)
    monkeypatch.setattr(Blocks, "efficient", True)
    X, y = design("gaussian", 0)
    X[:, 9] = X[:, 7]
    for wanted in (9, 7):  # in the span of S, and in S
        path = pursuit.pursue(
            Problem(X[:, :100], y),
            20,
            lambda chosen, j=wanted: selection.Pick(j),
            forced=[7],
            callback=callback,
        )
        assert path.support.tolist() == [7]
        assert path.status is Status.BEYOND_PRECISION


@pytest.mark.parametrize("method", ["lasso", "omp"])
def test_near_copies_in_float32_that_the_rule_proposes_again(method):
    """What is barred came back as the first of the guesses, where it was no candidate."""
    X = [[-1.381953477859497, -1.3819531202316284, -1.3819530010223389],
         [-1.7292734384536743, -1.7292680740356445, -1.729267954826355],
         [0.42187806963920593, 0.42187732458114624, 0.4218772053718567]]  # fmt: skip
    y = [0.9492835402488708, -0.789469838142395, 2.1171765327453613]
    path = sl.sequential_lasso(np.array(X, np.float32), np.array(y, np.float32), 3, method=method, forced=[0])
    assert path.support.tolist()[0] == 0
    assert path.status in (Status.BEYOND_PRECISION, Status.RANK_EXHAUSTED, Status.NO_CORRELATION)


@pytest.mark.parametrize("small", [0, np.inf])
def test_extreme_lengths_warn_of_nothing(monkeypatch, small):
    monkeypatch.setattr(pursuit, "SMALL", small)
    X, y = design("gaussian", 0)
    for method in (sl.omp, sl.ols):
        usual = method(X, y, 8).support.tolist()
        for scale in (2.0**140, 2.0**-150, 2.0**400, 2.0**-400):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert method(X * scale, y, 8).support.tolist() == usual
                assert method(X * scale, y / scale, 8).support.tolist() == usual


def test_a_basis_is_never_exceeded():
    rng = np.random.default_rng(0)
    for n, d in ((8, 12), (5, 40), (8, 8), (1, 3)):
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
        path = sl.omp(X, y, min(d, n + 4))
        assert path.status is (Status.COMPLETED if d == n else Status.EXACT_FIT)
        chosen, k, _ = selection.begin(Problem(X, y), min(20, d), None, ())
        scheme = Screened(chosen, k, 1, False)
        for j in range(n):
            followed = scheme.follow(selection.Pick(j), -1.0, 1)
            assert [pick.feature for pick in followed.picks] == [j]
            chosen.record(followed)
        assert chosen.qr.size == n
        assert d == n or scheme.follow(selection.Pick(n), -1.0, 5).picks == []
        assert chosen.qr.size == n


def test_runs_of_any_length_agree(monkeypatch):
    only_single(monkeypatch)
    for kind in KINDS[:4]:
        X, y = design(kind, 1)
        whole = sl.omp(X, y, 30)
        with monkeypatch.context() as patch:
            patch.setattr(single, "_RUN", 3)
            pieces = sl.omp(X, y, 30)
        singly = sl.omp(X, y, 30, callback=lambda path: False)
        for path in (pieces, singly):
            assert path.support.tolist() == whole.support.tolist()
            assert path.ties == whole.ties
            for name in ("coef_path", "lam_star", "margin", "residual_norm"):
                np.testing.assert_allclose(getattr(path, name), getattr(whole, name), rtol=1e-9, atol=1e-9)


METHODS = {
    "omp": sl.omp,
    "by omp": lambda X, y, k, **options: sl.sequential_lasso(X, y, k, method="omp", **options),
    "lasso": sl.sequential_lasso,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("forced", [(), (3, 1)])
def test_blocks_give_way_to_single_picks(monkeypatch, method, forced):
    taken = []
    for scheme in (Blocks, Screened):
        right = scheme.follow
        monkeypatch.setattr(
            scheme,
            "follow",
            lambda self, *arguments, right=right: taken.append(type(self)) or right(self, *arguments),
        )
    monkeypatch.setattr(pursuit, "SMALL", 0)
    for seed in (0, 2, 4):
        X, y = design("walks", seed, 400, 600)
        taken.clear()
        path = METHODS[method](X, y, 30, forced=forced)
        assert taken[0] is Blocks
        assert taken[-1] is Screened
        assert path.support.tolist() == textbook_omp(X, y, 30, forced)
        assert path.residual_norm[-1] == pytest.approx(
            np.linalg.norm(residual(X, y, path.support)), rel=1e-10
        )
        if method != "omp":
            chosen, sets = path.support.tolist(), path.active_sets
            assert sets == ((),) * len(forced) + tuple((i,) for i in chosen[len(forced) :])


def test_blocks_stay_where_guesses_are_right(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a single pick")

    monkeypatch.setattr(pursuit, "SMALL", 0)
    monkeypatch.setattr(Screened, "follow", refuse)
    for seed in range(3):
        X, y = design("gaussian", seed, 1000, 2000)
        assert len(sl.omp(X, y, 40).support) == 40


def test_few_picks_and_other_problems_need_no_copy(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a copy")

    monkeypatch.setattr(single, "Screen", refuse)
    X, y = design("walks", 0)
    assert len(sl.omp(X, y, single.FEWEST - 1).support) == single.FEWEST - 1
    assert len(sl.omp(X, y, single.FEWEST + 1, forced=(0, 1)).support) == single.FEWEST + 1
    sl.ols(X, y, 9)
    sl.omp(X.astype(np.float32), y, 9)
    with pytest.raises(AssertionError, match="a copy"):
        sl.omp(X, y, single.FEWEST)


def test_the_copy_is_all_that_is_added(monkeypatch):
    """Winners wander from the first step: blocks give way, and their room is given back before."""
    data = random_walk(800, 8000, 0)
    X, y = data[:2]
    sl.omp(X, y, 80)
    for at_once in (0, np.inf):
        monkeypatch.setattr(pursuit, "SMALL", at_once)
        tracemalloc.start()
        sl.omp(X, y, 80)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 0.3 * X.nbytes


def test_blocks_pay_by_the_picks_that_they_hold(monkeypatch):
    X, y = design("walks", 0)
    chosen, k, _ = selection.begin(Problem(X, y), 20, None, ())
    scheme = Blocks(chosen, k, 1, None, False, False)
    assert scheme.efficient
    scheme._blocks = 2
    assert not scheme.efficient
    monkeypatch.setattr(blocks, "_PICKS_A_BLOCK", 0)
    assert scheme.efficient


@pytest.mark.parametrize("order", ["C", "F"])
def test_passes_are_shared_as_long_as_that_makes_them_faster(monkeypatch, order):
    X, y = design("gaussian", 0, 61, 250)
    screen = Screen(Problem(np.asarray(X, order=order), y), 3)
    times = iter([0, 1, 0, 2, 0, 0.5, 0, 0.5, 0, 2, 0, 0.5])  # alone; waking, twice together, late; alone
    monkeypatch.setattr(single.time, "perf_counter", lambda: next(times))
    threads, scores = [], []
    for _ in range(6):
        threads.append(screen._threads)
        scores.append(screen.scores(y))
    assert threads == [1, 3, 3, 3, 3, 1]
    assert all(np.array_equal(score, scores[0]) for score in scores)
