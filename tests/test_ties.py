"""T, λ* and statuses beside exact arithmetic, where X_S is ill-conditioned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sparselin as sl
from sparselin.linalg.thin_qr import ThinQR
from sparselin.ties import Scores, argmax, measure, tied_at_maximum


def dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def exact_steps(X, y, support, forced):
    """c (by column) at each step after the forced ones, in rationals, given what is taken."""
    columns = [[Fraction(float(v)) for v in column] for column in X.T]
    rest, r = [column[:] for column in columns], [Fraction(float(v)) for v in y]
    for t, i in enumerate(support):
        if t >= forced:
            yield t, [dot(column, r) for column in columns], list(rest)
        q = rest[i]
        square = dot(q, q)
        share = dot(q, r) / square
        r = [a - share * b for a, b in zip(r, q, strict=True)]
        for j in range(len(rest)):
            part = dot(q, rest[j]) / square
            rest[j] = [a - part * b for a, b in zip(rest[j], q, strict=True)]


def offset_design(rng, offset, y_offset, n=24, d=8):
    Z = rng.standard_normal((n, d))
    y = y_offset + 3 * Z[:, 0] - 2 * Z[:, 5] + Z[:, 7] + 0.1 * rng.standard_normal(n)
    return np.column_stack([np.ones(n), offset + Z]), y


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("y_offset", [0.0, 1e3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_intercept_and_uncentred_columns(offset, y_offset, order, rng):
    """Years, prices, time stamps: what is left of a column is 1e-6 of it, and all of what matters."""
    X, y = offset_design(rng, offset, y_offset)
    X = np.asarray(X, order=order)
    for path in (sl.omp(X, y, 8, forced=[0]), sl.sequential_lasso(X, y, 8, method="omp", forced=[0])):
        assert path.status is sl.Status.COMPLETED
        for t, c, _ in exact_steps(X, y, path.support, 1):
            assert max(range(9), key=lambda j: (abs(c[j]), -j)) == path.support[t]
            assert path.ties[t] == (path.support[t],)
            assert path.lam_star[t] == pytest.approx(float(abs(c[path.support[t]])), rel=1e-6)
    path = sl.ols(X, y, 8, forced=[0])
    assert path.status is sl.Status.COMPLETED
    for t, c, rest in exact_steps(X, y, path.support, 1):
        score = [dot(z, z) and c[j] ** 2 / dot(z, z) for j, z in enumerate(rest)]
        assert int(np.argmax(score)) == path.support[t]
        assert path.ties[t] == (path.support[t],)


def test_the_largest_is_not_dropped_because_its_bound_is_large():
    """A column of length 1e8 beside a nearly dependent S: |c| = 1 is below what its bound by κ was."""
    X = np.array([[1.0, 1, 1e8, 0], [0, 2.0**-23, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.5]])
    y = np.ones(4)
    path = sl.omp(X, y, 3, forced=[0, 1])
    assert path.support[2] == 2
    assert path.ties[2] == (2,)
    assert path.lam_star[2] == pytest.approx(1)
    assert sl.ols(X, y, 3, forced=[0, 1]).ties[2] == (2, 3)  # both fall by all that there is: 1 and 1/4 : 1/4


def test_what_may_be_the_largest_is_tied_though_it_may_be_zero():
    """|c| = (1, 0 ± 2): the second cannot be excluded, and the first is what is certainly not zero."""
    c, error = np.array([0.0, 1.0]), np.array([2.0, 0.1])
    assert tied_at_maximum(c, error)[1].tolist() == [0, 1]
    best, _ = argmax(c, error, [], lambda J: Scores(c[J], error[J], 1.0))
    assert best.tied == (0, 1)
    assert best.pick == 1


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("scale", [1.0, 2.0**20])
def test_measured_errors_bound_those_that_are_made(apart, scale, rng):
    """Beside a nearly dependent S, in rationals: |ĉ − c| ≤ e, and e as small as rounded data allow."""
    for _ in range(5):
        X = rng.standard_normal((9, 6)) * np.array([1, 1, 1, 1, scale, 1 / scale])
        X[:, 1] = X[:, 0] + apart * X[:, 1]
        y = rng.standard_normal(9)
        problem = sl.Problem(X, y)
        beside = measure(ThinQR(problem, [0, 1, 2]), np.array([3, 4, 5]))
        *_, (_, c, rest) = exact_steps(X, y, [0, 1, 2, 3], 3)
        exact = np.array([float(v) for v in c[3:]])
        length = np.array([float(dot(z, z)) ** 0.5 for z in rest[3:]])
        assert np.all(np.abs(beside.c - exact) <= beside.error)
        assert np.all(np.abs(beside.length - length) <= beside.length_error)
        assert np.all(beside.error <= 1e-13 / apart * problem.column_norms[3:] * problem.y_norm)


def test_a_clear_column_is_not_concerned_by_the_condition_of_the_others(rng):
    """S is dependent to 1e-9; y and the columns left have no part in that, and their errors are eps."""
    Q = np.linalg.qr(rng.standard_normal((30, 8)))[0]
    X = Q.copy()
    X[:, 1] = Q[:, 0] + 1e-9 * Q[:, 1]
    problem = sl.Problem(X, Q[:, 0] + Q[:, 2:] @ np.arange(1.0, 7.0))
    qr = ThinQR(problem, [0, 1])
    assert qr.kappa > 1e9
    beside = measure(qr, np.arange(2, 8))
    assert np.all(beside.error <= 1000 * problem.eps * problem.y_norm)
