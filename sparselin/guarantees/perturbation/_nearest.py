"""The search for a witness: data near the given ones for which a gap is closed.

For one gap, the change of size ε that closes it with the smallest ε moves each column against the gradient of
the gap with respect to this column, at the changed data. The search alternates: it finds the ε at which the
gap is zero along a direction, then the gradient there. At first the direction is that of the gradient at
the given data, so ε is gap/K to first order. The changed data are then rounded to floats, and checked in
integers.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sparselin.guarantees.perturbation import _exact
from sparselin.guarantees.perturbation._greedy import project_off
from sparselin.results import FloatArray, IndexArray

_ROUNDS = 6
_GROWTH = (0.0, *(2.0**-p for p in range(46, 2, -4)))
_TURNS = tuple(2.0**p - 1 for p in range(0, 40, 4))
_Gap: TypeAlias = "Callable[[FloatArray, FloatArray], tuple[float, FloatArray, FloatArray]]"


@dataclasses.dataclass(frozen=True, eq=False)
class Focus:
    """A gap, and the columns on which it depends.

    columns : the features that the gap depends on: those selected before, then the pick and the rival; or the
        active features, then the one that may enter.
    gap : a function of these columns (n, m), without an intercept, and of y (n,): the gap, and its gradients
        (n, m) and (n,).
    closed : a function of the same arrays as they are, with the column of ones first if there is one: whether
        the gap is closed, in exact arithmetic.
    """

    columns: IndexArray
    gap: _Gap
    closed: Callable[[FloatArray, FloatArray], bool]


@dataclasses.dataclass(frozen=True, eq=False)
class Change:
    """A change of the data that closes a gap.

    size : its size ε, rounded up: the least float with ‖ΔX_j‖ ≤ ε‖X_j‖ for all j and ‖Δy‖ ≤ ε‖y‖.
    columns : the features that change.
    X : (n, m) these columns after the change.
    y : (n,) y after the change.
    rival : the feature that is picked or ties; −1 if there is none.
    """

    size: float
    columns: IndexArray
    X: FloatArray
    y: FloatArray
    rival: int = -1


def search(
    focus: Focus, X: FloatArray, y: FloatArray, ones: FloatArray | None, guess: float, of_y: bool, best: float
) -> Change | None:
    """Return a small change that closes a gap; None if none was found that is smaller than `best`.

    X : (n, m) the columns of the focus, as they are.
    ones : the column of ones, or None.
    guess : the size of the change to first order.
    """
    if focus.closed(X, y):
        return Change(size=0.0, columns=focus.columns, X=X, y=y)
    # the gradients are combinations of the columns and y, so all changes are in the span of these
    basis, R = np.linalg.qr(_centre(np.column_stack([X, y]), ones))
    start_X = R[:, :-1]
    start_y = R[:, -1]
    lengths = np.linalg.norm(start_X, axis=0)
    length = float(np.linalg.norm(start_y))
    found: tuple[float, FloatArray, FloatArray] | None
    if guess == 0:
        found = _turn(focus, start_X, start_y)
    else:
        found = _closest(focus.gap, start_X, start_y, 0 if of_y else lengths, length, guess)
    if found is None or found[0] >= best:
        return None
    eps = found[0]
    down = basis @ found[1]
    down_y = basis @ found[2]
    for growth in _GROWTH if guess else _TURNS:
        new = X - eps * (1 + growth) * down
        new_y = y - eps * (1 + growth) * down_y
        if focus.closed(new, new_y):
            pairs = [*zip(X.T, new.T, strict=True), (y, new_y)]
            square = max(_exact.size_of_change(ones, a, b) for a, b in pairs)
            return Change(size=_root_above(square), columns=focus.columns, X=new, y=new_y)
    return None


def _closest(
    gap: _Gap, X: FloatArray, y: FloatArray, lengths: FloatArray | int, length: float, guess: float
) -> tuple[float, FloatArray, FloatArray] | None:
    """Return a size at which the gap is zero, and the directions of the change of X and y, or None.

    lengths, length : the lengths of the columns that may move, and of y.
    """
    found: tuple[float, FloatArray, FloatArray] | None = None
    place = X
    place_y = y
    for _ in range(_ROUNDS):
        _, gradient, gradient_y = gap(place, place_y)
        down = _unit(gradient) * lengths
        down_y = _unit(gradient_y) * length

        def gap_at(eps: float, down: FloatArray = down, down_y: FloatArray = down_y) -> float:
            return gap(X - eps * down, y - eps * down_y)[0]

        eps = _root(gap_at, found[0] if found else guess)
        if eps is None or (found and eps >= found[0] * (1 - 1e-6)):
            break
        found = eps, down, down_y
        place = X - eps * down
        place_y = y - eps * down_y
    return found


def _turn(focus: Focus, X: FloatArray, y: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return a small change that turns the last column, which is in the span of S, towards the residual."""
    k = len(focus.columns) - 2
    r = project_off(np.linalg.qr(X[:, :k])[0].T, y)
    down = np.zeros_like(X)
    down[:, -1] = -_unit(r) * np.linalg.norm(X[:, -1])
    return 2.0**-50, down, np.zeros_like(y)


