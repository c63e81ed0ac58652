"""Figures. Each function takes results, computes nothing and returns the Axes it drew on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.results import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, RED = "#2a6f97", "#d98032", "#b3261e"
VERDICTS = (
    ("agreements", "agrees", BLUE),
    ("undecided", "undecided", ORANGE),
    ("violations", "violates", RED),
)


def contours(
    beta1: FloatArray,
    beta2: FloatArray,
    value: FloatArray,
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Contours of a penalty of two coefficients, such as Q*(β∘β).

    The levels are round numbers near the squares of equidistant ones: at every zoom they lie about equally
    far apart along a ray where the penalty grows as the square of β.

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
    ax = _axes(ax, title, r"$\beta_1$", r"$\beta_2$", figsize=(3.3, 3.4))
    from matplotlib.colors import PowerNorm
    from matplotlib.ticker import MaxNLocator

    top = value.max()
    lines = sorted({float(f"{top * (i / 8) ** 2:.1g}") for i in range(1, 8)})
    # White lines stay visible on colours short of the bright end.
    colours = {"cmap": "viridis", "norm": PowerNorm(0.5, vmin=0, vmax=1.4 * top)}
    ax.contourf(beta1, beta2, value, top * np.linspace(0, 1, 49) ** 2, **colours)
    drawn = ax.contour(beta1, beta2, value, lines, colors="white", linewidths=0.7)
    ax.clabel(drawn, fmt=_grouped, fontsize=6.5, manual=_label_points(beta1, beta2, value, lines))
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_aspect("equal")
    return ax


def penalty_panels(panels: Sequence[tuple[FloatArray, FloatArray, FloatArray]]) -> tuple[Axes, ...]:
    """`contours` of several (beta1, beta2, value) side by side, each with its range as the title."""
    shape = {"figsize": (3.0 * len(panels), 3.1), "layout": "constrained"}
    axes = _pyplot().subplots(1, len(panels), squeeze=False, **shape)[1]
    for ax, panel in zip(axes[0], panels, strict=True):
        contours(*panel, title=rf"$|\beta_i| \leq {panel[0].max():g}$", ax=ax)
    for ax in axes[0, 1:]:
        ax.set_ylabel("")
    return tuple(axes[0])


def agreement(summary: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Steps of each ensemble that agree, are undecided or violate, as shares of 100 %.

    Parameters
    ----------
    summary : `EnsembleSummary` rows, drawn from the top down, each labelled with its counts.
    ax : where to draw; a new figure if None.
    """
    ax = _axes(ax, "", "share of steps", "", figsize=(7.2, 0.6 + 0.3 * len(summary)))
    from matplotlib.ticker import PercentFormatter

    names = [row.name for row in summary]
    left = np.zeros(len(summary))
    for field, label, colour in VERDICTS:
        share = np.array([getattr(row, field) / max(row.steps, 1) for row in summary])
        ax.barh(names, share, left=left, color=colour, label=label, height=0.72)
        left = left + share
    for row in summary:
        text = f"{row.agreements} of {row.steps}" + (f", {row.undecided} undecided" if row.undecided else "")
        ax.text(0.01, row.name, text, va="center", ha="left", color="white", fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return ax


def windows(records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """λ₂/λ* and λ₀/λ* of every step, by ensemble: the sharp start of the window and the proof's.

    Parameters
    ----------
    records : `DesignRecord`s.
    ax : where to draw; a new figure if None.
    """
    names = list(dict.fromkeys(record.ensemble for record in records))
    ax = _axes(ax, "", r"$\lambda/\lambda^*$", "", figsize=(7.2, 0.6 + 0.34 * len(names)))
    for field, shift, colour, label in (
        ("window", -0.18, BLUE, r"$\lambda_2/\lambda^*$: the support stays $A(S)$ above it"),
        ("proof", 0.18, ORANGE, r"$\lambda_0/\lambda^*$: what the printed proof gives"),
    ):
        values = [
            [getattr(step, field) for record in records if record.ensemble == name for step in record.steps]
            for name in names
        ]
        boxes = ax.boxplot(
            values,
            positions=np.arange(len(names)) + shift,
            orientation="horizontal",
            widths=0.3,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            medianprops={"color": "white", "linewidth": 1.4},
            boxprops={"facecolor": colour, "edgecolor": colour},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        boxes["boxes"][0].set_label(label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def dual_polytope(
    X: FloatArray, v: FloatArray, projections: Sequence[tuple[float, Any]], *, ax: Axes | None = None
) -> Axes:
    """In two dimensions: v, the polygons {u : ‖Xᵀu‖∞ ≤ λ}, and the projections of v onto them.

    Parameters
    ----------
    X : (2, d). v : (2,).
    projections : pairs (λ, `DualProjection` of v at that λ).
    ax : where to draw; a new figure if None.
    """
    ax = _axes(ax, "", "$u_1$", "$u_2$", figsize=(4.6, 4.6))
    reach = 1.4 * float(np.abs(v).max())
    line = np.linspace(-reach, reach, 401)
    grid = np.stack(np.meshgrid(line, line))
    height = np.abs(np.einsum("nd,nij->dij", X, grid)).max(axis=0)
    levels = sorted(lam for lam, _ in projections)
    ax.contourf(line, line, height, [0, *levels], cmap="Blues_r", alpha=0.55)
    ax.contour(line, line, height, levels, colors=BLUE, linewidths=1)
    points = np.array([v, *(projection.u for _, projection in projections)])
    ax.plot(*points.T, color=ORANGE, linewidth=1.2)
    ax.plot(*points[1:].T, "o", color=ORANGE, label="projections")
    ax.plot(*v, "k*", markersize=11, label="$v$")
    for (lam, _), point in zip(projections, points[1:], strict=True):
        ax.annotate(rf"$\lambda$ = {lam:.3g}", point, xytext=(8, -10), textcoords="offset points", fontsize=8)
    ax.legend(loc="lower left", frameon=False)
    ax.set_aspect("equal")
    return ax


def close(figure: Figure) -> None:
    """Free a figure that is not shown."""
    _pyplot().close(figure)


def _axes(
    ax: Axes | None, title: str, xlabel: str, ylabel: str, figsize: tuple[float, float] = (5.0, 3.2)
) -> Axes:
    """The look that all figures share, on `ax` or on a new figure."""
    if ax is None:
        ax = _pyplot().subplots(figsize=figsize, layout="constrained")[1]
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(xlabel, fontsize=10)
    ax.set_ylabel(ylabel, fontsize=10)
    ax.tick_params(labelsize=8, width=0.6, length=3)
    ax.spines[:].set_linewidth(0.6)
    ax.set_axisbelow(True)
    return ax


def _label_points(
    beta1: FloatArray, beta2: FloatArray, value: FloatArray, levels: list[float]
) -> list[tuple[float, float]]:
    """Grid points where the levels meet the diagonal from the centre to near the upper right corner."""
    share = np.linspace(0, 0.93, 200)
    rows = np.round((len(beta2) - 1) * (1 + share) / 2).astype(int)
    columns = np.round((len(beta1) - 1) * (1 + share) / 2).astype(int)
    along = value[rows, columns]
    at = np.searchsorted(along, [level for level in levels if level <= along[-1]])
    return [(float(beta1[columns[i]]), float(beta2[rows[i]])) for i in at]


def _grouped(number: float) -> str:
    """Thousands set apart by thin spaces."""
    return f"{number:,.0f}".replace(",", "\u2009") if number >= 1000 else f"{number:g}"


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("figures need matplotlib: pip install 'sparselin[plot]'") from error
    return pyplot
