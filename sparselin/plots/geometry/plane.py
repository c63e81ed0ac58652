"""The function `dual_polytope`, and the drawing of the polytope in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.geometry import scene, space
from sparselin.plots.geometry.labels import arrow, column, key, look
from sparselin.plots.geometry.polytope import PolytopeFace, faces, is_bounded, outline
from sparselin.plots.geometry.scene import Normal, Scene
from sparselin.plots.style import GREY, Axes, check_axes, line_width, picture
from sparselin.results import FloatArray
from sparselin.validation import Columns, check_real

_WIDE = 5.0  # the width in points of the faces that contain u
_LONGEST = 0.30  # the length of the longest normal, as a share of half the side of the picture


def dual_polytope(
    X: Any,
    y: ArrayLike,
    *,
    forced: Columns = (),
    lam: float | None = None,
    levels: Sequence[float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the dual polytope C_λ = {u : |⟨X_j, u⟩| ≤ λ} and the path of the projections of y onto it.

    The picture is in the plane or in space. The projection of y onto {u ∈ C_λ : X_Sᵀu = 0} is
    u(λ) = y − Xβ(λ), where β(λ) is the solution of the LASSO that does not penalise S. If S is not empty,
    u(λ) lies in the slice {u : X_Sᵀu = 0}.

    Faces. Each face belongs to a feature and has its colour. Its outer normal has the direction of ±X_j; an
    arrow shows X_j, and all arrows have the same scale. The faces of the features with β_j ≠ 0, which contain
    u, are drawn strongly. Arrows from u to y show Xβ(λ), column by column.

    Path. The path of u(λ) begins at P_S^⊥y, the residual of least squares on S, for λ = λ*, and is straight
    between its knots. If C_{λ*} is drawn, the faces of T = {j : |⟨X_j, P_S^⊥y⟩| = λ*} are marked: the faces
    of A(S), the features that the LASSO activates below λ*, are filled, and the others are hollow.

    If the columns do not span the space, C_λ is unbounded; it is cut off, and the title says so. A column
    whose constraint is nowhere active has no face; a dotted line shows where |⟨X_j, u⟩| = λ.

    Parameters
    ----------
    X, y : design (2, d) or (3, d), and response; names of a frame are kept. Columns may have any length.
    forced : the columns S without penalty, by index or name.
    lam : λ > 0, λ*/2 by default.
    levels : more values of λ > 0 for which the outline of the polytope is drawn; by default only λ*.
    ax : where to draw, with projection="3d" for three rows; a new figure if None.

    Returns
    -------
    The Axes.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have two or three rows; bad `forced`, `lam`
        or `levels`; λ* = 0 and `lam` is not given; `ax` has another projection.

    >>> ax = dual_polytope([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], lam=2.0)
    >>> path = next(line for line in ax.lines if line.get_label() == "path of u, knots")
    >>> path.get_xydata().tolist()
    [[3.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """
    view = scene.scene(X, y, forced, lam)
    shown = _levels(levels, view.entry.lam_star)
    if len(view.X) == 3:
        return space.dual_polytope(view, shown, ax)  # type: ignore[no-any-return]
    check_axes(ax)
    if ax is not None and ax.name == "3d":
        raise ValueError("ax must be in the plane, because X has 2 rows; got projection='3d'")
    return _plane(view, shown, ax)


def _levels(levels: Sequence[float] | None, lam_star: float) -> list[float]:
    """Return the levels whose outlines are drawn, in decreasing order, checked."""
    if levels is None:
        return [lam_star] if lam_star > 0 else []
    shown = {check_real(lam, "levels", lambda level: level > 0, "positive") for lam in levels}
    return sorted(shown, reverse=True)


