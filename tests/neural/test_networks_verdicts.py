"""Tests that compare printed figures with records: means over seeds, the paired test, verdicts."""

import itertools
import json
import math
import statistics

import numpy as np
import pytest
from refusals import refuses

from proofs_checks.experiments.networks import verdicts
from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import Printed
from proofs_checks.experiments.networks.verdicts import Summary, compare_pairs, summarize, verdict
from sparselin.ledger import NEEDS_DATA, NOT_REPRODUCED, REPRODUCED, UNDECIDED


def of(*values, rows=(756, 756)):
    """Return a summary of these values for seeds 1, 2, …"""
    of_seeds = dict(enumerate(values, 1))
    return Summary("paper", "mice", "Sequential Attention", 50, "", "network", of_seeds, {}, rows)


def figure(mean=0.993, std=0.008, n_test=216, runs=5, within=None):
    """Return a printed figure; by default that of Mice Protein in Table 2."""
    return Printed("t", "paper", "mice", "SA", 50, "", "network", mean, std, 756, n_test, runs, within)


# --- printed figures -------------------------------------------------------------------------------------


# --- means -----------------------------------------------------------------------------------------------


def records(values, study="paper"):
    """Return the records of seeds 1, 2, … on Mice Protein."""
    pieces = [Piece(study, "mice", "random", 50, seed) for seed in range(1, len(values) + 1)]
    return [
        Record(piece, {"network": x}, (1,), {"selecting": float(piece.seed)}, 700 + piece.seed, "of 50")
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
