"""Tables of results: columns as data, and the text, the HTML and the data frame that are made from them."""

import decimal
import html
import importlib
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparselin.results.latex import tabular
from sparselin.validation.extras import installed_by

# the rounding of a bound that stands in the place of digits
_OUTWARD = {
    "≤": decimal.Context(prec=4, rounding=decimal.ROUND_CEILING),
    "≥": decimal.Context(prec=4, rounding=decimal.ROUND_FLOOR),
}
_DOWN = decimal.Context(prec=2, rounding=decimal.ROUND_FLOOR)
_SMALL = 1e-290  # below this, p-values are shown by their logarithms
_CELL = 40  # the most characters of a cell in text


class Column(NamedTuple):
    """A column of a table, with a name in data frames and a heading in text and HTML.

    key : its name in a frame; None if the frame does not have it.
    head : its heading in text and HTML; None if only the frame has it.
    values : an array, or a sequence of strings or booleans, one entry for each row.
    decimals : the number of decimals of floats in text and HTML; None for four significant digits.
    """

    key: str | None
    head: str | None
    values: Sequence[Any] | NDArray[Any]
    decimals: int | None = None


class Cells(Sequence[str]):
    """A sequence of m strings, of which entry i is made by make(i) only when it is shown."""

    def __init__(self, make: Callable[[int], str], m: int) -> None:
        self._make, self._m = make, m

    def __len__(self) -> int:
        return self._m

    def __getitem__(self, i: Any) -> Any:
        return self._make(i)


class Table(NamedTuple):
    """A table: columns of equal length, notes below them, and the largest number of rows that is shown."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    most: int = 24


def printable(text: str) -> str:
    """Return the text with line breaks and other control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short(text: str) -> str:
    """Return the text on one line; a long text is cut off and ends with "…"."""
    line = printable(text)
    return line if len(line) <= _CELL else line[: _CELL - 1] + "…"


def list_names(names: Sequence[str], most: int = 3, what: str = "features") -> str:
    """Return the names as text, or only their number if there are more than `most`."""
    return ", ".join(map(short, names)) if len(names) <= most else f"{len(names)} {what}"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas and "and": "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: "1 step", "2 steps"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def number(x: float) -> str:
    """Format a number with four significant digits and all digits before the point; NaN is a dash."""
    if x != x:
        return "–"
    if x == 0 or math.isinf(x):
        return f"{x + 0.0:g}"
    rounded = f"{x:.3e}"
    power = int(rounded.split("e")[1])
    return f"{x:.{max(0, 3 - power)}f}" if -4 <= power < 7 else rounded


def round_down(x: float) -> float:
    """Return the largest number with two significant digits that is at most x ≥ 0."""
    return float(_DOWN.create_decimal_from_float(x))


def digits_of(bounds: NDArray[Any], end: str = "≤", logs: NDArray[Any] | None = None) -> list[str]:
    """Return numbers with up to four digits, those that lower and upper bounds (k, 2) have in common.

    end : "≤" or "≥", which stands before the upper or the lower bound if they have no digit in common.
    logs : bounds (k, 2) on the natural logarithms of numbers > 0, which serve where these underflow.
    """
    texts = [_digits(float(low), float(high), end) for low, high in bounds]
    if logs is not None:
        for i in np.flatnonzero(bounds[:, 1] < _SMALL):
            texts[i] = _digits_of_power(*(logs[i] / math.log(10)).tolist())
    return texts


def _digits_of_power(low: float, high: float) -> str:
    """Return the digits that 10^low and 10^high have in common, or "≤" and the upper one.

    The bounds are widened by the rounding error of the division by ln 10.
    """
    low, high = (end + side * 2.0**-50 * abs(end) for end, side in ((low, -1), (high, 1)))
    power = math.floor(high)
    if low > -math.inf and math.floor(low) == power:
        for digits in (4, 3, 2, 1):
            texts = {f"{10 ** (end - power):.{digits - 1}f}" for end in (low, high)}
            if len(texts) == 1 and not (text := texts.pop()).startswith("10"):
                return f"{text}e{power}"
    return f"≤ 1e{power + 1}"


def _digits(low: float, high: float, end: str) -> str:
    if low != low:
        return "–"
    if number(low) == number(high):
        return number(low)
    for digits in (3, 2, 1):
        text = f"{low:.{digits - 1}e}"
        if text == f"{high:.{digits - 1}e}":
            power = int(text.split("e")[1])
            return f"{float(text):.{digits - 1 - power}f}" if -4 <= power < digits else text
    rounded = _OUTWARD[end].create_decimal_from_float(high if end == "≤" else low)
    return f"{end} {number(float(rounded))}"


