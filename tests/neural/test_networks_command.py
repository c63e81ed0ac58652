"""Tests of `make networks`: records are kept, nothing is computed twice, the page has their numbers."""

import contextlib
import dataclasses
import itertools
import json
import os
import re
import signal
import time
import types

import numpy as np
import pytest
from click.testing import CliRunner

from proofs_checks.experiments.networks import pages, pieces, studies
from proofs_checks.experiments.networks.command import networks
from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.pieces import QUICK, Failure, Piece, Record, Store, Study, compute
from sparselin.ensembles.datasets import FOLDER

METHODS = ("Sequential Attention", "random", "group LASSO, λ fixed")
CALLS = []  # the keys of the pieces that were computed in this process
DIGITS = ("--data", "digits", "--seeds", "2")
RANDOM = (*DIGITS, "--methods", "random")
ALL = 2 * 3 * 2  # seeds, methods, k of QUICK


def toy_pieces(names, scale):
    draws = itertools.product(range(1, scale.seeds + 1), names, METHODS, reversed(scale.sizes))
    return (Piece(study="toy", data=data, method=method, k=k, seed=seed) for seed, data, method, k in draws)


def at_random(piece, scale):
    """Select random features; the score is random too."""
    CALLS.append(piece.key)
    rng = np.random.default_rng([piece.seed, METHODS.index(piece.method)])
    order = tuple(rng.permutation(FORMS[piece.data].d)[: piece.k].tolist())
    return Record(
        piece=piece,
        scores={"network": np.float32(rng.random())},
        support=order,
        seconds={"selecting": 0.1},
        rows=9,
        note="a toy",
    )


@pytest.fixture(autouse=True)
def run(tmp_path, monkeypatch):
    """Return a function that runs the command, checks its exit code and returns what it prints.

    It has the toy study, and draws no figures, which take a second.
    """
    CALLS.clear()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(pages, "draw_study", lambda *arguments: ())

    def call(*arguments, code=0, data=None, compute=at_random, folder=tmp_path):
        toy = Study(
            name="toy",
            title="A toy",
            source="tests",
            data=("digits", "breast_cancer"),
            pieces=toy_pieces,
            run=compute,
        )
        monkeypatch.setattr(studies, "STUDIES", {"toy": toy})
        line = ["--output", str(folder), "--jobs", "1", *arguments]
        result = CliRunner().invoke(networks, line, env={FOLDER: data, "COLUMNS": "400"})
        assert result.exit_code == code, result.output
        return " ".join(result.output.replace("│ ", "").split())

    return call


def text(folder, name="index.html"):
    return (folder / name).read_text(encoding="utf-8")


def lines(folder):
    return text(folder, "records.jsonl").splitlines()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)


# --- one run after another -------------------------------------------------------------------------------


def test_a_run_stores_its_records_and_the_next_computes_nothing(tmp_path, run):
    run(*DIGITS)
    first = json.loads(text(tmp_path, "results.json"))
    assert "All pieces are done." in run(*DIGITS)
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL
    assert first["rows"] == json.loads(text(tmp_path, "results.json"))["rows"]


def test_an_interrupt_keeps_what_was_done_and_the_next_run_goes_on(tmp_path, run):
    words = run(
        *DIGITS, code=130, compute=lambda *given: interrupt() if len(CALLS) == 5 else at_random(*given)
    )
    assert len(lines(tmp_path)) == 5
    assert f"{ALL - 5} pieces are left; 5 records are kept" in words
    assert "Interrupted:" in text(tmp_path)
    assert f"{ALL - 5} are left:" in text(tmp_path)
    command = re.search(r"To resume: python -m [\w.]+ (.*?) [A-Z]", f"{words} X")[1].split()
    assert sorted(command) == sorted([*DIGITS, "--jobs", "1", "--output", str(tmp_path)])
    run(*command)
    assert len(CALLS) == len(set(CALLS)) == len(lines(tmp_path)) == ALL


def test_an_interrupt_that_a_path_would_take_for_its_end_makes_no_record():
    """`lassonet_path` returns an unfinished path at KeyboardInterrupt."""

    def path(piece, scale):
        with contextlib.suppress(KeyboardInterrupt):
            interrupt()
        return at_random(piece, scale)

    with pytest.raises(KeyboardInterrupt):
        compute(path, Piece(study="toy", data="digits", method="random", k=5, seed=1), QUICK)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not CALLS


def test_after_its_hours_no_piece_begins(run):
    assert f"{ALL} pieces are left; 0 records are kept" in run(*DIGITS, "--hours", "1e-9", code=1)
    assert not CALLS


def test_a_failed_piece_is_kept_in_words_and_tried_again(tmp_path, run):
    def fails(piece, scale):
        made = at_random(piece, scale)
        if piece.method == "random" and piece.seed == 2:
            raise ValueError("no features by chance")
        return dataclasses.replace(made, scores={"network": np.nan}) if piece.method == "random" else made

    words = run(*DIGITS, code=1, compute=fails)
    assert (
        "Failed: 2 pieces, the first toy: random on digits, k = 10, seed 2: ValueError: no features" in words
    )
    assert "the score 'network' is nan" in words
    assert len(lines(tmp_path)) == ALL
    assert "ValueError: no features by chance" in text(tmp_path)
    assert "toy digits 12 8 4 4 " in run(*DIGITS, "--plan")
    CALLS.clear()
    run(*DIGITS)
    assert ["|random|" in key for key in CALLS] == [True] * 4
    assert "no features" not in text(tmp_path)


