"""The picture of inference after selection: coefficients with their intervals and p-values."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import BLUE, GREY, ORANGE, POINTS, Axes
from sparselin.results import Inference

_SMALL = 1e-300  # smaller p-values are not written


def inference(found: Inference, *, ax: Axes | None = None) -> Axes:
    """Draw each coefficient with its interval, and with the interval that ignores the selection.

    The unit of each row is the standard error of its coefficient without selection, so that features in
    different units can be compared. A long interval is cut, with an arrow where it goes on. The p-values of
    the coefficients are on the right. A feature that is not in the last model has an empty row.

    Parameters
    ----------
    found : an `Inference`.
    ax : where to draw; a new figure if None.

    >>> import numpy as np, sparselin as sl
    >>> X, y = np.eye(4)[:, :2], [3.0, 1.0, 0.0, 0.0]
    >>> ax = inference(sl.inference(X, y, sl.omp(X, y, 2), sigma=1.0))
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_lines()[0].get_xdata().tolist()
    (['x0', 'x1'], [3.0, 1.0])
    """
    k, words = len(found), "coefficient / its standard error without selection"
    ax = style.picture(ax, words, "", figsize=(8.0, style.height(k)))
    at, z = np.arange(k), found.estimate / found.standard_error
    if not np.isfinite(z).any():
        return style.note(ax, "There is no coefficient to draw; the table has the p-values.")
    half, ends = NormalDist().inv_cdf((1 + found.level) / 2), found.interval / found.standard_error[:, None]
    limits = np.array([min(np.nanmin(z) - half, 0.0), max(np.nanmax(z) + half, 0.0)])
    room = max(2 * half, 0.3 * (limits[1] - limits[0]))
    everything = [np.nanmin([*limits, *ends.ravel()]), np.nanmax([*limits, *ends.ravel()])]
    limits = np.clip(everything, limits[0] - room, limits[1] + room)
    ax.plot(z, at, "o", color=ORANGE, markersize=6 if k <= 40 else 4, label="coefficient", zorder=3)
    look = {"linewidth": min(8.0, 260 / k), "color": GREY, "alpha": 0.35, "zorder": 1}
    ax.hlines(at, z - half, z + half, label="without selection", **look)
    if np.isfinite(ends).any():
        label = f"{100 * found.level:g} % interval"
        ax.hlines(at, *np.clip(ends, *limits).T, color=BLUE, linewidth=1.8, label=label)
    for limit, marker, beyond in zip(limits, "<>", (ends < limits[0], ends > limits[1]), strict=True):
        rows = at[beyond.any(axis=1)]
        ax.plot(np.full(len(rows), limit), rows, marker, color=BLUE, markersize=6)
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    ax.set_xlim(limits + np.array([-0.03, 0.03]) * np.diff(limits))
    style.rows(ax, [style.name(found.names, j) for j in found.support.tolist()])
    for row in ax.get_yticks().astype(int).tolist():
        p = found.p_value[row]
        words = "–" if np.isnan(p) else f"p = {p:.2g}" if p > _SMALL else f"p < {_SMALL:g}"
        ax.text(1.02, row, words, va="center", fontsize=POINTS, transform=ax.get_yaxis_transform())
    style.legend(ax)
    return ax
