"""`sparselin verify`: its report, its arguments, its interrupts."""

import dataclasses
import html
import json

import numpy as np
import pytest
from click.testing import CliRunner
from commands import invoke

from proofs_checks.experiments.diversity.command import diversity
from sparselin.ensembles import ENSEMBLES
from sparselin.studies.common.group import cli
from sparselin.studies.verification import report as verification
from sparselin.studies.verification.run import VerificationSettings, summarize, verify_one
from sparselin.verification.projected_design import Agreement

SETTINGS = VerificationSettings(steps=4, reach_every=10**9, audit_every=10**9)
MINE = """
def mine(n, d, rng):
    return rng.standard_normal((n, d)), rng.standard_normal(n)
"""


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr(verification, "_figures", lambda records, summary: [])


WRONG = {
    "--ensembles=gausian": "unknown ensemble 'gausian'",
    "--designs=0": "--designs",
    "--design=no.npz": "no.npz",
}


class TestCommandLine:
    def test_a_small_run_writes_its_report(self, tmp_path):
        folder = tmp_path / "report"
        arguments = ["verify", "--designs", "4", "--steps", "2", "--ensembles", "gaussian,duplicated"]
        invoke(*arguments, "--jobs", "1", "--output", folder)
        names = {path.name for path in folder.iterdir()}
        figures = {f"{name}.{kind}" for name in ("agreement", "window", "penalty") for kind in ("png", "svg")}
        assert names == {"index.html", "results.json", "agreement.tex"} | figures
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert page.count("data:image/svg+xml;base64,") == 3
        assert "0 violate the theorem, and 0 are undecided.</div>" in page
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
            output = invoke(*line, exit_code=1)
        finally:
            ENSEMBLES.pop("my.py:mine", None)
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert '<div class="verdict fails">' in page
        assert "The run does not pass." in page
        assert "This run should fail." in page
        assert "violated by my.py:mine #0" in output
        assert f"--ensembles {own},small_integers --seed 0 --quick --plant second-best" in page
        command = ["verify", "--design", str(folder / "violation-my-mine-0.npz"), "--steps", "1"]
        assert f"sparselin {' '.join(command)} --plant second-best" in html.unescape(page)
        invoke(*command, "--plant", "second-best", exit_code=1)
        invoke(*command)

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
        words = verification.reproductions(tmp_path, settings, records)[-1]
        assert f"npz: {len(undecided)}. The report has a command for each." in words
        first = undecided[0]
        saved = tmp_path / f"undecided-{first.ensemble}-{first.index}.npz"
        again = CliRunner().invoke(cli, ["verify", "--design", str(saved), "--steps", "4"])
        assert again.exit_code == 0, again.output
        shown = [line.split()[-1] for line in again.output.splitlines()[2:6]]
        assert shown == [str(step.verdict) for step in first.steps]
        for row in summarize(records):
            n, d = ("–".join(dict.fromkeys(map(str, pair))) for pair in (row.n, row.d))
            cells = (row.name, ENSEMBLES[row.name].description, n, d)
            assert "".join(f"<td>{cell}</td>" for cell in cells) in page
        assert "the first unit vector" in page
        assert "normal coefficients" in page

    @pytest.mark.parametrize("option", WRONG)
    def test_wrong_arguments(self, option):
        assert WRONG[option] in invoke("verify", option, exit_code=2)

    def test_an_interrupt_leaves_the_report_of_what_was_done(self, tmp_path, monkeypatch):
        def interrupted(settings):
            yield verify_one(list(settings.tasks())[3], settings)
            raise KeyboardInterrupt

        monkeypatch.setattr("sparselin.studies.verification.command.verify_all", interrupted)
        arguments = ["verify", "--designs", "20", "--steps", "2", "--output", str(tmp_path)]
        invoke(*arguments, exit_code=130)
        assert "Interrupted" in (tmp_path / "index.html").read_text(encoding="utf-8")
        assert len(json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["designs"]) == 1

    @pytest.mark.parametrize("command", ["verify", "guarantee"])
    @pytest.mark.parametrize(
        "option", [["--output", "zzz"], ["--quick"], ["--designs", "3"], ["--jobs", "1"]]
    )
    def test_options_without_effect_are_refused(self, tmp_path, command, option):
        np.savez(tmp_path / "design.npz", X=np.eye(2), y=np.ones(2))
        output = invoke(command, "--design", tmp_path / "design.npz", *option, exit_code=2)
        assert f"{option[0]}: has no effect with --design" in output

    def test_reports_of_two_commands_are_not_mixed(self, tmp_path):
        verify = ["verify", "--designs", "1", "--steps", "1", "--ensembles", "gaussian", "--jobs", "1"]
        invoke(*verify, "--output", tmp_path)
        stored = (tmp_path / "results.json").read_bytes()
        for command, line in ((diversity, ["--quick"]), (cli, ["guarantee", "--quick"])):
            words = invoke(*line, "--output", tmp_path, command=command, exit_code=2)
            assert "holds a report of `sparselin verify`" in words
        assert (tmp_path / "results.json").read_bytes() == stored
        invoke(*verify, "--output", tmp_path)
        (tmp_path / "results.json").write_text("{}")
        assert "would overwrite results.json" in invoke(*verify, "--output", tmp_path, exit_code=2)

    def test_a_page_of_somebody_else_stays(self, tmp_path):
        """In `.`, say, the folder of a web site."""
        (tmp_path / "index.html").write_text("home")
        for command, line in ((cli, ["verify"]), (diversity, ["--quick"]), (cli, ["guarantee", "--quick"])):
            words = invoke(*line, "--output", tmp_path, command=command, exit_code=2)
            assert "would overwrite index.html" in words
        assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
        assert (tmp_path / "index.html").read_text() == "home"

    def test_every_command_has_a_folder_of_its_own(self):
        folders = [
            next(option.default for option in command.params if option.name == "output")
            for command in (cli.get_command(None, "verify"), diversity, cli.get_command(None, "guarantee"))
        ]
        assert len(set(map(str, folders))) == 3

    def test_a_folder_that_cannot_be_made_is_said_before_the_run(self, tmp_path):
        (tmp_path / "file").write_text("")
        assert "cannot make" in invoke("verify", "--output", tmp_path / "file" / "report", exit_code=2)
