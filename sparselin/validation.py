"""Validation of arguments, once, where they enter: designs, vectors, indices, counts, numbers.

A message names the argument, what came, what was expected and what to do.
"""

from __future__ import annotations

import difflib
import math
import operator
import sys
import zipfile
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IndexArray: TypeAlias = NDArray[np.intp]
Names: TypeAlias = tuple[str, ...] | None
# An argument of np.random.default_rng.
Rng: TypeAlias = (
    int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)
# Columns of a design: indices, or names where the design has names.
Columns: TypeAlias = Iterable[int | str]

# The largest count that a kernel can be given.
_MOST = 2**63 - 1


def check_design(X: Any, name: str = "X") -> Any:
    """Return a contiguous array, or a CSC array with finite entries, of two dimensions and a float dtype.

    Whether the entries of an array are finite is checked with its norms (see `Problem`).
    """
    sparse = sys.modules.get("scipy.sparse")  # a sparse X exists only if its module is loaded
    if sparse is not None and sparse.issparse(X):
        X = sparse.csc_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # it may share its entries with what was given
            X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = to_numeric(X, name)
        if not np.isfinite(X.data).all():
            row, column = (index[~np.isfinite(X.data)][0] for index in X.tocoo().coords)
            raise ValueError(
                f"{name} must be finite; entry {int(row), int(column)} is not. Drop or impute such first."
            )
    else:
        X = to_numeric(to_array(X, name), name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of shape (n, d); got {X.ndim} dimension(s), shape {X.shape}. "
            f"{name}.reshape(-1, 1), for a Series {name}.to_frame(), makes one column a matrix; "
            "frame.iloc[[i]] is one row."
        )
    if 0 in X.shape:
        raise ValueError(f"{name} must have at least one row and one column; got shape {X.shape}")
    if isinstance(X, np.ndarray):
        X = X if X.flags.forc and X.flags.aligned else X.copy(order="C")
    return X


def check_vector(v: Any, name: str, n: int, dtype: np.dtype[Any], of: str = "row") -> FloatArray:
    vector: FloatArray = to_numeric(to_array(v, name), name)
    if vector.ndim != 1:
        hint = ""
        if vector.ndim == 2 and 1 in vector.shape:
            labels = _labels(v)
            one = f"{name}[{labels[0]!r}]" if labels else f"{name}.ravel()"
            hint = f"; pass {one} for a single column"
        raise ValueError(f"{name} must be a vector of shape ({n},); got shape {vector.shape}{hint}")
    if len(vector) != n:
        raise ValueError(f"{name} must have {n} entries, one for each {of} of X; got {len(vector)}")
    check_finite(vector, name)
    with np.errstate(over="ignore"):
        vector = np.ascontiguousarray(vector, dtype)
    check_finite(vector, name)
    return vector


def frame_names(X: Any) -> Names:
    """The names of the columns of a frame, if its labels are strings; TypeError if only some of them are."""
    names: list[str] = []
    others: list[Any] = []
    for label in _labels(X):
        (names if isinstance(label, str) else others).append(label)
    if names and others:
        raise TypeError(
            f"X must have names for all its columns, or for none; got {names[0]!r} beside {others[0]!r}, "
            "which is no string: X.rename(columns=str) makes names of all labels"
        )
    return tuple(names) or None


def frame_numbers(X: Any) -> tuple[int, ...]:
    """Return the labels of the columns of a frame, if all are integers, which may be taken for positions."""
    labels = _labels(X)
    return labels if all(isinstance(label, (int, np.integer)) for label in labels) else ()


def _labels(X: Any) -> tuple[Any, ...]:
    """Return the labels of the columns of a frame."""
    return tuple(X.columns) if hasattr(X, "to_numpy") and hasattr(X, "columns") else ()


def check_names(names: Iterable[str], d: int) -> Names:
    """d different strings."""
    try:
        given = () if isinstance(names, str) else tuple(names)
    except TypeError:  # no sequence
        given = ()
    if not given or not all(isinstance(label, str) for label in given):
        raise TypeError(f"names must be a sequence of strings, one for each column of X; got {names!r}")
    if len(given) != d:
        raise ValueError(f"names must name each of the {d} columns of X; got {len(given)} names")
    if len(set(given)) < d:
        twice = next(label for label in given if given.count(label) > 1)
        raise ValueError(f"names must not repeat a name; got {twice!r} {given.count(twice)} times")
    return given


