"""`python -m proofs_checks.experiments.networks`."""

from __future__ import annotations

import dataclasses
import errno
import glob
import importlib.util
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich import box
from rich.console import Console
from rich.table import Table

from proofs_checks.experiments.networks import report, runs, seconds
from proofs_checks.experiments.networks.data import DATA, EMBEDDED, OURS, table
from proofs_checks.experiments.networks.pieces import FULL, QUICK, Piece, Scale, Study
from proofs_checks.experiments.networks.report_rows import AGAINST
from proofs_checks.experiments.networks.store import NAME, Failure, Store
from sparselin.datasets import FOLDER
from sparselin.studies.common.command import (
    HELP,
    Alone,
    as_typed,
    finish,
    ignore_interrupts,
    jobs_option,
    listed,
    make_folder,
    output_option,
    watch,
)
from sparselin.studies.common.folder import ReportError
from sparselin.studies.common.page import pictures

_LOG = 60.0  # without a terminal a line comes at most so often, in seconds


@click.command("python -m proofs_checks.experiments.networks", cls=Alone, context_settings=HELP)
@click.option("--study", "study_names", help="Comma-separated.  [default: all]")
@click.option(
    "--data",
    "data_names",
    help=f"Comma-separated.  [default: those of {', '.join(OURS)} that are in the folder {FOLDER}; without "
    f"it {', '.join(EMBEDDED)}; and what studies make up themselves]",
)
@click.option("--methods", "method_names", help="Comma-separated.  [default: all]")
@click.option("--seeds", type=click.IntRange(1), help="How many.  [default: 5, of MNIST and Fashion-MNIST 3]")
@click.option(
    "--quick/--full",
    default=None,
    help=f"Fewer rows, epochs, k, seeds; the default without data in {FOLDER}.",
)
@click.option("--rows", type=click.IntRange(20), help="The most training rows of MNIST and Fashion-MNIST.")
@click.option("--hours", type=click.FloatRange(0, min_open=True), help="Begin no piece after so many.")
@jobs_option
@output_option(
    "report/networks", f"index.html, results.json, the figures and {NAME}, which the next run reads"
)
@click.option(
    "--against",
    default=AGAINST,
    show_default=True,
    help="The method with which the page compares the others, seed by seed.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Say what would run, and for how long; run nothing.")
def networks(
    study_names: str | None,
    data_names: str | None,
    method_names: str | None,
    seeds: int | None,
    quick: bool | None,
    rows: int | None,
    hours: float | None,
    jobs: int,
    output: Path,
    against: str,
    only_plan: bool,
) -> None:
    """The tables of Sequential Attention and LassoNet again, and honestly, beside what the papers print.

    A run is one of pieces: a selection or a training each. What is done is in the output folder at once, and
    the same command goes on from there, after Ctrl-C, --hours, a full disk or a piece that failed.

    Exit status 0: all pieces were done, or the hours are over. 1: some failed, or the disk is full. 130:
    interrupted (the report of what was done is written).
    """
    console = Console()
    studies = _studies(study_names)
    names = _data(console, data_names, studies)
    scale = _scale(quick, seeds, rows, data_names is not None or not set(names).isdisjoint(OURS))
    pieces = _pieces(studies, names, scale, method_names)
    store = _store(console, output, scale)
    todo = runs.left(pieces, store)
    _check_against(against, pieces, store)
    estimates = _estimates(store)
    console.print(_plan(pieces, store, estimates))
    console.print(_hours_line(todo, estimates, jobs), highlight=False)
    if only_plan:
        raise SystemExit(0)
    shown = {*studies, *(record.piece.study for record in store.records.values())}
    make_folder(
        output, "proofs_checks.experiments.networks", pictures(*(f"{glob.escape(name)}-*" for name in shown))
    )
    command = as_typed()
    started = time.perf_counter()
    ended = _collect(console, _Work(studies, todo, store, estimates, jobs, hours))
    ignore_interrupts()
    store = Store(store.path, store.scale)  # Ctrl-C may have come between a line and what is known of it
    remaining = runs.left(pieces, store)
    for line in _ending(ended, remaining, store, command):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if ended.refused:
        raise SystemExit(1)
    if not store.records:
        raise SystemExit(130 if ended.interrupted else 1)
    run = report.Run(command, time.perf_counter() - started, jobs, ended.interrupted, len(remaining), against)
    try:
        index = report.write(output, studies, store, run)
    except ReportError as error:
        raise click.ClickException(
            f"the page cannot be written ({error}): the records are kept. Afterwards: {command}"
        ) from None
    finish(console, index, ended.interrupted, failed=bool(store.failures))


