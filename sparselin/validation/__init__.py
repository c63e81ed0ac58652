"""Checks of the arguments of public functions: designs, vectors, indices, counts, numbers.

A message names the argument, the value that was passed, the value that was expected, and the remedy.
"""

import difflib
import math
import operator
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
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
# Columns of a design: indices, or names if the design has names.
Columns: TypeAlias = Iterable[int | str]

# The largest count that a kernel can take.
_MOST = 2**63 - 1


def check_design(X: Any, name: str = "X") -> Any:
    """Check a design, and convert it to a contiguous array or a CSC array, in float32 or float64.

    Raises ValueError for a sparse X with NaN or infinite entries. For a dense X this check comes later, when
    the norms are measured (see `Problem`).
    """
    sparse = sys.modules.get("scipy.sparse")  # a sparse X exists only if its module is loaded
    if sparse is not None and sparse.issparse(X):
        X = sparse.csc_array(X)
        if not X.has_canonical_format:
            X = X.copy()  # it may share its entries with the given matrix
            X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = to_numeric(X, name)
        if not np.isfinite(X.data).all():
            row, column = (index[~np.isfinite(X.data)][0] for index in X.tocoo().coords)
            raise ValueError(
                f"{name} must be finite; entry {int(row), int(column)} is not. Drop or impute such entries."
            )
    else:
        X = to_numeric(to_array(X, name), name)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of shape (n, d); got {X.ndim} dimension(s), shape {X.shape}. For one "
            f"column pass {name}.reshape(-1, 1), or {name}.to_frame() for a Series; for one row of a frame "
            "pass frame.iloc[[i]]."
        )
    if 0 in X.shape:
        raise ValueError(f"{name} must have at least one row and one column; got shape {X.shape}")
    if isinstance(X, np.ndarray) and not (X.flags.forc and X.flags.aligned):
        X = X.copy(order="C")
    return X


def need_no_conversion(X: Any, y: Any) -> bool:
    """Return whether X (n, d) and y (n,) are contiguous arrays in float64. Entries may be infinite or NaN."""
    return (
        X.__class__ is np.ndarray
        and y.__class__ is np.ndarray
        and X.dtype == y.dtype == np.float64
        and X.ndim == 2
        and y.shape == X.shape[:1]
        and X.size > 0
        and X.flags.forc
        and X.flags.aligned
        and y.flags.c_contiguous
    )


def check_vector(v: Any, name: str, n: int, dtype: np.dtype[Any], of: str = "row") -> FloatArray:
    """Check that v has n finite entries, one for each row of X, and convert it to this dtype.

    of : the word for a row in the error message.
    """
    plain = type(v) is np.ndarray and v.dtype == dtype
    vector: FloatArray = v if plain else to_numeric(to_array(v, name), name)
    if vector.ndim != 1:
        hint = ""
        if vector.ndim == 2 and 1 in vector.shape:
            labels = frame_labels(v)
            column = f"{name}[{labels[0]!r}]" if labels else f"{name}.ravel()"
            hint = f"; pass {column} for a single column"
        raise ValueError(f"{name} must be a vector of shape ({n},); got shape {vector.shape}{hint}")
    if len(vector) != n:
        raise ValueError(f"{name} must have {n} entries, one for each {of} of X; got {len(vector)}")
    check_finite(vector, name)
    if vector.dtype != dtype or not vector.flags.c_contiguous:
        with np.errstate(over="ignore"):
            vector = np.ascontiguousarray(vector, dtype)
        check_finite(vector, name)
    return vector


def frame_names(X: Any) -> Names:
    """Return the names of a frame's columns: its labels, as texts if they are not strings; otherwise None.

    Labels that are the positions 0, 1, …, d − 1 are no names. Raises TypeError if only some are strings.
    """
    if not (labels := frame_labels(X)):
        return None
    strings = [isinstance(label, str) for label in labels]
    if all(strings) or labels == tuple(range(len(labels))):
        return labels if any(strings) else None
    if any(strings):
        name, other = labels[strings.index(True)], labels[strings.index(False)]
        raise TypeError(
            f"The labels of X must be strings for all columns, or for no column; got {name!r} and "
            f"{other!r}. X.rename(columns=str) converts all labels to strings"
        )
    array = np.asarray(X.columns)  # the text of a label in float32 is shorter than that of its float
    return tuple(map(str, array if array.dtype.kind == "f" else labels))


def frame_labels(X: Any) -> tuple[Any, ...]:
    """Return the labels of the columns of a frame; () for anything else."""
    return tuple(X.columns) if hasattr(X, "to_numpy") and hasattr(X, "columns") else ()


