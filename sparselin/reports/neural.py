"""The page of `sparselin neural`: a section for each study, with what is printed beside ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparselin import plots
from sparselin.experiments.networks.data import FORMS, table
from sparselin.experiments.networks.figures import ALL
from sparselin.experiments.networks.pieces import Record, Study
from sparselin.experiments.networks.runs import duration, failures_in_words
from sparselin.experiments.networks.store import Store
from sparselin.reports import page
from sparselin.reports.neural_rows import (
    AGAINST,
    LONG,
    Row,
    cells,
    counts,
    judged_all,
    printed_words,
    rows,
    spread,
    verdict_words,
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")
TITLES = {name: form.title for name, form in FORMS.items()}


@dataclasses.dataclass(frozen=True)
class Run:
    """How the records came about.

    Attributes
    ----------
    command : the line that repeats the run, or goes on with it.
    seconds : of this run.
    jobs : its processes.
    interrupted : whether Ctrl-C ended it.
    left : how many pieces have no record yet.
    against : the method that the others are compared with.
    """

    command: str
    seconds: float
    jobs: int
    interrupted: bool
    left: int
    against: str = AGAINST


def write(output: Path, studies: Mapping[str, Study], store: Store, run: Run) -> Path:
    """Write index.html, results.json and the figures (PNG and SVG) of all records of the store to a folder."""
    records = sorted(store.records.values(), key=_order(studies, store))
    judged = judged_all(records, store.scale)
    found = rows(records, judged, run.against)
    described = page.describe(run.command, run.seconds, run.jobs, 1, run.interrupted, packages=PACKAGES)
    failed = failures_in_words(store.failures.values())
    page.write_json(
        output,
        {
            "run": described,
            "scale": dataclasses.asdict(store.scale),
            "left": run.left,
            "failures": failed,
            "against": run.against,
            "rows": [row.as_json() for row in found],
        },
    )
    names = dict.fromkeys(row.ours.study for row in found)
    context = {
        "run": described,
        "scale": store.scale,
        "left": run.left,
        "hours": duration(sum(store.seconds.values()) / 3600),
        "records": len(records),
        "failures": failed,
        "against": run.against,
        "counts": counts(judged),
        "studies": [_section(output, studies.get(name), name, found, records) for name in names],
        "long": LONG,
    }
    return page.write_page(output, "neural.html.j2", context)


def _order(studies: Mapping[str, Study], store: Store) -> Any:
    """By study, data set and k as the studies have them; methods as they came."""
    place = {name: i for i, name in enumerate(studies)}
    sets = {name: i for i, name in enumerate([*FORMS, *(d for s in studies.values() for d in s.data)])}
    came = {key: i for i, key in enumerate(store.records)}

    def key(record: Record) -> tuple[int, int, int]:
        piece = record.piece
        return place.get(piece.study, len(place)), sets.get(piece.data, len(sets)), came[piece.key]

    return key


def _section(
    output: Path, study: Study | None, name: str, found: Sequence[Row], records: Sequence[Record]
) -> dict[str, Any]:
    """What the template shows of one study."""
    mine = [row for row in found if row.ours.study == name]
    sets = list(dict.fromkeys(row.ours.data for row in mine))
    long = [(TITLES.get(data, data), [row for row in mine if row.ours.data == data]) for data in sets]
    figures = _figures(name, mine, [record for record in records if record.piece.study == name])
    return {
        "name": name,
        "title": study.title if study else name,
        "source": study.source if study else "",
        "matrices": [_matrix(size, mine) for size in _sizes(mine)],
        "long": [(title, [(cells(row), _failed(row)) for row in those]) for title, those in long],
        "figures": [page.figure(output, f"{name}-{what}", *rest) for what, *rest in figures],
    }


def _failed(row: Row) -> bool:
    return row.judged is not None and row.judged.verdict.value == "not reproduced"


def _sizes(mine: Sequence[Row]) -> list[int | None]:
    """The largest k first; all features by themselves only where nothing was selected."""
    sizes = sorted({row.size for row in mine if row.size is not None}, reverse=True)
    return [*sizes] or [None]


def _matrix(size: int | None, mine: Sequence[Row]) -> dict[str, Any]:
    """Methods by data set and learner at one k, and all features in the last rows."""
    chosen = [row for row in mine if row.size in (size, None)]
    columns = list(dict.fromkeys((row.ours.data, row.ours.learner) for row in chosen))
    methods = sorted(dict.fromkeys((row.size is None, row.method) for row in chosen), key=lambda one: one[0])
    at = {(row.method, row.ours.data, row.ours.learner): row for row in chosen}
    best = {
        column: max(row.ours.mean for row in chosen if (row.ours.data, row.ours.learner) == column)
        for column in columns
    }
    learners = list(dict.fromkeys(learner for _, learner in columns))
    return {
        "title": "all features" if size is None else f"k = {size}",
        "learners": learners,
        "columns": [(TITLES.get(data, data), learner) for data, learner in columns],
        "rows": [
            (method, [_cell(at.get((method, *column)), best[column]) for column in columns])
            for _, method in methods
        ],
    }


def _cell(row: Row | None, best: float) -> dict[str, Any] | None:
    """Ours, what is printed, and the verdict as a mark."""
    if row is None:
        return None
    marks = {"reproduced": "✓", "not reproduced": "✗"}
    word = row.judged.verdict.value if row.judged else ""
    return {
        "ours": spread(row.ours.mean, row.ours.std),
        "best": row.ours.mean == best,
        "printed": printed_words(row.judged),
        "mark": marks.get(word, ""),
        "word": verdict_words(row.judged),
        "fails": word == "not reproduced",
    }


# --- figures ---------------------------------------------------------------------------------------------


def _figures(name: str, mine: Sequence[Row], records: Sequence[Record]) -> Iterator[tuple[str, str, Any]]:
    """(name, caption, figure) of what there is to draw of a study."""
    selected = [row.ours for row in mine if row.size is not None]
    for learner in dict.fromkeys(one.learner for one in selected):
        those = [one for one in selected if one.learner == learner]
        plain = [one for one in those if not one.setting]
        if len({one.k for one in plain}) > 1:
            drawn = plots.study_lines(
                plain, lambda one: one.k, "number of features k", learner, titles=TITLES
            )
            yield f"k-{_word(learner)}", f"{learner} against k: mean ± standard deviation.", drawn[0].figure
        numbered = [one for one in those if one.setting.isdigit()]
        if numbered:
            drawn = plots.study_lines(
                numbered, lambda one: int(one.setting), _numbers(name), learner, titles=TITLES,
                printed=_in_print([row for row in mine if row.ours in numbered]),
            )  # fmt: skip
            yield f"setting-{_word(learner)}", f"{learner} against {_numbers(name)}.", drawn[0].figure
    timed = [one for one in selected if "selecting" in one.seconds and not one.setting]
    if len({one.method for one in timed}) > 1:
        most = max(one.k for one in timed)
        first = timed[0].learner
        shown = [one for one in timed if one.k == most and one.learner == first]
        caption = f"{first} at k = {most} against the seconds of the selection, by one thread."
        yield "seconds", caption, plots.study_times(shown, first, TITLES)[0].figure
    for data in dict.fromkeys(record.piece.data for record in records):
        shape = FORMS[data].image if data in FORMS else None
        if shape and (shares := _shares(data, records)):
            caption = f"{TITLES[data]}: the pixels picked, k = {_most(data, records)}, on the mean image."
            drawn = plots.picked_pixels(shares, shape, _mean_image(data))
            yield f"pixels-{data}", caption, drawn[0].figure


def _numbers(study: str) -> str:
    """What the settings of a study are where they are numbers."""
    return {"adaptivity": "features at a time", "signals": "features in all"}.get(study, "setting")


def _word(learner: str) -> str:
    """A learner in the name of a file."""
    return "".join(letter if letter.isalnum() else "-" for letter in learner)


def _in_print(mine: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for row in mine:
        if row.judged:
            found.setdefault(row.ours.data, []).append((int(row.ours.setting), row.judged.printed.mean))
    return {data: sorted(points) for data, points in found.items()}


def _picked(data: str, records: Sequence[Record]) -> list[Record]:
    return [
        record
        for record in records
        if record.piece.data == data and record.support and record.piece.method != ALL
    ]


def _most(data: str, records: Sequence[Record]) -> int:
    return max(record.piece.k for record in _picked(data, records))


def _shares(data: str, records: Sequence[Record]) -> dict[str, dict[int, float]]:
    """Method ↦ (pixel ↦ the share of the seeds that pick it), at the largest k and in the plain setting."""
    there = _picked(data, records)
    most = max((record.piece.k for record in there), default=0)
    counted: dict[str, list[tuple[int, ...]]] = {}
    for record in there:
        if record.piece.k == most and not record.piece.setting:
            counted.setdefault(record.piece.method, []).append(record.support)
    return {
        method: {j: sum(j in one for one in supports) / len(supports) for one in supports for j in one}
        for method, supports in counted.items()
    }


def _mean_image(data: str) -> Any:
    """None where the data cannot be read any more."""
    try:
        return table(data).X.mean(axis=0)
    except (OSError, ValueError):
        return None
