"""What threads in compiled code need to work together: ordered reads and writes, and giving way.

A thread that `load`s what another has `store`d sees all that the other had written by then. These are not
kernels but single instructions, or a call, written out where they are used.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _entry(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [i])


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, i: Any) -> Any:
    """array[i], read before all that the thread reads or writes afterwards ("acquire")."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_entry(context, builder, array, *args), "acquire", 8)

    return types.int64(array, types.intp), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, i: Any, value: Any) -> Any:
    """array[i] = value, written after all that the thread has read or written before ("release")."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        entry = _entry(context, builder, array, args[0], args[1])
        builder.store_atomic(args[2], entry, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]
def give_way(typing: Any) -> Any:
    """Let another thread have the core, if one waits for it (`sched_yield`; nothing where there is none)."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), emit
