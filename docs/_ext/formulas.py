r"""Formulas as MathML, which browsers draw without a script, a font or the network.

latex2mathml converts TeX, with these corrections. Bars have no space around them and keep their height unless
they follow \left or \bigl, which give them attributes. Thin spaces stand around "ln" and "sign". Relations
such as ⟂ are operators, which have space around them, and ∅ is none. The star of λ* is the low one.
The limits of min, Σ and Π stand below them in displayed formulas. A prime is not raised: its glyph is high.
"""

import re
from typing import Any
from xml.etree.ElementTree import tostring
from xml.sax.saxutils import unescape

from docutils import nodes
from latex2mathml.converter import convert_to_element
from sphinx.util import logging

logger = logging.getLogger(__name__)

_BAR = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>")
_RELATION = re.compile(r"<mi>(&#x0(?:27C2|00B1|27FA|2AB0|2AAF|22A8);|:)</mi>")
_BELOW = {"msub": "munder", "msubsup": "munderover"}
_PRIMES = {"&#x02032;", "&#x02033;"}
_LIMITS = {"min", "max", "inf", "sup", "lim", "argmin", "argmax", "&#x02211;", "&#x0220F;"}  # Σ, Π
_NAME = re.compile(r"<mo>(?!min|max|inf|sup|lim|arg)([A-Za-z]{2,})</mo>")
_OPERATOR = re.compile(r"(?<!<msub>)(?<!<msup>)(<m[io][^>]*>[A-Za-z]{2,}</m[io]>)(?=<m[in]>|<msub>|<msup>)")


def mathml(tex: str, display: str = "inline") -> str:
    """Return the formula as a <math> element, or raise ValueError for an unknown command."""
    root = convert_to_element(tex, display=display)
    for node in root.iter():
        if display == "block" and node.tag in _BELOW and node[0].text in _LIMITS:
            node.tag = _BELOW[node.tag]
        if node.tag == "msup" and node[1].text in _PRIMES:
            node.tag, node[1].tag = "mrow", "mo"
            node[1].attrib.update(lspace="0", rspace="0")
    made = unescape(tostring(root, encoding="unicode"))
    if "\\" in made:
        raise ValueError(f"latex2mathml does not know a command: {made}")
    made = _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', made)
    made = _RELATION.sub(r"<mo>\1</mo>", made).replace("<mo>&#x0002A;</mo>", "<mo>&#x02217;</mo>")
    made = made.replace("<mo>&#x02205;</mo>", "<mi>&#x02205;</mi>")
    made = _NAME.sub(r'<mo lspace="0.17em" rspace="0">\1</mo>', made)
    return _OPERATOR.sub(r'\1<mspace width="0.17em"/>', made)


def inline(writer: Any, node: nodes.Element) -> None:
    """Write a formula in the text."""
    writer.body.append(_element(node, "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.Element) -> None:
    """Write a displayed formula."""
    writer.body.append(f'<div class="math">{_element(node, "block")}</div>')
    raise nodes.SkipNode


def _element(node: nodes.Element, display: str) -> str:
    """Return the MathML of a node, or nothing and a warning if it cannot be converted."""
    try:
        return mathml(node.astext(), display)
    except Exception as error:  # latex2mathml raises many classes, none of them documented
        logger.warning("%s: %s", node.astext(), error, location=node)
        return ""


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
