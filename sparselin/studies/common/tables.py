"""Read tables with named columns into pandas: .csv, whose first line has the names, Parquet and Excel."""

import codecs
import contextlib
import csv
import gzip
import importlib
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from sparselin.results import FloatArray
from sparselin.validation import check_indices

# the names that pandas gives to an index of rows: in a .csv, in a .csv that it has read before, in a Parquet
_INDEX, _LEVEL = ("", "Unnamed: 0"), "__index_level_"
_OTHERS = (";", "\t")
_TEXTS, _PARQUET, _WORKBOOK = (".csv", ".tsv", ".txt"), (".parquet", ".pq"), ".xlsx"
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# the first bytes of files that are not text
_OTHER_FILES = {
    b"PK\x03\x04": "a .zip: unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save it as an .xlsx",
    b"PAR1": "a Parquet file: rename it to .parquet",
    b"BZh": "compressed by bzip2: unpack it",
    b"\xfd7zXZ": "compressed by xz: unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it",
}
_SHOWN = 8  # columns that a message lists
_DECIMAL = re.compile(r"\s*[-+]?\d+,\d+\s*")
# a column of numbers may have texts such as "?" instead, in at most this share of its cells
_CODES = 0.1


class DataTable(NamedTuple):
    """A table as pandas reads it.

    frame : the columns and rows; the names of the columns are distinct texts.
    note : sentences about an index that was left out, an encoding other than UTF-8, a sheet, or "".
    reader, options : the function of pandas that reads the same table, and its keyword arguments.
    names : the names of the columns in the file, which may have spaces around them.
    """

    frame: Any
    note: str
    reader: str
    options: dict[str, Any]
    names: list[str]

    @property
    def renamed(self) -> bool:
        """True if spaces around the names of columns were removed."""
        return self.names != list(self.frame)


class BadTable(Exception):
    """The error that a file cannot be read as a table; the message says why, where, and what to do."""


def read_table(path: Path, encoding: str | None = None) -> DataTable:
    """Read a .csv, .parquet or .xlsx with pandas. Raises BadTable.

    If a column holds numbers and, in a few cells, texts such as "?", these texts count as missing; `options`
    and `note` name them.
    """
    if is_text(path):
        table = _read_csv(path, encoding)
    elif is_parquet(path):
        return _read_parquet(path)
    elif path.suffix.lower() == _WORKBOOK:
        table = _read_workbook(path)
    else:
        _check_text(path)
        raise BadTable(f"{path} must be a .csv, a .parquet or an .xlsx")
    texts = columns_of(table.frame, "OUTSV")
    decimal = table.options.get("decimal", ".")
    codes = {name: found for name in texts if (found := _codes(table.frame[name], decimal))}
    name_in_file = dict(zip(table.frame, table.names, strict=True))
    if not codes:
        return table
    few = some([f"{name!r} has {', '.join(map(repr, found))}" for name, found in codes.items()])
    note = f"Counted as missing, in columns of numbers: {few}."
    options = {**table.options, "na_values": {name_in_file[name]: found for name, found in codes.items()}}
    frame = _call(path, table.reader, options)
    frame.columns = table.frame.columns
    return table._replace(frame=frame, note=f"{table.note} {note}".strip(), options=options)


def is_parquet(path: Path) -> bool:
    """Return whether the name of a file is that of a Parquet file."""
    return path.suffix.lower() in _PARQUET


