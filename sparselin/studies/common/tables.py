"""Read a file with named columns into pandas: a text, a Parquet file, or a sheet of an Excel workbook."""

import dataclasses
import importlib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.results import FloatArray
from sparselin.studies.common import table_layout as layout
from sparselin.studies.common.table_base import BadTable as BadTable
from sparselin.studies.common.table_base import DataTable as DataTable
from sparselin.studies.common.table_base import ReadingNotes as ReadingNotes
from sparselin.studies.common.table_base import ReadingOptions as ReadingOptions
from sparselin.studies.common.table_base import columns_of as columns_of
from sparselin.studies.common.table_base import positions as positions
from sparselin.studies.common.table_base import short as short
from sparselin.studies.common.table_base import some as some
from sparselin.studies.common.table_base import split as split
from sparselin.studies.common.table_layout import Body, Head, Names, TableRow
from sparselin.studies.common.table_numerals import (
    COMMA,
    ERRORS,
    PANDAS_MISSING,
    POINT,
    NumberColumn,
    examine,
    readings_of,
    settle,
)
from sparselin.studies.common.table_numerals import is_number as is_number
from sparselin.studies.common.table_text import Signs, check_text, find_separator, open_text, rows_of
from sparselin.validation.extras import installed_by

_LEVEL = "__index_level_"  # the names that pandas gives to an index of rows in a Parquet file
_TEXTS = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_WORKBOOK = (".xlsx", ".xlsm")
_CELLS = (str, bytes, bool, int, float)


def read_table(path: Path, options: ReadingOptions | None = None) -> DataTable:
    """Read a text such as a .csv, a .parquet or an .xlsx with pandas. Raises BadTable.

    Columns of texts that are numbers become numbers, column by column (see `numerals`). If a column holds
    numbers and, in a few cells, texts such as "?", these texts count as missing.
    """
    options = ReadingOptions() if options is None else options
    if is_text(path):
        return _read_text(path, options)
    if is_parquet(path):
        return _read_parquet(path)
    if path.suffix.lower() in _WORKBOOK:
        return _read_workbook(path, options)
    check_text(path)
    raise BadTable(f"{path} must be a .csv, a .parquet or an .xlsx")


def is_parquet(path: Path) -> bool:
    """Return whether the name of a file is that of a Parquet file."""
    return path.suffix.lower() in _PARQUET


