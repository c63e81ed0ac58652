"""The directive `{presets}`: a list of the explorer's presets, each with a page that the build makes."""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sparselin.plots.explorer import pages
from sparselin.plots.explorer.presets import PRESETS

FOLDER = "docs/explorer"  # the folder of these pages


class PresetsDirective(SphinxDirective):
    """The list of presets: the title and name, the story, and the question to try for each."""

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        listed = nodes.definition_list()
        for name, preset in PRESETS.items():
            uri = f"{Path(FOLDER).name}/{name}.html"
            link = nodes.reference("", preset.title, internal=True, refuri=uri)
            term = nodes.term("", "", link, nodes.Text(": "), nodes.literal("", name))
            story = nodes.paragraph("", "", nodes.Text(preset.story + " "), nodes.emphasis("", preset.ask))
            listed += nodes.definition_list_item("", term, nodes.definition("", story))
        return [listed]


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the pages of the presets."""
    if not error and app.builder.format == "html":
        folder = Path(app.outdir) / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        for name, page in pages.pages_of(home="../explorer.html").items():
            (folder / name).write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the handler with Sphinx."""
    app.add_directive("presets", PresetsDirective)
    app.connect("build-finished", write, priority=400)  # before `links` checks the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
