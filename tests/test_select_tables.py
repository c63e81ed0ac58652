"""The tables that `sparselin select` reads, and those that it refuses by name."""

import csv
import gzip
import html
import html.parser
import json
import re
import signal
import sys
import time
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke
from selected import GOOD, run

import sparselin as sl
from sparselin.studies.common import tables
from sparselin.studies.common.group import cli

pd = pytest.importorskip("pandas")


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("form", "written"),
    [
        ({"sep": ";"}, "sep=';')"),
        ({"sep": ";", "decimal": ","}, "sep=';', decimal=',')"),
        ({"sep": "\t"}, "sep='\\t')"),
    ],
)
def test_other_separators(tmp_path, frame, form, written):
    """Tables of R's write.csv2, with decimal commas, and of spreadsheets are read, by the page too."""
    options = ("--k=3", "--folds=0", "--target=progression")
    frame.head(60).to_csv(tmp_path / "table.csv", index=False, **form)
    _, folder = run(tmp_path, None, *options, exit_code=0)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert written in html.unescape(page)
    found = json.loads((folder / "results.json").read_text())["selected"]
    _, folder = run(tmp_path, frame.head(60), *options, exit_code=0)
    assert found == json.loads((folder / "results.json").read_text())["selected"]


@pytest.mark.usefixtures("no_pictures")
def test_a_y_of_two_values(tmp_path, frame):
    high = frame.assign(progression=frame["progression"] > 140)
    output, _ = run(tmp_path, high, "--target=progression", "--k=2", "--folds=0", exit_code=0)
    assert (
        "Caution: progression has only two values, 0 and 1, and least squares treats them as numbers"
        in output
    )
    assert 'generalized_omp(..., loss="logistic")' in output
    assert "two values" not in run(tmp_path, frame, "--target=progression", "--k=2", "--folds=0")[0]


@pytest.mark.usefixtures("no_pictures")
def test_parquet(tmp_path, frame):
    pl = pytest.importorskip("polars")
    table = pl.from_pandas(frame.head(60)).with_columns(
        pl.Series("smokes", np.arange(60) % 3 == 0),
        pl.lit("x").alias("text"),
        pl.Series("__index_level_0__", range(60)),
    )
    table.write_parquet(tmp_path / "t.parquet")
    options = ("--target=progression", "--k=3", "--folds=0")
    output, _ = run(tmp_path, None, *options, name="t.parquet", exit_code=2)
    assert "columns must hold real numbers; 'text' has dtype String." in output
    assert "Encode such columns as numbers, or leave them out with --drop text." in output
    output, folder = run(tmp_path, None, *options, "--drop=text", name="t.parquet", exit_code=0)
    assert "__index_level_0__ is left out as an index of the rows" in output
    X = frame.head(60).drop(columns="progression").assign(smokes=np.arange(60) % 3 == 0)
    path = sl.omp(X, frame.head(60)["progression"], 3, intercept=True, standardize=True)
    found = json.loads((folder / "results.json").read_text())["selected"]
    assert [row["feature"] for row in found] == [X.columns[j] for j in path.support]
    (tmp_path / "bad.parquet").write_bytes(b"nothing of the kind")
    assert "cannot be read as Parquet" in run(tmp_path, None, name="bad.parquet")[0]


