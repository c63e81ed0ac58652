"""Tests of the page of `make networks`: its numbers, tables, figures and paired tests."""

import dataclasses
import html
import itertools
import json
import math
import re
import statistics

import numpy as np
import pytest
from refusals import refuses

from proofs_checks.experiments.networks import pages, verdicts
from proofs_checks.experiments.networks.figures import draw_study, study_lines
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Record, Store, Study
from proofs_checks.experiments.networks.printed import Printed
from proofs_checks.experiments.networks.tables import Row, matrices
from proofs_checks.experiments.networks.verdicts import Summary, compare_pairs, summarize, verdict
from sparselin.ledger import NEEDS_DATA, NOT_REPRODUCED, REPRODUCED, UNDECIDED


def summary(method, k=5, setting="", *values, study="s", learner="network", n=9, **seconds):
    """Return a summary of the scores of seeds 1, 2, … on digits; by default a single score 0.5."""
    scores = dict(enumerate(values or (0.5,), 1))
    return Summary(
        study=study,
        data="digits",
        method=method,
        k=k,
        setting=setting,
        learner=learner,
        values=scores,
        seconds=seconds,
        rows=(n, n),
    )


def plain(summaries):
    """Return rows without a comparison."""
    return [Row(summary, None, None, None) for summary in summaries]


def drawn(study, summaries, records=()):
    """Return name ↦ (caption, axes) of the figures of a study."""
    found = draw_study(study, plain(summaries), records)
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
            piece, note = (
                Piece(study="paper", data="mice", method=method, k=k, seed=seed),
                "prefix of 50" if k == 5 else "",
            )
            seconds = {"selecting": 2.0 * seed}
            store.add(
                Record(
                    piece=piece,
                    scores={"network": value},
                    support=tuple(range(k)),
                    seconds=seconds,
                    rows=756,
                    note=note,
                ),
                1800.0,
            )
    study = Study(
        name="paper", title="The paper's protocol", source="Table 2", data=("mice",), pieces=None, run=None
    )
    run = pages.Run(
        command="python -m proofs_checks.experiments.networks",
        seconds=5.0,
        jobs=1,
        interrupted=False,
        left=0,
        **options,
    )
    return pages.write(folder, {"paper": study}, store, run).read_text(encoding="utf-8")


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
    address = "masks", "digits"
    of = {
        (*address, "SA", 2, 1, "1"): (0, 63),
        (*address, "SA", 2, 2, "1"): (0, 9),
        (*address, "SA", 2, 1, "2"): (3, 4),
        (*address, "LassoNet", 64, 1, ""): tuple(range(64)),
        (*address, "OMP", 2, 1, "1"): (0, 63),
    }
    made = [
        Record(piece=Piece(*piece), scores={}, support=pixels, seconds={}, rows=9)
        for piece, pixels in of.items()
    ]
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
    (ax,) = study_lines(made, "features at a time", "accuracy", {"digits": [(1, 0.99)]})
    ours, printed = ax.lines
    np.testing.assert_allclose(ours.get_xydata(), [(1, 0.9), (2, 0.91), (4, 0.92)])
    assert (printed.get_label(), list(printed.get_ydata())) == ("in print", [0.99])
    lengths = [abs(bar[1][1] - bar[0][1]) / 2 for bar in ax.collections[0].get_segments()]
    assert lengths == pytest.approx([one.std for _, one in made])


# --- printed figures are compared with records: means over seeds, the paired test, verdicts ---------------


def of(*values, rows=(756, 756)):
    """Return a summary of these values for seeds 1, 2, …"""
    of_seeds = dict(enumerate(values, 1))
    return Summary(
        study="paper",
        data="mice",
        method="Sequential Attention",
        k=50,
        setting="",
        learner="network",
        values=of_seeds,
        seconds={},
        rows=rows,
    )


def figure(mean=0.993, std=0.008, n_test=216, runs=5, within=None):
    """Return a printed figure; by default that of Mice Protein in Table 2."""
    return Printed(
        table="t",
        study="paper",
        data="mice",
        method="SA",
        k=50,
        setting="",
        learner="network",
        mean=mean,
        std=std,
        n_train=756,
        n_test=n_test,
        runs=runs,
        within=within,
    )


