"""The compiled forms of the functions in `primitives`, which Numba takes in their place.

Those that are called often are written with LLVM's builder, in the middle of the function that calls them.
(An overload that Numba inlines would be shorter. But if f is such an overload, Numba 0.68 loses the
assignment `t.A[i] = f(x)` to an array that is a field of a tuple.)
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.extending import lower_builtin, overload, type_callable

from sparselin._kernels import primitives
from sparselin._kernels.primitives import LANES

type_callable(primitives.multiply_add)(lambda context: lambda a, b, c: types.float64)


@lower_builtin(primitives.multiply_add, types.float64, types.float64, types.float64)  # type: ignore[untyped-decorator]
def _multiply_add(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write the instruction, or else a call of the C library."""
    return builder.fma(*values)


def _define_dot(function: Any, kind: Any) -> None:
    """Let `function` compute an inner product whose sums in lanes are of the type `kind`."""

    def result(a: Any, b: Any) -> Any:
        for array in (a, b):
            if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"):
                raise errors.TypingError(f"dot needs vectors without gaps in memory; got {array}")
        return kind

    type_callable(function)(lambda context: result)

    @lower_builtin(function, types.Array, types.Array)  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        """Write a call of a function that a module has once, so that the compiler has less to do."""
        arrays = [
            context.make_array(array)(context, builder, value)
            for array, value in zip(signature.args, values, strict=True)
        ]
        arguments = [array.data for array in arrays] + cgutils.unpack_tuple(builder, arrays[0].shape)
        scalar = context.get_value_type(kind)
        shape = ir.FunctionType(scalar, [argument.type for argument in arguments])
        name = f"sparselin.{function.__name__}.{signature.args[0].dtype}.{signature.args[1].dtype}"
        inner = cgutils.get_or_insert_function(builder.module, shape, name)
        if inner.is_declaration:
            inner.linkage = "linkonce_odr"
            for attribute in ("noinline", "nounwind", "readonly"):
                inner.attributes.add(attribute)
            body = ir.IRBuilder(inner.append_basic_block())
            a, b, size = inner.args
            body.ret(_sum_in_lanes(body, a, b, size, scalar, kind.bitwidth))
        return builder.call(inner, arguments)


_define_dot(primitives.dot, types.float64)
_define_dot(primitives.narrow_dot, types.float32)


