"""Tests of `make networks`: records are kept, nothing is computed twice, the page has their numbers."""

import dataclasses
import json
import os
import re
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

from proofs_checks.experiments.networks import pieces, report, studies
from proofs_checks.experiments.networks.command import networks
from proofs_checks.experiments.networks.data import table
from proofs_checks.experiments.networks.pieces import (
    QUICK,
    Failure,
    Piece,
    Record,
    Store,
    Study,
    compute,
    group_by_run,
    plan_pieces,
)
from sparselin.datasets import FOLDER
from sparselin.studies.common.command import parse_names

METHODS = ("Sequential Attention", "random", "group LASSO, λ fixed")
CALLS = []  # the keys of the pieces that were computed in this process


def toy_pieces(names, scale):
    for seed in range(1, scale.seeds + 1):
        for data in names:
            for method in METHODS:
                for k in reversed(scale.sizes):
                    yield Piece("toy", data, method, k, seed)


def nearest_mean(piece, scale):
    """Select random features; the score is the share of rows that are nearest to the mean of their class."""
    CALLS.append(piece.key)
    found = table(piece.data)
    rng = np.random.default_rng([piece.seed, METHODS.index(piece.method)])
    order = rng.permutation(found.X.shape[1])[: piece.k]
    X = found.X[:, order]
    means = np.array([X[found.y == c].mean(axis=0) for c in range(found.classes)])
    nearest = np.linalg.norm(X[:, None] - means, axis=2).argmin(axis=1)
    score = np.float32(np.mean(nearest == found.y))
    return Record(piece, {"network": score}, tuple(order.tolist()), {"selecting": 0.1}, len(X), "a toy")


TOY = Study("toy", "A toy", "tests", ("digits", "breast_cancer"), toy_pieces, nearest_mean)


def with_run(monkeypatch, run):
    monkeypatch.setattr(studies, "STUDIES", {"toy": TOY._replace(run=run)})


@pytest.fixture(autouse=True)
def toy(monkeypatch, request):
    """Install the toy study, without figures unless the test uses `drawn`, because figures take a second."""
    CALLS.clear()
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(report, "figures", lambda *arguments: ())
    with_run(monkeypatch, nearest_mean)


@pytest.fixture
def drawn():
    """Draw the figures of the page."""


def invoke(folder, *arguments, code=0, data=None):
    """Run the command with the data sets of the folder `data`; check that it exits with this code."""
    line = ["--output", str(folder), "--jobs", "1", *arguments]
    result = CliRunner().invoke(networks, line, env={FOLDER: data, "COLUMNS": "400"})
    assert result.exit_code == code, result.output
    return result


def said(result):
    return " ".join(result.output.replace("│ ", "").split())


def text(folder, name="index.html"):
    return (folder / name).read_text(encoding="utf-8")


def lines(folder):
    return text(folder, "records.jsonl").splitlines()


DIGITS = ("--data", "digits", "--seeds", "2")
ALL = 2 * 3 * 2  # seeds, methods, k of QUICK


# --- one run after another -------------------------------------------------------------------------------


def test_a_run_stores_its_records_and_the_next_computes_nothing(tmp_path):
    invoke(tmp_path, *DIGITS)
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL
    first = text(tmp_path, "results.json")
    assert "All pieces are done." in said(invoke(tmp_path, *DIGITS))
    assert len(CALLS) == len(lines(tmp_path)) == ALL
    assert json.loads(first)["rows"] == json.loads(text(tmp_path, "results.json"))["rows"]


