"""`make diversity`: its data, its protocol, its verdicts and its report, each against something else."""

import csv
import dataclasses
import json
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from refusals import refuses
from threadpoolctl import threadpool_limits

from proofs_checks.experiments.diversity.command import diversity as command
from sparselin.ensembles.datasets import FOLDER

mpl.use("Agg")

from diversity_runs import SETTINGS, as_the_paper_says, idx, pictures, shortened, store

from proofs_checks.experiments.diversity import figures, report
from proofs_checks.experiments.diversity import run as diversity
from proofs_checks.experiments.diversity.findings import judge
from proofs_checks.experiments.diversity.regularizers import REGULARIZERS, Regularizer, register
from proofs_checks.experiments.diversity.run import (
    DiversitySettings,
    MethodTask,
    methods,
    noise,
    noise_errors,
    sample,
    select,
    select_all,
)
from sparselin.ensembles import datasets
from sparselin.ensembles.datasets import images


@pytest.fixture(scope="module")
def design():
    return sample(pictures(), 60, 0)


@pytest.fixture(scope="module")
def selections(design):
    return [one for found in select_all(design, SETTINGS) for one in found]


# --- protocol --------------------------------------------------------------------------------------------


def coefficients(X, y):
    """Return the coefficients by the normal equations."""
    return np.linalg.solve(X.T @ X, X.T @ y)


def test_errors_are_those_of_the_paper(design):
    S = np.array([3, 7, 12])
    target, features = noise_errors(design, S, SETTINGS)
    assert list(target) == list(features) == [0.1, 0.3]
    alpha = coefficients(design.X[:, S], design.y)
    for sigma in target:
        for repeat in range(3):
            eta, E = noise(0, repeat, *design.X.shape)
            noisy = coefficients(design.X[:, S], design.y + sigma * eta)
            assert target[sigma][repeat] == pytest.approx(np.linalg.norm(noisy - alpha), rel=1e-9)
            noisy = coefficients((design.X + sigma * E)[:, S], design.y)
            assert features[sigma][repeat] == pytest.approx(np.linalg.norm(noisy - alpha), rel=1e-9)
    np.testing.assert_allclose(np.array(target[0.3]), 3 * np.array(target[0.1]))


def test_noise_is_white_of_unit_length_and_of_the_seed():
    eta, E = noise(0, 0, 400, 30)
    assert np.linalg.norm(eta) == pytest.approx(1)
    np.testing.assert_allclose(np.linalg.norm(E, axis=0), 1)
    correlations = np.c_[E, eta].T @ np.c_[E, eta] - np.eye(31)
    assert np.abs(correlations).max() < 5 / np.sqrt(400)
    assert not np.array_equal(eta, noise(0, 1, 400, 30)[0])
    assert not np.array_equal(eta, noise(1, 0, 400, 30)[0])


def test_the_expected_error_is_the_root_mean_square_of_many(design):
    settings = dataclasses.replace(SETTINGS, ks=(4,), repeats=400, sigmas=())
    one = select(design, MethodTask("no-reg", (4,)), settings)[0]
    measured = np.sqrt(np.mean(np.square(one.target[0.1]))) / 0.1
    assert measured == pytest.approx(one.expected, rel=0.08)  # 400 draws of about a χ² of four
    assert one.expected > one.least_expected == pytest.approx(np.sqrt(4 / 60))


def test_the_baselines_are_the_lasso_path_and_the_greedy_search(design, selections):
    from sklearn.linear_model import lars_path

    X, y = design.X, design.y
    _, _, path = lars_path(X, y, method="lasso")
    order = []
    for _ in range(4):
        left = [j for j in range(1, 20) if j not in order]
        order.append(min(left, key=lambda j: np.linalg.lstsq(X[:, [*order, j]], y)[1].sum()))
    at = {(one.method, one.k): one for one in selections}
    for k in SETTINGS.ks:
        beyond = next(t for t in range(path.shape[1]) if (path[:, t] != 0).sum() > k)
        last = path[:, beyond - 1]
        assert sorted(at["lasso", k].support) == np.flatnonzero(last).tolist()
        assert at["lasso", k].r2_lasso == pytest.approx(1 - np.linalg.norm(y - X @ last) ** 2)
        assert at["lasso", k].r2 == at["lasso", k].r2_refitted
        assert list(at["no-reg", k].support) == order[:k]


