"""Tests that compare printed figures with records: means over seeds, the paired test, verdicts."""

import itertools
import json
import math
import re
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

from proofs_checks.experiments.networks import verdicts
from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import TABLE_2, TABLES, TITLES, Printed, attention_rows
from proofs_checks.experiments.networks.verdicts import (
    Summary,
    combine,
    compare_pairs,
    equal,
    larger,
    not_smaller,
    read_records,
    summarize,
    verdict,
    verdict_of_times,
)
from sparselin.ledger import NEEDS_DATA, NOT_REPRODUCED, REPRODUCED, UNDECIDED

ROOT = Path(__file__).parents[2]


def of(*values, rows=(756, 756), **fields):
    """Return a summary of these values for seeds 1, 2, …"""
    address = {"study": "paper", "data": "mice", "method": "Sequential Attention", "k": 50, "setting": ""}
    given = address | {"learner": "network"} | fields
    return Summary(**given, values=dict(enumerate(values, 1)), seconds={}, rows=rows)


def figure(mean=0.993, std=0.008, n_test=216, runs=5, within=None):
    """Return a printed figure; by default that of Mice Protein in Table 2."""
    return Printed("t", "paper", "mice", "SA", 50, "", "network", mean, std, 756, n_test, runs, within)


# --- printed figures -------------------------------------------------------------------------------------


def test_figures_are_those_of_the_tables_and_no_two_have_one_address():
    for name, table in TABLES.items():
        addresses = [figure.address for data in TITLES for figure in table(data)]
        assert len(addresses) == len(set(addresses)) > 0, name
        assert all(figure.table == name for data in TITLES for figure in table(data))
    for data, title in TITLES.items():
        found = [
            (round(1000 * figure.mean), round(1000 * figure.std)) for figure in TABLES["SA-table-2"](data)
        ]
        assert found == list(TABLE_2[title])


@pytest.mark.parametrize(
    ("data", "rows"), [("mice", (756, 216)), ("fashion", (52_500, 10_000)), ("isolet", (5458, 1559))]
)
def test_rows_of_the_released_protocol(data, rows):
    assert attention_rows(data) == rows


def test_nothing_here_needs_torch():
    """The modules are imported by a fresh interpreter in which the import of torch fails."""
    names = ["proofs_checks.experiments.networks.verdicts", "proofs_checks.test_networks_tables"]
    code = f"import sys; sys.modules['torch'] = None; import {', '.join(names)}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# --- means -----------------------------------------------------------------------------------------------


def records(values, study="paper", **scores):
    return [
        Record(
            Piece(study, "mice", "random", 50, seed), {"network": x} | scores, (1,),
            {"selecting": float(seed)}, 700 + seed, "of 50",
        )
        for seed, x in enumerate(values, 1)
    ]  # fmt: skip


def test_a_summary_is_mean_and_deviation_over_seeds():
    values = (0.91, 0.96, 0.92)
    (found,) = summarize(records(values))
    assert found.address == ("paper", "mice", "random", 50, "", "network")
    assert found.mean == pytest.approx(statistics.fmean(values), rel=1e-15)
    assert found.std == pytest.approx(statistics.stdev(values), rel=1e-14)
    assert (found.seconds, found.rows, found.notes) == ({"selecting": 2.0}, (701, 703), ("of 50",))
    assert str(found) == "0.930 ± 0.026"

    (single,) = summarize(records((0.9,)))
    assert (str(single), math.isnan(single.std)) == ("0.900", True)


def test_learners_studies_and_times_are_rows_of_their_own_in_their_order():
    made = [*records((0.9, 0.8), SVC=0.5), *records((0.7,), "honest")]
    found = [(row.study, row.learner, len(row.values)) for row in summarize(made)]
    assert found == [("paper", "network", 2), ("paper", "SVC", 2), ("honest", "network", 1)]
    assert [row.mean for row in summarize(made, times=True)] == [1.5, 1.0]


def test_a_score_that_one_seed_lacks_is_of_the_others():
    made = records((0.9, 0.8))
    made[0].scores["SVC"] = 0.5
    assert [dict(row.values) for row in summarize(made)] == [{1: 0.9, 2: 0.8}, {1: 0.5}]


def test_records_that_are_no_summary():
    refuses(r"paper\|mice\|random\|50\|1\| is there twice", summarize, records((0.9,)) * 2)
    refuses(r"network of paper\|mice\|random\|50\|2\| is not", summarize, records((0.9, math.nan)))


# --- the paired test -------------------------------------------------------------------------------------


def by_enumeration(delta):
    """Return the share of signs whose sum is at least the observed one, computed in integers."""
    sums = [abs(sum(a * b for a, b in zip(signs, delta, strict=True)))
            for signs in itertools.product((-1, 1), repeat=len(delta))]  # fmt: skip
    return sum(total >= abs(sum(delta)) for total in sums) / len(sums)


