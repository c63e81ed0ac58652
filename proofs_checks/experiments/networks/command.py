"""The command `python -m proofs_checks.experiments.networks`: its options, and the experiments that it
runs.
"""

import dataclasses
import errno
import glob
import importlib.util
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from proofs_checks.experiments.networks import pages, pieces
from proofs_checks.experiments.networks.data import DATA, EMBEDDED, OURS, table
from proofs_checks.experiments.networks.tables import AGAINST
from sparselin.ensembles.datasets import FOLDER
from sparselin.studies.common import command as cli
from sparselin.studies.common.folder import ReportError
from sparselin.studies.common.page import pictures
from sparselin.validation.extras import installed_by

_LOG = 60.0  # without a terminal, the seconds between two lines of progress


@click.command("python -m proofs_checks.experiments.networks", cls=cli.Alone, context_settings=cli.HELP)
@click.option("--study", "study_names", help="Comma-separated names of studies.  [default: all]")
@click.option(
    "--data",
    "data_names",
    help=f"Comma-separated names of data sets.  [default: those of {', '.join(OURS)} that are in the folder "
    f"{FOLDER}, or without it {', '.join(EMBEDDED)}; and the data sets that studies generate]",
)
@click.option("--methods", "method_names", help="Comma-separated names of methods.  [default: all]")
@click.option("--seeds", type=click.IntRange(1), help="Number of seeds.  [default: 5; MNIST, Fashion 3]")
@click.option(
    "--quick/--full",
    default=None,
    help=f"--quick: fewer rows, epochs, k and seeds; the default if {FOLDER} has no data.",
)
@click.option("--rows", type=click.IntRange(20), help="Limit the training rows of MNIST and Fashion-MNIST.")
@click.option("--hours", type=click.FloatRange(0, min_open=True), help="Hours after which no piece begins.")
@cli.jobs_option
@cli.output_option(
    "report/networks", f"index.html, results.json, the figures and {pieces.NAME}, which the next run reads"
)
@click.option(
    "--against",
    default=AGAINST,
    show_default=True,
    help="The method with which the page compares all others, seed by seed.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Show the pieces that would run, and run nothing.")
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
    """Recompute the tables of Sequential Attention and LassoNet, with and without leaks from the test rows.

    A page compares our figures with the printed ones. A run consists of pieces; each piece is one selection
    of features or one training, and its result is stored in the output folder at once. If the run ends early
    by Ctrl-C, --hours, a full disk or a failed piece, the same command resumes it.

    Exit status 0: all pieces are done, or the hours are over. 1: a piece failed, or the disk is full. 130:
    interrupted; the report of the finished pieces is written.
    """
    console = Console()
    studies = _studies(study_names)
    names = _data(console, data_names, studies)
    scale = _scale(quick, seeds, rows, data_names is not None or not set(names).isdisjoint(OURS))
    planned = _pieces(studies, names, scale, method_names)
    store = _store(console, output, scale)
    todo = pieces.pending(planned, store)
    _check_against(against, planned, store)
    console.print(_plan(planned, store))
    console.print(f"{len(todo)} pieces are left." if todo else "All pieces are done.", highlight=False)
    if only_plan:
        raise SystemExit(0)
    shown = {*studies, *(record.piece.study for record in store.records.values())}
    cli.make_folder(
        output, "proofs_checks.experiments.networks", pictures(*(f"{glob.escape(name)}-*" for name in shown))
    )
    command = cli.command_line()
    started = time.perf_counter()
    interrupted, refused = _collect(console, pieces.run(studies, todo, store, jobs, hours), len(todo))
    cli.ignore_interrupts()
    store = pieces.Store(store.path, store.scale)  # Ctrl-C may have come just after a line was written
    left = len(pieces.pending(todo, store))
    for line in _ending(left, store, command, refused):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if refused or not store.records:
        raise SystemExit(130 if interrupted else 1)
    run = pages.Run(
        command=command,
        seconds=time.perf_counter() - started,
        jobs=jobs,
        interrupted=interrupted,
        left=left,
        against=against,
    )
    try:
        index = pages.write(output, studies, store, run)
    except ReportError as error:
        raise click.ClickException(
            f"the page cannot be written ({error}). The records are kept; then run again: {command}"
        ) from None
    cli.finish(console, index, interrupted, failed=bool(store.failures))


