"""Read tables of numbers with named columns: .csv files, whose first line has the names, and Parquet."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import importlib
import io
import shlex
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from sparselin.results import FloatArray
from sparselin.validation import check_indices, to_array

# the names that pandas gives to an index of rows: in a .csv, in a .csv that it has read before, in a Parquet
_INDEX, _LEVEL = ("", "Unnamed: 0"), "__index_level_"
# the texts that stand for a missing number, as in pandas.read_csv
_MISSING = frozenset(["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
_OTHERS = (";", "\t")
_TEXTS, _PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EXCEL = "an Excel workbook: save its sheet as a .csv"
# the first bytes of files that are not text
_OTHER_FILES = {
    b"PK\x03\x04": "a .zip: unpack it",
    b"\xd0\xcf\x11\xe0": _EXCEL,
    b"PAR1": "a Parquet file: rename it to .parquet",
    b"BZh": "compressed by bzip2: unpack it",
    b"\xfd7zXZ": "compressed by xz: unpack it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it",
}
_SHOWN = 8  # columns that a message lists
_TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}


class DataTable(NamedTuple):
    """The names of m columns, and their numbers (n, m) in float64.

    dropped : the names of the columns left out on request.
    note : sentences about an index that was left out and an encoding other than UTF-8, or "".
    options : the keyword arguments with which pandas.read_csv reads the same table from a .csv.
    """

    names: tuple[str, ...]
    data: FloatArray
    dropped: tuple[str, ...]
    note: str
    options: dict[str, Any]


class BadTable(Exception):
    """The error that a file cannot be read as a table; the message says why, where, and what to do.

    texts : the columns that hold texts instead of numbers, with an example of each.
    names : the names of the columns to read.
    """

    def __init__(self, words: str, texts: dict[str, str] | None = None, names: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.texts, self.names = texts or {}, tuple(names)

    def full_message(self, target: str | None = None, option: str = "") -> str:
        """Return the error with advice.

        target : the name of y, by default the last column.
        option : the option that drops columns, if any.
        """
        text = str(self).rstrip(".")
        y = target or (self.names or ("",))[-1]
        columns = [name for name in self.texts if name != y]
        if columns:
            few = f" {shlex.quote(quoted_list(columns))}" if len(columns) <= _SHOWN else ""
            by = f" with {option}{few}" if option else ""
            text += f". Encode such columns as numbers, or leave them out{by}"
        if y in self.texts:
            text += (
                f". {y!r} is the column to explain: encode it as numbers. For two classes, use in Python: "
                'sparselin.generalized_omp(X, y, k, loss="logistic", intercept=True)'
            )
        return text if text.endswith("?") else f"{text}."


def read_table(path: Path, drop: Sequence[str] = (), encoding: str | None = None) -> DataTable:
    """Read a .csv or .parquet without the columns `drop`.

    A missing number becomes NaN; truth values become 0 and 1.

    Raises BadTable.
    """
    if is_text(path):
        return read_csv(path, drop, True, encoding)
    if is_parquet(path):
        return _read_parquet(path, drop)
    _check_text(path)
    raise BadTable(f"{path} must be a .csv or a .parquet")


def is_parquet(path: Path) -> bool:
    """Return whether the name of a file is that of a Parquet file."""
    return path.suffix.lower() in _PARQUET


def is_text(path: Path) -> bool:
    """Return whether the name of a file is that of a .csv, compressed by gzip or not."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(_TEXTS)


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


def quoted_list(names: Sequence[str]) -> str:
    """Join names to a text that `split` divides into the same names."""
    quoted = (name.replace('"', '""') for name in names)
    return ",".join(f'"{name}"' if "," in name or '"' in name else name for name in quoted)


def read_csv(
    path: Path, drop: Sequence[str] = (), missing: bool = False, encoding: str | None = None
) -> DataTable:
    """Read a .csv without the columns `drop`. A missing number becomes NaN if `missing`, else it is refused.

    If no encoding is given, the encoding is UTF-8 or UTF-16, or else Latin-1 as Windows extends it. The
    separator is a comma. If the first line has no comma, the separator is the first character of `_OTHERS`
    that this line contains. If the separator is a semicolon, a comma in a number is a decimal point, as in
    the files of R's write.csv2.
    """
    with _open(path, encoding) as (file, options, notes):
        first = next(filter(str.strip, file), "")
        whole = len(next(csv.reader([first]), ())) < 2
        sep = next((other for other in _OTHERS if whole and other in first), ",")
        file.seek(0)
        reader = csv.reader(file, delimiter=sep)
        names = tuple(name.strip() for name in next((row for row in reader if row), ()))
        if names and len(names) < 2:
            words = "needs a column for y and others for X, separated by commas (or semicolons, or tabs)"
            raise BadTable(f"{path}: {words}; it has {short(names[0])}")
        if names and all(_is_number(name) for name in names):
            raise BadTable(f"{path}: the first line must name the columns; it has only numbers")
        index = [0] if names and names[0] in _INDEX and len(names) > 2 else []
        if index:
            notes.append(f"{path}: the first column has no name, so it is left out as an index of the rows.")
        keep, dropped = _columns_to_read(path, names, index, drop)
        decimal = "," if sep == ";" else "."
        rows = [_numbers(path, reader.line_num, row, names, keep, missing, decimal) for row in reader if row]
        commas = sep == ";" and _has_commas(file, keep)
    if not rows:
        raise BadTable(f"{path} must have a line that names the columns, and a line for each row of X and y")
    options |= {"index_col": 0} if index else {}
    options |= ({"sep": sep} if sep != "," else {}) | ({"decimal": ","} if commas else {})
    return DataTable(tuple(names[j] for j in keep), np.array(rows), dropped, " ".join(notes), options)


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
            options = {} if plain else {"encoding": used}
            options |= {"compression": "gzip"} if packed and path.suffix.lower() != ".gz" else {}
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
                    what = _EXCEL if "xl/workbook.xml" in archive.namelist() else what
            raise BadTable(f"{path} is {what}")


