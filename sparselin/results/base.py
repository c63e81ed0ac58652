"""The base classes of all results, and `Status`: a result is a frozen dataclass with read-only arrays."""

from __future__ import annotations

import abc
import dataclasses
import enum
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from sparselin.results.display import Column, Table, as_frame, as_html, as_latex, as_text, number
from sparselin.validation import FloatArray as FloatArray
from sparselin.validation import IndexArray as IndexArray
from sparselin.validation import Names as Names
from sparselin.validation import (
    check_design,
    check_finite,
    frame_labels,
    frame_names,
    hint,
    some_names,
    to_array,
)

_T = TypeVar("_T")

# What other packages call an attribute, and what to call here.
_CALLS = {
    "plot": "sparselin.plots.show(result) draws it",
    "summary": "print(result) shows its table, and result.to_frame() returns it",
}
_FITTED = dict.fromkeys(("fitted", "fittedvalues", "fitted_values"), "result.predict(X) returns them")
_FITTED |= dict.fromkeys(("resid", "residuals"), "they are y - result.predict(X)")


class Status(enum.Enum):
    """The way in which a method ended. The value explains the end and, if possible, says what to do.

    COMPLETED means that the method did what was requested. It does not mean that each step had only one best
    feature: a completed path may contain ties. The path of a greedy method lists its ties in `ties`, and its
    table in the column "ties". The table of a `LassoPath` says at how many knots several features enter or
    leave together, and the field `active` lists these features.
    """

    COMPLETED = "completed as requested"
    TOLERANCE = "the residual norm or deviance is within `tol` or `residual`; decrease that limit to continue"
    EXACT_FIT = "the residual is zero to rounding: the model fits y exactly, so nothing is left to explain"
    NO_CORRELATION = (
        "no column reduces the residual: to rounding it is orthogonal to all columns (with nonnegative "
        "coefficients: no column has a positive correlation with it)"
    )
    RANK_EXHAUSTED = "every remaining column lies in the span of the selected ones: no more can be selected"
    BEYOND_PRECISION = (
        "rounding leaves the next step undecided, because columns are nearly dependent, the data are nearly "
        "separated, or a tolerance is too small; use float64 or a larger tolerance, or leave out columns "
        "that the others determine"
    )
    # only `generalized_omp` and selectors with its losses
    NO_MINIMUM = (
        "with the next feature or group the data are separated, so the likelihood has no maximum; the result "
        "is the last model with a maximum; pass X without the feature or group in `unfitted` to continue"
    )
    # only `lasso_path` and `gradient_flow`
    MAX_STEPS = "the path was cut off after `max_steps` segments or `max_events` events; increase the limit"
    MAX_ITER = "the iteration limit was reached before convergence was certified; increase the limit"
    # only the baselines for networks
    FILLED = (
        "the method picked fewer than k different features; the features with the next best scores fill "
        "`support`, constant features last"
    )
    # only `SequentialAttention` on a stream
    STREAM_ENDED = (
        "training ended before its last phase (no more batches, or an error), and the result holds the "
        "completed phases; pass more batches, or use fewer steps for each phase"
    )
    # only `SequentialAttention` with a penalty
    NO_ATTENTION = (
        "the attention weights of all remaining units tended to zero: the penalty is too large; decrease it "
        "to continue"
    )
    STOPPED = "stopped by the callback, or by Ctrl-C (in `best_subset` and in the training of networks)"

    @property
    def message(self) -> str:
        """The explanation of this status in words: the value of the enum member."""
        return self.value

    @property
    def line(self) -> str:
        """The line below a table of results: the name of this status and its message."""
        return f"{self.name}: {self.value}"


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(dataclasses.field,))
def result(cls: type[_T]) -> type[_T]:
    """Make a class a frozen dataclass with read-only arrays. `Result` defines its equality and its `repr`."""
    cls.__post_init__ = _read_only  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)


