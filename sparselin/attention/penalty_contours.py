"""Figure 2 of the Sequential Attention paper: Q*(β∘β) on squares of the plane."""

from __future__ import annotations

import numpy as np

from sparselin.attention.softmax_penalty import softmax_penalty
from sparselin.results import FloatArray
from sparselin.validation import check_count, check_level


def penalty_contours(limit: float, points: int = 201) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Q*(β∘β) on the grid of `points` × `points` values of β ∈ [−limit, limit]².

    Figure 2 of *Sequential Attention for Feature Selection* (ICLR 2023) shows limit = 1, 10 and 100.

    Returns
    -------
    beta1 (points,), beta2 (points,) and value (points, points), value[i, j] at (beta1[j], beta2[i]).

    Raises
    ------
    TypeError : limit is not a number or points not an integer.
    ValueError : limit is not positive and finite, or points < 2.

    >>> beta1, beta2, value = penalty_contours(1.0, points=3)
    >>> value.round(4).tolist()
    [[8.0, 2.3711, 8.0], [2.3711, 0.0, 2.3711], [8.0, 2.3711, 8.0]]
    """
    limit = check_level(limit, "limit")
    if limit == 0:
        raise ValueError("limit must be positive; got 0")
    beta = np.linspace(-limit, limit, check_count(points, "points", 2))
    value = softmax_penalty(np.stack(np.meshgrid(beta**2, beta**2), axis=-1)).value
    return beta, beta.copy(), value
