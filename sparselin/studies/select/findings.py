"""Reasons to distrust a selection: close picks, nearly dependent or constant columns, a y of two classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparselin.results import FloatArray
from sparselin.selection.methods import PURSUITS, Selected, SelectionData

# A pick is close if its margin is below CLOSE. A column can replace another one if the modulus of their
# correlation is at least ALIKE. A coefficient is uncertain if its variance inflation exceeds INFLATED.
CLOSE, ALIKE, INFLATED = 0.01, 0.99, 10.0


class Close(NamedTuple):
    """A pick whose margin over the other features is below the constant CLOSE.

    tied : the other features with the same score up to rounding.
    runner_up : if no feature is tied, the feature that would be picked in place of this one; otherwise "".
    """

    step: int
    feature: str
    margin: float
    tied: tuple[str, ...]
    runner_up: str


def close_decisions(data: SelectionData, method: str, chosen: Selected, seed: int = 0) -> list[Close]:
    """Return the picks of a selection that had a small margin.

    To find the feature that would be picked instead, the method selects again without the picked feature. It
    then takes the same features before this step, and the feature sought at this step.
    """
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
    """Return the columns with unit norm, centred if there is an intercept; constant columns become zero."""
    w = np.ones(len(data.y)) if data.weight is None else data.weight
    Z = data.X - np.average(data.X, axis=0, weights=w) if data.intercept else data.X
    Z = Z * np.sqrt(w)[:, None]
    Z[:, constant_columns(data)] = 0
    norms = np.linalg.norm(Z, axis=0)
    return np.asarray(Z / np.where(norms > 0, norms, 1))


def constant_columns(data: SelectionData) -> list[int]:
    """Return the columns that explain nothing: constant columns with an intercept, zero columns without."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    same = low == high if data.intercept else (low == 0) & (high == 0)
    return [int(j) for j in np.flatnonzero(same)]


def two_values(data: SelectionData) -> tuple[float, float] | None:
    """Return the two values of y, which may be classes, if more than two rows have only two values."""
    low, high = float(data.y.min()), float(data.y.max())
    two = len(data.y) > 2 and low < high and np.isin(data.y, (low, high)).all()
    return (low, high) if two else None


def look_alikes(data: SelectionData, chosen: Selected) -> list[tuple[str, str, float]]:
    """Return pairs of features that can replace each other, as (selected, not selected, correlation)."""
    S = chosen.path.support
    Z = standard_columns(data)
    C = Z[:, S].T @ Z
    C[:, S] = 0
    pairs = np.argwhere(np.abs(C) >= ALIKE)
    return [(data.names[S[i]], data.names[j], float(C[i, j])) for i, j in pairs]


def uncertain_coefficients(data: SelectionData, chosen: Selected) -> list[tuple[str, float]]:
    """Return the selected features whose variance inflation factor exceeds INFLATED.

    The factor of feature j is ‖z_j‖²/ρ_j², where z_j is its standard column, and ρ_j the distance of z_j from
    the span of the other selected features.
    """
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