class Result(abc.ABC):
    """A result: it has a line for `repr`, a table for `print` and notebooks, a data frame, and equality.

    Two results are equal if they have the same class and all their fields are equal, apart from `certificate`
    and `saved`. Arrays are equal if they have the same shape, dtype and entries; NaN equals NaN. Like arrays,
    results are not hashable. They can be copied and pickled. Some fields are computed when they are first
    read; they do not depend on what happens to the data of the caller meanwhile.
    """

    @classmethod
    def _deferring(cls, later: object, **fields: Any) -> Self:
        """Make a result of its fields, except some, each of which is computed when it is read first.

        later : an object with a method for each of the other fields, whose name is that of the field.
        fields : none is a tuple of arrays.
        """
        for value in fields.values():
            if value.__class__ is np.ndarray:
                value.flags.writeable = False
        made = cls.__new__(cls)
        vars(made).update(fields, _later=later)
        return made

    @abc.abstractmethod
    def _headline(self) -> str:
        """Return one line about the result: its size, its main numbers and its status."""

    @abc.abstractmethod
    def _table(self) -> Table:
        """Return the table of the result."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._headline()}>"

    def __str__(self) -> str:
        """Return the table as text; for more than 24 rows, only the first 12 and the last 12 rows."""
        return as_text(self._title, self._table())

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        return as_html(self._title, self._table())

    @property
    def _title(self) -> str:
        return f"{type(self).__name__}: {self._headline()}"

    def to_frame(self, library: str | None = None) -> Any:
        """Return all rows of the table as a DataFrame, in which numbers are numbers, not text.

        library : "pandas" or "polars". By default it is the library that this program has imported, or else
            an installed one; if both are possible, it is pandas.

        Raises ImportError if there is no such library; its message names the extra to install. Raises
        ValueError for another library.
        """
        return as_frame(self._table(), library)

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Compute a field of `_deferring`; raise AttributeError for a name that is no attribute.

            The error says what to call if other packages have an attribute `name`.
            """
            if "_later" in vars(self) and name in type(self).__dataclass_fields__:
                value = getattr(vars(self)["_later"], name)()
                _lock_arrays([value])
                return vars(self).setdefault(name, value)
            known = _CALLS | _FITTED if hasattr(type(self), "predict") else _CALLS
            own = name.rstrip("_")
            if name not in known and (
                own == name or not own or own.startswith("_") or not hasattr(self, own)
            ):
                return object.__getattribute__(self, name)  # the usual error, also one inside a property
            words = known.get(name, f"it is called {own} here")
            raise AttributeError(f"{type(self).__name__} has no attribute {name}; {words}")

    def to_latex(self) -> str:
        """Return all rows of the table that `print` shows as a LaTeX `tabular`, its notes as comments.

        It needs no LaTeX package. Numbers are rounded as in the table; names are escaped.

        >>> import sparselin as sl
        >>> print(sl.softmax_penalty([1.0, 4.0]).to_latex().splitlines()[0])
        \\begin{tabular}{rrrr}
        """
        return as_latex(self._table())

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        names = (field.name for field in dataclasses.fields(self) if field.compare)  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __getstate__(self) -> dict[str, Any]:
        """Return all fields, for a copy or a pickle."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _read_only(self)


@dataclasses.dataclass(frozen=True)
class Fit:
    """The properties of a fit that its result needs to name, scale and explain features.

    Attributes
    ----------
    n_features : d.
    names : the d names of the features, or None.
    with_intercept : whether there is an intercept.
    standardized : whether the columns were standardized. If so, every λ and every attention weight refers to
        the standardized columns; coefficients are in the units of X.
    positive : whether the coefficients must be nonnegative, except those of forced features.
    by_length : whether the path is of `ols`, which divides correlations by the lengths of projected columns.
    loss : "squared", "logistic" or "poisson".
    classes : for the logistic loss the two labels in sorted order, otherwise (). The model predicts the
        probability of the second one.
    """

    n_features: int
    names: Names = None
    with_intercept: bool = False
    standardized: bool = False
    positive: bool = False
    by_length: bool = False
    loss: str = "squared"
    classes: tuple[Any, ...] = ()

    def notes(self, intercept: float | None = None, deviance: float | None = None) -> list[str]:
        """Return the notes below a table: the intercept (unless None), the meaning of R², units and signs.

        deviance : the deviance without features, for a loss other than the squared one.
        """
        centred, plain = "R² = 1 − ‖r‖²/‖y − ȳ‖²", "R² = 1 − ‖r‖²/‖y‖², uncentred: there is no intercept"
        if deviance is not None:
            share = f"D² = 1 − deviance/{number(deviance)}, the deviance"
            centred, plain = f"{share} of the intercept alone", f"{share} at η = 0: there is no intercept"
        first = [] if intercept is None else [f"intercept {number(intercept)}"]
        return [*(first * self.with_intercept), centred if self.with_intercept else plain, *self.units()]

    def units(self) -> list[str]:
        """Return the notes below a table about the units of λ and coefficients, their signs, and labels."""
        notes = ["λ refers to the standardized columns; coefficients are in the units of X"]
        notes = notes * self.standardized + ["β ≥ 0, except on forced features"] * self.positive
        if self.classes and self.classes[1] != 1:
            notes.append(f"η is the log odds of {self.classes[1]!r}; the other label is {self.classes[0]!r}")
        return notes


class Named(Result):
    """The base class of results about features, which may have names."""

    names: Names

    def name_of(self, j: int) -> str:
        """Return the name of feature j. If X has no names, it is "x0", "x1", … as in scikit-learn."""
        return f"x{j}" if self.names is None else self.names[j]

    def _names_of(self, J: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.name_of(int(j)) for j in J)

    def _features(
        self, J: IndexArray, coef: FloatArray | None = None, head: str = "name"
    ) -> tuple[Column, ...]:
        """Return the first columns of a table with a row for each feature of J, and with `coef` if given.

        head : the head of the column with the names.
        """
        columns = Column("index", None, J), Column("name", head, self._names_of(J))
        return columns if coef is None else (*columns, Column("coefficient", "coefficient", coef))


class Supported(Named):
    """The base class of results about the features in `support`, whose number is the length of the result."""

    support: IndexArray

    def __len__(self) -> int:
        return len(self.support)

    @property
    def support_names(self) -> tuple[str, ...]:
        """The names of `support`."""
        return self._names_of(self.support)


def _of_fit(name: str, doc: str) -> Any:
    """Return a property of a path that is the field of this name of its `fit`."""
    return property(operator.attrgetter(f"fit.{name}"), doc=doc)


class FittedPath(Named):
    """The base class of results about paths of models; the fields of `fit` are their properties."""

    fit: Fit
    n_features: int = _of_fit("n_features", "d, the number of features.")
    names: Names = _of_fit("names", "The d names of the features, or None.")
    with_intercept: bool = _of_fit("with_intercept", "True if the path has an intercept.")
    standardized: bool = _of_fit("standardized", "True if the columns were standardized.")
    positive: bool = _of_fit(
        "positive", "True if the coefficients must be nonnegative, except those of forced features."
    )
    by_length: bool = _of_fit("by_length", "True if the path is of `ols`.")
    loss: str = _of_fit("loss", 'The loss that the models minimise: "squared", "logistic" or "poisson".')
    classes: tuple[Any, ...] = _of_fit(
        "classes", "The two labels in sorted order for the logistic loss, otherwise ()."
    )


class WithSquares(FittedPath):
    """The base class of paths with a residual norm for each model; its square may also be a deviance."""

    residual_norm: FloatArray

    @property
    def r2_path(self) -> FloatArray:
        """(t + 1,) R² after 0, …, t steps: 1 − ‖r_j‖²/‖r_0‖², or 0 if r_0 = 0; D² for other losses."""
        norms = self.residual_norm
        return np.clip(1 - (norms / norms[0]) ** 2, 0, 1) if norms[0] > 0 else np.zeros_like(norms)

    @property
    def r2(self) -> float:
        """R² of the last model; with an intercept it refers to y − ȳ. For other losses this is D²."""
        return float(self.r2_path[-1])


def dense(inner: FloatArray, features: IndexArray, d: int) -> FloatArray:
    """Return coefficients (..., d) that are zero except on `features`, given those of `features` (..., p)."""
    whole = np.zeros((*inner.shape[:-1], d), inner.dtype)
    whole[..., features] = inner
    return whole


def check_step(t: int, most: int, what: str = "steps") -> None:
    """Raise ValueError unless 0 ≤ t ≤ `most`, the number of steps of a path (or of `what`)."""
    if not 0 <= t <= most:
        raise ValueError(f"t must lie in 0..{most}, the number of {what}; got {t}")


def check_places(given: ArrayLike, name: str, low: float, high: float, bounds: str) -> FloatArray:
    """Check that a number or vector lies in [low, high], the range of a path, and convert it to float64.

    name, bounds : the name of the parameter, and the range in words; errors contain both.
    """
    places = np.asarray(given)
    if places.dtype.kind not in "iuf" or places.ndim > 1:
        raise TypeError(f"{name} must be a real number, or a vector of real numbers; got {given!r}")
    places = places.astype(np.float64)
    bad = places[~(np.isfinite(places) & (places >= low) & (places <= high))]
    if bad.size:
        raise ValueError(f"{name} must be finite{bounds}; got {bad[0]}")
    return places


def _same(a: Any, b: Any) -> bool:
    """Return whether two values of a field are equal; NaN equals NaN."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        alike = type(a) is type(b) and a.dtype == b.dtype
        return alike and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b or (a != a and b != b))


