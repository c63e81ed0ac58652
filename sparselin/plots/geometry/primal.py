"""Pictures of the primal side: the ℓ1 ball of two coefficients, and OMP as the smallest angle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.greedy.omp import omp
from sparselin.lasso.path import lasso_path
from sparselin.plots.geometry.labels import Labels, arrow, column, look
from sparselin.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    Axes,
    font_size,
    legend_columns,
    line_width,
    marker_size,
    picture,
)
from sparselin.problem import Problem
from sparselin.results import FloatArray
from sparselin.validation import check_level

# Singular values below this, relative to the largest, count as zero. It is above rounding errors, and too
# small to be seen in a picture.
_DEPENDENT = 1e-10
_APART = 1.45  # the distance between the panels of two steps of OMP
_TOUCHING = r"$\|y - X\beta\| = \|y - X\beta(\lambda)\|$"


def l1_ball(X: Any, y: ArrayLike, *, lam: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the ball {‖β‖₁ ≤ ‖β(λ)‖₁} of two coefficients, and the ellipses ‖y − Xβ‖² = const.

    β(λ) minimises ½‖y − Xβ‖² + λ‖β‖₁. So it also minimises ‖y − Xβ‖ over this ball, and the ellipse through
    β(λ) touches the ball. The path of β(λ) is drawn through its knots, from 0 at λ* to least squares at
    λ = 0. If the columns are dependent, the ellipses become strips between parallel lines, and the
    least-squares solutions are a line (dashed). If β(λ) is not unique, all solutions are drawn; together they
    are a side of the ball.

    Parameters
    ----------
    X, y : design (n, 2), of any length n, and response (n,); names of a frame are kept.
    lam : λ ≥ 0, λ*/2 by default.
    ax : where to draw; a new figure if None.

    Returns
    -------
    The Axes.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have two columns; lam < 0; y is orthogonal to
        the columns.

    >>> ax = l1_ball([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], lam=2.0)
    >>> next(line for line in ax.lines if line.get_label() == "path of β").get_xydata().tolist()
    [[0.0, 0.0], [2.0, 0.0], [3.0, 1.0]]
    """
    problem = Problem(X, y)
    if problem.d != 2:
        raise ValueError(f"X must have 2 columns, one for each axis; got X of shape {problem.X.shape}")
    columns = problem.columns([0, 1]).astype(float)
    v = problem.y.astype(float)
    path = lasso_path(columns, v)
    if not path.knots[0] > 0:
        raise ValueError("y must be correlated with a column of X; here β(λ) = 0 for every λ")
    lam = float(path.knots[0]) / 2 if lam is None else check_level(lam, "lam")
    beta = path.at(lam)
    radius = float(np.abs(beta).sum())
    limit = 1.35 * max(float(np.abs(path.coef).max()), radius)
    xlabel, ylabel = (column(problem.names, j) if problem.names else f"$\\beta_{j}$" for j in (0, 1))
    levels = rf"$\lambda$ = {lam:.3g},  $\lambda^*$ = {path.knots[0]:.3g}"
    title = rf"{levels},  $\|\beta(\lambda)\|_1$ = {radius:.3g}"
    ax = picture(ax, xlabel, ylabel, title, figsize=(7.0, 7.0))
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
    ax.axhline(0, color=GREY, linewidth=line_width(0.6), zorder=0)
    ax.axvline(0, color=GREY, linewidth=line_width(0.6), zorder=0)
    ball = radius * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]])
    ax.fill(
        *ball.T,
        facecolor=(BLUE, 0.15),
        edgecolor=BLUE,
        linewidth=line_width(1.8),
        label=r"$\|\beta\|_1 \leq \|\beta(\lambda)\|_1$",
    )
    _level_lines(ax, columns, path.coef[-1], beta, limit)
    ax.plot(
        *path.coef.T,
        "o-",
        color="black",
        linewidth=line_width(2.2),
        markersize=marker_size(5),
        label="path of β",
        zorder=4,
    )
    ends = _minimisers(columns, beta, radius)
    if len(ends) > 1:
        ax.plot(
            *ends.T,
            color="black",
            linewidth=line_width(7),
            alpha=0.45,
            solid_capstyle="round",
            zorder=3,
            label=r"all $\beta(\lambda)$",
        )
    ax.plot(*beta, "D", color="black", markerfacecolor="white", markersize=marker_size(9), zorder=6)
    ax.plot(*path.coef[-1], "*", color="black", markersize=marker_size(15), zorder=5)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
        ncols=legend_columns(2),
        frameon=False,
        fontsize=font_size(),
    )
    labels = Labels(ax)
    labels.avoid(path.coef)
    labels.avoid(ball)
    labels.place(r"$\beta(\lambda)$", beta, 0 * beta)
    labels.place("least squares", path.coef[-1], beta)
    for level, knot in zip(path.knots.tolist(), path.coef, strict=True):
        labels.place(rf"$\lambda$ = {level:.3g}", knot, needed=False)
    return ax


