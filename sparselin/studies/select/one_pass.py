"""The option `--one-pass` of `sparselin select`: read a Parquet file of any length once, with `compress`."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from sparselin.problem import Problem
from sparselin.problem.data import Compressed, ProblemData
from sparselin.problem.memory import available
from sparselin.results import Status
from sparselin.results.display import join_words, plural
from sparselin.scale.compress import compress
from sparselin.scale.record import Progress
from sparselin.scale.sources import file_of
from sparselin.studies.common import folder, page
from sparselin.studies.common.command import Terminal, finish, ignore_interrupts, make_folder, refuse
from sparselin.studies.common.tables import BadTable, positions, split
from sparselin.studies.select.methods import Selected, select_from
from sparselin.studies.select.report import FILES
from sparselin.studies.select.words import method_line

_PACKAGES = ("numpy", "scipy", "numba", "pyarrow")
_HEADING = ["step", "feature", "coefficient", "lam", "margin", "ties", "r2", "held_out_r2"]
# the types of columns that are left out
_DATES = ("timestamp", "date", "time", "duration")
_NESTED = ("list", "large_list", "fixed_size_list", "struct", "map", "union", "dense_union", "sparse_union")
_SHARE = (
    8  # a table is built from columns, copied for its features and standardized: at most eight times its size
)


class OnePassRequest(NamedTuple):
    """The options of a run in one pass. All names are names of columns in the file.

    left_out : the columns of dates and times, which are not used.
    nested : the columns of lists or records, which are not used either.
    """

    path: Path
    target: str
    features: list[str]
    forced: list[str]
    categories: list[str]
    weights: str | None
    intercept: bool
    standardize: bool
    held_out: int
    skip_bad: bool
    checkpoint: Path | None
    memory: int | None
    left_out: list[str]
    nested: list[str]


def is_large(path: Path) -> bool:
    """Return whether the table in a Parquet file would fill more than an eighth of the memory."""
    try:
        metadata = file_of(path).metadata
    except (ModuleNotFoundError, ValueError):  # the reader of tables reports the error
        return False
    return 8 * int(metadata.num_rows) * int(metadata.num_columns) > available() / _SHARE


def request(
    path: Path,
    target: str | None,
    forced: Sequence[str],
    drop: Sequence[str],
    categories: Sequence[str],
    weights: str | None,
    **others: Any,
) -> OnePassRequest:
    """Check the options against the columns of the file, and return them. Raises click.UsageError."""
    try:
        schema = file_of(path).schema_arrow
        names = list(schema.names)
        if not names:
            raise BadTable(f"{path} must have columns and rows; it has no column")
        nested = [field.name for field in schema if str(field.type).startswith(_NESTED)]
        given = {"--drop": drop, "--forced": forced, "--categories": categories}
        places = {option: positions(split(v, names), names, option) for option, v in given.items()}
        y = names[-1] if target is None else names[positions([target], names, "--target")[0]]
        w = None if weights is None else names[positions([weights], names, "--weights")[0]]
        if wrong := [name for name in nested if name in (y, w, *(names[j] for j in places["--forced"]))]:
            raise BadTable(f"{path}: column {wrong[0]!r} holds lists or records, which are no numbers")
    except (BadTable, ValueError) as error:
        raise click.UsageError(str(error)) from None
    except ModuleNotFoundError as error:
        raise click.UsageError(f"--one-pass: {error}") from None
    gone = {y, w, *(names[j] for j in places["--drop"])}
    dates = [field.name for field in schema if str(field.type).startswith(_DATES) and field.name not in gone]
    return OnePassRequest(
        path=path,
        target=y,
        features=[name for name in names if name not in {*gone, *dates, *nested}],
        forced=[names[j] for j in places["--forced"]],
        categories=[names[j] for j in places["--categories"] if names[j] not in nested],
        weights=w,
        left_out=dates,
        nested=[name for name in nested if name not in gone],
        **others,
    )


def run(request: OnePassRequest, method: str, k: int | None, seed: int, output: Path, command: str) -> None:
    """Read the file in one pass, select features, and write the report to the folder."""
    refuse(("folds", "group"), "--one-pass, which checks the selection on held-out rows")
    refuse(("missing", "loss"), "--one-pass, which keeps the sums of squares of whole rows only")
    refuse(("numbers",), "--one-pass, where every column that --categories does not name holds numbers")
    if k is None:
        raise click.UsageError("--one-pass needs --k, because there is no cross-validation to choose it")
    console = Terminal()
    started = time.perf_counter()
    used = [request.path] if request.checkpoint is None else [request.path, request.checkpoint]
    make_folder(output, "select", FILES, used)
    try:
        problem = _compress(console, request)
        with console.status("selecting"):
            selected = select_from(problem, tuple(request.forced), method, k, seed)
    except (ValueError, TypeError, MemoryError, OSError) as error:
        raise click.UsageError(f"{request.path}: {error}") from None
    ignore_interrupts()
    interrupted = selected.status is Status.STOPPED
    r2 = _held_out_r2(problem, selected)
    rows = _rows(selected, r2)
    seconds = time.perf_counter() - started
    results = {
        "run": page.describe(command, seconds, 1, seed, interrupted, packages=_PACKAGES),
        "data": _data(request, problem),
        "method": method,
        "selected": [dict(zip(_HEADING, row, strict=True)) for row in rows],
        "intercept": selected.path.intercept,
        "status": selected.status.name,
    }
    index = folder.write(output, results, {"selected.csv": page.table([_HEADING, *rows])})
    for line in _lines(request, problem, method, r2):
        console.print(line, markup=False, highlight=False)
    console.print(str(selected.path), markup=False, highlight=False)
    finish(console, index, interrupted)


def _compress(console: Console, request: OnePassRequest) -> Problem:
    """Read the file, under a bar with the rows and bytes read so far.

    After Ctrl-C a checkpoint remains, from which the run can be resumed.
    """
    columns = (
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows,"), DownloadColumn(binary_units=True), TimeRemainingColumn(),
    )  # fmt: skip
    rows = int(file_of(request.path).metadata.num_rows)
    size = len(request.features) + 1
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("reading", total=8 * rows * size, rows=0)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.bytes, rows=progress.rows)

        return compress(
            request.path,
            y=request.target,
            weights=request.weights,
            columns=request.features,
            categories=request.categories,
            forced=[name for name in request.forced if name not in request.categories],
            intercept=request.intercept,
            standardize=request.standardize,
            held_out=request.held_out,
            on_bad="skip" if request.skip_bad else "raise",
            memory=request.memory,
            checkpoint=request.checkpoint,
            progress=show,
        )


def _record(problem: ProblemData | None) -> Compressed:
    """Return the record of the pass that made a problem."""
    assert problem is not None
    assert problem.compressed is not None
    return problem.compressed


def _held_out_r2(problem: Problem, selected: Selected) -> list[float]:
    """Return R² of the first 0, …, t features on the held-out rows; [] if no rows are held out.

    The entries are NaN if R² is not defined, because y is constant on these rows.
    """
    if _record(problem).held_out is None:
        return []
    try:
        return [float(v) for v in np.asarray(_record(problem).held_out_r2(selected.path))]
    except ValueError:  # y is constant there, or without an intercept zero
        return [math.nan] * (len(selected.path) + 1)


def _lines(request: OnePassRequest, problem: Problem, method: str, r2: list[float]) -> list[str]:
    """Return sentences about the file, the method, skipped chunks and R² on the held-out rows."""
    record = _record(problem)
    lines = [
        f"{request.path.name}: {record.rows:,} row{'s' * (record.rows != 1)} in "
        f"{plural(record.chunks, 'chunk')}, {plural(problem.n_features, 'feature')}; target: "
        f"{request.target}. The backward error of the factor is about {record.eps:.1g}.",
        method_line(method, request.intercept, request.standardize, request.forced),
    ]
    if request.left_out:
        lines.append(f"Columns left out, because they hold dates or times: {join_words(request.left_out)}.")
    if request.nested:
        lines.append(f"Columns left out, because they hold lists or records: {join_words(request.nested)}.")
    lines += [f"Caution: chunk {number} was skipped, because it {why}." for number, why in record.skipped]
    if r2:
        held = _record(record.held_out).rows
        rows = "the held-out row" if held == 1 else f"the {held:,} held-out rows"
        if math.isnan(r2[-1]):
            constant = "constant" if request.intercept else "zero"
            lines.append(f"R² on {rows} is not defined, because {request.target} is {constant} there.")
        else:
            lines.append(f"R² on {rows} is {r2[-1]:z.4f}.")
    return lines


def _rows(selected: Selected, held_out_r2: list[float]) -> list[list[Any]]:
    """Return the rows of selected.csv, whose columns are `_HEADING`."""
    path = selected.path
    rows = []
    for t, j in enumerate(path.support.tolist()):
        ties = [path.name_of(i) for i in path.ties[t] if i != j]
        r2 = 1 - float(path.residual_norm[t + 1] / path.residual_norm[0]) ** 2
        held = held_out_r2[t + 1] if held_out_r2 and not math.isnan(held_out_r2[t + 1]) else None
        numbers = float(path.coef[t]), float(selected.lam[t]), float(path.margin[t])
        rows.append([t + 1, path.name_of(j), *numbers, "; ".join(ties), r2, held])
    return rows


def _data(request: OnePassRequest, problem: Problem) -> dict[str, Any]:
    """Return the part of results.json about the data: the options, and what the pass found."""
    record = _record(problem)
    return {
        **{key: str(v) if isinstance(v, Path) else v for key, v in request._asdict().items()},
        "rows": record.rows,
        "chunks": record.chunks,
        "skipped": record.skipped,
        "levels": record.levels,
        "factor_known_to": record.eps,
    }
