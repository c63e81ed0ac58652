"""Numba kernels: functions of arrays, without validation.

Numba caches compiled functions on disk, each with its callees compiled into it, under a stamp of the one file
in which it is defined. So a change in another file would go unnoticed. Here the contents of that file, and of
the files in this folder that it imports, are part of Numba's version, so that its kernels are compiled again
after a change in any of them. (Numba compares the version first. It compares a stamp only after it has read
the types of the arguments, which may be classes that no longer exist.) Outdated files are overwritten where
Numba stores them: in `__pycache__`, in the user's cache if that is not writable, or in NUMBA_CACHE_DIR.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from sparselin._kernels import notice as notice  # it listens for compilations


@functools.cache
def _digest(path: Path) -> str:
    """Return the SHA-256 of a file and of the files in this folder that it imports.

    It is "" for a file in a zip archive, whose stamp Numba checks itself.
    """
    if not path.exists():
        return ""
    source = path.read_bytes()
    names = re.findall(rb"^from sparselin\._kernels\.(\w+) import", source, re.MULTILINE)
    parts = [source, *(_digest(path.with_name(f"{name.decode()}.py")).encode() for name in names)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function by `numba.njit`, with a cache on disk if a folder for it is writable."""

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            compiled = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
        except RuntimeError:  # Numba: "no locator available": neither __pycache__ nor a user's cache
            return numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
        if not numba.config.DISABLE_JIT:
            file = compiled._cache._cache_file
            sources = _digest(Path(__file__)), _digest(Path(function.__code__.co_filename))
            file._version = file._version, *sources
        return compiled

    return compile_


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile, by `numba.njit`, a function that only kernels call.

    It has no entry from Python, which would be half of the compiler's work if arguments are tuples of arrays.
    A call from Python would end the process (`tests/test_warm_up.py`).
    """
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(nogil=True, **wrappers, **options)


# Sums may be reassociated (SIMD) and products contracted (FMA); NaN, inf and signed zeros stay exact. A loop
# that sums must not store: LLVM would vectorise it only if the arrays are far apart in memory, so the order
# of the sum would depend on the places of the arrays.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
# Division by zero gives inf or NaN, and needs no code that raises an error.
NUMPY = {"error_model": "numpy"}
# For a function that is called in one place: it is compiled as a part of its caller, and not first by itself.
ONCE = {**NUMPY, "inline": "always"}
