"""docs/glossary.md as a glossary of Sphinx: its terms are in the index and found by the search.

The page is a list "- **term**, **term** (symbol): explanation", which other readers of Markdown see as it is.
"""

import re
from typing import Any

PAGE = "docs/glossary"
_ENTRY = re.compile(r"- (?P<terms>\*\*.+?\*\*(?:[^:]*?))(?:: )(?P<words>.+)")
_TERM = re.compile(r"\*\*(.+?)\*\*(?: \(((?:[^()]|\([^()]*\))+)\))?")


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


def fill(app: Any, page: str, source: list[str]) -> None:
    """Write the glossary of the page."""
    if page == PAGE:
        source[0] = as_glossary(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls this."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
