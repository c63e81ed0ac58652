"""Numba kernels: free functions, arrays in, arrays out, no validation.

Numba caches compiled functions on disk, each with its callees compiled into it, under a stamp of the one file
in which it is defined. Here the contents of all files of this folder are part of Numba's version, so that
after a change in any of them every kernel is compiled again. (The version is compared first; a stamp only
after the types of the arguments were read, which may be classes that no longer exist.) Outdated files are
overwritten where Numba stores them: in `__pycache__`, in the user's cache if that is not writable, or in
NUMBA_CACHE_DIR.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _digest() -> str:
    """SHA-256 of the names and contents of the files of this folder; of none in a zip, which Numba stamps."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _digest()


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, cached on disk if some folder is writable, else uncached."""

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            compiled = numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # Numba: "no locator available": neither __pycache__ nor a user's cache
            return numba.njit(nogil=True, **options)(function)
        if not numba.config.DISABLE_JIT:
            file = compiled._cache._cache_file
            file._version = file._version, _SOURCES
        return compiled

    return compile_


# Sums may be reassociated (SIMD), products contracted (FMA); NaN, inf and signed zeros stay exact.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
