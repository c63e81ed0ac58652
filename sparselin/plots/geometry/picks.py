"""The picture of the next pick of OMP, Sequential LASSO and forward regression for every direction of y."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparselin.lasso.entry import first_entry
from sparselin.plots.geometry.labels import Labels, arrow, look, several
from sparselin.plots.geometry.polytope import orthogonal
from sparselin.plots.style import (
    Axes,
    check_axes,
    font_size,
    in_space,
    legend_columns,
    line_width,
    marker_size,
    panel,
    picture,
    projection_axes,
)
from sparselin.problem import Problem
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import Columns

# Scores that differ by less than this, relative to the largest, are tied. It is above the rounding errors of
# vectors with two or three entries, and below the size of a pixel.
_TOL = 1e-9
_SIDE = 500  # the side of a map in pixels
_RING: dict[str, Any] = {"alpha": 0.45, "edgecolor": "white", "linewidth": 1.5}
_HATCHES = ("", "///", "...", "xxx")


def first_picks(X: Any, y: ArrayLike | None = None, *, forced: Columns = (), ax: Axes | None = None) -> Axes:
    """Draw the next pick of OMP, Sequential LASSO and forward regression (OLS) for every direction of y.

    Let Z = P_S^⊥X be the columns projected off S. OMP picks the largest |⟨Z_j, y⟩|, and so does Sequential
    LASSO except at ties. Forward regression picks the largest |⟨Z_j, y⟩|/‖Z_j‖. The picks are the same if all
    Z_j have equal length, for example for unit columns and S = ∅. y and −y have the same picks.

    In the plane, the directions are points of a circle. The outer ring is for OMP and Sequential LASSO, the
    inner one for forward regression, and arrows show the columns with their lengths. Where OMP's pick
    changes, there is a tie, and a marker shows which of the two features Sequential LASSO may pick, that is,
    the set A(S): a diamond has the colour of the only feature in A(S), and a white circle means that both are
    in A(S). In space, two maps show the half sphere around y (without y, around the third axis) and preserve
    areas. The right map is for forward regression, and is hatched where its pick differs from OMP's. Each
    feature has its share of all directions, and dots mark ±X_j.

    Parameters
    ----------
    X : design (2, d) or (3, d); columns may have any length; names of a frame are kept.
    y : response (2,) or (3,), which a star marks; or None.
    forced : the columns S that are already selected, by index or name.
    ax : where to draw; a new figure if None. In the plane it must have projection="polar"; in space a second
        panel is put on its right.

    Returns
    -------
    The Axes; if there are two panels, the left one.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`); X does not have two or three rows; y = 0; bad `forced`;
        all columns are in the span of S; `ax` has another projection.

    >>> first_picks([[1.0, 0.0], [0.0, 1.0]]).get_title()
    'picks for every direction of y'
    """
    rows = len(np.shape(X)) == 2 and np.shape(X)[0]
    problem = in_space(X, np.ones(rows or 1) if y is None else y)
    if problem.y_norm == 0:
        raise ValueError("y must not be zero, because zero has no direction")
    J = problem.indices(forced, "forced")
    columns = problem.columns(np.arange(problem.d)).astype(float)
    scored = _score_columns(columns, J)
    if not scored[0].any():
        raise ValueError("X must have a column outside the span of S, otherwise there is nothing to pick")
    star = None if y is None else problem.y.astype(float) / problem.y_norm
    if problem.n == 2:
        return _circle(problem, columns, J, scored, star, ax)  # type: ignore[no-any-return]
    return _maps(problem, columns, scored, star, ax)


def _score_columns(X: FloatArray, S: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return Z = P_S^⊥X, X projected off S, with zeros for columns in the span of S; and Z with unit columns.

    OMP picks the column of the first matrix with the largest |⟨·, y⟩|, forward regression the column of the
    second.
    """
    basis = orthogonal(X[:, S])
    Z = basis @ (basis.T @ X)
    Z[:, S] = 0
    lengths, before = np.linalg.norm(Z, axis=0), np.linalg.norm(X, axis=0)
    Z = np.where(lengths > 1e-10 * before, Z, 0)
    return Z, Z / np.where(Z.any(axis=0), lengths, 1)


def largest_at(W: FloatArray, y: FloatArray) -> list[int]:
    """Return all j with the largest |⟨W_j, y⟩|, up to rounding; no j if this maximum is zero."""
    score = np.abs(W.T @ y)
    top = float(score.max())
    zero = top <= _TOL * float(np.linalg.norm(W, axis=0).max())
    return [] if zero else np.flatnonzero(score >= top * (1 - _TOL)).tolist()


def sectors(W: FloatArray) -> list[tuple[float, float, list[int]]]:
    """Return (start, end, picks) of the sectors of half a circle; neighbours with equal picks are merged."""
    i, j = np.triu_indices(W.shape[1], 1)
    normals = np.concatenate([W[:, i] - W[:, j], W[:, i] + W[:, j], W], axis=1)
    normals = normals[:, np.linalg.norm(normals, axis=0) > _TOL * np.linalg.norm(W, axis=0).max()]
    turns = np.unique(np.mod(np.arctan2(normals[0], -normals[1]), np.pi))
    turns = turns[np.append(True, np.diff(turns) > _TOL)]
    ends = np.append(turns[1:], turns[0] + np.pi)
    middles = (turns + ends) / 2
    picks = [largest_at(W, y) for y in np.column_stack([np.cos(middles), np.sin(middles)])]
    every = zip(turns.tolist(), ends.tolist(), picks, strict=True)
    parts = [part for part in every if part[1] - part[0] > _TOL]
    groups = [list(group) for _, group in itertools.groupby(parts, lambda part: part[2])]
    found = [(group[0][0], group[-1][1], group[0][2]) for group in groups]
    if len(found) > 1 and found[0][2] == found[-1][2]:
        found[0] = (found.pop()[0] - np.pi, found[0][1], found[0][2])
    return found


def _circle(problem: Problem, X: FloatArray, S: IndexArray, scored: Any, star: Any, ax: Any) -> Any:
    """Draw the rings of a problem with two rows.

    scored : the two matrices of `_score_columns`.
    star : y/‖y‖, or None.
    """
    ax = projection_axes(ax, "polar", (7.0, 7.4), "ax must have projection='polar', because X has 2 rows")
    ax.set_title("picks for every direction of y", fontsize=font_size())
    ax.set(ylim=(0, 2.15), yticks=[], xticks=[])
    ax.spines["polar"].set_visible(False)
    for bottom, W in ((1.6, scored[0]), (1.1, scored[1])):
        for start, end, picks in sectors(W):
            _sector(ax, problem, start, end, bottom, picks)
    gap = "  " if font_size() <= 11.0 else "\n"
    ax.text(
        0.5,
        -0.02,
        f"outer ring: OMP, Sequential LASSO;{gap}inner ring: forward regression (OLS)",
        transform=ax.transAxes,
        ha="center",
        va="top",
        fontsize=font_size(),
    )
    _ties_around(ax, X, S, sectors(scored[0]))
    if star is not None:
        angle = math.atan2(star[1], star[0])
        ax.plot(angle, 2.1, "*", color="black", markersize=marker_size(14))
        ax.text(angle, 2.28, "y", fontsize=font_size(), ha="center", va="center")
    lengths = np.hypot(*X)
    labels = Labels(ax)
    feet = np.column_stack([np.arctan2(X[1], X[0]), 0 * lengths])
    tips = feet + np.outer(0.85 * lengths / lengths.max(), [0, 1])
    for j in np.flatnonzero(lengths).tolist():
        arrow(ax, (0, 0), tips[j], arrowstyle="-|>", linewidth=line_width(1.8), **look(j))
        labels.avoid(np.array([feet[j], tips[j]]))
    for j in np.flatnonzero(lengths).tolist():
        labels.place(several(problem.names, [j]), tips[j], feet[j], color=look(j)["color"])
    return ax


def _sector(ax: Any, problem: Problem, start: float, end: float, bottom: float, picks: list[int]) -> None:
    """Draw a sector of a ring and its opposite, in the colour of the pick, with its name if it fits."""
    j = picks[0] if picks else None
    colour = look(j)["color"] if j is not None else "white"
    hatch = _HATCHES[(j or 0) // 7 % len(_HATCHES)]
    for turn in (0.0, math.pi):
        middle = (start + end) / 2 + turn
        width = end - start
        ax.bar(middle, 0.45, width, bottom, color=colour, hatch=hatch, **_RING)
        length = width * (bottom + 0.22)
        if length > 0.13 and picks:
            turned = np.degrees(middle) % 360
            upright = turned - 180 if 90 < turned < 270 else turned
            ax.text(
                middle,
                bottom + 0.225,
                several(problem.names, picks),
                ha="center",
                va="center",
                fontsize=font_size(),
                rotation=0 if length > 0.35 else upright,
            )


def _ties_around(ax: Any, X: FloatArray, S: IndexArray, found: Any) -> None:
    """Mark the picks that `first_entry` gives Sequential LASSO at the directions where OMP's pick changes."""
    labels = {
        "one": "tie: A(S) has only the feature of this colour (and its copies)",
        "both": "tie: A(S) has all tied features",
    }
    for start, _, _ in found if len(found) > 1 else ():
        entry = first_entry(X, np.array([math.cos(start), math.sin(start)]), forced=S)
        if not entry.active:
            continue
        kind = "both" if len(entry.active) == len(entry.tied) else "one"
        marker, colour = ("o", "white") if kind == "both" else ("D", look(entry.active[0])["color"])
        style: dict[str, Any] = {
            "markeredgecolor": "black",
            "markersize": marker_size(8),
            "label": labels.pop(kind, None),
        }
        ax.plot([start, start + math.pi], [1.6, 1.6], marker, color=colour, **style)
    if len(labels) < 2:
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.05 if font_size() <= 11.0 else -0.13),
            ncols=legend_columns(2),
            frameon=False,
            fontsize=font_size(),
        )


def _maps(problem: Problem, X: FloatArray, scored: Any, star: Any, ax: Axes | None) -> Axes:
    """Draw the two maps of a problem with three rows.

    scored : the two matrices of `_score_columns`.
    star : y/‖y‖, or None.
    """
    check_axes(ax)
    if ax is not None and ax.name in ("polar", "3d"):
        raise ValueError("ax must be in the plane, because X has 3 rows and the picture is a map")
    ax = picture(ax, figsize=(11.0, 6.2))
    right = panel(ax, "", width=1.0, shared=False)
    centre = np.array([0.0, 0.0, 1.0]) if star is None else star
    basis = np.concatenate([centre[None], np.linalg.svd(centre[None])[2][1:]])
    inside, y = _half_sphere(basis)
    before: Any = None
    titles = ("OMP, Sequential LASSO", "forward regression (OLS); hatched: differs from OMP")
    for half, W, title in zip((ax, right), scored, titles, strict=True):
        picture(half, title=title)
        picks = np.where(inside, _first_equal(W)[np.abs(np.tensordot(W.T, y, 1)).argmax(axis=0)], -1)
        _colours(half, picks)
        if before is not None and (picks != before).any():
            half.contourf(picks != before, [0.5, 1.5], colors="none", hatches=["////"], extent=[-1, 1, -1, 1])
        before = picks
        taken: list[FloatArray] = [np.zeros(2)] if star is not None else []
        for j in np.flatnonzero(X.any(axis=0)).tolist():
            taken.append(_on_map(basis, X[:, j]))
            half.plot(
                *taken[-1], "o", color=look(j)["color"], markeredgecolor="black", markersize=marker_size(8)
            )
        if star is not None:
            half.plot(0, 0, "*", color="black", markersize=marker_size(14))
        _names(half, problem, picks, W, y, taken)
    return ax


def _half_sphere(basis: FloatArray) -> tuple[Any, FloatArray]:
    """Return a mask (m, m) of the pixels in the map, and their directions (3, m, m).

    The map is Lambert's, which preserves areas.
    """
    across = (np.arange(_SIDE) + 0.5) / _SIDE * 2 - 1
    a, b = np.meshgrid(across, across)
    square = a**2 + b**2
    height = 1 - square  # radius² = 2(1 − height), scaled to 1 at the rim
    factor = np.sqrt(np.maximum(2 - square, 0))
    return square <= 1, np.tensordot(basis.T, np.stack([height, a * factor, b * factor]), 1)


def _first_equal(W: FloatArray) -> IndexArray:
    """Return for each column the first column (d,) that equals it or its negative up to rounding."""
    near = _TOL * float(np.linalg.norm(W, axis=0).max())
    apart = [np.abs(W[:, :, None] - sign * W[:, None]).max(axis=0) for sign in (1, -1)]
    return np.asarray(np.argmax(np.minimum(*apart) <= near, axis=0))


def _on_map(basis: FloatArray, x: FloatArray) -> FloatArray:
    """Return the position on the map of x or −x, whichever is on this half sphere."""
    height, a, b = (basis @ x / np.linalg.norm(x)).tolist()
    return np.array([a, b]) * (-1 if height < 0 else 1) / math.sqrt(1 + abs(height))


def _colours(ax: Any, picks: IndexArray) -> None:
    """Draw the picks (m, m) in colours, with lines between them."""
    from matplotlib.colors import to_rgb

    image = np.ones((*picks.shape, 3))
    for j in np.unique(picks[picks >= 0]).tolist():
        image[picks == j] = 0.45 * np.array(to_rgb(look(j)["color"])) + 0.55
    change = np.zeros(picks.shape, bool)
    change[1:] |= picks[1:] != picks[:-1]
    change[:, 1:] |= picks[:, 1:] != picks[:, :-1]
    image[change] = 0.25
    ax.imshow(image, origin="lower", extent=[-1, 1, -1, 1], interpolation="antialiased")
    ax.set(xticks=[], yticks=[], xlim=(-1.03, 1.03), ylim=(-1.03, 1.03))
    ax.spines[:].set_visible(False)


def _names(ax: Any, problem: Problem, picks: IndexArray, W: FloatArray, y: FloatArray, taken: Any) -> None:
    """Write the features and their share of all directions into each large region, away from the markers."""
    from scipy.ndimage import distance_transform_edt, label

    free = picks >= 0
    for place in taken:
        row, left = ((place[::-1] + 1) / 2 * _SIDE).astype(int)
        free[max(row - 8, 0) : row + 8, max(left - 8, 0) : left + 8] = False
    for j in np.unique(picks[picks >= 0]).tolist():
        share = float((picks == j).sum() / (picks >= 0).sum())
        parts, count = label(picks == j)
        for part in range(1, count + 1):
            depth = distance_transform_edt((parts == part) & free)
            row, left = np.unravel_index(int(depth.argmax()), depth.shape)
            if depth.max() > 0.04 * _SIDE:
                place = (np.array([left, row]) + 0.5) / _SIDE * 2 - 1
                words = several(problem.names, largest_at(W, y[:, row, left]))
                box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5}
                middle: dict[str, Any] = {
                    "ha": "center",
                    "va": "center",
                    "fontsize": font_size(),
                    "bbox": box,
                }
                ax.text(*place, f"{words}\n{share:.0%}", **middle)
