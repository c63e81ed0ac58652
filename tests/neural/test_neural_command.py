"""`make networks`: what is stored stays, nothing is computed twice, the page has the records' numbers."""

import dataclasses
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import types

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
mpl.use("Agg")

from proofs_checks.experiments.networks import (
    lassonet_tables,
    papers,
    pictures,
    report,
    seconds,
    store,
    studies,
)
from proofs_checks.experiments.networks.command import networks
from proofs_checks.experiments.networks.data import table
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Record, Scale, Study
from proofs_checks.experiments.networks.report_figures import figures
from proofs_checks.experiments.networks.report_matrices import matrices
from proofs_checks.experiments.networks.report_rows import CAVEATS, ELSEWHERE, Row, rows
from proofs_checks.experiments.networks.runs import compute, grouped, in_words, planned
from proofs_checks.experiments.networks.store import Failure, Line, Store, bearing
from proofs_checks.experiments.networks.tables import ORDER
from proofs_checks.experiments.networks.verdicts import Summary
from sparselin.datasets import FOLDER
from sparselin.parallel.processes import Lost, run_groups
from sparselin.studies.common.command import listed

METHODS = ("Sequential Attention", "random", "group LASSO, λ fixed")
CALLS = []  # the keys of the pieces that were computed in this process


def pieces(names, scale):
    for seed in range(1, scale.seeds + 1):
        for data in names:
            for method in METHODS:
                for k in reversed(scale.sizes):
                    yield Piece("toy", data, method, k, seed)


def nearest_mean(piece, scale):
    """Random features, and the share of rows that are nearest to the mean of their own class by them."""
    CALLS.append(piece.key)
    found = table(piece.data)
    rng = np.random.default_rng([piece.seed, METHODS.index(piece.method)])
    order = rng.permutation(found.X.shape[1])[: piece.k]
    X = found.X[:, order]
    means = np.array([X[found.y == c].mean(axis=0) for c in range(found.classes)])
    nearest = np.linalg.norm(X[:, None] - means, axis=2).argmin(axis=1)
    score = np.float32(np.mean(nearest == found.y))
    return Record(piece, {"network": score}, tuple(order.tolist()), {"selecting": 0.1}, len(X), "a toy")


TOY = Study("toy", "A toy", "tests", ("digits", "breast_cancer"), pieces, nearest_mean)


def with_run(monkeypatch, run):
    monkeypatch.setattr(studies, "STUDIES", {"toy": TOY._replace(run=run)})


@pytest.fixture(autouse=True)
def toy(monkeypatch, request):
    """And no figures but for the tests that look at them: they take a second."""
    CALLS.clear()
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(report, "figures", lambda *arguments: ())
    with_run(monkeypatch, nearest_mean)


@pytest.fixture
def drawn():
    """The page has its figures."""


def invoke(folder, *arguments, jobs=1):
    line = ["--output", str(folder), "--jobs", str(jobs), *arguments]
    return CliRunner().invoke(networks, line, env={FOLDER: None, "COLUMNS": "200"})


def said(result):
    return " ".join(result.output.split())


