"""Summaries of the records of the study of guarantees: fractions, medians, curves."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparselin.studies.guarantees.tasks import AlgorithmOutcome, GuaranteeRecord

ACHIEVED = "achieved"
# a greedy set counts as optimal from this ratio on
# A ratio above this counts as 1: far above rounding of R², and far below a difference that a table shows.
_BEST = 1 - 1e-9


@dataclasses.dataclass(frozen=True)
class PromiseSummary:
    """One promise over all designs of `check`.

    Attributes
    ----------
    designs, applies, violated : the numbers of designs, of those that satisfy its hypotheses, of violations.
    above : the fraction of `applies` with a factor above 0.1.
    median, least_slack : the median factor; the least of achieved − promised.
    """

    algorithm: str
    name: str
    designs: int
    applies: int
    violated: int
    above: float
    median: float
    least_slack: float


@dataclasses.dataclass(frozen=True)
class Achieved:
    """R²(greedy)/R²(best) of one algorithm on one family.

    Attributes
    ----------
    optimal : the fraction of designs with an optimal greedy set.
    median, low, least : median, 5 % quantile and least ratio.
    promises : name -> median factor, zero where a hypothesis fails.
    """

    ensemble: str
    algorithm: str
    designs: int
    optimal: float
    median: float
    low: float
    least: float
    promises: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Curve:
    """Achieved and promised as something varies, on one family.

    Attributes
    ----------
    varies : "k", "rho" or "snr". x : its values.
    series : name -> (least, median) at each x; `ACHIEVED` for what was achieved.
    """

    ensemble: str
    algorithm: str
    varies: str
    x: tuple[float, ...]
    series: dict[str, tuple[tuple[float, float], ...]]


def of_study(records: Iterable[GuaranteeRecord], *studies: str) -> list[GuaranteeRecord]:
    return [record for record in records if record.task.study in studies]


def promise_summaries(records: Sequence[GuaranteeRecord]) -> list[PromiseSummary]:
    """A row for each promise of each algorithm, over all records given."""
    seen: dict[tuple[str, str], list[AlgorithmOutcome]] = {}
    for record in records:
        for outcome in record.outcomes:
            for name in outcome.promises:
                seen.setdefault((outcome.algorithm, name), []).append(outcome)
    return [_promise_summary(algorithm, name, outcomes) for (algorithm, name), outcomes in seen.items()]


def _promise_summary(algorithm: str, name: str, outcomes: Sequence[AlgorithmOutcome]) -> PromiseSummary:
    pairs = [(o.promises[name], o.ratio[1]) for o in outcomes]
    factors = np.array([factor for factor, _ in pairs if factor is not None])
    slack = np.array([ratio - factor for factor, ratio in pairs if factor is not None])
    return PromiseSummary(
        algorithm,
        name,
        designs=len(outcomes),
        applies=len(factors),
        violated=sum(name in o.violated for o in outcomes),
        above=float((factors > 0.1).mean()) if len(factors) else math.nan,
        median=float(np.median(factors)) if len(factors) else math.nan,
        least_slack=float(slack.min()) if len(factors) else math.nan,
    )


def share_above(rows: Sequence[PromiseSummary]) -> float:
    """The fraction of promises above 0.1 among those whose hypotheses hold."""
    total = sum(row.applies for row in rows)
    return sum(row.above * row.applies for row in rows if row.applies) / total if total else math.nan


def achieved(records: Sequence[GuaranteeRecord]) -> list[Achieved]:
    """A row for each family and algorithm, without g = R² + νf."""
    seen: dict[tuple[str, str], list[AlgorithmOutcome]] = {}
    for record in records:
        for outcome in record.outcomes:
            if "R²" not in outcome.algorithm and outcome.algorithm != "GLS":
                seen.setdefault((record.task.ensemble, outcome.algorithm), []).append(outcome)
    return [_achieved(*key, outcomes) for key, outcomes in seen.items()]


def _achieved(ensemble: str, algorithm: str, outcomes: Sequence[AlgorithmOutcome]) -> Achieved:
    ratio = np.array([outcome.ratio[1] for outcome in outcomes])
    return Achieved(
        ensemble,
        algorithm,
        len(ratio),
        optimal=float((ratio >= _BEST).mean()),
        median=float(np.median(ratio)),
        low=float(np.quantile(ratio, 0.05)),
        least=float(ratio.min()),
        promises={
            name: float(np.median([o.promises.get(name) or 0.0 for o in outcomes]))
            for name in outcomes[0].promises
        },
    )


def curves(records: Sequence[GuaranteeRecord]) -> list[Curve]:
    """For each family, what varies and algorithm; real data vary in k."""
    groups: dict[tuple[str, str], list[GuaranteeRecord]] = {}
    for record in records:
        groups.setdefault((record.task.ensemble, record.task.varies or "k"), []).append(record)
    return [
        _curve(ensemble, varies, algorithm, group)
        for (ensemble, varies), group in groups.items()
        for algorithm in dict.fromkeys(o.algorithm for record in group for o in record.outcomes)
    ]


def _curve(ensemble: str, varies: str, algorithm: str, group: Sequence[GuaranteeRecord]) -> Curve:
    points: dict[float, list[AlgorithmOutcome]] = {}
    for record in group:
        at = float(getattr(record.task, varies))
        points.setdefault(at, []).extend(o for o in record.outcomes if o.algorithm == algorithm)
    x = tuple(sorted(at for at, outcomes in points.items() if outcomes))
    series = {ACHIEVED: tuple(_pair([o.ratio[0] for o in points[at]]) for at in x)}
    for name in points[x[0]][0].promises:
        series[name] = tuple(_pair([o.promises.get(name) or 0.0 for o in points[at]]) for at in x)
    return Curve(ensemble, algorithm, varies, x, series)


def _pair(values: Sequence[float]) -> tuple[float, float]:
    return min(values), float(np.median(values))


def table(records: Sequence[GuaranteeRecord]) -> tuple[list[str], list[list[Any]]]:
    """Heading and rows of a CSV file: one row for each design and algorithm, one column for each promise."""
    names = dict.fromkeys(name for r in records for o in r.outcomes for name in o.promises)
    heading = ["study", "ensemble", "index", "n", "d", "k", "varies", "rho", "snr", "algorithm"]
    heading += ["best_lower", "best_upper", "ratio_lower", "ratio_upper", "violated", *names]
    rows = []
    for record in records:
        t = record.task
        start = [t.study, t.ensemble, t.index, record.n, record.d, t.k, t.varies, t.rho, t.snr]
        for o in record.outcomes:
            promises = ["" if o.promises.get(name) is None else o.promises[name] for name in names]
            rows.append([*start, o.algorithm, *record.best, *o.ratio, "; ".join(o.violated), *promises])
    return heading, rows
