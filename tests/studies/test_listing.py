"""A table of results in its three forms: in a terminal, on a page and as a .csv file."""

import csv
import io
from pathlib import Path

import pytest
from markupsafe import Markup
from rich.console import Console

from sparselin.studies.common import page
from sparselin.studies.common.listing import RED, Field, Listing, csv_field, page_field, terminal_field

FIELDS = (
    Field("name of the set", "name", "name", lambda row: row[0]),
    Field("share", "share", "share", lambda row: row[1], page.share),
    page_field(Markup("λ<sub>1</sub>"), lambda row: row[2], "{:.2f}".format),
    terminal_field("λ₁", lambda row: row[2]),
    csv_field("lam_1", lambda row: row[2]),
)
ROWS = [("[a]", 0.5, 1 / 3), ("b<c", 1.0, 2.0)]


@pytest.fixture
def listing():
    totals = ("all", "75 %", "2.33", "", "")
    return Listing(FIELDS, ROWS, lambda row: RED if row[1] == 1 else None, totals, "A title")


def test_a_page_has_its_columns_as_text(listing):
    assert listing.headings == ["name of the set", "share", "λ<sub>1</sub>"]
    assert listing.lines == [(["[a]", "50 %", "0.33"], False), (["b<c", "100 %", "2.00"], True)]
    assert listing.last == ["all", "75 %", "2.33"]
    template = page.environment(Path(__file__).parent, autoescape=True).from_string(
        '{% from "macros.html.j2" import listing %}{{ listing(table, "What & why", "words") }}'
    )
    made = template.render(table=listing)
    assert '<th scope="col">λ<sub>1</sub></th>' in made
    assert '<tr class="fails"><td>b&lt;c</td><td>100 %</td>' in made
    assert "<tfoot><tr><td>all</td><td>75 %</td><td>2.33</td></tr></tfoot>" in made
    assert 'aria-label="What &amp; why"><table class="words">' in made


def test_a_terminal_shows_brackets_as_they_are(listing):
    console = Console(width=60, file=io.StringIO())
    console.print(listing.terminal())
    lines = [line.split() for line in console.file.getvalue().splitlines() if line.strip(" ─╶╴")]
    assert lines == [
        ["A", "title"],
        ["name", "share", "λ₁"],
        ["[a]", "50", "%", str(1 / 3)],
        ["b<c", "100", "%", "2.0"],
        ["all", "75", "%"],
    ]
    columns = listing.terminal(left=("share",)).columns
    assert [column.justify for column in columns] == ["right", "left", "right"]


def test_a_csv_file_has_the_values(listing):
    assert list(csv.reader(io.StringIO(listing.csv().decode()))) == [
        ["name", "share", "lam_1"],
        *([row[0], str(row[1]), str(row[2])] for row in ROWS),
    ]


def test_a_listing_without_totals_and_rows():
    empty = Listing(FIELDS, ())
    assert (empty.lines, empty.last) == ([], [])
    assert empty.csv() == b"name,share,lam_1\r\n"
