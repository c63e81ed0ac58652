"""Kernels: functions of arrays, without validation, in two forms: interpreted, and compiled by Numba.

The compiled form is made when it is first needed, and Numba is imported then. The module `compiler` makes it,
and the module `cache` says where it is stored.

SPARSELIN_COMPILE=never runs all kernels interpreted, also where Numba is not installed. Large problems then
take some hundred times as long. As long as sums may be reassociated (`VECTORIZED`), the last bits of the two
forms may differ.
"""

import functools
import importlib.util
import math
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

_FORMS = ("always", "never")


class Kernel:
    """A function in two forms."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], entry: bool) -> None:
        """Take a function, the options of `numba.njit`, and whether Python calls the compiled form."""
        functools.update_wrapper(self, function)
        self.py_func = function
        self.options = options
        self.entry = entry

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's results, by the form that is in use."""
        if self.entry and compiles():
            return self.compiled(*arguments)
        with np.errstate(all="ignore"):
            return self.interpreted(*(_of_numpy(argument) for argument in arguments))

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled form, Numba's dispatcher."""
        from sparselin._kernels.compiler import compile_function

        return self.__dict__.setdefault("compiled", compile_function(self))  # one for all threads

    @functools.cached_property
    def interpreted(self) -> Callable[..., Any]:
        """A copy of the function that calls the interpreted forms of other kernels.

        It computes as compiled code does. Its floating point constants are NumPy's: 0.0 + x is in float64 if
        x is in float32, and a division by zero gives inf or NaN. The module `math` is replaced by `_Math`.
        """
        code, space = self.py_func.__code__, dict(self.py_func.__globals__)
        copy = types.FunctionType(code.replace(co_consts=_of_numpy(code.co_consts)), space, code.co_name)
        for name in code.co_names:
            value = space.get(name)
            if value is math:
                space[name] = _Math
            elif isinstance(value, Kernel):
                space[name] = value.interpreted
            elif isinstance(value, float):
                space[name] = np.float64(value)
        return copy

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba knows a kernel that another kernel calls."""
        return self.compiled._numba_type_

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of Numba's dispatcher."""
        if name.startswith("__") or name in {"compiled", "interpreted"}:
            raise AttributeError(name)
        return getattr(self.compiled, name)


def _of_numpy(value: Any) -> Any:
    """Return a float as a float64 of NumPy, also inside tuples, and other values as they are."""
    if type(value) is float:
        return np.float64(value)
    if isinstance(value, tuple):
        parts = [_of_numpy(part) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


class _Math:
    """The functions of `math` that kernels use, with the results of compiled code.

    A square root has the dtype of its argument, and is NaN for negative numbers. Python has its own `hypot`,
    with other roundings than that of the C library.
    """

    inf, nan = np.float64(math.inf), np.float64(math.nan)
    sqrt, hypot = np.sqrt, np.hypot
    floor, frexp = math.floor, math.frexp
    ldexp = np.ldexp

    @staticmethod
    def exp(x: float) -> Any:
        return np.float64(math.exp(x)) if x < 709 else np.exp(x)

    @staticmethod
    def log(x: float) -> Any:
        return np.float64(math.log(x)) if x > 0 else np.log(x)

    @staticmethod
    def log1p(x: float) -> Any:
        return np.float64(math.log1p(x)) if x > -1 else np.log1p(x)

    @staticmethod
    def log2(x: float) -> Any:
        return np.float64(math.log2(x)) if x > 0 else np.log2(x)

    @staticmethod
    def sin(x: float) -> Any:
        return np.float64(math.sin(x))


@functools.cache
def compiles() -> bool:
    """Return whether kernels are compiled: unless SPARSELIN_COMPILE is "never", or Numba is not there.

    Raises ValueError if SPARSELIN_COMPILE is neither "always" nor "never".
    """
    chosen = os.environ.get("SPARSELIN_COMPILE") or "always"
    if chosen not in _FORMS:
        raise ValueError(
            f'SPARSELIN_COMPILE must be "always" or "never"; got {chosen!r}. Correct or unset it.'
        )
    disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return chosen == "always" and not disabled and importlib.util.find_spec("numba") is not None


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a kernel of a function; its compiled form has these options of `numba.njit`."""
    return lambda function: Kernel(function, options, entry=True)


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a kernel that only kernels call.

    The compiled form has no wrapper for calls from Python. If arguments are tuples of arrays, such a wrapper
    would take half of the time of compilation. A call from Python runs the interpreted form.
    """
    return lambda function: Kernel(function, options, entry=False)


# For a function that is called in one place: it is compiled as a part of its caller, and not first by itself.
ONCE = {"inline": "always"}
