"""Exact transformations of a design, which leave the problem the same, and the way to read answers back."""

from dataclasses import dataclass

import numpy as np

NAMES = ("as it is", "permuted", "scaled", "divided", "all three")
LARGEST = 8  # a power of two


@dataclass(frozen=True)
class Variant:
    """Data (X, y) which are another design exactly, but for the order and the lengths of rows and columns.

    columns : column i is column columns[i] of the design.
    of_X, of_y : exponents: X was multiplied by 2^of_X and y by 2^of_y. `of_X` is None if each column has an
        exponent of its own.
    weight : weights of rows, or None.
    """

    X: np.ndarray
    y: np.ndarray
    columns: np.ndarray
    of_X: int | None = 0
    of_y: int = 0
    weight: np.ndarray | None = None

    def back(self, indices):
        """Return the columns of the design that these columns are."""
        return [int(self.columns[i]) for i in indices]

    def forth(self, indices):
        """Return the columns here that these columns of the design are."""
        return tuple(int(i) for i in np.argsort(self.columns)[list(indices)])


def transform(name, X, y, rng, *, lengths, weights, labels=False):
    """Return the variant of a design with this name.

    lengths : whether the method does not depend on the lengths of columns: each gets a power of its own.
    weights : whether the method takes weights: a row becomes two of half weight. Otherwise it becomes four
        rows that are halved, which is exact too.
    labels : whether y is read as labels, so that it cannot be multiplied.
    """
    n, d = X.shape
    columns, of_X, of_y, weight = np.arange(d), 0, 0, None
    every = name == "all three"
    if name == "permuted" or every:
        columns, rows = rng.permutation(d), rng.permutation(n)
        X, y = X[np.ix_(rows, columns)], y[rows]
    if name == "scaled" or every:
        powers = rng.integers(-LARGEST, LARGEST + 1, d if lengths else 1)
        of_X = None if lengths else int(powers[0])
        of_y = 0 if labels else int(rng.integers(-LARGEST, LARGEST + 1))
        X, y = np.ldexp(X, powers), np.ldexp(y, of_y)
    if name == "divided" or every:
        chosen = rng.choice(n, min(n, 3), replace=False)
        if weights:
            weight = np.ones(n)
            weight[chosen] = 0.5
            times = np.where(weight < 1, 2, 1)
        else:
            halves = np.zeros(n, int)
            halves[chosen] = -1
            X, y = np.ldexp(X, halves[:, None]), np.ldexp(y, halves)
            times = np.where(halves < 0, 4, 1)
        X, y = np.repeat(X, times, axis=0), np.repeat(y, times, axis=0)
        weight = None if weight is None else np.repeat(weight, times)
    return Variant(X, y, columns, of_X=of_X, of_y=of_y, weight=weight)
