"""The tables of the site's page docs/networks-tables.md, made from stored records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.pieces import Record
from proofs_checks.experiments.networks.report_matrices import matrices
from proofs_checks.experiments.networks.report_rows import (
    CAVEATS,
    NAMES,
    TIMES,
    Row,
    counts,
    judged_all,
    rows,
    spread,
)
from proofs_checks.experiments.networks.verdicts import Judged, Summary
from sparselin.ledger import EXPERIMENTAL

ORDER = (
    *("honest", "paper", "switches", "efficiency", "adaptivity", "masks", "lassonet", "lassonet-pixels"),
    *("completion", "gains", "anchors", "downstream", "signals"),
)
"""The studies, in the order of the tables, what is without leaks first; others come after them."""


def markdown(records: Sequence[Record]) -> str:
    """Return the printed figures next to ours, with their verdicts, then all means by study."""
    if not records:
        return "No records are stored yet: `make networks ARGS=--full`, some hours, makes them.\n"
    head = (
        f"Made from {len(records):,} records. ± is the standard deviation over seeds "
        "(n − 1), bold the best selection of a column, of those on as many training rows as most have. "
        "Seconds are means over seeds, by one thread. What else one has to know of a study stands under its "
        "name. Tests of pairs, "
        "seed by seed, are on the page that `make networks` makes.\n"
    )
    judged = judged_all(records)
    printed = "\n".join((*_counts(judged), *_printed(judged)))
    means = "\n".join(_means(rows(sorted(records, key=place), ())))
    return f"{head}\n## What is printed, and ours\n\n{printed}\n## All means\n\n{means}"


def place(record: Record) -> tuple[int, int]:
    """Of a record on the page: its study's, and its data set's."""
    known, sets = (*ORDER, record.piece.study), (*FORMS, record.piece.data)
    return known.index(record.piece.study), sets.index(record.piece.data)


def _there(judged: Sequence[Judged]) -> list[Judged]:
    """The figures of a study and a data set that have a record."""
    there = {(one.printed.study, one.printed.data) for one in judged if one.ours is not None}
    return [one for one in judged if (one.printed.study, one.printed.data) in there]


def _counts(judged: Sequence[Judged]) -> Iterator[str]:
    """The numbers of figures by verdict, a line for each printed table."""
    words = [verdict.value for verdict in EXPERIMENTAL]
    yield _line(["figures of", "all", *words])
    yield "|---" + "|--:" * (1 + len(words)) + "|"
    for count in counts(_there(judged)):
        numbers = [count.figures, *(count.verdicts.get(word, 0) for word in words)]
        yield _line([NAMES.get(count.table, count.table), *map(str, numbers)])
    yield ""


def _printed(judged: Sequence[Judged]) -> Iterator[str]:
    """A table for each printed one: a line a figure; last the studies of a data set that have no record."""
    run = _there(judged)
    there = {(one.printed.study, one.printed.data) for one in run}
    for name, those in groupby(run, key=lambda one: one.printed.table):
        yield f"### {NAMES.get(name, name)}\n"
        figures = list(those)
        unit = "log₂ of the ratios" if name == TIMES else "ours − printed"
        most = "at most" if name == TIMES or figures[0].printed.within else "2 SE"
        yield f"| data | method | by | printed | ours | seeds | training rows | {unit} | {most} | verdict |"
        yield "|---|---|---|--:|--:|--:|--:|--:|--:|---|"
        yield from map(_figure, figures)
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
    told.append(spread(printed.mean, printed.std, digits))
    if ours is None:
        told += [""] * 3
    else:
        told += [spread(ours.mean, ours.std, digits), str(len(ours.values)), _rows(ours)]
    if judged.lacking:
        told += ["", "", f"{judged.verdict.value}: {judged.lacking}"]
    else:
        told += [_signed(judged.difference), f"{judged.tolerance:.4f}", judged.verdict.value]
    return _line(told)


def _means(found: Sequence[Row]) -> Iterator[str]:
    """Of each study the matrices of methods by data sets, all but the first folded, and the seconds."""
    for study in dict.fromkeys(row.ours.study for row in found):
        mine = [row for row in found if row.ours.study == study]
        yield f"### {study}\n\n{'; '.join(_sizes([row.ours for row in mine]))}. {CAVEATS.get(study, '')}\n"
        for i, one in enumerate(matrices(mine)):
            columns = [", ".join(filter(None, column)) for column in one["columns"]]
            lines = [(name, list(map(_cell, cells))) for name, cells in one["rows"]]
            yield from _matrix(f"{one['title']}: {one['of']}", columns, lines, folded=i > 0)
        yield from _seconds([row.ours for row in mine if row.size is not None])


def _sizes(mine: Sequence[Summary]) -> Iterator[str]:
    """Seeds and training rows of each data set; of what differs from most of it by name."""
    for data in dict.fromkeys(one.data for one in mine):
        those: dict[str, list[Summary]] = {}
        for one in mine:
            if one.data == data:
                seeds = f"{len(one.values)} seed{'s' * (len(one.values) > 1)}"
                those.setdefault(f"{seeds}, {_rows(one)} rows", []).append(one)
        usual, *others = sorted(those, key=lambda words: -len(those[words]))
        exceptions = "; ".join(
            f"{words}: {', '.join(f'*{name}*' for name in _distinct(those[words]))}" for words in others
        )
        yield f"{_title(data)} {usual}" + (f" ({exceptions})" if exceptions else "")


def _distinct(those: Iterable[Summary]) -> dict[str, None]:
    return dict.fromkeys(_method(one.method, one.setting) for one in those)


def _matrix(
    title: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]], folded: bool = True
) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>\n" if folded else f"**{title}**\n"
    yield _line(["method", *columns])
    yield "|---" + "|--:" * len(columns) + "|"
    yield from (_line([name, *cells]) for name, cells in lines)
    yield "\n</details>\n" if folded else ""


def _cell(cell: Mapping[str, Any] | None) -> str:
    """The best of a column in bold."""
    if cell is None:
        return ""
    return f"**{cell['ours']}**" if cell["best"] else str(cell["ours"])


def _seconds(mine: Sequence[Summary]) -> Iterator[str]:
    """At the largest k of a method, whose run has the picks of the others too; what learns is the same."""
    took: dict[tuple[str, str], str] = {}
    for one in sorted(mine, key=lambda one: one.k):
        if one.seconds.get("selecting"):
            tuning = f" + {one.seconds['tuning']:.0f}" if "tuning" in one.seconds else ""
            took[_method(one.method, one.setting), one.data] = f"{one.seconds['selecting']:.1f}{tuning}"
    names = dict.fromkeys(one.data for one in mine)
    lines = [
        (method, [took.get((method, data), "") for data in names])
        for method in _distinct(mine)
        if any((method, data) in took for data in names)
    ]
    if lines:
        title = "seconds of the selection, at the largest k that a method is run for"
        title += " + of its tuning" * any("tuning" in one.seconds for one in mine)
        yield from _matrix(title, list(map(_title, names)), lines)


def _title(data: str) -> str:
    return FORMS[data].title if data in FORMS else data


def _method(method: str, setting: str) -> str:
    return f"{method}, {setting}" if setting else method


def _rows(one: Summary) -> str:
    return " to ".join(f"{size:,}" for size in dict.fromkeys(one.rows))


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
