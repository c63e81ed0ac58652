"""The interpreted form of kernels: functions that compute as compiled code does, and count their work.

Work is counted in bytes of bytecode. Loops over a `range` count their steps, and primitives have a work of
their own.
"""

import itertools
import math
import opcode
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sparselin._kernels import primitives

_RUN = 64  # steps


class _Meter(threading.local):
    """Two facts of each thread: the work that is left of the budget of its call, and `shared_work`."""

    left = math.inf
    shared = False


class SpentError(Exception):
    """The budget is spent."""


METER = _Meter()


def _spend(work: int) -> None:
    METER.left -= work
    if METER.left < 0:
        raise SpentError


def interpret(function: Callable[..., Any], kernels: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a copy of a function that computes as compiled code does, and counts its work.

    Floating point constants are NumPy's: 0.0 + x is in float64 if x is in float32, and a division by zero
    gives inf or NaN. The module `math` is replaced by `_Math`, and names by the values in `kernels`.
    """
    code = function.__code__
    space = function.__globals__ | kernels
    space["range"] = _counting_range(code)
    for name in code.co_names:
        value = space.get(name)
        if value is math:
            space[name] = _Math
        elif isinstance(value, float):
            space[name] = np.float64(value)
        elif callable(value) and value in primitives.WORK:
            space[name] = _with_work(value)
    return types.FunctionType(code.replace(co_consts=of_numpy(code.co_consts)), space, code.co_name)


def _counting_range(code: types.CodeType) -> Callable[..., Iterable[int]]:
    """Return a `range` that counts the work of its steps: for each the mean length of a loop in the code.

    Steps are counted _RUN at a time, because a loop may end early.
    """
    length = len(code.co_code) // (1 + code.co_code[::2].count(opcode.opmap["FOR_ITER"]))

    def steps_of(*bounds: int) -> Iterable[int]:
        steps = range(*bounds)
        if len(steps) > _RUN:
            return itertools.chain.from_iterable(runs(steps))
        _spend(length * len(steps))
        return steps

    def runs(steps: range) -> Iterator[range]:
        for start in range(0, len(steps), _RUN):
            run = steps[start : start + _RUN]
            _spend(length * len(run))
            yield run

    return steps_of


def _with_work(primitive: Callable[..., Any]) -> Callable[..., Any]:
    work = primitives.WORK[primitive]

    def call(*arguments: Any) -> Any:
        _spend(work)
        return primitive(*arguments)

    return call


def of_numpy(value: Any) -> Any:
    """Return a float as a float64 of NumPy, also inside tuples, and other values as they are."""
    if type(value) is float:
        return np.float64(value)
    if isinstance(value, tuple):
        parts = [of_numpy(part) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value


def of_python(value: Any) -> Any:
    """Return a number of NumPy as one of Python, as compiled code does, also inside tuples."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(of_python, value)) if type(value) is tuple else value


class _Math:
    """The functions of `math` that kernels use, with the results of compiled code.

    A square root has the dtype of its argument, and is NaN for negative numbers. Python has its own `hypot`,
    with other roundings than that of the C library.
    """

    inf, nan = np.float64(math.inf), np.float64(math.nan)
    sqrt, hypot, copysign = np.sqrt, np.hypot, np.copysign
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
