"""Designs from files, for `sparselin guarantee --design`: what is read, and what is refused and why."""

import contextlib
import dataclasses
import io
import re
import zipfile

import click
import numpy as np
import pytest
from commands import invoke
from refusals import interrupt, refuses

import sparselin as sl
from sparselin.studies.common.saved_design import read_design

GOOD = "age,weight in kg,price\n1,2,3\n4,5.5,6\n-1,0,1e-3\n"


def written(folder, text, name="design.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("target", "names"), [(None, ("age", "weight in kg")), ("age", ("weight in kg", "price"))]
)
def test_a_table_with_names(tmp_path, target, names):
    saved = read_design(written(tmp_path, "\ufeff" + GOOD), target)
    table = {"age": [1, 4, -1], "weight in kg": [2, 5.5, 0], "price": [3, 6, 1e-3]}
    assert saved.names == names
    assert saved.target == (target or "price")
    np.testing.assert_array_equal(saved.y, table[saved.target])
    np.testing.assert_array_equal(saved.X, np.transpose([table[name] for name in names]))


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_an_index_that_a_frame_wrote_is_no_feature(tmp_path, index):
    """Pandas writes an index, and writes it again once it has read it; neither is a feature."""
    lines = GOOD.splitlines()
    rows = [f"{index},{lines[0]}", *(f"patient {i},{line}" for i, line in enumerate(lines[1:]))]
    path = written(tmp_path, "\n".join(rows), "indexed.csv")
    saved, plain = read_design(path, None), read_design(written(tmp_path, GOOD), None)
    assert saved.names == plain.names == ("age", "weight in kg")
    np.testing.assert_array_equal(saved.X, plain.X)
    np.testing.assert_array_equal(saved.y, plain.y)
    assert "the first column has no name, so it is left out" in saved.note
    assert plain.note == "The point is the decimal sign."
    for command, option in (("guarantee", "--k"), ("verify", "--steps")):
        assert saved.note in invoke(command, "--design", path, option, "1")


BAD_TABLES = [
    ("1,2,3\n4,5,6\n", "only numbers"),
    ("a,b,a\n1,2,3\n", "'a' occurs twice"),
    ("a;b;y\n1;2;no\n", "every cell must hold a number; column 'y' has 'no' in row 1"),
    ("a,b\n1,\n", "column 'b' has an empty cell in row 1"),
    (",a,,b\n0,1,2,x\n", "column 'b' has 'x' in row 1"),
    ("a;b\n950;2\n1,234;3\n", "no cell decides. Save it as a plain .csv"),
    (",a\n0,1\n", "must name every column; column 1 has no name"),
    (",a,b\n0,1,2\n1,2\n", "line 3 has 2 fields, but the first line has 3"),
    ("a,city\n1,Rome\n", "column 'city' has 'Rome' in row 1"),
]


@pytest.mark.parametrize(("text", "words"), BAD_TABLES)
def test_bad_tables_say_where(tmp_path, text, words):
    with pytest.raises(click.BadParameter) as caught:
        read_design(written(tmp_path, text), None)
    assert words in caught.value.message
    assert "design.csv" in caught.value.message


def test_bad_archives_say_what_they_have(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    np.savez(tmp_path / "x.npz", X=np.eye(2), z=1)
    for name, words in (("x.npy", "one array"), ("x.npz", "no y. Its arrays are X, z")):
        refuses(words, read_design, tmp_path / name, None, error=click.BadParameter)
    refuses("names a column", read_design, tmp_path / "x.npz", "price", error=click.BadParameter)


GOOD_ARRAYS = {"X": np.eye(3), "y": np.ones(3), "k": 2, "seed": [0, 1], "reach": True, "flops": np.inf}


def refused(path):
    with pytest.raises(click.BadParameter) as caught:
        read_design(path, None)
    assert str(path) in caught.value.message
    assert len(caught.value.message.splitlines()) == 1
    return caught.value.message


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.ones(3)}, "X must have two dimensions, (n, d); it has 1"),
        ({"X": np.eye(3) + 1j}, "X must hold real numbers; its dtype is complex128"),
        ({"y": np.ones(3) * 1j}, "y must hold real numbers; its dtype is complex128"),
        ({"X": np.full((3, 3), "1.5")}, "X must hold real numbers; its dtype is <U3"),
        ({"X": np.full((3, 3), b"1")}, "X must hold real numbers; its dtype is |S1"),
        ({"y": np.array(["2020-01-01"] * 3, "M8[D]")}, "y must hold real numbers; its dtype is datetime"),
        ({"y": np.zeros(3, [("a", float)])}, "y must hold real numbers"),
        ({"X": np.array([[None] * 3] * 3)}, "is a broken .npz file: Object arrays cannot be loaded"),
        *(({"k": k}, "k must be a positive integer; got") for k in (0, -1, 2.5, np.nan, 2j, "2", [2])),
        *(({"seed": s}, "seed must be a list of nonnegative") for s in (3, [-1], [0.5], ["1"], [[1]])),
        *(({"flops": f}, "flops must be a nonnegative number") for f in (np.nan, -1.0, 1j, [1.0], "1")),
        *(({name: 2}, f"{name} must be True or False") for name in ("reach", "audit")),
    ],
)  # fmt: skip
def test_archives_of_other_things_are_named(tmp_path, arrays, words):
    np.savez(tmp_path / "x.npz", **GOOD_ARRAYS | arrays)
    assert words in refused(tmp_path / "x.npz")


