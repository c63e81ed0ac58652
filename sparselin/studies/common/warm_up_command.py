"""`sparselin warm-up`."""

from __future__ import annotations

import time

import click
from rich.console import Console
from rich.table import Table

from sparselin.parallel.processes import run_jobs
from sparselin.studies.common.command import jobs_option, watch
from sparselin.studies.common.warm_up import CALLS, Warmed
from sparselin.studies.common.warm_up import warm_up as call


@click.command("warm-up", short_help="Compile all functions ahead.")
@jobs_option
def warm_up(jobs: int) -> None:
    """Call every public function once for each kind of data, so that what they compile is cached.

    Exit status 0: all is compiled. 130: interrupted (what was compiled is kept).
    """
    console = Console()
    done: list[Warmed] = []

    def take(warmed: Warmed) -> tuple[int, str]:
        done.append(warmed)
        return 1, warmed.name

    began = time.perf_counter()
    stream = run_jobs(((call, (name,)) for name in CALLS), jobs)
    stopped = watch(console, "compiling", len(CALLS), stream, take, "Interrupted: what was compiled is kept.")
    if any(warmed.compiled for warmed in done):
        console.print(_table(done))
    words = "Interrupted" if stopped else "All is compiled"
    console.print(f"{words}: {time.perf_counter() - began:.1f} s", highlight=False)
    raise SystemExit(130 if stopped else 0)


def _table(done: list[Warmed]) -> Table:
    table = Table("function", "kernels compiled", "processor time [s]")
    for warmed in done:
        table.add_row(warmed.name, str(warmed.compiled), f"{warmed.seconds:.1f}")
    table.add_row("all", str(sum(w.compiled for w in done)), f"{sum(w.seconds for w in done):.1f}")
    return table