def test_an_interrupt_keeps_what_was_done_and_the_next_run_goes_on(tmp_path, monkeypatch):
    def interrupted(piece, scale):
        if len(CALLS) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return nearest_mean(piece, scale)

    with_run(monkeypatch, interrupted)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    result = invoke(tmp_path, *DIGITS, code=130)
    assert len(lines(tmp_path)) == 5
    assert f"{ALL - 5} pieces are left; 5 records are kept" in said(result)
    assert "Interrupted:" in text(tmp_path)
    assert f"{ALL - 5} are left:" in text(tmp_path)
    command = re.search(r"To resume: python -m [\w.]+ (.*)", result.output).group(1).split()
    assert sorted(command) == sorted([*DIGITS, "--jobs", "1", "--output", str(tmp_path)])
    with_run(monkeypatch, nearest_mean)
    assert CliRunner().invoke(networks, command, env={FOLDER: None}).exit_code == 0
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL


def test_an_interrupt_that_a_path_would_take_for_its_end_makes_no_record(monkeypatch):
    """`lassonet_path` returns an unfinished path at KeyboardInterrupt."""

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
    words = said(invoke(tmp_path, *DIGITS, "--hours", "1e-9", code=1))
    assert f"{ALL} pieces are left; 0 records are kept" in words
    assert not CALLS


def test_a_failed_piece_is_kept_in_words_and_tried_again(tmp_path, monkeypatch):
    def fails(piece, scale):
        if piece.method == "random" and piece.seed == 2:
            raise ValueError("no features by chance")
        if piece.method == "random":
            return dataclasses.replace(nearest_mean(piece, scale), scores={"network": float("nan")})
        return nearest_mean(piece, scale)

    with_run(monkeypatch, fails)
    words = said(invoke(tmp_path, *DIGITS, code=1))
    first = "toy: random on digits, k = 10, seed 2: ValueError: no features"
    assert f"Failed: 2 pieces, the first {first}" in words
    assert "the score 'network' is nan" in words
    assert len(lines(tmp_path)) == ALL
    assert "ValueError: no features by chance" in text(tmp_path)
    plan = invoke(tmp_path, *DIGITS, "--plan")
    assert re.search(r"toy +digits +12 +8 +4 +4\s", plan.output), plan.output
    with_run(monkeypatch, nearest_mean)
    CALLS.clear()
    invoke(tmp_path, *DIGITS)
    assert len(CALLS) == 4
    assert all("|random|" in key for key in CALLS)
    assert "no features" not in text(tmp_path)


def test_a_data_file_that_goes_away_fails_its_pieces_only(tmp_path, monkeypatch):
    def gone(piece, scale):
        if piece.data == "breast_cancer":
            raise FileNotFoundError("the folder has no breast.csv")
        return nearest_mean(piece, scale)

    with_run(monkeypatch, gone)
    result = invoke(tmp_path, "--seeds", "1", code=1)
    assert len(Store(tmp_path / "records.jsonl", QUICK).records) == 6
    assert "Failed: 6 pieces, the first toy: Sequential Attention on breast_cancer" in said(result)


# --- the file --------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_dropped_and_its_piece_computed(tmp_path):
    invoke(tmp_path, *DIGITS)
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    CALLS.clear()
    assert "is incomplete; its piece will be computed again" in said(invoke(tmp_path, *DIGITS))
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
    words = said(invoke(tmp_path, *DIGITS, code=2))
    assert "line 3 was not written by `make networks`" in words
    assert path.read_bytes() == before


def test_records_of_another_scale_are_told_apart_and_kept(tmp_path):
    invoke(tmp_path, *DIGITS, "--methods", "random", "--seeds", "1")
    result = invoke(tmp_path, *DIGITS, "--methods", "random", "--rows", "500")
    assert "also has 2 records of another scale" in said(result)
    assert len(lines(tmp_path)) == 2 + 4
    assert len(CALLS) == 6
    invoke(tmp_path, "--data", "digits", "--methods", "random", "--seeds", "3", "--rows", "500")
    assert len(CALLS) == 8  # the number of seeds is no part of the scale


