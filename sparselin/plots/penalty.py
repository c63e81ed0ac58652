"""Contours of penalties of two coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparselin.plots.style import axes, pyplot
from sparselin.results import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def contours(
    beta1: FloatArray,
    beta2: FloatArray,
    value: FloatArray,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Contours of a penalty of two coefficients, such as Q*(β∘β).

    The contours are at round numbers close to the squares of equidistant ones: at every zoom they are about
    equidistant along a ray on which the penalty grows as the square of β.

    Parameters
    ----------
    beta1, beta2 : (p,) and (q,), the grid.
    value : (q, p) ≥ 0, value[i, j] at (beta1[j], beta2[i]), growing from the centre of the grid.
    title : above the panel.
    ax : where to draw; a new figure if None.

    >>> from sparselin.experiments.penalty_contours import penalty_contours
    >>> contours(*penalty_contours(10, points=21), title="$|β_i| ≤ 10$").get_xlabel()
    '$\\\\beta_1$'
    """
    ax = axes(ax, title, r"$\beta_1$", r"$\beta_2$", figsize=(3.3, 3.4))
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    top = value.max()
    lines = sorted({float(f"{top * (i / 8) ** 2:.1g}") for i in range(1, 8)})
    # White lines stay visible on colours short of the bright end.
    colours = {"cmap": "viridis", "norm": PowerNorm(0.5, vmin=0, vmax=1.4 * top)}
    # as an image: polygons would have seams between them, and be megabytes of SVG
    ax.contourf(beta1, beta2, value, top * np.linspace(0, 1, 49) ** 2, **colours).set_rasterized(True)
    drawn = ax.contour(beta1, beta2, value, lines, colors="white", linewidths=0.7)
    ax.clabel(drawn, fmt=_grouped, fontsize=6.5, manual=_label_points(beta1, beta2, value, lines))
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_aspect("equal")
    return ax


def penalty_panels(panels: Sequence[tuple[FloatArray, FloatArray, FloatArray]]) -> tuple[Axes, ...]:
    """`contours` of several (beta1, beta2, value) side by side, each with its range as the title."""
    shape = {"figsize": (3.0 * len(panels), 3.1), "layout": "constrained"}
    drawn = pyplot().subplots(1, len(panels), squeeze=False, **shape)[1]
    for ax, panel in zip(drawn[0], panels, strict=True):
        contours(*panel, title=rf"$|\beta_i| \leq {panel[0].max():g}$", ax=ax)
    for ax in drawn[0, 1:]:
        ax.set_ylabel("")
    return tuple(drawn[0])


def _label_points(
    beta1: FloatArray, beta2: FloatArray, value: FloatArray, levels: list[float]
) -> list[tuple[float, float]]:
    """Grid points where the contours meet the diagonal, from the centre almost to the upper right corner."""
    share = np.linspace(0, 0.93, 200)
    rows = np.round((len(beta2) - 1) * (1 + share) / 2).astype(int)
    columns = np.round((len(beta1) - 1) * (1 + share) / 2).astype(int)
    along = value[rows, columns]
    at = np.searchsorted(along, [level for level in levels if level <= along[-1]])
    return [(float(beta1[columns[i]]), float(beta2[rows[i]])) for i in at]


def _grouped(number: float) -> str:
    """Thousands set apart by thin spaces."""
    return f"{number:,.0f}".replace(",", "\u2009") if number >= 1000 else f"{number:g}"
