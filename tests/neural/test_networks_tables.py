"""Tests that the pages of the data sets follow the records: figures, means, and comparisons."""

import math
import re
from collections import Counter
from pathlib import Path

from made_up_records import made_up

from proofs_checks.experiments.networks import site
from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import OWN
from proofs_checks.experiments.networks.tables import judged_all, rows
from proofs_checks.experiments.networks.verdicts import read_records, summarize
from sparselin.ledger import EXPERIMENTAL, UNDECIDED

ROOT = Path(__file__).parents[2]
PAGE, RECORDS = ROOT / "docs" / "networks-tables.md", ROOT / "proofs_checks" / "networks_records.jsonl"


def table_rows(text):
    """Return the cells of each line of the tables in a text, including the headings."""
    lines = [line for line in text.splitlines() if re.match(r"\| |\|$", line)]
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]


def test_the_pages_have_every_figure_and_every_mean():
    made = made_up()
    index, *others = site.pages(made).values()
    line = "| 0.993 ± 0.008 | 0.992 ± 0.008 | −0.0010 | 0.0102 | reproduced | 5 | 756 |"
    assert line.replace(" ± ", "\u00a0±\u00a0") in "".join(others)
    assert "Without records: Activity (paper, " in index
    assert list(site.pages(made))[1:] == ["mice", "mnist", "fashion", "isolet", "coil20"]
    verdicts = Counter(figure.verdict for figure in judged_all(made) if figure.printed.data != "activity")
    assert verdicts[UNDECIDED] > 5
    for counted in index.split("The same figures by printed table:"):
        heads, *lines = table_rows(counted)
        sums = {head: sum(int(line[i]) for line in lines) for i, head in enumerate(heads) if i}
        assert list(sums.values()) == [verdicts.total(), *(verdicts[verdict] for verdict in EXPERIMENTAL)]
    printed = [page.split("## Means of our runs")[0] for page in others]
    sections = [section for page in printed for section in page.split("### ")[1:]]
    assert all(("| 2 SE |" in part) != bool(re.search("Table 6|three learners", part)) for part in sections)
    found = [line for page in printed for line in table_rows(page) if line[0] != "method"]
    assert {len(line) for line in found} == {8}
    assert Counter(line[5].partition(":")[0] for line in found) == {v.value: n for v, n in verdicts.items()}


def _scores(*those, study="paper"):
    """Return three records on Mice Protein for each (method, setting, score, training rows)."""
    return [
        Record(Piece(study, "mice", method, 50, seed, setting), {"network": score}, (), {"selecting": 2}, n)
        for method, setting, score, n in those
        for seed in (1, 2, 3)
    ]


def test_means_have_a_row_for_each_method_and_setting_and_the_best_in_bold():
    made = _scores(("random", "", 0.75, 500), ("OMP", "", 0.5, 500), ("all features", "", 0.875, 1000))
    means = site.pages(made)["mice"].split("## Means of our runs")[1]
    assert "Mice Protein: 3 seeds, 500 rows (3 seeds, 1,000 rows: *all features*)." in means
    assert [[cell.replace("\u00a0", " ") for cell in line] for line in table_rows(means)] == [
        ["method", "k = 50", "all features", "seconds"],
        ["random", "**0.750 ± 0.000**", "", "2.0"],
        ["OMP", "0.500 ± 0.000", "", "2.0"],
        ["all features", "", "0.875 ± 0.000", ""],
    ]


def test_methods_are_compared_on_as_many_rows():
    """A baseline is compared with our Sequential Attention, not with the released one on more rows."""
    baseline, released = ("random", "", 0.75, 500), ("Sequential Attention", "", 0.5, 1000)
    own = ("Sequential Attention", OWN, 0.625, 500)
    assert rows(_scores(baseline, released), ())[0].test is None
    assert rows(_scores(baseline, released, own), ())[0].test[1:] == (0.125, 0.25)


def test_settings_of_one_method_are_compared_with_the_first():
    """Settings with a corrected defect are compared with the released one, and ours with the plain one.

    A setting with other training rows is compared only with settings that have the same rows.
    """
    for study, expected in {
        "switches": {"as released": None, "Adam": 0.125, "all": None},
        "adaptivity": {"1": None, "2": 0.125, "2, as released": 0.25},
        "masks": {"l1": -0.125, "softmax": None},
        "paper": {"": None, OWN: 0.125},
    }.items():
        given = [("Sequential Attention", setting, 0.5 + i / 8, 500) for i, setting in enumerate(expected)]
        found = rows(_scores(*given, study=study), ())
        assert {row.ours.setting: row.test and row.test.difference for row in found} == expected


def test_the_leads_over_linear_omp_that_the_page_has_are_those_of_the_records():
    """A cell is "number ahead: method +lead; …", largest first; leads beyond two standard errors are bold."""
    known = [
        row for row in summarize(read_records(RECORDS)) if (row.study, row.learner) == ("honest", "network")
    ]
    table = PAGE.read_text(encoding="utf-8").split("| features |")[1].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        k, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for data, cell in zip(("mnist", "fashion", "isolet", "coil20"), cells, strict=True):
            of = {row.method: row for row in known if (row.data, row.k) == (data, int(k))}
            omp = of["linear OMP"]
            ahead = sorted((row for row in of.values() if row.mean > omp.mean), key=lambda row: -row.mean)
            number, _, leads = cell.partition(": ")
            assert (len(of), int(number)) == (17, len(ahead))
            for row, words in zip(ahead, filter(None, leads.split("; ")), strict=False):
                bold = "**" * (row.mean - omp.mean > 2 * math.hypot(row.error, omp.error))
                assert words == f"{bold}{row.method} +{row.mean - omp.mean:.3f}{bold}".replace("+0", "+")