def _plane(view: Scene, levels: Sequence[float], ax: Axes | None) -> Axes:
    """Draw a scene with two rows."""
    half, far = scene.extent(view, levels)
    ax = picture(ax, "$u_1$", "$u_2$", scene.title_of(view, is_bounded(view.X)), figsize=(7.0, 7.0))
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    for lam in levels:
        scene.draw_outline(ax, view, lam, far)
    sides = faces(view.X, view.lam, far, touching=True)
    solid(ax, view, sides, outline(view.X, view.lam, far))
    if view.S:
        cut = outline(view.X, levels[0] if levels else view.lam, far, view.slice)
        ax.plot(
            *(2 * cut).T,
            color=GREY,
            linewidth=line_width(7),
            alpha=0.3,
            zorder=0.5,
            label=r"$X_S^{\top}u = 0$",
        )
    marked = _tied_edges(ax, view, far, half) if view.entry.lam_star in levels else []
    scene.mark_points(ax, view, (3, 5, 4, 6))
    arrows = scene.normals(view, sides, half, _LONGEST) + _faceless(ax, view, sides, half)
    for ends, _, j in arrows:
        arrow(ax, *ends, arrowstyle="->", linewidth=line_width(1.6), mutation_scale=14, **look(j))
    key(ax, tied=len(view.entry.active) < len(marked))
    edges = [side.corners for side in sides if side.features and len(side.corners) == 2]
    labels = scene.write_labels(ax, view, arrows, *(scene.visible(piece, half) for piece in edges + marked))
    for lam in levels:
        corners = outline(view.X, lam, 3 * half)
        middles = (np.roll(corners, -1, axis=0) + corners) / 2
        inside = middles[(np.abs(middles) < half).all(axis=1)]
        if len(inside):
            place = inside[np.argmin(inside @ view.y)]
            labels.place(rf"$C_\lambda$, $\lambda$ = {lam:.3g}", place, 0 * place, needed=False, color=GREY)
    return ax


def solid(ax: Axes, view: Scene, sides: Sequence[PolytopeFace], corners: FloatArray) -> None:
    """Draw the polygon with these corners in grey, and its edges in the colours of their features.

    The colours of further features of an edge are dashed on it. An edge is thick if u is on it.
    """
    ax.fill(*corners.T, color=GREY, alpha=0.10, linewidth=line_width(0), zorder=0)
    for side in sides:
        width = _WIDE if view.holds(side) else 2
        for i, j in enumerate(side.features if len(side.corners) > 1 else ()):
            style = look(j) | ({"linestyle": (0, (2, 2))} if i else {})
            ax.plot(*side.corners.T, linewidth=width, solid_capstyle="butt", zorder=2, **style)


def _tied_edges(ax: Axes, view: Scene, far: float, half: float) -> list[FloatArray]:
    """Draw the edges of T through P_S^⊥y on C_{λ*}: filled for A(S), hollow for the others.

    T are the tied features, A(S) the features that enter the LASSO first, and P_S^⊥y is the residual of least
    squares on S. Returns the edges.
    """
    found = scene.tied_faces(view, far, 0.22 * half)
    for j, piece, again in found:
        style = {"color": look(j)["color"], "linestyle": (0, (2, 2)) if again else "-"}
        ax.plot(*piece.T, linewidth=_WIDE, solid_capstyle="butt", zorder=1.5, **style)
        if j not in view.entry.active:
            ax.plot(*piece.T, color="white", linewidth=_WIDE - 2.5, solid_capstyle="butt", zorder=1.6)
    return [piece for _, piece, _ in found]


def _faceless(ax: Axes, view: Scene, sides: Sequence[PolytopeFace], half: float) -> list[Normal]:
    """Draw a dotted line where ⟨X_j, u⟩ = λ for each column without a face, and return an arrow along X_j."""
    found: list[Normal] = []
    done = {j for side in sides if len(side.corners) > 1 for j in side.features}
    lengths = np.linalg.norm(view.X, axis=0)
    for j in np.flatnonzero(lengths).tolist():
        x = view.X[:, j]
        foot = view.lam * x / lengths[j] ** 2
        if j not in done and np.abs(foot).max() < half:
            along = 0.3 * half * np.array([-x[1], x[0]]) / lengths[j]
            line = np.array([foot - along, foot + along])
            ax.plot(*line.T, ":", color=look(j)["color"], linewidth=line_width(2), zorder=2)
            ends = np.array([foot, foot + _LONGEST * half / view.longest * x])
            found.append((ends, f"{column(view.names, j)} (no face)", j))
    return found
