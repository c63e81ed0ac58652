"""Pictures of a LASSO path, of the gradient flow, of selections of many signals, and of an explanation."""

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
    RED,
    Axes,
    font_size,
    line_width,
    marker_size,
)
from sparselin.results import BatchSelection, Explanation, FloatArray, FlowPath, LassoPath, Status
from sparselin.validation import check_count

_MARKS = 12  # at most this many knots of each line are marked
_SAMPLES = 400  # points of each curve of a flow, and of those on a logarithmic axis, where they are curved
# status ↦ the colour and hatch of the signals that ended with it
_ENDS = {
    Status.COMPLETED: (BLUE, ""),
    Status.TOLERANCE: (GREEN, "///"),
    Status.EXACT_FIT: (ORANGE, "..."),
    Status.NO_CORRELATION: (GREY, "xxx"),
    Status.RANK_EXHAUSTED: (RED, "\\\\\\"),
}


def lasso_path(path: LassoPath, *, labels: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the coefficients β(λ) against λ, which decreases to the right, with marks at the knots.

    R² is written above the axes. The axis of λ is logarithmic if the positive knots span more than a factor
    of 20; if the path ends at λ = 0, the axis is linear below the last positive knot. Between knots β is
    linear in λ, and R² is linear in λ². The reason: with r = y − Xβ and c = Xᵀr,
    d(½‖r‖²)/dλ = −cᵀdβ/dλ = −λ·d‖β_{S̄}‖₁/dλ, where ‖β_{S̄}‖₁ is linear in λ. S̄ are the penalised features,
    and for standardized columns the norm is that of the standardized coefficients. Coefficients are per unit
    of the column, even if columns are standardized, so the heights of different features cannot be compared.

    Parameters
    ----------
    path : a `LassoPath`.
    labels : the largest number of features with a colour and a name on the right. These are the features
        with the largest coefficients at the end; the others are grey.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> ax = lasso_path(sl.lasso_path([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0]))
    >>> [line.get_label() for line in ax.lines[:2]], [text.get_text() for text in ax.texts[:2]]
    (['x0', 'x1'], ['x0', 'x1'])
    """
    style.check_result(path, "path", LassoPath)
    labels = check_count(labels, "labels", 0)
    units = ", each in its own unit" if path.standardized else ""
    words = rf"$\lambda$, from $\lambda^*$ = {path.knots[0]:.4g} (marks: knots)"
    ax = style.picture(ax, words, f"coefficient{units}", figsize=(7.2, 4.4))
    if not path.knots[0] > 0:
        why = "λ* = 0: no column outside S is correlated with the residual"
        return style.note(ax, f"No feature enters, because {why}.")
    lam = _axis_of_lambda(ax, path.knots)
    beta = np.array([np.interp(-lam, -path.knots, values) for values in path.coef_path.T])
    beta = beta.reshape(len(path.features), len(lam))
    names = [style.name(path.names, j) for j in path.features.tolist()]
    at_knots = np.flatnonzero(np.isin(lam, path.knots))

    def marks(i: int) -> dict[str, Any]:
        kinks = at_knots[np.flatnonzero(beta[i, at_knots])]
        return {"markersize": marker_size(5), "markevery": kinks[:: -(-len(kinks) // _MARKS) or 1].tolist()}

    style.draw_largest(ax, lam, beta, names, labels, marks)
    on: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False}
    ax.plot(
        path.knots, np.zeros(len(path.knots)), "|", color=GREY, markersize=marker_size(9), label="knots", **on
    )
    _r2_above(ax, path)
    return ax


def _axis_of_lambda(ax: Axes, knots: FloatArray) -> FloatArray:
    """Set up the axis from λ* to the end of the path; return the decreasing λ at which curves are drawn."""
    lam = knots.astype(float)
    end = float(knots[-1])
    least = float(lam[lam > 0].min())
    if style.positive_axis(ax, lam):
        lam = np.unique(np.concatenate([lam, np.geomspace(least, lam[0], _SAMPLES)]))[::-1]
    ax.set_xlim(lam[0], end if end < lam[0] else 0.5 * lam[0])
    return lam


def _r2_above(ax: Axes, path: LassoPath) -> None:
    """Write R² above the axes at six values of λ; neighbours with the same text are written once."""
    if not path.r2.any():
        return
    inverse = (ax.transScale + ax.transLimits).inverted()
    before = ""
    for share in np.linspace(0, 1, 6).tolist():
        lam = max(float(inverse.transform((share, 0))[0]), 0.0)
        r2 = np.interp(-(lam**2), -(path.knots.astype(float) ** 2), path.r2)
        text = f"{r2:z.2f}"
        if text != before:
            ax.text(share, 1.02, text, ha="center", va="bottom", fontsize=font_size(), transform=ax.transAxes)
        before = text
    ax.text(-0.06, 1.02, "$R^2$", ha="right", va="bottom", fontsize=font_size(), transform=ax.transAxes)


def flow(path: FlowPath, *, labels: int = 12, ax: Axes | None = None) -> Axes:
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
    style.check_result(path, "path", FlowPath)
    labels = check_count(labels, "labels", 0)
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
    names = [style.name(path.names, j) for j in path.features.tolist()]
    stairs = path.coef_path[now].T
    steps = {"drawstyle": "steps-post", "marker": ""}
    shown = style.draw_largest(ax, grid, stairs, names, labels, lambda _: steps)
    ax.set_xlim(grid[0], grid[-1])
    if not path.restarted:
        for i, mean in enumerate(_averages(path, grid, now)[:, shown].T):
            ax.plot(grid, mean, linestyle=":", linewidth=line_width(1.2), color=style.look(i)["color"])
    lasso = np.array([path.restarted or path.average(t).is_lasso for t in tau.tolist()])
    on: dict[str, Any] = {
        "transform": ax.get_xaxis_transform(),
        "clip_on": False,
        "markersize": marker_size(9),
    }
    for wanted, color in ((True, GREY), (False, RED)):
        at = tau[lasso == wanted]
        ax.plot(at, np.zeros(len(at)), "|", color=color, **on)
    return ax


def _averages(path: FlowPath, grid: FloatArray, now: Any) -> FloatArray:
    """Return (1/τ)∫₀^τ β for each τ of the grid; `now` has the number of events up to each τ."""
    starts = np.append(0.0, path.tau)
    areas = np.cumsum(path.coef_path[:-1] * np.diff(starts)[:, None], axis=0)
    before = np.vstack([np.zeros(areas.shape[1]), areas])
    return np.asarray((before[now] + path.coef_path[now] * (grid - starts[now])[:, None]) / grid[:, None])


def batch_selection(batch: BatchSelection, *, ax: Axes | None = None) -> Axes:
    """Draw how many signals have 0, 1, …, k features, coloured by their status, and their residual norms.

    The right panel shows, for each number of features, the median, the middle half and the middle 90 % of
    ‖r‖, the norm of the residual.

    Parameters
    ----------
    batch : a `BatchSelection`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import numpy as np, sparselin as sl
    >>> ax = batch_selection(sl.batch_omp(np.eye(3), np.eye(3)[:, :2] + 0.5, 1))
    >>> [int(bar.get_width()) for bar in ax.patches]
    [0, 2]
    """
    style.check_result(batch, "batch", BatchSelection)
    k = batch.support.shape[1]
    ax = style.picture(ax, "signals", "features selected", figsize=(7.6, style.height(k + 1)))
    if not len(batch.support):
        return style.note(ax, "No signals.")
    counts, left = np.arange(k + 1), np.zeros(k + 1)
    for status in Status:
        mine = batch.n_selected[batch.status == status]
        if len(mine):
            colour, hatch = _ENDS.get(status, (GREY, "++"))
            width = np.bincount(mine, minlength=k + 1).astype(float)
            options: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.75}
            ax.barh(counts, width, left=left, label=status.name.replace("_", " ").lower(), **options)
            left += width
    style.rows(ax, [str(count) for count in counts])
    ax.set_xlim(0, 1.05 * left.max())
    style.legend(ax)
    right = style.panel(ax, r"residual norm $\|r\|$")
    for count in counts[left > 0].tolist():
        norms = batch.residual_norm[batch.n_selected == count].astype(float)
        low, first, middle, third, high = np.quantile(norms, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
        right.plot([low, high], [count, count], color=BLUE, linewidth=line_width(1))
        right.plot([first, third], [count, count], color=BLUE, linewidth=line_width(4), solid_capstyle="butt")
        right.plot([middle], [count], "o", color=BLUE, markersize=marker_size(5), markerfacecolor="white")
    norms = batch.residual_norm[batch.residual_norm > 0]
    if len(norms) == len(batch.support) and norms.max() > LONG * norms.min():
        right.set_xscale("log")
    else:
        right.set_xlim(left=0)
    right.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)
    return ax


def explanation(found: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw |⟨X_j, r⟩| of the explained feature j along the path, together with the value that it must reach.

    r is the residual. The value to reach is |⟨X_i, r⟩| of the picks i, or λ on a LASSO path. On a path of the
    gradient flow |s_j| and 1 are drawn at each event. For methods with β ≥ 0, in which the sign matters,
    ⟨X_j, r⟩ is drawn instead of its modulus if it is negative somewhere.

    Parameters
    ----------
    found : an `Explanation`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> X, y = [[1.0, 0.0, 0.8], [0.0, 1.0, 0.6]], [3.0, 1.0]
    >>> ax = explanation(sl.explain(X, y, sl.omp(X, y, 1), 1))
    >>> ax.lines[1].get_ydata().round(2).tolist()
    [1.0, 1.0]
    """
    style.check_result(found, "found", Explanation)
    steps, flow = found.kind == "selection", found.kind == "flow"
    signed = bool((found.correlation < 0).any())
    bar = "" if signed else "|"
    across, up, goal = {
        "selection": ("features selected", rf"${bar}\langle X_j, r\rangle{bar}$", "the pick"),
        "flow": ("event", "$|s_j|$", "1"),
    }.get(found.kind, (r"$\lambda$", rf"${bar}\langle X_j, r\rangle{bar}$", r"$\lambda$"))
    ax = style.picture(ax, across, up)
    if not len(found.level):
        return style.note(ax, found.sentence)
    at = np.arange(flow, len(found.level) + flow) if steps or flow else found.level
    ax.plot(at, found.level, "s-", color=GREY, markersize=marker_size(5), label=goal)
    label = style.name(found.names, found.feature)
    ax.plot(at, found.correlation, "o-", color=BLUE, markersize=marker_size(6), label=label)
    if steps:
        labels = ["none", *(f"+ {style.name(found.names, int(i))}" for i in found.given)]
        every = -(-len(labels) // 20)
        turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(at[::every], labels[::every], **(turned if len(labels) > 4 else {}))
    elif not flow:
        style.positive_axis(ax, found.level)
        ax.set_xlim(float(at[0]), float(at[-1]) if len(at) > 1 else 0.5 * float(at[0]))
    if signed:
        ax.axhline(0, color=GREY, linewidth=line_width(0.6), zorder=0)
    else:
        ax.set_ylim(bottom=0)
    style.legend(ax)
    ax.grid(axis="y", linewidth=line_width(0.4), alpha=0.5)
    return ax