def test_records_say_what_the_supports_are(design, selections):
    order = [(method, k) for method in methods() for k in SETTINGS.ks]
    assert [(one.method, one.k) for one in diversity.sort_selections(selections)] == order
    for one in selections:
        X, k = design.X[:, one.support], one.k
        values = np.linalg.eigvalsh(X.T @ X)
        expected = {
            "ld": np.log2(1 + values).sum() / k,
            "ld-0.1": (np.log2(0.1 + values).sum() + 3 * k * np.log2(10))
            / (k * np.log2(1.1) + 3 * k * np.log2(10)),
            "sv": 1 - ((values - 1) ** 2).sum() / (9 * k * k),
            "gr": np.sqrt(values).sum() / k,
        }
        assert one.diversity == pytest.approx(expected)
        assert one.plain["ld-0.1"] == pytest.approx(np.log2(0.1 + values).sum() / (k * np.log2(1.1)))
        pairs = [np.dot(a, b) ** 2 for i, a in enumerate(X.T) for b in X.T[:i]]
        assert one.plain["sv"] == pytest.approx(1 - (np.mean(pairs) if pairs else 0))
        assert one.expected == pytest.approx(np.sqrt((1 / values).sum() / 60))
        residual = design.y - X @ coefficients(X, design.y)
        assert one.r2 == pytest.approx(1 - residual @ residual)
        assert one.rare == sum((design.X[:, j] != 0).mean() < 0.01 for j in one.support)
        assert 0 not in one.support
        assert len(one.support) <= k
        if one.method in REGULARIZERS:
            assert one.r2 >= one.r2_lasso - 1e-12
            assert one.qualifies in ("some", "every")


def test_refitted_asks_for_more(design):
    for name in REGULARIZERS:
        both = (dataclasses.replace(SETTINGS, refitted=refitted) for refitted in (False, True))
        own, squares = (select(design, MethodTask(name, (4,)), settings)[0] for settings in both)
        assert squares.r2 >= squares.r2_refitted - 1e-12
        assert squares.r2 >= own.r2 - 1e-12
        assert squares.nu <= own.nu


def test_the_number_of_processes_changes_nothing(design, selections):
    together = select_all(design, dataclasses.replace(SETTINGS, jobs=2))
    found = diversity.sort_selections([one for part in together for one in part])
    assert repr(found) == repr(diversity.sort_selections(selections))


def test_the_report_says_which_have_fewer_features(design):
    kept = [shortened(one) if (one.method, one.k) == ("sv", 20) else one for one in as_the_paper_says()]
    settings = dataclasses.replace(SETTINGS, ks=(10, 20, 30))
    findings = judge(kept, settings)
    said = report.headline(design, settings, findings, kept)[0]
    assert "1 of the 18 selections has fewer than k features" in said
    assert any("sv at k = 20: 19." in line for line in report.reading(kept))
    assert "left out" in str(report.findings_table(findings).caption)
    whole = as_the_paper_says()
    assert "than k features" not in " ".join(report.headline(design, settings, judge(whole, settings), whole))
    assert not any("Fewer" in line for line in report.reading(whole))


# --- figures ---------------------------------------------------------------------------------------------


def test_panels_show_the_numbers(selections):
    panels = figures.diversity_panels(selections, 0.1)
    assert [ax.get_title()[:3] for ax in panels] == ["(a)", "(b)", "(c)", "(d)", "(e)", "(f)"]
    at = {(one.method, one.k): one for one in selections}
    full = {name: [at[name, k] for k in (2, 4) if not at[name, k].short] for name in methods()}
    lines = named_lines(panels[0])
    assert set(lines) == {*methods(), r"least expected for $k$ features, $\sigma\sqrt{k/n}$"}
    for name in methods():
        np.testing.assert_allclose(lines[name], [np.mean(one.target[0.1]) for one in full[name]])
    lines = named_lines(panels[1])
    np.testing.assert_allclose(lines["sv"], [np.mean(one.features[0.1]) for one in full["sv"]])
    for name, ax in zip(REGULARIZERS, panels[2:], strict=True):
        lines = named_lines(ax)
        assert list(lines) == ["lasso", "no-reg", name]
        np.testing.assert_allclose(lines["no-reg"], [one.diversity[name] for one in full["no-reg"]])