# --- means -----------------------------------------------------------------------------------------------


def records(values, study="paper"):
    """Return the records of seeds 1, 2, … on Mice Protein."""
    pieces = [
        Piece(study=study, data="mice", method="random", k=50, seed=seed)
        for seed in range(1, len(values) + 1)
    ]
    return [
        Record(
            piece=piece,
            scores={"network": x},
            support=(1,),
            seconds={"selecting": float(piece.seed)},
            rows=700 + piece.seed,
            note="of 50",
        )
        for piece, x in zip(pieces, values, strict=True)
    ]


def test_a_summary_is_mean_and_deviation_over_seeds():
    values = (0.91, 0.96, 0.92)
    (found,), (single,) = summarize(records(values)), summarize(records((0.9,)))
    assert found.address == ("paper", "mice", "random", 50, "", "network")
    assert found.mean == pytest.approx(statistics.fmean(values), rel=1e-15)
    assert found.std == pytest.approx(statistics.stdev(values), rel=1e-14)
    assert (found.seconds, found.rows, found.notes) == ({"selecting": 2.0}, (701, 703), ("of 50",))
    assert (str(found), str(single), math.isnan(single.std)) == ("0.930 ± 0.026", "0.900", True)


def test_learners_studies_and_times_are_rows_of_their_own_in_their_order():
    made = [*records((0.9, 0.8)), *records((0.7,), "honest")]
    made[0].scores["SVC"] = 0.5
    found = {(row.study, row.learner): dict(row.values) for row in summarize(made)}
    assert list(found) == [("paper", "network"), ("paper", "SVC"), ("honest", "network")]
    assert list(found.values()) == [{1: 0.9, 2: 0.8}, {1: 0.5}, {1: 0.7}]
    assert [row.mean for row in summarize(made, times=True)] == [1.5, 1.0]
    refuses(r"paper\|mice\|random\|50\|1\| is there twice", summarize, [*made, *made])
    refuses(r"network of paper\|mice\|random\|50\|2\| is not", summarize, records((0.9, math.nan)))


# --- the paired test -------------------------------------------------------------------------------------


def test_p_is_the_share_of_signs_ties_and_zeros_too(rng):
    for _ in range(200):
        delta = rng.integers(-3, 4, rng.integers(1, 7))
        base = rng.integers(80, 90, len(delta))
        sums = np.abs([delta @ signs for signs in itertools.product((-1, 1), repeat=len(delta))])
        found = compare_pairs(of(*((base + delta) / 100)), of(*(base / 100)))
        assert found.p == np.mean(sums >= abs(delta.sum())), delta
        assert found.difference == pytest.approx(np.mean(delta) / 100, abs=1e-15)


def test_only_common_seeds_are_compared():
    first, second = of(0.9, 0.8), of(0.5, 0.6, 0.7)
    assert compare_pairs(first, second)[:2] == (2, pytest.approx(0.3))
    refuses(r"1 to 20 seeds in common; got 0: .*\[1.*\].*\[\]", compare_pairs, first, of())
    refuses("got 21", compare_pairs, of(*[0.5] * 21), of(*[0.4] * 21))


# --- verdicts --------------------------------------------------------------------------------------------


def around(mean, error):
    """Return two values with this mean and standard error."""
    return mean - error, mean + error


SQUARED_ERRORS = [
    # of five runs, of four and of one: s²/m, with s' = 0
    (figure(0.9, 0.01), (0.9, 0.9), 0.01**2 / 5),
    (figure(0.9, 0.01, runs=4), (0.9, 0.9), 0.01**2 / 4),
    (figure(0.9, 0.01, runs=1), (0.9, 0.9), 0.01**2),
    # of ours alone: s'²/m' is 0.004² of two runs, and 0.006²/3 of three
    (figure(0.9, 0.0), around(0.9, 0.004), 0.004**2),
    (figure(0.9, 0.0), (0.894, 0.9, 0.906), 0.006**2 / 3),
    # none in print: 0.9·0.1/900 = 0.01², and 0.003² of ours; p is the printed one
    (figure(0.9, None, 900, runs=1), around(0.905, 0.003), 0.01**2 + 0.003**2),
    # nothing but the rounding of print
    (figure(0.9, 0.0), (0.9, 0.9), 0.0),
]


