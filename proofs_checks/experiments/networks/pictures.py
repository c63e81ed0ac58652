"""The figures of the network studies: accuracies of methods on data sets, and the pixels that methods
select.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from proofs_checks.experiments.networks.data import title
from proofs_checks.experiments.networks.tables import LOWER
from sparselin.plots.pixels import grey_image
from sparselin.plots.style import BLUE, GREY, ORANGE, POINTS, look, picture, positive_axis, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proofs_checks.experiments.networks.verdicts import Summary

MANY = 8  # with more lines than this, lines have no bars, panels are larger, and few lines have colours
_COLOURED = 6  # the number of lines with colours then
_PICTURES = 6  # images in a row
_FILLS: dict[str, Any] = {"-": "full", "--": "none", ":": "left"}  # the line style ↦ the fill of marks
_OTHERS: dict[str, Any] = {"color": "#c4c9ce", "zorder": 1, "label": "the other methods"}
_IN_PRINT: dict[str, Any] = {"color": GREY, "marker": "_", "linestyle": "--", "label": "in print"}
_SHORTEST = 1e-3  # seconds: records have three digits


def study_lines(
    points: Sequence[tuple[float, Summary]],
    xlabel: str,
    ylabel: str,
    printed: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> list[Axes]:
    """Draw the mean scores of methods against some number x, with a panel for each data set.

    With up to eight methods, the lines have bars of one standard deviation. With more methods, only six are
    coloured: those that have the best mean most often. If all x > 0, the axis is logarithmic.

    Parameters
    ----------
    points : (x, summary) of each point; the summary has the mean score.
    printed : data set ↦ the points (x, score) that a paper prints.
    """
    methods = list(dict.fromkeys(summary.method for _, summary in points))
    names = list(dict.fromkeys(summary.data for _, summary in points))
    few = len(methods) <= MANY
    coloured = methods if few else _first_most_often(points)
    panels = _panels(names, xlabel, ylabel, 3 if few else 2)
    for name, ax in zip(names, panels, strict=True):
        places = sorted({x for x, summary in points if summary.data == name})
        for i, method in enumerate(methods):
            mine = [point for point in points if (point[1].data, point[1].method) == (name, method)]
            if mine:
                shown = look(i) | {"label": method} if method in coloured else _OTHERS
                _line(ax, sorted(mine, key=itemgetter(0)), shown, few)
        if printed and name in printed:
            ax.plot(*zip(*printed[name], strict=True), linewidth=1.2, markersize=9, **_IN_PRINT)
        if all(x > 0 for x, _ in points):
            ax.set_xscale("log")
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
    _legend(panels, 4)
    return panels


def study_times(summaries: Sequence[Summary], ylabel: str = "accuracy") -> list[Axes]:
    """Draw the mean scores of methods against the seconds of the selection, with a panel for each data set.

    Each method has a mark, with a bar of one standard deviation.

    summaries : a summary for each method and data set. `seconds` has "selecting", and "tuning" if the method
        was tuned; both are added.
    """
    methods = list(dict.fromkeys(summary.method for summary in summaries))
    names = list(dict.fromkeys(summary.data for summary in summaries))
    took = [summary.seconds["selecting"] + summary.seconds.get("tuning", 0) for summary in summaries]
    tuned = any("tuning" in summary.seconds for summary in summaries)
    panels = _panels(names, "seconds of the selection" + ", with its tuning" * tuned, ylabel, 2)
    for summary, seconds in zip(summaries, took, strict=True):
        ax, style = panels[names.index(summary.data)], look(methods.index(summary.method))
        shown = {"label": summary.method, "linestyle": "none", "fillstyle": _FILLS[style["linestyle"]]}
        at, mean, std = max(seconds, _SHORTEST), summary.mean, float(np.nan_to_num(summary.std))
        ax.vlines(at, mean - std, mean + std, color=style["color"], linewidth=1, alpha=0.35)
        ax.plot([at], [mean], markersize=7, **(style | shown))
    for name, ax in zip(names, panels, strict=True):
        mine = [seconds for summary, seconds in zip(summaries, took, strict=True) if summary.data == name]
        positive_axis(ax, np.maximum(mine, _SHORTEST))
    _legend(panels, 4)
    return panels


def study_leads(pairs: Sequence[tuple[Summary, Summary]], xlabel: str) -> list[Axes]:
    """Draw how far the first mean of each pair is ahead of the second, with a panel for each data set.

    Each line of a panel shows a pair, with the number k of features and the method of the second mean as its
    label. The bar extends two standard errors of the difference to either side; the two means count as
    independent.
    """
    names = list(dict.fromkeys(first.data for first, _ in pairs))
    panels = _panels(names, xlabel, "", 2, 2.1)
    for name, ax in zip(names, panels, strict=True):
        mine = [pair for pair in pairs if pair[0].data == name]
        at = np.array([first.mean - second.mean for first, second in mine])
        bars = [2 * float(np.hypot(first.error, second.error)) for first, second in mine]
        ax.axvline(0, color="black", linewidth=1)
        ax.errorbar(at, range(len(mine)), xerr=bars, color=BLUE, fmt="o", markersize=6, capsize=3)
        ax.locator_params(axis="x", nbins=5)
        ax.set_yticks(range(len(mine)), [f"k = {first.k}: {second.method}" for first, second in mine])
        ax.set_ylim(len(mine) - 0.5, -0.5)
    return panels


def picked_pixels(
    shares: Mapping[str, Mapping[int, float]], shape: tuple[int, int], background: Any = None
) -> list[Axes]:
    """Draw the selected pixels of each method on an image. A darker pixel is selected for more of the seeds.

    Parameters
    ----------
    shares : method ↦ (feature ↦ the share of the seeds for which the method selected it).
    shape : (height, width) of an image; feature j = width·row + column.
    background : (height·width,) an image, for example the mean of all images; None: blank.
    """
    panels = _grid(len(shares), _PICTURES, 2.4)
    image = np.zeros(shape) if background is None else np.reshape(background, shape)
    for (method, share), ax in zip(shares.items(), panels, strict=True):
        picture(ax, title=method.replace(", ", ",\n").replace(" of ", "\nof "))
        grey_image(ax, image, alpha=0.5)
        rows, columns = np.unravel_index(np.array(list(share), np.intp), shape)
        look_of: dict[str, Any] = {"color": ORANGE, "edgecolor": "black", "linewidth": 0.4, "marker": "s"}
        look_of["alpha"] = 0.15 + 0.85 * np.array(list(share.values()))
        ax.scatter(columns, rows, s=(85 / max(shape)) ** 2, rasterized=True, **look_of)
    return panels


def _grid(count: int, wide: int, height: float) -> list[Axes]:
    """Return a figure with `count` panels, `wide` of them side by side.

    The width of the figure is fixed, so that its letters keep their size.
    """
    high = -(-count // wide)
    size = {"figsize": (12.6, height * high), "layout": "constrained"}
    _, grid = pyplot().subplots(high, wide, squeeze=False, **size)
    for unused in list(grid.flat)[count:]:
        unused.set_axis_off()
    return list(grid.flat)[:count]


def _first_most_often(points: Sequence[tuple[float, Summary]]) -> list[str]:
    """Return the methods that most often have the best mean, for a data set and an x: at most six methods.

    The method that has the best mean most often comes first.
    """
    best: dict[tuple[str, float], Summary] = {}
    for x, summary in points:
        sign = -1 if summary.learner in LOWER else 1
        before = best.setdefault((summary.data, x), summary)
        if sign * summary.mean > sign * before.mean:
            best[summary.data, x] = summary
    counts = Counter(summary.method for summary in best.values())
    return [method for method, _ in counts.most_common(_COLOURED)]


def _panels(
    names: Sequence[str], xlabel: str, ylabel: str, wide: int, height: float | None = None
) -> list[Axes]:
    panels = _grid(len(names), wide, 9 / wide + 0.4 if height is None else height)
    for i, (name, ax) in enumerate(zip(names, panels, strict=True)):
        picture(ax, xlabel, textwrap.fill(ylabel, 24) if i % wide == 0 else "", title(name))
        ax.grid(linewidth=0.4, alpha=0.5)
    return panels


def _line(ax: Axes, mine: Sequence[tuple[float, Summary]], shown: dict[str, Any], bars: bool) -> None:
    """Draw the line of one method, with or without bars of one standard deviation."""
    places, means = [x for x, _ in mine], np.array([summary.mean for _, summary in mine])
    ax.plot(places, means, markersize=4.5, linewidth=1.2, **shown)
    if bars:
        std = np.nan_to_num([summary.std for _, summary in mine])
        ax.vlines(places, means - std, means + std, color=shown["color"], linewidth=0.7)


def _legend(panels: Sequence[Axes], columns: int) -> None:
    """Draw one legend for all panels, below the panels."""
    handles = {
        label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    labels = sorted(handles, key=lambda label: label == _OTHERS["label"])  # last
    place = {"loc": "outside lower center", "ncols": min(columns, len(handles)), "frameon": False}
    panels[0].figure.legend([handles[label] for label in labels], labels, fontsize=POINTS, **place)
