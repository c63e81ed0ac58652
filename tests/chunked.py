"""A table whose columns are of several sizes, and its chunks."""

import numpy as np

N, D = 3000, 7


def parts(*arrays, size=700):
    """Chunks of arrays; a tuple each if there are several."""
    for a in range(0, len(arrays[0]), size):
        chunk = tuple(v[a : a + size] for v in arrays)
        yield chunk if len(chunk) > 1 else chunk[0]


def made():
    """X, y and weights."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D)) * 10.0 ** rng.integers(-3, 4, D) + rng.integers(-2, 3, D)
    y = X[:, 1] / np.std(X[:, 1]) - 2 * X[:, 4] / np.std(X[:, 4]) + rng.standard_normal(N) + 5
    return X, y, rng.integers(0, 4, N).astype(float)


DATA = made()
