r"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network.

latex2mathml converts TeX, with four corrections. Bars have no space around them and do not stretch, unless they
follow \left or \bigl, which give them attributes. A thin space follows "ln". Relations such as ⟂ are operators, so
that they have space around them.
"""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)

_BAR = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>")
_RELATION = re.compile(r"<mi>(&#x0(?:27C2|00B1|27FA|2AB0|2AAF|22A8);|:)</mi>")
_OPERATOR = re.compile(r"(?<!<msub>)(?<!<msup>)(<m[io]>[A-Za-z]{2,}</m[io]>)(?=<m[in]>|<msub>|<msup>)")


def mathml(tex: str, display: str = "inline") -> str:
    """Return the formula as a <math> element, or raise ValueError for an unknown command."""
    made = convert(tex, display=display)
    if "\\" in made:
        raise ValueError(f"latex2mathml does not know a command: {made}")
    made = _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', made)
    made = _RELATION.sub(r"<mo>\1</mo>", made)
    return _OPERATOR.sub(r'\1<mspace width="0.17em"/>', made)


def inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_written(node, "inline"))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="math">{_written(node, "block")}</div>')
    raise nodes.SkipNode


def _written(node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except Exception as error:  # of many classes, none of them documented
        logger.warning("%s: %s", node.astext(), error, location=node)
        return ""


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
