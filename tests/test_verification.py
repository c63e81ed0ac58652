"""`sparselin verify`: it passes on what is right, and catches each planted defect."""

import dataclasses
import html
import json

import numpy as np
import pytest
from click.testing import CliRunner

import sparselin as sl
from sparselin.ensembles import ENSEMBLES
from sparselin.studies.common.group import cli
from sparselin.studies.verification import report as verification
from sparselin.studies.verification import run as equivalence
from sparselin.studies.verification.command import exit_status
from sparselin.studies.verification.plants import second_best_omp
from sparselin.studies.verification.run import VerificationSettings, summarize, verify_design, verify_one
from sparselin.verification.checks import Methods, bracket
from sparselin.verification.projected_design import Agreement, ProjectedDesign

SETTINGS = VerificationSettings(steps=4, reach_every=10**9, audit_every=10**9)


MINE = """
def mine(n, d, rng):
    return rng.standard_normal((n, d)), rng.standard_normal(n)
"""


def run(names, methods=None, designs=3, first=5):
    """Records of a few designs of each ensemble, past those that are audited."""
    tasks = [(name, first + i) for name in names for i in range(designs)]
    return [verify_one(task, SETTINGS, methods) for task in tasks]


def reasons(records):
    return " | ".join(
        f"{check}: {reason}"
        for record in records
        for step in record.steps
        for check, reason in step.reasons.items()
    )


@pytest.mark.parametrize("name", ENSEMBLES)
def test_right_methods_agree(name):
    summary = summarize(run([name]))
    assert summary[0].violations == 0, name
    assert summary[0].agreements >= 0.9 * summary[0].steps
    assert exit_status(summary) == 0


def wrong_lam_star(factor):
    def first_entry(X, y, forced=()):
        entry = sl.first_entry(X, y, forced=forced)
        return dataclasses.replace(entry, lam_star=entry.lam_star * factor)

    return first_entry


def scaling_projector(X, v, lam, forced=()):
    """Feasible and orthogonal to X_S, but only a point of the polytope: λ/λ*·P_S^⊥v."""
    right = sl.project_dual(X, v, lam, forced=forced)
    level = sl.first_entry(X, v, forced=forced)
    inside = sl.project_dual(X, v, 2 * level.lam_star, forced=forced).u
    return dataclasses.replace(right, u=inside * min(1.0, lam / level.lam_star))


def all_of_the_tied(X, y, forced=()):
    entry = sl.first_entry(X, y, forced=forced)
    return dataclasses.replace(entry, active=entry.tied)


def one_step_descent(X, y, lam, forced=(), rng=0, max_iter=0):
    result = sl.hadamard_descent(X, y, lam, forced=forced, rng=rng, max_iter=1)
    return dataclasses.replace(result, status=sl.Status.COMPLETED)


def wrong_feature_descent(X, y, lam, forced=(), rng=0, max_iter=0):
    """Trained to its certificate, then two features change places."""
    result = sl.hadamard_descent(X, y, lam, forced=forced, rng=rng, max_iter=max_iter)
    order = np.arange(X.shape[1])
    free = [j for j in order if j not in set(forced)]
    order[free] = np.roll(free, 1)
    return dataclasses.replace(result, w=result.w[order], theta=result.theta[order])


def start_returning_solver(Z, r, lam, start, target):
    return start


def wrong_entry(**changes):
    """first_entry with some fields replaced by functions of the right ones."""

    def first_entry(X, y, forced=()):
        entry = sl.first_entry(X, y, forced=forced)
        return dataclasses.replace(entry, **{name: change(entry) for name, change in changes.items()})

    return first_entry


def window_share(share):
    return lambda entry: entry.lam_star - share * (entry.lam_star - entry.window_lower)


def stops_short(X, y, k, **options):
    return sl.sequential_lasso(X, y, 1, **options)


