"""The figures of the diversity experiment: the panels of Figure 1, the R² of the fits, and the pixels."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.plots.pixels import grey_image
from sparselin.plots.style import BLUE, GREEN, GREY, ORANGE, PINK, SKY, font_size, picture, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# each method has its own colour, marker and line style
LOOKS: dict[str, dict[str, Any]] = {
    "lasso": {"color": "black", "marker": "o", "linestyle": "--"},
    "no-reg": {"color": ORANGE, "marker": "s", "linestyle": "--"},
    "ld": {"color": BLUE, "marker": "^", "linestyle": "-"},
    "ld-0.1": {"color": SKY, "marker": "v", "linestyle": "-"},
    "sv": {"color": GREEN, "marker": "D", "linestyle": "-."},
    "gr": {"color": PINK, "marker": "x", "linestyle": ":"},
}
OTHER_LOOK = {"color": GREY, "marker": "P", "linestyle": "-"}  # for other regularizers
# the opacity of selections with fewer than k features
FADED = 0.4
LEAST = r"least expected for $k$ features, $\sigma\sqrt{k/n}$"
_K = "number of features $k$"


def curves(
    selections: Sequence[Any], value: Callable[[Any], float], methods: Sequence[str], ax: Axes
) -> Axes:
    """Draw a line for each method: a value of its selections against the number k of features.

    `value` is a function of a selection. Selections with fewer than k features are not on the line: they are
    drawn as faded points, each with its number of features.
    """
    for method in methods:
        mine = [s for s in selections if s.method == method]
        line = sorted((s.k, value(s)) for s in mine if not s.short)
        look: dict[str, Any] = {"markersize": 5, "markerfacecolor": "none"} | LOOKS.get(method, OTHER_LOOK)
        if mine:
            ax.plot([k for k, _ in line], [height for _, height in line], label=method, linewidth=1.3, **look)
        for selection in mine:
            if selection.short:
                faded = look | {"linestyle": "none", "alpha": FADED}
                ax.plot([selection.k], [value(selection)], label="_short", **faded)
                ax.annotate(
                    str(len(selection.support)),
                    (selection.k, value(selection)),
                    (-4, -8),
                    ha="right",
                    textcoords="offset points",
                    fontsize=font_size(),
                    color=look["color"],
                )
    ax.grid(linewidth=0.4, alpha=0.5)
    return ax


def coefficient_errors(
    selections: Sequence[Any], sigma: float, perturbed: str = "target", *, ax: Axes | None = None
) -> Axes:
    """Draw the mean error ‖α' − α‖ of the coefficients under noise, against the number k of features.

    Parameters
    ----------
    selections : `MethodSelection` records.
    sigma : the strength σ of the noise, one for which the errors were computed.
    perturbed : "target" for noise in y, or "features". For noise in y, one more line shows the smallest error
        that is expected for k unit columns. A selection with fewer columns may be below this line.
    ax : the Axes; None: a new figure.
    """
    noisy = {"target": "$y$", "features": "$X$"}[perturbed]
    title = f"error, {noisy} perturbed ($\\sigma$ = {sigma:g})"
    ax = picture(ax, _K, r"$\|\alpha' - \alpha\|_2$", title, figsize=(5.6, 3.6))
    curves(selections, lambda s: float(np.mean(getattr(s, perturbed)[sigma])), _methods(selections), ax)
    if perturbed == "target":
        line = sorted({(s.k, sigma * s.least_expected) for s in selections})
        ax.plot(*zip(*line, strict=True), color=GREY, linewidth=0.9, label=LEAST)
    ax.set_ylim(bottom=0)
    return ax


def normalised_diversity(selections: Sequence[Any], regularizer: str, *, ax: Axes | None = None) -> Axes:
    """Draw f(S)/max f against k, where f(S) is the diversity of a selection S.

    The maximum of f is over all sets of k unit columns.

    Parameters
    ----------
    selections : `MethodSelection` records. The figure shows the LASSO, greedy selection, and selection with
        the regularizer f.
    regularizer : the name of f: "ld", "ld-0.1", "sv", "gr" or another regularizer of the experiment.
    ax : the Axes; None: a new figure.
    """
    ax = picture(ax, _K, "$f(S)$ / largest possible", f"diversity by {regularizer}", figsize=(5.0, 3.2))
    return curves(selections, lambda s: float(s.diversity[regularizer]), ("lasso", "no-reg", regularizer), ax)


def diversity_panels(selections: Sequence[Any], sigma: float) -> list[Axes]:
    """Draw the six panels (a) to (f) of the paper's Figure 1, and a panel for each further regularizer.

    Parameters
    ----------
    selections : `MethodSelection` records.
    sigma : the strength of the noise in panels (a) and (b).
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
        ax.set_title(f"({letter}) {ax.get_title()}", fontsize=font_size())
    handles, labels = panels[0].get_legend_handles_labels()
    if any(s.short for s in selections):
        from matplotlib.lines import Line2D

        look: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "linestyle": "none"}
        handles.append(Line2D([], [], color=GREY, alpha=FADED, **look))
        labels.append("fewer than $k$ features, with their number")
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=font_size()
    )
    return panels


