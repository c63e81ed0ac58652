"""Pictures of certified bounds: intervals, sparse eigenvalues, guaranteed and achieved shares of R², and
inference after selection: coefficients with their intervals and p-values.
"""

from __future__ import annotations

import math
from statistics import NormalDist

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
from sparselin.results import Bound, GuaranteeBounds, Inference, Interval, SparseEigenvalues

_SMALL = 1e-300  # smaller p-values are not written


def interval(bounds: Interval, *, ax: Axes | None = None) -> Axes:
    """Draw certified bounds on a number; the title says how they were obtained.

    Parameters
    ----------
    bounds : an `Interval`, or a `SubmodularityRatio`.
    ax : where to draw; a new figure if None.

    >>> from sparselin.results import Interval
    >>> ax = interval(Interval(0.25, 0.5, "by hand"))
    >>> ax.get_title(), ax.texts[0].get_text()
    ('by hand', '0.25 to 0.5')
    """
    style.check_result(bounds, "bounds", Interval)
    ax = style.picture(ax, "value", "", bounds.method, figsize=(6.0, 1.7))
    _intervals(ax, [("", bounds)])
    ax.set_yticks([])
    return ax


def _intervals(ax: Axes, named: list[tuple[str, Interval]]) -> None:
    """Draw each interval in its own row: a line between the bounds; a point if they agree."""
    values = [v for _, one in named for v in (float(one.lower), float(one.upper)) if math.isfinite(v)]
    if min(values, default=0) > 0 and max(values) > LONG * min(values):
        ax.set_xscale("log")
    for row, (_, one) in enumerate(named):
        low, high = float(one.lower), float(one.upper)
        ends = [v for v in (low, high) if math.isfinite(v)]
        ax.plot(
            ends,
            [row] * len(ends),
            "|-",
            color=BLUE,
            linewidth=line_width(3),
            markersize=marker_size(14),
            markeredgewidth=line_width(2),
        )
        if one.exact and ends:
            ax.plot([high], [row], "o", color=BLUE, markersize=marker_size(8))
        words = f"{high:.4g}" if one.exact else f"{low:.4g} to {high:.4g}"
        if ends:
            style.write_near(ax, words, (sum(ends) / len(ends), row), (0, 9), ha="center")
    style.rows(ax, [label for label, _ in named])
    if ax.get_xscale() == "log":
        ax.margins(x=0.2)
    elif values:
        ax.set_xlim(1.2 * min([0.0, *values]), 1.2 * max([0.0, *values]) or 1.0)
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)