def check_names(names: Iterable[str], d: int) -> tuple[str, ...]:
    """Check that names are d different strings, and return them as a tuple."""
    try:
        given = () if isinstance(names, str) else tuple(names)
    except TypeError:  # not a sequence
        given = ()
    if not given or not all(isinstance(label, str) for label in given):
        raise TypeError(f"names must be a sequence of strings, one for each column of X; got {names!r}")
    if len(given) != d:
        raise ValueError(f"names must have one name for each of the {d} columns of X; got {len(given)}")
    if len(set(given)) < d:
        twice = next(label for label in given if given.count(label) > 1)
        raise ValueError(f"names must not repeat a name; got {twice!r} {given.count(twice)} times")
    return given


def check_weights(weight: Any, n: int, dtype: np.dtype[Any]) -> FloatArray:
    """Check that weights (n,) are nonnegative and not all zero, and return them as a vector."""
    vector = check_vector(weight, "sample_weight", n, dtype)
    if vector.min() < 0:
        raise ValueError(f"sample_weight must be nonnegative; got {vector.min()}")
    if not vector.any():
        raise ValueError("sample_weight must not be zero for every row, because no data would remain")
    return vector


def to_array(data: Any, name: str) -> Any:
    """Convert a list, an array, a frame or a Series to an array of its own dtype."""
    if type(data) is np.ndarray:
        return data
    if hasattr(data, "rmatvec") and hasattr(data, "matvec"):
        raise TypeError(
            f"{name} must be an array, not a LinearOperator. Pass {name} @ np.eye({name}.shape[1])"
        )
    if type(data).__name__ == "LazyFrame":
        raise TypeError(f"{name} must be an array or a frame, not a LazyFrame. Pass {name}.collect()")
    check_mask(**{name: data})
    try:
        if hasattr(data, "columns") and hasattr(data, "to_numpy"):
            # by position, because names may repeat; items() is pandas, zip() is polars
            pairs = data.items() if hasattr(data, "items") else zip(data.columns, data, strict=True)
            todo = "Encode it or leave it out."
            arrays = [_series(column, f"{name}[{label!r}]", todo) for label, column in pairs]
            return np.column_stack(arrays) if arrays else np.empty((len(data), 0))
        if hasattr(data, "to_numpy"):
            return _series(data, name, "Encode it as numbers.")
        return np.asarray(data)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None


def has_masked_entries(data: Any) -> bool:
    """Return whether a masked array, or a list of them, has masked entries.

    np.asarray drops the mask, and reads any numbers that lie under it.
    """
    if isinstance(data, (list, tuple)):
        return any(map(has_masked_entries, data))
    return isinstance(data, np.ma.MaskedArray) and bool(np.ma.is_masked(data))


def check_mask(**data: Any) -> None:
    """Raise ValueError if an argument is a masked array with masked entries, or a list of such arrays."""
    for name, value in data.items():
        if has_masked_entries(value):
            raise ValueError(f"{name} must have no masked entries. Fill them, or drop their rows")


def _series(data: Any, name: str, todo: str) -> Any:
    """Convert a column of a frame to an array, with NaN for missing values; TypeError if not numeric.

    Categories that are numbers are refused too, because they may be codes.

    todo : the remedy, for the error message.
    """
    array = data.to_numpy()
    if array.dtype == object and getattr(data.dtype, "kind", "O") in "biuf":
        array = data.to_numpy(dtype=np.float64, na_value=np.nan)
    coded = str(data.dtype) == "category" and array.dtype.kind in "iubf"
    if coded or (array.dtype.kind in "OUST" and _are_floats(array)):
        change = "cast" if hasattr(data, "cast") else "astype"
        only = "If they are amounts, pass" if coded else "Pass"
        hint = f"{only} {name}.{change}(float){', or encode the categories' if coded else ''}"
        raise TypeError(f"{name} must hold real numbers; got dtype {data.dtype}. {hint}")
    if array.dtype.kind == "c":
        todo = f"For a method that takes complex data, pass {name.split('[')[0]}.to_numpy()"
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got dtype {data.dtype}. {todo}")
    return array


def _are_floats(array: Any) -> bool:
    """Return whether all entries of an array of objects or texts can be converted to floats."""
    try:
        return bool(array.astype(np.float64).size)
    except (TypeError, ValueError):
        return False


