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
    their order is another one. The vectors have 256 bits: wider ones would slow down the processor.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        scalar, most = context.get_value_type(zero), 256 // zero.bitwidth
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

        def add_products(sums: list[Any], start: Any) -> None:
            for s, sum_ in enumerate(sums):
                width = sum_.type.pointee.count
                terms = products(builder.add(start, number(s * width)), width)
                builder.store(builder.fadd(builder.load(sum_), terms), sum_)

        def half(vector: Any, start: int) -> Any:
            width = vector.type.count // 2
            places = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width)))
            return builder.shuffle_vector(vector, vector, places)

        def variable(value: Any) -> Any:
            return cgutils.alloca_once_value(builder, value)

        nothing = ir.Constant(ir.VectorType(scalar, most), [0.0] * most)
        sums = [variable(nothing) for _ in range(LANES // most)]
        last = builder.sub(size, builder.and_(size, number(LANES - 1)))
        with cgutils.for_range_slice(builder, number(0), last, number(LANES), size.type) as (i, _):
            add_products(sums, i)
        width = LANES
        while width > 1:
            width //= 2
            values = [builder.load(sum_) for sum_ in sums]
            if len(values) > 1:
                pairs = zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True)
            else:
                pairs = [(half(values[0], 0), half(values[0], width))]
            sums = [variable(builder.fadd(*pair)) for pair in pairs]
            with builder.if_then(builder.icmp_unsigned("!=", builder.and_(size, number(width)), number(0))):
                add_products(sums, builder.sub(size, builder.and_(size, number(2 * width - 1))))
        return builder.extract_element(builder.load(sums[0]), ir.Constant(ir.IntType(32), 0))

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
