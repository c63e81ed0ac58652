"""Gradient flow on w∘θ: events in rational arithmetic, a stiff solver at finite α, the LASSO, OMP."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sparselin as sl

# An independent method: the events in rational arithmetic, and faces by enumeration of active sets


def solve(A, b):
    """The solution of a square rational system, or None if it is singular."""
    rows, n = [[*row, v] for row, v in zip(A, b, strict=True)], len(b)
    for i in range(n):
        k = next((k for k in range(i, n) if rows[k][i]), None)
        if k is None:
            return None
        rows[i], rows[k] = rows[k], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                rows[k] = [v - rows[k][i] * w for v, w in zip(rows[k], rows[i], strict=True)]
    return [row[n] for row in rows]


def face(G, b, signs, S):
    """All vertices of the solutions on a face: {j: β_j}, and c = Xᵀ(y − Xβ)."""
    vertices, d = [], len(b)
    F = [j for j in range(d) if signs[j] and j not in S]
    for k in range(len(F) + 1):
        for P in itertools.combinations(F, k):
            J = [*S, *P]
            beta = solve([[G[i][j] for j in J] for i in J], [b[i] for i in J])
            if beta is None or any(signs[j] * beta[J.index(j)] <= 0 for j in P):
                continue
            c = [b[i] - sum(G[i][j] * v for j, v in zip(J, beta, strict=True)) for i in range(d)]
            if all(signs[j] * c[j] <= 0 for j in F):
                vertices.append((dict(zip(J, beta, strict=True)), c))
    return vertices


def exact_flow(X, y, S=()):
    """The events (τ, s, c, support, number of vertices) in rational arithmetic; X and y are integers."""
    X, y = np.asarray(X).astype(int).tolist(), np.asarray(y).astype(int).tolist()
    d = len(X[0])
    G = [[Fraction(sum(row[i] * row[j] for row in X)) for j in range(d)] for i in range(d)]
    b = [Fraction(sum(row[i] * v for row, v in zip(X, y, strict=True))) for i in range(d)]
    tau, s, signs, out = Fraction(0), [Fraction(0)] * d, [0] * d, []
    ((_, c),) = face(G, b, signs, S)
    while True:
        steps = [((1 if c[j] > 0 else -1) - s[j]) / c[j] for j in range(d) if c[j]]
        if not steps:
            return out
        tau += min(steps)
        s = [v + min(steps) * w for v, w in zip(s, c, strict=True)]
        signs = [int(v) if abs(v) == 1 else 0 for v in s]
        vertices = face(G, b, signs, S)
        c = vertices[0][1]
        assert all(v[1] == c for v in vertices)
        support = sorted({j for beta, _ in vertices for j in beta if j not in S})
        out.append((tau, s, c, support, len(vertices)))


def hard_design(seed):
    """Small integers, with duplicates, opposite columns, a sum of columns, a zero column; and S."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 6), rng.integers(1, 7)
    X = rng.integers(-2, 3, (n, d))
    for j in range(d):
        kind = rng.integers(6)
        if kind == 0:
            X[:, j] = rng.choice([-1, 1]) * X[:, rng.integers(d)]
        elif kind == 1:
            X[:, j] = X[:, rng.integers(d)] + X[:, rng.integers(d)]
    S = rng.permutation(d)[: rng.integers(0, 3)] if seed % 4 == 0 else np.zeros(0, int)
    S = [int(j) for k, j in enumerate(S) if np.linalg.matrix_rank(X[:, S[: k + 1]]) == k + 1][:1]
    return X.astype(float), rng.integers(-3, 4, n).astype(float), S


@pytest.mark.parametrize("block", range(4))
def test_events_are_those_of_rational_arithmetic(block):
    for seed in range(100 * block, 100 * block + 100):
        X, y, S = hard_design(seed)
        exact, path = exact_flow(X, y, S), sl.gradient_flow(X, y, forced=S)
        assert path.status == sl.Status.COMPLETED, seed
        assert len(path) == len(exact), seed
        for k, (tau, s, c, support, vertices) in enumerate(exact):
            assert abs(path.tau[k] - tau) <= 1e-11 * tau, seed
            assert np.abs(path.s[k] - np.array(s, float)).max() <= path.s_error[k] <= 1e-10, seed
            size = np.linalg.norm(X, axis=0).max() * np.linalg.norm(y)
            assert np.abs(X.T @ (y - X @ path.coef[k]) - np.array(c, float)).max() <= 1e-11 * size, seed
            assert list(path.supports[k]) == support, seed
            assert path.unique[k] == (vertices == 1), seed
