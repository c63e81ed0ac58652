"""The data of the pictures of the dual polytope, in two or three dimensions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparselin.lasso.entry import first_entry
from sparselin.lasso.path import lasso_path
from sparselin.lasso.projection import project_dual
from sparselin.plots.geometry.labels import Labels, arrow, braces, column, look, several
from sparselin.plots.geometry.polytope import PolytopeFace, faces, orthogonal, outline
from sparselin.plots.style import GREY, in_space, line_width, marker_size
from sparselin.results import FirstEntry, FloatArray, LassoPath, Names, Status
from sparselin.validation import Columns, check_real

Normal = tuple[FloatArray, str, int]  # the ends of an arrow, its label, and its feature


@dataclasses.dataclass(frozen=True)
class Scene:
    """The data of a picture: the design, the path of u(λ) = y − Xβ(λ), and the projection at one λ.

    points : u at the knots of the path.
    slice : an orthonormal basis of {u : X_Sᵀu = 0}.
    u, coef : the projection and β at `lam`.
    """

    X: FloatArray
    y: FloatArray
    names: Names
    S: tuple[int, ...]
    entry: FirstEntry
    path: LassoPath
    points: FloatArray
    slice: FloatArray
    lam: float
    u: FloatArray
    coef: FloatArray

    @property
    def r(self) -> FloatArray:
        """The residual P_S^⊥y of least squares on the features S, which is the first point of the path."""
        return np.asarray(self.points[0])

    @property
    def longest(self) -> float:
        """The length of the longest column."""
        return float(np.linalg.norm(self.X, axis=0).max())

    @property
    def touched(self) -> tuple[int, ...]:
        """The features outside S with β_j ≠ 0 at λ; their faces contain u."""
        return tuple(j for j in np.flatnonzero(self.coef).tolist() if j not in self.S)

    def at(self, lam: float) -> Scene:
        """Return the scene at another λ."""
        coef = self.path.at(lam)
        return dataclasses.replace(self, lam=lam, coef=coef, u=self.y - self.X @ coef)

    def holds(self, side: PolytopeFace) -> bool:
        """Return whether a face contains u because a feature of the face has β_j ≠ 0 with the face's sign."""
        return any(j in self.touched and sign * self.coef[j] > 0 for j, sign in side.owners)


def scene(X: Any, y: Any, forced: Columns, lam: float | None) -> Scene:
    """Check the design and response of a picture, and return its scene at λ, by default at λ*/2."""
    problem = in_space(X, y)
    J = problem.indices(forced, "forced").tolist()
    columns = problem.columns(np.arange(problem.d)).astype(float)
    v = problem.y.astype(float)
    entry = first_entry(columns, v, forced=J)
    lam = level(lam, entry.lam_star)
    path = lasso_path(columns, v, forced=J)
    at = project_dual(columns, v, lam, forced=J)
    if at.status is not Status.COMPLETED:
        raise ValueError(
            "X has columns that are too close to each other for this picture: the projection at λ = "
            f"{lam:.6g} has the status {at.status.name}. Leave one of these columns out."
        )
    points = v - path.coef @ columns.T
    return Scene(
        X=columns,
        y=v,
        names=problem.names,
        S=tuple(J),
        entry=entry,
        path=path,
        points=points,
        slice=orthogonal(columns[:, J]),
        lam=lam,
        u=at.u,
        coef=at.coef,
    )


def level(lam: float | None, lam_star: float) -> float:
    """Return λ > 0, checked; by default λ*/2."""
    if lam is not None:
        words = "positive: at λ = 0 the polytope is the null space of Xᵀ"
        return check_real(lam, "lam", lambda level: level > 0, words)
    if lam_star == 0:
        raise ValueError(
            "y must be correlated with some column outside S after S is fitted; here λ* = 0, and no feature "
            "enters. Pass lam > 0 to draw the polytope all the same."
        )
    return lam_star / 2