def test_p_is_the_share_of_signs_ties_and_zeros_too(rng):
    for _ in range(200):
        delta = rng.integers(-3, 4, rng.integers(1, 7)).tolist()
        base = rng.integers(80, 90, len(delta))
        found = compare_pairs(of(*((base + delta) / 100)), of(*(base / 100)))
        assert found.p == by_enumeration(delta), delta
        assert found.difference == pytest.approx(np.mean(delta) / 100, abs=1e-15)


@pytest.mark.parametrize(("n", "least"), [(1, 1.0), (3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_the_least_p_of_few_seeds(n, least):
    first, second = of(*np.linspace(0.8, 0.9, n)), of(*np.linspace(0.1, 0.3, n))
    assert compare_pairs(first, second).p == compare_pairs(second, first).p == least
    assert compare_pairs(first, first) == (n, 0.0, 1.0)


def test_only_common_seeds_are_compared():
    first, second = of(0.9, 0.8, 0.7), of(0.5, 0.6)
    assert compare_pairs(first, second)[:2] == (2, pytest.approx(0.3))
    refuses(r"1 to 20 seeds in common; got 0: .*\[1\].*\[\]", compare_pairs, of(0.9), of())
    refuses("got 21", compare_pairs, of(*[0.5] * 21), of(*[0.4] * 21))


# --- verdicts --------------------------------------------------------------------------------------------


def around(mean, error):
    """Return two values with this mean and standard error."""
    return mean - error, mean + error


@pytest.mark.parametrize(
    ("printed", "values", "square"),
    [
        # of five runs, of four and of one: s²/m, with s' = 0
        (figure(0.9, 0.01), (0.9, 0.9), 0.01**2 / 5),
        (figure(0.9, 0.01, runs=4), (0.9, 0.9), 0.01**2 / 4),
        (figure(0.9, 0.01, runs=1), (0.9, 0.9), 0.01**2),
        # of ours alone: s'²/m' is 0.004² of two runs, and 0.006²/3 of three
        (figure(0.9, 0.0), around(0.9, 0.004), 0.004**2),
        (figure(0.9, 0.0), (0.894, 0.9, 0.906), 0.006**2 / 3),
        # none in print: 0.9·0.1/900 = 0.01², and 0.003² of ours; p is the printed one
        (figure(0.9, None, 900, runs=1), around(0.9, 0.003), 0.01**2 + 0.003**2),
        (figure(0.9, None, 900, runs=1), around(0.905, 0.003), 0.01**2 + 0.003**2),
        # nothing but the rounding of print
        (figure(0.9, 0.0), (0.9, 0.9), 0.0),
    ],
)
def test_the_standard_error_of_a_figure(printed, values, square):
    found = verdict(printed, of(*values))
    assert (found.verdict, found.lacking) == (REPRODUCED, "")
    assert found.tolerance == pytest.approx(2 * math.sqrt(square + 0.001**2 / 12), rel=1e-9)
    assert found.difference == pytest.approx(statistics.fmean(values) - 0.9, abs=1e-15)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("errors", "expected"),
    [(1.99, REPRODUCED), (2.01, UNDECIDED), (2.99, UNDECIDED), (3.01, NOT_REPRODUCED)],
)
def test_a_figure_is_judged_alike_on_both_sides(sign, errors, expected):
    error = math.hypot(0.02 / 5**0.5, 0.001 / 12**0.5)
    found = verdict(figure(0.5, 0.02), of(*[0.5 + sign * errors * error] * 3))
    assert found.verdict is expected
    assert found.difference == pytest.approx(sign * errors * error)


@pytest.mark.parametrize(("error", "expected"), [(0.0149, REPRODUCED), (0.0151, UNDECIDED)])
def test_a_figure_whose_error_is_large_is_undecided_and_not_met(error, expected):
    assert verdict(figure(0.8, 0.0), of(*around(0.8, error))).verdict is expected
    assert verdict(figure(0.8, 0.0), of(*around(0.8 + 4 * error, error))).verdict is NOT_REPRODUCED


def test_sentences_on_two_means():
    """The standard errors are .01 and .02; twice the second exceeds .03."""
    at = (-3.1, -2.9, -2.1, -1.9, 1.9, 2.1)
    no, maybe, yes = NOT_REPRODUCED, UNDECIDED, REPRODUCED

    def found(rule, error):
        return [rule(z * error, error) for z in at]

    for error in (0.01, 0.02):
        assert found(larger, error) == [no, maybe, maybe, maybe, maybe, yes]
    assert found(not_smaller, 0.01) == [no, maybe, maybe, yes, yes, yes]
    assert found(not_smaller, 0.02) == [no, maybe, maybe, maybe, maybe, yes]
    assert found(equal, 0.01) == [no, maybe, maybe, yes, yes, maybe]
    assert found(equal, 0.02) == [no, maybe, maybe, maybe, maybe, maybe]
    assert [rule(0.0, 0.0) for rule in (larger, not_smaller, equal)] == [maybe, yes, yes]
    assert [larger(x, 0.0) for x in (-0.001, 0.001)] == [no, yes]


def test_rates_of_false_verdicts_that_the_docstring_has():
    """Simulate the probability of |D| > 3 SE for equal means, with the runs and spreads named there."""
    rng = np.random.default_rng(0)

    def rate(m, n, ratio=1.0, draws=200_000):
        a, b = rng.normal(size=(draws, m)), ratio * rng.normal(size=(draws, n))
        error = np.sqrt(a.var(1, ddof=1) / m + b.var(1, ddof=1) / n)
        return 100 * np.mean(np.abs(a.mean(1) - b.mean(1)) > 3 * error)

    text = " ".join(str(verdicts.__doc__).split())
    named = re.search(
        r"probability (\S+) % for five runs each with equal spread, (\S+) % for five and three, "
        r"(\S+) % for three and three, and (\S+) % at most",
        text,
    )
    least, _, three, _ = expected = [float(percent) for percent in named.groups()]
    found = rate(5, 5), rate(5, 3), rate(3, 3), rate(5, 3, 1000.0)
    assert found == pytest.approx(expected, abs=0.2)
    for number, word in ((5, "five"), (7, "seven"), (16, "16"), (24, "24")):
        ends = [100 * (1 - (1 - p / 100) ** number) for p in (least, three)]
        assert re.search(rf"of {word}\D* in {ends[0]:.0f} to {ends[1]:.0f} %", text), (number, ends)


@pytest.mark.parametrize(
    ("ours", "lacking"),
    [
        (None, "no record"),
        (of(0.993), "1 seed"),
        (of(0.99, 0.99, rows=(500, 756)), "500 of 756 training rows"),
        (of(0.99, 0.99, rows=(756, 1081)), "1081 training rows, 756 in print"),
    ],
)
def test_what_a_figure_lacks(ours, lacking):
    found = verdict(figure(), ours)
    assert (found.verdict, found.lacking) == (NEEDS_DATA, lacking)
    assert math.isnan(found.difference)


def test_of_a_figure_with_its_own_tolerance_one_seed_is_enough():
    assert verdict(figure(0.9, None, within=0.003), of(0.902)).verdict is REPRODUCED
    assert verdict(figure(0.9, None, within=0.003), of(0.896)).verdict is NOT_REPRODUCED


def test_percents_are_no_shares():
    with pytest.raises(ValueError, match=r"ours must be a share in \[0, 1\]; got 99.3 for paper\|mice\|"):
        verdict(figure(), of(99.3, 99.3))


def test_times_are_compared_as_ratios():
    """The printed time is twice that of the other method."""
    printed = figure(100.0, 1.0), figure(50.0, 1.0)
    for seconds in (0.99, 1.01, 3.99, 4.01):
        found = verdict_of_times(printed, (of(seconds, seconds), of(1.0, 1.0)))
        assert found.verdict is (REPRODUCED if 1 < seconds < 4 else NOT_REPRODUCED)
        assert found.difference == pytest.approx(math.log2(seconds / 2))
    assert verdict_of_times(printed, (of(2.0, 2.0), None)).lacking == "no record"


def test_of_several_the_worst_counts():
    assert combine([REPRODUCED, NEEDS_DATA, NOT_REPRODUCED]) is NOT_REPRODUCED
    assert combine([REPRODUCED, UNDECIDED, NEEDS_DATA]) is NEEDS_DATA
    assert combine([REPRODUCED, UNDECIDED]) is UNDECIDED
    assert combine([UNDECIDED, NOT_REPRODUCED]) is NOT_REPRODUCED
    assert combine([REPRODUCED] * 3) is REPRODUCED
    refuses("got none", combine, [])


# --- stored records --------------------------------------------------------------------------------------


def test_records_are_read_back(tmp_path):
    made = records((0.9, 0.8))
    file = tmp_path / "records.jsonl"
    assert read_records(file) == ()
    file.write_text("".join(json.dumps(record.as_json()) + "\n" for record in made), encoding="utf-8")
    assert list(read_records(file)) == made
    file.write_text(file.read_text() + '{"piece": 3}\n', encoding="utf-8")
    refuses(r"records.jsonl, line 3, must be a record", read_records, file)
