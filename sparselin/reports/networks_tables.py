"""The tables of docs/networks-tables.md, made from stored records; the words around them stay."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sparselin.experiments.networks.figures import ALL, OWN, TABLES
from sparselin.experiments.networks.pieces import Record
from sparselin.experiments.networks.printed import TITLES
from sparselin.experiments.networks.verdicts import (
    Judged,
    Summary,
    paired,
    summary,
    verdict,
    verdict_of_times,
)

BEGIN = "<!-- tables: made by `python -m proofs_checks.networks`, not by hand -->"
END = "<!-- end of the tables -->"
AGAINST = "Sequential Attention"
# scores that are not of test rows
ASIDE = ("validation", "steps", "validation mse")
TIMES = "SA-table-6"
NAMES = {
    **{f"SA-table-{i}": f"Sequential Attention, Table {i}" for i in (2, 3, 5, 6, 9, 10)},
    **{f"LN-table-{i}": f"LassoNet, Table {i}" for i in (1, 2)},
    "anchors": "All features with three learners",
}
_TITLES = {**TITLES, "digits": "digits", "breast_cancer": "breast cancer"}


def judged_all(records: Sequence[Record]) -> list[Judged]:
    """Every printed figure, in the order of the tables, beside its records."""
    scores = {one.address: one for one in summary(records)}
    clocks = {one.address: one for one in summary(records, times=True)}
    found = []
    for name, figures in TABLES.items():
        for data in TITLES:
            printed = list(figures(data))
            if name == TIMES:
                base = next(one for one in printed if one.method == AGAINST)
                found += [
                    verdict_of_times((one, base), (clocks.get(one.address), clocks.get(base.address)))
                    for one in printed
                    if one is not base
                ]
            else:
                found += [verdict(one, scores.get(one.address)) for one in printed]
    return found


def markdown(records: Sequence[Record], date: datetime.date) -> str:
    """Two kinds of tables: what is printed beside ours, and all means by study and data set."""
    if not records:
        return "No records are stored yet: `sparselin neural --full`, some hours, makes them.\n"
    head = (
        f"Made on {date.isoformat()} from {len(records):,} records. ± is the standard deviation over seeds "
        "(n − 1). Seconds are means over seeds, by one thread. p is of the exact sign-flip test over seeds: "
        "of five it is at least 0.0625, of three 0.25.\n"
    )
    printed = "\n".join(_printed(judged_all(records)))
    means = _means([one for one in summary(records) if one.learner not in ASIDE])
    return f"{head}\n## What is printed, and ours\n\n{printed}\n## All means\n\n{means}"


def _printed(judged: Sequence[Judged]) -> Iterator[str]:
    """A table for each printed one: a line a figure; last the studies of a data set that have no record."""
    there = {(one.printed.study, one.printed.data) for one in judged if one.ours is not None}
    run = [one for one in judged if (one.printed.study, one.printed.data) in there]
    for name, those in groupby(run, key=lambda one: one.printed.table):
        yield f"### {NAMES.get(name, name)}\n"
        unit = "log₂ of the ratios" if name == TIMES else "ours − printed"
        yield f"| data | method | by | printed | ours | seeds | training rows | {unit} | at most | verdict |"
        yield "|---|---|---|--:|--:|--:|--:|--:|--:|---|"
        yield from (_figure(one) for one in those)
        yield ""
    left: dict[str, dict[str, None]] = {}
    for one in judged:
        if (one.printed.study, one.printed.data) not in there:
            left.setdefault(_title(one.printed.data), {})[one.printed.study] = None
    if left:
        words = "; ".join(f"{data} ({', '.join(studies)})" for data, studies in left.items())
        yield f"Not run here: {words}.\n"


def _figure(judged: Judged) -> str:
    printed, ours = judged.printed, judged.ours
    digits = 1 if printed.table == TIMES else 3
    told = [_title(printed.data), _method(printed.method, printed.setting), printed.learner]
    told.append(_spread(printed.mean, printed.std, digits))
    if ours is None:
        told += [""] * 3
    else:
        told += [_ours(ours, digits), str(len(ours.values)), _rows(ours)]
    if judged.lacking:
        told += ["", "", f"{judged.verdict.value}: {judged.lacking}"]
    else:
        told += [_signed(judged.difference), f"{judged.tolerance:.3f}", judged.verdict.value]
    return _line(told)


def _means(summaries: Sequence[Summary]) -> str:
    """A table for each study and data set, with the paired test against Sequential Attention."""
    by_address = {one.address: one for one in summaries}
    lines: list[str] = []
    for (study, data), those in groupby(
        sorted(summaries, key=lambda one: (one.study, one.data)), key=lambda one: (one.study, one.data)
    ):
        lines += [
            f"### {study}: {_title(data)}\n",
            "| method | k | by | mean | seeds | training rows | selecting [s] | fitting [s] | − Sequential "
            "Attention | p |",
            "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for one in sorted(those, key=lambda one: (one.learner, one.k, -one.mean)):
            lines.append(_mean(one, other(one, by_address)))
        lines.append("")
    return "\n".join(lines)


def other(one: Summary, by_address: Mapping[Any, Summary], against: str = AGAINST) -> Summary | None:
    """What a row is compared with: that method in the same setting, else as released or ours, on as many
    training rows; None for that method itself."""
    for setting in (one.setting, "", OWN):
        found = by_address.get((one.study, one.data, against, one.k, setting, one.learner))
        if found is not None and found.rows == one.rows:
            return None if found is one else found
    return None


def _mean(one: Summary, other: Summary | None) -> str:
    told = [_method(one.method, one.setting), "all" if one.method == ALL else str(one.k), one.learner]
    told += [_ours(one, 3), str(len(one.values)), _rows(one)]
    told += [f"{one.seconds[name]:.1f}" if name in one.seconds else "" for name in ("selecting", "fitting")]
    if other is None or other is one or not set(one.values) & set(other.values):
        return _line([*told, "", ""])
    test = paired(one, other)
    return _line([*told, _signed(test.difference), f"{test.p:.3g}"])


def _title(data: str) -> str:
    return _TITLES.get(data, data)


def _method(method: str, setting: str) -> str:
    return f"{method}, {setting}" if setting else method


def _rows(one: Summary) -> str:
    return " to ".join(f"{size:,}" for size in dict.fromkeys(one.rows))


def _ours(one: Summary, digits: int) -> str:
    return _spread(one.mean, one.std if len(one.values) > 1 else None, digits)


def _spread(mean: float, std: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" if std is None else f"{mean:.{digits}f} ± {std:.{digits}f}"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write(page: Path, records: Sequence[Record], date: datetime.date) -> None:
    """Replace what stands between the two marks of the page.

    Raises ValueError for a page without them.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} must have the lines {BEGIN!r} and {END!r}; put them where the tables go")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(records, date)}\n{END}{after}", encoding="utf-8")
