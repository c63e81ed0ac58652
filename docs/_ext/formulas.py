r"""Formulas as MathML, which browsers draw without a script, a font or the network.

latex2mathml converts the TeX. Afterwards its output is changed in three ways. Bars get no space around them.
They are not enlarged, unless they have attributes from \left or \bigl. And "ln" is followed by a thin space.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)

_BAR = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>")
_OPERATOR = re.compile(r"(<m[io]>[A-Za-z]{2,}</m[io]>)(?=<m[in]>|<msub>|<msup>)")


def mathml(tex: str, display: str = "inline") -> str:
    """Return the formula as a <math> element. Raises ValueError for an unknown command."""
    element = convert(tex, display=display)
    if "\\" in element:
        raise ValueError(f"latex2mathml does not know a command: {element}")
    element = _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', element)
    return _OPERATOR.sub(r'\1<mspace width="0.17em"/>', element)


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
