"""Links: to checks, which have pages; and outwards, which are listed and never fetched.

A page that would load a script, a style, a font or an image from elsewhere is a warning: the build fails.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from ledger_page import CHECKS, PAGES
from sphinx import addnodes
from sphinx.util import logging

# what a link leads to in the site, where that is made of the file
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


def loaded(text: str) -> list[str]:
    """The addresses from which a page or a style sheet would load something."""
    return _LOADED.findall(text) + _IN_STYLE.findall(text)


def outward(text: str) -> list[str]:
    """The addresses to which a page has links."""
    return [address.replace("&amp;", "&") for address in _OUTWARD.findall(text)]


def read_as(text: str, folder: str) -> str:
    """Markdown with the links of `READ_AS` replaced; `folder` is that of the page, from the root."""

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found.group()))
        return f"/{READ_AS[target]}" if target in READ_AS else found.group()

    return _LINK.sub(replaced, text)


def on_source_read(app: Any, page: str, source: list[str]) -> None:
    source[0] = read_as(source[0], posixpath.dirname(page))


def to_source_pages(app: Any, doctree: nodes.document) -> None:
    """A link to a check leads to its page; without this the file would be offered for download."""
    page = app.env.docname
    for node in list(doctree.findall(addnodes.download_reference)):
        file = Path(app.env.doc2path(page)).parent / node["reftarget"]
        if file.resolve().parent == CHECKS:
            address = app.builder.get_relative_uri(page, f"{PAGES}/{file.stem}")
            node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=address))


def look_through(app: Any, error: Exception | None) -> None:
    """List the links that lead out, and warn of what would be loaded."""
    if error or app.builder.format != "html":
        return
    found: dict[str, set[str]] = {}
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix not in (".html", ".css"):
            continue
        page, text = path.relative_to(app.outdir).as_posix(), path.read_text(encoding="utf-8")
        for address in loaded(text):
            logger.warning("%s would load %s", page, address)
        for address in outward(text):
            found.setdefault(address, set()).add(page)
    lines = [f"{address}\t{page}\n" for address, pages in sorted(found.items()) for page in sorted(pages)]
    (Path(app.outdir).parent / LIST).write_text("".join(lines), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", on_source_read)
    app.connect("doctree-read", to_source_pages)
    app.connect("build-finished", look_through)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