PLANTS = {
    "window too wide": (
        Methods(first_entry=wrong_entry(window_lower=window_share(1.05))),
        "gaussian",
        "entry: ",
        Agreement.VIOLATES,
    ),
    "window too narrow": (
        Methods(first_entry=wrong_entry(window_lower=window_share(0.9))),
        "gaussian",
        "entry: the solution goes on below",
        Agreement.VIOLATES,
    ),
    "wrong signs": (
        Methods(first_entry=wrong_entry(signs=lambda entry: -entry.signs)),
        "gaussian",
        "entry: T =",
        Agreement.VIOLATES,
    ),
    "wrong direction": (
        Methods(first_entry=wrong_entry(direction=lambda entry: 1.01 * entry.direction)),
        "gaussian",
        "entry: v does not solve",
        Agreement.VIOLATES,
    ),
    "wrong λ₀": (
        Methods(first_entry=wrong_entry(proof_lower=lambda entry: 0.0)),
        "gaussian",
        "entry: λ₀",
        Agreement.VIOLATES,
    ),
    "Sequential LASSO stops short": (
        Methods(sequential_lasso=stops_short),
        "planted_ties",
        "end: ",
        Agreement.VIOLATES,
    ),
    "second-best OMP": (Methods(omp=second_best_omp), "gaussian", "pick: OMP picked", Agreement.VIOLATES),
    "λ* too large": (
        Methods(first_entry=wrong_lam_star(1 + 1e-4)),
        "gaussian",
        "lam_star: λ\\* =",
        Agreement.VIOLATES,
    ),
    "λ* too small": (
        Methods(first_entry=wrong_lam_star(1 - 1e-4)),
        "gaussian",
        "lam_star: λ\\* =",
        Agreement.VIOLATES,
    ),
    "scaling projector": (
        Methods(project_dual=scaling_projector),
        "gaussian",
        "projection: projection",
        Agreement.VIOLATES,
    ),
    "A := T": (Methods(first_entry=all_of_the_tied), "planted_ties", "active_set: ", Agreement.VIOLATES),
    "one-step descent": (
        Methods(hadamard_descent=one_step_descent),
        "gaussian",
        "attention: ",
        Agreement.UNDECIDED,
    ),
    "swapped features": (Methods(hadamard_descent=wrong_feature_descent), "gaussian", "attention: ", None),
    "solver returns its start": (
        Methods(solve=start_returning_solver),
        "gaussian",
        "certificate",
        Agreement.UNDECIDED,
    ),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_defects_are_caught(plant):
    methods, name, words, verdict = PLANTS[plant]
    records = run([name], methods)
    assert exit_status(summarize(records)) == 1
    assert any(word in reasons(records) for word in [words.replace("\\", "")])
    if verdict is not None:
        assert any(step.verdict is verdict for record in records for step in record.steps)


@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-4])
def test_a_wrong_lam_star_is_caught_by_the_lasso_alone(factor):
    """The bracket alone, without the comparison with ‖XᵀP_S^⊥y‖∞."""
    X, y = ENSEMBLES["gaussian"].design(7, 0)
    step = ProjectedDesign(X, y, np.zeros(0, np.intp), wrong_lam_star(factor)(X, y))
    rng = np.random.default_rng(0)
    target = 0.05 * (step.delta * step.entry.lam_star / step.lengths.max()) ** 2
    found = bracket(
        step, step.delta, lambda lam: Methods().solve(*step.compressed, lam, step.start(rng), target)
    )
    assert found.verdict is Agreement.VIOLATES


def test_an_omp_that_stops_early_is_caught():
    def stops(X, y, k, forced=()):
        return sl.omp(X, y, max(1, k - 1)) if not len(forced) else sl.omp(X, y, len(forced), forced=forced)

    records = run(["gaussian"], Methods(omp=stops))
    assert "OMP stopped" in reasons(records)
    assert exit_status(summarize(records)) == 1


def test_different_whole_supports_are_caught():
    def reversed_order(X, y, k, forced=()):
        path = sl.omp(X, y, k, forced=forced)
        return path if len(forced) else dataclasses.replace(path, support=path.support[::-1])

    X, y = ENSEMBLES["gaussian"].design(3, 0)
    _, supports, _ = verify_design(X, y, 4, methods=Methods(omp=reversed_order))
    assert supports.verdict is Agreement.VIOLATES


