"""The animation of the dual polytope and the LASSO path as λ decreases from λ* to 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.geometry import plane, space
from sparselin.plots.geometry.labels import braces, column, look
from sparselin.plots.geometry.polytope import faces, outline
from sparselin.plots.geometry.scene import Scene, draw_outline, extent, ring, scene
from sparselin.plots.style import GREY, font_size, line_width, marker_size, picture, pyplot, write_near
from sparselin.validation import Columns, check_count

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

_DPI = 72  # sixty frames are below 2 MB, as GIF and as HTML
_LAST = 1e-3  # the least λ that is drawn, as a share of λ*: at λ = 0 the polytope is only a null space


def animation(X: Any, y: ArrayLike, *, forced: Columns = (), frames: int = 60) -> FuncAnimation:
    """Animate λ from λ*(S) to 0: the polytope C_λ with u(λ) = y − Xβ(λ), and the path β(λ).

    The left panel shows the polytope, the right one the coefficients. The faces that contain u are drawn
    strongly, as in `dual_polytope`. With 60 frames, `.save("name.gif", writer="pillow")` and `.to_jshtml()`
    give at most 2 MB.

    Parameters
    ----------
    X, y : design (2, d) or (3, d), and response; names of a frame are kept.
    forced : the columns S without penalty, by index or name.
    frames : the number of frames, at least 2.

    Returns
    -------
    matplotlib.animation.FuncAnimation. Keep a reference to it until it is saved or shown.

    Raises
    ------
    TypeError, ValueError : as for `dual_polytope`; λ*(S) = 0; fewer than two frames.

    >>> "data:image/jpeg" in animation([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], frames=2).to_jshtml()
    True
    """
    view = scene(X, y, forced, None)
    levels = np.linspace(view.entry.lam_star, 0, check_count(frames, "frames", 2))
    figure = pyplot().figure(figsize=(9.0, 4.5), dpi=_DPI, layout="constrained")
    left = _dual(figure, view)
    right = _primal(figure.add_subplot(1, 2, 2), view)
    moving: list[Any] = []

    def draw(lam: float) -> None:
        while moving:
            moving.pop().remove()
        before = {*left.get_children(), *right.get_children()}
        _frame(left, right, view.at(lam))
        moving.extend({*left.get_children(), *right.get_children()} - before)

    draw(float(levels[0]))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # a fixed layout keeps the still parts in place, and makes frames faster
    result: FuncAnimation = film()(figure, draw, frames=levels.tolist(), init_func=lambda: None, interval=120)
    return result


def film() -> Any:
    """Return a FuncAnimation class that writes HTML with JPEG frames, which take half the size of PNG."""
    from matplotlib import rc_context
    from matplotlib.animation import FuncAnimation

    class Film(FuncAnimation):
        def to_jshtml(self, *args: Any, **options: Any) -> str:
            with rc_context({"animation.frame_format": "jpeg"}):
                return str(super().to_jshtml(*args, **options))

    return Film


def _dual(figure: Any, view: Scene) -> Any:
    """Draw the parts of the left panel that stay: y, the path of u, the polytope at λ* and the slice."""
    lam = view.entry.lam_star
    half, far = extent(view, [lam])
    if len(view.X) == 3:
        ax = space.prepare_axes(figure.add_subplot(1, 2, 1, projection="3d"), view, half)
    else:
        ax = picture(figure.add_subplot(1, 2, 1), "$u_1$", "$u_2$")
        ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    draw_outline(ax, view, lam, half if len(view.X) == 3 else far)
    for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", ax.xaxis)):
        axis.set_ticks([])  # numbers take most of the time of a frame
        axis.labelpad = -8 if len(view.X) == 3 else 4
    if view.S:
        ring(
            ax,
            outline(view.X, lam, half, view.slice),
            color=GREY,
            linewidth=line_width(4),
            alpha=0.4,
            zorder=0.5,
        )
    ax.plot(*view.points.T, ":", color="black", linewidth=line_width(1.5), zorder=5)
    ax.plot(*view.y[:, None], "*", color="black", markersize=marker_size(15), zorder=8)
    return ax


def _primal(ax: Any, view: Scene) -> Any:
    """Draw the parts of the right panel that stay: the axes and the whole path, in thin lines."""
    picture(ax, r"$\lambda$", "coefficient")
    ax.set_xlim(view.entry.lam_star, 0)
    ax.locator_params(nbins=4)
    ax.axhline(0, color=GREY, linewidth=line_width(0.6))
    for j in view.path.features.tolist():
        ax.plot(view.path.knots, view.path.coef[:, j], linewidth=line_width(0.9), alpha=0.5, **look(j))
        style = {"color": look(j)["color"], "va": "center", "annotation_clip": False}
        write_near(ax, column(view.names, j), (0, view.path.coef[-1, j]), (4, 0), **style)
    return ax


def _frame(left: Any, right: Any, view: Scene) -> None:
    """Draw the parts that change with λ: the polytope, u, the active set, and the paths from λ* down to λ."""
    lam = view.lam
    lam_star = view.entry.lam_star
    half, far = extent(view, [lam_star])
    drawn = max(lam, _LAST * lam_star)
    if len(view.X) == 3:
        space.solid(left, view, faces(view.X, drawn, half))
    else:
        plane.solid(left, view, faces(view.X, drawn, far), outline(view.X, drawn, far))
    left.plot(*np.array([view.u, view.y]).T, color="black", linewidth=line_width(1.2), zorder=6)
    left.plot(
        *view.u[:, None], "D", color="black", markerfacecolor="white", markersize=marker_size(8), zorder=8
    )
    left.set_title(rf"$C_\lambda$ and u($\lambda$), $\lambda$ = {lam:.3f}", fontsize=font_size())
    right.set_title(f"active: {braces(view.names, view.touched)}", fontsize=font_size())
    right.axvline(lam, color="black", linewidth=line_width(1.2))
    knots = np.append(view.path.knots[view.path.knots > lam], lam)
    values = view.path.at(knots)
    for j in view.path.features.tolist():
        right.plot(knots, values[:, j], linewidth=line_width(2.5), **look(j))
        right.plot(lam, view.coef[j], "o", color=look(j)["color"], markersize=marker_size(7))
