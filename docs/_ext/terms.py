"""Terms that the search of the site puts first: those of docs/glossary.md, and those that a page marks.

docs/glossary.md is a list "- **term**, **term** (symbol): explanation". A page has comments
"<!-- index: term; term -->" below the headings of sections. Other readers of Markdown see the list as it is
and do not see the comments. The site has a glossary of Sphinx and index entries in their places.
"""

import re
from typing import Any

GLOSSARY = "docs/glossary"
_ENTRY = re.compile(r"- (?P<terms>\*\*.+?\*\*(?:[^:]*?))(?:: )(?P<words>.+)")
_TERM = re.compile(r"\*\*(.+?)\*\*(?: \(((?:[^()]|\([^()]*\))+)\))?")
_MARK = re.compile(r"^<!-- index: (.+) -->$", re.MULTILINE)


def as_glossary(text: str) -> str:
    """Return the page with each list of terms as a directive `{glossary}`."""
    out: list[str] = []
    for block in re.split(r"\n\n+", text.strip()):
        found = [_ENTRY.fullmatch(line) for line in block.split("\n")]
        out.append(_directive([entry for entry in found if entry]) if all(found) else block)
    return "\n\n".join(out)


def _directive(entries: list[re.Match[str]]) -> str:
    lines = ["```{glossary}"]
    for entry in entries:
        named = _TERM.findall(entry["terms"])
        symbols = ", ".join(symbol for _, symbol in named if symbol)
        start = f"({symbols}) " if symbols else ""
        lines += [*(term for term, _ in named), f"  {start}{entry['words']}", ""]
    return "\n".join([*lines[:-1], "```"])


def with_index(text: str) -> str:
    """Return the page with a directive `{index}` for each term of its marks."""
    return _MARK.sub(lambda mark: "\n\n".join(map(_index, mark[1].split("; "))), text)


def _index(term: str) -> str:
    return f"```{{index}} ! single: {term}\n```"


def fill(app: Any, page: str, source: list[str]) -> None:
    """Write the directives of a page."""
    source[0] = with_index(as_glossary(source[0]) if page == GLOSSARY else source[0])


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
