"""Ties are rare: what is dragged near one goes there."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

from sparselin.lasso.entry import first_entry
from sparselin.lasso.path import lasso_path
from sparselin.plots.explorer.state import State
from sparselin.plots.geometry.polytope import orthogonal
from sparselin.results import FloatArray

Point = tuple[float, ...]


def snapped(state: State, moved: str, reach: float) -> State:
    """The state with what moved ("y", "lam" or the index of a column) at a tie, if one is within reach.

    y goes to the nearest point where the largest |⟨X_j, P_S^⊥y⟩| agree, as many as do within reach; a column
    to the nearest copy of another, or of its opposite, else one off S along P_S^⊥y to where its |correlation|
    is the largest of the others; λ to the nearest knot of the path. Raises ValueError for another `moved`.
    """
    if moved == "lam":
        path = lasso_path(state.X, np.array(state.y), forced=state.S)
        knots = path.knots[path.knots > 0]
        near = knots[np.abs(knots - state.lam) <= reach]
        return dataclasses.replace(state, lam=float(_nearest(near, state.lam))) if len(near) else state
    if moved == "y":
        point = _tied_response(state, reach)
        return state if point is None else _tied(state, point, lambda y: dataclasses.replace(state, y=y))
    if moved not in map(str, range(len(state.columns))):
        last = len(state.columns) - 1
        raise ValueError(f"moved must be y, lam or a column of 0 to {last}; got {moved[:40]!r}")
    j, columns = int(moved), list(state.columns)

    def with_column(x: Point) -> State:
        columns[j] = x
        return dataclasses.replace(state, columns=tuple(columns))

    copy = _copied_column(state, j, reach)
    if copy is not None:
        return with_column(copy)
    joined = _joined_column(state, j, reach)
    return state if joined is None else _tied(state, joined, with_column, j)


def _nearest(values: FloatArray, to: float) -> float:
    return float(values[np.argmin(np.abs(values - to))])


def _tied(state: State, point: FloatArray, at: Callable[[Point], State], j: int | None = None) -> State:
    """The state with what moved at a float next to `point` where T has two members, j among them.

    `first_entry` takes floats for exact, and those nearest to a tie need not be tied. Where none is, the
    state as it was.
    """
    steps = sorted(itertools.product(range(-2, 3), repeat=len(point)), key=lambda step: sum(map(abs, step)))
    for step in steps:
        moved = at(tuple((point + step * np.spacing(np.abs(point))).tolist()))
        tied = first_entry(moved.X, np.array(moved.y), forced=moved.S).tied
        if len(tied) > 1 and (j is None or j in tied):
            return moved
    return state


def _residual(state: State) -> tuple[FloatArray, FloatArray]:
    """P_S^⊥ (n, n) and P_S^⊥y."""
    free = orthogonal(state.X[:, list(state.S)])
    P = free @ free.T if state.S else np.eye(len(state.y))
    return P, P @ np.array(state.y)


def _tied_response(state: State, reach: float) -> FloatArray | None:
    """The nearest point to y within reach where |T| ≥ 2, moved on while more join T; None if there is none.

    Let i have the largest correlation, s_i its sign. It stays the largest in the polyhedron of all y with
    ⟨g, y⟩ ≥ 0, g = P_S^⊥(s_iX_i ∓ X_j), j ≠ i. So the nearest tie is the projection on the nearest of these
    hyperplanes. From there each of the others, the nearest first, is added if the common ones pass y within
    reach, in the polyhedron, and not in P_S^⊥y = 0.
    """
    P, r = _residual(state)
    y, X = np.array(state.y), P @ state.X
    off = [j for j in range(X.shape[1]) if j not in state.S]
    c = state.X.T @ r
    i = max(off, key=lambda j: abs(c[j]), default=None)
    if i is None or c[i] == 0:
        return None
    G = np.array([np.sign(c[i]) * X[:, i] - s * X[:, j] for j in off if j != i for s in (1, -1)])
    sizes = np.linalg.norm(G, axis=1) if len(G) else np.zeros(0)
    some = sizes > 1e-12 * np.linalg.norm(state.X[:, off], axis=0).max()  # others: copies, tied everywhere
    walls = G[some] / sizes[some, None] if len(G) else np.zeros((0, len(y)))
    best, passed = None, np.zeros((0, len(y)))
    for g in walls[np.argsort(walls @ y, kind="stable")]:
        more = np.concatenate([passed, g[None]])
        point = y - np.linalg.lstsq(more, more @ y, rcond=1e-9)[0]
        outside = (walls @ point).min() < -1e-12 * np.linalg.norm(y)
        if outside or np.linalg.norm(point - y) > reach or np.linalg.norm(P @ point) <= reach:
            continue
        best, passed = point, more
    return best


def _copied_column(state: State, j: int, reach: float) -> Point | None:
    """The nearest copy of another column, or of its opposite, within reach."""
    x = np.array(state.columns[j])
    others = [column for i, column in enumerate(state.columns) if i != j and any(column)]
    copies = [tuple(sign * value for value in column) for column in others for sign in (1.0, -1.0)]
    gaps = [float(np.linalg.norm(x - copy)) for copy in copies]
    return copies[int(np.argmin(gaps))] if gaps and min(gaps) <= reach else None


def _joined_column(state: State, j: int, reach: float) -> FloatArray | None:
    """Where column j joins T, within reach along P_S^⊥y."""
    x, X = np.array(state.columns[j]), state.X
    others = [i for i in range(X.shape[1]) if i != j]
    _, r = _residual(state)
    if j in state.S or not others or r @ r == 0:
        return None
    S = [others.index(i) for i in state.S]
    largest = first_entry(X[:, others], np.array(state.y), forced=S).lam_star
    step = (np.copysign(largest, x @ r) - x @ r) / (r @ r) * r
    return x + step if largest > 0 and np.linalg.norm(step) <= reach else None