def test_different_supports_alone_are_counted_and_fail_the_run():
    """Steps and supports are counted apart: a run of steps that all agree fails by its supports."""
    (record,) = run(["gaussian"], designs=1)
    wrong = dataclasses.replace(
        record, supports=dataclasses.replace(record.supports, verdict=Agreement.VIOLATES)
    )
    (row,) = summarize([record, wrong])
    assert (row.different, row.violations, row.agreements, row.passes) == (1, 0, row.steps, False)
    assert (
        "; the supports of 1 design differ. The run does not pass."
        in verification.headline([row], SETTINGS)[0]
    )
    (row,) = summarize([record])
    assert (row.different, row.passes) == (0, True)


def test_the_audit_catches_a_wrong_projection_too():
    X, y = ENSEMBLES["gaussian"].design(3, 0)
    _, _, records = verify_design(X, y, 2, methods=Methods(project_dual=scaling_projector), audit=True)
    assert all("audit" in record.reasons for record in records)


def test_records_do_not_depend_on_the_number_of_processes():
    settings = dataclasses.replace(SETTINGS, designs=2, ensembles=("gaussian", "small_integers"), steps=2)
    runs = [
        sorted(
            equivalence.verify_all(dataclasses.replace(settings, jobs=jobs)),
            key=lambda r: (r.ensemble, r.index),
        )
        for jobs in (1, 2)
    ]
    assert repr(runs[0]) == repr(runs[1])


class TestOneDesign:
    """sl.verify."""

    def test_each_step_is_told(self):
        X, y = ENSEMBLES["planted_ties"].design(1, 0)
        check = sl.verify(X, y, 4)
        assert check.agrees
        assert check.verdicts == ("agrees",) * 4
        assert check.verdict == check.supports == "agrees"
        assert check.path == sl.sequential_lasso(X, y, 4)
        for t in range(4):
            entry = sl.first_entry(X, y, forced=check.path.support[:t])
            assert (check.n_tied[t], check.n_active[t]) == (len(entry.tied), len(entry.active))
            assert check.lam_star[t] == entry.lam_star
            assert check.window[t] == entry.window_lower / entry.lam_star
            assert check.proof[t] == entry.proof_lower / entry.lam_star
        assert np.array_equal(check.window, sl.window_ratios(X, y, 4))
        assert not check.audited
        assert check == sl.verify(X, y, 4)
        assert repr(check) == "<TheoremCheck: 4 steps, 4 agree>"
        assert str(check).count("agrees") == 4

    def test_a_violation_is_told(self, monkeypatch):
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        monkeypatch.setattr(equivalence, "Methods", lambda: Methods(omp=second_best_omp))
        check = sl.verify(X, y, 3)
        assert (check.agrees, check.verdict, check.supports) == (False, "violates", "violates")
        assert check.verdicts == ("violates",) * 3
        assert [[name for name, _ in found] for found in check.reasons] == [["pick"]] * 3
        assert repr(check) == "<TheoremCheck: 3 steps, 0 agree, 3 violate, the supports: violates>"
        text = str(check)
        assert "step 2, pick: OMP picked" in text
        assert "supports: violates: step" in text
        assert check.to_frame()["why"][0].startswith("pick: OMP picked")

    def test_a_path_that_ends_early(self):
        X = np.eye(4)[:, :3]
        assert sl.verify(X, X[:, 0], 3).verdicts == ("agrees",)
        check = sl.verify(X, np.zeros(4), 2)
        assert (check.verdicts, check.agrees, len(check.window)) == ((), True, 0)
        assert str(check)
        assert sl.verify(X, np.eye(4)[3], 2).agrees

    def test_an_early_end_that_is_wrong(self, monkeypatch):
        stops = Methods(sequential_lasso=lambda X, y, k: sl.sequential_lasso(X, y, 1))
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        monkeypatch.setattr(equivalence, "Methods", lambda: stops)
        check = sl.verify(X, y, 2)
        assert check.verdicts == ("agrees", "violates")
        assert "–" in str(check).splitlines()[3]
        assert check.to_frame()["feature"].tolist()[1] == -1

    def test_forms_of_data(self):
        pandas = pytest.importorskip("pandas")
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        names = [f"f{j}" for j in range(X.shape[1])]
        check = sl.verify(pandas.DataFrame(X, columns=names), y, 2)
        assert check.path.support_names == tuple(names[j] for j in check.path.support)
        assert check.path.support_names[0] in str(check)
        half = sl.verify(X.astype(np.float32), y.astype(np.float32), 2)
        assert half.agrees
        assert half.window.dtype == np.float64
        assert sl.verify(X, y, 2, audit=True).audited

    @pytest.mark.parametrize(
        ("options", "words"),
        [({"intercept": True}, "centred and scaled"), ({"standardize": True}, "centred")],
    )
    def test_other_problems_are_refused(self, options, words):
        X, y = ENSEMBLES["gaussian"].design(3, 0)
        with pytest.raises(ValueError, match=words):
            sl.verify(sl.Problem(X, y, **options), 2)
        with pytest.raises(ValueError, match="holds no samples"):
            sl.verify(sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), 2)
        with pytest.raises(ValueError, match="k must be in"):
            sl.verify(X, y, X.shape[1] + 1)


