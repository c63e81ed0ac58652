"""The one pool of threads for all work; and the precision of balls, which all threads share.

NumPy's BLAS, SciPy's BLAS and Numba's own `parallel=True` each have a pool whose threads busy-wait for a
while after each task. While the threads of another pool wait in this way, work takes 2 to 8 times as long. So
kernels here are serial and release the GIL. Their work is divided by columns or by signals among the threads
of one pool, and meanwhile BLAS is limited to one thread.

The pool consists of threads and a SimpleQueue. A `ThreadPoolExecutor` is not used, because its locks are
written in Python: a KeyboardInterrupt while a lock is being acquired leaves the lock locked, and the next
call never returns (https://github.com/python/cpython/issues/148874).

Where no thread can be started, as in a browser, all work is done in the calling thread.
"""

import atexit
import contextlib
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, TypeAlias

from threadpoolctl import ThreadpoolController

from sparselin._kernels import shared_work

# Numbers of floating point operations. Below the first number BLAS is not limited, because it is serial by
# itself (OpenBLAS divides matrix products of more than 2¹⁸ multiplications). Below the second number one
# thread is used, because waking another takes up to some milliseconds.
_MIN_LIMITED, _MIN_PARALLEL = 5e5, 6e7

_Outbox: TypeAlias = SimpleQueue[BaseException | None]
_Inbox: TypeAlias = SimpleQueue[tuple[Callable[[], object], _Outbox] | None]

_lock = threading.Lock()
_precision_lock = threading.RLock()
_users = 0
_workers = 0  # 0 if not yet needed since BLAS was limited
_usual: list[tuple[Any, Any]] = []  # each BLAS and its number of threads before the limit
_limited: ThreadpoolController | None = None  # the BLAS libraries that are limited now


@functools.cache
def _blas(scipy: bool) -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _controller() -> ThreadpoolController:
    """Return the BLAS libraries; they are searched again once SciPy, which has its own BLAS, is imported."""
    return _blas("scipy.linalg._fblas" in sys.modules or "scipy.special._ufuncs" in sys.modules)


def _limit() -> None:
    """Limit each BLAS library to one thread, as `limit(limits=1)` does, but without its overhead.

    Nothing is done if these libraries are limited already.
    """
    global _limited
    controller = _controller()
    if controller is _limited:
        return
    known = {library.filepath for library, _ in _usual}
    for library in controller.lib_controllers:
        if library.filepath not in known:
            _usual.append((library, library.num_threads))
    for library, _ in _usual:
        library.set_num_threads(1)
    _limited = controller


@functools.cache
def scipy_linalg() -> Any:
    """Import and return `scipy.linalg`, which takes 100 ms. If BLAS is limited now, limit its BLAS too."""
    import scipy.linalg

    with _lock:
        if _users:
            _limit()
    return scipy.linalg


def _work(inbox: _Inbox) -> None:
    while (item := inbox.get()) is not None:
        task, outbox = item
        error: BaseException | None = None
        try:
            task()
        except BaseException as raised:
            error = raised
        outbox.put(error)
        del item, task, outbox, error  # frees the arrays they refer to while the thread waits


@functools.cache
def _pool(workers: int) -> _Inbox | None:
    """Start at most `workers` threads, and return their inbox; None if not even one can be started."""
    inbox: _Inbox = SimpleQueue()
    threads: list[threading.Thread] = []
    with contextlib.suppress(RuntimeError):  # "can't start new thread": the threads so far share the work
        for i in range(workers):
            thread = threading.Thread(target=_work, args=(inbox,), name=f"sparselin-{i}", daemon=True)
            thread.start()
            threads.append(thread)
    if not threads:
        return None
    atexit.register(_close, inbox, threads)
    return inbox


def _close(inbox: _Inbox, threads: list[threading.Thread]) -> None:
    """Stop the threads of a pool at exit: a thread that left compiled code later might crash Python."""
    for _ in threads:
        inbox.put(None)
    for thread in threads:
        thread.join()


def _forget_pools() -> None:
    """Forget the pools in a forked child, which inherits the pools but not their threads."""
    global _lock, _precision_lock, _users, _limited
    _lock = threading.Lock()
    _precision_lock = threading.RLock()
    _users = 0
    _limited = None
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


