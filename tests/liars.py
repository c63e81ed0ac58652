"""Functions that lie: what a check must notice when one of them takes the place of the function it tests."""

import dataclasses
import enum
import functools
import numbers
import types
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np


def liars(function: Callable) -> Iterator[tuple[str, Callable]]:
    """The function with its result scaled, shifted, made noisy, zero, negated, reindexed, emptied."""
    for name, lie in LIES.items():
        yield name, functools.wraps(function)(functools.partial(_lying, function, lie))


def _lying(function, lie, *args, **kwargs):
    value = function(*args, **kwargs)
    return _lie_about(value, lie, _noise(value))


def _noise(value) -> float:
    """In [0, 1), the same for the same value."""
    return zlib.crc32(repr(value).encode()) / 2**32


def _lie_about(value, lie, noise):
    if isinstance(value, types.GeneratorType):
        return iter(_lie_about(list(value), lie, noise))
    if lie is _emptied and type(value) in (list, tuple, frozenset, set):
        return type(value)()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _with_fields(value, lie, noise)
    if isinstance(value, tuple):
        lies = [_lie_about(part, lie, noise) for part in value]
        return type(value)(*lies) if hasattr(value, "_fields") else tuple(lies)
    if isinstance(value, list):
        return [_lie_about(part, lie, noise) for part in value]
    if isinstance(value, frozenset | set):
        return type(value)(_lie_about(part, lie, noise) for part in value)
    if isinstance(value, enum.Enum | str | bytes | None):
        return value
    return lie(value, noise)


def _with_fields(value, lie, noise):
    """A copy of a result whose fields lie; methods work on what the fields say."""
    made = object.__new__(type(value))
    for field in dataclasses.fields(value):
        object.__setattr__(made, field.name, _lie_about(getattr(value, field.name), lie, noise))
    return made


def _is_index(value) -> bool:
    return isinstance(value, numbers.Integral) or (isinstance(value, np.ndarray) and value.dtype.kind in "iu")


def _number(of_real):
    """A lie about real numbers, arrays and rational matrices; truth values are turned, indices left alone."""

    def lie(value, noise):
        if isinstance(value, bool | np.bool_):
            return not value
        if _is_index(value) or callable(value):
            return value
        try:
            return of_real(value, noise)
        except TypeError:
            return value

    return lie


def _rational(x: float, value):
    """x in an arithmetic that agrees with the value's."""
    if isinstance(value, Fraction):
        return Fraction(x)
    return x if isinstance(value, float | np.ndarray) else _flint(x, value)


def _flint(x, value):
    from flint import fmpq, fmpq_mat

    return fmpq(*float(x).as_integer_ratio()) if isinstance(value, fmpq | fmpq_mat) else x


def _reindexed(value, noise):
    if isinstance(value, np.ndarray) and value.ndim:
        return np.roll(value, 1, axis=0) if not _is_index(value) else np.abs(value - 1)
    return abs(value - 1) if _is_index(value) and not isinstance(value, bool) else value


def _emptied(value, noise):
    """Sequences lose their entries (see `_lie_about`); single values stay."""
    return value[:0] if isinstance(value, np.ndarray) and value.ndim else value


LIES = {
    "scaled": _number(lambda value, noise: value * _rational(1.125, value)),
    "shifted": _number(lambda value, noise: value + _rational(0.25, value)),
    "noisy": _number(lambda value, noise: value * _rational(0.5 + round(noise, 4), value)),
    "zero": _number(lambda value, noise: value * _rational(0.0, value)),
    "negated": _number(lambda value, noise: -value),
    "reindexed": _reindexed,
    "emptied": _emptied,
}
