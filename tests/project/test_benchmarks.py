"""The benchmark suite: a registry without slips, every case at a toy size, peers that may be absent."""

import dataclasses
import json
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sparselin as sl
from benchmarks import checks, contest, designs, entrants, frontier, measures, report, scale, textbook
from benchmarks.__main__ import main, select
from benchmarks.cases import CASES, MEASURES
from benchmarks.contest import PEERS, Case, Entrant, Goal, Job, Options, Outcome, missing, run_case, summarize
from benchmarks.measures import Measure, import_time, memory, numba_start, run_measure, warm_start
from benchmarks.scaling import STYLES
from benchmarks.timing import interleave

TOY = Options(seeds=(0,), runs=2, least_runs=1, pauses=(0.0,), toy=True)
SLOW_TO_COMPILE = ("skglm",)


def rows_of(case, options=TOY):
    return summarize(case, [run_case(case, seed, options) for seed in options.seeds], options)


def test_keys_and_names_are_unique():
    keys = [job.key for case in CASES for job in case.jobs] + [measure.key for measure in MEASURES]
    assert len(set(keys)) == len(keys)
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        for job in case.jobs:
            names = [job.ours.name, *(rival.name for rival in job.rivals)]
            assert len(set(names)) == len(names), job.key


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_toy_has_the_parameters_of_the_case(case):
    assert case.toy.keys() == case.size.keys()
    assert all(case.toy[name] <= size for name, size in case.size.items() if isinstance(size, int))


def test_every_peer_of_the_bench_group_is_reported():
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        group = tomllib.load(file)["dependency-groups"]["bench"]
    pinned = {line.split("==")[0] for line in group if "==" in line}
    assert pinned == set(entrants.peer_versions())
    assert all("==" in line or line.startswith("rich") for line in group)
    needed = {e.needs for case in CASES for e in case.entrants if e.needs and ":" not in e.needs}
    assert needed | set(entrants.MEASURED) == set(entrants.modules())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_runs_and_is_right(case, monkeypatch):
    """Cases run with the peers that are installed, and name a peer that is missing."""
    for kind, peers in PEERS.items():
        quick = {name: peer for name, peer in peers.items() if peer.needs not in SLOW_TO_COMPILE}
        monkeypatch.setitem(PEERS, kind, quick)
    for job, row in zip(case.jobs, rows_of(case), strict=True):
        assert report.line(row)
        assert bool(row["skipped"]) == bool(missing(job.ours.needs)), row["skipped"]
        if row["skipped"]:
            continue
        assert row["correct"] is not False, row["outcomes"]
        for rival in job.rivals:
            assert (rival.name in row["ways"][0]["peers"]) == (not missing(rival.needs))
            assert (rival.name in row["absent"]) == bool(missing(rival.needs))


PEER = Entrant("peer", lambda data: time.sleep(0.004))


def a_job(**changes):
    ours = Entrant("ours", lambda data: time.sleep(0.001))
    gone = Entrant("gone", lambda data: None, needs="no_such_module")
    job = Job("job/a", "a job", ours, (Goal(PEER, 1.5, harder=1000.0), Goal(gone, 2)))
    return dataclasses.replace(job, **changes)


def a_case(*jobs):
    return Case("a case", lambda seed: SimpleNamespace(seed=seed), {}, {}, jobs)


def test_an_absent_peer_is_skipped_by_name_and_its_goal_not_judged():
    (row,) = rows_of(a_case(a_job()))
    assert row["ways"][0]["peers"]["peer"]["ratio"] > 1.5
    assert "no_such_module cannot be imported" in row["absent"]["gone"]
    assert [goal["met"] for goal in row["goals"]] == [True, None]
    assert [goal["harder"] for goal in row["goals"]] == [False, None]
    assert row["met"] is True
    assert "gone –" in report.line(row)


def test_a_row_without_our_function_is_skipped_and_one_that_fails_is_wrong():
    absent = Entrant("ours", lambda data: None, needs="sparselin:no_such_function")
    broken = Entrant("ours", lambda data: 1 / 0)
    skipped, failed = rows_of(a_case(a_job(ours=absent), a_job(key="job/b", ours=broken)))
    assert skipped["skipped"] == "sparselin has no no_such_function"
    assert skipped["correct"] is None
    assert "ZeroDivisionError" in failed["skipped"]
    assert failed["correct"] is False


