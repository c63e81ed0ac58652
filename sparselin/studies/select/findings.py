"""Reasons to distrust a selection: close picks, nearly dependent columns, codes of missing values."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

import sparselin as sl
from sparselin.greedy._bases import GroupBases
from sparselin.greedy._units import weights_of_groups
from sparselin.problem.errors import EPS
from sparselin.results import FloatArray, SelectionPath

# A pick is close if its margin is below CLOSE. A column can replace another one if the modulus of their
# correlation is at least ALIKE. A coefficient is uncertain if its variance inflation exceeds INFLATED.
CLOSE = 0.01
ALIKE = 0.99
INFLATED = 10.0
_CELLS = 10**7  # `stays_up_to` takes about the time of the path
# see `missing_codes`
_FAR = 3.0
_NINES = re.compile(r"9+(\.9+)?|9+[678]")


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


def stays_up_to(path: SelectionPath, X: FloatArray, y: Any, weight: FloatArray | None) -> FloatArray:
    """Return for each step of a path a size of change that leaves the picks up to this step as they are.

    It is the least of the lower bounds of `condition` up to the step, because the bound of a step assumes
    the picks before it. The entries are NaN for forced features, and all entries if X has more than _CELLS
    cells or the forced features are dependent.
    """
    unknown = np.full(len(path), np.nan)
    if X.size > _CELLS:
        return unknown
    try:
        found = sl.condition(X, y, path, sample_weight=weight)
    except ValueError:  # of dependent features
        return unknown
    return np.asarray(np.fmin.accumulate(found.lowers)) if len(path) else unknown


def close_decisions(selector: Any, X: Any, y: Any, weight: FloatArray | None) -> list[Close]:
    """Return the picks of a fitted selector that had a small margin.

    X, y, weight : the data that the selector was fitted to.

    To find the feature that would be picked instead, the selector is fitted again without the picked feature.
    It then takes the same features before this step, and the feature sought at this step. Among groups, whose
    weights depend on their number, the scores of this step are computed instead.
    """
    path = selector.path_
    found = []
    order = (path.order if hasattr(path, "order") else path.support).tolist()
    for step, (pick, margin) in enumerate(zip(order, path.margin, strict=True)):
        if not margin < CLOSE:  # NaN for a forced feature, and for methods that have no margin
            continue
        others = tuple(i for i in path.ties[step] if i != pick)
        second = None
        if not others and hasattr(path, "order"):
            scores = group_scores(selector, X, y, weight, step)
            scores[order[: step + 1]] = -1
            second = int(np.argmax(scores))
        elif not others:
            again = clone(selector).set_params(n_features_to_select=step + 1, exclude=[pick])
            support = again.fit(X, y, weight).path_.support
            second = int(support[step]) if len(support) > step else None
        found.append(Close(step + 1, float(margin), others, second))
    return found


def group_scores(selector: Any, X: Any, y: Any, weight: FloatArray | None, step: int) -> FloatArray:
    """Return the scores of all groups at a step of group OMP, up to a common factor.

    The score of group g is ‖X_gᵀ(w∘(y − μ))‖/w_g, where w are the weights of the rows, μ the means that the
    model predicts, and w_g the weight of the group.
    """
    path = selector.path_
    w = np.ones(len(y)) if weight is None else weight
    target = y == selector.classes_[1] if selector.classes_ is not None else y
    left = w * (target - path.predict(X, step)[:, 0])
    A = np.asarray(X, np.float64)
    if path.standardized:
        centre = np.average(A, axis=0, weights=w) if path.with_intercept else 0.0
        scale = np.sqrt(np.average((A - centre) ** 2, axis=0, weights=w))
        A = A / np.where(scale > 0, scale, 1)
    if selector.group_weights == "noise":
        A = GroupBases(A, path.groups, weight, path.with_intercept).X
    norms = np.sqrt(np.bincount(path.groups, (A.T @ left) ** 2))
    return np.asarray(norms / weights_of_groups(selector.group_weights, np.bincount(path.groups)))


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
    S : the selected columns that are compared.
    units : the feature to which each column belongs; features of several columns are not compared.
    """
    C = Z[:, S].T @ Z
    C[:, S] = 0
    pairs = np.argwhere(np.abs(C) >= ALIKE)
    return [(S[i], int(j), float(C[i, j])) for i, j in pairs if units.count(units[j]) == 1]


