"""The options of reading a table, the readings of numbers, the types of Parquet, and long integers."""

import html
import json
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from reading import proposals, read_with
from selected import run

import sparselin as sl
from sparselin.studies.common import tables
from sparselin.studies.common.table_numerals import COMMA, POINT, readings_of

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.mark.parametrize(
    ("cells", "readings"),
    [
        (["1.5", "5.", "1234.567", "0.12", "1,234.5", "1,234,567", "1.5e-3", "1.2E5", "1,00,000"], POINT),
        (["1,5", ",5", "1234,567", "0,123", "1.234,5", "1.234.567", "1,5E-3", "1,234E5", "-0,125"], COMMA),
        (["7", "-7", "+7", "1 234", "1'234'567", "1\u202f234", "\u22127", "inf", "1,234"], POINT | COMMA),
        (["", "?", "1,2,3", "1.2.2024", "1_000", "1 23", "12:30", "0x1", "1,2345,678", "--5", "5-", "$5"], 0),
        (["0,123,456", "1,234.567.8", "1.234,567,8", "e5", ".", ",", "٣"], 0),
    ],
)  # fmt: skip
def test_the_readings_of_a_cell(cells, readings):
    assert {cell: readings_of(cell) for cell in cells} == dict.fromkeys(cells, readings)


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_a_program_formats_are_read_back(tmp_path, seed):
    """Random columns in random forms: what is read is right, or refused with the right option."""
    rng = np.random.default_rng(seed)
    decimal = str(rng.choice([".", ","]))
    thousands = str(rng.choice(["", " ", "'", "\u202f", "." if decimal == "," else ","]))
    separator = str(rng.choice([";", "\t", "|"]))
    columns = {}
    for j in range(3):
        digits = int(rng.choice([0, 1, 2, 3, 4]))
        columns[f"x{j}"] = [
            round(float(v), digits) for v in rng.standard_normal(30) * 10.0 ** rng.integers(0, 7)
        ]

    def show(value):
        digits = len(repr(value).split(".")[1])
        return f"{value:,.{digits}f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)

    lines = [separator.join(columns)]
    lines += [separator.join(map(show, row)) for row in zip(*columns.values(), strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    options = ["--decimal", decimal]
    try:
        table = read_with(path)
    except tables.BadTable as error:
        proposed = proposals(str(error))
        table = read_with(path, options)
    else:
        proposed = [options]
    assert options in proposed or ["--thousands", thousands] in proposed
    for name, values in columns.items():
        np.testing.assert_array_equal(table.frame[name], values)


def area(show):
    """The reproduction of the first finding: areas with and without thousands."""
    rng = np.random.default_rng(1)
    areas, rooms = rng.integers(120, 9500, 60), rng.integers(1, 9, 60)
    rent = 3 * areas + 50 * rooms + rng.integers(-60, 60, 60)
    rows = [f"{show(a)};{b};{c}" for a, b, c in zip(areas, rooms, rent, strict=True)]
    return "\n".join(["area;rooms;rent", *rows])


def test_thousands_are_refused_until_an_option_settles_them(tmp_path):
    """They were read as decimals, with R² .19 in place of 1.00, and the program repeated it."""
    options = ("--folds=0", "--k=2")
    plain = json.loads((run(tmp_path, area(str), *options, "--numbers=area")[1] / "results.json").read_text())
    output, _ = run(tmp_path, area("{:,}".format), *options, exit_code=2)
    assert "is 4558 if the comma separates thousands, and 4.558 if it is the decimal sign" in output
    assert proposals(output)[:2] == [["--thousands", ","], ["--decimal", ","]]
    output, folder = run(tmp_path, area("{:,}".format), *options, "--thousands", ",")
    assert "The comma separates thousands in area." in output
    assert json.loads((folder / "results.json").read_text())["selected"] == plain["selected"]
    page = html.unescape((folder / "index.html").read_text("utf-8"))
    assert "The comma separates thousands in area." in page
    assert ".str.replace(',', '', regex=False).astype(float)" in page


def test_numbers_lists_what_it_could_not_read(tmp_path):
    cells = ["$1.50", "<0.05", "#DIV/0!", "$2.25", "n.d.", "<0.05", "$4.00", "$8.50"]
    text = "\n".join(["a,y", *(f"{cell},{i * i % 7}.5" for i, cell in enumerate(cells))])
    output, folder = run(tmp_path, text, "--numbers=a", "--k=1", "--folds=0")
    assert (
        "--numbers a: 3 cells are no numbers and count as missing: '<0.05' (row 2, 6), 'n.d.' (row 5)."
        in output
    )
    assert "Counted as missing: 'a' has '#DIV/0!'." in output
    assert json.loads((folder / "results.json").read_text())["data"]["empty"] == {"a": 4}
    output, _ = run(tmp_path, "a,y\nno,1\n3,2\nx,3\n5,4\n4,7\n9,1\n", "--numbers=a", "--k=1", "--folds=0")
    assert "'no' (row 1), 'x' (row 3)" in output
    dollars = "\n".join(["a,y", *(f"{i % 5},${i * i % 7}.50" for i in range(30))])
    output, _ = run(tmp_path, dollars, "--numbers=y", "--k=1", "--folds=0")  # also the target
    assert "target: y" in output


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--decimal=;", "must be ',' or '.'"),
        ("--thousands=x", "must be ',' or '.' or ' ' or \"'\""),
        ("--separator=ab", "must be one character, tab or blank; got 'ab'"),
        ("--skip=0", "must be lines such as 2 or 1-3,8,20-; got '0'"),
        ("--skip=3-1", "must be lines such as"),
        ("--header=9", "--header 9: this line has no names"),
        ("--sheet=1", "has no effect with a table that is not a workbook"),
    ],
)
def test_bad_options_are_named(tmp_path, option, words):
    assert words in run(tmp_path, "a,y\n1,2\n3,5\n", option, "--k=1", exit_code=2)[0]