def _root(gap_at: Callable[[float], float], start: float) -> float | None:
    """Return the first zero of gap_at that was found from 0 upwards, or None."""
    from scipy.optimize import brentq

    if not 0 < start < math.inf:
        return None
    low = 0.0
    high = start
    for _ in range(40):
        if gap_at(high) <= 0:
            return float(brentq(gap_at, low, high, xtol=1e-10 * high, rtol=1e-10))
        low = high
        high *= 1.3
    return None


def _root_above(square: Fraction) -> float:
    """Return a float that is at least √square, and at most two floats above it."""
    value = math.sqrt(float(square))
    while Fraction(value) ** 2 < square:
        value = math.nextafter(value, math.inf)
    return value


def _centre(X: FloatArray, ones: FloatArray | None) -> FloatArray:
    """Project X (n,) or (n, m) off the column of ones, if there is one."""
    if ones is None:
        return X
    for _ in range(2):
        X = (
            X - np.multiply.outer(ones, ones @ X / (ones @ ones))
            if X.ndim > 1
            else X - ones * (ones @ X) / (ones @ ones)
        )
    return X


def _unit(X: FloatArray) -> FloatArray:
    """Divide each column by its length; zero columns stay zero."""
    lengths = np.linalg.norm(X, axis=0)
    return np.asarray(X / np.where(lengths > 0, lengths, 1))


# The gaps and their gradients, for columns without an intercept.


def omp_gap(
    X: FloatArray, y: FloatArray, k: int, sign: float, sigma: float, length: float | None
) -> tuple[float, FloatArray, FloatArray]:
    """Return the gap of OMP for X = (X_S, X_i, X_j) with k columns in S, and its gradients.

    sign : s_i.
    length : the length of standardized columns, else None.

    Without a rival, X_j is missing.
    """
    raw = X
    X = X if length is None else _unit(X) * length
    S = X[:, :k]
    weights = np.array([1.0, -sigma])[: X.shape[1] - k]
    Q, R = _qr(S)
    x = np.asarray(X[:, k:] @ weights, np.float64)
    z = project_off(Q.T, x)
    r = project_off(Q.T, y)
    w = _solve(R, Q.T @ x)
    b = _solve(R, Q.T @ y)
    gradient: FloatArray = np.column_stack([-(np.outer(z, b) + np.outer(r, w)), np.outer(r, weights)]) * sign
    if length is not None:
        gradient = _chain(raw, gradient, length)
    return float(sign * (z @ r)), gradient, sign * z


def ols_gap(
    X: FloatArray, y: FloatArray, k: int, sign: float, sigma: float
) -> tuple[float, FloatArray, FloatArray]:
    """Return the gap of OLS for X = (X_S, X_i, X_j) with k columns in S, and its gradients."""
    S = X[:, :k]
    weights = np.array([1.0, -sigma])[: X.shape[1] - k]
    Q, R = _qr(S)
    Z = project_off(Q.T, X[:, k:])
    rho = np.linalg.norm(Z, axis=0)
    rho = np.where(rho > 0, rho, 1)
    q = Z / rho
    r = project_off(Q.T, y)
    h = r[:, None] - q * (q.T @ r)
    W = _solve(R, Q.T @ X[:, k:])
    b = _solve(R, Q.T @ y)
    zeta = q @ weights
    parts = h * (weights / rho)
    gradient = np.column_stack([-(np.outer(zeta, b) + parts @ W.T), parts]) * sign
    return float(sign * (zeta @ r)), gradient, sign * zeta


def lasso_gap(
    X: FloatArray, y: FloatArray, signs: FloatArray, lam: float, row: int, sign: float, length: float | None
) -> tuple[float, FloatArray, FloatArray]:
    """Return a gap of the LASSO at λ, for X = (X_A, X_j) or X = X_A, and its gradients.

    row : the column of A whose coefficient must keep its sign, if X = X_A.
    sign : this sign; or σ, if X_j must stay below σλ.
    """
    raw = X
    X = X if length is None else _unit(X) * length
    k = len(signs)
    A = X[:, :k]
    Q, R = _qr(A)
    gradient: FloatArray
    of_y: FloatArray
    u = np.linalg.solve(R.T, signs) if k else signs
    beta = _solve(R, Q.T @ y - lam * u)
    r = project_off(Q.T, y) + lam * (Q @ u)
    if X.shape[1] == k:
        unit = np.equal(np.arange(k), row).astype(float)
        column = _solve(R, np.linalg.solve(R.T, unit))
        g = A @ column
        value = sign * beta[row]
        gradient = sign * (np.outer(r, column) - np.outer(g, beta))
        of_y = sign * g
    else:
        x = X[:, k]
        z = project_off(Q.T, x)
        w = _solve(R, Q.T @ x)
        value = lam - sign * (x @ r)
        gradient = np.column_stack([sign * (np.outer(z, beta) + np.outer(r, w)), -sign * r])
        of_y = -sign * z
    if length is not None:
        gradient = _chain(raw, gradient, length)
    return float(value), gradient, of_y


def _qr(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    Q, R = np.linalg.qr(X)
    return np.asarray(Q, np.float64), np.asarray(R, np.float64)


def _solve(R: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(R, b)) if len(R) else b


def _chain(raw: FloatArray, gradient: FloatArray, length: float) -> FloatArray:
    """Return the gradients for raw columns, given those for the same columns scaled to a fixed length."""
    norms = np.linalg.norm(raw, axis=0)
    unit = raw / norms
    return np.asarray((gradient - unit * (unit * gradient).sum(axis=0)) * (length / norms))
