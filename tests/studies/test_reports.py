"""Files of reports: what a command may overwrite, and that a report appears whole or not at all."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke
from house import files

from proofs_checks.experiments.diversity.command import diversity
from sparselin.plots.style import pyplot
from sparselin.studies.common import folder as place
from sparselin.studies.common import page as pages
from sparselin.studies.common.group import COMMANDS, cli

GOOD = "a,height,y\n1,2,3\n4,5.5,6\n-1,0,1\n2,3,5\n7,1,1\n"
LINES = {
    "verify": "verify --designs 1 --steps 1 --quick --ensembles gaussian --jobs 1 --plant second-best",
    "guarantee": "guarantee --quick --designs 2 --ensembles gaussian --jobs 1",
    "diversity": "diversity --data digits --images 30 --k 2 --repeats 1 --jobs 1",
    "select": "select t.csv --k 1 --folds 2",
    "one pass": "select t.parquet --k 1 --one-pass",
}
# the work of each command, which must not begin where a file is in the way
WORK = {
    "verify": "sparselin.studies.verification.command._collect",
    "guarantee": "sparselin.studies.guarantees.command._collect",
    "diversity": "proofs_checks.experiments.diversity.command._collect",
    "select": "sparselin.studies.select.run._select",
    "one pass": "sparselin.studies.select.one_pass._compress",
}


def call(command, *arguments, **options):
    """Call a command of `sparselin`, or the study of diversity, which is one by itself."""
    if command == "diversity":
        return invoke(*arguments, command=diversity, **options)
    return invoke(command, *arguments, **options)


def contents(folder):
    """Return the content of every file of a folder; links stay links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        contents = path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = path.readlink() if path.is_symlink() else contents
    return found


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    (folder / "t.csv").write_text(GOOD)
    rows = np.random.default_rng(0).standard_normal((60, 3))
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    pd.DataFrame(rows, columns=["a", "b", "y"]).to_parquet(folder / "t.parquet")
    return folder


def line_of(name, tables):
    return [tables / word if word.startswith("t.") else word for word in LINES[name].split()]


@pytest.fixture(scope="module", params=list(LINES))
def report(request, tables, tmp_path_factory):
    """A command, its line, a folder with its report, and how its files are written again."""
    folder = tmp_path_factory.mktemp("report") / "earlier"
    line, written, whole = line_of(request.param, tables), [], place.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, "write", lambda *given: written.append(given) or whole(*given))
        call(*line, "--output", folder, exit_code=(0, 1))
    return request.param, line, folder, written


@pytest.mark.parametrize("report", ["verify", "guarantee", "diversity", "select"], indirect=True)
def test_every_picture_of_a_report_has_an_alternative_text(report):
    page = (report[2] / "index.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<(?:img|svg)[^>]*>", page)
    assert pictures
    assert all(re.search(r' alt="\S[^"]{15,}"', picture) for picture in pictures)


@pytest.mark.parametrize("report", ["verify", "guarantee", "diversity", "select"], indirect=True)
def test_a_page_can_be_used_with_a_keyboard_and_a_screen_reader(report):
    """The page has one <main>; headers of tables have a scope; wide parts can be reached and have a name."""
    page = (report[2] / "index.html").read_text(encoding="utf-8")
    assert page.count("<main>") == page.count("</main>") == 1
    assert page.index("<main>") < page.index("<h1>") < page.index("</main>")
    headers = re.findall(r"<th\b[^>]*>", page)
    assert headers
    assert all(re.search(r' scope="(col|row)"', header) for header in headers)
    areas = re.findall(r'<pre[^>]*>|<div class="scroll"[^>]*>', page)
    assert page.count("<table") == page.count('<div class="scroll"') > 0
    for area in areas:
        assert ' tabindex="0" role="region"' in area
        assert re.search(r' aria-label="[^"]+"', area)


def test_a_figure_is_the_same_file_in_every_run():
    """The salt is fixed, because matplotlib otherwise draws ids at random; ids of two figures differ."""

    def draw(name):
        figure, ax = pyplot().subplots()
        ax.plot([0, 1], [0, 2], "o-")
        files = {}
        pages.picture(files, name, figure)
        return files

    first, second, other = draw("a"), draw("a"), draw("b")
    assert first == second
    assert len(first) == 2
    ids = [
        set(re.findall(rb'id="(p[0-9a-f]{10})"', files[f"{name}.svg"]))
        for name, files in (("a", first), ("b", other))
    ]
    assert ids[0]
    assert not ids[0] & ids[1]


