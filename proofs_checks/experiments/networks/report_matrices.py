"""Tables of methods by data sets, for the page of `make networks`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from proofs_checks.experiments.networks.figures import ALL
from proofs_checks.experiments.networks.report_figures import SCORES, TITLES
from proofs_checks.experiments.networks.report_rows import (
    Row,
    number_of,
    printed_words,
    spread,
    verdict_words,
)

LOWER = ("mse",)
"""Scores of which the least is the best."""
_MARKS = {"reproduced": "✓", "not reproduced": "✗", "undecided": "?"}


class Column(NamedTuple):
    """A data set and, where the settings are numbers that several methods have, one of them."""

    data: str
    setting: str


def matrices(mine: Sequence[Row]) -> list[dict[str, Any]]:
    """Of one study, one for each k and learner, the largest k first; what took all features is last in each.

    Settings that are numbers, as 128 features in all, go across if several methods have them.
    """
    across = len({row.ours.method for row in mine if number_of(row.ours.setting)}) > 1
    learners = dict.fromkeys(row.ours.learner for row in mine)
    sizes: list[int | None] = [*sorted({row.size for row in mine if row.size is not None}, reverse=True)]
    parts = [
        (size, [row for row in mine if row.size in (size, None) and row.ours.learner == learner])
        for size in sizes or [None]
        for learner in learners
    ]
    return [_matrix(size, chosen, across) for size, chosen in parts if chosen]


def _matrix(size: int | None, chosen: Sequence[Row], across: bool) -> dict[str, Any]:
    """Each row at its method and its column."""
    at = {(_name(row, size, across), _column(row, across)): row for row in chosen}
    columns = list(dict.fromkeys(column for _, column in at))
    whole = {_name(row, size, across) for row in chosen if row.size is None}
    names = sorted(dict.fromkeys(name for name, _ in at), key=lambda name: name in whole)
    best = [
        one for column in columns for one in _best([row for row in chosen if _column(row, across) == column])
    ]
    learner = chosen[0].ours.learner
    return {
        "title": "all features" if size is None else f"k = {size}",
        "of": SCORES.get(learner, learner),
        "columns": [(TITLES.get(one.data, one.data), one.setting) for one in columns],
        "rows": [(name, [_cell(at.get((name, column)), best) for column in columns]) for name in names],
    }


def _name(row: Row, size: int | None, across: bool) -> str:
    """The method may be there twice, with k features and with all of them."""
    name = row.ours.method if across and number_of(row.ours.setting) else row.method
    return f"{name}, {ALL}" if row.size != size and name != ALL else name


def _column(row: Row, across: bool) -> Column:
    return Column(row.ours.data, row.ours.setting if across and number_of(row.ours.setting) else "")


def _best(rows: Sequence[Row]) -> list[Row]:
    """Those of the best mean, where methods or settings compete: on as many training rows as most have."""
    selected = [row for row in rows if row.ours.method != ALL]
    sizes = Counter(row.ours.rows for row in selected)
    alike = [row for row in selected if sizes[row.ours.rows] == max(sizes.values())]
    if len(alike) < 2:
        return []
    least = alike[0].ours.learner in LOWER
    best = (min if least else max)(row.ours.mean for row in alike)
    return [row for row in alike if row.ours.mean == best]


def _cell(row: Row | None, best: Sequence[Row]) -> dict[str, Any] | None:
    """Ours, what is printed, and the verdict as a mark."""
    if row is None:
        return None
    word = row.judged.verdict.value if row.judged else ""
    return {
        "ours": spread(row.ours.mean, row.ours.std),
        "best": row in best,
        "printed": printed_words(row.judged),
        "mark": _MARKS.get(word, ""),
        "word": verdict_words(row.judged),
        "fails": word == "not reproduced",
    }
