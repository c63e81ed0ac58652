"""Numba kernels: free functions, arrays in, arrays out, no validation.

Numba's cache does not notice a change in a callee that lives in another file, so every file here
is closed: its kernels call only each other (but for `steps.py`, which calls `atomic.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, cached on disk where some folder can be written and uncached elsewhere."""

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # Numba: "no locator available": neither __pycache__ nor a user's cache
            return numba.njit(nogil=True, **options)(function)

    return compile_


# Sums may be reassociated (SIMD), products contracted (FMA); NaN, inf and signed zeros stay exact.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
