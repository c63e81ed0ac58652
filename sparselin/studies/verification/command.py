"""The command `sparselin verify`: its options, and the steps of a run."""

import dataclasses
import math
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from sparselin.ensembles import ENSEMBLES
from sparselin.problem import Problem
from sparselin.studies.common import command as common
from sparselin.studies.common.saved_design import read_design
from sparselin.studies.verification import report as verification
from sparselin.studies.verification.run import (
    CLAIMS,
    FLOW_LIMIT,
    Failure,
    VerificationSettings,
    summarize,
    verify_all,
)
from sparselin.verification.along_path import summary as check_of
from sparselin.verification.along_path import verify_design
from sparselin.verification.flow import verify_flow
from sparselin.verification.projected_design import Agreement

# options that have no effect with --design
_OPTIONS_OF_RUN = ("designs", "ensembles", "shape", "jobs", "output", "quick", "uncapped")


@click.command(short_help="Check that the three algorithms agree.")
@click.option("--claim", type=click.Choice([*CLAIMS]), default="selection", help="What to verify.")
@click.option("--designs", type=click.IntRange(1), help="Number of designs.  [default: 1000; --quick: 32]")
@click.option("--steps", type=click.IntRange(1), default=8, show_default=True, help="Features per design.")
@common.ensembles_option(tuple(ENSEMBLES))
@common.shape_option
@common.seed_option
@common.jobs_option
@common.output_option("report", "index.html, results.json and the figures")
@click.option("--quick", is_flag=True, help="A quick look: fewer designs and audits, done in seconds.")
@click.option("--uncapped", is_flag=True, help="Do not cap a descent (the default from 10000 designs on).")
@common.design_option(
    "check only this design, and print each step: an .npz with X and y, or a .csv with named columns."
)
@common.target_option
@click.option(
    "--plant",
    type=click.Choice([name for plants in CLAIMS.values() for name in plants if name]),
    help="Plant a defect to see the run fail: an OMP that picks the second-best feature; or with --claim "
    "flow, a flow that forgets s at its events, or is late.",
)
def verify(
    claim: str,
    designs: int | None,
    steps: int,
    ensembles: str,
    shape: common.Shape | None,
    seed: int,
    jobs: int,
    output: Path,
    quick: bool,
    uncapped: bool,
    design: Path | None,
    target: str | None,
    plant: str | None,
) -> None:
    """Verify that OMP, Sequential LASSO and linear Sequential Attention select the same features.

    With --claim flow, verify that gradient flow on w∘θ tends to the events of `gradient_flow` as the
    initialisation vanishes, on designs with n, d ≤ 20.

    The command draws designs, checks every step of each, prints a table and writes a page with figures. With
    FILE it checks only the design in this file.

    Exit status: 0 if there is no violation and few steps are undecided; 1 if there is a violation, too many
    steps are undecided, or a design could not be checked (the report then covers the others); 130 if
    interrupted (the report then covers the finished designs).
    """
    console = common.Terminal()
    if target is not None and design is None:
        raise click.BadParameter("needs FILE, a .csv whose column it names", param_hint="--target")
    if plant not in {None, *CLAIMS[claim]}:
        raise click.BadParameter(f"{plant} is not a defect of --claim {claim}", param_hint="--plant")
    if claim == "flow":
        common.refuse(("steps", "uncapped"), "--claim flow, which has neither steps nor descents")
    if design is not None:
        common.refuse(_OPTIONS_OF_RUN, "--design FILE, which checks only one design")
        raise SystemExit(_verify_file(console, design, target, claim, steps, seed, plant))
    if claim == "flow" and shape is not None and max(high for _, high in shape) > FLOW_LIMIT:
        words = f"--claim flow is checked for n, d ≤ {FLOW_LIMIT}; got {common.shape_text(shape)}"
        raise click.BadParameter(words, param_hint="--shape")
    settings = VerificationSettings(
        designs=designs or (32 if quick else 1000),
        steps=steps,
        ensembles=_ensembles(console, ensembles, seed, shape),
        seed=seed,
        jobs=jobs,
        plant=plant,
        claim=claim,
        shape=shape,
    )
    if quick:
        settings = dataclasses.replace(settings, audit_first=1, reach_every=64)
    if uncapped or (claim == "selection" and settings.designs >= 10_000):
        settings = dataclasses.replace(settings, descent_flops=None)
    common.make_folder(output, "verify", verification.FILES)
    started = time.perf_counter()
    records, failures, interrupted = _collect(console, settings)
    for failure in failures[:20]:
        console.print(str(failure), soft_wrap=True, highlight=False, markup=False)
    if failures[20:]:
        console.print(f"and {len(failures) - 20} more designs could not be checked")
    if not records:
        raise SystemExit(130 if interrupted else 1)
    common.ignore_interrupts()
    summary = summarize(records)
    seconds = time.perf_counter() - started
    console.print(verification.table(summary).terminal(padding=0, pad_edge=False))
    for line in verification.headline(summary, settings):
        console.print(line)
    for line in verification.reproductions(output, settings, records):
        console.print(line, soft_wrap=True, highlight=False)
    index = verification.write(output, settings, records, summary, seconds, interrupted, failures)
    common.finish(console, index, interrupted, failed=bool(failures) or exit_status(summary) != 0)


