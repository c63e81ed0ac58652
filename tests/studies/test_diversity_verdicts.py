"""The verdicts of the study of diversity on made records."""

import dataclasses

import pytest
from diversity_runs import SETTINGS, as_the_paper_says, made, shortened

from proofs_checks.experiments.diversity.findings import Finding, extremes, judge
from proofs_checks.experiments.diversity.regularizers import REGULARIZERS


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


CHANGES = [
    ("ld", {"error": 9.0}, {"regularized", "mild", "mild in proportion", "alike", "sigma"}),
    ("no-reg", {"error": 9.0}, {"greedy", "growth", "sigma"}),
    ("no-reg", {"value": 1.0}, {"diverse", "trend no-reg"}),
    ("lasso", {"value": 0.3}, {"trend lasso"}),
    ("sv", {"r2": 0.1}, {"fit"}),
]


@pytest.mark.parametrize(("method", "change", "fallen"), CHANGES)
def test_a_change_of_one_method_is_seen_where_it_belongs(method, change, fallen):
    def changed(one):
        if (one.method, one.k) not in ((method, 20), (method, 30)):
            return one
        values = {"error": one.target[0.1][0], "value": one.diversity["ld"], "r2": one.r2} | change
        return made(method, one.k, values["error"], values["value"], values["r2"])

    found = verdicts([changed(one) for one in as_the_paper_says()])
    assert {finding.key for finding in found.values() if finding.verdict != "shows"} == fallen


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


def test_verdicts_by_their_share():
    def verdict(held, total):
        return Finding(key="", panel="", claim="", held=held, total=total, numbers="").verdict

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