def _level_lines(ax: Axes, X: FloatArray, centre: FloatArray, beta: FloatArray, limit: float) -> None:
    """Draw {b : ‖X(b − β_LS)‖ = s‖X(β − β_LS)‖} for some s; the ellipse with s = 1 touches the ball.

    β_LS is the least squares solution, and β the solution of the LASSO.
    """
    _, sizes, turns = np.linalg.svd(X, full_matrices=False)
    sizes, turns = (np.append(sizes, 0.0), np.linalg.svd(X)[2]) if len(sizes) < 2 else (sizes, turns)
    size = float(np.linalg.norm(X @ (beta - centre)))
    dependent = sizes[1] <= _DEPENDENT * sizes[0]
    if dependent:
        along = 3 * limit * turns[1]
        ax.plot(
            *np.array([centre - along, centre + along]).T,
            "--",
            color=GREY,
            linewidth=line_width(1.5),
            label="least squares: a line",
        )
    for share in (0.35, 0.7, 1.0, 1.35, 1.7) if size else ():
        touching = share == 1.0
        style: dict[str, Any] = {"color": ORANGE, "linewidth": line_width(2.2 if touching else 1),
                                 "zorder": 2,
                                 "label": _TOUCHING if touching else None}  # fmt: skip
        half = share * size / sizes[0] * turns[0]
        if dependent:
            sides = [np.array([centre + side - along, centre + side + along]) for side in (half, -half)]
        else:
            angle = np.linspace(0, 2 * np.pi, 400)[:, None]
            sides = [centre + np.cos(angle) * half + np.sin(angle) * share * size / sizes[1] * turns[1]]
        for line in sides:
            ax.plot(*line.T, **style)
            style["label"] = None


def _minimisers(X: FloatArray, beta: FloatArray, radius: float) -> FloatArray:
    """Return the ends (m, 2) of the set of minimisers: β alone, or two corners b of the ball with Xb = Xβ."""
    corners = radius * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    size = float(np.linalg.norm(X, axis=0).max()) * radius
    same = np.linalg.norm((corners - beta) @ X.T, axis=1) <= 1e-10 * size
    return corners[same] if same.sum() == 2 else beta[None]


