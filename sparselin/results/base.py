"""Common to all results: a frozen dataclass with read-only arrays, and a status."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IndexArray: TypeAlias = NDArray[np.intp]
Names: TypeAlias = tuple[str, ...] | None
_T = TypeVar("_T")


class Status(enum.Enum):
    """How a method ended. The value explains it and, if possible, says what to do."""

    COMPLETED = "completed as requested"
    TOLERANCE = "the residual norm is within `tol` or `residual`; decrease these to continue"
    EXACT_FIT = "the residual is zero to rounding: y lies in the span of the selected columns"
    NO_CORRELATION = "the residual is orthogonal to every column to rounding: no column reduces it"
    RANK_EXHAUSTED = "every remaining column lies in the span of the selected ones: no more can be selected"
    BEYOND_PRECISION = (
        "columns are so nearly dependent that rounding leaves the next event undecided; "
        "use float64, or omit columns that the others determine"
    )
    MAX_STEPS = "the path has as many segments as `max_steps` allows; increase it to continue"
    MAX_ITER = "the iteration limit was reached before convergence was certified; increase the limit"
    STOPPED = "the callback, or an interrupt, asked to stop"

    @property
    def message(self) -> str:
        """The explanation as a sentence."""
        return self.value


@dataclass_transform(eq_default=False, frozen_default=True)
def result(cls: type[_T]) -> type[_T]:
    """A frozen dataclass whose arrays are read-only too."""
    cls.__post_init__ = _read_only  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True, eq=False)(cls)


def _read_only(result: Any) -> None:
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