def test_a_measure_without_its_data_is_skipped():
    def take(seed):
        raise FileNotFoundError("MNIST needs SPARSELIN_DATA")

    row = run_measure(Measure(key="a/b", title="a", unit="s", take=take, at_most=None), TOY)
    assert row["skipped"] == "MNIST needs SPARSELIN_DATA"
    assert row["correct"] is None


def test_one_wrong_seed_makes_the_row_wrong():
    def check(data, answers):
        return Outcome(data.seed != 1, f"seed {data.seed}")

    options = dataclasses.replace(TOY, seeds=(0, 1, 2), runs=1)
    (row,) = rows_of(a_case(a_job(check=check)), options)
    assert row["correct"] is False
    assert row["outcomes"] == ["seed 0", "seed 1", "seed 2"]

    def fails(data, answers):
        raise ValueError("wrong shape")

    (row,) = rows_of(a_case(a_job(check=fails)))
    assert row["correct"] is False
    assert "wrong shape" in row["outcomes"][0]


def test_the_ratio_is_peer_over_ours_median_of_medians_and_the_worst_seed():
    """The rounds of one seed are paired; a goal from above has its worst seed above."""
    job, peer = a_job(), PEER
    seconds = [
        {job.ours: [1.0, 2.0, 4.0], peer: [3.0, 6.0, 40.0]},  # ratios 3, 3, 10
        {job.ours: [1.0, 1.0], peer: [5.0]},
        {job.ours: [2.0], peer: [2.0]},
    ]
    paused = {job.ours: [1.0], peer: [2.0]}
    rest = {"outcomes": {}, "absent": {}}
    records = [{"seed": seed, "seconds": [s, paused], **rest} for seed, s in enumerate(seconds)]
    options = dataclasses.replace(TOY, pauses=(0.0, 0.05))
    (row,) = summarize(a_case(job), records, options)
    way, other = row["ways"]
    assert (way["pause"], way["ms"], other["pause"], other["ms"]) == (0.0, 2000, 0.05, 1000)
    assert way["peers"]["peer"]["by_seed"] == {0: 3.0, 1: 5.0, 2: 1.0}
    assert way["peers"]["peer"]["ratio"] == 3.0
    assert way["peers"]["peer"]["worst"] == 1.0
    assert other["peers"]["peer"]["ratio"] == 2.0
    proportion = dataclasses.replace(job, goals=(Goal(peer, at_most=2.9),))
    (row,) = summarize(a_case(proportion), records, options)
    assert row["ways"][0]["peers"]["peer"]["worst"] == 5.0
    assert row["met"] is False  # by the first way; by the second it would be met
    for skipped in ("", "not there"):
        assert len(report.cells(row | {"skipped": skipped}, 2)) == 1 + 2 * 2 + 3


def test_turns_are_taken_with_a_pause_and_long_calls_get_fewer():
    order = []

    def call(name, seconds):
        order.append(name)
        time.sleep(seconds)

    calls = {"a": lambda: call("a", 0.0), "b": lambda: call("b", 0.03), "c": lambda: call("c", 0.0)}
    started = time.perf_counter()
    seconds = interleave(calls, runs=3, least_runs=1, pause=0.01, budget=0.05)
    assert "".join(order) == "abc" + "ca" + "ca"  # b's turn would have begun the second round
    assert time.perf_counter() - started > 7 * 0.01
    assert {name: len(values) for name, values in seconds.items()} == {"a": 3, "b": 1, "c": 3}


def selection(support, X, y):
    return SimpleNamespace(
        support=np.array(support),
        residual_norm=np.array([np.linalg.norm(textbook.residual(X, y, list(support)))]),
        status=sl.Status.COMPLETED,
    )


