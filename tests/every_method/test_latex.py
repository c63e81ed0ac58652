"""Tables as LaTeX: their structure, and names that LaTeX would read as commands."""

import re

import pytest
from calls import CALLS, FRAME, X

import sparselin as sl
from sparselin.results.latex import escape, tabular
from sparselin.studies.common.listing import Listing, csv_field, page_field

FORMULA = re.compile(r"(?<!\\)\$[^$]*\$")
BARE = re.compile(r"(?<!\\)[#%_^~<>|&$]")  # a special character that no backslash precedes


def rows_of(text):
    """Return the cells of each row of a `tabular`, after a check of its frame, cells and notes."""
    table, _, notes = text.partition("\\end{tabular}\n")
    begin, *lines = table.splitlines()
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", begin)[1]
    assert lines[0] == lines[2] == lines[-1] == "\\hline"
    assert all(line.startswith("% ") for line in notes.splitlines())
    rows = [line for line in lines if line != "\\hline"]
    assert all(row.endswith(" \\\\") for row in rows)
    cells = [re.split(r"(?<!\\) & ", f"{row.removesuffix(' ' + 2 * chr(92))}") for row in rows]
    assert {len(row) for row in cells} == {len(columns)}
    for row in cells:
        for cell in row:
            plain = FORMULA.sub("", cell)
            assert not BARE.search(plain), cell
            bare = re.sub(r"\\[{}]", "", plain)
            assert bare.count("{") == bare.count("}"), cell
    return cells


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", [X, FRAME], ids=["array", "frame"])
def test_every_result_is_a_tabular(name, given):
    found = CALLS[name](given)
    assert len(rows_of(found.to_latex())) == 1 + len(found._table().columns[0].values)


def test_long_tables_are_whole():
    path = sl.lasso_path(*sl.ensembles.gaussian(40, 60, rng=0))
    assert len(rows_of(path.to_latex())) == 1 + len(path) > 25


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 5 %", r"a\_b \& 5 \%"),
        ("x{1}\\", r"x\{1\}\textbackslash{}"),
        ("R² ≤ λ* − σ̂", r"R$^2$ $\leq$ $\lambda^*$ $-$ $\hat{\sigma}$"),
        ("Größe, année", "Größe, année"),
        ("高", "U+9AD8"),
        ("a\nb", "a b"),
    ],
)
def test_special_characters_are_escaped(text, expected):
    assert escape(text) == expected


def test_a_listing_has_the_cells_of_its_page():
    fields = [
        page_field("name", lambda row: row[0]),
        page_field("p", lambda row: row[1]),
        csv_field("q", len),
    ]
    listing = Listing(fields, [("a_1", "0.5"), ("b", "")])
    assert rows_of(listing.tex().decode()) == [["name", "p"], ["a\\_1", "0.5"], ["b", ""]]
    assert listing.tex().decode() == tabular(["name", "p"], [["a_1", "0.5"], ["b", ""]], [False, True])
