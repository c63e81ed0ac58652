"""R² of sets of columns in exact rational arithmetic, and what is defined by it; nearly dependent designs."""

import itertools

import numpy as np
from flint import fmpq, fmpq_mat


class ExactR2:
    """R²(S) of the floats as they are: 1 − the last Schur complement of the Gram matrix of (X_S, y)."""

    def __init__(self, X, y):
        M = np.column_stack([X, y])
        entries = [fmpq(*float(x).as_integer_ratio()) for x in M.ravel()]
        A = fmpq_mat(*M.shape, entries)
        G = A.transpose() * A
        self.last = M.shape[1] - 1
        self.G = [[G[i, j] for j in range(self.last + 1)] for i in range(self.last + 1)]
        self.known = {}

    def __call__(self, S):
        S = tuple(sorted(S))
        if S not in self.known:
            A = [[self.G[i][j] for j in (*S, self.last)] for i in (*S, self.last)]
            for p in range(len(S)):
                if A[p][p] != 0:
                    for i in range(p + 1, len(A)):
                        ratio = A[i][p] / A[p][p]
                        A[i] = [x - ratio * z for x, z in zip(A[i], A[p], strict=True)]
            square = self.G[self.last][self.last]
            self.known[S] = 1 - A[-1][-1] / square if square != 0 else fmpq(0)
        return self.known[S]

    def best(self, d, k):
        return max(self(S) for S in itertools.combinations(range(d), k))


def rational(x):
    return fmpq(*float(x).as_integer_ratio())


def number(x):
    return int(x.p) / int(x.q)


FAMILIES = ("clusters", "low rank", "scaled", "integers", "multiples", "rounded multiples")


def nearly_dependent(family, rng, noise=None):
    """X and y: d ≤ 7; noise from 0.1 to 1e-10."""
    n, d = int(rng.integers(3, 10)), int(rng.integers(3, 8))
    noise = 10.0 ** rng.uniform(-10, -1) if noise is None else noise
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    if family in ("clusters", "scaled"):
        X = rng.standard_normal((n, 2))[:, rng.integers(0, rng.integers(1, 3), d)] + noise * X
    if family == "low rank":
        rank = int(rng.integers(1, d))
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * X
    if family == "scaled":
        X *= 10.0 ** rng.uniform(-3, 3, d)
    if family == "integers":
        X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, n).astype(float)
    if "multiples" in family:
        factors = [3.0, -1.7] if "rounded" in family else [1.0, -1.0, 2.0]
        X[:, rng.permutation(d)[: d // 2]] = X[:, rng.integers(0, d, d // 2)] * rng.choice(factors, d // 2)
    if rng.random() < 0.3:
        y = X @ rng.standard_normal(d) + 10.0 ** rng.uniform(-8, 0) * y
    return X, y
