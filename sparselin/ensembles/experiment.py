"""An experiment: a function on many designs of several ensembles, in all cores, as a table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from sparselin.ensembles.claims import Claim, of_design, source, value_on
from sparselin.validation import check_count
from sparselin.validation.extras import needs

# the place of a design in the experiment, and its row of the table
_Row: TypeAlias = tuple[tuple[int, int], dict[str, Any]]
_BATCH = 5  # designs in one message to a process


def experiment(
    function: Claim,
    ensembles: Any,
    designs: int = 100,
    *,
    seed: int = 0,
    processes: int | None = None,
    progress: bool = True,
) -> Any:
    """Run a function on designs of ensembles, and return a table with a row for each design.

    Ctrl-C ends the run early; the table then has the designs that are finished, and
    `table.attrs["interrupted"]` is True. The table does not depend on the number of processes, because
    BLAS has one thread in each.

    Parameters
    ----------
    function : a function of (X, y), or of one argument, the `Design`, which has the true β and noise of y. It
        returns a dict with the same keys for each design, or one value. With more than one process it may be
        a lambda or a local function, but what it refers to must be picklable.
    ensembles : an ensemble as `rate` takes it (a name, FILE.py:NAME, an `Ensemble`, or a function of a
        generator), or a list of them.
    designs : the number of designs of each ensemble.
    seed : design i of an ensemble depends on the seed and i, but not on the other arguments.
    processes : the number of processes; None for all cores.
    progress : whether to show a bar on stderr.

    Returns
    -------
    A pandas DataFrame with the columns ensemble, index, seed, n, d, and then the keys of the dict, or else
    value. `table.to_latex()` is its LaTeX.

    Raises
    ------
    TypeError, ValueError : a bad argument, or a function that cannot be sent to another process. An error
        that the function itself raises has a note with the index of the design.
    ModuleNotFoundError : pandas, or with `progress` rich, is not installed.

    >>> import sparselin as sl
    >>> def shares(X, y):
    ...     return {"OMP": sl.omp(X, y, 3).r2, "best": sl.best_subset(X, y, 3).r2}
    >>> def small(rng):
    ...     return sl.ensembles.ar1(20, 10, rng, rho=0.5)
    >>> table = experiment(shares, small, 4, processes=1, progress=False)
    >>> list(table.columns), bool((table["OMP"] <= table["best"] + 1e-12).all())
    (['ensemble', 'index', 'seed', 'n', 'd', 'OMP', 'best'], True)
    """
    with needs("pandas", "sparselin.testing.experiment needs pandas: pip install 'sparselin[verify]'"):
        import pandas
    designs = check_count(designs, "designs", 1)
    seed = check_count(seed, "seed", 0, float("inf"))
    count = check_count(os.cpu_count() or 1 if processes is None else processes, "processes", 1)
    given = [*ensembles] if isinstance(ensembles, (list, tuple)) else [ensembles]
    if not given:
        raise ValueError("ensembles must have at least one ensemble; got an empty list")
    sources = [source(ensemble, seed) for ensemble in given]
    holds = of_design(function, "function")
    places = [(i, index) for index in range(designs) for i in range(len(sources))]
    parts = [places[start : start + _BATCH] for start in range(0, len(places), _BATCH)]
    work = ((_measure, (holds, sources, part, seed)) for part in parts)
    rows: list[_Row] = []
    interrupted = False
    with contextlib.closing(_batches(work, min(count, len(parts)))) as stream:  # type: ignore[type-var]
        try:
            for found in _shown(stream, len(parts)) if progress else stream:
                rows.extend(found)
        except KeyboardInterrupt:
            interrupted = True
    table = pandas.DataFrame([row for _, row in sorted(rows, key=lambda item: item[0])])
    table.attrs["interrupted"] = interrupted
    return table


def _measure(
    function: Callable[..., Any],
    sources: list[tuple[str, Callable[[int], Any]]],
    places: list[tuple[int, int]],
    seed: int,
) -> list[_Row]:
    """Return the rows of some designs: (ensemble, index) by numbers."""
    rows = []
    for i, index in places:
        name, draw = sources[i]
        design = draw(index)
        n, d = design.X.shape
        row = {"ensemble": name, "index": index, "seed": seed, "n": n, "d": d}
        found = value_on(function, design, f"design {index} of {name}, seed {seed}")
        more = dict(found) if isinstance(found, Mapping) else {"value": found}
        if taken := more.keys() & row.keys():
            raise ValueError(f"function must return other keys than {', '.join(row)}; got {sorted(taken)}")
        rows.append(((i, index), row | more))
    return rows


def _batches(work: Iterable[tuple[Callable[..., Any], tuple[Any, ...]]], count: int) -> Iterator[list[_Row]]:
    """Yield the results of jobs from `count` processes, which also take functions that only a script has."""
    from joblib import Parallel, delayed, parallel_config
    from threadpoolctl import threadpool_limits

    if count == 1:
        with threadpool_limits(1):
            yield from (function(*arguments) for function, arguments in work)
        return
    with parallel_config("loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=count, return_as="generator_unordered", batch_size=1)
        found = pool(delayed(function)(*arguments) for function, arguments in work)
    try:
        yield from found
    except Exception as error:
        if "pickle" not in f"{type(error).__name__} {error}".lower():
            raise
        advice = "define it without open files, locks and the like, or pass processes=1"
        raise TypeError(f"function cannot be sent to another process ({error}): {advice}") from error
    finally:
        found.close()


def _shown(stream: Iterator[list[_Row]], total: int) -> Iterator[list[_Row]]:
    """Yield the results under a progress bar on stderr."""
    words = "the bar of sparselin.testing.experiment needs rich: pip install 'sparselin[verify]'"
    with needs("rich", f"{words}, or pass progress=False"):
        from rich.console import Console
        from rich.progress import track
    yield from track(stream, "designs", total, console=Console(stderr=True), transient=True)
