"""What every result has in common: a frozen dataclass with read-only arrays, and a status."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, TypeAlias, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IndexArray: TypeAlias = NDArray[np.intp]
_T = TypeVar("_T")


class Status(enum.Enum):
    """How a method ended. The value says what that means and, where it helps, what to do."""

    COMPLETED = "did all that was asked"
    TOLERANCE = "the relative residual norm fell to `tol`; lower `tol` to go on"
    EXACT_FIT = "the residual is zero to rounding: y lies in the span of the selected columns"
    NO_CORRELATION = "the residual is orthogonal to every column to rounding: none can be seen to lower it"
    RANK_EXHAUSTED = "every column left lies in the span of the selected ones: no more can be selected"
    BEYOND_PRECISION = (
        "columns are so nearly dependent that rounding hides the next event; "
        "use float64, or leave out columns that the others determine"
    )
    MAX_STEPS = "the path has as many segments as `max_steps` allows; raise it to go on"
    MAX_ITER = "the iteration limit came before the certificate, so the result is undecided; raise the limit"
    STOPPED = "the callback, or an interrupt, asked to stop"

    @property
    def message(self) -> str:
        """The sentence for a person."""
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
