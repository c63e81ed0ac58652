"""Numba kernels: free functions, arrays in, arrays out, no validation.

Numba caches compiled functions on disk, each with its callees compiled into it, under a stamp of the one file
in which it is defined. Here the contents of that file, and of those of this folder that it imports, are part
of Numba's version, so that after a change in any of them its kernels are compiled again. (The version is
compared first; a stamp only after the types of the arguments were read, which may be classes that no longer
exist.) Outdated files are overwritten where Numba stores them: in `__pycache__`, in the user's cache if that
is not writable, or in NUMBA_CACHE_DIR.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from sparselin._kernels import notice as notice  # which listens


@functools.cache
def _digest(path: Path) -> str:
    """SHA-256 of a file and of what it imports from this folder; of none in a zip, which Numba stamps."""
    if not path.exists():
        return ""
    source = path.read_bytes()
    names = re.findall(rb"^from sparselin\._kernels\.(\w+) import", source, re.MULTILINE)
    parts = [source, *(_digest(path.with_name(f"{name.decode()}.py")).encode() for name in names)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, cached on disk if some folder is writable, else uncached."""

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
    """`numba.njit` of what only kernels call: without an entry from Python, half of the work of the compiler
    where arguments are tuples of arrays. A call from Python would end the process (`tests/test_warm_up.py`).
    """
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(nogil=True, **wrappers, **options)


# Sums may be reassociated (SIMD), products contracted (FMA); NaN, inf and signed zeros stay exact. A loop
# that sums must not store: LLVM vectorises it where the arrays are far apart in memory, and not where they
# are near each other, so that the order of the sum would depend on where the arrays happen to be.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
# Division by zero gives inf or NaN, and needs no code that raises.
NUMPY = {"error_model": "numpy"}
# Of what is called in one place: it is compiled as a part of the caller, and not first by itself.
ONCE = {**NUMPY, "inline": "always"}
