"""Figures of the diversity experiment: the six panels of Figure 1, the fit, and where the features lie."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.plots.pixels import grey_image
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, PINK, POINTS, SKY, axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# each with a colour, a marker and a line of its own
LOOKS: dict[str, dict[str, Any]] = {
    "lasso": {"color": "black", "marker": "o", "linestyle": "--"},
    "no-reg": {"color": ORANGE, "marker": "s", "linestyle": "--"},
    "ld": {"color": BLUE, "marker": "^", "linestyle": "-"},
    "ld-0.1": {"color": SKY, "marker": "v", "linestyle": "-"},
    "sv": {"color": GREEN, "marker": "D", "linestyle": "-."},
    "gr": {"color": PINK, "marker": "x", "linestyle": ":"},
}
OTHER_LOOK = {"color": GREY, "marker": "P", "linestyle": "-"}  # of further regularizers
# the opacity of selections of fewer than k features
FADED = 0.4
LEAST = r"least expected for $k$ features, $\sigma\sqrt{k/n}$"
_K = "number of features $k$"


def curves(
    selections: Sequence[Any], value: Callable[[Any], float], methods: Sequence[str], ax: Axes
) -> Axes:
    """A line for each of the methods: `value` of its selections against k.

    Selections of fewer than k features are off the line: faded, each with its number of features.
    """
    for method in methods:
        mine = [one for one in selections if one.method == method]
        line = sorted((one.k, value(one)) for one in mine if not one.short)
        look: dict[str, Any] = {"markersize": 5, "markerfacecolor": "none"} | LOOKS.get(method, OTHER_LOOK)
        if mine:
            ax.plot([k for k, _ in line], [height for _, height in line], label=method, linewidth=1.3, **look)
        for one in mine:
            if one.short:
                faded = look | {"linestyle": "none", "alpha": FADED}
                ax.plot([one.k], [value(one)], label="_short", **faded)
                ax.annotate(
                    str(len(one.support)),
                    (one.k, value(one)),
                    (-4, -8),
                    ha="right",
                    textcoords="offset points",
                    fontsize=POINTS,
                    color=look["color"],
                )
    ax.grid(linewidth=0.4, alpha=0.5)
    return ax


def coefficient_errors(
    selections: Sequence[Any], sigma: float, perturbed: str = "target", *, ax: Axes | None = None
) -> Axes:
    """‖α' − α‖, the average over the repeats, against k for every method.

    Parameters
    ----------
    selections : `MethodSelection` records.
    sigma : the strength of the noise, one of the run.
    perturbed : "target" for noise in y, with the least expected error of k unit columns (a selection of
        fewer may lie below), or "features".
    ax : where to draw; a new figure if None.
    """
    noisy = {"target": "$y$", "features": "$X$"}[perturbed]
    title = f"error, {noisy} perturbed ($\\sigma$ = {sigma:g})"
    ax = axes(ax, title, _K, r"$\|\alpha' - \alpha\|_2$", (5.6, 3.6))
    curves(selections, lambda one: float(np.mean(getattr(one, perturbed)[sigma])), _methods(selections), ax)
    if perturbed == "target":
        line = sorted({(one.k, sigma * one.least_expected) for one in selections})
        ax.plot(*zip(*line, strict=True), color=GREY, linewidth=0.9, label=LEAST)
    ax.set_ylim(bottom=0)
    return ax


def normalised_diversity(selections: Sequence[Any], regularizer: str, *, ax: Axes | None = None) -> Axes:
    """f(S) over its largest value for k unit columns: the LASSO's selection, greedy's, the regularized one.

    Parameters
    ----------
    selections : `MethodSelection` records.
    regularizer : "ld", "ld-0.1", "sv", "gr" or another of the run.
    ax : where to draw; a new figure if None.
    """
    ax = axes(ax, f"diversity by {regularizer}", _K, "$f(S)$ / largest possible", (5.0, 3.2))
    return curves(
        selections, lambda one: float(one.diversity[regularizer]), ("lasso", "no-reg", regularizer), ax
    )


def diversity_panels(selections: Sequence[Any], sigma: float) -> list[Axes]:
    """The six panels of Figure 1, (a) to (f), and (g), … for further regularizers, under one legend.

    Parameters
    ----------
    selections : `MethodSelection` records.
    sigma : the strength of the noise in (a) and (b).
    """
    names = tuple(selections[0].diversity)
    columns = math.ceil((2 + len(names)) / 2)
    figure, grid = pyplot().subplots(2, columns, figsize=(13 * columns / 3, 7.6), layout="constrained")
    panels: list[Axes] = list(grid.flat)[: 2 + len(names)]
    for unused in grid.flat[len(panels) :]:
        unused.set_axis_off()
    coefficient_errors(selections, sigma, "target", ax=panels[0])
    coefficient_errors(selections, sigma, "features", ax=panels[1])
    for name, ax in zip(names, panels[2:], strict=True):
        normalised_diversity(selections, name, ax=ax)
    for letter, ax in zip(string.ascii_lowercase, panels, strict=False):
        ax.set_title(f"({letter}) {ax.get_title()}", fontsize=POINTS)
    handles, labels = panels[0].get_legend_handles_labels()
    if any(one.short for one in selections):
        from matplotlib.lines import Line2D

        look: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "linestyle": "none"}
        handles.append(Line2D([], [], color=GREY, alpha=FADED, **look))
        labels.append("fewer than $k$: how many")
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=POINTS
    )
    return panels


def r_squared(selections: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """R² of least squares on what each method selects, and of the LASSO's own coefficients, against k."""
    ax = axes(ax, "", _K, "$R^2$", (6.4, 3.8))
    curves(selections, lambda one: float(one.r2), _methods(selections), ax)
    line = sorted({(one.k, one.r2_lasso) for one in selections})
    ax.plot(*zip(*line, strict=True), color=GREY, linewidth=0.9, label="lasso, its own coefficients")
    ax.legend(fontsize=POINTS, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def without_constants(selections: Sequence[Any]) -> list[Axes]:
    """(d) and (e) without the constants that make the regularizers non-negative."""
    _, grid = pyplot().subplots(1, 2, figsize=(9.4, 3.4), layout="constrained")
    titles = {
        "ld-0.1": r"(d) $\sum\log_2(0.1 + \lambda_i)$ / ($k\,\log_2 1.1$)",
        "sv": "(e) 1 $-$ mean squared correlation",
    }
    for (name, title), ax in zip(titles.items(), grid, strict=True):
        axes(ax, title, _K, "", (5.0, 3.2))
        curves(selections, functools.partial(_plain, name), ("lasso", "no-reg", name), ax)
        ax.legend(fontsize=POINTS, frameon=False)
    return list(grid)


def pixel_maps(design: Any, selections: Sequence[Any]) -> list[Axes]:
    """Where in the image the features of each method lie, on the share of images in which a pixel is used.

    Parameters
    ----------
    design : the `Design`.
    selections : one `MethodSelection` a method.
    """
    figure, grid = pyplot().subplots(
        1, len(selections), figsize=(2.2 * len(selections), 3.0), layout="constrained", squeeze=False
    )
    for one, ax in zip(selections, grid[0], strict=True):
        shown = grey_image(ax, design.usage.reshape(design.shape), vmin=0, vmax=1)
        rows, columns = np.unravel_index(np.array(one.support, np.intp), design.shape)
        size = 260 / max(design.shape)
        ax.scatter(columns, rows, s=size, color=ORANGE, edgecolor="black", linewidth=0.3)
        ax.set_title(f"{one.method}:\n{one.rare} of {len(one.support)} rare", fontsize=POINTS)
    bar = figure.colorbar(shown, ax=list(grid[0]), shrink=0.8)
    bar.ax.tick_params(labelsize=POINTS)
    bar.set_label("share of images", fontsize=POINTS)
    return list(grid[0])


def _methods(selections: Sequence[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*LOOKS, *(one.method for one in selections)]))


def _plain(name: str, one: Any) -> float:
    return float(one.plain[name])