def title_of(view: Scene, bounded: bool, cut: bool = False) -> str:
    """Return the title: λ, λ*, the tied set T, the active set A(S), and whether the polytope is cut off."""
    entry = view.entry
    text = rf"$\lambda$ = {view.lam:.3g},  $\lambda^*$ = {entry.lam_star:.3g}"
    if entry.lam_star > 0:
        T, A = braces(view.names, entry.tied), braces(view.names, entry.active)
        text += f":  T = {T},  A(S) = {A}"
    if view.S:
        text += f",  S = {braces(view.names, view.S)}"
    if not bounded:
        return text + "\nunbounded (the columns do not span the space): cut off"
    return text + "\ncut off at the box" if cut else text


def extent(view: Scene, levels: Sequence[float]) -> tuple[float, float]:
    """Return half the side of the picture, and three times this: polytopes are cut off at that distance."""
    size = max(float(np.abs(view.y).max()), float(np.abs(view.points).max())) or view.lam
    largest = max([view.lam, *levels])
    inner = largest / view.longest if view.longest else size  # the distance from 0 to the nearest face
    corners = outline(view.X, largest, 1.6 * max(size, inner))
    half = 1.25 * max(size, float(np.abs(corners).max()))
    return half, 3 * half


def outlines(X: FloatArray, lam: float, far: float) -> list[FloatArray]:
    """Return the corners (m, n) of the lines that outline C_λ: one polygon, or in space one for each face."""
    return [outline(X, lam, far)] if len(X) == 2 else [side.corners for side in faces(X, lam, far)]


def chain_of(view: Scene) -> tuple[FloatArray, list[int]]:
    """Return the points (m + 1, n) from u to y over the partial sums of Σβ_jX_j, and the m features.

    The longest β_jX_j comes first.
    """
    parts = view.X * view.coef
    sizes = np.linalg.norm(parts, axis=0)
    J = [int(j) for j in np.argsort(-sizes, kind="stable") if sizes[j] > 1e-9 * np.linalg.norm(view.y)]
    return np.concatenate([view.u[None], view.u + np.cumsum(parts[:, J], axis=1).T]), J


def ring(ax: Any, corners: FloatArray, **style: Any) -> None:
    """Draw the closed line through the corners of a face."""
    ax.plot(*np.concatenate([corners, corners[:1]]).T, **style)


def draw_outline(ax: Any, view: Scene, lam: float, far: float) -> None:
    """Draw the dashed outline of C_λ."""
    style = {"linewidth": line_width(1)} if len(view.X) == 2 else {"linewidth": line_width(0.8), "zorder": 1}
    for corners in outlines(view.X, lam, far):
        ring(ax, corners, color=GREY, linestyle=(0, (6, 3)), **style)


def mark_points(ax: Any, view: Scene, zorders: tuple[float, float, float, float]) -> None:
    """Draw y, P_S^⊥y (the residual on S), the path through its knots, u, and arrows β_jX_j from u to y.

    zorders : those of the line from y to P_S^⊥y, of P_S^⊥y, of the path, and of y and u.
    """
    line, corner, path, ends = zorders
    if view.S:
        ax.plot(*np.array([view.y, view.r]).T, ":", color="black", linewidth=line_width(1.2), zorder=line)
        ax.plot(
            *view.r[:, None],
            "s",
            color="black",
            markersize=marker_size(8),
            markerfacecolor="white",
            zorder=corner,
        )
    style = {
        "color": "black",
        "linewidth": line_width(2.2),
        "markersize": marker_size(5),
        "label": "path of u, knots",
    }
    ax.plot(*view.points.T, "o-", zorder=path, **style)
    ax.plot(*view.y[:, None], "*", color="black", markersize=marker_size(15), zorder=ends)
    ax.plot(
        *view.u[:, None], "D", color="black", markerfacecolor="white", markersize=marker_size(8), zorder=ends
    )
    chain, J = chain_of(view)
    for a, b, j in zip(chain, chain[1:], J, strict=False):
        arrow(ax, a, b, arrowstyle="-|>", linewidth=line_width(2.2), mutation_scale=16, **look(j))