def lines(folder):
    return (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()


DIGITS = ("--data", "digits", "--seeds", "2")
ALL = 2 * 3 * 2  # seeds, methods, k of QUICK


# --- one run after another -------------------------------------------------------------------------------


def test_a_run_stores_its_records_and_the_next_computes_nothing(tmp_path):
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 0, result.output
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL
    first = (tmp_path / "results.json").read_text(encoding="utf-8")
    again = invoke(tmp_path, *DIGITS)
    assert again.exit_code == 0, again.output
    assert "All pieces are done." in again.output
    assert len(CALLS) == len(lines(tmp_path)) == ALL
    rows = [json.loads(text)["rows"] for text in (first, (tmp_path / "results.json").read_text("utf-8"))]
    assert rows[0] == rows[1]


def test_an_interrupt_keeps_what_was_done_and_the_next_run_goes_on(tmp_path, monkeypatch):
    def interrupted(piece, scale):
        if len(CALLS) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return nearest_mean(piece, scale)

    with_run(monkeypatch, interrupted)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 130, result.output
    assert len(lines(tmp_path)) == 5
    assert f"{ALL - 5} pieces are left; 5 records are kept" in said(result)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Interrupted:" in page
    assert f"{ALL - 5} are left:" in page
    command = re.search(r"To go on: python -m [\w.]+ (.*)", result.output).group(1).split()
    assert sorted(command) == sorted([*DIGITS, "--jobs", "1", "--output", str(tmp_path)])
    with_run(monkeypatch, nearest_mean)
    assert CliRunner().invoke(networks, command, env={FOLDER: None}).exit_code == 0
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL


def test_an_interrupt_that_a_path_would_take_for_its_end_makes_no_record(monkeypatch):
    """`lassonet_path` returns what it has at KeyboardInterrupt, an unfinished path."""

    def path(piece, scale):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        return nearest_mean(piece, scale)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        compute(path, Piece("toy", "digits", "random", 5, 1), QUICK)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not CALLS


def test_after_its_hours_no_piece_begins(tmp_path):
    result = invoke(tmp_path, *DIGITS, "--hours", "1e-9")
    assert result.exit_code == 1
    assert not CALLS
    assert f"{ALL} pieces are left; 0 records are kept" in said(result)


def test_a_failed_piece_is_kept_in_words_and_tried_again(tmp_path, monkeypatch):
    def fails(piece, scale):
        if piece.method == "random" and piece.seed == 2:
            raise ValueError("no features by chance")
        if piece.method == "random":
            return dataclasses.replace(nearest_mean(piece, scale), scores={"network": float("nan")})
        return nearest_mean(piece, scale)

    with_run(monkeypatch, fails)
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 1
    assert (
        "Failed: 2 pieces, the first toy: random on digits, k = 10, seed 2: ValueError: no features"
        in said(result)
    )
    assert "the score 'network' is nan" in said(result)
    assert len(lines(tmp_path)) == ALL
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "ValueError: no features by chance" in page
    plan = invoke(tmp_path, *DIGITS, "--plan")
    assert re.search(r"toy +digits +12 +8 +4 +4 ", plan.output), plan.output
    with_run(monkeypatch, nearest_mean)
    CALLS.clear()
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 0, result.output
    assert len(CALLS) == 4
    assert all("|random|" in key for key in CALLS)
    assert "no features" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_data_file_that_goes_away_fails_its_pieces_only(tmp_path, monkeypatch):
    def gone(piece, scale):
        if piece.data == "breast_cancer":
            raise FileNotFoundError("the folder has no breast.csv")
        return nearest_mean(piece, scale)

    with_run(monkeypatch, gone)
    result = invoke(tmp_path, "--seeds", "1")
    assert result.exit_code == 1
    assert len(Store(tmp_path / "records.jsonl", QUICK).records) == 6
    assert "Failed: 6 pieces, the first toy: Sequential Attention on breast_cancer" in said(result)


# --- the file --------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_dropped_and_its_piece_computed(tmp_path):
    invoke(tmp_path, *DIGITS)
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    CALLS.clear()
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 0, result.output
    assert "has no end, a run was cut off there" in said(result)
    assert len(CALLS) == 1
    assert len(Store(path, QUICK).records) == ALL
    kept = [{**json.loads(line), "seconds": 0} for line in path.read_bytes().splitlines()]
    assert kept == [{**json.loads(line), "seconds": 0} for line in whole.splitlines()]


@pytest.mark.parametrize(
    "damage", ['{"record": 5}', "", "not JSON", '{"failure":{"piece":{}}}', "[1]", "\xff"]
)
def test_a_damaged_line_is_named(tmp_path, damage):
    invoke(tmp_path, *DIGITS, "--methods", "random")
    path = tmp_path / "records.jsonl"
    kept = path.read_bytes().splitlines()
    kept[2] = damage.encode("latin-1")
    path.write_bytes(b"\n".join(kept) + b"\n")
    before = path.read_bytes()
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 2
    assert "line 3 is not one that `make networks` wrote" in said(result).replace("│ ", "")
    assert path.read_bytes() == before


def test_records_of_another_scale_are_told_apart_and_kept(tmp_path):
    invoke(tmp_path, *DIGITS, "--methods", "random", "--seeds", "1")
    result = invoke(tmp_path, *DIGITS, "--methods", "random", "--rows", "500")
    assert "has 2 records of another scale too" in said(result)
    assert len(lines(tmp_path)) == 2 + 4
    assert len(CALLS) == 6
    more = invoke(tmp_path, "--data", "digits", "--methods", "random", "--seeds", "3", "--rows", "500")
    assert more.exit_code == 0
    assert len(CALLS) == 8  # the number of seeds is no part of the scale


def test_a_full_disk_keeps_what_was_stored(tmp_path, monkeypatch):
    """The sixth line is written in part, and then no more."""
    written = []

    class Full:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            written.append(data)
            if len(written) < 6:
                return self.file.write(data)
            if len(written) == 6:
                return self.file.write(data[:30])
            raise OSError(28, "No space left on device")

        def fileno(self):
            return self.file.fileno()

    whole = store._write
    monkeypatch.setattr(store, "_write", lambda file, line: whole(Full(file), line))
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 1
    assert "A record could not be written ([Errno 28] No space left on device)" in said(result)
    assert "5 records are kept" in said(result)
    assert "Make room, then go on: python -m proofs_checks.experiments.networks" in said(result)
    stored = (tmp_path / "records.jsonl").read_bytes()
    assert stored.count(b"\n") == 5
    assert stored.endswith(b"\n")
    monkeypatch.setattr(store, "_write", whole)
    assert invoke(tmp_path, *DIGITS).exit_code == 0
    assert len(lines(tmp_path)) == ALL


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    invoke(tmp_path, *DIGITS, "--methods", "random")
    old = [(tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "results.json")]

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "sparselin.studies.common.folder.os", types.SimpleNamespace(**vars(os) | {"fsync": full})
    )
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 1
    assert "the page cannot be written" in said(result)
    assert old == [(tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "results.json")]
    assert not list(tmp_path.glob(".*part"))
    assert len(lines(tmp_path)) == ALL


