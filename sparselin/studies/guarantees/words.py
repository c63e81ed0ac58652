"""The sentences and tables that describe a run of `sparselin guarantee`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.table import Table

from sparselin.results import FloatArray, GuaranteeBounds, IndexArray, Interval
from sparselin.results.display import plural
from sparselin.studies.guarantees.large import AFTER, BEFORE, BEST, METHODS, RECOVERY
from sparselin.studies.guarantees.summary import (
    Achieved,
    PromiseSummary,
    achieved_ratios,
    of_study,
    promise_summaries,
    share_above,
)
from sparselin.studies.guarantees.tasks import AlgorithmOutcome, GuaranteeRecord
from sparselin.studies.guarantees.worst import ALGORITHMS, Worst

MAIN = ("OMP", "FR")
# the guarantees in the table of the page, in the order of its columns
_PROMISES = (
    "certificate after the run",
    "along the path",
    "submodularity ratio, sharper",
    "submodularity ratio",
)


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results of a run of `sparselin guarantee`, and summaries of them."""

    records: Sequence[GuaranteeRecord]
    worst: Sequence[Worst]

    @property
    def checked(self) -> list[GuaranteeRecord]:
        return of_study(self.records, "check")

    @property
    def promises(self) -> list[PromiseSummary]:
        return promise_summaries(self.checked)

    @property
    def large(self) -> list[GuaranteeRecord]:
        return of_study(self.records, "large")

    @property
    def large_table(self) -> list[tuple[str, ...]]:
        """The table of large designs as text: its heading, and a row for each signal, noise and ρ."""
        rows: list[tuple[str, ...]] = [("signal", "ρ", "before", "after", "Theorem 4", BEST, *METHODS[:4])]
        for setting in dict.fromkeys((record.task.ensemble, record.task.rho) for record in self.large):
            same = [r for r in self.large if (r.task.ensemble, r.task.rho) == setting]
            found = {row.algorithm: row for row in achieved_ratios(same)}
            certain = _share(float(np.mean([r.outcomes[1].promises[RECOVERY] is not None for r in same])))
            factors = (_number(found["OMP"].promises[name]) for name in (BEFORE, AFTER))
            rows.append((*map(str, setting), *factors, certain, *(_ratios(found[m]) for m in rows[0][5:])))
        return rows

    @property
    def violations(self) -> int:
        return sum(len(o.violated) for r in self.records for o in r.outcomes) + sum(
            len(w.violated) for w in self.worst
        )