def test_a_full_disk_keeps_what_was_stored(tmp_path, monkeypatch):
    """The sixth line is written in part, and nothing after it."""
    written = []

    whole = pieces._write

    def full(file, line):
        def write(data):
            written.append(data)
            if len(written) > 6:
                raise OSError(28, "No space left on device")
            return file.write(data if len(written) < 6 else data[:30])

        whole(types.SimpleNamespace(write=write, fileno=file.fileno), line)

    monkeypatch.setattr(pieces, "_write", full)
    result = invoke(tmp_path, *DIGITS, code=1)
    assert "A record could not be written ([Errno 28] No space left on device)" in said(result)
    assert "5 records are kept" in said(result)
    assert "Free disk space, then resume: python -m proofs_checks.experiments.networks" in said(result)
    stored = (tmp_path / "records.jsonl").read_bytes()
    assert stored.count(b"\n") == 5
    assert stored.endswith(b"\n")
    monkeypatch.setattr(pieces, "_write", whole)
    invoke(tmp_path, *DIGITS)
    assert len(lines(tmp_path)) == ALL


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    invoke(tmp_path, *DIGITS, "--methods", "random")
    old = [text(tmp_path, name) for name in ("index.html", "results.json")]

    def full(file):
        raise OSError(28, "No space left on device")

    without_room = types.SimpleNamespace(**vars(os) | {"fsync": full})
    monkeypatch.setattr("sparselin.studies.common.folder.os", without_room)
    assert "the page cannot be written" in said(invoke(tmp_path, *DIGITS, code=1))
    assert old == [text(tmp_path, name) for name in ("index.html", "results.json")]
    assert not list(tmp_path.glob(".*part"))
    assert len(lines(tmp_path)) == ALL


def test_a_second_run_in_the_folder_says_that_there_is_one(tmp_path, monkeypatch):
    """The other run has written lines before the first record of this run."""
    whole = Store.add

    def late(self, outcome, seconds):
        if not self.records:
            with self.path.open("ab") as file:
                file.write(b'{"record":of the other run')
        return whole(self, outcome, seconds)

    monkeypatch.setattr(Store, "add", late)
    words = said(invoke(tmp_path, *DIGITS, code=1))
    assert "another run writes to this file" in words
    assert (tmp_path / "records.jsonl").read_bytes() == b'{"record":of the other run'
    assert "Let it end, then resume: python -m proofs_checks.experiments.networks" in words


def test_lines_are_read_as_they_were_written(tmp_path):
    """A failure is kept until there is a record; a record is kept for good."""
    piece = Piece("toy", "digits", "random", 5, 1, "softmax")
    record, failure = nearest_mean(piece, QUICK), Failure(piece, "ValueError: λ")
    path = tmp_path / "records.jsonl"
    for outcome in (failure, record, failure):
        Store(path, QUICK).add(outcome, 1.5)
        found = Store(path, QUICK)
        if outcome is failure and len(lines(tmp_path)) == 1:
            assert (found.failures, found.records) == ({piece.key: failure}, {})
    assert (found.failures, found.seconds) == ({}, {piece.key: 1.5})
    assert found.records == {piece.key: dataclasses.replace(record, scores=found.records[piece.key].scores)}
    assert found.records[piece.key].scores == pytest.approx(record.scores)
    assert len(lines(tmp_path)) == 3


# --- what would run ---------------------------------------------------------------------------------


def test_the_plan_runs_nothing(tmp_path):
    folder = tmp_path / "new"
    result = invoke(folder, "--plan")
    assert not folder.exists()
    assert not CALLS
    assert "Using digits and breast_cancer instead" in said(result)
    assert re.search(r"toy +digits +12 +0 +0 +12", result.output)
    assert "24 pieces are left" in said(result)


def test_groups_are_pieces_that_differ_in_k():
    all_of_them = plan_pieces([TOY], ["digits"], QUICK)
    groups = group_by_run(all_of_them)
    assert [len(group) for group in groups] == [2] * 6
    assert sorted(p for group in groups for p in group) == sorted(all_of_them)


# --- processes -------------------------------------------------------------------------------------------


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
    line, output = [sys.executable, str(script), str(tmp_path)], subprocess.PIPE
    process = subprocess.Popen(line, stdout=output, stderr=subprocess.STDOUT, text=True, env=environment)
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


