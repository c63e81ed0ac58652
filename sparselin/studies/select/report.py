"""The report of `sparselin select`: a page with embedded figures, the table as CSV, and results as JSON."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from sparselin import plots
from sparselin.results import BestSubset, LassoPath, Status
from sparselin.studies.common import folder, page
from sparselin.studies.select import words
from sparselin.studies.select.words import Job

TEMPLATE = Path(__file__).with_name("report.html.j2")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
FILES = ("selected.csv", *page.pictures("selection", "cross-validation"))
_CALLS = {
    "omp": "omp(X, y, {k}",
    "nonnegative-omp": "omp(X, y, {k}, positive=True",
    "ols": "ols(X, y, {k}",
    "lasso": "lasso_path(X, y",
    "best-subset": "best_subset(X, y, {k}",
    "sequential-lasso": "sequential_lasso(X, y, {k}",
    "sequential-attention": "sequential_attention(X, y, {k}, rng={seed}",
}


def write(output: Path, job: Job, command: str, seed: int, seconds: float, interrupted: bool) -> Path:
    """Write index.html, results.json, selected.csv and the figures; return the path of index.html."""
    run = page.describe(command, seconds, 1, seed, interrupted, packages=PACKAGES)
    files = {"selected.csv": page.table(_records(job))}
    heading, lines = words.cells(job)
    context = {
        "run": run,
        "job": job,
        "headline": words.headline(job),
        "data": words.data_lines(job),
        "validation": words.validation_lines(job),
        "heading": heading,
        "lines": lines,
        "figures": {name: page.figure(files, name, *rest) for name, *rest in _figures(job)},
        "python": python(job, seed),
        "lasso": isinstance(job.selected.result, LassoPath),
        "best": isinstance(job.selected.result, BestSubset),
    }
    files[folder.INDEX] = page.render(TEMPLATE, context)
    return folder.write(output, {"run": run, **_results(job)}, files)


def python(job: Job, seed: int) -> str:
    """Return a Python program that makes the same selection."""
    source, data = job.source, job.data
    parquet = source.path.suffix.lower() in (".parquet", ".pq")
    options = "".join(f", {name}={value!r}" for name, value in source.options.items())
    read = f"pd.{'read_parquet' if parquet else 'read_csv'}({str(source.path)!r}{options})"
    lines = ["import pandas as pd", "import sparselin as sl", "", f"table = {read}"]
    if source.dropped:
        lines.append(f"table = table.drop(columns={list(source.dropped)!r})")
    if source.incomplete:
        lines.append("table = table.dropna()")
    others = [source.target] + ([source.weights] if source.weights else [])
    lines.append(f"X, y = table.drop(columns={others!r}), table[{source.target!r}]")
    call = _CALLS[job.method].format(k=max(job.k, 1), seed=seed)
    call += f", forced={list(data.forced)!r}" if data.forced else ""
    call += f", intercept={data.intercept}, standardize={data.standardize}"
    call += f", sample_weight=table[{source.weights!r}]" if source.weights else ""
    return "\n".join([*lines, f"path = sl.{call})", "print(path)"])


def _records(job: Job) -> list[list[Any]]:
    """Return the rows of selected.csv."""
    heading = ["step", "feature", "coefficient", "lasso", "lam", "margin", "ties", "r2"]
    lines: list[list[Any]] = [heading]
    if job.data.intercept:
        lines.append([0, "(intercept)", job.intercept, *[""] * 5])
    for row in job.rows:
        record = row._replace(ties="; ".join(row.ties))  # type: ignore[arg-type]
        lines.append(["" if value != value else value for value in record])
    if not isinstance(job.selected.result, LassoPath):  # other methods have no LASSO coefficients
        at = heading.index("lasso")
        lines = [[*line[:at], *line[at + 1 :]] for line in lines]
    return lines


def _results(job: Job) -> dict[str, Any]:
    source, found = job.source, job.checked
    n, d = job.data.X.shape
    checked = None if found is None else dataclasses.asdict(found)
    return {
        "data": {**source._asdict(), "path": str(source.path), "rows": n, "features": d},
        "method": job.method,
        "k": job.k,
        "k_given": job.given,
        "with_intercept": job.data.intercept,
        "standardized": job.data.standardize,
        "forced": job.data.forced,
        "selected": [row._asdict() for row in job.rows],
        "intercept": job.intercept,
        "r2": job.r2,
        "status": job.selected.status.name,
        "cautions": job.cautions,
        "cross_validation": checked
        and {key: value.tolist() if hasattr(value, "tolist") else value for key, value in checked.items()},
    }


def _figures(job: Job) -> list[tuple[str, str, Any]]:
    """Return (name, caption, figure) for each figure of the page."""
    figures = []
    result = job.selected.result
    if job.size:
        caption = (
            "The steps of the selection, from top to bottom. Left: λ* at each step, with a bar that ends at "
            "the runner-up. Right: R² and the relative norm of the residual after each step."
        )
        if isinstance(result, LassoPath):
            stopped = result.status is Status.STOPPED
            end = "one knot beyond the solution in the table" if stopped else "its end"
            caption = (
                "The coefficients of the LASSO as λ decreases from left to right: broken lines that bend at "
                f"the knots. The path is drawn to {end}. The numbers at the top are R²."
            )
        if isinstance(result, BestSubset):
            caption = (
                "The best subset. Left: R² as its features are added one by one. Right: their coefficients."
            )
        figures.append(("selection", caption, plots.show(result)))
    if job.checked is not None:
        caption = (
            "A curve of the mean squared error on held-out rows against the number of features: the mean "
            "over the folds, in a band of one standard error to either side."
        )
        figures.append(("cross-validation", caption, plots.cross_validation(job.checked, job.k)))
    return [(name, caption, drawn.figure) for name, caption, drawn in figures]
