"""Numba kernels: functions of arrays, without validation. The module `cache` says where they are cached."""

from collections.abc import Callable
from typing import Any

import numba

from sparselin._kernels import notice as notice  # it listens for compilations
from sparselin._kernels.cache import KernelCache

# Division by zero gives inf or NaN: code that raises an error would take the compiler a tenth of its time.
_ALL = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function by `numba.njit`, or take its compiled form from a cache."""

    def compile_(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**_ALL, **options)(function)
        if not numba.config.DISABLE_JIT:
            compiled._cache = KernelCache(function, __file__)
        return compiled

    return compile_


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile, by `numba.njit`, a function that only kernels call.

    The compiled function has no wrapper for calls from Python. If arguments are tuples of arrays, such a
    wrapper would take half of the time of compilation. A call from Python would end the process
    (`tests/test_warm_up.py`).
    """
    return numba.njit(no_cpython_wrapper=True, **_ALL, **options)


# Sums may be reassociated (SIMD) and products contracted (FMA); NaN, inf and signed zeros stay exact. A loop
# that sums must not store: LLVM would vectorise it only if the arrays are far apart in memory, so the order
# of the sum would depend on the places of the arrays.
VECTORIZED = {"fastmath": {"reassoc", "contract"}}
# For a function that is called in one place: it is compiled as a part of its caller, and not first by itself.
ONCE = {"inline": "always"}
