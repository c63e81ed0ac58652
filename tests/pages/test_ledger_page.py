"""The page of the ledger: all rows, each with its anchor, its filters' values and a link to its check."""

import html
import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from sparselin.ledger import PAPERS, Verdict
from sparselin.studies.ledger import report

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

ledger_page = importlib.import_module("ledger_page")
ROWS = report.read(ledger_page.CHECKS)["rows"]
ROW = re.compile(
    r'<tr id="([^"]*)" data-paper="([^"]*)" data-verdict="([^"]*)" data-symbols="([^"]*)">(.*?)</tr>', re.S
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of one page, the table; the folder of its HTML."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("out")
    (source / "conf.py").write_text("extensions = ['myst_parser', 'ledger_page']\n", encoding="utf-8")
    (source / "index.md").write_text("# Rows\n\n```{ledger}\n```\n", encoding="utf-8")
    with docutils_namespace():  # or its directives would stay, for all tests after this one
        Sphinx(source, source, out, out / ".doctrees", "html", status=None, warningiserror=True).build()
    return out


@pytest.fixture(scope="module")
def page(site):
    return (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(page):
    """Return the id, paper, verdict, symbols and cells of each row of the page."""
    return [tuple(html.unescape(part) for part in found) for found in ROW.findall(page)]


def test_every_row_is_there_with_its_paper_and_verdict(shown):
    assert [one[:3] for one in shown] == [(row["id"], row["paper"], row["verdict"]) for row in ROWS]


def test_every_row_has_its_words(shown):
    for row, (*_, cells) in zip(ROWS, shown, strict=True):
        words = [row[name] for name in report.STATED if name != "paper"]
        texts = [*words, *row["witnesses"], *row["found"], row["date"], f"seed {row['seed']}"]
        assert [text for text in texts if text not in cells] == [], row["id"]
        assert f"{row['cases']:,}" in cells
        assert f"{row['undecided']:,} undecided" in cells or not row["undecided"]


# `claim`, and what helpers of several rows make of it: the first decorator of a check
MARKS = ("@claim", "@sentence(", "@networks.sentence(", "@rows_of(", "@on_digits(")


def test_every_link_to_a_check_ends_at_its_function(site, shown):
    for row, (*_, cells) in zip(ROWS, shown, strict=True):
        file, _, name = row["test"].partition("::")
        page, line = re.search(r'href="(_checks/[^"#]*\.html)#(L-\d+)"', cells).groups()
        code = (site / page).read_text(encoding="utf-8")
        assert page == f"_checks/{file.removesuffix('.py')}.html"
        assert f'<a id="{line}"' in code
        below = re.sub(r"<[^>]*>", "", code[code.index(f'<a id="{line}"') :])
        assert below.split("def ")[1].startswith(f"{name}("), row["id"]
        assert below.lstrip(" 0123456789").startswith(MARKS), row["id"]


def test_the_filters_offer_what_the_rows_have(page):
    def offered(name):
        select = re.search(rf'<select name="{name}">(.*?)</select>', page, re.S)[1]
        return set(map(html.unescape, re.findall(r'value="([^"]+)"', select)))

    assert offered("paper") == {row["paper"] for row in ROWS} <= set(PAPERS)
    assert offered("verdict") == {row["verdict"] for row in ROWS} <= {verdict.value for verdict in Verdict}


def test_the_symbols_offered_are_those_of_the_rows(page, shown):
    offered = re.search(r'<datalist id="ledger-symbols">(.*?)</datalist>', page, re.S)[1]
    of_rows = [set(one[3].split()) for one in shown]
    found = {
        html.unescape(value): int(count)
        for value, count in re.findall(r'value="(.*?)" label="(\d+)', offered)
    }
    assert found == {symbol: sum(symbol in one for one in of_rows) for symbol in set().union(*of_rows)}
    assert {"λ*", "T", "A(S)", "β", "Q*", "θ", "γ", "λ₂", "R²", "M"} <= set(found)


def test_the_script_is_on_the_page_of_the_table_alone(site, page):
    assert "ledger.js" in page
    assert "ledger.css" in page
    assert "ledger.js" not in (site / "_checks" / "test_theorem_3_3.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["find", "paper", "verdict"])
def test_the_script_knows_the_fields_of_the_form(page, name):
    assert f'name="{name}"' in page
    assert f'"{name}"' in (DOCS / "_static" / "ledger.js").read_text(encoding="utf-8")


SYMBOLS = [
    ("λ*(S) = ‖XᵀP_S^⊥y‖∞", "λ* S X P y"),
    ("a λ₂ < λ* below the paper's λ₀", "λ₂ λ* λ₀"),
    ("γ_{S,k}(f) ≥ λ_min(C, 2k)", "γ f λ_min C k"),
    ("A(S) ⊆ T. A set S̄", "A(S) T S̄"),
    ("R²(S) ≥ ½, σ², f_de", "R² S σ f_de"),
    ("O(d) of e.g. B.2.2, (1 − e^{−γ})", "d e γ"),
    ("max_{i∉S} |⟨X_i, r⟩|", "X r"),
    ("1 + sM², Hv ≥ 1, Q*(β∘β)", "s M H v Q* β"),
    ("OMP is the LASSO in a tie", ""),
]


@pytest.mark.parametrize(("text", "found"), SYMBOLS)
def test_symbols(text, found):
    assert ledger_page.symbols(text) == set(found.split())


def test_a_check_that_is_gone_is_named():
    with pytest.raises(ValueError, match=r"test_dual.py::gone is in the stored ledger, .* run `make ledger`"):
        ledger_page.anchor("test_dual.py::gone")
