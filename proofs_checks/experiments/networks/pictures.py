"""Figures of the studies of networks: accuracies of methods on data sets, and the pixels that they pick."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from proofs_checks.experiments.networks.data import title
from sparselin.plots.pixels import grey_image
from sparselin.plots.style import GREY, ORANGE, POINTS, axes, look, positive_axis, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proofs_checks.experiments.networks.verdicts import Summary

_MANY = 8  # more lines than that have no bars, and larger panels
_PICTURES = 6  # images in a row
_FILLS: dict[str, Any] = {"-": "full", "--": "none", ":": "left"}  # of marks, in place of lines
_SHORTEST = 1e-3  # seconds: records have them to three digits


def study_lines(
    points: Sequence[tuple[float, Summary]],
    xlabel: str,
    ylabel: str,
    printed: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> list[Axes]:
    """Draw mean scores of methods against x, a panel for each data set.

    Lines of up to eight methods have bars of one standard deviation. An axis without 0 is logarithmic.

    Parameters
    ----------
    points : x and a summary.
    printed : data set ↦ points (x, score) of a paper.
    """
    methods = list(dict.fromkeys(one.method for _, one in points))
    names = list(dict.fromkeys(one.data for _, one in points))
    panels = _panels(names, xlabel, ylabel, 3 if len(methods) <= _MANY else 2)
    for name, ax in zip(names, panels, strict=True):
        places = sorted({x for x, one in points if one.data == name})
        for i, method in enumerate(methods):
            mine = [(x, one) for x, one in points if (one.data, one.method) == (name, method)]
            if mine:
                _line(ax, sorted(mine, key=itemgetter(0)), look(i) | {"label": method}, len(methods) <= _MANY)
        if printed and name in printed:
            shown: dict[str, Any] = {"color": GREY, "marker": "_", "linestyle": "--", "label": "in print"}
            ax.plot(*zip(*printed[name], strict=True), linewidth=1.2, markersize=9, **shown)
        if all(x > 0 for x, _ in points):
            ax.set_xscale("log")
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
    _legend(panels, 4)
    return panels


def study_times(summaries: Sequence[Summary], ylabel: str = "accuracy") -> list[Axes]:
    """Draw mean scores against the seconds of the selection, with its tuning; a panel for each data set.

    Each method has a mark, with a bar of one standard deviation.

    summaries : `seconds` has "selecting", and "tuning" where the method was tuned.
    """
    methods = list(dict.fromkeys(one.method for one in summaries))
    names = list(dict.fromkeys(one.data for one in summaries))
    took = [one.seconds["selecting"] + one.seconds.get("tuning", 0) for one in summaries]
    xlabel = "seconds of the selection" + ", with its tuning" * any(
        "tuning" in one.seconds for one in summaries
    )
    panels = _panels(names, xlabel, ylabel, 2)
    for one, seconds in zip(summaries, took, strict=True):
        ax, style = panels[names.index(one.data)], look(methods.index(one.method))
        shown = style | {"label": one.method, "linestyle": "none", "fillstyle": _FILLS[style["linestyle"]]}
        at = max(seconds, _SHORTEST)
        std = float(np.nan_to_num(one.std))
        ax.vlines(at, one.mean - std, one.mean + std, color=style["color"], linewidth=1, alpha=0.35)
        ax.plot([at], [one.mean], markersize=7, **shown)
    for name, ax in zip(names, panels, strict=True):
        mine = [seconds for one, seconds in zip(summaries, took, strict=True) if one.data == name]
        positive_axis(ax, np.maximum(mine, _SHORTEST))
    _legend(panels, 4)
    return panels


def picked_pixels(
    shares: Mapping[str, Mapping[int, float]], shape: tuple[int, int], background: Any = None
) -> list[Axes]:
    """Draw the features of each method in the image: the darker a square, the more of the seeds pick it.

    Parameters
    ----------
    shares : method ↦ (feature ↦ the share of the seeds in which it was picked).
    shape : (height, width) of an image; feature j = width·row + column.
    background : (height·width,) an image, as the mean of all; None for a blank one.
    """
    panels = _grid(len(shares), _PICTURES, 2.4)
    image = np.zeros(shape) if background is None else np.reshape(background, shape)
    for (method, share), ax in zip(shares.items(), panels, strict=True):
        axes(ax, method.replace(", ", ",\n").replace(" of ", "\nof "))
        grey_image(ax, image, alpha=0.5)
        rows, columns = np.unravel_index(np.array(list(share), np.intp), shape)
        look_of: dict[str, Any] = {"color": ORANGE, "edgecolor": "black", "linewidth": 0.4, "marker": "s"}
        look_of["alpha"] = 0.15 + 0.85 * np.array(list(share.values()))
        ax.scatter(columns, rows, s=(85 / max(shape)) ** 2, rasterized=True, **look_of)
    return panels


def _grid(count: int, wide: int, height: float) -> list[Axes]:
    """Make panels in rows of `wide`; a figure of fewer is as wide, so that its letters are as large."""
    high = -(-count // wide)
    size = {"figsize": (12.6, height * high), "layout": "constrained"}
    _, grid = pyplot().subplots(high, wide, squeeze=False, **size)
    for unused in list(grid.flat)[count:]:
        unused.set_axis_off()
    return list(grid.flat)[:count]


def _panels(names: Sequence[str], xlabel: str, ylabel: str, wide: int) -> list[Axes]:
    panels = _grid(len(names), wide, 9 / wide + 0.4)
    for i, (name, ax) in enumerate(zip(names, panels, strict=True)):
        axes(ax, title(name), xlabel, textwrap.fill(ylabel, 24) if i % wide == 0 else "")
        ax.grid(linewidth=0.4, alpha=0.5)
    return panels


def _line(ax: Axes, mine: Sequence[tuple[float, Summary]], shown: dict[str, Any], bars: bool) -> None:
    places, means = [x for x, _ in mine], np.array([one.mean for _, one in mine])
    ax.plot(places, means, markersize=4.5, linewidth=1.2, **shown)
    if bars:
        std = np.nan_to_num([one.std for _, one in mine])
        ax.vlines(places, means - std, means + std, color=shown["color"], linewidth=0.7)


def _legend(panels: Sequence[Axes], columns: int) -> None:
    """Draw one legend for all panels, below them."""
    handles = {
        label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    place = {"loc": "outside lower center", "ncols": min(columns, len(handles)), "frameon": False}
    panels[0].figure.legend(handles.values(), handles, fontsize=POINTS, **place)
