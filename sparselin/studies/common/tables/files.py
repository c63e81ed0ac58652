"""Read a file with named columns into pandas: a text, a Parquet file, or a sheet of an Excel workbook."""

import dataclasses
import importlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparselin.studies.common.tables.base import (
    BadTable,
    DataTable,
    ReadingNotes,
    ReadingOptions,
    columns_of,
    short,
    some,
)
from sparselin.studies.common.tables.conversion import are_cells, call_pandas, convert_texts
from sparselin.studies.common.tables.layout import (
    HEAD,
    Body,
    Head,
    Names,
    TableRow,
    describe_rows,
    find_head,
    name_columns,
    read_body,
)
from sparselin.studies.common.tables.numerals import (
    COMMA,
    PANDAS_MISSING,
    POINT,
    NumberColumn,
    readings_of,
)
from sparselin.studies.common.tables.text import check_text, find_separator, open_text, rows_of

_LEVEL = "__index_level_"  # the names that pandas gives to an index of rows in a Parquet file
_TEXTS, _PARQUET, _WORKBOOK = (".csv", ".tsv", ".txt"), (".parquet", ".pq"), (".xlsx", ".xlsm")


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


class _Signs:
    """The decimal signs in the columns of a text, found while its rows are read.

    points, commas : the columns in which a cell decides for the point, and for the comma.
    open : the columns in which no cell has decided yet.
    both : column ↦ the first cell that has both readings.
    bare : the columns in which a number has no sign.
    zeros : the columns with a whole number that begins with a zero.
    """

    def __init__(self, width: int) -> None:
        self.points: set[int] = set()
        self.commas: set[int] = set()
        self.open = list(range(width))
        self.both: dict[int, str] = {}
        self.bare: set[int] = set()
        self.zeros: set[int] = set()

    @property
    def found(self) -> set[int]:
        """The columns with a decimal or a thousands sign in a number."""
        return {*self.points, *self.commas, *self.both}

    def watch(self, cells: Sequence[str]) -> None:
        """Look at the cells of the next row."""
        decided = False
        for j in self.open:
            cell = cells[j]
            if "." in cell or "," in cell:
                found = readings_of(cell)
                if found == POINT | COMMA:
                    self.both.setdefault(j, cell.strip())
                elif found:
                    (self.points if found == POINT else self.commas).add(j)
                    decided = True
            elif cell[:1] == "0" and len(cell) > 1 and cell.isdigit():
                self.zeros.add(j)
            elif cell and j not in self.bare and readings_of(cell):
                self.bare.add(j)
        if decided:
            self.open = [j for j in self.open if j not in self.points and j not in self.commas]


def _read_text(path: Path, options: ReadingOptions) -> DataTable:
    """Read a .csv. If no encoding is given, it is UTF-8 or UTF-16, or else Latin-1 as Windows extends it."""
    with open_text(path, options.encoding) as text:
        separator, named = (
            (options.separator, False) if options.separator else find_separator(path, text.file)
        )
        rows = (row for row in rows_of(text.file, separator) if not (named and row.record == 0))
        head_rows = [row for row, _ in zip(_without(rows, options), range(HEAD), strict=False)]
        try:
            head = find_head(head_rows, options)
            signs = _Signs(head.width)
            rows = (row for row in rows_of(text.file, separator) if not (named and row.record == 0))
            body = read_body(rows, head, options, signs.watch)
            if body.rows and head.width < 2:
                words = "needs a column for y and others for X, separated by commas (or semicolons, or tabs)"
                raise BadTable(f"{words}; it has {short(str(head_rows[0].cells[0]))}")
            if not body.rows:
                raise BadTable("must have a line that names the columns, and a line for each row of X and y")
            names = name_columns(head, body)
        except BadTable as error:
            raise BadTable(f"{path}: {error.reason}", error.remedy) from None
    keywords = text.options | ({"sep": r"\s+" if separator == " " else separator} if separator != "," else {})
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
    notes = dataclasses.replace(notes, leading_zeros=tuple(n for n in zeros if frame[n].dtype.kind in "iu"))
    table = DataTable(frame, notes, "read_csv", keywords, in_file)
    doubtful, votes, signed = {}, {}, signs.found
    for name, place in zip(names.names, places, strict=True):
        if place in signed and frame[name].dtype.kind == "f":
            if place in signs.points:
                votes[name] = POINT
            elif place in signs.commas:
                votes[name] = COMMA
            else:
                cell = signs.both[place]
                sign = "." if "." in cell else ","
                doubtful[name] = NumberColumn(POINT | COMMA, sign, place not in signs.bare, cell)
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
    lines = describe_rows(head, body)
    return ReadingNotes(
        path,
        skipped=lines,
        header=head.line if lines and head.leading else 0,
        index="" if names.index_at is None else "the first column",
        renamed=names.renamed if head.names else (),
        empty=names.empty,
    )


def _read_workbook(path: Path, options: ReadingOptions) -> DataTable:
    """Read a sheet of an Excel workbook: the first one with a table, or the one that is given."""
    sheets, first = _sheets(path)
    sheet = _choose_sheet(path, sheets, options.sheet)
    raw = call_pandas(path, "read_excel", {"sheet_name": sheet, "header": None, "dtype": object})
    cells = raw.astype(object).where(raw.notna(), "").to_numpy(object).tolist()
    rows = [TableRow(i, i + 1, line) for i, line in enumerate(cells)]
    try:
        kept = [row for row in rows if not options.skips(row.line)]
        head = find_head(kept[:HEAD], options)
        body = read_body(rows, head, options, lambda cells: None)
        if not body.rows or head.width < 2:
            raise BadTable("must have a row of names, and a row for each row of X and y")
        names = name_columns(head, body)
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
    notes = dataclasses.replace(notes, sheet=sheet, sheets=tuple(sheets))
    return convert_texts(path, DataTable(frame, notes, "read_excel", keywords, in_file), {}, {}, options)


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
        raise BadTable(f"{path}: {error}. Install it by pip install 'sparselin[frames]'") from None
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
        path, index=", ".join(index), left_out=dict.fromkeys(nested, "lists or records in its cells")
    )
    return DataTable(frame, notes, "read_parquet", {}, list(frame), tuple(steps))


def _are_decimals(column: Any) -> bool:
    cells = [cell for cell in column if cell is not None and cell == cell]
    return bool(cells) and all(type(cell).__name__ == "Decimal" for cell in cells)
