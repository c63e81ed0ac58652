"""Designs to explain, and least squares on data that were prepared by hand."""

import numpy as np


def prepared(X, y, intercept, standardize, weights):
    """Centred, standardized and weighted by hand."""
    w = np.ones(len(y)) if weights is None else weights
    if intercept:
        X, y = X - np.average(X, axis=0, weights=w), y - np.average(y, weights=w)
    if standardize:
        X = X / np.sqrt(np.average(X**2, axis=0, weights=w))
    return X * np.sqrt(w)[:, None], y * np.sqrt(w)


def off(A, v):
    return v - A @ np.linalg.lstsq(A, v, rcond=None)[0] if A.shape[1] else v


def r2(A, y):
    return 1 - np.sum(off(A, y) ** 2) / np.sum(y**2)


def design(seed=3):
    """Return a design with column means, one column nearly determined by two others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) * [1, 2, 0.5, 1, 3, 1] + [5, 0, -2, 1, 0, 10]
    X[:, 4] = X[:, 0] + 2 * X[:, 1] + 0.05 * X[:, 4]
    return X, X @ [1.0, 1, 0, 0, 0, 0.5] + 0.3 * rng.standard_normal(30)