def _sum_in_lanes(builder: Any, a: Any, b: Any, size: Any, scalar: Any, bits: int) -> Any:
    """Write code for the sum of the products of two vectors in lanes, which have the type `scalar`.

    The additions are of vectors. The compiler may not make them of a sum that is written in Python, because
    their order is another one. The vectors have 256 bits: wider ones would slow down the processor.
    """

    def number(n: int) -> Any:
        return ir.Constant(size.type, n)

    def load(array: Any, start: Any, width: int) -> Any:
        """Return a vector of entries of an array, converted to the type of the lanes."""
        entry = array.type.pointee
        lanes = ir.VectorType(scalar, width)
        place = builder.bitcast(builder.gep(array, [start]), ir.PointerType(ir.VectorType(entry, width)))
        vector = builder.load(place, align=4)
        return vector if entry == scalar else builder.fpext(vector, lanes)

    def add_products(sums: list[Any], start: Any) -> None:
        """Add to the vectors of partial sums the products of as many entries, from `start` on."""
        for sum_ in sums:
            width = sum_.type.pointee.count
            terms = builder.fmul(*(load(array, start, width) for array in (a, b)))
            builder.store(builder.fadd(builder.load(sum_), terms), sum_)
            start = builder.add(start, number(width))

    def half(vector: Any, start: int) -> Any:
        places = list(range(start, start + vector.type.count // 2))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
        return builder.shuffle_vector(vector, vector, mask)

    most = 256 // bits
    nothing = ir.Constant(ir.VectorType(scalar, most), [0.0] * most)
    sums = [cgutils.alloca_once_value(builder, nothing) for _ in range(LANES // most)]
    last = builder.sub(size, builder.and_(size, number(LANES - 1)))
    with cgutils.for_range_slice(builder, number(0), last, number(LANES), size.type) as (i, _):
        add_products(sums, i)
    width = LANES
    while width > 1:
        width //= 2
        values = [builder.load(sum_) for sum_ in sums]
        if len(values) == 1:
            values = [half(values[0], 0), half(values[0], width)]
        pairs = zip(values[: len(values) // 2], values[len(values) // 2 :], strict=True)
        sums = [cgutils.alloca_once_value(builder, builder.fadd(*pair)) for pair in pairs]
        with builder.if_then(builder.icmp_unsigned("!=", builder.and_(size, number(width)), number(0))):
            add_products(sums, builder.sub(size, builder.and_(size, number(2 * width - 1))))
    return builder.extract_element(builder.load(sums[0]), ir.Constant(ir.IntType(32), 0))


_PAIRS = (types.Array, types.Integer, types.Integer, types.Array, types.Array)


@type_callable(primitives.add_four_pairs)  # type: ignore[untyped-decorator]
def _add_four_pairs(context: Any) -> Any:
    return lambda A, p, left, x, out: types.none


@lower_builtin(primitives.add_four_pairs, *_PAIRS)  # type: ignore[untyped-decorator]
def _lower_add_four_pairs(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write code for a loop over vectors of eight entries, and another over the entries that are left.

    Compilers know the sum of the even and the odd entries of a product of short integers as one instruction
    (pmaddwd), which they do not find in a loop in Python.
    """
    A, p, left, x, out = (
        context.make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, values, strict=True)
    )
    (size,) = cgutils.unpack_tuple(builder, out.shape)
    _, columns = cgutils.unpack_tuple(builder, A.shape)
    p, left = (builder.sext(index, size.type) if index.type != size.type else index for index in (p, left))

    def number(n: int) -> Any:
        return ir.Constant(size.type, n)

    rows = [builder.add(p, number(s)) for s in range(4)]
    starts = [builder.gep(A.data, [builder.add(builder.mul(row, columns), left)]) for row in rows]
    factors = [builder.load(builder.gep(x.data, [row])) for row in rows]

    def add(j: Any, width: int) -> None:
        sums = [
            _pair_products(builder, builder.load(_place(builder, start, j, width), align=4), same)
            for start, same in zip(
                starts, (_repeat(builder, factor, width) for factor in factors), strict=True
            )
        ]
        halves = [_to_float(builder, builder.add(*pair)) for pair in (sums[:2], sums[2:])]
        place = _place(builder, out.data, j, width)
        builder.store(builder.fadd(builder.load(place, align=4), builder.fadd(*halves)), place, align=4)

    last = builder.sub(size, builder.and_(size, number(7)))
    with cgutils.for_range_slice(builder, number(0), last, number(8), size.type) as (j, _):
        add(j, 8)
    with cgutils.for_range_slice(builder, last, size, number(1), size.type) as (j, _):
        add(j, 1)
    return context.get_dummy_value()


@type_callable(primitives.dot_of_pairs)  # type: ignore[untyped-decorator]
def _dot_of_pairs(context: Any) -> Any:
    return lambda a, x: types.float32


@lower_builtin(primitives.dot_of_pairs, types.Array, types.Array)  # type: ignore[untyped-decorator]
def _lower_dot_of_pairs(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Write code for a loop over vectors of eight entries, two at a time."""
    a, x = (
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args, values, strict=True)
    )
    (size,) = cgutils.unpack_tuple(builder, a.shape)
    step = ir.Constant(size.type, 8)
    sums = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(ir.FloatType(), 8), [0.0] * 8))
    ends = ir.Constant(size.type, 0), size, ir.Constant(size.type, 16)
    with cgutils.for_range_slice(builder, *ends, size.type) as (i, _):
        halves = [
            _pair_products(builder, *(builder.load(_place(builder, v.data, j, 8), align=4) for v in (a, x)))
            for j in (i, builder.add(i, step))
        ]
        builder.store(builder.fadd(builder.load(sums), _to_float(builder, builder.add(*halves))), sums)
    total = builder.load(sums)
    for width in (4, 2, 1):
        total = builder.fadd(*(_entries(builder, total, start, 1, width) for start in (0, width)))
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _place(builder: Any, data: Any, start: Any, width: int) -> Any:
    """Return a pointer to the vector of `width` entries from `start` on."""
    kind = ir.PointerType(ir.VectorType(data.type.pointee, width))
    return builder.bitcast(builder.gep(data, [start]), kind)


def _pair_products(builder: Any, a: Any, b: Any) -> Any:
    """Return a vector with the sums of the two products of each pair of a and b."""
    width = a.type.count
    short, long = (ir.VectorType(ir.IntType(bits), 2 * width) for bits in (16, 32))
    terms = builder.mul(*(builder.sext(builder.bitcast(value, short), long) for value in (a, b)))
    return builder.add(*(_entries(builder, terms, start, 2, width) for start in (0, 1)))


def _to_float(builder: Any, vector: Any) -> Any:
    """Return a vector of integers in float32."""
    return builder.sitofp(vector, ir.VectorType(ir.FloatType(), vector.type.count))


def _repeat(builder: Any, value: Any, width: int) -> Any:
    """Return a vector whose entries are all equal to `value`."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width))


def _entries(builder: Any, vector: Any, start: int, step: int, width: int) -> Any:
    """Return a vector of `width` entries of a vector: start, start + step, …"""
    places = list(range(start, start + step * width, step))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), width), places))


@overload(primitives.subtract)  # type: ignore[untyped-decorator]
def _subtract(share, a, b):  # type: ignore[no-untyped-def]  # Numba compares the signatures of both functions
    def subtract(share, a, b):  # type: ignore[no-untyped-def]
        for i in range(b.size):
            b[i] -= share * a[i]

    return subtract


@overload(primitives.copy)  # type: ignore[untyped-decorator]
def _copy(a, b):  # type: ignore[no-untyped-def]
    def copy(a, b):  # type: ignore[no-untyped-def]
        for i in range(a.size):  # b[:] = a takes the compiler a second more, for its message about shapes
            b[i] = a[i]

    return copy


@overload(primitives.is_among)  # type: ignore[untyped-decorator]
def _is_among(j, chosen, t):  # type: ignore[no-untyped-def]
    def is_among(j, chosen, t):  # type: ignore[no-untyped-def]
        for s in range(t):  # noqa: SIM110
            if chosen[s] == j:
                return True
        return False

    return is_among


@overload(primitives.eigen)  # type: ignore[untyped-decorator]
def _eigen(A):  # type: ignore[no-untyped-def]
    return lambda A: np.linalg.eigh(A)


@overload(primitives.least_eigenvalue)  # type: ignore[untyped-decorator]
def _least_eigenvalue(A):  # type: ignore[no-untyped-def]
    return lambda A: np.linalg.eigvalsh(A)[0]