def r2_curves(selections: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw R² of the selections against the number k of features, for every method.

    The figure shows R² of least squares on each selection, and R² of the LASSO's own coefficients.
    """
    ax = picture(ax, _K, "$R^2$", figsize=(6.4, 3.8))
    curves(selections, lambda s: float(s.r2), _methods(selections), ax)
    line = sorted({(s.k, s.r2_lasso) for s in selections})
    ax.plot(*zip(*line, strict=True), color=GREY, linewidth=0.9, label="lasso, its own coefficients")
    ax.legend(fontsize=font_size(), frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def panels_without_constants(selections: Sequence[Any]) -> list[Axes]:
    """Draw panels (d) and (e) without the constants that make the regularizers "ld-0.1" and "sv"
    non-negative.
    """
    _, grid = pyplot().subplots(1, 2, figsize=(9.4, 3.4), layout="constrained")
    titles = {
        "ld-0.1": r"(d) $\sum\log_2(0.1 + \lambda_i)$ / ($k\,\log_2 1.1$)",
        "sv": "(e) 1 $-$ mean squared correlation",
    }
    for (name, title), ax in zip(titles.items(), grid, strict=True):
        picture(ax, _K, "", title, figsize=(5.0, 3.2))
        curves(selections, functools.partial(_plain, name), ("lasso", "no-reg", name), ax)
        ax.legend(fontsize=font_size(), frameon=False)
    return list(grid)


def pixel_maps(design: Any, selections: Sequence[Any]) -> list[Axes]:
    """Draw the selected pixels of each method on a map that shows how often each pixel is nonzero.

    Parameters
    ----------
    design : the `Design`.
    selections : one `MethodSelection` for each method, all with the same k.
    """
    figure, grid = pyplot().subplots(
        1, len(selections), figsize=(2.2 * len(selections), 3.0), layout="constrained", squeeze=False
    )
    for selection, ax in zip(selections, grid[0], strict=True):
        shown = grey_image(ax, design.usage.reshape(design.shape), vmin=0, vmax=1)
        rows, columns = np.unravel_index(np.array(selection.support, np.intp), design.shape)
        size = 260 / max(design.shape)
        ax.scatter(columns, rows, s=size, color=ORANGE, edgecolor="black", linewidth=0.3)
        rare = f"{selection.rare} of {len(selection.support)} rare"
        ax.set_title(f"{selection.method}:\n{rare}", fontsize=font_size())
    bar = figure.colorbar(shown, ax=list(grid[0]), shrink=0.8)
    bar.ax.tick_params(labelsize=font_size())
    bar.set_label("share of images", fontsize=font_size())
    return list(grid[0])


def _methods(selections: Sequence[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*LOOKS, *(s.method for s in selections)]))


def _plain(name: str, selection: Any) -> float:
    return float(selection.plain[name])