def promise_table(rows: Sequence[PromiseSummary]) -> Table:
    """Return the table of guarantees for a terminal with 80 columns."""
    view = Table(title="Do the guarantees hold?", box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for heading in ("algorithm", "guarantee", "applies", "violated", "> 0.1", "median"):
        left = heading in ("algorithm", "guarantee")
        view.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        cells = promise_cells(row)
        view.add_row(*cells[:2], str(row.applies), *cells[3:6], style="bold red" if row.violated else None)
    return view


def promise_cells(row: PromiseSummary) -> tuple[str, ...]:
    """Return one row of the table of guarantees as text."""
    numbers = (_share(row.above), _number(row.median, "{:.2f}"), _number(row.least_slack, "{:.0e}"))
    return (row.algorithm, row.name, f"{row.applies} of {row.designs}", str(row.violated), *numbers)


def achieved_cells(row: Achieved) -> tuple[str, ...]:
    """Return one row of the table of ensembles as text."""
    promises = (row.promises.get(name, math.nan) for name in _PROMISES)
    numbers = map(_number, (row.median, row.low, row.least, *promises))
    return (row.ensemble, row.algorithm, _share(row.optimal), *numbers)


def family_cells(rows: Sequence[Achieved]) -> tuple[list[tuple[str, ...]], str]:
    """Return the rows of the table of ensembles as text, and a note about Sequential LASSO.

    A row of Sequential LASSO is left out if it equals the row of OMP.
    """
    lines = [achieved_cells(row) for row in rows]
    of_omp = {line[0]: line[2:] for line in lines if line[1] == "OMP"}
    others = [line for line in lines if line[1] == "Sequential LASSO"]
    same = [line for line in others if line[2:] == of_omp.get(line[0])]
    if not others:
        return lines, ""
    note = f"In {len(same)} of {len(others)} ensembles Sequential LASSO has the same numbers as OMP"
    return [line for line in lines if line not in same], f"{note}, so its rows are left out there."


def _ratios(row: Achieved) -> str:
    """Return the fraction of ratios that are 1, and unless all are 1 their median and their least value."""
    numbers = (row.median, row.least) if row.optimal < 1 else ()
    return ", ".join((_share(row.optimal), *map(_number, numbers)))


def _number(value: float, style: str = "{:.3f}") -> str:
    return "–" if math.isnan(value) else style.format(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def _interval(value: Interval, style: str = "{:.6g}") -> str:
    ends = (value.lower,) if value.exact else (value.lower, value.upper)
    return " to ".join(map(style.format, ends))


def headline(found: Findings) -> list[str]:
    """Return the results in sentences: whether all guarantees hold, and then three questions with answers.

    The questions are: How far from the best subset? What is guaranteed? How bad can it be?
    """
    lines, rows = [], found.promises
    if rows:
        violated = f"{plural(found.violations, 'guarantee')} violated"
        verdict = violated if found.violations else "All guarantees hold"
        lines.append(
            f"{verdict}. On {len(found.checked)} designs, {sum(row.applies for row in rows)} guarantees "
            f"whose hypotheses hold were checked, and {share_above(rows):.0%} of their factors exceed 0.1."
        )
    return (
        lines + _typical_ratios(found) + _typical_promises(found) + _worst_case(found) + _large(found.large)
    )


def _outcomes(records: Sequence[GuaranteeRecord]) -> Iterator[tuple[str, list[AlgorithmOutcome]]]:
    """Yield each main algorithm that has outcomes: its name, and the list of its outcomes on all records."""
    for name in MAIN:
        if outcomes := [o for record in records for o in record.outcomes if o.algorithm == name]:
            yield name, outcomes


def _typical_ratios(found: Findings) -> list[str]:
    """Return a sentence on the achieved ratios for small designs, and one for larger designs."""
    lines = []
    for studies, what in (
        (("check",), "small designs (d ≤ 12, k ≤ 3)"),
        (("ensembles", "sweep"), "designs of 20 columns"),
    ):
        records, parts = of_study(found.records, *studies), []
        for name, outcomes in _outcomes(records):
            ratio = np.array([outcome.ratio[1] for outcome in outcomes])
            parts.append(
                f"{name} finds a best subset on {100 * (ratio >= 1 - 1e-9).mean():.0f} % of them. It reaches "
                f"at least {np.quantile(ratio, 0.05):.3f} of the best R² on 95 % of them, and "
                f"{ratio.min():.3f} at worst"
            )
        if parts:
            lines.append(f"How far from the best subset? On {len(records)} {what}: {'. '.join(parts)}.")
    return lines


def _typical_promises(found: Findings) -> list[str]:
    """Return a sentence on the medians of the guaranteed factors for the larger designs."""
    parts = []
    for name, outcomes in _outcomes(of_study(found.records, "ensembles", "sweep")):
        after, path, _, theirs = (
            np.median([outcome.promises.get(key) or 0.0 for outcome in outcomes]) for key in _PROMISES
        )
        parts.append(
            f"{name} is guaranteed {theirs:.2f} of the best R² by the bound of Das and Kempe, and {path:.2f} "
            f"along its path. After the run it can certify {after:.2f} without knowing the best subset"
        )
    return [f"What is guaranteed? Medians on designs of 20 columns: {'. '.join(parts)}."] if parts else []


def _worst_case(found: Findings) -> list[str]:
    """Return a sentence on the worst design that the searches found, or no sentence."""
    if not found.worst:
        return []
    worst = min(found.worst, key=lambda w: w.ratio)
    s = worst.search
    return [
        f"How bad can it be? A search found a design of {s.d} unit columns in R^{s.n} with "
        f"λ_min(C, {s.k}) ≥ {s.floor:g} on which {ALGORITHMS[s.algorithm]} reaches only {worst.ratio:.3f} of "
        f"the best R² for k = {s.k}. The guarantee along its path is "
        f"{worst.promises.get('along the path', 0.0):.3f}."
    ]


def _large(records: Sequence[GuaranteeRecord]) -> list[str]:
    """Return a sentence on the large designs, or no sentence: how often each method finds the best subset."""
    parts = []
    for name in METHODS if records else ():
        ratio = np.array([o.ratio[1] for record in records for o in record.outcomes if o.algorithm == name])
        share = 100 * (ratio >= 1 - 1e-9).mean()
        parts.append(f"{name} finds it on {share:.0f} %, and reaches {ratio.min():.3f} of its R² at worst.")
    words = (
        "How far from the best subset? It is proved on {} of {} large designs; on the others the best known"
    )
    words = words.format(sum(record.exact for record in records), len(records))
    return [f"{words} subset takes its place. {' '.join(parts)}"] if parts else []


def bounds_table(found: GuaranteeBounds) -> Table:
    """Return the table for one design: every guarantee, and the achieved ratio."""
    view = Table(
        title=f"Guaranteed and achieved shares of the best R², k = {found.k}", box=box.SIMPLE_HEAD, padding=0
    )
    for heading in ("algorithm", "guarantee", "guaranteed", "achieved"):
        view.add_column(heading, justify="right" if heading.endswith("ed") else "left", no_wrap=True)
    view.add_column("failed hypotheses")
    for bound in found.bounds:
        failing = [(words, held) for words, held in bound.hypotheses if held is not True]
        fails = "; ".join(words + (" (undecided)" if held is None else "") for words, held in failing)
        ratio, promised = _interval(bound.achieved, "{:.3f}"), f"{bound.lower:.3f}" if bound.applies else "–"
        style = "bold red" if bound.violated else None if bound.applies else "dim"
        view.add_row(bound.algorithm, bound.name, promised, ratio, fails, style=style)
    return view


def design_line(X: FloatArray, y: FloatArray, target: str) -> str:
    """Return a sentence on the size of the data, and on the share of ‖y‖² that the mean of y explains."""
    n, d = X.shape
    share = n * float(y.mean()) ** 2 / float(y @ y) if y.any() else 0.0
    text = f"{n} rows, {d} columns; target: {target}. R² is not centred"
    return f"{text}; the mean of y explains {share:.1%} of ‖y‖²."


def answers(found: GuaranteeBounds) -> list[str]:
    """Return a sentence for each algorithm: the achieved share of the best R², and the best guarantee."""
    lines = []
    for name, _ in found.supports:
        applying = [bound for bound in found.of(name) if bound.applies]
        most, ratio = max(applying, key=lambda bound: bound.lower), _interval(applying[0].achieved, "{:.3f}")
        lines.append(
            f"{name} reaches {ratio} of the best R². At least {most.lower:.3f} is proved ({most.name})."
        )
    return lines


def constants_lines(found: GuaranteeBounds, names: Sequence[str] = ()) -> list[str]:
    """Return lines with the selected sets and the constants of one design.

    names : the names of the columns, if they have names.
    """

    def columns(support: IndexArray) -> str:
        return ", ".join(names[j] if names else str(j) for j in support.tolist())

    best = f"R² = {_interval(found.best)} ({found.best.method})"
    return [
        f"best subset: {columns(np.sort(found.best_support))}: {best}",
        *(
            f"{name}: {columns(support)}: R² = {r2:.6g}"
            for (name, support), (_, r2) in zip(found.supports, found.r2, strict=True)
        ),
        *(f"{name} = {_interval(value)}" for name, value in found.constants),
    ]
