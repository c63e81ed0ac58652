"""Tests of the page of `make networks`: its numbers, tables, figures and paired tests."""

import dataclasses
import html
import json
import re

import matplotlib as mpl
import numpy as np
import pytest

pytest.importorskip("torch")
mpl.use("Agg")

from proofs_checks.experiments.networks import attention_study, lassonet_study, pictures, report
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Record, Scale, Store, Study
from proofs_checks.experiments.networks.report import figures
from proofs_checks.experiments.networks.tables import CAVEATS, ORDER, OTHER_ROWS, Row, matrices, rows
from proofs_checks.experiments.networks.verdicts import Summary


def summary(method, k=5, setting="", *values, study="s", learner="network", n=9, **seconds):
    """Return a summary of the scores of seeds 1, 2, … on digits; by default a single score 0.5."""
    scores = dict(enumerate(values or (0.5,), 1))
    return Summary(study, "digits", method, k, setting, learner, scores, seconds, (n, n))


def plain(summaries):
    """Return rows without a comparison."""
    return [Row(summary, None, None, None) for summary in summaries]


PRINTED = Scale(rows=None)


def stored_accuracies(folder, scale=PRINTED):
    """Store records of Mice Protein; Table 2 has .993 ± .008 (Sequential Attention), .981 ± .005 (LLY)."""
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
    """Return the text of each <tag> … </tag>, with single blanks."""
    found = re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.S)
    return [" ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split()) for text in found]


def table_after(page, words):
    """Return the rows of the first table after these words, as lists of cells."""
    part = page[page.index(words) :]
    body = part[: part.index("</table>")]
    rows = re.findall("<tr[ >].*?</tr>", body, re.S)
    return [texts(re.sub(r"<(/?)th\b", r"<\1td", row), "td") for row in rows]


def written(folder, scale=PRINTED, **options):
    store, found = stored_accuracies(folder, scale)
    study = Study("paper", "The paper's protocol", "Table 2", ("mice",), None, None)
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
    heads, first, *_ = table_after(page, "Printed figures, and ours")
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
    assert (own["printed"], own["difference"], own["verdict"]) == ("0.993 ± 0.008", "-0.003", "reproduced")
    # 2·√(0.008²/5 + 0.0079²/5 + 0.001²/12)
    assert own["tolerance"] == "0.0101"
    assert by_method["Sequential Attention", "5"]["note"] == "prefix of 50"
    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))["rows"]
    (row,) = (row for row in stored if row["method"] == "random")
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
    assert table_after(page, "Printed figures, and ours")[1] == ["Sequential Attention, Table 2", *"60006"]
    assert "✓</span>" not in page
    assert "10 % of the epochs" in page


def test_other_rows_are_no_pairs():
    """A setting with other training rows is compared only with settings that have the same rows."""
    made = [
        Record(Piece("switches", "mice", method, 50, seed, setting), {"network": 0.5}, (1,), {}, 9)
        for method, setting in [("SA", "as released"), ("SA", "all"), ("SA", "Adam"), ("OMP", "all")]
        for seed in (1, 2)
    ]
    found = {row.method: row.other and row.other.setting for row in rows(made, (), "SA")}
    assert found == {"SA, as released": None, "SA, all": None, "SA, Adam": "as released", "OMP, all": "all"}
    drawn = {name for name, (protocol, _) in attention_study.DIFFERENCES.items() if not protocol.by_row}
    assert set(OTHER_ROWS["switches"]) == drawn
    assert OTHER_ROWS["lassonet"] == (lassonet_study.RELEASED,)
    assert set(CAVEATS) <= set(ORDER)


def test_data_sets_stand_in_the_order_of_the_papers(tmp_path):
    """The order of the study does not matter."""
    kept = Store(tmp_path / "records.jsonl", FULL)
    for data in ("coil20", "mnist", "mice"):
        kept.add(Record(Piece("toy", data, "random", 5, 1), {"network": 0.5}, (), {}, 9), 1.0)
    toy = Study("toy", "A toy", "tests", ("coil20", "mnist", "mice"), None, None)
    run = report.Run("python -m proofs_checks.experiments.networks", 1.0, 1, False, 0)
    page = report.write(tmp_path, {"toy": toy}, kept, run).read_text("utf-8")
    titles = ["Mice Protein", "MNIST", "COIL-20"]
    assert re.findall(r"<th>(Mice Protein|MNIST|COIL-20)</th>", page)[:3] == titles


