"""The figure of cross-validation: the error on rows that were left out, by the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sparselin.plots.style import BLUE, GREY, ORANGE, POINTS, RED, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cross_validation(found: Any, shown: int | None = None, *, ax: Axes | None = None) -> Axes:
    """The mean squared error on rows that were left out, ± one standard error, for each number of features.

    Parameters
    ----------
    found : with `sizes`, `error` and `standard_error` (m,), `best`, `chosen` and `folds`.
    shown : a number of features to mark besides.
    ax : where to draw; a new figure if None.
    """
    ax = axes(ax, "", "number of features", "mean squared error on rows left out", (6.4, 3.6))
    sizes, error, spread = (np.asarray(v) for v in (found.sizes, found.error, found.standard_error))
    at = {int(t): i for i, t in enumerate(sizes)}
    limit = error[at[found.best]] + spread[at[found.best]]
    ax.fill_between(sizes, error - spread, error + spread, color=BLUE, alpha=0.15, linewidth=0)
    ax.plot(sizes, error, "o-", color=BLUE, markersize=4, linewidth=1.3, label="mean ± standard error")
    ax.axhline(limit, color=GREY, linestyle="--", linewidth=0.9, label="least error + its standard error")
    marks = {found.chosen: ("D", ORANGE, "fewest within one standard error")}
    marks[found.best] = ("s", GREY, "least error")
    if shown is not None and shown not in (found.best, found.chosen) and shown in at:
        marks[shown] = ("^", RED, "selected")
    for t, (marker, colour, label) in marks.items():
        name = f"{label}: {t}"
        ax.plot(
            [t],
            [error[at[t]]],
            marker,
            color=colour,
            markersize=9,
            fillstyle="none",
            markeredgewidth=1.8,
            label=name,
        )
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.25, linewidth=0.5)
    ax.legend(frameon=False, fontsize=POINTS)
    return ax
