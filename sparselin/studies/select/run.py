"""A run of `sparselin select`: cross-validation, the selection, tests on other rows, and the report."""

import functools
import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import Progress

from sparselin.estimators import cross_validate
from sparselin.estimators._folds import MOST
from sparselin.results import Status
from sparselin.studies.common import command
from sparselin.studies.select import comparison, halves, report, words
from sparselin.studies.select.data import Data
from sparselin.studies.select.model import ModelRequest, splits_of
from sparselin.studies.select.words import Job

# print text as it is: the name of a column may look like rich's markup
PLAIN: dict[str, Any] = {"markup": False, "highlight": False}


def run(
    console: Console,
    data: Data,
    options: dict[str, Any],
    *,
    k: int | None,
    folds: int,
    inference: str,
    output: Path,
    started: float,
) -> None:
    """Select features, print them, and write the report.

    options : the fields of `ModelRequest` that options set.
    started : the time at which the command started.
    """
    request = ModelRequest(columns=data.columns, impute=data.gaps > 0, loss=data.loss, **options)
    splits = splits_of(data, folds, request.seed) if request.method != "best-subset" else []
    largest = _largest_to_try(data, request, k, splits)
    command.make_folder(output, "select", report.FILES, [data.path])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the cautions say the same
        job = _select(console, data, request, k, largest, splits)
        try_up_to = functools.partial(_largest_to_try, data, k=k, splits=splits)
        with console.status("comparing methods"):
            compared = comparison.compare(data, job, try_up_to, splits)
        tested = None
        if inference == "split":
            tested = _on_halves(console, data, request, k, folds)
        command.ignore_interrupts()
        interrupted = job.path.status is Status.STOPPED
        found = report.Found(job=job, tested=tested, compared=compared)
        seconds = time.perf_counter() - started
        index = report.write(output, found, command.command_line(), request.seed, seconds, interrupted)
    for line in words.data_lines(job):
        console.print(line, **PLAIN)
    look: dict[str, Any] = {"padding": (0, 1, 0, 0), "pad_edge": False}
    console.print(words.table(job).terminal(("feature",), ("feature",), **look))
    lines = (words.headline(job), *words.validation_lines(job), *comparison.sentences(compared))
    for line in lines:
        console.print(line, **PLAIN)
    if tested is not None:
        for line in halves.sentences(tested.result, request.seed, [row.feature for row in job.rows]):
            console.print(line, **PLAIN)
        if not tested.result.reason:
            console.print(halves.table(tested.result).terminal(("feature",), ("feature",), **look))
    for line in job.cautions:
        console.print(f"Caution: {line}", **PLAIN)
    command.finish(console, index, interrupted)


def _largest_to_try(data: Data, request: ModelRequest, k: int | None, splits: list[Any]) -> int:
    """Return the largest number of features that cross-validation tries, at least k.

    The number is at most MOST. The features of fewest columns, counted up to this number, and the intercept
    have at most half as many columns as a fold has training rows.

    Raises click.UsageError if k is impossible, or is missing where cross-validation cannot choose it.
    """
    d = len(request.sizes)
    f = request.first_steps
    size = 0
    if splits:
        rows = min(len(train) for train, _ in splits)
        size = min(MOST, int(np.sum(np.cumsum(sorted(request.sizes)) <= rows // 2 - 1)))
    if k is not None:
        if not f <= k <= d:
            message = f"must be at least {max(1, f)} and at most {d}, forced features included; got {k}"
            if k > d and data.columns.left_out:
                message += f". Columns left out: {words.left_out(data.columns)}"
            raise click.BadParameter(message, param_hint="--k")
        return max(k, size)
    if request.method == "best-subset":
        raise click.UsageError(
            "--method best-subset needs --k. Run --method ols without --k first: it chooses a number"
        )
    if size < max(1, f):
        why = "without cross-validation the number of features cannot be chosen"
        if splits:
            why = f"{len(data.y)} rows are too few for cross-validation to choose the number of features"
        raise click.UsageError(f"{why}: pass --k")
    return size


def _select(
    console: Console, data: Data, request: ModelRequest, k: int | None, largest: int, splits: list[Any]
) -> Job:
    """Cross-validate, choose the number of features if k is None, and fit the model."""
    checked = None
    if splits:
        with Progress(*Progress.get_default_columns(), console=console) as bar:
            task = bar.add_task("folds", total=len(splits))
            checked = cross_validate(
                request.model(largest),
                data.X,
                data.y,
                cv=splits,
                sample_weight=data.weight,
                progress=lambda fold: bar.advance(task),
            )
    chosen = checked.chosen if k is None and checked is not None else k or 0
    given = {} if data.weight is None else {"select__sample_weight": data.weight}
    with console.status("selecting"):
        model = request.model(max(chosen, 1)).fit(data.X, data.y, **given)
    if model[-1].result_ is None and not request.forced:
        raise ValueError(f"no column explains {data.target!r}: all are orthogonal to it, up to rounding")
    return Job(source=data, request=request, k=chosen, given=k is not None, model=model, checked=checked)


def _on_halves(
    console: Console, data: Data, request: ModelRequest, k: int | None, folds: int
) -> halves.Tested:
    """Select on one half of the rows, also the number of features unless k is given; test on the other."""
    first, second = halves.halves(data, request.seed)
    half = halves.part(data, first)
    splits = splits_of(half, folds, request.seed) if k is None else []
    largest = _largest_to_try(half, request, k, splits)
    selected = _select(console, half, request, k, largest, splits)
    tests = halves.tests(selected, halves.part(data, second))
    return halves.Tested(tests, len(splits), largest)
