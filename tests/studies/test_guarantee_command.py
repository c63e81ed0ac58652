"""`sparselin guarantee`: what it writes, that it repeats itself, and that it fails on a broken promise."""

import csv
import dataclasses
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke

import sparselin as sl
from sparselin import plots
from sparselin.parallel.processes import run_jobs
from sparselin.studies.common.group import cli
from sparselin.studies.guarantees import command, figures, large, summary
from sparselin.studies.guarantees.large import AFTER, BEFORE, BEST, METHODS, RECOVERY, examine_large
from sparselin.studies.guarantees.tasks import (
    AlgorithmOutcome,
    DesignTask,
    GuaranteeRecord,
    GuaranteeSettings,
    draw,
    examine,
    examine_batch,
    record,
)
from sparselin.studies.guarantees.words import Findings, headline
from sparselin.studies.guarantees.worst import Search, Worst, searches, worst_design

SMALL = ["guarantee", "--quick", "--designs=24", "--k=2", "--jobs=2", "--ensembles=ar1,duplicated,diabetes"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    output = tmp_path_factory.mktemp("guarantee")
    return CliRunner().invoke(cli, [*SMALL, "--output", str(output)]), output


def test_the_report_answers_both_questions(run):
    result, output = run
    assert result.exit_code == 0, result.output
    assert "On 24 designs, " in result.output
    assert "All guarantees hold." in result.output
    page = (output / "index.html").read_text()
    for words in (
        "How far from the best subset am I?",
        "What is guaranteed?",
        "How bad can it be?",
        "of their factors exceed 0.1",
        "X =\n[[",
    ):
        assert words in page
    figures = {path.stem for path in output.glob("*.png")}
    assert figures == {"achieved", "sweep-ar1", "real", "worst", "worst-designs"}
    assert page.count("data:image/svg+xml") == len(figures)


def test_the_tables_agree_with_the_page(run):
    _, output = run
    results = json.loads((output / "results.json").read_text())
    with (output / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    checked = [row for row in rows if row["study"] == "check" and row["algorithm"] == "OMP"]
    assert len(checked) == 24
    path = next(r for r in results["promises"] if (r["algorithm"], r["name"]) == ("OMP", "along the path"))
    assert path["applies"] == 24
    factors = np.array([float(row["along the path"]) for row in checked])
    assert path["median"] == pytest.approx(np.median(factors))
    assert path["above"] == pytest.approx((factors > 0.1).mean())
    for row in (row for row in rows if row["along the path"]):
        assert float(row["ratio_upper"]) >= float(row["along the path"])
    assert results["violations"] == []


def test_worst_designs_are_saved_and_come_again(run):
    _, output = run
    results = json.loads((output / "results.json").read_text())
    for entry in results["worst"]:
        s = entry["search"]
        name = f"worst-{s['algorithm']}-n{s['n']}-d{s['d']}-k{s['k']}-floor{s['floor']:g}.npz"
        with np.load(output / name) as saved:
            X, y, k = saved["X"], saved["y"], int(saved["k"])
        assert np.allclose(np.linalg.norm(X, axis=0), 1)
        method = sl.omp if s["algorithm"] == "omp" else sl.ols
        assert method(X, y, k).support.tolist() == entry["support"]
        best = sl.best_subset(X, y, k).r2
        left = method(X, y, k).residual_norm[-1] ** 2 / (y @ y)
        assert (1 - left) / best == pytest.approx(entry["ratio"], rel=1e-6)
        assert sl.sparse_eigenvalues(X, k).upper > sl.sparse_eigenvalues(X, k).lower >= s["floor"] - 1e-9
        assert "certificate after the run" in invoke("guarantee", "--design", output / name)


def test_the_search_finds_what_is_bad():
    found = worst_design(Search("omp", 3, 5, 2, 0.1), restarts=32, rounds=200, seed=0)
    again = worst_design(Search("omp", 3, 5, 2, 0.1), restarts=32, rounds=200, seed=0)
    assert (found.X == again.X).all()
    # by chance OMP does far better: 1 % of Gaussian designs of this size are below 0.5
    assert found.ratio < 0.15
    assert found.least >= 0.1 - 1e-9
    assert found.promises["along the path"] <= found.ratio


def test_a_search_that_finds_nothing_says_so():
    # three lines in the plane have a pair at 60° or less: λ_min(C, 2) ≤ ½
    assert worst_design(Search("omp", 2, 3, 2, 0.9), restarts=4, rounds=5, seed=0) is None


def test_designs_depend_on_their_names_alone():
    task = DesignTask(study="check", ensemble="ar1", index=5, k=2)
    for a, b in zip(draw(task, 3), draw(dataclasses.replace(task, k=2), 3), strict=True):
        assert (a == b).all()
    assert not np.array_equal(draw(task, 3)[1], draw(task, 4)[1])
    swept = [
        DesignTask(study="sweep", ensemble="ar1", index=0, k=k, varies="k", rho=0.5, snr=1.0) for k in (1, 3)
    ]
    assert (draw(swept[0], 0)[0] == draw(swept[1], 0)[0]).all()
    # signal-to-noise ratio 100: most of y is explained by the five features
    X, y = draw(
        DesignTask(study="sweep", ensemble="equicorrelated", index=1, k=4, varies="snr", rho=0.5, snr=100.0),
        0,
    )
    assert sl.best_subset(X, y, 5).r2 > 0.97


def test_processes_change_nothing(run):
    """The run has two; here is one."""
    with (run[1] / "results.csv").open() as file:
        stored = [row for row in csv.DictReader(file) if row["study"] == "check"]
    settings = GuaranteeSettings(families=("ar1", "duplicated"), designs=24, k=2)
    tasks = [task for task in settings.tasks() if task.study == "check"]
    (records,) = run_jobs(iter([(examine_batch, (tasks, settings.seed))]), 1)
    here = list(csv.DictReader(io.StringIO(summary.table(records).csv().decode(), newline="")))
    assert [{name: row[name] for name in here[0]} for row in stored] == here


def broken(task):
    promises = {"submodularity ratio": 0.6, "along the path": None}
    outcome = AlgorithmOutcome("OMP", (0.4, 0.5), promises, ("submodularity ratio",))
    return GuaranteeRecord(task=task, n=10, d=4, best=(0.3, 0.3), exact=True, outcomes=(outcome,))


def test_a_broken_promise_fails_the_run(tmp_path, monkeypatch):
    def planted(jobs, count, prepare):
        for function, arguments in jobs:
            if function is command.examine_batch:
                yield [broken(task) for task in arguments[0]]

    monkeypatch.setattr(command, "try_jobs", planted)
    arguments = ["guarantee", "--quick", "--designs=3", "--ensembles=gaussian", f"--output={tmp_path}"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 1
    assert "violated" in result.output
    assert "Violated: none." not in result.output
    saved = sorted(tmp_path.glob("violation-check-gaussian-*.npz"))
    assert len(saved) == 3
    assert f"--design {saved[0]}" in result.output.replace("\n", "")
    with np.load(saved[0]) as design:
        X, _ = draw(DesignTask(study="check", ensemble="gaussian", index=0, k=1), 0)
        assert (design["X"] == X).all()


def test_a_wrong_bound_is_seen_as_violated(monkeypatch):
    """λ_min and γ left out of the promise: `examine` sees it."""
    from sparselin.guarantees import promises

    monkeypatch.setattr(promises, "saturate", lambda exponent: np.full(2, 0.9999))
    tasks = [DesignTask(study="check", ensemble="ar1", index=i, k=2) for i in range(40)]
    assert any(examine(task, 0).violated for task in tasks)


def test_only_certified_promises_whose_hypotheses_hold_count():
    X, y = draw(DesignTask(study="check", ensemble="small_integers", index=0, k=2), 0)
    found = sl.guarantee_bounds(X, y, 2)
    promises = dict(
        examine(DesignTask(study="check", ensemble="small_integers", index=0, k=2), 0).outcomes[0].promises
    )
    assert promises["submodularity ratio"] is None
    wide = dataclasses.replace(found.of("OMP")[2], lower=0.2, upper=0.4)
    kept = record(
        DesignTask(study="check", ensemble="small_integers", index=0, k=2),
        X,
        dataclasses.replace(found, bounds=(wide,)),
    )
    assert kept.outcomes[0].promises == {wide.name: 0.2}


def test_interruption_keeps_what_was_done(tmp_path, monkeypatch):
    def interrupted(jobs, count, prepare):
        for i, (function, arguments) in enumerate(jobs):
            if i == 3:
                raise KeyboardInterrupt
            yield function(*arguments)

    monkeypatch.setattr(command, "try_jobs", interrupted)
    invoke(*SMALL, "--output", tmp_path, exit_code=130)
    assert "Interrupted" in (tmp_path / "index.html").read_text()


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to one process")
def test_ctrl_c_in_the_middle(tmp_path):
    arguments = f"{sys.executable} -m sparselin guarantee --designs 100000 --ensembles gaussian".split()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments += ["--jobs", "2", "--quick", "--output", str(tmp_path / "report")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not (tmp_path / "report").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        printed, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, printed
    assert "Interrupted" in printed


BAD_OPTIONS = [
    (["--ensembles", "nonsense"], "unknown ensemble"),
    (["--designs", "-1"], "Invalid value"),
    (["--design", "missing.npz"], "does not exist"),
    (["--features", "19"], "must be at least 2k = 20"),
    (["--features", "40", "--ensembles", "ar1"], "has no effect"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_OPTIONS)
def test_bad_options(arguments, words):
    assert words in invoke("guarantee", *arguments, exit_code=2)


@pytest.fixture(scope="module")
def large_run(tmp_path_factory):
    output = tmp_path_factory.mktemp("large")
    line = ["guarantee", "--features", 24, "--designs", 1, "--k", 3, "--jobs", 1]
    return invoke(*line, "--output", output), output


def test_large_designs_have_a_table_and_a_figure(large_run):
    words, output = large_run
    assert "of 20 large designs" in words
    heading, line, *rows = (output / "large.md").read_text().splitlines()
    assert heading.startswith("| signal | ρ |")
    assert len(rows) == 20
    assert {text.count("|") for text in (heading, line, *rows)} == {11}
    page = (output / "index.html").read_text()
    assert "--designs 1 --k 3 --features 24 --seed 0" in page
    assert page.count("data:image/svg+xml") == 1
    assert {path.name for path in output.glob("*.png")} == {"large.png"}
    with (output / "results.csv").open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == 20 * (1 + len(METHODS))
    assert {(row["n"], row["d"]) for row in found} == {("48", "24")}
    for row in found:
        factors = [float(row[name]) for name in (BEFORE, AFTER, RECOVERY) if row[name]]
        assert all(factor <= float(row["ratio_upper"]) + 1e-9 for factor in factors)
        assert 0 < float(row["ratio_lower"]) <= float(row["ratio_upper"]) <= 1
    chosen = [row for row in found if row["algorithm"] == "LASSO"]
    assert not [row for row in chosen if row[BEFORE] or row[RECOVERY]]


@pytest.mark.parametrize("signal", ["apart, SNR 5", "pairs, SNR 1"])
@pytest.mark.parametrize("rho", [0.1, 0.9])
def test_large_designs_agree_with_the_bounds_of_small_ones(signal, rho):
    """The guarantees use the least eigenvalue alone, so they are at most those of `guarantee_bounds`."""
    task = DesignTask(
        study="large", ensemble=signal, index=0, k=3, varies="rho", rho=rho, snr=float(signal[-1]), d=15
    )
    (measured,) = examine_large([task], 0)
    outcomes = {outcome.algorithm: outcome for outcome in measured.outcomes}
    bounds = sl.guarantee_bounds(*draw(task, 0), 3, algorithms=("omp", "forward_regression"))
    assert measured.exact
    assert not measured.violated
    for name in ("OMP", "FR"):
        exact = bounds.bound(name, AFTER)
        assert outcomes[name].ratio == pytest.approx([exact.achieved.lower] * 2, abs=1e-8)
        assert 0 < outcomes[name].promises[AFTER] <= exact.lower + 1e-9
    assert 0 < outcomes["OMP"].promises[BEFORE] <= bounds.bound("OMP", BEFORE).lower


def test_swaps_and_the_best_subset_see_a_pair():
    task = DesignTask(
        study="large", ensemble="pairs, SNR 5", index=0, k=4, varies="rho", rho=0.95, snr=5.0, d=40
    )
    X, y = draw(task, 0)
    assert X.shape == (80, 40)
    (measured,) = examine_large([task], 0)
    ratios = {outcome.algorithm: outcome.ratio[1] for outcome in measured.outcomes}
    assert ratios[BEST] == pytest.approx(1)
    assert ratios["swaps"] > 0.99 > 0.9 > max(ratios["OMP"], ratios["LASSO"])
    assert sorted(sl.best_subset(X, y, 4).support.tolist()) == [0, 1, 20, 21]
    again = draw(dataclasses.replace(task, ensemble="apart, SNR 5"), 0)
    assert not (again[0] == X).all()


def test_a_false_proof_of_the_best_subset_counts_as_violated(monkeypatch):
    honest = sl.best_subset

    def wrong(X, y, k, **options):
        found = honest(X, y, k)
        return dataclasses.replace(found, r2=0.5 * found.r2, lower_bound=2 * found.lower_bound)

    task = DesignTask(
        study="large", ensemble="apart, SNR 5", index=0, k=3, varies="rho", rho=0.5, snr=5.0, d=12
    )
    monkeypatch.setattr(large.sl, "best_subset", wrong)
    (measured,) = examine_large([task], 0)
    assert measured.outcomes[0].violated == ("lower bound",)


def test_the_studies_are_complete():
    settings = GuaranteeSettings(designs=36, repeats=3, k=2)
    tasks = settings.tasks()
    assert len(set(tasks)) == len(tasks)
    count = {
        study: sum(task.study == study for task in tasks) for study in ("check", "ensembles", "sweep", "real")
    }
    assert count == {"check": 36, "ensembles": 36, "sweep": 2 * 3 * (2 + 7 + 6), "real": 6}
    assert len(searches()) == 36
    settings = GuaranteeSettings(designs=3, k=2, features=(8, 9))
    tasks = settings.tasks()
    assert len(set(tasks)) == len(tasks) == 2 * 2 * 5 * 2 * 3
    assert {task.study for task in tasks} == {"large"}


def test_summaries_by_hand():
    ratios, factors = (0.5, 1.0, 1.0, 0.8), (0.2, None, 0.05, 0.4)
    records = [
        GuaranteeRecord(
            task=DesignTask(study="check", ensemble="ar1", index=i, k=2),
            n=9,
            d=4,
            best=(0.5, 0.5),
            exact=True,
            outcomes=(AlgorithmOutcome("OMP", (r, r), {"p": f}, ()),),
        )
        for i, (r, f) in enumerate(zip(ratios, factors, strict=True))
    ]
    (row,) = summary.promise_summaries(records)
    assert (row.designs, row.applies, row.violated) == (4, 3, 0)
    assert row.above == pytest.approx(2 / 3)
    assert row.median == pytest.approx(0.2)
    assert row.least_slack == pytest.approx(0.3)
    assert summary.share_above([row]) == pytest.approx(2 / 3)
    (family,) = summary.achieved_ratios(records)
    assert (family.optimal, family.least) == (0.5, 0.5)
    assert family.median == pytest.approx(0.9)
    assert family.promises["p"] == pytest.approx(0.125)
    assert math.isnan(summary.share_above([]))
    real = [
        dataclasses.replace(r, task=DesignTask(study="real", ensemble="x", index=0, k=1 + i))
        for i, r in enumerate(records)
    ]
    (curve,) = summary.curves(real)
    assert curve.x == (1, 2, 3, 4)
    assert curve.series["p"][1] == (0.0, 0.0)
    assert "On 4 designs, 3 guarantees" in headline(Findings(records, []))[0]


def test_worst_is_drawn_for_one_size():
    search = Search("omp", 3, 5, 2, 0.1)
    X, y, greedy, best = np.eye(3), np.ones(3), np.array([0]), np.array([1])
    one = Worst(
        search=search,
        X=X,
        y=y,
        ratio=0.3,
        least=0.1,
        promises={"along the path": 0.2},
        support=greedy,
        best_support=best,
        violated=(),
    )
    (ax,) = figures.worst_ratios([one])
    assert ax.get_xlabel()


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_the_legend_of_a_sweep_is_inside_its_figure(columns):
    """Draw all series, one of which has the longest label, with each number of panels."""
    pairs = [(f"e{i}", name) for i, name in enumerate(["k", "rho", "snr", "k"][:columns])]
    series = {name: [(0.1, 0.2), (0.2, 0.3)] for name in figures.SERIES}
    curves = [
        types.SimpleNamespace(ensemble=e, algorithm="OMP", varies=v, x=[1, 2], series=series)
        for e, v in pairs
    ]
    figure = figures.promise_panels(curves, ["OMP"], pairs)[0].figure
    (legend,) = figure.legends
    assert len(legend.get_texts()) == len(figures.SERIES)
    for path in ("png", "svg"):
        figure.savefig(io.BytesIO(), format=path)
        box = legend.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
    plots.close(figure)
