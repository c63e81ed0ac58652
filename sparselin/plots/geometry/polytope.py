"""The polytope {u : ‖Xᵀu‖∞ ≤ λ} in two and three dimensions: its corners, faces and slices."""

from typing import Any, NamedTuple

import numpy as np

from sparselin.problem.errors import TINY
from sparselin.results import FloatArray

# Corners and faces that are closer than this, relative to the picture, count as the same. It is above
# rounding errors, and below the size of a pixel.
_TOL = 1e-9


class PolytopeFace(NamedTuple):
    """A face of the polytope: the features with sign·⟨X_j, u⟩ = λ on it, and its corners (m, n) in order.

    A face without features is a side of the picture. A face with one corner belongs to a constraint that
    touches the polytope only at this corner.
    """

    features: tuple[int, ...]
    signs: tuple[int, ...]
    corners: FloatArray

    @property
    def owners(self) -> list[tuple[int, int]]:
        """The pairs (feature, sign)."""
        return list(zip(self.features, self.signs, strict=True))


def orthogonal(X: FloatArray) -> FloatArray:
    """Return an orthonormal basis (n, q) of {u : Xᵀu = 0}."""
    vectors, sizes, _ = np.linalg.svd(X / np.maximum(np.linalg.norm(X, axis=0), TINY))
    return np.asarray(vectors[:, int((sizes > 1e-10).sum()) :])


def faces(X: FloatArray, lam: float, far: float, touching: bool = False) -> list[PolytopeFace]:
    """Return the faces of {u : |⟨X_j, u⟩| ≤ λ, ‖u‖∞ ≤ far} for n = 2 or 3.

    touching : whether to include faces with only one corner.

    Columns with the same face, such as equal columns, are together in `features` of the face.
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
    """Return the constraints Aᵀu ≤ b of the polytope: A, b, and the feature and sign of each constraint.

    A has unit columns, and the unit of u is `far`. The sides of the picture are constraints too, with the
    feature −1 and the sign 0.
    """
    n, _d = X.shape
    norms = np.linalg.norm(X, axis=0)
    J = np.flatnonzero(np.sqrt(n) * far * norms > lam)  # the other constraints hold everywhere in the picture
    A = np.concatenate([X[:, J] / norms[J], -X[:, J] / norms[J], np.eye(n), -np.eye(n)], axis=1)
    b = np.concatenate([np.tile(lam / far / norms[J], 2), np.ones(2 * n)])
    none = np.full(2 * n, -1)
    return A, b, np.concatenate([J, J, none]), np.repeat([1, -1, 0], [len(J), len(J), 2 * n])


def corners_of(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the corners (m, q) of the bounded set {w : Aᵀw ≤ b}, b > 0, q ≤ 3.

    Raises ValueError if the set is too thin to compute its corners.
    """
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
            "X has a column that is too long for this picture, so the polytope is too thin. Scale the "
            "column, or choose a larger λ."
        )
    distinct: list[FloatArray] = []
    for corner in several:
        if all(np.abs(corner - other).max() > _TOL for other in distinct):
            distinct.append(corner)
    return np.array(distinct)


def _in_order(corners: FloatArray, normal: FloatArray) -> FloatArray:
    """Sort the corners of a face with this normal, so that they go around it; two corners stay unchanged."""
    if len(normal) == 2 or len(corners) < 3:
        return corners
    plane = np.linalg.svd(normal[None])[2][1:]
    flat = (corners - corners.mean(axis=0)) @ plane.T
    return np.asarray(corners[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]))])


def outline(X: FloatArray, lam: float, far: float, basis: FloatArray | None = None) -> FloatArray:
    """Return the corners (m, n), in order, of the polygon {u : ‖Xᵀu‖∞ ≤ λ} for n = 2, or of a slice.

    basis : an orthonormal basis (n, q) of the subspace of the slice. The slice is a polygon, a segment with
        two ends, or the point 0.
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
    """Return whether the polytope is bounded, which is the case if the columns span the space."""
    return bool(orthogonal(X).shape[1] == 0)
