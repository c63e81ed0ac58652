"""The style that all figures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.problem import Problem
from sparselin.results import FloatArray, Names
from sparselin.results.display import printable
from sparselin.validation.extras import installed_by, needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure
else:
    Axes = Any  # Matplotlib is imported when the first figure is drawn

# The palette of all figures. Any two of its colours, GREY and black differ by ΔE*76 ≥ 17, for people with
# three kinds of cones and for people with two (simulated as in Machado, Oliveira and Fernandes, 2009). Each
# colour has a contrast ≥ 3 on white.
BLUE = "#295b9d"
ORANGE = "#d8720b"
GREEN = "#24855e"
RED = "#b3261e"
VIOLET = "#6a41be"
SKY = "#3c9adf"
PINK = "#db6aa9"
BROWN = "#45260d"
PALETTE = (BLUE, ORANGE, GREEN, RED, VIOLET, SKY, PINK, BROWN)
GREY = "#656e77"  # the colour of everything without a colour of its own
_MARKERS = "osD^vPX*"  # the marker of each colour
_DASHES = ("-", "--", ":", "-.")  # the dashes of the first eight lines, of the next eight, …
LONG = 20.0  # an axis is logarithmic if its positive numbers differ by more than this factor
_ROWS = 40  # at most this many rows have a name
_MANY = 10**5  # more points than this are drawn as an image
Size = tuple[float, float]  # the width and the height of a figure in inches
_LETTERS = 26  # longer names are cut in the middle


def font_size() -> float:
    """Return the size of all texts in points: 11 for Matplotlib's default rcParams["font.size"] = 10."""
    return 1.1 * float(pyplot().rcParams["font.size"])


def legend_columns(most: int) -> int:
    """Return the number of columns of a legend: `most` for the usual font, fewer for a larger one."""
    return max(1, int(most * 11.0 / max(font_size(), 11.0)))


def line_width(points: float) -> float:
    """Return a width of a line: `points`, for Matplotlib's default rcParams["lines.linewidth"] = 1.5."""
    return points * (float(pyplot().rcParams["lines.linewidth"]) / 1.5)


def marker_size(points: float) -> float:
    """Return a size of a marker: `points`, for Matplotlib's default rcParams["lines.markersize"] = 6."""
    return points * (float(pyplot().rcParams["lines.markersize"]) / 6.0)


def close(figure: Figure) -> None:
    """Free the memory of a figure.

    >>> import sparselin as sl
    >>> ax = sl.plots.show(sl.omp([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 1))
    >>> close(ax.figure)
    >>> pyplot().fignum_exists(ax.figure.number)
    False
    """
    pyplot().close(figure)


