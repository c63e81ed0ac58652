"""The options of `sparselin select` that say how a table is read."""

import csv
import functools
import re
from collections.abc import Callable
from typing import Any

import click

from sparselin.studies.common.tables import ReadingOptions

_CHARACTERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "blank": " ",
    "space": " ",
    "point": ".",
}


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of reading to a command, which gets their values as its argument `reading`."""

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        given = {name: values.pop(name) for name in NAMES}
        return function(reading=ReadingOptions(**given), **values)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _separator(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    found = _CHARACTERS.get(value.lower(), value)
    if len(found) != 1 or found in '"\r\n' or found.isalnum():
        raise click.BadParameter(f"must be one character, tab or blank; got {value!r}")
    return found


def _signs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Return the sign of each column that is named, and with the name "" the one of all columns."""
    allowed = (",", ".") if option.name == "decimal" else (",", ".", " ", "'")
    found = {}
    for value in values:
        name, _, sign = value.rpartition("=")
        sign = _CHARACTERS.get(sign.lower(), sign)
        if sign not in allowed:
            words = " or ".join(map(repr, allowed))
            raise click.BadParameter(f"must be {words}, or NAME= and one of these; got {value!r}")
        found[name] = sign
    return found


def _texts(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts, which commas separate; a text that contains a comma is in double quotes."""
    lines = (next(csv.reader([value], skipinitialspace=True), []) for value in values)
    return tuple(text.strip() for line in lines for text in line or [""])


def _lines(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[int, int | None], ...]:
    """Return the ranges of lines in texts such as "1-3,8,20-"."""
    found: list[tuple[int, int | None]] = []
    for text in ",".join(values).split(",") if values else ():
        match = re.fullmatch(r"\s*([1-9][0-9]*)(?:(-)([1-9][0-9]*)?)?\s*", text)
        if match is None:
            raise click.BadParameter(f"must be lines such as 2 or 1-3,8,20-; got {text!r}")
        first = int(match[1])
        last = None if match[2] and not match[3] else int(match[3] or first)
        if last is not None and last < first:
            raise click.BadParameter(f"must be lines such as 2 or 1-3,8,20-; got {text!r}")
        found.append((first, last))
    return tuple(found)


_OPTIONS = [
    click.option(
        "--separator",
        callback=_separator,
        metavar="SIGN",
        help="The character between the columns of a text: tab, blank, or any other.  [default: the one that "
        "gives the first lines the same number of fields]",
    ),
    click.option(
        "--decimal",
        multiple=True,
        callback=_signs,
        metavar="SIGN",
        help="The decimal sign, a point or a comma, of columns whose cells leave it open; NAME=SIGN: of one "
        "column.  [default: as in the other columns]",
    ),
    click.option(
        "--thousands",
        multiple=True,
        callback=_signs,
        metavar="SIGN",
        help="The sign between thousands, in the same form.",
    ),
    click.option(
        "--missing-values",
        multiple=True,
        callback=_texts,
        metavar="TEXT,TEXT",
        help="Texts and numbers that mean a missing value, such as -999,n.d.",
    ),
    click.option(
        "--keep-levels",
        multiple=True,
        callback=_texts,
        metavar="TEXT,TEXT",
        help="Texts that are values, although they usually mean a missing one, such as None,NA.",
    ),
    click.option(
        "--skip",
        multiple=True,
        callback=_lines,
        metavar="LINES",
        help="Lines of the file, or rows of the sheet, to leave out, such as 2 or 1-3,8,20-.",
    ),
    click.option(
        "--header",
        type=click.IntRange(0),
        metavar="LINE",
        help="The line with the names of the columns; 0: there is none.",
    ),
    click.option("--sheet", metavar="NAME", help="The name or number of a sheet.  [default: the first one]"),
    click.option(
        "--encoding", help="The encoding of a text, such as latin-1.  [default: UTF-8, UTF-16 or Latin-1]"
    ),
]
NAMES = (
    "separator",
    "decimal",
    "thousands",
    "missing_values",
    "keep_levels",
    "skip",
    "header",
    "sheet",
    "encoding",
)