def test_bad_sheets_are_named(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": [1, 2], "y": [3, 5]}).to_excel(tmp_path / "t.xlsx", sheet_name="Data", index=False)
    for option, words in (("--sheet=Dat", "Its sheets are 'Data'"), ("--encoding=utf-8", "has no effect")):
        assert words in run(tmp_path, None, option, "--k=1", name="t.xlsx", exit_code=2)[0]


def test_integers_of_any_length(tmp_path):
    """Whole numbers that float64 cannot hold are infinite, and so count as missing."""
    for digits in (30, 310, 400, 5000):
        (tmp_path / "t.csv").write_text(
            "a,y\n" + "".join(f"{'9' * digits if i else 5},{i}\n" for i in range(4))
        )
        found = tables.read_table(tmp_path / "t.csv").frame["a"]
        assert found.tolist() == [5.0, *[1e30 if digits == 30 else np.inf] * 3]


def parquet(path, **columns):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def decimals(n=100):
    """Decimals of 30 digits, whose nearest doubles rationals tell."""
    rng = np.random.default_rng(0)
    texts = [f"{'-' if v else ''}{a}{b:010d}.{c:010d}" for v, a, b, c in zip(
        rng.integers(2, size=n), rng.integers(10**8, size=n), rng.integers(10**10, size=n),
        rng.integers(10**10, size=n), strict=True)]  # fmt: skip
    return [Decimal(text) for text in texts], np.array([float(Fraction(text)) for text in texts])


def test_parquet_decimals_are_numbers(tmp_path):
    """Decimals are features or the target, in memory and in one pass; each is rounded correctly."""
    exact, rounded = decimals()
    rng = np.random.default_rng(1)
    b, z = rng.standard_normal((2, 100))
    few = [Decimal(f"{v:.3f}") for v in 3 * b - z]
    path = parquet(tmp_path / "t.parquet", price=exact, b=b, y=few)
    table = tables.read_table(path)
    np.testing.assert_array_equal(table.frame["price"], rounded)
    assert table.frame["y"].tolist() == list(map(float, few))
    space = {"pd": pd, "table": pd.read_parquet(path)}
    for step in table.steps:
        exec(step, space)
    assert space["table"].equals(table.frame)
    for option in ("--in-memory", "--one-pass"):
        output, _ = run(tmp_path, None, "--k=1", option, name="t.parquet")
        assert "b" in output
        assert "left out" not in output
    problem = sl.compress(path, y="y", columns=["price"])
    wanted = sl.compress([(rounded[:, None], np.array(list(map(float, few))))])
    assert sl.omp(problem, k=1).coef == pytest.approx(sl.omp(wanted, k=1).coef, rel=1e-12)


def test_parquet_columns_of_lists_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 60))
    y = a - b
    lists, records = [[1.0, 2.0]] * 60, [{"u": 1, "v": 2}] * 60
    parquet(tmp_path / "t.parquet", a=a, l=lists, r=records, y=y)
    output, _ = run(tmp_path, None, "--k=1", "--folds=0", name="t.parquet")
    assert "left out: l (lists or records in its cells), r (lists or records in its cells)" in output
    output, _ = run(tmp_path, None, "--k=1", "--one-pass", name="t.parquet")
    assert "Columns left out, because they hold lists or records: l and r." in output
    for option in ("--target=l", "--forced=r"):
        output, _ = run(tmp_path, None, "--k=1", "--one-pass", option, name="t.parquet", exit_code=2)
        assert "holds lists or records, which are no numbers" in output
    with pytest.raises(ValueError, match="must have one value in each cell; got a column of type list"):
        sl.compress(tmp_path / "t.parquet", y="y")
    parquet(tmp_path / "none.parquet")
    for option in ("--in-memory", "--one-pass"):
        output, _ = run(tmp_path, None, "--k=1", option, name="none.parquet", exit_code=2)
        assert "must have columns and rows" in output


