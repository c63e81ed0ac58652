"""Designs from files, for `sparselin guarantee --design`: what is read, and what is refused and why."""

import dataclasses

import click
import numpy as np
import pytest
from click.testing import CliRunner

import sparselin as sl
from sparselin.cli import cli
from sparselin.cli.saved_design import read_design

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
    """As pandas writes it, and as it writes it again once it has read it."""
    lines = GOOD.splitlines()
    rows = [f"{index},{lines[0]}", *(f"patient {i},{line}" for i, line in enumerate(lines[1:]))]
    path = written(tmp_path, "\n".join(rows), "indexed.csv")
    saved, plain = read_design(path, None), read_design(written(tmp_path, GOOD), None)
    assert saved.names == plain.names == ("age", "weight in kg")
    np.testing.assert_array_equal(saved.X, plain.X)
    np.testing.assert_array_equal(saved.y, plain.y)
    assert "the first column has no name, and is left out" in saved.note
    assert plain.note == ""
    for command, option in (("guarantee", "--k"), ("verify", "--steps")):
        result = CliRunner().invoke(cli, [command, "--design", str(path), option, "1"])
        assert result.exit_code == 0, result.output
        assert saved.note in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a line that names the columns"),
        ("a,b\n", "a line for each row"),
        ("1,2,3\n4,5,6\n", "only numbers"),
        ("a,b,a\n1,2,3\n", "two columns 'a'"),
        ("a:b\n1:2\n", "separated by commas (or semicolons, or tabs); it has 'a:b'"),
        ("a;b;y\n1;2;no\n", "'y' is the column to explain: encode it as numbers"),
        ("a,b\n1,2\n3\n", "line 3 has 1 fields, the first line 2"),
        ("a,b\n1,\n", "line 2 has nothing in column 'b'"),
        (",a,,b\n0,1,2,3\n", "must name every column; column 3 has no name"),
        (",a\n0,1\n", "must name every column; column 1 has no name"),
        (",a,b\n0,1,2\n1,2\n", "line 3 has 2 fields, the first line 3"),
        ("a,city\n1,Rome\n", "line 2 has 'Rome' in column 'city'"),
    ],
)
def test_bad_tables_say_where(tmp_path, text, words):
    with pytest.raises(click.BadParameter) as caught:
        read_design(written(tmp_path, text), None)
    assert words in caught.value.message
    assert "design.csv" in caught.value.message


def test_bad_archives_say_what_they_have(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    np.savez(tmp_path / "x.npz", X=np.eye(2), z=1)
    for name, words in (("x.npy", "one array"), ("x.npz", "no y, but X, z")):
        with pytest.raises(click.BadParameter, match=words):
            read_design(tmp_path / name, None)
    with pytest.raises(click.BadParameter, match="names a column"):
        read_design(tmp_path / "x.npz", "price")


def test_the_answer_has_the_names_of_the_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    rows = "\n".join(",".join(map(str, row)) for row in np.column_stack([X, X[:, 1] + 5]).tolist())
    path = written(tmp_path, "age,height,weight in kg,price\n" + rows)
    result = CliRunner().invoke(cli, ["guarantee", "--design", str(path), "--k", "1"])
    assert result.exit_code == 0, result.output
    share = 30 * (X[:, 1] + 5).mean() ** 2 / np.sum((X[:, 1] + 5) ** 2)
    assert (
        f"30 rows, 3 columns, y = price. R² is uncentred: of ‖y‖² the mean of y explains {share:.1%}"
        in result.output
    )
    best = np.argmax((X.T @ (X[:, 1] + 5)) ** 2 / (X**2).sum(axis=0))
    assert f"best subset: {['age', 'height', 'weight in kg'][best]}: R²" in result.output
    assert "OMP has " in result.output


def test_an_interrupt_is_no_broken_promise(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparselin.cli.guarantee.guarantee_bounds", interrupted)
    result = CliRunner().invoke(cli, ["guarantee", "--design", str(written(tmp_path, GOOD))])
    assert result.exit_code == 130


def test_an_interrupt_of_the_search_ends_the_bounds(monkeypatch):
    stopped = sl.best_subset(np.eye(3), np.arange(1.0, 4), 2, callback=lambda state: True)
    stopped = dataclasses.replace(stopped, status=sl.Status.STOPPED)
    monkeypatch.setattr("sparselin.guarantees.bounds.best_subset", lambda *args, **kwargs: stopped)
    with pytest.raises(KeyboardInterrupt):
        sl.guarantee_bounds(np.eye(3), np.arange(1.0, 4), 2)
