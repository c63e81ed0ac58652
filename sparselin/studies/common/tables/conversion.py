"""Convert columns of texts to numbers, in the frame that pandas reads."""

import dataclasses
import importlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.results import FloatArray
from sparselin.studies.common.tables.base import (
    BadTable,
    DataTable,
    ReadingOptions,
    columns_of,
    short,
    some,
)
from sparselin.studies.common.tables.numerals import (
    COMMA,
    ERRORS,
    PANDAS_MISSING,
    POINT,
    NumberColumn,
    examine,
    readings_of,
    settle,
)

_CELLS = (str, bytes, bool, int, float)


def convert_texts(
    path: Path,
    table: DataTable,
    doubtful: Mapping[str, NumberColumn],
    votes: Mapping[str, int],
    options: ReadingOptions,
) -> DataTable:
    """Return the table with its texts that are numbers as numbers.

    doubtful : columns that pandas read as numbers, in which no cell decides which sign is the decimal one.
    votes : columns that pandas read as numbers, and the reading for which their cells decide.
    """
    texts = columns_of(table.frame, "OUTSV")
    errors: dict[str, list[str]] = {}
    for name in texts:
        cells = set(table.frame[name].dropna().tolist()) if are_cells(table.frame[name]) else set()
        if codes := sorted(cell for cell in cells if isinstance(cell, str) and cell.strip() in ERRORS):
            errors[name] = codes
    if errors:  # also in categories
        codes = sorted({code for found in errors.values() for code in found})
        table = _again(path, table, {"na_values": [*table.options.get("na_values", ()), *codes]})
        texts = [name for name in columns_of(table.frame, "OUTSV") if are_cells(table.frame[name])]
    words = (*PANDAS_MISSING, *ERRORS, *options.missing_values)
    found = {name: column for name in texts if (column := examine(table.frame[name], words)) is not None}
    readings = settle(path, {**found, **doubtful}, set(votes.values()), options, table.notes.separator)
    usual = COMMA if table.options.get("decimal") == "," else POINT
    wrong = [name for name in doubtful if readings[name] != usual]
    if wrong:
        in_file = dict(zip(table.frame, table.names, strict=True))
        table = _again(path, table, {"dtype": {in_file[name]: "str" for name in wrong}})
        for name in wrong:
            column = examine(table.frame[name], words)
            assert column is not None
            found[name] = column
    table = _convert(table, found, readings)
    notes = table.notes
    decimal: dict[str, list[str]] = {}
    thousands: dict[str, list[str]] = {}
    for name in table.frame:
        reading = votes.get(name) or readings.get(name, 0)
        column = found.get(name) or doubtful.get(name)
        if not reading:
            continue
        between = column.thousands(reading) if column is not None else ""
        for sign in between:
            thousands.setdefault(sign, []).append(name)
        sign = "." if reading == POINT else ","
        if name in votes or (column is not None and _has_decimals(column, sign)):
            decimal.setdefault(sign, []).append(name)
    notes = dataclasses.replace(
        notes,
        decimal={sign: tuple(names) for sign, names in decimal.items()},
        thousands={sign: tuple(names) for sign, names in thousands.items()},
        missing={
            **{name: tuple(codes) for name, codes in errors.items()},
            **{name: column.missing for name, column in found.items() if column.missing},
        },
    )
    return table._replace(notes=notes)


def _has_decimals(column: NumberColumn, sign: str) -> bool:
    return any(sign in text for text in (*column.texts, column.example))


