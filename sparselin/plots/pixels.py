"""The picture of the pixels that were selected in an image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.plots.style import Axes, font_size, line_width, panel, picture
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count, check_finite, check_indices, to_array, to_numeric

_NUMBERED = 1.5  # a pixel has a number if it is at least this many times as wide as the font is high


def selected_pixels(
    selected: Any, shape: tuple[int, int], *, images: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the selected pixels, coloured by the order of selection, and the mean image.

    Feature j = width·row + column is a pixel of the image, as in `images.reshape(n, -1)`. The first pixel is
    dark, and the last one is bright. Large pixels have the numbers 1, 2, …; for small ones there is a colour
    bar.

    Parameters
    ----------
    selected : a result with a `support` (a path, a subset, …), or a list of features in order.
    shape : (height, width) of an image.
    images : the images whose mean is drawn, (n, height, width) or (n, height·width); or one image; or None.
    ax : where to draw, with the mean image in a second panel on its right; a new figure if None.

    Returns
    -------
    The Axes with the selected pixels.

    Raises
    ------
    TypeError, ValueError : bad features; `shape` is not two positive integers; `images` have another shape
        or NaN.

    >>> ax = selected_pixels([5, 2], (2, 3))
    >>> [(text.get_text(), text.get_position()) for text in ax.texts]
    [('1', (2, 1)), ('2', (2, 0))]
    """
    shape = _shape(shape)
    J = check_indices(getattr(selected, "support", selected), shape[0] * shape[1], "selected")
    mean = np.zeros(shape) if images is None else _mean(images, shape)
    wide = 4.4 if images is None else 7.8
    ax = picture(ax, title=f"{len(J)} of {mean.size} pixels, in order", figsize=(wide, 4.2))
    grey_image(ax, mean, alpha=0.5)
    if images is not None:
        right = panel(ax, "", "", 1.0, shared=False)
        grey_image(right, mean)
        right.set_title("mean image", fontsize=font_size())
    _marks(ax, J, shape, 0.42 if images is not None else 0.8)
    return ax


def grey_image(ax: Axes, image: FloatArray, **look: Any) -> Any:
    """Draw a grey image, in which larger numbers are darker, without ticks."""
    ax.set(xticks=[], yticks=[])
    return ax.imshow(image, cmap="Greys", **look)


def _marks(ax: Axes, J: IndexArray, shape: tuple[int, int], share: float) -> None:
    """Draw a square for each selected pixel; `share` is the panel's share of the width of the figure."""
    rows, columns = np.unravel_index(J, shape)
    width, height = 72 * np.array(ax.figure.bbox.size) / ax.figure.dpi * (share, 0.85)
    step = min(width / shape[1], height / shape[0])
    look: dict[str, Any] = {"cmap": "viridis", "vmin": 1, "vmax": max(len(J), 2) * 1.1, "marker": "s"}
    order = np.arange(1, len(J) + 1)
    drawn = ax.scatter(
        columns, rows, s=(0.8 * step) ** 2, c=order, edgecolor="black", linewidth=line_width(0.5), **look
    )
    if step < _NUMBERED * font_size():
        bar = ax.figure.colorbar(drawn, ax=ax, location="bottom", shrink=0.8, aspect=30)
        bar.ax.tick_params(labelsize=font_size())
        bar.set_label("order of selection", fontsize=font_size())
        return
    for place, row, column in zip(order.tolist(), rows.tolist(), columns.tolist(), strict=True):
        colour = "white" if place <= 0.6 * len(J) else "black"
        ax.text(column, row, str(place), ha="center", va="center", color=colour, fontsize=font_size())


def _shape(shape: Any) -> tuple[int, int]:
    """Return `shape`, after checking it."""
    try:
        height, width = shape
    except (TypeError, ValueError):
        raise ValueError(f"shape must be (height, width), two integers; got {shape!r}") from None
    return check_count(height, "shape[0]", 1), check_count(width, "shape[1]", 1)


def _mean(images: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Return the mean of images (n, height, width) or (n, height·width), or the single image."""
    given = to_numeric(to_array(images, "images"), "images")
    d = shape[0] * shape[1]
    if given.shape[-2:] != shape and given.shape[-1:] != (d,):
        raise ValueError(
            f"images must have shape (n, {shape[0]}, {shape[1]}) or (n, {d}), or be one image of the given "
            f"shape; got {given.shape}"
        )
    if not given.size:
        raise ValueError(f"images must hold at least one image; got shape {given.shape}")
    check_finite(given, "images")
    return np.asarray(given.reshape(-1, *shape).mean(axis=0))