def sparse_eigenvalues(result: SparseEigenvalues, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds on λ_min(C, k) and λ_max(C, k), and in a right panel the babel function μ₁(m).

    By Gershgorin's theorem, |λ − 1| ≤ μ₁(k − 1) for the eigenvalues λ of k unit columns. This bound is useful
    only if μ₁(k − 1) is below 1, which a dashed line marks.

    Parameters
    ----------
    result : a `SparseEigenvalues`.
    ax : where to draw, with a second panel on its right; a new figure if None.

    >>> import sparselin as sl
    >>> ax = sparse_eigenvalues(sl.sparse_eigenvalues([[1.0, 0.0, 0.8], [0.0, 1.0, 0.6]], 2))
    >>> ax.get_title(), [text.get_text() for text in ax.texts]
    ('k = 2, condition number 9', ['1.8', '0.2'])
    """
    style.check_result(result, "result", SparseEigenvalues)
    title = f"k = {result.k}, condition number {_words(result.condition_number)}"
    ax = style.picture(ax, "eigenvalue", "", title, figsize=(8.0, 2.8))
    _intervals(ax, [(r"$\lambda_{\max}$", result.lambda_max), (r"$\lambda_{\min}$", result.lambda_min)])
    right = style.panel(ax, "$m$", r"babel function $\mu_1(m)$", 0.8, shared=False)
    if math.isnan(result.coherence):
        style.note(right, "fewer than two nonzero columns")
        return ax
    sizes = np.arange(1, result.k + 1)
    right.plot(
        sizes,
        result.babel,
        "o-",
        color=GREEN,
        markersize=marker_size(5 if result.k <= 40 else 0),
        linewidth=line_width(1.3),
    )
    right.axhline(1, color=GREY, linestyle="--", linewidth=line_width(1))
    right.set_ylim(bottom=0)
    style.integers(right)
    right.set_title(f"coherence {result.coherence:.3g}", fontsize=font_size())
    return ax


def _words(bounds: Interval) -> str:
    """Return an interval as text."""
    return f"{bounds.upper:.3g}" if bounds.exact else f"{bounds.lower:.3g} to {bounds.upper:.3g}"


def guarantee_bounds(result: GuaranteeBounds, *, ax: Axes | None = None) -> Axes:
    """Draw the share of the best subset's R² that each guarantee proves, and the share that was attained.

    A bar is the factor of a guarantee whose hypotheses hold. The attained share is a point. If only bounds on
    the best R² are known, the attained share is a line.

    Parameters
    ----------
    result : a `GuaranteeBounds`.
    ax : where to draw; a new figure if None.

    >>> import sparselin as sl
    >>> found = sl.guarantee_bounds([[1.0, 0.0, 0.8], [0.0, 1.0, 0.6]], [3.0, 1.0], 1)
    >>> ax = guarantee_bounds(found)
    >>> ax.get_xlabel(), ax.get_yticklabels()[0].get_text(), ax.texts[0].get_text()
    ('share of the $R^2$ of the best 1 features, 0.9', 'FR: submodularity ratio', '0.63')
    """
    style.check_result(result, "result", GuaranteeBounds)
    words = f"share of the $R^2$ of the best {result.k} features, {_words(result.best)}"
    ax = style.picture(ax, words, "", figsize=(8.0, style.height(len(result.bounds))))
    if not result.bounds:
        return style.note(ax, "No guarantees were requested.")
    for row, bound in enumerate(result.bounds):
        _guarantee(ax, row, bound)
    style.rows(ax, [f"{bound.algorithm}: {bound.name}" for bound in result.bounds])
    ax.set_xlim(min([0.0, *(float(bound.achieved.lower) for bound in result.bounds)]), 1.04)
    ax.grid(axis="x", linewidth=line_width(0.4), alpha=0.5)
    style.legend(ax)
    return ax


def _guarantee(ax: Axes, row: int, bound: Bound) -> None:
    """Draw the guarantee and the attained share of one bound in its row."""
    if bound.applies:
        colour, label = (RED, "guaranteed, violated") if bound.violated else (BLUE, "guaranteed")
        ax.barh(
            [row],
            [bound.lower],
            color=colour,
            height=0.8,
            alpha=0.8,
            label=label,
            hatch="xxx" if bound.violated else "",
            edgecolor="white",
        )
        offset, side, letters = (-4, "right", "white") if bound.lower > 0.15 else (4, "left", "black")
        look = {"va": "center", "ha": side, "color": letters}
        style.write_near(ax, f"{bound.lower:.2g}", (bound.lower, row), (offset, 0), **look)
    else:
        failed = any(held is False for _, held in bound.hypotheses)
        words = "a hypothesis fails" if failed else "a hypothesis is undecided"
        ax.text(0.01, row, words, va="center", fontsize=font_size(), color=GREY, style="italic")
    low, high = bound.achieved.lower, bound.achieved.upper
    ax.plot([low, high], [row, row], "-", color=ORANGE, linewidth=line_width(2))
    ax.plot([high], [row], "D", color=ORANGE, markersize=marker_size(7), label="achieved")


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
    style.check_result(found, "found", Inference)
    k = len(found)
    words = "coefficient / its standard error without selection"
    ax = style.picture(ax, words, "", figsize=(8.0, style.height(k)))
    at = np.arange(k)
    z = found.estimate / found.standard_error
    if not np.isfinite(z).any():
        return style.note(ax, "There is no coefficient to draw; the table has the p-values.")
    half = NormalDist().inv_cdf((1 + found.level) / 2)
    ends = found.interval / found.standard_error[:, None]
    limits = np.array([min(np.nanmin(z) - half, 0.0), max(np.nanmax(z) + half, 0.0)])
    room = max(2 * half, 0.3 * (limits[1] - limits[0]))
    everything = [np.nanmin([*limits, *ends.ravel()]), np.nanmax([*limits, *ends.ravel()])]
    limits = np.clip(everything, limits[0] - room, limits[1] + room)
    ax.plot(
        z, at, "o", color=ORANGE, markersize=marker_size(6 if k <= 40 else 4), label="coefficient", zorder=3
    )
    look = {"linewidth": min(8.0, 260 / k), "color": GREY, "alpha": 0.35, "zorder": 1}
    ax.hlines(at, z - half, z + half, label="without selection", **look)
    if np.isfinite(ends).any():
        label = f"{100 * found.level:g} % interval"
        ax.hlines(at, *np.clip(ends, *limits).T, color=BLUE, linewidth=line_width(1.8), label=label)
    for limit, marker, beyond in zip(limits, "<>", (ends < limits[0], ends > limits[1]), strict=True):
        rows = at[beyond.any(axis=1)]
        ax.plot(np.full(len(rows), limit), rows, marker, color=BLUE, markersize=marker_size(6))
    ax.axvline(0, color=GREY, linewidth=line_width(0.8), zorder=0)
    ax.set_xlim(limits + np.array([-0.03, 0.03]) * np.diff(limits))
    style.rows(ax, [style.name(found.names, j) for j in found.support.tolist()])
    for row in ax.get_yticks().astype(int).tolist():
        p = found.p_value[row]
        words = f"p = {p:.2g}" if p > _SMALL else f"p < {_SMALL:g}"
        words = "–" if np.isnan(p) else words
        ax.text(1.02, row, words, va="center", fontsize=font_size(), transform=ax.get_yaxis_transform())
    style.legend(ax)
    return ax
