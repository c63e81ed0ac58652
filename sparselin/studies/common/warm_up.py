"""The command `sparselin warm-up`: call the public functions on every kind of data, to compile all kernels.

Each kernel is compiled at its first call here, whatever SPARSELIN_COMPILE says, except `never`.

A kernel is compiled for the types of its arguments. These depend on the function, on its options, and on the
dtype, the layout (by rows, by columns, sparse, a Gram matrix) and the size of X.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np
import scipy.sparse
from rich.table import Table

import sparselin as sl
from sparselin import _kernels
from sparselin.parallel.processes import run_jobs
from sparselin.spectral import GeneralizedRank, SmoothedDifferentialEntropy
from sparselin.studies.common.command import Terminal, jobs_option, watch


class Warmed(NamedTuple):
    """The result of calling a public function on all kinds of data.

    It holds the function, the processor time of the calls in seconds, and the number of kernels compiled.
    """

    name: str
    seconds: float
    compiled: int


def _best_subset(X: Any, y: Any) -> None:
    for forced in ((), (0,)):
        sl.best_subset(X, y, 4, forced=forced)
    d = X.n_features if isinstance(X, sl.Problem) else X.shape[1]
    sl.best_subset(X, y, 2, ridge=1.0, groups=np.arange(d) // 2, node_limit=9)


def _lasso_path(X: Any, y: Any) -> None:
    for forced, most, least in (((), 12, 0.0), ((0,), 12, 0.0), ((), 999, 1.0)):
        sl.lasso_path(X, y, unpenalized=forced, max_steps=most, lam_min=least)


def _sequential_attention(X: Any, y: Any) -> None:
    for form in ("linear", "softmax"):
        sl.sequential_attention(X, y, 3, parametrization=form)


def _searches(X: Any, y: Any) -> None:
    for f in (GeneralizedRank(0.5), SmoothedDifferentialEntropy(1.0)):
        sl.forward_regression(X, y, 3, regularizer=f, nu=0.1)
        sl.local_search(X, y, regularizer=f, nu=0.1)


def _stability(X: Any, y: Any) -> None:
    for method in ("omp", "ols", "lasso"):
        sl.stability_selection(X, y, 3, method=method, pairs=1)


def _inference(X: Any, y: Any) -> None:
    # without the tie, where no step can be tested
    X = X[:, :-1].astype(float)
    y = y.astype(float)
    sl.inference(X, y, sl.ols(X, y, 3), sigma="response")


def _prox(X: Any, y: Any) -> None:
    W = np.array(X.T)
    sl.hier_prox(W[:, 0], W, lam=0.1, M=1.0)
    sl.group_hier_prox(W[:, :2], W, lam=0.1, M=1.0)


# name ↦ call, the slowest to compile first, because several processes share the work
CALLS: dict[str, Callable[[Any, Any], object]] = {
    "best_subset": _best_subset,
    "batch_omp": lambda X, y: sl.batch_omp(X, np.column_stack([y, -y]), 3),
    "lasso_path": _lasso_path,
    "omp": lambda X, y: sl.omp(X, y, 4),
    "submodularity_ratio": lambda X, y: sl.submodularity_ratio(X, y, (0, 1), 3),
    "sparse_eigenvalues": lambda X, y: sl.sparse_eigenvalues(X, 3),
    "sequential_attention": _sequential_attention,
    "hadamard_descent": lambda X, y: sl.hadamard_descent(X, y, 1.0),
    "ols": lambda X, y: sl.ols(X, y, 4, forced=(0,)),
    "sequential_lasso": lambda X, y: sl.sequential_lasso(X, y, 4),
    "first_entry": lambda X, y: sl.first_entry(X, y),
    "gradient_flow": lambda X, y: sl.gradient_flow(X, y),
    "project_dual": lambda X, y: sl.project_dual(X, y, 1.0),
    "hier_prox": _prox,
    "softmax_penalty": lambda X, y: sl.softmax_penalty(np.abs(X[0])),
    "forward_regression": _searches,
    "choose_nu": lambda X, y: sl.choose_nu(X, y, 2, GeneralizedRank(0.5)),
    "guarantee_bounds": lambda X, y: sl.guarantee_bounds(X, y, 3),
    "subsets_within": lambda X, y: sl.subsets_within(X, y, 2, eps=0.1),
    "swaps": lambda X, y: sl.swaps(X, y, 3),
    "inference": _inference,
    "verify": lambda X, y: sl.verify(X, y, 2),
    "stability_selection": _stability,
}
_ONLY_ARRAYS = {"hier_prox", "softmax_penalty"}
_NO_GRAM = _ONLY_ARRAYS | {"batch_omp", "inference", "project_dual", "stability_selection", "verify"}
_LARGE = {"omp", "ols", "sequential_lasso", "lasso_path"}


def data(name: str) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs X, y on which the function of this name is called."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        for n, d in ((60, 20), (12, 30)):
            X: Any = rng.standard_normal((n, d)).astype(dtype)
            X[:, -1] = X[:, 1]  # a tie
            y: Any = (X[:, :3].sum(1) + rng.standard_normal(n)).astype(dtype)
            yield X, y
            yield np.asfortranarray(X), y
            if name not in _ONLY_ARRAYS:
                yield scipy.sparse.csc_array(X), y
            if name not in _NO_GRAM:
                yield sl.Problem.from_gram(X.T @ X, X.T @ y, float(y @ y)), None
        if name in _LARGE:
            X = rng.standard_normal((500, 10001)).astype(dtype)  # too large for `greedy._runs.picks_singly`
            y = X[:, :3].sum(1)
            yield X, y
            yield np.asfortranarray(X), y


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """Record, inside a `with` block, the names of the functions that Numba compiles, except cached ones."""
    from numba.core import event

    with event.install_recorder("numba:compile") as recorder:
        names: list[str] = []
        yield names
        names += [e.data["dispatcher"].__name__ for _, e in recorder.buffer if e.is_start]


def compile_all(name: str) -> Warmed:
    """Call a function of `CALLS` on all its `data`, so that its kernels are compiled.

    The usual notice about compiling is not shown.
    """
    log = logging.getLogger("sparselin")
    level = log.level
    began = time.process_time()
    log.setLevel(logging.WARNING)
    try:
        with compilations() as compiled, _kernels.use("always"):
            for X, y in data(name):
                CALLS[name](X, y)
    finally:
        log.setLevel(level)
    return Warmed(name, time.process_time() - began, len(compiled))


@click.command("warm-up", short_help="Compile all functions in advance.")
@click.argument("functions", nargs=-1, type=click.Choice(list(CALLS)), metavar="[FUNCTION]...")
@jobs_option
def warm_up(functions: tuple[str, ...], jobs: int) -> None:
    """Compile all functions in advance, so that no later call has to wait for it.

    Each public function is called on every kind of data; the compiled code is cached on this machine. If
    FUNCTIONs are named, as in `sparselin warm-up omp lasso_path`, only these are called. Small problems run
    without it. So this is for large problems, for a class, or for an image of a container.

    Exit status: 0 if all functions are compiled, 1 if nothing is compiled because Numba is not installed or
    SPARSELIN_COMPILE is never, 130 if interrupted (finished functions stay cached).
    """
    if _kernels.form() in ("never", "without Numba"):
        raise click.ClickException(
            "nothing is compiled: Numba is not installed, or SPARSELIN_COMPILE is never"
        )
    console = Terminal()
    done: list[Warmed] = []

    def take(warmed: Warmed) -> tuple[int, str]:
        done.append(warmed)
        return 1, warmed.name

    began = time.perf_counter()
    names = [name for name in CALLS if not functions or name in functions]
    stream = run_jobs(((compile_all, (name,)) for name in names), jobs)
    stopped = watch(console, "compiling", len(names), stream, take, "Interrupted: the compiled code is kept.")
    if any(warmed.compiled for warmed in done):
        console.print(_table(done))
    finished = f"{', '.join(names)} compiled" if functions else "All functions are compiled"
    words = "Interrupted" if stopped else finished
    console.print(f"{words}: {time.perf_counter() - began:.1f} s", highlight=False)
    raise SystemExit(130 if stopped else 0)


def _table(done: list[Warmed]) -> Table:
    table = Table("function", "kernels compiled", "processor time [s]")
    for warmed in done:
        table.add_row(warmed.name, str(warmed.compiled), f"{warmed.seconds:.1f}")
    table.add_row("all", str(sum(w.compiled for w in done)), f"{sum(w.seconds for w in done):.1f}")
    return table