GRID = [["a", "b", "y"], [1, 2, 3.5], [4, 1, 2.5], [2, 2, 1.5], [0, 3, 4.5]]
IN_ROWS = {
    "units": ([GRID[0], ["kg", "m", "s"], *GRID[1:]], [], "row 2, below the names in row 1"),
    "no names": (GRID[1:], [], "the first row must name the columns"),
    "totals": ([*GRID[:4], ["Total", 6, 9]], [], "row 5, the last one, seems to hold totals"),
    "header": ([["x", "", ""], [], *GRID], ["--header=2"], "--header 2: this row has no names"),
    "a title": ([["A title", "", ""], *GRID], ["--k=1"], "The names of the columns are in row 2."),
}


@pytest.mark.parametrize(("rows", "options", "words"), IN_ROWS.values(), ids=IN_ROWS)
def test_messages_about_a_sheet_name_its_rows(rows, options, words, tmp_path):
    """A sheet has rows; only a text has lines."""
    pytest.importorskip("openpyxl")
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    code = 0 if "--k=1" in options else 2
    output = " ".join(run(tmp_path, None, *options, name="t.xlsx", exit_code=code)[0].split())
    assert words in output
    assert not re.search(r"\blines?\b", output)


def test_the_note_about_signs_keeps_the_names_of_columns(tmp_path):
    """The capital letters of a name are the user's: "Umsatz (€)" was printed as "umsatz (€)"."""
    rows = "".join(f"{i}.234,50;{i % 7},25;{3 * i}.100,75\n" for i in range(1, 31))
    table = f"Umsatz (€);Menge;Gewinn\n{rows}"
    output, _ = run(tmp_path, table, "--target=Gewinn", "--folds=0", "--k=1")
    assert "The point separates thousands in Umsatz (€), Gewinn." in output
