"""Designs, and changes of them that leave results the same or change them in a known way.

A new invariance needs a generator of changes, and its name in `INVARIANCES`.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from methods import Levels

import sparselin as sl

N, EPS = 16, float(np.finfo(float).eps)


class Data(NamedTuple):
    """Integers X (n, d), y (n,), signals Y (n, 5), and levels."""

    X: np.ndarray
    y: np.ndarray
    Y: np.ndarray
    levels: Levels


def data(X, y, S, rng):
    Y = np.column_stack([y, X @ rng.integers(-2, 3, (X.shape[1], 4)) + rng.integers(-9, 10, (N, 4))])
    return Data(X, y, Y, Levels(0.5 * np.abs(X.T @ y).max(), 1e-4, S))


def designs():
    rng = np.random.default_rng(5)
    for name, d, S in (("tall", 9, (5, 0)), ("wide", 24, ())):
        X = rng.integers(-99, 100, (N, d)).astype(float)
        yield name, data(X, X[:, [1, 4, 6]] @ np.array([5, -4, 3]) + rng.integers(-99, 100, N), S, rng)
    H = scipy.linalg.hadamard(N)[rng.permutation(N)].astype(float)
    X = 7 * np.column_stack([H[:, 1:9], -H[:, 1:3], H[:, 2:4]])
    yield "ties", data(X, 7 * H[:, [1, 2, 3, 4, 5, 6, 9]] @ np.array([5, 5, -5, 3, 3, 1, 1]), (), rng)


DESIGNS = dict(designs())


class Change(NamedTuple):
    """A call (X, y, levels, options), and how its result follows from that of another."""

    now: tuple
    eps: float = 0.0  # 0: in every bit
    power: int = 2  # of κ
    order: Any = None  # column i of now is order[i] of was
    of_X: Any = 1.0  # a number, or one for each column
    of_y: float = 1.0
    Q: Any = None
    dtype: Any = np.float64
    was: tuple | None = None  # None: the design as it is


def rotation(X, y, levels):
    """Rotate X and y exactly: Q is a matrix of Hadamard over √n."""
    rng = np.random.default_rng(1)
    Q = scipy.linalg.hadamard(N)[rng.permutation(N)] * rng.choice([-1, 1], N) / np.sqrt(N)
    yield Change(now=(Q @ X, Q @ y, levels), eps=EPS, Q=Q)


def permutation(X, y, levels):
    """Permute the columns."""
    order = np.random.default_rng(2).permutation(X.shape[1])
    now = levels._replace(S=tuple(np.argsort(order)[list(levels.S)]))
    yield Change(now=(X[:, order], y, now), eps=EPS, order=order)


def scale(X, y, levels):
    """Scale X and y: by powers of two no bit changes; by others to rounding."""
    binary = [(2.0**40, 1), (2.0**-40, 1), (1, 2.0**300), (1, 2.0**-300), (2.0**-20, 2.0**6)]
    for a, b in [*binary, (3 * 2.0**40, 1), (1, 5 * 2.0**-40)]:  # of integers exact as well
        now = a * X, b * y, Levels(levels.lam * a * b, levels.nu / a, levels.S)
        yield Change(now=now, eps=0 if (a, b) in binary else EPS, of_X=a, of_y=b)


def lengths(X, y, levels):
    """Scale each column by a power of two: no bit changes."""
    powers = 2.0 ** np.random.default_rng(4).integers(-20, 21, X.shape[1])
    yield Change(now=(X * powers, y, levels), of_X=powers)


def layout(X, y, levels):
    """Change order, strides, lists, frames: no bit changes; sparse or by columns to rounding."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    one = y.ndim == 1
    twice = np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2, axis=0)[::2]
    turned = X[::-1, ::-1].copy()[::-1, ::-1], y[::-1].copy()[::-1]
    by_pandas = pandas.DataFrame(X), (pandas.Series if one else pandas.DataFrame)(y)
    by_polars = polars.DataFrame(X), (polars.Series if one else polars.DataFrame)(y)
    for now in (twice, turned, (X.tolist(), y.tolist()), by_pandas, by_polars):
        yield Change(now=(*now, levels))
    for form in (np.asfortranarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        yield Change(now=(form(X), y, levels), eps=EPS)


def dtype(X, y, levels):
    """Integers, and truth values, are float64 in every bit; float32 stays, to its rounding."""
    yield Change(now=(X.astype(int), y.astype(np.int32), levels))
    yield Change(now=(X > 0, y, levels), was=((X > 0) * 1.0, y, levels))
    single = X.astype(np.float32), y.astype(np.float32), levels
    yield Change(now=single, eps=float(np.finfo(np.float32).eps), dtype=np.float32)


def weights(X, y, levels):
    """Weights repeat rows; a Problem holds those of one y."""
    weight = np.random.default_rng(3).integers(0, 4, N)
    was = np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0), levels
    yield Change(now=(X, y, levels, {"sample_weight": weight}), eps=EPS, was=was)
    if y.ndim == 1:
        yield Change(now=(sl.Problem(X, y, sample_weight=weight), None, levels), eps=EPS, was=was)


def intercept(X, y, levels):
    """Constants added to columns and to y change only the intercept, if there is one."""
    offset, option = np.random.default_rng(6).integers(-50, 51, X.shape[1]), {"intercept": True}
    yield Change(now=(X + offset, y + 33, levels, option), eps=EPS, was=(X, y, levels, option))
    yield Change(
        now=(sl.Problem(X + offset, y + 33, **option), None, levels), eps=EPS, was=(X, y, levels, option)
    )


def read_only(X, y, levels):
    """Data are left alone."""
    locked = X.copy(), y.copy()
    for array in locked:
        array.flags.writeable = False
    yield Change(now=(*locked, levels))


def problem(X, y, levels):
    """A Problem stands for the data, in every bit."""
    yield Change(now=(sl.Problem(X, y), None, levels))


def gram(X, y, levels):
    """The Gram matrix, Xᵀy and ‖y‖² stand for the data, to their rounding."""
    yield Change(now=(sl.Problem.from_gram(X.T @ X, X.T @ y, y @ y), None, levels), eps=EPS, power=4)


def noise(X, y, levels):
    """Noise in the last bit of each entry moves results by its size."""
    rng = np.random.default_rng(7)
    X_noise, y_noise = (1 + EPS * rng.integers(-1, 2, data.shape) for data in (X, y))
    yield Change(now=(X * X_noise, y * y_noise, levels), eps=EPS)


def runs(X, y, levels):
    """Runs are equal in every bit."""
    yield Change(now=(X, y, levels))


INVARIANCES = {
    "rotation": rotation,
    "permutation": permutation,
    "scale": scale,
    "lengths": lengths,
    "layout": layout,
    "dtype": dtype,
    "weights": weights,
    "intercept": intercept,
    "read-only": read_only,
    "Problem": problem,
    "Gram": gram,
    "noise": noise,
    "runs": runs,
}