def _studies(text: str | None) -> dict[str, Study]:
    if importlib.util.find_spec("torch") is None:
        raise click.ClickException("networks need PyTorch: pip install 'sparselin[neural]'")
    from proofs_checks.experiments.networks.studies import STUDIES

    if text is None:
        return dict(STUDIES)
    known = [
        name for name in STUDIES if name in listed(text, tuple(STUDIES), ("study", "studies"), "--study")
    ]
    return {name: STUDIES[name] for name in known}


def _data(console: Console, text: str | None, studies: dict[str, Study]) -> tuple[str, ...]:
    """The names of data sets: those that were asked for and can be read, or those that are there."""
    made_up = tuple(dict.fromkeys(name for s in studies.values() for name in s.data if name not in DATA))
    if text is not None:
        names = listed(text, (*DATA, *made_up), ("data set", "data sets"), "--data")
        for name in names:
            if (wrong := None if name in made_up else _unreadable(name)) is not None:
                raise click.BadParameter(wrong, param_hint="--data")
        return names
    if os.environ.get(FOLDER):
        wrong_of = {name: _unreadable(name) for name in OURS}
        for wrong in filter(None, wrong_of.values()):
            console.print(f"Left out: {wrong}", soft_wrap=True, highlight=False)
        found = tuple(name for name, wrong in wrong_of.items() if wrong is None)
        if found:
            return (*found, *made_up)
    why = "names a folder without them" if os.environ.get(FOLDER) else "is not set"
    words = f"The papers' data sets need {FOLDER}, which {why}: {' and '.join(EMBEDDED)} in their place."
    console.print(words, soft_wrap=True, highlight=False)
    return (*EMBEDDED, *made_up)


def _unreadable(name: str) -> str | None:
    """Why a data set cannot be read, or None."""
    try:
        table(name)
    except (OSError, ValueError) as error:
        return f"{name}: {error}"
    return None


def _scale(quick: bool | None, seeds: int | None, rows: int | None, here: bool) -> Scale:
    """What was asked for; else all, if the folder with data is there and not without them (`here`)."""
    full = bool(os.environ.get(FOLDER) and here) if quick is None else not quick
    scale = FULL if full else QUICK
    if seeds is not None:
        names = (field.name for field in dataclasses.fields(scale) if field.name.endswith("seeds"))
        changed: dict[str, Any] = dict.fromkeys(names, seeds)
        scale = dataclasses.replace(scale, **changed)
    return scale if rows is None else dataclasses.replace(scale, rows=rows, whole=False)


def _pieces(
    studies: dict[str, Study], names: Sequence[str], scale: Scale, method_names: str | None
) -> list[Piece]:
    pieces = runs.planned(studies.values(), names, scale)
    if not pieces:
        words = f"none of the studies {', '.join(studies)} has a piece on {', '.join(names)}"
        raise click.BadParameter(words, param_hint="--data")
    if method_names is None:
        return pieces
    known = tuple(dict.fromkeys(piece.method for piece in pieces))
    methods = listed(method_names, known, ("method", "methods"), "--methods")
    return [piece for piece in pieces if piece.method in methods]


def _check_against(against: str, pieces: Sequence[Piece], store: Store) -> None:
    known = dict.fromkeys(piece.method for piece in [*pieces, *(r.piece for r in store.records.values())])
    if against not in known and against != AGAINST:
        raise click.BadParameter(
            f"unknown method {against!r}; the methods of this run are {', '.join(known)}",
            param_hint="--against",
        )


