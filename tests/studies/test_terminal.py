"""Test that a command keeps its report if its output fails, and that names cannot act on a terminal."""

import ast
import errno
import html
import io
import json
import os
import re
import subprocess
import sys
import xml.dom.minidom

import numpy as np
import pytest
from click.testing import CliRunner
from house import ROOT, tree_of
from selected import run

from sparselin.studies.common.command import Terminal
from sparselin.studies.common.group import cli

pd = pytest.importorskip("pandas")
SELECT = ("--target=y", "--k=2", "--folds=0")


def table(names=("a", "b")):
    X = np.random.default_rng(0).standard_normal((40, 2))
    return pd.DataFrame(X, columns=list(names)).assign(y=3 * X[:, 0] - X[:, 1])


class Failing(io.StringIO):
    """A stream that takes some characters, and then raises an error."""

    def __init__(self, error, room):
        super().__init__()
        self.failure, self.room = error, room

    def write(self, text):
        self.room -= len(text)
        if self.room < 0:
            raise self.failure
        return super().write(text)


@pytest.mark.parametrize("room", [0, 1, 300])
@pytest.mark.parametrize(
    ("error", "status"),
    [(BrokenPipeError(errno.EPIPE, "Broken pipe"), 0), (OSError(errno.ENOSPC, "No space left on device"), 1)],
    ids=["closed", "full"],
)
def test_an_output_that_fails_loses_no_report(tmp_path, monkeypatch, capsys, error, status, room):
    table().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(sys, "stdout", Failing(error, room))
    with pytest.raises(SystemExit) as end:
        cli(["select", str(tmp_path / "t.csv"), *SELECT, "--output", str(tmp_path / "out")])
    assert end.value.code == status
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"index.html", "results.json"}
    said = capsys.readouterr().err
    assert said == ("The output cannot be written: No space left on device.\n" if status else "")


@pytest.mark.parametrize("command", ["head -1", "cat >/dev/full"])
def test_a_shell_that_reads_no_more(tmp_path, command):
    table().to_csv(tmp_path / "t.csv", index=False)
    if "full" in command and not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    program = f"{sys.executable} -m sparselin select t.csv {' '.join(SELECT)} --output out"
    program = f"{program} >/dev/full" if "full" in command else f"{program} | {command}"
    done = subprocess.run(program, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (tmp_path / "out/index.html").exists()
    assert done.returncode == ("full" in command)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_characters_that_the_output_lacks_are_replaced(tmp_path, encoding):
    table(("größe", "λ")).to_csv(tmp_path / "t.csv", index=False)
    runner = CliRunner(charset=encoding)
    arguments = ["select", str(tmp_path / "t.csv"), *SELECT, "--output", str(tmp_path / "out")]
    result = runner.invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    words = result.stdout_bytes.decode(encoding)
    assert "? explain" in " ".join(words.split())
    assert ("größe" in words) == (encoding != "ascii")
    assert (tmp_path / "out/index.html").exists()


def test_every_command_prints_by_the_terminal():
    """No other module of the studies makes a console of rich, or prints."""
    made = []
    for path in (ROOT / "studies").rglob("*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Console", "print"):
                made.append(path.name)
    assert made == []


def test_names_between_colons_stay(capsys):
    """Rich would print an emoji for ":zero:", as in ens.py:zero: no step was checked."""
    Terminal(width=80).print("ens.py:zero: no step was checked")
    assert capsys.readouterr().out == "ens.py:zero: no step was checked\n"


def test_the_terminal_escapes_texts_only(capsys):
    Terminal(width=80).print("a\x1b[31mb\nc\x07\x9b", 3)
    assert capsys.readouterr().out == "a\\x1b[31mb\nc\\x07\\x9b 3\n"


HOSTILE = ["\x1b]0;owned\x1b\\\x1b[31ma", "b\x08\x00c", "line\nbreak", "\x85\u2028\x9b2J", "tab\tname"]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_with_control_characters(tmp_path, monkeypatch, name):
    """They are escaped on the terminal and on the page; the data files keep them; the figure is valid XML."""
    path = tmp_path / "t.parquet"
    pytest.importorskip("pyarrow")
    table((name, "b")).to_parquet(path)
    arguments = ["select", str(path), *SELECT, "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028]", result.output.replace("\n", ""))
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    assert f"{shown} and b explain 100.0% of the variance of y." in " ".join(result.output.split("\n"))
    assert lines[-1].startswith("Report: ")
    page = (tmp_path / "out/index.html").read_bytes().decode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page)
    assert f"<td>{html.escape(shown)}</td>" in page
    xml.dom.minidom.parse(str(tmp_path / "out/selection.svg"))
    found = json.loads((tmp_path / "out/results.json").read_text("utf-8"))
    assert found["selected"][0]["feature"] == name
    bad = ["select", str(path), "--target=y", "--k=9", "--output", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, [*bad[:2], "--target=b", f"--forced={name}x", *bad[3:]])
    assert result.exit_code == 2, result.exception
    with monkeypatch.context() as patch:  # the figures have been seen
        patch.setattr("sparselin.studies.select.report._figures", lambda job: [])
        for given in (name, shown):  # as it is, and as it is printed
            result = CliRunner().invoke(cli, [*arguments, f"--forced={given}"])
            assert result.exit_code == 0, result.output
    result = CliRunner().invoke(cli, [*arguments[:2], f"--target={shown}", *arguments[3:]])
    assert result.exit_code == 0, result.output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028]", result.output.replace("\n", ""))


def test_a_seed_beyond_those_of_numpy_is_refused(tmp_path):
    output, folder = run(tmp_path, table(), *SELECT, "--seed=4294967296", exit_code=2)
    assert "4294967296 is not in the range 0<=x<=4294967295" in output
    assert not folder.exists()
    run(tmp_path, table(), "--target=y", "--seed=4294967295", "--folds=2")


@pytest.mark.parametrize("name", ["...csv", "..csv", "....csv", "...csv.gz", "...tsv"])
def test_a_name_of_points_has_a_folder_of_its_own(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    table().to_csv(tmp_path / name, index=False, sep="\t" if "tsv" in name else ",")
    result = CliRunner().invoke(cli, ["select", name, *SELECT])
    assert result.exit_code == 0, result.output
    assert f"Report: report/select/{name}/index.html" in result.output
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["select"]
    assert [path.name for path in (tmp_path / "report/select").iterdir()] == [name]
