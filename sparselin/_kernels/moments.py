"""‖X_j‖² and ⟨X_j, y⟩ in one pass over X.

Four terms at a time are summed in the precision of X, and these sums are added in float64.
"""

from __future__ import annotations

import numpy as np

from sparselin._kernels import VECTORIZED, kernel

_WIDTH = 8192  # columns per strip: their sums fit into the second-level cache


@kernel(**VECTORIZED)
def by_rows(X, y, squares, products, start, stop):
    """Compute ‖X_j‖² and ⟨X_j, y⟩ for the columns start..stop of X (n, d) in C order, four rows at a time."""
    n = X.shape[0]
    for left in range(start, stop, _WIDTH):
        right = min(left + _WIDTH, stop)
        square, product = squares[left:right], products[left:right]
        square[:], product[:] = 0, 0
        for i in range(0, n - 3, 4):
            a, b, c, e = X[i, left:right], X[i + 1, left:right], X[i + 2, left:right], X[i + 3, left:right]
            ya, yb, yc, ye = y[i], y[i + 1], y[i + 2], y[i + 3]
            for j in range(right - left):
                square[j] += np.float64((a[j] * a[j] + b[j] * b[j]) + (c[j] * c[j] + e[j] * e[j]))
                product[j] += np.float64((a[j] * ya + b[j] * yb) + (c[j] * yc + e[j] * ye))
        for i in range(n - n % 4, n):
            row = X[i, left:right]
            for j in range(right - left):
                square[j] += np.float64(row[j] * row[j])
                product[j] += np.float64(row[j] * y[i])


@kernel(**VECTORIZED)
def by_columns(Xt, y, squares, products, start, stop):
    """Compute ‖X_j‖² and ⟨X_j, y⟩ for the rows X_j, start..stop, of Xt = Xᵀ (d, n) in C order."""
    n = Xt.shape[1]
    for j in range(start, stop):
        column = Xt[j]
        square = 0.0
        product = 0.0
        for i in range(n):
            x = np.float64(column[i])
            square += x * x
            product += x * np.float64(y[i])
        squares[j] = square
        products[j] = product