@pytest.mark.parametrize(
    ("check", "rule"), [(checks.selects_like_omp, textbook.omp), (checks.selects_like_ols, textbook.ols)]
)
def test_a_wrong_selection_is_called_wrong(check, rule, rng):
    X, y = rng.standard_normal((20, 40)), rng.standard_normal(20)
    X[:, 7] = X[:, 3]  # a tie, if 3 is ever picked
    y += 10 * X[:, 3]
    data, ours = SimpleNamespace(X=X, y=y, k=4), Entrant("ours", lambda data: None)
    right = rule(X, y, 4)[0]
    assert right[0] == 3

    def outcome(support, norm=1.0):
        path = selection(support, X, y)
        path.residual_norm *= norm
        return check(ours, SimpleNamespace(**vars(data)), {ours: path})

    assert outcome(right).right
    assert outcome([7, *right[1:]]).right  # the copy does as well
    other = next(j for j in range(40) if j not in (*right, 7))
    assert not outcome([*right[:3], other]).right
    assert not outcome([other, *right[1:]]).right
    assert not outcome(right[:3]).right
    assert not outcome(right, norm=1 + 1e-8).right


def test_a_dependent_set_is_called_wrong():
    """The exact rank is the floats' on small integers; one last pick becomes a dependent one."""
    data = designs.dependent_integers(0, 12, 10, 5, 20)
    for X, _, k in data.each:
        assert np.linalg.matrix_rank(np.column_stack([np.ones(12), X])) == k + 1
    ours, other = (Entrant(name, lambda data: None) for name in ("ours", "other"))
    paths = [sl.ols(X, y, k, intercept=True) for X, y, k in data.each]
    picks = [path.support.tolist() for path in paths]
    check = partial(checks.selects_of_each_like_ols, ours, other=other)
    assert check(data, {ours: paths, other: picks}).text.endswith("other dependent or too small on 0")
    i, dependent = next(
        (i, j)
        for i, ((X, _, k), S) in enumerate(zip(data.each, picks, strict=True))
        for j in set(range(10)) - set(S)
        if np.linalg.matrix_rank(np.column_stack([np.ones(12), X[:, [*S[:-1], j]]])) <= k
    )
    (X, y, _), S = data.each[i], picks[i]
    wrong = selection([*S[:-1], dependent], X - X.mean(axis=0), y - y.mean())
    assert not check(data, {ours: [*paths[:i], wrong, *paths[i + 1 :]]}).right
    picks[i] = wrong.support.tolist()
    found = check(data, {ours: paths, other: picks})
    assert found.right
    assert found.text.endswith("other dependent or too small on 1")


def test_textbook_ols_is_the_least_residual(rng):
    X, y = rng.standard_normal((15, 25)) * rng.uniform(0.1, 10, 25), rng.standard_normal(15)
    S = []
    for pick in textbook.ols(X, y, 6)[0]:
        left = [np.inf if j in S else np.linalg.norm(textbook.residual(X, y, [*S, j])) for j in range(25)]
        assert pick == np.argmin(left)
        S.append(pick)


def test_wrong_paths_and_projections_are_called_wrong(rng):
    X, y = rng.standard_normal((15, 25)), rng.standard_normal(15)
    path, ours = sl.lasso_path(X, y, max_steps=6), Entrant("ours", lambda data: None)
    data = SimpleNamespace(X=X, y=y, steps=6)
    assert checks.knots(ours, data, {ours: path}).right
    bent = SimpleNamespace(knots=path.knots, coef=path.coef * (1 + 1e-7), status=path.status)
    assert not checks.knots(ours, data, {ours: bent}).right
    short = SimpleNamespace(knots=path.knots[:-1], coef=path.coef[:-1], status=path.status)
    assert not checks.knots(ours, data, {ours: short}).right

    S, lam = np.array([2, 5]), 0.4 * float(path.knots[0])
    data = SimpleNamespace(X=X, v=y, lam=lam, S=S)
    projection = sl.project_dual(X, y, lam, forced=S)
    assert checks.projections(ours, data, {ours: projection}).right
    off = SimpleNamespace(u=projection.u + 1e-11, coef=projection.coef, active=projection.active)
    assert not checks.projections(ours, data, {ours: off}).right
    # right for the active set it claims, which is not the right one
    u = textbook.residual(X, y, S.tolist())
    unproved = SimpleNamespace(u=u, coef=np.zeros(25), active=())
    assert not checks.projections(ours, data, {ours: unproved}).right


