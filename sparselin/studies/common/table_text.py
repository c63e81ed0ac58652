"""Open a text as a table: its compression, its encoding, the separator of its columns, and its rows."""

import codecs
import contextlib
import csv
import gzip
import io
import re
import shlex
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sparselin.studies.common.table_base import BadTable, short
from sparselin.studies.common.table_layout import HEAD, TableRow
from sparselin.studies.common.table_numerals import COMMA, POINT, is_number, readings_of

_SEPARATORS = (",", ";", "\t", "|", " ")
WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}
_SAMPLE = 2**18  # characters from which the separator is found, and at least _LEAST lines
_LEAST = 4
_FIELDS = 200  # fields of a row that are tried as numbers
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


class TextFile(NamedTuple):
    """An open text.

    file : the text, which can be read again from the start.
    options : the keyword arguments of pandas.read_csv for its encoding and compression.
    encoding : the name of the encoding if it is not UTF-8, or "".
    """

    file: TextIO
    options: dict[str, Any]
    encoding: str


def rows_of(file: TextIO, separator: str) -> Iterator[TableRow]:
    """Yield the rows of a text from its start; a blank line is a row without cells.

    separator : the character between fields; " " stands for any number of blanks and tabs.
    """
    file.seek(0)
    lines: Iterable[str] = file
    options: dict[str, Any] = {"delimiter": separator}
    if separator == " ":
        lines = (line.replace("\t", " ").rstrip(" \r\n") + "\n" for line in file)
        options["skipinitialspace"] = True
    reader = csv.reader(lines, **options)
    for record, cells in enumerate(reader):
        yield TableRow(record, reader.line_num, cells if len(cells) > 1 or any(map(str.strip, cells)) else ())


class Signs:
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


def find_separator(path: Path, file: TextIO) -> tuple[str, bool]:
    """Return the character between the columns, and whether a line such as Excel's "sep=;" names it.

    It is the one that divides most of the first lines into the same number of fields, at least two; if
    several do, the one with which most fields are numbers or names without other separators. Raises BadTable.
    """
    file.seek(0)
    lines: list[str] = []
    size = 0
    for line in file:
        lines.append(line)
        size += len(line)
        if len(lines) >= HEAD or (size > _SAMPLE and len(lines) >= _LEAST):
            break
    while lines and not lines[0].strip():
        del lines[0]
    named = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if named:
        return named[1], True
    best = max(_SEPARATORS, key=lambda separator: _agreement(lines, separator))
    if _agreement(lines, best) == (0, 0.0) and any(map(str.strip, lines)):
        first = next(line.strip() for line in lines if line.strip())
        raise BadTable(
            f"{path} needs a column for y and others for X, separated by commas, semicolons, tabs, vertical "
            f"bars or blanks; it has {short(first)}",
            _proposed_separator(first),
        )
    return best, False


def _proposed_separator(line: str) -> str:
    """Return a sentence with the option for a line whose only sign may separate its columns, or ""."""
    signs = sorted({sign for sign in line if not sign.isalnum() and sign not in " _.-\"'"})
    if not signs:
        return ""
    return (
        f"Pass --separator {shlex.quote(max(signs, key=line.count))} if this character separates its columns"
    )


def _agreement(lines: Sequence[str], separator: str) -> tuple[int, float]:
    """Return the number of rows with the most frequent number of fields, and the share of clean fields."""
    rows = [row.cells for row in rows_of(io.StringIO("".join(lines), newline=""), separator) if row.cells]
    counts = Counter(len(cells) for cells in rows if len(cells) > 1)
    if not counts:
        return 0, 0.0
    width = max(counts, key=lambda width: (counts[width], width))
    fields = [field for cells in rows if len(cells) == width for field in cells[:_FIELDS]]
    others = "".join(other for other in ",;\t|" if other != separator)
    clean = sum(
        is_number(field) or (field == field.strip() and not any(sign in field for sign in others))
        for field in fields
    )
    return counts[width], clean / len(fields)


@contextlib.contextmanager
def open_text(path: Path, encoding: str | None) -> Iterator[TextFile]:
    """Open a .csv, compressed by gzip or not, inside a `with` block.

    Raises BadTable, also while the file is read.
    """
    check_text(path)
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
            file.seek(0)
            yield TextFile(io.TextIOWrapper(file, used, newline=""), options, "" if plain else name)
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


def check_text(path: Path) -> None:
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
