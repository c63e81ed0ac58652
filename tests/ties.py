"""Designs full of ties, on which the peers err. TIED_DESIGNS=10000 is the thorough sweep."""

import os

import numpy as np
import scipy.linalg

DESIGNS = int(os.environ.get("TIED_DESIGNS", "400"))
KINDS = ("integers", "duplicates", "hadamard", "equiangular")


def tied(kind, n, rng):
    y = rng.integers(-3, 4, n).astype(float)
    if kind == "integers":
        return rng.integers(-1, 2, (n, 12)).astype(float), y
    if kind == "duplicates":
        X = rng.normal(size=(n, 6))
        return np.c_[X, X[:, rng.integers(0, 6, 6)] * rng.choice([-1, 1], 6)], rng.normal(size=n)
    if kind == "hadamard":
        H = scipy.linalg.hadamard(32).astype(float)
        return H[rng.choice(32, n, replace=False)][:, rng.permutation(32)[:16]], y
    return np.linalg.cholesky(np.full((n, n), 0.5) + 0.5 * np.eye(n)).T, y