def residual_angles(X: Any, y: ArrayLike, k: int, *, ax: Axes | None = None) -> Axes:
    """Draw each step of OMP as the smallest angle between the residual r and the columns ±X_j.

    The columns are turned into one plane. A ray has the angle of ±X_j to r, from 0° to 90°, and the length of
    X_j. The shadow of the ray on r has the length |⟨X_j, r⟩|/‖r‖. OMP picks the longest shadow, whose length
    is λ*/‖r‖; a line from the end of the ray marks it. Among columns of equal length the longest shadow
    belongs to the smallest angle, which an arc marks. Columns that were selected before are at 90°. If
    several columns have the longest shadow, all are marked, and the pick has a filled square. If there are
    more than eight columns, the columns that are neither picked nor close to a pick are grey.

    Parameters
    ----------
    X, y : design (n, d) and response (n,), for any n; names of a frame are kept.
    k : the number of steps; fewer are drawn if OMP ends earlier.
    ax : where to draw; a new figure if None.

    Returns
    -------
    The Axes.

    Raises
    ------
    TypeError, ValueError : as for `omp`; y is orthogonal to all columns.

    >>> ax = residual_angles([[1.0, 0.6], [0.0, 0.8]], [3.0, 1.0], 2)
    >>> [text.get_text() for text in ax.texts if "pick" in text.get_text()]
    ['step 1: pick $X_{0}$, 18°', 'step 2: pick $X_{1}$, 37°']
    """
    problem = Problem(X, y)
    path = omp(problem, None, k)
    if not len(path.support):
        why = f"here OMP selects nothing ({path.status.message})"
        raise ValueError(f"y must be correlated with a column of X; {why}")
    columns = problem.columns(np.arange(problem.d)).astype(float)
    lengths = problem.column_norms.astype(float)
    steps = len(path.support)
    size = float(lengths.max())
    ax = picture(ax, title="columns by their angle to the residual r", figsize=(1.0 + 3.4 * steps, 4.6))
    ax.set(xlim=(-0.15, _APART * steps - 0.1), ylim=(-0.12, 1.4), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    found = []
    for t in range(steps):
        r = problem.y.astype(float) - columns[:, path.support[:t]] @ path.coef_at(t)
        unit = r / np.linalg.norm(r)
        along = np.abs(columns.T @ unit)
        cosine = np.divide(along, lengths, out=np.zeros_like(along), where=lengths > 0)
        angle = np.arccos(np.minimum(cosine, 1))
        corner = np.array([_APART * t, 0.0])
        rays = np.column_stack([np.cos(angle), np.sin(angle)])
        found.append((angle, corner, corner + lengths[:, None] / size * rays))
    styles = _styles(path, [angle for angle, _, _ in found])
    for t, (angle, _, tips) in enumerate(found):
        _quarter(ax, path, t, angle, tips, styles)
    labels = Labels(ax)
    for angle, corner, tips in found:
        labels.avoid(corner + np.array([[0.0, 0.0], [1.1, 0.0]]))
        for j in np.argsort(angle, kind="stable").tolist():
            if lengths[j] and j in styles:
                colour = styles[j]["color"]
                labels.place(column(problem.names, j), tips[j], corner, needed=False, color=colour)
    return ax


def _styles(path: Any, angles: list[FloatArray]) -> dict[int, dict[str, Any]]:
    """Return the look of each column that has a label.

    If there are many columns, only the picks, the columns tied with the picks, and the runners-up have a
    label.
    """
    d = path.n_features
    if d <= len(PALETTE):
        return {j: look(j) for j in range(d)}
    seconds = [np.argsort(angle, kind="stable")[:2].tolist() for angle in angles]
    named = dict.fromkeys(itertools.chain(*path.ties, *seconds))
    return {j: look(i) for i, j in enumerate(named)}


def _quarter(
    ax: Axes, path: Any, t: int, angle: FloatArray, tips: FloatArray, styles: dict[int, dict[str, Any]]
) -> None:
    """Draw the rays of one step, their shadows on r, the pick and the smallest angle."""
    pick = int(path.support[t])
    left = _APART * t
    turn = np.linspace(0, np.pi / 2, 60)
    ax.plot(left + np.cos(turn), np.sin(turn), color=GREY, linewidth=line_width(0.8), linestyle=":")
    arrow(ax, (left, 0), (left + 1.15, 0), arrowstyle="-|>", color="black", linewidth=line_width(2))
    for j, tip in enumerate(tips):
        style = {
            "linewidth": line_width(3 if j == pick else 1.3),
            **styles.get(j, {"color": GREY, "alpha": 0.4}),
        }
        ax.plot(*np.array([[left, 0], tip]).T, **style)
        ax.plot(*tip, "o", markersize=marker_size(5), **style)
    for place, j in enumerate(sorted(path.ties[t], key=lambda j: j != pick)):
        # tied columns have the same foot: draw the markers below each other
        foot = np.array([tips[j, 0], -0.07 * place])
        colour = styles[j]["color"]
        ax.plot(*np.array([tips[j], foot]).T, ":", color=colour, linewidth=line_width(1.5))
        filled = colour if j == pick else "white"
        ax.plot(
            *foot,
            "s",
            color=colour,
            markerfacecolor=filled,
            markersize=marker_size(8),
            clip_on=False,
            zorder=5,
        )
    arc = np.linspace(0, float(angle.min()), 30)
    ax.plot(left + 0.35 * np.cos(arc), 0.35 * np.sin(arc), color="black", linewidth=line_width(2))
    words = f"step {t + 1}: pick {column(path.names, pick)}, {np.degrees(angle[pick]):.0f}°"
    ax.text(left, 1.3, words, fontsize=font_size(), ha="left", va="center")
    ax.text(left + 1.18, 0, "r", fontsize=font_size(), va="center")
