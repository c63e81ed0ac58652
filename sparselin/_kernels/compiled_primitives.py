"""The compiled forms of the functions in `primitives`, which Numba takes in their place."""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.extending import intrinsic, overload

from sparselin._kernels import primitives
from sparselin._kernels.primitives import LANES


@intrinsic  # type: ignore[untyped-decorator]
def _fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, rounded once. Without such an instruction a function of the C library is called."""
    double = numba.float64
    return double(double, double, double), lambda context, builder, signature, args: builder.fma(*args)


@intrinsic  # type: ignore[untyped-decorator]
def _sum_in_lanes(typing: Any, a: Any, b: Any, zero: Any) -> Any:
    """Return the sum of a_i·b_i, in lanes of the type of `zero`.

    The additions are of vectors. The compiler may not make them of a sum that is written in Python, because
    their order is another one.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar = context.get_value_type(zero)
        arrays = [context.make_array(kind)(context, builder, x) for kind, x in ((a, args[0]), (b, args[1]))]
        (size,) = cgutils.unpack_tuple(builder, arrays[0].shape)

        def number(n: int) -> Any:
            return ir.Constant(size.type, n)

        def products(start: Any, width: int) -> Any:
            vectors = []
            for array, kind in zip(arrays, (a, b), strict=True):
                entries = ir.VectorType(context.get_value_type(kind.dtype), width)
                place = builder.bitcast(builder.gep(array.data, [start]), ir.PointerType(entries))
                vector = builder.load(place, align=kind.dtype.bitwidth // 8)
                lanes = ir.VectorType(scalar, width)
                vectors.append(vector if entries == lanes else builder.fpext(vector, lanes))
            return builder.fmul(*vectors)

        def half(sums: Any, width: int, start: int) -> Any:
            places = list(range(start, start + width))
            return builder.shuffle_vector(
                sums, sums, ir.Constant(ir.VectorType(ir.IntType(32), width), places)
            )

        last = builder.sub(size, builder.and_(size, number(LANES - 1)))
        total = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(scalar, LANES), [0.0] * LANES))
        with cgutils.for_range_slice(builder, number(0), last, number(LANES), size.type) as (i, _):
            builder.store(builder.fadd(builder.load(total), products(i, LANES)), total)
        sums, width = builder.load(total), LANES
        while width > 1:
            width //= 2
            sums = builder.fadd(half(sums, width, 0), half(sums, width, width))
            total = cgutils.alloca_once_value(builder, sums)
            start = builder.sub(size, builder.and_(size, number(2 * width - 1)))
            with builder.if_then(builder.icmp_unsigned("!=", builder.and_(size, number(width)), number(0))):
                builder.store(builder.fadd(sums, products(start, width)), total)
            sums = builder.load(total)
        return builder.extract_element(sums, ir.Constant(ir.IntType(32), 0))

    for array in (a, b):
        if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"):
            raise errors.TypingError(f"dot needs vectors without gaps in memory; got {array}")
    return zero(a, b, zero), generate


@overload(primitives.multiply_add, inline="always")  # type: ignore[untyped-decorator]
def _multiply_add(a, b, c):  # type: ignore[no-untyped-def]  # Numba compares the signatures of both functions
    return lambda a, b, c: _fma(a, b, c)


@overload(primitives.dot, inline="always")  # type: ignore[untyped-decorator]
def _dot(a, b):  # type: ignore[no-untyped-def]
    return lambda a, b: _sum_in_lanes(a, b, 0.0)


@overload(primitives.narrow_dot, inline="always")  # type: ignore[untyped-decorator]
def _narrow_dot(a, b):  # type: ignore[no-untyped-def]
    return lambda a, b: _sum_in_lanes(a, b, np.float32(0))


@overload(primitives.eigen)  # type: ignore[untyped-decorator]
def _eigen(A):  # type: ignore[no-untyped-def]
    return lambda A: np.linalg.eigh(A)


@overload(primitives.least_eigenvalue)  # type: ignore[untyped-decorator]
def _least_eigenvalue(A):  # type: ignore[no-untyped-def]
    return lambda A: np.linalg.eigvalsh(A)[0]
