"""The directive `{presets}`: the explorer's presets with their stories; the build makes a page of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sparselin.plots.explorer import pages
from sparselin.plots.explorer.presets import PRESETS

FOLDER = "docs/explorer"  # of the pages


class PresetsDirective(SphinxDirective):
    """A list: title and name, what there is to see, what to try."""

    def run(self) -> list[nodes.Node]:
        listed = nodes.definition_list()
        for name, preset in PRESETS.items():
            uri = f"{Path(FOLDER).name}/{name}.html"
            link = nodes.reference("", preset.title, internal=True, refuri=uri)
            term = nodes.term("", "", link, nodes.Text(": "), nodes.literal("", name))
            story = nodes.paragraph("", "", nodes.Text(preset.story + " "), nodes.emphasis("", preset.ask))
            listed += nodes.definition_list_item("", term, nodes.definition("", story))
        return [listed]


def write(app: Sphinx, error: Exception | None) -> None:
    if not error and app.builder.format == "html":
        pages.write(Path(app.outdir) / FOLDER, home="../explorer.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this."""
    app.add_directive("presets", PresetsDirective)
    app.connect("build-finished", write, priority=400)  # before `links` looks through what was made
    return {"parallel_read_safe": True, "parallel_write_safe": True}
