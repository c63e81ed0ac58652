"""The links of the site: links to checks lead to their pages, and external links are listed, but not fetched.

If a page would load a script, a style, a font or an image from elsewhere, there is a warning and the build
fails.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from ledger_page import CHECKS, PAGES
from sphinx import addnodes
from sphinx.util import logging

# files with a generated page in the site: their links lead to this page
READ_AS = {"docs/gallery/README.rst": "docs/made/gallery/index.rst"}
LIST = "external-links.txt"

_LOADED = re.compile(
    r"<(?!a\b)\w+\b[^>]*?\b(?:src|href|srcset|data|poster)\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)",
    re.IGNORECASE,
)
_IN_STYLE = re.compile(r"(?:url\(\s*|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)
_LINK = re.compile(r"(?<=\]\()[^()#\s:]+(?=[)#])")
_OUTWARD = re.compile(r"<a\b[^>]*?\bhref=\"(https?://[^\"]+)\"", re.IGNORECASE)

logger = logging.getLogger(__name__)


def load_addresses(text: str) -> list[str]:
    """Return the external addresses from which a page or a style sheet would load something."""
    return _LOADED.findall(text) + _IN_STYLE.findall(text)


def outward(text: str) -> list[str]:
    """Return the external addresses to which a page has links."""
    return [address.replace("&amp;", "&") for address in _OUTWARD.findall(text)]


def read_as(text: str, folder: str) -> str:
    """Replace the links of `READ_AS` in Markdown; `folder` is that of the page, relative to the root."""

    def replace(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found.group()))
        return f"/{READ_AS[target]}" if target in READ_AS else found.group()

    return _LINK.sub(replace, text)


def on_source_read(app: Any, page: str, source: list[str]) -> None:
    """Replace the links of `READ_AS` in a page before Sphinx parses it."""
    source[0] = read_as(source[0], posixpath.dirname(page))


def to_source_pages(app: Any, doctree: nodes.document) -> None:
    """Let links to checks lead to their pages; otherwise Sphinx would offer the files for download."""
    page = app.env.docname
    for node in list(doctree.findall(addnodes.download_reference)):
        file = Path(app.env.doc2path(page)).parent / node["reftarget"]
        if file.resolve().parent == CHECKS:
            address = app.builder.get_relative_uri(page, f"{PAGES}/{file.stem}")
            node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=address))


def check_pages(app: Any, error: Exception | None) -> None:
    """Write the list of external links, and warn of pages that would load something from elsewhere."""
    if error or app.builder.format != "html":
        return
    found: dict[str, set[str]] = {}
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix not in (".html", ".css"):
            continue
        page, text = path.relative_to(app.outdir).as_posix(), path.read_text(encoding="utf-8")
        for address in load_addresses(text):
            logger.warning("%s would load %s", page, address)
        for address in outward(text):
            found.setdefault(address, set()).add(page)
    lines = [f"{address}\t{page}\n" for address, pages in sorted(found.items()) for page in sorted(pages)]
    (Path(app.outdir).parent / LIST).write_text("".join(lines), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Register the handlers with Sphinx."""
    app.connect("source-read", on_source_read)
    app.connect("doctree-read", to_source_pages)
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
