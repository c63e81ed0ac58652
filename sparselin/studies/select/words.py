"""The rows, sentences and tables that describe the result of `sparselin select`."""

import dataclasses
import functools
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sparselin as sl
from sparselin.lasso.path import last_within
from sparselin.results import (
    BestSubset,
    CrossValidation,
    FloatArray,
    GeneralizedPath,
    LassoPath,
    SelectionPath,
    Status,
)
from sparselin.results.display import join_words, plural, printable, round_down
from sparselin.studies.common import page
from sparselin.studies.common.listing import Field, Listing, csv_field
from sparselin.studies.common.tables import columns_of, is_parquet, some
from sparselin.studies.select import findings
from sparselin.studies.select.columns import TableColumns, has_levels
from sparselin.studies.select.data import Data
from sparselin.studies.select.model import METHODS, ModelRequest

_HERE = Path(__file__).parent
_COMPARED = ("omp", "ols", "sequential-lasso")  # the methods that `condition` knows
_NAMED = 6  # a sentence names at most this many features


class Row(NamedTuple):
    """A row of the table of selected features. A quantity that the method does not have is NaN.

    coefficient : NaN if the feature is a category.
    parts : the names and coefficients of the indicators of a category.
    shrunken : the coefficient of the LASSO itself, before least squares is fitted again.
    lam : λ*, or the λ at which the feature enters the LASSO.
    r2 : R² (or the explained share of the deviance) of the features up to this row.
    stays_up_to : a size of change of the data that leaves the picks up to this row (`findings.stays_up_to`).
    """

    step: int
    feature: str
    coefficient: float
    parts: tuple[tuple[str, float], ...]
    shrunken: float
    lam: float
    margin: float
    ties: tuple[str, ...]
    r2: float
    stays_up_to: float


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """A finished selection with its data, from which the sentences and tables are made.

    k : the number of features; a category counts as one if its indicators enter together.
    given : whether the user gave k; otherwise cross-validation chose it.
    model : the fitted pipeline.
    """

    source: Data
    request: ModelRequest
    k: int
    given: bool
    model: Any
    checked: CrossValidation | None

    @property
    def selector(self) -> Any:
        return self.model[-1]

    @property
    def lasso(self) -> LassoPath | None:
        """The path of the LASSO, if this is the method."""
        return getattr(self.selector, "lasso_path_", None)

    @property
    def best(self) -> BestSubset | None:
        """The best subset, if this is the method."""
        return self.path if isinstance(self.path, BestSubset) else None

    @functools.cached_property
    def path(self) -> Any:
        """The path of models, or the best subset."""
        found = self.selector.result_
        if found is not None:
            return found
        # the forced features only
        S = self.selector.selected_.tolist()
        w = self.source.weight
        intercept = self.request.intercept
        return sl.omp(self.X, self.source.y, len(S), forced=S, intercept=intercept, sample_weight=w)

    @functools.cached_property
    def units(self) -> list[str]:
        """The name of each column of X, or of the category to which it belongs if categories are groups."""
        return self.request.groups() or self.names

    @functools.cached_property
    def names(self) -> list[str]:
        """The names of the columns of X."""
        return [name for used in self.request.columns.names for name in self.request.columns.names_in_X(used)]

    @functools.cached_property
    def frame(self) -> Any:
        """The columns as the selector gets them: encoded, and without gaps."""
        return self.model[:-1].transform(self.source.X) if self.request.prepared else self.source.X

    @functools.cached_property
    def X(self) -> FloatArray:
        """(n, d) the numbers of `frame`."""
        return np.asarray(self.frame.to_numpy(), np.float64)

    @functools.cached_property
    def picks(self) -> list[list[int]]:
        """The columns of X that each step selected."""
        S = list(map(int, self.selector.selected_)) if self.k else []
        order = list(dict.fromkeys(self.units[j] for j in S))
        return [[j for j in S if self.units[j] == unit] for unit in order]

    @property
    def size(self) -> int:
        """The number of features in the model."""
        return len(self.picks)

    @property
    def intercept(self) -> float:
        return float(np.ravel(self.selector.intercept_ if self.k else self.path.intercept_path[0])[0])

    @property
    def first(self) -> str:
        """The name of the first feature on the path, or ""."""
        return self.name_of(int(getattr(self.path, "order", self.path.support)[0])) if len(self.path) else ""

    @property
    def separator(self) -> str:
        """The name of the feature that separates the values of y, and so ends the path; or ""."""
        ends = getattr(self.path, "unfitted", ()) if self.path.status is Status.NO_MINIMUM else ()
        return self.name_of(ends[0]) if ends else ""

    @property
    def logistic(self) -> bool:
        return self.source.loss == "logistic"

    @functools.cached_property
    def shares(self) -> FloatArray:
        """R² or the explained share of the deviance after each step."""
        if self.best is not None:  # only the whole subset has a meaning
            return np.append(np.full(max(self.size - 1, 0), np.nan), self.best.r2)
        path = self.path
        return np.asarray(path.d2_path if isinstance(path, GeneralizedPath) else path.r2_path)[1:]

    @property
    def r2(self) -> float:
        return float(self.shares[self.size - 1]) if self.size else 0.0

    @functools.cached_property
    def rows(self) -> list[Row]:
        coef = self.selector.coef_.ravel()
        f = self.request.first_steps
        lam, margin = np.full((2, self.size), np.nan).tolist()
        ties = [()] * self.size
        shrunken = np.full(len(coef), np.nan)
        if self.lasso is not None:
            _, entered, knot = last_within(self.lasso, self.k - f)
            lam[self.size - len(entered) :] = entered
            shrunken[:] = 0
            shrunken[self.lasso.features] = self.lasso.coef_path[knot]
        elif self.best is None:
            lam = self.path.lam_star.tolist()
            margin = self.path.margin.tolist()
            ties = list(self.path.ties)
        stays = [math.nan] * self.size
        if self.size and self.request.method in _COMPARED and type(self.path) is SelectionPath:
            stays = findings.stays_up_to(self.path, self.X, self.source.y, self.source.weight).tolist()
        found = []
        for t, pick in enumerate(self.picks):
            j = pick[0]
            feature = self.units[j]
            group = feature != self.names[j]  # the columns are the indicators of a category
            found.append(
                Row(
                    step=t + 1,
                    feature=feature,
                    coefficient=math.nan if group else float(coef[j]),
                    parts=tuple((self.names[i], float(coef[i])) for i in pick if group),
                    shrunken=float(shrunken[j]),
                    lam=lam[t],
                    margin=margin[t],
                    r2=float(self.shares[t]),
                    ties=tuple(name for name in map(self.name_of, ties[t]) if name != feature),
                    stays_up_to=stays[t],
                )
            )
        return found

    @property
    def has_distances(self) -> bool:
        """True if the table says how much the data must change before another feature is picked."""
        return any(not math.isnan(row.stays_up_to) for row in self.rows)

    def name_of(self, i: int) -> str:
        """Return the name of the unit with number i in the path: a column of X, or a group of columns."""
        return str(self.selector.groups_[i]) if self.request.grouped else self.names[i]

    @functools.cached_property
    def cautions(self) -> list[str]:
        """The reasons to distrust the selection, one sentence each."""
        source, request = self.source, self.request
        S = [j for pick in self.picks for j in pick]
        Z = findings.standard_columns(self.X, source.weight, request.intercept)
        margins = not isinstance(self.selector.path_, tuple)
        data = (source.y, source.weight)
        single = [j for j in S if self.units.count(self.units[j]) == 1]
        context = {
            "job": self,
            "as_option": as_option,
            "percent": percent,
            "parquet": is_parquet(self.source.path),
            "missing_codes": self._missing_codes(),
            "copies": self._copies(Z),
            "values": np.unique(source.y) if source.loss == "squared" and len(source.y) > 2 else (),
            "decisions": findings.close_decisions(self.selector, self.frame, *data) if margins else (),
            "constant": [self.names[j] for j in findings.constant_columns(self.X, request.intercept)],
            "alike": findings.look_alikes(Z, single, self.units),
            # not of a part of the path only
            "dispersion": self.dispersion,
            "counts": source.loss == "squared" and _are_counts(np.asarray(source.y, np.float64)),
            "uncertain": findings.uncertain_coefficients(Z, S, single) if self.size == len(self.path) else (),
        }
        return page.sentences(_HERE / "cautions.txt.j2", context)

    @functools.cached_property
    def dispersion(self) -> float:
        """Pearson's χ² divided by its degrees of freedom, for counts with the Poisson loss; else NaN.

        χ² = Σ w(y − μ)²/μ with the weights w and the fitted means μ. For Poisson counts, and for rates with
        exposures as weights, the quotient is about 1.
        """
        source = self.source
        free = len(source.y) - self.request.intercept - sum(map(len, self.picks))
        if source.loss != "poisson" or free < 1:
            return math.nan
        mu = np.asarray(self.model.predict(source.X), np.float64).ravel()
        w = np.ones(len(mu)) if source.weight is None else source.weight
        return float((w * (source.y - mu) ** 2 / mu).sum() / free)

    def _missing_codes(self) -> list[tuple[str, list[tuple[float, int]], float, float, bool]]:
        """Return the columns of numbers, and the target, with values that may be codes of missing ones.

        The last entry says whether another of these columns holds such a value too.
        """
        columns = {name: self.source.X[name].to_numpy(np.float64) for name in self.request.columns.numbers}
        if self.source.loss != "logistic":
            columns[self.source.target] = np.asarray(self.source.y, np.float64)
        found = [(name, *findings.missing_codes(values)) for name, values in columns.items()]
        return [
            (name, codes, low, high, _is_elsewhere(columns, name, [value for value, _ in codes]))
            for name, codes, low, high in found
            if codes
        ]

    def _copies(self, Z: FloatArray) -> list[tuple[str, float]]:
        """Return the columns of numbers that are the target in other units, with the slopes of the target.

        Z : the standard columns. A copy without gaps has a correlation of nearly 1 with the target.
        """
        if self.source.loss != "squared":
            return []
        y = np.asarray(self.source.y, np.float64)
        found = []
        z = findings.standard_columns(y[:, None], self.source.weight, self.request.intercept)[:, 0]
        near = np.abs(Z.T @ z) > 1 - 1e-3
        for j, name in enumerate(self.request.columns.numbers):
            if near[j] or name in self.source.empty:
                slope = findings.is_copy(self.source.X[name].to_numpy(np.float64), y)
                found += [(name, slope)] if slope else []
        return found


