"""The picture of the flow without weight decay and of its time average."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.plots import style
from sparselin.results import FloatArray, FlowPath

_SAMPLES = 400  # points of each curve


def flow(path: FlowPath, *, labels: int = 12, ax: style.Axes | None = None) -> style.Axes:
    """Draw the coefficients of the flow as stairs against the time τ, and their averages as dotted lines.

    The average (1/τ)∫₀^τ β is a LASSO solution at λ = 1/τ where `FlowPath.average` says so. The marks below
    the axes are the events; at the red ones the average is not a LASSO solution. The axis is logarithmic if
    the events span more than a factor of 20.

    Parameters
    ----------
    path : a `FlowPath`. A path with restarts has no averages.
    labels : the largest number of features with a colour and a name on the right. These are the features
        with the largest coefficients at the end; the others are grey.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> ax = flow(sl.gradient_flow([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0]))
    >>> [line.get_label() for line in ax.lines[:2]], len(ax.lines)
    (['x0', 'x1'], 7)
    """
    units = ", each in its own unit" if path.standardized else ""
    words = r"time $\tau$ (stairs: the flow" + ("" if path.restarted else "; dotted: its average") + ")"
    ax = style.picture(ax, words, f"coefficient{units}", figsize=(7.2, 4.4))
    if len(path.tau) == 0:
        return style.note(ax, "The flow is at rest, because no column outside S is correlated with y.")
    tau = path.tau.astype(float)
    style.positive_axis(ax, tau)
    samples = np.geomspace(0.8 * tau[0], min(1.25 * tau[-1], path.end), _SAMPLES)
    grid = np.unique(np.concatenate([tau, samples]))
    now = np.searchsorted(tau, grid, side="right")
    names, stairs = [style.name(path.names, j) for j in path.features.tolist()], path.coef_path[now].T
    steps = {"drawstyle": "steps-post", "marker": ""}
    shown = style.draw_largest(ax, grid, stairs, names, labels, lambda _: steps)
    ax.set_xlim(grid[0], grid[-1])
    if not path.restarted:
        for i, mean in enumerate(_averages(path, grid, now)[:, shown].T):
            ax.plot(grid, mean, linestyle=":", linewidth=1.2, color=style.look(i)["color"])
    lasso = np.array([path.restarted or path.average(t).is_lasso for t in tau.tolist()])
    on: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "markersize": 9}
    for wanted, color in ((True, style.GREY), (False, style.RED)):
        at = tau[lasso == wanted]
        ax.plot(at, np.zeros(len(at)), "|", color=color, **on)
    return ax


def _averages(path: FlowPath, grid: FloatArray, now: Any) -> FloatArray:
    """Return (1/τ)∫₀^τ β for each τ of the grid; `now` has the number of events up to each τ."""
    starts = np.append(0.0, path.tau)
    areas = np.cumsum(path.coef_path[:-1] * np.diff(starts)[:, None], axis=0)
    before = np.vstack([np.zeros(areas.shape[1]), areas])
    return np.asarray((before[now] + path.coef_path[now] * (grid - starts[now])[:, None]) / grid[:, None])
