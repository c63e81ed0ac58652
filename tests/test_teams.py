"""Threads that join in the passes of single steps: whatever they do, or leave undone, changes no bit."""

import random
import threading
import time

import numpy as np
import pytest

import sparselin as sl
from sparselin import Problem
from sparselin._kernels import steps as kernels
from sparselin.greedy import _selection as selection
from sparselin.greedy import _steps as steps
from sparselin.greedy._steps import Steps
from sparselin.parallel import threads

THREADS, PIECES = 3, 12


def a_pass(n=200, d=77, threads=THREADS, pieces=PIECES):
    """A design with r/‖r‖ in place, a team for it, and the sums of each piece and of all."""
    rng = np.random.default_rng(n)
    screen = steps._screen(Problem(rng.normal(size=(n, d)), rng.normal(size=n)), 1, pieces)
    kernels._normalize(rng.normal(size=n), screen.x)
    team = steps._team(screen, threads, pieces)
    cuts = [n * c // pieces for c in range(pieces + 1)]
    parts = np.zeros((pieces, d), np.float32)
    for c in range(pieces):
        kernels._sum_rows(screen.copy[cuts[c] : cuts[c + 1]], screen.x[cuts[c] : cuts[c + 1]], parts[c])
    whole = np.zeros(d, np.float32)
    for part in parts:
        whole += part
    return screen, team, parts, whole


def run(screen, team):
    kernels._screen(screen.copy, screen.x, screen.z, team)
    return screen.z


@pytest.mark.parametrize("n", [5, 12, 200])  # fewer rows than pieces, as many, and more
def test_nobody_comes(n):
    screen, team, _, whole = a_pass(n)
    for _ in range(2):
        team.sums[:] = np.nan
        np.testing.assert_array_equal(run(screen, team), whole)
    assert team.now[0] == 2
    assert np.all(team.done == 2 * THREADS)
    exact = screen.copy.T.astype(float) @ screen.x
    np.testing.assert_allclose(whole, exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())


def test_pieces_begun_and_never_finished():
    screen, team, _, whole = a_pass()
    team.sums[:] = np.nan
    team.begun[[0, 4, 11]] = 1
    np.testing.assert_array_equal(run(screen, team), whole)
    assert np.all(team.sums[1:] != team.sums[1:])  # in the sums of its own


def test_pieces_that_others_have_finished():
    screen, team, parts, whole = a_pass()
    team.begun[[0, 4, 11]] = 1
    team.done[[0, 4, 11]] = THREADS + np.array([1, 2, 1])
    team.sums[:] = np.nan
    for c, owner in ((0, 1), (4, 2), (11, 1)):
        team.sums[owner, c] = 64 * parts[c]
    expected = np.zeros_like(whole)
    for c in range(PIECES):
        expected += parts[c] * np.float32(64 if c in (0, 4, 11) else 1)
    np.testing.assert_array_equal(run(screen, team), expected)


@pytest.mark.parametrize("now", [0, 2])
def test_pieces_of_another_pass(now):
    """Finished too late, for the pass before, or noted by nobody that could be there yet."""
    screen, team, _, whole = a_pass()
    team.begun[[0, 4, 11]] = 1
    team.done[[0, 4, 11]] = now * THREADS + np.array([1, 2, 0])
    team.sums[:] = np.nan
    np.testing.assert_array_equal(run(screen, team), whole)


def test_who_helps_does_a_pass_from_a_share_of_its_own_on_and_returns_when_told():
    screen, team, parts, _ = a_pass()
    team.sums[:] = np.nan
    team.now[0] = 7
    team.begun[[2, 5]] = 7
    helper = threading.Thread(target=kernels.help_out, args=(screen.copy, screen.x, team, 1))
    helper.start()
    try:
        others = np.setdiff1d(np.arange(PIECES), [2, 5])
        until = time.monotonic() + 60
        while np.any(team.done[others] != 7 * THREADS + 1) and time.monotonic() < until:
            time.sleep(0.001)
    finally:
        team.now[1] = 1
        helper.join(60)
    assert not helper.is_alive()
    np.testing.assert_array_equal(team.sums[1, others], parts[others])
    assert np.all(np.isnan(team.sums[[0, 2]]))
    assert np.all(np.isnan(team.sums[1, [2, 5]]))
    assert np.all(team.done[[2, 5]] == 0)


def test_the_first_piece_of_each_is_another_one(monkeypatch):
    """By the number of its thread: so two begin far from each other."""
    screen, team, _, _ = a_pass()
    order = []
    monkeypatch.setattr(kernels, "load", lambda array, i: array[i])
    monkeypatch.setattr(kernels, "store", lambda array, i, value: array.__setitem__(i, value))
    monkeypatch.setattr(kernels, "_piece", lambda copy, x, team, own, c: order.append(c))
    for own in range(THREADS):
        kernels._join.py_func(screen.copy, screen.x, team, own, own + 1)
    assert order[::PIECES] == [0, 4, 8]
    assert all(sorted(order[i : i + PIECES]) == list(range(PIECES)) for i in (0, 12, 24))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_no_bit_of_a_path_depends_on_them(monkeypatch, order, count):
    rng = np.random.default_rng(count)
    X, y = rng.normal(size=(90, 700)).cumsum(axis=0), rng.normal(size=90)
    X = np.asarray(X, order=order)
    wide = np.asarray(np.hstack([X, -X[:, ::-1]]), order=order)  # nothing but ties
    for name, value in (("_WORTH_A_TEAM", 0), ("_ROWS", 1), ("_RUN", 7)):
        monkeypatch.setattr(steps, name, value)
    monkeypatch.setattr(threads, "_WORTH_A_THREAD", 0)
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    asked, right = [], steps.send

    def paths(send):
        monkeypatch.setattr(steps, "send", send)
        return [sl.omp(X, y, 40), sl.omp(wide, y, 20), sl.sequential_lasso(X, y, 30)]

    for path, alone in zip(paths(right), paths(lambda task, count: asked.append(count)), strict=True):
        for name in ("support", "coef_path", "lam_star", "margin", "residual_norm"):
            np.testing.assert_array_equal(getattr(path, name), getattr(alone, name))
        assert path.ties == alone.ties
    assert max(asked) == min(count, steps._MOST)


def test_the_sums_are_two_hundredths_of_X_at_most(monkeypatch):
    monkeypatch.setattr(steps, "_WORTH_A_TEAM", 0)
    for n in (1, 40, 100, 399, 400, 1000, 5000):
        rng = np.random.default_rng(n)
        chosen, k, _ = selection.begin(Problem(rng.normal(size=(n, 50)), rng.normal(size=n)), 1, None, ())
        for count in (1, 2, 4, 64):
            scheme = Steps(chosen, k, count, False)
            team = steps._team(scheme._screen, scheme._threads, scheme._pieces)
            assert len(team.sums) <= min(count, 4)
            assert team.sums.nbytes <= 0.02 * 8 * n * 50 or len(team.sums) == 1
    assert len(team.sums) == 4


def as_python(monkeypatch, load, store, piece):
    """The kernels of a pass as Python runs them, with these in place of three of them."""
    for name, what in (("load", load), ("store", store), ("_piece", piece), ("give_way", lambda: None)):
        monkeypatch.setattr(kernels, name, what)
    for name in ("_join", "_gather", "_screen", "help_out"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)


def small_team(threads, pieces):
    now, begun, done = np.zeros(3, int), np.zeros(pieces, int), np.zeros(pieces, int)
    return kernels.Team(now, begun, done, np.zeros((threads, pieces, 1)))


def test_a_piece_is_waited_for_while_it_could_be_done(monkeypatch):
    """As many looks as the piece has entries, over 8."""
    patience, pieces = 5, 4
    looks = []

    def load(array, i):
        if array is team.done:
            looks.append(i)
            if looks.count(i) == patience:
                team.done[i] = 2 * team.now[0] + 1
        return array[i]

    copy, x, z = np.zeros((8, patience * pieces), np.int16), np.zeros(8, np.float32), np.zeros(1)
    team = small_team(2, pieces)
    team.begun[:] = 1
    team.sums[1] = 1
    as_python(monkeypatch, load, np.ndarray.__setitem__, lambda *arguments: pytest.fail("done over"))
    kernels._screen(copy, x, z, team)
    assert z[0] == pieces
    assert len(looks) == patience * pieces


def test_a_team_whose_pieces_are_late_is_sent_away():
    screen, team, _, whole = a_pass()
    for late in range(1, kernels.LATE + 1):
        assert team.now[1] == 0
        team.begun[3] = late
        np.testing.assert_array_equal(run(screen, team), whole)
        assert team.now.tolist() == [late, late == kernels.LATE, late]


def test_after_that_the_next_runs_are_made_alone(monkeypatch):
    monkeypatch.setattr(steps, "_WORTH_A_TEAM", 0)
    rng = np.random.default_rng(0)
    chosen, k, _ = selection.begin(Problem(rng.normal(size=(400, 50)), rng.normal(size=400)), 20, None, ())
    scheme, sent = Steps(chosen, k, 2, False), []
    monkeypatch.setattr(steps, "send", lambda task, count: sent.append(count))
    monkeypatch.setattr(kernels, "LATE", 0)
    for _ in range(2):
        assert scheme.take(scheme.clear_pick(), -1.0, 5)
    assert [size for size in sent if size > 1] == [2]


def test_a_run_tells_the_others_when_it_is_over(monkeypatch):
    """In compiled code: no signal can come in between."""
    made, make = [], steps._team
    monkeypatch.setattr(
        steps, "_team", lambda *arguments, **options: made.append(make(*arguments, **options)) or made[-1]
    )
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(400, 50)), np.eye(400)[:, :50]):
        sl.omp(X, rng.normal(size=400), 20)
    assert made
    assert all(team.now[1] == 1 for team in made)