def _read_only(result: Any) -> None:
    """Make the arrays in the fields read-only."""
    _lock_arrays(vars(result).values())


def _lock_arrays(values: Iterable[Any]) -> None:
    """Make arrays read-only: arrays among the values, and arrays in tuples and in tuples of (…, array)."""
    for value in values:
        for part in value if type(value) is tuple else (value,):
            last = part[-1] if part.__class__ is tuple and part else part
            if last.__class__ is np.ndarray:
                last.flags.writeable = False


def combine(
    X: Any, columns: IndexArray, coef: FloatArray, intercept: Any, n_features: int, names: Names
) -> FloatArray:
    """Compute intercept + X_J·coef, where J = columns: (n,) for coef (p,), (n, q) for coef (p, q).

    If X and the fit have names, the columns J of X are found by their names, and X needs no other columns.

    Raises ValueError if X lacks a column J or has two of this name, has NaN or infinity in a column J, or has
    no names and not n_features columns; or if only one of X and the fit has names, see `check_order`.
    """
    check_order(X, names)
    now = frame_names(X)
    if now is not None and names is not None and (now != names or len(set(now)) == len(now)):
        then = names
        names = tuple(names[j] for j in columns)
        for name in names:
            _check_column(name, now, then)
        if not names:
            return np.asarray(np.zeros((len(X), 0), coef.dtype) @ coef + intercept)
        places = [now.index(name) for name in names]  # labels may be numbers, whose texts are the names
        X = X.iloc[:, places] if hasattr(X, "iloc") else X[list(names)]
        columns = np.arange(len(names))
        n_features = len(names)
    X = _complex(X) if np.iscomplexobj(coef) else check_design(X)
    if X.shape[1] != n_features:
        raise ValueError(f"X must have {n_features} columns, as in the fit; got shape {X.shape}")
    block = X[:, columns]
    if isinstance(block, np.ndarray):  # the entries of sparse arrays are checked with the design
        check_finite(block, "X", tuple(f"x{j}" if names is None else names[j] for j in columns))
    return np.asarray(block @ coef + intercept)


