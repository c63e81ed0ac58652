"""The conversion of docstrings in the plain style of this package to reStructuredText.

In these docstrings `name` is a name and *this* is a title. Every other *, _ and | stands for itself (λ*,
coef_, |⟨X_i, r⟩|). An indented block after a blank line is a formula. A section is underlined with hyphens.
Entries, of a section or of a short docstring without sections, are "name : text", or in the style of
scikit-learn "name : type" with the text on the next line.
"""

import dataclasses
import enum
import inspect
import itertools
import pydoc
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)

# code; a page of the documentation; a name or code; a title in one or two asterisks, from the beginning of a
# word to the end of one
MARKED = re.compile(
    r"``.+?``|(?P<page>\bdocs/[\w/]+\.md)|(?P<code>`[^`]+`)|(?<![\w*^\])}])(?P<stars>\*\*?)(?=\w)[^*`]+(?<=[\w.?!)])(?P=stars)(?!\w)",
    re.DOTALL,
)
_NAME = r"[\"*]*\w+\"?(?: \([^()]*\))?"
_ENTRY = re.compile(rf"(?P<names>{_NAME}(?:, {_NAME})*) : (?P<text>.*)")
_TYPE = re.compile(r".*\bdefault=|(int|float|bool|str)\b[^.]{0,40}$")
_ITEM = re.compile(r"- |\d+\. ")
_LETTER = re.compile(r"\(?[A-Za-z]+[.)](\s|$)")  # "d." would begin a list
# public names in Markdown, such as `omp`, `sl.omp(X, y, 4)` and `plots.show`, but not `q`
_PUBLIC = re.compile(
    r"(?:sl\.|sparselin\.)?((?:(?:datasets|ensembles|estimators|ledger|neural|plots|results|spectral|testing)\.)?\w{2,})(\(.*\))?"
)
_HOMES = ("", ".estimators", ".plots", ".ledger", ".neural", ".results")


def prose(text: str, arguments: frozenset[str] = frozenset()) -> str:
    """Convert text whose only markup is `name` and *title*; names in `arguments` are not linked."""
    out, end = [], 0
    for found in MARKED.finditer(text):
        part = found.group()
        if found["code"] and part[1:-1] in arguments:
            part = f"`{part}`"
        if found["page"]:
            part = f":doc:`{part} </{part.removesuffix('.md')}>`"
        # markup needs a space or punctuation on both sides; an escaped space does not show on the page
        before = "\\ " if found.start() and text[found.start() - 1].isalnum() else ""
        after = "\\ " if text[found.end() : found.end() + 1].isalnum() else ""
        out += [_escape(text[end : found.start()]), before, part, after]
        end = found.end()
    return "".join(out) + _escape(text[end:])


