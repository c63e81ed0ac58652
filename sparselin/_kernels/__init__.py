"""Kernels: functions of arrays, without validation, in two forms: interpreted, and compiled by Numba.

Both forms give the same bits, because the order of sums is stated (in the module `primitives`, or by a loop),
and the compiler neither reorders them nor contracts products to fused multiply-adds (FMA), unless the source
states one. So the choice of a form changes the time and not the result, and processors with other
instructions give the same bits. Two modules let the compiler reorder sums: `products`, for large calls that
are always compiled, and `batch_omp`, where no result depends on it. Outside kernels, and in kernels for
eigenvalues, BLAS and LAPACK compute products of matrices and eigenvalues, whose last bits depend on the
library and on the processor. Exp and log are those of the C library.

The compiled form is made when it is first needed, and Numba is imported then. The module `compiler` makes it,
and the module `cache` says where it is stored.

**When a kernel is compiled.** A kernel runs interpreted until this has cost as much as a share of its
compilation. Work is counted, and time is not: the bytes of bytecode that loops over a `range` and primitives
run. A compilation takes time in proportion to the bytecode of a kernel and of those that it calls. So the
budget is a multiple of its length. Let b be the time in which the budget is spent, and p the time that it
takes to have the compiled form. Then all calls together take at most 1 + max(b/p, p/b) times the least
possible time. With the constants below, b is about a third of p if the kernel must be compiled; then the
factor is 4. If the kernel is in a cache, b is larger than p: two to three seconds for the kernels of `omp`.
The choice must not depend on what a cache holds, so a program with many small problems is faster with
SPARSELIN_COMPILE=always, if `sparselin warm-up` has filled the cache.

If the budget is spent in the middle of a call, the arrays that the call has changed are restored, and the
compiled form begins again. A call with LARGE entries in its arrays is compiled at once, and so is one that is
divided among threads.

SPARSELIN_COMPILE=always compiles at the first call, and SPARSELIN_COMPILE=never runs all kernels interpreted.
This is also done where Numba is not installed. Large problems then take some hundred times as long.
"""

import contextlib
import functools
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin._kernels import notice
from sparselin._kernels.interpreter import METER, SpentError, interpret, of_numpy, of_python

_CHOICES = ("auto", "always", "never")
LARGE = 2**16  # entries
# The budget, in units of the length of the bytecode. A byte takes about 0.45 ms to compile, and 7 ns to run.
BUDGET = 24_000


class Kernel:
    """A function in two forms."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], entry: bool) -> None:
        """Take a function, the options of `numba.njit`, and whether Python calls the compiled form."""
        functools.update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options  # the names by which Numba inlines a function
        self.entry = entry
        self.work = 0  # the units of work that were interpreted
        self.due = False  # whether the budget is spent

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's results, by the form that is in use."""
        if not self.entry or form() == "never":
            return self._interpret(arguments)
        if not self.due:
            return self._run_within_budget(arguments)
        return self.compiled(*arguments) if form() != "without Numba" else self._interpret(arguments)

    def _interpret(self, arguments: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            return of_python(self.interpreted(*(of_numpy(argument) for argument in arguments)))

    def _run_within_budget(self, arguments: tuple[Any, ...]) -> Any:
        """Return the results of the interpreted form, or of the form in use later if the budget is spent."""
        arrays = list(_arrays(arguments))
        if not (form() == "always" or METER.shared or sum(array.size for array in arrays) >= LARGE):
            saved = [(array, array.copy()) for array in arrays if array.flags.writeable]
            budget = BUDGET * self.price - self.work
            before = METER.left
            METER.left = budget
            try:
                return self._interpret(arguments)
            except SpentError:
                for array, copy in saved:
                    array[...] = copy
            finally:
                self.work += budget - int(METER.left)
                METER.left = before
        if form() == "without Numba":
            notice.recommend_numba()
        self.due = True
        return self(*arguments)

    @functools.cached_property
    def price(self) -> int:
        """The length of the bytecode of this kernel and of the kernels that it calls."""
        return sum(len(kernel.py_func.__code__.co_code) for kernel in _callees(self, set()))

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled form, Numba's dispatcher."""
        from sparselin._kernels.compiler import compile_function

        return self.__dict__.setdefault("compiled", compile_function(self))  # one for all threads

    @functools.cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The interpreted form, which calls the interpreted forms of other kernels."""
        names = self.py_func.__code__.co_names
        space = self.py_func.__globals__
        kernels = {name: space[name] for name in names if isinstance(space.get(name), Kernel)}
        return interpret(self.py_func, {name: kernel.interpreted for name, kernel in kernels.items()})

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba knows a kernel that another kernel calls."""
        return self.compiled._numba_type_


def _callees(kernel: Kernel, known: set[Kernel]) -> set[Kernel]:
    """Add a kernel, and the kernels that it calls, to the known ones."""
    if kernel not in known:
        known.add(kernel)
        for name in kernel.py_func.__code__.co_names:
            value = kernel.py_func.__globals__.get(name)
            if isinstance(value, Kernel):
                _callees(value, known)
    return known


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    """Iterate over the arrays in nested tuples."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)


@functools.cache
def _form_by_environment() -> str:
    chosen = os.environ.get("SPARSELIN_COMPILE") or "auto"
    if chosen not in _CHOICES:
        raise ValueError(
            f'SPARSELIN_COMPILE must be "auto", "always" or "never"; got {chosen!r}. Correct or unset it.'
        )
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "never"
    if chosen != "never" and importlib.util.find_spec("numba") is None:
        return "without Numba"
    return chosen


_in_use: str | None = None


def form() -> str:
    """Return which form is in use: "auto", "always" (compiled), "never" (interpreted), or "without Numba".

    Raises ValueError if SPARSELIN_COMPILE is none of the first three.
    """
    return _in_use or _form_by_environment()


@contextlib.contextmanager
def shared_work() -> Iterator[None]:
    """Compile kernels at once that this thread calls in a `with` block.

    Several threads may write to one array, so that no thread may restore it.
    """
    before = METER.shared
    METER.shared = True
    try:
        yield
    finally:
        METER.shared = before


@contextlib.contextmanager
def use(other: str) -> Iterator[None]:
    """Use another form inside a `with` block, in all threads."""
    global _in_use
    before, _in_use = _in_use, other
    try:
        yield
    finally:
        _in_use = before


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
# For a kernel that makes and returns no arrays: its compiled form does not count the references to arrays,
# which belong to the caller. A count costs an atomic instruction for every array in an argument and for every
# row A[i], and threads that share an array wait for each other at its counter.
BORROWED = {"_nrt": False}
