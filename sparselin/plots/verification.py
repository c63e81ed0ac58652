"""Figures of the verification: agreement, windows, projections onto the dual polytope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.path import lasso_path
from sparselin.lasso.projection import project_dual
from sparselin.plots.style import BLUE, GREY, ORANGE, POINTS, RED, axes, in_space
from sparselin.results import FloatArray
from sparselin.validation import check_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VERDICTS = (
    ("agreements", "agrees", BLUE, ""),
    ("undecided", "undecided", ORANGE, "///"),
    ("violations", "violates", RED, "xxx"),
)


def agreement(summary: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Steps of each ensemble that agree, are undecided or violate, as shares of 100 %.

    Parameters
    ----------
    summary : `EnsembleSummary` rows, drawn from the top down, each labelled with its counts.
    ax : where to draw; a new figure if None.
    """
    ax = axes(ax, "", "share of steps", "", figsize=(7.2, 0.6 + 0.3 * len(summary)))
    from matplotlib.ticker import PercentFormatter

    names = [row.name for row in summary]
    left = np.zeros(len(summary))
    for field, label, colour, hatch in VERDICTS:
        share = np.array([getattr(row, field) / max(row.steps, 1) for row in summary])
        ax.barh(
            names, share, left=left, color=colour, label=label, height=0.78, hatch=hatch, edgecolor="white"
        )
        left = left + share
    for row in summary:
        text = f"{row.agreements} of {row.steps}" + (f", {row.undecided} undecided" if row.undecided else "")
        ax.text(0.01, row.name, text, va="center", ha="left", color="white", fontsize=POINTS)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize=POINTS)
    return ax