def _has_commas(file: TextIO, keep: list[int]) -> bool:
    """Return whether the numbers in a .csv with semicolons contain commas."""
    file.seek(0)
    rows = filter(None, csv.reader(file, delimiter=";"))
    next(rows, None)
    return any("," in row[j] for row in rows for j in keep)


def _columns_to_read(
    path: Path, names: Sequence[str], index: list[int], drop: Sequence[str]
) -> tuple[list[int], tuple[str, ...]]:
    """Return the columns to read, and the names of the dropped ones.

    A column is read unless it is in `drop` or is an index that numbers the rows.
    """
    keep = [j for j in range(len(names)) if j not in index]
    kept = [names[j] for j in keep]
    if "" in kept:
        raise BadTable(f"{path} must name every column; column {keep[kept.index('')] + 1} has no name")
    twice = [name for name, count in Counter(kept).items() if count > 1]
    if twice:
        raise BadTable(f"{path} must have distinct column names; {short(twice[0])} occurs twice")
    out = set(positions(split(drop, kept), kept, "--drop"))
    return [j for i, j in enumerate(keep) if i not in out], tuple(kept[i] for i in sorted(out))


def _numbers(
    path: Path, line: int, row: list[str], names: Sequence[str], keep: list[int], missing: bool, decimal: str
) -> FloatArray:
    """Convert the fields `row` of a line of a .csv to numbers, in the columns `keep` only.

    line : the number of the line, for messages.
    names : the names of all columns.
    missing : whether a missing number becomes NaN; if not, it raises BadTable.
    decimal : the decimal point.
    """
    if len(row) != len(names):
        raise BadTable(f"{path}: line {line} has {len(row)} fields, but the first line has {len(names)}")
    if "_" not in "".join(row):  # float() ignores underscores
        with contextlib.suppress(ValueError):
            return np.array([float(row[j].replace(decimal, ".")) for j in keep])
    numbers, texts = [], {}
    for j in keep:
        field = row[j].strip()
        if missing and field in _MISSING:
            numbers.append(np.nan)
        elif not field:
            words = f"line {line} has no value in column {short(names[j])}: fill it in, or remove the row"
            raise BadTable(f"{path}: {words}")
        elif field in _TRUTH:
            numbers.append(_TRUTH[field])
        elif _is_number(field.replace(decimal, ".")):
            numbers.append(float(field.replace(decimal, ".")))
        else:
            texts[names[j]] = field
    if texts:
        found = some([f"{short(field)} in column {short(name)}" for name, field in texts.items()])
        raise BadTable(f"{path}: line {line} has {found}: not a number", texts, [names[j] for j in keep])
    return np.array(numbers)


def _is_number(field: str) -> bool:
    """Return whether a field is a number; "1_000", which float() accepts, is not."""
    with contextlib.suppress(ValueError):
        return "_" not in field and float(field) is not None
    return False


def _read_parquet(path: Path, drop: Sequence[str]) -> DataTable:
    """Read a Parquet file without the columns `drop`. Raises BadTable."""
    frame = _frame(path)
    names = tuple(frame.columns)
    index = [j for j, name in enumerate(names) if name.startswith(_LEVEL)]
    note = f"{path}: {', '.join(names[j] for j in index)} is left out as an index of the rows."
    keep, dropped = _columns_to_read(path, names, index, drop)
    columns, texts = [], {}
    for name in (names[j] for j in keep):
        try:
            columns.append(np.asarray(to_array(frame[name], name), np.float64))
        except TypeError:
            texts[name] = str(next(iter(frame[name]), ""))
    if texts:
        types = some([f"{short(name)} has dtype {frame[name].dtype}" for name in texts])
        raise BadTable(f"{path}: columns must hold real numbers; {types}", texts, [names[j] for j in keep])
    if not columns or not len(columns[0]):
        raise BadTable(f"{path} must have columns and rows; it has {len(frame)} rows of {some(names)}")
    data = np.column_stack(columns)
    return DataTable(tuple(names[j] for j in keep), data, dropped, note if index else "", {})


def _frame(path: Path) -> Any:
    """Read a Parquet file into a frame of polars, or else of pandas."""
    for library in ("polars", "pandas"):
        try:
            return importlib.import_module(library).read_parquet(path)
        except ImportError:  # the library is missing, or the package with which pandas reads Parquet
            continue
        except (KeyboardInterrupt, SystemExit):
            raise
        except (
            BaseException
        ) as error:  # each reader raises its own errors, and a panic of polars is not an Exception
            why = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise BadTable(f"{path} cannot be read as Parquet: {why}") from None
    raise BadTable(f"{path}: Parquet needs polars, or pandas with pyarrow: pip install 'sparselin[frames]'")
