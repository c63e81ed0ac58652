"""Pictures of the columns as seen from y."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparselin.plots import style
from sparselin.plots.style import GREEN, GREY, RED, Axes, font_size, legend_columns, marker_size
from sparselin.problem import Problem
from sparselin.results import FloatArray
from sparselin.validation import check_indices

# columns have numbers if there are at most this many
_NUMBERED = 12


def around_y(
    X: FloatArray,
    y: FloatArray,
    picks: Sequence[int],
    best: Sequence[int],
    *,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the directions of columns in R³ as seen from y; the distance from the centre is the angle to ±y.

    The rim of the picture is at 90°. X_j and −X_j have the same span, so the vector closer to y is drawn.
    Columns that lie in a plane with y are on a line through the centre. Lengths and zero columns are not
    shown.

    Parameters
    ----------
    X, y : columns (3, d) and response (3,), not zero.
    picks : the picks of greedy selection, in order.
    best : a best subset.
    ax : where to draw, with a polar projection; a new figure with a legend if None.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have three rows; y = 0; bad `picks` or
        `best`.

    >>> X, y = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), np.array([1.0, 0.0, 0.0])
    >>> ax = around_y(X, y, picks=[1], best=[1])
    >>> ax.lines[-1].get_label(), ax.lines[-1].get_ydata().round(6).tolist()
    ('others', [45.0, 90.0])
    """
    problem = style.in_space(X, y, 3)
    if problem.y_norm == 0:
        raise ValueError("y must not be zero, because the picture shows the columns as seen from y")
    picks = check_indices(picks, problem.d, "picks").tolist()
    best = check_indices(best, problem.d, "best").tolist()
    alone = ax is None
    ax = style.projection_axes(ax, "polar", (3.6, 4.2), "ax must have projection='polar'")
    azimuth, angle = _seen_from_y(problem)
    columns = np.flatnonzero(problem.column_norms)
    ax.plot([0], [0], "*", color="black", markersize=marker_size(11), label="y", clip_on=False)
    others = [j for j in columns if j not in {*picks, *best}]
    draw = functools.partial(style.marks, ax, azimuth, angle, clip_on=False)
    draw(best, "s", color=GREEN, markersize=marker_size(11), label="best subset")
    draw(picks, "o", color=RED, markersize=marker_size(6), label="greedy, in order")
    draw(others, "x", color=GREY, markersize=marker_size(6), label="others")
    for j in columns if problem.d <= _NUMBERED else ():
        style.write_near(ax, f"$X_{{{j}}}$", (azimuth[j], angle[j]), (-6, -12), ha="right", color=GREY)
    for step, pick in enumerate(picks):
        style.write_near(ax, str(step + 1), (azimuth[pick], angle[pick]), (8, 4), color=RED)
    _rim(ax, azimuth[columns])
    ax.set_title(title, fontsize=font_size(), pad=12)
    if alone:
        _shared_legend(ax.figure, ax, ncols=legend_columns(2))
    return ax


def _seen_from_y(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Return the azimuth of ±X_j around y in radians (d,), and its angle to y in degrees (d,)."""
    columns = problem.columns(np.arange(problem.d))
    lengths = problem.column_norms
    centre = problem.y / problem.y_norm
    east = np.linalg.svd(centre[None])[2][1]
    north = np.cross(centre, east)
    towards = np.where(centre @ columns < 0, -1.0, 1.0) * columns / np.where(lengths > 0, lengths, np.nan)
    angle = np.degrees(np.arccos(np.clip(centre @ towards, -1, 1)))
    return np.arctan2(north @ towards, east @ towards), angle


def _rim(ax: Any, azimuth: FloatArray) -> None:
    """Write the scale of the angles, away from the columns."""
    ax.set_ylim(0, 90)
    ax.set_yticks([30, 60, 90], ["30°", "60°", "90°"], fontsize=font_size(), color=GREY)
    ax.set_xticks([])
    trial = np.linspace(-np.pi, np.pi, 72, endpoint=False)
    apart = np.abs(np.angle(np.exp(1j * (trial[:, None] - azimuth))))
    ax.set_rlabel_position(float(np.degrees(trial[np.argmax(apart.min(axis=1, initial=np.pi))])))


def around_several(
    designs: Sequence[tuple[FloatArray, FloatArray, Sequence[int], Sequence[int], str]],
) -> tuple[Axes, ...]:
    """Draw `around_y` for several (X, y, picks, best, title) side by side.

    >>> X, y = np.eye(3), np.array([3.0, 1.0, 0.0])
    >>> drawn = around_several([(X, y, [0, 1], [0, 1], "y"), (X, -y, [0, 1], [0, 1], "−y")])
    >>> [ax.get_title() for ax in drawn]
    ['y', '−y']
    """
    shape = {"figsize": (3.6 * len(designs), 4.3), "subplot_kw": {"projection": "polar"}}
    figure, drawn = style.pyplot().subplots(1, len(designs), squeeze=False, layout="constrained", **shape)
    for ax, (X, y, picks, best, title) in zip(drawn[0], designs, strict=True):
        around_y(X, y, picks, best, title=title, ax=ax)
    _shared_legend(figure, *drawn[0], ncols=legend_columns(4))
    return tuple(drawn[0])


def _shared_legend(figure: Any, *drawn: Axes, ncols: int) -> None:
    """Put one legend below all panels, with space for the labels of polar axes."""
    handles = style.handles_of(*drawn)
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.12)
    place = {"loc": "outside lower center", "ncols": ncols, "frameon": False, "fontsize": font_size()}
    figure.legend(handles.values(), handles, **place)
