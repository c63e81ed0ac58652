"""The result of `sparselin select` in rows, sentences and tables."""

from __future__ import annotations

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from sparselin.results import BestSubset, LassoPath, Status
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


class Source(NamedTuple):
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

    source: Source
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
    what = "variance" if job.data.intercept else "sum of squares"
    if not job.size:
        mean = "the mean" if job.data.intercept else "zero"
        support = job.selected.path.support
        first = f" The first would be {job.data.names[support[0]]}." if len(support) else ""
        return (
            f"No feature is worth its place: to one standard error, {mean} predicts {job.source.target} "
            f"in rows that were left out as well as any selection does.{first}"
        )
    names, verb = [row.feature for row in job.rows], "explains" if job.size == 1 else "explain"
    who = _listed(names) if len(names) <= _NAMED else f"{len(names)} of {len(job.data.names)} features"
    best, beside = job.selected.result, f" with {_listed(job.data.forced)}" if job.data.forced else ""
    optimal = isinstance(best, BestSubset) and best.optimal
    proved = f" No {job.size} features{beside} explain more." if optimal else ""
    return f"{who} {verb} {job.r2:.1%} of the {what} of {job.source.target}.{proved}"


def data_lines(job: Job) -> list[str]:
    """What the data are and what was done with them."""
    source, data = job.source, job.data
    n, d = data.X.shape
    parts = [f"{source.path.name}: {n} rows, {_count(d, 'feature')}, y = {source.target}"]
    if source.weights:
        parts.append(f"rows weighted by {source.weights}")
    if source.dropped:
        parts.append(f"without {_listed(source.dropped)}")
    lines = ["; ".join(parts) + "."]
    for count, why in (
        (source.incomplete, "has no number in some column"),
        (source.weightless, "weighs zero"),
    ):
        if count:
            left = f"{_count(count, 'row')} {'was' if count == 1 else 'were'} left out"
            lines.append(f"{left}: {'it' if count == 1 else 'each'} {why}.")
    how = (
        f"Method: {METHODS[job.method]}, {'with an' if data.intercept else 'without'} intercept, on columns "
    )
    how += "divided by their standard deviations" if data.standardize else "as they are"
    how += f"; {_listed(data.forced)} first, as forced" if data.forced else ""
    lines.append(f"{how}. Coefficients are in the units of the data.")
    return lines


def validation_lines(job: Job) -> list[str]:
    """What cross-validation says about the number of features."""
    found = job.checked
    if found is None:
        return []

    def error(t: int) -> str:
        i = found.at(t)
        return f"{_within(found.error[i], found.standard_error[i])} with {_count(t, 'feature')}"

    lines = [
        f"Cross-validation in {found.folds} folds: mean squared error on rows left out {error(job.k)} "
        f"(± a standard error), R² = {found.r2[found.at(job.k)]:.3f} there."
    ]
    if found.best == found.chosen:
        which = (
            "No other number has a smaller error"
            if job.k == found.best
            else f"The least is {error(found.best)}"
        )
        lines.append(f"{which}, and no smaller number comes within one standard error of it.")
    else:
        least = "That is the least" if job.k == found.best else f"The least is {error(found.best)}"
        fewest = f"{found.chosen} {'is' if job.given else 'is chosen as'} the fewest"
        lines.append(f"{least}; {fewest} within one standard error of it.")
    return lines


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
    if found is not None and found.best == found.sizes[-1] < len(job.data.names):
        lines.append(
            f"The error on rows left out is least at the largest number that was tried, {found.best}: "
            "a larger --k looks further."
        )
    if found is not None and job.k > found.best and _error(found, job.k) > _limit(found):
        lines.append(
            f"With {_count(job.k, 'feature')} the error on rows left out is more than one standard error "
            f"above that with {found.best}: the others fit noise."
        )
    return lines


def _error(found: CrossValidation, t: int) -> float:
    return float(found.error[found.at(t)])


def _limit(found: CrossValidation) -> float:
    """The least error and its standard error."""
    return _error(found, found.best) + float(found.standard_error[found.at(found.best)])


def _close(job: Job) -> list[str]:
    lines = []
    for found in close_decisions(job.data, job.method, job.selected):
        if found.step > job.size:
            continue
        start = f"Step {found.step}: {found.feature}"
        if found.tied:
            lines.append(
                f"{start} is tied with {_listed(found.tied)} to rounding: the first in the table is taken."
            )
        else:
            lines.append(
                f"{start} is ahead of {found.runner_up or 'the runner-up'} by {percent(found.margin)} only: "
                "somewhat other data would exchange them."
            )
    return lines


def _dependent(job: Job) -> list[str]:
    data, lines = job.data, []
    same = constant(data)
    if same:
        names = _listed([data.names[j] for j in same])
        lines.append(f"Constant columns explain nothing: {names}.")
    kept = {row.feature for row in job.rows}
    for feature, other, correlation in look_alikes(data, job.selected):
        if feature in kept:
            lines.append(f"{other} could stand for {feature}: their correlation is {correlation:.4f}.")
    if job.size == len(job.selected.path.support):
        for feature, factor in inflated(data, job.selected):
            by = f"a factor of {math.sqrt(factor):.3g}" if factor < 1e12 else "more than rounding lets see"
            lines.append(
                f"The coefficient of {feature} is uncertain: as the other selected features nearly determine "
                f"it, its standard error grows by {by}."
            )
    return lines


def cells(job: Job) -> tuple[list[str], list[list[str]]]:
    """The heading and the lines of the table as text."""
    lasso = isinstance(job.selected.result, LassoPath)
    best = isinstance(job.selected.result, BestSubset)
    heading = ["step", "feature", "coefficient"]
    heading += ["LASSO's own"] if lasso else []
    heading += [] if best else ["λ, entry"] if lasso else ["λ*", "margin"]
    heading.append("R²")
    lines = []
    if job.data.intercept:
        first = ["", "intercept", number(job.intercept)]
        lines.append([*first, *[""] * (len(heading) - len(first))])
    for row in job.rows:
        line = [str(row.step), row.feature, number(row.coefficient)]
        line += [number(row.shrunken)] if lasso else []
        if not best:
            line.append("forced" if math.isnan(row.lam) else number(row.lam))
        if not best and not lasso:
            line.append("" if math.isnan(row.margin) else "tied" if row.ties else percent(row.margin))
        lines.append([*line, f"{row.r2:.4f}"])
    return heading, lines


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


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