def _are_counts(y: FloatArray) -> bool:
    """Return whether y holds whole numbers ≥ 0, zeros among them, of which many repeat."""
    distinct = np.unique(y)
    return bool(distinct[0] == 0 and 2 < len(distinct) <= len(y) / 4 and (distinct % 1 == 0).all())


def _is_elsewhere(columns: dict[str, FloatArray], name: str, values: list[float]) -> bool:
    """Return whether a column other than `name` holds one of the values."""
    return any(bool(np.isin(column, values).any()) for other, column in columns.items() if other != name)


def headline(job: Job) -> str:
    """Return the result of the selection in one or two sentences."""
    selected = [row.feature for row in job.rows]
    who = join_words(selected) if job.size <= _NAMED else f"{job.size} of {len(set(job.units))} features"
    return page.sentences(_HERE / "headline.txt.j2", {"job": job, "who": who})[0]


def data_lines(job: Job) -> list[str]:
    """Return sentences about the data: their size, the use of the columns, the rows left out, the method."""
    source, request = job.source, job.request
    columns = source.columns
    each = zip(columns.categories, columns.levels, columns.references, strict=True)
    table = source.table.frame
    usable = [name for name in columns.left_out if has_levels(table[name])]
    context = {
        "job": job,
        "of_use": usable,
        "of_numbers": set(usable) <= set(columns_of(table[usable], "iuf")),
        "has_dates": "dates" in columns.left_out.values(),
        "distinct": some(columns.distinct),
        "codes": some(columns.codes),
        "few": some([f"{name} ({few_values(source.X[name])})" for name in columns.few]),
        "categories": [f"{name} ({len(found)}, {reference})" for name, found, reference in each],
        "left_out": left_out(columns),
        "words_missing": some(
            [
                f"{text!r} in {plural(count, 'cell')} of {name}"
                for name, texts in source.missing_words.items()
                for text, count in texts.items()
            ]
        ),
        "words_kept": shlex.quote(
            ",".join(dict.fromkeys(text for texts in source.missing_words.values() for text in texts))
        ),
        "empty": some([f"{name} ({count})" for name, count in source.empty.items()]),
        "dropped_rows": (
            (source.lost, f"an empty cell in {' or '.join(source.others)}"),
            (source.weightless, "weight zero"),
            (source.incomplete, "missing values"),
        ),
    }
    return [
        *page.sentences(_HERE / "data.txt.j2", context),
        method_line(request.method, request.intercept, request.standardize, request.forced),
    ]


