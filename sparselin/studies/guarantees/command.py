"""The command `sparselin guarantee`: its options, and the steps of a run."""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sparselin import guarantee_bounds
from sparselin.ensembles import carried
from sparselin.parallel.processes import Lost, try_jobs
from sparselin.studies.common import command as common
from sparselin.studies.common.page import describe
from sparselin.studies.common.saved_design import read_design
from sparselin.studies.guarantees import report, words
from sparselin.studies.guarantees.large import examine_large
from sparselin.studies.guarantees.tasks import (
    DesignTask,
    GuaranteeRecord,
    GuaranteeSettings,
    examine_batch,
    families,
)
from sparselin.studies.guarantees.worst import Search, Worst, searches, worst_design

_BATCH = 50  # the number of small designs in one job
# options that have no effect with --design
_OPTIONS_OF_RUN = ("designs", "ensembles", "features", "seed", "jobs", "output", "quick")


@click.command(short_help="Compare greedy selection with its bounds.")
@click.option(
    "--designs",
    type=click.IntRange(0, 10_000_000),
    help="The number of small designs.  [default: 10000; with --quick: 300]  With --features: the number for "
    "each setting.  [default: 5; with --quick: 1]",
)
@click.option(
    "--k",
    type=click.IntRange(1),
    help="The largest k.  [default: 6; with --quick: 3]  With --features: the only k.  [default: 10]  With "
    "--design: the k to examine.  [default: the k in the file, or 5]",
)
@click.option(
    "--features",
    type=click.IntRange(2),
    multiple=True,
    help="In place of all other designs, compare OMP, FR, swaps and the LASSO with the proved best subset on "
    "AR(1) designs of this number of columns. May be repeated; 1000, 2000 and 4000 take an hour or two.",
)
@common.ensembles_option(families())
@common.seed_option
@common.jobs_option
@common.output_option(
    "report/guarantee",
    "index.html, results.csv, promises.tex, results.json, the figures and the worst designs",
)
@click.option("--quick", is_flag=True, help="A quick look that takes seconds: fewer designs in each part.")
@common.design_option(
    "examine only the data in this file: an .npz with X and y, or a .csv whose first line names the columns. "
    "Prints the guarantees for it, and writes no report."
)
@common.target_option
def guarantee(
    designs: int | None,
    k: int | None,
    features: tuple[int, ...],
    ensembles: str,
    seed: int,
    jobs: int,
    output: Path,
    quick: bool,
    design: Path | None,
    target: str | None,
) -> None:
    """Measure how far greedy selection is from the best subset, and compare this with the proved bounds.

    A guarantee is a factor φ for which it is proved that R² of the greedy selection is at least φ times the
    R² of the best subset. The command prints the results and writes a page with figures. With FILE it
    examines only the data in this file.

    Where all subsets are compared, designs have 3 to 15 or 60 rows and at most 12 columns. A function of your
    own must take these sizes; for one size of your own use sl.testing.experiment in Python.

    Exit status: 0 if every guarantee holds, 1 if one is violated or a design could not be examined (the
    report then covers the others), 130 if interrupted (the report then covers the finished designs).
    """
    console = common.Terminal()
    if target is not None and design is None:
        raise click.BadParameter("needs FILE, a .csv whose column it names", param_hint="--target")
    if design is not None:
        common.refuse(_OPTIONS_OF_RUN, "--design FILE, which prints the guarantees for only one design")
        raise SystemExit(_show_one(console, design, target, k))
    listed = common.register_own(ensembles, seed)
    settings = GuaranteeSettings(families=common.ensemble_names(listed, families()), seed=seed, jobs=jobs)
    if quick:
        settings = dataclasses.replace(settings, designs=300, repeats=2, k=3, restarts=32, rounds=150)
    if features:
        common.refuse(("ensembles",), "--features, which has designs of its own")
        settings = dataclasses.replace(settings, features=features, designs=1 if quick else 5, k=10)
    given = {name: value for name, value in (("designs", designs), ("k", k)) if value is not None}
    settings = dataclasses.replace(settings, **given)  # type: ignore[arg-type]
    if features and min(features) < 2 * settings.k:
        raise click.BadParameter(f"must be at least 2k = {2 * settings.k}", param_hint="--features")
    common.make_folder(output, "guarantee", report.FILES)
    started = time.perf_counter()
    found, losses, interrupted = _collect(console, settings, quick)
    failures = [_describe_loss(loss) for loss in losses]
    for failure in failures[:20]:
        console.print(failure, soft_wrap=True, highlight=False, markup=False)
    if failures[20:]:
        console.print(f"and {len(failures) - 20} more jobs failed")
    if not found.records and not found.worst:
        why = "Interrupted" if interrupted else "Each job failed"
        console.print(f"{why} before the first result; no report was written.")
        raise SystemExit(130 if interrupted else 1)
    common.ignore_interrupts()
    command = _command(settings, ensembles, quick)
    seconds = time.perf_counter() - started
    run = describe(command, seconds, jobs, seed, interrupted, report.PACKAGES)
    if found.checked:
        table = words.promise_table(found.promises)
        console.print(table.terminal(left=("algorithm", "guarantee"), padding=0, pad_edge=False))
    for line in (*words.headline(found), *report.violations(output, found)):
        console.print(line, soft_wrap=True, highlight=False)
    index = report.write(output, settings, found, run, failures)
    common.finish(console, index, interrupted, failed=bool(found.violations or losses))