def uncertain_coefficients(Z: FloatArray, S: Sequence[int], among: Sequence[int]) -> list[tuple[int, float]]:
    """Return the columns of `among` whose variance inflation factor exceeds INFLATED.

    S : the selected columns.

    The factor of column j is ‖z_j‖²/ρ_j², where z_j is its standard column in Z, and ρ_j the distance of z_j
    from the span of the other selected columns.
    """
    found = []
    for j in among:
        others = Z[:, [i for i in S if i != j]]
        left = Z[:, j] - others @ np.linalg.lstsq(others, Z[:, j])[0]
        square = float(left @ left)
        factor = 1 / square if square > 0 else np.inf
        if factor > INFLATED and Z[:, j].any():
            found.append((j, factor))
    return found


def missing_codes(values: FloatArray) -> tuple[list[tuple[float, int]], float, float]:
    """Return the values that may be codes for a missing value, with their counts, and the range of the rest.

    A candidate is written with nines, such as −999, 99.9 or 98 (the last digit may be 6, 7 or 8, for other
    answers without a number), or it is the least or the largest value, repeated and not zero. The rest must
    have four distinct values. A candidate is a code if its distance from the range of the rest exceeds the
    length of this range, or _FAR times the length if it is not written with nines. So 9 among 1, …, 4 is a
    code, and 99 among ages is not.
    """
    distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(distinct) < 5:
        return [], np.nan, np.nan
    nines = np.array([_NINES.fullmatch(f"{abs(value):.10g}") is not None for value in distinct])
    candidate = nines.copy()
    candidate[[0, -1]] |= (counts[[0, -1]] > 1) & (distinct[[0, -1]] != 0)
    rest = distinct[~candidate]
    if len(rest) < 4:
        return [], np.nan, np.nan
    low, high = float(rest[0]), float(rest[-1])
    far = np.maximum(low - distinct, distinct - high) > np.where(nines, 1.0, _FAR) * (high - low)
    found = np.flatnonzero(candidate & far)
    return [(float(distinct[i]), int(counts[i])) for i in found], low, high


def is_copy(x: FloatArray, y: FloatArray) -> float:
    """Return the slope b if y is a + b·x up to the rounding of the digits that both have, else 0.

    Let u and v be half a unit in the last digit of y and of x. If the numbers before rounding satisfy
    y = a + b·x, then |y_i − a − b·x_i| ≤ h for all rows, where h = u + |b|·v. The line of least squares is no
    worse, so the root mean square of its residuals is at most h. Its slope b̂ differs from b by at most
    h/sd(x), so that h ≤ (u + |b̂|·v)/(1 − v/sd(x)). If h is at most 0.03·sd(y), then |b|·v ≤ h and
    |b|·sd(x) ≥ sd(y) − h, so v/sd(x) ≤ 0.03/0.97, and the denominator is at least 0.96. If h is larger, the
    digits are too few to tell, and the answer is 0.
    """
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < 3 or not np.ptp(x) or not np.ptp(y):
        return 0.0
    s, z = x - x.mean(), y - y.mean()
    slope = float(s @ z / (s @ s))
    h = (half_unit(y) + abs(slope) * half_unit(x)) / 0.96
    rms = float(np.sqrt(np.mean((z - slope * s) ** 2)))
    return slope if rms <= h <= 0.03 * float(np.std(y)) else 0.0


def half_unit(values: FloatArray) -> float:
    """Return half a unit in the last decimal with which numbers are written.

    If they have more than 15 significant digits, it is the rounding error of their arithmetic instead, where
    the mean of n numbers has a relative error of about log₂ n units.
    """
    largest = float(np.abs(values).max())
    rounding = EPS * (4 + np.log2(len(values))) * largest
    for decimals in range(16):
        if largest * 10.0**decimals >= 1e15:
            break
        scaled = values * 10.0**decimals
        if np.all(np.abs(scaled - np.rint(scaled)) <= 4 * EPS * np.abs(scaled)):
            return float(0.5 * 10.0**-decimals + rounding)
    return float(rounding)
