"""The polytope {u : ‖Xᵀu‖∞ ≤ λ} in two and three dimensions: its corners, faces and slices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.errors import TINY
from sparselin.results import FloatArray

# Corners and faces that are closer, relative to the picture, are one: above rounding, and below what a pixel
# shows.
_TOL = 1e-9


class PolytopeFace(NamedTuple):
    """A face: `features` with sign·⟨X_j, u⟩ = λ on all of it, and its corners (m, n) in order.

    No features: there the picture ends. One corner: the constraint touches the polytope in that corner only.
    """

    features: tuple[int, ...]
    signs: tuple[int, ...]
    corners: FloatArray

    @property
    def owners(self) -> list[tuple[int, int]]:
        """The features with their signs."""
        return list(zip(self.features, self.signs, strict=True))


def orthogonal(X: FloatArray) -> FloatArray:
    """(n, q) an orthonormal basis of {u : Xᵀu = 0}."""
    vectors, sizes, _ = np.linalg.svd(X / np.maximum(np.linalg.norm(X, axis=0), TINY))
    return np.asarray(vectors[:, int((sizes > 1e-10).sum()) :])


def faces(X: FloatArray, lam: float, far: float, touching: bool = False) -> list[PolytopeFace]:
    """The faces of {u : |⟨X_j, u⟩| ≤ λ, ‖u‖∞ ≤ far}, n = 2 or 3; with `touching`, also those of one corner.

    Columns that have the same face, as equal ones do, are its features together.
    """
    A, b, features, signs = _halfspaces(X, lam, far)
    corners = corners_of(A, b)
    on = np.abs(corners @ A - b) <= _TOL * np.maximum(1, np.abs(corners).max(initial=0))
    found: dict[tuple[int, ...], list[int]] = {}
    for i in range(len(b)):
        found.setdefault(tuple(np.flatnonzero(on[:, i])), []).append(i)
    result = []
    for which, halfspaces in found.items():
        if len(which) >= len(X) or (touching and which):
            own = [i for i in halfspaces if features[i] >= 0]
            around = _in_order(corners[list(which)], A[:, halfspaces[0]])
            named, side = tuple(features[own].tolist()), tuple(signs[own].tolist())
            result.append(PolytopeFace(named, side, far * around))
    return result


def _halfspaces(X: FloatArray, lam: float, far: float) -> tuple[FloatArray, FloatArray, Any, Any]:
    """Aᵀu ≤ b with unit columns, in units of `far`; the feature of each, −1 for the sides of the picture."""
    n, _d = X.shape
    norms = np.linalg.norm(X, axis=0)
    J = np.flatnonzero(np.sqrt(n) * far * norms > lam)  # others are satisfied in all of the picture
    A = np.concatenate([X[:, J] / norms[J], -X[:, J] / norms[J], np.eye(n), -np.eye(n)], axis=1)
    b = np.concatenate([np.tile(lam / far / norms[J], 2), np.ones(2 * n)])
    none = np.full(2 * n, -1)
    return A, b, np.concatenate([J, J, none]), np.repeat([1, -1, 0], [len(J), len(J), 2 * n])


def corners_of(A: FloatArray, b: FloatArray) -> FloatArray:
    """(m, q) the corners of the bounded {w : Aᵀw ≤ b}, b > 0, q ≤ 3. ValueError where it is too thin."""
    if len(A) == 0:
        return np.zeros((1, 0))
    if len(A) == 1:
        a = A[0]
        return np.array([[-np.min(b[a < 0] / -a[a < 0])], [np.min(b[a > 0] / a[a > 0])]])
    from scipy.spatial import HalfspaceIntersection, QhullError

    halfspaces = np.column_stack([A.T, -b])
    try:
        with np.errstate(divide="ignore"):
            several = HalfspaceIntersection(halfspaces, np.zeros(len(A))).intersections
    except QhullError:
        several = np.array([np.inf])
    if not np.isfinite(several).all():
        raise ValueError(
            "X has a column that is too long for this picture: the polytope is too thin. Scale the column, "
            "or take a larger λ."
        )
    one: list[FloatArray] = []
    for corner in several:
        if all(np.abs(corner - other).max() > _TOL for other in one):
            one.append(corner)
    return np.array(one)


def _in_order(corners: FloatArray, normal: FloatArray) -> FloatArray:
    """Corners of an edge, or of a face with this normal, around it."""
    if len(normal) == 2 or len(corners) < 3:
        return corners
    plane = np.linalg.svd(normal[None])[2][1:]
    flat = (corners - corners.mean(axis=0)) @ plane.T
    return np.asarray(corners[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))])


def outline(X: FloatArray, lam: float, far: float, basis: FloatArray | None = None) -> FloatArray:
    """(m, n) the corners, in order, of the polygon {u : ‖Xᵀu‖∞ ≤ λ}, n = 2, or of its slice by a plane.

    With a basis (n, q) of the slice, the corners of that: a polygon, the two ends of a line, or 0.
    """
    basis = np.eye(len(X)) if basis is None else basis
    A, b, _, _ = _halfspaces(X, lam, far)
    inner = basis.T @ A
    kept = np.linalg.norm(inner, axis=0) > 1e-10
    corners = corners_of(inner[:, kept], b[kept])
    if corners.shape[1] == 2:
        corners = corners[np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))]
    return np.asarray(far * corners @ basis.T)


def is_bounded(X: FloatArray) -> bool:
    """Whether the columns span the space."""
    return bool(orthogonal(X).shape[1] == 0)
