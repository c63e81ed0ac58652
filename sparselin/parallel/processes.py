"""Worker processes for long runs: silent, single-threaded, ended with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any


def run_jobs(
    jobs: Iterator[tuple[Callable[..., Any], tuple[Any, ...]]],
    count: int,
    prepare: Callable[[], object] | None = None,
) -> Iterator[Any]:
    """The results of jobs (function, arguments) in order of completion; closing the iterator stops the work.

    They are computed in `count` spawned processes, or in this one if count is 1. Spawned, not forked: a
    progress bar has a thread, and a forked process of a process with threads may hang. BLAS
    has one thread everywhere, so that the number of processes changes no bit. Each process calls `prepare`
    first, to register there what was registered here.
    """
    from threadpoolctl import threadpool_limits

    if count == 1:
        with threadpool_limits(1):
            yield from (function(*arguments) for function, arguments in jobs)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawn, initializer=_begin, initargs=(prepare,)) as pool:
        pending: set[Future[Any]] = set()
        try:
            while True:
                while len(pending) < 3 * count and (job := next(jobs, None)) is not None:
                    pending.add(pool.submit(job[0], *job[1]))
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(prepare: Callable[[], object] | None) -> None:
    work_quietly()
    if prepare is not None:
        prepare()


def work_quietly(path: Sequence[str] = ()) -> None:
    """In a worker: ignore Ctrl-C, which the parent handles; one thread for BLAS, as each core has a process.

    `path` is added to sys.path. The environment variables limit libraries loaded later (SciPy's BLAS).
    """
    from threadpoolctl import threadpool_limits

    sys.path.extend(entry for entry in path if entry not in sys.path)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)


def _end_with_parent() -> None:
    """End this process when its parent ends: a parent that is killed cannot stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