# --- the file --------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_dropped_and_its_piece_computed(tmp_path, run):
    def kept():
        return [{**json.loads(line), "seconds": 0} for line in lines(tmp_path)]

    run(*DIGITS)
    whole, path = kept(), tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    CALLS.clear()
    assert "is incomplete; its piece will be computed again" in run(*DIGITS)
    assert len(CALLS) == 1
    assert kept() == whole


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize(
    "damage", [b'{"record": 5}\n', b"\n", b"not JSON", b'{"failure":{"piece":{}}}\n', b"[1]\n", b"\xff"]
)
def test_a_line_of_another_is_named_and_kept(tmp_path, run, before, damage):
    """A line without an end of line is recognised by its beginning."""
    run(*RANDOM)
    CALLS.clear()
    path = tmp_path / "records.jsonl"
    data = b"".join(path.read_bytes().splitlines(keepends=True)[:before]) + damage
    path.write_bytes(data)
    assert f"line {before + 1} was not written by `make networks`" in run(*DIGITS, code=2)
    assert path.read_bytes() == data
    assert not CALLS


def test_records_of_another_scale_are_told_apart_and_kept(tmp_path, run):
    run(*RANDOM, "--seeds", "1")
    assert "also has 2 records of another scale" in run(*RANDOM, "--rows", "500")
    assert len(lines(tmp_path)) == len(CALLS) == 2 + 4
    run(*RANDOM, "--seeds", "3", "--rows", "500")
    assert len(CALLS) == 8  # the number of seeds is no part of the scale


def test_a_full_disk_keeps_what_was_stored(tmp_path, run, monkeypatch):
    """The sixth line is written in part, and nothing after it."""
    written, whole = itertools.count(1), pieces._write

    def full(file, line):
        def write(data):
            number = next(written)
            if number > 6:
                raise OSError(28, "No space left on device")
            return file.write(data if number < 6 else data[:30])

        whole(types.SimpleNamespace(write=write, fileno=file.fileno), line)

    monkeypatch.setattr(pieces, "_write", full)
    words = run(*DIGITS, code=1)
    assert "A record could not be written ([Errno 28] No space left on device); 5 records are kept" in words
    assert "Free disk space, then resume: python -m proofs_checks.experiments.networks" in words
    assert len(lines(tmp_path)) == text(tmp_path, "records.jsonl").count("\n") == 5
    monkeypatch.setattr(pieces, "_write", whole)
    run(*DIGITS)
    assert len(lines(tmp_path)) == ALL


def test_a_second_run_in_the_folder_says_that_there_is_one(tmp_path, run):
    """The other run has written a line before the first record of this run."""
    path = tmp_path / "records.jsonl"
    words = run(
        *DIGITS, code=1, compute=lambda *given: (path.write_bytes(b'{"record":other'), at_random(*given))[1]
    )
    assert "another run writes to this file" in words
    assert path.read_bytes() == b'{"record":other'
    assert "Let it end, then resume: python -m proofs_checks.experiments.networks" in words


def test_lines_are_read_as_they_were_written(tmp_path):
    """A failure is kept until there is a record; a record is kept for good."""
    piece, path = (
        Piece(study="toy", data="digits", method="random", k=5, seed=1, setting="softmax"),
        tmp_path / "records.jsonl",
    )
    record, failure = (
        Record(piece=piece, scores={"network": 0.5}, support=(3, 1), seconds={}, rows=9),
        Failure(piece, "ValueError: λ"),
    )
    Store(path, QUICK).add(failure, 1.5)
    assert Store(path, QUICK).failures == {piece.key: failure}
    for outcome in (record, failure):
        Store(path, QUICK).add(outcome, 1.5)
        found = Store(path, QUICK)
        assert (found.failures, found.seconds, found.records) == ({}, {piece.key: 1.5}, {piece.key: record})
    assert len(lines(tmp_path)) == 3


# --- arguments and figures -------------------------------------------------------------------------------


def test_the_plan_runs_nothing(tmp_path, run):
    """A folder without data sets gives a look, not hours."""
    folder = tmp_path / "new"
    words, full = run("--plan", folder=folder), run("--plan", "--full", folder=folder)
    other = run("--plan", folder=folder, data=str(tmp_path))
    assert not folder.exists()
    assert not CALLS
    assert "Using digits and breast_cancer instead" in words
    assert "toy digits 12 0 0 12 " in words
    assert words.split("─ ")[-1] == other.split("─ ")[-1] != full.split("─ ")[-1]


def test_wrong_arguments(tmp_path, run):
    for arguments, words in {
        ("--study", "tales"): "unknown study 'tales'; the studies are toy",
        ("--data", "moons"): "unknown data set 'moons'",
        ("--data", "mice"): "mice: Mice Protein needs SPARSELIN_DATA",
        ("--methods", "OMP"): "unknown method 'OMP'; the methods are Sequential Attention; random; group",
        ("--against", "OMP"): "unknown method 'OMP'",
        ("--hours", "0"): "--hours",
    }.items():
        assert words in run(*arguments, code=2)
    assert not list(tmp_path.iterdir())


def test_no_piece_has_the_import_of_the_first_optimiser(monkeypatch):
    imported = []
    monkeypatch.setattr(pieces.importlib, "import_module", imported.append)
    compute(
        lambda *_: imported.append("run"),
        Piece(study="toy", data="digits", method="random", k=1, seed=1),
        QUICK,
    )
    assert imported == ["torch._dynamo", "run"]
