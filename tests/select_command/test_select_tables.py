"""The tables that `sparselin select` reads, and those that it refuses by name."""

import csv
import gzip
import html
import html.parser
import json
import re
import sys
import time
import zipfile

import newcomer
import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke
from selected import GOOD, run

import sparselin as sl
from sparselin.studies.common import tables
from sparselin.studies.common.group import cli
from sparselin.studies.select import columns, data

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("no_pictures")


def read_data(path, target=None, missing="auto", loss=None, **lists):
    """The data of a table, as the command reads them."""
    lists = {f"--{name}": lists.get(name, ()) for name in ("drop", "forced", "numbers", "categories")}
    return data.read(path, target, {"--weights": None, "--group": None}, lists, loss, missing)


FEW_GAPS, TWO_VALUES = {"empty": 0.0005}, {"target": "text"}


@pytest.mark.parametrize(
    ("case", "seeds", "found"),
    [
        ({}, range(1), 1),
        (FEW_GAPS, range(1), 1),
        (TWO_VALUES, range(5, 6), 1),
        pytest.param({}, range(20), 18, marks=pytest.mark.slow),
        pytest.param(FEW_GAPS, range(10), 9, marks=pytest.mark.slow),
        pytest.param(TWO_VALUES, range(10), 4, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_first_attempt_of_a_newcomer(tmp_path, case, seeds, found):
    """The six features that matter, with at most one other, on `found` of some tables as they come.

    A target of two values holds less information than a number.
    """
    right = 0
    for seed in seeds:
        frame, causes = newcomer.table(seed, **case)
        output, folder = run(tmp_path, frame)
        names = [row["feature"] for row in json.loads((folder / "results.json").read_text())["selected"]]
        right += causes <= set(names) and len(names) <= 7
        assert "Columns left out: " in output
        assert "visit (dates)" in output
        assert re.search(r"patient \(identifier: \d+ distinct whole numbers, by its name\)", output)
        assert ("so logistic regression is used" in output) == ("target" in case)
        assert ("Rows dropped because of missing values" in output) == ("empty" in case)
    assert right >= found


@pytest.mark.parametrize(
    ("values", "use"),
    [
        ([f"2024-01-{day:02d}" for day in range(1, 31)], "dates"),
        (["5.3.2021 14:30", "12.11.2021 9:05"] * 15, "dates"),
        (["5 Mar 2021", "March 5, 2021"] * 15, "dates"),
        (["14:30", "09:15"] * 15, "dates"),
        (pd.date_range("2024", periods=30, tz="UTC"), "dates"),
        (range(30), "identifier"),
        ([*range(29), None], "identifier"),  # read as reals, but all are whole
        ([f"P{i}" for i in range(30)], "identifier"),
        (np.arange(30) + 0.5, "number"),
        (np.arange(30) % 29, "number"),
        (np.arange(30.0) * 1e9 + 0.5, "number"),
        ([True, False, True] * 10, "category"),
        ([True, None, False] * 10, "category"),
        (["may", "june", "mars"] * 10, "category"),
        (["1a", "2b"] * 15, "category"),
        (["x"] * 30, "the same text"),
        ([f"{i % 20} words" for i in range(30)], "texts of which few repeat"),
        ([f"{i},{100 + i}" for i in range(30)], "numbers written as texts"),
        ([f"<{i % 5}.5" for i in range(30)], "numbers written as texts"),
        ([*range(14), *[None] * 16], "mostly empty"),
        ([None] * 30, "mostly empty"),
    ],
)  # fmt: skip
def test_the_use_of_a_column(values, use):
    frame = pd.DataFrame({"a": values, "b": np.linspace(0, 1, 30)})
    numbers, categories, left_out = columns.assign(frame, (), ())[:3]
    if use in ("number", "category"):
        assert left_out == {}
        assert ("a" in categories, "a" in numbers) == (use == "category", use == "number")
    else:
        assert left_out["a"].startswith(use)
    if "identifier" in use:
        assert columns.assign(frame, (), (), ("a",))[2] == {}


def test_texts_in_a_column_of_numbers_count_as_missing(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i}.5,{'?' if i == 7 else i},{i % 3},{i % 5}" for i in range(60)]
    path.write_text("\n".join(["a, b,c,y", *lines]))
    table = tables.read_table(path)
    assert table.note == "The point is the decimal sign. Counted as missing: 'b' has '?'."
    assert "column.isin(['?'])" in table.steps[0]
    assert table.renamed
    assert np.flatnonzero(table.frame["b"].isna()).tolist() == [7]


def test_what_a_trial_found(tmp_path):
    """Tables on which the command once failed or said something false."""
    rng, n = np.random.default_rng(0), 200
    a, arm = rng.standard_normal(n), rng.choice(["u", "v", "w"], n)
    b = rng.standard_normal(n)
    ill = np.where((arm == "w") | (a + b > 0.8), "ill", "well")
    output, _ = run(tmp_path, pd.DataFrame({"a": a, "arm": arm, "y": ill}))
    assert "arm comes first, and it separates the values of y or some of them" in output
    frame = pd.DataFrame({"a": a, "b": b, "y": a + b})
    assert "pass --k" in run(tmp_path, frame.assign(g=1), "--target=y", "--group=g", exit_code=2)[0]
    orthogonal = pd.DataFrame({"a": [1, 1, -1, -1] * 10, "y": [1, -1, 1, -1] * 10})
    output, _ = run(tmp_path, orthogonal, "--loss=squared", "--k=1", "--folds=0")
    assert "No feature is selected: no column reduces the residual" in output
    assert "held-out" not in output
    for method in ("lasso", "best-subset"):  # the forced feature only
        output, _ = run(tmp_path, frame, "--forced=a", "--k=1", f"--method={method}")
        assert "a explains" in output
    flags = frame.assign(flag=a > 0).mask(rng.random((n, 4)) < [0.2, 0, 0, 0])
    flags["flag"] = flags["flag"].astype(bool)  # a column of truth values, without gaps
    run(tmp_path, flags, "--target=y")
    rare = frame.assign(site=rng.choice(["N", "S"], n)).astype({"site": object})
    rare.loc[3, ["a", "site"]] = np.nan, "only here"
    output, _ = run(tmp_path, rare, "--target=y", "--missing=drop-rows", "--forced=site")
    assert "site (2, " in output
    double = frame.assign(site=arm, site_u=b)
    assert "'site_u' is the name of a column and of an" in run(tmp_path, double, "--target=y", exit_code=2)[0]
    grouped = frame.assign(arm=arm, y=a + (arm == "w"))
    output, _ = run(tmp_path, grouped, "--target=y", "--method=best-subset", "--k=2")
    assert "No other 2 features can explain more." in output
    heavy = frame.assign(w=np.arange(n) < 50, c=[np.nan if i > 60 else i % 7 for i in range(n)])
    assert "missing value" not in run(tmp_path, heavy, "--target=y", "--weights=w", "--k=1")[0]


def test_a_group_stays_in_one_fold_and_a_category_inflates(tmp_path, rng):
    """The fold of the 170 rows has 30 training rows, so 14 features are tried."""
    frame = pd.DataFrame(rng.standard_normal((200, 40))).add_prefix("x")
    frame["g"], cat = np.repeat([0, 1, 2], [170, 20, 10]), rng.integers(4, size=200)
    _, folder = run(tmp_path, frame, "--target=x0", "--group=g")
    assert json.loads((folder / "results.json").read_text())["cross_validation"]["sizes"][-1] == 14
    code, y = cat**2 + frame["x1"] / 50, cat + frame["x2"]
    twice = pd.DataFrame({"cat": np.array([*"abcd"])[cat], "code": code, "y": y})
    assert "The coefficient of code is uncertain" in run(tmp_path, twice, "--k=2")[0]


def test_decimal_commas_are_told_from_remarks(tmp_path):
    text = "a;remark;y\n" + "\n".join(f"{i}.5;{'3,5' if i == 3 else i % 2};{i * i % 7}.25" for i in range(40))
    assert tables.read_table(write(tmp_path, text)).frame["a"].dtype == float
    coded = text.replace(".", ",").replace("\n7,5;", "\n?;")
    table = tables.read_table(write(tmp_path, coded))
    assert (table.options["decimal"], table.frame["a"].dtype) == (",", float)


def write(folder, text):
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def test_a_workbook(tmp_path, frame):
    pytest.importorskip("openpyxl")
    frame.head(60).to_excel(tmp_path / "t.xlsx", index=False)
    output, folder = run(tmp_path, None, "--k=3", "--folds=3", name="t.xlsx")
    assert "the sheet 'Sheet1' is read" in output
    excel = json.loads((folder / "results.json").read_text())["selected"]
    _, folder = run(tmp_path, frame.head(60), "--k=3", "--folds=3")
    assert excel == json.loads((folder / "results.json").read_text())["selected"]


SEPARATORS = [
    ({"sep": ";"}, "sep=';')"),
    ({"sep": ";", "decimal": ","}, "sep=';', decimal=',')"),
    ({"sep": "\t"}, "sep='\\t')"),
]


@pytest.mark.parametrize(("form", "written"), SEPARATORS)
def test_other_separators(tmp_path, frame, form, written):
    """Tables of R's write.csv2, with decimal commas, and of spreadsheets are read, by the page too."""
    options = ("--k=3", "--folds=0", "--target=progression")
    frame.head(60).to_csv(tmp_path / "table.csv", index=False, **form)
    _, folder = run(tmp_path, None, *options)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert written in html.unescape(page)
    found = json.loads((folder / "results.json").read_text())["selected"]
    _, folder = run(tmp_path, frame.head(60), *options)
    assert found == json.loads((folder / "results.json").read_text())["selected"]


def test_parquet(tmp_path, frame):
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(frame.head(60)).with_columns(
        pl.Series("smokes", np.arange(60) % 3 == 0),
        pl.lit("x").alias("text"),
        pl.Series("when", np.arange("2020-01", "2025-01", dtype="datetime64[M]").astype("datetime64[us]")),
        pl.Series("__index_level_0__", range(60)),
    )
    table.write_parquet(tmp_path / "t.parquet")
    options = ("--target=progression", "--k=3", "--folds=0")
    output, folder = run(tmp_path, None, *options, name="t.parquet")
    assert "text (the same text in every row: 'x'), when (dates)" in output
    assert "__index_level_0__ is left out as an index of the rows" in output
    X = frame.head(60).drop(columns="progression").assign(smokes=np.arange(60) % 3 == 0)
    path = sl.omp(X, frame.head(60)["progression"], 3, intercept=True, standardize=True)
    found = json.loads((folder / "results.json").read_text())["selected"]
    assert [row["feature"] for row in found] == [X.columns[j] for j in path.support]
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    assert "cannot be read by pandas.read_parquet" in run(tmp_path, None, name="bad.parquet", exit_code=2)[0]


def test_parquet_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    output, _ = run(tmp_path, None, name="t.parquet", exit_code=2)
    assert "pip install 'sparselin[frames]'" in output


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (GOOD, ["--target=hieght"], "no column 'hieght'. Did you mean 'height'?"),
        (GOOD, ["--k=1", "--forced=agee"], "--forced must hold names of columns; there is no column 'agee'"),
        (GOOD, ["--k=1", "--forced=y"], "there is no column 'y'"),
        (GOOD, ["--k=2", "--forced=age,age"], "must not repeat"),
        (GOOD, ["--k=1", "--forced=age,height"], "must be at least 2 and at most"),
        (GOOD, ["--drop=z"], "--drop must hold names of columns; there is no column 'z'"),
        (GOOD, ["--drop=age,height"], "at least one column besides 'y'"),
        ('a,"b, c",y\n1,2,3\n', ["--drop=a,b, c"], "there is no column 'b'"),
        ('a,"b, c",y\n1,2,3\n', ['--drop=a,"b, c"'], "at least one column besides 'y'"),
        ('a,"b, c",y\n1,2,3\n', ["--drop=b, c", "--drop=a"], "at least one column besides 'y'"),
        ('"x ""1""","b, c",y\n1,2,3\n', ['--drop="x ""1""","b, c"'], "at least one column besides 'y'"),
        (GOOD, ["--k=3"], "at most 2, forced features included; got 3"),
        (GOOD, ["--k=0"], "0 is not in the range"),
        (GOOD, ["--folds=1"], "0 (no cross-validation) or at least 2"),
        (GOOD, ["--folds=0"], "without cross-validation the number of features cannot be chosen: pass --k"),
        (GOOD, ["--method=best-subset"], "needs --k"),
        (GOOD, ["--weights=age", "--k=1"], "nonnegative numbers; the least in 'age' is -1"),
        (GOOD, ["--weights=y"], "the target, --weights and --group must be three columns; got y, y"),
        ("a,b,y\n0,1,2\n0,2,3\n", ["--weights=a", "--k=1"], "must have a positive number in some row"),
        ("a,y\n1,2\n3,4\n5,6\n", [], "3 rows are too few for cross-validation"),
        ("a,y\n1,2\n3,2\n", ["--k=1"], "'y' is '2' in every row, so there is nothing to explain"),
        ("a,b,y\n1,2,3\n2,,4\n,5,6\n", ["--missing=refuse"], "an empty cell, in column 'a' (1), 'b' (1)"),
        ("a,b,y\n1,,2\n,1,4\n2,,3\n,2,5\n", ["--missing=drop-rows"], "no row is left"),
        ("a,y\n,2\nnan,4\n", [], "left out: a (mostly empty: 0 of 2 cells are filled)"),
        ("a,y\n1,\n2,\n", [], "every row lacks 'y'"),
        ("when,y\n2020-01-01,3\n2020-02-01,5\n", [], "left out: when (dates)"),
        ("when,y\n2020-01-01,3\n2020-02-01,5\n", ["--forced=when"], "must hold numbers; it has '2020-01-01'"),
        ("a,b,y\nu,1,3\nv,2,4\n", ["--numbers=a"], "--numbers a: the column must hold numbers; it has 'u'"),
        (GOOD, ["--numbers=age", "--categories=age"], "must not share a column; both have 'age'"),
        (GOOD, ["--target=age", "--group=yy"], "there is no column 'yy'. Did you mean 'y'?"),
        (GOOD, ["--loss=logistic"], "--loss logistic needs a target of two values; 'y' has 4: 1, 3, 5, 6"),
        (GOOD, ["--loss=logistic", "--method=ols"], "needs --method omp; got --method ols"),
        ("a,y\n1,2\n3,-4\n5,6\n", ["--loss=poisson"], "needs a target ≥ 0; the least in 'y' is -4"),
        ("a:y\n1:2\n", [], "separated by commas, semicolons, tabs, vertical bars or blanks"),
        ("a;b;y\n1;2\n", [], "line 2 has 2 fields, but the first line has 3"),
        ("a,y\n1,no\n2,yes\n3,perhaps\n", [], "must hold numbers or two values; it holds 'no'"),
        ("a,y\n1,no\n2,yes\n3,no\n", ["--method=ols"], "holds two texts, not numbers: use --method omp"),
        ("y\n1\n", [], "needs a column for y and others for X"),
        ("a,y\n", [], "a line for each row"),
        ("", [], "a line that names the columns"),
        ("a,y\n1e200,1\n2e200,5\n1e200,3\n", ["--k=1", "--no-standardize"], "square over- or underflows"),
    ],
)  # fmt: skip
def test_bad_tables_and_options_are_named(tmp_path, text, options, words):
    output, folder = run(tmp_path, text, *options, exit_code=2)
    assert words in output
    assert not folder.exists()


def test_other_files_are_refused(tmp_path):
    assert "must be a .csv, a .parquet or an .xlsx" in run(tmp_path, GOOD, name="t.dat", exit_code=2)[0]
    assert "cannot be read by pandas.read_excel" in run(tmp_path, GOOD, name="t.xlsx", exit_code=2)[0]


FRENCH = "größe,prix €,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.CSV.gz"])
@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-8", ""), ("utf-8-sig", ""), ("cp1252", "Latin-1 (cp1252)"), ("latin-1", "Latin-1"),
     ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16-LE"), ("utf-16-be", "UTF-16-BE"), ("utf-32", "UTF-32")],
)  # fmt: skip
def test_tables_in_all_encodings(tmp_path, capsys, encoding, said, name, packed):
    """Encodings are found, or given by --encoding; the program on the page reads the same table."""
    text = FRENCH if encoding != "latin-1" else FRENCH.replace("€", "\x81")  # no letter of cp1252
    data = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
    first, second = text.split(",")[:2]
    for given in ([], ["--encoding", encoding]):
        table = tables.read_table(
            tmp_path / name, tables.ReadingOptions(encoding=encoding if given else None)
        )
        assert list(table.frame) == [first, second, "y"]
        np.testing.assert_array_equal(table.frame.iloc[1], [4, 5.5, 6])
        words = f"{tmp_path / name} is not in UTF-8; it is read as {said}."
        assert table.note.removesuffix("The point is the decimal sign.").strip() == (
            words if said and not given else ""
        )
        read = pd.read_csv(tmp_path / name, **table.options)
        assert list(read.columns) == [first, second, "y"]


