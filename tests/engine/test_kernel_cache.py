"""Damaged files in Numba's cache, and kernels that run as Python because compilation is switched off."""

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest

from sparselin._kernels import cache, kernel


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


def first_call(function, x):
    """Return f(x), and how often the cache had what the call needed, as in a new process."""
    compiled = kernel()(function)
    return compiled(x), sum(compiled.compiled.stats.cache_hits.values())


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A function that returns the files of a cache, sorted, which holds two kernels."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)
    assert first_call(triple, 1.5) == (4.5, 0)
    return lambda name, end: sorted(tmp_path.rglob(f"*.{name}-*{end}"))


@pytest.mark.parametrize("end", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "zeros", "bytes", "half", "one bit", "another pickle"])
def test_a_damaged_file_counts_as_missing_and_is_overwritten(end, damage, files):
    (path,) = files("double", end)
    whole = path.read_bytes()
    bit = bytearray(whole)
    bit[len(bit) // 2 if end == ".nbc" else 5] ^= 1
    damaged = {
        "empty": b"",
        "zeros": bytes(200),
        "bytes": bytes(range(256)),
        "half": whole[: len(whole) // 2],
        "one bit": bytes(bit),
        "another pickle": b"I1\n.",
    }
    path.write_bytes(damaged[damage])
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)


def test_an_index_that_names_the_file_of_another_kernel(files):
    shutil.copy(*files("triple", ".nbc"), *files("double", ".nbc"))
    assert first_call(double, 1.5) == (3.0, 0)
    assert first_call(double, 1.5) == (3.0, 1)


# The turn to compile


@pytest.fixture
def turns(tmp_path, monkeypatch):
    """Two processes' turns to compile one kernel; a second one waits half a second."""
    monkeypatch.setattr(cache, "_LONGEST", 0.5)
    return cache.Turn(tmp_path / "kernel.lock"), cache.Turn(tmp_path / "kernel.lock")


def seconds_to_begin(turn):
    start = time.monotonic()
    turn.begin()
    return time.monotonic() - start


needs_locks = pytest.mark.skipif(cache.fcntl is None, reason="no locks on files")


@needs_locks
def test_the_second_process_waits_until_the_first_has_compiled(turns):
    first, second = turns
    assert seconds_to_begin(first) < 0.3
    assert seconds_to_begin(second) >= 0.5
    first.end()
    second.end()
    assert seconds_to_begin(second) < 0.3
    second.end()


@needs_locks
def test_nobody_waits_where_files_cannot_be_locked(turns, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(cache.fcntl, "flock", refuse)
    assert seconds_to_begin(turns[0]) < 0.3


@needs_locks
def test_a_child_process_does_not_keep_the_turn(turns):
    first, second = turns
    first.begin()
    os.set_inheritable(first._file, True)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    first.end()
    try:
        assert seconds_to_begin(second) < 0.3
    finally:
        second.end()
        child.communicate(b"\n")


@needs_locks
def test_only_the_thread_that_has_begun_the_turn_ends_it(turns):
    """Another thread, which needs the same kernel, would close a file for the second time."""
    first, second = turns
    first.begin()
    other = threading.Thread(target=first.end)
    other.start()
    other.join()
    assert seconds_to_begin(second) >= 0.5
    second.end()
    first.end()
    assert seconds_to_begin(second) < 0.3
    second.end()


@needs_locks
def test_threads_that_need_one_kernel_compile_it_once(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for _ in range(10):
        tripled = kernel()(triple)
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(tripled, [1.0] * 64)) == [3.0] * 64
        shutil.rmtree(tmp_path)


@needs_locks
def test_the_turn_ends_if_compiling_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    refused = kernel()(double)
    with pytest.raises(numba.TypingError):
        refused(object())
    assert list(tmp_path.rglob("*.lock"))
    assert refused.compiled._cache.turn._file < 0


AS_PYTHON = """
from fractions import Fraction
import numpy as np, sparselin as sl
from sparselin._kernels.refinement import _product
for a, b in np.random.default_rng(0).standard_normal((50, 2)) * 2.0 ** np.arange(-25, 25)[:, None]:
    p, e = _product(a, b)
    assert Fraction(float(a)) * Fraction(float(b)) == Fraction(float(p)) + Fraction(e)
X = np.random.default_rng(0).standard_normal((8, 3))
y = X[:, 0] - X[:, 2]
flow = sl.gradient_flow(X, y)
print(sl.sequential_attention(X, y, 2).support, flow.supports[-1], sl.verify(X, y, 2).verdict)
"""


def test_kernels_run_as_python_if_compilation_is_switched_off():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", AS_PYTHON]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert run.stdout == "[0 2] (0, 2) agrees\n"
