"""The result of `sparselin select` in rows, sentences and tables."""

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
    constant,
    inflated,
    look_alikes,
    two_values,
)

# so many names are told in a sentence
_NAMED = 6


class DataSource(NamedTuple):
    """Where the data are from: the file, y, the weights, columns and rows left out, a note of an index.

    options : of pandas.read_csv.
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
    """A line of the table: NaN for what a method does not have; `shrunken` is the LASSO's own coefficient."""

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
    """A selection, and what is told about it.

    `k` is the number of features that was asked for, `given` if it was not chosen by cross-validation.
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
        """What to beware of, a sentence each."""
        return [*_about_y(self), *_about_k(self), *_close(self), *_dependent(self)]


def headline(job: Job) -> str:
    """The answer in a sentence."""
    y, names = job.source.target, job.data.names
    if not job.size:
        mean, support = "the mean" if job.data.intercept else "zero", job.selected.path.support
        first = f" The first would be {names[support[0]]}." if len(support) else ""
        return (
            f"No feature is worth its place: to one standard error, {mean} predicts {y} "
            f"in rows that were left out as well as any selection does.{first}"
        )
    selected, best = [row.feature for row in job.rows], job.selected.result
    who = join_words(selected) if job.size <= _NAMED else f"{job.size} of {len(names)} features"
    what = "variance" if job.data.intercept else "sum of squares"
    answer = f"{who} explain{'s' * (job.size == 1)} {job.r2:.1%} of the {what} of {y}."
    if isinstance(best, BestSubset) and best.optimal:
        forced = f" with {join_words(job.data.forced)}" if job.data.forced else ""
        answer += f" No {job.size} features{forced} explain more."
    return answer


def data_lines(job: Job) -> list[str]:
    """What the data are and what was done with them."""
    source, data = job.source, job.data
    n, d = data.X.shape
    about = f"{source.path.name}: {n} rows, {plural(d, 'feature')}, y = {source.target}"
    about += f"; rows weighted by {source.weights}" if source.weights else ""
    about += f"; without {join_words(source.dropped)}" if source.dropped else ""
    left_out = ((source.incomplete, "no number in some column"), (source.weightless, "weight zero"))
    return [
        f"{about}.",
        *(f"{plural(count, 'row')} left out: {why}." for count, why in left_out if count),
        method_line(job.method, data.intercept, data.standardize, data.forced),
    ]


def method_line(method: str, intercept: bool, standardize: bool, forced: Sequence[str]) -> str:
    """Say how features were selected."""
    scale = "divided by their standard deviations" if standardize else "as they are"
    first = f"; {join_words(forced)} first, as forced" if forced else ""
    return (
        f"Method: {METHODS[method]}, {'with an' if intercept else 'without'} intercept, on columns "
        f"{scale}{first}. Coefficients are in the units of the data."
    )


def validation_lines(job: Job) -> list[str]:
    """What cross-validation says about the number of features."""
    found = job.checked
    if found is None:
        return []

    def error(t: int) -> str:
        i = found.at(t)
        return f"{_within(found.error[i], found.standard_error[i])} with {plural(t, 'feature')}"

    least = "That is the least" if job.k == found.best else f"The least is {error(found.best)}"
    fewest = f"{found.chosen} {'is' if job.given else 'is chosen as'} the fewest"
    if found.best == found.chosen:
        fewest = "no smaller number comes"
    return [
        f"Cross-validation in {found.folds} folds: mean squared error on rows left out {error(job.k)} "
        f"(± a standard error), R² = {found.r2[found.at(job.k)]:.3f} there.",
        f"{least}; {fewest} within one standard error of it.",
    ]


def _about_y(job: Job) -> list[str]:
    pair = two_values(job.data)
    if pair is None:
        return []
    values = " and ".join(f"{value:g}" for value in pair)
    return [
        f"{job.source.target} has two values, {values}, which least squares takes for numbers: for two "
        'classes sparselin.generalized_omp(..., loss="logistic") selects by their likelihood.'
    ]


def _about_k(job: Job) -> list[str]:
    chosen, found, lines = job.selected, job.checked, []
    if job.size < job.k:
        why = chosen.status.message
        if isinstance(chosen.result, LassoPath) and chosen.status is Status.COMPLETED:
            why = "more enter together, or none, as λ decreases"
        lines.append(f"{job.size} of {job.k} features were selected: {why}.")
    elif chosen.status is not Status.COMPLETED:
        lines.append(f"{chosen.status.name}: {chosen.status.message}.")
    best = chosen.result
    if isinstance(best, BestSubset) and not best.optimal:
        lines.append(
            f"The subset is not proved to be the best: the least ‖y − Xβ‖² is at most {best.gap:.2%} smaller."
        )
    if found is None:
        return lines
    if found.best == found.sizes[-1] < len(job.data.names):
        lines.append(
            f"The error on rows left out is least at the largest number that was tried, {found.best}: "
            "a larger --k looks further."
        )
    at = found.at(found.best)
    if job.k > found.best and found.error[found.at(job.k)] > found.error[at] + found.standard_error[at]:
        lines.append(
            f"With {plural(job.k, 'feature')} the error on rows left out is more than one standard error "
            f"above that with {found.best}: the others fit noise."
        )
    return lines


def _close(job: Job) -> list[str]:
    lines = []
    for found in close_decisions(job.data, job.method, job.selected):
        if found.tied:
            how = f"tied with {join_words(found.tied)} to rounding: the first in the table is taken."
        else:
            how = f"ahead of {found.runner_up or 'the runner-up'} by {percent(found.margin)} only: "
            how += "somewhat other data would exchange them."
        if found.step <= job.size:
            lines.append(f"Step {found.step}: {found.feature} is {how}")
    return lines


def _dependent(job: Job) -> list[str]:
    data, lines = job.data, []
    if same := constant(data):
        lines.append(f"Constant columns explain nothing: {join_words([data.names[j] for j in same])}.")
    kept = {row.feature for row in job.rows}
    lines += [
        f"{other} could stand for {feature}: their correlation is {correlation:.4f}."
        for feature, other, correlation in look_alikes(data, job.selected)
        if feature in kept
    ]
    for feature, factor in inflated(data, job.selected) if job.size == len(job.selected.path.support) else ():
        by = f"a factor of {math.sqrt(factor):.3g}" if factor < 1e12 else "more than rounding lets see"
        lines.append(
            f"The coefficient of {feature} is uncertain: as the other selected features nearly determine "
            f"it, its standard error grows by {by}."
        )
    return lines


def cells(job: Job) -> tuple[list[str], list[list[str]]]:
    """The heading and the lines of the table as text."""
    result, intercept = job.selected.result, job.data.intercept
    columns = {
        "step": [str(row.step) for row in job.rows],
        "feature": [row.feature for row in job.rows],
        "coefficient": [number(row.coefficient) for row in job.rows],
    }
    lam = ["forced" if math.isnan(row.lam) else number(row.lam) for row in job.rows]
    if isinstance(result, LassoPath):
        columns |= {"LASSO's own": [number(row.shrunken) for row in job.rows], "λ, entry": lam}
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
    """The table for a terminal."""
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    heading, lines = cells(job)
    for name in heading:
        left = name == "feature"
        view.add_column(name, justify="left" if left else "right", no_wrap=not left, overflow="fold")
    for line in lines:
        view.add_row(*map(Text, line))
    return view


def number(value: float) -> str:
    return f"{value:.5g}"


def percent(share: float) -> str:
    """A margin: to a tenth of a percent, or its order of magnitude."""
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.0e}"


def _within(value: float, error: float) -> str:
    """value ± error, the error to two digits."""
    decimals = 1 - math.floor(math.log10(error)) if error > 0 else 4
    if value < 1e7 and decimals <= 8:
        return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"
    return f"{value:.4g} ± {error:.2g}"
