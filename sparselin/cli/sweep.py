"""`sparselin sweep`."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from sparselin.cli.common import seed_option
from sparselin.experiments.sweep import Sweep, sweep_gaussian


@click.command(short_help="Check the first entry on many small designs.")
@click.option("--designs", type=click.IntRange(1), default=100_000, show_default=True)
@click.option(
    "--size",
    type=(click.IntRange(1), click.IntRange(1), click.IntRange(1)),
    default=(40, 80, 8),
    show_default=True,
    metavar="N D K",
    help="Rows, columns, steps; K at most N and D.",
)
@seed_option
def sweep(designs: int, size: tuple[int, int, int], seed: int) -> None:
    """Verify on many small Gaussian designs that the LASSO activates first what OMP picks.

    Exit status 0: no violation. 1: a violation. 130: interrupted (what was done is shown).
    """
    n, d, k = size
    if k > min(n, d):
        raise click.BadParameter(f"K must be at most N and D; got {n} {d} {k}", param_hint="--size")
    console = Console()
    done: list[Sweep] = []
    interrupted = False
    started = time.perf_counter()
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("designs", total=designs)

        def show(result: Sweep) -> None:
            done.append(result)
            progress.update(bar, completed=result.designs)

        try:
            sweep_gaussian(n, d, k, designs, seed, callback=show)
        except KeyboardInterrupt:
            interrupted = True
    if not done:
        raise SystemExit(130)
    console.print(_sweep_table(done[-1], time.perf_counter() - started))
    raise SystemExit(1 if done[-1].violated else 130 if interrupted else 0)


def _sweep_table(result: Sweep, seconds: float) -> Table:
    """The result of a sweep, in lines."""
    table = Table(show_header=False)
    size = f"{result.n} × {result.d}, {result.k} steps, seed {result.seed}"
    table.add_row("Gaussian designs", f"{result.designs} in {seconds:.1f} s: {size}")
    table.add_row("verified", f"{result.verified}")
    table.add_row("settled by first_entry", f"{result.settled}")
    table.add_row("undecided", f"{result.undecided}{_first(result.first_undecided)}")
    table.add_row("violations", f"{result.violated}{_first(result.first_violated)}")
    table.add_row("smallest 1 − λ₂/λ*", f"{result.least_window:.3g}")
    table.add_row("smallest margin", f"{result.least_margin:.3g}")
    return table


def _first(index: int | None) -> str:
    return "" if index is None else f", the first sweep_design(n, d, {index}, seed)"
