"""`make diversity`: its data, its protocol, its verdicts and its report, each against something else."""

import csv
import dataclasses
import gzip
import json
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_limits

mpl.use("Agg")

from proofs_checks.experiments.diversity import figures, report
from proofs_checks.experiments.diversity import run as diversity
from proofs_checks.experiments.diversity.command import diversity as command
from proofs_checks.experiments.diversity.findings import Finding, extremes, judge
from proofs_checks.experiments.diversity.run import (
    DiversitySettings,
    MethodSelection,
    MethodTask,
    methods,
    noise,
    perturbed,
    sample,
    select,
    select_all,
)
from sparselin import datasets, plots
from sparselin.datasets import FOLDER, MNIST, Images, images, read_idx
from sparselin.spectral.regularizers import REGULARIZERS, Regularizer, register

SETTINGS = DiversitySettings(ks=(2, 4), repeats=3, jobs=1, sigmas=(0.3,))


def pictures(count=80, seed=5):
    """Blobs of several sizes; one pixel is always zero."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, 5, 4)) * (rng.random((count, 5, 4)) < rng.random((5, 4)))
    pixels[:, 0, 0] = 0
    return Images("digits", pixels.astype(np.uint8), rng.integers(0, 10, count).astype(np.uint8), "Blobs.")


@pytest.fixture(scope="module")
def design():
    return sample(pictures(), 60, 0)


@pytest.fixture(scope="module")
def selections(design):
    return [one for found in select_all(design, SETTINGS) for one in found]


# --- data ------------------------------------------------------------------------------------------------


def idx(array, kind=8):
    """The bytes of an IDX file."""
    array = np.asarray(array, np.uint8)
    head = bytes([0, 0, kind, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return gzip.compress(head + array.tobytes(), mtime=0)  # else the ids of tests hold the time


def store(folder, pixels, labels):
    (folder / "mnist").mkdir()
    for name, data in zip(MNIST, (pixels, labels), strict=True):
        (folder / name).write_bytes(data)


def test_idx_files_are_read(tmp_path, rng):
    array = rng.integers(0, 256, (3, 2, 5))
    (tmp_path / "x.gz").write_bytes(idx(array))
    np.testing.assert_array_equal(read_idx(tmp_path / "x.gz"), array)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"plain", "must be gzipped"),
        (gzip.compress(b"", mtime=0), "begins with nothing"),
        (idx(np.zeros(3), kind=13), "IDX file of bytes; it begins with 00000d01"),
        (gzip.compress(b"\0\0\x08\x03\0\0", mtime=0), "IDX file of bytes"),
        (
            gzip.compress(gzip.decompress(idx(np.zeros((4, 3))))[:-1], mtime=0),
            r"must hold \(4, 3\) bytes.*it holds 11",
        ),
    ],
)
def test_files_that_are_no_idx(tmp_path, data, words):
    (tmp_path / "x.gz").write_bytes(data)
    with pytest.raises(ValueError, match=words):
        read_idx(tmp_path / "x.gz")


def test_mnist_comes_from_the_folder_that_is_named(tmp_path, monkeypatch, rng):
    pixels, labels = rng.integers(0, 256, (7, 28, 28)), rng.integers(0, 10, 7)
    store(tmp_path, idx(pixels), idx(labels))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    found = images()
    assert found.name == "MNIST"
    np.testing.assert_array_equal(found.pixels, pixels)
    np.testing.assert_array_equal(found.labels, labels)
    assert images("digits").name == "digits"
    (tmp_path / MNIST[1]).write_bytes(idx(labels[:-1]))
    with pytest.raises(ValueError, match="as many images as labels"):
        images()


def test_without_mnist_the_digits_say_why(tmp_path, monkeypatch):
    monkeypatch.delenv(FOLDER, raising=False)
    found = images()
    assert (found.name, found.pixels.shape) == ("digits", (1797, 8, 8))
    assert f"MNIST needs {FOLDER}" in found.note
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert "names has no mnist/train-images" in images().note
    with pytest.raises(FileNotFoundError, match="names has no mnist"):
        images("mnist")


def test_the_sample_has_unit_columns_or_zero_ones(rng):
    pixels = rng.integers(0, 256, (50, 9, 9)) * (rng.random((50, 9, 9)) < 0.5)
    pixels[:, 0, 0] = 0
    labels = rng.integers(1, 10, 50)
    source = Images("digits", pixels.astype(np.uint8), labels.astype(np.uint8), "Random.")
    design = sample(source, 30, 0)
    assert (design.X.shape, design.y.shape, design.shape) == ((30, 81), (30,), (9, 9))
    # which images they are, by the pixels that are not zero
    flat = pixels.reshape(50, 81)
    rows = [next(i for i in range(50) if np.array_equal(flat[i] > 0, row > 0)) for row in design.X]
    assert len(set(rows)) == 30
    raw = flat[rows].astype(float)
    lengths = np.sqrt((raw**2).sum(axis=0))
    assert lengths[0] == 0 == design.usage[0] == np.abs(design.X[:, 0]).max()
    np.testing.assert_allclose(design.X[:, 1:], raw[:, 1:] / lengths[1:])
    np.testing.assert_allclose(design.y, labels[rows] / np.sqrt((labels[rows] ** 2).sum()))
    np.testing.assert_allclose(design.usage, np.count_nonzero(raw, axis=0) / 30)
    assert not np.array_equal(design.y, sample(source, 30, 1).y)


def test_samples_that_cannot_be():
    with pytest.raises(ValueError, match="has 80 images; got 81"):
        sample(pictures(), 81, 0)
    blank = dataclasses.replace(pictures(), labels=np.zeros(80, np.uint8))
    with pytest.raises(ValueError, match="nothing to explain"):
        sample(blank, 10, 0)


# --- protocol --------------------------------------------------------------------------------------------


def coefficients(X, y):
    """By the normal equations."""
    return np.linalg.solve(X.T @ X, X.T @ y)


def test_errors_are_those_of_the_paper(design):
    S = np.array([3, 7, 12])
    target, features = perturbed(design, S, SETTINGS)
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
    assert [(one.method, one.k) for one in diversity.in_order(selections)] == [
        (method, k) for method in methods() for k in SETTINGS.ks
    ]
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
        own, squares = (
            select(design, MethodTask(name, (4,)), dataclasses.replace(SETTINGS, refitted=refitted))[0]
            for refitted in (False, True)
        )
        assert squares.r2 >= squares.r2_refitted - 1e-12
        assert squares.r2 >= own.r2 - 1e-12
        assert squares.nu <= own.nu


def test_the_number_of_processes_changes_nothing(design, selections):
    together = select_all(design, dataclasses.replace(SETTINGS, jobs=2))
    found = diversity.in_order([one for part in together for one in part])
    assert repr(found) == repr(diversity.in_order(selections))


# --- verdicts --------------------------------------------------------------------------------------------


def made(method, k, error, value, r2=0.8):
    """A selection with given errors and diversity."""
    errors = {sigma: (10 * sigma * error,) for sigma in (0.1, 0.3, 1.0)}
    return MethodSelection(
        method=method,
        k=k,
        support=tuple(range(k)),
        nu=0.1,
        upper=0.2,
        qualifies="some",
        r2=r2,
        r2_lasso=0.7,
        r2_refitted=0.75,
        diversity=dict.fromkeys(REGULARIZERS, value),
        plain={"ld-0.1": value, "sv": value},
        target=errors,
        features=errors,
        expected=error,
        least_expected=error / 2,
        rare=0,
    )


def as_the_paper_says():
    """Errors and diversity of which every claim is true."""
    kept = []
    for k in (10, 20, 30):
        kept += [made("lasso", k, 0.01 * k, 0.5 + 0.005 * k, 0.75)]
        kept += [made("no-reg", k, 0.006 * k, 0.6 + 0.005 * k, 0.9)]
        kept += [made(name, k, 0.02 + 0.0001 * k, 0.99) for name in REGULARIZERS]
    return kept


def verdicts(selections, **changes):
    settings = dataclasses.replace(SETTINGS, ks=(10, 20, 30), **changes)
    return {(found.key, found.panel): found for found in judge(selections, settings)}


def test_what_is_as_the_paper_says_shows():
    found = verdicts(as_the_paper_says())
    assert {finding.verdict for finding in found.values()} == {"shows"}
    totals = {key: finding.total for key, finding in found.items()}
    assert totals["regularized", "a"] == totals["regularized", "b"] == 12
    assert totals["greedy", "a"] == 3
    assert totals["growth", "b"] == 4
    assert totals["mild", "a"] == totals["mild in proportion", "b"] == 8
    assert [totals["diverse", panel] for panel in "cdef"] == [6] * 4
    assert totals["trend lasso", "e"] == totals["trend no-reg", "f"] == 2
    assert totals["fit", ""] == 12
    assert totals["sigma", ""] == 15


@pytest.mark.parametrize(
    ("method", "change", "fallen"),
    [
        ("ld", {"error": 9.0}, {"regularized", "mild", "mild in proportion", "alike", "sigma"}),
        ("no-reg", {"error": 9.0}, {"greedy", "growth", "sigma"}),
        ("no-reg", {"value": 1.0}, {"diverse", "trend no-reg"}),
        ("lasso", {"value": 0.3}, {"trend lasso"}),
        ("sv", {"r2": 0.1}, {"fit"}),
    ],
)
def test_a_change_of_one_method_is_seen_where_it_belongs(method, change, fallen):
    def changed(one):
        if (one.method, one.k) not in ((method, 20), (method, 30)):
            return one
        values = {"error": one.target[0.1][0], "value": one.diversity["ld"], "r2": one.r2} | change
        return made(method, one.k, values["error"], values["value"], values["r2"])

    found = verdicts([changed(one) for one in as_the_paper_says()])
    assert {finding.key for finding in found.values() if finding.verdict != "shows"} == fallen


def shortened(one, error=0.001, value=1.5):
    """A feature fewer, with numbers that win or lose every comparison."""
    other = made(one.method, one.k, error, value)
    return dataclasses.replace(other, support=one.support[:-1])


@pytest.mark.parametrize("k", [10, 20, 30])
def test_selections_of_fewer_than_k_features_are_compared_with_nothing(k):
    def counts(error, value):
        kept = as_the_paper_says()
        kept = [shortened(one, error, value) if (one.method, one.k) == ("sv", k) else one for one in kept]
        return {
            at: (one.held, one.total, one.left_out) for at, one in verdicts(kept, sigmas=(0.3, 1.0)).items()
        }

    found = counts(0.001, 1.5)
    assert found == counts(50.0, 0.01)
    assert found["regularized", "a"] == found["regularized", "b"] == (11, 11, 1)
    assert found["greedy", "a"] == (3, 3, 0)
    assert found["diverse", "e"] == (4, 4, 2)
    assert found["diverse", "c"] == (6, 6, 0)
    assert found["alike", "a"] == (2, 2, 1)
    assert found["mild", "a"] == found["mild in proportion", "b"] == ((8, 8, 0) if k == 20 else (6, 6, 2))
    assert found["fit", ""] == (11, 11, 1)
    assert found["sigma", ""] == (28, 28, 2)


def test_a_short_baseline_takes_its_steps_and_pairs_with_it():
    kept = [shortened(one) if (one.method, one.k) == ("lasso", 30) else one for one in as_the_paper_says()]
    found = {at: (one.held, one.total, one.left_out) for at, one in verdicts(kept).items()}
    assert found["greedy", "a"] == (2, 2, 1)
    assert found["growth", "a"] == (3, 3, 1)
    assert found["trend lasso", "c"] == (1, 1, 1)
    assert found["diverse", "f"] == (5, 5, 1)
    assert found["mild", "b"] == (4, 4, 4)


def test_a_smaller_rise_may_be_a_larger_factor():
    errors = {"lasso": (0.04, 0.08), "no-reg": (0.03, 0.06)} | dict.fromkeys(REGULARIZERS, (0.01, 0.03))
    kept = [
        made(name, k, e, 0.9) for name, both in errors.items() for k, e in zip((10, 40), both, strict=True)
    ]
    found = verdicts(kept)
    added, factor = found["mild", "a"], found["mild in proportion", "a"]
    assert (added.held, factor.held) == (8, 0)
    assert added.numbers.startswith("last minus first: lasso +0.0400, no-reg +0.0300, ld +0.0200")
    assert factor.numbers.startswith("last over first: lasso ×2.0, no-reg ×2.0, ld ×3.0")
    assert "σ√(k/n), ×2.0" in factor.numbers


def test_the_report_says_which_have_fewer_features(design):
    kept = [shortened(one) if (one.method, one.k) == ("sv", 20) else one for one in as_the_paper_says()]
    settings = dataclasses.replace(SETTINGS, ks=(10, 20, 30))
    findings = judge(kept, settings)
    assert (
        "1 of the 18 selections has fewer than k features"
        in report.headline(design, settings, findings, kept)[0]
    )
    assert any("sv at k = 20: 19." in line for line in report.reading(kept))
    assert "left out" in str(report.findings_table(findings).caption)
    whole = as_the_paper_says()
    assert "than k features" not in " ".join(report.headline(design, settings, judge(whole, settings), whole))
    assert not any("Fewer" in line for line in report.reading(whole))


def test_verdicts_by_their_share():
    def verdict(held, total):
        return Finding("", "", "", held, total, "").verdict

    assert [verdict(*pair) for pair in ((0, 0), (5, 5), (8, 10), (79, 100), (5, 10), (4, 10))] == [
        "not measured",
        "shows",
        "shows mostly",
        "shows in part",
        "shows in part",
        "does not show",
    ]


def test_a_part_of_a_run_is_judged_by_what_there_is():
    found = verdicts([one for one in as_the_paper_says() if one.method in ("lasso", "ld")])
    assert found["diverse", "c"].total == 3
    assert found["greedy", "a"].verdict == found["diverse", "e"].verdict == "not measured"
    assert extremes(as_the_paper_says()[:1], 0.1)["a"] == 0.1


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
    plots.close(panels[0].figure)


def named_lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines if line.get_label() != "_short"}


def test_selections_of_fewer_features_are_drawn_beside_their_line():
    drawn = [shortened(one) if (one.method, one.k) == ("sv", 20) else one for one in as_the_paper_says()]
    panels = figures.diversity_panels(drawn, 0.1)
    legend = [text.get_text() for text in panels[0].figure.legends[0].get_texts()]
    assert legend[-1] == "fewer than $k$: how many"
    for ax, height in ((panels[0], 0.001), (panels[1], 0.001), (panels[4], 1.5)):
        line = next(line for line in ax.lines if line.get_label() == "sv")
        assert line.get_xdata().tolist() == [10, 30]
        (apart,) = (line for line in ax.lines if line.get_label() == "_short")
        assert (apart.get_xdata()[0], apart.get_ydata()[0]) == (20, height)
        assert apart.get_alpha() < 1
        assert [text.get_text() for text in ax.texts] == ["19"]
    assert not panels[2].texts
    plots.close(panels[0].figure)


def test_maps_show_the_pixels(design, selections):
    ax = figures.pixel_maps(design, [one for one in selections if one.k == 4])[0]
    shown = {tuple(point) for point in ax.collections[0].get_offsets().astype(int).tolist()}
    one = next(one for one in selections if one.k == 4)
    assert shown == {(j % 4, j // 4) for j in one.support}
    plots.close(ax.figure)


# --- the command -----------------------------------------------------------------------------------------


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
    assert "Beside the printed axes" not in page
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
    assert "does it show?" in result.output


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
    with pytest.raises(ValueError, match="there is a regularizer 'toy' already; choose another name"):
        register(toy)
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
    plots.close(panels[0].figure)


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--k", "5,x"], "must be integers like 10,20; got '5,x'"),
        (["--k", "0,5"], "must lie in 1..61"),
        (["--k", "70"], "must lie in 1..61"),
        (["--sigma", "0"], "must be positive and finite"),
        (["--sigma", "nan"], "must be positive and finite"),
        (["--images", "1798"], "has 1797 images; got 1798"),
        (["--alpha", "2"], "--alpha"),
        (["--data", "mnist"], "MNIST needs SPARSELIN_DATA"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, words):
    result = run(tmp_path, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", "").split())


def test_an_interrupt_leaves_the_report_of_what_was_done(tmp_path, monkeypatch):
    def interrupted(design, settings):
        yield select(design, MethodTask("no-reg", settings.ks), settings)
        yield select(design, MethodTask("ld", settings.ks), settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("proofs_checks.experiments.diversity.command.select_all", interrupted)
    result = run(tmp_path, "--k", "2,4", "--images", "100", "--repeats", "1")
    assert result.exit_code == 130, result.output
    assert "Interrupted" in (tmp_path / "index.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [one["method"] for one in results["selections"]] == ["no-reg", "no-reg", "ld", "ld"]


def test_an_interrupt_before_anything_is_done(tmp_path, monkeypatch):
    def interrupted(design, settings):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("proofs_checks.experiments.diversity.command.select_all", interrupted)
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
