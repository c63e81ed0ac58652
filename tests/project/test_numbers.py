"""The numbers of README and docs agree with what is stored: the ledger, the records, the benchmarks."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from commands import invoke

from proofs_checks.experiments import inference
from sparselin.ledger import EXPERIMENTAL, Verdict

ROOT = Path(__file__).parents[2]
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
        about = 0 if row["paper"] != "ours" else 2
        if row["verdict"] in results:
            about = 1
        kinds[about][Verdict(row["verdict"]).name] += 1
    return kinds


COUNTED = {
    "failures": (
        "README.md",
        "Of the {all} printed statements of three papers, experiments apart, {FALSE} are false and"
        " {CORRECTED} hold once corrected",
    ),
    "results": (
        "docs/claims.md",
        "Of the {results} results of experiments {REPRODUCED} are reproduced, {NOT_REPRODUCED} are not,"
        " {UNDECIDED} are undecided, {CONTRADICTED} are contradicted by the paper's own tables, and"
        " {NEEDS_DATA} need data. Another {ours} statements are our own.",
    ),
    "ledger": (
        "docs/claims.md",
        "has {rows} statements, of which {results} are results of experiments. The checks drew {cases:,}"
        " designs and other cases",
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
    sentence = f"{number} steps: {number} agree, none violates, {number} are undecided"
    steps, agree, undecided = numbers(sentence, "docs/verification.md")
    table = [
        [int(cell) for cell in line.split("|")[2:8]]
        for line in (ROOT / "docs/verification.md").read_text(encoding="utf-8").splitlines()
        if re.match(r"\| \w+ \| \d+ \|", line)
    ]
    table, flow = table[:-16], table[-16:]
    sums = [sum(column) for column in zip(*table, strict=True)]
    assert sums[:4] == [steps, agree, undecided, 0]
    sentence = f"{number} designs, {number} events: {number} designs agree, none violates, {number} are"
    totals = [sum(column) for column in zip(*flow, strict=True)]
    assert totals[:4] == numbers(sentence, "docs/verification.md")
    ties = numbers(f"{number} steps have an exact tie; at {number} of them", "docs/verification.md")
    assert sums[4:] == ties


@pytest.mark.parametrize(("panel", "data"), [("a", "y"), ("b", "X")])
def test_diversity_counts_as_the_ledger_does(panel, data):
    """The first column of the table is seed 0, whose counts the ledger states."""
    cells = rf"\({panel}\) \| {data} perturbed: the regularized error is below greedy's \| (\d+) of (\d+)"
    below, pairs = numbers(cells, "docs/diversity.md")
    words = rf"egularized error is below greedy's in {below} of {pairs} cells"
    assert any(re.search(words, row["consequences"]) for row in LEDGER)


def test_the_page_of_networks_counts_its_records():
    lines = (ROOT / "proofs_checks" / "networks_records.jsonl").read_text(encoding="utf-8").splitlines()
    assert f"stores {len(lines):,} of its" in text("docs/networks-run.md")


ROWS = {row["title"]: row for row in BENCHMARKS["rows"]}
QUOTED = [
    [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs/speed.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and re.search(r"\| [\d.]+ ms \|", line)
]


def test_some_benchmarks_are_quoted():
    assert len(QUOTED) >= 5


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda cells: cells[0])
def test_the_page_of_speed_quotes_the_stored_benchmarks(quoted):
    title, ours, peers = quoted
    way = ROWS[title]["ways"][0]
    assert way["pause"] == 0
    assert ours == f"{way['ms']:.3g} ms"
    for words in peers.split(", "):
        name, ratio = words.rsplit(" ", 1)
        assert ratio == f"{way['peers'][name]['ratio']:.2g}"


def test_the_date_of_the_benchmarks_is_said():
    assert BENCHMARKS["date"][:10] in text("docs/speed.md")


PAGE = (ROOT / "docs" / "guide" / "inference.md").read_text(encoding="utf-8")
INFERENCE = json.loads(inference.FILE.read_text(encoding="utf-8"))
EXACT = [name for name, case in inference.CASES.items() if not case.approximate]


def test_the_page_has_the_table_and_the_numbers_of_the_record():
    assert "\n".join(inference.table(INFERENCE)) in PAGE
    null, first, second = (min(case[snr]["designs"] for case in INFERENCE.values()) for snr in inference.SNR)
    assert f"at least {null:,} designs with μ = 0, and {min(first, second):,} each" in PAGE
    assert f"below 0.05 in {100 * INFERENCE['omp']['0']['naive_below']:.0f} % of the cases" in PAGE


@pytest.mark.parametrize("snr", inference.SNR)
@pytest.mark.parametrize("name", EXACT)
def test_p_values_are_uniform_and_intervals_cover(name, snr):
    found = INFERENCE[name][snr]
    assert min([*found["ks_steps"].values(), *found["ks_coefficients"].values(), 1]) > 0.001
    if "covers" in found:
        assert abs(found["covers"] - 0.95) < max(0.0065, 3 * found["error"])


def test_the_experiment_runs_and_keeps_other_cases(tmp_path):
    file = tmp_path / "record.json"
    for name in ("ebic", "heavy"):
        arguments = ["--designs", "10", "--jobs", "1", "--case", name, "--output", str(file)]
        output = invoke(*arguments, command=inference.inference)
    assert list(json.loads(file.read_text(encoding="utf-8"))) == ["ebic", "heavy"]
    assert output.count("| OMP") == 2
