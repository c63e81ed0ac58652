"""Common to all results: a frozen dataclass with read-only arrays, and a status."""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from sparselin.results.display import Table, as_frame, as_html, as_text, number
from sparselin.validation import FloatArray as FloatArray
from sparselin.validation import IndexArray as IndexArray
from sparselin.validation import Names as Names
from sparselin.validation import (
    check_design,
    check_finite,
    frame_names,
    to_array,
)

_T = TypeVar("_T")


class Status(enum.Enum):
    """How a method ended. The value explains it and, if possible, says what to do."""

    COMPLETED = "completed as requested"
    TOLERANCE = "the residual norm, or deviance, is within `tol` or `residual`; decrease these to continue"
    EXACT_FIT = "the residual is zero to rounding: the selected columns fit y"
    NO_CORRELATION = (
        "no column reduces the residual, which is orthogonal to all of them to rounding "
        "(where coefficients must be nonnegative: positively correlated with none)"
    )
    RANK_EXHAUSTED = "every remaining column lies in the span of the selected ones: no more can be selected"
    BEYOND_PRECISION = (
        "rounding leaves the next step undecided, because columns are nearly dependent, data nearly "
        "separated, or a tolerance is too small; use float64, a larger tolerance, or omit columns that the "
        "others determine"
    )
    # of `generalized_omp` alone
    NO_MINIMUM = (
        "with the next feature the data are separated: a combination of features and the intercept tells "
        "the labels (of counts the zeros) without error wherever it is not zero, so that the likelihood "
        "grows for ever with its coefficient and has no maximum; the last model that has one is returned; "
        "pass X without the feature in `unfitted` to go on"
    )
    # of `lasso_path` alone
    MAX_STEPS = "the path has as many segments as `max_steps` allows; increase it to continue"
    MAX_ITER = "the iteration limit was reached before convergence was certified; increase the limit"
    # of the baselines for networks alone
    FILLED = (
        "the method picked fewer than k different features: those with the next best scores fill `support`, "
        "constant ones last"
    )
    # of `SequentialAttention` on a stream
    STREAM_ENDED = (
        "training ended before the last phase did, for want of batches or by an error: there are the units "
        "that the completed phases picked; pass more batches, or fewer steps for each phase"
    )
    # of `SequentialAttention` with a penalty
    NO_ATTENTION = (
        "the attention weights of all units that are left tended to zero: with this penalty none is worth "
        "having; decrease it to continue"
    )
    STOPPED = "the callback asked to stop, or Ctrl-C did, which `best_subset` and networks take so"

    @property
    def message(self) -> str:
        """The explanation as a sentence."""
        return self.value


@dataclass_transform(eq_default=False, frozen_default=True)
def result(cls: type[_T]) -> type[_T]:
    """A frozen dataclass whose arrays are read-only too. `Result` has its equality and its `repr`."""
    cls.__post_init__ = _read_only  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)


