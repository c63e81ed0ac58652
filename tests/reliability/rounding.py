"""The four rounding modes of IEEE 754, set for the calling thread around one call."""

import contextlib
import ctypes
import platform
import sys

# of <fenv.h> on x86-64
MODES = {"nearest": 0x000, "downward": 0x400, "upward": 0x800, "toward zero": 0xC00}
NEAREST = "nearest"
DIRECTED = tuple(mode for mode in MODES if mode != NEAREST)
AVAILABLE = sys.platform == "linux" and platform.machine() == "x86_64"


def _library():
    return ctypes.CDLL("libm.so.6")


LIBRARY = _library() if AVAILABLE else None


@contextlib.contextmanager
def rounding(mode):
    """Round in this mode in the calling thread, for x87 and SSE alike, and to nearest afterwards.

    Other threads keep their modes. So BLAS and OpenMP must be limited to the calling thread (`one_thread`).
    """
    if LIBRARY.fesetround(MODES[mode]):
        raise OSError(f"the rounding mode {mode} cannot be set")
    try:
        yield
    finally:
        LIBRARY.fesetround(MODES[NEAREST])


def one_thread():
    """Limit all libraries of threads that are loaded to the calling thread, until the process ends."""
    import scipy.linalg  # noqa: F401  # it has a BLAS of its own
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)
