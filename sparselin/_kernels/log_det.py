"""One more row of L⁻¹C_S·, LLᵀ = δI + C_S, and the pivots of all columns after it."""

from __future__ import annotations

import math

from sparselin._kernels import VECTORIZED, kernel
from sparselin._kernels.linear_algebra import copy


@kernel(**VECTORIZED)
def extend(rows, t, column, j, delta, pivots):
    """rows[t] for column j, whose column of C is `column`; its squares are subtracted from the pivots (d,).

    A Schur complement is semidefinite and no pivot is less than δ; both are enforced under rounding.
    """
    row, root = rows[t], math.sqrt(pivots[j])
    copy(column, row)
    for s in range(t):
        factor = rows[s, j]
        for x in range(row.size):
            row[x] -= factor * rows[s, x]
    for x in range(row.size):
        bound = math.sqrt(pivots[x])
        row[x] = max(-bound, min(bound, row[x] / root))
        pivots[x] = max(delta, pivots[x] - row[x] * row[x])