class Result(abc.ABC):
    """What all results can do: a line for `repr`, a table for `print` and notebooks, a frame, equality.

    Two results are equal if they are of one class and all their fields are equal: arrays in shape, dtype and
    every entry, NaN being equal to NaN. Like arrays, they are not hashable. They can be copied and pickled.
    """

    @abc.abstractmethod
    def _headline(self) -> str:
        """What it is about, in one line: how many of how many, the main numbers, the status."""

    @abc.abstractmethod
    def _table(self) -> Table:
        """Its rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._headline()}>"

    def __str__(self) -> str:
        """The table as text; of more than 24 rows the first and the last 12."""
        return as_text(self._title, self._table())

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return as_html(self._title, self._table())

    @property
    def _title(self) -> str:
        return f"{type(self).__name__}: {self._headline()}"

    def to_frame(self, library: str | None = None) -> Any:
        """The rows of the table, all of them, as a DataFrame whose numbers are numbers.

        library : "pandas" or "polars"; by default the one that is imported already, or else installed, pandas
            before polars. ImportError, which names the extra to install, where there is none; ValueError for
            another library.
        """
        return as_frame(self._table(), library)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = (field.name for field in dataclasses.fields(self))  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _read_only(self)


def ended(status: Status) -> str:
    """The line about the status below a table."""
    return f"{status.name}: {status.message}"


@dataclasses.dataclass(frozen=True)
class Fit:
    """The columns of a fit, as far as its result needs them.

    Attributes
    ----------
    n_features : d.
    names : d names of the features, or None.
    with_intercept, standardized : whether there is an intercept, and whether columns are standardized: then
        λ's and attention weights are of these. Coefficients are in the units of X.
    positive : whether coefficients are those of nonnegative least squares.
    """

    n_features: int
    names: Names = None
    with_intercept: bool = False
    standardized: bool = False
    positive: bool = False

    def notes(self, intercept: float | None = None) -> list[str]:
        """Lines on the intercept, unless it is None, on what R² is the share of, the units and the signs."""
        notes = ["R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept"]
        if self.with_intercept:
            notes = ["R² = 1 − ‖r‖²/‖y − ȳ‖²"]
            if intercept is not None:
                notes.insert(0, f"intercept {number(intercept)}")
        return [*notes, *self.units()]

    def units(self) -> list[str]:
        """Lines on the units and the signs."""
        notes = ["λ is of the standardized columns, coefficients are in the units of X"]
        return notes * self.standardized + ["β ≥ 0, except on forced features"] * self.positive


class Named(Result):
    """A result about features, which may have names."""

    if TYPE_CHECKING:  # a field, or a property

        @property
        def names(self) -> Names: ...

    def name_of(self, j: int) -> str:
        """The name of feature j; without names "x0", "x1", … as in scikit-learn."""
        return f"x{j}" if self.names is None else self.names[j]

    def _names_of(self, J: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.name_of(int(j)) for j in J)


class FittedPath(Named):
    """A path of models: the properties of its `fit` are its own."""

    fit: Fit

    @property
    def n_features(self) -> int:
        """d."""
        return self.fit.n_features

    @property
    def names(self) -> Names:
        """d names of the features, or None."""
        return self.fit.names

    @property
    def with_intercept(self) -> bool:
        """Whether the path has an intercept."""
        return self.fit.with_intercept

    @property
    def standardized(self) -> bool:
        """Whether the path is of standardized columns."""
        return self.fit.standardized

    @property
    def positive(self) -> bool:
        """Whether coefficients must be nonnegative."""
        return self.fit.positive


def _same(a: Any, b: Any) -> bool:
    """Whether two values of a field are equal, NaN being equal to NaN."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        alike = type(a) is type(b) and a.dtype == b.dtype
        return alike and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b or (a != a and b != b))


def _read_only(result: Any) -> None:
    for field in dataclasses.fields(result):
        for array in _arrays(getattr(result, field.name)):
            array.flags.writeable = False


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays of a field: itself, those in a tuple, and those that end a tuple in it."""
    for part in value if isinstance(value, tuple) else (value,):
        last = part[-1] if isinstance(part, tuple) and part else part
        if isinstance(last, np.ndarray):
            yield last


def combined(
    X: Any, columns: IndexArray, coef: FloatArray, intercept: Any, n_features: int, names: Names
) -> FloatArray:
    """intercept + X_J coef, J = columns: (n,) for coef (p,), (n, q) for coef (p, q). Only X_J is read."""
    _check_same_columns(frame_names(X), names)
    X = _complex(X) if np.iscomplexobj(coef) else check_design(X)
    if X.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} columns, those of the fit; got shape {X.shape}")
    block = X[:, columns]
    if isinstance(block, np.ndarray):  # the entries of sparse arrays are checked with the design
        check_finite(block, "X", tuple(f"x{j}" if names is None else names[j] for j in columns))
    return np.asarray(block @ coef + intercept)


def _complex(X: Any) -> Any:
    """X checked, complex or real, for coefficients over ℂ."""
    X = X if hasattr(X, "tocsc") else to_array(X, "X")
    return check_design(X.real) + 1j * check_design(X.imag) if X.dtype.kind == "c" else check_design(X)


def _check_same_columns(now: Names, then: Names) -> None:
    """A frame has the names of the fit in their order; without names columns go by position."""
    if now is None or then is None or now == then:
        return
    j, (ours, theirs) = next((j, pair) for j, pair in enumerate(zip_longest(now, then)) if pair[0] != pair[1])
    here = "missing" if ours is None else repr(ours)
    there = f"there were {len(then)}" if theirs is None else f"it was {theirs!r}"
    todo = (
        "X[list(result.names)] has them in that order."
        if set(then) <= set(now) and len(set(then)) == len(then)
        else "Make it as that X was made, or pass an array without names."
    )
    raise ValueError(f"X must have the columns of the fit: column {j} is {here}; {there}. {todo}")