def is_text(path: Path) -> bool:
    """Return whether the name of a file is that of a .csv, compressed by gzip or not."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(_TEXTS)


def columns_of(frame: Any, kinds: str) -> list[str]:
    """Return the names of the columns whose dtype has one of these kinds, such as "iuf" for numbers."""
    return [name for name, dtype in frame.dtypes.items() if dtype.kind in kinds]


def numbers_of(path: Path, table: DataTable) -> FloatArray:
    """Return the columns of a table as numbers (n, d). Raises BadTable if a cell holds none."""
    frame, bad = table.frame.copy(), []
    for name in frame:
        values = frame[name]
        frame[name] = _as_numbers(values, table.options.get("decimal", "."))
        wrong = np.flatnonzero(frame[name].isna())
        if len(wrong):
            cell = values.iloc[wrong[0]]
            what = "an empty cell" if cell != cell else short(str(cell))
            bad.append(f"{short(name)} has {what} in row {wrong[0] + 1}")
    if bad:
        raise BadTable(f"{path}: every cell must hold a number; column {some(bad)}")
    return np.asarray(frame.to_numpy(np.float64))


def short(text: str) -> str:
    """Return a text in quotes; a long text is cut, and its length is added."""
    return repr(text) if len(text) <= 60 else f"{text[:40]!r}… ({len(text):,} characters)"


def some(items: Sequence[str]) -> str:
    """Return the items separated by commas; a long list is cut, and its length is added."""
    rest = "" if len(items) <= _SHOWN else f", … ({len(items):,} in all)"
    return ", ".join(items[:_SHOWN]) + rest


def positions(labels: Sequence[str], names: Sequence[str], option: str) -> list[int]:
    """Return the positions of the columns with these labels.

    Raises BadTable, which suggests the closest name for an unknown label.
    """
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
        line = next(csv.reader([value], skipinitialspace=True), None) or [""]
        found += [value] if value in names else [name.strip() for name in line]
    return found


def _read_csv(path: Path, encoding: str | None) -> DataTable:
    """Read a .csv. If no encoding is given, it is UTF-8 or UTF-16, or else Latin-1 as Windows extends it.

    The separator is a comma. If the first line has no comma, the separator is the first character of
    `_OTHERS` that this line contains. If the separator is a semicolon and more numbers have a comma than a
    point, the comma is the decimal point, as in the files of R's write.csv2.
    """
    with _open(path, encoding) as (file, options, notes):
        first = next(filter(str.strip, file), "")
        whole = len(next(csv.reader([first]), ())) < 2
        sep = next((other for other in _OTHERS if whole and other in first), ",")
        file.seek(0)
        reader = csv.reader(file, delimiter=sep)
        names = [name.strip() for name in next((row for row in reader if row), ())]
        if names and len(names) < 2:
            words = "needs a column for y and others for X, separated by commas (or semicolons, or tabs)"
            raise BadTable(f"{path}: {words}; it has {short(names[0])}")
        if names and all(is_number(name) for name in names):
            raise BadTable(f"{path}: the first line must name the columns; it has only numbers")
        rows, commas, points = 0, 0, 0
        for row in filter(None, reader):
            if len(row) != len(names):
                words = f"line {reader.line_num} has {len(row)} fields, but the first line has {len(names)}"
                raise BadTable(f"{path}: {words}")
            rows += 1
            if sep == ";":
                commas += sum(_DECIMAL.fullmatch(field) is not None for field in row)
                points += sum("." in field and is_number(field) for field in row)
    if not rows:
        raise BadTable(f"{path} must have a line that names the columns, and a line for each row of X and y")
    start = int(names[0] in _INDEX and len(names) > 2)
    if start:
        notes.append(f"{path}: the first column has no name, so it is left out as an index of the rows.")
        names, options = names[1:], options | {"index_col": 0}
    _check_names(path, names, start)
    options |= ({"sep": sep} if sep != "," else {}) | ({"decimal": ","} if commas > points else {})
    frame = _call(path, "read_csv", options)
    in_file, frame.columns = list(frame), names
    return DataTable(frame, " ".join(notes), "read_csv", options, in_file)


def _call(path: Path, reader: str, options: dict[str, Any]) -> Any:
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


def _codes(column: Any, decimal: str) -> list[str]:
    """Return the texts in a column of numbers, such as "?"; [] if most cells hold no number, or if all do.

    A text with a digit, such as "<0.1", is no code.
    """
    column = column.dropna()
    texts = column[_as_numbers(column, decimal).isna()]
    few = 0 < len(texts) <= _CODES * len(column) and not any(re.search(r"\d", str(text)) for text in texts)
    return sorted({str(text) for text in texts}) if few and len(set(texts)) <= _SHOWN else []


def _as_numbers(column: Any, decimal: str = ".") -> Any:
    """Return a column with its texts as numbers, or NaN where they are none.

    A truth value is no text, and counts as 0 or 1. "1_000" is no number.
    """
    if column.dtype.kind in "biufc":
        return column
    texts = column.astype(object).mask(column.astype(str).str.contains("_"))
    texts = texts.map(lambda cell: cell.replace(decimal, ".") if isinstance(cell, str) else cell)
    return importlib.import_module("pandas").to_numeric(texts, "coerce")


@contextlib.contextmanager
def _open(path: Path, encoding: str | None) -> Iterator[tuple[TextIO, dict[str, Any], list[str]]]:
    """Open a .csv, compressed by gzip or not; yield the file, options for pandas.read_csv, and notes.

    Raises BadTable, also while the file is read.
    """
    _check_text(path)
    limit = csv.field_size_limit(2**31 - 1)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            used = _encoding(path, file) if encoding is None else _check_encoding(encoding)
            name = {"cp1252": "Latin-1 (cp1252)", "latin-1": "Latin-1"}.get(used, used.upper())
            plain = used == "utf-8-sig"
            options: dict[str, Any] = {} if plain else {"encoding": used}
            if packed != (path.suffix.lower() == ".gz"):
                options["compression"] = "gzip" if packed else None
            notes = [] if plain or encoding else [f"{path} is not in UTF-8; it is read as {name}."]
            file.seek(0)
            yield io.TextIOWrapper(file, used, newline=""), options, notes
    except UnicodeError as error:
        raise BadTable(f"{path} cannot be read as {name}: {getattr(error, 'reason', error)}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadTable(f"{path} is a broken .gz: {error}. Download or copy the file again") from None
    except csv.Error as error:
        raise BadTable(f"{path} cannot be read as a .csv: {error}") from None
    except (OSError, MemoryError) as error:
        why = "it needs more memory than is available" if isinstance(error, MemoryError) else str(error)
        raise BadTable(f"{path} cannot be read: {why}") from None
    finally:
        csv.field_size_limit(limit)


def _check_encoding(encoding: str) -> str:
    """Return the encoding, with "utf-8-sig" in place of UTF-8, because it skips a byte order mark.

    Raises BadTable if the encoding is unknown.
    """
    try:
        "a".encode(encoding)
        return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except (LookupError, ValueError):
        words = "must be the name of an encoding, such as latin-1 or utf-16"
        raise BadTable(f"--encoding {words}; got {encoding!r}") from None


def _encoding(path: Path, file: Any) -> str:
    """Return the encoding of a text: by its first bytes, else UTF-8 if the text is valid, else Latin-1."""
    head = file.read(4096)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    for name, start in (("utf-16-le", 1), ("utf-16-be", 0)):  # the other byte of an ASCII character is 0
        if len(head) > 1 and 2 * head[start::2].count(0) > len(head[start::2]):
            return name
    if b"\0" in head:
        raise BadTable(f"{path} is not a text file: it contains zero bytes")
    for name in ("utf-8-sig", "cp1252"):
        file.seek(0)
        with contextlib.suppress(UnicodeError):
            for _ in codecs.iterdecode(iter(lambda: file.read(2**20), b""), name):
                pass
            return name
    return "latin-1"


def _check_text(path: Path) -> None:
    """Raise BadTable if the first bytes of a file show that it is not a text; the message names its kind."""
    with path.open("rb") as file:
        head = file.read(8)
    for mark, what in _OTHER_FILES.items():
        if head.startswith(mark):
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    book = "xl/workbook.xml" in archive.namelist()
                    what = "an Excel workbook: rename it to .xlsx" if book else what
            raise BadTable(f"{path} is {what}")


def _check_names(path: Path, names: Sequence[str], start: int = 0) -> None:
    """Raise BadTable unless every column has a name of its own.

    start : the number of columns before the first one.
    """
    if "" in names:
        raise BadTable(f"{path} must name every column; column {start + names.index('') + 1} has no name")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadTable(f"{path} must have distinct column names; {short(twice[0])} occurs twice")


def is_number(field: str) -> bool:
    """Return whether a field is a number; "1_000", which float() accepts, is not."""
    with contextlib.suppress(ValueError):
        return "_" not in field and float(field) is not None
    return False


def _read_workbook(path: Path) -> DataTable:
    """Read the first sheet of an Excel workbook."""
    frame = _call(path, "read_excel", {})
    in_file, names = list(frame), [str(name).strip() for name in frame]
    frame.columns = names
    _check_names(path, names)
    if not len(frame):
        raise BadTable(f"{path} must have a row of names, and a row for each row of X and y")
    return DataTable(frame, f"{path}: the first sheet is read.", "read_excel", {}, in_file)


def _read_parquet(path: Path) -> DataTable:
    """Read a Parquet file. Raises BadTable."""
    frame = _call(path, "read_parquet", {})
    index = [name for name in frame if str(name).startswith(_LEVEL)]
    frame = frame.drop(columns=index)
    _check_names(path, list(frame.columns))
    if not frame.size:
        raise BadTable(f"{path} must have columns and rows; it has {len(frame)} rows of {some(list(frame))}")
    note = f"{path}: {', '.join(index)} is left out as an index of the rows." if index else ""
    return DataTable(frame, note, "read_parquet", {}, list(frame))
