"""The command `sparselin select`: its options, and the steps of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from sparselin.results import FloatArray, Status
from sparselin.selection.cross_validation import (
    CrossValidation,
    Fold,
    cross_validate,
    largest_size,
    summarize,
)
from sparselin.selection.methods import METHODS, SelectionData
from sparselin.selection.methods import select as select_features
from sparselin.studies.common.command import (
    NewPath,
    command_line,
    finish,
    ignore_interrupts,
    make_folder,
    refuse,
    seed_option,
    watch,
)
from sparselin.studies.common.folder import table_of_report
from sparselin.studies.common.tables import (
    BadTable,
    DataTable,
    is_parquet,
    positions,
    read_table,
    short,
    some,
    split,
)
from sparselin.studies.select import report, words
from sparselin.studies.select.one_pass import is_large
from sparselin.studies.select.one_pass import request as one_pass_request
from sparselin.studies.select.one_pass import run as run_one_pass
from sparselin.studies.select.words import DataSource, Job

_T = TypeVar("_T")
# print text as it is: the name of a column may look like rich's markup
_PLAIN: dict[str, Any] = {"markup": False, "highlight": False}


def _folds(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 1:
        raise click.BadParameter("must be 0 (no cross-validation) or at least 2; got 1")
    return value


@click.command(short_help="Select features of a table of data.")
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", help="The column to explain.  [default: the last column]")
@click.option(
    "--k",
    type=click.IntRange(1),
    help="The number of features, including the forced ones; required for best-subset.  "
    "[default: chosen by cross-validation]",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="omp",
    show_default=True,
    help="The selection method.",
)
@click.option(
    "--forced",
    multiple=True,
    metavar="NAME,NAME",
    help="Columns to select first, in this order. Put a name that contains a comma in double quotes.",
)
@click.option("--drop", multiple=True, metavar="NAME,NAME", help="Columns to leave out, in the same form.")
@click.option("--weights", metavar="NAME", help="The column that holds the weight (≥ 0) of each row.")
@click.option(
    "--encoding", help="The encoding of a .csv, such as latin-1.  [default: UTF-8, UTF-16 or Latin-1]"
)
@click.option(
    "--intercept/--no-intercept",
    default=True,
    show_default=True,
    help="Fit an unpenalised constant as well. R² is then measured from the mean.",
)
@click.option(
    "--standardize/--no-standardize",
    default=True,
    show_default=True,
    help="Divide columns by their standard deviations. Coefficients stay in the units of the data.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop-rows"]),
    default="refuse",
    show_default=True,
    help="Refuse a table with missing numbers, or drop the rows that contain one.",
)
@click.option(
    "--folds",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    callback=_folds,
    help="The number of folds of cross-validation; 0: no cross-validation.",
)
@click.option(
    "--one-pass/--in-memory",
    "one_pass",
    default=None,
    help="Read a .parquet once, in chunks; requires --k.  "
    "[default: one pass if the table would fill more than an eighth of the memory]",
)
@click.option(
    "--categories", multiple=True, metavar="NAME,NAME", help="One pass only: columns that hold categories."
)
@click.option(
    "--held-out",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="One pass only: hold out every N-th row to check the selection; 0: none.",
)
@click.option(
    "--skip-bad", is_flag=True, help="One pass only: skip chunks that cannot be used, and list them."
)
@click.option(
    "--checkpoint",
    type=NewPath(dir_okay=False, path_type=Path),
    help="One pass only: a file from which an interrupted pass can resume.",
)
@click.option(
    "--memory",
    type=click.IntRange(1),
    metavar="BYTES",
    help="One pass only: memory for chunks and factors.  [default: 256 MiB, more for many columns]",
)
@seed_option
@click.option(
    "--output",
    type=NewPath(file_okay=False, path_type=Path),
    help="The folder for index.html, selected.csv, results.json and the figures.  "
    "[default: report/select/NAME for the table NAME.csv]",
)
def select(
    table: Path,
    target: str | None,
    k: int | None,
    method: str,
    forced: tuple[str, ...],
    drop: tuple[str, ...],
    weights: str | None,
    encoding: str | None,
    intercept: bool,
    standardize: bool,
    missing: str,
    folds: int,
    one_pass: bool | None,
    categories: tuple[str, ...],
    held_out: int,
    skip_bad: bool,
    checkpoint: Path | None,
    memory: int | None,
    seed: int,
    output: Path | None,
) -> None:
    """Select the features of a TABLE that explain one of its columns.

    TABLE is a .parquet, or a .csv whose first line names the columns. A .csv may use semicolons or tabs
    instead of commas, may have an encoding other than UTF-8, and may be compressed (.csv.gz). Save the sheet
    of an Excel workbook as a .csv. All columns must hold numbers. If the column to explain has two classes,
    use `sparselin.generalized_omp`, or a selector with loss="logistic", in Python.

    \b
    sparselin select diabetes.csv --target progression --k 5
    sparselin select diabetes.csv --target progression --forced age,sex
    sparselin select big.parquet --target y --k 20 --one-pass

    The command prints the features in the order of selection. For each feature it prints the coefficient,
    the margin of the decision, and R² up to that step. It also writes a page with figures. Without --k,
    cross-validation chooses the smallest number of features whose error is within one standard error of the
    least error.

    Exit status: 0 if done, 2 if the table or an option cannot be used, 130 if interrupted.
    """
    output = _report_folder(table) if output is None else output
    if is_parquet(table):
        refuse(("encoding",), "a .parquet, which has only one encoding")
    if _in_one_pass(table, one_pass):
        options = {"held_out": held_out, "skip_bad": skip_bad, "checkpoint": checkpoint, "memory": memory}
        request = one_pass_request(
            table, target, forced, drop, categories, weights,
            intercept=intercept, standardize=standardize, **options,
        )  # fmt: skip
        run_one_pass(request, method, k, seed, output, command_line())
    refuse(
        ("categories", "held_out", "skip_bad", "checkpoint", "memory"), "a table in memory; add --one-pass"
    )
    console = Console()
    started = time.perf_counter()
    source, data = _read(table, target, forced, drop, weights, missing, encoding)
    data = data._replace(intercept=intercept, standardize=standardize)
    _check(source, data)
    largest = _largest_to_try(data, method, k, folds)
    if target is None:
        console.print(
            f"The target y is {source.target}, the last column. Use --target to choose another.", **_PLAIN
        )
    if source.note:
        more = (
            " Use --encoding to choose another." if "encoding" in source.options and encoding is None else ""
        )
        console.print(source.note + more, **_PLAIN)
    make_folder(output, "select", report.FILES, [table])
    checked = _cross_validate(console, data, method, largest, folds, seed)
    chosen = checked.chosen if k is None and checked is not None else k or 0
    with console.status("selecting"):
        selected = _with_usage_errors(table, lambda: select_features(data, method, max(chosen, 1), seed))
    job = Job(source, data, method, chosen, k is not None, selected, checked)
    ignore_interrupts()
    interrupted = selected.status is Status.STOPPED
    seconds = time.perf_counter() - started
    for line in words.data_lines(job):
        console.print(line, **_PLAIN)
    console.print(words.table(job))
    for line in (words.headline(job), *words.validation_lines(job)):
        console.print(line, **_PLAIN)
    for line in job.cautions:
        console.print(f"Caution: {line}", **_PLAIN)
    command = command_line()
    index = report.write(output, job, command, seed, seconds, interrupted)
    finish(console, index, interrupted)


def _report_folder(table: Path) -> Path:
    """Return the default folder of the report about a table, report/select/NAME.

    NAME is the name of the table without .csv or .gz. Raises click.UsageError if the folder holds the report
    about another file of this name.
    """
    output = Path("report/select", Path(table.name.removesuffix(".gz")).stem)
    earlier = table_of_report(output)
    if earlier and Path(earlier).resolve() != table.resolve():
        raise click.UsageError(
            f"{output} holds the report about {earlier}, and the report about {table} would replace it: "
            "choose another folder with --output"
        )
    return output


def _in_one_pass(table: Path, one_pass: bool | None) -> bool:
    """Return whether to read the table in one pass: on request, or by default if the table is large.

    Raises click.UsageError for a .csv.
    """
    if one_pass and not is_parquet(table):
        raise click.UsageError(f"--one-pass needs a .parquet; got {table}")
    return is_large(table) if one_pass is None and is_parquet(table) else bool(one_pass)


def _read(
    path: Path,
    target: str | None,
    forced: Sequence[str],
    drop: Sequence[str],
    weights: str | None,
    missing: str,
    encoding: str | None,
) -> tuple[DataSource, SelectionData]:
    """Read the table, and leave out incomplete rows and rows of weight zero. Raises click.UsageError."""
    try:
        table = read_table(path, drop, encoding)
        names = table.names
        at = positions([target], names, "--target")[0] if target is not None else len(names) - 1
        w_at = positions([weights], names, "--weights")[0] if weights is not None else None
        if w_at == at:
            raise BadTable(f"--weights must differ from the target; both are {names[at]!r}")
        others = [j for j in range(len(names)) if j not in (at, w_at)]
        features = tuple(names[j] for j in others)
        if not features:
            raise BadTable(f"{path} must have at least one column besides {names[at]!r} to explain it")
        first = tuple(features[j] for j in positions(split(forced, features), features, "--forced"))
    except BadTable as error:
        raise click.UsageError(error.full_message(target, "--drop")) from None
    whole = _complete(path, table, missing)
    data = table.data[whole]
    weight = None if w_at is None else _weights(data[:, w_at], weights)
    positive = slice(None) if weight is None else weight > 0
    source = DataSource(
        path=path,
        target=names[at],
        weights=weights,
        dropped=table.dropped,
        incomplete=int(np.count_nonzero(~whole)),
        weightless=0 if weight is None else int(np.count_nonzero(weight == 0)),
        note=table.note,
        options=table.options,
    )
    weight = None if weight is None else weight[positive]
    return source, SelectionData(
        data[positive][:, others], data[positive, at], features, weight, forced=first
    )


def _complete(path: Path, table: DataTable, missing: str) -> NDArray[np.bool_]:
    """Return a mask of the complete rows, which have a finite number in every column.

    Raises click.UsageError if a row is incomplete and `missing` is "refuse", or if no row is complete.
    """
    bad = np.logical_not(np.isfinite(table.data))
    rows = np.asarray(bad.any(axis=1))
    if rows.any() and missing == "refuse":
        counts = [f"{short(table.names[j])} ({bad[:, j].sum()})" for j in np.flatnonzero(bad.any(axis=0))]
        raise click.UsageError(
            f"{path}: {np.count_nonzero(rows)} of {len(rows)} rows have a missing or infinite number, in "
            f"column {some(counts)}. Fill them in, drop the columns with --drop, or drop the rows with "
            "--missing drop-rows."
        )
    if rows.all():
        raise click.UsageError(f"{path}: no row is left, because every row has a missing or infinite number")
    return ~rows


def _weights(weight: FloatArray, name: str | None) -> FloatArray:
    if weight.min() < 0:
        raise click.UsageError(
            f"--weights must name a column of nonnegative numbers; the least in {name!r} is {weight.min():g}"
        )
    if not weight.any():
        raise click.UsageError(f"--weights must have a positive number in some row; {name!r} is zero in all")
    return weight


def _check(source: DataSource, data: SelectionData) -> None:
    """Raise click.UsageError if y leaves nothing to explain, or if no method accepts the data."""
    if np.ptp(data.y) == 0 and (data.intercept or not data.y.any()):
        raise click.UsageError(
            f"{source.path}: {source.target!r} is {data.y[0]:g} in every row, so there is nothing to explain"
        )
    _with_usage_errors(source.path, data.problem)


def _largest_to_try(data: SelectionData, method: str, k: int | None, folds: int) -> int:
    """Return the largest number of features that cross-validation tries, at least k.

    Raises click.UsageError if k is impossible, or is missing where cross-validation cannot choose it.
    """
    d, f = len(data.names), len(data.forced)
    size = largest_size(len(data.y), d, folds) if folds else 0
    if k is not None:
        if not f <= k <= d:
            words = f"must be at least {max(1, f)} and at most {d}, forced features included; got {k}"
            raise click.BadParameter(words, param_hint="--k")
        return max(k, size)
    if method == "best-subset":
        raise click.UsageError(
            "--method best-subset needs --k. Run --method ols without --k first: it chooses a number"
        )
    if size < max(1, f):
        why = (
            f"{len(data.y)} rows are too few for cross-validation to choose the number of features"
            if folds
            else "without cross-validation the number of features cannot be chosen"
        )
        raise click.UsageError(f"{why}: pass --k")
    return size


def _cross_validate(
    console: Console, data: SelectionData, method: str, largest: int, folds: int, seed: int
) -> CrossValidation | None:
    """Return the cross-validation errors of models with up to `largest` features, under a progress bar.

    Returns None without folds, and for a best subset, because each fold would repeat the search for the
    subset.
    """
    folds = min(folds, len(data.y))
    if folds < 2 or method == "best-subset":
        return None
    found: list[Fold] = []

    def take(fold: Fold) -> tuple[int, str]:
        found.append(fold)
        return 1, ""

    if watch(console, "folds", folds, cross_validate(data, method, largest, folds, seed), take):
        raise KeyboardInterrupt
    return summarize(found, len(data.forced))


def _with_usage_errors(path: Path, compute: Callable[[], _T]) -> _T:
    """Call `compute` and return its result; raise click.UsageError for an error in the data."""
    try:
        return compute()
    except (ValueError, TypeError, MemoryError) as error:
        raise click.UsageError(f"{path}: {error}") from None
