"""The report of `sparselin guarantee`: a page with embedded figures, CSV, JSON, and saved designs."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparselin import plots
from sparselin.studies.common import folder, page
from sparselin.studies.guarantees import figures
from sparselin.studies.guarantees.large import METHODS
from sparselin.studies.guarantees.summary import Achieved, achieved_ratios, curves, of_study, table
from sparselin.studies.guarantees.tasks import SWEPT, GuaranteeRecord, GuaranteeSettings, draw
from sparselin.studies.guarantees.words import (
    MAIN,
    Findings,
    family_table,
    headline,
    large_table,
    promise_table,
    worst_table,
)
from sparselin.studies.guarantees.worst import ALGORITHMS, Worst

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
FILES = (
    "results.csv",
    "promises.tex",
    "large.md",
    "violation-*.npz",
    "worst-*.npz",
    *page.pictures("achieved", "sweep-ar1", "sweep-equicorrelated", "real", "worst", "worst-designs"),
    *page.pictures("large"),
)
# the floor of the worst designs in R³ that are drawn
_DRAWN_FLOOR = 0.3


def write(
    output: Path,
    settings: GuaranteeSettings,
    found: Findings,
    run: dict[str, Any],
    failures: Sequence[str] = (),
) -> Path:
    """Write the report of a run to a folder.

    It consists of the page, results.json, results.csv, promises.tex, the figures, the worst designs, and
    designs on which a guarantee is violated.

    run : the record of the run, see `page.describe`.
    failures : a sentence for each job that failed; its designs are not in `found`.
    """
    files = {"results.csv": table(found.records).csv()}
    if found.checked:
        files["promises.tex"] = promise_table(found.promises).tex()
    for worst in found.worst:
        files[f"{worst.search.name}.npz"] = page.archive(X=worst.X, y=worst.y, k=worst.search.k)
    for record in found.records:
        if record.violated:
            X, y = draw(record.task, settings.seed)
            files[_violation_file(record)] = page.archive(X=X, y=y, k=record.task.k)
    large = large_table(found.large)
    if found.large:
        cells = [large.headings, ["---"] * len(large.headings), *(line for line, _ in large.lines)]
        files["large.md"] = "".join(f"| {' | '.join(row)} |\n" for row in cells).encode()
    drawn = curves(of_study(found.records, "sweep", "real"))
    families = [row for row in achieved_ratios(found.checked) if row.algorithm in MAIN]
    ensembles = achieved_ratios(of_study(found.records, "ensembles"))
    results = {
        "run": run,
        "headline": headline(found),
        "promises": [dataclasses.asdict(row) for row in found.promises],
        "small": [dataclasses.asdict(row) for row in families],
        "ensembles": [dataclasses.asdict(row) for row in ensembles],
        "curves": [dataclasses.asdict(curve) for curve in drawn],
        "worst": [dataclasses.asdict(worst) for worst in found.worst],
        "violations": violations(output, found),
        "failures": list(failures),
    }
    pictures = {name: page.picture(files, name, figure) for name, figure in _figures(found, drawn, families)}
    context = results | {
        "passes": not found.violations and not failures,
        "promises": promise_table(found.promises),
        "ensembles": family_table(ensembles),
        "figures": pictures,
        "large": large,
        "worst": worst_table(found.worst),
        "in_space": [(worst, _numbers(worst)) for worst in _worst_in_space(found.worst)],
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def violations(output: Path, found: Findings) -> list[str]:
    """Return a line for each design with a violated guarantee: its name, and a command to reproduce it."""
    broken: list[tuple[str, int, Sequence[str]]] = [
        (_violation_file(r), r.task.k, [f"{o.algorithm}, {name}" for o in r.outcomes for name in o.violated])
        for r in found.records
    ]
    broken += [(f"{worst.search.name}.npz", worst.search.k, worst.violated) for worst in found.worst]
    return [
        f"{'; '.join(names)}: sparselin guarantee --design {output / file} --k {k}"
        for file, k, names in broken
        if names
    ]


def _violation_file(record: GuaranteeRecord) -> str:
    """Return the name of the file for a design on which a guarantee is violated."""
    t = record.task
    return f"violation-{t.study}-{t.ensemble}-{t.index}-k{t.k}.npz"


def _worst_in_space(worst: Sequence[Worst]) -> list[Worst]:
    """Return for each algorithm one worst design in R³, so that it can be drawn.

    It is the one whose floor of the least eigenvalue is nearest to `_DRAWN_FLOOR`.
    """
    flat = [w for w in worst if w.search.n == 3]
    return [
        min((w for w in flat if w.search.algorithm == name), key=lambda w: abs(w.search.floor - _DRAWN_FLOOR))
        for name in ALGORITHMS
        if any(w.search.algorithm == name for w in flat)
    ]


def _numbers(worst: Worst) -> str:
    """Return X and y of a worst design as text."""
    with np.printoptions(precision=4, suppress=True, floatmode="fixed", linewidth=100):
        return f"X =\n{worst.X}\ny =\n{worst.y}"


def _figures(
    found: Findings, drawn: Sequence[Any], families: Sequence[Achieved]
) -> Iterator[tuple[str, Any]]:
    """Yield (name, figure) for each figure of the page; the page has the captions."""
    if families:
        yield "achieved", figures.achieved_ratios(families).figure
    for name in SWEPT:
        mine = [curve for curve in drawn if curve.ensemble == name]
        if mine:
            columns = [(name, varies) for varies in ("k", "rho", "snr")]
            yield f"sweep-{name}", figures.promise_panels(mine, MAIN, columns)[0].figure
    real = [curve for curve in drawn if curve.ensemble not in SWEPT]
    if real:
        columns = [(name, "k") for name in dict.fromkeys(curve.ensemble for curve in real)]
        yield "real", figures.promise_panels(real, MAIN, columns)[0].figure
    if found.worst:
        yield "worst", figures.worst_ratios(found.worst)[0].figure
    if found.large:
        columns = [(name, "rho") for name in dict.fromkeys(r.task.ensemble for r in found.large)]
        panels = figures.promise_panels(curves(found.large), METHODS[:4], columns)
        yield "large", panels[0].figure
    shown = _worst_in_space(found.worst)
    if shown:
        title = "{}: {:.3f} of the best R²".format
        designs = [
            (w.X, w.y, w.support.tolist(), w.best_support.tolist(), title(w.search.label, w.ratio))
            for w in shown
        ]
        yield "worst-designs", plots.around_several(designs)[0].figure