def few_values(column: Any) -> str:
    """Return the distinct values of a column of whole numbers as a text."""
    return ", ".join(f"{value:g}" for value in sorted(column.dropna().unique().tolist()))


def left_out(columns: TableColumns) -> str:
    """Return the columns that are left out, each with the reason."""
    return some([f"{name} ({why})" for name, why in columns.left_out.items()])


def as_option(name: str) -> str:
    """Return the name of a column as a shell takes it after an option."""
    return shlex.quote(f'"{printable(name)}"' if "," in name else printable(name))


def method_line(method: str, intercept: bool, standardize: bool, forced: Sequence[str]) -> str:
    """Return a sentence about the method and its options."""
    options = {"intercept": intercept, "standardize": standardize, "forced": forced}
    return page.sentences(_HERE / "method.txt.j2", {"method": METHODS[method], **options})[0]


def validation_lines(job: Job) -> list[str]:
    """Return sentences about the errors of cross-validation, and the number of features that they suggest."""
    found = job.checked
    if found is None:
        return []

    def error(t: int) -> str:
        i = found.at(t)
        return f"{with_error(found.error[i], found.standard_error[i])} with {plural(t, 'feature')}"

    context = {"job": job, "found": found, "error": error, "squared": job.source.loss == "squared"}
    return page.sentences(_HERE / "validation.txt.j2", context)


