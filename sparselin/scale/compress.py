"""`compress`: read data of any length in one pass and reduce them to a problem of d + 2 rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparselin.problem import Problem
from sparselin.problem.argument_names import suggest_names
from sparselin.scale.checkpoint import checkpoint_path
from sparselin.scale.form import form_of
from sparselin.scale.passes import Options, run
from sparselin.scale.record import Progress
from sparselin.scale.sources import ReadOptions, open_source
from sparselin.validation import Columns, check_choice, check_count, check_flag


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
    """Read [X y] with any number of rows in one pass, and return the problem of its triangular factor.

    Let [X y] = QR with QᵀQ = I. R is triangular, with d + 2 rows at most. The columns of R have the same
    inner products as the columns of [X y], so they have the same lengths and projections. Write R = [R_X z].
    Every least-squares method gives the same results for the design R_X and the response z as for X and y:
    selections, coefficients, λ*, tied features, active features, LASSO paths, best subsets, R² and
    guarantees. Householder reflectors compute R, one block of rows at a time.

    Accuracy. R is the exact factor of data whose columns differ from the given ones by at most
    `compressed.eps` of their lengths, whatever the condition number of X. `Problem.eps` grows to this value,
    and so do the error bounds of correlations and of lengths. So features that tie exactly in integer data
    are nearly tied in R, and count as tied. `certify` proves the picks for R itself.
    `docs/guide/longer_than_memory.md` describes the limits.

    Predictions. The result holds no rows of X. Dual points and residuals computed from it are those of the
    data multiplied by Qᵀ; they have the same lengths. `problem.predict` returns QᵀXβ. But
    `path.predict(X_new)` takes rows as usual. Methods that need rows (`generalized_omp`,
    `stability_selection`, cross-validation) refuse the result.

    Parameters
    ----------
    source : an iterable of chunks (arrays (p, q), pairs (X, y), triples (X, y, weights), frames, Arrow
        batches, or dicts of columns); an array or np.memmap (n, q); a zarr array; the path of a .parquet
        file, or a pyarrow ParquetFile; a polars LazyFrame; a DuckDB relation; a Dask array or DataFrame. The
        extra `scale` installs the packages of these sources.
    y, weights : columns of the source, by index or name; or arrays (n,), if the source is an array. With
        y=None each chunk must be a pair or a triple; with weights=None all weights are 1, unless chunks are
        triples.
    intercept, standardize : as in `Problem`, computed in the same pass.
    forced : numeric features that come first in the factor. Projecting these features off then only drops
        rows of R, without rounding. Pass the same features to the method as `forced`.
    columns : the features, by index or name; by default all columns except y and the weights.
    categories : categorical features. Each level becomes a column of zeros and ones, named "category=level",
        in the order in which the levels first appear. The column of a level is zero in all earlier rows.
    max_levels : the largest number of levels that a category may have; more levels raise an error.
    held_out : m ≥ 2 holds out every m-th row: the rows i of chunk k with i + k ≡ −1 mod m, where i counts
        the rows of positive weight. 0 holds out none. `problem.compressed.held_out_r2(path)` is the R² on
        these rows.
    on_bad : "raise", or "skip" to leave out chunks that cannot be used. `problem.compressed.skipped` lists
        the numbers of these chunks and the reasons.
    memory : bytes for 4 chunks and 3 factors (6 with held_out). None means 256 MiB, or the bytes that chunks
        of 1024 rows need, if this is more. `memory` determines the number of rows in a chunk for arrays,
        np.memmap, zarr, Parquet, polars and DuckDB. For Parquet it includes one page of each column; the
        pages count for at most half of `memory`. The levels of categories need additional memory. Iterables
        and Dask are read in the chunks that they provide. The bits of R depend on the chunks and on the BLAS.
        The same chunks on the same machine give the same bits.
    checkpoint, every : a file to which the state of the pass is saved each time `every` further chunks have
        been read, and when the pass ends, even by Ctrl-C. If the file exists, the pass resumes from it and
        gives the same bits. A checkpoint of other data is refused: unless the source is a Parquet file or a
        memmap that has not changed since, the chunks that were read before are read again and compared.
    progress : a function that is called with a `Progress` after each chunk.

    Returns
    -------
    Problem. `problem.compressed` is a `Compressed`: rows, chunks, skipped, eps, levels, held_out.

    Raises
    ------
    BadChunk : a chunk has NaN or infinity, or negative or non-finite weights; or its number of columns, names
        or dtypes differ from the first chunk; or it has masked entries; or it cannot be read; or a category
        has too many levels.
        BadChunk is a ValueError. Its message names the chunk, and its method `problem()` returns the problem
        of the chunks before.
    TypeError, ValueError, FileNotFoundError : bad arguments; no rows; the checkpoint of another pass, or of
        other data; with checkpoint, levels of a category that are neither strings nor numbers.
    MemoryError : 3 factors and 4 chunks of 1024 rows exceed the memory of this machine.
    ModuleNotFoundError : the package of the source is not installed.

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
    check_choice(on_bad, "on_bad", ("raise", "skip"))
    held = check_count(held_out, "held_out", 0)
    if held == 1:
        raise ValueError("held_out must be 0 (no rows) or at least 2; got 1, which would hold out every row")
    saved = None if checkpoint is None else checkpoint_path(checkpoint)
    standardize = check_flag(standardize, "standardize")
    every = check_count(every, "every", 1)
    options = Options(standardize, on_bad == "skip", saved, every, progress)
    columns = None if columns is None else list(columns)
    vectors = {name: v for name, v in (("y", y), ("weights", weights)) if np.ndim(v) or hasattr(v, "shape")}
    if vectors.keys() == {"weights"}:
        raise ValueError("weights as an array need y as an array too: pass y=source[:, j] for column j")
    settings: dict[str, Any] = {"columns": columns, "forced": list(forced), "categories": list(categories)}
    settings |= {name: None if name in vectors else v for name, v in (("y", y), ("weights", weights))}
    settings |= {"intercept": check_flag(intercept, "intercept"), "held_out": held}
    settings["max_levels"] = check_count(max_levels, "max_levels", 1)
    form = functools.partial(form_of, **settings)
    limit = None if memory is None else check_count(memory, "memory", 1)
    factored = None if columns is None else len(columns) + 2  # y and weights may be columns of the source
    names = _column_names(columns, y, weights)
    reading = ReadOptions(names, tuple(vectors.values()), limit, factored, held > 0)
    if type(source).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from sparselin.scale.tree import run as run_tree

        return run_tree(source, form, options, reading)
    return run(open_source(source, reading), form, options)


def _column_names(columns: list[int | str] | None, y: Any, weights: Any) -> list[str] | None:
    """Return the names of the columns to read; None if `columns` is None or has indices."""
    if columns is None or not all(isinstance(c, str) for c in columns):
        return None
    return list(dict.fromkeys(c for c in (*columns, y, weights) if isinstance(c, str)))