def normals(view: Scene, sides: Sequence[PolytopeFace], half: float, scale: float) -> list[Normal]:
    """Return an arrow along X_j from the middle of each face where ⟨X_j, u⟩ = λ.

    half : half the side of the picture.
    scale : the length of the longest arrow, as a share of `half`.
    """
    found: list[Normal] = []
    for side in sides if view.longest else ():
        own = [j for j, sign in side.owners if sign > 0]
        minus = [j for j in side.features if j not in own and len(view.X) == 2]
        words = ", ".join(filter(None, [several(view.names, own), several(view.names, minus, -1)]))
        middle = visible(side.corners, half).mean(axis=0)
        for j in own if len(side.corners) > 1 else ():
            ends = np.array([middle, middle + scale * half / view.longest * view.X[:, j]])
            found.append((ends, words if j == own[0] else "", j))
    return found


def visible(piece: FloatArray, half: float) -> FloatArray:
    """Cut off a segment (2, 2) at the sides of the picture; return it unchanged if it lies outside.

    Other faces are returned unchanged.
    """
    if piece.shape != (2, 2):
        return piece
    step = piece[1] - piece[0]
    moving = np.abs(step) > 1e-12 * half
    bounds = (np.array([[-half], [half]]) - piece[0, moving]) / step[moving]
    low, high = max(0.0, bounds.min(axis=0).max()), min(1.0, bounds.max(axis=0).min())
    return np.asarray(piece[0] + np.array([[low], [high]]) * step) if low < high else piece


def write_labels(ax: Any, view: Scene, arrows: Sequence[Normal], *lines: FloatArray) -> Labels:
    """Write the labels of the normals, y, the residual P_S^⊥y, u and the knots; in the plane, of β_jX_j too.

    lines : lines that labels must not cover, in addition to the path and the arrows.
    """
    labels, (chain, J) = Labels(ax), chain_of(view)
    labels.avoid(view.points, chain, *(ends for ends, _, _ in arrows), *lines)
    for ends, words, j in arrows:
        if words:
            labels.place(words, ends[1], ends[0], color=look(j)["color"], fontweight="bold")
    labels.place("y", view.y, view.u)
    if view.S:
        labels.place(r"$P_S^{\perp}y$", view.r, view.y)
    labels.place(r"u($\lambda$)", view.u, view.y)
    for a, b, j in zip(chain, chain[1:], J, strict=False) if len(view.X) == 2 else ():
        text = rf"$\beta_{{{j}}}$" + ("" if view.names is None else "·") + column(view.names, j)
        labels.place(text, (a + b) / 2, needed=False, color=look(j)["color"])
    for lam, point in zip(view.path.knots.tolist(), view.points, strict=True):
        labels.place(rf"$\lambda$ = {lam:.3g}", point, view.y, needed=False)
    return labels


def tied_faces(view: Scene, far: float, size: float) -> list[tuple[int, FloatArray, bool]]:
    """Return for each tied j: j, the corners of its face of C_{λ*}, whether an earlier j has this face.

    C_{λ*} is the dual polytope at λ*, and P_S^⊥y, the residual of least squares on S, is on the faces of all
    tied j. If the constraint of j touches C_{λ*} only at P_S^⊥y, there is no such face; then a piece of the
    line or plane of the constraint, 2·size wide, is returned in place of the face.
    """
    found: list[tuple[int, FloatArray, bool]] = []
    sides = faces(view.X, view.entry.lam_star, far)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) if len(view.X) == 3 else np.array([[-1], [1]])
    for j, sign in zip(view.entry.tied, view.entry.signs.tolist(), strict=True):
        piece = next((side.corners for side in sides if (j, sign) in side.owners), None)
        if piece is None:
            piece = view.r + size * square @ np.linalg.svd(view.X[:, [j]].T)[2][1:]
        found.append((j, piece, any(piece is earlier for _, earlier, _ in found)))
    return found
