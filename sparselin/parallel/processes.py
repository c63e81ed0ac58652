"""Worker processes for long runs. They print nothing, have one thread each, and end with their parent."""

import contextlib
import itertools
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias

from sparselin._kernels import form, use

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
                from concurrent.futures.process import BrokenProcessPool

                raise BrokenProcessPool(f"a process was killed, for example for lack of memory: {result}")
            yield result


class Lost(NamedTuple):
    """The place of a result that is missing: the arguments of the job, and why (by default: killed)."""

    arguments: tuple[Any, ...]
    why: str = "its process was killed, for example for lack of memory; try fewer --jobs"


def try_jobs(
    jobs: Iterator[Job],
    count: int,
    prepare: Callable[[], object] | None = None,
    compiled: bool = False,
) -> Iterator[Any]:
    """Run jobs as `run_jobs` does, but yield `Lost` for a job that raises an error or is killed.

    So one job cannot cost the results of the others. `compiled`: see `run_groups`.
    """
    groups = ([(attempt, job)] for job in jobs)
    with contextlib.closing(run_groups(groups, count, prepare, (), compiled)) as results:
        for result in results:
            # if a process was killed, the arguments are those of `attempt`: the function and its arguments
            outer = isinstance(result, Lost) and len(result.arguments) == 2 and callable(result.arguments[0])
            yield Lost(result.arguments[1], result.why) if outer else result


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return function(*arguments), or `Lost` if it raises an error."""
    try:
        return function(*arguments)
    except Exception as error:
        return Lost(arguments, describe_error(error))


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an error, whose method for the message may raise an error itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}: its message cannot be read"


def run_groups(
    groups: Iterator[Iterable[Job]],
    count: int,
    prepare: Callable[[], object] | None = None,
    passing: Any = BaseException,
    compiled: bool = False,
) -> Generator[Any, None, None]:
    """Run groups of jobs (function, arguments), and yield the results of the jobs in order of completion.

    A group stays in one process, so that a job can use the data that an earlier job of its group left in
    memory. Groups and jobs are taken from their iterators only when a process is free. There are `count`
    spawned processes (see `run_jobs`), or this process if count is 1. Closing the iterator ends the processes
    at once and discards their unfinished jobs. A job yields `Lost` if its process is killed, or if a process
    raises an error that is not of a type in `passing`, for example because a result cannot be pickled.

    compiled : whether kernels are compiled at their first call, unless SPARSELIN_COMPILE says otherwise. This
        is faster for many jobs, because each process by itself would first run them interpreted.
    """
    from threadpoolctl import threadpool_limits

    if count == 1:
        with threadpool_limits(1), use("always" if compiled and form() == "auto" else form()):
            yield from (function(*arguments) for group in groups for function, arguments in group)
        return

    # imported here, because a browser has no processes, and cannot import these
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    def one_process(i: int) -> ProcessPoolExecutor:
        settings = prepare, i > 0, compiled
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, settings)

    before = set(multiprocessing.active_children())
    pools = [one_process(i) for i in range(count)]
    streams = [itertools.chain.from_iterable(groups) for _ in range(count)]  # each takes the next free group
    pending: dict[Future[Any], tuple[int, Job]] = {}
    idle = set(range(count))
    ended = list[Any]()
    try:
        while True:
            for i in sorted(idle):
                if (job := next(streams[i], None)) is not None:
                    pending[pools[i].submit(job[0], *job[1])] = (i, job)
            for found in ended:  # after the submission, so that no process waits for the caller
                yield found if isinstance(found, Lost) else found.result()
            if not pending:
                return
            idle = set()
            ended = []
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                i, job = pending.pop(future)
                idle.add(i)
                error = future.exception()
                killed = isinstance(error, BrokenProcessPool)
                if killed:
                    ended.append(Lost(job[1]))
                elif error is None or isinstance(error, passing):
                    ended.append(future)
                else:
                    ended.append(Lost(job[1], describe_error(error)))
                if killed:
                    pools[i].shutdown(wait=False)
                    pools[i] = one_process(i)
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()


def _begin(prepare: Callable[[], object] | None, silent: bool, compiled: bool) -> None:
    """Initialise a worker process: limit its threads, end it with its parent, and call `prepare`.

    silent : whether it shows no messages about compilation, because another process shows them.
    compiled : see `run_groups`.
    """
    work_quietly()
    if compiled:
        os.environ.setdefault("SPARSELIN_COMPILE", "always")
    if silent:
        logging.getLogger("sparselin").setLevel(logging.WARNING)
    if prepare is not None:
        prepare()


def work_quietly() -> None:
    """Prepare a worker process: ignore Ctrl-C and give BLAS one thread.

    The parent handles Ctrl-C. One thread is enough, because each core has its own process. BLAS
    libraries that are loaded later (SciPy's BLAS) are limited by environment variables.
    """
    from threadpoolctl import threadpool_limits

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
