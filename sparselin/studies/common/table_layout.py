"""Find the parts of a table in its rows of cells: titles and comments, the names, units, the rows, footers.

The rows come from a text or from a sheet of a workbook; an empty cell of a sheet is "".
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sparselin.results.display import plural
from sparselin.studies.common.table_base import BadTable, ReadingOptions, short, some
from sparselin.studies.common.table_numerals import is_number

HEAD = 100  # the rows from which the layout is found
_TAIL = 30  # the largest number of rows of a footer
_RANGES = 40  # the largest number of ranges of lines in a proposed option
# the names that pandas gives to an index of rows: in a .csv, in a .csv that it has read before
_INDEX = ("", "Unnamed: 0")
_CALLED = "the columns are then called column 1, column 2 and so on"
_COMMENT = re.compile(r"\s*(#(?!(N/A|NV|DIV/0!))|%|//)")
_TOTAL = re.compile(
    r"\s*(grand )?(total|totals|sum|summe|gesamt|gesamtsumme|gesamtergebnis|somme|total général|mean|average|"
    r"mittelwert|moyenne|median|std\.? ?dev\.?|n =.*)\s*:?\s*",
    re.IGNORECASE,
)


class TableRow(NamedTuple):
    """A row of cells.

    record : its number among all rows and blank lines of the file, from 0, as pandas counts them.
    line : the number of its last line in the file, from 1.
    noun : "line", or "row" in a sheet of a workbook, for messages.
    """

    record: int
    line: int
    cells: Sequence[Any]
    noun: str = "line"

    @property
    def place(self) -> str:
        """The noun and the number, such as "line 3"."""
        return f"{self.noun} {self.line}"

    @property
    def filled(self) -> int:
        """The number of cells that are not empty."""
        return sum(not _is_empty(cell) for cell in self.cells)


class Head(NamedTuple):
    """The beginning of a table.

    names : the names in the file, without spaces around them; () if the file has none.
    width : the number of cells of each row.
    first : the number of the record with the names, or of the first row of data less 1.
    line : the number of the line with the names, or 0.
    leading : the rows before it, which are left out, with what they are.
    labels : whether the rows have one cell more than the line of names, at the beginning: R's row names.
    longer : whether the line of names has more cells, which are empty.
    in_comment : whether the line with the names is a comment, as numpy.savetxt writes it.
    """

    names: tuple[str, ...]
    width: int
    first: int
    line: int
    leading: tuple[tuple[TableRow, str], ...]
    labels: bool
    longer: bool = False
    in_comment: bool = False


def _is_empty(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def _is_numeric(cell: Any) -> bool:
    return (
        is_number(cell)
        if isinstance(cell, str)
        else isinstance(cell, int | float) and not isinstance(cell, bool)
    )


def _is_name(cell: Any) -> bool:
    return not _is_empty(cell) and not _is_numeric(cell)


def find_head(rows: Sequence[TableRow], options: ReadingOptions) -> Head:
    """Find the line with the names of the columns in the first rows of a table. Raises BadTable."""
    rows = [row for row in rows if row.cells]
    if not any(row.filled for row in rows):
        noun = rows[0].noun if rows else "line"
        raise BadTable(f"must have a {noun} that names the columns, and a {noun} for each row of X and y")
    if options.header is not None and options.header > 0:
        return _given_head(rows, options.header)
    leading = []
    i = 0
    while i < len(rows) and (what := _leading(rows, i)):
        leading.append((rows[i], what))
        i += 1
    width = _width(rows[i:])
    if options.header == 0:
        row = rows[i]
        return Head(names=(), width=width, first=row.record - 1, line=0, leading=tuple(leading), labels=False)
    comment = _names_in_comment(leading, rows[i], width)
    if comment is not None:
        names, row = comment
        return Head(
            names=names,
            width=width,
            first=row.record,
            line=row.line,
            leading=tuple(leading[:-1]),
            labels=False,
            in_comment=True,
        )
    while i + 1 < len(rows) and (what := _before_names(rows, i, width)):
        leading.append((rows[i], what))
        i += 1
    head = _head(rows[i:], rows[i], tuple(leading))
    _check_head(rows[i], rows[i + 1 :], head)
    return head


def _given_head(rows: Sequence[TableRow], line: int) -> Head:
    """Return the head whose names are in a given line."""
    at = next((i for i, row in enumerate(rows) if row.line >= line), None)
    if at is None or rows[at].line != line or not rows[at].filled:
        raise BadTable(
            f"--header {line}: this {rows[0].noun} has no names",
            f"The first {rows[0].noun} that has cells is {rows[0].line}",
        )
    return _head(rows[at:], rows[at], tuple((row, "before the names") for row in rows[:at]))


def _head(rows: Sequence[TableRow], row: TableRow, leading: tuple[tuple[TableRow, str], ...]) -> Head:
    """Return the head with the names in a row; `rows` begin with this row."""
    width = _width(rows[1:] or rows)
    cells = list(row.cells)
    while len(cells) > width and _is_empty(cells[-1]):  # a separator behind the last name only
        cells.pop()
    width = max(width, len(cells))
    names = tuple("" if _is_empty(cell) else str(cell).strip() for cell in cells)
    labels = len(names) == width - 1 and any(
        not _is_empty(later.cells[-1]) for later in rows[1:] if len(later.cells) == width
    )
    return Head(
        names=names,
        width=width,
        first=row.record,
        line=row.line,
        leading=leading,
        labels=labels,
        longer=len(row.cells) > width,
    )


def _leading(rows: Sequence[TableRow], i: int) -> str:
    """Return what a row at the beginning is if it is before the names, whatever follows, or ""."""
    row = rows[i]
    if i + 1 == len(rows):
        return ""
    if isinstance(row.cells[0], str) and _COMMENT.match(row.cells[0]):
        return "comment"
    if not row.filled:
        return "blank"
    if len(row.cells) == 2 and _is_empty(row.cells[0]):
        return ""
    later = [other for other in rows[i + 1 :] if other.filled]
    return (
        "title"
        if row.filled == 1 and later and _width(later) > 1 and max(r.filled for r in later) > 1
        else ""
    )


def _before_names(rows: Sequence[TableRow], i: int, width: int) -> str:
    """Return what a row is that has fewer cells than the rows below, or "" if it has the names.

    R writes one name fewer than the rows have cells, because the names of its rows come first.
    """
    row, below = rows[i], rows[i + 1]
    if len(row.cells) >= width:
        few = 0 < row.filled <= width // 2 < below.filled and all(map(_is_name, filter(None, below.cells)))
        return "title" if few or not row.filled else ""
    labelled = len(row.cells) == width - 1 and len(below.cells) == width
    if labelled and all(map(_is_name, row.cells)) and any(map(_is_numeric, below.cells[1:])):
        return ""
    if any(
        len(later.cells) == width and all(map(_is_name, filter(None, later.cells))) for later in rows[i + 1 :]
    ):
        return "title"
    return ""


def _width(rows: Sequence[TableRow]) -> int:
    """Return the most frequent number of cells, and the larger one of two that are as frequent."""
    counts = Counter(len(row.cells) for row in rows if row.filled)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _names_in_comment(
    leading: Sequence[tuple[TableRow, str]], row: TableRow, width: int
) -> tuple[tuple[str, ...], TableRow] | None:
    """Return the names in the last comment, as numpy.savetxt writes them, if a row of numbers follows."""
    if not leading or leading[-1][1] != "comment" or not all(map(_is_numeric, row.cells)):
        return None
    last = leading[-1][0]
    names = [str(cell).strip() for cell in last.cells]
    names[0] = re.sub(r"^(#+|%+|//)\s*", "", names[0])
    names = names if names[0] else names[1:]
    return (tuple(names), last) if len(names) == width and all(map(_is_name, names)) else None


def _check_head(row: TableRow, below: Sequence[TableRow], head: Head) -> None:
    """Raise BadTable unless a row has names, and the row below it has values."""
    cells = [cell for cell in row.cells if not _is_empty(cell)]
    numbers = [cell for cell in cells if _is_numeric(cell)]
    remedy = (
        f"Pass --header {row.line} if they are names, or --header 0 if no {row.noun} has the names; {_CALLED}"
    )
    if len(numbers) == len(cells):
        words = "must name the columns; it has only numbers"
        raise BadTable(f"the first {row.noun} {words}" if row.line == 1 else f"{row.place} {words}", remedy)
    values = [
        float(str(cell).replace(",", ".")) if str(cell).count(",") < 2 else 0.0
        for cell in numbers
        if re.fullmatch(r"[-+0-9.,]+", str(cell))
    ]
    ordered = all(a < b for a, b in itertools.pairwise(values)) and len(values) == len(numbers)
    if 2 * len(numbers) >= len(cells) and not (ordered and len(numbers) > 2):
        shown = some([short(str(cell)) for cell in cells])
        raise BadTable(f"{row.place} should have the names of the columns; it has numbers: {shown}", remedy)
    below = [other for other in below if other.filled and len(other.cells) == head.width]
    if len(below) < 3:
        return
    first, rest = below[0], below[1:]
    numeric = [
        j
        for j in range(head.width)
        if 5 * sum(_is_numeric(other.cells[j]) for other in rest) >= 4 * len(rest)
    ]
    texts = [first.cells[j] for j in numeric if _is_word(first.cells[j])]
    if texts and 2 * len(texts) >= len(numeric) and not any(_is_numeric(first.cells[j]) for j in numeric):
        shown = some([short(str(cell).strip()) for cell in texts])
        raise BadTable(
            f"{first.place}, below the names in {row.place}, has texts where the next {row.noun}s have "
            f"numbers: {shown}",
            f"If they are units, pass --skip {first.line}; if they are names, --header {first.line}",
        )


def _is_word(cell: Any) -> bool:
    """Return whether a cell is a text with a letter that is no mark of a missing value."""
    text = "" if _is_empty(cell) else str(cell).strip()
    has_letter = re.search(r"[^\W\d_]|[%°µ$€£()\[\]]", text)
    return (
        has_letter is not None
        and not _is_numeric(cell)
        and text.lower()
        not in (
            "na",
            "n/a",
            "nan",
            "null",
            "none",
            "missing",
            "nd",
            "n.d.",
            "k.a.",
            "k. a.",
            "#n/a",
            "#nv",
        )
    )


class Body(NamedTuple):
    """The rows of a table below its names.

    rows : the number of rows of data.
    last : the number of the record of the last one.
    footer : the rows behind it, which are left out.
    skipped : the records between that --skip leaves out.
    cut : whether rows behind the last one are left out.
    empty : for each column, whether no row has a value in it; only for columns without a name.
    """

    rows: int
    last: int
    footer: tuple[TableRow, ...]
    skipped: tuple[int, ...]
    cut: bool
    empty: dict[int, bool]


def read_body(rows: Iterable[TableRow], head: Head, options: ReadingOptions, watch: Any) -> Body:
    """Read the rows below the names. Raises BadTable for rows with another number of cells.

    watch : a function that is called with the cells of each row of data.
    """
    unnamed = [j for j in range(head.width) if j >= len(head.names) or not head.names[j]]
    unnamed = [j for j in unnamed if not head.labels and head.names]
    empty = dict.fromkeys(unnamed, True)
    odd: list[TableRow] = []  # rows with another number of cells, since the last right one
    wrong: list[TableRow] = []
    recent: list[TableRow] = []  # the last rows
    count = 0
    last = head.first
    skipped = []
    for row in rows:
        if row.record <= head.first or not row.cells:
            continue
        if options.skips(row.line):
            skipped.append(row.record)
            continue
        if len(row.cells) != head.width and not _fits(row.cells, head):
            odd.append(row)
            continue
        wrong += odd
        odd = []
        for j in unnamed:
            if empty[j] and j < len(row.cells) and not _is_empty(row.cells[j]):
                empty[j] = False
        recent.append(row)
        if len(recent) > 2 * _TAIL:
            del recent[:_TAIL]
        watch(row.cells)
        count = count + 1
        last = row.record
    footer = [row for row in odd if _is_footer(row, head.width)] if len(odd) <= _TAIL else []
    wrong += [row for row in odd if row not in footer]
    if wrong:
        raise _error_of_widths(wrong, head)
    while recent and head.width > 2 and count > 1 and _is_footer(recent[-1], head.width):
        footer.insert(0, recent.pop())
        count -= 1
        last = recent[-1].record if recent else last
    row = recent[-1] if recent else TableRow(0, 0, ())
    totals = [cell for cell in row.cells[:2] if isinstance(cell, str) and _TOTAL.fullmatch(cell)]
    if totals and count > 2 and totals[0].strip() not in options.keep_levels:
        shown = some([short(str(cell)) for cell in row.cells])
        raise BadTable(
            f"{row.place}, the last one, seems to hold totals: {shown}",
            f"Pass --skip {row.line} to leave it out, or --keep-levels {totals[0].strip()!r} to keep it",
        )
    cut = bool(footer) or any(record > last for record in skipped)
    return Body(
        rows=count,
        last=last,
        footer=tuple(footer),
        skipped=tuple(r for r in skipped if r < last),
        cut=cut,
        empty=empty,
    )


def _fits(cells: Sequence[Any], head: Head) -> bool:
    """Return whether cells that are too many are empty."""
    return len(cells) > head.width and all(map(_is_empty, cells[head.width :]))


def _is_footer(row: TableRow, width: int) -> bool:
    """Return whether a row behind the data is empty, DOS's end-of-file mark, or a text in its first cell."""
    if not row.filled:
        return True
    first = row.cells[0]
    if isinstance(first, str) and (first.strip() == "\x1a" or _COMMENT.match(first)):
        return True
    return row.filled == 1 and width > 2 and _is_name(first)