# --- figures ---------------------------------------------------------------------------------------------


def test_the_figures_of_a_run(tmp_path, drawn):
    """There are three figures with captions: accuracy against k, accuracy against seconds, the pixels."""
    invoke(tmp_path, "--data", "digits", "--seeds", "1")
    names = ("toy-k-network", "toy-seconds", "toy-pixels-digits")
    assert {path.name for path in tmp_path.glob("*.png")} == {f"{name}.png" for name in names}
    page = text(tmp_path)
    assert page.count("data:image/svg+xml;base64,") == 3
    assert "digits: the pixels picked, k = 10" in page
    assert "group LASSO, λ fixed" in page


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
    assert words in said(invoke(tmp_path, *arguments, code=2))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    missing = tmp_path / "dta"
    result = invoke(tmp_path / "out", "--plan", "--data", "mice", code=2, data=str(missing))
    assert f"to name a folder; there is none at {missing}" in result.output


def test_a_folder_without_data_sets_gives_a_look_not_hours(tmp_path):
    def rows(*arguments, **options):
        return said(invoke(tmp_path / "out", "--plan", *arguments, **options)).split("\u2500 ")[-1]

    assert rows("--full") != rows() == rows(data=str(tmp_path))


def test_no_piece_has_the_import_of_the_first_optimiser():
    words = """
import sys, torch
from proofs_checks.experiments.networks.pieces import QUICK, Piece, Record, compute
def run(piece, scale):
    before = set(sys.modules)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    return Record(piece, {"new": len(set(sys.modules) - before)}, (), {}, 1)
print(compute(run, Piece("toy", "digits", "random", 1, 1), QUICK)[0].scores["new"] < 50)
"""
    found = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"


def test_a_folder_that_may_not_be_written_into(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
    assert "cannot write into" in said(invoke(tmp_path, *DIGITS, code=2))
    assert not CALLS


def test_a_method_with_a_comma_in_its_name(tmp_path):
    invoke(tmp_path, *DIGITS, "--methods", "group LASSO, λ fixed,random")
    assert {key.split("|")[2] for key in CALLS} == {"group LASSO, λ fixed", "random"}
    known = ("group LASSO", "group LASSO, λ fixed")
    assert parse_names("group LASSO, group LASSO, λ fixed", known, ("method", "methods"), "") == known


def test_the_folder_of_another_report_is_refused(tmp_path):
    (tmp_path / "results.json").write_text('{"run": {"command": "sparselin verify"}}', encoding="utf-8")
    assert "a report of `sparselin verify`" in said(invoke(tmp_path, code=2))


@pytest.mark.parametrize("name", ["index.html", "results.json", "toy-seconds.png"])
def test_no_file_of_another_is_overwritten(tmp_path, drawn, name):
    """The command stops before it computes a piece. (tests/test_reports.py has all kinds of files.)"""
    invoke(tmp_path, *DIGITS, "--methods", "random,group LASSO, λ fixed")
    CALLS.clear()
    (tmp_path / name).write_bytes(b"precious")
    assert f"would overwrite {name}" in said(invoke(tmp_path, *DIGITS, code=2))
    assert not CALLS
    assert (tmp_path / name).read_bytes() == b"precious"


@pytest.mark.parametrize(
    "data", [b"hello", b'{"a": 1}', b'{"records": []}', b"\xff", b"\n", b'{"a": 1}\n{"record":']
)
def test_a_file_of_another_with_the_name_of_the_records(tmp_path, data):
    """A line without an end of line is recognised by its beginning."""
    (tmp_path / "records.jsonl").write_bytes(data)
    assert "was not written by `make networks`" in said(invoke(tmp_path, *DIGITS, code=2))
    assert (tmp_path / "records.jsonl").read_bytes() == data
    assert not CALLS


def test_pieces_in_words():
    assert str(Piece("masks", "mice", "SA", 50, 1, "l1")) == "masks: SA on mice, k = 50, l1, seed 1"