def look(i: int) -> dict[str, Any]:
    """Return the colour and marker of line i, and its dashes, which change after every eight lines."""
    n = len(PALETTE)
    return {"color": PALETTE[i % n], "marker": _MARKERS[i % n], "linestyle": _DASHES[i // n % len(_DASHES)]}


def check_axes(ax: Any) -> None:
    """Raise TypeError unless `ax` is Matplotlib's Axes or None."""
    if ax is not None:
        pyplot()
        from matplotlib.axes import Axes as AnyAxes

        if not isinstance(ax, AnyAxes):
            kind = type(ax).__name__
            raise TypeError(f"ax must be Matplotlib's Axes, or None for a new figure; got {kind}")


def check_result(value: Any, name: str, *classes: type) -> None:
    """Raise TypeError unless an argument is a result of one of the classes."""
    if not isinstance(value, classes):
        kinds = " or ".join(kind.__name__ for kind in classes)
        raise TypeError(
            f"{name} must be a {kinds}; got {type(value).__name__}. sl.plots.show draws a result of any class"
        )


def picture(
    ax: Axes | None, xlabel: str = "", ylabel: str = "", title: str = "", figsize: Size = (6.6, 4.0)
) -> Axes:
    """Give `ax`, or the axes of a new figure, the look that all figures share; return the axes."""
    check_axes(ax)
    if ax is None:
        ax = pyplot().subplots(figsize=figsize, layout="constrained")[1]
    ax.set_title(title, fontsize=font_size())
    ax.set_xlabel(xlabel, fontsize=font_size())
    ax.set_ylabel(ylabel, fontsize=font_size())
    ax.tick_params(labelsize=font_size(), width=0.6, length=3)
    ax.spines[:].set_linewidth(0.6)
    ax.set_axisbelow(True)
    return ax


def projection_axes(ax: Any, projection: str, figsize: Size, message: str) -> Any:
    """Return `ax`, or the axes of a new figure. Raises ValueError(message) if `ax` has another projection."""
    check_axes(ax)
    if ax is None:
        shape = {"figsize": figsize, "layout": "constrained", "subplot_kw": {"projection": projection}}
        return pyplot().subplots(**shape)[1]
    if ax.name != projection:
        raise ValueError(message)
    return ax


def in_space(X: Any, y: Any, n: int | None = None) -> Problem:
    """Return the problem of a picture in the plane (n = 2) or in space (n = 3), or in either (None).

    Raises ValueError if X has another number of rows.
    """
    problem = Problem(X, y)
    if problem.n not in ((2, 3) if n is None else (n,)):
        rows = f"{n} rows" if n else "2 rows, for a picture in the plane, or 3, for one in space"
        raise ValueError(
            f"X must have {rows}; got X of shape {problem.X.shape}. If X and y span {n or '2 or 3'} "
            "dimensions, np.linalg.qr gives coordinates."
        )
    return problem


def pyplot() -> Any:
    """Import and return matplotlib.pyplot. If it is missing, ModuleNotFoundError says how to install it."""
    with needs("matplotlib", f"figures need matplotlib: {installed_by('plot')}"):
        import matplotlib.pyplot as plt
    return plt


def panel(ax: Axes, xlabel: str, ylabel: str = "", width: float = 0.42, *, shared: bool = True) -> Axes:
    """Shrink `ax`, and return a second panel on its right, with the same vertical axis if `shared`."""
    rows = ax if shared else None
    figure = ax.figure
    spec = ax.get_subplotspec()
    if spec is None:
        box = ax.get_position()
        ax.set_position((box.x0, box.y0, 0.62 * box.width, box.height))
        right = figure.add_axes((box.x1 - 0.3 * box.width, box.y0, 0.3 * box.width, box.height), sharey=rows)
    else:
        grid = spec.subgridspec(1, 2, width_ratios=(1, width))
        ax.set_subplotspec(grid[0])
        right = figure.add_subplot(grid[1], sharey=rows)
    picture(right, xlabel, ylabel)
    if shared:
        right.tick_params(labelleft=False)
    return right


def height(rows: int) -> float:
    """Return the height in inches of a figure with this number of rows."""
    return 1.3 + 0.27 * min(max(rows, 2), _ROWS)


def largest(size: ArrayLike) -> list[int]:
    """Return the positions of the 40 largest entries, in decreasing order."""
    return [int(i) for i in np.argsort(-np.asarray(size), kind="stable")[:_ROWS]]


def rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label the rows 0, 1, … from the top; if there are many, only every second, third, … one."""
    step = -(-len(labels) // _ROWS) or 1
    ax.set_yticks(range(0, len(labels), step), labels[::step])
    ax.set_ylim(len(labels) - 0.4, -0.6)


def name(names: Names, j: int) -> str:
    """Return a label for feature j: its name, or x0, x1, … without names. A long name is cut in the middle.

    Control characters are escaped, because an SVG must not contain them. Matplotlib leaves labels that begin
    with "_" out of legends, so such a label gets a space in front.
    """
    label = ("" if names is None else printable(" ".join(names[j].split()))) or f"x{j}"
    label = f" {label}" if label.startswith("_") else label
    half = _LETTERS // 2
    label = label if len(label) <= _LETTERS else f"{label[:half]}…{label[1 - half :]}"
    return label.replace("$", r"\$")


def note(ax: Axes, text: str) -> Axes:
    """Write a sentence in place of a picture that would be empty."""
    ax.text(
        0.5,
        0.5,
        textwrap.fill(text, 44),
        ha="center",
        va="center",
        fontsize=font_size(),
        color=GREY,
        transform=ax.transAxes,
    )
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    return ax


def write_near(ax: Axes, text: str, point: tuple[Any, Any], offset: tuple[int, int], **look: Any) -> None:
    """Write a text near a point of the data, at an offset in points."""
    ax.annotate(text, point, offset, textcoords="offset points", **{"fontsize": font_size()} | look)


def marks(ax: Axes, x: FloatArray, y: ArrayLike, some: Any, marker: str, **look: Any) -> None:
    """Draw the points (x, y) of a mask, or of a list of indices, if there are any."""
    if len(x[some]):
        ax.plot(x[some], np.asarray(y)[some], marker, **look)


def handles_of(*drawn: Axes) -> dict[str, Any]:
    """Return label ↦ line of the legends of some axes, one line for each label."""
    return {label: line for ax in drawn for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}


def legend(ax: Axes, columns: int = 3) -> None:
    """Put the legend above the axes."""
    place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "columnspacing": 1.2}
    if handles := handles_of(ax):
        ax.legend(
            handles.values(),
            handles,
            ncols=legend_columns(columns),
            frameon=False,
            fontsize=font_size(),
            **place,
        )


def integers(ax: Axes) -> None:
    """Put the ticks of the horizontal axis at integers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))


