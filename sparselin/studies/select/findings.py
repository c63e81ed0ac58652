"""What to beware of in a selection: close picks, columns that nearly depend on others, constants, classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.selection.methods import PURSUITS, Selected, SelectionData

# a margin below which the runner-up is told, a correlation from which columns stand for each other, and the
# variance inflation above which coefficients are called uncertain
CLOSE, ALIKE, INFLATED = 0.01, 0.99, 10.0


class Close(NamedTuple):
    """A pick whose margin is below CLOSE; `tied` to others to rounding, or ahead of `runner_up`."""

    step: int
    feature: str
    margin: float
    tied: tuple[str, ...]
    runner_up: str


def close_decisions(data: SelectionData, method: str, chosen: Selected, seed: int = 0) -> list[Close]:
    """The close picks. Without the column a method takes the same features before, and then the runner-up."""
    path, names, found = chosen.path, data.names, []
    for step, (pick, margin) in enumerate(zip(path.support.tolist(), path.margin, strict=True)):
        if not margin < CLOSE:  # NaN for a forced feature, and for methods that have no margin
            continue
        others = tuple(names[j] for j in path.ties[step] if j != pick)
        second = ""
        if not others:
            again = PURSUITS[method](data.problem(without=pick), step + 1, data.forced, seed)
            second = again.support_names[step] if len(again) > step else ""
        found.append(Close(step + 1, names[pick], float(margin), others, second))
    return found


def standard_columns(data: SelectionData) -> FloatArray:
    """The columns with unit norm, centred where there is an intercept; zeros for those that are constant."""
    w = np.ones(len(data.y)) if data.weight is None else data.weight
    Z = data.X - np.average(data.X, axis=0, weights=w) if data.intercept else data.X
    Z = Z * np.sqrt(w)[:, None]
    Z[:, constant(data)] = 0
    norms = np.linalg.norm(Z, axis=0)
    return np.asarray(Z / np.where(norms > 0, norms, 1))


def constant(data: SelectionData) -> list[int]:
    """The columns that an intercept makes redundant, or that are zero where there is none."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    same = low == high if data.intercept else (low == 0) & (high == 0)
    return [int(j) for j in np.flatnonzero(same)]


def two_values(data: SelectionData) -> tuple[float, float] | None:
    """The values of y, if there are two in more than two rows: it may be of classes."""
    low, high = float(data.y.min()), float(data.y.max())
    two = len(data.y) > 2 and low < high and np.isin(data.y, (low, high)).all()
    return (low, high) if two else None


def look_alikes(data: SelectionData, chosen: Selected) -> list[tuple[str, str, float]]:
    """(selected, not selected, correlation) of at least ALIKE in modulus: one can stand for the other."""
    S = chosen.path.support
    Z = standard_columns(data)
    C = Z[:, S].T @ Z
    C[:, S] = 0
    pairs = np.argwhere(np.abs(C) >= ALIKE)
    return [(data.names[S[i]], data.names[j], float(C[i, j])) for i, j in pairs]


def inflated(data: SelectionData, chosen: Selected) -> list[tuple[str, float]]:
    """The selected features whose variance inflation factor ‖z_j‖²/‖P_{S∖j}^⊥z_j‖² exceeds INFLATED."""
    S, found = chosen.path.support, []
    Z = standard_columns(data)[:, S]
    for i in range(len(S)):
        others = np.delete(Z, i, axis=1)
        left = Z[:, i] - others @ np.linalg.lstsq(others, Z[:, i])[0]
        square = float(left @ left)
        factor = 1 / square if square > 0 else np.inf
        if factor > INFLATED and Z[:, i].any():
            found.append((data.names[S[i]], factor))
    return found
