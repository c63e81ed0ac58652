"""Worker processes for long runs: silent, single-threaded, ended with their parent."""

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


class Lost(NamedTuple):
    """In place of a job's result: its process was killed, as the system does for lack of memory."""

    arguments: tuple[Any, ...]


def run_groups(groups: Iterator[Iterable[Job]], count: int) -> Iterator[Any]:
    """Yield the results of groups of jobs (function, arguments) in order of completion.

    A group stays in one process, so that what one of its jobs keeps in memory serves the next. Groups, and
    the jobs of one, are asked for when a process is free. There are `count` spawned processes, see
    `run_jobs`, or this one if count is 1. Closing the iterator ends them at once, with what they were at.
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
    """Return the next job of the group that process i is at, or the first of the next group that has one."""
    while (job := next(rest[i], None)) is None:
        group = next(groups, None)
        if group is None:
            return None
        rest[i] = iter(group)
    return job


def _alone() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (None,))


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