@pytest.mark.parametrize(("printed", "values", "square"), SQUARED_ERRORS)
def test_the_standard_error_of_a_figure(printed, values, square):
    error = math.sqrt(square + 0.001**2 / 12)
    found = verdict(printed, of(*values))
    assert (found.verdict, found.lacking) == (REPRODUCED, "")
    assert found.tolerance == pytest.approx(2 * error, rel=1e-9)
    assert found.difference == pytest.approx(statistics.fmean(values) - 0.9, abs=1e-15)
    for side in (-error, error):
        moved = [of(*(np.array(values) - found.difference + z * side)) for z in (1.99, 2.01, 2.99, 3.01)]
        judged = [verdict(printed, ours).verdict for ours in moved]
        assert judged == [REPRODUCED, UNDECIDED, UNDECIDED, NOT_REPRODUCED]


def test_sentences_on_two_means():
    """The standard errors are .01 and .02; twice the second exceeds .03."""
    letters = {NOT_REPRODUCED: "n", UNDECIDED: "m", REPRODUCED: "y"}
    for rule, error, expected in (
        (verdicts.larger, 0.01, "nmmmmy"),
        (verdicts.not_smaller, 0.01, "nmmyyy"),
        (verdicts.not_smaller, 0.02, "nmmmmy"),
        (verdicts.equal, 0.02, "nmmmmm"),
    ):
        found = [rule(z * error, error) for z in (-3.1, -2.9, -2.1, -1.9, 1.9, 2.1)]
        assert "".join(letters[verdict] for verdict in found) == expected


def test_what_a_figure_lacks():
    for ours, lacking in (
        (None, "no record"),
        (of(0.993), "1 seed"),
        (of(0.99, 0.99, rows=(500, 756)), "500 of 756 training rows"),
        (of(0.99, 0.99, rows=(756, 1081)), "1081 training rows, 756 in print"),
    ):
        found = verdict(figure(), ours)
        assert (found.verdict, found.lacking, math.isnan(found.difference)) == (NEEDS_DATA, lacking, True)


def test_of_a_figure_with_its_own_tolerance_one_seed_is_enough():
    assert verdict(figure(0.9, None, within=0.003), of(0.902)).verdict is REPRODUCED
    assert verdict(figure(0.9, None, within=0.003), of(0.896)).verdict is NOT_REPRODUCED
    refuses(
        r"ours must be a share in \[0, 1\]; got 99.3 for paper\|mice\|", verdict, figure(), of(99.3, 99.3)
    )


@pytest.mark.parametrize("seconds", [0.99, 1.01, 3.99, 4.01])
def test_times_are_compared_as_ratios(seconds):
    """The printed time is twice that of the other method."""
    printed = figure(100.0, 1.0), figure(50.0, 1.0)
    found = verdicts.verdict_of_times(printed, (of(seconds, seconds), of(1.0, 1.0)))
    assert found.verdict is (REPRODUCED if 1 < seconds < 4 else NOT_REPRODUCED)
    assert found.difference == pytest.approx(math.log2(seconds / 2))
    assert verdicts.verdict_of_times(printed, (of(2.0, 2.0), None)).lacking == "no record"


def test_of_several_the_worst_counts():
    worst_first = [NOT_REPRODUCED, NEEDS_DATA, UNDECIDED, REPRODUCED]
    for i, worst in enumerate(worst_first):
        assert verdicts.combine(worst_first[: i - 5 : -1]) is worst
    refuses("got none", verdicts.combine, [])


# --- stored records --------------------------------------------------------------------------------------


def test_records_are_read_back(tmp_path):
    made, file = records((0.9, 0.8)), tmp_path / "records.jsonl"
    assert verdicts.read_records(file) == ()
    lines = [json.dumps(record.as_json()) for record in made]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert list(verdicts.read_records(file)) == made
    file.write_text("\n".join([*lines, '{"piece": 3}']), encoding="utf-8")
    refuses(r"records.jsonl, line 3, must be a record", verdicts.read_records, file)