def test_a_second_run_in_the_folder_says_that_there_is_one(tmp_path, monkeypatch):
    """Its first record is written when the other one's lines have come since it began."""
    whole = store.Store.add

    def late(self, outcome, seconds):
        if not self.records:
            with self.path.open("ab") as file:
                file.write(b'{"record":of the other run')
        return whole(self, outcome, seconds)

    monkeypatch.setattr(store.Store, "add", late)
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 1
    assert "another run writes to this file" in said(result)
    assert "Let it end, then go on: python -m proofs_checks.experiments.networks" in said(result)


def test_two_runs_do_not_write_into_one_file(tmp_path):
    path = tmp_path / "records.jsonl"
    one, other = Store(path, QUICK), Store(path, QUICK)
    record = nearest_mean(Piece("toy", "digits", "random", 5, 1), QUICK)
    one.add(record, 1.0)
    before = path.read_bytes()
    with pytest.raises(OSError, match="another run writes"):
        other.add(record, 1.0)
    assert path.read_bytes() == before


def test_lines_are_read_as_they_were_written():
    record = nearest_mean(Piece("toy", "digits", "random", 5, 1, "softmax"), QUICK)
    for outcome in (record, Failure(record.piece, "ValueError: λ")):
        line = Line(outcome, bearing(QUICK), 1.5)
        assert Line.parse(line.text()) == line
    assert "\n" not in line.text()


# --- what would run, and for how long --------------------------------------------------------------------


def test_the_plan_runs_nothing(tmp_path):
    folder = tmp_path / "new"
    result = invoke(folder, "--plan")
    assert result.exit_code == 0, result.output
    assert not folder.exists()
    assert not CALLS
    assert "digits and breast_cancer in their place" in said(result)
    assert re.search(r"toy +digits +12 +0 +0 +12", result.output)
    assert "24 pieces are left" in said(result)


def test_estimates_take_what_is_most_alike():
    done = [(Piece("s", "mice", "OMP", 5, seed), 10.0 * seed) for seed in (1, 2)]
    stored = {"s|mice|LassoNet": 100.0, "s|isolet|OMP": 40.0, "s|mice|OMP": 1e9}
    known = seconds.Estimates(done, stored)
    assert known.of(Piece("s", "mice", "OMP", 5, 3)) == 15
    assert known.of(Piece("s", "mice", "OMP", 50, 1)) == 15
    assert known.of(Piece("s", "mice", "LassoNet", 5, 1)) == 100
    assert known.of(Piece("s", "isolet", "OMP", 5, 1)) == 40
    assert known.of(Piece("s", "isolet", "LassoNet", 5, 1)) == 40
    assert seconds.Estimates().of(Piece("s", "mice", "OMP", 5, 1)) > 0
    groups = [[Piece("s", "isolet", "OMP", 5, seed)] * 9 for seed in (1, 2)]
    assert known.hours(groups, 1) == pytest.approx(0.2)
    assert known.hours(groups, 2) == pytest.approx(0.1)
    assert known.hours(groups, 9) == pytest.approx(0.1)  # a group is in one process
    assert known.measured(Piece("s", "isolet", "OMP", 7, 1))
    assert not known.measured(Piece("s", "isolet", "LassoNet", 7, 1))


def test_the_table_of_seconds_is_made_from_records(tmp_path):
    path, made = tmp_path / "records.jsonl", tmp_path / "seconds.json"
    for scale in (QUICK, FULL):
        store = Store(path, scale)
        for seed in (1, 2):
            store.add(nearest_mean(Piece("toy", "digits", "random", 5, seed), scale), seed * scale.epochs)
        store.add(Failure(Piece("toy", "digits", "random", 5, 3), "no"), 1e6)
    seconds.write(path, "two cores", made)
    assert seconds.stored(FULL, made) == {"toy|digits|random": 1.5}
    assert seconds.stored(QUICK, made) == {"toy|digits|random": 0.15}
    assert seconds.stored(Scale(epochs=0.5), made) == {"toy|digits|random": 0.75}
    assert [one["machine"] for one in json.loads(made.read_text("utf-8"))] == ["two cores"] * 2
    assert seconds.stored(FULL, tmp_path / "none.json") == {}


