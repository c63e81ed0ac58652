"""The compiled forms of kernels. This module imports Numba, and is imported when a kernel is compiled."""

from collections.abc import Callable
from typing import Any

import numba

import sparselin._kernels.clock  # it listens for compilations
import sparselin._kernels.compiled_primitives  # noqa: F401  # Numba takes the functions from there
from sparselin._kernels.cache import KernelCache, Turn

# Division by zero gives inf or NaN: code that raises an error would take the compiler a tenth of its time.
_ALL = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


def compile_function(kernel: Any) -> Any:
    """Return Numba's dispatcher of a `Kernel`, which compiles it, or takes its compiled form from a cache."""
    if not kernel.entry:
        return numba.njit(no_cpython_wrapper=True, **_ALL, **kernel.targetoptions)(kernel.py_func)
    compiled = numba.njit(**_ALL, **kernel.targetoptions)(kernel.py_func)
    if not numba.config.DISABLE_JIT:
        compiled._cache = cache = KernelCache(kernel.py_func, __file__)
        compiled.compile = _in_turn(compiled.compile, cache.turn)
    return compiled


def _in_turn(compile_types: Callable[[Any], Any], turn: Turn) -> Callable[[Any], Any]:
    """Let the turn, which begins when a kernel is not in the cache, also end if compiling is interrupted."""

    def compile_in_turn(types: Any) -> Any:
        try:
            return compile_types(types)
        finally:
            turn.end()

    return compile_in_turn