def best(matrix):
    """Return the cells in bold, as pairs of a row and a column."""
    return [
        (name, i) for name, cells in matrix["rows"] for i, cell in enumerate(cells) if cell and cell["best"]
    ]


def test_numbers_that_several_methods_have_as_settings_go_across():
    """For an error the least is the best. A method that uses all features comes last and is never the best.

    A method without competitors is not the best either.
    """
    made = [
        dataclasses.replace(summary(*given, learner=learner), data="RING")
        for given in (
            ("all features", 64, "", 0.9),
            ("a", 2, "p=8", 0.7),
            ("b", 2, "p=8", 0.8),
            ("a", 2, "p=32", 0.5),
        )
        for learner in ("first k", "mse")
    ]
    first, second = matrices(plain(made))
    assert (first["title"], first["of"]) == ("k = 2", "true features among the first k")
    assert first["columns"] == [("RING", ""), ("RING", "p=8"), ("RING", "p=32")]
    assert [name for name, _ in first["rows"]] == ["a", "b", "all features"]
    assert (best(first), best(second)) == ([("b", 1)], [("a", 1)])
    (alone,) = matrices(plain(made[2:3]))
    assert [name for name, _ in alone["rows"]] == ["a, p=8"]


def test_a_method_with_k_features_and_with_all_of_them_has_two_rows():
    made = [summary("LassoNet", k, "", mean, learner="mse") for k, mean in ((64, 0.5), (5, 0.6))]
    (one,) = matrices(plain(made))
    assert [name for name, _ in one["rows"]] == ["LassoNet", "LassoNet, all features"]
    assert best(one) == [("LassoNet, all features", 0)]


def test_the_best_is_of_those_on_as_many_rows_as_most():
    made = [summary("a", 5, "", 0.9, n=900), summary("b", 5, "", 0.7, n=100), summary("c", 5, "", 0.8, n=100)]
    (one,) = matrices(plain(made))
    assert best(one) == [("c", 0)]


# --- figures ---------------------------------------------------------------------------------------------


def test_pixels_have_the_share_of_the_seeds():
    panels = pictures.picked_pixels({"a": {0: 1.0, 5: 0.5}, "b": {1: 0.5}}, (2, 3))
    points = panels[0].collections[0]
    assert points.get_offsets().tolist() == [[0, 0], [2, 1]]
    assert points.get_alpha()[0] == 1 > points.get_alpha()[1]


def test_a_line_against_k_joins_what_was_trained_on_as_many_rows():
    """The released Sequential Attention has all rows at the largest k, and fewer at other k."""
    of = [("a", 50, 900), ("a", 25, 100), ("a", 5, 100), ("b", 50, 100), ("b", 5, 100)]
    ((_, _, drawn),) = figures("paper", plain([summary(name, k, "", 0.01 * k, n=n) for name, k, n in of]), [])
    assert [line.get_xdata().tolist() for line in drawn.axes[0].lines[:2]] == [[5, 25], [5, 50]]


def test_many_methods_have_few_colours_and_a_figure_of_leads():
    """Sequential Attention against the best of the others on equal rows, with bars of two standard errors."""
    of = {"Sequential Attention": 0.5, **{f"m{i}": 0.5 + i / 100 for i in range(9)}}
    made = [summary(name, k, "", mean - 0.01, mean + 0.01) for k in (5, 10) for name, mean in of.items()]
    made.append(summary("more rows", 5, "", 0.9, 0.9, n=999))
    found = {name: drawn for name, _, drawn in figures("s", plain(made), [])}
    ax = found["lead-network"].axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["k = 5: m8", "k = 10: m8"]
    assert ax.lines[1].get_xdata() == pytest.approx([-0.08, -0.08])
    ends = np.array([path.vertices[:, 0] for path in ax.collections[0].get_paths()])
    assert ends == pytest.approx(np.tile([-0.08 - 0.02 * 2**0.5, -0.08 + 0.02 * 2**0.5], (2, 1)))
    labels = [line.get_label() for line in found["k-network"].axes[0].lines]
    assert labels.count("the other methods") == 9
    assert {"m8", "more rows"} < set(labels)


