"""Move a dragged point to a tie nearby, because ties have measure zero and nobody could hit one."""

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


def snap(state: State, moved: str, radius: float) -> State:
    """Move y, λ or a column to a tie, if a tie is within a distance, and return the new state.

    moved : "y", "lam" or the index of a column.
    radius : the largest distance of a move.

    P_S^⊥y is the residual of least squares on S. y moves to the nearest point where the largest
    |⟨X_j, P_S^⊥y⟩| are equal, for as many features as possible. A column moves to the nearest copy or
    opposite of another column. If no such column is within the radius, a column outside S moves along P_S^⊥y
    to where its |correlation| equals the largest of the others. λ moves to the nearest knot of the path.
    Raises ValueError for another `moved`.
    """
    if moved == "lam":
        path = lasso_path(state.X, np.array(state.y), forced=state.S)
        knots = path.knots[path.knots > 0]
        nearest = min(knots.tolist(), key=lambda knot: abs(knot - state.lam), default=np.inf)
        return dataclasses.replace(state, lam=nearest) if abs(nearest - state.lam) <= radius else state
    if moved == "y":
        point = _tied_response(state, radius)
        return state if point is None else _exact_tie(state, point, lambda y: dataclasses.replace(state, y=y))
    if moved not in map(str, range(len(state.columns))):
        last = len(state.columns) - 1
        raise ValueError(f"moved must be y, lam or a column from 0 to {last}; got {moved[:40]!r}")
    j = int(moved)
    columns = list(state.columns)

    def with_column(x: Point) -> State:
        columns[j] = x
        return dataclasses.replace(state, columns=tuple(columns))

    copy = _nearest_copy(state, j, radius)
    if copy is not None:
        return with_column(copy)
    point = _tied_column(state, j, radius)
    return state if point is None else _exact_tie(state, point, with_column, j)


def _exact_tie(state: State, point: FloatArray, at: Callable[[Point], State], j: int | None = None) -> State:
    """Move the state to floats next to `point` at which T has two features or more; j, if given, is in T.

    T are the features with the largest |⟨X_i, P_S^⊥y⟩|, where P_S^⊥ projects off the selected columns. at(x)
    is the state with y or a column moved to x. Why this is needed: `first_entry` treats floats as exact
    numbers, and the floats nearest to a tie need not be tied. If no floats next to `point` are tied, the
    state is returned unchanged.
    """
    steps = sorted(itertools.product(range(-2, 3), repeat=len(point)), key=lambda step: sum(map(abs, step)))
    for step in steps:
        moved = at(tuple((point + step * np.spacing(np.abs(point))).tolist()))
        tied = first_entry(moved.X, np.array(moved.y), forced=moved.S).tied
        if len(tied) > 1 and (j is None or j in tied):
            return moved
    return state


def _residual(state: State) -> tuple[FloatArray, FloatArray]:
    """Return the projection P_S^⊥ (n, n) off the selected columns, and P_S^⊥y."""
    free = orthogonal(state.X[:, list(state.S)])
    P = free @ free.T if state.S else np.eye(len(state.y))
    return P, P @ np.array(state.y)


def _tied_response(state: State, radius: float) -> FloatArray | None:
    """Return the point nearest to y at which T has two features, or a point with more features if it is near.

    T are the features with the largest |⟨X_j, P_S^⊥y⟩|, where P_S^⊥ projects off the selected columns.
    Returns None if no such point is within the radius.

    Let i have the largest correlation, and let s_i be its sign. Feature i stays the largest in the polyhedron
    of all y with ⟨g, y⟩ ≥ 0, where g = P_S^⊥(s_iX_i ∓ X_j), j ≠ i. So the nearest tie is the projection of y
    onto the nearest of the hyperplanes ⟨g, y⟩ = 0. Then the other hyperplanes are added to the intersection,
    the nearest first. A hyperplane is added if the projection of y onto the intersection is within the
    radius, in the polyhedron, and not at P_S^⊥y = 0.
    """
    P, r = _residual(state)
    y = np.array(state.y)
    X = P @ state.X
    off = [j for j in range(X.shape[1]) if j not in state.S]
    c = state.X.T @ r
    i = max(off, key=lambda j: abs(c[j]), default=None)
    if i is None or c[i] == 0:
        return None
    G = np.array([np.sign(c[i]) * X[:, i] - s * X[:, j] for j in off if j != i for s in (1, -1)])
    sizes = np.linalg.norm(G, axis=1) if len(G) else np.zeros(0)
    # the others belong to copies, which are tied everywhere
    some = sizes > 1e-12 * np.linalg.norm(state.X[:, off], axis=0).max()
    walls = G[some] / sizes[some, None] if len(G) else np.zeros((0, len(y)))
    best = None
    passed = np.zeros((0, len(y)))
    for g in walls[np.argsort(walls @ y, kind="stable")]:
        more = np.concatenate([passed, g[None]])
        point = y - np.linalg.lstsq(more, more @ y, rcond=1e-9)[0]
        outside = (walls @ point).min() < -1e-12 * np.linalg.norm(y)
        if outside or np.linalg.norm(point - y) > radius or np.linalg.norm(P @ point) <= radius:
            continue
        best, passed = point, more
    return best


def _nearest_copy(state: State, j: int, radius: float) -> Point | None:
    """Return the vector X_i or −X_i, i ≠ j, that is nearest to X_j; None if it is farther than the radius."""
    x = np.array(state.columns[j])
    others = [column for i, column in enumerate(state.columns) if i != j and any(column)]
    copies = [tuple(sign * value for value in column) for column in others for sign in (1.0, -1.0)]
    gaps = [float(np.linalg.norm(x - copy)) for copy in copies]
    return copies[int(np.argmin(gaps))] if gaps and min(gaps) <= radius else None


def _tied_column(state: State, j: int, radius: float) -> FloatArray | None:
    """Move column j along P_S^⊥y until its |⟨X_j, P_S^⊥y⟩| equals the largest one of the other columns.

    P_S^⊥y is the residual of least squares on S. Returns the moved column; None if the column would move
    farther than the radius, or if no such point exists.
    """
    x = np.array(state.columns[j])
    X = state.X
    others = [i for i in range(X.shape[1]) if i != j]
    _, r = _residual(state)
    if j in state.S or not others or r @ r == 0:
        return None
    S = [others.index(i) for i in state.S]
    largest = first_entry(X[:, others], np.array(state.y), forced=S).lam_star
    step = (np.copysign(largest, x @ r) - x @ r) / (r @ r) * r
    return x + step if largest > 0 and np.linalg.norm(step) <= radius else None