KINDS = ("another", "changed", "folder", "link", "link to a copy", "link to nothing", "hard link")


def put_in_the_way(path, kind, outside):
    """Put a file of somebody in the place of a file."""
    own = path.read_bytes() if path.exists() else b"own"
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif "link" in kind:
        if kind != "link to nothing":
            outside.write_bytes(own if kind == "link to a copy" else b"precious")
        (path.hardlink_to if kind == "hard link" else path.symlink_to)(outside)
    else:
        path.write_bytes(own + b" " if kind == "changed" else b"precious")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_over_what_another_wrote(report, kind, tmp_path, monkeypatch):
    """It refuses before any work, next to an earlier report and in a folder with that file alone."""
    name, line, earlier, _ = report
    monkeypatch.setattr(WORK[name], None)
    for file in [path.name for path in earlier.iterdir()]:
        for where in ("next to it", "alone"):
            place = tmp_path / where / file
            folder, outside = place / "out", place / "outside"
            if where == "next to it":
                shutil.copytree(earlier, folder)
            else:
                folder.mkdir(parents=True)
            put_in_the_way(folder / file, kind, outside)
            before = contents(place)
            words = call(*line, "--output", folder, exit_code=2)
            assert f"would overwrite {file}" in words
            assert "choose another folder, or move the file away" in words
            assert contents(place) == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=type)
def test_a_report_appears_whole_or_not_at_all(report, error, tmp_path, monkeypatch):
    earlier, ((_, results, files),) = report[2:]
    folder = shutil.copytree(earlier, tmp_path / "out")
    (folder / "notes.txt").write_text("mine")
    changed = {file: data + b" " for file, data in files.items()}
    before, left, fsync = contents(folder), [], os.fsync

    def full(file):
        if left and left.pop() == "stop":
            raise error
        fsync(file)

    monkeypatch.setattr(place.os, "fsync", full)
    for whole in range(len(files) + 1):
        left[:] = ["stop", *["write"] * whole]
        with pytest.raises((place.ReportError, KeyboardInterrupt)):
            place.write(folder, results, changed)
        assert contents(folder) == before
    order, replace = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: order.append(to.name) or replace(path, to))
    place.write(folder, results, changed)
    assert order == [*files, "results.json"]
    after = contents(folder)
    assert {file: after[file] for file in changed} == changed
    assert set(after) == {*files, "results.json", "notes.txt"}


def test_the_report_that_is_replaced_goes_and_other_files_stay(report, tmp_path):
    earlier, ((_, results, files),) = report[2:]
    folder = shutil.copytree(earlier, tmp_path / "out")
    others = {".hidden": "1", "index.html.part": "2", "results.json.part": "3", "sub/index.html": "4"}
    for file, text in others.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    kept = dict(list(files.items())[:1])
    place.write(folder, results, kept)
    assert set(contents(folder)) == {*kept, "results.json", *others, "sub"}
    assert {file: (folder / file).read_text() for file in others} == others


def test_a_command_writes_where_it_has_written(report, tmp_path):
    _, line, earlier, _ = report
    folder = shutil.copytree(earlier, tmp_path / "out")
    os.utime(folder / "results.json", (0, 0))
    call(*line, "--output", folder, exit_code=(0, 1))
    assert (folder / "results.json").stat().st_mtime > 0
    assert {path.name for path in folder.iterdir()} == {path.name for path in earlier.iterdir()}


