"""Tests that the pages of the data sets follow the records: figures, means, and comparisons."""

import importlib
import math
import re
import sys
from pathlib import Path

import pytest
from made_up_records import made_up

from proofs_checks.experiments.networks import site
from proofs_checks.experiments.networks.pieces import Piece, Record
from proofs_checks.experiments.networks.printed import OWN
from proofs_checks.experiments.networks.tables import judged_all, matrices, rows
from proofs_checks.experiments.networks.verdicts import read_records, summarize
from sparselin.ledger import EXPERIMENTAL, UNDECIDED

ROOT = Path(__file__).parents[2]
PAGE, RECORDS = ROOT / "docs" / "networks-tables.md", ROOT / "proofs_checks" / "networks_records.jsonl"


def table_rows(text):
    """Return the cells of each line of the tables in a text, including the headings."""
    return [
        line.removeprefix("| ").removesuffix(" |").split(" | ")
        for line in text.splitlines()
        if re.match(r"\| |\|$", line)
    ]


def test_the_pages_have_every_figure_and_every_mean():
    made = made_up()
    index, *others = site.pages(made).values()
    text = "\n".join(others)
    line = (
        "| Sequential Attention | 0.993 ± 0.008 | 0.992 ± 0.008 | −0.0010 | 0.0102 | reproduced | 5 | 756 |"
    )
    assert line.replace(" ± ", "\u00a0±\u00a0") in text
    assert "Without records: Activity (paper, " in index
    assert list(site.pages(made))[1:] == ["mice", "mnist", "fashion", "isolet", "coil20"]
    judged = [figure for figure in judged_all(made) if figure.printed.data != "activity"]
    by_data, by_table = index.split("The same figures by printed table:")
    for counted in (by_data, by_table):
        heads, *lines = table_rows(counted)
        assert sum(int(line[1]) for line in lines) == len(judged)
        for verdict in EXPERIMENTAL:
            number = sum(figure.verdict is verdict for figure in judged)
            assert sum(int(line[heads.index(verdict.value)]) for line in lines) == number
    printed = [page.split("## Means of our runs")[0] for page in others]
    sections = [section for page in printed for section in page.split("### ")[1:]]
    assert all(("| 2 SE |" in part) != bool(re.search("Table 6|three learners", part)) for part in sections)
    found = [line for page in printed for line in table_rows(page) if line[0] != "method"]
    assert {len(line) for line in found} == {8}
    for verdict in EXPERIMENTAL:
        number = sum(figure.verdict is verdict for figure in judged)
        assert sum(line[5].startswith(verdict.value) for line in found) == number
    assert sum(figure.verdict is UNDECIDED for figure in judged) > 5
    assert all("### paper\n" in page for page in others)


@pytest.mark.parametrize(
    ("scores", "mark"), [((0.727,) * 5, "?"), ((0.7,) * 5, "?"), ((0.92,) * 5, "✗"), ((0.893,) * 5, "✓")]
)
def test_each_verdict_has_its_mark(scores, mark):
    """The printed figures on ISOLET are .727 ± .026 for OMP, .893 ± .011 for the concrete autoencoder."""
    method = "concrete autoencoder" if mark == "✓" else "OMP"
    spread_out = 0.06 if scores[0] == 0.727 else 0.0
    made = []
    for seed, x in enumerate(scores, 1):
        score = {"network": x + spread_out * (seed - 3)}
        made.append(Record(Piece("paper", "isolet", method, 50, seed), score, (), {}, 5458))
    (matrix,) = matrices(rows(made, judged_all(made)))
    ((_, (cell,)),) = matrix["rows"]
    assert cell["mark"] == mark


def _scores(*those, study="paper"):
    """Return three records on Mice Protein for each (method, setting, score, training rows)."""
    return [
        Record(Piece(study, "mice", method, 50, seed, setting), {"network": score}, (), {"selecting": 2}, n)
        for method, setting, score, n in those for seed in (1, 2, 3)
    ]  # fmt: skip


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

    def compared(*those):
        (found,) = (row for row in rows(_scores(*those), ()) if row.ours.method == "random")
        return found.test and (found.test.difference, found.test.p)

    baseline, released = ("random", "", 0.75, 500), ("Sequential Attention", "", 0.5, 1000)
    assert compared(baseline, released) is None
    assert compared(baseline, released, ("Sequential Attention", OWN, 0.625, 500)) == (0.125, 0.25)


def test_settings_of_one_method_are_compared_with_the_first():
    """Settings with a corrected defect are compared with the released one, and ours with the plain one."""

    def compared(study, *settings):
        given = [("Sequential Attention", s, 0.5 + i / 8, 500) for i, s in enumerate(settings)]
        made = _scores(*given, study=study)
        return {row.ours.setting: row.test and row.test.difference for row in rows(made, ())}

    assert compared("switches", "as released", "Adam") == {"as released": None, "Adam": 0.125}
    found = compared("adaptivity", "1", "2", "2, as released")
    assert found == {"1": None, "2": 0.125, "2, as released": 0.25}
    assert compared("masks", "l1", "softmax") == {"l1": -0.125, "softmax": None}
    assert compared("paper", "", OWN) == {"": None, OWN: 0.125}


def test_the_site_has_the_index_after_the_words_of_the_page_and_a_page_for_each_data_set(tmp_path):
    sys.path.append(str(ROOT / "docs" / "_ext"))
    page = importlib.import_module("networks_page")
    made = site.pages(read_records(RECORDS))
    index = page.write(tmp_path)
    assert {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} | {
        "index": index
    } == made
    words = PAGE.read_text(encoding="utf-8").split(page.PLACE)[0]
    assert page.with_index(f"{words}{page.PLACE}\n\nelsewhere\n", index) == words + index
    with pytest.raises(ValueError, match="must have the line"):
        page.with_index(words, index)


def test_the_leads_over_linear_omp_that_the_page_has_are_those_of_the_records():
    """A cell is "number ahead: method +lead; …", largest first; leads beyond two standard errors are bold."""
    text = PAGE.read_text(encoding="utf-8")
    found = {
        (row.data, row.k, row.method): row
        for row in summarize(read_records(RECORDS))
        if row.study == "honest" and row.learner == "network" and row.method != "all features"
    }
    table = text.split("| features |")[1].split("\n\n")[0].splitlines()[2:]
    assert [int(line.split("|")[1]) for line in table] == [50, 25, 10, 5]
    for line in table:
        k, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for data, cell in zip(("mnist", "fashion", "isolet", "coil20"), cells, strict=True):
            of = [row for address, row in found.items() if address[:2] == (data, int(k))]
            omp = found[data, int(k), "linear OMP"]
            ahead = sorted((row for row in of if row.mean > omp.mean), key=lambda row: -row.mean)
            number, _, leads = cell.partition(": ")
            assert (len(of), int(number)) == (17, len(ahead))
            for row, words in zip(ahead, filter(None, leads.split("; ")), strict=False):
                lead = row.mean - omp.mean
                bold = "**" * (lead > 2 * math.hypot(row.error, omp.error))
                assert words == f"{bold}{row.method} +{lead:.3f}{bold}".replace("+0", "+")
