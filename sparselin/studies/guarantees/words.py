"""The sentences and tables that describe a run of `sparselin guarantee`."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from sparselin.results import Bound, FloatArray, GuaranteeBounds, Interval
from sparselin.studies.common import page
from sparselin.studies.common.listing import RED, Field, Listing, page_field, terminal_field
from sparselin.studies.common.page import number, share
from sparselin.studies.guarantees import summary
from sparselin.studies.guarantees.large import AFTER, BEFORE, BEST, METHODS, RECOVERY
from sparselin.studies.guarantees.tasks import GuaranteeRecord
from sparselin.studies.guarantees.worst import Worst

_HERE = Path(__file__).parent
MAIN = ("OMP", "FR")
# the guarantees in the table of ensembles, with their headings
_PROMISES = {
    "certificate after the run": "certificate",
    "along the path": "along the path",
    "submodularity ratio, sharper": Markup("1 − e<sup>−γλ(k)</sup>"),
    "submodularity ratio": "Das and Kempe",
}


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results of a run of `sparselin guarantee`, and summaries of them."""

    records: Sequence[GuaranteeRecord]
    worst: Sequence[Worst]

    @property
    def checked(self) -> list[GuaranteeRecord]:
        return summary.of_study(self.records, "check")

    @property
    def promises(self) -> list[summary.PromiseSummary]:
        return summary.promise_summaries(self.checked)

    @property
    def large(self) -> list[GuaranteeRecord]:
        return summary.of_study(self.records, "large")

    @property
    def violations(self) -> int:
        return sum(len(o.violated) for r in self.records for o in r.outcomes) + sum(
            len(w.violated) for w in self.worst
        )


def promise_table(rows: Sequence[summary.PromiseSummary]) -> Listing:
    """Return the table of guarantees; those that are violated are red. The terminal has 80 columns."""
    fields = (
        Field("algorithm", "algorithm", None, lambda row: row.algorithm),
        Field("guarantee", "guarantee", None, lambda row: row.name),
        page_field("hypotheses hold", lambda row: f"{row.applies} of {row.designs}"),
        terminal_field("applies", lambda row: row.applies),
        Field("violated", "violated", None, lambda row: row.violated),
        Field("share above 0.1", "> 0.1", None, lambda row: row.above, share),
        Field(
            "median factor", "median", None, lambda row: row.median, functools.partial(number, style="{:.2f}")
        ),
        page_field(
            "least (achieved − guaranteed)",
            lambda row: row.least_slack,
            functools.partial(number, style="{:.0e}"),
        ),
    )
    title = "Do the guarantees hold?"
    return Listing(fields, rows, lambda row: RED if row.violated else None, title=title)


def family_table(rows: Sequence[summary.Achieved]) -> tuple[Listing, str]:
    """Return the table of ensembles, and a note about Sequential LASSO.

    A row of Sequential LASSO is left out if it equals the row of OMP.
    """
    fields = [
        page_field("ensemble", lambda row: row.ensemble),
        page_field("algorithm", lambda row: row.algorithm),
        page_field("best found", lambda row: row.optimal, share),
        page_field("median ratio", lambda row: row.median, number),
        page_field("5 %", lambda row: row.low, number),
        page_field("least", lambda row: row.least, number),
    ]
    for name, heading in _PROMISES.items():
        fields.append(page_field(heading, functools.partial(_promise_of, name), number))
    cells = {
        (row.ensemble, row.algorithm): line[2:]
        for row, (line, _) in zip(rows, Listing(fields, rows).lines, strict=True)
    }
    others = [row for row in rows if row.algorithm == "Sequential LASSO"]
    same = [row for row in others if cells[row.ensemble, row.algorithm] == cells.get((row.ensemble, "OMP"))]
    if not others:
        return Listing(fields, rows), ""
    note = f"In {len(same)} of {len(others)} ensembles Sequential LASSO has the same numbers as OMP"
    listed = Listing(fields, [row for row in rows if row not in same])
    return listed, f"{note}, so its rows are left out there."


def _promise_of(name: str, row: summary.Achieved) -> float:
    return row.promises.get(name, math.nan)