def _studies(text: str | None) -> dict[str, pieces.Study]:
    """Return the studies by name: those that the option --study names, or all.

    Raises ClickException if PyTorch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise click.ClickException(f"networks need PyTorch: {installed_by('neural')}")
    from proofs_checks.experiments.networks.studies import STUDIES

    chosen = (
        STUDIES if text is None else cli.parse_names(text, tuple(STUDIES), ("study", "studies"), "--study")
    )
    return {name: study for name, study in STUDIES.items() if name in chosen}


def _data(console: Console, text: str | None, studies: dict[str, pieces.Study]) -> tuple[str, ...]:
    """Return the names of the data sets that the option --data names.

    Without this option, they are the data sets that can be read from the folder of the papers' data, or else
    two data sets of scikit-learn; and the synthetic data sets.
    """
    made_up = tuple(dict.fromkeys(name for s in studies.values() for name in s.data if name not in DATA))
    if text is not None:
        names = cli.parse_names(text, (*DATA, *made_up), ("data set", "data sets"), "--data")
        for wrong in filter(None, (_unreadable(name) for name in names if name not in made_up)):
            raise click.BadParameter(wrong, param_hint="--data")
        return names
    folder = os.environ.get(FOLDER)
    wrong_of = {name: _unreadable(name) for name in OURS} if folder else {}
    for wrong in filter(None, wrong_of.values()):
        console.print(f"Left out: {wrong}", soft_wrap=True, highlight=False)
    found = tuple(name for name, wrong in wrong_of.items() if wrong is None)
    if not found:
        why = "names a folder without them" if folder else "is not set"
        words = f"The papers' data sets need {FOLDER}, which {why}. Using {' and '.join(EMBEDDED)} instead."
        console.print(words, soft_wrap=True, highlight=False)
    return (*(found or EMBEDDED), *made_up)


def _unreadable(name: str) -> str | None:
    """Return the reason why a data set cannot be read, or None."""
    try:
        table(name)
    except (OSError, ValueError) as error:
        return f"{name}: {error}"
    return None


def _scale(quick: bool | None, seeds: int | None, rows: int | None, here: bool) -> pieces.Scale:
    """Return the size of the run that the options choose.

    Without --quick or --full, it is the full size if the papers' data are there, and otherwise the quick one.
    """
    full = bool(os.environ.get(FOLDER) and here) if quick is None else not quick
    scale = pieces.FULL if full else pieces.QUICK
    if seeds is not None:
        scale = dataclasses.replace(scale, seeds=seeds, image_seeds=seeds)
    return scale if rows is None else dataclasses.replace(scale, rows=rows, whole=False)


def _pieces(
    studies: dict[str, pieces.Study], names: Sequence[str], scale: pieces.Scale, method_names: str | None
) -> list[pieces.Piece]:
    """Return the computations of the studies on these data sets, for the methods that --methods names."""
    planned = pieces.plan_pieces(studies.values(), names, scale)
    if not planned:
        words = f"none of the studies {', '.join(studies)} has a piece on {', '.join(names)}"
        raise click.BadParameter(words, param_hint="--data")
    if method_names is None:
        return planned
    known = tuple(dict.fromkeys(piece.method for piece in planned))
    methods = cli.parse_names(method_names, known, ("method", "methods"), "--methods")
    return [piece for piece in planned if piece.method in methods]


def _check_against(against: str, planned: Sequence[pieces.Piece], store: pieces.Store) -> None:
    """Raise BadParameter if no computation of the run has the method that the option --against names."""
    known = dict.fromkeys(piece.method for piece in [*planned, *(r.piece for r in store.records.values())])
    if against not in known and against != AGAINST:
        raise click.BadParameter(
            f"unknown method {against!r}; the methods of this run are {', '.join(known)}",
            param_hint="--against",
        )


def _store(console: Console, output: Path, scale: pieces.Scale) -> pieces.Store:
    """Open the file of records in the output folder, and print a message if there is anything unusual in
    it.
    """
    try:
        store = pieces.Store(output / pieces.NAME, scale)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--output") from None
    if store.torn:
        words = f"The last line of {store.path} is incomplete; its piece will be computed again."
        console.print(words, soft_wrap=True, highlight=False)
    if store.others:
        words = f"{store.path} also has {store.others} records of another scale: they are kept but not used."
        console.print(words, soft_wrap=True, highlight=False)
    return store


def _plan(planned: Sequence[pieces.Piece], store: pieces.Store) -> Table:
    """Return a table with the numbers of computations of each study and data set: all, done, failed and
    left.
    """
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, heading in enumerate(("study", "data", "pieces", "done", "failed", "left")):
        view.add_column(heading, justify="right" if i > 1 else "left", no_wrap=True)
    left = pieces.pending(planned, store)
    failed = [piece for piece in left if piece.key in store.failures]
    whole, todo, lost = (Counter((p.study, p.data) for p in some) for some in (planned, left, failed))
    for name, count in whole.items():
        view.add_row(*name, *map(str, (count, count - todo[name], lost[name], todo[name])))
    return view


def _collect(console: Console, stream: Iterator[pieces.Outcome], total: int) -> tuple[bool, OSError | None]:
    """Run all computations and show their progress.

    Returns whether Ctrl-C ended the run, and the error if a record could not be written.
    """
    done, logged = 0, time.monotonic()

    def take(outcome: pieces.Outcome) -> tuple[int, str]:
        nonlocal done, logged
        done += 1
        state = f"{'failed' if isinstance(outcome, pieces.Failure) else 'done'}: {outcome.piece}"
        if not console.is_terminal and time.monotonic() - logged >= _LOG:
            logged = time.monotonic()
            console.print(f"{done} of {total}, {state}", highlight=False)
        return 1, state

    if not total:
        return False, None
    try:
        return cli.watch(console, "pieces", total, stream, take, "Interrupted.", alike=False), None
    except OSError as error:
        return False, error


def _ending(left: int, store: pieces.Store, command: str, refused: OSError | None) -> list[str]:
    """Return the last lines that the command prints: the failures, and how to resume the run."""
    lines = [f"Failed: {line}" for line in pieces.summarize_failures(store.failures.values())]
    kept = f"{len(store.records)} records are kept in {store.path}"
    if refused:
        first = "Let it end" if refused.errno == errno.EBUSY else "Free disk space"
        lines.append(f"A record could not be written ({refused}); {kept}. {first}, then resume: {command}")
    elif left:
        lines.append(f"{left} pieces are left; {kept}. To resume: {command}")
    return lines
