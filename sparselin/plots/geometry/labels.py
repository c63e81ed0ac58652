"""Labels, placed so that they cover neither each other nor the lines of a picture."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparselin.plots.style import font_size, line_width, name
from sparselin.plots.style import look as _look
from sparselin.results import FloatArray, Names

_RADII = (9, 16, 26, 40)  # the distances in points between a label and its point
_FULL = 50.0  # the cost of covering another label, or of leaving the picture


def look(j: int) -> dict[str, Any]:
    """Return the colour and the dashes of feature j: `style.look` without the marker."""
    return {name: value for name, value in _look(j).items() if name != "marker"}


def arrow(ax: Any, start: Any, end: Any, **style: Any) -> None:
    """Draw an arrow from point to point; in space its head has the same size everywhere in the picture.

    style : properties of the arrow in the plane; in space only the line's are used.
    """
    if ax.name != "3d":
        ax.annotate("", end, start, arrowprops={"shrinkA": 0, "shrinkB": 0} | style)
        return
    line = {key: style[key] for key in ("color", "linewidth", "linestyle")}
    ax.plot(*np.array([start, end]).T, zorder=6, **line)
    head = 0.08 * ax.get_xlim()[1] / (float(np.linalg.norm(end - start)) or 1)
    del line["linestyle"]
    ax.quiver(*start, *(end - start), arrow_length_ratio=head, zorder=6, **line)


def column(names: Names, j: int, sign: float = 1) -> str:
    """Return the label of column j: X_j or its name, with a minus sign if `sign` is negative."""
    minus = "−" if sign < 0 else ""
    return f"{minus}$X_{{{j}}}$" if names is None else minus + name(names, j)


def several(names: Names, J: Sequence[int], sign: float = 1) -> str:
    """Return the labels of the first three columns of J, and the number of the others."""
    more = f" + {len(J) - 3}" if len(J) > 3 else ""
    return ", ".join(column(names, j, sign) for j in J[:3]) + more


def braces(names: Names, J: Sequence[int], most: int = 4) -> str:
    """Return J, or its first `most` features, as a set of names, or of indices if there are no names."""
    shown = [str(j) if names is None else name(names, j) for j in J[:most]]
    return "{" + ", ".join(shown + ["…"] * (len(J) > most)) + "}"


def key(ax: Any, tied: bool = True) -> None:
    """Put the legend below the axes, with two more entries that explain how faces are marked."""
    from matplotlib.lines import Line2D

    handles, words = ax.get_legend_handles_labels()
    thick: dict[str, Any] = {"color": "black", "linewidth": line_width(5)}
    handles.append(Line2D([], [], **thick))
    words.append("face that contains u; at $\\lambda^*$: face in A(S)")
    if tied:
        handles.append((Line2D([], [], **thick), Line2D([], [], color="white", linewidth=line_width(2.5))))
        words.append("tied, not in A(S)")
    place = (0.5, -0.02 if ax.name == "3d" else -0.1)
    ax.legend(
        handles,
        words,
        loc="upper center",
        bbox_to_anchor=place,
        ncols=3 if font_size() <= 11.0 else 1,
        frameon=False,
        fontsize=font_size(),
        columnspacing=1.4,
    )


class Labels:
    """The labels of a picture; each is placed near its point, where it covers as little as possible.

    The limits, the title and the legend must be set before. A label follows its point when a picture in space
    is turned.
    """

    def __init__(self, ax: Any) -> None:
        self.ax = ax
        self.figure = ax.figure
        self.figure.draw_without_rendering()
        self.pixel = self.figure.dpi / 72
        self.boxes: list[FloatArray] = []  # (x, y, x, y) in pixels
        self.points = np.zeros((0, 2))

    def pixels(self, at: FloatArray) -> FloatArray:
        """Return the positions in pixels (m, 2) of points (m, n)."""
        at = np.atleast_2d(np.asarray(at, float))
        if at.shape[1] == 3:
            from mpl_toolkits.mplot3d import proj3d

            at = np.column_stack(proj3d.proj_transform(*at.T, self.ax.get_proj())[:2])
        return np.asarray(self.ax.transData.transform(at))

    def avoid(self, *lines: FloatArray) -> None:
        """Keep later labels away from the lines through these points, each (m, n)."""
        steps = np.linspace(0, 1, 30)[:, None]
        for ends in map(self.pixels, lines):
            parts = [a + steps * (b - a) for a, b in itertools.pairwise(ends)] or [ends]
            self.points = np.concatenate([self.points, *parts])

    def place(
        self, text: str, at: FloatArray, away: FloatArray | None = None, needed: bool = True, **style: Any
    ) -> None:
        """Write a label near `at`, if possible on the side that faces away from `away`.

        If the label would cover another label or leave the picture, it is left out unless `needed`.
        """
        label = self.ax.text(
            *np.asarray(at, float).tolist(),
            text,
            fontsize=font_size(),
            ha="center",
            va="center",
            **{"zorder": 10, "clip_on": False} | style,
        )
        extent = label.get_window_extent(self.figure.canvas.get_renderer())
        half = np.array([extent.width, extent.height]) / 2 + self.pixel
        where = self.pixels(at)[0]
        aim = None if away is None else where - self.pixels(away)[0]
        cost, offset = min(self._offers(where, half, aim), key=lambda offer: offer[0])
        if cost >= _FULL and not needed:
            label.remove()
            return
        from matplotlib.transforms import ScaledTranslation

        x, y = (offset / self.figure.dpi).tolist()
        label.set_in_layout(False)  # otherwise the axes would move under the label
        label.set_transform(self.ax.transData + ScaledTranslation(x, y, self.figure.dpi_scale_trans))
        self.boxes.append(np.concatenate([where + offset - half, where + offset + half]))

    def _offers(self, where: FloatArray, half: FloatArray, aim: FloatArray | None) -> Any:
        """Yield (cost, offset) for possible places of a label, in 16 directions from its point.

        where : the point, in pixels.
        half : half the width and height of the label.
        aim : a direction in which places cost less, or None.
        """
        inside = self.ax.get_window_extent()
        for angle in np.linspace(0, 2 * math.pi, 16, endpoint=False):
            direction = np.array([math.cos(angle), math.sin(angle)])
            against = 0.0
            if aim is not None and np.any(aim):
                against = 1.5 * (1 - float(direction @ aim) / math.hypot(*aim))
            for radius in _RADII:
                offset = direction * (radius * self.pixel + np.abs(direction) * half)
                low, high = where + offset - half, where + offset + half
                covered = int(((self.points > low) & (self.points < high)).all(axis=1).sum())
                clash = sum(bool((low < box[2:]).all() and (high > box[:2]).all()) for box in self.boxes)
                out = bool(
                    low[0] < inside.x0 or low[1] < inside.y0 or high[0] > inside.x1 or high[1] > inside.y1
                )
                yield covered + against + radius / 8 + _FULL * (clash + out), offset
