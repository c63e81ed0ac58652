"""Tests of the page of `make networks`: its numbers, tables, figures and paired tests."""

import dataclasses
import html
import json
import re

import numpy as np
import pytest

from proofs_checks.experiments.networks import pictures, report
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Record, Store, Study
from proofs_checks.experiments.networks.report import figures
from proofs_checks.experiments.networks.tables import Row, matrices
from proofs_checks.experiments.networks.verdicts import Summary


def summary(method, k=5, setting="", *values, study="s", learner="network", n=9, **seconds):
    """Return a summary of the scores of seeds 1, 2, … on digits; by default a single score 0.5."""
    scores = dict(enumerate(values or (0.5,), 1))
    return Summary(study, "digits", method, k, setting, learner, scores, seconds, (n, n))


def plain(summaries):
    """Return rows without a comparison."""
    return [Row(summary, None, None, None) for summary in summaries]


def drawn(study, summaries, records=()):
    """Return name ↦ (caption, axes) of the figures of a study."""
    found = figures(study, plain(summaries), records)
    return {name: (words, figure.axes) for name, words, figure in found}


FOUND = {
    ("Sequential Attention", 50): [0.990, 0.980, 1.000, 0.985, 0.995],
    ("Sequential Attention", 5): [0.90, 0.80, 0.85, 0.90, 0.80],
    ("feature mask (LLY)", 50): [0.930, 0.920, 0.940, 0.925, 0.915],
    ("random", 50): [0.991, 0.979, 1.000, 0.984, 0.994],
}
"""Accuracies on Mice Protein; Table 2 has .993 ± .008 (Sequential Attention), .981 ± .005 (LLY)."""


