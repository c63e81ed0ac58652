"""The report of `sparselin guarantee`: a page with its figures inside, CSV, JSON, and saved designs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparselin import plots
from sparselin.studies.common import folder, page
from sparselin.studies.guarantees import figures
from sparselin.studies.guarantees.summary import Achieved, achieved, curves, of_study, table
from sparselin.studies.guarantees.tasks import GuaranteeRecord, GuaranteeSettings, draw
from sparselin.studies.guarantees.words import MAIN, Findings, family_cells, headline, promise_cells
from sparselin.studies.guarantees.worst import ALGORITHMS, Worst

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
FILES = (
    "results.csv",
    "violation-*.npz",
    "worst-*.npz",
    *page.pictures("achieved", "sweep-ar1", "sweep-equicorrelated", "real", "worst", "worst-designs"),
)
# the size that can be drawn, and the floor at which it is shown
_SHOWN = 0.3


def write(
    output: Path,
    settings: GuaranteeSettings,
    command: str,
    found: Findings,
    seconds: float,
    interrupted: bool,
) -> Path:
    """Write index.html, results.json, results.csv, the figures, and the worst and the violating designs."""
    run = page.describe(command, seconds, settings.jobs, settings.seed, interrupted, packages=PACKAGES)
    heading, rows = table(found.records)
    files = {"results.csv": page.table([heading, *rows])}
    for worst in found.worst:
        files[f"{worst.search.name}.npz"] = page.archive(X=worst.X, y=worst.y, k=worst.search.k)
    for record in found.records:
        if record.violated:
            X, y = draw(record.task, settings.seed)
            files[_violating(record)] = page.archive(X=X, y=y, k=record.task.k)
    drawn = curves(of_study(found.records, "sweep", "real"))
    families = [row for row in achieved(found.checked) if row.algorithm in MAIN]
    tabled = achieved(of_study(found.records, "ensembles"))
    results = {
        "run": run,
        "headline": headline(found),
        "promises": [dataclasses.asdict(row) for row in found.promises],
        "small": [dataclasses.asdict(row) for row in families],
        "ensembles": [dataclasses.asdict(row) for row in tabled],
        "curves": [dataclasses.asdict(curve) for curve in drawn],
        "worst": [_worst_entry(worst) for worst in found.worst],
        "violations": violations(output, found),
    }
    pictures = {name: page.figure(files, name, *rest) for name, *rest in _figures(found, drawn, families)}
    context = {
        "run": run,
        "headline": headline(found),
        "passes": not found.violations,
        "promises": [(promise_cells(row), row.violated) for row in found.promises],
        "ensembles": family_cells(tabled),
        "figures": pictures,
        "worst": [_worst_text(worst) for worst in _shown(found.worst)],
        "worst_table": [_worst_cells(worst) for worst in found.worst],
        "violations": results["violations"],
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, results, files)


def violations(output: Path, found: Findings) -> list[str]:
    """Return for each violated promise its name, and the command that reproduces it from the saved design."""
    lines = []
    for record in found.records:
        if record.violated:
            path = output / _violating(record)
            names = [f"{o.algorithm}, {name}" for o in record.outcomes for name in o.violated]
            lines.append(f"{'; '.join(names)}: sparselin guarantee --design {path} --k {record.task.k}")
    for worst in found.worst:
        if worst.violated:
            path = output / f"{worst.search.name}.npz"
            lines.append(
                f"{'; '.join(worst.violated)}: sparselin guarantee --design {path} --k {worst.search.k}"
            )
    return lines


def _violating(record: GuaranteeRecord) -> str:
    """Return the name of the file with a design on which a promise is violated."""
    t = record.task
    return f"violation-{t.study}-{t.ensemble}-{t.index}-k{t.k}.npz"


def _shown(worst: Sequence[Worst]) -> list[Worst]:
    """Those of R³ at the floor nearest to the one that is shown, one for each algorithm."""
    flat = [w for w in worst if w.search.n == 3]
    return [
        min((w for w in flat if w.search.algorithm == name), key=lambda w: abs(w.search.floor - _SHOWN))
        for name in ALGORITHMS
        if any(w.search.algorithm == name for w in flat)
    ]


def _worst_entry(worst: Worst) -> dict[str, Any]:
    entry = dataclasses.asdict(worst)
    for name in ("X", "y", "support", "best_support"):
        entry[name] = entry[name].tolist()
    return entry


def _worst_cells(worst: Worst) -> tuple[str, ...]:
    s = worst.search
    promised = (worst.promises.get(name, 0.0) for name in ("along the path", "certificate after the run"))
    size = f"{s.n} × {s.d}"
    return (
        ALGORITHMS[s.algorithm],
        size,
        str(s.k),
        f"{s.floor:g}",
        f"{worst.ratio:.3f}",
        *map("{:.3f}".format, promised),
    )


def _worst_text(worst: Worst) -> dict[str, str]:
    """The design in numbers."""
    with np.printoptions(precision=4, suppress=True, floatmode="fixed", linewidth=100):
        numbers = f"X =\n{worst.X}\ny =\n{worst.y}"
    s, picks, best = worst.search, worst.support.tolist(), sorted(worst.best_support.tolist())
    promised = worst.promises.get("along the path", 0.0)
    words = (
        f"{ALGORITHMS[s.algorithm]} takes columns {picks}, the best subset is {best}: {worst.ratio:.3f} of "
        f"the best R² ({promised:.3f} promised along the path), λ_min(C, {s.k}) = {worst.least:.3f}. "
        f"Saved as {s.name}.npz."
    )
    return {"title": ALGORITHMS[s.algorithm], "numbers": numbers, "words": words}


def _figures(
    found: Findings, drawn: Sequence[Any], families: Sequence[Achieved]
) -> list[tuple[str, str, Any]]:
    """(name, caption, figure) of what there is to draw."""
    entries = []
    if families:
        caption = (
            "Achieved on the small designs: median (filled), 5 % quantile (thick line) and least (open)."
        )
        entries.append(("achieved", caption, figures.achieved(families).figure))
    for name in ("ar1", "equicorrelated"):
        mine = [curve for curve in drawn if curve.ensemble == name]
        if mine:
            columns = [(name, varies) for varies in ("k", "rho", "snr")]
            caption = f"{name}: achieved and promised (medians) as k, correlation and noise vary."
            entries.append((f"sweep-{name}", caption, figures.promised(mine, MAIN, columns)[0].figure))
    real = [curve for curve in drawn if curve.ensemble not in ("ar1", "equicorrelated")]
    if real:
        columns = [(name, "k") for name in dict.fromkeys(curve.ensemble for curve in real)]
        caption = "Real data: achieved and promised as k varies."
        entries.append(("real", caption, figures.promised(real, MAIN, columns)[0].figure))
    if found.worst:
        caption = (
            "The worst designs found: what was achieved there, and what was promised along the path. "
            "The larger the floor, the fewer designs respect it: in R³ few do from 0.4 on."
        )
        entries.append(("worst", caption, figures.worst_ratios(found.worst)[0].figure))
    shown = _shown(found.worst)
    if shown:
        title = "{}: {:.3f} of the best R²".format
        designs = [
            (
                w.X,
                w.y,
                w.support.tolist(),
                w.best_support.tolist(),
                title(ALGORITHMS[w.search.algorithm], w.ratio),
            )
            for w in shown
        ]
        caption = (
            "Worst designs in R³, seen from y: distance from the centre is the angle between column and ±y. "
            "The best pair lies on one line through y: together they explain y, each of them alone little."
        )
        entries.append(("worst-designs", caption, plots.around_several(designs)[0].figure))
    return entries
