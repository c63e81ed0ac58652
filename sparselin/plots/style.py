"""The style of all figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.problem import Problem
from sparselin.results import FloatArray, Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of all figures. Any two of it, GREY and black differ by ΔE*76 ≥ 17 for three kinds of cones and,
# as Machado, Oliveira and Fernandes (2009) simulate them, for two; each has a contrast ≥ 3 on white.
BLUE, ORANGE, GREEN, RED = "#295b9d", "#d8720b", "#24855e", "#b3261e"
VIOLET, SKY, PINK, BROWN = "#6a41be", "#3c9adf", "#db6aa9", "#45260d"
PALETTE = (BLUE, ORANGE, GREEN, RED, VIOLET, SKY, PINK, BROWN)
GREY = "#656e77"  # of what has no colour of its own
_MARKERS = "osD^vPX*"  # of each colour
_DASHES = ("-", "--", ":", "-.")  # of the first eight lines, of the next, …
POINTS = 11  # the size of letters
LONG = 20.0  # positive numbers that differ by more than such a factor are on a logarithmic axis
_ROWS = 40  # so many rows have a name each
_MANY = 10**5  # more points than that are drawn as an image
_LETTERS = 26  # longer names are cut in the middle


def close(figure: Figure) -> None:
    """Free a figure that is not shown."""
    pyplot().close(figure)


def look(i: int) -> dict[str, Any]:
    """Of the line number i: a colour and the marker that goes with it, and dashes beyond eight lines."""
    n = len(PALETTE)
    return {"color": PALETTE[i % n], "marker": _MARKERS[i % n], "linestyle": _DASHES[i // n % len(_DASHES)]}


def axes(
    ax: Axes | None,
    title: str,
    xlabel: str = "",
    ylabel: str = "",
    figsize: tuple[float, float] = (5.0, 3.4),
) -> Axes:
    """The look that all figures share, on `ax` or on a new figure."""
    if ax is None:
        ax = pyplot().subplots(figsize=figsize, layout="constrained")[1]
    ax.set_title(title, fontsize=POINTS)
    ax.set_xlabel(xlabel, fontsize=POINTS)
    ax.set_ylabel(ylabel, fontsize=POINTS)
    ax.tick_params(labelsize=POINTS, width=0.6, length=3)
    ax.spines[:].set_linewidth(0.6)
    ax.set_axisbelow(True)
    return ax


def projected(ax: Any, projection: str, figsize: tuple[float, float], message: str) -> Any:
    """Return `ax`, or that of a new figure; ValueError with the message if it has another projection."""
    if ax is None:
        shape = {"figsize": figsize, "layout": "constrained", "subplot_kw": {"projection": projection}}
        return pyplot().subplots(**shape)[1]
    if ax.name != projection:
        raise ValueError(message)
    return ax


def in_space(X: Any, y: Any, n: int, name: str = "y") -> Problem:
    """The problem of a picture in the plane (n = 2) or in space (n = 3)."""
    problem = Problem(X, y)
    if problem.n != n:
        raise ValueError(
            f"X must have {n} rows and {name} {n} entries, those of the picture; got X of shape "
            f"{problem.X.shape}. np.linalg.qr gives the coordinates of columns that span no more."
        )
    return problem


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'sparselin[plot]'") from error
    return plt


def picture(
    ax: Axes | None, xlabel: str, ylabel: str, title: str = "", figsize: tuple[float, float] = (6.6, 4.0)
) -> Axes:
    """The look of the pictures of single results."""
    return axes(ax, title, xlabel, ylabel, figsize)


def panel(ax: Axes, xlabel: str, ylabel: str = "", width: float = 0.42, *, shared: bool = True) -> Axes:
    """A second panel in the right part of the place of `ax`, with the same rows if `shared`."""
    rows, figure, spec = (ax if shared else None), ax.figure, ax.get_subplotspec()
    if spec is None:
        box = ax.get_position()
        ax.set_position((box.x0, box.y0, 0.62 * box.width, box.height))
        right = figure.add_axes((box.x1 - 0.3 * box.width, box.y0, 0.3 * box.width, box.height), sharey=rows)
    else:
        grid = spec.subgridspec(1, 2, width_ratios=(1, width))
        ax.set_subplotspec(grid[0])
        right = figure.add_subplot(grid[1], sharey=rows)
    axes(right, "", xlabel, ylabel)
    if shared:
        right.tick_params(labelleft=False)
    return right


def height(rows: int) -> float:
    """The height in inches of a figure with so many rows."""
    return 1.3 + 0.27 * min(max(rows, 2), _ROWS)


def largest(size: ArrayLike) -> list[int]:
    """The positions of the 40 largest entries, in decreasing order."""
    return [int(i) for i in np.argsort(-np.asarray(size), kind="stable")[:_ROWS]]


def rows(ax: Axes, labels: Sequence[str]) -> None:
    """The rows 0, 1, … from the top, with their labels: every second, third, … if there are many."""
    step = -(-len(labels) // _ROWS) or 1
    ax.set_yticks(range(0, len(labels), step), labels[::step])
    ax.set_ylim(len(labels) - 0.4, -0.6)


def name(names: Names, j: int) -> str:
    """The name of feature j, x0, x1, … without one; of one that is long the beginning and the end.

    A label that begins with "_" would not be in a legend: a space comes before it.
    """
    label = ("" if names is None else " ".join(names[j].split())) or f"x{j}"
    label = f" {label}" if label.startswith("_") else label
    half = _LETTERS // 2
    label = label if len(label) <= _LETTERS else f"{label[:half]}…{label[1 - half :]}"
    return label.replace("$", r"\$")


def note(ax: Axes, text: str) -> Axes:
    """A sentence in place of a picture, where there is nothing to draw."""
    ax.text(0.5, 0.5, textwrap.fill(text, 44), ha="center", va="center", fontsize=POINTS, color=GREY,
            transform=ax.transAxes)  # fmt: skip
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    return ax


def beside(ax: Axes, text: str, point: tuple[Any, Any], offset: tuple[int, int], **look: Any) -> None:
    """Write a text at an offset, in points, from a point of the data."""
    ax.annotate(text, point, offset, textcoords="offset points", **{"fontsize": POINTS} | look)


def legend(ax: Axes, columns: int = 3) -> None:
    """Above the axes."""
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "columnspacing": 1.2}
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))  # one for each label
    if handles:
        ax.legend(handles.values(), handles, ncols=columns, frameon=False, fontsize=POINTS, **place)


def integers(ax: Axes) -> None:
    """Ticks of the horizontal axis at integers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))


