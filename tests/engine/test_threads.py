"""The pool: it does all parts, passes errors on, gives BLAS its threads back, and survives interrupts.

Processes are tested too: a killed one is replaced.
"""

import functools
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import interrupt, refuses
from threadpoolctl import threadpool_limits

import sparselin as sl
from sparselin.ensembles import gaussian
from sparselin.estimators import OMPSelector
from sparselin.greedy import _generalized_fit
from sparselin.guarantees import sparse_eigenvalues
from sparselin.parallel import threads
from sparselin.parallel.processes import Lost, run_groups
from sparselin.problem import takes_problem


def blas_threads():
    """Return the threads of the libraries that compute products; others may be loaded later."""
    return [library.num_threads for library in threads._controller().lib_controllers]


def test_the_number_of_blas_threads_is_put_back():
    before, usual = blas_threads(), threads.thread_count()
    with threads.workers(1e12) as count, threads.workers(1e12) as inner:
        assert count == inner == usual
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), threads.workers(1e12):
        raise KeyError
    assert blas_threads() == before
    with threadpool_limits(1), threads.workers(1e12) as count:
        assert count == 1


@pytest.mark.parametrize(("n", "d", "limited"), [(96, 96, 0), (97, 96, 1), (1000, 1000, 1), (1001, 1000, 0)])
def test_short_products_take_one_thread(n, d, limited):
    """While another program keeps a core busy, each product in two threads waits for the other core."""
    method, X, before = takes_problem(lambda X, y: blas_threads()), np.ones((n, d)), blas_threads()
    assert method(X, X[:, 0]) == method(sl.Problem(X, X[:, 0])) == ([1] * len(before) if limited else before)


@pytest.mark.parametrize(
    ("module", "name", "call"),
    [
        (_generalized_fit, "refit", lambda X, y: sl.generalized_omp(X, y, 1, loss="logistic")),
        (
            _generalized_fit,
            "refit",
            lambda X, y: OMPSelector(1, groups=range(100), loss="logistic").fit(X, y),
        ),
        (sparse_eigenvalues, "bound_below", lambda X, y: sl.sparse_eigenvalues(X, 2)),
    ],
)
def test_likelihoods_and_eigenvalues_take_one_thread(module, name, call, monkeypatch, rng):
    true, seen = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *a, **b: (seen.append(blas_threads()), true(*a, **b))[1])
    X = rng.standard_normal((600, 100))
    call(X, X[:, 0] + rng.standard_normal(600) > 0)
    assert set(seen[0]) <= {1}  # the empty set where threadpoolctl knows no BLAS


@pytest.mark.parametrize(("numbers", "expected"), [((2, 1, 2), 2), ((1, 1), 1), ((), 2)])
def test_a_library_with_one_thread_does_not_count(numbers, expected, monkeypatch):
    """SCS, which cvxpy loads, brings a BLAS that always uses one thread."""
    libraries = SimpleNamespace(
        lib_controllers=[SimpleNamespace(num_threads=n, filepath="") for n in numbers]
    )
    monkeypatch.setattr(threads, "_controller", lambda: libraries)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    assert threads.thread_count() == expected


def test_calls_from_several_threads_at_once():
    before = blas_threads()
    X, y = gaussian(300, 4000, 0)
    expected = sl.omp(X, y, 30)
    found = []
    runs = [threading.Thread(target=lambda: found.append(sl.omp(X, y, 30))) for _ in range(6)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert found == [expected] * 6
    assert blas_threads() == before


def test_an_error_in_any_part_is_raised():
    def task(start, stop):
        if start:
            raise ValueError("second part")

    refuses("second part", threads.spread, task, 10, 2)
    refuses("second part", threads.spread_chunks, task, 10, 3, 2)


def test_chunks_cover_everything_once():
    for size in (0, 1, 7, 100):
        for count in (1, 2, 3):
            seen = []
            threads.spread_chunks(lambda a, b, seen=seen: seen.extend(range(a, b)), size, 7, count)
            assert sorted(seen) == list(range(size))


def test_an_error_here_waits_for_the_others():
    done = threading.Event()

    def task(start, stop):
        if start == 0:
            raise KeyError("first part")
        time.sleep(0.05)
        done.set()

    refuses("first part", threads.spread, task, 10, 2, error=KeyError)
    assert done.is_set()


def test_nothing_is_held_by_threads_that_wait():
    class Held:
        pass

    held, gone = Held(), threading.Event()
    weakref.finalize(held, gone.set)
    threads.spread(lambda a, b, held=held: None, 2, 2)
    del held
    assert gone.wait(60)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer")
def test_interrupts_at_any_time_leave_it_usable():
    before, thread_count = blas_threads(), threads.thread_count()

    usual = signal.signal(signal.SIGALRM, interrupt)
    rng, got = np.random.default_rng(0), 0
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1e-3))
                for _ in range(10_000):  # until the interrupt comes, on the fastest machine too
                    with threads.workers(1e12):
                        threads.spread(lambda a, b: None, 2, 2)
            except KeyboardInterrupt:
                got += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            parts = []
            threads.spread(lambda a, b, parts=parts: parts.append((a, b)), 4, 2)
            assert sorted(parts) == [(0, 2), (2, 4)]
    finally:
        signal.signal(signal.SIGALRM, usual)
    assert got == 300
    with threads.workers(1e12) as count:
        assert count == thread_count
    assert blas_threads() == before


