"""Worker processes for long runs: quiet, single-threaded, gone when their parent is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence


def work_quietly(path: Sequence[str] = ()) -> None:
    """In a worker: leave Ctrl-C to the parent and one thread to BLAS (there is a process per core).

    `path` is added to sys.path. The environment reaches what is loaded later (SciPy's BLAS, with cvxpy).
    """
    from threadpoolctl import threadpool_limits

    sys.path.extend(entry for entry in path if entry not in sys.path)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers: they watch for that themselves."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