def test_only_one_module_writes_files_of_reports():
    """And the writers of the command line's own files: none."""
    writes = r"write_(text|bytes)\(|open\(\"[wax]|savez\w*\((?!buffer)|savefig\((?!png|svg)"
    for path in files("sparselin/studies"):
        assert path.name == "folder.py" or not re.search(writes, path.read_text("utf-8")), path


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the sizes of files")
@pytest.mark.parametrize("report", ["select"], indirect=True)
@pytest.mark.parametrize("blocks", [0, 1, 4, 20, 40, 60, 100])
def test_a_full_disk_leaves_the_report_and_one_message(blocks, report, tmp_path):
    """One command stands for all, because all write by the same function."""
    import resource

    _, line, earlier, _ = report
    folder = shutil.copytree(earlier, tmp_path / "out")
    before, limits = contents(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * blocks, limits[1]))
    try:
        result = CliRunner().invoke(cli, [*map(str, line), "--method", "ols", "--output", str(folder)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if result.exit_code == 0:
        assert blocks == 100
        return
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1), result.stderr
    assert "File too large" in result.stderr
    assert contents(folder) == before


# --- the input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["itself", "link", "hard link", "relative", "link to the folder"])
@pytest.mark.parametrize("line", [*("select --k 1", "one pass"), "checkpoint"])
def test_the_input_stays(tables, tmp_path, monkeypatch, line, way):
    """The table, and a checkpoint that is not there yet, by any name of a file of the report."""
    folder, mine = tmp_path / "out", tmp_path / "mine.csv"
    folder.mkdir()
    files = ["selected.csv"] + ([] if line == "one pass" else ["index.html", "selection.png"])
    for file in files:
        at = folder / file
        if line == "checkpoint":
            given = Path(os.path.relpath(at)) if way == "relative" else at
            more = ["select", tables / "t.parquet", "--k", "1", "--one-pass", "--checkpoint", given]
        else:
            one_pass = (".parquet", LINES["one pass"].split()[2:])
            suffix, options = one_pass if line == "one pass" else (".csv", ["--k", "1"])
            if not file.endswith(suffix):  # by a link, which has the ending
                at.write_bytes((tables / f"t{suffix}").read_bytes())
                (given := mine.with_suffix(suffix)).unlink(missing_ok=True)
                (given.hardlink_to if way == "hard link" else given.symlink_to)(at)
            else:
                shutil.copy(tables / "t.csv", mine)
                given = at if way != "hard link" else mine
                if way == "link":
                    at.symlink_to(mine)
                else:
                    (at.hardlink_to(mine)) if way == "hard link" else shutil.copy(mine, at)
            more = ["select", given, *options]
        output = folder
        if way == "link to the folder":
            output = tmp_path / "to"
            output.unlink(missing_ok=True)
            output.symlink_to(folder)
        before = contents(tmp_path)
        words = call(*more, "--output", output, exit_code=2)
        assert "is an input of this run, and the report would overwrite it" in words
        assert contents(tmp_path) == before
        at.unlink(missing_ok=True)


def test_a_file_of_the_earlier_report_that_is_read_stays(report, tmp_path):
    name, _, earlier, _ = report
    folder = shutil.copytree(earlier, tmp_path / "out")
    command = {"one pass": "select", "diversity": "proofs_checks.experiments.diversity"}.get(name, name)
    for path in list(folder.iterdir()):
        link, hard = tmp_path / "link", tmp_path / "hard"
        link.symlink_to(path)
        hard.hardlink_to(path)
        for source in (path, link, hard):
            with pytest.raises(place.ReportError, match="is an input of this run"):
                place.check(folder, command, [path.name], [source])
        link.unlink(), hard.unlink()
    place.check(folder, command, ["*"], [tmp_path / "elsewhere"])


@pytest.mark.parametrize("name", COMMANDS)
def test_an_empty_name_is_an_error(name, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"select": [tables / "t.csv"]}.get(name, [])
    options = [param.opts[0] for param in cli.get_command(None, name).params]
    for option in {"--output", "--folder", "--counterexamples", "--checkpoint"} & set(options):
        words = call(name, *given, option, "", exit_code=2)
        assert f"Invalid value for '{option}': the name is empty" in words
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"run": {"command": ""}}', '{"run": {"command": "sparselin select"}}',
     '{"run": {"command": "sparselin select"}, "files": {"results.json": "0", "../t.csv": "0"}}',
     '{"run": {"command": "sparselin select"}, "files": 3}', "[" * 100_000, "\xff"],
    ids=range(10),
)  # fmt: skip
def test_a_results_json_of_something_else_is_refused(text, tables, tmp_path):
    (tmp_path / "results.json").write_bytes(text.encode("latin-1"))
    words = call(*line_of("select", tables), "--output", tmp_path, exit_code=2)
    assert "would overwrite results.json" in words
    assert (tmp_path / "results.json").read_bytes() == text.encode("latin-1")


def test_results_json_lists_the_files(report):
    earlier = report[2]
    files = json.loads((earlier / "results.json").read_text("utf-8"))["files"]
    assert set(files) == {path.name for path in earlier.iterdir()}
