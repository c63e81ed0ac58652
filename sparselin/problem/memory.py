"""Checks of memory: an array that is too large is refused before it is allocated.

Otherwise the system might kill the process.
"""

import contextlib
import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Methods on dense columns hold up to four copies of the columns: given, projected, scaled and transposed.
_COPIES = 4
# The files in which Linux states the memory limit of a container: control groups version 2, then version 1.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

# The most entries of a block of columns that is processed at a time: 32 MB in float64. With larger blocks,
# temporary arrays would need much memory compared with X. With smaller blocks, the calls would cost more than
# the products. No result depends on this number.
_AT_ONCE = 4 * 10**6


def blocks(count: int, entries: float) -> Iterator[slice]:
    """Divide the range 0..count − 1 of columns into slices whose columns have at most _AT_ONCE entries.

    entries : the number of entries of a column (or row). A slice has at least one column.
    """
    step = max(1, int(_AT_ONCE / max(1.0, entries)))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


@functools.cache
def available() -> float:
    """Return the bytes of memory of this machine, or of the container in which this process runs.

    The result is infinite if the system does not report its memory. An example is Windows, where an
    allocation that is too large fails anyway.
    """
    try:
        found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, ValueError, OSError):
        return math.inf
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max" in it
            found.append(int(Path(path).read_text()))
    return float(min(found))


def check_memory(shape: tuple[int, ...], dtype: np.dtype[Any] | type, what: str) -> None:
    """Raise MemoryError if a dense array of this shape and dtype takes more than a quarter of the memory.

    what : the name of the array, for the error message.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size > available() / _COPIES:
        raise MemoryError(
            f"{what} takes {size / 2**30:.3g} GiB as a dense array of shape {shape}, more than a quarter of "
            f"the memory here ({available() / 2**30:.3g} GiB). Keep fewer columns, for example those that a "
            "greedy run selects: X[:, sl.omp(X, y, 500).support]. Greedy selection, the LASSO path and the "
            "dual projection work on a sparse X without a dense copy."
        )
