"""Orthogonal Matching Pursuit for many signals over one dictionary."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparselin import validation
from sparselin.greedy._complex import ComplexColumns, select
from sparselin.greedy.omp import omp
from sparselin.parallel.threads import spread_chunks, workers
from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.problem.design import read_only
from sparselin.problem.errors import TINY, eps_of, least_norm, real_dtype, stopping_level
from sparselin.problem.operators import Operator, is_operator
from sparselin.problem.support import is_complex
from sparselin.results import BatchSelection, FloatArray, IndexArray, Names, Status
from sparselin.validation import Columns
from sparselin.validation.progress import ProgressLog

Callback = Callable[[BatchSelection], object]

# The largest number of entries of a dense dictionary and of a Gram matrix: each takes at most a gigabyte.
_LARGEST = 2**27
# Signals per task: enough for a matrix product at full speed, few enough to fit into the cache (batch/* of
# `make bench`).
_CHUNK = 512


@suggest_names
def batch_omp(
    D: Any,
    Y: Any,
    k: int,
    *,
    tol: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    forced: Columns = (),
    positive: bool = False,
    sample_weight: ArrayLike | None = None,
    callback: Callback | None = None,
) -> BatchSelection:
    """Select k columns of D for each column of Y by Orthogonal Matching Pursuit.

    For every column y of Y the result is that of `omp(D, y, k, tol=..., residual=..., forced=forced, ...)`:
    the same picks, with ties going to the lowest index, and the same status. Let r be the residual of y. The
    correlations c = Dᵀr are updated without reading D or Y again. When the t-th pick is column i of D, the
    update is

        c ← c − ⟨q_t, y⟩·Dᵀq_t,   Dᵀq_t = (G[:, i] − Σ_{s<t} ⟨q_s, D_i⟩·Dᵀq_s)/ρ,

    where G = DᵀD and DᵀY are computed once. The method of Gram and Schmidt orthonormalises the picked columns
    to the vectors q_1, …, q_t, and ρ is the distance of D_i from the span of the earlier picks. This is the
    method of Rubinstein, Zibulevsky and Elad (2008), with a QR factorisation in place of Cholesky's.

    The error of this recurrence grows with the squared condition number of the selected columns. If this
    error might decide a pick, a tie or the end of a path, the signal is solved again by the method of `omp`,
    which computes correlations from the residual. All computations are in float64, whatever the dtype.
    Complex signals, signals over a LinearOperator, and signals with `positive` are solved one after the other
    by `omp`.

    Parameters
    ----------
    D : dictionary (n, d): an array, a SciPy sparse matrix, a frame, or a LinearOperator with rmatvec. Its
        columns need not have unit length.
    Y : signals (n, N), one per column as in scikit-learn's `orthogonal_mp`: an array, a sparse matrix or a
        frame. It is converted to the dtype of D.
    k : number of columns to select for each signal, 1 ≤ k ≤ d, including the `forced` ones.
    tol : a signal stops once ‖r‖ ≤ tol·‖y‖ (a norm, not its square): one number, or an array (N,) with one
        for each signal.
    residual : a signal stops once ‖r‖ ≤ residual, for example √n·σ for noise of standard deviation σ: one
        number, or an array (N,). If `tol` is given too, a signal stops at the first threshold that is met. A
        signal with ‖y‖ ≤ residual selects nothing.
    forced : columns that enter first for every signal, in this order, by index or name; for example a
        constant column as an intercept.
    positive : require coefficients ≥ 0, except for `forced` columns; for real data only.
    sample_weight : (n,) weights of the squared residuals, the same for all signals. The norms ‖r‖ and ‖y‖
        are weighted too.
    callback : called from time to time, in the thread of the caller, with the `BatchSelection` of the first
        m signals, which are finished; m = len(batch.support) increases to N. The batch stops if the callback
        returns True.

    Returns
    -------
    BatchSelection. Signals with fewer than k columns have the status TOLERANCE, EXACT_FIT, NO_CORRELATION or
    RANK_EXHAUSTED. Signals that had not been solved when the callback stopped have no columns and the status
    STOPPED.

    Raises
    ------
    TypeError, ValueError : invalid data (see `Problem`), k outside 1..d, tol outside 0..1, a negative
        residual, an array `tol` or `residual` whose length is not N, repeated or unknown `forced` columns, or
        more than k of them.

    >>> import numpy as np
    >>> D = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    >>> batch = batch_omp(D, np.array([[1.0, 0.0], [4.0, 2.0]]), 2)
    >>> batch.support.tolist(), [status.name for status in batch.status]
    ([[1, 0], [1, -1]], ['COMPLETED', 'EXACT_FIT'])
    >>> batch.coefficients.toarray().round(12).tolist()
    [[1.0, 0.0], [4.0, 2.0], [0.0, 0.0]]
    """
    names, labels = validation.frame_names(D), validation.frame_labels(D)
    if is_complex(D) or is_complex(Y):
        D = ComplexColumns.of(D, "D")
        Y = ComplexColumns.of(Y, "Y").X
        dtype = np.result_type(D.dtype, np.complex64)
        n, d = D.X.shape
    else:
        D = Operator(D) if is_operator(D) else validation.check_design(D, "D")
        Y = validation.check_design(Y, "Y")
        dtype, (n, d) = D.dtype, D.shape
    N = Y.shape[1]
    if Y.shape[0] != n:
        hint = "; signals are columns, so pass Y.T" if n == N else ""
        raise ValueError(f"Y must have {n} rows, one for each row of D; got shape {Y.shape}{hint}")
    k, first = validation.check_budget(k, forced, d, names, labels)
    weight = None if sample_weight is None else validation.check_weights(sample_weight, n, np.dtype(float))
    levels = _Levels(tol, residual, N)
    rows = _Rows(N, k, d, dtype, names, callback)
    sparse = not isinstance(D, (np.ndarray, Operator))
    if positive or isinstance(D, Operator) or (sparse and n * d > _LARGEST):  # too large for a dense array
        positive = validation.check_flag(positive, "positive")
        _one_by_one(D, Y, levels, weight, rows, forced=first, positive=positive)
    else:
        _all_at_once(D, Y, levels, weight, first, rows)
    return rows.result()


def _one_by_one(D: Any, Y: Any, levels: _Levels, weight: FloatArray | None, rows: _Rows, **more: Any) -> None:
    """Run `omp` on the signals one after the other, in this thread, and fill `rows` with the paths.

    more : more options of `omp`.
    """
    k = rows.support.shape[1]
    over_C = isinstance(D, ComplexColumns)
    root = None if weight is None else np.sqrt(weight)
    once = isinstance(D, Operator) and not over_C
    if over_C and D.kind == "complex":
        _check_norms(D.lengths[: D.X.shape[1]], D.X.T, D.X, "D", 0)
    if once and root is not None:  # measure its columns once for all signals
        D = D.scale_rows(root.astype(D.dtype))

    def task(i: int, stop: int) -> None:
        y = _signals(Y, i, stop, rows.coef.dtype, None)[0]
        scaled = y if root is None else y * root
        limit = float(levels.limits(i, stop, _row_norms(np.abs(scaled[None]), Y, "Y", i))[0])
        given = {"residual": limit if limit >= 0 else None, **more}
        if over_C:
            path = select(D, y, k, name="batch_omp", sample_weight=weight, **given)
        else:
            problem = Problem(D, scaled) if once else Problem(D, y, sample_weight=weight)
            path = omp(problem, None, k, **given)
        t = len(path.support)
        rows.support[i, :t] = path.support
        coef = np.zeros(k, path.coef.dtype)
        history = np.full(k + 1, np.nan)
        coef[:t], history[: t + 1] = path.coef, path.residual_norm
        rows.fill(i, stop, coef, t, history, path.status, 1)

    rows.run(task, 1, 1)


def _all_at_once(
    D: Any, Y: Any, levels: _Levels, weight: FloatArray | None, forced: IndexArray, rows: _Rows
) -> None:
    from sparselin._kernels import batch_omp as kernels  # imported here to keep the import of sparselin fast

    n, d = D.shape
    N, k = rows.support.shape
    # a copy, whose rows get unit length
    columns = np.array((D if isinstance(D, np.ndarray) else D.toarray()).T, np.float64, order="C")
    root = None if weight is None else np.sqrt(weight)
    if root is not None:
        columns *= root
    norms = _row_norms(columns, D, "D", 0)
    scale = norms / max(norms.max(), TINY)
    norms[norms == 0] = 1
    columns /= norms[:, None]
    with workers(N * (2.0 * n * d + float(k) ** 2 * d)) as count:
        # without DᵀD, N signals cost Nk products of D with a vector; DᵀD costs d of them
        size = d if N * k >= d and d * d <= _LARGEST else 0
        gram = np.empty((size, size))
        spread_chunks(lambda a, b: np.matmul(columns[a:b], columns.T, out=gram[a:b]), size, 256, count)
        dictionary = kernels.Dictionary(
            U=columns,
            scale=scale,
            scale32=kernels.singles(scale),
            G=gram,
            G32=kernels.singles(gram),
            eps=eps_of(D.dtype),
        )
        # the status codes of the kernel have the names of their `Status`
        names = ("COMPLETED", "TOLERANCE", "EXACT_FIT", "NO_CORRELATION", "RANK_EXHAUSTED")
        statuses = np.array([Status[name] for name in sorted(names, key=vars(kernels).__getitem__)], object)
        chunk = min(_CHUNK, math.ceil(N / 16))
        idle = list[Any]()  # the workspaces that no task uses now
        unit = kernels.SAFETY * dictionary.eps

        def task(start: int, stop: int) -> None:
            y = _signals(Y, start, stop, D.dtype, root)
            m = stop - start
            lengths = _row_norms(y, Y, "Y", start)
            support = rows.support[start:stop]
            parts = (rows.coef[start:stop], rows.residual_norms[start:stop])
            coef, history = (part.astype(np.float64, copy=False) for part in parts)
            limits = stopping_level(levels.limits(start, stop, lengths), lengths, unit, unit)
            try:
                workspace = idle.pop()
            except IndexError:
                workspace = np.empty((chunk, d)), kernels.Recurrence.of(d, k), kernels.Factors.of(n, d, k)
            c = workspace[0][:m]
            if size:
                np.matmul(y, columns.T, out=c)
            signals = kernels.Signal(
                y=read_only(y), c=c, length=lengths, limit=limits, chosen=support, gamma=coef, norms=history
            )
            code, taken = np.empty((2, m), np.intp)
            redone = kernels.select(dictionary, signals, forced, *workspace[1:], taken, code)
            idle.append(workspace)
            coef /= norms[support]  # unused entries are zero, with the index −1
            rows.fill(start, stop, coef, taken, history, statuses[code], redone)

        rows.run(task, chunk, count)


class _Levels:
    """The arguments `tol` and `residual` of `batch_omp`, checked: each is an array (N,) or None."""

    def __init__(self, tol: ArrayLike | None, residual: ArrayLike | None, N: int) -> None:
        self.tol, self.residual = _level(tol, "tol", N), _level(residual, "residual", N)

    def limits(self, start: int, stop: int, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for each of the signals start..stop, the norm of the residual at which its selection ends.

        `lengths` holds the norm ‖y‖ of each signal. The result is −1 if neither `tol` nor `residual` was
        given.
        """
        limits = np.full(stop - start, -1.0)
        if self.tol is not None:
            np.maximum(limits, self.tol[start:stop] * lengths, out=limits)
        if self.residual is not None:
            np.maximum(limits, self.residual[start:stop], out=limits)
        return limits