def test_window_ratios_of_a_path():
    X, y = ENSEMBLES["ar1"].design(3, 0)
    path = sl.sequential_lasso(X, y, 5, forced=[7, 2])
    ratios = sl.window_ratios(X, y, 5, forced=[7, 2])
    assert np.isnan(ratios).tolist() == [True, True, False, False, False]
    for t in range(2, 5):
        entry = sl.first_entry(X, y, forced=path.support[:t])
        assert ratios[t] == entry.window_lower / entry.lam_star
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        sl.window_ratios(X, y, 4, intercept=True), sl.window_ratios(centred, y - y.mean(), 4), rtol=1e-9
    )
    assert sl.window_ratios(np.eye(3), np.eye(3)[0], 3).tolist() == [0.0]
    assert len(sl.window_ratios(np.eye(3), np.zeros(3), 2)) == 0


def test_window_ratios_are_where_the_support_changes():
    """By the LASSO path with S unpenalised: the first knot below λ* is λ₂."""
    X, y = ENSEMBLES["gaussian"].design(2, 0)
    support = sl.sequential_lasso(X, y, 4).support
    for t, ratio in enumerate(sl.window_ratios(X, y, 4)):
        knots = sl.lasso_path(X, y, unpenalized=support[:t], max_steps=2).knots
        assert ratio == pytest.approx(knots[1] / knots[0], rel=1e-9)


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr(verification, "_figures", lambda records, summary: [])


