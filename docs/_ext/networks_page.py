"""The section of the network experiments: its index by data set, and the pages of the data sets.

`proofs_checks.experiments.networks.pages` makes them from the stored records. The index takes the place of
the mark in docs/networks-tables.md. The other pages are written to docs/made/networks when a build starts.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from proofs_checks.experiments.networks.pages import INDEX, site_pages  # noqa: E402
from proofs_checks.experiments.networks.verdicts import read_records  # noqa: E402

PAGE = "docs/networks-tables"
RECORDS = ROOT / "proofs_checks" / "networks_records.jsonl"
FOLDER = ROOT / "docs" / "made" / "networks"
PLACE = "<!-- index -->"


def write(folder: Path) -> str:
    """Write the pages of the data sets to a folder, and return the index. A page that is up to date stays."""
    made = site_pages(read_records(RECORDS))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        path = folder / f"{name}.md"
        if name != INDEX and (not path.exists() or path.read_text(encoding="utf-8") != text):
            path.write_text(text, encoding="utf-8")
    return made[INDEX]


def with_index(text: str, index: str) -> str:
    """Return the page with the index in place of the mark and the text after it."""
    words, mark, _ = text.partition(PLACE)
    if not mark:
        raise ValueError(f"{PAGE}.md must have the line {PLACE!r}: put it where the index goes")
    return words + index


def start(app: Any) -> None:
    """Write the pages before Sphinx looks for its sources."""
    index = write(FOLDER)

    def fill(app: Any, page: str, source: list[str]) -> None:
        if page == PAGE:
            app.env.note_dependency(str(RECORDS))
            source[0] = with_index(source[0], index)

    app.connect("source-read", fill)


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", start)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