def _store(console: Console, output: Path, scale: Scale) -> Store:
    try:
        store = Store(output / NAME, scale)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--output") from None
    if store.torn:
        words = f"The last line of {store.path} has no end, a run was cut off there: its piece is left."
        console.print(words, soft_wrap=True, highlight=False)
    if store.others:
        words = f"{store.path} has {store.others} records of another scale too: they are kept, and left out."
        console.print(words, soft_wrap=True, highlight=False)
    return store


def _estimates(store: Store) -> seconds.Estimates:
    done = ((store.records[key].piece, took) for key, took in store.seconds.items())
    return seconds.Estimates(done, seconds.stored(store.scale), store.scale.epochs)


def _plan(pieces: Sequence[Piece], store: Store, estimates: seconds.Estimates) -> Table:
    """Pieces and hours of one process by study and data set."""
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, heading in enumerate(("study", "data", "pieces", "done", "failed", "left", "hours left")):
        view.add_column(heading, justify="right" if i > 1 else "left", no_wrap=True)
    for study, data in dict.fromkeys((piece.study, piece.data) for piece in pieces):
        mine = [piece for piece in pieces if (piece.study, piece.data) == (study, data)]
        todo = runs.left(mine, store)
        failed = sum(piece.key in store.failures for piece in todo)
        took = sum(map(estimates.of, todo)) / 3600
        counts = (len(mine), len(mine) - len(todo), failed, len(todo))
        view.add_row(study, data, *map(str, counts), f"{took:.2f}")
    return view


def _hours_line(todo: Sequence[Piece], estimates: seconds.Estimates, jobs: int) -> str:
    if not todo:
        return "All pieces are done."
    hours = estimates.hours(runs.grouped(todo), jobs)
    processes = "1 process" if jobs == 1 else f"{jobs} processes"
    known = sum(map(estimates.measured, todo)) / len(todo)
    basis = f"; {known:.0%} of them are like pieces that were measured, of the others it is a guess"
    return f"{len(todo)} pieces are left: {runs.duration(hours)} on {processes}{basis if known < 1 else ''}."


class _Work(NamedTuple):
    """What there is to do."""

    studies: dict[str, Study]
    todo: list[Piece]
    store: Store
    estimates: seconds.Estimates
    jobs: int
    hours: float | None


class _Ended(NamedTuple):
    """How the run ended: by Ctrl-C, or because a record could not be written."""

    interrupted: bool
    refused: OSError | None = None


def _collect(console: Console, work: _Work) -> _Ended:
    """Compute what is left; Ctrl-C and a full disk keep what was stored."""
    remaining = {piece.key: piece for piece in work.todo}
    said = time.monotonic()

    def take(found: runs.Computed) -> tuple[int, str]:
        nonlocal said
        piece = found.outcome.piece
        del remaining[piece.key]
        failed = isinstance(found.outcome, Failure)
        if not failed:
            work.estimates.add(piece, found.seconds)
        hours = work.estimates.hours(runs.grouped(remaining.values()), work.jobs)
        state = f"{runs.duration(hours)} left; done{', failed' if failed else ''}: {runs.in_words(piece)}"
        if not console.is_terminal and time.monotonic() - said >= _LOG:
            said = time.monotonic()
            console.print(f"{len(work.todo) - len(remaining)} of {len(work.todo)}, {state}", highlight=False)
        return 1, state

    if not work.todo:
        return _Ended(False)
    stream = runs.run(work.studies, work.todo, work.store, work.jobs, work.hours)
    try:
        return _Ended(watch(console, "pieces", len(work.todo), stream, take, "Interrupted.", alike=False))
    except OSError as error:
        return _Ended(False, error)


def _ending(ended: _Ended, remaining: Sequence[Piece], store: Store, command: str) -> list[str]:
    """What failed, and in one line how to go on."""
    lines = [f"Failed: {line}" for line in runs.failures_in_words(store.failures.values())]
    kept = f"{len(store.records)} records are kept in {store.path}"
    if ended.refused:
        first = "Let it end" if ended.refused.errno == errno.EBUSY else "Make room"
        lines.append(
            f"A record could not be written ({ended.refused}); {kept}. {first}, then go on: {command}"
        )
    elif remaining:
        lines.append(f"{len(remaining)} pieces are left; {kept}. To go on: {command}")
    return lines