def windows(records: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """λ₂/λ* and λ₀/λ* of every step, by ensemble: the sharp start of the window and the proof's.

    Parameters
    ----------
    records : `DesignRecord`s.
    ax : where to draw; a new figure if None.
    """
    names = list(dict.fromkeys(record.ensemble for record in records))
    ax = axes(ax, "", r"$\lambda/\lambda^*$", "", figsize=(7.2, 0.6 + 0.34 * len(names)))
    for field, shift, colour, hatch, label in (
        ("window", -0.18, BLUE, "", r"$\lambda_2/\lambda^*$: the support stays $A(S)$ above it"),
        ("proof", 0.18, ORANGE, "//////", r"$\lambda_0/\lambda^*$: what the printed proof gives"),
    ):
        values = [
            [getattr(step, field) for record in records if record.ensemble == name for step in record.steps]
            for name in names
        ]
        boxes = ax.boxplot(
            values,
            positions=np.arange(len(names)) + shift,
            orientation="horizontal",
            widths=0.3,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            medianprops={"color": "white", "linewidth": 1.4},
            boxprops={"facecolor": colour, "edgecolor": "white" if hatch else colour, "hatch": hatch},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        boxes["boxes"][0].set_label(label)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax


def dual_polytope(
    X: Any, v: ArrayLike, lams: Sequence[float], *, unpenalized: Iterable[int] = (), ax: Axes | None = None
) -> Axes:
    """In two dimensions: v, the polygons C_λ = {u : ‖Xᵀu‖∞ ≤ λ}, and the projections of v onto them.

    With unpenalised columns S these are the projections onto the slice C_λ ∩ {u : X_Sᵀu = 0}, a piece of the
    grey line (`project_dual`); a dashed one leads from v to P_S^⊥v, where the path of the projections begins.
    It runs through v − Xβ at the knots β of `lasso_path`, between which it is straight. A point whose label
    would cover another's has none.

    Parameters
    ----------
    X : (2, d). v : (2,).
    lams : one or more λ > 0.
    unpenalized : S, the columns to which the projections are orthogonal.
    ax : where to draw; a new figure if None.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), X without two rows, no λ or one that is not positive.

    >>> dual_polytope([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], [2.0, 0.5]).lines[0].get_xydata().tolist()
    [[3.0, 1.0], [1.0, 1.0], [0.5, 0.5]]
    """
    problem, S = in_space(X, v, 2, "v"), tuple(unpenalized)
    levels = sorted((check_level(lam, "lams") for lam in lams), reverse=True)
    if not levels or levels[-1] == 0:
        raise ValueError(f"lams must hold one or more λ > 0; got {list(lams)}")
    columns, centre = problem.columns(np.arange(problem.d)), problem.y
    path = lasso_path(problem, None, unpenalized=S, lam_min=levels[-1])
    knots = centre - path.coef @ columns.T
    points = [project_dual(columns, centre, lam, unpenalized=S).u for lam in levels]
    ax = axes(ax, "", "$u_1$", "$u_2$", figsize=(4.6, 4.6))
    longest = float(problem.column_norms.max())
    far = 3 * (problem.y_norm or levels[0] / (longest or 1.0))
    reach = problem.y_norm
    for lam in levels:
        polygon = _polygon(columns / lam, far)
        reach = max(reach, float(np.abs(polygon).max()))
        ax.fill(*polygon.T, facecolor=(BLUE, 0.12), edgecolor=BLUE, linewidth=1, zorder=1)
    ax.plot(*knots.T, color=ORANGE, linewidth=1.6, zorder=3)
    if S:
        _slice(ax, columns[:, S], 2 * far)
        ax.plot(*np.transpose([centre, knots[0]]), "--", color=GREY, linewidth=1, zorder=2)
        ax.plot(*knots[0], "o", color="black", label=r"$P_S^\perp v$", markersize=8, zorder=3)
    ax.plot(*np.transpose(points), "o", color=ORANGE, label="projections", markersize=5, zorder=4)
    ax.plot(*centre, "k*", markersize=11, label="$v$", zorder=5)
    named: list[FloatArray] = []
    for lam, point in zip(levels, points, strict=True):
        if all((np.abs(point - other) > np.array([0.45, 0.13]) * reach).any() for other in named):
            named.append(point)
            text = rf"$\lambda$ = {lam:.3g}"
            ax.annotate(text, tuple(point), xytext=(8, -10), textcoords="offset points", fontsize=8, zorder=6)
    edge = min(1.08 * reach, 0.97 * far)  # lines that end beyond are drawn to the edge
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
    ax.legend(loc="lower left", fontsize=8, framealpha=0.85, edgecolor="none")
    return ax


def _polygon(A: FloatArray, far: float) -> FloatArray:
    """The vertices of {u : ‖Aᵀu‖∞ ≤ 1, ‖u‖∞ ≤ far} in order: two bounds are attained, none is violated."""
    A = np.column_stack([A, np.eye(2) / far])
    i, j = np.triu_indices(A.shape[1], 1)
    pairs = np.stack([A[:, i], A[:, j]], axis=1).T  # (·, 2, 2), with rows A_i and A_j
    pairs = pairs[np.abs(np.linalg.det(pairs)) > 1e-12 * np.linalg.norm(pairs, axis=2).prod(axis=1)]
    corners = np.concatenate([np.linalg.solve(pairs, [[1.0], [sign]])[:, :, 0] for sign in (1.0, -1.0)])
    corners = np.concatenate([corners, -corners])
    corners = corners[np.abs(corners @ A).max(axis=1) <= 1 + 1e-9]
    return np.asarray(corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))])


def _slice(ax: Axes, X: FloatArray, far: float) -> None:
    """{u : X_Sᵀu = 0}: a line, or its one point."""
    axis, sizes, _ = np.linalg.svd(X)
    label = r"$X_S^{\top}u = 0$"
    if len(sizes) < 2 or sizes[1] <= 1e-12 * sizes[0]:
        along = far * axis[:, 1] * bool(sizes[0])
        ax.plot(*np.transpose([-along, along]), color=GREY, alpha=0.35, linewidth=5, label=label, zorder=1.5)
    else:
        ax.plot(0, 0, "s", color=GREY, alpha=0.5, markersize=10, label=label, zorder=1.5)
