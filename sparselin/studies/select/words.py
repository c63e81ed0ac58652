"""The rows, sentences and tables that describe the result of `sparselin select`."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from sparselin.results import BestSubset, LassoPath, Status
from sparselin.results.display import join_words, plural
from sparselin.selection.cross_validation import CrossValidation
from sparselin.selection.methods import METHODS, Selected, SelectionData
from sparselin.studies.select.findings import (
    close_decisions,
    constant_columns,
    look_alikes,
    two_values,
    uncertain_coefficients,
)

_NAMED = 6  # a sentence names at most this many features


class DataSource(NamedTuple):
    """The source of the data: the file, the names of y and the weights, and the parts left out.

    dropped : the columns left out on request.
    incomplete, weightless : the numbers of rows left out because they have a missing number, or weight zero.
    note : a sentence about the file, or "".
    options : the keyword arguments with which pandas.read_csv reads the same table.
    """

    path: Path
    target: str
    weights: str | None
    dropped: tuple[str, ...]
    incomplete: int
    weightless: int
    note: str
    options: dict[str, Any]


class Row(NamedTuple):
    """A row of the table of selected features. A quantity that the method does not have is NaN.

    shrunken : the coefficient of the LASSO itself, before least squares is fitted again.
    lam : λ*, or the λ at which the feature enters the LASSO.
    r2 : R² of the features up to this row.
    """

    step: int
    feature: str
    coefficient: float
    shrunken: float
    lam: float
    margin: float
    ties: tuple[str, ...]
    r2: float


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """A finished selection with its data, from which the sentences and tables are made.

    k : the number of features.
    given : whether the user gave k; otherwise cross-validation chose it.
    """

    source: DataSource
    data: SelectionData
    method: str
    k: int
    given: bool
    selected: Selected
    checked: CrossValidation | None

    @property
    def size(self) -> int:
        """The number of features in the model."""
        return min(self.k, len(self.selected.path.support))

    @property
    def intercept(self) -> float:
        return self.selected.path.intercept_at(self.size)

    @property
    def r2(self) -> float:
        return float(self.selected.path.r2_path[self.size])

    @functools.cached_property
    def rows(self) -> list[Row]:
        chosen, names = self.selected, self.data.names
        path, coef = chosen.path, chosen.path.coef_at(self.size)
        return [
            Row(
                step=i + 1,
                feature=names[path.support[i]],
                coefficient=float(coef[i]),
                shrunken=math.nan if chosen.shrunken is None else float(chosen.shrunken[i]),
                lam=float(chosen.lam[i]),
                margin=float(path.margin[i]),
                ties=tuple(names[j] for j in path.ties[i] if j != path.support[i]),
                r2=float(path.r2_path[i + 1]),
            )
            for i in range(self.size)
        ]

    @functools.cached_property
    def cautions(self) -> list[str]:
        """The reasons to distrust the selection, one sentence each."""
        return [*_about_y(self), *_about_k(self), *_close(self), *_dependent(self)]


def headline(job: Job) -> str:
    """Return the result of the selection in one or two sentences."""
    y, names = job.source.target, job.data.names
    if not job.size:
        mean, support = "the mean" if job.data.intercept else "zero", job.selected.path.support
        first = f" The first feature to enter would be {names[support[0]]}." if len(support) else ""
        return (
            f"No feature is worth including: on held-out rows, {mean} predicts {y} as well as any selection "
            f"does, within one standard error.{first}"
        )
    selected, best = [row.feature for row in job.rows], job.selected.result
    who = join_words(selected) if job.size <= _NAMED else f"{job.size} of {len(names)} features"
    what = "variance" if job.data.intercept else "sum of squares"
    answer = f"{who} explain{'s' * (job.size == 1)} {job.r2:.1%} of the {what} of {y}."
    if isinstance(best, BestSubset) and best.optimal:
        forced = f" with {join_words(job.data.forced)}" if job.data.forced else ""
        answer += f" No other {plural(job.size, 'feature')}{forced} can explain more."
    return answer


def data_lines(job: Job) -> list[str]:
    """Return sentences about the data: their size, the parts left out, and the method."""
    source, data = job.source, job.data
    n, d = data.X.shape
    about = f"{source.path.name}: {n} rows, {plural(d, 'feature')}; target: {source.target}"
    about += f"; weights: {source.weights}" if source.weights else ""
    about += f"; dropped columns: {join_words(source.dropped)}" if source.dropped else ""
    total = n + source.incomplete + source.weightless
    left_out = ((source.incomplete, "missing values"), (source.weightless, "weight zero"))
    return [
        f"{about}.",
        *(f"Rows dropped because of {why}: {count} of {total}." for count, why in left_out if count),
        method_line(job.method, data.intercept, data.standardize, data.forced),
    ]


def method_line(method: str, intercept: bool, standardize: bool, forced: Sequence[str]) -> str:
    """Return a sentence about the method and its options."""
    scale = "divided by their standard deviations" if standardize else "not scaled"
    first = f" Forced to come first: {join_words(forced)}." if forced else ""
    return (
        f"Method: {METHODS[method]}, {'with an' if intercept else 'without'} intercept; columns are {scale}."
        f"{first} Coefficients are in the units of the data."
    )


def validation_lines(job: Job) -> list[str]:
    """Return sentences about the errors of cross-validation, and the number of features that they suggest."""
    found = job.checked
    if found is None:
        return []

    def error(t: int) -> str:
        i = found.at(t)
        return f"{_with_error(found.error[i], found.standard_error[i])} with {plural(t, 'feature')}"

    least = "This is the least error" if job.k == found.best else f"The least error is {error(found.best)}"
    fewest = "No smaller number of features has an error within one standard error of it."
    if found.best != found.chosen:
        chosen = "" if job.given else ", which was chosen"
        fewest = f"The smallest number of features within one standard error of it is {found.chosen}{chosen}."
    return [
        f"Cross-validation with {found.folds} folds: the mean squared error on held-out rows is "
        f"{error(job.k)} (± one standard error). R² on these rows is {found.r2[found.at(job.k)]:.3f}.",
        f"{least}. {fewest}",
    ]


def _about_y(job: Job) -> list[str]:
    pair = two_values(job.data)
    if pair is None:
        return []
    values = " and ".join(f"{value:g}" for value in pair)
    return [
        f"{job.source.target} has only two values, {values}, and least squares treats them as numbers. "
        'If they are classes, use sparselin.generalized_omp(..., loss="logistic") in Python.'
    ]


def _about_k(job: Job) -> list[str]:
    chosen, found, lines = job.selected, job.checked, []
    if job.size < job.k:
        why = chosen.status.message
        if isinstance(chosen.result, LassoPath) and chosen.status is Status.COMPLETED:
            why = "as λ decreases, the next features enter together, or none enters"
        lines.append(f"Fewer features than requested were selected, {job.size} of {job.k}: {why}.")
    elif chosen.status is not Status.COMPLETED:
        lines.append(f"{chosen.status.name}: {chosen.status.message}.")
    best = chosen.result
    if isinstance(best, BestSubset) and not best.optimal:
        lines.append(
            f"This subset may not be the best, but no ‖y − Xβ‖² is smaller by more than {best.gap:.2%}."
        )
    if found is None:
        return lines
    if found.best == found.sizes[-1] < len(job.data.names):
        lines.append(
            f"The error on held-out rows is least at {found.best} features, the largest number tried. "
            "Pass a larger --k to try more."
        )
    at = found.at(found.best)
    if job.k > found.best and found.error[found.at(job.k)] > found.error[at] + found.standard_error[at]:
        lines.append(
            f"With {plural(job.k, 'feature')}, the error on held-out rows is more than one standard error "
            f"above the error with {found.best}: the additional features fit noise."
        )
    return lines


def _close(job: Job) -> list[str]:
    lines = []
    for found in close_decisions(job.data, job.method, job.selected):
        if found.tied:
            ties = join_words(found.tied)
            how = f"tied with {ties} up to rounding; the first of them in the table was selected."
        else:
            how = f"ahead of {found.runner_up or 'the runner-up'} by only {percent(found.margin)}; "
            how += "slightly different data could reverse their order."
        if found.step <= job.size:
            lines.append(f"Step {found.step}: {found.feature} is {how}")
    return lines


def _dependent(job: Job) -> list[str]:
    data, lines = job.data, []
    if same := constant_columns(data):
        lines.append(f"Constant columns explain nothing: {join_words([data.names[j] for j in same])}.")
    kept = {row.feature for row in job.rows}
    lines += [
        f"{other} could replace {feature}, because their correlation is {correlation:.4f}."
        for feature, other, correlation in look_alikes(data, job.selected)
        if feature in kept
    ]
    complete = job.size == len(job.selected.path.support)
    for feature, factor in uncertain_coefficients(data, job.selected) if complete else ():
        by = f"a factor of {math.sqrt(factor):.3g}" if factor < 1e12 else "a factor too large to measure"
        lines.append(
            f"The coefficient of {feature} is uncertain: the other selected features nearly determine "
            f"{feature}, so its standard error grows by {by}."
        )
    return lines


def cells(job: Job) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table as text."""
    result, intercept = job.selected.result, job.data.intercept
    columns = {
        "step": [str(row.step) for row in job.rows],
        "feature": [row.feature for row in job.rows],
        "coefficient": [number(row.coefficient) for row in job.rows],
    }
    lam = ["forced" if math.isnan(row.lam) else number(row.lam) for row in job.rows]
    if isinstance(result, LassoPath):
        columns |= {"LASSO coef.": [number(row.shrunken) for row in job.rows], "λ at entry": lam}
    elif not isinstance(result, BestSubset):
        columns |= {"λ*": lam, "margin": [_margin(row) for row in job.rows]}
    columns["R²"] = [f"{row.r2:.4f}" for row in job.rows]
    first = {"feature": "intercept", "coefficient": number(job.intercept)}
    lines = [[first.get(name, "") for name in columns]] if intercept else []
    return list(columns), [*lines, *map(list, zip(*columns.values(), strict=True))]


def _margin(row: Row) -> str:
    if math.isnan(row.margin):
        return ""
    return "tied" if row.ties else percent(row.margin)


def table(job: Job) -> Table:
    """Return the table for a terminal."""
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    heading, lines = cells(job)
    for name in heading:
        left = name == "feature"
        view.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for line in lines:
        view.add_row(*map(Text, line))
    return view


def number(value: float) -> str:
    """Return a number with five significant digits."""
    return f"{value:.5g}"


def percent(share: float) -> str:
    """Return a margin to a tenth of a percent; if it is smaller than that, return its order of magnitude."""
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.0e}"


def _with_error(value: float, error: float) -> str:
    """Return "value ± error", with two digits of the error."""
    decimals = 1 - math.floor(math.log10(error)) if error > 0 else 4
    if value < 1e7 and decimals <= 8:
        return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"
    return f"{value:.4g} ± {error:.2g}"