def test_the_encoding_is_said_and_can_be_set(tmp_path):
    data = "größe,b,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n".encode("cp1252")
    (tmp_path / "table.csv").write_bytes(data)
    output, folder = run(tmp_path, None, "--k=1", "--folds=0")
    assert "is not in UTF-8; it is read as Latin-1 (cp1252). Use --encoding to choose another." in output
    assert "encoding='cp1252'" in html.unescape((folder / "index.html").read_text("utf-8"))
    output, folder = run(tmp_path, None, "--k=1", "--folds=0", "--encoding", "cp1250")
    assert "Use --encoding to choose another" not in output
    assert "encoding='cp1250'" in html.unescape((folder / "index.html").read_text("utf-8"))
    for encoding, words in (
        ("utf-8", "cannot be read as UTF-8"),
        ("ascii", "cannot be read as ASCII"),
        ("utf8x", "must be the name of an encoding, such as latin-1 or utf-16; got 'utf8x'"),
        ("hex", "must be the name of an encoding"),
        ("", "must be the name of an encoding"),
    ):
        output, _ = run(tmp_path, None, "--k=1", "--encoding", encoding, exit_code=2)
        assert words in output


def workbook(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")


NO_TABLES = [
    ("xlsx", "is an Excel workbook: rename it to .xlsx"),
    (b"\xd0\xcf\x11\xe0" + bytes(600), "is an old Excel workbook: save it as an .xlsx"),
    (b"PK\3\4" + bytes(30), "is a .zip: unpack it"),
    (b"PAR1" + bytes(30), "is a Parquet file: rename it to .parquet"),
    (b"BZh91AY&SY", "is compressed by bzip2: unpack it"),
    (b"\xfd7zXZ\0", "is compressed by xz: unpack it"),
    (b"\x28\xb5\x2f\xfd\0", "is compressed by zstd: unpack it"),
]


@pytest.mark.parametrize("name", ["t.csv", "t.dat"])
@pytest.mark.parametrize(("data", "words"), NO_TABLES)
def test_files_that_are_no_tables_are_named(tmp_path, name, data, words):
    workbook(tmp_path / name) if data == "xlsx" else (tmp_path / name).write_bytes(data)
    for command in (["select"], ["verify", "--design"]):
        output = invoke(*command, tmp_path / name, exit_code=2)
        if command == ["select"] or name == "t.csv":
            assert words in output


BROKEN = [
    (gzip.compress(GOOD.encode())[:-9], "is a broken .gz"),
    (gzip.compress(GOOD.encode())[:20], "is a broken .gz"),
    (gzip.compress(GOOD.encode())[:12] + b"\xff" * 30, "is a broken .gz"),
    (gzip.compress(b""), "a line that names the columns"),
    (b"\x89HDF\r\n\x1a\n" + bytes(8) + bytes(range(256)), "is not a text file: it contains zero bytes"),
    (GOOD.encode("utf-16")[:-1], "cannot be read as UTF-16: truncated data"),
    (b"a,y\n1,2\n" + b"3" * 70_000 + b"\xe9,4\n", "'… (70,001 characters)"),
    (b"a,y\n1,2\n1_000,4\n", "'1_000'"),
    (b"a;y\n1,5;2\n1_0,5;2\n", "'1_0,5'"),
    (",".join(f"x{i}" for i in range(300)).encode() + b"\n" + b",".join([b"no"] * 300), " in all)"),
    (b"n" * 200_000 + b",b," + b"n" * 200_000 + b"\n1,2,3\n", "'… (200,000 characters)"),
]


@pytest.mark.parametrize("command", [["select"], ["verify", "--design"]], ids=["select", "verify"])
@pytest.mark.parametrize(("data", "words"), BROKEN, ids=range(11))
def test_broken_tables_are_named(tmp_path, command, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    output = invoke(*command, tmp_path / "t.csv", exit_code=2)
    assert words in output
    assert len(output) < 4000


@pytest.mark.parametrize("option", ["--in-memory", "--one-pass"])
def test_broken_parquets_are_named(tmp_path, option):
    """Cut off, or with other bytes, in either way of reading: refused, or read."""
    pytest.importorskip("pyarrow")
    rng, path = np.random.default_rng(0), tmp_path / "t.parquet"
    pd.DataFrame(rng.standard_normal((50, 3)), columns=["a", "b", "y"]).to_parquet(path)
    whole, out = path.read_bytes(), str(tmp_path / "out")
    cases = [b"", b"no", whole[:50], whole[:-5], whole[: len(whole) // 2], whole[4:]]
    for _ in range(25):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            damaged[at] = rng.integers(256)
        cases.append(bytes(damaged))
    for case in cases:
        path.write_bytes(case)
        result = CliRunner().invoke(cli, ["select", str(path), "--k=1", "--output", out, option])
        assert isinstance(result.exception, SystemExit | None), (case, result.exception)
        assert result.exit_code in (0, 2)
        assert result.exit_code == 0 or str(path) in "".join(result.output.split()), result.output
        assert len(case) > 50 or result.exit_code == 2


def test_long_fields(tmp_path):
    name, text = "n" * 200_000, "t" * 300_000
    (tmp_path / "t.csv").write_text(f"{name},b,y\n1,{text},3\n")
    limit = csv.field_size_limit()
    table = tables.read_table(tmp_path / "t.csv")
    assert list(table.frame) == [name, "b", "y"]
    assert table.frame["b"].tolist() == [text]
    assert csv.field_size_limit() == limit


@pytest.mark.slow
@pytest.mark.parametrize("sep", [",", ";"])
def test_the_time_is_linear_in_the_columns(tmp_path, sep):
    """100,000 take ten times as long as 10,000, within a factor of four; quadratic is a factor of ten."""
    took = {}
    for d in (10_000, 100_000):
        names = [f"x{i}" for i in range(d)]
        path = tmp_path / f"{d}.csv"
        path.write_text(f"{sep.join(names)}\n{sep.join(['1.5'] * d)}\n{sep.join(['2.5'] * d)}\n")
        began = time.process_time()
        found = read_data(path, target="x7", drop=[",".join(names[1000:2000])])
        took[d] = time.process_time() - began
        assert found.X.shape == (2, d - 1001)
    assert took[100_000] < 40 * took[10_000]
