"""Orthogonal Matching Pursuit for many signals over one dictionary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparselin.greedy.omp import omp
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.results import BatchSelection, Status
from sparselin.validation import check_count, check_design, check_finite, check_level

# The largest number of entries of a dense dictionary, or of a Gram matrix: one gigabyte of each.
_LARGEST = 2**27
# Signals in a task: enough for a matrix product at full speed, few enough to fit into the cache.
_CHUNK = 512

# Norms below this have squares that lose digits to underflow.
_TINY = math.sqrt(np.finfo(np.float64).tiny) / np.finfo(np.float64).eps


def batch_omp(D: Any, Y: Any, k: int, *, tol: float | None = None) -> BatchSelection:
    """Select k columns of D for each column of Y by Orthogonal Matching Pursuit.

    The same as `omp(D, y, k, tol=tol)` for every column y of Y: the same picks, ties going to the lowest
    index, and the same statuses. With G = DᵀD the correlations of all signals follow from DᵀY by

        c ← c − ⟨q_t, y⟩·Dᵀq_t,   Dᵀq_t = (G[:, i] − Σ_{s<t} ⟨q_s, D_i⟩·Dᵀq_s)/ρ,

    without reading D or Y again (Rubinstein, Zibulevsky and Elad, 2008, with a QR factorisation in place of
    Cholesky's). The error of this recurrence grows with κ², the squared condition number of the selected
    columns; a signal in which it might decide a pick, a tie or the end is solved again from its residual,
    as by `omp`. All of it is computed in float64, whatever the dtype.

    Parameters
    ----------
    D : dictionary (n, d): an array, a SciPy sparse matrix or a frame. Its columns need no unit length.
    Y : signals (n, N), one a column, as for scikit-learn's `orthogonal_mp`; an array, a sparse matrix or a
        frame. It is converted to the dtype of D.
    k : columns to select for each signal, 1 ≤ k ≤ d.
    tol : a signal stops once ‖r‖ ≤ tol·‖y‖ (a norm, not its square).

    Returns
    -------
    BatchSelection. Rows of fewer than k columns have the status TOLERANCE, EXACT_FIT, NO_CORRELATION or
    RANK_EXHAUSTED.

    Raises
    ------
    TypeError, ValueError : bad data (see `Problem`), k outside 1..d, negative tol.

    >>> import numpy as np
    >>> D = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> batch = batch_omp(D, np.array([[1.0, 0.0], [4.0, 2.0]]), 2)
    >>> batch.support.tolist(), [status.name for status in batch.status]
    ([[1, 0], [1, -1]], ['COMPLETED', 'EXACT_FIT'])
    >>> batch.to_sparse().toarray().round(12).tolist()
    [[1.0, 4.0, 0.0], [0.0, 2.0, 0.0]]
    """
    from sparselin._kernels import batch_omp as kernels  # here, as it would slow the import of sparselin

    D, Y = check_design(D, "D"), check_design(Y, "Y")
    n, d = D.shape
    N = Y.shape[1]
    if Y.shape[0] != n:
        hint = "; signals are columns, so pass Y.T" if n == N else ""
        raise ValueError(f"Y must have {n} rows, one for each row of D; got shape {Y.shape}{hint}")
    k = check_count(k, "k", 1, d)
    level = -1.0 if tol is None else check_level(tol, "tol")
    if not isinstance(D, np.ndarray) and n * d > _LARGEST:
        return _one_by_one(D, Y, k, tol)
    # rows of unit length, always a copy: for a read-only array the kernels would be compiled a second time
    columns = np.array((D if isinstance(D, np.ndarray) else D.toarray()).T, np.float64, order="C")
    norms = _row_norms(columns, D, "D", 0)
    columns /= np.where(norms > 0, norms, 1)[:, None]
    scale = norms / max(norms.max(), np.finfo(np.float64).tiny)
    result = _Rows(N, k)
    with workers(N * (2.0 * n * d + float(k) ** 2 * d)) as count:
        # without DᵀD a signal costs k products with D, N signals Nk; DᵀD costs d
        size = d if N * k >= d and d * d <= _LARGEST else 0
        gram = np.empty((size, size))
        spread_chunks(lambda a, b: np.matmul(columns[a:b], columns.T, out=gram[a:b]), size, 256, count)
        given = columns, scale, scale.astype(np.float32), gram, gram.astype(np.float32)
        dictionary = kernels.Dictionary(*given, float(np.finfo(D.dtype).eps))

        def task(start: int, stop: int) -> None:
            y = _signals(Y, start, stop, D.dtype)
            lengths = _row_norms(y, Y, "Y", start)
            c = y @ columns.T if size else np.empty((stop - start, d))
            support, coef, *rest = result.part(start, stop)
            signals = kernels.Signal(y, c, lengths, support, coef)
            result.redone[start] = kernels.select(dictionary, signals, level, *rest)
            coef /= np.where(support < 0, 1, norms[support])

        spread_chunks(task, N, min(_CHUNK, math.ceil(N / 16)), count)
    return result.freeze(D.dtype, d)


def _statuses() -> Any:
    """(5,) the `Status` for each code of the kernel."""
    from sparselin._kernels import batch_omp as kernels

    statuses = np.empty(5, object)
    for status in (
        Status.COMPLETED, Status.TOLERANCE, Status.EXACT_FIT, Status.NO_CORRELATION, Status.RANK_EXHAUSTED,
    ):  # fmt: skip
        statuses[getattr(kernels, status.name)] = status
    return statuses


class _Rows:
    """The result while it is being filled, one row per signal."""

    def __init__(self, N: int, k: int) -> None:
        self.support = np.empty((N, k), np.intp)
        self.coef = np.empty((N, k))
        self.taken = np.empty(N, np.intp)
        self.residual_norm = np.empty(N)
        self.code = np.empty(N, np.intp)
        self.redone = np.zeros(N, np.intp)  # signals of a task solved again, at the index of its first

    def part(self, start: int, stop: int) -> tuple[Any, ...]:
        """Views of the rows that a task fills."""
        every = (self.support, self.coef, self.taken, self.residual_norm, self.code)
        return tuple(array[start:stop] for array in every)

    def freeze(self, dtype: np.dtype[Any], d: int) -> BatchSelection:
        return BatchSelection(
            support=self.support,
            coef=self.coef.astype(dtype, copy=False),
            n_selected=self.taken,
            residual_norm=self.residual_norm.astype(dtype, copy=False),
            status=_statuses()[self.code],
            n_redone=int(self.redone.sum()),
            n_features=d,
        )


def _signals(Y: Any, start: int, stop: int, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Columns start..stop of Y as rows, rounded to the dtype, as float64."""
    block = Y[:, start:stop]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(block.T.astype(dtype, copy=False), np.float64)


def _row_norms(rows: NDArray[np.float64], whole: Any, name: str, first: int) -> NDArray[np.float64]:
    """Norms of the columns given as rows. ValueError if one is not finite, or its square out of range."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        bad = ~(norms >= _TINY) | np.isinf(norms)
    if bad.any():
        bad &= np.any(rows != 0, axis=1)
    if bad.any():
        if isinstance(whole, np.ndarray):
            check_finite(whole, name)
        raise ValueError(
            f"column {first + int(np.argmax(bad))} of {name} has a norm whose square over- or underflows; "
            f"scale {name} by a power of two (selections do not change)"
        )
    return norms


def _one_by_one(D: Any, Y: Any, k: int, tol: float | None) -> BatchSelection:
    """By `omp`, for a sparse D too large for a dense array."""
    N = Y.shape[1]
    result = _Rows(N, k)
    result.support[:] = -1
    result.coef[:] = 0
    for i in range(N):
        path = omp(D, _signals(Y, i, i + 1, D.dtype)[0], k, tol=tol)
        t = len(path.support)
        result.support[i, :t] = path.support
        result.coef[i, :t] = path.coef
        result.taken[i] = t
        result.residual_norm[i] = path.residual_norm[-1]
        result.code[i] = _statuses().tolist().index(path.status)
    result.redone[:] = 1
    return result.freeze(D.dtype, D.shape[1])