def exit_status(summary: list[Any]) -> int:
    """Return 0 if every ensemble passes, else 1."""
    return 0 if all(row.passes for row in summary) else 1


def _collect(console: Console, settings: VerificationSettings) -> tuple[list[Any], list[Failure], bool]:
    """Return the records and the failures in the order of the tasks, and whether Ctrl-C ended the run."""
    records: list[Any] = []
    failures: list[Failure] = []
    count = dict.fromkeys(Agreement, 0)

    def take(record: Any) -> tuple[int, str]:
        if isinstance(record, Failure):
            failures.append(record)
            return 1, f"{len(failures)} could not be checked"
        records.append(record)
        count[record.verdict] += 1
        return 1, f"{count[Agreement.VIOLATES]} violate, {count[Agreement.UNDECIDED]} undecided"

    words = "Interrupted. Finishing the current designs, then writing the report."
    interrupted = common.watch(console, "designs", settings.designs, verify_all(settings), take, words)
    place = {name: i for i, name in enumerate(settings.ensembles)}
    for found in (records, failures):
        found.sort(key=lambda record: (record.index, place[record.ensemble]))
    return records, failures, interrupted


def _ensembles(console: Console, ensembles: str, seed: int, shape: common.Shape | None) -> tuple[str, ...]:
    """Return the names of the ensembles in a comma-separated list.

    Raises click.BadParameter if real data in the list have fewer rows or columns than `shape`. If the list is
    "all", such data are left out.
    """
    names = common.ensemble_names(common.register_own(ensembles, seed, shape), tuple(ENSEMBLES))
    if shape is None:
        return names
    small = {name: sizes for name in names if (sizes := _lacks(name, seed, shape))}
    if small and ensembles != "all":
        words = "; ".join(f"{name} has {n} rows and {d} columns" for name, (n, d) in small.items())
        raise click.BadParameter(f"{words}: choose a smaller shape", param_hint="--shape")
    if small:
        console.print(f"Without {', '.join(small)}, which have fewer rows or columns than --shape.")
    return tuple(name for name in names if name not in small)


def _lacks(name: str, seed: int, shape: common.Shape) -> tuple[int, int] | None:
    """Return the size of real data that have fewer rows or columns than `shape`; else None."""
    if ENSEMBLES[name].family is not None:
        return None
    n, d = ENSEMBLES[name].design(1, seed).X.shape
    return (n, d) if n < shape[0][1] or d < shape[1][1] else None


def _verify_file(
    console: Console, path: Path, target: str | None, claim: str, steps: int, seed: int, plant: str | None
) -> int:
    """Check every step, or the flow, of one saved design, print the checks, and return the exit status."""
    saved = read_design(path, target)
    try:
        problem = Problem(saved.X, saved.y, names=saved.names or None)
    except (ValueError, TypeError) as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--design") from None
    if saved.note:
        console.print(saved.note, soft_wrap=True, highlight=False)
    if claim == "flow":
        found = verify_flow(saved.X, saved.y, flow=CLAIMS[claim][plant])
        console.print_json(data=dataclasses.asdict(found))
        return 1 if found.verdict == Agreement.VIOLATES else 0
    settings = VerificationSettings(descent_flops=saved.flops, max_iter=100_000)
    if saved.flops is not None:
        flops = None if math.isinf(saved.flops) else saved.flops
        settings = VerificationSettings(descent_flops=flops)
    selection, supports, records = verify_design(
        saved.X,
        saved.y,
        steps,
        methods=CLAIMS[claim][plant] if plant else None,
        seed=saved.seed or [seed],
        audit=saved.audit,
        reach=saved.reach,
        max_iter=settings.iterations,
    )
    selection = dataclasses.replace(selection, fit=problem.design.fit())
    check = check_of(selection, supports, records, saved.audit)
    console.print(str(check), soft_wrap=True, highlight=False, markup=False)
    return 1 if check.verdict == Agreement.VIOLATES else 0