def large_table(records: Sequence[GuaranteeRecord]) -> Listing:
    """Return the table of large designs, with a row for each signal and ρ."""
    rows = []
    for ensemble, rho in dict.fromkeys((record.task.ensemble, record.task.rho) for record in records):
        same = [r for r in records if (r.task.ensemble, r.task.rho) == (ensemble, rho)]
        found = {row.algorithm: row for row in summary.achieved_ratios(same)}
        certain = float(np.mean([r.outcomes[1].promises[RECOVERY] is not None for r in same]))
        rows.append((ensemble, rho, found, certain))
    fields = [
        page_field("signal", lambda row: row[0]),
        page_field("ρ", lambda row: row[1]),
        page_field("before", lambda row: row[2]["OMP"].promises[BEFORE], number),
        page_field("after", lambda row: row[2]["OMP"].promises[AFTER], number),
        page_field("Theorem 4", lambda row: row[3], share),
    ]
    for name in (BEST, *METHODS[:4]):
        fields.append(page_field(name, functools.partial(_found_by, name), _ratios))
    return Listing(fields, rows)


def _found_by(name: str, row: tuple[str, float, dict[str, summary.Achieved], float]) -> summary.Achieved:
    return row[2][name]


def worst_table(worst: Sequence[Worst]) -> Listing:
    """Return the table of the worst designs."""
    fields = [
        page_field("algorithm", lambda w: w.search.label),
        page_field("n × d", lambda w: f"{w.search.n} × {w.search.d}"),
        page_field("k", lambda w: w.search.k),
        page_field(Markup("λ<sub>min</sub>(C, k) ≥"), lambda w: w.search.floor, "{:g}".format),
        page_field("worst ratio", lambda w: w.ratio, number),
        page_field("along the path", lambda w: w.promises.get("along the path", 0), number),
        page_field("certificate", lambda w: w.promises.get("certificate after the run", 0), number),
    ]
    return Listing(fields, worst)


def _ratios(row: summary.Achieved) -> str:
    """Return the fraction of ratios that are 1, and unless all are 1 their median and their least value."""
    numbers = (row.median, row.least) if row.optimal < 1 else ()
    return ", ".join((share(row.optimal), *map(number, numbers)))


def _interval(value: Interval, style: str = "{:.6g}") -> str:
    ends = (value.lower,) if value.exact else (value.lower, value.upper)
    return " to ".join(map(style.format, ends))


def headline(found: Findings) -> list[str]:
    """Return the results in sentences: whether all guarantees hold, and then three questions with answers.

    The questions are: How far from the best subset? What is guaranteed? How bad can it be?
    """
    context = {
        "found": found,
        "larger": summary.of_study(found.records, "ensembles", "sweep"),
        "overall": lambda records: summary.achieved_ratios(records, together=True),
        "share_above": summary.share_above,
        "main": MAIN,
        "methods": METHODS,
    }
    return page.sentences(_HERE / "headline.txt.j2", context)


def bounds_table(found: GuaranteeBounds) -> Listing:
    """Return the table for one design: every guarantee, and the achieved ratio."""

    def fails(bound: Bound) -> str:
        failing = [(words, held) for words, held in bound.hypotheses if held is not True]
        return "; ".join(words + (" (undecided)" if held is None else "") for words, held in failing)

    def style(bound: Bound) -> str | None:
        if bound.violated:
            return RED
        return None if bound.applies else "dim"

    fields = (
        terminal_field("algorithm", lambda bound: bound.algorithm),
        terminal_field("guarantee", lambda bound: bound.name),
        terminal_field("guaranteed", lambda bound: f"{bound.lower:.3f}" if bound.applies else "–"),
        terminal_field("achieved", lambda bound: _interval(bound.achieved, "{:.3f}")),
        terminal_field("failed hypotheses", fails),
    )
    title = f"Guaranteed and achieved shares of the best R², k = {found.k}"
    return Listing(fields, found.bounds, style, title=title)


def design_line(X: FloatArray, y: FloatArray, target: str) -> str:
    """Return a sentence on the size of the data, and on the share of ‖y‖² that the mean of y explains."""
    n, d = X.shape
    share = n * float(y.mean()) ** 2 / float(y @ y) if y.any() else 0.0
    text = f"{n} rows, {d} columns; target: {target}. R² is not centred"
    return f"{text}; the mean of y explains {share:.1%} of ‖y‖²."


def answers(found: GuaranteeBounds, names: Sequence[str] = ()) -> list[str]:
    """Return lines on one design: the proved and the achieved shares, the selected sets, and the constants.

    names : the names of the columns, if they have names.
    """
    context = {"found": found, "names": names, "interval": _interval}
    return page.sentences(_HERE / "design.txt.j2", context)
