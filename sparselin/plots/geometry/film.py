"""The dual polytope and the LASSO path together, λ going from λ* to 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.geometry import plane, space
from sparselin.plots.geometry.labels import braces, column, look
from sparselin.plots.geometry.polytope import faces, outline
from sparselin.plots.geometry.scene import Scene, extent, scene
from sparselin.plots.style import GREY, POINTS, axes, beside, pyplot
from sparselin.validation import Columns, check_count

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

_DPI = 72  # sixty frames are below 2 MB, as GIF and as HTML
_LAST = 1e-3  # of λ*, where the picture of λ = 0 stops: the polytope there is a null space


def animation(X: Any, y: ArrayLike, *, forced: Columns = (), frames: int = 60) -> FuncAnimation:
    """λ from λ*(S) to 0: left the polytope C_λ with u(λ) = y − Xβ(λ) on it, right β(λ) up to there.

    The faces that u is on are strong, as in `dual_polytope`. `.save("name.gif", writer="pillow")` and
    `.to_jshtml()` are files of at most 2 MB with 60 frames.

    Parameters
    ----------
    X, y : design (2, d) or (3, d), and response; names of a frame are kept.
    forced : the columns S without penalty, by index or name.
    frames : how many, at least 2.

    Returns
    -------
    matplotlib.animation.FuncAnimation. Keep it until it is saved or shown.

    Raises
    ------
    TypeError, ValueError : as for `dual_polytope`; λ*(S) = 0, or fewer than two frames.

    >>> "data:image/jpeg" in animation([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], frames=2).to_jshtml()
    True
    """
    view = scene(X, y, forced, None)
    levels = np.linspace(view.entry.lam_star, 0, check_count(frames, "frames", 2))
    figure = pyplot().figure(figsize=(9.0, 4.5), dpi=_DPI, layout="constrained")
    left, right = _dual(figure, view), _primal(figure.add_subplot(1, 2, 2), view)
    moving: list[Any] = []

    def draw(lam: float) -> None:
        while moving:
            moving.pop().remove()
        before = {*left.get_children(), *right.get_children()}
        _frame(left, right, view.at(lam))
        moving.extend({*left.get_children(), *right.get_children()} - before)

    draw(float(levels[0]))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what does not move stays where it is, and frames take less time
    result: FuncAnimation = film()(figure, draw, frames=levels.tolist(), init_func=lambda: None, interval=120)
    return result


def film() -> Any:
    """FuncAnimation, of which the frames of HTML are JPEG, half the size of PNG."""
    from matplotlib import rc_context
    from matplotlib.animation import FuncAnimation

    class Film(FuncAnimation):
        def to_jshtml(self, *args: Any, **options: Any) -> str:
            with rc_context({"animation.frame_format": "jpeg"}):
                return str(super().to_jshtml(*args, **options))

    return Film


def _dual(figure: Any, view: Scene) -> Any:
    """The axes of the polytope, with what does not move: y, the path, the polytope at λ*, the slice."""
    lam = view.entry.lam_star
    half, far = extent(view, [lam])
    if len(view.X) == 3:
        ax = space.prepared(figure.add_subplot(1, 2, 1, projection="3d"), view, half)
        for side in faces(view.X, lam, half):
            space.ring(ax, side.corners, color=GREY, linewidth=0.8, linestyle=(0, (6, 3)), zorder=1)
    else:
        ax = axes(figure.add_subplot(1, 2, 1), "", "$u_1$", "$u_2$")
        ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
        space.ring(ax, outline(view.X, lam, far), color=GREY, linewidth=1, linestyle=(0, (6, 3)))
    for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", ax.xaxis)):
        axis.set_ticks([])  # numbers take most of the time of a frame
        axis.labelpad = -8 if len(view.X) == 3 else 4
    ends = outline(view.X, lam, half, view.slice)
    if view.S:
        space.ring(ax, ends, color=GREY, linewidth=4, alpha=0.4, zorder=0.5)
    ax.plot(*view.points.T, ":", color="black", linewidth=1.5, zorder=5)
    ax.plot(*view.y[:, None], "*", color="black", markersize=15, zorder=8)
    return ax


def _primal(ax: Any, view: Scene) -> Any:
    """The axes of the coefficients, with the whole path, thin."""
    axes(ax, "", r"$\lambda$", "coefficient")
    ax.set_xlim(view.entry.lam_star, 0)
    ax.locator_params(nbins=4)
    ax.axhline(0, color=GREY, linewidth=0.6)
    for j in view.path.features.tolist():
        ax.plot(view.path.knots, view.path.coef[:, j], linewidth=0.9, alpha=0.5, **look(j))
        style = {"color": look(j)["color"], "va": "center", "annotation_clip": False}
        beside(ax, column(view.names, j), (0, view.path.coef[-1, j]), (4, 0), **style)
    return ax


def _frame(left: Any, right: Any, view: Scene) -> None:
    """What moves: the polytope, u and the active set; the paths up to λ."""
    lam, lam_star = view.lam, view.entry.lam_star
    half, far = extent(view, [lam_star])
    drawn = max(lam, _LAST * lam_star)
    if len(view.X) == 3:
        space.solid(left, view, faces(view.X, drawn, half))
    else:
        left.fill(*outline(view.X, drawn, far).T, color=GREY, alpha=0.10, linewidth=0, zorder=0)
        for side in faces(view.X, drawn, far):
            plane.edge(left, view, side)
    left.plot(*np.array([view.u, view.y]).T, color="black", linewidth=1.2, zorder=6)
    left.plot(*view.u[:, None], "D", color="black", markerfacecolor="white", markersize=8, zorder=8)
    left.set_title(rf"$C_\lambda$ and u($\lambda$), $\lambda$ = {lam:.3f}", fontsize=POINTS)
    right.set_title(f"active: {braces(view.names, view.touched)}", fontsize=POINTS)
    right.axvline(lam, color="black", linewidth=1.2)
    knots = np.append(view.path.knots[view.path.knots > lam], lam)
    values = view.path.at(knots)
    for j in view.path.features.tolist():
        right.plot(knots, values[:, j], linewidth=2.5, **look(j))
        right.plot(lam, view.coef[j], "o", color=look(j)["color"], markersize=7)