def check_order(X: Any, names: Names) -> None:
    """Raise ValueError if X or the fit has the labels 0, …, d − 1 in another order, and one has no names.

    The labels 0, …, d − 1 in this order are no names, so columns are taken by position. If the labels were
    names, other columns would be meant.

    names : the names of the columns in the fit, or None.
    """
    labels = frame_labels(X)
    positions = tuple(range(len(labels)))
    mixed = names is None and labels != positions and set(labels) == set(positions)
    if names is not None and labels and labels == positions:
        texts = tuple(map(str, positions))
        mixed = names != texts and set(names) == set(texts)
    if not mixed:
        return
    order = [*positions] if names is None else [int(name) for name in names]
    shown = f"list(range({len(labels)}))" if names is None else str(order)
    columns = some_names(tuple(map(str, order)))
    raise ValueError(
        f"X has the labels {some_names(labels)}, and the columns of the fit are {columns}: by label "
        f"and by position these are different columns. Pass X[{shown}] to take them by label, or "
        "X.to_numpy() to take them by position"
    )


def _check_column(name: str, now: tuple[str, ...], then: tuple[str, ...]) -> None:
    """Raise ValueError unless a frame with the names `now`, and the fit (`then`), have one column `name`."""
    if name not in now:
        raise ValueError(f"X must have the column {name!r} of the fit.{hint(name, now)}")
    if (count := max(now.count(name), then.count(name))) > 1:
        raise ValueError(f"X must have one column {name!r}; got {count}. Pass X as for the fit, or an array")


def _complex(X: Any) -> Any:
    """Check an X that may be complex, for a prediction with complex coefficients, and return X."""
    X = X if hasattr(X, "tocsc") else to_array(X, "X")
    return check_design(X.real) + 1j * check_design(X.imag) if X.dtype.kind == "c" else check_design(X)
