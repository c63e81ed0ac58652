"""`sparselin select`."""

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
    as_typed,
    finish,
    ignore_interrupts,
    make_folder,
    output_option,
    refuse,
    seed_option,
    watch,
)
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
from sparselin.studies.select.one_pass import requested as one_pass_requested
from sparselin.studies.select.one_pass import run as run_one_pass
from sparselin.studies.select.words import DataSource, Job

_T = TypeVar("_T")
# names of columns may look like markup
_PLAIN: dict[str, Any] = {"markup": False, "highlight": False}


def _folds(context: click.Context, option: click.Parameter, value: int) -> int:
    if value == 1:
        raise click.BadParameter("must be 0, for none, or at least 2: each fold is predicted by the others")
    return value


@click.command(short_help="Select features of a table of data.")
@click.argument("table", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--target", help="The column that is explained.  [default: the last]")
@click.option(
    "--k",
    type=click.IntRange(1),
    help="How many features, forced ones included; best-subset needs it.  "
    "[default: chosen by cross-validation]",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="omp",
    show_default=True,
    help="By what features are selected.",
)
@click.option(
    "--forced",
    multiple=True,
    metavar="NAME,NAME",
    help="Columns that enter first, in this order; a name with a comma in double quotes, as in a .csv.",
)
@click.option("--drop", multiple=True, metavar="NAME,NAME", help="Columns that are left out, written so too.")
@click.option("--weights", metavar="NAME", help="The column of weights ≥ 0 of the rows.")
@click.option(
    "--encoding", help="Of a .csv, such as latin-1.  [default: UTF-8, UTF-16 or Latin-1, by its bytes]"
)
@click.option(
    "--intercept/--no-intercept",
    default=True,
    show_default=True,
    help="Fit a constant too, without penalty; R² is then of the deviations from the mean.",
)
@click.option(
    "--standardize/--no-standardize",
    default=True,
    show_default=True,
    help="Divide columns by their standard deviations. Coefficients are in the units of the data.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop-rows"]),
    default="refuse",
    show_default=True,
    help="What to do about rows without a number in some column.",
)
@click.option(
    "--folds",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    callback=_folds,
    help="Parts of the rows that cross-validation leaves out in turn; 0 for no cross-validation.",
)
@click.option(
    "--one-pass/--in-memory",
    "one_pass",
    default=None,
    help="Read a .parquet once, in chunks, which needs --k.  "
    "[default: if its table takes an eighth of the memory]",
)
@click.option("--categories", multiple=True, metavar="NAME,NAME", help="In one pass: columns of categories.")
@click.option(
    "--held-out",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="In one pass: every so manieth row checks the selection; 0 for none.",
)
@click.option(
    "--skip-bad", is_flag=True, help="In one pass: leave out chunks that cannot be used, and say which."
)
@click.option(
    "--checkpoint",
    type=NewPath(dir_okay=False, path_type=Path),
    help="In one pass: a file by which an interrupted pass goes on.",
)
@click.option(
    "--memory",
    type=click.IntRange(1),
    metavar="BYTES",
    help="In one pass: for chunks and factors.  [default: 256 MiB, more for many columns]",
)
@seed_option
@output_option("report/select", "index.html, selected.csv, results.json and the figures")
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
    output: Path,
) -> None:
    """Which features of a TABLE (.csv with names in its first line, or .parquet) explain one of its columns?

    A .csv may have semicolons or tabs for commas, another encoding than UTF-8, and be compressed (.csv.gz).
    Of an Excel workbook save the sheet as a .csv. Columns hold numbers; for a column of two classes there are
    `sparselin.generalized_omp` and the selectors with loss="logistic" in Python.

    \b
    sparselin select diabetes.csv --target progression --k 5
    sparselin select diabetes.csv --target progression --forced age,sex
    sparselin select big.parquet --target y --k 20 --one-pass

    It prints the features in the order in which they are selected, with their coefficients, how close each
    decision was and what is explained, and writes a page with figures. Without --k the number of features is
    the least whose error in cross-validation is within one standard error of the least error.

    Exit status 0: done. 2: the table or an option cannot be used. 130: interrupted.
    """
    if is_parquet(table):
        refuse(("encoding",), "a .parquet, which has one encoding")
    if _in_one_pass(table, one_pass):
        options = {"held_out": held_out, "skip_bad": skip_bad, "checkpoint": checkpoint, "memory": memory}
        request = one_pass_requested(
            table, target, forced, drop, categories, weights,
            intercept=intercept, standardize=standardize, **options,
        )  # fmt: skip
        run_one_pass(request, method, k, seed, output, as_typed())
    refuse(
        ("categories", "held_out", "skip_bad", "checkpoint", "memory"), "a table in memory: add --one-pass"
    )
    console = Console()
    started = time.perf_counter()
    source, data = _read(table, target, forced, drop, weights, missing, encoding)
    data = data._replace(intercept=intercept, standardize=standardize)
    _check(source, data)
    tried = _tried(data, method, k, folds)
    if target is None:
        console.print(f"y is {source.target}, the last column; --target names another.", **_PLAIN)
    if source.note:
        more = " --encoding names another." if "encoding" in source.options and encoding is None else ""
        console.print(source.note + more, **_PLAIN)
    make_folder(output, "select", report.FILES, [table])
    checked = _cross_validated(console, data, method, tried, folds, seed)
    chosen = checked.chosen if k is None and checked is not None else k or 0
    with console.status("selecting"):
        selected = _valid(table, lambda: select_features(data, method, max(chosen, 1), seed))
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
        console.print(f"Beware: {line}", **_PLAIN)
    command = as_typed()
    index = report.write(output, job, command, seed, seconds, interrupted)
    finish(console, index, interrupted)