def test_the_interpreter_ends_with_threads_that_wait():
    code = """
from sparselin.parallel import threads
threads.spread(lambda a, b: None, 4, 2)
print("end")
"""
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert process.stdout == "end\n"
    assert not process.stderr


@pytest.mark.parametrize("allowed", [0, 1])
def test_work_goes_on_where_no_more_threads_can_be_started(allowed, monkeypatch, tmp_path):
    """A browser allows none; a limit of the system may allow fewer than there are cores."""
    X, y = gaussian(300, 4000, 0)
    chunks = [(X[:100, :9], y[:100]), (X[100:, :9], y[100:])]
    expected, compressed = sl.omp(X, y, 30), sl.compress(chunks)
    usual, started, asked = threading.Thread.start, [], []

    def start(thread):
        asked.append(thread)
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        usual(thread)

    monkeypatch.setattr(threads, "_pool", functools.cache(threads._pool.__wrapped__))
    monkeypatch.setattr(threads, "thread_count", lambda: 4)
    monkeypatch.setattr(threads, "_MIN_PARALLEL", 0)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert sl.omp(X, y, 30) == expected
    assert len(asked) == allowed + 1
    assert (sl.compress(chunks, checkpoint=tmp_path / "here.npz").X == compressed.X).all()
    refuses("cannot be read", sl.compress, iter(lambda: chunks[5], None))


@pytest.mark.parametrize(
    ("load", "enter"),
    [
        ("threads.scipy_linalg()", "if True"),
        ("import scipy.linalg", "with threads.workers(1e12)"),
        ("import scipy.special", "with threads.workers(1e12)"),
    ],
)
def test_the_blas_of_scipy_is_limited_although_it_is_loaded_late(load, enter):
    code = f"""
import numpy
from threadpoolctl import threadpool_info
from sparselin.parallel import threads
def numbers():
    return {{library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}}
with threads.workers(1e12):
    {load}
    {enter}:
        print(numbers() <= {{1}})
print(numbers() <= {{2}})
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert process.stdout == "True\nTrue\n"


def test_nothing_needs_processes():
    """These are missing in Pyodide, the Python of browsers."""
    code = """
import os, sys
sys.modules["_multiprocessing"] = sys.modules["_posixshmem"] = None
for name in ("sched_getaffinity", "register_at_fork", "fork"):
    if hasattr(os, name):
        delattr(os, name)
import numpy as np, sparselin as sl
X = np.random.default_rng(0).standard_normal((20, 8))
from sparselin.parallel.threads import thread_count
print(sl.omp(X, X[:, 1], 1).support, sl.ensembles.gaussian(3, 2, 0)[0].shape, thread_count() > 0)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.stdout == "[1] (3, 2) True\n", process.stderr


OF_PROCESS = "({}, __import__('os').getpid())"  # for `eval`, which a process has without importing anything
KILLED = "__import__('os').kill(__import__('os').getpid(), 9)"


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_group_stays_in_one_process_and_a_killed_one_is_replaced():
    groups = [[(eval, (OF_PROCESS.format(10 * i + j),)) for j in range(3)] for i in range(4)]
    groups[1].insert(1, (eval, (KILLED,)))
    found = list(run_groups(iter(groups), 2))
    assert [one for one in found if isinstance(one, Lost)] == [Lost((KILLED,))]
    by_value = dict(one for one in found if not isinstance(one, Lost))
    assert sorted(by_value) == [10 * i + j for i in range(4) for j in range(3)]
    for i in (0, 2, 3):
        assert len({by_value[10 * i + j] for j in range(3)}) == 1


FLOW = "sparselin.certificates.flow"


def test_balls_have_the_same_bits_in_every_thread_and_at_every_precision_of_the_process():
    """python-flint has one precision for the process; a user's own precision is neither used nor lost."""
    ctx, in_balls = pytest.importorskip("flint").ctx, importlib.import_module(FLOW)._in_balls
    X, y = gaussian(40, 12, rng=0)
    path, lasso, flow = sl.omp(X, y, 4), sl.lasso_path(X, y, max_steps=5), sl.gradient_flow(X, y)
    calls = [
        lambda: sl.inference(X, y, path, sigma=1.0),
        lambda: sl.inference(X, y, lasso),
        lambda: sl.inference(X, y, path, sigma="unknown"),
        lambda: [stage[4] for stage in in_balls(X, y, (), [(), *flow.supports])],  # τ of each event
    ]
    expected, different, interval, before = [call() for call in calls], [], sys.getswitchinterval(), ctx.prec

    def work(seed):
        for i in np.random.default_rng(seed).integers(4, size=12):
            if calls[i]() != expected[i]:
                different.append(i)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    try:
        sys.setswitchinterval(1e-5)
        for bits in (77, 9):
            ctx.prec = bits
            assert [call() for call in calls] == expected
            assert ctx.prec == bits
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert ctx.prec == 9
    finally:
        sys.setswitchinterval(interval)
        ctx.prec = before
    assert not different