@pytest.mark.slow
def test_measures():
    assert 0 <= memory(0, 100, 2000, 10)[0] < 20
    starts = import_time(0), import_time(0, "numpy, numba"), numba_start(0), warm_start(0)
    assert all(0.001 < seconds < 60 for seconds, _ in starts)  # a lazy import takes some 10 ms
    sweeps = [run_measure(measure, TOY) for measure in MEASURES if measure.key.startswith("sweep/")]
    assert all(row["skipped"] or row["correct"] for row in sweeps)


def test_a_measure_is_held_to_its_bound_if_it_has_one():
    """The median of the seeds is; the row for comparison is never missed, and shows no goal."""

    def take(seed):
        return [1.0, 2.0, 9.0][seed], None

    options = dataclasses.replace(TOY, seeds=(2, 0, 1))
    rows = [
        run_measure(Measure(key="a/b", title="a", unit="s", take=take, at_most=bound), options)
        for bound in (2.0, 1.9, None)
    ]
    assert [row["met"] for row in rows] == [True, False, None]
    assert [(row["value"], row["worst"]) for row in rows] == [(2.0, 9.0)] * 3
    assert [report.cells(row, 1)[3:5] for row in rows] == [("≤ 2 s", "yes"), ("≤ 1.9 s", "no"), ("", "")]
    assert "goal" not in report.line(rows[2])


