"""The page of `make networks`: a section for each study, with what is printed beside ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs_checks.experiments.networks.data import FORMS
from proofs_checks.experiments.networks.pieces import Record, Study
from proofs_checks.experiments.networks.report_figures import TITLES, figures
from proofs_checks.experiments.networks.report_matrices import matrices
from proofs_checks.experiments.networks.report_rows import (
    AGAINST,
    CAVEATS,
    LONG,
    NAMES,
    TEXT,
    Row,
    cells,
    counts,
    judged_here,
    rows,
)
from proofs_checks.experiments.networks.runs import duration, failures_in_words
from proofs_checks.experiments.networks.store import Store
from sparselin.ledger import EXPERIMENTAL
from sparselin.studies.common import folder, page

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


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
    """Write index.html, results.json and the figures (PNG and SVG) of the store's records to a folder."""
    records = sorted(store.records.values(), key=_order(studies, store))
    judged = judged_here(records, store.scale)
    found = rows(records, judged, run.against)
    described = page.describe(run.command, run.seconds, run.jobs, 1, run.interrupted, packages=PACKAGES)
    failed = failures_in_words(store.failures.values())
    results = {
        "run": described,
        "scale": dataclasses.asdict(store.scale),
        "left": run.left,
        "failures": failed,
        "against": run.against,
        "rows": [row.as_json() for row in found],
    }
    files: dict[str, bytes] = {}
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
        "verdicts": [verdict.value for verdict in EXPERIMENTAL],
        "names": NAMES,
        "studies": [_section(files, studies.get(name), name, found, records) for name in names],
        "long": LONG,
        "text": TEXT,
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def _order(studies: Mapping[str, Study], store: Store) -> Any:
    """By study, data set and k as the studies have them; methods as they came."""
    place = {name: i for i, name in enumerate(studies)}
    names = dict.fromkeys([*FORMS, *(name for study in studies.values() for name in study.data)])
    sets = {name: i for i, name in enumerate(names)}
    came = {key: i for i, key in enumerate(store.records)}

    def key(record: Record) -> tuple[int, int, int]:
        piece = record.piece
        return place.get(piece.study, len(place)), sets.get(piece.data, len(sets)), came[piece.key]

    return key


def _section(
    files: dict[str, bytes], study: Study | None, name: str, found: Sequence[Row], records: Sequence[Record]
) -> dict[str, Any]:
    """What the template shows of one study."""
    mine = [row for row in found if row.ours.study == name]
    sets = list(dict.fromkeys(row.ours.data for row in mine))
    long = [(data, sorted((row for row in mine if row.ours.data == data), key=_place(mine))) for data in sets]
    drawn = figures(name, mine, [record for record in records if record.piece.study == name])
    return {
        "name": name,
        "title": study.title if study else name,
        "source": study.source if study else "",
        "caveat": CAVEATS.get(name, ""),
        "matrices": matrices(mine),
        "long": [
            (TITLES.get(data, data), [(cells(row), _failed(row)) for row in rows]) for data, rows in long
        ],
        "figures": [page.figure(files, f"{name}-{what}", *rest) for what, *rest in drawn],
    }


def _place(mine: Sequence[Row]) -> Any:
    """By learner, then the largest k first; all features at the end."""
    learners = list(dict.fromkeys(row.ours.learner for row in mine))
    return lambda row: (learners.index(row.ours.learner), -(row.size or 0))


def _failed(row: Row) -> bool:
    return row.judged is not None and row.judged.verdict.value == "not reproduced"
