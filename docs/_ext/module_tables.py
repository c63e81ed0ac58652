"""The directive `{modules}`: the table of the modules of a layer, in the first sentences of their docstrings.

`tests/house.py` reads the layers and the sentences from the code, so no module is missing.
"""

import functools
import runpy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from docstrings import MARKED
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HOUSE = Path(__file__).parents[2] / "tests" / "house.py"


@functools.cache
def house() -> dict[str, Any]:
    """Return the names of `tests/house.py`, which is run once."""
    return runpy.run_path(str(HOUSE))


def inline(text: str) -> Iterator[nodes.Node]:
    """Yield the nodes of a sentence whose only markup is `code` and *title*."""
    end = 0
    for found in MARKED.finditer(text):
        yield nodes.Text(text[end : found.start()])
        part, end = found.group(), found.end()
        kind = nodes.emphasis if found["stars"] else nodes.inline
        kind = nodes.literal if found["code"] else kind
        yield kind("", part.strip("`*"))
    yield nodes.Text(text[end:])


def table(rows: Iterable[tuple[str, str]]) -> nodes.table:
    """Return a table of paths and sentences; the rows of folders, whose paths end in "/", are bold."""
    head = nodes.row("", *(nodes.entry("", nodes.paragraph("", words)) for words in ("module", "contents")))
    body = nodes.tbody()
    for path, sentence in rows:
        name: nodes.Node = nodes.literal("", path)
        name = nodes.strong("", "", name) if path.endswith("/") else name
        cells = nodes.paragraph("", "", name), nodes.paragraph("", "", *inline(sentence))
        body += nodes.row("", *(nodes.entry("", cell) for cell in cells))
    widths = [nodes.colspec(colwidth=width) for width in (30, 70)]
    return nodes.table("", nodes.tgroup("", *widths, nodes.thead("", head), body, cols=2))


class ModulesDirective(SphinxDirective):
    """The table of the modules of the layer that the argument names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table, which is made again when a module changes."""
        for path in house()["files"]("sparselin"):
            self.env.note_dependency(str(path))
        return [table(house()["contents"](self.arguments[0]))]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive with Sphinx."""
    app.add_directive("modules", ModulesDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
