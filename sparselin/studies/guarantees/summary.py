"""Summaries of the records of `sparselin guarantee`: fractions, medians and curves."""

import dataclasses
import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np

from sparselin.studies.common.listing import Listing, csv_field
from sparselin.studies.guarantees.tasks import AlgorithmOutcome, GuaranteeRecord

ACHIEVED = "achieved"
# A ratio of at least this counts as 1, and its greedy set as optimal. The distance from 1 is far above the
# rounding error of R², and far below a difference that a table shows.
_BEST = 1 - 1e-9


@dataclasses.dataclass(frozen=True)
class PromiseSummary:
    """The summary of one guarantee over all designs of the study `check`.

    Attributes
    ----------
    designs, applies, violated : the number of designs, the number of designs that satisfy the hypotheses, and
        the number of violations.
    above : the fraction of designs with a factor above 0.1, among those that satisfy the hypotheses.
    median, least_slack : the median factor, and the least difference achieved ratio − guaranteed factor.
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
    """The ratios R²(greedy)/R²(best) of one algorithm on one ensemble.

    Attributes
    ----------
    optimal : the fraction of designs with an optimal greedy set.
    median, low, least : the median, the 5 % quantile and the least ratio.
    promises : name of a guarantee ↦ median of its factor; a factor counts as zero if a hypothesis fails.
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
    """The achieved and the guaranteed ratios R²(greedy)/R²(best) on one ensemble, as one quantity varies.

    Attributes
    ----------
    varies : the quantity that varies, "k", "rho" or "snr".
    x : the values of this quantity.
    series : name of a guarantee ↦ (least, median) of its factor at each x; the name `ACHIEVED` stands for the
        achieved ratio.
    """

    ensemble: str
    algorithm: str
    varies: str
    x: tuple[float, ...]
    series: dict[str, tuple[tuple[float, float], ...]]


def of_study(records: Iterable[GuaranteeRecord], *studies: str) -> list[GuaranteeRecord]:
    """Return the records of the given studies."""
    return [record for record in records if record.task.study in studies]


def promise_summaries(records: Sequence[GuaranteeRecord]) -> list[PromiseSummary]:
    """Return a summary for each guarantee of each algorithm, over all given records."""
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
        algorithm=algorithm,
        name=name,
        designs=len(outcomes),
        applies=len(factors),
        violated=sum(name in o.violated for o in outcomes),
        above=float((factors > 0.1).mean()) if len(factors) else math.nan,
        median=float(np.median(factors)) if len(factors) else math.nan,
        least_slack=float(slack.min()) if len(factors) else math.nan,
    )


def share_above(rows: Sequence[PromiseSummary]) -> float:
    """Return the share of factors above 0.1 among the guarantees whose hypotheses hold."""
    total = sum(row.applies for row in rows)
    return sum(row.above * row.applies for row in rows if row.applies) / total if total else math.nan


def achieved_ratios(records: Sequence[GuaranteeRecord], together: bool = False) -> list[Achieved]:
    """Return the ratios for each ensemble and algorithm, without algorithms that maximise g = R² + νf.

    together : whether the ensembles count as one, with the name "".
    """
    seen: dict[tuple[str, str], list[AlgorithmOutcome]] = {}
    for record in records:
        for outcome in record.outcomes:
            if "R²" not in outcome.algorithm and outcome.algorithm != "GLS":
                ensemble = "" if together else record.task.ensemble
                seen.setdefault((ensemble, outcome.algorithm), []).append(outcome)
    return [_achieved_ratio(*key, outcomes) for key, outcomes in seen.items()]


def _achieved_ratio(ensemble: str, algorithm: str, outcomes: Sequence[AlgorithmOutcome]) -> Achieved:
    ratio = np.array([outcome.ratio[1] for outcome in outcomes])
    return Achieved(
        ensemble=ensemble,
        algorithm=algorithm,
        designs=len(ratio),
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
    """Return a `Curve` for each ensemble, varied quantity and algorithm.

    At each value of the quantity the curve has the least and the median value of each guaranteed factor and
    of the achieved ratio, for which its certified lower bound is taken. The quantity is the task's `varies`;
    for real data, where that is empty, it is k.
    """
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
    series = {ACHIEVED: tuple(_least_and_median([o.ratio[0] for o in points[at]]) for at in x)}
    for name in points[x[0]][0].promises:
        series[name] = tuple(_least_and_median([o.promises.get(name) or 0.0 for o in points[at]]) for at in x)
    return Curve(ensemble, algorithm, varies, x, series)


def _least_and_median(values: Sequence[float]) -> tuple[float, float]:
    return min(values), float(np.median(values))


def table(records: Sequence[GuaranteeRecord]) -> Listing:
    """Return the table of results.csv.

    There is a row for each design and algorithm, and a column for each guarantee.
    """
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
    return Listing([csv_field(name, operator.itemgetter(i)) for i, name in enumerate(heading)], rows)
