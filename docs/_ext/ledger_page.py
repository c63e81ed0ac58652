"""The directive `{ledger}`: all rows of the ledger in one table, each with a link to the source of its check.

The rows come from `proofs_checks/ledger.json`, and their wording from `sparselin.studies.ledger.report`. The
modules of the checks become highlighted pages under `_checks/`, with an anchor for each line, because
`sphinx.ext.viewcode` copies only modules that autodoc documents. `ledger.js` filters the table; without it
all rows are shown.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sparselin.ledger import PAPERS
from sparselin.studies.ledger.report import CENTRAL, JSON, NOTATION, occurring, read

HERE = Path(__file__).parent
CHECKS = HERE.parents[1] / "proofs_checks"
PAGES = "_checks"
TEMPLATE = "ledger.html.j2"

# An index is dropped unless it is a word (λ_min, f_de). Marks above a letter, digits below it, *, A(S) and R²
# are kept.
_SYMBOL = re.compile(
    r"""
    (?P<letter>[A-Za-zα-ωΓΔΘΛΦΨΩℓ])(?P<marks>[\u0300-\u036f]*)(?P<digits>[₀-₉]*)
    (?:_(?P<index>[a-z]{3,}|ld|de|gr|sv|\{[^}]*\}|\([^)]*\)|\w[\u0300-\u036f]*))?
    (?P<kept>\*?(?:(?<=A)\(S\)|(?<=R)²|(?<=R\*)²)?)
    """,
    re.VERBOSE,
)
# Parts that are not mathematics: words with their index (max_{i∉S}; a run of letters, unless it is a product
# such as Hv or sM), abbreviations and sections (e.g., B.2), articles, the s of a genitive, and the O of O(d).
_WORDS = re.compile(
    r"""
    (?<![A-Za-z_])(?!(?:[A-Z][vwx]|[a-z][A-Z])(?![A-Za-z]))[A-Za-z]{2,}(?:_(?:\{[^}]*\}|\w+))?
    | (?:\b[A-Za-z]\.)(?:[A-Za-z]\.|\d[\d.]*)+
    | \b[Aa](?=\ \w) | (?<=\w['’])s\b | \bO(?=\()
    """,
    re.VERBOSE,
)


def symbols(text: str) -> frozenset[str]:
    """Return the mathematical symbols in a text, without their indices.

    >>> sorted(symbols("A(S) ⊆ T at λ*, and P_S^⊥X_i is a column; γ_{S,k} ≥ λ_min(C, 2k), Hv ≥ 1, R²(S)"))
    ['A(S)', 'C', 'H', 'P', 'R²', 'S', 'T', 'X', 'k', 'v', 'γ', 'λ*', 'λ_min']
    """
    return frozenset(_symbol(match) for match in _SYMBOL.finditer(_WORDS.sub(" ", text)))


def _symbol(match: re.Match[str]) -> str:
    """Return the symbol of a match, without its index unless that is a word."""
    index = match["index"] or ""
    word = f"_{index}" if len(index) > 1 and index.isalpha() and index.isascii() else ""
    return match["letter"] + match["marks"] + match["digits"] + word + match["kept"]


def anchor(test: str) -> tuple[str, str]:
    """Return the page of the check `file.py::function`, and the anchor of its first line or decorator."""
    file, _, name = test.partition("::")
    tree = ast.parse((CHECKS / file).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return f"{PAGES}/{Path(file).stem}", f"L-{first}"
    raise ValueError(f"{test} is in the stored ledger, and {file} has no function {name}; run `make ledger`")


class LedgerDirective(SphinxDirective):
    """The directive for the table: it marks the place, and `fill` writes it once page addresses are known."""

    def run(self) -> list[nodes.Node]:
        """Return the placeholder, and make the page depend on the ledger and the checks."""
        for file in (CHECKS / JSON, HERE / TEMPLATE, *CHECKS.glob("test_*.py")):
            self.env.note_dependency(str(file))
        return [nodes.raw("", format="html", classes=["ledger"])]


def _tables(doctree: nodes.document) -> list[nodes.raw]:
    """Return the placeholders on a page."""
    return [node for node in doctree.findall(nodes.raw) if "ledger" in node["classes"]]


def fill(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write the tables of a page, if the output is HTML."""
    for node in _tables(doctree):
        if app.builder.format == "html":
            node += nodes.Text(table(lambda target: app.builder.get_relative_uri(page, target)))


def table(address: Callable[[str], str]) -> str:
    """Return the HTML of all rows and their search; `address` gives the relative address of a page."""
    stored = read(CHECKS)
    if stored is None:
        raise FileNotFoundError(f"{CHECKS / JSON} is missing; run `sparselin ledger --write`")
    rows = [_row(row, address) for row in stored["rows"]]
    template = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).get_template(TEMPLATE)
    return template.render(
        rows=rows,
        papers={key: title for key, title in PAPERS.items() if any(row["paper"] == key for row in rows)},
        verdicts=occurring(rows),
        notation=NOTATION,
        central=CENTRAL,
        symbols=Counter(symbol for row in rows for symbol in row["symbols"]).most_common(),
    )


def _row(row: Mapping[str, Any], address: Callable[[str], str]) -> dict[str, Any]:
    """Return a row with its symbols and the address of its check."""
    page, line = anchor(row["test"])
    found = symbols(" ".join((row["statement"], row["hypotheses"], row["correction"])))
    return {**row, "symbols": sorted(found), "source": f"{address(page)}#{line}"}


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each module of checks."""
    for file in sorted(CHECKS.glob("test_*.py")):
        code = app.builder.highlighter.highlight_block(
            file.read_text(encoding="utf-8"), "python", linenos="inline", lineanchors="L", anchorlinenos=True
        )
        title = f"{CHECKS.name}/{file.name}"
        context = {"parents": [], "title": title, "body": f"<h1>{title}</h1>\n{code}"}
        yield f"{PAGES}/{file.stem}", context, "page.html"


def add_files(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add the script and the style to the pages that have the table."""
    if doctree is not None and _tables(doctree):
        app.add_js_file("ledger.js", loading_method="defer")
        app.add_css_file("ledger.css")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the handlers with Sphinx."""
    app.add_directive("ledger", LedgerDirective)
    app.connect("doctree-resolved", fill)
    app.connect("html-collect-pages", source_pages)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