def thread_count() -> int:
    """Return the most threads that a BLAS library may use, but at most NUMBA_NUM_THREADS or all cores.

    It is not the least number, because some packages bring a BLAS that always uses one thread. An example is
    SCS, which cvxpy loads.
    """
    before = {library.filepath: number for library, number in _usual}
    blas = (
        int(before.get(library.filepath, library.num_threads)) for library in _controller().lib_controllers
    )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    most = int(os.environ.get("NUMBA_NUM_THREADS") or cores)
    return max(1, min(most, max(blas, default=most)))


@contextlib.contextmanager
def workers(flops: float) -> Iterator[int]:
    """Limit BLAS to one thread in a `with` block; yield the number of threads for `flops` operations."""
    global _users, _workers, _usual, _limited
    if flops < _MIN_LIMITED:
        yield 1
        return
    counted = False
    try:
        with _lock:  # of calls that overlap, the first sets the limit and the last lifts it
            if _users == 0:
                _limited = None
                if not _usual:  # not empty if an interrupt prevented the limit from being lifted
                    _workers = 0
            if not _workers and flops >= _MIN_PARALLEL:
                _workers = thread_count()
            _limit()  # also in nested calls, because SciPy may have loaded its BLAS meanwhile
            _users += 1
            counted = True
        yield _workers if flops >= _MIN_PARALLEL else 1
    finally:
        with _lock:
            _users -= counted
            if _users == 0:
                _limited = None
                for library, number in _usual:
                    library.set_num_threads(number)
                _usual = []


def limit_blas(size: float) -> contextlib.AbstractContextManager[object]:
    """Limit BLAS to one thread in a `with` block if products of a matrix of `size` entries are short.

    OpenBLAS divides the product of a vector with a matrix of more than 9216 entries among its threads. Up to
    a million entries this saves little. But if another program keeps a core busy, each product waits for a
    thread, and an iteration may take a hundred times as long.
    """
    return workers(_MIN_LIMITED) if 9216 < size <= 10**6 else contextlib.nullcontext()


def spread(task: Callable[[int, int], object], size: int, count: int) -> None:
    """Divide 0..size into `count` equal parts, and call task(start, stop) on them in as many threads.

    The first part is computed in this thread, and so is everything if no other thread can be started.
    """
    inbox = _pool(count - 1) if count > 1 else None
    if inbox is None:
        if size:
            task(0, size)
        return

    def compute(start: int, stop: int) -> None:
        with shared_work():
            task(start, stop)

    cuts = [size * i // count for i in range(count + 1)]
    parts = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
    outbox: _Outbox = SimpleQueue()
    for part in parts[1:]:
        inbox.put((functools.partial(compute, *part), outbox))
    try:
        if parts:
            compute(*parts[0])
    finally:
        errors = [outbox.get() for _ in parts[1:]]
    for error in errors:
        if error is not None:
            raise error


def spread_chunks(task: Callable[[int, int], object], size: int, chunk: int, count: int) -> None:
    """Divide 0..size into chunks, and call task(start, stop) on them in `count` threads.

    A thread takes the next chunk when it is free.

    The chunks, and so the results, do not depend on the number of threads.
    """
    starts = iter(range(0, size, chunk))
    lock = threading.Lock()

    def work(_: int, __: int) -> None:
        while True:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            task(start, min(start + chunk, size))

    spread(work, count, count)


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute in balls of this precision; other threads that want to wait until this block ends.

    python-flint keeps the precision in `flint.ctx`, one number for the process, which every operation in
    every thread reads. So two threads that set it would change each other's last bits. All code of this
    package that computes in balls does it in such a block.

    The precision that the process had before is restored, also after an error. A thread of a user that sets
    `flint.ctx.prec` without this function is not held up. It can change the width of balls that are computed
    here meanwhile, never what they contain: each operation is rounded outwards at any precision.
    """
    from flint import ctx

    with _precision_lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def divide(task: Callable[[int, int], object], size: int, flops: float) -> None:
    """Call `spread` in as many threads as `flops` operations are worth, with BLAS limited to one thread."""
    if flops < _MIN_LIMITED:  # `workers` would take longer than the task
        if size:
            task(0, size)
        return
    with workers(flops) as count:
        spread(task, size, count)