def test_files_that_are_no_archives_are_named(tmp_path):
    bomb, path = io.BytesIO(), tmp_path / "x.npz"
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**7)}
    np.lib.format.write_array_header_1_0(bomb, shape)
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as archive:
        archive.writestr("X.npy", bomb.getvalue())
    assert "an array that is larger than the memory" in refused(tmp_path / "bomb.npz")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    assert "'xl/workbook.xml' in it is not an array" in refused(tmp_path / "zip.npz")
    np.save(tmp_path / "array.npy", np.eye(2))
    for data, words in (
        (b"", "is empty"),
        (b"no", "is not an .npz file"),
        (b"PK\3\4" + b"a" * 16, "is not an .npz file"),
        ((tmp_path / "array.npy").read_bytes(), "is not an .npz file"),
    ):
        path.write_bytes(data)
        assert words in refused(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_archives_are_named(tmp_path, save):
    """Cut off, or with other bytes, at any place: read as they were, or refused."""
    save(tmp_path / "x.npz", **GOOD_ARRAYS)
    whole = (tmp_path / "x.npz").read_bytes()
    rng, path = np.random.default_rng(0), tmp_path / "damaged.npz"
    cases = [whole[:end] for end in range(0, len(whole), 23)]
    for _ in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[at] = rng.integers(256)
        cases.append(bytes(damaged))
    for data in cases:
        path.write_bytes(data)
        with contextlib.suppress(click.BadParameter):
            saved = read_design(path, None)
            assert saved.X.dtype == saved.y.dtype == float


def test_the_answer_has_the_names_of_the_columns(tmp_path, rng):
    X = rng.standard_normal((30, 3))
    rows = "\n".join(",".join(map(str, row)) for row in np.column_stack([X, X[:, 1] + 5]).tolist())
    path = written(tmp_path, "age,height,weight in kg,price\n" + rows)
    output = invoke("guarantee", "--design", path, "--k", "1")
    share = 30 * (X[:, 1] + 5).mean() ** 2 / np.sum((X[:, 1] + 5) ** 2)
    words = f"30 rows, 3 columns; target: price. R² is not centred; the mean of y explains {share:.1%}"
    assert words in output
    best = np.argmax((X.T @ (X[:, 1] + 5)) ** 2 / (X**2).sum(axis=0))
    assert f"best subset: {['age', 'height', 'weight in kg'][best]}: R²" in output
    assert "OMP reaches " in output
    assert invoke("guarantee", "--design", path, "--k", "1", "--target", "age") != output
    assert "no column 'cost'" in invoke("guarantee", "--design", path, "--target", "cost", exit_code=2)
    checked = invoke("verify", "--design", path, "--steps", "2")
    assert checked.count("agrees") == 2
    assert re.search(r" 1 +(age|height|weight in kg) ", checked)[1] == picked(X, X[:, 1] + 5)


def picked(X, y):
    """Return the name of the column that correlates most with y."""
    return ["age", "height", "weight in kg"][int(np.abs(X.T @ y).argmax())]


@pytest.mark.parametrize("command", ["verify", "guarantee"])
def test_the_file_is_an_argument_or_an_option(tmp_path, command):
    path = written(tmp_path, GOOD)
    assert invoke(command, path) == invoke(command, "--design", path)
    assert "given twice" in invoke(command, path, "--design", path, exit_code=2)
    assert "does not exist" in invoke(command, tmp_path / "no.csv", exit_code=2)
    assert "--target: needs FILE" in invoke(command, "--target", "y", exit_code=2)


WRONG_DESIGNS = [
    ({"X": np.eye(2)}, "must be an .npz with X (n, d) and y (n,)"),
    ({"X": np.full((2, 2), np.nan), "y": np.ones(2)}, "X must be finite"),
    ({"X": np.eye(2), "y": np.ones(3)}, "y must have 2 entries"),
]


@pytest.mark.parametrize("command", ["verify", "guarantee"])
@pytest.mark.parametrize(("arrays", "words"), WRONG_DESIGNS)
def test_a_wrong_design_is_a_usage_error(tmp_path, command, arrays, words):
    np.savez(tmp_path / "x.npz", **arrays)
    output = invoke(command, "--design", tmp_path / "x.npz", exit_code=2)
    assert words in output
    assert "x.npz" in output


def test_an_interrupt_is_no_broken_promise(tmp_path, monkeypatch):
    monkeypatch.setattr("sparselin.studies.guarantees.command.guarantee_bounds", interrupt)
    invoke("guarantee", "--design", written(tmp_path, GOOD), exit_code=130)


def test_an_interrupt_of_the_search_ends_the_bounds(monkeypatch):
    stopped = sl.best_subset(np.eye(3), np.arange(1.0, 4), 2, callback=lambda state: True)
    stopped = dataclasses.replace(stopped, status=sl.Status.STOPPED)
    monkeypatch.setattr("sparselin.guarantees.bounds.best_subset", lambda *args, **kwargs: stopped)
    refuses("^$", sl.guarantee_bounds, np.eye(3), np.arange(1.0, 4), 2, error=KeyboardInterrupt)
