"""The command line: thin. It parses, shows progress, and leaves the work to `experiments` and `reports`."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

import sparselin
from sparselin.ensembles import ENSEMBLES
from sparselin.experiments.equivalence import (
    DesignRecord,
    EnsembleSummary,
    Settings,
    summarize,
    verify_all,
    verify_design,
)
from sparselin.experiments.step import Verdict
from sparselin.experiments.sweep import Sweep, sweep_gaussian
from sparselin.ledger import PAPERS, Claim, Outcome, collect, decide_all
from sparselin.problem import Problem
from sparselin.reports import ledger as ledger_report
from sparselin.reports import verification


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sparselin.__version__)
def cli() -> None:
    """sparselin: the theory of greedy sparse regression, checked."""


@cli.command()
@click.option("--designs", type=click.IntRange(1), help="Designs in all.  [default: 1000; with --quick 32]")
@click.option("--steps", type=click.IntRange(1), default=8, show_default=True, help="Features per design.")
@click.option(
    "--ensembles",
    default="all",
    show_default=True,
    help=f"Comma-separated: {', '.join(ENSEMBLES)}.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes.  [default: cores]"
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("report"),
    show_default=True,
    help="Folder for index.html, results.json and the figures.",
)
@click.option("--quick", is_flag=True, help="Fewer designs, fewer of them audited: a look in seconds.")
@click.option("--uncapped", is_flag=True, help="No cap on a descent (the default from 10000 designs on).")
@click.option(
    "--design",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check one saved design (.npz with X and y) and print every step.",
)
def verify(
    designs: int | None,
    steps: int,
    ensembles: str,
    seed: int,
    jobs: int,
    output: Path,
    quick: bool,
    uncapped: bool,
    design: Path | None,
) -> None:
    """Verify that OMP, Sequential LASSO and linear Sequential Attention select the same features.

    Exit status 0: no violation, and few enough steps undecided. 1: a violation, or too many undecided.
    130: interrupted (the report of what was done is written).
    """
    console = Console()
    if design is not None:
        raise SystemExit(_verify_saved(console, design, steps, seed))
    settings = Settings(
        designs=designs or (32 if quick else 1000),
        steps=steps,
        ensembles=_chosen(ensembles),
        seed=seed,
        jobs=jobs,
    )
    if quick:
        settings = dataclasses.replace(settings, audit_first=1, reach_every=64)
    if uncapped or settings.designs >= 10_000:
        settings = dataclasses.replace(settings, descent_flops=None)
    _make_folder(output)
    started = time.perf_counter()
    records, interrupted = _collect(console, settings)
    if not records:
        raise SystemExit(130)
    # a second Ctrl-C must not cost the report
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    summary = summarize(records)
    seconds = time.perf_counter() - started
    index = verification.write(output, settings, records, summary, seconds, interrupted)
    console.print(verification.table(summary))
    for line in verification.headline(summary):
        console.print(line)
    for line in verification.reproductions(output, settings, records):
        console.print(line, soft_wrap=True, highlight=False)
    console.print(f"Report: {index}", soft_wrap=True, highlight=False)
    raise SystemExit(130 if interrupted else exit_status(summary))


def _make_folder(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(f"cannot make {output}: {error.strerror}", param_hint="--output") from None


def exit_status(summary: list[EnsembleSummary]) -> int:
    """0 where every ensemble passes, else 1."""
    return 0 if all(row.passes for row in summary) else 1


def _chosen(ensembles: str) -> tuple[str, ...]:
    if ensembles == "all":
        return tuple(ENSEMBLES)
    names = tuple(dict.fromkeys(name.strip() for name in ensembles.split(",")))
    unknown = [name for name in names if name not in ENSEMBLES]
    if unknown:
        raise click.BadParameter(
            f"unknown ensemble {unknown[0]!r}; the ensembles are {', '.join(ENSEMBLES)}",
            param_hint="--ensembles",
        )
    return names


def _collect(console: Console, settings: Settings) -> tuple[list[DesignRecord], bool]:
    """All records, in the order of the tasks; Ctrl-C keeps those that have come."""
    records: list[DesignRecord] = []
    interrupted = False
    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=console) as progress, _closing(verify_all(settings)) as stream:
        bar = progress.add_task("designs", total=settings.designs, state="")
        count = dict.fromkeys(Verdict, 0)
        try:
            for record in stream:
                records.append(record)
                count[record.verdict] += 1
                state = f"{count[Verdict.VIOLATES]} violate, {count[Verdict.UNDECIDED]} undecided"
                progress.update(bar, advance=1, state=state)
        except KeyboardInterrupt:
            interrupted = True
            console.print("Interrupted: finishing the designs under way, then the report.")
    order = {task: i for i, task in enumerate(settings.tasks())}
    records.sort(key=lambda record: order[record.ensemble, record.index])
    return records, interrupted


@contextlib.contextmanager
def _closing(stream: Iterator[DesignRecord]) -> Iterator[Iterator[DesignRecord]]:
    try:
        yield stream
    finally:
        stream.close()  # type: ignore[attr-defined]


def _verify_saved(console: Console, path: Path, steps: int, seed: int) -> int:
    """Every check at every step of one saved design."""
    try:
        with np.load(path) as saved:
            X, y = np.asarray(saved["X"], np.float64), np.asarray(saved["y"], np.float64)
            key = [int(part) for part in saved["seed"]] if "seed" in saved else [seed]
            reach = bool(saved["reach"]) if "reach" in saved else False
        Problem(X, y)
    except (
        OSError,
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        zipfile.BadZipFile,
    ) as error:
        words = f"{path} must be an .npz with X (n, d) and y (n,): {error}"
        raise click.BadParameter(words, param_hint="--design") from None
    selection, supports, records = verify_design(X, y, steps, seed=key, audit=True, reach=reach)
    console.print(verification.step_table(selection, records))
    console.print(f"Sequential LASSO: {selection.status.name}, {selection.status.message}")
    if supports.reason:
        console.print(f"supports: {supports.verdict}: {supports.reason}")
    wrong = [record for record in records if record.verdict is Verdict.VIOLATES]
    return 1 if wrong or supports.verdict is Verdict.VIOLATES else 0


@cli.command()
@click.option("--designs", type=click.IntRange(1), default=100_000, show_default=True)
@click.option(
    "--size",
    type=(click.IntRange(1), click.IntRange(1), click.IntRange(1)),
    default=(40, 80, 8),
    show_default=True,
    metavar="N D K",
    help="Rows, columns, steps; K at most N and D.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
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
    """What a sweep found, a line each."""
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


@cli.command()
@click.option(
    "--paper",
    type=click.Choice(tuple(PAPERS), case_sensitive=False),
    help="; ".join(f"{key}: {title}" for key, title in PAPERS.items()) + ".",
)
@click.option("--id", "pattern", help="Claims whose id begins with this.")
@click.option(
    "--cases", type=click.IntRange(1), help="Cases per claim, roughly.  [default: each claim's own number]"
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes.  [default: cores]"
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("proofs_checks"),
    show_default=True,
    help="The checks, a folder of the repository.",
)
@click.option("--write", is_flag=True, help="Store what was found: LEDGER.md, ledger.json in the folder.")
def ledger(
    paper: str | None,
    pattern: str | None,
    cases: int | None,
    seed: int,
    jobs: int,
    folder: Path,
    write: bool,
) -> None:
    """Check every claim of the papers, and compare the verdicts with the stored ledger.

    Exit status 0: all verdicts stand. 1: one does not, or differs from the stored one. 130: interrupted
    (what was done is shown).
    """
    try:
        claims = collect(folder, paper, pattern)
        stored = ledger_report.read(folder)
    except (FileNotFoundError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--folder") from None
    if not claims:
        where = f" in {paper}" if paper else ""
        raise click.BadParameter(f"no claim's id{where} begins with {pattern!r}", param_hint="--id")
    console = Console()
    results, interrupted = _decide(console, claims, cases, seed, jobs)
    console.print(ledger_report.table(results))
    failed = [made.id for made, outcome in results if outcome.failure]
    whole = paper is None and pattern is None and not interrupted
    if write:
        rows = (stored or {"rows": []})["rows"]
        kept = [row for row in rows if row["id"] in failed] if whole else rows
        stored = _store(console, folder, results, seed, kept)
    changed = []
    if stored is None:
        console.print(f"No ledger in {folder}: nothing to compare with.")
    else:
        changed = ledger_report.changes([made for made, _ in results], stored, whole)
    for line in changed:
        console.print(f"Changed: {line}", style="bold red", highlight=False, markup=False)
    if interrupted:
        console.print(f"Interrupted: {len(results)} of {len(claims)} claims done.")
    count = sum(outcome.cases for _, outcome in results)
    console.print(
        f"{len(results)} claims, {count:,} cases; {len(failed)} verdicts do not stand. "
        f"Witnesses and corrections: {folder / ledger_report.MARKDOWN}",
        highlight=False,
    )
    raise SystemExit(1 if failed or changed else 130 if interrupted else 0)


def _store(
    console: Console,
    folder: Path,
    results: list[tuple[Claim, Outcome]],
    seed: int,
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    """Write what stands, beside stored rows of other claims, and return the new ledger."""
    standing = [(made, outcome) for made, outcome in results if not outcome.failure]
    here = {made.id for made, _ in standing}
    others = [row for row in rows if row["id"] not in here]
    made = ledger_report.document(standing, seed, datetime.date.today(), others)
    ledger_report.write(folder, made)
    console.print(
        f"Wrote {len(standing)} rows to {folder}; {len(results) - len(standing)} failed and were not stored."
    )
    return made


def _decide(
    console: Console, claims: list[Claim], cases: int | None, seed: int, jobs: int
) -> tuple[list[tuple[Claim, Outcome]], bool]:
    """All outcomes, in the order of the claims; Ctrl-C keeps those that have come."""
    outcomes: dict[str, Outcome] = {}
    interrupted = False
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("claims", total=len(claims))
        try:
            for made, outcome in decide_all(claims, cases, seed, jobs):
                outcomes[made.id] = outcome
                progress.update(bar, advance=1, description=made.id)
        except KeyboardInterrupt:
            interrupted = True
    return [(made, outcomes[made.id]) for made in claims if made.id in outcomes], interrupted