def is_text(path: Path) -> bool:
    """Return whether the name of a file is that of a .csv, compressed by gzip or not."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(_TEXTS)


def _read_text(path: Path, options: ReadingOptions) -> DataTable:
    """Read a .csv. If no encoding is given, it is UTF-8 or UTF-16, or else Latin-1 as Windows extends it."""
    with open_text(path, options.encoding) as text:
        separator, named = (
            (options.separator, False) if options.separator else find_separator(path, text.file)
        )
        rows = (row for row in rows_of(text.file, separator) if not (named and row.record == 0))
        head_rows = [row for row, _ in zip(_without(rows, options), range(layout.HEAD), strict=False)]
        try:
            head = layout.find_head(head_rows, options)
            signs = Signs(head.width)
            rows = (row for row in rows_of(text.file, separator) if not (named and row.record == 0))
            body = layout.read_body(rows, head, options, signs.watch)
            if body.rows and head.width < 2:
                words = "needs a column for y and others for X, separated by commas (or semicolons, or tabs)"
                raise BadTable(f"{words}; it has {short(str(head_rows[0].cells[0]))}")
            if not body.rows:
                raise BadTable("must have a line that names the columns, and a line for each row of X and y")
            names = layout.name_columns(head, body)
        except BadTable as error:
            raise BadTable(f"{path}: {error.reason}", error.remedy) from None
    sep = r"\s+" if separator == " " else separator
    keywords = text.options | ({"sep": sep} if sep != "," else {})
    keywords |= _keywords(head, body, names) | _missing_keywords(options)
    if signs.commas and not signs.points:
        keywords["decimal"] = ","
    frame = call_pandas(path, "read_csv", keywords)
    if len(frame) != body.rows or len(frame.columns) != len(names.names):
        raise BadTable(
            f"{path}: pandas reads {len(frame):,} rows and {len(frame.columns):,} columns, but the file has "
            f"{body.rows:,} and {len(names.names):,}",
            "Remove line breaks and quotes from the lines before the names of the columns",
        )
    notes = _notes(path, head, body, names, options)
    notes = dataclasses.replace(
        notes,
        encoding=text.encoding if not options.encoding else "",
        guessed=bool(text.encoding),
        separator=separator,
    )
    in_file, frame.columns = list(frame), list(names.names)
    places = [p for i, p in enumerate(names.places) if i != names.index_at]
    zeros = tuple(name for name, place in zip(names.names, places, strict=True) if place in signs.zeros)
    notes = dataclasses.replace(notes, leading_zeros=zeros)
    table = DataTable(frame=frame, notes=notes, reader="read_csv", options=keywords, names=in_file)
    doubtful, votes = {}, {}
    signed = signs.found
    for name, place in zip(names.names, places, strict=True):
        if place in signed and frame[name].dtype.kind == "f":
            if place in signs.points:
                votes[name] = POINT
            elif place in signs.commas:
                votes[name] = COMMA
            else:
                cell = signs.both[place]
                sign = "." if "." in cell else ","
                doubtful[name] = NumberColumn(
                    readings=POINT | COMMA, sign=sign, fixed=place not in signs.bare, example=cell
                )
    return convert_texts(path, table, doubtful, votes, options)


def _without(rows: Any, options: ReadingOptions) -> Any:
    return (row for row in rows if not options.skips(row.line))


def _keywords(head: Head, body: Body, names: Names) -> dict[str, Any]:
    """Return the keyword arguments for pandas that say where the table lies in the file."""
    found: dict[str, Any] = {}
    in_rows = (
        bool(head.names) and not head.in_comment
    )  # whether pandas finds the names below the skipped lines
    before = head.first if in_rows else head.first + 1
    skip = [*range(before), *body.skipped]
    if skip:
        found["skiprows"] = skip
    if body.cut:
        found["nrows"] = body.rows
    if not in_rows:
        found["header"] = None
    whole = tuple(range(head.width))
    if names.renamed or not in_rows:
        every = list(names.names)
        if names.index_at is not None:
            every.insert(names.index_at, "index")
        found |= {"names": every} | ({"header": 0} if in_rows else {})
    if (
        names.places != whole
        or head.longer
        or (len(head.names) > 0 and len(head.names) < head.width and not head.labels)
    ):
        found["usecols"] = list(names.places)
    if names.index_at is not None:
        found["index_col"] = names.index_at
    elif "usecols" in found:
        found["index_col"] = False
    return found


def _missing_keywords(options: ReadingOptions) -> dict[str, Any]:
    """Return the keyword arguments for pandas about missing values."""
    found: dict[str, Any] = {}
    if options.missing_values:
        found["na_values"] = list(options.missing_values)
    if options.keep_levels:
        kept = [text for text in PANDAS_MISSING if text not in options.keep_levels]
        found = {"keep_default_na": False, "na_values": [*kept, *options.missing_values]}
    return found


def _notes(path: Path, head: Head, body: Body, names: Names, options: ReadingOptions) -> ReadingNotes:
    """Return the notes about the layout of a table."""
    lines = layout.describe_rows(head, body)
    return ReadingNotes(
        path=path,
        skipped=lines,
        header=head.line if lines and head.leading else 0,
        index="" if names.index_at is None else "the first column",
        renamed=names.renamed if head.names else (),
        empty=names.empty,
    )


def _has_leading_zero(cell: Any) -> bool:
    return isinstance(cell, str) and cell[:1] == "0" and len(cell) > 1 and cell.isdigit()


def _read_workbook(path: Path, options: ReadingOptions) -> DataTable:
    """Read a sheet of an Excel workbook: the first one with a table, or the one that is given."""
    sheets, first = _sheets(path)
    sheet = _choose_sheet(path, sheets, options.sheet)
    raw = call_pandas(path, "read_excel", {"sheet_name": sheet, "header": None, "dtype": object})
    cells = raw.astype(object).where(raw.notna(), "").to_numpy(object).tolist()
    rows = [TableRow(i, i + 1, row, "row") for i, row in enumerate(cells)]
    zeros: set[int] = set()  # the columns with a text such as "00501", which pandas reads as a number

    def watch(cells: Sequence[Any]) -> None:
        zeros.update(j for j, cell in enumerate(cells) if _has_leading_zero(cell))

    try:
        kept = [row for row in rows if not options.skips(row.line)]
        head = layout.find_head(kept[: layout.HEAD], options)
        body = layout.read_body(rows, head, options, watch)
        if not body.rows or head.width < 2:
            raise BadTable("must have a row of names, and a row for each row of X and y")
        names = layout.name_columns(head, body)
    except BadTable as error:
        others = " or ".join(f"--sheet {shlex.quote(name)}" for name in sheets if name != sheet)
        remedy = " ".join(
            filter(None, (error.remedy, f"Another sheet is read with {others}" if others else ""))
        )
        raise BadTable(f"{path}, sheet {sheet!r}: {error.reason}", remedy) from None
    keywords: dict[str, Any] = {"sheet_name": sheet} if sheet != first else {}
    keywords |= _keywords(head, body, names) | _missing_keywords(options)
    keywords.pop("index_col", None) if keywords.get("index_col") is False else None
    frame = call_pandas(path, "read_excel", keywords)
    notes = _notes(path, head, body, names, options)
    in_file, frame.columns = list(frame), list(names.names)
    places = [place for i, place in enumerate(names.places) if i != names.index_at]
    coded = tuple(name for name, place in zip(names.names, places, strict=True) if place in zeros)
    notes = dataclasses.replace(notes, sheet=sheet, sheets=tuple(sheets), leading_zeros=coded)
    return convert_texts(
        path,
        DataTable(frame=frame, notes=notes, reader="read_excel", options=keywords, names=in_file),
        {},
        {},
        options,
    )


def _sheets(path: Path) -> tuple[list[str], str]:
    """Return the names of the sheets of a workbook that hold cells, and the name of its first sheet.

    A sheet that is a chart, or is empty, holds none.
    """
    try:
        openpyxl = importlib.import_module("openpyxl")
        book = openpyxl.load_workbook(path, read_only=True)
        names = [
            sheet.title
            for sheet in book.worksheets
            if any(cell is not None for row in sheet.iter_rows(values_only=True) for cell in row)
        ]
        first = book.sheetnames[0]
        book.close()
    except ImportError as error:
        raise BadTable(f"{path}: {error}. Install it by {installed_by('frames')}") from None
    except Exception as error:  # a broken archive, or broken XML
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        words = f"{path} cannot be read by pandas.read_excel: {why}"
        raise BadTable(words, "If a spreadsheet opens it, save the sheet as a .csv") from None
    if not names:
        raise BadTable(f"{path} has no sheet with cells")
    return names, first


def _choose_sheet(path: Path, sheets: Sequence[str], given: str | None) -> str:
    if given is None:
        return sheets[0]
    if given in sheets:
        return given
    if re.fullmatch("[0-9]+", given) and 1 <= int(given) <= len(sheets):
        return sheets[int(given) - 1]
    raise BadTable(
        f"--sheet must be the name or the number of a sheet of {path}; got {given!r}",
        f"Its sheets are {some(list(map(repr, sheets)))}",
    )


def _read_parquet(path: Path) -> DataTable:
    """Read a Parquet file: decimals become float64, and columns of lists are left out. Raises BadTable."""
    frame = call_pandas(path, "read_parquet", {})
    index = [name for name in frame if str(name).startswith(_LEVEL)]
    frame = frame.drop(columns=index)
    if "" in list(frame):
        raise BadTable(f"{path} must name every column; column {list(frame).index('') + 1} has no name")
    nested = [name for name in columns_of(frame, "O") if not are_cells(frame[name])]
    in_file = list(frame)
    frame = frame.drop(columns=nested)
    steps = [f"table = table.drop(columns={[*index, *nested]!r})"] if index or nested else []
    decimals = [name for name in columns_of(frame, "O") if _are_decimals(frame[name])]
    if decimals:
        pandas = importlib.import_module("pandas")
        frame[decimals] = frame[decimals].apply(pandas.to_numeric)
        steps.append(f"table[{decimals!r}] = table[{decimals!r}].apply(pd.to_numeric)")
    if not frame.size:
        raise BadTable(
            f"{path} must have columns and rows; it has {len(frame)} rows of {some(in_file) or 'nothing'}"
        )
    notes = ReadingNotes(
        path=path, index=", ".join(index), left_out=dict.fromkeys(nested, "lists or records in its cells")
    )
    return DataTable(
        frame=frame, notes=notes, reader="read_parquet", options={}, names=list(frame), steps=tuple(steps)
    )


def _are_decimals(column: Any) -> bool:
    cells = [cell for cell in column if cell is not None and cell == cell]
    return bool(cells) and all(type(cell).__name__ == "Decimal" for cell in cells)


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
    frame = table.frame
    options = ReadingOptions() if options is None else options
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
    missing = dict(table.notes.missing)
    for name, texts in known.items():
        if found_texts := tuple(dict.fromkeys([*missing.get(name, ()), *texts])):
            missing[name] = found_texts
    unreadable = {name: texts for name, texts in unreadable.items() if texts}
    notes = dataclasses.replace(table.notes, missing=missing, unreadable=unreadable)
    return table._replace(notes=notes)


def numbers_of(path: Path, table: DataTable) -> FloatArray:
    """Return the columns of a table as numbers (n, d). Raises BadTable if a cell holds none."""
    frame = table.frame
    bad = []
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
    frame = table.frame.copy()
    steps = list(table.steps)
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
        raise BadTable(f"{path}: {error}. Install it by {installed_by('frames')}") from None
    except Exception as error:  # each reader raises its own errors
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise BadTable(f"{path} cannot be read by pandas.{reader}: {why}") from None