class TestCommandLine:
    def test_a_small_run_writes_its_report(self, tmp_path):
        folder = tmp_path / "report"
        arguments = ["verify", "--designs", "4", "--steps", "2", "--ensembles", "gaussian,duplicated"]
        result = CliRunner().invoke(cli, [*arguments, "--jobs", "1", "--output", str(folder)])
        assert result.exit_code == 0, result.output
        names = {path.name for path in folder.iterdir()}
        figures = {f"{name}.{kind}" for name in ("agreement", "window", "penalty") for kind in ("png", "svg")}
        assert names == {"index.html", "results.json"} | figures
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert page.count("data:image/svg+xml;base64,") == 3
        assert "0 violate, 0 undecided. The run passes.</div>" in page
        assert '<div class="verdict">' in page
        assert "http" not in page.replace("http-equiv", "")
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        assert sum(row["steps"] for row in results["summary"]) == 8
        assert len(results["designs"]) == 4

    def test_a_planted_defect_turns_the_page_red(self, tmp_path, no_figures):
        """On a function in a file; the commands show violations again, with the plant alone."""
        (tmp_path / "my.py").write_text(MINE, encoding="utf-8")
        own, folder = f"{tmp_path / 'my.py'}:mine", tmp_path / "report"
        arguments = ["verify", "--designs", "2", "--steps", "1", "--ensembles", f"{own}, small_integers"]
        line = [*arguments, "--jobs", "1", "--quick", "--plant", "second-best", "--output", str(folder)]
        try:
            result = CliRunner().invoke(cli, line)
        finally:
            ENSEMBLES.pop("my.py:mine", None)
        assert result.exit_code == 1, result.output
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert '<div class="verdict fails">' in page
        assert "The run does not pass." in page
        assert "This run is to fail." in page
        assert "violated by my.py:mine #0" in result.output
        assert f"--ensembles {own},small_integers --seed 0 --quick --plant second-best" in page
        command = ["verify", "--design", str(folder / "violation-my-mine-0.npz"), "--steps", "1"]
        assert f"sparselin {' '.join(command)} --plant second-best" in html.unescape(page)
        assert CliRunner().invoke(cli, [*command, "--plant", "second-best"]).exit_code == 1
        assert CliRunner().invoke(cli, command).exit_code == 0

    def test_the_page_says_how_designs_are_drawn_and_keeps_undecided_ones(self, tmp_path, no_figures):
        """Undecided here, as in the run, for its descents are short: that travels with the design."""
        settings = dataclasses.replace(SETTINGS, descent_flops=1.0, reach_every=1, audit_first=0)
        names = ("gaussian", "planted_ties")
        records = [verify_one((name, index), settings) for name in names for index in (5, 6)]
        verification.write(tmp_path, settings, records, summarize(records), 1.0, False)
        page = html.unescape((tmp_path / "index.html").read_text(encoding="utf-8"))
        undecided = [record for record in records if record.verdict is Agreement.UNDECIDED]
        assert undecided
        for record in records:
            saved = tmp_path / f"undecided-{record.ensemble}-{record.index}.npz"
            assert saved.exists() == (record in undecided)
            assert (f"sparselin verify --design {saved} --steps 4" in page) == (record in undecided)
        assert (
            f"{len(undecided)} undecided designs are saved"
            in verification.reproductions(tmp_path, settings, records)[-1]
        )
        first = undecided[0]
        command = [
            "--design",
            str(tmp_path / f"undecided-{first.ensemble}-{first.index}.npz"),
            "--steps",
            "4",
        ]
        again = CliRunner().invoke(cli, ["verify", *command])
        assert again.exit_code == 0, again.output
        shown = [line.split()[-1] for line in again.output.splitlines()[2:6]]
        assert shown == [str(step.verdict) for step in first.steps]
        for row in summarize(records):
            n, d = ("–".join(dict.fromkeys(map(str, pair))) for pair in (row.n, row.d))
            assert (
                f"<td>{row.name}</td><td>{ENSEMBLES[row.name].description}</td><td>{n}</td><td>{d}</td>"
                in page
            )
        assert "the first unit vector" in page
        assert "normal coefficients" in page

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--ensembles", "gausian"], "unknown ensemble 'gausian'"),
            (["--designs", "0"], "--designs"),
            (["--design", "no.npz"], "no.npz"),
        ],
    )
    def test_wrong_arguments(self, arguments, words):
        result = CliRunner().invoke(cli, ["verify", *arguments])
        assert result.exit_code == 2
        assert words in result.output

    def test_an_interrupt_leaves_the_report_of_what_was_done(self, tmp_path, monkeypatch):
        def interrupted(settings):
            yield verify_one(settings.tasks()[3], settings)
            raise KeyboardInterrupt

        monkeypatch.setattr("sparselin.studies.verification.command.verify_all", interrupted)
        arguments = ["verify", "--designs", "20", "--steps", "2", "--output", str(tmp_path)]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 130
        assert "Interrupted" in (tmp_path / "index.html").read_text(encoding="utf-8")
        assert len(json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["designs"]) == 1

    def test_a_table_is_a_design_too(self, tmp_path):
        X, y = ENSEMBLES["gaussian"].design(1, 0)
        for name, order in (("last", slice(None)), ("first", slice(None, None, -1))):
            rows = np.column_stack([X, y])[:, order].tolist()
            names = [f"x{j}" for j in range(X.shape[1])] + ["y"]
            lines = [",".join(map(repr, row)) for row in rows]
            path = tmp_path / f"{name}.csv"
            path.write_text("\n".join([",".join(names[order]), *lines]), encoding="utf-8")
            arguments = ["--target", "y"] if name == "first" else []
            result = CliRunner().invoke(cli, ["verify", "--design", str(path), "--steps", "2", *arguments])
            assert result.exit_code == 0, result.output
            assert result.output.count("agrees") == 2

    @pytest.mark.parametrize("command", ["verify", "guarantee"])
    @pytest.mark.parametrize(
        "option", [["--output", "zzz"], ["--quick"], ["--designs", "3"], ["--jobs", "1"]]
    )
    def test_options_without_effect_are_refused(self, tmp_path, command, option):
        np.savez(tmp_path / "design.npz", X=np.eye(2), y=np.ones(2))
        result = CliRunner().invoke(cli, [command, "--design", str(tmp_path / "design.npz"), *option])
        assert result.exit_code == 2
        assert f"{option[0]}: it has no effect with --design" in " ".join(result.output.split())

    def test_reports_of_two_commands_are_not_mixed(self, tmp_path):
        verify = ["verify", "--designs", "1", "--steps", "1", "--ensembles", "gaussian", "--jobs", "1"]
        first = CliRunner().invoke(cli, [*verify, "--output", str(tmp_path)])
        assert first.exit_code == 0, first.output
        stored = (tmp_path / "results.json").read_bytes()
        for command in ("diversity", "guarantee"):
            second = CliRunner().invoke(cli, [command, "--quick", "--output", str(tmp_path)])
            assert second.exit_code == 2, second.output
            words = " ".join(second.output.replace("│", "").split())
            assert "holds a report of `sparselin verify`" in words
        assert (tmp_path / "results.json").read_bytes() == stored
        again = CliRunner().invoke(cli, [*verify, "--output", str(tmp_path)])
        assert again.exit_code == 0, again.output
        (tmp_path / "results.json").write_text("{}")
        other = CliRunner().invoke(cli, [*verify, "--output", str(tmp_path)])
        assert other.exit_code == 2
        assert "results.json of something else" in " ".join(other.output.replace("│", "").split())

    def test_a_page_of_somebody_else_stays(self, tmp_path):
        """In `.`, say, the folder of a web site."""
        (tmp_path / "index.html").write_text("home")
        for command in (["verify"], ["diversity", "--quick"], ["guarantee", "--quick"]):
            refused = CliRunner().invoke(cli, [*command, "--output", str(tmp_path)])
            assert refused.exit_code == 2, refused.output
            words = " ".join(refused.output.replace("│", "").split())
            assert "holds an index.html of something else" in words
        assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
        assert (tmp_path / "index.html").read_text() == "home"

    def test_every_command_has_a_folder_of_its_own(self):
        folders = [
            next(option.default for option in cli.get_command(None, name).params if option.name == "output")
            for name in ("verify", "diversity", "guarantee")
        ]
        assert len(set(map(str, folders))) == 3

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("junk", "must be an .npz with X (n, d) and y (n,)"),
            ("no y", "must be an .npz with X (n, d) and y (n,)"),
            ("NaN", "X must be finite"),
            ("lengths", "y must have 2 entries"),
        ],
    )
    def test_a_wrong_design_file_is_a_usage_error(self, tmp_path, content, words):
        path = tmp_path / "design.npz"
        if content == "junk":
            path.write_bytes(b"not a zip")
        else:
            arrays = {"no y": {"X": np.eye(2)}, "NaN": {"X": np.full((2, 2), np.nan), "y": np.ones(2)}}
            np.savez(path, **arrays.get(content, {"X": np.eye(2), "y": np.ones(3)}))
        result = CliRunner().invoke(cli, ["verify", "--design", str(path)])
        assert result.exit_code == 2
        assert words in " ".join(result.output.replace("│", "").split())

    def test_a_folder_that_cannot_be_made_is_said_before_the_run(self, tmp_path):
        (tmp_path / "file").write_text("")
        result = CliRunner().invoke(cli, ["verify", "--output", str(tmp_path / "file" / "report")])
        assert result.exit_code == 2
        assert "cannot make" in result.output
