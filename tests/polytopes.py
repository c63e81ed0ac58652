"""Designs whose dual polytopes are drawn, and how far points are inside of polygons."""

import numpy as np

TILTED = np.array([np.cos(np.deg2rad([20.0, 75, 130])), np.sin(np.deg2rad([20.0, 75, 130]))])
ASIDE = np.array([1.0, 0.75])
TIED = np.array([[1.0, 1.0, 1.0], [0.3, 1.0, 2.0]])  # with y = e_1: T = {0, 1, 2}, A(S) = {0}
TIED_IN_SPACE = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]])
SPACE = np.array([[1.0, 0.2, -0.4, 0.5], [0.1, 0.9, 0.3, -0.6], [-0.2, 0.3, 1.1, 0.7]])
ALOFT = np.array([1.0, 0.6, 0.5])
PLANE = {
    "three": (TILTED, ASIDE, ()),
    "slice": (TILTED, ASIDE, (0,)),
    "tie": (TIED, np.array([1.0, 0.0]), ()),
    "duplicated": (np.column_stack([TILTED, TILTED[:, 1], -TILTED[:, 0]]), ASIDE, ()),
    "parallel": (np.column_stack([TILTED, 2 * TILTED[:, 1], TILTED[:, 0] / 2]), ASIDE, ()),
    "eight": (np.array([np.cos(0.37 * np.arange(8)), np.sin(0.37 * np.arange(8))]), ASIDE, ()),
    "strip": (np.array([[1.0, 2.0], [0.5, 1.0]]), ASIDE, ()),
    "zero": (np.column_stack([TILTED, np.zeros(2)]), ASIDE, ()),
}
SOLID = {
    "four": (SPACE, ALOFT, ()),
    "plane": (SPACE, ALOFT, (1,)),
    "line": (SPACE, ALOFT, (1, 2)),
    "tie": (TIED_IN_SPACE, np.array([1.0, 0.0, 0.0]), ()),
    "unbounded": (SPACE[:, :2], ALOFT, ()),
    "cube": (np.column_stack([np.eye(3), np.eye(3)[:, 0], np.eye(3)[:, 1] / 2, np.zeros(3)]), ALOFT, ()),
}
DESIGNS = PLANE | {f"{name}, space": case for name, case in SOLID.items()}


def points(line):
    return np.array(line.get_data_3d()).T if hasattr(line, "get_data_3d") else line.get_xydata()


def inside(polygon, point):
    """Return the distance of a point to the edges of a convex polygon; negative outside."""
    polygon = np.array(polygon)
    polygon = polygon if _area(polygon) > 0 else polygon[::-1]
    edges = np.roll(polygon, -1, axis=0) - polygon
    normals = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
    return ((point - polygon) * normals).sum(axis=1).min()


def _area(polygon):
    x, y = np.array(polygon).T
    return x @ np.roll(y, -1) - y @ np.roll(x, -1)