def test_fresh_processes_keep_bytecode(monkeypatch):
    """Else the import would be charged for compiling the sources, which an installed package is spared."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert measures._run_in_new_process("import sys; print(sys.dont_write_bytecode)").strip() == "False"
    named = measures._run_in_new_process("import os; print(os.environ['NAMED'])", NAMED="here")
    assert named.strip() == "here"


def test_start_up_is_measured_with_what_an_earlier_process_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = f"{measures.AFTER_NUMBA}; print(sum(one_line.stats.cache_hits.values()))"
    assert measures._in_second_process(code) == 1


def test_what_is_written(tmp_path, monkeypatch, capsys):
    """Some rows, the chart, both files; then table and chart again from the numbers."""
    arguments = ["--toy", "--case", "omp/small", "batch/64x256", "scaling", "--output", str(tmp_path)]
    assert main(arguments) == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {row["key"] for row in results["rows"]} == {"omp/small", "batch/64x256"}
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    parts = [
        "OMP, sparse signal, 40 × 60, k = 5",
        "k gemvs",
        results["machine"]["cpu"],
        "numpy",
        "threads: 2",
    ]
    assert all(part in page for part in [*parts, "python -m benchmarks --toy"])
    assert "omp/small" in capsys.readouterr().out
    if results["scaling"]:
        (tmp_path / "scaling.png").unlink()
    (tmp_path / "RESULTS.md").unlink()
    assert main(["--redraw", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8") == page
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
    assert set(results["scaling"]["against d"]["seconds"][0]) <= set(STYLES)


def test_an_interrupted_run_keeps_its_rows(tmp_path, monkeypatch, capsys):
    """The rest is run with --resume; a run with other options begins again."""
    arguments = ["--toy", "--case", "omp/small", "batch/64x256", "--output", str(tmp_path)]
    names = []

    def once(case, seed, options):
        names.append(case.name)
        if len(names) == 2:
            raise KeyboardInterrupt
        return run_case(case, seed, options)

    monkeypatch.setattr("benchmarks.__main__.run_case", once)
    assert main(arguments) == 130
    assert not (tmp_path / "results.json").exists()
    assert main([*arguments, "--resume"]) == 0
    assert names[1] == names[2]
    assert len(names) == 3
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert {row["key"] for row in results["rows"]} == {"omp/small", "batch/64x256"}
    assert not (tmp_path / "unfinished.json").exists()
    names.clear()
    main(arguments)
    main([*arguments, "--resume", "--pause", "0", "--runs", "3"])
    assert len(names) == 4
    assert main(["--toy", "--case", "omp/small", "--resume"]) == 2
    assert "--resume needs --output" in capsys.readouterr().out


def test_selecting_rows(capsys):
    cases, measures, chart = select(["omp", "*/ar1", "start/warm"])
    keys = {job.key for case in cases for job in case.jobs}
    assert keys >= {"omp/noise", "omp/ar1", "ols/ar1", "path/ar1"}
    assert all(key.startswith("omp/") or key.endswith("/ar1") for key in keys)
    assert [measure.key for measure in measures] == ["start/warm"]
    assert not chart
    assert select(["*"])[2]
    assert main(["--case", "no/such"]) == 2
    assert main(["--list"]) == 0
    assert "scaling" in capsys.readouterr().out


def test_a_registered_peer_is_in_rows_tables_and_versions(tmp_path, monkeypatch):
    """Nothing but `register` is called: the jobs of its kind or its key have it, and no other."""
    for kind in ("omp", "path/noise"):  # both are put back
        monkeypatch.setitem(PEERS, kind, dict(PEERS[kind]))
    toy = Entrant("a toy", lambda data: None, needs="zlib")
    with pytest.raises(ValueError, match="there is a peer for omp, 'k gemvs' already; choose another name"):
        contest.register(dataclasses.replace(toy, name="k gemvs"), "ols", "omp")
    assert "k gemvs" not in PEERS["ols"]
    assert contest.register(toy, "omp", "path/noise") is toy
    having = {job.key for case in CASES for job in case.jobs if toy in job.rivals}
    keys = {job.key for case in CASES for job in case.jobs}
    assert having == {key for key in keys if key.startswith("omp/") or key == "path/noise"}
    assert main(["--toy", "--case", "omp/small", "--output", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert "a toy" in results["rows"][0]["ways"][0]["peers"]
    assert "a toy" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert results["machine"]["peers"]["zlib"] == "not installed"  # as a distribution


@pytest.mark.parametrize("name", ["factoring-40", "model", "generated", "conditioned", "resumed"])
def test_figures_of_long_data_at_a_toy_size(name):
    found = scale.FIGURES[name][1](True)
    assert found["text"]
    if name == "generated":  # the memory is that of the whole process, of these tests
        assert "the right features" in found["text"]
    elif name in ("conditioned", "resumed"):  # the others are times
        assert found["met"]


def test_the_page_of_long_data_is_that_of_its_figures():
    found = json.loads((scale.HERE / "scale.json").read_text(encoding="utf-8"))
    assert set(found) == set(scale.FIGURES)
    assert (scale.HERE / "SCALE.md").read_text(encoding="utf-8") == scale.page(found)


def test_the_rows_of_a_frontier_instance_have_their_covariance():
    """The noise has a fifth of the variance of the signal; the same seed gives the same numbers."""
    data, again = (designs.frontier_instance(40_000, 8, 4, 0.7, 5.0, seed=3) for _ in range(2))
    assert np.array_equal(data.X, again.X)
    assert np.array_equal(data.y, again.y)
    index = np.arange(8)
    C = 0.7 ** np.abs(index[:, None] - index)
    np.testing.assert_allclose(data.X.T @ data.X / 40_000, C, atol=0.03)
    noise = data.y - data.X[:, [0, 2, 4, 6]].sum(axis=1)
    assert noise.var() == pytest.approx(C[np.ix_(data.S, data.S)].sum() / 5, rel=0.03)


FRONTIER = frontier.CASE | {"n": 80, "d": 20, "k": 3, "rho": 0.5, "time_limit": 20.0}


def test_an_entrant_runs_in_its_own_process():
    """The values are those of least squares on the support; a missing peer gives its error."""
    answer = frontier.measure("ours", sys.executable, FRONTIER, seed=0)
    data = designs.frontier_instance(80, 20, 3, 0.5, 5.0, seed=0)
    r = textbook.residual(data.X, data.y, answer["support"])
    assert (answer["support"], answer["optimal"]) == ([0, 6, 12], True)
    assert answer["objective"] == pytest.approx(r @ r, rel=1e-12)
    assert 0 <= answer["gap"] <= 1e-4
    assert answer["seconds"] > 0
    lost = frontier.measure("no such entrant", sys.executable, FRONTIER, seed=0)
    assert "no such entrant" in lost["error"]


def test_a_machine_is_the_same_in_any_order_of_its_libraries(monkeypatch):
    """Libraries are found in another order in each run, so that `--resume` knew no machine again."""
    pools = report.threadpool_info()
    pools = [{**pools[0], "user_api": "blas", "version": version} for version in ("1", "2")]
    monkeypatch.setattr(report, "threadpool_info", lambda: pools)
    before = report.machine(2)["blas"]
    pools.reverse()
    assert report.machine(2)["blas"] == before
