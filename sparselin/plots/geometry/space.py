"""The drawing of the dual polytope in space."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparselin.plots.geometry import scene
from sparselin.plots.geometry.labels import arrow, key, look
from sparselin.plots.geometry.polytope import PolytopeFace, faces, is_bounded, outline
from sparselin.plots.geometry.scene import Scene, ring
from sparselin.plots.style import GREY, font_size, line_width, projection_axes
from sparselin.results import FloatArray


def dual_polytope(view: Scene, levels: Sequence[float], ax: Any) -> Any:
    """Draw a scene with three rows, as `geometry.dual_polytope` describes."""
    half = 0.9 * scene.extent(view, levels)[0]
    ax = prepare_axes(ax, view, half)
    sides = faces(view.X, view.lam, half)
    cut = not is_bounded(view.X) or any(not side.features for side in sides)
    ax.set_title(scene.title_of(view, is_bounded(view.X), cut), fontsize=font_size())
    for lam in () if view.S else levels:  # if S is not empty, only the slice of C_{λ*} is drawn
        scene.draw_outline(ax, view, lam, half)
    marked = view.entry.lam_star in levels
    if marked:
        mark_tied_faces(ax, view, half)
    solid(ax, view, sides)
    if view.slice.shape[1] < 3:
        slices(ax, view, half)
    scene.mark_points(ax, view, (6, 7, 7, 8))
    arrows = scene.normals(view, sides, half, 0.28)
    for ends, _, j in arrows:
        arrow(ax, *ends, linewidth=line_width(1.5), **look(j))
    key(ax, tied=marked and len(view.entry.active) < len(view.entry.tied))
    scene.write_labels(ax, view, arrows)
    return ax


def prepare_axes(ax: Any, view: Scene, half: float) -> Any:
    """Return axes in space: a cube around 0, seen from the direction of `_camera`."""
    from matplotlib.ticker import MaxNLocator

    message = "ax must be in space, because X has 3 rows: use add_subplot(projection='3d')"
    ax = projection_axes(ax, "3d", (8.0, 8.0), message)
    ax.computed_zorder = False
    ax.set(xlim=(-half, half), ylim=(-half, half), zlim=(-half, half))
    ax.set_box_aspect((1, 1, 1), zoom=1.0)
    elev, azim = _camera(view)
    ax.view_init(elev=elev, azim=azim)
    for axis, words in zip((ax.xaxis, ax.yaxis, ax.zaxis), ("$u_1$", "$u_2$", "$u_3$"), strict=True):
        axis.set_pane_color((1, 1, 1, 0))
        axis._axinfo["grid"].update(color=(0.85, 0.85, 0.85, 0.6), linewidth=line_width(0.5))
        axis.set_label_text(words, fontsize=font_size())
        axis.set_tick_params(labelsize=font_size())
        axis.set_major_locator(MaxNLocator(4))
    return ax


def _camera(view: Scene) -> tuple[float, float]:
    """Return the elevation and azimuth, in degrees, of a good view.

    The path and Xβ are little foreshortened, u is in front, and a slice is seen from the side.
    """
    lines = np.concatenate([np.diff(view.points, axis=0), [view.y - view.u, view.u]])
    lines = lines[np.linalg.norm(lines, axis=1) > 1e-9 * np.abs(view.y).max(initial=view.lam * 1e-9)]
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    front = view.u / (np.linalg.norm(view.u) or 1)

    def score(place: tuple[float, float]) -> float:
        b, a = map(math.radians, place)
        eye = np.array([math.cos(b) * math.cos(a), math.cos(b) * math.sin(a), math.sin(b)])
        seen = np.sqrt(1 - np.minimum((lines @ eye) ** 2, 1)).min(initial=1)
        open_ = float(np.abs(np.cross(*view.slice.T) @ eye)) if view.slice.shape[1] == 2 else 0.0
        return float(seen) + min(float(front @ eye), 0.5) + min(open_, 0.7)

    return max(itertools.product((12.0, 24.0, 36.0), np.arange(-180.0, 180.0, 10.0).tolist()), key=score)


def _patch(ax: Any, corners: FloatArray, colour: str, alpha: float, zorder: float) -> None:
    """Fill a face."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    ax.add_collection3d(Poly3DCollection([corners], facecolors=[(colour, alpha)], zorder=zorder))


def solid(ax: Any, view: Scene, sides: Sequence[PolytopeFace]) -> None:
    """Draw the faces in the colours of their features, strongly if they contain u; cut sides are grey."""
    for side in sides:
        if not side.features:
            _patch(ax, side.corners, GREY, 0.06, 1)
            ring(ax, side.corners, color=GREY, linewidth=line_width(0.8), linestyle=":", zorder=1.5)
            continue
        strong = view.holds(side)
        alpha, zorder = (0.55, 2) if strong else (0.13, 1.5)
        _patch(ax, side.corners, look(side.features[0])["color"], alpha, zorder)
        for i, j in enumerate(side.features):
            style = look(j) | ({"linestyle": (0, (2, 2))} if i else {})
            ring(
                ax,
                side.corners,
                linewidth=line_width(3.5 if strong else 1.2),
                zorder=3 if strong else 2,
                **style,
            )


def mark_tied_faces(ax: Any, view: Scene, half: float) -> None:
    """Draw the faces of T at P_S^⊥y on C_{λ*}: filled for A(S), hollow for the others.

    T are the tied features, A(S) the features that enter the LASSO first, and P_S^⊥y is the residual on S.
    """
    for j, piece, again in scene.tied_faces(view, half, 0.2 * half):
        colour = look(j)["color"]
        ring(
            ax,
            piece,
            color=colour,
            linestyle=(0, (2, 2)) if again else "-",
            linewidth=line_width(2.5),
            zorder=3,
        )
        if j in view.entry.active:
            _patch(ax, piece, colour, 0.3, 2.5)
        else:
            ring(ax, piece, color="white", linewidth=line_width(1.0), zorder=3)


def slices(ax: Any, view: Scene, half: float) -> None:
    """Draw the slice {u ∈ C_λ : X_Sᵀu = 0}: a polygon, a segment or 0. The slice of C_{λ*} is dashed."""
    inner = outline(view.X, view.lam, half, view.slice)
    outer = outline(view.X, max(view.entry.lam_star, view.lam), half, view.slice)
    if len(inner) > 2:
        _patch(ax, inner, "black", 0.25, 4)
    ring(ax, inner, color="black", linewidth=line_width(1.5), zorder=4, label=r"slice $X_S^{\top}u = 0$")
    ring(ax, outer, color="black", linewidth=line_width(1), linestyle=(0, (6, 3)), zorder=4)
