"""The asymmetry of a matrix, in one pass by tiles that fit into the cache."""

from __future__ import annotations

from sparselin._kernels import VECTORIZED, kernel

_TILE = 64


@kernel(**VECTORIZED)
def asymmetry(C):
    """½‖C − Cᵀ‖_F² and the sum of squares of the lower triangle; not finite if an entry is not."""
    d = C.shape[0]
    apart = size = 0.0
    for a in range(0, d, _TILE):
        for b in range(0, a + 1, _TILE):
            for i in range(a, min(a + _TILE, d)):
                for j in range(b, min(b + _TILE, i + 1)):
                    lower = C[i, j]
                    gap = lower - C[j, i]
                    apart += gap * gap
                    size += lower * lower
    return apart, size
