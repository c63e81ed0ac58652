"""Threads that join in the passes of single steps: whatever they do, or leave undone, changes no bit."""

import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

import sparselin as sl
from sparselin import Problem, steps, threads
from sparselin._kernels import steps as kernels

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
    monkeypatch.setattr(steps, "_WORTH_A_TEAM", 0)
    asked = []

    def paths(helped):
        monkeypatch.setattr(threads, "_WORTH_A_THREAD", 0)
        monkeypatch.setattr(threads, "thread_count", lambda: count)
        with monkeypatch.context() as patch:
            if not helped:
                patch.setattr(steps, "alongside", lambda task, end, size: asked.append(size) or nullcontext())
            return [sl.omp(X, y, 40), sl.omp(wide, y, 20), sl.sequential_lasso(X, y, 30)]

    for path, alone in zip(paths(True), paths(False), strict=True):
        for name in ("support", "coef_path", "lam_star", "margin", "residual_norm"):
            np.testing.assert_array_equal(getattr(path, name), getattr(alone, name))
        assert path.ties == alone.ties
    assert max(asked) == min(count, steps._MOST)


def test_others_end_when_the_block_does():
    told, seen = threading.Event(), []

    def wait(i):
        seen.append(i)
        told.wait()

    with threads.alongside(wait, told.set, 3):
        pass
    assert set(seen) <= {1, 2}
    told.clear()
    with pytest.raises(KeyboardInterrupt), threads.alongside(wait, told.set, 3):
        raise KeyboardInterrupt
    assert told.is_set()
    with threads.alongside(wait, told.set, 1):
        assert threading.active_count() >= 1
    assert len(seen) <= 4