def _escape(text: str) -> str:
    """Escape the characters that are markup in reStructuredText."""
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the blocks of lines between blank lines; indented lines below a list or entries belong to it."""
    block: list[str] = []
    blank = False
    for line in lines:
        if line.strip():
            if block and blank and not (line.startswith(" ") and _owns_indentation(block)):
                yield block
                block, blank = [], False
            block += [*([""] if block and blank else []), line]
        blank = not line.strip()
    if block:
        yield block


def _owns_indentation(block: list[str]) -> bool:
    """Return whether indented lines after this block belong to it: whether it is a list or has entries."""
    return bool(_ITEM.match(block[0])) or _has_entries(block)


def _has_entries(block: list[str]) -> bool:
    """Return whether a line of the block is an entry."""
    return any(_ENTRY.fullmatch(line) for line in block)


def body(lines: list[str], arguments: frozenset[str] = frozenset()) -> list[str]:
    """Convert paragraphs, lists, entries, formulas and examples."""
    out: list[str] = []
    for block in blocks(lines):
        if block[0].startswith(">>>"):
            out += [*block, ""]
        elif block[0].startswith(" "):
            out += [".. code-block:: text", "   :class: formula", ""]
            out += [f"   {line}" for line in textwrap.dedent("\n".join(block)).split("\n")] + [""]
        elif _has_entries(block):
            out += [*entries(block, arguments), ""]
        else:
            out += [*_paragraph(block, arguments), ""]
    return out


def _paragraph(block: list[str], arguments: frozenset[str]) -> list[str]:
    """Convert a paragraph, whose markup may span lines, and put a blank line before a list in it."""
    out: list[str] = []
    for i, line in enumerate(prose("\n".join(block), arguments).split("\n")):
        if i == 0 and _LETTER.match(line):
            line = "\\" + line
        if i and _ITEM.match(line) and not _ITEM.match(block[0]):
            out.append("")
        out.append(line)
    return out


def entries(lines: list[str], arguments: frozenset[str] = frozenset()) -> list[str]:
    """Convert entries "name : text" to a definition list, and other lines to paragraphs."""
    out: list[str] = []
    for names, kind, text in parse_entries(lines):
        out += _entry(names, kind, text, arguments) if names else [*_paragraph(text, arguments), ""]
    return out


def _entry(names: str, kind: str, text: list[str], arguments: frozenset[str] = frozenset()) -> list[str]:
    """Convert one entry to a term and its definition."""
    term = f"**{_escape(names)}**" + (f" : {prose(kind, arguments)}" if kind else "")
    return [term, *(f"    {line}".rstrip() for line in body(text, arguments))]


def parse_entries(lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (names, type or "", lines of the text) for each entry; other lines have no names."""
    runs: list[list[str]] = []
    for line in lines:
        if line.startswith(" ") or not line.strip():
            runs[-1].append(line) if runs else None
        elif runs and not _ENTRY.fullmatch(line) and not _ENTRY.fullmatch(runs[-1][0]):
            runs[-1].append(line)
        else:
            runs.append([line])
    for first, *rest in runs:
        rest = textwrap.dedent("\n".join(rest)).split("\n") if rest else []
        found = _ENTRY.fullmatch(first)
        if not found:
            yield "", "", [first, *rest]
        elif rest and rest[0] and _TYPE.match(found["text"]):
            yield found["names"], found["text"], rest
        else:
            yield found["names"], "", [found["text"], *rest]


def sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield (title, lines) for each section; the first one has no title."""
    starts = [i for i in range(len(lines) - 1) if lines[i] and re.fullmatch("-{3,}", lines[i + 1])]
    yield "", lines[: starts[0]] if starts else lines
    for begin, end in itertools.pairwise([*starts, len(lines)]):
        yield lines[begin], lines[begin + 2 : end]


def as_rst(lines: list[str], arguments: frozenset[str] = frozenset(), owner: type | None = None) -> list[str]:
    """Convert a docstring; if it has an `owner`, its "Attributes" can be linked to like other members."""
    out: list[str] = []
    for title, inside in sections(lines):
        if title:
            out += [f".. rubric:: {prose(title)}", ""]
        examples = next((i for i, line in enumerate(inside) if line.startswith(">>>")), len(inside))
        text, rest = inside[:examples], inside[examples:]
        if title.startswith("Attributes"):
            out += _attributes(text, owner) if owner else body(text, arguments)
        elif title == "Returns":
            out += body(_mark_class(text), arguments)
        else:
            out += body(text, arguments)
        out += body(rest, arguments)
    return out


def _attributes(lines: list[str], owner: type) -> list[str]:
    """Convert attributes to directives; properties that autodoc documents stay plain entries."""
    out: list[str] = []
    for block in blocks(lines):
        for names, kind, text in parse_entries(block):
            first, *others = names.split(", ")
            member = getattr(owner, first, None) if names else None
            if not names or (isinstance(member, property) and member.__doc__):
                out += _entry(names, kind, text) if names else body(text)
                continue
            out += [f".. py:attribute:: {first}", *(f"               {name}" for name in others), ""]
            text = [*([kind + "."] if kind else []), *text]
            out += [f"   {line}".rstrip() for line in body(text)]
    return out


def _mark_class(lines: list[str]) -> list[str]:
    """Mark the class at the beginning of "Returns" as a name, because it is written without markup."""
    text = "\n".join(lines)
    return re.sub(r"\A([A-Z]\w*[a-z][A-Z]\w+)\b", r"`\1`", text).split("\n")


# --- called by Sphinx -------------------------------------------------------------------------------------


def process_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace the lines of a docstring by reStructuredText."""
    try:
        arguments = frozenset(inspect.signature(thing).parameters) if callable(thing) else frozenset()
    except ValueError:
        arguments = frozenset()
    if inspect.isclass(thing):
        lines[:] = as_rst(lines, owner=thing)
    else:
        lines[:] = as_rst(lines, arguments)


