"""The figures of `sparselin guarantee`, with achieved and guaranteed ratios R²(greedy)/R²(best)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    VIOLET,
    font_size,
    handles_of,
    picture,
    pyplot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# series ↦ colour, line, marker, label
SERIES = {
    "achieved": (BLUE, "-", "o", "achieved (median; band: down to the least)"),
    "certificate after the run": (GREEN, "-", "s", "certificate after the run"),
    "along the path": (ORANGE, "--", "^", "along the path"),
    "submodularity ratio, sharper": (RED, "-.", "D", r"$1-e^{-\gamma\lambda(k)}$ (OMP)"),
    "sparse eigenvalue, sharper": (VIOLET, "-.", "v", r"$1-e^{-\lambda(2k-1)}$"),
    "submodularity ratio": (
        GREY,
        ":",
        "x",
        r"Das and Kempe: $1-e^{-\gamma}$ (FR), $1-e^{-\gamma\lambda(2k)}$ (OMP)",
    ),
}
_ABOVE: dict[str, Any] = {"loc": "outside upper center", "frameon": False}
_LEGEND = 5.0  # the width in inches that the longest label in `SERIES` needs, rounded up
_AXIS = {"k": "k", "rho": r"correlation $\rho$", "snr": "signal-to-noise ratio"}
_ALGORITHM = {"OMP": (BLUE, "o"), "FR": (ORANGE, "s"), "Sequential LASSO": (GREEN, "^")}


def promise_panels(
    curves: Sequence[Any], rows: Sequence[str], columns: Sequence[tuple[str, str]]
) -> tuple[Axes, ...]:
    """Draw achieved and guaranteed ratios, with a row of panels for each algorithm.

    Parameters
    ----------
    curves : objects with `ensemble`, `algorithm`, `varies`, `x`, and `series`, which maps a name to (least,
        median) at each x.
    rows : the algorithms.
    columns : the pairs (ensemble, varied quantity), one for each column of panels.
    """
    width = max(3.1 * len(columns) + 0.4, _LEGEND)
    shape = {"figsize": (width, 2.5 * len(rows) + 0.9), "layout": "constrained"}
    figure, drawn = pyplot().subplots(len(rows), len(columns), squeeze=False, sharey=True, **shape)
    found = {(curve.algorithm, curve.ensemble, curve.varies): curve for curve in curves}
    several = len({ensemble for ensemble, _ in columns}) > 1
    for i, algorithm in enumerate(rows):
        for j, (ensemble, varies) in enumerate(columns):
            title = f"{algorithm}, {ensemble}" if several else algorithm
            ax = picture(drawn[i, j], _AXIS[varies], "share of the best R²" if j == 0 else "", title)
            curve = found.get((algorithm, ensemble, varies))
            if curve is not None:
                _lines(ax, curve)
    handles = handles_of(*drawn.flat)
    order = [label for *_, label in SERIES.values() if label in handles]
    _legend_above(figure, [handles[label] for label in order], order)
    return tuple(drawn.flat)


def _legend_above(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw a legend above the panels, with as many columns as the width of the figure can hold."""
    for ncols in range(min(4, len(labels)), 0, -1):
        legend = figure.legend(handles, labels, ncols=ncols, fontsize=font_size(), **_ABOVE)
        if ncols == 1 or legend.get_window_extent().width < figure.bbox.width:
            return
        legend.remove()


def _lines(ax: Axes, curve: Any) -> None:
    """Draw the series of a curve on one panel."""
    for name, (colour, line, marker, label) in SERIES.items():
        if name in curve.series:
            least, median = np.array(curve.series[name]).T
            ax.plot(
                curve.x, median, line, color=colour, marker=marker, markersize=3.6, linewidth=1.4, label=label
            )
            if name == "achieved":
                ax.fill_between(curve.x, least, median, color=colour, alpha=0.18, linewidth=0)
    if curve.varies == "snr":
        ax.set_xscale("log")
        ax.set_xticks(curve.x, [f"{value:g}" for value in curve.x])
        ax.minorticks_off()
    if curve.varies == "k":
        ax.set_xticks(curve.x)
    ax.set_ylim(0, 1.04)
    ax.grid(alpha=0.25, linewidth=0.5)


def achieved_ratios(rows: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw the ratio R²(greedy)/R²(best) by ensemble: its median, 5 % quantile and least value.

    Parameters
    ----------
    rows : objects with `ensemble`, `algorithm`, `median`, `low` (the 5 % quantile) and `least`.
    ax : where to draw; a new figure if None.
    """
    names = list(dict.fromkeys(row.ensemble for row in rows))
    ax = picture(ax, "R²(greedy)/R²(best)", figsize=(7.2, 1.0 + 0.34 * len(names)))
    algorithms = [name for name in _ALGORITHM if any(row.algorithm == name for row in rows)]
    for a, algorithm in enumerate(algorithms):
        colour, marker = _ALGORITHM[algorithm]
        mine = [row for row in rows if row.algorithm == algorithm]
        y = np.array([names.index(row.ensemble) for row in mine]) + 0.26 * (a - (len(algorithms) - 1) / 2)
        ax.hlines(y, [row.least for row in mine], [row.low for row in mine], color=colour, linewidth=0.9)
        ax.hlines(y, [row.low for row in mine], [row.median for row in mine], color=colour, linewidth=3)
        ax.plot([row.median for row in mine], y, marker, color=colour, markersize=5, label=algorithm)
        ax.plot([row.least for row in mine], y, marker, color=colour, markersize=4, fillstyle="none")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.02)
    ax.grid(axis="x", alpha=0.25, linewidth=0.5)
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=font_size())
    return ax


def worst_ratios(found: Sequence[Any]) -> tuple[Axes, ...]:
    """Draw the worst ratio that each search found, against the floor of the least eigenvalue λ_min(C, k).

    There is a panel for each size. In a search the least eigenvalue over sets of k columns stays above the
    floor.

    Parameters
    ----------
    found : objects with `search` (`label`, `n`, `d`, `k`, `floor`), `ratio` and `promises`.
    """
    sizes = list(dict.fromkeys((w.search.n, w.search.d, w.search.k) for w in found))
    shape = {"figsize": (max(4.6, 3.3 * len(sizes)), 3.3), "layout": "constrained"}
    figure, drawn = pyplot().subplots(1, len(sizes), squeeze=False, sharey=True, **shape)
    for ax, size in zip(drawn[0], sizes, strict=True):
        picture(ax, r"$\lambda_{\min}(C, k)$ at least", "", "n = {}, d = {}, k = {}".format(*size))
        same = [w for w in found if (w.search.n, w.search.d, w.search.k) == size]
        for label in ("OMP", "FR"):
            colour, marker = _ALGORITHM[label]
            mine = [w for w in same if w.search.label == label]
            x = [w.search.floor for w in mine]
            ax.plot(x, [w.ratio for w in mine], marker + "-", color=colour, label=f"{label}: worst found")
            path = [w.promises.get("along the path", 0.0) for w in mine]
            ax.plot(x, path, marker + ":", color=colour, fillstyle="none", label=f"{label}: guaranteed there")
        ax.set_ylim(0, 1)
        ax.set_xlim(0, None)
        ax.grid(alpha=0.25, linewidth=0.5)
    drawn[0, 0].set_ylabel("share of the best R²")
    handles, labels = drawn[0, 0].get_legend_handles_labels()
    _legend_above(figure, handles, labels)
    return tuple(drawn[0])