def test_who_helps_returns_where_nothing_happens():
    screen, team, _, _ = a_pass()
    kernels.help_out(screen.copy, screen.x, team, 1)  # returns, and has given way some times
    assert np.all(team.begun == 0)


def test_who_waits_gives_way_now_and_then(monkeypatch):
    given = []
    as_python(monkeypatch, lambda array, i: array[i], None, None)
    monkeypatch.setattr(kernels, "give_way", lambda: given.append(1))
    kernels.help_out(np.zeros((1, 5000), np.int16), None, small_team(2, 1), 1)
    assert len(given) == 4  # in 5000 looks


@pytest.mark.parametrize("count", [2, 3])
def test_any_interleaving_gives_the_right_sums(monkeypatch, count):
    """One thread runs at a time, up to its next read or write of what is shared; who is next is random."""
    rng, me = random.Random(count), threading.local()
    batons, alive, pace = [threading.Semaphore(0) for _ in range(count)], [True] * count, [1.0] * count

    def turn():
        if rng.random() < 0.02:  # some fall asleep for a while
            pace[:] = [rng.choice([0.001, 0.05, 1.0]) for _ in range(count)]
        following = rng.choices(range(count), [p * a for p, a in zip(pace, alive, strict=True)])[0]
        if following != me.own:
            batons[following].release()
            if alive[me.own]:
                batons[me.own].acquire()

    def load(array, i):
        turn()
        return int(array[i])

    def store(array, i, value):
        turn()
        array[i] = value

    def piece(copy, x, team, own, c):
        team.sums[own, c] = 0
        for i in range(x.size * c // team.done.size, x.size * (c + 1) // team.done.size):
            turn()
            team.sums[own, c] += x[i]

    def helper(own):
        me.own = own
        batons[own].acquire()
        kernels.help_out(copy, x, team, own)
        alive[own] = False
        turn()

    monkeypatch.setattr(kernels, "LATE", 10**6)
    as_python(monkeypatch, load, store, piece)
    n, me.own = 6, 0
    copy, x, z, team = np.zeros((n, 20), np.int16), np.zeros(n), np.zeros(1), small_team(count, 4)
    others = [threading.Thread(target=helper, args=(i,), daemon=True) for i in range(1, count)]
    for other in others:
        other.start()
    for t in range(200):
        for i in range(n):
            turn()
            x[i] = (t + 1) * 10**i
        kernels._screen(copy, x, z, team)
        assert z[0] == (t + 1) * 111111
    team.now[1] = 1
    while any(alive[1:]):
        turn()
    for other in others:
        other.join(60)
    assert team.now[2] > 0  # some were done over


def test_both_copies_are_the_same():
    """Columns that their first unit does not hold, in tiles with others, at each end of the rows."""
    rng = np.random.default_rng(0)
    for n in (1, 7, kernels._DEPTH, 2 * kernels._DEPTH + 1):
        X = rng.normal(size=(n, 77))
        X[:, 9] = 0
        for j, i in ((0, 0), (31, -1), (32, n // 2), (70, 0)):
            X[i, j] = 1e6
        made = []
        for fill, data in ((kernels.copy_by_rows, X), (kernels.copy_by_columns, np.ascontiguousarray(X.T))):
            copy, unit = np.empty((n, 77), np.int16), 2e-4 + np.arange(77) * 1e-6
            for part in ((0, 38), (38, 77)):
                fill(data, copy, unit, *part)
            made.append((copy.tobytes(), unit.tobytes()))
            assert np.all(np.abs(copy * unit - X) <= (0.5 + 1e-9) * unit)
        assert made[0] == made[1]