def spread(positions: FloatArray, gap: float, top: float = 1.0) -> FloatArray:
    """The nearest positions in 0..top, in the same order, that are at least `gap` apart.

    In least squares: with z_i = y_i − i·gap (y sorted) the z must not decrease, which is isotonic regression,
    by pooling neighbours; bounds then cut it off. They are too small for more than top/gap + 1 positions.
    """
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    blocks: list[tuple[float, int]] = []
    for value in positions[order] - steps:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] >= mean:
            before, many = blocks.pop()
            mean, count = (mean * count + before * many) / (count + many), count + many
        blocks.append((mean, count))
    pooled = np.repeat([mean for mean, _ in blocks], [count for _, count in blocks])
    placed = np.empty(len(order))
    placed[order] = np.clip(pooled, 0, max(top - steps[-1], 0) if len(steps) else 0) + steps
    return placed


def grey_lines(ax: Axes, x: FloatArray, lines: FloatArray) -> None:
    """Grey lines without a name, x (m,) and lines (p, m)."""
    from matplotlib.collections import LineCollection

    points = [np.column_stack([x, values]) for values in lines]
    grey = LineCollection(points, colors=GREY, linewidths=0.7, alpha=0.45, label="others")
    grey.set_rasterized(lines.size > _MANY)
    ax.add_collection(grey, autolim=False)


def named_ends(ax: Axes, ends: FloatArray) -> None:
    """The names of the lines drawn so far on the right, beside the values at which they end."""
    low, high = ax.get_ylim()
    gap = 1.25 * POINTS * ax.figure.dpi / (72 * 0.85 * ax.bbox.height)  # labels and titles will take 15 %
    places = spread((ends - low) / (high - low), min(gap, 1 / max(len(ends), 1)))
    for line, end, place in zip(list(ax.lines), ends.tolist(), places.tolist(), strict=False):
        arrow = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
        ax.annotate(str(line.get_label()), (1, end), (1.05, place), ("axes fraction", "data"),
                    "axes fraction", color=line.get_color(), fontsize=POINTS, va="center",
                    annotation_clip=False, arrowprops=arrow)  # fmt: skip


def positive_axis(ax: Axes, values: FloatArray) -> bool:
    """A horizontal axis for values ≥ 0 with round numbers; whether it is logarithmic.

    That is where positive ones differ by more than a factor of 20; if there is a 0, linear below the least.
    """
    positive = values[values > 0]
    least, top, zero = float(positive.min()), float(positive.max()), bool(values.min() == 0)
    bent = top > LONG * least
    if bent and zero:
        ax.set_xscale("symlog", linthresh=least, linscale=0.12 * math.log10(top / least))
    elif bent:
        ax.set_xscale("log")
    marks = _decades(least, top) if bent else _multiples(0.0 if zero else least, top)
    ax.set_xticks([0.0] * zero + marks, ["0"] * zero + [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    return bent


def _multiples(low: float, high: float) -> list[float]:
    """At most seven multiples of 1, 2 or 5 times a power of ten, in [low, high] and positive."""
    unit = 10.0 ** math.floor(math.log10(high - low)) if high > low else high
    step = next(unit * m for m in (0.1, 0.2, 0.5, 1.0, 2.0) if high - low <= 6 * unit * m)
    return [float(f"{step * i:.6g}") for i in range(1, round(high / step) + 1) if low <= step * i <= high]


def _decades(low: float, high: float) -> list[float]:
    """At most eight numbers in [low, high]: 1, 2, 5 times powers of ten, or 1, 3, or 1, or fewer."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) <= 8:
            break
    return marks[:: -(-len(marks) // 8) or 1]
