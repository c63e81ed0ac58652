"""Draw the pictures of docs/teaching.md from the code on that page: python docs/teaching/draw.py [names]

The alternative texts on that page are written by hand. If you change the code, change them too.
"""

import ast
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import sparselin as sl
from sparselin.plots.geometry.polytope import outline

HERE = Path(__file__).parent
PAGE = HERE.parent / "teaching.md"
# a block of code, a call in the text, or a picture
_PARTS = re.compile(
    r"```python\n(.*?)```|`((?:plots|draw)\.[^`]*)`|!\[([^\]]*)\]\(teaching/(\w+)\.(png|gif)\)", re.DOTALL
)

# words, colour, mark, size of the mark, and width of the line
_LOOKS = (
    ("the flow, which jumps", sl.plots.GREEN, "o", 11, 1.5),
    ("its average", sl.plots.PINK, "P", 14, 5),
    ("the LASSO", "black", "D", 6, 1.2),
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
    names: dict[str, Any] = {"draw": types.SimpleNamespace(flow_panels=flow_panels, flow_film=flow_film)}
    exec(compile(ast.Module(before, []), "teaching.md", "exec"), names)
    return eval(compile(ast.Expression(last.value), "teaching.md", "eval"), names)


def flow_panels(X: Any, y: Any) -> Any:
    """Draw the stairs of the flow, and below them its average and the path of the LASSO, over τ = 1/λ."""
    flow, tau, coefs = _paths(X, y)
    top, bottom = plt.subplots(2, figsize=(9.0, 7.4), layout="constrained")[1]
    _lines(top, flow, tau, coefs[0], "The flow")
    _averages(bottom, flow, tau, *coefs[1:])
    return top


def flow_film(X: Any, y: Any) -> FuncAnimation:
    """Animate the residuals of the flow, of its average and of the LASSO, and the polytope at λ = 1/τ."""
    flow, tau, coefs = _paths(X, y)
    points = [y - coef @ X.T for coef in coefs]
    figure, panels = plt.subplot_mosaic("ab;ac", figsize=(9.4, 4.7), dpi=72, layout="constrained")
    left, right, below = panels.values()
    _lines(right, flow, tau, 0.5 * np.square(points[0]).sum(axis=1)[:, None], "The loss of the flow")
    _averages(below, flow, tau, *coefs[1:])
    for point, (words, color, _, _, width) in zip(points, _LOOKS, strict=True):
        left.plot(*point.T, color=color, linewidth=width, alpha=0.6, label=words)
    left.legend(frameon=False, loc="upper left", fontsize=11)
    left.set(xlim=left.get_xlim(), ylim=left.get_ylim(), aspect="equal", xticks=[], yticks=[])
    moving: list[Any] = []

    def show(i: int) -> None:
        while moving:
            moving.pop().remove()
        for point, (_, color, mark, size, _) in zip(points, _LOOKS, strict=True):
            moving.extend(left.plot(*point[i], mark, color=color, markersize=size))
        moving.extend(left.fill(*outline(X, 1 / tau[i], 10).T, color=sl.plots.GREY, alpha=0.25, linewidth=0))
        moving.extend(ax.axvline(tau[i], color="black") for ax in (right, below))
        words = "solves the LASSO" if flow.average(tau[i]).is_lasso else "does not solve the LASSO"
        left.set_title(rf"$\tau$ = {tau[i]:.2f}: the average {words}", fontsize=11, loc="left")

    return FuncAnimation(figure, show, range(0, len(tau), 8), lambda: None, interval=140)


def _paths(X: Any, y: Any) -> tuple[Any, Any, list[Any]]:
    """Return the flow, times τ, and the coefficients of the flow, of its average and of the LASSO."""
    flow = sl.gradient_flow(X, y)
    tau = np.geomspace(0.8 * flow.tau[0], 1.4 * flow.tau[-1], 576)
    means = np.array([flow.average(t).coef for t in tau])
    return flow, tau, [flow.at(tau), means, sl.lasso_path(X, y).at(1 / tau)]


def _averages(ax: Any, flow: Any, tau: Any, means: Any, lasso: Any) -> None:
    """Draw averages and the LASSO, with × where a feature violates the conditions, and grey behind them."""
    _lines(ax, flow, tau, means, "Its average, and the LASSO in black", linewidth=5, alpha=0.5)
    ax.plot(tau, lasso, color="black", linewidth=1)
    wrong = np.array([np.isin(range(means.shape[1]), flow.average(t).violations) for t in tau])
    ax.plot(tau[::16], np.where(wrong, means, np.nan)[::16], "x", color="black")
    ax.fill_between(tau, 0, 1, wrong.any(axis=1), transform=ax.get_xaxis_transform(), color="#0001")
    ax.set_xlabel(r"$\tau = 1/\lambda$", fontsize=11)


def _lines(ax: Any, flow: Any, tau: Any, values: Any, title: str, **look: Any) -> None:
    """Draw lines over τ, in the colours of features if there are several, and the events as dotted lines."""
    colors = sl.plots.PALETTE if values.shape[1] > 1 else ("black",)
    for j, (line, color) in enumerate(zip(values.T, colors, strict=False)):
        ax.plot(tau, line, color=color, **({"drawstyle": "steps-post", "linewidth": 2} | look))
        ax.text(1.02 * tau[-1], line[-1], f"{j}" * (len(colors) > 1), color=color, va="center")
    ax.set_title(title, fontsize=11, loc="left")
    ax.set(xscale="log", xlim=tau[[0, -1]])
    ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    ax.vlines(flow.tau, 0, 1, color="black", linewidth=0.6, linestyle=":", transform=ax.get_xaxis_transform())


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