def _command(settings: GuaranteeSettings, ensembles: str, quick: bool) -> str:
    """Return the command line that repeats the run."""
    own = " ".join(f"--features {d}" for d in settings.features) or f"--ensembles {ensembles}"
    return (
        f"sparselin guarantee --designs {settings.designs} --k {settings.k} {own} "
        f"--seed {settings.seed}{' --quick' if quick else ''}"
    )


def _jobs(settings: GuaranteeSettings, plan: Sequence[Search]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the jobs (function, arguments) of a run, the longest first.

    The order is: real data, large designs, searches for the worst designs, and batches of small designs.
    """
    tasks = sorted(
        settings.tasks(), key=lambda t: (t.study != "real", -t.d, -t.k if t.study == "real" else 0)
    )
    examine = examine_large if settings.features else examine_batch
    yield from ((examine, ([task], settings.seed)) for task in tasks if task.study != "check")
    yield from ((worst_design, (s, settings.restarts, settings.rounds, settings.seed)) for s in plan)
    small = [task for task in tasks if task.study == "check"]
    batches = (small[start : start + _BATCH] for start in range(0, len(small), _BATCH))
    yield from ((examine_batch, (batch, settings.seed)) for batch in batches)


def _collect(
    console: Console, settings: GuaranteeSettings, quick: bool
) -> tuple[words.Findings, list[Lost], bool]:
    """Return the results in the order of the tasks, the lost jobs, and whether Ctrl-C ended the run early."""
    records: list[GuaranteeRecord] = []
    worst: list[Worst] = []
    losses: list[Lost] = []
    tasks = settings.tasks()
    plan = [] if settings.features else searches(quick)

    def take(result: Any) -> tuple[int, str]:
        if isinstance(result, Lost):
            losses.append(result)
            given = result.arguments[0]
            return len(given) if isinstance(given, list) else 1, f"{len(losses)} lost"
        if isinstance(result, list):
            losses.extend(record for record in result if isinstance(record, Lost))
            records.extend(record for record in result if not isinstance(record, Lost))
        elif result is not None:
            worst.append(result)
        broken = sum(record.violated for record in records)
        return len(result) if isinstance(result, list) else 1, f"{broken} violated" if broken else ""

    stream = try_jobs(_jobs(settings, plan), settings.jobs, carried())
    message = "Interrupted. Finishing the current designs, then writing the report."
    interrupted = common.watch(console, "designs", len(tasks) + len(plan), stream, take, message)
    order = {task: i for i, task in enumerate(tasks)}
    records.sort(key=lambda record: order[record.task])
    worst.sort(key=lambda found: plan.index(found.search))
    return words.Findings(records, worst), losses, interrupted


def _describe_loss(loss: Lost) -> str:
    """Return a sentence that names the designs, or the search for a worst design, of a lost job."""
    given = loss.arguments[0]
    tasks = given if isinstance(given, list) else [given]
    first = tasks[0]
    name = str(first)
    if isinstance(first, DesignTask):
        name = f"{first.study} {first.ensemble} #{first.index}, k = {first.k}"
    more = f" and {len(tasks) - 1} more designs of its job" if tasks[1:] else ""
    return f"{name}{more} could not be examined: {loss.why}"


def _show_one(console: Console, path: Path, target: str | None, k: int | None) -> int:
    """Print the guarantees for one saved design, and return the exit status."""
    saved = read_design(path, target)
    try:
        found = guarantee_bounds(saved.X, saved.y, k or saved.k or min(5, saved.X.shape[1]))
    except (ValueError, TypeError, MemoryError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--design") from None
    if saved.note:
        console.print(saved.note, soft_wrap=True, highlight=False)
    console.print(words.design_line(saved.X, saved.y, saved.target), soft_wrap=True, highlight=False)
    left = ("algorithm", "guarantee", "failed hypotheses")
    console.print(words.bounds_table(found).terminal(left=left, folded=left[2:], padding=0))
    for line in words.answers(found, saved.names):
        console.print(line, soft_wrap=True, highlight=False)
    return 1 if found.violated else 0