def named_lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines if line.get_label() != "_short"}


def test_selections_of_fewer_features_are_drawn_beside_their_line():
    drawn = [shortened(one) if (one.method, one.k) == ("sv", 20) else one for one in as_the_paper_says()]
    panels = figures.diversity_panels(drawn, 0.1)
    legend = [text.get_text() for text in panels[0].figure.legends[0].get_texts()]
    assert legend[-1] == "fewer than $k$ features, with their number"
    for ax, height in ((panels[0], 0.001), (panels[1], 0.001), (panels[4], 1.5)):
        line = next(line for line in ax.lines if line.get_label() == "sv")
        assert line.get_xdata().tolist() == [10, 30]
        (apart,) = (line for line in ax.lines if line.get_label() == "_short")
        assert (apart.get_xdata()[0], apart.get_ydata()[0]) == (20, height)
        assert apart.get_alpha() < 1
        assert [text.get_text() for text in ax.texts] == ["19"]
    assert not panels[2].texts


def test_maps_show_the_pixels(design, selections):
    ax = figures.pixel_maps(design, [one for one in selections if one.k == 4])[0]
    shown = {tuple(point) for point in ax.collections[0].get_offsets().astype(int).tolist()}
    one = next(one for one in selections if one.k == 4)
    assert shown == {(j % 4, j // 4) for j in one.support}


def run(folder, *arguments, environment=None):
    line = ["--output", str(folder), "--jobs", "1", *arguments]
    return CliRunner().invoke(command, line, env={FOLDER: None} | (environment or {}))


def test_a_quick_run_writes_its_report(tmp_path):
    result = run(tmp_path, "--quick", "--repeats", "2", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "MNIST needs SPARSELIN_DATA" in " ".join(result.output.split())
    figures = {"figure-1", "fit", "pixels", "without-constants"}
    names = {f"{name}.{kind}" for name in figures for kind in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == names | {
        "index.html",
        "results.json",
        "selections.csv",
    }
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 4
    assert "Comparison with the printed axes" not in page
    command = "python -m proofs_checks.experiments.diversity --data digits --k 5,10,15"
    command += " --sigma 0.1 --repeats 2 --images 300 --seed 3"
    assert f"{command} --alpha 0.5" in page
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["selections"]) == 18
    assert results["data"] == {"name": "digits", "images": 300, "pixels": 64}
    with (tmp_path / "selections.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    first = results["selections"][0]
    assert float(rows[0]["target_error_sigma_0.1"]) == pytest.approx(np.mean(first["target"]["0.1"]))
    assert rows[0]["support"].split() == [str(j) for j in first["support"]]
    assert float(rows[0]["diversity_gr"]) == pytest.approx(first["diversity"]["gr"])
    assert "Claims on Figure 1 of the 2012 paper" in result.output


class OfUse:
    """The larger its features, the better: a set function with nothing but what the searches need."""

    submodular = True

    def value(self, C, S):
        return float(np.trace(C[np.ix_(S, S)]))

    def gains(self, C, S):
        gains = np.diag(C).copy()
        gains[S] = 0
        return gains


def of_use(k, alpha):
    return OfUse()


@pytest.fixture
def toy():
    made = register(Regularizer("toy", of_use, "forward"))
    yield made
    del REGULARIZERS[made.name]


def test_a_registered_regularizer_is_in_commands_tables_and_figures(tmp_path, toy):
    """Nothing but `register` is called: tasks, processes, claims, report and figures have it."""
    refuses("there is a regularizer 'toy' already; choose another name", register, toy)
    assert MethodTask("toy", (2, 4)) in SETTINGS.tasks()
    result = run(tmp_path, "--k", "2,4", "--images", "100", "--repeats", "1", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert "toy is more diverse than lasso and than no-reg" in " ".join(result.output.split())
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "(g) toy" in page
    assert "toy: greedy FR" in page
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [one["k"] for one in results["selections"] if one["method"] == "toy"] == [2, 4]
    shares = [len(one["support"]) / one["k"] for one in results["selections"]]
    assert [one["diversity"]["toy"] for one in results["selections"]] == pytest.approx(shares)
    with (tmp_path / "selections.csv").open(encoding="utf-8") as file:
        assert [float(row["diversity_toy"]) for row in csv.DictReader(file)] == pytest.approx(shares)
    said = as_the_paper_says()
    more = [dataclasses.replace(one, diversity=one.diversity | {"toy": 1.0}) for one in said]
    panels = figures.diversity_panels(more, 0.1)
    assert panels[-1].get_title() == "(g) diversity by toy"


def test_mnist_is_used_where_it_is(tmp_path, rng):
    shade = rng.integers(1, 256, (40, 28, 28)) * (rng.random((40, 28, 28)) < 0.3)
    store(tmp_path, idx(shade), idx(rng.integers(0, 10, 40)))
    arguments = ("--k", "2,3", "--images", "30", "--repeats", "1", "--refitted")
    result = run(tmp_path / "out", *arguments, environment={FOLDER: str(tmp_path)})
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "--data mnist --k 2,3" in page
    assert "--refitted" in page
    assert "least squares on the LASSO&#39;s features" in page


WRONG_ARGUMENTS = [
    (["--k", "5,x"], "must be integers like 10,20; got '5,x'"),
    (["--k", "0,5"], "must lie in 1..61"),
    (["--k", "70"], "must lie in 1..61"),
    (["--sigma", "0"], "must be positive and finite"),
    (["--sigma", "nan"], "must be positive and finite"),
    (["--images", "1798"], "must be 1 to 1797, the images of digits; got 1798"),
    (["--alpha", "2"], "--alpha"),
    (["--data", "mnist"], "MNIST needs SPARSELIN_DATA"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG_ARGUMENTS)
def test_wrong_arguments(tmp_path, arguments, words):
    result = run(tmp_path, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", "").split())


def test_an_interrupt_leaves_the_report_of_what_was_done(tmp_path, monkeypatch):
    def interrupted(design, settings):
        yield select(design, MethodTask("no-reg", settings.ks), settings)
        yield select(design, MethodTask("ld", settings.ks), settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("proofs_checks.experiments.diversity.run.select_all", interrupted)
    result = run(tmp_path, "--k", "2,4", "--images", "100", "--repeats", "1")
    assert result.exit_code == 130, result.output
    assert "Interrupted" in (tmp_path / "index.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [one["method"] for one in results["selections"]] == ["no-reg", "no-reg", "ld", "ld"]


def test_an_interrupt_before_anything_is_done(tmp_path, monkeypatch):
    def interrupted(design, settings):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("proofs_checks.experiments.diversity.run.select_all", interrupted)
    assert run(tmp_path, "--k", "2", "--images", "50").exit_code == 130


# --- what is said of MNIST -------------------------------------------------------------------------------


@pytest.mark.skipif(not os.environ.get(FOLDER), reason=f"{FOLDER} names no folder with MNIST")
def test_the_numbers_that_the_documents_give_for_mnist():
    if datasets._missing():
        pytest.skip(datasets._missing())
    settings = DiversitySettings(jobs=1)
    design = sample(images("mnist"), 1000, 0)
    names = ("lasso", "no-reg", "ld")
    with threadpool_limits(1):
        kept = [one for name in names for one in select(design, MethodTask(name, settings.ks), settings)]
    found = {(finding.key, finding.panel): finding for finding in judge(kept, settings)}
    counts = {key: (found[key].held, found[key].total) for key in found}
    assert counts["regularized", "a"] == (9, 9)
    assert counts["regularized", "b"] == (8, 9)
    assert counts["greedy", "a"] == counts["greedy", "b"] == (9, 9)
    assert counts["diverse", "c"] == (18, 18)
    assert counts["trend no-reg", "c"] == (1, 8)
    at = {(one.method, one.k): one for one in kept}
    r2 = [at["ld", 10].r2, at["ld", 10].r2_lasso, at["ld", 10].r2_refitted, at["no-reg", 10].r2]
    np.testing.assert_allclose(r2, [0.641, 0.586, 0.788, 0.828], atol=5e-4)
    assert [at[name, 90].rare for name in ("lasso", "no-reg", "ld")] == [4, 11, 44]


def test_the_terminal_has_a_line_for_each_finding(selections):
    findings = judge(selections, SETTINGS)
    assert report.findings_table(findings).row_count == len(findings)
    assert report.method_table(selections, SETTINGS).row_count == len(methods())
    assert Path(report.__file__).with_name("report.html.j2").exists()
