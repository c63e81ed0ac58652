"""Tables of results: columns as data, and what is made of them: text, HTML, a frame."""

from __future__ import annotations

import html
import importlib
import math
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_CELL = 40  # characters of a cell in text


class Column(NamedTuple):
    """A column of a table, by two names.

    key : its name in a frame; None if it is not in the frame.
    head : its heading in text and HTML; None if it is only in the frame.
    values : an array, or a sequence of texts or truth values, an entry for each row.
    decimals : of its floats in text and HTML; None for four significant digits.
    """

    key: str | None
    head: str | None
    values: Sequence[Any] | NDArray[Any]
    decimals: int | None = None


class Cells(Sequence[str]):
    """m texts, each made when it is shown."""

    def __init__(self, make: Callable[[int], str], m: int) -> None:
        self._make, self._m = make, m

    def __len__(self) -> int:
        return self._m

    def __getitem__(self, i: Any) -> Any:
        return self._make(i)


class Table(NamedTuple):
    """Columns of equal length, lines of text that follow them, and how many rows are shown at most."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    most: int = 24


def printable(text: str) -> str:
    """The text with control characters, line breaks among them, escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short(text: str) -> str:
    """The text on one line, cut off where it is long."""
    line = printable(text)
    return line if len(line) <= _CELL else line[: _CELL - 1] + "…"


def list_names(names: Sequence[str], most: int = 3, what: str = "features") -> str:
    """A few names, or how many there are."""
    return ", ".join(map(short, names)) if len(names) <= most else f"{len(names)} {what}"


def listed(words: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def many(count: int, noun: str) -> str:
    """1 step, 2 steps."""
    return f"{count} {noun}{'s' * (count != 1)}"


def number(x: float) -> str:
    """Four significant digits, and all those before the point; a dash for NaN."""
    if x != x:
        return "–"
    if x == 0 or math.isinf(x):
        return f"{x + 0.0:g}"
    rounded = f"{x:.3e}"
    power = int(rounded.split("e")[1])
    return f"{x:.{max(0, 3 - power)}f}" if -4 <= power < 7 else rounded


def as_text(title: str, table: Table) -> str:
    """The table in plain text under its title, the notes below."""
    heads, aligned, above, below, left_out = _cells(table)
    rows = [heads, *([short(cell) for cell in row] for row in above + below)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(_padded, row, widths, aligned)).rstrip() for row in rows]
    if left_out:
        lines.insert(1 + len(above), f"… {left_out} more rows …")
    return "\n".join([title, *lines, *table.notes])


def as_html(title: str, table: Table) -> str:
    """The same as an HTML table: no colours, so that it can be read on a dark and on a light page."""
    heads, aligned, above, below, left_out = _cells(table)
    styles = [f' style="text-align:{"right" if right else "left"};padding:0 .6em"' for right in aligned]
    middle = f'<tr><td colspan="{len(heads)}">… {left_out} more rows …</td></tr>' if left_out else ""
    first, last = ("".join(_html_row(row, styles) for row in rows) for rows in (above, below))
    head = "".join(
        f'<th scope="col"{style}>{html.escape(text)}</th>' for text, style in zip(heads, styles, strict=True)
    )
    notes = "".join(f"<div>{html.escape(note)}</div>" for note in table.notes)
    name = html.escape(title)
    rows = f"<thead><tr>{head}</tr></thead><tbody>{first}{middle}{last}</tbody>"
    return f'<div>{name}</div><table aria-label="{name}">{rows}</table>{notes}'


def as_frame(table: Table, library: str | None) -> Any:
    """A pandas or polars DataFrame of the columns that have a key; two for one of complex numbers."""
    empty = np.array([], str)  # an empty list has no type
    columns = [column for column in table.columns if column.key is not None]
    values: dict[str | None, Any] = {}
    for key, _, v, _ in columns:
        if isinstance(v, np.ndarray) and v.dtype.kind == "c":
            values |= {f"{key}_real": v.real, f"{key}_imag": v.imag}
        else:
            values[key] = v if len(v) or isinstance(v, np.ndarray) else empty
    return _frames(library).DataFrame(values)


def unlike(keys: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The keys, with " (1)", " (2)", … after one that is taken, or that came before."""
    seen, found = set(taken), []
    for key in keys:
        new, count = key, 0
        while new in seen:
            count += 1
            new = f"{key} ({count})"
        seen.add(new)
        found.append(new)
    return found


def _frames(library: str | None) -> Any:
    """pandas or polars; of the two the one that is imported already, or else the one that is installed."""
    both = ("pandas", "polars")
    if library is not None and library not in both:
        raise ValueError(f'library must be "pandas", "polars" or None for either; got {library!r}')
    for name in (library,) if library else sorted(both, key=lambda name: sys.modules.get(name) is None):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ImportError(f"to_frame needs {library or 'pandas or polars'}: pip install 'sparselin[frames]'")


def _cells(table: Table) -> tuple[list[str], list[bool], list[list[str]], list[list[str]], int]:
    """Headings; whether each column holds numbers; the first and the last rows shown; how many are not."""
    columns = [column for column in table.columns if column.head is not None]
    m = len(columns[0].values)
    cut = table.most // 2 if m > table.most else m
    shown = [*range(cut), *range(max(cut, m - cut), m)]
    picked = [[_plain(column.values[i]) for i in shown] for column in columns]
    aligned = [bool(values) and not any(isinstance(v, (str, bool)) for v in values) for values in picked]
    written = [
        [_cell(v, column.decimals) for v in values] for column, values in zip(columns, picked, strict=True)
    ]
    rows = [list(row) for row in zip(*written, strict=True)]
    heads = [str(column.head) for column in columns]
    return heads, aligned, rows[:cut], rows[cut:], m - len(shown)


def _plain(value: Any) -> Any:
    """A number of Python in place of one of NumPy."""
    return value.item() if hasattr(value, "item") else value


def _cell(value: Any, decimals: int | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return number(value) if decimals is None or value != value else f"{value:.{decimals}f}"
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
    """How many places it takes on a screen: two for a wide character, none for a combining one."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
