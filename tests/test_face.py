"""Least squares on a face, against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from fractional import dot, fractions, gram, solve

from sparselin import Problem
from sparselin.linalg.face import Face

EPS = 2.0**-52


def exact_balance(X, f, g):
    """r and x of r + Xx = f, Xᵀr = g."""
    X, f, g = fractions(X.T), fractions(f), fractions(g)
    x = solve(gram(X), [dot(u, f) - c for u, c in zip(X, g, strict=True)])
    return [a - sum(u[i] * b for u, b in zip(X, x, strict=True)) for i, a in enumerate(f)], x


@pytest.mark.parametrize("noise", [1e-1, 1e-4, 1e-8, 1e-12])
def test_refined_to_twice_the_precision_and_within_its_bounds(noise):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10, 4)) @ rng.normal(size=(4, 7)) + noise * rng.normal(size=(10, 7))
    y, signs = rng.normal(size=10), np.sign(rng.normal(size=7))
    face = Face(Problem(X, y), 8 * EPS)
    assert all(face.append(j) for j in range(7))
    face.remove(2)
    assert face.append(2)
    J = face.index
    for f, g in ((y, np.zeros(7)), (np.zeros(10), signs)):
        found = face.balance(f, g)
        r, x = exact_balance(X[:, J], f, g)
        assert found.sound
        r_off = [
            float(a - Fraction(b) - Fraction(c)) for a, b, c in zip(r, found.r, found.r_low, strict=True)
        ]
        x_off = [
            float(a - Fraction(b) - Fraction(c)) for a, b, c in zip(x, found.x, found.x_low, strict=True)
        ]
        assert np.linalg.norm(r_off) <= found.r_error <= 1e-15 * np.linalg.norm(found.r)
        assert np.all(np.abs(x_off) <= found.x_error)
        assert np.all(found.x_error <= 1e-14 * np.abs(found.x).max())


def test_a_column_in_the_span_to_rounding_is_refused_whatever_the_condition():
    """Nearly dependent columns do not make a third one, off their span by 1e-9, count as dependent."""
    rng = np.random.default_rng(0)
    a, b, c, e = rng.normal(size=(4, 20))
    X = np.stack([a, a + 1e-9 * b, a + 1e-9 * c, a + 2e-9 * b, e], axis=1)
    face = Face(Problem(X, e), 8 * EPS)
    assert [face.append(j) for j in range(3)] == [True] * 3
    assert face.kappa > 1e8
    twice = Face(Problem(np.stack([a, 3 * a + b, b, e], axis=1), e), 8 * EPS)
    assert [twice.append(j) for j in range(4)] == [True, True, False, True]
    assert twice.in_span(np.arange(4))[0].all()