def check_same_rows(X: Any, other: Any, name: str) -> None:
    """ValueError if X and `other`, of pandas, label the same rows in different orders, or in part the same.

    Labels of which none are the same, and those that pandas gives when there are none (0, 1, …, a
    RangeIndex), say nothing about the rows of X.
    """
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(other, "index", None)
    if not (hasattr(ours, "equals") and hasattr(theirs, "equals")) or len(ours) != len(theirs):
        return
    if ours.equals(theirs):
        return
    strange = np.flatnonzero(~theirs.isin(ours))
    if 0 < len(strange) < len(theirs) and not (_default(ours) or _default(theirs)):
        i = int(strange[0])
        raise ValueError(
            f"{name} has the label {theirs.tolist()[i]!r} in row {i}, which X has not, and rows are taken by "
            f'position: X, {name} = X.align({name}, axis=0, join="inner") keeps the rows of both, and '
            f"{name}.to_numpy() has no labels"
        )
    if not len(strange) and ours.is_unique and theirs.is_unique:
        raise ValueError(
            f"{name} has the labels of the rows of X in another order, and rows are taken by position: "
            f"pass {name}.loc[X.index], or {name}.to_numpy() to keep its order"
        )


def _default(index: Any) -> bool:
    """Whether it is a RangeIndex 0, 1, …"""
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1


def check_weights(weight: Any, n: int, dtype: np.dtype[Any]) -> FloatArray:
    """(n,) weights ≥ 0, not all of them zero."""
    vector = check_vector(weight, "sample_weight", n, dtype)
    if vector.min() < 0:
        raise ValueError(f"sample_weight must be nonnegative; the least entry is {vector.min()}")
    if not vector.any():
        raise ValueError("sample_weight must not be zero for every row: no data would be left")
    return vector


def to_array(data: Any, name: str) -> Any:
    if hasattr(data, "rmatvec") and hasattr(data, "matvec"):
        raise TypeError(
            f"{name} must be an array, not a LinearOperator: {name} @ np.eye({name}.shape[1]) makes one"
        )
    if type(data).__name__ == "LazyFrame":
        raise TypeError(f"{name} must be an array or a frame, not a LazyFrame: pass {name}.collect()")
    try:
        if hasattr(data, "columns") and hasattr(data, "to_numpy"):
            # by position, as names may repeat: pairs of pandas, columns of polars
            pairs = data.items() if hasattr(data, "items") else zip(data.columns, data, strict=True)
            todo = "Encode it or leave it out."
            return np.column_stack([_series(column, f"{name}[{label!r}]", todo) for label, column in pairs])
        if hasattr(data, "to_numpy"):
            return _series(data, name, "Encode it as numbers.")
        return data if np.ma.is_masked(data) else np.asarray(data)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None


def _series(data: Any, name: str, todo: str) -> Any:
    """A column of a frame as an array, missing entries of nullable numbers as NaN. No dates or texts."""
    array = data.to_numpy()
    if array.dtype == object and getattr(data.dtype, "kind", "O") in "biuf":
        array = data.to_numpy(dtype=np.float64, na_value=np.nan)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got dtype {data.dtype}. {todo}")
    return array


def to_numeric(array: Any, name: str) -> Any:
    """float32 and float64 as they come, integers and booleans as float64, nothing else."""
    if np.ma.is_masked(array):
        raise ValueError(f"{name} must have no masked entries; fill them or drop their rows first")
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "iubf":
        return array.astype(np.float64)
    raise TypeError(
        f"{name} must hold real numbers (float32, float64, integers or booleans); got dtype {array.dtype}"
    )


def check_finite(entries: Any, name: str, names: Names = None) -> None:
    finite = np.isfinite(entries)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        if names is not None:
            bad = np.count_nonzero(~finite, axis=0)
            told = ", ".join(f"{names[j]!r} ({bad[j]})" for j in np.flatnonzero(bad)[:5])
            more = " and others" if np.count_nonzero(bad) > 5 else ""
            raise ValueError(
                f"{name} must be finite; there are NaN or infinite entries in column {told}{more}, the first "
                f"in row {where[0]}. Impute them, say by X.fillna(X.median()) in pandas or "
                'X.fill_null(strategy="mean") in polars, or drop their rows.'
            )
        raise ValueError(
            f"{name} must be finite; got {np.count_nonzero(~finite)} NaN or infinite entries, "
            f"the first at {where}. Drop or impute them first."
        )


