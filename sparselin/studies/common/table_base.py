"""The options, the notes and the error of the readers of tables, and the table that they return."""

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparselin.results.display import printable
from sparselin.validation import check_indices

_SHOWN = 8  # columns that a message lists
SIGNS = {",": "the comma", ".": "the point", " ": "a blank", "'": "an apostrophe"}


class BadTable(Exception):
    """The error that a file cannot be read as a table; the message says why, where, and what to do.

    remedy : a sentence with an option that makes the table readable, or "". It ends the message.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(f"{message.rstrip('.')}. {remedy}" if remedy else message)
        self.reason, self.remedy = message, remedy


@dataclasses.dataclass(frozen=True)
class ReadingOptions:
    """The options of reading a table; None or () is the default, by which the reader decides.

    encoding : the encoding of a text.
    separator : the character between the columns of a text; " " stands for blanks and tabs.
    decimal, thousands : the decimal sign, and the sign between thousands, of columns whose cells leave both
        readings open: the sign for all columns, and for single columns by their names. The name "" is that
        of all columns.
    missing_values : texts that count as missing in every column.
    keep_levels : texts that are values, though pandas reads them as missing, such as "None".
    skip : the numbers of lines (or rows of a sheet) to leave out, from 1; (a, None) means from line a on.
    header : the number of the line with the names of the columns; 0 if there is none.
    sheet : the name or the number, from 1, of a sheet of a workbook.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: Mapping[str, str] = dataclasses.field(default_factory=dict)
    thousands: Mapping[str, str] = dataclasses.field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    keep_levels: tuple[str, ...] = ()
    skip: tuple[tuple[int, int | None], ...] = ()
    header: int | None = None
    sheet: str | None = None

    def skips(self, line: int) -> bool:
        """Return whether a line is to be left out."""
        return any(first <= line <= (line if last is None else last) for first, last in self.skip)


