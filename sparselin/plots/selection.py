"""The picture of a greedy path: the pick of each step, its margin, and R² after the step."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import (
    BLUE,
    GREEN,
    GREY,
    LONG,
    ORANGE,
    VIOLET,
    Axes,
    font_size,
    line_width,
    marker_size,
)
from sparselin.results import FloatArray, GeneralizedPath, GroupPath, SelectionPath

_WRITTEN = 20  # up to this number of steps, the numbers of each step are written next to it


def selection(path: SelectionPath | GeneralizedPath | GroupPath, *, ax: Axes | None = None) -> Axes:
    """Draw the steps from the top down: λ*, the margin to the runner-up, and R² and ‖r‖ after the step.

    λ* is the score of the pick, and r the residual. The runner-up is drawn at (1 − margin)·λ*. For OMP this
    is its |⟨X_j, r⟩|, for generalized linear models its |∂L/∂β_j|, and for groups its ‖X_gᵀR‖_F. Orthogonal
    least squares compares |⟨X_j, r⟩|/‖P_S^⊥X_j‖, so there the distance shows the ratio of these quotients.
    Ties are marked, and the label of the row names one other feature that is tied with the pick. The right
    panel shows R² = 1 − ‖r‖²/‖r_0‖² (measured from the mean if there is an intercept) and ‖r‖/‖r_0‖, where
    r_0 is the residual before the first pick. For generalized linear models it shows D², the explained share
    of the deviance, and 1 − D².

    Parameters
    ----------
    path : a `SelectionPath`, `GeneralizedPath` or `GroupPath`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import sparselin as sl
    >>> ax = selection(sl.omp([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2))
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['1  x0', '2  x1'], ['66.7 %', '100 %'])
    """
    style.check_result(path, "path", SelectionPath, GeneralizedPath, GroupPath)
    steps = len(path)
    ax = style.picture(ax, r"$\lambda^*$ (and its margin)", "step", figsize=(9.0, style.height(steps)))
    if not steps:
        return style.note(ax, f"No feature is selected: {path.status.message}.")
    lam = path.lam_star.astype(float)
    at = np.arange(steps)
    forced = np.isnan(lam)
    tied = np.array([len(others) > 1 for others in path.ties]) & ~forced
    runner_up = (1 - path.margin.astype(float)) * lam
    size = marker_size(7 if steps <= 40 else 4)
    alone = ~forced & ~tied
    style.marks(ax, lam, at, alone, "o", color=BLUE, markersize=size, label="pick")
    style.marks(ax, lam, at, tied, "D", color=ORANGE, markersize=size, label="pick, tied")
    bar = {
        "color": GREY,
        "markersize": 1.7 * size,
        "markeredgewidth": line_width(2),
        "label": "runner-up",
    }
    style.marks(ax, runner_up, at, alone, "|", **bar)
    _from_zero_or_log(ax, lam[~forced], runner_up[alone])
    start = np.maximum(runner_up[~forced], ax.get_xlim()[0])  # a logarithmic axis has no 0
    ax.hlines(at[~forced], start, lam[~forced], color=BLUE, linewidth=line_width(2.5), alpha=0.5)
    for t in np.flatnonzero(alone).tolist() if steps <= _WRITTEN else ():
        style.write_near(ax, f"{100 * float(path.margin[t]):.3g} %", (lam[t], t), (8, 0), va="center")
    style.rows(ax, [_step(path, t) for t in range(steps)])
    if not forced.all():
        style.legend(ax)
    _fit_panel(ax, path, steps, size)
    return ax


def _fit_panel(ax: Axes, path: Any, steps: int, size: float) -> None:
    """Draw the right panel: R² and ‖r‖/‖r_0‖ after each step, or D² and the rest of the deviance.

    The explained share is written on the margin.
    """
    if path.loss == "squared":
        norms = path.residual_norm.astype(float)
        share = path.r2_path[1:]
        rest = norms[1:] / (norms[0] or 1.0)
        names = ("$R^2$", r"$\|r\|/\|r_0\|$")
        whole = rf"$\|r_0\|$ = {norms[0]:.4g}{', against the mean' if path.with_intercept else ''}"
    else:
        single = isinstance(path, GeneralizedPath)
        share, deviance = (path.d2_path, path.deviance) if single else (path.r2_path, path.residual_norm**2)
        share, rest, names = share[1:], 1 - share[1:], ("$D^2$", "deviance/deviance$_0$")
        whole = rf"deviance$_0$ = {deviance[0]:.4g}"
    right = style.panel(ax, whole, width=0.6)
    at = np.arange(steps)
    look: dict[str, Any] = {"markersize": marker_size(0.7) * size, "linewidth": line_width(1.2)}
    right.plot(share, at, "o-", color=GREEN, label=names[0], **look)
    right.plot(rest, at, "s--", color=VIOLET, markerfacecolor="white", label=names[1], **look)
    right.set_xlim(min(0.0, share.min()), 1.04)
    right.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)
    for t in range(steps) if steps <= _WRITTEN else (steps - 1,):
        right.text(
            1.02,
            t,
            f"{share[t]:z.3f}",
            va="center",
            color=GREEN,
            fontsize=font_size(),
            transform=right.get_yaxis_transform(),
        )
    style.legend(right)


def _step(path: SelectionPath | GeneralizedPath | GroupPath, t: int) -> str:
    """Return the label of a step: its number, the name of the pick, and one feature tied with it."""
    groups = isinstance(path, GroupPath)
    pick = int(path.order[t] if isinstance(path, GroupPath) else path.support[t])
    words = f"{t + 1}  {f'group {pick}' if groups else style.name(path.names, pick)}"
    others = [j for j in path.ties[t] if j != pick]
    if np.isnan(path.lam_star[t]):
        return f"{words} (forced)"
    if not others:
        return words
    more = f", {len(others) - 1} more" if len(others) > 1 else ""
    return f"{words} = {f'group {others[0]}' if groups else style.name(path.names, others[0])}{more}"


def _from_zero_or_log(ax: Axes, values: FloatArray, also: FloatArray) -> None:
    """Set up an axis from 0, or a logarithmic axis if the positive values span more than a factor of 20."""
    positive = values[values > 0]
    if positive.size and positive.max() > LONG * positive.min():
        ax.set_xscale("log")
        inside = also[also > 0.3 * positive.min()]
        low, top = float(min(positive.min(), inside.min(initial=np.inf))), float(positive.max())
        ax.set_xlim(low / 1.5, 1.5 * top * (top / low) ** 0.15)
    elif positive.size:
        ax.set_xlim(0, 1.28 * float(positive.max()))
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)
