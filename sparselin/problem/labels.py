"""Arguments with one entry for each column of X: if they have labels, they are aligned with the columns.

Entries without labels are taken by position, as columns are. Entries with labels never are, unless the labels
stand in the order of the columns: a Series in another order would give the columns the entries of others.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparselin.validation import IndexArray, check_mask, frame_labels, some_names


def align_columns(values: Any, labels: tuple[Any, ...], d: int, name: str) -> Any:
    """Put an argument with one entry for each column of X in the order of the columns, if it has labels.

    values : a mapping from labels of columns to entries; a pandas Series or frame, whose index has such
        labels; or anything else, which is returned as it is. The default index of pandas (0, 1, …, a
        RangeIndex) is no label, so these entries are taken by position too.
    labels : the labels of the columns of X, or () if it has none. The texts of labels serve as well. The keys
        of a mapping may also be the indices of the columns, unless some labels are integers.
    name : the name of the argument, for error messages.

    Raises ValueError unless the labels are those of all columns, without repetition.
    """
    index = getattr(values, "index", None)
    keyed = isinstance(values, Mapping)
    if not keyed and not hasattr(index, "equals"):
        return values
    given = tuple(values) if keyed else tuple(index.tolist())  # type: ignore[union-attr]
    if not keyed and getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        if given != labels and len(given) == d and set(given) == set(labels):
            raise ValueError(
                f"{name} has the default labels 0, …, {d - 1}, which are the labels of the columns of X in "
                f"another order. Pass {name}.loc[X.columns] if they are labels, or {name}.to_numpy() to "
                "take the entries by position"
            )
        return values
    columns: tuple[Any, ...] = tuple(range(d))
    by_index = keyed and not any(isinstance(label, int | np.integer) for label in labels)
    known = [labels, tuple(map(str, labels)), *([columns] if by_index else [])]
    for own in known:
        if len(own) == d and (given == own or (len(set(own)) == d and _same_set(own, given))):
            places = dict(zip(given, columns, strict=True))
            order = columns if given == own else [places[label] for label in own]
            if keyed:
                items = list(values.values())
                return [items[i] for i in order]
            return values.iloc[list(order)]
    raise ValueError(_mismatch(given, labels, name, "a list" if keyed else f"{name}.to_numpy()"))


def _same_set(own: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Return whether two tuples of labels have the same labels, each once."""
    return len(given) == len(own) and set(given) == set(own)


def _mismatch(given: tuple[Any, ...], labels: tuple[Any, ...], name: str, plain: str) -> str:
    """Return the message about labels of an argument that are not those of X.

    plain : an expression without labels for the same argument.
    """
    own = some_names(given)
    if not labels:
        return (
            f"{name} has the labels {own}, but the columns of X have none. Pass X as a frame with these "
            f"labels, or pass {plain} in the order of the columns"
        )
    strange = [label for label in given if label not in labels]
    missing = [label for label in labels if label not in given]
    twice = [label for label in dict.fromkeys(given) if given.count(label) > 1]
    faults = [
        f"{word} {some_names(found)}"
        for word, found in (("no entry for", missing), ("unknown labels", strange), ("several for", twice))
        if found
    ]
    why = ", ".join(faults) or "the labels of X repeat"
    return (
        f"{name} must have one entry for each column of X: it has {why}. Its labels are {own}; those of X "
        f"are {some_names(labels)}. Pass {plain} to take the entries by position"
    )


def check_square_labels(G: Any, name: str) -> None:
    """Raise ValueError if a Gram matrix is a frame whose rows have other labels than its columns."""
    labels = frame_labels(G)
    index = getattr(G, "index", None)
    if not hasattr(index, "equals") or getattr(index, "start", None) == 0:
        return
    rows = tuple(index.tolist())  # type: ignore[union-attr]
    if rows != labels:
        raise ValueError(
            f"{name} must have the labels of its columns as labels of its rows, in the same order; got rows "
            f"{some_names(rows)} and columns {some_names(labels)}. Pass {name}.loc[{name}.columns]"
        )


def check_groups(groups: Any, labels: tuple[Any, ...], d: int, kept: Any = None) -> Any:
    """Return the label of the group of each column, as an array (d,), aligned with the columns of X.

    labels : the labels of the columns of X; see `align_columns`.
    kept : the indices of the columns whose groups are returned; by default all.

    Raises TypeError for labels that cannot be compared, and ValueError for another length or for a column
    without a label (None or NaN).
    """
    check_mask(groups=groups)
    given = align_columns(groups, labels, d, "groups")
    try:
        entries = np.asarray(given)
        shape = entries.shape
    except (TypeError, ValueError) as error:
        raise TypeError(f"groups must be a list of numbers, or of texts: {error}") from None
    if shape != (d,):
        raise ValueError(f"groups must have a label for each of the {d} features; got shape {shape}")
    listed = list(given)  # because NumPy turns NaN among texts into the text "nan"
    for j in range(d) if kept is None else kept.tolist():
        if is_missing(label := listed[j]):
            column = repr(labels[j]) if labels else str(j)
            raise ValueError(
                f"groups has no label for column {column}; got {label!r}. Give such a column a label of its "
                "own, for example its name, to make it a group by itself; or leave the column out"
            )
    return entries if kept is None else entries[kept]


def number_groups(groups: Any, labels: tuple[Any, ...], d: int, kept: Any = None) -> tuple[Any, IndexArray]:
    """Return the distinct labels of groups, and the number of the group of each column.

    The arguments and the errors are those of `check_groups`.
    """
    unique, number = np.unique(check_groups(groups, labels, d, kept), return_inverse=True)
    return unique, number


def check_same_rows(X: Any, other: Any, name: str, of: str = "X") -> None:
    """Check that the row labels of X and of `other` do not contradict each other, if both are from pandas.

    name, of : the names of the arguments `other` and X.

    Raises ValueError if both have the same labels in different orders, or if they share only some labels. If
    they share no label, the labels are ignored. They are also ignored if X or `other` has the default labels
    of pandas (0, 1, …, a RangeIndex).
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
            f"{name} has the label {theirs.tolist()[i]!r} in row {i}, which {of} does not have, and rows are "
            f"taken by position. Keep the common rows by {of}, {name} = {of}.align({name}, axis=0, "
            f'join="inner"), or pass {name}.to_numpy() to ignore the labels'
        )
    if not len(strange) and ours.is_unique and theirs.is_unique:
        raise ValueError(
            f"{name} has the labels of the rows of {of} in another order, and rows are taken by position. "
            f"Pass {name}.loc[{of}.index], or {name}.to_numpy() to ignore the labels"
        )


def _default(index: Any) -> bool:
    """Return whether an index is the RangeIndex 0, 1, …, which pandas gives by default."""
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or another mark of a missing value."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array
        return False