def to_numeric(array: Any, name: str) -> Any:
    """Convert integers and booleans to float64 and keep float32 and float64; TypeError for anything else."""
    if type(array) is not np.ndarray:
        check_mask(**{name: array})
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "iubf":
        return array.astype(np.float64)
    hint = ""
    if array.dtype.kind in "OUST" and _are_floats(array):
        hint = f". Pass np.asarray({name}, float)"
    elif array.dtype.names or (array.ndim == 0 and isinstance(array[()], Mapping)):
        hint = f". Pass pandas.{'Series' if name == 'y' else 'DataFrame'}({name})"
    raise TypeError(
        f"{name} must hold real numbers (float32, float64, integers or booleans); got dtype "
        f"{array.dtype}{hint}"
    )


def check_finite(entries: Any, name: str, names: Names = None) -> None:
    """Raise ValueError if some entries are not finite. The message names their columns and the first entry.

    name, names : the name of the argument, and the names of its columns.
    """
    if entries.ndim == 1 and math.isfinite(float(np.vdot(entries, entries))):
        return
    finite = np.isfinite(entries)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        if names is not None:
            bad = np.count_nonzero(~finite, axis=0)
            found = ", ".join(f"{names[j]!r} ({bad[j]})" for j in np.flatnonzero(bad)[:5])
            more = " and others" if np.count_nonzero(bad) > 5 else ""
            raise ValueError(
                f"{name} must be finite; NaN or infinite entries are in column {found}{more}, the first "
                f"in row {where[0]}. {_cure(entries, names)}Impute them, for example by X.fillna(X.median()) "
                'in pandas or X.fill_null(strategy="mean") in polars, or drop their rows.'
            )
        raise ValueError(
            f"{name} must be finite; got {np.count_nonzero(~finite)} NaN or infinite entries, "
            f"the first at {where}. Drop or impute these entries."
        )


def _cure(entries: FloatArray, names: Sequence[str]) -> str:
    """Return what must be done to entries of a frame before an imputation can work, for a message."""
    words = ""
    if np.isinf(entries).any():
        words = "Turn infinite entries into missing ones by X.replace([np.inf, -np.inf], np.nan). "
    empty = np.flatnonzero(~np.isfinite(entries).any(axis=0))
    if len(empty):
        words += f"Leave out {some_names([names[int(j)] for j in empty])}, without a finite entry. "
    return words


def check_indices(
    indices: Columns, d: int, name: str, names: Names = None, labels: tuple[Any, ...] = ()
) -> IndexArray:
    """Convert distinct columns, given by indices in 0..d−1 or by names, to indices in the same order.

    name : the name of the argument, for error messages.
    labels : the labels of the columns of a frame, if the caller's indices may have been meant as labels.

    Raises ValueError if an index is also the label of another column.
    """
    none: bool = indices == () if type(indices) is tuple else getattr(indices, "shape", None) == (0,)
    if none:  # spares a small problem several microseconds
        return np.zeros(0, np.intp)
    given: list[int | str] = []
    try:
        if isinstance(indices, str):
            raise TypeError("a string")
        given = list(indices)
        J = [_position(i, names, name) if isinstance(i, str) else _index(i) for i in given]
    except TypeError:
        words = "names of columns, or integer column indices" if names else "integer column indices"
        hint = "np.flatnonzero converts a mask to indices."
        if isinstance(whole := cast(Any, indices), (str, int, np.integer)) and not isinstance(whole, bool):
            hint = f"Pass a list: [{indices!r}]."
        elif names is None and any(isinstance(i, str) for i in given):
            hint = "X has no names. Pass a frame whose labels are all strings, or Problem(X, y, names=...)."
        elif names and (label := next((i for i in given if _is_label(i, labels)), None)) is not None:
            hint = f"The name of the column with the label {label!r} is {names[labels.index(label)]!r}."
        raise TypeError(f"{name} must be a sequence of {words}; got {indices!r}. {hint}") from None
    for column, i in zip(given, J, strict=True):
        if not isinstance(column, str) and i in labels and labels.index(i) != i:
            other = names[labels.index(i)] if names else str(i)
            raise ValueError(
                f"{name} has {i}, and columns are counted by position, but {i} is the label of column "
                f"{labels.index(i)} of the frame. Pass {other!r} for this column, or pass X.to_numpy() to "
                "count columns by position"
            )
        if not 0 <= i < d:
            raise ValueError(f"{name} must hold column indices in 0..{d - 1}; got {i}")
    if len(set(J)) < len(J):
        raise ValueError(f"{name} must not repeat an index; got {given if names else J}")
    return np.array(J, np.intp)