def texts(page, tag):
    """Return the text of each <tag> … </tag>, with single blanks."""
    found = re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.S)
    return [" ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split()) for text in found]


def table_after(page, words):
    """Return the rows of the first table after these words, as lists of cells."""
    body = page[page.index(words) :].partition("</table>")[0]
    rows = re.findall("<tr[ >].*?</tr>", body, re.S)
    return [texts(re.sub(r"<(/?)th\b", r"<\1td", row), "td") for row in rows]


def written(folder, scale=FULL, **options):
    """Return the page of records with the accuracies of FOUND."""
    store = Store(folder / "records.jsonl", scale)
    for (method, k), values in FOUND.items():
        for seed, value in enumerate(values, 1):
            piece, note = Piece("paper", "mice", method, k, seed), "prefix of 50" if k == 5 else ""
            seconds = {"selecting": 2.0 * seed}
            store.add(Record(piece, {"network": value}, tuple(range(k)), seconds, 756, note), 1800.0)
    study = Study("paper", "The paper's protocol", "Table 2", ("mice",), None, None)
    run = report.Run("python -m proofs_checks.experiments.networks", 5.0, 1, False, 0, **options)
    return report.write(folder, {"paper": study}, store, run).read_text(encoding="utf-8")


def test_the_page_has_the_numbers_of_the_records_and_what_is_printed(tmp_path):
    page = written(tmp_path)
    values = FOUND["random", 50]
    assert table_after(page, "<summary>k = 50") == [
        ["", "Mice Protein"],
        ["Sequential Attention", "0.990 ± 0.008 0.993 ± 0.008 ✓"],
        ["feature mask (LLY)", "0.926 ± 0.010 0.981 ± 0.005 ✗"],
        ["random", f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"],
    ]
    assert texts(page[page.index("<summary>k = 50") :], "strong")[0] == "0.990 ± 0.008"
    assert table_after(page, "<summary>k = 5:")[1:] == [["Sequential Attention", "0.850 ± 0.050"]]
    heads, first, *_ = table_after(page, "Printed figures, and ours")
    assert heads[2:] == ["reproduced", "not reproduced", "undecided", "needs data"]
    assert first == ["Sequential Attention, Table 2", "6", "1", "1", "0", "4"]


def long_table(page):
    """Return (method, k) ↦ the row of the table of all numbers, by its headings."""
    heads, *rows = table_after(page, "All numbers: Mice Protein")
    return {(row[0], row[1]): dict(zip(heads, row, strict=True)) for row in rows}


def test_the_long_table_has_seeds_rows_seconds_and_the_paired_test(tmp_path):
    found = long_table(written(tmp_path))
    assert [k for _, k in found] == ["50", "50", "50", "5"]
    own, worse, near, short = found.values()
    assert (own["− the other"], own["p"]) == ("", "")
    assert (worse["− the other"], worse["p"]) == ("-0.064", "0.0625")  # all five have the same sign
    # differences in thousandths 1, −1, 0, −1, −1: |sum| = 2 or more in 10 of the 16 choices of four signs
    assert (near["− the other"], near["p"]) == ("-0.000", "0.625")
    assert (worse["seeds"], worse["training rows"], worse["selecting [s]"]) == ("5", "756", "6.0")
    assert (own["printed"], own["difference"], own["verdict"]) == ("0.993 ± 0.008", "-0.003", "reproduced")
    # 2·√(0.008²/5 + 0.0079²/5 + 0.001²/12)
    assert own["tolerance"] == "0.0101"
    assert short["note"] == "prefix of 50"
    stored = json.loads((tmp_path / "results.json").read_text("utf-8"))["rows"]
    (row,) = (row for row in stored if row["method"] == "random")
    assert list(row["values"].values()) == FOUND["random", 50]
    assert row["test"]["p"] == 0.625


def test_with_a_share_of_the_epochs_nothing_is_met_or_missed(tmp_path):
    """Another method to compare with is named."""
    page = written(tmp_path, QUICK, against="random")
    assert table_after(page, "Printed figures, and ours")[1] == ["Sequential Attention, Table 2", *"60006"]
    assert "✓</span>" not in page
    assert "10 % of the epochs" in page
    assert [row["p"] for row in long_table(page).values()] == ["0.625", "0.0625", "", ""]


def best(matrix):
    """Return the cells in bold, as pairs of a row and a column."""
    return [
        (name, i) for name, cells in matrix["rows"] for i, cell in enumerate(cells) if cell and cell["best"]
    ]


def test_numbers_that_several_methods_have_as_settings_go_across():
    """For an error the least is the best. A method that uses all features comes last and is never the best.

    A method without competitors is not the best either.
    """
    of = [("all features", 64, "", 0.9), ("a", 2, "p=8", 0.7), ("b", 2, "p=8", 0.8), ("a", 2, "p=32", 0.5)]
    made = [summary(*given, learner=learner) for given in of for learner in ("first k", "mse")]
    first, second = matrices(plain(made))
    assert (first["title"], first["of"]) == ("k = 2", "true features among the first k")
    assert first["columns"] == [("digits", ""), ("digits", "p=8"), ("digits", "p=32")]
    assert [name for name, _ in first["rows"]] == ["a", "b", "all features"]
    assert (best(first), best(second)) == ([("b", 1)], [("a", 1)])
    (alone,) = matrices(plain(made[2:3]))
    assert [name for name, _ in alone["rows"]] == ["a, p=8"]


def test_a_method_with_k_features_and_with_all_of_them_has_two_rows():
    """The best is among those on as many rows as most."""
    made = [summary("LassoNet", k, "", mean, learner="mse") for k, mean in ((64, 0.5), (5, 0.6))]
    (one,) = matrices(plain(made))
    assert [name for name, _ in one["rows"]] == ["LassoNet", "LassoNet, all features"]
    assert best(one) == [("LassoNet, all features", 0)]
    made = [summary("a", 5, "", 0.9, n=900), summary("b", 5, "", 0.7, n=100), summary("c", 5, "", 0.8, n=100)]
    (one,) = matrices(plain(made))
    assert best(one) == [("c", 0)]


# --- figures ---------------------------------------------------------------------------------------------


def test_a_line_against_k_joins_what_was_trained_on_as_many_rows():
    """The released Sequential Attention has all rows at the largest k, and fewer at other k."""
    of = [("a", 50, 900), ("a", 25, 100), ("a", 5, 100), ("b", 50, 100), ("b", 5, 100)]
    ((_, (ax, *_)),) = drawn("paper", [summary(name, k, "", 0.01 * k, n=n) for name, k, n in of]).values()
    assert [line.get_xdata().tolist() for line in ax.lines[:2]] == [[5, 25], [5, 50]]


def test_many_methods_have_few_colours_and_a_figure_of_leads():
    """Sequential Attention against the best of the others on equal rows, with bars of two standard errors."""
    of = {"Sequential Attention": 0.5, **{f"m{i}": 0.5 + i / 100 for i in range(9)}}
    made = [summary(name, k, "", mean - 0.01, mean + 0.01) for k in (5, 10) for name, mean in of.items()]
    found = drawn("s", [*made, summary("more rows", 5, "", 0.9, 0.9, n=999)])
    leads, lines = found["lead-network"][1][0], found["k-network"][1][0].lines
    assert [label.get_text() for label in leads.get_yticklabels()] == ["k = 5: m8", "k = 10: m8"]
    assert leads.lines[1].get_xdata() == pytest.approx([-0.08, -0.08])
    bars = [path.vertices[:, 0] for path in leads.collections[0].get_paths()]
    assert np.array(bars) == pytest.approx(-0.08 + 0.02 * 2**0.5 * np.array([[-1, 1]] * 2))
    labels = [line.get_label() for line in lines]
    assert labels.count("the other methods") == 9
    assert {"m8", "more rows"} < set(labels)


def seconds_shown(made):
    """Return {method: (seconds, score)} of the figure of seconds, and its caption."""
    words, (ax, *_) = drawn("s", made)["seconds"]
    return {x.get_label(): (x.get_xdata()[0], x.get_ydata()[0]) for x in ax.lines}, words


def test_seconds_are_shown_where_they_were_taken_on_like_rows_and_with_the_tuning():
    """Two of three methods have one run for all k, with its seconds at k = 50 and zeros at k = 60."""
    of = {("a", 50): 7, ("a", 60): 0, ("b", 50): 3, ("b", 60): 0, ("c", 50): 1, ("c", 60): 2}
    made = [summary(*at, "", at[1] / 100, selecting=taken) for at, taken in of.items()]
    shown, words = seconds_shown(made)
    assert shown == {"a": (7.0, 0.5), "b": (3.0, 0.5), "c": (1.0, 0.5)}
    assert "at k = 50 against the seconds of the selection, by one thread" in words
    more = dataclasses.replace(made[0], rows=(900, 900))
    assert set(seconds_shown([more, *made[1:]])[0]) == {"b", "c"}
    own = summary("a", 50, "own defaults", 0.5, selecting=2.0)
    assert seconds_shown([more, *made[1:], own])[0]["a"] == (2.0, 0.5)
    assert seconds_shown([*made, own])[0]["a"] == (7.0, 0.5)
    shown, words = seconds_shown([summary("a", selecting=2.0, tuning=40.0), summary("b", selecting=1.0)])
    assert (shown["a"][0], "with its tuning" in words) == (42, True)


def test_pixels_of_each_setting_are_drawn():
    """The darkness is the share of the seeds. The pixels of all features are not drawn."""
    of = {("SA", 2, 1, "1"): (0, 63), ("SA", 2, 2, "1"): (0, 9), ("SA", 2, 1, "2"): (3, 4)}
    of |= {("LassoNet", 64, 1, ""): tuple(range(64)), ("OMP", 2, 1, "1"): (0, 63)}
    made = [Record(Piece("masks", "digits", *piece), {}, pixels, {}, 9) for piece, pixels in of.items()]
    words, axes = drawn("masks", [], made[:-1])["pixels-digits"]
    assert "picked by SA, k = 2" in words
    assert [ax.get_title() for ax in axes[:2]] == ["1", "2"]
    points = axes[0].collections[0]
    assert points.get_offsets().tolist() == [[0, 0], [7, 7], [1, 1]]
    assert points.get_alpha()[0] == 1 > points.get_alpha()[1]
    _, axes = drawn("masks", [], made)["pixels-digits"]
    assert [ax.get_title() for ax in axes[:3]] == ["SA,\n1", "OMP,\n1", "SA,\n2"]


def test_lines_of_settings_have_what_is_printed_beside_them():
    made = [(2**i, summary("SA", 64, str(2**i), 0.9, 0.9 + 0.02 * i)) for i in range(3)]
    (ax,) = pictures.study_lines(made, "features at a time", "accuracy", {"digits": [(1, 0.99)]})
    ours, printed = ax.lines
    np.testing.assert_allclose(ours.get_xydata(), [(1, 0.9), (2, 0.91), (4, 0.92)])
    assert (printed.get_label(), list(printed.get_ydata())) == ("in print", [0.99])
    lengths = [abs(bar[1][1] - bar[0][1]) / 2 for bar in ax.collections[0].get_segments()]
    assert lengths == pytest.approx([one.std for _, one in made])
