"""Worker processes for long runs. They print nothing, have one thread each, and end with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple, TypeAlias

Job: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


def run_jobs(
    jobs: Iterator[Job],
    count: int,
    prepare: Callable[[], object] | None = None,
) -> Iterator[Any]:
    """Run jobs (function, arguments) in `count` processes, and yield their results in order of completion.

    If count is 1, the jobs run in this process. Closing the iterator stops the work. The processes are
    spawned, not forked, because a fork of a process with threads may hang, and a progress bar has a thread.
    BLAS has one thread in each process, so the results do not depend on the number of processes. Each process
    first calls `prepare`, for example to register the ensembles that are registered in this process.
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


class Lost(NamedTuple):
    """The result of a job whose process was killed, for example by the system for lack of memory."""

    arguments: tuple[Any, ...]


def run_groups(groups: Iterator[Iterable[Job]], count: int) -> Iterator[Any]:
    """Run groups of jobs (function, arguments), and yield the results of the jobs in order of completion.

    A group stays in one process, so that a job can use the data that an earlier job of its group left in
    memory. Groups and jobs are taken from their iterators only when a process is free. There are `count`
    spawned processes (see `run_jobs`), or this process if count is 1. Closing the iterator ends the processes
    at once and discards their unfinished jobs.
    """
    from threadpoolctl import threadpool_limits

    if count == 1:
        with threadpool_limits(1):
            yield from (function(*arguments) for group in groups for function, arguments in group)
        return
    before = set(multiprocessing.active_children())
    pools = [_alone() for _ in range(count)]
    rest: list[Iterator[Job]] = [iter(()) for _ in range(count)]
    pending: dict[Future[Any], tuple[int, Job]] = {}
    idle = set(range(count))
    try:
        while True:
            for i in sorted(idle):
                if (job := _following(rest, i, groups)) is not None:
                    pending[pools[i].submit(job[0], *job[1])] = (i, job)
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            ended = {future: pending.pop(future) for future in done}
            idle = {i for i, _ in ended.values()}
            for future, (i, job) in ended.items():
                if isinstance(future.exception(), BrokenProcessPool):
                    pools[i].shutdown(wait=False)
                    pools[i] = _alone()
                    yield Lost(job[1])
                else:
                    yield future.result()
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()


def _following(rest: list[Iterator[Job]], i: int, groups: Iterator[Iterable[Job]]) -> Job | None:
    """Return the next job for process i: the next job of its current group, or else the first of a new group.

    rest : for each process, the jobs of its current group that have not begun.
    """
    while (job := next(rest[i], None)) is None:
        group = next(groups, None)
        if group is None:
            return None
        rest[i] = iter(group)
    return job


def _alone() -> ProcessPoolExecutor:
    """Make a pool of one spawned process, which has one thread and ends with this process."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (None,))


def _begin(prepare: Callable[[], object] | None) -> None:
    """Initialise a worker process: limit its threads, end it with its parent, and call `prepare`."""
    work_quietly()
    if prepare is not None:
        prepare()


def work_quietly(path: Sequence[str] = ()) -> None:
    """Prepare a worker process: ignore Ctrl-C and give BLAS one thread.

    The parent handles Ctrl-C. One thread is enough, because each core has its own process. `path` is added to
    sys.path. BLAS libraries that are loaded later (SciPy's BLAS) are limited by environment variables.
    """
    from threadpoolctl import threadpool_limits

    sys.path.extend(entry for entry in path if entry not in sys.path)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)


def _end_with_parent() -> None:
    """Wait for the parent to end, and then end this process: a killed parent cannot stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