def check_indices(
    indices: Columns, d: int, name: str, names: Names = None, numbers: tuple[int, ...] = ()
) -> IndexArray:
    """Distinct columns, in 0..d−1 or by their names, as indices in the order given.

    ValueError for an index that is also, among the labels `numbers` of a frame, that of another column.
    """
    given: list[int | str] = []
    try:
        if isinstance(indices, str):
            raise TypeError("one string")
        given = list(indices)
        J = [_position(i, names, name) if isinstance(i, str) else _index(i) for i in given]
    except TypeError:
        words = "names of columns, or integer column indices" if names else "integer column indices"
        hint, whole = "np.flatnonzero turns a mask into indices.", cast(Any, indices)
        if isinstance(whole, (str, int, np.integer)) and not isinstance(whole, bool):
            hint = f"Pass a list: [{indices!r}]."
        elif names is None and any(isinstance(i, str) for i in given):
            hint = "X has no names: a frame has if all its labels are strings, and Problem(X, y, names=...)."
        raise TypeError(f"{name} must be a sequence of {words}; got {indices!r}. {hint}") from None
    for i in J:
        if i in numbers and numbers.index(i) != i:
            raise ValueError(
                f"{name} has {i}, and columns are counted by position, but {i} is the label of column "
                f"{numbers.index(i)} of the frame: pass X.to_numpy(), or X.rename(columns=str) and names"
            )
        if not 0 <= i < d:
            raise ValueError(f"{name} must hold column indices in 0..{d - 1}; got {i}")
    if len(set(J)) < len(J):
        raise ValueError(f"{name} must not repeat an index; got {given if names else J}")
    return np.array(J, np.intp)


def check_budget(
    k: int, forced: Columns, d: int, names: Names = None, numbers: tuple[int, ...] = ()
) -> tuple[int, IndexArray]:
    """k, 1 ≤ k ≤ d, and the forced features, at most k, as indices."""
    k = check_count(k, "k", 1, d, f": X has {d} columns")
    first = check_indices(forced, d, "forced", names, numbers)
    if len(first) > k:
        raise ValueError(f"forced features count in k: got {len(first)} of them and k={k}")
    return k, first


def _position(label: str, names: Names, name: str) -> int:
    """Return the index of a column by its name."""
    if names is None:
        raise TypeError("no names")
    if names.count(label) == 1:
        return names.index(label)
    if label in names:
        raise ValueError(f"{name} has {label!r}, the name of {names.count(label)} columns: use indices")
    close = difflib.get_close_matches(label, names, 1)
    hint = f" Did you mean {close[0]!r}?" if close else f" X has {_some(names)}."
    raise ValueError(f"{name} must hold names of columns; there is no column {label!r}.{hint}")


def _some(names: Sequence[str]) -> str:
    told = ", ".join(map(repr, names[:8]))
    return told if len(names) <= 8 else f"{told}, … ({len(names)} in all)"


def check_count(k: int, name: str, low: int, high: float = _MOST, why: str = "") -> int:
    """Return an integer in low..high, by default one that fits into 64 bits; math.inf means no upper limit.

    why : where `high` comes from, to end the message.
    """
    try:
        count = _index(k)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {k!r}") from None
    if not low <= count <= high:
        beyond = " and below 2**63" if count > high else ""
        bounds = f"in {low}..{high}" if high < _MOST else f"at least {low}{beyond}"
        raise ValueError(f"{name} must be {bounds}; got {count}{why}")
    return count


def check_new(name: str, taken: Container[str], what: str) -> str:
    """`name`, under which nothing is registered yet; `what` with its article, as in "an ensemble"."""
    if name in taken:
        raise ValueError(f"there is {what} {name!r} already; choose another name")
    return name


def check_level(value: float, name: str) -> float:
    """Return a finite real number ≥ 0 (a λ or a tolerance)."""
    level = check_real(value, name)
    if level < 0:
        raise ValueError(f"{name} must be nonnegative; got {level}")
    return level


def check_tolerance(tol: Any, of: str = "‖y‖", absolute: bool = True) -> float:
    """A level relative to `of`, at most 1; `absolute`: whether there is an option `residual` for others."""
    level = check_level(tol, "tol")
    if level > 1:
        hint = f". For an absolute bound pass residual={level}" if absolute else ""
        raise ValueError(f"tol must be in 0..1: it is relative to {of}; got {level}{hint}")
    return level


def check_real(value: Any, name: str) -> float:
    """Return a finite real number; not a bool."""
    no_number = (bool, np.bool_, str, bytes, complex, np.complexfloating)
    try:
        if isinstance(value, no_number) or np.ndim(value) != 0:  # ValueError for rows of several lengths
            raise TypeError("no number")
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite; got an integer beyond the largest float, 1.8e308") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a real number; got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite; got {number}")
    return number


def check_flag(value: Any, name: str) -> bool:
    """True or False; TypeError for anything else, such as a text or an array."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def _index(i: Any) -> int:
    if isinstance(i, (bool, np.bool_)):
        raise TypeError("a truth value is no index")
    return operator.index(i)


def read_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz. ValueError names a file that cannot be read, and says why."""
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is {'no .npz' if Path(path).stat().st_size else 'empty'}")
        with np.load(path, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
    except MemoryError:
        raise ValueError(f"{path} has an array that needs more memory than there is") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # zip, deflate and .npy have errors of their own
        words = str(error) if str(error).startswith(str(path)) else f"{path} is a broken .npz: {error}"
        raise ValueError(words.rstrip(".")) from None
    others = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(f"{path} is no .npz: it has {others[0]!r}, which is no array")
    return arrays