def check_budget(
    k: int, forced: Columns, d: int, names: Names = None, labels: tuple[Any, ...] = ()
) -> tuple[int, IndexArray]:
    """Check that 1 ≤ k ≤ d and that at most k features are forced; return k and the forced indices."""
    k = check_count(k, "k", 1, d, f": X has {d} columns")
    if forced.__class__ is tuple and not forced:  # the default
        return k, np.zeros(0, np.intp)
    first = check_indices(forced, d, "forced", names, labels)
    if len(first) > k:
        raise ValueError(f"forced features count in k: got {len(first)} forced features and k={k}")
    return k, first


def _is_label(value: Any, labels: tuple[Any, ...]) -> bool:
    """Return whether a value that is no integer is the label of a column."""
    return not isinstance(value, (list, np.ndarray)) and value in labels


def _position(label: str, names: Names, name: str) -> int:
    """Return the index of the column with this label; ValueError unless exactly one column has it."""
    if names is None:
        raise TypeError("no names")
    if names.count(label) == 1:
        return names.index(label)
    if label in names:
        raise ValueError(f"{name} has {label!r}, the name of {names.count(label)} columns. Use indices")
    raise ValueError(f"{name} must hold names of columns; there is no column {label!r}.{hint(label, names)}")


def hint(label: str, names: Sequence[str]) -> str:
    """Return a sentence with the name of a column that is close to the label, or else with all names."""
    close = difflib.get_close_matches(label, names, 1)
    return f" Did you mean {close[0]!r}?" if close else f" X has {some_names(names)}."


def some_names(names: Sequence[str]) -> str:
    """List the first eight names, and the number of names if there are more."""
    first = ", ".join(map(repr, names[:8]))
    return first if len(names) <= 8 else f"{first}, … ({len(names)} in all)"


def check_count(k: int, name: str, low: int, high: float = _MOST, why: str = "") -> int:
    """Check that k is an integer in low..high, and return it.

    high : by default the largest integer of 64 bits; math.inf means no upper limit.
    why : the reason for `high`, which ends the message.
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
    """Check that `name` is not among the names already in use, and return it.

    what : the kind of thing that is named, for the error message, for example "an ensemble".
    """
    if name in taken:
        raise ValueError(f"there is {what} {name!r} already; choose another name")
    return name


def check_level(value: float, name: str) -> float:
    """Check that a λ or a tolerance is a finite real number ≥ 0, and return it."""
    return check_real(value, name, lambda level: level >= 0, "nonnegative")


def check_tolerance(tol: Any, of: str = "‖y‖", absolute: bool = True) -> float:
    """Check that tol, a tolerance relative to `of`, is in 0..1, and return it.

    absolute : whether the caller also has an argument `residual`, which the message then suggests.
    """
    level = check_level(tol, "tol")
    if level > 1:
        hint = f". For an absolute bound, pass residual={level}" if absolute else ""
        raise ValueError(f"tol must be in 0..1: it is relative to {of}; got {level}{hint}")
    return level


def check_real(
    value: Any, name: str, allowed: Callable[[float], bool] = math.isfinite, words: str = "finite"
) -> float:
    """Check that value is a finite real number and not a bool, and return it as a float.

    allowed, words : a condition on the number, and the condition in words for the message.
    """
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
    if not allowed(number):
        raise ValueError(f"{name} must be {words}; got {number}")
    return number


def check_choice(value: Any, name: str, known: Iterable[str]) -> None:
    """Raise ValueError unless the value is one of the strings `known`."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        case = ", and case matters" if isinstance(value, str) and value.lower() in names else ""
        raise ValueError(f"{name} must be one of {', '.join(names)}; got {value!r}{case}")


def check_generator(rng: Rng) -> np.random.Generator:
    """Return the generator itself, or a new one made from a seed."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise TypeError(f"rng must be a seed, an integer ≥ 0, or a numpy Generator; got {rng!r}") from None


def check_flag(value: Any, name: str) -> bool:
    """Check that value is True or False; TypeError for anything else, for example a string or an array."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def _index(i: Any) -> int:
    if isinstance(i, (bool, np.bool_)):
        raise TypeError("a bool is not an index")
    return operator.index(i)


def read_npz(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file; ValueError says why a file cannot be read."""
    import zipfile  # imported here, because it takes 10 ms

    try:
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is {'not an .npz file' if Path(path).stat().st_size else 'empty'}")
        with np.load(path, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
    except MemoryError:
        raise ValueError(f"{path} has an array that is larger than the memory") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # zip, deflate and .npy raise errors of many classes
        words = str(error) if str(error).startswith(str(path)) else f"{path} is a broken .npz file: {error}"
        raise ValueError(words.rstrip(".")) from None
    others = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if others:
        raise ValueError(f"{path} is not an .npz file: {others[0]!r} in it is not an array")
    return arrays
