"""One pool of threads for all: who else spins on the cores while it works costs two to eight times.

NumPy's BLAS, SciPy's BLAS and Numba's own `parallel=True` each keep a pool whose threads busy-wait for a
while after each task. So kernels here are serial and release the GIL, work is cut by columns or by
signals for the threads of one executor, and BLAS gets one thread for that long.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
from threadpoolctl import ThreadpoolController

# Below these numbers of floating point operations BLAS is left alone (it stays serial by itself), and a
# second thread is not woken (which takes up to some milliseconds after a pause).
_TRIFLE, _WORTH_A_THREAD = 2e6, 6e7

_lock = threading.Lock()
_users = 0
_workers = 1
_usual: list[tuple[Any, Any]] = []  # the threads of each BLAS before


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="sparselin")


def _forget_pools() -> None:
    """In a forked child, which inherits the pools but not their threads."""
    global _lock, _users
    _lock, _users = threading.Lock(), 0
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def thread_count() -> int:
    """The threads that BLAS may use now (OPENBLAS_NUM_THREADS, threadpoolctl) and Numba at most."""
    blas = (int(library.num_threads) for library in _controller().lib_controllers)
    return max(1, min([int(numba.config.NUMBA_NUM_THREADS), *blas]))


@contextlib.contextmanager
def workers(flops: float) -> Iterator[int]:
    """The number of threads for work of this size, BLAS being held to one thread meanwhile."""
    global _users, _workers, _usual
    if flops < _TRIFLE:
        yield 1
        return
    with _lock:  # of calls that overlap, the first sets the limit and the last lifts it
        if _users == 0:
            _workers = thread_count()
            _usual = [(library, library.num_threads) for library in _controller().lib_controllers]
            for library, _ in _usual:  # what `limit(limits=1)` does, without its bookkeeping
                library.set_num_threads(1)
        _users += 1
        count = _workers if flops >= _WORTH_A_THREAD else 1
    try:
        yield count
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for library, number in _usual:
                    library.set_num_threads(number)


def spread(task: Callable[[int, int], object], size: int, count: int) -> None:
    """task(start, stop) on `count` equal parts of 0..size, the first of them in this thread."""
    cuts = [size * i // count for i in range(count + 1)]
    parts = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
    others = [_pool(count - 1).submit(task, a, b) for a, b in parts[1:]] if count > 1 else []
    try:
        if parts:
            task(*parts[0])
    finally:
        for other in others:
            other.result()


@contextlib.contextmanager
def alongside(task: Callable[[int], object], end: Callable[[], object], count: int) -> Iterator[None]:
    """task(1), …, task(count − 1) in threads of their own during the block; end() makes them return after it.

    The block must not wait for them: they may start late, or never.
    """
    others = [_pool(count - 1).submit(task, i) for i in range(1, count)]
    try:
        yield
    finally:
        end()
        for other in others:
            if not other.cancel():
                other.result()


def spread_chunks(task: Callable[[int, int], object], size: int, chunk: int, count: int) -> None:
    """task(start, stop) on chunks of 0..size, each thread taking the next one when it is free.

    The chunks, and so the results, do not depend on the number of threads.
    """
    starts = iter(range(0, size, chunk))
    turn = threading.Lock()

    def work(_: int, __: int) -> None:
        while True:
            with turn:
                start = next(starts, None)
            if start is None:
                return
            task(start, min(start + chunk, size))

    spread(work, count, count)