def as_text(title: str, table: Table) -> str:
    """Return the table as plain text: the title above it, the notes below it."""
    heads, aligned, above, below, left_out = _cells(table)
    rows = [heads, *([short(cell) for cell in row] for row in above + below)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(_pad, row, widths, aligned)).rstrip() for row in rows]
    if left_out:
        lines.insert(1 + len(above), f"… {left_out} more rows …")
    return "\n".join([title, *lines, *table.notes])


def as_html(title: str, table: Table) -> str:
    """Return the table as HTML that sets no colours, so that it can be read on dark and on light pages."""
    heads, aligned, above, below, left_out = _cells(table)
    styles = [f' style="text-align:{"right" if right else "left"};padding:0 .6em"' for right in aligned]
    middle = f'<tr><td colspan="{len(heads)}">… {left_out} more rows …</td></tr>' if left_out else ""
    first, last = ("".join(_html_row(row, styles) for row in rows) for rows in (above, below))
    columns = zip(heads, styles, strict=True)
    head = "".join(f'<th scope="col"{style}>{html.escape(text)}</th>' for text, style in columns)
    notes = "".join(f"<div>{html.escape(note)}</div>" for note in table.notes)
    name = html.escape(title)
    rows = f"<thead><tr>{head}</tr></thead><tbody>{first}{middle}{last}</tbody>"
    return f'<div>{name}</div><table aria-label="{name}">{rows}</table>{notes}'


def as_latex(table: Table) -> str:
    """Return all rows of the table as a LaTeX `tabular`, with the notes below it as comments."""
    heads, aligned, rows, _, _ = _cells(table._replace(most=len(table.columns[0].values)))
    notes = "".join(f"% {printable(note)}\n" for note in table.notes)
    return tabular(heads, rows, aligned) + notes


def as_frame(table: Table, library: str | None) -> Any:
    """Return a pandas or polars DataFrame of the columns with a key; a complex column becomes two columns."""
    empty = np.array([], str)  # an empty list has no type
    columns = [column for column in table.columns if column.key is not None]
    values: dict[str | None, Any] = {}
    for key, _, v, _ in columns:
        if isinstance(v, np.ndarray) and v.dtype.kind == "c":
            values |= {f"{key}_real": v.real, f"{key}_imag": v.imag}
        else:
            values[key] = v if len(v) or isinstance(v, np.ndarray) else empty
    return _frames(library).DataFrame(values)


def distinct_keys(keys: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the keys, made distinct: a key that is taken or repeated is followed by " (1)", " (2)", …"""
    seen = set(taken)
    found = []
    for key in keys:
        new = key
        count = 0
        while new in seen:
            count += 1
            new = f"{key} ({count})"
        seen.add(new)
        found.append(new)
    return found


def _frames(library: str | None) -> Any:
    """Import pandas or polars: by default a library that has been imported, or else one that is installed."""
    both = ("pandas", "polars")
    if library is not None and library not in both:
        raise ValueError(f'library must be "pandas", "polars" or None for either; got {library!r}')
    for name in (library,) if library else sorted(both, key=lambda name: sys.modules.get(name) is None):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    extra = "frames" if library == "polars" else "pandas"
    raise ImportError(f"to_frame needs {library or 'pandas or polars'}: {installed_by(extra)}")


def _cells(table: Table) -> tuple[list[str], list[bool], list[list[str]], list[list[str]], int]:
    """Return the headings, the columns to align right, the rows that are shown, and the number left out."""
    columns = [column for column in table.columns if column.head is not None]
    m = len(columns[0].values)
    cut = table.most // 2 if m > table.most else m
    shown = [*range(cut), *range(max(cut, m - cut), m)]
    picked = [[_plain(column.values[i]) for i in shown] for column in columns]
    aligned = [bool(values) and not any(isinstance(v, (str, bool)) for v in values) for values in picked]
    written = [[_cell(v, c.decimals) for v in values] for c, values in zip(columns, picked, strict=True)]
    rows = [list(row) for row in zip(*written, strict=True)]
    return [str(column.head) for column in columns], aligned, rows[:cut], rows[cut:], m - len(shown)


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python one; return anything else unchanged."""
    return value.item() if hasattr(value, "item") else value


def _cell(value: Any, decimals: int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return number(value) if decimals is None or value != value else f"{value:z.{decimals}f}"
    if isinstance(value, complex):
        sign = "-" if math.copysign(1, value.imag) < 0 else "+"
        return f"{number(value.real)}{sign}{number(abs(value.imag))}j"
    return printable(str(value))


def _html_row(row: Sequence[str], styles: Sequence[str]) -> str:
    cells = [html.escape(cell) for cell in row]
    first = f'<th scope="row"{styles[0]}>{cells[0]}</th>'
    rest = (f"<td{style}>{cell}</td>" for cell, style in zip(cells[1:], styles[1:], strict=True))
    return f"<tr>{first}{''.join(rest)}</tr>"


def _width(text: str) -> int:
    """Return the width of a text on a screen: a wide character takes two places, a combining one none."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
