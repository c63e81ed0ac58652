"""Worker processes for long runs. They print nothing, have one thread each, and end with their parent."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple, TypeAlias

Job: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


def run_jobs(jobs: Iterator[Job], count: int, prepare: Callable[[], object] | None = None) -> Iterator[Any]:
    """Run jobs (function, arguments) in `count` processes, and yield their results in order of completion.

    If count is 1, the jobs run in this process. Closing the iterator stops the work. The processes are
    spawned, not forked, because a fork of a process with threads may hang, and a progress bar has a thread.
    BLAS has one thread in each process, so the results do not depend on the number of processes. Each process
    first calls `prepare`, for example to register the ensembles that are registered in this process. Raises
    BrokenProcessPool if a process is killed.
    """
    with contextlib.closing(run_groups(([job] for job in jobs), count, prepare)) as results:
        for result in results:
            if isinstance(result, Lost):
                raise BrokenProcessPool(f"a process was killed, for example for lack of memory: {result}")
            yield result


class Lost(NamedTuple):
    """The result of a job whose process was killed, for example by the system for lack of memory."""

    arguments: tuple[Any, ...]


def run_groups(
    groups: Iterator[Iterable[Job]], count: int, prepare: Callable[[], object] | None = None
) -> Generator[Any, None, None]:
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

    def one_process() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (prepare,))

    before = set(multiprocessing.active_children())
    pools = [one_process() for _ in range(count)]
    streams = [itertools.chain.from_iterable(groups) for _ in range(count)]  # each takes the next free group
    pending: dict[Future[Any], tuple[int, Job]] = {}
    idle, ended = set(range(count)), list[Any]()
    try:
        while True:
            for i in sorted(idle):
                if (job := next(streams[i], None)) is not None:
                    pending[pools[i].submit(job[0], *job[1])] = (i, job)
            for found in ended:  # after the submission, so that no process waits for the caller
                yield found if isinstance(found, Lost) else found.result()
            if not pending:
                return
            idle, ended = set(), []
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                i, job = pending.pop(future)
                idle.add(i)
                lost = isinstance(future.exception(), BrokenProcessPool)
                ended.append(Lost(job[1]) if lost else future)
                if lost:
                    pools[i].shutdown(wait=False)
                    pools[i] = one_process()
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()


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
