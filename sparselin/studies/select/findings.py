"""Reasons to distrust a selection: close picks, nearly dependent or constant columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sparselin.results import FloatArray

# A pick is close if its margin is below CLOSE. A column can replace another one if the modulus of their
# correlation is at least ALIKE. A coefficient is uncertain if its variance inflation exceeds INFLATED.
CLOSE, ALIKE, INFLATED = 0.01, 0.99, 10.0


class Close(NamedTuple):
    """A pick whose margin over the other features is below the constant CLOSE.

    step : the number of the step, from 1 on.
    tied : the other features, or groups, with the same score up to rounding.
    runner_up : if no feature is tied, the feature that would be picked in place of this one; otherwise None.
    """

    step: int
    margin: float
    tied: tuple[int, ...]
    runner_up: int | None


def close_decisions(selector: Any, X: Any, y: Any, weight: FloatArray | None) -> list[Close]:
    """Return the picks of a fitted selector that had a small margin.

    X, y, weight : the data that the selector was fitted to.

    To find the feature that would be picked instead, the selector is fitted again without the picked feature.
    It then takes the same features before this step, and the feature sought at this step.
    """
    path, found = selector.path_, []
    grouped = hasattr(path, "order")
    for step, (pick, margin) in enumerate(zip(_order(path), path.margin, strict=True)):
        if not margin < CLOSE:  # NaN for a forced feature, and for methods that have no margin
            continue
        others, second = tuple(i for i in path.ties[step] if i != pick), None
        if not others:
            out = np.flatnonzero(path.groups == pick).tolist() if grouped else [pick]
            again = clone(selector).set_params(n_features_to_select=step + 1, exclude=out).fit(X, y, weight)
            if len(again.path_) > step:
                second = _order(again.path_)[step]
                if grouped:  # the groups that are left have other numbers
                    second = list(selector.groups_).index(again.groups_[second])
        found.append(Close(step + 1, float(margin), others, second))
    return found


def _order(path: Any) -> list[int]:
    """Return the features of a path, or the numbers of its groups, in the order of selection."""
    order: list[int] = (path.order if hasattr(path, "order") else path.support).tolist()
    return order


def standard_columns(X: FloatArray, weight: FloatArray | None, intercept: bool) -> FloatArray:
    """Return the columns with unit norm, centred if there is an intercept; constant columns become zero."""
    w = np.ones(len(X)) if weight is None else weight
    Z = X - np.average(X, axis=0, weights=w) if intercept else X
    Z = Z * np.sqrt(w)[:, None]
    Z[:, constant_columns(X, intercept)] = 0
    norms = np.linalg.norm(Z, axis=0)
    return np.asarray(Z / np.where(norms > 0, norms, 1))


def constant_columns(X: FloatArray, intercept: bool) -> list[int]:
    """Return the columns that explain nothing: constant columns with an intercept, zero columns without."""
    low, high = X.min(axis=0), X.max(axis=0)
    same = low == high if intercept else (low == 0) & (high == 0)
    return [int(j) for j in np.flatnonzero(same)]


def look_alikes(Z: FloatArray, S: Sequence[int], units: Sequence[str]) -> list[tuple[int, int, float]]:
    """Return pairs of columns that can replace each other, as (selected, not selected, correlation).

    Z : the standard columns.
    S : the selected columns.
    units : the column of the table to which each column belongs; only those of different ones are compared.
    """
    C = Z[:, S].T @ Z
    C[:, S] = 0
    pairs = np.argwhere(np.abs(C) >= ALIKE)
    return [(S[i], int(j), float(C[i, j])) for i, j in pairs if units[S[i]] != units[j]]


def uncertain_coefficients(Z: FloatArray, S: Sequence[int]) -> list[tuple[int, float]]:
    """Return the selected columns whose variance inflation factor exceeds INFLATED.

    The factor of column j is ‖z_j‖²/ρ_j², where z_j is its standard column in Z, and ρ_j the distance of z_j
    from the span of the other selected columns.
    """
    found = []
    for i, j in enumerate(S):
        others = Z[:, np.delete(S, i)]
        left = Z[:, j] - others @ np.linalg.lstsq(others, Z[:, j])[0]
        square = float(left @ left)
        factor = 1 / square if square > 0 else np.inf
        if factor > INFLATED and Z[:, j].any():
            found.append((j, factor))
    return found
