"""The picture of a greedy path: what each step chose, by how much, and what it explains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparselin.plots.style import (
    BLUE,
    GREEN,
    GREY,
    LONG,
    ORANGE,
    POINTS,
    VIOLET,
    beside,
    height,
    legend,
    name,
    note,
    panel,
    picture,
    rows,
)
from sparselin.results import FloatArray, GeneralizedPath, GroupPath, SelectionPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WRITTEN = 20  # up to so many steps have their numbers written beside them


def selection(path: SelectionPath | GeneralizedPath | GroupPath, *, ax: Axes | None = None) -> Axes:
    """The steps from the top down: λ*, the margin to the runner-up, and R² and ‖r‖ after the step.

    The runner-up is at (1 − margin)·λ*: for OMP its |⟨X_j, r⟩|, for orthogonal least squares, which compares
    |⟨X_j, r⟩|/‖P_S^⊥X_j‖, at its share of the pick's quotient, for generalized linear models its |∂L/∂β_j|,
    for groups its ‖X_gᵀR‖_F. Ties are marked, and the row names one of the others in T. On the right
    R² = 1 − ‖r‖²/‖r_0‖², against the mean with an intercept, and ‖r‖/‖r_0‖; for generalized linear models D²,
    the share of the deviance that is explained, and the rest of it.

    Parameters
    ----------
    path : a `SelectionPath`, `GeneralizedPath` or `GroupPath`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import sparselin as sl
    >>> ax = selection(sl.omp([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], 2))
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['1  x0', '2  x1'], ['66.7 %', '100 %'])
    """
    steps = len(path)
    ax = picture(ax, r"$\lambda^*$ (and its margin)", "step", figsize=(9.0, height(steps)))
    if not steps:
        return note(ax, f"No feature is selected: {path.status.message}.")
    lam, at = path.lam_star.astype(float), np.arange(steps)
    forced = np.isnan(lam)
    tied = np.array([len(others) > 1 for others in path.ties]) & ~forced
    runner_up = (1 - path.margin.astype(float)) * lam
    size = 7 if steps <= 40 else 4
    for some, marker, colour, label in (
        (~tied & ~forced, "o", BLUE, "pick"),
        (tied, "D", ORANGE, "pick, tied"),
    ):
        if some.any():
            ax.plot(lam[some], at[some], marker, color=colour, markersize=size, label=label)
    second = ~forced & ~tied
    if second.any():
        ax.plot(runner_up[second], at[second], "|", color=GREY, markersize=1.7 * size, markeredgewidth=2,
                label="runner-up")  # fmt: skip
    _from_zero_or_log(ax, lam[~forced], runner_up[second])
    start = np.maximum(runner_up[~forced], ax.get_xlim()[0])  # 0 has no place on a logarithmic axis
    ax.hlines(at[~forced], start, lam[~forced], color=BLUE, linewidth=2.5, alpha=0.5)
    for t in np.flatnonzero(second).tolist() if steps <= _WRITTEN else ():
        beside(ax, f"{100 * float(path.margin[t]):.3g} %", (lam[t], t), (8, 0), va="center")
    rows(ax, [_step(path, t) for t in range(steps)])
    if not forced.all():
        legend(ax)
    _explained(ax, _fit(path), steps, size)
    return ax


class _Fit(NamedTuple):
    """What is explained after each step, and what is left, with their names, and what they are shares of."""

    share: FloatArray
    rest: FloatArray
    names: tuple[str, str]
    whole: str


def _fit(path: SelectionPath | GeneralizedPath | GroupPath) -> _Fit:
    if isinstance(path, GeneralizedPath):
        whole = rf"deviance$_0$ = {path.deviance[0]:.4g}"
        return _Fit(path.d2_path[1:], 1 - path.d2_path[1:], ("$D^2$", "deviance/deviance$_0$"), whole)
    norms = path.residual_norm.astype(float)
    rest = norms[1:] / norms[0] if norms[0] > 0 else norms[1:]
    mean = ", against the mean" if path.with_intercept else ""
    whole = rf"$\|r_0\|$ = {norms[0]:.4g}{mean}"
    return _Fit(path.r2_path[1:], rest, ("$R^2$", r"$\|r\|/\|r_0\|$"), whole)


def _explained(ax: Axes, fit: _Fit, steps: int, size: int) -> None:
    """The panel on the right, with the share that is explained written on the margin."""
    right, at = panel(ax, fit.whole, width=0.6), np.arange(steps)
    look: dict[str, Any] = {"markersize": 0.7 * size, "linewidth": 1.2}
    right.plot(fit.share, at, "o-", color=GREEN, label=fit.names[0], **look)
    right.plot(fit.rest, at, "s--", color=VIOLET, markerfacecolor="white", label=fit.names[1], **look)
    right.set_xlim(min(0.0, fit.share.min()), 1.04)
    right.grid(axis="x", linewidth=0.4, alpha=0.5)
    for t in range(steps) if steps <= _WRITTEN else (steps - 1,):
        right.text(1.02, t, f"{fit.share[t]:.3f}", va="center", color=GREEN, fontsize=POINTS,
                   transform=right.get_yaxis_transform())  # fmt: skip
    legend(right)


def _step(path: SelectionPath | GeneralizedPath | GroupPath, t: int) -> str:
    """The label of a step: its number and name, and one of those with which it is tied."""
    groups = isinstance(path, GroupPath)
    pick = int(path.order[t] if isinstance(path, GroupPath) else path.support[t])
    words = f"{t + 1}  {f'group {pick}' if groups else name(path.names, pick)}"
    others = [j for j in path.ties[t] if j != pick]
    if np.isnan(path.lam_star[t]):
        return f"{words} (forced)"
    if not others:
        return words
    more = f", {len(others) - 1} more" if len(others) > 1 else ""
    return f"{words} = {f'group {others[0]}' if groups else name(path.names, others[0])}{more}"


def _from_zero_or_log(ax: Axes, values: FloatArray, also: FloatArray) -> None:
    """An axis from 0, or a logarithmic one if the positive values span more than a factor of 20."""
    positive = values[values > 0]
    if positive.size and positive.max() > LONG * positive.min():
        ax.set_xscale("log")
        inside = also[also > 0.3 * positive.min()]
        low, top = min(positive.min(), inside.min(initial=np.inf)), positive.max()
        ax.set_xlim(low / 1.5, 1.5 * top * (top / low) ** 0.15)
    elif positive.size:
        ax.set_xlim(0, 1.28 * positive.max())
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
