"""The option `--inference split`: one half of the rows selects, and the other half tests the features."""

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sparselin.post_selection.classical import classical
from sparselin.results import Fit, IndexArray, SplitInference, Status
from sparselin.results.display import join_words, printable
from sparselin.studies.common.listing import Field, Listing, csv_field
from sparselin.studies.select.data import Data
from sparselin.studies.select.words import Job, number

LEVEL = 0.95


class Tested(NamedTuple):
    """The tests on one half of the rows, and how the other half selected.

    folds, largest : the number of folds by which it chose the number of features, and the largest number
        that it tried.
    """

    result: SplitInference
    folds: int
    largest: int


def halves(data: Data, seed: int) -> tuple[IndexArray, IndexArray]:
    """Return the rows that select and the rows that test, at random; groups of rows stay together."""
    n = len(data.y)
    if data.groups is not None:
        first, second = next(
            GroupShuffleSplit(1, test_size=0.5, random_state=seed).split(data.X, groups=data.groups)
        )
        return np.asarray(first), np.asarray(second)
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :])


def part(data: Data, rows: IndexArray) -> Data:
    """Return the data of some of the rows."""
    return dataclasses.replace(
        data,
        X=data.X.iloc[rows],
        y=data.y[rows],
        weight=None if data.weight is None else data.weight[rows],
        groups=None if data.groups is None else data.groups[rows],
    )


def tests(job: Job, data: Data) -> SplitInference:
    """Test the model that one half selected on the other half.

    job : the selection on the first half.
    data : the rows of the other half.
    """
    source, request = job.source, job.request
    frame = job.model[:-1].transform(data.X) if request.prepared else data.X
    S = np.array([j for pick in job.picks for j in pick], np.intp)
    A = np.asarray(frame.to_numpy(), np.float64)[:, S]
    y: Any = data.y == source.classes[1] if job.logistic else data.y
    fit = Fit(
        n_features=frame.shape[1],
        names=tuple(job.names),
        with_intercept=request.intercept,
        loss=source.loss,
        classes=source.classes,
    )
    return classical(
        A,
        np.asarray(y, np.float64),
        S,
        [job.units[j] for j in S],
        fit,
        LEVEL,
        selected_on=len(source.y),
        weight=data.weight,
        status=job.path.status if len(S) else Status.COMPLETED,
    )


class _Line(NamedTuple):
    """A line of the table: a feature of the model, or a category with several indicators."""

    feature: str
    p: float
    estimate: float = math.nan
    error: float = math.nan
    low: float = math.nan
    high: float = math.nan


def table(found: SplitInference) -> Listing:
    """Return the table of tests for the page, a terminal and inference.csv."""
    lines = []
    low, high = found.interval.T
    for u, unit in enumerate(found.unit_names):
        places = [t for t, name in enumerate(found.units) if name == unit]
        names = [found.name_of(int(found.support[t])) for t in places]
        if len(names) > 1:
            lines.append(_Line(feature=unit, p=float(found.unit_p_value[u])))
        for name, t in zip(names, places, strict=True):
            line = _Line(
                feature=name,
                estimate=float(found.estimate[t]),
                error=float(found.standard_error[t]),
                low=float(low[t]),
                high=float(high[t]),
                p=float(found.p_value[t]),
            )
            lines.append(line)
    fields = [Field("feature", "feature", "feature", lambda line: line.feature, printable)]
    headings = {"coefficient": "estimate", "std. error": "error", "from": "low", "to": "high"}
    for heading, name in headings.items():
        fields.append(Field(heading, heading, None, operator.attrgetter(name), _text))
    fields.append(Field("p", "p", None, operator.attrgetter("p"), _short))
    keys = ("estimate", "error", "low", "high", "p")
    heads = ("coefficient", "standard_error", "low", "high", "p_value")
    for key, name in zip(heads, keys, strict=True):
        fields.append(csv_field(key, functools.partial(_entry, name)))
    return Listing(fields, lines)


def sentences(found: SplitInference, seed: int, features: Sequence[str]) -> list[str]:
    """Return sentences about the halves and the tests.

    features : the features that all rows selected.
    """
    first, second = found.rows
    lines = [
        f"Inference: {first} rows, drawn with seed {seed}, selected anew, and the other {second} rows tested "
        f"these features ({found.test} tests, {100 * found.level:g} % intervals). So the p-values need no "
        "correction for the selection."
    ]
    if set(found.unit_names) != set(features):
        names = join_words(found.unit_names) or "none"
        lines.append(
            f"The half selected other features than all rows: {names}. Half of the rows show less; --k sets "
            "the number, and another --seed draws another half."
        )
    if found.dispersion > 1:
        times = number(found.dispersion)
        lines.append(f"Variances are multiplied by {times}, Pearson's χ² over its degrees of freedom.")
    if found.reason:
        lines.append(f"There are no tests, because {found.reason}.")
    missing = [
        found.name_of(int(j)) for j, x in zip(found.support, found.estimate, strict=True) if np.isnan(x)
    ]
    if missing and not found.reason:
        lines.append(
            f"Left out of the tests, because the other columns determine them there: {', '.join(missing)}."
        )
    return lines


def _short(p: float) -> str:
    return "" if math.isnan(p) else f"{p:.2g}"


def _text(value: float) -> str:
    return "" if np.isnan(value) else number(value)


def _entry(name: str, line: _Line) -> Any:
    value = getattr(line, name)
    return "" if np.isnan(value) else value
