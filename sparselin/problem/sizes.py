"""The lengths of the columns and of y, and the products Xᵀy, measured once when a problem is made."""

import dataclasses
import math

import numpy as np

from sparselin._kernels import products as kernels
from sparselin.problem.design import DesignColumns, Matrix
from sparselin.problem.errors import largest_of, least_norm
from sparselin.problem.operators import Operator
from sparselin.problem.scales import sum_columns
from sparselin.results import FloatArray
from sparselin.validation import check_finite

_SMALL = 10**6  # the most entries of X for which threads do not make the pass faster
_DOUBLE = np.dtype(np.float64)


@dataclasses.dataclass(frozen=True, eq=False)
class Sizes:
    """The lengths and products of the columns and the response of a problem.

    Attributes
    ----------
    column_norms : (d,) ‖X_j‖.
    y_norm : ‖y‖.
    Xty : (d,) Xᵀy.
    """

    column_norms: FloatArray
    y_norm: float
    Xty: FloatArray


def measure(design: DesignColumns, y: FloatArray) -> Sizes:
    """Compute ‖X_j‖, ‖y‖ and Xᵀy.

    A dense X is read once. Its sums of squares also show whether X is finite.

    Raises ValueError if X is not finite, or if the square of a norm overflows or underflows.
    """
    X = design.X
    if X.__class__ is np.ndarray and X.dtype == np.float64 and design.scale is None and X.size <= _SMALL:
        sizes = _measure_small(X, design.ones, y)
        if sizes is not None:
            return sizes
    with np.errstate(over="ignore", invalid="ignore"):
        return _measure(design, y)


def _measure_small(X: FloatArray, ones: FloatArray | None, y: FloatArray) -> Sizes | None:
    """Return the results of `measure` in one call of a kernel, or None if they need a closer look."""
    m = X.shape[1]
    norms = np.empty(m + (ones is not None))
    products = np.empty(len(norms))
    if X.flags.c_contiguous:
        least, most, y_norm = kernels.measure_by_rows(X, y, norms[:m], products[:m])
    else:
        least, most, y_norm = kernels.measure_by_columns(X.T, y, norms[:m], products[:m])
    if ones is not None:
        norms[m] = math.sqrt(np.vdot(ones, ones))
        products[m] = np.vdot(ones, y)
        least = min(least, norms.item(m))
        most = max(most, norms.item(m))
    if min(y_norm, least) > least_norm(_DOUBLE) and most * max(most, y_norm) < largest_of(_DOUBLE):
        return Sizes(column_norms=norms, y_norm=y_norm, Xty=products)
    return None


def _measure(design: DesignColumns, y: FloatArray) -> Sizes:
    X, ones, scale, m = design.X, design.ones, design.scale, design.n_features
    d = design.d
    squares = np.empty(d)
    products = np.empty(d)
    double = np.asarray(y, np.float64)
    if isinstance(X, np.ndarray):
        weight = np.empty(len(y))
        weight.fill(1.0)
        sum_columns(X, weight, double, np.zeros(m), squares, products)
    else:
        products[:m] = X.T @ y
        squares[:m] = X.lengths**2 if isinstance(X, Operator) else X.multiply(X).sum(axis=0)
    if ones is not None:
        squares[m] = ones @ ones
        products[m] = ones @ y
    norms = np.sqrt(squares)
    if not np.isfinite(y).all():
        check_finite(y, "y")
    most = norms.item(norms.argmax())  # NaN if an entry is NaN; this is faster than `max` for few columns
    if not most < math.inf and isinstance(X, np.ndarray):
        check_finite(X, "X", design.names)
    if scale is not None:
        _check_range(X, y, norms, 1.0)  # the scales come from the squares of X itself
        norms[:m] *= scale
        products[:m] *= scale
        most = norms.item(norms.argmax())
    least = norms.item(norms.argmin())
    dtype = design.dtype
    largest = largest_of(dtype)
    square = float(np.vdot(double, double))  # in contrast to @ and `dot`, without a warning if it overflows
    y_norm = math.sqrt(square) if square <= largest else math.inf
    column_norms = norms.astype(dtype, copy=False)
    if not (min(y_norm, least) > least_norm(dtype) and most * max(most, y_norm) < largest):
        _check_range(X, y, column_norms, y_norm)
    return Sizes(column_norms=column_norms, y_norm=y_norm, Xty=products.astype(dtype, copy=False))


@np.errstate(over="ignore", invalid="ignore")
def _check_range(X: Matrix, y: FloatArray, column_norms: FloatArray, y_norm: float) -> None:
    """Raise ValueError if ‖X_j‖², ‖y‖² or ‖X_j‖‖y‖ overflows or underflows in the dtype of X."""
    tiny = least_norm(X.dtype)
    norms = np.append(column_norms, y_norm)
    bad = ~(norms < math.sqrt(largest_of(X.dtype))) | ((norms > 0) & (norms < tiny))
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
