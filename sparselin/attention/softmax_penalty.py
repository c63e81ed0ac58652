"""The penalty on β that a softmax mask induces: the functions Q and Q* of Lemma 3.2.

Let β = softmax(w)∘θ have the entries softmax_i(w)·θ_i, i = 1, …, m, with weight decay (λ/2)(‖w‖² + ‖θ‖²). The
minimum of the weight decay over all w and θ with this β is (λ/2)Q*(β∘β). As a function of x = β∘β, Q* is an
infimum of affine functions and so concave. It has the bounds

    (Σ|β_i|^{2/3})³  ≤  Q*(β∘β)  ≤  m²‖β‖².

Q*(x) is the minimum of ‖w‖² + Σ x_i/s_i² with s = softmax(w). The lower bound follows if ‖w‖² ≥ 0 is dropped
and Σ x_i/s_i² is minimised over all s with s_i ≥ 0 and Σs_i = 1. The upper bound is the value at w = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin._kernels.softmax_penalty import minimize_rows
from sparselin.problem.errors import eps_of, largest_of
from sparselin.results import FloatArray, PenaltyValue
from sparselin.validation import check_finite, to_array, to_numeric

# The number of eps by which Σ q_i^{−1/2} may differ from 1. For a rounded softmax it differs by a few eps. If
# this number were smaller, such a q would be refused; if larger, a q outside the domain would get a value.
_DOMAIN_SLACK = 32.0


def softmax_penalty(x: ArrayLike) -> PenaltyValue:
    """Compute the penalty Q*(x) that a softmax mask induces, and the w that attains it.

    Let β = softmax(w)∘θ, and let x = β∘β be the squares of the coefficients. The penalty on β is

        Q*(x) = min_w ‖w‖² + Σ_i x_i/softmax_i(w)²

    (Lemma 3.2 of *Sequential Attention for Feature Selection*, ICLR 2023). The objective is strictly convex
    in w, so the minimiser is unique; it satisfies Σw = 0. A step of Newton's method takes O(m) operations.
    Let eps be the machine epsilon. The relative error of the value is a few eps, and the error of w a few
    eps·max(‖w‖∞, min(1, m² max x)). Rounding x alone changes w by about as much.

    Parameters
    ----------
    x : (..., m) the squares of the coefficients, ≥ 0. The result is float32 if x is, otherwise float64.

    Returns
    -------
    `PenaltyValue`, with value (...) and minimizer (..., m).

    Raises
    ------
    TypeError : x is not numeric (complex, strings, objects).
    ValueError : x is a scalar, its last axis is empty, it has NaN, infinity or a negative entry, or m²Σx,
        which bounds Q*, is beyond the range of floats.
    RuntimeError : Newton's method did not converge in 200 steps (a handful is usual).

    >>> penalty = softmax_penalty([[4.0, 4.0], [4.0, 0.0]])
    >>> penalty.value.round(4), penalty.minimizer[0]
    (array([32.    ,  7.0398]), array([0., 0.]))
    """
    x, dtype = _vectors(x, "x")
    if x.size and x.min() < 0:
        raise ValueError(f"x must be nonnegative, because it is β∘β; the least entry is {x.min():g}")
    m = x.shape[-1]
    with np.errstate(over="ignore"):
        bound = m**2 * x.sum(axis=-1).max(initial=0)
    if bound > largest_of(dtype):
        raise ValueError(f"x must have m²Σx within the range of {dtype}; got entries up to {x.max():g}")
    value, w = np.empty(x.shape[:-1]), np.empty(x.shape)
    failed = minimize_rows(x.reshape(-1, m), value.reshape(-1), w.reshape(-1, m))
    if failed >= 0:
        raise RuntimeError(f"Newton's method did not converge for x = {x.reshape(-1, m)[failed]}")
    return PenaltyValue(value=value.astype(dtype), minimizer=w.astype(dtype))


def q(q: ArrayLike) -> PenaltyValue:
    """Compute Q(q), the least ‖w‖² of all w with 1/softmax(w)² = q, and the w that attains it.

    The value is

        Q(q) = inf {‖w‖² : 1/softmax(w)² = q} = ¼Σ_i (log q_i − mean_j log q_j)²

    (Lemma 3.2 of *Sequential Attention for Feature Selection*, ICLR 2023). The formula holds because
    1/softmax(w)² = q determines w up to an additive constant c, w = c − ½log q, and ‖w‖ is least for Σw = 0.
    The penalty of `softmax_penalty` is Q*(x) = inf_q Σ_i x_i q_i + Q(q).

    Parameters
    ----------
    q : (..., m) in the range of 1/softmax²: q_i > 1 (q = 1 if m = 1) and Σ_i q_i^{−1/2} = 1, to 32 eps.

    Returns
    -------
    `PenaltyValue`, with value (...) and minimizer (..., m).

    Raises
    ------
    TypeError : q is not numeric (complex, strings, objects).
    ValueError : q is a scalar, its last axis is empty, it has NaN or infinity, or it is outside the domain.

    >>> penalty = q([16.0, 16 / 9])
    >>> penalty.value.round(4), penalty.minimizer.round(4)
    (np.float64(0.6035), array([-0.5493,  0.5493]))
    """
    q, dtype = _vectors(q, "q")
    if q.size and q.min() <= 0:
        raise ValueError(f"q must be positive, because it is 1/softmax²; the least entry is {q.min():g}")
    total = (1 / np.sqrt(q)).sum(axis=-1)
    off = np.abs(total - 1).max(initial=0)
    if off > _DOMAIN_SLACK * eps_of(dtype):
        raise ValueError(
            f"q must be 1/softmax(w)² for some w, so that Σ_i q_i^(-1/2) = 1; got a sum off by {off:g}. "
            "To scale q into the domain, use q * (q**-0.5).sum(-1, keepdims=True)**2"
        )
    # dividing by the least entry gives exactly w = 0 for equal entries
    logs = np.log(q / q.min(axis=-1, keepdims=True))
    w = (logs.mean(axis=-1, keepdims=True) - logs) / 2
    return PenaltyValue(value=np.asarray((w**2).sum(axis=-1), dtype), minimizer=w.astype(dtype))


def _vectors(data: Any, name: str) -> tuple[NDArray[np.float64], np.dtype[Any]]:
    """Check the argument `name`; return a copy (..., m) in float64 and C order, and the dtype of results."""
    rows: FloatArray = to_numeric(to_array(data, name), name)
    if rows.ndim == 0 or rows.shape[-1] == 0:
        raise ValueError(f"{name} must have shape (..., m) with m ≥ 1; got shape {rows.shape}")
    check_finite(rows, name)
    return np.array(rows, np.float64, order="C"), rows.dtype
