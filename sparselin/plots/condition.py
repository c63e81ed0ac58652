"""The picture of a condition: how far the data are from data with another pick, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparselin.guarantees.perturbation.condition import Condition, percent
from sparselin.plots import style
from sparselin.plots.style import BLUE, GREY, ORANGE, SKY, Axes, font_size, line_width, marker_size
from sparselin.problem.errors import EPS

# the sizes with a line, and on which side of it their names are
_LINES = ((EPS, "eps", "center"), (0.01, "1 %", "right"), (0.1, "10 %", "left"))
_DECADES = [-15, -12, -9, -6, -3, 0]  # the ticks


def condition(found: Condition, *, ax: Axes | None = None) -> Axes:
    """Draw for each step how much the data must change before another feature is picked.

    The pale bar ends at the lower bound: no change of this size gives another pick, or a tie. The dark bar
    goes on to the distance to first order, 1/number. The rivals are written on the right. Vertical lines mark
    eps, 1 % and 10 %. A tie, whose distance is 0, is marked at eps. Steps of forced features have no bar.

    Parameters
    ----------
    found : a `Condition`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 0.5]], [4.0, 1.0, 0.5]
    >>> ax = condition(sl.condition(X, y, sl.omp(X, y, 2)))
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_title()
    (['1  x0', '2  x1'], 'unchanged if X and y are within 2.9 %')
    """
    style.check_result(found, "found", Condition)
    words = f"change of {'y' if found.in_y else 'X and y'} (dark: to 1/number)"
    ax = style.picture(ax, words, "", _title(found), figsize=(7.8, style.height(len(found)) + 0.6))
    if np.isnan(found.numbers).all():
        return style.note(ax, "No feature is picked, so no change of the data gives another pick.")
    with np.errstate(divide="ignore"):
        distance = 1 / found.numbers
    lower = found.lowers
    tied = distance == 0
    drawn = (distance > 0) & np.isfinite(distance)
    at = np.arange(len(found))
    left = 0.3 * min(EPS, distance[drawn].min(initial=EPS))
    right = 10 * max(1.0, distance[drawn].max(initial=1.0))
    start = np.maximum(lower, left)  # a logarithmic axis has no 0
    ax.set_xscale("log")
    ax.set_xlim(left, right)
    safe = drawn & (lower > left)
    bar: dict[str, Any] = {"height": 0.6, "zorder": 2}
    ax.barh(at[safe], start[safe] - left, left=left, color=SKY, alpha=0.45, **bar)
    ax.barh(
        at[drawn],
        (distance - start)[drawn],
        left=start[drawn],
        color=BLUE,
        edgecolor=BLUE,
        linewidth=line_width(2),
        **bar,
    )
    mark: dict[str, Any] = {"color": ORANGE, "markersize": marker_size(8), "zorder": 3}
    style.marks(ax, np.full(len(found), EPS), at, tied, "D", **mark)
    at_right: dict[str, Any] = {
        "transform": ax.get_yaxis_transform(),
        "va": "center",
        "fontsize": font_size(),
    }
    for t in np.flatnonzero(~np.isnan(distance)).tolist():
        rival = int(found.rivals[t])
        if rival != found.features[t]:  # not of the LASSO, in which a feature enters or leaves
            words = style.name(found.names, rival) if rival >= 0 else "no rival"
            ax.text(1.01, t, words, color=GREY, **at_right)
    if math.isnan(found.lam):
        ax.text(1.01, -0.75, "rival", color=GREY, **at_right | {"va": "bottom"})
    style.rows(ax, [_row(found, t) for t in range(len(found))])
    ax.set_xticks([10.0**power for power in _DECADES], [f"$10^{{{power}}}$" for power in _DECADES])
    ax.minorticks_off()
    for value, words, side in _LINES:
        ax.axvline(value, color=GREY, linestyle="--", linewidth=line_width(1), zorder=1)
        style.write_near(ax, words, (value, -0.6), (0, 2), ha=side, va="bottom", color=GREY)
    ax.set_title(ax.get_title(), fontsize=font_size(), pad=2.2 * font_size())
    return ax


def _title(found: Condition) -> str:
    if np.isinf(found.numbers).any():
        return "a tie: the smallest change can give another pick"
    if found.lower == 0:
        return "no bound: the columns are dependent, or nearly so"
    return f"unchanged if {'y is' if found.in_y else 'X and y are'} within {percent(found.lower)}"


def _row(found: Condition, t: int) -> str:
    """Return the label of a row: the step and its pick, or the change of a feature in the LASSO."""
    j = int(found.features[t])
    name = style.name(found.names, j) if j >= 0 else "none"
    if not math.isnan(found.lam):
        return f"{name} {'enters' if found.source.entering and t == len(found) - 1 else 'leaves'}"
    return f"{t + 1}  {name}{' (forced)' if math.isnan(found.numbers[t]) else ''}"
