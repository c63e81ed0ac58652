"""Pictures of single points: projections, minimisers, proximal steps, penalties."""

from __future__ import annotations

import numpy as np

from sparselin.plots import style
from sparselin.plots.sets import coefficients
from sparselin.plots.style import BLUE, GREY, ORANGE, POINTS, Axes
from sparselin.results import DescentResult, DualProjection, HierarchicalProx, PenaltyValue


def dual_projection(projection: DualProjection, *, ax: Axes | None = None) -> Axes:
    """Draw the coefficients β of v − u = Xβ, with the names of the features.

    v is the point that was projected, and u its projection. Outside S, the columns to which u is orthogonal,
    β_j ≠ 0 only if the constraint |⟨X_j, u⟩| ≤ λ is active; then |β_j| says how strongly the constraint moves
    u. The coefficients in S have hollow markers.

    Parameters
    ----------
    projection : a `DualProjection`.
    ax : where to draw; a new figure if None.
    """
    count = int(np.count_nonzero(projection.coef))
    ax = style.picture(ax, "coefficient", "", figsize=(6.0, style.height(count)))
    if not count:
        return style.note(ax, "No constraint is active: the projection of v is v.")
    words = (r"active: $|\langle X_j, u\rangle| = \lambda$", "without penalty")
    return coefficients(ax, projection.names, projection.coef, list(projection.active), words)


def descent(result: DescentResult, *, ax: Axes | None = None) -> Axes:
    """Draw the objective minus its last value against the iteration, on a logarithmic scale.

    If the result has a duality gap, a line marks it: the gap bounds the distance of the last value from the
    least objective.

    Parameters
    ----------
    result : a `DescentResult`.
    ax : where to draw; a new figure if None.
    """
    last, iterations = float(result.objective[-1]), len(result.objective) - 1
    end = (
        f"{result.status.name.lower().replace('_', ' ')} after {iterations} iterations, objective {last:.4g}"
    )
    ax = style.picture(ax, "iteration", "objective − its last value", end)
    above = result.objective.astype(float) - last
    drawn = above > 0
    if not drawn.any():
        return style.note(ax, f"The objective is {last:.4g} from the start.")
    ax.semilogy(
        np.flatnonzero(drawn), above[drawn], color=BLUE, linewidth=1.5, label="objective − its last value"
    )
    if result.duality_gap > 0:
        words = f"duality gap at the end, {result.duality_gap:.2g}"
        ax.axhline(result.duality_gap, color=ORANGE, linestyle="--", linewidth=1.2, label=words)
    ax.set_xlim(0, iterations)
    ax.grid(linewidth=0.4, alpha=0.5)
    ax.legend(frameon=False, fontsize=POINTS, loc="best")
    return ax


def hier_prox(prox: HierarchicalProx, *, ax: Axes | None = None) -> Axes:
    """Draw ‖θ_j‖ and max_k |W_jk| of the active features, and write how many entries of W_j were clipped.

    θ_j and W_j are the weights of feature j in the skip connection and in the first layer. If there are more
    than 40 active features, the features with the largest ‖θ_j‖ are drawn.

    Parameters
    ----------
    prox : a `HierarchicalProx`.
    ax : where to draw; a new figure if None.
    """
    size = np.linalg.norm(prox.theta.reshape(len(prox.theta), -1), axis=1)
    widest = np.abs(prox.W).max(axis=1, initial=0)
    J = prox.active[style.largest(size[prox.active])]
    ax = style.picture(ax, "modulus", "", figsize=(6.0, style.height(len(J))))
    if not len(J):
        return style.note(ax, f"No feature is active: all {len(size)} have θ = 0 and W = 0.")
    at = np.arange(len(J))
    ax.hlines(at, np.minimum(size, widest)[J], np.maximum(size, widest)[J], color=GREY, linewidth=1)
    ax.plot(size[J], at, "o", color=BLUE, markersize=5, label=r"$\|\theta_j\|$")
    ax.plot(
        widest[J], at, "s", color=ORANGE, markerfacecolor="none", markersize=9, label=r"$\max_k |W_{jk}|$"
    )
    cut = [f", {count} clipped" if count else "" for count in prox.n_clipped[J].tolist()]
    style.rows(ax, [style.name(None, int(j)) + words for j, words in zip(J, cut, strict=True)])
    ax.set_xlim(left=0)
    ax.set_xlabel(f"modulus ({len(prox.active)} of {len(size)} features are active)")
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    style.legend(ax)
    return ax


def penalty_value(penalty: PenaltyValue, *, ax: Axes | None = None) -> Axes:
    """Draw the w that attains an infimum, with the infimum as the title; draw several infima as values.

    Parameters
    ----------
    penalty : a `PenaltyValue`.
    ax : where to draw; a new figure if None.
    """
    several = penalty.value.ndim > 0
    heights = penalty.value.ravel() if several else penalty.minimizer
    title = "" if several else f"the infimum is {float(penalty.value):.6g}"
    ax = style.picture(ax, "index", "infimum" if several else "$w$ at the infimum", title)
    if not heights.size:
        return style.note(ax, "No values.")
    at = np.arange(len(heights))
    ax.vlines(at, 0, heights, color=BLUE, linewidth=1)
    ax.plot(at, heights, "o", color=BLUE, markersize=6 if len(at) <= 40 else 3)
    ax.axhline(0, color=GREY, linewidth=0.8)
    style.integers(ax)
    return ax
