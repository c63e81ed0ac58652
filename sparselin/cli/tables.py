"""Tables of numbers with names: .csv, whose first line names the columns, and Parquet."""

from __future__ import annotations

import csv
import importlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from sparselin.results import FloatArray
from sparselin.validation import check_indices, to_array

# how pandas writes an index of rows to a .csv: at first, and once it has read it; and how to Parquet
_INDEX, _LEVEL = ("", "Unnamed: 0"), "__index_level_"
# what stands for a missing number, as pandas.read_csv has it
_MISSING = frozenset(["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
_OTHERS = (";", "\t")
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


class Table(NamedTuple):
    """The names of m columns, and their numbers (n, m) in float64.

    dropped : the names of columns that were left out as asked. note : a sentence if an index was left out.
    options : those by which pandas.read_csv reads a .csv so.
    """

    names: tuple[str, ...]
    data: FloatArray
    dropped: tuple[str, ...]
    note: str
    options: dict[str, Any]


class BadTable(Exception):
    """What is wrong with a file, where, and what to do.

    texts : the columns that hold no numbers, with a text of each. names : those of the columns to read.
    """

    def __init__(self, words: str, texts: dict[str, str] | None = None, names: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.texts, self.names = texts or {}, tuple(names)

    def told(self, target: str | None = None, option: str = "") -> str:
        """It in full; y is the column `target`, or else the last, and an `option` drops columns."""
        text = str(self).rstrip(".")
        y = target or (self.names or ("",))[-1]
        columns = [name for name in self.texts if name != y]
        if columns:
            by = f" by {option} {shlex.quote(joined(columns))}" if option else ""
            text += f". Encode such columns as numbers, or leave them out{by}"
        if y in self.texts:
            text += (
                f". {y!r} is the column to explain: encode it as numbers. Of two classes it is in Python: "
                f'sparselin.generalized_omp(X, y == {self.texts[y]!r}, k, loss="logistic")'
            )
        return f"{text}."


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
    """A .csv without the columns `drop`; a missing number is NaN if `missing`, else refused.

    The separator is a comma, or one of `_OTHERS` that is in the first line where no comma is; with a
    semicolon a comma in a number is a decimal point, as R's write.csv2 has it.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = next(filter(str.strip, file), "")
        whole = len(next(csv.reader([first]), ())) < 2
        sep = next((other for other in _OTHERS if whole and other in first), ",")
        file.seek(0)
        reader = csv.reader(file, delimiter=sep)
        names = tuple(name.strip() for name in next((row for row in reader if row), ()))
        if names and len(names) < 2:
            words = "needs a column for y and others for X, separated by commas (or semicolons, or tabs)"
            raise BadTable(f"{path}: {words}; it has {names[0]!r}")
        if names and all(_is_number(name) for name in names):
            raise BadTable(f"{path}: must name its columns in the first line; there are only numbers in it")
        index = [0] if names and names[0] in _INDEX and len(names) > 2 else []
        note = f"{path}: the first column has no name, and is left out as the index of the rows."
        keep, dropped = _kept(path, names, index, drop)
        decimal = "," if sep == ";" else "."
        rows = [_numbers(path, reader.line_num, row, names, keep, missing, decimal) for row in reader if row]
        commas = sep == ";" and _has_commas(file, keep)
    if not rows:
        raise BadTable(f"{path}: needs a line that names the columns and a line for each row of X and y")
    options: dict[str, Any] = {"index_col": 0} if index else {}
    options |= ({"sep": sep} if sep != "," else {}) | ({"decimal": ","} if commas else {})
    return Table(tuple(names[j] for j in keep), np.array(rows), dropped, note if index else "", options)


def _has_commas(file: TextIO, keep: list[int]) -> bool:
    """Whether there are commas in the numbers of a .csv with semicolons."""
    file.seek(0)
    rows = filter(None, csv.reader(file, delimiter=";"))
    next(rows, None)
    return any("," in row[j] for row in rows for j in keep)


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
    path: Path, line: int, row: list[str], names: Sequence[str], keep: list[int], missing: bool, decimal: str
) -> FloatArray:
    """The numbers of a line in the columns `keep`, with this decimal point."""
    if len(row) != len(names):
        raise BadTable(f"{path}: line {line} has {len(row)} fields, the first line {len(names)}")
    try:
        return np.array([float(row[j].replace(decimal, ".")) for j in keep])
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
        elif _is_number(field.replace(decimal, ".")):
            numbers.append(float(field.replace(decimal, ".")))
        else:
            texts[names[j]] = field
    if texts:
        found = ", ".join(f"{field!r} in column {name!r}" for name, field in texts.items())
        raise BadTable(f"{path}: line {line} has {found}: no number", texts, [names[j] for j in keep])
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
    columns, texts = [], {}
    for name in (names[j] for j in keep):
        try:
            columns.append(np.asarray(to_array(frame[name], name), np.float64))
        except TypeError:
            texts[name] = str(next(iter(frame[name]), ""))
    if texts:
        types = ", ".join(f"{name!r} is of {frame[name].dtype}" for name in texts)
        raise BadTable(f"{path}: columns must hold real numbers; {types}", texts, [names[j] for j in keep])
    if not columns or not len(columns[0]):
        raise BadTable(f"{path}: needs columns and rows; it has {len(frame)} rows of {', '.join(names)}")
    data = np.column_stack(columns)
    return Table(tuple(names[j] for j in keep), data, dropped, note if index else "", {})


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
