"""Tables of numbers with names: .csv, whose first line names the columns, and Parquet."""

from __future__ import annotations

import csv
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.validation import check_indices, to_array

# how pandas writes an index of rows to a .csv: at first, and once it has read it; and how to Parquet
_INDEX, _LEVEL = ("", "Unnamed: 0"), "__index_level_"
# what stands for a missing number, as pandas.read_csv has it
_MISSING = frozenset(["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


class Table(NamedTuple):
    """The names of m columns, and their numbers (n, m) in float64.

    dropped : the names of columns that were left out as asked. note : a sentence if an index was left out.
    """

    names: tuple[str, ...]
    data: FloatArray
    dropped: tuple[str, ...]
    note: str


class BadTable(Exception):
    """What is wrong with a file, where, and what to do; `columns` are those that hold no numbers."""

    def __init__(self, words: str, columns: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.columns = tuple(columns)


def read_table(path: Path, drop: Sequence[str] = ()) -> Table:
    """A .csv or .parquet without the columns `drop`; NaN where a number is missing, 0 and 1 for truth values.

    Raises BadTable.
    """
    if path.suffix.lower() == ".csv":
        return read_csv(path, drop, missing=True)
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read_parquet(path, drop)
    raise BadTable(f"{path} must be a .csv or a .parquet")


def positions(labels: Sequence[str], names: Sequence[str], option: str) -> list[int]:
    """Where the columns of these names are. Raises BadTable, with the closest name for an unknown one."""
    try:
        return [int(i) for i in check_indices(labels, len(names), option, tuple(names))]
    except ValueError as error:
        raise BadTable(str(error).rstrip(".")) from None


def split(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names in values such as "age,sex", a line of a .csv: a name with a comma is in double quotes.

    One that is a name as a whole, comma and all, is not divided.
    """
    found = []
    for value in values:
        line = next(csv.reader([value], skipinitialspace=True), None) or [""]
        found += [value] if value in names else [name.strip() for name in line]
    return found


def joined(names: Sequence[str]) -> str:
    """The value that `split` divides into these names."""
    quoted = (name.replace('"', '""') for name in names)
    return ",".join(f'"{name}"' if "," in name or '"' in name else name for name in quoted)


def read_csv(path: Path, drop: Sequence[str] = (), missing: bool = False) -> Table:
    """A .csv without the columns `drop`; a missing number is NaN if `missing`, else refused."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        names = tuple(name.strip() for name in next((row for row in reader if row), ()))
        if names and len(names) < 2:
            words = f"needs a column for y and others for X, separated by commas; it has {names[0]!r}"
            raise BadTable(f"{path}: {words}")
        if names and all(_is_number(name) for name in names):
            raise BadTable(f"{path}: must name its columns in the first line; there are only numbers in it")
        index = [0] if names and names[0] in _INDEX and len(names) > 2 else []
        note = f"{path}: the first column has no name, and is left out as the index of the rows."
        keep, dropped = _kept(path, names, index, drop)
        rows = [_numbers(path, reader.line_num, row, names, keep, missing) for row in reader if row]
    if not rows:
        raise BadTable(f"{path}: needs a line that names the columns and a line for each row of X and y")
    return Table(tuple(names[j] for j in keep), np.array(rows), dropped, note if index else "")


def _kept(
    path: Path, names: Sequence[str], index: list[int], drop: Sequence[str]
) -> tuple[list[int], tuple[str, ...]]:
    """The columns to read, all but an index of the rows and those of `drop`, and the names of these."""
    keep = [j for j in range(len(names)) if j not in index]
    kept = [names[j] for j in keep]
    if "" in kept:
        raise BadTable(f"{path}: must name every column; column {keep[kept.index('')] + 1} has no name")
    twice = [name for i, name in enumerate(kept) if name in kept[:i]]
    if twice:
        raise BadTable(f"{path}: must not name two columns {twice[0]!r}")
    out = positions(split(drop, kept), kept, "--drop")
    return [j for i, j in enumerate(keep) if i not in out], tuple(kept[i] for i in sorted(out))


def _numbers(
    path: Path, line: int, row: list[str], names: Sequence[str], keep: list[int], missing: bool
) -> FloatArray:
    """The numbers of a line in the columns `keep`."""
    if len(row) != len(names):
        raise BadTable(f"{path}: line {line} has {len(row)} fields, the first line {len(names)}")
    try:
        return np.array([float(row[j]) for j in keep])
    except ValueError:
        pass
    numbers, texts = [], {}
    for j in keep:
        field = row[j].strip()
        if missing and field in _MISSING:
            numbers.append(np.nan)
        elif not field:
            words = f"line {line} has nothing in column {names[j]!r}: fill it in, or leave the row out"
            raise BadTable(f"{path}: {words}")
        elif field in _TRUTH:
            numbers.append(_TRUTH[field])
        elif _is_number(field):
            numbers.append(float(field))
        else:
            texts[names[j]] = field
    if texts:
        found = ", ".join(f"{field!r} in column {name!r}" for name, field in texts.items())
        words = f"line {line} has {found}: no number. Encode such columns as numbers, or leave them out"
        raise BadTable(f"{path}: {words}", list(texts))
    return np.array(numbers)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path, drop: Sequence[str]) -> Table:
    frame = _frame(path)
    names = tuple(frame.columns)
    index = [j for j, name in enumerate(names) if name.startswith(_LEVEL)]
    note = f"{path}: {', '.join(names[j] for j in index)} is left out as the index of the rows."
    keep, dropped = _kept(path, names, index, drop)
    columns, wrong = [], {}
    for j in keep:
        try:
            columns.append(np.asarray(to_array(frame[names[j]], f"column {names[j]!r}"), np.float64))
        except TypeError as error:
            wrong[names[j]] = str(error)
    if wrong:
        raise BadTable(f"{path}: {' '.join(wrong.values())}", list(wrong))
    if not columns or not len(columns[0]):
        raise BadTable(f"{path}: needs columns and rows; it has {len(frame)} rows of {', '.join(names)}")
    return Table(tuple(names[j] for j in keep), np.column_stack(columns), dropped, note if index else "")


def _frame(path: Path) -> Any:
    """A frame of polars, or of pandas with a reader of Parquet."""
    for library in ("polars", "pandas"):
        try:
            return importlib.import_module(library).read_parquet(path)
        except ImportError:  # of the library, or of what pandas reads Parquet with
            continue
        except Exception as error:  # each reader raises errors of its own
            raise BadTable(f"{path} cannot be read as Parquet: {error}") from None
    raise BadTable(f"{path}: Parquet needs polars, or pandas with pyarrow: pip install 'sparselin[frames]'")
