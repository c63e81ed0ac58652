"""The numbers of README and docs agree with what is stored: the ledger, the records, the benchmarks."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from sparselin.ledger import EXPERIMENTAL, Verdict

ROOT = Path(__file__).parent.parent
LEDGER = json.loads((ROOT / "proofs_checks" / "ledger.json").read_text(encoding="utf-8"))["rows"]
BENCHMARKS = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))


def text(name):
    """Return a page without line breaks."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def counts():
    """Count rows by verdict: printed statements, results of experiments, our own statements."""
    results = {verdict.value for verdict in (*EXPERIMENTAL, Verdict.CONTRADICTED)}
    kinds = [Counter(), Counter(), Counter()]
    for row in LEDGER:
        about = 1 if row["verdict"] in results else 0 if row["paper"] != "ours" else 2
        kinds[about][Verdict(row["verdict"]).name] += 1
    return kinds


COUNTED = {
    "statements": (
        "README.md",
        "of [{all} printed statements](proofs_checks/LEDGER.md), results of experiments aside, {HOLDS} hold,"
        " {MISPRINT} hold but for a misprint, {CORRECTED} hold once corrected, {FALSE} are false as printed,"
        " {EMPIRICAL} are empirical, {OPEN} open; {ours} more are our own.",
    ),
    "results": (
        "README.md",
        "Of {results} results of experiments {REPRODUCED} are reproduced, {NOT_REPRODUCED} not reproduced,"
        " {UNDECIDED} undecided, {CONTRADICTED} contradicted by the paper's own tables, {NEEDS_DATA} need"
        " data",
    ),
    "failures": (
        "README.md",
        "Of {all} printed statements, results of experiments aside, {FALSE} are false, Lemma 3.4 and equation"
        " (3) among them, and {CORRECTED} hold once corrected",
    ),
    "ledger": (
        "docs/claims.md",
        "has {rows} statements, {results} of them results of experiments, {cases:,} cases",
    ),
    "page": (
        "docs/claims.md",
        "Of the {all} printed statements {HOLDS} hold, {MISPRINT} hold but for a misprint (an index, a"
        " dimension, a reference), {CORRECTED} hold once corrected, {FALSE} are false, {EMPIRICAL} are"
        " empirical, and {OPEN} open.",
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_pages_count_the_rows_of_the_ledger(name):
    page, sentence = COUNTED[name]
    printed, results, ours = counts()
    known = printed | results | {"all": printed.total(), "results": results.total(), "ours": ours.total()}
    known |= {"rows": len(LEDGER), "cases": sum(row["cases"] for row in LEDGER)}
    assert sentence.format(**known) in text(page)


def numbers(pattern, page):
    """Return the numbers in the one place of a page that matches a pattern."""
    found = re.findall(pattern, text(page))
    assert len(found) == 1
    return [int(word.replace(",", "")) for word in (found[0] if isinstance(found[0], tuple) else found)]


def test_verification_is_the_sum_of_its_table():
    number = r"([\d,]+)"
    agree, steps, undecided = numbers(
        f"{number} of {number} steps agree, none violates, {number} cannot be decided", "README.md"
    )
    page = f"{number} steps: {number} agree, none violates, {number} are undecided"
    assert numbers(page, "docs/verification.md") == [steps, agree, undecided]
    table = [
        [int(cell) for cell in line.split("|")[2:8]]
        for line in (ROOT / "docs/verification.md").read_text(encoding="utf-8").splitlines()
        if re.match(r"\| \w+ \| \d+ \|", line)
    ]
    sums = [sum(column) for column in zip(*table, strict=True)]
    assert sums[:4] == [steps, agree, undecided, 0]
    ties = numbers(f"{number} steps have an exact tie; at {number} of them", "docs/verification.md")
    assert sums[4:] == ties


def test_bounds_and_diversity_are_those_of_their_pages():
    number = r"([\d,]+)"
    assert numbers(f"Of {number} lower bounds", "README.md") == numbers(
        f"{number} promises had their hypotheses met and none was broken", "docs/guarantees.md"
    )
    labels, images = (
        re.search(
            rf"\({panel}\) \| {what} perturbed: the regularized error is below greedy's \| (\d+ of \d+)", page
        )[1]
        for page in [text("docs/diversity.md")]
        for panel, what in (("a", "y"), ("b", "X"))
    )
    assert f"{labels} comparisons with the labels perturbed, {images} with the images" in text("README.md")


def test_the_page_of_networks_counts_its_records():
    lines = (ROOT / "proofs_checks" / "networks_records.jsonl").read_text(encoding="utf-8").splitlines()
    assert f"stored are {len(lines):,} of its" in text("docs/networks-tables.md")


ROWS = {row["title"]: row for row in BENCHMARKS["rows"]}
QUOTED = [
    [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and re.search(r"\| [\d.]+ ms \|", line)
]


def test_some_benchmarks_are_quoted():
    assert len(QUOTED) >= 5


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda cells: cells[0])
def test_readme_quotes_the_stored_benchmarks(quoted):
    title, ours, peers = quoted
    way = ROWS[title]["ways"][0]
    assert way["pause"] == 0
    assert ours == f"{way['ms']:.3g} ms"
    for words in peers.split(", "):
        name, ratio = words.rsplit(" ", 1)
        assert ratio == f"{way['peers'][name]['ratio']:.2g}"


def test_the_date_of_the_benchmarks_is_said():
    assert BENCHMARKS["date"][:10] in text("README.md")
