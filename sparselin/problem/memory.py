"""Checks of memory: arrays that are too large are refused before the system would kill the process."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Methods on dense columns hold up to four copies of them at once: given, projected, scaled and transposed.
_COPIES = 4
# files in which Linux states the memory limit of a container, for versions 2 and 1 of its control groups
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

# Entries of a block of columns for which temporaries are computed at a time: 32 MB in float64. If it were
# larger, temporaries would need much memory compared with X; if it were smaller, calls would cost more than
# products. No result depends on it.
_AT_ONCE = 4 * 10**6


def blocks(count: int, entries: float) -> Iterator[slice]:
    """Divide `count` columns (or rows) of `entries` each into slices of at most _AT_ONCE entries."""
    step = max(1, int(_AT_ONCE / max(1.0, entries)))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


@functools.cache
def available() -> float:
    """Return the bytes of memory of this machine, or of the container in which this process runs.

    The result is infinite if the system does not tell, as on Windows, where too large an allocation fails by
    itself.
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
    """Raise MemoryError if an array takes more than a quarter of the memory; `what` names it."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size > available() / _COPIES:
        raise MemoryError(
            f"{what} takes {size / 2**30:.3g} GiB as a dense array of shape {shape}, more than a quarter of "
            f"the memory here ({available() / 2**30:.3g} GiB). Keep fewer columns, for example those that a "
            "greedy run selects: X[:, sl.omp(X, y, 500).support]. Greedy selection, the LASSO path and the "
            "dual projection work on a sparse X without a dense copy."
        )
