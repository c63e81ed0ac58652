"""`sparselin verify`."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import click
from rich.console import Console

from sparselin.cli.common import (
    chosen,
    design_option,
    ensembles_option,
    finish,
    ignore_interrupts,
    jobs_option,
    make_folder,
    output_option,
    refuse,
    seed_option,
    target_option,
    watch,
)
from sparselin.cli.saved_design import read_design
from sparselin.ensembles import ENSEMBLES
from sparselin.experiments.verification.projected_design import Agreement
from sparselin.experiments.verification.run import (
    DesignRecord,
    EnsembleSummary,
    VerificationSettings,
    summarize,
    verify_all,
    verify_design,
)
from sparselin.problem import Problem
from sparselin.reports import verification

# options that do not apply to one design
_OF_A_RUN = ("designs", "ensembles", "jobs", "output", "quick", "uncapped")


@click.command(short_help="Check that the three algorithms agree.")
@click.option("--designs", type=click.IntRange(1), help="Designs in all.  [default: 1000; with --quick 32]")
@click.option("--steps", type=click.IntRange(1), default=8, show_default=True, help="Features per design.")
@ensembles_option(tuple(ENSEMBLES))
@seed_option
@jobs_option
@output_option("report", "index.html, results.json and the figures")
@click.option("--quick", is_flag=True, help="Fewer designs, fewer of them audited: a look in seconds.")
@click.option("--uncapped", is_flag=True, help="No cap on a descent (the default from 10000 designs on).")
@design_option(
    "Check one design and print every step: .npz with X and y, or .csv with names in its first line."
)
@target_option
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
    target: str | None,
) -> None:
    """Verify that OMP, Sequential LASSO and linear Sequential Attention select the same features.

    Exit status 0: no violation, and few enough steps undecided. 1: a violation, or too many undecided.
    130: interrupted (the report of what was done is written).
    """
    console = Console()
    if target is not None and design is None:
        raise click.BadParameter("it names a column of --design", param_hint="--target")
    if design is not None:
        refuse(_OF_A_RUN, "--design, which prints the checks of one design")
        raise SystemExit(_verify_saved(console, design, target, steps, seed))
    settings = VerificationSettings(
        designs=designs or (32 if quick else 1000),
        steps=steps,
        ensembles=chosen(ensembles, tuple(ENSEMBLES)),
        seed=seed,
        jobs=jobs,
    )
    if quick:
        settings = dataclasses.replace(settings, audit_first=1, reach_every=64)
    if uncapped or settings.designs >= 10_000:
        settings = dataclasses.replace(settings, descent_flops=None)
    make_folder(output, "verify")
    started = time.perf_counter()
    records, interrupted = _collect(console, settings)
    if not records:
        raise SystemExit(130)
    ignore_interrupts()
    summary = summarize(records)
    seconds = time.perf_counter() - started
    index = verification.write(output, settings, records, summary, seconds, interrupted)
    console.print(verification.table(summary))
    for line in verification.headline(summary):
        console.print(line)
    for line in verification.reproductions(output, settings, records):
        console.print(line, soft_wrap=True, highlight=False)
    finish(console, index, interrupted, failed=exit_status(summary) != 0)


def exit_status(summary: list[EnsembleSummary]) -> int:
    """0 where every ensemble passes, else 1."""
    return 0 if all(row.passes for row in summary) else 1


def _collect(console: Console, settings: VerificationSettings) -> tuple[list[DesignRecord], bool]:
    """All records, in the order of the tasks; Ctrl-C keeps those that have come."""
    records: list[DesignRecord] = []
    count = dict.fromkeys(Agreement, 0)

    def take(record: DesignRecord) -> tuple[int, str]:
        records.append(record)
        count[record.verdict] += 1
        return 1, f"{count[Agreement.VIOLATES]} violate, {count[Agreement.UNDECIDED]} undecided"

    words = "Interrupted: finishing the designs under way, then the report."
    interrupted = watch(console, "designs", settings.designs, verify_all(settings), take, words)
    order = {task: i for i, task in enumerate(settings.tasks())}
    records.sort(key=lambda record: order[record.ensemble, record.index])
    return records, interrupted


def _verify_saved(console: Console, path: Path, target: str | None, steps: int, seed: int) -> int:
    """Every check at every step of one saved design."""
    saved = read_design(path, target)
    try:
        Problem(saved.X, saved.y)
    except (ValueError, TypeError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--design") from None
    if saved.note:
        console.print(saved.note, soft_wrap=True, highlight=False)
    selection, supports, records = verify_design(
        saved.X, saved.y, steps, seed=saved.seed or [seed], audit=True, reach=saved.reach
    )
    console.print(verification.step_table(selection, records))
    console.print(f"Sequential LASSO: {selection.status.name}, {selection.status.message}")
    if supports.reason:
        console.print(f"supports: {supports.verdict}: {supports.reason}")
    wrong = [record for record in records if record.verdict is Agreement.VIOLATES]
    return 1 if wrong or supports.verdict is Agreement.VIOLATES else 0