def process_signature(app: Any, what: str, name: str, thing: Any, *rest: Any) -> tuple[str, str] | None:
    """Hide the signatures of results and enumerations: users do not call these classes."""
    made = dataclasses.is_dataclass(thing) and hasattr(thing, "to_frame")
    if inspect.isclass(thing) and (made or issubclass(thing, enum.Enum)):
        return "", ""
    return None


def skip_member(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Skip members inherited from classes of other packages, which document them."""
    home = getattr(getattr(thing, "fget", thing), "__module__", None)
    return True if home and not home.startswith("sparselin") else None


def name_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Make the node for `text`: code, linked if it is a name that has a page."""
    text = nodes.unescape(text, restore_backslashes=True)
    target = text.removesuffix("()")
    if not re.fullmatch(r"[\w.]{2,}", target):
        return [nodes.literal(text, text)], []
    env = inliner.document.settings.env
    context = {f"py:{key}": env.ref_context.get(f"py:{key}") for key in ("module", "class")}
    code = nodes.literal(text, text, classes=["xref"])
    return [_optional(env, re.sub(r"^sl\.", "sparselin.", target), code, **context)], []


def link_names(app: Any, doctree: nodes.document) -> None:
    """Link code in Markdown pages and notebooks that is a public name or a call of one."""
    if not str(app.env.doc2path(app.env.docname)).endswith((".md", ".ipynb")):
        return
    for code in list(doctree.findall(nodes.literal)):
        found = _PUBLIC.fullmatch(code.astext())
        inside = isinstance(code.parent, nodes.title | nodes.reference | pending_xref | download_reference)
        if found and not inside:
            code.replace_self(_optional(app.env, f"sparselin.{found[1]}", code.deepcopy(), quiet=True))


def _optional(env: Any, target: str, content: nodes.Node, **more: Any) -> pending_xref:
    """Return a reference to `target` that becomes `content` alone if the target has no page."""
    return pending_xref(
        "",
        content,
        refdomain="py",
        reftype="obj",
        reftarget=target,
        refdoc=env.docname,
        refexplicit=False,
        optional=True,
        **more,
    )


def missing_reference(app: Any, env: Any, node: pending_xref, content: nodes.Node) -> nodes.Node | None:
    """Resolve a name: look for it in the modules that hold public names, otherwise leave it as plain code.

    Warns if a name sparselin.… does not exist.
    """
    if not node.get("optional"):
        return None
    target, quiet = node["reftarget"], node.get("quiet")
    if not quiet and target.startswith("sparselin.") and pydoc.locate(target) is None:
        logger.warning("there is no %s", target, location=node)
    domain, name = env.get_domain("py"), target.removeprefix("sparselin.")
    for home in (".results",) if quiet else _HOMES:
        at = domain.objects.get(f"sparselin{home}.{name}")
        if at:
            return make_refnode(app.builder, node["refdoc"], at.docname, at.node_id, content)
    if quiet:
        return content
    return nodes.literal(content.astext(), content.astext())


def setup(app: Any) -> dict[str, Any]:
    """Register the role and the handlers with Sphinx."""
    app.add_role("named", name_role)
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("doctree-read", link_names)
    app.connect("missing-reference", missing_reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