def test_parquet_names_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
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
        ('a,"b, c",y\nu,v,3\n', [], "with --drop 'a,\"b, c\"'."),
        (GOOD, ["--k=3"], "at most 2, forced features included; got 3"),
        (GOOD, ["--k=0"], "0 is not in the range"),
        (GOOD, ["--folds=1"], "0 (no cross-validation) or at least 2"),
        (GOOD, ["--folds=0"], "without cross-validation the number of features cannot be chosen: pass --k"),
        (GOOD, ["--method=best-subset"], "needs --k"),
        (GOOD, ["--weights=age", "--k=1"], "nonnegative numbers; the least in 'age' is -1"),
        (GOOD, ["--weights=y"], "--weights must differ from the target; both are 'y'"),
        ("a,b,y\n0,1,2\n0,2,3\n", ["--weights=a", "--k=1"], "must have a positive number in some row"),
        ("a,y\n1,2\n3,4\n5,6\n", [], "3 rows are too few for cross-validation"),
        ("a,y\n1,2\n3,2\n", ["--k=1"], "'y' is 2 in every row, so there is nothing to explain"),
        ("a,b,y\n1,2,3\n,NA,4\n,5,6\n", [], "have a missing or infinite number, in column 'a' (2), 'b' (1)"),
        ("a,y\n,2\nnan,4\n", ["--missing=drop-rows"], "no row is left"),
        ("a,city,when,y\n1,Rome,2020-01-01,3\n", [], "'Rome' in column 'city', '2020-01-01' in"),
        ("a,city,when,y\n1,Rome,2020-01-01,3\n", [], "leave them out with --drop city,when."),
        ("a:y\n1:2\n", [], "separated by commas (or semicolons, or tabs)"),
        ("a;y\n1,5;2\n1.234,5;2\n", [], "line 3 has '1.234,5' in column 'a': not a number"),
        ("a;b;y\n1;2\n", [], "line 2 has 2 fields, but the first line has 3"),
        ("a,city,y\n1,Rome,no\n", [], "with --drop city. 'y' is the column to explain: "),
        ("a,y\n1,no\n", [], "not a number. 'y' is the column to explain: encode it as numbers. For "),
        ("y,a\nno,1\n", ["--target=y"], 'generalized_omp(X, y, k, loss="logistic", intercept=True)'),
        ("y\n1\n", [], "needs a column for y and others for X"),
        ("a,y\n", [], "a line for each row"),
        ("", [], "a line that names the columns"),
        ("a,y\n1e200,1\n2e200,5\n1e200,3\n", ["--k=1", "--no-standardize"], "square over- or underflows"),
    ],
)  # fmt: skip
def test_bad_tables_and_options_are_named(tmp_path, text, options, words):
    output, folder = run(tmp_path, text, *options, exit_code=2)
    assert words in output.replace("│ ", "").replace(" │", "")
    assert not folder.exists()


def test_other_files_are_refused(tmp_path):
    output, _ = run(tmp_path, GOOD, name="t.xlsx", exit_code=2)
    assert "must be a .csv or a .parquet" in output


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
        table = tables.read_table(tmp_path / name, encoding=encoding if given else None)
        assert table.names == (first, second, "y")
        np.testing.assert_array_equal(table.data[1], [4, 5.5, 6])
        assert table.note == (
            f"{tmp_path / name} is not in UTF-8; it is read as {said}." if said and not given else ""
        )
        read = pd.read_csv(
            tmp_path / name, **{"compression": None, **table.options} if not packed else table.options
        )
        assert list(read.columns) == [first, second, "y"]


def test_the_encoding_is_said_and_can_be_set(tmp_path, no_pictures):
    data = "größe,b,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n".encode("cp1252")
    (tmp_path / "table.csv").write_bytes(data)
    output, folder = run(tmp_path, None, "--k=1", "--folds=0")
    assert "is not in UTF-8; it is read as Latin-1 (cp1252). Use --encoding to choose another." in output
    assert "encoding='cp1252'" in html.unescape((folder / "index.html").read_text("utf-8"))
    output, folder = run(tmp_path, None, "--k=1", "--folds=0", "--encoding", "cp1250", exit_code=0)
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


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.dat"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("xlsx", "is an Excel workbook: save its sheet as a .csv"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "is an Excel workbook"),
        (b"PK\3\4" + bytes(30), "is a .zip: unpack it"),
        (b"PAR1" + bytes(30), "is a Parquet file: rename it to .parquet"),
        (b"BZh91AY&SY", "is compressed by bzip2: unpack it"),
        (b"\xfd7zXZ\0", "is compressed by xz: unpack it"),
        (b"\x28\xb5\x2f\xfd\0", "is compressed by zstd: unpack it"),
    ],
)
def test_files_that_are_no_tables_are_named(tmp_path, name, data, words):
    workbook(tmp_path / name) if data == "xlsx" else (tmp_path / name).write_bytes(data)
    for command in (["select"], ["verify", "--design"]):
        output = invoke(*command, tmp_path / name, exit_code=2)
        if command == ["select"] or name == "t.csv":
            assert words in output