def test_the_stored_table_names_its_machine_and_date():
    for one in json.loads(seconds.TABLE.read_text("utf-8")) if seconds.TABLE.exists() else ():
        assert one["machine"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"])
        assert all(value > 0 for value in one["seconds"].values())


def test_groups_are_pieces_that_differ_in_k():
    all_of_them = planned([TOY], ["digits"], QUICK)
    groups = grouped(all_of_them)
    assert [len(group) for group in groups] == [2] * 6
    assert sorted(p for group in groups for p in group) == sorted(all_of_them)


# --- processes -------------------------------------------------------------------------------------------


OF_PROCESS = "({}, __import__('os').getpid())"  # for `eval`, which a process has without importing anything
KILLED = "__import__('os').kill(__import__('os').getpid(), 9)"


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_group_stays_in_one_process_and_a_killed_one_is_replaced():
    groups = [[(eval, (OF_PROCESS.format(10 * i + j),)) for j in range(3)] for i in range(4)]
    groups[1].insert(1, (eval, (KILLED,)))
    found = list(run_groups(iter(groups), 2))
    assert [one for one in found if isinstance(one, Lost)] == [Lost((KILLED,))]
    by_value = dict(one for one in found if not isinstance(one, Lost))
    assert sorted(by_value) == [10 * i + j for i in range(4) for j in range(3)]
    for i in (0, 2, 3):
        assert len({by_value[10 * i + j] for j in range(3)}) == 1


SLEEPER = """
import sys, time, types
from pathlib import Path
from proofs_checks.experiments.networks.pieces import Piece, Record, Study

def pieces(names, scale):
    return [Piece("slow", "digits", "random", k, seed) for k, seed in ((3, 1), (2, 1), (1, 2))]

def run(piece, scale):
    if piece.k == 2:
        Path(sys.argv[1], "begun").touch()
        time.sleep(600)
    return Record(piece, {"network": 0.5}, (1,), {}, 9)

if __name__ == "__main__":
    # not the studies themselves: importing them takes seconds
    studies = types.ModuleType("proofs_checks.experiments.networks.studies")
    studies.STUDIES = {"slow": Study("slow", "Slow", "", ("digits",), pieces, run)}
    sys.modules[studies.__name__] = studies
    from proofs_checks.experiments.networks.command import networks

    networks(["--jobs", "2", "--output", sys.argv[1]])
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to one process")
def test_ctrl_c_ends_the_processes_at_once(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(SLEEPER, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != FOLDER}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    while not (tmp_path / "begun").exists() or len(lines(tmp_path)) < 2:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    try:
        printed, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, printed
    assert len(lines(tmp_path)) == 2
    assert "1 pieces are left; 2 records are kept" in " ".join(printed.split())


# --- the page --------------------------------------------------------------------------------------------

PRINTED = Scale(rows=None)


def stored_accuracies(folder, scale=PRINTED):
    """Of Mice Protein, where Table 2 has .993 ± .008 for Sequential Attention and .981 ± .005 for LLY."""
    store = Store(folder / "records.jsonl", scale)
    found = {
        ("Sequential Attention", 50): [0.990, 0.980, 1.000, 0.985, 0.995],
        ("Sequential Attention", 5): [0.90, 0.80, 0.85, 0.90, 0.80],
        ("feature mask (LLY)", 50): [0.930, 0.920, 0.940, 0.925, 0.915],
        ("random", 50): [0.991, 0.979, 1.000, 0.984, 0.994],
    }
    for (method, k), values in found.items():
        for seed, value in enumerate(values, 1):
            piece = Piece("paper", "mice", method, k, seed)
            support = tuple(range(seed, k + seed))
            note = "prefix of 50" if k == 5 else ""
            record = Record(piece, {"network": value}, support, {"selecting": 2.0 * seed}, 756, note)
            store.add(record, 1800.0)
    return store, found


def texts(page, tag):
    """Of each <tag> … </tag>: its text, blanks reduced."""
    found = re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.S)
    return [" ".join(html.unescape(re.sub("<[^>]*>", " ", one)).split()) for one in found]


def table_after(page, words):
    """The rows of the first table after these words, as lists of cells."""
    part = page[page.index(words) :]
    body = part[: part.index("</table>")]
    rows = re.findall("<tr[ >].*?</tr>", body, re.S)
    return [texts(re.sub(r"<(/?)th\b", r"<\1td", row), "td") for row in rows]


def written(folder, scale=PRINTED, **options):
    store, found = stored_accuracies(folder, scale)
    study = Study("paper", "The paper's protocol", "Table 2", ("mice",), pieces, nearest_mean)
    run = report.Run("python -m proofs_checks.experiments.networks", 5.0, 1, False, 0, **options)
    index = report.write(folder, {"paper": study}, store, run)
    return index.read_text(encoding="utf-8"), found


def test_the_page_has_the_numbers_of_the_records_and_what_is_printed(tmp_path):
    page, found = written(tmp_path)
    matrix = table_after(page, "<summary>k = 50")
    assert matrix[0] == ["", "Mice Protein"]
    cells = dict(matrix[1:])
    mean, std = np.mean(found["random", 50]), np.std(found["random", 50], ddof=1)
    assert cells["random"] == f"{mean:.3f} ± {std:.3f}"
    assert cells["Sequential Attention"] == "0.990 ± 0.008 0.993 ± 0.008 ✓"
    assert cells["feature mask (LLY)"] == "0.926 ± 0.010 0.981 ± 0.005 ✗"
    start = page.index("<summary>k = 50")
    assert texts(page[start : page.index("</table>", start)], "strong") == ["0.990 ± 0.008"]
    assert dict(table_after(page, "<summary>k = 5:")[1:]) == {"Sequential Attention": "0.850 ± 0.050"}
    heads, first, *_ = table_after(page, "In print, and here")
    assert heads[2:] == ["reproduced", "not reproduced", "undecided", "needs data"]
    assert first == ["Sequential Attention, Table 2", "6", "1", "1", "0", "4"]
    assert "20 pieces are done; they took 10.0 h" in " ".join(page.split())


def test_the_long_table_has_seeds_rows_seconds_and_the_paired_test(tmp_path):
    page, _ = written(tmp_path)
    heads, *rows = table_after(page, "All numbers: Mice Protein")
    by_method = {(row[0], row[1]): dict(zip(heads, row, strict=True)) for row in rows}
    assert [row[1] for row in rows] == ["50", "50", "50", "5"]
    own, worse, near = (
        by_method[name, "50"] for name in ("Sequential Attention", "feature mask (LLY)", "random")
    )
    assert (own["− the other"], own["p"]) == ("", "")
    assert (worse["− the other"], worse["p"]) == ("-0.064", "0.0625")  # all five have the same sign
    # differences in thousandths 1, −1, 0, −1, −1: |sum| = 2 or more in 10 of the 16 choices of four signs
    assert (near["− the other"], near["p"]) == ("-0.000", "0.625")
    assert (worse["seeds"], worse["training rows"], worse["selecting [s]"]) == ("5", "756", "6.0")
    assert (own["in print"], own["difference"], own["verdict"]) == ("0.993 ± 0.008", "-0.003", "reproduced")
    # 2·√(0.008²/5 + 0.0079²/5 + 0.001²/12)
    assert own["tolerance"] == "0.0101"
    assert by_method["Sequential Attention", "5"]["note"] == "prefix of 50"
    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))["rows"]
    (row,) = (one for one in stored if one["method"] == "random")
    assert row["values"] == {"1": 0.991, "2": 0.979, "3": 1.0, "4": 0.984, "5": 0.994}
    assert row["test"]["p"] == 0.625


def test_another_method_to_compare_with(tmp_path):
    page, _ = written(tmp_path, against="random")
    heads, *rows = table_after(page, "All numbers: Mice Protein")
    found = {row[0]: dict(zip(heads, row, strict=True))["p"] for row in rows if row[1] == "50"}
    assert found == {"Sequential Attention": "0.625", "feature mask (LLY)": "0.0625", "random": ""}
    assert "mean difference from random" in page


def test_with_a_share_of_the_epochs_nothing_is_met_or_missed(tmp_path):
    page, _ = written(tmp_path, QUICK)
    assert table_after(page, "In print, and here")[1] == [
        "Sequential Attention, Table 2",
        "6",
        "0",
        "0",
        "0",
        "6",
    ]
    assert "✓</span>" not in page
    assert "10 % of the epochs" in page


def test_the_figures_of_a_run(tmp_path, drawn):
    """Accuracy against k, seconds against accuracy, the pixels picked; each with a caption."""
    result = invoke(tmp_path, "--data", "digits", "--seeds", "1")
    assert result.exit_code == 0, result.output
    names = ("toy-k-network", "toy-seconds", "toy-pixels-digits")
    assert {path.name for path in tmp_path.glob("*.png")} == {f"{name}.png" for name in names}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 3
    assert "digits: the pixels picked, k = 10" in page
    assert "group LASSO, λ fixed" in page


def test_numbers_that_several_methods_have_as_settings_go_across():
    """And of an error the least is the best; what took all features is last, and never the best, nor is what
    nothing competes with."""
    made = [
        Summary(
            "s",
            "RING",
            method,
            k,
            setting,
            learner,
            {1: 0.5 + 0.1 * len((method + setting).removeprefix("all featu"))},
            {},
            (9, 9),
        )
        for method, k, setting in (
            ("all features", 64, ""),
            ("a", 2, "p=8"),
            ("bb", 2, "p=8"),
            ("a", 2, "p=32"),
        )
        for learner in ("first k", "mse")
    ]
    first, second = matrices([Row(one, None, None, None) for one in made])
    assert (first["title"], first["of"]) == ("k = 2", "true features among the first k")
    assert first["columns"] == [("RING", ""), ("RING", "p=8"), ("RING", "p=32")]
    assert [name for name, _ in first["rows"]] == ["a", "bb", "all features"]
    best = [
        [[bool(cell and cell["best"]) for cell in row] for _, row in one["rows"]] for one in (first, second)
    ]
    assert best[0] == [[False, False, False], [False, True, False], [False, False, False]]
    assert best[1] == [[False, True, False], [False, False, False], [False, False, False]]
    (alone,) = matrices([Row(made[2], None, None, None)])
    assert [name for name, _ in alone["rows"]] == ["a, p=8"]


def test_a_method_with_k_features_and_with_all_of_them_has_two_rows():
    made = [
        Summary("s", "digits", "LassoNet", k, "", "mse", {1: mean}, {}, (9, 9))
        for k, mean in ((64, 0.5), (5, 0.6))
    ]
    (one,) = matrices([Row(row, None, None, None) for row in made])
    assert [(name, row[0]["best"]) for name, row in one["rows"]] == [
        ("LassoNet", False),
        ("LassoNet, all features", True),
    ]


def test_the_best_is_of_those_on_as_many_rows_as_most():
    made = [
        Summary("paper", "digits", method, 5, "", "network", {1: mean}, {}, (n, n))
        for method, mean, n in (("a", 0.9, 900), ("b", 0.7, 100), ("c", 0.8, 100))
    ]
    (one,) = matrices([Row(row, None, None, None) for row in made])
    assert [name for name, row in one["rows"] if row[0]["best"]] == ["c"]


def test_pixels_have_the_share_of_the_seeds():
    panels = pictures.picked_pixels({"a": {0: 1.0, 5: 0.5}, "b": {1: 0.5}}, (2, 3))
    points = panels[0].collections[0]
    assert points.get_offsets().tolist() == [[0, 0], [2, 1]]
    assert points.get_alpha()[0] == 1 > points.get_alpha()[1]


def test_a_line_against_k_joins_what_was_trained_on_as_many_rows():
    """Sequential Attention as released has all rows at the largest k, and the others fewer."""
    made = [
        Summary("paper", "digits", method, k, "", "network", {1: 0.01 * k}, {}, (n, n))
        for method, k, n in [("a", 50, 900), ("a", 25, 100), ("a", 5, 100), ("b", 50, 100), ("b", 5, 100)]
    ]
    found = list(figures("paper", [Row(one, None, None, None) for one in made], []))
    panel = found[0][2].axes[0]
    assert [line.get_xdata().tolist() for line in panel.lines[:2]] == [[5, 25], [5, 50]]


def seconds_shown(made):
    """{method: (seconds, score)} of the figure of seconds, and its caption."""
    drawn = figures("s", [Row(one, None, None, None) for one in made], [])
    found = {name: (words, one) for name, words, one in drawn}
    words, drawn = found["seconds"]
    return {x.get_label(): (x.get_xdata()[0], x.get_ydata()[0]) for x in drawn.axes[0].lines}, words


def test_seconds_are_shown_where_they_were_taken():
    """Two of three methods have a run for all k, which has its seconds at k = 50: k = 60 would show zeros."""
    made = [
        Summary("s", "digits", method, k, "", "network", {1: k / 100}, {"selecting": taken}, (9, 9))
        for method, at in (("a", {50: 7.0, 60: 0.0}), ("b", {50: 3.0, 60: 0.0}), ("c", {50: 1.0, 60: 2.0}))
        for k, taken in at.items()
    ]
    shown, words = seconds_shown(made)
    assert shown == {"a": (7.0, 0.5), "b": (3.0, 0.5), "c": (1.0, 0.5)}
    assert "at k = 50 against the seconds of the selection, by one thread" in words


def test_seconds_are_of_like_rows_and_with_the_tuning():
    plain = {"a": (9.0, 900, ""), "b": (2.0, 100, ""), "c": (3.0, 100, "")}
    made = [
        Summary("s", "digits", method, 5, setting, "network", {1: 0.5}, {"selecting": taken}, (n, n))
        for method, (taken, n, setting) in [*plain.items(), ("a", (1.0, 100, "own defaults"))]
    ]
    assert seconds_shown(made)[0] == {"a": (1.0, 0.5), "b": (2.0, 0.5), "c": (3.0, 0.5)}
    assert set(seconds_shown(made[:3])[0]) == {"b", "c"}
    alike = dataclasses.replace(made[0], rows=(100, 100))
    assert seconds_shown([alike, *made[1:]])[0]["a"] == (9.0, 0.5)
    tuned = dataclasses.replace(made[1], seconds={"selecting": 2.0, "tuning": 40.0})
    shown, words = seconds_shown([tuned, made[2]])
    assert shown["b"][0] == 42
    assert pictures.study_times([tuned])[0].get_xlabel() == "seconds of the selection, with its tuning"
    assert "with its tuning" in words


def test_gains_begin_at_no_feature():
    made = [
        Summary("gains", "digits", "SA", k, "", "Spearman", {1: 0.5 - k / 100}, {}, (9, 9))
        for k in (0, 9, 19)
    ]
    ((_, words, drawn),) = figures("gains", [Row(row, None, None, None) for row in made], [])
    ax = drawn.axes[0]
    assert (ax.get_xscale(), ax.get_xticks().tolist()) == ("linear", [0, 9, 19])
    assert words.startswith("Rank correlation of marginal gains and attention against k")


def test_pixels_of_all_features_are_not_drawn():
    made = Record(Piece("completion", "digits", "LassoNet", 64, 1), {"mse": 0.5}, tuple(range(64)), {}, 9)
    assert not list(figures("completion", [], [made]))


def test_other_rows_are_no_pairs():
    """A setting that draws other rows is compared with none but its own."""
    made = [
        Record(Piece("switches", "mice", method, 50, seed, setting), {"network": 0.5}, (1,), {}, 9)
        for method, setting in [("SA", "as released"), ("SA", "all"), ("SA", "Adam"), ("OMP", "all")]
        for seed in (1, 2)
    ]
    found = {row.method: row.other and row.other.setting for row in rows(made, (), "SA")}
    assert found == {"SA, as released": None, "SA, all": None, "SA, Adam": "as released", "OMP, all": "all"}
    drawn = {name for name, (protocol, _) in papers.DIFFERENCES.items() if not protocol.by_row}
    assert set(ELSEWHERE["switches"]) == drawn
    assert ELSEWHERE["lassonet"] == (lassonet_tables.RELEASED,)
    assert set(CAVEATS) <= set(ORDER)


def test_pixels_of_each_setting_are_drawn():
    made = [
        Record(Piece("adaptivity", "digits", "SA", 2, 1, setting), {"network": 0.5}, pixels, {}, 9)
        for setting, pixels in [("1", (0, 63)), ("2", (3, 4))]
    ]
    ((name, words, drawn),) = figures("adaptivity", [], made)
    assert name == "pixels-digits"
    assert "picked by SA, k = 2" in words
    assert [ax.get_title() for ax in drawn.axes[:2]] == ["1", "2"]
    other = dataclasses.replace(made[0], piece=dataclasses.replace(made[0].piece, method="OMP"))
    ((_, _, drawn),) = figures("adaptivity", [], [*made, other])
    assert [ax.get_title() for ax in drawn.axes[:3]] == ["SA,\n1", "OMP,\n1", "SA,\n2"]


def test_marks_of_seconds_are_told_apart():
    names = [f"method {i}" for i in range(17)]
    made = [
        Summary("paper", "digits", name, 5, "", "network", {1: 0.5}, {"selecting": 1.0}, (9, 9))
        for name in names
    ]
    (panel,) = pictures.study_times(made)
    marks = [(line.get_color(), line.get_marker(), line.get_fillstyle()) for line in panel.lines]
    assert len(set(marks)) == 17


def test_marks_of_seconds_have_bars_of_one_standard_deviation():
    """Of scores 0.5 ∓ 0.1 it is √0.02; of one seed there is none."""
    made = [
        Summary("paper", "digits", name, 5, "", "network", values, {"selecting": 1.0}, (9, 9))
        for name, values in {"a": {1: 0.4, 2: 0.6}, "b": {1: 0.5}}.items()
    ]
    (panel,) = pictures.study_times(made)
    ends = [[float(y) for _, y in bar.get_segments()[0]] for bar in panel.collections]
    assert ends == [pytest.approx([0.5 - 0.02**0.5, 0.5 + 0.02**0.5]), [0.5, 0.5]]


def test_lines_of_settings_have_what_is_printed_beside_them():
    rows = [
        Summary("adaptivity", "mice", "SA", 64, str(2**i), "network", {1: 0.9, 2: 0.9 + 0.02 * i}, {}, (9, 9))
        for i in range(3)
    ]
    (ax,) = pictures.study_lines(
        rows, lambda one: int(one.setting), "features at a time", "accuracy", printed={"mice": [(1, 0.99)]}
    )
    ours, printed = ax.lines
    assert ours.get_xdata().tolist() == [1, 2, 4]
    assert ours.get_ydata() == pytest.approx([0.9, 0.91, 0.92])
    assert (printed.get_label(), list(printed.get_ydata())) == ("in print", [0.99])
    lengths = [abs(bar[1][1] - bar[0][1]) / 2 for bar in ax.collections[0].get_segments()]
    assert lengths == pytest.approx([one.std for one in rows])


# --- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--study", "tales"], "unknown study 'tales'; the studies are toy"),
        (["--data", "moons"], "unknown data set 'moons'"),
        (["--data", "mice"], "mice: Mice Protein needs SPARSELIN_DATA"),
        (["--methods", "OMP"], "unknown method 'OMP'; the methods are Sequential Attention; random; group"),
        (["--against", "OMP"], "unknown method 'OMP'"),
        (["--hours", "0"], "--hours"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, words):
    result = invoke(tmp_path, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", "").split())
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    line = ["--output", str(tmp_path / "out"), "--plan", "--data", "mice"]
    result = CliRunner().invoke(networks, line, env={FOLDER: str(tmp_path / "dta"), "COLUMNS": "400"})
    assert result.exit_code == 2
    assert f"to name a folder; there is none at {tmp_path / 'dta'}" in result.output


def test_data_sets_stand_in_the_order_of_the_papers(tmp_path):
    """Also where a study has them in another one."""
    kept = Store(tmp_path / "records.jsonl", FULL)
    for data in ("coil20", "mnist", "mice"):
        kept.add(Record(Piece("toy", data, "random", 5, 1), {"network": 0.5}, (), {}, 9), 1.0)
    toy = TOY._replace(data=("coil20", "mnist", "mice"))
    run = report.Run("python -m proofs_checks.experiments.networks", 1.0, 1, False, 0)
    page = report.write(tmp_path, {"toy": toy}, kept, run).read_text("utf-8")
    titles = ["Mice Protein", "MNIST", "COIL-20"]
    assert re.findall(r"<th>(Mice Protein|MNIST|COIL-20)</th>", page)[:3] == titles


def test_a_folder_without_data_sets_gives_a_look_not_hours(tmp_path):
    line = ["--output", str(tmp_path / "out"), "--jobs", "1", "--plan"]
    result = CliRunner().invoke(networks, line, env={FOLDER: str(tmp_path), "COLUMNS": "200"})
    assert said(result).split("\u2500 ")[-1] == said(invoke(tmp_path / "out", "--plan")).split("\u2500 ")[-1]
    full = invoke(tmp_path / "out", "--plan", "--full")
    assert said(full).split("\u2500 ")[-1] != said(result).split("\u2500 ")[-1]


def test_no_piece_has_the_import_of_the_first_optimiser():
    words = """
import sys, torch
from proofs_checks.experiments.networks.pieces import QUICK, Piece, Record
from proofs_checks.experiments.networks.runs import compute
def run(piece, scale):
    before = set(sys.modules)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    return Record(piece, {"new": len(set(sys.modules) - before)}, (), {}, 1)
print(compute(run, Piece("toy", "digits", "random", 1, 1), QUICK).outcome.scores["new"] < 50)
"""
    found = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"


def test_a_folder_that_may_not_be_written_into(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    result = invoke(tmp_path, *DIGITS)
    assert (result.exit_code, CALLS) == (2, [])
    assert "nothing can be written into" in said(result)


def test_a_method_with_a_comma_in_its_name(tmp_path):
    result = invoke(tmp_path, *DIGITS, "--methods", "group LASSO, λ fixed,random")
    assert result.exit_code == 0, result.output
    assert {key.split("|")[2] for key in CALLS} == {"group LASSO, λ fixed", "random"}
    known = ("group LASSO", "group LASSO, λ fixed")
    assert listed("group LASSO, group LASSO, λ fixed", known, ("method", "methods"), "") == known


def test_the_folder_of_another_report_is_refused(tmp_path):
    (tmp_path / "results.json").write_text('{"run": {"command": "sparselin verify"}}', encoding="utf-8")
    assert "a report of `sparselin verify`" in said(invoke(tmp_path)).replace("│ ", "")


def test_no_file_of_another_is_overwritten(tmp_path, drawn, monkeypatch):
    """None that the page has, in an earlier report or in its place; and before a piece is computed."""
    first = tmp_path / "first"
    assert invoke(first, *DIGITS, "--methods", "random").exit_code == 0
    names = {path.name for path in first.iterdir()} - {"records.jsonl"}
    assert any(name.endswith(".png") for name in names)
    CALLS.clear()
    for name in names:
        for kind in ("another", "link"):
            folder, mine = tmp_path / f"{kind}-{name}", tmp_path / "mine"
            shutil.copytree(first, folder)
            (folder / name).unlink()
            mine.write_bytes(b"precious")
            (folder / name).symlink_to(mine) if kind == "link" else (folder / name).write_bytes(b"precious")
            result = invoke(folder, *DIGITS)
            assert result.exit_code == 2
            assert f"{name} of something else" in said(result).replace("│ ", "")
            assert (folder / name).read_bytes() == mine.read_bytes() == b"precious"
    assert not CALLS
    assert invoke(first, *DIGITS).exit_code == 0


@pytest.mark.parametrize(
    "data", [b"hello", b'{"a": 1}', b'{"records": []}', b"\xff", b"\n", b'{"a": 1}\n{"record":']
)
def test_a_file_of_another_with_the_name_of_the_records(tmp_path, data):
    """It has no end of line, as a line that was cut off: its beginning tells."""
    (tmp_path / "records.jsonl").write_bytes(data)
    result = invoke(tmp_path, *DIGITS)
    assert result.exit_code == 2
    assert "is not one that `make networks` wrote" in said(result).replace("│ ", "")
    assert (tmp_path / "records.jsonl").read_bytes() == data
    assert not CALLS


def test_pieces_in_words():
    assert in_words(Piece("masks", "mice", "SA", 50, 1, "l1")) == "masks: SA on mice, k = 50, l1, seed 1"