def _error_of_widths(rows: Sequence[TableRow], head: Head) -> BadTable:
    """Return the error that rows have another number of cells than the names."""
    row = rows[0]
    names = len(head.names) or head.width
    fields = plural(len(row.cells), "field")
    words = f"{row.place} has {fields}, but the first {row.noun} has {names}"
    if head.line > 1:
        words = f"{row.place} has {fields}, but {row.noun} {head.line} with the names has {names}"
    if len(rows) > 1:
        words += f"; so have {len(rows) - 1:,} other {row.noun}s"
    lines = ranges([row.line for row in rows])
    if len(lines) > _RANGES:
        return BadTable(words, "Pass --separator to read the file in another way")
    return BadTable(words, f"Correct these {row.noun}s, or leave them out: --skip {','.join(lines)}")


def ranges(numbers: Sequence[int]) -> list[str]:
    """Return increasing numbers as texts such as "3" and "5-8"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(a) if a == b else f"{a}-{b}" for a, b in found]


def describe_rows(head: Head, body: Body) -> tuple[str, ...]:
    """Return phrases about the rows before the names and behind the data that are left out."""
    rows = [*head.leading, *((row, "below the table") for row in body.footer if row.filled)]
    return tuple(f"{row.place} ({what}: {short(_text(row))})" for row, what in rows if row.filled)


def _text(row: TableRow) -> str:
    return " ".join(str(cell).strip() for cell in row.cells if not _is_empty(cell))


class Names(NamedTuple):
    """The names of the columns that are used, and the places of all columns that pandas is to read.

    names : the names, without the index.
    places : the places of these columns and of the index in the file.
    index_at : the place of the index among `places`, or None.
    renamed : the names that columns without one were given.
    empty : the number of columns without a name and a value.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    index_at: int | None
    renamed: tuple[str, ...]
    empty: int