@pytest.mark.parametrize("command", [["select"], ["verify", "--design"]], ids=["select", "verify"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(GOOD.encode())[:-9], "is a broken .gz"),
        (gzip.compress(GOOD.encode())[:20], "is a broken .gz"),
        (gzip.compress(GOOD.encode())[:12] + b"\xff" * 30, "is a broken .gz"),
        (gzip.compress(b""), "a line that names the columns"),
        (b"\x89HDF\r\n\x1a\n" + bytes(8) + bytes(range(256)), "is not a text file: it contains zero bytes"),
        (GOOD.encode("utf-16")[:-1], "cannot be read as UTF-16: truncated data"),
        (
            b"a,y\n1,2\n" + b"3" * 70_000 + b"\xe9,4\n",
            "'… (70,001 characters) in column 'a': not a number",
        ),
        (b"a,y\n1,2\n1_000,4\n", "line 3 has '1_000' in column 'a': not a number"),
        (b"a_,y\n1,2\n3,4_0\n", "'4_0' in column 'y': not a number"),
        (b"a;y\n1,5;2\n1_0,5;2\n", "line 3 has '1_0,5' in column 'a': not a number"),
        (
            ",".join(f"x{i}" for i in range(300)).encode() + b"\n" + b",".join([b"no"] * 300),
            "… (300 in all): not a number",
        ),
        (b"n" * 200_000 + b",b," + b"n" * 200_000 + b"\n1,2,3\n", "'… (200,000 characters)"),
    ],
    ids=range(12),
)
def test_broken_tables_are_named(tmp_path, command, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    result = CliRunner().invoke(cli, [*command, str(tmp_path / "t.csv")])
    assert result.exit_code == 2, result.output
    assert words in " ".join(re.sub("[│╭╮╰╯─]", "", result.output).split())
    assert len(result.output) < 5000


@pytest.mark.parametrize("option", ["--in-memory", "--one-pass"])
def test_broken_parquets_are_named(tmp_path, no_pictures, option):
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
    for data in cases:
        path.write_bytes(data)
        result = CliRunner().invoke(cli, ["select", str(path), "--k=1", "--output", out, option])
        assert isinstance(result.exception, SystemExit | None), (data, result.exception)
        assert result.exit_code in (0, 2)
        assert result.exit_code == 0 or str(path) in "".join(result.output.split()), result.output
        assert len(data) > 50 or result.exit_code == 2


def test_a_panic_of_the_reader_of_parquet_is_an_error(tmp_path, monkeypatch):
    class PanicException(BaseException):
        """The PanicException of polars, which is not an Exception."""

    def panic(path):
        raise PanicException("called `Result::unwrap()`\nand more")

    monkeypatch.setattr("polars.read_parquet", panic)
    with pytest.raises(
        tables.BadTable, match=r"t\.pq cannot be read as Parquet: called `Result::unwrap\(\)`$"
    ):
        tables.read_table(tmp_path / "t.pq")
    monkeypatch.setattr("polars.read_parquet", lambda path: signal.raise_signal(signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tables.read_table(tmp_path / "t.pq")
    finally:
        signal.signal(signal.SIGINT, handler)


def test_long_fields(tmp_path):
    name, text = "n" * 200_000, "t" * 300_000
    (tmp_path / "t.csv").write_text(f"{name},b,y\n1,{text},3\n")
    limit = csv.field_size_limit()
    table = tables.read_table(tmp_path / "t.csv", ["b"])
    assert table.names == (name, "y")
    assert table.data.tolist() == [[1, 3]]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("drop", [0, 10_000])
@pytest.mark.parametrize("sep", [",", ";"])
def test_the_time_is_linear_in_the_columns(tmp_path, drop, sep):
    """100,000 take ten times as long as 10,000, within a factor of four; quadratic is a factor of ten."""
    took = {}
    for d in (10_000, 100_000):
        names = [f"x{i}" for i in range(d)]
        path = tmp_path / f"{d}.csv"
        path.write_text(f"{sep.join(names)}\n{sep.join(['1.5'] * d)}\n")
        dropped = [",".join(names[: drop * d // 100_000])] if drop else []
        began = time.process_time()
        table = tables.read_table(path, dropped)
        took[d] = time.process_time() - began
        assert table.data.shape == (1, d - drop * d // 100_000)
    assert took[100_000] < 40 * took[10_000]
