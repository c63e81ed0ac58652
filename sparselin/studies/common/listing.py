"""A table of results: from one list of rows come the table in a terminal, the page and the .csv file."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from sparselin.results.latex import tabular
from sparselin.studies.common import page

RED = "bold red"


class Field(NamedTuple):
    """A column of a listing: its headings, and its entry in a row.

    page, terminal, csv : the heading of the column in each form; None if this form leaves it out.
    value : a function that returns the entry of a row.
    text : a function that returns the text of an entry. The .csv file has the entry itself.
    """

    page: str | None
    terminal: str | None
    csv: str | None
    value: Callable[[Any], Any]
    text: Callable[[Any], str] = str


def page_field(heading: str, value: Callable[[Any], Any], text: Callable[[Any], str] = str) -> Field:
    """Return a column that only the page shows."""
    return Field(heading, None, None, value, text)


def terminal_field(heading: str, value: Callable[[Any], Any]) -> Field:
    """Return a column that only a terminal shows."""
    return Field(None, heading, None, value)


def csv_field(heading: str, value: Callable[[Any], Any]) -> Field:
    """Return a column that only the .csv file has."""
    return Field(None, None, heading, value)


def _no_style(row: Any) -> str | None:
    return None


@dataclasses.dataclass(frozen=True)
class Listing:
    """Rows with the fields that are shown of each.

    Attributes
    ----------
    fields : the columns.
    rows : the rows, of any type that the fields can read.
    style : a function that returns the style of a row in a terminal, or None. Rows in RED are also marked on
        the page.
    totals : the text of the last row for each field, or () if there is no such row.
    title : the title in a terminal.
    """

    fields: Sequence[Field]
    rows: Sequence[Any]
    style: Callable[[Any], str | None] = _no_style
    totals: Sequence[str] = ()
    title: str | None = None

    @property
    def headings(self) -> list[str]:
        """The headings on the page."""
        return [field.page for field in self.fields if field.page is not None]

    @property
    def lines(self) -> list[tuple[list[str], bool]]:
        """The cells of each row on the page, and whether the row is marked."""
        shown = [field for field in self.fields if field.page is not None]
        return [([_cell(field, row) for field in shown], self.style(row) == RED) for row in self.rows]

    @property
    def last(self) -> list[str]:
        """The cells of the totals on the page."""
        pairs = zip(self.fields, self.totals, strict=True) if self.totals else ()
        return [text for field, text in pairs if field.page is not None]

    def terminal(self, left: Sequence[str] = (), folded: Sequence[str] = (), **look: Any) -> Table:
        """Return the table for a terminal.

        left : the headings of columns of words; without any, the first column.
        folded : the headings of columns whose cells may take several lines.
        look : further arguments of `rich.table.Table`.
        """
        view = Table(title=self.title, box=box.SIMPLE_HEAD, **look)
        shown = [i for i, field in enumerate(self.fields) if field.terminal is not None]
        for i in shown:
            heading = self.fields[i].terminal or ""
            justify: Any = "left" if heading in left or not (left or i) else "right"
            wide = heading in folded
            view.add_column(
                heading, justify=justify, no_wrap=not wide, overflow="fold" if wide else "ellipsis"
            )
        for row in self.rows:  # as Text, because brackets in a cell are no markup
            view.add_row(*(Text(_cell(self.fields[i], row)) for i in shown), style=self.style(row))
        if self.totals:
            view.add_section()
            view.add_row(*(self.totals[i] for i in shown), style="bold")
        return view

    def tex(self) -> bytes:
        """Return the table of the page as the contents of a .tex file: a `tabular`."""
        rows = [cells for cells, _ in self.lines]
        numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(self.headings))]
        return tabular(self.headings, rows, numeric).encode()

    def csv(self) -> bytes:
        """Return the contents of the .csv file."""
        shown = [field for field in self.fields if field.csv is not None]
        entries = ([field.value(row) for field in shown] for row in self.rows)
        return page.table([[field.csv for field in shown], *entries])


def _is_number(cell: str) -> bool:
    """Return whether a cell is empty or begins as a number does; such columns are aligned on the right."""
    return not cell or cell[0].isdigit() or (cell[0] in "-−–.<≤≥±" and len(cell) < 20)


def _cell(field: Field, row: Any) -> str:
    return field.text(field.value(row))
