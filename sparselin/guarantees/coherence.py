"""The coherence of a design, and Tropp's cumulative coherence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sparselin.problem import Problem, as_problem
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.operators import is_operator
from sparselin.problem.support import no_operator, refuse_complex
from sparselin.results import FloatArray, IndexArray
from sparselin.validation import check_count, check_design, check_finite

# The number of entries in a block of rows of the Gram matrix.
_BLOCK = 2**22


def coherence(X: Any) -> float:
    """Return the mutual coherence μ = max_{i≠j} |⟨X_i, X_j⟩|/(‖X_i‖‖X_j‖), over the nonzero columns.

    μ lies between 0 (orthogonal columns) and 1 (two columns are parallel). With fewer than two nonzero
    columns μ is 0. If k < (1 + 1/μ)/2 and the columns have equal length, OMP recovers every y that is a
    combination of k of the columns (Tropp, *Greed is good*, 2004, Corollary 3.6).

    Parameters
    ----------
    X : design (n, d): an array, SciPy sparse matrix or frame; or a `Problem`. float32 is computed in float64.
        The Gram matrix is computed one block at a time, in 2nd² operations; a sparse X stays sparse.

    Returns
    -------
    μ, at most 1. Its error is at most (n + 4)·eps, where eps is the machine epsilon.

    Raises
    ------
    TypeError : X is not numeric, or a LinearOperator.
    ValueError : X is not a finite matrix, or a `Problem` with an intercept or standardized columns.

    >>> coherence([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    0.8
    """
    return float(cumulative(columns_of(X), 1)[0])


@suggest_names
def babel(X: Any, k: int) -> FloatArray:
    """Return Tropp's cumulative coherence, the Babel function, for m = 1, …, k.

        μ₁(m) = max_{|S|=m} max_{j∉S} Σ_{i∈S} |⟨X_i, X_j⟩|

    Here the columns are scaled to unit length, zero columns are left out, and S runs over the sets of m
    columns. The `coherence` μ is μ₁(1), and μ ≤ μ₁(m) ≤ m·μ. With d' nonzero columns, μ₁ is constant from
    m = d' − 1 on. If μ₁(k − 1) + μ₁(k) < 1, with μ₁(0) = 0, OMP recovers every y that is a combination of k
    columns of equal length (Tropp, *Greed is good*, 2004, Theorem 3.5).

    Parameters
    ----------
    X : as for `coherence`.
    k : at least 1; it may exceed d.

    Returns
    -------
    (k,) μ₁(1), …, μ₁(k). The error of μ₁(m) is at most m·(n + m + 4)·eps, where eps is the machine epsilon.

    Raises
    ------
    TypeError, ValueError : as for `coherence`; k is not an integer, or is below 1.

    >>> babel([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]], 3).round(12)
    array([0.8, 1.4, 1.4])
    """
    return cumulative(columns_of(X), check_count(k, "k", 1))


def columns_of(X: Any) -> Any:
    """Return X (n, d) in float64, dense or sparse, from a design or a problem.

    Raises ValueError for a problem with an intercept or standardized columns, because its columns differ from
    the columns of X.
    """
    if isinstance(X, Problem):
        problem = as_problem(X, None)
        if not problem.is_plain:
            raise ValueError(
                "X must be a design, or a Problem without an intercept and without standardization: pass the "
                "centred and scaled X in place of a Problem with intercept=True or standardize=True"
            )
        return problem.X.astype(np.float64, copy=False)
    if is_operator(X):
        raise no_operator()
    refuse_complex(X=X)
    X = check_design(X)
    if isinstance(X, np.ndarray):
        check_finite(X, "X")
    return X.astype(np.float64, copy=False)


def cumulative(X: Any, k: int) -> FloatArray:
    """Compute the babel function μ₁(m), m = 1, …, k, of the nonzero columns of a float64 X (see `babel`)."""
    J = np.flatnonzero(_largest(X))
    found = np.zeros(k)
    m = min(k, len(J) - 1)
    for block in _correlations(normalize(X[:, J])[0]) if m > 0 else ():
        largest = block if block.shape[1] <= m else np.partition(block, -m, axis=1)[:, -m:]
        sums = np.sort(largest, axis=1)[:, ::-1].cumsum(axis=1).max(axis=0)
        w = len(sums)  # for a sparse block: the largest number of entries in a row
        np.maximum(found[:m], np.append(sums, np.full(m - w, sums[-1])), out=found[:m])
    if m > 0:
        found[m:] = found[m - 1]
    return found


def normalize(X: Any) -> tuple[Any, FloatArray, IndexArray]:
    """Scale nonzero columns to length 1; return them and v, e (d,), where column j had length v_j·2^{e_j}.

    The relative error of a length is (n/2 + 2)·eps/2, so the relative error of a scaled entry is (n/2 +
    3)·eps/2. The error of the inner product of two scaled columns is twice the error of an entry plus
    n·eps/2, that is, (n + 3)·eps, up to terms of order eps².
    """
    X, exponents = scale_by_powers(X)
    dense = isinstance(X, np.ndarray)
    lengths = np.sqrt(np.sum(X**2, axis=0) if dense else np.asarray(X.multiply(X).sum(axis=0)).ravel())
    return (X / lengths if dense else X.multiply(1 / lengths).tocsc()), lengths, exponents


def scale_by_powers(X: Any) -> tuple[Any, IndexArray]:
    """Return the columns X_j·2^{−e_j} and the exponents e (d,).

    e_j is such that the squares of the scaled column neither overflow nor underflow.
    """
    exponents = np.clip(np.frexp(_largest(X))[1], -1000, 1000)
    power = np.ldexp(1.0, -exponents)
    return X * power if isinstance(X, np.ndarray) else X.multiply(power).tocsc(), exponents


def _largest(X: Any) -> FloatArray:
    """Return max_i |X_ij| for each column j."""
    largest = abs(X).max(axis=0)
    return np.asarray(largest if isinstance(X, np.ndarray) else largest.toarray().ravel())


def _correlations(U: Any) -> Iterator[FloatArray]:
    """Yield |UᵀU| for unit columns U, in blocks of rows; the diagonal is zero, and no entry is above 1.

    If U is sparse, each row of a block has its nonzero entries first, and is padded with zeros to the length
    of the longest row. The column indices of the entries are lost.
    """
    d = U.shape[1]
    rows = max(1, _BLOCK // d)
    for a in range(0, d, rows):
        block = U[:, a : a + rows].T @ U
        if isinstance(block, np.ndarray):
            block = np.abs(block)
            block[np.arange(len(block)), np.arange(a, a + len(block))] = 0
        else:
            block = _pack(block.tocsr(), a)
        yield np.minimum(block, 1.0, out=block)


def _pack(block: Any, a: int) -> FloatArray:
    """Move the nonzero entries of each row of |block| to its front; drop the diagonal of the whole matrix.

    a : the number of the first row of the block in the whole matrix.
    """
    row = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    off = block.indices != row + a
    row, count = row[off], np.bincount(row[off], minlength=block.shape[0])
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    packed = np.zeros((block.shape[0], max(1, int(count.max()))))
    packed[row, place] = np.abs(block.data[off])
    return packed
