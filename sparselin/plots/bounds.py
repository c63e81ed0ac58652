"""Pictures of certified bounds: intervals, sparse eigenvalues, guaranteed and achieved shares of R²."""

from __future__ import annotations

import math

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import BLUE, GREEN, GREY, LONG, ORANGE, POINTS, RED, Axes
from sparselin.results import Bound, GuaranteeBounds, Interval, SparseEigenvalues


def interval(bounds: Interval, *, ax: Axes | None = None) -> Axes:
    """Draw certified bounds on a number; the title says how they were obtained.

    Parameters
    ----------
    bounds : an `Interval`, or a `SubmodularityRatio`.
    ax : where to draw; a new figure if None.

    >>> from sparselin import Interval
    >>> ax = interval(Interval(0.25, 0.5, "by hand"))
    >>> ax.get_title(), ax.texts[0].get_text()
    ('by hand', '0.25 to 0.5')
    """
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
        ax.plot(ends, [row] * len(ends), "|-", color=BLUE, linewidth=3, markersize=14, markeredgewidth=2)
        if one.exact and ends:
            ax.plot([high], [row], "o", color=BLUE, markersize=8)
        words = f"{high:.4g}" if one.exact else f"{low:.4g} to {high:.4g}"
        if ends:
            style.write_near(ax, words, (sum(ends) / len(ends), row), (0, 9), ha="center")
    style.rows(ax, [label for label, _ in named])
    if ax.get_xscale() == "log":
        ax.margins(x=0.2)
    elif values:
        ax.set_xlim(1.2 * min([0.0, *values]), 1.2 * max([0.0, *values]) or 1.0)
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)


def sparse_eigenvalues(result: SparseEigenvalues, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds on λ_min(C, k) and λ_max(C, k), and in a right panel the babel function μ₁(m).

    By Gershgorin's theorem, |λ − 1| ≤ μ₁(k − 1) for the eigenvalues λ of k unit columns. This bound is useful
    only if μ₁(k − 1) is below 1, which a dashed line marks.

    Parameters
    ----------
    result : a `SparseEigenvalues`.
    ax : where to draw, with a second panel on its right; a new figure if None.
    """
    title = f"k = {result.k}, condition number {_words(result.condition_number)}"
    ax = style.picture(ax, "eigenvalue", "", title, figsize=(8.0, 2.8))
    _intervals(ax, [(r"$\lambda_{\max}$", result.lambda_max), (r"$\lambda_{\min}$", result.lambda_min)])
    right = style.panel(ax, "$m$", r"babel function $\mu_1(m)$", 0.8, shared=False)
    if math.isnan(result.coherence):
        style.note(right, "fewer than two nonzero columns")
        return ax
    sizes = np.arange(1, result.k + 1)
    right.plot(sizes, result.babel, "o-", color=GREEN, markersize=5 if result.k <= 40 else 0, linewidth=1.3)
    right.axhline(1, color=GREY, linestyle="--", linewidth=1)
    right.set_ylim(bottom=0)
    style.integers(right)
    right.set_title(f"coherence {result.coherence:.3g}", fontsize=POINTS)
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
    """
    words = f"share of the $R^2$ of the best {result.k} features, {_words(result.best)}"
    ax = style.picture(ax, words, "", figsize=(8.0, style.height(len(result.bounds))))
    if not result.bounds:
        return style.note(ax, "No guarantees were requested.")
    for row, bound in enumerate(result.bounds):
        _guarantee(ax, row, bound)
    style.rows(ax, [f"{bound.algorithm}: {bound.name}" for bound in result.bounds])
    ax.set_xlim(min([0.0, *(float(bound.achieved.lower) for bound in result.bounds)]), 1.04)
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    style.legend(ax)
    return ax


def _guarantee(ax: Axes, row: int, bound: Bound) -> None:
    """Draw the guarantee and the attained share of one bound in its row."""
    if bound.applies:
        colour, label = (RED, "guaranteed, violated") if bound.violated else (BLUE, "guaranteed")
        ax.barh([row], [bound.lower], color=colour, height=0.8, alpha=0.8, label=label,
                hatch="xxx" if bound.violated else "", edgecolor="white")  # fmt: skip
        inside = bound.lower > 0.15
        offset, side, letters = (-4, "right", "white") if inside else (4, "left", "black")
        look = {"va": "center", "ha": side, "color": letters}
        style.write_near(ax, f"{bound.lower:.2g}", (bound.lower, row), (offset, 0), **look)
    else:
        failed = any(held is False for _, held in bound.hypotheses)
        words = "a hypothesis fails" if failed else "a hypothesis is undecided"
        ax.text(0.01, row, words, va="center", fontsize=POINTS, color=GREY, style="italic")
    low, high = bound.achieved.lower, bound.achieved.upper
    ax.plot([low, high], [row, row], "-", color=ORANGE, linewidth=2)
    ax.plot([high], [row], "D", color=ORANGE, markersize=7, label="achieved")