def seconds_shown(made):
    """Return {method: (seconds, score)} of the figure of seconds, and its caption."""
    found = {name: (words, drawn) for name, words, drawn in figures("s", plain(made), [])}
    words, drawn = found["seconds"]
    return {x.get_label(): (x.get_xdata()[0], x.get_ydata()[0]) for x in drawn.axes[0].lines}, words


def test_seconds_are_shown_where_they_were_taken():
    """Two of three methods have one run for all k, with its seconds at k = 50 and zeros at k = 60."""
    of = ("a", {50: 7.0, 60: 0.0}), ("b", {50: 3.0, 60: 0.0}), ("c", {50: 1.0, 60: 2.0})
    shown, words = seconds_shown(
        [summary(name, k, "", k / 100, selecting=taken) for name, at in of for k, taken in at.items()]
    )
    assert shown == {"a": (7.0, 0.5), "b": (3.0, 0.5), "c": (1.0, 0.5)}
    assert "at k = 50 against the seconds of the selection, by one thread" in words


def test_seconds_are_of_like_rows_and_with_the_tuning():
    made = [summary(name, selecting=s, n=n) for name, s, n in (("a", 9, 900), ("b", 2, 100), ("c", 3, 100))]
    made.append(summary("a", 5, "own defaults", selecting=1.0, n=100))
    assert seconds_shown(made)[0] == {"a": (1.0, 0.5), "b": (2.0, 0.5), "c": (3.0, 0.5)}
    assert set(seconds_shown(made[:3])[0]) == {"b", "c"}
    alike = dataclasses.replace(made[0], rows=(100, 100))
    assert seconds_shown([alike, *made[1:]])[0]["a"] == (9.0, 0.5)
    tuned = summary("b", selecting=2.0, tuning=40.0, n=100)
    shown, words = seconds_shown([tuned, made[2]])
    assert shown["b"][0] == 42
    assert pictures.study_times([tuned])[0].get_xlabel() == "seconds of the selection, with its tuning"
    assert "with its tuning" in words


def test_gains_begin_at_no_feature():
    made = [summary("SA", k, "", 0.5 - k / 100, learner="Spearman") for k in (0, 9, 19)]
    ((_, words, drawn),) = figures("gains", plain(made), [])
    ax = drawn.axes[0]
    assert (ax.get_xscale(), ax.get_xticks().tolist()) == ("linear", [0, 9, 19])
    assert words.startswith("Rank correlation of marginal gains and attention against k")


def test_pixels_of_all_features_are_not_drawn():
    made = Record(Piece("completion", "digits", "LassoNet", 64, 1), {"mse": 0.5}, tuple(range(64)), {}, 9)
    assert not list(figures("completion", [], [made]))


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
    (panel,) = pictures.study_times([summary(f"method {i}", selecting=1.0) for i in range(17)])
    marks = [(line.get_color(), line.get_marker(), line.get_fillstyle()) for line in panel.lines]
    assert len(set(marks)) == 17


def test_marks_of_seconds_have_bars_of_one_standard_deviation():
    """The deviation of the scores 0.5 ∓ 0.1 is √0.02; a single seed has no bar."""
    made = [summary("a", 5, "", 0.4, 0.6, selecting=1.0), summary("b", selecting=1.0)]
    (panel,) = pictures.study_times(made)
    ends = [[float(y) for _, y in bar.get_segments()[0]] for bar in panel.collections]
    assert ends == [pytest.approx([0.5 - 0.02**0.5, 0.5 + 0.02**0.5]), [0.5, 0.5]]


def test_lines_of_settings_have_what_is_printed_beside_them():
    made = [(2**i, summary("SA", 64, str(2**i), 0.9, 0.9 + 0.02 * i)) for i in range(3)]
    (ax,) = pictures.study_lines(made, "features at a time", "accuracy", {"digits": [(1, 0.99)]})
    ours, printed = ax.lines
    assert ours.get_xdata().tolist() == [1, 2, 4]
    assert ours.get_ydata() == pytest.approx([0.9, 0.91, 0.92])
    assert (printed.get_label(), list(printed.get_ydata())) == ("in print", [0.99])
    lengths = [abs(bar[1][1] - bar[0][1]) / 2 for bar in ax.collections[0].get_segments()]
    assert lengths == pytest.approx([one.std for _, one in made])