class Line(NamedTuple):
    """A line of the table of selected features: the intercept, a feature, or an indicator of a category.

    step : 0 for the intercept, None for an indicator.
    row : the row of a feature, else None.
    """

    step: int | None
    feature: str
    coefficient: float
    row: Row | None


def table(job: Job) -> Listing:
    """Return the table of selected features for the page, a terminal and selected.csv.

    The names of the intercept and of indicators differ in selected.csv, where numbers are not rounded.
    """
    lines = [Line(0, "(intercept)", job.intercept, None)] if job.request.intercept else []
    for row in job.rows:
        lines.append(Line(row.step, row.feature, row.coefficient, row))
        lines += [Line(None, name, value, None) for name, value in row.parts]

    def rounded_field(heading: str, text: Callable[[Row], str]) -> Field:
        return Field(heading, heading, None, lambda line: line.row, lambda row: text(row) if row else "")

    def exact_field(heading: str, name: str) -> Field:
        return csv_field(heading, lambda line: _entry(getattr(line.row, name, "")))

    def lam(row: Row) -> str:
        return "forced" if math.isnan(row.lam) else number(row.lam)

    fields = [
        Field("step", "step", None, lambda line: line.step or ""),
        Field("feature", "feature", None, _name_of_line, printable),
        Field("coefficient", "coefficient", None, lambda line: line.coefficient, _number_or_nothing),
        csv_field("step", lambda line: "" if line.step is None else line.step),
        csv_field("feature", lambda line: line.feature),
        csv_field("coefficient", lambda line: _entry(line.coefficient)),
    ]
    if job.lasso is not None:
        fields += [
            rounded_field("LASSO coef.", lambda row: number(row.shrunken)),
            rounded_field("λ at entry", lam),
        ]
        fields.append(exact_field("lasso", "shrunken"))
    elif job.best is None:
        fields += [rounded_field("λ*", lam), rounded_field("margin", _margin)]
    if job.has_distances:
        fields.append(
            Field(
                "stays selected up to",
                "stays up to",
                None,
                lambda line: math.nan if line.row is None else line.row.stays_up_to,
                up_to,
            )
        )
    share = "R²" if job.source.loss == "squared" else "D²"
    fields += [
        rounded_field(share, lambda row: "" if math.isnan(row.r2) else f"{row.r2:z.4f}"),
        exact_field("lam", "lam"),
        exact_field("margin", "margin"),
        csv_field("ties", lambda line: "; ".join(line.row.ties) if line.row else ""),
        exact_field("r2", "r2"),
        exact_field("stays_up_to", "stays_up_to"),
    ]
    return Listing(fields, lines)


def _name_of_line(line: Line) -> str:
    if line.row is None:
        return "intercept" if line.step == 0 else f"  {line.feature}"
    return line.feature


def _entry(value: Any) -> Any:
    """Return a value of selected.csv, where NaN is empty."""
    return "" if value != value else value


def _number_or_nothing(value: float) -> str:
    return "" if math.isnan(value) else number(value)


def _margin(row: Row) -> str:
    if math.isnan(row.margin):
        return ""
    return "tied" if row.ties else percent(row.margin)


def number(value: float) -> str:
    """Return a number with five significant digits."""
    return f"{value + 0.0:.5g}"


def percent(share: float) -> str:
    """Return a margin to a tenth of a percent; if it is smaller than that, return its order of magnitude."""
    return f"{share:z.1%}" if share >= 0.001 or share == 0 else f"{share:.0e}"


def up_to(size: float) -> str:
    """Return a size of change as "± 0.84%", rounded down to two digits; "" if it is NaN."""
    if math.isnan(size):
        return ""
    return f"± {100 * round_down(size):.2g}%"


def with_error(value: float, error: float) -> str:
    """Return "value ± error", with two digits of the error."""
    decimals = 1 - math.floor(math.log10(error)) if error > 0 else 4
    if value < 1e7 and decimals <= 8:
        return f"{value:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"
    return f"{value:.4g} ± {error:.2g}"
