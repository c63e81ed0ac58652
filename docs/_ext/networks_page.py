"""The tables of docs/networks-tables.md, made from the stored records at the mark on the page."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from proofs_checks.experiments.networks.tables import markdown  # noqa: E402
from proofs_checks.experiments.networks.verdicts import stored  # noqa: E402

PAGE = "docs/networks-tables"
RECORDS = ROOT / "proofs_checks" / "networks_records.jsonl"
PLACE = "<!-- tables -->"


def with_tables(text: str) -> str:
    """Return the page with the tables in place of the mark and of the text after it.

    That text is for readers of the plain Markdown.
    """
    words, mark, _ = text.partition(PLACE)
    if not mark:
        raise ValueError(f"{PAGE}.md must have the line {PLACE!r}; put it where the tables go")
    return words + markdown(stored(RECORDS))


def fill(app: Any, page: str, source: list[str]) -> None:
    """Write the tables into the page."""
    if page == PAGE:
        app.env.note_dependency(str(RECORDS))
        source[0] = with_tables(source[0])


def setup(app: Any) -> dict[str, Any]:
    """Register the handler with Sphinx."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
