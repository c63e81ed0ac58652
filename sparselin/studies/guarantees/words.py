"""The sentences and tables that describe a run of `sparselin guarantee`."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from sparselin.results import FloatArray, GuaranteeBounds, Interval
from sparselin.studies.common import page
from sparselin.studies.common.page import number, share
from sparselin.studies.guarantees import summary
from sparselin.studies.guarantees.large import AFTER, BEFORE, BEST, METHODS, RECOVERY
from sparselin.studies.guarantees.tasks import GuaranteeRecord
from sparselin.studies.guarantees.worst import Worst

_HERE = Path(__file__).parent
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
        return summary.of_study(self.records, "check")

    @property
    def promises(self) -> list[summary.PromiseSummary]:
        return summary.promise_summaries(self.checked)

    @property
    def large(self) -> list[GuaranteeRecord]:
        return summary.of_study(self.records, "large")

    @property
    def large_table(self) -> list[tuple[str, ...]]:
        """The table of large designs as text: its heading, and a row for each signal, noise and ρ."""
        rows: list[tuple[str, ...]] = [("signal", "ρ", "before", "after", "Theorem 4", BEST, *METHODS[:4])]
        for setting in dict.fromkeys((record.task.ensemble, record.task.rho) for record in self.large):
            same = [r for r in self.large if (r.task.ensemble, r.task.rho) == setting]
            found = {row.algorithm: row for row in summary.achieved_ratios(same)}
            certain = share(float(np.mean([r.outcomes[1].promises[RECOVERY] is not None for r in same])))
            factors = (number(found["OMP"].promises[name]) for name in (BEFORE, AFTER))
            rows.append((*map(str, setting), *factors, certain, *(_ratios(found[m]) for m in rows[0][5:])))
        return rows

    @property
    def violations(self) -> int:
        return sum(len(o.violated) for r in self.records for o in r.outcomes) + sum(
            len(w.violated) for w in self.worst
        )


def promise_table(rows: Sequence[summary.PromiseSummary]) -> Table:
    """Return the table of guarantees for a terminal with 80 columns."""
    view = Table(title="Do the guarantees hold?", box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for heading in ("algorithm", "guarantee", "applies", "violated", "> 0.1", "median"):
        left = heading in ("algorithm", "guarantee")
        view.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        cells = promise_cells(row)
        view.add_row(*cells[:2], str(row.applies), *cells[3:6], style="bold red" if row.violated else None)
    return view


def promise_cells(row: summary.PromiseSummary) -> tuple[str, ...]:
    """Return one row of the table of guarantees as text."""
    numbers = (share(row.above), number(row.median, "{:.2f}"), number(row.least_slack, "{:.0e}"))
    return (row.algorithm, row.name, f"{row.applies} of {row.designs}", str(row.violated), *numbers)


def achieved_cells(row: summary.Achieved) -> tuple[str, ...]:
    """Return one row of the table of ensembles as text."""
    promises = (row.promises.get(name, math.nan) for name in _PROMISES)
    numbers = map(number, (row.median, row.low, row.least, *promises))
    return (row.ensemble, row.algorithm, share(row.optimal), *numbers)


def family_cells(rows: Sequence[summary.Achieved]) -> tuple[list[tuple[str, ...]], str]:
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
        style = None if bound.applies else "dim"
        style = "bold red" if bound.violated else style
        view.add_row(bound.algorithm, bound.name, promised, ratio, fails, style=style)
    return view


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
