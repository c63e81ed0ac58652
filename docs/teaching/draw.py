"""Draw the pictures of docs/teaching.md from the code on that page: python docs/teaching/draw.py [names]

The alternative texts on that page are written by hand. If you change the code, change them too.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PAGE = HERE.parent / "teaching.md"
# a block of code, a call in the text, or a picture
_PARTS = re.compile(
    r"```python\n(.*?)```|`(plots\.[^`]*)`|!\[([^\]]*)\]\(teaching/(\w+)\.(png|gif)\)", re.DOTALL
)


def pictures(page: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (name, ending, alternative text, code) for each picture.

    The calls in the text draw the pictures, in order. The code of a picture is the code of all blocks before
    it, and its call. If a block ends with an expression, this expression is a call as well.
    """
    setup, calls = "", []
    for block, call, text, name, ending in _PARTS.findall(page):
        if name:
            yield name, ending, text, setup + calls.pop(0)
        elif call:
            calls.append(call)
        else:
            last = ast.parse(block).body[-1]
            begin = last.lineno - 1 if isinstance(last, ast.Expr) else None
            lines = block.splitlines(keepends=True)
            setup += "".join(lines[:begin])
            calls += ["".join(lines[begin:])] if begin is not None else []
    if calls:
        raise ValueError(f"no picture for {calls}")


def run(code: str) -> Any:
    """Run some code, and return the value of its last expression."""
    *before, last = ast.parse(code).body
    names: dict[str, Any] = {}
    exec(compile(ast.Module(before, []), "teaching.md", "exec"), names)
    return eval(compile(ast.Expression(last.value), "teaching.md", "eval"), names)


def draw(folder: Path, page: str, chosen: Any = None) -> None:
    """Draw the pictures of the page, or only the chosen ones, and save them in a folder."""
    for name, ending, _, code in pictures(page):
        if chosen and name not in chosen:
            continue
        found = run(code)
        if ending == "gif":
            found.save(folder / f"{name}.gif", writer="pillow")
            continue
        ax = found[0] if isinstance(found, tuple) else found
        ax.figure.savefig(folder / f"{name}.png", dpi=80)
        plt.close(ax.figure)


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw(HERE, PAGE.read_text(encoding="utf-8"), sys.argv[1:])