def _level(value: Any, name: str, N: int) -> NDArray[np.float64] | None:
    """Check `tol` or `residual`, and return it as an array (N,), or None if it is None."""
    if value is None:
        return None
    if np.ndim(value) == 0:
        level = validation.check_tolerance(value) if name == "tol" else validation.check_level(value, name)
        return np.full(N, level)
    levels: NDArray[np.float64] = validation.to_numeric(validation.to_array(value, name), name)
    if levels.shape != (N,):
        raise ValueError(
            f"{name} must be a number, or have shape ({N},), one for each signal; got shape {levels.shape}"
        )
    validation.check_finite(levels, name)
    if levels.min() < 0:
        i = int(np.argmin(levels))
        raise ValueError(f"{name} must be nonnegative; got {levels[i]} for signal {i}")
    if name == "tol":
        validation.check_tolerance(levels.max())
    return levels.astype(np.float64, copy=False)


class _Rows:
    """The arrays of a `BatchSelection` while they are being filled: one row per signal.

    Each task fills the rows of some signals.
    """

    def __init__(
        self, N: int, k: int, d: int, dtype: np.dtype[Any], names: Names, callback: Callback | None
    ) -> None:
        self.support = np.full((N, k), -1, np.intp)
        self.coef = np.zeros((N, k), dtype)
        self.n_selected = np.zeros(N, np.intp)
        self.residual_norms = np.full((N, k + 1), np.nan, real_dtype(dtype))
        self.status = np.full(N, Status.STOPPED, object)
        # number of signals that a task solved again, at the index of its first signal
        self.redone = np.zeros(N, np.intp)
        self.d = d
        self.names = names
        self.callback = callback

    def fill(self, start: int, stop: int, coef: Any, taken: Any, norms: Any, ends: Any, redone: int) -> None:
        """Write the results of signals start..stop into all arrays except `support`.

        taken : the number of columns that each signal selected.
        redone : how many of these signals were solved again by the method of `omp`.
        """
        self.n_selected[start:stop] = taken
        self.coef[start:stop] = coef
        self.residual_norms[start:stop] = norms
        self.status[start:stop] = ends
        self.redone[start] = redone

    def run(self, task: Callable[[int, int], object], chunk: int, count: int) -> None:
        """Call task(start, stop) for all rows, `chunk` rows at a time, in `count` threads.

        The calling thread also runs tasks. After each of them it calls the callback, if the number m such
        that the first m rows are finished has grown since the last call. No further task starts once the
        callback returns True, or once the callback or a task raises an error.
        """
        N = len(self.status)
        caller = threading.get_ident()
        reported = 0
        ended = False
        done = np.zeros(math.ceil(N / chunk), bool)

        progress = ProgressLog("batch_omp", "signals", N)

        def report() -> None:
            nonlocal reported, ended
            progress.report(min(N, int(done.sum()) * chunk))
            m = N if done.all() else int(done.argmin()) * chunk
            if self.callback is not None and m > reported:
                reported = m
                ended = bool(self.callback(self.result(m))) or ended

        def step(start: int, stop: int) -> None:
            nonlocal ended
            if ended:
                return
            try:
                task(start, stop)
                done[start // chunk] = True
                if threading.get_ident() == caller:
                    report()
            except BaseException:
                ended = True
                raise

        spread_chunks(step, N, chunk, count)
        if not ended:
            report()

    def result(self, m: int | None = None) -> BatchSelection:
        """Return the first m rows (by default all rows) as a `BatchSelection`.

        The arrays of the result are read-only views of the arrays of this object, which can still be written.
        """
        sets = (self.support[:m], self.coef[:m], self.n_selected[:m])
        ends = (self.residual_norms[:m], self.status[:m])
        n_redone = int(self.redone[:m].sum())
        return BatchSelection(*sets, *ends, self.d, self.names, n_redone)


def _signals(Y: Any, start: int, stop: int, dtype: np.dtype[Any], root: FloatArray | None) -> NDArray[Any]:
    """Return the signals start..stop, which are columns of Y, as rows in float64 or complex128.

    The signals are rounded to `dtype` first. Then they are multiplied by root = √weight, if `root` is given.
    """
    block = Y[:, start:stop]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(block.T.astype(dtype, copy=False), np.result_type(dtype, np.float64))
        return rows if root is None else rows * root


def _row_norms(rows: NDArray[np.float64], whole: Any, name: str, first: int) -> NDArray[np.float64]:
    """Return the norms of the rows, and check them by `_check_norms`.

    The rows are the columns first, first + 1, … of the matrix `whole`, which the user passed as the argument
    `name`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    _check_norms(norms, rows, whole, name, first)
    return norms


def _check_norms(norms: FloatArray, rows: Any, whole: Any, name: str, first: int) -> None:
    """Raise ValueError if the norm of a nonzero row is not finite, or its square overflows or underflows.

    The rows are the columns first, first + 1, … of the matrix `whole`, which the user passed as the argument
    `name`.
    """
    bad = ~(norms >= least_norm(np.float64)) | np.isinf(norms)
    if bad.any():
        bad &= np.asarray((rows != 0).sum(axis=1)).ravel() > 0
    if bad.any():
        if isinstance(whole, np.ndarray):
            validation.check_finite(whole, name)
        raise ValueError(
            f"column {first + int(np.argmax(bad))} of {name} has a norm whose square over- or underflows; "
            f"scale {name} by a power of two (selections do not change)"
        )