def spread(positions: FloatArray, gap: float, top: float = 1.0) -> FloatArray:
    """Return the nearest positions in [0, top], in the same order, that are at least `gap` apart.

    "Nearest" means least squares. Let y be the given positions, sorted, and z_i = y_i − i·gap. Then the z
    must not decrease. This problem is isotonic regression, and its solution is clipped to the bounds. More
    than top/gap + 1 positions do not fit.
    """
    from scipy.optimize import isotonic_regression

    if not len(positions):
        return np.zeros(0)
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    placed = np.empty(len(order))
    pooled = isotonic_regression(positions[order] - steps).x
    placed[order] = np.clip(pooled, 0, max(top - steps[-1], 0)) + steps
    return placed


def grey_lines(ax: Axes, x: FloatArray, lines: FloatArray) -> None:
    """Draw lines (p, m) over x (m,) in grey, without names."""
    from matplotlib.collections import LineCollection

    points = [np.column_stack([x, values]) for values in lines]
    grey = LineCollection(points, colors=GREY, linewidths=0.7, alpha=0.45, label="others")
    grey.set_rasterized(lines.size > _MANY)
    ax.add_collection(grey, autolim=False)


def limits_and_zero(ax: Axes, low: float, high: float, share: float) -> None:
    """Show the values from `low` to `high`, a share of their range free on both sides, and a line at 0."""
    pad = share * (high - low) or 1.0
    ax.set_ylim(low - pad, high + pad)
    ax.axhline(0, color=GREY, linewidth=line_width(0.6), zorder=0)


def draw_largest(
    ax: Axes, x: FloatArray, lines: FloatArray, labels: Sequence[str], most: int, kind: Callable[[int], Any]
) -> list[int]:
    """Draw lines (p, m) over x (m,), in colour and with labels the `most` of them with the largest ends.

    The others are grey. kind(i) returns additional properties of line i. Returns the coloured lines, the
    highest end first.
    """
    ends = lines[:, -1]
    largest = np.argsort(-np.abs(ends), kind="stable")[: max(most, 0)]
    shown: list[int] = largest[np.argsort(-ends[largest], kind="stable")].tolist()
    grey_lines(ax, x, np.delete(lines, shown, axis=0))
    for place, i in enumerate(shown):
        ax.plot(x, lines[i], linewidth=line_width(1.5), label=labels[i], **look(place) | kind(i))
    limits_and_zero(ax, float(lines.min(initial=0)), float(lines.max(initial=0)), 0.06)
    name_line_ends(ax, ends[shown])
    return shown


def name_line_ends(ax: Axes, ends: FloatArray) -> None:
    """Write the names of the lines drawn so far on the right, next to the values at which they end."""
    low, high = ax.get_ylim()
    gap = (
        1.25 * font_size() * ax.figure.dpi / (72 * 0.85 * ax.bbox.height)
    )  # labels and titles take about 15 %
    places = spread((ends - low) / (high - low), min(gap, 1 / max(len(ends), 1)))
    for line, end, place in zip(list(ax.lines), ends.tolist(), places.tolist(), strict=False):
        arrow = {
            "arrowstyle": "-",
            "color": line.get_color(),
            "linewidth": line_width(0.7),
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate(
            str(line.get_label()),
            (1, end),
            (1.05, place),
            ("axes fraction", "data"),
            "axes fraction",
            color=line.get_color(),
            fontsize=font_size(),
            va="center",
            annotation_clip=False,
            arrowprops=arrow,
        )


def positive_axis(ax: Axes, values: FloatArray) -> bool:
    """Set up a horizontal axis for values ≥ 0, with ticks at round numbers; return whether it is logarithmic.

    The axis is logarithmic if the positive values differ by more than a factor of 20. If 0 is among the
    values, the axis is linear below the least positive value.
    """
    positive = values[values > 0]
    least = float(positive.min())
    top = float(positive.max())
    zero = bool(values.min() == 0)
    bent = top > LONG * least
    if bent and zero:
        ax.set_xscale("symlog", linthresh=least, linscale=0.12 * math.log10(top / least))
    elif bent:
        ax.set_xscale("log")
    first = 0.0 if zero else least
    marks = _decades(least, top) if bent else _multiples(first, top)
    ax.set_xticks([0.0] * zero + marks, ["0"] * zero + [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    return bent


def _multiples(low: float, high: float) -> list[float]:
    """Return at most seven positive multiples of 1, 2 or 5 times a power of ten in [low, high]."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [mark for mark in (float(f"{tick:.6g}") for tick in ticks) if mark > 0 and low <= mark <= high]


def _decades(low: float, high: float) -> list[float]:
    """Return at most eight round numbers in [low, high].

    These are 1, 2, 5 times powers of ten, or 1, 3 times powers of ten, or powers of ten, or every second,
    third, … power.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        marks = [mark for mark in marks if low <= mark <= high]
        if len(marks) <= 8:
            break
    return marks[:: -(-len(marks) // 8) or 1]