@dataclasses.dataclass(frozen=True)
class ReadingNotes:
    """The notes of the reader of a table about what it did.

    encoding, guessed : the name of the encoding if it is not UTF-8, or ""; whether the reader chose it.
    separator : the character between the columns, or "" if the file is no text.
    decimal, thousands : sign ↦ the columns of numbers in which it is the decimal sign, or separates
        thousands. A column of whole numbers without a sign is in neither.
    skipped : phrases about lines that were left out, such as "line 1 (title)".
    header : the line with the names, if lines before it were left out; otherwise 0.
    sheet, sheets : the sheet that was read, and the names of all sheets.
    index : a phrase about a column that was left out as an index of the rows, or "".
    renamed : the names that the reader gave to columns without a name.
    empty : the number of columns that have neither a name nor a value; they are left out.
    left_out : column ↦ the reason why it cannot be used, such as lists in the cells.
    missing : column of numbers ↦ texts in it that count as missing.
    unreadable : column ↦ texts that --numbers could not read, each with the rows that have it, from 1.
    leading_zeros : columns in which a whole number begins with a zero, as codes do: "00501".
    """

    path: Path
    encoding: str = ""
    guessed: bool = False
    separator: str = ""
    decimal: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    thousands: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    header: int = 0
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    index: str = ""
    renamed: tuple[str, ...] = ()
    empty: int = 0
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    unreadable: Mapping[str, Mapping[str, tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    leading_zeros: tuple[str, ...] = ()

    def sentences(self, options: bool = True) -> list[str]:
        """Return what the reader did, one sentence each.

        options : whether to name the options of `sparselin select` that change it.
        """
        lines = []
        if self.encoding:
            more = " Use --encoding to choose another." if options and self.guessed else ""
            lines.append(f"{self.path} is not in UTF-8; it is read as {self.encoding}.{more}")
        if self.sheet:
            others = [name for name in self.sheets if name != self.sheet]
            more = (
                f" Use --sheet to read another: {some(list(map(repr, others)))}."
                if options and others
                else ""
            )
            lines.append(f"{self.path}: the sheet {self.sheet!r} is read.{more}")
        if self.skipped:
            lines.append(f"{self.path}: left out: {some(self.skipped)}.")
        if self.header:
            lines.append(f"The names of the columns are in {'row' if self.sheet else 'line'} {self.header}.")
        if self.index:
            why = " has no name, so it" if self.index == "the first column" else ""
            lines.append(f"{self.path}: {self.index}{why} is left out as an index of the rows.")
        if self.renamed:
            lines.append(f"Columns without a name are called {some(list(map(repr, self.renamed)))}.")
        if self.left_out:
            each = some([f"{name} ({why})" for name, why in self.left_out.items()])
            lines.append(f"{self.path}: columns that hold no single values are left out: {each}.")
        lines += self._signs()
        if self.missing:
            each = some([f"{name!r} has {', '.join(map(repr, v))}" for name, v in self.missing.items()])
            lines.append(f"Counted as missing: {each}.")
        for name, texts in self.unreadable.items():
            each = some([f"{short(text)} (row {_rows(rows)})" for text, rows in texts.items()])
            count = sum(map(len, texts.values()))
            cells = (
                "1 cell is no number and counts"
                if count == 1
                else f"{count:,} cells are no numbers and count"
            )
            lines.append(f"--numbers {name}: {cells} as missing: {each}.")
        return lines

    def _signs(self) -> list[str]:
        """Return sentences about the decimal and the thousands signs."""
        lines = []
        if len(self.decimal) == 1:
            lines.append(f"{SIGNS[next(iter(self.decimal))].capitalize()} is the decimal sign.")
        elif self.decimal:
            each = [f"{SIGNS[sign]} in {some(names)}" for sign, names in self.decimal.items()]
            lines.append(f"The decimal sign differs between columns: {'; '.join(each)}.")
        each = [
            f"{SIGNS[sign]} separates thousands in {some(names)}" for sign, names in self.thousands.items()
        ]
        sentence = "; ".join(each)  # str.capitalize would change the names of columns
        return lines + ([f"{sentence[0].upper()}{sentence[1:]}."] if each else [])


def _rows(rows: Sequence[int]) -> str:
    return some([f"{row:,}" for row in rows])


class DataTable(NamedTuple):
    """A table as pandas reads it.

    frame : the columns and rows; the names of the columns are distinct texts.
    notes : what the reader did.
    reader, options : the function of pandas that reads the same table, and its keyword arguments.
    names : the names of the columns as this function returns them; they may have spaces around them.
    steps : lines of Python that convert the frame `table` of this function further.
    """

    frame: Any
    notes: ReadingNotes
    reader: str
    options: dict[str, Any]
    names: list[Any]
    steps: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The sentences about the reading, without the options that change it."""
        return " ".join(self.notes.sentences(options=False))

    @property
    def renamed(self) -> bool:
        """True if spaces around the names of columns were removed."""
        return self.names != list(self.frame)


def columns_of(frame: Any, kinds: str) -> list[str]:
    """Return the names of the columns whose dtype has one of these kinds, such as "iuf" for numbers."""
    return [name for name, dtype in frame.dtypes.items() if dtype.kind in kinds]


def short(text: str) -> str:
    """Return a text in quotes; a long text is cut, and its length is added."""
    return repr(text) if len(text) <= 60 else f"{text[:40]!r}… ({len(text):,} characters)"


def some(items: Sequence[str]) -> str:
    """Return the items separated by commas; a long list is cut, and its length is added."""
    rest = "" if len(items) <= _SHOWN else f", … ({len(items):,} in all)"
    return ", ".join(items[:_SHOWN]) + rest


def positions(labels: Sequence[str], names: Sequence[str], option: str) -> list[int]:
    """Return the positions of the columns with these labels.

    A label may also be a name as it is printed, with its control characters escaped. Raises BadTable, which
    suggests the closest name for an unknown label.
    """
    labels = _as_in_table(labels, names)
    at = {name: j for j, name in enumerate(names)}
    if len(at) == len(names) and at.keys() >= set(labels) and len(set(labels)) == len(labels):
        return [at[label] for label in labels]
    try:
        return [int(i) for i in check_indices(labels, len(names), option, tuple(names))]
    except ValueError as error:
        raise BadTable(str(error).rstrip(".")) from None


def split(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names in values such as "age,sex"; a name that contains a comma is in double quotes.

    A value that is itself the name of a column is not divided, even if it contains a comma.
    """
    found = []
    for value in values:
        try:
            line = next(csv.reader([value], skipinitialspace=True), None) or [""]
        except csv.Error:  # a line break outside of double quotes
            line = value.split(",")
        found += [value] if value in names else [name.strip() for name in line]
    return _as_in_table(found, names)


def _as_in_table(labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the labels, and in place of a name as it is printed the name itself."""
    known = set(names)
    if known.issuperset(labels):
        return list(labels)
    printed = {printable(name): name for name in names}
    return [label if label in known else printed.get(label, label) for label in labels]
