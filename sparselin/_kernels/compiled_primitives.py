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


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c in float32, rounded once."""


def _define_multiply_add(function: Any, kind: Any) -> None:
    """Let `function` be the instruction for numbers of type `kind`, or else a function of the C library."""
    type_callable(function)(lambda context: lambda a, b, c: kind)

    @lower_builtin(function, kind, kind, kind)  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.fma(*values)


_define_multiply_add(primitives.multiply_add, types.float64)
_define_multiply_add(_fma, types.float32)


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
        arrays = [
            context.make_array(array)(context, builder, value)
            for array, value in zip(signature.args, values, strict=True)
        ]
        return _sum_in_lanes(builder, arrays, context.get_value_type(kind), kind.bitwidth)


_define_dot(primitives.dot, types.float64)
_define_dot(primitives.narrow_dot, types.float32)


def _sum_in_lanes(builder: Any, arrays: list[Any], scalar: Any, bits: int) -> Any:
    """Write code for the sum of the products of two arrays in lanes, which have the type `scalar`.

    The additions are of vectors. The compiler may not make them of a sum that is written in Python, because
    their order is another one. The vectors have 256 bits: wider ones would slow down the processor.
    """
    (size,) = cgutils.unpack_tuple(builder, arrays[0].shape)

    def number(n: int) -> Any:
        return ir.Constant(size.type, n)

    def load(array: Any, start: Any, width: int) -> Any:
        """Return a vector of entries of an array, converted to the type of the lanes."""
        entry = array.data.type.pointee
        lanes = ir.VectorType(scalar, width)
        place = builder.bitcast(builder.gep(array.data, [start]), ir.PointerType(ir.VectorType(entry, width)))
        vector = builder.load(place, align=4)
        return vector if entry == scalar else builder.fpext(vector, lanes)

    def add_products(sums: list[Any], start: Any) -> None:
        """Add to the vectors of partial sums the products of as many entries, from `start` on."""
        for sum_ in sums:
            width = sum_.type.pointee.count
            terms = builder.fmul(*(load(array, start, width) for array in arrays))
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


@overload(primitives.add_eight_rows)  # type: ignore[untyped-decorator]
def _add_eight_rows(A, i, left, x, out):  # type: ignore[no-untyped-def]
    def add_eight_rows(A, i, left, x, out):  # type: ignore[no-untyped-def]
        right = left + out.size
        a, b, c, e = A[i, left:right], A[i + 1, left:right], A[i + 2, left:right], A[i + 3, left:right]
        f, g, h, k = A[i + 4, left:right], A[i + 5, left:right], A[i + 6, left:right], A[i + 7, left:right]
        xa, xb, xc, xe = x[i], x[i + 1], x[i + 2], x[i + 3]
        xf, xg, xh, xk = x[i + 4], x[i + 5], x[i + 6], x[i + 7]
        for j in range(out.size):
            ab = _fma(xa, np.float32(a[j]), xb * np.float32(b[j]))
            ce = _fma(xc, np.float32(c[j]), xe * np.float32(e[j]))
            fg = _fma(xf, np.float32(f[j]), xg * np.float32(g[j]))
            hk = _fma(xh, np.float32(h[j]), xk * np.float32(k[j]))
            out[j] += (ab + ce) + (fg + hk)

    return add_eight_rows


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
