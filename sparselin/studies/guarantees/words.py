"""The results of a run of `sparselin guarantee` in sentences and tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.table import Table

from sparselin.results import FloatArray, GuaranteeBounds, IndexArray, Interval
from sparselin.studies.guarantees.summary import (
    Achieved,
    PromiseSummary,
    of_study,
    promise_summaries,
    share_above,
)
from sparselin.studies.guarantees.tasks import AlgorithmOutcome, GuaranteeRecord
from sparselin.studies.guarantees.worst import ALGORITHMS, Worst

MAIN = ("OMP", "FR")
# in the order of the columns of the report
_PROMISES = (
    "certificate after the run",
    "along the path",
    "submodularity ratio, sharper",
    "submodularity ratio",
)


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results of a run, summarised once."""

    records: Sequence[GuaranteeRecord]
    worst: Sequence[Worst]

    @property
    def checked(self) -> list[GuaranteeRecord]:
        return of_study(self.records, "check")

    @property
    def promises(self) -> list[PromiseSummary]:
        return promise_summaries(self.checked)

    @property
    def violations(self) -> int:
        return sum(len(o.violated) for r in self.records for o in r.outcomes) + sum(
            len(w.violated) for w in self.worst
        )


def promise_table(rows: Sequence[PromiseSummary]) -> Table:
    """The promises for a terminal of 80 columns."""
    view = Table(title="Do the promises hold?", box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for heading in ("algorithm", "promise", "held", "broken", "> 0.1", "median"):
        left = heading in ("algorithm", "promise")
        view.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        cells = promise_cells(row)
        view.add_row(*cells[:2], str(row.applies), *cells[3:6], style="bold red" if row.violated else None)
    return view


def promise_cells(row: PromiseSummary) -> tuple[str, ...]:
    """One row as text."""
    numbers = (_share(row.above), _number(row.median, "{:.2f}"), _number(row.least_slack, "{:.0e}"))
    return (row.algorithm, row.name, f"{row.applies} of {row.designs}", str(row.violated), *numbers)


def achieved_cells(row: Achieved) -> tuple[str, ...]:
    promises = (row.promises.get(name, math.nan) for name in _PROMISES)
    numbers = map(_number, (row.median, row.low, row.least, *promises))
    return (row.ensemble, row.algorithm, _share(row.optimal), *numbers)


def family_cells(rows: Sequence[Achieved]) -> tuple[list[tuple[str, ...]], str]:
    """The rows as text, those of Sequential LASSO only where they differ from OMP's; and what that means."""
    lines = [achieved_cells(row) for row in rows]
    of_omp = {line[0]: line[2:] for line in lines if line[1] == "OMP"}
    others = [line for line in lines if line[1] == "Sequential LASSO"]
    same = [line for line in others if line[2:] == of_omp.get(line[0])]
    if not others:
        return lines, ""
    note = f"Sequential LASSO's rows equal OMP's in {len(same)} of {len(others)} ensembles"
    return [line for line in lines if line not in same], f"{note}, and are left out there."


def _number(value: float, style: str = "{:.3f}") -> str:
    return "–" if math.isnan(value) else style.format(value)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def _interval(value: Interval, style: str = "{:.6g}") -> str:
    ends = (value.lower,) if value.exact else (value.lower, value.upper)
    return " to ".join(map(style.format, ends))


def headline(found: Findings) -> list[str]:
    """The two answers and the check, in sentences."""
    lines, rows = [], found.promises
    if rows:
        lines.append(
            f"Promises checked on {len(found.checked)} designs ({sum(row.applies for row in rows)} promises "
            f"whose hypotheses hold), {found.violations or 'none'} violated, "
            f"share above 0.1 = {share_above(rows):.3f}."
        )
    return lines + _how_far(found) + _what_was_promised(found) + _how_bad(found)


def _outcomes(records: Sequence[GuaranteeRecord]) -> Iterator[tuple[str, list[AlgorithmOutcome]]]:
    """The outcomes of each main algorithm that has some."""
    for name in MAIN:
        if outcomes := [o for record in records for o in record.outcomes if o.algorithm == name]:
            yield name, outcomes


def _how_far(found: Findings) -> list[str]:
    """Achieved ratios on small designs, and on larger ones."""
    lines = []
    for studies, what in (
        (("check",), "small designs (d ≤ 12, k ≤ 3)"),
        (("ensembles", "sweep"), "designs of 20 columns"),
    ):
        records, parts = of_study(found.records, *studies), []
        for name, outcomes in _outcomes(records):
            ratio = np.array([outcome.ratio[1] for outcome in outcomes])
            parts.append(
                f"{name} finds a best subset in {100 * (ratio >= 1 - 1e-9).mean():.0f} %, has at least "
                f"{np.quantile(ratio, 0.05):.3f} of the best R² in 95 %, and {ratio.min():.3f} at worst"
            )
        if parts:
            lines.append(f"How far from the best subset? On {len(records)} {what}, {'; '.join(parts)}.")
    return lines


def _what_was_promised(found: Findings) -> list[str]:
    """Medians of what was promised on the larger designs."""
    parts = []
    for name, outcomes in _outcomes(of_study(found.records, "ensembles", "sweep")):
        after, path, _, theirs = (
            np.median([outcome.promises.get(key) or 0.0 for outcome in outcomes]) for key in _PROMISES
        )
        parts.append(
            f"{name} was promised {theirs:.2f} of the best R² by Das and Kempe's bound, {path:.2f} along "
            f"its path, and could certify {after:.2f} after the run, without knowing the best"
        )
    return [f"What was I promised? On these (medians), {'; '.join(parts)}."] if parts else []


def _how_bad(found: Findings) -> list[str]:
    if not found.worst:
        return []
    worst = min(found.worst, key=lambda w: w.ratio)
    s = worst.search
    return [
        f"How bad can it be? On a design of {s.d} unit columns in R^{s.n} with "
        f"λ_min(C, {s.k}) ≥ {s.floor:g}, found by search, "
        f"{ALGORITHMS[s.algorithm]} reaches {worst.ratio:.3f} of the best R² for k = {s.k}; "
        f"{worst.promises.get('along the path', 0.0):.3f} was promised along its path."
    ]


def bounds_table(found: GuaranteeBounds) -> Table:
    """One design: every promise and the ratio achieved."""
    view = Table(
        title=f"k = {found.k}: what was promised, and what was achieved", box=box.SIMPLE_HEAD, padding=0
    )
    for heading in ("algorithm", "promise", "promised", "achieved"):
        view.add_column(heading, justify="right" if heading.endswith("ed") else "left", no_wrap=True)
    view.add_column("hypothesis that does not hold")
    for bound in found.bounds:
        failing = [(words, held) for words, held in bound.hypotheses if held is not True]
        fails = "; ".join(words + (" (undecided)" if held is None else "") for words, held in failing)
        ratio, promised = _interval(bound.achieved, "{:.3f}"), f"{bound.lower:.3f}" if bound.applies else "–"
        style = "bold red" if bound.violated else None if bound.applies else "dim"
        view.add_row(bound.algorithm, bound.name, promised, ratio, fails, style=style)
    return view


def design_line(X: FloatArray, y: FloatArray, target: str) -> str:
    """What was read, and how much of ‖y‖² its mean explains."""
    n, d = X.shape
    share = n * float(y.mean()) ** 2 / float(y @ y) if y.any() else 0.0
    return (
        f"{n} rows, {d} columns, y = {target}. R² is uncentred: of ‖y‖² the mean of y explains {share:.1%}."
    )


def answers(found: GuaranteeBounds) -> list[str]:
    """How far from the best subset, and what was promised, a sentence for each algorithm."""
    lines = []
    for name, _ in found.supports:
        applying = [bound for bound in found.of(name) if bound.applies]
        most, ratio = max(applying, key=lambda bound: bound.lower), _interval(applying[0].achieved, "{:.3f}")
        lines.append(f"{name} has {ratio} of the best R²; at least {most.lower:.3f} is proved ({most.name}).")
    return lines


def constants_lines(found: GuaranteeBounds, names: Sequence[str] = ()) -> list[str]:
    """Sets, by the names of their columns if they have some, and constants of one design."""

    def named(support: IndexArray) -> str:
        return ", ".join(names[j] if names else str(j) for j in support.tolist())

    best = f"R² = {_interval(found.best)} ({found.best.method})"
    return [
        f"best subset: {named(np.sort(found.best_support))}: {best}",
        *(
            f"{name}: {named(support)}: R² = {r2:.6g}"
            for (name, support), (_, r2) in zip(found.supports, found.r2, strict=True)
        ),
        *(f"{name} = {_interval(value)}" for name, value in found.constants),
    ]
