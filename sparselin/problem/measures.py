"""The lengths of the columns and of y, and Xᵀy, measured when a problem is made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sparselin._kernels import moments
from sparselin.parallel.threads import spread, workers
from sparselin.problem.design import DesignColumns
from sparselin.problem.errors import largest_of, least_norm
from sparselin.problem.operators import Operator
from sparselin.results import FloatArray
from sparselin.validation import Names, check_finite


def measure_norms(design: DesignColumns, y: FloatArray, names: Names) -> dict[str, Any]:
    """Compute the fields column_norms (d,), y_norm and Xty (d,) of a problem: ‖X_j‖, ‖y‖ and Xᵀy.

    A dense X is read once. Its sums of squares also show whether X is finite.

    Raises ValueError if X is not finite, or if the square of a norm overflows or underflows.
    """
    X, ones, scale = design
    m, d = X.shape[1], design.d
    squares, products = np.empty(d), np.empty(d)
    if isinstance(X, np.ndarray):
        by_rows = bool(X.flags.c_contiguous)
        kernel = moments.by_rows if by_rows else moments.by_columns
        data = X if by_rows else X.T
        with workers(4 * X.shape[0] * m) as count:
            spread(lambda a, b: kernel(data, y, squares, products, a, b), m, count)
        if not np.isfinite(squares[:m]).all():
            check_finite(X, "X", names)
    else:
        products[:m] = X.T @ y
        squares[:m] = X.lengths**2 if isinstance(X, Operator) else X.multiply(X).sum(axis=0)
    if ones is not None:
        squares[m], products[m] = ones @ ones, ones @ y
    with np.errstate(over="ignore"):
        norms = np.sqrt(squares)
        if scale is not None:
            norms[:m] *= scale
            products[:m] *= scale
        column_norms = norms.astype(X.dtype, copy=False)
        Xty = products.astype(X.dtype, copy=False)
        double = np.asarray(y, np.float64)
        square = float(double @ double)
        y_norm = math.sqrt(square) if square <= largest_of(X.dtype) else math.inf
    _check_range(X, y, column_norms, y_norm)
    return {"column_norms": column_norms, "y_norm": y_norm, "Xty": Xty}


def _check_range(X: Any, y: FloatArray, column_norms: FloatArray, y_norm: float) -> None:
    """Raise ValueError if ‖X_j‖², ‖y‖² or ‖X_j‖‖y‖ overflows or underflows in the dtype of X."""
    tiny = least_norm(X.dtype)
    if min(y_norm, column_norms.min()) > tiny and column_norms.max() * y_norm < np.inf:
        return
    norms = np.append(column_norms, y_norm)
    bad = ~np.isfinite(norms) | ((norms > 0) & (norms < tiny))
    zero = np.flatnonzero(norms[: X.shape[1]] == 0)
    if getattr(X, "kind", "") != "operator":
        bad[zero] = np.asarray((X[:, zero] != 0).sum(axis=0)) > 0  # sparse X: stored entries only
    bad[-1] |= y_norm == 0 and bool(np.any(y != 0))
    if bad.any() or not np.isfinite(norms.max() * y_norm):
        where = "y" if bad[-1] else f"column {int(np.argmax(bad))} of X"
        raise ValueError(
            f"{where} has a norm whose square over- or underflows {X.dtype}. "
            "Scale X or y by a power of two; selections do not change"
        )
