"""Numba kernels: free functions, arrays in, arrays out, no validation.

Numba keeps compiled functions on disk, each with what it calls compiled into it, and a stamp of the one file
in which it is written. Here all files of this folder count as part of Numba's version, so that a change in
any of them has every kernel compiled anew. (A stamp is compared only after the types of the arguments have
been read, which may be classes that are gone; the version is compared first.) What is out of date is
overwritten, wherever Numba keeps it: `__pycache__` beside the files, the user's cache where that cannot be
written, or NUMBA_CACHE_DIR.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _digest() -> str:
    """Of the names and the contents of the files here; of nothing in a zip, which Numba stamps as a whole."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _digest()


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, cached on disk where some folder can be written and uncached elsewhere."""

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