def name_columns(head: Head, body: Body) -> Names:
    """Choose the columns of a table and their names. Raises BadTable if two names are the same."""
    if not head.names:
        names = tuple(f"column {j + 1}" for j in range(head.width))
        return Names(names, tuple(range(head.width)), None, (), 0)
    if head.labels:
        return Names(_distinct(head.names, head), tuple(range(head.width)), 0, (), 0)
    places = [j for j in range(head.width) if not body.empty.get(j, False)]
    found = [head.names[j] if j < len(head.names) else "" for j in places]
    index = 0 if found and found[0] in _INDEX and len(found) > 2 else None
    if found[0] == "" and len(found) == 2:
        raise BadTable(
            "must name every column; column 1 has no name",
            f"Name it in the file, or pass --header 0 --skip {head.line}; {_CALLED}",
        )
    free = range(1 if index is not None else 0, len(places))
    renamed = {i: f"column {places[i] + 1}" for i in free if not found[i]}
    names = tuple(renamed.get(i, found[i]) for i in free)
    return Names(
        _distinct(names, head),
        tuple(places),
        index,
        tuple(renamed.values()),
        head.width - len(places),
    )


def _distinct(names: tuple[str, ...], head: Head) -> tuple[str, ...]:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadTable(
            f"must have distinct column names; {short(twice[0])} occurs twice",
            f"Rename a column in the file, or pass --header 0 --skip {head.line}; {_CALLED}",
        )
    return names
