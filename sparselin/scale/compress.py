"""`compress`: data of any length, in one pass, to a problem of d + 2 rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.scale.checkpoint import writable
from sparselin.scale.form import form_of
from sparselin.scale.passes import Options, run
from sparselin.scale.record import Progress
from sparselin.scale.sources import Wanted, open_source
from sparselin.validation import Columns, check_count


@suggest_names
def compress(
    source: Any,
    *,
    y: Any = None,
    weights: Any = None,
    intercept: bool = False,
    forced: Columns = (),
    standardize: bool = False,
    columns: Columns | None = None,
    categories: Columns = (),
    max_levels: int = 256,
    held_out: int = 0,
    on_bad: str = "raise",
    memory: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 64,
    progress: Callable[[Progress], object] | None = None,
) -> Problem:
    """[X y] of any number of rows, in one pass, as the problem of its triangular factor.

    With [X y] = QR, QᵀQ = I, the inner products of columns are those of R, and so are all lengths and
    projections: for R = [R_X z] in place of [X y] every selection, coefficient, λ*, T, A(S), LASSO path, best
    subset, R² and guarantee of a least-squares method is the same. R is made by Householder reflectors, a
    block of rows at a time, and is the exact factor for data whose columns differ from the given ones by
    `compressed.eps` of their lengths, whatever κ(X). `Problem.eps` grows to that, and with it the errors e_c
    of correlations and e_ρ of lengths: what is tied in integers is nearly tied in R, and counts as tied.
    `certify` is about R as it is. `docs/guide/longer_than_memory.md` says how far this goes.

    The result holds no rows of X: dual points and residuals are Qᵀ times those of the data, of the same
    lengths; `problem.predict` gives QᵀXβ, while `path.predict(X_new)` takes rows as always. What needs rows
    (`generalized_omp`, `stability_selection`, cross-validation) refuses it.

    Parameters
    ----------
    source : an iterable of chunks (arrays (p, q), pairs (X, y), triples (X, y, weights), frames, Arrow
        batches, or dicts of columns); an array or np.memmap (n, q); an array of zarr; the path of a .parquet,
        or a pyarrow ParquetFile; a polars LazyFrame; a relation of DuckDB; a Dask array or DataFrame. The
        packages of these are in the extra `scale`.
    y, weights : columns of the source, by index or name, or arrays (n,) beside an array. None: y is in the
        pairs or triples; all weights are 1.
    intercept, standardize : as in `Problem`, from the same pass.
    forced : numbers that stand first in the factor: projecting them off drops rows of R, without rounding.
        Pass them to the method too.
    columns : the features, by index or name; by default all columns but y and the weights.
    categories : features that are categories. Each level is a column of zeros and ones, "category=level", in
        the order in which levels first appear; one that first appears late has zeros before.
    max_levels : more levels than these, in a category, are an error.
    held_out : if m ≥ 2, every mth row is held out: row i of chunk k with i + k ≡ −1 mod m.
        `problem.compressed.held_out_r2(path)` is the R² there.
    on_bad : "raise", or "skip": leave out chunks that cannot be used. `problem.compressed.skipped` has
        their numbers, and why.
    memory : bytes for 4 chunks and 3 factors (6 with held_out), by which the size of chunks is set for a
        memmap, zarr and Parquet; of Parquet also for a page of each column, at most half of it. None: 256
        MiB, or as many as chunks of 1024 rows need, if that is more. The levels of categories come on top.
        The bits of R depend on the chunks, and on the BLAS; of the same chunks on one machine they are the
        same. For other sources it is the source that decides.
    checkpoint : a file that the pass is written to every so many (`every`) chunks and however it ends, even
        by Ctrl-C. If it exists, the pass goes on from there, to the same bits.
    progress : called with a `Progress` after each chunk.

    Returns
    -------
    Problem. `problem.compressed` is a `Compressed`: rows, chunks, skipped, eps, levels, held_out.

    Raises
    ------
    BadChunk : a chunk, which it names, has NaN or infinity, another number of columns, dtype or names than
        the first one, negative or non-finite weights, or cannot be read; or there are too many levels. Its
        `problem()` is that of the chunks before it. It is a ValueError.
    TypeError, ValueError, FileNotFoundError : bad arguments; no rows; another pass's checkpoint.
    MemoryError : 3 factors and 4 chunks of 1024 rows are more than the memory of this machine.
    ModuleNotFoundError : the package of the source is missing.

    >>> import numpy as np, sparselin as sl
    >>> rng = np.random.default_rng(0)
    >>> def chunks():
    ...     for _ in range(20):
    ...         X = rng.standard_normal((1000, 6))
    ...         yield X, 1.0 + 3 * X[:, 4] - X[:, 1] + rng.standard_normal(1000)
    >>> problem = sl.compress(chunks(), intercept=True, held_out=10)
    >>> problem, problem.compressed.rows
    (Problem(dense, n=8, d=7, float64), 18000)
    >>> path = sl.omp(problem, 2)
    >>> path.support.tolist(), path.coef.round(1).tolist(), round(path.intercept, 1)
    ([4, 1], [3.0, -1.0], 1.0)
    >>> problem.compressed.held_out_r2(path).round(1).tolist()
    [-0.0, 0.8, 0.9]
    """
    if on_bad not in ("raise", "skip"):
        raise ValueError(f"on_bad must be 'raise' or 'skip'; got {on_bad!r}")
    held = check_count(held_out, "held_out", 0)
    if held == 1:
        raise ValueError("held_out must be 0, for none, or at least 2: every row would be held out")
    options = Options(
        standardize=bool(standardize),
        skips=on_bad == "skip",
        checkpoint=None if checkpoint is None else writable(checkpoint),
        every=check_count(every, "every", 1),
        progress=progress,
    )
    columns = None if columns is None else list(columns)
    beside = {name: v for name, v in (("y", y), ("weights", weights)) if np.ndim(v) or hasattr(v, "shape")}
    form = functools.partial(
        form_of,
        y=None if "y" in beside else y,
        weights=None if "weights" in beside else weights,
        columns=columns,
        forced=list(forced),
        categories=list(categories),
        intercept=bool(intercept),
        max_levels=check_count(max_levels, "max_levels", 1),
        held_out=held,
    )
    wanted = Wanted(
        _named(columns, y, weights),
        _beside(beside),
        None if memory is None else check_count(memory, "memory", 1),
        None if columns is None else len(columns) + 2,  # y and weights may be columns too
        held > 0,
    )
    if type(source).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from sparselin.scale.tree import run as run_tree

        return run_tree(source, form, options, wanted)
    return run(open_source(source, wanted), form, options)


def _beside(given: dict[str, Any]) -> tuple[Any, ...]:
    if "weights" in given and "y" not in given:
        raise ValueError("weights as an array need y as an array too: source[:, j] of a column")
    return tuple(given.values())


def _named(columns: list[int | str] | None, y: Any, weights: Any) -> list[str] | None:
    """The columns to read, where all are named."""
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    names = [str(c) for c in columns]
    return list(dict.fromkeys([*names, *(c for c in (y, weights) if isinstance(c, str))]))