def _in_one_pass(table: Path, asked: bool | None) -> bool:
    """Whether it was asked for, or is needed. Raises click.UsageError for a .csv."""
    if asked and not is_parquet(table):
        raise click.UsageError(f"--one-pass reads a .parquet; {table} is none")
    return is_large(table) if asked is None and is_parquet(table) else bool(asked)


def _read(
    path: Path,
    target: str | None,
    forced: Sequence[str],
    drop: Sequence[str],
    weights: str | None,
    missing: str,
    encoding: str | None,
) -> tuple[DataSource, SelectionData]:
    """The table without the rows that are incomplete or weigh nothing. Raises click.UsageError."""
    try:
        table = read_table(path, drop, encoding)
        names = table.names
        at = positions([target], names, "--target")[0] if target is not None else len(names) - 1
        w_at = positions([weights], names, "--weights")[0] if weights is not None else None
        if w_at == at:
            raise BadTable(f"--weights and the target are both {names[at]!r}")
        others = [j for j in range(len(names)) if j not in (at, w_at)]
        features = tuple(names[j] for j in others)
        if not features:
            raise BadTable(f"{path}: has no column besides {names[at]!r} to explain it by")
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
    """Which rows have a finite number in every column; all of them, or those may be left out."""
    bad = np.logical_not(np.isfinite(table.data))
    rows = np.asarray(bad.any(axis=1))
    if rows.any() and missing == "refuse":
        counts = [f"{short(table.names[j])} ({bad[:, j].sum()})" for j in np.flatnonzero(bad.any(axis=0))]
        raise click.UsageError(
            f"{path}: {np.count_nonzero(rows)} of {len(rows)} rows have a missing or infinite number, in "
            f"column {some(counts)}. Fill them in, leave these columns out by --drop, or these rows by "
            "--missing drop-rows."
        )
    if rows.all():
        raise click.UsageError(f"{path}: no row is left; every one has a missing or infinite number")
    return ~rows


def _weights(weight: FloatArray, name: str | None) -> FloatArray:
    if weight.min() < 0:
        raise click.UsageError(
            f"--weights must name nonnegative numbers; the least of {name!r} is {weight.min():g}"
        )
    if not weight.any():
        raise click.UsageError(f"--weights must not be zero in every row, as {name!r} is")
    return weight


def _check(source: DataSource, data: SelectionData) -> None:
    """Raise click.UsageError for a y that leaves nothing to explain, and for data that no method takes."""
    if np.ptp(data.y) == 0 and (data.intercept or not data.y.any()):
        raise click.UsageError(
            f"{source.path}: {source.target!r} is {data.y[0]:g} in every row: nothing to explain"
        )
    _valid(source.path, data.problem)


def _tried(data: SelectionData, method: str, k: int | None, folds: int) -> int:
    """The most features that cross-validation shall try, k or more. Raises for a k that cannot be."""
    d, f = len(data.names), len(data.forced)
    size = largest_size(len(data.y), d, folds) if folds else 0
    if k is not None:
        if k > d:
            raise click.BadParameter(f"there are {d} features; got {k}", param_hint="--k")
        if k < f:
            raise click.BadParameter(
                f"forced features count in k: got {f} of them and k = {k}", param_hint="--k"
            )
        return max(k, size)
    if method == "best-subset":
        raise click.UsageError(
            "--method best-subset needs --k; --method ols without --k tells how many to take"
        )
    if size < max(1, f):
        why = (
            f"{len(data.y)} rows are too few for cross-validation"
            if folds
            else "there is no cross-validation"
        )
        raise click.UsageError(f"{why} to choose the number of features: pass --k")
    return size


def _cross_validated(
    console: Console, data: SelectionData, method: str, tried: int, folds: int, seed: int
) -> CrossValidation | None:
    """The errors of up to `tried` features; None for a best subset, whose search each fold would repeat."""
    folds = min(folds, len(data.y))
    if folds < 2 or method == "best-subset":
        return None
    found: list[Fold] = []

    def take(fold: Fold) -> tuple[int, str]:
        found.append(fold)
        return 1, ""

    if watch(console, "folds", folds, cross_validate(data, method, tried, folds, seed), take):
        raise KeyboardInterrupt
    return summarize(found, len(data.forced))


def _valid(path: Path, compute: Callable[[], _T]) -> _T:
    """What is computed, with an error in the data as one of usage."""
    try:
        return compute()
    except (ValueError, TypeError, MemoryError) as error:
        raise click.UsageError(f"{path}: {error}") from None