def with_numbers(
    table: DataTable, names: Collection[str], options: ReadingOptions | None = None
) -> DataTable:
    """Return the table with these columns as numbers; the notes list the texts that are no numbers.

    A currency or unit that is the same in all cells is removed, "(5)" and "5-" are negative numbers, and a
    text that is no number counts as missing. Raises BadTable for a column without numbers.
    """
    frame, options = table.frame, ReadingOptions() if options is None else options
    texts = [name for name in names if frame[name].dtype.kind in "OUTSV" and not _is_truth(frame[name])]
    if not texts:
        return table
    words = (*PANDAS_MISSING, *ERRORS, *options.missing_values)
    found = {}
    for name in texts:
        column = examine(frame[name], words, generous=True)
        if column is None:
            cells = frame[name].dropna()
            cell = short(str(cells.iloc[0])) if len(cells) else "no cell"
            raise BadTable(f"--numbers {name}: the column must hold numbers; it has {cell}")
        found[name] = column
    votes = {COMMA if sign == "," else POINT for sign in table.notes.decimal}
    readings = settle(table.notes.path, found, votes, options, table.notes.separator)
    known = {
        name: [text for text in column.missing if text.strip() in words] for name, column in found.items()
    }
    unreadable = {
        name: {
            text: tuple((np.flatnonzero(frame[name] == text) + 1).tolist())
            for text in column.missing
            if text not in known[name]
        }
        for name, column in found.items()
    }
    table = _convert(table, found, readings)
    missing = {name: tuple(texts) for name, texts in known.items() if texts}
    notes = dataclasses.replace(
        table.notes,
        missing={**{k: v for k, v in table.notes.missing.items() if k not in found}, **missing},
        unreadable={name: texts for name, texts in unreadable.items() if texts},
    )
    return table._replace(notes=notes)


def numbers_of(path: Path, table: DataTable) -> FloatArray:
    """Return the columns of a table as numbers (n, d). Raises BadTable if a cell holds none."""
    frame, bad = table.frame, []
    texts = [name for name in frame if frame[name].dtype.kind not in "biuf"]
    gaps = np.asarray(frame.isna())
    for j in [j for j, name in enumerate(frame) if gaps[:, j].any() or name in set(texts)]:
        name = frame.columns[j]
        values = frame[name]
        wrong = [
            i
            for i, cell in enumerate(values)
            if gaps[i, j] or (isinstance(cell, str) and not readings_of(cell))
        ]
        i = wrong[0] if wrong else 0
        missing = table.notes.missing.get(name, ())
        what = f"{' or '.join(map(repr, missing))} or an empty cell" if missing else "an empty cell"
        what = what if gaps[i, j] else short(str(values.iloc[i]))
        bad.append(f"{short(name)} has {what} in row {i + 1}")
    if bad:
        raise BadTable(f"{path}: every cell must hold a number; column {some(bad)}")
    return np.asarray(frame.to_numpy(np.float64))


def _is_truth(column: Any) -> bool:
    return column.dtype.kind == "b" or all(isinstance(value, bool | np.bool_) for value in column.dropna())


def are_cells(column: Any) -> bool:
    """Return whether the cells of a column are single values, not lists."""
    return column.dtype != object or all(
        isinstance(cell, _CELLS) or not hasattr(cell, "__len__") for cell in column
    )


def _again(path: Path, table: DataTable, more: Mapping[str, Any]) -> DataTable:
    """Read a table again with more keyword arguments."""
    keywords = {**table.options, **more}
    frame = call_pandas(path, table.reader, keywords)
    frame.columns = table.frame.columns
    return table._replace(frame=frame, options=keywords)


def _convert(table: DataTable, columns: Mapping[str, NumberColumn], readings: Mapping[str, int]) -> DataTable:
    """Return the table with columns of texts as numbers, and the steps for a program that does the same."""
    if not columns:
        return table
    alike: dict[Any, list[str]] = {}
    for name, column in columns.items():
        alike.setdefault(column.conversion(readings[name]), []).append(name)
    frame, steps = table.frame.copy(), list(table.steps)
    for conversion, names in alike.items():
        for name in names:
            frame[name] = conversion.apply(frame[name])
        steps.append(conversion.lines(names))
    return table._replace(frame=frame, steps=tuple(steps))


def call_pandas(path: Path, reader: str, options: dict[str, Any]) -> Any:
    """Call a function of pandas that reads a file, and return the frame. Raises BadTable."""
    whole = {"low_memory": False} if reader == "read_csv" else {}  # one dtype for all rows of a column
    try:
        pandas = importlib.import_module("pandas")
        return getattr(pandas, reader)(path, **options, **whole).copy()  # in one block: faster
    except ImportError as error:  # also of the package with which pandas reads this kind of file
        raise BadTable(f"{path}: {error}. Install it by pip install 'sparselin[frames]'") from None
    except Exception as error:  # each reader raises its own errors
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise BadTable(f"{path} cannot be read by pandas.{reader}: {why}") from None
