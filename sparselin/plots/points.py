"""Pictures of single points: projections and minimisers."""

from __future__ import annotations

import numpy as np

from sparselin.plots import style
from sparselin.plots.sets import coefficients
from sparselin.plots.style import BLUE, ORANGE, POINTS, Axes
from sparselin.results import DescentResult, DualProjection


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
    status, label = result.status.name.lower().replace("_", " "), "objective − its last value"
    title = f"{status} after {iterations} iterations, objective {last:.4g}"
    ax = style.picture(ax, "iteration", label, title)
    above = result.objective.astype(float) - last
    drawn = above > 0
    if not drawn.any():
        return style.note(ax, f"The objective is {last:.4g} from the start.")
    ax.semilogy(np.flatnonzero(drawn), above[drawn], color=BLUE, linewidth=1.5, label=label)
    if result.duality_gap > 0:
        words = f"duality gap at the end, {result.duality_gap:.2g}"
        ax.axhline(result.duality_gap, color=ORANGE, linestyle="--", linewidth=1.2, label=words)
    ax.set_xlim(0, iterations)
    ax.grid(linewidth=0.4, alpha=0.5)
    ax.legend(frameon=False, fontsize=POINTS, loc="best")
    return ax
